/* PRINT. On the host it is a call of lw_print_host (core/host/print_host.c). On a GPU a line is
 * a record in a buffer that core/device/print_buffer.h owns: one atomic addition reserves its
 * words, or finds that there is no room. The buffer's address is in a variable of the module,
 * which is 0 where nobody reads it. There is one helper for each number of slots, which is not
 * inlined, because printing is rare. */
#include "core/emit/emit_internal.h"

#include "core/ir/format.h"
#include "core/ir/print_buffer.h"

#include <inttypes.h>
#include <stdio.h>

static void
call_host(lw_emitter *e)
{
    lw_text_add(e->out, "  call void @lw_print_host(");
    for (uint32_t i = 0; i <= LW_FORMAT_SLOTS; i++) {
        lw_text_add(e->out, i ? ", i64 " : "i64 ");
        if (i < e->inst->c)
            lw_text_add(e->out, lw_operand(e, e->func->lists.data[e->inst->b + i]).text);
        else
            lw_text_add(e->out, "0");
    }
    lw_text_add(e->out, ")");
    lw_end_line(e);
}

static void
call_gpu(lw_emitter *e)
{
    lw_text_addf(e->out, "  call void @lw_print_%u(", e->inst->c - 1);
    for (uint32_t i = 0; i < e->inst->c; i++)
        lw_text_addf(e->out, "%si64 %s", i ? ", " : "",
                     lw_operand(e, e->func->lists.data[e->inst->b + i]).text);
    lw_text_add(e->out, ")");
    lw_end_line(e);
}

void
lw_emit_print(lw_emitter *e)
{
    e->prints |= 1u << (e->inst->c - 1);
    if (e->gpu)
        call_gpu(e);
    else
        call_host(e);
}

/* Linking LTO-IR would drop the variable otherwise. */
static void
print_variable(lw_emitter *e)
{
    lw_text_addf(e->out, "\n@" LW_PRINT_VARIABLE
                         " = addrspace(1) externally_initialized global i64 0, align 8\n");
    lw_text_add(&e->used, e->n_used++ ? ",\n  " : "\n  ");
    if (e->typed)
        lw_text_add(&e->used, "i8* addrspacecast (i8 addrspace(1)* bitcast (i64 addrspace(1)* "
                              "@" LW_PRINT_VARIABLE " to i8 addrspace(1)*) to i8*)");
    else
        lw_text_add(&e->used,
                    "ptr addrspacecast (ptr addrspace(1) @" LW_PRINT_VARIABLE " to ptr)");
}

/* %name = the 8-byte word at this address, as a pointer */
static void
pointer(lw_emitter *e, const char *name, const char *address)
{
    lw_text_addf(e->out, "  %%%s = inttoptr i64 %%%s to %s\n", name, address,
                 e->typed ? "i64*" : "ptr");
}

static void
reserve(lw_emitter *e, uint32_t n_words)
{
    const char *word = e->typed ? "i64*" : "ptr";

    lw_text_addf(e->out,
                 "entry:\n  %%buffer = load i64, %s @" LW_PRINT_VARIABLE ", align 8\n"
                 "  %%deaf = icmp eq i64 %%buffer, 0\n"
                 "  br i1 %%deaf, label %%out, label %%on\non:\n",
                 e->typed ? "i64 addrspace(1)*" : "ptr addrspace(1)");
    pointer(e, "header", "buffer");
    lw_text_addf(e->out,
                 "  %%active = load volatile i64, %s %%header, align 8\n"
                 "  %%turn = shl i64 %%active, 3\n"
                 "  %%first = add i64 %%buffer, %d\n"
                 "  %%counter = add i64 %%first, %%turn\n",
                 word, LW_PRINT_USED_AT);
    pointer(e, "used", "counter");
    lw_text_addf(e->out,
                 "  %%at = atomicrmw add %s %%used, i64 %u monotonic\n"
                 "  %%end = add i64 %%at, %u\n"
                 "  %%fits = icmp ule i64 %%end, %d\n"
                 "  br i1 %%fits, label %%write, label %%drop\ndrop:\n"
                 "  %%counts = add i64 %%counter, %d\n",
                 word, n_words, n_words, LW_PRINT_WORDS,
                 LW_PRINT_DROPPED_AT - LW_PRINT_USED_AT);
    pointer(e, "lost", "counts");
    lw_text_addf(e->out,
                 "  %%before = atomicrmw add %s %%lost, i64 1 monotonic\n"
                 "  br label %%out\n",
                 word);
}

/* Writes the record: how many words follow, the format's number, the slots. */
static void
write_words(lw_emitter *e, uint32_t n_words)
{
    const char *word = e->typed ? "i64*" : "ptr";

    lw_text_addf(e->out,
                 "write:\n  %%half = mul i64 %%active, %d\n"
                 "  %%words = add i64 %%half, %%at\n"
                 "  %%bytes = shl i64 %%words, 3\n"
                 "  %%begin = add i64 %%buffer, %d\n"
                 "  %%a0 = add i64 %%begin, %%bytes\n",
                 LW_PRINT_WORDS, LW_PRINT_HEADER);
    for (uint32_t i = 0; i < n_words; i++) {
        char address[16], name[16];
        snprintf(address, sizeof address, "a%u", i);
        snprintf(name, sizeof name, "p%u", i);
        if (i)
            lw_text_addf(e->out, "  %%a%u = add i64 %%a0, %u\n", i, 8 * i);
        pointer(e, name, address);
        if (i)
            lw_text_addf(e->out, "  store i64 %%s%u, %s %%p%u, align 8\n", i - 1, word, i);
        else
            lw_text_addf(e->out, "  store i64 %u, %s %%p0, align 8\n", n_words - 1, word);
    }
    lw_text_add(e->out, "  br label %out\nout:\n  ret void\n}\n");
}

static void
print_helper(lw_emitter *e, uint32_t n_slots)
{
    lw_text_addf(e->out, "\ndefine internal void @lw_print_%u(", n_slots);
    for (uint32_t i = 0; i <= n_slots; i++)
        lw_text_addf(e->out, "%si64 %%s%u", i ? ", " : "", i);
    lw_text_add(e->out, ") nounwind noinline {\n");
    reserve(e, n_slots + 2);
    write_words(e, n_slots + 2);
}

void
lw_prints_print(lw_emitter *e)
{
    if (e->prints == 0)
        return;
    if (!e->gpu) {
        lw_text_add(e->out, "\ndeclare void @lw_print_host(i64");
        for (int i = 0; i < LW_FORMAT_SLOTS; i++)
            lw_text_add(e->out, ", i64");
        lw_text_add(e->out, ") nounwind\n");
        return;
    }
    print_variable(e);
    for (uint32_t i = 0; i <= LW_FORMAT_SLOTS; i++)
        if (e->prints & 1u << i)
            print_helper(e, i);
}

/* Recursion: ROOM, which asks whether the stack has room for another call.
 *
 * On the host every function of a module with a ROOM takes %stack, which an entry point makes
 * once: the lowest address that a frame may have (core/host/recursion.h), and a count of the
 * recursive calls, by which Ctrl-C is looked for now and then. A function of the module may
 * need as much stack below its frame's address as lw_ir_margin_bytes says.
 *
 * On a GPU the levels that there are room for are a constant variable of the module, which
 * core/device/recursion.c sets when it loads the code, from the size of the frames and of the
 * stack. Whoever loads the code otherwise may set it; the levels that it has at first fit the
 * 1 KB that a stack has by default. */
#include "core/emit/emit_internal.h"

#include "core/ir/recursion.h"

enum { MANY = 4096 }; /* recursive calls between two looks: some 10 us */
/* Host code for another process is not told where a stack ends: it uses this much of it. */
enum { FROZEN_BYTES = 256 << 10, FROZEN_LEAST = 16 << 10 };

static bool
takes_stack(const lw_emitter *e)
{
    return e->recurses && !e->gpu;
}

void
lw_hidden_parameters(lw_emitter *e, uint32_t n)
{
    bool stack = takes_stack(e) && !lw_is_entry(e->func);

    if (e->context)
        lw_text_addf(e->out, "ptr noalias %%ctx%s", stack || n ? ", " : "");
    if (stack)
        lw_text_addf(e->out, "ptr %%stack%s", n ? ", " : "");
}

void
lw_hidden_arguments(lw_emitter *e, uint32_t n)
{
    if (e->context)
        lw_text_addf(e->out, "ptr %%ctx%s", takes_stack(e) || n ? ", " : "");
    if (takes_stack(e))
        lw_text_addf(e->out, "ptr %%stack%s", n ? ", " : "");
}

static lw_name
frame_address(lw_emitter *e)
{
    lw_name at;

    lw_declare(e, "ptr @llvm.frameaddress.p0(i32 immarg)");
    at = lw_def(e, "call ptr @llvm.frameaddress.p0(i32 0)");
    return lw_def(e, "ptrtoint ptr $s to i64", at.text);
}

void
lw_recursion_begin(lw_emitter *e)
{
    uint32_t margin;
    lw_name end;

    if (!takes_stack(e) || !lw_is_entry(e->func) || e->status != LW_OK)
        return;
    e->status = lw_ir_margin_bytes(e->module, &margin, e->err);
    lw_line(e, "%stack = alloca [2 x i64], align 8");
    if (!e->options->frozen) {
        lw_declare_line(e, "declare void @lw_recursion_begin(ptr, ptr, i64) nounwind\n");
        lw_line(e, "call void @lw_recursion_begin(ptr %stack, ptr $s, i64 $u)",
                e->context ? "%ctx" : "null", margin);
        return;
    }
    end = frame_address(e);
    end = lw_def(e, "sub i64 $s, $u", end.text,
                 margin + FROZEN_LEAST < FROZEN_BYTES ? FROZEN_BYTES - margin : FROZEN_LEAST);
    lw_line(e, "store i64 $s, ptr %stack, align 8", end.text);
}

static void
look_sometimes(lw_emitter *e)
{
    lw_name at, count, is;

    if (e->context || e->options->frozen)
        return;
    lw_declare_line(e, LW_LOOK_DECLARATION);
    at = lw_def(e, "getelementptr i8, ptr %stack, i64 8");
    count = lw_def(e, "load i64, ptr $s, align 8", at.text);
    count = lw_def(e, "add i64 $s, 1", count.text);
    lw_line(e, "store i64 $s, ptr $s, align 8", count.text, at.text);
    is = lw_def(e, "and i64 $s, $u", count.text, (uint32_t)MANY - 1);
    is = lw_def(e, "icmp eq i64 $s, 0", is.text);
    lw_line(e, "br i1 $s, label %look_$u, label %on_$u", is.text, e->at, e->at);
    lw_text_addf(e->out, "look_%u:\n", e->at);
    lw_line(e, "call void @lw_stop_look()");
    lw_line(e, "br label %on_$u", e->at);
    lw_text_addf(e->out, "on_%u:\n", e->at);
}

void
lw_emit_room(lw_emitter *e)
{
    lw_name at, end;

    if (e->gpu) {
        at = lw_def(e, "load i32, $s @" LW_RECURSION_VARIABLE ", align 4",
                    e->typed ? "i32 addrspace(4)*" : "ptr addrspace(4)");
        lw_result(e, "icmp slt i32 $v, $s", e->inst->a, at.text);
        return;
    }
    look_sometimes(e);
    at = frame_address(e);
    end = lw_def(e, "load i64, ptr %stack, align 8");
    lw_result(e, "icmp uge i64 $s, $s", at.text, end.text);
}

/* Linking LTO-IR would drop the variable otherwise. */
void
lw_recursion_print(lw_emitter *e)
{
    if (!e->recurses || !e->gpu)
        return;
    lw_text_addf(e->out,
                 "\n@" LW_RECURSION_VARIABLE
                 " = addrspace(4) externally_initialized global i32 %d, align 4\n",
                 LW_RECURSION_LEVELS);
    lw_text_add(&e->used, e->n_used++ ? ",\n  " : "\n  ");
    if (e->typed)
        lw_text_add(&e->used, "i8* addrspacecast (i8 addrspace(4)* bitcast (i32 addrspace(4)* "
                              "@" LW_RECURSION_VARIABLE " to i8 addrspace(4)*) to i8*)");
    else
        lw_text_add(&e->used,
                    "ptr addrspacecast (ptr addrspace(4) @" LW_RECURSION_VARIABLE " to ptr)");
}

/* Memory that belongs to functions, blocks and modules; atomics; operations between threads.
 *
 * GPU: each SHARED instruction is an internal variable of address space 3, memory sized at the
 * launch is one external array, data constants are in address space 4. All become generic
 * pointers in the entry block, and LLVM infers the address space again where it is used
 * (InferAddressSpaces). Operations of kernel_ops.def are inline assembly.
 *
 * Host: %ctx, the function's first parameter, points to the thread's lw_kernel_context, and
 * operations of kernel_ops.def are calls of the simulator. */
#include "core/emit/emit_internal.h"

#include "core/ir/kernel_context.h"
#include "core/tables/kernel_ops.h"

#include <assert.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* ---- special registers ---- */

/* The limits of a launch, 1024 threads per block and 2^31 - 1 blocks, tell LLVM that index
 * arithmetic does not become negative. */
static const struct {
    lw_sreg last;
    const char *range;
} ranges[] = {
    {LW_SREG_TID_Z, "!{i32 0, i32 1024}"},  {LW_SREG_CTAID_Z, "!{i32 0, i32 2147483647}"},
    {LW_SREG_NTID_Z, "!{i32 1, i32 1025}"}, {LW_SREG_NCTAID_Z, "!{i32 1, i32 -2147483648}"},
    {LW_SREG_LANEID, "!{i32 0, i32 32}"},
};

static uint32_t
range_of(lw_emitter *e, uint32_t sreg)
{
    unsigned i = 0;

    while (sreg > ranges[i].last)
        i++;
    if (e->sreg_ranges[i] == 0)
        e->sreg_ranges[i] = lw_metadata(e, "$s", ranges[i].range);
    return e->sreg_ranges[i];
}

static lw_name
context_field(lw_emitter *e, size_t offset)
{
    return lw_def(e, "getelementptr i8, ptr %ctx, i64 $u", (uint32_t)offset);
}

void
lw_emit_sreg(lw_emitter *e)
{
    const char *name = lw_sreg_names[e->inst->a];
    lw_name field;

    assert(e->inst->a < LW_N_SREGS);
    assert(e->gpu || e->context); /* lw_ir_uses_context holds where there is an SREG */
    if (!e->gpu) {
        field = context_field(e, offsetof(lw_kernel_context, sregs) +
                                     e->inst->a * sizeof(uint32_t));
        if (e->inst->a == LW_SREG_DYNAMIC_BYTES)
            lw_result(e, "load i32, ptr $s, align 4", field.text);
        else
            lw_result(e, "load i32, ptr $s, align 4, !range !$u", field.text,
                      range_of(e, e->inst->a));
    } else if (e->inst->a == LW_SREG_DYNAMIC_BYTES) {
        lw_result(e, "call i32 asm \"mov.u32 $$0, %dynamic_smem_size;\", \"=r\"()" LW_PURE_ASM);
    } else {
        lw_declare(e, "i32 @llvm.nvvm.read.ptx.sreg.$s()", name);
        lw_result(e, "call i32 @llvm.nvvm.read.ptx.sreg.$s(), !range !$u", name,
                  range_of(e, e->inst->a));
    }
}

/* ---- memory ---- */

/* Writes "%v7 = bitcast [64 x i8]* %t0 to i8*", or only the name where pointers have no
 * type. */
static void
as_pointer(lw_emitter *e, const char *kind, uint32_t bytes, unsigned space, const char *name)
{
    char in_space[24] = "";

    if (space)
        snprintf(in_space, sizeof in_space, " addrspace(%u)", space);
    if (e->typed)
        lw_result(e, "$s [$u x i8]$s* $s to i8*", kind, bytes, in_space, name);
    else
        lw_result(e, "$s ptr$s $s to ptr", kind, in_space, name);
}

/* On GPUs, shared arrays, and local ones whose alignment the user's function asks for, have
 * numba's names, so that programs that search the LLVM text of kernels for them work here, too.
 */

static void
emit_local(lw_emitter *e)
{
    uint32_t align = 1u << e->inst->b;
    lw_name memory;

    assert(e->inst->b < 32);
    if (e->gpu && (e->inst->flags & LW_DECL_ALIGNED)) {
        snprintf(memory.text, sizeof memory.text, "%%\"_cudapy_lmem.%u\"", e->n_named_locals);
        if (e->n_named_locals++ == 0)
            snprintf(memory.text, sizeof memory.text, "%%\"_cudapy_lmem\"");
        lw_line(e, "$s = alloca [$u x i8], align $u", memory.text, e->inst->a, align);
    } else if (e->typed) {
        memory = lw_def(e, "alloca [$u x i8], align $u", e->inst->a, align);
    } else {
        lw_result(e, "alloca [$u x i8], align $u", e->inst->a, align);
        return;
    }
    as_pointer(e, "bitcast", e->inst->a, 0, memory.text);
}

static void
emit_shared(lw_emitter *e)
{
    uint64_t end = lw_ir_shared_end(e->shared_end, e->inst);
    lw_name name;

    assert(e->inst->b < 32 && (e->gpu || e->context));
    if (e->gpu) {
        snprintf(name.text, sizeof name.text, "@\"_cudapy_smem_%u\"", e->n_shared++);
        lw_text_addf(
            &e->globals,
            "%s = internal unnamed_addr addrspace(3) global [%u x i8] undef, align %u\n",
            name.text, e->inst->a, 1u << e->inst->b);
        as_pointer(e, "addrspacecast", e->inst->a, 3, name.text);
        return;
    }
    name = context_field(e, offsetof(lw_kernel_context, shared));
    name = lw_def(e, "load ptr, ptr $s, align 8", name.text);
    lw_result(e, "getelementptr i8, ptr $s, i64 $u", name.text, (uint32_t)(end - e->inst->a));
    e->shared_end = end;
}

static void
emit_dynamic(lw_emitter *e)
{
    static const char line[] =
        "@lw_dynamic = external addrspace(3) global [0 x i8], align 16\n";
    lw_name name;

    if (e->gpu) {
        if (strstr(lw_text_get(&e->globals), line) == NULL)
            lw_text_add(&e->globals, line);
        as_pointer(e, "addrspacecast", 0, 3, "@lw_dynamic");
        return;
    }
    name = context_field(e, offsetof(lw_kernel_context, dynamic));
    lw_result(e, "load ptr, ptr $s, align 8", name.text);
}

/* Constant memory holds 64 KiB per module, of which 4 KiB are left to the compiler. What does
 * not fit is in global memory, as everything is on the host (space 0), and so is what lanes
 * read at different places: constant memory serves one address at a time. */
static unsigned
space_of(const lw_emitter *e, uint32_t number)
{
    uint32_t room = 60 << 10;

    assert(number < e->module->datas.n);
    if (!e->gpu)
        return 0;
    for (uint32_t i = 0; i < number; i++)
        if (!e->module->datas.data[i].scattered && e->module->datas.data[i].n <= room)
            room -= e->module->datas.data[i].n;
    return !e->module->datas.data[number].scattered && e->module->datas.data[number].n <= room
               ? 4
               : 1;
}

/* Memory from outside is a GPU's, or this process's: code for another place cannot use it. */
static void
refuse_elsewhere(lw_emitter *e, const lw_data *data)
{
    const lw_ir_loc *loc = &e->module->locs.data[e->inst->loc];

    if (e->status != LW_OK)
        return;
    e->status =
        lw_fail(e->err, LW_ERR_UNSUPPORTED,
                "E169: an array that the function captured is in %s, which %s "
                "cannot use\n"
                "  --> line %u of %s\n"
                "  = help: %spass the array as an argument",
                data->on_gpu ? "a GPU's memory" : "this process's memory",
                e->gpu ? "code for a GPU" : "code for the CPU", e->inst->loc ? loc->line : 0,
                e->inst->loc ? e->module->files.data[loc->file] : "?",
                data->on_gpu && !e->gpu ? "run it on the GPU (target=\"cuda\"), or " : "");
    if (e->err != NULL && e->err->code[0] == 0)
        memcpy(e->err->code, "E169", 5);
}

static void
emit_live_data(lw_emitter *e, const lw_data *data)
{
    lw_name name;

    if (data->on_gpu != e->gpu || (!e->gpu && e->options->frozen))
        refuse_elsewhere(e, data);
    snprintf(name.text, sizeof name.text, "%" PRIu64, data->address);
    if (!e->gpu) {
        lw_result(e, "inttoptr i64 $s to ptr", name.text);
        return;
    }
    /* through global memory, so that loads and stores are of that and not of any memory */
    name = lw_def(e, "inttoptr i64 $s to $s", name.text,
                  e->typed ? "[1 x i8] addrspace(1)*" : "ptr addrspace(1)");
    as_pointer(e, "addrspacecast", 1, 1, name.text);
}

static void
emit_data(lw_emitter *e)
{
    const lw_data *data = &e->module->datas.data[e->inst->a];
    lw_name name;

    assert(e->inst->a < e->module->datas.n);
    if (data->address != 0) {
        emit_live_data(e, data);
        return;
    }
    snprintf(name.text, sizeof name.text, "@lw_data_%u", e->inst->a);
    if (e->gpu)
        as_pointer(e, "addrspacecast", data->n ? data->n : 1, space_of(e, e->inst->a),
                   name.text);
    else
        lw_result(e, "getelementptr i8, ptr $s, i64 0", name.text);
}

/* The 64 bits that hold a number: on the host a cell of this process, on a GPU a parameter that
 * all functions pass on, in code for elsewhere a constant. */
static lw_name
varying_word(lw_emitter *e, const lw_data *data)
{
    lw_name word, address;

    if (e->options->frozen) {
        snprintf(word.text, sizeof word.text, "%" PRId64,
                 *(const int64_t *)(uintptr_t)data->address);
        return word;
    }
    if (e->gpu) {
        snprintf(word.text, sizeof word.text, "%%varying%u", e->inst->a);
        return word;
    }
    /* A call reads the cell as if nothing wrote to it. Only another thread can, by a call of
     * its own while this one runs; some elements may then see the number before, and some the
     * one after it, which docs/typing.md says. */
    if (e->invariant == 0)
        e->invariant = lw_metadata(e, "!{}");
    snprintf(address.text, sizeof address.text, "%" PRIu64, data->address);
    return lw_def(e, "load i64, ptr inttoptr (i64 $s to ptr), align 8, !invariant.load !$u",
                  address.text, e->invariant);
}

void
lw_emit_varying(lw_emitter *e)
{
    lw_dtype type = (lw_dtype)e->inst->type;
    unsigned bits = type == LW_DT_b1 ? 1 : lw_dtypes[type].bits;
    lw_name word = varying_word(e, &e->module->datas.data[e->inst->a]), integer;

    assert(e->module->datas.data[e->inst->a].varying);
    snprintf(integer.text, sizeof integer.text, "i%u", bits);
    if (bits < 64)
        word = lw_def(e, "trunc i64 $s to $s", word.text, integer.text);
    lw_result(e, "bitcast $s $s to $t", integer.text, word.text, type);
}

void
lw_emit_memory_decl(lw_emitter *e)
{
    switch (e->inst->op) {
    case LW_OP_LOCAL: emit_local(e); break;
    case LW_OP_SHARED: emit_shared(e); break;
    case LW_OP_DYNAMIC: emit_dynamic(e); break;
    case LW_OP_DATA: emit_data(e); break;
    default:
        if (e->gpu)
            lw_emit_fail(e, "the context exists on the host alone");
        else
            lw_result(e, "getelementptr i8, ptr %ctx, i64 0");
        break;
    }
}

static void
print_bytes(lw_text *out, const lw_data *data)
{
    static const char digits[] = "0123456789ABCDEF";
    char byte[3] = "\\";

    for (uint32_t i = 0; i < data->n; i++) {
        byte[1] = digits[data->bytes[i] >> 4];
        byte[2] = digits[data->bytes[i] & 15];
        lw_text_add_n(out, byte, 3);
    }
}

void
lw_globals_print(lw_emitter *e)
{
    if (e->globals.n)
        lw_text_addf(e->out, "\n%s", lw_text_get(&e->globals));
    for (uint32_t i = 0; i < e->module->datas.n; i++) {
        const lw_data *data = &e->module->datas.data[i];
        unsigned space = space_of(e, i);
        if (data->address != 0)
            continue;
        lw_text_addf(e->out, "\n@lw_data_%u = %s unnamed_addr ", i,
                     e->gpu ? "internal" : "private");
        if (space)
            lw_text_addf(e->out, "addrspace(%u) ", space);
        lw_text_addf(e->out, "constant [%u x i8] c\"%s", data->n ? data->n : 1,
                     data->n ? "" : "\\00");
        print_bytes(e->out, data);
        lw_text_addf(e->out, "\", align %u\n", 1u << data->align_log2);
    }
}

/* ---- atomics ---- */

/* The pointer operand as LLVM wants it written: "i32* %t3" or "ptr %v2". */
static lw_name
pointer_operand(lw_emitter *e, const char *type, lw_ref pointer)
{
    lw_name name = lw_operand(e, pointer), out;

    if (e->typed)
        name = lw_def(e, "bitcast i8* $s to $s*", name.text, type);
    snprintf(out.text, sizeof out.text, "%s%s %.40s", e->typed ? type : "ptr",
             e->typed ? "*" : "", name.text);
    return out;
}

/* Names in atomicrmw; NULL: CAS, or it depends on the sign. */
static const char *
rmw_name(lw_atomic which, lw_dtype type)
{
    bool sign = lw_is_signed(type);

    switch (which) {
    case LW_ATOMIC_ADD: return lw_is_float(type) ? "fadd" : "add";
    case LW_ATOMIC_AND: return "and";
    case LW_ATOMIC_OR: return "or";
    case LW_ATOMIC_XOR: return "xor";
    case LW_ATOMIC_EXCH: return "xchg";
    case LW_ATOMIC_MIN: return sign ? "min" : "umin";
    case LW_ATOMIC_MAX: return sign ? "max" : "umax";
    case LW_ATOMIC_INC: return "uinc_wrap";
    case LW_ATOMIC_DEC: return "udec_wrap";
    default: return NULL;
    }
}

/* Without it libNVVM's newer reader assumes system scope; the older one always assumes device
 * scope. */
static const char *
scope_of(const lw_emitter *e)
{
    return e->gpu ? " syncscope(\"device\")" : "";
}

static void
emit_cas(lw_emitter *e, const uint32_t *list)
{
    const char *type = lw_type(e, (lw_dtype)e->inst->type);
    lw_name pointer = pointer_operand(e, type, list[0]), pair;

    assert(e->inst->c == 3 && lw_is_integer((lw_dtype)e->inst->type));
    pair = lw_def(e, "cmpxchg $s, $s $v, $s $v$s monotonic monotonic", pointer.text, type,
                  list[1], type, list[2], scope_of(e));
    lw_result(e, "extractvalue { $s, i1 } $s, 0", type, pair.text);
}

/* Neither LLVM 7's atomicrmw nor its intrinsics can exchange floats, so their bits are
 * exchanged. */
static void
emit_float_exchange(lw_emitter *e, const uint32_t *list)
{
    lw_dtype type = (lw_dtype)e->inst->type;
    const char *bits = type == LW_DT_f32 ? "i32" : "i64";
    lw_name pointer = pointer_operand(e, bits, list[0]), value;

    value = lw_def(e, "bitcast $t $v to $s", type, list[1], bits);
    value = lw_def(e, "atomicrmw xchg $s, $s $s$s monotonic", pointer.text, bits, value.text,
                   scope_of(e));
    lw_result(e, "bitcast $s $s to $t", bits, value.text, type);
}

/* Operations for which LLVM 7 has no instruction, written as libNVVM's intrinsics:
 * "add.f32". */
static void
emit_gpu_intrinsic(lw_emitter *e, const uint32_t *list, const char *what, const char *llvm)
{
    lw_dtype type = (lw_dtype)e->inst->type;
    lw_name pointer = pointer_operand(e, lw_type(e, type), list[0]);
    const char *kind = e->typed ? llvm : "";
    const char *star = e->typed ? lw_type(e, type) : "ptr", *end = e->typed ? "*" : "";
    lw_text line;

    lw_text_init(&line);
    lw_text_addf(&line, "declare %s @llvm.nvvm.atomic.load.%s.p0%s(%s%s, %s) nounwind\n",
                 lw_type(e, type), what, kind, star, end, lw_type(e, type));
    lw_declare_once(e, &line);
    lw_result(e, "call $t @llvm.nvvm.atomic.load.$s.p0$s($s, $t $v)", type, what, kind,
              pointer.text, type, list[1]);
}

void
lw_emit_atomic(lw_emitter *e)
{
    const uint32_t *list = e->func->lists.data + e->inst->b;
    lw_atomic which = (lw_atomic)e->inst->a;
    lw_dtype type = (lw_dtype)e->inst->type;
    lw_name pointer;

    assert(which < LW_N_ATOMICS && lw_operand_type(e, list[0]) == LW_DT_ptr);
    assert(lw_dtypes[type].size_bytes == 4 || lw_dtypes[type].size_bytes == 8);
    if (which == LW_ATOMIC_CAS) {
        emit_cas(e, list);
    } else if (e->gpu && which == LW_ATOMIC_EXCH && lw_is_float(type)) {
        emit_float_exchange(e, list);
    } else if (e->gpu && lw_is_float(type)) {
        emit_gpu_intrinsic(e, list, type == LW_DT_f32 ? "add.f32" : "add.f64",
                           type == LW_DT_f32 ? "f32" : "f64");
    } else if (e->gpu && (which == LW_ATOMIC_INC || which == LW_ATOMIC_DEC)) {
        emit_gpu_intrinsic(e, list, which == LW_ATOMIC_INC ? "inc.32" : "dec.32", "i32");
    } else {
        pointer = pointer_operand(e, lw_type(e, type), list[0]);
        lw_result(e, "atomicrmw $s $s, $t $v$s monotonic", rmw_name(which, type), pointer.text,
                  type, list[1], scope_of(e));
    }
}

/* ---- between threads ---- */

/* Stores the line for the simulator, which names it in messages and tells barriers apart by
 * it. */
static void
store_line(lw_emitter *e)
{
    lw_name field = context_field(e, offsetof(lw_kernel_context, line));

    lw_line(e, "store i32 $u, ptr $s, align 4", e->module->locs.data[e->inst->loc].line,
            field.text);
}

static void
declare(lw_emitter *e, const char *declaration)
{
    lw_text line;

    lw_text_init(&line);
    lw_text_add(&line, declaration);
    lw_declare_once(e, &line);
}

void
lw_emit_barrier(lw_emitter *e)
{
    if (e->gpu) {
        declare(e, "declare void @llvm.nvvm.barrier0() convergent nounwind\n");
        lw_line(e, "call void @llvm.nvvm.barrier0() convergent");
        return;
    }
    declare(e, "declare void @lw_sim_barrier(ptr) convergent nounwind\n");
    store_line(e);
    lw_line(e, "call void @lw_sim_barrier(ptr %ctx) convergent");
}

/* Whether the call is of a helper of core/front/numeric/atomics. */
static bool
is_update(const lw_emitter *e, const lw_inst *inst)
{
    const lw_func *callee = e->module->funcs.data[inst->a];

    return callee->python_name == NULL &&
           strncmp(callee->name, LW_UPDATE_STEM, sizeof LW_UPDATE_STEM - 1) == 0 &&
           callee->params.n > 1;
}

/* Instructions that the user did not write have no location, and are not reported: the loads of
 * an update's loop, which race with nobody, and its word accesses, which extend over
 * neighbours. The call of the helper is reported instead. */
void
lw_emit_watch(lw_emitter *e)
{
    const lw_inst *inst = e->inst, *value = inst;
    const uint32_t *list = e->func->lists.data + inst->b;
    lw_ref pointer = inst->a;
    uint32_t kind = 0, size; /* lw_sim_access_kind: read, write, atomic */

    if (e->watch == LW_WATCH_NOTHING || inst->loc == 0 ||
        (inst->op == LW_OP_LOAD && (inst->flags & LW_MEM_INVARIANT)) ||
        (inst->op == LW_OP_CALL && !is_update(e, inst)))
        return;
    if (inst->op == LW_OP_STORE) {
        value = &e->func->insts.data[inst->b];
        kind = 1;
    } else if (inst->op != LW_OP_LOAD) {
        value = inst->op == LW_OP_CALL ? &e->func->insts.data[list[1]] : inst;
        pointer = list[0];
        kind = 2;
    }
    size = lw_dtypes[value->type].size_bytes * (value->lanes > 1 ? value->lanes : 1);
    if (e->watch == LW_WATCH_ELEMENTS) {
        declare(e, "declare void @lw_race_access(ptr, i32, i32, i32) nounwind\n");
        lw_line(e, "call void @lw_race_access(ptr $v, i32 $u, i32 $u, i32 $u)", pointer, size,
                kind, e->module->locs.data[inst->loc].line);
        return;
    }
    declare(e, "declare void @lw_sim_access(ptr, ptr, i32, i32) nounwind\n");
    store_line(e);
    lw_line(e, "call void @lw_sim_access(ptr %ctx, ptr $v, i32 $u, i32 $u)", pointer, size,
            kind);
}

/* The type in which an argument is passed: a bool as 0 or 1. */
static const char *
passed_type(const lw_emitter *e, char letter)
{
    return letter == 'l'   ? "i64"
           : letter == 'p' ? lw_type(e, LW_DT_ptr)
           : letter        ? "i32"
                           : "void";
}

static void
declare_kernel_op(lw_emitter *e, const lw_kernel_op_row *row)
{
    lw_text line;

    lw_text_init(&line);
    lw_text_addf(&line, "declare %s @%s(ptr", passed_type(e, row->result), row->host);
    for (const char *arg = row->args; *arg; arg++)
        lw_text_addf(&line, ", %s", passed_type(e, *arg));
    lw_text_add(&line, ") convergent nounwind\n");
    lw_declare_once(e, &line);
}

/* Writes constraints such as "=r,r,l,~{memory}". */
static lw_name
constraints_of(const lw_kernel_op_row *row)
{
    lw_name name = {""};
    size_t n = 0;

    if (row->result)
        n = (size_t)snprintf(name.text, sizeof name.text, "=%c,",
                             row->result == 'l' ? 'l' : 'r');
    for (const char *arg = row->args; *arg; arg++)
        n += (size_t)snprintf(name.text + n, sizeof name.text - n, "%c,",
                              *arg == 'l' || *arg == 'p' ? 'l' : 'r');
    assert(n + sizeof "~{memory}" <= sizeof name.text);
    snprintf(name.text + n, sizeof name.text - n, "~{memory}");
    return name;
}

void
lw_emit_kernel_call(lw_emitter *e)
{
    const lw_kernel_op_row *row = &lw_kernel_ops[e->inst->a];
    const uint32_t *list = e->func->lists.data + e->inst->b;
    lw_name args[8];
    uint32_t n = 0;

    assert(e->inst->a < LW_N_KERNEL_OPS && e->inst->c == strlen(row->args));
    assert(e->inst->c <= sizeof args / sizeof *args && (e->gpu || e->context));
    for (; row->args[n]; n++)
        args[n] = row->args[n] == 'b' ? lw_def(e, "zext i1 $v to i32", list[n])
                                      : lw_operand(e, list[n]);
    if (!e->gpu && row->collective)
        store_line(e);
    lw_text_add(e->out, "  ");
    if (row->result)
        lw_text_addf(e->out, "%%v%u = ", e->at);
    lw_text_addf(e->out, "call %s ", passed_type(e, row->result));
    if (e->gpu) {
        lw_text_addf(e->out, "asm sideeffect \"%s\", \"%s\"(", row->ptx,
                     constraints_of(row).text);
    } else {
        declare_kernel_op(e, row);
        lw_text_addf(e->out, "@%s(ptr %%ctx%s", row->host, n ? ", " : "");
    }
    for (uint32_t i = 0; i < n; i++)
        lw_text_addf(e->out, "%s%s %s", i ? ", " : "", passed_type(e, row->args[i]),
                     args[i].text);
    lw_text_add(e->out, ") convergent nounwind");
    lw_end_line(e);
}

/* Calls and structured control flow. Labels are named after the instruction that opened the
 * region: then_7, else_7, loop_7, latch_7, end_7. */
#include "core/emit/emit_internal.h"
#include "core/base/memory.h"
#include "core/ir/facts.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* ---- calls ---- */

static void
result_type(const lw_emitter *e, const lw_func *func, lw_text *out)
{
    if (func->results.n == 0)
        lw_text_add(out, "void");
    else if (func->results.n == 1)
        lw_text_add(out, lw_type(e, func->results.data[0]));
    else
        for (uint32_t i = 0; i < func->results.n; i++)
            lw_text_addf(out, "%s %s%s", i ? "," : "{", lw_type(e, func->results.data[i]),
                         i + 1 == func->results.n ? " }" : "");
}

/* A callee's own memory is the same in every iteration of a loop around the call. Once inlined
 * it is not free of dependences, whatever the loop promises, so such a call has no access
 * group. */
void
lw_emit_call(lw_emitter *e)
{
    const lw_func *callee = e->module->funcs.data[e->inst->a];

    assert(e->inst->a < e->module->funcs.n && e->inst->c == callee->params.n);
    assert(callee->linkage != LW_KERNEL); /* it is entered by a launch alone */
    lw_text_add(e->out, "  ");
    if (callee->results.n)
        lw_text_addf(e->out, "%%v%u = ", e->at);
    lw_text_add(e->out, "call ");
    result_type(e, callee, e->out);
    lw_text_addf(e->out, " @%s(", callee->name);
    lw_hidden_arguments(e, e->inst->c + lw_n_varying_parameters(e));
    for (uint32_t i = 0; i < e->inst->c; i++) {
        lw_ref value = e->func->lists.data[e->inst->b + i];
        lw_text_addf(e->out, "%s%s %s", i ? ", " : "", lw_type(e, callee->params.data[i].type),
                     lw_operand(e, value).text);
    }
    lw_varying_parameters(e, e->inst->c);
    lw_text_add(e->out, e->convergent ? ") convergent" : ")");
    if (e->access && e->inst->op == LW_OP_CALL && !e->callees[e->inst->a].has_local)
        lw_text_addf(e->out, ", !llvm.access.group !%u", e->access);
    lw_end_line(e);
}

void
lw_emit_call_result(lw_emitter *e)
{
    const lw_func *callee = e->module->funcs.data[e->func->insts.data[e->inst->a].a];
    lw_text type;

    assert(e->inst->b < callee->results.n);
    lw_text_init(&type);
    result_type(e, callee, &type);
    if (type.failed)
        e->out->failed = true;
    lw_result(e, "extractvalue $s $v, $u", lw_text_get(&type), e->inst->a, e->inst->b);
    lw_text_reset(&type);
}

/* The types of a C call: a bool is a byte, and the caller extends narrow integers. */
static const char *
c_type(const lw_emitter *e, lw_dtype type)
{
    return type == LW_DT_b1 ? "i8" : lw_type(e, type);
}

static const char *
c_extension(lw_dtype type)
{
    if (lw_dtypes[type].size_bytes > 2 || lw_is_float(type) || type == LW_DT_void)
        return "";
    return lw_is_signed(type) ? " signext" : " zeroext";
}

static void
declare_extern(lw_emitter *e, const lw_extern *symbol)
{
    lw_text line;

    lw_text_init(&line);
    lw_text_addf(&line, "declare %s @%s(", c_type(e, symbol->result), symbol->name);
    for (unsigned i = 0; i < symbol->n_params; i++)
        lw_text_addf(&line, "%s%s%s", i ? ", " : "", c_type(e, symbol->params[i]),
                     c_extension(symbol->params[i]));
    lw_text_add(&line, symbol->device ? ") convergent nounwind\n" : ")\n");
    lw_declare_once(e, &line);
}

/* NVIDIA's libdevice and the user's device functions exist on GPUs only; functions that exist
 * on both targets are not called by this instruction. */
static void
refuse_on_host(lw_emitter *e, const char *prefix, const char *name, const char *help)
{
    const lw_ir_loc *loc = &e->module->locs.data[e->inst->loc];

    if (e->status != LW_OK)
        return;
    if (e->inst->loc)
        e->status = lw_fail(e->err, LW_ERR_UNSUPPORTED,
                            "`%s%s` (line %u of %s) exists on GPUs only; on the CPU %s", prefix,
                            name, loc->line, e->module->files.data[loc->file], help);
    else
        e->status = lw_fail(e->err, LW_ERR_UNSUPPORTED,
                            "`%s%s` exists on GPUs only; on the CPU %s", prefix, name, help);
}

/* Functions of this process: of ctypes and cffi. */
static bool
refuse_foreign(lw_emitter *e, const lw_extern *symbol)
{
    const lw_ir_loc *loc = &e->module->locs.data[e->inst->loc];
    const char *where = e->gpu ? "code for a GPU" : "code for another process";

    if (!e->gpu && !e->options->frozen)
        return false;
    if (e->status != LW_OK)
        return true;
    e->status = lw_fail(
        e->err, LW_ERR_UNSUPPORTED,
        "E169: `%s` is a function of this process, by ctypes or cffi, which %s cannot call\n"
        "  --> line %u of %s\n"
        "  = help: run it on the CPU (target=\"cpu\"), or call a Python function, or one of "
        "`cuda.declare_device`",
        symbol->name, where, e->inst->loc ? loc->line : 0,
        e->inst->loc ? e->module->files.data[loc->file] : "?");
    if (e->err != NULL && e->err->code[0] == 0)
        memcpy(e->err->code, "E169", 5);
    return true;
}

static bool
is_refused(lw_emitter *e, const lw_extern *symbol)
{
    bool libdevice = strncmp(symbol->name, "__nv_", 5) == 0;

    if (symbol->address)
        return refuse_foreign(e, symbol);
    if (e->gpu || (!symbol->device && !libdevice))
        return false;
    if (symbol->device)
        refuse_on_host(e, "", symbol->name,
                       "call a Python function, or give the declaration one: host=f");
    else
        refuse_on_host(e, "cuda.libdevice.", symbol->name + 5,
                       "use a function of `math` or `numpy`");
    return true;
}

void
lw_emit_host_call(lw_emitter *e)
{
    const lw_extern *symbol = &e->module->externs.data[e->inst->a];
    bool is_bool = symbol->result == LW_DT_b1;
    lw_name args[LW_EXTERN_PARAMS], byte = {""};
    char callee[64] = "";

    assert(e->inst->a < e->module->externs.n && e->inst->c == symbol->n_params);
    if (is_refused(e, symbol))
        return;
    if (symbol->address)
        snprintf(callee, sizeof callee, "inttoptr (i64 %lld to ptr)",
                 (long long)symbol->address);
    else
        declare_extern(e, symbol);
    for (uint32_t i = 0; i < e->inst->c; i++) {
        args[i] = lw_operand(e, e->func->lists.data[e->inst->b + i]);
        if (symbol->params[i] == LW_DT_b1)
            args[i] = lw_def(e, "zext i1 $s to i8", args[i].text);
    }
    if (is_bool)
        snprintf(byte.text, sizeof byte.text, "%%t%u = ", e->next_temp++);
    else if (symbol->result != LW_DT_void)
        snprintf(byte.text, sizeof byte.text, "%%v%u = ", e->at);
    lw_text_addf(e->out, "  %scall %s %s%s(", byte.text, c_type(e, symbol->result),
                 symbol->address ? "" : "@", symbol->address ? callee : symbol->name);
    for (uint32_t i = 0; i < e->inst->c; i++)
        lw_text_addf(e->out, "%s%s%s %s", i ? ", " : "", c_type(e, symbol->params[i]),
                     c_extension(symbol->params[i]), args[i].text);
    lw_text_add(e->out, ")");
    lw_end_line(e);
    if (is_bool)
        lw_result(e, "icmp ne i8 %t$u, 0", e->next_temp - 1);
}

/* ---- control flow ---- */

static void
label(lw_emitter *e, const char *name, uint32_t number)
{
    lw_text_addf(e->out, "%s_%u:\n", name, number);
    e->ended = false;
}

static void
jump(lw_emitter *e, const char *name, uint32_t number)
{
    assert(number != 0); /* 0 is the function itself, which has no label */
    if (!e->ended)
        lw_line(e, "br label %$s_$u", name, number);
    e->ended = true;
}

/* Loads and stores in loops whose iterations are independent carry the access groups of all
 * such loops around them. */
static void
set_access(lw_emitter *e)
{
    lw_text list;
    uint32_t n = 0, only = 0;

    lw_text_init(&list);
    for (uint32_t i = 0; i < e->regions.n; i++)
        if (e->regions.data[i].group) {
            only = e->regions.data[i].group;
            lw_text_addf(&list, "%s!%u", n++ ? ", " : "", only);
        }
    e->access = n > 1 ? lw_metadata(e, "!{$s}", lw_text_get(&list)) : only;
    if (list.failed)
        e->out->failed = true;
    lw_text_reset(&list);
}

static void
open_region(lw_emitter *e)
{
    lw_emit_region *r = lw_array_push(&e->regions, NULL);

    if (r == NULL) {
        e->status = lw_fail_memory(e->err);
        return;
    }
    r->op = (lw_op)e->inst->op;
    r->number = e->at;
    if (r->op != LW_OP_LOOP)
        return;
    r->flags = e->inst->flags;
    if (!e->gpu && (r->flags & LW_LOOP_VECTORIZE)) {
        r->group = lw_metadata(e, "distinct !{}");
        set_access(e);
    }
}

static lw_name
loop_suffix(lw_emitter *e, const lw_emit_region *r)
{
    lw_text list;
    lw_name name = {""};

    lw_text_init(&list);
    if (r->flags & LW_LOOP_NO_UNROLL)
        lw_text_add(&list, ", !{!\"llvm.loop.unroll.disable\"}");
    if (r->flags & LW_LOOP_UNROLL_FULL)
        lw_text_add(&list, ", !{!\"llvm.loop.unroll.full\"}");
    if (!e->gpu && (r->flags & LW_LOOP_NO_VECTORIZE))
        lw_text_add(&list, ", !{!\"llvm.loop.vectorize.enable\", i1 false}");
    if (r->group) {
        /* vectorize.enable would make LLVM warn on stderr where it cannot vectorise */
        lw_text_addf(&list, ", !{!\"llvm.loop.parallel_accesses\", !%u}", r->group);
        if (r->flags & LW_LOOP_INTERLEAVE)
            lw_text_add(&list, ", !{!\"llvm.loop.interleave.count\", i32 2}");
    }
    if (list.n != 0) {
        uint32_t self = e->next_metadata;
        lw_metadata(e, "distinct !{!$u$s}", self, lw_text_get(&list));
        snprintf(name.text, sizeof name.text, ", !llvm.loop !%u", self);
    }
    if (list.failed)
        e->out->failed = true;
    lw_text_reset(&list);
    return name;
}

static void
end_region(lw_emitter *e)
{
    lw_emit_region r = e->regions.data[--e->regions.n];

    assert(lw_ir_opens_region(r.op));
    if (r.op == LW_OP_IF) {
        jump(e, "end", r.number);
        if (!r.has_else) {
            label(e, "else", r.number);
            jump(e, "end", r.number);
        }
    } else if (r.op == LW_OP_LOOP) {
        lw_look_at_latch(e, r.number);
        if (!e->ended)
            lw_line(e, "br label %loop_$u$s", r.number, loop_suffix(e, &r).text);
    } else {
        jump(e, "end", r.number);
    }
    label(e, "end", r.number);
    if (r.op == LW_OP_LOOP)
        lw_look_behind(e, r.number);
    if (r.group)
        set_access(e);
}

static uint32_t
target(const lw_emitter *e, uint32_t depth)
{
    for (uint32_t i = e->regions.n; i-- > 0;)
        if (e->regions.data[i].op != LW_OP_IF && depth-- == 0)
            return e->regions.data[i].number;
    assert(!"a jump leaves more regions than are open");
    return 0;
}

void
lw_emit_values(lw_emitter *e, const lw_name *values)
{
    const lw_dtype *types = e->func->results.data;
    uint32_t n = e->func->results.n;
    lw_name value;
    lw_text type;

    e->ended = true;
    if (n == 0) {
        lw_line(e, "ret void");
    } else if (n == 1 && types[0] == LW_DT_b1 && e->func->linkage == LW_EXPORTED) {
        value = lw_def(e, "zext i1 $s to i8", values[0].text);
        lw_line(e, "ret i8 $s", value.text);
    } else if (n == 1) {
        lw_line(e, "ret $t $s", types[0], values[0].text);
    } else {
        lw_text_init(&type);
        result_type(e, e->func, &type);
        snprintf(value.text, sizeof value.text, "%s", e->gpu ? "undef" : "poison");
        for (uint32_t i = 0; i < n; i++)
            value = lw_def(e, "insertvalue $s $s, $t $s, $u", lw_text_get(&type), value.text,
                           types[i], values[i].text, i);
        lw_line(e, "ret $s $s", lw_text_get(&type), value.text);
        if (type.failed)
            e->out->failed = true;
        lw_text_reset(&type);
    }
}

static void
emit_return(lw_emitter *e)
{
    uint32_t n = e->func->results.n;
    lw_name *values;

    assert(e->inst->op == LW_OP_RETURN && e->inst->c == n);
    assert(n <= 1 || e->func->linkage != LW_EXPORTED); /* C returns one value */
    if (e->leaves) {
        lw_leave(e);
        return;
    }
    values = lw_alloc((n + 1) * sizeof *values);
    if (values == NULL) {
        e->status = lw_fail_memory(e->err);
        return;
    }
    for (uint32_t i = 0; i < n; i++)
        values[i] = lw_operand(e, e->func->lists.data[e->inst->b + i]);
    lw_emit_values(e, values);
    lw_free(values);
}

void
lw_emit_flow(lw_emitter *e)
{
    lw_emit_region *r;

    switch (e->inst->op) {
    case LW_OP_IF:
        assert(lw_operand_type(e, e->inst->a) == LW_DT_b1);
        open_region(e);
        lw_line(e, "br i1 $v, label %then_$u, label %else_$u", e->inst->a, e->at, e->at);
        label(e, "then", e->at);
        break;
    case LW_OP_ELSE:
        r = &e->regions.data[e->regions.n - 1];
        assert(r->op == LW_OP_IF && !r->has_else);
        r->has_else = true;
        jump(e, "end", r->number);
        label(e, "else", r->number);
        break;
    case LW_OP_BLOCK: open_region(e); break;
    case LW_OP_LOOP:
        lw_look_open(e);
        jump(e, "loop", e->at);
        label(e, "loop", e->at);
        open_region(e);
        break;
    case LW_OP_LATCH:
        r = &e->regions.data[e->regions.n - 1];
        assert(r->op == LW_OP_LOOP);
        jump(e, "latch", r->number);
        label(e, "latch", r->number);
        break;
    case LW_OP_END: end_region(e); break;
    case LW_OP_BREAK: jump(e, "end", target(e, e->inst->a)); break;
    case LW_OP_CONTINUE: jump(e, "latch", target(e, e->inst->a)); break;
    default: emit_return(e); break;
    }
}

/* The function is written anew, with everything that it calls in it. The instructions that have
 * a form without tests get the flag LW_ORDINARY, and what was tested is computed beside them,
 * from the upper halves of the numbers: that is not the work of the float64 unit. The results
 * of these tests are joined, so one branch is left, that of the caller. */
#include "core/emit/ordinary.h"

#include "core/ir/operands.h"
#include "core/tables/intrinsics.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* With fewer tests, a kernel waits for its memory, and not for its instructions. MOST: as many
 * instructions, with all that is called, compile in some tens of milliseconds. */
enum { LEAST_TESTS = 4, MOST_INSTRUCTIONS = 400 };

/* ---- which functions ---- */

typedef struct census {
    uint32_t n_tests, n_instructions;
    bool computes_only;
} census;

/* Whether it is an operation of float64 that has a form without tests. Fast-math flags allow
 * the compilers more than that. */
static bool
has_ordinary_form(const lw_inst *inst)
{
    if (inst->type != LW_DT_f64 || inst->lanes > 1 || (inst->flags & LW_FAST_ALL))
        return false;
    if (inst->op == LW_OP_DIV)
        return true;
    if (inst->op != LW_OP_INTRINSIC)
        return false;
    return inst->a == LW_IN_sqrt || inst->a == LW_IN_log || inst->a == LW_IN_exp ||
           inst->a == LW_IN_erf;
}

static bool
is_computation(lw_op op)
{
    switch (op) {
    case LW_OP_SLOT:
    case LW_OP_GET:
    case LW_OP_SET:
    case LW_OP_IF:
    case LW_OP_ELSE:
    case LW_OP_END:
    case LW_OP_CALL: return true;
    default: return lw_ops[op].class == LW_CLASS_PURE;
    }
}

static void
count(const lw_module *module, uint32_t number, census *c)
{
    const lw_func *func = module->funcs.data[number];
    uint32_t last = func->insts.n - 1;

    c->computes_only &= func->linkage == LW_INTERNAL;
    for (uint32_t i = 1; c->computes_only && i <= last; i++) {
        const lw_inst *inst = &func->insts.data[i];
        c->computes_only =
            inst->op == LW_OP_RETURN ? i == last : is_computation((lw_op)inst->op);
        c->n_instructions++;
        c->n_tests +=
            has_ordinary_form(inst) && (inst->op == LW_OP_DIV || inst->a != LW_IN_erf);
        if (c->n_instructions > MOST_INSTRUCTIONS)
            c->computes_only = false;
        if (c->computes_only && inst->op == LW_OP_CALL)
            count(module, inst->a, c);
    }
}

/* ---- what is tested ---- */

typedef struct writer {
    lw_builder b;
    lw_ref passes; /* a slot: whether no number needed care so far */
} writer;

static lw_ref
upper_half(writer *w, lw_ref x)
{
    lw_builder *b = &w->b;
    lw_ref bits = lw_ir_bitcast(b, LW_DT_u64, x);

    return lw_ir_cast(b, LW_DT_u32, lw_ir_shr(b, bits, lw_ir_int(b, LW_DT_u64, 32)));
}

/* |x| of a float32, of which a comparison is all that is made: flagged, so that it is a part of
 * the comparison's instruction. */
static lw_ref
size_of_single(writer *w, lw_ref x)
{
    lw_builder *b = &w->b;
    lw_ref size = lw_ir_intrinsic(b, LW_IN_fabs, LW_DT_f32, &x, 1);

    if (!b->module->failed)
        b->func->insts.data[size].flags |= LW_ORDINARY;
    return size;
}

static void
require(writer *w, lw_ref condition)
{
    lw_builder *b = &w->b;

    lw_ir_set(b, w->passes, lw_ir_and(b, lw_ir_get(b, w->passes), condition));
}

/* Whether the upper half of x, as an unsigned number, is one of n from `least` on. */
static void
require_upper(writer *w, lw_ref x, int64_t least, int64_t n)
{
    lw_builder *b = &w->b;
    lw_ref above = lw_ir_sub(b, upper_half(w, x), lw_ir_int(b, LW_DT_u32, least));

    require(w, lw_ir_compare(b, LW_OP_LT, above, lw_ir_int(b, LW_DT_u32, n)));
}

/* What ptxas tests for div.rn.f64, whose upper halves it takes as float32: |x| is no less than
 * 2^-969, so that the remainder is exact (or NaN, which leads to a quotient that is NaN); the
 * quotient is a normal number, and y is less than 2^1017: 0 times a larger one is NaN. */
static void
test_division(writer *w, lw_ref x, lw_ref y, lw_ref quotient)
{
    lw_builder *b = &w->b;
    lw_ref top = lw_ir_bitcast(b, LW_DT_f32, upper_half(w, x));
    lw_ref bottom = lw_ir_bitcast(b, LW_DT_f32, upper_half(w, y));
    lw_ref result = lw_ir_bitcast(b, LW_DT_f32, upper_half(w, quotient));
    lw_ref sum = lw_ir_fma(b, lw_ir_float(b, LW_DT_f32, 0.0), bottom, result);

    require(w, lw_ir_not(b, lw_ir_compare(b, LW_OP_LT, size_of_single(w, top),
                                          lw_ir_bits(b, LW_DT_f32, 0x03600000))));
    require(w, lw_ir_compare(b, LW_OP_GT, size_of_single(w, sum),
                             lw_ir_bits(b, LW_DT_f32, 0x00100000)));
}

/* From 708 on, e^x or e^-x may be no normal number. */
static void
test_exp(writer *w, lw_ref x)
{
    lw_builder *b = &w->b;
    lw_ref size = size_of_single(w, lw_ir_cast(b, LW_DT_f32, x));

    require(w, lw_ir_compare(b, LW_OP_LT, size, lw_ir_float(b, LW_DT_f32, 708.0)));
}

/* Positive normal numbers for log, those that need no scaling for the root, and for erf those
 * below 2^1017, whose upper half is a finite float32. */
static void
test_intrinsic(writer *w, uint32_t which, lw_ref x)
{
    lw_builder *b = &w->b;

    switch (which) {
    case LW_IN_exp: test_exp(w, x); break;
    case LW_IN_log: require_upper(w, x, 0x00100000, 0x7fe00000); break;
    case LW_IN_sqrt: require_upper(w, x, 0x03500000, 0x7ca00000); break;
    default:
        require(w,
                lw_ir_compare(b, LW_OP_LT,
                              size_of_single(w, lw_ir_bitcast(b, LW_DT_f32, upper_half(w, x))),
                              lw_ir_float(b, LW_DT_f32, (double)INFINITY)));
    }
}

/* ---- the copy ---- */

/* Writes what the function does with these arguments, and gives the values of its RETURN. */
static void
write_body(writer *w, const lw_func *func, const lw_ref *args, lw_ref *results)
{
    lw_builder *b = &w->b;
    lw_arena *arena = &b->module->arena;
    uint32_t n = func->insts.n;
    lw_ref *become = lw_arena_take(arena, n * sizeof *become);
    lw_ref **called = lw_arena_take(arena, n * sizeof *called); /* results, by CALL */

    if (become == NULL || called == NULL) {
        b->module->failed = true;
        return;
    }
    memset(become, 0, n * sizeof *become);
    for (uint32_t i = 1; i + 1 < n && !b->module->failed; i++) {
        const lw_inst *inst = &func->insts.data[i];
        const uint32_t *list = func->lists.data + inst->b;
        b->loc = inst->loc;
        if (inst->op == LW_OP_PARAM)
            become[i] = args[inst->a];
        else if (inst->op == LW_OP_CONST)
            become[i] = lw_ir_bits(b, (lw_dtype)inst->type, func->constants.data[inst->a].bits);
        else if (inst->op == LW_OP_RESULT)
            become[i] = called[inst->a][inst->b];
        else if (inst->op == LW_OP_CALL) {
            const lw_func *callee = b->module->funcs.data[inst->a];
            lw_ref *given = lw_arena_take(arena, (inst->c + 1) * sizeof *given);
            called[i] = lw_arena_take(arena, (callee->results.n + 1) * sizeof **called);
            if (given == NULL || called[i] == NULL) {
                b->module->failed = true;
                return;
            }
            for (uint32_t k = 0; k < inst->c; k++)
                given[k] = become[list[k]];
            write_body(w, callee, given, called[i]);
            become[i] = callee->results.n == 1 ? called[i][0] : 0;
        } else {
            become[i] = lw_ir_copy(b, func, *inst, become);
            if (b->module->failed || !has_ordinary_form(inst))
                continue;
            b->func->insts.data[become[i]].flags |= LW_ORDINARY;
            if (inst->op == LW_OP_DIV)
                test_division(w, become[inst->a], become[inst->b], become[i]);
            else
                test_intrinsic(w, inst->a, become[list[0]]);
        }
    }
    for (uint32_t i = 0; i < func->results.n && !b->module->failed; i++)
        results[i] = become[func->lists.data[func->insts.data[n - 1].b + i]];
}

static lw_status
write_ordinary(lw_module *module, const lw_func *func, uint32_t *ordinary, lw_error *err)
{
    lw_arena *arena = &module->arena;
    size_t length = strlen(func->name) + sizeof "_ordinary";
    char *name = lw_arena_take(arena, length);
    lw_ref *params = lw_arena_take(arena, (func->params.n + 1) * sizeof *params);
    lw_ref *results = lw_arena_take(arena, (func->results.n + 1) * sizeof *results);
    writer w;

    if (name == NULL || params == NULL || results == NULL)
        return lw_fail_memory(err);
    snprintf(name, length, "%s_ordinary", func->name);
    lw_builder_start(&w.b, module, name);
    for (uint32_t i = 0; i < func->params.n; i++)
        params[i] = lw_ir_param_add(&w.b, func->params.data[i].type, func->params.data[i].flags,
                                    func->params.data[i].name);
    for (uint32_t i = 0; i < func->results.n; i++)
        lw_ir_result_add(&w.b, func->results.data[i]);
    lw_ir_result_add(&w.b, LW_DT_b1);
    w.passes = lw_ir_slot(&w.b, LW_DT_b1);
    lw_ir_set(&w.b, w.passes, lw_ir_int(&w.b, LW_DT_b1, 1));
    write_body(&w, func, params, results);
    if (!module->failed) {
        results[func->results.n] = lw_ir_get(&w.b, w.passes);
        lw_ir_return(&w.b, results, func->results.n + 1);
        w.b.func->python_name = func->python_name;
        w.b.func->file = func->file;
        w.b.func->line = func->line;
    }
    *ordinary = w.b.func_number;
    return lw_ir_finish(&w.b, err);
}

lw_status
lw_add_ordinary(lw_module *module, uint32_t func, uint32_t *ordinary, lw_error *err)
{
    census c = {.computes_only = true};

    *ordinary = LW_NO_FUNCTION;
    count(module, func, &c);
    if (!c.computes_only || c.n_tests < LEAST_TESTS)
        return LW_OK;
    return write_ordinary(module, module->funcs.data[func], ordinary, err);
}

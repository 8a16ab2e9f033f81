/* Checks what every later stage assumes. Operands are checked by the letters of the op rows,
 * types by the rules of verify_types.c, regions and reachability by one walk. */
#include "core/ir/ir.h"

#include "core/ir/verify_internal.h"
#include "core/tables/intrinsics.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

lw_status __attribute__((format(printf, 2, 3)))
lw_verify_fault(lw_verifier *c, const char *rule, ...)
{
    char text[256];
    va_list args;

    va_start(args, rule);
    vsnprintf(text, sizeof text, rule, args);
    va_end(args);
    return lw_fail(c->err, LW_ERR_INTERNAL, "IR of %s, instruction %u (%s): %s",
                   c->func->name ? c->func->name : "?", c->at,
                   c->inst ? lw_ops[c->inst->op].text : "none", text);
}

/* ---- operands, by the letters of the row ---- */

static lw_status
check_value(lw_verifier *c, lw_ref value)
{
    const lw_inst *made;

    RULE(value > 0 && value < c->at, "operand %%%u is not made before", value);
    made = &c->func->insts.data[value];
    RULE(lw_ops[made->op].result != LW_RESULT_NONE && made->op != LW_OP_SLOT,
         "operand %%%u (%s) is no value", value, lw_ops[made->op].text);
    RULE(!c->dead[value], "operand %%%u was made in a region that is closed", value);
    return LW_OK;
}

static lw_status
check_list(lw_verifier *c)
{
    const lw_func *func = c->func;
    lw_status status = LW_OK;

    RULE(c->inst->b <= func->lists.n && c->inst->c <= func->lists.n - c->inst->b,
         "its list lies outside the function's lists");
    for (uint32_t i = 0; i < c->inst->c && status == LW_OK; i++) {
        lw_ref value = func->lists.data[c->inst->b + i];
        status = check_value(c, value);
        if (status == LW_OK && lanes_of(c, value) > 1 && c->inst->op != LW_OP_INTRINSIC)
            status = lw_verify_fault(c, "%%%u is a vector; only scalars stand in lists", value);
    }
    return status;
}

static unsigned
count_targets(const lw_verifier *c)
{
    unsigned n = 0;

    for (uint32_t i = 1; i < c->regions.n; i++)
        n += c->regions.data[i].op != LW_OP_IF && c->regions.data[i].op != LW_OP_ELSE;
    return n;
}

static lw_status
check_operand(lw_verifier *c, char letter, uint32_t value)
{
    const lw_func *func = c->func;

    switch (letter) {
    case 'v': return check_value(c, value);
    case 's':
        RULE(value > 0 && value < c->at && func->insts.data[value].op == LW_OP_SLOT,
             "operand %%%u is no slot made before", value);
        return LW_OK;
    case 'k': RULE(value < func->constants.n, "no constant number %u", value); return LW_OK;
    case 'p': RULE(value < func->params.n, "no parameter number %u", value); return LW_OK;
    case 'f': RULE(value < c->module->funcs.n, "no function number %u", value); return LW_OK;
    case 'i': RULE(value < LW_N_INTRINSICS, "no intrinsic number %u", value); return LW_OK;
    case 'd':
        RULE(value < count_targets(c), "no block or loop encloses it %u times", value + 1);
        return LW_OK;
    default: return LW_OK;
    }
}

/* Whether operand i of the operation may be a vector. */
static bool
takes_vector(lw_op op, int i)
{
    return lw_op_is_elementwise(op) || op == LW_OP_LANE || op == LW_OP_ANY ||
           op == LW_OP_FIRST || ((op == LW_OP_STORE || op == LW_OP_SET) && i == 1);
}

static lw_status
check_operands(lw_verifier *c)
{
    const char *letters = lw_ops[c->inst->op].args;
    const uint32_t operands[3] = {c->inst->a, c->inst->b, c->inst->c};
    lw_status status = LW_OK;

    for (int i = 0; i < 3 && status == LW_OK; i++) {
        if (letters[i] == 'L')
            return check_list(c);
        status = check_operand(c, letters[i], operands[i]);
        if (status == LW_OK && letters[i] == 'v' && lanes_of(c, operands[i]) > 1 &&
            !takes_vector((lw_op)c->inst->op, i))
            status = lw_verify_fault(c, "operand %%%u is a vector", operands[i]);
    }
    return status;
}

/* ---- regions ---- */

static lw_verify_region *
innermost(lw_verifier *c)
{
    return &c->regions.data[c->regions.n - 1];
}

/* Marks the values of a region that ends as unusable, except constants, parameters, special
 * registers, slots and memory, which are the same everywhere. */
static void
bury(lw_verifier *c, uint32_t first)
{
    for (uint32_t i = first; i < c->at; i++) {
        lw_op op = (lw_op)c->func->insts.data[i].op;
        c->dead[i] = op != LW_OP_CONST && op != LW_OP_PARAM && op != LW_OP_SREG &&
                     op != LW_OP_VARYING && lw_ops[op].class != LW_CLASS_DECL;
    }
}

static lw_status
open_region(lw_verifier *c, lw_op op)
{
    lw_verify_region *r = lw_array_push(&c->regions, NULL);

    if (r == NULL)
        return lw_fail_memory(c->err);
    *r = (lw_verify_region){.first = c->at, .op = op};
    return LW_OK;
}

static lw_status
switch_region(lw_verifier *c, lw_op from, lw_op to)
{
    lw_verify_region *r = innermost(c);

    RULE(r->op == from, "it stands in no %s", lw_ops[from].text);
    bury(c, r->first);
    if (to == LW_OP_ELSE) {
        r->then_ends = c->reachable;
        c->reachable = true;
    } else {
        c->reachable = c->reachable || r->continued;
    }
    r->first = c->at;
    r->op = to;
    return LW_OK;
}

static lw_status
end_region(lw_verifier *c)
{
    lw_verify_region r = *innermost(c);

    RULE(r.op != LW_OP_NONE, "nothing is open");
    RULE(r.op != LW_OP_LOOP, "the loop has no latch");
    bury(c, r.first);
    c->regions.n--;
    if (r.op == LW_OP_IF)
        c->reachable = true;
    else if (r.op == LW_OP_ELSE)
        c->reachable = c->reachable || r.then_ends;
    else if (r.op == LW_OP_BLOCK)
        c->reachable = c->reachable || r.broken;
    else
        c->reachable = r.broken;
    return LW_OK;
}

static lw_verify_region *
target(lw_verifier *c, uint32_t depth)
{
    for (uint32_t i = c->regions.n - 1; i > 0; i--) {
        lw_verify_region *r = &c->regions.data[i];
        if (r->op != LW_OP_IF && r->op != LW_OP_ELSE && depth-- == 0)
            return r;
    }
    return NULL;
}

static lw_status
leave(lw_verifier *c)
{
    lw_verify_region *r = c->inst->op == LW_OP_RETURN ? NULL : target(c, c->inst->a);

    if (c->inst->op == LW_OP_BREAK) {
        r->broken = true;
    } else if (c->inst->op == LW_OP_CONTINUE) {
        RULE(r->op == LW_OP_LOOP, "its target is no loop's body");
        r->continued = true;
    }
    c->reachable = false;
    return LW_OK;
}

static lw_status
check_flow(lw_verifier *c)
{
    switch (c->inst->op) {
    case LW_OP_IF:
    case LW_OP_BLOCK:
    case LW_OP_LOOP: return open_region(c, (lw_op)c->inst->op);
    case LW_OP_ELSE: return switch_region(c, LW_OP_IF, LW_OP_ELSE);
    case LW_OP_LATCH: return switch_region(c, LW_OP_LOOP, LW_OP_LATCH);
    case LW_OP_END: return end_region(c);
    default: return leave(c);
    }
}

/* Nothing may follow an instruction that leaves a region, until the region's end. */
static lw_status
check_not_left(lw_verifier *c)
{
    lw_op before = (lw_op)c->func->insts.data[c->at - 1].op, op = (lw_op)c->inst->op;
    bool left = before == LW_OP_BREAK || before == LW_OP_CONTINUE || before == LW_OP_RETURN;

    RULE(!left || op == LW_OP_END || op == LW_OP_ELSE || op == LW_OP_LATCH,
         "it follows a %s and can never run", lw_ops[before].text);
    return LW_OK;
}

static lw_status
check_inst(lw_verifier *c)
{
    lw_status status;

    RULE(c->inst->op > LW_OP_NONE && c->inst->op < LW_N_OPS, "no such instruction");
    RULE(c->inst->loc == 0 || c->inst->loc < c->module->locs.n, "no place number %u",
         c->inst->loc);
    LW_TRY(check_not_left(c));
    LW_TRY(check_operands(c));
    LW_TRY(lw_verify_types(c));
    if (lw_ops[c->inst->op].class == LW_CLASS_FLOW)
        LW_TRY(check_flow(c));
    return LW_OK;
fail:
    return status;
}

/* ---- functions ---- */

static bool
is_symbol(const char *name)
{
    static const char first[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_$";
    static const char digits[] = "0123456789";

    if (name == NULL || *name == 0 || strchr(first, *name) == NULL)
        return false;
    while (*name && (strchr(first, *name) || strchr(digits, *name)))
        name++;
    return *name == 0;
}

static lw_status
check_head(lw_verifier *c, uint32_t number)
{
    const lw_func *func = c->func;

    RULE(is_symbol(func->name), "its name cannot be a symbol");
    RULE(func->insts.n > 0, "it has no body");
    for (uint32_t i = 0; i < number; i++)
        RULE(strcmp(c->module->funcs.data[i]->name, func->name) != 0,
             "another function has this name");
    for (uint32_t i = 0; i < func->params.n; i++)
        RULE(is_scalar_type(func->params.data[i].type), "parameter %u has no type", i);
    for (uint32_t i = 0; i < func->results.n; i++)
        RULE(is_scalar_type(func->results.data[i]), "result %u has no type", i);
    RULE(func->linkage != LW_KERNEL || func->results.n == 0, "a kernel has no results");
    RULE(func->linkage != LW_EXPORTED || func->results.n <= 1,
         "an exported function has one result at most");
    return LW_OK;
}

static lw_status
check_body(lw_verifier *c)
{
    lw_status status;

    c->reachable = true;
    LW_TRY(open_region(c, LW_OP_NONE));
    for (c->at = 1; c->at < c->func->insts.n; c->at++) {
        c->inst = &c->func->insts.data[c->at];
        LW_TRY(check_inst(c));
    }
    RULE(c->regions.n == 1, "%u regions are left open", c->regions.n - 1);
    RULE(!c->reachable, "the function's end can be reached without a return");
    return LW_OK;
fail:
    return status;
}

static lw_status
check_func(const lw_module *module, uint32_t number, lw_error *err)
{
    lw_verifier c = {.module = module, .func = module->funcs.data[number], .err = err};
    lw_status status;

    c.dead = lw_alloc_zero(c.func->insts.n + 1, sizeof *c.dead);
    if (c.dead == NULL)
        return lw_fail_memory(err);
    status = check_head(&c, number);
    if (status == LW_OK)
        status = check_body(&c);
    lw_array_free(&c.regions);
    lw_free(c.dead);
    return status;
}

/* Walks the calls, but not the recursive ones, depth-first; `state` by function: 0 new, 1 on
 * the current path, 2 done. */
static bool
calls_itself(const lw_module *module, uint32_t number, uint8_t *state)
{
    const lw_func *func = module->funcs.data[number];

    if (state[number])
        return state[number] == 1;
    state[number] = 1;
    for (uint32_t i = 1; i < func->insts.n; i++)
        if (func->insts.data[i].op == LW_OP_CALL &&
            calls_itself(module, func->insts.data[i].a, state))
            return true;
    state[number] = 2;
    return false;
}

lw_status
lw_ir_verify(const lw_module *module, lw_error *err)
{
    lw_status status = LW_OK;
    uint8_t *state;

    for (uint32_t i = 0; i < module->funcs.n && status == LW_OK; i++)
        status = check_func(module, i, err);
    if (status != LW_OK)
        return status;
    state = lw_alloc_zero(module->funcs.n + 1, 1);
    if (state == NULL)
        return lw_fail_memory(err);
    for (uint32_t i = 0; i < module->funcs.n && status == LW_OK; i++)
        if (calls_itself(module, i, state))
            status = lw_fail(err, LW_ERR_INTERNAL, "IR of %s: it calls itself",
                             module->funcs.data[i]->name);
    lw_free(state);
    return status;
}

/* needs: LW_MAY_FUSE flags; keeps: types, regions; breaks: use counts, value numbers.
 *
 * A first walk counts uses and chooses, a second one writes the function again: fused products
 * are dropped, and a*b - c and c - a*b get the NEG that fma(a, b, -c) and fma(-a, b, c) need.
 * Both are the exact product plus the exact addend, rounded once. Signs of zero are those that
 * IEEE 754 gives a*b - c; -(fma(-a, b, c)) would give others. */
#include "core/opt/contract.h"

#include "core/base/memory.h"
#include "core/ir/operands.h"

#include <assert.h>
#include <string.h>

typedef struct plan {
    lw_func *func;
    lw_arena *arena;
    uint32_t *uses;   /* by value */
    uint32_t *region; /* by value: number of the innermost region that contains it */
    uint32_t *fused;  /* by ADD or SUB: the product that is fused into it, 0 = none */
    uint32_t *number; /* by value: its number in the new array */
    uint8_t *dropped; /* by product: the sum that it is fused into */
    LW_ARRAY(lw_inst) insts;
} plan;

static void
count_uses(plan *p)
{
    for (uint32_t i = 1; i < p->func->insts.n; i++) {
        uint32_t at = 0;
        lw_ref operand;

        while (lw_ir_next_operand(p->func, &p->func->insts.data[i], &at, &operand))
            p->uses[operand]++;
    }
}

/* Numbers the parts of the structure (an IF's two branches, a loop's body and latch). `fused`
 * is still empty and serves as the stack of the enclosing parts' numbers. */
static void
number_regions(plan *p)
{
    uint32_t *stack = p->fused, depth = 0, now = 0, last = 0;

    for (uint32_t i = 1; i < p->func->insts.n; i++) {
        switch (p->func->insts.data[i].op) {
        case LW_OP_IF:
        case LW_OP_BLOCK:
        case LW_OP_LOOP:
            stack[depth++] = now;
            now = ++last;
            break;
        case LW_OP_ELSE:
        case LW_OP_LATCH: now = ++last; break;
        case LW_OP_END:
            assert(depth > 0);
            now = stack[--depth];
            break;
        default: break;
        }
        p->region[i] = now;
    }
    assert(depth == 0);
    memset(stack, 0, p->func->insts.n * sizeof *stack);
}

static bool
may_fuse(const lw_inst *inst)
{
    return (inst->flags & LW_MAY_FUSE) && (inst->type == LW_DT_f32 || inst->type == LW_DT_f64);
}

static bool
take_product(plan *p, uint32_t sum, uint32_t value)
{
    const lw_inst *product = &p->func->insts.data[value];

    if (product->op != LW_OP_MUL || !may_fuse(product) || p->uses[value] != 1 ||
        p->region[value] != p->region[sum])
        return false;
    assert(value < sum && !p->dropped[value]);
    p->fused[sum] = value;
    p->dropped[value] = 1;
    return true;
}

/* How many sums a product is fused into. */
static uint32_t
choose(plan *p)
{
    uint32_t n = 0;

    for (uint32_t i = 1; i < p->func->insts.n; i++) {
        const lw_inst *inst = &p->func->insts.data[i];
        if ((inst->op == LW_OP_ADD || inst->op == LW_OP_SUB) && may_fuse(inst))
            n += take_product(p, i, inst->a) || take_product(p, i, inst->b);
    }
    return n;
}

static void
renumber(const plan *p, lw_inst *inst)
{
    const char *letters = lw_ops[inst->op].args;
    uint32_t *operands[3] = {&inst->a, &inst->b, &inst->c};

    for (uint32_t i = 0; letters[1] == 'L' && i < inst->c; i++) {
        lw_ref *element = &p->func->lists.data[inst->b + i];
        assert(p->number[*element] != 0);
        *element = p->number[*element];
    }
    for (int k = 0; k < 3 && letters[1] != 'L'; k++)
        if (letters[k] == 'v' || letters[k] == 's') {
            assert(p->number[*operands[k]] != 0);
            *operands[k] = p->number[*operands[k]];
        }
}

static uint32_t
push(plan *p, lw_inst inst)
{
    lw_inst *slot = lw_array_push(&p->insts, p->arena);

    if (slot == NULL)
        return 0;
    *slot = inst;
    return p->insts.n - 1;
}

/* Writes the sum at `at` as an FMA of its product; operands get their new numbers here. */
static uint32_t
push_fma(plan *p, uint32_t at)
{
    const lw_inst *sum = &p->func->insts.data[at];
    const lw_inst *product = &p->func->insts.data[p->fused[at]];
    bool product_first = sum->a == p->fused[at];
    lw_inst fma = *sum, neg = *sum;
    uint32_t *negated;

    assert(product->op == LW_OP_MUL && product->type == sum->type);
    assert(product_first || sum->b == p->fused[at]);
    fma.op = LW_OP_FMA;
    fma.flags = sum->flags & product->flags & LW_FAST_ALL;
    fma.a = p->number[product->a];
    fma.b = p->number[product->b];
    fma.c = p->number[product_first ? sum->b : sum->a];
    if (sum->op == LW_OP_SUB) {
        negated = product_first ? &fma.c : &fma.a;
        neg.op = LW_OP_NEG;
        neg.flags = fma.flags;
        neg.a = *negated;
        neg.b = 0;
        *negated = push(p, neg);
    }
    return push(p, fma);
}

static bool
rewrite(plan *p, uint32_t n_fused)
{
    lw_func *func = p->func;

    /* each fused sum adds at most one NEG and drops one product */
    if (!lw_array_reserve(&p->insts, func->insts.n + n_fused, p->arena))
        return false;
    push(p, func->insts.data[0]);
    for (uint32_t i = 1; i < func->insts.n; i++) {
        lw_inst inst = func->insts.data[i];
        if (p->dropped[i])
            continue;
        if (p->fused[i]) {
            p->number[i] = push_fma(p, i);
            continue;
        }
        renumber(p, &inst);
        p->number[i] = push(p, inst);
    }
    memcpy(&func->insts, &p->insts, sizeof func->insts);
    return true;
}

static bool
contract_func(lw_func *func, lw_arena *arena)
{
    uint32_t n = func->insts.n, n_fused;
    plan p = {.func = func, .arena = arena};
    uint32_t *tables = lw_alloc_zero(n + 1, 4 * sizeof *tables + 1);
    bool good = tables != NULL;

    if (!good)
        return false;
    p.uses = tables;
    p.region = tables + n;
    p.fused = tables + 2 * n;
    p.number = tables + 3 * n;
    p.dropped = (uint8_t *)(tables + 4 * n);
    count_uses(&p);
    number_regions(&p);
    n_fused = choose(&p);
    if (n_fused > 0)
        good = rewrite(&p, n_fused);
    lw_free(tables);
    return good;
}

lw_status
lw_opt_contract(lw_module *module, lw_error *err)
{
    for (uint32_t i = 0; i < module->funcs.n; i++)
        if (!contract_func(module->funcs.data[i], &module->arena))
            return lw_fail_memory(err);
    return LW_OK;
}

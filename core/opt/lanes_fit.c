/* Which functions run in vectors, and how many lanes these have. */
#include "core/opt/lanes_internal.h"

#include <assert.h>

/* LONGEST: instructions, with those of functions that are called. UNROLLED: instructions of a
 * loop, times its iterations, up to which LLVM unrolls it, and vectorises what is around it. */
enum { LONGEST = 2048, UNROLLED = 300 };

typedef struct judge {
    const lw_module *module;
    const lw_lanes_host *host;
    const lw_lanes_facts *facts;
    uint32_t size; /* instructions so far */
    bool called;   /* the function at hand is one that the body calls */
    bool pays;     /* there is a loop that LLVM does not vectorise */
    bool wide;     /* numbers of 64 bits are kept from one iteration to the next */
} judge;

static bool
is_vector_type(lw_dtype type)
{
    return type == LW_DT_void || type == LW_DT_b1 || type == LW_DT_f32 || type == LW_DT_f64 ||
           lw_is_integer(type);
}

static bool
is_in_loop(const judge *j, uint32_t i)
{
    if (j->called)
        return true;
    for (uint32_t r = j->facts->inner[i]; r != 0; r = j->facts->inner[r])
        if (j->facts->func->insts.data[r].op == LW_OP_LOOP)
            return true;
    return false;
}

/* No vector unit divides integers. A quotient by a constant is a product, and one by a power of
 * two a shift. */
static bool
divides(const judge *j, const lw_inst *inst, bool in_loop)
{
    const lw_func *func = j->facts->func;
    const lw_inst *by = &func->insts.data[inst->b];
    uint64_t bits;

    if (lw_is_float((lw_dtype)inst->type))
        return true;
    if (by->op != LW_OP_CONST)
        return false;
    bits = func->constants.data[by->a].bits;
    if (bits == 0 || (lw_is_signed((lw_dtype)inst->type) && (int64_t)bits < 0))
        return false;
    return !in_loop || (bits & (bits - 1)) == 0 || lw_dtypes[inst->type].bits <= 32;
}

static bool
has_vector_form(const judge *j, uint32_t i)
{
    const lw_inst *inst = &j->facts->func->insts.data[i];
    bool in_loop = is_in_loop(j, i);
    lw_dtype from;

    switch ((lw_op)inst->op) {
    case LW_OP_DIV:
    case LW_OP_REM: return divides(j, inst, in_loop);
    case LW_OP_INTRINSIC:
        return !in_loop || (j->facts->flags[i] & LW_LANES_SQUARED) ||
               lw_intrinsic_has_vectors((lw_intrinsic)inst->a) ||
               j->host->is_own((lw_intrinsic)inst->a, (lw_dtype)inst->type);
    case LW_OP_CAST: /* AVX2 has no conversion from f64 to i64 */
        from = (lw_dtype)j->facts->func->insts.data[inst->a].type;
        return !in_loop || j->host->vector_bits >= 512 || !lw_is_float(from) ||
               !lw_is_integer((lw_dtype)inst->type) || lw_dtypes[inst->type].bits <= 32;
    default: return true;
    }
}

static bool
is_understood(const judge *j, uint32_t i)
{
    const lw_inst *inst = &j->facts->func->insts.data[i];

    if (inst->lanes > 1 || !is_vector_type((lw_dtype)inst->type))
        return false;
    switch ((lw_op)inst->op) {
    case LW_OP_CONST:
    case LW_OP_PARAM:
    case LW_OP_VARYING:
    case LW_OP_SLOT:
    case LW_OP_GET:
    case LW_OP_SET:
    case LW_OP_CALL:
    case LW_OP_RESULT:
    case LW_OP_IF:
    case LW_OP_ELSE:
    case LW_OP_BLOCK:
    case LW_OP_LOOP:
    case LW_OP_LATCH:
    case LW_OP_END:
    case LW_OP_BREAK:
    case LW_OP_CONTINUE:
    case LW_OP_RETURN: return true;
    default: return lw_op_is_elementwise((lw_op)inst->op) && has_vector_form(j, i);
    }
}

/* The iterations of a loop that begins as lw_ir_for emits it, if they are a constant. */
static uint64_t
iterations_of(const lw_func *func, uint32_t loop)
{
    const lw_inst *get = &func->insts.data[loop + 1];

    for (uint32_t i = loop + 2; i < func->insts.n && i < loop + 6; i++) {
        const lw_inst *less = &func->insts.data[i];
        if (get->op == LW_OP_GET && less->op == LW_OP_LT && less->a == loop + 1 &&
            func->insts.data[less->b].op == LW_OP_CONST)
            return func->constants.data[func->insts.data[less->b].a].bits;
    }
    return UNROLLED;
}

/* A loop is left as it is if lanes leave it one after the other, or if it is long. */
static bool
stays_loop(const lw_lanes_facts *facts, uint32_t loop)
{
    uint64_t size = facts->regions.ends[loop] - loop;

    return (facts->flags[loop] & (LW_LANES_OUTWARD | LW_LANES_BREAKS)) ||
           iterations_of(facts->func, loop) > UNROLLED / size;
}

static bool judge_function(judge *j, uint32_t number);

static bool
judge_all(judge *j)
{
    const lw_func *func = j->facts->func;

    for (uint32_t i = 1; i < func->insts.n; i++) {
        const lw_inst *inst = &func->insts.data[i];
        if (!is_understood(j, i))
            return false;
        if (inst->op == LW_OP_CALL && !judge_function(j, inst->a))
            return false;
        j->pays |= inst->op == LW_OP_LOOP && stays_loop(j->facts, i);
        j->wide |= inst->op == LW_OP_SLOT && lw_dtypes[inst->type].bits == 64 &&
                   !(j->facts->flags[i] & LW_LANES_UNIFORM);
        j->wide |= inst->type == LW_DT_f64 && !(j->facts->flags[i] & LW_LANES_UNIFORM);
    }
    return true;
}

static bool
judge_function(judge *j, uint32_t number)
{
    const lw_func *func = j->module->funcs.data[number];
    const lw_lanes_facts *caller = j->facts;
    bool called = j->called, fits = true;
    lw_lanes_facts facts;

    j->size += func->insts.n;
    for (uint32_t i = 0; i < func->results.n; i++)
        fits &= is_vector_type(func->results.data[i]);
    if (!fits || j->size > LONGEST || !lw_lanes_facts_init(&facts, func))
        return false;
    j->facts = &facts;
    j->called = caller != NULL;
    fits = judge_all(j);
    j->facts = caller;
    j->called = called;
    lw_lanes_facts_reset(&facts);
    return fits;
}

/* Two registers of each vector, so that one computes while the other waits. */
bool
lw_lanes_fit(const lw_module *module, uint32_t body, const lw_lanes_host *host,
             lw_lanes_choice *out)
{
    judge j = {.module = module, .host = host};
    unsigned lanes;

    assert(host->vector_bits >= 128);
    if (!judge_function(&j, body) || !j.pays)
        return false;
    lanes = 2 * (unsigned)host->vector_bits / (j.wide ? 64 : 32);
    out->lanes = lanes > LW_MOST_LANES ? LW_MOST_LANES : lanes;
    out->host = *host;
    out->mask = host->vector_bits >= 512 ? LW_DT_b1 : j.wide ? LW_DT_i64 : LW_DT_i32;
    return true;
}

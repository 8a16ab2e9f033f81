#include "gufunc/core/core_trace.h"

#include "core/base/memory.h"
#include "core/ir/facts.h"

#include <string.h>

enum { ANYWHERE = -1, ELSEWHERE = -2 };

enum { MOST_STEPS = 1 << 18, MOST_PARTS = 1 << 12, MOST_CALLS = 16, MOST_REGIONS = 256 };

typedef enum value_kind { UNKNOWN, NUMBER, POINTER } value_kind;

typedef struct value {
    uint8_t kind;
    bool exact;      /* POINTER: the offset is known */
    int16_t operand; /* POINTER: where it points into; ANYWHERE, or ELSEWHERE: own memory */
    int64_t number;  /* NUMBER: sign- or zero-extended; POINTER: the offset */
} value;

/* One output. */
typedef struct output {
    bool watched, failed;
    uint32_t part_bytes, n_parts, n_left;
    uint8_t *written; /* by part */
} output;

typedef struct tracer {
    const lw_gufunc_loop *loop;
    const lw_module *module;
    output outputs[LW_MAX_OPERANDS];
    uint32_t steps, depth;
    uint32_t doubts; /* open branches that may or may not be taken */
} tracer;

/* One call of a function. */
typedef struct frame {
    const lw_func *func;
    const value *args;
    value *values; /* by instruction; slots hold their content */
    lw_ir_regions regions;
} frame;

/* How a region was left. */
typedef enum leaving { ON, BREAKS, CONTINUES, RETURNS, LOST } leaving;

typedef struct flow {
    leaving how;
    uint32_t depth; /* BREAKS, CONTINUES: how many regions up */
} flow;

/* ---- numbers ---- */

static int64_t
wrapped(lw_dtype type, uint64_t bits)
{
    switch (type) {
    case LW_DT_b1: return bits & 1;
    case LW_DT_i8: return (int8_t)bits;
    case LW_DT_u8: return (uint8_t)bits;
    case LW_DT_i16: return (int16_t)bits;
    case LW_DT_u16: return (uint16_t)bits;
    case LW_DT_i32: return (int32_t)bits;
    case LW_DT_u32: return (uint32_t)bits;
    default: return (int64_t)bits;
    }
}

static bool
is_integer(lw_dtype type)
{
    return type >= LW_DT_b1 && type <= LW_DT_u64;
}

static value
number_of(lw_dtype type, uint64_t bits)
{
    return (value){.kind = NUMBER, .number = wrapped(type, bits)};
}

static bool
is_less(lw_dtype type, int64_t x, int64_t y)
{
    return type == LW_DT_u64 ? (uint64_t)x < (uint64_t)y : x < y;
}

static value
compute(lw_op op, lw_dtype type, int64_t x, int64_t y)
{
    uint64_t a = (uint64_t)x, b = (uint64_t)y;
    unsigned bits = 8u * lw_dtypes[type].size_bytes;

    switch (op) {
    case LW_OP_ADD: return number_of(type, a + b);
    case LW_OP_SUB: return number_of(type, a - b);
    case LW_OP_MUL: return number_of(type, a * b);
    case LW_OP_AND: return number_of(type, a & b);
    case LW_OP_OR: return number_of(type, a | b);
    case LW_OP_XOR: return number_of(type, a ^ b);
    case LW_OP_EQ: return number_of(LW_DT_b1, x == y);
    case LW_OP_NE: return number_of(LW_DT_b1, x != y);
    case LW_OP_LT: return number_of(LW_DT_b1, is_less(type, x, y));
    case LW_OP_LE: return number_of(LW_DT_b1, !is_less(type, y, x));
    case LW_OP_GT: return number_of(LW_DT_b1, is_less(type, y, x));
    case LW_OP_GE: return number_of(LW_DT_b1, !is_less(type, x, y));
    case LW_OP_SHL: return b < bits ? number_of(type, a << b) : (value){0};
    case LW_OP_SHR:
        if (b >= bits)
            return (value){0};
        return number_of(type, type == LW_DT_u64 ? a >> b : (uint64_t)(x >> b));
    case LW_OP_DIV:
    case LW_OP_REM:
        if (y == 0 || y == -1 || type == LW_DT_u64)
            return (value){0};
        return number_of(type, (uint64_t)(op == LW_OP_DIV ? x / y : x % y));
    default: return (value){0};
    }
}

static value
unary(const frame *f, const lw_inst *inst)
{
    const value *x = &f->values[inst->a];
    lw_dtype type = (lw_dtype)inst->type;

    if (x->kind != NUMBER || !is_integer(type) || inst->lanes > 1)
        return (value){0};
    switch (inst->op) {
    case LW_OP_NOT: return number_of(type, ~(uint64_t)x->number);
    case LW_OP_NEG: return number_of(type, 0 - (uint64_t)x->number);
    case LW_OP_CAST:
        return number_of(type, type == LW_DT_b1 ? x->number != 0 : (uint64_t)x->number);
    default: return (value){0};
    }
}

static value
binary(const frame *f, const lw_inst *inst)
{
    const value *x = &f->values[inst->a], *y = &f->values[inst->b];
    lw_dtype type = (lw_dtype)f->func->insts.data[inst->a].type;

    if (x->kind != NUMBER || y->kind != NUMBER || !is_integer(type) || inst->lanes > 1)
        return (value){0};
    return compute((lw_op)inst->op, type, x->number, y->number);
}

/* ---- memory ---- */

static void
see_store(tracer *t, value at, unsigned bytes)
{
    output *o = at.kind == POINTER && at.operand >= 0 ? &t->outputs[at.operand] : NULL;
    uint32_t first, n;

    if (o == NULL || !o->watched || !at.exact || t->doubts || at.number < 0 ||
        at.number % o->part_bytes || bytes % o->part_bytes)
        return; /* then it counts for nothing */
    first = (uint32_t)(at.number / o->part_bytes);
    n = bytes / o->part_bytes;
    for (uint32_t i = first; i < first + n && i < o->n_parts; i++)
        if (!o->written[i]) {
            o->written[i] = 1;
            o->n_left--;
        }
}

static void
see_load_of(output *o, const value *at, unsigned bytes)
{
    if (!o->watched || o->n_left == 0)
        return;
    if (!at->exact || at->number < 0) {
        o->failed = true;
        return;
    }
    for (int64_t i = at->number / o->part_bytes;
         i <= (at->number + bytes - 1) / o->part_bytes && i < o->n_parts; i++)
        if (!o->written[i])
            o->failed = true;
}

static void
see_load(tracer *t, value at, unsigned bytes)
{
    if (at.kind == POINTER && at.operand >= 0) {
        see_load_of(&t->outputs[at.operand], &at, bytes);
        return;
    }
    if (at.kind == POINTER && at.operand == ELSEWHERE)
        return;
    at.exact = false;
    for (int i = t->loop->nin; i < t->loop->nin + t->loop->nout; i++)
        see_load_of(&t->outputs[i], &at, bytes);
}

static value
offset(const frame *f, const lw_inst *inst)
{
    value at = f->values[inst->a];
    const value *bytes = &f->values[inst->b];

    if (at.kind != POINTER)
        return (value){.kind = POINTER, .operand = ANYWHERE};
    at.exact = at.exact && bytes->kind == NUMBER;
    at.number += at.exact ? bytes->number : 0;
    return at;
}

/* A pointer that functions outside of this module, or atomics, get. */
static void
see_escape(tracer *t, const frame *f, const lw_inst *inst)
{
    for (uint32_t i = 0; i < inst->c; i++) {
        value v = f->values[f->func->lists.data[inst->b + i]];
        if (v.kind == POINTER) {
            v.exact = false;
            see_load(t, v, 1);
        }
    }
}

/* ---- walking ---- */

static flow run_call(tracer *t, uint32_t function, const value *args, value *result);
static flow run_region(tracer *t, frame *f, uint32_t at, uint32_t end);

static flow
one_up(flow left)
{
    if (left.how == BREAKS || left.how == CONTINUES)
        left.depth--;
    return left;
}

static flow
run_loop(tracer *t, frame *f, uint32_t at)
{
    uint32_t end = f->regions.ends[at],
             latch = f->regions.middles[at] ? f->regions.middles[at] : end;

    for (;;) {
        flow left = run_region(t, f, at + 1, latch);
        if (left.how == BREAKS && left.depth == 0)
            return (flow){ON, 0};
        if (left.how != ON && !(left.how == CONTINUES && left.depth == 0))
            return one_up(left);
        left = latch < end ? run_region(t, f, latch + 1, end) : (flow){ON, 0};
        if (left.how == BREAKS && left.depth == 0)
            return (flow){ON, 0};
        if (left.how != ON)
            return one_up(left);
        if (t->steps >= MOST_STEPS)
            return (flow){LOST, 0};
    }
}

static flow
run_block(tracer *t, frame *f, uint32_t at)
{
    flow left = run_region(t, f, at + 1, f->regions.ends[at]);

    if (left.how == BREAKS && left.depth == 0)
        return (flow){ON, 0};
    return one_up(left);
}

/* Both arms; what differs afterwards is unknown. An arm that leaves for elsewhere would make
 * all that follows uncertain. */
static flow
run_doubtful(tracer *t, frame *f, uint32_t at)
{
    uint32_t n = f->func->insts.n, middle = f->regions.middles[at], end = f->regions.ends[at];
    value *before = lw_alloc_zero(n, 2 * sizeof *before), *then = before + n;
    flow left;

    if (before == NULL)
        return (flow){LOST, 0};
    t->doubts++;
    memcpy(before, f->values, n * sizeof *before);
    left = run_region(t, f, at + 1, middle ? middle : end);
    memcpy(then, f->values, n * sizeof *then);
    memcpy(f->values, before, n * sizeof *before);
    if (left.how == ON && middle)
        left = run_region(t, f, middle + 1, end);
    t->doubts--;
    for (uint32_t i = 1; i < n; i++) {
        const value *x = &f->values[i], *y = &then[i];
        bool pointer = x->kind == POINTER || y->kind == POINTER;
        if (x->kind == y->kind && x->exact == y->exact && x->operand == y->operand &&
            x->number == y->number)
            continue;
        f->values[i] = pointer ? (value){.kind = POINTER, .operand = ANYWHERE} : (value){0};
    }
    lw_free(before);
    return left.how == ON ? left : (flow){LOST, 0};
}

static flow
run_if(tracer *t, frame *f, uint32_t at)
{
    const lw_inst *inst = &f->func->insts.data[at];
    const value *condition = &f->values[inst->a];
    uint32_t middle = f->regions.middles[at], end = f->regions.ends[at];

    if (condition->kind != NUMBER)
        return run_doubtful(t, f, at);
    if (condition->number)
        return run_region(t, f, at + 1, middle ? middle : end);
    return middle ? run_region(t, f, middle + 1, end) : (flow){ON, 0};
}

static flow
step_call(tracer *t, frame *f, uint32_t at)
{
    const lw_inst *inst = &f->func->insts.data[at];
    value *args = lw_alloc_zero(inst->c + 1, sizeof *args);
    flow left;

    if (args == NULL)
        return (flow){LOST, 0};
    for (uint32_t i = 0; i < inst->c; i++)
        args[i] = f->values[f->func->lists.data[inst->b + i]];
    left = run_call(t, inst->a, args, &f->values[at]);
    lw_free(args);
    return left;
}

static unsigned
access_bytes(const lw_inst *inst)
{
    unsigned lanes = inst->lanes > 1 ? inst->lanes : 1;

    return lanes * (inst->type == LW_DT_b1 ? 1 : lw_dtypes[inst->type].size_bytes);
}

static value
select_value(const frame *f, const lw_inst *inst)
{
    const value *condition = &f->values[inst->a];

    if (condition->kind == NUMBER)
        return f->values[condition->number ? inst->b : inst->c];
    if (inst->type == LW_DT_ptr)
        return (value){.kind = POINTER, .operand = ANYWHERE};
    return (value){0};
}

/* Instructions that go on to the next one. */
static void
step(tracer *t, frame *f, uint32_t at)
{
    const lw_inst *inst = &f->func->insts.data[at];
    value *out = &f->values[at];

    switch (inst->op) {
    case LW_OP_CONST:
        *out = is_integer((lw_dtype)inst->type)
                   ? number_of((lw_dtype)inst->type, f->func->konsts.data[inst->a].bits)
                   : (value){0};
        return;
    case LW_OP_PARAM: *out = f->args[inst->a]; return;
    case LW_OP_GET: *out = f->values[inst->a]; return;
    case LW_OP_SET: f->values[inst->a] = f->values[inst->b]; return;
    case LW_OP_SLOT: return;
    case LW_OP_OFFSET: *out = offset(f, inst); return;
    case LW_OP_SELECT: *out = select_value(f, inst); return;
    case LW_OP_LOAD:
        see_load(t, f->values[inst->a], access_bytes(inst));
        *out = inst->type == LW_DT_ptr ? (value){.kind = POINTER, .operand = ANYWHERE}
                                       : (value){0};
        return;
    case LW_OP_STORE:
        see_store(t, f->values[inst->a], access_bytes(&f->func->insts.data[inst->b]));
        return;
    case LW_OP_LOCAL:
    case LW_OP_DATA: *out = (value){.kind = POINTER, .operand = ELSEWHERE}; return;
    case LW_OP_ATOMIC:
    case LW_OP_KERNEL_CALL:
    case LW_OP_HOST_CALL:
        see_escape(t, f, inst);
        *out = (value){0};
        return;
    case LW_OP_RESULT:
        *out = inst->type == LW_DT_ptr ? (value){.kind = POINTER, .operand = ANYWHERE}
                                       : (value){0};
        return;
    default:
        if (inst->type == LW_DT_ptr)
            *out = (value){.kind = POINTER, .operand = ANYWHERE};
        else if (strcmp(lw_ops[inst->op].args, "vv-") == 0)
            *out = binary(f, inst);
        else if (strcmp(lw_ops[inst->op].args, "v--") == 0)
            *out = unary(f, inst);
        else
            *out = (value){0};
        return;
    }
}

static flow
run_region(tracer *t, frame *f, uint32_t at, uint32_t end)
{
    while (at < end) {
        const lw_inst *inst = &f->func->insts.data[at];
        flow left = {ON, 0};
        if (++t->steps > MOST_STEPS)
            return (flow){LOST, 0};
        switch (inst->op) {
        case LW_OP_IF: left = run_if(t, f, at); break;
        case LW_OP_LOOP: left = run_loop(t, f, at); break;
        case LW_OP_BLOCK: left = run_block(t, f, at); break;
        case LW_OP_CALL: left = step_call(t, f, at); break;
        case LW_OP_BREAK: return (flow){BREAKS, inst->a};
        case LW_OP_CONTINUE: return (flow){CONTINUES, inst->a};
        case LW_OP_RETURN: return (flow){RETURNS, 0};
        default: step(t, f, at); break;
        }
        if (left.how != ON)
            return left;
        if (inst->op == LW_OP_IF || inst->op == LW_OP_LOOP || inst->op == LW_OP_BLOCK)
            at = f->regions.ends[at];
        at++;
    }
    return (flow){ON, 0};
}

static flow
run_call(tracer *t, uint32_t function, const value *args, value *result)
{
    frame f = {.func = t->module->funcs.data[function], .args = args};
    uint32_t n = f.func->insts.n;
    flow left = {LOST, 0};

    *result = (value){0};
    if (++t->depth > MOST_CALLS)
        return left;
    f.values = lw_alloc_zero(n + 1, sizeof *f.values);
    if (f.values != NULL && lw_ir_regions_init(&f.regions, f.func) &&
        f.regions.deepest <= MOST_REGIONS)
        left = run_region(t, &f, 1, n);
    lw_free(f.values);
    lw_ir_regions_reset(&f.regions);
    t->depth--;
    if (f.func->results.n == 1 && f.func->results.data[0] == LW_DT_ptr)
        *result = (value){.kind = POINTER, .operand = ANYWHERE};
    return left.how == ON || left.how == RETURNS ? (flow){ON, 0} : (flow){LOST, 0};
}

/* ---- the body ---- */

static value
known(int64_t number)
{
    return (value){.kind = NUMBER, .number = number};
}

static void
fill_args(const lw_gufunc_loop *loop, const lw_core_key *key, value *args)
{
    for (int i = 0; i < loop->nin + loop->nout; i++) {
        const lw_core_operand *core = &loop->layout->operands[i];
        int64_t step = lw_dtypes[loop->types[i]].size_bytes;
        value *at;
        if (loop->address[i]) /* no output shares an excluded array's memory */
            args[loop->scalar->args[i].first] = (value){.kind = POINTER, .operand = ELSEWHERE};
        if (loop->form[i] != LW_CORE_ARRAY)
            continue;
        at = &args[loop->scalar->args[i].first];
        *at++ = (value){.kind = POINTER, .exact = true, .operand = (int16_t)i};
        if (core->n == 0) {
            at[0] = known(1);
            at[1] = known(step);
        }
        for (uint32_t d = core->n; d-- > 0;) {
            at[d] = known(key->sizes[core->dims[d]]);
            at[core->n + d] = known(step);
            step *= key->sizes[core->dims[d]];
        }
    }
}

static bool
watch(const lw_gufunc_loop *loop, const lw_core_key *key, int operand, output *o)
{
    lw_dtype dtype = loop->types[operand];
    uint32_t bytes = lw_core_count(loop, key, operand) * lw_dtypes[dtype].size_bytes;

    o->part_bytes = dtype == LW_DT_b1 ? 1 : lw_dtypes[lw_dtypes[dtype].parts].size_bytes;
    o->n_parts = o->n_left = bytes / o->part_bytes;
    if (o->n_parts > MOST_PARTS)
        return true;
    o->written = lw_alloc_zero(o->n_parts + 1, 1);
    o->watched = o->written != NULL;
    return o->watched;
}

void
lw_core_drop_keep(const lw_gufunc_loop *loop, lw_core_key *key)
{
    const lw_scalar *scalar = loop->scalar;
    uint32_t n_params = scalar->module->funcs.data[scalar->body]->params.n;
    tracer *t = NULL;
    value *args = NULL, result;
    bool any = false;

    for (int i = loop->nin; i < loop->nin + loop->nout; i++)
        any |= key->operands[i].keep && loop->form[i] != LW_CORE_RESULT;
    for (int i = loop->nin; i < loop->nin + loop->nout; i++)
        if (loop->form[i] == LW_CORE_RESULT)
            key->operands[i].keep = 0; /* a result is always there */
    if (!any || !key->constant)
        return;
    t = lw_alloc_zero(1, sizeof *t);
    args = lw_alloc_zero(n_params + 1, sizeof *args);
    if (t == NULL || args == NULL)
        goto done;
    t->loop = loop;
    t->module = scalar->module;
    for (int i = loop->nin; i < loop->nin + loop->nout; i++)
        if (key->operands[i].keep && !watch(loop, key, i, &t->outputs[i]))
            goto done;
    fill_args(loop, key, args);
    if (run_call(t, scalar->body, args, &result).how == ON)
        for (int i = loop->nin; i < loop->nin + loop->nout; i++)
            if (t->outputs[i].watched && !t->outputs[i].failed && t->outputs[i].n_left == 0)
                key->operands[i].keep = 0;
done:
    for (int i = 0; t != NULL && i < LW_MAX_OPERANDS; i++)
        lw_free(t->outputs[i].written);
    lw_free(args);
    lw_free(t);
}

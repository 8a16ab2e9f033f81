#include "core/opt/overwrite.h"

#include "core/base/memory.h"
#include "core/ir/facts.h"

#include <assert.h>
#include <string.h>

enum { ANYWHERE = -1, ELSEWHERE = -2 };

enum { MOST_STEPS = 1 << 18, MOST_PARTS = 1 << 12, MOST_CALLS = 16, MOST_REGIONS = 256 };

typedef enum value_kind { UNKNOWN, NUMBER, POINTER } value_kind;

typedef struct value {
    uint8_t kind;
    bool exact;    /* POINTER: the offset is known */
    int16_t array; /* POINTER: the array it points into; ANYWHERE, or ELSEWHERE: none of them */
    int64_t number; /* NUMBER: sign- or zero-extended; POINTER: the offset */
} value;

static const value anywhere = {.kind = POINTER, .array = ANYWHERE};

/* An array that is watched. */
typedef struct watched {
    uint32_t part_bytes, n_parts, n_left; /* n_parts 0: it is not watched */
    bool failed;                          /* something of it was read before it was written */
    uint8_t *written;                     /* by part */
} watched;

typedef struct tracer {
    const lw_module *module;
    watched *arrays;
    uint32_t n_arrays;
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
is_whole(lw_dtype type)
{
    return type == LW_DT_b1 || lw_is_integer(type);
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

    if (x->kind != NUMBER || !is_whole(type) || inst->lanes > 1)
        return (value){0};
    switch (inst->op) {
    case LW_OP_NOT: return number_of(type, ~(uint64_t)x->number);
    case LW_OP_NEG: return number_of(type, 0 - (uint64_t)x->number);
    case LW_OP_CAST:
        return number_of(type, type == LW_DT_b1 ? x->number != 0 : (uint64_t)x->number);
    default: return (value){0};
    }
}

/* Memory from outside may be an argument, too. */
static value
data_value(const tracer *t, const lw_inst *inst)
{
    return t->module->datas.data[inst->a].address
               ? anywhere
               : (value){.kind = POINTER, .array = ELSEWHERE};
}

static value
binary(const frame *f, const lw_inst *inst)
{
    const value *x = &f->values[inst->a], *y = &f->values[inst->b];
    lw_dtype type = (lw_dtype)f->func->insts.data[inst->a].type;

    if (x->kind != NUMBER || y->kind != NUMBER || !is_whole(type) || inst->lanes > 1)
        return (value){0};
    return compute((lw_op)inst->op, type, x->number, y->number);
}

/* ---- memory ---- */

static void
see_store(tracer *t, value at, unsigned bytes)
{
    watched *o = at.kind == POINTER && at.array >= 0 ? &t->arrays[at.array] : NULL;
    uint32_t first, n;

    if (o == NULL || o->n_parts == 0 || !at.exact || t->doubts || at.number < 0 ||
        at.number % o->part_bytes || bytes % o->part_bytes)
        return; /* then it counts for nothing */
    first = (uint32_t)(at.number / o->part_bytes);
    n = bytes / o->part_bytes;
    assert(o->written != NULL && o->n_left <= o->n_parts);
    for (uint32_t i = first; i < first + n && i < o->n_parts; i++)
        if (!o->written[i]) {
            o->written[i] = 1;
            o->n_left--;
        }
}

static void
see_load_of(watched *o, const value *at, unsigned bytes)
{
    if (o->n_left == 0)
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
    if (at.kind == POINTER && at.array >= 0) {
        see_load_of(&t->arrays[at.array], &at, bytes);
        return;
    }
    if (at.kind == POINTER && at.array == ELSEWHERE)
        return;
    at.exact = false;
    for (uint32_t i = 0; i < t->n_arrays; i++)
        see_load_of(&t->arrays[i], &at, bytes);
}

static value
offset(const frame *f, const lw_inst *inst)
{
    value at = f->values[inst->a];
    const value *bytes = &f->values[inst->b];

    if (at.kind != POINTER)
        return anywhere;
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
        if (x->kind == y->kind && x->exact == y->exact && x->array == y->array &&
            x->number == y->number)
            continue;
        f->values[i] = pointer ? anywhere : (value){0};
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
        return anywhere;
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
        *out = is_whole((lw_dtype)inst->type)
                   ? number_of((lw_dtype)inst->type, f->func->constants.data[inst->a].bits)
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
        *out = inst->type == LW_DT_ptr ? anywhere : (value){0};
        return;
    case LW_OP_STORE:
        see_store(t, f->values[inst->a], access_bytes(&f->func->insts.data[inst->b]));
        return;
    case LW_OP_OWNER:
    case LW_OP_NEW:
    case LW_OP_LOCAL: *out = (value){.kind = POINTER, .array = ELSEWHERE}; return;
    case LW_OP_DATA: *out = data_value(t, inst); return;
    case LW_OP_ATOMIC:
    case LW_OP_KERNEL_CALL:
    case LW_OP_HOST_CALL:
    case LW_OP_RECUR:
        see_escape(t, f, inst);
        *out = (value){0};
        return;
    case LW_OP_RESULT: *out = inst->type == LW_DT_ptr ? anywhere : (value){0}; return;
    default:
        if (inst->type == LW_DT_ptr)
            *out = anywhere;
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
        *result = anywhere;
    return left.how == ON || left.how == RETURNS ? (flow){ON, 0} : (flow){LOST, 0};
}

/* ---- the whole ---- */

static value
value_of(const lw_known_param *param)
{
    switch (param->kind) {
    case LW_KNOWN_NUMBER: return (value){.kind = NUMBER, .number = param->number};
    case LW_KNOWN_ARRAY:
        assert(param->number >= 0 && param->number <= INT16_MAX);
        return (value){.kind = POINTER, .exact = true, .array = (int16_t)param->number};
    case LW_KNOWN_ELSEWHERE: return (value){.kind = POINTER, .array = ELSEWHERE};
    default: return (value){0};
    }
}

/* False: memory is out. */
static bool
watch(const lw_overwritten *array, watched *o)
{
    if (array->part_bytes == 0 || array->bytes / array->part_bytes > MOST_PARTS)
        return true;
    assert(array->bytes % array->part_bytes == 0);
    o->part_bytes = array->part_bytes;
    o->written = lw_alloc_zero(array->bytes / array->part_bytes + 1, 1);
    if (o->written != NULL)
        o->n_parts = o->n_left = array->bytes / array->part_bytes;
    return o->written != NULL;
}

void
lw_overwrites(const lw_module *module, uint32_t func, const lw_known_param *params,
              lw_overwritten *arrays, uint32_t n_arrays)
{
    uint32_t n_params = module->funcs.data[func]->params.n;
    value *args = lw_alloc_zero(n_params + 1, sizeof *args), result;
    tracer t = {.module = module, .n_arrays = n_arrays};
    bool good = args != NULL;

    t.arrays = lw_alloc_zero(n_arrays + 1, sizeof *t.arrays);
    good = good && t.arrays != NULL;
    for (uint32_t i = 0; i < n_params && good; i++)
        args[i] = value_of(&params[i]);
    for (uint32_t i = 0; i < n_arrays; i++) {
        arrays[i].is_whole = false;
        good = good && watch(&arrays[i], &t.arrays[i]);
    }
    if (good && run_call(&t, func, args, &result).how == ON)
        for (uint32_t i = 0; i < n_arrays; i++)
            arrays[i].is_whole =
                t.arrays[i].written != NULL && !t.arrays[i].failed && t.arrays[i].n_left == 0;
    for (uint32_t i = 0; i < n_arrays && t.arrays != NULL; i++)
        lw_free(t.arrays[i].written);
    lw_free(t.arrays);
    lw_free(args);
}

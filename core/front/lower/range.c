/* Bounds of integers of the IR: from their type, from the operation that made them, and, for
 * counters, from their end. Only a few instructions are traced back; variables with several
 * assignments and values from memory have the bounds of their type.
 *
 * And signs: Python ints that are known only at run time, as operands beside a uint64. They are
 * converted to uint64, where a negative one has no place. NumPy raises an OverflowError for it,
 * and so does the code that is lowered here, for every operation whose result would be wrong:
 * `//`, `%`, `**`, maximum, gcd and others. The results of `+ - * & | ^` and `<<` are right
 * modulo 2**64; these raise under check={"overflow"} only. Whether a function has such operands
 * is seen in the typed tree, before it is lowered; whether one may be negative is seen when it
 * is. Where none may, nothing raises, and lower.c lowers the functions once more. */
#include "core/front/lower/address.h"

#include "core/front/named.h"
#include "core/front/numeric/integers.h"

#include <assert.h>

/* lo is above hi in loops that have no iteration. */
typedef struct interval {
    int64_t lo, hi; /* all of int64: not known, or beyond it */
} interval;

static const interval ANYTHING = {INT64_MIN, INT64_MAX};

static interval of_value(const lw_lower_frame *f, lw_ref value, int depth);

static interval
of_type(lw_dtype type)
{
    unsigned bits = lw_dtypes[type].bits;

    if (type == LW_DT_b1)
        return (interval){0, 1};
    if (!lw_is_integer(type) || bits >= 64)
        return ANYTHING;
    if (lw_is_signed(type))
        return (interval){-((int64_t)1 << (bits - 1)), ((int64_t)1 << (bits - 1)) - 1};
    return (interval){0, ((int64_t)1 << bits) - 1};
}

/* A result that may have wrapped has the bounds of its type. */
static interval
fitted(interval s, lw_dtype type)
{
    interval most = of_type(type);

    if (type == LW_DT_u64 && s.lo < 0)
        return ANYTHING;
    return s.lo < most.lo || s.hi > most.hi ? most : s;
}

static interval
joined(interval x, interval y)
{
    return (interval){x.lo < y.lo ? x.lo : y.lo, x.hi > y.hi ? x.hi : y.hi};
}

static bool
is_anything(interval s)
{
    return s.lo == INT64_MIN || s.hi == INT64_MAX;
}

/* ---- arithmetic ---- */

static interval
of_sum(interval x, interval y, bool minus)
{
    interval s;

    if (is_anything(x) || is_anything(y))
        return ANYTHING;
    if (minus)
        y = (interval){-y.hi, -y.lo};
    if (__builtin_add_overflow(x.lo, y.lo, &s.lo) || __builtin_add_overflow(x.hi, y.hi, &s.hi))
        return ANYTHING;
    return s;
}

static interval
of_product(interval x, interval y)
{
    const int64_t u[2] = {x.lo, x.hi}, v[2] = {y.lo, y.hi};
    interval s = {INT64_MAX, INT64_MIN};

    for (int i = 0; i < 4; i++) {
        int64_t product;
        if (is_anything(x) || is_anything(y) ||
            __builtin_mul_overflow(u[i & 1], v[i >> 1], &product))
            return ANYTHING;
        s = joined(s, (interval){product, product});
    }
    return s;
}

static interval
of_and(interval x, interval y)
{
    if (x.lo < 0 && y.lo < 0)
        return ANYTHING;
    return (interval){0, x.lo < 0 ? y.hi : y.lo < 0 || x.hi < y.hi ? x.hi : y.hi};
}

/* x >> n, x / d, x % d with a constant above 0; u: x is unsigned, and of 64 bits. */
static interval
of_division(lw_op op, interval x, int64_t by, bool u)
{
    assert(by > 0 || (op == LW_OP_SHR && by == 0)); /* of_divided */
    uint64_t most = u && is_anything(x) ? UINT64_MAX : (uint64_t)x.hi;

    if (op == LW_OP_REM)
        return x.lo >= 0 || u ? (interval){0, !u && x.hi < by ? x.hi : by - 1}
                              : (interval){1 - by, by - 1};
    if (u && is_anything(x)) {
        most = op == LW_OP_SHR ? most >> by : most / (uint64_t)by;
        return most > INT64_MAX ? ANYTHING : (interval){0, (int64_t)most};
    }
    return op == LW_OP_SHR ? (interval){x.lo >> by, x.hi >> by}
                           : (interval){x.lo / by, x.hi / by};
}

static interval
of_divided(const lw_lower_frame *f, const lw_inst *inst, int depth)
{
    bool u = inst->type == LW_DT_u64;
    uint64_t by;

    if (!lw_ir_is_const(&f->b, inst->b, &by) || (int64_t)by < (inst->op != LW_OP_SHR) ||
        (inst->op == LW_OP_SHR && by > 63))
        return of_type((lw_dtype)inst->type);
    return of_division((lw_op)inst->op, of_value(f, inst->a, depth), (int64_t)by, u);
}

/* ---- selects ---- */

static bool
is_same(const lw_lower_frame *f, lw_ref x, lw_ref y)
{
    uint64_t u, v;

    return x == y || (lw_ir_is_const(&f->b, x, &u) && lw_ir_is_const(&f->b, y, &v) && u == v);
}

/* -1: the smaller of two, 1: the larger of two; 0: another select. */
static int
extremum_of(const lw_lower_frame *f, const lw_inst *inst)
{
    const lw_inst *test = &f->b.func->insts.data[inst->a];
    bool less = test->op == LW_OP_LT || test->op == LW_OP_LE;

    if (!less && test->op != LW_OP_GT && test->op != LW_OP_GE)
        return 0;
    if (is_same(f, inst->b, test->a) && is_same(f, inst->c, test->b))
        return less ? -1 : 1;
    return is_same(f, inst->b, test->b) && is_same(f, inst->c, test->a) ? (less ? 1 : -1) : 0;
}

/* Recognises x % d as lw_int_divmod emits it: r + d where r = rem(x, d) is not 0 and has the
 * other sign. Returns d if it is a constant above 0; else 0. */
static int64_t
modulus_of(const lw_lower_frame *f, const lw_inst *inst)
{
    const lw_inst *insts = f->b.func->insts.data;
    const lw_inst *rest = &insts[inst->c], *moved = &insts[inst->b], *test = &insts[inst->a];
    uint64_t by, no_rest, no_sign;

    if (rest->op != LW_OP_REM || moved->op != LW_OP_ADD || test->op != LW_OP_AND ||
        moved->a != inst->c || !is_same(f, moved->b, rest->b) ||
        !lw_ir_is_const(&f->b, rest->b, &by))
        return 0;
    const lw_inst *some = &insts[test->a], *below = &insts[test->b];
    const lw_inst *signs = &insts[below->a];
    if (some->op != LW_OP_NE || some->a != inst->c || below->op != LW_OP_LT ||
        signs->op != LW_OP_XOR || signs->a != inst->c || !is_same(f, signs->b, rest->b) ||
        !lw_ir_is_const(&f->b, some->b, &no_rest) || no_rest != 0 ||
        !lw_ir_is_const(&f->b, below->b, &no_sign) || no_sign != 0)
        return 0;
    return (int64_t)by > 0 ? (int64_t)by : 0;
}

static interval
of_select(const lw_lower_frame *f, const lw_inst *inst, int depth)
{
    interval x = of_value(f, inst->b, depth), y = of_value(f, inst->c, depth);
    bool is_signed = inst->type != LW_DT_u64;
    int which = is_signed ? extremum_of(f, inst) : 0;
    int64_t modulus = modulus_of(f, inst);

    if (modulus > 0)
        return (interval){0, modulus - 1};
    if (which < 0)
        return (interval){x.lo < y.lo ? x.lo : y.lo, x.hi < y.hi ? x.hi : y.hi};
    if (which > 0)
        return (interval){x.lo > y.lo ? x.lo : y.lo, x.hi > y.hi ? x.hi : y.hi};
    return joined(x, y);
}

/* ---- entry points ---- */

static interval
of_counter(const lw_lower_frame *f, const lw_counter *counter, int depth)
{
    interval stop = counter->stop ? of_value(f, counter->stop, depth) : ANYTHING;

    return (interval){(int64_t)counter->least,
                      stop.hi == INT64_MAX ? INT64_MAX - 1 : stop.hi - (stop.hi > INT64_MIN)};
}

static interval
of_cast(const lw_lower_frame *f, const lw_inst *inst, int depth)
{
    lw_dtype from = lw_ir_type(&f->b, inst->a), to = (lw_dtype)inst->type;

    if (!lw_is_integer(to) || !(lw_is_integer(from) || from == LW_DT_b1))
        return of_type(to);
    interval s = of_value(f, inst->a, depth);
    return fitted(s, to);
}

static interval
of_value(const lw_lower_frame *f, lw_ref value, int depth)
{
    const lw_inst *inst = &f->b.func->insts.data[value];
    lw_dtype type = (lw_dtype)inst->type;
    const lw_counter *counter = lw_counter_of(f, value);
    uint64_t known;

    if (lw_ir_is_const(&f->b, value, &known))
        return type == LW_DT_u64 && known > INT64_MAX
                   ? ANYTHING
                   : (interval){(int64_t)known, (int64_t)known};
    if (depth-- == 0)
        return of_type(type);
    if (counter != NULL)
        return of_counter(f, counter, depth);
    switch (inst->op) {
    case LW_OP_CAST: return of_cast(f, inst, depth);
    case LW_OP_NEG:
        return fitted(of_sum((interval){0, 0}, of_value(f, inst->a, depth), true), type);
    case LW_OP_ADD:
    case LW_OP_SUB:
        return fitted(of_sum(of_value(f, inst->a, depth), of_value(f, inst->b, depth),
                             inst->op == LW_OP_SUB),
                      type);
    case LW_OP_MUL:
        return fitted(of_product(of_value(f, inst->a, depth), of_value(f, inst->b, depth)),
                      type);
    case LW_OP_AND:
        return lw_is_integer(type)
                   ? of_and(of_value(f, inst->a, depth), of_value(f, inst->b, depth))
                   : of_type(type);
    case LW_OP_SHR:
    case LW_OP_DIV:
    case LW_OP_REM: return lw_is_integer(type) ? of_divided(f, inst, depth) : of_type(type);
    case LW_OP_SELECT: return of_select(f, inst, depth);
    default: return of_type(type);
    }
}

bool
lw_surely_inside(const lw_lower_frame *f, lw_ref index, lw_ref extent)
{
    const lw_counter *counter = index ? lw_counter_of(f, index) : NULL;
    uint64_t n;
    interval s;

    if (f->b.func == NULL || index == 0)
        return false;
    if (!lw_ir_is_const(&f->b, extent, &n))
        return counter != NULL && counter->stop == extent;
    s = of_value(f, index, 8);
    return s.lo >= -(int64_t)n && s.hi < (int64_t)n;
}

/* ---- signs: which operations ask for them ---- */

/* Where operands modulo 2**64 give the result modulo 2**64. */
static bool
is_modular(lw_pyop op)
{
    switch (op) {
    case LW_PY_ADD:
    case LW_PY_SUB:
    case LW_PY_MUL:
    case LW_PY_LSHIFT:
    case LW_PY_BITAND:
    case LW_PY_BITOR:
    case LW_PY_BITXOR: return true;
    default: return false;
    }
}

/* ---- signs: typed trees ---- */

static bool
is_index(const lw_typed_node *t)
{
    return !t->constant && (t->type == LW_T_INDEX || t->element == LW_T_INDEX);
}

/* An entry of a call's arguments. Items of tuples count, whatever they are. */
static bool
is_index_entry(const lw_instance *inst, uint32_t entry)
{
    if ((entry & LW_ARG_TAG) == 0)
        return entry != 0 && is_index(lw_typed_in(&inst->nodes, entry));
    return (entry & LW_ARG_TAG) == LW_ARG_ELEMENT || (entry & LW_ARG_TAG) == LW_ARG_WEB;
}

static bool
has_index_argument(const lw_lowering *l, const lw_instance *inst, const lw_typed_node *t)
{
    for (uint32_t i = 0; i < t->n_args; i++)
        if (is_index_entry(inst, l->typed->lists.data[t->args + i]))
            return true;
    return false;
}

/* Whether the operation raises for the sign of an operand. */
static bool
asks_for_sign(const lw_lowering *l, lw_pyop op)
{
    return !is_modular(op) || (l->typed->options.checks & LW_CHECK_OVERFLOW) != 0;
}

/* Atomic updates wrap, but for those that compare. */
static bool
call_asks_for_sign(const lw_lowering *l, const lw_typed_node *t)
{
    lw_impl impl = t->call == LW_CALL_NAMED ? lw_names[t->target].impl : LW_IMPL_NONE;

    if (impl == LW_IMPL_NONE || lw_names[t->target].rule == LW_RULE_INT)
        return false;
    if (lw_names[t->target].rule == LW_RULE_CACHED)
        return false;
    if (lw_names[t->target].rule == LW_RULE_ATOMIC)
        return impl == LW_IMPL_ATOMIC_MAX || impl == LW_IMPL_ATOMIC_MIN;
    return asks_for_sign(l, lw_impl_operator(impl));
}

bool
lw_mixes_signs(const lw_lowering *l, const lw_instance *inst, uint32_t node)
{
    const lw_node *n = &l->tree->nodes.data[node];
    const lw_typed_node *t = lw_typed_in(&inst->nodes, node);
    bool count;

    if (t->operand != LW_DT_u64 || t->constant || t->dead ||
        l->tree->fns.data[inst->fn].of_package)
        return false;
    if (n->kind == LW_NODE_CALL)
        return call_asks_for_sign(l, t) && has_index_argument(l, inst, t);
    if ((n->kind != LW_NODE_BINARY && n->kind != LW_NODE_AUGASSIGN) ||
        !asks_for_sign(l, (lw_pyop)n->op))
        return false;
    count = !lw_is_shift((lw_pyop)n->op) && is_index(lw_typed_in(&inst->nodes, n->b));
    return count ||
           (n->kind == LW_NODE_BINARY ? is_index(lw_typed_in(&inst->nodes, n->a))
                                      : lw_typed_in(&inst->nodes, n->a)->operand == LW_T_INDEX);
}

/* ---- signs: operands ---- */

bool
lw_lower_has_sign(const lw_lower_frame *f, uint32_t node, lw_type operand)
{
    return operand == LW_DT_u64 && is_index(lw_typed_at(f, node));
}

bool
lw_argument_has_sign(const lw_lower_frame *f, uint32_t call, uint32_t index)
{
    const lw_typed_node *t = lw_typed_at(f, call);

    return t->operand == LW_DT_u64 && index < t->n_args &&
           is_index_entry(f->inst, f->l->typed->lists.data[t->args + index]);
}

void
lw_lower_check_sign(lw_lower_frame *f, lw_pyop op, lw_lower_value operand, lw_type to)
{
    lw_builder *b = &f->b;
    lw_ref value = operand.n == 1 ? operand.parts[0] : 0;

    if (lw_type_stored(f->l->types, operand.type) != LW_DT_i64 || to != LW_DT_u64 ||
        value == 0 || !lw_raises_errors(f) || f->fn->of_package ||
        !lw_may_be_negative(f, operand) ||
        (is_modular(op) && !lw_lower_checks_overflow(f, LW_DT_u64)))
        return;
    lw_lower_raise_deferred(f, lw_ir_compare(b, LW_OP_LT, value, lw_ir_zero(b, LW_DT_i64)),
                            "OverflowError",
                            "a negative Python integer is out of bounds for uint64");
}

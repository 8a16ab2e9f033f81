/* Operators of members of one Flag class that are known when the code is compiled. The reader
 * has read all of them (core/front/read/flags.c). */
#include "core/front/infer/infer_internal.h"

static const lw_flag_set *
set_of(lw_infer_frame *f, uint32_t constant)
{
    const lw_constant *k = constant ? lw_constant_of(f, constant) : NULL;

    return k && k->kind == LW_K_OBJECT && k->n == 2 ? k->bytes : NULL;
}

/* Its row; NULL: it is no member of the set. */
static const struct lw_flag *
flag_of(lw_infer_frame *f, const lw_flag_set *set, uint32_t constant)
{
    const lw_flag_set *own = set_of(f, constant);

    for (uint32_t i = 0; own && set && own->id == set->id && i < set->n; i++)
        if (lw_constant_same(f, set->flags[i].constant, constant))
            return &set->flags[i];
    return NULL;
}

static uint32_t
of_value(const lw_flag_set *set, int64_t value)
{
    for (uint32_t i = 0; i < set->n; i++)
        if (set->flags[i].value == value)
            return set->flags[i].constant;
    return 0;
}

uint32_t
lw_fold_flags(lw_infer_frame *f, lw_pyop op, uint32_t x, uint32_t y)
{
    const lw_flag_set *set = set_of(f, x);
    const struct lw_flag *a = flag_of(f, set, x), *b = flag_of(f, set, y);

    if (a == NULL || b == NULL)
        return 0;
    switch (op) {
    case LW_PY_BITAND: return of_value(set, a->value & b->value);
    case LW_PY_BITOR: return of_value(set, a->value | b->value);
    case LW_PY_BITXOR: return of_value(set, a->value ^ b->value);
    default: return 0;
    }
}

uint32_t
lw_fold_inverted_flag(lw_infer_frame *f, uint32_t x)
{
    const lw_flag_set *set = set_of(f, x);
    const struct lw_flag *a = flag_of(f, set, x);

    return a ? of_value(set, a->inverse) : 0;
}

int
lw_fold_in_flag(lw_infer_frame *f, uint32_t x, uint32_t y)
{
    const lw_flag_set *set = set_of(f, y);
    const struct lw_flag *a = flag_of(f, set, x), *b = flag_of(f, set, y);

    return a && b ? (a->value & b->value) == a->value : -1;
}

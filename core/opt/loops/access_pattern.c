#include "core/opt/loops/access_pattern.h"

int
lw_dim_of_param(const lw_spreader *s, uint32_t param)
{
    for (uint32_t i = 0; i < s->of->n_arrays; i++) {
        const lw_spread_array *array = &s->of->arrays[i];
        if (array->dims != NULL && param > array->first && param <= array->first + array->ndim)
            return array->dims[param - array->first - 1];
    }
    return -1;
}

/* Whether two values are extents of dimensions of one number. */
static bool
are_one_extent(const lw_spreader *s, lw_ref x, lw_ref y)
{
    const lw_inst *a = lw_inst_at(s, x), *b = lw_inst_at(s, y);
    int dim = a->op == LW_OP_PARAM ? lw_dim_of_param(s, a->a) : -1;

    return dim >= 0 && b->op == LW_OP_PARAM && lw_dim_of_param(s, b->a) == dim;
}

bool
lw_is_never(const lw_spreader *s, lw_ref condition)
{
    const lw_inst *inst = lw_inst_at(s, condition);

    switch (inst->op) {
    case LW_OP_CONST: return s->func->constants.data[inst->a].bits == 0;
    case LW_OP_NE: return are_one_extent(s, inst->a, inst->b);
    case LW_OP_AND: return lw_is_never(s, inst->a) || lw_is_never(s, inst->b);
    case LW_OP_OR: return lw_is_never(s, inst->a) && lw_is_never(s, inst->b);
    default: return false;
    }
}

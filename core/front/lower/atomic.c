/* cuda.atomic.*: the element's address, then one update of core/front/numeric/atomics.h. */
#include "core/front/numeric/atomics.h"
#include "core/front/lower/lower_internal.h"

static lw_ref
address_of(lw_lower_frame *f, uint32_t node, bool first)
{
    lw_lower_value array = lw_lower_argument(f, node, 0);
    uint32_t index = f->l->typed->lists.data[lw_typed_at(f, node)->args + 1];

    if (first)
        return array.n ? array.parts[0] : 0;
    return lw_lower_element_address(f, array, index);
}

static lw_lower_value
update_complex(lw_lower_frame *f, uint32_t node, lw_atomic_kind kind, lw_ref address)
{
    const lw_typed_node *t = lw_typed_at(f, node);
    lw_lower_value value = lw_lower_argument_as(f, node, 2, t->operand);
    lw_ref old[2] = {0};

    if (value.n == 2)
        lw_atomic_update_complex(&f->b, kind, (lw_dtype)t->operand, address, value.parts, old);
    return lw_value_of(f, t->type, old, 2);
}

lw_lower_value
lw_lower_atomic(lw_lower_frame *f, uint32_t node)
{
    const lw_typed_node *t = lw_typed_at(f, node);
    lw_impl impl = lw_names[t->target].impl;
    bool swap = impl == LW_IMPL_ATOMIC_SWAP; /* compare_and_swap(array, old, new) */
    uint32_t first = swap ? 1 : 2, n = t->n_args - first;
    lw_atomic_kind kind = swap ? LW_UPDATE_CAS : (lw_atomic_kind)(impl - LW_IMPL_ATOMIC_ADD);
    lw_ref address = address_of(f, node, swap), operands[2] = {0};

    if (lw_is_complex((lw_dtype)t->operand))
        return update_complex(f, node, kind, address);
    for (uint32_t i = 0; i < n && i < 2; i++) {
        lw_lower_value value = lw_lower_argument_as(f, node, first + i, t->operand);
        operands[i] = value.n ? value.parts[0] : 0;
    }
    return lw_value_scalar(
        f, t->type, lw_atomic_update(&f->b, kind, (lw_dtype)t->operand, address, operands, n));
}

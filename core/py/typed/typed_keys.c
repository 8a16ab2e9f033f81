/* Hashes and comparison of keys, as lanewise/_growing_dicts.py computes them. */
#include "core/py/typed/typed_internal.h"

#include "core/py/array/convert.h"

#include <string.h>

static int64_t
mixed(uint64_t z)
{
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
    return (int64_t)((z ^ (z >> 31)) >> 1);
}

static uint64_t
hash_of_real(double x)
{
    uint64_t bits;

    memcpy(&bits, &x, sizeof bits);
    return (uint64_t)mixed(x == 0 ? 0 : bits);
}

static uint64_t
hash_of_leaf(const lw_typed_leaf *leaf, const lw_value *value)
{
    lw_value wide;

    if (leaf->kind == LW_TYPED_TEXTS)
        return (uint64_t)mixed(value->u64);
    wide = lw_value_widened(value, leaf->dtype);
    if (lw_dtypes[leaf->dtype].kind == LW_KIND_FLOAT)
        return hash_of_real(wide.f64);
    if (lw_dtypes[leaf->dtype].kind == LW_KIND_COMPLEX)
        return (uint64_t)mixed(hash_of_real(wide.c128[0]) ^ hash_of_real(wide.c128[1]) << 1);
    return (uint64_t)mixed(wide.u64);
}

static uint64_t hash_of_row(const lw_typed_form *form, const lw_typed_item *item, PyObject *row,
                            Py_ssize_t i, int *k);

static uint64_t
hash_of_tree(const lw_typed_form *form, const lw_typed_item *item, PyObject *like, int *k)
{
    if (PyTuple_Check(like))
        return hash_of_row(form, item, like, 0, k);
    (*k)++;
    return hash_of_leaf(&form->leaves[*k - 1], &item->cells[*k - 1].value);
}

/* Of the items of a tuple from i on. */
static uint64_t
hash_of_row(const lw_typed_form *form, const lw_typed_item *item, PyObject *row, Py_ssize_t i,
            int *k)
{
    uint64_t first = hash_of_tree(form, item, PyTuple_GET_ITEM(row, i), k);

    if (i + 1 == PyTuple_GET_SIZE(row))
        return first;
    return (uint64_t)mixed(first ^ hash_of_row(form, item, row, i + 1, k) << 1);
}

int64_t
lw_typed_hash(const lw_typed_form *form, const lw_typed_item *item)
{
    int k = 0;

    return (int64_t)hash_of_tree(form, item, form->like, &k);
}

static bool
equals(const lw_typed_leaf *leaf, const void *place, const lw_value *value)
{
    lw_kind kind = leaf->kind == LW_TYPED_NUMBERS ? lw_dtypes[leaf->dtype].kind : LW_KIND_UINT;
    lw_value x = {0}, y;

    if (leaf->kind == LW_TYPED_NUMBERS && lw_is_time(leaf->dtype) && value->i64 == INT64_MIN)
        return false; /* NaT */
    if (kind != LW_KIND_FLOAT && kind != LW_KIND_COMPLEX)
        return memcmp(place, value->bytes, (size_t)leaf->stride) == 0;
    memcpy(x.bytes, place, (size_t)leaf->stride);
    x = lw_value_widened(&x, leaf->dtype);
    y = lw_value_widened(value, leaf->dtype);
    return x.c128[0] == y.c128[0] && (kind == LW_KIND_FLOAT || x.c128[1] == y.c128[1]);
}

bool
lw_typed_equal(const lw_typed_form *form, const uint64_t *cells, int64_t at,
               const lw_typed_item *item)
{
    for (int k = 0; k < form->n; k++) {
        const lw_typed_leaf *leaf = &form->leaves[k];
        if (!equals(leaf, lw_typed_place_of(leaf, cells + k * LW_CELL_WORDS, at),
                    &item->cells[k].value))
            return false;
    }
    return true;
}

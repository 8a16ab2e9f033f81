#include "reduce/function/form.h"

#include <assert.h>
#include <string.h>

uint32_t
lw_reduce_numbers(const lw_arg_record *record, uint32_t room, lw_dtype *dtype, int64_t *offset)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < record->n; i++) {
        const lw_arg_field *field = &record->fields[i];
        int64_t items = 1, size;

        for (uint32_t d = 0; d < field->ndim; d++)
            items *= field->shape[d];
        size = field->record ? field->record->itemsize : lw_dtypes[field->dtype].size_bytes;
        for (int64_t k = 0; k < items && n <= LW_REDUCE_MOST; k++) {
            uint32_t left = n < room ? room - n : 0, first = n < room ? n : room;
            int64_t begin = field->offset + k * size;

            if (field->record == NULL) {
                if (left > 0) {
                    dtype[n] = field->dtype;
                    offset[n] = begin;
                }
                n++;
                continue;
            }
            n += lw_reduce_numbers(field->record, left, dtype + first, offset + first);
            for (uint32_t m = first; m < n && m < room; m++)
                offset[m] += begin;
        }
    }
    return n;
}

uint32_t
lw_reduce_form_next(const lw_reduce_form *form, uint32_t at)
{
    uint32_t n = form->node[at].n;

    assert(at < form->n_nodes);
    for (at++; n > 0; n--)
        at = lw_reduce_form_next(form, at);
    return at;
}

uint32_t
lw_reduce_form_arrays(const lw_reduce_form *form)
{
    uint32_t n = 0, at = 0;

    while (at < form->n_nodes) {
        n += form->node[at].kind != LW_REDUCE_TUPLE;
        at = form->node[at].kind == LW_REDUCE_TUPLE ? at + 1 : lw_reduce_form_next(form, at);
    }
    return n;
}

/* ---- comparing with the record of an array ---- */

typedef struct walk {
    const lw_reduce_form *form;
    uint32_t at;
    const lw_dtype *dtype; /* the dtype of the next number */
} walk;

static bool is_record(walk *w, const lw_arg_record *record);

static bool
is_field(walk *w, const lw_arg_field *field, uint32_t axis)
{
    const lw_reduce_node *node = &w->form->node[w->at];
    bool same = true;

    if (axis == field->ndim && field->record != NULL)
        return is_record(w, field->record);
    w->at++;
    if (axis == field->ndim)
        return node->kind == LW_REDUCE_NUMBER && *w->dtype++ == field->dtype;
    if (node->kind != LW_REDUCE_TUPLE || node->n != (uint64_t)field->shape[axis])
        return false;
    for (uint32_t i = 0; i < node->n && same; i++)
        same = is_field(w, field, axis + 1);
    return same;
}

static bool
is_record(walk *w, const lw_arg_record *record)
{
    const lw_reduce_node *node = &w->form->node[w->at++];
    bool same = node->kind == LW_REDUCE_RECORD && node->n == record->n;

    for (uint32_t i = 0; i < record->n && same; i++)
        same = strcmp(w->form->node[w->at].name, record->fields[i].name) == 0 &&
               is_field(w, &record->fields[i], 0);
    return same;
}

bool
lw_reduce_form_is(const lw_reduce_form *form, uint32_t at, const lw_dtype *dtype,
                  const lw_arg_record *record)
{
    walk w = {.form = form, .at = at, .dtype = dtype};

    return is_record(&w, record);
}

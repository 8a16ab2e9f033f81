#include "core/py/record_intern.h"

#include "core/base/memory.h"
#include "core/base/text.h"
#include "core/front/named_records.h"
#include "core/py/record_spec.h"

#include <string.h>

typedef struct row {
    struct row *next;
    lw_arena arena;
    lw_arg_record *record;
    PyArray_Descr *descr; /* owned: the first that was seen */
} row;

static row *rows; /* guarded by the GIL; never freed: keys name them by address */

enum { N_SEEN = 64 };
static struct {
    PyArray_Descr *descr; /* owned, so that the address stays its own */
    const lw_arg_record *record;
} seen[N_SEEN]; /* direct-mapped; a clash replaces */

static bool same_record(const lw_arg_record *x, const lw_arg_record *y);

static bool
same_field(const lw_arg_field *x, const lw_arg_field *y)
{
    if (strcmp(x->name, y->name) != 0 || x->offset != y->offset || x->ndim != y->ndim ||
        x->dtype != y->dtype || (x->record == NULL) != (y->record == NULL))
        return false;
    if (x->ndim && memcmp(x->shape, y->shape, x->ndim * sizeof *x->shape) != 0)
        return false;
    return x->record == NULL || same_record(x->record, y->record);
}

static bool
same_record(const lw_arg_record *x, const lw_arg_record *y)
{
    bool same = x->n == y->n && x->itemsize == y->itemsize && x->align == y->align;

    for (uint32_t i = 0; same && i < x->n; i++)
        same = same_field(&x->fields[i], &y->fields[i]);
    return same;
}

/* Signatures find a record by its name: of several alike the later ones get a number. */
static int
name_alone(row *new)
{
    const char *name = new->record->name;
    lw_error err = {0};
    lw_text text = {0};
    int n = 1;

    while (name != NULL && lw_named_record_find(name, strlen(name)) != NULL) {
        lw_text_reset(&text);
        lw_text_addf(&text, "%s#%d", new->record->name, ++n);
        name = text.failed ? NULL : lw_arena_strdup(&new->arena, lw_text_get(&text));
    }
    lw_text_reset(&text);
    new->record->name = name;
    if (name != NULL && lw_named_record_add(new->record, &err) == LW_OK)
        return 0;
    PyErr_NoMemory();
    return -1;
}

static const lw_arg_record *
intern(PyArray_Descr *descr)
{
    row *new = lw_alloc_zero(1, sizeof *new), *at;

    if (new == NULL)
        return (const lw_arg_record *)PyErr_NoMemory();
    lw_arena_init(&new->arena);
    if (lw_record_spec(descr, &new->arena, &new->record) < 0) {
        lw_arena_reset(&new->arena);
        lw_free(new);
        return NULL;
    }
    for (at = rows; at != NULL && !same_record(at->record, new->record); at = at->next)
        ;
    if (at != NULL) {
        lw_arena_reset(&new->arena);
        lw_free(new);
        return at->record;
    }
    if (name_alone(new) < 0) {
        lw_arena_reset(&new->arena);
        lw_free(new);
        return NULL;
    }
    new->descr = (PyArray_Descr *)Py_NewRef(descr);
    new->next = rows;
    rows = new;
    return new->record;
}

const lw_arg_record *
lw_record_intern(PyArray_Descr *descr)
{
    size_t k = ((uintptr_t)descr >> 4) % N_SEEN;

    if (seen[k].descr != descr) {
        const lw_arg_record *record = intern(descr);
        PyArray_Descr *before = seen[k].descr;
        if (record == NULL)
            return NULL;
        seen[k].descr = (PyArray_Descr *)Py_NewRef(descr);
        seen[k].record = record;
        Py_XDECREF(before);
        return record;
    }
    return seen[k].record;
}

PyArray_Descr *
lw_record_descr(const lw_arg_record *record)
{
    const row *at = rows;

    while (at->record != record)
        at = at->next;
    return at->descr;
}

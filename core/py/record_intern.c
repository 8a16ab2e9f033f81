#include "core/py/record_intern.h"

#include "core/base/lock.h"
#include "core/base/memory.h"
#include "core/base/text.h"
#include "core/front/named_records.h"
#include "core/front/read/critical.h"
#include "core/py/record_spec.h"

#include <stdatomic.h>
#include <string.h>

typedef struct row {
    struct row *next;
    lw_arena arena;
    lw_arg_record *record;
    PyArray_Descr *descr; /* owned: the first that was seen */
} row;

static lw_lock lock = LW_LOCK_INIT; /* of who adds a row */
static _Atomic(row *) rows;         /* newest first; never freed: keys name them by address */

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
    bool same = x->n == y->n && x->text == y->text && x->itemsize == y->itemsize &&
                x->align == y->align && x->class_id == y->class_id;

    for (uint32_t i = 0; same && i < x->n; i++)
        same = same_field(&x->fields[i], &y->fields[i]);
    return same;
}

/* Signatures find a record by its name: of several alike the later ones get a number. */
static bool
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
    return name != NULL && lw_named_record_add(new->record, &err) == LW_OK;
}

/* The row of this record: one that is there, or the new one. NULL: no memory. Without Python.
 */
static row *
row_for(row *new)
{
    row *at;

    lw_lock_take(&lock);
    at = atomic_load(&rows);
    while (at != NULL && !same_record(at->record, new->record))
        at = at->next;
    if (at == NULL && name_alone(new)) {
        new->next = atomic_load(&rows);
        atomic_store_explicit(&rows, new, memory_order_release);
        at = new;
    }
    lw_lock_give(&lock);
    return at;
}

static const lw_arg_record *
intern(PyArray_Descr *descr)
{
    row *new = lw_alloc_zero(1, sizeof *new), *at = NULL;

    if (new == NULL)
        return (const lw_arg_record *)PyErr_NoMemory();
    lw_arena_init(&new->arena);
    if (lw_record_spec(descr, &new->arena, &new->record) == 0) {
        new->descr = (PyArray_Descr *)Py_NewRef(descr);
        at = row_for(new);
        if (at == NULL)
            PyErr_NoMemory();
    }
    if (at != new) {
        Py_XDECREF(new->descr);
        lw_arena_reset(&new->arena);
        lw_free(new);
    }
    return at ? at->record : NULL;
}

/* ---- what was asked for lately ---- */

static lw_py_mutex seen_lock;

static void
remember(PyArray_Descr *descr, const lw_arg_record *record, size_t k)
{
    PyArray_Descr *before;

    lw_py_mutex_take(&seen_lock);
    before = seen[k].descr;
    seen[k].descr = (PyArray_Descr *)Py_NewRef(descr);
    seen[k].record = record;
    lw_py_mutex_give(&seen_lock);
    Py_XDECREF(before);
}

bool
lw_is_record_descr(const PyArray_Descr *descr)
{
    bool text = descr->type_num == NPY_STRING || descr->type_num == NPY_UNICODE;

    return PyDataType_HASFIELDS(descr) ||
           (text && PyArray_ISNBO(descr->byteorder) && PyDataType_ELSIZE(descr) > 0);
}

const lw_arg_record *
lw_record_intern(PyArray_Descr *descr)
{
    size_t k = ((uintptr_t)descr >> 4) % N_SEEN;
    const lw_arg_record *record = NULL;

    lw_py_mutex_take(&seen_lock);
    if (seen[k].descr == descr)
        record = seen[k].record;
    lw_py_mutex_give(&seen_lock);
    if (record == NULL && (record = intern(descr)) != NULL)
        remember(descr, record, k);
    return record;
}

PyArray_Descr *
lw_record_descr(const lw_arg_record *record)
{
    const row *at = atomic_load_explicit(&rows, memory_order_acquire);

    while (at->record != record)
        at = at->next;
    return at->descr;
}

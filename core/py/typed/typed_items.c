/* Items from Python to their cells, and back. */
#include "core/front/read/python.h"
#include "core/py/typed/typed_internal.h"

#include "core/front/read/services.h"
#include "core/host/counted_memory.h"
#include "core/py/array/convert.h"
#include "core/py/array/counted_array.h"
#include "core/py/print_py.h"

#include <math.h>
#include <string.h>

/* ---- Python to items ---- */

/* What a reading gives: READ; UNKNOWN: no container has it; ASK: only Python can convert it, or
 * refuse it; FAILED, with an exception. */
enum { FAILED = -1, ASK, READ, UNKNOWN };

static int
read_int(lw_dtype dtype, PyObject *x, lw_value *value)
{
    const lw_dtype_row *row = &lw_dtypes[dtype], *part = &lw_dtypes[row->parts];
    /* up to which a float has all ints */
    int64_t limit = 1LL << (part->bits == 64 ? 53 : part->bits == 32 ? 24 : 11);
    lw_value wide = {0};
    int overflow;

    wide.i64 = PyLong_AsLongLongAndOverflow(x, &overflow);
    if (overflow != 0)
        return ASK;
    if (row->kind == LW_KIND_INT || row->kind == LW_KIND_UINT) {
        lw_value back = {0};
        lw_value_cast(&wide, LW_DT_i64, value, dtype);
        lw_value_cast(value, dtype, &back, LW_DT_i64);
        return back.i64 == wide.i64 && (row->kind == LW_KIND_INT || wide.i64 >= 0) ? READ : ASK;
    }
    if (row->kind == LW_KIND_BOOL || wide.i64 > limit || wide.i64 < -limit)
        return ASK;
    lw_value_cast(&wide, LW_DT_i64, value, dtype);
    return READ;
}

/* NumPy warns where a number that is finite becomes infinite. */
static int
read_real(lw_dtype dtype, double x, lw_value *value)
{
    lw_value wide = {.f64 = x}, back;

    if (dtype == LW_DT_f64 || dtype == LW_DT_c128) {
        *value = (lw_value){.c128 = {x, 0}};
        return READ;
    }
    lw_value_cast(&wide, LW_DT_f64, value, dtype);
    lw_value_cast(value, dtype, &back, LW_DT_f64);
    return isfinite(back.f64) || !isfinite(x) ? READ : ASK;
}

/* is_known: Python has said that it can be a duration, whose unit NumPy converts. */
static int
read_duration(const lw_typed_leaf *leaf, PyObject *x, bool is_known, lw_value *value)
{
    PyArray_Descr *descr = PyArray_DESCR((PyArrayObject *)leaf->like);

    if (!is_known)
        return ASK;
    return PyArray_Pack(descr, value, x) < 0 ? FAILED : READ;
}

static int
read_number(const lw_typed_leaf *leaf, PyObject *x, bool is_known, lw_value *value)
{
    lw_kind kind = lw_dtypes[leaf->dtype].kind;
    bool is_float = kind == LW_KIND_FLOAT || kind == LW_KIND_COMPLEX;

    memset(value, 0, sizeof *value);
    if (lw_is_time(leaf->dtype))
        return read_duration(leaf, x, is_known, value);
    if (PyLong_CheckExact(x))
        return read_int(leaf->dtype, x, value);
    if (PyFloat_CheckExact(x) && is_float)
        return read_real(leaf->dtype, PyFloat_AS_DOUBLE(x), value);
    if (PyBool_Check(x)) {
        lw_value one = {.bytes = {x == Py_True}};
        lw_value_cast(&one, LW_DT_b1, value, leaf->dtype);
        return READ;
    }
    if (PyComplex_CheckExact(x) && leaf->dtype == LW_DT_c128) {
        Py_complex number = PyComplex_AsCComplex(x);
        *value = (lw_value){.c128 = {number.real, number.imag}};
        return READ;
    }
    if (Py_TYPE(x) == PyArray_DESCR((PyArrayObject *)leaf->like)->typeobj) {
        PyArray_ScalarAsCtype(x, value);
        return READ;
    }
    return ASK;
}

static int
read_text(PyObject *x, bool is_looked_up, lw_value *value)
{
    if (!PyUnicode_Check(x))
        return ASK;
    value->u64 = is_looked_up ? lw_print_known_word(x) : lw_print_word(x);
    if (value->u64 != 0)
        return READ;
    return PyErr_Occurred() ? FAILED : UNKNOWN;
}

/* Whether the array can be beside arrays like the other one. */
static bool
can_stand_for(PyArrayObject *x, PyArrayObject *like)
{
    return PyArray_EquivTypes(PyArray_DESCR(x), PyArray_DESCR(like)) &&
           PyArray_NDIM(x) == PyArray_NDIM(like) &&
           (PyArray_IS_C_CONTIGUOUS(x) || !PyArray_IS_C_CONTIGUOUS(like)) &&
           (PyArray_ISWRITEABLE(x) || !PyArray_ISWRITEABLE(like));
}

static int
read_array(const lw_typed_leaf *leaf, PyObject *x, PyObject **array)
{
    int is_masked;

    if (!PyArray_Check(x) || !can_stand_for((PyArrayObject *)x, (PyArrayObject *)leaf->like))
        return ASK;
    is_masked = PyArray_CheckExact(x) ? 0 : lw_is_masked_array(x);
    if (is_masked != 0)
        return is_masked < 0 ? FAILED : ASK; /* lanewise/typed.py refuses it */
    *array = x;
    return READ;
}

/* is_known: Python has said that it has this type. */
static int
read_container(const lw_typed_leaf *leaf, PyObject *x, bool is_known, PyObject **words)
{
    if (Py_TYPE(x) != Py_TYPE(leaf->like) || !(is_known || lw_typed_are_alike(x, leaf->like)))
        return ASK;
    *words = lw_typed_container_words(x);
    return *words ? READ : FAILED;
}

/* A walk through an item and the like of its form. */
typedef struct reading {
    const lw_typed_form *form;
    lw_typed_item *item;
    int k; /* the next leaf */
    bool is_looked_up, is_known;
} reading;

static int
read_leaf(reading *r, PyObject *x)
{
    const lw_typed_leaf *leaf = &r->form->leaves[r->k];
    lw_value *value = &r->item->cells[r->k].value;
    PyObject **array = &r->item->cells[r->k].array;

    r->k++;
    *array = NULL;
    switch (leaf->kind) {
    case LW_TYPED_NUMBERS: return read_number(leaf, x, r->is_known, value);
    case LW_TYPED_TEXTS: return read_text(x, r->is_looked_up, value);
    case LW_TYPED_ARRAYS: return read_array(leaf, x, array);
    case LW_TYPED_CONTAINERS: return read_container(leaf, x, r->is_known, array);
    }
    return ASK;
}

static int
read_tree(reading *r, PyObject *like, PyObject *x)
{
    int result = READ;

    if (!PyTuple_Check(like))
        return read_leaf(r, x);
    if (!PyTuple_Check(x) || PyTuple_GET_SIZE(x) != PyTuple_GET_SIZE(like))
        return ASK;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(like); i++) {
        int one = read_tree(r, PyTuple_GET_ITEM(like, i), PyTuple_GET_ITEM(x, i));
        if (one == ASK || one == FAILED)
            return one;
        result = one == UNKNOWN ? one : result;
    }
    return result;
}

static int
read_from(const lw_typed_form *form, PyObject *x, bool is_looked_up, bool is_known,
          lw_typed_item *item)
{
    reading r = {
        .form = form, .item = item, .is_looked_up = is_looked_up, .is_known = is_known};

    return read_tree(&r, form->like, x);
}

/* What Python makes of it; NULL with an exception, or, if no container has it, without one. */
static PyObject *
asked(const lw_typed_form *form, PyObject *x, const char *what, bool is_looked_up)
{
    PyObject *args[] = {x, PyUnicode_FromString(what)}, *made = NULL;

    if (args[1] != NULL)
        made =
            lw_service_call(LW_SERVICE_TYPED, "converted_in_python", form->like, args, 2, NULL);
    Py_XDECREF(args[1]);
    if (made == NULL && is_looked_up && PyErr_ExceptionMatches(PyExc_OverflowError))
        PyErr_Clear();
    return made;
}

int
lw_typed_read(const lw_typed_form *form, PyObject *object, const char *what, bool is_looked_up,
              lw_typed_item *item)
{
    int result = read_from(form, object, is_looked_up, false, item);

    item->kept = NULL;
    if (result == ASK) {
        item->kept = asked(form, object, what, is_looked_up);
        if (item->kept == NULL)
            return PyErr_Occurred() ? -1 : 0;
        result = read_from(form, item->kept, is_looked_up, true, item);
    }
    if (result == ASK) {
        PyErr_Format(PyExc_TypeError, "%s cannot be a %.200s", what, Py_TYPE(object)->tp_name);
        result = FAILED;
    }
    if (result == READ)
        return 1;
    lw_typed_item_end(item);
    return result == UNKNOWN ? 0 : -1;
}

void
lw_typed_item_end(lw_typed_item *item)
{
    Py_CLEAR(item->kept);
}

/* ---- items to Python ---- */

/* A new reference to an array in a slot; descr is borrowed. */
static PyObject *
array_of_slot(const uint64_t *slot, int ndim, PyArray_Descr *descr, bool readonly)
{
    lw_array_result kind = {
        .is_array = true, .ndim = (uint8_t)ndim, .owned = true, .readonly = readonly};
    uint64_t parts[2 + 2 * NPY_MAXDIMS] = {slot[LW_CELL_ADDRESS]};

    for (int i = 0; i < ndim; i++) {
        const uint64_t *axis = slot + LW_CELL_WORDS * (1 + i);
        parts[1 + i] = axis[LW_SLOT_EXTENT];
        parts[1 + ndim + i] = axis[LW_SLOT_STRIDE];
    }
    parts[1 + 2 * ndim] = slot[LW_CELL_MEMORY];
    lw_counted_retain((void *)(uintptr_t)slot[LW_CELL_MEMORY]);
    return lw_counted_array(&kind, descr, parts, NULL);
}

static PyObject *
container_of_slot(const uint64_t *slot, PyObject *like)
{
    PyArray_Descr *descr = PyArray_DescrFromType(NPY_INT64);
    PyObject *words = descr ? array_of_slot(slot, 1, descr, false) : NULL, *made = NULL;

    Py_XDECREF(descr);
    if (words != NULL)
        made = lw_service_call(LW_SERVICE_TYPED, "again", like, &words, 1, NULL);
    Py_XDECREF(words);
    return made;
}

static PyObject *
show_leaf(const lw_typed_leaf *leaf, const uint64_t *cell, int64_t at)
{
    const void *place = lw_typed_place_of(leaf, cell, at);
    PyArrayObject *like = (PyArrayObject *)leaf->like;
    uint64_t word;

    switch (leaf->kind) {
    case LW_TYPED_NUMBERS:
        return lw_is_time(leaf->dtype)
                   ? PyArray_Scalar((void *)(uintptr_t)place, PyArray_DESCR(like), NULL)
                   : lw_number_of(leaf->dtype, place);
    case LW_TYPED_TEXTS: memcpy(&word, place, sizeof word); return lw_print_text(word);
    case LW_TYPED_ARRAYS:
        return array_of_slot(place, leaf->ndim, PyArray_DESCR(like),
                             !PyArray_ISWRITEABLE(like));
    case LW_TYPED_CONTAINERS: return container_of_slot(place, leaf->like);
    }
    return NULL;
}

static PyObject *
show_tree(const lw_typed_form *form, PyObject *like, int *k, const uint64_t *cells, int64_t at)
{
    PyObject *tuple;

    if (!PyTuple_Check(like)) {
        int leaf = (*k)++;
        return show_leaf(&form->leaves[leaf], cells + leaf * LW_CELL_WORDS, at);
    }
    tuple = PyTuple_New(PyTuple_GET_SIZE(like));
    for (Py_ssize_t i = 0; tuple != NULL && i < PyTuple_GET_SIZE(like); i++)
        lw_tuple_put(&tuple, i, show_tree(form, PyTuple_GET_ITEM(like, i), k, cells, at));
    return tuple;
}

PyObject *
lw_typed_show(const lw_typed_form *form, const uint64_t *cells, int64_t at)
{
    int k = 0;

    return show_tree(form, form->like, &k, cells, at);
}

/* ---- storing ---- */

/* memory: of the array, whose reference the slot takes. Gives what the slot had. */
static void *
store_slot(uint64_t *slot, PyArrayObject *array, void *memory)
{
    void *before = (void *)(uintptr_t)slot[LW_CELL_MEMORY];

    for (int i = 0; i < PyArray_NDIM(array); i++) {
        uint64_t *axis = slot + LW_CELL_WORDS * (1 + i);
        axis[LW_SLOT_EXTENT] = (uint64_t)PyArray_DIM(array, i);
        axis[LW_SLOT_STRIDE] = (uint64_t)PyArray_STRIDE(array, i);
    }
    slot[LW_CELL_ADDRESS] = (uint64_t)(uintptr_t)PyArray_DATA(array);
    slot[LW_CELL_MEMORY] = (uint64_t)(uintptr_t)memory;
    return before;
}

/* memories: of each array. */
static int
find_memories(const lw_typed_form *form, const lw_typed_item *item, void **memories)
{
    for (int k = 0; k < form->n; k++) {
        PyObject *array = item->cells[k].array;

        memories[k] = array ? lw_counted_of_array(array) : NULL;
        if (array != NULL && memories[k] == NULL) {
            while (k-- > 0)
                lw_counted_release(memories[k]);
            PyErr_NoMemory();
            return -1;
        }
    }
    return 0;
}

int
lw_typed_store(const lw_typed_form *form, uint64_t *cells, int64_t at,
               const lw_typed_item *item)
{
    void *memories[LW_TYPED_MOST_CELLS];

    if (find_memories(form, item, memories) < 0)
        return -1;
    for (int k = 0; k < form->n; k++) {
        const lw_typed_leaf *leaf = &form->leaves[k];
        void *place = lw_typed_place_of(leaf, lw_typed_cell_of(cells, k), at);

        if (lw_typed_has_slots(leaf))
            memories[k] = store_slot(place, (PyArrayObject *)item->cells[k].array, memories[k]);
        else
            memcpy(place, item->cells[k].value.bytes, (size_t)leaf->stride);
    }
    for (int k = 0; k < form->n; k++) /* which may run Python's code */
        lw_counted_release(memories[k]);
    return 0;
}

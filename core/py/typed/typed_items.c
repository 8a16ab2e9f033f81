#include "core/py/typed/typed_items.h"

#include "core/front/read/services.h"
#include "core/host/counted_memory.h"
#include "core/ir/cell_words.h"
#include "core/py/array/args.h"
#include "core/py/array/convert.h"
#include "core/py/array/counted_array.h"
#include "core/py/typed/typed_internal.h"
#include "core/py/descr.h"
#include "core/py/print_py.h"

#include <math.h>
#include <string.h>

enum { WORD = sizeof(uint64_t) };

/* ---- forms ---- */

static PyTypeObject *texts_type, *arrays_type; /* owned, set at the import of lanewise.typed */

static int
not_a_like(PyObject *like)
{
    PyErr_Format(PyExc_TypeError,
                 "the items of a typed list or dict must be numbers, strings, arrays, typed "
                 "lists or dicts, or tuples of these, not of the type of %.200R",
                 like);
    return -1;
}

static lw_typed_leaf
slots_leaf(lw_typed_kind kind, PyObject *like, int ndim)
{
    return (lw_typed_leaf){.kind = kind,
                           .like = like,
                           .begin = LW_CELLS_BEGIN * WORD,
                           .stride = lw_slot_words(ndim) * WORD,
                           .ndim = ndim};
}

static int
add_numbers(lw_typed_leaf *leaf, PyObject *like)
{
    lw_dtype dtype = lw_dtype_of_descr(PyArray_DESCR((PyArrayObject *)like));

    if (dtype == LW_DT_void)
        return not_a_like(like);
    *leaf = (lw_typed_leaf){.kind = LW_TYPED_NUMBERS,
                            .dtype = dtype,
                            .stride = lw_dtypes[dtype].size_bytes,
                            .like = like};
    return 0;
}

/* like: an ArrayKind, whose class has the array in a slot or a dict of its own. */
static int
add_arrays(lw_typed_leaf *leaf, PyObject *like)
{
    PyObject *array = PyObject_GetAttrString(like, "like");

    if (array == NULL || !PyArray_Check(array)) {
        Py_XDECREF(array);
        return PyErr_Occurred() ? -1 : not_a_like(like);
    }
    *leaf = slots_leaf(LW_TYPED_ARRAYS, array, PyArray_NDIM((PyArrayObject *)array));
    Py_DECREF(array); /* like holds it */
    return 0;
}

static int
add_leaves(lw_typed_form *form, PyObject *like)
{
    lw_typed_leaf *leaf = &form->leaves[form->n];

    if (PyTuple_Check(like)) {
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(like); i++)
            if (add_leaves(form, PyTuple_GET_ITEM(like, i)) < 0)
                return -1;
        return 0;
    }
    if (form->n == LW_TYPED_MOST_CELLS)
        return not_a_like(like);
    form->n++;
    if (PyArray_Check(like))
        return add_numbers(leaf, like);
    if (Py_TYPE(like) == texts_type) {
        *leaf = (lw_typed_leaf){.kind = LW_TYPED_TEXTS, .stride = WORD, .like = like};
        return 0;
    }
    if (Py_TYPE(like) == arrays_type)
        return add_arrays(leaf, like);
    if (!lw_is_typed_container(like))
        return not_a_like(like);
    *leaf = slots_leaf(LW_TYPED_CONTAINERS, like, 1);
    return 0;
}

int
lw_typed_form_init(lw_typed_form *form, PyObject *like)
{
    form->n = 0;
    form->like = like == Py_None ? NULL : like;
    return form->like ? add_leaves(form, like) : 0;
}

/* ---- cells ---- */

static uint64_t *
cell_of(uint64_t *cells, int k)
{
    return cells + k * LW_CELL_WORDS;
}

static void *
place_in(const lw_typed_leaf *leaf, void *bytes, int64_t at)
{
    return (char *)bytes + leaf->begin + at * leaf->stride;
}

static void *
place_of(const lw_typed_leaf *leaf, const uint64_t *cell, int64_t at)
{
    return place_in(leaf, (void *)(uintptr_t)cell[LW_CELL_ADDRESS], at);
}

static bool
has_slots(const lw_typed_leaf *leaf)
{
    return leaf->kind == LW_TYPED_ARRAYS || leaf->kind == LW_TYPED_CONTAINERS;
}

static Py_ssize_t
unit(const lw_typed_leaf *leaf) /* what an extent counts */
{
    return has_slots(leaf) ? (Py_ssize_t)WORD : leaf->stride;
}

static int64_t
room_of(const lw_typed_leaf *leaf, const uint64_t *cell)
{
    int64_t n_bytes = (int64_t)cell[LW_CELL_EXTENT] * unit(leaf) - leaf->begin;

    return n_bytes > 0 ? n_bytes / leaf->stride : 0;
}

/* Memory for so many items; NULL with an exception. */
static void *
new_room(const lw_typed_leaf *leaf, int64_t room)
{
    void *memory = NULL;
    int64_t n_bytes;

    if (!__builtin_mul_overflow(room, leaf->stride, &n_bytes) && n_bytes < INT64_MAX / 2)
        memory = has_slots(leaf) ? lw_cells_new((n_bytes + leaf->begin) / WORD)
                                 : lw_counted_new((size_t)n_bytes);
    if (memory == NULL)
        PyErr_NoMemory();
    return memory;
}

/* The references of n items that were copied. */
static void
retain_slots(const lw_typed_leaf *leaf, void *items, int64_t n)
{
    for (int64_t i = 0; has_slots(leaf) && i < n; i++)
        lw_counted_retain(
            (void *)(uintptr_t)((uint64_t *)items)[i * leaf->stride / WORD + LW_CELL_MEMORY]);
}

static void
adopt(const lw_typed_leaf *leaf, uint64_t *cell, void *memory, int64_t room)
{
    lw_cell_set(cell, lw_counted_data(memory), (room * leaf->stride + leaf->begin) / unit(leaf),
                memory);
    lw_counted_release(memory);
}

/* As TypedList's make_room. */
static int
make_room(const lw_typed_leaf *leaf, uint64_t *cell, int64_t n)
{
    int64_t room = n < 4 ? 8 : 2 * n;
    void *memory;

    if (room_of(leaf, cell) > n)
        return 0;
    memory = new_room(leaf, room);
    if (memory == NULL)
        return -1;
    if (n > 0)
        memcpy(place_in(leaf, lw_counted_data(memory), 0), place_of(leaf, cell, 0),
               (size_t)(n * leaf->stride));
    retain_slots(leaf, place_in(leaf, lw_counted_data(memory), 0), n);
    adopt(leaf, cell, memory, room);
    return 0;
}

int
lw_typed_make_room(const lw_typed_form *form, uint64_t *cells, int64_t n)
{
    for (int k = 0; k < form->n; k++)
        if (make_room(&form->leaves[k], cell_of(cells, k), n) < 0)
            return -1;
    return 0;
}

static void *
compacted(const lw_typed_leaf *leaf, const uint64_t *cell, const int64_t *hashes, int64_t n,
          int64_t room)
{
    void *memory = new_room(leaf, room);
    int64_t to = 0;

    for (int64_t i = 0; memory != NULL && i < n; i++)
        if (hashes[i] != LW_TYPED_DELETED)
            memcpy(place_in(leaf, lw_counted_data(memory), to++), place_of(leaf, cell, i),
                   (size_t)leaf->stride);
    if (memory != NULL)
        retain_slots(leaf, place_in(leaf, lw_counted_data(memory), 0), to);
    return memory;
}

int
lw_typed_compacted(const lw_typed_form *form, const uint64_t *cells, const int64_t *hashes,
                   int64_t n, int64_t room, void **made)
{
    for (int k = 0; k < form->n; k++) {
        made[k] = compacted(&form->leaves[k], cells + k * LW_CELL_WORDS, hashes, n, room);
        if (made[k] == NULL) {
            while (k-- > 0)
                lw_counted_release(made[k]);
            return -1;
        }
    }
    return 0;
}

void
lw_typed_adopt(const lw_typed_form *form, uint64_t *cells, void *const *made, int64_t room)
{
    for (int k = 0; k < form->n; k++)
        adopt(&form->leaves[k], cell_of(cells, k), made[k], room);
}

/* ---- items that end ---- */

void
lw_typed_ended_release(lw_typed_ended *ended)
{
    for (int64_t i = 0; i < ended->n; i++)
        lw_counted_release(ended->memories[i]);
    if (ended->memories != ended->few)
        PyMem_Free(ended->memories);
}

static int
has_room_for(lw_typed_ended *ended, int64_t n)
{
    ended->n = 0;
    ended->memories = n <= LW_TYPED_MOST_CELLS ? ended->few : PyMem_New(void *, n);
    if (ended->memories == NULL)
        PyErr_NoMemory();
    return ended->memories ? 0 : -1;
}

int
lw_typed_take(const lw_typed_form *form, uint64_t *cells, int64_t from, int64_t to,
              lw_typed_ended *ended)
{
    int n_slots = 0;

    for (int k = 0; k < form->n; k++)
        n_slots += has_slots(&form->leaves[k]);
    if (has_room_for(ended, n_slots * (to - from)) < 0)
        return -1;
    for (int k = 0; k < form->n; k++)
        for (int64_t i = from; has_slots(&form->leaves[k]) && i < to; i++) {
            uint64_t *slot = place_of(&form->leaves[k], cell_of(cells, k), i);
            ended->memories[ended->n++] = (void *)(uintptr_t)slot[LW_CELL_MEMORY];
            memset(slot, 0, (size_t)form->leaves[k].stride);
        }
    return 0;
}

int
lw_typed_close_gap(const lw_typed_form *form, uint64_t *cells, int64_t to, int64_t from,
                   int64_t n, lw_typed_ended *ended)
{
    if (lw_typed_take(form, cells, to, from, ended) < 0)
        return -1;
    for (int k = 0; from > to && k < form->n; k++) {
        const lw_typed_leaf *leaf = &form->leaves[k];
        char *place = place_of(leaf, cell_of(cells, k), to);
        size_t gap = (size_t)((from - to) * leaf->stride);
        size_t rest = (size_t)((n - from) * leaf->stride);

        memmove(place, place + gap, rest);
        if (has_slots(leaf)) /* the references of the last items have moved */
            memset(place + rest, 0, gap);
    }
    return 0;
}

void
lw_typed_open_gap(const lw_typed_form *form, uint64_t *cells, int64_t at, int64_t n)
{
    for (int k = 0; k < form->n; k++) {
        const lw_typed_leaf *leaf = &form->leaves[k];
        char *place = place_of(leaf, cell_of(cells, k), at);

        memmove(place + leaf->stride, place, (size_t)((n - at) * leaf->stride));
        if (has_slots(leaf)) /* its references have moved */
            memset(place, 0, (size_t)leaf->stride);
    }
}

void
lw_typed_reverse(const lw_typed_form *form, uint64_t *cells, int64_t n)
{
    char one[(1 + NPY_MAXDIMS) * LW_CELL_WORDS * WORD];

    for (int k = 0; k < form->n; k++)
        for (int64_t i = 0; i < n / 2; i++) {
            const lw_typed_leaf *leaf = &form->leaves[k];
            char *low = place_of(leaf, cell_of(cells, k), i);
            char *high = place_of(leaf, cell_of(cells, k), n - 1 - i);

            memcpy(one, low, (size_t)leaf->stride);
            memcpy(low, high, (size_t)leaf->stride);
            memcpy(high, one, (size_t)leaf->stride);
        }
}

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

/* Whether two likes surely say the same. */
static bool
are_alike(PyObject *x, PyObject *y)
{
    if (x == y)
        return true;
    if (x == NULL || y == NULL || Py_TYPE(x) != Py_TYPE(y))
        return false;
    if (PyTuple_Check(x)) {
        bool alike = PyTuple_GET_SIZE(x) == PyTuple_GET_SIZE(y);
        for (Py_ssize_t i = 0; alike && i < PyTuple_GET_SIZE(x); i++)
            alike = are_alike(PyTuple_GET_ITEM(x, i), PyTuple_GET_ITEM(y, i));
        return alike;
    }
    if (PyArray_Check(x))
        return PyArray_EquivTypes(PyArray_DESCR((PyArrayObject *)x),
                                  PyArray_DESCR((PyArrayObject *)y));
    if (lw_is_typed_container(x))
        return are_alike(lw_typed_container_like(x, 0), lw_typed_container_like(y, 0)) &&
               are_alike(lw_typed_container_like(x, 1), lw_typed_container_like(y, 1));
    return Py_TYPE(x) == texts_type;
}

/* is_known: Python has said that it has this type. */
static int
read_container(const lw_typed_leaf *leaf, PyObject *x, bool is_known, PyObject **words)
{
    if (Py_TYPE(x) != Py_TYPE(leaf->like) || !(is_known || are_alike(x, leaf->like)))
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
    const void *place = place_of(leaf, cell, at);
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
    for (Py_ssize_t i = 0; tuple != NULL && i < PyTuple_GET_SIZE(like); i++) {
        PyObject *item = show_tree(form, PyTuple_GET_ITEM(like, i), k, cells, at);
        if (item == NULL)
            Py_CLEAR(tuple);
        else
            PyTuple_SET_ITEM(tuple, i, item);
    }
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
        void *place = place_of(leaf, cell_of(cells, k), at);

        if (has_slots(leaf))
            memories[k] = store_slot(place, (PyArrayObject *)item->cells[k].array, memories[k]);
        else
            memcpy(place, item->cells[k].value.bytes, (size_t)leaf->stride);
    }
    for (int k = 0; k < form->n; k++) /* which may run Python's code */
        lw_counted_release(memories[k]);
    return 0;
}

/* ---- keys ---- */

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
        if (!equals(leaf, place_of(leaf, cells + k * LW_CELL_WORDS, at), &item->cells[k].value))
            return false;
    }
    return true;
}

/* ---- the classes of likes ---- */

static PyObject *
set_kinds(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *texts, *arrays;

    if (!PyArg_ParseTuple(args, "O!O!", &PyType_Type, &texts, &PyType_Type, &arrays))
        return NULL;
    Py_XSETREF(texts_type, (PyTypeObject *)Py_NewRef(texts));
    Py_XSETREF(arrays_type, (PyTypeObject *)Py_NewRef(arrays));
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"_typed_kinds", set_kinds, METH_VARARGS,
     PyDoc_STR("the classes that say that items are strings, or arrays")},
    {NULL, NULL, 0, NULL},
};

int
lw_typed_items_register(PyObject *module)
{
    return PyModule_AddFunctions(module, methods);
}

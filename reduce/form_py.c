#include "core/py/numpy_api.h"

#include "reduce/form_py.h"

#include "core/py/array/args.h"
#include "core/py/array/device_array.h"
#include "core/py/object_shape.h"
#include "core/py/record_intern.h"
#include "core/py/type_num.h"

#include <string.h>

/* What to write, where elements are no numbers. */
static const char *
instead_of(const PyArray_Descr *descr)
{
    char kind = descr ? descr->kind : ' ';

    if (kind == 'O')
        return ": `list(x)` makes a list of a generator or a set, `x.toarray()` an array of a "
               "sparse one, and `x.astype(float)` an array of objects that are numbers";
    return kind == 'U' || kind == 'S' ? ": `x.astype(float)` converts strings to numbers" : "";
}

uint32_t
lw_reduce_take_dtype(lw_reduce_call *call, uint32_t i, PyArray_Descr *descr,
                     lw_dtype dtype[LW_REDUCE_MOST], int64_t offset[LW_REDUCE_MOST])
{
    lw_reduce_operand *array = &call->array[i];
    uint32_t n = 1;

    *array = (lw_reduce_operand){.dtype = descr ? lw_dtype_of_descr(descr) : LW_DT_void};
    dtype[0] = array->dtype;
    offset[0] = 0;
    if (array->dtype == LW_DT_void && descr != NULL && PyDataType_HASFIELDS(descr)) {
        array->record = lw_record_intern(descr);
        if (array->record == NULL)
            return 0;
        n = lw_reduce_numbers(array->record, LW_REDUCE_MOST, dtype, offset);
        if (call->dtype != LW_DT_void) {
            PyErr_SetString(PyExc_TypeError, "dtype= is for arrays of numbers, not of records");
            return 0;
        }
    } else if (array->dtype == LW_DT_void) {
        PyErr_Format(PyExc_TypeError,
                     "argument %u has dtype %.200R, which kernels do not compute in%s",
                     (unsigned)i + 1, descr ? (PyObject *)descr : Py_None, instead_of(descr));
        return 0;
    }
    if (n > 0 && call->n_in + n <= LW_REDUCE_MOST)
        return n;
    PyErr_Format(PyExc_TypeError,
                 "an element of argument %u and those before it has %u numbers, the fields of "
                 "records counted one by one: 1 to %d are possible",
                 (unsigned)i + 1, (unsigned)(call->n_in + n), LW_REDUCE_MOST);
    return 0;
}

/* ---- the dtype of records that are results ---- */

static PyObject *dtype_of_node(const lw_reduction *r, uint32_t *node, uint32_t *number);

/* An array inside a record was a tuple: (dtype of an item, how many); all are alike. */
static PyObject *
dtype_of_tuple(const lw_reduction *r, uint32_t n, uint32_t *node, uint32_t *number)
{
    PyObject *first = NULL;

    for (uint32_t i = 0; i < n; i++) {
        PyObject *one = dtype_of_node(r, node, number);
        int same = one && first ? PyObject_RichCompareBool(first, one, Py_EQ) : one != NULL;
        if (same == 0 && one != NULL)
            PyErr_SetString(PyExc_TypeError, "the result is a record with a tuple of different "
                                             "types inside: give numbers, or a tuple instead");
        if (same <= 0) {
            Py_XDECREF(one);
            Py_XDECREF(first);
            return NULL;
        }
        if (first == NULL)
            first = one;
        else
            Py_DECREF(one);
    }
    return first ? Py_BuildValue("(N(I))", first, n) : NULL;
}

static PyObject *
dtype_of_fields(const lw_reduction *r, uint32_t n, uint32_t *node, uint32_t *number)
{
    PyObject *fields = PyList_New(0);

    for (uint32_t i = 0; fields != NULL && i < n; i++) {
        const char *name = r->out_form.node[*node].name;
        PyObject *dtype = dtype_of_node(r, node, number);
        PyObject *field = dtype ? Py_BuildValue("(sN)", name, dtype) : NULL;
        if (field == NULL || PyList_Append(fields, field) < 0)
            Py_CLEAR(fields);
        Py_XDECREF(field);
    }
    return fields;
}

/* What numpy.dtype makes a dtype of. */
static PyObject *
dtype_of_node(const lw_reduction *r, uint32_t *node, uint32_t *number)
{
    const lw_reduce_node *at = &r->out_form.node[(*node)++];
    PyArray_Descr *descr = NULL;
    PyObject *made;

    if (at->kind == LW_REDUCE_NUMBER) {
        descr = lw_descr_of(r->out[(*number)++]);
        return descr ? Py_NewRef((PyObject *)descr) : NULL;
    }
    made = at->kind == LW_REDUCE_TUPLE ? dtype_of_tuple(r, at->n, node, number)
                                       : dtype_of_fields(r, at->n, node, number);
    if (made != NULL && !PyArray_DescrAlignConverter(made, &descr))
        descr = NULL;
    Py_XDECREF(made);
    return (PyObject *)descr;
}

/* That of an array that came, where the numbers are its; else one with aligned fields. */
static PyArray_Descr *
record_descr(const lw_reduce_call *call, uint32_t node, uint32_t number)
{
    const lw_reduction *r = call->specialisation->reduction;

    for (uint32_t i = 0; i < r->n_arrays; i++)
        if (r->array[i].record != NULL &&
            lw_reduce_form_is(&r->out_form, node, r->out + number, r->array[i].record))
            return (PyArray_Descr *)Py_NewRef((PyObject *)lw_record_descr(r->array[i].record));
    return (PyArray_Descr *)dtype_of_node(r, &node, &number);
}

static int
pack_record(const lw_reduce_call *call, const lw_reduce_packing *packing, void *context,
            uint32_t node, uint32_t to, uint32_t *from)
{
    PyArray_Descr *descr = record_descr(call, node, *from);
    const lw_arg_record *record = descr ? lw_record_intern(descr) : NULL;
    lw_dtype dtype[LW_REDUCE_MOST];
    int64_t offset[LW_REDUCE_MOST];
    int result = -1;
    uint32_t n;

    if (record != NULL) {
        n = lw_reduce_numbers(record, LW_REDUCE_MOST, dtype, offset);
        result = packing->record(context, to, descr, *from, n, offset);
        *from += n;
    }
    Py_XDECREF(descr);
    return result;
}

int
lw_reduce_pack(const lw_reduce_call *call, const lw_reduce_packing *packing, void *context)
{
    const lw_reduce_form *form = &call->specialisation->reduction->out_form;
    uint32_t to = 0, from = 0, at = 0;
    int result = 0;

    while (at < form->n_nodes && result == 0) {
        if (form->node[at].kind == LW_REDUCE_TUPLE) {
            at++;
            continue;
        }
        result = form->node[at].kind == LW_REDUCE_NUMBER
                     ? packing->number(context, to, from++)
                     : pack_record(call, packing, context, at, to, &from);
        to++;
        at = lw_reduce_form_next(form, at);
    }
    return result;
}

/* ---- the caller's tuples ---- */

typedef struct arrangement {
    const lw_reduce_form *form;
    PyObject *(*give)(void *context, uint32_t i);
    void *context;
    uint32_t node, array;
} arrangement;

static PyObject *
arrange(arrangement *a)
{
    const lw_reduce_node *node = &a->form->node[a->node];
    PyObject *all;

    if (node->kind != LW_REDUCE_TUPLE) {
        a->node = lw_reduce_form_next(a->form, a->node);
        return a->give(a->context, a->array++);
    }
    a->node++;
    all = PyTuple_New(node->n);
    for (uint32_t i = 0; all != NULL && i < node->n; i++) {
        PyObject *one = arrange(a);
        if (one == NULL)
            Py_CLEAR(all);
        else
            PyTuple_SET_ITEM(all, i, one);
    }
    return all;
}

PyObject *
lw_reduce_arrange(const lw_reduce_form *form, PyObject *(*give)(void *context, uint32_t i),
                  void *context)
{
    arrangement a = {.form = form, .give = give, .context = context};

    return arrange(&a);
}

/* ---- numbers of an accumulator ---- */

static bool
is_number(PyObject *object)
{
    if (PyArray_Check(object))
        return PyArray_ISNUMBER((PyArrayObject *)object) ||
               lw_dtype_of_descr(PyArray_DESCR((PyArrayObject *)object)) != LW_DT_void;
    if (PyArray_IsScalar(object, Datetime) || PyArray_IsScalar(object, Timedelta))
        return true;
    return PyNumber_Check(object) && !PyUnicode_Check(object) && !PyBytes_Check(object) &&
           !PyArray_IsScalar(object, Void);
}

/* The first item that is none, borrowed; or NULL. */
static PyObject *
no_number(PyObject *object)
{
    PyObject *key, *value, *bad = NULL;
    Py_ssize_t at = 0;

    if (PyTuple_Check(object)) {
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(object) && bad == NULL; i++)
            bad = no_number(PyTuple_GET_ITEM(object, i));
        return bad;
    }
    if (PyDict_Check(object)) { /* a record by the names of its fields */
        while (bad == NULL && PyDict_Next(object, &at, &key, &value))
            bad = no_number(value);
        return bad;
    }
    if (PyArray_Check(object) && PyArray_TYPE((PyArrayObject *)object) == NPY_VOID)
        return NULL;
    if (lw_object_shape_of(object) != NULL) /* an object of a class of the user's */
        return NULL;
    return is_number(object) || PyArray_IsScalar(object, Void) ? NULL : object;
}

int
lw_reduce_check_identity(PyObject *object)
{
    PyObject *bad = no_number(object);

    if (bad == NULL)
        return 0;
    PyErr_Format(PyExc_TypeError,
                 bad == object
                     ? "identity= must be a number, or a tuple or a record of numbers, not "
                       "%.100s %.200R"
                     : "identity= must be a number, or a tuple or a record of numbers, but "
                       "%.100s %.200R is among them",
                 Py_TYPE(bad)->tp_name, bad);
    return -1;
}

typedef struct reader {
    const lw_reduction *r;
    const char *keyword;
    lw_reduce_item *out;
    bool *kept;
    uint32_t node, number;
} reader;

/* *kept = false where what was read is not what was given: integers and bools hold no 0.5, no
 * infinity. */
static int
look_whether_kept(const reader *self, PyObject *object)
{
    lw_dtype dtype = self->r->acc[self->number];
    PyArray_Descr *descr = lw_descr_of(dtype);
    PyObject *value;
    int same;

    if (self->kept == NULL || (!lw_is_integer(dtype) && dtype != LW_DT_b1))
        return 0;
    value = descr ? PyArray_Scalar(self->out[self->number].bytes, descr, NULL) : NULL;
    same = value ? PyObject_RichCompareBool(value, object, Py_EQ) : -1;
    Py_XDECREF(value);
    if (same == 0)
        *self->kept = false;
    return same < 0 ? -1 : 0;
}

static int
wrong_number(const reader *self, PyObject *object, PyObject *class)
{
    PyErr_Format(class, "%s= must be a number that %s can hold, not %.100s %.200R",
                 self->keyword, lw_dtypes[self->r->acc[self->number]].public_name,
                 Py_TYPE(object)->tp_name, object);
    return -1;
}

/* It could not be converted: to an integer because of its size, or as it is NaN. */
static int
not_held(const reader *self, PyObject *object)
{
    bool integer = lw_is_integer(self->r->acc[self->number]);

    if (self->kept != NULL && (PyErr_ExceptionMatches(PyExc_OverflowError) ||
                               (integer && PyErr_ExceptionMatches(PyExc_ValueError)))) {
        PyErr_Clear();
        *self->kept = false;
        return 0;
    }
    if (PyErr_ExceptionMatches(PyExc_OverflowError)) {
        PyErr_Clear();
        return wrong_number(self, object, PyExc_OverflowError);
    }
    if (!PyErr_ExceptionMatches(PyExc_TypeError))
        return -1;
    PyErr_Clear();
    return wrong_number(self, object, PyExc_TypeError);
}

static int
refuse_masked(const reader *self, PyObject *object)
{
    int masked = lw_is_masked_array(object);

    if (masked > 0)
        PyErr_Format(PyExc_TypeError,
                     "%s= is a masked array, whose mask compiled code would ignore; pass its "
                     ".data",
                     self->keyword);
    return masked ? -1 : 0;
}

/* Whether a time is meant where none is, or one in another unit, or of another class, so that
 * its value says whether this dtype can hold it. */
static bool
is_other_time(lw_dtype dtype, PyObject *object)
{
    PyArray_Descr *descr = NULL;
    lw_dtype from;

    if (PyArray_Check(object))
        descr = (PyArray_Descr *)Py_NewRef((PyObject *)PyArray_DESCR((PyArrayObject *)object));
    else if (PyArray_IsScalar(object, Generic))
        descr = PyArray_DescrFromScalar(object);
    else if (lw_is_time(dtype) && !PyTuple_Check(object))
        return lw_is_datetime(dtype) || !PyLong_Check(object);
    from = descr ? lw_dtype_of_descr(descr) : LW_DT_void;
    PyErr_Clear();
    Py_XDECREF(descr);
    if (!lw_is_time(from) && !lw_is_time(dtype))
        return false;
    return !lw_can_cast_safe(from, dtype) ||
           (lw_is_time(from) && from != dtype && lw_dtypes[from].unit != LW_UNIT_generic);
}

/* The array as one of a time's dtype; NULL: it is of none that NumPy casts implicitly, or, with
 * an exception, there is no memory. */
static PyArrayObject *
cast_time(PyArrayObject *array, PyArray_Descr *descr)
{
    if (descr == NULL ||
        !PyArray_CanCastTypeTo(PyArray_DESCR(array), descr, NPY_SAME_KIND_CASTING))
        return NULL;
    Py_INCREF(descr);
    return (PyArrayObject *)PyArray_CastToType(array, descr, 0);
}

/* A time of NumPy's or of Python's classes as an array of this dtype. NULL without an exception
 * where it would be rounded or is out of range, so that casting it back gives another time, or
 * where it is no time. */
static PyArrayObject *
exact_time(lw_dtype dtype, PyObject *object)
{
    int type = lw_is_datetime(dtype) ? NPY_DATETIME : NPY_TIMEDELTA;
    bool is_numpys = PyArray_Check(object) || PyArray_IsScalar(object, Generic);
    PyArrayObject *given, *held = NULL, *back = NULL;

    if (PyUnicode_Check(object) || PyBytes_Check(object) || object == Py_None)
        return NULL; /* NumPy would read a text, and None as NaT */
    given =
        (PyArrayObject *)PyArray_FromAny(object, is_numpys ? NULL : PyArray_DescrFromType(type),
                                         0, 0, NPY_ARRAY_CARRAY_RO, NULL);
    if (given != NULL && PyArray_TYPE(given) == type && PyArray_SIZE(given) == 1 &&
        (is_numpys || PyArray_NDIM(given) == 0))
        held = cast_time(given, lw_descr_of(dtype));
    if (held != NULL)
        back = cast_time(held, PyArray_DESCR(given));
    if (back == NULL || memcmp(PyArray_DATA(back), PyArray_DATA(given), sizeof(npy_int64)) != 0)
        Py_CLEAR(held);
    if (PyErr_Occurred() &&
        (PyErr_ExceptionMatches(PyExc_TypeError) || PyErr_ExceptionMatches(PyExc_ValueError) ||
         PyErr_ExceptionMatches(PyExc_OverflowError)))
        PyErr_Clear(); /* it cannot be converted; others, as KeyboardInterrupt, are not lost */
    Py_XDECREF(back);
    Py_XDECREF(given);
    return held;
}

/* As an array of no dimension, usually; of dtype bool first where bools are asked for, whose
 * sum starts from True for 0.5, and not from 0. */
static PyArrayObject *
array_of_dtype(const reader *self, PyObject *object)
{
    const lw_reduction *r = self->r;
    bool said_bool = r->finish == NULL && r->out[self->number] == LW_DT_b1;
    PyArray_Descr *descr = lw_descr_of(said_bool ? LW_DT_b1 : r->acc[self->number]);
    PyArrayObject *array = NULL;

    Py_XINCREF(descr);
    if (descr != NULL)
        array = (PyArrayObject *)PyArray_FromAny(
            object, descr, 0, 0, NPY_ARRAY_CARRAY_RO | NPY_ARRAY_FORCECAST, NULL);
    descr = array && said_bool ? lw_descr_of(r->acc[self->number]) : NULL;
    Py_XINCREF(descr);
    if (descr != NULL)
        Py_SETREF(array, (PyArrayObject *)PyArray_CastToType(array, descr, 0));
    return array;
}

static int
read_number(const reader *self, PyObject *object)
{
    lw_dtype dtype = self->r->acc[self->number];
    lw_reduce_item *out = &self->out[self->number];
    PyArrayObject *array;

    memset(out, 0, sizeof *out);
    if (PyArray_Check(object) && !PyArray_CheckExact(object) && refuse_masked(self, object) < 0)
        return -1;
    if (is_other_time(dtype, object)) {
        array = lw_is_time(dtype) ? exact_time(dtype, object) : NULL;
        if (array == NULL)
            return PyErr_Occurred() ? -1 : wrong_number(self, object, PyExc_TypeError);
    } else {
        if (!is_number(object) && !PyTuple_Check(object))
            return wrong_number(self, object, PyExc_TypeError);
        array = array_of_dtype(self, object);
    }
    if (array == NULL)
        return not_held(self, object);
    if (PyArray_SIZE(array) == 1)
        memcpy(out->bytes, PyArray_DATA(array), lw_dtypes[dtype].size_bytes);
    else
        PyErr_Format(PyExc_ValueError,
                     "%s= must be one number for each of an accumulator, not %.200R",
                     self->keyword, object);
    Py_DECREF(array);
    return PyErr_Occurred() ? -1 : look_whether_kept(self, object);
}

static int
complain(const reader *self, const lw_reduce_node *node, PyObject *object)
{
    PyErr_Format(PyExc_TypeError,
                 node->kind == LW_REDUCE_RECORD
                     ? "%s= must be a record or a tuple of %u items, as the accumulators are, "
                       "not %.200R"
                     : "%s= must be a tuple of %u numbers, as the accumulators are, not %.200R",
                 self->keyword, (unsigned)node->n, object);
    return -1;
}

/* Item i: of a tuple, or of an array inside a record, by its place; of a record by its
 * name. */
static PyObject *
item_of(const reader *self, PyObject *object, uint32_t i)
{
    const char *name = self->r->acc_form.node[self->node].name;
    PyObject *key = PyTuple_Check(object) || name == NULL ? PyLong_FromLong((long)i)
                                                          : PyUnicode_FromString(name);
    PyObject *item = key ? PyObject_GetItem(object, key) : NULL;

    Py_XDECREF(key);
    return item;
}

static bool
is_array_of(PyObject *object, uint32_t n)
{
    return PyArray_Check(object) && PyArray_NDIM((PyArrayObject *)object) > 0 &&
           PyArray_DIM((PyArrayObject *)object, 0) == (npy_intp)n;
}

static int
read_node(reader *self, PyObject *object)
{
    const lw_reduce_node *node = &self->r->acc_form.node[self->node++];
    bool is_tuple = PyTuple_Check(object);
    int result = 0;

    if (node->kind == LW_REDUCE_NUMBER) {
        result = read_number(self, object);
        self->number++;
        return result;
    }
    if (is_tuple                         ? PyTuple_GET_SIZE(object) != (Py_ssize_t)node->n
        : node->kind == LW_REDUCE_RECORD ? !PyMapping_Check(object)
                                         : !is_array_of(object, node->n))
        return complain(self, node, object);
    for (uint32_t i = 0; i < node->n && result == 0; i++) {
        PyObject *item = item_of(self, object, i);
        result = item ? read_node(self, item) : -1;
        Py_XDECREF(item);
    }
    return result;
}

int
lw_reduce_read_accumulator(const lw_reduction *r, PyObject *object, const char *keyword,
                           lw_reduce_item *out, bool *kept)
{
    reader self = {.r = r, .keyword = keyword, .out = out, .kept = kept};

    return read_node(&self, object);
}

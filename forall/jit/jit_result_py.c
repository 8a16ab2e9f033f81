/* What a call on the host returns: the object of Python that the numbers which compiled code
 * left stand for, and the objects that it has changed. */
#include "core/front/read/python.h"
#include "forall/jit/jit_py_internal.h"

#include "core/host/counted_memory.h"
#include "core/front/read/services.h"
#include "core/ir/cell_words.h"
#include "core/py/object_shape.h"
#include "core/py/array/convert.h"
#include "core/py/array/counted_array.h"
#include "core/py/descr.h"
#include "core/py/print_py.h"
#include "core/py/raise_row.h"
#include "core/py/record_intern.h"
#include "core/py/text_py.h"

#include <string.h>

static bool
is_pythons(lw_dtype dtype)
{
    return dtype == LW_DT_b1 || dtype == LW_DT_i64 || dtype == LW_DT_f64 || dtype == LW_DT_c128;
}

static PyObject *
scalar_of(lw_dtype dtype, lw_value *value)
{
    PyArray_Descr *descr = lw_descr_of(dtype);

    return descr ? PyArray_Scalar(value->bytes, descr, NULL) : NULL;
}

/* The result as a Python number, as numba returns it; of a time, and if `exact` of each dtype
 * that no type of Python's is, NumPy's scalar. */
static PyObject *
number(lw_dtype dtype, const uint64_t *parts, bool exact)
{
    const lw_dtype_row *row = &lw_dtypes[dtype];
    lw_value from = {0};

    if (lw_is_complex(dtype)) {
        memcpy(from.bytes, parts, row->size_bytes / 2);
        memcpy(from.bytes + row->size_bytes / 2, parts + 1, row->size_bytes / 2);
    } else {
        memcpy(from.bytes, parts, row->size_bytes);
    }
    if (lw_is_time(dtype) || (exact && !is_pythons(dtype)))
        return scalar_of(dtype, &from);
    return lw_number_of(dtype, from.bytes);
}

/* The next result. */
typedef struct result_reader {
    const lw_scalar *scalar;
    const lw_bound *bound;
    bool keeps_dtypes;     /* numbers that are not of Python's own types are NumPy's */
    uint32_t i;            /* its number */
    const uint64_t *parts; /* where it stands */
} result_reader;

static uint32_t
n_parts_of(const lw_scalar *scalar, uint32_t i)
{
    const lw_array_result *array = scalar->arrays ? &scalar->arrays[i] : NULL;

    if (array != NULL && array->is_array)
        return array->shape ? 1 : 1 + 2u * array->ndim + array->owned;
    return lw_is_complex(scalar->out[i]) ? 2 : 1;
}

PyObject *
lw_jit_argument_at(const lw_bound *bound, uint64_t address)
{
    for (uint32_t i = 0; i < bound->n_arrays && bound->n_copies == 0; i++) {
        const lw_bound_array *array = &bound->arrays[i];
        if (array->low <= address && address < array->high)
            return array->object;
    }
    return NULL;
}

/* Whether the array is what the result shows: the same elements in the same order. */
static bool
is_the_same(PyObject *object, const lw_array_result *kind, PyArray_Descr *descr,
            const uint64_t *parts)
{
    PyArrayObject *array = (PyArrayObject *)object;

    if (!PyArray_CheckExact(object) || kind->shape ||
        !PyArray_EquivTypes(PyArray_DESCR(array), descr) || PyArray_NDIM(array) != kind->ndim ||
        (uint64_t)(uintptr_t)PyArray_DATA(array) != parts[0] ||
        PyArray_ISWRITEABLE(array) == kind->readonly)
        return false;
    for (int i = 0; i < kind->ndim; i++)
        if ((uint64_t)PyArray_DIM(array, i) != parts[1 + i] ||
            (uint64_t)PyArray_STRIDE(array, i) != parts[1 + kind->ndim + i])
            return false;
    return true;
}

/* The one argument that the result is, as in `return x` (borrowed); NULL: it is none, or nobody
 * knows which one. */
static PyObject *
argument_that_is(const lw_bound *bound, const lw_array_result *kind, PyArray_Descr *descr,
                 const uint64_t *parts)
{
    PyObject *found = NULL;

    if (kind->owned && parts[1 + 2 * kind->ndim] != 0)
        return NULL;
    for (uint32_t i = 0; i < bound->n_arrays && bound->n_copies == 0; i++) {
        PyObject *object = bound->arrays[i].object;
        if (object == found || !is_the_same(object, kind, descr, parts))
            continue;
        if (found != NULL)
            return NULL;
        found = object;
    }
    return found;
}

/* NumPy's dtype of records (borrowed): that of an argument with such records, of which several
 * dtypes may be one type in compiled code, with titles and without; else what has made them. */
static PyArray_Descr *
descr_of_records(const lw_bound *bound, const lw_arg_record *record)
{
    for (uint32_t i = 0; i < bound->n_arrays; i++) {
        PyObject *object = bound->arrays[i].object;
        PyArray_Descr *descr = PyArray_Check(object) ? PyArray_DESCR((PyArrayObject *)object)
                               : bound->arrays[i].record
                                   ? (PyArray_Descr *)((PyVoidScalarObject *)object)->descr
                                   : NULL;

        if (descr != NULL && lw_is_record_descr(descr) && lw_record_intern(descr) == record)
            return descr;
    }
    PyErr_Clear(); /* of lw_record_intern: there was no memory to compare it */
    return (PyArray_Descr *)(uintptr_t)record->descr;
}

static PyObject *
next_result(result_reader *r)
{
    const lw_array_result *arrays = r->scalar->arrays;
    const uint64_t *parts = r->parts;
    uint32_t i = r->i++;
    PyArray_Descr *descr;
    PyObject *array;

    r->parts += n_parts_of(r->scalar, i);
    if (arrays == NULL || !arrays[i].is_array)
        return number(r->scalar->out[i], parts, r->keeps_dtypes);
    descr = arrays[i].record ? descr_of_records(r->bound, arrays[i].record)
                             : lw_descr_of(r->scalar->out[i]);
    array = arrays[i].is_item ? NULL : argument_that_is(r->bound, &arrays[i], descr, parts);
    if (array != NULL)
        return Py_NewRef(array);
    array = lw_counted_array(&arrays[i], descr, parts, lw_jit_argument_at(r->bound, parts[0]));
    if (array == NULL || !arrays[i].is_item)
        return array;
    /* as `y[i]` does in NumPy, it shows what its array holds, and keeps it alive */
    return PyArray_Return((PyArrayObject *)array);
}

/* What becomes no array of Python's, because another result failed. */
static void
release_rest(result_reader *r)
{
    for (; r->scalar->arrays != NULL && r->i < r->scalar->n_out; r->i++) {
        const lw_array_result *array = &r->scalar->arrays[r->i];
        r->parts += n_parts_of(r->scalar, r->i);
        if (array->is_array && array->owned)
            lw_counted_release((void *)(uintptr_t)r->parts[-1]);
    }
}

static PyObject *result_of(const lw_result *form, result_reader *r);

static PyObject *
items_of(const lw_result *form, result_reader *r)
{
    PyObject *tuple = PyTuple_New(form->n);

    for (uint32_t i = 0; tuple != NULL && i < form->n; i++)
        lw_tuple_put(&tuple, i, result_of(&form->items[i], r));
    return tuple;
}

/* The array in a slot (core/ir/cell_words.h). NULL with an exception. */
static PyObject *
array_of_slot(const lw_bound *bound, const uint64_t *slot, const lw_array_result *like,
              PyArray_Descr *descr)
{
    lw_array_result kind = {
        .is_array = true, .ndim = like->ndim, .owned = true, .readonly = like->readonly};
    uint64_t parts[2 + 2 * LW_MAX_ARRAY_DIMS] = {slot[LW_CELL_ADDRESS]};
    PyObject *array;

    for (uint32_t i = 0; i < kind.ndim; i++) {
        const uint64_t *axis = slot + LW_CELL_WORDS * (1 + i);
        parts[1 + i] = axis[LW_SLOT_EXTENT];
        parts[1 + kind.ndim + i] = axis[LW_SLOT_STRIDE];
    }
    parts[1 + 2 * kind.ndim] = slot[LW_CELL_MEMORY];
    array = argument_that_is(bound, &kind, descr, parts);
    if (array != NULL)
        return Py_NewRef(array);
    lw_counted_retain((void *)(uintptr_t)slot[LW_CELL_MEMORY]);
    return lw_counted_array(&kind, descr, parts, lw_jit_argument_at(bound, parts[0]));
}

/* A list of what is in all slots, arrays such as `like`; None for those that have got none.
 * exemplar: NULL, or a typed list or dict: the arrays are the words of such ones. */
static PyObject *
slots_of(const lw_bound *bound, PyArrayObject *words, const lw_array_result *like,
         PyArray_Descr *descr, PyObject *exemplar)
{
    Py_ssize_t size = lw_slot_words(like->ndim);
    Py_ssize_t n = (PyArray_SIZE(words) - LW_CELLS_BEGIN) / size;
    const uint64_t *slots = (const uint64_t *)PyArray_DATA(words) + LW_CELLS_BEGIN;
    PyObject *list = PyList_New(n < 0 ? 0 : n);

    for (Py_ssize_t i = 0; list != NULL && i < n; i++) {
        const uint64_t *slot = slots + i * size;
        bool is_used = slot[LW_CELL_ADDRESS] != 0;
        PyObject *item = is_used ? array_of_slot(bound, slot, like, descr) : Py_NewRef(Py_None);
        if (is_used && item != NULL && exemplar != NULL)
            Py_SETREF(item,
                      lw_service_call(LW_SERVICE_TYPED, "again", exemplar, &item, 1, NULL));
        if (item == NULL)
            Py_CLEAR(list);
        else
            PyList_SET_ITEM(list, i, item);
    }
    return list;
}

/* items: the words, and an array of the type of those in the slots, which was the last result
 * that r has read. */
static PyObject *
arrays_of(const result_reader *r, PyObject *items)
{
    PyArrayObject *like = (PyArrayObject *)PyTuple_GET_ITEM(items, 1);

    return slots_of(r->bound, (PyArrayObject *)PyTuple_GET_ITEM(items, 0),
                    &r->scalar->arrays[r->i - 1], PyArray_DESCR(like), NULL);
}

/* items: the words, and a typed list or dict that has no items. */
static PyObject *
containers_of(const result_reader *r, PyObject *items)
{
    static const lw_array_result like = {.is_array = true, .ndim = 1};

    return slots_of(r->bound, (PyArrayObject *)PyTuple_GET_ITEM(items, 0), &like,
                    lw_descr_of(LW_DT_i64), PyTuple_GET_ITEM(items, 1));
}

/* The strings for which words stand; "" for those of rooms that hold none. */
static PyObject *
texts_of(PyArrayObject *words)
{
    const uint64_t *word = PyArray_DATA(words);
    Py_ssize_t n = PyArray_SIZE(words);
    PyObject *list = PyList_New(n);

    for (Py_ssize_t i = 0; list != NULL && i < n; i++) {
        PyObject *text = lw_print_text(word[i]);
        if (text == NULL)
            Py_CLEAR(list);
        else
            PyList_SET_ITEM(list, i, text);
    }
    return list;
}

/* The captures of the tree hold its classes. */
static PyObject *
object_of(const lw_result *form, const result_reader *r, PyObject *items)
{
    PyTypeObject *type = (PyTypeObject *)(uintptr_t)form->user_class->id;
    PyObject *names, *object, *structure;

    if (form->user_class->structure != NULL) {
        structure = PyObject_GetAttrString((PyObject *)type, "__lanewise_struct__");
        object =
            structure ? lw_object_make_struct(structure, &PyTuple_GET_ITEM(items, 0)) : NULL;
        Py_XDECREF(structure);
        return object;
    }
    if (form->user_class->is_slice)
        return PySlice_New(PyTuple_GET_ITEM(items, 0), PyTuple_GET_ITEM(items, 1),
                           PyTuple_GET_ITEM(items, 2));
    if (form->user_class->is_typed)
        return lw_service_call(LW_SERVICE_TYPED, "in_python", (PyObject *)type,
                               &PyTuple_GET_ITEM(items, 0), PyTuple_GET_SIZE(items), NULL);
    if (form->user_class->items == LW_ITEMS_ARRAYS)
        return arrays_of(r, items);
    if (form->user_class->items == LW_ITEMS_CONTAINERS)
        return containers_of(r, items);
    if (form->user_class->items == LW_ITEMS_TEXTS)
        return texts_of((PyArrayObject *)PyTuple_GET_ITEM(items, 0));
    if (form->user_class->grown == LW_GROWN_LIST)
        return lw_service_call(LW_SERVICE_GROWING_LISTS, "in_python",
                               PyTuple_GET_ITEM(items, 0), &PyTuple_GET_ITEM(items, 1), 1,
                               NULL);
    if (form->user_class->grown)
        return lw_service_call(LW_SERVICE_GROWING_DICTS,
                               form->user_class->grown == LW_GROWN_DICT ? "in_python"
                                                                        : "set_in_python",
                               PyTuple_GET_ITEM(items, 0), &PyTuple_GET_ITEM(items, 1),
                               PyTuple_GET_SIZE(items) - 1, NULL);
    if (form->user_class->is_namedtuple)
        return lw_object_make_tuple(type, items);
    names = lw_text_names(form->names, form->n);
    object = names ? lw_object_make(type, names, &PyTuple_GET_ITEM(items, 0)) : NULL;
    Py_XDECREF(names);
    return object;
}

/* The captures of the tree hold its class. */
static PyObject *
member_of(const lw_result *form, result_reader *r)
{
    PyObject *class = (PyObject *)(uintptr_t)form->members->id;
    PyObject *names = PyObject_GetAttrString(class, "_member_names_");
    PyObject *map = PyObject_GetAttrString(class, "_member_map_");
    PyObject *number = next_result(r);
    PyObject *name = names && number ? PyObject_GetItem(names, number) : NULL;
    PyObject *member = map && name ? PyObject_GetItem(map, name) : NULL;

    Py_XDECREF(name);
    Py_XDECREF(number);
    Py_XDECREF(map);
    Py_XDECREF(names);
    return member;
}

/* A member that is the number. */
static PyObject *
numbered_of(const lw_result *form, result_reader *r)
{
    PyObject *number = next_result(r), *member;

    if (number == NULL)
        return NULL;
    member = PyObject_CallOneArg((PyObject *)(uintptr_t)form->numbers->id, number);
    Py_DECREF(number);
    return member;
}

/* A string that was chosen at run time. */
static PyObject *
text_of(result_reader *r)
{
    PyObject *number = next_result(r), *text = NULL;

    if (number != NULL)
        text = lw_print_text(PyLong_AsUnsignedLongLongMask(number));
    Py_XDECREF(number);
    return text;
}

static void
skip(const lw_result *form, result_reader *r)
{
    for (uint32_t i = 0; i < form->n; i++)
        skip(&form->items[i], r);
    if (lw_result_has_output(form))
        r->parts += n_parts_of(r->scalar, r->i++);
}

/* None has no memory that would have to be released. */
static PyObject *
optional_of(const lw_result *form, result_reader *r)
{
    PyObject *is_given = next_result(r);

    if (is_given == NULL)
        return NULL;
    if (PyObject_IsTrue(is_given) != 1) {
        skip(&form->items[1], r);
        Py_DECREF(is_given);
        Py_RETURN_NONE;
    }
    Py_DECREF(is_given);
    return result_of(&form->items[1], r);
}

static PyObject *
result_of(const lw_result *form, result_reader *r)
{
    PyObject *result, *items;

    switch (form->kind) {
    case LW_FORM_NONE: Py_RETURN_NONE;
    case LW_FORM_NUMBER: return form->numbers ? numbered_of(form, r) : next_result(r);
    case LW_FORM_MEMBER: return member_of(form, r);
    case LW_FORM_TEXT: return form->text ? PyUnicode_FromString(form->text) : text_of(r);
    case LW_FORM_OPTIONAL: return optional_of(form, r);
    case LW_FORM_TUPLE: break;
    }
    items = items_of(form, r);
    if (items == NULL || form->user_class == NULL)
        return items;
    result = object_of(form, r, items);
    Py_DECREF(items);
    return result;
}

/* The objects that the function has changed, as new objects. */
static PyObject *
changed_of(const lw_scalar *scalar, result_reader *r)
{
    PyObject *changed = PyTuple_New(scalar->n_changed);

    r->keeps_dtypes = true;
    for (uint32_t k = 0; changed != NULL && k < scalar->n_changed; k++) {
        PyObject *object = result_of(&scalar->result->items[1 + k], r);
        if (object == NULL)
            Py_CLEAR(changed);
        else
            PyTuple_SET_ITEM(changed, k, object);
    }
    return changed;
}

/* Their numbers among the arguments. */
static PyObject *
places_of(const lw_scalar *scalar)
{
    PyObject *places = PyTuple_New(scalar->n_changed);

    for (uint32_t k = 0; places != NULL && k < scalar->n_changed; k++) {
        PyObject *place = PyLong_FromUnsignedLong(scalar->changed[k]);
        if (place == NULL)
            Py_CLEAR(places);
        else
            PyTuple_SET_ITEM(places, k, place);
    }
    return places;
}

/* The result, after the fields of the changed objects have been assigned to the caller's. */
static PyObject *
result_and_changes(const lw_scalar *scalar, result_reader *r, PyObject *const *row)
{
    PyObject *result = result_of(&scalar->result->items[0], r);
    PyObject *changed = result ? changed_of(scalar, r) : NULL, *done = NULL;

    for (uint32_t k = 0; changed != NULL && k < scalar->n_changed; k++) {
        PyObject *made = PyTuple_GET_ITEM(changed, k);
        done = lw_service_call(LW_SERVICE_CHANGES, "write_back", row[scalar->changed[k]], &made,
                               1, NULL);
        if (done == NULL)
            Py_CLEAR(changed);
        Py_XDECREF(done);
    }
    if (changed == NULL)
        Py_CLEAR(result);
    Py_XDECREF(changed);
    if (result != NULL && scalar->result_param)
        Py_SETREF(result, Py_NewRef(row[scalar->result_param - 1]));
    return result;
}

int
lw_jit_check_changes(const lw_specialisation *specialisation, const lw_bound *bound,
                     PyObject *const *row, Py_ssize_t n_args)
{
    const lw_scalar *scalar = specialisation->scalar;
    PyObject *args = NULL, *places = NULL, *name = NULL, *done = NULL;

    if (bound->n_copies > 0) {
        PyErr_SetString(
            PyExc_TypeError,
            "the function assigns fields of an object, and an array has to be copied "
            "for the call: expected arrays in this machine's byte order, aligned");
        return -1;
    }
    args = PyTuple_New(n_args);
    for (Py_ssize_t i = 0; args != NULL && i < n_args; i++)
        PyTuple_SET_ITEM(args, i, Py_NewRef(row[i]));
    places = args ? places_of(scalar) : NULL;
    if (places != NULL)
        name = PyUnicode_FromString(lw_function_name(specialisation->function));
    if (name != NULL) {
        PyObject *rest[] = {args, places};
        done = lw_service_call(LW_SERVICE_CHANGES, "check_apart", name, rest, 2, NULL);
    }
    Py_XDECREF(name);
    Py_XDECREF(args);
    Py_XDECREF(places);
    Py_XDECREF(done);
    return done ? 0 : -1;
}

PyObject *
lw_jit_results_of(const lw_scalar *scalar, const uint64_t *parts, const lw_bound *bound,
                  PyObject *const *row)
{
    result_reader r = {.scalar = scalar, .bound = bound, .parts = parts};
    PyObject *result =
        scalar->n_changed ? result_and_changes(scalar, &r, row) : result_of(scalar->result, &r);

    if (result == NULL)
        release_rest(&r);
    return result;
}

/* ---- what a call would give ---- */

/* (class or None, names or None, forms of the items) */
static PyObject *
form_of_items(const lw_scalar *scalar, const lw_result *form, uint32_t *i)
{
    PyObject *class = form->user_class ? (PyObject *)(uintptr_t)form->user_class->id : Py_None;
    PyObject *names = form->names ? lw_text_names(form->names, form->n) : Py_NewRef(Py_None);
    PyObject *items = PyTuple_New(form->n), *result = NULL;

    for (uint32_t k = 0; items != NULL && k < form->n; k++) {
        PyObject *item = lw_jit_form_of(scalar, &form->items[k], i);
        if (item == NULL)
            Py_CLEAR(items);
        else
            PyTuple_SET_ITEM(items, k, item);
    }
    if (items != NULL && names != NULL)
        result = PyTuple_Pack(3, class, names, items);
    Py_XDECREF(names);
    Py_XDECREF(items);
    return result;
}

PyObject *
lw_jit_form_of(const lw_scalar *scalar, const lw_result *form, uint32_t *i)
{
    uint32_t number = *i;

    if (form->kind == LW_FORM_NONE)
        Py_RETURN_NONE;
    if (form->kind == LW_FORM_TUPLE)
        return form_of_items(scalar, form, i);
    if (form->kind == LW_FORM_OPTIONAL)
        return PyErr_Format(PyExc_TypeError,
                            "a result is None on some paths, which no array can hold: return a "
                            "number there, such as NaN");
    if (form->kind == LW_FORM_MEMBER)
        return PyErr_Format(PyExc_TypeError,
                            "a result has a member of %s, which no array can hold: use its "
                            "`.value`, or an `enum.IntEnum`",
                            form->members->name);
    if (form->kind == LW_FORM_TEXT)
        return PyErr_Format(PyExc_TypeError,
                            "a result is a string, which no array can hold: return a number "
                            "that stands for it");
    ++*i;
    if (scalar->arrays != NULL && scalar->arrays[number].is_array)
        return PyUnicode_FromString("array");
    return PyUnicode_FromString(lw_dtypes[scalar->out[number]].public_name);
}

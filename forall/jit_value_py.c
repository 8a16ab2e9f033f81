/* Functions of lw.jit that are called on the host: f(3), f(array). The function is typed as one
 * that returns numbers, by a companion object that has these specialisations, and runs once, on
 * the calling thread. */
#include "forall/jit_py_internal.h"

#include "core/base/memory.h"
#include "core/host/counted_memory.h"
#include "core/front/read/services.h"
#include "core/host/pieces.h"
#include "core/host/raise_note.h"
#include "core/py/compiled/renew.h"
#include "core/py/object_shape.h"
#include "core/py/array/convert.h"
#include "core/py/array/counted_array.h"
#include "core/py/compiled/entry.h"
#include "core/py/descr.h"
#include "core/py/print_py.h"
#include "core/py/raise.h"
#include "core/py/raise_row.h"
#include "core/py/record_intern.h"
#include "core/py/signals.h"
#include "core/py/text_py.h"

#include <stdatomic.h>
#include <string.h>

enum { FEW_RESULTS = 64 };

int
lw_jit_signatures_give(PyObject *signatures)
{
    lw_signature_list list = {0};
    uint32_t n = 0;
    lw_arena arena;
    int failed;

    lw_arena_init(&arena);
    failed = lw_signatures_read(signatures, false, &arena, &list) < 0;
    for (uint32_t i = 0; i < list.n; i++)
        n += lw_signature_n_out(&list.data[i]) > 0;
    failed = failed ? -1 : n > 0;
    if (failed > 0 && n != list.n) {
        PyErr_SetString(PyExc_TypeError, "signatures: some return numbers and some do not: a "
                                         "kernel returns nothing");
        failed = -1;
    }
    lw_arena_reset(&arena);
    return failed;
}

bool
lw_jit_leaves_results(PyObject *signatures)
{
    lw_signature_list list = {0};
    bool none = true;
    lw_arena arena;

    lw_arena_init(&arena);
    if (lw_signatures_read(signatures, false, &arena, &list) < 0)
        PyErr_Clear();
    for (uint32_t i = 0; i < list.n; i++)
        none = none && list.data[i].result.kind == LW_SIG_NONE;
    none = none && list.n > 0;
    lw_arena_reset(&arena);
    return none;
}

lw_jit *
lw_jit_companion(lw_jit *self)
{
    lw_jit *made = atomic_load_explicit(&self->value, memory_order_acquire), *before = NULL;
    lw_operand_scope scope;

    if (made != NULL)
        return made;
    scope = lw_compiled_enter_operands((lw_compiled *)self);
    made = lw_jit_new_value(self);
    lw_compiled_leave_operands(&scope);
    if (made != NULL && lw_function_declare(&made->base, self->signatures) < 0)
        Py_CLEAR(made);
    if (made == NULL)
        return NULL;
    if (!atomic_compare_exchange_strong(&self->value, &before, made)) {
        Py_DECREF((PyObject *)made); /* another thread was faster */
        return before;
    }
    return made;
}

static lw_host_entry *
entry_of(lw_specialisation *specialisation)
{
    const lw_entry_key key = {.form = LW_ENTRY_VALUE};

    return lw_specialisation_host(specialisation, &key);
}

int
lw_jit_declare_value(lw_jit *self)
{
    lw_jit *value = lw_jit_companion(self);

    if (value == NULL)
        return -1;
    for (lw_specialisation *at = lw_grown_first(&value->base.specialisations); at != NULL;
         at = lw_grown_next(at))
        if (at->scalar != NULL && entry_of(at) == NULL)
            return -1;
    return 0;
}

/* ---- results ---- */

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

/* In a dtype that has all its values. */
static lw_value
widened(const lw_value *from, lw_dtype dtype, lw_dtype wide)
{
    lw_value to = *from;

    if (dtype != wide)
        lw_value_cast(from, dtype, &to, wide);
    return to;
}

/* The result as a Python number, as numba returns it; of a time, and if `exact` of each dtype
 * that no type of Python's is, NumPy's scalar. */
static PyObject *
number(lw_dtype dtype, const uint64_t *parts, bool exact)
{
    const lw_dtype_row *row = &lw_dtypes[dtype];
    lw_value from = {0}, to;

    if (lw_is_complex(dtype)) {
        memcpy(from.bytes, parts, row->size_bytes / 2);
        memcpy(from.bytes + row->size_bytes / 2, parts + 1, row->size_bytes / 2);
        if (exact && !is_pythons(dtype))
            return scalar_of(dtype, &from);
        to = widened(&from, dtype, LW_DT_c128);
        return PyComplex_FromDoubles(to.c128[0], to.c128[1]);
    }
    memcpy(from.bytes, parts, row->size_bytes);
    if (lw_is_time(dtype) || (exact && !is_pythons(dtype)))
        return scalar_of(dtype, &from);
    if (dtype == LW_DT_b1)
        return PyBool_FromLong(from.bytes[0]);
    if (row->kind == LW_KIND_UINT)
        return PyLong_FromUnsignedLongLong(widened(&from, dtype, LW_DT_u64).u64);
    if (row->kind == LW_KIND_INT)
        return PyLong_FromLongLong(widened(&from, dtype, LW_DT_i64).i64);
    return PyFloat_FromDouble(widened(&from, dtype, LW_DT_f64).f64);
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

/* The argument in whose memory the address lies; NULL: none, or it is a copy of one. */
static PyObject *
argument_at(const lw_bound *bound, uint64_t address)
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
    array = lw_counted_array(&arrays[i], descr, parts, argument_at(r->bound, parts[0]));
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

    for (uint32_t i = 0; tuple != NULL && i < form->n; i++) {
        PyObject *item = result_of(&form->items[i], r);
        if (item == NULL)
            Py_CLEAR(tuple);
        else
            PyTuple_SET_ITEM(tuple, i, item);
    }
    return tuple;
}

/* The captures of the tree hold its classes. */
static PyObject *
object_of(const lw_result *form, PyObject *items)
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
    result = object_of(form, items);
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

/* Whether the objects that the function changes can be told from all others: each is one
 * argument, and is nowhere in the others. */
static int
check_changes(const lw_specialisation *specialisation, const lw_bound *bound,
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

static PyObject *
results_of(const lw_scalar *scalar, const uint64_t *parts, const lw_bound *bound,
           PyObject *const *row)
{
    result_reader r = {.scalar = scalar, .bound = bound, .parts = parts};
    PyObject *result =
        scalar->n_changed ? result_and_changes(scalar, &r, row) : result_of(scalar->result, &r);

    if (result == NULL)
        release_rest(&r);
    return result;
}

/* ---- the call ---- */

static PyObject *
raise_status(const lw_specialisation *specialisation, int32_t status)
{
    lw_raise_place place = {.kind = LW_AT_CALL};

    lw_raise_noted(place.words);
    (void)lw_raise_at(&specialisation->scalar->raises[status - 1], &place);
    return NULL;
}

typedef struct value_call {
    lw_value_code code;
    const uint64_t *values;
    uint64_t *parts;
    int32_t status;
} value_call;

static bool
run_code(void *context, int64_t begin, int64_t end)
{
    value_call *c = context;

    (void)begin, (void)end;
    c->status = c->code(c->values, c->parts);
    return true;
}

/* Runs the code, which Ctrl-C can end within its loops; then false, and the exception of a
 * signal handler is set. Brief code takes less time than to release the GIL. Code with a typed
 * list or dict keeps it, because other threads may change the same one. */
static bool
run_until(value_call *c, const lw_host_entry *entry, const lw_bound *bound)
{
    lw_stop stop = {.ask = lw_signal_raised_anyhow, .context = bound->has_container ? c : NULL};
    bool keeps = entry->brief || bound->has_container;
    PyThreadState *state = keeps ? NULL : PyEval_SaveThread();

    if (entry->steady)
        c->status = c->code(c->values, c->parts);
    else
        lw_in_pieces(&stop, 0, 1, 1, 1, run_code, c);
    if (state != NULL)
        PyEval_RestoreThread(state);
    return !stop.stopped;
}

static PyObject *
run(const lw_specialisation *specialisation, const lw_host_entry *entry, const lw_bound *bound,
    PyObject *const *row, Py_ssize_t n_args)
{
    uint64_t few[FEW_RESULTS], *parts = few;
    value_call call = {.code = (lw_value_code)(uintptr_t)entry->address,
                       .values = bound->values};
    PyObject *result = NULL;

    if (specialisation->scalar->n_changed > 0 &&
        check_changes(specialisation, bound, row, n_args) < 0)
        return NULL;
    if (specialisation->scalar->n_out_parts > FEW_RESULTS)
        parts = lw_alloc(specialisation->scalar->n_out_parts * sizeof *parts);
    if (parts == NULL)
        return PyErr_NoMemory();
    call.parts = parts;
    if (!run_until(&call, entry, bound))
        (void)(entry->prints && lw_print_show_anyway());
    else if (!entry->prints || lw_print_show() == 0)
        result = call.status ? raise_status(specialisation, call.status)
                             : results_of(specialisation->scalar, parts, bound, row);
    if (parts != few)
        lw_free(parts);
    return result;
}

bool
lw_jit_error_is(const char *wanted)
{
    PyObject *type, *value, *trace, *code;
    bool result = false;

    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    code = value != NULL ? PyObject_GetAttrString(value, "code") : NULL;
    if (code != NULL && PyUnicode_Check(code))
        result = PyUnicode_CompareWithASCIIString(code, wanted) == 0;
    PyErr_Clear();
    Py_XDECREF(code);
    PyErr_Restore(type, value, trace);
    return result;
}

static PyObject *
call_bound(lw_jit *self, lw_jit *value, lw_bound *bound, PyObject *const *row,
           Py_ssize_t n_args)
{
    lw_specialisation *specialisation;
    lw_host_entry *entry;

    if (bound->where == LW_WHERE_DEVICE)
        return PyErr_Format(PyExc_TypeError,
                            "%s: a call without [grid, block] runs on the CPU, and an argument "
                            "is an array on a GPU; expected NumPy arrays: pass "
                            "`a.copy_to_host()`, or launch it, `f[grid, block](a)`",
                            lw_function_name(&self->base));
    specialisation = lw_specialisation_get(&value->base, bound);
    if (specialisation == NULL && lw_jit_error_is("E163")) { /* what only threads have */
        PyErr_Clear();
        return lw_jit_needs_shape(self);
    }
    entry = specialisation ? entry_of(specialisation) : NULL;
    return entry ? run(specialisation, entry, bound, row, n_args) : NULL;
}

/* ---- what a call would give ---- */

static PyObject *form_of(const lw_scalar *scalar, const lw_result *form, uint32_t *i);

/* (class or None, names or None, forms of the items) */
static PyObject *
form_of_items(const lw_scalar *scalar, const lw_result *form, uint32_t *i)
{
    PyObject *class = form->user_class ? (PyObject *)(uintptr_t)form->user_class->id : Py_None;
    PyObject *names = form->names ? lw_text_names(form->names, form->n) : Py_NewRef(Py_None);
    PyObject *items = PyTuple_New(form->n), *result = NULL;

    for (uint32_t k = 0; items != NULL && k < form->n; k++) {
        PyObject *item = form_of(scalar, &form->items[k], i);
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

/* None, the name of a number's dtype, or a tuple. */
static PyObject *
form_of(const lw_scalar *scalar, const lw_result *form, uint32_t *i)
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

PyObject *
lw_jit_form(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t n_args)
{
    lw_jit *value = n_args ? lw_jit_companion((lw_jit *)args[0]) : NULL, *current;
    lw_specialisation *specialisation;
    PyObject *result = NULL;
    uint32_t i = 0;
    lw_bound bound;

    if (value == NULL)
        return NULL;
    current = (lw_jit *)lw_compiled_current((lw_compiled *)value);
    lw_bound_init(&bound);
    if (current != NULL && lw_bind(&current->base, args + 1, n_args - 1, &bound) == 0) {
        specialisation = lw_specialisation_get(&current->base, &bound);
        if (specialisation != NULL && specialisation->scalar->n_changed > 0)
            PyErr_Format(PyExc_TypeError,
                         "%s: fields of its operand `%s` are assigned, and the caller's object "
                         "would stay as it is; expected a function that returns a new object",
                         lw_function_name(&current->base),
                         current->base.tree->fns.data[1]
                             .params.data[specialisation->scalar->changed[0]]
                             .name);
        else if (specialisation != NULL)
            result = form_of(specialisation->scalar, specialisation->scalar->result, &i);
        lw_bound_release(&bound);
    }
    Py_XDECREF((PyObject *)current);
    return result;
}

/* Where `*args` of the function is among its parameters; -1: it has none. */
static Py_ssize_t
place_of_rest(const lw_jit *value)
{
    const lw_fn *fn = &value->base.tree->fns.data[1];

    return value->n_positional < (Py_ssize_t)fn->params.n &&
                   fn->params.data[value->n_positional].kind == LW_PARAM_VARARG
               ? value->n_positional
               : -1;
}

/* The row of the arguments, in the order of the parameters, and how many they are; *rest: the
 * tuple for `*args`, which the caller holds, or NULL. -1 with an exception. */
static Py_ssize_t
arrange(const lw_jit *value, PyObject *const *args, Py_ssize_t n_args, PyObject *kwnames,
        PyObject **row, PyObject **rest)
{
    Py_ssize_t place = place_of_rest(value), n_rest = n_args - place, n;
    PyObject *by_position[LW_MOST_ARRANGED];

    if (place < 0 || n_rest <= 0)
        return lw_function_arrange(&value->base, args, n_args, kwnames, NULL, row);
    *rest = PyTuple_New(n_rest);
    if (*rest == NULL)
        return -1;
    for (Py_ssize_t i = 0; i < n_rest; i++)
        PyTuple_SET_ITEM(*rest, i, Py_NewRef(args[place + i]));
    n = kwnames ? PyTuple_GET_SIZE(kwnames) : 0;
    if (place + n > LW_MOST_ARRANGED) {
        PyErr_Format(PyExc_TypeError, "%s() takes at most %d arguments by position and name",
                     lw_function_name(&value->base), LW_MOST_ARRANGED);
        return -1;
    }
    memcpy(by_position, args, (size_t)place * sizeof *args);
    memcpy(by_position + place, args + n_args, (size_t)n * sizeof *args);
    n = lw_function_arrange(&value->base, by_position, place, kwnames, NULL, row);
    if (n > place)
        row[place] = *rest;
    return n;
}

static PyObject *
call_now(lw_jit *self, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    lw_jit *value = lw_jit_companion(self);
    Py_ssize_t n_args = PyVectorcall_NARGS(nargsf);
    PyObject *row[LW_MOST_ARRANGED], *keep = NULL, *rest = NULL, *result = NULL;
    lw_bound bound;

    if (value != NULL)
        n_args = arrange(value, args, n_args, kwnames, row, &rest);
    if (value == NULL || n_args < 0) {
        Py_XDECREF(rest);
        return NULL;
    }
    lw_bound_init(&bound);
    if (lw_jit_unwrap_all(row, n_args, &keep) == 0 &&
        lw_bind(&value->base, row, n_args, &bound) == 0) {
        result = call_bound(self, value, &bound, row, n_args);
        lw_bound_release(&bound);
    }
    Py_XDECREF(keep);
    Py_XDECREF(rest);
    return result;
}

/* The companion was read when it was made, so it says what is stale. */
PyObject *
lw_jit_call_value(PyObject *object, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    lw_jit *self = (lw_jit *)object, *current;
    lw_jit *value = atomic_load_explicit(&self->value, memory_order_acquire);
    PyObject *result;
    int goes_on;

    if (lw_calls_go_round() &&
        lw_went_round(&(lw_entry_call){"call", lw_jit_call_value, (lw_compiled *)object, object,
                                       args, nargsf, kwnames},
                      &result))
        return result;
    if (value == NULL || !lw_function_is_stale(&value->base))
        return call_now(self, args, nargsf, kwnames);
    goes_on = lw_compiled_frozen((lw_compiled *)value);
    if (goes_on != 0)
        return goes_on < 0 ? NULL : call_now(self, args, nargsf, kwnames);
    current = (lw_jit *)lw_compiled_renewed((lw_compiled *)self);
    result = current ? call_now(current, args, nargsf, kwnames) : NULL;
    Py_XDECREF((PyObject *)current);
    return result;
}

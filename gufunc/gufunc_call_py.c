/* The call: look at the operands once, then go to NumPy's inner gufunc, to the device, or to
 * whoever overrides. */
#include "core/py/numpy_api.h"

#include "gufunc/gufunc_parts_py.h"

#include "core/py/array/args.h"
#include "core/py/compiled/entry.h"
#include "core/py/host_cuda.h"
#include "core/py/numpy/call_kinds.h"
#include "core/py/numpy/host_loops.h"
#include "core/py/numpy/object_operands.h"
#include "core/py/numpy/recall.h"
#include "core/py/numpy/ufunc_names.h"
#include "core/py/raise.h"
#include "gufunc/device_call_py.h"

#include <string.h>

/* ---- host calls ---- */

enum { MOST_ARGUMENTS = LW_MAX_OPERANDS + 16 };

/* What is written in a message of NumPy's behind `before`: the number of an operand or of a
 * dimension; -1: it is not there. */
static int
number_behind(const char *text, const char *before)
{
    const char *at = strstr(text, before);
    int digit = at ? at[strlen(before)] - '0' : -1;

    return digit >= 0 && digit <= 9 ? digit : -1;
}

/* NumPy counts operands: ", which is the parameter `x`", and what to do where it does not know
 * a size. A new reference; NULL: there is nothing to add. */
static PyObject *
note_for(const lw_gufunc_object *self, const char *text)
{
    const lw_core_layout *layout = &self->base.layout;
    const char *said = strchr(text, ':'); /* "name: Input operand 1 …" */
    bool output = said != NULL && strncmp(said, ": Output operand ", 17) == 0;
    bool input = said != NULL && strncmp(said, ": Input operand ", 16) == 0;
    int operand = output || input ? number_behind(said, " operand ") : -1;
    int dim = number_behind(text, "core dimension ");
    int place = output && operand >= 0 ? operand + (int)layout->nin : operand;

    if (operand < 0 || place >= (int)(layout->nin + layout->nout))
        return NULL;
    if (output && dim >= 0 && strstr(text, "unspecified") != NULL &&
        (uint32_t)dim < layout->operands[place].n) {
        const char *name = layout->dims[layout->operands[place].dims[dim]].name;
        return PyUnicode_FromFormat(
            "; only outputs have `%s`, so pass an array as out=, or say "
            "how large it is with sizes={\"%s\": ...}",
            name, name);
    }
    if (self->params[place] == LW_NO_PARAM)
        return NULL;
    return PyUnicode_FromFormat(
        "; this operand is the parameter `%s`",
        self->base.tree->fns.data[1].params.data[self->params[place]].name);
}

/* NumPy's errors, and those of calls on devices, which have its words, show operands by
 * numbers; NumPy's show the layout that NumPy knows, without `|1`. A new reference, or NULL. */
static PyObject *
better_text(const lw_gufunc_object *self, PyObject *text)
{
    const lw_core_layout *layout = &self->base.layout;
    PyObject *short_one = PyUnicode_FromString(layout->numpy_text);
    PyObject *long_one = PyUnicode_FromString(layout->text), *shown = NULL, *note = NULL;
    const char *chars = PyUnicode_AsUTF8(text);

    if (short_one != NULL && long_one != NULL)
        shown = PyUnicode_Replace(text, short_one, long_one, 1);
    if (shown != NULL && chars != NULL)
        note = note_for(self, chars);
    if (note != NULL)
        PyUnicode_Append(&shown, note);
    Py_XDECREF(note);
    Py_XDECREF(short_one);
    Py_XDECREF(long_one);
    return shown;
}

void
lw_gufunc_show_names(const lw_gufunc_object *self)
{
    PyObject *type, *value, *trace, *text, *better = NULL;

    if (!PyErr_ExceptionMatches(PyExc_ValueError))
        return;
    PyErr_Fetch(&type, &value, &trace);
    text = value ? PyObject_Str(value) : NULL;
    if (type == PyExc_ValueError && text != NULL)
        better = better_text(self, text);
    if (better != NULL && PyUnicode_Compare(better, text) == 0) /* not NumPy's: as it is */
        Py_CLEAR(better);
    Py_XDECREF(text);
    if (better == NULL) {
        PyErr_Restore(type, value, trace); /* instead of what went wrong here */
        return;
    }
    PyErr_SetObject(type, better);
    Py_DECREF(better);
    Py_DECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(trace);
}

PyObject *
lw_gufunc_call_numpy(lw_gufunc_object *self, PyObject *const *args, size_t nargsf,
                     PyObject *kwnames)
{
    Py_ssize_t n_args = PyVectorcall_NARGS(nargsf), n = n_args;
    int nin = self->base.nin;
    PyObject *values[MOST_ARGUMENTS], *result;

    n += kwnames ? PyTuple_GET_SIZE(kwnames) : 0;
    if (!self->base.layout.has_broadcast || n_args < nin || n > MOST_ARGUMENTS) {
        result = lw_inner_call((lw_ufunc_head *)self, args, nargsf, kwnames);
        if (result == NULL)
            lw_gufunc_show_names(self);
        return result;
    }
    if (lw_gufunc_stretch(&self->base, args, n_args, kwnames, values) < 0)
        return NULL;
    memcpy(values + nin, args + nin, (size_t)(n - nin) * sizeof *values);
    result = lw_inner_call((lw_ufunc_head *)self, values, (size_t)n_args, kwnames);
    for (int k = 0; k < nin; k++)
        Py_DECREF(values[k]);
    if (result == NULL)
        lw_gufunc_show_names(self);
    return result;
}

/* ---- layouts without outputs: the function works in place ---- */

/* The loop of a call; NULL, without an exception: NumPy says what is wrong. */
static const lw_gufunc_loop *
loop_in_place(lw_gufunc_object *self, PyObject *const *args)
{
    lw_dtype dtypes[LW_MAX_OPERANDS];
    char weak[LW_MAX_OPERANDS] = {0};
    const lw_call_rules rules = {NULL, NULL, NULL};
    const lw_gufunc_loop *loop;

    for (int k = 0; k < self->base.nin; k++) {
        PyObject *array = PyArray_FROM_O(args[k]);
        dtypes[k] =
            array ? lw_dtype_from_num(PyArray_TYPE((PyArrayObject *)array)) : LW_DT_void;
        Py_XDECREF(array);
        weak[k] = lw_weak_kind(args[k]);
        if (dtypes[k] == LW_DT_void) {
            PyErr_Clear();
            return NULL;
        }
    }
    loop = lw_loops_of_call((lw_ufunc_head *)self, dtypes, weak, &rules);
    PyErr_Clear();
    return loop;
}

static const char *
input_name(const lw_gufunc_object *self, int k)
{
    return self->base.tree->fns.data[1].params.data[self->params[k]].name;
}

/* Inputs of writable_args= are copied back by NumPy, which also looks whether they may be
 * written to. */
static int
check_written(const lw_gufunc_object *self, const lw_gufunc_loop *loop, int k, PyObject *object)
{
    const char *name = input_name(self, k);
    PyArrayObject *array = (PyArrayObject *)object;

    if (!PyArray_Check(object)) {
        PyErr_Format(PyExc_TypeError,
                     "`%s` writes to argument `%s`, which must be an array, not %.100s",
                     self->base.table->name, name, Py_TYPE(object)->tp_name);
        return -1;
    }
    if (!PyArray_ISWRITEABLE(array)) {
        PyErr_Format(PyExc_ValueError, "`%s` writes to argument `%s`, which is read-only",
                     self->base.table->name, name);
        return -1;
    }
    if (PyArray_ISBEHAVED(array) && PyArray_TYPE(array) == lw_type_num(loop->types[k]))
        return 0;
    return PyErr_WarnFormat(
        PyExc_RuntimeWarning, 1,
        "`%s` writes to a copy of argument `%s`, because its dtype is %S and the loop's is %s: "
        "writable_args=('%s',) copies it back",
        self->base.table->name, name, (PyObject *)PyArray_DESCR(array),
        lw_dtypes[loop->types[k]].public_name, name);
}

static int
check_in_place(lw_gufunc_object *self, PyObject *const *args)
{
    const lw_gufunc_loop *loop = loop_in_place(self, args);

    for (int k = 0; loop != NULL && k < self->base.nin; k++)
        if (loop->writable[k] && !self->writable[k] &&
            check_written(self, loop, k, args[k]) < 0)
            return -1;
    return 0;
}

static PyObject *
call_in_place(lw_gufunc_object *self, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    PyObject *result;

    if (PyVectorcall_NARGS(nargsf) == self->base.nin && check_in_place(self, args) < 0)
        return NULL;
    result = lw_gufunc_call_numpy(self, args, nargsf, kwnames);
    if (result == NULL)
        return NULL;
    Py_DECREF(result); /* an empty tuple */
    Py_RETURN_NONE;
}

static PyObject *
call_sized(lw_ufunc_head *head, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    lw_gufunc_object *self = (lw_gufunc_object *)head;

    if (self->base.nout == 0)
        return call_in_place(self, args, nargsf, kwnames);
    if (lw_gufunc_makes_outputs(self, kwnames))
        return lw_gufunc_call_made(self, args, PyVectorcall_NARGS(nargsf), kwnames);
    return lw_gufunc_call_numpy(self, args, nargsf, kwnames);
}

PyObject *
lw_gufunc_call_host(lw_ufunc_head *self, PyObject *const *args, size_t nargsf,
                    PyObject *kwnames, Py_ssize_t stream)
{
    lw_host_call_begin(self->table);
    if (stream >= 0)
        return lw_call_without_stream(self, args, PyVectorcall_NARGS(nargsf), kwnames, stream,
                                      call_sized);
    return call_sized(self, args, nargsf, kwnames);
}

/* ---- masked arrays ---- */

static int
refuse_masked(lw_gufunc_object *self, PyObject *object)
{
    int masked =
        PyArray_Check(object) && !PyArray_CheckExact(object) ? lw_is_masked_array(object) : 0;

    for (Py_ssize_t i = 0; PyTuple_CheckExact(object) && i < PyTuple_GET_SIZE(object); i++)
        if (refuse_masked(self, PyTuple_GET_ITEM(object, i)) < 0)
            return -1;
    if (masked > 0)
        PyErr_Format(PyExc_TypeError,
                     "`%s` got a masked array, whose mask compiled code would ignore; pass "
                     "its .data, or .filled(...)",
                     self->base.table->name);
    return masked ? -1 : 0;
}

/* Items that have elements would be made of masked ones, too. Without core dimensions masks are
 * those of the elements, and numpy.ma sees to them. */
static int
refuse_all_masked(lw_gufunc_object *self, PyObject *const *args, Py_ssize_t n_args,
                  PyObject *kwnames)
{
    Py_ssize_t n = n_args + (kwnames ? PyTuple_GET_SIZE(kwnames) : 0);

    for (Py_ssize_t i = 0; self->base.layout.n_dims > 0 && i < n; i++)
        if (!PyArray_CheckExact(args[i]) && refuse_masked(self, args[i]) < 0)
            return -1;
    return 0;
}

int
lw_gufunc_ask(lw_ufunc_head *head, PyObject *const *args, Py_ssize_t n_args, PyObject *kwnames,
              int nin, PyObject **result)
{
    const lw_gufunc_object *self = (const lw_gufunc_object *)head;
    const lw_overridden face = {.object = lw_ufunc_head_face(head),
                                .face = lw_ufunc_head_face(head),
                                .called = (PyObject *)head,
                                .name = self->base.table->name,
                                .nin = nin,
                                .has_layout = true,
                                .has_items = self->base.layout.n_dims > 0,
                                .inputs_by_name = self->base.family != NULL,
                                .nout = self->base.nout};

    return lw_override(&face, "__call__", args, n_args, kwnames, result);
}

static PyObject *call_now(PyObject *object, PyObject *const *args, size_t nargsf,
                          PyObject *kwnames);

static PyObject *
call_by_names(lw_gufunc_object *self, PyObject *const *args, Py_ssize_t n_args,
              PyObject *kwnames)
{
    PyObject *result = NULL;
    lw_placed call;

    if (lw_ufunc_names_place((lw_ufunc_head *)self, args, n_args, kwnames, self->base.nin,
                             &call) == 0)
        result = call_now((PyObject *)self, call.args, (size_t)call.n_args, call.kwnames);
    lw_placed_drop(&call);
    return result;
}

static PyObject *
call_now(PyObject *object, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    lw_gufunc_object *self = (lw_gufunc_object *)object;
    lw_target_choice target = self->base.options.target;
    Py_ssize_t n_args = PyVectorcall_NARGS(nargsf);
    PyObject *result, *other;
    lw_seen s;

    if (self->base.family == NULL && target != LW_CHOOSE_CUDA && !lw_on_python() &&
        lw_gufunc_call_direct(self, args, n_args, kwnames, &result))
        return result;
    if (lw_recall_any((lw_ufunc_head *)self) &&
        lw_recall_call((lw_ufunc_head *)self, args, n_args, kwnames, &result))
        return result;
    if (self->base.family != NULL
            ? lw_family_brings_objects((lw_ufunc_head *)self, args, n_args, kwnames)
            : lw_brings_objects((lw_compiled *)self, args, n_args) ||
                  lw_names_objects((lw_compiled *)self, args + n_args, kwnames))
        return lw_call_of_objects("guvectorize", object, args, n_args, kwnames);
    s = lw_look(args, n_args, kwnames, false);
    if (self->base.family != NULL)
        return lw_family_call((lw_ufunc_head *)self, args, n_args, kwnames);
    if (n_args < self->base.nin && lw_ufunc_names_any((lw_ufunc_head *)self, n_args, kwnames))
        return call_by_names(self, args, n_args, kwnames);
    if ((s.kinds & LW_CALL_KIND_OTHER) &&
        lw_gufunc_ask((lw_ufunc_head *)self, args, n_args, kwnames, self->base.nin, &result))
        return result;
    if (refuse_all_masked(self, args, n_args, kwnames) < 0)
        return NULL;
    other = lw_gufunc_for_outputs(self, args, n_args, kwnames);
    if (other != NULL) {
        result = call_now(other, args, nargsf, kwnames);
        Py_DECREF(other);
        return result;
    }
    if (PyErr_Occurred())
        return NULL;
    if ((s.kinds & LW_CALL_KIND_DEVICE) && target == LW_CHOOSE_CPU)
        return lw_refuse_device((lw_ufunc_head *)self);
    if ((s.kinds & LW_CALL_KIND_DEVICE) || target == LW_CHOOSE_CUDA)
        return lw_gufunc_call_device((lw_ufunc_head *)self, args, nargsf, kwnames, NULL);
    if (s.kinds == LW_CALL_KIND_PLAIN && !lw_on_python() &&
        lw_gufunc_call_walk(self, args, n_args, kwnames, &result))
        return result;
    return lw_gufunc_call_host((lw_ufunc_head *)self, args, nargsf, kwnames, s.stream);
}

PyObject *
lw_gufunc_call(PyObject *object, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    PyObject *current, *result = NULL;

    if (lw_calls_go_round() &&
        lw_went_round(&(lw_entry_call){"guvectorize", lw_gufunc_call, (lw_compiled *)object,
                                       object, args, nargsf, kwnames},
                      &result))
        return result;
    current = lw_ufunc_current(object);
    if (current != NULL)
        result = call_now(current, args, nargsf, kwnames);
    Py_XDECREF(current);
    if (result == NULL && ((lw_ufunc_head *)object)->numpys != NULL)
        result = lw_ufunc_numpys_answer((lw_ufunc_head *)object, "__call__", args,
                                        PyVectorcall_NARGS(nargsf), kwnames);
    return result;
}

/* ---- methods: NumPy says which ones a generalized ufunc lacks ---- */

PyObject *
lw_gufunc_call_method(lw_ufunc_head *head, lw_ufunc_method id, PyObject *const *args,
                      Py_ssize_t n_args, PyObject *kwnames)
{
    lw_gufunc_object *self = (lw_gufunc_object *)lw_ufunc_current((PyObject *)head);
    uint32_t n_given = self ? lw_inner_n_given((lw_ufunc_head *)self) : 0;
    PyObject *bound, *result = NULL;

    bound = self ? PyObject_GetAttrString(lw_inner_now((lw_ufunc_head *)self),
                                          lw_ufunc_method_names[id])
                 : NULL;
    if (bound != NULL)
        result = PyObject_Vectorcall(bound, args, (size_t)n_args, kwnames);
    if (bound != NULL && result == NULL &&
        lw_inner_should_ask_again((lw_ufunc_head *)self, n_given))
        result = PyObject_Vectorcall(bound, args, (size_t)n_args, kwnames);
    Py_XDECREF(bound);
    Py_XDECREF((PyObject *)self);
    return result;
}

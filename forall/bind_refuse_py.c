/* The exceptions of binding, which name the argument, what was expected, and what came. */
#include "forall/bind_py_internal.h"

#include "core/py/object_shape.h"
#include "core/py/raise.h"
#include "forall/kernel_py.h"
#include "core/py/array/args.h"

#include <string.h>

const char *
lw_bind_name(const lw_binder *r)
{
    const lw_fn *fn = &r->self->tree->fns.data[1];

    return fn->params.data[r->self->n_index + r->arg].name;
}

const char *
lw_bind_first_name(const lw_binder *r)
{
    const lw_bound *b = r->bound;
    const lw_fn *fn = &r->self->tree->fns.data[1];

    return b->n_arrays ? fn->params.data[r->self->n_index + b->arrays[0].arg].name : "";
}

int
lw_bind_refuse_layout(const lw_binder *r, const char *why)
{
    PyErr_Format(PyExc_ValueError, "%s: argument `%s`: %s", lw_function_name(r->self),
                 lw_bind_name(r), why);
    return -1;
}

int
lw_bind_refuse_dtype(const lw_binder *r, PyArray_Descr *descr)
{
    PyObject *text = PyUnicode_FromFormat(
        "%s: argument `%s` is an array of dtype %.200R, which compiled code does not "
        "know; expected bool, integers, floats, complex numbers, dates, durations, strings, or "
        "a structured dtype of these, in native byte order",
        lw_function_name(r->self), lw_bind_name(r), (PyObject *)descr);
    const char *utf8 = text ? PyUnicode_AsUTF8(text) : NULL;
    lw_error err = {0};

    if (utf8 != NULL) {
        lw_fail(&err, LW_ERR_TYPING, "%s", utf8); /* a TypeError, too */
        lw_py_raise(&err);
    }
    Py_XDECREF(text);
    return -1;
}

int
lw_bind_refuse_mixed(const lw_binder *r, bool host_now)
{
    const char *other = lw_bind_first_name(r);

    PyErr_Format(PyExc_TypeError,
                 "%s: argument `%s` is in %s memory and `%s` in %s memory: move one of them "
                 "(lanewise.cuda.to_device, copy_to_host)",
                 lw_function_name(r->self), lw_bind_name(r), host_now ? "host" : "device",
                 other, host_now ? "device" : "host");
    return -1;
}

int
lw_bind_refuse_masked(const lw_binder *r, PyObject *object)
{
    int masked = lw_is_masked_array(object);

    if (masked > 0)
        PyErr_Format(PyExc_TypeError,
                     "%s: argument `%s` is a masked array, whose mask compiled code would "
                     "ignore; pass its .data and its .mask",
                     lw_function_name(r->self), lw_bind_name(r));
    return masked ? -1 : 0;
}

int
lw_bind_refuse_registered(const lw_binder *r, const lw_object_shape *shape, Py_ssize_t i,
                          PyObject *value)
{
    PyErr_Format(PyExc_TypeError,
                 "%s: argument `%s`: the field `%U` of `%.100s` is registered as %s, and is "
                 "%.100R",
                 lw_function_name(r->self), lw_bind_name(r), PyTuple_GET_ITEM(shape->names, i),
                 shape->type->tp_name, lw_dtypes[shape->dtypes[i]].public_name, value);
    return -1;
}

/* An object of a class that compiled code could know, but for this attribute. */
static int
refuse_attribute(const lw_binder *r, PyObject *object, PyObject *attribute)
{
    const char *type = Py_TYPE(object)->tp_name;

    PyErr_Format(PyExc_TypeError,
                 "%s: argument `%s` is %s %.100s with an attribute `%U` that no method of the "
                 "class names, so that compiled code does not know it: assign it in `__init__`",
                 lw_function_name(r->self), lw_bind_name(r),
                 strchr("aeiouAEIOU", *type) ? "an" : "a", type, attribute);
    Py_DECREF(attribute);
    return -1;
}

int
lw_bind_refuse_untyped(const lw_binder *r, const lw_object_shape *container)
{
    bool is_list = lw_object_is_typed_list(container);

    PyErr_Format(
        PyExc_TypeError, "%s: argument `%s` is a typed %s whose type is not known yet: %s",
        lw_function_name(r->self), lw_bind_name(r), is_list ? "list" : "dict",
        is_list ? "make it by List.empty_list(type), or append an item first"
                : "make it by Dict.empty(key_type, value_type), or store an item first");
    return -1;
}

/* By the name of its type. */
static const char *
hint_of_type(PyObject *object)
{
    static const char filled[] = "; make it an array by np.fromiter";
    static const char drawn[] = "; call the functions of np.random in the function, or pass "
                                "states of lanewise.random";
    static const char a_date[] = "; np.datetime64(x, 'us') makes a date of it";
    static const char a_duration[] = "; np.timedelta64(x, 'us') makes a duration of it";
    static const struct {
        const char *type, *hint;
    } rows[] = {
        {"dict",
         "; make its keys and its values arrays, by np.fromiter, or let the function find "
         "it as a global or closure variable, if the keys are known there"},
        {"set", filled},
        {"frozenset", filled},
        {"generator", filled},
        {"bytes", "; make it an array by np.frombuffer"},
        {"bytearray", "; make it an array by np.frombuffer"},
        {"range", "; pass its bounds, and let the function make the range"},
        {"datetime.datetime", a_date},
        {"datetime.date", a_date},
        {"Timestamp", a_date},
        {"datetime.timedelta", a_duration},
        {"Timedelta", a_duration},
        {"numpy.random._generator.Generator", drawn},
        {"numpy.random.mtrand.RandomState", drawn},
        {"numpy.random.bit_generator.SeedSequence",
         drawn}, /* a field of lanewise's Generator */
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(Py_TYPE(object)->tp_name, rows[i].type) == 0)
            return rows[i].hint;
    return "";
}

/* What there is in place of an object that is no argument; follows "a tuple of these". */
static const char *
hint_of(const lw_binder *r, PyObject *object)
{
    static_assert(LW_MAX_UNROLL == 64, "a hint has this number");
    if (PyList_Check(object))
        return r->self->gives_value
                   ? ", or a list of up to 64 items; make it an array by np.asarray, or a "
                     "lanewise.typed.List, which functions can change"
                   : "; make it an array by np.asarray, or a tuple where it is only read";
    if (PyDict_CheckExact(object) && r->self->gives_value)
        return "; make it a lanewise.typed.Dict, or let the function find it as a global or "
               "closure variable, if the keys are known there";
    if (r->self->gives_value && r->depth > 0 && PyUnicode_Check(object))
        return "; strings may be the items of a lanewise.typed.List, or of a tuple that has "
               "only functions and strings: make one of these, or pass it as an argument of "
               "its own";
    if (r->self->gives_value && r->depth > 0 && PyCallable_Check(object))
        return "; a tuple may contain only functions and strings, or none of them: pass it "
               "as an argument of its own";
    if (PyFunction_Check(object) || PyUnicode_Check(object))
        return "; let the function find it as a global or closure variable";
    if (lw_is_sparse(object))
        return "; its method toarray() makes an array, and its attributes data, indices and "
               "indptr are arrays";
    return hint_of_type(object);
}

int
lw_bind_refuse(const lw_binder *r, PyObject *object)
{
    PyObject *attribute =
        r->field || lw_is_sparse(object) ? NULL : lw_read_unknown_field(object);
    const char *type = Py_TYPE(object)->tp_name;

    if (attribute != NULL)
        return refuse_attribute(r, object, attribute);
    if (r->field != NULL) {
        PyErr_Format(PyExc_TypeError,
                     "%s: argument `%s`: its field `%U` is %s %.100s; expected an array, a "
                     "number, a record, None, or an object or tuple of these",
                     lw_function_name(r->self), lw_bind_name(r), r->field,
                     strchr("aeiouAEIOU", *type) ? "an" : "a", type);
        return -1;
    }
    PyErr_Format(PyExc_TypeError,
                 "%s: argument `%s` %s %s %.100s; expected an array, a number, a record, None, "
                 "or an object or tuple of these%s",
                 lw_function_name(r->self), lw_bind_name(r),
                 r->depth ? "has an item that is" : "is",
                 strchr("aeiouAEIOU", *type) ? "an" : "a", type, hint_of(r, object));
    return -1;
}

/* The first parameter after the n given ones that has no default. */
static const char *
first_missing(const lw_function *self, uint32_t n)
{
    const lw_fn *fn = &self->tree->fns.data[1];
    uint32_t i = self->n_index + n;

    while (i + 1 < fn->params.n && fn->params.data[i].default_constant != 0)
        i++;
    return fn->params.data[i].name;
}

int
lw_bind_refuse_count(const lw_function *self, Py_ssize_t n)
{
    uint32_t most = self->n_params - self->n_index;
    const char *more = self->n_index ? " behind the index" : "";

    if (n < (Py_ssize_t)self->n_required)
        PyErr_Format(PyExc_TypeError, "%s() missing a required argument: '%s'",
                     lw_function_name(self), first_missing(self, (uint32_t)n));
    else if (self->n_required == most)
        PyErr_Format(PyExc_TypeError, "%s() takes %u argument%s%s but %zd %s given",
                     lw_function_name(self), (unsigned)most, most == 1 ? "" : "s", more, n,
                     n == 1 ? "was" : "were");
    else
        PyErr_Format(PyExc_TypeError, "%s() takes from %u to %u arguments%s but %zd %s given",
                     lw_function_name(self), (unsigned)self->n_required, (unsigned)most, more,
                     n, n == 1 ? "was" : "were");
    return -1;
}

/* The call: look at the operands once, then go to NumPy's inner ufunc, to the device, or to
 * whoever overrides. Exact ndarrays and Python numbers are known by their type alone, so that a
 * small host call costs NumPy's time and some nanoseconds. */
#include "ufunc/ufunc_device_py.h"
#include "ufunc/ufunc_parts.h"

#include "core/front/read/critical.h"
#include "core/front/read/services.h"
#include "core/py/array/args.h"
#include "core/py/array/host_view.h"
#include "core/py/compiled/entry.h"
#include "core/py/host_cuda.h"
#include "core/py/numpy/call_kinds.h"
#include "core/py/numpy/host_loops.h"
#include "core/py/numpy/object_operands.h"
#include "core/py/numpy/recall.h"
#include "core/py/numpy/ufunc_names.h"
#include "core/py/raise.h"

#include <string.h>

/* ---- host calls ---- */

/* By NumPy's inner ufunc; stream: where stream= stands among args, or -1. */
static PyObject *
ufunc_call_host(lw_ufunc_head *self, PyObject *const *args, size_t nargsf, PyObject *kwnames,
                Py_ssize_t stream)
{
    lw_host_call_begin(((lw_ufunc_head *)self)->table);
    if (stream >= 0)
        return lw_call_without_stream(self, args, PyVectorcall_NARGS(nargsf), kwnames, stream,
                                      lw_inner_call);
    return lw_inner_call(self, args, nargsf, kwnames);
}

/* That of the family from now on, borrowed; steals face, NULL is passed on. */
static PyObject *
keep_face(lw_ufunc_object *self, PyObject *face)
{
    PyObject *kept = NULL;

    Py_BEGIN_CRITICAL_SECTION((PyObject *)self);
    if (face != NULL && self->base.family->face == NULL)
        self->base.family->face = Py_NewRef(face);
    if (face != NULL)
        kept = self->base.family->face;
    Py_END_CRITICAL_SECTION();
    Py_XDECREF(face);
    return kept;
}

/* What receivers of __array_ufunc__ see, borrowed: itself, or where its name means something to
 * NumPy or pandas a ufunc of another name. NULL with an exception. */
static PyObject *
face_of(lw_ufunc_object *self)
{
    lw_family *family = self->base.family;
    PyObject *face, *name;

    if (!self->name_taken)
        return lw_ufunc_head_face((lw_ufunc_head *)self);
    if (family == NULL)
        return lw_inner_now((lw_ufunc_head *)self);
    Py_BEGIN_CRITICAL_SECTION((PyObject *)self);
    face = family->face;
    Py_END_CRITICAL_SECTION();
    if (face != NULL)
        return face;
    face = lw_ufunc_new(Py_TYPE(self),
                        &(lw_request){.function = self->base.py_func,
                                      .signatures = family->signatures,
                                      .keywords = self->base.keywords},
                        NULL);
    if (face == NULL)
        return NULL;
    name = PyUnicode_FromString(self->base.table->numpy_name); /* "lanewise.add" */
    if (name == NULL || PyDict_SetItemString(((lw_ufunc *)face)->dict, "__name__", name) < 0)
        Py_CLEAR(face);
    Py_XDECREF(name);
    return keep_face(self, face);
}

/* In messages: where it stands for a numpy.ufunc, that one. */
static PyObject *
shown_as(const lw_ufunc_object *self)
{
    return self->base.numpys ? self->base.numpys
                             : lw_ufunc_head_face((const lw_ufunc_head *)self);
}

/* pandas maps names such as `add` to its own operators: where NumPy or pandas means something
 * by our name, the receiver sees the inner ufunc, whose name means nothing. */
static int
ask_overrides(lw_ufunc_object *self, const char *method, PyObject *const *args,
              Py_ssize_t n_args, PyObject *kwnames, int nin, PyObject **result)
{
    const lw_overridden face = {.object = shown_as(self),
                                .face = face_of(self),
                                .called = (PyObject *)self,
                                .name = self->base.table->name,
                                .nin = nin,
                                .inputs_by_name = self->base.family != NULL,
                                .nout = self->base.nout};

    *result = NULL;
    return face.face ? lw_override(&face, method, args, n_args, kwnames, result) : 1;
}

/* NEP 13: 1 with *result, where an operand takes the call; nin of args are inputs. */
static int
ufunc_ask(lw_ufunc_head *self, PyObject *const *args, Py_ssize_t n_args, PyObject *kwnames,
          int nin, PyObject **result)
{
    return ask_overrides((lw_ufunc_object *)self, "__call__", args, n_args, kwnames, nin,
                         result);
}

static bool
is_of_device(PyObject *object)
{
    return lw_is_device_operand(object) ||
           lw_args_type_has(Py_TYPE(object), "__lanewise_live__"); /* a stand-in */
}

/* TypeError for a masked array, or what else an array would lose something of, beside arrays of
 * a device: masks stay on the host. */
static int
refuse_masks(PyObject *const *args, Py_ssize_t n_args, PyObject *kwnames)
{
    Py_ssize_t n = n_args + (kwnames ? PyTuple_GET_SIZE(kwnames) : 0);
    bool has_device = false;
    char what[32];

    for (Py_ssize_t i = 0; i < n; i++)
        has_device |= is_of_device(args[i]);
    for (Py_ssize_t i = 0; has_device && i < n; i++) {
        if (i < n_args)
            PyOS_snprintf(what, sizeof what, "argument %zd", i + 1);
        else
            PyOS_snprintf(what, sizeof what,
                          "%.20s=", PyUnicode_AsUTF8(PyTuple_GET_ITEM(kwnames, i - n_args)));
        if (!is_of_device(args[i]) && lw_refuse_container(args[i], false, what) < 0)
            return -1;
    }
    return 0;
}

/* Reached where an operand is more than an ndarray or a number, or the target is forced. */
static PyObject *
call_sorted(lw_ufunc_object *self, PyObject *const *args, size_t nargsf, PyObject *kwnames,
            lw_seen s)
{
    lw_target_choice target = self->base.options.target;
    PyObject *result;

    if ((s.kinds & LW_CALL_KIND_OTHER) &&
        ask_overrides(self, "__call__", args, PyVectorcall_NARGS(nargsf), kwnames,
                      self->base.nin, &result))
        return result;
    if (s.kinds & LW_CALL_KIND_DEVICE) {
        if (target == LW_CHOOSE_CPU)
            return lw_refuse_device((lw_ufunc_head *)self);
        return lw_ufunc_call_device((lw_ufunc_head *)self, args, nargsf, kwnames, NULL);
    }
    if (target == LW_CHOOSE_CUDA)
        return lw_ufunc_call_device((lw_ufunc_head *)self, args, nargsf, kwnames, NULL);
    if ((s.kinds & LW_CALL_KIND_WRAPS) && kwnames == NULL &&
        PyVectorcall_NARGS(nargsf) == self->base.nin)
        return lw_service_call(LW_SERVICE_UFUNC_METHODS, "call_wrapping", (PyObject *)self,
                               args, self->base.nin, NULL);
    return ufunc_call_host((lw_ufunc_head *)self, args, nargsf, kwnames, s.stream);
}

/* NumPy would take the value of such a parameter for an output and write to it. */
static PyObject *
refuse_frozen(const lw_ufunc_object *self)
{
    const lw_fn *fn = &self->base.tree->fns.data[1];

    PyErr_Format(
        PyExc_TypeError,
        "`%s` takes %d operand%s: its parameter `%s` has a default, which is compiled in; "
        "give signatures that count it to make it an operand, and an output as out=",
        self->base.table->name, self->base.nin, self->base.nin == 1 ? "" : "s",
        fn->params.data[self->base.nin].name);
    return NULL;
}

/* The Ufunc of which parameters with defaults are operands too, made by the first call that
 * gives one a value. Borrowed. */
static PyObject *
full_of(lw_ufunc_object *self)
{
    PyObject *bare, *made, *full;

    if (!self->base.lazy)
        return refuse_frozen(self);
    Py_BEGIN_CRITICAL_SECTION((PyObject *)self);
    full = self->full;
    Py_END_CRITICAL_SECTION();
    if (full != NULL)
        return full;
    bare = lw_function_without_defaults(self->base.py_func);
    made = bare ? lw_ufunc_new(Py_TYPE(self),
                               &(lw_request){.function = bare, .keywords = self->base.keywords},
                               NULL)
                : NULL;
    Py_XDECREF(bare);
    Py_BEGIN_CRITICAL_SECTION((PyObject *)self);
    if (made != NULL && self->full == NULL) /* no other thread was faster */
        self->full = Py_NewRef(made);
    full = made ? self->full : NULL;
    Py_END_CRITICAL_SECTION();
    Py_XDECREF(made);
    return full;
}

/* A call with operands by name, or with parameters left to their defaults. false: it is none.
 */
static bool
call_by_names(lw_ufunc_object *self, PyObject *const *args, Py_ssize_t n_args,
              PyObject *kwnames, PyObject **result)
{
    const lw_ufunc_head *head = (lw_ufunc_head *)self;
    int n_params = self->has_frozen ? lw_ufunc_n_named(head) : self->base.nin;
    PyObject *target = (PyObject *)self;
    lw_placed call;

    if (lw_ufunc_names_given(head, n_args, kwnames, n_params) > self->base.nin)
        target = full_of(self);
    else if (lw_ufunc_names_any(head, n_args, kwnames))
        n_params = self->base.nin;
    else
        return false;
    *result = NULL;
    if (target == NULL)
        return true;
    if (lw_ufunc_names_place(head, args, n_args, kwnames, n_params, &call) == 0)
        *result = lw_ufunc_call(target, call.args, (size_t)call.n_args, call.kwnames);
    lw_placed_drop(&call);
    return true;
}

/* ---- casting="no" and "equiv" ---- */

/* The value of a keyword (borrowed), or NULL: not given, or None. */
static PyObject *
keyword_of(PyObject *const *values, PyObject *kwnames, const char *wanted)
{
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(kwnames); i++)
        if (PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(kwnames, i), wanted) == 0)
            return values[i] == Py_None ? NULL : values[i];
    return NULL;
}

static PyObject *
signature_of(PyObject *const *values, PyObject *kwnames)
{
    PyObject *given = keyword_of(values, kwnames, "signature");

    return given ? given : keyword_of(values, kwnames, "sig");
}

/* Whether the call says so. -1: a rule that is none. */
static int
wants_no_casts(PyObject *const *values, PyObject *kwnames)
{
    NPY_CASTING rule = NPY_SAME_KIND_CASTING;
    PyObject *given = keyword_of(values, kwnames, "casting");

    if (given != NULL && !PyArray_CastingConverter(given, &rule))
        return -1;
    return rule <= NPY_EQUIV_CASTING;
}

/* The operand's dtype (new reference), or NULL without an exception: it has none of its own. */
static PyArray_Descr *
strong_descr(PyObject *operand)
{
    PyObject *dtype = PyFloat_CheckExact(operand) || PyLong_CheckExact(operand) ||
                              PyComplex_CheckExact(operand)
                          ? NULL
                          : PyObject_GetAttrString(operand, "dtype");

    PyErr_Clear();
    if (dtype != NULL && !PyArray_DescrCheck(dtype))
        Py_CLEAR(dtype);
    return (PyArray_Descr *)dtype;
}

/* Whether the function of NumPy's that this one stands for takes such operands under a rule: a
 * function of lanewise.ufuncs answers, whose exception is the answer no (-1). */
static int
ask_rules(const lw_ufunc_object *self, PyObject *const *args, Py_ssize_t n_args, PyObject *rule,
          const char *question)
{
    PyObject *given, *answer;

    if (n_args < self->base.nin)
        return 0;
    given = PyTuple_New(self->base.nin);
    if (given == NULL)
        return -1;
    for (int i = 0; i < self->base.nin; i++)
        PyTuple_SET_ITEM(given, i, Py_NewRef(args[i]));
    answer = lw_service_call(LW_SERVICE_UFUNCS, question, self->base.numpys,
                             (PyObject *[]){given, rule}, 2, NULL);
    Py_DECREF(given);
    Py_XDECREF(answer);
    return answer ? 0 : -1;
}

/* Asks with the keywords that say which loop is wanted, as NumPy's resolve_dtypes has them. */
static int
ask_casts(const lw_ufunc_object *self, PyObject *const *args, Py_ssize_t n_args,
          PyObject *kwnames)
{
    PyObject *dtype = keyword_of(args + n_args, kwnames, "dtype");
    PyObject *signature = signature_of(args + n_args, kwnames);
    PyObject *rules = Py_BuildValue("OOO", keyword_of(args + n_args, kwnames, "casting"),
                                    dtype ? dtype : Py_None, signature ? signature : Py_None);
    int result = rules ? ask_rules(self, args, n_args, rules, "_check_casts") : -1;

    Py_XDECREF(rules);
    return result;
}

/* A lazy loop reads each operand in its own dtype, where NumPy's loops cast them to the common
 * one: that would be a cast, so it is refused. Functions that stand for NumPy's refuse what
 * those refuse: `hypot` has loops for integers here, and none in NumPy. -1: exception. */
static int
refuse_casts(const lw_ufunc_object *self, PyObject *const *args, Py_ssize_t n_args,
             PyObject *kwnames)
{
    PyArray_Descr *descrs[LW_MAX_ARGS] = {NULL}, *common;
    int wanted = wants_no_casts(args + n_args, kwnames), n = 0, result = 0;

    if (wanted <= 0)
        return wanted;
    if (self->base.numpys != NULL)
        return ask_casts(self, args, n_args, kwnames);
    if (keyword_of(args + n_args, kwnames, "dtype") || signature_of(args + n_args, kwnames))
        return 0; /* the call has chosen the dtypes */
    for (int i = 0; i < self->base.nin && i < n_args; i++) {
        descrs[n] = strong_descr(args[i]);
        n += descrs[n] != NULL;
    }
    common = n > 1 ? PyArray_ResultType(0, NULL, n, descrs) : NULL;
    for (int i = 0; common != NULL && i < n && result == 0; i++)
        if (descrs[i]->type_num != common->type_num) {
            PyErr_Format(
                PyExc_TypeError,
                "Cannot cast ufunc '%s' input from %.200R to %.200R with casting rule 'no' or "
                "'equiv'",
                self->base.table->name, (PyObject *)descrs[i], (PyObject *)common);
            result = -1;
        }
    for (int i = 0; i < n; i++)
        Py_DECREF(descrs[i]);
    Py_XDECREF(common);
    if (result == 0)
        PyErr_Clear(); /* no common dtype: the call says so */
    return result;
}

/* After refuse_casts: NumPy's ufunc knows whether it would cast, too. */
static PyObject *
refuse_or_ask(lw_ufunc_object *self, PyObject *const *args, Py_ssize_t n_args,
              PyObject *kwnames)
{
    if (self->base.numpys == NULL ||
        (lw_look(args, n_args, kwnames, true).kinds & LW_CALL_KIND_DEVICE))
        return NULL;
    PyErr_Clear();
    return lw_ufunc_ask_numpys(self->base.numpys, "__call__", args, n_args, kwnames);
}

/* With signature= of a function that stands for NumPy's: whether that one has such a loop. Ours
 * would read operands of different dtypes as they are. -1: exception. */
static int
check_signature(const lw_ufunc_object *self, PyObject *const *args, Py_ssize_t n_args,
                PyObject *kwnames)
{
    PyObject *signature = signature_of(args + n_args, kwnames);

    if (signature == NULL)
        return 0;
    return ask_rules(self, args, n_args, signature, "_check_signature");
}

static PyObject *
call(PyObject *object, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    lw_ufunc_object *self = (lw_ufunc_object *)object;
    Py_ssize_t n_args = PyVectorcall_NARGS(nargsf);
    PyObject *result;
    lw_seen s;

    if (self->base.family == NULL && !self->has_frozen &&
        self->base.options.target != LW_CHOOSE_CUDA && !lw_on_python() &&
        lw_ufunc_call_direct(self, args, n_args, kwnames, &result))
        return result;
    if (lw_recall_any((lw_ufunc_head *)self) && !self->has_frozen &&
        lw_recall_call((lw_ufunc_head *)self, args, n_args, kwnames, &result))
        return result;
    if (self->base.family != NULL
            ? lw_family_brings_objects((lw_ufunc_head *)self, args, n_args, kwnames)
            : lw_brings_objects((lw_compiled *)self, args, n_args) ||
                  lw_names_objects((lw_compiled *)self, args + n_args, kwnames))
        return lw_call_of_objects("vectorize", object, args, n_args, kwnames);
    if (self->base.family != NULL)
        return lw_family_call((lw_ufunc_head *)self, args, n_args, kwnames);
    if ((n_args < self->base.nin || self->has_frozen) &&
        call_by_names(self, args, n_args, kwnames, &result))
        return result;
    s = lw_look(args, n_args, kwnames, true);
    if ((s.kinds & LW_CALL_KIND_SUBCLASS) && refuse_masks(args, n_args, kwnames) < 0)
        return NULL;
    s.kinds &= ~LW_CALL_KIND_SUBCLASS;
    if (kwnames != NULL && (self->base.numpys != NULL || (self->base.lazy && !self->mixes)) &&
        !(s.kinds & LW_CALL_KIND_OTHER) && refuse_casts(self, args, n_args, kwnames) < 0)
        return refuse_or_ask(self, args, n_args, kwnames);
    if (kwnames != NULL && self->base.numpys != NULL &&
        check_signature(self, args, n_args, kwnames) < 0)
        return NULL;
    if (s.kinds == LW_CALL_KIND_PLAIN && self->base.options.target != LW_CHOOSE_CUDA &&
        !lw_on_python() && lw_ufunc_call_walk(self, args, n_args, kwnames, &result))
        return result;
    if (s.kinds == LW_CALL_KIND_PLAIN && self->base.options.target != LW_CHOOSE_CUDA)
        return ufunc_call_host((lw_ufunc_head *)self, args, nargsf, kwnames, s.stream);
    return call_sorted(self, args, nargsf, kwnames, s);
}

/* ---- the vectorcall ---- */

static PyObject *
call_renewed(lw_ufunc_object *self, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    PyObject *renewed = lw_ufunc_stale((lw_ufunc_head *)self), *result = NULL;

    if (renewed != NULL)
        result = call(renewed, args, nargsf, kwnames);
    Py_XDECREF(renewed);
    return result;
}

PyObject *
lw_ufunc_call(PyObject *object, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    lw_ufunc_object *self = (lw_ufunc_object *)object;
    Py_ssize_t n_args = PyVectorcall_NARGS(nargsf);
    PyObject *result;

    if (lw_calls_go_round() &&
        lw_went_round(&(lw_entry_call){"vectorize", lw_ufunc_call, (lw_compiled *)object,
                                       object, args, nargsf, kwnames},
                      &result))
        return result;
    if (atomic_load_explicit(&self->base.objects, memory_order_relaxed))
        return lw_call_of_objects("vectorize", object, args, n_args, kwnames);
    result = lw_ufunc_is_stale((lw_ufunc_head *)self)
                 ? call_renewed(self, args, nargsf, kwnames)
                 : call(object, args, nargsf, kwnames);
    if (result == NULL && lw_gives_objects((lw_compiled *)self))
        return lw_call_of_objects("vectorize", object, args, n_args, kwnames);
    if (result == NULL && self->base.numpys != NULL)
        result = lw_ufunc_numpys_answer((lw_ufunc_head *)self, "__call__", args,
                                        PyVectorcall_NARGS(nargsf), kwnames);
    if (result != NULL || !PyErr_ExceptionMatches(PyExc_OverflowError))
        return result;
    return lw_ufunc_call_beyond(self, args, n_args, kwnames, call);
}

/* ---- methods ---- */

/* Borrowed: that of lanewise/_ufunc_methods.py, kept after the first time. */
static PyObject *
device_method(lw_ufunc_method id)
{
    lw_found *place = &lw_core->found.ufunc_methods[id];
    PyObject *found = lw_found_get(place);

    _Static_assert((int)LW_N_METHODS == LW_STATE_UFUNC_METHODS, "a place for each");
    if (found != NULL)
        return found;
    return lw_found_set(place,
                        lw_service_find(LW_SERVICE_UFUNC_METHODS, lw_ufunc_method_names[id]));
}

/* By a Reduction, or a kernel that folds. */
static PyObject *
call_device_method(lw_ufunc_object *self, lw_ufunc_method id, PyObject *const *args,
                   Py_ssize_t n_args, PyObject *kwnames)
{
    Py_ssize_t n = n_args + (kwnames ? PyTuple_GET_SIZE(kwnames) : 0);
    PyObject *function = device_method(id), *result, **all;

    if (function == NULL)
        return NULL;
    all = PyMem_New(PyObject *, n + 1);
    if (all == NULL)
        return PyErr_NoMemory();
    all[0] = (PyObject *)self;
    memcpy(all + 1, args, (size_t)n * sizeof *all);
    result = PyObject_Vectorcall(function, all, (size_t)n_args + 1, kwnames);
    PyMem_Free(all);
    return result;
}

static PyObject *
call_bound(lw_ufunc_object *self, lw_ufunc_method id, PyObject *bound, PyObject *const *args,
           Py_ssize_t n_args, PyObject *kwnames)
{
    if (id <= LW_METHOD_reduceat)
        return lw_ufunc_call_reduction(self, id, bound, args, n_args, kwnames);
    return PyObject_Vectorcall(bound, args, (size_t)n_args, kwnames);
}

/* A new reference: add() in another thread may replace it. */
static PyObject *
bound_method(lw_ufunc_object *self, lw_ufunc_method id)
{
    PyObject *bound;

    Py_BEGIN_CRITICAL_SECTION((PyObject *)self);
    if (self->base.bound[id] == NULL)
        self->base.bound[id] = PyObject_GetAttrString(lw_inner_now((lw_ufunc_head *)self),
                                                      lw_ufunc_method_names[id]);
    bound = Py_XNewRef(self->base.bound[id]);
    Py_END_CRITICAL_SECTION();
    return bound;
}

static PyObject *
forward(lw_ufunc_object *self, lw_ufunc_method id, PyObject *const *args, Py_ssize_t n_args,
        PyObject *kwnames)
{
    uint32_t n_given = lw_inner_n_given((lw_ufunc_head *)self);
    PyObject *bound = bound_method(self, id), *result;

    if (bound == NULL)
        return NULL;
    result = call_bound(self, id, bound, args, n_args, kwnames);
    if (result == NULL && lw_inner_should_ask_again((lw_ufunc_head *)self, n_given))
        result = call_bound(self, id, bound, args, n_args, kwnames);
    Py_DECREF(bound);
    return result;
}

static PyObject *
refuse_objects(lw_ufunc_object *self, lw_ufunc_method id)
{
    PyObject *name = PyUnicode_FromString(lw_ufunc_method_names[id]);
    PyObject *result =
        name ? lw_call_of_objects("refuse_method", (PyObject *)self, &name, 1, NULL) : NULL;

    Py_XDECREF(name);
    return result;
}

/* NumPy's where this stands for a ufunc of NumPy: loops of ours read each operand in its own
 * dtype, which NumPy would cast. */
static PyObject *
resolve_dtypes(lw_ufunc_object *self, PyObject *const *args, Py_ssize_t n_args,
               PyObject *kwnames)
{
    if (self->base.numpys == NULL)
        return forward(self, LW_METHOD_resolve_dtypes, args, n_args, kwnames);
    return lw_ufunc_ask_numpys(self->base.numpys, "resolve_dtypes", args, n_args, kwnames);
}

/* Of a method that makes one result of several elements: NumPy's would take the masked ones for
 * elements, and say that nothing is masked. */
static int
refuse_masked(const lw_ufunc_object *self, lw_ufunc_method id, PyObject *const *args,
              Py_ssize_t n_args)
{
    Py_ssize_t n = id == LW_METHOD_at ? n_args : 1;

    for (Py_ssize_t i = 0; id != LW_METHOD_outer && i < n && i < n_args; i++) {
        int masked = !PyArray_Check(args[i]) || PyArray_CheckExact(args[i])
                         ? 0
                         : lw_is_masked_array(args[i]);
        if (masked > 0)
            PyErr_Format(
                PyExc_TypeError,
                "%s.%s: argument %zd is a masked array, whose mask compiled code would "
                "ignore; pass its .data, %s",
                self->base.table->name, lw_ufunc_method_names[id], i + 1,
                id == LW_METHOD_reduce ? "and where=~x.mask" : "or x.filled(value)");
        if (masked)
            return -1;
    }
    return 0;
}

/* The methods of device arrays that have stream=, as lw_host_call has them. */
#define ON_HOST(name)                                                                          \
    static PyObject *name##_on_host(lw_ufunc_head *self, PyObject *const *args, size_t nargsf, \
                                    PyObject *kwnames)                                         \
    {                                                                                          \
        return forward((lw_ufunc_object *)self, LW_METHOD_##name, args,                        \
                       PyVectorcall_NARGS(nargsf), kwnames);                                   \
    }
ON_HOST(reduce)
ON_HOST(accumulate)
ON_HOST(reduceat)
#undef ON_HOST

static PyObject *
forward_without_stream(lw_ufunc_object *self, lw_ufunc_method id, PyObject *const *args,
                       Py_ssize_t n_args, PyObject *kwnames, Py_ssize_t stream)
{
    static const lw_host_call calls[LW_N_METHODS] = {[LW_METHOD_reduce] = reduce_on_host,
                                                     [LW_METHOD_accumulate] =
                                                         accumulate_on_host,
                                                     [LW_METHOD_reduceat] = reduceat_on_host};

    if (stream < 0 || calls[id] == NULL)
        return forward(self, id, args, n_args, kwnames);
    return lw_call_without_stream((lw_ufunc_head *)self, args, n_args, kwnames, stream,
                                  calls[id]);
}

/* Whether NumPy's ufunc computes the reduction: of times, where a dtype or an output is given.
 * NumPy ignores dtype=float for sums of times and refuses it for products; its loops are not
 * asked for in a way that a promoter of ours would see. */
static bool
is_left_to_numpy(const lw_ufunc_object *self, lw_ufunc_method id, PyObject *const *args,
                 Py_ssize_t n_args, PyObject *kwnames)
{
    Py_ssize_t n_plain = id == LW_METHOD_reduceat ? 3 : 2; /* before dtype and out */

    if (self->base.numpys == NULL || id > LW_METHOD_reduceat || n_args < 1 ||
        !PyArray_Check(args[0]) ||
        !PyTypeNum_ISDATETIME(PyArray_TYPE((PyArrayObject *)args[0])))
        return false;
    return n_args > n_plain || (kwnames && (keyword_of(args + n_args, kwnames, "dtype") ||
                                            keyword_of(args + n_args, kwnames, "out")));
}

/* NumPy's outer is a call of the ufunc with A in front of B's dimensions. Long ones are calls
 * of ours, which all cores share. */
static bool
is_long_outer(const lw_ufunc_object *self, lw_ufunc_method id, PyObject *const *args,
              Py_ssize_t n_args)
{
    enum { LONG = 2048 };

    return id == LW_METHOD_outer && self->base.nin == 2 && n_args == 2 &&
           PyArray_CheckExact(args[0]) && PyArray_CheckExact(args[1]) &&
           PyArray_NDIM((PyArrayObject *)args[0]) + PyArray_NDIM((PyArrayObject *)args[1]) <=
               NPY_MAXDIMS &&
           (double)PyArray_SIZE((PyArrayObject *)args[0]) *
                   (double)PyArray_SIZE((PyArrayObject *)args[1]) >=
               LONG;
}

static PyObject *
call_outer(lw_ufunc_object *self, PyObject *const *args, PyObject *kwnames)
{
    Py_ssize_t n = 2 + (kwnames ? PyTuple_GET_SIZE(kwnames) : 0);
    PyArrayObject *a = (PyArrayObject *)args[0], *b = (PyArrayObject *)args[1];
    npy_intp shape[NPY_MAXDIMS];
    PyArray_Dims dims = {shape, PyArray_NDIM(a) + PyArray_NDIM(b)};
    PyObject *all[LW_PLACED_MAX + 2], *result;

    for (int d = 0; d < dims.len; d++)
        shape[d] = d < PyArray_NDIM(a) ? PyArray_DIM(a, d) : 1;
    memcpy(all, args, (size_t)n * sizeof *all);
    all[0] = PyArray_Newshape(a, &dims, NPY_CORDER);
    if (all[0] == NULL)
        return NULL;
    result = call((PyObject *)self, all, 2, kwnames);
    Py_DECREF(all[0]);
    return result;
}

static PyObject *
call_method(lw_ufunc_object *self, lw_ufunc_method id, PyObject *const *args, Py_ssize_t n_args,
            PyObject *kwnames)
{
    PyObject *result;
    lw_seen s;

    if (id == LW_METHOD_resolve_dtypes)
        return resolve_dtypes(self, args, n_args, kwnames);
    if (lw_brings_objects((lw_compiled *)self, args, n_args))
        return refuse_objects(self, id);
    if (refuse_masked(self, id, args, n_args) < 0)
        return NULL;
    s = lw_look(args, n_args, kwnames, true);
    if ((s.kinds & LW_CALL_KIND_SUBCLASS) && refuse_masks(args, n_args, kwnames) < 0)
        return NULL;
    if ((s.kinds & LW_CALL_KIND_OTHER) &&
        ask_overrides(self, lw_ufunc_method_names[id], args, n_args, kwnames, self->base.nin,
                      &result))
        return result;
    if (s.kinds & LW_CALL_KIND_DEVICE)
        return self->base.options.target == LW_CHOOSE_CPU
                   ? lw_refuse_device((lw_ufunc_head *)self)
                   : call_device_method(self, id, args, n_args, kwnames);
    if (s.stream < 0 && is_left_to_numpy(self, id, args, n_args, kwnames))
        return lw_ufunc_ask_numpys(self->base.numpys, lw_ufunc_method_names[id], args, n_args,
                                   kwnames);
    lw_host_call_begin(self->base.table);
    if (s.kinds == LW_CALL_KIND_PLAIN && s.stream < 0 &&
        is_long_outer(self, id, args, n_args) &&
        (kwnames == NULL || PyTuple_GET_SIZE(kwnames) <= LW_PLACED_MAX))
        return call_outer(self, args, kwnames);
    return forward_without_stream(self, id, args, n_args, kwnames, s.stream);
}

PyObject *
lw_ufunc_call_method(lw_ufunc_head *head, lw_ufunc_method id, PyObject *const *args,
                     Py_ssize_t n_args, PyObject *kwnames)
{
    PyObject *current = lw_ufunc_current((PyObject *)head), *result = NULL;

    if (current != NULL)
        result = call_method((lw_ufunc_object *)current, id, args, n_args, kwnames);
    Py_XDECREF(current);
    if (result == NULL && head->numpys != NULL)
        result = lw_ufunc_numpys_answer(head, lw_ufunc_method_names[id], args, n_args, kwnames);
    return result;
}

/* ---- what families ask of this door ---- */

static PyObject *
family_new_member(lw_ufunc_head *self, PyObject *function, PyObject *signatures,
                  PyObject *options, lw_member *member)
{
    return lw_ufunc_new(
        Py_TYPE(self),
        &(lw_request){.function = function, .signatures = signatures, .keywords = options},
        member);
}

const lw_family_door lw_ufunc_family_door = {
    .name = "vectorize",
    .most_inputs = LW_MAX_ARGS,
    .guards = true,
    .new_member = family_new_member,
    .ask = ufunc_ask,
    .call_host = ufunc_call_host,
};

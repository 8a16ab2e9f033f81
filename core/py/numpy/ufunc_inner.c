#include "core/py/numpy/ufunc_inner.h"

#include "core/front/read/services.h"
#include "core/plan/loop.h"
#include "core/py/numpy/loop_rows.h"
#include "core/py/numpy/numpy_rules.h"
#include "core/py/numpy/ufunc_choose.h"
#include "core/py/numpy/ufunc_names.h"
#include "core/py/type_num.h"

#include <stdatomic.h>
#include <string.h>

/* ---- dtypes ---- */

PyArray_DTypeMeta *
lw_dtype_class(lw_dtype dtype)
{
    PyArray_Descr *descr = PyArray_DescrFromType(lw_type_num(dtype));
    PyArray_DTypeMeta *class = NPY_DTYPE(descr);

    Py_DECREF(descr); /* NumPy's own classes and their singletons stay */
    return class;
}

bool
lw_numpy_knows(const lw_dtype *types, int n)
{
    for (int i = 0; i < n; i++)
        if (lw_type_num(types[i]) < 0)
            return false;
    return true;
}

bool
lw_types_go_before(const lw_dtype *a, const lw_dtype *b, int nin)
{
    for (int i = 0; i < nin; i++)
        if (a[i] != b[i])
            return a[i] < b[i];
    return false;
}

/* ---- what NumPy asks the promoter ---- */

static char
weak_kind(const PyArray_DTypeMeta *dtype)
{
    if (dtype == &PyArray_PyLongDType)
        return 'i';
    if (dtype == &PyArray_PyFloatDType)
        return 'f';
    return dtype == &PyArray_PyComplexDType ? 'c' : 0;
}

static bool
describe_operand(lw_wanted *wanted, int i, const PyArray_DTypeMeta *dtype, bool fixed)
{
    wanted->weak[i] = weak_kind(dtype);
    wanted->fixed[i] = fixed;
    wanted->in[i] = wanted->weak[i] ? LW_DT_void : lw_dtype_of_class(dtype);
    wanted->foreign[i] = !wanted->weak[i] && wanted->in[i] == LW_DT_void;
    return !wanted->foreign[i] || !fixed;
}

/* False: NumPy has an operand here that none of our loops can take. */
static bool
describe(const PyUFuncObject *ufunc, PyArray_DTypeMeta *const given[],
         PyArray_DTypeMeta *const signature[], lw_wanted *wanted)
{
    bool reduces = ufunc->nin == 2 && ufunc->core_signature == NULL;
    bool any_foreign = false, out_wanted = false;

    memset(wanted, 0, sizeof *wanted);
    for (int i = 0; i < ufunc->nin; i++) {
        const PyArray_DTypeMeta *dtype = given[i];
        if (dtype == NULL && i == 0 && reduces) { /* the accumulator */
            wanted->reduction = true;
            dtype = given[1];
        }
        if (dtype == NULL || !describe_operand(wanted, i, dtype, signature[i] != NULL))
            return false;
        any_foreign |= wanted->foreign[i];
    }
    for (int i = ufunc->nin; i < ufunc->nargs; i++)
        if (signature[i] != NULL && !lw_class_is_time(signature[i])) {
            wanted->out[i - ufunc->nin] = lw_dtype_from_any_num(signature[i]->type_num);
            if (wanted->out[i - ufunc->nin] == LW_DT_void)
                return false;
            out_wanted = true;
        }
    return !any_foreign || out_wanted; /* dtype= alone leads from there to a loop */
}

/* ---- the owner ---- */

lw_ufunc_head *
lw_inner_owner_or_null(const lw_loop_table *table)
{
    lw_ufunc_head *owner = atomic_load_explicit(&table->owner, memory_order_acquire);
    PyObject *object = (PyObject *)owner;

    if (owner == NULL)
        return NULL;
#ifdef Py_GIL_DISABLED
    if (PyWeakref_GetRef(table->owner_ref, &object) < 0)
        PyErr_Clear();
#else
    Py_INCREF(object);
#endif
    return (lw_ufunc_head *)object;
}

lw_ufunc_head *
lw_inner_owner(const lw_loop_table *table)
{
    lw_ufunc_head *owner = lw_inner_owner_or_null(table);

    if (owner == NULL)
        PyErr_Format(PyExc_ReferenceError, "the lanewise.%s of this loop is gone",
                     table->numpy_layout ? "Gufunc" : "Ufunc");
    return owner;
}

/* ---- the promoter ---- */

/* The loop for a call, which this numpy.ufunc has from now on. */
static void *
choose(lw_ufunc_head *owner, PyObject *ufunc, const lw_wanted *wanted)
{
    bool by_class = lw_types_have_time(wanted->in, owner->nin);
    void *loop = !by_class     ? lw_loops_choose(owner, wanted)
                 : owner->lazy ? lw_times_typed(owner, wanted)
                               : lw_times_declared(owner, wanted);

    return loop != NULL && lw_table_give(owner, ufunc, loop) < 0 ? NULL : loop;
}

/* The class that the call names for a type, if it is not the usual one: C has two integer types
 * of 64 bits, and NumPy has a class for each. */
static PyArray_DTypeMeta *
class_for(lw_dtype type, PyArray_DTypeMeta *named)
{
    return named != NULL && !lw_class_is_time(named) &&
                   lw_dtype_from_any_num(named->type_num) == type
               ? named
               : lw_dtype_class(type);
}

static int
promote_for(lw_ufunc_head *owner, PyObject *ufunc, const lw_wanted *wanted,
            PyArray_DTypeMeta *const signature[], PyArray_DTypeMeta *chosen[])
{
    int n = ((PyUFuncObject *)ufunc)->nargs;
    void *loop = choose(owner, ufunc, wanted);
    const lw_dtype *types = loop ? ((const lw_loop_head *)loop)->types : NULL;
    bool others = false;

    if (types == NULL || !lw_numpy_knows(types, n))
        return -1;
    for (int i = 0; i < n; i++) {
        chosen[i] = class_for(types[i], signature[i]);
        others |= chosen[i] != lw_dtype_class(types[i]);
    }
    if (others && lw_table_give_as(owner, ufunc, loop, chosen) < 0)
        return -1;
    for (int i = 0; i < n; i++)
        Py_INCREF((PyObject *)chosen[i]);
    return 0;
}

/* What a dtype class of NumPy's own stands for in resolve_dtypes: a new reference. */
static PyObject *
shown_dtype(const PyArray_DTypeMeta *dtype)
{
    if (dtype == NULL)
        return Py_NewRef(Py_None);
    switch (weak_kind(dtype)) {
    case 'i': return Py_NewRef((PyObject *)&PyLong_Type);
    case 'f': return Py_NewRef((PyObject *)&PyFloat_Type);
    case 'c': return Py_NewRef((PyObject *)&PyComplex_Type);
    default: return (PyObject *)PyArray_DescrFromType(dtype->type_num);
    }
}

/* A reduction whose out= has said the accumulator's dtype: NumPy is asked in other words then.
 */
static bool
is_into_given(const lw_ufunc_head *owner, PyArray_DTypeMeta *const given[],
              PyArray_DTypeMeta *const signature[])
{
    return owner->nin == 2 && owner->nout == 1 && signature[0] != NULL &&
           signature[0] == given[0] && signature[1] == NULL && signature[2] == signature[0];
}

static bool
is_numpys_own(const PyArray_DTypeMeta *dtype)
{
    return dtype == NULL || weak_kind(dtype) || dtype->type_num < NPY_NTYPES_LEGACY;
}

/* Whether the numpy.ufunc that it stands for has a loop for these: our functions are compiled
 * for more dtypes. False with NumPy's exception. */
static bool
numpy_has_it(const lw_ufunc_head *owner, PyArray_DTypeMeta *const given[],
             PyArray_DTypeMeta *const signature[])
{
    int nargs = owner->nin + owner->nout;
    PyObject *dtypes = PyTuple_New(nargs), *fixed = PyTuple_New(nargs), *known = NULL;
    PyObject *method = NULL, *args = NULL, *kwargs = NULL;
    bool own = !is_into_given(owner, given, signature), any_fixed = false;

    for (int i = 0; dtypes != NULL && fixed != NULL && i < nargs; i++) {
        PyArray_DTypeMeta *operand = i < owner->nin ? given[i] : NULL;
        own &= is_numpys_own(operand) && is_numpys_own(signature[i]);
        any_fixed |= signature[i] != NULL;
        PyTuple_SET_ITEM(dtypes, i, shown_dtype(own ? operand : NULL));
        PyTuple_SET_ITEM(fixed, i,
                         Py_NewRef(signature[i] ? (PyObject *)signature[i] : Py_None));
    }
    if (dtypes != NULL && fixed != NULL && own) {
        method = PyObject_GetAttrString(owner->numpys, "resolve_dtypes");
        args = PyTuple_Pack(1, dtypes);
        kwargs = Py_BuildValue("{s:O,s:s}", "reduction", given[0] == NULL ? Py_True : Py_False,
                               "casting", "unsafe");
        if (kwargs != NULL && any_fixed && PyDict_SetItemString(kwargs, "signature", fixed) < 0)
            Py_CLEAR(kwargs);
    }
    if (method != NULL && args != NULL && kwargs != NULL)
        known = PyObject_Call(method, args, kwargs);
    Py_XDECREF(method);
    Py_XDECREF(args);
    Py_XDECREF(kwargs);
    Py_XDECREF(dtypes);
    Py_XDECREF(fixed);
    Py_XDECREF(known);
    return known != NULL || !own;
}

static int
promote(PyObject *ufunc, PyArray_DTypeMeta *const given[], PyArray_DTypeMeta *const signature[],
        PyArray_DTypeMeta *chosen[])
{
    const PyUFuncObject *inner = (PyUFuncObject *)ufunc;
    lw_ufunc_head *owner = lw_inner_owner((const void *)inner->data);
    lw_wanted wanted;
    int result = -1;

    if (owner != NULL && describe(inner, given, signature, &wanted) &&
        (owner->numpys == NULL || numpy_has_it(owner, given, signature)))
        result = promote_for(owner, ufunc, &wanted, signature, chosen);
    Py_XDECREF((PyObject *)owner);
    return result;
}

static int
add_promoter(PyObject *inner, int nargs)
{
    PyObject *any = PyTuple_New(nargs), *capsule = NULL;
    int result = -1;

    for (int i = 0; any != NULL && i < nargs; i++)
        PyTuple_SET_ITEM(any, i, Py_NewRef(Py_None));
    if (any != NULL)
        capsule = PyCapsule_New((void *)promote, "numpy._ufunc_promoter", NULL);
    if (capsule != NULL)
        result = PyUFunc_AddPromoter(inner, any, capsule);
    Py_XDECREF(capsule);
    Py_XDECREF(any);
    return result;
}

/* ---- making it ---- */

static void
drop_capsule(PyObject *capsule)
{
    lw_table_drop(PyCapsule_GetPointer(capsule, "lanewise.table"));
}

static PyObject *
new_without_loops(const lw_ufunc_head *self)
{
    lw_loop_table *table = self->table;
    int kind = PyUFunc_IdentityValue;

    if (self->identity == Py_None)
        kind = PyUFunc_None;
    else if (PyUnicode_Check(self->identity))
        kind = PyUFunc_ReorderableNone;
    return PyUFunc_FromFuncAndDataAndSignatureAndIdentity(
        NULL, (void *const *)table, NULL, 0, self->nin, self->nout, kind, table->numpy_name,
        table->doc, 0, table->numpy_layout,
        kind == PyUFunc_IdentityValue ? self->identity : NULL);
}

PyObject *
lw_inner_new(lw_ufunc_head *self)
{
    PyObject *inner = new_without_loops(self), *capsule;

    if (inner == NULL)
        return NULL;
    capsule = PyCapsule_New(self->table, "lanewise.table", drop_capsule);
    if (capsule == NULL)
        goto fail;
    self->table->references++;
    ((PyUFuncObject *)inner)->obj = capsule; /* released with the numpy.ufunc */
    if (self->kind->prepare_inner != NULL)
        self->kind->prepare_inner(self, inner);
    if (add_promoter(inner, self->nin + self->nout) < 0 || lw_table_give_all(self, inner) < 0)
        goto fail;
    return inner;
fail:
    Py_DECREF(inner);
    return NULL;
}

int
lw_inner_make(lw_ufunc_head *self)
{
    PyObject *inner = lw_inner_new(self);

    atomic_init(&self->inner, inner);
    return inner ? 0 : -1;
}

/* ---- calls ---- */

PyObject *
lw_inner_now(const lw_ufunc_head *self)
{
    return atomic_load_explicit(&self->inner, memory_order_acquire);
}

int
lw_inner_replace(lw_ufunc_head *self, PyObject *inner)
{
    PyObject *before = lw_inner_now(self);

#ifdef Py_GIL_DISABLED /* another thread may have read it, and not yet taken a reference */
    if (self->retired == NULL)
        self->retired = PyList_New(0);
    if (self->retired == NULL || PyList_Append(self->retired, before) < 0) {
        Py_DECREF(inner);
        return -1;
    }
#endif
    atomic_store_explicit(&self->inner, inner, memory_order_release);
    Py_DECREF(before);
    return 0;
}

uint32_t
lw_inner_n_given(const lw_ufunc_head *self)
{
    return atomic_load_explicit(&self->n_given, memory_order_relaxed);
}

bool
lw_inner_should_ask_again(const lw_ufunc_head *self, uint32_t n_given_before)
{
    PyObject *type = PyErr_Occurred(); /* borrowed */

    if (lw_inner_n_given(self) == n_given_before ||
        strstr(((PyTypeObject *)type)->tp_name, "UFuncTypeError") == NULL)
        return false;
    PyErr_Clear();
    return true;
}

/* Where NumPy has found no loop: the same exception, which names the argument it is about. And
 * an OverflowError about an argument, which NumPy does not name. */
static void
explain(const lw_ufunc_head *self, PyObject *const *args, Py_ssize_t n_args)
{
    PyObject *type = PyErr_Occurred(), *value, *trace, *all, *found = NULL; /* borrowed */

    if (strstr(((PyTypeObject *)type)->tp_name, "UFuncTypeError") == NULL &&
        type != PyExc_OverflowError)
        return;
    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    all = PyTuple_New(n_args);
    for (Py_ssize_t i = 0; all != NULL && i < n_args; i++)
        PyTuple_SET_ITEM(all, i, Py_NewRef(args[i]));
    if (all != NULL)
        found = lw_service_call(LW_SERVICE_OPERANDS, "explained", (PyObject *)self,
                                (PyObject *[]){value, all}, 2, NULL);
    PyErr_Clear(); /* NumPy's words, where ours could not be made */
    Py_XDECREF(all);
    if (found == NULL) {
        PyErr_Restore(type, value, trace);
        return;
    }
    PyErr_SetObject((PyObject *)Py_TYPE(found), found);
    Py_DECREF(found);
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(trace);
}

/* The keyword that neither NumPy nor the function has, borrowed: one of no ufunc, which is the
 * cause of NumPy's TypeError also where that counts the positional arguments, or the one that
 * the TypeError names. NULL: it is about another thing. */
static PyObject *
unknown_keyword(PyObject *problem, PyObject *kwnames)
{
    PyObject *said, *found = NULL;
    const char *text, *quoted;

    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(kwnames); i++)
        if (!lw_ufunc_names_keyword(PyTuple_GET_ITEM(kwnames, i)))
            return PyTuple_GET_ITEM(kwnames, i);
    said = PyObject_Str(problem);
    text = said ? PyUnicode_AsUTF8(said) : NULL;
    quoted = text ? strstr(text, "got an unexpected keyword argument '") : NULL;
    quoted = quoted ? strchr(quoted, '\'') + 1 : NULL;
    for (Py_ssize_t i = 0; quoted != NULL && i < PyTuple_GET_SIZE(kwnames); i++) {
        PyObject *name = PyTuple_GET_ITEM(kwnames, i);
        const char *word = PyUnicode_AsUTF8(name);
        size_t n = word ? strlen(word) : 0;

        if (n > 0 && strncmp(quoted, word, n) == 0 && strcmp(quoted + n, "'") == 0)
            found = name;
    }
    PyErr_Clear();
    Py_XDECREF(said);
    return found;
}

/* NumPy does not say which keyword or parameter may have been meant. */
static void
explain_keyword(const lw_ufunc_head *self, PyObject *kwnames)
{
    PyObject *type, *value, *trace, *name;

    if (kwnames == NULL || PyErr_Occurred() != PyExc_TypeError)
        return;
    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    name = value ? unknown_keyword(value, kwnames) : NULL;
    if (name == NULL) {
        PyErr_Restore(type, value, trace);
        return;
    }
    (void)lw_ufunc_names_refuse(self, name);
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(trace);
}

/* A Python number, the only operand, in the dtype of the signature that takes it. NULL without
 * an exception: no signature does, or it is not needed. */
static PyObject *
number_of_signature(lw_ufunc_head *self, PyObject *number)
{
    char weak = lw_weak_kind(number);
    const lw_loop_head *loop = weak ? lw_loops_of_numbers(self, &weak) : NULL;

    return loop && lw_numpy_knows(loop->types, 1) ? lw_number_in(number, loop->types[0]) : NULL;
}

/* NumPy lets Python numbers take the dtype of a signature if there are several operands, and
 * takes the only operand for an int64 or float64. Here it takes the signature's dtype, too,
 * where no loop takes those. */
static PyObject *
call_with(PyObject *inner, PyObject *number, PyObject *const *args, size_t nargsf,
          PyObject *kwnames)
{
    Py_ssize_t n = PyVectorcall_NARGS(nargsf) + (kwnames ? PyTuple_GET_SIZE(kwnames) : 0);
    PyObject *values[LW_PLACED_MAX];

    memcpy(values, args, (size_t)n * sizeof *values);
    values[0] = number;
    return PyObject_Vectorcall(inner, values, (size_t)PyVectorcall_NARGS(nargsf), kwnames);
}

/* After a call without a loop, whose keywords may have chosen one. NULL with the exception. */
static PyObject *
call_with_number(lw_ufunc_head *self, PyObject *inner, PyObject *const *args, size_t nargsf,
                 PyObject *kwnames)
{
    Py_ssize_t n = PyVectorcall_NARGS(nargsf) + (kwnames ? PyTuple_GET_SIZE(kwnames) : 0);
    PyObject *number, *result, *type, *value, *trace;

    if (self->nin != 1 || PyVectorcall_NARGS(nargsf) < 1 || n > LW_PLACED_MAX ||
        !PyErr_ExceptionMatches(PyExc_TypeError))
        return NULL;
    PyErr_Fetch(&type, &value, &trace);
    number = number_of_signature(self, args[0]);
    if (number == NULL && !PyErr_Occurred()) {
        PyErr_Restore(type, value, trace);
        return NULL;
    }
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(trace);
    if (number == NULL)
        return NULL;
    result = call_with(inner, number, args, nargsf, kwnames);
    Py_DECREF(number);
    return result;
}

/* Whether number_of_signature can be asked before the call, which saves an exception: nothing
 * else chooses a loop, and NumPy takes the number for the dtype that it is by itself. */
static bool
is_lone_number(const lw_ufunc_head *self, PyObject *const *args, size_t nargsf,
               PyObject *kwnames)
{
    Py_ssize_t n_args = PyVectorcall_NARGS(nargsf);
    int overflow = 0;
    lw_dtype own;

    if (self->nin != 1 || self->lazy || kwnames != NULL || n_args < 1 || n_args > LW_PLACED_MAX)
        return false;
    if (PyLong_CheckExact(args[0]))
        PyLong_AsLongLongAndOverflow(args[0], &overflow);
    else if (!PyFloat_CheckExact(args[0]))
        return false;
    own = PyFloat_CheckExact(args[0]) ? LW_DT_f64 : LW_DT_i64;
    return !overflow && lw_rows_find(self, &own) == NULL;
}

static PyObject *
call_inner(lw_ufunc_head *self, PyObject *inner, PyObject *const *args, size_t nargsf,
           PyObject *kwnames)
{
    PyObject *number =
        is_lone_number(self, args, nargsf, kwnames) ? number_of_signature(self, args[0]) : NULL;
    uint32_t n_given = lw_inner_n_given(self);
    PyObject *result;

    if (number != NULL) {
        result = call_with(inner, number, args, nargsf, kwnames);
        Py_DECREF(number);
        return result;
    }
    if (PyErr_Occurred())
        return NULL;
    result = PyObject_Vectorcall(inner, args, nargsf, kwnames);
    if (result == NULL && lw_inner_should_ask_again(self, n_given))
        result = PyObject_Vectorcall(inner, args, nargsf, kwnames);
    return result ? result : call_with_number(self, inner, args, nargsf, kwnames);
}

PyObject *
lw_inner_call(lw_ufunc_head *self, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    PyObject *inner = Py_NewRef(lw_inner_now(self)); /* self may go in the middle of a call */
    PyObject *result = call_inner(self, inner, args, nargsf, kwnames);

    Py_DECREF(inner);
    if (result == NULL) {
        explain(self, args, PyVectorcall_NARGS(nargsf));
        explain_keyword(self, kwnames);
        lw_times_explain(self, args, PyVectorcall_NARGS(nargsf));
    }
    return result;
}

/* Choosing a loop: docs/typing.md, "Choice", as the vectorize door does. Exact dtypes first;
 * with signatures the narrowest that takes the inputs safely; without, one made for them. */
#include "gufunc/gufunc_parts_py.h"

#include "core/py/numpy_rules.h"
#include "core/py/raise.h"

#include <string.h>

/* ---- failures, remembered ---- */

/* The same exception without traceback: what is remembered keeps no frames alive. */
static PyObject *
copy_of_exception(PyObject *value)
{
    PyObject *args = PyObject_GetAttrString(value, "args");
    PyObject *from = args ? PyObject_GetAttrString(value, "__dict__") : NULL;
    PyObject *copy = from ? PyObject_CallObject((PyObject *)Py_TYPE(value), args) : NULL;
    PyObject *to = copy ? PyObject_GetAttrString(copy, "__dict__") : NULL;

    if (to == NULL || PyDict_Update(to, from) < 0)
        Py_CLEAR(copy);
    Py_XDECREF(args);
    Py_XDECREF(from);
    Py_XDECREF(to);
    return copy;
}

static PyObject *
key_of(const lw_gufunc_object *self, const lw_dtype *in)
{
    char text[LW_MAX_OPERANDS];

    for (int i = 0; i < self->base.nin; i++)
        text[i] = (char)in[i];
    return PyBytes_FromStringAndSize(text, self->base.nin);
}

static void
remember_failure(lw_gufunc_object *self, PyObject *key)
{
    PyObject *type, *value, *traceback, *copy;

    if (PyErr_ExceptionMatches(PyExc_MemoryError) || !PyErr_ExceptionMatches(PyExc_Exception))
        return;
    PyErr_Fetch(&type, &value, &traceback);
    PyErr_NormalizeException(&type, &value, &traceback);
    copy = value ? copy_of_exception(value) : NULL;
    if (copy == NULL || PyDict_SetItem(self->failures, key, copy) < 0)
        PyErr_Clear();
    Py_XDECREF(copy);
    PyErr_Restore(type, value, traceback);
}

static bool
raise_remembered(lw_gufunc_object *self, PyObject *key)
{
    PyObject *value = PyDict_GetItemWithError(self->failures, key), *copy; /* borrowed */

    if (value == NULL)
        return PyErr_Occurred() != NULL;
    Py_INCREF(value);
    copy = copy_of_exception(value);
    Py_DECREF(value);
    if (copy != NULL)
        PyErr_SetObject((PyObject *)Py_TYPE(copy), copy);
    Py_XDECREF(copy);
    return true;
}

/* ---- warnings ---- */

static int
warn_performance(const lw_gufunc_object *self, const char *text)
{
    PyObject *errors, *class;
    int result = -1;

    if (!self->base.options.warn)
        return 0;
    errors = PyImport_ImportModule("lanewise.errors");
    class = errors ? PyObject_GetAttrString(errors, "PerformanceWarning") : NULL;
    if (class != NULL)
        result = PyErr_WarnEx(class, text, 2);
    Py_XDECREF(class);
    Py_XDECREF(errors);
    return result;
}

/* Every dtype tuple costs a compile: a caller that brings ever new ones should know. */
static int
warn_of_many(const lw_gufunc_object *self)
{
    enum { MANY = 64 };
    lw_text text = {0};
    int result;

    if (self->base.loops.n != MANY)
        return 0;
    lw_text_addf(
        &text,
        "`%s` has been compiled for %d tuples of dtypes; give it signatures, or convert "
        "its operands",
        self->table->name, MANY);
    result = warn_performance(self, lw_text_get(&text));
    lw_text_reset(&text);
    return result;
}

/* For inputs between the two, does neither go before the other? `meet` gets those inputs. */
static bool
is_ambiguous(const lw_gufunc_loop *a, const lw_gufunc_loop *b, lw_dtype *meet)
{
    bool a_wider = false, b_wider = false;

    for (int i = 0; i < a->nin; i++) {
        if (lw_can_cast_safe(a->types[i], b->types[i])) {
            meet[i] = a->types[i];
            b_wider |= a->types[i] != b->types[i];
        } else if (lw_can_cast_safe(b->types[i], a->types[i])) {
            meet[i] = b->types[i];
            a_wider = true;
        } else {
            return false;
        }
    }
    return a_wider && b_wider;
}

static int
warn_of_pair(const lw_gufunc_object *self, const lw_gufunc_loop *a, const lw_gufunc_loop *b)
{
    PyObject *first = lw_gufunc_loop_text(a), *second = lw_gufunc_loop_text(b), *text = NULL;
    int result = -1;

    if (first != NULL && second != NULL)
        text = PyUnicode_FromFormat(
            "W202: signatures `%U` and `%U` of `%s` fit the same inputs, and neither is "
            "narrower: the first is taken",
            first, second, self->table->name);
    if (text != NULL)
        result = warn_performance(self, PyUnicode_AsUTF8(text));
    Py_XDECREF(text);
    Py_XDECREF(first);
    Py_XDECREF(second);
    return result;
}

int
lw_gufunc_warn_ambiguous(const lw_gufunc_object *self)
{
    lw_dtype meet[LW_MAX_OPERANDS];

    for (uint32_t i = 0; i < self->n_declared; i++)
        for (uint32_t k = i + 1; k < self->n_declared; k++)
            if (is_ambiguous(self->base.loops.data[i], self->base.loops.data[k], meet) &&
                lw_gufunc_find(self, meet) == NULL)
                return warn_of_pair(self, self->base.loops.data[i], self->base.loops.data[k]);
    return 0;
}

static lw_gufunc_loop *
find_or_make(lw_gufunc_object *self, const lw_dtype *in)
{
    lw_gufunc_loop *loop = lw_gufunc_find(self, in);
    PyObject *key;

    if (loop != NULL)
        return loop;
    key = key_of(self, in);
    if (key == NULL)
        return NULL;
    if (!raise_remembered(self, key)) {
        if (warn_of_many(self) == 0)
            loop = lw_gufunc_make(self, in, NULL, NULL, false);
        if (loop == NULL && !PyErr_ExceptionMatches(PyExc_Warning))
            remember_failure(self, key);
    }
    Py_DECREF(key);
    return loop;
}

/* ---- no loop: E181 ---- */

/* Which argument stands in the way of this loop, if one does. */
static void
add_misfit(lw_text *text, const lw_gufunc_object *self, const lw_gufunc_loop *loop,
           const lw_gufunc_wanted *wanted)
{
    const lw_fn *fn = &self->base.tree->fns.data[1];

    for (int i = 0; i < self->base.nin; i++) {
        if (wanted->weak[i] ? lw_weak_fits(wanted->weak[i], loop->types[i])
                            : lw_can_cast_safe(wanted->in[i], loop->types[i]))
            continue;
        lw_no_loop_argument(text, i,
                            (uint32_t)i < fn->params.n ? fn->params.data[i].name : NULL,
                            wanted->in[i], wanted->weak[i], loop->types[i]);
        return;
    }
}

static void
raise_no_loop(const lw_gufunc_object *self, const lw_gufunc_wanted *wanted)
{
    enum { SHOWN = 8 };
    lw_text text = {0};
    uint32_t n = self->base.loops.n;

    lw_text_addf(&text, "E181: `%s` has no loop for (", self->table->name);
    for (int i = 0; i < self->base.nin; i++) {
        lw_text_add(&text, i ? ", " : "");
        lw_no_loop_operand(&text, wanted->in[i], wanted->weak[i]);
    }
    lw_text_add(&text, "), casting=\"safe\"; loops tried in order:");
    for (uint32_t i = 0; i < n && i < SHOWN; i++) {
        PyObject *one = lw_gufunc_loop_text(self->base.loops.data[i]);
        const char *utf8 = one ? PyUnicode_AsUTF8(one) : NULL;
        lw_text_addf(&text, "\n  %s", utf8 ? utf8 : "");
        add_misfit(&text, self, self->base.loops.data[i], wanted);
        Py_XDECREF(one);
    }
    if (n > SHOWN)
        lw_text_addf(&text, "\n  and %u more", (unsigned)(n - SHOWN));
    lw_text_add(&text, "\n  = help: add a signature with add(), convert the argument, or pass "
                       "signature= with casting=\"same_kind\"");
    PyErr_SetString(PyExc_TypeError, lw_text_get(&text));
    lw_text_reset(&text);
}

/* ---- declared signatures ---- */

typedef bool (*castable)(lw_dtype from, lw_dtype to);

static bool
outputs_fit(const lw_gufunc_loop *loop, const lw_gufunc_wanted *wanted)
{
    for (int i = 0; i < loop->nout; i++)
        if (wanted->out[i] != LW_DT_void && wanted->out[i] != loop->types[loop->nin + i])
            return false;
    return true;
}

static bool
fits(const lw_gufunc_loop *loop, const lw_gufunc_wanted *wanted, castable can_cast)
{
    if (!outputs_fit(loop, wanted))
        return false;
    for (int i = 0; i < loop->nin; i++) {
        lw_dtype slot = loop->types[i];
        if (wanted->weak[i]    ? !lw_weak_fits(wanted->weak[i], slot)
            : wanted->fixed[i] ? wanted->in[i] != slot
                               : !can_cast(wanted->in[i], slot))
            return false;
    }
    return true;
}

/* Could b's slots take everything that a's can, with one of them wider? Then a goes first. */
static bool
narrower(const lw_gufunc_loop *a, const lw_gufunc_loop *b, const lw_gufunc_wanted *wanted)
{
    bool wider = false;

    for (int i = 0; i < a->nin; i++) {
        if (wanted->weak[i] || a->types[i] == b->types[i])
            continue;
        if (!lw_can_cast_safe(a->types[i], b->types[i]))
            return false;
        wider = true;
    }
    return wider;
}

static int
n_casts(const lw_gufunc_loop *loop, const lw_gufunc_wanted *wanted)
{
    int n = 0;

    for (int i = 0; i < loop->nin; i++)
        n += !wanted->weak[i] && loop->types[i] != wanted->in[i];
    return n;
}

static bool
is_minimal(const lw_gufunc_object *self, const lw_gufunc_loop *loop,
           const lw_gufunc_wanted *wanted, castable can_cast)
{
    for (uint32_t i = 0; i < self->base.loops.n; i++) {
        const lw_gufunc_loop *other = self->base.loops.data[i];
        if (fits(other, wanted, can_cast) && narrower(other, loop, wanted))
            return false;
    }
    return true;
}

/* Of the loops that fit the minimal ones, of these the one that casts least, of equals the
 * first in canonical order. */
static lw_gufunc_loop *
best_fit(const lw_gufunc_object *self, const lw_gufunc_wanted *wanted, castable can_cast)
{
    lw_gufunc_loop *best = NULL;

    for (uint32_t i = 0; i < self->base.loops.n; i++) {
        lw_gufunc_loop *loop = self->base.loops.data[i];
        if (fits(loop, wanted, can_cast) && is_minimal(self, loop, wanted, can_cast) &&
            (best == NULL || n_casts(loop, wanted) < n_casts(best, wanted)))
            best = loop;
    }
    return best;
}

static lw_dtype
default_of(char weak)
{
    return weak == 'i' ? LW_DT_i64 : weak == 'f' ? LW_DT_f64 : LW_DT_c128;
}

static lw_gufunc_loop *
choose_declared(lw_gufunc_object *self, const lw_gufunc_wanted *wanted)
{
    lw_gufunc_wanted strong = *wanted;
    bool out_wanted = false, all_weak = true;
    lw_gufunc_loop *loop = NULL;

    for (int i = 0; i < self->base.nin; i++) {
        all_weak &= wanted->weak[i] != 0;
        strong.in[i] = wanted->weak[i] ? default_of(wanted->weak[i]) : wanted->in[i];
    }
    memset(strong.weak, 0, sizeof strong.weak);
    for (int i = 0; i < self->base.nout; i++)
        out_wanted |= wanted->out[i] != LW_DT_void;
    if (all_weak) /* nothing but Python numbers: what they are by themselves */
        loop = best_fit(self, &strong, lw_can_cast_safe);
    if (loop == NULL)
        loop = best_fit(self, wanted, lw_can_cast_safe);
    if (loop == NULL && out_wanted) /* the user chose: NumPy then checks the casts */
        loop = best_fit(self, wanted, lw_can_cast_same_kind);
    if (loop == NULL && !out_wanted)
        raise_no_loop(self, wanted);
    return loop;
}

/* ---- any dtypes ---- */

/* np.result_type of the strong operands and one Python number. */
static lw_dtype
weak_dtype(char weak, lw_dtype strong)
{
    if (strong == LW_DT_void || strong == LW_DT_b1)
        return default_of(weak);
    if (lw_is_complex(strong) || weak == 'i')
        return strong;
    if (weak == 'f')
        return lw_is_float(strong) ? strong : LW_DT_f64;
    return lw_is_float(strong) && strong != LW_DT_f64 ? LW_DT_c64 : LW_DT_c128;
}

/* A Python int that followed the floats may have to be an integer: `range(n)`. */
static lw_gufunc_loop *
retry_with_ints(lw_gufunc_object *self, const lw_gufunc_wanted *wanted, lw_dtype *in)
{
    PyObject *type, *value, *traceback;
    bool changed = false;
    lw_gufunc_loop *loop;

    for (int i = 0; i < self->base.nin; i++)
        if (wanted->weak[i] == 'i' && !lw_is_integer(in[i])) {
            in[i] = LW_DT_i64;
            changed = true;
        }
    if (!changed)
        return NULL;
    PyErr_Fetch(&type, &value, &traceback);
    loop = find_or_make(self, in);
    if (loop == NULL) { /* the first error says it better */
        PyErr_Clear();
        PyErr_Restore(type, value, traceback);
        return NULL;
    }
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(traceback);
    return loop;
}

static lw_gufunc_loop *
choose_by_inputs(lw_gufunc_object *self, const lw_gufunc_wanted *wanted)
{
    lw_dtype in[LW_MAX_OPERANDS] = {LW_DT_void}, strong = LW_DT_void;
    lw_gufunc_loop *loop;

    for (int i = 0; i < self->base.nin; i++)
        if (!wanted->weak[i])
            strong =
                strong == LW_DT_void ? wanted->in[i] : lw_promote_dtypes(strong, wanted->in[i]);
    for (int i = 0; i < self->base.nin; i++)
        in[i] = wanted->weak[i] ? weak_dtype(wanted->weak[i], strong) : wanted->in[i];
    loop = find_or_make(self, in);
    return loop ? loop : retry_with_ints(self, wanted, in);
}

/* With an output dtype asked for, all free inputs take it; NumPy checks the casts. */
static lw_gufunc_loop *
choose_by_output(lw_gufunc_object *self, const lw_gufunc_wanted *wanted, lw_dtype asked)
{
    lw_dtype in[LW_MAX_OPERANDS];
    lw_gufunc_loop *loop;

    for (int i = 0; i < self->base.nin; i++)
        in[i] = wanted->fixed[i] ? wanted->in[i] : asked;
    loop = find_or_make(self, in);
    return loop != NULL && outputs_fit(loop, wanted) ? loop : NULL;
}

/* What a loop gives follows from its inputs alone, whatever was asked for before. */
static lw_gufunc_loop *
choose_lazily(lw_gufunc_object *self, const lw_gufunc_wanted *wanted)
{
    lw_gufunc_loop *loop = choose_by_inputs(self, wanted);
    lw_dtype asked = LW_DT_void;

    for (int i = 0; i < self->base.nout && asked == LW_DT_void; i++)
        asked = wanted->out[i];
    if (asked == LW_DT_void || (loop != NULL && outputs_fit(loop, wanted)))
        return loop;
    PyErr_Clear(); /* a body that cannot be typed for the inputs may be for the dtype asked for
                    */
    return choose_by_output(self, wanted, asked);
}

lw_gufunc_loop *
lw_gufunc_choose(lw_gufunc_object *self, const lw_gufunc_wanted *wanted)
{
    return self->lazy ? choose_lazily(self, wanted) : choose_declared(self, wanted);
}

/* ---- for the device side ---- */

static int
check_casts(const lw_gufunc *self, const lw_gufunc_loop *loop, const lw_dtype *dtypes,
            const char *weak, NPY_CASTING rule)
{
    for (int i = 0; i < self->nin + self->nout; i++) {
        bool is_input = i < self->nin;
        lw_dtype from = is_input ? dtypes[i] : loop->types[i];
        lw_dtype to = is_input ? loop->types[i] : dtypes[i];
        if ((is_input && weak[i]) || dtypes[i] == LW_DT_void || lw_cast_allowed(from, to, rule))
            continue;
        PyErr_Format(
            PyExc_TypeError, "cannot cast `%s` %s %d from %s to %s by the casting rule",
            lw_gufunc_name(self), is_input ? "input" : "output", is_input ? i : i - self->nin,
            lw_dtypes[from].public_name, lw_dtypes[to].public_name);
        return -1;
    }
    return 0;
}

static lw_gufunc_loop *
resolve_ourselves(lw_gufunc *self, const lw_dtype *dtypes, const char *weak, bool chosen,
                  PyObject *casting)
{
    NPY_CASTING rule = NPY_SAME_KIND_CASTING;
    lw_gufunc_wanted wanted = {0};
    lw_error err = {0};
    lw_gufunc_loop *loop;

    if (chosen) {
        lw_fail(&err, LW_ERR_UNSUPPORTED,
                "`%s`: dtype= and signature= are not there yet with bfloat16 operands",
                lw_gufunc_name(self));
        return (lw_gufunc_loop *)lw_py_raise(&err);
    }
    if (casting != NULL && PyArray_CastingConverter(casting, &rule) != NPY_SUCCEED)
        return NULL;
    memcpy(wanted.in, dtypes, (size_t)self->nin * sizeof *dtypes);
    memcpy(wanted.weak, weak, (size_t)self->nin);
    loop = lw_gufunc_choose(lw_gufunc_whole(self), &wanted);
    return loop && check_casts(self, loop, dtypes, weak, rule) == 0 ? loop : NULL;
}

lw_gufunc_loop *
lw_gufunc_resolve(lw_gufunc *self, const lw_dtype *dtypes, const char *weak,
                  PyObject *signature, PyObject *dtype, PyObject *casting)
{
    lw_dtype types[LW_MAX_OPERANDS];
    lw_gufunc_loop *loop;
    PyObject *answer;

    if (lw_beyond_numpy(self->nin, self->nout, dtypes, weak))
        return resolve_ourselves(self, dtypes, weak, signature != NULL || dtype != NULL,
                                 casting);
    answer = lw_numpy_resolve((PyObject *)self, self->nin, self->nout, dtypes, weak, signature,
                              dtype, casting);
    if (answer == NULL)
        return NULL;
    for (int i = 0; i < self->nin + self->nout; i++)
        types[i] = lw_dtype_from_num(((PyArray_Descr *)PyTuple_GET_ITEM(answer, i))->type_num);
    Py_DECREF(answer);
    loop = lw_gufunc_find(lw_gufunc_whole(self), types);
    if (loop == NULL)
        PyErr_Format(PyExc_RuntimeError, "`%s` has no loop that NumPy chose",
                     lw_gufunc_name(self));
    return loop;
}

/* docs/typing.md, "Choice": exact dtypes first; with signatures the narrowest that takes the
 * inputs safely; without, a loop made for them. */
#include "core/py/numpy/ufunc_choose.h"

#include "core/front/read/critical.h"
#include "core/front/read/python.h"
#include "core/plan/loop.h"
#include "core/py/descr.h"
#include "core/py/numpy/loop_rows.h"
#include "core/py/numpy/ufunc_inner.h"
#include "core/py/raise.h"
#include "core/py/type_num.h"

#include <string.h>

static const lw_dtype *
types_of(const void *loop)
{
    return ((const lw_loop_head *)loop)->types;
}

/* ---- failures, remembered ---- */

static PyObject *
key_of(lw_ufunc_head *self, const lw_dtype *in)
{
    char text[LW_UFUNC_OPERANDS];

    for (int i = 0; i < self->nin; i++)
        text[i] = (char)in[i];
    return PyBytes_FromStringAndSize(text, self->nin);
}

/* The same exception without traceback and context: what one caller or thread got is its own,
 * and what is remembered keeps no frames alive. */
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

static void
remember_failure(lw_ufunc_head *self, const lw_dtype *in)
{
    PyObject *type, *value, *traceback, *key, *copy;

    PyErr_Fetch(&type, &value, &traceback);
    PyErr_NormalizeException(&type, &value, &traceback);
    key = key_of(self, in);
    copy = key && value ? copy_of_exception(value) : NULL;
    if (copy == NULL || PyDict_SetItem(self->failures, key, copy) < 0)
        PyErr_Clear();
    Py_XDECREF(key);
    Py_XDECREF(copy);
    PyErr_Restore(type, value, traceback);
}

/* What was missing may be there now. */
static void
forget_outdated(lw_ufunc_head *self)
{
    lw_captures *captures = ((lw_compiled *)self)->captures;
    uint64_t version = lw_overloads_version();

    if (version != self->failures_version ||
        (captures != NULL && lw_captures_outdated(captures)))
        PyDict_Clear(self->failures);
    self->failures_version = version;
}

static bool
raise_remembered(lw_ufunc_head *self, const lw_dtype *in)
{
    PyObject *key, *value, *copy;

    if (PyDict_GET_SIZE(self->failures) == 0)
        return false;
    forget_outdated(self);
    key = key_of(self, in);
    if (key == NULL)
        return true;
    value = lw_dict_item(self->failures, key);
    Py_DECREF(key);
    if (value == NULL)
        return PyErr_Occurred() != NULL;
    copy = copy_of_exception(value);
    Py_DECREF(value);
    if (copy != NULL)
        PyErr_SetObject((PyObject *)Py_TYPE(copy), copy);
    Py_XDECREF(copy);
    return true;
}

/* ---- warnings ---- */

/* Every dtype tuple costs a compile: a caller that brings ever new ones should know. */
static int
warn_of_many(lw_ufunc_head *self)
{
    enum { MANY = 64 };
    lw_text text = {0};
    int result;

    if (self->kind->n_loops(self) != MANY)
        return 0;
    lw_text_addf(
        &text,
        "`%s` has been compiled for %d tuples of dtypes; give it signatures, or convert "
        "its operands",
        self->table->name, MANY);
    result = lw_door_warn(&self->options, "PerformanceWarning", lw_text_get(&text));
    lw_text_reset(&text);
    return result;
}

/* Whether neither goes first for inputs between the two; `meet` gets those inputs. */
static bool
is_ambiguous(const lw_ufunc_head *self, const void *a, const void *b, lw_dtype *meet)
{
    bool a_wider = false, b_wider = false;

    for (int i = 0; i < self->nin; i++) {
        if (lw_can_cast_safe(types_of(a)[i], types_of(b)[i])) {
            meet[i] = types_of(a)[i];
            b_wider |= types_of(a)[i] != types_of(b)[i];
        } else if (lw_can_cast_safe(types_of(b)[i], types_of(a)[i])) {
            meet[i] = types_of(b)[i];
            a_wider = true;
        } else {
            return false;
        }
    }
    return a_wider && b_wider;
}

static int
warn_of_pair(lw_ufunc_head *self, const void *a, const void *b)
{
    PyObject *first = self->kind->signature_text(a), *second = self->kind->signature_text(b),
             *text = NULL;
    int result = -1;

    if (first != NULL && second != NULL)
        text =
            PyUnicode_FromFormat("W202: signatures `%U` and `%U` of `%s` fit the same inputs, "
                                 "and neither is narrower: the first is taken",
                                 first, second, self->table->name);
    if (text != NULL)
        result = lw_door_warn(&self->options, "PerformanceWarning", PyUnicode_AsUTF8(text));
    Py_XDECREF(text);
    Py_XDECREF(first);
    Py_XDECREF(second);
    return result;
}

int
lw_loops_warn_ambiguous(lw_ufunc_head *self)
{
    const lw_loop_rows *rows = lw_rows_of(self);
    uint32_t n = rows ? rows->n_declared : 0;
    lw_dtype meet[LW_UFUNC_OPERANDS];

    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = i + 1; k < n; k++)
            if (is_ambiguous(self, rows->loops[i], rows->loops[k], meet) &&
                lw_rows_find(self, meet) == NULL)
                return warn_of_pair(self, rows->loops[i], rows->loops[k]);
    return 0;
}

void *
lw_loops_find_or_make(lw_ufunc_head *self, const lw_dtype *in)
{
    void *loop = lw_rows_find(self, in);

    if (loop != NULL || raise_remembered(self, in))
        return loop;
    if (warn_of_many(self) < 0)
        return NULL;
    Py_BEGIN_CRITICAL_SECTION((PyObject *)self);
    loop = self->kind->make(self, in);
    Py_END_CRITICAL_SECTION();
    if (loop == NULL &&
        lw_py_refused()) /* what else was raised says nothing of the next call */
        remember_failure(self, in);
    return loop;
}

/* ---- no loop: E181 ---- */

static void
add_operand(lw_text *text, const lw_wanted *wanted, int i)
{
    lw_text_add(text, i ? ", " : "");
    lw_no_loop_operand(text, wanted->in[i], wanted->weak[i]);
}

/* Which argument stands in the way of this loop, if one does. */
static int
first_unsafe(const lw_ufunc_head *self, const void *loop, const lw_wanted *wanted)
{
    for (int i = 0; i < self->nin; i++)
        if (wanted->weak[i] ? !lw_weak_fits(wanted->weak[i], types_of(loop)[i])
                            : !lw_can_cast_safe(wanted->in[i], types_of(loop)[i]))
            return i;
    return -1;
}

static const char *
operand_name(const lw_ufunc_head *self, int i)
{
    const lw_fn *fn = &self->tree->fns.data[1];

    if (self->kind->operand_name != NULL)
        return self->kind->operand_name(self, i);
    return (uint32_t)i < fn->params.n ? fn->params.data[i].name : NULL;
}

/* Whether it is the results that a call with dtype= or signature= does not want. */
static bool
gives_other(const lw_ufunc_head *self, const void *loop, const lw_wanted *wanted)
{
    return wanted->out[0] != LW_DT_void && wanted->out[0] != types_of(loop)[self->nin];
}

static void
add_loop_line(lw_text *text, lw_ufunc_head *self, void *loop, const lw_wanted *wanted)
{
    int unsafe = first_unsafe(self, loop, wanted);

    lw_text_add(text, "\n  ");
    self->kind->loop_line(text, loop);
    if (unsafe >= 0)
        lw_no_loop_argument(text, unsafe, operand_name(self, unsafe), wanted->in[unsafe],
                            wanted->weak[unsafe], types_of(loop)[unsafe]);
    else if (gives_other(self, loop, wanted))
        lw_text_addf(text, ": its result is %s",
                     lw_dtypes[types_of(loop)[self->nin]].public_name);
    else if (wanted->reduction)
        lw_text_addf(text, ": its result, %s, cannot be the next first argument, %s",
                     lw_dtypes[types_of(loop)[self->nin]].public_name,
                     lw_dtypes[types_of(loop)[0]].public_name);
}

/* What signature= needs beside it for this loop. */
static const char *
casting_for(const lw_ufunc_head *self, const void *loop, const lw_wanted *wanted)
{
    for (int i = 0; i < self->nin; i++)
        if (!lw_can_cast_same_kind(wanted->in[i], types_of(loop)[i]))
            return ", casting=\"unsafe\"";
    return ""; /* same_kind, as it is */
}

static bool
has_codes(const lw_ufunc_head *self, const void *loop)
{
    for (int i = 0; i < self->nin + self->nout; i++)
        if (lw_dtypes[types_of(loop)[i]].numpy == 0)
            return false;
    return true;
}

/* How much a call of this loop loses: casts of another kind count more than all that only lose
 * digits. */
static int
loss_of(const lw_ufunc_head *self, const void *loop, const lw_wanted *wanted)
{
    int loss = 0;

    for (int i = 0; i < self->nin; i++) {
        lw_dtype to = types_of(loop)[i];
        if (wanted->weak[i])
            loss += lw_weak_fits(wanted->weak[i], to) ? 0 : LW_UFUNC_OPERANDS;
        else if (!lw_can_cast_same_kind(wanted->in[i], to))
            loss += LW_UFUNC_OPERANDS;
        else
            loss += !lw_can_cast_safe(wanted->in[i], to);
    }
    return loss;
}

/* The loop that loses least, the first of several; NULL: there is none. */
static void *
nearest_loop(lw_ufunc_head *self, const lw_wanted *wanted)
{
    uint32_t n = self->kind->n_loops(self);
    void *best = NULL;

    for (uint32_t i = 0; i < n; i++) {
        void *loop = self->kind->loop_at(self, i);
        if (best == NULL || loss_of(self, loop, wanted) < loss_of(self, best, wanted))
            best = loop;
    }
    return best;
}

/* Where all that keeps a call from the loop is one Python float for an integer: which. */
static int
wanted_int(const lw_ufunc_head *self, const void *loop, const lw_wanted *wanted)
{
    int at = first_unsafe(self, loop, wanted);

    return at >= 0 && wanted->weak[at] == 'f' && lw_is_integer(types_of(loop)[at]) &&
                   loss_of(self, loop, wanted) == LW_UFUNC_OPERANDS
               ? at
               : -1;
}

/* signature="f->f": of the loop that loses least. Reductions, and functions of whole arrays,
 * take none. */
static void
add_advice(lw_text *text, lw_ufunc_head *self, const lw_wanted *wanted)
{
    void *loop = nearest_loop(self, wanted);
    int whole = loop ? wanted_int(self, loop, wanted) : -1;

    lw_text_add(text, "\n  = help: ");
    if (whole >= 0)
        lw_text_addf(text, "pass an int as argument %d, ", whole + 1);
    lw_text_add(text, "add a signature with add(), ");
    if (loop == NULL || wanted->reduction || lw_ufunc_shown_inputs(self) != self->nin ||
        !has_codes(self, loop)) {
        lw_text_add(text, "or convert the argument");
        return;
    }
    lw_text_add(text, "convert the argument, or pass signature=\"");
    for (int i = 0; i < self->nin + self->nout; i++)
        lw_text_addf(text, "%s%c", i == self->nin ? "->" : "",
                     lw_dtypes[types_of(loop)[i]].numpy);
    lw_text_addf(text, "\"%s", casting_for(self, loop, wanted));
}

void
lw_loops_raise_none(lw_ufunc_head *self, const lw_wanted *wanted)
{
    enum { SHOWN = 8 };
    lw_text text = {0};
    uint32_t n = self->kind->n_loops(self);

    lw_text_addf(&text, "E181: `%s` has no loop for (", self->table->name);
    for (int i = 0; i < lw_ufunc_shown_inputs(self); i++)
        add_operand(&text, wanted, i);
    lw_text_add(&text, ")");
    if (wanted->out[0] != LW_DT_void)
        lw_text_addf(&text, " that gives %s", lw_dtypes[wanted->out[0]].public_name);
    lw_text_add(&text, ", casting=\"safe\"; loops tried in order:");
    for (uint32_t i = 0; i < n && i < SHOWN; i++)
        add_loop_line(&text, self, self->kind->loop_at(self, i), wanted);
    if (n > SHOWN)
        lw_text_addf(&text, "\n  and %u more", (unsigned)(n - SHOWN));
    add_advice(&text, self, wanted);
    PyErr_SetString(PyExc_TypeError, lw_text_get(&text));
    lw_text_reset(&text);
}

/* ---- declared signatures ---- */

static bool
outputs_fit(const lw_ufunc_head *self, const void *loop, const lw_wanted *wanted)
{
    for (int i = 0; i < self->nout; i++)
        if (wanted->out[i] != LW_DT_void && wanted->out[i] != types_of(loop)[self->nin + i])
            return false;
    return true;
}

typedef bool (*castable)(lw_dtype from, lw_dtype to);

static bool
can_cast_somehow(lw_dtype from, lw_dtype to)
{
    (void)from, (void)to;
    return true;
}

static bool
inputs_fit(const lw_ufunc_head *self, const void *loop, const lw_wanted *wanted,
           castable can_cast)
{
    for (int i = 0; i < self->nin; i++) {
        lw_dtype slot = types_of(loop)[i];
        if (!wanted->fixed[i] && can_cast == can_cast_somehow)
            continue;
        if (wanted->foreign[i])
            return false;
        if (wanted->weak[i]
                ? !lw_weak_fits(wanted->weak[i], slot)
                : (wanted->fixed[i] ? wanted->in[i] != slot : !can_cast(wanted->in[i], slot)))
            return false;
    }
    return !wanted->reduction || types_of(loop)[0] == types_of(loop)[self->nin];
}

/* Whether b's slots take all that a's do, and one of them is wider; then a goes first. */
static bool
narrower(const lw_ufunc_head *self, const void *a, const void *b, const lw_wanted *wanted)
{
    bool wider = false;

    for (int i = 0; i < self->nin; i++) {
        if (wanted->weak[i] || types_of(a)[i] == types_of(b)[i])
            continue;
        if (!lw_can_cast_safe(types_of(a)[i], types_of(b)[i]))
            return false;
        wider = true;
    }
    return wider;
}

static int
n_casts(const lw_ufunc_head *self, const void *loop, const lw_wanted *wanted)
{
    int n = 0;

    for (int i = 0; i < self->nin; i++)
        n += !wanted->weak[i] && types_of(loop)[i] != wanted->in[i];
    return n;
}

static bool
is_minimal(lw_ufunc_head *self, const void *loop, const lw_wanted *wanted, castable can_cast)
{
    for (uint32_t i = 0; i < self->kind->n_loops(self); i++) {
        const void *other = self->kind->loop_at(self, i);
        if (outputs_fit(self, other, wanted) && inputs_fit(self, other, wanted, can_cast) &&
            narrower(self, other, loop, wanted))
            return false;
    }
    return true;
}

/* Of the loops that fit, the minimal ones; of these the one that casts least; of equals the
 * first in canonical order. */
static void *
best_fit(lw_ufunc_head *self, const lw_wanted *wanted, castable can_cast)
{
    void *best = NULL;

    for (uint32_t i = 0; i < self->kind->n_loops(self); i++) {
        void *loop = self->kind->loop_at(self, i);
        if (outputs_fit(self, loop, wanted) && inputs_fit(self, loop, wanted, can_cast) &&
            is_minimal(self, loop, wanted, can_cast) &&
            (best == NULL || n_casts(self, loop, wanted) < n_casts(self, best, wanted)))
            best = loop;
    }
    return best;
}

static lw_dtype
default_of(char weak)
{
    return weak == 'i' ? LW_DT_i64 : weak == 'f' ? LW_DT_f64 : LW_DT_c128;
}

static bool
all_weak(lw_ufunc_head *self, const lw_wanted *wanted)
{
    for (int i = 0; i < lw_ufunc_shown_inputs(self); i++)
        if (!wanted->weak[i])
            return false;
    return true;
}

/* For nothing but Python numbers: the loop of what they are by themselves, or NULL. */
static void *
fit_of_defaults(lw_ufunc_head *self, const lw_wanted *wanted)
{
    lw_wanted strong = *wanted;

    for (int i = 0; i < lw_ufunc_shown_inputs(self); i++) {
        strong.in[i] = default_of(wanted->weak[i]);
        strong.weak[i] = 0;
    }
    return best_fit(self, &strong, lw_can_cast_safe);
}

void *
lw_loops_of_numbers(lw_ufunc_head *self, const char *weak)
{
    lw_wanted wanted = {0};

    if (self->lazy || lw_ufunc_shown_inputs(self) != self->nin)
        return NULL;
    memcpy(wanted.weak, weak, (size_t)self->nin);
    if (!all_weak(self, &wanted) || fit_of_defaults(self, &wanted) != NULL)
        return NULL;
    return best_fit(self, &wanted, lw_can_cast_safe);
}

static void *
choose_declared(lw_ufunc_head *self, const lw_wanted *wanted)
{
    bool out_wanted = false;
    void *loop = all_weak(self, wanted) ? fit_of_defaults(self, wanted) : NULL;

    if (loop == NULL)
        loop = best_fit(self, wanted, lw_can_cast_safe);
    for (int i = 0; i < self->nout; i++)
        out_wanted |= wanted->out[i] != LW_DT_void;
    /* With dtype= or signature= the user chose: NumPy then checks the casts by `casting`. */
    if (loop == NULL && out_wanted)
        loop = best_fit(self, wanted, lw_can_cast_same_kind);
    if (loop == NULL && out_wanted)
        loop = best_fit(self, wanted, can_cast_somehow);
    if (loop == NULL && (!out_wanted || self->numpys == NULL))
        lw_loops_raise_none(self, wanted);
    return loop;
}

/* ---- any dtypes ---- */

static lw_dtype
strong_part(lw_ufunc_head *self, const lw_wanted *wanted)
{
    lw_dtype all = LW_DT_void;

    for (int i = 0; i < lw_ufunc_shown_inputs(self); i++)
        if (!wanted->weak[i] && !lw_is_time(wanted->in[i])) /* beside times, numbers as alone */
            all = all == LW_DT_void ? wanted->in[i] : lw_promote_dtypes(all, wanted->in[i]);
    return all;
}

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

/* Try again with 64-bit ints where a Python int had followed the floats: `x << n`, `range(n)`.
 */
static void *
retry_with_ints(lw_ufunc_head *self, const lw_wanted *wanted, lw_dtype *in)
{
    PyObject *type, *value, *traceback;
    bool changed = false;
    void *loop;

    for (int i = 0; i < self->nin; i++)
        if (wanted->weak[i] == 'i' && !lw_is_integer(in[i])) {
            in[i] = LW_DT_i64;
            changed = true;
        }
    if (!changed)
        return NULL;
    PyErr_Fetch(&type, &value, &traceback);
    loop = lw_loops_find_or_make(self, in);
    if (loop == NULL && lw_py_refused()) { /* the first error says it better */
        PyErr_Clear();
        PyErr_Restore(type, value, traceback);
        return NULL;
    }
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(traceback);
    return loop;
}

static void *
choose_by_inputs(lw_ufunc_head *self, const lw_wanted *wanted)
{
    lw_dtype in[LW_UFUNC_OPERANDS] = {LW_DT_void}, strong = strong_part(self, wanted);
    void *loop;

    for (int i = 0; i < self->nin; i++)
        in[i] = wanted->weak[i] ? weak_dtype(wanted->weak[i], strong) : wanted->in[i];
    loop = lw_loops_find_or_make(self, in);
    return loop == NULL && lw_py_refused() ? retry_with_ints(self, wanted, in) : loop;
}

/* With an output dtype asked for, all free inputs take it; NumPy checks the casts. */
static void *
choose_by_output(lw_ufunc_head *self, const lw_wanted *wanted, lw_dtype dtype)
{
    lw_dtype in[LW_UFUNC_OPERANDS];
    void *loop;

    for (int i = 0; i < self->nin; i++)
        in[i] = wanted->fixed[i] ? wanted->in[i] : dtype;
    for (int i = lw_ufunc_shown_inputs(self); i < self->nin; i++)
        in[i] = LW_DT_i64; /* parts of whole arrays */
    loop = lw_loops_find_or_make(self, in);
    if (loop == NULL || !outputs_fit(self, loop, wanted))
        return NULL;
    return wanted->reduction && types_of(loop)[0] != types_of(loop)[self->nin] ? NULL : loop;
}

static lw_dtype
output_asked_for(lw_ufunc_head *self, const lw_wanted *wanted)
{
    for (int i = 0; i < self->nout; i++)
        if (wanted->out[i] != LW_DT_void)
            return wanted->out[i];
    return LW_DT_void;
}

/* The elements become accumulators: what that would change (truth values of comparisons, whole
 * numbers of floats) is no fold of the elements. */
static void *
refuse_accumulator(const lw_ufunc_head *self, const void *loop)
{
    const char *from = lw_dtypes[types_of(loop)[0]].public_name,
               *to = lw_dtypes[types_of(loop)[self->nin]].public_name;

    PyErr_Format(PyExc_TypeError,
                 "`%s` of %s gives %s, and a reduction takes results as operands again: pass "
                 "dtype=\"%s\" if the elements are meant to be cast first",
                 self->table->name, from, to, to);
    return NULL;
}

static bool
any_foreign(const lw_ufunc_head *self, const lw_wanted *wanted)
{
    for (int i = 0; i < self->nin; i++)
        if (wanted->foreign[i])
            return true;
    return false;
}

static void *
choose_lazily(lw_ufunc_head *self, const lw_wanted *wanted)
{
    lw_dtype asked = output_asked_for(self, wanted);
    void *loop = any_foreign(self, wanted) ? NULL : choose_by_inputs(self, wanted);

    if (loop == NULL && (asked == LW_DT_void || (PyErr_Occurred() && !lw_py_refused())))
        return NULL;
    if (loop != NULL && outputs_fit(self, loop, wanted)) {
        if (!wanted->reduction || types_of(loop)[0] == types_of(loop)[self->nin])
            return loop;
        if (asked == LW_DT_void && !self->kind->is_accumulator(self, loop))
            return refuse_accumulator(self, loop);
        asked = types_of(loop)[self->nin]; /* an accumulator of the result's type */
    }
    PyErr_Clear(); /* a body that cannot be typed for the inputs may be for the dtype asked for
                    */
    return choose_by_output(self, wanted, asked);
}

void *
lw_loops_choose(lw_ufunc_head *self, const lw_wanted *wanted)
{
    return self->lazy ? choose_lazily(self, wanted) : choose_declared(self, wanted);
}

/* ---- dtypes that NumPy has none for ---- */

/* -1 with an exception where the loop's dtypes are not the operands' and may not be cast so. */
static int
check_casts(const lw_ufunc_head *self, const lw_dtype *types, const lw_dtype *dtypes,
            const char *weak, NPY_CASTING rule)
{
    for (int i = 0; i < self->nin + self->nout; i++) {
        bool is_input = i < self->nin;
        lw_dtype from = is_input ? dtypes[i] : types[i], to = is_input ? types[i] : dtypes[i];
        if ((is_input && weak[i]) || dtypes[i] == LW_DT_void || lw_cast_allowed(from, to, rule))
            continue;
        PyErr_Format(PyExc_TypeError,
                     "cannot cast `%s` %s %d from %s to %s by the casting rule",
                     self->tree->fns.data[1].name, is_input ? "input" : "output",
                     is_input ? i : i - self->nin, lw_dtypes[from].public_name,
                     lw_dtypes[to].public_name);
        return -1;
    }
    return 0;
}

/* Chooses a loop and checks the casts, where lw_beyond_numpy; chosen: by dtype= or signature=.
 */
static void *
resolve_loop(lw_ufunc_head *self, const lw_dtype *dtypes, const char *weak, bool chosen,
             PyObject *casting)
{
    NPY_CASTING rule = NPY_SAME_KIND_CASTING;
    lw_wanted wanted = {0};
    lw_error err = {0};
    void *loop;

    if (chosen) {
        lw_fail(&err, LW_ERR_UNSUPPORTED,
                "`%s`: dtype= and signature= are not supported with bfloat16 operands",
                self->tree->fns.data[1].name);
        return lw_py_raise(&err);
    }
    if (casting != NULL && PyArray_CastingConverter(casting, &rule) != NPY_SUCCEED)
        return NULL;
    memcpy(wanted.in, dtypes, (size_t)self->nin * sizeof *dtypes);
    memcpy(wanted.weak, weak, (size_t)self->nin);
    loop = lw_loops_choose(self, &wanted);
    if (loop == NULL || check_casts(self, types_of(loop), dtypes, weak, rule) < 0)
        return NULL;
    return loop;
}

/* ---- calls on device arrays ---- */

static void *
loop_of_exactly(lw_ufunc_head *self, const lw_dtype *in)
{
    lw_wanted wanted = {0};
    void *loop;

    if (self->lazy)
        return lw_loops_find_or_make(self, in);
    loop = lw_rows_find(self, in);
    if (loop != NULL)
        return loop;
    memcpy(wanted.in, in, (size_t)self->nin * sizeof *in);
    lw_loops_raise_none(self, &wanted);
    loop = lw_rows_find(self, in); /* made by another thread meanwhile, or NULL */
    if (loop != NULL)
        PyErr_Clear();
    return loop;
}

/* The loop's input dtypes of a tuple that resolve_dtypes gave, which is stolen. false: one that
 * kernels do not have. */
static bool
read_answer(const lw_ufunc_head *self, PyObject *answer, lw_dtype *in)
{
    bool known = true;

    for (int i = 0; i < self->nin; i++) {
        in[i] = lw_dtype_of_descr((PyArray_Descr *)PyTuple_GET_ITEM(answer, i));
        known &= in[i] != LW_DT_void;
    }
    Py_DECREF(answer);
    return known;
}

/* After a call for which no loop was found: that of NumPy's ufunc, and its error. Where the
 * loop is one that kernels do not have, the exception stays. -1 with an exception. */
static int
ask_numpys(const lw_ufunc_head *self, const lw_dtype *dtypes, const char *weak,
           const lw_call_rules *rules, lw_dtype *in)
{
    PyObject *type, *value, *trace, *answer;

    if (self->numpys == NULL || !lw_says_no_loop())
        return -1;
    PyErr_Fetch(&type, &value, &trace);
    answer = lw_numpy_resolve(self->numpys, self->nin, self->nout, dtypes, weak, rules);
    if (answer != NULL && !read_answer(self, answer, in)) {
        PyErr_Restore(type, value, trace);
        return -1;
    }
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(trace);
    return answer ? 0 : -1;
}

void *
lw_loops_of_call(lw_ufunc_head *self, const lw_dtype *dtypes, const char *weak,
                 const lw_call_rules *rules)
{
    uint32_t n_given = lw_inner_n_given(self);
    lw_dtype in[LW_UFUNC_OPERANDS];
    PyObject *answer;

    if (lw_beyond_numpy(self->nin, self->nout, dtypes, weak))
        return resolve_loop(self, dtypes, weak,
                            rules->signature != NULL || rules->dtype != NULL, rules->casting);
    answer = lw_numpy_resolve(lw_inner_now(self), self->nin, self->nout, dtypes, weak, rules);
    if (answer == NULL && lw_inner_should_ask_again(self, n_given))
        answer =
            lw_numpy_resolve(lw_inner_now(self), self->nin, self->nout, dtypes, weak, rules);
    if (answer == NULL && rules->signature == NULL && rules->dtype == NULL &&
        PyErr_ExceptionMatches(PyExc_TypeError)) {
        void *loop = lw_loops_of_numbers(self, weak);
        if (loop != NULL) {
            PyErr_Clear();
            return loop;
        }
    }
    if (answer != NULL)
        read_answer(self, answer, in);
    else if (ask_numpys(self, dtypes, weak, rules, in) < 0)
        return NULL;
    return loop_of_exactly(self, in);
}

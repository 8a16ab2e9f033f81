/* Making loops (typing and lowering; machine code comes at the first run) and choosing one:
 * docs/typing.md, "Choice", NumPy 2's promotion with exact dtypes first. */
#include "ufunc/ufunc_parts.h"

#include "core/py/numpy_rules.h"
#include "core/py/raise.h"
#include "ufunc/device_table_py.h"
#include "ufunc/family_py.h"

#include <string.h>

/* ---- making ---- */

/* Before the first loop: names that were rebound since decoration (helpers defined further down
 * the file, say) are read again. From the first loop on the tree stays as it is. */
static int
refresh_tree(lw_ufunc_object *self)
{
    lw_captures *captures = NULL;
    lw_tree *tree = NULL;
    lw_error err = {0};

    if (self->base.loops.n > 0 || !lw_captures_changed(self->captures))
        return 0;
    if (lw_read_function(self->base.py_func, self->source_option, &tree, &captures, &err) !=
        LW_OK) {
        lw_py_raise(&err);
        return -1;
    }
    lw_tree_free(self->base.tree);
    lw_captures_free(self->captures);
    self->base.tree = tree;
    self->captures = captures;
    lw_link_set_reset(&self->base.links);
    return lw_link_set_read(&self->base.links, self->base.link, lw_captures_linked(captures));
}

static lw_typed *
infer_member(lw_ufunc_object *self, const lw_dtype *in)
{
    lw_arg_spec specs[LW_MOST_PARAMS];
    lw_front_options options = self->base.options.front;
    lw_typed *typed = NULL;
    lw_error err = {0};

    options.narrow = self->member->narrow;
    lw_member_specs(self->member, self->base.tree, in, specs);
    if (lw_infer_specs(self->base.tree, &options, specs, self->member->n_params, &typed,
                       &err) != LW_OK)
        return (lw_typed *)lw_py_raise(&err);
    return typed;
}

lw_typed *
lw_ufunc_infer(lw_ufunc_object *self, const lw_dtype *in)
{
    lw_type types[LW_MAX_ARGS];
    lw_typed *typed = NULL;
    lw_error err = {0};

    if (refresh_tree(self) < 0)
        return NULL;
    if (self->member != NULL)
        return infer_member(self, in);
    for (int i = 0; i < self->base.nin; i++)
        types[i] = (lw_type)in[i];
    if (lw_infer(self->base.tree, &self->base.options.front, types, (uint32_t)self->base.nin,
                 &typed, &err) != LW_OK)
        return (lw_typed *)lw_py_raise(&err);
    return typed;
}

static void
dump_typed(const lw_ufunc_object *self, const lw_typed *typed)
{
    lw_text text = {0};

    if (!lw_dump_wanted("typed", self->table->name))
        return;
    lw_typed_print(typed, &text);
    lw_dump("typed", self->table->name, lw_text_get(&text));
    lw_text_reset(&text);
}

static lw_scalar *
make_scalar(lw_ufunc_object *self, const lw_dtype *in, const lw_dtype *out)
{
    lw_scalar *scalar = NULL;
    lw_error err = {0};
    lw_typed *typed = lw_ufunc_infer(self, in);
    lw_status status;

    if (typed == NULL)
        return NULL;
    dump_typed(self, typed);
    status = out ? lw_infer_check_results(typed, out, (uint32_t)self->base.nout, &err) : LW_OK;
    if (status == LW_OK)
        status = lw_lower(typed, out, out ? (uint32_t)self->base.nout : 0, &scalar, &err);
    lw_typed_free(typed);
    if (status != LW_OK)
        return (lw_scalar *)lw_py_raise(&err);
    if (scalar->n_out == (uint32_t)self->base.nout)
        return scalar;
    if (scalar->n_out == 0) {
        lw_fail(
            &err, LW_ERR_TYPING,
            "`%s` returns no number for these types: return a number, or a tuple of numbers "
            "for several outputs",
            self->table->name);
        lw_scalar_free(scalar);
        return (lw_scalar *)lw_py_raise(&err);
    }
    PyErr_Format(PyExc_TypeError,
                 "`%s` returns %u values for these types, but was made with %d",
                 self->table->name, (unsigned)scalar->n_out, self->base.nout);
    lw_scalar_free(scalar);
    return NULL;
}

static lw_loop *
loop_of_scalar(lw_ufunc_object *self, lw_scalar *scalar, const lw_dtype *in, bool declared)
{
    lw_loop *loop = lw_alloc_zero(1, sizeof *loop);

    if (loop == NULL) {
        lw_scalar_free(scalar);
        return (lw_loop *)PyErr_NoMemory();
    }
    loop->nin = self->base.nin;
    loop->nout = self->base.nout;
    loop->scalar = scalar;
    loop->declared = declared;
    if (self->member != NULL)
        lw_member_note(self->member, scalar, &loop->uniforms);
    else
        lw_uniforms_none(&loop->uniforms, loop->nin);
    memcpy(loop->types, in, (size_t)loop->nin * sizeof *in);
    memcpy(loop->types + loop->nin, scalar->out, (size_t)loop->nout * sizeof *in);
    return loop;
}

lw_loop *
lw_ufunc_make(lw_ufunc_object *self, const lw_dtype *in, const lw_dtype *out, bool declared)
{
    lw_scalar *scalar = make_scalar(self, in, out);
    lw_loop *loop;

    if (scalar == NULL)
        return NULL;
    loop = loop_of_scalar(self, scalar, in, declared);
    if (loop == NULL)
        return NULL;
    return lw_ufunc_add_loop(self, loop) < 0 ? NULL : loop;
}

lw_loop *
lw_ufunc_find(lw_ufunc_object *self, const lw_dtype *in)
{
    size_t size = (size_t)self->base.nin * sizeof *in;

    for (uint32_t i = 0; i < self->base.loops.n; i++)
        if (memcmp(self->base.loops.data[i]->types, in, size) == 0)
            return self->base.loops.data[i];
    return NULL;
}

/* ---- failures, remembered ---- */

static PyObject *
key_of(const lw_ufunc_object *self, const lw_dtype *in)
{
    char text[LW_MAX_ARGS];

    for (int i = 0; i < self->base.nin; i++)
        text[i] = (char)in[i];
    return PyBytes_FromStringAndSize(text, self->base.nin);
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
remember_failure(lw_ufunc_object *self, const lw_dtype *in)
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

static bool
raise_remembered(lw_ufunc_object *self, const lw_dtype *in)
{
    PyObject *key = key_of(self, in), *value, *copy;

    if (key == NULL)
        return true;
    value = PyDict_GetItemWithError(self->failures, key); /* borrowed */
    Py_DECREF(key);
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

int
lw_ufunc_warn(lw_ufunc_object *self, const char *text)
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
warn_of_many(lw_ufunc_object *self)
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
    result = lw_ufunc_warn(self, lw_text_get(&text));
    lw_text_reset(&text);
    return result;
}

/* For inputs between the two, does neither go before the other? `meet` gets those inputs. */
static bool
is_ambiguous(const lw_loop *a, const lw_loop *b, lw_dtype *meet)
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
warn_of_pair(lw_ufunc_object *self, const lw_loop *a, const lw_loop *b)
{
    PyObject *first = lw_loop_text(a), *second = lw_loop_text(b), *text = NULL;
    int result = -1;

    if (first != NULL && second != NULL)
        text =
            PyUnicode_FromFormat("W202: signatures `%U` and `%U` of `%s` fit the same inputs, "
                                 "and neither is narrower: the first is taken",
                                 first, second, self->table->name);
    if (text != NULL)
        result = lw_ufunc_warn(self, PyUnicode_AsUTF8(text));
    Py_XDECREF(text);
    Py_XDECREF(first);
    Py_XDECREF(second);
    return result;
}

int
lw_ufunc_warn_ambiguous(lw_ufunc_object *self)
{
    lw_dtype meet[LW_MAX_ARGS];

    for (uint32_t i = 0; i < self->base.n_declared; i++)
        for (uint32_t k = i + 1; k < self->base.n_declared; k++)
            if (is_ambiguous(self->base.loops.data[i], self->base.loops.data[k], meet) &&
                lw_ufunc_find(self, meet) == NULL)
                return warn_of_pair(self, self->base.loops.data[i], self->base.loops.data[k]);
    return 0;
}

static lw_loop *
find_or_make(lw_ufunc_object *self, const lw_dtype *in)
{
    lw_loop *loop = lw_ufunc_find(self, in);

    if (loop != NULL || raise_remembered(self, in))
        return loop;
    if (warn_of_many(self) < 0)
        return NULL;
    loop = lw_ufunc_make(self, in, NULL, false);
    if (loop == NULL && !PyErr_ExceptionMatches(PyExc_MemoryError) &&
        PyErr_ExceptionMatches(PyExc_Exception))
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

/* The function's parameter that operand i is; NULL: it is one of *args. */
static const char *
operand_name(const lw_ufunc_object *self, int i)
{
    const lw_fn *fn = &self->base.tree->fns.data[1];

    for (uint32_t k = 0; k < fn->params.n && fn->params.data[k].kind != LW_PARAM_VARARG; k++)
        if ((self->member == NULL || self->member->specs[k].kind == LW_ARGK_SCALAR) && i-- == 0)
            return fn->params.data[k].name;
    return NULL;
}

/* Which argument stands in the way of this loop, if one does. */
static int
first_unsafe(const lw_loop *loop, const lw_wanted *wanted)
{
    for (int i = 0; i < loop->nin; i++)
        if (wanted->weak[i] ? !lw_weak_fits(wanted->weak[i], loop->types[i])
                            : !lw_can_cast_safe(wanted->in[i], loop->types[i]))
            return i;
    return -1;
}

static void
add_loop_line(lw_text *text, const lw_ufunc_object *self, const lw_loop *loop,
              const lw_wanted *wanted)
{
    int unsafe = first_unsafe(loop, wanted);

    lw_text_add(text, "\n  (");
    for (int i = 0; i < loop->uniforms.first; i++)
        lw_text_addf(text, "%s%s", i ? ", " : "", lw_dtypes[loop->types[i]].public_name);
    lw_text_addf(text, ") -> %s", lw_dtypes[loop->types[loop->nin]].public_name);
    for (int i = loop->nin + 1; i < loop->nin + loop->nout; i++)
        lw_text_addf(text, ", %s", lw_dtypes[loop->types[i]].public_name);
    if (unsafe >= 0)
        lw_no_loop_argument(text, unsafe, operand_name(self, unsafe), wanted->in[unsafe],
                            wanted->weak[unsafe], loop->types[unsafe]);
}

static void
raise_no_loop(lw_ufunc_object *self, const lw_wanted *wanted)
{
    enum { SHOWN = 8 };
    lw_text text = {0};
    uint32_t n = self->base.loops.n;

    lw_text_addf(&text, "E181: `%s` has no loop for (", self->table->name);
    for (int i = 0; i < lw_shown_inputs(self); i++)
        add_operand(&text, wanted, i);
    lw_text_add(&text, "), casting=\"safe\"; loops tried in order:");
    for (uint32_t i = 0; i < n && i < SHOWN; i++)
        add_loop_line(&text, self, self->base.loops.data[i], wanted);
    if (n > SHOWN)
        lw_text_addf(&text, "\n  and %u more", (unsigned)(n - SHOWN));
    lw_text_add(&text, "\n  = help: add a signature with add(), convert the argument, or pass "
                       "signature= with casting=\"same_kind\"");
    PyErr_SetString(PyExc_TypeError, lw_text_get(&text));
    lw_text_reset(&text);
}

/* ---- declared signatures ---- */

static bool
outputs_fit(const lw_loop *loop, const lw_wanted *wanted)
{
    for (int i = 0; i < loop->nout; i++)
        if (wanted->out[i] != LW_DT_void && wanted->out[i] != loop->types[loop->nin + i])
            return false;
    return true;
}

typedef bool (*castable)(lw_dtype from, lw_dtype to);

static bool
inputs_fit(const lw_loop *loop, const lw_wanted *wanted, castable can_cast)
{
    for (int i = 0; i < loop->nin; i++) {
        lw_dtype slot = loop->types[i];
        if (wanted->weak[i]
                ? !lw_weak_fits(wanted->weak[i], slot)
                : (wanted->fixed[i] ? wanted->in[i] != slot : !can_cast(wanted->in[i], slot)))
            return false;
    }
    return !wanted->reduction || loop->types[0] == loop->types[loop->nin];
}

/* Could b's slots take everything that a's can, with one of them wider? Then a goes first. */
static bool
narrower(const lw_loop *a, const lw_loop *b, const lw_wanted *wanted)
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
n_casts(const lw_loop *loop, const lw_wanted *wanted)
{
    int n = 0;

    for (int i = 0; i < loop->nin; i++)
        n += !wanted->weak[i] && loop->types[i] != wanted->in[i];
    return n;
}

static bool
is_minimal(const lw_ufunc_object *self, const lw_loop *loop, const lw_wanted *wanted,
           castable can_cast)
{
    for (uint32_t i = 0; i < self->base.loops.n; i++) {
        const lw_loop *other = self->base.loops.data[i];
        if (outputs_fit(other, wanted) && inputs_fit(other, wanted, can_cast) &&
            narrower(other, loop, wanted))
            return false;
    }
    return true;
}

/* Of the loops that fit the minimal ones, of these the one that casts least, of equals the
 * first in canonical order. */
static lw_loop *
best_fit(lw_ufunc_object *self, const lw_wanted *wanted, castable can_cast)
{
    lw_loop *best = NULL;

    for (uint32_t i = 0; i < self->base.loops.n; i++) {
        lw_loop *loop = self->base.loops.data[i];
        if (outputs_fit(loop, wanted) && inputs_fit(loop, wanted, can_cast) &&
            is_minimal(self, loop, wanted, can_cast) &&
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

static bool
all_weak(const lw_ufunc_object *self, const lw_wanted *wanted)
{
    for (int i = 0; i < lw_shown_inputs(self); i++)
        if (!wanted->weak[i])
            return false;
    return true;
}

static lw_loop *
choose_declared(lw_ufunc_object *self, const lw_wanted *wanted)
{
    bool out_wanted = false;
    lw_loop *loop = NULL;

    if (all_weak(self, wanted)) { /* nothing but Python numbers: what they are by themselves */
        lw_wanted strong = *wanted;
        for (int i = 0; i < lw_shown_inputs(self); i++) {
            strong.in[i] = default_of(wanted->weak[i]);
            strong.weak[i] = 0;
        }
        loop = best_fit(self, &strong, lw_can_cast_safe);
    }
    if (loop == NULL)
        loop = best_fit(self, wanted, lw_can_cast_safe);
    for (int i = 0; i < self->base.nout; i++)
        out_wanted |= wanted->out[i] != LW_DT_void;
    /* With dtype= or signature= the user chose: NumPy then checks the casts by `casting`. */
    if (loop == NULL && out_wanted)
        loop = best_fit(self, wanted, lw_can_cast_same_kind);
    if (loop == NULL && !out_wanted)
        raise_no_loop(self, wanted);
    return loop;
}

/* ---- any dtypes ---- */

static lw_dtype
strong_part(const lw_ufunc_object *self, const lw_wanted *wanted)
{
    lw_dtype all = LW_DT_void;

    for (int i = 0; i < lw_shown_inputs(self); i++)
        if (!wanted->weak[i])
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
static lw_loop *
retry_with_ints(lw_ufunc_object *self, const lw_wanted *wanted, lw_dtype *in)
{
    PyObject *type, *value, *traceback;
    bool changed = false;
    lw_loop *loop;

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

static lw_loop *
choose_by_inputs(lw_ufunc_object *self, const lw_wanted *wanted)
{
    lw_dtype in[LW_MAX_ARGS] = {LW_DT_void}, strong = strong_part(self, wanted);
    lw_loop *loop;

    for (int i = 0; i < self->base.nin; i++)
        in[i] = wanted->weak[i] ? weak_dtype(wanted->weak[i], strong) : wanted->in[i];
    loop = find_or_make(self, in);
    return loop ? loop : retry_with_ints(self, wanted, in);
}

/* With an output dtype asked for, all free inputs take it; NumPy checks the casts. */
static lw_loop *
choose_by_output(lw_ufunc_object *self, const lw_wanted *wanted, lw_dtype dtype)
{
    lw_dtype in[LW_MAX_ARGS];
    lw_loop *loop;

    for (int i = 0; i < self->base.nin; i++)
        in[i] = wanted->fixed[i] ? wanted->in[i] : dtype;
    lw_hidden_inputs(self, in);
    loop = find_or_make(self, in);
    if (loop == NULL || !outputs_fit(loop, wanted))
        return NULL;
    return wanted->reduction && loop->types[0] != loop->types[loop->nin] ? NULL : loop;
}

static lw_dtype
output_asked_for(const lw_ufunc_object *self, const lw_wanted *wanted)
{
    for (int i = 0; i < self->base.nout; i++)
        if (wanted->out[i] != LW_DT_void)
            return wanted->out[i];
    return LW_DT_void;
}

/* The elements become accumulators: what that would change (truth values of comparisons, whole
 * numbers of floats) is no fold of the elements. */
static lw_loop *
refuse_accumulator(const lw_ufunc_object *self, const lw_loop *loop)
{
    const char *from = lw_dtypes[loop->types[0]].public_name,
               *to = lw_dtypes[loop->types[loop->nin]].public_name;

    PyErr_Format(PyExc_TypeError,
                 "`%s` of %s gives %s, and a reduction takes results as operands again: pass "
                 "dtype=\"%s\" if the elements are meant to be cast first",
                 self->table->name, from, to, to);
    return NULL;
}

static bool
is_accumulator(const lw_ufunc_object *self, const lw_loop *loop)
{
    return lw_can_cast_same_kind(loop->types[0], loop->types[loop->nin]) || self->folds_truth;
}

static lw_loop *
choose_lazily(lw_ufunc_object *self, const lw_wanted *wanted)
{
    lw_dtype asked = output_asked_for(self, wanted);
    lw_loop *loop = choose_by_inputs(self, wanted);

    if (loop == NULL && asked == LW_DT_void)
        return NULL;
    if (loop != NULL && outputs_fit(loop, wanted)) {
        if (!wanted->reduction || loop->types[0] == loop->types[loop->nin])
            return loop;
        if (asked == LW_DT_void && !is_accumulator(self, loop))
            return refuse_accumulator(self, loop);
        asked = loop->types[loop->nin]; /* an accumulator of the result's type */
    }
    PyErr_Clear(); /* a body that cannot be typed for the inputs may be for the dtype asked for
                    */
    return choose_by_output(self, wanted, asked);
}

lw_loop *
lw_ufunc_choose(lw_ufunc_object *self, const lw_wanted *wanted)
{
    return self->lazy ? choose_lazily(self, wanted) : choose_declared(self, wanted);
}

/* ---- for the device side ---- */

lw_loop *
lw_ufunc_loop(lw_ufunc *base, const lw_dtype *in)
{
    lw_ufunc_object *self = lw_ufunc_whole(base);
    lw_wanted wanted = {0};

    if (self->lazy)
        return find_or_make(self, in);
    if (lw_ufunc_find(self, in) == NULL) {
        memcpy(wanted.in, in, (size_t)base->nin * sizeof *in);
        raise_no_loop(self, &wanted);
    }
    return lw_ufunc_find(self, in);
}

/* -1 with an exception where the loop's dtypes are not the operands' and may not be cast so. */
static int
check_casts(const lw_ufunc *self, const lw_loop *loop, const lw_dtype *dtypes, const char *weak,
            NPY_CASTING rule)
{
    for (int i = 0; i < self->nin + self->nout; i++) {
        bool is_input = i < self->nin;
        lw_dtype from = is_input ? dtypes[i] : loop->types[i];
        lw_dtype to = is_input ? loop->types[i] : dtypes[i];
        if ((is_input && weak[i]) || dtypes[i] == LW_DT_void || lw_cast_allowed(from, to, rule))
            continue;
        PyErr_Format(
            PyExc_TypeError, "cannot cast `%s` %s %d from %s to %s by the casting rule",
            lw_ufunc_name(self), is_input ? "input" : "output", is_input ? i : i - self->nin,
            lw_dtypes[from].public_name, lw_dtypes[to].public_name);
        return -1;
    }
    return 0;
}

static lw_loop *
resolve_ourselves(lw_ufunc *self, const lw_dtype *dtypes, const char *weak, bool chosen,
                  PyObject *casting)
{
    NPY_CASTING rule = NPY_SAME_KIND_CASTING;
    lw_wanted wanted = {0};
    lw_error err = {0};
    lw_loop *loop;

    if (chosen) {
        lw_fail(&err, LW_ERR_UNSUPPORTED,
                "`%s`: dtype= and signature= are not there yet with bfloat16 operands",
                lw_ufunc_name(self));
        return (lw_loop *)lw_py_raise(&err);
    }
    if (casting != NULL && PyArray_CastingConverter(casting, &rule) != NPY_SUCCEED)
        return NULL;
    memcpy(wanted.in, dtypes, (size_t)self->nin * sizeof *dtypes);
    memcpy(wanted.weak, weak, (size_t)self->nin);
    loop = lw_ufunc_choose(lw_ufunc_whole(self), &wanted);
    return loop && check_casts(self, loop, dtypes, weak, rule) == 0 ? loop : NULL;
}

lw_loop *
lw_ufunc_resolve(lw_ufunc *self, const lw_dtype *dtypes, const char *weak, PyObject *signature,
                 PyObject *dtype, PyObject *casting)
{
    lw_dtype in[LW_MAX_ARGS];
    PyObject *answer;

    if (lw_beyond_numpy(self->nin, self->nout, dtypes, weak))
        return resolve_ourselves(self, dtypes, weak, signature != NULL || dtype != NULL,
                                 casting);
    answer = lw_numpy_resolve(self->inner, self->nin, self->nout, dtypes, weak, signature,
                              dtype, casting);
    if (answer == NULL)
        return NULL;
    for (int i = 0; i < self->nin; i++)
        in[i] = lw_dtype_from_num(((PyArray_Descr *)PyTuple_GET_ITEM(answer, i))->type_num);
    Py_DECREF(answer);
    return lw_ufunc_loop(self, in);
}

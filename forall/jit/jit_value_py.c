/* Functions of lw.jit that are called on the host: f(3), f(array). The function is typed as one
 * that returns numbers, by a companion object that has these specialisations, and runs once, on
 * the calling thread. */
#include "forall/jit/jit_py_internal.h"

#include "core/base/memory.h"
#include "core/host/counted_memory.h"
#include "core/host/pieces.h"
#include "core/host/raise_note.h"
#include "core/py/array/counted_array.h"
#include "core/py/compiled/renew.h"
#include "core/py/compiled/entry.h"
#include "core/py/print_py.h"
#include "core/py/raise_row.h"
#include "core/py/signals.h"

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

typedef struct argument_lender {
    lw_lender base;
    const lw_bound *bound;
} argument_lender;

static void *
lend_argument(const lw_lender *lender, const void *data)
{
    const lw_bound *bound = ((const argument_lender *)lender)->bound;
    PyObject *object = lw_jit_argument_at(bound, (uint64_t)(uintptr_t)data);
    PyGILState_STATE gil;
    void *memory;

    if (object == NULL)
        return NULL;
    gil = PyGILState_Ensure(); /* the code may run without it */
    memory = lw_counted_over_object((void *)(uintptr_t)data, object);
    PyGILState_Release(gil);
    return memory;
}

static PyObject *
run(const lw_specialisation *specialisation, const lw_host_entry *entry, const lw_bound *bound,
    PyObject *const *row, Py_ssize_t n_args)
{
    uint64_t few[FEW_RESULTS], *parts = few;
    value_call call = {.code = (lw_value_code)(uintptr_t)entry->address,
                       .values = bound->values};
    argument_lender lender = {.base.lend = lend_argument, .bound = bound};
    PyObject *result = NULL;
    bool ended;

    if (specialisation->scalar->n_changed > 0 &&
        lw_jit_check_changes(specialisation, bound, row, n_args) < 0)
        return NULL;
    if (specialisation->scalar->n_out_parts > FEW_RESULTS)
        parts = lw_alloc(specialisation->scalar->n_out_parts * sizeof *parts);
    if (parts == NULL)
        return PyErr_NoMemory();
    call.parts = parts;
    if (entry->borrows)
        lw_lender_begin(&lender.base);
    ended = run_until(&call, entry, bound);
    if (entry->borrows)
        lw_lender_end(&lender.base);
    if (!ended)
        (void)(entry->prints && lw_print_show_anyway());
    else if (!entry->prints || lw_print_show() == 0)
        result = call.status ? raise_status(specialisation, call.status)
                             : lw_jit_results_of(specialisation->scalar, parts, bound, row);
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
        else if (specialisation != NULL && specialisation->scalar->never_returns)
            result = PyUnicode_FromString(lw_dtypes[LW_DT_b1].public_name);
        else if (specialisation != NULL)
            result = lw_jit_form_of(specialisation->scalar, specialisation->scalar->result, &i);
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

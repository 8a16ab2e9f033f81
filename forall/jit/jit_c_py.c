/* Functions of lw.jit as functions of C's, with numbers and pointers: lw.cfunc, f.address. What
 * one raises goes to sys.unraisablehook, because its caller knows no exceptions. */
#include "forall/jit/jit_py_internal.h"

#include "core/base/lock.h"
#include "core/link/elf_loader.h"
#include "core/py/print_py.h"
#include "core/py/raise_row.h"
#include "core/py/text_py.h"
#include "forall/specialisation_py_internal.h"

#include <string.h>

/* ---- what they end with ---- */

/* Which specialisation an address is of. A row whose code is gone is never looked for, and
 * gives way to the next function at its address. */
typedef struct row {
    struct row *next;
    void *address;
    const lw_specialisation *specialisation;
} row;

static lw_lock lock = LW_LOCK_INIT;
static row *rows;

static row *
row_of(const void *address)
{
    row *at = rows;

    while (at != NULL && at->address != address)
        at = at->next;
    return at;
}

static bool
note_row(void *address, const lw_specialisation *specialisation)
{
    row *one;

    lw_lock_take(&lock);
    one = row_of(address);
    if (one == NULL && (one = lw_alloc_zero(1, sizeof *one)) != NULL) {
        one->next = rows;
        one->address = address;
        rows = one;
    }
    if (one != NULL)
        one->specialisation = specialisation;
    lw_lock_give(&lock);
    return one != NULL;
}

/* In any thread, with the GIL or without. */
static void
ended(const void *address, int32_t status, uint64_t first, uint64_t second)
{
    lw_raise_place place = {.kind = LW_AT_CALL, .words = {first, second}};
    const lw_specialisation *specialisation;
    PyGILState_STATE state;
    PyObject *type, *value, *trace;

    if (!Py_IsInitialized())
        return;
    state = PyGILState_Ensure();
    PyErr_Fetch(&type, &value, &trace);
    lw_lock_take(&lock);
    specialisation = row_of(address) ? row_of(address)->specialisation : NULL;
    lw_lock_give(&lock);
    if (specialisation != NULL && status > 0)
        (void)lw_raise_at(&specialisation->scalar->raises[status - 1], &place);
    else
        (void)lw_print_show();
    if (PyErr_Occurred())
        PyErr_WriteUnraisable(specialisation ? specialisation->function->py_func : NULL);
    PyErr_Restore(type, value, trace);
    PyGILState_Release(state);
}

void
lw_jit_c_register(void)
{
    static lw_extern_row table[] = {{LW_C_ENTRY_ENDED, NULL}};

    table[0].address = (void *)(uintptr_t)ended;
    lw_extern_provide(table, 1);
}

/* ---- the function ---- */

static bool
is_simple(lw_dtype dtype)
{
    return !lw_is_complex(dtype) && dtype != LW_DT_f16 && dtype != LW_DT_bf16;
}

static int
refuse(const lw_function *self, const char *what)
{
    PyErr_Format(PyExc_TypeError,
                 "%s: a C function takes numbers (bool, integers, float32, float64) and "
                 "pointers, and returns one number or nothing; got %s",
                 lw_function_name(self), what);
    return -1;
}

/* "float64, int64*" */
static int
print_params(const lw_specialisation *specialisation, lw_text *out)
{
    for (uint32_t i = 0; i < specialisation->n_specs; i++) {
        const lw_arg_spec *spec = &specialisation->specs[i];
        bool number = spec->kind == LW_ARGK_SCALAR || spec->kind == LW_ARGK_WEAK;
        bool pointer =
            spec->kind == LW_ARGK_ARRAY && spec->ndim == 1 && spec->layout == LW_LAYOUT_C;
        if (spec->kind == LW_ARGK_CONSTANT)
            continue;
        if (!pointer && !(number && is_simple(spec->dtype)))
            return refuse(specialisation->function,
                          number ? "a complex or 16-bit number" : "another parameter");
        lw_text_addf(out, "%s%s%s", out->n ? ", " : "",
                     spec->record ? spec->record->name : lw_dtypes[spec->dtype].public_name,
                     pointer ? "*" : "");
    }
    return 0;
}

/* The type of the result as text; NULL with an exception. */
static const char *
result_type(const lw_specialisation *specialisation)
{
    const lw_scalar *scalar = specialisation->scalar;

    if (scalar->n_out == 0)
        return "void";
    if (scalar->n_out > 1 || scalar->result->kind != LW_FORM_NUMBER ||
        (scalar->arrays != NULL && scalar->arrays[0].is_array) || !is_simple(scalar->out[0]))
        return refuse(specialisation->function, "a result of another kind"), NULL;
    return lw_dtypes[scalar->out[0]].public_name;
}

/* Where a result is declared as nothing, there may be none. */
static int
check_void(const lw_function *self, PyObject *sig, const char *result)
{
    lw_signature_list list = {0};
    lw_arena arena;
    int failed = 0;

    if (sig == Py_None || strcmp(result, "void") == 0)
        return 0;
    lw_arena_init(&arena);
    failed = lw_signatures_read(sig, false, &arena, &list);
    if (!failed && list.n == 1 && list.data[0].result.kind == LW_SIG_VOID) {
        PyErr_Format(PyExc_TypeError, "%s: the signature declares no result, and it returns %s",
                     lw_function_name(self), result);
        failed = -1;
    }
    lw_arena_reset(&arena);
    return failed;
}

/* The only one of a function for which no signature is given. */
static lw_specialisation *
only_one(lw_function *self)
{
    lw_specialisation *found = NULL;

    for (lw_specialisation *at = lw_grown_first(&self->specialisations); at != NULL;
         at = lw_grown_next(at)) {
        if (at->target != at || at->origin != NULL)
            continue;
        if (found != NULL) {
            PyErr_Format(PyExc_ValueError,
                         "%s is compiled for several types; lanewise.cfunc(sig)(f) is a C "
                         "function for one of them",
                         lw_function_name(self));
            return NULL;
        }
        found = at;
    }
    return found ? found : lw_specialisation_of(self, Py_None);
}

static const lw_entry_key key = {.form = LW_ENTRY_C};

/* Offsets from a pointer may need 64 bits. */
static lw_specialisation *
wide_one(lw_function *self, PyObject *sig)
{
    lw_specialisation *one = sig == Py_None ? only_one(self) : lw_specialisation_of(self, sig);

    return one ? lw_specialisation_twin(one, false, one->negative) : NULL;
}

static PyObject *
c_function(lw_function *self, PyObject *sig)
{
    lw_specialisation *specialisation = wide_one(self, sig);
    lw_text params = {0};
    lw_host_entry *entry = NULL;
    const char *result = NULL;
    PyObject *made = NULL;

    if (specialisation != NULL && print_params(specialisation, &params) == 0)
        result = result_type(specialisation);
    if (result != NULL && check_void(self, sig, result) == 0)
        entry = lw_specialisation_host(specialisation, &key);
    if (entry != NULL && !note_row(entry->address, specialisation)) {
        PyErr_NoMemory();
        entry = NULL;
    }
    if (entry != NULL) {
        made = Py_BuildValue("(Kss)", (unsigned long long)(uintptr_t)entry->address,
                             lw_text_get(&params), result);
    }
    lw_text_reset(&params);
    return made;
}

PyObject *
lw_jit_c_function(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *kernel, *sig;
    lw_jit *value;

    if (!PyArg_ParseTuple(args, "O!O:_c_function", lw_core->jit_type, &kernel, &sig))
        return NULL;
    value = lw_jit_companion((lw_jit *)kernel);
    return value ? c_function(&value->base, sig) : NULL;
}

PyObject *
lw_jit_c_function_form(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *kernel, *sig;
    const char *form;
    lw_jit *value;
    lw_specialisation *specialisation;

    if (!PyArg_ParseTuple(args, "O!Os:_c_function_form", lw_core->jit_type, &kernel, &sig,
                          &form))
        return NULL;
    value = lw_jit_companion((lw_jit *)kernel);
    specialisation = value ? wide_one(&value->base, sig) : NULL;
    return specialisation ? lw_specialisation_form(specialisation, &key, 0, form) : NULL;
}

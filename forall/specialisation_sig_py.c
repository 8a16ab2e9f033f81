/* From signatures to specialisations: those of the decorator, of inspection and of lw.explain.
 */
#include "core/py/numpy_api.h"

#include "forall/kernel_py.h"
#include "forall/specialisation_py_internal.h"

#include "core/base/memory.h"
#include "core/front/read/critical.h"
#include "core/py/raise.h"
#include "core/py/text_py.h"
#include "core/py/types/signature_read.h"

#include <string.h>

static bool
copy_item_names(lw_specialisation *specialisation, const lw_sig_type *type, lw_arg_spec *out)
{
    const char **names;

    if (type->class_name == NULL)
        return true;
    out->class_name = lw_arena_strdup(&specialisation->arena, type->class_name);
    out->names = names = lw_arena_take(&specialisation->arena, (type->n + 1) * sizeof *names);
    if (out->class_name == NULL || names == NULL)
        return false;
    for (uint32_t i = 0; i < type->n; i++)
        if ((names[i] = lw_arena_strdup(&specialisation->arena, type->names[i])) == NULL)
            return false;
    return true;
}

static int spec_of_sig(lw_specialisation *specialisation, const lw_sig_type *type,
                       lw_arg_spec *out);

static int
spec_of_tuple(lw_specialisation *specialisation, const lw_sig_type *type, lw_arg_spec *out)
{
    lw_arg_spec *items = lw_arena_take(&specialisation->arena, (type->n + 1) * sizeof *items);

    out->kind = LW_ARGK_TUPLE;
    out->n = type->n;
    if (items == NULL || !copy_item_names(specialisation, type, out)) {
        PyErr_NoMemory();
        return -1;
    }
    out->items = items;
    for (uint32_t i = 0; i < type->n; i++)
        if (spec_of_sig(specialisation, &type->items[i], &items[i]) < 0)
            return -1;
    return 0;
}

/* An array of as many elements as an index asks for. */
static int
spec_of_pointer(lw_specialisation *specialisation, const lw_sig_type *type, lw_arg_spec *out)
{
    if (specialisation->function->n_index > 0) {
        PyErr_Format(
            PyExc_TypeError,
            "signature of `%s`: pointers are arguments of functions of jit: use an array",
            lw_function_name(specialisation->function));
        return -1;
    }
    out->kind = LW_ARGK_ARRAY;
    out->ndim = 1;
    out->layout = LW_LAYOUT_C;
    out->record = type->record;
    if (type->dtype == LW_DT_void && type->record == NULL)
        out->dtype = LW_DT_u8;
    out->endless = true;
    if (specialisation->function->gives_value)
        specialisation->function->takes_addresses = true;
    else
        out->pointer = specialisation->has_pointer = true;
    return 0;
}

static int
spec_of_sig(lw_specialisation *specialisation, const lw_sig_type *type, lw_arg_spec *out)
{
    memset(out, 0, sizeof *out);
    out->dtype = type->dtype;
    switch (type->kind) {
    case LW_SIG_SCALAR: out->kind = LW_ARGK_SCALAR; return 0;
    case LW_SIG_RECORD:
        out->kind = LW_ARGK_RECORD;
        out->record = type->record;
        return 0;
    case LW_SIG_ARRAY:
        out->kind = LW_ARGK_ARRAY;
        out->record = type->record;
        out->ndim = (uint8_t)type->ndim;
        out->layout = type->layout == 'C'   ? LW_LAYOUT_C
                      : type->layout == 'F' ? LW_LAYOUT_F
                                            : LW_LAYOUT_ANY;
        out->readonly = type->readonly;
        return 0;
    case LW_SIG_TUPLE: return spec_of_tuple(specialisation, type, out);
    case LW_SIG_VOID: /* none */
        out->kind = LW_ARGK_CONSTANT;
        out->constant = lw_none_constant(specialisation->function->tree);
        return 0;
    case LW_SIG_POINTER: return spec_of_pointer(specialisation, type, out);
    case LW_SIG_OPTIONAL: /* core/py/types/signature_read.c has split it */
    case LW_SIG_NONE: break;
    }
    PyErr_SetString(PyExc_TypeError, "signature: an argument without a type");
    return -1;
}

static int
check_count(const lw_function *self, const lw_signature *signature, uint32_t *first)
{
    uint32_t most = self->n_params - self->n_index, n = signature->n_args;
    lw_error err = {0};

    *first = 0;
    if (self->statics != 0) {
        PyErr_Format(PyExc_TypeError,
                     "signature `%.100s`: `%s` has static parameters, whose values a signature "
                     "does not give: call it first, then ask without a signature",
                     signature->text, lw_function_name(self));
        return -1;
    }
    if (self->n_index && n > most && n >= self->n_index + self->n_required &&
        n <= self->n_params) { /* it names the index too */
        for (uint32_t i = 0; i < self->n_index; i++)
            if (signature->args[i].kind != LW_SIG_SCALAR ||
                !lw_is_integer(signature->args[i].dtype)) {
                PyErr_Format(
                    PyExc_TypeError,
                    "signature `%.100s`: parameter %u of `%s` is the index, an integer",
                    signature->text, (unsigned)i + 1, lw_function_name(self));
                return -1;
            }
        *first = self->n_index;
        return 0;
    }
    if (n >= self->n_required && n <= most)
        return 0;
    lw_fail(&err, LW_ERR_SIGNATURE,
            "E182: signature `%.100s` has %u argument%s, but `%s` takes %u%s", signature->text,
            (unsigned)n, n == 1 ? "" : "s", lw_function_name(self), (unsigned)most,
            self->n_index ? " behind the index" : "");
    lw_py_raise(&err);
    return -1;
}

static bool
has_array(const lw_sig_type *type)
{
    bool has = type->kind == LW_SIG_ARRAY;

    for (uint32_t i = 0; type->kind == LW_SIG_TUPLE && i < type->n; i++)
        has |= has_array(&type->items[i]);
    return has;
}

/* A copy in the arena; NULL: memory is out. */
static lw_sig_type *
copy_types(lw_arena *arena, const lw_sig_type *types, uint32_t n)
{
    lw_sig_type *copy = lw_arena_take(arena, (n + 1) * sizeof *copy);

    for (uint32_t i = 0; copy != NULL && i < n; i++) {
        copy[i] = types[i];
        copy[i].names = NULL;
        copy[i].class_name = NULL;
        if (types[i].kind == LW_SIG_TUPLE)
            copy[i].items = copy_types(arena, types[i].items, types[i].n);
    }
    return copy;
}

/* Notes the result that a signature declares, if it may have one. */
static int
note_result(lw_specialisation *specialisation, const lw_signature *signature)
{
    const lw_sig_type *result = &signature->result;
    uint32_t n = lw_signature_n_out(signature);
    lw_dtype *out;

    if (n == 0)
        return 0;
    if (has_array(result)) {
        specialisation->result = copy_types(&specialisation->arena, result, 1);
        return specialisation->arena.failed ? (PyErr_NoMemory(), -1) : 0;
    }
    out = lw_arena_take(&specialisation->arena, n * sizeof *out);
    for (uint32_t i = 0; out != NULL && i < n; i++) {
        const lw_sig_type *one = result->kind == LW_SIG_TUPLE ? &result->items[i] : result;
        if (one->kind != LW_SIG_SCALAR) {
            PyErr_Format(PyExc_TypeError,
                         "signature `%.100s`: expected numbers or arrays as results, or tuples "
                         "of them",
                         signature->text);
            return -1;
        }
        out[i] = one->dtype;
    }
    specialisation->out = out;
    specialisation->n_out = out != NULL ? n : 0;
    if (out == NULL)
        PyErr_NoMemory();
    return out != NULL ? 0 : -1;
}

static lw_specialisation *
specialisation_of_signature(lw_function *self, const lw_signature *signature)
{
    lw_arg_spec *specs = NULL;
    lw_specialisation *specialisation;
    uint32_t first;

    if (check_count(self, signature, &first) < 0)
        return NULL;
    specialisation = lw_specialisation_new(self, &specs);
    for (uint32_t i = first; specialisation != NULL && i < signature->n_args; i++)
        if (spec_of_sig(specialisation, &signature->args[i],
                        &specs[self->n_index + i - first]) < 0) {
            lw_specialisation_free(specialisation);
            return NULL;
        }
    if (specialisation != NULL) {
        /* as is common on a GPU; other calls get twins */
        specialisation->narrow = !specialisation->has_pointer;
        lw_specialisation_set_counts(specialisation, specs);
        lw_specialisation_set_defaults(specialisation,
                                       self->n_index + signature->n_args - first, specs);
    }
    if (specialisation != NULL && self->gives_value &&
        note_result(specialisation, signature) < 0) {
        lw_specialisation_free(specialisation);
        return NULL;
    }
    return specialisation;
}

lw_typed *
lw_function_infer(lw_function *self, const lw_signature *signature,
                  const lw_front_options *options)
{
    lw_specialisation *specialisation = specialisation_of_signature(self, signature);
    lw_typed *typed = NULL;
    lw_error err = {0};

    if (specialisation == NULL)
        return NULL;
    if (lw_infer_specs(self->tree, options, specialisation->specs, specialisation->n_specs,
                       &typed, &err) != LW_OK)
        lw_py_raise(&err);
    lw_specialisation_free(specialisation);
    return typed;
}

static PyObject *
explain_signature(lw_function *self, const lw_signature *signature)
{
    lw_specialisation *specialisation = specialisation_of_signature(self, signature);
    lw_front_options options = self->options.front;
    lw_error err = {0};
    lw_text text = {0};

    if (specialisation == NULL)
        return NULL;
    options.procedure = self->n_index > 0 || signature->result.kind == LW_SIG_VOID;
    options.returns_arrays = !options.procedure;
    if (lw_explain(self->tree, &options, specialisation->specs, specialisation->n_specs, &text,
                   &err) != LW_OK) {
        lw_text_reset(&text);
        lw_py_raise(&err);
    }
    lw_specialisation_free(specialisation);
    return PyErr_Occurred() ? NULL : lw_text_take(&text);
}

PyObject *
lw_function_explain(PyObject *self, PyObject *sig)
{
    lw_signature_list list = {0};
    PyObject *result = NULL;
    lw_arena arena;

    lw_arena_init(&arena);
    if (lw_signatures_read(sig, false, &arena, &list) == 0) {
        if (list.n == 1)
            result = explain_signature((lw_function *)self, &list.data[0]);
        else
            PyErr_Format(PyExc_TypeError, "explain() takes one signature, not %u",
                         (unsigned)list.n);
    }
    lw_arena_reset(&arena);
    return result;
}

static bool
same_specs(const lw_specialisation *x, const lw_specialisation *y)
{
    for (uint32_t i = x->function->n_index; i < x->n_specs; i++)
        if (x->specs[i].kind != y->specs[i].kind ||
            lw_spec_fits(&x->specs[i], &y->specs[i], LW_TYPING_WEAK) != 0)
            return false;
    return true;
}

/* Takes `specialisation` over: returns the equal one in the list, or lowers it and adds it. */
static lw_specialisation *
keep(lw_function *self, lw_specialisation *specialisation, bool declared)
{
    for (lw_specialisation *at = lw_grown_first(&self->specialisations); at != NULL;
         at = lw_grown_next(at))
        if (at->target == at && same_specs(at, specialisation)) {
            lw_specialisation_free(specialisation);
            return at;
        }
    if (lw_specialisation_lower(specialisation) < 0) {
        lw_specialisation_free(specialisation);
        return NULL;
    }
    specialisation->declared = declared;
    lw_specialisation_publish(self, specialisation);
    return specialisation;
}

static lw_specialisation *
one_signature(lw_function *self, PyObject *signature)
{
    lw_signature_list list = {0};
    lw_specialisation *specialisation = NULL;
    lw_arena arena;

    lw_arena_init(&arena);
    if (lw_signatures_read(signature, false, &arena, &list) == 0) {
        if (list.n == 1)
            specialisation = specialisation_of_signature(self, &list.data[0]);
        else
            PyErr_Format(PyExc_ValueError, "sig must be one signature, not %.200R", signature);
    }
    lw_arena_reset(&arena);
    if (specialisation == NULL)
        return NULL;
    Py_BEGIN_CRITICAL_SECTION((PyObject *)self);
    specialisation = keep(self, specialisation, false);
    Py_END_CRITICAL_SECTION();
    return specialisation;
}

lw_specialisation *
lw_specialisation_of(lw_function *self, PyObject *signature)
{
    if (signature != NULL && signature != Py_None)
        return one_signature(self, signature);
    for (lw_specialisation *at = lw_grown_first(&self->specialisations); at != NULL;
         at = lw_grown_next(at))
        if (at->target == at)
            return at;
    PyErr_Format(PyExc_ValueError,
                 "`%s` is not compiled for any types yet: give a signature, or call it first",
                 lw_function_name(self));
    return NULL;
}

/* In a critical section. */
static int
declare(lw_function *self, PyObject *signatures)
{
    lw_signature_list list = {0};
    lw_error err = {0};
    lw_arena arena;
    int failed;

    lw_arena_init(&arena);
    failed = lw_signatures_read(signatures, false, &arena, &list);
    if (!failed && list.n > 0 && self->statics != 0) {
        PyErr_Format(PyExc_TypeError,
                     "`%s` has static parameters, whose values signatures do not give: leave "
                     "out static= or the signatures",
                     lw_function_name(self));
        failed = -1;
    }
    for (uint32_t i = 0; i < list.n && !failed; i++) {
        lw_specialisation *specialisation = NULL;
        if (!self->gives_value && lw_signature_check_kernel(&list.data[i], &err) != LW_OK)
            lw_py_raise(&err);
        else
            specialisation = specialisation_of_signature(self, &list.data[i]);
        failed = specialisation == NULL || keep(self, specialisation, true) == NULL;
    }
    if (!failed && list.n > 0)
        self->lazy = false;
    lw_arena_reset(&arena);
    return failed ? -1 : 0;
}

int
lw_function_declare(lw_function *self, PyObject *signatures)
{
    int result;

    Py_BEGIN_CRITICAL_SECTION((PyObject *)self);
    result = declare(self, signatures);
    Py_END_CRITICAL_SECTION();
    return result;
}

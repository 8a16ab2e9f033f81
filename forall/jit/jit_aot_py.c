/* Device functions compiled ahead of time, which other code calls by C's calling convention. */
#include "forall/jit/jit_py_internal.h"

#include "core/py/compiled/link_ask.h"
#include "core/py/raise.h"
#include "forall/specialisation_py_internal.h"

#include <string.h>

typedef struct wanted {
    lw_signature *signature;
    lw_dtype result; /* void: as inferred, or none */
    int cc;
    const char *output, *symbol;
} wanted;

/* Exports body(parts …) as the function `symbol`. */
static lw_status
export_body(const lw_scalar *scalar, const char *symbol, lw_module **out, lw_error *err)
{
    lw_module *module = NULL;
    const lw_func *body;
    lw_builder b;
    lw_ref *args, call;
    lw_status status;

    LW_TRY(lw_module_copy(scalar->module, &module, err));
    body = module->funcs.data[scalar->body];
    args = lw_arena_take(&module->arena, (body->params.n + 1) * sizeof *args);
    if (args == NULL)
        return lw_module_free(module), lw_fail_memory(err);
    lw_builder_start(&b, module, symbol);
    if (b.func != NULL)
        b.func->linkage = LW_EXPORTED;
    for (uint32_t i = 0; i < body->params.n; i++)
        args[i] = lw_ir_param_add(&b, body->params.data[i].type, 0, body->params.data[i].name);
    if (b.func != NULL && body->results.n)
        lw_ir_result_add(&b, body->results.data[0]);
    call = lw_ir_call(&b, scalar->body, args, body->params.n);
    lw_ir_return(&b, &call, body->results.n);
    LW_TRY(lw_ir_finish(&b, err));
    *out = module;
    return LW_OK;
fail:
    lw_module_free(module);
    return status;
}

static lw_status
check_result(const lw_scalar *scalar, const char *name, lw_error *err)
{
    const lw_func *body = scalar->module->funcs.data[scalar->body];

    if (body->results.n <= 1)
        return LW_OK;
    if (scalar->can_raise) /* other exceptions are not compiled in */
        return lw_fail(err, LW_ERR_UNSUPPORTED,
                       "`%s` makes arrays, for which memory may be missing: a function with "
                       "C's calling convention cannot say so",
                       name);
    return lw_fail(err, LW_ERR_UNSUPPORTED,
                   "`%s` returns %s: a function with C's calling convention returns one number",
                   name, scalar->n_out > 1 ? "a tuple" : "a complex number");
}

static lw_status
build(const lw_scalar *scalar, const lw_function *f, const wanted *w, lw_bytes *out,
      lw_error *err)
{
    lw_build_options options = lw_function_build_options(f);
    lw_module *module = NULL;
    lw_status status;

    LW_TRY(check_result(scalar, lw_function_name(f), err));
    LW_TRY(export_body(scalar, w->symbol, &module, err));
    status = lw_build_output(module, w->cc, w->output, &options, out, err);
    lw_module_free(module);
fail:
    return status;
}

static PyObject *
result_of(const lw_scalar *scalar, const wanted *w, const lw_bytes *bytes)
{
    const char *type = scalar->n_out ? lw_dtypes[scalar->out[0]].public_name : "void";

    if (strcmp(w->output, "ltoir") == 0)
        return Py_BuildValue("(y#s)", (const char *)bytes->data, (Py_ssize_t)bytes->n, type);
    return Py_BuildValue("(s#s)", (const char *)bytes->data, (Py_ssize_t)bytes->n, type);
}

static PyObject *
compile_typed(lw_jit *self, const lw_typed *typed, const wanted *w)
{
    uint32_t n_out = w->result != LW_DT_void;
    lw_scalar *scalar = NULL;
    lw_bytes bytes = {0};
    lw_error err = {0};
    lw_status status = LW_OK;
    PyObject *result = NULL;

    if (n_out)
        status = lw_infer_check_results(typed, &w->result, 1, &err);
    if (status == LW_OK)
        status = lw_lower(typed, n_out ? &w->result : NULL, n_out, &scalar, &err);
    if (status == LW_OK) {
        Py_BEGIN_ALLOW_THREADS
        status = build(scalar, &self->base, w, &bytes, &err);
        Py_END_ALLOW_THREADS
    }
    result = status == LW_OK ? result_of(scalar, w, &bytes) : lw_py_raise(&err);
    lw_bytes_reset(&bytes);
    lw_scalar_free(scalar);
    return result;
}

static PyObject *
compile_signature(lw_jit *self, wanted *w)
{
    lw_front_options options = self->base.options.front;
    lw_typed *typed;
    PyObject *result;

    options.procedure = w->signature->result.kind == LW_SIG_VOID;
    options.ignore_errors = true; /* its caller cannot receive a status */
    if (w->signature->result.kind == LW_SIG_SCALAR)
        w->result = w->signature->result.dtype;
    typed = lw_function_infer(&self->base, w->signature, &options);
    result = typed ? compile_typed(self, typed, w) : NULL;
    lw_typed_free(typed);
    return result;
}

/* What the code of the inferred function is linked with: a tuple. */
static PyObject *
linked_of(lw_jit *self, const lw_typed *typed, int cc)
{
    const lw_link_set *links = NULL;
    lw_scalar *scalar = NULL;
    lw_error err = {0};

    if (lw_lower(typed, NULL, 0, &scalar, &err) != LW_OK)
        return lw_py_raise(&err);
    links = lw_link_set_of((lw_compiled *)self, ((lw_compiled *)self)->captures, scalar, cc);
    lw_scalar_free(scalar);
    if (links == NULL)
        return NULL;
    return links->objects ? Py_NewRef(links->objects) : PyTuple_New(0);
}

PyObject *
lw_jit_linked(PyObject *Py_UNUSED(module), PyObject *args)
{
    lw_signature_list list = {0};
    PyObject *kernel, *sig, *result = NULL;
    lw_front_options options;
    lw_arena arena;
    lw_typed *typed;
    int cc;

    if (!PyArg_ParseTuple(args, "O!Oi:_linked", lw_core->jit_type, &kernel, &sig, &cc))
        return NULL;
    options = ((lw_jit *)kernel)->base.options.front;
    lw_arena_init(&arena);
    if (lw_signatures_read(sig, false, &arena, &list) == 0 && list.n > 0) {
        options.procedure = list.data[0].result.kind == LW_SIG_VOID;
        options.ignore_errors = true;
        typed = lw_function_infer(&((lw_jit *)kernel)->base, &list.data[0], &options);
        result = typed ? linked_of((lw_jit *)kernel, typed, cc) : NULL;
        lw_typed_free(typed);
    }
    lw_arena_reset(&arena);
    return result;
}

PyObject *
lw_jit_compile_device(PyObject *Py_UNUSED(module), PyObject *args)
{
    lw_signature_list list = {0};
    PyObject *kernel, *sig, *result = NULL;
    lw_arena arena;
    wanted w = {0};

    if (!PyArg_ParseTuple(args, "O!Oiss:_compile_device", lw_core->jit_type, &kernel, &sig,
                          &w.cc, &w.output, &w.symbol))
        return NULL;
    lw_arena_init(&arena);
    if (lw_signatures_read(sig, false, &arena, &list) == 0) {
        if (list.n == 1) {
            w.signature = &list.data[0];
            result = compile_signature((lw_jit *)kernel, &w);
        } else {
            PyErr_Format(PyExc_ValueError, "sig must be one signature, not %.200R", sig);
        }
    }
    lw_arena_reset(&arena);
    return result;
}

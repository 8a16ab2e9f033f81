#include "core/py/windows/debug_lower_py.h"

#include "core/front/lower/lower.h"
#include "core/front/read/python.h"
#include "core/front/signature.h"
#include "core/opt/loops/pieces.h"
#include "core/py/raise.h"

enum { MAX_SCALARS = 64 };

typedef struct request {
    lw_front_options options;
    lw_type in[MAX_SCALARS];
    lw_dtype out[MAX_SCALARS];
    uint32_t n_in, n_out;
} request;

static lw_status
take_signature(const char *text, request *r, lw_error *err)
{
    lw_signature signature = {0};
    const lw_sig_type *results;
    lw_status status;
    lw_arena arena;

    lw_arena_init(&arena);
    LW_TRY(lw_signature_parse(text, &arena, &signature, err));
    if (!r->options.procedure)
        LW_TRY(lw_signature_check_scalar(&signature, err));
    r->n_in = signature.n_args;
    r->n_out = lw_signature_n_out(&signature);
    results =
        signature.result.kind == LW_SIG_TUPLE ? signature.result.items : &signature.result;
    if (r->n_in > MAX_SCALARS || r->n_out > MAX_SCALARS)
        LW_TRY(lw_fail(err, LW_ERR_VALUE, "at most %d scalars here", MAX_SCALARS));
    for (uint32_t i = 0; i < r->n_in; i++)
        r->in[i] = (lw_type)signature.args[i].dtype;
    for (uint32_t i = 0; i < r->n_out; i++)
        r->out[i] = results[i].dtype;
fail:
    lw_arena_reset(&arena);
    return status;
}

static void
print_scalar(const lw_scalar *scalar, lw_text *out)
{
    lw_ir_print(scalar->module, false, out);
    for (uint32_t i = 0; i < scalar->n_raises; i++)
        lw_text_addf(out, "status %u: %s: %s, line %u in %s\n", i + 1,
                     scalar->raises[i].exception, scalar->raises[i].message,
                     scalar->raises[i].line, scalar->raises[i].function);
}

static lw_status
lower(const lw_tree *tree, const request *r, lw_text *out, lw_error *err)
{
    lw_typed *typed = NULL;
    lw_scalar *scalar = NULL;
    lw_status status;

    LW_TRY(lw_infer(tree, &r->options, r->in, r->n_in, &typed, err));
    LW_TRY(lw_lower(typed, r->n_out ? r->out : NULL, r->n_out, &scalar, err));
    print_scalar(scalar, out);
fail:
    lw_scalar_free(scalar);
    lw_typed_free(typed);
    return status;
}

static PyObject *
dump_ir(PyObject *Py_UNUSED(module), PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"function", "signature", "fma",       "precise",
                            "fastmath", "checks",    "procedure", NULL};
    request r = {.options = {.typing = LW_TYPING_WEAK}};
    int fma = 0, precise = 0, fastmath = 0, procedure = 0;
    PyObject *function, *result = NULL;
    lw_tree *tree = NULL;
    lw_text text = {0};
    lw_error err = {0};
    const char *signature;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "Os|pppIp:_dump_ir", names, &function,
                                     &signature, &fma, &precise, &fastmath, &r.options.checks,
                                     &procedure))
        return NULL;
    r.options.procedure = r.options.threads = procedure;
    r.options.fma = fma;
    r.options.precise = precise;
    r.options.fast = fastmath ? LW_FAST_ALL : 0;
    if (take_signature(signature, &r, &err) != LW_OK ||
        lw_read_function(function, NULL, &tree, NULL, &err) != LW_OK ||
        lower(tree, &r, &text, &err) != LW_OK)
        lw_py_raise(&err);
    else if (text.failed)
        PyErr_NoMemory();
    else
        result = PyUnicode_DecodeUTF8(lw_text_get(&text), (Py_ssize_t)text.n, "replace");
    lw_text_reset(&text);
    lw_tree_free(tree);
    return result;
}

static lw_status
put_in_pieces(const char *ir, uint32_t most, uint32_t *rewritten, lw_text *out, lw_error *err)
{
    lw_module *module = NULL;
    lw_status status;

    LW_TRY(lw_ir_parse(ir, &module, err));
    LW_TRY(lw_opt_pieces(module, most, rewritten, err));
    LW_TRY(lw_ir_verify(module, err));
    lw_ir_print(module, false, out);
fail:
    lw_module_free(module);
    return status;
}

static PyObject *
in_pieces(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *result = NULL;
    uint32_t rewritten = 0;
    unsigned most;
    lw_text text = {0};
    lw_error err = {0};
    const char *ir;

    if (!PyArg_ParseTuple(args, "sI:_in_pieces", &ir, &most))
        return NULL;
    if (put_in_pieces(ir, most, &rewritten, &text, &err) != LW_OK)
        lw_py_raise(&err);
    else if (text.failed)
        PyErr_NoMemory();
    else
        result = Py_BuildValue("(sI)", lw_text_get(&text), rewritten);
    lw_text_reset(&text);
    return result;
}

static PyMethodDef methods[] = {
    {"_dump_ir", (PyCFunction)(void (*)(void))dump_ir, METH_VARARGS | METH_KEYWORDS,
     "_dump_ir(function, signature, fma=False, precise=False, fastmath=False, checks=0, "
     "procedure=False)"},
    {"_in_pieces", in_pieces, METH_VARARGS,
     "_in_pieces(text of IR, most): the text after the pass, and how many loops it changed"},
    {NULL, NULL, 0, NULL},
};

int
lw_debug_lower_register(PyObject *module)
{
    return PyModule_AddFunctions(module, methods);
}

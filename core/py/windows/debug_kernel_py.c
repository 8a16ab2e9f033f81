#include "core/py/windows/debug_kernel_py.h"

#include "core/front/lower/lower.h"
#include "core/front/read/python.h"
#include "core/link/build.h"
#include "core/py/raise.h"
#include "core/py/record_spec.h"
#include "core/py/windows/debug_specs.h"

typedef struct request {
    lw_front_options options;
    lw_arena arena;
    lw_arg_spec specs[LW_MAX_DEBUG_SPECS];
    uint32_t n;
    PyObject *function;
    const char *types;
    PyObject *dtypes; /* borrowed: those of records */
    lw_debug_records records;
    Py_buffer words; /* of _run_kernel: one of 8 bytes for each parameter of the body */
} request;

static lw_status
lower(request *r, lw_scalar **out, lw_error *err)
{
    lw_tree *tree = NULL;
    lw_typed *typed = NULL;
    lw_status status;

    LW_TRY(lw_debug_specs(r->types, &r->records, &r->arena, r->specs, &r->n, err));
    LW_TRY(lw_read_function(r->function, NULL, &tree, NULL, err));
    LW_TRY(lw_infer_specs(tree, &r->options, r->specs, r->n, &typed, err));
    LW_TRY(lw_lower(typed, NULL, 0, out, err));
fail:
    lw_typed_free(typed);
    lw_tree_free(tree);
    return status;
}

static int
take_records(request *r)
{
    PyObject *list = r->dtypes ? PySequence_Fast(r->dtypes, "dtypes of records") : NULL;
    Py_ssize_t n = list ? PySequence_Fast_GET_SIZE(list) : 0;
    int status = r->dtypes && !list ? -1 : 0;

    for (Py_ssize_t i = 0; status == 0 && i < n && i < 8; i++, r->records.n++)
        status = lw_record_spec((PyArray_Descr *)PySequence_Fast_GET_ITEM(list, i), &r->arena,
                                &r->records.rows[i]);
    Py_XDECREF(list);
    return status;
}

static int
parse(request *r, PyObject *args, PyObject *kwargs, const char *format, bool run)
{
    static char *names[] = {"function", "types",  "words",   "narrow",
                            "checks",   "ignore", "records", NULL};
    int narrow = 0, ignore = 0, ok;

    lw_arena_init(&r->arena);
    r->options.typing = LW_TYPING_WEAK;
    if (run)
        ok = PyArg_ParseTupleAndKeywords(args, kwargs, format, names, &r->function, &r->types,
                                         &r->words, &narrow, &r->options.checks, &ignore,
                                         &r->dtypes);
    else
        ok = PyArg_ParseTupleAndKeywords(
            args, kwargs, format,
            (char *[]){"function", "types", "narrow", "checks", "ignore", "records", NULL},
            &r->function, &r->types, &narrow, &r->options.checks, &ignore, &r->dtypes);
    r->options.procedure = r->options.threads = true;
    r->options.narrow = narrow;
    r->options.ignore_errors = ignore;
    return ok ? take_records(r) : -1;
}

/* ---- the text ---- */

static void
print_scalar(const lw_scalar *scalar, lw_text *out)
{
    lw_ir_print(scalar->module, false, out);
    for (uint32_t i = 0; i < scalar->n_args; i++) {
        const lw_arg_parts *arg = &scalar->args[i];
        lw_text_addf(out, "argument %u: %u parameters from %u", i + 1, arg->n, arg->first);
        for (uint32_t j = 0; j < arg->n_arrays; j++)
            lw_text_addf(out, ", %s through %u", arg->written[j] ? "written" : "read",
                         arg->addresses[j]);
        lw_text_add(out, "\n");
    }
    for (uint32_t i = 0; i < scalar->n_raises; i++)
        lw_text_addf(out, "status %u: %s: %s, line %u in %s\n", i + 1,
                     scalar->raises[i].exception, scalar->raises[i].message,
                     scalar->raises[i].line, scalar->raises[i].function);
}

static PyObject *
dump_kernel(PyObject *Py_UNUSED(module), PyObject *args, PyObject *kwargs)
{
    request r = {0};
    lw_scalar *scalar = NULL;
    PyObject *result = NULL;
    lw_error err = {0};
    lw_text text = {0};

    if (parse(&r, args, kwargs, "Os|pIpO:_dump_kernel", false) < 0)
        return NULL;
    if (lower(&r, &scalar, &err) != LW_OK) {
        lw_py_raise(&err);
    } else {
        print_scalar(scalar, &text);
        result = text.failed
                     ? PyErr_NoMemory()
                     : PyUnicode_DecodeUTF8(lw_text_get(&text), (Py_ssize_t)text.n, "replace");
    }
    lw_text_reset(&text);
    lw_scalar_free(scalar);
    lw_arena_reset(&r.arena);
    return result;
}

/* ---- running ---- */

/* int32 lw_entry(words): loads each parameter, calls the body, gives its status. */
static lw_status
add_entry(const lw_scalar *scalar, lw_error *err)
{
    const lw_func *body = scalar->module->funcs.data[scalar->body];
    uint32_t n = body->params.n;
    lw_ref *args = lw_arena_take(&scalar->module->arena, (n + 1) * sizeof *args), call, words;
    lw_builder b;

    if (args == NULL)
        return lw_fail_memory(err);
    lw_builder_start(&b, scalar->module, "lw_entry");
    b.func->linkage = LW_EXPORTED;
    words = lw_ir_param_add(&b, LW_DT_ptr, 0, "words");
    lw_ir_result_add(&b, LW_DT_i32);
    for (uint32_t i = 0; i < n; i++) {
        lw_ref at = lw_ir_offset(&b, words, lw_ir_int(&b, LW_DT_i64, 8 * (int64_t)i));
        args[i] = lw_ir_load(&b, body->params.data[i].type, 1, at, 0, 0);
    }
    call = lw_ir_call(&b, scalar->body, args, n);
    call = scalar->can_raise ? lw_ir_result(&b, call, 0) : lw_ir_zero(&b, LW_DT_i32);
    lw_ir_return(&b, &call, 1);
    return lw_ir_finish(&b, err);
}

static lw_status
run(request *r, lw_scalar *scalar, int32_t *out, lw_error *err)
{
    lw_build_options options = {.opt = true, .name = "kernel"};
    uint32_t n = scalar->module->funcs.data[scalar->body]->params.n;
    lw_build_report report;
    lw_code *code = NULL;
    int32_t (*entry)(const void *);
    lw_status status;

    if ((Py_ssize_t)n * 8 != r->words.len)
        return lw_fail(err, LW_ERR_VALUE, "the body has %u parameters, %zd words came", n,
                       r->words.len / 8);
    LW_TRY(add_entry(scalar, err));
    Py_BEGIN_ALLOW_THREADS
    status = lw_build_host(scalar->module, &options, &code, &report, err);
    Py_END_ALLOW_THREADS
    LW_TRY(status);
    *(void **)&entry = lw_code_symbol(code, "lw_entry");
    *out = entry ? entry(r->words.buf) : 0;
    lw_code_free(code);
fail:
    return status;
}

static PyObject *
run_kernel(PyObject *Py_UNUSED(module), PyObject *args, PyObject *kwargs)
{
    request r = {0};
    lw_scalar *scalar = NULL;
    PyObject *result = NULL;
    lw_error err = {0};
    int32_t raised = 0;

    if (parse(&r, args, kwargs, "Osy*|pIpO:_run_kernel", true) < 0)
        return NULL;
    if (lower(&r, &scalar, &err) != LW_OK || run(&r, scalar, &raised, &err) != LW_OK)
        lw_py_raise(&err);
    else if (raised)
        result =
            Py_BuildValue("(ssI)", scalar->raises[raised - 1].exception,
                          scalar->raises[raised - 1].message, scalar->raises[raised - 1].line);
    else
        result = Py_NewRef(Py_None);
    PyBuffer_Release(&r.words);
    lw_scalar_free(scalar);
    lw_arena_reset(&r.arena);
    return result;
}

static PyMethodDef methods[] = {
    {"_dump_kernel", (PyCFunction)(void (*)(void))dump_kernel, METH_VARARGS | METH_KEYWORDS,
     "_dump_kernel(function, types, narrow=False, checks=0, ignore=False, records=())"},
    {"_run_kernel", (PyCFunction)(void (*)(void))run_kernel, METH_VARARGS | METH_KEYWORDS,
     "_run_kernel(function, types, words, narrow=False, checks=0, ignore=False, records=()): "
     "None, or (exception, message, line). words: 8 bytes for each part of each argument."},
    {NULL, NULL, 0, NULL},
};

int
lw_debug_kernel_register(PyObject *module)
{
    return PyModule_AddFunctions(module, methods);
}

#include "core/py/llvm_bridge.h"

#include "core/base/deep_thread.h"
#include "core/front/read/services.h"
#include "core/link/host_llvm.h"
#include "core/link/kernel_cache.h"
#include "core/link/toolchain.h"

#include <string.h>

/* Whether it is what llvmlite, or a broken one, raises. Anything else comes from a signal's
 * handler. By exact class: TimeoutError is an OSError. */
static bool
is_compilers_exception(void)
{
    PyObject *type = PyErr_Occurred();

    return type == PyExc_RuntimeError || type == PyExc_OSError || type == PyExc_TypeError ||
           type == PyExc_AttributeError || type == PyExc_ValueError ||
           PyErr_ExceptionMatches(PyExc_ImportError) ||
           PyErr_ExceptionMatches(PyExc_MemoryError);
}

/* The exception set now, as text into err; clears it. RuntimeError is LLVM's refusal, and the
 * same code would meet it again; MemoryError keeps its meaning; the others say that the
 * compiler is missing or broken. */
static lw_status
fail_from_exception(const char *what, lw_error *err)
{
    PyObject *type = NULL, *value = NULL, *traceback = NULL, *text = NULL;
    lw_status status = LW_ERR_COMPILER_NOT_FOUND;
    const char *words = NULL;

    PyErr_Fetch(&type, &value, &traceback);
    PyErr_NormalizeException(&type, &value, &traceback);
    if (PyErr_GivenExceptionMatches(type, PyExc_RuntimeError))
        status = LW_ERR_COMPILE;
    else if (PyErr_GivenExceptionMatches(type, PyExc_MemoryError))
        status = LW_ERR_OUT_OF_MEMORY;
    text = value ? PyObject_Str(value) : NULL;
    words = text ? PyUnicode_AsUTF8(text) : NULL;
    lw_fail(
        err, status, "%s: %s%s", what, words ? words : "an exception without text",
        status == LW_ERR_COMPILER_NOT_FOUND
            ? "\nCode for the CPU is made by llvmlite: install it with `pip install llvmlite`."
            : "");
    Py_XDECREF(text);
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(traceback);
    PyErr_Clear();
    return status;
}

/* What a signal's handler raised (KeyboardInterrupt, and the user's own) stays set for a thread
 * of Python's own; a thread that got its state only for this call has nobody to give it to. */
static lw_status
fail_call(bool own_state, lw_error *err)
{
    static const char what[] = "asking Python where the CUDA libraries are";

    if (own_state && !is_compilers_exception())
        return lw_fail(err, LW_ERR_PYTHON, "%s was interrupted", what);
    return fail_from_exception(what, err);
}

/* Calls the toolchain's function with the arguments; steals arguments. New reference or NULL.
 */
static PyObject *
call(const char *name, PyObject *arguments)
{
    PyObject *function = NULL, *result = NULL;

    if (arguments != NULL)
        function = lw_service_find(LW_SERVICE_TOOLCHAIN, name);
    if (function != NULL)
        result = PyObject_CallObject(function, arguments);
    Py_XDECREF(function);
    Py_XDECREF(arguments);
    return result;
}

/* One folder a line, once; what is no text, empty or has a line break names no folder. */
static void
add_folder(lw_text *out, PyObject *seen, PyObject *folder)
{
    const char *text = folder && PyUnicode_Check(folder) ? PyUnicode_AsUTF8(folder) : NULL;

    if (text != NULL && *text && strchr(text, '\n') == NULL &&
        PySet_Contains(seen, folder) == 0 && PySet_Add(seen, folder) == 0)
        lw_text_addf(out, "%s%s", out->n ? "\n" : "", text);
    PyErr_Clear(); /* a name that is not UTF-8 is passed over */
}

/* sys.path and sys.prefix, by hand: importing a module for it would cost more than all else
 * that a kernel from the disk cache needs. */
static lw_status
find_folders(lw_text *out, lw_error *err)
{
    PyGILState_STATE gil = PyGILState_Ensure();
    PyObject *path = PySys_GetObject("path"), *seen = PySet_New(NULL); /* path is borrowed */
    PyObject *folders =
        PySequence_Tuple(path ? path : Py_None); /* other threads may change it */

    for (Py_ssize_t i = 0; seen && folders && i < PyTuple_GET_SIZE(folders); i++)
        add_folder(out, seen, PyTuple_GET_ITEM(folders, i));
    if (seen != NULL)
        add_folder(out, seen, PySys_GetObject("prefix"));
    PyErr_Clear();
    out->failed |= seen == NULL;
    Py_XDECREF(seen);
    Py_XDECREF(folders);
    PyGILState_Release(gil);
    return out->failed ? lw_fail_memory(err) : LW_OK;
}

static lw_status
find_by_pathfinder(const char *name, lw_text *out, lw_error *err)
{
    bool own_state = PyGILState_GetThisThreadState() != NULL;
    PyGILState_STATE gil = PyGILState_Ensure();
    PyObject *result = call("pathfinder", Py_BuildValue("(s)", name));
    Py_ssize_t n = 0;
    const char *text = result ? PyUnicode_AsUTF8AndSize(result, &n) : NULL;
    lw_status status = LW_OK;

    if (text != NULL)
        lw_text_add_n(out, text, (size_t)n);
    else
        status = fail_call(own_state, err);
    if (status == LW_OK && out->failed)
        status = lw_fail_memory(err);
    Py_XDECREF(result);
    PyGILState_Release(gil);
    return status;
}

/* ---- llvmlite ---- */

typedef struct host_job {
    const char *llvm_text;
    const lw_host_options *options;
    lw_host_output output;
    lw_bytes *out;
} host_job;

static lw_status
copy_result(PyObject *result, lw_bytes *out, lw_error *err)
{
    char *data = NULL;
    Py_ssize_t n = 0;

    if (PyBytes_AsStringAndSize(result, &data, &n) < 0)
        return fail_from_exception("LLVM", err);
    return lw_bytes_copy(out, data, (size_t)n) ? LW_OK : lw_fail_memory(err);
}

/* needs: the GIL */
static lw_status
call_llvmlite(const host_job *j, lw_error *err)
{
    static const char *const outputs[] = {"object", "asm"};
    PyObject *result =
        call("compile_host",
             Py_BuildValue("(siNs)", j->llvm_text, j->options->opt,
                           PyBool_FromLong(j->options->baseline), outputs[j->output]));
    lw_status status = result ? copy_result(result, j->out, err)
                              : fail_from_exception("LLVM refused the code for the CPU", err);

    Py_XDECREF(result);
    return status;
}

/* On a thread that is new to Python what PyGILState_Ensure does, which ends the process where
 * memory for the thread's state is out. */
static lw_status
compile_with_gil(void *context, lw_error *err)
{
    PyThreadState *state = NULL;
    lw_status status;

    if (PyGILState_GetThisThreadState() != NULL) {
        PyGILState_STATE gil = PyGILState_Ensure();
        status = call_llvmlite(context, err);
        PyGILState_Release(gil);
        return status;
    }
    state = PyThreadState_New(PyInterpreterState_Main());
    if (state == NULL)
        return lw_fail_memory(err);
    PyEval_RestoreThread(state);
    status = call_llvmlite(context, err);
    PyThreadState_Clear(state);
    PyThreadState_DeleteCurrent();
    return status;
}

static bool
python_is_ending(void)
{
#if PY_VERSION_HEX >= 0x030D0000
    return Py_IsFinalizing();
#else
    return _Py_IsFinalizing();
#endif
}

/* On a thread of its own, where no handler of a signal runs: an exception that one raises in
 * the midst of llvmlite would leave it with what it frees twice. A Python that is ending gives
 * its GIL to no other thread. */
static lw_status
compile_host(const char *llvm_text, const lw_host_options *options, lw_host_output output,
             lw_bytes *out, lw_error *err)
{
    host_job j = {llvm_text, options, output, out};

    return python_is_ending() ? compile_with_gil(&j, err)
                              : lw_run_deep(compile_with_gil, &j, err);
}

void
lw_py_bridge_install(void)
{
    static const lw_python_finder finder = {find_folders, find_by_pathfinder};

    lw_toolchain_set_finder(&finder);
    lw_host_llvm_set(compile_host);
}

int
lw_py_cache_warn(void)
{
    lw_text text;
    int result = 0;

    lw_text_init(&text);
    if (lw_cache_take_warning(&text))
        result = PyErr_WarnEx(PyExc_RuntimeWarning, lw_text_get(&text), 1);
    lw_text_reset(&text);
    return result;
}

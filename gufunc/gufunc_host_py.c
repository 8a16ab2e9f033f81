/* What is a Gufunc's own of the numpy.ufunc inside it (core/py/numpy/ufunc_inner.h), a real
 * generalized one, with the layout as NumPy reads it: the C function that serves as the loop of
 * all of them, the flags of its operands, and the sizes of its outputs. */
#include "gufunc/gufunc_parts_py.h"

#include "core/base/memory.h"
#include "core/ir/printed.h"
#include "core/py/numpy/host_loops.h"
#include "core/py/numpy/loop_rows.h"
#include "core/py/raise.h"
#include "core/py/signals.h"

#include <stdatomic.h>
#include <string.h>

/* ---- the table, and what it owns ---- */

int
lw_gufunc_make_table(lw_gufunc_object *self, const char *layout)
{
    lw_ufunc_head *head = (lw_ufunc_head *)self;
    lw_gufunc_table *table = (lw_gufunc_table *)lw_table_new(
        sizeof *table, head, lw_ufunc_text(head, "__name__"), lw_ufunc_text(head, "__doc__"));
    lw_error err = {0};

    if (table == NULL)
        return -1;
    head->table = (lw_loop_table *)table;
    lw_arena_init(&table->arena);
    if (lw_core_layout_parse(layout, &table->arena, &table->layout, &err) != LW_OK) {
        lw_py_raise(&err);
        return -1;
    }
    table->numpy_layout = table->layout.numpy_text;
    return 0;
}

void
lw_gufunc_loop_free(void *object)
{
    lw_gufunc_loop *loop = object;

    lw_gufunc_host_free(loop->host);
    lw_scalar_free(loop->scalar);
    lw_free(loop);
}

void
lw_gufunc_table_free(lw_loop_table *head)
{
    lw_gufunc_table *table = (lw_gufunc_table *)head;

    Py_XDECREF(table->library);
    lw_arena_reset(&table->arena);
}

/* ---- machine code ---- */

static lw_gufunc_host *
host_of(lw_gufunc_loop *loop, lw_error *err)
{
    lw_gufunc_host *host = atomic_load_explicit(&loop->host, memory_order_acquire);
    lw_gufunc_host *expected = NULL;

    if (host != NULL || lw_gufunc_host_new(loop, &host, err) != LW_OK)
        return host;
    if (atomic_compare_exchange_strong(&loop->host, &expected, host))
        return host;
    lw_gufunc_host_free(host); /* another thread was first */
    return expected;
}

lw_gufunc_code *
lw_gufunc_code_for(lw_loop_table *table, lw_gufunc_loop *loop, const int64_t *dims,
                   const int64_t *steps)
{
    lw_error err = {0};
    lw_gufunc_host *host = host_of(loop, &err);
    lw_gufunc_code *code = host ? lw_gufunc_host_find(host, dims, steps) : NULL;
    lw_status status = LW_ERR_OUT_OF_MEMORY;
    lw_build_report report = {0};
    lw_compiling compiling;

    if (code != NULL)
        return code;
    lw_compiling_begin(&compiling);
    if (host != NULL)
        status = lw_gufunc_host_code(host, dims, steps, &table->build, &code, &report, &err);
    if (lw_compiling_end(&compiling, table, status, &report, &err) < 0)
        return NULL;
    return code;
}

/* ---- the loop of every Gufunc ---- */

static bool
is_for_library(const lw_gufunc_loop *loop, const npy_intp *dimensions)
{
    int64_t product = 1;

    for (uint32_t d = 0; d < loop->layout->n_dims && product < loop->library_least; d++)
        product *= dimensions[1 + d];
    return product >= loop->library_least;
}

int
lw_gufunc_run(lw_loop_table *table, lw_gufunc_loop *loop, char *const *data,
              const int64_t *dimensions, const int64_t *strides)
{
    lw_stop stop = {.ask = lw_signal_raised_anyhow};
    lw_failure failure;
    lw_gufunc_code *code;
    int64_t before;

    if (loop->library != NULL && is_for_library(loop, dimensions)) {
        loop->library((char **)data, dimensions, strides, loop->library_data);
        return 0;
    }
    code = lw_gufunc_code_for(table, loop, dimensions, strides);
    if (code == NULL)
        return -1;
    lw_gufunc_host_run(loop->host, code, data, dimensions, strides, &stop, &failure);
    if (lw_host_loop_stopped(&stop, dimensions[0]))
        return -1;
    if (lw_printed_pending() && lw_host_loop_show() < 0)
        return -1;
    before = lw_host_items_add(dimensions[0]);
    if (failure.at >= 0) {
        lw_raise_place place = {.kind = LW_AT_INDEX, .ndim = 1, .index = {before + failure.at}};
        return lw_host_loop_raise(loop->scalar, (uint32_t)failure.status, failure.words,
                                  &place);
    }
    return 0;
}

static int
run_loop(PyArrayMethod_Context *context, char *const *data, const npy_intp *dimensions,
         const npy_intp *strides, NpyAuxData *Py_UNUSED(unused))
{
    lw_loop_table *table = (void *)((PyUFuncObject *)context->caller)->data;
    lw_gufunc_loop *loop = (lw_gufunc_loop *)lw_table_find(table, context->descriptors);
    int result;

    if (dimensions[0] == 0)
        return 0;
    if (lw_host_loop_in_python(context, data, dimensions, strides, &result))
        return result;
    if (loop == NULL)
        return lw_host_loop_unknown();
    if (!atomic_load_explicit(&loop->numpy_ran, memory_order_relaxed))
        atomic_store_explicit(&loop->numpy_ran, true, memory_order_relaxed);
    return lw_gufunc_run(table, loop, data, dimensions, strides);
}

/* ---- loops of another library ---- */

static bool
has_types(const PyUFuncObject *ufunc, int at, const lw_gufunc_loop *loop)
{
    for (int i = 0; i < ufunc->nargs; i++)
        if (ufunc->types[at * ufunc->nargs + i] != lw_type_num(loop->types[i]))
            return false;
    return true;
}

static void
use_library(lw_gufunc_loop *loop, const PyUFuncObject *ufunc, const char *dtypes, int64_t least)
{
    for (int i = 0; i < ufunc->ntypes; i++)
        if (has_types(ufunc, i, loop) && ufunc->functions[i] != NULL &&
            strchr(dtypes, lw_dtypes[loop->types[0]].numpy) != NULL) {
            loop->library = ufunc->functions[i];
            loop->library_data = ufunc->data ? ufunc->data[i] : NULL;
            loop->library_least = least;
        }
}

PyObject *
lw_gufunc_use_library(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *object, *library;
    lw_gufunc_object *self;
    const char *dtypes;
    long long least;

    if (!PyArg_ParseTuple(args, "OO!sL:_use_library", &object, &PyUFunc_Type, &library, &dtypes,
                          &least))
        return NULL;
    self = (lw_gufunc_object *)object;
    if (PyVectorcall_Function(object) != lw_gufunc_call ||
        lw_gufunc_table_of(self)->library != NULL ||
        ((PyUFuncObject *)library)->core_signature == NULL ||
        strcmp(((PyUFuncObject *)library)->core_signature, self->base.layout.text) != 0) {
        PyErr_SetString(PyExc_TypeError,
                        "_use_library(gufunc, ufunc, dtypes, least): once, of the same layout");
        return NULL;
    }
    lw_gufunc_table_of(self)->library = Py_NewRef(library);
    for (uint32_t i = 0; i < lw_rows_n((lw_ufunc_head *)self); i++)
        use_library(lw_rows_at((lw_ufunc_head *)self, i), (PyUFuncObject *)library, dtypes,
                    least);
    Py_RETURN_NONE;
}

PyType_Slot lw_gufunc_loop_slots[] = {{NPY_METH_strided_loop, (void *)run_loop}, {0, NULL}};

/* ---- sizes of outputs ---- */

/* NumPy 2.1 has this field at its end; we build for 2.0, too. */
typedef struct ufunc_of_2_1 {
    PyUFuncObject base;
    int (*process_core_dims)(PyUFuncObject *, npy_intp *);
} ufunc_of_2_1;

enum { API_OF_2_1 = 0x13 };

static int
process_core_dims(PyUFuncObject *ufunc, npy_intp *sizes)
{
    lw_ufunc_head *owner = lw_inner_owner((const void *)ufunc->data);
    int result = owner ? lw_gufunc_fill_sizes((lw_gufunc *)owner, sizes) : -1;

    Py_XDECREF((PyObject *)owner);
    return result;
}

static void
set_hook(const lw_gufunc_object *self, PyObject *inner)
{
    if (self->base.sizes != NULL && PyArray_GetNDArrayCFeatureVersion() >= API_OF_2_1)
        ((ufunc_of_2_1 *)inner)->process_core_dims = process_core_dims;
}

/* ---- making it ---- */

/* Inputs that the function writes to: where NumPy copies one, it copies back. Outputs: NumPy's
 * flags for them assume that an item's elements are read and written in the same order, so that
 * `out=` which is an input itself needs no copy. Functions of rows read what they wrote. Where
 * an output is filled, what `out=` had is read: elements may be left as they are. */
static void
set_writable(const lw_gufunc_object *self, PyObject *inner)
{
    PyUFuncObject *ufunc = (PyUFuncObject *)inner;
    npy_uint32 access = self->fills ? NPY_ITER_READWRITE : NPY_ITER_WRITEONLY;

    for (int i = self->base.nin; i < self->base.nin + self->base.nout; i++)
        ufunc->op_flags[i] = access | NPY_ITER_UPDATEIFCOPY | NPY_ITER_ALIGNED |
                             NPY_ITER_ALLOCATE | NPY_ITER_NO_BROADCAST | NPY_ITER_NO_SUBTYPE;
    for (int i = 0; i < self->base.nin; i++)
        if (self->writable[i])
            ufunc->op_flags[i] = NPY_ITER_READWRITE | NPY_ITER_UPDATEIFCOPY;
}

void
lw_gufunc_prepare_inner(const lw_ufunc_head *self, PyObject *inner)
{
    set_hook((const lw_gufunc_object *)self, inner);
    set_writable((const lw_gufunc_object *)self, inner);
}

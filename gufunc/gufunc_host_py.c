/* The numpy.ufunc inside a Gufunc: a real generalized one, with the layout as NumPy reads it.
 * It starts without loops and with one promoter for any dtypes; loops join by
 * PyUFunc_AddLoopFromSpec. One C function serves as the loop of all of them. */
#include "gufunc/gufunc_parts_py.h"

#include "core/base/memory.h"
#include "core/ir/printed.h"
#include "core/py/numpy/host_loops.h"
#include "core/py/numpy/loop_rows.h"
#include "core/py/raise.h"
#include "core/py/signals.h"

#include <stdatomic.h>
#include <string.h>

/* ---- the table ---- */

lw_gufunc_table *
lw_gufunc_table_new(lw_gufunc_object *owner, const char *name, const char *doc,
                    const char *layout)
{
    lw_gufunc_table *table = lw_alloc_zero(1, sizeof *table);
    lw_error err = {0};

    if (table == NULL)
        return (lw_gufunc_table *)PyErr_NoMemory();
    lw_arena_init(&table->arena);
    table->references = 1;
    table->lock = (lw_lock)LW_LOCK_INIT;
    table->name = lw_strdup(name);
    table->doc = lw_strdup(doc);
    if (table->name == NULL || table->doc == NULL)
        lw_fail_memory(&err);
    else
        lw_core_layout_parse(layout, &table->arena, &table->layout, &err);
    if (err.status != LW_OK)
        lw_py_raise(&err);
    if (PyErr_Occurred() ||
        lw_inner_set_owner((lw_loop_table *)table, (lw_ufunc_head *)owner, "Gufunc") < 0) {
        lw_gufunc_table_drop(table);
        return NULL;
    }
    table->build = lw_door_build_options(&owner->base.options, table->name);
    table->build.watch =
        lw_door_watches_elements(&owner->base.options) ? LW_WATCH_ELEMENTS : LW_WATCH_NOTHING;
    return table;
}

void
lw_gufunc_table_drop(lw_gufunc_table *table)
{
    lw_gufunc_loop *loop, *next;

    if (table == NULL || --table->references > 0)
        return;
    for (loop = table->loops; loop != NULL; loop = next) {
        next = loop->next;
        lw_gufunc_host_free(loop->host);
        lw_scalar_free(loop->scalar);
        lw_free(loop);
    }
    Py_XDECREF(table->library);
    Py_XDECREF(table->owner_ref);
    lw_free(table->name);
    lw_free(table->doc);
    lw_arena_reset(&table->arena);
    lw_free(table);
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
lw_gufunc_code_for(lw_gufunc_table *table, lw_gufunc_loop *loop, const int64_t *dims,
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
    if (lw_compiling_end(&compiling, (lw_loop_table *)table, status, &report, &err) < 0)
        return NULL;
    return code;
}

/* ---- the loop of every Gufunc ---- */

static _Thread_local int64_t items_before;

void
lw_gufunc_items_reset(void)
{
    items_before = 0;
}

static bool
is_for(const lw_gufunc_loop *loop, PyArray_Descr *const *descriptors)
{
    return lw_host_loop_is_for(loop->types, loop->nin + loop->nout, descriptors);
}

static lw_gufunc_loop *
loop_for(lw_gufunc_table *table, PyArray_Descr *const *descriptors)
{
    lw_gufunc_loop *loop = atomic_load_explicit(&table->last, memory_order_acquire);

    if (loop != NULL && is_for(loop, descriptors))
        return loop;
    for (loop = atomic_load_explicit(&table->loops, memory_order_acquire); loop != NULL;
         loop = loop->next)
        if (is_for(loop, descriptors)) {
            atomic_store_explicit(&table->last, loop, memory_order_release);
            return loop;
        }
    return NULL;
}

static bool
is_for_library(const lw_gufunc_loop *loop, const npy_intp *dimensions)
{
    int64_t product = 1;

    for (uint32_t d = 0; d < loop->layout->n_dims && product < loop->library_least; d++)
        product *= dimensions[1 + d];
    return product >= loop->library_least;
}

static int
run_loop(PyArrayMethod_Context *context, char *const *data, const npy_intp *dimensions,
         const npy_intp *strides, NpyAuxData *Py_UNUSED(unused))
{
    lw_gufunc_table *table = (void *)((PyUFuncObject *)context->caller)->data;
    lw_gufunc_loop *loop = loop_for(table, context->descriptors);
    lw_stop stop = {.ask = lw_signal_raised_anyhow};
    lw_failure failure;
    lw_gufunc_code *code;
    lw_error err = {0};

    if (dimensions[0] == 0)
        return 0;
    if (loop == NULL)
        return lw_host_loop_fail(LW_ERR_INTERNAL, &err);
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
    if (failure.at >= 0) {
        lw_raise_place place = {
            .kind = LW_AT_INDEX, .ndim = 1, .index = {items_before + failure.at}};
        return lw_host_loop_raise(loop->scalar, (uint32_t)failure.status, failure.words,
                                  &place);
    }
    items_before += dimensions[0];
    return 0;
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
    if (PyVectorcall_Function(object) != lw_gufunc_call || self->table->library != NULL ||
        ((PyUFuncObject *)library)->core_signature == NULL ||
        strcmp(((PyUFuncObject *)library)->core_signature, self->base.layout.text) != 0) {
        PyErr_SetString(PyExc_TypeError,
                        "_use_library(gufunc, ufunc, dtypes, least): once, of the same layout");
        return NULL;
    }
    self->table->library = Py_NewRef(library);
    for (uint32_t i = 0; i < lw_rows_n((lw_ufunc_head *)self); i++)
        use_library(lw_rows_at((lw_ufunc_head *)self, i), (PyUFuncObject *)library, dtypes,
                    least);
    Py_RETURN_NONE;
}

/* ---- registering with NumPy ---- */

static int
give_to_numpy(const lw_gufunc_object *self, PyObject *inner, lw_gufunc_loop *loop)
{
    PyType_Slot slots[] = {{NPY_METH_strided_loop, (void *)run_loop}, {0, NULL}};
    PyArrayMethod_Spec spec = {.name = self->table->name, .slots = slots};

    atomic_store_explicit(&loop->given, inner, memory_order_relaxed);
    return lw_host_loop_give(inner, &spec, loop->types, loop->nin, loop->nout,
                             loop->scalar->pure_integer);
}

int
lw_gufunc_give(lw_ufunc_head *self, PyObject *inner, void *object)
{
    lw_gufunc_loop *loop = object;

    if (atomic_load_explicit(&loop->given, memory_order_relaxed) == inner)
        return 0;
    if (give_to_numpy((lw_gufunc_object *)self, inner, loop) < 0 && !lw_inner_had_it()) {
        atomic_store_explicit(&loop->given, NULL, memory_order_relaxed);
        return -1;
    }
    atomic_fetch_add(&self->n_given, 1);
    return 0;
}

/* While the Gufunc is made its loops are NumPy's at once; later ones when NumPy asks, for its
 * list of loops may be read meanwhile. */
int
lw_gufunc_add_loop(lw_gufunc_object *self, lw_gufunc_loop *loop)
{
    lw_ufunc_head *head = (lw_ufunc_head *)self;
    lw_loop_rows *rows = lw_rows_with(head, loop, loop->declared);

    if (rows == NULL)
        PyErr_NoMemory();
    if (rows == NULL || (!head->is_made && give_to_numpy(self, lw_inner_now(head), loop) < 0)) {
        lw_free(rows);
        lw_gufunc_loop_free(loop);
        return -1;
    }
    loop->next = self->table->loops;
    atomic_store_explicit(&self->table->loops, loop, memory_order_release);
    if (loop->scalar->can_raise)
        lw_gufunc_items_reset(); /* the call that is under way began before this was known */
    lw_rows_publish(head, rows);
    return 0;
}

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

static void
drop_capsule(PyObject *capsule)
{
    lw_gufunc_table_drop(PyCapsule_GetPointer(capsule, "lanewise.table"));
}

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

PyObject *
lw_gufunc_inner_new(lw_gufunc_object *self)
{
    lw_gufunc_table *table = self->table;
    PyObject *inner = lw_inner_bare((lw_ufunc_head *)self, (lw_loop_table *)table,
                                    table->layout.numpy_text, drop_capsule);

    if (inner == NULL)
        return NULL;
    set_hook(self, inner);
    set_writable(self, inner);
    for (uint32_t i = 0; i < lw_rows_n((lw_ufunc_head *)self); i++)
        if (give_to_numpy(self, inner, lw_rows_at((lw_ufunc_head *)self, i)) < 0)
            goto fail;
    return inner;
fail:
    Py_DECREF(inner);
    return NULL;
}

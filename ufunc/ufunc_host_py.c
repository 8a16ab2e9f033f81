/* The numpy.ufunc inside a Ufunc. It starts without loops and with one promoter for any dtypes;
 * loops join by PyUFunc_AddLoopFromSpec, so an exact tuple of dtypes always finds its own loop
 * and nothing depends on earlier calls. One C function serves as the loop of all of them: it
 * finds ours by the operands' dtypes and compiles machine code at its first run. */
#include "core/ir/printed.h"
#include "ufunc/ufunc_parts.h"

#include "core/py/numpy/host_loops.h"
#include "core/py/numpy/loop_rows.h"
#include "core/py/signals.h"
#include "core/py/text_py.h"

#include <stdatomic.h>
#include <string.h>

/* ---- texts ---- */

/* bfloat16 has no character of NumPy's own; ml_dtypes uses E. */
PyObject *
lw_types_text(const lw_loop *loop)
{
    char text[LW_MAX_ARGS + 4];
    int n = 0;

    for (int i = 0; i < loop->nin + loop->nout; i++) {
        if (i >= loop->uniforms.first && i < loop->nin) /* of excluded arrays */
            continue;
        if (i == loop->nin) {
            text[n++] = '-';
            text[n++] = '>';
        }
        text[n++] = lw_dtypes[loop->types[i]].numpy ? lw_dtypes[loop->types[i]].numpy : 'E';
    }
    return PyUnicode_FromStringAndSize(text, n);
}

static void
add_names(lw_text *text, const lw_dtype *types, int n)
{
    lw_text_add(text, "(");
    for (int i = 0; i < n; i++)
        lw_text_addf(text, "%s%s", i ? ", " : "", lw_dtypes[types[i]].public_name);
    lw_text_add(text, ")");
}

PyObject *
lw_loop_text(const lw_loop *loop)
{
    lw_text text = {0};

    if (loop->nout == 1)
        lw_text_add(&text, lw_dtypes[loop->types[loop->nin]].public_name);
    else {
        lw_text_add(&text, "Tuple");
        add_names(&text, loop->types + loop->nin, loop->nout);
    }
    add_names(&text, loop->types, loop->uniforms.first);
    return lw_text_take(&text);
}

/* ---- the table ---- */

lw_host_table *
lw_host_table_new(lw_ufunc_object *owner, const char *name, const char *doc)
{
    lw_host_table *table = lw_alloc_zero(1, sizeof *table);

    if (table == NULL)
        return (lw_host_table *)PyErr_NoMemory();
    table->references = 1;
    table->lock = (lw_lock)LW_LOCK_INIT;
    table->build = lw_door_build_options(&owner->base.options, name);
    table->build.watch =
        lw_door_watches_elements(&owner->base.options) ? LW_WATCH_ELEMENTS : LW_WATCH_NOTHING;
    table->build.links = NULL; /* GPU code, of the owner, which this may outlive */
    table->build.n_links = 0;
    table->name = lw_strdup(name);
    table->doc = lw_strdup(doc);
    table->build.name = table->name;
    if (table->name == NULL || table->doc == NULL)
        PyErr_NoMemory();
    if (PyErr_Occurred() ||
        lw_inner_set_owner((lw_loop_table *)table, (lw_ufunc_head *)owner, "Ufunc") < 0) {
        lw_host_table_drop(table);
        return NULL;
    }
    return table;
}

void
lw_loop_free(lw_loop *loop)
{
    if (loop == NULL)
        return;
    lw_host_kernel_free(loop->host);
    lw_scalar_free(loop->scalar);
    lw_free(loop);
}

void
lw_host_table_drop(lw_host_table *table)
{
    lw_loop_list *list, *older;

    if (table == NULL || --table->references > 0)
        return;
    list = table->list;
    for (uint32_t i = 0; list != NULL && i < list->n; i++)
        lw_loop_free(list->loops[i]);
    for (; list != NULL; list = older) {
        older = list->older;
        lw_free(list);
    }
    Py_XDECREF(table->owner_ref);
    lw_free(table->name);
    lw_free(table->doc);
    lw_free(table);
}

/* The table's list and one more; NULL when memory is out. */
static lw_loop_list *
list_with(const lw_host_table *table, lw_loop *loop)
{
    lw_loop_list *old = table->list;
    uint32_t n = old ? old->n : 0;
    lw_loop_list *list = lw_alloc(sizeof *list + (n + 1) * sizeof list->loops[0]);

    if (list == NULL)
        return NULL;
    if (n)
        memcpy(list->loops, old->loops, n * sizeof list->loops[0]);
    list->loops[n] = loop;
    list->n = n + 1;
    list->older = old;
    return list;
}

static void
publish(lw_host_table *table, lw_loop_list *list, const lw_loop *loop)
{
    atomic_store_explicit(&table->list, list, memory_order_release);
    if (loop->scalar->can_raise) {
        table->can_raise = true;
        lw_host_elements_reset(); /* the call that is under way began before this was known */
    }
}

/* ---- machine code ---- */

lw_host_kernel *
lw_ufunc_kernel(lw_host_table *table, lw_loop *loop)
{
    lw_host_kernel *kernel = atomic_load_explicit(&loop->host, memory_order_acquire);
    lw_host_kernel *expected = NULL;
    lw_build_report report = {0};
    lw_compiling compiling;
    lw_error err = {0};
    lw_status status;

    if (kernel != NULL)
        return kernel;
    lw_compiling_begin(&compiling);
    status = lw_host_kernel_new(loop, &table->build, &kernel, &report, &err);
    if (status == LW_OK && !atomic_compare_exchange_strong(&loop->host, &expected, kernel)) {
        lw_host_kernel_free(kernel); /* another thread was first */
        kernel = expected;
    }
    if (lw_compiling_end(&compiling, (lw_loop_table *)table, status, &report, &err) < 0)
        return NULL;
    return kernel;
}

/* ---- the loop of every Ufunc ---- */

static _Thread_local int64_t elements_before;

void
lw_host_elements_reset(void)
{
    elements_before = 0;
}

static bool
is_for(const lw_loop *loop, PyArray_Descr *const *descriptors)
{
    return lw_host_loop_is_for(loop->types, loop->nin + loop->nout, descriptors);
}

static lw_loop *
loop_for(lw_host_table *table, PyArray_Descr *const *descriptors)
{
    lw_loop *loop = atomic_load_explicit(&table->last, memory_order_acquire);
    lw_loop_list *list;

    if (loop != NULL && is_for(loop, descriptors))
        return loop;
    list = atomic_load_explicit(&table->list, memory_order_acquire);
    for (uint32_t i = 0; list != NULL && i < list->n; i++)
        if (is_for(list->loops[i], descriptors)) {
            atomic_store_explicit(&table->last, list->loops[i], memory_order_release);
            return list->loops[i];
        }
    return NULL;
}

static int
run_loop(PyArrayMethod_Context *context, char *const *data, const npy_intp *dimensions,
         const npy_intp *strides, NpyAuxData *Py_UNUSED(unused))
{
    lw_host_table *table = (void *)((PyUFuncObject *)context->caller)->data;
    lw_loop *loop = loop_for(table, context->descriptors);
    lw_host_kernel *kernel;
    lw_stop stop = {.ask = lw_signal_raised_anyhow};
    lw_host_failure failure;
    lw_error err = {0};

    if (dimensions[0] == 0)
        return 0;
    if (loop == NULL)
        return lw_host_loop_fail(LW_ERR_INTERNAL, &err);
    kernel = atomic_load_explicit(&loop->host, memory_order_acquire);
    if (kernel == NULL && (kernel = lw_ufunc_kernel(table, loop)) == NULL)
        return -1;
    lw_host_run(kernel, data, dimensions[0], strides, &stop, &failure);
    if (lw_host_loop_stopped(&stop, dimensions[0]))
        return -1;
    if (lw_printed_pending() && lw_host_loop_show() < 0)
        return -1;
    if (!loop->scalar->can_raise)
        return 0;
    if (failure.row != 0) {
        lw_raise_place place = {.kind = LW_AT_ELEMENT,
                                .index = {elements_before + failure.element}};
        return lw_host_loop_raise(loop->scalar, failure.row, failure.words, &place);
    }
    elements_before += dimensions[0];
    return 0;
}

/* As NumPy's own: -1 stands for all bits set, of unsigned integers too. */
static int
reduction_initial(PyArrayMethod_Context *context, npy_bool Py_UNUSED(is_empty), void *initial)
{
    const lw_loop_table *table = (void *)((PyUFuncObject *)context->caller)->data;
    lw_ufunc_head *owner = lw_inner_owner_or_null(table);
    PyObject *identity = Py_NewRef(owner ? owner->identity : Py_None);
    int failed = -1;

    Py_XDECREF((PyObject *)owner);
    if (identity == Py_None || PyUnicode_Check(identity)) {
        Py_DECREF(identity);
        return 0;
    }
    if (PyLong_CheckExact(identity) && PyTypeNum_ISUNSIGNED(context->descriptors[0]->type_num))
        Py_SETREF(identity, PyObject_CallOneArg((PyObject *)&PyLongArrType_Type, identity));
    if (identity != NULL)
        failed = PyArray_Pack(context->descriptors[0], initial, identity);
    Py_XDECREF(identity);
    return failed < 0 ? -1 : 1;
}

/* ---- registering with NumPy ---- */

static int
give_to_numpy(const lw_ufunc_object *self, PyObject *inner, lw_loop *loop)
{
    PyType_Slot slots[] = {{NPY_METH_strided_loop, (void *)run_loop},
                           {NPY_METH_get_reduction_initial, (void *)reduction_initial},
                           {0, NULL}};
    PyArrayMethod_Spec spec = {.name = self->table->name, .slots = slots};

    if (self->base.identity != Py_None)
        spec.flags |= NPY_METH_IS_REORDERABLE;
    atomic_store_explicit(&loop->given, inner, memory_order_relaxed);
    return lw_host_loop_give(inner, &spec, loop->types, loop->nin, loop->nout,
                             loop->scalar->pure_integer);
}

int
lw_ufunc_give(lw_ufunc_head *self, PyObject *inner, void *object)
{
    lw_loop *loop = object;

    if (atomic_load_explicit(&loop->given, memory_order_relaxed) == inner)
        return 0;
    if (give_to_numpy((lw_ufunc_object *)self, inner, loop) < 0 && !lw_inner_had_it()) {
        atomic_store_explicit(&loop->given, NULL, memory_order_relaxed);
        return -1;
    }
    atomic_fetch_add(&self->n_given, 1);
    return 0;
}

/* While the Ufunc is made its loops are NumPy's at once; later ones when NumPy asks, for its
 * list of loops may be read meanwhile. */
int
lw_ufunc_add_loop(lw_ufunc_object *self, lw_loop *loop)
{
    lw_ufunc_head *head = (lw_ufunc_head *)self;
    lw_loop_list *list = list_with(self->table, loop);
    lw_loop_rows *rows = list ? lw_rows_with(head, loop, loop->declared) : NULL;

    if (rows == NULL)
        PyErr_NoMemory();
    if (rows == NULL || (!head->is_made && give_to_numpy(self, lw_inner_now(head), loop) < 0)) {
        lw_free(rows);
        lw_free(list);
        lw_loop_free(loop);
        return -1;
    }
    publish(self->table, list, loop);
    lw_rows_publish(head, rows);
    return 0;
}

/* ---- making it ---- */

static void
drop_capsule(PyObject *capsule)
{
    lw_host_table_drop(PyCapsule_GetPointer(capsule, "lanewise.table"));
}

PyObject *
lw_inner_new(lw_ufunc_object *self)
{
    PyObject *inner =
        lw_inner_bare((lw_ufunc_head *)self, (lw_loop_table *)self->table, NULL, drop_capsule);
    const lw_loop_rows *rows;

    if (inner == NULL)
        return NULL;
    rows = lw_rows_of((lw_ufunc_head *)self);
    for (uint32_t i = 0; rows != NULL && i < rows->n; i++)
        if (give_to_numpy(self, inner, rows->loops[i]) < 0)
            goto fail;
    return inner;
fail:
    Py_DECREF(inner);
    return NULL;
}

/* The numpy.ufunc inside a Ufunc. It starts without loops and with one promoter for any dtypes;
 * loops join by PyUFunc_AddLoopFromSpec, so an exact tuple of dtypes always finds its own loop
 * and nothing depends on earlier calls. One C function serves as the loop of all of them: it
 * finds ours by the operands' dtypes and compiles machine code at its first run. */
#include "core/ir/printed.h"
#include "ufunc/ufunc_parts.h"

#include "core/py/numpy/host_loops.h"
#include "core/py/signals.h"
#include "core/py/text_py.h"
#include "ufunc/device_table_py.h"

#include <assert.h>
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
        return NULL;
    table->references = 1;
    table->owner = (lw_ufunc_head *)owner;
    table->owner_type = "Ufunc";
    table->lock = (lw_lock)LW_LOCK_INIT;
    table->build = lw_build_options_of(&owner->base);
    table->build.watch =
        lw_door_watches_elements(&owner->base.options) ? LW_WATCH_ELEMENTS : LW_WATCH_NOTHING;
    table->build.links = NULL; /* GPU code, of the owner, which this may outlive */
    table->build.n_links = 0;
    table->name = lw_strdup(name);
    table->doc = lw_strdup(doc);
    table->build.name = table->name;
    if (table->name == NULL || table->doc == NULL) {
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
    lw_status status;

    if (dimensions[0] == 0)
        return 0;
    if (loop == NULL)
        return lw_host_loop_fail(LW_ERR_INTERNAL, &err);
    kernel = atomic_load_explicit(&loop->host, memory_order_acquire);
    if (kernel == NULL && (kernel = lw_ufunc_kernel(table, loop)) == NULL)
        return -1;
    status = lw_host_run(kernel, data, dimensions[0], strides, &stop, &failure);
    if (status != LW_OK)
        return lw_host_loop_fail(status, &err);
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
    lw_host_table *table = (void *)((PyUFuncObject *)context->caller)->data;
    PyObject *identity = table->owner ? table->owner->identity : Py_None;
    int failed;

    if (identity == Py_None || PyUnicode_Check(identity))
        return 0;
    if (PyLong_CheckExact(identity) && PyTypeNum_ISUNSIGNED(context->descriptors[0]->type_num))
        identity = PyObject_CallOneArg((PyObject *)&PyLongArrType_Type, identity);
    else
        Py_INCREF(identity);
    if (identity == NULL)
        return -1;
    failed = PyArray_Pack(context->descriptors[0], initial, identity);
    Py_DECREF(identity);
    return failed < 0 ? -1 : 1;
}

/* ---- registering with NumPy ---- */

static int
give_to_numpy(lw_ufunc_object *self, PyObject *inner, const lw_loop *loop)
{
    PyType_Slot slots[] = {{NPY_METH_strided_loop, (void *)run_loop},
                           {NPY_METH_get_reduction_initial, (void *)reduction_initial},
                           {0, NULL}};
    PyArrayMethod_Spec spec = {.name = self->table->name, .slots = slots};

    if (self->base.identity != Py_None)
        spec.flags |= NPY_METH_IS_REORDERABLE;
    return lw_host_loop_give(inner, &spec, loop->types, loop->nin, loop->nout,
                             loop->scalar->pure_integer);
}

/* For all loops that are being added: while NumPy takes one, finalizers and other threads may
 * add others. */
static bool
make_room(lw_ufunc *base, uint32_t n_adding)
{
    bool made;

    lw_lock_take(&base->lock);
    made = lw_array_reserve(&base->loops, n_adding, NULL);
    lw_lock_give(&base->lock);
    return made;
}

/* Declared ones first; both parts narrow to wide, unless the user's order was asked for. */
static void
add_to_array(lw_ufunc *base, lw_loop *loop)
{
    uint32_t first = loop->declared ? 0 : base->n_declared;
    uint32_t at = loop->declared ? base->n_declared : base->loops.n;

    lw_lock_take(&base->lock);
    assert(base->loops.n < base->loops.capacity);
    base->loops.n++;
    base->n_declared += loop->declared;
    while (!base->options.order_given && at > first &&
           lw_types_go_before(loop->types, base->loops.data[at - 1]->types, loop->nin))
        at--;
    memmove(base->loops.data + at + 1, base->loops.data + at,
            (base->loops.n - 1 - at) * sizeof *base->loops.data);
    base->loops.data[at] = loop;
    lw_lock_give(&base->lock);
}

/* Whatever may fail comes first, and what NumPy may refuse for want of memory last of it: a
 * loop that we had and NumPy had not would be chosen by the promoter for ever, and never run.
 */
int
lw_ufunc_add_loop(lw_ufunc_object *self, lw_loop *loop)
{
    lw_loop_list *list = NULL;
    uint32_t adding = ++self->base.n_adding;

    if (!make_room(&self->base, adding) || (list = list_with(self->table, loop)) == NULL) {
        PyErr_NoMemory();
        goto fail;
    }
    if (self->base.inner != NULL && give_to_numpy(self, self->base.inner, loop) < 0)
        goto fail;
    if (list->older !=
        self->table->list) { /* NumPy let Python's code run, which has added one */
        lw_free(list);
        list = list_with(self->table, loop);
        if (list == NULL) {
            PyErr_NoMemory();
            goto fail;
        }
    }
    publish(self->table, list, loop);
    add_to_array(&self->base, loop);
    self->base.n_adding--;
    return 0;
fail:
    self->base.n_adding--;
    lw_free(list);
    lw_loop_free(loop);
    return -1;
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

    if (inner == NULL)
        return NULL;
    for (uint32_t i = 0; i < self->base.loops.n; i++)
        if (give_to_numpy(self, inner, self->base.loops.data[i]) < 0)
            goto fail;
    return inner;
fail:
    Py_DECREF(inner);
    return NULL;
}

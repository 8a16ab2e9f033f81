/* The numpy.ufunc inside a Ufunc. It starts without loops and with one promoter for any dtypes;
 * loops join by PyUFunc_AddLoopFromSpec, so an exact tuple of dtypes always finds its own loop
 * and nothing depends on earlier calls. One C function serves as the loop of all of them: it
 * finds ours by the operands' dtypes and compiles machine code at its first run. */
#include "core/ir/printed.h"
#include "core/py/print_py.h"
#include "core/py/raise_row.h"
#include "ufunc/ufunc_parts.h"

#include "core/py/llvm_bridge.h"
#include "core/py/raise.h"
#include "core/py/text_py.h"
#include "ufunc/device_table_py.h"

#include <fenv.h>
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

static int
publish(lw_host_table *table, lw_loop *loop)
{
    lw_loop_list *old = table->list;
    uint32_t n = old ? old->n : 0;
    lw_loop_list *list = lw_alloc(sizeof *list + (n + 1) * sizeof list->loops[0]);

    if (list == NULL)
        return -1;
    if (n)
        memcpy(list->loops, old->loops, n * sizeof list->loops[0]);
    list->loops[n] = loop;
    list->n = n + 1;
    list->older = old;
    atomic_store_explicit(&table->list, list, memory_order_release);
    if (loop->scalar->can_raise) {
        table->can_raise = true;
        lw_host_elements_reset(); /* the call that is under way began before this was known */
    }
    return 0;
}

/* ---- machine code ---- */

static lw_status
compile(lw_host_table *table, lw_loop *loop, lw_host_kernel **kernel, lw_error *err)
{
    lw_build_report report = {0};
    lw_status status;

    status = lw_host_kernel_new(loop, &table->build, kernel, &report, err);
    lw_lock_take(&table->lock);
    table->stats.compiled += status == LW_OK;
    table->stats.failed += status != LW_OK;
    table->stats.seconds += report.seconds;
    if (status == LW_OK) {
        table->stats.from_memory += report.origin == LW_CACHE_MEMORY;
        table->stats.from_disk += report.origin == LW_CACHE_DISK;
        table->stats.made += report.origin == LW_CACHE_MADE;
    }
    lw_lock_give(&table->lock);
    return status;
}

/* With the GIL: raise what went wrong, or give a waiting warning. */
static int
report_compile(lw_status status, lw_error *err)
{
    PyGILState_STATE gil = PyGILState_Ensure();
    int result = 0;

    if (status != LW_OK) {
        lw_py_raise(err);
        result = -1;
    } else {
        result = lw_py_cache_warn();
    }
    PyGILState_Release(gil);
    return result;
}

lw_host_kernel *
lw_ufunc_kernel(lw_host_table *table, lw_loop *loop)
{
    lw_host_kernel *kernel = atomic_load_explicit(&loop->host, memory_order_acquire);
    lw_host_kernel *expected = NULL;
    PyThreadState *saved;
    lw_error err = {0};
    lw_status status;
    fenv_t flags;

    if (kernel != NULL)
        return kernel;
    fegetenv(&flags); /* a compiler computes too: its flags are not the loop's */
    saved = PyGILState_Check() ? PyEval_SaveThread() : NULL;
    status = compile(table, loop, &kernel, &err);
    if (saved != NULL)
        PyEval_RestoreThread(saved);
    fesetenv(&flags);
    if (status == LW_OK && !atomic_compare_exchange_strong(&loop->host, &expected, kernel)) {
        lw_host_kernel_free(kernel); /* another thread was first */
        kernel = expected;
    }
    return report_compile(status, &err) < 0 ? NULL : kernel;
}

/* ---- the loop of every Ufunc ---- */

static _Thread_local int64_t elements_before;

void
lw_host_elements_reset(void)
{
    elements_before = 0;
}

static bool
is_loop_for(const lw_loop *loop, PyArray_Descr *const *descriptors)
{
    for (int i = 0; i < loop->nin + loop->nout; i++)
        if (lw_dtype_from_num(descriptors[i]->type_num) != loop->types[i])
            return false;
    return true;
}

static lw_loop *
loop_for(lw_host_table *table, PyArray_Descr *const *descriptors)
{
    lw_loop *loop = atomic_load_explicit(&table->last, memory_order_acquire);
    lw_loop_list *list;

    if (loop != NULL && is_loop_for(loop, descriptors))
        return loop;
    list = atomic_load_explicit(&table->list, memory_order_acquire);
    for (uint32_t i = 0; list != NULL && i < list->n; i++)
        if (is_loop_for(list->loops[i], descriptors)) {
            atomic_store_explicit(&table->last, list->loops[i], memory_order_release);
            return list->loops[i];
        }
    return NULL;
}

static void
raise_failure(const lw_loop *loop, const lw_host_failure *failure)
{
    lw_raise_place place = {.kind = LW_AT_ELEMENT,
                            .index = {elements_before + failure->element}};
    PyGILState_STATE gil = PyGILState_Ensure();

    memcpy(place.words, failure->words, sizeof place.words);
    lw_raise_at(&loop->scalar->raises[failure->row - 1], &place);
    PyGILState_Release(gil);
}

/* print() in the function. */
static int
show_printed(void)
{
    PyGILState_STATE gil = PyGILState_Ensure();
    int result = lw_print_show();

    PyGILState_Release(gil);
    return result;
}

static int
fail_status(lw_status status, lw_error *err)
{
    PyGILState_STATE gil = PyGILState_Ensure();

    lw_fail(err, status, "a loop over host memory failed");
    lw_py_raise(err);
    PyGILState_Release(gil);
    return -1;
}

static int
run_loop(PyArrayMethod_Context *context, char *const *data, const npy_intp *dimensions,
         const npy_intp *strides, NpyAuxData *Py_UNUSED(unused))
{
    lw_host_table *table = (void *)((PyUFuncObject *)context->caller)->data;
    lw_loop *loop = loop_for(table, context->descriptors);
    lw_host_kernel *kernel;
    lw_host_failure failure;
    lw_error err = {0};
    lw_status status;

    if (dimensions[0] == 0)
        return 0;
    if (loop == NULL)
        return fail_status(LW_ERR_INTERNAL, &err);
    kernel = atomic_load_explicit(&loop->host, memory_order_acquire);
    if (kernel == NULL && (kernel = lw_ufunc_kernel(table, loop)) == NULL)
        return -1;
    status = lw_host_run(kernel, data, dimensions[0], strides, &failure);
    if (status != LW_OK)
        return fail_status(status, &err);
    if (lw_printed_pending() && show_printed() < 0)
        return -1;
    if (!loop->scalar->can_raise)
        return 0;
    if (failure.row != 0) {
        raise_failure(loop, &failure);
        return -1;
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
    PyArray_DTypeMeta *dtypes[LW_MAX_ARGS];
    PyType_Slot slots[] = {{NPY_METH_strided_loop, (void *)run_loop},
                           {NPY_METH_get_reduction_initial, (void *)reduction_initial},
                           {0, NULL}};
    PyArrayMethod_Spec spec = {.name = self->table->name,
                               .nin = loop->nin,
                               .nout = loop->nout,
                               .casting = NPY_NO_CASTING,
                               .flags = 0,
                               .dtypes = dtypes,
                               .slots = slots};

    if (!lw_numpy_knows(loop->types, loop->nin + loop->nout))
        return 0;
    if (loop->scalar->pure_integer)
        spec.flags |= NPY_METH_NO_FLOATINGPOINT_ERRORS;
    if (self->base.identity != Py_None)
        spec.flags |= NPY_METH_IS_REORDERABLE;
    for (int i = 0; i < loop->nin + loop->nout; i++)
        dtypes[i] = lw_dtype_class(loop->types[i]);
    return PyUFunc_AddLoopFromSpec(inner, &spec);
}

/* Declared ones first; both parts narrow to wide, unless the user's order was asked for. */
static int
add_to_array(lw_ufunc *base, lw_loop *loop)
{
    uint32_t first = loop->declared ? 0 : base->n_declared;
    uint32_t at = loop->declared ? base->n_declared : base->loops.n;

    if (lw_array_push(&base->loops, NULL) == NULL)
        return -1;
    base->n_declared += loop->declared;
    while (!base->options.order_given && at > first &&
           lw_types_go_before(loop->types, base->loops.data[at - 1]->types, loop->nin))
        at--;
    memmove(base->loops.data + at + 1, base->loops.data + at,
            (base->loops.n - 1 - at) * sizeof *base->loops.data);
    base->loops.data[at] = loop;
    return 0;
}

int
lw_ufunc_add_loop(lw_ufunc_object *self, lw_loop *loop)
{
    int failed;

    if (publish(self->table, loop) < 0) {
        lw_loop_free(loop);
        PyErr_NoMemory();
        return -1;
    }
    lw_lock_take(&self->base.lock);
    failed = add_to_array(&self->base, loop);
    lw_lock_give(&self->base.lock);
    if (failed) {
        PyErr_NoMemory();
        return -1;
    }
    return self->base.inner ? give_to_numpy(self, self->base.inner, loop) : 0;
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

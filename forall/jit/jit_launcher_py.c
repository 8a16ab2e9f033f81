/* The type Launcher: a kernel with the shape of its launch, as kernel[grid, block], of which a
 * kernel remembers the last ones, and kernel.forall(n) make it. How it runs: jit_call_py.c. */
#include "forall/jit/jit_py_internal.h"

#include "core/front/read/critical.h"
#include "core/py/cuda/cuda_py.h"
#include "core/device/driver.h"
#include "core/py/raise.h"

#include <stddef.h>
#include <string.h>
#include <structmember.h>

static const char *
name_of(const lw_jit *self)
{
    return lw_function_name(&self->base);
}

/* ---- configured kernels ---- */

lw_jit_launcher *
lw_jit_launcher_new(lw_jit *kernel, const lw_launch_shape *config, PyObject *stream)
{
    PyTypeObject *type = lw_state_class(lw_core->launcher_type);
    lw_jit_launcher *self = type ? (lw_jit_launcher *)type->tp_alloc(type, 0) : NULL;

    if (self == NULL)
        return NULL;
    self->vectorcall = lw_jit_call;
    self->kernel = (lw_jit *)Py_NewRef((PyObject *)kernel);
    self->stream = Py_XNewRef(stream);
    self->config = *config;
    self->n_tasks = -1;
    return self;
}

static int
refuse_launch(const lw_jit *self)
{
    lw_error err = {0};

    if (!self->base.options.device)
        return lw_jit_refuse_varargs(self);
    lw_fail(
        &err, LW_ERR_LAUNCH,
        "Cannot compile a device function as a kernel: `%s` was made with device=True: kernels "
        "call it, and it cannot be launched",
        name_of(self));
    lw_py_raise(&err);
    return -1;
}

/* New reference, or NULL without an exception. */
static lw_jit_launcher *
find_kept(const lw_jit *self, const lw_launch_shape *config, const PyObject *stream)
{
    for (int i = 0; i < LW_JIT_KEPT; i++) {
        lw_jit_launcher *kept = self->kept[i];
        if (kept != NULL && memcmp(&kept->config, config, sizeof *config) == 0 &&
            (config->stream == NULL || kept->stream == stream))
            return (lw_jit_launcher *)Py_NewRef((PyObject *)kept);
    }
    return NULL;
}

static lw_jit_launcher *
keep_new(lw_jit *self, const lw_launch_shape *config, PyObject *stream)
{
    lw_jit_launcher *made = lw_jit_launcher_new(self, config, stream);

    if (made != NULL) {
        Py_XSETREF(self->kept[self->next_kept], (lw_jit_launcher *)Py_NewRef((PyObject *)made));
        self->next_kept = (self->next_kept + 1) % LW_JIT_KEPT;
    }
    return made;
}

PyObject *
lw_jit_configure(PyObject *object, PyObject *key)
{
    lw_jit *self = (lw_jit *)object;
    lw_jit_launcher *made;
    lw_launch_shape config;
    PyObject *stream;
    bool is_new;

    if (refuse_launch(self) < 0 || lw_jit_config_read(key, &config, &stream) < 0)
        return NULL;
    Py_BEGIN_CRITICAL_SECTION(object);
    made = find_kept(self, &config, stream);
    is_new = made == NULL;
    if (is_new)
        made = keep_new(self, &config, config.stream ? stream : NULL);
    Py_END_CRITICAL_SECTION();
    if (made != NULL && is_new && lw_jit_warn_of_grid(self, &config) < 0)
        Py_CLEAR(made);
    return (PyObject *)made;
}

/* A negative number is told of in numba's words. */
static int
read_tasks(PyObject *n, int64_t *out)
{
    if (lw_jit_count_read(n, "forall: ntasks", INT64_MAX / 2, out) == 0)
        return 0;
    if (*out < 0 && PyErr_ExceptionMatches(PyExc_ValueError))
        PyErr_Format(PyExc_ValueError,
                     "Can't create ForAll with negative task count: ntasks must be from 0 to "
                     "%lld, not %.200R",
                     (long long)(INT64_MAX / 2), n);
    return -1;
}

PyObject *
lw_jit_forall(PyObject *object, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"ntasks", "tpb", "stream", "sharedmem", NULL};
    static char *short_names[] = {"n", "tpb", "stream", "sharedmem", NULL};
    bool is_short = kwargs != NULL && PyDict_GetItemString(kwargs, "n") != NULL;
    PyObject *n = NULL, *tpb = NULL, *stream = NULL, *shared = NULL;
    int64_t n_tasks = 0, n_tpb = 0, n_shared = 0;
    lw_launch_shape config = {0};
    lw_jit_launcher *made;

    if (refuse_launch((lw_jit *)object) < 0 ||
        !PyArg_ParseTupleAndKeywords(args, kwargs, "O|OOO:forall",
                                     is_short ? short_names : names, &n, &tpb, &stream,
                                     &shared) ||
        read_tasks(n, &n_tasks) < 0 ||
        (tpb && lw_jit_count_read(tpb, "forall: tpb", 1024, &n_tpb) < 0) ||
        (stream && lw_stream_read(stream, &config.stream) < 0) ||
        (shared && lw_jit_count_read(shared, "forall: sharedmem", INT32_MAX, &n_shared) < 0))
        return NULL;
    config.shared_bytes = (uint32_t)n_shared;
    made = lw_jit_launcher_new((lw_jit *)object, &config, stream);
    if (made != NULL) {
        made->n_tasks = n_tasks;
        made->tpb = (uint32_t)n_tpb;
    }
    return (PyObject *)made;
}

/* ---- the type ---- */

static int
launcher_traverse(PyObject *object, visitproc visit, void *arg)
{
    lw_jit_launcher *self = (lw_jit_launcher *)object;

    Py_VISIT(Py_TYPE(object));
    Py_VISIT(self->kernel);
    Py_VISIT(self->stream);
    return 0;
}

static int
launcher_clear(PyObject *object)
{
    lw_jit_launcher *self = (lw_jit_launcher *)object;

    Py_CLEAR(self->stream); /* the kernel stays, because a finalizer may still launch */
    return 0;
}

static void
launcher_dealloc(PyObject *object)
{
    lw_jit_launcher *self = (lw_jit_launcher *)object;
    PyTypeObject *type = Py_TYPE(object);

    PyObject_GC_UnTrack(object);
    Py_CLEAR(self->stream);
    Py_CLEAR(self->kernel);
    type->tp_free(object);
    Py_DECREF(type);
}

static PyObject *
launcher_repr(PyObject *object)
{
    lw_jit_launcher *self = (lw_jit_launcher *)object;
    const lw_launch_shape *config = &self->config;

    if (self->n_tasks >= 0)
        return PyUnicode_FromFormat("<lanewise.Kernel '%s'.forall(%lld)>",
                                    name_of(self->kernel), (long long)self->n_tasks);
    if (config->cluster[0] != 0)
        return PyUnicode_FromFormat("<lanewise.Kernel '%s'[(%u, %u, %u), (%u, %u, %u), "
                                    "cluster=(%u, %u, %u)]>",
                                    name_of(self->kernel), config->grid[0], config->grid[1],
                                    config->grid[2], config->block[0], config->block[1],
                                    config->block[2], config->cluster[0], config->cluster[1],
                                    config->cluster[2]);
    return PyUnicode_FromFormat("<lanewise.Kernel '%s'[(%u, %u, %u), (%u, %u, %u)]>",
                                name_of(self->kernel), config->grid[0], config->grid[1],
                                config->grid[2], config->block[0], config->block[1],
                                config->block[2]);
}

/* -1 with an exception where names or number do not fit the kernel. */
static int
check_bound(const lw_jit *kernel, PyObject *args, PyObject *kwargs)
{
    PyObject *names = PyTuple_New(0), *values = Py_NewRef(args), *row[LW_MOST_ARRANGED];
    Py_ssize_t n = -1;

    if (kwargs != NULL && names != NULL) {
        PyObject *items = PyDict_Values(kwargs), *more = items ? PySequence_Tuple(items) : NULL;
        Py_XSETREF(names, PySequence_Tuple(kwargs));
        Py_SETREF(values, more ? PySequence_Concat(args, more) : NULL);
        Py_XDECREF(items);
        Py_XDECREF(more);
    }
    if (names != NULL && values != NULL)
        n = lw_function_arrange(&kernel->base, &PyTuple_GET_ITEM(values, 0),
                                PyTuple_GET_SIZE(args), names, NULL, row);
    Py_XDECREF(names);
    Py_XDECREF(values);
    return n < 0 ? -1 : 0;
}

static PyObject *
launcher_bind(PyObject *object, PyObject *args, PyObject *kwargs)
{
    PyObject *functools, *partial, *all, *result = NULL;

    if (check_bound(((lw_jit_launcher *)object)->kernel, args, kwargs) < 0)
        return NULL;
    functools = PyImport_ImportModule("functools");
    if (functools == NULL)
        return NULL;
    partial = PyObject_GetAttrString(functools, "partial");
    Py_DECREF(functools);
    all = PyTuple_New(PyTuple_GET_SIZE(args) + 1);
    if (all != NULL) {
        PyTuple_SET_ITEM(all, 0, Py_NewRef(object));
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args); i++)
            PyTuple_SET_ITEM(all, i + 1, Py_NewRef(PyTuple_GET_ITEM(args, i)));
    }
    if (partial != NULL && all != NULL)
        result = PyObject_Call(partial, all, kwargs);
    Py_XDECREF(partial);
    Py_XDECREF(all);
    return result;
}

static PyObject *
shape_tuple(const uint32_t shape[3])
{
    return Py_BuildValue("(III)", shape[0], shape[1], shape[2]);
}

/* None where the call decides it. */
static PyObject *
get_griddim(PyObject *self, void *Py_UNUSED(closure))
{
    const lw_jit_launcher *launcher = (lw_jit_launcher *)self;

    return launcher->n_tasks < 0 ? shape_tuple(launcher->config.grid) : Py_NewRef(Py_None);
}

static PyObject *
get_blockdim(PyObject *self, void *Py_UNUSED(closure))
{
    const lw_jit_launcher *launcher = (lw_jit_launcher *)self;

    return launcher->n_tasks < 0 ? shape_tuple(launcher->config.block) : Py_NewRef(Py_None);
}

/* None: no clusters. */
static PyObject *
get_clusterdim(PyObject *self, void *Py_UNUSED(closure))
{
    const lw_jit_launcher *launcher = (lw_jit_launcher *)self;

    return launcher->config.cluster[0] ? shape_tuple(launcher->config.cluster)
                                       : Py_NewRef(Py_None);
}

static PyObject *
get_sharedmem(PyObject *self, void *Py_UNUSED(closure))
{
    return PyLong_FromUnsignedLong(((lw_jit_launcher *)self)->config.shared_bytes);
}

static PyObject *
get_ntasks(PyObject *self, void *Py_UNUSED(closure))
{
    const lw_jit_launcher *launcher = (lw_jit_launcher *)self;

    return launcher->n_tasks < 0 ? Py_NewRef(Py_None) : PyLong_FromLongLong(launcher->n_tasks);
}

static PyObject *
get_thread_per_block(PyObject *self, void *Py_UNUSED(closure))
{
    const lw_jit_launcher *launcher = (lw_jit_launcher *)self;

    return PyLong_FromUnsignedLong(launcher->n_tasks < 0 ? launcher->config.block[0]
                                                         : launcher->tpb);
}

static PyObject *
get_stream(PyObject *self, void *Py_UNUSED(closure))
{
    PyObject *stream = ((lw_jit_launcher *)self)->stream;

    return stream ? Py_NewRef(stream) : PyLong_FromLong(0);
}

/* Pickles as kernel[grid, block, 0, sharedmem, cluster], or as kernel.forall(n, tpb, 0,
 * sharedmem), because a stream belongs to this process. */
static PyObject *
launcher_reduce(PyObject *object, PyObject *Py_UNUSED(unused))
{
    const lw_jit_launcher *self = (lw_jit_launcher *)object;
    PyObject *how, *operators;

    if (self->config.stream != 0)
        return PyErr_Format(
            PyExc_TypeError,
            "%.200R cannot be pickled: pickle the kernel, and give it a stream there", object);
    if (self->n_tasks >= 0) {
        how = PyObject_GetAttrString((PyObject *)self->kernel, "forall");
        return how ? Py_BuildValue("(N(LIiI))", how, (long long)self->n_tasks, self->tpb, 0,
                                   self->config.shared_bytes)
                   : NULL;
    }
    operators = PyImport_ImportModule("operator");
    how = operators ? PyObject_GetAttrString(operators, "getitem") : NULL;
    Py_XDECREF(operators);
    return how ? Py_BuildValue("(N(O(NNiIN)))", how, self->kernel, get_griddim(object, NULL),
                               get_blockdim(object, NULL), 0, self->config.shared_bytes,
                               get_clusterdim(object, NULL))
               : NULL;
}

static PyGetSetDef launcher_getset[] = {
    {"griddim", get_griddim, NULL, PyDoc_STR("blocks, as (x, y, z)"), NULL},
    {"blockdim", get_blockdim, NULL, PyDoc_STR("threads a block, as (x, y, z)"), NULL},
    {"clusterdim", get_clusterdim, NULL,
     PyDoc_STR("blocks of a cluster, as (x, y, z); None: no clusters"), NULL},
    {"sharedmem", get_sharedmem, NULL, PyDoc_STR("bytes of dynamic shared memory"), NULL},
    {"ntasks", get_ntasks, NULL, PyDoc_STR("of forall(n): n; else None"), NULL},
    {"thread_per_block", get_thread_per_block, NULL,
     PyDoc_STR("of forall(n, tpb): tpb, 0 for the best one; else the block's width"), NULL},
    {"stream", get_stream, NULL, PyDoc_STR("as it was given; 0: the default stream"), NULL},
    {NULL, NULL, NULL, NULL, NULL}};

static PyMemberDef launcher_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(lw_jit_launcher, vectorcall), READONLY, NULL},
    {"kernel", T_OBJECT, offsetof(lw_jit_launcher, kernel), READONLY,
     PyDoc_STR("the kernel that it launches")},
    {"dispatcher", T_OBJECT, offsetof(lw_jit_launcher, kernel), READONLY, NULL},
    {NULL, 0, 0, 0, NULL}};

static PyMethodDef launcher_methods[] = {
    {"bind", (PyCFunction)(void (*)(void))launcher_bind, METH_VARARGS | METH_KEYWORDS,
     PyDoc_STR("bind($self, /, *args, **kwargs)\n--\n\n"
               "A callable that repeats this launch.")},
    {"_launch", (PyCFunction)(void (*)(void))lw_jit_launch_prepared,
     METH_FASTCALL | METH_KEYWORDS, NULL},
    {"__reduce__", launcher_reduce, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL}};

PyDoc_STRVAR(launcher_doc, "A kernel with the shape of its launch: kernel[grid, block] or "
                           "kernel.forall(n).\n\nCall it with the kernel's arguments.");

static PyType_Slot launcher_slots[] = {
    {Py_tp_doc, (void *)launcher_doc},   {Py_tp_dealloc, launcher_dealloc},
    {Py_tp_traverse, launcher_traverse}, {Py_tp_clear, launcher_clear},
    {Py_tp_repr, launcher_repr},         {Py_tp_call, PyVectorcall_Call},
    {Py_tp_getset, launcher_getset},     {Py_tp_members, launcher_members},
    {Py_tp_methods, launcher_methods},   {0, NULL}};

static PyType_Spec launcher_spec = {
    .name = "lanewise.Launcher",
    .basicsize = sizeof(lw_jit_launcher),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL |
             Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = launcher_slots};

int
lw_jit_launcher_register(PyObject *module)
{
    PyObject *type = PyType_FromModuleAndSpec(module, &launcher_spec, NULL);

    lw_core->launcher_type = (PyTypeObject *)type;
    return type ? PyModule_AddObjectRef(module, "Launcher", type) : -1;
}

/* Overloads as the reader sees them: which callables and names have any when a function is
 * read, and trees that are extended by the implementation that Python has chosen. An extended
 * tree is read by a reader that knows all that the readers before it have made, so that an
 * object has one constant and a function one fn in all trees of a base. */
#include "core/front/read/read_internal.h"

#include "core/front/read/services.h"

#include <stdatomic.h>
#include <string.h>

/* ---- what is registered ---- */

static _Atomic uint64_t version;

uint64_t
lw_overloads_version(void)
{
    return atomic_load_explicit(&version, memory_order_relaxed);
}

static PyObject *
changed(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(unused))
{
    return PyLong_FromUnsignedLongLong(atomic_fetch_add(&version, 1) + 1);
}

bool
lw_overloads_touch(PyObject *watched, uint64_t since)
{
    PyObject *touched = lw_service_find(LW_SERVICE_EXTENDING, "_touched"), *answer = NULL;
    bool result;

    if (touched != NULL)
        answer = PyObject_CallFunction(touched, "OK", watched, (unsigned long long)since);
    result = answer == Py_True;
    lw_read_clear();
    Py_XDECREF(touched);
    Py_XDECREF(answer);
    return result;
}

/* names: a tuple of (name, kind, whether some selector prefers literals). */
static bool
add_names(lw_reader *r, PyObject *names)
{
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names); i++) {
        PyObject *pair = PyTuple_GET_ITEM(names, i);
        lw_overloaded_name *slot = lw_array_push(&r->tree->overloaded, &r->tree->arena);

        if (slot == NULL)
            return lw_read_no_memory(r);
        slot->kind = (uint8_t)PyLong_AsLong(PyTuple_GET_ITEM(pair, 1));
        slot->prefers_literals = PyTuple_GET_ITEM(pair, 2) == Py_True;
        slot->name = lw_read_str(r, PyTuple_GET_ITEM(pair, 0));
        if (slot->name == NULL)
            return false;
    }
    return true;
}

/* The first overloads of a process may be registered while a function is read, by a module that
 * is imported for an attribute: lanewise._vector_types. */
static PyObject *
registered(lw_reader *r)
{
    if (r->overloaded == NULL && lw_overloads_version() != 0)
        r->overloaded = lw_service_find(LW_SERVICE_EXTENDING, "_functions");
    return r->overloaded;
}

bool
lw_read_overloads(lw_reader *r)
{
    PyObject *names, *result = NULL;
    bool ok;

    if (lw_overloads_version() == 0)
        return true;
    registered(r);
    names = lw_service_find(LW_SERVICE_EXTENDING, "_overloaded_names");
    if (r->overloaded != NULL && names != NULL)
        result = PyObject_CallNoArgs(names);
    ok = result != NULL && (r->tree->overloaded.n != 0 || add_names(r, result));
    if (result == NULL)
        lw_read_failed(r);
    Py_XDECREF(names);
    Py_XDECREF(result);
    return ok;
}

bool
lw_read_is_overloaded(lw_reader *r, PyObject *object)
{
    PyObject *id = registered(r) ? PyLong_FromVoidPtr(object) : NULL;
    bool found = id != NULL && PyDict_Contains(r->overloaded, id) == 1;

    lw_read_clear();
    Py_XDECREF(id);
    return found;
}

static bool
prefers_literals(PyObject *id)
{
    PyObject *ask = lw_service_find(LW_SERVICE_EXTENDING, "_prefers_literals");
    PyObject *answer = ask ? PyObject_CallOneArg(ask, id) : NULL;
    bool result = answer == Py_True;

    lw_read_clear();
    Py_XDECREF(ask);
    Py_XDECREF(answer);
    return result;
}

bool
lw_read_is_of_type(PyObject *object, const char *name)
{
    PyObject *method, *function;
    bool is;

    if (strcmp(Py_TYPE(object)->tp_name, "BoundUfunc") != 0)
        return strcmp(Py_TYPE(object)->tp_name, name) == 0;
    method = lw_python_method(object);
    function = method != object ? PyObject_GetAttrString(object, "__func__") : NULL;
    is = function != NULL && strcmp(Py_TYPE(function)->tp_name, name) == 0;
    lw_read_clear();
    Py_XDECREF(function);
    Py_XDECREF(method);
    return is;
}

/* How a gufunc loops over its arguments follows from their types: Python answers
 * (lanewise/_gufunc_calls.py). */
static bool
is_gufunc_with_loops(PyObject *object)
{
    return lw_read_is_of_type(object, "lanewise.Gufunc");
}

/* Whether it has excluded= or static=. */
static bool
has_roles(PyObject *gufunc)
{
    PyObject *roles = PyObject_GetAttrString(gufunc, "_roles");
    bool has = roles != NULL && roles != Py_None;

    lw_read_clear();
    Py_XDECREF(roles);
    return has;
}

bool
lw_read_overloaded(lw_reader *r, PyObject *object, PyObject *id, lw_constant *out)
{
    if (lw_is_own_function(r->tree, out)) {
        out->overloaded = lw_read_is_overloaded(r, object);
        return true;
    }
    if (is_gufunc_with_loops(object)) {
        out->overloaded = out->is_gufunc = true;
        out->takes_values = has_roles(object);
        return true;
    }
    out->overloaded = lw_read_is_overloaded(r, object);
    out->prefers_literals = out->overloaded && prefers_literals(id);
    return lw_captures_watch(r->captures, id) == 0 || lw_read_failed(r);
}

bool
lw_read_is_overloaded_name(lw_reader *r, PyObject *name)
{
    const char *text = PyUnicode_AsUTF8(name);

    lw_read_clear();
    for (uint32_t i = 0; text && i < r->tree->overloaded.n; i++)
        if (strcmp(r->tree->overloaded.data[i].name, text) == 0)
            return true;
    return false;
}

/* ---- what is kept for later ---- */

/* Objects that are themselves, whatever they contain: a second constant of one would be another
 * function, class or member. Others are dropped, as they would be without overloads, and read
 * again where an implementation uses them. */
static bool
keeps_identity(PyObject *object)
{
    return object != NULL && (PyCallable_Check(object) || lw_fold_is_member(object));
}

/* The dict from constants to objects, and the one from the objects' ids to constants. */
static bool
keep_objects(const lw_reader *r, PyObject *objects, PyObject *constant_of)
{
    bool ok = true;

    for (uint32_t i = 0; ok && i < r->objects.n; i++) {
        PyObject *object = r->objects.data[i], *number, *id;

        if (!keeps_identity(object))
            continue;
        number = PyLong_FromUnsignedLong(i);
        id = PyLong_FromVoidPtr(object);
        ok = number && id && PyDict_SetItem(objects, number, object) == 0 &&
             PyDict_SetDefault(constant_of, id, number) != NULL;
        Py_XDECREF(number);
        Py_XDECREF(id);
    }
    return ok;
}

bool
lw_read_keep(lw_reader *r, bool of_tree)
{
    PyObject *objects, *constant_of, *functions, *kept = NULL;

    if (r->captures == NULL)
        return true;
    objects = PyDict_New();
    constant_of = PyDict_New();
    functions = r->earlier ? PySequence_List(r->earlier) : PyList_New(0);
    for (uint32_t i = 0; functions != NULL && i < r->queue.n; i++)
        if (PyList_Append(functions, r->queue.data[i].function) < 0 ||
            (r->queue.data[i].self && PyList_Append(functions, r->queue.data[i].self) < 0))
            Py_CLEAR(functions);
    if (objects && constant_of && functions && keep_objects(r, objects, constant_of))
        kept = PyTuple_Pack(4, objects, constant_of, r->function_of, functions);
    Py_XDECREF(objects);
    Py_XDECREF(constant_of);
    Py_XDECREF(functions);
    if (kept == NULL)
        return lw_read_failed(r);
    lw_captures_keep(r->captures, r->tree, kept, of_tree);
    return true;
}

/* ---- trees with answers ---- */

static bool
take_objects(lw_reader *r, PyObject *objects)
{
    PyObject *number, *object;
    Py_ssize_t at = 0;

    if (!lw_array_reserve(&r->objects, r->tree->constants.n, NULL))
        return lw_read_no_memory(r);
    r->objects.n = r->tree->constants.n;
    while (PyDict_Next(objects, &at, &number, &object)) /* nobody changes it */
        r->objects.data[PyLong_AsUnsignedLong(number)] = Py_NewRef(object);
    return true;
}

/* The reader of a tree that extends this one. kept: what its reader has left. false: r->status
 * says why. */
static bool
go_on(lw_reader *r, lw_tree *tree, PyObject *kept, lw_error *err)
{
    Py_SETREF(r->constant_of, PyDict_Copy(PyTuple_GET_ITEM(kept, 1)));
    Py_SETREF(r->function_of, PyDict_Copy(PyTuple_GET_ITEM(kept, 2)));
    r->earlier = Py_NewRef(PyTuple_GET_ITEM(kept, 3));
    r->status = lw_tree_extend(tree, &r->tree, err);
    if (r->status != LW_OK || !take_objects(r, PyTuple_GET_ITEM(kept, 0)))
        return false;
    r->captures = lw_captures_extending(tree->reading);
    if (r->constant_of == NULL || r->function_of == NULL || r->captures == NULL)
        return lw_read_failed(r);
    return lw_read_overloads(r);
}

/* The fn of an implementation, which is read later. A tuple says that a class makes a type with
 * a model. */
static uint32_t
enqueue_implementation(lw_reader *r, PyObject *implementation)
{
    PyObject *function;
    uint32_t fn;

    if (PyTuple_Check(implementation))
        return lw_read_struct_call(r, implementation);
    function = lw_python_function(implementation);
    if (function == NULL)
        return lw_read_failed(r);
    fn = lw_read_declared(r, implementation, function,
                          PyMethod_Check(implementation) ? PyMethod_GET_SELF(implementation)
                                                         : NULL);
    Py_DECREF(function);
    return fn;
}

/* The fn that chooses between those for CPUs and for GPUs, whose parameters are alike. */
static uint32_t
choose_side(lw_reader *r, uint32_t on_cpu, uint32_t on_gpu)
{
    lw_sides sides = {.name = "(that of the target)", .like = on_cpu};

    sides.on_cpu = lw_read_push(r, NULL, (lw_constant){.kind = LW_K_FUNCTION, .u = on_cpu});
    sides.on_gpu = lw_read_push(r, NULL, (lw_constant){.kind = LW_K_FUNCTION, .u = on_gpu});
    return sides.on_cpu && sides.on_gpu ? lw_read_sides(r, &sides) : 0;
}

/* A list has those for CPUs and for GPUs. */
static bool
read_implementation(lw_reader *r, PyObject *implementation, uint32_t *out)
{
    bool both = PyList_Check(implementation);
    uint32_t on_gpu = 0;

    *out =
        enqueue_implementation(r, both ? PyList_GET_ITEM(implementation, 0) : implementation);
    if (*out != 0 && both)
        on_gpu = enqueue_implementation(r, PyList_GET_ITEM(implementation, 1));
    lw_read_queue(r, NULL);
    if (on_gpu != 0 && r->status == LW_OK)
        *out = choose_side(r, *out, on_gpu);
    return *out != 0 && r->status == LW_OK;
}

/* What is added to the answers of a tree. Neither implementation nor refused: the function of
 * lanewise's own that has the key's name. */
typedef struct reply {
    const char *key;
    PyObject *watched; /* whose overloads count as captured from now on; or NULL */
    PyObject *implementation, *refused;
    bool is_own;
} reply;

static bool
add_answer(lw_reader *r, const reply *given)
{
    lw_overload_answer answer = {.key = lw_read_text(r, given->key)}, *slot;
    PyObject *implementation = given->implementation, *refused = given->refused;

    if (implementation != NULL && !read_implementation(r, implementation, &answer.fn))
        return false;
    if (given->is_own) {
        answer.fn = lw_read_own_function(r, given->key);
        lw_read_queue(r, NULL);
    }
    if (refused != NULL && (answer.refused = lw_read_str(r, refused)) == NULL)
        return false;
    if (given->watched != NULL && lw_captures_watch(r->captures, given->watched) < 0)
        return lw_read_failed(r);
    slot = lw_array_push(&r->tree->answers, &r->tree->arena);
    if (slot == NULL)
        return lw_read_no_memory(r);
    *slot = answer;
    return r->status == LW_OK && lw_read_keep(r, false);
}

/* *done: false where another thread has extended the tree meanwhile. */
static lw_status
extend(lw_tree *tree, const reply *given, bool *done, lw_error *err)
{
    PyObject *kept = Py_XNewRef(lw_captures_kept(tree->reading));
    lw_reader r;

    *done = false;
    if (kept == NULL) /* it has been extended */
        return LW_OK;
    if (lw_reader_init(&r, err) && go_on(&r, tree, kept, err) && add_answer(&r, given) &&
        !lw_read_interrupted(&r)) {
        lw_captures_finish(r.captures);
        lw_captures_extend(r.captures);
        *done = lw_tree_publish(r.tree);
    }
    lw_reader_reset(&r);
    Py_DECREF(kept);
    if (*done) {
        lw_captures_drop_kept(tree->reading);
        return LW_OK;
    }
    lw_tree_free(r.tree);
    if (r.status != LW_OK)
        lw_captures_free(r.captures);
    if (r.status == LW_ERR_PYTHON && err->status == LW_OK)
        err->status = LW_ERR_PYTHON;
    return r.status;
}

static bool
is_answered(const lw_tree *tree, const char *key)
{
    for (uint32_t i = 0; i < tree->answers.n; i++)
        if (strcmp(tree->answers.data[i].key, key) == 0)
            return true;
    return false;
}

static lw_status
read_reply(const lw_tree *of, const reply *given, lw_error *err)
{
    lw_status status = LW_OK;
    bool done = false;

    while (!done && status == LW_OK) {
        lw_tree *tree = lw_tree_latest(of->base ? of->base : of);

        if (is_answered(tree, given->key))
            return LW_OK;
        if (tree->reading == NULL)
            return lw_fail(err, LW_ERR_INTERNAL, "an overload of a function that is gone");
        status = extend(tree, given, &done, err);
    }
    return status;
}

/* What the answer depends on that reading has not met as such: the name of the operator, the id
 * of the function. New reference. */
static PyObject *
watched_by(const lw_tree *of, const lw_overload_question *question)
{
    PyObject *callee, *id;

    if (question->kind != LW_OVERLOAD_FUNCTION)
        return PyUnicode_FromString(question->name);
    callee = lw_read_object_of(of, question->constant);
    id = callee ? PyLong_FromVoidPtr(callee) : NULL;
    Py_XDECREF(callee);
    return id;
}

lw_status
lw_read_answer(const lw_tree *of, const lw_overload_question *question,
               PyObject *implementation, PyObject *refused, lw_error *err)
{
    reply given = {.key = question->key,
                   .watched = watched_by(of, question),
                   .implementation = implementation,
                   .refused = refused};
    lw_status status;

    if (given.watched == NULL && PyErr_Occurred())
        return err->status = LW_ERR_PYTHON;
    status = read_reply(of, &given, err);
    Py_XDECREF(given.watched);
    return status;
}

lw_status
lw_read_own(const lw_tree *of, const char *name, lw_error *err)
{
    return read_reply(of, &(reply){.key = name, .is_own = true}, err);
}

/* ---- objects of constants ---- */

PyObject *
lw_read_object_of(const lw_tree *of, uint32_t constant)
{
    const lw_tree *tree = lw_tree_latest(of->base ? of->base : of);
    PyObject *kept = tree->reading ? lw_captures_kept(tree->reading) : NULL;
    PyObject *number = kept ? PyLong_FromUnsignedLong(constant) : NULL;
    PyObject *object =
        number ? PyDict_GetItemWithError(PyTuple_GET_ITEM(kept, 0), number) : NULL;

    Py_XDECREF(number);
    return Py_XNewRef(object);
}

PyObject *
lw_read_class_of(const lw_tree *tree, const lw_class *user_class)
{
    for (uint32_t i = 0; i < tree->constants.n; i++)
        if (tree->constants.data[i].kind == LW_K_CLASS &&
            tree->constants.data[i].user_class == user_class)
            return lw_read_object_of(tree, i);
    return NULL;
}

static PyObject *
operator_overloaded(PyObject *Py_UNUSED(module), PyObject *args)
{
    const char *name;
    int prefers_literals;

    if (!PyArg_ParseTuple(args, "sp", &name, &prefers_literals))
        return NULL;
    if (!lw_overload_operator(name, prefers_literals))
        return PyErr_Format(PyExc_SystemError, "lanewise: `%s` is not an operator", name);
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"_operator_overloaded", operator_overloaded, METH_VARARGS,
     PyDoc_STR("an operator has overloads, by the name of the method that a class has for it")},
    {"_overloads_changed", changed, METH_NOARGS,
     PyDoc_STR("overloads have been registered: the number of their version")},
    {NULL, NULL, 0, NULL},
};

int
lw_overloads_register(PyObject *module)
{
    return PyModule_AddFunctions(module, methods);
}

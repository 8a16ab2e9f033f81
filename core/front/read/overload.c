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

/* names: a tuple of (name, whether it is an attribute). */
static bool
add_names(lw_reader *r, PyObject *names)
{
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names); i++) {
        PyObject *pair = PyTuple_GET_ITEM(names, i);
        lw_overloaded_name *slot = lw_array_push(&r->tree->overloaded, &r->tree->arena);

        if (slot == NULL)
            return lw_read_no_memory(r);
        slot->is_attribute = PyTuple_GET_ITEM(pair, 1) == Py_True;
        slot->name = lw_read_str(r, PyTuple_GET_ITEM(pair, 0));
        if (slot->name == NULL)
            return false;
    }
    return true;
}

bool
lw_read_overloads(lw_reader *r)
{
    PyObject *names, *result = NULL;
    bool ok;

    if (lw_overloads_version() == 0)
        return true;
    r->overloaded = lw_service_find(LW_SERVICE_EXTENDING, "_functions");
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
    PyObject *id = r->overloaded ? PyLong_FromVoidPtr(object) : NULL;
    bool found = id != NULL && PyDict_Contains(r->overloaded, id) == 1;

    lw_read_clear();
    Py_XDECREF(id);
    return found;
}

/* ---- what is kept for later ---- */

static bool
has_overloads(const lw_tree *tree)
{
    bool found = tree->overloaded.n != 0;

    for (uint32_t i = 0; !found && i < tree->constants.n; i++)
        found = tree->constants.data[i].overloaded;
    return found;
}

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

    if (r->captures == NULL ||
        (r->tree->base == NULL && !has_overloads(r->tree) && !r->may_need_own))
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

static bool
read_implementation(lw_reader *r, PyObject *implementation, uint32_t *out)
{
    PyObject *function = lw_python_function(implementation);
    PyObject *self = PyMethod_Check(implementation) ? PyMethod_GET_SELF(implementation) : NULL;

    if (function == NULL)
        return lw_read_failed(r);
    *out = lw_read_declared(r, implementation, function, self);
    Py_DECREF(function);
    lw_read_queue(r, NULL);
    return r->status == LW_OK;
}

/* What is added to the answers of a tree. Neither implementation nor refused: the function of
 * lanewise's own that has the key's name. */
typedef struct reply {
    const char *key;
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
    if (lw_reader_init(&r, err) && go_on(&r, tree, kept, err) && add_answer(&r, given)) {
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

lw_status
lw_read_answer(const lw_tree *of, const char *key, PyObject *implementation, PyObject *refused,
               lw_error *err)
{
    reply given = {.key = key, .implementation = implementation, .refused = refused};

    return read_reply(of, &given, err);
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

static PyMethodDef methods[] = {
    {"_overloads_changed", changed, METH_NOARGS,
     PyDoc_STR("overloads have been registered: the number of their version")},
    {NULL, NULL, 0, NULL},
};

int
lw_overloads_register(PyObject *module)
{
    return PyModule_AddFunctions(module, methods);
}

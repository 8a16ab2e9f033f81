/* External declarations, functions in other languages: objects of cuda.declare_device, and any
 * callable with the attribute __lanewise_external__. They become EXTERNAL constants.
 *
 * A function that is one thing on CPUs and another on GPUs is a function of the tree that asks
 * on which side it is (ON_GPU) and passes its arguments on. Whoever builds code removes the
 * other side (core/opt/prune). */
#include "core/front/read/read_internal.h"

#include "core/front/external.h"
#include "core/front/read/services.h"

#include <stdio.h>
#include <string.h>

static lw_external *
new_external(lw_reader *r, const char *name, const char *signature, const char *abi)
{
    lw_external *external = lw_arena_take(&r->tree->arena, sizeof *external);

    if (external == NULL) {
        lw_read_no_memory(r);
        return NULL;
    }
    external->name = lw_read_text(r, name);
    external->c_abi = strcmp(abi, "c") == 0;
    if (external->name == NULL)
        return NULL;
    r->status = lw_signature_parse(signature, &r->tree->arena, &external->signature, r->err);
    return r->status == LW_OK ? external : NULL;
}

/* What the object declares (new reference), or NULL. */
static PyObject *
declaration_of(PyObject *object)
{
    PyObject *said;

    if (PyFunction_Check(object) && ((PyFunctionObject *)object)->func_dict == NULL)
        return NULL;
    said = PyObject_GetAttrString(object, "__lanewise_external__");
    if (said == NULL)
        lw_read_clear();
    return said;
}

/* The same with each part checked: a tuple of three str. */
static PyObject *
checked(PyObject *object, PyObject *said)
{
    PyObject *check = lw_service_find(LW_SERVICE_LINKING, "external"), *result = NULL;

    if (check != NULL)
        result = PyObject_CallFunctionObjArgs(check, object, said, NULL);
    Py_XDECREF(check);
    return result;
}

/* ---- functions that differ on CPUs and GPUs ---- */

static bool
add_param(lw_reader *r, lw_scope *scope, lw_fn_param param)
{
    PyObject *name = PyUnicode_FromString(param.name);
    lw_fn_param *slot;

    param.var = name ? lw_scope_add(r, scope, name) : lw_read_failed(r);
    Py_XDECREF(name);
    param.annotation = 0;
    slot =
        param.var ? lw_array_push(&r->tree->fns.data[scope->fn].params, &r->tree->arena) : NULL;
    if (slot != NULL)
        *slot = param;
    else if (r->status == LW_OK)
        lw_read_no_memory(r);
    return r->status == LW_OK;
}

static bool
params_like(lw_reader *r, lw_scope *scope, uint32_t like)
{
    for (uint32_t i = 0; i < r->tree->fns.data[like].params.n; i++)
        if (!add_param(r, scope, r->tree->fns.data[like].params.data[i]))
            return false;
    return true;
}

static bool
plain_params(lw_reader *r, lw_scope *scope, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        char name[16];

        snprintf(name, sizeof name, "a%u", i);
        if (!add_param(r, scope, (lw_fn_param){.name = lw_read_text(r, name)}))
            return false;
    }
    return true;
}

static uint32_t
argument(lw_reader *r, uint32_t loc, const lw_fn_param *param)
{
    uint32_t name = lw_read_node(r, (lw_node){LW_NODE_NAME, .loc = loc, .a = param->var}), text;

    switch (name ? param->kind : LW_PARAM_POSITIONAL) {
    case LW_PARAM_VARARG:
        return lw_read_node(r, (lw_node){LW_NODE_STAR, .loc = loc, .a = name});
    case LW_PARAM_KEYWORD_ONLY:
        text = lw_read_constant_text(r, LW_K_STR, param->name, NULL);
        return text ? lw_read_node(
                          r, (lw_node){LW_NODE_ARG_KEYWORD, .loc = loc, .a = text, .b = name})
                    : 0;
    default: return name;
    }
}

/* return callee(parameters …) */
static uint32_t
pass_on(lw_reader *r, uint32_t fn, uint32_t loc, uint32_t callee, bool returns)
{
    uint32_t node = lw_read_node(r, (lw_node){LW_NODE_CONSTANT, .loc = loc, .a = callee});
    lw_read_items items = {0};

    for (uint32_t i = 0; node && i < r->tree->fns.data[fn].params.n; i++) {
        const lw_fn_param param = r->tree->fns.data[fn].params.data[i];
        if (!lw_read_item(r, &items, argument(r, loc, &param)))
            node = 0;
    }
    if (node != 0)
        node = lw_read_list_node(r, (lw_node){LW_NODE_CALL, .loc = loc, .a = node}, items.data,
                                 items.n);
    lw_array_free(&items);
    if (node != 0)
        node = lw_read_node(
            r, (lw_node){returns ? LW_NODE_RETURN : LW_NODE_EXPR, .loc = loc, .a = node});
    return node ? lw_read_list_node(r, (lw_node){LW_NODE_BODY, .loc = loc}, &node, 1) : 0;
}

static uint32_t
body_of(lw_reader *r, uint32_t fn, uint32_t loc, const lw_sides *sides)
{
    bool returns = !sides->returns_nothing;
    uint32_t test = lw_read_node(r, (lw_node){LW_NODE_ON_GPU, .loc = loc});
    uint32_t gpu = test ? pass_on(r, fn, loc, sides->on_gpu, returns) : 0;
    uint32_t cpu = gpu ? pass_on(r, fn, loc, sides->on_cpu, returns) : 0;
    uint32_t choice =
        cpu ? lw_read_node(r, (lw_node){LW_NODE_IF, .loc = loc, .a = test, .b = gpu, .c = cpu})
            : 0;

    return choice ? lw_read_list_node(r, (lw_node){LW_NODE_BODY, .loc = loc}, &choice, 1) : 0;
}

uint32_t
lw_read_sides(lw_reader *r, const lw_sides *sides)
{
    uint32_t fn = lw_read_new_fn(r, sides->name),
             loc = fn ? lw_read_bare_loc(r, sides->name) : 0;
    lw_scope scope;
    bool ok;

    if (loc == 0 || lw_scope_init(r, &scope, NULL, fn) < 0)
        return r->status == LW_OK ? lw_read_failed(r) : 0;
    r->tree->fns.data[fn].loc = loc;
    r->tree->fns.data[fn].file = r->tree->locs.data[loc].file;
    r->tree->fns.data[fn].line = 1;
    r->tree->fns.data[fn].generated = true;
    ok = sides->like ? params_like(r, &scope, sides->like)
                     : plain_params(r, &scope, sides->n_params);
    if (ok) {
        uint32_t body = body_of(r, fn, loc, sides);
        r->tree->fns.data[fn].body = body;
    }
    lw_scope_reset(r, &scope);
    return r->status == LW_OK ? fn : 0;
}

/* ---- declarations with a function for CPUs ---- */

/* The function for CPUs (new reference), or NULL. */
static PyObject *
host_of(PyObject *object)
{
    PyObject *host = PyObject_GetAttrString(object, "__lanewise_host__");

    lw_read_clear();
    if (host == Py_None)
        Py_CLEAR(host);
    return host;
}

/* The constant of the function that calls the one on CPUs, the other one on GPUs. */
static uint32_t
with_host(lw_reader *r, PyObject *object, PyObject *host, const lw_external *external,
          uint32_t constant)
{
    lw_sides sides = {.name = external->name,
                      .on_cpu = lw_read_constant(r, host),
                      .on_gpu = constant,
                      .n_params = external->signature.n_args,
                      .returns_nothing = external->signature.result.kind == LW_SIG_VOID};
    uint32_t fn = sides.on_cpu ? lw_read_sides(r, &sides) : 0;

    if (fn == 0)
        return 0;
    if (lw_read_guard(r, object, "__lanewise_host__", host) < 0)
        return lw_read_failed(r);
    r->tree->fns.data[fn].declared = &external->signature;
    r->tree->fns.data[fn].n_declared = 1;
    return lw_read_push(r, object, (lw_constant){.kind = LW_K_FUNCTION, .u = fn});
}

/* The constant of what the declaration says. */
static uint32_t
from_declaration(lw_reader *r, PyObject *object, PyObject *parts)
{
    const char *name, *signature, *abi;
    const lw_external *external;
    PyObject *host;
    uint32_t linked = 0, constant;

    if (!PyArg_ParseTuple(parts, "sss", &name, &signature, &abi))
        return lw_read_failed(r);
    external =
        lw_read_linked(r, object, NULL, &linked) ? new_external(r, name, signature, abi) : NULL;
    if (external == NULL)
        return 0;
    host = host_of(object);
    constant = lw_read_push(r, host ? NULL : object,
                            (lw_constant){.kind = LW_K_EXTERNAL,
                                          .text = external->name,
                                          .bytes = external,
                                          .linked = linked});
    if (constant != 0 && host != NULL)
        constant = with_host(r, object, host, external, constant);
    Py_XDECREF(host);
    return constant;
}

uint32_t
lw_read_external(lw_reader *r, PyObject *object)
{
    PyObject *said = declaration_of(object), *parts;
    uint32_t constant;

    if (said == NULL)
        return 0;
    parts = checked(object, said);
    Py_DECREF(said);
    constant = parts ? from_declaration(r, object, parts) : lw_read_failed(r);
    Py_XDECREF(parts);
    return constant;
}

/* ---- functions of this process ---- */

bool
lw_read_is_foreign(PyObject *object)
{
    PyObject *self = PyCFunction_Check(object) ? PyCFunction_GET_SELF(object) : NULL;
    const char *name = Py_TYPE(self ? self : object)->tp_name;

    if (self != NULL)
        return strcmp(name, "_cffi_backend.Lib") == 0;
    if (strncmp(name, "_cffi_backend.", 14) == 0)
        return true;
    for (PyTypeObject *type = Py_TYPE(object); type != NULL; type = type->tp_base)
        if (strcmp(type->tp_name, "_ctypes.CFuncPtr") == 0 ||
            strcmp(type->tp_name, "_ctypes.PyCFuncPtr") == 0 ||
            (strcmp(type->tp_name, "WrapperAddressProtocol") == 0 &&
             lw_comes_from((PyObject *)type, "lanewise")))
            return true;
    return false;
}

/* Whether the object is the method `from_buffer` of cffi's FFI. */
static bool
is_from_buffer(PyObject *object)
{
    PyObject *self = PyMethod_Check(object)      ? PyMethod_GET_SELF(object)
                     : PyCFunction_Check(object) ? PyCFunction_GET_SELF(object)
                                                 : NULL;
    const char *type = self ? Py_TYPE(self)->tp_name : "";
    PyObject *name, *module;
    bool is;

    if (strcmp(type, "FFI") != 0 && strcmp(type, "_cffi_backend.FFI") != 0 &&
        strcmp(type, "CompiledFFI") != 0)
        return false;
    name = PyObject_GetAttrString(object, "__name__");
    module = PyObject_GetAttrString((PyObject *)Py_TYPE(self), "__module__");
    is = name && PyUnicode_Check(name) && module && PyUnicode_Check(module) &&
         PyUnicode_CompareWithASCIIString(name, "from_buffer") == 0 &&
         (PyUnicode_CompareWithASCIIString(module, "cffi.api") == 0 ||
          PyUnicode_CompareWithASCIIString(module, "_cffi_backend") == 0);
    lw_read_clear();
    Py_XDECREF(name);
    Py_XDECREF(module);
    return is;
}

static uint32_t
read_from_buffer(lw_reader *r)
{
    PyObject *function = lw_service_find(LW_SERVICE_FOREIGN, "from_buffer");
    uint32_t constant = function ? lw_read_constant(r, function) : lw_read_failed(r);

    Py_XDECREF(function);
    return constant;
}

uint32_t
lw_read_foreign(lw_reader *r, PyObject *object)
{
    PyObject *find, *parts;
    const char *name, *signature;
    unsigned long long address;
    lw_external *external = NULL;

    if (is_from_buffer(object))
        return read_from_buffer(r);
    if (!lw_read_is_foreign(object))
        return 0;
    find = lw_service_find(LW_SERVICE_FOREIGN, "function");
    parts = find ? PyObject_CallOneArg(find, object) : NULL;
    Py_XDECREF(find);
    if (parts == NULL)
        return lw_read_failed(r);
    if (PyArg_ParseTuple(parts, "ssK", &name, &signature, &address))
        external = new_external(r, name, signature, "c");
    else
        lw_read_failed(r);
    Py_DECREF(parts);
    if (external == NULL)
        return 0;
    external->address = address;
    return lw_read_push(
        r, object,
        (lw_constant){.kind = LW_K_EXTERNAL, .text = external->name, .bytes = external});
}

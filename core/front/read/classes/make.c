/* The `__init__` that dataclasses generate, as a function of the tree: it assigns the fields in
 * the order of the class, calls the factories of those that are not given, and
 * `__post_init__` at its end. */
#include "core/front/read/classes/class_internal.h"

#include <string.h>

/* ---- what dataclasses know of a field ---- */

enum { INIT, KW_ONLY, DEFAULT, FACTORY, FIELD_TYPE, N_PARTS };

typedef enum field_kind { FIELD, INIT_VAR, CLASS_VAR } field_kind;

typedef struct dataclass_field {
    PyObject *name;           /* borrowed */
    PyObject *parts[N_PARTS]; /* owned; NULL: it has none */
    field_kind kind;
} dataclass_field;

static bool
is_missing(PyObject *value)
{
    return value == NULL || strstr(Py_TYPE(value)->tp_name, "MISSING") != NULL;
}

static void
field_reset(dataclass_field *field)
{
    for (int i = 0; i < N_PARTS; i++)
        Py_CLEAR(field->parts[i]);
}

static void
field_read(PyObject *pair, dataclass_field *out)
{
    static const char *const wanted[N_PARTS] = {"init", "kw_only", "default", "default_factory",
                                                "_field_type"};
    PyObject *kind;

    *out = (dataclass_field){.name = PyTuple_GET_ITEM(pair, 0), .kind = CLASS_VAR};
    for (int i = 0; i < N_PARTS; i++) {
        out->parts[i] = PyObject_GetAttrString(PyTuple_GET_ITEM(pair, 1), wanted[i]);
        lw_read_clear();
    }
    kind =
        out->parts[FIELD_TYPE] ? PyObject_GetAttrString(out->parts[FIELD_TYPE], "name") : NULL;
    lw_read_clear();
    if (lw_class_text_is(kind, "_FIELD"))
        out->kind = FIELD;
    else if (lw_class_text_is(kind, "_FIELD_INITVAR"))
        out->kind = INIT_VAR;
    Py_XDECREF(kind);
}

static bool
is_parameter(const dataclass_field *field)
{
    return field->kind != CLASS_VAR && field->parts[INIT] == Py_True;
}

/* ---- parameters ---- */

static bool
add_parameter(lw_reader *r, lw_scope *scope, PyObject *name, lw_fn_param param)
{
    lw_fn_param *slot;

    param.var = r->status == LW_OK ? lw_scope_add(r, scope, name) : 0;
    slot =
        param.var ? lw_array_push(&r->tree->fns.data[scope->fn].params, &r->tree->arena) : NULL;
    if (slot == NULL)
        return r->status == LW_OK ? lw_read_no_memory(r) : false;
    param.name = r->tree->fns.data[scope->fn].vars.data[param.var].name;
    *slot = param;
    return true;
}

/* The default of a parameter whose value a factory makes: no argument can be the same. */
static uint32_t
no_argument(lw_reader *r)
{
    return lw_read_constant_text(r, LW_K_OBJECT, "the value that a factory makes", NULL);
}

static bool
add_field(lw_reader *r, lw_scope *scope, const dataclass_field *field)
{
    lw_fn_param param = {.kind = field->parts[KW_ONLY] == Py_True ? LW_PARAM_KEYWORD_ONLY
                                                                  : LW_PARAM_POSITIONAL};

    if (!is_missing(field->parts[FACTORY]))
        param.default_constant = no_argument(r);
    else if (!is_missing(field->parts[DEFAULT]))
        param.default_constant = lw_read_constant(r, field->parts[DEFAULT]);
    return r->status == LW_OK && add_parameter(r, scope, field->name, param);
}

/* self, then the fields: as in Python, those that are given by keyword alone come last. */
static bool
add_parameters(lw_reader *r, lw_scope *scope, PyObject *items)
{
    PyObject *self = PyUnicode_FromString("self");
    bool ok = self != NULL && add_parameter(r, scope, self, (lw_fn_param){0});

    Py_XDECREF(self);
    for (int keyword_only = 0; keyword_only < 2; keyword_only++)
        for (Py_ssize_t i = 0; ok && i < PyList_GET_SIZE(items); i++) {
            dataclass_field field;
            field_read(PyList_GET_ITEM(items, i), &field);
            if (is_parameter(&field) && (field.parts[KW_ONLY] == Py_True) == keyword_only)
                ok = add_field(r, scope, &field);
            field_reset(&field);
        }
    return ok || (r->status == LW_OK && lw_read_failed(r));
}

/* ---- the body ---- */

typedef struct body_reader {
    lw_reader *r;
    lw_scope *scope;
    uint32_t loc;
    lw_read_items statements;
} body_reader;

static uint32_t
name_node(body_reader *b, PyObject *name)
{
    PyObject *var = PyDict_GetItemWithError(b->scope->vars, name);

    if (var == NULL)
        return lw_read_failed(b->r);
    return lw_read_node(b->r, (lw_node){LW_NODE_NAME, .loc = b->loc,
                                        .a = (uint32_t)PyLong_AsUnsignedLong(var)});
}

/* self.name */
static uint32_t
attribute_node(body_reader *b, PyObject *name, uint8_t flags)
{
    uint32_t self = lw_read_node(
        b->r, (lw_node){LW_NODE_NAME, .loc = b->loc,
                        .a = b->r->tree->fns.data[b->scope->fn].params.data[0].var});
    uint32_t text = self ? lw_read_constant(b->r, name) : 0;

    return text ? lw_read_node(b->r, (lw_node){LW_NODE_ATTRIBUTE, .flags = flags, .loc = b->loc,
                                               .a = self, .b = text})
                : 0;
}

/* What the factory makes: factory(). */
static uint32_t
factory_node(body_reader *b, PyObject *factory)
{
    uint32_t callee;

    if (factory == (PyObject *)&PyTuple_Type) {
        PyObject *empty = PyTuple_New(0);
        uint32_t node = empty ? lw_read_constant_node(b->r, empty, b->loc) : 0;
        Py_XDECREF(empty);
        return node ? node : lw_read_failed(b->r);
    }
    callee = lw_read_constant_node(b->r, factory, b->loc);
    return callee ? lw_read_list_node(b->r, (lw_node){LW_NODE_CALL, .loc = b->loc, .a = callee},
                                      NULL, 0)
                  : 0;
}

/* factory() if name is <no argument> else name */
static uint32_t
given_or_made(body_reader *b, const dataclass_field *field)
{
    uint32_t none = no_argument(b->r), made, link, test, name;

    none = none ? lw_read_node(b->r, (lw_node){LW_NODE_CONSTANT, .loc = b->loc, .a = none}) : 0;
    link = none ? lw_read_node(
                      b->r, (lw_node){LW_NODE_LINK, .op = LW_PY_IS, .loc = b->loc, .a = none})
                : 0;
    name = link ? name_node(b, field->name) : 0;
    test = name ? lw_read_list_node(b->r, (lw_node){LW_NODE_COMPARE, .loc = b->loc, .a = name},
                                    &link, 1)
                : 0;
    made = test ? factory_node(b, field->parts[FACTORY]) : 0;
    name = made ? name_node(b, field->name) : 0;
    return name ? lw_read_node(b->r, (lw_node){LW_NODE_IFEXP, .loc = b->loc, .a = test,
                                               .b = made, .c = name})
                : 0;
}

/* The value that a field gets; 0 and status OK: none. A default that Python leaves in the class
 * is put into the object, where it reads the same. */
static uint32_t
value_node(body_reader *b, const dataclass_field *field)
{
    bool is_made = !is_missing(field->parts[FACTORY]);

    if (is_parameter(field))
        return is_made ? given_or_made(b, field) : name_node(b, field->name);
    if (is_made)
        return factory_node(b, field->parts[FACTORY]);
    return !is_missing(field->parts[DEFAULT])
               ? lw_read_constant_node(b->r, field->parts[DEFAULT], b->loc)
               : 0;
}

static bool
add_assignment(body_reader *b, const dataclass_field *field)
{
    uint32_t value = value_node(b, field), target;

    if (value == 0)
        return b->r->status == LW_OK;
    target = attribute_node(b, field->name, LW_NODE_STORE | LW_NODE_FORCED);
    return target &&
           lw_read_item(b->r, &b->statements,
                        lw_read_list_node(b->r,
                                          (lw_node){LW_NODE_ASSIGN, .loc = b->loc, .a = value},
                                          &target, 1));
}

/* self.__post_init__(the values of the fields that are InitVars) */
static bool
add_post_init(body_reader *b, PyObject *items)
{
    PyObject *name = PyUnicode_InternFromString("__post_init__");
    lw_read_items args = {0};
    uint32_t callee = name ? attribute_node(b, name, 0) : lw_read_failed(b->r), call = 0;

    for (Py_ssize_t i = 0; callee && i < PyList_GET_SIZE(items); i++) {
        dataclass_field field;
        field_read(PyList_GET_ITEM(items, i), &field);
        if (field.kind == INIT_VAR && !lw_read_item(b->r, &args, name_node(b, field.name)))
            callee = 0;
        field_reset(&field);
    }
    if (callee)
        call = lw_read_list_node(b->r, (lw_node){LW_NODE_CALL, .loc = b->loc, .a = callee},
                                 args.data, args.n);
    if (call)
        call = lw_read_node(b->r, (lw_node){LW_NODE_EXPR, .loc = b->loc, .a = call});
    Py_XDECREF(name);
    lw_array_free(&args);
    return lw_read_item(b->r, &b->statements, call);
}

static uint32_t
read_body(body_reader *b, PyObject *owner, PyObject *items)
{
    bool ok = true;
    uint32_t body = 0;

    for (Py_ssize_t i = 0; ok && i < PyList_GET_SIZE(items); i++) {
        dataclass_field field;
        field_read(PyList_GET_ITEM(items, i), &field);
        if (field.kind == FIELD)
            ok = add_assignment(b, &field);
        field_reset(&field);
    }
    if (ok && lw_class_defines(owner, "__post_init__"))
        ok = add_post_init(b, items);
    if (ok)
        body = lw_read_list_node(b->r, (lw_node){LW_NODE_BODY, .loc = b->loc},
                                 b->statements.data, b->statements.n);
    lw_array_free(&b->statements);
    return body;
}

uint32_t
lw_class_init_of_dataclass(lw_reader *r, PyObject *owner, PyObject *fields)
{
    const char *name = ((PyTypeObject *)owner)->tp_name;
    uint32_t fn = lw_read_new_fn(r, lw_read_text(r, name)),
             loc = fn ? lw_read_bare_loc(r, r->tree->fns.data[fn].name) : 0;
    PyObject *items = PyDict_Items(fields);
    body_reader b = {.r = r, .loc = loc};
    lw_scope scope;

    if (loc == 0 || items == NULL || lw_scope_init(r, &scope, NULL, fn) < 0) {
        Py_XDECREF(items);
        return r->status == LW_OK ? lw_read_failed(r) : 0;
    }
    b.scope = &scope;
    r->tree->fns.data[fn].loc = loc;
    r->tree->fns.data[fn].file = r->tree->locs.data[loc].file;
    r->tree->fns.data[fn].line = 1;
    r->tree->fns.data[fn].generated = true;
    if (add_parameters(r, &scope, items)) {
        uint32_t body = read_body(&b, owner, items);
        r->tree->fns.data[fn].body = body;
    }
    Py_DECREF(items);
    lw_scope_reset(r, &scope);
    return r->status == LW_OK ? fn : 0;
}

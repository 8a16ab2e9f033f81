/* Classes of the user's. A class is read once: its methods, properties and constants become
 * members (core/front/tree.h), each guarded as globals are. What makes an object is a function
 * of the tree that returns the tuple of its fields: of a dataclass it is made here from its
 * fields, of other classes it is `__init__`, in which `self.x` is a variable and `return` gives
 * the fields. Their order is that in which `__init__` names them. */
#include "core/front/read/read_internal.h"

#include <string.h>

typedef LW_ARRAY(lw_class_member) member_list;

/* ---- which classes, and which of their functions ---- */

static bool
text_is(PyObject *object, const char *text)
{
    return object != NULL && PyUnicode_Check(object) &&
           PyUnicode_CompareWithASCIIString(object, text) == 0;
}

/* Whether a function was written by the class's author, and not made by dataclasses or
 * collections. */
static bool
is_written(PyObject *function)
{
    PyObject *module = PyFunction_Check(function) ? PyFunction_GET_MODULE(function) : NULL;
    PyCodeObject *code =
        PyFunction_Check(function) ? (PyCodeObject *)PyFunction_GET_CODE(function) : NULL;
    const char *name = module && PyUnicode_Check(module) ? PyUnicode_AsUTF8(module) : NULL;

    lw_read_clear();
    if (code == NULL || text_is(code->co_filename, "<string>"))
        return false;
    return name == NULL || /* code that is run without a module */
           (strcmp(name, "collections") != 0 && strcmp(name, "dataclasses") != 0 &&
            strncmp(name, "namedtuple_", 11) != 0);
}

/* The function in an attribute of a class (borrowed from it), or NULL. */
static PyObject *
function_in(PyObject *raw, lw_class_member_kind *kind)
{
    PyObject *function = NULL;

    *kind = LW_MEMBER_METHOD;
    if (PyFunction_Check(raw))
        return raw;
    if (PyObject_TypeCheck(raw, &PyProperty_Type)) {
        *kind = LW_MEMBER_PROPERTY;
        function = PyObject_GetAttrString(raw, "fget");
    } else if (PyObject_TypeCheck(raw, &PyStaticMethod_Type) ||
               PyObject_TypeCheck(raw, &PyClassMethod_Type)) {
        *kind = LW_MEMBER_STATIC;
        function = PyObject_GetAttrString(raw, "__func__");
    }
    lw_read_clear();
    Py_XDECREF(function); /* raw owns it */
    return function && PyFunction_Check(function) ? function : NULL;
}

/* Names that compiled code never asks a class for. */
static bool
is_skipped(const char *name)
{
    static const char *const names[] = {
        "__init__",       "__new__",           "__repr__",          "__str__",
        "__hash__",       "__format__",        "__annotate__",      "__annotate_func__",
        "__reduce__",     "__class_getitem__", "__init_subclass__", "__post_init__",
        "__getnewargs__", "__getstate__",      "__setstate__",      "__replace__",
        "__doc__",        "__module__",        "__qualname__",      "__match_args__",
        "__slots__",      "__dict__",          "__weakref__",       "__reduce_ex__"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

static PyObject *
own_dict(PyTypeObject *type) /* new reference */
{
#if PY_VERSION_HEX >= 0x030C0000
    return PyType_GetDict(type);
#else
    Py_XINCREF(type->tp_dict);
    return type->tp_dict;
#endif
}

static bool
dict_has_code(PyTypeObject *type)
{
    PyObject *dict = own_dict(type), *items = dict ? PyDict_Items(dict) : NULL;
    lw_class_member_kind kind;
    bool has = false;

    for (Py_ssize_t i = 0; items && !has && i < PyList_GET_SIZE(items); i++) {
        PyObject *name = PyTuple_GET_ITEM(PyList_GET_ITEM(items, i), 0);
        PyObject *function = function_in(PyTuple_GET_ITEM(PyList_GET_ITEM(items, i), 1), &kind);
        const char *text = PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : NULL;
        has = text && function && !is_skipped(text) && is_written(function);
    }
    Py_XDECREF(items);
    Py_XDECREF(dict);
    lw_read_clear();
    return has;
}

/* Whether an attribute of objects runs code when it is assigned, other than a property. */
static bool
dict_has_setter(PyTypeObject *type)
{
    PyObject *dict = own_dict(type), *values = dict ? PyDict_Values(dict) : NULL;
    bool has = false;

    for (Py_ssize_t i = 0; values && !has && i < PyList_GET_SIZE(values); i++) {
        PyTypeObject *of = Py_TYPE(PyList_GET_ITEM(values, i));
        has = of->tp_descr_set != NULL && of != &PyMemberDescr_Type &&
              of != &PyGetSetDescr_Type && !PyType_IsSubtype(of, &PyProperty_Type);
    }
    Py_XDECREF(values);
    Py_XDECREF(dict);
    return has;
}

static bool
is_base(PyTypeObject *type)
{
    return type == &PyBaseObject_Type || type == &PyTuple_Type;
}

bool
lw_read_class_has_code(PyTypeObject *type)
{
    PyObject *mro = type->tp_mro;

    for (Py_ssize_t i = 0; mro && i < PyTuple_GET_SIZE(mro); i++) {
        PyTypeObject *one = (PyTypeObject *)PyTuple_GET_ITEM(mro, i);
        if (!is_base(one) && (one->tp_flags & Py_TPFLAGS_HEAPTYPE) && dict_has_code(one))
            return true;
    }
    return false;
}

static bool
is_namedtuple(PyObject *object)
{
    PyObject *fields = lw_read_field_names(object);

    Py_XDECREF(fields);
    return fields != NULL;
}

PyObject *
lw_read_dataclass_fields(PyObject *object)
{
    PyObject *fields = PyObject_GetAttrString(object, "__dataclass_fields__");

    lw_read_clear();
    if (fields != NULL && !PyDict_CheckExact(fields))
        Py_CLEAR(fields);
    return fields;
}

PyObject *
lw_read_written_init(PyObject *object)
{
    PyObject *init = PyObject_GetAttrString(object, "__init__");

    lw_read_clear();
    Py_XDECREF(init); /* the class owns it */
    return init && PyFunction_Check(init) && is_written(init) ? init : NULL;
}

static bool
defines(PyObject *object, const char *name)
{
    PyObject *found = PyObject_GetAttrString(object, name), *base = NULL;
    bool own;

    lw_read_clear();
    base = PyObject_GetAttrString((PyObject *)&PyBaseObject_Type, name);
    lw_read_clear();
    own = found != NULL && found != base && PyFunction_Check(found) && is_written(found);
    Py_XDECREF(found);
    Py_XDECREF(base);
    return own;
}

bool
lw_read_class_makes_itself(PyObject *object)
{
    return defines(object, "__new__") || lw_read_written_init(object) != NULL;
}

/* Whether objects of the class are their fields and nothing else. */
static bool
is_readable(PyObject *object)
{
    PyTypeObject *type = (PyTypeObject *)object;
    PyObject *fields;
    bool ok;

    if (Py_TYPE(object) != &PyType_Type || !(type->tp_flags & Py_TPFLAGS_HEAPTYPE) ||
        defines(object, "__getattr__") || defines(object, "__getattribute__") ||
        defines(object, "__setattr__"))
        return false;
    if (is_namedtuple(object))
        return lw_read_class_has_code(type);
    if (type->tp_new != PyBaseObject_Type.tp_new || type->tp_basicsize > 64)
        return false;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(type->tp_mro); i++) {
        PyTypeObject *one = (PyTypeObject *)PyTuple_GET_ITEM(type->tp_mro, i);
        if (one != &PyBaseObject_Type && (Py_TYPE(one) != &PyType_Type || dict_has_setter(one)))
            return false;
    }
    if (lw_read_written_init(object) != NULL)
        return true;
    fields = lw_read_dataclass_fields(object);
    ok = fields != NULL && !defines(object, "__post_init__");
    Py_XDECREF(fields);
    return ok;
}

/* ---- members ---- */

static bool
add_member(lw_reader *r, PyObject *object, PyObject *name, PyObject *raw, PyObject *seen,
           member_list *members)
{
    const char *text = PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : NULL;
    lw_class_member member = {.kind = LW_MEMBER_METHOD};
    PyObject *function, *self = NULL, *value;
    lw_class_member *slot;

    if (text == NULL || is_skipped(text))
        return text != NULL || (lw_read_clear(), true);
    if (PySet_Contains(seen, name) == 1) /* by a class earlier in the order of resolution */
        return true;
    if (PySet_Add(seen, name) < 0)
        return lw_read_failed(r);
    function = function_in(raw, &member.kind);
    if (function != NULL && !is_written(function))
        return true;
    if (function != NULL) {
        self = PyObject_TypeCheck(raw, &PyClassMethod_Type) ? object : NULL;
        member.index = lw_read_function_constant(r, function, self, NULL);
        if (member.index != 0)
            (void)lw_read_linked_method(r, object, member.index, &member.linked);
    } else if (lw_fold_is_basic(raw)) {
        member.kind = LW_MEMBER_CONSTANT;
        member.index = lw_read_constant(r, raw);
    } else {
        return true;
    }
    if (member.index == 0)
        return false;
    value = self ? NULL : PyObject_GetAttr(object, name);
    if (value != NULL && lw_captures_add_attribute(r->captures, object, name, value) < 0)
        lw_read_failed(r);
    Py_XDECREF(value);
    lw_read_clear();
    member.name = lw_read_text(r, text);
    slot = lw_array_push(members, &r->tree->arena);
    if (slot == NULL)
        return lw_read_no_memory(r);
    *slot = member;
    return r->status == LW_OK;
}

bool
lw_read_members(lw_reader *r, PyObject *object, lw_class *out)
{
    PyObject *mro = ((PyTypeObject *)object)->tp_mro;
    PyObject *seen = PySet_New(NULL);
    member_list members = {0};

    if (seen == NULL)
        return lw_read_failed(r);
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(mro) && r->status == LW_OK; i++) {
        PyTypeObject *type = (PyTypeObject *)PyTuple_GET_ITEM(mro, i);
        PyObject *dict = is_base(type) ? NULL : own_dict(type);
        PyObject *items = dict ? PyDict_Items(dict) : NULL;

        for (Py_ssize_t j = 0; items && j < PyList_GET_SIZE(items); j++)
            if (!add_member(r, object, PyTuple_GET_ITEM(PyList_GET_ITEM(items, j), 0),
                            PyTuple_GET_ITEM(PyList_GET_ITEM(items, j), 1), seen, &members))
                break;
        Py_XDECREF(items);
        Py_XDECREF(dict);
    }
    Py_DECREF(seen);
    out->members = members.data;
    out->n_members = members.n;
    for (uint32_t i = 0; i < members.n; i++)
        out->has_special |= strncmp(members.data[i].name, "__", 2) == 0;
    return r->status == LW_OK;
}

/* ---- what makes an object ---- */

/* A TUPLE node's constant: the names of the fields, and the class. */
static uint32_t
fields_constant(lw_reader *r, const lw_class *class, const char *const *names, uint32_t n)
{
    uint32_t *nones = lw_arena_take(&r->tree->arena, (n + 1) * sizeof *nones);
    uint32_t none = nones ? lw_read_constant(r, Py_None) : lw_read_no_memory(r);

    if (none == 0)
        return 0;
    for (uint32_t i = 0; i < n; i++)
        nones[i] = none;
    return lw_read_push(r, NULL,
                        (lw_constant){.kind = LW_K_TUPLE,
                                      .n = n,
                                      .items = nones,
                                      .names = names,
                                      .text = class->name,
                                      .user_class = class});
}

uint32_t
lw_read_fields_node(lw_reader *r, const lw_class *class, uint32_t loc, const char *const *names,
                    const uint32_t *vars, uint32_t n)
{
    uint32_t constant = fields_constant(r, class, names, n), result;
    lw_read_items items = {0};

    for (uint32_t i = 0; constant && i < n; i++)
        if (!lw_read_item(r, &items,
                          lw_read_node(r, (lw_node){LW_NODE_NAME, .loc = loc, .a = vars[i]})))
            constant = 0;
    result = constant
                 ? lw_read_list_node(r, (lw_node){LW_NODE_TUPLE, .loc = loc, .a = constant},
                                     items.data, items.n)
                 : 0;
    lw_array_free(&items);
    return result;
}

/* The LW_K_DTYPE of a field whose type lanewise.extending.register has fixed; 0: it is not. */
static uint32_t
registered_type(const lw_class *class, const char *name)
{
    for (uint32_t i = 0; i < class->n_registered; i++)
        if (strcmp(class->registered[i], name) == 0)
            return class->types[i];
    return 0;
}

enum { INIT, KW_ONLY, DEFAULT, FACTORY, FIELD_TYPE, N_PARTS };

typedef struct dataclass_field {
    PyObject *name;           /* borrowed */
    PyObject *parts[N_PARTS]; /* owned; NULL: it has none */
    bool is_field;            /* it is neither a ClassVar nor an InitVar */
    bool is_made;             /* a parameter of `__init__` without a factory */
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

    *out = (dataclass_field){.name = PyTuple_GET_ITEM(pair, 0)};
    for (int i = 0; i < N_PARTS; i++) {
        out->parts[i] = PyObject_GetAttrString(PyTuple_GET_ITEM(pair, 1), wanted[i]);
        lw_read_clear();
    }
    kind =
        out->parts[FIELD_TYPE] ? PyObject_GetAttrString(out->parts[FIELD_TYPE], "name") : NULL;
    lw_read_clear();
    out->is_field = text_is(kind, "_FIELD");
    out->is_made =
        out->is_field && out->parts[INIT] == Py_True && is_missing(out->parts[FACTORY]);
    if (text_is(kind, "_FIELD_CLASSVAR")) /* nothing of the object's */
        out->is_made = true;
    Py_XDECREF(kind);
}

/* One parameter of a dataclass's function. */
static bool
add_field(lw_reader *r, lw_scope *scope, const dataclass_field *field)
{
    lw_fn_param param = {.kind = field->parts[KW_ONLY] == Py_True ? LW_PARAM_KEYWORD_ONLY
                                                                  : LW_PARAM_POSITIONAL},
                *slot;

    if (!is_missing(field->parts[DEFAULT]))
        param.default_constant = lw_read_constant(r, field->parts[DEFAULT]);
    param.var = r->status == LW_OK ? lw_scope_add(r, scope, field->name) : 0;
    slot =
        param.var ? lw_array_push(&r->tree->fns.data[scope->fn].params, &r->tree->arena) : NULL;
    if (slot != NULL) {
        param.name = r->tree->fns.data[scope->fn].vars.data[param.var].name;
        *slot = param;
    } else if (r->status == LW_OK) {
        lw_read_no_memory(r);
    }
    return r->status == LW_OK;
}

/* As in Python, those that are given by keyword alone come last. */
bool
lw_read_dataclass_params(lw_reader *r, lw_scope *scope, PyObject *items, bool *refused)
{
    for (int keyword_only = 0; keyword_only < 2; keyword_only++)
        for (Py_ssize_t i = 0; i < PyList_GET_SIZE(items) && r->status == LW_OK; i++) {
            dataclass_field field;
            field_read(PyList_GET_ITEM(items, i), &field);
            *refused |= !field.is_made;
            if (field.is_field && (field.parts[KW_ONLY] == Py_True) == keyword_only)
                (void)add_field(r, scope, &field);
            field_reset(&field);
        }
    return r->status == LW_OK;
}

uint32_t
lw_read_typed_variable(lw_reader *r, lw_scope *scope, uint32_t loc, const lw_fn_param *param,
                       uint32_t type, uint32_t *statement)
{
    PyObject *name = PyUnicode_FromFormat("self.%s", param->name);
    uint32_t var = name ? lw_scope_add(r, scope, name) : lw_read_failed(r), target, value;

    Py_XDECREF(name);
    target = var ? lw_read_node(
                       r, (lw_node){LW_NODE_NAME, .flags = LW_NODE_STORE, .loc = loc, .a = var})
                 : 0;
    value = target ? lw_read_node(r, (lw_node){LW_NODE_NAME, .loc = loc, .a = param->var}) : 0;
    *statement = value ? lw_read_node(r, (lw_node){LW_NODE_ANNASSIGN, .loc = loc, .a = target,
                                                   .b = type, .c = value})
                       : 0;
    return *statement ? var : 0;
}

/* The body of a dataclass's function: the tuple of its fields in the order of the class. */
static uint32_t
body_of_fields(lw_reader *r, lw_scope *scope, PyObject *items, const lw_class *class,
               uint32_t loc)
{
    uint32_t most = r->tree->fns.data[scope->fn].params.n, n = 0, value;
    const char **names = lw_arena_take(&r->tree->arena, (most + 1) * sizeof *names);
    uint32_t *vars = lw_arena_take(&r->tree->arena, (most + 1) * sizeof *vars);
    lw_read_items body = {0};

    if (names == NULL || vars == NULL)
        return lw_read_no_memory(r);
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(items); i++)
        for (uint32_t k = 0; k < most && r->status == LW_OK; k++) {
            const lw_fn_param param = r->tree->fns.data[scope->fn].params.data[k];
            uint32_t type, statement;
            if (!text_is(PyTuple_GET_ITEM(PyList_GET_ITEM(items, i), 0), param.name))
                continue;
            type = registered_type(class, param.name);
            names[n] = param.name;
            vars[n] = param.var;
            if (type != 0) {
                vars[n] = lw_read_typed_variable(r, scope, loc, &param, type, &statement);
                (void)lw_read_item(r, &body, statement);
            }
            n++;
        }
    value = r->status == LW_OK ? lw_read_fields_node(r, class, loc, names, vars, n) : 0;
    value = value ? lw_read_node(r, (lw_node){LW_NODE_RETURN, .loc = loc, .a = value}) : 0;
    value = lw_read_item(r, &body, value)
                ? lw_read_list_node(r, (lw_node){LW_NODE_BODY, .loc = loc}, body.data, body.n)
                : 0;
    lw_array_free(&body);
    return value;
}

/* def P(x, y): return the tuple of x and y */
static uint32_t
make_of_dataclass(lw_reader *r, PyObject *fields, lw_class *class)
{
    uint32_t fn = lw_read_new_fn(r, class->name),
             loc = fn ? lw_read_bare_loc(r, class->name) : 0;
    PyObject *items = PyDict_Items(fields);
    bool refused = false;
    lw_scope scope;

    if (loc == 0 || items == NULL || lw_scope_init(r, &scope, NULL, fn) < 0) {
        Py_XDECREF(items);
        return r->status == LW_OK ? lw_read_failed(r) : 0;
    }
    r->tree->fns.data[fn].loc = loc;
    r->tree->fns.data[fn].file = r->tree->locs.data[loc].file;
    r->tree->fns.data[fn].line = 1;
    r->tree->fns.data[fn].generated = true;
    if (lw_read_dataclass_params(r, &scope, items, &refused))
        r->tree->fns.data[fn].body = body_of_fields(r, &scope, items, class, loc);
    Py_DECREF(items);
    lw_scope_reset(&scope);
    if (r->status == LW_OK && refused)
        r->tree->fns.data[fn].problem = lw_read_diag(
            r, 0,
            (lw_fault){LW_ERR_UNSUPPORTED, "E165",
                       .help = "write its `__init__`, which assigns the fields"},
            "the dataclass `%.100s` has a field with `init=False`, a `default_factory` or an "
            "`InitVar`",
            class->name);
    return r->status == LW_OK ? fn : 0;
}

int
lw_read_guard(lw_reader *r, PyObject *object, const char *name, PyObject *value)
{
    PyObject *text = PyUnicode_FromString(name);
    int result = text ? lw_captures_add_attribute(r->captures, object, text, value) : -1;

    Py_XDECREF(text);
    return result;
}

/* The types of fields that lanewise.extending.register has noted. */
static bool
read_registered(lw_reader *r, PyObject *object, lw_class *class)
{
    PyObject *dict = PyObject_GetAttrString(object, LW_REGISTERED_FIELDS);
    PyObject *items = dict && PyDict_CheckExact(dict) ? PyDict_Items(dict) : NULL;
    Py_ssize_t n = items ? PyList_GET_SIZE(items) : 0;
    const char **names = lw_arena_take(&r->tree->arena, ((size_t)n + 1) * sizeof *names);
    uint32_t *types = lw_arena_take(&r->tree->arena, ((size_t)n + 1) * sizeof *types);

    lw_read_clear();
    if (names == NULL || types == NULL)
        lw_read_no_memory(r);
    for (Py_ssize_t i = 0; i < n && r->status == LW_OK; i++) {
        names[i] = lw_read_str(r, PyTuple_GET_ITEM(PyList_GET_ITEM(items, i), 0));
        types[i] = lw_read_constant(r, PyTuple_GET_ITEM(PyList_GET_ITEM(items, i), 1));
        class->n_registered++;
    }
    class->registered = names;
    class->types = types;
    if (items != NULL && r->status == LW_OK &&
        lw_read_guard(r, object, LW_REGISTERED_FIELDS, dict) < 0)
        lw_read_failed(r);
    Py_XDECREF(items);
    Py_XDECREF(dict);
    return r->status == LW_OK;
}

/* The names of the fields that are compared: those without `compare=False`. */
static bool
name_compared(lw_reader *r, PyObject *fields, lw_class *class)
{
    PyObject *items = PyDict_Items(fields);
    Py_ssize_t n = items ? PyList_GET_SIZE(items) : 0;

    class->compared = lw_arena_take(&r->tree->arena, ((size_t)n + 1) * sizeof *class->compared);
    if (items == NULL || class->compared == NULL) {
        Py_XDECREF(items);
        return items ? lw_read_no_memory(r) : lw_read_failed(r);
    }
    for (Py_ssize_t i = 0; i < n && r->status == LW_OK; i++) {
        PyObject *pair = PyList_GET_ITEM(items, i);
        PyObject *field = PyTuple_GET_ITEM(pair, 1);
        PyObject *compare = PyObject_GetAttrString(field, "compare");
        PyObject *kind = PyObject_GetAttrString(field, "_field_type");
        PyObject *kind_name = kind ? PyObject_GetAttrString(kind, "name") : NULL;

        lw_read_clear();
        if (compare == Py_True && text_is(kind_name, "_FIELD"))
            class->compared[class->n_compared++] = lw_read_str(r, PyTuple_GET_ITEM(pair, 0));
        Py_XDECREF(compare);
        Py_XDECREF(kind);
        Py_XDECREF(kind_name);
    }
    Py_DECREF(items);
    return r->status == LW_OK;
}

/* The flags of dataclass(...): whether == and < compare the fields. */
static void
set_compared(PyObject *object, lw_class *class)
{
    PyObject *params = PyObject_GetAttrString(object, "__dataclass_params__"), *flag;

    lw_read_clear();
    if (params == NULL)
        return;
    flag = PyObject_GetAttrString(params, "eq");
    class->compares_equal = flag == Py_True;
    Py_XDECREF(flag);
    flag = PyObject_GetAttrString(params, "order");
    class->is_ordered = flag == Py_True;
    Py_XDECREF(flag);
    Py_DECREF(params);
    lw_read_clear();
}

static bool
set_make(lw_reader *r, PyObject *object, lw_class *class)
{
    PyObject *init = lw_read_written_init(object), *fields, *any;

    if (is_namedtuple(object)) { /* the guard holds the class, too */
        any = PyObject_GetAttrString(object, "_fields");
        if (any != NULL && lw_read_guard(r, object, "_fields", any) < 0)
            lw_read_failed(r);
        Py_XDECREF(any);
        return r->status == LW_OK;
    }
    any = PyObject_GetAttrString(object, "__init__");
    if (any == NULL || lw_read_guard(r, object, "__init__", any) < 0) {
        Py_XDECREF(any);
        return r->status == LW_OK ? lw_read_failed(r) : false;
    }
    Py_DECREF(any);
    fields = lw_read_dataclass_fields(object);
    if (fields != NULL)
        set_compared(object, class);
    if (fields != NULL && !name_compared(r, fields, class))
        class->make = 0;
    else if (init != NULL)
        class->make = lw_read_init(r, init, object, class);
    else
        class->make = fields ? make_of_dataclass(r, fields, class) : 0;
    Py_XDECREF(fields);
    return class->make != 0;
}

static bool
set_bases(lw_reader *r, PyObject *object, lw_class *class)
{
    PyObject *mro = ((PyTypeObject *)object)->tp_mro;
    uint32_t n = (uint32_t)PyTuple_GET_SIZE(mro);
    const void **ids = lw_arena_take(&r->tree->arena, n * sizeof *ids);

    if (ids == NULL)
        return lw_read_no_memory(r);
    for (uint32_t i = 0; i < n; i++)
        ids[i] = PyTuple_GET_ITEM(mro, i);
    class->mro = ids;
    class->n_mro = n;
    return true;
}

uint32_t
lw_read_class(lw_reader *r, PyObject *object)
{
    lw_class *class;
    uint32_t constant;
    PyObject *id, *number;

    if (!is_readable(object))
        return 0;
    class = lw_arena_take(&r->tree->arena, sizeof *class);
    if (class == NULL)
        return lw_read_no_memory(r);
    *class =
        (lw_class){.name = lw_read_text(r, ((PyTypeObject *)object)->tp_name),
                   .id = object,
                   .is_namedtuple = is_namedtuple(object),
                   .is_tuple = is_namedtuple(object) && !defines(object, "__iter__") &&
                               !defines(object, "__contains__") && !defines(object, "__len__")};
    if (!set_bases(r, object, class) || !read_registered(r, object, class))
        return 0;
    constant =
        class->name
            ? lw_read_push(
                  r, object,
                  (lw_constant){.kind = LW_K_CLASS, .text = class->name, .user_class = class})
            : 0;
    if (constant == 0)
        return 0;
    class->constant = constant;
    id = PyLong_FromVoidPtr(object); /* its own methods may name the class */
    number = PyLong_FromUnsignedLong(constant);
    if (id == NULL || number == NULL || PyDict_SetItem(r->constant_of, id, number) < 0)
        lw_read_failed(r);
    Py_XDECREF(id);
    Py_XDECREF(number);
    if (r->status != LW_OK || !lw_read_linked_class(r, object, true, &class->linked) ||
        !lw_read_members(r, object, class) || !set_make(r, object, class))
        return 0;
    return constant;
}

/* ---- objects ---- */

/* Whether an object of a class with `__slots__` has a value in this one. */
static bool
has_slot(PyObject *object, PyObject *name)
{
    PyObject *raw = _PyType_Lookup(Py_TYPE(object), name), *value = NULL;

    if (raw != NULL && Py_TYPE(raw) == &PyMemberDescr_Type)
        value = PyObject_GetAttr(object, name);
    lw_read_clear();
    Py_XDECREF(value);
    return value != NULL;
}

/* The fields that `__init__` names, in its order (a new list); NULL: the object has others,
 * which were added later. */
static PyObject *
names_by_init(PyObject *object, PyObject *init)
{
    PyObject *dict = PyObject_GenericGetDict(object, NULL), *result = PyList_New(0);
    PyObject *names = PyObject_GetAttrString(PyFunction_GET_CODE(init), "co_names");
    Py_ssize_t in_dict = 0;

    lw_read_clear();
    for (Py_ssize_t i = 0; result && names && i < PyTuple_GET_SIZE(names); i++) {
        PyObject *name = PyTuple_GET_ITEM(names, i);
        bool is_in = dict && PyDict_Contains(dict, name) == 1;
        in_dict += is_in;
        if (is_in || has_slot(object, name))
            PyList_Append(result, name);
    }
    if (result && dict && in_dict != PyDict_GET_SIZE(dict))
        Py_CLEAR(result);
    Py_XDECREF(dict);
    Py_XDECREF(names);
    lw_read_clear();
    return result;
}

/* Those of the dataclass that objects have (a new list). */
static PyObject *
names_by_fields(PyObject *fields)
{
    PyObject *items = PyDict_Items(fields), *result = PyList_New(0);

    for (Py_ssize_t i = 0; items && result && i < PyList_GET_SIZE(items); i++) {
        PyObject *pair = PyList_GET_ITEM(items, i);
        PyObject *kind = PyObject_GetAttrString(PyTuple_GET_ITEM(pair, 1), "_field_type");
        PyObject *name = kind ? PyObject_GetAttrString(kind, "name") : NULL;

        if (text_is(name, "_FIELD"))
            PyList_Append(result, PyTuple_GET_ITEM(pair, 0));
        Py_XDECREF(kind);
        Py_XDECREF(name);
    }
    Py_XDECREF(items);
    lw_read_clear();
    return result;
}

/* The names of an object's fields in the order that its class's function has (new reference),
 * or NULL. */
static PyObject *
names_of_object(PyObject *object)
{
    PyObject *type = (PyObject *)Py_TYPE(object), *init = lw_read_written_init(type), *fields,
             *names;

    if (init != NULL)
        return names_by_init(object, init);
    fields = lw_read_dataclass_fields(type);
    names = fields ? names_by_fields(fields) : NULL;
    Py_XDECREF(fields);
    return names;
}

PyObject *
lw_read_object_fields(PyObject *object, bool *by_dict)
{
    PyObject *type = (PyObject *)Py_TYPE(object), *list, *names;

    if (!is_readable(type) || is_namedtuple(type))
        return NULL;
    list = names_of_object(object);
    names = list ? PyList_AsTuple(list) : NULL;
    *by_dict = lw_read_written_init(type) != NULL;
    Py_XDECREF(list);
    lw_read_clear();
    return names;
}

static bool
is_value(lw_reader *r, PyObject *object)
{
    return lw_fold_is_basic(object) || lw_read_is_numpy(r, object, "generic");
}

/* The values of the fields (a new tuple), or NULL: one of them is no number or text. */
static PyObject *
values_of_object(lw_reader *r, PyObject *object, PyObject *names)
{
    PyObject *values = PyTuple_New(PyList_GET_SIZE(names));
    bool ok = values != NULL;

    for (Py_ssize_t i = 0; ok && i < PyList_GET_SIZE(names); i++) {
        PyObject *value = PyObject_GetAttr(object, PyList_GET_ITEM(names, i));
        ok = value != NULL && is_value(r, value);
        if (value != NULL)
            PyTuple_SET_ITEM(values, i, value);
    }
    lw_read_clear();
    if (!ok)
        Py_CLEAR(values);
    return values;
}

uint32_t
lw_read_user_object(lw_reader *r, PyObject *object)
{
    PyObject *type = (PyObject *)Py_TYPE(object), *names, *values, *value;
    lw_constant constant = {.kind = LW_K_TUPLE};
    const char **texts;
    uint32_t *items, class;

    if (!is_readable(type) || is_namedtuple(type) || (names = names_of_object(object)) == NULL)
        return 0;
    constant.n = (uint32_t)PyList_GET_SIZE(names);
    texts = lw_arena_take(&r->tree->arena, (constant.n + 1) * sizeof *texts);
    items = lw_arena_take(&r->tree->arena, (constant.n + 1) * sizeof *items);
    values = values_of_object(r, object, names);
    if (values == NULL) {
        Py_DECREF(names);
        return 0;
    }
    if (texts == NULL || items == NULL) {
        Py_DECREF(names);
        Py_DECREF(values);
        return lw_read_no_memory(r);
    }
    for (uint32_t i = 0; i < constant.n; i++) {
        PyObject *name = PyList_GET_ITEM(names, i);
        value = PyTuple_GET_ITEM(values, i);
        texts[i] = lw_read_str(r, name);
        items[i] = lw_read_constant(r, value);
        if (lw_captures_add_attribute(r->captures, object, name, value) < 0)
            lw_read_failed(r);
    }
    class = r->status == LW_OK ? lw_read_constant(r, type) : 0;
    Py_DECREF(names);
    Py_DECREF(values);
    if (class == 0 || r->tree->constants.data[class].kind != LW_K_CLASS)
        return 0;
    constant.items = items;
    constant.names = texts;
    constant.user_class = r->tree->constants.data[class].user_class;
    constant.text = constant.user_class->name;
    return lw_read_push(r, object, constant);
}

/* ---- __init__ ---- */

static bool
is_self(lw_reader *r, PyObject *value)
{
    PyObject *name = value && lw_ast_kind_of(&r->ast, value) == LW_AST_Name
                         ? lw_ast_get(value, r->ast.id)
                         : NULL;

    return r->making != NULL && name != NULL && r->made_self != NULL &&
           text_is(name, r->made_self);
}

PyObject *
lw_read_field_variable(lw_reader *r, PyObject *attribute)
{
    PyObject *name = lw_ast_get(attribute, r->ast.attr);

    if (!is_self(r, lw_ast_get(attribute, r->ast.value)) || name == NULL)
        return NULL;
    return PyUnicode_FromFormat("%s.%U", r->made_self, name);
}

uint32_t
lw_read_escaped_self(lw_reader *r, PyObject *node)
{
    return lw_read_error(
        r, node,
        (lw_fault){LW_ERR_UNSUPPORTED, "E165",
                   .label = "here the object is used as a whole, before it is complete",
                   .help = "in `__init__`, assign and read fields alone: `self.x = ...`"},
        "`__init__` of `%.100s` lets `%.50s` escape", r->making->name, r->made_self);
}

/* Assigning to a property calls its setter. */
static void
refuse_property(lw_reader *r, const char *field)
{
    for (uint32_t i = 0; i < r->making->n_members; i++)
        if (r->making->members[i].kind == LW_MEMBER_PROPERTY &&
            strcmp(r->making->members[i].name, field) == 0)
            r->tree->fns.data[r->scope->fn].problem =
                lw_read_diag(r, r->tree->fns.data[r->scope->fn].loc,
                             (lw_fault){LW_ERR_UNSUPPORTED, "E165",
                                        .help = "assign the field that the property reads"},
                             "`__init__` of `%.100s` assigns to its property `%.100s`",
                             r->making->name, field);
}

bool
lw_read_registered(lw_reader *r, uint32_t loc, lw_read_items *out)
{
    for (uint32_t i = 0; i < r->making->n_registered; i++) {
        PyObject *full = r->making->types[i] ? PyUnicode_FromFormat("%s.%s", r->made_self,
                                                                    r->making->registered[i])
                                             : NULL;
        PyObject *var = full ? PyDict_GetItemWithError(r->scope->vars, full) : NULL;
        uint32_t target = 0;

        Py_XDECREF(full);
        if (var != NULL)
            target = lw_read_node(r, (lw_node){LW_NODE_NAME, .flags = LW_NODE_STORE, .loc = loc,
                                               .a = (uint32_t)PyLong_AsUnsignedLong(var)});
        if (target != 0 &&
            !lw_read_item(r, out,
                          lw_read_node(r, (lw_node){LW_NODE_ANNASSIGN, .loc = loc, .a = target,
                                                    .b = r->making->types[i]})))
            return false;
    }
    return r->status == LW_OK;
}

static uint32_t
made_of_fields(lw_reader *r, uint32_t loc)
{
    PyObject *names = PyObject_GetAttrString(PyFunction_GET_CODE(r->function), "co_names");
    Py_ssize_t n_names = names ? PyTuple_GET_SIZE(names) : 0;
    const char **fields =
        lw_arena_take(&r->tree->arena, ((size_t)n_names + 1) * sizeof *fields);
    uint32_t *vars = lw_arena_take(&r->tree->arena, ((size_t)n_names + 1) * sizeof *vars);
    uint32_t n = 0, result = 0;

    if (names == NULL || fields == NULL || vars == NULL) {
        Py_XDECREF(names);
        return names ? lw_read_no_memory(r) : lw_read_failed(r);
    }
    for (Py_ssize_t i = 0; i < n_names && r->status == LW_OK; i++) {
        PyObject *full =
            PyUnicode_FromFormat("%s.%U", r->made_self, PyTuple_GET_ITEM(names, i));
        PyObject *var = full ? PyDict_GetItemWithError(r->scope->vars, full) : NULL;

        Py_XDECREF(full);
        if (var == NULL)
            continue;
        vars[n] = (uint32_t)PyLong_AsUnsignedLong(var);
        fields[n] = lw_read_str(r, PyTuple_GET_ITEM(names, i));
        if (fields[n] != NULL)
            refuse_property(r, fields[n]);
        n++;
    }
    Py_DECREF(names);
    if (r->status == LW_OK)
        result = lw_read_fields_node(r, r->making, loc, fields, vars, n);
    return result ? lw_read_node(r, (lw_node){LW_NODE_RETURN, .loc = loc, .a = result}) : 0;
}

uint32_t
lw_read_made_object(lw_reader *r, uint32_t loc)
{
    return r->making->structure ? lw_read_made_struct(r, loc) : made_of_fields(r, loc);
}

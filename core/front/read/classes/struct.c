/* Types of the user's that have a model (lanewise/_struct_types.py). The type, as a constant,
 * is that of a class whose objects have fixed fields: the members of the model. What makes a
 * value is a function of the tree: of the type itself, one that takes the members; of a class
 * whose calls have the type (type_callable), one that makes an object of the class and takes
 * the attributes of it that make_attribute_wrapper names. */
#include "core/front/read/read_internal.h"

#include "core/front/read/services.h"
#include "core/front/signature.h"

#include <string.h>

/* ---- what the type says ---- */

/* An attribute of the _Struct (new reference), or NULL after lw_read_failed. */
static PyObject *
part_of(lw_reader *r, PyObject *structure, const char *name)
{
    PyObject *part = PyObject_GetAttrString(structure, name);

    if (part == NULL)
        lw_read_failed(r);
    return part;
}

static const char *const *
read_texts(lw_reader *r, PyObject *structure, const char *name, uint32_t *n)
{
    PyObject *texts = part_of(r, structure, name);
    const char **out;

    if (texts == NULL)
        return NULL;
    *n = (uint32_t)PyTuple_GET_SIZE(texts);
    out = lw_arena_take(&r->tree->arena, (*n + 1) * sizeof *out);
    if (out == NULL)
        lw_read_no_memory(r);
    for (uint32_t i = 0; i < *n && r->status == LW_OK; i++)
        out[i] = lw_read_str(r, PyTuple_GET_ITEM(texts, i));
    Py_DECREF(texts);
    return out;
}

/* One member's type. *fixed: the constant that annotates a variable of it; 0: an array, or a
 * type with a model. */
static bool
read_type(lw_reader *r, PyObject *type, lw_sig_type *out, const lw_class **structure,
          uint32_t *fixed)
{
    PyObject *text = PyObject_Str(type);
    const char *utf8 = text ? PyUnicode_AsUTF8(text) : NULL;
    uint32_t constant = utf8 ? lw_read_constant(r, type) : lw_read_failed(r);

    if (constant != 0 && r->tree->constants.data[constant].kind == LW_K_CLASS) {
        *structure = r->tree->constants.data[constant].user_class;
    } else if (constant != 0) {
        r->status = lw_signature_parse_type(utf8, &r->tree->arena, out, r->err);
        *fixed = r->status == LW_OK ? lw_read_type_text(r, utf8) : 0;
    }
    Py_XDECREF(text);
    return r->status == LW_OK;
}

static bool
read_types(lw_reader *r, PyObject *structure, lw_class *class, lw_struct *out)
{
    PyObject *types = part_of(r, structure, "types");
    lw_sig_type *all = lw_arena_take(&r->tree->arena, (out->n + 1) * sizeof *all);
    const lw_class **structs = lw_arena_take(&r->tree->arena, (out->n + 1) * sizeof *structs);
    uint32_t *fixed = lw_arena_take(&r->tree->arena, (out->n + 1) * sizeof *fixed);
    bool ok = types != NULL;

    if (all == NULL || structs == NULL || fixed == NULL)
        ok = lw_read_no_memory(r);
    for (uint32_t i = 0; ok && i < out->n; i++)
        ok = read_type(r, PyTuple_GET_ITEM(types, i), &all[i], &structs[i], &fixed[i]);
    Py_XDECREF(types);
    out->types = all;
    out->structs = structs;
    class->registered = out->attributes;
    class->types = fixed;
    class->n_registered = out->n;
    return ok;
}

/* Pairs of an attribute and the number of its member. */
static bool
read_visible(lw_reader *r, PyObject *structure, lw_struct *out)
{
    PyObject *pairs = part_of(r, structure, "visible");
    uint32_t n = pairs ? (uint32_t)PyTuple_GET_SIZE(pairs) : 0;
    const char **names = lw_arena_take(&r->tree->arena, (n + 1) * sizeof *names);
    uint32_t *members = lw_arena_take(&r->tree->arena, (n + 1) * sizeof *members);

    if (names == NULL || members == NULL)
        lw_read_no_memory(r);
    for (uint32_t i = 0; i < n && r->status == LW_OK; i++) {
        names[i] = lw_read_str(r, PyTuple_GET_ITEM(PyTuple_GET_ITEM(pairs, i), 0));
        members[i] =
            (uint32_t)PyLong_AsUnsignedLong(PyTuple_GET_ITEM(PyTuple_GET_ITEM(pairs, i), 1));
    }
    Py_XDECREF(pairs);
    out->n_visible = n;
    out->visible = names;
    out->members = members;
    return r->status == LW_OK;
}

static lw_struct *
read_structure(lw_reader *r, PyObject *structure, lw_class *class)
{
    lw_struct *out = lw_arena_take(&r->tree->arena, sizeof *out);

    if (out == NULL) {
        lw_read_no_memory(r);
        return NULL;
    }
    out->names = read_texts(r, structure, "names", &out->n);
    if (r->status == LW_OK)
        out->attributes = read_texts(r, structure, "attributes", &out->n);
    if (r->status == LW_OK && read_types(r, structure, class, out) &&
        read_visible(r, structure, out))
        return out;
    return NULL;
}

/* ---- what makes a value ---- */

/* A function of the tree without a text. */
typedef struct maker {
    lw_reader *r;
    lw_scope scope;
    const lw_class *class; /* of the type */
    uint32_t loc;
    lw_read_items body;
} maker;

static bool
begin(maker *m, lw_reader *r, const lw_class *class)
{
    uint32_t fn = lw_read_new_fn(r, class->name);

    *m = (maker){.r = r, .class = class, .loc = fn ? lw_read_bare_loc(r, class->name) : 0};
    if (m->loc == 0)
        return false;
    if (lw_scope_init(r, &m->scope, NULL, fn) < 0)
        return lw_read_failed(r);
    r->tree->fns.data[fn].loc = m->loc;
    r->tree->fns.data[fn].file = r->tree->locs.data[m->loc].file;
    r->tree->fns.data[fn].line = 1;
    r->tree->fns.data[fn].generated = true;
    return true;
}

/* The fn; 0: stop. */
static uint32_t
end(maker *m)
{
    lw_reader *r = m->r;
    uint32_t fn = m->scope.fn, body = 0;

    if (r->status == LW_OK)
        body = lw_read_list_node(r, (lw_node){LW_NODE_BODY, .loc = m->loc}, m->body.data,
                                 m->body.n);
    r->tree->fns.data[fn].body = body;
    lw_array_free(&m->body);
    lw_scope_reset(r, &m->scope);
    return r->status == LW_OK ? fn : 0;
}

static bool
add_param(maker *m, PyObject *name, lw_fn_param param)
{
    lw_fn *fn;
    lw_fn_param *slot;

    param.var = name ? lw_scope_add(m->r, &m->scope, name) : lw_read_failed(m->r);
    if (param.var == 0)
        return false;
    fn = &m->r->tree->fns.data[m->scope.fn];
    slot = lw_array_push(&fn->params, &m->r->tree->arena);
    if (slot == NULL)
        return lw_read_no_memory(m->r);
    param.name = fn->vars.data[param.var].name;
    *slot = param;
    return true;
}

static uint32_t
name_node(maker *m, uint32_t var)
{
    return lw_read_node(m->r, (lw_node){LW_NODE_NAME, .loc = m->loc, .a = var});
}

/* A new variable, to which a statement assigns this value. type: the constant that fixes its
 * type, or 0. */
static uint32_t
add_variable(maker *m, const char *name, uint32_t type, uint32_t value)
{
    PyObject *text = PyUnicode_FromFormat("self.%s", name);
    uint32_t var = text ? lw_scope_add(m->r, &m->scope, text) : lw_read_failed(m->r), target;

    Py_XDECREF(text);
    target = var ? lw_read_node(m->r, (lw_node){LW_NODE_NAME, .flags = LW_NODE_STORE,
                                                .loc = m->loc, .a = var})
                 : 0;
    if (target == 0 || value == 0)
        return 0;
    target = type ? lw_read_node(m->r, (lw_node){LW_NODE_ANNASSIGN, .loc = m->loc, .a = target,
                                                 .b = type, .c = value})
                  : lw_read_list_node(
                        m->r, (lw_node){LW_NODE_ASSIGN, .loc = m->loc, .a = value}, &target, 1);
    return lw_read_item(m->r, &m->body, target) ? var : 0;
}

/* A TUPLE node's constant: the names of the members, and the class. */
static uint32_t
members_constant(lw_reader *r, const lw_class *class)
{
    uint32_t n = class->structure->n;
    uint32_t *nones = lw_arena_take(&r->tree->arena, (n + 1) * sizeof *nones);
    uint32_t none = nones ? lw_read_constant(r, Py_None) : lw_read_no_memory(r);

    if (nones == NULL || none == 0)
        return 0;
    for (uint32_t i = 0; i < n; i++)
        nones[i] = none;
    return lw_read_push(r, NULL,
                        (lw_constant){.kind = LW_K_TUPLE,
                                      .n = n,
                                      .items = nones,
                                      .names = class->structure->names,
                                      .text = class->name,
                                      .user_class = class});
}

/* RETURN the members, each in its type. values: a node each. */
static bool
add_return(maker *m, const uint32_t *values)
{
    const lw_struct *of = m->class->structure;
    uint32_t constant = members_constant(m->r, m->class), value = 0;
    lw_read_items items = {0};

    for (uint32_t i = 0; i < of->n && m->r->status == LW_OK; i++) {
        uint32_t var = add_variable(m, of->names[i], m->class->types[i], values[i]);
        if (var != 0)
            (void)lw_read_item(m->r, &items, name_node(m, var));
    }
    if (m->r->status == LW_OK)
        value = lw_read_list_node(m->r, (lw_node){LW_NODE_TUPLE, .loc = m->loc, .a = constant},
                                  items.data, items.n);
    lw_array_free(&items);
    if (value != 0)
        value = lw_read_node(m->r, (lw_node){LW_NODE_RETURN, .loc = m->loc, .a = value});
    return lw_read_item(m->r, &m->body, value);
}

/* The function of the type itself: a parameter for each member. */
static uint32_t
make_of_members(lw_reader *r, const lw_class *class)
{
    const lw_struct *of = class->structure;
    uint32_t *values = lw_arena_take(&r->tree->arena, (of->n + 1) * sizeof *values);
    maker m;

    if (values == NULL)
        return lw_read_no_memory(r);
    if (!begin(&m, r, class))
        return 0;
    for (uint32_t i = 0; i < of->n && r->status == LW_OK; i++) {
        PyObject *name = PyUnicode_FromString(of->names[i]);
        if (add_param(&m, name, (lw_fn_param){0}))
            values[i] = name_node(&m, r->tree->fns.data[m.scope.fn].params.data[i].var);
        Py_XDECREF(name);
    }
    if (r->status == LW_OK)
        (void)add_return(&m, values);
    return end(&m);
}

/* ---- the type ---- */

/* What is an object of the type: the type itself, and the classes of its objects. */
static bool
set_bases(lw_reader *r, PyObject *type, PyObject *cls, lw_class *class)
{
    PyObject *mro = cls == Py_None ? NULL : ((PyTypeObject *)cls)->tp_mro;
    uint32_t n = mro ? (uint32_t)PyTuple_GET_SIZE(mro) : 0;
    const void **ids = lw_arena_take(&r->tree->arena, (n + 1) * sizeof *ids);

    if (ids == NULL)
        return lw_read_no_memory(r);
    ids[0] = type;
    for (uint32_t i = 0; i < n; i++)
        ids[i + 1] = PyTuple_GET_ITEM(mro, i);
    class->mro = ids;
    class->n_mro = n + 1;
    return true;
}

/* Its own members may name it. */
static bool
note(lw_reader *r, PyObject *type, uint32_t constant)
{
    PyObject *id = PyLong_FromVoidPtr(type), *number = PyLong_FromUnsignedLong(constant);
    bool ok = id && number && PyDict_SetItem(r->constant_of, id, number) == 0;

    Py_XDECREF(id);
    Py_XDECREF(number);
    return ok || lw_read_failed(r);
}

/* The class of its objects gives it methods and properties, and is what type(x) is. */
static bool
read_class_of_objects(lw_reader *r, PyObject *structure, PyObject *cls, lw_class *class)
{
    uint32_t constant;

    if (lw_read_guard(r, structure, "cls", cls) < 0)
        return lw_read_failed(r);
    if (cls == Py_None)
        return true;
    constant = lw_read_constant(r, cls);
    if (constant != 0)
        class->constant = constant;
    return constant != 0 && lw_read_members(r, cls, class);
}

static uint32_t
new_struct(lw_reader *r, PyObject *type, PyObject *structure)
{
    lw_class *class = lw_arena_take(&r->tree->arena, sizeof *class);
    PyObject *text = PyObject_Str(type), *cls = part_of(r, structure, "cls");
    uint32_t constant = 0;

    if (class == NULL)
        lw_read_no_memory(r);
    else if (text == NULL)
        lw_read_failed(r);
    else
        *class = (lw_class){.name = lw_read_str(r, text), .id = type};
    if (r->status == LW_OK)
        class->structure = read_structure(r, structure, class);
    if (r->status == LW_OK && set_bases(r, type, cls, class))
        constant = class->constant = lw_read_push(
            r, type,
            (lw_constant){.kind = LW_K_CLASS, .text = class->name, .user_class = class});
    if (constant != 0 && note(r, type, constant) &&
        read_class_of_objects(r, structure, cls, class))
        class->make = make_of_members(r, class);
    Py_XDECREF(text);
    Py_XDECREF(cls);
    return r->status == LW_OK ? constant : 0;
}

/* Its _Struct (new reference); NULL and status OK: it has none. */
static PyObject *
structure_of(lw_reader *r, PyObject *type)
{
    PyObject *name = PyUnicode_InternFromString("__lanewise_struct__"), *structure = NULL;

    if (name != NULL && _PyType_Lookup(Py_TYPE(type), name) != NULL &&
        (structure = PyObject_GetAttr(type, name)) == NULL)
        lw_read_failed(r);
    Py_XDECREF(name);
    if (structure == Py_None)
        Py_CLEAR(structure);
    return structure;
}

uint32_t
lw_read_struct(lw_reader *r, PyObject *object)
{
    PyObject *structure = structure_of(r, object);
    PyObject *first = structure ? part_of(r, structure, "type") : NULL;
    uint32_t constant = 0;

    /* of equal types, one stands for all */
    if (first == object)
        constant = new_struct(r, object, structure);
    else if (first != NULL)
        constant = lw_read_constant(r, first);
    Py_XDECREF(first);
    Py_XDECREF(structure);
    return constant;
}

/* ---- frozen objects ---- */

static uint32_t
struct_constant(lw_reader *r, PyObject *object, const lw_class *class, PyObject *values)
{
    const lw_struct *of = class->structure;
    uint32_t *items = lw_arena_take(&r->tree->arena, (of->n + 1) * sizeof *items);

    if (items == NULL)
        return lw_read_no_memory(r);
    for (uint32_t i = 0; i < of->n && r->status == LW_OK; i++) {
        PyObject *name = PyUnicode_FromString(of->attributes[i]);
        PyObject *now = name ? PyObject_GetAttr(object, name) : NULL;

        if (now == NULL || lw_captures_add_attribute(r->captures, object, name, now) < 0)
            lw_read_failed(r);
        Py_XDECREF(name);
        Py_XDECREF(now);
        items[i] = r->status == LW_OK ? lw_read_constant(r, PyTuple_GET_ITEM(values, i)) : 0;
    }
    return r->status == LW_OK ? lw_read_push(r, object,
                                             (lw_constant){.kind = LW_K_TUPLE,
                                                           .n = of->n,
                                                           .items = items,
                                                           .names = of->names,
                                                           .text = class->name,
                                                           .user_class = class})
                              : 0;
}

uint32_t
lw_read_struct_object(lw_reader *r, PyObject *object)
{
    PyObject *find, *found = NULL;
    uint32_t constant = 0, type;

    if (lw_overloads_version() == 0 || PyType_Check(object) || /* nothing is registered */
        !(Py_TYPE(object)->tp_flags & Py_TPFLAGS_HEAPTYPE))
        return 0;
    find = lw_service_find(LW_SERVICE_EXTENDING, "_frozen_struct");
    if (find != NULL)
        found = PyObject_CallOneArg(find, object);
    Py_XDECREF(find);
    if (found == NULL)
        return lw_read_failed(r);
    if (found != Py_None) {
        type = lw_read_constant(r, PyTuple_GET_ITEM(found, 0));
        if (type != 0)
            constant = struct_constant(r, object, r->tree->constants.data[type].user_class,
                                       PyTuple_GET_ITEM(found, 1));
    }
    Py_DECREF(found);
    return constant;
}

bool
lw_read_is_struct(lw_reader *r, PyObject *object)
{
    PyObject *id = PyLong_FromVoidPtr(object);
    PyObject *number = id ? PyDict_GetItemWithError(r->constant_of, id) : NULL;
    const lw_constant *constant =
        number ? &r->tree->constants.data[PyLong_AsUnsignedLong(number)] : NULL;

    lw_read_clear();
    Py_XDECREF(id);
    return constant && constant->kind == LW_K_TUPLE && constant->user_class &&
           constant->user_class->structure;
}

/* ---- calls of classes ---- */

/* The parameters of the `__init__` that dataclasses has generated. */
static bool
copy_params(maker *m, uint32_t init)
{
    for (uint32_t i = 1; i < m->r->tree->fns.data[init].params.n; i++) {
        lw_fn_param param = m->r->tree->fns.data[init].params.data[i];
        PyObject *name = PyUnicode_FromString(param.name);
        bool ok = add_param(m, name, param);

        Py_XDECREF(name);
        if (!ok)
            return false;
    }
    return true;
}

static PyObject *
attribute_of(PyObject *object, const char *name)
{
    PyObject *found = PyObject_GetAttrString(object, name);

    lw_read_clear();
    return found;
}

/* Parameters of code objects: the positional ones, those that are given by keyword alone, then
 * `*args`. */
static bool
add_code_param(maker *m, PyObject *init, PyObject *names, Py_ssize_t i)
{
    const PyCodeObject *code = (PyCodeObject *)PyFunction_GET_CODE(init);
    PyObject *defaults = PyFunction_GET_DEFAULTS(init),
             *by_name = PyFunction_GET_KW_DEFAULTS(init);
    Py_ssize_t first = code->co_argcount - (defaults ? PyTuple_GET_SIZE(defaults) : 0);
    PyObject *name = PyTuple_GET_ITEM(names, i), *value = NULL;
    lw_fn_param param = {.kind = LW_PARAM_POSITIONAL, .unnamed = i < code->co_posonlyargcount};

    if (i >= code->co_argcount + code->co_kwonlyargcount)
        param.kind = LW_PARAM_VARARG;
    else if (i >= code->co_argcount)
        param.kind = LW_PARAM_KEYWORD_ONLY;
    if (param.kind == LW_PARAM_POSITIONAL && i >= first)
        value = Py_NewRef(PyTuple_GET_ITEM(defaults, i - first));
    else if (param.kind == LW_PARAM_KEYWORD_ONLY && by_name != NULL)
        value = lw_dict_item(by_name, name);
    if (value != NULL)
        param.default_constant = lw_read_constant(m->r, value);
    Py_XDECREF(value);
    return m->r->status == LW_OK && add_param(m, name, param);
}

static bool
read_params(maker *m, PyObject *cls)
{
    PyObject *init = attribute_of(cls, "__init__");
    PyObject *code = init && PyFunction_Check(init) ? PyFunction_GET_CODE(init) : NULL;
    PyObject *names = code ? attribute_of(code, "co_varnames") : NULL;
    Py_ssize_t n = 0;

    if (names != NULL)
        n = ((PyCodeObject *)code)->co_argcount + ((PyCodeObject *)code)->co_kwonlyargcount +
            ((((PyCodeObject *)code)->co_flags & CO_VARARGS) != 0);
    for (Py_ssize_t i = 1; i < n && m->r->status == LW_OK; i++)
        (void)add_code_param(m, init, names, i);
    Py_XDECREF(names);
    Py_XDECREF(init);
    return m->r->status == LW_OK;
}

static uint32_t
argument_node(maker *m, const lw_fn_param *param)
{
    uint32_t value = name_node(m, param->var), keyword;

    if (value == 0 || param->kind == LW_PARAM_POSITIONAL)
        return value;
    if (param->kind == LW_PARAM_VARARG)
        return lw_read_node(m->r, (lw_node){LW_NODE_STAR, .loc = m->loc, .a = value});
    keyword = lw_read_constant_text(m->r, LW_K_STR, param->name, NULL);
    return keyword ? lw_read_node(m->r, (lw_node){LW_NODE_ARG_KEYWORD, .loc = m->loc,
                                                  .a = keyword, .b = value})
                   : 0;
}

/* object = cls(...), as Python does it. */
static uint32_t
add_object(maker *m, PyObject *cls)
{
    static const lw_param_kind order[] = {LW_PARAM_POSITIONAL, LW_PARAM_VARARG,
                                          LW_PARAM_KEYWORD_ONLY};
    uint32_t callee = lw_read_constant_node(m->r, cls, m->loc), call;
    lw_read_items items = {0};

    for (int k = 0; k < 3; k++)
        for (uint32_t i = 0;
             i < m->r->tree->fns.data[m->scope.fn].params.n && m->r->status == LW_OK; i++) {
            lw_fn_param param = m->r->tree->fns.data[m->scope.fn].params.data[i];
            if (param.kind == order[k])
                (void)lw_read_item(m->r, &items, argument_node(m, &param));
        }
    call = m->r->status == LW_OK
               ? lw_read_list_node(m->r,
                                   (lw_node){LW_NODE_CALL, .flags = LW_NODE_FORCED,
                                             .loc = m->loc, .a = callee},
                                   items.data, items.n)
               : 0;
    lw_array_free(&items);
    return call ? add_variable(m, "object", 0, call) : 0;
}

static const lw_class_member *
init_of(const lw_class *class)
{
    for (uint32_t i = 0; i < class->n_members; i++)
        if (strcmp(class->members[i].name, "__init__") == 0)
            return &class->members[i];
    return NULL;
}

static bool
may_have(const lw_class *class, const char *name)
{
    for (uint32_t i = 0; i < class->n_order; i++)
        if (strcmp(class->order[i], name) == 0)
            return true;
    return false;
}

static uint32_t
attribute_node(maker *m, uint32_t object, const char *name)
{
    uint32_t of = name_node(m, object),
             text = of ? lw_read_constant_text(m->r, LW_K_STR, name, NULL) : 0;

    return text ? lw_read_node(m->r,
                               (lw_node){LW_NODE_ATTRIBUTE, .loc = m->loc, .a = of, .b = text})
                : 0;
}

/* Why objects of the class do not become values of the type: a diagnostic, or 0. */
static uint32_t
problem_of(lw_reader *r, PyObject *cls, const lw_class *made, const lw_class *class)
{
    const lw_struct *of = class->structure;
    PyObject *fields = attribute_of(cls, "__dataclass_fields__");
    bool is_dataclass = fields != NULL;

    Py_XDECREF(fields);
    if (made == NULL || init_of(made) == NULL)
        return lw_read_diag(
            r, 0,
            (lw_fault){LW_ERR_UNSUPPORTED, "E165",
                       .help = "write an overload of the class that returns the type, called "
                               "with its members"},
            "`%.100s` has no `__init__` that could be compiled",
            ((PyTypeObject *)cls)->tp_name);
    for (uint32_t i = 0; i < of->n; i++) {
        if (may_have(made, of->attributes[i]))
            continue;
        return lw_read_diag(r, 0,
                            (lw_fault){LW_ERR_UNSUPPORTED, "E165",
                                       .help = is_dataclass ? "write an overload of the class"
                                                            : "assign it in `__init__`"},
                            is_dataclass
                                ? "the dataclass has no field `%.100s`, a member of `%.100s`"
                                : "`__init__` does not assign `%.100s`, a member of `%.100s`",
                            of->attributes[i], class->name);
    }
    return 0;
}

/* An object of the class, and the value of which its attributes are the members. */
static uint32_t
make_of_object(lw_reader *r, PyObject *cls, const lw_class *class)
{
    uint32_t constant = lw_read_constant(r, cls), object, problem;
    const lw_class *made = constant && r->tree->constants.data[constant].kind == LW_K_CLASS
                               ? r->tree->constants.data[constant].user_class
                               : NULL;
    uint32_t n = class->structure->n;
    uint32_t *values = lw_arena_take(&r->tree->arena, (n + 1) * sizeof *values);
    const lw_class_member *init = made ? init_of(made) : NULL;
    maker m;

    if (values == NULL)
        return lw_read_no_memory(r);
    if (r->status != LW_OK || !begin(&m, r, class))
        return 0;
    problem = problem_of(r, cls, made, class);
    if (problem != 0) {
        r->tree->fns.data[m.scope.fn].problem = problem;
        return end(&m);
    }
    if (r->tree->fns.data[init->index].generated ? !copy_params(&m, init->index)
                                                 : !read_params(&m, cls))
        return end(&m);
    object = add_object(&m, cls);
    for (uint32_t i = 0; i < n && object != 0; i++)
        values[i] = attribute_node(&m, object, class->structure->attributes[i]);
    if (r->status == LW_OK)
        (void)add_return(&m, values);
    return end(&m);
}

uint32_t
lw_read_struct_call(lw_reader *r, PyObject *made)
{
    PyObject *type = PyTuple_GET_ITEM(made, 0), *cls = PyTuple_GET_ITEM(made, 1), *init;
    uint32_t constant = lw_read_constant(r, type);
    const lw_class *class = constant ? r->tree->constants.data[constant].user_class : NULL;

    if (class == NULL)
        return 0;
    init = PyObject_GetAttrString(cls, "__init__");
    if (init == NULL || lw_read_guard(r, cls, "__init__", init) < 0)
        lw_read_failed(r);
    Py_XDECREF(init);
    return r->status == LW_OK ? make_of_object(r, cls, class) : 0;
}

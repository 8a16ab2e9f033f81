/* Types of the user's that have a model (lanewise/_struct_types.py). The type, as a constant,
 * is that of a class whose objects have fixed fields: the members of the model. What makes a
 * value is a function of the tree: of the type itself, one that takes the members; of a class
 * whose calls have the type (type_callable), its `__init__`, or what a dataclass generates,
 * from which the members are taken by the attributes that make_attribute_wrapper names. */
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

/* A parameter for each member. */
static bool
add_params(lw_reader *r, lw_scope *scope, const lw_struct *of)
{
    for (uint32_t i = 0; i < of->n && r->status == LW_OK; i++) {
        PyObject *name = PyUnicode_FromString(of->names[i]);
        uint32_t var = name ? lw_scope_add(r, scope, name) : lw_read_failed(r);
        lw_fn_param *param =
            var ? lw_array_push(&r->tree->fns.data[scope->fn].params, &r->tree->arena) : NULL;

        Py_XDECREF(name);
        if (param != NULL)
            *param = (lw_fn_param){.name = of->names[i], .var = var};
        else if (r->status == LW_OK)
            lw_read_no_memory(r);
    }
    return r->status == LW_OK;
}

static uint32_t
param_named(const lw_fn *fn, const char *name)
{
    for (uint32_t k = 0; k < fn->params.n; k++)
        if (strcmp(fn->params.data[k].name, name) == 0)
            return k + 1;
    return 0;
}

static uint32_t
no_field(lw_reader *r, const lw_class *class, const char *name)
{
    return lw_read_diag(
        r, 0, (lw_fault){LW_ERR_UNSUPPORTED, "E165", .help = "write an overload of the class"},
        "the dataclass has no field `%.100s`, a member of `%.100s`", name, class->name);
}

/* The parameters, each in the type of its member, and the tuple of them. by: how the
 * parameters are called. */
static uint32_t
body_of(lw_reader *r, lw_scope *scope, const lw_class *class, const char *const *by,
        uint32_t loc)
{
    const lw_struct *of = class->structure;
    uint32_t *vars = lw_arena_take(&r->tree->arena, (of->n + 1) * sizeof *vars), value;
    lw_read_items body = {0};

    if (vars == NULL)
        return lw_read_no_memory(r);
    for (uint32_t i = 0; i < of->n && r->status == LW_OK; i++) {
        uint32_t at = param_named(&r->tree->fns.data[scope->fn], by[i]), statement;
        lw_fn_param param;

        if (at == 0) {
            lw_array_free(&body);
            r->tree->fns.data[scope->fn].problem = no_field(r, class, by[i]);
            return 0;
        }
        param = r->tree->fns.data[scope->fn].params.data[at - 1];
        vars[i] = param.var;
        if (class->types[i] == 0)
            continue;
        vars[i] = lw_read_typed_variable(r, scope, loc, &param, class->types[i], &statement);
        (void)lw_read_item(r, &body, statement);
    }
    value = r->status == LW_OK ? lw_read_fields_node(r, class, loc, of->names, vars, of->n) : 0;
    value = value ? lw_read_node(r, (lw_node){LW_NODE_RETURN, .loc = loc, .a = value}) : 0;
    value = lw_read_item(r, &body, value)
                ? lw_read_list_node(r, (lw_node){LW_NODE_BODY, .loc = loc}, body.data, body.n)
                : 0;
    lw_array_free(&body);
    return value;
}

/* A fn without a text; items: of a dataclass's fields, or NULL for the members themselves. */
static uint32_t
make_of(lw_reader *r, const lw_class *class, PyObject *items)
{
    uint32_t fn = lw_read_new_fn(r, class->name),
             loc = fn ? lw_read_bare_loc(r, class->name) : 0;
    const lw_struct *of = class->structure;
    bool refused = false, ok;
    lw_scope scope;

    if (loc == 0 || lw_scope_init(r, &scope, NULL, fn) < 0)
        return r->status == LW_OK ? lw_read_failed(r) : 0;
    r->tree->fns.data[fn].loc = loc;
    r->tree->fns.data[fn].file = r->tree->locs.data[loc].file;
    r->tree->fns.data[fn].line = 1;
    r->tree->fns.data[fn].generated = true;
    ok = items ? lw_read_dataclass_params(r, &scope, items, &refused)
               : add_params(r, &scope, of);
    if (ok)
        r->tree->fns.data[fn].body =
            body_of(r, &scope, class, items ? of->attributes : of->names, loc);
    lw_scope_reset(&scope);
    return r->status == LW_OK ? fn : 0;
}

uint32_t
lw_read_made_struct(lw_reader *r, uint32_t loc)
{
    const lw_struct *of = r->making->structure;
    uint32_t *vars = lw_arena_take(&r->tree->arena, (of->n + 1) * sizeof *vars), result;

    if (vars == NULL)
        return lw_read_no_memory(r);
    for (uint32_t i = 0; i < of->n; i++) {
        PyObject *full = PyUnicode_FromFormat("%s.%s", r->made_self, of->attributes[i]);
        PyObject *var = full ? PyDict_GetItemWithError(r->scope->vars, full) : NULL;

        Py_XDECREF(full);
        if (var != NULL) {
            vars[i] = (uint32_t)PyLong_AsUnsignedLong(var);
            continue;
        }
        r->tree->fns.data[r->scope->fn].problem = lw_read_diag(
            r, loc, (lw_fault){LW_ERR_UNSUPPORTED, "E165", .help = "assign it in `__init__`"},
            "`__init__` does not assign `%.100s`, a member of `%.100s`", of->attributes[i],
            r->making->name);
        return lw_read_node(r, (lw_node){LW_NODE_RETURN, .loc = loc});
    }
    result = lw_read_fields_node(r, r->making, loc, of->names, vars, of->n);
    return result ? lw_read_node(r, (lw_node){LW_NODE_RETURN, .loc = loc, .a = result}) : 0;
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
        class->make = make_of(r, class, NULL);
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

static uint32_t
call_of_dataclass(lw_reader *r, PyObject *cls, const lw_class *class)
{
    PyObject *fields = lw_read_dataclass_fields(cls);
    PyObject *items = fields ? PyDict_Items(fields) : NULL;
    uint32_t fn = 0;

    Py_XDECREF(fields);
    if (items != NULL) {
        fn = make_of(r, class, items);
    } else if ((fn = lw_read_new_fn(r, class->name)) != 0) {
        r->tree->fns.data[fn].problem = lw_read_diag(
            r, 0,
            (lw_fault){LW_ERR_UNSUPPORTED, "E165",
                       .help = "write an overload of the class that returns the type, called "
                               "with its members"},
            "`%.100s` has no `__init__` that could be compiled",
            ((PyTypeObject *)cls)->tp_name);
    }
    Py_XDECREF(items);
    return r->status == LW_OK ? fn : 0;
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
    if (r->status != LW_OK)
        return 0;
    init = lw_read_written_init(cls);
    return init ? lw_read_init(r, init, type, class) : call_of_dataclass(r, cls, class);
}

/* Classes of the user's. A class is read once: its methods, properties and constants become
 * members (core/front/tree.h), each guarded as globals are. What makes an object is `__init__`,
 * which assigns to the fields of an object that has none yet; that of a dataclass is made from
 * its fields (make.c). */
#include "core/front/read/classes/class_internal.h"
#include "core/front/read/services.h"
#include "core/front/typed.h"

#include <string.h>

typedef LW_ARRAY(lw_class_member) member_list;

/* ---- members ---- */

/* A class whose members are read. */
typedef struct member_reader {
    lw_reader *r;
    PyObject *class;
    PyTypeObject *owner; /* the class in whose dict they are, … */
    uint32_t number;     /* … and its place in the order of resolution */
    PyObject *seen;      /* set: names of classes earlier in the order of resolution; NULL: what
                            they hide is read, too */
    member_list members;
} member_reader;

/* The index of the setter of a property, or 0. */
static uint32_t
setter_of(lw_reader *r, PyObject *raw)
{
    PyObject *setter = PyObject_GetAttrString(raw, "fset");
    uint32_t fn = 0;

    lw_read_clear();
    if (setter != NULL && PyFunction_Check(setter))
        fn = lw_read_function_constant(r, setter, NULL, NULL);
    Py_XDECREF(setter);
    return fn;
}

static bool
is_constant(lw_reader *r, PyObject *raw)
{
    return lw_fold_is_basic(raw) || lw_read_is_numpy(r, raw, "generic");
}

/* The fn of the `__init__` that was generated for a dataclass; 0 and status OK: it is none. */
static uint32_t
generated_init(member_reader *m, const char *name)
{
    PyObject *dict = strcmp(name, "__init__") == 0 ? lw_class_dict(m->owner) : NULL, *fields;
    uint32_t fn = 0;

    fields = dict ? PyDict_GetItemString(dict, "__dataclass_fields__") : NULL; /* borrowed */
    if (fields != NULL && PyDict_CheckExact(fields))
        fn = lw_class_init_of_dataclass(m->r, (PyObject *)m->owner, fields);
    Py_XDECREF(dict);
    lw_read_clear();
    return fn;
}

/* Notes an attribute of the class as compiled code knows it; *known: whether it does. false:
 * stop. */
static bool
member_of(member_reader *m, const char *name, PyObject *raw, lw_class_member *out, bool *known)
{
    PyObject *function = lw_class_function_in(raw, &out->kind), *self;
    bool is_ufunc = function == NULL && lw_class_is_ufunc_method(raw);

    *known =
        function != NULL ? lw_class_is_written(function) : is_ufunc || is_constant(m->r, raw);
    if (!*known && function != NULL) {
        out->index = generated_init(m, name);
        *known = out->index != 0;
    }
    if (!*known)
        return m->r->status == LW_OK;
    if (out->index != 0) {
        out->kind = LW_MEMBER_METHOD;
    } else if (function != NULL) {
        self = PyObject_TypeCheck(raw, &PyClassMethod_Type) ? m->class : NULL;
        out->index = lw_read_function_constant(m->r, function, self, NULL);
        if (out->index != 0)
            (void)lw_read_linked_method(m->r, m->class, out->index, &out->linked);
    } else {
        out->kind = is_ufunc ? LW_MEMBER_UFUNC : LW_MEMBER_CONSTANT;
        out->index = lw_read_constant(m->r, raw);
    }
    if (out->kind == LW_MEMBER_PROPERTY && out->index != 0)
        out->setter = setter_of(m->r, raw);
    out->owner = m->number;
    out->name = out->index ? lw_read_text(m->r, name) : NULL;
    return out->name != NULL && m->r->status == LW_OK;
}

static bool
guard_member(member_reader *m, PyObject *name, PyObject *raw)
{
    PyObject *of = m->seen ? m->class : (PyObject *)m->owner, *value = NULL;

    if (!PyObject_TypeCheck(raw, &PyClassMethod_Type)) /* each look-up binds it anew */
        value = PyObject_GetAttr(of, name);
    lw_read_clear();
    if (value != NULL && lw_captures_add_attribute(m->r->captures, of, name, value) < 0)
        lw_read_failed(m->r);
    Py_XDECREF(value);
    return m->r->status == LW_OK;
}

/* Whether an attribute of an enum class is a method or a property of its members: those with
 * names such as `_missing_` and `__new__` are for enum itself. */
static bool
is_of_members(const char *name, PyObject *raw)
{
    lw_class_member_kind kind;

    return !(name[0] == '_' && name[strlen(name) - 1] == '_') &&
           lw_class_function_in(raw, &kind) != NULL;
}

static bool
add_member(member_reader *m, PyObject *name, PyObject *raw)
{
    const char *text = PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : NULL;
    lw_class_member member = {0};
    lw_class_member *slot;
    bool known;

    if (text == NULL || lw_class_skips(text) ||
        (lw_fold_is_enum(m->class) && !is_of_members(text, raw))) {
        lw_read_clear(); /* a name that is no text */
        return true;
    }
    if (m->seen != NULL && PySet_Contains(m->seen, name) == 1)
        return true;
    if (m->seen != NULL && PySet_Add(m->seen, name) < 0)
        return lw_read_failed(m->r);
    if (!member_of(m, text, raw, &member, &known) || !known)
        return m->r->status == LW_OK;
    if (!guard_member(m, name, raw))
        return false;
    slot = lw_array_push(&m->members, &m->r->tree->arena);
    if (slot == NULL)
        return lw_read_no_memory(m->r);
    *slot = member;
    return true;
}

/* Whether the function has `super()` without arguments, or names `__class__`. */
static bool
has_class_cell(PyObject *function)
{
    PyObject *names = PyObject_GetAttrString(PyFunction_GET_CODE(function), "co_freevars");
    bool has = false;

    for (Py_ssize_t i = 0; names && !has && i < PyTuple_GET_SIZE(names); i++)
        has = lw_class_text_is(PyTuple_GET_ITEM(names, i), "__class__");
    Py_XDECREF(names);
    lw_read_clear();
    return has;
}

/* Whether some method names super() or `__class__`, and so may call one that it hides. */
static bool
uses_super(PyTypeObject *type)
{
    lw_class_member_kind kind;
    bool uses = false;

    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(type->tp_mro) && !uses; i++) {
        PyTypeObject *one = (PyTypeObject *)PyTuple_GET_ITEM(type->tp_mro, i);
        PyObject *dict = lw_class_is_base(one) ? NULL : lw_class_dict(one);
        PyObject *values = dict ? PyDict_Values(dict) : NULL;

        for (Py_ssize_t k = 0; values && !uses && k < PyList_GET_SIZE(values); k++) {
            PyObject *function = lw_class_code_in(PyList_GET_ITEM(values, k), &kind);
            uses = function != NULL && has_class_cell(function);
        }
        Py_XDECREF(values);
        Py_XDECREF(dict);
        lw_read_clear();
    }
    return uses;
}

/* Whether it is one of the classes of the module enum, or a built-in one that is mixed in. */
static bool
is_of_enum(PyTypeObject *owner)
{
    PyObject *module = PyObject_GetAttrString((PyObject *)owner, "__module__");
    bool is = lw_class_text_is(module, "enum") || !(owner->tp_flags & Py_TPFLAGS_HEAPTYPE);

    Py_XDECREF(module);
    lw_read_clear();
    return is;
}

bool
lw_read_members(lw_reader *r, PyObject *object, lw_class *out)
{
    PyObject *mro = ((PyTypeObject *)object)->tp_mro;
    member_reader m = {.r = r, .class = object};

    m.seen = uses_super((PyTypeObject *)object) ? NULL : PySet_New(NULL);
    lw_read_clear();
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(mro) && r->status == LW_OK; i++) {
        m.owner = (PyTypeObject *)PyTuple_GET_ITEM(mro, i);
        m.number = (uint32_t)i;
        bool skipped =
            lw_class_is_base(m.owner) || (lw_fold_is_enum(object) && is_of_enum(m.owner));
        PyObject *dict = skipped ? NULL : lw_class_dict(m.owner);
        PyObject *items = dict ? PyDict_Items(dict) : NULL;

        for (Py_ssize_t j = 0; items && j < PyList_GET_SIZE(items); j++)
            if (!add_member(&m, PyTuple_GET_ITEM(PyList_GET_ITEM(items, j), 0),
                            PyTuple_GET_ITEM(PyList_GET_ITEM(items, j), 1)))
                break;
        Py_XDECREF(items);
        Py_XDECREF(dict);
    }
    Py_XDECREF(m.seen);
    out->members = m.members.data;
    out->n_members = m.members.n;
    for (uint32_t i = 0; i < m.members.n; i++)
        out->has_special |= strncmp(m.members.data[i].name, "__", 2) == 0;
    return r->status == LW_OK;
}

/* ---- what its objects are ---- */

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
        if (compare == Py_True && lw_class_text_is(kind_name, "_FIELD"))
            class->compared[class->n_compared++] = lw_read_str(r, PyTuple_GET_ITEM(pair, 0));
        Py_XDECREF(compare);
        Py_XDECREF(kind);
        Py_XDECREF(kind_name);
    }
    Py_DECREF(items);
    return r->status == LW_OK;
}

/* The flags of dataclass(...): whether == and < compare the fields, whether these stay. */
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
    flag = PyObject_GetAttrString(params, "frozen");
    class->is_frozen = flag == Py_True;
    Py_XDECREF(flag);
    Py_DECREF(params);
    lw_read_clear();
}

/* A list of names (which it takes) as texts of the tree; NULL: stop. */
static const char *const *
copy_names(lw_reader *r, PyObject *list, uint32_t *n)
{
    Py_ssize_t count = list ? PyList_GET_SIZE(list) : 0;
    const char **names = lw_arena_take(&r->tree->arena, ((size_t)count + 1) * sizeof *names);

    if (list == NULL)
        lw_read_failed(r);
    else if (names == NULL)
        lw_read_no_memory(r);
    for (Py_ssize_t i = 0; i < count && r->status == LW_OK; i++)
        names[i] = lw_read_str(r, PyList_GET_ITEM(list, i));
    Py_XDECREF(list);
    *n = (uint32_t)count;
    return r->status == LW_OK ? names : NULL;
}

/* Which fields objects may have. */
static bool
name_fields(lw_reader *r, PyObject *object, lw_class *class)
{
    PyObject *slots = lw_class_slots(object);

    if (slots == NULL && PyErr_Occurred())
        return lw_read_failed(r);
    class->order = copy_names(r, lw_class_order(object), &class->n_order);
    if (slots != NULL && r->status == LW_OK)
        class->slots = copy_names(r, slots, &class->n_slots);
    else
        Py_XDECREF(slots);
    return r->status == LW_OK;
}

static bool
set_make(lw_reader *r, PyObject *object, lw_class *class)
{
    PyObject *fields, *any;

    if (class->is_namedtuple) { /* the guard holds the class, too */
        any = PyObject_GetAttrString(object, "_fields");
        if (any != NULL && lw_read_guard(r, object, "_fields", any) < 0)
            lw_read_failed(r);
        Py_XDECREF(any);
        return r->status == LW_OK;
    }
    any = PyObject_GetAttrString(object, "__init__");
    if (any == NULL || lw_read_guard(r, object, "__init__", any) < 0)
        lw_read_failed(r);
    Py_XDECREF(any);
    if (r->status != LW_OK || !name_fields(r, object, class))
        return false;
    fields = lw_class_dataclass_fields(object);
    if (fields != NULL) {
        set_compared(object, class);
        name_compared(r, fields, class);
    }
    Py_XDECREF(fields);
    return r->status == LW_OK;
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

static bool
set_is_slice(lw_reader *r, PyObject *object, lw_class *class)
{
    PyObject *slices = strcmp(class->name ? class->name : "", "slice") == 0
                           ? lw_read_slice_class()
                           : Py_NewRef(Py_None);

    class->is_slice = slices == object;
    Py_XDECREF(slices);
    return slices ? true : lw_read_failed(r);
}

/* Whether it stands for a list, a dict or a set. */
static bool
set_grown(lw_reader *r, PyObject *object, lw_class *class)
{
    static const struct {
        const char *name, *class;
        lw_service service;
        lw_grown_kind kind;
        bool is_typed;
        lw_item_role items;
    } kinds[] = {
        {"list", "GrownList", LW_SERVICE_GROWING_LISTS, LW_GROWN_LIST, false, LW_ITEMS_NONE},
        {"dict", "GrownDict", LW_SERVICE_GROWING_DICTS, LW_GROWN_DICT, false, LW_ITEMS_NONE},
        {"set", "GrownSet", LW_SERVICE_GROWING_DICTS, LW_GROWN_SET, false, LW_ITEMS_NONE},
        {"dict view", "View", LW_SERVICE_GROWING_DICTS, LW_GROWN_VIEW, false, LW_ITEMS_NONE},
        {"Arrays", "Arrays", LW_SERVICE_GROWING_LISTS, 0, false, LW_ITEMS_ARRAYS},
        {"Texts", "Texts", LW_SERVICE_GROWING_LISTS, 0, false, LW_ITEMS_TEXTS},
        {"List", "TypedList", LW_SERVICE_TYPED, LW_GROWN_LIST, true, LW_ITEMS_NONE},
        {"Dict", "TypedDict", LW_SERVICE_TYPED, LW_GROWN_DICT, true, LW_ITEMS_NONE},
        {"list", "InnerList", LW_SERVICE_TYPED, LW_GROWN_LIST, true, LW_ITEMS_NONE},
        {"dict", "InnerDict", LW_SERVICE_TYPED, LW_GROWN_DICT, true, LW_ITEMS_NONE},
        {"typed dict view", "TypedView", LW_SERVICE_TYPED, LW_GROWN_VIEW, true, LW_ITEMS_NONE},
        {"KeptArrays", "KeptArrays", LW_SERVICE_TYPED, 0, false, LW_ITEMS_ARRAYS},
        {"ArrayKind", "ArrayKind", LW_SERVICE_TYPED, 0, false, LW_ITEMS_ARRAY_KIND},
        {"Containers", "Containers", LW_SERVICE_TYPED, 0, false, LW_ITEMS_CONTAINERS},
    };
    PyObject *found;

    for (size_t i = 0; class->name && i < sizeof kinds / sizeof *kinds; i++) {
        if (strcmp(class->name, kinds[i].name) != 0)
            continue;
        found = lw_service_find(kinds[i].service, kinds[i].class);
        Py_XDECREF(found);
        if (found == NULL)
            return lw_read_failed(r);
        if (found != object)
            continue;
        class->grown = kinds[i].kind;
        class->is_typed = kinds[i].is_typed;
        class->items = kinds[i].items;
        break;
    }
    return true;
}

static uint32_t
read_class(lw_reader *r, PyObject *object)
{
    lw_class *class;
    uint32_t constant;
    PyObject *id, *number;

    class = lw_arena_take(&r->tree->arena, sizeof *class);
    if (class == NULL)
        return lw_read_no_memory(r);
    *class = (lw_class){.name = lw_read_text(r, ((PyTypeObject *)object)->tp_name),
                        .id = object,
                        .is_namedtuple = lw_class_is_namedtuple(object),
                        .is_tuple = lw_class_is_namedtuple(object) &&
                                    !lw_class_defines(object, "__iter__") &&
                                    !lw_class_defines(object, "__contains__") &&
                                    !lw_class_defines(object, "__len__")};
    if (!set_is_slice(r, object, class) || !set_grown(r, object, class) ||
        !set_bases(r, object, class) || !read_registered(r, object, class))
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

uint32_t
lw_read_class(lw_reader *r, PyObject *object)
{
    return lw_class_is_readable(object) && lw_class_is_made(object) ? read_class(r, object) : 0;
}

bool
lw_read_classes_of(lw_reader *r, const lw_arg_record *record)
{
    if (record->class_id &&
        lw_read_class_of_objects(r, (PyObject *)(uintptr_t)record->class_id) == 0)
        return false;
    for (uint32_t i = 0; i < record->n; i++)
        if (record->fields[i].record && !lw_read_classes_of(r, record->fields[i].record))
            return false;
    return true;
}

uint32_t
lw_read_class_of_objects(lw_reader *r, PyObject *object)
{
    if (!lw_class_is_readable(object) || lw_class_is_made(object))
        return lw_read_constant(r, object);
    for (uint32_t i = 1; i < r->objects.n; i++)
        if (r->objects.data[i] == object && r->tree->constants.data[i].kind == LW_K_CLASS)
            return i;
    return read_class(r, object);
}

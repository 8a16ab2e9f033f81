/* From the key of a call's types to a specialisation: the types, classes and records that the
 * bytes of the key name. */
#include "core/py/numpy_api.h"

#include "forall/bind_key.h"
#include "forall/kernel_py.h"
#include "forall/specialisation_py_internal.h"
#include "forall/static_py.h"

#include "core/base/memory.h"
#include "core/py/object_shape.h"

#include <string.h>

typedef struct decoder {
    lw_function *self;
    lw_specialisation *specialisation;
    lw_tree *tree; /* the tree that the numbers of constants refer to */
    const uint8_t *at;
    uint32_t arg;
    PyObject *entries[LW_MOST_ARRANGED]; /* by argument: its lw_static_entry, or NULL */
    PyObject *classes; /* list: those of the objects, in the order of the key; or NULL */
    uint32_t n_classes;
} decoder;

static void *
take_address(decoder *d)
{
    void *address;

    memcpy(&address, d->at, sizeof address);
    d->at += sizeof address;
    return address;
}

static bool decode(decoder *d, lw_arg_spec *out);

static bool
decode_items(decoder *d, lw_arg_spec *out)
{
    lw_arg_spec *items =
        lw_arena_take(&d->specialisation->arena, (out->n + 1u) * sizeof *items);

    if (items == NULL) {
        PyErr_NoMemory();
        return false;
    }
    out->items = items;
    for (uint32_t i = 0; i < out->n; i++)
        if (!decode(d, &items[i]))
            return false;
    return true;
}

static char *
copy_text(decoder *d, PyObject *text)
{
    const char *utf8 = text && PyUnicode_Check(text) ? PyUnicode_AsUTF8(text) : NULL;
    char *copy = utf8 ? lw_arena_strdup(&d->specialisation->arena, utf8) : NULL;

    if (utf8 != NULL && copy == NULL)
        PyErr_NoMemory();
    else if (copy == NULL && !PyErr_Occurred())
        PyErr_SetString(PyExc_TypeError, "a namedtuple's field names must be str");
    return copy;
}

/* fields: taken. */
static bool
read_names(decoder *d, PyTypeObject *type, PyObject *fields, lw_arg_spec *out)
{
    PyObject *list = fields ? PySequence_Fast(fields, "_fields must be a tuple") : NULL;
    const char **names =
        lw_arena_take(&d->specialisation->arena, (out->n + 1u) * sizeof *names);
    bool good = list != NULL && names != NULL && PySequence_Fast_GET_SIZE(list) == out->n;

    for (uint32_t i = 0; good && i < out->n; i++)
        good = (names[i] = copy_text(d, PySequence_Fast_GET_ITEM(list, i))) != NULL;
    if (!good && !PyErr_Occurred())
        PyErr_Format(PyExc_TypeError, "`%.100s` does not have one name for each item",
                     type->tp_name);
    out->names = names;
    out->class_name = lw_arena_strdup(&d->specialisation->arena, type->tp_name);
    Py_XDECREF(list);
    Py_XDECREF(fields);
    return good;
}

/* Keeps an object alive that a key names by address. */
static bool
hold(lw_specialisation *specialisation, PyObject *object)
{
    if (specialisation->held == NULL)
        specialisation->held = PyList_New(0);
    return specialisation->held != NULL && PyList_Append(specialisation->held, object) == 0;
}

/* The class in the tree, where that was read for these arguments already. */
static bool
set_class(decoder *d, PyObject *given, lw_arg_spec *out)
{
    uint32_t i = d->n_classes++;

    if (d->tree == d->specialisation->tree && i < d->tree->given.n) {
        out->user_class = d->tree->given.data[i];
        return true;
    }
    if (d->classes == NULL)
        d->classes = PyList_New(0);
    return d->classes != NULL && PyList_Append(d->classes, given) == 0;
}

/* The classes of the objects in a record: the tree has them, and types find them there. */
static bool
set_record(decoder *d, const lw_arg_record *record)
{
    lw_arg_spec unused;

    if (record->class_id != NULL &&
        !set_class(d, (PyObject *)(uintptr_t)record->class_id, &unused))
        return false;
    for (uint32_t i = 0; i < record->n; i++)
        if (record->fields[i].record != NULL && !set_record(d, record->fields[i].record))
            return false;
    return true;
}

static bool
decode_tuple(decoder *d, enum lw_key_tag tag, lw_arg_spec *out)
{
    out->kind = LW_ARGK_TUPLE;
    out->n = *d->at++;
    out->is_list = tag == LW_KEY_LIST;
    if (tag == LW_KEY_NAMED) {
        PyTypeObject *type = take_address(d);
        if (!hold(d->specialisation, (PyObject *)type) ||
            !read_names(d, type, PyObject_GetAttrString((PyObject *)type, "_fields"), out) ||
            !set_class(d, (PyObject *)type, out))
            return false;
    }
    return decode_items(d, out);
}

/* Whether the value of a member has its type. Python's numbers in tuples take it. */
static bool
fits_member(lw_arg_spec *item, const lw_sig_type *type)
{
    bool fits;

    if (type->kind == LW_SIG_ARRAY)
        return item->kind == LW_ARGK_ARRAY && item->dtype == type->dtype &&
               item->ndim == type->ndim && item->record == NULL &&
               (type->layout == 'A' ||
                item->layout == (type->layout == 'C' ? LW_LAYOUT_C : LW_LAYOUT_F));
    if (type->kind == LW_SIG_SCALAR) {
        fits = (item->kind == LW_ARGK_SCALAR || item->kind == LW_ARGK_WEAK) &&
               item->dtype == type->dtype;
        if (fits)
            item->kind = LW_ARGK_SCALAR;
        return fits;
    }
    fits = item->kind == LW_ARGK_TUPLE && item->n == type->n && item->user_class == NULL;
    for (uint32_t i = 0; fits && i < type->n; i++)
        fits = fits_member((lw_arg_spec *)(uintptr_t)&item->items[i], &type->items[i]);
    return fits;
}

/* What typeof_impl has promised of an object's members. */
static bool
check_members(decoder *d, const lw_arg_spec *object)
{
    const lw_struct *of = object->user_class ? object->user_class->structure : NULL;
    lw_arg_spec *items = (lw_arg_spec *)(uintptr_t)object->items;
    lw_text type = {0};

    for (uint32_t i = 0; of != NULL && i < of->n; i++) {
        if (of->structs[i] ? items[i].user_class == of->structs[i]
                           : fits_member(&items[i], &of->types[i]))
            continue;
        if (of->structs[i])
            lw_text_add(&type, of->structs[i]->name);
        else
            lw_sig_type_print(&of->types[i], &type);
        PyErr_Format(PyExc_TypeError,
                     "%s: an object of type %s has an attribute `%s` that is not %s, the type "
                     "of the member `%s`",
                     lw_function_name(d->self), object->user_class->name, of->attributes[i],
                     lw_text_get(&type), of->names[i]);
        lw_text_reset(&type);
        return false;
    }
    return true;
}

static bool
decode_object(decoder *d, lw_arg_spec *out)
{
    const lw_object_shape *shape = take_address(d);

    out->kind = LW_ARGK_TUPLE;
    out->n = (uint32_t)PyTuple_GET_SIZE(shape->names);
    return read_names(d, shape->type, Py_NewRef(shape->fields), out) &&
           set_class(d, shape->given, out) && decode_items(d, out) && check_members(d, out);
}

/* The tree has the class once it is read for these arguments. */
static bool
decode_member(decoder *d, lw_arg_spec *out)
{
    PyTypeObject *class = take_address(d);
    lw_arg_spec unused;

    *out = (lw_arg_spec){.kind = LW_ARGK_MEMBER, .dtype = LW_DT_i64};
    if (!hold(d->specialisation, (PyObject *)class) ||
        !set_class(d, (PyObject *)class, &unused))
        return false;
    out->members = lw_tree_enum(d->tree, class);
    if (PyType_IsSubtype(class, &PyLong_Type)) { /* the value is the number that it is */
        out->kind = LW_ARGK_WEAK;
        return true;
    }
    if (d->tree != d->specialisation->tree || (out->members && out->members->n))
        return true;
    PyErr_Format(PyExc_TypeError,
                 "%s: a member of %.100s in a tuple or an object is not supported, because it "
                 "is a class of flags, has a method __eq__ or has very many members; pass the "
                 "member as an argument of its own",
                 lw_function_name(d->self), class->tp_name);
    return false;
}

static bool
decode(decoder *d, lw_arg_spec *out)
{
    enum lw_key_tag tag = *d->at++;

    memset(out, 0, sizeof *out);
    switch (tag) {
    case LW_KEY_SCALAR:
    case LW_KEY_WEAK:
        out->kind = tag == LW_KEY_WEAK ? LW_ARGK_WEAK : LW_ARGK_SCALAR;
        out->dtype = (lw_dtype)*d->at++;
        return true;
    case LW_KEY_ARRAY:
        out->kind = LW_ARGK_ARRAY;
        out->dtype = (lw_dtype)*d->at++;
        out->readonly = (*d->at & 16) != 0;
        out->layout = *d->at++ & 15;
        out->ndim = *d->at++;
        if (out->dtype == LW_DT_void)
            out->record = take_address(d);
        return out->record == NULL || set_record(d, out->record);
    case LW_KEY_RECORD:
        out->kind = LW_ARGK_RECORD;
        out->readonly = (*d->at++ & 16) != 0;
        out->record = take_address(d);
        return set_record(d, out->record);
    case LW_KEY_TUPLE:
    case LW_KEY_LIST:
    case LW_KEY_NAMED: return decode_tuple(d, tag, out);
    case LW_KEY_OBJECT: return decode_object(d, out);
    case LW_KEY_MEMBER: return decode_member(d, out);
    case LW_KEY_NONE:
        out->kind = LW_ARGK_CONSTANT;
        out->constant = lw_none_constant(d->tree);
        if (out->constant == 0)
            PyErr_NoMemory();
        return out->constant != 0;
    case LW_KEY_ELLIPSIS:
        out->kind = LW_ARGK_CONSTANT;
        out->is_ellipsis = true;
        out->constant = lw_ellipsis_constant(d->tree);
        if (out->constant == 0)
            PyErr_NoMemory();
        return out->constant != 0;
    case LW_KEY_STATIC:
        out->kind = LW_ARGK_CONSTANT;
        out->constant =
            d->tree->fns.data[1].params.data[d->self->n_index + d->arg].default_constant;
        d->entries[d->arg] = take_address(d);
        return true;
    default: break;
    }
    Py_UNREACHABLE();
}

static bool
decode_argument(decoder *d, lw_arg_spec *out)
{
    const lw_fn *fn = &d->tree->fns.data[1];

    if (!decode(d, out))
        return false;
    out->packed = fn->params.data[d->self->n_index + d->arg].kind == LW_PARAM_VARARG;
    return true;
}

static bool
decode_all(decoder *d, lw_arg_spec *specs, uint32_t n)
{
    d->at = d->specialisation->key;
    d->n_classes = 0;
    for (d->arg = 0; d->arg < n; d->arg++)
        if (!decode_argument(d, &specs[d->self->n_index + d->arg]))
            return false;
    return true;
}

/* Whether some arguments are static values, or objects of classes. */
static bool
reads_own(const decoder *d)
{
    bool reads = d->self->statics != 0 || d->classes != NULL;

    for (uint32_t i = 0; i < LW_MOST_ARRANGED && !reads; i++)
        reads = d->entries[i] != NULL;
    return reads;
}

lw_specialisation *
lw_specialisation_of_key(lw_function *self, const lw_bound *bound)
{
    lw_arg_spec *specs = NULL;
    lw_specialisation *specialisation = lw_specialisation_new(self, &specs);
    decoder d = {.self = self, .specialisation = specialisation, .tree = self->tree};
    uint8_t *key;
    bool good;

    if (specialisation == NULL)
        return NULL;
    key = lw_arena_take(&specialisation->arena, bound->n_key);
    if (key == NULL) {
        lw_specialisation_free(specialisation);
        return (lw_specialisation *)PyErr_NoMemory();
    }
    memcpy(key, bound->key, bound->n_key);
    specialisation->key = key;
    specialisation->n_key = bound->n_key;
    specialisation->narrow = bound->narrow;
    specialisation->negative = bound->negative;
    lw_specialisation_set_counts(specialisation, specs);
    good = decode_all(&d, specs, bound->n_args);
    for (uint32_t i = 0; good && i < bound->n_args && i < LW_MOST_ARRANGED; i++)
        specialisation->statics |= (uint64_t)(d.entries[i] != NULL) << i;
    if (good && reads_own(&d)) {          /* again, with a tree of its own */
        uint32_t most = LW_MOST_ARRANGED; /* no static argument is behind these */
        good = lw_specialisation_read_own(specialisation, d.entries,
                                          bound->n_args < most ? bound->n_args : most,
                                          d.classes) == 0;
        d.tree = specialisation->tree;
        good = good && decode_all(&d, specs, bound->n_args);
    }
    Py_CLEAR(d.classes);
    if (!good) {
        lw_specialisation_free(specialisation);
        return NULL;
    }
    lw_specialisation_set_defaults(specialisation, self->n_index + bound->n_args, specs);
    return specialisation;
}

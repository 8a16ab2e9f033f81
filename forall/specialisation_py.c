/* Specialisations: from the key of a call's types, or a signature, to typed and lowered IR. */
#include "core/py/numpy_api.h"

#include "forall/bind_copies_py.h"
#include "forall/bind_key.h"
#include "forall/kernel_py.h"
#include "forall/specialisation_py_internal.h"
#include "forall/static_py.h"

#include "core/base/memory.h"
#include "core/py/object_shape.h"
#include "core/front/read/critical.h"
#include "core/py/raise.h"
#include "core/py/text_py.h"
#include "core/py/types/signature_read.h"

#include <string.h>

/* ---- constants of the tree that arguments may be ---- */

/* A tree that is in use has one (lw_function_init): other threads read it. */
uint32_t
lw_none_constant(lw_tree *tree)
{
    lw_constant *slot;

    for (uint32_t i = 1; i < tree->constants.n; i++)
        if (tree->constants.data[i].kind == LW_K_NONE)
            return i;
    slot = lw_array_push(&tree->constants, &tree->arena);
    if (slot == NULL)
        return 0;
    *slot = (lw_constant){.kind = LW_K_NONE};
    return tree->constants.n - 1;
}

/* ---- key -> argument types ---- */

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
        PyErr_Format(PyExc_TypeError, "`%.100s` has not one name for each item", type->tp_name);
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
    if (PyType_IsSubtype(class, &PyLong_Type)) {
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

/* The index has Python's kind of integer: it takes the type of the operands that it meets. */
static void
index_specs(const lw_function *self, lw_arg_spec *specs)
{
    for (uint32_t i = 0; i < self->n_index; i++)
        specs[i] = (lw_arg_spec){.kind = LW_ARGK_WEAK, .dtype = LW_DT_i64};
}

static void
set_counts(const lw_specialisation *specialisation, lw_arg_spec *specs)
{
    for (uint32_t i = 0; i < specialisation->function->n_index; i++)
        specs[i].counts = !specialisation->negative;
}

static void
default_specs(const lw_specialisation *specialisation, uint32_t from, lw_arg_spec *specs)
{
    const lw_fn *fn = &lw_specialisation_tree(specialisation)->fns.data[1];

    for (uint32_t i = from; i < specialisation->n_specs; i++)
        specs[i] = (lw_arg_spec){.kind = LW_ARGK_CONSTANT,
                                 .constant = fn->params.data[i].default_constant};
}

static lw_specialisation *
specialisation_new(lw_function *self, lw_arg_spec **specs)
{
    lw_specialisation *specialisation = lw_alloc_zero(1, sizeof *specialisation);

    if (specialisation == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    lw_arena_init(&specialisation->arena);
    specialisation->function = self;
    specialisation->target = specialisation;
    specialisation->n_specs = self->n_params;
    *specs = lw_arena_take(&specialisation->arena, (self->n_params + 1) * sizeof **specs);
    if (*specs == NULL) {
        lw_specialisation_free(specialisation);
        PyErr_NoMemory();
        return NULL;
    }
    specialisation->specs = *specs;
    index_specs(self, *specs);
    return specialisation;
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

static lw_specialisation *
specialisation_of_key(lw_function *self, const lw_bound *bound)
{
    lw_arg_spec *specs = NULL;
    lw_specialisation *specialisation = specialisation_new(self, &specs);
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
    set_counts(specialisation, specs);
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
    default_specs(specialisation, self->n_index + bound->n_args, specs);
    return specialisation;
}

/* ---- typing and lowering ---- */

static void
dump_typed(const lw_function *self, const lw_typed *typed)
{
    lw_text text = {0};

    if (!lw_dump_wanted("typed", lw_function_name(self)))
        return;
    lw_typed_print(typed, &text);
    lw_dump("typed", lw_function_name(self), lw_text_get(&text));
    lw_text_reset(&text);
}

lw_typed *
lw_specialisation_infer(const lw_specialisation *specialisation)
{
    lw_function *self = specialisation->function;
    lw_front_options options = self->options.front;
    lw_typed *typed = NULL;
    lw_error err = {0};

    options.narrow = specialisation->narrow;
    options.result = specialisation->result;
    if (lw_infer_specs(lw_specialisation_tree(specialisation), &options, specialisation->specs,
                       specialisation->n_specs, &typed, &err) != LW_OK)
        return (lw_typed *)lw_py_raise(&err);
    return typed;
}

static bool
note_written(lw_specialisation *specialisation)
{
    const lw_scalar *scalar = specialisation->scalar;
    uint32_t array = 0, n = 0;
    uint32_t *written;

    for (uint32_t i = specialisation->function->n_index; i < scalar->n_args; i++)
        n += scalar->args[i].n_arrays;
    written = lw_arena_take(&specialisation->arena, (n + 1) * sizeof *written);
    if (written == NULL)
        return false;
    specialisation->written = written;
    for (uint32_t i = specialisation->function->n_index; i < scalar->n_args; i++)
        for (uint32_t k = 0; k < scalar->args[i].n_arrays && !scalar->args[i].pointer;
             k++, array++)
            if (scalar->args[i].written[k])
                written[specialisation->n_written++] = array;
    return true;
}

/* Notes in the lowered function which arguments are addresses alone. */
static void
note_pointers(const lw_specialisation *specialisation, const lw_scalar *scalar)
{
    lw_arg_parts *args = scalar ? (lw_arg_parts *)scalar->args : NULL;

    for (uint32_t i = 0; args != NULL && i < scalar->n_args; i++)
        if (i < specialisation->n_specs && specialisation->specs[i].pointer) {
            args[i].pointer = true;
            args[i].item_bytes = lw_dtypes[specialisation->specs[i].dtype].size_bytes;
        }
}

static bool
note_hash(lw_specialisation *specialisation)
{
    lw_text text = {0};
    bool failed;

    lw_specialisation_print(specialisation, &text);
    failed = text.failed;
    specialisation->hash =
        lw_hash64(lw_text_get(&text), text.n,
                  specialisation->narrow + 2u * (uint32_t)specialisation->negative);
    lw_text_reset(&text);
    return !failed;
}

/* A GPU confines a block to its own shared memory. On the host the memory after it is not the
 * block's, and its size is known only at the launch: there an index is compared with it. */
static lw_status
lower_guarded(lw_specialisation *specialisation, lw_typed *typed, lw_error *err)
{
    if (!lw_ir_has_op(specialisation->scalar->module, LW_OP_DYNAMIC))
        return LW_OK;
    typed->options.guard_dynamic = true;
    return lw_lower(typed, specialisation->out, specialisation->n_out, &specialisation->on_host,
                    err);
}

static lw_status
note_races(lw_specialisation *specialisation, lw_error *err)
{
    const lw_scalar *scalar = specialisation->scalar;
    lw_races races = {0};
    lw_status status;

    if (specialisation->function->n_index == 0)
        return LW_OK;
    status = lw_opt_find_races(scalar->module, scalar->body, specialisation->function->n_index,
                               &specialisation->arena, &races, err);
    specialisation->races = races.stores;
    specialisation->n_races = races.n;
    return status;
}

static int
lower(lw_specialisation *specialisation)
{
    lw_typed *typed = lw_specialisation_infer(specialisation);
    lw_error err = {0};
    lw_status status;

    if (typed == NULL)
        return -1;
    dump_typed(specialisation->function, typed);
    status = specialisation->n_out ? lw_infer_check_results(typed, specialisation->out,
                                                            specialisation->n_out, &err)
                                   : LW_OK;
    if (status == LW_OK)
        status = lw_lower(typed, specialisation->out, specialisation->n_out,
                          &specialisation->scalar, &err);
    if (status == LW_OK)
        status = lower_guarded(specialisation, typed, &err);
    if (status == LW_OK)
        status = note_races(specialisation, &err);
    lw_typed_free(typed);
    if (status != LW_OK) {
        lw_py_raise(&err);
        return -1;
    }
    if (specialisation->function->options.front.parallel &&
        lw_specialisation_parallel(specialisation) < 0)
        return -1;
    note_pointers(specialisation, specialisation->scalar);
    note_pointers(specialisation, specialisation->on_host);
    if (!note_written(specialisation) || !note_hash(specialisation)) {
        PyErr_NoMemory();
        return -1;
    }
    return lw_door_warn_of_code(&specialisation->function->options, specialisation->scalar);
}

static void
publish(lw_function *self, lw_specialisation *specialisation)
{
    lw_grown_add(&self->specialisations, specialisation);
    self->counts.specialisations++;
    self->settled = true;
    if (specialisation->key != NULL)
        lw_grown_note(&self->specialisations, specialisation);
}

/* ---- twins ---- */

static lw_specialisation *
find_twin(const lw_specialisation *origin, bool narrow, bool negative)
{
    lw_specialisation *at = lw_grown_first(&origin->function->specialisations);

    while (at != NULL && ((at != origin && at->origin != origin) || at->narrow != narrow ||
                          at->negative != negative))
        at = lw_grown_next(at);
    return at;
}

/* In a critical section. */
static lw_specialisation *
make_twin(lw_specialisation *specialisation, bool narrow, bool negative)
{
    lw_function *self = specialisation->function;
    lw_specialisation *origin =
        specialisation->origin ? specialisation->origin : specialisation;
    lw_specialisation *twin = find_twin(origin, narrow, negative);
    lw_arg_spec *specs = NULL;

    if (twin != NULL)
        return twin;
    twin = specialisation_new(self, &specs);
    if (twin == NULL)
        return NULL;
    memcpy(specs, specialisation->specs, specialisation->n_specs * sizeof *specs);
    twin->origin = origin;
    twin->tree = origin->tree;
    twin->statics = origin->statics;
    twin->out = origin->out; /* in its arena, which lives as long */
    twin->n_out = origin->n_out;
    twin->result = origin->result;
    twin->has_pointer = origin->has_pointer;
    twin->narrow = narrow;
    twin->negative = negative;
    set_counts(twin, specs);
    if (lower(twin) < 0) {
        lw_specialisation_free(twin);
        return NULL;
    }
    publish(self, twin);
    return twin;
}

lw_specialisation *
lw_specialisation_twin(lw_specialisation *specialisation, bool narrow, bool negative)
{
    lw_specialisation *origin =
                          specialisation->origin ? specialisation->origin : specialisation,
                      *twin;

    if (specialisation->narrow == narrow && specialisation->negative == negative)
        return specialisation;
    twin = find_twin(origin, narrow, negative);
    if (twin != NULL)
        return twin;
    Py_BEGIN_CRITICAL_SECTION((PyObject *)specialisation->function);
    twin = make_twin(specialisation, narrow, negative);
    Py_END_CRITICAL_SECTION();
    return twin;
}

/* ---- look-up ---- */

static bool
is_for(const void *item, const void *key)
{
    const lw_specialisation *specialisation = item;
    const lw_bound *bound = key;

    return specialisation->n_key == bound->n_key &&
           memcmp(specialisation->key, bound->key, specialisation->n_key) == 0;
}

/* In a critical section. */
static lw_specialisation *
make(lw_function *self, const lw_bound *bound)
{
    lw_specialisation *specialisation, *other;

    if (lw_compiled_read_again((lw_compiled *)self) < 0)
        return NULL;
    specialisation = lw_grown_find(&self->specialisations, is_for, bound);
    if (specialisation != NULL)
        return specialisation;
    if (lw_none_constant(self->tree) == 0)
        return (lw_specialisation *)PyErr_NoMemory();
    specialisation = specialisation_of_key(self, bound);
    if (specialisation == NULL)
        return NULL;
    if ((self->lazy ? lower(specialisation) : lw_specialisation_choose(specialisation)) < 0 ||
        (self->lazy && lw_specialisation_note_bounds(specialisation) < 0)) {
        lw_specialisation_free(specialisation);
        return NULL;
    }
    other = lw_grown_find(&self->specialisations, is_for, bound);
    if (other != NULL) { /* made while this one was: static values are read by Python's code */
        lw_specialisation_free(specialisation);
        return other;
    }
    publish(self, specialisation);
    return specialisation;
}

lw_specialisation *
lw_specialisation_get(lw_function *self, lw_bound *bound)
{
    lw_specialisation *specialisation = lw_grown_find(&self->specialisations, is_for, bound);

    if (specialisation == NULL) {
        Py_BEGIN_CRITICAL_SECTION((PyObject *)self);
        specialisation = make(self, bound);
        Py_END_CRITICAL_SECTION();
        if (specialisation == NULL)
            return NULL;
    }
    if (specialisation->n_casts && lw_specialisation_cast_values(specialisation, bound) < 0)
        return NULL;
    if (lw_bound_writes(bound, self, specialisation->target->written,
                        specialisation->target->n_written) < 0)
        return NULL;
    return specialisation->target;
}

bool
lw_specialisation_noalias(const lw_specialisation *specialisation, const lw_bound *bound)
{
    if (specialisation->has_pointer)
        return false; /* nothing is known of what is there */
    for (uint32_t i = 0; i < specialisation->n_written; i++) {
        const lw_bound_array *w = &bound->arrays[specialisation->written[i]];
        for (uint32_t k = 0; k < bound->n_arrays; k++)
            if (&bound->arrays[k] != w && w->low < bound->arrays[k].high &&
                bound->arrays[k].low < w->high)
                return false;
    }
    return true;
}

/* ---- signatures ---- */

static bool
copy_item_names(lw_specialisation *specialisation, const lw_sig_type *type, lw_arg_spec *out)
{
    const char **names;

    if (type->class_name == NULL)
        return true;
    out->class_name = lw_arena_strdup(&specialisation->arena, type->class_name);
    out->names = names = lw_arena_take(&specialisation->arena, (type->n + 1) * sizeof *names);
    if (out->class_name == NULL || names == NULL)
        return false;
    for (uint32_t i = 0; i < type->n; i++)
        if ((names[i] = lw_arena_strdup(&specialisation->arena, type->names[i])) == NULL)
            return false;
    return true;
}

static int
spec_of_sig(lw_specialisation *specialisation, const lw_sig_type *type, lw_arg_spec *out)
{
    lw_arg_spec *items;

    memset(out, 0, sizeof *out);
    out->dtype = type->dtype;
    switch (type->kind) {
    case LW_SIG_SCALAR: out->kind = LW_ARGK_SCALAR; return 0;
    case LW_SIG_RECORD:
        out->kind = LW_ARGK_RECORD;
        out->record = type->record;
        return 0;
    case LW_SIG_ARRAY:
        out->kind = LW_ARGK_ARRAY;
        out->record = type->record;
        out->ndim = (uint8_t)type->ndim;
        out->layout = type->layout == 'C'   ? LW_LAYOUT_C
                      : type->layout == 'F' ? LW_LAYOUT_F
                                            : LW_LAYOUT_ANY;
        return 0;
    case LW_SIG_TUPLE:
        out->kind = LW_ARGK_TUPLE;
        out->n = type->n;
        items = lw_arena_take(&specialisation->arena, (type->n + 1) * sizeof *items);
        if (items == NULL || !copy_item_names(specialisation, type, out)) {
            PyErr_NoMemory();
            return -1;
        }
        out->items = items;
        for (uint32_t i = 0; i < type->n; i++)
            if (spec_of_sig(specialisation, &type->items[i], &items[i]) < 0)
                return -1;
        return 0;
    case LW_SIG_VOID: /* none */
        out->kind = LW_ARGK_CONSTANT;
        out->constant = lw_none_constant(specialisation->function->tree);
        return 0;
    case LW_SIG_POINTER:
        if (specialisation->function->n_index > 0)
            break;
        out->kind = LW_ARGK_ARRAY; /* of as many elements as an index asks for */
        out->ndim = 1;
        out->layout = LW_LAYOUT_C;
        if (type->dtype == LW_DT_void) /* of host functions alone */
            out->dtype = LW_DT_u8;
        out->endless = true;
        if (!specialisation->function->gives_value)
            out->pointer = specialisation->has_pointer = true;
        return 0;
    case LW_SIG_NONE: break;
    }
    if (type->kind == LW_SIG_POINTER)
        PyErr_Format(
            PyExc_TypeError,
            "signature of `%s`: pointers are arguments of functions of jit: use an array",
            lw_function_name(specialisation->function));
    else
        PyErr_SetString(PyExc_TypeError, "signature: an argument without a type");
    return -1;
}

static int
check_count(const lw_function *self, const lw_signature *signature, uint32_t *first)
{
    uint32_t most = self->n_params - self->n_index, n = signature->n_args;

    *first = 0;
    if (self->statics != 0) {
        PyErr_Format(
            PyExc_TypeError,
            "signature `%.100s`: `%s` has static parameters, of which a signature does "
            "not say the values: call it first, then ask without a signature",
            signature->text, lw_function_name(self));
        return -1;
    }
    if (self->n_index && n > most && n >= self->n_index + self->n_required &&
        n <= self->n_params) { /* it names the index too */
        for (uint32_t i = 0; i < self->n_index; i++)
            if (signature->args[i].kind != LW_SIG_SCALAR ||
                !lw_is_integer(signature->args[i].dtype)) {
                PyErr_Format(
                    PyExc_TypeError,
                    "signature `%.100s`: parameter %u of `%s` is the index, an integer",
                    signature->text, (unsigned)i + 1, lw_function_name(self));
                return -1;
            }
        *first = self->n_index;
        return 0;
    }
    if (n >= self->n_required && n <= most)
        return 0;
    PyErr_Format(PyExc_TypeError, "signature `%.100s` has %u argument%s, but `%s` takes %u%s",
                 signature->text, (unsigned)n, n == 1 ? "" : "s", lw_function_name(self),
                 (unsigned)most, self->n_index ? " behind the index" : "");
    return -1;
}

static bool
has_array(const lw_sig_type *type)
{
    bool has = type->kind == LW_SIG_ARRAY;

    for (uint32_t i = 0; type->kind == LW_SIG_TUPLE && i < type->n; i++)
        has |= has_array(&type->items[i]);
    return has;
}

/* A copy in the arena; NULL: memory is out. */
static lw_sig_type *
copy_types(lw_arena *arena, const lw_sig_type *types, uint32_t n)
{
    lw_sig_type *copy = lw_arena_take(arena, (n + 1) * sizeof *copy);

    for (uint32_t i = 0; copy != NULL && i < n; i++) {
        copy[i] = types[i];
        copy[i].names = NULL;
        copy[i].class_name = NULL;
        if (types[i].kind == LW_SIG_TUPLE)
            copy[i].items = copy_types(arena, types[i].items, types[i].n);
    }
    return copy;
}

/* Notes the result that a signature declares, if it may have one. */
static int
note_result(lw_specialisation *specialisation, const lw_signature *signature)
{
    const lw_sig_type *result = &signature->result;
    uint32_t n = lw_signature_n_out(signature);
    lw_dtype *out;

    if (n == 0)
        return 0;
    if (has_array(result)) {
        specialisation->result = copy_types(&specialisation->arena, result, 1);
        return specialisation->arena.failed ? (PyErr_NoMemory(), -1) : 0;
    }
    out = lw_arena_take(&specialisation->arena, n * sizeof *out);
    for (uint32_t i = 0; out != NULL && i < n; i++) {
        const lw_sig_type *one = result->kind == LW_SIG_TUPLE ? &result->items[i] : result;
        if (one->kind != LW_SIG_SCALAR) {
            PyErr_Format(PyExc_TypeError,
                         "signature `%.100s`: expected numbers or arrays as results, or tuples "
                         "of them",
                         signature->text);
            return -1;
        }
        out[i] = one->dtype;
    }
    specialisation->out = out;
    specialisation->n_out = out != NULL ? n : 0;
    if (out == NULL)
        PyErr_NoMemory();
    return out != NULL ? 0 : -1;
}

static lw_specialisation *
specialisation_of_signature(lw_function *self, const lw_signature *signature)
{
    lw_arg_spec *specs = NULL;
    lw_specialisation *specialisation;
    uint32_t first;

    if (check_count(self, signature, &first) < 0)
        return NULL;
    specialisation = specialisation_new(self, &specs);
    for (uint32_t i = first; specialisation != NULL && i < signature->n_args; i++)
        if (spec_of_sig(specialisation, &signature->args[i],
                        &specs[self->n_index + i - first]) < 0) {
            lw_specialisation_free(specialisation);
            return NULL;
        }
    if (specialisation != NULL) {
        /* as is common on a GPU; other calls get twins */
        specialisation->narrow = !specialisation->has_pointer;
        set_counts(specialisation, specs);
        default_specs(specialisation, self->n_index + signature->n_args - first, specs);
    }
    if (specialisation != NULL && self->gives_value &&
        note_result(specialisation, signature) < 0) {
        lw_specialisation_free(specialisation);
        return NULL;
    }
    return specialisation;
}

lw_typed *
lw_function_infer(lw_function *self, const lw_signature *signature,
                  const lw_front_options *options)
{
    lw_specialisation *specialisation = specialisation_of_signature(self, signature);
    lw_typed *typed = NULL;
    lw_error err = {0};

    if (specialisation == NULL)
        return NULL;
    if (lw_infer_specs(self->tree, options, specialisation->specs, specialisation->n_specs,
                       &typed, &err) != LW_OK)
        lw_py_raise(&err);
    lw_specialisation_free(specialisation);
    return typed;
}

static PyObject *
explain_signature(lw_function *self, const lw_signature *signature)
{
    lw_specialisation *specialisation = specialisation_of_signature(self, signature);
    lw_front_options options = self->options.front;
    lw_error err = {0};
    lw_text text = {0};

    if (specialisation == NULL)
        return NULL;
    options.procedure = self->n_index > 0 || signature->result.kind == LW_SIG_VOID;
    options.returns_arrays = !options.procedure;
    if (lw_explain(self->tree, &options, specialisation->specs, specialisation->n_specs, &text,
                   &err) != LW_OK) {
        lw_text_reset(&text);
        lw_py_raise(&err);
    }
    lw_specialisation_free(specialisation);
    return PyErr_Occurred() ? NULL : lw_text_take(&text);
}

PyObject *
lw_function_explain(PyObject *self, PyObject *sig)
{
    lw_signature_list list = {0};
    PyObject *result = NULL;
    lw_arena arena;

    lw_arena_init(&arena);
    if (lw_signatures_read(sig, false, &arena, &list) == 0) {
        if (list.n == 1)
            result = explain_signature((lw_function *)self, &list.data[0]);
        else
            PyErr_Format(PyExc_TypeError, "explain() takes one signature, not %u",
                         (unsigned)list.n);
    }
    lw_arena_reset(&arena);
    return result;
}

static bool
same_specs(const lw_specialisation *x, const lw_specialisation *y)
{
    for (uint32_t i = x->function->n_index; i < x->n_specs; i++)
        if (x->specs[i].kind != y->specs[i].kind ||
            lw_spec_fits(&x->specs[i], &y->specs[i]) != 0)
            return false;
    return true;
}

/* Takes `specialisation` over: returns the equal one in the list, or lowers it and adds it. */
static lw_specialisation *
keep(lw_function *self, lw_specialisation *specialisation, bool declared)
{
    for (lw_specialisation *at = lw_grown_first(&self->specialisations); at != NULL;
         at = lw_grown_next(at))
        if (at->target == at && same_specs(at, specialisation)) {
            lw_specialisation_free(specialisation);
            return at;
        }
    if (lower(specialisation) < 0) {
        lw_specialisation_free(specialisation);
        return NULL;
    }
    specialisation->declared = declared;
    publish(self, specialisation);
    return specialisation;
}

static lw_specialisation *
one_signature(lw_function *self, PyObject *signature)
{
    lw_signature_list list = {0};
    lw_specialisation *specialisation = NULL;
    lw_arena arena;

    lw_arena_init(&arena);
    if (lw_signatures_read(signature, false, &arena, &list) == 0) {
        if (list.n == 1)
            specialisation = specialisation_of_signature(self, &list.data[0]);
        else
            PyErr_Format(PyExc_ValueError, "sig must be one signature, not %.200R", signature);
    }
    lw_arena_reset(&arena);
    if (specialisation == NULL)
        return NULL;
    Py_BEGIN_CRITICAL_SECTION((PyObject *)self);
    specialisation = keep(self, specialisation, false);
    Py_END_CRITICAL_SECTION();
    return specialisation;
}

lw_specialisation *
lw_specialisation_of(lw_function *self, PyObject *signature)
{
    if (signature != NULL && signature != Py_None)
        return one_signature(self, signature);
    for (lw_specialisation *at = lw_grown_first(&self->specialisations); at != NULL;
         at = lw_grown_next(at))
        if (at->target == at)
            return at;
    PyErr_Format(PyExc_ValueError,
                 "`%s` is not compiled for any types yet: give a signature, or call it first",
                 lw_function_name(self));
    return NULL;
}

/* In a critical section. */
static int
declare(lw_function *self, PyObject *signatures)
{
    lw_signature_list list = {0};
    lw_error err = {0};
    lw_arena arena;
    int failed;

    lw_arena_init(&arena);
    failed = lw_signatures_read(signatures, false, &arena, &list);
    if (!failed && list.n > 0 && self->statics != 0) {
        PyErr_Format(PyExc_TypeError,
                     "`%s` has static parameters, of which signatures do not say the values: "
                     "leave static= or the signatures out",
                     lw_function_name(self));
        failed = -1;
    }
    for (uint32_t i = 0; i < list.n && !failed; i++) {
        lw_specialisation *specialisation = NULL;
        if (!self->gives_value && lw_signature_check_kernel(&list.data[i], &err) != LW_OK)
            lw_py_raise(&err);
        else
            specialisation = specialisation_of_signature(self, &list.data[i]);
        failed = specialisation == NULL || keep(self, specialisation, true) == NULL;
    }
    if (!failed && list.n > 0)
        self->lazy = false;
    lw_arena_reset(&arena);
    return failed ? -1 : 0;
}

int
lw_function_declare(lw_function *self, PyObject *signatures)
{
    int result;

    Py_BEGIN_CRITICAL_SECTION((PyObject *)self);
    result = declare(self, signatures);
    Py_END_CRITICAL_SECTION();
    return result;
}

/* ---- the end ---- */

void
lw_specialisation_free(lw_specialisation *specialisation)
{
    if (specialisation == NULL)
        return;
    lw_specialisation_drop_entries(specialisation);
    Py_CLEAR(specialisation->held);
    if (specialisation->origin == NULL) {
        lw_tree_free(specialisation->tree);
        lw_captures_free(specialisation->captures);
    }
    lw_scalar_free(specialisation->scalar);
    lw_scalar_free(specialisation->on_host);
    lw_arena_reset(&specialisation->arena);
    lw_free(specialisation);
}

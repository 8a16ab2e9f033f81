/* The classes of enum members. At run time the number of a member in its class stands for it.
 * Classes whose members may be equal to other objects, or of which more members can be made
 * (enum.Flag), have no such numbers. Of a Flag class all combinations are read, because
 * inference must find the members that `&`, `|`, `^` and `~` give. Python makes, names and
 * inverts each of them. */
#include "core/front/read/read_internal.h"

#include <assert.h>

enum { MOST_BITS = 6, MOST_MEMBERS = 1024 };

/* ---- flags ---- */

/* Whether the class has this attribute from its base, enum.Enum or enum.Flag. */
static bool
inherits(PyObject *class, PyObject *base, const char *name)
{
    PyObject *own = PyObject_GetAttrString(class, name);
    PyObject *inherited = PyObject_GetAttrString(base, name);
    bool same = own != NULL && own == inherited;

    if (own && inherited && PyMethod_Check(own) && PyMethod_Check(inherited))
        same = PyMethod_GET_FUNCTION(own) == PyMethod_GET_FUNCTION(inherited);
    Py_XDECREF(own);
    Py_XDECREF(inherited);
    return same;
}

/* enum.Flag or enum.Enum; a new reference, or NULL with an exception. */
static PyObject *
base_class(const char *name)
{
    PyObject *module = PyImport_ImportModule("enum");
    PyObject *base = module ? PyObject_GetAttrString(module, name) : NULL;

    Py_XDECREF(module);
    return base;
}

static bool
is_flag(PyObject *class)
{
    PyObject *flag = base_class("Flag");
    bool result = flag && PyType_Check(class) && PyObject_IsSubclass(class, flag) == 1;

    Py_XDECREF(flag);
    lw_read_clear();
    return result;
}

/* Whether it is derived from enum.Flag, and changes none of its operators. */
static bool
is_flag_class(PyObject *class)
{
    static const char *const names[] = {"__and__",    "__or__",       "__xor__",
                                        "__rand__",   "__ror__",      "__rxor__",
                                        "__invert__", "__contains__", "_missing_"};
    PyObject *flag = base_class("Flag");
    bool result = flag && is_flag(class);

    for (size_t i = 0; result && i < sizeof names / sizeof *names; i++)
        result = inherits(class, flag, names[i]);
    Py_XDECREF(flag);
    lw_read_clear();
    return result;
}

/* Its value; false: it has none that fits. */
static bool
value_of(PyObject *member, int64_t *out)
{
    PyObject *value = member ? PyObject_GetAttrString(member, "value") : NULL;

    *out = value && PyLong_Check(value) ? PyLong_AsLongLong(value) : -1;
    Py_XDECREF(value);
    if (PyErr_Occurred()) {
        lw_read_clear();
        return false;
    }
    return *out >= 0;
}

/* The bits of all members that have names; 0: there are too many. */
static int64_t
mask_of(PyObject *class)
{
    PyObject *named = PyObject_GetAttrString(class, "__members__");
    PyObject *members = named ? PyMapping_Values(named) : NULL;
    Py_ssize_t n = members ? PyList_GET_SIZE(members) : 0;
    int64_t mask = 0, value, rest;
    int n_bits = 0;

    for (Py_ssize_t i = 0; i < n; i++)
        mask = mask >= 0 && value_of(PyList_GET_ITEM(members, i), &value) ? mask | value : -1;
    for (rest = mask; rest > 0; rest &= rest - 1)
        n_bits++;
    Py_XDECREF(members);
    Py_XDECREF(named);
    lw_read_clear();
    return mask > 0 && n_bits <= MOST_BITS ? mask : 0;
}

/* The member of this value, as a constant. false: there is none, or stop. */
static bool
read_flag(lw_reader *r, PyObject *class, int64_t value, struct lw_flag *out)
{
    PyObject *member = PyObject_CallFunction(class, "L", (long long)value);
    PyObject *inverse = member ? PyNumber_Invert(member) : NULL;
    bool known = value_of(member, &out->value) && value_of(inverse, &out->inverse) &&
                 out->value == value;

    lw_read_clear();
    if (known)
        out->constant = lw_read_constant(r, member);
    Py_XDECREF(member);
    Py_XDECREF(inverse);
    return known && out->constant != 0;
}

/* The number that ~member is of the member without bits; 0: none, or a negative one, as in
 * Python 3.10. */
static int64_t
all_bits_of(PyObject *class, const lw_enum *of)
{
    PyObject *zero = of->n_numbers && PyType_IsSubtype((PyTypeObject *)class, &PyLong_Type)
                         ? PyObject_CallFunction(class, "i", 0)
                         : NULL;
    PyObject *inverse = zero ? PyNumber_Invert(zero) : NULL;
    int64_t bits = 0;

    if (inverse == NULL || !value_of(inverse, &bits) || of->lo < 0 || (of->hi & ~bits) != 0)
        bits = 0;
    lw_read_clear();
    Py_XDECREF(zero);
    Py_XDECREF(inverse);
    return bits;
}

static bool
read_flags(lw_reader *r, PyObject *class, lw_enum *out)
{
    bool has_operators = is_flag_class(class);
    int64_t mask = has_operators ? mask_of(class) : 0, value = 0;

    out->all_bits = has_operators ? all_bits_of(class, out) : 0;
    if (out->all_bits) {
        out->lo = 0;
        out->hi = out->all_bits;
    }

    out->flags = lw_arena_take(&r->tree->arena, (1u << MOST_BITS) * sizeof *out->flags);
    if (out->flags == NULL)
        return lw_read_no_memory(r);
    for (bool more = mask != 0; more && r->status == LW_OK;) {
        if (!read_flag(r, class, value, &out->flags[out->n_flags])) {
            out->n_flags = 0;
            break;
        }
        out->n_flags++;
        value = (value - mask) & mask; /* the next one of these bits */
        more = value != 0;
    }
    return r->status == LW_OK;
}

/* ---- members ---- */

/* Whether it has no `__eq__` of its own or of a class that is mixed in, and no combinations. */
static bool
is_plain(PyObject *class)
{
    return ((PyTypeObject *)class)->tp_richcompare == PyBaseObject_Type.tp_richcompare &&
           !is_flag(class);
}

/* What all of the members have, or -1. */
static int
truth_of(const lw_reader *r, const lw_enum *of)
{
    int truth = -1;

    for (uint32_t i = 0; i < of->n; i++) {
        int own = (int)r->tree->constants.data[of->members[i]].i;
        if (own < 0 || (i > 0 && own != truth))
            return -1;
        truth = own;
    }
    return truth;
}

static bool
is_member_constant(const lw_reader *r, uint32_t constant)
{
    const lw_constant *k = &r->tree->constants.data[constant];

    return constant != 0 && k->kind == LW_K_OBJECT && k->n == 2;
}

/* ---- members that are numbers ---- */

/* Whether a call of the class with its value gives the member itself. */
static bool
is_found(PyObject *class, PyObject *member)
{
    PyObject *value = PyObject_GetAttrString(member, "value");
    PyObject *found =
        value && PyLong_CheckExact(value) && PyObject_RichCompareBool(value, member, Py_EQ) == 1
            ? PyObject_CallOneArg(class, value)
            : NULL;
    bool same = found == member;

    Py_XDECREF(found);
    Py_XDECREF(value);
    lw_read_clear();
    return same;
}

/* The members of a class derived from int, if all of them are what their values are. false:
 * stop. */
static bool
read_numbers(lw_reader *r, PyObject *class, PyObject *names, lw_enum *out)
{
    PyObject *map = PyObject_GetAttrString(class, "_member_map_");
    uint32_t n = (uint32_t)PyList_GET_SIZE(names);
    bool known;

    lw_read_clear();
    out->numbers = lw_arena_take(&r->tree->arena, (n + 1) * sizeof *out->numbers);
    known = map != NULL && PyDict_Check(map);
    if (out->numbers == NULL)
        lw_read_no_memory(r);
    for (uint32_t i = 0; known && r->status == LW_OK && i < n; i++) {
        PyObject *name = PyList_GET_ITEM(names, i);
        PyObject *member = lw_dict_item(map, name);
        int64_t value = member && PyLong_Check(member) ? PyLong_AsLongLong(member) : 0;

        known = !PyErr_Occurred() && member && PyLong_Check(member) && is_found(class, member);
        lw_read_clear();
        out->numbers[i] = (struct lw_numbered){.value = value};
        if (known) {
            out->numbers[i].name = lw_read_constant(r, name);
            out->numbers[i].constant = lw_read_constant(r, member);
        }
        Py_XDECREF(member);
        out->lo = i == 0 || value < out->lo ? value : out->lo;
        out->hi = i == 0 || value > out->hi ? value : out->hi;
    }
    Py_XDECREF(map);
    out->n_numbers = known && r->status == LW_OK ? n : 0;
    for (uint32_t i = 0; i < out->n_numbers; i++) /* it was not known when they were read */
        r->tree->constants.data[out->numbers[i].constant].members = out;
    return r->status == LW_OK;
}

/* names: of the members without aliases, in the order of the class. false: stop. */
static bool
read_members(lw_reader *r, PyObject *class, PyObject *names, lw_enum *out)
{
    PyObject *map = PyObject_GetAttrString(class, "_member_map_");
    uint32_t n = (uint32_t)PyList_GET_SIZE(names);
    uint32_t *members = lw_arena_take(&r->tree->arena, (n + 1) * sizeof *members);
    bool known = map != NULL && PyDict_Check(map);

    if (members == NULL)
        lw_read_no_memory(r);
    for (uint32_t i = 0; known && r->status == LW_OK && i < n; i++) {
        PyObject *member = lw_dict_item(map, PyList_GET_ITEM(names, i));
        members[i] = member && lw_fold_is_member(member) ? lw_read_constant(r, member) : 0;
        known = is_member_constant(r, members[i]);
        Py_XDECREF(member);
    }
    lw_read_clear();
    if (known && r->status == LW_OK) {
        out->members = members;
        out->n = n;
        out->truth = truth_of(r, out);
    }
    Py_XDECREF(map);
    return r->status == LW_OK;
}

/* What its author has written besides the members. false: stop. */
static bool
read_methods(lw_reader *r, PyObject *class, lw_enum *out)
{
    lw_class *methods = lw_arena_take(&r->tree->arena, sizeof *methods);

    if (methods == NULL)
        return lw_read_no_memory(r);
    *methods = (lw_class){.name = out->name, .id = class};
    if (!lw_read_members(r, class, methods))
        return false;
    out->methods = methods->n_members ? methods : NULL;
    return true;
}

static bool
describe(lw_reader *r, PyObject *class, lw_enum *out)
{
    PyObject *base = base_class("Enum");
    PyObject *names = PyObject_GetAttrString(class, "_member_names_");
    PyObject *copy =
        names && PyList_Check(names) ? PyList_GetSlice(names, 0, PY_SSIZE_T_MAX) : NULL;

    lw_read_clear();
    if (lw_captures_add_enum(r->captures, class) < 0)
        lw_read_failed(r);
    out->id = class;
    out->refuses = base != NULL && inherits(class, base, "_missing_");
    out->name = lw_read_text(r, ((PyTypeObject *)class)->tp_name);
    if (out->name != NULL && copy != NULL && PyList_GET_SIZE(copy) <= MOST_MEMBERS) {
        if (PyType_IsSubtype((PyTypeObject *)class, &PyLong_Type))
            read_numbers(r, class, copy, out);
        else if (is_plain(class))
            read_members(r, class, copy, out);
    }
    Py_XDECREF(copy);
    Py_XDECREF(names);
    Py_XDECREF(base);
    return out->name != NULL && r->status == LW_OK && read_flags(r, class, out) &&
           read_methods(r, class, out);
}

const lw_enum *
lw_read_enum_class(lw_reader *r, PyObject *class)
{
    const lw_enum *known = lw_tree_enum(r->tree, class), **slot;
    lw_enum *made;

    if (known != NULL)
        return known;
    made = lw_arena_take(&r->tree->arena, sizeof *made);
    slot = made ? lw_array_push(&r->tree->enums, &r->tree->arena) : NULL;
    if (slot == NULL) {
        lw_read_no_memory(r);
        return NULL;
    }
    *made = (lw_enum){.id = class, .truth = -1};
    *slot = made; /* before its members are read, which ask for it */
    return describe(r, class, made) ? made : NULL;
}

/* Members that are called otherwise are not; combinations of enum.IntFlag's are. */
static bool
is_numbered(const lw_enum *of, int64_t value)
{
    if (of->all_bits && value >= 0 && value <= of->all_bits)
        return true;
    for (uint32_t i = 0; i < of->n_numbers; i++)
        if (of->numbers[i].value == value)
            return true;
    return false;
}

bool
lw_read_enum(lw_reader *r, PyObject *member, uint32_t constant)
{
    const lw_enum *of;

    assert(r->tree->constants.data[constant].kind == LW_K_OBJECT ||
           r->tree->constants.data[constant].kind == LW_K_INT);
    of = lw_read_enum_class(r, (PyObject *)Py_TYPE(member));
    if (of != NULL && PyLong_Check(member))
        r->tree->constants.data[constant].members =
            is_numbered(of, r->tree->constants.data[constant].i) ? of : NULL;
    else
        r->tree->constants.data[constant].bytes = of;
    return of != NULL;
}

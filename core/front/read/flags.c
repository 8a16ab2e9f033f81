/* Members of Flag classes: all combinations are read with one of them, so that inference finds
 * what `&`, `|`, `^` and `~` of members give that variables and parameters stand for. Each of
 * them is made, named and inverted by Python. */
#include "core/front/read/read_internal.h"

#include <assert.h>

enum { MOST_BITS = 6 };

/* Whether the class has this attribute from enum.Flag. */
static bool
inherits(PyObject *class, PyObject *flag, const char *name)
{
    PyObject *own = PyObject_GetAttrString(class, name);
    PyObject *inherited = PyObject_GetAttrString(flag, name);
    bool same = own != NULL && own == inherited;

    if (own && inherited && PyMethod_Check(own) && PyMethod_Check(inherited))
        same = PyMethod_GET_FUNCTION(own) == PyMethod_GET_FUNCTION(inherited);
    Py_XDECREF(own);
    Py_XDECREF(inherited);
    return same;
}

/* Whether it is derived from enum.Flag, and changes none of its operators. */
static bool
is_flag_class(PyObject *class)
{
    static const char *const names[] = {"__and__",    "__or__",       "__xor__",
                                        "__rand__",   "__ror__",      "__rxor__",
                                        "__invert__", "__contains__", "_missing_"};
    PyObject *module = PyImport_ImportModule("enum");
    PyObject *flag = module ? PyObject_GetAttrString(module, "Flag") : NULL;
    bool result = flag && PyType_Check(class) && PyObject_IsSubclass(class, flag) == 1;

    for (size_t i = 0; result && i < sizeof names / sizeof *names; i++)
        result = inherits(class, flag, names[i]);
    Py_XDECREF(flag);
    Py_XDECREF(module);
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

/* The set of the class, which is empty if it has none; NULL: no memory. */
static lw_flag_set *
set_of(lw_reader *r, PyObject *class)
{
    int64_t mask, value = 0;
    lw_flag_set *set, **slot;

    for (uint32_t i = 0; i < r->flag_sets.n; i++)
        if (r->flag_sets.data[i]->id == class)
            return r->flag_sets.data[i];
    set = lw_arena_take(&r->tree->arena, sizeof *set);
    slot = set ? lw_array_push(&r->flag_sets, NULL) : NULL;
    if (slot == NULL) {
        lw_read_no_memory(r);
        return NULL;
    }
    *slot = set; /* before its members are read, which ask for it */
    set->id = class;
    mask = is_flag_class(class) ? mask_of(class) : 0;
    set->flags = lw_arena_take(&r->tree->arena, (1u << MOST_BITS) * sizeof *set->flags);
    if (set->flags == NULL)
        lw_read_no_memory(r);
    for (bool more = mask != 0 && set->flags; more && r->status == LW_OK;) {
        if (!read_flag(r, class, value, &set->flags[set->n])) {
            set->n = 0;
            break;
        }
        set->n++;
        value = (value - mask) & mask; /* the next one of these bits */
        more = value != 0;
    }
    return set;
}

bool
lw_read_flags(lw_reader *r, PyObject *member, uint32_t constant)
{
    const lw_flag_set *set;

    assert(r->tree->constants.data[constant].kind == LW_K_OBJECT);
    if (PyLong_Check(member))
        return true;
    set = set_of(r, (PyObject *)Py_TYPE(member));
    r->tree->constants.data[constant].bytes = set;
    return set != NULL && r->status == LW_OK;
}

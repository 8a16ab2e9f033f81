/* Families: what the parameters of a function with excluded= or static= are, and its members.
 */
#include "core/py/compiled/renew.h"
#include "core/py/numpy/family_internal.h"

#include "core/base/memory.h"
#include "core/front/read/critical.h"
#include "core/front/read/python.h"
#include "core/py/array/static_value.h"
#include "core/py/numpy/numpy_rules.h"
#include "core/py/numpy/ufunc_choose.h"
#include "core/py/numpy/ufunc_names.h"
#include "core/py/types/signature_read.h"
#include "core/py/raise.h"

#include <string.h>

/* ---- what the parameters are ---- */

int
lw_family_index(const lw_family *family, PyObject *name)
{
    for (uint32_t i = 0; i < family->n_params; i++)
        if (PyUnicode_Compare(PyTuple_GET_ITEM(family->names, i), name) == 0)
            return (int)i;
    return -1;
}

/* The number of the parameter that excluded= or static= names or counts; -1: none. */
static int
number_of(const lw_family *family, PyObject *name)
{
    long at;

    if (PyUnicode_Check(name))
        return lw_family_index(family, name);
    at = PyLong_AsLong(name);
    PyErr_Clear();
    return at >= 0 && at < (long)family->n_params ? (int)at : -1;
}

typedef struct naming {
    const lw_ufunc_head *self;
    lw_role what;
    const char *keyword;
} naming;

static int
name_one(void *context, PyObject *name)
{
    const naming *n = context;
    const char *keyword = n->keyword;
    lw_family *family = n->self->family;
    const lw_fn *fn = &n->self->tree->fns.data[1];
    int i = number_of(family, name);

    if (i < 0 || fn->params.data[i].kind == LW_PARAM_VARARG) {
        PyErr_Format(PyExc_ValueError, "%s= names %.200R, which is not a parameter of `%s`",
                     keyword, name, fn->name);
        return -1;
    }
    if (family->roles[i] == LW_ROLE_EXCLUDED || family->roles[i] == LW_ROLE_STATIC) {
        PyErr_Format(PyExc_ValueError, "%s= names %.200R, which %s", keyword, name,
                     family->roles[i] == n->what ? "it names already" : "excluded= names too");
        return -1;
    }
    if (lw_ufunc_names_keyword(PyTuple_GET_ITEM(family->names, i))) {
        PyErr_Format(PyExc_ValueError,
                     "%s= names %.200R, a keyword of every ufunc call: rename the parameter",
                     keyword, name);
        return -1;
    }
    family->roles[i] = (uint8_t)n->what;
    return 0;
}

static int
name_all(const lw_ufunc_head *self, PyObject *names, lw_role what, const char *keyword)
{
    naming n = {self, what, keyword};

    return lw_door_each_name(names, name_one, &n);
}

static int
read_params(lw_ufunc_head *self)
{
    const lw_fn *fn = &self->tree->fns.data[1];
    lw_family *family = self->family;

    if (fn->params.n > LW_MOST_PARAMS) {
        PyErr_Format(PyExc_ValueError, "%s: `%s` has %u parameters; expected at most %d",
                     family->door->name, fn->name, (unsigned)fn->params.n, LW_MOST_PARAMS);
        return -1;
    }
    family->names = PyTuple_New(fn->params.n);
    family->members = PyDict_New();
    if (family->names == NULL || family->members == NULL)
        return -1;
    family->n_params = fn->params.n;
    for (uint32_t i = 0; i < fn->params.n; i++) {
        const lw_fn_param *param = &fn->params.data[i];
        PyObject *name = PyUnicode_InternFromString(param->name);
        if (name == NULL)
            return -1;
        PyTuple_SET_ITEM(family->names, i, name);
        family->roles[i] = param->default_constant ? LW_ROLE_DEFAULT : LW_ROLE_OPERAND;
        if (param->kind == LW_PARAM_VARARG) {
            PyErr_Format(PyExc_TypeError,
                         "%s: `%s` takes *%s, which excluded= and static= cannot go "
                         "with: name its parameters",
                         family->door->name, fn->name, param->name);
            return -1;
        }
    }
    return 0;
}

/* With a layout the last operands are outputs where there are parameters for them. */
static int
name_outputs(lw_ufunc_head *self, int n_operands)
{
    lw_family *family = self->family;
    int nin, nout, left;

    family->door->operands(self, &nin, &nout);
    if (n_operands != nin && n_operands != nin + nout) {
        PyErr_Format(PyExc_TypeError,
                     "%s: `%s` has %d parameter%s in neither excluded= nor static= and without "
                     "a default, but its layout needs %d (the inputs and the outputs), or %d "
                     "(the inputs) if it returns the outputs%s",
                     family->door->name, lw_family_name(self), n_operands,
                     n_operands == 1 ? "" : "s", nin + nout, nin,
                     lw_compiled_is_method((const lw_compiled *)self)
                         ? "; the layout of a method may leave out `self`"
                         : "");
        return -1;
    }
    left = n_operands - nin;
    for (uint32_t i = family->n_params; left > 0 && i-- > 0;)
        if (family->roles[i] == LW_ROLE_OPERAND) {
            family->roles[i] = LW_ROLE_OUTPUT;
            left--;
        }
    return 0;
}

static int
count_operands(lw_ufunc_head *self, int n_operands)
{
    if (self->family->door->operands != NULL)
        return name_outputs(self, n_operands);
    self->nin = n_operands;
    if (n_operands > 0)
        return 0;
    PyErr_Format(PyExc_ValueError,
                 "%s: `%s` has 0 operands that broadcast; expected at least one parameter in "
                 "neither excluded= nor static=",
                 self->family->door->name, lw_family_name(self));
    return -1;
}

static void
note_positional(lw_ufunc_head *self)
{
    const lw_fn *fn = &self->tree->fns.data[1];
    lw_family *family = self->family;

    for (uint32_t i = 0; i < family->n_params; i++)
        if (fn->params.data[i].kind == LW_PARAM_POSITIONAL &&
            family->roles[i] != LW_ROLE_OUTPUT)
            family->positional[family->n_positional++] = (uint8_t)i;
}

static int
check_params(lw_ufunc_head *self)
{
    const lw_fn *fn = &self->tree->fns.data[1];
    lw_family *family = self->family;
    int n_operands = 0, n_excluded = 0;

    for (uint32_t i = 0; i < family->n_params; i++) {
        n_operands += family->roles[i] == LW_ROLE_OPERAND;
        n_excluded += family->roles[i] == LW_ROLE_EXCLUDED;
        if (family->roles[i] == LW_ROLE_OPERAND &&
            fn->params.data[i].kind == LW_PARAM_KEYWORD_ONLY) {
            PyErr_Format(PyExc_TypeError,
                         "%s: keyword-only parameter `%s` of `%s` needs a default: "
                         "operands are positional",
                         family->door->name, fn->params.data[i].name, fn->name);
            return -1;
        }
    }
    if (n_excluded > LW_MOST_EXCLUDED) {
        PyErr_Format(PyExc_ValueError,
                     "%s: `%s` has %d excluded parameters; expected at most %d",
                     family->door->name, fn->name, n_excluded, LW_MOST_EXCLUDED);
        return -1;
    }
    return count_operands(self, n_operands);
}

/* ---- signatures ---- */

static uint32_t
count_roles(const lw_family *family, uint32_t roles)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < family->n_params; i++)
        n += roles >> family->roles[i] & 1;
    return n;
}

enum {
    GIVEN = 1u << LW_ROLE_OPERAND | 1u << LW_ROLE_EXCLUDED,
    GIVEN_OR_FILLED = GIVEN | 1u << LW_ROLE_OUTPUT
};

/* Which parameters a signature types: static ones are not in it, outputs are where it counts
 * them. 0: it counts something else. */
static uint32_t
roles_in(const lw_family *family, const lw_signature *signature)
{
    if (signature->n_args == count_roles(family, GIVEN_OR_FILLED))
        return GIVEN_OR_FILLED;
    return signature->n_args == count_roles(family, GIVEN) ? GIVEN : 0;
}

/* The parameter that argument `at` of a signature types; -1: none. */
static int
param_of(const lw_family *family, uint32_t roles, uint32_t at)
{
    for (uint32_t i = 0; i < family->n_params; i++)
        if ((roles >> family->roles[i] & 1) && at-- == 0)
            return (int)i;
    return -1;
}

static int
refuse_type(const lw_ufunc_head *self, const lw_signature *signature, int at, bool whole)
{
    const lw_fn *fn = &self->tree->fns.data[1];

    PyErr_Format(PyExc_TypeError, "signature `%.100s`: parameter `%s` of `%s` is %s",
                 signature->text, at >= 0 ? fn->params.data[at].name : "?", fn->name,
                 whole ? "excluded: its type must be an array, as float64[:]"
                       : "an operand: its type must be a scalar");
    return -1;
}

static int
check_signature(const lw_ufunc_head *self, const lw_signature *signature)
{
    const lw_family *family = self->family;
    uint32_t roles = roles_in(family, signature), n = count_roles(family, GIVEN_OR_FILLED);
    lw_error err = {0};

    if (roles == 0) {
        lw_fail(&err, LW_ERR_SIGNATURE,
                "E182: signature `%.100s` has %u argument%s, but `%s` takes %u that are not "
                "static",
                signature->text, (unsigned)signature->n_args, signature->n_args == 1 ? "" : "s",
                lw_family_name(self), (unsigned)n);
        lw_py_raise(&err);
        return -1;
    }
    for (uint32_t i = 0; i < signature->n_args; i++) {
        int at = param_of(family, roles, i);
        bool whole = at >= 0 && family->roles[at] == LW_ROLE_EXCLUDED;
        bool array = signature->args[i].kind == LW_SIG_ARRAY;
        bool scalar = signature->args[i].kind == LW_SIG_SCALAR;
        if (whole ? !array : !scalar && !(array && family->door->operands != NULL))
            return refuse_type(self, signature, at, whole);
    }
    return 0;
}

/* Frozen parameters stay what their defaults say, unless the first signature counts them. */
static void
count_defaults(lw_family *family, uint32_t n_args)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < family->n_params; i++)
        n += family->roles[i] == LW_ROLE_OPERAND || family->roles[i] == LW_ROLE_EXCLUDED;
    for (uint32_t i = 0; i < family->n_params && n < n_args; i++)
        if (family->roles[i] == LW_ROLE_DEFAULT) {
            family->roles[i] = LW_ROLE_OPERAND;
            n++;
        }
}

static int
read_signatures(lw_ufunc_head *self, PyObject *given)
{
    lw_signature_list list = {0};
    lw_arena arena;
    int failed;

    lw_arena_init(&arena);
    failed = lw_signatures_read(given, false, &arena, &list);
    if (!failed && list.n > 0) {
        self->family->signatures = Py_NewRef(given);
        if (self->family->door->operands == NULL) {
            count_defaults(self->family, list.data[0].n_args);
            self->nout = (int)lw_signature_n_out(&list.data[0]);
        }
    }
    for (uint32_t i = 0; i < list.n && !failed; i++)
        failed = check_signature(self, &list.data[i]);
    lw_arena_reset(&arena);
    return failed;
}

int
lw_family_build(lw_ufunc_head *self, const lw_family_door *door,
                const lw_door_arguments *arguments)
{
    self->family = lw_alloc_zero(1, sizeof *self->family);
    if (self->family == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    self->family->door = door;
    self->lazy = true;
    self->settled = true;
    if (read_params(self) < 0 ||
        name_all(self, arguments->excluded, LW_ROLE_EXCLUDED, "excluded") < 0 ||
        name_all(self, arguments->constants, LW_ROLE_STATIC, "static") < 0)
        return -1;
    if (door->operands != NULL) { /* signatures count the outputs */
        if (check_params(self) < 0 || read_signatures(self, arguments->signatures) < 0)
            return -1;
    } else if (read_signatures(self, arguments->signatures) < 0 || check_params(self) < 0) {
        return -1;
    }
    note_positional(self);
    return 0;
}

void
lw_family_free(lw_family *family)
{
    if (family == NULL)
        return;
    Py_CLEAR(family->names);
    Py_CLEAR(family->members);
    Py_CLEAR(family->latest);
    Py_CLEAR(family->face);
    Py_CLEAR(family->signatures);
    lw_free(family);
}

static bool
members_changed(const lw_family *family)
{
    PyObject *members = PyDict_Values(family->members); /* the look at one may add others */
    bool changed = false;

    if (members == NULL) {
        PyErr_Clear();
        return false; /* out of memory: the next call looks again */
    }
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(members) && !changed; i++) {
        lw_captures *captures = ((lw_compiled *)PyList_GET_ITEM(members, i))->captures;
        changed = captures != NULL && lw_captures_changed(captures);
    }
    Py_DECREF(members);
    return changed;
}

bool
lw_family_changed(const lw_compiled *self)
{
    const lw_family *family = ((const lw_ufunc_head *)self)->family;
    bool changed = false;

    if (family == NULL || family->members == NULL || self->renewal.operands == NULL)
        return false;
    Py_BEGIN_CRITICAL_SECTION(family->members);
    changed = members_changed(family);
    Py_END_CRITICAL_SECTION();
    return changed;
}

int
lw_family_traverse(const lw_family *family, visitproc visit, void *arg)
{
    Py_VISIT(family->names);
    Py_VISIT(family->members);
    Py_VISIT(family->latest);
    Py_VISIT(family->face);
    Py_VISIT(family->signatures);
    return 0;
}

PyObject *
lw_family_refuse(const lw_ufunc_head *self, const char *method)
{
    PyErr_Format(PyExc_TypeError,
                 "`%s` has excluded= or static= parameters, and no %s: %s a function of only "
                 "the operands for that (tables and constants may be globals or closure "
                 "variables)",
                 lw_family_name(self), method, self->family->door->name);
    return NULL;
}

/* ---- members ---- */

void
lw_member_note(lw_member *member, const lw_scalar *scalar)
{
    uint32_t which = 0;

    for (uint32_t i = 0; i < member->n_params; i++) {
        if (member->specs[i].kind != LW_ARGK_ARRAY)
            continue;
        if (scalar->args[i].n_arrays && scalar->args[i].written[0])
            member->written |= 1u << which;
        which++;
    }
}

static void
add_part(lw_member *member, int input, bool is_address, int *n)
{
    member->is_address[input] = is_address;
    member->order[(*n)++] = (uint8_t)input;
}

/* Operands first, then the parts of the arrays; `order` finds them by parameter. */
static int
describe(const lw_family_args *c, lw_member *member)
{
    const lw_fn *fn = &c->self->tree->fns.data[1];
    int operand = 0, n = 0, hidden = lw_family_operands(c);
    const lw_whole_array *array = c->arrays;

    member->n_params = c->family->n_params;
    member->n_operands = hidden;
    member->narrow = true;
    for (uint32_t i = 0; i < c->family->n_params; i++) {
        if (c->family->roles[i] == LW_ROLE_OUTPUT) {
            member->specs[i].kind = LW_ARGK_SCALAR;
        } else if (lw_family_broadcasts(c, i)) {
            member->specs[i].kind = LW_ARGK_SCALAR;
            member->order[n++] = (uint8_t)operand++;
        } else if (c->family->roles[i] == LW_ROLE_EXCLUDED && c->values[i] != NULL) {
            if (hidden + (int)array->n_words >= c->family->door->most_inputs) {
                PyErr_Format(PyExc_ValueError,
                             "`%s`: the excluded arrays have too many dimensions together: an "
                             "array takes 1 + 2 ndim of a ufunc's %d operands",
                             fn->name, c->family->door->most_inputs);
                return -1;
            }
            member->specs[i] = array->spec;
            member->narrow &= array->narrow;
            for (uint32_t k = 0; k < array->n_words; k++)
                add_part(member, hidden++, k == 0, &n);
            array++;
        } else { /* its value stands in the member's own tree */
            member->specs[i].kind = LW_ARGK_CONSTANT;
        }
    }
    member->n_hidden = hidden - member->n_operands;
    return 0;
}

/* ---- which member ---- */

static PyObject *
key_of(const lw_family_args *c)
{
    uint8_t types[LW_MOST_EXCLUDED * 17];
    uint32_t n_types = 0, array = 0;
    PyObject *key = PyTuple_New(c->family->n_params + 1);

    for (uint32_t i = 0; key != NULL && i < c->family->n_params; i++) {
        PyObject *item = Py_NewRef(Py_None);
        if (c->family->roles[i] == LW_ROLE_EXCLUDED) {
            types[n_types++] = c->values[i] != NULL;
            if (c->values[i] != NULL)
                n_types += lw_whole_array_key(&c->arrays[array++], types + n_types);
        } else if (c->family->roles[i] == LW_ROLE_DEFAULT && c->values[i] != NULL) {
            Py_SETREF(item, Py_NewRef(Py_True));
        } else if (c->family->roles[i] == LW_ROLE_STATIC && c->values[i] != NULL) {
            Py_SETREF(item, lw_static_key(
                                c->values[i], lw_family_name(c->self), lw_family_param(c, i),
                                "; outputs follow all other arguments or are passed as out=, "
                                "and an array that is only read is named in excluded="));
        }
        if (item == NULL)
            Py_CLEAR(key);
        else
            PyTuple_SET_ITEM(key, i, item);
    }
    if (key != NULL) {
        PyObject *bytes = PyBytes_FromStringAndSize((char *)types, (Py_ssize_t)n_types);
        if (bytes == NULL)
            Py_CLEAR(key);
        else
            PyTuple_SET_ITEM(key, c->family->n_params, bytes);
    }
    return key;
}

/* The static values, by name. */
static PyObject *
values_of(const lw_family_args *c)
{
    PyObject *values = PyDict_New();

    for (uint32_t i = 0; values != NULL && i < c->family->n_params; i++)
        if (c->family->roles[i] == LW_ROLE_STATIC && c->values[i] != NULL &&
            PyDict_SetItem(values, PyTuple_GET_ITEM(c->family->names, i), c->values[i]) < 0)
            Py_CLEAR(values);
    return values;
}

static bool
array_fits(const lw_sig_type *declared, const lw_arg_spec *given)
{
    return declared->dtype == given->dtype && declared->record == given->record &&
           declared->ndim == given->ndim &&
           (declared->layout == 'A' ||
            given->layout == (declared->layout == 'C' ? LW_LAYOUT_C : LW_LAYOUT_F));
}

static void
add_types(const lw_family_args *c, const lw_signature *signature, uint32_t roles, lw_role role,
          lw_sig_type *args, uint32_t *n)
{
    for (uint32_t i = 0; i < signature->n_args; i++) {
        int at = param_of(c->family, roles, i);
        if (at >= 0 && c->family->roles[at] == role)
            args[(*n)++] = signature->args[i];
    }
}

/* A parameter that gets another array than the signature says; -1: none. */
static int
misfit_of(const lw_family_args *c, const lw_signature *signature, uint32_t roles)
{
    int array = 0;

    for (uint32_t i = 0; i < signature->n_args; i++) {
        int at = param_of(c->family, roles, i);
        if (at < 0 || c->family->roles[at] != LW_ROLE_EXCLUDED || c->values[at] == NULL)
            continue;
        if (!array_fits(&signature->args[i], &c->arrays[array++].spec))
            return at;
    }
    return -1;
}

/* The signature of the operands alone, or NULL: it wants other arrays (*misfit: which). */
static PyObject *
operands_of(const lw_family_args *c, const lw_signature *signature, lw_arena *arena,
            int *misfit)
{
    uint32_t roles = roles_in(c->family, signature);
    lw_sig_type *args = lw_arena_take(arena, (signature->n_args + 1) * sizeof *args);
    int other = misfit_of(c, signature, roles);
    lw_signature own = *signature;
    lw_text text = {0};
    PyObject *result;

    if (args == NULL)
        return PyErr_NoMemory();
    if (other >= 0) {
        *misfit = other;
        return NULL;
    }
    own.args = args;
    own.n_args = 0;
    add_types(c, signature, roles, LW_ROLE_OPERAND, args, &own.n_args);
    add_types(c, signature, roles, LW_ROLE_OUTPUT, args, &own.n_args);
    lw_signature_print(&own, &text);
    result = PyUnicode_FromString(lw_text_get(&text));
    lw_text_reset(&text);
    return result;
}

static void
no_signature(const lw_family_args *c, int misfit)
{
    int array = 0;

    while (array < c->n_arrays - 1 && c->params[array] != misfit)
        array++;
    PyErr_Format(PyExc_TypeError,
                 "E181: no signature of `%s` takes argument `%s`, an array of %s with %d "
                 "dimension%s: %.200R",
                 lw_family_name(c->self), lw_family_param(c, (uint32_t)misfit),
                 c->arrays[array].spec.record
                     ? "records"
                     : lw_dtypes[c->arrays[array].spec.dtype].public_name,
                 (int)c->arrays[array].spec.ndim, c->arrays[array].spec.ndim == 1 ? "" : "s",
                 c->family->signatures);
}

/* New reference: a list of str, or None: any dtypes. */
static PyObject *
signatures_for(const lw_family_args *c)
{
    lw_signature_list list = {0};
    PyObject *result = PyList_New(0);
    int misfit = 0;
    lw_arena arena;

    if (c->family->signatures == NULL) {
        Py_XDECREF(result);
        return Py_NewRef(Py_None);
    }
    lw_arena_init(&arena);
    if (result == NULL || lw_signatures_read(c->family->signatures, false, &arena, &list) < 0)
        goto fail;
    for (uint32_t i = 0; i < list.n; i++) {
        PyObject *one = operands_of(c, &list.data[i], &arena, &misfit);
        if ((one == NULL && PyErr_Occurred()) ||
            (one != NULL && PyList_Append(result, one) < 0)) {
            Py_XDECREF(one);
            goto fail;
        }
        Py_XDECREF(one);
    }
    if (PyList_GET_SIZE(result) == 0) {
        no_signature(c, misfit);
        goto fail;
    }
    lw_arena_reset(&arena);
    return result;
fail:
    lw_arena_reset(&arena);
    Py_XDECREF(result);
    return NULL;
}

/* The decorator's keywords, without those that made it a family. */
static PyObject *
options_for(const lw_family_args *c)
{
    PyObject *options = PyDict_Copy(c->self->keywords);
    static const char *const gone[] = {"excluded", "static"};

    for (size_t i = 0; options != NULL && i < 2; i++)
        if (PyDict_GetItemString(options, gone[i]) != NULL &&
            PyDict_DelItemString(options, gone[i]) < 0)
            Py_CLEAR(options);
    return options;
}

static PyObject *
new_member(const lw_family_args *c)
{
    PyObject *values = values_of(c), *signatures = NULL, *options = NULL, *function = NULL;
    PyObject *result = NULL;
    lw_operand_scope scope;
    lw_member *member = lw_alloc_zero(1, sizeof *member);

    if (member == NULL)
        PyErr_NoMemory();
    if (member == NULL || values == NULL || describe(c, member) < 0 ||
        (signatures = signatures_for(c)) == NULL || (options = options_for(c)) == NULL)
        goto done;
    function = PyDict_GET_SIZE(values) ? lw_function_with_values(c->self->py_func, values)
                                       : Py_NewRef(c->self->py_func);
    if (function != NULL) {
        scope = lw_compiled_enter_operands((lw_compiled *)c->self);
        result = c->family->door->new_member(c->self, function, signatures, options, member);
        lw_compiled_leave_operands(&scope);
        member = NULL; /* the ufunc's now */
    }
done:
    lw_free(member);
    Py_XDECREF(values);
    Py_XDECREF(signatures);
    Py_XDECREF(options);
    Py_XDECREF(function);
    return result;
}

/* Each tuple of values costs a compile: a caller that brings ever new ones should know. */
static int
warn_of_many(const lw_family_args *c)
{
    enum { MANY = 64 };
    lw_text text = {0};
    int result;

    if (PyDict_GET_SIZE(c->family->members) != MANY)
        return 0;
    lw_text_addf(&text,
                 "`%s` has been compiled for %d tuples of static values and types of excluded "
                 "arrays: a value that keeps changing belongs among the operands",
                 lw_family_name(c->self), MANY);
    result = lw_door_warn(&c->self->options, "PerformanceWarning", lw_text_get(&text));
    lw_text_reset(&text);
    return result;
}

/* The one for the key: a new reference. */
static PyObject *
find_or_make(const lw_family_args *c, PyObject *key)
{
    PyObject *members = c->family->members, *member = lw_dict_item(members, key), *other;

    if (member != NULL || PyErr_Occurred() || warn_of_many(c) < 0)
        return member;
    member = new_member(c);
    other = member ? lw_dict_item(members, key) : NULL;
    if (other != NULL) /* made while this one was */
        Py_SETREF(member, other);
    else if (member != NULL && PyDict_SetItem(members, key, member) < 0)
        Py_CLEAR(member);
    return member;
}

lw_ufunc_head *
lw_family_find(const lw_family_args *c)
{
    PyObject *key = key_of(c), *member;

    if (key == NULL)
        return NULL;
    Py_BEGIN_CRITICAL_SECTION((PyObject *)c->self);
    member = find_or_make(c, key);
    if (member != NULL && member != c->family->latest)
        Py_XSETREF(c->family->latest, Py_NewRef(member));
    if (member != NULL && c->self->nout != ((lw_ufunc_head *)member)->nout)
        c->self->nout = ((lw_ufunc_head *)member)->nout;
    Py_END_CRITICAL_SECTION();
    Py_DECREF(key);
    return (lw_ufunc_head *)member;
}

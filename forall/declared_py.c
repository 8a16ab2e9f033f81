/* Declared signatures: which of them takes a call's types, and the conversion of numbers to its
 * types. */
#include "core/py/numpy_api.h"

#include "forall/kernel_py.h"
#include "forall/specialisation_py_internal.h"

#include "core/py/array/convert.h"
#include "core/py/raise.h"

#include <string.h>

/* ---- how near a signature is ---- */

static bool
same_names(const lw_arg_spec *declared, const lw_arg_spec *given)
{
    if (given->class_name == NULL || strcmp(declared->class_name, given->class_name) != 0)
        return false;
    for (uint32_t i = 0; i < declared->n; i++)
        if (strcmp(declared->names[i], given->names[i]) != 0)
            return false;
    return true;
}

/* A namedtuple is also a tuple. Items keep their positions, because none changes its number of
 * parts. */
static int
items_fit(const lw_arg_spec *declared, const lw_arg_spec *given)
{
    int cost = declared->class_name == NULL && given->class_name != NULL;
    const lw_class *class = given->user_class ? given->user_class : declared->user_class;

    if (given->user_class != declared->user_class && (!class->is_tuple || class->has_special))
        return -1;
    if (declared->n != given->n || (declared->class_name && !same_names(declared, given)))
        return -1;
    for (uint32_t i = 0; i < declared->n; i++) {
        int one = lw_spec_fits(&declared->items[i], &given->items[i]);
        if (one < 0 ||
            lw_is_complex(declared->items[i].dtype) != lw_is_complex(given->items[i].dtype))
            return -1;
        cost += one;
    }
    return cost;
}

int
lw_spec_fits(const lw_arg_spec *declared, const lw_arg_spec *given)
{
    enum { LAST_CHOICE = 100 };

    if (declared->pointer != given->pointer)
        return declared->pointer &&
                       (given->kind == LW_ARGK_WEAK || given->kind == LW_ARGK_SCALAR) &&
                       lw_is_integer(given->dtype)
                   ? 0
                   : -1;
    /* A Python int beyond int64 prefers a float to an integer type that does not hold it. */
    if (declared->kind == LW_ARGK_SCALAR && given->kind == LW_ARGK_WEAK &&
        given->dtype == LW_DT_u64 && lw_is_integer(declared->dtype))
        return declared->dtype == LW_DT_u64 ? 0 : LAST_CHOICE;
    if (declared->kind == LW_ARGK_SCALAR &&
        (given->kind == LW_ARGK_WEAK || given->kind == LW_ARGK_SCALAR))
        return lw_cast_cost(given->dtype, given->kind == LW_ARGK_WEAK, declared->dtype);
    if (declared->kind != given->kind)
        return -1;
    switch (declared->kind) {
    case LW_ARGK_SCALAR: break; /* handled above */
    case LW_ARGK_WEAK: return declared->dtype == given->dtype ? 0 : -1;
    case LW_ARGK_ARRAY:
        if (declared->dtype != given->dtype || declared->ndim != given->ndim ||
            declared->record != given->record || (given->readonly && !declared->readonly) ||
            (declared->layout != LW_LAYOUT_ANY && declared->layout != given->layout))
            return -1;
        return (declared->layout != given->layout) + (declared->readonly != given->readonly);
    case LW_ARGK_RECORD:
        return declared->record == given->record && !(given->readonly && !declared->readonly)
                   ? declared->readonly != given->readonly
                   : -1;
    case LW_ARGK_TUPLE:
        return declared->is_list == given->is_list ? items_fit(declared, given) : -1;
    case LW_ARGK_CONSTANT: return declared->constant == given->constant ? 0 : -1;
    case LW_ARGK_MEMBER: break; /* signatures have no such type */
    }
    return -1;
}

/* What it costs to pass argument i of the call; -1: it does not fit. No signature has a value
 * that is known when the function is compiled, such as a string. */
static int
cost_of(const lw_specialisation *declared, const lw_specialisation *given, uint32_t i)
{
    if (given->statics >> (i - given->function->n_index) & 1)
        return -1;
    return lw_spec_fits(&declared->specs[i], &given->specs[i]);
}

static lw_specialisation *
best_declared(const lw_function *self, const lw_specialisation *given)
{
    lw_specialisation *best = NULL;
    int least = 0;

    for (lw_specialisation *at = lw_grown_first(&self->specialisations); at != NULL;
         at = lw_grown_next(at)) {
        int cost = 0;
        for (uint32_t i = self->n_index; at->declared && i < self->n_params && cost >= 0; i++) {
            int one = cost_of(at, given, i);
            cost = one < 0 ? -1 : cost + one;
        }
        if (at->declared && cost >= 0 && at->origin == NULL &&
            /* newest first: of equally near ones the first declared is taken */
            (best == NULL || cost <= least))
            best = at, least = cost;
    }
    return best;
}

/* ---- numbers that change type ---- */

static uint32_t
count_values(const lw_arg_spec *spec)
{
    uint32_t n = 0;

    switch (spec->kind) {
    case LW_ARGK_SCALAR:
    case LW_ARGK_WEAK: return lw_is_complex(spec->dtype) ? 2 : 1;
    case LW_ARGK_ARRAY: return spec->pointer ? 1 : 1 + 2u * spec->ndim;
    case LW_ARGK_RECORD:
    case LW_ARGK_MEMBER: return 1;
    case LW_ARGK_TUPLE:
        for (uint32_t i = 0; i < spec->n; i++)
            n += count_values(&spec->items[i]);
        return n;
    case LW_ARGK_CONSTANT: break;
    }
    return n;
}

/* Whether this is a Python int, which `to` must be able to hold. */
static bool
is_bounded(const lw_arg_spec *from, lw_dtype to)
{
    return from->kind == LW_ARGK_WEAK && lw_is_integer(from->dtype) && lw_is_integer(to);
}

static void
set_bounds(lw_specialisation_cast *cast, lw_dtype to)
{
    uint32_t unused = 64 - lw_dtypes[to].bits;

    cast->bounds = to;
    if (lw_is_signed(to)) {
        cast->least = INT64_MIN >> unused;
        cast->most = INT64_MAX >> unused;
    } else {
        cast->most = unused ? (int64_t)(UINT64_MAX >> unused) : INT64_MAX;
    }
}

static lw_specialisation_cast
cast_of(const lw_arg_spec *from, const lw_arg_spec *to, uint32_t value, uint32_t param)
{
    lw_specialisation_cast cast = {
        .value = value, .param = param, .from = from->dtype, .to = to->dtype};

    if (is_bounded(from, to->dtype))
        set_bounds(&cast, to->dtype);
    return cast;
}

/* Notes the numbers that change type, including those in tuples; value: the position of the
 * first of them. */
static void
note_cast(lw_specialisation *specialisation, const lw_arg_spec *from, const lw_arg_spec *to,
          uint32_t value, uint32_t param)
{
    lw_specialisation_cast *casts = (lw_specialisation_cast *)specialisation->casts;

    if (to->pointer)
        casts[specialisation->n_casts++] = (lw_specialisation_cast){.value = value,
                                                                    .param = param,
                                                                    .from = from->dtype,
                                                                    .to = to->dtype,
                                                                    .pointer = true};
    else if (from->dtype != to->dtype && from->kind <= LW_ARGK_WEAK)
        casts[specialisation->n_casts++] = cast_of(from, to, value, param);
    for (uint32_t i = 0; to->kind == LW_ARGK_TUPLE && i < to->n; i++) {
        note_cast(specialisation, &from->items[i], &to->items[i], value, param);
        value += count_values(&to->items[i]);
    }
}

static int
note_casts(lw_specialisation *specialisation, const lw_specialisation *target)
{
    uint32_t n = specialisation->n_specs, value = 0, most = 1;
    lw_specialisation_cast *casts;

    for (uint32_t i = specialisation->function->n_index; i < n; i++)
        most += count_values(&target->specs[i]);
    casts = lw_arena_take(&specialisation->arena, most * sizeof *casts);

    if (casts == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    specialisation->casts = casts;
    for (uint32_t i = specialisation->function->n_index; i < n; i++) {
        note_cast(specialisation, &specialisation->specs[i], &target->specs[i], value, i);
        value += count_values(&target->specs[i]);
    }
    return 0;
}

/* Names the argument because of which the nearest signature, the one that fits up to the latest
 * argument, is not taken. */
static void
add_misfit(const lw_function *self, const lw_specialisation *given, lw_text *out)
{
    const lw_specialisation *nearest = NULL;
    uint32_t furthest = 0;

    for (const lw_specialisation *at = lw_grown_first(&self->specialisations); at != NULL;
         at = lw_grown_next(at)) {
        uint32_t i = self->n_index;
        while (i < self->n_params && cost_of(at, given, i) >= 0)
            i++;
        if (at->declared && at->origin == NULL && i < self->n_params && i >= furthest)
            /* newest first: of equally near ones the first declared is taken */
            nearest = at, furthest = i;
    }
    if (nearest == NULL)
        return;
    lw_text_addf(out, "\n  argument `%s` is ",
                 self->tree->fns.data[1].params.data[furthest].name);
    lw_spec_print(&given->specs[furthest], out);
    lw_text_add(out, "; the signature has ");
    lw_spec_print(&nearest->specs[furthest], out);
}

static int
no_match(lw_function *self, const lw_specialisation *given)
{
    lw_text misfit = {0};
    PyObject *text = lw_specialisation_text(given), *all = PyList_New(0), *joined = NULL,
             *comma;
    lw_error err = {0};

    for (lw_specialisation *at = lw_grown_first(&self->specialisations);
         all != NULL && at != NULL; at = lw_grown_next(at)) {
        PyObject *one = at->declared ? lw_specialisation_text(at) : NULL;
        if (one != NULL)
            PyList_Insert(all, 0, one);
        Py_XDECREF(one);
    }
    comma = PyUnicode_FromString("), (");
    if (all != NULL && comma != NULL)
        joined = PyUnicode_Join(comma, all);
    add_misfit(self, given, &misfit);
    if (text != NULL && joined != NULL) {
        lw_fail(&err, LW_ERR_TYPE,
                "E181: No matching definition of `%s` for (%s); it was made with (%s)%s\n"
                "  = help: convert "
                "the argument, or add its type to the signatures; a kernel made without any is "
                "compiled for each new type",
                lw_function_name(self), PyUnicode_AsUTF8(text), PyUnicode_AsUTF8(joined),
                lw_text_get(&misfit));
        lw_py_raise(&err);
    }
    lw_text_reset(&misfit);
    Py_XDECREF(joined);
    Py_XDECREF(comma);
    Py_XDECREF(all);
    Py_XDECREF(text);
    return -1;
}

int
lw_specialisation_choose(lw_specialisation *specialisation)
{
    lw_function *self = specialisation->function;

    specialisation->target = best_declared(self, specialisation);
    if (specialisation->target == NULL)
        return no_match(self, specialisation);
    specialisation->target = lw_specialisation_twin(
        specialisation->target, specialisation->narrow && !specialisation->target->has_pointer,
        specialisation->negative);
    return specialisation->target ? note_casts(specialisation, specialisation->target) : -1;
}

/* The type to which an annotation binds parameter i; void: there is none. */
lw_dtype
lw_annotated_dtype(const lw_tree *tree, uint32_t i)
{
    uint32_t number = tree->fns.data[1].params.data[i].annotation;
    const lw_constant *constant = number ? &tree->constants.data[number] : NULL;

    return constant && constant->kind == LW_K_DTYPE ? constant->dtype : LW_DT_void;
}

int
lw_specialisation_note_bounds(lw_specialisation *specialisation)
{
    const lw_function *self = specialisation->function;
    lw_specialisation_cast *casts =
        lw_arena_take(&specialisation->arena, (specialisation->n_specs + 1) * sizeof *casts);
    uint32_t value = 0;

    if (casts == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    specialisation->casts = casts;
    for (uint32_t i = self->n_index; i < specialisation->n_specs; i++) {
        const lw_arg_spec *spec = &specialisation->specs[i];
        lw_dtype to = i < self->n_params ? lw_annotated_dtype(self->tree, i) : LW_DT_void;
        if (to != LW_DT_void && is_bounded(spec, to)) {
            lw_specialisation_cast *cast = &casts[specialisation->n_casts++];
            *cast = (lw_specialisation_cast){
                .value = value, .param = i, .from = spec->dtype, .to = spec->dtype};
            set_bounds(cast, to);
        }
        value += count_values(spec);
    }
    return 0;
}

static int
out_of_bounds(const lw_specialisation *specialisation, const lw_specialisation_cast *cast,
              int64_t value)
{
    lw_function *self = specialisation->function;
    PyObject *number = cast->from == LW_DT_u64 ? PyLong_FromUnsignedLongLong((uint64_t)value)
                                               : PyLong_FromLongLong(value);

    if (number != NULL)
        PyErr_Format(
            PyExc_OverflowError, "%s: argument `%s`: %R does not fit %s, its type in the %s",
            lw_function_name(self), self->tree->fns.data[1].params.data[cast->param].name,
            number, lw_dtypes[cast->bounds].public_name,
            self->lazy ? "annotation" : "signature");
    Py_XDECREF(number);
    return -1;
}

/* What is bound as a uint64 is larger than the numbers of every other integer type. */
static bool
is_out_of_bounds(const lw_specialisation_cast *cast, int64_t value)
{
    return cast->bounds != LW_DT_void &&
           (cast->from == LW_DT_u64 || value < cast->least || value > cast->most);
}

/* An address as 64 bits. */
static int
cast_pointer(const lw_specialisation *specialisation, const lw_specialisation_cast *cast,
             uint64_t *value)
{
    lw_function *self = specialisation->function;
    const lw_arg_record *record = specialisation->target->specs[cast->param].record;
    uint32_t align = record ? record->align : lw_dtypes[lw_dtypes[cast->to].parts].size_bytes;
    lw_value from = {0}, to = {0};

    memcpy(from.bytes, value, lw_dtypes[cast->from].size_bytes);
    lw_value_cast(&from, cast->from, &to, LW_DT_i64);
    if (cast->from != LW_DT_u64 && to.i64 < 0) {
        PyErr_Format(PyExc_OverflowError, "%s: argument `%s`: %lld is not an address",
                     lw_function_name(self),
                     self->tree->fns.data[1].params.data[cast->param].name, (long long)to.i64);
        return -1;
    }
    *value = cast->from == LW_DT_u64 ? *value : (uint64_t)to.i64;
    if (*value % align == 0)
        return 0;
    PyErr_Format(PyExc_ValueError,
                 "%s: argument `%s`: the address %llu is not a multiple of %u, the %s of %s",
                 lw_function_name(self), self->tree->fns.data[1].params.data[cast->param].name,
                 (unsigned long long)*value, (unsigned)align, record ? "alignment" : "size",
                 record ? record->name : lw_dtypes[cast->to].public_name);
    return -1;
}

/* The casts are in order: earlier ones may have moved a value, by making room for imaginary
 * parts. */
int
lw_specialisation_cast_values(const lw_specialisation *specialisation, lw_bound *bound)
{
    for (uint32_t i = 0; i < specialisation->n_casts; i++) {
        const lw_specialisation_cast *cast = &specialisation->casts[i];
        uint32_t size = lw_dtypes[lw_dtypes[cast->from].parts].size_bytes;
        uint32_t to_size = lw_dtypes[lw_dtypes[cast->to].parts].size_bytes;
        lw_value from = {0}, to = {0};
        bool two = lw_is_complex(cast->from), two_after = lw_is_complex(cast->to);
        uint64_t *at = bound->values + cast->value;

        if (cast->pointer) {
            if (cast_pointer(specialisation, cast, at) < 0)
                return -1;
            continue;
        }
        memcpy(from.bytes, &at[0], size);
        if (is_out_of_bounds(cast, from.i64))
            return out_of_bounds(specialisation, cast, from.i64);
        if (two)
            memcpy(from.bytes + size, &at[1], size);
        lw_value_cast(&from, cast->from, &to, cast->to);
        if (two_after && !two) { /* make room for the imaginary part */
            if (bound->n_values == bound->most_values) {
                PyErr_SetString(PyExc_ValueError, "too many arguments");
                return -1;
            }
            memmove(at + 2, at + 1, (bound->n_values - cast->value - 1) * sizeof *at);
            bound->n_values++;
            for (uint32_t k = 0; k < bound->n_arrays; k++)
                bound->arrays[k].value += bound->arrays[k].value > cast->value;
        }
        at[0] = 0;
        memcpy(&at[0], to.bytes, to_size);
        if (two_after) {
            at[1] = 0;
            memcpy(&at[1], to.bytes + to_size, to_size);
        }
    }
    return 0;
}

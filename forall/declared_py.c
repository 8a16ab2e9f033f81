/* Declared signatures: which of them takes a call's types, and the conversion of numbers to its
 * types. */
#include "core/py/numpy_api.h"

#include "core/front/read/python.h"
#include "forall/kernel_py.h"
#include "forall/specialisation_py_internal.h"
#include "forall/static_py.h"

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
items_fit(const lw_arg_spec *declared, const lw_arg_spec *given, lw_typing typing)
{
    int cost = declared->class_name == NULL && given->class_name != NULL;
    const lw_class *class = given->user_class ? given->user_class : declared->user_class;

    if (given->user_class != declared->user_class && (!class->is_tuple || class->has_special))
        return -1;
    if (declared->n != given->n || (declared->class_name && !same_names(declared, given)))
        return -1;
    for (uint32_t i = 0; i < declared->n; i++) {
        int one = lw_spec_fits(&declared->items[i], &given->items[i], typing);
        if (one < 0 ||
            lw_is_complex(declared->items[i].dtype) != lw_is_complex(given->items[i].dtype))
            return -1;
        cost += one;
    }
    return cost;
}

static bool
is_real(lw_dtype dtype)
{
    return !lw_is_complex(dtype) && !lw_is_time(dtype);
}

/* Casts that may not keep the number come last: of integers, whose value is compared with what
 * the type holds; under numba's typing of all real numbers (cast_unsafely). */
static int
cost_of_number(const lw_arg_spec *declared, const lw_arg_spec *given, lw_typing typing)
{
    enum { NARROWS = 50, UNSAFE = 60, LAST_CHOICE = 100 };
    bool weak = given->kind == LW_ARGK_WEAK;
    int cost = lw_cast_cost(given->dtype, weak, declared->dtype);

    /* A Python int beyond int64 prefers a float to an integer type that does not hold it. */
    if (weak && given->dtype == LW_DT_u64 && lw_is_integer(declared->dtype))
        return declared->dtype == LW_DT_u64 ? 0 : LAST_CHOICE;
    if (cost >= 0)
        return cost;
    if (lw_is_integer(given->dtype) && lw_is_integer(declared->dtype))
        return NARROWS;
    return typing == LW_TYPING_NUMBA && is_real(given->dtype) && is_real(declared->dtype)
               ? UNSAFE
               : -1;
}

int
lw_spec_fits(const lw_arg_spec *declared, const lw_arg_spec *given, lw_typing typing)
{
    if (declared->pointer != given->pointer)
        return declared->pointer &&
                       (given->kind == LW_ARGK_WEAK || given->kind == LW_ARGK_SCALAR) &&
                       lw_is_integer(given->dtype)
                   ? 0
                   : -1;
    if (declared->kind == LW_ARGK_SCALAR &&
        (given->kind == LW_ARGK_WEAK || given->kind == LW_ARGK_SCALAR))
        return cost_of_number(declared, given, typing);
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
        return declared->is_list == given->is_list ? items_fit(declared, given, typing) : -1;
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
    return lw_spec_fits(&declared->specs[i], &given->specs[i],
                        given->function->options.front.typing);
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

/* Whether this is an int that `to` must be able to hold, of Python or of NumPy. */
static bool
is_bounded(const lw_arg_spec *from, lw_dtype to)
{
    return lw_is_integer(from->dtype) && lw_is_integer(to) &&
           (from->kind == LW_ARGK_WEAK || !lw_can_cast_safe(from->dtype, to));
}

/* wraps: as numba casts ints, of which only the sign and 64 bits must be right. */
static void
set_bounds(lw_specialisation_cast *cast, lw_dtype to, bool wraps)
{
    uint32_t unused = wraps ? 0 : 64 - lw_dtypes[to].bits;

    cast->bounds = to;
    if (lw_is_signed(to)) {
        cast->least = INT64_MIN >> unused;
        cast->most = INT64_MAX >> unused;
    } else {
        cast->most = unused ? (int64_t)(UINT64_MAX >> unused) : INT64_MAX;
    }
}

static lw_specialisation_cast
cast_of(const lw_specialisation *specialisation, const lw_arg_spec *from, const lw_arg_spec *to,
        uint32_t value, uint32_t param)
{
    lw_specialisation_cast cast = {
        .value = value, .param = param, .from = from->dtype, .to = to->dtype};
    bool numbas = specialisation->function->options.front.typing == LW_TYPING_NUMBA;

    cast.truncates = lw_is_float(from->dtype) && lw_is_integer(to->dtype);
    if (numbas && from->dtype == LW_DT_u64 && !lw_is_signed(to->dtype))
        return cast; /* the sign is right, whatever bits are dropped */
    if (cast.truncates || is_bounded(from, to->dtype))
        set_bounds(&cast, to->dtype, numbas);
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
        casts[specialisation->n_casts++] = cast_of(specialisation, from, to, value, param);
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
    if (!lw_static_print_value(given, furthest, out))
        lw_spec_print(&given->specs[furthest], out);
    lw_text_add(out, "; the signature has ");
    lw_spec_print(&nearest->specs[furthest], out);
}

static int
no_match(lw_function *self, const lw_specialisation *given)
{
    lw_text misfit = {0};
    PyObject *text = lw_specialisation_text(given), *all = PyList_New(0), *joined;
    lw_error err = {0};

    for (lw_specialisation *at = lw_grown_first(&self->specialisations);
         all != NULL && at != NULL; at = lw_grown_next(at)) {
        PyObject *one = at->declared ? lw_specialisation_text(at) : NULL;
        if (one != NULL)
            PyList_Insert(all, 0, one);
        Py_XDECREF(one);
    }
    joined = lw_joined("), (", all);
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
        if (to != LW_DT_void && spec->kind == LW_ARGK_WEAK && is_bounded(spec, to)) {
            lw_specialisation_cast *cast = &casts[specialisation->n_casts++];
            *cast = (lw_specialisation_cast){
                .value = value, .param = i, .from = spec->dtype, .to = spec->dtype};
            set_bounds(cast, to, false);
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

/* A uint64 above int64 is larger than the numbers of every other integer type. */
static bool
is_out_of_bounds(const lw_specialisation_cast *cast, int64_t value)
{
    if (cast->from == LW_DT_u64)
        return value < 0 || value > cast->most;
    return value < cast->least || value > cast->most;
}

/* int(x) as Python's, of what has been bound as a float: x is the int afterwards, with the type
 * of *from. */
static int
truncate_value(const lw_specialisation *specialisation, const lw_specialisation_cast *cast,
               lw_value *x, lw_dtype *from)
{
    bool is_signed = lw_is_signed(cast->to);
    double limit = is_signed ? 0x1p63 : 0x1p64;
    lw_value wide = {0}, whole = {0};
    PyObject *number;

    lw_value_cast(x, *from, &wide, LW_DT_f64);
    if (wide.f64 < limit && wide.f64 > (is_signed ? -limit : -1)) {
        *from = is_signed ? LW_DT_i64 : LW_DT_u64;
        lw_value_cast(&wide, LW_DT_f64, &whole, *from);
        *x = whole;
        return 0;
    }
    number = PyFloat_FromDouble(wide.f64);
    Py_XSETREF(number, number ? PyNumber_Long(number) : NULL); /* refuses NaN and infinities */
    if (number != NULL)
        PyErr_Format(PyExc_OverflowError, "%s: argument `%s`: %R does not fit %s, its type",
                     lw_function_name(specialisation->function),
                     specialisation->function->tree->fns.data[1].params.data[cast->param].name,
                     number, lw_dtypes[cast->to].public_name);
    Py_XDECREF(number);
    return -1;
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
        lw_value from = {0}, to = {0}, whole = {0};
        lw_dtype type = cast->from;
        bool two = lw_is_complex(cast->from), two_after = lw_is_complex(cast->to);
        uint64_t *at = bound->values + cast->value;

        if (cast->pointer) {
            if (cast_pointer(specialisation, cast, at) < 0)
                return -1;
            continue;
        }
        memcpy(from.bytes, &at[0], size);
        if (cast->truncates) {
            if (truncate_value(specialisation, cast, &from, &type) < 0)
                return -1;
        } else if (cast->bounds != LW_DT_void) {
            lw_value_cast(&from, cast->from, &whole, LW_DT_i64);
            if (is_out_of_bounds(cast, whole.i64))
                return out_of_bounds(specialisation, cast, whole.i64);
        }
        if (two)
            memcpy(from.bytes + size, &at[1], size);
        lw_value_cast(&from, type, &to, cast->to);
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

/* Values of one or several parts: how many parts a type has, constants, conversions between
 * types, truth, selection, and slots. */
#include "core/front/lower/lower_internal.h"

#include "core/front/constant_bits.h"
#include "core/front/numeric/floats.h"
#include "core/front/numeric/integers.h"
#include "core/front/numeric/numeric.h"
#include "core/front/numeric/times.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* Alignment of constant tables: the largest access of a GPU. */
enum { TABLE_ALIGN = 16 };

/* ---- parts ---- */

static bool
is_compile_time(lw_type_kind kind)
{
    return kind == LW_TK_BOTTOM || kind == LW_TK_NONE || kind == LW_TK_STATIC ||
           kind == LW_TK_RANGE;
}

/* Tuples, and functions, which are the tuple of what they capture. */
static bool
has_elements(lw_type_kind kind)
{
    return kind == LW_TK_TUPLE || kind == LW_TK_FUNCTION || kind == LW_TK_OPTIONAL;
}

/* Arrays and records: the first part is the address. */
static bool
is_address(lw_type_kind kind)
{
    return kind == LW_TK_ARRAY || kind == LW_TK_RECORD;
}

/* Whether this part of an array or a record is the reference to its memory. */
static bool
is_reference(const lw_types *types, lw_type type, uint32_t i)
{
    const lw_type_row *row = lw_type_get(types, type);

    assert(row->kind == LW_TK_ARRAY || row->ndim == 0);
    return row->owned && i == 1 + 2u * row->ndim;
}

uint32_t
lw_parts_of(const lw_types *types, lw_type type)
{
    lw_type_kind kind = lw_type_kind_of(types, type);
    uint32_t n = 0;

    if (has_elements(kind)) {
        const lw_type_row *row = lw_type_get(types, type);
        for (uint32_t i = 0; i < row->n; i++)
            n += lw_parts_of(types, row->elements[i]);
        return n;
    }
    if (is_compile_time(kind))
        return 0;
    if (kind == LW_TK_ARRAY && lw_type_get(types, type)->shape == NULL)
        return 1 + 2u * lw_type_get(types, type)->ndim + lw_type_get(types, type)->owned;
    if (is_address(kind))
        return 1 + (uint32_t)lw_type_get(types, type)->owned;
    return lw_is_complex(lw_type_stored(types, type)) ? 2 : 1;
}

void
lw_part_types(const lw_types *types, lw_type type, lw_dtype *out)
{
    uint32_t n = lw_parts_of(types, type);

    if (has_elements(lw_type_kind_of(types, type))) {
        const lw_type_row *row = lw_type_get(types, type);
        for (uint32_t i = 0; i < row->n; i++) {
            lw_part_types(types, row->elements[i], out);
            out += lw_parts_of(types, row->elements[i]);
        }
        return;
    }
    for (uint32_t i = 0; i < n; i++) {
        if (is_address(lw_type_kind_of(types, type)))
            out[i] = i == 0 || is_reference(types, type, i) ? LW_DT_ptr : LW_DT_i64;
        else
            out[i] = lw_dtypes[lw_type_stored(types, type)].parts;
    }
}

static lw_ref *
room_for(lw_lower_frame *f, uint32_t n)
{
    static lw_ref none[1];
    lw_ref *parts = n ? lw_arena_take(f->l->arena, n * sizeof *parts) : none;

    return parts;
}

/* When memory is out, the arena remembers it: such a value has no parts, and reading one gives
 * 0. */
static lw_lower_value
wrap(lw_type type, lw_ref *parts, uint32_t n)
{
    return (lw_lower_value){.type = type, .n = parts ? n : 0, .parts = parts};
}

static lw_ref
part(const lw_lower_value *value, uint32_t i)
{
    return i < value->n ? value->parts[i] : 0;
}

lw_lower_value
lw_value_of(lw_lower_frame *f, lw_type type, const lw_ref *parts, uint32_t n)
{
    assert(n == 0 || parts != NULL);
    lw_ref *copy = room_for(f, n);

    for (uint32_t i = 0; copy && i < n; i++)
        copy[i] = parts[i];
    return wrap(type, copy, n);
}

lw_lower_value
lw_value_scalar(lw_lower_frame *f, lw_type type, lw_ref value)
{
    return lw_value_of(f, type, &value, 1);
}

lw_lower_value
lw_value_complex(lw_lower_frame *f, lw_type type, lw_complex parts)
{
    lw_ref both[2] = {parts.re, parts.im};

    return lw_value_of(f, type, both, 2);
}

static lw_dtype *
dtypes_of(lw_lower_frame *f, lw_type type, uint32_t *n)
{
    lw_dtype *dtypes;

    *n = lw_parts_of(f->l->types, type);
    dtypes = lw_arena_take(f->l->arena, (*n + 1) * sizeof *dtypes);
    if (dtypes == NULL)
        *n = 0;
    else
        lw_part_types(f->l->types, type, dtypes);
    return dtypes;
}

lw_lower_value
lw_value_zero(lw_lower_frame *f, lw_type type)
{
    uint32_t n;
    const lw_dtype *dtypes = dtypes_of(f, type, &n);
    lw_ref *parts = room_for(f, n);

    for (uint32_t i = 0; parts && i < n; i++)
        parts[i] = lw_ir_zero(&f->b, dtypes[i]);
    return wrap(type, parts, n);
}

bool
lw_value_is_tuple(const lw_lower_value *value, const lw_lower_frame *f)
{
    return lw_type_kind_of(f->l->types, value->type) == LW_TK_TUPLE;
}

bool
lw_value_is_complex(const lw_lower_value *value, const lw_lower_frame *f)
{
    return lw_is_complex(lw_type_stored(f->l->types, value->type));
}

bool
lw_type_is_integer(const lw_types *types, lw_type type)
{
    lw_dtype stored = lw_type_stored(types, type);

    return stored == LW_DT_b1 || lw_is_integer(stored);
}

/* ---- constants ---- */

static bool
is_python_int(const lw_constant *k)
{
    return k->kind == LW_K_INT || k->kind == LW_K_UINT || k->kind == LW_K_BIGINT;
}

/* The package's own functions never have it. */
static bool
has_numbas_typing(const lw_lower_frame *f)
{
    return f->l->typed->options.typing == LW_TYPING_NUMBA && !f->fn->of_package;
}

/* Inference refuses a Python int if it sees that it does not fit; the others are refused here.
 * numba's literals wrap, except those that no 64-bit type holds. */
static bool
constant_fits(const lw_lower_frame *f, const lw_constant *k, lw_dtype dtype)
{
    bool numbas = has_numbas_typing(f);
    __int128 value = 0, one = 1, low, high;

    if (k->kind == LW_K_BIGINT && !lw_is_integer(dtype))
        return dtype == LW_DT_b1 || isfinite(k->d);
    if (!lw_is_integer(dtype) || k->kind == LW_K_BOOL || !is_python_int(k) ||
        (numbas && k->kind != LW_K_BIGINT))
        return true;
    low = lw_is_signed(dtype) ? -(one << (lw_dtypes[dtype].bits - 1)) : 0;
    high = low + (one << lw_dtypes[dtype].bits);
    return lw_constant_int_value(k, &value) && value >= low && value < high;
}

static lw_lower_value
refuse_constant(lw_lower_frame *f, const lw_constant *k, lw_dtype dtype)
{
    lw_text number = {0};
    lw_lower_value none;

    if (k->kind == LW_K_BIGINT)
        return lw_lower_refuse_number(f, k->text, dtype);
    if (k->kind == LW_K_UINT)
        lw_text_addf(&number, "%llu", (unsigned long long)k->u);
    else
        lw_text_addf(&number, "%lld", (long long)k->i);
    none = lw_lower_refuse_number(f, lw_text_get(&number), dtype);
    lw_text_reset(&number);
    return none;
}

/* The type of its own in which a constant is made and then converted, where it is a time, or
 * becomes one; BOTTOM: its bits say all. */
static lw_type
type_before_cast(const lw_constant *k, lw_type type)
{
    if (k->kind == LW_K_SCALAR && (lw_is_time(k->dtype) || lw_type_is_time(type)))
        return k->dtype == type ? (lw_type)LW_T_BOTTOM : (lw_type)k->dtype;
    return k->kind == LW_K_FLOAT && lw_type_is_time(type) ? (lw_type)LW_T_PYFLOAT
                                                          : (lw_type)LW_T_BOTTOM;
}

/* Whether the integers that an operand may be all fit. */
static bool
range_fits(const lw_lower_frame *f, const lw_constant *k, lw_dtype dtype)
{
    lw_constant end = {.kind = LW_K_INT};
    int64_t lo, hi;
    bool fit;

    if (k->kind != LW_K_INT)
        return true;
    lw_varying_range(k, &lo, &hi);
    end.i = lo;
    fit = constant_fits(f, &end, dtype);
    end.i = hi;
    return fit && constant_fits(f, &end, dtype);
}

/* A number that changes between calls is read from memory; parts: room for two. 0: it is an
 * ordinary constant. */
static uint32_t
read_varying(lw_lower_frame *f, const lw_constant *k, lw_type type, lw_ref *parts)
{
    lw_dtype dtype = lw_type_stored(f->l->types, type);
    lw_dtype part = lw_dtypes[dtype].parts;
    const uint64_t *cell;

    if (!lw_varying_varies(k) || f->l->typed->plain || lw_is_time(dtype) ||
        !range_fits(f, k, dtype))
        return 0;
    cell = lw_varying_cell(k->varying, dtype);
    if (cell == NULL) {
        f->b.module->failed = true;
        return 0;
    }
    parts[0] = lw_ir_varying(&f->b, part, cell);
    if (!lw_is_complex(dtype))
        return 1;
    parts[1] = lw_ir_varying(&f->b, part, cell + 1);
    return 2;
}

static uint64_t
member_number(lw_lower_frame *f, const lw_enum *of, const lw_constant *k)
{
    for (uint32_t i = 0; i < of->n; i++)
        if (lw_typed_constant(f->l->typed, of->members[i]) == k)
            return i;
    lw_lower_fail(f, f->node, "a member is none of its class");
    return 0;
}

uint32_t
lw_constant_part_bits(lw_lower_frame *f, uint32_t constant, lw_type type, uint64_t *out)
{
    const lw_constant *k = lw_varying_fix(lw_typed_constant(f->l->typed, constant));
    const lw_type_row *row = lw_type_get(f->l->types, type);
    lw_type_kind kind = lw_type_kind_of(f->l->types, type);
    lw_dtype dtype;
    uint32_t n = 0;

    if (is_compile_time(kind))
        return 0;
    if (kind == LW_TK_TUPLE) {
        for (uint32_t i = 0; i < row->n && i < k->n; i++)
            n += lw_constant_part_bits(f, k->items[i], row->elements[i], out + n);
        return n;
    }
    dtype = lw_type_stored(f->l->types, type);
    if (type_before_cast(k, type) != LW_T_BOTTOM && lw_is_time(k->dtype) && lw_is_time(dtype)) {
        out[0] = (uint64_t)lw_time_value(k->dtype, dtype, k->i); /* in a long tuple */
        return 1;
    }
    if (kind == LW_TK_MEMBER) {
        out[0] = member_number(f, row->members, k);
        return 1;
    }
    if (kind == LW_TK_TEXT) {
        out[0] = lw_lower_text_number(f, k->text);
        return 1;
    }
    if (!constant_fits(f, k, dtype))
        refuse_constant(f, k, dtype);
    out[0] = lw_constant_real_bits(k, lw_dtypes[dtype].parts);
    if (!lw_is_complex(dtype))
        return 1;
    out[1] = lw_constant_imaginary_bits(k, lw_dtypes[dtype].parts);
    return 2;
}

/* Copies the parts of a value to a room for `most`; returns how many these are. */
static uint32_t
put_parts(lw_lower_value value, lw_ref *room, uint32_t most)
{
    uint32_t n = value.n < most ? value.n : most;

    for (uint32_t i = 0; i < n; i++)
        room[i] = value.parts[i];
    return n;
}

static lw_lower_value
tuple_constant(lw_lower_frame *f, const lw_constant *k, lw_type type)
{
    const lw_type_row *row = lw_type_get(f->l->types, type);
    uint32_t n = lw_parts_of(f->l->types, type), at = 0;
    lw_ref *parts = room_for(f, n);

    for (uint32_t i = 0; parts && i < row->n && i < k->n; i++) {
        lw_lower_value element = lw_value_constant(f, k->items[i], row->elements[i]);
        at += put_parts(element, parts + at, n - at);
    }
    return wrap(type, parts, at);
}

/* The address, the extents and the strides of an array are part of the module. */
static lw_lower_value
live_array(lw_lower_frame *f, const lw_constant *k, lw_type type)
{
    lw_ref *parts = room_for(f, 1 + 2 * k->n);

    assert(lw_parts_of(f->l->types, type) == 1 + 2 * k->n);
    if (parts != NULL)
        parts[0] = lw_ir_live_data(&f->b, k->live->address, k->live->on_gpu);
    for (uint32_t i = 0; parts != NULL && i < k->n; i++) {
        parts[1 + i] = lw_ir_int(&f->b, LW_DT_i64, k->live->shape[i]);
        parts[1 + k->n + i] = lw_ir_int(&f->b, LW_DT_i64, k->live->strides[i]);
    }
    return wrap(type, parts, 1 + 2 * k->n);
}

/* The bytes of a table are part of the module. */
static lw_lower_value
table_constant(lw_lower_frame *f, const lw_constant *k, lw_type type)
{
    uint32_t n = (uint32_t)lw_type_bytes(f->l->types, type);

    if (k->live != NULL)
        return live_array(f, k, type);
    return lw_value_scalar(f, type, lw_ir_data(&f->b, k->bytes, n, TABLE_ALIGN));
}

lw_lower_value
lw_value_constant(lw_lower_frame *f, uint32_t constant, lw_type type)
{
    const lw_constant *k = lw_typed_constant(f->l->typed, constant);
    lw_type_kind kind = lw_type_kind_of(f->l->types, type);
    lw_type own = type_before_cast(k, type);

    if (is_compile_time(kind) || kind == LW_TK_FUNCTION)
        return wrap(type, room_for(f, 0), 0);
    if (kind == LW_TK_TUPLE)
        return tuple_constant(f, k, type);
    if (kind == LW_TK_ARRAY)
        return table_constant(f, k, type);
    if (own != LW_T_BOTTOM)
        return lw_value_convert(f, lw_value_constant(f, constant, own), type);
    lw_dtype part = lw_dtypes[lw_type_stored(f->l->types, type)].parts;
    uint64_t bits[2];
    lw_ref parts[2];
    uint32_t n = read_varying(f, k, type, parts);

    if (n > 0)
        return lw_value_of(f, type, parts, n);
    n = lw_constant_part_bits(f, constant, type, bits);
    for (uint32_t i = 0; i < n; i++)
        parts[i] = lw_ir_bits(&f->b, part, bits[i]);
    return lw_value_of(f, type, parts, n);
}

/* ---- conversion ---- */

void
lw_lower_cast(lw_builder *b, lw_dtype from, const lw_ref *parts, lw_dtype to, lw_ref *out_parts)
{
    lw_dtype half = lw_dtypes[to].parts;

    if (lw_is_time(from) && lw_is_complex(to)) { /* of device arrays: NaT is a number */
        lw_lower_cast(b, LW_DT_i64, parts, to, out_parts);
    } else if (lw_is_time(from) || lw_is_time(to)) {
        out_parts[0] =
            lw_time_cast(b, lw_is_complex(from) ? lw_dtypes[from].parts : from, to, parts[0]);
    } else if (lw_is_complex(to)) {
        lw_ref im = lw_is_complex(from) ? lw_ir_cast(b, half, parts[1]) : lw_ir_zero(b, half);
        out_parts[0] = lw_ir_cast(b, half, parts[0]);
        out_parts[1] = im;
    } else if (lw_is_complex(from) && to == LW_DT_b1) {
        out_parts[0] = lw_complex_truth(b, (lw_complex){parts[0], parts[1]});
    } else {
        out_parts[0] = lw_ir_cast(b, to, parts[0]); /* of complex: the real part */
    }
}

/* What becomes element i of the type `to`: of an object that has other fields, the one of the
 * same name, or what the class has by it. */
static lw_lower_value
element_for(lw_lower_frame *f, lw_lower_value value, const lw_type_row *to, uint32_t i)
{
    const lw_type_row *from = lw_type_get(f->l->types, value.type);
    const lw_constant *constant;
    uint32_t k = 0;

    if (from->user_class == NULL || from->user_class->is_namedtuple)
        return lw_value_element(f, value, i);
    while (k < from->n && strcmp(from->names[k], to->names[i]) != 0)
        k++;
    if (k < from->n)
        return lw_value_element(f, value, k);
    if (to->elements[i] == LW_T_ABSENT)
        return wrap(LW_T_ABSENT, room_for(f, 0), 0);
    constant = lw_class_constant(f->l->tree, from->user_class, to->names[i]);
    if (constant == NULL)
        return lw_lower_fail(f, f->node, "an object without a field that is read");
    return lw_value_constant(f, (uint32_t)(constant - f->l->tree->constants.data),
                             to->elements[i]);
}

static lw_lower_value
convert_tuple(lw_lower_frame *f, lw_lower_value value, lw_type to)
{
    const lw_type_row *row = lw_type_get(f->l->types, to);
    const lw_type_row *from = lw_type_get(f->l->types, value.type);
    uint32_t n = lw_parts_of(f->l->types, to), at = 0;
    lw_ref *parts = room_for(f, n);

    for (uint32_t i = 0; parts && from && i < row->n; i++) {
        lw_lower_value element =
            lw_value_convert(f, element_for(f, value, row, i), row->elements[i]);
        at += put_parts(element, parts + at, n - at);
    }
    return wrap(to, parts, at);
}

/* To a type of values that may be None. */
static lw_lower_value
made_optional(lw_lower_frame *f, lw_lower_value value, lw_type to)
{
    lw_lower_value given;
    lw_ref *parts;

    if (value.type == LW_T_NONE)
        return lw_value_zero(f, to);
    given = lw_value_convert(f, value, lw_type_given(f->l->types, to));
    parts = room_for(f, given.n + 1);
    if (parts != NULL) {
        parts[0] = lw_ir_int(&f->b, LW_DT_b1, 1);
        (void)put_parts(given, parts + 1, given.n);
    }
    return wrap(to, parts, given.n + 1);
}

/* "expected array(float64, 1d, C), got None", as numba says it. */
static void
raise_for_none(lw_lower_frame *f, lw_type given, lw_ref is_none)
{
    static const char letters[] = {
        [LW_LAYOUT_ANY] = 'A', [LW_LAYOUT_C] = 'C', [LW_LAYOUT_F] = 'F'};
    const lw_type_row *row = lw_type_get_kind(f->l->types, given, LW_TK_ARRAY);
    lw_dtype stored = lw_type_stored(f->l->types, given);
    lw_text text = {0};

    if (row != NULL && lw_type_get(f->l->types, row->elements[0]) == NULL)
        lw_text_addf(&text, "expected array(%s, %ud, %c), got None",
                     lw_dtypes[row->elements[0]].public_name, row->ndim, letters[row->layout]);
    else
        lw_text_addf(&text, "expected %s, got None",
                     lw_type_is_text(f->l->types, given) ? "a string"
                     : row != NULL                       ? "an array"
                     : stored != LW_DT_void              ? lw_dtypes[stored].public_name
                                                         : "a tuple");
    lw_lower_raise(f, is_none, "TypeError", lw_text_get(&text));
    lw_text_reset(&text);
}

/* The value, or TypeError where it is None. */
static lw_lower_value
unwrapped(lw_lower_frame *f, lw_lower_value value)
{
    if (lw_raises_errors(f))
        raise_for_none(f, lw_type_given(f->l->types, value.type),
                       lw_ir_not(&f->b, part(&value, 0)));
    return lw_value_element(f, value, 1);
}

/* Whether a literal without a constant, such as a tuple's item, cannot become this type. */
static bool
is_refused(const lw_lower_frame *f, lw_type type, lw_dtype dtype)
{
    if (lw_type_kind_of(f->l->types, type) != LW_TK_LITERAL || !lw_is_integer(dtype))
        return false;
    return has_numbas_typing(f) ? lw_literal_is_wide(f->l->types, type)
                                : !lw_literal_fits(f->l->types, type, dtype);
}

static lw_lower_value
refuse_literal(lw_lower_frame *f, lw_type literal, lw_dtype dtype)
{
    lw_text number = {0};
    lw_lower_value none;

    lw_type_print(f->l->types, literal, &number);
    none = lw_lower_refuse_number(f, lw_text_get(&number), dtype);
    lw_text_reset(&number);
    return none;
}

/* Whether it is an array without axes, which is converted as its element is. */
static bool
is_axisless(const lw_lower_frame *f, const lw_lower_value *value)
{
    return lw_type_kind_of(f->l->types, value->type) == LW_TK_ARRAY &&
           lw_type_get(f->l->types, value->type)->ndim == 0 && value->n > 0;
}

/* Of an array without axes. */
static lw_lower_value
only_element(lw_lower_frame *f, lw_lower_value array)
{
    const lw_type_row *row = lw_type_get(f->l->types, array.type);

    return lw_lower_load(f, row->elements[0], array.parts[0], row->align);
}

lw_lower_value
lw_value_convert(lw_lower_frame *f, lw_lower_value value, lw_type to)
{
    lw_type_kind kind = lw_type_kind_of(f->l->types, to);
    lw_ref parts[2] = {0}, from_parts[2] = {part(&value, 0), part(&value, 1)};

    if (value.type == to)
        return value;
    if (lw_type_kind_of(f->l->types, value.type) == LW_TK_OPTIONAL && kind != LW_TK_OPTIONAL)
        return lw_value_convert(f, unwrapped(f, value), to);
    if (kind == LW_TK_OPTIONAL && lw_type_kind_of(f->l->types, value.type) != LW_TK_OPTIONAL)
        return made_optional(f, value, to);
    if (value.type == LW_T_NONE && (kind == LW_TK_ARRAY || kind == LW_TK_TUPLE))
        return lw_value_zero(f, to); /* the items of an empty list (join_of_list) */
    if (kind != LW_TK_ARRAY && is_axisless(f, &value))
        return lw_value_convert(f, only_element(f, value), to);
    if (is_compile_time(kind))
        return wrap(to, room_for(f, 0), 0);
    if (kind == LW_TK_TUPLE && lw_type_kind_of(f->l->types, value.type) == LW_TK_RECORD)
        return lw_lower_record_object(f, value, to);
    if (has_elements(kind))
        return convert_tuple(f, value, to);
    if (kind == LW_TK_ARRAY && lw_type_kind_of(f->l->types, value.type) == kind)
        return lw_array_convert(f, value, to);
    if (kind == LW_TK_MEMBER && value.n == 0 && lw_type_enum(f->l->types, value.type))
        return lw_value_constant(f, lw_type_get(f->l->types, value.type)->fn, to);
    if (kind == LW_TK_TEXT && lw_type_is_text(f->l->types, value.type))
        return value.n ? lw_value_of(f, to, value.parts, value.n)
                       : lw_value_constant(f, lw_type_get(f->l->types, value.type)->fn, to);
    if (to == LW_DT_b1 && lw_type_is_text(f->l->types, value.type))
        return lw_value_scalar(f, to, lw_lower_text_truth(f, value));
    if (kind == LW_TK_RECORD && value.n > 0)
        return lw_lower_in_memory(f, to, value.parts[0], value);
    if (value.n == 0)
        return lw_lower_fail(f, f->node,
                             "a value that only exists at compile time is converted");
    lw_dtype from = lw_type_stored(f->l->types, value.type),
             dtype = lw_type_stored(f->l->types, to);
    if (is_refused(f, value.type, dtype))
        return refuse_literal(f, value.type, dtype);
    lw_lower_cast(&f->b, from, from_parts, dtype, parts);
    return lw_value_of(f, to, parts, lw_is_complex(dtype) ? 2 : 1);
}

/* Index 0 … n-1. */
lw_lower_value
lw_value_element(lw_lower_frame *f, lw_lower_value tuple, uint32_t index)
{
    uint32_t at = 0;

    if (!has_elements(lw_type_kind_of(f->l->types, tuple.type)))
        return lw_lower_fail(f, f->node, "an element of what is no tuple");
    const lw_type_row *row = lw_type_get(f->l->types, tuple.type);
    if (index >= row->n)
        return lw_lower_fail(f, f->node, "an element beyond the end of a tuple");
    for (uint32_t i = 0; i < index; i++)
        at += lw_parts_of(f->l->types, row->elements[i]);
    lw_type type = row->elements[index];
    uint32_t n = lw_parts_of(f->l->types, type);
    if (at + n > tuple.n)
        return wrap(type, NULL, 0);
    return (lw_lower_value){.type = type, .n = n, .parts = tuple.parts + at};
}

lw_complex
lw_value_as_complex(lw_lower_frame *f, lw_lower_value value, lw_dtype half)
{
    assert(half == LW_DT_f32 || half == LW_DT_f64);
    lw_ref parts[2] = {0}, from_parts[2];

    if (is_axisless(f, &value))
        value = only_element(f, value);
    from_parts[0] = part(&value, 0);
    from_parts[1] = part(&value, 1);
    lw_lower_cast(&f->b, lw_type_stored(f->l->types, value.type), from_parts,
                  half == LW_DT_f32 ? LW_DT_c64 : LW_DT_c128, parts);
    return (lw_complex){parts[0], parts[1]};
}

/* ---- truth, selection, variables ---- */

lw_ref
lw_value_truth(lw_lower_frame *f, lw_lower_value value)
{
    lw_type_kind kind = lw_type_kind_of(f->l->types, value.type);

    if (is_axisless(f, &value))
        return lw_value_truth(f, only_element(f, value));
    if (kind == LW_TK_OPTIONAL)
        return lw_ir_and(&f->b, part(&value, 0),
                         lw_value_truth(f, lw_value_element(f, value, 1)));
    if (kind == LW_TK_TUPLE)
        return lw_ir_int(&f->b, LW_DT_b1, lw_type_get(f->l->types, value.type)->n != 0);
    if (kind == LW_TK_NONE)
        return lw_ir_int(&f->b, LW_DT_b1, 0);
    if (lw_type_is_text(f->l->types, value.type))
        return lw_lower_text_truth(f, value);
    if (value.n == 2)
        return lw_complex_truth(&f->b, (lw_complex){value.parts[0], value.parts[1]});
    if (value.n == 0) {
        lw_lower_fail(f, f->node, "the truth of a value that only exists at compile time");
        return lw_ir_int(&f->b, LW_DT_b1, 0);
    }
    return lw_num_truth(&f->b, value.parts[0]);
}

/* Both have one type. */
lw_lower_value
lw_value_select(lw_lower_frame *f, lw_ref condition, lw_lower_value yes, lw_lower_value no)
{
    assert(yes.type == no.type || lw_lower_has_failed(f)); /* both have been converted */
    lw_ref *parts = room_for(f, yes.n);

    for (uint32_t i = 0; parts && i < yes.n; i++)
        parts[i] = yes.parts[i] == part(&no, i)
                       ? yes.parts[i]
                       : lw_ir_select(&f->b, condition, yes.parts[i], part(&no, i));
    return wrap(yes.type, parts, yes.n);
}

const lw_ref *
lw_value_slots(lw_lower_frame *f, lw_type type)
{
    uint32_t n;
    const lw_dtype *dtypes = dtypes_of(f, type, &n);
    lw_ref *slots = room_for(f, n);

    for (uint32_t i = 0; slots && i < n; i++)
        slots[i] = lw_ir_slot(&f->b, dtypes[i]);
    return slots;
}

void
lw_value_set(lw_lower_frame *f, const lw_ref *slots, lw_lower_value value)
{
    assert(slots == NULL ||
           value.n <= lw_parts_of(f->l->types, value.type)); /* a part for each slot */
    for (uint32_t i = 0; slots && i < value.n; i++)
        lw_ir_set(&f->b, slots[i], value.parts[i]);
}

lw_lower_value
lw_value_get(lw_lower_frame *f, const lw_ref *slots, lw_type type)
{
    uint32_t n = lw_parts_of(f->l->types, type);
    lw_ref *parts = slots ? room_for(f, n) : NULL;

    for (uint32_t i = 0; parts && i < n; i++)
        parts[i] = lw_ir_get(&f->b, slots[i]);
    return wrap(type, parts, n);
}

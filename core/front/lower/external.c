/* Calls of functions in other languages: the conversion of each argument by the convention of C
 * or of numba (core/front/external.h). */
#include "core/front/lower/address.h"

#include "core/front/external.h"

#include <assert.h>
#include <stdio.h>

typedef struct external_call {
    lw_lower_frame *f;
    lw_builder *b;
    const lw_external *external;
    lw_ref *args;
    lw_dtype *types;
    uint32_t n;
} external_call;

static uint32_t
params_of(const lw_sig_type *type)
{
    if (type->kind == LW_SIG_ARRAY)
        return 5 + 2 * type->ndim;
    return type->kind == LW_SIG_SCALAR && lw_is_complex(type->dtype) ? 2 : 1;
}

/* The number of arguments of the C function: numbers, pointers and members of arrays, and the
 * pointer to the result. */
static uint32_t
n_params_of(const lw_external *external)
{
    uint32_t n = !external->c_abi;

    for (uint32_t i = 0; i < external->signature.n_args; i++)
        n += params_of(&external->signature.args[i]);
    return n;
}

static void
push(external_call *c, lw_dtype type, lw_ref value)
{
    assert(c->n < n_params_of(c->external));
    c->types[c->n] = type;
    c->args[c->n++] = value;
}

/* ---- arguments ---- */

/* numba's array struct: meminfo, parent, nitems, itemsize, data, shape, strides. */
enum { MEMINFO_AT = 0, DATA_AT = 32, SHAPE_AT = 40 }; /* bytes */

static uint32_t
array_bytes(uint32_t ndim)
{
    return SHAPE_AT + 16 * ndim;
}

static lw_ref
meminfo_of(external_call *c, lw_lower_value array)
{
    const lw_type_row *row = lw_array_row_of(c->f, array.type);

    return row->owned ? lw_part_at(&array, 1 + 2u * row->ndim) : lw_ir_zero(c->b, LW_DT_ptr);
}

static void
push_array(external_call *c, const lw_sig_type *type, lw_lower_value array)
{
    assert(lw_type_kind_of(c->f->l->types, array.type) == LW_TK_ARRAY);
    lw_builder *b = c->b;
    lw_ref null = lw_ir_zero(b, LW_DT_ptr), count = lw_ir_int(b, LW_DT_i64, 1);

    for (uint32_t i = 0; i < type->ndim; i++)
        count = lw_ir_mul(b, count, lw_array_extent(c->f, array, i));
    push(c, LW_DT_ptr, meminfo_of(c, array));
    push(c, LW_DT_ptr, null);
    push(c, LW_DT_i64, count);
    push(c, LW_DT_i64, lw_ir_int(b, LW_DT_i64, lw_dtypes[type->dtype].size_bytes));
    push(c, LW_DT_ptr, array.n ? array.parts[0] : 0);
    for (uint32_t i = 0; i < type->ndim; i++)
        push(c, LW_DT_i64, lw_array_extent(c->f, array, i));
    for (uint32_t i = 0; i < type->ndim; i++)
        push(c, LW_DT_i64, lw_array_stride(c->f, array, i));
}

static void
push_argument(external_call *c, uint32_t node, uint32_t i)
{
    const lw_sig_type *type = &c->external->signature.args[i];
    lw_lower_value value;

    if (type->kind == LW_SIG_SCALAR) {
        value = lw_lower_argument_as(c->f, node, i, (lw_type)type->dtype);
        for (uint32_t k = 0; k < value.n; k++)
            push(c, lw_dtypes[type->dtype].parts, value.parts[k]);
        return;
    }
    value = lw_lower_argument(c->f, node, i);
    if (type->kind == LW_SIG_ARRAY)
        push_array(c, type, value);
    else
        push(c, LW_DT_ptr, value.n ? value.parts[0] : 0);
}

/* ---- the call ---- */

static lw_ref
emit(external_call *c, lw_dtype result)
{
    const lw_external *external = c->external;
    lw_module *module = c->b->module;
    uint32_t number =
        external->address
            ? lw_ir_foreign_extern_add(module, external->name, external->address, result,
                                       c->types, c->n)
            : lw_ir_device_extern_add(module, external->name, result, c->types, c->n);

    return lw_ir_host_call(c->b, number, c->args, c->n);
}

static lw_ref
load_member(lw_lower_frame *f, lw_dtype type, lw_ref from, uint32_t at)
{
    return lw_ir_load(&f->b, type, 1, lw_ir_offset(&f->b, from, lw_const64(f, at)), 8, 0);
}

/* The array that the function has written, and the reference that comes with it. */
static lw_lower_value
load_array(lw_lower_frame *f, lw_type type, lw_ref result)
{
    const lw_type_row *row = lw_array_row_of(f, type);
    lw_ref parts[2 + 2 * LW_MAX_ARRAY_DIMS];
    lw_lower_value array;

    parts[0] = load_member(f, LW_DT_ptr, result, DATA_AT);
    for (uint32_t i = 0; i < 2u * row->ndim; i++)
        parts[1 + i] = load_member(f, LW_DT_i64, result, SHAPE_AT + 8 * i);
    parts[1 + 2 * row->ndim] = load_member(f, LW_DT_ptr, result, MEMINFO_AT);
    array = lw_value_of(f, type, parts, 2 + 2u * row->ndim);
    lw_lower_take(f, array);
    return array;
}

static lw_lower_value
call_with_status(external_call *c, uint32_t node, lw_ref result, lw_type type)
{
    lw_ref status = emit(c, LW_DT_i32);
    char message[128];

    snprintf(message, sizeof message, "%.80s returned a status that is not 0",
             c->external->name);

    lw_lower_set_loc(c->f, node);
    if (lw_raises_errors(c->f))
        lw_lower_raise(c->f, lw_ir_compare(c->b, LW_OP_NE, status, lw_ir_zero(c->b, LW_DT_i32)),
                       "RuntimeError", message);
    if (type == LW_T_NONE)
        return (lw_lower_value){.type = type};
    if (lw_type_kind_of(c->f->l->types, type) == LW_TK_ARRAY)
        return load_array(c->f, type, result);
    return lw_lower_load(c->f, type, result, 0);
}

static lw_lower_value
call_plain(external_call *c, lw_type type)
{
    bool none = type == LW_T_NONE;
    lw_ref made = emit(c, none ? LW_DT_void : (lw_dtype)type);

    return none ? (lw_lower_value){.type = type} : lw_value_scalar(c->f, type, made);
}

enum { RESULT_BYTES = 16 }; /* room for a complex128 */

/* Room for the result. An array is empty until the function writes another one: it may not,
 * where it fails and errors are ignored. */
static lw_ref
room_for(lw_lower_frame *f, const lw_sig_type *result)
{
    lw_builder *b = &f->b;
    lw_ref room;

    if (result->kind != LW_SIG_ARRAY)
        return lw_ir_local(b, RESULT_BYTES, RESULT_BYTES);
    room = lw_ir_local(b, array_bytes(result->ndim), RESULT_BYTES);
    for (uint32_t at = 0; at < array_bytes(result->ndim); at += 8)
        lw_ir_store(b, lw_ir_offset(b, room, lw_const64(f, at)), lw_const64(f, 0), 8, 0);
    return room;
}

lw_lower_value
lw_lower_external(lw_lower_frame *f, uint32_t node)
{
    const lw_typed_node *t = lw_typed_at(f, node);
    external_call c = {f,    &f->b, lw_typed_constant(f->l->typed, t->target)->bytes,
                       NULL, NULL,  0};
    uint32_t n = n_params_of(c.external);
    lw_ref result = 0;

    c.args = lw_arena_take(f->l->arena, (n + 1) * sizeof *c.args);
    c.types = lw_arena_take(f->l->arena, (n + 1) * sizeof *c.types);
    if (c.args == NULL || c.types == NULL)
        return (lw_lower_value){.type = t->type};
    if (!c.external->c_abi) {
        result = room_for(f, &c.external->signature.result);
        push(&c, LW_DT_ptr, result);
    }
    for (uint32_t i = 0; i < c.external->signature.n_args; i++)
        push_argument(&c, node, i);
    lw_lower_set_loc(f, node);
    return result ? call_with_status(&c, node, result, t->type) : call_plain(&c, t->type);
}

/* The shapes of results and accumulators: the numbers that a value consists of, as tuples,
 * records and arrays in records contain them. */
#include "reduce/function/reduction_internal.h"

#include <assert.h>
#include <string.h>

lw_type
lw_reduce_plain(const lw_types *types, lw_type type)
{
    if (lw_type_kind_of(types, type) == LW_TK_LITERAL)
        return lw_type_stored(types, type) == LW_DT_u64 ? (lw_type)LW_DT_u64 : LW_T_INDEX;
    return type;
}

static bool
is_number(const lw_types *types, lw_type type)
{
    lw_type_kind kind = lw_type_kind_of(types, type);

    return kind == LW_TK_SCALAR || kind == LW_TK_WEAK || kind == LW_TK_LITERAL;
}

void
lw_reduce_add_node(shape *to, lw_reduce_kind kind, uint32_t n, const char *name)
{
    if (to->form.n_nodes < LW_REDUCE_NODES)
        to->form.node[to->form.n_nodes++] = (lw_reduce_node){kind, n, name};
    else
        to->too_many = true;
}

void
lw_reduce_add_number(shape *to, lw_type type, const char *name)
{
    lw_reduce_add_node(to, LW_REDUCE_NUMBER, 0, name);
    if (to->n < LW_REDUCE_MOST)
        to->type[to->n++] = type;
    else
        to->too_many = true;
}

bool
lw_reduce_is_tuple(const shape *s)
{
    return s->form.node[0].kind != LW_REDUCE_NUMBER;
}

uint32_t
lw_reduce_n_items(const shape *s)
{
    return lw_reduce_is_tuple(s) ? s->form.node[0].n : 1;
}

/* Adds the numbers of a type. False: it contains something other than numbers. */
static bool
add_type(const lw_types *types, lw_type type, const char *name, shape *to)
{
    const lw_type_row *row = lw_type_get(types, type);
    bool good = true;

    if (row == NULL || row->kind != LW_TK_TUPLE) {
        if (is_number(types, type))
            lw_reduce_add_number(to, lw_reduce_plain(types, type), name);
        return is_number(types, type);
    }
    lw_reduce_add_node(to, row->readonly ? LW_REDUCE_RECORD : LW_REDUCE_TUPLE, row->n, name);
    for (uint32_t i = 0; good && i < row->n && !to->too_many; i++)
        good = add_type(types, row->elements[i], row->names ? row->names[i] : NULL, to);
    return good && (row->n > 0 || to->form.n_nodes == 1);
}

static lw_status
complain_result(builder *b, const lw_typed *typed, const char *role, const lw_tree *tree)
{
    lw_text came;
    lw_status status;

    lw_text_init(&came);
    lw_type_print(&typed->types, typed->instances.data[1].result, &came);
    status = lw_fail(b->err, LW_ERR_TYPE,
                     "reduce: %s function `%s` must give a number, or a tuple or a record of "
                     "numbers, not %s",
                     role, lw_reduce_name_of(tree), lw_text_get(&came));
    lw_text_reset(&came);
    return status;
}

lw_status
lw_reduce_result_shape(builder *b, const lw_typed *typed, const char *role, const lw_tree *tree,
                       shape *out)
{
    bool good;

    assert(typed != NULL);
    memset(out, 0, sizeof *out);
    good = add_type(&typed->types, typed->instances.data[1].result, NULL, out);
    if (out->too_many || (good && out->n < 1))
        return lw_fail(b->err, LW_ERR_TYPE,
                       "reduce: %s function `%s` gives a tuple of %s%u numbers; 1 to %d are "
                       "possible",
                       role, lw_reduce_name_of(tree), out->too_many ? "more than " : "",
                       (unsigned)out->n, LW_REDUCE_MOST);
    return good ? LW_OK : complain_result(b, typed, role, tree);
}

/* An array inside a record becomes nested tuples, one level for each of its dimensions from
 * `axis` on. */
static void
add_field(const lw_arg_field *field, uint32_t axis, const char *name, shape *to)
{
    if (axis == field->ndim) {
        if (field->record != NULL)
            lw_reduce_add_record(field->record, name, to);
        else
            lw_reduce_add_number(to, (lw_type)field->dtype, name);
        return;
    }
    lw_reduce_add_node(to, LW_REDUCE_TUPLE, (uint32_t)field->shape[axis], name);
    for (int64_t i = 0; i < field->shape[axis] && !to->too_many; i++)
        add_field(field, axis + 1, NULL, to);
}

void
lw_reduce_add_record(const lw_arg_record *record, const char *name, shape *to)
{
    lw_reduce_add_node(to, LW_REDUCE_RECORD, record->n, name);
    for (uint32_t i = 0; i < record->n && !to->too_many; i++)
        add_field(&record->fields[i], 0, record->fields[i].name, to);
}

bool
lw_reduce_same_places(const lw_reduce_form *x, const lw_reduce_form *y)
{
    if (x->n_nodes != y->n_nodes)
        return false;
    for (uint32_t i = 0; i < x->n_nodes; i++)
        if (x->node[i].n != y->node[i].n)
            return false;
    return true;
}

lw_dtype
lw_reduce_stored(lw_type type)
{
    return type == LW_T_INDEX       ? LW_DT_i64
           : type == LW_T_PYFLOAT   ? LW_DT_f64
           : type == LW_T_PYCOMPLEX ? LW_DT_c128
                                    : (lw_dtype)type;
}

static void
spec_of(lw_type type, lw_arg_spec *out)
{
    memset(out, 0, sizeof *out);
    out->kind = type >= LW_T_INDEX ? LW_ARGK_WEAK : LW_ARGK_SCALAR;
    out->dtype = lw_reduce_stored(type);
}

/* The argument type of node *node and its items; both counters move on. */
static lw_status
spec_of_node(builder *b, const shape *from, uint32_t *node, uint32_t *number, lw_arg_spec *out)
{
    const lw_reduce_node *at = &from->form.node[(*node)++];
    lw_arg_spec *items;
    const char **names;
    lw_status status = LW_OK;

    assert(*node <= from->form.n_nodes && *number <= from->n);
    if (at->kind == LW_REDUCE_NUMBER) {
        spec_of(from->type[(*number)++], out);
        return LW_OK;
    }
    items = lw_arena_take(&b->arena, at->n * sizeof *items);
    names = lw_arena_take(&b->arena, at->n * sizeof *names);
    if (items == NULL || names == NULL)
        return lw_fail_memory(b->err);
    *out =
        (lw_arg_spec){.kind = LW_ARGK_TUPLE, .dtype = LW_DT_void, .n = at->n, .items = items};
    out->readonly = at->kind == LW_REDUCE_RECORD;
    out->names = from->form.node[*node].name ? names : NULL;
    for (uint32_t i = 0; i < at->n; i++) {
        names[i] = from->form.node[*node].name;
        LW_TRY(spec_of_node(b, from, node, number, &items[i]));
    }
fail:
    return status;
}

lw_status
lw_reduce_spec_of(builder *b, const shape *from, lw_arg_spec *out)
{
    uint32_t node = 0, number = 0;

    return spec_of_node(b, from, &node, &number, out);
}

/* The user's variables for debuggers: which ones there are, their types as texts (lw_ir_var),
 * and a BIND wherever one gets a value. Arrays are shown with their strides, whatever their
 * layout. A name that stands for values of several types is shown once for each. Only functions
 * with a scope of their own have variables, so that inlined ones have none. */
#include "core/front/lower/lower_internal.h"

#include <ctype.h>
#include <string.h>

/* ---- types as texts ---- */

typedef struct span {
    uint32_t bytes, align;
} span;

static span add_type(lw_lower_frame *f, lw_type type, lw_text *out);
static void add_field(lw_lower_frame *f, lw_type type, lw_text *out);
static void add_record(lw_lower_frame *f, const lw_record *record, lw_text *out);

/* A name in quotes, in which there must be none. */
static void
add_name(const char *name, lw_text *out)
{
    for (; *name; name++)
        lw_text_addf(out, "%c", strchr("'\"\\;", *name) ? '_' : *name);
}

static span
add_dtype(lw_dtype dtype, lw_text *out)
{
    uint32_t bytes = dtype == LW_DT_b1 ? 1 : lw_dtypes[dtype].size_bytes;
    const char *part = lw_dtypes[lw_dtypes[dtype].parts].name;

    if (!lw_is_complex(dtype)) {
        lw_text_add(out, lw_dtypes[dtype].name);
        return (span){bytes, bytes};
    }
    lw_text_addf(out, "{'%s';%u;real:0:%s;imag:%u:%s;}", lw_dtypes[dtype].public_name, bytes,
                 part, bytes / 2, part);
    return (span){bytes, bytes / 2};
}

static span
add_array(lw_lower_frame *f, lw_type type, lw_text *out)
{
    const lw_type_row row = *lw_type_get(f->l->types, type);
    lw_text name = {0};

    lw_type_print(f->l->types, type, &name);
    lw_text_add(out, "{'");
    add_name(lw_text_get(&name), out);
    lw_text_addf(out, "';%u;data:0:*", 8 + 16 * row.ndim);
    add_field(f, row.elements[0], out);
    if (row.ndim > 0)
        lw_text_addf(out, ";shape:8:[%ui64];strides:%u:[%ui64]", row.ndim, 8 + 8 * row.ndim,
                     row.ndim);
    lw_text_add(out, ";}");
    lw_text_reset(&name);
    return (span){8 + 16 * row.ndim, 8};
}

/* A field in memory: also a sub-array, which has no header there. */
static void
add_field(lw_lower_frame *f, lw_type type, lw_text *out)
{
    const lw_type_row *row = lw_type_get(f->l->types, type);

    if (row != NULL && row->kind == LW_TK_RECORD) {
        add_record(f, row->record, out);
    } else if (row != NULL && row->kind == LW_TK_ARRAY && row->shape != NULL) {
        for (uint32_t i = 0; i < row->ndim; i++)
            lw_text_addf(out, "[%lld", (long long)row->shape[i]);
        add_field(f, row->elements[0], out);
        for (uint32_t i = 0; i < row->ndim; i++)
            lw_text_add(out, "]");
    } else {
        add_type(f, type, out);
    }
}

/* Members of what a record is in memory, where it lies behind its address. */
static void
add_record(lw_lower_frame *f, const lw_record *record, lw_text *out)
{
    lw_text_add(out, "{'");
    add_name(record->name ? record->name : "record", out);
    lw_text_addf(out, "';%u;", record->itemsize);
    for (uint32_t i = 0; i < record->n; i++) {
        const lw_record_field *field = &record->fields[i];

        add_name(field->name, out);
        lw_text_addf(out, ":%u:", field->offset);
        add_field(f, field->type, out);
        lw_text_add(out, ";");
    }
    lw_text_add(out, "}");
}

/* The struct's size stands before its members, so these are made first. */
static span
add_tuple(lw_lower_frame *f, lw_type type, lw_text *out)
{
    const lw_type_row row = *lw_type_get(f->l->types, type);
    lw_text members = {0}, name = {0};
    span all = {0, 1};

    for (uint32_t i = 0; i < row.n; i++) {
        lw_text member = {0};
        span one = {0, 1};

        if (lw_parts_of(f->l->types, row.elements[i]) > 0)
            one = add_type(f, row.elements[i], &member);
        if (one.bytes > 0) {
            all.bytes = (all.bytes + one.align - 1) / one.align * one.align;
            all.align = one.align > all.align ? one.align : all.align;
            if (row.kind == LW_TK_TUPLE && row.names)
                add_name(row.names[i], &members);
            else
                lw_text_addf(&members, "_%u", i);
            lw_text_addf(&members, ":%u:%s;", all.bytes, lw_text_get(&member));
            all.bytes += one.bytes;
        }
        lw_text_reset(&member);
    }
    all.bytes = (all.bytes + all.align - 1) / all.align * all.align;
    lw_type_print(f->l->types, type, &name);
    lw_text_add(out, "{'");
    add_name(lw_text_get(&name), out);
    lw_text_addf(out, "';%u;%s}", all.bytes, lw_text_get(&members));
    lw_text_reset(&members);
    lw_text_reset(&name);
    return all;
}

static span
add_type(lw_lower_frame *f, lw_type type, lw_text *out)
{
    const lw_type_row *row = lw_type_get(f->l->types, type);

    switch (lw_type_kind_of(f->l->types, type)) {
    case LW_TK_SCALAR:
    case LW_TK_WEAK:
    case LW_TK_MEMBER:
    case LW_TK_TEXT:
    case LW_TK_LITERAL: {
        lw_dtype stored = lw_type_stored(f->l->types, type);
        return add_dtype(lw_is_time(stored) ? lw_dtypes[stored].parts : stored, out);
    }
    case LW_TK_TUPLE:
    case LW_TK_FUNCTION: return add_tuple(f, type, out);
    case LW_TK_ARRAY: return add_array(f, type, out);
    case LW_TK_RECORD:
        lw_text_add(out, "*");
        add_record(f, row->record, out);
        return (span){8, 8};
    default: return (span){0, 1};
    }
}

/* ---- the leaves of a value ---- */

typedef LW_ARRAY(lw_ref) leaves;

static void
add_leaf(lw_lower_frame *f, leaves *out, lw_ref value)
{
    lw_ref *slot = lw_array_push(out, f->l->arena);

    if (slot != NULL)
        *slot = value;
}

static void
add_leaves(lw_lower_frame *f, lw_lower_value value, leaves *out)
{
    const lw_type_row *row = lw_type_get(f->l->types, value.type);
    lw_type_kind kind = lw_type_kind_of(f->l->types, value.type);

    if (value.n == 0)
        return;
    if (kind == LW_TK_ARRAY) {
        uint32_t ndim = row->ndim;
        add_leaf(f, out, value.parts[0]);
        for (uint32_t i = 0; i < ndim; i++)
            add_leaf(f, out, lw_array_extent(f, value, i));
        for (uint32_t i = 0; i < ndim; i++)
            add_leaf(f, out, lw_array_stride(f, value, i));
    } else if (kind == LW_TK_RECORD) { /* without the reference */
        add_leaf(f, out, value.parts[0]);
    } else if (kind == LW_TK_TUPLE || kind == LW_TK_FUNCTION) {
        for (uint32_t i = 0, n = row->n; i < n; i++)
            add_leaves(f, lw_value_element(f, value, i), out);
    } else {
        for (uint32_t i = 0; i < value.n; i++)
            add_leaf(f, out, value.parts[i]);
    }
}

/* ---- variables ---- */

/* From 1; 0: the parameter that it is has no number. */
static uint32_t
argument_of(const lw_lower_frame *f, uint32_t var)
{
    for (uint32_t i = 0; i < f->fn->params.n; i++)
        if (f->fn->params.data[i].var == var)
            return i + 1;
    return 0;
}

/* Webs of one variable with one type share what is shown. A second type gets another name, as
 * a debugger finds one variable by a name. */
static uint32_t
variable_of(lw_lower_frame *f, uint32_t web)
{
    const lw_web *row = &f->inst->webs.data[web];
    const char *name = f->fn->vars.data[row->var].name, *shown;
    lw_func *func = f->b.func;
    lw_text type = {0}, other = {0};
    uint32_t found = 0, n_same = 0;
    lw_ir_var *var;

    add_type(f, row->type, &type);
    for (uint32_t i = 1; i < f->inst->webs.n && found == 0; i++) {
        if (f->shown[i] == 0 || f->inst->webs.data[i].var != row->var)
            continue;
        if (strcmp(func->vars.data[f->shown[i] - 1].type, lw_text_get(&type)) == 0)
            found = f->shown[i];
        n_same++;
    }
    if (found == 0 && (var = lw_array_push(&func->vars, f->l->arena)) != NULL) {
        lw_text_addf(&other, "%s__%u", name, n_same + 1);
        shown = n_same ? lw_text_get(&other) : name;
        var->name = lw_arena_strdup(f->l->arena, shown);
        var->type = lw_arena_strdup(f->l->arena, lw_text_get(&type));
        var->line = f->l->tree->locs.data[lw_node_at(f, f->node)->loc].line;
        var->line = var->line ? var->line : f->fn->line;
        var->file = func->file;
        var->arg = n_same ? 0 : argument_of(f, row->var);
        found = func->vars.n;
    }
    lw_text_reset(&type);
    lw_text_reset(&other);
    return found;
}

void
lw_lower_show(lw_lower_frame *f, uint32_t web, lw_lower_value value)
{
    const char *name = f->fn->vars.data[f->inst->webs.data[web].var].name;
    leaves all = {0};

    if (f->converted_arms || f->inlined_result || value.n == 0 || f->b.func == NULL ||
        lw_type_kind_of(f->l->types, value.type) == LW_TK_RANGE || name == NULL ||
        !(isalpha((unsigned char)name[0]) || name[0] == '_' || (name[0] & 0x80)))
        return;
    if (f->shown[web] == 0)
        f->shown[web] = variable_of(f, web);
    if (f->shown[web] == 0)
        return; /* memory is out */
    add_leaves(f, value, &all);
    lw_ir_emit(&f->b, LW_OP_BIND, LW_DT_void, f->shown[web] - 1,
               lw_ir_list(&f->b, all.data, all.n), all.n);
}

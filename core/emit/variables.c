/* The user's variables in debug information (lw_ir_var). Each has memory of its own in the
 * function's entry, which llvm.dbg.declare names and every BIND writes to; where code is
 * optimised, LLVM makes of it what it can. Both readers take the same metadata.
 *
 * The types are texts, which are read here: a cursor moves over one, and each part of it
 * becomes a node of metadata, or a leaf at its offset. */
#include "core/emit/emit_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- reading a type ---- */

static bool
skip(const char **at, char c)
{
    if (**at != c)
        return false;
    (*at)++;
    return true;
}

static uint32_t
read_number(const char **at)
{
    char *end = NULL;
    unsigned long number = strtoul(*at, &end, 10);

    *at = end;
    return (uint32_t)number;
}

/* Up to the character, which is skipped. */
static void
read_name(const char **at, char stop, char *out, size_t room)
{
    size_t n = 0;

    for (; **at && **at != stop; (*at)++)
        if (n + 1 < room)
            out[n++] = **at;
    out[n] = 0;
    skip(at, stop);
}

static lw_dtype
read_dtype(const char **at)
{
    size_t n = strspn(*at, "abcdefghijklmnopqrstuvwxyz0123456789");
    lw_dtype found = LW_DT_void;

    for (int i = 0; i < LW_N_DTYPES; i++)
        if (strlen(lw_dtypes[i].name) == n && strncmp(lw_dtypes[i].name, *at, n) == 0)
            found = (lw_dtype)i;
    *at += n;
    return found;
}

static uint32_t
bytes_of(lw_dtype dtype)
{
    return dtype == LW_DT_b1 ? 1 : lw_dtypes[dtype].size_bytes;
}

/* ---- metadata ---- */

static uint32_t type_node(lw_emitter *e, const char **at, uint32_t *bytes);

/* A bfloat16 is shown as its bits: DWARF has no such number. */
static uint32_t
number_node(lw_emitter *e, lw_dtype dtype, uint32_t *bytes)
{
    const char *encoding = dtype == LW_DT_b1     ? "DW_ATE_boolean"
                           : dtype == LW_DT_bf16 ? "DW_ATE_unsigned"
                           : lw_is_float(dtype)  ? "DW_ATE_float"
                           : lw_is_signed(dtype) ? "DW_ATE_signed"
                                                 : "DW_ATE_unsigned";

    *bytes = bytes_of(dtype);
    return lw_metadata(e, "!DIBasicType(name: \"$s\", size: $u, encoding: $s)",
                       lw_dtypes[dtype].public_name, 8 * *bytes, encoding);
}

static uint32_t
list_node(lw_emitter *e, const char **at, uint32_t *bytes)
{
    uint32_t n = read_number(at), item, of = type_node(e, at, &item), range;

    skip(at, ']');
    *bytes = n * item;
    range = lw_metadata(e, "!DISubrange(count: $u)", n);
    return lw_metadata(e,
                       "!DICompositeType(tag: DW_TAG_array_type, baseType: !$u, size: $u, "
                       "elements: !{!$u})",
                       of, 8 * *bytes, range);
}

static uint32_t
struct_node(lw_emitter *e, const char **at, uint32_t *bytes)
{
    char name[128], member[64];
    uint32_t file = lw_debug_file(e, 1), node;
    lw_text members = {0};

    skip(at, '\'');
    read_name(at, '\'', name, sizeof name);
    skip(at, ';');
    *bytes = read_number(at);
    skip(at, ';');
    while (**at && **at != '}') {
        uint32_t offset, size, of;
        read_name(at, ':', member, sizeof member);
        offset = read_number(at);
        skip(at, ':');
        of = type_node(e, at, &size);
        skip(at, ';');
        lw_text_addf(&members, "%s!%u", members.n ? ", " : "",
                     lw_metadata(e,
                                 "!DIDerivedType(tag: DW_TAG_member, name: \"$s\", "
                                 "file: !$u, baseType: !$u, size: $u, offset: $u)",
                                 member, file, of, 8 * size, 8 * offset));
    }
    skip(at, '}');
    node = lw_metadata(e,
                       "!DICompositeType(tag: DW_TAG_structure_type, name: \"$s\", "
                       "file: !$u, size: $u, elements: !{$s})",
                       name, file, 8 * *bytes, lw_text_get(&members));
    e->out->failed |= members.failed;
    lw_text_reset(&members);
    return node;
}

static uint32_t
type_node(lw_emitter *e, const char **at, uint32_t *bytes)
{
    uint32_t of;

    if (skip(at, '{'))
        return struct_node(e, at, bytes);
    if (skip(at, '['))
        return list_node(e, at, bytes);
    if (!skip(at, '*'))
        return number_node(e, read_dtype(at), bytes);
    of = type_node(e, at, bytes);
    *bytes = 8;
    return lw_metadata(e, "!DIDerivedType(tag: DW_TAG_pointer_type, baseType: !$u, size: 64)",
                       of);
}

/* Each text once. */
static uint32_t
type_of(lw_emitter *e, const char *text, uint32_t *bytes)
{
    lw_shown_type *row;

    for (uint32_t i = 0; i < e->shown_types.n; i++)
        if (strcmp(e->shown_types.data[i].text, text) == 0) {
            *bytes = e->shown_types.data[i].bytes;
            return e->shown_types.data[i].node;
        }
    row = lw_array_push(&e->shown_types, NULL);
    if (row == NULL) {
        e->out->failed = true;
        return 0;
    }
    *row = (lw_shown_type){.text = text};
    row->node = type_node(e, &text, &row->bytes);
    *bytes = row->bytes;
    return row->node;
}

/* ---- leaves ---- */

typedef struct leaf {
    lw_dtype dtype;
    uint32_t offset;
} leaf;

typedef LW_ARRAY(leaf) leaves;

static void
pass_behind(const char **at)
{
    uint32_t depth = 0;

    do { /* what is behind an address: a number, or all between the braces */
        if (**at == '{')
            depth++;
        else if (**at == '}')
            depth--;
        if (**at)
            (*at)++;
    } while (**at && (depth > 0 || (**at != ';' && **at != ']' && **at != '}')));
}

/* Gives the bytes of the type. */
static uint32_t
find_leaves(const char **at, uint32_t offset, leaves *out)
{
    leaf *slot;

    if (skip(at, '[')) {
        uint32_t n = read_number(at), bytes = 0;
        const char *item = *at;
        for (uint32_t i = 0; i < n; i++) {
            *at = item;
            bytes += find_leaves(at, offset + bytes, out);
        }
        skip(at, ']');
        return bytes;
    }
    if (skip(at, '{')) {
        char name[4];
        uint32_t bytes;
        skip(at, '\'');
        read_name(at, '\'', name, sizeof name);
        skip(at, ';');
        bytes = read_number(at);
        skip(at, ';');
        while (**at && !skip(at, '}')) {
            read_name(at, ':', name, sizeof name);
            uint32_t member = read_number(at);
            skip(at, ':');
            find_leaves(at, offset + member, out);
            skip(at, ';');
        }
        return bytes;
    }
    slot = lw_array_push(out, NULL);
    if (slot == NULL)
        return 8;
    if (skip(at, '*')) {
        *slot = (leaf){LW_DT_ptr, offset};
        pass_behind(at);
        return 8;
    }
    *slot = (leaf){read_dtype(at), offset};
    return bytes_of(slot->dtype);
}

/* ---- code ---- */

static bool
shows(const lw_emitter *e)
{
    return e->options->variables && e->scope != 0;
}

/* Memory, its name in debug information, and what is there before the first BIND. */
void
lw_variables_begin(lw_emitter *e)
{
    for (uint32_t i = 0; shows(e) && i < e->func->vars.n; i++) {
        const lw_ir_var *var = &e->func->vars.data[i];
        uint32_t bytes = 0, type = type_of(e, var->type, &bytes), node;
        char arg[24] = "", room[32];

        if (var->arg)
            snprintf(arg, sizeof arg, "arg: %u, ", var->arg);
        node = lw_metadata(e,
                           "!DILocalVariable(name: \"$s\", $sscope: !$u, file: !$u, line: $u, "
                           "type: !$u)",
                           var->name, arg, e->scope,
                           lw_debug_file(e, var->file ? var->file : 1), var->line, type);
        snprintf(room, sizeof room, "[%u x i8]", bytes);
        lw_line(e, "%shown_$u = alloca $s, align 16", i, room);
        lw_line(e, "store $s zeroinitializer, $s$s %shown_$u, align 8", room,
                e->typed ? room : "ptr", e->typed ? "*" : "", i);
        lw_line(e,
                "call void @llvm.dbg.declare(metadata $s$s %shown_$u, metadata !$u, metadata "
                "!DIExpression())",
                e->typed ? room : "ptr", e->typed ? "*" : "", i, node);
        lw_declare_line(e, "declare void @llvm.dbg.declare(metadata, metadata, metadata)\n");
        if (e->typed)
            lw_line(e, "%shown_$u_at = bitcast $s* %shown_$u to i8*", i, room, i);
    }
}

/* Debuggers have no type for values that may be None, so these are not shown. */
static bool
are_shown(const leaves *all, uint32_t n)
{
    for (uint32_t i = 0; i < all->n; i++)
        if (all->data[i].dtype == LW_DT_void)
            return false;
    return all->n == n;
}

void
lw_emit_bind(lw_emitter *e)
{
    uint32_t number = e->inst->a;
    const char *type = e->func->vars.data[number].type;
    leaves all = {0};

    if (!shows(e))
        return;
    find_leaves(&type, 0, &all);
    for (uint32_t i = 0; are_shown(&all, e->inst->c) && i < all.n; i++) {
        lw_name value = lw_operand(e, e->func->lists.data[e->inst->b + i]), at;
        const char *stored = lw_type(e, all.data[i].dtype);

        if (all.data[i].dtype == LW_DT_b1) {
            value = lw_def(e, "zext i1 $s to i8", value.text);
            stored = "i8";
        }
        at = lw_def(e, "getelementptr i8, $s %shown_$u$s, i64 $u", e->typed ? "i8*" : "ptr",
                    number, e->typed ? "_at" : "", all.data[i].offset);
        if (e->typed)
            at = lw_def(e, "bitcast i8* $s to $s*", at.text, stored);
        lw_line(e, "store $s $s, $s$s $s, align $u", stored, value.text,
                e->typed ? stored : "ptr", e->typed ? "*" : "", at.text,
                all.data[i].dtype == LW_DT_ptr ? 8 : bytes_of(all.data[i].dtype));
    }
    lw_array_free(&all);
}

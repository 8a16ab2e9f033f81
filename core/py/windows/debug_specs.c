#include "core/py/windows/debug_specs.h"

#include "core/front/signature.h"

#include <string.h>

static const struct weak_name {
    const char *name;
    lw_dtype dtype;
} weak_names[] = {{"index", LW_DT_i64}, {"pyfloat", LW_DT_f64}, {"pycomplex", LW_DT_c128}};

static lw_status
spec_of_sig(const lw_sig_type *type, lw_arena *arena, lw_arg_spec *out, lw_error *err)
{
    lw_arg_spec *items;
    lw_status status = LW_OK;

    *out = (lw_arg_spec){.kind = LW_ARGK_SCALAR, .dtype = type->dtype};
    if (type->kind == LW_SIG_ARRAY) {
        out->kind = LW_ARGK_ARRAY;
        out->ndim = (uint8_t)type->ndim;
        out->layout = type->layout == 'C'   ? LW_LAYOUT_C
                      : type->layout == 'F' ? LW_LAYOUT_F
                                            : LW_LAYOUT_ANY;
        out->readonly = type->readonly;
        return LW_OK;
    }
    if (type->kind != LW_SIG_TUPLE)
        return LW_OK;
    items = lw_arena_take(arena, (type->n + 1) * sizeof *items);
    if (items == NULL)
        return lw_fail_memory(err);
    for (uint32_t i = 0; i < type->n; i++)
        LW_TRY(spec_of_sig(&type->items[i], arena, &items[i], err));
    *out = (lw_arg_spec){.kind = LW_ARGK_TUPLE, .n = type->n, .items = items};
fail:
    return status;
}

static lw_status parse_one(const char *word, const lw_debug_records *records, lw_arena *arena,
                           lw_arg_spec *out, lw_error *err);

/* Read as if it were a bool, which is then replaced. */
static lw_status
parse_record(const char *word, const lw_debug_records *records, lw_arena *arena,
             lw_arg_spec *out, lw_error *err)
{
    uint32_t which = (uint32_t)(word[6] - '0');
    lw_text text = {0};
    lw_status status;

    if (records == NULL || which >= records->n)
        return lw_fail(err, LW_ERR_VALUE, "no record dtype for '%s'", word);
    lw_text_addf(&text, "bool%s", word + 7);
    LW_TRY(parse_one(lw_text_get(&text), NULL, arena, out, err));
    out->kind = out->kind == LW_ARGK_SCALAR ? LW_ARGK_RECORD : out->kind;
    out->dtype = LW_DT_void;
    out->record = records->rows[which];
fail:
    lw_text_reset(&text);
    return status;
}

static lw_status
parse_one(const char *word, const lw_debug_records *records, lw_arena *arena, lw_arg_spec *out,
          lw_error *err)
{
    bool readonly = strncmp(word, "const ", 6) == 0, zero = false;
    lw_sig_type type;
    lw_status status;
    char name[64];

    word += readonly ? 6 : 0;
    if (strncmp(word, "record", 6) == 0) {
        LW_TRY(parse_record(word, records, arena, out, err));
        out->readonly = readonly;
        return LW_OK;
    }
    for (size_t i = 0; i < sizeof weak_names / sizeof *weak_names; i++)
        if (strcmp(word, weak_names[i].name) == 0) {
            *out = (lw_arg_spec){.kind = LW_ARGK_WEAK, .dtype = weak_names[i].dtype};
            return LW_OK;
        }
    if (strlen(word) > 2 && strlen(word) < sizeof name &&
        strcmp(word + strlen(word) - 2, "[]") == 0) { /* 0-d: signatures have no form for it */
        memcpy(name, word, strlen(word) - 2);
        name[strlen(word) - 2] = '\0';
        word = name;
        zero = true;
    }
    LW_TRY(lw_signature_parse_type(word, arena, &type, err));
    LW_TRY(spec_of_sig(&type, arena, out, err));
    if (zero)
        *out = (lw_arg_spec){.kind = LW_ARGK_ARRAY, .dtype = type.dtype, .layout = LW_LAYOUT_C};
    out->readonly |= readonly;
fail:
    return status;
}

/* Up to the next comma outside of brackets. */
static size_t
item_length(const char *list)
{
    int depth = 0;
    size_t n = 0;

    for (; list[n] && (list[n] != ',' || depth > 0); n++)
        depth += (list[n] == '[' || list[n] == '(') - (list[n] == ']' || list[n] == ')');
    return n;
}

lw_status
lw_debug_specs(const char *list, const lw_debug_records *records, lw_arena *arena,
               lw_arg_spec *out, uint32_t *n, lw_error *err)
{
    lw_status status = LW_OK;

    *n = 0;
    while (*list) {
        size_t length = item_length(list), skip = strspn(list, " "), end = length;
        char *word;

        while (end > skip && list[end - 1] == ' ')
            end--;
        if (*n == LW_MAX_DEBUG_SPECS)
            return lw_fail(err, LW_ERR_VALUE, "too many types");
        word = end > skip ? lw_arena_strndup(arena, list + skip, end - skip) : NULL;
        if (end > skip && word == NULL)
            return lw_fail_memory(err);
        if (word)
            LW_TRY(parse_one(word, records, arena, &out[(*n)++], err));
        list += length + (list[length] == ',');
    }
fail:
    return status;
}

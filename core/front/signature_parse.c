/* The parser of signatures: recursive descent over bytes. The only names it knows are those of
 * the tables below. */
#include "core/front/signature_internal.h"

#include "core/front/diagnose.h"
#include "core/front/named_records.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DEPTH = 16, MAX_NDIM = 32 };

/* Spellings beside those of dtypes.def: C's names, NumPy's and numba's. */
static const struct spelling {
    const char *name;
    lw_dtype dtype;
} spellings[] = {
    {"bool_", LW_DT_b1},     {"boolean", LW_DT_b1},    {"byte", LW_DT_i8},
    {"char", LW_DT_i8},      {"ubyte", LW_DT_u8},      {"uchar", LW_DT_u8},
    {"short", LW_DT_i16},    {"ushort", LW_DT_u16},    {"intc", LW_DT_i32},
    {"uintc", LW_DT_u32},    {"int", LW_DT_i64},       {"int_", LW_DT_i64},
    {"long", LW_DT_i64},     {"long_", LW_DT_i64},     {"ulong", LW_DT_u64},
    {"longlong", LW_DT_i64}, {"ulonglong", LW_DT_u64}, {"intp", LW_DT_i64},
    {"uintp", LW_DT_u64},    {"uint", LW_DT_u64},      {"ssize_t", LW_DT_i64},
    {"size_t", LW_DT_u64},   {"half", LW_DT_f16},      {"bfloat16", LW_DT_bf16},
    {"single", LW_DT_f32},   {"double", LW_DT_f64},    {"float", LW_DT_f64},
    {"float_", LW_DT_f64},   {"csingle", LW_DT_c64},   {"cdouble", LW_DT_c128},
    {"complex", LW_DT_c128},
};

_Static_assert(sizeof(void *) == 8, "intp and long are 64 bits here");

lw_dtype
lw_scalar_from_name(const char *name, size_t n_bytes)
{
    for (size_t i = 0; i < sizeof spellings / sizeof *spellings; i++)
        if (strlen(spellings[i].name) == n_bytes &&
            memcmp(spellings[i].name, name, n_bytes) == 0)
            return spellings[i].dtype;
    lw_dtype time = lw_time_from_name(name, (unsigned)n_bytes);

    if (time != LW_DT_void)
        return time;
    return n_bytes > 0 && n_bytes < 32 ? lw_dtype_from_name(name, (unsigned)n_bytes)
                                       : LW_DT_void;
}

/* ---- errors ---- */

lw_status
lw_signature_fail(const lw_signature_parser *s, const char *start, const char *end,
                  const char *code, const char *help, const char *format, ...)
{
    lw_text text;
    va_list args;

    if (s->err == NULL || s->err->status != LW_OK)
        return LW_ERR_SIGNATURE;
    lw_text_init(&text);
    lw_text_addf(&text, "%s: ", code);
    va_start(args, format);
    lw_text_addv(&text, format, args);
    va_end(args);
    lw_text_add_excerpt(&text, 2, s->text, start, end);
    if (help != NULL)
        lw_text_addf(&text, "\n  = help: %s", help);
    lw_fail(s->err, LW_ERR_SIGNATURE, "%s", lw_text_get(&text));
    lw_text_reset(&text);
    snprintf(s->err->code, sizeof s->err->code, "%s", code);
    s->err->col = (uint32_t)(start - s->text);
    s->err->end_col = (uint32_t)(end - s->text);
    s->err->help = help ? lw_strdup(help) : NULL;
    return LW_ERR_SIGNATURE;
}

/* What there is in place of a type that only numba's signatures have; NULL: nothing. */
static const char *
instead_of(const char *word)
{
    static const struct {
        const char *name, *instead;
    } rows[] = {
#define FOREIGN_TYPE(name, instead) {#name, instead},
#include "core/tables/foreign_types.def"
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(word, rows[i].name) == 0)
            return rows[i].instead;
    return NULL;
}

static lw_status
unknown_type(const lw_signature_parser *s, const char *start, const char *end)
{
    const char *names[sizeof spellings / sizeof *spellings + 2 * LW_N_DTYPES + 4], *near,
        *instead;
    char word[64];
    uint32_t n = 0;
    int length = end - start < 63 ? (int)(end - start) : 63;

    for (int i = LW_DT_void; i < LW_DT_ptr; i++) {
        names[n++] = lw_dtypes[i].public_name;
        if (*lw_dtypes[i].alias)
            names[n++] = lw_dtypes[i].alias;
    }
    for (size_t i = 0; i < sizeof spellings / sizeof *spellings; i++)
        names[n++] = spellings[i].name;
    names[n++] = "Tuple";
    names[n++] = "UniTuple";
    snprintf(word, sizeof word, "%.*s", length, start);
    instead = instead_of(word);
    if (instead != NULL)
        return lw_signature_fail(s, start, end, "E180", instead, "unknown type `%s`", word);
    near = lw_nearest(word, names, n);
    if (near != NULL)
        return lw_signature_fail(s, start, end, "E180", NULL,
                                 "unknown type `%s`; did you mean `%s`?", word, near);
    return lw_signature_fail(s, start, end, "E180",
                             "types are bool, int8 … uint64, float16 … complex128",
                             "unknown type `%s`", word);
}

static lw_status
expected(const lw_signature_parser *s, const char *what)
{
    if (*s->p == '\0')
        return lw_signature_fail(s, s->p, s->p + 1, "E180", NULL, "expected %s before the end",
                                 what);
    return lw_signature_fail(s, s->p, s->p + 1, "E180", NULL, "expected %s, not `%c`", what,
                             *s->p);
}

/* ---- tokens ---- */

static void
skip_space(lw_signature_parser *s)
{
    while (isspace((unsigned char)*s->p))
        s->p++;
}

static bool
accept(lw_signature_parser *s, const char *token)
{
    size_t n = strlen(token);

    skip_space(s);
    if (strncmp(s->p, token, n) != 0)
        return false;
    s->p += n;
    return true;
}

static bool
is_name_char(char c)
{
    return isalnum((unsigned char)c) || c == '_' || (unsigned char)c >= 0x80;
}

/* ---- types ---- */

static lw_status parse_type(lw_signature_parser *s, lw_sig_type *out);

typedef LW_ARRAY(lw_sig_type) type_list;

/* Parses types up to `)`, which is consumed; a trailing comma is allowed. */
static lw_status
parse_types(lw_signature_parser *s, const lw_sig_type **items, uint32_t *n)
{
    type_list list = {0};
    lw_status status;

    while (!accept(s, ")")) {
        lw_sig_type *slot;
        if (list.n > 0 && !accept(s, ","))
            return expected(s, "`,` or `)`");
        if (list.n > 0 && accept(s, ")"))
            break;
        slot = lw_array_push(&list, s->arena);
        if (slot == NULL)
            return lw_fail_memory(s->err);
        status = parse_type(s, slot);
        if (status != LW_OK)
            return status;
    }
    *items = list.data;
    *n = list.n;
    return LW_OK;
}

/* Parses dimensions up to `]`. [::1] and [:, ::1] are C, [::1, :] is Fortran, all others are
 * strided. */
static lw_status
parse_dims(lw_signature_parser *s, lw_sig_type *out)
{
    const char *start = s->p;
    uint32_t n = 0, contiguous = 0;
    bool first = false, last = false;

    do {
        skip_space(s);
        if (!accept(s, ":"))
            return expected(s, "`:` or `::1`");
        last = accept(s, ":");
        if (last && !accept(s, "1"))
            return lw_signature_fail(s, s->p, s->p + 1, "E180",
                                     "`::1` marks the contiguous axis",
                                     "expected `1` after `::`");
        contiguous += last;
        first = n == 0 ? last : first;
        n++;
    } while (accept(s, ","));
    if (!accept(s, "]"))
        return expected(s, "`,` or `]`");
    if (n > MAX_NDIM)
        return lw_signature_fail(s, start, s->p, "E180", NULL,
                                 "arrays have at most %d dimensions", MAX_NDIM);
    if (contiguous > 1 || (contiguous == 1 && !first && !last))
        return lw_signature_fail(s, start, s->p, "E180",
                                 "[:, ::1] is C order, [::1, :] Fortran order",
                                 "only the first or the last axis can be contiguous");
    out->kind = LW_SIG_ARRAY;
    out->ndim = n;
    out->layout = last ? 'C' : first ? 'F' : 'A';
    return LW_OK;
}

/* A keyword argument's value, where the keyword may be left out. */
static lw_status
parse_flag(lw_signature_parser *s, const char *keyword, bool *out)
{
    const char *before = s->p;

    if (accept(s, keyword) && !accept(s, "="))
        s->p = before;
    *out = accept(s, "True");
    return *out || accept(s, "False") ? LW_OK : expected(s, "True or False");
}

/* Behind the layout: readonly, and aligned, which makes no difference here. */
static lw_status
parse_array_flags(lw_signature_parser *s, lw_sig_type *out)
{
    bool aligned;
    lw_status status = LW_OK;

    while (status == LW_OK && accept(s, ",")) {
        skip_space(s);
        status = strncmp(s->p, "aligned", 7) == 0 ? parse_flag(s, "aligned", &aligned)
                                                  : parse_flag(s, "readonly", &out->readonly);
    }
    if (status != LW_OK)
        return status;
    return accept(s, ")") ? LW_OK : expected(s, "`,` or `)`");
}

/* The rest of "Array(float32, 2, 'C', readonly=True)", as numba's type is called and printed.
 */
static lw_status
parse_array(lw_signature_parser *s, lw_sig_type *out)
{
    lw_status status = parse_type(s, out);
    char *end, quote;

    if (status != LW_OK)
        return status;
    if (out->kind != LW_SIG_SCALAR && out->kind != LW_SIG_RECORD)
        return expected(s, "the type of an element");
    if (!accept(s, ","))
        return expected(s, "`,` and the number of dimensions");
    skip_space(s);
    out->ndim = isdigit((unsigned char)*s->p) ? (uint32_t)strtoul(s->p, &end, 10) : 0;
    if (out->ndim < 1 || out->ndim > MAX_NDIM)
        return lw_signature_fail(s, s->p, s->p + 1, "E180", NULL,
                                 "expected a number of dimensions from 1 to %d", MAX_NDIM);
    s->p = end;
    if (!accept(s, ","))
        return expected(s, "`,` and the layout");
    skip_space(s);
    quote = *s->p;
    if ((quote != '\'' && quote != '"') || s->p[1] == '\0' || strchr("ACF", s->p[1]) == NULL ||
        s->p[2] != quote)
        return expected(s, "'A', 'C' or 'F'");
    out->kind = LW_SIG_ARRAY;
    out->layout = s->p[1] == 'F' && out->ndim == 1 ? 'C' : s->p[1];
    s->p += 3;
    return parse_array_flags(s, out);
}

static lw_status
parse_uni_tuple(lw_signature_parser *s, lw_sig_type *out, const char *start)
{
    lw_sig_type item, *items;
    lw_status status = parse_type(s, &item);
    long n;
    char *end;

    if (status != LW_OK)
        return status;
    if (!accept(s, ",") && !accept(s, "x")) /* numba prints "UniTuple(int64 x 3)" */
        return expected(s, "`,` and a count");
    skip_space(s);
    n = isdigit((unsigned char)*s->p) ? strtol(s->p, &end, 10) : 0;
    if (n < 1 || n > 64)
        return lw_signature_fail(s, s->p, s->p + 1, "E180", NULL,
                                 "expected a count from 1 to 64");
    s->p = end;
    if (!accept(s, ")"))
        return expected(s, "`)`");
    items = lw_arena_take(s->arena, (size_t)n * sizeof *items);
    if (items == NULL)
        return lw_fail_memory(s->err);
    for (long i = 0; i < n; i++)
        items[i] = item;
    *out = (lw_sig_type){.kind = LW_SIG_TUPLE,
                         .n = (uint32_t)n,
                         .items = items,
                         .col = (uint32_t)(start - s->text)};
    return LW_OK;
}

/* The rest of "optional(uint64)". */
static lw_status
parse_optional(lw_signature_parser *s, lw_sig_type *out, const char *start)
{
    lw_sig_type *item = lw_arena_take(s->arena, sizeof *item);
    lw_status status;

    if (item == NULL)
        return lw_fail_memory(s->err);
    status = parse_type(s, item);
    if (status != LW_OK)
        return status;
    if (s->depth > 1 || item->kind == LW_SIG_VOID)
        return lw_signature_fail(s, start, s->p, "E180", NULL,
                                 "only whole arguments, of a type, are optional");
    out->kind = LW_SIG_OPTIONAL;
    out->n = 1;
    out->items = item;
    return accept(s, ")") ? LW_OK : expected(s, "`)`");
}

/* numba's spelling of "float64*": CPointer(float64). */
static lw_status
parse_pointer(lw_signature_parser *s, lw_sig_type *out, const char *start)
{
    lw_status status = parse_type(s, out);

    if (status != LW_OK)
        return status;
    if (out->kind != LW_SIG_SCALAR && out->kind != LW_SIG_VOID && out->kind != LW_SIG_RECORD)
        return lw_signature_fail(s, start, s->p, "E180", NULL,
                                 "a pointer must be to a number or a record, or `void*`");
    if (out->kind == LW_SIG_VOID)
        out->dtype = LW_DT_void;
    out->kind = LW_SIG_POINTER;
    return accept(s, ")") ? LW_OK : expected(s, "`)`");
}

static bool
is_word(const char *start, const char *end, const char *word)
{
    return (size_t)(end - start) == strlen(word) && memcmp(start, word, strlen(word)) == 0;
}

static lw_status
parse_name(lw_signature_parser *s, const char **out)
{
    const char *start;
    char *copy;

    skip_space(s);
    start = s->p;
    while (is_name_char(*s->p))
        s->p++;
    if (s->p == start)
        return expected(s, "a name");
    copy = lw_arena_take(s->arena, (size_t)(s->p - start) + 1);
    if (copy == NULL)
        return lw_fail_memory(s->err);
    memcpy(copy, start, (size_t)(s->p - start));
    copy[s->p - start] = '\0';
    *out = copy;
    return LW_OK;
}

/* The rest of "NamedTuple(Point, x: float32, y: float64)", after the parenthesis. */
static lw_status
parse_named_tuple(lw_signature_parser *s, lw_sig_type *out)
{
    LW_ARRAY(const char *) names = {0};
    type_list items = {0};
    lw_status status = parse_name(s, &out->class_name);

    while (status == LW_OK && !accept(s, ")")) {
        const char **name = lw_array_push(&names, s->arena);
        lw_sig_type *item = lw_array_push(&items, s->arena);
        if (name == NULL || item == NULL)
            return lw_fail_memory(s->err);
        if (!accept(s, ","))
            return expected(s, "`,` or `)`");
        status = parse_name(s, name);
        if (status == LW_OK && !accept(s, ":"))
            return expected(s, "`:` and a type");
        if (status == LW_OK)
            status = parse_type(s, item);
    }
    out->kind = LW_SIG_TUPLE;
    out->n = items.n;
    out->items = items.data;
    out->names = names.data;
    return status;
}

/* The rest of "Record(x: float32)", with "#2" behind it where several records share that
 * name. */
static lw_status
parse_record(lw_signature_parser *s, lw_sig_type *out, const char *start)
{
    int depth = 0;

    do {
        depth += (*s->p == '(') - (*s->p == ')');
    } while (*s->p++ != '\0' && depth > 0);
    if (depth > 0) {
        s->p--;
        return expected(s, "`)`");
    }
    if (*s->p == '#')
        s->p += 1 + strspn(s->p + 1, "0123456789");
    out->kind = LW_SIG_RECORD;
    out->record = lw_named_record_find(start, (size_t)(s->p - start));
    if (out->record == NULL)
        return lw_signature_fail(s, start, s->p, "E180",
                                 "pass lw.from_dtype(dtype), or use it once before the text",
                                 "no record type has this name yet");
    if (accept(s, "*")) {
        out->kind = LW_SIG_POINTER;
        return LW_OK;
    }
    return accept(s, "[") ? parse_dims(s, out) : LW_OK;
}

/* The name of a time ends behind its unit, "M8[D]". What stands in brackets after that, or in
 * its place, are dimensions. */
static const char *
unit_end(lw_signature_parser *s, const char *start, const char *end)
{
    const char *close = *end == '[' ? strchr(end, ']') : NULL;

    if (close == NULL || lw_time_from_name(start, (unsigned)(close + 1 - start)) == LW_DT_void)
        return end;
    s->p = close + 1;
    return s->p;
}

static lw_status
parse_named(lw_signature_parser *s, lw_sig_type *out, const char *start, const char *end)
{
    if ((is_word(start, end, "Tuple") || is_word(start, end, "tuple")) && accept(s, "(")) {
        bool in_tuple = accept(s, "("); /* numba's functions take one: "Tuple((i8, f8))" */
        lw_status status = parse_types(s, &out->items, &out->n);
        out->kind = LW_SIG_TUPLE;
        if (status != LW_OK || !in_tuple)
            return status;
        return accept(s, ")") ? LW_OK : expected(s, "`)`");
    }
    if (is_word(start, end, "UniTuple") && accept(s, "("))
        return parse_uni_tuple(s, out, start);
    if (is_word(start, end, "Array") && accept(s, "("))
        return parse_array(s, out);
    if ((is_word(start, end, "optional") || is_word(start, end, "Optional")) && accept(s, "("))
        return parse_optional(s, out, start);
    if (is_word(start, end, "NamedTuple") && accept(s, "("))
        return parse_named_tuple(s, out);
    if (is_word(start, end, "Record") && *s->p == '(')
        return parse_record(s, out, start);
    if (is_word(start, end, "CPointer") && accept(s, "("))
        return parse_pointer(s, out, start);
    if (is_word(start, end, "voidptr")) {
        out->kind = LW_SIG_POINTER;
        return LW_OK;
    }
    if (is_word(start, end, "void") || is_word(start, end, "none") ||
        is_word(start, end, "None")) {
        out->kind = accept(s, "*") ? LW_SIG_POINTER : LW_SIG_VOID;
        return LW_OK;
    }
    out->kind = LW_SIG_SCALAR;
    end = unit_end(s, start, end);
    out->dtype = lw_scalar_from_name(start, (size_t)(end - start));
    if (out->dtype == LW_DT_void && (*start == 'S' || *start == 'U')) /* of bytes or texts */
        out->record = lw_named_record_find(start, (size_t)(end - start));
    if (out->record != NULL)
        out->kind = LW_SIG_RECORD;
    else if (out->dtype == LW_DT_void)
        return unknown_type(s, start, end);
    if (accept(s, "*")) {
        out->kind = LW_SIG_POINTER;
        return LW_OK;
    }
    return accept(s, "[") ? parse_dims(s, out) : LW_OK;
}

static lw_status
parse_type(lw_signature_parser *s, lw_sig_type *out)
{
    const char *start;
    lw_status status;

    skip_space(s);
    start = s->p;
    while (is_name_char(*s->p))
        s->p++;
    if (s->p == start && *s->p != '(')
        return expected(s, "a type");
    if (++s->depth > MAX_DEPTH)
        return lw_signature_fail(s, start, s->p, "E180", NULL, "types are nested too deeply");
    memset(out, 0, sizeof *out);
    out->col = (uint32_t)(start - s->text);
    if (s->p > start) {
        status = parse_named(s, out, start, s->p);
    } else { /* a tuple, as types are shown */
        s->p++;
        out->kind = LW_SIG_TUPLE;
        status = parse_types(s, &out->items, &out->n);
    }
    s->depth--;
    return status;
}

/* ---- signatures ---- */

/* "ff->f": NumPy's type characters. */
static lw_status
parse_characters(lw_signature_parser *s, const char *start, const char *end, type_list *list)
{
    for (const char *p = start; p < end; p++) {
        lw_sig_type *slot;
        lw_dtype dtype;
        if (isspace((unsigned char)*p))
            continue;
        dtype = lw_dtype_from_char(*p);
        if (dtype == LW_DT_void)
            return lw_signature_fail(s, p, p + 1, "E180",
                                     "NumPy's characters are ?bBhHiIlLqQefdFD",
                                     "unknown type character `%c`", *p);
        slot = lw_array_push(list, s->arena);
        if (slot == NULL)
            return lw_fail_memory(s->err);
        *slot = (lw_sig_type){
            .kind = LW_SIG_SCALAR, .dtype = dtype, .col = (uint32_t)(p - s->text)};
    }
    return LW_OK;
}

static lw_status
parse_numpy_style(lw_signature_parser *s, const char *arrow, lw_signature *out)
{
    type_list args = {0}, results = {0};
    const char *end = s->text + strlen(s->text);
    lw_status status = parse_characters(s, s->p, arrow, &args);

    if (status == LW_OK)
        status = parse_characters(s, arrow + 2, end, &results);
    if (status != LW_OK)
        return status;
    if (results.n == 0 || results.data == NULL)
        return lw_signature_fail(s, arrow, arrow + 2, "E180", NULL, "no result after `->`");
    out->args = args.data;
    out->n_args = args.n;
    out->result = results.data[0];
    if (results.n > 1)
        out->result = (lw_sig_type){.kind = LW_SIG_TUPLE,
                                    .n = results.n,
                                    .items = results.data,
                                    .col = (uint32_t)(arrow + 2 - s->text)};
    return LW_OK;
}

static lw_status
check_end(lw_signature_parser *s)
{
    skip_space(s);
    if (*s->p == '\0')
        return LW_OK;
    return lw_signature_fail(s, s->p, s->p + strlen(s->p), "E180", NULL,
                             "nothing can follow the signature");
}

/* first "," types: the argument types alone, as numba reads them. */
static lw_status
parse_bare(lw_signature_parser *s, lw_sig_type first, lw_signature *out)
{
    type_list list = {0};
    lw_sig_type *slot = lw_array_push(&list, s->arena);
    lw_status status;

    if (slot == NULL)
        return lw_fail_memory(s->err);
    *slot = first;
    while (accept(s, ",")) {
        skip_space(s);
        if (*s->p == '\0')
            break;
        slot = lw_array_push(&list, s->arena);
        if (slot == NULL)
            return lw_fail_memory(s->err);
        status = parse_type(s, slot);
        if (status != LW_OK)
            return status;
    }
    out->result = (lw_sig_type){.kind = LW_SIG_NONE};
    out->args = list.data;
    out->n_args = list.n;
    return check_end(s);
}

/* [type] "(" types ")" ["->" type], or types alone; a type is also "(" types ")", a tuple. */
static lw_status
parse_call_style(lw_signature_parser *s, lw_signature *out)
{
    uint32_t col = (uint32_t)(s->p - s->text);
    lw_status status;

    if (!accept(s, "(")) {
        status = parse_type(s, &out->result);
        if (status != LW_OK)
            return status;
        skip_space(s);
        if (*s->p == ',')
            return parse_bare(s, out->result, out);
        if (!accept(s, "("))
            return expected(s, "`(` and the argument types");
    }
    status = parse_types(s, &out->args, &out->n_args);
    if (status == LW_OK && out->result.kind == LW_SIG_NONE && accept(s, "(")) {
        out->result = (lw_sig_type){
            .kind = LW_SIG_TUPLE, .n = out->n_args, .items = out->args, .col = col};
        status = parse_types(s, &out->args, &out->n_args);
    }
    if (status == LW_OK && out->result.kind == LW_SIG_NONE && accept(s, "->"))
        status = parse_type(s, &out->result);
    return status == LW_OK ? check_end(s) : status;
}

lw_status
lw_signature_parse(const char *text, lw_arena *arena, lw_signature *out, lw_error *err)
{
    char *copy = lw_arena_strdup(arena, text);
    lw_signature_parser s = {.text = copy, .p = copy, .arena = arena, .err = err};
    const char *arrow;
    lw_status status;

    memset(out, 0, sizeof *out);
    if (copy == NULL)
        return lw_fail_memory(err);
    out->text = copy;
    skip_space(&s);
    if (*s.p == '\0')
        return lw_signature_fail(&s, s.p, s.p + 1, "E180",
                                 "\"float64(float64, float64)\" or \"dd->d\"",
                                 "empty signature");
    arrow = strstr(copy, "->");
    if (arrow != NULL && memchr(copy, '(', (size_t)(arrow - copy)) == NULL)
        return parse_numpy_style(&s, arrow, out);
    status = parse_call_style(&s, out);
    if (status == LW_OK && out->result.kind == LW_SIG_OPTIONAL)
        return lw_signature_fail(&s, copy + out->result.col, copy + out->result.col + 8, "E180",
                                 "leave the result out: its type is found",
                                 "a signature cannot say that a result is optional");
    return status;
}

lw_status
lw_signature_parse_type(const char *text, lw_arena *arena, lw_sig_type *out, lw_error *err)
{
    char *copy = lw_arena_strdup(arena, text);
    lw_signature_parser s = {.text = copy, .p = copy, .arena = arena, .err = err};
    lw_status status;

    if (copy == NULL)
        return lw_fail_memory(err);
    status = parse_type(&s, out);
    if (status != LW_OK)
        return status;
    skip_space(&s);
    if (*s.p != '\0')
        return lw_signature_fail(&s, s.p, s.p + strlen(s.p), "E180", NULL,
                                 "nothing can follow the type");
    return LW_OK;
}

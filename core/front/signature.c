/* A recursive-descent parser over bytes. It looks no names up anywhere but in the tables below.
 */
#include "core/front/signature.h"

#include "core/front/named_records.h"

#include "core/front/diagnose.h"

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
    return n_bytes > 0 && n_bytes < 32 ? lw_dtype_from_name(name, (unsigned)n_bytes)
                                       : LW_DT_void;
}

typedef struct parser {
    const char *text, *p;
    lw_arena *arena;
    lw_error *err;
    int depth;
} parser;

/* ---- errors ---- */

/* Cells before `end`, as good as bytes get: continuation bytes take no room. */
static int
cells(const char *start, const char *end)
{
    int n = 0;

    for (; start < end; start++)
        n += ((unsigned char)*start & 0xC0) != 0x80;
    return n;
}

enum { MAX_CELLS = 100 }; /* of a signature that are shown */

/* The text with carets below start … end; of a long one the part around them. */
static void
add_excerpt(lw_text *out, const char *whole, const char *start, const char *end)
{
    const char *from = whole, *to = start;
    int n_carets;

    if (cells(whole, start) > MAX_CELLS / 2) {
        from = start - MAX_CELLS / 2;
        while (((unsigned char)*from & 0xC0) == 0x80)
            from++;
    }
    while (*to != '\0' && cells(from, to) < MAX_CELLS)
        to++;
    while (((unsigned char)*to & 0xC0) == 0x80)
        to++;
    lw_text_addf(out, "\n  %s%.*s%s\n  %*s^", from > whole ? "…" : "", (int)(to - from), from,
                 *to != '\0' ? "…" : "", cells(from, start) + (from > whole), "");
    n_carets = cells(start, end < to ? end : to);
    for (int i = n_carets; i > 1; i--)
        lw_text_add(out, "^");
}

static lw_status
fail_at(const parser *s, const char *start, const char *end, const char *code, const char *help,
        const char *format, ...)
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
    add_excerpt(&text, s->text, start, end);
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

static lw_status
unknown_type(const parser *s, const char *start, const char *end)
{
    const char *names[sizeof spellings / sizeof *spellings + 2 * LW_N_DTYPES + 4], *near;
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
    near = lw_nearest(word, names, n);
    if (near != NULL)
        return fail_at(s, start, end, "E180", NULL, "unknown type `%s`; did you mean `%s`?",
                       word, near);
    return fail_at(s, start, end, "E180", "types are bool, int8 … uint64, float16 … complex128",
                   "unknown type `%s`", word);
}

static lw_status
expected(const parser *s, const char *what)
{
    if (*s->p == '\0')
        return fail_at(s, s->p, s->p + 1, "E180", NULL, "expected %s before the end", what);
    return fail_at(s, s->p, s->p + 1, "E180", NULL, "expected %s, not `%c`", what, *s->p);
}

/* ---- tokens ---- */

static void
skip_space(parser *s)
{
    while (isspace((unsigned char)*s->p))
        s->p++;
}

static bool
accept(parser *s, const char *token)
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

static lw_status parse_type(parser *s, lw_sig_type *out);

typedef LW_ARRAY(lw_sig_type) type_list;

/* types up to `)`, which is consumed; a trailing comma is allowed. */
static lw_status
parse_types(parser *s, const lw_sig_type **items, uint32_t *n)
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

/* dims up to `]`. [::1] and [:, ::1] are C, [::1, :] is Fortran, all others are strided. */
static lw_status
parse_dims(parser *s, lw_sig_type *out)
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
            return fail_at(s, s->p, s->p + 1, "E180", "`::1` marks the contiguous axis",
                           "expected `1` after `::`");
        contiguous += last;
        first = n == 0 ? last : first;
        n++;
    } while (accept(s, ","));
    if (!accept(s, "]"))
        return expected(s, "`,` or `]`");
    if (n > MAX_NDIM)
        return fail_at(s, start, s->p, "E180", NULL, "arrays have at most %d dimensions",
                       MAX_NDIM);
    if (contiguous > 1 || (contiguous == 1 && !first && !last))
        return fail_at(s, start, s->p, "E180", "[:, ::1] is C order, [::1, :] Fortran order",
                       "only the first or the last axis can be contiguous");
    out->kind = LW_SIG_ARRAY;
    out->ndim = n;
    out->layout = last ? 'C' : first ? 'F' : 'A';
    return LW_OK;
}

static lw_status
parse_uni_tuple(parser *s, lw_sig_type *out, const char *start)
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
        return fail_at(s, s->p, s->p + 1, "E180", NULL, "expected a count from 1 to 64");
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

static bool
is_word(const char *start, const char *end, const char *word)
{
    return (size_t)(end - start) == strlen(word) && memcmp(start, word, strlen(word)) == 0;
}

static lw_status
parse_name(parser *s, const char **out)
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

/* "Point, x: float32, y: float64)" behind "NamedTuple(" */
static lw_status
parse_named_tuple(parser *s, lw_sig_type *out)
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

/* "(x: float32)" behind "Record", and "#2" where several have that name. */
static lw_status
parse_record(parser *s, lw_sig_type *out, const char *start)
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
        return fail_at(s, start, s->p, "E180",
                       "pass lw.from_dtype(dtype), or use it once before the text",
                       "no record type has this name yet");
    return accept(s, "[") ? parse_dims(s, out) : LW_OK;
}

static lw_status
parse_named(parser *s, lw_sig_type *out, const char *start, const char *end)
{
    if ((is_word(start, end, "Tuple") || is_word(start, end, "tuple")) && accept(s, "(")) {
        out->kind = LW_SIG_TUPLE;
        return parse_types(s, &out->items, &out->n);
    }
    if (is_word(start, end, "UniTuple") && accept(s, "("))
        return parse_uni_tuple(s, out, start);
    if (is_word(start, end, "NamedTuple") && accept(s, "("))
        return parse_named_tuple(s, out);
    if (is_word(start, end, "Record") && *s->p == '(')
        return parse_record(s, out, start);
    if (is_word(start, end, "optional"))
        return fail_at(s, start, end, "E180", "write one signature with it and one without",
                       "optional types are not supported");
    if (is_word(start, end, "void") || is_word(start, end, "none") ||
        is_word(start, end, "None")) {
        out->kind = accept(s, "*") ? LW_SIG_POINTER : LW_SIG_VOID;
        return LW_OK;
    }
    out->kind = LW_SIG_SCALAR;
    out->dtype = lw_scalar_from_name(start, (size_t)(end - start));
    if (out->dtype == LW_DT_void)
        return unknown_type(s, start, end);
    if (accept(s, "*")) {
        out->kind = LW_SIG_POINTER;
        return LW_OK;
    }
    return accept(s, "[") ? parse_dims(s, out) : LW_OK;
}

static lw_status
parse_type(parser *s, lw_sig_type *out)
{
    const char *start;
    lw_status status;

    skip_space(s);
    start = s->p;
    while (is_name_char(*s->p))
        s->p++;
    if (s->p == start)
        return expected(s, "a type");
    if (++s->depth > MAX_DEPTH)
        return fail_at(s, start, s->p, "E180", NULL, "types are nested too deeply");
    memset(out, 0, sizeof *out);
    out->col = (uint32_t)(start - s->text);
    status = parse_named(s, out, start, s->p);
    s->depth--;
    return status;
}

/* ---- signatures ---- */

/* "ff->f": NumPy's type characters. */
static lw_status
parse_characters(parser *s, const char *start, const char *end, type_list *list)
{
    for (const char *p = start; p < end; p++) {
        lw_sig_type *slot;
        lw_dtype dtype;
        if (isspace((unsigned char)*p))
            continue;
        dtype = lw_dtype_from_char(*p);
        if (dtype == LW_DT_void)
            return fail_at(s, p, p + 1, "E180", "NumPy's characters are ?bBhHiIlLqQefdFD",
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
parse_numpy_style(parser *s, const char *arrow, lw_signature *out)
{
    type_list args = {0}, results = {0};
    const char *end = s->text + strlen(s->text);
    lw_status status = parse_characters(s, s->p, arrow, &args);

    if (status == LW_OK)
        status = parse_characters(s, arrow + 2, end, &results);
    if (status != LW_OK)
        return status;
    if (results.n == 0 || results.data == NULL)
        return fail_at(s, arrow, arrow + 2, "E180", NULL, "no result after `->`");
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

/* [type] "(" types ")" ["->" type] */
static lw_status
parse_call_style(parser *s, lw_signature *out)
{
    lw_status status;

    if (!accept(s, "(")) {
        status = parse_type(s, &out->result);
        if (status != LW_OK)
            return status;
        if (!accept(s, "("))
            return expected(s, "`(` and the argument types");
    }
    status = parse_types(s, &out->args, &out->n_args);
    if (status == LW_OK && out->result.kind == LW_SIG_NONE && accept(s, "->"))
        status = parse_type(s, &out->result);
    if (status != LW_OK)
        return status;
    skip_space(s);
    if (*s->p != '\0')
        return fail_at(s, s->p, s->p + strlen(s->p), "E180", NULL,
                       "nothing can follow the signature");
    return LW_OK;
}

lw_status
lw_signature_parse(const char *text, lw_arena *arena, lw_signature *out, lw_error *err)
{
    char *copy = lw_arena_strdup(arena, text);
    parser s = {.text = copy, .p = copy, .arena = arena, .err = err};
    const char *arrow;

    memset(out, 0, sizeof *out);
    if (copy == NULL)
        return lw_fail_memory(err);
    out->text = copy;
    skip_space(&s);
    if (*s.p == '\0')
        return fail_at(&s, s.p, s.p + 1, "E180", "\"float64(float64, float64)\" or \"dd->d\"",
                       "empty signature");
    arrow = strstr(copy, "->");
    if (arrow != NULL && memchr(copy, '(', (size_t)(arrow - copy)) == NULL)
        return parse_numpy_style(&s, arrow, out);
    return parse_call_style(&s, out);
}

lw_status
lw_signature_parse_type(const char *text, lw_arena *arena, lw_sig_type *out, lw_error *err)
{
    char *copy = lw_arena_strdup(arena, text);
    parser s = {.text = copy, .p = copy, .arena = arena, .err = err};
    lw_status status;

    if (copy == NULL)
        return lw_fail_memory(err);
    status = parse_type(&s, out);
    if (status != LW_OK)
        return status;
    skip_space(&s);
    if (*s.p != '\0')
        return fail_at(&s, s.p, s.p + strlen(s.p), "E180", NULL, "nothing can follow the type");
    return LW_OK;
}

/* ---- checks ---- */

static lw_status
refuse(const lw_signature *signature, const lw_sig_type *type, lw_error *err, const char *help,
       const char *what)
{
    lw_text name;
    parser s = {.text = signature->text ? signature->text : "", .err = err};
    const char *start = s.text + (type->col < strlen(s.text) ? type->col : 0);
    lw_status status;

    lw_text_init(&name);
    lw_sig_type_print(type, &name);
    status = fail_at(&s, start, start + 1, "E183", help, "%s `%s`", what, lw_text_get(&name));
    lw_text_reset(&name);
    return status;
}

static lw_status
check_result(const lw_signature *signature, lw_error *err)
{
    const lw_sig_type *result = &signature->result;
    const char *help = "results are scalars, or a tuple of scalars for several outputs";

    if (result->kind == LW_SIG_VOID)
        return refuse(signature, result, err, "name the type that the function returns",
                      "an element-wise function must return a value, not");
    if (result->kind == LW_SIG_ARRAY)
        return refuse(signature, result, err, help, "a result cannot be an array:");
    if (result->kind == LW_SIG_POINTER)
        return refuse(signature, result, err, help, "a result cannot be a pointer:");
    if (result->kind == LW_SIG_TUPLE && result->n == 0)
        return refuse(signature, result, err, help, "a result cannot be an empty");
    for (uint32_t i = 0; result->kind == LW_SIG_TUPLE && i < result->n; i++)
        if (result->items[i].kind != LW_SIG_SCALAR)
            return refuse(signature, &result->items[i], err, help,
                          "an output must be a scalar, not");
    return LW_OK;
}

lw_status
lw_signature_check_scalar(const lw_signature *signature, lw_error *err)
{
    for (uint32_t i = 0; i < signature->n_args; i++) {
        const lw_sig_type *arg = &signature->args[i];
        if (arg->kind == LW_SIG_ARRAY)
            return refuse(signature, arg, err,
                          "element-wise functions name the element's type; arrays belong to "
                          "guvectorize",
                          "an argument must be a scalar, not the array");
        if (arg->kind != LW_SIG_SCALAR)
            return refuse(signature, arg, err, NULL, "an argument must be a scalar, not");
    }
    if (signature->n_args == 0)
        return refuse(
            signature, &signature->result, err, NULL,
            "an element-wise function needs at least one argument; this signature only "
            "has the result");
    return check_result(signature, err);
}

static lw_status
check_kernel_arg(const lw_signature *signature, const lw_sig_type *arg, lw_error *err)
{
    lw_status status = LW_OK;

    if (arg->kind == LW_SIG_VOID)
        return refuse(signature, arg, err, NULL, "an argument cannot be");
    if (arg->kind == LW_SIG_POINTER)
        return refuse(signature, arg, err, "pass an array: `float32[:]`",
                      "only functions declared with declare_device take pointers, not");
    for (uint32_t i = 0; status == LW_OK && arg->kind == LW_SIG_TUPLE && i < arg->n; i++)
        status = check_kernel_arg(signature, &arg->items[i], err);
    return status;
}

lw_status
lw_signature_check_kernel(const lw_signature *signature, lw_error *err)
{
    for (uint32_t i = 0; i < signature->n_args; i++) {
        lw_status status = check_kernel_arg(signature, &signature->args[i], err);
        if (status != LW_OK)
            return status;
    }
    if (signature->result.kind == LW_SIG_NONE || signature->result.kind == LW_SIG_VOID)
        return LW_OK;
    return refuse(
        signature, &signature->result, err,
        "write `void(...)`; results go to arrays, and device=True makes a function that "
        "returns values to kernels",
        "a kernel returns nothing, not");
}

static lw_status
check_device_type(const lw_signature *signature, const lw_sig_type *type, bool c_abi,
                  lw_error *err)
{
    const char *help = "declare pointers and lengths: `void(float32*, int64)`";

    if (type->kind == LW_SIG_TUPLE)
        return refuse(signature, type, err, NULL, "a device function has no tuples, as");
    if (type->kind == LW_SIG_ARRAY && c_abi)
        return refuse(signature, type, err, help, "with abi=\"c\" there are no arrays, as");
    if (type->dtype == LW_DT_f16 || type->dtype == LW_DT_bf16) {
        if (type->kind != LW_SIG_SCALAR)
            return LW_OK;
        return refuse(signature, type, err, "pass it as float32, or by pointer",
                      "16-bit floats are passed in different ways by different compilers:");
    }
    if (type->kind == LW_SIG_SCALAR && lw_is_complex(type->dtype) && c_abi)
        return refuse(signature, type, err, "pass real and imaginary part, or a pointer",
                      "with abi=\"c\" there are no complex numbers, as");
    return LW_OK;
}

lw_status
lw_signature_check_device(const lw_signature *signature, bool c_abi, lw_error *err)
{
    const lw_sig_type *result = &signature->result;
    lw_status status = LW_OK;

    for (uint32_t i = 0; status == LW_OK && i < signature->n_args; i++) {
        const lw_sig_type *arg = &signature->args[i];
        status = arg->kind == LW_SIG_VOID
                     ? refuse(signature, arg, err, NULL, "an argument cannot be")
                     : check_device_type(signature, arg, c_abi, err);
    }
    if (status != LW_OK || result->kind == LW_SIG_VOID)
        return status;
    if (result->kind != LW_SIG_SCALAR)
        return refuse(signature, result, err, "write `float32(float32)`; `void` for no result",
                      "a device function returns a number or void, not");
    return check_device_type(signature, result, c_abi, err);
}

uint32_t
lw_signature_n_out(const lw_signature *signature)
{
    switch (signature->result.kind) {
    case LW_SIG_NONE:
    case LW_SIG_VOID: return 0;
    case LW_SIG_TUPLE: return signature->result.n;
    default: return 1;
    }
}

/* ---- order ---- */

static int
compare_types(const lw_sig_type *x, const lw_sig_type *y)
{
    int result;

    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    if (x->dtype != y->dtype)
        return x->dtype < y->dtype ? -1 : 1;
    if (x->record != y->record)
        return x->record < y->record ? -1 : 1;
    if (x->ndim != y->ndim)
        return x->ndim < y->ndim ? -1 : 1;
    if (x->layout != y->layout)
        return x->layout < y->layout ? -1 : 1;
    if ((x->class_name == NULL) != (y->class_name == NULL))
        return x->class_name == NULL ? -1 : 1;
    result = x->class_name ? strcmp(x->class_name, y->class_name) : 0;
    if (result != 0)
        return result;
    for (uint32_t i = 0; i < x->n && i < y->n; i++) {
        result = x->names && y->names ? strcmp(x->names[i], y->names[i]) : 0;
        if (result == 0)
            result = compare_types(&x->items[i], &y->items[i]);
        if (result != 0)
            return result;
    }
    return x->n == y->n ? 0 : x->n < y->n ? -1 : 1;
}

static int
compare_arguments(const lw_signature *x, const lw_signature *y)
{
    for (uint32_t i = 0; i < x->n_args && i < y->n_args; i++) {
        int result = compare_types(&x->args[i], &y->args[i]);
        if (result != 0)
            return result;
    }
    return x->n_args == y->n_args ? 0 : x->n_args < y->n_args ? -1 : 1;
}

static lw_status
conflict(const lw_signature *x, const lw_signature *y, lw_error *err, const char *what)
{
    lw_text first, second;
    lw_status status;

    lw_text_init(&first);
    lw_text_init(&second);
    lw_signature_print(x, &first);
    lw_signature_print(y, &second);
    status = lw_fail(err, LW_ERR_SIGNATURE, "E182: %s: `%s` and `%s`", what,
                     lw_text_get(&first), lw_text_get(&second));
    if (err != NULL && err->status == LW_ERR_SIGNATURE && err->code[0] == '\0')
        snprintf(err->code, sizeof err->code, "E182");
    lw_text_reset(&first);
    lw_text_reset(&second);
    return status;
}

/* Lists are short, and a stable sort keeps messages in the user's order. */
static void
insertion_sort(lw_signature *signatures, uint32_t n)
{
    for (uint32_t i = 1; i < n; i++) {
        lw_signature moved = signatures[i];
        uint32_t k = i;
        for (; k > 0 && compare_arguments(&signatures[k - 1], &moved) > 0; k--)
            signatures[k] = signatures[k - 1];
        signatures[k] = moved;
    }
}

static lw_status
check_pair(const lw_signature *x, const lw_signature *y, lw_error *err)
{
    if (x->n_args != y->n_args)
        return conflict(x, y, err, "signatures with different numbers of arguments");
    if (lw_signature_n_out(x) != lw_signature_n_out(y) && lw_signature_n_out(x) &&
        lw_signature_n_out(y))
        return conflict(x, y, err, "signatures with different numbers of results");
    if (compare_arguments(x, y) != 0)
        return LW_OK;
    return conflict(x, y, err,
                    compare_types(&x->result, &y->result) == 0
                        ? "the same signature twice"
                        : "two signatures for the same arguments");
}

lw_status
lw_signatures_sort(lw_signature *signatures, uint32_t n, bool keep_order, lw_error *err)
{
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t k = i + 1; k < n; k++) {
            lw_status status = check_pair(&signatures[i], &signatures[k], err);
            if (status != LW_OK)
                return status;
        }
    }
    if (!keep_order)
        insertion_sort(signatures, n);
    return LW_OK;
}

/* ---- printing ---- */

static void
print_dims(const lw_sig_type *type, lw_text *out)
{
    lw_text_add(out, "[");
    for (uint32_t i = 0; i < type->ndim; i++) {
        bool contiguous = (type->layout == 'C' && i + 1 == type->ndim) ||
                          (type->layout == 'F' && i == 0 && type->ndim > 1);
        lw_text_add(out, i ? ", " : "");
        lw_text_add(out, contiguous ? "::1" : ":");
    }
    lw_text_add(out, "]");
}

static void
print_list(const lw_sig_type *items, uint32_t n, lw_text *out)
{
    lw_text_add(out, "(");
    for (uint32_t i = 0; i < n; i++) {
        lw_text_add(out, i ? ", " : "");
        lw_sig_type_print(&items[i], out);
    }
    lw_text_add(out, ")");
}

static void
print_named_tuple(const lw_sig_type *type, lw_text *out)
{
    lw_text_addf(out, "NamedTuple(%s", type->class_name);
    for (uint32_t i = 0; i < type->n; i++) {
        lw_text_addf(out, ", %s: ", type->names[i]);
        lw_sig_type_print(&type->items[i], out);
    }
    lw_text_add(out, ")");
}

bool
lw_sig_type_same(const lw_sig_type *x, const lw_sig_type *y)
{
    return compare_types(x, y) == 0;
}

void
lw_sig_type_print(const lw_sig_type *type, lw_text *out)
{
    switch (type->kind) {
    case LW_SIG_NONE: break;
    case LW_SIG_VOID: lw_text_add(out, "void"); break;
    case LW_SIG_SCALAR: lw_text_add(out, lw_dtypes[type->dtype].public_name); break;
    case LW_SIG_RECORD: lw_text_add(out, type->record->name); break;
    case LW_SIG_ARRAY:
        lw_text_add(out,
                    type->record ? type->record->name : lw_dtypes[type->dtype].public_name);
        print_dims(type, out);
        break;
    case LW_SIG_POINTER:
        lw_text_addf(out, "%s*",
                     type->dtype == LW_DT_void ? "void" : lw_dtypes[type->dtype].public_name);
        break;
    case LW_SIG_TUPLE:
        if (type->class_name != NULL) {
            print_named_tuple(type, out);
            break;
        }
        lw_text_add(out, "Tuple");
        print_list(type->items, type->n, out);
        break;
    }
}

void
lw_signature_print(const lw_signature *signature, lw_text *out)
{
    lw_sig_type_print(&signature->result, out);
    print_list(signature->args, signature->n_args, out);
}

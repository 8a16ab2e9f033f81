/* Reads what print.c writes, line by line. A first walk over the lines numbers the functions,
 * so that a call may name a later one. Only the form is checked; lw_ir_verify checks the
 * meaning. */
#include "core/ir/ir_internal.h"

#include "core/ir/build.h"
#include "core/tables/intrinsics.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_TOKEN = 4096, MAX_LIST = 4096 };

typedef struct parser {
    const char *at;        /* next unread character */
    uint32_t line;         /* counted from 1 */
    char token[MAX_TOKEN]; /* without quotes; "" at the end of a line */
    bool quoted, failed;
    lw_module *module;
    lw_builder b;
    uint32_t next_func;
    lw_error *err;
} parser;

static lw_status
complain(parser *p, const char *wanted)
{
    p->failed = true;
    return lw_fail(p->err, LW_ERR_VALUE, "IR text, line %u: expected %s, got \"%s\"", p->line,
                   wanted, p->token);
}

/* ---- tokens: words, quoted texts, and ( ) { } = ---- */

static bool
is_single(char c)
{
    return c == '(' || c == ')' || c == '{' || c == '}' || c == '=';
}

static void
read_quoted(parser *p)
{
    size_t n = 0;
    char hex[3] = {0};

    for (p->at++; *p->at && *p->at != '"' && *p->at != '\n' && n < MAX_TOKEN - 1; p->at++) {
        if (*p->at == '\\' && p->at[1] && p->at[2]) {
            memcpy(hex, p->at + 1, 2);
            p->token[n++] = (char)strtoul(hex, NULL, 16);
            p->at += 2;
        } else {
            p->token[n++] = *p->at;
        }
    }
    p->token[n] = 0;
    p->quoted = true;
    if (*p->at == '"')
        p->at++;
    else
        complain(p, "a closing quote");
}

/* Reads the next token of this line; "" at its end. */
static const char *
next(parser *p)
{
    size_t n = 0;

    p->quoted = false;
    while (*p->at == ' ' || *p->at == '\t' || *p->at == '\r')
        p->at++;
    if (*p->at == ';')
        p->at += strcspn(p->at, "\n");
    if (*p->at == '"') {
        read_quoted(p);
        return p->token;
    }
    if (is_single(*p->at))
        p->token[n++] = *p->at++;
    else
        while (*p->at && !is_single(*p->at) && strchr(" \t\r\n;\"", *p->at) == NULL &&
               n < MAX_TOKEN - 1)
            p->token[n++] = *p->at++;
    p->token[n] = 0;
    return p->token;
}

static bool
is(const parser *p, const char *word)
{
    return !p->quoted && strcmp(p->token, word) == 0;
}

static bool
at_line_end(const parser *p)
{
    return !p->quoted && p->token[0] == 0;
}

/* Goes to the first token of the next line that has one; false at the end of the text. */
static bool
next_line(parser *p)
{
    do {
        p->at += strcspn(p->at, "\n");
        if (*p->at == 0)
            return false;
        p->at++;
        p->line++;
        next(p);
    } while (at_line_end(p));
    return true;
}

static uint32_t
number_from(parser *p, const char *text, const char *wanted)
{
    char *end;
    unsigned long value;

    errno = 0;
    value = strtoul(text, &end, 10);
    if (*text < '0' || *text > '9' || *end != 0 || errno || value > UINT32_MAX)
        complain(p, wanted);
    return (uint32_t)value;
}

static uint32_t
number(parser *p)
{
    return number_from(p, next(p), "a number");
}

static lw_ref
value_ref(parser *p)
{
    if (p->token[0] != '%') {
        complain(p, "a value, %number");
        return 0;
    }
    return number_from(p, p->token + 1, "a value, %number");
}

/* Accepts IR names only: "i8" is one byte here, not NumPy's alias of eight. */
static lw_dtype
dtype_named(const char *name, size_t n_bytes)
{
    for (int i = 0; i < LW_N_DTYPES; i++)
        if (strlen(lw_dtypes[i].name) == n_bytes &&
            memcmp(lw_dtypes[i].name, name, n_bytes) == 0)
            return (lw_dtype)i;
    return LW_N_DTYPES;
}

static lw_dtype
dtype(parser *p)
{
    lw_dtype type = dtype_named(p->token, strlen(p->token));

    if (type != LW_N_DTYPES)
        return type;
    complain(p, "a type");
    return LW_DT_void;
}

/* Reads "f32" or "f32x4". */
static lw_dtype
vector_type(parser *p, uint8_t *lanes)
{
    const char *x = strchr(p->token, 'x');
    lw_dtype type;
    uint32_t n = 0;

    if (x != NULL) {
        type = dtype_named(p->token, (size_t)(x - p->token));
        n = number_from(p, x + 1, "a number of lanes");
        if (n > 255 || type == LW_N_DTYPES)
            complain(p, "a vector type");
    } else {
        type = dtype(p);
    }
    *lanes = (uint8_t)n;
    return type == LW_N_DTYPES ? LW_DT_void : type;
}

/* ---- instructions ---- */

static void
read_const(parser *p, lw_inst *inst)
{
    const char *text = next(p);
    char *end;
    lw_constant_bits *constant = lw_array_push(&p->b.func->constants, &p->module->arena);

    if (constant == NULL) {
        p->module->failed = true;
        return;
    }
    errno = 0;
    constant->bits =
        text[0] == '-' ? (uint64_t)strtoll(text, &end, 10) : strtoull(text, &end, 0);
    if (text[0] == 0 || *end != 0 || errno)
        complain(p, "a constant");
    inst->a = p->b.func->constants.n - 1;
}

static void
read_list(parser *p, lw_inst *inst)
{
    lw_ref values[MAX_LIST];
    uint32_t n = 0;

    next(p);
    if (!is(p, "("))
        complain(p, "(");
    while (!p->failed && (next(p), !is(p, ")"))) {
        if (n == MAX_LIST)
            complain(p, "a shorter list");
        else
            values[n++] = value_ref(p);
    }
    inst->b = lw_ir_list(&p->b, values, n);
    inst->c = n;
}

/* Reads a plain number, or the word that stands for it. */
static uint32_t
number_named(parser *p, lw_op op)
{
    if (lw_ir_number_name(op, 0) == NULL)
        return number(p);
    next(p);
    for (uint32_t i = 0; lw_ir_number_name(op, i) != NULL; i++)
        if (is(p, lw_ir_number_name(op, i)))
            return i;
    complain(p, "a special register, an atomic or a kernel operation");
    return 0;
}

static uint32_t
intrinsic_named(parser *p, const char *name)
{
    for (uint32_t i = 0; i < LW_N_INTRINSICS; i++)
        if (strcmp(lw_intrinsics[i].name, name) == 0)
            return i;
    complain(p, "the name of an intrinsic");
    return LW_N_INTRINSICS;
}

static uint32_t
read_operand(parser *p, lw_inst *inst, char letter)
{
    uint32_t found;

    switch (letter) {
    case 'v':
    case 's': next(p); return value_ref(p);
    case 'k': read_const(p, inst); return inst->a;
    case 'f':
        found = *next(p) == '@' ? lw_ir_find(p->module, p->token + 1) : UINT32_MAX;
        if (found == UINT32_MAX)
            complain(p, "the @name of a function");
        return found;
    case 'i': return intrinsic_named(p, next(p));
    case 'n': return number_named(p, (lw_op)inst->op);
    default: return number(p);
    }
}

static uint32_t
place(parser *p, uint32_t *line)
{
    unsigned file = 0, row = 0, col = 0;
    char more;

    if (sscanf(next(p), "%u:%u:%u%c", &file, &row, &col, &more) != 3)
        complain(p, "file:line:column");
    if (line != NULL) {
        *line = row;
        return file;
    }
    return lw_ir_loc_add(p->module, file, row, col);
}

static uint32_t
log2_of(parser *p, uint32_t bytes)
{
    uint32_t code = 0;

    while (code < 31 && bytes >> code > 1)
        code++;
    if (bytes != 1u << code)
        complain(p, "a power of two");
    return code;
}

static void
read_attributes(parser *p, lw_inst *inst)
{
    while (!p->failed && (next(p), !at_line_end(p))) {
        const lw_ir_flag *flag = lw_ir_flags_of((lw_op)inst->op);

        if (is(p, "at")) {
            inst->loc = place(p, NULL);
            continue;
        }
        if (is(p, "align") && lw_op_is_access((lw_op)inst->op)) {
            inst->flags |= (log2_of(p, number(p)) + 1) & LW_MEM_ALIGN_MASK;
            continue;
        }
        while (flag->text != NULL && !is(p, flag->text))
            flag++;
        if (flag->text == NULL)
            complain(p, "an attribute of this instruction");
        inst->flags |= flag->bit;
    }
}

static lw_op
op_named(parser *p)
{
    for (int i = 1; i < LW_N_OPS; i++)
        if (is(p, lw_ops[i].text))
            return (lw_op)i;
    complain(p, "an instruction");
    return LW_OP_NONE;
}

static void
read_inst(parser *p)
{
    lw_func *func = p->b.func;
    lw_inst inst = {0}, *slot;
    uint32_t operands[3] = {0, 0, 0};
    const lw_op_row *row;

    if (p->token[0] == '%') {
        if (value_ref(p) != func->insts.n)
            complain(p, "values numbered by position");
        next(p);
        if (!is(p, "="))
            complain(p, "=");
        next(p);
    }
    inst.op = (uint16_t)op_named(p);
    row = &lw_ops[inst.op];
    if (row->result != LW_RESULT_NONE) {
        next(p);
        inst.type = (uint8_t)vector_type(p, &inst.lanes);
    }
    for (int i = 0; i < 3 && !p->failed; i++) {
        if (row->args[i] == 'L') {
            read_list(p, &inst);
            operands[1] = inst.b;
            operands[2] = inst.c;
            break;
        }
        if (row->args[i] != '-')
            operands[i] = read_operand(p, &inst, row->args[i]);
    }
    inst.a = operands[0];
    inst.b = operands[1];
    inst.c = operands[2];
    read_attributes(p, &inst);
    slot = p->failed ? NULL : lw_array_push(&func->insts, &p->module->arena);
    if (slot != NULL)
        *slot = inst;
    else if (!p->failed)
        p->module->failed = true;
}

/* ---- heads ---- */

static void
read_param(parser *p)
{
    lw_arena *arena = &p->module->arena;
    lw_ir_param *param = lw_array_push(&p->b.func->params, arena);

    if (param == NULL) {
        p->module->failed = true;
        return;
    }
    next(p);
    param->type = dtype(p);
    next(p);
    if (!p->quoted)
        complain(p, "a quoted name");
    param->name = p->token[0] ? lw_arena_strdup(arena, p->token) : NULL;
    while (!p->failed && (next(p), !at_line_end(p))) {
        const lw_ir_flag *flag = lw_param_flags;

        if (is(p, "align")) {
            param->align_log2 = (uint8_t)log2_of(p, number(p));
            continue;
        }
        while (flag->text != NULL && !is(p, flag->text))
            flag++;
        if (flag->text == NULL)
            complain(p, "an attribute of a parameter");
        param->flags |= flag->bit;
    }
}

static void
read_python(parser *p)
{
    next(p);
    if (!p->quoted)
        complain(p, "a quoted name");
    p->b.func->python_name = lw_arena_strdup(&p->module->arena, p->token);
    next(p);
    if (!is(p, "at"))
        complain(p, "at file:line:column");
    else
        p->b.func->file = place(p, &p->b.func->line);
}

static void
read_var(parser *p)
{
    lw_arena *arena = &p->module->arena;
    lw_ir_var *var = lw_array_push(&p->b.func->vars, arena);

    if (var == NULL) {
        p->module->failed = true;
        return;
    }
    next(p);
    var->name = lw_arena_strdup(arena, p->token);
    if (!p->quoted)
        complain(p, "a quoted name");
    next(p);
    var->type = lw_arena_strdup(arena, p->token);
    if (!p->quoted)
        complain(p, "a quoted type");
    var->arg = number(p);
    next(p);
    if (!is(p, "at"))
        complain(p, "at file:line:column");
    else
        var->file = place(p, &var->line);
}

static void
read_result(parser *p)
{
    lw_dtype type = dtype(p);

    if (!p->failed && (type == LW_DT_void || lw_is_complex(type)))
        complain(p, "the type of a number");
    if (!p->failed)
        lw_ir_result_add(&p->b, type);
}

static void
read_head_line(parser *p)
{
    lw_func *func = p->b.func;

    if (is(p, "param")) {
        read_param(p);
    } else if (is(p, "result")) {
        next(p);
        read_result(p);
    } else if (is(p, "python")) {
        read_python(p);
    } else if (is(p, "var")) {
        read_var(p);
    } else if (is(p, "max_threads")) {
        func->max_threads = number(p);
    } else if (is(p, "min_blocks")) {
        func->min_blocks = number(p);
    } else if (is(p, "max_cluster")) {
        func->max_cluster = number(p);
    } else if (is(p, "max_registers")) {
        func->max_registers = number(p);
    } else if (is(p, "shared")) {
        func->shared = number(p);
    } else {
        complain(p, "param, result, a launch bound or body");
    }
}

static void
read_func(parser *p)
{
    lw_func *func;
    bool in_body = false;
    int linkage = 0;

    if (p->next_func == p->module->funcs.n) { /* the first walk found no name */
        complain(p, "func, its linkage and its name");
        return;
    }
    func = p->module->funcs.data[p->next_func];
    memset(&p->b, 0, sizeof p->b);
    p->b.module = p->module;
    p->b.func = func;
    p->b.func_number = p->next_func++;
    next(p);
    while (linkage < 4 && !is(p, lw_linkage_names[linkage]))
        linkage++;
    if (linkage == 4)
        complain(p, "a linkage");
    func->linkage = (lw_linkage)(linkage & 3);
    next(p); /* the name, read before */
    next(p);
    if (!is(p, "{"))
        complain(p, "{");
    while (!p->failed && !p->module->failed) {
        if (!next_line(p)) {
            complain(p, "}");
            return;
        }
        if (is(p, "}"))
            return;
        if (!in_body && is(p, "body"))
            in_body = true;
        else if (in_body)
            read_inst(p);
        else
            read_head_line(p);
    }
}

static void
read_file(parser *p)
{
    uint32_t wanted = number(p);

    next(p);
    if (!p->quoted || lw_ir_file_add(p->module, p->token) != wanted)
        complain(p, "files numbered from 1, each once");
}

static void
read_extern(parser *p, bool device)
{
    lw_dtype result, params[LW_EXTERN_PARAMS];
    unsigned n = 0;
    char name[MAX_TOKEN];

    next(p);
    result = dtype(p);
    next(p);
    if (!p->quoted)
        complain(p, "a quoted name");
    memcpy(name, p->token, sizeof name);
    while (!p->failed && (next(p), !at_line_end(p))) {
        if (n == LW_EXTERN_PARAMS)
            complain(p, "at most 32 parameters");
        else
            params[n++] = dtype(p);
    }
    if (!p->failed && device)
        lw_ir_device_extern_add(p->module, name, result, params, n);
    else if (!p->failed)
        lw_ir_extern_add(p->module, name, result, params, n);
}

/* Reads the bytes of a word of hexadecimal digits. Returns how many; 0: it is no such word. */
static uint32_t
hex_bytes(const char *word, uint8_t *bytes)
{
    uint32_t n = (uint32_t)strlen(word);

    if (n % 2 != 0 || n > 2 * LW_IR_DATA_WORD || strspn(word, "0123456789abcdef") != n)
        return 0;
    for (uint32_t i = 0; i < n; i += 2) {
        const char pair[3] = {word[i], word[i + 1], 0};
        bytes[i / 2] = (uint8_t)strtoul(pair, NULL, 16);
    }
    return n / 2;
}

/* Reads a word that says where a datum is or how it is used; false: the token is another. */
static bool
read_data_word(parser *p, lw_data *out)
{
    if (is(p, "scattered")) {
        out->scattered = true;
    } else if (is(p, "on_gpu")) {
        out->on_gpu = true;
    } else if (is(p, "varying")) {
        out->varying = true;
    } else if (is(p, "at")) {
        next(p);
        out->address = strtoull(p->token, NULL, 10);
    } else {
        return false;
    }
    return true;
}

static void
read_data(parser *p)
{
    uint32_t wanted = number(p), before = p->module->datas.n, align, n, at = 0;
    LW_ARRAY(uint8_t) bytes = {0};
    lw_data words = {0};

    next(p);
    if (!is(p, "align"))
        complain(p, "align");
    align = log2_of(p, number(p));
    while (!p->failed && (next(p), !at_line_end(p))) {
        if (read_data_word(p, &words))
            continue;
        if (!lw_array_reserve(&bytes, LW_IR_DATA_WORD, NULL) || bytes.data == NULL) {
            p->module->failed = true;
            break;
        }
        n = hex_bytes(p->token, bytes.data + at);
        if (n == 0)
            complain(p, "words of hexadecimal digits");
        at = bytes.n += n;
    }
    if (!p->failed && at != wanted)
        complain(p, "as many bytes as it says");
    if (!p->failed && !p->module->failed &&
        lw_ir_data_add(p->module, words.address, bytes.data, at, align) != before)
        complain(p, "each datum once");
    if (before < p->module->datas.n) {
        p->module->datas.data[before].scattered = words.scattered;
        p->module->datas.data[before].on_gpu = words.on_gpu;
        p->module->datas.data[before].varying = words.varying;
    }
    lw_array_free(&bytes);
}

/* One pass over the lines: with `declare`, functions are only created. */
static void
read_lines(parser *p, const char *text, bool declare)
{
    p->at = text;
    p->line = 1;
    next(p);
    if (at_line_end(p) && !next_line(p))
        return;
    do {
        if (declare) {
            lw_builder b;
            if (is(p, "func") && *next(p) && *next(p))
                lw_builder_start(&b, p->module, p->token);
        } else if (is(p, "func")) {
            read_func(p);
        } else if (is(p, "file")) {
            read_file(p);
        } else if (is(p, "extern") || is(p, "device")) {
            read_extern(p, is(p, "device"));
        } else if (is(p, "data")) {
            read_data(p);
        } else {
            complain(p, "func, file, extern, device or data");
        }
    } while (!p->failed && !p->module->failed && next_line(p));
}

lw_status
lw_ir_parse(const char *text, lw_module **out, lw_error *err)
{
    lw_status status;
    parser *p = lw_alloc_zero(1, sizeof *p);

    if (p == NULL)
        return lw_fail_memory(err);
    p->err = err;
    LW_TRY(lw_module_new(&p->module, err));
    read_lines(p, text, true);
    if (!p->failed && !p->module->failed)
        read_lines(p, text, false);
    if (p->failed) {
        status = LW_ERR_VALUE;
        goto fail;
    }
    if (p->module->failed || p->module->arena.failed) {
        status = lw_fail_memory(err);
        goto fail;
    }
    *out = p->module;
    lw_free(p);
    return LW_OK;
fail:
    lw_module_free(p->module);
    lw_free(p);
    return status;
}

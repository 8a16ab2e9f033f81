/* Diagnostics of the user's code, with the function and the types of its parameters, and the
 * texts in them. Both are made in the last walk only, and texts live in the arena. */
#include "core/front/infer/infer_internal.h"

#include "core/front/times.h"

#include <stdarg.h>
#include <string.h>

/* ---- texts ---- */

static bool
is_reporting(const lw_infer_frame *f)
{
    return f->report && f->run->quiet == 0;
}

static const char *
keep(lw_infer_frame *f, lw_text *text)
{
    const char *kept = lw_arena_strdup(f->run->arena, lw_text_get(text));

    lw_text_reset(text);
    return kept ? kept : "";
}

const char *
lw_format_text(lw_infer_frame *f, const char *format, ...)
{
    lw_text text = {0};
    va_list args;

    if (!is_reporting(f))
        return NULL;
    va_start(args, format);
    lw_text_addv(&text, format, args);
    va_end(args);
    return keep(f, &text);
}

const char *
lw_describe_type(lw_infer_frame *f, lw_type type)
{
    lw_text text = {0};

    if (!is_reporting(f))
        return "";
    lw_type_print(lw_types_of(f), type, &text);
    return keep(f, &text);
}

/* What a constant is that is no number, as its type does not tell; NULL: none of these. */
static const char *
describe_kind(lw_constant_kind kind)
{
    switch (kind) {
    case LW_K_NAMED:
    case LW_K_FUNCTION:
    case LW_K_EXTERNAL: return "a function";
    case LW_K_DTYPE:
    case LW_K_PYTYPE:
    case LW_K_RECORD: return "a type";
    case LW_K_CLASS:
    case LW_K_EXCEPTION: return "a class";
    case LW_K_MODULE: return "a module";
    default: return NULL;
    }
}

const char *
lw_describe_value(lw_infer_frame *f, lw_infer_value value)
{
    const lw_constant *constant = value.constant ? lw_constant_of(f, value.constant) : NULL;
    const char *said;

    if (constant != NULL && constant->kind == LW_K_BYTES)
        return strlen(constant->text) <= 40 ? lw_format_text(f, "the bytes %s", constant->text)
                                            : "bytes";
    if (value.type == LW_T_STATIC && constant != NULL && describe_kind(constant->kind) != NULL)
        return describe_kind(constant->kind);
    if (constant == NULL || constant->kind != LW_K_STR || constant->text == NULL)
        return lw_describe_type(f, value.type);
    said = strlen(constant->text) <= 40 && strpbrk(constant->text, "'\n") == NULL
               ? lw_format_text(f, "the string '%s'", constant->text)
               : "a string";
    return said ? said : "";
}

const char *
lw_describe_source(lw_infer_frame *f, uint32_t node)
{
    const lw_tree *tree = f->run->tree;
    const lw_loc *loc = &tree->locs.data[lw_node_of(f, node)->loc];
    const lw_file *file = &tree->files.data[loc->file];
    const char *line, *said;

    if (!is_reporting(f) || loc->line != loc->end_line || loc->line < file->first_line ||
        loc->line - file->first_line >= file->n_lines)
        return "";
    line = file->lines[loc->line - file->first_line];
    if (loc->end_col > strlen(line) || loc->col >= loc->end_col || loc->end_col - loc->col > 60)
        return "";
    said = lw_arena_strndup(f->run->arena, line + loc->col, loc->end_col - loc->col);
    return said ? said : "";
}

void
lw_add_shortened_type(lw_infer_frame *f, lw_type type, lw_text *out)
{
    enum { LONG = 80 };
    lw_text one = {0};

    lw_type_print(lw_types_of(f), type, &one);
    lw_text_addf(out, "%.*s%s", LONG, lw_text_get(&one),
                 strlen(lw_text_get(&one)) > LONG ? "…" : "");
    lw_text_reset(&one);
}

/* "blur(A: float32, i: int64)" */
static const char *
describe_frame(lw_infer_frame *f)
{
    lw_text text = {0};

    lw_text_addf(&text, "%s(", f->fn->name);
    for (uint32_t i = 0; i < f->fn->params.n && i < f->n_params; i++) {
        lw_text_addf(&text, "%s%s: ", i ? ", " : "", f->fn->params.data[i].name);
        lw_add_shortened_type(f, f->params[i].type, &text);
    }
    lw_text_add(&text, ")");
    return keep(f, &text);
}

/* ---- complaints ---- */

void
lw_complain_called(lw_infer_frame *f, uint32_t loc)
{
    lw_infer_run *run = f->run;

    if (f->fn->of_package || f->fn->generated) /* the user's call of it is reported */
        return;
    if (!lw_diagnose_at_call(run->tree, loc, describe_frame(f), run->err))
        lw_diagnose_called_from(run->tree, loc, f->fn->name, run->err);
}

/* Code that the language does not support is UnsupportedError, a constant that is out of range
 * an ArgumentError, every other fault a TypingError. */
static lw_status
status_of(const char *code)
{
    static const struct {
        const char *code;
        lw_status status;
    } others[] = {{"E101", LW_ERR_UNSUPPORTED},
                  {"E102", LW_ERR_UNSUPPORTED},
                  {"E125", LW_ERR_ARGUMENT},
                  {"E151", LW_ERR_UNSUPPORTED},
                  {"E160", LW_ERR_UNSUPPORTED}};

    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strcmp(code, others[i].code) == 0)
            return others[i].status;
    return LW_ERR_TYPING;
}

lw_status
lw_complain(lw_infer_frame *f, uint32_t loc, const char *code, const char *label,
            const char *help, const char *format, ...)
{
    lw_text text = {0};
    va_list args;
    lw_status status = status_of(code);

    if (!f->report)
        return LW_OK;
    if (f->run->quiet)
        return status;
    va_start(args, format);
    lw_text_addv(&text, format, args);
    va_end(args);
    return lw_diagnose(
        f->run->tree, loc,
        (lw_fault){status, code, .label = label, .help = help, .where = describe_frame(f)},
        f->run->err, "%s", keep(f, &text));
}

/* Of a function that only lanewise's own ones call, the user knows no name. */
lw_status
lw_complain_argument(lw_infer_frame *f, lw_name_id name, const lw_arg *arg, const char *wanted,
                     const char *help)
{
    uint32_t loc = lw_node_of(f, arg->node)->loc;
    const char *label = lw_format_text(f, "this is %s", lw_describe_value(f, arg->value));

    if (strncmp(lw_names[name].path, "lanewise.arrays.", 16) == 0)
        return lw_complain(f, loc, "E120", label, help, "%s is needed here", wanted);
    return lw_complain(f, loc, "E120", label, help, "`%s` needs %s", lw_name_shown(name),
                       wanted);
}

lw_status
lw_complain_kept(lw_infer_frame *f, uint32_t diag)
{
    if (!f->report)
        return LW_OK;
    if (f->run->quiet)
        return f->run->tree->diags.data[diag].status;
    return lw_diagnose_kept(f->run->tree, diag, describe_frame(f), f->run->err);
}

lw_status
lw_out_of_memory(lw_infer_frame *f)
{
    return lw_fail_memory(f->run->err);
}

/* ---- conversions of results and annotated variables ---- */

static bool
does_not_fit(lw_infer_frame *f, lw_type type, lw_dtype to)
{
    return lw_is_integer(to) && lw_type_kind_of(lw_types_of(f), type) == LW_TK_LITERAL &&
           !lw_literal_fits(lw_types_of(f), type, to);
}

lw_status
lw_check_conversion(lw_infer_frame *f, uint32_t loc, lw_type type, lw_dtype to,
                    const char *what)
{
    lw_dtype from = lw_type_is_member(f, type) || lw_is_text(f, type)
                        ? LW_DT_void
                        : lw_type_stored(lw_types_of(f), type);
    const char *to_name = lw_dtypes[to].public_name, *lost = "fraction";

    if (f->run->typed->options.guess)
        return LW_OK;
    if (does_not_fit(f, type, to))
        return lw_complain(
            f, loc, "E130",
            lw_format_text(f, "%s does not fit %s", lw_describe_type(f, type), to_name), NULL,
            "integer constant out of range");
    if (type == LW_T_BOTTOM || lw_can_cast_same_kind(from, to))
        return LW_OK;
    if (from == LW_DT_void)
        return lw_complain(f, loc, "E142",
                           lw_format_text(f, "this is %s", lw_describe_type(f, type)), NULL,
                           "a %s of type %s cannot receive this", what, to_name);
    if (lw_is_time(from) || lw_is_time(to))
        return f->run->typed->options.casting_unsafe && lw_time_casts(from, to)
                   ? LW_OK
                   : lw_complain(
                         f, loc, "E142",
                         lw_format_text(f, "%s into a %s %s", lw_describe_type(f, type),
                                        to_name, what),
                         lw_format_text(f, "write `x.astype(\"%s\")` if that is intended",
                                        lw_dtypes[to].alias),
                         "%s cannot be stored as %s", lw_describe_type(f, type), to_name);
    if ((lw_is_integer(from) && lw_is_integer(to)) || to == LW_DT_b1) /* by their truth */
        return LW_OK;
    if (f->run->typed->options.casting_unsafe ||
        (f->run->typed->options.typing != LW_TYPING_WEAK && !lw_is_complex(from)))
        return LW_OK; /* numba truncates without a warning, in NumPy's functions, too */
    if (lw_is_complex(from) && !lw_is_complex(to))
        lost = "imaginary part";
    return lw_complain(
        f, loc, "E142",
        lw_format_text(f, "%s into %s %s %s would drop the %s", lw_describe_type(f, type),
                       to_name[0] == 'i' ? "an" : "a", to_name, what, lost),
        lw_is_complex(from) ? "use `.real` or `abs(...)`" : "use `int(...)` or `round(...)`",
        "%s cannot be stored as %s", lw_describe_type(f, type), to_name);
}

lw_status
lw_check_constants(lw_infer_frame *f, uint32_t node, lw_dtype to, const char *what)
{
    const lw_node *n = lw_node_of(f, node);
    lw_status status = LW_OK;

    if (lw_typed_in(&f->nodes, node)->dead || !lw_is_integer(to))
        return LW_OK;
    if (n->kind == LW_NODE_IFEXP) {
        LW_TRY(lw_check_constants(f, n->b, to, what));
        return lw_check_constants(f, n->c, to, what);
    }
    if (does_not_fit(f, lw_typed_in(&f->nodes, node)->type, to))
        return lw_check_conversion(f, n->loc, lw_typed_in(&f->nodes, node)->type, to, what);
fail:
    return status;
}

lw_status
lw_check_value(lw_infer_frame *f, uint32_t node, lw_type type, lw_dtype to, const char *what)
{
    lw_status status;

    LW_TRY(lw_check_constants(f, node, to, what));
    return lw_check_conversion(f, lw_node_of(f, node)->loc, type, to, what);
fail:
    return status;
}

#include "core/front/named.h"

#include <string.h>

const lw_name_row lw_names[LW_N_NAMES] = {
#define NAMED(id, path, min_args, max_args, rule, impl)                                        \
    [LW_NAME_##id] = {path, min_args, max_args, LW_RULE_##rule, LW_IMPL_##impl},
#include "core/tables/every_name.inc"
};

/* The keywords that Python and NumPy accept; all other parameters are positional. */
static const struct {
    const char *path, *word;
    int position;
} keywords[] = {
    {"math.isclose", "rel_tol", 2},     {"math.isclose", "abs_tol", 3},
    {"cmath.isclose", "rel_tol", 2},    {"cmath.isclose", "abs_tol", 3},
    {"math.isclose", "a", 0},           {"math.isclose", "b", 1},
    {"builtins.round", "number", 0},    {"builtins.round", "ndigits", 1},
    {"builtins.pow", "base", 0},        {"builtins.pow", "exp", 1},
    {"builtins.pow", "mod", 2},         {"builtins.complex", "real", 0},
    {"builtins.complex", "imag", 1},    {"builtins.sum", "start", 1},
    {"builtins.enumerate", "start", 1}, {"numpy.clip", "a", 0},
    {"numpy.clip", "a_min", 1},         {"numpy.clip", "a_max", 2},
    {"numpy.clip", "min", 1},           {"numpy.clip", "max", 2},
    {"numpy.empty", "shape", 0},        {"numpy.empty", "dtype", 1},
    {"numpy.round", "decimals", 1},     {"numpy.around", "decimals", 1},
};

const char *
lw_name_shown(lw_name_id name)
{
    static const char *const hidden[] = {"builtins.", "lanewise."};
    const char *path = lw_names[name].path;

    for (size_t i = 0; i < sizeof hidden / sizeof *hidden; i++)
        if (strncmp(path, hidden[i], strlen(hidden[i])) == 0)
            return path + strlen(hidden[i]);
    return path;
}

/* Functions of kernels take the parameters that their signature column names: "(mask,
 * value)". */
static int
position_in(const char *signature, const char *word)
{
    size_t n = strlen(word);
    int position = 0;

    for (const char *p = signature; *p; p++) {
        if ((*p == '(' || *p == ' ') && strncmp(p + 1, word, n) == 0 &&
            strchr(",)=", p[1 + n]) != NULL)
            return position;
        position += *p == ',';
    }
    return -1;
}

int
lw_name_keyword(lw_name_id name, const char *word)
{
    static const char *const signatures[LW_N_NAMES] = {
#define KERNEL_NAME(id, path, min, max, rule, impl, signature, doc) [LW_NAME_##id] = signature,
#include "core/tables/kernel_names.def"
    };

    if (signatures[name])
        return position_in(signatures[name], word);
    for (size_t i = 0; i < sizeof keywords / sizeof *keywords; i++)
        if (strcmp(keywords[i].path, lw_names[name].path) == 0 &&
            strcmp(keywords[i].word, word) == 0)
            return keywords[i].position;
    return -1;
}

lw_pyop
lw_impl_operator(lw_impl impl)
{
    static const uint8_t operators[LW_N_IMPLS] = {
        [LW_IMPL_ADD] = LW_PY_ADD,
        [LW_IMPL_SUB] = LW_PY_SUB,
        [LW_IMPL_MUL] = LW_PY_MUL,
        [LW_IMPL_DIV] = LW_PY_DIV,
        [LW_IMPL_FLOORDIV] = LW_PY_FLOORDIV,
        [LW_IMPL_MOD] = LW_PY_MOD,
        [LW_IMPL_POW] = LW_PY_POW,
        [LW_IMPL_LSHIFT] = LW_PY_LSHIFT,
        [LW_IMPL_RSHIFT] = LW_PY_RSHIFT,
        [LW_IMPL_BITAND] = LW_PY_BITAND,
        [LW_IMPL_BITOR] = LW_PY_BITOR,
        [LW_IMPL_BITXOR] = LW_PY_BITXOR,
        [LW_IMPL_NEG] = LW_PY_NEG,
        [LW_IMPL_POS] = LW_PY_POS,
        [LW_IMPL_INVERT] = LW_PY_INVERT,
        [LW_IMPL_NOT] = LW_PY_NOT,
        [LW_IMPL_EQ] = LW_PY_EQ,
        [LW_IMPL_NE] = LW_PY_NE,
        [LW_IMPL_LT] = LW_PY_LT,
        [LW_IMPL_LE] = LW_PY_LE,
        [LW_IMPL_GT] = LW_PY_GT,
        [LW_IMPL_GE] = LW_PY_GE,
    };
    return impl < LW_N_IMPLS ? (lw_pyop)operators[impl] : LW_PY_NONE;
}

lw_impl
lw_operator_impl(lw_pyop op)
{
    for (int impl = 0; impl < LW_N_IMPLS; impl++)
        if (op != LW_PY_NONE && lw_impl_operator((lw_impl)impl) == op)
            return (lw_impl)impl;
    return LW_IMPL_NONE;
}

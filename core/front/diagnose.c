#include "core/front/diagnose.h"

#include <assert.h>
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum {
    TAB_CELLS = 8,   /* as Python counts them */
    MAX_CELLS = 100, /* display cells of a source line; a longer line is shown in part, around
                        the caret */
    MAX_CALLED_FROM = 3, /* keeps a message within 12 lines */
    MAX_WORD = 64,       /* characters of names that are compared */
};

/* ---- display cells ---- */

typedef struct code_point_range {
    uint32_t first, last;
} code_point_range;

/* Unicode 15, East Asian Width W and F, rounded to blocks. */
static const code_point_range wide_ranges[] = {
    {0x1100, 0x115F},   {0x2E80, 0x303E},   {0x3041, 0xA4CF},   {0xAC00, 0xD7A3},
    {0xF900, 0xFAFF},   {0xFE30, 0xFE6F},   {0xFF00, 0xFF60},   {0xFFE0, 0xFFE6},
    {0x1F300, 0x1F64F}, {0x1F680, 0x1F6FF}, {0x1F900, 0x1F9FF}, {0x20000, 0x3FFFD},
};
static const code_point_range zero_ranges[] = {
    {0x0300, 0x036F}, {0x0483, 0x0489}, {0x0591, 0x05BD},   {0x200B, 0x200F},
    {0x20D0, 0x20FF}, {0xFE00, 0xFE0F}, {0xE0100, 0xE01EF},
};

static bool
in_ranges(uint32_t c, const code_point_range *ranges, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (c >= ranges[i].first && c <= ranges[i].last)
            return true;
    return false;
}

/* Decode one character; broken UTF-8 counts as one byte. Returns its length in bytes. */
static size_t
decode(const char *text, uint32_t *out)
{
    const unsigned char *p = (const unsigned char *)text;
    size_t n = *p < 0x80 ? 1 : *p >= 0xF0 ? 4 : *p >= 0xE0 ? 3 : *p >= 0xC0 ? 2 : 1;
    uint32_t c = n == 1 ? *p : *p & (0xFFu >> (n + 1));

    for (size_t i = 1; i < n; i++) {
        if ((p[i] & 0xC0) != 0x80) {
            *out = '?';
            return 1;
        }
        c = c << 6 | (p[i] & 0x3F);
    }
    *out = *p >= 0x80 && n == 1 ? '?' : c;
    return n;
}

static uint32_t
cells_of(uint32_t c, uint32_t column)
{
    if (c == '\t')
        return TAB_CELLS - column % TAB_CELLS;
    if (in_ranges(c, zero_ranges, sizeof zero_ranges / sizeof *zero_ranges))
        return 0;
    return in_ranges(c, wide_ranges, sizeof wide_ranges / sizeof *wide_ranges) ? 2 : 1;
}

/* The display column of a byte offset in the line. */
static uint32_t
cell_at(const char *line, uint32_t offset)
{
    uint32_t column = 0, c;

    for (size_t i = 0; line[i] && i < offset;) {
        i += decode(line + i, &c);
        column += cells_of(c, column);
    }
    return column;
}

/* Append the cells first … last-1 of a line: tabs become spaces, control characters `?`. */
static void
add_cells(lw_text *out, const char *line, uint32_t first, uint32_t last)
{
    uint32_t column = 0, c;

    for (size_t i = 0, n; line[i]; i += n) {
        uint32_t width;
        n = decode(line + i, &c);
        width = cells_of(c, column);
        if (column >= first && column + width <= last) {
            if (c == '\t')
                lw_text_addf(out, "%*s", (int)width, "");
            else if (c < ' ' || c == 0x7F || (n == 1 && c > 0x7F))
                lw_text_add(out, "?");
            else
                lw_text_add_n(out, line + i, n);
        }
        column += width;
    }
}

/* ---- the message ---- */

static const char *
source_line(const lw_tree *tree, const lw_loc *loc)
{
    const lw_file *file = &tree->files.data[loc->file];

    if (loc->line < file->first_line || loc->line - file->first_line >= file->n_lines)
        return NULL;
    return file->lines[loc->line - file->first_line];
}

static uint32_t
digits_of(uint32_t number)
{
    uint32_t n = 1;

    while (number >= 10) {
        number /= 10;
        n++;
    }
    return n;
}

/* The line and, below it, the caret range with its label. */
static void
add_source(lw_text *out, const lw_loc *loc, const char *line, const char *label)
{
    uint32_t gutter = digits_of(loc->line);
    uint32_t first = cell_at(line, loc->col), total = cell_at(line, UINT32_MAX), last,
             shift = 0;

    last = loc->end_line == loc->line && loc->end_col > loc->col ? cell_at(line, loc->end_col)
                                                                 : total;
    if (first > total)
        first = total;
    if (last <= first)
        last = first + 1;
    if (total > MAX_CELLS && last > MAX_CELLS) /* keep some text in front of the caret */
        shift = first > MAX_CELLS / 2 ? first - MAX_CELLS / 2 : 0;
    if (last > shift + MAX_CELLS)
        last = shift + MAX_CELLS;
    lw_text_addf(out, "\n%u | ", loc->line);
    if (shift)
        lw_text_add(out, "…");
    add_cells(out, line, shift + (shift > 0), shift + MAX_CELLS);
    lw_text_addf(out, "\n%*s | %*s", (int)gutter, "", (int)(first - shift), "");
    for (uint32_t i = first; i < last; i++)
        lw_text_add(out, "^");
    if (label != NULL)
        lw_text_addf(out, " %s", label);
}

/* The name of the function that contains a location, for callers that do not know the types of
 * its arguments. */
static const char *
function_at(const lw_tree *tree, const lw_loc *loc)
{
    const char *name = NULL;
    uint32_t best = 0;

    for (uint32_t i = 1; i < tree->fns.n; i++) {
        const lw_fn *fn = &tree->fns.data[i];
        const lw_loc *own = &tree->locs.data[fn->loc];
        bool inside = fn->loc && own->file == loc->file && own->line <= loc->line &&
                      own->end_line >= loc->line;
        if (inside && own->line >= best) { /* of nested functions, the innermost starts last */
            best = own->line;
            name = fn->name;
        }
    }
    return name;
}

static void
add_location(lw_text *out, const lw_tree *tree, const lw_loc *loc, const char *where)
{
    const lw_file *file = &tree->files.data[loc->file];
    const char *line = source_line(tree, loc), *name = where ? where : function_at(tree, loc);

    if (file->path == NULL)
        return;
    lw_text_addf(out, "\n  --> %s:%u", file->path, loc->line);
    if (line != NULL)
        lw_text_addf(out, ":%u", cell_at(line, loc->col) + 1);
    if (name != NULL)
        lw_text_addf(out, " in `%s`", name);
}

static char *
copy_or_null(const char *text)
{
    return text ? lw_strdup(text) : NULL;
}

static void
fill(lw_error *err, const lw_tree *tree, const lw_loc *loc, const lw_fault *fault)
{
    snprintf(err->code, sizeof err->code, "%s", fault->code);
    err->help = copy_or_null(fault->help);
    err->label = copy_or_null(fault->label);
    if (loc == NULL)
        return;
    err->file = copy_or_null(tree->files.data[loc->file].path);
    err->line = loc->line;
    err->col = loc->col;
    err->end_line = loc->end_line;
    err->end_col = loc->end_col;
}

/* The name of an installed package that a file belongs to, such as "scipy"; *length: of the
 * name. The file of a module of Python itself gives "the standard library". NULL: it is in
 * neither place, so that it is the user's own. */
static const char *
library_of(const char *path, int *length)
{
    static const char *const installed[] = {"/site-packages/", "/dist-packages/"};
    static const char python[] = "/lib/python3.", standard[] = "the standard library";
    const char *found = NULL;

    for (size_t i = 0; path != NULL && i < sizeof installed / sizeof *installed; i++)
        if ((found = strstr(path, installed[i])) != NULL) {
            found += strlen(installed[i]);
            *length = (int)strcspn(found, "/.");
            return found;
        }
    *length = (int)strlen(standard);
    return path != NULL && strstr(path, python) != NULL ? standard : NULL;
}

/* The user cannot mend the file of a library. */
static void
add_library(lw_text *out, const lw_tree *tree, const lw_loc *loc)
{
    const char *path = tree->files.data[loc->file].path;
    int length;
    const char *name = library_of(path, &length);

    if (name == NULL)
        return;
    lw_text_addf(out,
                 "\n%*s = note: this is code of %.*s, which your function calls; if it cannot "
                 "be changed, call it from Python, or write a function of your own",
                 (int)digits_of(loc->line), "", length, name);
    if (strstr(path, "/scipy/stats/") != NULL)
        lw_text_add(out, "; scipy.special has ndtr for norm.cdf, ndtri for norm.ppf, and the "
                         "like");
}

static lw_status
diagnose(const lw_tree *tree, uint32_t loc_index, const lw_fault *fault, const char *message,
         lw_error *err)
{
    assert(loc_index < tree->locs.n);
    assert(fault->code != NULL && fault->status != LW_OK); /* a fault is a failure */
    const lw_loc *loc = loc_index ? &tree->locs.data[loc_index] : NULL;
    const char *line = loc ? source_line(tree, loc) : NULL;
    lw_text text;

    if (err == NULL || err->status != LW_OK)
        return fault->status;
    lw_text_init(&text);
    lw_text_addf(&text, "%s: %s", fault->code, message);
    if (loc != NULL)
        add_location(&text, tree, loc, fault->where);
    if (line != NULL)
        add_source(&text, loc, line, fault->label);
    else if (fault->label != NULL)
        lw_text_addf(&text, "\n  %s", fault->label);
    if (fault->help != NULL)
        lw_text_addf(&text, "\n%*s = help: %s", loc ? (int)digits_of(loc->line) : 1, "",
                     fault->help);
    if (loc != NULL)
        add_library(&text, tree, loc);
    if (text.failed) {
        lw_text_reset(&text);
        return lw_fail_memory(err);
    }
    lw_fail(err, fault->status, "%s", lw_text_get(&text));
    lw_text_reset(&text);
    fill(err, tree, loc, fault);
    return fault->status;
}

lw_status
lw_diagnose(const lw_tree *tree, uint32_t loc, lw_fault fault, lw_error *err,
            const char *format, ...)
{
    lw_status status;
    lw_text message;
    va_list args;

    lw_text_init(&message);
    va_start(args, format);
    lw_text_addv(&message, format, args);
    va_end(args);
    status = diagnose(tree, loc, &fault, lw_text_get(&message), err);
    lw_text_reset(&message);
    return status;
}

lw_status
lw_diagnose_kept(const lw_tree *tree, uint32_t diag, const char *where, lw_error *err)
{
    assert(diag != 0 && diag < tree->diags.n);
    const lw_diag *d = &tree->diags.data[diag];

    return diagnose(tree, d->loc, &(lw_fault){d->status, d->code, d->label, d->help, where},
                    d->message, err);
}

static uint32_t
count_called_from(const char *text)
{
    uint32_t n = 0;

    for (const char *p = strstr(text, "\n"); p; p = strstr(p + 1, "\n"))
        n += strncmp(p + 1 + strspn(p + 1, " "), "= called from ", 14) == 0;
    return n;
}

void
lw_diagnose_called_from(const lw_tree *tree, uint32_t loc_index, const char *function,
                        lw_error *err)
{
    assert(loc_index < tree->locs.n);
    const lw_loc *loc = &tree->locs.data[loc_index];
    const char *path = tree->files.data[loc->file].path;
    lw_text text;

    if (err == NULL || err->text == NULL || count_called_from(err->text) >= MAX_CALLED_FROM)
        return;
    lw_text_init(&text);
    lw_text_addf(&text, "%s\n%*s = called from %s:%u in `%s`", err->text,
                 (int)digits_of(err->line), "", path ? path : "?", loc->line, function);
    if (!text.failed) {
        char *longer = lw_strdup(lw_text_get(&text));
        if (longer != NULL) {
            lw_free(err->text);
            err->text = longer;
        }
    }
    lw_text_reset(&text);
}

bool
lw_is_of_lanewise(const lw_tree *tree, const char *path)
{
    for (uint32_t i = 1; path != NULL && i < tree->fns.n; i++) {
        const lw_fn *fn = &tree->fns.data[i];
        const char *own = fn->file ? tree->files.data[fn->file].path : NULL;
        if ((fn->of_package || fn->generated) && own != NULL && strcmp(own, path) == 0)
            return true;
    }
    return false;
}

bool
lw_diagnose_at_call(const lw_tree *tree, uint32_t loc, const char *where, lw_error *err)
{
    lw_error inside = err != NULL ? *err : (lw_error){0};
    lw_text message, label;

    if (inside.text == NULL || !lw_is_of_lanewise(tree, inside.file))
        return false;
    lw_text_init(&message);
    lw_text_init(&label);
    lw_text_add_n(&message, inside.text, strcspn(inside.text, "\n"));
    lw_text_addf(&label, inside.label ? "in this call: %s" : "in this call", inside.label);
    *err = (lw_error){0};
    if (message.failed || label.failed)
        lw_fail_memory(err);
    else /* the message begins with the code */
        diagnose(
            tree, loc,
            &(lw_fault){inside.status, inside.code, lw_text_get(&label), inside.help, where},
            lw_text_get(&message) + strlen(inside.code) + 2, err);
    lw_text_reset(&message);
    lw_text_reset(&label);
    lw_error_reset(&inside);
    return true;
}

/* ---- did you mean ---- */

static uint32_t
smallest(uint32_t a, uint32_t b, uint32_t c)
{
    uint32_t least = a < b ? a : b;

    return least < c ? least : c;
}

/* Optimal string alignment (Damerau 1964): insert, delete, replace and swap of neighbours
 * cost 1. */
static uint32_t
distance(const char *x, uint32_t n, const char *y, uint32_t m)
{
    uint32_t rows[3][MAX_WORD + 1];
    uint32_t *before = rows[0], *above = rows[1], *row = rows[2];

    for (uint32_t j = 0; j <= m; j++)
        above[j] = j;
    memcpy(before, above, sizeof rows[0]);
    for (uint32_t i = 1; i <= n; i++) {
        uint32_t *spare;
        row[0] = i;
        for (uint32_t j = 1; j <= m; j++) {
            bool same = tolower((unsigned char)x[i - 1]) == tolower((unsigned char)y[j - 1]);
            row[j] = smallest(above[j] + 1, row[j - 1] + 1, above[j - 1] + !same);
            if (i > 1 && j > 1 && x[i - 1] == y[j - 2] && x[i - 2] == y[j - 1] &&
                before[j - 2] + 1 < row[j])
                row[j] = before[j - 2] + 1;
        }
        spare = before;
        before = above;
        above = row;
        row = spare;
    }
    return above[m];
}

static bool
are_same_letters(const char *word, size_t length, const char *other, size_t n)
{
    int counts[256] = {0};
    bool same = length == n;

    for (size_t i = 0; same && i < n; i++) {
        counts[(unsigned char)word[i]]++;
        counts[(unsigned char)other[i]]--;
    }
    for (int i = 0; same && i < 256; i++)
        same = counts[i] == 0;
    return same;
}

/* The only name that begins with the word, such as "identity" for "ident". */
static const char *
only_with_prefix(const char *word, size_t length, const char *const *candidates, uint32_t n)
{
    const char *found = NULL;

    for (uint32_t i = 0; length >= 4 && i < n; i++)
        if (strncmp(word, candidates[i], length) == 0 && candidates[i][length] != 0) {
            if (found != NULL && strcmp(found, candidates[i]) != 0)
                return NULL;
            found = candidates[i];
        }
    return found;
}

const char *
lw_nearest(const char *word, const char *const *candidates, uint32_t n)
{
    size_t length = strlen(word);
    /* every name is near to a word of one or two letters, so only a difference in case
     * counts */
    uint32_t best = length < 3 ? 1 : length < 6 ? 2 : length < 10 ? 3 : 4;
    const char *nearest = NULL;
    bool begins, nearest_begins = false;

    if (length == 0 || length > MAX_WORD)
        return NULL;
    for (uint32_t i = 0; i < n; i++) {
        size_t other = strlen(candidates[i]);
        uint32_t d;
        if (other == 0 || other > MAX_WORD || strcmp(word, candidates[i]) == 0)
            continue;
        if (other > length + best || length > other + best)
            continue;
        d = distance(word, (uint32_t)length, candidates[i], (uint32_t)other);
        begins = strncmp(word, candidates[i], other < length ? other : length) == 0 ||
                 are_same_letters(word, length, candidates[i], other);
        /* of candidates at the same distance, a word with a letter too many or too few at its
         * end wins, and one with two letters in the other order */
        if (d < best || (d == best && nearest != NULL && begins && !nearest_begins)) {
            best = d;
            nearest = candidates[i];
            nearest_begins = begins;
        }
    }
    return nearest ? nearest : only_with_prefix(word, length, candidates, n);
}

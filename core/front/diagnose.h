/* Errors in the user's function, shown as docs/errors.md has them: code and sentence, file:line
 * in function with its argument types, the source line, a caret range with a label, one help
 * line. Never more than 12 lines, never an internal name. Columns are display cells. */
#ifndef LW_FRONT_DIAGNOSE_H
#define LW_FRONT_DIAGNOSE_H

#include "core/front/tree.h"

/* Fill err (text, file, line, col, end_col, code, help) and return status. `where` is how the
 * function and its argument types read, "blur(A: float32[:, ::1], i: int64)", or NULL: the name
 * of the function alone is not known. The format makes the sentence. label and help may be
 * NULL. */
lw_status lw_diagnose(const lw_tree *tree, uint32_t loc, const char *where, lw_status status,
                      const char *code, const char *label, const char *help, lw_error *err,
                      const char *format, ...) __attribute__((format(printf, 9, 10)));
/* The same from a kept diag. */
lw_status lw_diagnose_kept(const lw_tree *tree, uint32_t diag, const char *where,
                           lw_error *err);
/* Add "= called from file:line in `f`" (at most three). */
void lw_diagnose_called_from(const lw_tree *tree, uint32_t loc, const char *function,
                             lw_error *err);
/* An error inside a function that lanewise itself brings becomes one of the user's call of it:
 * its file is none that the user wrote. False: it is of another function, and stays. */
bool lw_diagnose_at_call(const lw_tree *tree, uint32_t loc, const char *where, lw_error *err);
/* The nearest of n candidates by edit distance, or the only one that begins with the word, or
 * NULL when none is near: for "did you mean".
 */
const char *lw_nearest(const char *word, const char *const *candidates, uint32_t n);

#endif

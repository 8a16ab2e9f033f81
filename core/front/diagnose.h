/* Errors in the user's function, shown as docs/errors.md has them: code and sentence, file:line
 * in function with its argument types, the source line, a caret range with a label, one help
 * line. Never more than 12 lines, never an internal name. Columns are display cells. */
#ifndef LW_FRONT_DIAGNOSE_H
#define LW_FRONT_DIAGNOSE_H

#include "core/front/tree.h"

/* A fault of the user's code, without the sentence that describes it. */
typedef struct lw_fault {
    lw_status status;
    const char *code;  /* "E120" */
    const char *label; /* beside the caret; or NULL */
    const char *help;  /* or NULL */
    const char *where; /* the function with its argument types, as in "blur(A: float32[:, ::1],
                          i: int64)"; NULL: only its name is known */
} lw_fault;

/* Fill err (text, file, line, col, end_col, code, help) and return fault.status. The format
 * makes the sentence. */
lw_status lw_diagnose(const lw_tree *tree, uint32_t loc, lw_fault fault, lw_error *err,
                      const char *format, ...) __attribute__((format(printf, 5, 6)));
/* The same for a diagnostic that was recorded earlier. */
lw_status lw_diagnose_kept(const lw_tree *tree, uint32_t diag, const char *where,
                           lw_error *err);
/* Add "= called from file:line in `f`" (at most three). */
void lw_diagnose_called_from(const lw_tree *tree, uint32_t loc, const char *function,
                             lw_error *err);
/* Whether a file belongs to lanewise's own functions in Python, such as the one behind np.sum
 * of an array, or stands for a function that the reader has made. */
bool lw_is_of_lanewise(const lw_tree *tree, const char *path);
/* Turn an error inside one of lanewise's own functions into an error at the user's call of it,
 * because the user did not write that file. Returns false, and changes nothing, for an error in
 * any other function. */
bool lw_diagnose_at_call(const lw_tree *tree, uint32_t loc, const char *where, lw_error *err);
/* The nearest of n candidates by edit distance, or the only one that begins with the word; NULL
 * when none is near. For "did you mean". */
const char *lw_nearest(const char *word, const char *const *candidates, uint32_t n);

#endif

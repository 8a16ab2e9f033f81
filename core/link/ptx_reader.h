/* PTX read instruction by instruction, for the files that rewrite it. Only as much of the
 * language is known as libNVVM and nvJitLink print: one instruction ends on the line on which
 * it begins, and comments contain no semicolon. */
#ifndef LW_LINK_PTX_READER_H
#define LW_LINK_PTX_READER_H

#include <stdbool.h>

/* A part of the text. */
typedef struct lw_ptx_span {
    const char *at;
    int n;
} lw_ptx_span;

enum { LW_PTX_MAX_OPERANDS = 4 }; /* further ones are not read */

/* "@%p1 shl.b64 %rd1, %rd2, 3;" */
typedef struct lw_ptx_instruction {
    const char *start; /* the opcode's first character */
    const char *end;   /* behind the semicolon */
    bool is_guarded;   /* a predicate stands before it */
    lw_ptx_span opcode, operands[LW_PTX_MAX_OPERANDS];
    int n_operands;
} lw_ptx_instruction;

/* Reads the next text that ends with a semicolon on its own line; false at the end. What is no
 * instruction (labels, directives) reads as one whose opcode nobody knows. */
bool lw_ptx_next(const char *at, lw_ptx_instruction *out);

bool lw_ptx_is_same(lw_ptx_span a, lw_ptx_span b);
bool lw_ptx_is(lw_ptx_span a, const char *text);
bool lw_ptx_begins(lw_ptx_span a, const char *text);
/* Whether it begins with a decimal digit. */
bool lw_ptx_is_number(lw_ptx_span a);

#endif

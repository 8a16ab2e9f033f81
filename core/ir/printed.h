/* Lines that compiled code has printed and that nobody has shown yet: those of the host as they
 * are printed, those of a device once its buffer has been read; in order, from all threads. */
#ifndef LW_IR_PRINTED_H
#define LW_IR_PRINTED_H

#include "core/ir/format.h"

/* Lines are kept up to this many bytes; further ones are only counted. */
#define LW_PRINTED_BYTES (64u << 20)

typedef struct lw_printed {
    uint64_t *words; /* of each line: its format's number, then its slots; lw_free frees them */
    uint64_t n;
    uint64_t n_dropped;
} lw_printed;

void lw_printed_add(const lw_format *format, const uint64_t *slots);
void lw_printed_drop(uint64_t n_lines); /* lost before they came here */
bool lw_printed_pending(void);          /* cheap */
lw_printed lw_printed_take(void);       /* all so far */

#endif

/* The numbers that an exception carries, from compiled code on the host to its caller: kept for
 * the thread until the next ones. Code calls lw_raise_note (lw_report_note of core/ir/report.h
 * emits that) just before it returns the status. */
#ifndef LW_HOST_RAISE_NOTE_H
#define LW_HOST_RAISE_NOTE_H

#include <stdint.h>

/* What this thread's compiled code has noted last. */
void lw_raise_noted(uint64_t words[2]);
/* Makes lw_raise_note known to the loader of compiled code. */
void lw_raise_note_register(void);

#endif

/* What compiled code has printed, in sys.stdout. */
#ifndef LW_PY_PRINT_PY_H
#define LW_PY_PRINT_PY_H

#include <Python.h>

#include "core/ir/format.h"

/* To be called after every wait for a device, and after work on the host that may print: shows
 * what is there, in order, and how many lines were lost. -1 when sys.stdout raises. The GIL is
 * held. */
int lw_print_show(void);
/* The same also when an exception ended the work: it stays, whatever sys.stdout raises. */
int lw_print_show_anyway(void);
/* The text of one line; a new reference. */
PyObject *lw_print_line(const lw_format *format, const uint64_t *slots);
/* The string of this number (core/ir/format.h); "" if there is none, as of variables that were
 * never assigned. */
PyObject *lw_print_text(uint64_t number);
/* The number that stands for a string in compiled code; 0 with an exception. */
uint64_t lw_print_word(PyObject *text);
/* The same for a string that has been added. 0: no list or dict has it, or there is an
 * exception. */
uint64_t lw_print_known_word(PyObject *text);
/* The first value of a line, as a Python number or a NumPy scalar; a new reference. */
PyObject *lw_print_value(const lw_format *format, const uint64_t *slots);

#endif

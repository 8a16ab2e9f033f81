/* Where the stack ends of the thread, or of the simulated thread, that compiled code runs on.
 * Pure C. */
#ifndef LW_HOST_RECURSION_H
#define LW_HOST_RECURSION_H

/* Makes lw_recursion_begin known to the loader of compiled code: core/emit/recursion.c. */
void lw_recursion_register(void);

#endif

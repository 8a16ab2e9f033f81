/* print() of compiled code on the host. */
#ifndef LW_HOST_PRINT_HOST_H
#define LW_HOST_PRINT_HOST_H

/* Makes lw_print_host, which the emitter calls, known to the loader of compiled code. */
void lw_print_host_register(void);

#endif

/* How many threads loops over host arrays use. Pure C. */
#ifndef LW_HOST_CORES_H
#define LW_HOST_CORES_H

#include <stdint.h>

#define LW_MAX_THREADS 256

/* The setting `threads`, or the number of cores that this process may use, of which a container
 * may allow less. At least 1, at most LW_MAX_THREADS. */
uint32_t lw_host_threads(void);

#endif

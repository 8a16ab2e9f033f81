/* The table through which C code of others makes and shares counted memory: numba's
 * NRT_api_functions. lanewise/include/lanewise_nrt.h declares it for them. */
#ifndef LW_HOST_NRT_TABLE_H
#define LW_HOST_NRT_TABLE_H

/* The table; it lives as long as the process. */
const void *lw_nrt_table(void);

#endif

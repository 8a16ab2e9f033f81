/* The name that this header has in numba-cuda. */
#include "lanewise_nrt.h"

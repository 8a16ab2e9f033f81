/* What ptxas is known to compile wrongly, corrected in PTX. */
#ifndef LW_LINK_PTX_MEND_H
#define LW_LINK_PTX_MEND_H

#include "core/base/bytes.h"
#include "core/base/error.h"

/* Rewrites, in place, the instructions of which a version of ptxas makes wrong machine code;
 * the others stay as they are. lw_nvvm_compile does it; PTX that nvJitLink has made of LTO-IR
 * needs it too. The faults are listed in ptx_mend.c. */
lw_status lw_ptx_mend(lw_bytes *ptx, lw_error *err);

#endif

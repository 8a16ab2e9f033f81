/* What a kernel on the GPU leaves behind when a thread of it raises: one record in host memory
 * that the device can reach, claimed through one word in device memory. The IR half is here;
 * the host half, which makes, reads and clears both, is core/device/report.h.
 *
 * A kernel takes the address of a lw_report_control as a parameter. The first thread that fails
 * claims it and writes the record, the flag last; the others do nothing. On the CPU nothing of
 * this is needed: there a kernel returns its status. */
#ifndef LW_IR_REPORT_H
#define LW_IR_REPORT_H

#include "core/ir/build.h"

enum { LW_REPORT_VALUES = 5 };

typedef struct lw_report_record {
    uint32_t flag;                /* nonzero once all the rest is there */
    int32_t status;               /* index of the raise row + 1 */
    uint32_t block[3], thread[3]; /* x, y, z */
    uint64_t values[LW_REPORT_VALUES];
} lw_report_record;

typedef struct lw_report_control {
    uint32_t claimed; /* 0: nobody has failed yet */
    uint32_t unused;
    uint64_t record; /* device address of the lw_report_record */
} lw_report_control;

/* if (status != 0) and the record is still free: write it. control: ptr; status: i32; values:
 * up to LW_REPORT_VALUES of 64-bit integers (where it was, then what the exception
 * carries). Execution goes on behind it. */
void lw_report_emit(lw_builder *b, lw_ref control, lw_ref status, const lw_ref *values,
                    uint32_t n);
/* On the host: hand these two u64 to who called the code (core/host/raise_note.h). */
void lw_report_note(lw_builder *b, const lw_ref words[2]);

#endif

/* What a GPU kernel leaves behind when one of its threads raises: one record in host memory
 * that the device can write, claimed through one word in device memory. This is the IR half;
 * the host half, which makes, reads and clears both, is core/device/report.h.
 *
 * A kernel takes the address of a lw_report_control as a parameter. The first thread that fails
 * claims it and writes the record, the flag last; the others do nothing. The CPU needs none of
 * this: there a kernel returns its status. */
#ifndef LW_IR_REPORT_H
#define LW_IR_REPORT_H

#include "core/ir/build.h"

enum { LW_REPORT_VALUES = 5 };

typedef struct lw_report_record {
    uint32_t flag;                /* nonzero once everything else has been written */
    int32_t status;               /* index of the raise row + 1 */
    uint32_t block[3], thread[3]; /* x, y, z */
    uint64_t values[LW_REPORT_VALUES];
} lw_report_record;

typedef struct lw_report_control {
    uint32_t claimed; /* 0: nobody has failed yet */
    uint32_t unused;
    uint64_t record; /* device address of the lw_report_record */
} lw_report_control;

/* Emits: if (status != 0) and the record is not claimed yet, write it. control: ptr; status:
 * i32; values: up to LW_REPORT_VALUES 64-bit integers (the element's index, then what the
 * exception carries). Execution continues after it. */
void lw_report_emit(lw_builder *b, lw_ref control, lw_ref status, const lw_ref *values,
                    uint32_t n);
/* Emits for the host: pass these u64, two at most, to the caller of the code
 * (core/host/raise_note.h). */
void lw_report_note(lw_builder *b, const lw_ref *words, uint32_t n);

#endif

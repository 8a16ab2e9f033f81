/* What compiled code on the host knows of the simulated thread that it runs as. The simulator
 * (core/host/simulator.h) makes one for each thread of a block; the emitter reads the fields by
 * their offsets. Functions of modules for which lw_ir_uses_context holds take a pointer to it
 * before their parameters, and so do the host functions of kernel_ops.def. */
#ifndef LW_IR_KERNEL_CONTEXT_H
#define LW_IR_KERNEL_CONTEXT_H

#include "core/ir/ir.h"

typedef struct lw_kernel_context {
    uint32_t sregs[LW_N_SREGS]; /* by lw_sreg */
    char *shared;               /* the block's static shared memory, 16-byte aligned */
    char *dynamic;              /* of the size that the launch asked for, 16-byte aligned */
    /* line of the user's source, stored before each call of a collective function: for
     * messages, and to tell barriers apart; 0: not known */
    uint32_t line;
} lw_kernel_context;

#endif

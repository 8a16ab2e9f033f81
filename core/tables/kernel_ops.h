/* The rows of kernel_ops.def: operations between the threads of a kernel. */
#ifndef LW_TABLES_KERNEL_OPS_H
#define LW_TABLES_KERNEL_OPS_H

#include "core/tables/dtypes.h"

typedef enum lw_kernel_op {
#define KERNEL_OP(name, args, result, collective, ptx, host) LW_KOP_##name,
#include "core/tables/kernel_ops.def"
    LW_N_KERNEL_OPS
} lw_kernel_op;

typedef struct lw_kernel_op_row {
    const char *name;
    const char *args; /* one letter each: i = i32, l = i64, b = bool, p = ptr */
    char result;      /* the same letters, or 0: none */
    bool collective;  /* threads wait in it for each other */
    const char *ptx;  /* $0 the result, $1 … the arguments (from $0 where there is none) */
    const char *host; /* the simulator's function: result f(lw_kernel_context *, args...) */
} lw_kernel_op_row;

extern const lw_kernel_op_row lw_kernel_ops[LW_N_KERNEL_OPS];

/* The type of a letter of args or result; b1 for b, void for 0. */
lw_dtype lw_kernel_op_type(char letter);

#endif

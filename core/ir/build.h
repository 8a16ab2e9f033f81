/* Building IR. Emitters never return errors: a failed allocation sticks in module->failed (and
 * lw_ir_finish reports it); the values returned then are 0 and accepted everywhere.
 *
 *     lw_builder b;
 *     lw_builder_start(&b, module, "axpy");
 *     lw_ref a = lw_ir_param_add(&b, LW_DT_f32, 0, "a"), x = …;
 *     lw_ir_result_add(&b, LW_DT_f32);
 *     lw_ref sum = lw_ir_add(&b, lw_ir_mul(&b, a, x), y);
 *     lw_ir_return(&b, &sum, 1);
 *     lw_ir_finish(&b, &err); */
#ifndef LW_IR_BUILD_H
#define LW_IR_BUILD_H

#include "core/ir/ir.h"

typedef struct lw_builder {
    lw_module *module;
    lw_func *func;
    uint32_t func_number; /* for lw_ir_call */
    uint32_t loc;         /* location of what is emitted next */
    uint32_t fast;        /* LW_FAST_* | LW_MAY_FUSE of float arithmetic that is emitted next */
    uint32_t depth;       /* open regions */
} lw_builder;

void lw_builder_start(lw_builder *b, lw_module *module, const char *name);
lw_ref lw_ir_param_add(lw_builder *b, lw_dtype type, uint32_t flags, const char *name);
void lw_ir_result_add(lw_builder *b, lw_dtype type);
lw_status lw_ir_finish(lw_builder *b, lw_error *err);
uint32_t lw_ir_loc_add(lw_module *module, uint32_t file, uint32_t line, uint32_t col);
uint32_t lw_ir_file_add(lw_module *module,
                        const char *path); /* the same path gives the same number */
uint32_t lw_ir_find(const lw_module *module,
                    const char *name); /* function number, UINT32_MAX: none */

/* Emits any instruction; the functions below call it. */
lw_ref lw_ir_emit(lw_builder *b, lw_op op, lw_dtype type, uint32_t a, uint32_t a2, uint32_t a3);
uint32_t lw_ir_list(lw_builder *b, const lw_ref *values, uint32_t n); /* start of a list */
lw_dtype lw_ir_type(const lw_builder *b, lw_ref value);

/* constants */
lw_ref lw_ir_int(lw_builder *b, lw_dtype type, int64_t value);  /* any integer type or bool */
lw_ref lw_ir_float(lw_builder *b, lw_dtype type, double value); /* rounds to f16, bf16, f32 */
lw_ref lw_ir_bits(lw_builder *b, lw_dtype type, uint64_t bits); /* exact format bits */
/* The bits of which these two make constants. */
uint64_t lw_ir_int_bits(lw_dtype type, int64_t value);
uint64_t lw_ir_float_bits(lw_dtype type, double value);
lw_ref lw_ir_zero(lw_builder *b, lw_dtype type);
/* Whether value is a CONST, and its bits. */
bool lw_ir_is_const(const lw_builder *b, lw_ref value, uint64_t *bits);

/* arithmetic: operands of one type */
lw_ref lw_ir_add(lw_builder *b, lw_ref x, lw_ref y);
lw_ref lw_ir_sub(lw_builder *b, lw_ref x, lw_ref y);
lw_ref lw_ir_mul(lw_builder *b, lw_ref x, lw_ref y);
lw_ref lw_ir_div(lw_builder *b, lw_ref x, lw_ref y);
lw_ref lw_ir_rem(lw_builder *b, lw_ref x, lw_ref y);
/* Sums and products of addresses, which are signed and known not to overflow. */
lw_ref lw_ir_add_no_wrap(lw_builder *b, lw_ref x, lw_ref y);
lw_ref lw_ir_mul_no_wrap(lw_builder *b, lw_ref x, lw_ref y);
lw_ref lw_ir_mulhi(lw_builder *b, lw_ref x, lw_ref y);
/* item / d for a lw_divider of d (core/base/divider.h), and the coordinates of an item among n
 * dimensions of these sizes, the first of which runs fastest. */
lw_ref lw_ir_quotient(lw_builder *b, lw_ref item, lw_ref multiplier, lw_ref shift);
void lw_ir_decompose(lw_builder *b, lw_ref item, int n, const lw_ref *size,
                     const lw_ref *multiplier, const lw_ref *shift, lw_ref *coordinate);
lw_ref lw_ir_neg(lw_builder *b, lw_ref x);
lw_ref lw_ir_fma(lw_builder *b, lw_ref x, lw_ref y, lw_ref z);
lw_ref lw_ir_and(lw_builder *b, lw_ref x, lw_ref y);
lw_ref lw_ir_or(lw_builder *b, lw_ref x, lw_ref y);
lw_ref lw_ir_xor(lw_builder *b, lw_ref x, lw_ref y);
lw_ref lw_ir_not(lw_builder *b, lw_ref x);
lw_ref lw_ir_shl(lw_builder *b, lw_ref x, lw_ref count);
lw_ref lw_ir_shr(lw_builder *b, lw_ref x, lw_ref count);
lw_ref lw_ir_compare(lw_builder *b, lw_op op, lw_ref x, lw_ref y); /* LW_OP_EQ … LW_OP_GE */
lw_ref lw_ir_select(lw_builder *b, lw_ref condition, lw_ref yes, lw_ref no);
/* Of two integers; a comparison and a select. */
lw_ref lw_ir_smaller(lw_builder *b, lw_ref x, lw_ref y);
lw_ref lw_ir_larger(lw_builder *b, lw_ref x, lw_ref y);
lw_ref lw_ir_cast(lw_builder *b, lw_dtype type,
                  lw_ref x); /* x itself when the type is the same */
lw_ref lw_ir_bitcast(lw_builder *b, lw_dtype type, lw_ref x);
lw_ref lw_ir_intrinsic(lw_builder *b, uint32_t intrinsic, lw_dtype type, const lw_ref *args,
                       uint32_t n);
lw_ref lw_ir_sreg(lw_builder *b, lw_sreg which);

/* variables: slots live for the whole function, whatever region is open when they are made */
lw_ref lw_ir_slot(lw_builder *b, lw_dtype type);
lw_ref lw_ir_vector_slot(lw_builder *b, lw_dtype type, unsigned lanes);
lw_ref lw_ir_get(lw_builder *b, lw_ref slot);
void lw_ir_set(lw_builder *b, lw_ref slot, lw_ref value);

/* memory: align_bytes 0 = that of one element, also for vectors; lanes 1 = scalar */
lw_ref lw_ir_offset(lw_builder *b, lw_ref pointer, lw_ref bytes);
lw_ref lw_ir_load(lw_builder *b, lw_dtype type, unsigned lanes, lw_ref pointer,
                  unsigned align_bytes, uint32_t flags);
void lw_ir_store(lw_builder *b, lw_ref pointer, lw_ref value, unsigned align_bytes,
                 uint32_t flags);
void lw_ir_prefetch(lw_builder *b, lw_ref pointer);
/* A number of `dtype` in memory is lw_dtype_n_parts scalars (complex: two), side by side: where
 * the one of this index lies, and all of them. */
lw_ref lw_ir_part_address(lw_builder *b, lw_dtype dtype, lw_ref address, unsigned part);
void lw_ir_load_parts(lw_builder *b, lw_dtype dtype, lw_ref address, uint32_t flags,
                      lw_ref *parts);
void lw_ir_store_parts(lw_builder *b, lw_dtype dtype, lw_ref address, const lw_ref *parts);
lw_ref lw_ir_pack(lw_builder *b, lw_dtype type, const lw_ref *values, unsigned lanes);
lw_ref lw_ir_lane(lw_builder *b, lw_ref vector, unsigned lane);
unsigned lw_ir_lanes(const lw_builder *b, lw_ref value); /* 1: a scalar */
lw_ref lw_ir_splat(lw_builder *b, lw_ref scalar, unsigned lanes);
lw_ref lw_ir_any(lw_builder *b, lw_ref mask);
lw_ref lw_ir_first(lw_builder *b, lw_ref mask);

/* memory that belongs to the function or module; align_bytes is a power of two */
lw_ref lw_ir_local(lw_builder *b, uint32_t bytes, uint32_t align_bytes);
/* counted memory; an owner of this function, new memory in it, references (ops.def) */
lw_ref lw_ir_owner(lw_builder *b);
lw_ref lw_ir_new(lw_builder *b, lw_ref owner, lw_ref n_bytes);
void lw_ir_hold(lw_builder *b, lw_ref owner, lw_ref reference);
void lw_ir_take(lw_builder *b, lw_ref owner, lw_ref reference);
void lw_ir_retain(lw_builder *b, lw_ref reference);
void lw_ir_give(lw_builder *b, lw_ref owner, lw_ref reference);
lw_ref lw_ir_shared(lw_builder *b, uint32_t bytes, uint32_t align_bytes);
lw_ref lw_ir_dynamic(lw_builder *b);
lw_ref lw_ir_data(lw_builder *b, const void *bytes, uint32_t n,
                  uint32_t align_bytes); /* copies */
/* The address, not 0, of memory from outside: of a GPU's, or for host code that runs in this
 * process. */
lw_ref lw_ir_live_data(lw_builder *b, uint64_t address, bool on_gpu);
/* The number whose bits are there now and in each later call: core/front/varying.h. */
lw_ref lw_ir_varying(lw_builder *b, lw_dtype type, const uint64_t *bits);
/* Host only: the thread's lw_kernel_context, for code that runs a block's threads in a loop. */
lw_ref lw_ir_context(lw_builder *b);
/* operands: those that the lw_atomic takes after the address. */
lw_ref lw_ir_atomic(lw_builder *b, lw_atomic which, lw_ref pointer, const lw_ref *operands,
                    uint32_t n);
/* Calls a row of kernel_ops.def; `type` is that of the row's result: i32, i64, or void. */
lw_ref lw_ir_kernel_call(lw_builder *b, uint32_t row, lw_dtype type, const lw_ref *args,
                         uint32_t n);

/* calls */
lw_ref lw_ir_call(lw_builder *b, uint32_t func_number, const lw_ref *args, uint32_t n);
/* The same, of a function that calls the one at hand, or is it. */
lw_ref lw_ir_recur(lw_builder *b, uint32_t func_number, const lw_ref *args, uint32_t n);
lw_ref lw_ir_result(lw_builder *b, lw_ref call,
                    uint32_t which); /* the call itself when it has one */
/* Host only: the address of a function that is exported. */
lw_ref lw_ir_entry(lw_builder *b, uint32_t func_number);
lw_ref lw_ir_host_call(lw_builder *b, uint32_t extern_number, const lw_ref *args, uint32_t n);
uint32_t lw_ir_extern_add(lw_module *module, const char *name, lw_dtype result,
                          const lw_dtype *params, unsigned n);
/* A function of this process: `name` is for messages alone. */
uint32_t lw_ir_foreign_extern_add(lw_module *module, const char *name, uint64_t address,
                                  lw_dtype result, const lw_dtype *params, unsigned n);
/* The same of a function that the user declared for GPUs. */
uint32_t lw_ir_device_extern_add(lw_module *module, const char *name, lw_dtype result,
                                 const lw_dtype *params, unsigned n);

/* All threads of the block wait for each other. */
void lw_ir_barrier(lw_builder *b);

/* control flow */
void lw_ir_if(lw_builder *b, lw_ref condition);
void lw_ir_else(lw_builder *b);
void lw_ir_block(lw_builder *b);
void lw_ir_loop(lw_builder *b, uint32_t flags);
void lw_ir_latch(lw_builder *b);
void lw_ir_end(lw_builder *b);
void lw_ir_break(lw_builder *b, unsigned depth);
void lw_ir_continue(lw_builder *b, unsigned depth);
void lw_ir_return(lw_builder *b, const lw_ref *values, uint32_t n);
/* True when the last instruction has left the region: nothing more may be emitted in it. */
bool lw_ir_ended(const lw_builder *b);

/* for (i = begin; i < end; i += step): the loop is open and *i readable until lw_ir_for_end.
 * Types are those of begin; step is a positive constant or value. The loop has LLVM's canonical
 * form. */
typedef struct lw_for {
    lw_ref slot, i, end, step;
} lw_for;
lw_for lw_ir_for(lw_builder *b, lw_ref begin, lw_ref end, lw_ref step, uint32_t flags);
void lw_ir_for_end(lw_builder *b, const lw_for *loop);
/* while (slot < end) { …; slot += step; } for integers, neither unrolled nor vectorised;
 * returns the slot's value. lw_ir_while_end follows lw_ir_latch. */
lw_ref lw_ir_while(lw_builder *b, lw_ref slot, lw_ref end);
void lw_ir_while_end(lw_builder *b, lw_ref slot, lw_ref step);

#endif

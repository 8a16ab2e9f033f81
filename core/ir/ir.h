/* The intermediate representation: small, structured, printable and readable back, free of
 * Python. A module holds functions; a function is one array of fixed-size instructions.
 *
 * - A value is the index of the instruction that made it (1, 2, …; 0 means none). It may be
 * used later in the same region or in regions nested in it, never after its region's END.
 * Constants, parameters, slots and special registers may be used anywhere below.
 * - What must outlive a region lives in a SLOT (GET, SET); SSA is LLVM's business.
 * - Control flow is structured: IF … ELSE … END, BLOCK … END, LOOP … LATCH … END. Instructions
 *   after BREAK, CONTINUE or RETURN in the same region are dead and not allowed.
 * - Complex numbers and tuples do not exist here: the front end splits them into their parts.
 * - bool is i1 in a value and one byte in memory. Integers wrap. Pointers are opaque.
 * - After anything that may emit, fetch instruction pointers again: the array may have moved.
 *
 * All of a module lies in its arena; freeing the module frees everything. */
#ifndef LW_IR_IR_H
#define LW_IR_IR_H

#include "core/base/arena.h"
#include "core/base/array.h"
#include "core/base/error.h"
#include "core/base/text.h"
#include "core/tables/dtypes.h"

typedef uint32_t lw_ref;

typedef enum lw_op {
    LW_OP_NONE = 0,
#define OP(name, text, args, result, class) LW_OP_##name,
#include "core/tables/ops.def"
    LW_N_OPS
} lw_op;

typedef enum lw_op_result {
    LW_RESULT_INST,
    LW_RESULT_SAME,
    LW_RESULT_BOOL,
    LW_RESULT_NONE
} lw_op_result;
typedef enum lw_op_class {
    LW_CLASS_PURE,
    LW_CLASS_READ,
    LW_CLASS_WRITE,
    LW_CLASS_FLOW,
    LW_CLASS_DECL
} lw_op_class;

typedef struct lw_op_row {
    const char *text, *args;
    lw_op_result result;
    lw_op_class class;
} lw_op_row;

extern const lw_op_row lw_ops[LW_N_OPS];

/* Whether the operation exists for vectors, lane by lane, on the host. */
bool lw_op_is_elementwise(lw_op op);
/* LOCAL and OWNER: variables of a function, which are the same in every iteration of a loop. */
bool lw_op_is_own_memory(lw_op op);
/* LOAD and STORE, which have an alignment. */
bool lw_op_is_access(lw_op op);
/* CALL and RECUR. */
bool lw_op_is_call(lw_op op);
/* These and ENTRY: operand a is the number of a function. */
bool lw_op_names_function(lw_op op);
/* Whether a comparison (LT, LE, GT, GE, EQ, NE) is true for two values of which the first is
 * less than the second (order -1), equal (0) or greater (1). */
bool lw_op_holds(lw_op comparison, int order);

/* Special registers, operand a of SREG. */
typedef enum lw_sreg {
    LW_SREG_TID_X,
    LW_SREG_TID_Y,
    LW_SREG_TID_Z,
    LW_SREG_CTAID_X,
    LW_SREG_CTAID_Y,
    LW_SREG_CTAID_Z,
    LW_SREG_NTID_X,
    LW_SREG_NTID_Y,
    LW_SREG_NTID_Z,
    LW_SREG_NCTAID_X,
    LW_SREG_NCTAID_Y,
    LW_SREG_NCTAID_Z,
    LW_SREG_LANEID,
    LW_SREG_DYNAMIC_BYTES, /* of shared memory sized at launch */
    LW_N_SREGS
} lw_sreg;

/* Operand a of ATOMIC, with the types each is defined for. */
typedef enum lw_atomic {
    LW_ATOMIC_ADD, /* i32 u32 i64 u64 f32 f64 */
    LW_ATOMIC_AND, /* 32- and 64-bit integers, as are OR XOR EXCH MIN MAX CAS */
    LW_ATOMIC_OR,
    LW_ATOMIC_XOR,
    LW_ATOMIC_EXCH, /* and f32, f64 */
    LW_ATOMIC_MIN,  /* signed or unsigned, by the type */
    LW_ATOMIC_MAX,
    LW_ATOMIC_INC, /* u32: old >= operand ? 0 : old + 1 */
    LW_ATOMIC_DEC, /* u32: old == 0 || old > operand ? operand : old - 1 */
    LW_ATOMIC_CAS,
    LW_N_ATOMICS
} lw_atomic;

extern const char *const lw_atomic_names[LW_N_ATOMICS]; /* "add", … */

extern const char *const lw_sreg_names[LW_N_SREGS]; /* "tid.x", … */

/* Instruction flags. What the low byte means depends on the class of the op. */
enum {
    /* LOAD, STORE: bits 0-3 = log2 of the alignment in bytes, + 1; 0 = natural */
    LW_MEM_ALIGN_MASK = 0x0f,
    /* LOAD: nobody writes this memory while the kernel runs (read-only path) */
    LW_MEM_INVARIANT = 0x10,
    /* LOAD, STORE of a scalar: PTX's cache operator, at most one. The same bits as LW_FAST_*,
     * which loads and stores do not have. */
    LW_MEM_CA = 0x100,
    LW_MEM_CG = 0x200,
    LW_MEM_CS = 0x400,
    LW_MEM_LU = 0x800,
    LW_MEM_CV = 0x1000,
    LW_MEM_WB = 0x2000,
    LW_MEM_WT = 0x4000,
    LW_MEM_CACHE_MASK = 0x7f00,
    /* LOOP */
    LW_LOOP_VECTORIZE =
        0x01, /* iterations are independent: no memory dependence between them */
    LW_LOOP_NO_VECTORIZE = 0x02,
    LW_LOOP_NO_UNROLL = 0x04,
    LW_LOOP_UNROLL_FULL = 0x08,
    /* with VECTORIZE: two vectors per iteration, for long dependence chains */
    LW_LOOP_INTERLEAVE = 0x10,
    /* the user says that the iterations are independent, but for reductions
     * (core/opt/loops/parallel.h) */
    LW_LOOP_PARALLEL = 0x20,
    /* with PARALLEL: of an array expression. Iterations are independent as far as they only
     * compute and store; where they do anything else, they stay on one thread. */
    LW_LOOP_ELEMENTS = 0x40,
    /* float arithmetic, compares, selects, intrinsics: fast-math flags by LLVM's names */
    LW_FAST_NNAN = 0x100,
    LW_FAST_NINF = 0x200,
    LW_FAST_NSZ = 0x400,
    LW_FAST_ARCP = 0x800,
    LW_FAST_CONTRACT = 0x1000,
    LW_FAST_AFN = 0x2000,
    LW_FAST_REASSOC = 0x4000,
    LW_FAST_ALL = 0x7f00,
    /* MUL, ADD, SUB: the user wrote them in one expression, so a*b+c may become one FMA */
    LW_MAY_FUSE = 0x8000,
    /* ADD, SUB, MUL of signed integers: the emitter knows that it does not overflow
     * (addresses) */
    LW_NO_WRAP = 0x10000,
    /* LOCAL: the user's function asks for this alignment */
    LW_DECL_ALIGNED = 0x20000,
};

typedef struct lw_inst {
    uint16_t op;
    uint8_t type;  /* lw_dtype of the result; void when there is none */
    uint8_t lanes; /* 0 or 1: scalar; 2, 4, 8, 16: vector of `type` */
    uint32_t flags;
    uint32_t a, b, c; /* operands, by the letters of the op's row */
    uint32_t loc;     /* index into module->locs; 0 = none */
} lw_inst;

/* Where an instruction is in the user's Python. */
typedef struct lw_ir_loc {
    uint32_t file; /* index into module->files */
    uint32_t line, col;
} lw_ir_loc;

/* Constants are bits: integers sign- or zero-extended, floats in their own format. */
typedef struct lw_constant_bits {
    uint64_t bits;
} lw_constant_bits;

enum {
    LW_PARAM_NOALIAS = 1,  /* no other parameter points to the same memory */
    LW_PARAM_READONLY = 2, /* never written through */
};

typedef struct lw_ir_param {
    lw_dtype type;
    uint32_t flags;
    uint8_t align_log2; /* of what a ptr points to; 0 = unknown */
    const char *name;   /* for readers of the text only */
} lw_ir_param;

/* A variable of the user's, as a debugger shows it. `type` is a text:
 *
 *     f32                                      a number: lw_dtypes[].name
 *     *f32                                     the address of what follows
 *     [2i64]                                   two of these
 *     {'float32[:]';24;data:0:*f32;shape:8:[1i64];strides:16:[1i64];}
 *                                              a struct: its name and its bytes; of each member
 *                                              the name, the offset and the type
 *
 * Its leaves are its numbers and addresses, in this order; what is behind an address has
 * none. */
typedef struct lw_ir_var {
    const char *name, *type;
    uint32_t line, file;
    uint32_t arg; /* of a parameter: from 1; 0: it is none */
} lw_ir_var;

typedef enum lw_linkage {
    LW_INTERNAL, /* inlined into its callers */
    LW_KERNEL,   /* GPU entry point; no results */
    LW_EXPORTED, /* CPU entry point with the C calling convention; at most one result */
    LW_OUTLINED, /* internal, but kept as a real call (large helpers) */
} lw_linkage;

/* Helpers of this name atomically change the element that their first parameter points to,
 * whose type is that of the second: what holds for an access holds for their calls. */
#define LW_UPDATE_STEM "lw_atomic_"

/* Functions of which there is one copy, where they are called more than once:
 * core/emit/inlining.c
 */
typedef enum lw_shared {
    LW_NOT_SHARED,
    LW_IS_SHARED,
    LW_SHARED_BY_CALLEE, /* if it calls one that is */
} lw_shared;

typedef struct lw_func {
    const char *name; /* [a-zA-Z_$][a-zA-Z0-9_$]* , unique in the module */
    /* as the user wrote it; for debug information and messages; or NULL */
    const char *python_name;
    lw_linkage linkage;
    LW_ARRAY(lw_ir_param) params;
    LW_ARRAY(lw_dtype) results;
    LW_ARRAY(lw_inst) insts; /* insts.data[0] is unused */
    LW_ARRAY(uint32_t) lists;
    LW_ARRAY(lw_constant_bits) constants;
    LW_ARRAY(lw_ir_var) vars; /* for debuggers */
    uint32_t max_threads;     /* KERNEL: launch bound, threads per block; 0 = none */
    uint32_t min_blocks;      /* KERNEL: blocks per SM; 0 = none */
    uint32_t max_cluster;     /* KERNEL: blocks of a cluster, of sm_90 and later; 0 = none */
    uint32_t max_registers;   /* KERNEL: 0 = none */
    uint32_t shared;          /* INTERNAL: lw_shared */
    /* It has loops of a function of the user's: they were inlined (core/opt/jam), or it is a
     * part of a loop over prange (core/opt/loops/parallel). */
    bool has_inlined;
    uint32_t line; /* of the def, with file, for debug information */
    uint32_t file;
} lw_func;

enum { LW_EXTERN_PARAMS = 32 };

typedef struct lw_extern {
    const char *name; /* C symbol called by HOST_CALL */
    /* declared by the user: exists on GPUs only, and threads may wait in it */
    bool device;
    uint64_t address; /* of a function of this process, in code for it alone; 0: by name */
    lw_dtype result;
    uint8_t n_params;
    lw_dtype params[LW_EXTERN_PARAMS];
} lw_extern;

typedef struct lw_data {
    const uint8_t *bytes;
    uint64_t address; /* of memory from outside, which is used where it lies, without bytes; 0:
                         none */
    bool on_gpu;      /* code for GPUs uses it; otherwise host code of this process */
    bool varying;     /* a number for VARYING, of which GPUs get a copy with each launch */
    uint32_t n;
    uint8_t align_log2;
    /* lanes of a warp read different elements: not in a GPU's constant memory */
    bool scattered;
} lw_data;

typedef struct lw_module {
    lw_arena arena;
    LW_ARRAY(lw_func *) funcs;
    LW_ARRAY(lw_ir_loc) locs;     /* [0] unused */
    LW_ARRAY(const char *) files; /* [0] unused */
    LW_ARRAY(lw_extern) externs;
    LW_ARRAY(lw_data) datas; /* equal contents are one */
    /* core/ir/same_math.h: numbers of functions + 1; NULL: not asked for */
    uint32_t *same_math;
    const char *not_same; /* what cannot be had so, with its place; NULL: nothing */
    uint32_t not_same_loc;
    /* why a function of math="same" could not be made; LW_OK: none failed */
    lw_status not_made;
    bool is_light; /* on the host it mostly waits for memory */
    bool failed;   /* sticks: an emitter got no memory */
} lw_module;

lw_status lw_module_new(lw_module **out, lw_error *err);
void lw_module_free(lw_module *module); /* NULL is allowed */
/* A deep copy: a door adds its kernel to a copy of the cached scalar function's module. */
lw_status lw_module_copy(const lw_module *module, lw_module **out, lw_error *err);
/* Appends copies of all functions of `from` to those of `to`, all internal or outlined, renamed
 * where `to` has the name already. Function f of `from` is then function *first + f. */
lw_status lw_module_append(lw_module *to, const lw_module *from, uint32_t *first,
                           lw_error *err);

/* Bytes of static shared memory that a block needs: each SHARED at the next multiple of its
 * alignment, in the order of functions and instructions. The host's emitter places them so; a
 * GPU's linker decides for itself. */
uint32_t lw_ir_shared_bytes(const lw_module *module);
/* The end of a SHARED that starts at the next multiple of its alignment after `offset`. */
uint64_t lw_ir_shared_end(uint64_t offset, const lw_inst *shared);
/* The most bytes of LOCAL memory that a call of any function of the module needs, including the
 * functions it calls, with each call site counted separately, and each recursive call for
 * none: for the stack of a simulated thread. UINT32_MAX: that many or more. The module is
 * verified. */
lw_status lw_ir_local_bytes(const lw_module *module, uint32_t *out, lw_error *err);
/* Whether the code depends on the thread that runs it: SREG, SHARED, DYNAMIC, CONTEXT, BARRIER
 * or KERNEL_CALL. On the host every function of such a module takes a lw_kernel_context *
 * before its parameters (core/ir/kernel_context.h). */
bool lw_ir_uses_context(const lw_module *module);
/* Whether a function has this operation; whether any of a module's has it. */
bool lw_func_has_op(const lw_func *func, lw_op op);
bool lw_ir_has_op(const lw_module *module, lw_op op);
bool lw_ir_has_own_memory(const lw_module *module);
/* Whether any of its functions calls itself, directly or through others. */
bool lw_ir_recurses(const lw_module *module);
/* Whether it may do something again and again: it has a LOOP, or recurses. */
bool lw_ir_repeats(const lw_module *module);
/* Whether a call of any of its functions takes some microseconds at most: there are no loops,
 * no recursion and no calls of code that is not in the module, and few instructions. */
bool lw_ir_is_brief(const lw_module *module);
/* What an address is computed from by adding offsets. */
lw_ref lw_ir_root(const lw_func *func, lw_ref address);
/* Whether it holds a PRINT. */
bool lw_ir_prints(const lw_module *module);
/* Whether it declares this C function. */
bool lw_ir_calls(const lw_module *module, const char *name);
/* Whether threads of a block wait for each other: BARRIER, or a KERNEL_CALL that is collective.
 */
bool lw_ir_is_collective(const lw_module *module);
/* Whether all blocks of the grid wait for each other, so that the launch must be
 * cooperative. */
bool lw_ir_syncs_grid(const lw_module *module);
/* Whether it asks for the other blocks of its cluster. */
bool lw_ir_uses_clusters(const lw_module *module);

/* ---- print, parse, verify ---- */

/* The text is stable: it has no addresses, and values are numbered by position. What print
 * writes, parse reads. With locs the text names lines too (for keys of code with line tables);
 * parse reads both. */
void lw_ir_print(const lw_module *module, bool with_locs, lw_text *out);
/* In builds with LW_WINDOWS. */
lw_status lw_ir_parse(const char *text, lw_module **out, lw_error *err);
/* LW_ERR_INTERNAL that names function, instruction and rule. Operands are checked by the op
 * rows. */
lw_status lw_ir_verify(const lw_module *module, lw_error *err);

#endif

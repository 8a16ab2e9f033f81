/* What the files of the emitter share: its state, and its small formatting language.
 *
 * A format is LLVM text, in which % begins a name, so `$` marks what is filled in:
 *   $v  lw_ref: a value as operand        $t  lw_dtype: its type in a register
 *   $s  const char *                      $u  uint32_t
 * lw_def gives the line's result a fresh name and returns it, lw_result names it as the value
 * of the current instruction, lw_line names nothing. */
#ifndef LW_EMIT_EMIT_INTERNAL_H
#define LW_EMIT_EMIT_INTERNAL_H

#include "core/emit/emit.h"

/* The functions of own_functions.def, and their texts. */
typedef enum lw_own_id {
#define HELPER(name)            LW_OWN_##name,
#define OWN(target, type, name) LW_OWN_##target##_##type##_##name,
#include "core/emit/own_functions.def"
    LW_N_OWN
} lw_own_id;
#define HELPER(name)            extern const char lw_own_##name[];
#define OWN(target, type, name) extern const char lw_own_##target##_##type##_##name[];
#include "core/emit/own_functions.def"

typedef struct lw_name {
    char text[64];
} lw_name;

typedef struct lw_emit_region {
    lw_op op;
    /* number of the instruction that opened it, which names its labels */
    uint32_t number;
    uint32_t flags; /* LOOP */
    uint32_t group; /* metadata number of the access group of its accesses; 0 = none */
    bool has_else;
} lw_emit_region;

/* What callers need to know of a function. */
typedef struct lw_emit_callee {
    bool is_call;         /* it is not inlined, because that would be too much code */
    bool has_local;       /* it, or a function that it calls, has memory of its own */
    bool has_loop;        /* it, or a function that it calls, has a loop */
    bool is_vectorised;   /* some call of it is in a loop that is vectorised, or in such a
                             function */
    uint32_t first_param; /* GPU: in `origins` */
    uint32_t first_call;  /* GPU: in `calls`, + 1; 0: there is none */
} lw_emit_callee;

/* A CALL or a RECUR. */
typedef struct lw_emit_call_site {
    uint32_t caller, at;
    uint32_t next; /* call of the same function, as first_call */
} lw_emit_call_site;

/* A type of the user's variables, in debug information. */
typedef struct lw_shown_type {
    const char *text;
    uint32_t node, bytes;
} lw_shown_type;

/* The argument of a sine, cosine or tangent of f32, reduced: x = quarters pi / 2 + rest
 * (gpu_single.c). */
typedef struct lw_angle {
    lw_ref of; /* 0: none */
    lw_name rest, quarters;
} lw_angle;

typedef struct lw_emitter {
    const lw_module *module;
    const lw_emit_options *options;
    lw_text *out;
    bool gpu, typed; /* typed: pointers carry their type */
    lw_status status;
    lw_error *err;

    /* the current function and instruction */
    const lw_func *func;
    const lw_inst *inst;
    uint32_t number; /* of the function */
    uint32_t at, next_temp;
    bool ended;     /* the block already has its terminator */
    uint8_t *loops; /* CPU: bits of lw_loop_looks by instruction; NULL in entry points */
    LW_ARRAY(lw_emit_region) regions;
    /* metadata number of the access group of loads, stores and calls; 0 = none */
    uint32_t access;
    uint32_t scope; /* metadata number of the function's debug scope; 0 = none */
    uint32_t place; /* metadata number of the current location; 0 = none */

    /* text for the end of the module */
    lw_text declares, metadata, kernels, used, vectors;
    uint32_t next_metadata, n_kernels, n_used, n_vectors;
    uint32_t invariant, sreg_ranges[5]; /* metadata numbers, 0 = not printed yet */
    lw_text globals;                    /* memory of the module: shared variables */
    uint32_t n_shared;                  /* GPU: variables printed */
    uint32_t n_named_locals;            /* GPU: allocas with a name of their own */
    uint64_t shared_end;                /* CPU: bytes of shared memory given out */
    bool context;                       /* CPU: functions take %ctx */
    bool recurses;    /* there is a ROOM; CPU: functions take %stack, entry points make it */
    lw_watched watch; /* CPU: accesses that are reported */
    bool convergent; /* GPU: functions contain operations in which threads take part together */
    bool own[LW_N_OWN]; /* functions that are called */
    lw_angle angle;     /* GPU: the last that was reduced in the current block */
    uint32_t prints;    /* bits: print helpers by their number of slots */
    bool counts;        /* there is counted memory */
    bool leaves; /* the function has owners: every RETURN goes to the block that releases */
    uint32_t debug_unit;
    LW_ARRAY(lw_shown_type) shown_types;
    uint32_t *debug_files; /* by file of the module, with `variables`: metadata number, or 0 */
    uint32_t *places;      /* by loc: metadata number in this function, 0 = none yet */
    lw_emit_callee *callees; /* by function */
    uint8_t *origins;        /* GPU: bits of origins.c by parameter of each function */
    LW_ARRAY(lw_emit_call_site) calls; /* GPU */
    bool reads_written;                /* GPU: some memory is both read and written */
    bool stores_integers, stores_sums; /* GPU: an integer is stored; one that may be a sum */
} lw_emitter;

/* ---- origins.c ---- */
bool lw_origins_find(lw_emitter *e); /* false: memory ran out */
/* Whether the pointer certainly points to memory that the kernel was given. */
bool lw_is_global_memory(const lw_emitter *e, lw_ref pointer);
/* Whether no store of the launch changes the memory to which the pointer points, although the
 * kernel's parameter does not say so (lw_hides_attributes). */
bool lw_is_constant_memory(const lw_emitter *e, lw_ref pointer);
/* Whether a parameter of the current function is to be called neither noalias nor readonly. */
bool lw_hides_attributes(const lw_emitter *e, uint32_t param);

/* ---- inlining.c ---- */
bool lw_callees_find(lw_emitter *e); /* false: memory ran out */

/* ---- llvm_text.c ---- */
const char *lw_type(const lw_emitter *e, lw_dtype type);
lw_name lw_operand(lw_emitter *e, lw_ref value);
lw_dtype lw_operand_type(const lw_emitter *e, lw_ref value);
void lw_line(lw_emitter *e, const char *format, ...);
void lw_result(lw_emitter *e, const char *format, ...);

/* For assembly that only computes: without it LLVM assumes that it may read and write any
 * memory, and does not move stores out of loops over it. */
#define LW_PURE_ASM " nounwind readnone"
lw_name lw_def(lw_emitter *e, const char *format, ...);
/* " nnan nsz", as the instruction's flags demand; "" for none. */
lw_name lw_fast(const lw_emitter *e);
/* Adds a line to the declarations unless it is there; frees the text. */
void lw_declare_once(lw_emitter *e, lw_text *line);
void lw_declare_line(lw_emitter *e, const char *line);
/* The declaration of a function that only computes. */
void lw_declare(lw_emitter *e, const char *format, ...);
uint32_t lw_metadata(lw_emitter *e, const char *format,
                     ...); /* a new node; returns its number */
void lw_end_line(lw_emitter *e);

/* ---- body.c ---- */
lw_status lw_emit_body(lw_emitter *e);

/* ---- arithmetic.c ---- */
void lw_emit_arithmetic(lw_emitter *e); /* ADD to SELECT, BITCAST */

/* ---- closed_form.c ---- */
/* The operand. On the GPU its origin is hidden from LLVM if it is, or may be, a polynomial of
 * this degree or more in the loops' counters. For operands that are truncated to 16 bits or
 * fewer. */
lw_name lw_unfolded(lw_emitter *e, lw_ref value, uint32_t least);
/* The operand, for an extension to 64 bits. If LLVM may see a sum of 32 bits in it, with a
 * sign, it is hidden from the LLVM that would widen the sum's operands instead. */
lw_name lw_unwidened(lw_emitter *e, lw_ref value);
/* If the instruction is a comparison for the GPU whose integer operands have, or may have, an
 * addend in common, emits it with one operand hidden from LLVM and returns true; test: LLVM's
 * predicate. Otherwise emits nothing and returns false. */
/* Whether the value is a sum, or may be one that another function made. */
bool lw_may_be_sum(const lw_func *func, lw_ref value);
bool lw_emit_wrap_test(lw_emitter *e, const char *test);

/* ---- memory.c ---- */
void lw_emit_load(lw_emitter *e);
void lw_emit_store(lw_emitter *e);
void lw_emit_prefetch(lw_emitter *e);
void lw_emit_pack(lw_emitter *e);
void lw_emit_lane(lw_emitter *e);
void lw_emit_slot(lw_emitter *e, lw_ref slot, bool is_set); /* SET, GET */

/* ---- vectors.c ---- */
lw_name lw_value_type(const lw_emitter *e, lw_ref value); /* with its lanes */
/* Whether the instruction is an operation on vectors, or makes or asks one. */
bool lw_is_vector_op(const lw_emitter *e);
void lw_emit_vector(lw_emitter *e);

/* ---- looks.c ---- */
/* What a LOOP does for Ctrl-C. */
typedef enum lw_loop_looks {
    LW_LOOP_FREE = 0,   /* nothing: it is short, or no loop */
    LW_LOOP_COUNTS = 1, /* looks behind it */
    LW_LOOP_AROUND = 2, /* now and then in it, as it is around others */
    LW_LOOP_CHAIN = 4   /* … as it has a chain */
} lw_loop_looks;
/* It touches no memory that the code itself reads or writes. */
#define LW_LOOK_DECLARATION                                                                    \
    "declare void @lw_stop_look() cold nounwind willreturn "                                   \
    "memory(inaccessiblemem: readwrite)\n"
void lw_looks_begin(lw_emitter *e); /* in the entry */
void lw_looks_end(lw_emitter *e);
void lw_look_open(lw_emitter *e); /* in front of the LOOP at hand */
void lw_look_at_latch(lw_emitter *e, uint32_t loop);
void lw_look_behind(lw_emitter *e, uint32_t loop);

/* ---- control.c ---- */
void lw_emit_call(lw_emitter *e);
void lw_emit_call_result(lw_emitter *e);
void lw_emit_host_call(lw_emitter *e);
void lw_emit_flow(lw_emitter *e);
/* The terminator that returns these values, one for each result of the function. */
void lw_emit_values(lw_emitter *e, const lw_name *values);

/* ---- emit.c ---- */
/* Whether others than functions of the module call it. */
bool lw_is_entry(const lw_func *func);

/* ---- emit.c: numbers that launches pass to kernels, and these to all functions ---- */
uint32_t lw_n_varying_parameters(const lw_emitter *e);
/* Prints them behind `n` parameters or arguments. */
void lw_varying_parameters(lw_emitter *e, uint32_t n);

/* ---- thread.c ---- */
void lw_emit_varying(lw_emitter *e); /* in the entry */
void lw_emit_sreg(lw_emitter *e);
void
lw_emit_memory_decl(lw_emitter *e); /* LOCAL, SHARED, DYNAMIC, DATA, CONTEXT: in the entry */
void lw_emit_atomic(lw_emitter *e);
void lw_emit_barrier(lw_emitter *e);
void lw_emit_kernel_call(lw_emitter *e);
void lw_emit_watch(lw_emitter *e); /* before LOAD, STORE, ATOMIC and CALL */
void lw_globals_print(lw_emitter *e);

/* ---- recursion.c ---- */
/* What a function takes before its parameters, and a call before its arguments, with a comma
 * where `n` of these follow. */
void lw_hidden_parameters(lw_emitter *e, uint32_t n);
void lw_hidden_arguments(lw_emitter *e, uint32_t n);
void lw_recursion_begin(lw_emitter *e); /* in the entry */
void lw_emit_room(lw_emitter *e);
void lw_recursion_print(lw_emitter *e);

/* ---- convert.c ---- */
bool lw_is_small(lw_dtype type); /* f16, bf16: arithmetic in f32 */
lw_name lw_widen(lw_emitter *e, lw_dtype type, lw_name value);
lw_name lw_narrow(lw_emitter *e, lw_dtype type, lw_name value); /* from float */
/* Gives the instruction, whose type is a float type, its result, which a line on floats or
 * doubles computes. */
void lw_float_result(lw_emitter *e, lw_dtype type, const char *format, ...);
void lw_small_fma(lw_emitter *e, lw_dtype type);
void lw_emit_cast(lw_emitter *e);
/* The product of a constant and float32(x >> k), if the instruction is one. */
bool lw_emit_scaled_bits(lw_emitter *e);

/* ---- math.c ---- */
void lw_emit_intrinsic(lw_emitter *e);

/* ---- own_functions.c ---- */
/* The name of a function that the module will contain. */
const char *lw_own_function(lw_emitter *e, lw_own_id which);
/* The same of our own function for this intrinsic; NULL where a library's is called. */
const char *lw_own_intrinsic(lw_emitter *e, lw_intrinsic which, lw_dtype type);
void lw_own_functions_print(lw_emitter *e);

/* ---- print.c ---- */
void lw_emit_print(lw_emitter *e);
void lw_prints_print(lw_emitter *e);

/* ---- counted.c ---- */
void lw_emit_owner(lw_emitter *e);   /* in the entry */
void lw_emit_counted(lw_emitter *e); /* NEW, HOLD, TAKE, RETAIN */
/* In functions with owners: allocas for the results; what a RETURN does; the block that all of
 * them go to. */
void lw_leave_begin(lw_emitter *e);
void lw_leave(lw_emitter *e);
void lw_leave_end(lw_emitter *e);
void lw_counted_print(lw_emitter *e);

/* ---- gpu_memory.c ---- */
void lw_gpu_memory_print(lw_emitter *e);
/* Adds text in which $name stands for a constant of core/ir/counted.h or a type of pointers. */
void lw_gpu_memory_text(lw_emitter *e, const char *text);

/* ---- gpu_nrt.c ---- */
void lw_gpu_nrt_print(lw_emitter *e);

/* ---- debug.c ---- */
lw_status lw_debug_start(lw_emitter *e);
void lw_debug_function(lw_emitter *e); /* sets scope and place */
void lw_debug_inst(lw_emitter *e);     /* sets place */
void lw_debug_end(lw_emitter *e);
uint32_t lw_debug_file(lw_emitter *e, uint32_t file); /* its metadata number */

/* ---- variables.c ---- */
void lw_variables_begin(lw_emitter *e); /* in the entry */
void lw_emit_bind(lw_emitter *e);

lw_status lw_emit_fail(lw_emitter *e, const char *why);

#endif

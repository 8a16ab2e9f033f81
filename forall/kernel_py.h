/* What the objects of this door, Forall and Jit, have in common: a Python function with its
 * specialisations, one for each tuple of argument types; reading the arguments of a call;
 * machine code of a specialisation for each target.
 *
 *     lw_bound bound;                                       (on the stack: some 8 KB, unset)
 *     lw_bound_init(&bound);
 *     if (lw_bind(self, args, n_args, &bound) < 0) return NULL;
 *     specialisation = lw_specialisation_get(self, &bound);               (compiles when new)
 *     …
 *     entry = lw_specialisation_device(specialisation, device, &key);     (compiles when new)
 *     lw_bound_use(&bound, stream); lw_launch(…); lw_bound_done(&bound, stream);
 *     …
 *     lw_bound_release(&bound);
 *
 * What changes while calls run is atomic, or changes in a critical section on the object, which
 * ends for the time of compiling and running. */
#ifndef LW_FORALL_KERNEL_PY_H
#define LW_FORALL_KERNEL_PY_H

#include "core/py/array/args.h"

#include "core/base/grown.h"
#include "core/base/lock.h"
#include "core/device/launch.h"
#include "core/front/reach.h"
#include "core/front/read/python.h"
#include "core/front/signature.h"
#include "core/link/build.h"
#include "core/opt/race.h"
#include "core/py/compiled/renew.h"
#include "core/py/reports.h"
#include "core/py/types/signature_read.h"
#include "forall/kernel_ir.h"

#include <stdatomic.h>

struct lw_specialisation;

/* ---- the object ---- */

/* The head of both objects. */
typedef struct lw_function {
    LW_COMPILED_HEAD
    lw_entry_limits limits;
    uint32_t n_params; /* of the Python function */
    /* how many of these, from the first on, are the element's index (Forall); Jit: 0 */
    uint32_t n_index;
    uint32_t n_required; /* arguments after the index that have no default */
    bool gives_value;    /* called on the host, once, for what it returns */
    /* gives_value: a signature has pointers, of which arguments may be the addresses */
    bool takes_addresses;
    uint64_t statics; /* bits, by argument after the index: static= names it */
    /* dict: key of a value -> what keys of calls name it by; or NULL */
    PyObject *static_values;
    _Atomic(bool) told_updates; /* W208 has been given: once for each function */
    _Atomic(bool) reads_own;    /* a specialisation may have a tree of its own */
    lw_grown specialisations;   /* lw_specialisation */
} lw_function;

/* Reads the function and the keywords into a new object; signatures are not examined:
 * lw_function_declare does that. -1 with an exception. */
int lw_function_init(lw_function *self, const lw_request *request);
/* Compiles for each of the signatures (as lw_signatures_read takes them; NULL and None: none)
 * and from then on for no others. They may or may not name the index. -1 with an exception. */
int lw_function_declare(lw_function *self, PyObject *signatures);
/* Whether another object takes the calls, because what the function or its static values
 * captured has changed. Takes a few ns if nothing has. */
bool lw_function_is_stale(const lw_function *self);
/* lw_compiled_current, by that. */
lw_function *lw_function_current(lw_function *self);
/* The build options for core/link, with link= alone of what code is linked with; borrowed from
 * the function. */
lw_build_options lw_function_build_options(const lw_function *self);
const char *lw_function_name(const lw_function *self);
/* For tp_traverse of the owner, and for its door. */
int lw_function_traverse(lw_function *self, visitproc visit, void *arg);
bool lw_function_statics_changed(const lw_compiled *self);
/* Called last: frees what C owns. */
void lw_function_drop(lw_compiled *self);

/* ---- arguments ---- */

enum { LW_MOST_ARRANGED = 64 };

/* Arranges positional and keyword arguments as one row in the order of the parameters after the
 * index. Arguments left out at the end are not in the row, a default in between is. Keywords
 * for which is_option (NULL: none) returns true are skipped. out: room for LW_MOST_ARRANGED,
 * filled with borrowed references. Returns their number, or -1 with an exception. */
Py_ssize_t lw_function_arrange(const lw_function *self, PyObject *const *args,
                               Py_ssize_t n_args, PyObject *kwnames,
                               bool (*is_option)(PyObject *name), PyObject **out);

enum {
    /* more arrays, values or key bytes than these are stored in the heap */
    LW_BOUND_ARRAYS = 16,
    LW_BOUND_VALUES = 160,
    LW_BOUND_KEY = 256
};

typedef enum lw_where {                   /* where a call's arrays are */
                        LW_WHERE_NOWHERE, /* it has no arrays */
                        LW_WHERE_HOST,
                        LW_WHERE_DEVICE
} lw_where;

typedef struct lw_bound_array {
    PyObject *object;    /* borrowed: the argument, or an item of it */
    lw_operand *operand; /* of foreign device arrays; else NULL */
    uint32_t arg;        /* number of the argument, not counting the index */
    uint32_t value;      /* values[value] is its address */
    uint64_t low, high;  /* addresses that it covers: low <= address < high; equal: none */
    bool record;         /* an np.void: its bytes are on the host */
    bool back;           /* it is a copy, and what the body writes is copied back */
    uint32_t n_bytes;    /* of a record */
} lw_bound_array;

typedef struct lw_bound {
    lw_where where;
    lw_device *device;  /* of the first device array, or NULL */
    bool narrow;        /* on a device: every byte offset inside every array fits 31 bits */
    bool has_container; /* there is a typed list or dict among the arguments */
    bool negative;      /* set before lw_bind: an index may be negative */
    uint32_t n_args, n_arrays, n_values, n_key, n_operands;
    uint32_t n_copies; /* of arrays that are not aligned, or not in native byte order */
    uint32_t most_arrays, most_values, most_key; /* capacities of the three */
    lw_bound_array *arrays;
    uint64_t *values; /* the body's arguments after its index, in order */
    /* of types alone: two calls with the same key run the same specialisation */
    uint8_t *key;
    /* list of objects that must live as long as this, or NULL */
    PyObject *owned;
    PyObject *held; /* list of the fields of objects, which must live as long; or NULL */
    /* From here on, what lw_bound_init leaves as it is. operands, borrowed from others: in the
     * heap, or operand_store. */
    lw_operand *operands[LW_BOUND_ARRAYS];
    lw_bound_array array_store[LW_BOUND_ARRAYS];
    uint64_t value_store[LW_BOUND_VALUES];
    uint8_t key_store[LW_BOUND_KEY];
    lw_operand operand_store[LW_BOUND_ARRAYS];
} lw_bound;

/* Whether every array starts at a multiple of 16 bytes. */
bool lw_bound_aligned(const lw_bound *bound);
void lw_bound_init(lw_bound *bound); /* initialises the small fields only */
/* Reads every argument once: own and foreign device arrays, NumPy arrays and scalars, Python
 * numbers (weak), np.void, None, tuples, namedtuples and objects of these. args: those after
 * the index; there may be fewer than the function has if the rest have defaults. -1 with an
 * exception that names the argument; then there is nothing to release. Makes no heap call, and
 * no call into Python's own code, for up to 16 arrays that are ours or NumPy's. */
int lw_bind(const lw_function *self, PyObject *const *args, Py_ssize_t n_args, lw_bound *bound);
/* Releases what was bound. Arrays that had to be copied are copied back if the body may have
 * written to them. */
void lw_bound_release(lw_bound *bound);
/* lw_bound_use orders `stream` after the work that produced the arrays, and brings np.void
 * records to the device. lw_bound_done, after the launch, copies back what was written to
 * records and to copies of misaligned device arrays, and makes foreign producers wait for the
 * stream. */
lw_status lw_bound_use(lw_bound *bound, lw_device *device, CUstream stream, lw_error *err);
lw_status lw_bound_done(lw_bound *bound, lw_device *device, CUstream stream, lw_error *err);

/* ---- specialisations ---- */

/* An update that is lost where there are more elements than places: lw_races.updates. */
typedef struct lw_lost_update {
    uint32_t arg;  /* the argument whose element it is; LW_NO_ARG: one of those written */
    uint32_t loc;  /* of the tree */
    uint32_t dims; /* bits: the dimensions of the index along which elements meet */
    uint32_t times;
    bool same_place;
} lw_lost_update;

enum { LW_NO_ARG = 0xffffffff };

typedef struct lw_specialisation_cast { /* a number whose type in the declared signature is
                                           another */
    uint32_t value, param;
    lw_dtype from, to;
    bool pointer;   /* to an address, whose elements are of type `to` */
    bool truncates; /* a float, as int() does */
    /* of an int: the type that must hold it, else OverflowError; or void */
    lw_dtype bounds;
    int64_t least, most;
} lw_specialisation_cast;

/* Machine code on a device. */
typedef struct lw_device_entry {
    lw_grown_item item;
    struct lw_specialisation *specialisation; /* borrowed: owns this */
    lw_entry_key key;
    lw_device *device;
    lw_kernel *kernel;
    lw_image *image;         /* held: keeps the kernel loaded */
    lw_watch *watch;         /* NULL where the body cannot raise */
    CUdeviceptr control;     /* the last parameter of such a kernel */
    uint32_t batch;          /* FORALL: elements a thread takes in one iteration */
    lw_launch_config config; /* the block of best occupancy, without dynamic shared memory */
    bool together;           /* the blocks wait for each other: the launch is cooperative */
} lw_device_entry;

typedef struct lw_host_entry {
    lw_grown_item item;
    lw_entry_key key;
    lw_code *code;
    void *address;         /* lw_range_code, lw_sim_single or lw_sim_whole, by the form */
    uint32_t shared_bytes; /* static shared memory of a block */
    uint32_t local_bytes;  /* local arrays of a thread */
    bool prints;
    bool borrows; /* it keeps arguments (LW_SLOT_KEEP) */
    bool steady;  /* the function has no loop */
    bool brief;   /* and calls nothing that may take long: it runs with the GIL */
    /* RANGE: picoseconds of an element, learnt; 0: not known yet */
    _Atomic uint32_t cost_ps;
} lw_host_entry;

typedef struct lw_specialisation {
    lw_grown_item item;
    lw_function *function; /* borrowed */
    lw_arena arena;
    uint32_t n_key;
    const uint8_t *key;
    const lw_arg_spec *specs; /* of every parameter, including the index */
    uint32_t n_specs;
    const lw_specialisation_cast *casts;
    uint32_t n_casts;
    /* itself, or the declared one that calls with this key run */
    struct lw_specialisation *target;
    /* of a twin: the specialisation with the same types; else NULL */
    struct lw_specialisation *origin;
    lw_scalar *scalar;  /* NULL if target is another one */
    lw_scalar *on_host; /* the same with checks of dynamic shared memory; NULL: `scalar` */
    uint32_t n_written;
    const uint32_t *written; /* numbers of the bound arrays to which the body may write */
    uint32_t n_out; /* declared results of a function that gives a value; 0: as inferred */
    const lw_dtype *out;
    const lw_sig_type *result; /* the declared result, where it is an array or has one */
    /* of forall: stores by which elements race if there are several; indices that every element
     * is certain to use; updates of places that are computed from loaded values */
    uint32_t n_races, n_reaches, n_updates;
    const lw_race_store *races;
    const lw_reach *reaches;
    const lw_lost_update *updates;
    uint64_t statics; /* bits, by argument after the index: its value is part of the key */
    bool declared, narrow, negative;
    bool has_pointer; /* among the arguments; then it is not narrow */
    uint64_t hash;    /* of the types: the same in every process */
    PyObject *held;   /* list of the objects that the key names by address, or NULL */
    lw_tree *tree;    /* with static values or objects: the function read with them and their
                         classes;  a twin's is its origin's; else NULL */
    lw_captures *captures; /* of that reading, or NULL */
    lw_grown device;       /* lw_device_entry */
    lw_grown host;         /* lw_host_entry */
} lw_specialisation;

/* The specialisation for these arguments: typed and lowered if it is new. If the declared one
 * has other number types, bound->values are converted. NULL with an exception. */
lw_specialisation *lw_specialisation_get(lw_function *self, lw_bound *bound);
/* The same for a signature (a str, types, …), for inspection and ahead-of-time compilation. */
lw_specialisation *lw_specialisation_of(lw_function *self, PyObject *signature);
/* The specialisation with the same types in code for arrays whose offsets do or do not fit 31
 * bits, and for an index that may or may not be negative; made if it is new. NULL with an
 * exception. */
lw_specialisation *lw_specialisation_twin(lw_specialisation *specialisation, bool narrow,
                                          bool negative);
/* "float32, float32[::1]": new str. */
PyObject *lw_specialisation_text(const lw_specialisation *specialisation);
/* "void(float32, float32[::1])"; for a function that gives a value with the type of that. */
PyObject *lw_specialisation_signature(const lw_specialisation *specialisation);
/* The types of the arguments as numba names them, (float32[::1], int64): new tuple. */
PyObject *lw_specialisation_types(const lw_specialisation *specialisation);
/* {name of a variable: its type}, of numbers, records and arrays; where it has several types,
 * of its definitions: "x", "x.1". */
PyObject *lw_specialisation_variables(const lw_specialisation *specialisation);
/* Whether no array that the body writes overlaps another one: noalias of the entry key. */
bool lw_specialisation_noalias(const lw_specialisation *specialisation, const lw_bound *bound);
/* The body that the host runs. */
const lw_scalar *lw_specialisation_on_host(const lw_specialisation *specialisation);
/* Code for a target, compiled and loaded if it is new (and after a reset of the device); the
 * GIL is released meanwhile. NULL with an exception. */
lw_device_entry *lw_specialisation_device(lw_specialisation *specialisation, lw_device *device,
                                          const lw_entry_key *key);
lw_host_entry *lw_specialisation_host(lw_specialisation *specialisation,
                                      const lw_entry_key *key);
/* The module from which these are compiled, for inspection. cc 0: the key's form for the
 * host. */
lw_status lw_specialisation_module(const lw_specialisation *specialisation,
                                   const lw_entry_key *key, lw_module **out, lw_error *err);
void lw_specialisation_free(lw_specialisation *specialisation); /* NULL is allowed */

/* ---- after a launch ---- */

/* With errors="raise": waits for the stream and raises what a thread has reported; else raises
 * what has been reported already. While the stream captures it does nothing. -1 with an
 * exception. */
int lw_entry_report(const lw_device_entry *entry, CUstream stream);

#endif

/* What the objects of this door, Forall and Jit, have in common: a Python function with its
 * specialisations, one for each tuple of argument types; reading the arguments of a call;
 * machine code of a specialisation for each target.
 *
 *     lw_bound bound;                                       (on the stack: some 8 KB, unset)
 *     lw_bound_init(&bound);
 *     if (lw_bind(self, args, n_args, &bound) < 0) return NULL;
 *     special = lw_special_get(self, &bound);               (compiles when new)
 *     …
 *     entry = lw_special_device(special, device, &key);     (compiles when new)
 *     lw_bound_use(&bound, stream); lw_launch(…); lw_bound_done(&bound, stream);
 *     …
 *     lw_bound_release(&bound);
 *
 * The GIL is held throughout, but for compiling and running. */
#ifndef LW_FORALL_KERNEL_PY_H
#define LW_FORALL_KERNEL_PY_H

#include "core/py/array/args.h"

#include "core/base/lock.h"
#include "core/device/launch.h"
#include "core/front/read/python.h"
#include "core/front/signature.h"
#include "core/link/build.h"
#include "core/opt/race.h"
#include "core/py/compiled/door_options.h"
#include "core/py/compiled/link_read.h"
#include "core/py/compiled/renew.h"
#include "core/py/reports.h"
#include "core/py/types/signature_read.h"
#include "forall/kernel_ir.h"

struct lw_special;

/* ---- the object ---- */

/* The head of both objects. */
typedef struct lw_function {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    PyObject *py_func; /* the user's function */
    PyObject *dict;    /* __name__, __doc__, … as functools.wraps */
    PyObject *weakrefs;
    PyObject *source;   /* source=, a str, or NULL */
    PyObject *link;     /* link=, or NULL */
    lw_link_set links;  /* of link= and of the functions that the code names */
    PyObject *keywords; /* dict: the decorator's, as given, for pickling */
    lw_tree *tree;
    lw_captures *captures;
    lw_renewal renewal;
    struct lw_function *on_host; /* whom calls on the host go to; owned by the Jit, or NULL */
    lw_door door;
    lw_door_options options;
    lw_entry_limits limits;
    uint32_t n_params;   /* of the Python function */
    uint32_t n_index;    /* of these, in front: the element's index (Forall); Jit: 0 */
    uint32_t n_required; /* arguments behind the index that have no default */
    bool gives_value;    /* called on the host, once, for what it returns */
    bool lazy;           /* compiles for any new types; false: the declared ones only */
    uint64_t statics;    /* by argument behind the index: static= names it */
    PyObject
        *static_values; /* dict: key of a value -> what keys of calls name it by; or NULL */
    _Atomic(struct lw_special *) specials; /* append-only, newest first */
    _Atomic(struct lw_special *) last;     /* what the last call took: tried first */
    uint32_t n_specials;
    double seconds; /* spent compiling */
    uint32_t compiled, from_memory, from_disk;
} lw_function;

/* Fill the head of a new object (memory zero but for Python's own head): reads the function and
 * the keywords that every door has (a dict or NULL). `vectorcall` is the caller's to set.
 * signatures are not looked at: lw_function_declare does. -1 with an exception; dealloc copes
 * with what is there. */
int lw_function_init(lw_function *self, lw_door door, uint32_t n_index, PyObject *function,
                     PyObject *keywords);
/* Compile for each of the signatures (as lw_signatures_read takes them; NULL and None: none)
 * and from then on for no others. They may or may not name the index. -1 with an exception. */
int lw_function_declare(lw_function *self, PyObject *signatures);
/* Before the first specialisation: read the function again where a global or closure variable
 * has changed. -1 with an exception. */
int lw_function_refresh(lw_function *self);
/* From then on another object takes the calls. Gives the one that takes a call now, itself or
 * one made anew where what the function captured has changed: a new reference, or NULL with an
 * exception. A few ns where nothing has. */
lw_function *lw_function_current(lw_function *self);
lw_function *lw_function_stale(lw_function *self);   /* knowing that it is stale */
lw_function *lw_function_renewed(lw_function *self); /* another one in any case */
/* Whether a stale one goes on as it is: 1 where only frozen contents have changed, which has
 * been told. -1 with an exception. */
int lw_function_frozen(lw_function *self);
bool
lw_function_is_stale(const lw_function *self); /* of captures, once something is compiled */
/* What core/link hears of it; borrowed from it. */
lw_build_options lw_function_build_options(const lw_function *self);
const char *lw_function_name(const lw_function *self);
/* What was compiled, from where, and how long it took: a new dict. */
PyObject *lw_function_stats(const lw_function *self);
/* For tp_traverse, tp_clear and tp_dealloc of the owner. */
int lw_function_traverse(lw_function *self, visitproc visit, void *arg);
void lw_function_clear(lw_function *self);
void lw_function_reset(lw_function *self); /* last of all: frees what C owns */

/* ---- arguments ---- */

enum { LW_MOST_ARRANGED = 64 };

/* Positional and keyword arguments as one row in the order of the parameters behind the index;
 * what is left out behind the last one given is not there, a default in between is. Keywords of
 * which is_option (NULL: none) says so are passed over. out: room for LW_MOST_ARRANGED, filled
 * with borrowed references. Their number, or -1 with an exception. */
Py_ssize_t lw_function_arrange(const lw_function *self, PyObject *const *args,
                               Py_ssize_t n_args, PyObject *kwnames,
                               bool (*is_option)(PyObject *name), PyObject **out);

enum {
    LW_BOUND_ARRAYS = 16, /* more arrays, values or key bytes than these go to the heap */
    LW_BOUND_VALUES = 160,
    LW_BOUND_KEY = 256
};

typedef enum lw_where {                   /* where a call's arrays are */
                        LW_WHERE_NOWHERE, /* it has none */
                        LW_WHERE_HOST,
                        LW_WHERE_DEVICE
} lw_where;

typedef struct lw_bound_array {
    PyObject *object;    /* borrowed: the argument, or an item of it */
    lw_operand *operand; /* of foreign device arrays; else NULL */
    uint32_t arg;        /* number of the argument, without the index */
    uint32_t value;      /* values[value] is its address */
    uint64_t low, high;  /* bytes it reaches: low <= address < high; equal: none */
    bool record;         /* an np.void: its bytes on the host, to be read only */
    bool back;           /* what the body writes goes back to where a copy comes from */
    uint32_t n_bytes;    /* of a record */
} lw_bound_array;

typedef struct lw_bound {
    lw_where where;
    lw_device *device; /* of the first device array, or NULL */
    bool narrow;       /* on a device: every byte offset inside every array fits 31 bits */
    bool negative;     /* set before lw_bind: an index may be negative */
    uint32_t n_args, n_arrays, n_values, n_key, n_operands;
    uint32_t n_copies; /* of arrays that are not aligned, or of the other byte order */
    uint32_t most_arrays, most_values, most_key; /* that the three have room for */
    lw_bound_array *arrays;
    uint64_t *values; /* what the body takes behind its index, in order */
    uint8_t *key;     /* types alone: two calls of one key run one specialisation */
    lw_operand *operands[LW_BOUND_ARRAYS]; /* what was lent: heap, or operand_store */
    PyObject *owned;                       /* list of what must live as long as this, or NULL */
    lw_bound_array array_store[LW_BOUND_ARRAYS];
    uint64_t value_store[LW_BOUND_VALUES];
    uint8_t key_store[LW_BOUND_KEY];
    lw_operand operand_store[LW_BOUND_ARRAYS];
} lw_bound;

/* Whether every array starts at a multiple of 16 bytes. */
bool lw_bound_aligned(const lw_bound *bound);
void lw_bound_init(lw_bound *bound); /* touches the small fields only */
/* Read every argument once: own and foreign device arrays, NumPy arrays and scalars, Python
 * numbers (weak), np.void, tuples and namedtuples of these, None. args: those behind the index;
 * fewer than the function has is fine where the rest have defaults. -1 with an exception that
 * names the argument; then there is nothing to release. No heap call, and no call into Python's
 * own code, for up to 16 arrays that are ours or NumPy's. */
int lw_bind(const lw_function *self, PyObject *const *args, Py_ssize_t n_args, lw_bound *bound);
/* Copies of arrays that could not be taken as they are go back where the body may have written.
 */
void lw_bound_release(lw_bound *bound);
/* Order `stream` behind whoever produced the arrays, and bring np.void records to the device;
 * then, after the launch, copy back what misaligned device arrays' copies were written, and let
 * foreign producers wait for it. */
lw_status lw_bound_use(lw_bound *bound, lw_device *device, CUstream stream, lw_error *err);
lw_status lw_bound_done(lw_bound *bound, CUstream stream, lw_error *err);

/* ---- specialisations ---- */

typedef struct lw_special_cast { /* a number that the declared signature has in another type */
    uint32_t value, param;
    lw_dtype from, to;
    lw_dtype bounds; /* of a Python int: what cannot hold it is an OverflowError; or void */
    int64_t least, most;
} lw_special_cast;

/* Machine code on a device. */
typedef struct lw_device_entry {
    struct lw_device_entry *next;
    struct lw_special *special; /* borrowed: owns this */
    lw_entry_key key;
    lw_device *device;
    lw_kernel *kernel;
    lw_image *image;         /* held: keeps the kernel loaded */
    lw_watch *watch;         /* NULL where the body cannot raise */
    CUdeviceptr control;     /* what such a kernel takes as its last parameter */
    uint32_t batch;          /* FORALL: elements a thread takes in one iteration */
    lw_launch_config config; /* the block of best occupancy, without dynamic shared memory */
    bool together;           /* the blocks wait for each other: a cooperative launch */
} lw_device_entry;

typedef struct lw_host_entry {
    struct lw_host_entry *next;
    lw_entry_key key;
    lw_code *code;
    void *address;         /* lw_range_code, lw_sim_single or lw_sim_whole, by the form */
    uint32_t shared_bytes; /* static shared memory a block */
    uint32_t local_bytes;  /* local arrays a thread */
    bool prints;
    _Atomic uint32_t cost_ps; /* RANGE: of an element; a guess until a long run has shown it */
} lw_host_entry;

typedef struct lw_special {
    struct lw_special *next;
    lw_function *function; /* borrowed */
    lw_arena arena;
    uint32_t n_key;
    const uint8_t *key;
    const lw_arg_spec *specs; /* of every parameter, the index included */
    uint32_t n_specs;
    const lw_special_cast *casts;
    uint32_t n_casts;
    struct lw_special *target; /* itself; or the declared one that calls of this key run */
    struct lw_special *origin; /* of a twin: whose types it has, else NULL */
    lw_scalar *scalar;         /* NULL where target is another one */
    lw_scalar *on_host; /* the same with guards of dynamic shared memory; NULL: `scalar` */
    uint32_t n_written;
    const uint32_t *written; /* numbers of the bound arrays that the body may write */
    uint32_t n_out; /* declared results of a function that gives a value; 0: as inferred */
    const lw_dtype *out;
    uint32_t n_races; /* of forall: stores by which elements race wherever there are several */
    const lw_race_store *races;
    bool declared, narrow, negative;
    uint64_t hash;  /* of the types: the same in every process */
    PyObject *held; /* list of the objects that the key names by address, or NULL */
    lw_tree
        *tree; /* with static values: the function read with them; a twin's is its origin's */
    lw_captures *captures; /* of that reading, or NULL */
    _Atomic(lw_device_entry *) device, last_device;
    _Atomic(lw_host_entry *) host;
} lw_special;

/* The specialisation for these arguments: typed and lowered when it is new. Where it was
 * declared with other number types, bound->values are converted. NULL with an exception. */
lw_special *lw_special_get(lw_function *self, lw_bound *bound);
/* The same from a signature (a str, types, …), for inspection and compiling ahead. */
lw_special *lw_special_of(lw_function *self, PyObject *signature);
/* The same types in code for arrays whose offsets do or do not fit 31 bits, for an index that
 * may or may not be negative: made when new. NULL with an exception. */
lw_special *lw_special_twin(lw_special *special, bool narrow, bool negative);
/* "float32, float32[::1]": new str. */
PyObject *lw_special_text(const lw_special *special);
/* "void(float32, float32[::1])"; of a function that gives a value with what that is. */
PyObject *lw_special_signature(const lw_special *special);
/* Whether no array that the body writes overlaps another one. entry key: noalias. */
bool lw_special_noalias(const lw_special *special, const lw_bound *bound);
/* The body that the host runs. */
const lw_scalar *lw_special_on_host(const lw_special *special);
/* Code for a target, compiled and loaded when new (and after a reset of the device); the GIL is
 * given up meanwhile. NULL with an exception. */
lw_device_entry *lw_special_device(lw_special *special, lw_device *device,
                                   const lw_entry_key *key);
lw_host_entry *lw_special_host(lw_special *special, const lw_entry_key *key);
/* The module that these compile: inspection. cc 0: the host's form of the key. */
lw_status lw_special_module(const lw_special *special, const lw_entry_key *key, lw_module **out,
                            lw_error *err);
void lw_special_free(lw_special *special); /* NULL is allowed */

/* ---- after a launch ---- */

/* errors="raise": wait for the stream and raise what a thread reported; else raise what is
 * there already. While the stream captures, nothing. -1 with an exception. */
int lw_entry_report(const lw_device_entry *entry, CUstream stream);

#endif

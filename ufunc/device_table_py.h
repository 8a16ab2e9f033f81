/* What a Ufunc remembers of its device calls: for operand dtypes the loop NumPy's rules choose
 * (a resolution), for a resolution and a walk the loaded kernel (an entry). Both lists only
 * grow, newest first, so readers take no lock; the last hit is tried first. */
#ifndef LW_UFUNC_DEVICE_TABLE_PY_H
#define LW_UFUNC_DEVICE_TABLE_PY_H

#include "ufunc/ufunc_py.h"

#include "core/device/copy.h"
#include "core/device/launch.h"
#include "core/py/reports.h"
#include "ufunc/device_plan.h"

typedef struct lw_entry {
    struct lw_entry *next;
    lw_kernel *kernel;
    lw_image *image; /* held: keeps the kernel loaded */
    lw_kernel_key key;
} lw_entry;

typedef struct lw_resolution {
    struct lw_resolution *next;
    lw_device *device;
    const lw_loop *loop;
    const char *name; /* the Python function's; lives as long as the loop */
    lw_build_options options;
    const lw_link_set *links; /* of the Ufunc; NULL: it has none */
    uint32_t cost;
    bool has_loop;
    uint8_t n;                  /* operands in codes; 0: reached by dtype= and its like */
    uint8_t codes[LW_MAX_ARGS]; /* dtype | weak kind << 5; LW_DT_void: output not given */
    _Atomic(lw_entry *) entries, last;
    lw_watch *watch; /* NULL where the body cannot raise */
} lw_resolution;

typedef struct lw_plan_table {
    _Atomic(lw_resolution *) resolutions, last;
} lw_plan_table;

/* Weak kinds in codes. */
enum { LW_STRONG = 0, LW_WEAK_INT = 1 << 5, LW_WEAK_FLOAT = 2 << 5, LW_WEAK_COMPLEX = 3 << 5 };

/* The resolution for these codes on this device, made when new. signature, dtype, casting as in
 * the call, NULL when not given. Lives as long as the Ufunc. NULL with an exception. */
lw_resolution *lw_resolution_get(lw_ufunc *self, lw_device *device, const uint8_t *codes, int n,
                                 PyObject *signature, PyObject *dtype, PyObject *casting);
/* The loaded kernel for a walk, compiled when new or after a reset of the device; releases the
 * GIL while it compiles. NULL with an exception. */
lw_entry *lw_entry_get(lw_resolution *resolution, const lw_kernel_key *key);
/* A resolution for a loop that belongs to no Ufunc (copies). NULL with an exception. */
lw_resolution *lw_resolution_new(lw_device *device, const lw_loop *loop, const char *name,
                                 const lw_build_options *options);

/* Raise what a kernel of this resolution reported, if anything: -1 with the exception set. */
int lw_resolution_check(lw_resolution *resolution, CUstream stream);

/* A name for a kernel: the function's, made safe for ptxas, and a hash of what it is for. */
void lw_kernel_symbol(const char *name, const lw_loop *loop, const lw_kernel_key *key,
                      char out[96]);
/* The Python function's name. */
const char *lw_ufunc_name(const lw_ufunc *self);
lw_build_options lw_build_options_of(const lw_ufunc *self);

#endif

/* What a Gufunc remembers of its device calls: for operand dtypes the loop NumPy's rules choose
 * (a resolution), for a resolution and a walk the loaded kernel (an entry). Both lists only
 * grow, newest first, so readers take no lock; the last hit is tried first. */
#ifndef LW_GUFUNC_DEVICE_TABLE_PY_H
#define LW_GUFUNC_DEVICE_TABLE_PY_H

#include "gufunc/gufunc_py.h"

#include "core/device/launch.h"
#include "core/py/reports.h"
#include "gufunc/core_plan.h"
#include "gufunc/core_spread.h"

typedef struct lw_gentry {
    struct lw_gentry *next;
    lw_kernel *kernel;
    lw_image *image; /* held: keeps the kernel loaded */
    lw_core_key key;
} lw_gentry;

typedef struct lw_gresolution {
    struct lw_gresolution *next;
    lw_device *device;
    lw_gufunc_loop *loop;
    lw_build_options options;
    lw_spread spread;
    const lw_link_set *links;       /* of the Gufunc */
    bool warned;                    /* of few items with large cores */
    uint8_t n;                      /* operands in codes; 0: reached by dtype= and its like */
    uint8_t codes[LW_MAX_OPERANDS]; /* dtype | weak kind << 5; LW_DT_void: not given */
    _Atomic(lw_gentry *) entries, last;
    lw_watch *watch; /* NULL where the body cannot raise */
} lw_gresolution;

/* Weak kinds in codes. */
enum { LW_CODE_INT = 1 << 5, LW_CODE_FLOAT = 2 << 5, LW_CODE_COMPLEX = 3 << 5 };

/* The resolution for these codes on this device, made when new. signature, dtype, casting as in
 * the call, NULL when not given. Lives as long as the Gufunc. NULL with an exception. */
lw_gresolution *lw_gresolution_get(lw_gufunc *self, lw_device *device, const uint8_t *codes,
                                   int n, PyObject *signature, PyObject *dtype,
                                   PyObject *casting);
/* The loaded kernel for a walk, compiled when new or after a reset of the device; releases the
 * GIL while it compiles. NULL with an exception. */
lw_gentry *lw_gentry_get(lw_gresolution *resolution, const lw_core_key *key);
/* Raise what a kernel of this resolution reported, if anything: -1 with the exception set. */
int lw_gresolution_check(lw_gresolution *resolution, CUstream stream);

/* A name for a kernel: the function's, made safe for ptxas, and a hash of what it is for. */
void lw_gsymbol(const char *name, const lw_gufunc_loop *loop, const lw_core_key *key,
                char out[96]);
lw_build_options lw_gbuild_options(const lw_gufunc *self);
void lw_gplans_free(struct lw_gufunc_plans *plans);   /* NULL is allowed */
void lw_gplans_forget(struct lw_gufunc_plans *plans); /* NULL is allowed */

#endif

/* What a ufunc remembers of its device calls: for operand dtypes the loop that NumPy's rules
 * choose (a resolution), for a resolution and a walk the loaded kernel. All with the GIL. */
#ifndef LW_PY_RESOLVED_H
#define LW_PY_RESOLVED_H

#include <Python.h>

#include "core/base/grown.h"
#include "core/device/load.h"
#include "core/py/array/args.h"
#include "core/py/compiled/link_read.h"
#include "core/py/reports.h"

#include <stdalign.h>

enum { LW_MOST_CODES = 64 /* NumPy's limit on nin + nout */ };

/* A code: a dtype, below 128; of Python's numbers, one of 5 bits | weak kind; LW_DT_void: an
 * output that is not given. */
enum {
    LW_WEAK = 1 << 7,
    LW_WEAK_INT = LW_WEAK,
    LW_WEAK_FLOAT = LW_WEAK | 1 << 5,
    LW_WEAK_COMPLEX = LW_WEAK | 2 << 5
};
_Static_assert((int)LW_N_SCALARS <= (int)LW_WEAK, "a dtype is no weak code");

typedef struct lw_loaded {
    lw_grown_item item;
    lw_kernel *kernel;
    lw_image *image; /* held: keeps the kernel loaded */
    lw_build_report report;
    alignas(8) unsigned char key[];
} lw_loaded;

/* How a door's resolution begins. */
typedef struct lw_resolved {
    lw_grown_item item;
    lw_device *device;
    const void *loop; /* the door's */
    lw_build_options options;
    const lw_link_set *links; /* owned by the ufunc; NULL: none */
    uint8_t n;                /* operands in codes; 0: reached by dtype= and its like */
    uint8_t codes[LW_MOST_CODES];
    lw_grown kernels; /* lw_loaded */
    lw_watch *watch;  /* NULL where the body cannot raise */
} lw_resolved;

typedef struct lw_resolved_list {
    lw_grown all; /* lw_resolved */
} lw_resolved_list;

/* The codes of n operands, the first nin of them inputs. -1 with an exception: a dtype that
 * kernels cannot read. */
int lw_resolved_codes(const lw_operand *operands, int nin, int n, uint8_t *codes);
/* What the choice of a loop depends on: dtypes, and for Python numbers their kind, else 0. */
void lw_resolved_dtypes(const uint8_t *codes, int n, lw_dtype *dtypes, char *weak);

/* NULL: there is none yet. */
lw_resolved *lw_resolved_find(lw_resolved_list *list, const lw_device *device,
                              const uint8_t *codes, int n);
lw_resolved *lw_resolved_find_loop(lw_resolved_list *list, const lw_device *device,
                                   const void *loop);
/* Zeroed memory of size_bytes, which begins with a resolution; `raise`: where the loop's body
 * can raise, else NULL. NULL with an exception. */
void *lw_resolved_new(size_t size_bytes, lw_device *device, const void *loop,
                      const lw_build_options *options, lw_watch_raise raise);
/* Takes it into the list. codes NULL: the dtypes alone do not lead here. */
void lw_resolved_add(lw_resolved_list *list, lw_resolved *resolved, const uint8_t *codes,
                     int n);
void lw_resolved_free(lw_resolved_list *list);
/* Which loop serves which dtypes is asked anew; kernels stay loaded. */
void lw_resolved_forget(lw_resolved_list *list);

/* The module of a kernel, whose one KERNEL it is. Without the GIL. */
typedef lw_status (*lw_resolved_module)(const lw_resolved *resolved, const void *key,
                                        lw_module **out, lw_error *err);
/* The loaded kernel for a walk's key, compared as bytes; compiled when new or after a reset of
 * the device: the GIL is released meanwhile. NULL with an exception. */
lw_loaded *lw_resolved_kernel(lw_resolved *resolved, const void *key, size_t size_bytes,
                              size_t whole_bytes, lw_resolved_module module);
/* Raise what a kernel of this resolution reported, if anything: -1 with the exception set. */
int lw_resolved_check(const lw_resolved *resolved, CUstream stream);

#endif

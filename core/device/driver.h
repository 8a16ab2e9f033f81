/* The CUDA driver, called through one table (core/tables/cuda_driver.def) that is filled when
 * it is first needed. No CUDA header is used: the types below are the driver's ABI.
 *
 * It is looked for where the setting `driver` (LANEWISE_CUDA_DRIVER) says, and nowhere else,
 * when that is set; otherwise in WSL's folder where there is one, then as the loader's
 * libcuda.so.1. A machine without a driver, LANEWISE_NO_CUDA=1 and a driver older than CUDA
 * 12.0 all give LW_ERR_DRIVER, which says what was looked for and where. A failure is not
 * remembered: the next need tries again. A child of fork() gets an error from every entry point
 * once the parent has used CUDA. */
#ifndef LW_DEVICE_DRIVER_H
#define LW_DEVICE_DRIVER_H

#include "core/base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef int CUresult;
typedef int CUdevice;
typedef unsigned long long CUdeviceptr;
typedef struct CUctx_st *CUcontext;
typedef struct CUstream_st *CUstream;
typedef struct CUevent_st *CUevent;
typedef struct CUmod_st *CUmodule;
typedef struct CUlib_st *CUlibrary;
typedef struct CUgraph_st *CUgraph;
typedef struct CUuserObject_st *CUuserObject;
typedef struct CUkern_st *CUkernel;
typedef struct CUfunc_st *CUfunction;
typedef struct CUmemPoolHandle_st *CUmemoryPool;

/* The result codes that we tell apart. */
enum {
    LW_CUDA_SUCCESS = 0,
    LW_CUDA_INVALID_VALUE = 1,
    LW_CUDA_OUT_OF_MEMORY = 2,
    LW_CUDA_NO_DEVICE = 100,
    LW_CUDA_INVALID_CONTEXT = 201,
    LW_CUDA_INVALID_HANDLE = 400,
    LW_CUDA_NOT_READY = 600,
    LW_CUDA_NOT_SUPPORTED = 801,
};

typedef struct CUmemLocation {
    int type, id;
} CUmemLocation;

typedef struct CUmemPoolProps {
    int alloc_type, handle_types;
    CUmemLocation location;
    void *win32_security;
    size_t max_bytes;
    unsigned short usage;
    unsigned char reserved[54];
} CUmemPoolProps;

typedef struct CUipcMemHandle {
    unsigned char bytes[64];
} CUipcMemHandle;

typedef struct CUlaunchAttribute {
    int id;
    char pad[4];
    union {
        char pad[64];
        int flag;
        unsigned dim[3];
    } value;
} CUlaunchAttribute;

typedef struct CUlaunchConfig {
    unsigned grid_x, grid_y, grid_z, block_x, block_y, block_z;
    unsigned shared_bytes;
    CUstream stream;
    CUlaunchAttribute *attributes;
    unsigned n_attributes;
} CUlaunchConfig;

typedef struct lw_driver_table {
#define CUDA(name, symbol, version, arguments) CUresult(*name) arguments;
#include "core/tables/cuda_driver.def"
} lw_driver_table;

typedef enum lw_driver_call {
#define CUDA(name, symbol, version, arguments) LW_CALL_##name,
#include "core/tables/cuda_driver.def"
    LW_N_CALLS
} lw_driver_call;

extern lw_driver_table lw_cuda;

/* Loads the driver and initialises it, unless that was done: afterwards it is cheap (an atomic
 * load). */
lw_status lw_driver_need(lw_error *err);
/* Whether there is a usable driver with at least one device. Never an error. */
bool lw_driver_available(void);
/* 1000 * major + 10 * minor of the loaded driver; 0 before it is loaded. */
int lw_driver_version(void);
/* The path of the loaded libcuda; "" before it is loaded. */
const char *lw_driver_path(void);
/* Closes all devices and unloads the driver, so that the next need loads it again.
 * Everything that came from a device must have been given back. For tests and for the end of
 * the process. */
void lw_driver_close(void);

/* Makes a driver call: LW_CUDA(MemAlloc, (&address, size_bytes), ordinal, err) is a lw_status.
 * A call that the driver lacks is an error too. ordinal: the device that the call is for, -1 =
 * none. */
#define LW_CUDA(name, arguments, ordinal, err)                                                 \
    (lw_cuda.name == NULL                                                                      \
         ? lw_driver_missing(LW_CALL_##name, (ordinal), (err))                                 \
         : lw_driver_check(lw_cuda.name arguments, LW_CALL_##name, (ordinal), (err)))

lw_status lw_driver_check(CUresult code, lw_driver_call call, int ordinal, lw_error *err);
lw_status lw_driver_missing(lw_driver_call call, int ordinal, lw_error *err);
/* The call's name, such as "cuMemAlloc". */
const char *lw_driver_call_name(lw_driver_call call);

/* True in a child of fork() after the parent has used CUDA: no call may be made to the
 * driver. */
bool lw_driver_forked(void);

#endif

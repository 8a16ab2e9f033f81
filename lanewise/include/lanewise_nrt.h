/* Counted memory for code in other languages, under the names that it has in numba.
 *
 * In CUDA C++ that kernels are linked with (`cuda.CUSource(..., nrt=True)`) these are device
 * functions, which lanewise adds to the kernel:
 *
 *     #include <lanewise_nrt.h>
 *     extern "C" __device__ int first_of(int *result, long long n)
 *     {
 *         NRT_MemInfo *mi = NRT_MemInfo_alloc_aligned(n * sizeof(int), 16);
 *         if (mi == NULL)
 *             return 1;
 *         ...
 *         NRT_decref(mi);
 *         return 0;
 *     }
 *
 * On the host there is a table of functions instead, which a C extension finds by
 *
 *     NRT_api_functions *nrt = PyCapsule_Import(NRT_API_CAPSULE, 0);
 *
 * Memory begins with one reference. Whoever drops the last one, on whatever thread, calls the
 * destructor, which gets the address and the number of bytes and what was registered with it,
 * and then frees the MemInfo. NULL is no reference: incref, decref, acquire and release of it
 * do nothing. What makes memory returns NULL where there is none left. */
#ifndef LW_NRT_H
#define LW_NRT_H

#ifndef __CUDACC_RTC__ /* which has size_t and NULL by itself */
#include <stddef.h>
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef struct MemInfo NRT_MemInfo;

#ifdef __CUDACC__

typedef void (*NRT_dtor_function)(void *ptr, size_t size, void *info);

/* refct is changed by atomic operations: read it, and change it by NRT_incref and NRT_decref.
 */
struct MemInfo {
    size_t refct;
    NRT_dtor_function dtor;
    void *dtor_info;
    void *data;
    size_t size;
};

/* Memory without a MemInfo, aligned to 16 bytes. */
__device__ void *NRT_Allocate(size_t size);
__device__ void *NRT_Allocate_External(size_t size);
__device__ void NRT_Free(void *ptr);

/* A MemInfo with memory of its own, which is freed with it. align: in bytes. */
__device__ NRT_MemInfo *NRT_MemInfo_alloc(size_t size);
__device__ NRT_MemInfo *NRT_MemInfo_alloc_aligned(size_t size, unsigned align);
/* A MemInfo of memory that the caller has. dtor: NULL for none. */
__device__ NRT_MemInfo *NRT_MemInfo_new(void *data, size_t size, NRT_dtor_function dtor,
                                        void *dtor_info);
/* The same in memory from NRT_Allocate. */
__device__ void NRT_MemInfo_init(NRT_MemInfo *mi, void *data, size_t size,
                                 NRT_dtor_function dtor, void *dtor_info);
__device__ void *NRT_MemInfo_data_fast(NRT_MemInfo *mi);

__device__ void NRT_incref(NRT_MemInfo *mi);
__device__ void NRT_decref(NRT_MemInfo *mi);

/* What NRT_decref does with the last reference: the destructor, then NRT_MemInfo_destroy. */
__device__ void NRT_MemInfo_call_dtor(NRT_MemInfo *mi);
/* Frees the MemInfo. */
__device__ void NRT_MemInfo_destroy(NRT_MemInfo *mi);
/* The same, without counting it as the end of a MemInfo. */
__device__ void NRT_dealloc(NRT_MemInfo *mi);

#else

#define NRT_API_CAPSULE "lanewise.runtime.NRT_api_functions"

typedef void NRT_managed_dtor(void *data);

typedef void *(*NRT_external_malloc_func)(size_t size, void *opaque_data);
typedef void *(*NRT_external_realloc_func)(void *ptr, size_t new_size, void *opaque_data);
typedef void (*NRT_external_free_func)(void *ptr, void *opaque_data);

typedef struct ExternalMemAllocator {
    NRT_external_malloc_func malloc;
    NRT_external_realloc_func realloc; /* never called */
    NRT_external_free_func free;
    void *opaque_data;
} NRT_ExternalAllocator;

typedef struct NRT_api_functions {
    /* A MemInfo with nbytes bytes of its own. */
    NRT_MemInfo *(*allocate)(size_t nbytes);
    /* The same by their allocator, which is copied; NULL: by lanewise's. */
    NRT_MemInfo *(*allocate_external)(size_t nbytes, NRT_ExternalAllocator *allocator);
    /* A MemInfo of memory that they have. dtor: frees the memory; NULL for none. */
    NRT_MemInfo *(*manage_memory)(void *data, NRT_managed_dtor dtor);
    void (*acquire)(NRT_MemInfo *mi);
    void (*release)(NRT_MemInfo *mi);
    void *(*get_data)(NRT_MemInfo *mi);
} NRT_api_functions;

#endif

#ifdef __cplusplus
}
#endif

#endif

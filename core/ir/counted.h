/* Counted memory, as compiled code, the host and foreign code see it.
 *
 * The header stands in front of the bytes. Its fields have the layout of numba's MemInfo, so
 * that foreign code can share such memory: 64-bit fields, in this order: how many references
 * there are; the destructor, its information; the address of the bytes; how many they are. On
 * the host a destructor of 0 means that it is ours. */
#ifndef LW_IR_COUNTED_H
#define LW_IR_COUNTED_H

enum {
    LW_COUNTED_COUNT_AT = 0,
    LW_COUNTED_DESTRUCTOR_AT = 8,
    LW_COUNTED_INFORMATION_AT = 16,
    LW_COUNTED_DATA_AT = 24,
    LW_COUNTED_SIZE_AT = 32,
    LW_COUNTED_HEADER = 48, /* bytes: what follows is as aligned as the memory itself */
};

/* What an exception says where there is no memory. */
#define LW_COUNTED_NO_MEMORY "unable to allocate memory for an array"

/* On a GPU the memory of a device's heap is shared by all modules of a context, and so is what
 * is known of it: the heap's state, which core/device/heap.c makes and core/emit/gpu_memory.c
 * uses. Each module has a variable with its address, or 0 where nobody has set it: then memory
 * is malloc's, and is not counted. */
#define LW_HEAP_VARIABLE "lw_heap_state"

enum {
    /* 64-bit numbers */
    LW_HEAP_COUNTS_AT = 0, /* whether the four below are counted */
    LW_HEAP_ALLOCATED_AT = 8,
    LW_HEAP_FREED_AT = 16,
    LW_HEAP_MADE_AT = 24, /* headers */
    LW_HEAP_DESTROYED_AT = 32,
    LW_HEAP_WARPS_AT = 40,    /* that the device can have at one time */
    LW_HEAP_SM_WARPS_AT = 48, /* … of one multiprocessor */
    LW_HEAP_KEPT_AT = 56,     /* bytes: larger memory is not kept when it is freed */
    LW_HEAP_SHARED_AT = 64,   /* bytes: larger memory is not allocated for a warp at once */
    LW_HEAP_HEADER = 128,
    /* Behind the header, for each warp: memory that was freed, an address or 0, for each lane
     * of each way. */
    LW_HEAP_WAYS = 4,
    LW_HEAP_WAY_BYTES = 32 * 8,
    LW_HEAP_WARP_BYTES = LW_HEAP_WAYS * LW_HEAP_WAY_BYTES,
    /* In front of memory of the heap: the chunk that it is part of, or 0, and how many bytes it
     * has. */
    LW_HEAP_PREFIX = 16
};

#endif

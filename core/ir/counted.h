/* The header of counted memory, which stands in front of its bytes. The layout of the fields is
 * that of numba's MemInfo, so that foreign code can share such memory: 64-bit fields, in this
 * order: how many references there are; the destructor, its information; the address of the
 * bytes; how many they are. On the host a destructor of 0 means that it is ours. */
#ifndef LW_IR_COUNTED_H
#define LW_IR_COUNTED_H

enum {
    LW_COUNTED_COUNT_AT = 0,
    LW_COUNTED_DESTRUCTOR_AT = 8,
    LW_COUNTED_INFORMATION_AT = 16,
    LW_COUNTED_DATA_AT = 24,
    LW_COUNTED_SIZE_AT = 32,
    LW_COUNTED_HEADER = 64, /* bytes: what follows is as aligned as the memory itself */
};

#endif

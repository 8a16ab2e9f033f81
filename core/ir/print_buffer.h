/* The memory that GPU threads print into, as core/emit writes it and core/device reads it: two
 * halves, one of which is active, so that one can be read while kernels run. In 8-byte words:
 *   0      the active half, 0 or 1
 *   1, 2   words reserved in each half (may exceed what fits)
 *   3, 4   lines that found no room
 *   8 …    the halves: records of (words that follow, number of the format, slots) */
#ifndef LW_IR_PRINT_BUFFER_H
#define LW_IR_PRINT_BUFFER_H

#define LW_PRINT_VARIABLE "lw_print_buffer" /* of a module: the buffer's address */

enum {
    LW_PRINT_USED_AT = 8, /* bytes */
    LW_PRINT_DROPPED_AT = 24,
    LW_PRINT_HEADER = 64,
    LW_PRINT_WORDS = 1 << 16, /* in each half: 512 KiB */
    LW_PRINT_BYTES = LW_PRINT_HEADER + 2 * 8 * LW_PRINT_WORDS
};

#endif

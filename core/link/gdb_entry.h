/* Code that gdb may be told of: its JIT compilation interface (Debugging with GDB, "JIT
 * Compilation Interface"). gdb finds two symbols of this library by their names, reads the list
 * of object files there, and stops wherever the list changes. */
#ifndef LW_LINK_GDB_ENTRY_H
#define LW_LINK_GDB_ENTRY_H

#include <stddef.h>
#include <stdint.h>

typedef struct lw_gdb_entry lw_gdb_entry;

/* If the relocatable object, which is whole, has debug information, tells gdb of it. sections:
 * where each is in memory, or NULL; beyond: an address behind them, for those that are not
 * loaded. NULL: there is none, or no memory. */
lw_gdb_entry *lw_gdb_add(const void *object, size_t n, uint8_t *const *sections,
                         const uint8_t *beyond);
void lw_gdb_remove(lw_gdb_entry *entry); /* NULL is allowed; before the code is unmapped */

#endif

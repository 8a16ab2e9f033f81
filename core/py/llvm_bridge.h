/* The door from core/link, which knows no Python, to lanewise/_toolchain.py: Python's folders,
 * cuda-pathfinder, llvmlite. The functions registered take the GIL themselves, so core/link
 * calls them from any thread; a thread that waits for them must not hold the GIL. */
#ifndef LW_PY_LLVM_BRIDGE_H
#define LW_PY_LLVM_BRIDGE_H

#include <Python.h>

/* Registers everything; imports nothing. Called once, from the module's init. */
void lw_py_bridge_install(void);
/* Gives a waiting warning of the disk cache to the user as RuntimeWarning; 0, or -1 with the
 * exception set when warnings are errors. Holds the GIL. Cheap when nothing waits. */
int lw_py_cache_warn(void);

#endif

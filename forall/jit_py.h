/* The jit door: cuda.jit, lw.jit, and what belongs to them. */
#ifndef LW_FORALL_JIT_PY_H
#define LW_FORALL_JIT_PY_H

struct _object;

/* Adds Kernel, Launcher, jit, and cuda's jit, In, Out, InOut to the module. -1: exception. */
int lw_jit_register(struct _object *module);

#endif

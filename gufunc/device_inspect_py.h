/* Fills lw_gufunc_device: inspection, resources and compiling for the GPU. */
#ifndef LW_GUFUNC_DEVICE_INSPECT_PY_H
#define LW_GUFUNC_DEVICE_INSPECT_PY_H

void lw_gufunc_inspect_register(void);

#endif

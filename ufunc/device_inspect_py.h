/* Fills lw_ufunc_device: inspection, resources and compiling for the GPU. */
#ifndef LW_UFUNC_DEVICE_INSPECT_PY_H
#define LW_UFUNC_DEVICE_INSPECT_PY_H

void lw_device_inspect_register(void);

#endif

/* Strided copies and fills on the device, for DeviceArray. */
#ifndef LW_UFUNC_DEVICE_COPY_PY_H
#define LW_UFUNC_DEVICE_COPY_PY_H

#include <Python.h>

void lw_device_copy_register(void);

#endif

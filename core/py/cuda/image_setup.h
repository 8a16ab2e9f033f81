/* setup_callback and teardown_callback of cuda.LinkableCode: for each loaded image and each
 * code in it the first is called once, before any kernel of the image runs, and the second
 * once, when the image goes. */
#ifndef LW_PY_CUDA_IMAGE_SETUP_H
#define LW_PY_CUDA_IMAGE_SETUP_H

#include <Python.h>

#include "core/device/module.h"

/* Sets up one code of an image that the caller holds. A thread that comes while another one
 * does it waits, and raises what that one raised; the thread that does it passes, so that a
 * callback may launch kernels of the image. After a failure the image is retired: the next call
 * loads it again and calls the callback again. -1 with an exception. */
int lw_image_set_up(PyObject *code, lw_image *image);
/* Tears down what was set up on the device (NULL: on all), the latest first, before its images
 * are unloaded; they are retired. Exceptions of callbacks go to sys.unraisablehook. */
void lw_image_tear_down(const lw_device *device);

extern PyMethodDef lw_image_setup_functions[];

#endif

/* Settings and the disk cache for Python: what lanewise/config.py and lanewise/cache.py stand
 * on. */
#ifndef LW_PY_SETTINGS_PY_H
#define LW_PY_SETTINGS_PY_H

#include <Python.h>

int lw_settings_register(PyObject *module);

#endif

/* NumPy's ufuncs on device arrays: np.add(dev, dev) and dev + dev run lanewise's own. */
#ifndef LW_UFUNC_NUMPY_NAMES_PY_H
#define LW_UFUNC_NUMPY_NAMES_PY_H

void lw_numpy_names_register(void);

#endif

"""Numbers of Python's as operands of reductions and scans: beside arrays they adapt to the arrays' dtypes, as in NumPy. The reduction
itself does that where it gets the number; what is here is for those who make arrays of the operands before they call it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

_WEAK = frozenset((int, float, complex))


def is_weak(x: Any) -> bool:
    """Is it a number of Python's that adapts? A bool does not."""
    return type(x) in _WEAK


def strengthened(arrays: Any, dtype: Any = None) -> Any:
    """The operands, with Python's numbers as arrays of the dtype that they have beside the others and dtype=. OverflowError for an
    int that the dtype does not hold."""
    if len(arrays) < 2 or not any(map(is_weak, arrays)):
        return arrays
    strong = [_dtype_of(x) for x in arrays if not is_weak(x)] + ([] if dtype is None else [np.dtype(dtype)])
    strong = [one for one in strong if one is not None and one.kind in "biufc"]
    return [np.asarray(x, np.result_type(*strong, x)) if strong and is_weak(x) else x for x in arrays]


def _dtype_of(x: Any) -> Any:
    """Its dtype, as NumPy knows it, or None."""
    from lanewise import cuda

    dtype = getattr(x, "dtype", None)
    if isinstance(dtype, np.dtype):
        return dtype
    try:
        return cuda.as_cuda_array(x).dtype if cuda.is_cuda_array(x) else np.asarray(x).dtype
    except Exception:  # it is no array, which is told where it is read
        return None

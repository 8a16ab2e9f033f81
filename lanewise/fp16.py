"""CUDA's names for arithmetic on float16, as numba-cuda has them in `numba.cuda.fp16`: `lanewise.cuda.fp16`.

    >>> import numpy as np
    >>> import lanewise as lw
    >>> from lanewise import cuda
    >>> @lw.vectorize(target="cpu")
    ... def f(a, b, c):
    ...     return cuda.fp16.hmax(cuda.fp16.hfma(a, b, c), cuda.fp16.hsqrt(a))
    >>> f(np.float16(4), np.float16(0.5), np.float16(1))
    np.float16(3.0)

Each function is an operator, or one of NumPy's functions, of float16, to which it converts what it is given.
Names have CUDA's underscores or not: `hadd` and `__hadd`.
"""

from lanewise._core import float16
from lanewise._half import functions as _functions

_made = _functions(float16, "half")
globals().update(_made)
__all__ = sorted(_made)

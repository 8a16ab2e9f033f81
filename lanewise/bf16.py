"""CUDA's names for arithmetic on bfloat16, as numba-cuda has them in `numba.cuda.bf16`: `lanewise.cuda.bf16`.

    >>> import numpy as np
    >>> import lanewise as lw
    >>> from lanewise.cuda.bf16 import bfloat16, hadd
    >>> @lw.vectorize(target="cpu")
    ... def f(a, b):
    ...     return lw.float32(hadd(a, bfloat16(b)))
    >>> f(np.float32(1), np.float32(2.51))
    np.float32(3.515625)

Each function is an operator, or one of NumPy's functions, of bfloat16, to which it converts what it is given.
Names have CUDA's underscores or not, and CUDA's types or NumPy's: `int2bfloat16_rn` and `int32_to_bfloat16_rn`.
"""

from lanewise._core import bfloat16
from lanewise._half import functions as _functions

_made = _functions(bfloat16, "bfloat16")
globals().update(_made)
__all__ = ["bfloat16", *sorted(_made)]

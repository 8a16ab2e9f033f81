"""NumPy's numeric ufuncs and products of matrices, for host and device arrays, made with `vectorize` and `guvectorize`.

    >>> import numpy as np, lanewise as lw
    >>> lw.add(np.arange(3.0), 1)
    array([1., 2., 3.])

Each is compiled when it is first used; `lanewise.add` is `lanewise.ufuncs.add`. Results,
dtypes and errors are NumPy's, except for what the page "Differences" of the documentation lists.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from lanewise import _core, _texts, special

#: Spellings that share one function, as NumPy's own aliases do.
_ALIASES = {
    "abs": "absolute", "acos": "arccos", "acosh": "arccosh", "asin": "arcsin",
    "asinh": "arcsinh", "atan": "arctan", "atan2": "arctan2", "atanh": "arctanh",
    "bitwise_invert": "invert", "bitwise_left_shift": "left_shift", "bitwise_not": "invert",
    "bitwise_right_shift": "right_shift", "conj": "conjugate", "mod": "remainder",
    "pow": "power", "true_divide": "divide",
}

_NAMES = (
    "absolute add arccos arccosh arcsin arcsinh arctan arctan2 arctanh bitwise_and bitwise_count "
    "bitwise_or bitwise_xor cbrt ceil conjugate copysign cos cosh deg2rad degrees divide divmod "
    "equal exp exp2 expm1 fabs float_power floor floor_divide fmax fmin fmod frexp gcd greater "
    "greater_equal heaviside hypot invert isfinite isinf isnan isnat lcm ldexp left_shift less "
    "less_equal log log10 log1p log2 logaddexp logaddexp2 logical_and logical_not logical_or "
    "logical_xor maximum minimum modf multiply negative nextafter not_equal positive power "
    "rad2deg radians reciprocal remainder right_shift rint sign signbit sin sinh spacing sqrt "
    "square subtract tan tanh trunc"
).split()

#: Their values belong to the type they are computed in.
_OF_PRECISION = ("nextafter", "spacing")

#: Where the function of compiled code, np.name(...), does not say all that NumPy's ufunc does.
_SOURCES = {
    "power": """def power(x, y):
    result = np.power(x, y)
    if isinstance(result, (np.int8, np.int16, np.int32, np.int64)):
        if y < 0:
            raise ValueError("Integers to negative integer powers are not allowed.")
    return result
""",
}

#: Gufuncs: lanewise/_products.py. NumPy before 2.2 has no matvec and vecmat.
_PRODUCTS = ("matmul", "matvec", "vecdot", "vecmat")

__all__ = sorted([*_NAMES, *_ALIASES, *_PRODUCTS])

_by_numpy: dict[np.ufunc, "_core.Ufunc"] = {}


def _make(name: str) -> "_core.Ufunc":
    if name in _PRODUCTS:
        from lanewise import _products

        product = _products.make(name, __name__)
        if hasattr(np, name):
            product._stand_for(getattr(np, name))
        return product
    reference = getattr(np, name)
    parameters = ", ".join("xyz"[: reference.nin])
    source = _SOURCES.get(name, f"def {name}({parameters}):\n    return np.{name}({parameters})\n")
    scope: dict[str, Any] = {"np": np, "__name__": __name__}
    file = f"<lanewise.ufuncs.{name}>"
    function = _texts.run(source, file, scope)[name]  # with a text for where a compiled function calls it
    function.__doc__ = f"{reference.__doc__}\n\nIn lanewise: numpy.{name} for host and device arrays, with `stream=`."
    identity = reference.identity
    if identity is None and name in ("maximum", "minimum", "fmax", "fmin"):
        identity = "reorderable"
    made = _core.vectorize(source=source, identity=identity, target="auto")(function)  # whatever the setting is just now
    made._stand_for(reference)
    if name not in _OF_PRECISION:
        _declare_small(made, reference)
    return made


def _declare_small(made: "_core.Ufunc", reference: np.ufunc) -> None:
    """Where NumPy computes bool and small integers in a narrower float than compiled functions:
    8 bits in float16 (else float32), signed with unsigned 16 bits in float32 (else float64)."""
    small = [*map(np.dtype, ("?", "i1", "u1", "i2", "u2"))]
    second = [*small, *map(np.dtype, ("i4", "u4", "i8"))] if reference is np.ldexp else small
    for dtypes in itertools.product(small, *[second] * (reference.nin - 1)):
        try:
            out = reference.resolve_dtypes((*dtypes, *[None] * reference.nout))[reference.nin:]
        except TypeError:
            continue
        if out[0] == np.float16 or out[0] == np.float32 and np.result_type(*dtypes).itemsize > 2:
            made.add("".join(dtype.char for dtype in dtypes) + "->" + "".join(dtype.char for dtype in out))


def __getattr__(name: str) -> "_core.Ufunc":
    real = _ALIASES.get(name, name)
    if real not in _NAMES and real not in _PRODUCTS:
        raise AttributeError(f"module 'lanewise.ufuncs' has no attribute {name!r:.200}")
    made: "_core.Ufunc | None" = globals().get(real)
    if made is None:
        made = globals().setdefault(real, _make(real))
        if hasattr(np, real):
            _by_numpy.setdefault(getattr(np, real), made)
    globals().setdefault(name, made)
    return made


def _for_numpy(ufunc: np.ufunc) -> "_core.Ufunc | None":
    """The lanewise function that stands for a numpy.ufunc, one of scipy.special's too, or None."""
    found = _by_numpy.get(ufunc)
    if found is None and ufunc.__name__ in __all__ and getattr(np, ufunc.__name__, None) is ufunc:
        found = __getattr__(ufunc.__name__)
    return found or special._for_scipy(ufunc)


def _given_dtypes(operands: tuple[Any, ...]) -> list[Any]:
    return [type(x) if type(x) in (int, float, complex) else getattr(x, "dtype", None) or np.asarray(x).dtype for x in operands]


def _check_casts(reference: np.ufunc, operands: tuple[Any, ...], rules: tuple[Any, Any, Any]) -> None:
    """NumPy's error where its ufunc would have to cast the operands, which casting="no" and "equiv" forbid."""
    casting, dtype, signature = rules
    if signature is None and dtype is not None:
        signature = (*[None] * reference.nin, *[np.dtype(dtype)] * reference.nout)
    given, outputs = _given_dtypes(operands), [None] * reference.nout
    if all(isinstance(one, (type, np.dtype)) for one in given):
        said = {} if signature is None else {"signature": signature}  # NumPy 2.5 takes None no longer
        loop = reference.resolve_dtypes((*given, *outputs), casting="unsafe", **said)
        # as dtypes: NumPy 2.4 crashes where it refuses to cast an operand that is given as a class
        reference.resolve_dtypes((*map(np.dtype, given), *outputs), signature=loop, casting=casting)


def _check_signature(reference: np.ufunc, operands: tuple[Any, ...], signature: Any) -> None:
    """NumPy's error where its ufunc has no loop for such operands under signature=."""
    given = _given_dtypes(operands)
    if all(isinstance(one, type) or isinstance(one, np.dtype) and one.isbuiltin == 1 for one in given):
        reference.resolve_dtypes((*given, *[None] * reference.nout), signature=signature, casting="unsafe")


def __dir__() -> list[str]:
    return __all__

"""The functions of scipy.special as ufuncs of lanewise, for host and device arrays. SciPy need not be installed.

    >>> import numpy as np, lanewise as lw
    >>> lw.special.gammaln(np.array([1.0, 3.0, 100.0]))
    array([  0.        ,   0.69314718, 359.13420537])

Each is compiled when it is first used. In compiled functions both spellings can be called, `special.gammaln(x)` of SciPy and
`lw.special.gammaln(x)`; the page "Special functions" of the documentation has their list, accuracy and differences.
"""

from __future__ import annotations

import inspect
import sys
from typing import Any

from lanewise import _core

#: Spellings that share one function, as SciPy's do.
_ALIASES = {"digamma": "psi", "jn": "jv"}

#: What has another name here.
_ELSEWHERE = {"logsumexp": "lanewise.reductions.logsumexp"}

_NAMES = (
    "beta betainc betaincc betainccinv betaincinv betaln binom boxcox boxcox1p cbrt chdtr chdtrc chdtri comb cosm1 dawsn ellipe ellipk ellipkm1 entr erf erfc erfcinv erfcx "
    "erfinv exp1 exp10 exp2 expi expit expm1 expn exprel factorial fresnel gamma gammainc gammaincc gammainccinv gammaincinv gammaln gammasgn huber i0 i0e i1 i1e "
    "inv_boxcox inv_boxcox1p iv ive j0 j1 jv k0 k0e k1 k1e kl_div kn kv kve lambertw log1p log_expit log_ndtr loggamma logit ndtr ndtri pdtr pdtrc perm "
    "poch polygamma pseudo_huber psi rel_entr rgamma shichi sici sinc softplus xlog1py xlogy y0 y1 yn yv zeta zetac"
).split()

__all__ = sorted([*_NAMES, *_ALIASES])


def __getattr__(name: str) -> "_core.Ufunc":
    real = _ALIASES.get(name, name)
    if real not in _NAMES:
        there = f": call `{_ELSEWHERE[name]}`" if name in _ELSEWHERE else ""
        raise AttributeError(f"module 'lanewise.special' has no attribute {name!r:.200}{there}")
    made: "_core.Ufunc | None" = globals().get(real)
    if made is None:
        from lanewise import _special
        from lanewise._special_documents import document

        function = getattr(_special, real)
        function.__doc__ = document(real, function)
        # exact=True gives integers: another type, so it must be known when the function is compiled
        static = tuple({"exact", "repetition"} & set(inspect.signature(function).parameters))
        made = globals().setdefault(real, _core.vectorize(target="auto", static=static)(function))
    globals().setdefault(name, made)
    return made


def _for_scipy(ufunc: Any) -> "_core.Ufunc | None":
    """The lanewise function that stands for a ufunc of scipy.special, or None."""
    scipy = sys.modules.get("scipy.special")
    name = ufunc.__name__
    return __getattr__(name) if scipy is not None and name in __all__ and getattr(scipy, name, None) is ufunc else None


def __dir__() -> list[str]:
    return __all__

"""Functions of scipy.special at infinities, NaN and the borders of float64."""

from __future__ import annotations

import math

import numpy as np
import pytest

import lanewise as lw

INF = math.inf

LIMITS = [
    ("poch", (50.0, INF), INF), ("poch", (1e300, INF), INF), ("poch", (INF, -0.5), 0.0), ("poch", (INF, 0.5), INF), ("poch", (-INF, math.nan), math.nan),
    ("poch", (-INF, 0.5), math.nan), ("beta", (-0.5, INF), -INF), ("beta", (INF, -1.5), INF), ("beta", (-0.5, 1e300), -3.5449077018110322e150),
    ("beta", (1e300, -0.5), -3.5449077018110322e150), ("beta", (-2.0, -INF), INF), ("beta", (-2.0, -1.0), -INF), ("beta", (INF, INF), 0.0), ("beta", (math.nan, 0.0), math.nan),
    ("betaln", (-0.5, INF), INF), ("betaln", (INF, 2.0), -INF), ("betaln", (-2.0, math.nan), math.nan), ("binom", (-0.5, 1e300), 5.641895835477563e-151),
    ("binom", (1e300, 0.5), 1.1283791670955126e150), ("binom", (1e40, 3.0), 1e120 / 6), ("binom", (INF, -50.5), 0.0), ("binom", (0.5, INF), 0.0),
    ("binom", (-50.5, INF), math.nan), ("zeta", (math.nan, 0.0), math.nan), ("kv", (math.nan, 0.0), math.nan), ("boxcox1p", (0.0, INF), math.nan),
    ("boxcox1p", (-0.5, INF), 0.0), ("betaincinv", (0.5, INF, 0.0), 0.0), ("betaincinv", (INF, 2.0, 1.0), 1.0), ("betainccinv", (INF, 2.0, 1.0), 0.0),
    ("betaincinv", (INF, 2.0, 0.5), math.nan),
]  # fmt: skip


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name, arguments, wanted", LIMITS, ids=lambda value: value if isinstance(value, str) else "")
def test_limits(name, arguments, wanted):
    assert float(getattr(lw.special, name)(*arguments)) == pytest.approx(wanted, rel=2e-13, abs=0, nan_ok=True)


FLAGS = [
    ("invalid", "gamma", (-2.0,)), ("invalid", "gamma", (-INF,)), ("invalid", "psi", (-1.0,)), ("invalid", "k0", (-1.0,)), ("invalid", "y1", (-1e30,)), ("invalid", "erfinv", (1.5,)),
    ("invalid", "ndtri", (-0.5,)), ("invalid", "gammainc", (-1.0, 2.0)), ("invalid", "betainc", (1.0, 2.0, 1.5)), ("invalid", "zeta", (0.5, 2.0)), ("invalid", "binom", (-3.0, 1.5)),
    ("invalid", "jv", (0.5, -1.0)), ("invalid", "kve", (INF, 1.0)), ("invalid", "expn", (2, -1.0)), ("invalid", "ellipk", (2.0,)), ("invalid", "loggamma", (-0.5,)),
    ("invalid", "pdtr", (-1.0, 2.0)), ("invalid", "gammaincinv", (2.0, -0.5)), ("invalid", "betaincinv", (2.0, 1.0, 2.0)), ("divide", "gamma", (0.0,)), ("divide", "psi", (0.0,)),
    ("divide", "zeta", (1.0,)), ("divide", "zeta", (2.0, -3.0)), ("divide", "k1", (0.0,)), ("divide", "yn", (2, 0.0)), ("divide", "yv", (0.5, 0.0)), ("divide", "kv", (0.5, 0.0)),
    ("divide", "beta", (-2.0, 0.5)), ("divide", "exp1", (0.0,)), ("divide", "expi", (0.0,)), ("divide", "ellipkm1", (0.0,)), ("divide", "erfinv", (1.0,)), ("divide", "ndtri", (0.0,)),
    ("over", "gamma", (200.0,)), ("over", "rgamma", (-250.5,)), ("over", "i0", (900.0,)), ("over", "iv", (300, 1e9)), ("over", "kv", (300.5, 1e-9)), ("over", "poch", (1e5, 1e5 + 0.5)),
]  # fmt: skip


@pytest.mark.parametrize("flag, name, arguments", FLAGS, ids=lambda value: value if isinstance(value, str) else "")
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_flags(flag, name, arguments, dtype):
    """If finite arguments give NaN or an infinity, errstate decides what happens; NaN of NaN is silent."""
    function, arguments = getattr(lw.special, name), [dtype(x) for x in arguments]
    with np.errstate(**{**dict.fromkeys(("over", "divide", "invalid", "under"), "ignore"), flag: "raise"}):
        with pytest.raises(FloatingPointError):
            function(*arguments)
    with np.errstate(all="raise", under="ignore"):
        if name != "yn":
            assert math.isnan(function(*[*arguments[:-1], dtype(math.nan)]))
        assert np.isfinite(function(*[dtype(0.5)] * len(arguments)) if name not in ("yn", "zeta", "expn") else 1.0)


@pytest.mark.parametrize("name, arguments", [("gammaln", (1j,)), ("lambertw", (1 + 1j,)), ("jv", (2, np.array([1j]))), ("jv", (1j, 2.0))])
def test_complex_arguments(name, arguments):
    with pytest.raises(lw.errors.TypingError, match=f"`lanewise.special.{name}` needs a real number") as caught:
        getattr(lw.special, name)(*arguments)
    text = str(caught.value)
    assert "complex arguments are not supported" in text and "_special.py" not in text


def test_complex_argument_in_compiled_code():
    @lw.vectorize
    def f(x):
        return lw.special.gammaln(x)

    with pytest.raises(lw.errors.TypingError, match="`lanewise.special.gammaln` needs a real number") as caught:
        f(1j)
    assert "test_special_limits.py" in str(caught.value) and "return lw.special.gammaln(x)" in str(caught.value)
    assert float(f(3.0)) == math.log(2.0)


def test_sinc():
    x = np.array([-1.5, 0.0, 0.25, 1.0])
    assert np.allclose(lw.special.sinc(x), np.sinc(x), rtol=1e-15, atol=1e-16)
    assert lw.special.sinc(np.float32(0.5)).dtype == np.float32
    assert lw.special.sinc(0.5 + 1j) == pytest.approx(np.sinc(0.5 + 1j), rel=1e-14)
    assert lw.vectorize(lambda x: lw.special.sinc(x))(0.5) == lw.special.sinc(0.5)


def test_logsumexp_is_elsewhere():
    special = pytest.importorskip("scipy.special")
    with pytest.raises(AttributeError, match="lanewise.reductions.logsumexp"):
        lw.special.logsumexp
    with pytest.raises(lw.errors.CompileError, match="lanewise.reductions.logsumexp"):
        lw.vectorize(lambda x: special.logsumexp(x))(1.0)

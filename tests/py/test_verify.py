"""lw.verify: what it compares, what it finds, what it leaves alone. Differences are made with functions
whose Python and compiled meaning are not the same, because compiled code is right."""

import math

import numpy as np
import pytest

import lanewise as lw
from lanewise import _verify, cuda


@lw.vectorize
def polynomial(x, y):
    return x * y + x


@lw.vectorize
def waves(x):
    return math.sin(x) * math.exp(-x) + x**2.5


@lw.guvectorize("(n),(n)->()")
def dot(a, b, out):
    total = 0.0
    for i in range(a.size):
        total += a[i] * b[i]
    out[0] = total


total = lw.reduce(lambda a, b: a + b)


@lw.forall
def saxpy(i, a, x, y):
    y[i] = a * x[i] + y[i]


@cuda.jit
def shifted(x, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[(i + 1) % x.size] * 2.0


RNG = np.random.default_rng(5)
X = RNG.standard_normal(3000)


@pytest.mark.parametrize("dtype", ["f4", "f8", "i4", "u1", "c8", "f2"])
def test_arithmetic_has_the_same_bits(dtype):
    x = (X * 10).astype(dtype)
    report = lw.verify(polynomial, x, x[::-1])
    assert report.ok and report.worst_ulp == 0 and report.n_checked == 2 * x.size and len(report.compared) == 2


def test_functions_stay_within_their_bounds():
    report = lw.verify(waves, np.abs(X))
    assert report.ok and 0 < report.worst_ulp <= report.allowed_ulp


def test_a_sample_is_drawn():
    report = lw.verify(polynomial, np.arange(100_000.0).reshape(200, 500), np.arange(500.0), sample=700)
    assert report.ok and 2 * 500 < report.n_checked <= 2 * 700


def test_every_kind_of_function():
    x, y = X.copy(), X[::-1].copy()
    for report in (
        lw.verify(dot, X.reshape(30, 100), X[:100]), lw.verify(total, X), lw.verify(total, X.reshape(30, 100), axis=0),
        lw.verify(saxpy, X.size, 2.0, x, y), lw.verify(shifted[20, 160], x, y, target="cpu"), lw.verify(shifted.forall(X.size), x, y, target="cpu"),
        lw.verify(lw.add, X, 1), lw.verify(polynomial, X, 2.0, out=y), lw.verify(polynomial, X, X, where=X > 0),
        lw.verify(polynomial, 2.0, 3), lw.verify(lw.divmod, np.arange(9), 4),
    ):
        assert report.ok and report.n_checked > 0, report


def test_arguments_stay_as_they_are():
    x, y = X.copy(), X[::-1].copy()
    kept = y.copy()
    lw.verify(saxpy, X.size, 2.0, x, y)
    lw.verify(shifted[20, 160], x, y, target="cpu")
    lw.verify(polynomial, x, x, out=y)
    lw.verify(polynomial, x, x, y)
    np.testing.assert_array_equal(y, kept)


def test_views_of_one_array_stay_so():
    base = np.arange(1001.0)
    kept = base.copy()

    @lw.forall
    def smooth(i, x, out):
        out[i] = x[i] + 1.0

    assert lw.verify(smooth, 500, base[:500], base[1:501], target="cpu").n_checked
    np.testing.assert_array_equal(base, kept)


@pytest.fixture
def wrong(monkeypatch):
    """A context in which code without optimisation is that of another function, which gives more for numbers above 1."""
    other = lw.vectorize(lambda x: x + (1.5 if x > 1 else 1.0))
    twin = _verify._twin
    monkeypatch.setattr(_verify, "_twin", lambda made, **changed: twin(other if changed.get("opt") is False else made, **changed))


@lw.vectorize
def increased(x):
    return x + 1.0


def test_a_difference_is_described(wrong):
    report = lw.verify(increased, X)
    at = int(np.flatnonzero(X > 1)[0])
    one = report.differences[0]
    assert not report.ok and not report and report.n_different == int((X > 1).sum()) == len(report.differences)
    assert one.index == (at,) and one.got == X[at] + 1.0 and one.expected == X[at] + 1.5 and one.inputs == (X[at],)
    assert report.worst_ulp >= one.ulp > 1e9 and report.allowed_ulp == 0
    assert f"increased DIFFERS in {report.n_different}" in repr(report) and f"result[{at}]: got" in repr(report)


def test_a_difference_is_raised(wrong):
    with pytest.raises(lw.verify.Mismatch, match=r"increased DIFFERS in \d+") as caught:
        lw.verify(increased, X, raise_=True)
    assert caught.value.report.n_different == int((X > 1).sum()) and isinstance(caught.value, lw.LanewiseError)
    assert lw.verify(increased, X, raise_=True, ulp=1e18).ok


def test_nan_equals_nan_and_nothing_else(monkeypatch):
    x = np.array([1.0, np.nan, np.inf, -0.0, 0.0])
    assert lw.verify(lw.vectorize(lambda x: x * np.inf), x).ok
    other = lw.vectorize(lambda x: x + np.nan)
    twin = _verify._twin
    monkeypatch.setattr(_verify, "_twin", lambda made, **changed: twin(other if changed.get("opt") is False else made, **changed))
    report = lw.verify(increased, x, ulp=1e18)
    assert report.n_different == 4 and math.isinf(report.worst_ulp)


def test_python_is_the_second_opinion(monkeypatch):
    """What compiled code and Python understand differently is found, though the optimiser has no part in it."""

    @lw.vectorize
    def typed(x):
        return x + (1.0 if KIND == "compiled" else 2.0)

    assert lw.verify(typed, X).ok
    run = _verify._in_python
    monkeypatch.setattr(_verify, "_in_python", lambda runner: run(lw.vectorize(lambda x: x + 2.0)))
    assert lw.verify(typed, X).n_different == X.size


KIND = "compiled"


def test_exceptions_of_python_are_told():
    report = lw.verify(lw.vectorize(lambda x: math.log(x)), np.array([0.0, 1.0]))
    assert report.ok and "Python raises ValueError" in repr(report)


def test_long_calls_leave_python_out():
    compared = lw.verify(saxpy, X.size, 2.0, X, X.copy(), sample=X.size - 1).compared
    assert len(compared) == 2 and "left out" in compared[1]


@pytest.mark.parametrize("function", [math.sin, np.sin, None, lambda x: x])
def test_other_functions_are_refused(function):
    with pytest.raises(TypeError, match="takes a function made by vectorize"):
        lw.verify(function, X)


@pytest.mark.parametrize("options, error, text", [
    ({"sample": 0}, ValueError, "at least 1"), ({"sample": 1.5}, TypeError, "must be an int"), ({"sample": True}, TypeError, "must be an int"),
    ({"target": "gpu"}, ValueError, "'cpu' or 'cuda'"), ({"ulp": -1}, ValueError, "not negative"), ({"ulp": "1"}, ValueError, "not negative"),
])
def test_bad_options(options, error, text):
    with pytest.raises(error, match=text):
        lw.verify(polynomial, X, X, **options)


def test_errors_of_the_function_come_through():
    with pytest.raises(ValueError, match="negative"):
        lw.verify(asserting, -np.ones(3))
    with pytest.raises(TypeError):
        lw.verify(polynomial, X)


@lw.vectorize
def asserting(x):
    if x < 0:
        raise ValueError("negative")
    return x


def test_records_and_complex_numbers():
    records = np.zeros(50, [("a", "f4"), ("b", "i8", (2,))])
    records["a"] = X[:50]

    @lw.forall
    def fill(i, r):
        r[i].a = r[i].a * 3
        r[i].b[1] = i

    assert lw.verify(fill, 50, records).ok and records["b"].sum() == 0
    assert lw.verify(lw.vectorize(lambda z: z * z + np.exp(z)), X[:500] + 1j * X[500:1000]).ok


def test_device_arrays_are_computed_again_on_the_host():
    """With the arrays that stand in for device arrays where there is no GPU."""
    with lw.config(target="cpu"):
        x = cuda.to_device(X)
        report = lw.verify(polynomial, x, x)
        assert report.ok and report.n_checked == 2 * X.size


@lw.guvectorize("(),()->()")
def scaled(x, n):
    return x * n


def test_layouts_without_axes():
    report = lw.verify(scaled, X[:50], 2)
    assert report.ok and report.n_checked == 100
    assert lw.verify(scaled, X[:8].reshape(2, 4), X[:4]).ok

"""Functions of scipy.special in compiled code: accuracy against mpmath, special values and types as SciPy has them, every generator,
code for GPUs, errors."""

from __future__ import annotations

import importlib.util
import inspect
import itertools
import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import lanewise as lw
from source_tree import rows

scipy_special = pytest.importorskip("scipy.special", reason="SciPy has wheels for some Pythons only")
pytest.importorskip("mpmath")

ROOT = Path(__file__).resolve().parents[2]


def load(name):
    spec = importlib.util.spec_from_file_location(f"special_{name}", ROOT / "tests" / "special" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


reference = load("reference")
UFUNCS = [name for name in lw.special.__all__ if name not in ("digamma", "jn")]
#: Names whose first argument is an order.
ORDERS = {"jv", "yn", "yv", "iv", "ive", "kn", "kv", "kve", "expn", "polygamma"}


def of_scipy(name):
    return getattr(scipy_special, name)


def n_arguments(name):
    return len([p for p in inspect.signature(lw.special.__getattr__(name).py_func).parameters.values() if p.default is inspect.Parameter.empty])


# ---- accuracy ----


@pytest.mark.parametrize("dtype", [np.float64, np.float32], ids=["f8", "f4"])
@pytest.mark.parametrize("name", reference.CASES)
def test_accuracy(name, dtype, request):
    n = 10000 if request.config.getoption("--thorough") else 40
    with np.errstate(all="ignore"):
        worst, _, at, done = reference.errors(name, dtype, n, 600 if n > 40 else 20, seed=7)
    assert worst <= reference.bound(name, dtype), at
    assert done > 20


def test_every_function_has_a_reference():
    assert set(UFUNCS) == {*map(reference.function, reference.CASES), *reference.SAME, *reference.EXACT, *reference.COMPLEX}


@pytest.mark.parametrize("name", reference.SAME)
def test_same(name):
    rng = np.random.default_rng(1)
    arguments = [reference.draw(rng, *where, 200, np.float64) for where in reference.CASES[reference.SAME[name]][2]]
    assert np.array_equal(getattr(lw.special, name)(*arguments), getattr(lw.special, reference.SAME[name])(*arguments), equal_nan=True)


# ---- special values ----

EDGES = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0, 3.0, -3.0, 10.5, -10.5, 100.0, -100.0, 1e-300, -1e-300, 1e-10, 800.0, -800.0, np.inf, -np.inf, np.nan]
#: Where SciPy's value is not the limit or overflows: (name, a condition on the arguments).
UNLIKE = {
    "pdtr": lambda k, m: np.isnan(k), "pdtrc": lambda k, m: np.isnan(k), "iv": lambda v, z: np.isinf(z) | (np.abs(z) < 1e-200), "ive": lambda v, z: np.isinf(z) | (np.abs(z) >= 800), "jv": lambda v, z: np.isinf(z), "yn": lambda v, z: np.isinf(z), "yv": lambda v, z: np.isinf(z),
    "i0": np.isinf, "i1": np.isinf, "j0": np.isinf, "j1": np.isinf, "y0": np.isinf, "y1": np.isinf, "kve": lambda v, z: np.isinf(z),
    "fresnel": lambda z: np.abs(z) > 1e8, "zetac": lambda x: x > 100, "kl_div": lambda x, y: np.isinf(x) | np.isinf(y),
    "rel_entr": lambda x, y: np.isinf(x) & np.isinf(y),
    "pseudo_huber": lambda d, r: np.isinf(d) | np.isinf(r) | (np.abs(d) < 1e-200),
    "chdtri": lambda v, p: v == 0, "gammaincinv": lambda a, y: (a == 0) | (y < 0), "gammainccinv": lambda a, y: (a == 0) | (y < 0) | (y > 1),
    "betaincinv": lambda a, b, y: np.isinf(a) | np.isinf(b) | (a + b == 2e-10), "betainccinv": lambda a, b, y: np.isinf(a) | np.isinf(b) | (a + b == 2e-10),
    "betainc": lambda a, b, x: np.isinf(a) | np.isinf(b), "betaincc": lambda a, b, x: np.isinf(a) | np.isinf(b),
}


def edges(name):
    n = n_arguments(name)
    if n == 3:
        return [np.array(x) for x in zip(*itertools.product([0.0, 1.0, 0.5, 3.0, -1.0, 1e-10, 50.0, 1e5, np.inf, np.nan], [0.0, 1.0, 0.5, 7.0, 1e-10, 80.0, 1e5, np.inf, np.nan], [0.0, 1.0, 0.5, 0.99, 1e-10, -0.5, 1.5, np.nan]))]
    if n == 1:
        return [np.array(EDGES)]
    orders = [0.0, 1.0, 2.0, 3.0, 10.0, -1.0, -2.0] if name in ORDERS else EDGES
    return [np.array(x) for x in zip(*itertools.product(orders, EDGES))]


@pytest.mark.parametrize("name", [name for name in UFUNCS if name not in (*reference.COMPLEX, "binom", "comb", "perm", "poch", "beta", "betaln", "huber", "polygamma", "expn", "boxcox", "boxcox1p", "inv_boxcox", "inv_boxcox1p")])
def test_special_values(name):
    arguments = edges(name)
    with np.errstate(all="ignore"):
        got, wanted = getattr(lw.special, name)(*arguments), of_scipy(name)(*arguments)
    for one, other in zip(got if isinstance(got, tuple) else (got,), wanted if isinstance(wanted, tuple) else (wanted,)):
        good = np.isclose(one, other, rtol=1e-11, atol=1e-307, equal_nan=True)
        if name in UNLIKE:
            good |= UNLIKE[name](*arguments)
        assert good.all(), [(*(a[i] for a in arguments), one[i], other[i]) for i in np.flatnonzero(~good)[:8]]


@pytest.mark.parametrize("name", ["binom", "comb", "perm", "poch", "beta", "betaln", "huber", "polygamma", "expn", "boxcox", "boxcox1p", "inv_boxcox", "inv_boxcox1p"])
def test_special_values_of_finite_arguments(name):
    arguments = edges(name)
    finite = np.isfinite(arguments[0]) & np.isfinite(arguments[1]) & (np.abs(arguments[1]) < 500) & (np.abs(arguments[0]) < 500)
    if name == "binom":
        finite &= (arguments[0] != 0) | (np.abs(arguments[1]) > 1e-200)  # SciPy: NaN
    if name == "poch":
        finite &= np.abs(arguments[1]) > 1e-200  # SciPy: NaN where the first one is a negative integer
    if name == "polygamma":
        with np.errstate(invalid="ignore"):
            half_way = (arguments[1] < 0) & (arguments[1] % 1 == 0.5) & (arguments[0] % 2 == 0)
        finite &= (arguments[0] >= 0) & ~half_way  # SciPy: what cancellation leaves
    arguments = [a[finite] for a in arguments]
    with np.errstate(all="ignore"):
        got, wanted = getattr(lw.special, name)(*arguments), of_scipy(name)(*arguments)
    good = np.isclose(got, wanted, rtol=1e-9, atol=1e-300, equal_nan=True)
    assert good.all(), [(*(a[i] for a in arguments), got[i], wanted[i]) for i in np.flatnonzero(~good)[:12]]


def test_signs_of_gamma():
    x = np.array([-2.5, -2.0, -0.5, 0.0, -0.0, 3.0, np.nan, np.inf, -np.inf])
    assert np.array_equal(lw.special.gammasgn(x), scipy_special.gammasgn(x), equal_nan=True)


# ---- types ----


@pytest.mark.parametrize("dtype, wanted", [("f4", "f4"), ("f8", "f8"), ("f2", "f8"), ("i1", "f8"), ("i8", "f8"), ("?", "f8"), ("u2", "f8")])
@pytest.mark.parametrize("name", ["gammaln", "erf", "expit", "psi", "j0", "factorial", "ndtri", "sici"])
def test_type_of_the_result(name, dtype, wanted):
    got = getattr(lw.special, name)(np.ones(2, dtype))
    assert (got[0] if isinstance(got, tuple) else got).dtype == wanted


def test_python_numbers_are_weak():
    @lw.vectorize
    def f(x):
        return scipy_special.gammainc(2, x) + scipy_special.jv(1, x) * scipy_special.xlogy(2.0, x)

    assert f(np.float32(1.5)).dtype == np.float32
    assert f(1.5).dtype == np.float64


# ---- generators, spellings ----

X = np.linspace(0.25, 5.0, 9)


def test_vectorize_by_every_spelling():
    from scipy import special
    from scipy.special import digamma, gammaln, sici

    @lw.vectorize
    def f(x):
        si, ci = sici(x)
        return special.gammaln(x) + gammaln(x) + lw.special.gammaln(x) + digamma(x) + lw.special.digamma(x) + si * ci

    si, ci = sici(X)
    assert np.allclose(f(X), 3 * gammaln(X) + 2 * digamma(X) + si * ci, rtol=1e-13)


def test_guvectorize_reduce_forall_jit():
    special = scipy_special

    @lw.guvectorize("(n)->(n)")
    def rows_of(x, out):
        special.erfcx(x, out)

    @lw.guvectorize("(n),()->(n)")
    def rows_of_two(x, a, out):
        special.gammainc(a, x, out=out)

    @lw.forall
    def each(i, x, out):
        out[i] = special.j0(x[i]) + special.y1(x[i])

    @lw.jit
    def total(x):
        s = 0.0
        for v in x:
            s += special.ndtr(v)
        return s

    out = np.empty_like(X)
    each(X.size, X, out)
    assert np.allclose(rows_of(X), special.erfcx(X), rtol=1e-14)
    assert np.allclose(rows_of_two(X, 2.5), special.gammainc(2.5, X), rtol=1e-13)
    assert np.allclose(out, special.j0(X) + special.y1(X), rtol=1e-12)
    assert np.isclose(total(X), special.ndtr(X).sum(), rtol=1e-14)
    reduction = lw.reduce(map=lambda x: special.gammaln(x), combine=lambda a, b: a + b, identity=0.0)
    assert np.isclose(reduction(X), special.gammaln(X).sum(), rtol=1e-14)


def test_kernel_on_the_simulator():
    special = scipy_special

    @lw.cuda.jit(target="cpu")
    def kernel(x, out):
        i = lw.cuda.grid(1)
        if i < x.size:
            out[i] = special.betainc(2.0, 3.0, x[i] / 6.0)

    out = np.empty_like(X)
    kernel[1, 32](X, out)
    assert np.allclose(out, special.betainc(2.0, 3.0, X / 6.0), rtol=1e-13)


def test_keywords_of_functions():
    special = scipy_special

    @lw.vectorize
    def f(n, k):
        return special.comb(n, k, exact=True) + special.comb(n, k, exact=True, repetition=True) + special.factorial(k, exact=True) + special.perm(n, k, exact=True)

    assert f(7, 3) == special.comb(7, 3, exact=True) + special.comb(7, 3, exact=True, repetition=True) + 6 + 210
    assert np.allclose(lw.special.zeta(2.5, np.arange(1, 5)), special.zeta(2.5, np.arange(1, 5)), rtol=1e-14)


def test_exact_integers_from_python():
    """They are int64, not floats that were rounded; exact= is known when the function is compiled."""
    for result, expected in ((lw.special.comb(60, 30, exact=True), math.comb(60, 30)), (lw.special.perm(18, 9, exact=True), math.perm(18, 9)),
                             (lw.special.factorial(20, exact=True), math.factorial(20)), (lw.special.comb(60, 3, exact=True, repetition=True), math.comb(62, 3))):
        assert result.dtype == np.int64 and int(result) == expected
    assert lw.special.factorial(np.arange(5), exact=True).tolist() == [1, 1, 2, 6, 24]
    for n in (-2, 0, 1, 5):  # with repetition, there is one way to choose nothing from nothing
        for k in (-1, 0, 1, 2):
            assert lw.special.comb(n, k, exact=True, repetition=True) == (math.comb(n + k - 1, k) if n > 0 and k > 0 else int(k == 0 and n >= 0))
    assert lw.special.comb(np.array([0, 0, 2, 0.5]), np.array([0, 1, 0, 2.0]), repetition=True).tolist() == [1, 0, 1, 0.375]
    assert lw.special.comb(5, 2).dtype == np.float64 and lw.special.comb(5, 2, repetition=True) == 15
    with pytest.raises(OverflowError, match="int64"):
        lw.special.comb(70, 35, exact=True)
    for call in (lambda: lw.special.comb(5.5, 2, exact=True), lambda: lw.special.perm(5, 2.5, exact=True), lambda: lw.special.factorial(np.array([1.0, np.nan]), exact=True)):
        with pytest.raises(ValueError, match="where exact=True"):
            call()


def test_parameters_are_scipys():
    for name in ("comb", "perm", "factorial", "zeta", "polygamma", "softplus"):
        ours = inspect.signature(getattr(lw.special, name).py_func).parameters
        theirs = inspect.signature(of_scipy(name)).parameters
        for parameter in ours.values():
            assert parameter.name in theirs or "kwargs" in theirs
            assert parameter.kind == theirs[parameter.name].kind if parameter.name in theirs else True


def test_ufuncs_of_scipy_find_ours():
    assert lw.ufuncs._for_numpy(scipy_special.gammaln) is lw.special.gammaln
    assert lw.ufuncs._for_numpy(scipy_special.digamma) is lw.special.psi
    assert lw.ufuncs._for_numpy(scipy_special.hyp2f1) is None
    assert lw.ufuncs._for_numpy(np.exp2) is lw.ufuncs.exp2
    assert lw.ufuncs._for_numpy(scipy_special.exp2) is lw.special.exp2


def test_without_scipy(tmp_path):
    program = "import sys; sys.modules['scipy'] = None; import lanewise as lw; print(lw.special.gammaln(3.0), lw.special.erf.__doc__.splitlines()[0])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=tmp_path)
    assert done.stdout == "0.6931471805599453 erf(x): the error function, as scipy.special.erf.\n", done.stderr


# ---- code for GPUs ----


@pytest.mark.parametrize("name", UFUNCS)
@pytest.mark.parametrize("target", ["sm_75", "sm_90"])
def test_code_for_gpus(name, target):
    function = getattr(lw.special, name).py_func
    for letter in ("f8", "f4"):
        if letter == "f4" and (target == "sm_75" or name.endswith("inv")):  # computed in float64
            continue
        code = lw.compile(function, f"({', '.join([letter] * n_arguments(name))})", target=target, output="cubin")
        code = code[0] if isinstance(code, tuple) else code
        assert bytes(code[:4]) == b"\x7fELF"
        assert len(code) < 800_000  # parts that are called several times are there once


def test_large_functions_are_compiled_once():
    special = scipy_special

    @lw.vectorize("f8(f8, f8)", target="cpu")
    def difference(x, y):
        return special.ndtr(x) - special.ndtr(y)

    @lw.vectorize("f8(f8)", target="cpu")
    def once(x):
        return special.ndtr(x)

    @lw.vectorize("f8(f8, f8)", target="cpu")
    def elementary(x, y):
        return special.expit(x) - special.expit(y)

    def calls(f):
        lines = str(f.inspect_llvm()).replace("\\n", "\n").splitlines()
        return [line.split("(")[0].rpartition("_")[2] for line in lines if line.startswith("define internal") and "noinline" in line]

    assert calls(difference) == ["ndtr"]
    assert calls(once) == [] and calls(elementary) == []
    assert np.allclose(difference(X, 2 * X), special.ndtr(X) - special.ndtr(2 * X), rtol=1e-12)


# ---- errors ----


def said(f, *arguments):
    with pytest.raises(lw.errors.LanewiseError) as caught:
        f(*arguments)
    return str(caught.value)


def test_missing_names_are_told():
    from scipy import special

    text = said(lw.vectorize(lambda x: special.ellipkinc(x, 0.5)), 1.0)
    assert "E152" in text and "scipy.special.ellipkinc" in text and "ellipk" in text and "docs/special.md" in text
    text = said(lw.vectorize(lambda x: special.factorialk(x, 2)), 1.0)
    assert "E152" in text and "factorial" in text
    with pytest.raises(AttributeError, match="lanewise.special"):
        lw.special.nothing


def test_wrong_arguments():
    from scipy import special

    text = said(lw.vectorize(lambda x: special.gammaln(x)), 1 + 2j)
    assert "needs a real number" in text and "complex arguments are not supported" in text
    text = said(lw.guvectorize("(n)->(n)")(_whole_array), X)
    assert "needs a real number" in text and "special.gammaln(x, out)" in text
    assert "E153" in said(lw.vectorize(lambda x: special.gammaln(x, x, x)), 1.0)
    with pytest.raises(ValueError, match="takes integers as orders"):
        lw.vectorize(lambda x: special.yn(0.5, x))(1.0)


def _whole_array(x, out):
    out[:] = scipy_special.gammaln(x)


# ---- the table, the polynomials ----


def test_table_is_complete():
    named = {name.strip('"') for owner, name, *_ in rows("array_functions", "ARRAY_FUNCTION") if owner == "SPECIAL"}
    assert {of_scipy(name).__name__ for name in lw.special.__all__ if name != "sinc"} <= named  # which is NumPy's
    assert all(hasattr(scipy_special, name) for name in named)


def test_polynomials_are_those_of_the_script(capsys):
    fit = load("fit")
    text = (ROOT / "lanewise" / "_special_fits.py").read_text(encoding="utf-8")
    psi = fit.mp.findroot(fit.mp.digamma, fit.mp.mpf("1.4616321"))
    assert fit.pieces("digamma_12", fit.mp.digamma, 1, 2, zeros=[psi]) in text
    assert fit.pieces("atanh_rest", fit.entire(lambda k: fit.ONE / (2 * k + 3)), 0, fit.ONE / 9) in text

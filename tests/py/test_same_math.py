"""math="same": within one unit in the last place of float64, float32 correctly rounded, no function of a target's own
left, and the same bits wherever a value stands. tests/same_math has the full runs over all float32 inputs."""

from __future__ import annotations

import math
import os
import pickle
import re
import subprocess
import sys

import numpy as np
import pytest

import lanewise as lw
from lanewise import _core, _same_math, _verify, cuda
from source_tree import ROOT, read

pytest.importorskip("mpmath", reason="the reference")
sys.path.insert(0, str(ROOT / "tests" / "same_math"))
import double  # noqa: E402
import single  # noqa: E402

NAMES = sorted(_same_math.FUNCTIONS)
ARCHITECTURES = ["sm_75", "sm_90", "sm_120"]
# what math and numpy call them: (text, dtypes of the operands)
TEXTS = [f"math.{name}(x)" for name in ("sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh exp exp2 expm1 log log2 log10 log1p sqrt cbrt erf erfc gamma "
                                        "lgamma degrees radians").split() if hasattr(math, name)]
TEXTS += [f"np.{name}(x)" for name in ("sin cos tan arcsin arccos arctan sinh cosh tanh arcsinh arccosh arctanh exp exp2 expm1 log log2 log10 log1p sqrt cbrt "
                                       "sinc deg2rad").split()]
TEXTS += ["math.atan2(x, y)", "math.pow(x, y)", "math.hypot(x, y)", "math.fmod(x, y)", "math.log(x, y)", "math.dist((x, y), (1.0, 2.0))", "x**y", "x**2.5", "x**3",
          "np.power(x, y)", "np.arctan2(x, y)", "np.hypot(x, y)", "np.logaddexp(x, y)", "np.logaddexp2(x, y)", "np.float_power(x, y)", "cuda.cbrt(x)", "cuda.rsqrt(x)",
          "cuda.libdevice.exp(lw.float64(x))", "abs(complex(x, y))"]


EXACT = {"__nv_fmod", "__nv_fmodf", "__nv_rint", "__nv_rintf"}


def made(text, **options):
    parameters = "x, y" if re.search(r"\by\b", text) else "x"
    return lw.vectorize(eval(f"lambda {parameters}: {text}", {"math": math, "np": np, "cuda": cuda, "lw": lw}), source=f"lambda {parameters}: {text}", **options)


def signature(text, dtype):
    return f"({dtype}, {dtype})" if re.search(r"\by\b", text) else f"({dtype})"


@pytest.mark.parametrize("name", NAMES)
def test_float64_is_within_one_unit(name):
    worst, where, n = double.check(name, 400, 7)
    assert n >= 200 and worst < 0.8, where


@pytest.mark.parametrize("x, y, wanted", [
    (1.007828565878682, 81413.54338912951, 5.2517342326787214e275), (1.0078344214995851, -90160.82373950515, 2.6797620715672144e-306),
    (0.9960234828134477, 175198.64781846866, 6.797603899917672e-304), (1.0078611280676404, 90618.12074149784, 1.460899902847061e308),
])  # fmt: skip
def test_powers_of_numbers_near_1(x, y, wanted):
    """The logarithm's error is multiplied by up to 709: it was 2**-63 of the logarithm."""
    assert abs(float(double.compiled("pow")(x, y)) - wanted) <= math.ulp(wanted)
    assert float(double.compiled("pow")(1.007828565878682, 81413.54338912951)) == 5.2517342326787214e275


@pytest.mark.parametrize("name", NAMES)
def test_special_values(name):
    assert double.check_special(name) == []


@pytest.mark.parametrize("name", NAMES)
def test_float32_is_correctly_rounded(name):
    """Some 65,000 of the 2^32 inputs are tested, or pairs of inputs."""
    flags = single.flagging(name, single.NEAR.get(name, 8))
    if name in single.BINARY:
        (operands,) = single.pairs(50_000, 3)
        assert single.wrong_of(name, flags(*operands), operands) == []
        return
    bits = np.arange(11, 1 << 32, 65_521, dtype=np.uint64).astype(np.uint32)
    assert single.wrong_of(name, flags(bits), [bits.view(np.float32)]) == []


@pytest.mark.parametrize("name", sorted(_same_math.EXCEPTIONS))
def test_listed_inputs(name):
    bits = np.array([wrong for wrong, _ in _same_math.EXCEPTIONS[name]], np.uint32)
    assert single.wrong_of(name, single.flagging(name, 8)(bits), [bits.view(np.float32)]) == []


def test_verify_allows_no_distance():
    report = lw.verify(made("math.sin(x) * math.exp(x)", math="same"), X, sample=300)
    assert report.compared[0].startswith("CPU: optimised against unoptimised code") and report.ok
    (pair,) = [pair for pair in _verify._pairs(_verify._Subject(made("math.sin(x)", math="same")), False) if not pair.in_python]
    assert _verify._allowed(_verify._Subject(made("math.sin(x)", math="same")), True, pair.in_python) == {4: 0.0, 8: 0.0}


def test_every_function_with_a_bound_is_there():
    assert {*NAMES, "log_normal"} == set(_core._error_bounds())


def test_the_logarithm_of_normal_numbers_is_the_logarithm():
    x = np.float64([1e-30, 0.3, 1.0, 7.5, 1e30])
    for dtype in ("f4", "f8"):
        np.testing.assert_array_equal(made("cuda.log_normal(x)", math="same")(x.astype(dtype)), made("math.log(x)", math="same")(x.astype(dtype)))


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_nothing_of_a_target_is_left(text, dtype):
    f = made(text, math="same")
    sig = signature(text, dtype)
    f.add(sig)
    host, device = f.inspect_llvm(sig), f.inspect_nvvm(sig, "sm_90")
    called = set(re.findall(r"@(__nv_\w+)", device)) - EXACT
    assert called == set(), called
    declared = set(re.findall(r"declare [^@]*@([\w.]+)", host))
    others = {name for name in declared if not name.startswith(("lw_", "llvm.fma", "llvm.sqrt", "llvm.fabs", "llvm.copysign", "llvm.floor", "llvm.ctlz", "llvm.rint",
                                                                   "llvm.trunc", "llvm.prefetch", "llvm.assume", "llvm.minimum", "llvm.maximum", "llvm.fpto", "llvm.smax", "llvm.smin"))} - {"fmod", "fmodf"}
    assert others == set(), others


@pytest.mark.parametrize("text", ["np.exp(x)", "np.log(x)", "np.sin(x)", "np.tanh(x)", "x**y", "np.sqrt(x)", "np.arcsinh(x)"])
def test_complex_numbers(text):
    f = made(text, math="same")
    x = np.array([0.3 + 0.4j, -2 + 1j, 1e-3 - 5j])
    operands = (x, x[::-1]) if "y" in text else (x,)
    expected = eval(text, {"np": np, "x": operands[0], "y": operands[-1]})
    np.testing.assert_allclose(f(*operands), expected, rtol=1e-14)
    assert "__nv_" not in f.inspect_nvvm(signature(text, "c16"), "sm_90")


def test_narrow_floats_are_computed_in_float32():
    x = np.linspace(-3, 3, 101).astype(np.float16)
    f = made("np.exp(x)", math="same")
    np.testing.assert_array_equal(f(x), made("np.exp(x)", math="same")(x.astype(np.float32)).astype(np.float16))


def test_without_it_functions_are_the_targets_own():
    f = made("math.exp(x)")
    f.add("f8(f8)")
    assert "lw_rt_f64_exp" in f.inspect_nvvm("f8(f8)", "sm_90")
    g = made("math.exp(x)", math="target")
    g.add("f8(f8)")
    assert f.inspect_nvvm("f8(f8)", "sm_90") == g.inspect_nvvm("f8(f8)", "sm_90") and f.inspect_llvm("f8(f8)") == g.inspect_llvm("f8(f8)")


X = np.random.default_rng(3).standard_normal(1001) * 5


PLACES = [
    lambda x: math.exp(x),
    lambda x: math.sin(x),
    lambda x: math.log(abs(x)),
    lambda x: math.tanh(x) + abs(x)**0.3,
    lambda x: math.erf(x),
]


def everywhere(body, x):
    """The same function of a float64 array, by every decorator."""
    helper = lw.jit(body, math="same")
    out = [lw.vectorize(body, math="same")(x)]

    @lw.guvectorize("(n)->(n)", math="same")
    def rows(a, b):
        for i in range(a.size):
            b[i] = helper(a[i])

    @lw.forall(math="same")
    def each(i, a, b):
        b[i] = helper(a[i])

    @cuda.jit(math="same", target="cpu")
    def thread(a, b):
        i = cuda.grid(1)
        if i < a.size:
            b[i] = helper(a[i])

    out.append(rows(x))
    for run in (lambda b: each(x.size, x, b), lambda b: thread[9, 128](x, b)):
        b = np.empty_like(x)
        run(b)
        out.append(b)
    total = lw.reduce(map=lambda v: helper(v), combine=lambda a, b: max(a, b), math="same")
    return out, total(x)


@pytest.mark.parametrize("body", PLACES)
def test_the_same_bits_in_every_place(body):
    (first, *others), greatest = everywhere(body, X)
    for other in others:
        np.testing.assert_array_equal(first.view(np.int64), other.view(np.int64))
    assert greatest == first.max()
    f = lw.vectorize(body, math="same")
    assert [float(f(v)) for v in X[:50]] == first[:50].tolist()  # alone, and in another part of a vector
    np.testing.assert_array_equal(f(X[1:]), first[1:])
    np.testing.assert_array_equal(f(X[::-3]), first[::-3])


def test_a_callees_math_is_its_callers():
    """As with fma and fastmath, the options of the outermost function apply to its callees."""
    inner = lw.jit(lambda x: math.exp(x))
    f = lw.vectorize(lambda x: inner(x), math="same")
    np.testing.assert_array_equal(f(X), made("math.exp(x)", math="same")(X))


@pytest.mark.slow_with_sanitizers
@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_it_compiles_for_gpus(arch):
    f = made("math.sin(x) + math.gamma(x) + math.pow(x, y) + math.erfc(y)", math="same")
    for sig in ("f4(f4, f4)", "f8(f8, f8)"):
        f.add(sig)
        assert f.resources(sig, arch)["spills" if "spills" in f.resources(sig, arch) else "registers"] >= 0


def test_pickled_and_shown():
    f = pickle.loads(pickle.dumps(made("math.exp(x)", math="same")))
    assert f._state()["options"]["math"] == "same"
    np.testing.assert_array_equal(f(X), made("math.exp(x)", math="same")(X))


@pytest.mark.parametrize("fastmath", [True, {"afn"}, {"contract"}])
def test_fastmath_is_refused(fastmath):
    with pytest.raises(ValueError, match='math="same" and fastmath= exclude each other'):
        lw.vectorize(lambda x: x, math="same", fastmath=fastmath)
    assert lw.vectorize(lambda x: x, math="same", fastmath=False)(1.0) == 1.0


@pytest.mark.parametrize("value", ["fast", "", 3, None, True])
def test_other_values(value):
    with pytest.raises((TypeError, ValueError), match='"target" or "same"'):
        lw.vectorize(lambda x: x, math=value)


def test_libdevice_is_refused():
    with pytest.raises(lw.errors.UnsupportedError, match="E144: `j0` has no form that is the same on every target"):
        lw.vectorize(lambda x: cuda.libdevice.j0(x), math="same").inspect_nvvm("f8(f8)", "sm_90")


def test_pages_have_the_bounds():
    """docs/differences.md says what test_float64_is_within_one_unit checks."""
    page = read("docs/differences.md")
    assert all(re.search(rf"`{name}`", page) for name in NAMES)


@pytest.mark.gpu
@pytest.mark.skipif(not cuda.is_available(), reason="no CUDA device")
@pytest.mark.parametrize("name", NAMES)
def test_a_gpu_has_the_same_bits(name):
    rng = np.random.default_rng(9)
    for width, dtype in ((0, np.float32), (1, np.float64)):
        f = double.compiled(name, width)
        n = 2 if name in single.BINARY else 1
        operands = [rng.permutation(double.arguments(name, 20_000, rng))[:50_000].astype(dtype) for _ in range(n)]
        operands = [x[:min(map(len, operands))] for x in operands]
        here, there = f(*operands), f(*map(cuda.to_device, operands)).copy_to_host()
        both = np.isnan(here) & np.isnan(there)
        np.testing.assert_array_equal(np.where(both, 0, here).view(f"i{dtype().itemsize}"), np.where(both, 0, there).view(f"i{dtype().itemsize}"))


# ---- made when they are first called ----


def run(program):
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env={**os.environ, "LANEWISE_CACHE_SIZE_MB": "0"})


def test_only_called_functions_are_read():
    """Reading all of them takes 180 ms of processor time, in each process."""
    done = run("""
import math
import numpy as np, lanewise as lw
from lanewise import _same_math
for name in _same_math.FUNCTIONS:
    if name not in ("exp", "log"):
        _same_math.FUNCTIONS[name] = (len, len)  # cannot be compiled
f = lw.vectorize(lambda x: math.exp(x) + math.log(x), math="same")
x = np.array([0.5, 2.0])
assert np.allclose(f(x), np.exp(x) + np.log(x)) and np.allclose(f(x.astype("f4")), np.exp(x) + np.log(x))
g = lw.vectorize(lambda x: math.exp(x) + math.sin(x), math="same")
for _ in range(2):  # the error is not forgotten, and leaves nothing behind
    try:
        g(x)
    except TypeError as problem:
        assert "expected a Python function" in str(problem), problem
    else:
        raise AssertionError("sin is len")
assert np.allclose(f(x), np.exp(x) + np.log(x))
""")
    assert done.returncode == 0, done.stderr


def test_threads_ask_for_the_same_function():
    done = run("""
import math, threading
import numpy as np, lanewise as lw
x, start, results = np.array([0.5, 2.0]), threading.Barrier(6), []
def work(k):
    f = lw.vectorize(lambda x: math.exp(x) * math.atan(x) + math.tanh(x) * k, math="same")
    start.wait()
    results.append(np.allclose(f(x), np.exp(x) * np.arctan(x) + np.tanh(x) * k))
threads = [threading.Thread(target=work, args=(k,)) for k in range(6)]
[thread.start() for thread in threads], [thread.join() for thread in threads]
assert results == [True] * 6, results
""")
    assert done.returncode == 0, done.stderr


def test_what_python_raises_while_a_function_is_made():
    done = run("""
import math
import numpy as np, lanewise as lw
from lanewise import _same_math
kept = _same_math.FUNCTIONS
del _same_math.FUNCTIONS
f = lw.vectorize(lambda x: math.exp(x), math="same")
try:
    f(1.0)
except AttributeError as problem:
    assert "FUNCTIONS" in str(problem)
else:
    raise AssertionError("there is no exp")
_same_math.FUNCTIONS = kept
assert np.isclose(f(1.0), math.e)
""")
    assert done.returncode == 0, done.stderr

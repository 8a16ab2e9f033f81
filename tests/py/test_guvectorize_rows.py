"""Loops over the same rows, whose elements the threads of a block keep in registers, against the host side of the same function. Data are
small whole numbers where sums are compared exactly."""

import math
import re

import numpy as np
import pytest

import lanewise as lw
from fake_driver import FAKE
from gufunc_checks import SHARED, check, data, mapping
from lanewise import cuda

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("simulated"), pytest.mark.filterwarnings("ignore::lanewise.errors.PrecisionWarning"),
              pytest.mark.skipif(not cuda.is_available(), reason="no CUDA device")]


@lw.guvectorize("(n)->(n)")
def softmax(x, y):
    top = x[0]
    for i in range(x.shape[0]):
        top = max(top, x[i])
    total = x[0] * 0
    for i in range(x.shape[0]):
        y[i] = math.exp(x[i] - top)
        total += y[i]
    for i in range(x.shape[0]):
        y[i] /= total


@lw.guvectorize("(n),(n),(n)->(n)")
def layer_norm(x, weight, bias, y):
    s = x[0] * 0
    for i in range(x.shape[0]):
        s += x[i]
    s /= x.shape[0]
    v = x[0] * 0
    for i in range(x.shape[0]):
        v += (x[i] - s) * (x[i] - s)
    scale = 1 / math.sqrt(v / x.shape[0] + 1e-5)
    for i in range(x.shape[0]):
        y[i] = (x[i] - s) * scale * weight[i] + bias[i]


@lw.guvectorize("(n)->(n)")
def normalised(x, y):
    y[:] = (x - x.mean()) / np.sqrt(x.var() + 1e-5)


# items, length: a thread of a block has 1 to 16 elements; the last one may not exist; items of one warp each; too long to be kept
SHAPES = {"float32": [(3, 32), (2, 33), (3, 64), (2, 1024), (2, 1025), (1, 16384), (1, 33000)], "float64": [(3, 64), (2, 511), (2049, 70)],
          "float16": [(3, 64), (2, 1000)]}


@pytest.mark.parametrize("dtype, tolerance", [("float32", 1e-5), ("float64", 1e-12), ("float16", 1e-2)])
def test_softmax_and_norms(dtype, tolerance):
    for shape in SHAPES[dtype]:
        x = np.random.default_rng(shape[1]).normal(size=shape).astype(dtype)
        wide = x.astype("float64")
        e = np.exp(wide - wide.max(1, keepdims=True))
        got = softmax(cuda.to_device(x)).copy_to_host()
        assert got.dtype == dtype
        np.testing.assert_allclose(got, e / e.sum(1, keepdims=True), rtol=tolerance, atol=tolerance)
        if dtype == "float16":
            continue  # squares add up to more than it holds
        w, b = x[0] + 1, x[0] * 2
        centred = (wide - wide.mean(1, keepdims=True)) / np.sqrt(wide.var(1, keepdims=True) + 1e-5)
        np.testing.assert_allclose(layer_norm(*map(cuda.to_device, (x, w, b))).copy_to_host(), centred * w + b, rtol=20 * tolerance, atol=20 * tolerance)
        np.testing.assert_allclose(normalised(cuda.to_device(x)).copy_to_host(), centred, rtol=20 * tolerance, atol=20 * tolerance)


# ---- what is stored, and when ----


@lw.guvectorize("(n)->(n),()")
def overwritten(x, y, total):
    t = x[0] - x[0]
    for i in range(len(x)):
        y[i] = 2 * x[i]
        t += y[i]
    for i in range(len(x)):
        y[i] = y[i] + t
    total[0] = t


@lw.guvectorize("(n)->(n)")
def left_early(x, y):
    t = x[0] - x[0]
    for i in range(len(x)):
        y[i] = 2 * x[i]
        t += y[i]
    if t > 0:
        return
    for i in range(len(x)):
        y[i] = y[i] - t


@lw.guvectorize("(n)->(n)")
def in_branches(x, y):
    t = x[0] - x[0]
    for i in range(len(x)):
        if x[i] > 0:
            t += x[i]
        y[i] = x[i]
    for i in range(len(x)):
        if x[i] < 0:
            y[i] = y[i] * 3
    if t > 20:
        for i in range(len(x)):
            y[i] += 1
    for i in range(len(x)):
        if y[i] > 1:
            y[i] = y[i] - x[i]
        else:
            y[i] = t


@lw.guvectorize("(n)->(n)")
def first_in_branches(x, y):
    t = x[0] - x[0]
    for i in range(len(x)):
        if x[i] > 0:
            y[i] = x[i]
    for i in range(len(x)):
        if x[i] <= 0:
            y[i] = 7
        t += y[i]
    for i in range(len(x)):
        y[i] += t


@lw.guvectorize("(n)->(n)")
def of_others(x, y):
    for i in range(len(x)):
        y[i] = x[i] * 2
    y[0] = 5
    t = x[0] - x[0]
    for i in range(len(x)):
        t += y[len(x) - 1 - i] * x[i]
    for i in range(len(x)):
        y[i] += t


@lw.guvectorize("(n)->(n)")
def running_then_scaled(x, y):
    t = x[0] - x[0]
    for i in range(len(x)):
        t += x[i]
        y[i] = t
    top = y[0]
    for i in range(len(x)):
        top = max(top, y[i])
    for i in range(len(x)):
        y[i] = top - y[i]


@lw.guvectorize("(n)->(n)")
def left_by_search(x, y):
    for i in range(len(x)):
        y[i] = x[i] + 1
    for i in range(len(x)):
        if y[i] == 9:
            return
    for i in range(len(x)):
        y[i] = y[i] - 3


@lw.jit
def doubled_unless(x, y, first):
    if x[0] > first:
        return x[0] - 2
    for i in range(len(x)):
        y[i] = 2 * x[i]
    return x[0]


@lw.guvectorize("(n)->(n)")
def by_helper(x, y):
    for i in range(len(x)):
        y[i] = x[i]
    s = doubled_unless(x, y, 0)
    for i in range(len(x)):
        y[i] = y[i] - s


STORING = [overwritten, left_early, in_branches, first_in_branches, of_others, running_then_scaled, left_by_search, by_helper]


@pytest.mark.parametrize("function", STORING)
@pytest.mark.parametrize("dtype", ["float64", "float32", "int32"])
def test_stores(function, dtype):
    for shape in [(4, 40), (3, 300)] if dtype == "int32" else [(3, 64), (2, 1000)] if dtype == "float32" else [(2049, 65)]:
        check(function, data(shape, dtype, seed=shape[1]))
    letter = {"float64": "d", "float32": "f", "int32": "i"}[dtype]
    assert mapping(function, f"{letter}->{letter * function.nout}") == SHARED


# ---- several outputs, other dtypes, inputs that are written, other layouts ----


@lw.guvectorize("(n),(n)->(n),(n),(),()")
def several(x, chosen, low, high, at, most):
    best = x[0]
    k = 0
    t = 0
    for i in range(len(x)):
        if x[i] > best:
            best = x[i]
            k = i
        if chosen[i]:
            t += 1
    for i in range(len(x)):
        low[i] = min(x[i], best - 3)
        high[i] = x[i] * t if chosen[i] else x[i]
    at[0] = k
    most[0] = best


@lw.guvectorize(["void(float64[:], float64[:])", "void(float32[:], float32[:])"], "(n),(n)", writable_args=(0,))
def in_place(x, y):
    t = 0.0
    for i in range(len(x)):
        x[i] += y[i]
        t += x[i]
    for i in range(len(x)):
        x[i] = x[i] * 2 - t


@lw.guvectorize("(n),(m)->(n),(m)")
def two_lengths(x, z, y, w):
    s = x[0] - x[0]
    t = s
    for i in range(len(x)):
        s += x[i]
    for k in range(len(z)):
        t += z[k]
    for i in range(len(x)):
        y[i] = x[i] + t
    for k in range(len(z)):
        w[k] = z[k] + s


def test_several_outputs():
    for shape in [(3, 40), (3, 129), (2, 1000), (2050, 64)]:
        x = data(shape, seed=shape[1])
        check(several, x, x > 2)
        check(several, x.astype("float32"), x > 2)
    for n, m in ((40, 1000), (1000, 40), (300, 300)):
        check(two_lengths, data((2, n)), data((2, m), seed=1))


def test_writable_and_strided():
    for dtype in ("float64", "float32"):
        x, y = data((3, 200), dtype), data((3, 200), dtype, seed=1)
        device = cuda.to_device(x)
        in_place(device, cuda.to_device(y))
        in_place(x, y)
        np.testing.assert_array_equal(device.copy_to_host(), x)
    x = np.ascontiguousarray(data((100, 70)).T)
    check(overwritten, x[:, ::2])
    np.testing.assert_array_equal(overwritten(cuda.to_device(x).T)[0].copy_to_host(), overwritten(x.T)[0])


# ---- the largest: of zeros the first one's sign stays ----


@lw.guvectorize("(n)->(n)")
def below_top(x, y):
    top = x[0]
    for i in range(len(x)):
        top = max(top, x[i])
    for i in range(len(x)):
        y[i] = x[i] * 0 + top


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_zeros_and_nan_of_the_largest(dtype):
    for n in (64, 300, 1024):
        rows = -np.abs(np.random.default_rng(n).normal(size=(6, n)))
        rows[0, 5::7], rows[0, 3::7] = 0.0, -0.0
        rows[1, 5::7], rows[1, 6::7] = 0.0, -0.0
        rows[2, 9] = np.nan
        rows[3, 0] = np.nan
        rows[4] = -np.inf
        x = rows.astype(dtype)
        for start in (0, 1):  # with and without the elements in front
            got, want = below_top(cuda.to_device(np.ascontiguousarray(x[:, start:]))).copy_to_host(), below_top(np.ascontiguousarray(x[:, start:]))
            np.testing.assert_array_equal(got, want)
            np.testing.assert_array_equal(np.signbit(got) | np.isnan(got), np.signbit(want) | np.isnan(want))


# ---- the code ----

PROGRAM = """
import math, sys
import numpy as np
import lanewise as lw
from lanewise import cuda

sys.path.insert(0, TESTS)
import test_guvectorize_rows as rows

x = cuda.to_device(np.zeros((LENGTHS, 1024), "float32"))
rows.softmax(x)
"""


@pytest.mark.skipif(not FAKE, reason="needs no device")
@pytest.mark.parametrize("cc", [75, 90, 100, 120])
def test_each_element_is_read_once_and_written_once(cc, run_python, tmp_path):
    """The kernel for a GPU loads 8 elements in each of 128 threads, and x[0]; y, which two loops store, is stored in the last of them."""
    from fake_driver import ROOT

    program = tmp_path / "rows.py"
    program.write_text(PROGRAM.replace("TESTS", repr(str(ROOT / "tests/py"))).replace("LENGTHS", "65536"))
    done = run_python(str(program), LW_FAKE_DRIVER="1", FAKE_CUDA_CC=str(cc), LANEWISE_DUMP="ir", LANEWISE_DUMP_ONLY="softmax")
    body = re.search(r"func internal lw_spread_body.*?\n}", done.stdout + done.stderr, re.S)[0]
    for_x = set(re.findall(r"(%\d+) = offset ptr %1 ", body))
    loads = [ref for ref in re.findall(r"= load f32 (%\d+)", body) if ref in for_x]
    assert len(loads) == 10 and len(re.findall(r"\n    store ", body)) == 8, body  # x[0] is in the source twice

"""Arrays that a function has of its own: tables frozen from outside, local(shape, dtype)."""

from __future__ import annotations

import numpy as np
import pytest
from host_kernel import check, run

import lanewise as lw
from lanewise import errors
from lanewise._core import _dump_ir

K = np.arange(12.0).reshape(3, 4)
W = np.array([0.5, 1, 0.25], np.float32)
PAIR = np.dtype([("lo", "i4"), ("hi", "f8")], align=True)
GPUS = ["sm_75", "sm_90", "sm_100", "sm_120"]


def lookup(n, m):
    return K[n, m] + K[-1][m] + K.shape[0] + len(K) + K.size


def test_elements_of_a_table():
    n, m = np.meshgrid(np.arange(-3, 3), np.arange(-4, 4))
    wanted = np.vectorize(lookup)(n, m)
    for dtype in ("int8", "int32", "int64"):
        np.testing.assert_array_equal(lw.vectorize(lookup)(n.astype(dtype), m.astype(dtype)), wanted)


@pytest.mark.parametrize("dtype", ["uint8", "uint32", "uint64", "int16", "int64"])
def test_beyond_its_ends_a_table_gives_its_nearest_element(dtype):
    f = lw.vectorize(lambda n: K[1, n], errors="ignore")  # else it is an IndexError: test_guarded_indices.py
    indices = np.array([0, 3, 4, 100, np.iinfo(dtype).max], dtype)
    np.testing.assert_array_equal(f(indices), [4, 7, 7, 7, 7])
    if dtype.startswith("i"):
        np.testing.assert_array_equal(f(np.array([-1, -4, -5, np.iinfo(dtype).min], dtype)), [7, 4, 4, 4])


def test_bounds_of_a_table_are_checked_on_request():
    f = lw.vectorize(lambda n: K[0, n], check={"bounds"})
    np.testing.assert_array_equal(f(np.arange(-4, 4)), [0, 1, 2, 3] * 2)
    with pytest.raises(IndexError, match="axis 1"):
        f(np.array([0, 4]))


def horner(x):
    s = np.float32(0)
    for w in W:
        s = s * x + w
    for i, w in enumerate(W):
        s += i * w
    for i in range(len(W)):
        s -= W[i] * W[-i]
    return s


def test_loops_over_a_table():
    x = np.linspace(-2, 2, 37, dtype=np.float32)
    np.testing.assert_allclose(lw.vectorize(horner)(x), np.vectorize(horner)(x), rtol=1e-5)
    assert lw.vectorize(horner)(x).dtype == np.float32


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "int64", "float16", "bfloat16", "float64",
                                   "complex64", "complex128"])
def test_dtypes_of_tables(dtype):
    if dtype == "bfloat16":
        dtype = pytest.importorskip("ml_dtypes").bfloat16
    table = np.array([1, 0, 3, 7]).astype(dtype)
    strided = np.array([1, 9, 0, 9, 3, 9, 7, 9]).astype(dtype)[::2]
    kind = lw.float32 if table.dtype.name == "bfloat16" else table.dtype.type
    for t in (table, strided, table[::-1][::-1]):
        f = lw.vectorize(lambda n: kind(t[n]))
        np.testing.assert_array_equal(f(np.array([3, 1, 0, 2])), table[[3, 1, 0, 2]])


def test_a_table_reached_through_functions_and_tuples():
    def at(table, n):
        return table[n]

    rows = (W, W[::-1] * 2)

    @lw.vectorize
    def f(n, which):
        t = rows[0]
        if which:
            t = rows[1]
        return at(t, n) + at(rows[which], n)

    np.testing.assert_array_equal(f([0, 1, 2, 0, 1, 2], [0, 0, 0, 1, 1, 1]),
                                  2 * np.concatenate([W, W[::-1] * 2]))


def test_small_tables_are_compared_and_large_ones_frozen():
    for table, after in ((np.arange(1, 3), 5), (np.arange(1, 1000), 2)):
        f = lw.vectorize(lambda n: table[n], warn=False)
        assert f(1) == 2
        table[1] = 5
        assert f(1) == after


def test_a_table_in_a_kernel():
    def f(x, out):
        for i in range(len(out)):
            out[i] = K[x[i] & 1, i & 3] + W[x[i] % 3]

    check(f, np.arange(9), np.zeros(9))


def test_a_choice_between_elements_is_no_branch():
    ir = _dump_ir(lambda n: K[n, 0] if n > 1 else K[0, n], "float64(int32)")
    assert ir.count("load f64") == 2 and " if " not in ir


@pytest.mark.parametrize("target", GPUS)
def test_tables_on_a_gpu(target):
    assert lw.compile(lookup, "float64(int32, int32)", target=target, output="cubin")
    ptx = lw.compile(lookup, "float64(int32, int32)", target=target, output="ptx")
    assert ".const" in ptx and "ld.const." in ptx


# ---- local(shape, dtype) ----

def median(x, y, z):
    a = lw.local(3, lw.float64)
    a[0], a[1], a[2] = x, y, z
    for i in range(3):
        for j in range(2 - i):
            if a[j] > a[j + 1]:
                a[j], a[j + 1] = a[j + 1], a[j]
    return a[1]


def test_sorting_in_a_local_array():
    p = np.random.default_rng(3).random((3, 1001))
    np.testing.assert_array_equal(lw.vectorize(median)(*p), np.median(p, axis=0))


def test_local_arrays_of_neighbouring_elements_are_apart():
    @lw.vectorize
    def f(x, n):
        a = lw.local((4, 2), lw.int64)
        for i in range(4):
            a[i, 0] = x + i
            a[i, 1] = x * i
        a[n] = 0
        s = np.int64(0)
        for row in a:
            s += row[0] * row[1]
        return s

    x, n = np.arange(1000), np.arange(1000) % 4
    wanted = sum(np.where(n == i, 0, (x + i) * x * i) for i in range(4))
    np.testing.assert_array_equal(f(x, n), wanted)


def fill(a, value):
    for i in range(len(a)):
        a[i] = value + i
    return a


def test_a_local_array_as_argument_and_result():
    @lw.vectorize
    def f(x):
        a = fill(lw.local(5, np.float32), x)
        b = fill(lw.local(5, np.float32), 2 * x)
        return a[4] * b[1] + a.size + b.shape[0]

    x = np.arange(9, dtype=np.float32)
    np.testing.assert_array_equal(f(x), (x + 4) * (2 * x + 1) + 10)


def test_local_records():
    @lw.vectorize
    def f(x, n):
        pairs = lw.local(3, PAIR)
        for i in range(3):
            pairs[i].lo = i * 2
            pairs[i]["hi"] = x * i
        pairs[0] = pairs[n]
        return pairs[0].hi + pairs["lo"][0]

    np.testing.assert_array_equal(f([1.5, 2.5, 3.5], [0, 1, 2]), [0, 4.5, 11])


def test_dtypes_of_local_records_are_told_apart_by_more_than_their_names():
    packed = np.dtype(PAIR.descr[:1] + PAIR.descr[-1:])

    def size(dtype):
        return lw.local(3, dtype).itemsize

    f = lw.vectorize(lambda x: x + 100 * size(PAIR) + size(packed))
    assert f(0) == 1612


def test_local_arrays_in_kernels():
    def f(x, out):
        a = local((2, 2), np.int32)
        for i in range(len(x)):
            for j in range(4):
                a[j >> 1, j & 1] = x[i] + j
            out[i] = a[0, 1] * a[-1, -1]

    local = lw.local
    x, out = np.arange(5, dtype=np.int32), np.zeros(5, np.int64)
    assert run(f, x, out) is None
    np.testing.assert_array_equal(out, (x + 1) * (x + 3))


@pytest.mark.parametrize("target", GPUS)
def test_local_arrays_on_a_gpu(target):
    assert lw.compile(median, "float64(float64, float64, float64)", target=target, output="cubin")


@pytest.mark.parametrize(("shape", "dtype", "code"), [
    ((-1,), lw.float32, "E120"), (2.0, lw.float32, "E120"), (2, None, "E120"), (2, np.dtype("O"), "E120"),
    ((1 << 10, 1 << 10), lw.float64, "E103"), (1 << 40, lw.int8, "E120"),
])
def test_wrong_local_arrays(shape, dtype, code):
    @lw.vectorize
    def f(x):
        a = lw.local(shape, dtype)
        return x

    with pytest.raises(errors.LanewiseError, match=code):
        f(1.0)


def test_on_the_host():
    with pytest.raises(RuntimeError, match="compiled code only"):
        lw.local(3, lw.float32)


# ---- memory of a call ends with the call ----

def make(x):
    a = lw.local(3, lw.float64)
    a[0] = x
    return a


def make_view(x):
    a = lw.local((3, 2), lw.float64)
    b = a[0]
    for i in range(3):
        if i > x:
            b = a[i, ::2]
    return b, x


def make_record(x):
    return lw.local(3, PAIR)[int(x)]


def passes_on(x):
    return fill(lw.local(3, lw.float64), x)


@pytest.mark.parametrize("maker", [make, lambda x: make_view(x)[0], make_record, passes_on])
def test_a_local_array_does_not_leave_its_function(maker):
    f = lw.vectorize(lambda x: maker(x)[0] if maker is not make_record else maker(x).hi)
    with pytest.raises(errors.UnsupportedError, match="E102: a local array leaves"):
        f(1.0)


@pytest.mark.parametrize("result", [lambda x: K, lambda x: (x, lw.local(2, PAIR)[0]), lambda x: lw.local(2, PAIR)[0]])
def test_memory_is_no_result(result):
    with pytest.raises(errors.LanewiseError, match="E183"):
        lw.vectorize(result)(1.0)

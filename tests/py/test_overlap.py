"""Copies and ufuncs with an output whose arrays share memory: as if all had been read before anything is written."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided

import lanewise as lw
from lanewise import _array_ufuncs, cuda

NO_ORDER = "no order of the elements gives NumPy's result"
DTYPES = [np.bool_, np.int8, np.uint16, np.int32, np.int64, np.float16, np.float32, np.float64, np.complex64, np.complex128]


def numbers(shape, dtype):
    return np.random.default_rng(5).integers(-9, 9, shape).astype(dtype)


def device(array):
    """The target on which the kernels of a test run."""
    return cuda.to_device(array) if lw.config.target == "cuda" else array.copy()


def back(array):
    return array if isinstance(array, np.ndarray) else array.copy_to_host()


def same(function, a, *rest):
    """Check that the kernel does what NumPy does with the same function on the same array."""
    expected = a.copy()
    function(expected, *rest)
    given = device(a)
    cuda.jit(function)[1, 1](given, *rest)
    np.testing.assert_array_equal(back(given), expected)


# ---- copies within one array; NumPy runs the same functions ----


def up(a):
    x = a[1:]
    y = a[:-1]
    x[:] = y


def down(a):
    a[:-2] = a[2:]


def turned(a):
    a[:] = a[::-1]


def every_other(a):
    a[:3] = a[::2][:3]


def by_helpers(a):
    def part(a, k):
        return a[k:]

    part(a, 1)[:] = a[:-1]


def zipped(a):
    for x, y in zip(a[1:], a[:-1]):
        a[0] = x - y


def unpacked(a):
    a[1], a[0], a[2] = a[0], a[2], a[1]


ONE = [up, down, turned, every_other, by_helpers, zipped, unpacked]


def rows(a):
    a[1:] = a[:-1]


def columns(a):
    a[:, 1:] = a[:, :-1]


def diagonal(a):
    a[1:, :-1] = a[:-1, 1:]


def crossed(a):
    a[:] = a.T


def crossed_columns(a):
    a.T[1:] = a.T[:-1]


def turned_rows(a):
    a[:] = a[::-1]


def turned_columns(a):
    a[:] = a[:, ::-1]


def turned_both(a):
    a[:] = a[::-1, ::-1]


def one_row(a):
    a[2] = a[3]
    a[0] = a[0]


def spread(a):
    a[:] = a[2:3]
    a[:, 1:] = a[:, 3:4]


def rows_in_a_loop(a):
    for x, y in zip(a[1:], a[:-1]):
        x[:] = y[::-1]


def swapped_rows(a):
    a[0], a[1] = a[1], a[0]  # views, in NumPy too


TWO = [rows, columns, diagonal, crossed, crossed_columns, turned_rows, turned_columns, turned_both, one_row, spread,
       rows_in_a_loop, swapped_rows]


def blocks(a):
    a[1:, :-1, 1:] = a[:-1, 1:, :-1]


def crossed_blocks(a):
    a[:] = a.T


def turned_blocks(a):
    a[:] = a[::-1, :, ::-1]


THREE = [blocks, crossed_blocks, turned_blocks]


@pytest.mark.parametrize("function", ONE, ids=lambda f: f.__name__)
def test_one_axis(target, function):
    same(function, numbers(9, np.float64))


@pytest.mark.parametrize("function", TWO, ids=lambda f: f.__name__)
def test_two_axes(target, function):
    same(function, numbers((5, 5), np.float32))


@pytest.mark.parametrize("function", THREE, ids=lambda f: f.__name__)
def test_three_axes(target, function):
    same(function, numbers((4, 4, 4), np.int64))


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda d: d.__name__)
def test_every_dtype(target, dtype):
    for function, shape in ((up, 9), (turned, 8), (diagonal, (4, 5)), (crossed, (5, 5))):
        same(function, numbers(shape, dtype))


def test_by_steps_that_differ(target):
    """NumPy 2.4 itself does not check this case: the same first element, but another step."""

    def apart(a):
        a[::2] = a[:5]

    def together(a):
        a[:5] = a[::2]

    for function, to, source in ((apart, slice(None, None, 2), slice(5)), (together, slice(5), slice(None, None, 2))):
        a = np.arange(10.0)
        expected = a.copy()
        expected[to] = a[source].copy()
        given = device(a)
        cuda.jit(function)[1, 1](given)
        np.testing.assert_array_equal(back(given), expected)


# ---- ufuncs ----


def differences(a):
    np.subtract(a[1:], a[:-1], a[1:])


def differences_ahead(a):
    np.subtract(a[1:], a[:-1], a[:-1])


def doubled(a):
    np.multiply(a[::-1], 2, out=a)


def negated(a):
    np.negative(a[:-3], out=a[3:])


def both(a):
    np.subtract(a[::-1], a[::-1], a)
    np.add(a, 3, a)


def from_its_end(a):
    np.subtract(a, a[::-1], out=a)


def less_the_first(a):
    np.subtract(a, a[0], out=a)
    np.subtract(a, a[:1], out=a)


def less_the_last(a):
    np.subtract(a, a[-1:], out=a)


def symmetric(a):
    np.add(a, a.T, out=a)


def shifted_rows(a):
    np.add(a[:-1, 1:], a[1:, 1:], a[:-1, :-1])


@pytest.mark.parametrize("function", [differences, differences_ahead, doubled, negated, both, from_its_end], ids=lambda f: f.__name__)
def test_ufuncs_of_one_axis(target, function):
    same(function, numbers(9, np.float64))
    same(function, numbers(8, np.int32))


@pytest.mark.parametrize("function", [differences, doubled, from_its_end, less_the_first, less_the_last, symmetric, shifted_rows],
                         ids=lambda f: f.__name__)
def test_ufuncs_of_two_axes(target, function):
    same(function, numbers((5, 5), np.float32))


def test_a_place_that_is_read_by_all(target):
    """x[:1] is broadcast, so its element is overwritten last."""

    def kernel(a):
        np.subtract(a, a[:1], out=a)

    same(kernel, numbers(7, np.float64))


# ---- where there is no order: a buffer, or an exception ----


def rotated(a):
    a[:] = a.T[::-1]


def turned_and_shifted(a):
    a[1:] = a[-2::-1]


def stencil(a):
    np.add(a[2:], a[:-2], out=a[1:-1])


def least_the_middle(a):
    np.subtract(a, a[2:3], out=a)


def smoothed(a):
    np.add(a[2:, 1:-1], a[1:-1, 2:], out=a[1:-1, 1:-1])


UNORDERED = [rotated, turned_and_shifted, stencil, least_the_middle, smoothed]


@pytest.mark.parametrize("function", UNORDERED, ids=lambda f: f.__name__)
def test_without_an_order_by_a_buffer(target, function):
    for dtype in (np.float64, np.complex64, np.int8):
        same(function, numbers((8, 8), dtype))


@pytest.mark.parametrize("function", UNORDERED[:4], ids=lambda f: f.__name__)
def test_without_an_order_nothing_is_written(cpu, function):
    a = numbers((10, 10), np.float64)
    given = a.copy()
    with pytest.raises(ValueError, match=NO_ORDER) as raised:
        cuda.jit(function)[1, 1](given)
    assert f"{__file__}" in str(raised.value) or "_array_ufuncs.py" in str(raised.value)
    assert (given == a).all()
    cuda.jit(function, errors="ignore")[1, 1](given)
    assert (given == a).all()


# ---- other generators, and arguments that overlap ----


def test_arguments_that_overlap(cpu):
    def copy(x, y):
        x[:] = y

    def add(x, y):
        np.add(x, y, out=x)

    def each(i, x, y):
        if i == 0:
            x[:] = y

    for function, kernel in ((copy, cuda.jit(copy)[1, 1]), (add, cuda.jit(add)[1, 1]), (copy, lambda x, y: lw.forall(each)(1, x, y))):
        for to, source in itertools.permutations([slice(1, None), slice(None, -1)]):
            a = numbers(9, np.float64)
            expected = a.copy()
            function(expected[to], expected[source])
            kernel(a[to], a[source])
            np.testing.assert_array_equal(a, expected)


def test_rows_of_a_space(target):
    @lw.forall
    def shift(i, a):
        a[i, 1:] = a[i, :-1]
        np.multiply(a[i, ::-1], 2.0, out=a[i])

    a = numbers((70, 40), np.float64)
    given = device(a)
    shift(70, given)
    shifted = np.c_[a[:, :1], a[:, :-1]]
    np.testing.assert_array_equal(back(given), 2 * shifted[:, ::-1])


@pytest.mark.parametrize("n", [3, 8, 40, 500])
def test_gufuncs(target, n):
    @lw.guvectorize("(n)->(n)")
    def shift(x, out):
        out[:] = x
        out[1:] = out[:-1]
        np.subtract(out[::-1], out, out=out)

    @lw.guvectorize("(n)->()", writable_args=(0,))
    def turn(x, out):
        x[:] = x[::-1]
        out[0] = x[0]

    a = numbers((6, n), np.float64)
    shifted = np.c_[a[:, :1], a[:, :-1]]
    np.testing.assert_array_equal(back(shift(device(a))), shifted[:, ::-1] - shifted)
    given = device(a)
    np.testing.assert_array_equal(back(turn(given)), a[:, -1])
    np.testing.assert_array_equal(back(given), a[:, ::-1])


def test_excluded_arrays(cpu):
    @lw.guvectorize("()->()", excluded=("t",))
    def f(x, t, out):
        t[1:] = t[:-1]
        out[0] = x + t[0]

    t = np.arange(5.0)
    f(np.float64(1), t)
    np.testing.assert_array_equal(t, [0, 0, 1, 2, 3])


def test_arrays_of_the_function(target):
    """Local and shared memory are tested, and an array with a part of itself."""

    def kernel(a):
        b = cuda.local.array(6, np.float64)
        s = cuda.shared.array(6, np.float64)
        b[:] = a
        s[:] = b
        s[2:] = s[:-2]
        b[:] = b[::-1]
        np.subtract(s, b, out=b)
        np.add(b[1:], b[:-1], b[:-1])
        a[:] = b

    a = numbers(6, np.float64)
    s = np.r_[a[:2], a[:-2]]
    b = s - a[::-1]
    b[:-1] += b[1:].copy()
    given = device(a)
    cuda.jit(kernel)[1, 1](given)
    np.testing.assert_array_equal(back(given), b)


def test_fields_of_records(target):
    kind = np.dtype([("x", "f8"), ("v", "f8", (4,)), ("y", "f8")])

    def kernel(a):
        a["x"][:] = a["y"]  # between each other, not over each other
        a["y"][1:] = a["y"][:-1]
        a["v"][1:] = a["v"][:-1, ::-1]
        a[2]["v"][1:] = a[2]["v"][:-1]

    a = np.zeros(5, kind)
    a["x"], a["y"] = np.arange(5), np.arange(5) + 10
    a["v"] = np.arange(20).reshape(5, 4)
    expected = a.copy()
    expected["x"] = a["y"]
    expected["y"][1:] = a["y"][:-1]
    expected["v"][1:] = a["v"][:-1, ::-1]
    expected["v"][2, 1:] = expected["v"][2, :-1].copy()
    given = device(a)
    cuda.jit(kernel)[1, 1](given)
    np.testing.assert_array_equal(back(given), expected)


@pytest.mark.parametrize("words", [2, 40])
def test_records(cpu, words):
    kind = np.dtype([("v", "f8", (words,))])

    def spread(a):
        a[:] = a[2]

    def move(x, y):
        x[0] = y[0]

    a = np.zeros(5, kind)
    a["v"] = np.arange(5 * words).reshape(5, words)
    expected = a.copy()
    expected[:] = a[2]
    given = a.copy()
    cuda.jit(spread)[1, 1](given)
    assert (given == expected).all()
    for to, source in itertools.permutations([0, 8]):  # by half a record, or a fifth of one
        bytes_ = a.copy().view(np.uint8)
        expected = bytes_.copy()
        expected[to:to + kind.itemsize] = bytes_[source:source + kind.itemsize].copy()
        given = bytes_.copy()
        cuda.jit(move)[1, 1](given[to:to + kind.itemsize].view(kind), given[source:source + kind.itemsize].view(kind))
        assert (given == expected).all()


# ---- any views of one buffer ----

SIZE = 4000


def steps_of(shape, rng):
    """Strides without overlap, in any order of the axes, in both directions, with gaps."""
    order = rng.permutation(len(shape)) if rng.random() < 0.5 else range(len(shape))[::-1]
    steps, width = [0] * len(shape), 1
    for axis in order:
        width *= int(rng.choice([1, 1, 1, 2, 3]))
        steps[axis] = width * int(rng.choice([1, 1, -1]))
        width = width * max(shape[axis], 1) + int(rng.choice([0, 0, 3]))
    return steps


def reach_of(view):
    offset, shape, steps = view
    ends = [(n - 1) * step for n, step in zip(shape, steps)]
    return offset + sum(min(0, e) for e in ends), offset + sum(max(0, e) for e in ends)


def near(view, rng):
    """The same view shifted, reversed or transposed, or another view near it."""
    offset, shape, steps = view[0], list(view[1]), list(view[2])
    kind = rng.integers(5)
    if kind == 1:
        offset += int(rng.integers(-6, 7))
    for axis in range(len(shape)):
        if kind == 2 and rng.random() < 0.6:
            offset += (shape[axis] - 1) * steps[axis]
            steps[axis] = -steps[axis]
    if kind == 3 and len(set(shape)) == 1:
        steps.reverse()
    if kind == 4:
        steps = steps_of(shape, rng)
        offset += int(rng.integers(-6, 7))
    if rng.random() < 0.2 and shape[0] > 0:
        axis = int(rng.integers(len(shape)))
        if shape[axis]:
            offset += int(rng.integers(shape[axis])) * steps[axis]
            shape[axis] = 1
    return offset, shape, steps


def views(rng, most):
    """Three views, of which the first is written to and the others are broadcast to it."""
    while True:
        shape = [int(rng.integers(0 if rng.random() < 0.05 else 1, most)) for _ in range(rng.integers(1, 4))]
        first = (SIZE // 2, shape, steps_of(shape, rng))
        found = [first, near(first, rng), near(first, rng)]
        if all(low >= 0 and high < SIZE for low, high in map(reach_of, found)):
            return found


def copied(x, y, z):
    x[:] = y


def one_input(x, y, z):
    np.negative(y, out=x)


def with_a_number(x, y, z):
    np.multiply(y, 3.0, out=x)


def two_inputs(x, y, z):
    np.subtract(y, z, out=x)


@pytest.mark.parametrize("typing", ["weak", "numba"])
@pytest.mark.parametrize("function", [copied, one_input, with_a_number, two_inputs], ids=lambda f: f.__name__)
def test_any_views(cpu, function, typing):
    signatures = [f"void({', '.join(3 * [f'float64[{axes}]'])})" for axes in (":", ":, :", ":, :, :")]
    kernel = cuda.jit(signatures, typing=typing)(function)[1, 1]
    rng = np.random.default_rng(17)
    refused = 0
    for n in range(300):
        found = views(rng, 6 if n % 2 else 9)
        start, expected, given = (np.arange(1.0, SIZE + 1) for _ in range(3))
        x, y, z = (as_strided(expected[o:], shape, [8 * s for s in steps]) for o, shape, steps in found)
        function(x, y.copy(), z.copy())
        try:
            kernel(*(as_strided(given[o:], shape, [8 * s for s in steps]) for o, shape, steps in found))
        except ValueError as error:
            assert NO_ORDER in str(error)
            refused += 1
            expected = start
        np.testing.assert_array_equal(given, expected, err_msg=str(found))
    assert refused < (180 if function is two_inputs else 100)


@pytest.mark.slow_with_sanitizers
@pytest.mark.parametrize("target", ["sm_75", "sm_90", "sm_100", "sm_120"])
def test_cubins(target):
    def kernel(x, y):
        x[:] = y
        np.add(x[1:], x[:-1], x[1:])

    for types in ("void(float64[:, :], float64[:, :])", "void(complex64[:], complex64[:])"):
        assert cuda.jit(kernel).inspect_cubin(types, target)[1:4] == b"ELF"


def test_what_is_apart_is_not_looked_at():
    """Outputs of gufuncs, local memory, and arrays that the call has found to be apart."""

    @lw.guvectorize(["void(f8[:], f8[:])"], "(n)->(n)", target="cpu")
    def items(x, out):
        out[:] = x
        np.sin(x, out)

    def kernel(x, out):
        b = cuda.local.array(4, np.float64)
        b[:] = x[:4]
        out[:4] = b
        np.sin(x, out)

    def overlapping(x):
        x[1:] = x[:-1]

    for text in (items.inspect_llvm(), cuda.jit(kernel).inspect_nvvm("void(float64[:], float64[:])")):
        text = text if isinstance(text, str) else "".join(map(str, text.values()))
        assert "ptrtoint" not in text and "lw_copy" not in text
    assert "lw_copy" in cuda.jit(overlapping).inspect_nvvm("void(float64[:])")


def test_the_buffer_of_both_languages():
    """What is written in Python takes as many bytes as what is written in C."""
    header = (Path(__file__).resolve().parents[2] / "core/front/lower/overlap.h").read_text()
    assert f"LW_BUFFER_BYTES = {_array_ufuncs._BUFFER}" in header

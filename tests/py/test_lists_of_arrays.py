"""Lists and dicts whose items are arrays, in functions of njit: the arrays themselves, as in Python, not copies of their elements."""

from __future__ import annotations

import gc
import re

import numpy as np
import pytest

import lanewise as lw
from lanewise import cuda, errors, njit, prange

X = np.arange(12.0).reshape(3, 4)


def rows(x):
    out = []
    for i in range(x.shape[0]):
        out.append(x[i])
    return out


def columns_that_are_changed(x):
    out = []
    for i in range(x.shape[1]):
        out.append(x[:, i])
    out[1][0] = 99.0
    return out, x


def made_in_a_comprehension(x):
    out = [r * 2 for r in x]
    out[0] += 1
    out[1] = out[2]
    out[1][0] = -5
    return out


def stack_of_arrays(x):
    out = [x[0], x[1]]
    out.append(x[2] + 1)
    a = out.pop()
    b = out.pop(0)
    return a, b, len(out), out


def of_other_lengths(x):
    out = []
    for i in range(4):
        out.append(np.arange(i))
    out.reverse()
    out.insert(1, np.array([7]))
    return out[::2], np.concatenate(out), len(out)


def joined(x):
    out = [r for r in x]
    return np.stack(out, 1), np.vstack(out), np.hstack(out), np.column_stack(out), np.array(out), np.stack(out), np.concatenate(out, axis=None)


def joined_matrices(x):
    out = [x]
    out.append(x * 2)
    return np.concatenate(out, axis=1), np.concatenate(out), np.stack(out, -1), np.hstack(out), np.vstack(out), np.sum(out, axis=0), np.mean(out)


def in_order(x):
    out = [r for r in x]
    out.sort(key=lambda r: -r.sum())
    return out, sorted(out, key=lambda r: r[0]), max(out, key=lambda r: r[1])


def beside_numbers(x):
    out = []
    for i in range(3):
        out.append((i, x[i], x[i] + 1))
    s = 0.0
    for i, r, q in out:
        s += i * r.sum() + q[0]
    return s, out, out[2][1]


def never_filled(x):
    out = []
    if x[0, 0] > 100:
        out.append(x[0])
    return len(out), out


def the_same_array_again(x):
    out = [np.zeros(2)] * 3
    out[0][0] = 1
    return out, out * 2


def in_loops(x):
    out = [r for r in x]
    s = 0.0
    for i, (a, b) in enumerate(zip(out, out[1:])):
        s += i * (a * b).sum()
    for r in reversed(out):
        r[0] += 1
        s = s * 2 + r[0]
    return s, x


def of_matrices(x):
    out = []
    out.append(x)
    out.append(x * 2)
    return out[1][1, 2], out


def not_contiguous(x):
    out = [x.T]
    out.append(x.T)
    out.append(np.ones((4, 3)))
    return out


def of_another_dtype(x):
    out = [r.astype(np.float32) for r in x]
    out[2] -= out[1]
    return out


def many(x):
    out = []
    for i in range(40):
        out.append(np.full(i, i))
    return sum([len(a) for a in out]), [a.sum() for a in out]


def queue(x):
    q = [x[0]]
    n = 0
    while q:
        a = q.pop()
        n += 1
        if len(a) > 1:
            m = len(a) // 2
            q.append(a[:m])
            q.append(a[m:])
    return n


def kept_when_the_list_changes(x):
    out = [r * 1 for r in x]
    y = out[0]
    out.clear()
    out.append(x[1] * 2)
    return y, out


def put(x, v):
    x.append(v)


def by_another_function(x):
    out = []
    for i in range(3):
        put(out, x[i] * i)
    return out


def slices(x):
    out = [r for r in x]
    out.extend([x[0] * 2, x[1] * 3])
    out[1:3] = [x[2]]
    out += [x[0]]
    del out[0]
    return out, out[-1], out[1:], out + out


def chosen(x):
    parts = []
    for i in range(3):
        part = x[i][x[i] > 2]
        if part.size:
            parts.append(part)
    return np.concatenate(parts), [p for p in parts if len(p) > 1]


def exchanged(x):
    a = [x[0] * 1.0]
    b = [x[1] * 1.0]
    a, b = b, a
    return a, b


def in_a_handler(x):
    out = [r.copy() for r in x]
    try:
        out[0] = out[7]
    except IndexError:
        out[0][0] = 44
    return out


def stored_by_an_expression(x):
    out = [x[0]]
    out[0] = x[1] * 2
    out[0] *= x[2]
    return out, x


def without_axes(x):
    out = []
    for i in range(3):
        out.append(np.array(x[i, 1]))
    return out[1], len(out)


def dict_of_rows(x):
    d = {}
    for i in range(3):
        d[i] = x[i]
    s = 0.0
    for k in d:
        s += d[k].sum()
    for k, v in d.items():
        s += k * v[0]
    d[1][0] = -1.0
    d[2] -= 5
    return s, d, x, d.get(0), 7 in d


def dict_that_changes(x):
    d = {}
    for i in range(20):
        d[i % 7] = x[i % 3] * i
    del d[3]
    d[5] += 1
    d.pop(2)
    s = 0.0
    for v in d.values():
        s += v.sum()
    e = d.copy()
    e[77] = x[0]
    return s, len(d), d, e


def large_dict(x):
    d = {}
    for i in range(100):
        d[i] = np.full(i % 4, i)
    for i in range(0, 100, 3):
        del d[i]
    for i in range(200, 300):
        d[i] = np.full(2, i)
    t = 0
    for k, v in d.items():
        t += k * v.sum()
    return t


def groups(x):
    d = {}
    for i in range(3):
        if i % 2 not in d:
            d[i % 2] = np.zeros(4)
        d[i % 2] += x[i]
    return d


def unpacked(x):
    out = []
    for i in range(2):
        out.append(x[i])
    a, b = out
    return a, b


PROGRAMS = [
    unpacked, rows, columns_that_are_changed, made_in_a_comprehension, stack_of_arrays, of_other_lengths, joined, joined_matrices, in_order, beside_numbers, never_filled,
    the_same_array_again, in_loops, of_matrices, not_contiguous, of_another_dtype, many, queue, kept_when_the_list_changes, by_another_function, slices, chosen,
    exchanged, in_a_handler, stored_by_an_expression, without_axes, dict_of_rows, dict_that_changes, large_dict, groups,
]


def check(got, want):
    if isinstance(want, (list, tuple)):
        assert type(got) is type(want) and len(got) == len(want)
        for one, other in zip(got, want):
            check(one, other)
    elif isinstance(want, dict):
        assert list(got) == list(want)
        for key in want:
            check(got[key], want[key])
    elif isinstance(want, np.ndarray):
        assert isinstance(got, np.ndarray) and got.dtype == want.dtype and got.shape == want.shape
        np.testing.assert_array_equal(got, want)
    else:
        assert got == want


@pytest.mark.distinct_cases
@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
def test_like_python(function):
    check(njit(function)(X.copy()), function(X.copy()))


@pytest.mark.parametrize("dtype", ["?", "i1", "u8", "f2", "c8", "M8[D]", "m8[s]"])
def test_dtypes(dtype):
    x = np.arange(6).reshape(2, 3).astype(dtype)
    check(njit(lambda x: [r for r in x])(x), list(x))


def test_records():
    x = np.array([[(1, 2.0), (3, 4.0)], [(5, 6.0), (7, 8.0)]], [("a", "i4"), ("b", "f8")])

    def f(x):
        out = []
        for r in x:
            out.append(r)
        out[0]["b"][1] = 9.0
        return out

    check(njit(f)(x.copy()), f(x.copy()))


def test_arrays_of_the_caller_are_views():
    x = X.copy()
    f = njit(lambda x: [r for r in x])
    out = f(x)
    out[1][0] = -7.0
    assert x[1, 0] == -7.0
    x.flags.writeable = False
    assert not any(r.flags.writeable for r in f(x))
    g = njit(lambda x, y: [y, x])
    y = np.ones((3, 4))
    assert g(x * 1, y)[0] is y


def test_memory_is_released():
    def f(x, fails):
        out = []
        for i in range(30):
            out.append(x[i % 3] * 2)
        d = {}
        for i in range(30):
            d[i % 3] = out[i]
        out[0] = out[1]
        out.pop()
        if fails:
            raise ValueError("too many")
        return out[:2], d

    compiled = njit(f)
    out, d = compiled(X, False)
    assert out[0] is not out[1] and out[0].base.refcount == out[1].base.refcount  # of one array: a MemInfo of each, whose memory both hold
    keep = out[0]
    before = keep.base.refcount
    del out, d
    gc.collect()
    assert before > keep.base.refcount == 1
    with pytest.raises(ValueError, match="too many"):
        compiled(X, True)


def number_after_array(x):
    out = []
    out.append(x[0])
    out.append(3.0)


def array_after_number(x):
    out = [1.0]
    out.append(x[0])


def more_axes(x):
    out = [x[0]]
    out.append(x)


def less_contiguous(x):
    out = []
    out.append(x[0])
    out.append(x[:, 0])


def other_dtype(x):
    out = [x[0]]
    out.append(x[0].astype(np.float32))


def without_a_key(x):
    out = [r for r in x]
    out.sort()


def searched(x):
    out = [r for r in x]
    return x[0] in out


def counted(x):
    out = [r for r in x]
    return out.count(x[0])


def compared(x):
    out = [r for r in x]
    return out == out


def in_a_set(x):
    return len({x[0]})


def as_a_key(x):
    d = {}
    d[x[0]] = 1
    return len(d)


WRONG = [
    (number_after_array, "the items of this list are arrays, but this is not one"), (array_after_number, "are numbers, but this is not one"),
    (more_axes, r"one dtype and one number of axes(.|\n)*float64\[:, ::1\], and the first one is float64\[::1\]"), (less_contiguous, r"contiguous(.|\n)*np\.ascontiguousarray"),
    (other_dtype, "one dtype and one number of axes"), (without_a_key, "arrays have no order"), (searched, "np.array_equal"), (counted, "np.array_equal"), (compared, "np.array_equal"),
    (in_a_set, "has no hash"), (as_a_key, "has no hash"),
]


@pytest.mark.distinct_cases
@pytest.mark.parametrize("function, words", WRONG, ids=[f.__name__ for f, _ in WRONG])
def test_an_item_that_does_not_fit(function, words):
    with pytest.raises(errors.TypingError, match="E120") as failed:
        njit(function)(X)
    assert re.search(words, str(failed.value)), failed.value


def test_a_read_only_array_among_others():
    y = X[0].copy()
    y.flags.writeable = False

    def f(x, y):
        out = [x]
        out.append(y)
        return out

    with pytest.raises(errors.TypingError, match="can be written to, and this one cannot"):
        njit(f)(X[0].copy(), y)
    check(njit(lambda y, x: [y, x])(y, X[0].copy()), [y, X[0]])


def repeated(x, times):
    out = [x, x, x, x]
    out.append(x)
    out.pop()
    out *= times
    return len(out)


def test_no_memory_for_the_slots():
    for n in (1 << 41, 1 << 62, (1 << 64) // 6):
        with pytest.raises(MemoryError):
            njit(lambda x, n: len([x[0]] * n))(X, n)
        with pytest.raises(MemoryError):
            njit(repeated)(X[0], n)


def test_errors_while_it_runs():
    with pytest.raises(ValueError, match="need at least one array to concatenate"):
        njit(lambda x: np.concatenate([r for r in x if r[0] > 100]))(X)
    with pytest.raises(ValueError, match="same shape"):
        njit(lambda x: np.stack([x[0, i:] for i in range(3)]))(X)
    with pytest.raises(IndexError, match="list index out of range"):
        njit(lambda x: [r for r in x][3])(X)

    def f(x):
        d = {0: x[0]}
        d[1] += x[0]
        return d

    with pytest.raises(KeyError):
        njit(f)(X)


def test_loops_over_prange_read_such_lists():
    def f(x):
        out = [np.zeros(2) for _ in range(3)]
        for i in prange(3):
            out[i][0] = x[i, 1]
        return out

    check(njit(f, parallel=True)(X), f(X))

    def g(x):
        out = [np.zeros(4) for _ in range(3)]
        for i in prange(3):
            out[i] = x[i]
        return out

    with pytest.raises(errors.UnsupportedError, match="or a list of arrays"):
        njit(g, parallel=True)(X)


def test_they_are_for_functions_called_on_the_host():
    with pytest.raises(errors.TypingError, match="E163(.|\n)*lists and dicts of arrays"):
        lw.vectorize(lambda x: len([np.zeros(2) for _ in range(3)]))(np.ones(3))

    @cuda.jit(target="cpu")
    def kernel(x):
        out = [x[1:] for _ in range(3)]
        x[0] = out[0].size

    with pytest.raises(errors.TypingError, match="E163"):
        kernel[1, 1](np.ones(3))


def test_types_in_messages():
    with pytest.raises(errors.CompileError) as failed:
        njit(lambda n: ([n * 1.5 for _ in range(n)] + [2.5], [np.ones(3) for _ in range(n)], {1: 2.5}, [(n, 1.5) for _ in range(n)]).nothing)(3)
    assert "tuple(list[float64], list[float64[::1]], dict[int64, float64], list[(int64, float64)])" in str(failed.value)

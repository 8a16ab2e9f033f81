"""Calls of forall that are refused before they run, because an index that every element uses is out of bounds; and W208."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import lanewise as lw
from lanewise import cuda


@lw.forall(ndim=2)
def step(i, j, old, new):
    n, m = old.shape
    if 0 < i < n - 1 and 0 < j < m - 1:
        new[i, j] = (old[i - 1, j] + old[i + 1, j]) / 2
    else:
        new[i, j] = old[i, j]


@lw.forall
def ahead(i, x, out):
    out[i] = x[i + 1] - x[i]


@lw.forall
def behind(i, x, out):
    out[i] = x[1 + i] + x[i - 1] + x[2]


@lw.forall
def rows(i, x, out):
    out[i] = x[i].sum()


@lw.forall
def columns(i, x, out):
    out[i] = x[1:, i].sum() + x[..., i].sum()


@pytest.mark.parametrize(("f", "space", "shapes", "said"), [
    (step, (40, 51), [(40, 50), (40, 50)], r"index 50 is out of bounds for axis 1 with size 50 \(raised in `step` at .*, element \(0, 50\)\)"),
    (step, (41, 50), [(40, 50), (40, 50)], r"index 40 is out of bounds for axis 0 with size 40 .*element \(40, 0\)"),
    (step, (40, 50), [(40, 50), (40, 49)], r"index 49 is out of bounds for axis 1 with size 49 .*element \(0, 49\)"),
    (step, (range(-41, 3), 50), [(40, 50), (40, 50)], r"index -41 is out of bounds for axis 0 with size 40 .*element \(-41, 0\)"),
    (ahead, 5, [5, 5], r"index 5 is out of bounds for axis 0 with size 5 .*element 4\)"),
    (ahead, 5, [6, 4], r"index 4 is out of bounds for axis 0 with size 4 .*element 4\)"),
    (ahead, range(0, 30, 4), [22, 40], r"index 24 is out of bounds for axis 0 with size 22 .*element 24\)|index 25 .*element 24\)"),
    (ahead, 1, [0, 1], r"index 1 is out of bounds for axis 0 with size 0 .*element 0\)"),
    (behind, 4, [2, 9], r"index 2 is out of bounds for axis 0 with size 2 .*element 1\)"),
    (behind, range(3, -11, -2), [9, 9], r"index -10 is out of bounds for axis 0 with size 9 .*element -9\)"),
    (rows, 6, [(5, 3), 6], r"index 5 is out of bounds for axis 0 with size 5 .*element 5\)"),
    (columns, 6, [(2, 5), 6], r"index 5 is out of bounds for axis 1 with size 5 .*element 5\)"),
])
def test_refused(f, space, shapes, said):
    arrays = [np.full(shape, 7.0) for shape in shapes]
    with pytest.raises(IndexError, match=said) as caught:
        f(space, *arrays)
    assert caught.value.function == f.__name__ and all((a == 7).all() for a in arrays)  # nothing has run
    with pytest.raises(IndexError, match=said):
        f.bind(space, *arrays)


@pytest.mark.parametrize(("f", "space", "shapes"), [
    (step, (40, 50), [(40, 50), (40, 50)]), (step, (7, range(3, 50)), [(40, 50), (40, 50)]), (step, (range(-40, 40), 50), [(40, 50), (40, 50)]),
    (step, (0, 10**6), [(1, 1), (1, 1)]), (ahead, 5, [6, 5]), (ahead, range(-6, 5), [6, 6]), (ahead, range(0, 24, 4), [22, 40]), (ahead, 0, [0, 0]),
    (behind, range(7, -9, -2), [9, 9]), (rows, 6, [(6, 0), 6]), (columns, 5, [(2, 5), 5]),
])
def test_taken(f, space, shapes):
    f(space, *(np.ones(shape) for shape in shapes))


def leaves(i, x, out):
    if i >= x.size:
        return
    out[i] = x[i]


def under_a_condition(i, x, out):
    if i < x.size:
        out[i] = x[i]


def in_an_expression(i, x, out):
    v = x[i] if i < x.size else 0.0
    ok = i < x.size and x[i] > 0
    if ok and i < x.size:
        out[i] = v


def in_a_loop(i, x, out):
    for k in range(i, x.size):
        out[i] += x[i]
    while i < out.size:
        out[i] = x[i]
        break


def in_one_branch(i, x, out):
    if i < x.size:
        out[i] = x[i]
    elif i < out.size:
        out[i] = 1.0


def assigned_anew(i, x, out):
    i = min(i, x.size - 1)
    out[i] = x[i]


def clipped(i, x, out):
    k = min(i, x.size - 1)
    out[k] = x[k]


def sliced(i, x, out):
    if x[i:i + 2].size > 0:
        out[i] = 1.0


def behind_a_raise(i, x, out):
    if i >= x.size:
        raise ValueError("too far")
    out[i] = x[i]


@pytest.mark.parametrize("f", [leaves, under_a_condition, in_an_expression, in_a_loop, in_one_branch, assigned_anew, clipped, sliced], ids=lambda f: f.__name__)
def test_what_not_every_element_does_is_not_refused(f):
    x, out = np.ones(5), np.zeros(5)
    lw.forall(f)(9, x, out)
    assert out.any()


def test_what_raises_first_is_raised():
    with pytest.raises(ValueError, match="too far"):
        lw.forall(behind_a_raise)(9, np.ones(5), np.zeros(9))


def helper(x, i):
    if i >= x.size:
        raise ValueError("too far")
    return x[i]


def test_an_exception_of_a_function_that_is_called_comes_first():
    with pytest.raises(ValueError, match="too far"):
        lw.forall(calls_helper)(9, np.ones(5), np.zeros(9))


def calls_helper(i, x, out):
    v = helper(x, i)
    out[i] = v + x[i]


def test_records_tuples_and_other_arguments_are_let_alone():
    @lw.forall
    def f(i, t, x, r):
        x["a"][i] = t[0] + t[1][i] + r["n"]

    a = np.zeros(4, [("a", "f8")])
    r = np.zeros((), [("n", "i8")])[()]
    f(4, (1.0, np.arange(4.0)), a, r)
    assert a["a"].tolist() == [1, 2, 3, 4]

    @lw.forall
    def g(i, x):
        x[i].a = 2.0

    g(4, a)
    with pytest.raises(IndexError, match="index 4 is out of bounds for axis 0 with size 4"):
        g(5, a)


def test_with_a_range_check_and_in_plain_python_it_is_the_same_error():
    x, out = np.ones(5), np.zeros(5)
    for f in (lw.forall(ahead.py_func, check={"bounds"}), ahead):
        with pytest.raises(IndexError, match="index 5 is out of bounds for axis 0 with size 5"):
            f(5, x, out)
    with lw.config(target="python"), pytest.raises(IndexError, match="index 5 is out of bounds for axis 0 with size 5"):
        ahead(5, x, out)


def test_arrays_of_a_device():
    if not cuda.is_available():
        pytest.skip("no CUDA device")
    x, out = cuda.to_device(np.ones(5)), cuda.to_device(np.zeros(5))
    with pytest.raises(IndexError, match=r"index 5 is out of bounds for axis 0 with size 5 \(raised in `ahead` at"):
        ahead(5, x, out)
    ahead(4, x, out)
    forced = lw.forall(ahead.py_func, target="cuda")
    with pytest.raises(IndexError, match="index 5 is out of bounds"):
        forced(5, np.ones(5), np.zeros(5))


# ---- W208 ----


def histogram(i, x, out):
    b = int(x[i] * out.size)
    if 0 <= b < out.size:
        out[b] += 1


def scatter(i, idx, out):
    out[idx[i]] += 1.0


def table(i, idx, out):
    out[idx[i], 0] -= 2.0


def own(i, idx, out):
    out[i] += idx[i]


def atomic(i, idx, out):
    cuda.atomic.add(out, idx[i], 1.0)


def only_one(i, idx, out):
    if i == 0:
        out[idx[i]] += 1.0


def warned(f, n, *args, **keywords):
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        g = lw.forall(f, **keywords)
        g(n, *args)
        g(n, *args)
    return [str(w.message) for w in seen if "W208" in str(w.message)]


@pytest.mark.parametrize(("f", "n", "args"), [
    (histogram, 2000, (np.random.default_rng(0).random(2000), np.zeros(50))), (scatter, 6, (np.arange(6) % 5, np.zeros(5))),
    (table, 100, (np.arange(100) % 7, np.zeros((9, 3)))),
], ids=["histogram", "scatter", "table"])
def test_more_updates_than_places_are_warned_of_once(f, n, args):
    (text,) = warned(f, n, *args)
    line = f.__code__.co_firstlineno + (3 if f is histogram else 1)
    assert f"line {line} of {__file__}" in text and "`out`" in text and f"`{f.__name__}`" in text and f"{n} indices" in text and "cuda.atomic.add(out, index, value)" in text
    assert warned(f, n, *args, warn=False) == []


def modulo(i, x, out):
    out[i % 4] += x[i]


def quotient(i, x, out):
    out[i // 20] += x[i]


def even(i, x, out):
    if i % 2 == 0:
        out[0] += x[i]


def all_but_the_first(i, x, out):
    if i > 0:
        out[0] += x[i]


def interior(i, x, out):
    if 0 < i < x.size - 1:
        out[0] += x[i]


def other_than(i, x, out):
    if i != 3:
        out[0] += x[i]


def truth(i, x, out):
    if i:
        out[0] += x[i]


def in_the_else(i, x, out):
    if i == 3:
        out[1] = 1
    else:
        out[0] += x[i]


def in_a_circle(i, x, out):
    t = i * 0.01
    if t * t < 0.5:
        out[0] += x[i]


@pytest.mark.parametrize("f", [modulo, quotient, even, all_but_the_first, interior, other_than, truth, in_the_else, in_a_circle], ids=lambda f: f.__name__)
def test_updates_of_several_indices_are_warned_of(f):
    (text,) = warned(f, 100, np.ones(100), np.zeros(8))
    assert "`out`" in text and "100 indices" in text and ("fewer elements" if f in (modulo, quotient) else "may hold for several") in text
    assert warned(f, 5, np.ones(100), np.zeros(8)) == []


def bump(out, k, v):
    out[k] += v


def in_a_function(i, x, out):
    bump(out, int(x[i]) % 4, 1.0)


def written_out(i, x, out):
    out[int(x[i]) % 4] = out[int(x[i]) % 4] + 1


def largest(i, x, out):
    out[i % 4] = max(out[i % 4], x[i])


def one_written_out(i, x, out):
    if i > 0:
        out[0] = out[0] + x[i]


def of_a_view(i, x, out):
    later = out[1:]
    if i % 2 == 0:
        later[0] += x[i]


def odd_ones_by_remainder(i, x, out):
    if i % 2 == 1:
        out[i % 4] += x[i]


def even_ones_by_value(i, x, out):
    if i % 2 == 0:
        out[int(x[i]) % 4] += 1


@pytest.mark.parametrize(("f", "n"), [
    (in_a_function, 100), (written_out, 100), (largest, 100), (one_written_out, 100), (of_a_view, 100), (odd_ones_by_remainder, 40000), (even_ones_by_value, 200),
], ids=lambda f: getattr(f, "__name__", None))
def test_updates_in_other_forms_are_warned_of(f, n):
    (text,) = warned(f, n, np.ones(n), np.zeros(8))
    assert f"{n} indices" in text and ("an array" if f in (in_a_function, of_a_view) else "`out`") in text
    assert warned(f, 5, np.ones(n), np.zeros(8)) == []


def strided(i, x, out):
    if i % 32 == 0:
        out[i // 32] += x[i]


def third(i, x, out):
    if i == 3:
        out[0] += x[i]


def third_moved(i, x, out):
    if i - 1 == 3:
        out[0] += x[i]


def first(i, x, out):
    if not i:
        out[0] += x[i]


def last(i, x, out):
    if i >= x.size - 1:
        out[0] += x[i]


def guarded(i, x, out):
    if i < out.size:
        out[i] += x[i]


@pytest.mark.parametrize("f", [third, third_moved, first, last, guarded], ids=lambda f: f.__name__)
def test_updates_of_one_index_are_not_warned_of(f):
    assert warned(f, 100, np.ones(100), np.zeros(8)) == []


def test_strides_and_diagonals_are_not_warned_of():
    @lw.forall(ndim=2)
    def diagonal(i, j, x, out):
        if i == j:
            out[i] += x[i]

    assert warned(strided, 256, np.ones(256), np.zeros(8)) == []
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        diagonal((50, 50), np.ones(50), np.zeros(50))


@pytest.mark.parametrize(("f", "n", "args"), [
    (scatter, 5, (np.arange(5)[::-1].copy(), np.zeros(5))), (scatter, 1, (np.zeros(1, int), np.zeros(5))), (own, 5, (np.arange(5), np.zeros(5))),
    (atomic, 100, (np.arange(100) % 5, np.zeros(5))), (histogram, 60, (np.random.default_rng(0).random(60), np.zeros(50))), (only_one, 10, (np.arange(10) % 5, np.zeros(5))),
], ids=["permutation", "one", "own", "atomic", "few", "only_one"])
def test_others_are_not_warned_of(f, n, args):
    assert warned(f, n, *args) == []


def test_w208_may_be_an_error():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(RuntimeWarning, match="W208"):
            lw.forall(scatter)(6, np.arange(6) % 5, np.zeros(5))

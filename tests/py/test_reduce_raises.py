"""Reductions whose functions raise, or are checked: the exception reaches the caller, from every kernel."""

from __future__ import annotations

import numpy as np
import pytest

import lanewise as lw

LARGE = np.full(100, 2**62)


@pytest.fixture
def place(target):
    return lw.cuda.to_device if target == "cuda" else np.asarray


def numbers(result):
    return np.asarray(result.copy_to_host() if hasattr(result, "copy_to_host") else result)


def total(**options):
    return lw.reduce(lambda a, b: a + b, **options)


def negative(a, b):
    assert a >= 0 and b >= 0, "a negative number"
    return a + b


def count(x):
    if x == 13:
        raise ValueError(f"{x} is one too many")
    return x, 1


def mean(s, n):
    if n < 2:
        raise ZeroDivisionError("too few")
    return s / n


average = lw.reduce(lambda a, b: (a[0] + b[0], a[1] + b[1]), map=count, finish=mean)

CALLS = {
    "all": lambda r, x: r(x),
    "rows": lambda r, x: r(x.reshape(4, -1), axis=1),
    "columns": lambda r, x: r(x.reshape(-1, 4), axis=0),
    "columns of many": lambda r, x: r(x.reshape(2, -1), axis=0),
    "scan": lambda r, x: r.accumulate(x),
    "exclusive scan": lambda r, x: r.accumulate(x, exclusive=True),
    "scan of columns": lambda r, x: r.accumulate(x.reshape(-1, 4), axis=0),
    "slices": lambda r, x: r.reduceat(x, [0, 3, 10]),
    "strided": lambda r, x: r(x[::2]),
    "mask": lambda r, x: r(x, where=np.arange(x.size) > 1, initial=0) if isinstance(x, np.ndarray)
    else r(x, where=lw.cuda.to_device(np.arange(x.size) > 1), initial=0),
}


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("size", [100, 100_000])
def test_of_every_kernel(call, size, place):
    checked, plain = total(check={"overflow"}), total()
    call, good, bad = CALLS[call], place(np.arange(size)), place(np.resize(LARGE, size))
    assert np.array_equal(numbers(call(checked, good)), numbers(call(plain, good)))
    for _ in range(2):
        with pytest.raises(OverflowError, match="integer overflow .raised in `<lambda>` at .*test_reduce_raises.py") as raised:
            call(checked, bad)
        assert raised.value.line == total.__code__.co_firstlineno + 1 and raised.value.function == "<lambda>"
    assert np.array_equal(numbers(call(checked, good)), numbers(call(plain, good)))


@pytest.mark.parametrize("where", [0, 1, 4_999, 9_999])
def test_one_element_of_many(where, place):
    x = np.ones(10_000)
    x[where] = -1
    with pytest.raises(AssertionError, match="a negative number .raised in `negative`"):
        lw.reduce(negative)(place(x))
    x[where] = 1
    assert numbers(lw.reduce(negative)(place(x))) == 10_000


def test_map_and_finish(place):
    assert np.array_equal(numbers(average(place(np.array([[1.0, 2.0], [3.0, 4.0]])), axis=1)), [1.5, 3.5])
    with pytest.raises(ValueError, match="^13.* is one too many .raised in `count`"):
        average(place(np.array([1.0, 13.0, 2.0])))
    with pytest.raises(ZeroDivisionError, match="too few .raised in `mean`"):
        average(place(np.array([1.0])))
    with pytest.raises(ValueError, match="one too many"):  # comes before what finish says
        average(place(np.array([13.0])))


def test_by_key(place):
    if place is np.asarray:
        pytest.skip("by_key is for device arrays")
    keys = place(np.array([1, 1, 2, 2]))
    checked = total(check={"overflow"})
    assert np.array_equal(numbers(checked.by_key(keys, place(np.arange(4)))[1]), [1, 5])
    with pytest.raises(OverflowError):
        checked.by_key(keys, place(LARGE[:4]))


def test_simulated():
    checked = total(check={"overflow"})
    assert checked._simulate(np.arange(1000)) == 499500 and checked._simulate_scan(np.arange(1000))[-1] == 499500
    for call in (lambda x: checked._simulate(x), lambda x: checked._simulate(x.reshape(4, -1), axis=0),
                 lambda x: checked._simulate_scan(x), lambda x: checked._simulate_slices(x, [0, 10]),
                 lambda x: checked._simulate_by_key(np.zeros(100, int), x)):
        with pytest.raises(OverflowError, match="integer overflow"):
            call(LARGE)


def test_types_and_identities_are_those_without_checks(place):
    checked = total(check={"overflow", "nan", "divide", "bounds", "race"})
    for dtype in "?bBhHiIlLefdFD":
        x = place(np.ones(5, dtype))
        got, wanted = numbers(checked(x)), numbers(total()(x))
        assert got.dtype == wanted.dtype and got == wanted
    assert numbers(checked(place(np.zeros(0)))) == 0 and numbers(checked(place(np.ones(3)), initial=2)) == 5
    assert numbers(total(check={"overflow"}, identity=5)(place(np.zeros(0, int)))) == 5


def test_tables(place):
    table = (1.0, 2.0, 4.0)
    look_up = lw.reduce(lambda a, b: a + b, map=lambda i: table[i], check={"bounds"})
    assert numbers(look_up(place(np.array([0, -1, 2])))) == 9
    for outside in (3, -4):
        with pytest.raises(IndexError):
            look_up(place(np.array([0, outside, 2])))


def test_not_a_number(place):
    checked = lw.reduce(lambda a, b: a + b, map=lambda x: x - x, check={"nan"})
    assert numbers(checked(place(np.ones(3)))) == 0
    with pytest.raises(FloatingPointError, match="invalid value"):
        checked(place(np.array([1.0, np.inf])))


def test_out(place):
    checked, out = total(check={"overflow"}), place(np.array(7))
    assert checked(place(np.arange(4)), out=out) is out and numbers(out) == 6
    with pytest.raises(OverflowError):
        checked(place(LARGE), out=out)
    low, high = place(np.zeros(2)), place(np.zeros(2))
    ends = lw.reduce(lambda a, b: (min(a[0], b[0]), max(a[1], b[1])), map=lambda v: (v / v * v, v), check={"divide"})
    ends(place(np.array([[1.0, 2.0], [4.0, 3.0]])), axis=1, out=(low, high))
    assert np.array_equal(numbers(low), [1, 3]) and np.array_equal(numbers(high), [2, 4])
    with pytest.raises((ValueError, TypeError), match="out= has 1 arrays|tuple of 2"):
        ends(place(np.ones(2)), out=(place(np.array(0.0)),))


def test_records(place):
    points = np.array([(1, 5.0), (2, 9.0), (13, 7.0)], [("id", "i8"), ("height", "f8")])

    def highest(a, b):
        if a.id == 13 or b.id == 13:
            raise KeyError("a point that must not be there")
        return a if a.height >= b.height else b

    found = lw.reduce(highest)
    assert numbers(found(place(points[:2])))["id"] == 2
    with pytest.raises(KeyError, match="must not be there"):
        found(place(points))


def test_the_setting(place):
    r, x = total(), place(LARGE)
    before = numbers(r(x))
    with lw.config(check="overflow"):
        for made in (r, total(), total()):
            with pytest.raises(OverflowError):
                made(x)
        assert numbers(lw.reductions.sum(x)) == before  # the library's own wrap, as NumPy's
    assert numbers(r(x)) == before
    late = total()
    with lw.config(check="overflow"):
        with pytest.raises(OverflowError):
            late(x)


def test_errors_ignored(place):
    assert numbers(lw.reduce(negative, errors="ignore")(place(np.array([1.0, -2.0])))) == -1


def test_room():
    def wide(x):
        assert x >= 0
        return x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x

    with pytest.raises(lw.errors.UnsupportedError, match="leave room for 15 numbers in an accumulator and a result, not 16"):
        lw.reduce(lambda a, b: a, map=wide)(np.ones(3))


def test_properties():
    checked = total(check={"overflow"})
    checked(np.arange(3))
    assert checked.signatures == ["int64(int64)"]


def test_sums_of_float32_are_still_told():
    def row_total(x, n):
        total = 0.0
        for k in range(n):
            total += np.float32(x)
        assert total >= 0
        return total

    with pytest.warns(lw.errors.PrecisionWarning, match="W203"):
        lw.reduce(lambda a, b: a + b, map=row_total)(np.ones(3, "f4"), np.full(3, 1000))

"""Arrays that objects hold which a function or `__init__` changes: their memory lives as long as an object has them, and no longer."""
import numpy as np
import pytest

import lanewise as lw


class Bag:
    def __init__(self, n):
        self.items = np.zeros(n)
        self.size = 0

    def grow(self):
        bigger = np.zeros(2 * len(self.items))
        bigger[:self.size] = self.items[:self.size]
        self.items = bigger

    def push(self, x):
        if self.size == len(self.items):
            self.grow()
        self.items[self.size] = x
        self.size += 1
        return self


@lw.njit
def made(n):
    return Bag(n)


@lw.njit
def kept(n):
    """`np.ones` takes the memory that is free, so what `__init__` made must not be."""
    bag = Bag(n)
    other = np.ones(n)
    return bag.items.sum() + other.sum()


@lw.njit
def replaced(n):
    bag = Bag(1)
    bigger = np.ones(n)
    bag.items = bigger
    return bag


@lw.njit
def pushed(n):
    bag = Bag(1)
    for i in range(n):
        bag.push(1.0 * i)
    return bag


@lw.njit
def dropped(n):
    bag = Bag(1)
    for i in range(n):
        bag.push(1.0 * i)
        bag.push(2.0)
    return bag.items[:bag.size].sum()


@lw.njit
def raised(n):
    bag = Bag(1)
    for i in range(n):
        bag.push(1.0 * i)
    if n > 0:
        raise ValueError("no")
    return bag.size


@pytest.mark.parametrize("f, value", [
    (made, lambda bag: bag.items.tolist() == [0.0] * 9), (kept, lambda x: x == 9.0), (replaced, lambda bag: bag.items.tolist() == [1.0] * 9),
    (pushed, lambda bag: bag.items[:9].tolist() == list(range(9))), (dropped, lambda x: x == 36.0 + 18.0), (raised, None),
])
def test_memory(f, value):
    lw.runtime.memsys_enable_stats()
    try:
        before = lw.runtime.rtsys.get_allocation_stats()
        for _ in range(20):
            if value is None:
                with pytest.raises(ValueError):
                    f(9)
            else:
                assert value(f(9))
        after = lw.runtime.rtsys.get_allocation_stats()
        assert after.alloc - before.alloc == after.free - before.free > 0
    finally:
        lw.runtime.memsys_disable_stats()


def test_in_kernels():
    @lw.forall
    def k(i, out):
        bag = Bag(1)
        for j in range(9):
            bag.push(1.0 * j)
        out[i] = bag.items[:bag.size].sum()

    out = np.zeros(1000)
    k(1000, out)
    assert (out == 36.0).all()


# ---- fields to which expressions of whole arrays are assigned ----


class Path:
    def __init__(self, x):
        self.x = x + 1
        self.scale = 2.0

    @property
    def doubled(self):
        return self.x * 2

    @doubled.setter
    def doubled(self, value):
        self.x = value / 2

    def step(self):
        self.x = self.x[1:] + self.x[:-1]
        return self


def in_init(x):
    return Path(x).x


def in_loop(x):
    path = Path(x)
    for _ in range(3):
        path.step()
    return path.x


def by_setter(x):
    path = Path(x)
    path.doubled = x + 3
    return path.x


def two_targets(x):
    path, other = Path(x), Path(x)
    path.x = other.x = x - 1
    path.x += other.x
    return other.x


def tuple_of_targets(x):
    path, other = Path(x), Path(x)
    path.x, other.x = x * 2, path.x / 2
    return path.x - other.x


def in_branches(x):
    path = Path(x)
    if x[0] >= 0:
        path.x = x * x
    else:
        path.x = -x
    return path.x


def other_dtype(x):
    path = Path(x)
    path.x = path.x * 1j
    return path.x


def in_place(x):
    path = Path(x)
    path.x = x
    path.x *= 3
    path.x -= path.x / 2
    return x


def a_number(x):
    path = Path(x)
    path.scale *= x[0] + 1
    path.scale = path.scale + 1
    return path.scale


def of_an_argument(path):
    path.x = path.x - 1
    path.x += path.x
    path.scale += 1


@pytest.mark.parametrize("f", [in_init, in_loop, by_setter, two_targets, tuple_of_targets, in_branches, other_dtype, in_place, a_number])
def test_fields_keep_new_arrays(f):
    compiled = lw.njit(f)
    lw.runtime.memsys_enable_stats()
    try:
        before = lw.runtime.get_allocation_stats()
        for _ in range(20):
            got, wanted = compiled(np.arange(6.0)), f(np.arange(6.0))
            assert np.array_equal(got, wanted) and np.asarray(got).dtype == np.asarray(wanted).dtype
        del got
        after = lw.runtime.get_allocation_stats()
        assert after.alloc - before.alloc == after.free - before.free > 0
    finally:
        lw.runtime.memsys_disable_stats()


def test_fields_of_arguments():
    got, wanted = Path(np.arange(3.0)), Path(np.arange(3.0))
    first = got.x
    lw.njit(of_an_argument)(got)
    of_an_argument(wanted)
    assert (got.x == wanted.x).all() and got.scale == wanted.scale == 3.0
    assert (first == [1, 2, 3]).all()


@pytest.mark.parametrize("check", [(), "race"])
def test_fields_in_kernels(check):
    @lw.forall(check=check)
    def k(i, x, out):
        path = Path(x[i])
        path.x = path.x * 2
        path.x += 1
        out[i] = path.x.sum()

    out = np.zeros(4)
    k(4, np.arange(12.0).reshape(4, 3), out)
    assert (out == (np.arange(12.0).reshape(4, 3) * 2 + 3).sum(1)).all()


@pytest.mark.parametrize("f", [
    lambda x: add_to_number(x), lambda x: add_to_number(x + 1), lambda x: add_to_field(x), lambda x: add_to_field(x * 2),
])
def test_an_array_is_not_added_to_a_number(f):
    with pytest.raises(lw.errors.UnsupportedError, match=r"E160: `\+=` with an array would make `"):
        lw.njit(f)(np.arange(3.0))


def add_to_number(x):
    s = 1.0
    s += x
    return s


def add_to_field(x):
    path = Path(x)
    path.scale += x
    return path.scale


def test_arrays_without_axes_are_numbers():
    @lw.njit
    def f(z):
        path = Path(1.0)
        path.scale = z + 1
        path.scale += z
        path.scale -= z * 3
        return path.scale

    assert f(np.array(2.0)) == -1.0

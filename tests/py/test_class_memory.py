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

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
    """np.ones takes free memory, and would overwrite the array of `__init__` if that were freed too early."""
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


# ---- objects whose fields stay, change and swap: references are lent, moved and counted ----


class Pair:
    def __init__(self, x, y):
        self.x = x
        self.y = y
        self.n = 0

    def note(self):
        self.n += 1

    def swap(self):
        self.x, self.y = self.y, self.x
        self.n += 1

    def again(self):
        self.x = self.y

    def renew(self, k):
        if k % 3 == 0:
            self.x = self.y + k
        elif k % 3 == 1:
            self.note()
        else:
            self.swap()
        self.note()

    def renewed(self, k):
        self.renew(k)
        self.note()
        return self.x


class Around:
    def __init__(self, x):
        self.inner = Pair(x + 1, x + 2)
        self.other = Pair(x + 3, x + 4)


def same(x):
    return x


def changes_in_a_loop(x):
    pair = Pair(x + 1, x + 2)
    total = 0.0
    for k in range(12):
        pair.renew(k)
        total += (pair.x - 2 * pair.y + np.ones(6)).sum()
    return pair.x + total


def changes_in_a_row(x):
    pair = Pair(x + 1, x + 2)
    pair.note()
    pair.swap()
    first = pair.x
    pair.again()
    pair.note()
    pair.renew(0)
    pair.x = np.ones(6) + pair.x
    pair.note()
    pair.swap()
    return first + pair.x * 3 - pair.y * pair.n


def some_paths(x):
    pair = Pair(x + 1, x + 2)
    for k in range(7):
        if k % 2:
            pair.swap()
        else:
            pair.note()
            pair.y = x * k
        pair.n += 1
        if k == 5:
            pair = Pair(pair.y, pair.x + 1)
    return pair.x - pair.y * pair.n + np.ones(6)


def results_beside_changes(x):
    pair = Pair(x + 1, x + 2)
    total = np.zeros(6)
    for k in range(9):
        total += pair.renewed(k) + np.ones(6)
    y = pair.renewed(2)
    z = pair.renewed(0)
    return total + y - 3 * z


def inside_another(x):
    around = Around(x)
    for k in range(9):
        around.inner.renew(k)
        around.other.swap()
    around.inner.again()
    around.other.x = around.inner.renewed(3)
    return around.inner.x - 2 * around.inner.y + 3 * around.other.x - 5 * around.other.y + around.inner.n


def new_arrays_of_variables(x):
    y = x + 1
    z = y
    total = np.zeros(6)
    for k in range(5):
        y = same(y + k)
        w = z
        z = y - 1
        total += w + y + z + np.ones(6)
        z = same(z)
    a = same(y)
    b = a
    a = same(a + 1)
    return total + a + b - y


def pairs_of_variables(x):
    y, z = x + 1, x + 2
    for k in range(5):
        y, z = same(z), y + k
        c = (y, z)
        y = same(c[1]) * 2
    return y - 3 * z + c[0]


def lists_and_tables(x):
    made, table, total = [], {}, 0.0
    for k in range(40):
        made.append(x[k % 6] + k)
        table[k % 7] = made[k // 2]
        if k % 11 == 10:
            made = made.copy()
            made.append(1.0)
        if k % 13 == 12:
            del table[k % 7]
    for k in range(5):
        total += made.pop() * (k + 1) + np.ones(3).sum()
    for key in table:
        total += key * table[key]
    return total


@pytest.mark.parametrize("f", [changes_in_a_loop, changes_in_a_row, some_paths, results_beside_changes, inside_another, new_arrays_of_variables,
                               pairs_of_variables, lists_and_tables])
def test_references_that_move(f):
    test_fields_keep_new_arrays(f)


def test_a_method_that_changes_a_number_counts_nothing():
    @lw.njit
    def f(x, n):
        pair = Pair(x, x)
        for _ in range(n):
            pair.note()
        return pair.n

    assert f(np.ones(3), 5) == 5
    text = "".join(f.inspect_llvm().values())
    assert "call void @lw_memory_retain" not in text and "atomicrmw add" not in text


def test_append_counts_nothing_but_where_the_list_grows():
    @lw.njit
    def f(n):
        out = []
        for k in range(n):
            out.append(k)
        return len(out)

    assert f(100) == 100
    text = "".join(f.inspect_llvm().values())
    assert text.count("@lw_memory_retain(") < 8

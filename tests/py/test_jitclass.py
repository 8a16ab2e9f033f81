"""lanewise.experimental.jitclass: types of fields, compiled methods, and what it refuses."""

from typing import Dict, List

import numpy as np
import pytest

import lanewise as lw
from lanewise import float32, float64, int32, int64, types
from lanewise.experimental import jitclass


@jitclass([("value", int32), ("array", float32[:])])
class Bag:
    def __init__(self, value):
        self.value = value
        self.array = np.zeros(value, dtype=np.float32)

    @property
    def size(self):
        return self.array.size

    def increment(self, x):
        for i in range(self.size):
            self.array[i] += x
        return self.array

    def set(self, x):
        self.value = x

    @staticmethod
    def add(x, y):
        return x + y


def test_numbas_example():
    bag = Bag(4)
    assert isinstance(bag, Bag) and bag.value == 4 and bag.size == 4 and bag.array.dtype == np.float32
    assert bag.increment(3).tolist() == [3] * 4 and bag.increment(6).tolist() == bag.array.tolist() == [9] * 4
    assert bag.add(1, 1) == 2 and Bag.add(1, 2) == 3 and isinstance(vars(Bag)["increment"], lw.Kernel)


def test_fields_have_the_types_of_the_spec():
    bag = Bag(2)
    bag.set(2**32 + 5)
    assert bag.value == 5  # as in numba, and as in an array of int32
    with pytest.raises(lw.errors.TypingError, match="E142: float"):
        bag.set(0.5)
    bag.value = 2**40
    with pytest.raises(TypeError, match="the field `value` of `Bag` is registered as int32, and is 1099511627776"):
        bag.increment(1)


@jitclass
class Counter:
    value: int

    def __init__(self):
        self.value = 0

    def get(self):
        before = self.value
        self.value += 1
        return before


@jitclass
class Turns:
    counter: Counter
    items: float64[:]

    def __init__(self, items):
        self.items = items
        self.counter = Counter()

    def get(self):
        return self.items[self.counter.get() % len(self.items)]


def test_spec_by_its_name_only():
    @jitclass(spec=[("n", int32)])
    class Counter:
        def __init__(self, n):
            self.n = n

    assert lw.njit(lambda c: c.n + 1)(Counter(2)) == 3
    with pytest.raises(TypeError, match="the type of the field `n`"):
        jitclass(spec=[("n", 3)])(Counter)


def test_annotations_and_objects_in_fields():
    turns = Turns(np.array([3.0, 2.0]))
    assert [turns.get() for _ in range(3)] == [3.0, 2.0, 3.0] and turns.counter.value == 3


@jitclass({"mean": float64, "n": int64, "ends": types.UniTuple(float64, 2), "never_assigned": int64})
class Mean:
    def __init__(self):
        self.mean = 0
        self.n = 0
        self.ends = (0.0, 0.0)

    def push(self, x):
        self.n += 1
        self.mean += (x - self.mean) / self.n
        self.ends = (min(self.ends[0], x), max(self.ends[1], x))
        return self

    def __len__(self):
        return self.n

    def __add__(self, other):
        made = Mean()
        made.n = self.n + other.n
        return made


def test_objects_in_and_from_compiled_functions():
    @lw.njit
    def feed(mean, x):
        for v in x:
            mean.push(v)
        return Mean().push(2)

    mean = Mean()
    made = feed(mean, np.array([1.0, 2.0, 6.0]))
    assert mean.mean == 3.0 and len(mean) == 3 and mean.ends == (0.0, 6.0) and type(made) is Mean and made.mean == 2.0 and (mean + made).n == 4
    assert mean.push(3.0) is mean and Mean.class_type.instance_type is Mean


@pytest.mark.parametrize("make, says", [
    (lambda c: jitclass([("a", List[int])])(c), "the field `a` of `C` is a list, .*`lanewise.typed.List`"), (lambda c: jitclass(c, {"a": Dict[int, int]}), "is a dict"),
    (lambda c: jitclass([("a", 3)])(c), "the type of the field `a` of `C` must be a type of lanewise.types"), (lambda c: jitclass(3)(c), "spec must be a list of pairs"),
    (lambda c: jitclass([(1, int32)])(c), "the name of a field must be a str"), (lambda c: jitclass([], c)(c), "the first argument must be a class"),
])
def test_bad_specs(make, says):
    class C:
        def __init__(self):
            self.a = 0

    with pytest.raises(TypeError, match=says):
        make(C)


def test_other_names_of_numbas_module():
    with pytest.raises(ImportError, match="lanewise.experimental has no 'structref', which numba has"):
        exec("from lanewise.experimental import structref")
    with pytest.raises(ImportError, match="from lanewise.experimental import jitclass"):
        exec("from lanewise import jitclass")

"""Objects from Python whose fields a function of lw.jit assigns: what the same function does in Python, or an error."""
import enum
import math
from dataclasses import dataclass, field

import numpy as np
import pytest

import lanewise as lw
from lanewise import njit


class Body:
    def __init__(self, x, v):
        self.x = x
        self.v = v
        self.n = 0

    def step(self, dt):
        self.x += self.v * dt
        self.n += 1

    @property
    def speed(self):
        return abs(self.v)

    @speed.setter
    def speed(self, value):
        self.v = math.copysign(value, self.v)

    @njit
    def run(self, n):
        for _ in range(n):
            self.step(0.5)
        return self


class Bag:
    """The most frequent use of jitclass: an array that grows, and a count."""

    def __init__(self, n):
        self.items = np.zeros(n)
        self.size = 0

    def push(self, x):
        if self.size == len(self.items):
            bigger = np.zeros(2 * len(self.items))
            bigger[:self.size] = self.items
            self.items = bigger
        self.items[self.size] = x
        self.size += 1


@dataclass
class Pair:
    a: Body
    b: Body
    place: tuple = (0.0, 0)
    data: np.ndarray = field(default_factory=lambda: np.zeros(3))


class Slots:
    __slots__ = ("x", "y")

    def __init__(self, x, y):
        self.x = x
        self.y = y


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


def state(value):
    if isinstance(value, (Body, Bag, Pair)):
        return {name: state(item) for name, item in vars(value).items()}
    if isinstance(value, Slots):
        return {"x": state(value.x), "y": state(value.y)}
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, tuple):
        return tuple(map(state, value))
    return type(value), value


def advance(b, n):
    for _ in range(n):
        b.step(0.1)
    return b.x


def through_property(b):
    b.speed = 7.0
    b.speed += 1.0


def swap(p, q):
    p.x, q.x = q.x, p.x


def nested(pair):
    pair.a.step(1.0)
    pair.b.x = 2.0 * pair.a.x
    pair.place = (pair.a.x, 3)
    pair.data[0] = 5.0


def helper(b):
    b.v = -b.v
    b.step(1.0)
    return b


def by_helper(b):
    helper(b)
    c = helper(b)
    return c.n


def in_branches(b, up):
    if up:
        b.x += 1.0
        return 1
    b.v = 0.0
    return 2


def new_field(b):
    b.extra = 4.0
    b.more = (1, 2.5)


def test_a_new_field():
    b, expected = Body(1.0, 2.0), Body(1.0, 2.0)
    new_field(expected)
    njit(new_field)(b)
    assert state(b) == state(expected)


def slots(s):
    s.x, s.y = s.y, s.x


CASES = [
    (advance, lambda: (Body(1.0, 2.0), 10)), (advance, lambda: (Body(1.0, 2.0), 0)), (through_property, lambda: (Body(1.0, -2.0),)),
    (swap, lambda: (Body(1.0, 2.0), Body(3.0, 4.0))), (nested, lambda: (Pair(Body(1.0, 2.0), Body(3.0, 4.0)),)), (by_helper, lambda: (Body(1.0, 2.0),)),
    (in_branches, lambda: (Body(1.0, 2.0), True)), (in_branches, lambda: (Body(1.0, 2.0), False)),
    (slots, lambda: (Slots(1.0, 2),)), (slots, lambda: (Slots(1, 2.5),)), (swap, lambda: (Body(np.float32(1), 2.0), Body(np.float32(3), 4.0))),
    (swap, lambda: (Body(np.int64(1), 2.0), Body(np.int64(3), 4.0))), (swap, lambda: (Body(np.int8(1), 2.0), Body(np.int8(3), 4.0))),
    (swap, lambda: (Body(1j, 2.0), Body(2j, 4.0))), (swap, lambda: (Body(np.complex64(1j), 2.0), Body(np.complex64(2), 4.0))),
    (swap, lambda: (Body(True, 2.0), Body(False, 4.0))), (swap, lambda: (Body(float("nan"), 2.0), Body(-0.0, 4.0))),
    (swap, lambda: (Body(np.ones(2), 2.0), Body(np.zeros(3), 4.0))),
]


@pytest.mark.parametrize("function, make", CASES)
def test_like_python(function, make):
    compiled, args, expected = njit(function), make(), make()
    for _ in range(3):
        wanted = function(*expected)
        assert compiled(*args) == wanted
        assert str(list(map(state, args))) == str(list(map(state, expected)))


def test_a_bag_that_grows():
    @njit
    def fill(bag, n):
        for i in range(n):
            bag.push(0.5 * i)

    bag = Bag(2)
    items = bag.items
    fill(bag, 2)
    assert bag.items is items and bag.size == 2 and items.tolist() == [0.0, 0.5]
    fill(bag, 4)
    assert bag.items is not items and bag.size == 6 and bag.items.tolist() == [0, 0.5, 0, 0.5, 1, 1.5, 0, 0]
    for _ in range(50):
        fill(bag, 20)
    assert bag.size == 1006 and bag.items[1005] == 9.5


def test_nothing_leaks():
    @njit
    def fill(bag, n, fails):
        for i in range(n):
            bag.push(0.5 * i)
        if fails:
            raise ValueError("no")

    lw.runtime.memsys_enable_stats()
    try:
        before = lw.runtime.rtsys.get_allocation_stats()
        for fails in (False, True):
            bag = Bag(1)
            for _ in range(5):
                try:
                    fill(bag, 9, fails)
                except ValueError:
                    pass
        del bag
        after = lw.runtime.rtsys.get_allocation_stats()
        assert after.alloc - before.alloc == after.free - before.free > 0
    finally:
        lw.runtime.memsys_disable_stats()


def test_identities():
    pair = Pair(Body(1.0, 2.0), Body(3.0, 4.0))
    a, data, place = pair.a, pair.data, pair.place

    @njit
    def f(pair):
        pair.a.x = 9.0

    f(pair)
    assert pair.a is a and a.x == 9.0 and pair.data is data and pair.place == place


def test_the_argument_as_result():
    b = Body(1.0, 2.0)
    assert b.run(4) is b and b.x == 5.0 and b.n == 4

    @njit
    def other(p, q):
        p.x = 3.0
        return q

    q = Body(1.0, 1.0)
    assert other(b, q).x == 1.0 and b.x == 3.0

    @njit
    def new(p):
        p.x = 4.0
        return Body(p.x, p.v)

    made = new(b)
    assert made is not b and made.x == 4.0 == b.x


def test_keyword_arguments():
    b = Body(1.0, 2.0)

    @njit
    def f(k, *, body):
        body.x = k

    f(body=b, k=8.0)
    assert b.x == 8.0


def test_an_exception_leaves_the_objects_as_they_were():
    @njit
    def f(b, fails):
        b.x = 100.0
        if fails:
            raise ValueError("no")
        b.v = 200.0

    b = Body(1.0, 2.0)
    with pytest.raises(ValueError, match="no"):
        f(b, True)
    assert (b.x, b.v) == (1.0, 2.0)
    f(b, False)
    assert (b.x, b.v) == (100.0, 200.0)


def test_one_object_in_two_places():
    b, calls = Body(1.0, 2.0), 0
    both, lone, in_pair = njit(swap), njit(advance), njit(lambda pair, p: p.step(1.0))
    shared = Pair(b, b)
    for call in (lambda: both(b, b), lambda: njit(nested)(shared), lambda: in_pair(Pair(b, Body(1.0, 1.0)), b)):
        with pytest.raises(TypeError, match="two places of the arguments(.|\n)*pass a copy"):
            call()
        calls += 1
    assert b.x == 1.0 and calls == 3
    in_pair(Pair(Body(0.0, 1.0), Body(1.0, 1.0)), b)
    assert b.x == 3.0 and lone(b, 0) == 3.0

    @njit
    def reads(p, q):
        return p.x + q.x

    assert reads(b, b) == 6.0  # nothing is changed


@njit
def replaces(pair):
    pair.a = Body(5.0, 6.0)


@njit
def exchanges(pair):
    pair.a, pair.b = pair.b, pair.a


@njit
def holds(pair):
    pair.b.x = 1.0
    return pair, 1


@njit
def recurs(b, n):
    b.x += 1.0
    if n > 0:
        recurs(b, n - 1)


@njit
def function(b):
    b.x = abs


@njit
def aliased(b):
    c = b
    b.x = 1.0
    return c.x


def test_recursion():
    body = Body(1.0, 2.0)
    recurs(body, 3)
    assert body.x == 5.0


@pytest.mark.parametrize("f, args, said", [
    (replaces, lambda: (Pair(Body(1.0, 2.0), Body(3.0, 4.0)),), "changes which objects the argument `pair` has"),
    (exchanges, lambda: (Pair(Body(1.0, 2.0), Body(3.0, 4.0)),), "E165"),
    (holds, lambda: (Pair(Body(1.0, 2.0), Body(3.0, 4.0)),), "E165"),
    (function, lambda: (Body(1.0, 2.0),), "its field `x` is a type, a function or a module"), (aliased, lambda: (Body(1.0, 2.0),), "may have another name"),
])
def test_refused(f, args, said):
    args = args()
    before = str(list(map(state, args)))
    with pytest.raises(lw.errors.CompileError, match="E165") as caught:
        f(*args)
    assert said in str(caught.value) and str(list(map(state, args))) == before


def test_members_and_none():
    @njit
    def f(b, i):
        b.x = Colour.BLUE if i == 1 else Colour.RED
        b.v = None

    b = Body(Colour.RED, 1.0)
    f(b, 1)
    assert b.x is Colour.BLUE and b.v is None
    f(b, 2)
    assert b.x is Colour.RED


def test_registered_fields_keep_their_types():
    @lw.extending.register(x=lw.float32)
    class Point:
        def __init__(self, x):
            self.x = x

    @njit
    def f(p):
        p.x += 0.1

    p = Point(1.0)
    f(p)
    assert type(p.x) is float and p.x == float(np.float32(1.0) + np.float32(0.1))


def test_arrays_that_are_copied():
    bag = Bag(2)
    bag.items = bag.items.astype(">f8")
    with pytest.raises(TypeError, match="byte order"):
        njit(lambda bag: bag.push(1.0))(bag)


def test_elsewhere_it_stays_an_error():
    def k(i, b):
        b.x = 1.0

    b = Body(0.0, 1.0)
    for call in (lambda: lw.forall(k)(3, b), lambda: lw.cuda.jit(k, target="cpu")[1, 1](0, b)):
        with pytest.raises(lw.errors.CompileError, match="E165(.|\n)*the caller's object would stay as it is"):
            call()
    assert b.x == 0.0


def test_python_target():
    b = Body(1.0, 2.0)
    with lw.config(target="python"):
        assert njit(advance)(b, 10) == b.x and b.n == 10


class Items:
    def __init__(self, x):
        self.x = x

    def __setitem__(self, i, value):
        self.x[i] = value


def set_item(x):
    items = Items(x)
    items[0] = 3.0
    return items.x


def add_to_item(x):
    items = Items(x)
    items[0] += 3.0
    return items.x


@pytest.mark.parametrize("f", [set_item, add_to_item])
def test_items_of_objects_are_not_assigned(f):
    with pytest.raises(lw.errors.TypingError, match="E165: an item of a `Items` is assigned") as caught:
        lw.njit(f)(np.zeros(3))
    assert "`operator.setitem`" in str(caught.value)


def test_items_of_numbers_are_not_assigned_on_the_host():
    @lw.njit
    def f(n):
        n[0] = 2
        return n

    with pytest.raises(lw.errors.TypingError, match="E121: `n` is not an array"):
        f(3)


class Account:
    def __init__(self, value):
        self.value = value

    @lw.njit
    def add(self, x):
        self.value += self.scaled(x)
        return self

    @lw.njit
    def scaled(self, x):
        return self.rate() * x + self.double(1)

    @property
    @lw.njit
    def whole(self):
        return self.value * 1.0

    @staticmethod
    @lw.njit
    def double(x):
        return 2 * x

    @classmethod
    @lw.njit
    def made(cls, x):
        return cls(x)

    @lw.njit
    def rate():  # no method: it has no `self`
        return 3


@pytest.mark.parametrize("call", [lambda a: a.add(5), lambda a: lw.njit(lambda b: b.add(5))(a)])
def test_decorated_methods_call_each_other(call):
    account = Account(1)
    assert call(account) is account and account.value == 18
    assert lw.njit(lambda a: a.whole + a.made(2).value + a.double(4))(account) == 28.0

"""Members of IntEnum classes that are chosen at run time, and the methods of members of any class."""

from __future__ import annotations

import dataclasses
import enum

import numpy as np
import pytest

import lanewise as lw
from lanewise import cuda, njit


class State(enum.IntEnum):
    IDLE = 0
    RUN = 3
    DONE = 7
    OVER = 7  # an alias

    @property
    def busy(self):
        return self is State.RUN

    def next(self):
        return State.RUN if self is State.IDLE else State.DONE

    def plus(self, k, *, times=1):
        return self + k * times

    @staticmethod
    def start():
        return State.IDLE

    @classmethod
    def first(cls):
        return cls.RUN

    def _tens(self):
        return self.value * 10

    def more(self):
        return self._tens() + 1


class Far(enum.IntEnum):
    LOW = -(2**62)
    HIGH = 2**62


class Color(enum.Enum):
    RED = 1
    BLUE = 5

    def twice(self):
        return self.value * 2

    @property
    def is_red(self):
        return self is Color.RED

    def other(self):
        return Color.BLUE if self is Color.RED else Color.RED


class Shape(enum.Enum):
    DOT = 1
    LINE = 2


class Holds(enum.Enum):
    A = Shape.DOT


class Odd(enum.IntEnum):
    """An enum whose values are not the numbers of its members."""

    def __new__(cls, number):
        made = int.__new__(cls, number)
        made._value_ = f"no {number}"
        return made

    A = 1
    B = 2


class Rights(enum.IntFlag):
    R = 1
    W = 2


@dataclasses.dataclass
class Job:
    state: State
    color: Color


def pick(x):
    return State.IDLE if x == 0 else State.RUN if x > 0 else State.DONE


def color(x):
    return Color.RED if x > 0 else Color.BLUE


def values(x):
    s = pick(x)
    return s.value, s.value + 1, s, s + 1, -s, int(s), s == 3, s > State.IDLE, s / 2


def identity(x):
    s = pick(x)
    return s is State.RUN, s is not State.RUN, s is pick(-x), s in (State.IDLE, State.DONE), s in State, isinstance(s, State), isinstance(s, int)


def machine(x):
    s, total = State.IDLE, 0
    for _ in range(abs(x) + 2):
        if s == State.IDLE:
            s = State.RUN
        elif s is State.RUN:
            s = State.DONE
        total += s.value
    return s, total, s.value, s.busy


def methods(x):
    s = pick(x)
    return s.busy, s.next(), s.next().next(), s.plus(2), s.plus(2, times=x), s.start(), s.first(), s.more(), s.next().value


def methods_of_others(x):
    c = color(x)
    return c.twice(), c.is_red, c.other(), c.other().other() is c, c.other().twice()


def by_value(x):
    return State(pick(x).value), State(pick(x)), State(3), State(7.0), Color(color(x)), Color(Color.RED)


def others(x):
    c = color(x)
    return c in Color, c in Shape, c not in Shape, c in State, Color.RED in Shape, Color.RED in Color


def larger(x):
    return max(pick(x), State.RUN), min(pick(x), State.RUN), pick(x) or State.DONE, pick(x) and State.DONE


def far(x):
    f = Far.LOW if x else Far.HIGH
    return f, f.value, f is Far.LOW, bool(f)


def recursive(x):
    def down(s, n):
        return s if n == 0 else down(s.next(), n - 1)

    return down(State.IDLE, abs(x)), down(State.IDLE, 3).value


@pytest.mark.parametrize("f", [values, identity, machine, methods, methods_of_others, by_value, others, larger, far, recursive], ids=lambda f: f.__name__)
def test_as_in_python(f):
    compiled = njit(f)
    for x in (0, 1, -1):
        assert repr(compiled(x)) == repr(f(x))


def test_members_as_arguments():
    f = njit(lambda s, c: (s.value, s.name == "RUN", s.busy, s.next(), s.more(), c.value, c.twice(), c.other(), c.is_red))
    for s in State:
        for c in Color:
            assert repr(f(s, c)) == repr(f.py_func(s, c))


def test_in_tuples_and_objects():
    def step(job, pair):
        if job.state is State.RUN:
            job = Job(State.DONE, Color.BLUE)
        return job.state.value, job.state.next(), job.color.twice(), pair[0].value, pair[0].next(), pair[1]

    for s in State:
        for c in Color:
            assert njit(step)(Job(s, c), (s, 2)) == step(Job(s, c), (s, 2))
    assert njit(lambda t: t[0] | 4)((Rights.R | Rights.W, 1)) == 7


def test_arrays_and_elements(target):
    @lw.vectorize
    def after(x):
        s = State(x)
        return s.next().value + color(x - 1).twice()

    x = np.array([0, 3, 7], np.int16)
    place = cuda.to_device if target == "cuda" else np.array
    got = after(place(x))
    assert np.asarray(got.copy_to_host() if target == "cuda" else got).tolist() == [13, 9, 9]

    @cuda.jit
    def store(states, out):
        i = cuda.grid(1)
        if i < states.size:
            s = State(states[i]).next()
            states[i], out[i] = s, s.value * 100 + color(i).twice()

    out = np.zeros(3)
    store[1, 32](x, out)
    assert x.tolist() == [3, 7, 7] and out.tolist() == [310, 702, 702]
    assert lw.compile(store, "void(int16[:], float64[:])", target="sm_90", output="cubin")


def test_declared_results_and_other_typing():
    """A signature that says int64 gives numbers; with numba's typing ints are int64, and members only while they are known."""
    declared = njit("int64(int64)")(pick)
    assert declared(1) == 3 and type(declared(1)) is int
    assert njit(lambda s: (s.value, s.name == "RUN"), typing="numba")(State.RUN) == (3, True)
    assert type(njit(pick, typing="numba")(1)) is int


def test_a_changed_method_is_compiled_again():
    class Mode(enum.Enum):
        A = 1
        B = 2

        def weight(self):
            return 1

    f = njit(lambda x: (Mode.A if x else Mode.B).weight())
    assert f(1) == 1
    Mode.weight = lambda self: self.value * 5
    assert f(1) == 5 and f(0) == 10


@pytest.mark.parametrize("f, x, says", [
    (lambda x: State(x), 8, "8 is not a valid State"),
    (lambda x: State(x), -1, "-1 is not a valid State"),
    (lambda x: State(x), 2.5, "2.5 is not a valid State"),
    (lambda x: Color(x), 7, "7 is not a valid Color"),
    (lambda x: Color(7), 0, "7 is not a valid Color"),
    (lambda x: Color(x + 1j), 2.0, "is not a valid Color"),
])
def test_no_member_has_the_value(f, x, says):
    with pytest.raises(ValueError, match=says):
        njit(f)(x)
    with pytest.raises(ValueError, match="is not a valid"):
        f(x)


@pytest.mark.parametrize("f, code, text", [
    (lambda x: pick(x).name, "E104", r"`.name` of a member that is known only at run time(?s:.)*member of `State`"),
    (lambda x: pick(x).other, "E161", "no attribute `other`(?s:.)*member of `State`"),
    (lambda x: color(x).third(), "E161", "no method `third`(?s:.)*the object is Color"),
    (lambda x: color(x).twice, "E165", "`twice` of `Color` is not called"),
    (lambda x: Color(Shape.DOT if x else Shape.LINE), "E120", r"`Color\(...\)` finds a member by a number(?s:.)*this is Shape"),
    (lambda x: color(x) in Holds, "E120", "`in` needs a tuple"),
    (lambda x: (Odd.A if x else Odd.B).value, "E161", "no attribute `value`"),
    (lambda x: pick(x) is x, "E122", "`is` on numbers"),
])
def test_what_is_refused(f, code, text):
    with pytest.raises(lw.errors.CompileError, match=text) as caught:
        njit(f)(1)
    assert caught.value.code == code

"""Members of enum classes that are chosen at run time: they are values like numbers, and come back as the very members."""

from __future__ import annotations

import dataclasses
import enum
import gc
import typing

import numpy as np
import pytest

import lanewise as lw
from lanewise import cuda, njit


class Color(enum.Enum):
    RED = 1
    GREEN = 2
    BLUE = 3
    ROT = 1  # an alias


class Shake(enum.Enum):
    MINT = 1
    VANILLA = 2


class Planet(enum.Enum):
    EARTH = (5.976e24, 6.37814e6)
    MARS = (6.421e23, 3.3972e6)


class Mixed(enum.Enum):
    A = 1
    B = "text"
    C = [1]


class Halves(enum.Enum):
    A = 1
    B = 2.5


class Falsy(enum.Enum):
    NO = 0
    YES = 1

    def __bool__(self):
        return self is Falsy.YES


class Empty(enum.Enum):
    A = 0
    B = 1

    def __bool__(self):
        return False


class Equal(enum.Enum):
    A = 1
    B = 2

    def __eq__(self, other):
        return True

    __hash__ = enum.Enum.__hash__


class Texts(enum.Enum):
    A = "x"
    B = "y"


class Missing(enum.Enum):
    A = 1

    @classmethod
    def _missing_(cls, value):
        return cls.A


class Flags(enum.Flag):
    A = 1
    B = 2


Many = enum.Enum("Many", {f"M{i}": i * 0.5 for i in range(100)})
MANY = tuple(Many)


@dataclasses.dataclass
class Tag:
    kind: Color
    x: float

    def signed(self):
        return self.x if self.kind is Color.RED else -self.x


class Pair(typing.NamedTuple):
    color: Color
    n: int


class Machine:
    state = Color.RED

    def go(self):
        self.state = Color.BLUE if self.state is Color.RED else Color.RED


@njit
def pick(x):
    if x > 0:
        return Color.RED
    if x == 0:
        return Color.BLUE
    return Color.GREEN


def in_python(x):
    return pick.py_func(x)


def ternary(x):
    return Color.RED if x > 0 else Color.GREEN


def variable(x):
    c = Color.BLUE
    if x > 0:
        c = Color.GREEN
    return c


def compared(x):
    c = pick(x)
    return c is Color.RED, c is not Color.RED, c == Color.GREEN, Color.GREEN != c, c == pick(-x), c is pick(x)


def with_others(x):
    c = pick(x)
    return c == 0, c == 1, 1 != c, c == Shake.MINT, c is not Shake.MINT, c is None, c == "RED", c == (c,), c is True


def contained(x):
    c = pick(x)
    return c in (Color.RED, Color.BLUE), c not in (0, 1, None, Shake.MINT), c in Color, 0 in (c, 7), (c, 1) in ((Color.BLUE, 1), (Color.RED, x))


def state_machine(n):
    c = Color.RED
    for _ in range(n):
        if c is Color.RED:
            c = Color.GREEN
        elif c is Color.GREEN:
            c = Color.BLUE
        else:
            c = Color.RED
    return c


def matched(x):
    match pick(x):
        case Color.RED:
            return 1
        case Color.GREEN | Color.ROT:
            return 2
    return 3


def values(x):
    p = Planet.EARTH if x else Planet.MARS
    return pick(x).value, p.value, p.value[1], pick(x).value + 1


def truth(x):
    e = Empty.A if x else Empty.B
    return not pick(x), pick(x) and x, pick(x) or Color.RED, 1 if e else 2


def of_a_tuple(x):
    t = (Color.RED, Color.GREEN, Color.BLUE)
    pair = (pick(x), x)
    return t[x], t[-x - 1], pair, pair[0] is Color.RED, pair == (Color.RED, 1)


def loops(x):
    n = 0
    for m in (Color.RED, pick(x), Color.BLUE):
        n = 2 * n + (m is pick(x))
    for m in Color:
        n += m.value if m is pick(x) else 0
    return n, any(m is pick(x) for m in (Color.RED, Color.GREEN))


def walrus(x):
    c = Color.BLUE
    if x > 0 and (c := Color.GREEN) is Color.GREEN:
        pass
    return c


def closure(x):
    c = pick(x)

    def inner(y):
        return y if c is Color.RED else -y

    def outer(f, y):
        return f(y)

    return outer(inner, 3), outer(lambda y: pick(y), x)


@njit
def count_down(n):
    if n == 0:
        return Color.BLUE
    return count_down(n - 1) if n > 3 else Color.GREEN


def of_objects(x):
    t, u = Tag(pick(x), 2.0), Tag(Color.RED, 1.0)
    if x > 0:
        u.kind = Color.GREEN
    v = Tag(Color.RED, 2.0) if x else Tag(Color.GREEN, 3.0)
    m = Machine()
    for _ in range(x):
        m.go()
    return t.signed(), u.signed(), u.kind, u.kind in (Color.RED, Color.BLUE), v.signed(), v, m.state


def of_namedtuples(x):
    p = Pair(Color.RED, 1) if x else Pair(Color.GREEN, x)
    return p, p.color is Color.RED, p == Pair(Color.RED, 1)


FUNCTIONS = [ternary, variable, compared, with_others, contained, state_machine, matched, values, truth, of_a_tuple, loops, walrus, closure, of_objects, of_namedtuples]


@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_as_in_python(f):
    compiled = njit(f)
    for x in (0, 1, 2):
        assert repr(compiled(x)) == repr(f(x))
    assert compiled(1) == f(1)


def test_the_very_member_comes_back():
    both = njit(lambda a, b, p: a if p else b)
    for a, b in ((Color.RED, Color.GREEN), (Color.RED, Color.RED), (Planet.EARTH, Planet.MARS), (Mixed.C, Mixed.B), (Falsy.NO, Falsy.YES)):
        assert both(a, b, True) is a and both(a, b, False) is b
    assert pick(1) is Color.RED and pick(-1) is Color.GREEN and count_down(5) is Color.GREEN and count_down(0) is Color.BLUE
    assert njit(lambda x: Color.ROT)(1) is Color.RED
    assert both(2, Color.RED.value, True) == 2


def test_many_members():
    def walk(n, x):
        b = Many.M3
        for i in range(n):
            b = Many.M7 if b is Many.M3 else Many.M99 if x > i else Many.M0
        return b.value, b

    def found(i):
        n = 0
        for m in MANY:
            n += m is MANY[i]
        return n, MANY[i]

    for n in range(4):
        assert njit(walk)(n, 1.5) == walk(n, 1.5)
    assert njit(found)(7) == (1, Many.M7)


def test_classes_made_in_functions():
    """Two classes of one name are different, and a class stays alive when its name is gone."""
    def make():
        class Local(enum.Enum):
            A = 1
            B = 2

        return Local, njit(lambda x: Local.A if x else Local.B)

    (first, f), (second, g) = make(), make()
    assert f(1) is first.A and g(0) is second.B
    del first, second
    gc.collect()
    assert f(0).name == "B" and g(1).value == 1 and type(f(0)) is not type(g(0))


def test_identity_prunes():
    """An object that is no member of the class is not identical to one, which is known at compile time."""
    @njit
    def first(a):
        if a is Color.RED or a is Shake.MINT:
            return 1
        return a[0]

    assert first(Color.RED) == first(Shake.MINT) == 1 and first(np.array([7, 8])) == first((7, 8)) == 7
    assert njit(lambda t: t is not Color.RED)(Tag(Color.RED, 1.0)) and njit(lambda x: x is Color.RED)(None) is False


def test_effects_are_kept(capsys):
    @njit
    def shown(x):
        print("shown", x)
        return Color.RED

    @njit
    def checked(x):
        if x > 5:
            raise ValueError("large")
        return Color.RED

    @njit
    def written(a):
        a[0] += 1
        return Color.RED

    @njit
    def tested(a):
        return 10 if written(a) is Color.RED else a[0]

    a = np.zeros(1)
    assert tested(a) == 10 and a[0] == 1
    assert njit(lambda x: shown(x) is Color.RED)(3)
    assert capsys.readouterr().out == "shown 3\n"
    assert njit(lambda x: checked(x) is Color.RED)(3)
    with pytest.raises(ValueError, match="large"):
        njit(lambda x: checked(x) is Color.RED)(6)


@pytest.mark.parametrize("f, code, text", [
    (lambda x: (Level.LOW if x else Level.HIGH).name, "E104", r"`.name` of a member that is known only at run time(?s:.)*member of `Level`(?s:.)*m is E.A"),
    (lambda x: (Mixed.A if x else Mixed.B).value, "E104", "the values of `Mixed` are not all numbers"),
    (lambda x: pick(x).other, "E161", "no attribute `other`(?s:.)*member of `Color`"),
    (lambda x: Color.RED if x else Shake.MINT, "E140", "one way gives Color, another Shake"),
    (lambda x: Color.RED if x else 1, "E140", "one way gives Color, another int 1"),
    (lambda x: Color.RED if x else None, "E140", "one way gives Color, another None"),
    (lambda x: pick(x) + 1, "E120", r"`\+` needs numbers(?s:.)*this is Color"),
    (lambda x: pick(x) < Color.RED, "E120", "Color and Color"),
    (lambda x: (pick(x), 1) < (Color.RED, 2), "E120", "is not defined between"),
    (lambda x: int(pick(x)), "E120", "this is Color"),
    (lambda x: max(pick(x), Color.RED), "E120", "this is Color"),
    (lambda x: np.zeros(4)[pick(x)], "E120", "must be an integer, not Color"),
    (lambda x: type(pick(x)) is int, "E120", "this is Color"),
    (lambda x: 1 if (Falsy.NO if x else Falsy.YES) else 2, "E104", "no truth value"),
    (lambda x: Mixed(x), "E120", r"`Mixed\(...\)` finds a member by a number"),
    (lambda x: Many(x), "E120", "at most 64 values that are numbers"),
    (lambda x: Color(x, x), "E153", r"`Color\(...\)` takes one value(?s:.)*2 given"),
    (lambda x: Missing(x), "E152", "cannot be called"),
    (lambda x: Equal.A if x else Equal.B, "E104", "choose among numbers, strings, or members of an `enum.Enum`"),
    (lambda x: Flags.A if x else Flags.B, "E104", "choose among numbers, strings, or members of an `enum.Enum`"),
    (lambda x: abs if x else round, "E104", "choose among numbers, strings, or members of an `enum.Enum`"),
])
def test_what_is_refused(f, code, text):
    with pytest.raises(lw.errors.CompileError, match=text) as caught:
        njit(f)(1)
    assert caught.value.code == code


def test_stores_and_signatures_are_refused():
    @njit
    def store(out, x):
        out[0] = pick(x)

    with pytest.raises(lw.errors.TypingError, match="E120"):
        store(np.zeros(2), 1)
    with pytest.raises(lw.errors.TypingError, match="E142"):
        njit("int64(int64)")(lambda x: pick(x))(1)
    for make in (lambda: lw.vectorize(lambda x: pick(x))(1.0), lambda: lw.vectorize(["f8(f8)"])(lambda x: (pick(x), 1))(1.0),
                 lambda: lw.compile(lambda x: pick(x), "int64(int64)", target="cpu", output="llvm")):
        with pytest.raises(lw.errors.TypingError, match="E183: a member of an enum class cannot be a result here"):
            make()


@njit
def two():
    return 2


@njit
def by_value(v):
    return Color(v)


@pytest.mark.parametrize("v", [1, 2, 3, 1.0, True, np.int8(3), np.uint64(2), np.float32(1), 1 + 0j, 4, -1, 2.5, np.float64("nan"), 1j, 2**62])
def test_members_by_value(v):
    try:
        want = Color(v)
    except ValueError:
        with pytest.raises(ValueError, match="is not a valid Color"):
            by_value(v)
    else:
        assert by_value(v) is want


def test_members_by_value_elsewhere(target):
    x = np.array([3, 1, 2], np.int16)
    place = cuda.to_device if target == "cuda" else np.array
    double = lw.vectorize(lambda v: Color(v).value * 2 if Color(v) is not Color.RED else 0)
    got = double(place(x))
    assert np.asarray(got.copy_to_host() if target == "cuda" else got).tolist() == [6, 0, 4]
    with pytest.raises(ValueError, match="is not a valid Color"):
        np.asarray(double(np.array([1, 9, 2])))
    assert lw.compile(lambda v: Halves(v).value, "float64(float32)", target="sm_90", output="cubin")
    assert njit(lambda v: Halves(v))(2.5) is Halves.B and njit(lambda v: Halves(v))(1) is Halves.A
    assert njit(lambda t: Texts(t))("x") is Texts.A and njit(lambda x: Color(two()).name == "GREEN")(1)
    with pytest.raises(ValueError):
        njit(lambda v: Halves(v))(2)


def test_in_tuples_and_objects_that_are_arguments():
    """There, members are values: one specialisation serves all of them."""
    @njit
    def first(t):
        return t[0], t[0] is Color.RED, t

    @njit
    def of_tag(t):
        return t.kind, t.signed(), t

    @njit
    def of_pair(p):
        return p.color, p.color.value, p

    @njit
    def packed(*members):
        return members[0] is members[1], members

    for c in Color:
        assert first((c, 2)) == (c, c is Color.RED, (c, 2)) and first((c, 2))[0] is c
        assert of_tag(Tag(c, 2.0)) == of_tag.py_func(Tag(c, 2.0))
        assert of_pair(Pair(c, 5)) == of_pair.py_func(Pair(c, 5))
        assert packed(c, Color.RED) == packed.py_func(c, Color.RED)
    assert first.signatures == ["(Color, bool, Color, int64)((Color, int))"]
    assert njit(lambda ms: ms[0].value + ms[1].value)([Color.RED, Color.BLUE]) == 4

    out = np.zeros(3)
    kernel = lw.jit(lambda tag, t, out: out.fill(tag.signed() + t[0].value), target="cpu")
    for c in Color:
        kernel[1, 1](Tag(c, 2.0), (c,), out)
        assert out[0] == Tag(c, 2.0).signed() + c.value
    for member in (Equal.A, Flags.A):
        with pytest.raises(TypeError, match=f"a member of {type(member).__name__} in a tuple or an object is not supported"):
            first((member, 1))
    with pytest.raises(TypeError, match="is a Flags; expected"):
        first((Flags.A | Flags.B, 1))


def test_classes_of_arguments_are_told_apart():
    @njit
    def second(t):
        return t[1].value

    def make(i):
        class Local(enum.Enum):
            A = 10 * i
            B = 20 * i

        return second((1, Local.B)), second((1, Local.A))

    for i in range(1, 5):
        assert make(i) == (20 * i, 10 * i)
        gc.collect()


def scaled(x):
    c, p = pick(x), Planet.EARTH if x > 0 else Planet.MARS
    return c.value * x if c is not Color.BLUE else p.value[0]


@pytest.mark.parametrize("capability", ["sm_75", "sm_90", "sm_120"])
def test_for_gpus(capability):
    assert lw.compile(scaled, "float64(float64)", target=capability, output="cubin")


def test_with_debug_information():
    """Debuggers show the number of the member."""
    @lw.jit(target="cpu", debug=True, opt=False)
    def kernel(x, out):
        c, pair = pick(x), (pick(-x), x)
        out[0] = c.value + 10 * pair[0].value

    out = np.zeros(1)
    kernel[1, 1](2.0, out)
    assert out[0] == 21
    assert lw.compile(lw.vectorize(scaled, debug=True), "float64(float64)", target="sm_90", output="cubin")


def test_every_generator(target):
    place = cuda.to_device if target == "cuda" else np.array
    x = np.array([1.0, 0.0, -2.0])
    want = [scaled(v) for v in x]

    def each(i, x, out, m):
        out[i] = scaled(x[i]) if pick(x[i]) is not m else -1.0

    def grid(x, out, m):
        i = cuda.grid(1)
        if i < x.size:
            each(i, x, out, m)

    def rows(x, out):
        c = Color.RED
        for i in range(x.size):
            c = pick(x[i]) if c is Color.RED else Color.RED
            out[i] = c.value

    def host(a):
        return np.asarray(a.copy_to_host() if target == "cuda" else a)

    np.testing.assert_array_equal(host(lw.vectorize(scaled)(place(x))), want)
    for m in (Color.RED, Color.GREEN):
        expected = [-1.0 if in_python(v) is m else w for v, w in zip(x, want)]
        out = place(np.zeros(3))
        lw.forall(each)(3, place(x), out, m)
        np.testing.assert_array_equal(host(out), expected)
        out = place(np.zeros(3))
        lw.jit(grid)[1, 32](place(x), out, m)
        np.testing.assert_array_equal(host(out), expected)
    np.testing.assert_array_equal(host(lw.guvectorize("(n)->(n)")(rows)(place(x))), [1, 3, 1])
    assert float(lw.reduce(lambda a, b: a + b, map=lambda v: pick(v).value, identity=0)(place(x))) == 6


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 4
    TOP = 4  # an alias
    BELOW = -2


class Access(enum.IntFlag):
    READ = 1
    WRITE = 2
    BOTH = 3


def _in_loops(of):
    def summed(x):
        s = 0.0
        for c in of:
            s = s * 3 + x * c + c.value
        return s

    def counted(x):
        s = 0.0
        for i, c in enumerate(of):
            if c.value > 1:
                break
            s += x + i
        return s

    def paired(x):
        s = x
        for k, c in zip((2, 5), of):
            s += k * c.value
        return s

    return [
        summed, counted, paired, lambda x: x * sum(c.value for c in of), lambda x: x * max(c for c in of), lambda x: x * min(c.value for c in of),
        lambda x: x if any(c.value == 2 for c in of) else -x, lambda x: x * np.array([c.value for c in of])[1], lambda x: x + np.array([c * 1 for c in of]).sum(),
    ]


@pytest.mark.parametrize("of", [Level, Access])
def test_loops_over_classes_of_numbers(of):
    for f in _in_loops(of):
        assert njit(f)(2.5) == f(2.5)
        assert lw.vectorize(f)(2.5) == f(2.5)


def test_loops_over_classes_are_read_as_before():
    assert njit(lambda x: x * np.array([c.value for c in Color])[2])(2.0) == 6.0  # of an Enum, whose values are constants of several sizes
    assert njit(lambda: np.array([c.value for c in Color]).dtype.itemsize)() == 8
    assert njit(lambda: np.array([float(c) for c in Level]).sum())() == 3.0


def test_a_flag_in_a_variable_has_a_value():
    def chosen(x):
        c = Access.WRITE if x > 0 else Access.READ
        return c.value + x

    assert [njit(chosen)(x) for x in (1.0, -1.0)] == [3.0, 0.0]

    @njit
    def both(x):
        c = Access.READ | Access.WRITE
        return c + x

    assert both(1.0) == 4.0 and njit(lambda c: c + 1)(Access.BOTH) == 4


# ---- the class as a sequence ----


def lengths():
    return len(Color), len(Access)


def in_order():
    total = 0
    for c in tuple(Color):
        total = 10 * total + c.value
    return total


def backwards():
    total = 0
    for c in reversed(Color):
        total = 10 * total + c.value
    return total


def listed(c):
    return c in list(Color), c in tuple(Color)


@pytest.mark.parametrize("function, args", [(lengths, ()), (in_order, ()), (backwards, ()), (listed, (Color.RED,))])
def test_the_class_as_a_sequence(function, args):
    assert njit(function)(*args) == function(*args)


# ---- combinations of an IntFlag that are chosen at run time ----


class Rights(enum.IntFlag):
    READ = 1
    WRITE = 2
    RUN = 8
    BOTH = 3


def chosen_flag(c):
    return Rights.READ if c else Rights.WRITE


def joined_flags(c):
    m = chosen_flag(c)
    return m | Rights.RUN, m & Rights.READ, m ^ Rights.BOTH


def inverted_flags(c):
    m = chosen_flag(c)
    return ~m, ~(m | Rights.RUN), int(~m), (~m).value, ~m & Rights.RUN


def flags_in_loops(c):
    m = Rights(0)
    for i in range(5):
        if c:
            m |= Rights.READ
        m = m ^ Rights.RUN if i % 2 else m | Rights.WRITE
        if m & Rights.BOTH:
            m &= ~Rights.READ
    return m


def flags_as_numbers(c):
    m = chosen_flag(c)
    return ~m + 1, (~m) * 0.5, (~m) == 10, m > Rights.READ


def flags_in_flags(c):
    m = chosen_flag(c)
    r = 0
    if Rights.READ not in ~m:
        r = 5
    return Rights.READ in m, Rights.READ in (m | Rights.BOTH), m in Rights.BOTH, Rights.BOTH in m, Rights(0) in m, r


def constant_flags(c):
    m = Rights.READ
    return ~m, ~Rights.BOTH, ~(m | Rights.RUN), m & Rights.WRITE, Rights.BOTH ^ Rights.READ


@pytest.mark.parametrize("f", [joined_flags, inverted_flags, flags_in_loops, flags_as_numbers, flags_in_flags, constant_flags])
def test_operators_of_flags_that_are_numbers(f):
    made = lw.jit(f)
    for c in (True, False):
        got, want = made(c), f(c)
        assert got == want
        if isinstance(want, tuple):
            assert [type(g) for g in got] == [type(w) for w in want]
        else:
            assert type(got) is type(want)


# ---- loops over members with both jumps ----


def both_jumps(x):
    s = 0
    for c in Color:
        if c.value == x:
            break
        if c is Color.GREEN:
            continue
        s += c.value
    return s


def both_jumps_and_else(x):
    s, y = 0, 0
    for c in Color:
        if c.value > x:
            break
        if c.value == 2:
            y = x
            continue
        s += 10 * c.value
    else:
        s += 1000
    return s + y


def nested_jumps(x):
    s = 0
    for k, c in enumerate(Color):
        for t in ("a", "b", "c"):
            if t == "b" and c is Color.RED:
                continue
            if k == x:
                break
            for i in range(4):
                if i == x:
                    continue
                if i > 2:
                    break
                s += c.value * i
            s += 1 if t == "a" else 5
        else:
            s += 100
            if x == 9:
                break
            continue
        s += 1000
    return s


def else_that_jumps(x):
    s = 0
    for i in range(5):
        for t in ("u", "v"):
            if i == x:
                break
            if t == "u":
                continue
            s += i
        else:
            if i > 3:
                break
            continue
        s += 50
    return s


@pytest.mark.parametrize("f", [both_jumps, both_jumps_and_else, nested_jumps, else_that_jumps])
def test_loops_over_members_and_texts_with_break_and_continue(f):
    made = lw.jit(f)
    for x in (0, 1, 2, 3, 4, 9):
        assert made(x) == f(x)
    if f is not else_that_jumps:
        assert lw.vectorize(f)(np.arange(5)).tolist() == [f(x) for x in range(5)]

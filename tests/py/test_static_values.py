"""Members of enum classes and texts in compiled functions: whatever Python does with them is done when the function
is compiled, and the result is Python's."""

from __future__ import annotations

import enum

import numpy as np
import pytest

import lanewise as lw


class Mode(enum.Enum):
    FAST = 1
    SLOW = 2
    ALSO = "text"

    @property
    def doubled(self):
        return 2 * self.value

    def scaled(self, x):
        return x * self.value


class Level(enum.IntEnum):
    LOW = 0
    HIGH = 3


class Flags(enum.Flag):
    A = 1
    B = 2
    C = 4


class Bits(enum.IntFlag):
    A = 1
    B = 2


class Word(str, enum.Enum):
    X = "x"
    Y = "y"


class Number(float, enum.Enum):
    HALF = 0.5


mode, text, level, flags, bits, word = Mode.FAST, "abc", Level.HIGH, Flags.A | Flags.C, Bits.A | Bits.B, Word.X
TABLE, TEXTS, PAIRS = {Mode.FAST: 1.5, Mode.SLOW: 2.5}, {"abc": 3.0, "d": 4.0}, [("a", 1.0), ("b", 2.0)]
MEMBERS = frozenset({Mode.FAST, "abc"})


def one_of(x, m):
    r = 1 if m in (Mode.FAST, Mode.SLOW) else 0
    r += 2 if m not in (Mode.SLOW,) else 0
    r += 4 if m is Mode.FAST else 0
    r += 8 if m != Mode.FAST else 0
    r += 16 if m else 0
    return x + r


def with_text(x, t):
    r = 1 if t in ("a", "b") else 0
    r += 2 if t == "a" else 0
    r += 4 if "a" in t else 0
    r += 8 if t < "b" else 0
    r += 16 if t else 0
    if x > 1e300:
        raise ValueError(t, x)
    assert x < 1e301, t
    return x + r + len(t)


def with_default(x, m=Mode.SLOW, t="q"):
    return x * 10 if m == Mode.SLOW and t == "q" else x


def matched(x, t):
    match t:
        case "abc": return x + 1
        case Mode.FAST: return x + 2
        case _: return x + 3


def closed_over(x, m):
    def g(y):
        return y + 1 if m is Mode.FAST else y
    return g(x)


def chosen(x, m):
    n = Mode.SLOW if m is Mode.FAST else Mode.FAST
    return one_of(x, n) + n.value


CASES = [
    lambda x: x + 1 if mode is Mode.FAST and mode is not Mode.SLOW else x,
    lambda x: x + 1 if mode == Mode.FAST and mode != Mode.SLOW and mode != 1 else x,
    lambda x: x + 1 if mode in (Mode.FAST, Mode.SLOW) and mode not in [Mode.SLOW] and mode in {Mode.FAST} else x,
    lambda x: x + 1 if mode in Mode and mode in TABLE and Mode.ALSO not in TABLE else x,
    lambda x: x + 1 if mode in MEMBERS and text in MEMBERS and "d" not in MEMBERS else x,
    lambda x: x + 1 if mode else x,
    lambda x: one_of(x, mode) + 100 * one_of(x, m=Mode.SLOW) + 1e4 * one_of(x, Mode.ALSO) + one_of(x, "q"),
    lambda x: with_default(x) + with_default(x, Mode.FAST) + with_default(x, t="z"),
    lambda x: closed_over(x, Mode.FAST) + closed_over(x, Mode.SLOW),
    lambda x: chosen(x, Mode.FAST) + chosen(x, Mode.SLOW),
    lambda x, m=Mode.FAST, t="abc": x + 1 if m is Mode.FAST and t == "abc" else x,
    lambda x: x + TABLE[mode] + TABLE[Mode.SLOW] + TEXTS["abc"] + TEXTS[text],
    lambda x: x + TABLE.get(mode, 0.0) + TABLE.get(Mode.ALSO, 7.0),
    lambda x: x + 1 if TABLE.get(Mode.ALSO) is None else x,
    lambda x: x * Level.HIGH + level + int(Level.HIGH) + abs(level) + max(x, Level.HIGH),
    lambda x: x if level > Level.LOW and not Level.LOW and level is Level.HIGH else -x,
    lambda x: 1.0 if x == Level.HIGH or x in (Level.LOW,) else 0.0,
    lambda x: sum(i for i in range(Level.HIGH)) + x,
    lambda x: x + 1 if flags & Flags.A and Flags.C in flags and Flags.B not in flags else x,
    lambda x: x + 1 if (flags | Flags.B) == Flags.A | Flags.B | Flags.C and not flags & Flags.B else x,
    lambda x: x + 1 if ~flags == Flags.B and flags ^ Flags.A is Flags.C else x,
    lambda x: x + 1 if bits & Bits.A and Bits.B in bits and bits == 3 else x,
    lambda x: 1 if int(x) & Bits.B else 0,
    lambda x: x + 1 if word == Word.X and word == "x" and word is Word.X and word != "y" else x,
    lambda x: x * Number.HALF + Number.HALF.value,
    lambda x: x + mode.value + Mode.SLOW.value + mode.doubled + Mode.SLOW.scaled(x),
    lambda x: x + 1 if mode.name == "FAST" and f"{mode.name}!" == "FAST!" and str(mode) == "Mode.FAST" else x,
    lambda x: x + 1 if Mode(1) is mode and Mode["FAST"] is mode and Mode("text") is Mode.ALSO else x,
    lambda x: x + 1 if isinstance(mode, Mode) and isinstance(text, str) and not isinstance(mode, (int, str)) else x,
    lambda x: one_of(x, mode or Mode.SLOW) + (1.0 if mode == x else 2.0),
    lambda x: x + 1 if "{{{}}}{:>{{}}".replace("{:>{{}}", "").format(text) == "{abc}" else x,
    lambda x: (lambda y, m: y + 1 if m is Mode.FAST else y)(x, mode),
    lambda x: matched(x, "abc") + 10 * matched(x, Mode.FAST) + 100 * matched(x, "q"),
    lambda x: with_text(x, "a") + 100 * with_text(x, "b") + 1e4 * with_text(x, ""),
    lambda x: x + 1 if text == "abc" != "d" and "b" in text and text < "b" and text in ("abc", "d") else x,
    lambda x: x + len(text) + ord(text[0]) + text.find("c") + text.count("b"),
    lambda x: x + 1 if text[-1] == "c" and text[:2] == "ab" and text[::-1] == "cba" and text + "d" == "abcd" else x,
    lambda x: x + 1 if text.upper() == "ABC" and text.endswith("c") and chr(97) == text[0] else x,
    lambda x: x + 1 if "%s-%03d" % (text, 7) == "abc-007" and "{} {:>4}".format(text, 1) == "abc    1" else x,
    lambda x: sum(one_of(x, m) for m in Mode) + sum(1 for c in text if c != "b"),
]


@pytest.mark.parametrize("f", CASES)
def test_as_in_python(f):
    x = np.arange(4.0)
    np.testing.assert_array_equal(lw.vectorize(f)(x), [f(float(v)) for v in x])


# ---- members in variables and parameters -----------------------------------------------------------------


class Derived(enum.Flag):
    """A class without members between enum and a user's class."""


class OfDerived(Derived):
    P, Q = 1, 8
    BOTH = 9


class Own(enum.Flag):
    A = 1
    B = 2

    def __and__(self, other):
        return Own.B


class Many(enum.Flag):
    A, B, C, D, E, F, G = (1 << i for i in range(7))


class First:
    class M(enum.Enum):
        A = 1


class Second:
    class M(enum.Enum):
        A = 1


def flags_in_variables(x):
    a = Flags.A | Flags.C
    b = a & Flags.A
    return x + 1 if b and not a & Flags.B and b is Flags.A and (a ^ Flags.A) == Flags.C and ~a == Flags.B and ~b == Flags.B | Flags.C else x


def flags_contain(x):
    a, b = Flags.A | Flags.C, Flags.C
    c = b | Flags.B
    return x + (1 if b in a else 0) + (2 if Flags.A not in a else 0) + (4 if c in a else 0) + (8 if Flags.A & b in a else 0) + (16 if a in a else 0)


def flags_are_augmented(x):
    a = Flags.A
    a |= Flags.B
    a ^= Flags.A
    b = a
    b &= Flags.C
    return x + a.value + (100 if b else 200) + b.value + (flags & a).value


def asks(f, x):
    return x + 1 if f & Flags.B else x - 1


def flags_as_arguments(x):
    a = Flags.A
    return asks(Flags.B, x) + 10 * asks(a, x) + 100 * asks(a | Flags.B, x)


def flags_on_known_paths(x, deep=True):
    a = Flags.A | Flags.B if deep else Flags.C
    return x + 1 if a & Flags.B else x


def flags_of_a_derived_class(x):
    a = OfDerived.P
    return x + (a | OfDerived.Q).value + (1 if a | OfDerived.Q is OfDerived.BOTH else 0) + (2 if a in OfDerived.BOTH else 0)


def classes_of_one_name(x):
    a, b = First.M.A, Second.M.A
    return (x if a == b else -x) + (10 if a is b else 0) + (100 if a in (b,) else 0) + (1000 if a is First.M.A else 0)


@pytest.mark.parametrize("f", (flags_in_variables, flags_contain, flags_are_augmented, flags_as_arguments, flags_on_known_paths, flags_of_a_derived_class,
                               classes_of_one_name))
def test_members_in_variables(f):
    x = np.arange(4.0)
    want = [f(float(v)) for v in x]
    np.testing.assert_array_equal(lw.vectorize(f)(x), want)
    assert [lw.jit(f)(float(v)) for v in x] == want


def test_members_in_variables_that_are_refused():
    """Whose operators are the user's, of which there are too many, of two classes, known only at run time."""
    def own(x):
        a = Own.A
        return x if a & Own.B else -x

    def many(x):
        a = Many.A
        return x if a & Many.B else -x

    def mixed(x):
        a = Flags.A
        return x if a & OfDerived.P else -x

    def at_run_time(x):
        a = Flags.A if x > 0 else Flags.B
        return x if a & Flags.B else -x

    for f, code in ((own, "E120"), (many, "E120"), (mixed, "E120"), (at_run_time, "E104")):
        with pytest.raises(lw.errors.CompileError, match=code):
            lw.jit(f)(1.0)


# ---- loops -----------------------------------------------------------------------------------------------


def in_loops(x):
    r = x
    for m in Mode:
        r = one_of(r, m)
    for c in "ab":
        r += 1 if c == "a" else 2
    for m, k in zip((Mode.FAST, Mode.SLOW), (1.0, 2.0)):
        r = one_of(r, m) * k
    for name, weight in PAIRS:
        r += weight if name == "a" else 2 * weight
    for f in (np.sin, np.cos, abs):
        r += f(x)
    for v in (None, 1.0):
        r += 0.0 if v is None else v
    return r + (1 if m is Mode.SLOW else 2)


def with_break(x):
    r = x
    for m in (Mode.FAST, Mode.SLOW, Mode.ALSO):
        if x > 2:
            break
        r = one_of(r, m)
    else:
        r += 1000
    return r


def with_continue(x):
    r = x
    for i, m in enumerate(Mode):
        if x > i:
            continue
        for k in range(3):
            if k == 1:
                continue
            r += 1
        while r > 1e6:
            continue
        for c in "ab":
            if c == "b" and x == 0:
                continue
            r += 10
        r = one_of(r, m)
    else:
        r += 1000
    return r


def with_both(x):
    r = x
    for m in Mode:
        if x > 2:
            continue
        if x > 1:
            break
        r = one_of(r, m)
    return r


def with_return(x):
    for m in (Mode.FAST, Mode.SLOW):
        if x == m.value:
            return one_of(x, m)
    return -1.0


def with_functions(x):
    r = x
    for m in Mode:
        def g(y, n=2.0):
            return one_of(y, m) * n
        r = g(r) + (lambda y: y + 1 if m is Mode.FAST else y)(r)
    return r


@pytest.mark.parametrize("f", [in_loops, with_break, with_continue, with_both, with_return, with_functions])
def test_loops_are_written_out(f):
    x = np.arange(5.0)
    np.testing.assert_allclose(lw.vectorize(f)(x), [f(float(v)) for v in x], rtol=1e-15)


def test_loops_that_are_not_written_out():
    def many(x):
        r = x
        for c in "a" * 65:
            r += 1 if c == "a" else 2
        return r

    def anonymous(x):
        r = x
        for f in (lambda a: a + 1, lambda a: a * x):
            r = f(r)
        return r

    for f, code in ((many, "E120"), (anonymous, "E140")):
        with pytest.raises(lw.errors.TypingError) as caught:
            lw.vectorize(f)(np.arange(3.0))
        assert caught.value.code == code


# ---- generators, targets, changes ---------------------------------------------------------------------------


def test_every_generator(target, place):
    x, out = np.arange(5.0), np.zeros(5)
    expected = [one_of(v, mode) + TABLE[Mode.SLOW] for v in x]

    def kernel(i, x, out):
        for m in (Mode.FAST, text):
            if m == "abc":
                out[i] = one_of(x[i], mode) + TABLE[Mode.SLOW]

    def rows(x, out):
        for i in range(x.size):
            kernel(i, x, out)

    for run in (lambda: lw.forall(kernel)(5, place(x), given), lambda: lw.jit(rows)[1, 1](place(x), given),
                lambda: lw.guvectorize("(n)->(n)")(rows)(place(x), given)):
        given = place(out)
        run()
        np.testing.assert_array_equal(np.asarray(given.copy_to_host() if target == "cuda" else given), expected)
    total = lw.reduce(lambda a, b: a + b if mode is Mode.FAST else a, map=lambda v: one_of(v, mode), identity=0.0)
    assert float(total(place(x))) == sum(one_of(v, mode) for v in x)


@pytest.fixture
def place(target):
    return lw.cuda.to_device if target == "cuda" else np.array


@pytest.mark.parametrize("f", [in_loops, with_continue])
def test_text_for_a_gpu(f):
    assert lw.compile(f, "float64(float64)", target="sm_90", output="nvvm")


def test_changed_items_are_seen():
    table = {Mode.FAST: 1.0}
    f = lw.vectorize(lambda x: x + table.get(Mode.SLOW, 10.0) + (100 if "a" in table else 0))
    assert f(1.0) == 11
    table[Mode.SLOW] = 2.0
    assert f(1.0) == 3
    table["a"] = None
    assert f(1.0) == 103
    del table[Mode.SLOW], table["a"]
    assert f(1.0) == 11


@pytest.mark.parametrize("f, code", [
    (lambda x: x + 1 if mode < Mode.SLOW else x, "E120"),
    (lambda x: x + TABLE[Mode.ALSO], "E104"),
    (lambda x: x + 1 if Mode("none") is mode else x, "E120"),
    (lambda x: x + 1 if "{}".format(x) == "1.0" else x, "E104"),
    (lambda x: x + 1 if "{:>{}}".format(1, 10**9) == "1" else x, "E130"),
    (lambda x: x + 1 if "%1000000000d" % 1 == "1" else x, "E104"),
    (lambda x: x + 1 if flags & Bits.A else x, "E120"),
    (lambda x: x + Mode.FAST, "E120"),
])
def test_refused(f, code):
    with pytest.raises(lw.errors.CompileError) as caught:
        lw.vectorize(f)(np.arange(3.0))
    assert caught.value.code == code

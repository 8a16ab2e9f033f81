"""Strings that are chosen at run time: what is compared, shown, raised, passed on, kept and returned is what CPython gives for the same
function."""

from __future__ import annotations

import dataclasses
import enum
import typing

import numpy as np
import pytest

import lanewise as lw
from lanewise import cuda, errors, njit, prange


class Color(enum.Enum):
    RED = 1
    BLUE = 2


class Mode(enum.Enum):
    FAST = "fast"
    EXACT = "exact"


class Bad(Exception):
    def __init__(self, mode, x):
        super().__init__(mode, x)
        self.mode, self.x = mode, x


@dataclasses.dataclass
class Step:
    mode: str
    size: float


class Pair(typing.NamedTuple):
    name: str
    value: float


def level(x):
    if x < 0:
        mode = "low"
    elif x < 1:
        mode = "mid"
    else:
        mode = "high"
    return mode


def compared(x):
    mode = "low" if x < 0 else "high"
    return mode == "low", mode != "low", "high" == mode, mode == "other", mode is None, mode == 3, (mode, x) == ("low", x)


def two_compared(x):
    a, b = "p" if x > 0 else "q", "q" if x < 1 else "r"
    return a == b, a != b, a < b, a <= b, a > "p", "pa" >= b, (a, 1) < (b, 0)


def is_in(x):
    mode = level(x)
    return (mode in ("low", "mid"), mode not in {"low", "zero"}, mode in (1, "high"), "i" in mode, mode in "lowmid", mode in ("none",),
            "" in mode, mode not in "lowmid")


def matched(x):
    match level(x):
        case "low":
            return 1
        case "mid" | "other":
            return 2
        case other:
            return 10 * len(other)


def branches(x):
    n = 0
    mode = "" if x < 0 else "ünï"
    if mode:
        n += 1
    if not mode:
        n += 10
    return n, len(mode), mode or "none", mode and "some", bool(mode), isinstance(mode, str), isinstance(mode, int)


def result(x):
    return "low" if x < 0 else "größer 😀"


def always_one(x):
    return "fixed"


def in_tuples(x):
    mode = level(x)
    return mode, x, ("inner", mode), "constant"


def in_namedtuple(x):
    return Pair("a" if x > 0 else "b", x)


def in_object(x):
    step = Step("none", x)
    if x > 0:
        step.mode = "up"
    return step


def objects_compared(x):
    step = Step("none", x)
    if x > 0:
        step.mode = "up"
    return step == Step("up", x), step.mode


def scaled(mode, x):
    if mode == "double":
        return x * 2.0
    return x


scaled_compiled = njit(scaled)


def passed_on(x):
    return scaled_compiled("double" if x > 1 else "same", x)


def first(pair):
    return pair[0]


def passed_in_tuple(x):
    return first(("a" if x > 0 else "b", x)) == "a"


def kept(x):
    kept = ("up", x) if x > 0 else ("down", -x)
    return kept[1] + 1 if kept[0] == "up" else kept[1] - 1


def changing(x):
    mode = "a"
    for i in range(int(abs(x)) + 2):
        if mode == "a":
            mode = "b"
        elif mode == "b":
            mode = "c"
        else:
            mode = "a"
    return mode


def over_items(x):
    n = 0
    for name in ("a", "bb", "ccc"):
        if name == "bb" or x > 0:
            n += 100
        n += len(name)
    return n


def by_index(x):
    return ("zero", "one", "two")[int(x) % 3], ("a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p", "q",
                                              "r")[int(x) % 18]


def or_none(x):
    mode = None
    if x > 1:
        mode = "more"
    elif x < 0:
        mode = "less"
    return mode is None, mode == "more", mode


def or_nothing(x):
    if x > 1:
        return "more"
    if x < 0:
        return None
    return "some"


def closure(x):
    mode = "a" if x > 0 else "b"

    def inner(y):
        return y if mode == "a" else -y

    return inner(x)


def assigned_inside(x):
    if (mode := ("a" if x > 0 else "b")) == "a":
        return mode
    return "not a"


def counted_down(n):
    if n <= 0:
        return "done"
    if n > 1:
        return counted_down_compiled(n - 1)
    return "nearly"


counted_down_compiled = njit(counted_down)


def name_of_member(x):
    return (Color.RED if x > 0 else Color.BLUE).name


def value_of_member(x):
    mode = Mode.FAST if x > 0 else Mode.EXACT
    return mode.value, mode.value == "fast"


FUNCTIONS = [compared, two_compared, is_in, matched, branches, result, always_one, in_tuples, in_namedtuple, in_object, objects_compared,
             passed_on, passed_in_tuple, kept, changing, over_items, by_index, or_none, or_nothing, closure, assigned_inside, counted_down,
             name_of_member, value_of_member]


@pytest.mark.parametrize("typing", ["weak", "numba"])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_results_are_those_of_python(function, typing):
    compiled = njit(function, typing=typing)
    for x in (-3.0, 0.0, 0.5, 1.0, 2.0, 16.0):
        wanted, got = function(x), compiled(x)
        assert got == wanted and type(got) is type(wanted), x


def test_a_result_is_shown_as_str():
    compiled = njit(in_tuples)
    assert compiled(1.0) == in_tuples(1.0)
    assert compiled.signatures == ["(str, float64, str)(float)"]


def raises_alone(x):
    raise ValueError(level(x))


def raises_formatted(x):
    mode = level(x)
    raise ValueError(f"bad mode {mode!r} of {x:.2f}")


def raises_in_a_field(x):
    mode = level(x)
    raise ValueError(f"{mode:>6}|{mode:ü<6s}|")


def raises_two(x):
    raise RuntimeError(level(x), x)


def asserts(x):
    assert x > 100, level(x)
    return x


@pytest.mark.parametrize("function", [raises_alone, raises_formatted, raises_in_a_field, raises_two, asserts])
def test_exceptions_show_the_string(function):
    for x in (-1.5, 0.5, 2.0):
        with pytest.raises(Exception) as wanted:
            function(x)
        with pytest.raises(wanted.type) as got:
            njit(function)(x)
        assert str(got.value).startswith(str(wanted.value).partition("\n")[0])  # pytest adds lines to assertions


def test_a_class_of_exceptions_gets_the_string():
    @njit
    def f(x):
        raise Bad(level_compiled(x), x)

    with pytest.raises(Bad) as caught:
        f(0.5)
    assert (caught.value.mode, caught.value.x) == ("mid", 0.5)


level_compiled = njit(level)


def shows(x):
    mode = level(x)
    print(mode, x, (mode, "constant", x), [mode])
    print(f"{mode:>8}|{mode!r}|{mode}|{mode:.2}", mode, sep="--", end=".\n")


def test_print_shows_the_string(capsys):
    for x in (-1.5, 0.5, 2.0):
        shows(x)
        wanted = capsys.readouterr().out
        njit(shows)(x)
        assert capsys.readouterr().out == wanted


def test_quotes_are_those_of_repr(capsys):
    def f(x):
        mode = "it's" if x > 0 else 'a "b"\n'
        print((mode, 1), f"{mode!r}")

    for x in (1, -1):
        f(x)
        wanted = capsys.readouterr().out
        njit(f)(x)
        assert capsys.readouterr().out == wanted


# ---- all decorators ----

X = np.array([-3.0, 0.5, 20.0, 7.0, -1.0, 0.25])


def element(x):
    mode = level_compiled(x)
    match mode:
        case "low":
            return -x
        case "mid":
            return 10 * x
    return x + len(mode)


WANTED = np.array([3.0, 5.0, 24.0, 11.0, 1.0, 2.5])


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_ufuncs(dtype):
    assert np.array_equal(lw.vectorize(element)(X.astype(dtype)), WANTED.astype(dtype))


def test_ufuncs_of_many_elements():
    x = np.resize(X, 10_000)
    assert np.array_equal(lw.vectorize(element)(x), np.resize(WANTED, 10_000))


def test_gufuncs():
    @lw.guvectorize("(n)->(n)")
    def f(x, out):
        for i in range(x.shape[0]):
            kept = (level_compiled(x[i]), x[i])
            out[i] = -kept[1] if kept[0] == "low" else kept[1]

    assert np.array_equal(f(X), np.abs(X))


def test_reductions():
    @lw.reduce(map=lambda x: 1.0 if level_compiled(x) in ("low", "high") else 0.0, identity=0.0)
    def count(a, b):
        return a + b

    assert count(X) == 4


def test_an_accumulator_chooses():
    def f(a, b):
        which = "left" if a > b else "right"
        return a if which == "left" else b

    assert lw.reduce(f)(X) == 20


def test_forall():
    @lw.forall
    def f(i, x, out):
        name = ("a", "bb", "ccc")[i % 3]
        out[i] = x[i] + len(name) if name != "bb" else 0.0

    out = np.empty(6)
    f(6, X, out)
    assert np.array_equal(out, np.where(np.arange(6) % 3 == 1, 0.0, X + np.arange(6) % 3 + 1))


def test_loops_in_parallel():
    @njit(parallel=True)
    def f(x):
        out = np.zeros(x.size)
        for i in prange(x.size):
            out[i] = element_compiled(x[i])
        return out

    assert np.array_equal(f(X), WANTED)


element_compiled = njit(element)


def kernel(x, out):
    i = cuda.grid(1)
    if i < x.size:
        mode = level_compiled(x[i])
        out[i] = element_compiled(x[i])
        if x[i] == 20:
            print(mode, (mode, i))


def test_kernels_in_the_simulator(capsys):
    out = np.zeros(6)
    cuda.jit(kernel, target="cpu")[2, 4](X, out)
    assert np.array_equal(out, WANTED)
    assert capsys.readouterr().out == "high ('high', 2)\n"


def raising_kernel(x, out):
    i = cuda.grid(1)
    mode = level_compiled(x[i])
    if mode == "high":
        raise ValueError(f"mode {mode}")
    out[i] = 1


@pytest.mark.parametrize("target", ["sm_75", "sm_90", "sm_120"])
@pytest.mark.parametrize("function, signature", [(kernel, "(f8[::1], f8[::1])"), (raising_kernel, "(f8[::1], f8[::1])"),
                                                 (element, "(f4)")])
def test_code_for_gpus(function, signature, target):
    try:
        assert len(lw.compile(function, signature, target=target, output="cubin")) > 1000
    except errors.CompilerNotFound as problem:
        pytest.skip(str(problem).splitlines()[0])


class State:
    def __init__(self, x):
        self.x = x
        self.label = None


def labels(state):
    state.label = "small" if state.x < 1 else "large"
    return len(state.label)


@pytest.mark.parametrize("x", [0.5, 1.5])
def test_fields_of_arguments(x):
    state, wanted = State(x), State(x)
    assert njit(labels)(state) == labels(wanted)
    assert vars(state) == vars(wanted)


# ---- effects ----

def test_a_call_whose_result_is_known_is_made(capsys):
    @njit
    def named(a):
        a[0] += 1
        return "named"

    @njit
    def member(a):
        a[0] += 10
        return Color.RED

    @njit
    def shown(x):
        print(x)
        return "shown"

    @njit
    def f(a):
        if named(a) == "named" and member(a) is Color.RED and shown(3) == "shown":
            a[0] += 100
        return named(a)

    a = np.zeros(1)
    assert f(a) == "named" and a[0] == 112
    assert capsys.readouterr().out == "3\n"


def test_threads_wait_in_a_function_whose_result_is_known():
    @cuda.jit(device=True)
    def wait():
        cuda.syncthreads()
        return 1

    @cuda.jit(target="cpu")
    def f(x, out):
        shared = cuda.shared.array(32, lw.float64)
        i = cuda.threadIdx.x
        shared[i] = x[i]
        n = wait()
        out[i] = shared[31 - i] + n

    x, out = np.arange(32.0), np.zeros(32)
    f[1, 32](x, out)
    assert np.array_equal(out, x[::-1] + 1)


# ---- what is refused ----

@pytest.mark.parametrize("decorator", [lw.vectorize, lw.vectorize(["f8(f8)"])])
@pytest.mark.parametrize("function", [result, always_one, lambda x: (x, level_compiled(x))])
def test_ufuncs_return_no_strings(decorator, function):
    with pytest.raises(errors.TypingError, match="E154: a result that is not a number(?s:.)*string(?s:.)*return a number"):
        lw.vectorize(function)(X)


def test_kernels_return_no_strings():
    with pytest.raises(errors.TypingError, match="E183"):
        cuda.jit(result, target="cpu")[1, 1](1.0)


FUNCTIONS_BY_NAME = {"low": abs, "mid": round, "high": round}


@pytest.mark.parametrize("function, code, text", [
    (lambda x: level_compiled(x) + "x", "E120", r"`\+` needs numbers(?s:.)*string \"low\" or \"mid\" or \"high\""),
    (lambda x: level_compiled(x) is level_compiled(2 * x), "E122", "`is` on strings"),
    (lambda x: FUNCTIONS_BY_NAME[level_compiled(x)](x), "E104", "constant keys only"),
    (lambda x: level_compiled(x).upper(), "E161", "no method `upper`"),
    (lambda x: level_compiled(x) < 3, "E120", "`<` is not defined"),
    (lambda x: "a" if x > 0 else 3, "E140", "no common type"),
    (lambda x: np.zeros(3, dtype="f4" if x > 0 else "f8"), "E120", "string \"f4\" or \"f8\""),
])
def test_what_is_refused(function, code, text):
    with pytest.raises(errors.CompileError, match=text) as caught:
        njit(function)(1.0)
    assert caught.value.code == code


def test_formats_of_numbers_are_refused():
    def f(x):
        print(f"{level_compiled(x):.3f}")

    with pytest.raises(errors.TypingError, match="E104(?s:.)*not for strings"):
        njit(f)(1.0)


def test_an_array_of_strings_receives_no_chosen_string():
    def f(a, x):
        a[0] = "ab" if x > 0 else "cd"

    with pytest.raises(errors.TypingError, match="E120"):
        njit(f)(np.array(["ab"]), 1.0)


def test_none_is_no_string():
    def f(x):
        mode = None
        if x > 0:
            mode = "a"
        return len(mode)

    njit(f)(1.0)
    with pytest.raises(TypeError, match="expected a string, got None"):
        njit(f)(-1.0)


def test_c_functions_return_no_strings():
    with pytest.raises(TypeError, match="returns one number or nothing"):
        njit("(f8,)")(result).address

"""Both tables of promotion, and every operator on every pair of dtypes, through compiled functions.

Weak mode: what NumPy's promotion gives, with the deviations of docs/differences.md. Numba mode: what
numba 0.68 was seen to give, recorded below.
"""

from __future__ import annotations

import itertools
import operator

import numpy as np
import pytest

pytest.importorskip("lanewise._core")

import values as v
from values import COMPLEX, DTYPES, FLOATS, INTS, NUMPY, SHORT

# numba 0.68, `+` of two strong arguments, upper triangle: rows and columns in the order of DTYPES
NUMBA = """
b1: i8 i8 i8 i8 i8 i8 i8 i8 i8 f2 f4 f8 c8 c16
i1: i8 i8 i8 i8 i8 i8 i8 i8 f2 f4 f8 c8 c16
u1: u8 i8 u8 i8 u8 i8 u8 f2 f4 f8 c8 c16
i2: i8 i8 i8 i8 i8 i8 f4 f4 f8 c8 c16
u2: u8 i8 u8 i8 u8 f4 f8 f8 c16 c16
i4: i8 i8 i8 i8 f8 f8 f8 c16 c16
u4: u8 i8 u8 f8 f8 f8 c16 c16
i8: i8 i8 f8 f8 f8 c16 c16
u8: u8 f8 f8 f8 c16 c16
f2: f2 f4 f8 c8 c16
f4: f4 f8 c8 c16
f8: f8 c16 c16
c8: c8 c16
c16: c16
"""
ARITHMETIC = {"+": operator.add, "-": operator.sub, "*": operator.mul}
COMPARE = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq, "!=": operator.ne}
BITS = {"&": operator.and_, "|": operator.or_, "^": operator.xor}


def numba_table():
    table = {}
    for line in NUMBA.strip().splitlines():
        x, row = line.split(": ")
        for y, t in zip(DTYPES[DTYPES.index(x) :], row.split()):
            table[x, y] = table[y, x] = t
    return table


def weak(x, y):
    return "i8" if x == y == "b1" else SHORT[np.promote_types(NUMPY[x], NUMPY[y])]


PARAMS = ["x", *(f"y{i}" for i in range(len(DTYPES)))]


@pytest.mark.parametrize("x", DTYPES)
@pytest.mark.parametrize("mode, table", [("weak", None), ("numba", numba_table())], ids=["weak", "numba"])
def test_table(mode, table, x, evaluate):
    f = v.compiled(PARAMS, [f"x + {y}" for y in PARAMS[1:]] + [f"{y} * x" for y in PARAMS[1:]], typing=mode)
    got = evaluate(f, np.ones(3, NUMPY[x]), *[np.ones(3, NUMPY[y]) for y in DTYPES])
    want = [NUMPY[table[x, y] if table else weak(x, y)] for y in DTYPES]
    assert [g.dtype for g in got] == want * 2
    assert all((g == (2 if i < len(DTYPES) else 1)).all() for i, g in enumerate(got))


@pytest.mark.parametrize("x", DTYPES)
def test_python_numbers_are_weak(x, evaluate):
    """NEP 50, and the one deviation: a run-time int meets an integer as int64."""
    f = v.compiled(["x"], ["x + 1", "x * 0.5", "x + 1j", "x + int(x.real)", "x * float(x.real)", "x / 2", "2.5 - x", "3 + x * 2"])
    got = evaluate(f, np.ones(3, NUMPY[x]))
    one = NUMPY[x].type(1)
    literal = "i8" if x == "b1" else x
    index = x if x not in (*INTS, "b1") or x == "u8" else "i8"
    half = (one + 0.5).dtype if x not in ("b1", *INTS) else np.dtype("f8")
    imaginary = np.dtype("c16") if x in ("b1", *INTS, "f8", "c16") else np.dtype("c8")
    assert [g.dtype for g in got] == [NUMPY[literal], half, imaginary, NUMPY[index], half, half, half, NUMPY[literal]]


def test_numba_literals_are_wide(evaluate):
    for x, want in (("i1", "i8 f8 i8"), ("u4", "i8 f8 i8"), ("f4", "f8 f8 f8"), ("f8", "f8 f8 f8"), ("u8", "i8 f8 i8"), ("c8", "c16 c16 c16")):
        got = evaluate(v.compiled(["x"], ["x + 1", "x * 0.5", "2 * x"], typing="numba"), np.ones(3, NUMPY[x]))
        assert [g.dtype for g in got] == [NUMPY[t] for t in want.split()], x


# ---- values of operators ----


def expected_arithmetic(op, x, y, a, b):
    t = NUMPY[weak(x, y)]
    if t.kind == "c":  # NumPy's loops over arrays fuse, its scalars do not
        scalar = v.fuzz_module("semantics")
        name = {"+": scalar.complex_add, "-": scalar.complex_sub, "*": scalar.complex_mul, "/": scalar.complex_div}[op]
        rows = [name(SHORT[t], *pair) for pair in zip(a.astype(t).tolist(), b.astype(t).tolist())]
        return np.array(rows, t)
    if op == "/":
        return (a.astype("f8") if t.kind in "iub" else a.astype(t)) / (b.astype("f8") if t.kind in "iub" else b.astype(t))
    return {**ARITHMETIC, "//": operator.floordiv, "%": operator.mod}[op](a.astype(t), b.astype(t))


def cases_of(x, y, a, b):
    """(text, expected), for all operators that these two dtypes have."""
    real = x not in COMPLEX and y not in COMPLEX
    whole = x in (*INTS, "b1") and y in (*INTS, "b1")
    ops = ["+", "-", "*", "/", *(["//", "%"] if real else [])]
    cases = [(f"x {op} y", expected_arithmetic(op, x, y, a, b)) for op in ops]
    cases += [(f"x {op} y", COMPARE[op](a, b)) for op in (COMPARE if real else ("==", "!="))]
    if whole and weak(x, y) != "f8":
        bits = "b1" if x == y == "b1" else weak(x, y)
        cases += [(f"x {op} y", BITS[op](a.astype(NUMPY[bits]), b.astype(NUMPY[bits]))) for op in BITS]
    if whole:
        cases += [(f"x {op} y", expected_shift(op, x, y, a, b)) for op in ("<<", ">>")]
        if weak(x, y) != "f8":
            cases.append(("x ** (y & 7)" if y != "b1" else "x ** y", expected_power(x, y, a, b)))
    return cases


def expected_shift(op, x, y, a, b):
    """In NumPy's common type; beside a bool, and of int64 with uint64, in that of the left operand."""
    s = v.fuzz_module("semantics")
    t = "i8" if x == "b1" else x if y == "b1" or weak(x, y) == "f8" else weak(x, y)
    shift = s.shift_left if op == "<<" else s.shift_right
    return np.array([shift(t, int(i), int(n)) for i, n in zip(a.tolist(), b.tolist())], NUMPY[t])


def expected_power(x, y, a, b):
    s = v.fuzz_module("semantics")
    t = weak(x, y)
    return np.array([s.int_power(t, int(i), int(n) & 7 if y != "b1" else int(n)) for i, n in zip(a.tolist(), b.tolist())], NUMPY[t])


@pytest.mark.parametrize("x", DTYPES)
def test_operators(x, evaluate):
    """Two partners to a function: as many outputs as an Ufunc may have."""
    wrong = []
    for pair in v.chunks(DTYPES, 2):
        a = v.values(x, seed=1)
        others = [v.values(y, seed=2 + i) for i, y in enumerate(pair)]
        with np.errstate(all="ignore"):
            cases = [(i, text, want) for i, y in enumerate(pair) for text, want in cases_of(x, y, a, others[i])]
        f = v.compiled(["x", "y0", "y1"], [text.replace("y", f"y{i}") for i, text, _ in cases])
        got = evaluate(f, a, *others)
        for (i, text, want), g in zip(cases, got):
            if g.dtype != want.dtype:
                wrong.append(f"{text} of {x}, {pair[i]}: {g.dtype} instead of {want.dtype}")
                continue
            at = v.first_difference(g, want)
            if at is not None:
                wrong.append(v.told(f"{text} as {x}, {pair[i]}", at, [a, others[i]], g, want))
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("x", DTYPES)
def test_unary_operators(x, evaluate):
    a = v.values(x)
    wide = a.astype("i8") if x == "b1" else a
    cases = [("-x", -wide), ("+x", wide), ("not x", ~(a != 0)), ("bool(x)", a != 0)]
    if x in (*INTS, "b1"):
        cases.append(("~x", ~a))
    if x not in COMPLEX:
        cases.append(("abs(x)", np.abs(wide)))
    got = evaluate(v.compiled(["x"], [text for text, _ in cases]), a)
    for (text, want), g in zip(cases, got):
        at = v.first_difference(g, want)
        assert at is None, v.told(text, at, [a], g, want)


@pytest.mark.parametrize("x", DTYPES)
def test_float_powers(x, evaluate):
    """Within pow's bound; an integer exponent leaves a float its type."""
    if x in COMPLEX:
        pytest.skip("complex powers: test_intrinsics.py")
    ulps = v.fuzz_module("typing_rules").ulps()["pow"]
    a = np.abs(v.values("f8", seed=3)).astype("f4").astype("f8")
    b = v.values(x, seed=4)
    got = evaluate(v.compiled(["x", "y"], ["np.float32(x) ** y", "x ** y"]), a, b)
    narrow = "f4" if x in (*INTS, "b1", "f2", "f4") else "f8"
    with np.errstate(all="ignore"):
        y32 = b.astype(NUMPY[narrow])
        want = [np.power(a.astype("f4").astype(np.longdouble), y32.astype(np.longdouble)), np.power(a.astype(np.longdouble), b.astype("f8").astype(np.longdouble))]
    for g, w, t in zip(got, want, (narrow, "f8")):
        bound = max(ulps[t == "f8"], ulps[2 + (t == "f8")]) + 0.5
        at = v.first_far(g, w, t, bound)
        assert at is None, v.told(f"power, {x}", at, [a, b], g, w)


@pytest.mark.parametrize("x, y", [pair for pair in itertools.product(INTS, INTS) if weak(*pair) == "f8"])
def test_refused_between_integers(x, y, on_device):
    """No integer type holds int64 and uint64, nor int8 and uint64: bit operators and joins say so."""
    if on_device:
        pytest.skip("nothing to run")
    arrays = [np.ones(2, NUMPY[x]), np.ones(2, NUMPY[y])]
    assert v.refusal(["x", "y"], "x & y", arrays) == "E120"
    assert v.refusal(["x", "y"], "x if x else y", arrays) == "E143"


@pytest.mark.parametrize("t", [*FLOATS, *COMPLEX])
def test_refused_on_floats(t, on_device):
    if on_device:
        pytest.skip("nothing to run")
    arrays = [np.ones(2, NUMPY[t])]
    for text in ("x & 1", "x << 1", "1 >> x", "~x", "x | True"):
        assert v.refusal(["x"], text, arrays) == "E120", text
    if t in COMPLEX:
        for text in ("x // 2", "x % 2", "x < 1", "int(x)", "float(x)", "round(x)", "min(x, 1)"):
            assert v.refusal(["x"], text, arrays) == "E120", text
    for u in ("i1", "u1", "i2", "u2"):
        assert v.refusal(["x"], f"x + {2 ** 20}", [np.ones(2, NUMPY[u])]) == "E130"
        assert v.refusal(["x"], "x ** -1", [np.ones(2, NUMPY[u])]) == "E131"

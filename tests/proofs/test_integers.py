"""What integer operators become, proved for all operands: the IR's text is the formula (symbolic.py).

Divisions of 16 bits and more are too much for a solver (unknown after two minutes). There the proof for 8 bits stands for them:
that the text is the same but for the types is a test of its own."""

import re

import pytest

z3 = pytest.importorskip("z3", reason="z3 has no wheel for every platform")

import lanewise as lw
from symbolic import INTEGERS, Symbolic, prove, resized

SHORT = {"i8": "i1", "u8": "u1", "i16": "i2", "u16": "u2", "i32": "i4", "u32": "u4", "i64": "i8", "u64": "u8"}
NARROW = ["i8", "u8"]


def ir(function, *types, **options):
    text = lw.compile(lw.vectorize(warn=False, fma=False, **options)(function), f"({', '.join(SHORT[t] for t in types)},)", target="cpu", output="ir")
    return text if isinstance(text, str) else text[0]


def variables(*types):
    return [z3.BitVec(f"{name}_{t}", INTEGERS[t][1]) for name, t in zip("abc", types)]


def results(function, *types):
    """(arguments, results, result types); that nothing undefined is reached is proved on the way."""
    text = ir(function, *types)
    machine, arguments = Symbolic(text), variables(*types)
    values = machine.run(arguments)
    for path, must in machine.obligations:
        prove(z3.Implies(path, must))
    body = text[text.index("func internal lw_body") :]
    return arguments, values, re.findall(r"^    result (\w+)$", body[: body.index("body\n    ")], re.M)


def is_signed(t):
    return INTEGERS[t][0]


def ite_sign(value, t):
    return value < 0 if is_signed(t) else z3.BoolVal(False)


# ---- division ----


@pytest.mark.parametrize("t", NARROW)
def test_floor_division_and_remainder(t):
    """a == q * b + r, r lies between 0 and b; by zero both are 0; the least integer by -1 wraps."""
    (a, b), (q, r), _ = results(lambda a, b: (a // b, a % b), t, t)
    bits = INTEGERS[t][1]
    wide = 2 * bits + 2
    A, B, Q, R = (resized(x, is_signed(t), wide) for x in (a, b, q, r))
    overflows = z3.And(a == 1 << bits - 1, b == -1) if is_signed(t) else z3.BoolVal(False)
    good = z3.And(A == Q * B + R, z3.If(B > 0, z3.And(R >= 0, R < B), z3.And(R <= 0, R > B)))
    wrapped = z3.And(q == a, r == 0)
    prove(z3.If(b == 0, z3.And(q == 0, r == 0), z3.If(overflows, wrapped, good)), seconds=120)


def shape(text, t):
    """The body with the type's name, its least value and its width taken out."""
    signed, bits = INTEGERS[t]
    body = text[text.index("func internal lw_body") :]
    body = body[: body.index("\n}")]
    for old, new in ((f"-{1 << bits - 1}", "LEAST"), (f" {t}", " T"), ):
        body = body.replace(old, new)
    return body


@pytest.mark.parametrize("sign", "iu")
@pytest.mark.parametrize("function", [lambda a, b: a // b, lambda a, b: a % b, lambda a, b: divmod(a, b)], ids=["floordiv", "mod", "divmod"])
def test_all_widths_have_one_text(sign, function):
    texts = {shape(ir(function, *[f"{sign}{bits}"] * 2), f"{sign}{bits}") for bits in (8, 16, 32, 64)}
    assert len(texts) == 1, "\n".join(texts)


# ---- what wraps, compares, converts: all widths ----


@pytest.mark.parametrize("t", INTEGERS)
def test_arithmetic_wraps(t):
    (a, b), values, types = results(lambda a, b: (a + b, a - b, a & b, a | b, a ^ b, -a, ~a, a * b), t, t)
    assert set(types) == {t}
    for value, want in zip(values, (a + b, a - b, a & b, a | b, a ^ b, -a, ~a, a * b)):
        prove(value == want)


@pytest.mark.parametrize("t", INTEGERS)
def test_shifts_by_any_count(t):
    """By the width and more, and by negative counts: NumPy's 0, or the sign."""
    (a, b), (left, right), _ = results(lambda a, b: (a << b, a >> b), t, t)
    bits = INTEGERS[t][1]
    inside = z3.ULT(b, bits)
    prove(left == z3.If(inside, a << b, 0))
    beyond = z3.If(ite_sign(a, t), z3.BitVecVal(-1, bits), z3.BitVecVal(0, bits))
    prove(right == z3.If(inside, a >> b if is_signed(t) else z3.LShR(a, b), beyond))


@pytest.mark.parametrize("t", INTEGERS)
@pytest.mark.parametrize("u", INTEGERS)
def test_comparisons_are_those_of_the_values(t, u):
    """Also of a negative integer with an unsigned one of 64 bits."""
    (a, b), values, _ = results(lambda a, b: (a < b, a <= b, a > b, a >= b, a == b, a != b), t, u)
    A, B = resized(a, is_signed(t), 66), resized(b, is_signed(u), 66)
    for value, want in zip(values, (A < B, A <= B, A > B, A >= B, A == B, A != B)):
        prove(value == want)


@pytest.mark.parametrize("t", INTEGERS)
def test_magnitude_smallest_largest_truth(t):
    (a, b), (size, least, most, truth, both), _ = results(lambda a, b: (abs(a), min(a, b), max(a, b), bool(a), a and b), t, t)
    less = a < b if is_signed(t) else z3.ULT(a, b)
    prove(size == z3.If(ite_sign(a, t), -a, a))
    prove(least == z3.If(less, a, b))
    prove(most == z3.If(less, b, a))
    prove(truth == (a != 0))
    prove(both == z3.If(a == 0, a, b))


@pytest.mark.parametrize("t", INTEGERS)
def test_casts_wrap(t):
    casts = {u: getattr(lw, f"{'u' if u[0] == 'u' else ''}int{u[1:]}") for u in INTEGERS}
    for u, cast in casts.items():
        (a,), (value,), _ = results(lambda a: cast(a), t)
        prove(value == z3.Extract(INTEGERS[u][1] - 1, 0, resized(a, is_signed(t), 128)))


@pytest.mark.parametrize("t", NARROW)
def test_branches(t):
    def f(a, b):
        if a > b:
            c = a - b
        elif a == b:
            return b
        else:
            c = b - a
        return c

    (a, b), (value,), _ = results(f, t, t)
    less = a < b if is_signed(t) else z3.ULT(a, b)
    prove(value == z3.If(a == b, b, z3.If(less, b - a, a - b)))


def test_a_wrong_claim_fails():
    (a, b), (value,), _ = results(lambda a, b: a // b, "i8", "i8")
    with pytest.raises(AssertionError, match="sat: "):
        prove(z3.Implies(b != 0, value == a / b))  # C's division

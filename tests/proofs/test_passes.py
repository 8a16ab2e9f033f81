"""What core/opt does to a function, proved: contraction (contract.c) and the guard of unrolled loops (stride.c).

Of the other passes there is no formula: apart and overwrite say which memory is shared, race which iterations
write the same element, narrow_sum which sums fit, operator whether a reduction's function commutes. They are
tested by running (tests/fuzz/arrays.py, tests/py/test_overlap.py, test_forall_races.py, test_narrow_sums.py)."""

import re

import pytest

z3 = pytest.importorskip("z3", reason="z3 has no wheel for every platform")

import lanewise as lw
from lanewise import cuda
from symbolic import NEAREST, Symbolic, prove

SMALL = (3, 3)  # what holds for every format holds for this one, in which all values can be looked at
WIDE = z3.FPSort(6, 20)  # holds the exact sum of a product and a small float


def contracted(function, n):
    text = lw.compile(lw.vectorize(warn=False, fma=True)(function), f"({', '.join(['f4'] * n)},)", target="cpu", output="ir")
    text = text if isinstance(text, str) else text[0]
    arguments = [z3.FP(name, z3.FPSort(*SMALL)) for name in "abcd"[:n]]
    (value,) = Symbolic(text, {"f32": SMALL}).run(arguments)
    body = text[text.index("func internal lw_body") :]
    return body[: body.index("\n}")], arguments, value


def wide(x):
    return z3.fpToFP(NEAREST, x, WIDE)


def rounded(x):
    return z3.fpToFP(NEAREST, x, z3.FPSort(*SMALL))


def product(a, b):
    return z3.fpMul(NEAREST, wide(a), wide(b))


def same(x, y):
    """NaN is NaN; zeros have their sign."""
    return z3.Or(x == y, z3.And(z3.fpIsNaN(x), z3.fpIsNaN(y)))


CASES = [
    (lambda a, b, c: a * b + c, lambda a, b, c: z3.fpAdd(NEAREST, product(a, b), wide(c))),
    (lambda a, b, c: c + a * b, lambda a, b, c: z3.fpAdd(NEAREST, product(a, b), wide(c))),
    (lambda a, b, c: a * b - c, lambda a, b, c: z3.fpSub(NEAREST, product(a, b), wide(c))),
    (lambda a, b, c: c - a * b, lambda a, b, c: z3.fpSub(NEAREST, wide(c), product(a, b))),
]


@pytest.mark.parametrize("function, exact", CASES, ids=["ab+c", "c+ab", "ab-c", "c-ab"])
def test_a_contracted_sum_is_rounded_once(function, exact):
    body, arguments, value = contracted(function, 3)
    assert "= fma" in body and "= mul" not in body
    prove(same(value, rounded(exact(*arguments))), seconds=120)


def test_what_is_no_sum_keeps_its_roundings():
    body, (a, b, c), value = contracted(lambda a, b, c: (a * b) * c, 3)
    assert "= fma" not in body
    prove(same(value, z3.fpMul(NEAREST, z3.fpMul(NEAREST, a, b), c)))


def test_of_two_products_one_is_exact():
    body, (a, b, c, d), value = contracted(lambda a, b, c, d: a * b + c * d, 4)
    assert body.count("= fma") == 1
    left = rounded(z3.fpAdd(NEAREST, product(a, b), wide(z3.fpMul(NEAREST, c, d))))
    right = rounded(z3.fpAdd(NEAREST, wide(z3.fpMul(NEAREST, a, b)), product(c, d)))
    # one order for all values: with both allowed for each value, a pass that chooses by value would pass, too
    for want in (left, right):
        try:
            prove(same(value, want), seconds=100)
            return
        except AssertionError as no:
            assert str(no).startswith("sat"), no
    raise AssertionError("neither product is exact")


# ---- loops whose step is known at launch ----


def copied(x, out, n):
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        out[i] = x[i]


def guard_of_unrolled_loop():
    """The lines of the kernel's IR, and where its first loop is."""
    text = cuda.jit(copied).inspect_ir("(f4[:], f4[:], i8)", target="sm_90")
    body = next(part for part in text.split("func ") if "\n    loop" in part)
    lines = [line.strip() for line in body.splitlines()]
    first = next(k for k, line in enumerate(lines) if line.startswith("loop"))
    return lines, first


def definitions(lines):
    return {int(m.group(1)): m.group(2) for m in (re.match(r"%(\d+) = (.*)", line) for line in lines) if m}


def formula(number, made, leaves):
    """The value as a formula over the leaves, which are 64-bit variables."""
    op, type_, *rest = made[number].split(" ", 2)
    values = [int(v) for v in re.findall(r"%(\d+)", rest[0])] if rest else []
    if op == "const":
        return z3.BitVecVal(int(rest[0].split()[0]), 64)
    if op not in ("add", "sub", "mul", "lt", "gt", "and", "select", "cast"):
        return leaves.setdefault(number, z3.BitVec(f"v{number}", 64))
    signed = made[values[0]].split()[1] == "i64"
    parts = [formula(v, made, leaves) for v in values]
    return {
        "add": lambda a, b: a + b,
        "sub": lambda a, b: a - b,
        "mul": lambda a, b: a * b,
        "lt": lambda a, b: a < b if signed else z3.ULT(a, b),
        "gt": lambda a, b: a > b if signed else z3.UGT(a, b),
        "and": z3.And,
        "select": z3.If,
        "cast": lambda a: a,
    }[op](*parts)


def test_four_iterations_fit_where_the_guard_says_so():
    """With i, end and step of 64 bits: the loop counts how far it is from i to the end, and i is the end less that. If it goes
    on, i + step … i + 3 * step are all below the end, and neither they nor i + 4 * step overflow; and i + 4 * step is the
    end less the distance of the next iterations."""
    lines, first = guard_of_unrolled_loop()
    made = definitions(lines)
    number = lambda text: [int(v) for v in re.findall(r"%(\d+)", text)]  # noqa: E731
    stop = next(number(line)[0] for line in lines[first:] if line.startswith("if"))
    (guard,) = number(made[stop])
    distance_number, four_number = number(made[guard])
    assert made[guard].startswith("gt b1") and made[distance_number].startswith("get u64")
    small, four, most = number(made[four_number])
    step_number = number(made[small])[0]
    slot, start_number = next(number(line) for line in reversed(lines[:first]) if line.startswith("set"))
    assert slot == number(made[distance_number])[0]
    below, _, _ = number(made[start_number])
    i_number, end_number = number(made[below])
    here = next(k for k, text in made.items() if text.startswith("sub i64") and number(text)[0] == end_number and k > stop)
    _, next_number = next(number(line) for line in lines[first:] if line.startswith(f"set %{slot} "))
    after = number(made[next_number])[0]

    i, end, step, distance = z3.BitVecs("i end step distance", 64)
    leaves = {i_number: i, end_number: end, step_number: step, distance_number: distance, after: distance}
    made |= {k: "leaf i64 -" for k in (i_number, end_number, step_number)}
    exact = z3.SignExt(64, end) - z3.ZeroExt(64, distance)  # the i of this distance
    fits = z3.And(exact >= -(2**63), distance != 0)
    start = formula(start_number, made, leaves)
    prove(z3.If(i < end, z3.SignExt(64, end) - z3.ZeroExt(64, start) == z3.SignExt(64, i), start == 0))
    goes_on, at, rest = (formula(k, made, leaves) for k in (guard, here, next_number))
    assert len(leaves) == 5, "they depend on nothing else"
    assuming = [step > 0, z3.Or(fits, distance == 0)]
    far = [exact + k * z3.SignExt(64, step) for k in range(5)]
    inside = [z3.And(f < z3.SignExt(64, end), f >= -(2**63)) for f in far]
    prove(z3.Implies(goes_on, z3.And(z3.SignExt(64, at) == exact, *inside)), assuming=assuming)
    prove(z3.Implies(goes_on, far[4] == z3.SignExt(64, end) - z3.ZeroExt(64, rest)), assuming=assuming)
    with pytest.raises(AssertionError, match="sat"):
        prove(z3.Implies(distance != 0, z3.And(*inside)), assuming=assuming)

"""Lowering: golden IR, and what does not show in results.

A case in tests/golden/ir is Python text that defines `f`, a signature, perhaps options, and the IR.
`pytest --bless` rewrites the last part."""

from __future__ import annotations

import linecache
import re
from pathlib import Path

import pytest

from lanewise._core import _dump_ir

CASES = sorted((Path(__file__).resolve().parents[1] / "golden" / "ir").glob("*.case"))


def sections(text: str) -> dict[str, str]:
    parts = re.split(r"^--- (\w+)\n", "--- source\n" + text, flags=re.M)
    return dict(zip(parts[1::2], parts[2::2]))


def lower(source: str, signature: str, **options) -> str:
    name = "case.py"
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    space = {"__name__": "case"}
    try:
        exec(compile(source, name, "exec", dont_inherit=True), space)
        return _dump_ir(space["f"], signature, **options)
    finally:
        del linecache.cache[name]


@pytest.mark.distinct_cases
@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_golden(path, bless):
    text = path.read_text(encoding="utf-8")
    head = re.split(r"^--- ir\n", text, maxsplit=1, flags=re.M)[0]
    case = sections(head)
    options = eval(f"dict({case.get('options', '').strip()})")
    found = head + "--- ir\n" + lower(case["source"], case["signature"].strip(), **options)
    if bless:
        path.write_text(found, encoding="utf-8")
    assert found == text


def test_there_are_golden_files():
    assert len(CASES) >= 15


def ops(ir: str) -> list[str]:
    return re.findall(r"^\s*(?:%\d+ = )?([a-z_]+)", ir, flags=re.M)


@pytest.mark.parametrize("body", [
    "return x if x > y else y",
    "return max(x, y)",
    "if x > 0:\n        return math.sqrt(x)\n    return x",
    "if x > 0:\n        r = x\n    else:\n        r = math.exp(x)\n    return r",
    "return x > 0 and y > 0 or x < y < 3",
    "return (x or 1.0) + (y and x)",
])  # fmt: skip
def test_arms_that_compute_need_no_branch(body):
    ir = lower(f"import math\n\n\ndef f(x, y):\n    {body}\n", "(float64, float64)")
    assert not {"if", "loop", "block"} & set(ops(ir)), ir


@pytest.mark.parametrize("body", [
    "return loop(x) if x > y else y",
    "return x > y and loop(x) > 3",
    "if x > y:\n        x = loop(x)\n    return x",
])  # fmt: skip
def test_loops_are_only_entered_when_reached(body):
    source = "def loop(n):\n    s = 0\n    while n > s:\n        s += 1\n    return s\n\n\n"
    ir = lower(f"{source}def f(x, y):\n    {body}\n", "(int64, int64)")
    assert "if" in ops(ir.split("lw_body")[1])


def test_each_instance_is_lowered_once():
    source = "def g(v):\n    return v * v\n\n\ndef f(x, y):\n    return g(x) + g(y) + g(x > 0)\n"
    assert lower(source, "(float64, float64)").count("func internal") == 3


def test_checks_are_statuses_with_a_place():
    ir = lower("def f(x, y):\n    a = x // y\n    return a\n", "(int64, int64)", checks=1)
    assert "status 1: ZeroDivisionError: " in ir and "line 2 in f" in ir
    assert "status" not in lower("def f(x, y):\n    return x // y\n", "(int64, int64)")


def test_a_step_that_is_zero_raises():
    ir = lower("def f(n):\n    s = 0\n    for i in range(0, 9, n):\n        s += i\n    return s\n", "(int64)")
    assert "ValueError: range() arg 3 must not be zero" in ir


def test_fused_only_when_wanted():
    source = "def f(a, x, y):\n    return a * x + y\n"
    assert "fma" in ops(lower(source, "(f8, f8, f8)", fma=True))
    assert "fma" not in ops(lower(source, "(f8, f8, f8)"))


def test_constants_take_the_type_they_meet():
    """No cast in the loop, and an exponent of 2 stays a product."""
    ir = lower("def f(x):\n    return x ** 2 * 0.5 + 1\n", "(float32)")
    assert not {"cast", "intrin"} & set(ops(ir))

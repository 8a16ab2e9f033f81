"""Loops that store into rows and small arrays, in each run of the suite: stores.py, and the interpreter of PTX that it shares with loops.py."""

from __future__ import annotations

import random

import numpy as np
import ptx_interpreter
import pytest
import stores
from check import define
from test_fuzz import fuzz

import lanewise as lw


@pytest.mark.slow_with_sanitizers
def test_random_programs():
    code, text = fuzz("--stores", "--seed", "9000", "--count", "24")
    assert code == 0, text


@pytest.mark.slow_with_sanitizers
@pytest.mark.parametrize("kind, count", [("--stores", "14"), ("--loops", "28")])  # two and four for each architecture
def test_what_libnvvm_makes_of_them(kind, count):
    code, text = fuzz(kind, "--seed", "9000", "--count", count, "--ptx")
    assert code == 0, text


def test_they_compile_for_gpus():
    code, text = fuzz("--stores", "--seed", "9100", "--count", "8", "--compile")
    assert code == 0, text


def test_they_are_of_all_kinds():
    drawn = [stores.Writer(random.Random(seed)).source() for seed in range(300)]
    text = "".join(drawn)
    parts = ("continue", "break", "return\n", "while p < q", "while q >= 0", "for i2", ", -1)", "+= 1", "y[-1 - i0]", "% n]", "min(max(", " if ", "// ", "t[int(", "float(x[", "int(x[")
    assert not [part for part in parts if part not in text]


def test_a_wrong_result_is_found(monkeypatch):
    source = "def f(x, c, d, y, t):\n    for i in range(len(x)):\n        y[i] = x[i]\n    for i in range(8):\n        t[i] = i\n"
    assert stores.check_program(source, "int", random.Random(1)) is None
    right = stores.call
    monkeypatch.setattr(stores, "call", lambda *args: tuple(a + (a == 3) for a in right(*args)))
    assert "rows)" in stores.check_program(source, "int", random.Random(1))
    right_launch = stores.launch

    def wrong_launch(text, args, threads):
        right_launch(text, args, threads)
        args[3][:] += args[3] == args[3].max()

    assert stores.check_program(source, "int", random.Random(1), "ptx sm_90") is None
    monkeypatch.setattr(stores, "launch", wrong_launch)
    assert "rows)" in stores.check_program(source, "int", random.Random(1), "ptx sm_90")


# ---- loads that libNVVM merged (core/emit/origins.c) ----


def of_last_or_input(n, c, x, y):
    for i in range(1, n):
        y[0] = x[i] - (y[-1] if c > 3 else x[0])
        y[n - 1] = i


def of_branches(n, c, x, y):
    s = x[0]
    for i in range(1, n):
        if c > 3:
            s = x[i] + 3
        else:
            s = y[i - 1] + 3
        y[i] = s


def of_stores(n, c, x, y):
    for i in range(1, n):
        if (c + i) % 3:
            y[i] = x[i - 1]
        else:
            y[i] = y[i - 1]


def of_what_was_before(n, c, x, y):
    before = x[0]
    for i in range(1, n):
        y[i] = before + i
        before = y[i - 1]


def first(a):
    return a[0]


def of_functions(n, c, x, y):
    for i in range(1, n):
        y[i] = (first(y) if c > 3 else first(x)) + i
        y[0] = i


@pytest.mark.parametrize("dtype", ["i1", "u2", "i4", "i8", "f2", "f4", "f8"])
@pytest.mark.parametrize("function", [of_last_or_input, of_branches, of_stores, of_what_was_before, of_functions])
def test_loads_of_what_is_written_are_not_merged_with_others(function, dtype):
    for arch in ("sm_75", "sm_90", "sm_100"):
        text = lw.compile(function, lw.void(lw.int64, lw.int64, lw.from_dtype(np.dtype(dtype))[:], lw.from_dtype(np.dtype(dtype))[:]), target=arch, output="ptx")
        for c in (1, 9):
            x, y = np.arange(8).astype(dtype), np.zeros(8, dtype)
            wanted = y.copy()
            with np.errstate(all="ignore"):
                lw.njit(function)(8, c, x, wanted)
            ptx_interpreter.launch(text, [np.int64(8), np.int64(c), x, y])
            np.testing.assert_array_equal(y, wanted)


# ---- the interpreter ----


def of_integers(a, b, out):
    out[0] = (a * b) ^ (a >> 3) | (b << 7) & 0xFFFF
    out[1] = a // b if b else -1
    out[2] = a % b if b else -1
    out[3] = min(a, b) - max(a, 3) + abs(b)
    out[4] = np.uint8(a) + np.int16(b) * 3
    out[5] = (a < b) + 2 * (np.uint32(a) < np.uint32(b))
    out[6] = ~a - -b


def of_floats(a, b, out):
    out[0] = a * b + 0.1
    out[1] = a / b if b else 0.0
    out[2] = float(a) % float(b) if b else 0.0
    out[3] = np.sqrt(abs(a)) + np.floor(b) - np.rint(a)
    out[4] = np.float32(a) * np.float32(b)
    out[5] = int(a) + (a < b) - (a != a)
    out[6] = min(a, b)


@pytest.mark.parametrize("function, kind", [(of_integers, "i4"), (of_integers, "i8"), (of_floats, "f8"), (of_floats, "f4")])
def test_the_interpreter_computes_what_the_cpu_does(function, kind):
    numbers = [0, 1, -1, 7, -13, 2**31 - 1, -(2**31)] if kind[0] == "i" else [0.0, -0.0, 1.5, -2.75, 1e10, -7.0, np.inf, np.nan]
    out = "i8" if kind[0] == "i" else "f8"
    for arch in ("sm_75", "sm_120"):
        text = lw.compile(function, f"({kind}, {kind}, {out}[:])", target=arch, output="ptx")
        for a in numbers:
            for b in numbers:
                a, b = np.dtype(kind).type(a), np.dtype(kind).type(b)
                got, wanted = np.zeros(7, out), np.zeros(7, out)
                lw.njit(function)(a, b, wanted)
                ptx_interpreter.launch(text, [a, b, got])
                np.testing.assert_array_equal(got, wanted, err_msg=f"{arch} {a} {b}")


STALE = """
.visible .entry f(
    .param .u64 f_param_0,
    .param .u64 f_param_1,
    .param .u64 f_param_2
)
{
    .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [f_param_0];
    ld.global.nc.u64 %rd2, [%rd1];
    st.global.u64 [%rd1+8], %rd2;
}
"""


def test_stale_loads_are_found():
    x = np.array([7, 0])
    ptx_interpreter.launch(STALE, [x])
    assert x.tolist() == [7, 7]
    with pytest.raises(ptx_interpreter.Stale):
        ptx_interpreter.launch(STALE.replace("+8", ""), [x])


def test_endless_loops_end(monkeypatch):
    monkeypatch.setattr(ptx_interpreter, "MOST_BLOCKS", 1000)

    def f(x):
        while x[0] >= 0:
            x[0] = 1

    text = lw.compile(f, "(i8[:],)", target="sm_90", output="ptx")
    with pytest.raises(ptx_interpreter.Endless):
        ptx_interpreter.launch(text, [np.ones(1, np.int64)])

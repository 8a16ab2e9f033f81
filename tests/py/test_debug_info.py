"""Variables in debuggers, with debug=True: what DWARF says of them on both targets, and gdb in compiled functions of the CPU."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys

import numpy as np
import pytest

import lanewise as lw
from lanewise import cuda

DUMP = shutil.which("llvm-dwarfdump")
needs_dump = pytest.mark.skipif(DUMP is None, reason="llvm-dwarfdump is missing: DWARF cannot be read")
needs_gdb = pytest.mark.skipif(shutil.which("gdb") is None or sys.platform != "linux" or "LW_ASAN" in os.environ,
                               reason="gdb is missing, or the sanitizer's library is preloaded")
TARGETS = ["sm_75", "sm_90", "sm_100", "sm_120"]


def helper(a, b):
    product = a * b
    both = (product, a)
    if product > 3:
        product = product + 1
    return product, both


def kernel(x, n, z):
    i = cuda.grid(1)
    s = 0.5
    row = x[i]
    for j in range(n):
        w, pair = helper(row[j], s)
        s += w + pair[0]
    flag = s > 2
    c = z * 2
    x[i, 0] = s
    s = i
    x[i, 1] = s + c.real + flag


SIGNATURE = "void(float32[:, :], int64, complex128)"


def dwarf(code: bytes, tmp_path) -> dict[str, dict[str, tuple[str, str]]]:
    """{function: {variable: (its tag, its type)}}"""
    path = tmp_path / "code"
    path.write_bytes(code)
    text = subprocess.run([DUMP, "--debug-info", str(path)], capture_output=True, text=True, check=True).stdout
    found: dict[str, dict[str, tuple[str, str]]] = {}
    for part in re.split(r"\n0x[0-9a-f]+: ", text):
        tag = part.split("\n")[0].strip()
        name = re.search(r'DW_AT_name\t\("(.*)"\)', part)
        if tag == "DW_TAG_subprogram":
            function = found.setdefault(name[1], {})
        elif tag in ("DW_TAG_variable", "DW_TAG_formal_parameter"):
            function[name[1]] = tag[7:], re.search(r'DW_AT_type\t\(.*"(.*)"\)', part)[1]
    return found


@needs_dump
@pytest.mark.parametrize("target", TARGETS)
def test_a_cubin_names_variables_and_types(target, tmp_path):
    found = dwarf(lw.compile(lw.jit(debug=True)(kernel), SIGNATURE, target=target, output="cubin"), tmp_path)
    number, parameter = ("variable", "int64"), "formal_parameter"
    assert found["kernel"] == {
        "x": (parameter, "float32[:, :]"), "n": (parameter, "int64"), "z": (parameter, "complex128"), "i": number, "j": number,
        "s": ("variable", "float32"), "s__2": number, "row": ("variable", "float32[:]"), "w": ("variable", "float32"),
        "pair": ("variable", "tuple(float32, float32)"), "flag": ("variable", "bool"), "c": ("variable", "complex128")}
    assert found["helper"] == {"a": (parameter, "float32"), "b": (parameter, "float32"), "product": ("variable", "float32"),
                               "both": ("variable", "tuple(float32, float32)")}


def every_number(a):
    u1, i2, f2, f8 = a[0], np.int16(3) * a[1], np.float16(1.5) + np.float16(a[0]), 2.5 * a[0]
    c8, b, big = np.complex64(a[0] * 1j), a[0] > 1, np.uint64(7) + a[2]
    wide = (u1, (f2, b), 3)
    local = lw.local((2, 3), lw.float32)
    local[0, 0] = u1 + i2 + f2 + f8 + c8.real + b + big + wide[2]
    a[0] = int(local[0, 0]) & 1


@needs_dump
@pytest.mark.parametrize("target", TARGETS)
def test_types(target, tmp_path):
    found = dwarf(lw.compile(lw.jit(debug=True)(every_number), "void(uint8[:])", target=target, output="cubin"), tmp_path)
    assert {name: type for name, (_, type) in found["every_number"].items()} == {
        "a": "uint8[:]", "u1": "uint8", "i2": "int16", "f2": "float16", "f8": "float64", "c8": "complex64", "b": "bool", "big": "uint64",
        "wide": "tuple(uint8, tuple(float16, bool), int 3)", "local": "float32[2, 3]"}


def test_without_debug_there_are_none():
    """There are none either if optimised code is asked for, or in reductions, which recognise their functions by their code."""
    plain = lw.compile(kernel, SIGNATURE, target="sm_90", output="nvvm")
    assert "DILocalVariable" not in plain and "FullDebug" not in plain and "noinline" not in plain
    assert plain == lw.compile(lw.jit(debug=False)(kernel), SIGNATURE, target="sm_90", output="nvvm")
    assert ".debug_info" not in lw.compile(kernel, SIGNATURE, target="sm_90", output="ptx")
    assert ".debug_info" not in lw.compile(lw.jit(debug=True, opt=True)(kernel), SIGNATURE, target="sm_90", output="ptx")
    assert ".debug_info" in lw.compile(lw.jit(debug=True, opt=False)(kernel), SIGNATURE, target="sm_90", output="ptx")
    assert "DILocation" not in lw.compile(kernel, SIGNATURE, target="cpu", output="llvm")
    assert "DILocalVariable" in lw.compile(lw.jit(debug=True)(kernel), SIGNATURE, target="cpu", output="llvm")
    total = lw.reduce(lambda a, b: a + b, debug=True)
    assert total(np.arange(5.0)) == 10 and "DILocalVariable" not in str(total.inspect_llvm())


SAXPY = {
    "vectorize": lambda **options: lw.vectorize(lambda x: helper(x, 2.0)[0], **options)(np.arange(5.0)),
    "guvectorize": lambda **options: lw.guvectorize("(n)->(n)", **options)(doubled)(np.arange(5.0)),
    "forall": lambda **options: _filled(lambda out: lw.forall(filled, **options)(5, out)),
    "threads": lambda **options: _filled(lambda out: lw.jit(stored, **options)[1, 5](out)),
    "call": lambda **options: lw.jit(lambda x: helper(x, 3.0)[0], **options)(1.5),
    "array": lambda **options: lw.jit(lambda x: np.sqrt(x) / x.sum(), **options)(np.arange(5.0)),
    "map": lambda **options: lw.reduce(lambda a, b: a + b, map=lambda x: helper(x, 2.0)[0], **options)(np.arange(5.0)),
}


def doubled(x, out):
    for i in range(len(x)):
        value = x[i] * 2
        if value > 4:
            value -= 1
        out[i] = value


def filled(i, out):
    value, (_, b) = helper(i * 0.5, 2.0)
    out[i] = value + b


def stored(out):
    i = cuda.threadIdx.x
    shared = cuda.shared.array(5, lw.float64)
    shared[i] = helper(i * 0.5, 2.0)[0]
    cuda.syncthreads()
    out[i] = shared[4 - i]


def _filled(run):
    out = np.zeros(5)
    with lw.config(target="cpu"):
        run(out)
    return out


@pytest.mark.parametrize("name", SAXPY)
def test_results_are_the_same(name):
    np.testing.assert_array_equal(SAXPY[name](), SAXPY[name](debug=True))


# ---- gdb ----

PROGRAM = '''
import numpy as np
import lanewise as lw

class Point:
    def __init__(self, x, y):
        self.x = x
        self.y = y

    def product(self):
        n = self.x * self.y
        return n

def helper(a, b):
    product = a * b
    both = (product, a)
    return product, both

@lw.jit(debug=True)
def total(x, n, z, records):
    s = 0.5
    row = x[1]
    point = Point(z.real, 2)
    for j in range(n):
        w, pair = helper(row[j], s)
        s += w + pair[0]
    c = z * 2
    record = records[1]
    flag = s > 2
    s = n
    return s + c.real + flag + point.product() + record.x  # the last line

@lw.vectorize(debug=True)
def halve(x):
    half = x / 2
    return half

records = np.zeros(2, [("x", "f4"), ("y", "i8"), ("z", "f8", (2,))])
records[1] = 1.5, -7, (0.25, 0.75)
x = np.arange(12, dtype=np.float32).reshape(3, 4)
total(x, 4, 2 + 1j, records)
halve(np.arange(4.0))
print("done")
'''


def gdb(tmp_path, commands: str) -> str:
    (tmp_path / "program.py").write_text(PROGRAM)
    (tmp_path / "commands").write_text("set breakpoint pending on\nset debuginfod enabled off\nset pagination off\nset print pretty off\n" + commands)
    done = subprocess.run(["gdb", "-q", "-nx", "-batch", "-x", str(tmp_path / "commands"), "--args", sys.executable, str(tmp_path / "program.py")],
                          capture_output=True, text=True, timeout=300, check=False)
    if "ptrace: Operation not permitted" in done.stderr or "Could not trace" in done.stderr:
        pytest.skip("this system does not let gdb run programs")
    return done.stdout


@needs_gdb
def test_gdb_shows_variables(tmp_path):
    line = PROGRAM.split("\n").index("    return s + c.real + flag + point.product() + record.x  # the last line") + 1
    shown = gdb(tmp_path, f"break program.py:{line}\nrun\ninfo args\ninfo locals\nprint x.data[5]\nprint *record\nprint sizeof(record->z)\n"
                          "print row.data[2]\nbt 1\ndelete\ncontinue\n")
    for text in ("n = 4", "z = {real = 2, imag = 1}", "shape = {3, 4}, strides = {16, 4}}", "point = {x = 2, y = 2}", "j = 3", "flag = true",
                 "c = {real = 4, imag = 2}", "s__2 = 4", "$1 = 5", "$2 = {x = 1.5, y = -7, z = {0.25, 0.75}}", "$3 = 16", "$4 = 6", "total (x=...",
                 "program.py:", "done"):
        assert text in shown, (text, shown)


@needs_gdb
def test_gdb_steps_through_functions(tmp_path):
    """A breakpoint is set at a function by its name before it is compiled; gdb shows its arguments and the caller's variables, and steps from line to line."""
    shown = gdb(tmp_path, "break helper\nrun\nprint a\nprint b\nup\nprint s\ndown\nnext\nprint product\nnext\nprint both\nfinish\nnext\n"
                          "delete\nbreak halve\ncontinue\nprint x\nnext\nprint half\ndelete\ncontinue\n")
    numbers = re.findall(r"\$\d+ = (.*)", shown)
    assert numbers == ["4", "0.5", "0.5", "2", "{_0 = 2, _1 = 4}", "0", "0"]
    assert "product = a * b" in shown and "helper (a=4, b=0.5)" in shown and "halve (x=0)" in shown and "done" in shown


@needs_gdb
def test_code_that_goes_is_forgotten(tmp_path):
    shown = gdb(tmp_path, "break helper\nrun\ninfo breakpoints\ndelete\ncontinue\n")
    assert "done" in shown and "exited normally" in shown


def test_a_variable_that_may_be_none():
    @lw.njit(debug=True)
    def f(n):
        x = None
        if n > 3:
            x = n * 2.0
        if x is None:
            return 0.0
        return x

    assert (f(2), f(5)) == (0.0, 10.0)

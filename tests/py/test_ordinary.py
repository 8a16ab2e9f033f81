"""Kernels of ufuncs whose bodies have a form without the tests of float64 operations (core/emit/ordinary). The text of the kernel is compiled for the CPU,
and runs there thread by thread: elements that are ordinary and those that are not must have the same bits, wherever they lie. With a GPU, also there."""

import ctypes
import math
import re

import llvmlite.binding as llvm
import numpy as np
import pytest

import lanewise as lw
from lanewise._bench import black_scholes
from target_checks import back, on

NAN, INF = math.nan, math.inf

PIECES = """
@place = global [2 x i32] zeroinitializer
define internal i32 @tid() {
  %v = load i32, ptr @place
  ret i32 %v
}
define internal i32 @ctaid() {
  %at = getelementptr i32, ptr @place, i64 1
  %v = load i32, ptr %at
  ret i32 %v
}
define internal double @rcp(double %y) {
  %bits = bitcast double %y to i64
  %upper = and i64 %bits, -4294967296
  %cut = bitcast i64 %upper to double
  %r = fdiv double 1.0, %cut
  %rbits = bitcast double %r to i64
  %rupper = and i64 %rbits, -4294967296
  %out = bitcast i64 %rupper to double
  ret double %out
}
define internal double @rsqrt(double %y) {
  %root = call double @llvm.sqrt.f64(double %y)
  %r = fdiv double 1.0, %root
  %rbits = bitcast double %r to i64
  %rupper = and i64 %rbits, -4294967296
  %out = bitcast i64 %rupper to double
  ret double %out
}
declare double @llvm.fabs.f64(double)
declare float @llvm.fabs.f32(float)
"""


def text_for_cpu(f, signature):
    """The kernel's text for the CPU's LLVM, its name, and how many operands it has."""
    text = f.inspect_nvvm(signature, "sm_90")
    text = re.sub(r"^@llvm\.used.*?^\].*?$", "", text, flags=re.M | re.S)
    text = re.sub(r"^(target|!|declare .*(nvvm|fabs|sqrt\.f64)).*\n", "", text, flags=re.M)
    text = re.sub(r",? ![\w.]+ !\d+|,? !dbg !\d+", "", text)
    text = re.sub(r"(i8|i32|i64|double|<\d+ x double>)\*", "ptr", text)
    text = text.replace("@llvm.nvvm.read.ptx.sreg.tid.x", "@tid").replace("@llvm.nvvm.read.ptx.sreg.ctaid.x", "@ctaid")
    text = re.sub(r'asm "(rcp|rsqrt)\.approx\.ftz\.f64[^"]*", "=d,d"(.*) nounwind readnone', r"@\1\2", text)
    text = text.replace("@llvm.nvvm.fabs.d", "@llvm.fabs.f64").replace("@llvm.nvvm.fabs.f", "@llvm.fabs.f32")
    name, params = re.search(r"^define void @(\w+)\(([^)]*)\)", text, re.M).groups()
    return text + PIECES + "declare double @llvm.sqrt.f64(double)\n", name, params.count(",")


class Kernel:
    def __init__(self, f, signature):
        text, name, self.n = text_for_cpu(f, signature)
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        module = llvm.parse_assembly(text)
        machine = llvm.Target.from_default_triple().create_target_machine(cpu=llvm.get_host_cpu_name(), features=llvm.get_host_cpu_features().flatten(), opt=2)
        self.engine = llvm.create_mcjit_compiler(module, machine)
        self.engine.finalize_object()
        self.place = (ctypes.c_int32 * 2).from_address(self.engine.get_global_value_address("place"))
        self.run = ctypes.CFUNCTYPE(None, ctypes.c_int64, *[ctypes.c_void_p] * self.n)(self.engine.get_function_address(name))

    def __call__(self, *inputs):
        size = inputs[0].size
        outputs = [np.full(size, -7.0) for _ in range(self.n - len(inputs))]
        addresses = [a.ctypes.data for a in (*inputs, *outputs)]
        for block in range(-(-size // 512)):  # or half as many: the others find nothing to do
            for thread in range(256):
                self.place[0], self.place[1] = thread, block
                self.run(size, *addresses)
        assert not any(np.any(out == -7.0) for out in outputs)
        return outputs


def helper(x):
    return math.exp(-x) / (1 + math.sqrt(x))


def branches(x, y):
    """With a call and a branch."""
    a = helper(x) / y
    if y > 1:
        a = a + math.erf(y)
    return a, math.log(x) * helper(y)


def test_which_functions():
    for f, signature in ((black_scholes, "ddddd->dd"), (branches, "dd->dd")):
        assert "@lw_body_ordinary(" in lw.vectorize(f).inspect_nvvm(signature, "sm_90")
    for f in (lambda x: math.exp(x) / x, lambda x: 1 / math.sqrt(x) + 1 / x, lambda x: math.erf(x) * math.erf(2 * x) * math.erf(3 * x) * math.erf(4 * x)):  # too few tests
        assert "ordinary(" not in lw.vectorize(f).inspect_nvvm("d->d", "sm_90")
    assert "ordinary(" not in lw.vectorize(black_scholes).inspect_nvvm("fffff->ff", "sm_90")
    assert "ordinary(" not in lw.vectorize(black_scholes, fastmath=True).inspect_nvvm("ddddd->dd", "sm_90")
    assert "ordinary(" not in lw.vectorize(black_scholes, debug=True).inspect_nvvm("ddddd->dd", "sm_90")


STRANGE = [0.0, -0.0, INF, -INF, NAN, 5e-324, 1e-310, -1e-310, 2.2250738585072014e-308, 1e-300, 1e300, 1.7976931348623157e308, -1.0, 1e-16, 2.0**1017, 2.0**-969,
           2.0**-970, 708.0, 745.2, 750.0, -708.0, -745.2, -750.0, 6.0, 1.0]  # fmt: skip


def inputs(n, count, size):
    rng = np.random.default_rng(n)
    return [rng.uniform(0.2, 12, size) for _ in range(count)]


@pytest.mark.parametrize(("f", "signature", "count"), [(black_scholes, "ddddd->dd", 5), (branches, "dd->dd", 2)])
def test_the_kernel_on_a_cpu(f, signature, count):
    kernel = Kernel(lw.vectorize(f), signature)
    for size in (1, 2, 3, 1023, 1024, 1027, 2048):
        x = inputs(size, count, size)
        got = kernel(*x)
        wanted = lw.vectorize(f)(*x)
        for g, w in zip(got, wanted):
            np.testing.assert_allclose(g, w, rtol=1e-13, atol=1e-13)
    plain = got
    # with a NaN beside each element, all take the other way: the same bits
    for first in (0, 1):
        beside = [a.copy() for a in x]
        for a in beside:
            a[first::2] = NAN
        for g, w in zip(kernel(*beside), plain):
            np.testing.assert_array_equal(g[1 - first :: 2], w[1 - first :: 2])
            assert np.isnan(g[first::2]).all()
    # strange numbers in each operand
    for i in range(count):
        mixed = [a.copy() for a in x]
        mixed[i][: 3 * len(STRANGE) : 3] = STRANGE
        with np.errstate(all="ignore"):
            wanted = lw.vectorize(f)(*mixed)
        for g, w in zip(kernel(*mixed), wanted):
            np.testing.assert_array_equal(np.isnan(g), np.isnan(w))
            np.testing.assert_allclose(g, w, rtol=1e-12, atol=1e-12)


def four(of):
    """Four operations of one kind, which are enough for an ordinary form."""
    return lambda x, y: (of(x, y), of(y, x), of(x * 0.75, y), of(x, y * 3))


KINDS = {"div": lambda x, y: x / y, "sqrt": lambda x, y: math.sqrt(x), "log": lambda x, y: math.log(x), "exp": lambda x, y: math.exp(x),
         "erf": lambda x, y: math.erf(x) + math.sqrt(y * y)}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_numbers_of_every_size(kind):
    """Each access is computed twice, alone and beside a NaN; divisions and roots are those of the CPU."""
    of = KINDS[kind]
    f = lw.vectorize(four(lambda x, y: of(x, y)))
    kernel, rng, n = Kernel(f, "dd->dddd"), np.random.default_rng(3), 1 << 14
    assert "@lw_body_ordinary(" in f.inspect_nvvm("dd->dddd", "sm_90")

    def any_numbers():
        edges = rng.choice(np.array(STRANGE), n) * rng.choice([1.0, 1 + 2.0**-52, 1 - 2.0**-53], n)
        bits = rng.integers(0, 1 << 64, n, np.uint64, endpoint=False).view(np.float64)
        usual = np.ldexp(rng.uniform(-1, 1, n), rng.integers(-12, 12, n))
        return np.choose(rng.integers(0, 4, n), [edges, bits, usual, np.abs(usual)])

    with np.errstate(all="ignore"):
        x, y = any_numbers(), any_numbers()
        got = kernel(np.repeat(x, 2), np.repeat(y, 2))
        aside = [np.full(2 * n, NAN) for _ in range(2)]
        aside[0][::2], aside[1][::2] = x, y
        for g, w in zip(got, kernel(*aside)):
            np.testing.assert_array_equal(g[::2], w[::2])
            np.testing.assert_array_equal(g[1::2], w[::2])
        if kind == "div":
            np.testing.assert_array_equal(got[0][::2], x / y)
        if kind == "sqrt":
            np.testing.assert_array_equal(got[0][::2], np.sqrt(x))


def test_on_targets(target):
    """The results of an element do not depend on its neighbours, and strange numbers have the results that they have alone."""
    f = lw.vectorize(black_scholes)
    x = inputs(1, 5, (1 << 19) + 1)
    plain = [back(v) for v in f(*[on(target, a) for a in x])]
    for i in range(5):
        mixed = [a.copy() for a in x]
        places = slice(0, 3 * len(STRANGE), 3)
        mixed[i][places] = STRANGE
        with np.errstate(all="ignore"):
            got = [back(v) for v in f(*[on(target, a) for a in mixed])]
            alone = [back(v) for v in f(*[on(target, a[places].copy()) for a in mixed])]
        others = np.ones(x[0].size, bool)
        others[places] = False
        for g, w, p in zip(got, alone, plain):
            np.testing.assert_array_equal(g[places], w)
            np.testing.assert_array_equal(g[others], p[others])

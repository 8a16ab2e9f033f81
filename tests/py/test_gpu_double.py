"""exp, log and erf of float64 on GPUs, which core/emit/gpu_double.c writes out: their text is compiled for the CPU, with an approximate inverse as GPUs
have it. The error in units of the last place, and special values. With a GPU, also what it computes."""

import ctypes
import math
import re

import llvmlite.binding as llvm
import numpy as np
import pytest

import lanewise as lw

mp = pytest.importorskip("mpmath")

# largest error in ULP (intrinsics.def: 1, 1, 2)
BOUND = {"exp": 0.93, "log": 0.57, "erf": 1.95}
FUNCTIONS = {"exp": lambda x: math.exp(x), "log": lambda x: math.log(x), "erf": lambda x: math.erf(x)}
N, N_ERF = 1 << 17, 1 << 13

POSITIVE = [0.0, 5e-324, 1e-310, 2.2250738585072014e-308, 1e-300, 1e-20, 0.25, 0.5, 1 - 2.0**-53, 1.0, 1 + 2.0**-52, 1.5, 2.0, 3.0, 5.863, 5.9, 5.90625,
            5.9063, 5.92, 6.0, 1e10, 1e300, 1.7976931348623157e308, math.inf, 708.0, 708.4, 709.782712893384, 709.7827128933841, 740.0, 745.1332191019411,
            745.1332191019412, 746.0, 749.9999999999999, 750.0, 750.0000000000001, 1023.0, 2048.0]  # fmt: skip
#: NaN as CPUs make it, and as GPUs do: the code must not depend on its bits.
NANS = np.array([0x7FF8 << 48, 0x7FFFFFFFFFFFFFFF, -1, 0x7FF8000000000001], np.int64).view(np.float64)
SPECIAL = np.array([*POSITIVE, *[-v for v in POSITIVE], *NANS])

INVERSE = """
define internal double @inverse(double %y) {{
  %bits = bitcast double %y to i64
  %upper = and i64 %bits, -4294967296
  %cut = bitcast i64 %upper to double
  %quotient = fdiv double 1.0, %cut
  %off = fmul double %quotient, {factor!r}
  %offbits = bitcast double %off to i64
  %offupper = and i64 %offbits, -4294967296
  %out = bitcast i64 %offupper to double
  ret double %out
}}
"""
LOOP = """
define void @run(ptr %x, ptr %out, i64 %n) {{
entry:
  br label %loop
loop:
  %i = phi i64 [0, %entry], [%next, %loop]
  %from = getelementptr double, ptr %x, i64 %i
  %to = getelementptr double, ptr %out, i64 %i
  %v = load double, ptr %from
  %r = call double @{name}(double %v)
  store double %r, ptr %to
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %loop, label %end
end:
  ret void
}}
declare double @llvm.fma.f64(double, double, double)
declare float @llvm.fma.f32(float, float, float)
declare double @llvm.fabs.f64(double)
declare float @llvm.fabs.f32(float)
"""


def on_cpu(text, name, factor=1.0):
    """The function of this name from NVVM text, compiled for arrays on the CPU."""
    found = re.search(rf"^define internal double @{name}\(double %x\).*?^}}", text, re.M | re.S).group(0)
    found = re.sub(r'asm "rcp\.approx\.ftz\.f64[^"]*", "=d,d"', "@inverse", found).replace(" nounwind readnone\n", "\n").replace("llvm.nvvm.fabs.d", "llvm.fabs.f64").replace("llvm.nvvm.fabs.f", "llvm.fabs.f32")
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    module = llvm.parse_assembly(found + INVERSE.format(factor=factor) + LOOP.format(name=name))
    features = llvm.get_host_cpu_features().flatten()
    machine = llvm.Target.from_default_triple().create_target_machine(cpu=llvm.get_host_cpu_name(), features=features, opt=2)
    engine = llvm.create_mcjit_compiler(module, machine)
    engine.finalize_object()
    run = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)(engine.get_function_address("run"))

    def function(x, engine=engine):
        x = np.ascontiguousarray(x, np.float64)
        out = np.empty_like(x)
        run(x.ctypes.data, out.ctypes.data, x.size)
        return out

    return function


def text_of(name):
    return lw.vectorize(FUNCTIONS[name]).inspect_nvvm("d->d", "sm_90")


def bits(rng):
    """Positive numbers with random bits; all exponents are equally likely."""
    return rng.integers(1, 0x7FF << 52, N).view(np.float64)


def signed(rng):
    return np.copysign(bits(rng), rng.choice([-1.0, 1.0], N))


RANGES = {
    "exp, all": lambda rng: rng.uniform(-746, 710, N),
    "exp, subnormal": lambda rng: rng.uniform(-746, -707, N),
    "exp, near 0": lambda rng: rng.uniform(-1, 1, N),
    "exp, bits": signed,
    "log, bits": bits,
    "log, near 1": lambda rng: rng.uniform(0.3, 3.5, N),
    "log, nearer 1": lambda rng: 1 + rng.standard_normal(N) * 1e-6,
    "log, subnormal": lambda rng: rng.integers(1, 1 << 52, N).view(np.float64),
    "erf, all": lambda rng: rng.uniform(-6, 6, N),
    "erf, below 1": lambda rng: rng.uniform(0, 1, N),
    "erf, just below 1/8": lambda rng: rng.uniform(0.1045, 0.1113, N),
    "erf, just below 1/16": lambda rng: rng.uniform(0.0537, 0.0555, N),
    "erf, bits": signed,
}


def exact(name, x):
    if name != "erf":
        return {"exp": np.exp, "log": np.log}[name](x.astype(np.longdouble))
    with mp.workdps(30):
        values = [mp.erf(v) for v in x.tolist()]
        near = [float(v) for v in values]
        return np.array(near, np.longdouble) + np.array([float(v - n) for v, n in zip(values, near)])


def error(got, wanted):
    near = wanted.astype(np.float64)
    with np.errstate(all="ignore"):
        off = np.abs(got.astype(np.longdouble) - wanted) / np.spacing(np.maximum(np.abs(near), 2.0**-1022))
    same = (got == near) | (np.isnan(got) & np.isnan(near))
    return np.where(same & ~np.isfinite(near), 0, np.where(np.isfinite(got) & np.isfinite(near), off, np.inf))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_code(name):
    f = lw.vectorize(FUNCTIONS[name])
    assert "__nv_" not in f.inspect_nvvm("d->d", "sm_90")
    for target in ("sm_75", "sm_80", "sm_90", "sm_100", "sm_120"):
        assert ".entry" in f.inspect_ptx("d->d", target)


@pytest.mark.skipif(np.finfo(np.longdouble).nmant < 63, reason="needs a long double of 64 bits")
@pytest.mark.parametrize("case", RANGES)
def test_error(case):
    name = case.split(",")[0]
    x = RANGES[case](np.random.default_rng(20))[: N_ERF if name == "erf" else N]
    with np.errstate(all="ignore"):
        wanted = exact(name, x)
        for factor in (1 - 2.0**-19, 1.0, 1 + 2.0**-19) if name == "log" else (1.0,):
            assert error(on_cpu(text_of(name), f"lw_rt_f64_{name}", factor)(x), wanted).max() < BOUND[name]


def expected(name):
    with np.errstate(all="ignore"):
        return {"exp": np.exp, "log": np.log, "erf": np.vectorize(math.erf)}[name](SPECIAL)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_special_values(name):
    got, wanted = on_cpu(text_of(name), f"lw_rt_f64_{name}")(SPECIAL), expected(name)
    assert np.array_equal(np.isfinite(got), np.isfinite(wanted)) and np.array_equal(got[~np.isfinite(got)], wanted[~np.isfinite(got)], equal_nan=True)
    assert np.all(error(got, wanted) <= 1)
    assert np.array_equal(np.signbit(got[~np.isnan(got)]), np.signbit(wanted[~np.isnan(got)]))


@pytest.mark.skipif(np.finfo(np.longdouble).nmant < 63, reason="needs a long double of 64 bits")
@pytest.mark.parametrize("case", RANGES)
def test_on_gpus(case, target):
    """On a GPU the bits are those of the same text on the CPU, except where its inverse leads to other bits."""
    if target != "cuda":
        pytest.skip("needs a GPU")
    name = case.split(",")[0]
    x = np.concatenate([RANGES[case](np.random.default_rng(21)), SPECIAL])
    got = lw.vectorize(FUNCTIONS[name])(lw.cuda.to_device(x)).copy_to_host()
    same = on_cpu(text_of(name), f"lw_rt_f64_{name}")(x)
    if name == "log":
        assert np.nanmax(error(got, same.astype(np.longdouble))) <= 1
        few = x[:N_ERF]
        with np.errstate(all="ignore"):
            assert error(got[:N_ERF], exact(name, few)).max() < BOUND[name]
    else:
        np.testing.assert_array_equal(got, same)

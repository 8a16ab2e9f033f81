"""sin and cos of float32 on GPUs, which core/emit/gpu_single.c writes out: their text is compiled for the CPU. The error in units of the last place, and
special values. With a GPU, also what it computes."""

import ctypes
import math
import re

import llvmlite.binding as llvm
import numpy as np
import pytest

import lanewise as lw

BOUND = 1.6  # largest error in ULP (intrinsics.def: 2)
FUNCTIONS = {"sin": lambda x: math.sin(x), "cos": lambda x: math.cos(x)}
N = 1 << 18
LARGE = np.float32(105615)  # from here on the argument is reduced by integers

POSITIVE = [0.0, 1e-45, 1e-38, 1e-5, 0.5, math.pi / 4, 1.0, math.pi / 2, math.pi, 1e5, np.nextafter(LARGE, np.float32(0)), LARGE, 2.0**17, 2.0**48, 2.0**49, 2.0**80, 2.0**81, 2.0**112, 2.0**113,
            1.5914e26, 3.4028235e38, math.inf, math.nan]  # fmt: skip
SPECIAL = np.array([*POSITIVE, *[-v for v in POSITIVE]], np.float32)

LOOP = """
define void @run(ptr %x, ptr %out, i64 %n) {{
entry:
  br label %loop
loop:
  %i = phi i64 [0, %entry], [%next, %loop]
  %from = getelementptr float, ptr %x, i64 %i
  %to = getelementptr float, ptr %out, i64 %i
  %v = load float, ptr %from
  %r = call float @lw_rt_f32_{name}(float %v)
  store float %r, ptr %to
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %loop, label %end
end:
  ret void
}}
declare float @llvm.fma.f32(float, float, float)
declare float @llvm.fabs.f32(float)
"""


def text_of(name, target="sm_90"):
    return lw.vectorize(FUNCTIONS[name]).inspect_nvvm("f->f", target)


def on_cpu(name):
    """The function in NVVM text, for arrays on the CPU."""
    found = re.search(rf"^define internal float @lw_rt_f32_{name}\(float %x\).*?^}}", text_of(name), re.M | re.S).group(0).replace("llvm.nvvm.fabs.f", "llvm.fabs.f32")
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    module = llvm.parse_assembly(found + LOOP.format(name=name))
    features = llvm.get_host_cpu_features().flatten()
    machine = llvm.Target.from_default_triple().create_target_machine(cpu=llvm.get_host_cpu_name(), features=features, opt=2)
    engine = llvm.create_mcjit_compiler(module, machine)
    engine.finalize_object()
    run = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)(engine.get_function_address("run"))

    def function(x, engine=engine):
        x = np.ascontiguousarray(x, np.float32)
        out = np.empty_like(x)
        run(x.ctypes.data, out.ctypes.data, x.size)
        return out

    return function


def near_quarters(rng):
    """Numbers next to multiples of pi / 2."""
    x = (rng.integers(0, 1 << 17, N) * (math.pi / 2)).astype(np.float32)
    return (x.view(np.int32) + rng.integers(-1, 2, N).astype(np.int32)).view(np.float32)


RANGES = {
    "a few turns": lambda rng: rng.uniform(-10, 10, N),
    "near 0": lambda rng: rng.uniform(-1e-3, 1e-3, N),
    "below the limit": lambda rng: rng.uniform(-1.06e5, 1.06e5, N),
    "near quarters": near_quarters,
    "bits": lambda rng: np.copysign(rng.integers(0, 0x7F800000, N).astype(np.int32).view(np.float32), rng.choice([-1.0, 1.0], N)),
}


def exact(name, x):
    return {"sin": np.sin, "cos": np.cos}[name](x.astype(np.longdouble))


def error(got, wanted):
    with np.errstate(all="ignore"):
        near = wanted.astype(np.float32)
        off = np.abs(got.astype(np.longdouble) - wanted) / np.spacing(np.maximum(np.abs(near), np.float32(2.0**-126)))
    return np.where(np.isnan(wanted), np.where(np.isnan(got), 0, np.inf), np.where(np.isnan(got), np.inf, off))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_code(name):
    f = lw.vectorize(FUNCTIONS[name])
    assert "__nv_" not in f.inspect_nvvm("f->f", "sm_90")
    assert f"__nv_fast_{name}f" in lw.vectorize(FUNCTIONS[name], fastmath=True).inspect_nvvm("f->f", "sm_90")
    for target in ("sm_75", "sm_80", "sm_90", "sm_100", "sm_120"):
        text = f.inspect_ptx("f->f", target)
        assert ".entry" in text and ".local" not in text and "cvt.rni" not in text


@pytest.mark.parametrize("name", FUNCTIONS)
def test_small_arguments_need_no_long_reduction(name):
    function = {"sin": lambda i: math.sin(np.float32(i)), "cos": lambda i: math.cos(np.float32(i))}[name]
    assert "cvt.rn.f64.s64" in lw.vectorize(function).inspect_ptx("i->f", "sm_90")
    assert "cvt.rn.f64.s64" not in lw.vectorize(function).inspect_ptx("h->f", "sm_90")


@pytest.mark.skipif(np.finfo(np.longdouble).nmant < 63, reason="needs a long double of 64 bits")
@pytest.mark.parametrize("case", RANGES)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_error(name, case):
    x = RANGES[case](np.random.default_rng(20)).astype(np.float32)
    assert error(on_cpu(name)(x), exact(name, x)).max() < BOUND


@pytest.mark.parametrize("name", FUNCTIONS)
def test_special_values(name):
    with np.errstate(all="ignore"):
        got, wanted = on_cpu(name)(SPECIAL), exact(name, SPECIAL)
    assert np.all(error(got, wanted) < BOUND)
    assert np.array_equal(np.signbit(got[~np.isnan(got)]), np.signbit(wanted[~np.isnan(got)]))


@pytest.mark.parametrize("case", RANGES)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_on_gpus(name, case, target):
    """What a GPU computes has the bits of the same text on the CPU."""
    if target != "cuda":
        pytest.skip("needs a GPU")
    x = np.concatenate([RANGES[case](np.random.default_rng(21)).astype(np.float32), SPECIAL])
    got = lw.vectorize(FUNCTIONS[name])(lw.cuda.to_device(x)).copy_to_host()
    np.testing.assert_array_equal(got, on_cpu(name)(x))


def test_sine_and_cosine_together_are_libdevices():
    text = lw.vectorize(lambda x: math.sin(x) * math.cos(x)).inspect_nvvm("f->f", "sm_90")
    assert "__nv_sinf" in text and "__nv_cosf" in text and "lw_rt_f32_sin" not in text
    assert "lw_rt_f32_sin" in lw.vectorize(lambda x: math.sin(x) * math.sin(2 * x)).inspect_nvvm("f->f", "sm_90")

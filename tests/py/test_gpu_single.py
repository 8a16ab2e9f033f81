"""sin, cos and tan of float32 on GPUs, which core/emit/gpu_single.c writes out with libdevice's bits: their text is compiled for the CPU. The error in units of
the last place, and special values. With a GPU, what it computes is compared with CUDA C++."""

import ctypes
import math
import re

import llvmlite.binding as llvm
import numpy as np
import pytest

import lanewise as lw
from lanewise import cuda
from link_helpers import compiler  # noqa: F401  (a fixture)

FUNCTIONS = {"sin": lambda x: math.sin(x), "cos": lambda x: math.cos(x), "tan": lambda x: math.tan(x)}
BOUNDS = {"sin": 1.6, "cos": 1.6, "tan": 3.5}  # largest error in ULP (intrinsics.def: 2, 2, 4)
N = 1 << 18
LARGE = np.float32(105615)  # from here on the argument is reduced by integers

POSITIVE = [0.0, 1e-45, 1e-38, 1e-5, 0.5, math.pi / 4, 1.0, math.pi / 2, math.pi, 1e5, np.nextafter(LARGE, np.float32(0)), LARGE, 2.0**17, 2.0**32, 2.0**33, 2.0**64, 2.0**65, 2.0**96, 2.0**97,
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
  %angle = call {{ float, i32 }} @lw_rt_angle(float %v)
  %rest = extractvalue {{ float, i32 }} %angle, 0
  %quarters = extractvalue {{ float, i32 }} %angle, 1
  %r = call float @lw_rt_f32_{name}(float %rest, i32 %quarters)
  store float %r, ptr %to
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %loop, label %end
end:
  ret void
}}
declare float @llvm.fma.f32(float, float, float)
declare float @llvm.fabs.f32(float)
define float @product(float %a, float %b) alwaysinline {{
  %c = fmul float %a, %b
  ret float %c
}}
define float @inverse(float %a) alwaysinline {{
  %c = fdiv float 1.0, %a
  ret float %c
}}
"""
ON_CPU = {"llvm.nvvm.fabs.f": "llvm.fabs.f32", "llvm.nvvm.mul.rn.f": "product", 'asm "rcp.approx.ftz.f32 $0, $1;", "=f,f"': "@inverse"}

CU = """
extern "C" __device__ float cu_sin(float x) { return sinf(x); }
extern "C" __device__ float cu_cos(float x) { return cosf(x); }
extern "C" __device__ float cu_tan(float x) { return tanf(x); }
"""


def text_of(name, target="sm_90"):
    return lw.vectorize(FUNCTIONS[name]).inspect_nvvm("f->f", target)


def on_cpu(name):
    """The function in NVVM text, for arrays on the CPU."""
    texts = re.findall(rf"^define internal [^@\n]*@lw_rt_(?:angle|f32_{name})\(.*?^}}", text_of(name), re.M | re.S)
    module = "\n".join(texts)
    for theirs, ours in ON_CPU.items():
        module = module.replace(theirs, ours)
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    machine = llvm.Target.from_default_triple().create_target_machine(cpu=llvm.get_host_cpu_name(), features=llvm.get_host_cpu_features().flatten(), opt=2)
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(module + LOOP.format(name=name)), machine)
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
    return {"sin": np.sin, "cos": np.cos, "tan": np.tan}[name](x.astype(np.longdouble))


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
        assert ".entry" in text and ".local" not in text and "call" not in text and "cvt.rni" not in text


@pytest.mark.parametrize("name", FUNCTIONS)
def test_small_arguments_need_no_long_reduction(name):
    function = {"sin": lambda i: math.sin(np.float32(i)), "cos": lambda i: math.cos(np.float32(i)), "tan": lambda i: math.tan(np.float32(i))}[name]
    assert "1313084713" in lw.vectorize(function).inspect_ptx("i->f", "sm_90")
    assert "1313084713" not in lw.vectorize(function).inspect_ptx("h->f", "sm_90")


def in_a_loop(x):
    y = math.sin(x)
    while y > 0.1:
        y *= math.cos(x)
    return y + math.cos(x)


def test_sine_and_cosine_share_the_reduction():
    def number_of_reductions(function, sig):
        return lw.vectorize(function).inspect_nvvm(sig, "sm_90").count("call { float, i32 } @lw_rt_angle(")

    assert number_of_reductions(lambda x: math.sin(x) * math.cos(x) + math.tan(x), "f->f") == 1
    assert number_of_reductions(lambda x, y: math.sin(x) * math.cos(y) + math.tan(x), "ff->f") == 3
    assert number_of_reductions(in_a_loop, "f->f") == 3
    assert number_of_reductions(lambda x: np.sin(x) * np.cos(x), "e->e") == 1


@pytest.mark.skipif(np.finfo(np.longdouble).nmant < 63, reason="needs a long double of 64 bits")
@pytest.mark.parametrize("case", RANGES)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_error(name, case):
    x = RANGES[case](np.random.default_rng(20)).astype(np.float32)
    assert error(on_cpu(name)(x), exact(name, x)).max() < BOUNDS[name]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_special_values(name):
    with np.errstate(all="ignore"):
        got, wanted = on_cpu(name)(SPECIAL), exact(name, SPECIAL)
    assert np.all(error(got, wanted) < BOUNDS[name])
    assert np.array_equal(np.signbit(got[~np.isnan(got)]), np.signbit(wanted[~np.isnan(got)]))


@pytest.mark.parametrize("case", RANGES)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_bits_are_cudas(name, case, target, compiler):  # noqa: F811
    if target != "cuda":
        pytest.skip("needs a GPU")
    theirs = cuda.declare_device(f"cu_{name}", "float32(float32)", link=cuda.CUSource(CU), abi="c")
    x = np.concatenate([RANGES[case](np.random.default_rng(21)).astype(np.float32), SPECIAL])
    device = cuda.to_device(x)
    got, wanted = (lw.vectorize(f)(device).copy_to_host() for f in (FUNCTIONS[name], lambda x: theirs(x)))
    np.testing.assert_array_equal(got.view(np.uint32), wanted.view(np.uint32))

"""Control flow, calls, memory and line tables of the IR: run on the host, read by both of
libNVVM's compilers."""

import ctypes

import numpy as np
import pytest

import ir_tools

HEAD = "    param i64 \"x\"\n    param i64 \"y\"\n    result i64\nbody\n    %1 = param i64 0\n    %2 = param i64 1\n"


def function(body, head="func exported f {\n" + HEAD):
    module = ir_tools.HostModule(ir_tools.emit_ir(head + body + "\n}\n"))
    call = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)(module["f"])
    call.keep = module
    return call


def test_if_else():
    f = function("%3 = lt b1 %1 %2\n if %3\n return (%1)\n else\n return (%2)\n end")
    assert [f(1, 2), f(2, 1), f(-5, -5)] == [1, 1, -5]


def test_if_falls_through():
    f = function("%3 = slot i64\n set %3 %1\n %5 = lt b1 %1 %2\n if %5\n set %3 %2\n end\n %9 = get i64 %3\n return (%9)")
    assert [f(1, 2), f(2, 1)] == [2, 2]


def test_nested_loops_break_and_continue():
    """for i in range(x): for j in range(y): if j == 2: continue; if i*j > 20: break both; s += j; s += 100"""
    f = function("""
%3 = slot i64
%4 = slot i64
%5 = slot i64
%6 = const i64 0
%7 = const i64 1
%8 = const i64 2
%9 = const i64 20
%10 = const i64 100
set %3 %6
set %4 %6
loop
  %14 = get i64 %3
  %15 = ge b1 %14 %1
  if %15
    break 0
  end
  set %5 %6
  loop
    %21 = get i64 %5
    %22 = ge b1 %21 %2
    if %22
      break 0
    end
    %26 = eq b1 %21 %8
    if %26
      continue 0
    end
    %30 = mul i64 %14 %21
    %31 = gt b1 %30 %9
    if %31
      break 1
    end
    %35 = get i64 %4
    %36 = add i64 %35 %21
    set %4 %36
  latch
    %39 = get i64 %5
    %40 = add i64 %39 %7
    set %5 %40
  end
  %43 = get i64 %4
  %44 = add i64 %43 %10
  set %4 %44
latch
  %47 = get i64 %3
  %48 = add i64 %47 %7
  set %3 %48
end
%51 = get i64 %4
return (%51)""")

    def python(x, y):
        s = 0
        for i in range(x):
            for j in range(y):
                if j == 2:
                    continue
                if i * j > 20:
                    return s
                s += j
            s += 100
        return s

    for x in range(0, 12, 3):
        for y in range(0, 9):
            assert f(x, y) == python(x, y), (x, y)


def test_block_is_left_by_break():
    f = function("%3 = slot i64\n set %3 %1\n block\n %6 = lt b1 %1 %2\n if %6\n break 0\n end\n set %3 %2\n end\n %12 = get i64 %3\n return (%12)")
    assert [f(1, 2), f(5, 2)] == [1, 2]


def test_unreachable_end():
    f = function("loop\n %4 = lt b1 %1 %2\n if %4\n return (%1)\n end\n return (%2)\n latch\n end")
    assert [f(1, 2), f(4, 3)] == [1, 3]


def test_several_results_and_outlined_calls():
    for linkage in ("internal", "outlined"):
        helper = f"func {linkage} divmod {{\n{HEAD.replace('result i64', 'result i64{0}    result b1{0}    result f32'.format(chr(10)))}"
        helper += "%3 = div i64 %1 %2\n %4 = rem i64 %1 %2\n %5 = lt b1 %3 %4\n %6 = cast f32 %4\n return (%3 %5 %6)\n}\n"
        f = function(
            "%3 = call void @divmod (%1 %2)\n %4 = result i64 %3 0\n %5 = result b1 %3 1\n %6 = result f32 %3 2\n"
            "%7 = cast i64 %6\n %8 = cast i64 %5\n %9 = const i64 1000\n %10 = mul i64 %4 %9\n %11 = add i64 %10 %7\n"
            "%12 = mul i64 %8 %9\n %13 = mul i64 %12 %9\n %14 = add i64 %11 %13\n return (%14)",
            helper + "func exported f {\n" + HEAD,
        )
        assert [f(17, 5), f(3, 7)] == [3002, 1000003]


def test_bool_at_the_edge_is_a_byte():
    text = "func exported f {\n param b1 \"x\"\n param b1 \"y\"\n result b1\nbody\n %1 = param b1 0\n %2 = param b1 1\n %3 = and b1 %1 %2\n return (%3)\n}\n"
    module = ir_tools.HostModule(ir_tools.emit_ir(text))
    f = ctypes.CFUNCTYPE(ctypes.c_uint8, ctypes.c_uint8, ctypes.c_uint8)(module["f"])
    assert [f(1, 1), f(2, 255), f(1, 0)] == [1, 1, 0]


def test_external_calls():
    text = """extern i32 "abs" i32
func exported f {
    param i64 "x"
    param i64 "y"
    result i64
body
    %1 = param i64 0
    %2 = cast i32 %1
    %3 = host_call i32 0 (%2)
    %4 = cast i64 %3
    return (%4)
}
"""
    module = ir_tools.HostModule(ir_tools.emit_ir(text))
    f = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)(module["f"])
    assert f(-7, 0) == 7


@pytest.mark.parametrize("lanes", [2, 4, 8, 16])
def test_vectors_in_memory(lanes):
    values = " ".join(f"%{4 + i}" for i in range(lanes))
    loads = "".join(f"%{4 + i} = lane f32 %3 {i}\n" for i in range(lanes))
    text = f"func exported f {{\nparam ptr \"x\"\nparam ptr \"out\"\nbody\n%1 = param ptr 0\n%2 = param ptr 1\n%3 = load f32x{lanes} %1 align 4\n{loads}%{4 + lanes} = pack f32x{lanes} ({values})\nstore %2 %{4 + lanes} align 4\nreturn ()\n}}\n"
    module = ir_tools.HostModule(ir_tools.emit_ir(text))
    x, out = np.arange(lanes, dtype="f4"), np.zeros(lanes, "f4")
    ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(module["f"])(x.ctypes.data, out.ctypes.data)
    assert (x == out).all()


@pytest.mark.parametrize("seed", [*range(25), *range(100, 125)])
def test_random_modules_are_read_by_llvm(seed):
    text = ir_tools.printed(ir_tools.emitter(), "random", "cpu", str(seed))
    binding = ir_tools.llvm()
    module = binding.parse_assembly(text)
    module.verify()


needs_gpu_tools = pytest.mark.skipif(ir_tools.gpu_tools() is None, reason="libNVVM, nvJitLink or libdevice is not installed")


@needs_gpu_tools
@pytest.mark.parametrize("arch", [75, 90, 100])
@pytest.mark.parametrize("seed", [*range(12), *range(100, 112)])
def test_random_modules_are_read_by_libnvvm(seed, arch):
    text = ir_tools.printed(ir_tools.emitter(), "random", "cuda", str(seed))
    assert b"entry" in ir_tools.compile_nvvm(text, arch)


KERNEL = """file 1 "/home/üser/my \\22code\\22.py"
func internal lw_body {
    python "axpy" at 1:10:0
    param f32 "a"
    param f32 "x"
    result f32
body
    %1 = param f32 0
    %2 = param f32 1
    %3 = mul f32 %1 %2 at 1:11:4
    %4 = intrin f32 sin (%3) at 1:12:4
    return (%4) at 1:12:0
}
func kernel axpy_kernel {
    python "axpy" at 1:10:0
    max_threads 256
    min_blocks 2
    param ptr "x" noalias readonly align 16
    param ptr "out" noalias align 16
    param f32 "a"
    param b1 "flag"
body
    %1 = param ptr 0
    %2 = param ptr 1
    %3 = param f32 2
    %4 = param b1 3
    %5 = sreg i32 tid.x
    %6 = sreg i32 ctaid.x
    %7 = sreg i32 ntid.x
    %8 = mul i32 %6 %7
    %9 = add i32 %8 %5
    %10 = const i32 16
    %11 = mul i32 %9 %10
    %12 = offset ptr %1 %11
    %13 = load f32x4 %12 align 16
    if %4
        %15 = lane f32 %13 0
        %16 = lane f32 %13 1
        %17 = lane f32 %13 2
        %18 = lane f32 %13 3
        %19 = call f32 @lw_body (%3 %15)
        %20 = call f32 @lw_body (%3 %16)
        %21 = pack f32x4 (%19 %20 %17 %18)
        %22 = offset ptr %2 %11
        store %22 %21 align 16
    end
    barrier
    return ()
}
"""


@needs_gpu_tools
@pytest.mark.parametrize("kind, arch", [("cuda", 75), ("cuda", 90), ("cuda", 100), ("opaque", 100), ("opaque", 120)])
def test_kernel_attributes_reach_ptx(kind, arch):
    ptx = ir_tools.compile_nvvm(ir_tools.emit_ir(KERNEL, kind), arch, "-generate-line-info").decode()
    for wanted in (".maxntid", "256", ".minnctapersm", "ld.global.nc.v", "st.global.v", "my _code_.py", ".loc"):
        assert wanted in ptx, wanted
    assert "bar.sync" in ptx or "barrier" in ptx
    cubin = ir_tools.link_cubin(ir_tools.compile_nvvm(ir_tools.emit_ir(KERNEL, kind), arch, "-gen-lto", "-generate-line-info"), arch, "-lineinfo")
    assert b".text.axpy_kernel" in cubin


@needs_gpu_tools
@pytest.mark.parametrize("dtype, lanes, wanted", [("u8", 16, "v4"), ("i8", 4, "u32"), ("f16", 8, "v4"), ("bf16", 8, "v4"), ("f64", 2, "v2"), ("b1", 16, "v4")])
def test_narrow_vectors_are_wide_accesses(dtype, lanes, wanted):
    """One access for the vector, not one for each element."""
    size = {"u8": 1, "i8": 1, "b1": 1, "f16": 2, "bf16": 2, "f64": 8}[dtype] * lanes
    values = " ".join(f"%{4 + i}" for i in reversed(range(lanes)))
    lines = "".join(f"%{4 + i} = lane {dtype} %3 {i}\n" for i in range(lanes))
    text = f"func kernel k {{\nparam ptr \"x\" noalias readonly\nparam ptr \"out\" noalias\nbody\n%1 = param ptr 0\n%2 = param ptr 1\n%3 = load {dtype}x{lanes} %1 align {size}\n{lines}%{4 + lanes} = pack {dtype}x{lanes} ({values})\nstore %2 %{4 + lanes} align {size}\nreturn ()\n}}\n"
    for arch in (75, 100):
        ptx = ir_tools.compile_nvvm(ir_tools.emit_ir(text, "cuda"), arch).decode()
        loads = [line for line in ptx.splitlines() if "ld.global" in line]
        stores = [line for line in ptx.splitlines() if "st.global" in line]
        assert len(loads) == 1 and len(stores) == 1, ptx
        assert wanted in loads[0] or "b32" in loads[0], loads


@needs_gpu_tools
def test_unfused_products_stay_unfused():
    body = "%3 = load f32 %1\n%4 = mul f32 %3 %3\n%5 = add f32 %4 %3\nstore %2 %5\nreturn ()\n"
    text = "func kernel k {\nparam ptr \"x\"\nparam ptr \"out\"\nbody\n%1 = param ptr 0\n%2 = param ptr 1\n" + body + "}\n"
    for arch in (75, 100):
        assert "fma" not in ir_tools.compile_nvvm(ir_tools.emit_ir(text, "cuda"), arch).decode()
        fused = text.replace("%4 = mul f32 %3 %3\n%5 = add f32 %4 %3", "%4 = fma f32 %3 %3 %3\n%5 = neg f32 %4")
        assert "fma.rn.f32" in ir_tools.compile_nvvm(ir_tools.emit_ir(fused, "cuda"), arch).decode()

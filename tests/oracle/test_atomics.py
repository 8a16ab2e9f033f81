"""core/front/numeric/atomics.h: every kind on every type, run on the host against a reference, from several
threads, and compiled for GPUs."""

import ctypes
import functools
import threading

import ir_tools
import numpy as np
import pytest

INTEGERS = {"i8": "i1", "u8": "u1", "i16": "i2", "u16": "u2", "i32": "i4", "u32": "u4", "i64": "i8", "u64": "u8"}
FLOATS = {"f16": "f2", "f32": "f4", "f64": "f8"}
COMPLEX = {"c64": "c8", "c128": "c16"}
DTYPES = {"b1": "?", **INTEGERS, **FLOATS, **COMPLEX}
VALUES = {"i": [-128, -3, -1, 0, 1, 5, 127], "u": [0, 1, 2, 5, 127, 200, 255], "b": [False, True],
          "f": [-np.inf, -2.5, -0.0, 0.0, 1.0, 3.25, np.inf, np.nan], "c": [1 + 2j, -3.5 + 0.25j]}
EXTREMA = "max", "min", "nanmax", "nanmin"


@functools.cache
def dump(target="cpu"):
    path = ir_tools.program("atomics_dump", *(f"front/numeric/{name}.c" for name in ("atomics", "integers", "overflow")))
    return ir_tools.printed(path, target)


@functools.cache
def host():
    return ir_tools.HostModule(dump())


def function(name):
    return ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)(host()[name])


def expected(kind, old, x, y):
    """What is in memory afterwards."""
    dtype = old.dtype
    nan = dtype.kind == "f" and np.isnan(old)
    with np.errstate(all="ignore"):
        if kind == "add":
            return dtype.type(old + x)
        if kind == "sub":
            return dtype.type(old - x)
        if kind in ("and", "or", "xor"):
            return {"and": old & x, "or": old | x, "xor": old ^ x}[kind]
        if kind == "inc":
            return dtype.type(0) if old >= x else old + dtype.type(1)
        if kind == "dec":
            return x if old == 0 or old > x else old - dtype.type(1)
        if kind == "exch":
            return x
        if kind == "cas":
            return y if old.tobytes() == x.tobytes() else old  # bit for bit
        if kind.startswith("nan") and nan and not np.isnan(x):
            return x
        better = old < x if kind.endswith("max") else old > x
        return x if better else old


def kinds_of(name):
    if name in COMPLEX:
        return "add", "sub"
    if name == "b1":
        return "and", "or", "xor", "exch", "cas"
    common = "add", "sub", "exch", "cas", *EXTREMA
    if name in FLOATS:
        return common
    return (*common, "and", "or", "xor", *(("inc", "dec") if name[0] == "u" else ()))


CASES = [(kind, name) for name in DTYPES for kind in kinds_of(name)]


@pytest.mark.parametrize("kind,name", CASES)
def test_one_update(kind, name):
    """The element, its neighbours and the old value, at every place in a word."""
    dtype = np.dtype(DTYPES[name])
    call, values = function(f"{kind}_{name}"), np.array(VALUES[dtype.kind], dtype)
    rng = np.random.default_rng(3)
    for place in range(8):
        for old in values:
            for x in values:
                memory = rng.integers(0, 256, 8 * dtype.itemsize, "u1").view(dtype) if dtype != "?" else np.ones(8, "?")
                before = memory.copy()
                memory[place] = before[place] = old
                operands, got = np.array([x, rng.choice(values)], dtype), np.zeros(1, dtype)
                call(memory[place:].ctypes.data, operands.ctypes.data, got.ctypes.data)
                assert got.tobytes() == np.array([old]).tobytes(), (place, old, x)
                before[place] = expected(kind, before[place], operands[0], operands[1])
                same = memory.view("u1") == before.view("u1")
                assert same.all() or (np.isnan(before[place]) and np.isnan(memory[place])), (place, old, x, memory, before)


def test_bfloat16():
    """As float32's upper halves: 1.5 + 2.25, NaN that loses, and the largest."""
    memory, operand, old = np.zeros(4, "u2"), np.zeros(2, "u2"), np.zeros(1, "u2")

    def bits(value):
        return np.float32(value).view("u4") >> 16

    for kind, before, x, after in [("add", 1.5, 2.25, 3.75), ("sub", 1.5, 2.25, -0.75), ("max", 1.0, np.nan, 1.0),
                                   ("max", 1.0, 4.0, 4.0), ("nanmin", np.nan, -2.0, -2.0), ("exch", 7.0, 0.5, 0.5)]:
        memory[:] = 0x1234
        memory[1], operand[0] = bits(before), bits(x)
        function(f"{kind}_bf16")(memory[1:].ctypes.data, operand.ctypes.data, old.ctypes.data)
        assert old[0] == bits(before) and memory.tolist() == [0x1234, bits(after), 0x1234, 0x1234], kind


def from_threads(name, memory, operands, n, n_threads=4):
    call = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)(host()[name])
    threads = [threading.Thread(target=call, args=(element, operand, n))
               for element, operand in zip(memory * n_threads, operands * n_threads, strict=False)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


@pytest.mark.parametrize("name", [*INTEGERS, "f16", "f32", "f64", *COMPLEX])
def test_sums_from_threads(name):
    """Four threads on an element and four on its neighbour: nothing is lost."""
    dtype, n = np.dtype(DTYPES[name]), 500 if name == "f16" else 20000
    memory, one = np.zeros(4, dtype), np.ones(2, dtype)
    if name in COMPLEX:
        one[:] = np.frombuffer(np.array([1, 2], f"f{dtype.itemsize // 2}").tobytes(), dtype)[0]
    places = [memory[k:].ctypes.data for k in (1, 2)]
    from_threads(f"add_{name}_often", places, [one.ctypes.data] * 2, n)
    with np.errstate(all="ignore"):
        total = np.array(4 * n).astype(dtype) if name not in COMPLEX else 4 * n * one[0]
    assert memory.tolist() == [0, total, total, 0]


def test_wrapping_counts_from_threads():
    for name in ("u8", "u16", "u32", "u64"):
        memory, limit = np.zeros(4, DTYPES[name]), np.full(2, 6, DTYPES[name])
        from_threads(f"inc_{name}_often", [memory[1:].ctypes.data], [limit.ctypes.data], 7001)
        assert memory.tolist() == [0, 4 * 7001 % 7, 0, 0]


needs_gpu_tools = pytest.mark.skipif(ir_tools.gpu_tools() is None, reason="libNVVM, nvJitLink or libdevice is not installed")


@needs_gpu_tools
@pytest.mark.parametrize("arch,target", [(75, "cuda"), (80, "cuda"), (90, "cuda"), (100, "cuda"), (120, "opaque")])
def test_compiles_for_gpus(arch, target):
    text = dump(target)
    cubin = ir_tools.link_cubin(ir_tools.compile_nvvm(text, arch, "-gen-lto"), arch)
    for kind, name in CASES:
        assert f"{kind}_{name}_often".encode() in cubin


@needs_gpu_tools
def test_hardware_atomics_are_used():
    ptx = ir_tools.compile_nvvm(dump("cuda"), 90).decode()
    for word in ("atom.global.add.u32", "atom.global.add.u64", "atom.global.add.f32", "atom.global.add.f64", "atom.global.max.s32",
                 "atom.global.max.u64", "atom.global.inc.u32", "atom.global.dec.u32", "atom.global.exch.b64", "atom.global.cas.b32",
                 "atom.global.cas.b64", "atom.global.and.b32"):
        assert word in ptx, word

"""Memory that functions bring along, special registers and the rows of kernel_ops.def: run on the host with a context
of our own, compiled for GPUs of each generation."""

import ctypes
import functools
import pathlib
import re

import ir_tools
import numpy as np
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SREGS = ["tid.x", "tid.y", "tid.z", "ctaid.x", "ctaid.y", "ctaid.z", "ntid.x", "ntid.y", "ntid.z", "nctaid.x", "nctaid.y",
         "nctaid.z", "laneid", "dynamic_bytes"]  # fmt: skip
TYPES = {"i": "i32", "l": "i64", "b": "b1", "p": "ptr", "v": "void"}


def kernel_ops():
    """(name, args, result, host function) of each row."""
    text = (ROOT / "core/tables/kernel_ops.def").read_text()
    rows = re.findall(r'^KERNEL_OP\((\w+),\s*"(\w*)",\s*(\w), [01], "(?:[^"]|"\s*")*", (\w+)\)', text, re.M)
    assert len(rows) == len(re.findall(r"^KERNEL_OP", text, re.M)) and len(rows) > 20
    return rows


class Context(ctypes.Structure):
    _fields_ = [("sregs", ctypes.c_uint32 * len(SREGS)), ("shared", ctypes.c_void_p), ("dynamic", ctypes.c_void_p)]


@functools.cache
def simulator():
    """Host functions for every row and for the barrier, which note their arguments and give 3 * the row's number + 1:
    (calls, addresses by name, numbers by name, what must stay alive)."""
    calls, addresses, numbers, alive = [], {}, {}, []
    kinds = {"i": ctypes.c_int32, "l": ctypes.c_int64, "b": ctypes.c_int32, "p": ctypes.c_void_p, "v": None}
    for number, (_, args, result, host) in enumerate([("barrier", "", "v", "lw_sim_barrier"), *kernel_ops()]):

        def function(context, *given, host=host, result=result, number=number):
            calls.append((host, context, given))
            return None if result == "v" else 3 * number + 1

        alive.append(ctypes.CFUNCTYPE(kinds[result], ctypes.c_void_p, *(kinds[a] for a in args))(function))
        addresses[host], numbers[host] = ctypes.cast(alive[-1], ctypes.c_void_p).value, number
    return calls, addresses, numbers, alive


def body(*lines):
    """A function of a pointer; lines "%x = …" get their numbers here, and names become numbers."""
    numbers, out = {"p": 1}, ["%1 = param ptr 0"]
    for line in lines:
        match = re.match(r"%(\w+) = ", line)
        if match:
            numbers[match[1]] = len(out) + 1
        out.append(line)
    return "\n".join(re.sub(r"%([a-z]\w*)", lambda m: f"%{numbers[m[1]]}", line) for line in out) + "\nreturn ()\n}\n"


def func(linkage, name, *lines):
    return f'func {linkage} {name} {{\nparam ptr "p"\nbody\n{body(*lines)}'


def run(ir, memory, shared=64, dynamic=64, **sregs):
    """The function f of the IR with this memory; the two blocks of shared memory."""
    module = ir_tools.HostModule(ir_tools.emit_ir(ir), simulator()[1])
    blocks = np.full(shared, 0xCD, "u1"), np.full(dynamic, 0xCD, "u1")
    context = Context(shared=blocks[0].ctypes.data, dynamic=blocks[1].ctypes.data)
    for name, value in sregs.items():
        context.sregs[SREGS.index(name.replace("_", ".", 1) if name != "dynamic_bytes" else name)] = value
    ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(module["f"])(ctypes.addressof(context), memory.ctypes.data)
    return blocks


def test_special_registers():
    lines = []
    for i, name in enumerate(SREGS):
        lines += [f"%s{i} = sreg i32 {name}", f"%o{i} = const i64 {4 * i}", f"%a{i} = offset ptr %p %o{i}", f"store %a{i} %s{i}"]
    out = np.zeros(len(SREGS), "i4")
    values = {name.replace(".", "_"): 7 + i for i, name in enumerate(SREGS)}
    run(func("exported", "f", *lines), out, **values)
    assert out.tolist() == [7 + i for i in range(len(SREGS))]


def test_shared_memory_of_several_functions():
    """At the next multiple of the alignment, in the order of functions; an inner one has its own."""
    ir = func("internal", "inner", "%m = shared ptr 6 1", "%c = const i16 513", "store %m %c") + func(
        "exported", "f", "%m = shared ptr 4 0", "%n = shared ptr 8 3", "%c = const i32 67305985", "%d = const i64 -1",
        "%r = call void @inner (%n)", "store %m %c align 1", "store %n %d", "%e = dynamic ptr", "store %e %c")  # fmt: skip
    shared, dynamic = run(ir, np.zeros(1, "u1"))
    assert shared[:2].tolist() == [1, 2] and shared[6:10].tolist() == [1, 2, 3, 4]
    assert shared[16:24].tolist() == [255] * 8 and (np.delete(shared, [0, 1, *range(6, 10), *range(16, 24)]) == 0xCD).all()
    assert dynamic[:4].tolist() == [1, 2, 3, 4] and (dynamic[4:] == 0xCD).all()


@pytest.mark.parametrize("n", [1, 16, 100, 70000])
def test_data_and_local(n):
    """A byte of a table, by way of local memory, at an index of run time."""
    table = np.random.default_rng(n).integers(0, 256, n, "u1")
    text = table.tobytes().hex()
    words = " ".join(text[i : i + 64] for i in range(0, len(text), 64))
    ir = f"data 3 align 1 070809\ndata {n} align 16 {words}\n" + func(
        "exported", "f", "%t = data ptr 1", "%i = sreg i32 tid.x", "%a = offset ptr %t %i", "%x = load u8 %a",
        "%l = local ptr 300 4", "%j = sreg i32 tid.y", "%b = offset ptr %l %j", "store %b %x", "%y = load u8 %b", "store %p %y",
        "%q = data ptr 0", "%k = const i32 2", "%c = offset ptr %q %k", "%z = load u8 %c", "%m = offset ptr %p %k",
        "store %m %z")  # fmt: skip
    for i in {0, n // 2, min(n, 1024) - 1}:
        out = np.zeros(4, "u1")
        run(ir, out, tid_x=i, tid_y=299)
        assert out.tolist() == [table[i], 0, 9, 0]


def test_registers_and_memory_named_in_a_region_serve_after_it():
    ir = func("exported", "f", "%y = const b1 0", "if %y", "%s = sreg i32 tid.x", "%l = local ptr 8 3", "%m = shared ptr 8 3",
              "end", "store %l %s", "%x = load i32 %l", "store %p %x", "store %m %x")  # fmt: skip
    out = np.zeros(1, "i4")
    shared, _ = run(ir, out, tid_x=5)
    assert out[0] == 5 and shared[:4].view("i4")[0] == 5


def test_the_context_is_written_between_calls():
    """What runs a block's threads in a loop: tid.x is set, the body called."""
    ir = func("internal", "thread", "%t = sreg i32 tid.x", "%r = atomic i32 add (%p %t)") + func(
        "exported", "f", "%c = context ptr", "%z = const i32 0", "%o = const i32 1", "%n = sreg i32 ntid.x", "%s = slot i32",
        "set %s %z", "loop", "%i = get i32 %s", "%d = ge b1 %i %n", "if %d", "break 0", "end", "store %c %i",
        "%r = call void @thread (%p)", "latch", "%k = get i32 %s", "%j = add i32 %k %o", "set %s %j", "end")  # fmt: skip
    out = np.zeros(1, "i4")
    run(ir, out, ntid_x=100)
    assert out[0] == 4950


def call_lines(name, args, result):
    """A call of a row with 100, 101, … (bool: true), its result stored at the pointer."""
    lines = [f"%a{i} = const {TYPES[a]} {1 if a == 'b' else 100 + i}" for i, a in enumerate(args) if a != "p"]
    given = " ".join("%p" if a == "p" else f"%a{i}" for i, a in enumerate(args))
    lines.append(f"%r = kcall {TYPES[result]} {name} ({given})")
    return lines + ([] if result == "v" else ["store %p %r"])


@pytest.mark.parametrize("name,args,result,host", kernel_ops())
def test_kernel_ops_call_the_simulator(name, args, result, host):
    calls, _, numbers, _ = simulator()
    calls.clear()
    out = np.zeros(1, "i8")
    run(func("exported", "f", *call_lines(name, args, result), "barrier"), out)
    assert [call[0] for call in calls] == [host, "lw_sim_barrier"] and calls[0][1] == calls[1][1]
    assert list(calls[0][2]) == [1 if a == "b" else out.ctypes.data if a == "p" else 100 + i for i, a in enumerate(args)]
    assert out[0] == (0 if result == "v" else 3 * numbers[host] + 1)


needs_gpu_tools = pytest.mark.skipif(ir_tools.gpu_tools() is None, reason="libNVVM, nvJitLink or libdevice is not installed")
GPUS = [(75, "cuda"), (80, "cuda"), (90, "cuda"), (100, "cuda"), (100, "opaque"), (120, "cuda")]


@needs_gpu_tools
@pytest.mark.parametrize("arch,target", GPUS)
def test_kernel_ops_compile(arch, target):
    """Each row in a function of its own that a kernel calls twice, so that two copies stand in one."""
    ir, calls = "", []
    for name, args, result, _ in kernel_ops():
        if name.startswith("cluster_") and arch < 90:
            continue
        ir += func("internal", f"use_{name}", *call_lines(name, args, result))
        calls += [f"%c{name}{i} = call void @use_{name} (%p)" for i in range(2)]
    text = ir_tools.emit_ir(ir + func("kernel", "k", *calls, "barrier"), target)
    assert b".text.k" in ir_tools.link_cubin(ir_tools.compile_nvvm(text, arch, "-gen-lto"), arch)
    ptx = ir_tools.compile_nvvm(text, arch).decode()
    for name, words in [("grid_sync", "atom.add.u32"), ("shfl_down", "shfl.sync.down.b32"), ("match_all64", "match.all.sync.b64")]:
        assert ptx.count(words) == 2, name


KERNEL = """data 16 align 16 000000000100000002000000ff000000
data 70000 align 4 DATA
func kernel k {
    param ptr "x" noalias readonly
    param ptr "out" noalias
body
    %1 = param ptr 0
    %2 = param ptr 1
    %3 = sreg i32 tid.x
    %4 = sreg i32 ctaid.x
    %5 = sreg i32 ntid.x
    %6 = mul i32 %4 %5
    %7 = add i32 %6 %3
    %8 = cast i64 %7
    %9 = const i64 4
    %10 = mul i64 %8 %9
    %11 = offset ptr %1 %10
    %12 = load i32 %11
    %13 = shared ptr 4096 4
    %14 = cast i64 %3
    %15 = mul i64 %14 %9
    %16 = offset ptr %13 %15
    store %16 %12
    barrier
    %19 = load i32 %16
    %20 = dynamic ptr
    %21 = offset ptr %20 %15
    store %21 %19
    %23 = local ptr 64 4
    %24 = offset ptr %23 %15
    store %24 %19
    %26 = load i32 %23
    %27 = data ptr 0
    %28 = offset ptr %27 %15
    %29 = load i32 %28
    %30 = data ptr 1
    %31 = offset ptr %30 %15
    %32 = load i32 %31
    %33 = atomic i32 add (%16 %29)
    %34 = atomic i32 max (%2 %32)
    %35 = add i32 %26 %33
    %36 = offset ptr %2 %10
    store %36 %35
    return ()
}
"""


@needs_gpu_tools
@pytest.mark.parametrize("arch,target", GPUS)
def test_address_spaces_are_found(arch, target):
    """Generic pointers in the IR, no generic access in the PTX."""
    words = "01" * 70000
    ir = KERNEL.replace("DATA", " ".join(words[i : i + 64] for i in range(0, len(words), 64)))
    text = ir_tools.emit_ir(ir, target)
    assert len(ir_tools.link_cubin(ir_tools.compile_nvvm(text, arch, "-gen-lto"), arch)) > 1000
    ptx = ir_tools.compile_nvvm(text, arch).decode()
    for wanted in ("ld.global.nc", "st.shared", "ld.shared", ".extern .shared .align 16 .b8 lw_dynamic[]", "ld.local", "st.local", "ld.const",
                   ".const .align 16 .b8 lw_data_0[16]", ".global .align 4 .b8 lw_data_1[70000]", "bar.sync"):  # fmt: skip
        assert wanted in ptx, wanted
    assert re.search(r"atom\.(relaxed\.gpu\.)?shared\.add\.u32", ptx) and re.search(r"atom\.(relaxed\.gpu\.)?global\.max\.s32", ptx)
    assert not re.search(r"\b(ld|st)\.[busf]\d|\batom\.[acemx]\w+\.[busf]\d|\.sys\.", ptx)

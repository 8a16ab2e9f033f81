"""What core/link asks of Python: cuda-pathfinder and llvmlite.

Called by core/py/llvm_bridge.c only. Nothing here is imported before it is needed, and a cached kernel never asks for LLVM.
"""

from __future__ import annotations

import atexit
import gc
import os
import re
from _thread import RLock  # importing threading takes longer than all else here
from contextlib import closing
from typing import Any

# A fork waits for the compile of another thread: its child could never take llvmlite's lock, nor
# import what the other was importing.
_compiling = RLock()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_compiling.acquire, after_in_parent=_compiling.release, after_in_child=_compiling.release)

_machines: dict[tuple[int, bool, bool], Any] = {}
_loaded: Any = None

# Code generation takes time that grows with the square of a function's length: its register allocator looks at all uses
# of a value whenever it splits it (8 s for 10^4 statements over 18 constants; LLVM 22, November 2026). From this many
# characters of LLVM text on, some 4,000 statements, the optimised code goes through the one of -O0: 0.8 s.
_LONG_TEXT = 768 * 1024

# LLVM 22 makes wrong code of masks that are sign bits: it turns vpmovq2m and kmov into vmovmskpd, which cannot name the
# vector registers from 16 on and then reads another one (llvm-project issues 191304 and 198197; mended in LLVM 23). Code in
# which such an instruction appears is made again without the 128- and 256-bit forms of AVX-512, which have no such masks.
# VEX prefix of two or three bytes without a second source, opcode of vmovmskps, vmovmskpd or vpmovmskb, two registers:
_MASK_MOVE = re.compile(rb"(?:\xc5|\xc4[\x01\x21\x41\x61\x81\xa1\xc1\xe1])[\x78\x79\x7c\x7d\xf8\xf9\xfc\xfd][\x50\xd7][\xc0-\xff]")
_MASK_MOVE_TEXT = re.compile(rb"\bvp?movmsk")


def pathfinder(name: str) -> str:
    """The file that cuda-pathfinder finds for "nvvm", "nvJitLink" or "libdevice", or ""."""
    try:
        import cuda.pathfinder as finder
    except ImportError:
        return ""
    try:
        if name == "libdevice":
            return finder.find_bitcode_lib("device") or ""
        return finder.load_nvidia_dynamic_lib(name).abs_path or ""
    except Exception:  # its own words for "not found" differ from version to version
        return ""


def _llvm() -> Any:
    """What lanewise._llvm loads, once."""
    global _loaded
    if _loaded is None:
        from lanewise import _llvm

        _loaded = _llvm.load()
    return _loaded


def _machine(opt: int, baseline: bool, whole: bool = True) -> Any:
    """The target machine; made once for each kind, 2 ms. Without whole, only the 512-bit forms of AVX-512."""
    llvm = _llvm()
    key = (opt, baseline, whole)
    machine = _machines.get(key)
    if machine is None:
        if not _machines:
            llvm.initialize_native_target()
            llvm.initialize_native_asmprinter()
        triple = llvm.get_process_triple()
        cpu, features = "", ""
        if not baseline:
            cpu = llvm.get_host_cpu_name()
            features = llvm.get_host_cpu_features().flatten()
            # Gathers are microcode there: matvec of 10^6 3 x 3 matrices takes four times as long with them.
            if cpu.startswith("znver") and llvm.llvm_version_info >= (18, 0, 0):
                features += ",+prefer-no-gather"
            if not whole:
                features += ",-avx512vl"
        elif triple.startswith("x86_64"):
            cpu = "x86-64"
        machine = llvm.create_target_machine(triple, cpu=cpu, features=features, opt=opt, reloc="pic", codemodel="small")
        _machines[key] = machine
    return machine


def compile_host(text: str, opt: int, baseline: bool, output: str) -> bytes:
    """LLVM text -> "object" or "asm".

    RuntimeError with LLVM's words when the text is refused, ImportError without llvmlite. The thread is one that
    no handler of a signal runs on. Nor may a garbage collection run here: it would call finalizers of the
    program's objects, which may do anything, compile as well.
    """
    with _compiling:
        collects = gc.isenabled()
        gc.disable()
        try:
            return _compile_host(text, opt, baseline, output)
        finally:
            if collects:
                gc.enable()


@atexit.register
def _end_compilation() -> None:
    """Waits for the compilation of a daemon thread: LLVM's tables are destroyed when the process ends, and it would read them."""
    if _compiling.acquire(timeout=60):
        _compiling.release()


def _may_have_wrong_masks(code: bytes, output: str) -> bool:
    llvm = _llvm()
    if llvm.llvm_version_info[0] != 22:
        return False
    found = _MASK_MOVE if output == "object" else _MASK_MOVE_TEXT
    return found.search(code) is not None and llvm.get_host_cpu_features().get("avx512vl", False)


def _compile_host(text: str, opt: int, baseline: bool, output: str) -> bytes:
    code = _generate(text, opt, baseline, output, True)
    if not baseline and _may_have_wrong_masks(code, output):
        code = _generate(text, opt, baseline, output, False)
    return code


def _generate(text: str, opt: int, baseline: bool, output: str, whole: bool) -> bytes:
    llvm = _llvm()
    machine = _machine(opt, baseline, whole)
    # A context of its own: types and names go with it, the global one would grow.
    with llvm.context() as context, closing(llvm.parse_assembly(text, context)) as module:
        module.verify()
        if not module.triple:
            module.triple = machine.triple
        if not module.data_layout:
            module.data_layout = str(machine.target_data)
        llvm.run_passes(module, machine, opt)
        if len(text) > _LONG_TEXT:
            machine = _machine(0, baseline, whole)
        if output == "object":
            return machine.emit_object(module)
        return machine.emit_assembly(module).encode()

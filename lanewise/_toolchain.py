"""What core/link asks of Python: cuda-pathfinder and llvmlite.

Called by core/py/llvm_bridge.c only. Nothing here is imported before it is needed: llvmlite costs
some 50 ms, and a cached kernel never asks for it.
"""

from __future__ import annotations

import gc
import os
import threading
from typing import Any

# A fork waits for the compile of another thread: its child could never take llvmlite's lock, nor
# import what the other was importing.
_compiling = threading.RLock()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_compiling.acquire, after_in_parent=_compiling.release, after_in_child=_compiling.release)

_machines: dict[tuple[int, bool], Any] = {}

# Code generation takes time that grows with the square of a function's length: its register allocator looks at all uses
# of a value whenever it splits it (8 s for 10^4 statements over 18 constants; LLVM 22, November 2026). From this many
# characters of LLVM text on, some 4,000 statements, the optimised code goes through the one of -O0: 0.8 s.
_LONG_TEXT = 768 * 1024


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


def _machine(opt: int, baseline: bool) -> Any:
    """The target machine; made once for each kind, 2 ms."""
    import llvmlite.binding as llvm

    key = (opt, baseline)
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
        elif triple.startswith("x86_64"):
            cpu = "x86-64"
        machine = llvm.Target.from_triple(triple).create_target_machine(
            cpu=cpu, features=features, opt=opt, reloc="pic", codemodel="small"
        )
        _machines[key] = machine
    return machine


def _free_manager(manager: Any) -> None:
    """Frees a pass manager, which llvmlite 0.48 to 0.50 forget (70 KB a compile).

    The pass manager's own _dispose stands behind ObjectRef's empty one in its base classes.
    """
    from llvmlite.binding.ffi import ObjectRef

    own = [c.__dict__["_dispose"] for c in type(manager).__mro__ if "_dispose" in c.__dict__]
    if own and own[0] is ObjectRef.__dict__["_dispose"] and len(own) > 1:
        own[1](manager)
    manager.close()


def compile_host(text: str, opt: int, baseline: bool, output: str) -> bytes:
    """LLVM text -> "object", "asm" or "llvm" (the optimised text).

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


def _compile_host(text: str, opt: int, baseline: bool, output: str) -> bytes:
    import llvmlite.binding as llvm

    machine = _machine(opt, baseline)
    context = llvm.create_context()  # types and names go with it, the global one would grow
    module = llvm.parse_assembly(text, context)
    try:
        module.verify()
        if not module.triple:
            module.triple = machine.triple
        if not module.data_layout:
            module.data_layout = str(machine.target_data)
        options = llvm.create_pipeline_tuning_options(speed_level=opt)
        options.loop_vectorization = opt >= 2
        options.slp_vectorization = opt >= 2
        options.loop_interleaving = opt >= 2
        options.loop_unrolling = opt >= 2
        builder = llvm.create_pass_builder(machine, options)
        manager = builder.getModulePassManager()
        manager.run(module, builder)
        _free_manager(manager)
        builder.close()
        options.close()
        if len(text) > _LONG_TEXT or opt == 1:  # 1 is for code that is wanted soon: a tenth of the time to select it
            machine = _machine(0, baseline)
        if output == "object":
            return machine.emit_object(module)
        if output == "asm":
            return machine.emit_assembly(module).encode()
        return str(module).encode()
    finally:
        module.close()

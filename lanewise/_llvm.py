"""LLVM, as lanewise._toolchain calls it: the functions of libllvmlite, with or without the import of `llvmlite.binding`.

That import takes 30 ms, of which the library itself needs 5; the rest loads llvmlite.ir and what finds files in archives. So the few
functions that compiling needs are called directly (`Direct`) for the versions of llvmlite whose prototypes are known to be those below;
tests/py/test_llvm_binding.py compares them with the installed version's. Other versions, and programs that have imported
`llvmlite.binding` themselves, use it (`Public`). Both classes have the same methods and make the same code. `Direct` needs no lock:
LLVM's contexts are independent of each other, and lanewise._toolchain compiles one module at a time.
"""

from __future__ import annotations

import contextlib
import os
import sys
from ctypes import CDLL, POINTER, byref, c_bool, c_char_p, c_int, c_size_t, c_uint, c_void_p, string_at
from typing import Any

_VERSIONS = ("0.48", "0.49", "0.50")

#: The passes for code that is wanted soon (level 1), by LLVM's names and by those of llvmlite.binding's methods. LLVM's own pipeline of this level
#: takes 14 to 22 ms for the loops of a reduction, and these 4; with the time saved, the code generator may allocate registers for a whole
#: function at a time, which makes the code two to five times as fast.
_SOON = (("AlwaysInliner", "always_inliner"), ("SROA", "sroa"), ("SimplifyCFG", "simplify_cfg"), ("InstCombine", "instruction_combine"))

_OUT = POINTER(c_char_p)  # where a text is put, for DisposeString to free
_OF = c_void_p  # a reference to an object of LLVM

#: Result and parameters, by the name without LLVMPY_.
PROTOTYPES: dict[str, tuple[Any, ...]] = {
    "GetVersionInfo": (c_uint,),
    "DisposeString": (None, c_char_p),
    "InitializeNativeTarget": (None,),
    "InitializeNativeAsmPrinter": (None,),
    "GetProcessTriple": (None, _OUT),
    "GetHostCPUName": (None, _OUT),
    "GetHostCPUFeatures": (c_int, _OUT),
    "GetTargetFromTriple": (_OF, c_char_p, _OUT),
    "CreateTargetMachine": (_OF, _OF, c_char_p, c_char_p, c_char_p, c_int, c_char_p, c_char_p, c_int, c_int, c_char_p),
    "CreateTargetMachineData": (_OF, _OF),
    "CopyStringRepOfTargetData": (None, _OF, _OUT),
    "DisposeTargetData": (None, _OF),
    "ContextCreate": (_OF,),
    "ContextDispose": (None, _OF),
    "ParseAssembly": (_OF, _OF, c_char_p, _OUT),
    "VerifyModule": (c_bool, _OF, _OUT),
    "GetTarget": (None, _OF, _OUT),
    "SetTarget": (None, _OF, c_char_p),
    "GetDataLayout": (None, _OF, _OUT),
    "SetDataLayout": (None, _OF, c_char_p),
    "PrintModuleToString": (None, _OF, _OUT),
    "DisposeModule": (None, _OF),
    "CreatePipelineTuningOptions": (_OF,),
    "PTOSetLoopInterleaving": (None, _OF, c_bool),
    "PTOSetLoopVectorization": (None, _OF, c_bool),
    "PTOSetSLPVectorization": (None, _OF, c_bool),
    "PTOSetLoopUnrolling": (None, _OF, c_bool),
    "DisposePipelineTuningOptions": (None, _OF),
    "CreatePassBuilder": (_OF, _OF, _OF),
    "DisposePassBuilder": (None, _OF),
    "buildPerModuleDefaultPipeline": (_OF, _OF, c_int),
    "CreateNewModulePassManager": (_OF,),
    "module_AddAlwaysInlinerPass": (None, _OF),
    "module_AddInstCombinePass": (None, _OF),
    "module_AddSROAPass": (None, _OF),
    "module_AddSimplifyCFGPass": (None, _OF),
    "RunNewModulePassManager": (None, _OF, _OF, _OF),
    "DisposeNewModulePassManger": (None, _OF),
    "TargetMachineEmitToMemory": (_OF, _OF, _OF, c_int, _OUT),
    "GetBufferStart": (c_void_p, _OF),
    "GetBufferSize": (c_size_t, _OF),
    "DisposeMemoryBuffer": (None, _OF),
}


class Features(dict):
    """Names of a processor's features, and whether it has them."""

    def flatten(self):
        return ",".join(("+" if has else "-") + name for name, has in sorted(self.items()))


class _Module:
    def __init__(self, llvm, reference):
        self._llvm, self._reference = llvm, reference

    def verify(self):
        text = c_char_p()
        refused = self._llvm.call("VerifyModule", self._reference, byref(text))
        words = self._llvm.taken(text)
        if refused:
            raise RuntimeError(words)

    def __str__(self):
        return self._llvm.text("PrintModuleToString", self._reference)

    @property
    def triple(self):
        return self._llvm.text("GetTarget", self._reference, owned=False)

    @triple.setter
    def triple(self, value):
        self._llvm.call("SetTarget", self._reference, value.encode())

    @property
    def data_layout(self):
        return self._llvm.text("GetDataLayout", self._reference, owned=False)

    @data_layout.setter
    def data_layout(self, value):
        self._llvm.call("SetDataLayout", self._reference, value.encode())

    def close(self):
        self._llvm.call("DisposeModule", self._reference)


class _Machine:
    """A target machine, kept as long as the process runs."""

    def __init__(self, llvm, reference):
        self._llvm, self._reference = llvm, reference

    @property
    def triple(self):
        return self._llvm.get_process_triple()

    @property
    def target_data(self):
        with self._llvm.held(self._llvm.call("CreateTargetMachineData", self._reference), "DisposeTargetData") as data:
            return self._llvm.text("CopyStringRepOfTargetData", data)

    def _emit(self, module, as_object):
        text = c_char_p()
        buffer = self._llvm.call("TargetMachineEmitToMemory", self._reference, module._reference, as_object, byref(text))
        if not buffer:
            raise RuntimeError(self._llvm.taken(text))
        with self._llvm.held(buffer, "DisposeMemoryBuffer"):
            return string_at(self._llvm.call("GetBufferStart", buffer), self._llvm.call("GetBufferSize", buffer))

    def emit_object(self, module):
        return self._emit(module, 1)

    def emit_assembly(self, module):
        return self._emit(module, 0).decode()


class Direct:
    """The library itself."""

    def __init__(self, library):
        self._functions = {}
        for name, (result, *parameters) in PROTOTYPES.items():
            function = library["LLVMPY_" + name]  # a new object, whose types are not those of llvmlite's
            function.restype, function.argtypes = result, parameters
            self._functions[name] = function
        version = self.call("GetVersionInfo")
        self.llvm_version_info = version >> 16 & 0xFF, version >> 8 & 0xFF, version & 0xFF

    def call(self, name, *arguments):
        return self._functions[name](*arguments)

    @contextlib.contextmanager
    def held(self, reference, dispose):
        """An object of LLVM, which this function frees at the end of the block, Ctrl-C included."""
        try:
            yield reference
        finally:
            self.call(dispose, reference)

    def taken(self, text):
        """The text that a function has put there, which is freed."""
        words = (text.value or b"").decode()
        if text:
            self.call("DisposeString", text)
        return words

    def text(self, name, *arguments, owned=True):
        out = c_char_p()
        self.call(name, *arguments, byref(out))
        return self.taken(out) if owned else (out.value or b"").decode()

    def initialize_native_target(self):
        self.call("InitializeNativeTarget")

    def initialize_native_asmprinter(self):
        self.call("InitializeNativeAsmPrinter")

    def get_process_triple(self):
        return self.text("GetProcessTriple")

    def get_host_cpu_name(self):
        return self.text("GetHostCPUName")

    def get_host_cpu_features(self):
        out = c_char_p()
        known = self.call("GetHostCPUFeatures", byref(out))
        words = self.taken(out)
        return Features((one[1:], one[0] == "+") for one in words.split(",") if one) if known else Features()

    def create_target_machine(self, triple, *, cpu, features, opt, reloc, codemodel):
        error = c_char_p()
        target = self.call("GetTargetFromTriple", triple.encode(), byref(error))
        words = self.taken(error)
        if not target:
            raise RuntimeError(words)
        reference = self.call("CreateTargetMachine", target, triple.encode(), cpu.encode(), features.encode(), opt,
                              reloc.encode(), codemodel.encode(), 0, 0, b"")
        if not reference:
            raise RuntimeError("Cannot create target machine")
        return _Machine(self, reference)

    def context(self):
        return self.held(self.call("ContextCreate"), "ContextDispose")

    def parse_assembly(self, text, context):
        error = c_char_p()
        reference = self.call("ParseAssembly", context, text.encode(), byref(error))
        if error:
            words = self.taken(error)
            if reference:
                self.call("DisposeModule", reference)
            raise RuntimeError("LLVM IR parsing error\n" + words)
        return _Module(self, reference)

    def run_passes(self, module, machine, level):
        with self.held(self.call("CreatePipelineTuningOptions"), "DisposePipelineTuningOptions") as options:
            for name in ("LoopVectorization", "SLPVectorization", "LoopInterleaving", "LoopUnrolling"):
                self.call("PTOSet" + name, options, level >= 2)
            with self.held(self.call("CreatePassBuilder", machine._reference, options), "DisposePassBuilder") as builder, \
                 self.held(self._manager(builder, level), "DisposeNewModulePassManger") as manager:
                self.call("RunNewModulePassManager", manager, module._reference, builder)

    def _manager(self, builder, level):
        if level != 1:
            return self.call("buildPerModuleDefaultPipeline", builder, level)
        manager = self.call("CreateNewModulePassManager")
        for name, _method in _SOON:
            self.call(f"module_Add{name}Pass", manager)
        return manager


class Public:
    """llvmlite.binding."""

    def __init__(self):
        import llvmlite.binding as llvm

        self._llvm = llvm

    def __getattr__(self, name):
        return getattr(self._llvm, name)

    def create_target_machine(self, triple, **options):
        return self._llvm.Target.from_triple(triple).create_target_machine(**options)

    def context(self):
        return self._llvm.create_context()

    def run_passes(self, module, machine, level):
        with self._llvm.create_pipeline_tuning_options(speed_level=level) as options:
            options.loop_vectorization = options.slp_vectorization = options.loop_interleaving = options.loop_unrolling = level >= 2
            with self._llvm.create_pass_builder(machine, options) as builder:
                manager = self._soon() if level == 1 else builder.getModulePassManager()
                try:
                    manager.run(module, builder)
                finally:
                    self._free_manager(manager)

    def _soon(self):
        manager = self._llvm.create_new_module_pass_manager()
        for _name, method in _SOON:
            getattr(manager, f"add_{method}_pass")()
        return manager

    @staticmethod
    def _free_manager(manager):
        """Frees a pass manager, which llvmlite 0.48 to 0.50 forget (70 KB a compile).

        The pass manager's own _dispose stands behind ObjectRef's empty one in its base classes.
        """
        from llvmlite.binding.ffi import ObjectRef

        own = [c.__dict__["_dispose"] for c in type(manager).__mro__ if "_dispose" in c.__dict__]
        if own and own[0] is ObjectRef.__dict__["_dispose"] and len(own) > 1:
            own[1](manager)
        manager.close()


def _direct() -> Direct | None:
    """None where the installed llvmlite is not known to have these functions."""
    import llvmlite

    version = getattr(llvmlite, "__version__", "")
    if not sys.platform.startswith("linux") or ".".join(version.split(".")[:2]) not in _VERSIONS:
        return None
    path = os.path.join(os.path.dirname(llvmlite.__file__ or ""), "binding", "libllvmlite.so")
    try:
        return Direct(CDLL(path)) if os.path.isfile(path) else None  # it may lie in an archive
    except (OSError, AttributeError):
        return None  # llvmlite.binding says what is wrong with the library


def load() -> Any:
    """Direct or Public; ImportError without llvmlite."""
    return "llvmlite.binding" not in sys.modules and _direct() or Public()

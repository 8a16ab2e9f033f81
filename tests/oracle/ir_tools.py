"""Builds tests/c/test_emit.c and compiles what it prints: LLVM text for the host through
llvmlite, for GPUs through libNVVM and nvJitLink (no GPU needed)."""

import ctypes
import functools
import os
import pathlib
import shutil
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDERS = ("base", "tables", "ir", "opt", "emit")


@functools.cache
def program(name, *more):
    """The path of a program of tests/c: built by CMake in the folder LW_TEST_PROGRAMS, or here with the C compiler, from the core's sources and `more`."""
    folder = os.environ.get("LW_TEST_PROGRAMS")
    if folder:
        return str(pathlib.Path(folder) / name)
    compiler = os.environ.get("CC") or shutil.which("cc") or shutil.which("gcc")
    assert compiler, f"a C compiler is needed to build tests/c/{name}.c"
    out = pathlib.Path(tempfile.mkdtemp(prefix="lanewise-test-")) / name
    sources = [p for folder in FOLDERS for p in sorted((ROOT / "core" / folder).glob("*.c"))]
    sources += [ROOT / "core" / path for path in more]
    subprocess.run(
        [compiler, "-std=c17", "-O1", "-D_POSIX_C_SOURCE=200809L", "-D_DEFAULT_SOURCE", "-DLW_WINDOWS", f"-I{ROOT}",
         str(ROOT / "tests/c" / f"{name}.c"), *map(str, sources), "-o", str(out), "-lm", "-ldl", "-lpthread"],
        check=True,
    )
    return str(out)


def printed(path, *arguments):
    """What a program prints."""
    return subprocess.run([path, *arguments], capture_output=True, text=True, check=True).stdout


def emitter():
    return program("test_emit")


def ops_text(target, dtype, bits=256):
    """LLVM text with one function for every op of this type, and [(name, out, args)]."""
    text = printed(emitter(), "ops", target, dtype, str(bits))
    notes = [line.split()[2:] for line in text.splitlines() if line.startswith("; lw ")]
    return text, [(name, out, args) for name, out, *args in notes]


def emit_ir(ir, target="cpu", bits=256):
    done = subprocess.run([emitter(), "text", target, "-", str(bits)], input=ir, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


# ---- the host ----


@functools.cache
def llvm():
    import llvmlite.binding as binding

    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    for library in ("libm.so.6", "libmvec.so.1"):
        try:
            ctypes.CDLL(library, ctypes.RTLD_GLOBAL)
        except OSError:
            pass
    return binding


@ctypes.CFUNCTYPE(None)
def never_stopped():
    """What loops of compiled code call now and then (core/host/pieces.h), where nothing can ask them to stop."""


class HostModule:
    """Optimised object code of one LLVM text, loaded; module["name"] is the address. `functions`: addresses of what
    it calls, by name, where the process does not have them."""

    def __init__(self, text, functions=None):
        binding = llvm()
        machine = binding.Target.from_default_triple().create_target_machine(
            cpu=binding.get_host_cpu_name(), features=binding.get_host_cpu_features().flatten(), opt=3,
            reloc="pic", codemodel="small",
        )
        module = binding.parse_assembly(text)
        module.triple = binding.get_default_triple()
        module.data_layout = str(machine.target_data)
        module.verify()
        tuning = binding.create_pipeline_tuning_options(speed_level=3)
        tuning.loop_vectorization = tuning.slp_vectorization = True
        builder = binding.create_pass_builder(machine, tuning)
        builder.getModulePassManager().run(module, builder)
        self.optimised = str(module)
        self.object = machine.emit_object(module)
        names = [f.name for f in module.functions if not f.is_declaration and f.linkage == binding.Linkage.external]
        self._jit = binding.create_lljit_compiler(machine)
        library = binding.JITLibraryBuilder().add_object_img(self.object).add_current_process()
        look = ctypes.cast(never_stopped, ctypes.c_void_p).value
        for name, address in {"lw_stop_look": look, **(functions or {})}.items():
            library.import_symbol(name, address)
        for name in names:
            library.export_symbol(name)
        self._library = library.link(self._jit, "ops")

    def __getitem__(self, name):
        return self._library[name]


# ---- the GPU's compilers ----


def _load(names):
    """The first that loads: from NVIDIA's wheels, then from the system's toolkit."""
    import importlib.util

    places = []
    spec = importlib.util.find_spec("nvidia")
    for root in spec.submodule_search_locations if spec else []:
        places += sorted(pathlib.Path(root).glob("*/lib")) + sorted(pathlib.Path(root).glob("*/*/lib*"))
    home = pathlib.Path(os.environ.get("CUDA_HOME", "/usr/local/cuda"))
    places += [home / "nvvm/lib64", home / "lib64", home / "lib"]
    for place in places:
        for name in names:
            for path in sorted(place.glob(name)):
                return ctypes.CDLL(str(path)), path
    return None, None


@functools.cache
def gpu_tools():
    """(libNVVM, nvJitLink, libdevice's bytes), or None where they are not installed."""
    nvvm, path = _load(["libnvvm.so*"])
    linker, _ = _load(["libnvJitLink.so*"])
    if nvvm is None or linker is None:
        return None
    for up in path.parents[:4]:
        found = sorted(up.glob("**/libdevice.10.bc"))
        if found:
            return nvvm, linker, found[0].read_bytes()
    return None


def _log(size_of, text_of, handle):
    size = ctypes.c_size_t()
    size_of(handle, ctypes.byref(size))
    text = ctypes.create_string_buffer(size.value + 1)
    text_of(handle, text)
    return text.value.decode()


def _options(*options):
    return len(options), (ctypes.c_char_p * len(options))(*(o.encode() for o in options))


def compile_nvvm(text, arch, *more):
    """libNVVM's output: LTO-IR with -gen-lto, else PTX."""
    nvvm, _, libdevice = gpu_tools()
    program, data = ctypes.c_void_p(), text.encode()
    options = _options(f"-arch=compute_{arch}", "-fma=0", *more)

    def check(rc):
        assert rc == 0, _log(nvvm.nvvmGetProgramLogSize, nvvm.nvvmGetProgramLog, program)

    check(nvvm.nvvmCreateProgram(ctypes.byref(program)))
    try:
        check(nvvm.nvvmAddModuleToProgram(program, data, ctypes.c_size_t(len(data)), b"ops"))
        check(nvvm.nvvmVerifyProgram(program, *options))
        check(nvvm.nvvmLazyAddModuleToProgram(program, libdevice, ctypes.c_size_t(len(libdevice)), b"libdevice"))
        check(nvvm.nvvmCompileProgram(program, *options))
        size = ctypes.c_size_t()
        check(nvvm.nvvmGetCompiledResultSize(program, ctypes.byref(size)))
        out = ctypes.create_string_buffer(size.value)
        check(nvvm.nvvmGetCompiledResult(program, out))
        return out.raw
    finally:
        nvvm.nvvmDestroyProgram(ctypes.byref(program))


def link_cubin(ltoir, arch, *more):
    _, linker, _ = gpu_tools()
    handle, lto_input = ctypes.c_void_p(), 3

    def check(rc):
        assert rc == 0, _log(linker.nvJitLinkGetErrorLogSize, linker.nvJitLinkGetErrorLog, handle)

    check(linker.nvJitLinkCreate(ctypes.byref(handle), *_options("-lto", f"-arch=sm_{arch}", "-fma=0", *more)))
    try:
        check(linker.nvJitLinkAddData(handle, lto_input, ltoir, ctypes.c_size_t(len(ltoir)), b"ops"))
        check(linker.nvJitLinkComplete(handle))
        size = ctypes.c_size_t()
        check(linker.nvJitLinkGetLinkedCubinSize(handle, ctypes.byref(size)))
        out = ctypes.create_string_buffer(size.value)
        check(linker.nvJitLinkGetLinkedCubin(handle, out))
        return out.raw
    finally:
        linker.nvJitLinkDestroy(ctypes.byref(handle))

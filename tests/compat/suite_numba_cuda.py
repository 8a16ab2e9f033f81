"""numba-cuda's own tests, with lanewise in the place of `numba` and `numba.cuda`.

On a machine with a GPU they run as they are. Elsewhere they run on the CPU target, and what numba's simulator skips is
skipped; LANEWISE_COMPAT_SKIP=0 runs it too, which tells more, because the CPU target compiles. With LANEWISE_COMPAT_SIM=0
besides, `config.ENABLE_CUDASIM` is False: the files import and expect what they do where there is a GPU.

What is put in place are modules of numba's names whose names are lanewise's. A name that is neither lanewise's nor
public in numba (a linker, a pass of its compiler) is an `Internal`, which may be imported and derived from,
and raises where it is called.

Files that are left out, because they test how numba is made and not what a program sees:

    core, test_serialize, test_itanium_mangler   its pickles of functions, its names of symbols
    benchmarks                                   times
    test_analysis, test_byteflow, test_ir, test_ir_utils, test_make_function_to_jit_function, test_inline,
    test_copy_propagate, test_typeinfer, test_typeconv, test_tracing, test_compiler   its bytecode, its IR, its passes
    test_debuginfo, test_debuginfo_types, test_lineinfo   the metadata of its LLVM text
    test_extending, test_extending_types         its lowering extensions, which build LLVM IR
    test_caching                                 the files and statistics of its cache
    test_bfloat16_bindings, test_fp8_bindings, test_cupy_bfloat16_interop   `numba.cuda._internal`
    test_dummyarray, test_library_lookup, test_nvvm, test_nvvm_driver, test_function_resolution, test_cache_version,
    test_import                                  where it finds its libraries, what it imports
    test_linker, test_nvjitlink, test_nvrtc, test_cuda_driver, test_deallocations, test_cuda_memory, test_context_stack,
    test_inline_ptx, test_init                   its linker, its driver's objects and handles
    test_gufunc_scheduling, test_launch_config_sensitive   the scheduler of its gufuncs, its rewrites
"""

import importlib.machinery
import importlib.util
import os
import pathlib
import sys
import types
import unittest

WHEEL = "numba-cuda==0.30.4"
TESTS = "numba_cuda/numba/cuda/tests"

OUT = """
    test_serialize test_itanium_mangler test_kernel_launch
    test_analysis test_byteflow test_ir test_ir_utils test_make_function_to_jit_function test_inline
    test_copy_propagate test_typeinfer test_typeconv test_tracing test_compiler
    test_debuginfo test_debuginfo_types test_lineinfo test_extending test_extending_types test_caching
    test_bfloat16_bindings test_fp8_bindings test_cupy_bfloat16_interop
    test_dummyarray test_library_lookup test_nvvm test_nvvm_driver test_function_resolution test_cache_version test_import
    test_linker test_nvjitlink test_nvrtc test_cuda_driver test_deallocations test_gufunc_scheduling test_launch_config_sensitive
    test_inline_ptx test_init test_cuda_memory test_context_stack
""".split()

# compat.py takes glob patterns, which cannot say "but not": one pattern for each file that is run
FOLDERS = ("cudapy", "cudadrv", "nocuda", "cudasim", "doc_examples", "nrt")


class _Files:
    """The patterns of the files, made when they are asked for: the wheel is unpacked by then."""

    def __iter__(self):
        root = pathlib.Path(os.environ.get("LANEWISE_COMPAT_DIR") or pathlib.Path.home() / ".cache" / "lanewise-compat")
        root = root / WHEEL.replace("==", "-") / "files"
        for folder in FOLDERS:
            for path in sorted((root / TESTS / folder).glob("test_*.py")):
                if path.stem not in OUT:
                    yield f"{TESTS}/{folder}/{path.name}"


FILES = _Files()


class Internal(type):
    """The class of numba's internals: they can be imported and derived from, and nothing else."""

    def __call__(cls, *args, **keywords):
        if len(args) == 3 and isinstance(args[1], tuple) and isinstance(args[2], dict):
            return type.__call__(cls, *args)
        raise NotImplementedError(f"{cls.__module__}.{cls.__name__} is numba's own")


def _internal(module, name):
    return Internal(name, (), {"__module__": module})


class Module(types.ModuleType):
    """A module whose names are those of `sources`, first found first; what is in none is an Internal, if `internal`."""

    sources = ()
    internal = True

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        if name == "config":  # the module of this file, through which ENABLE_CUDASIM is read
            return importlib.import_module("numba.cuda.config")
        for source in self.sources:
            try:
                value = source[name] if isinstance(source, dict) else getattr(source, name)
            except (AttributeError, KeyError):
                continue
            if type(self) is Module and not isinstance(value, (bool, int, float, str)):
                vars(self)[name] = value  # as a module has it: found without a search the next time
            return value
        if self.__name__ + "." + name in MODULES:
            return importlib.import_module(self.__name__ + "." + name)
        if self.internal:
            value = _internal(self.__name__, name)
            setattr(self, name, value)
            return value
        raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")


class Config(Module):
    """numba.config: what is read and assigned is lanewise.config's."""

    def __getattr__(self, name):
        if name == "ENABLE_CUDASIM" and os.environ.get("LANEWISE_COMPAT_SIM") == "0":
            return False
        return super().__getattr__(name)

    def __setattr__(self, name, value):
        if name.startswith("__"):
            super().__setattr__(name, value)
        else:
            setattr(self.sources[0], name, value)


MODULES = {}


def _provide():
    """The table of modules: name: (class, sources, whether names that are missing are Internal)."""
    import lanewise
    import numpy
    from lanewise import cuda, errors, extending, runtime

    kinds = lanewise.types
    drivers = {"CudaSupportError": getattr(errors, "CudaSupportError", errors.DriverError),
               "CudaDriverError": errors.DriverError, "CudaAPIError": getattr(errors, "CudaAPIError", errors.DriverError),
               "LinkerError": errors.LinkError, "NvvmError": errors.LinkError}
    driver = {**drivers, "Stream": cuda.Stream, "Event": cuda.Event, "Context": cuda.Context, "Device": cuda.Device,
              "MemoryPointer": cuda.MemoryPointer, "MappedMemory": cuda.MappedMemory, "_have_nvjitlink": lambda: True,
              "AutoFreePointer": cuda.MemoryPointer, "device_memset": device_memset, "device_memory_size": device_memory_size,
              "driver": types.SimpleNamespace(get_device_count=lambda: len(cuda.gpus))}
    devices = {"DeviceNDArray": DeviceNDArray, "DeviceRecord": DeviceRecord, "is_contiguous": is_contiguous,
               "array_core": array_core, "auto_device": lambda x, stream=0: (cuda.to_device(x, stream=stream), True)}
    devices.update(from_array_like=lambda ary, stream=0, gpu_data=None: cuda.device_array_like(ary),
                   from_record_like=lambda rec, stream=0, gpu_data=None: cuda.device_array_like(rec))
    support = {"carray": lanewise.carray, "farray": lanewise.farray, "from_dtype": lanewise.from_dtype, "as_dtype": numpy_dtype,
               "numpy_version": tuple(map(int, numpy.__version__.split(".")[:2]))}
    warned = {"NumbaPerformanceWarning": errors.PerformanceWarning, "NumbaWarning": UserWarning,
              "LoweringError": errors.UnsupportedError, "NumbaTypeError": errors.TypingError,
              "NumbaValueError": errors.CompileError, "UnsupportedError": errors.UnsupportedError,
              "NumbaError": errors.CompileError, "UnsupportedBytecodeError": errors.UnsupportedError}
    own = {"HAS_NUMBA": True, "numpy_support": None}
    version = {"__version__": "0.68.1", "version_info": (0, 68, 1)}
    constants = {"_OptLevel": lambda level: level, "MACHINE_BITS": 64, "IS_WIN32": sys.platform == "win32", "DEVELOPER_MODE": 0, "reload_config": lambda: None}
    utils = {"PYVERSION": sys.version_info[:2], "MACHINE_BITS": 64}
    enum = [(name, Module, sources, internal) for name, sources, internal in (
        ("numba", [version, lanewise], False),
        ("numba.cuda", [own, cuda, lanewise, kinds], False),
        ("numba.cuda.types", [kinds], True), ("numba.types", [kinds], True), ("numba.core.types", [kinds], True),
        ("numba.core", [], True), ("numba.cuda.core", [], True),
        ("numba.errors", [errors, warned], True), ("numba.core.errors", [errors, warned], True),
        ("numba.cuda.core.errors", [errors, warned], True), ("numba.cuda.errors", [errors, warned], True),
        ("numba.cuda.random", [lanewise.random], True), ("numba.cuda.libdevice", [cuda.libdevice], False),
        ("numba.extending", [extending], True), ("numba.core.extending", [extending], True),
        ("numba.cuda.extending", [{"core_models": extending.models}, extending], True),
        ("numba.cuda.datamodel", [], True), ("numba.cuda.datamodel.models", [extending.models], True),
        ("numba.cuda.cudadecl", [{"registry": Registry()}], True), ("numba.cuda.cudaimpl", [{"lower": Registry()}], True),
        ("numba.cuda.memory_management", [runtime], True), ("numba.cuda.memory_management.nrt", [runtime], True),
        ("numba.cuda.np", [], True), ("numba.cuda.np.numpy_support", [support, cuda], True),
        ("numba.cuda.typing", [{"typeof": lanewise.typeof, "signature": signature}], True),
        ("numba.cuda.typing.templates", [{"signature": signature}], True),
        ("numba.cuda.typing.typeof", [{"typeof": lanewise.typeof}], True),
        ("numba.cuda.typing.cffi_utils", [{"SUPPORTED": importlib.util.find_spec("cffi") is not None}], True),
        ("numba.core.typing", [{"typeof": lanewise.typeof}], True),
        ("numba.core.typing.typeof", [{"typeof": lanewise.typeof}], True),
        ("numba.cuda.compiler", [cuda], True), ("numba.cuda.utils", [utils], True),
        ("numba.cuda.api", [cuda], True), ("numba.cuda.args", [{"wrap_arg": wrap_arg}], True),
        ("numba.cuda.bf16", [getattr(cuda, "bf16", {}), cuda, kinds], True), ("numba.cuda.cudadrv", [], True),
        ("numba.cuda.cudadrv.driver", [driver, cuda], True), ("numba.cuda.cudadrv.error", [drivers], True),
        ("numba.cuda.cudadrv.devices", [{"gpus": cuda.gpus, "get_context": cuda.current_context}], True),
        ("numba.cuda.cudadrv.devicearray", [devices, cuda], True), ("numba.cuda.devicearray", [devices, cuda], True),
        ("numba.cuda.cudadrv.linkable_code", [cuda], True), ("numba.cuda.cudadrv.nvvm", [], True),
        ("numba.cuda.cudadrv.nvrtc", [], True), ("numba.cuda.cudadrv.runtime", [{"runtime": cuda}], True),
        ("numba.cuda.misc", [], True), ("numba.cuda.misc.special", [lanewise], True),
        ("numba.cuda.kernels", [], True), ("numba.cuda.kernels.transpose", [{"transpose": transpose}], False),
        ("numba.cuda.vector_types", [{"vector_types": vector_types(cuda)}], True),
        ("numba.cuda.simulator", [], True), ("numba.cuda.simulator.vector_types", [{"vector_types": vector_types(cuda)}], True),
        ("numba.cuda.launchconfig", [], True),
        ("numba.cuda.testing", [testing_module()], False),
    )]
    enum += [(name, Config, [lanewise.config, constants], False) for name in ("numba.config", "numba.core.config", "numba.cuda.config", "numba.cuda.core.config")]
    if importlib.util.find_spec("cuda") is None or importlib.util.find_spec("cuda.core") is None:
        enum += [("cuda.core" + name, Module, [{"CUDAError": errors.DriverError}], True) for name in ("", "._utils", "._utils.cuda_utils")]
    if importlib.util.find_spec("cffi") is None:  # files import it for one test of theirs
        enum.append(("cffi", Module, [{"FFI": _NoFFI}], True))
    for name in INTERNAL.split():
        parts = name.split(".")
        for i in range(2, len(parts) + 1):
            enum.append((".".join(parts[:i]), Module, [], True))
    for name, kind, sources, internal in enum:
        MODULES.setdefault(name, (kind, sources, internal))


INTERNAL = """
    numba.cuda.descriptor numba.cuda.flags numba.cuda.codegen numba.cuda.cgutils numba.cuda.itanium_mangler
    numba.cuda.serialize numba.cuda.deviceufunc numba.cuda.dispatcher numba.cuda.cudaimpl numba.cuda.cudadecl
    numba.cuda.cuda_paths numba.cuda.cloudpickle numba.cuda._internal.cuda_fp8 numba.cuda._internal.cuda_bf16
    numba.cuda._compat numba.cuda.typeconv.rules numba.cuda.typeconv.typeconv numba.cuda.typing.templates
    numba.cuda.datamodel.models numba.cuda.core.pythonapi numba.cuda.core.untyped_passes numba.cuda.core.typed_passes
    numba.cuda.core.rewrites numba.cuda.core.options numba.cuda.core.ir numba.cuda.core.ir_utils numba.cuda.core.analysis
    numba.cuda.core.inline_closurecall numba.cuda.core.imputils numba.cuda.core.controlflow numba.cuda.core.bytecode
    numba.cuda.core.compiler_machinery numba.cuda.core.compiler numba.cuda.core.callconv numba.cuda.core.caching
    numba.cuda.core.annotations numba.cuda.core.tracing numba.cuda.core.postproc numba.cuda.cudadrv.dummyarray
    numba.core.target_extension numba.cuda.cudadrv.libs numba.cuda.cudadrv.ndarray
"""


# Programs and tables, which need nothing but public names
FROM_THE_WHEEL = ("numba.cuda.libdevicefuncs",)


class _OfDevices(type):
    def __instancecheck__(cls, array):
        from lanewise import cuda

        return isinstance(array, cuda.DeviceArray)


class DeviceNDArray(metaclass=_OfDevices):
    """The constructor of numba's device arrays."""

    def __new__(cls, shape, strides, dtype, stream=0):
        from lanewise import cuda

        return cuda.device_array(shape, dtype, strides=strides)


class DeviceRecord(metaclass=_OfDevices):
    def __new__(cls, dtype, stream=0):
        from lanewise import cuda

        return cuda.device_array((), dtype)


def device_memory_size(array):
    """numba.cuda.cudadrv.driver.device_memory_size: the bytes of an array or of memory."""
    return getattr(array, "nbytes", None) or array.size


def device_memset(array, value, size, stream=0):
    """numba.cuda.cudadrv.driver.device_memset: sets bytes of an array that the device can access."""
    from lanewise import cuda

    cuda.as_cuda_array(array).reshape(-1).view("u1")[:size].fill(value, stream=stream)
    cuda.synchronize()


def transpose(a, b=None):
    """numba's function of that name: the transpose of a device array, in b if it is given."""
    from lanewise import cuda

    if b is None:
        b = cuda.device_array(a.shape[::-1], a.dtype)
    b[...] = a.T
    return b


def numpy_dtype(type_):
    import numpy

    return numpy.dtype(type_)


def signature(result, *arguments):
    return result(*arguments)


def array_core(array):
    """The array without the axes along which it is repeated."""
    return array[tuple(0 if stride == 0 else slice(None) for stride in array.strides)] if array.size else array


def is_contiguous(array):
    return array_core(array).flags["C_CONTIGUOUS"]


def wrap_arg(value, default=None):
    """numba.cuda.args.wrap_arg: an array with the direction of its copy."""
    from lanewise import cuda

    return value if isinstance(value, (cuda.In, cuda.Out, cuda.InOut)) else (default or cuda.InOut)(value)


def vector_types(cuda):
    """numba's table of vector types."""
    names = [f"{base}x{n}" for base in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64") for n in (1, 2, 3, 4)]
    found = {name: getattr(cuda, name) for name in names}
    return {name: types.SimpleNamespace(name=name, base_type=cls.base_type, num_elements=cls.num_elements, user_facing_object=cls)
            for name, cls in found.items()}


def on_gpu():
    from lanewise import cuda

    return not cuda.config.ENABLE_CUDASIM


def skips():
    """Whether tests that numba's simulator skips are skipped."""
    return not on_gpu() and os.environ.get("LANEWISE_COMPAT_SKIP", "1") != "0"


def testing_module():
    """numba.cuda.testing: a class of test cases and what skips tests."""
    module = types.ModuleType("numba.cuda.testing")

    def unless(has, reason):
        return lambda function: function if has else unittest.skip(reason)(function)

    def make_case():
        import numpy
        from numba.cuda.tests.support import TestCase

        class CUDATestCase(TestCase):
            FLOAT16_RTOL = numpy.finfo(numpy.float16).eps

            def skip_check(self, *args, **keywords):
                self.skipTest("compares with numba's LLVM or PTX text")

            assertFileCheckAsm = assertFileCheckLLVM = assertFileCheckMatches = skip_check

        return CUDATestCase

    class ForeignArray:
        def __init__(self, array):
            self._arr = array
            self.__cuda_array_interface__ = array.__cuda_array_interface__

    def capability(major, minor):
        from lanewise import cuda

        return not on_gpu() or tuple(cuda.get_current_device().compute_capability) >= (major, minor)

    def missing(name):
        if name == "CUDATestCase":
            module.CUDATestCase = make_case()
            return module.CUDATestCase
        if name.startswith("skip_unless_cc_"):
            major, minor = name.removeprefix("skip_unless_cc_")
            return unless(capability(int(major), int(minor)), "needs a newer GPU")
        raise AttributeError(name)

    vars(module).update(
        unittest=unittest, ForeignArray=ForeignArray, cc_X_or_above=capability, __getattr__=missing,
        skip_on_cudasim=lambda reason: unless(not skips(), reason),
        skip_unless_cudasim=lambda reason: unless(not on_gpu(), reason),
        xfail_unless_cudasim=lambda function: function if not on_gpu() else unittest.expectedFailure(function),
        skip_if_external_memmgr=lambda reason: unless(True, reason), skip_under_cuda_memcheck=lambda reason: unless(True, reason),
        skip_on_standalone_numba_cuda=lambda function: function, skip_on_arm=lambda reason: unless(True, reason),
        skip_on_wsl2=lambda reason: unless(True, reason), skip_without_nvdisasm=lambda reason: unless(False, reason),
        skip_with_nvdisasm=lambda reason: unless(True, reason), skip_if_nvjitlink_missing=lambda reason: unless(True, reason),
        skip_on_nvjitlink_13_1_sm_120=lambda reason: unless(True, reason),
        skip_if_cuda_includes_missing=lambda function: function, skip_if_curand_kernel_missing=lambda function: function,
        skip_if_cudadevrt_missing=lambda function: function,
        test_data_dir=pathlib.Path(os.environ["LANEWISE_COMPAT_ROOT"]) / TESTS / "data",
        numba_cuda_dir=(pathlib.Path(os.environ["LANEWISE_COMPAT_ROOT"]) / TESTS).parent,
    )
    return module


class _NoFFI:
    """cffi.FFI where cffi is not installed: what uses it fails, the rest of the file runs."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        raise unittest.SkipTest("cffi is not installed")


class Registry:
    """numba's registries and the decorators that fill them: what builds LLVM IR is noted by nobody."""

    def __call__(self, *args, **keywords):
        return lambda function: function

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Registry()


class Finder:
    """Finds numba's modules in MODULES and its tests in the wheel."""

    def __init__(self, root):
        self.root = root

    def find_spec(self, name, path=None, target=None):
        if name.startswith("numba.cuda.tests"):
            file = self.root / "numba_cuda" / pathlib.Path(*name.split("."))
            if file.is_dir():
                return importlib.util.spec_from_file_location(name, file / "__init__.py", submodule_search_locations=[str(file)])
            return importlib.util.spec_from_file_location(name, file.with_suffix(".py"))
        if name in FROM_THE_WHEEL:
            file = self.root / "numba_cuda" / pathlib.Path(*name.split("."))
            return importlib.util.spec_from_file_location(name, file.with_suffix(".py"))
        if name in MODULES:
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec):
        kind, sources, internal = MODULES[spec.name]
        module = kind(spec.name)
        types.ModuleType.__setattr__(module, "__name__", spec.name)
        vars(module).update(sources=sources, internal=internal)
        return module

    def exec_module(self, module):
        pass


def install(root):
    """Puts numba's names in place; without a GPU the setting `target` becomes "cpu"."""
    if MODULES:
        return
    os.environ.setdefault("LANEWISE_COMPAT_ROOT", str(root))
    child = str(pathlib.Path(__file__).resolve().parent / "child")
    paths = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    if child not in paths:
        os.environ["PYTHONPATH"] = os.pathsep.join([child, *paths])
    os.environ.setdefault("LANEWISE_IPC", "1")  # numba's device memory can always be shared with other processes
    from lanewise import config, cuda

    if not cuda.is_available():
        os.environ["LANEWISE_TARGET"] = "cpu"
        config.target = "cpu"
    EXPECTED.update(_expected(_where()))
    _provide()
    sys.meta_path.insert(0, Finder(root))
    # pytest names the tests by their folders, from the outermost that has an __init__.py, and imports what lies above them:
    # `cuda` must stay NVIDIA's, of which the toolchain is found
    if importlib.util.find_spec("cuda") is not None:
        importlib.import_module("cuda")
    else:
        sys.modules["cuda"] = types.ModuleType("cuda")
        sys.modules["cuda"].__path__ = []
    for name in ("tests", *(f"tests.{folder}" for folder in FOLDERS)):
        sys.modules["cuda." + name] = importlib.import_module("numba.cuda." + name)
    sys.modules["numba_cuda"] = types.ModuleType("numba_cuda")
    sys.modules["numba_cuda"].__version__ = WHEEL.split("==")[1]


# What fails, by its reason; `test@gd` fails on a GPU, and without one where LANEWISE_COMPAT_SIM=0 (_where).
REASONS = {
    "the file imports these names of numba.cuda.bf16 only where there is no simulator": """
        test_bfloat16.py::TestBfloat16HighLevelBindings:: test_arithmetic_intrinsics_basic@s
            test_arithmetic_intrinsics_saturating@s test_bfloat16_as_bitcast test_comparison_intrinsics@s
            test_fma_relu_intrinsic@s test_from_float_conversions@s test_from_integer_conversions@s
            test_hmax_hmin_intrinsics@s test_hmax_nan_hmin_nan_intrinsics@s test_math_bindings@s
            test_nan_and_inf_intrinsics@s test_to_float_conversions@s test_to_integer_conversions@s
            test_use_type_in_kernel@s
    """,
    "np.testing takes a field of a device record for an array: device arrays become NumPy arrays by copy_to_host() alone": """
        test_cuda_devicerecord.py::TestRecordDtypeWithStructArrays:: test_structured_array1@g
    """,
    'a float is not stored in an integer array without being asked to: E142; typing="numba" cuts it': """
        test_alignment.py::TestAlignment:: test_record_alignment
        test_dispatcher.py::TestDispatcher:: test_explicit_signatures_device_unsafe
        test_device_func.py::TestDeviceFunc:: test_device_casting
        test_ssa.py::TestReportedSSAIssues:: test_issue5493_unneeded_phi
    """,
    'a variable that has no value on some path: UnboundLocalError; typing="numba" warns': """
        test_ssa.py::TestSSA:: test_unhandled_undefined
        test_flow_control.py::TestFlowControl:: test_for_loop10@gd test_for_loop10_npm@gd
    """,
    "an int that does not fit the type in the signature is an OverflowError, where numba wraps": """
        test_intrinsics.py::TestCudaIntrinsic:: test_clz_i4_1s test_ffs_i4 test_ffs_i4_1s
    """,
    "an array of another dtype than the signature's is a TypeError": """
        test_atomics.py::TestCudaAtomics:: test_atomic_sub3
    """,
    "round(x, n) of a float32: docs/differences.md": """
        test_intrinsics.py::TestCudaIntrinsic:: test_round_to_f4_halfway
    """,
    "copies between arrays of other strides are made, where numba refuses them": """
        test_cuda_ndarray.py::TestCudaNDArray:: test_devicearray_contiguous_copy_device
            test_devicearray_contiguous_device_strided test_devicearray_contiguous_slice
        test_array.py::TestCudaArray:: test_gpu_array_interleaved
    """,
    "the words or the class of an error or a line are numba's, or those of its simulator": """
        test_userexc.py::TestUserExc:: test_user_exception
        test_exception.py::TestException:: test_zero_division_error_in_debug@s
        test_detect.py::TestCudaDetect:: test_cuda_detect
    """,
    "what numba's simulator cannot do works here": """
        test_array_alignment.py::TestCudasimUnsupportedAlignment:: test_local_unsupported@sd test_shared_unsupported@sd
        test_stream_api.py::TestStreamAPI:: test_external_stream_simulator_unavailable@sd
    """,
    "functions and objects of numba's driver and simulator": """
        test_cuda_ndarray.py::TestCudaNDArray:: test_device_array_interface
        test_host_alloc.py::TestHostAlloc:: test_host_alloc_driver
        test_cuda_jit_no_types.py::TestCudaJitNoTypes:: test_jit_debug_simulator@gd

        test_cudasim_issues.py::TestCudaSimIssues:: test_deadlock_on_exception@sd
    """,
    "min and max keep Python's rule for NaN and zeros, so that they are no min.f64 and max.f64 of PTX": """
        test_minmax.py::TestCudaMinMax:: test_max_f4f4 test_max_f4f8 test_max_f8f4 test_max_f8f8 test_min_f4f4
            test_min_f4f8 test_min_f8f4 test_min_f8f8
    """,
    "float16 is rounded where it is written, add.rn.f16: add.f16 may become an FMA; neg and abs are operations on bits": """
        test_intrinsics.py::TestCudaIntrinsic:: test_habs_ptx test_hadd_ptx test_hmul_ptx test_hneg_ptx test_hsub_ptx
        test_operator.py::TestOperatorModule:: test_fp16_abs_ptx test_fp16_binary_ptx test_fp16_inplace_binary_ptx
            test_fp16_int8_comparison_ptx test_fp16_neg_ptx
    """,
    "conversions between float16 and integers saturate and are exact, through float32": """
        test_casting.py::TestCasting:: test_float16_to_int_ptx test_float16_to_uint_ptx test_int_to_float16_ptx
            test_uint_to_float16_ptx
    """,
    "numba's graph of the flow of bytecode": """
        test_flow_control.py::TestCFGraph:: test_backbone_loopless@gd test_backbone_loops@gd test_dead_nodes@gd
            test_descendents@gd test_equals@gd test_exit_points@gd test_immediate_dominators@gd
            test_loop_dfs_pathological@gd test_loops@gd test_post_dominators_infinite_loops@gd
            test_post_dominators_loopless@gd test_post_dominators_loops@gd test_simple_properties@gd test_topo_order@gd
            test_topo_sort@gd test_dominance_frontier@gd test_dominator_tree@gd test_dominators_loopless@gd
            test_dominators_loops@gd
        test_flow_control.py::TestRealCodeDomFront:: test_if_else@gd test_if_else_nested@gd test_infinite_loop@gd
            test_loop@gd test_loop_nested_and_break@gd
    """,
    "numba's annotations of types and its compilation by hand": """
        test_dispatcher.py::TestDispatcher:: test_capture_compile_config test_dispatcher_mark_launch_config_sensitive
            test_launch_config_args_are_thread_local test_launch_config_available_during_compile
    """,
    "an IpcHandle is opened where the memory is: no staging, and numba's functions of its driver": """
        test_ipc.py::TestIpcStaged:: test_staged
    """,
    "a manager's memory must be where its device is, and aligned to 16 bytes; the test's is at address 1. Freed memory is in no list": """
        test_emm_plugins.py::TestDeviceOnlyEMMPlugin:: test_get_ipc_handle test_get_memory_info@sd
            test_initialized_in_context@sd test_memalloc test_reset@sd
        test_emm_plugins.py::TestBadEMMPluginVersion:: test_bad_plugin_version@sd
        test_cuda_array_interface.py::TestCudaArrayInterface:: test_ownership
    """,
    "a small array from outside that has changed is compiled anew, where numba keeps what it was: docs/differences.md": """
        test_globals.py::TestGlobals:: test_ex_globals_constant_capture
    """,
    "device arrays become NumPy arrays by copy_to_host() alone; the words of what is refused": """
        test_cuda_ndarray.py::TestCudaNDArray:: test_bug6697@g

        test_cuda_ndarray.py::TestArrayMethod:: test_np_array_copy_false@sd
        test_cuda_devicerecord.py::TestRecordDtypeWithStructArrays:: test_structured_array3@g
        test_bfloat16.py::TestBfloat16HighLevelBindings:: test_to_integer_conversions@gs
        test_multithreads.py::TestMultiThreadCompiling:: test_concurrent_compiling@g test_spawn_concurrent_compilation@g
    """,
    "what numba cannot do with device arrays works here (ravel, transposition by axes, copies of negative strides)": """
        test_cuda_ndarray.py::TestCudaNDArray:: test_devicearray_transpose_wrongdim
        test_array_attr.py::TestArrayAttr:: test_ravel_stride_1d test_ravel_stride_c test_ravel_stride_f
        test_cuda_array_interface.py::TestCudaArrayInterface:: test_negative_strided_copy_to_host
    """,
    "the strides of empty, repeated and like-made arrays are NumPy's": """
        test_cuda_ndarray.py::TestCudaNDArray:: test_issue_8477@g test_devicearray_typing_order_broadcasted
        test_array.py::TestCudaArray:: test_array_like_2d_view_transpose_device
        test_transpose.py::TestTranspose:: test_transpose_view
    """,
    "calls of numba's Stream.synchronize are counted; streams wait for each other here by events, or in the driver": """
        test_cuda_array_interface.py::TestCudaArrayInterface:: test_consume_stream test_consume_sync
            test_consume_sync_disabled@sd test_launch_sync test_launch_sync_disabled@sd test_launch_sync_two_streams
        test_cuda_array_slicing.py::CudaArraySetting:: test_sync
    """,
    "an array's interface names the stream that its memory is ordered on, also the default stream": """
        test_cuda_array_interface.py::TestCudaArrayInterface:: test_produce_managed_no_stream test_produce_no_stream
    """,
    "record types are equal when their fields are": """
        test_cuda_array_interface.py::TestCudaArrayInterface:: test_masked_array@sd
            test_from_dtype_caching_distiguish_custom_dtypes
    """,
    "an output that is given is returned as it is: the object of another library that the caller passed": """
        test_cuda_array_interface.py::TestCudaArrayInterface:: test_gufunc_arg test_ufunc_arg
    """,
    "the PTX text of numba's code generator: names of memory, forms of instructions, the state space of atomics": """
        test_atomics.py::TestCudaAtomics:: test_atomic_add_double_global@gd test_atomic_add_double_global_2@gd
            test_atomic_add_double_global_3@gd
        test_casting.py::TestCasting:: test_native_cast
        test_fastmath.py::TestFastMathOption:: test_divf
        test_optimization.py::TestOptimization:: test_device_noopt test_eager_noopt test_eager_opt
            test_lazy_noopt
        test_nrt.py::TestNrtBasic:: test_nrt_ptx_contains_refcount
    """,
    'nopython= of vectorize(target="cuda") is taken without a warning': """
        test_vectorize_decor.py::TestVectorizeNopythonArg:: test_target_cuda_nopython
    """,
    "a division by zero raises with fastmath as without it": """
        test_fastmath.py::TestFastMathOption:: test_divf_exception
    """,
    "numba's dumps of its bytecode, control flow, IR, LLVM text and assembly, and its levels of optimisation": """
        test_debug.py::TestDebugOutput:: test_dump_assembly test_dump_bytecode test_dump_cfg test_dump_ir test_dump_llvm
        test_warning.py::TestWarnings:: test_warn_on_debug_and_opt test_warn_on_debug_and_opt_default
            test_warn_on_debug_and_opt_with_config
        test_ssa.py::TestSSA:: test_undefined_var
    """,
    "the target context, the modules and the statistics of numba's compiler": """
        test_const_string.py::TestConstStringCodegen:: test_const_string
        test_device_func.py::TestDeviceFunc:: test_inspect_asm test_inspect_llvm
        test_cooperative_groups.py::TestCudaCooperativeGroups:: test_external_cooperative_func
            test_false_cooperative_doesnt_link_cudadevrt test_this_grid_is_cooperative
        test_enums.py::EnumTest:: test_int_enum_no_conversion
        test_overload.py::TestOverload:: test_overload_attribute_target
        test_module_callbacks.py::TestModuleCallbacksBasic:: test_basic@gs
        test_managed_alloc.py::TestManagedAlloc:: test_managed_alloc_driver_host_attach
            test_managed_alloc_driver_undersubscribe
        test_vectorize.py::TestCUDAVectorize:: test_no_transfer_for_device_data
        test_nrt.py::TestNrtLinking:: test_nrt_detect_linked_ptx_file
        test_nrt.py::TestNrtStatistics:: test_nrt_toggle_enabled
        test_localmem.py::TestCudaLocalMem:: test_struct_model_type_arr test_type_with_struct_data_model
        test_sm_creation.py::TestSharedMemoryCreation:: test_type_with_struct_data_model
    """,
    "a module's handle is a CUmodule, for cuModuleGetGlobal; the driver crashes where cuLibraryGetGlobal gets one": """
        test_module_callbacks.py::TestModuleCallbacks:: test_decldevice_arg@gs test_jitarg@gs
        test_module_callbacks.py@sd
    """,
    "the dtype of an array type is NumPy's, which has no bitwidth": """
        test_cache_hints.py::TestCacheHints:: test_loads test_loads_2d test_stores test_stores_2d
    """,
    "the words of numba's typing errors; E120, E181 and E150 say it with the place": """
        test_errors.py::TestJitErrors:: test_typing_error
        test_inspect.py::TestInspect:: test_monotyped
        test_cache_hints.py::TestCacheHints:: test_bad_indices test_unsupported_dtypes
        test_alignment.py::TestAlignment:: test_record_alignment_error
        test_sm.py::TestSharedMemory:: test_invalid_array_type
        test_sm_creation.py::TestSharedMemoryCreation:: test_invalid_1 test_invalid_2 test_invalid_3 test_invalid_4
        test_warp_ops.py::TestCudaWarpOperations:: test_vote_sync_const_mode_val test_vote_sync_type_validation
        test_recursion.py::TestSelfRecursion:: test_growing_return_tuple test_runaway
        test_dispatcher.py::TestDispatcher:: test_explicit_signatures_device@gd
        test_gufunc.py::TestCUDAGufunc:: test_invalid_flags
        test_multiprocessing.py::TestMultiprocessing:: test_fork@sd
        test_print.py::TestPrint:: test_bfloat16 test_too_many_args
    """,
    "what numba refuses works here": """
        test_sm_creation.py::TestSharedMemoryCreation:: test_global_build_list
        test_dispatcher.py::TestDispatcher:: test_explicit_signatures_ambiguous_resolution
        test_gufunc.py::TestCUDAGufunc:: test_not_supported_call_from_jit
        test_device_func.py::TestDeviceFunc:: test_cpu_dispatcher_invalid
        test_exception.py::TestException:: test_raise_in_device_function@g
        test_flow_control.py::TestFlowControl:: test_for_loop8@gd test_for_loop8_npm@gd
    """,
    "a gufunc that never writes an output: E185": """
        test_gufunc.py::TestCUDAGufunc:: test_duplicated_output test_incorrect_number_of_pos_args test_nopython_flag
        test_gufunc.py::TestMultipleOutputs:: test_incorrect_number_of_pos_args
    """,
    "a low occupancy is warned of by the launch of a kernel, not by its configuration, and not by gufuncs": """
        test_gufunc.py::TestCUDAGufunc:: test_inefficient_launch_configuration
        test_warning.py::TestWarnings:: test_inefficient_launch_configuration@sd
    """,
    "operands of gufuncs are cast and broadcast as those of NumPy's": """
        test_gufunc_scalar.py::TestGUFuncScalar:: test_gufunc_scalar_cast test_gufunc_scalar_output
    """,
    "expected to fail in numba, and works here": """
        test_record_dtype.py::TestNestedArrays:: test_set_array
    """,
    "where there is no GPU: device arrays are host memory, which has no __cuda_array_interface__": """
        test_cpointer.py::TestCPointer:: test_ex_cpointer@sd
        test_cuda_array_interface.py::TestCudaArrayInterface:: test_as_cuda_array@sd test_consume_no_stream@sd
            test_consume_no_sync@sd test_consuming_strides@sd test_kernel_arg@sd test_launch_no_sync@sd
            test_negative_strided_issue@sd test_produce_managed_stream@sd test_produce_stream@sd test_strides@sd
            test_zero_size_array@sd
        test_device_array_capture.py::TestDeviceArrayCapture:: test_basic_capture@sd test_computation@sd
            test_direct_kernel_access@sd test_dtypes@sd test_multidimensional@sd test_multiple_arrays@sd
            test_mutability@sd test_zero_dimensional@sd
        test_dispatcher.py::TestDispatcher:: test_dispatcher_cpointer_arguments@sd
    """,
    "where there is no GPU: functions of CUDA C++ and of libdevice run only if they have a host= of their own": """
        test_cffi.py::TestCFFI:: test_from_buffer@sd
        test_device_func.py::TestDeclareDevice:: test_call_declared_function_twice@sd
            test_call_two_different_declared_functions@sd test_declared_in_called_function@sd
            test_declared_in_called_function_and_parent@sd test_declared_in_called_function_twice@sd
            test_declared_in_called_function_two_calls@sd test_include_cuda_header@sd test_link_cu_source@sd
            test_link_multiple_sources_list@sd test_link_multiple_sources_set@sd test_link_multiple_sources_tuple@sd
            test_link_sources_in_memory_and_on_disk@sd
        test_device_func.py::TestDeclareDeviceCABI:: test_declare_device_cabi_basic@sd
            test_declare_device_cabi_pointer_return test_declare_device_cabi_propagate
            test_declare_device_cabi_two_args@sd test_declare_device_cabi_void_return@sd
            test_declare_device_cabi_zero_args@sd
        test_ffi.py::TestFFI:: test_ex_extra_includes@sd test_ex_from_buffer@sd test_ex_linking_cu@sd
        test_libdevice.py::TestLibdevice:: test_sad@sd
    """,
    "where there is no GPU: no memory to share with other processes, no stream and no module of the driver, nothing that a launch copies": """
        test_ipc.py::TestIpcMemory:: test_ipc_array@sd test_ipc_handle@sd test_ipc_handle_serialization@sd
        test_ipc.py::TestIpcStaged:: test_ipc_array@sd
        test_module_callbacks.py::TestModuleCallbacksBasic:: test_different_argtypes@s test_two_kernels@s
        test_module_callbacks.py::TestMultithreadedCallbacks:: test_concurrent_initialization@s
            test_concurrent_initialization_different_args@s
        test_warning.py::TestWarnings:: test_pinned_warn_on_host_array@sd test_warn_on_host_array@sd
    """,
    "the file imports rtsys only where there is no simulator": """
        test_nrt.py::TestNrtStatistics:: test_nrt_explicit_stats_query_raises_exception_when_disabled@s
            test_read_one_stat@s test_rtsys_stats_query_raises_exception_when_disabled@s test_stats_env_var_default_off@s
            test_stats_env_var_explicit_off@s test_stats_env_var_explicit_on@s test_stats_status_toggle@s
    """,
    "objects of cuda.core, and nvdisasm, which are not installed here": """
        test_cuda_ndarray.py::TestCoreContiguous:: test_kernel_with_strided_memory_view@sd
        test_events.py::TestCudaEvent:: test_event_elapsed_cuda_core_stream@sd
        test_inspect.py::TestInspect:: test_inspect_sass_nvdisasm_missing
    """,
    "16-bit floats as arguments of device functions compiled for other programs: E183": """
        test_inspect.py::TestInspect:: test_inspect_lto_asm
    """,
}


# Of these, the beginnings of those about numba's internals, and of those about this machine: the rates without them are shown too.
WITHOUT = {
    "numba's internals": (
        "the PTX text of numba",
        "min and max keep",
        "float16 is rounded",
        "conversions between float16",
        "numba's graph of",
        "numba's annotations",
        "numba's dumps",
        "the target context",
        "functions and objects of numba's driver",
        "calls of numba's Stream",
    ),
    "what needs a GPU or is not installed": (
        "where there is no GPU", "the file imports", "objects of cuda.core"),
    "what numba or its simulator refuses, and works here": (
        "copies between arrays",
        "what numba's simulator cannot do",
        "what numba cannot do",
        "what numba refuses",
        "expected to fail in numba",
    ),
}


# Of these, the tests that pass with LANEWISE_TYPING=numba.
NUMBA_TYPING = """
    test_alignment.py::TestAlignment::test_record_alignment test_device_func.py::TestDeviceFunc::test_device_casting
    test_dispatcher.py::TestDispatcher::test_explicit_signatures_device_unsafe
    test_flow_control.py::TestFlowControl::test_for_loop10 test_flow_control.py::TestFlowControl::test_for_loop10_npm
    test_gufunc_scalar.py::TestGUFuncScalar::test_gufunc_scalar_output
    test_intrinsics.py::TestCudaIntrinsic::test_round_to_f4_halfway
    test_ssa.py::TestReportedSSAIssues::test_issue5493_unneeded_phi
"""


def _where():
    """How the tests run: g, on a GPU; s, without one, as with numba's simulator; d, without one, files import what they do where
    there is a GPU (LANEWISE_COMPAT_SIM=0)."""
    return "g" if on_gpu() else "d" if os.environ.get("LANEWISE_COMPAT_SIM") == "0" else "s"


def _expected(where):
    """{test: reason} of REASONS, whose words are `file::Class::` before the names of its tests, or a file. A name with letters
    behind an @ fails where they say, others do everywhere."""
    tests = {}
    for reason, words in REASONS.items():
        group = ""
        for word in words.split():
            name, _, places = word.partition("@")
            if word.endswith("::"):
                group = word
            elif where in (places or where):
                tests[name if "." in name else group + name] = reason
    if os.environ.get("LANEWISE_TYPING") == "numba":
        for name in NUMBA_TYPING.split():
            tests.pop(name, None)
    return tests


EXPECTED = {}  # filled by install(), which finds out how the tests run

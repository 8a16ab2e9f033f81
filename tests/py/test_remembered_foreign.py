"""Calls on another library's arrays that come again: what they launch, on which stream, and of what library the results are. A
stand-in for CuPy, which is read by the same attributes, has the arrays; test_libraries.py does the same with the real ones on a GPU."""

from __future__ import annotations

import ctypes
import os
import sys
import types

import numpy as np
import pytest

import lanewise as lw
from fake_driver import FAKE
from lanewise import cuda

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not FAKE or "cupy" in sys.modules, reason="needs the fake driver, and no CuPy")]


class Memory:
    def __init__(self, address, n_bytes, owner, device):
        self.address, self.owner, self.device = address, owner, device


class Pointer:
    def __init__(self, memory, offset):
        self.memory, self.ptr, self.device_id = memory, memory.address + offset, memory.device


class ndarray:
    def __init__(self, shape, dtype, data=None, strides=None):
        self.shape, self.dtype, self.data = shape, np.dtype(dtype), data
        template = np.empty(shape, dtype)
        self.strides = template.strides if strides is None else strides
        self._c_contiguous = self.strides == template.strides

    ndim = property(lambda self: len(self.shape))
    size = property(lambda self: int(np.prod(self.shape)))

    def __array_ufunc__(self, *args, **kwargs):
        raise AssertionError("lanewise reads these arrays itself")


ndarray.__module__ = "cupy"
HERE = types.SimpleNamespace(ptr=0)


@pytest.fixture(autouse=True, scope="module")
def stand_in():
    module = types.ModuleType("cupy")
    module.ndarray, module.cuda = ndarray, types.SimpleNamespace(UnownedMemory=Memory, MemoryPointer=Pointer, get_current_stream=lambda: HERE)
    sys.modules["cupy"] = module
    yield
    del sys.modules["cupy"]


@pytest.fixture(autouse=True)
def default_stream():
    HERE.ptr = 0


def foreign(array):
    return ndarray(array.shape, array.dtype, Pointer(Memory(array.__cuda_array_interface__["data"][0], array.nbytes, array, array.device.id), 0), array.strides)


def own(shape=(6, 7), dtype="f4"):
    return cuda.to_device(np.ones(shape, dtype))


class Launch(ctypes.Structure):  # tests/fault/fake_cuda.h
    _fields_ = [("name", ctypes.c_char * 256), ("shape", ctypes.c_uint * 7), ("stream", ctypes.c_void_p), ("n_params", ctypes.c_int),
                ("together", ctypes.c_int), ("n_bytes", ctypes.c_uint), ("values", ctypes.c_ubyte * 4096), ("offsets", ctypes.c_uint * 64), ("sizes", ctypes.c_uint * 64)]


def launched(call):
    """The result of a call, and everything about its only launch."""
    driver, launch = ctypes.CDLL(os.environ["LANEWISE_CUDA_DRIVER"]), Launch()
    before = driver.fake_cuda_n_launches()
    result = call()
    assert driver.fake_cuda_n_launches() == before + 1
    assert driver.fake_cuda_last_launch(ctypes.byref(launch))
    return result, (launch.name, tuple(launch.shape), launch.stream, bytes(launch.values)[:launch.n_bytes])


def new():
    return lw.vectorize(lambda x, y: x * y + x)


CALLS = {
    "out": lambda f, x, y, out: f(foreign(x), foreign(y), out=foreign(out)),
    "tuple": lambda f, x, y, out: f(foreign(x), foreign(y), out=(foreign(out),)),
    "by place": lambda f, x, y, out: f(foreign(x), foreign(y), foreign(out)),
    "first ours": lambda f, x, y, out: f(x, foreign(y), out=foreign(out)),
    "second ours": lambda f, x, y, out: f(foreign(x), y, out=foreign(out)),
    "out ours": lambda f, x, y, out: f(foreign(x), foreign(y), out=out),
    "only out": lambda f, x, y, out: f(x, y, out=foreign(out)),
    "float": lambda f, x, y, out: f(foreign(x), 2.5, out=foreign(out)),
    "int first": lambda f, x, y, out: f(3, foreign(y), out=foreign(out)),
    "in place": lambda f, x, y, out: f(foreign(out), foreign(y), out=foreign(out)),
    "ours": lambda f, x, y, out: f(x, y, out=out),
    "transposed": lambda f, x, y, out: f(foreign(x.T), foreign(y.T), out=foreign(out.T)),
    "part": lambda f, x, y, out: f(foreign(x[1:, ::2]), foreign(y[1:, ::2]), out=foreign(out[1:, ::2])),
    "row": lambda f, x, y, out: f(foreign(x), foreign(y[0]), out=foreign(out)),
    "one": lambda f, x, y, out: f(foreign(x[0, 0:1].reshape(())), foreign(y), out=foreign(out)),
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("on_stream", [False, True])
def test_the_same_launch_again(name, on_stream):
    """It is the first launch of a new function, also between calls of all other kinds."""
    call, x, y, out, stream = CALLS[name], own(), own(), own(), cuda.stream()
    HERE.ptr = stream.handle if on_stream else 0
    warm = new()
    for other in CALLS.values():
        for _ in range(2):
            other(warm, x, y, out)
    _, wanted = launched(lambda: call(new(), x, y, out))
    for _ in range(12):
        given, got = launched(lambda: call(warm, x, y, out))
        assert got == wanted
        assert isinstance(given, ndarray) == (name not in ("out ours", "ours"))
    first_is_ours = name in ("first ours", "only out", "ours")
    assert (wanted[2] or 0) == (stream.handle if on_stream and not first_is_ours else 0)


@pytest.mark.parametrize("shape", [(6, 7), (0, 3), (), (1,), (2, 1, 3, 1)])
def test_results(shape):
    """They are of the library of the first array, and its stream waits for the launch."""
    f, x, stream = new(), own(shape), cuda.stream()
    for HERE.ptr in (0, stream.handle, 0):
        for _ in range(3):
            for args, kind in [((foreign(x), foreign(x)), ndarray), ((foreign(x), x), ndarray), ((x, foreign(x)), cuda.DeviceArray), ((2.0, foreign(x)), ndarray), ((foreign(x), 2), ndarray), ((x, x), cuda.DeviceArray)]:
                result = f(*args)
                assert type(result) is kind and result.shape == shape and result.dtype == np.float32
                assert kind is cuda.DeviceArray or (result.data is None) == (x.size == 0)


def test_results_live_as_long_as_their_arrays():
    f, x = new(), foreign(own())
    results = [f(x, x) for _ in range(5)]
    assert len({r.data.ptr for r in results}) == 5
    assert all(isinstance(r.data.memory.owner, cuda.DeviceArray) for r in results)


def test_what_differs_is_not_taken_for_it():
    f, x, out = new(), own((8, 8)), own((8, 8))
    for _ in range(3):
        for a in (foreign(x), foreign(x[:4]), foreign(x.T), foreign(own((8, 8), "f8")), foreign(own((8, 8), "i4")), foreign(own((1, 8))), foreign(own(8)), foreign(x[:, 1:5])):
            assert f(a, a).shape == a.shape
            assert f(a, a).dtype == a.dtype
            assert launched(lambda: f(a, a, out=foreign(own(a.shape, a.dtype))))[1][0]
    with pytest.raises(ValueError):
        f(foreign(x), foreign(x), out=foreign(out[:4]))
    with pytest.raises(TypeError):
        f(foreign(x), foreign(x), out=np.zeros((8, 8), "f4"))
    broken = foreign(x)
    broken.strides, broken._c_contiguous = ("first", 4), False
    with pytest.raises(TypeError):
        f(broken, foreign(x))
    broken.shape = None
    with pytest.raises(TypeError):
        f(broken, foreign(x))
    assert f(foreign(x), foreign(x)).shape == (8, 8)


def test_where_the_streams_wait():
    """If the streams differ, ours waits for that of the other library, and that one for ours."""
    driver = ctypes.CDLL(os.environ["LANEWISE_CUDA_DRIVER"])
    f, x, y, stream = new(), own(), own(), cuda.stream()
    f(foreign(x), foreign(y))
    HERE.ptr = stream.handle
    for _ in range(3):
        before = driver.fake_cuda_calls(b"cuStreamWaitEvent")
        f(x, foreign(y), out=foreign(own()))  # on the default stream: behind that of y and out, which wait for it
        assert driver.fake_cuda_calls(b"cuStreamWaitEvent") >= before + 3
        before = driver.fake_cuda_calls(b"cuStreamWaitEvent")
        f(foreign(y), foreign(y), out=foreign(y))
        assert driver.fake_cuda_calls(b"cuStreamWaitEvent") == before


def test_no_wait_where_the_setting_says_so():
    """With config.CUDA_ARRAY_INTERFACE_SYNC = 0, as in numba, the program itself waits for the stream that an interface names."""
    driver = ctypes.CDLL(os.environ["LANEWISE_CUDA_DRIVER"])
    x, stream = own(), cuda.stream()
    exporter = types.SimpleNamespace(__cuda_array_interface__={**x.__cuda_array_interface__, "stream": stream.handle})

    def waits(*launch):
        before = driver.fake_cuda_calls(b"cuStreamWaitEvent")
        for step in launch:
            step()
        return driver.fake_cuda_calls(b"cuStreamWaitEvent") - before

    f = new()
    f(x, exporter, out=own())
    assert waits(lambda: f(x, exporter, out=own())) >= 1
    with lw.config(CUDA_ARRAY_INTERFACE_SYNC=0):
        assert waits(lambda: f(x, exporter, out=own())) == 0 and cuda.as_cuda_array(exporter).stream == 0
        assert np.array_equal(cuda.as_cuda_array(exporter).copy_to_host(), x.copy_to_host())
    assert waits(lambda: f(x, exporter, out=own())) >= 1 and cuda.as_cuda_array(exporter).stream == stream.handle


def test_the_function_may_change():
    scale = [2.0]
    f = lw.vectorize(lambda x: x * SCALE)
    global SCALE
    SCALE = scale[0]
    x = foreign(own())
    for SCALE in (2.0, 3.0, 2.0):
        names = {launched(lambda: f(x))[1][0] for _ in range(3)}
        assert len(names) == 1


SCALE = 1.0


STREAM_LATER = """
import ctypes, sys, types
import numpy as np
import lanewise as lw
import test_remembered_foreign as here
from lanewise import cuda

modules = sys.modules
asked = []
module = types.ModuleType("cupy")
module.ndarray = here.ndarray
module.cuda = types.SimpleNamespace(UnownedMemory=here.Memory, MemoryPointer=here.Pointer, get_current_stream=lambda: asked.append("object") or here.HERE)
modules["cupy"] = module
x = here.foreign(here.own())
f = lw.vectorize(lambda a, b: a + b)
f(x, x)
assert set(asked) == {"object"}
asked.clear()

function = ctypes.CFUNCTYPE(ctypes.c_ssize_t)(lambda: asked.append("capsule") or 0)
new = ctypes.pythonapi.PyCapsule_New
new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
name = b"intptr_t (void)"


class Odd:
    @property
    def __pyx_capi__(self):
        raise MemoryError("no table")


modules["cupy_backends.cuda.stream"] = Odd()
try:
    f(x, x)
except MemoryError as problem:
    assert "no table" in str(problem)
else:
    raise AssertionError("nothing was raised")
modules["cupy_backends.cuda.stream"] = types.SimpleNamespace(__pyx_capi__={"get_current_stream_ptr": new(ctypes.cast(function, ctypes.c_void_p), name, None)})
f(x, x)
assert set(asked) == {"capsule"}

print("as it should be")
"""


def test_stream_function_that_is_loaded_later(run_python):
    """It is looked for again, and an error in that is not lost."""
    done = run_python("-c", STREAM_LATER, LANEWISE_CUDA_DRIVER=os.environ["LANEWISE_CUDA_DRIVER"], LW_FAKE_DRIVER="1",
                      PYTHONPATH=os.pathsep.join([os.path.dirname(__file__), *filter(None, [os.environ.get("PYTHONPATH")])]))
    assert done.stdout.strip() == "as it should be"


@pytest.mark.parametrize("missing", ["UnownedMemory", "MemoryPointer"])
def test_maker_that_is_missing(run_python, missing):
    """The error names it."""
    program = STREAM_LATER[:STREAM_LATER.index("f(x, x)")] + f"""
del module.cuda.{missing}
try:
    f(x, x)
except AttributeError as problem:
    print(problem.name)
"""
    done = run_python("-c", program, LANEWISE_CUDA_DRIVER=os.environ["LANEWISE_CUDA_DRIVER"], LW_FAKE_DRIVER="1",
                      PYTHONPATH=os.pathsep.join([os.path.dirname(__file__), *filter(None, [os.environ.get("PYTHONPATH")])]))
    assert done.stdout.strip() == missing

"""What counts as a device operand, and the catalogue of malformed ones: each must be a TypeError,
ValueError or BufferError, and never a crash. test_dlpack_malformed.py gives DLPack's to every consumer."""

from __future__ import annotations

import ctypes
import gc

import numpy as np
import pytest

import lanewise as lw
from fake_driver import needs_device
from lanewise import cuda

pytestmark = needs_device


class Holder:
    """An object that has the dict as an instance attribute."""

    def __init__(self, face):
        self.__cuda_array_interface__ = face


def memory():
    return cuda.to_device(np.arange(16, dtype="f4"))


def face(array, **changes):
    out = dict(shape=(4,), typestr="<f4", data=(array.__cuda_array_interface__["data"][0], False), version=3,
               strides=None, stream=None)
    for name, value in changes.items():
        if value is Ellipsis:
            del out[name]
        elif name == "data" and callable(value):
            out[name] = value(out["data"][0])
        else:
            out[name] = value
    return out


# ---- __cuda_array_interface__, good ----

GOOD = {
    "plain": ({}, [0, 1, 2, 3]), "no strides": ({"strides": ...}, [0, 1, 2, 3]), "no stream": ({"stream": ...}, [0, 1, 2, 3]),
    "version 2": ({"version": 2, "stream": ...}, [0, 1, 2, 3]), "legacy stream": ({"stream": 1}, [0, 1, 2, 3]),
    "strided": ({"strides": (8,)}, [0, 2, 4, 6]), "backwards": ({"strides": (-4,), "data": lambda p: (p + 12, False)}, [3, 2, 1, 0]),
    "zero stride": ({"strides": (0,)}, [0, 0, 0, 0]), "0-d": ({"shape": ()}, 0), "2-d": ({"shape": (2, 2)}, [[0, 1], [2, 3]]),
    "empty": ({"shape": (0, 3)}, np.zeros((0, 3))), "empty at NULL": ({"shape": (0,), "data": (0, False)}, []),
    "read-only": ({"data": lambda p: (p, True)}, [0, 1, 2, 3]), "odd stride of one": ({"shape": (1,), "strides": (3,)}, [0]),
    "numpy ints": ({"shape": (np.int64(4),), "strides": (np.int32(4),)}, [0, 1, 2, 3]), "mask None": ({"mask": None}, [0, 1, 2, 3]),
    "descr": ({"descr": [("", "<f4")]}, [0, 1, 2, 3]), "64 dimensions": ({"shape": (1,) * 64}, np.zeros((1,) * 64)),
    "native order": ({"typestr": "=f4"}, [0, 1, 2, 3]), "no order": ({"typestr": "f4"}, [0, 1, 2, 3]), "int as shape": ({"shape": 3}, [0, 1, 2]), "NumPy int as shape": ({"shape": np.int32(3)}, [0, 1, 2]), "per-thread stream": ({"stream": 2}, [0, 1, 2, 3]),
    "empty with wild strides": ({"shape": (0, 5), "strides": (2**62, 2**62)}, np.zeros((0, 5))),
}


@pytest.mark.parametrize("changes, expected", GOOD.values(), ids=GOOD)
def test_interface_good(changes, expected):
    array = memory()
    holder = Holder(face(array, **changes))
    assert cuda.is_cuda_array(holder)
    got = cuda.as_cuda_array(holder)
    np.testing.assert_array_equal(got.copy_to_host(), np.asarray(expected, "f4"))
    assert got.base is not None


def test_interface_shares_and_keeps():
    array = memory()
    holder = Holder(face(array))
    holder.keep = array
    view = cuda.as_cuda_array(holder)
    view.fill(5)
    assert array.copy_to_host().tolist()[:5] == [5, 5, 5, 5, 4]
    del array, holder
    gc.collect()
    assert view.copy_to_host().tolist() == [5, 5, 5, 5]


@pytest.mark.parametrize("typestr", ["|b1", "|i1", "|u1", "<i2", "<u2", "<i4", "<u4", "<i8", "<u8", "<f2", "<f4", "<f8", "<c8", "<c16", "b1", "i1", "u2", "i8", "f2", "f8", "c8", "c16"])
def test_interface_types(typestr):
    array = memory()
    view = cuda.as_cuda_array(Holder(face(array, shape=(2,), typestr=typestr)))
    assert view.dtype == np.dtype(typestr)
    assert view.copy_to_host().tobytes() == array.copy_to_host().tobytes()[:view.nbytes]


def test_interface_records():
    array = memory()
    record = [("a", "<i4"), ("b", "<f4")]
    view = cuda.as_cuda_array(Holder(face(array, shape=(2,), typestr="|V8", descr=record)))
    assert view.dtype == np.dtype(record)
    np.testing.assert_array_equal(view["b"].copy_to_host(), [1, 3])
    assert cuda.as_cuda_array(Holder(face(array, shape=(2,), typestr="<M8[s]"))).dtype == np.dtype("M8[s]")


# ---- __cuda_array_interface__, bad ----

HUGE = 2**70
BAD = {
    "not a dict": (None, TypeError), "a list": ([], TypeError), "a str": ("shape", TypeError), "an int": (5, TypeError),
    "empty dict": ({}, ValueError), "no shape": ({"shape": ...}, ValueError), "no typestr": ({"typestr": ...}, ValueError),
    "no data": ({"data": ...}, ValueError), "no version": ({"version": ...}, ValueError),
    "shape None": ({"shape": None}, TypeError), "shape negative int": ({"shape": -4}, ValueError), "shape bool": ({"shape": True}, TypeError), "shape int beyond 64 bits": ({"shape": HUGE}, ValueError), "shape list": ({"shape": [4]}, TypeError),
    "shape str": ({"shape": "4"}, TypeError), "shape of floats": ({"shape": (4.0,)}, TypeError), "shape of str": ({"shape": ("4",)}, TypeError),
    "shape of None": ({"shape": (None,)}, TypeError), "shape of bool": ({"shape": (True,)}, TypeError),
    "negative extent": ({"shape": (-4,)}, ValueError), "negative inside": ({"shape": (2, -1, 3)}, ValueError),
    "extent beyond 64 bits": ({"shape": (HUGE,)}, ValueError), "65 dimensions": ({"shape": (1,) * 65}, ValueError),
    "product beyond 64 bits": ({"shape": (2**32, 2**32)}, ValueError), "bytes beyond 64 bits": ({"shape": (2**62,)}, ValueError),
    "reach beyond the address space": ({"shape": (2**60,), "data": lambda p: (2**64 - 4096, False)}, ValueError),
    "typestr None": ({"typestr": None}, TypeError), "typestr int": ({"typestr": 4}, TypeError), "typestr bytes": ({"typestr": b"<f4"}, TypeError),
    "typestr empty": ({"typestr": ""}, TypeError), "typestr short": ({"typestr": "f"}, TypeError), "typestr bare nonsense": ({"typestr": "q4"}, TypeError), "typestr bare of no size": ({"typestr": "f3"}, TypeError), "typestr bare object": ({"typestr": "O8"}, TypeError), "typestr nonsense": ({"typestr": "<q4"}, TypeError),
    "typestr of no size": ({"typestr": "<f3"}, TypeError), "typestr object": ({"typestr": "|O8"}, TypeError), "typestr big-endian": ({"typestr": ">f4"}, TypeError),
    "typestr with NUL": ({"typestr": "<f4\0"}, TypeError), "typestr huge": ({"typestr": "<" + "f" * 100000}, TypeError),
    "typestr empty text": ({"typestr": "<S0"}, TypeError), "typestr a surrogate": ({"typestr": "<\udc80"}, (TypeError, ValueError)),
    "descr nonsense": ({"typestr": "|V8", "descr": [1, 2]}, TypeError), "descr with objects": ({"typestr": "|V8", "descr": [("a", "O"), ("b", "O")]}, TypeError),
    "data None": ({"data": None}, TypeError), "data int": ({"data": 4096}, TypeError), "data one": ({"data": (4096,)}, TypeError),
    "data three": ({"data": (4096, False, 1)}, TypeError), "data list": ({"data": [4096, False]}, TypeError), "data float": ({"data": (4096.0, False)}, TypeError),
    "data str": ({"data": ("4096", False)}, TypeError), "data None inside": ({"data": (None, False)}, TypeError),
    "data negative": ({"data": (-4096, False)}, ValueError), "data beyond 64 bits": ({"data": (HUGE, False)}, ValueError),
    "data NULL": ({"data": (0, False)}, ValueError),
    "strides int": ({"strides": 4}, TypeError), "strides list": ({"strides": [4]}, TypeError), "strides too short": ({"strides": ()}, ValueError),
    "strides too long": ({"strides": (4, 4)}, ValueError), "strides of floats": ({"strides": (4.0,)}, TypeError), "strides of None": ({"strides": (None,)}, TypeError),
    "stride beyond 64 bits": ({"strides": (HUGE,)}, ValueError), "stride 2**62": ({"strides": (2**62,)}, ValueError),
    "stride -2**62": ({"strides": (-2**62,)}, ValueError), "reaches below zero": ({"strides": (-2**48,), "shape": (2**14,)}, ValueError),
    "version None": ({"version": None}, TypeError), "version str": ({"version": "3"}, TypeError), "version float": ({"version": 3.0}, TypeError),
    "version 0": ({"version": 0}, ValueError), "version 4": ({"version": 4}, ValueError), "version 99": ({"version": 99}, ValueError), "version negative": ({"version": -1}, ValueError),
    "version huge": ({"version": HUGE}, ValueError), "version bool": ({"version": True}, TypeError),
    "mask": ({"mask": [True] * 4}, NotImplementedError), "mask False": ({"mask": False}, NotImplementedError),
    "stream 0": ({"stream": 0}, ValueError), "stream negative": ({"stream": -1}, ValueError), "stream str": ({"stream": "1"}, TypeError),
    "stream float": ({"stream": 1.0}, TypeError), "stream huge": ({"stream": HUGE}, ValueError), "stream bool": ({"stream": True}, TypeError),
}


@pytest.mark.parametrize("changes, error", BAD.values(), ids=BAD)
def test_interface_bad(changes, error):
    array = memory()
    holder = Holder(face(array, **changes) if isinstance(changes, dict) and changes else changes)
    for read in (cuda.as_cuda_array, cuda.to_device, array.copy_to_device):
        with pytest.raises(error) as caught:
            read(holder)
        assert "__cuda_array_interface__" in str(caught.value) or "strides" in str(caught.value) or "bytes" in str(caught.value)
    assert array.copy_to_host().tolist() == list(range(16))


class Raises:
    def __init__(self, error):
        self.error = error

    @property
    def __cuda_array_interface__(self):
        raise self.error


def test_interface_that_raises():
    with pytest.raises(ZeroDivisionError):
        cuda.as_cuda_array(Raises(ZeroDivisionError("mine")))
    with pytest.raises(TypeError, match="expected a device array"):
        cuda.as_cuda_array(Raises(AttributeError("absent")))
    assert not cuda.is_cuda_array(Raises(AttributeError("absent")))


def test_interface_index_that_raises():
    class Bad:
        def __index__(self):
            raise KeyError("mine")

    with pytest.raises(KeyError):
        cuda.as_cuda_array(Holder(face(memory(), shape=(Bad(),))))


@pytest.mark.parametrize("thing", [None, 1, 1.0, "x", b"x", [1], (1,), {}, object(), np.arange(3), np.float32(1), int, Ellipsis, lambda: 0],
                         ids=lambda thing: type(thing).__name__)
def test_no_device_array(thing):
    assert not cuda.is_cuda_array(thing)
    with pytest.raises(TypeError, match="expected a device array"):
        cuda.as_cuda_array(thing)


# ---- DLPack ----


class Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32), ("ndim", ctypes.c_int32),
                ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64)]


DELETER = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class Managed(ctypes.Structure):
    _fields_ = [("tensor", Tensor), ("context", ctypes.c_void_p), ("deleter", DELETER)]


class Versioned(ctypes.Structure):
    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("context", ctypes.c_void_p), ("deleter", DELETER),
                ("flags", ctypes.c_uint64), ("tensor", Tensor)]


_api = ctypes.pythonapi
_api.PyCapsule_New.restype, _api.PyCapsule_New.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
_api.PyCapsule_GetName.restype, _api.PyCapsule_GetName.argtypes = ctypes.c_char_p, [ctypes.py_object]


class Exporter:
    """A producer whose tensor tests can change; it counts how often the tensor is deleted."""

    def __init__(self, array, versioned=True, deleter="count", **changes):
        self.array, self.deleted = array, 0
        self.shape = (ctypes.c_int64 * 64)(*[4] + [1] * 63)
        self.strides = (ctypes.c_int64 * 64)(*[1] * 64)
        self.managed = Versioned(1, 0) if versioned else Managed()
        self.versioned = versioned
        tensor = self.managed.tensor
        tensor.data, tensor.device_type, tensor.ndim = array.__cuda_array_interface__["data"][0], 2, 1
        tensor.code, tensor.bits, tensor.lanes = 2, 32, 1
        tensor.shape, tensor.strides = self.shape, self.strides
        for name, value in changes.items():
            if name in ("shape", "strides") and value is not None:
                getattr(self, name)[:len(value)] = value
            elif name in ("shape", "strides"):
                setattr(tensor, name, None)
            else:
                setattr(tensor if hasattr(tensor, name) else self.managed, name, value)
        self.device = (tensor.device_type, tensor.device_id)
        self.deleter = DELETER(self.count)
        if deleter == "count":
            self.managed.deleter = self.deleter
        self.name = b"dltensor_versioned" if versioned else b"dltensor"

    def count(self, _):
        self.deleted += 1

    def capsule(self):
        return _api.PyCapsule_New(ctypes.addressof(self.managed), self.name, None)

    def __dlpack__(self, **keywords):
        self.keywords = keywords
        return self.capsule()

    def __dlpack_device__(self):
        return self.device


@pytest.mark.parametrize("versioned", [True, False])
def test_dlpack_good(versioned):
    array = memory()
    for changes, expected in (({}, [0, 1, 2, 3]), ({"strides": (2,)}, [0, 2, 4, 6]), ({"strides": None}, [0, 1, 2, 3]), ({"ndim": 0}, 0),
                              ({"byte_offset": 8}, [2, 3, 4, 5]), ({"device_type": 13}, [0, 1, 2, 3]), ({"shape": (0,), "data": None}, []),
                              ({"ndim": 2, "shape": (2, 2), "strides": (1, 2)}, [[0, 2], [1, 3]]), ({"ndim": 64}, np.arange(4).reshape(4, *[1] * 63))):
        exporter = Exporter(array, versioned, **changes)
        for source in (exporter, exporter.capsule()):
            view = cuda.from_dlpack(source)
            np.testing.assert_array_equal(view.copy_to_host(), np.asarray(expected, "f4"))
            before = exporter.deleted
            del view
            assert exporter.deleted == before + 1


def test_dlpack_asks_for_the_legacy_stream():
    exporter = Exporter(memory())
    cuda.from_dlpack(exporter)
    assert exporter.keywords["stream"] == 1 and exporter.keywords["max_version"][0] == 1


def test_dlpack_of_old_exporters():
    class Old(Exporter):
        def __dlpack__(self, stream=None):
            return self.capsule()

    assert cuda.from_dlpack(Old(memory(), versioned=False)).shape == (4,)


def test_dlpack_read_only_and_no_deleter():
    assert not cuda.from_dlpack(Exporter(memory(), flags=1)).flags["WRITEABLE"]
    for versioned in (True, False):
        assert cuda.from_dlpack(Exporter(memory(), versioned, deleter=None)).copy_to_host().tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("code, bits, dtype", [
    (0, 8, "i1"), (0, 16, "i2"), (0, 32, "i4"), (0, 64, "i8"), (1, 8, "u1"), (1, 16, "u2"), (1, 32, "u4"), (1, 64, "u8"), (2, 16, "f2"), (2, 32, "f4"),
    (2, 64, "f8"), (5, 64, "c8"), (5, 128, "c16"), (6, 8, "?")])
def test_dlpack_types(code, bits, dtype):
    assert cuda.from_dlpack(Exporter(memory(), code=code, bits=bits)).dtype == np.dtype(dtype)


BAD_TENSORS = {
    "ndim negative": {"ndim": -1}, "ndim 65": {"ndim": 65}, "ndim huge": {"ndim": 2**31 - 1}, "shape NULL": {"shape": None}, "negative extent": {"shape": (-1,)},
    "data NULL": {"data": None}, "byte_offset overflow": {"byte_offset": 2**64 - 8}, "size overflow": {"ndim": 2, "shape": (2**33, 2**33)},
    "bytes overflow": {"shape": (2**62,)}, "stride overflow": {"strides": (2**62,)}, "stride overflow down": {"strides": (-2**62,)}, "reach overflow": {"strides": (2**60,)},
    "below zero": {"shape": (2**15,), "strides": (-2**46,)},
    "lanes 0": {"lanes": 0}, "lanes 2": {"lanes": 2}, "lanes 65535": {"lanes": 65535}, "bits 0": {"bits": 0}, "bits 4": {"bits": 4}, "bits 17": {"bits": 17},
    "bits 128 float": {"bits": 128}, "int 128": {"code": 0, "bits": 128}, "opaque": {"code": 3, "bits": 64}, "fp8": {"code": 10, "bits": 8}, "code 255": {"code": 255},
    "bool 1 bit": {"code": 6, "bits": 1}, "complex 32": {"code": 5, "bits": 32}, "bfloat 32": {"code": 4, "bits": 32},
    "device ROCm": {"device_type": 10}, "device 0": {"device_type": 0}, "device negative": {"device_type": -2}, "ordinal negative": {"device_id": -1},
    "ordinal 99": {"device_id": 99},
}


@pytest.mark.parametrize("changes", BAD_TENSORS.values(), ids=BAD_TENSORS)
@pytest.mark.parametrize("versioned", [True, False])
def test_dlpack_bad(changes, versioned):
    exporter = Exporter(memory(), versioned, **changes)
    capsule = exporter.capsule()
    with pytest.raises((BufferError, ValueError)):
        cuda.from_dlpack(capsule)
    assert exporter.deleted == 0 and _api.PyCapsule_GetName(capsule) == exporter.name  # it stays the producer's
    with pytest.raises((BufferError, ValueError)):
        cuda.as_cuda_array(exporter)


def test_dlpack_versions():
    for major in (0, 2, 99):
        with pytest.raises(BufferError, match="version"):
            cuda.from_dlpack(Exporter(memory(), major=major).capsule())
    assert cuda.from_dlpack(Exporter(memory(), minor=99)).shape == (4,)


def test_dlpack_capsules():
    exporter = Exporter(memory())
    capsule = exporter.capsule()
    view = cuda.from_dlpack(capsule)
    assert _api.PyCapsule_GetName(capsule) == b"used_dltensor_versioned"
    with pytest.raises(BufferError, match="consumed"):
        cuda.from_dlpack(capsule)
    assert view.shape == (4,) and exporter.deleted == 0
    for name in (b"other", b"used_dltensor", b"", b"dltensor "):
        with pytest.raises(BufferError, match="capsule"):
            cuda.from_dlpack(_api.PyCapsule_New(ctypes.addressof(exporter.managed), name, None))


@pytest.mark.parametrize("result, error", [(None, TypeError), (5, TypeError), ("capsule", TypeError)])
def test_dlpack_that_gives_something_else(result, error):
    class Odd(Exporter):
        def __dlpack__(self, **keywords):
            return result

    with pytest.raises(error, match="capsule"):
        cuda.from_dlpack(Odd(memory()))


@pytest.mark.parametrize("device", [None, 2, (2,), (2, 0, 0), ("cuda", 0), (2.0, 0), [2, 0], (2**32 + 2, 0), (-2**63, 0)])
def test_dlpack_device_that_is_odd(device):
    exporter = Exporter(memory())
    exporter.device = device
    with pytest.raises(TypeError, match="__dlpack_device__"):
        cuda.from_dlpack(exporter)
    assert not cuda.is_cuda_array(exporter)


def test_dlpack_that_raises():
    class Raising(Exporter):
        def __dlpack__(self, **keywords):
            raise BufferError("mine")

    class RaisingDevice(Exporter):
        def __dlpack_device__(self):
            raise ZeroDivisionError("mine")

    with pytest.raises(BufferError, match="mine"):
        cuda.from_dlpack(Raising(memory()))
    with pytest.raises(ZeroDivisionError):
        cuda.from_dlpack(RaisingDevice(memory()))


def test_dlpack_on_the_host_is_no_operand():
    with pytest.raises(TypeError, match="expected a device array"):
        cuda.from_dlpack(np.arange(3))
    with pytest.raises(TypeError, match="__dlpack__"):
        cuda.from_dlpack(5)


# ---- DLPack's C exchange table ----


class Exchange(ctypes.Structure):
    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("previous", ctypes.c_void_p), ("allocate", ctypes.c_void_p),
                ("from_object", ctypes.c_void_p), ("to_object", ctypes.c_void_p), ("borrow", ctypes.c_void_p), ("current_stream", ctypes.c_void_p)]


STREAM = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_int32, ctypes.POINTER(ctypes.c_void_p))
FROM_OBJECT = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(ctypes.c_void_p))


def exchanging(major=1, **tensor):
    """A class that answers through a table of its own."""

    class Fast(Exporter):
        def __dlpack__(self, **keywords):
            raise AssertionError("the table must be used")

    @FROM_OBJECT
    def from_object(thing, out):
        out[0] = ctypes.addressof(thing.managed)
        return 0

    @STREAM
    def current_stream(kind, ordinal, out):
        out[0] = None
        return 0

    address = {name: ctypes.cast(function, ctypes.c_void_p).value for name, function in
               (("from_object", from_object), ("current_stream", current_stream))}
    table = Exchange(major, 3, None, 1, address["from_object"], 1, None, address["current_stream"])
    Fast.keep = (table, from_object, current_stream)
    Fast.__dlpack_c_exchange_api__ = _api.PyCapsule_New(ctypes.addressof(table), b"dlpack_exchange_api", None)
    return Fast(memory(), **tensor)


def test_exchange_table():
    thing = exchanging()
    assert cuda.is_cuda_array(thing)
    view = cuda.as_cuda_array(thing)
    assert view.copy_to_host().tolist() == [0, 1, 2, 3]
    before = thing.deleted
    del view
    assert thing.deleted == before + 1
    for changes in ({"ndim": -1}, {"bits": 4}, {"data": None}):
        with pytest.raises((BufferError, ValueError)):
            cuda.as_cuda_array(exchanging(**changes))
    with pytest.raises(TypeError, match="expected a device array"):
        cuda.as_cuda_array(exchanging(device_type=1))


def test_exchange_table_of_another_version_is_not_used():
    with pytest.raises(AssertionError, match="table must be used"):
        cuda.as_cuda_array(exchanging(major=2))


def test_own_exchange_table():
    get = _api.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    table = Exchange.from_address(get(cuda.DeviceArray.__dlpack_c_exchange_api__, b"dlpack_exchange_api"))
    assert table.major == 1 and table.allocate and table.from_object and table.to_object and table.current_stream
    array, out = memory(), ctypes.c_void_p()
    assert ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(ctypes.c_void_p))(table.from_object)(array, out) == 0
    back = ctypes.c_void_p()
    assert ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p))(table.to_object)(out, back) == 0
    view = ctypes.cast(back, ctypes.py_object).value
    _api.Py_DecRef(ctypes.py_object(view))
    assert view.copy_to_host().tolist() == list(range(16))
    assert view.__cuda_array_interface__["data"] == array.__cuda_array_interface__["data"]


# ---- the stream argument ----


class Protocol:
    def __init__(self, answer):
        self.answer = answer

    def __cuda_stream__(self):
        return self.answer


def test_stream_arguments():
    s = cuda.stream()

    class Torch:
        cuda_stream = s.handle

    class Cupy:
        ptr = s.handle

    class Property:
        __cuda_stream__ = (0, s.handle)

    for stream in (s, s.handle, Protocol((0, s.handle)), Torch(), Cupy(), Property(), cuda.external_stream(s.handle)):
        assert cuda.device_array(3, stream=stream).stream == s.handle
    for stream in (0, None, 1, cuda.default_stream(), Protocol((0, 0)), Protocol((0, 1))):
        assert cuda.device_array(3, stream=stream).stream == 0


@pytest.mark.parametrize("stream, error", [
    ("x", TypeError), (1.0, TypeError), (True, TypeError), ([], TypeError), (-1, ValueError), (2**70, ValueError), (Protocol(5), TypeError),
    (Protocol((1,)), TypeError), (Protocol((0, "x")), TypeError), (Protocol((0, -1)), ValueError), (object(), TypeError)])
def test_bad_stream_arguments(stream, error):
    for call in (lambda: cuda.device_array(3, stream=stream), lambda: memory().copy_to_host(stream=stream),
                 lambda: memory().fill(1, stream=stream), lambda: cuda.to_device([1], stream=stream), lambda: cuda.event().record(stream)):
        with pytest.raises(error, match="stream"):
            call()


def test_times_of_other_libraries():
    """Dates that an interface describes are those of our own arrays, to functions and kernels."""
    own = cuda.to_device(np.arange(5, dtype="i8").view("M8[D]"))
    theirs = Holder({**own.__cuda_array_interface__, "typestr": "<M8[D]", "descr": [("", "<M8[D]")]})

    @cuda.jit
    def assign(out, x):
        for i in range(x.shape[0]):
            out[i] = x[i]

    assign[1, 1](theirs, theirs)
    assign[1, 1](own, theirs)
    assert lw.typeof(theirs) == lw.typeof(own) and len(assign.signatures) == 1
    np.testing.assert_array_equal(cuda.as_cuda_array(theirs).copy_to_host(), own.copy_to_host())

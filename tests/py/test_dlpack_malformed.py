"""Malformed DLPack exporters at every consumer, on the host and on devices: a TypeError, ValueError or BufferError that says what is wrong,
never a crash, and a tensor that was refused stays its producer's."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

import lanewise as lw
from fake_driver import needs_device
from lanewise import cuda
from test_operands import BAD_TENSORS, Exporter, _api, memory

# What the message must name, by the case's name or the start of it.
NAMES = {"ndim": "ndim must be 0 to 64", "shape NULL": "shape is NULL", "negative extent": "negative extent", "data NULL": "data is NULL",
         "byte_offset": "byte_offset", "size overflow": "bytes exceed", "bytes overflow": "bytes exceed", "stride overflow": "stride",
         "reach overflow": "strides", "below zero": "strides", "device": "device type", "ordinal": "no CUDA device"}
DEVICES = {"device past an int": {"device_type": 2**31 - 1}, "device ordinal past all": {"device_id": 2**31 - 1}}
TENSORS = {**BAD_TENSORS, **DEVICES}
VERSIONS = (True, False)
REFUSALS = (TypeError, ValueError, BufferError)


def named(case):
    if "ordinal" in case:
        return NAMES["ordinal"]
    return next((text for start, text in NAMES.items() if case.startswith(start)), "type code")


@lw.vectorize
def plus_one(x):
    return x + 1


@lw.guvectorize("(n)->()")
def first(x, result):
    result[0] = x[0]


@lw.reduce
def add(a, b):
    return a + b


@lw.forall
def touch(i, x):
    x[i] = x[i]


@lw.jit
def touch_first(x):
    x[0] = x[0]


@lw.jit
def read_first(x, y):
    y[0] = x[0]


# ---- on a device ----

DEVICE_CONSUMERS = {
    "from_dlpack": cuda.from_dlpack, "as_cuda_array": cuda.as_cuda_array, "to_device": cuda.to_device, "vectorize": plus_one,
    "vectorize out": lambda x: plus_one(memory()[:4], out=x), "ufuncs": lambda x: lw.ufuncs.add(memory()[:4], x), "guvectorize": first,
    "reduce": add, "reductions": lw.reductions.sum, "forall": lambda x: touch(4, x), "jit": lambda x: touch_first[1, 1](x),
    "jit tuple": lambda x: read_first[1, 1]((x,), (x,)),
}
# These take what has no array protocol as an object, as NumPy does, and refuse its dtype.
AS_OBJECT = {"to_device", "vectorize", "ufuncs", "guvectorize", "reduce", "reductions"}


@needs_device
@pytest.mark.parametrize("versioned", VERSIONS, ids=("versioned", "old"))
@pytest.mark.parametrize("consumer", DEVICE_CONSUMERS)
def test_device(consumer, versioned):
    consume = DEVICE_CONSUMERS[consumer]
    for case, changes in TENSORS.items():
        exporter = Exporter(memory(), versioned, **changes)
        with pytest.raises(REFUSALS) as refused:
            consume(exporter)
        text = str(refused.value)
        assert named(case) in text or "device_type" in changes and consumer in AS_OBJECT | {"jit tuple"}, (case, text)
        assert exporter.deleted == 0, case


@needs_device
@pytest.mark.parametrize("consumer", sorted(set(DEVICE_CONSUMERS) - {"jit tuple"}))
def test_device_good(consumer):
    """The same consumers accept the exporter without a change, and give back its tensor."""
    exporter = Exporter(memory())
    DEVICE_CONSUMERS[consumer](exporter)
    assert exporter.deleted >= 1


@needs_device
def test_device_beyond_the_last():
    """A tensor on a device that does not exist is malformed; the driver has not failed."""
    for consume in (cuda.from_dlpack, plus_one, add):
        with pytest.raises(BufferError, match="there is no CUDA device 99"):
            consume(Exporter(memory(), device_id=99))


# ---- on the host ----

BUFFER = np.arange(16, dtype="f4")


class Lent:
    __cuda_array_interface__ = {"data": (BUFFER.ctypes.data, False)}


def on_host(versioned=True, **changes):
    return Exporter(Lent(), versioned, **{"device_type": 1, **changes})


def from_dlpack(exporter):
    with lw.config(target="cpu"):
        return cuda.from_dlpack(exporter)


HOST_CONSUMERS = {
    "from_dlpack": from_dlpack,
    "jit": lambda x: lw.jit(target="cpu")(touch_first.__wrapped__)[1, 1](x),
    "forall": lambda x: lw.forall(target="cpu")(touch.__wrapped__)(4, x),
}
# On the host no ordinal means anything, and a tensor of another device is another consumer's.
HOST_TENSORS = {case: changes for case, changes in TENSORS.items() if "device_id" not in changes}


@pytest.mark.parametrize("versioned", VERSIONS, ids=("versioned", "old"))
@pytest.mark.parametrize("consumer", HOST_CONSUMERS)
def test_host(consumer, versioned):
    for case, changes in HOST_TENSORS.items():
        exporter = on_host(versioned, **changes)
        with pytest.raises(REFUSALS) as refused:
            HOST_CONSUMERS[consumer](exporter)
        assert named(case) in str(refused.value) or "device_type" in changes, (case, refused.value)
        assert exporter.deleted == 0, case


@pytest.mark.parametrize("consumer", HOST_CONSUMERS)
def test_host_that_says_another_device(consumer):
    """__dlpack_device__ says CPU, the tensor another device."""
    exporter = on_host(device_type=10)
    exporter.device = (1, 0)
    with pytest.raises(BufferError, match=r"expected device type 1 \(CPU\) or 3 \(CUDA host\), got 10"):
        HOST_CONSUMERS[consumer](exporter)
    assert exporter.deleted == 0


@pytest.mark.parametrize("consumer", HOST_CONSUMERS)
@pytest.mark.parametrize("device", [None, 1, (), (1,), (1, 0, 0), ("cpu", 0), (1.0, 0), [1, 0], (2**32 + 1, 0)])
def test_host_device_that_is_odd(consumer, device):
    exporter = on_host()
    exporter.device = device
    with pytest.raises(TypeError, match="__dlpack_device__: expected a tuple of two ints"):
        HOST_CONSUMERS[consumer](exporter)


@pytest.mark.parametrize("consumer", HOST_CONSUMERS)
@pytest.mark.parametrize("result", [None, 5, "capsule", (1, 2)])
def test_host_that_gives_something_else(consumer, result):
    class Odd(Exporter):
        def __dlpack__(self, **keywords):
            return result

    with pytest.raises(TypeError, match="expected a DLPack capsule, got"):
        HOST_CONSUMERS[consumer](Odd(Lent(), device_type=1))


@pytest.mark.parametrize("consumer", HOST_CONSUMERS)
def test_host_capsules(consumer):
    class Renamed(Exporter):
        def capsule(self):
            self.made = _api.PyCapsule_New(ctypes.addressof(self.managed), name, None)
            return self.made

    for name in (b"other", b"used_dltensor", b"used_dltensor_versioned", b"", b"dltensor "):
        exporter = Renamed(Lent(), device_type=1)
        with pytest.raises(BufferError, match="capsule named"):
            HOST_CONSUMERS[consumer](exporter)
        assert _api.PyCapsule_GetName(exporter.made) == name and exporter.deleted == 0


@pytest.mark.parametrize("consumer", HOST_CONSUMERS)
def test_host_versions_and_exceptions(consumer):
    class Raising(Exporter):
        def __dlpack__(self, **keywords):
            raise ZeroDivisionError("mine")

    for major in (0, 2, 2**32 - 1):
        with pytest.raises(BufferError, match=f"version {major}.0 is not supported"):
            HOST_CONSUMERS[consumer](on_host(major=major))
    HOST_CONSUMERS[consumer](on_host(minor=99))
    with pytest.raises(ZeroDivisionError, match="mine"):
        HOST_CONSUMERS[consumer](Raising(Lent(), device_type=1))


@pytest.mark.parametrize("device_type", [1, 3])
@pytest.mark.parametrize("versioned", VERSIONS, ids=("versioned", "old"))
def test_host_good(versioned, device_type):
    for changes, expected in (({}, [0, 1, 2, 3]), ({"strides": (2,)}, [0, 2, 4, 6]), ({"strides": None}, [0, 1, 2, 3]), ({"ndim": 0}, 0),
                              ({"byte_offset": 8}, [2, 3, 4, 5]), ({"shape": (0,), "data": None}, []), ({"minor": 99} if versioned else {}, [0, 1, 2, 3]),
                              ({"byte_offset": 14, "code": 1, "bits": 16}, BUFFER.view("u2")[7:11]), ({"byte_offset": 2}, np.frombuffer(BUFFER.tobytes()[2:18], "f4")),
                              ({"ndim": 2, "shape": (2, 2), "strides": (1, 2)}, [[0, 2], [1, 3]]), ({"ndim": 64}, np.arange(4).reshape(4, *[1] * 63))):
        exporter = on_host(versioned, device_type=device_type, **changes)
        view = from_dlpack(exporter)
        assert view.flags.writeable == versioned  # as numpy.from_dlpack has it
        np.testing.assert_array_equal(view.copy_to_host(), np.asarray(expected, view.dtype))
        part = view[...]
        before = exporter.deleted
        del view
        assert exporter.deleted == before
        del part
        assert exporter.deleted == before + 1


def test_host_read_only_and_no_deleter():
    assert not from_dlpack(on_host(flags=1)).flags.writeable
    with pytest.raises(lw.errors.TypingError, match="read-only"):
        HOST_CONSUMERS["jit"](on_host(flags=1))
    for versioned in VERSIONS:
        assert from_dlpack(on_host(versioned, deleter=None)).tolist() == [0, 1, 2, 3]


def test_host_exporters_of_old():
    class Old(Exporter):
        def __dlpack__(self):
            return self.capsule()

    assert from_dlpack(Old(Lent(), versioned=False, device_type=1)).tolist() == [0, 1, 2, 3]


def test_numpy_round_trip():
    a = np.arange(6.0).reshape(2, 3)[:, ::2]
    view = from_dlpack(a)
    assert np.shares_memory(np.asarray(view), a) and view.strides == a.strides and view.flags.writeable


@pytest.mark.parametrize("consumer", HOST_CONSUMERS)
@pytest.mark.parametrize("changes", [{"byte_offset": 2**63}, {"byte_offset": 2**47}, {"byte_offset": 2**56}, {"strides": (2**46,)}])
def test_host_addresses_that_no_process_has(consumer, changes):
    exporter = on_host(**changes)
    with pytest.raises(BufferError, match="address space"):
        HOST_CONSUMERS[consumer](exporter)

"""Code from elsewhere for kernels: functions written in CUDA C++, PTX or anything that compiles to
them, and the files they lie in. What numba.cuda has under these names."""

import io
import os

from lanewise import _core
from lanewise.errors import UnsupportedError


def _content(data, binary):
    """The bytes of what the user gave: bytes, str, or a file object that holds either."""
    if isinstance(data, (io.StringIO, io.BytesIO)):
        data = data.getvalue()
    if isinstance(data, str) and not binary:
        data = data.encode()
    if isinstance(data, (bytearray, memoryview)):
        data = bytes(data)
    if not isinstance(data, bytes):
        expected = "bytes" if binary else "str or bytes"
        raise TypeError(f"data must be {expected}, not {type(data).__name__}")
    return data


def _check_callback(callback, name):
    if callback is not None and not callable(callback):
        raise TypeError(f"{name} must be callable or None, not {callback!r:.200}")
    return callback


class LinkableCode:
    """Code that a kernel is linked with: link=[...] of cuda.jit and lw.forall, or declare_device.

    data: bytes (or str, for text), or an io.BytesIO or io.StringIO. name: shown in messages.
    setup_callback, teardown_callback: called with the handle (an int, CUDA's CUmodule) of each
    module that holds the code, after it is loaded and before it is unloaded.

    Use one of PTXSource, CUSource, Cubin, Fatbin, Archive, Object and LTOIR.

        >>> cuda.PTXSource(".version 8.0", name="helpers.ptx")
        PTXSource('helpers.ptx', 12 bytes)
    """

    kind = ""
    _binary = True

    def __init__(self, data, name=None, setup_callback=None, teardown_callback=None, nrt=False):
        if not self.kind:
            raise TypeError("LinkableCode has no kind: use PTXSource, CUSource, Cubin, Fatbin, "
                            "Archive, Object or LTOIR")
        if nrt:
            raise UnsupportedError("nrt=True: there is no reference-counting runtime on the GPU")
        self._data = _content(data, self._binary)
        self._name = f"<unnamed-{self.kind}>" if name is None else os.fspath(name)
        self._setup_callback = _check_callback(setup_callback, "setup_callback")
        self._teardown_callback = _check_callback(teardown_callback, "teardown_callback")

    @property
    def data(self):
        """The code, as bytes."""
        return self._data

    @property
    def name(self):
        """As messages show it."""
        return self._name

    @property
    def setup_callback(self):
        return self._setup_callback

    @property
    def teardown_callback(self):
        return self._teardown_callback

    def __repr__(self):
        return f"{type(self).__name__}({self.name!r}, {len(self.data)} bytes)"

    @classmethod
    def from_path(cls, path, **keywords):
        """The code in a file; on LinkableCode itself its kind is told by the extension."""
        path = os.fspath(path)
        if not cls.kind:
            return _of_path(path, **keywords)
        with open(path, "rb") as file:
            return cls(file.read(), path, **keywords)


class PTXSource(LinkableCode):
    """PTX text. It is called, not inlined."""

    kind, _binary = "ptx", False


class CUSource(LinkableCode):
    """CUDA C++ text, compiled by NVRTC for the kernel's device and inlined. Functions for kernels
    are `extern "C" __device__`."""

    kind, _binary = "cu", False


class Cubin(LinkableCode):
    """Relocatable machine code of one architecture (nvcc -dc -cubin)."""

    kind = "cubin"


class Fatbin(LinkableCode):
    """Code for several architectures (nvcc -dc -fatbin)."""

    kind = "fatbin"


class Archive(LinkableCode):
    """A library of objects (nvcc -lib)."""

    kind = "a"


class Object(LinkableCode):
    """An object file with relocatable device code (nvcc -dc)."""

    kind = "o"


class LTOIR(LinkableCode):
    """What link-time optimisation takes (nvcc -dlto, NVRTC's -dlto): it is inlined."""

    kind = "ltoir"


_BY_EXTENSION = {"." + kind.kind: kind
                 for kind in (PTXSource, CUSource, Cubin, Fatbin, Archive, Object, LTOIR)}


def _of_path(path, **keywords):
    extension = os.path.splitext(path)[1]
    kind = _BY_EXTENSION.get(extension)
    if kind is None:
        known = " ".join(sorted(_BY_EXTENSION))
        raise ValueError(f"{path!r:.200} has no extension of code that can be linked: {known}")
    return kind.from_path(path, **keywords)


def linkables(value, argument="link="):
    """A tuple of LinkableCode from what link= takes: one of them, a path, or a collection."""
    if value is None:
        return ()
    if isinstance(value, (LinkableCode, str, os.PathLike)):
        value = (value,)
    if not isinstance(value, (list, tuple, set, frozenset)):
        raise TypeError(f"{argument} must be paths or LinkableCode, not {value!r:.200}")
    found = []
    for item in value:
        if isinstance(item, (str, os.PathLike)):
            item = _of_path(os.fspath(item))
        elif not isinstance(item, LinkableCode):
            raise TypeError(f"{argument} must hold paths and LinkableCode, not {item!r:.200}")
        found.append(item)
    return tuple(found)


class DeviceFunction:
    """A function in another language, for kernels to call: see declare_device."""

    def __init__(self, name, sig, link, abi):
        self._name = self.__name__ = name
        self._abi = abi
        self._signature = _core._device_signature(sig, abi == "c")
        self._link = linkables(link)

    @property
    def name(self):
        """Its symbol."""
        return self._name

    @property
    def abi(self):
        """How it is called: numba or c."""
        return self._abi

    @property
    def __lanewise_link__(self):
        return self._link

    @property
    def __lanewise_external__(self):
        return self._name, self._signature, self._abi

    def __call__(self, *args):
        raise TypeError(f"{self._name} is GPU code: only kernels call it")

    def __repr__(self):
        return f"<device function {self._name}: {self._signature}, abi {self._abi!r}>"


def _check_symbol(name):
    if not isinstance(name, str):
        raise TypeError(f"name must be a str, not {name!r:.200}")
    if not (name.isascii() and name.replace("$", "_").isidentifier()):
        raise ValueError(f"name must be a C symbol (letters, digits, _ and $), not {name!r:.200}")
    if name.startswith(("lw_", "__nv_")):
        raise ValueError(f"name must not begin with lw_ or __nv_, got {name!r:.200}: those are our own "
                         "functions and those of cuda.libdevice")


def declare_device(name, sig, link=None, use_cooperative=False, abi="numba"):
    """A function written in another language, for kernels to call.

    name: its symbol. sig: its types, with the result, as "float32(float32, int32)"; pointers are
    "float32*" and take arrays. link: the code it is in, as link= of cuda.jit; kernels that call
    the function are linked with it. abi: "numba" for `extern "C" __device__ int name(T *result,
    arguments...)`, which returns 0 (anything else raises RuntimeError); "c" for `extern "C"
    __device__ T name(arguments...)`.

    Raises SignatureError for types that cannot be passed, TypeError without a result type.

        >>> twice = cuda.declare_device("twice", "float32(float32)", abi="c",
        ...     link=cuda.CUSource('extern "C" __device__ float twice(float x) { return 2 * x; }'))
        >>> @cuda.jit
        ... def k(x):
        ...     i = cuda.grid(1)
        ...     if i < x.size: x[i] = twice(x[i])
    """
    _check_symbol(name)
    if abi not in ("numba", "c"):
        raise ValueError(f'abi must be "numba" or "c", not {abi!r:.200}')
    if not isinstance(use_cooperative, bool):
        raise TypeError(f"use_cooperative must be True or False, not {use_cooperative!r:.200}")
    if use_cooperative:
        raise UnsupportedError("use_cooperative=True is not supported: kernels that synchronise "
                               "the grid do it with cuda.cg.this_grid().sync()")
    return DeviceFunction(name, sig, link, abi)

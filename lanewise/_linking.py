"""Code from elsewhere for kernels: functions written in CUDA C++, PTX or anything that compiles to
them, and the files they lie in. What numba.cuda has under these names."""

import collections.abc
import errno
import inspect
import io
import os
import re
import threading

from lanewise import _core
from lanewise._core import cuda as _cuda
from lanewise.errors import LinkError, UnsupportedError


NRT_INCLUDE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "include")  # lanewise_nrt.h is there


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


def _folders(value):
    """include_dirs= as a tuple of str: one folder, or a collection in the order of the search."""
    if isinstance(value, (str, os.PathLike)):
        value = (value,)
    if not isinstance(value, (list, tuple)):
        raise TypeError(f"include_dirs must be folders, not {value!r:.200}")
    for folder in value:
        if not isinstance(folder, (str, os.PathLike)):
            raise TypeError(f"include_dirs must hold paths, not {folder!r:.200}")
        if not os.path.isdir(folder):
            raise FileNotFoundError(errno.ENOENT, "include_dirs has no such folder", os.fspath(folder))
    return tuple(os.path.abspath(folder) for folder in value)


def _check_callback(callback, name):
    if callback is not None and not callable(callback):
        raise TypeError(f"{name} must be callable or None, not {callback!r:.200}")
    return callback


FunctionAttributes = collections.namedtuple("FunctionAttributes", "regs shared local const maxthreads")


class _Handle:
    """What the driver knows by a number: the object serves as that number too."""

    def __init__(self, handle):
        self.handle = handle

    def __int__(self):
        return self.handle

    __index__ = __int__

    def __eq__(self, other):
        if isinstance(other, (int, _Handle)):
            return self.handle == int(other)
        return NotImplemented

    def __hash__(self):
        return hash(self.handle)


class ModuleFunction(_Handle):
    """A kernel of a Module: `handle` is CUDA's CUfunction, `attrs` are the registers of a thread, bytes of shared, local and constant
    memory, and the most threads of a block."""

    def __init__(self, module, name, handle, attributes):
        super().__init__(handle)
        self.module, self.name, self.attrs = module, name, FunctionAttributes(*attributes)

    def __repr__(self):
        return f"<CUDA function {self.name} at {self.handle:#x}>"


class Module(_Handle):
    """A loaded module, as setup_callback and teardown_callback get it: `handle` is CUDA's CUmodule, `context` where it is loaded.

    It may be kept, and does not keep the module: once that is unloaded, get_global and get_function raise RuntimeError.
    """

    def __init__(self, image, handle, device):
        super().__init__(handle)
        self._image, self._device = image, device

    @property
    def context(self):
        return _cuda.current_context(self._device)

    def get_global(self, name):
        """The memory of a __device__ or __constant__ variable, a MemoryPointer that is valid while the module is loaded.

        Raises DriverError where the module has no such variable.
        """
        from lanewise._memory import MemoryPointer

        return MemoryPointer(self.context, *_cuda._image_global(self._image, name))

    def get_function(self, name):
        """A kernel of the module, a ModuleFunction. Raises LinkError where it has none of that name."""
        handle, attributes = _cuda._image_function(self._image, name)
        return ModuleFunction(self, name, handle, attributes)

    def __repr__(self):
        return f"<CUDA module {self.handle:#x} on device {self._device}>"


class LinkableCode:
    """Code to link a kernel with, passed as link= to any decorator or to declare_device.

    data: the code, as bytes, as a str if it is text, or as an io.BytesIO or io.StringIO.
    name: the name in messages.
    setup_callback, teardown_callback: functions that are called with each loaded module that contains the code, once before
    its first kernel runs, and once before it is unloaded. The argument can be used as CUDA's CUmodule (an int).
    nrt: True for code that calls functions of lanewise_nrt.h (lanewise.runtime.get_include()).

    Use one of the subclasses PTXSource, CUSource, Cubin, Fatbin, Archive, Object and LTOIR.

        >>> cuda.PTXSource(".version 8.0", name="helpers.ptx")
        PTXSource('helpers.ptx', 12 bytes)
    """

    kind = ""
    _binary = True
    _include_dirs = ()

    def __init__(self, data, name=None, setup_callback=None, teardown_callback=None, nrt=False):
        if not self.kind:
            raise TypeError("LinkableCode has no kind: use PTXSource, CUSource, Cubin, Fatbin, "
                            "Archive, Object or LTOIR")
        if not isinstance(nrt, bool):
            raise TypeError(f"nrt must be True or False, not {nrt!r:.200}")
        self._nrt = nrt
        self._data = _content(data, self._binary)
        self._identity = object()  # each object's callbacks are called, also of equal contents
        self._name = f"<unnamed-{self.kind}>" if name is None else os.fspath(name)
        self._setup_callback = _check_callback(setup_callback, "setup_callback")
        self._teardown_callback = _check_callback(teardown_callback, "teardown_callback")

    @property
    def data(self):
        """The code, in bytes."""
        return self._data

    @property
    def name(self):
        """The name in messages."""
        return self._name

    @property
    def setup_callback(self):
        return self._setup_callback

    @property
    def teardown_callback(self):
        return self._teardown_callback

    @property
    def nrt(self):
        """Whether the code calls functions of lanewise_nrt.h."""
        return self._nrt

    def __repr__(self):
        return f"{type(self).__name__}({self.name!r}, {len(self.data)} bytes)"

    @classmethod
    def from_path(cls, path, **keywords):
        """Read the code from a file. LinkableCode.from_path returns the subclass that the file's extension stands for."""
        path = os.fspath(path)
        if not cls.kind:
            return _of_path(path, **keywords)
        with open(path, "rb") as file:
            return cls(file.read(), path, **keywords)


class PTXSource(LinkableCode):
    """PTX text. Its functions are called, not inlined."""

    kind, _binary = "ptx", False


class CUSource(LinkableCode):
    """CUDA C++ text, compiled by NVRTC for the kernel's device and inlined. Functions for kernels
    are `extern "C" __device__`.

    include_dirs: a folder or a list of folders for included files. They are searched after the folder of
    the source file, if it was read from one, and before the setting include_path and the folders of the toolkit.
    `#include <lanewise_nrt.h>` needs no folder, but nrt=True.

        >>> cuda.CUSource('extern "C" __device__ int one() { return 1; }', "one.cu", include_dirs=["."]).name
        'one.cu'
    """

    kind, _binary = "cu", False

    def __init__(self, data, name=None, setup_callback=None, teardown_callback=None, nrt=False, include_dirs=()):
        super().__init__(data, name, setup_callback, teardown_callback, nrt)
        self._given_dirs = _folders(include_dirs)
        self._include_dirs = (*self._given_dirs, NRT_INCLUDE)

    @property
    def include_dirs(self):
        """The folders for included files, a tuple of absolute paths."""
        return self._given_dirs


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
    """LTO-IR, the output of nvcc -dlto or of NVRTC with -dlto. Its functions are inlined."""

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
    if not isinstance(value, collections.abc.Collection) or isinstance(value, (bytes, collections.abc.Mapping)):
        raise TypeError(f"{argument} must be paths or LinkableCode, not {value!r:.200}")
    found = []
    for item in value:
        if isinstance(item, (str, os.PathLike)):
            item = _of_path(os.fspath(item))
        elif not isinstance(item, LinkableCode):
            raise TypeError(f"{argument} must hold paths and LinkableCode, not {item!r:.200}")
        found.append(item)
    return tuple(found)


class _Answer:
    """What a provider gives for some types: one thread asks it, the others wait for the lock."""

    def __init__(self):
        self.lock, self.asking, self.codes = threading.RLock(), False, None


def _takes_target(method):
    try:
        parameters = inspect.signature(method).parameters.values()
    except (TypeError, ValueError):  # a builtin that does not say
        return False
    return any(p.kind is p.VAR_KEYWORD or p.name == "target" and p.kind in (p.KEYWORD_ONLY, p.POSITIONAL_OR_KEYWORD)
               for p in parameters)


def _refusal(provider, types, problem, chain):
    owner, name = provider[:2]
    shown = getattr(owner, "__qualname__", None) or getattr(owner, "__name__", None) or f"<{type(owner).__qualname__}>"
    called = f"({', '.join(map(str, types))})" if callable(provider[2]) else ""
    return LinkError(f"{shown}.{name}{called}: {problem}{chain}")


def _ask(provider, types, keywords, chain):
    value = provider[2]
    try:
        found = value(*types, **keywords) if callable(value) else value
        if callable(value) and isinstance(found, collections.abc.Iterator):
            found = tuple(found)
    except MemoryError:
        raise
    except Exception as problem:
        raise _refusal(provider, types, f"{type(problem).__name__}: {problem}", chain) from problem
    try:
        return linkables(() if found is None else found, "what it gives")
    except (OSError, TypeError, ValueError) as problem:
        raise _refusal(provider, types, problem, chain) from problem


def asked(provider, types, target, chain):
    """The LinkableCode that a callable brings along for a call with arguments of these types.

    provider: (object, name of the attribute, its value, dict of answers), made when a function
    was read; a value that can be called is asked once for each types and, where it takes it,
    target. chain: the calls that lead there, for messages.
    """
    value, known = provider[2:]
    keywords = {"target": target} if callable(value) and _takes_target(value) else {}
    key = (types, *keywords.values()) if callable(value) else ()
    answer = known.setdefault(key, _Answer())
    # Ctrl-C may raise KeyboardInterrupt after any call: what remains to be done then is one assignment, and `with`, which is safe.
    with answer.lock:
        if answer.codes is None:  # a failure is not remembered
            if answer.asking:
                raise _refusal(provider, types, "it asks for itself", chain)
            answer.asking = True
            try:
                answer.codes = _ask(provider, types, keywords, chain)
            finally:
                answer.asking = False
        return answer.codes


def _signature_object(text):
    """The Signature of a text that `_core._device_signature` has made: names of types, brackets, and `*` behind pointers."""
    from lanewise import types

    return eval(re.sub(r"(\w+)\*", r"CPointer(\1)", text), {"__builtins__": {}}, vars(types))


_COMMENTS = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_SPECIFIERS = {"extern", '"C"', "__device__", "__global__", "__host__", "__forceinline__", "__noinline__", "inline", "static", "const"}
_OTHER_RESULTS = {"void", "bool", "char", "short", "long", "float", "double", "int64_t", "uint64_t", "size_t"}


def _check_definition(name, returns_void, abi, code):
    """LinkError, where CUDA C++ defines a function otherwise than it is declared, as far as its text says so.

    Inlined code that is called with another convention is undefined behaviour, of which the linker makes an empty kernel.
    """
    text = _COMMENTS.sub(" ", code.data.decode(errors="replace"))
    found = re.search(rf'(?:^|[;{{}}\n])([\w\s*"]*[\s*]){name}\s*\([^;{{}}]*\)\s*\{{', text)
    if found is None:  # in a header, or made by a macro
        return
    words = found[1].replace("*", " * ").split()
    if 'extern "C"' not in " ".join(text.split()):
        raise LinkError(f"`{name}` in {code.name} is not `extern \"C\"`, without which C++ gives it another name in the object code")
    result = [word for word in words if word not in _SPECIFIERS]
    shown = " ".join(result).replace(" *", "*")
    if abi == "numba" and len(result) == 1 and result[0] in _OTHER_RESULTS:
        raise LinkError(f"`{name}` in {code.name} returns {shown}, but with abi=\"numba\", which is the default, a function returns an int that is 0, "
                        f"and its first parameter is a pointer to the result; pass abi=\"c\" for a function that C code would call as it is")
    if abi == "c" and result == ["void"] and not returns_void:
        raise LinkError(f"`{name}` in {code.name} returns void, but its signature has a result")


class DeviceFunction:
    """A function in another language, for kernels to call: see declare_device."""

    def __init__(self, name, sig, link, abi, host=None):
        self._name = self.__name__ = name
        self._abi = abi
        self._signature = _core._device_signature(sig, abi == "c")
        self._sig = sig if isinstance(sig, _core.Signature) else None
        self._link = linkables(link, f"link= of `{name}`")
        self._host = host
        for code in self._link:
            if isinstance(code, CUSource):
                _check_definition(name, self._signature.startswith(("void(", "none(")), abi, code)

    @property
    def name(self):
        """Its symbol."""
        return self._name

    @property
    def sig(self):
        """Its types, a Signature, which has `args` and `return_type`."""
        if self._sig is None:
            self._sig = _signature_object(self._signature)
        return self._sig

    @property
    def abi(self):
        """How it is called: numba or c."""
        return self._abi

    @property
    def host(self):
        """The Python function that runs on CPUs in its place, or None."""
        return self._host

    @property
    def __lanewise_link__(self):
        return self._link

    @property
    def __lanewise_host__(self):
        return self._host

    @property
    def __lanewise_external__(self):
        return self._name, self._signature, self._abi

    def __call__(self, *args):
        if self._host is None:
            raise TypeError(f"{self._name} is GPU code: only kernels call it (host=f would be its Python function for CPUs)")
        return self._host(*args)

    def __repr__(self):
        return f"<device function {self._name}: {self._signature}, abi {self._abi!r}>"


def external(owner, declared):
    """What __lanewise_external__ of a callable says, checked: (symbol, signature, abi), all str."""
    if not isinstance(declared, tuple) or not 2 <= len(declared) <= 3:
        raise TypeError(f"__lanewise_external__ must be a tuple (name, sig) or (name, sig, abi), not {declared!r:.200}, "
                        f"in {type(owner).__qualname__}")
    if isinstance(owner, DeviceFunction):
        return declared
    name, sig, abi = (*declared, "numba")[:3]
    _check_symbol(name)
    _check_abi(abi)
    return name, _core._device_signature(sig, abi == "c"), abi


def _check_abi(abi):
    if abi not in ("numba", "c"):
        raise ValueError(f'abi must be "numba" or "c", not {abi!r:.200}')


def _check_symbol(name):
    if not isinstance(name, str):
        raise TypeError(f"name must be a str, not {name!r:.200}")
    if not (name.isascii() and name.replace("$", "_").isidentifier()):
        raise ValueError(f"name must be a C symbol (letters, digits, _ and $), not {name!r:.200}")
    if name.startswith(("lw_", "__nv_")):
        raise ValueError(f"name must not begin with lw_ or __nv_, got {name!r:.200}: those are our own "
                         "functions and those of cuda.libdevice")


def declare_device(name, sig, link=None, use_cooperative=False, abi="numba", *, host=None):
    """Declare a function that is written in another language, so that kernels can call it.

    name: the symbol of the function.
    sig: the types of the result and of the arguments, such as "float32(float32, int32)". Pointers, such as
    "float32*", receive arrays.
    link: the code that contains the function, as link= of cuda.jit; kernels that call the function are linked with it.
    abi: "numba" for `extern "C" __device__ int name(T *result, arguments...)`, which returns 0 (any other number raises
    RuntimeError), or "c" for `extern "C" __device__ T name(arguments...)`.
    host: a Python function with the same parameters, which is compiled for CPUs in its place. Its arguments and its
    result are converted to the types of sig. Without it, the function exists only on GPUs.

    Raises SignatureError for types that cannot be passed, and TypeError if sig has no result type.

        >>> twice = cuda.declare_device("twice", "float32(float32)", abi="c",
        ...     link=cuda.CUSource('extern "C" __device__ float twice(float x) { return 2 * x; }'))
        >>> @cuda.jit
        ... def k(x):
        ...     i = cuda.grid(1)
        ...     if i < x.size: x[i] = twice(x[i])

        >>> thrice = cuda.declare_device("thrice", "float32(float32)", abi="c", host=lambda x: x * 3,
        ...     link=cuda.CUSource('extern "C" __device__ float thrice(float x) { return 3 * x; }'))
        >>> lw.vectorize(lambda x: thrice(x))(2.0)
        np.float32(6.0)
    """
    _check_symbol(name)
    _check_abi(abi)
    if host is not None and not callable(host):
        raise TypeError(f"host must be a Python function or None, not {host!r:.200}")
    if not isinstance(use_cooperative, bool):
        raise TypeError(f"use_cooperative must be True or False, not {use_cooperative!r:.200}")
    if use_cooperative:
        raise UnsupportedError("use_cooperative=True is not supported: kernels that synchronise "
                               "the grid do it with cuda.cg.this_grid().sync()")
    return DeviceFunction(name, sig, link, abi, host)

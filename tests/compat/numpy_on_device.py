"""NumPy's tests on device arrays: a ufunc in the place of another, whose arguments it carries to the device.

Of each call and of each method, arrays and NumPy's scalars of dtypes that a device has become device arrays;
results and what was written come back. Arrays that share memory share it on the device, too. What else is given
(Python numbers, lists, objects) stays what it is. A call without any array is one on the host, and so is one with an
array that no device can have: of long doubles, objects or texts, of a foreign byte order, of a subclass.

With LANEWISE_COMPAT_DEVICE=methods, under LANEWISE_TARGET=cpu, calls with device arrays do more of what they do on a GPU: their
methods are those of lanewise/_ufunc_methods.py where NumPy's would do, and none raises a floating-point flag.

On the fake driver (LANEWISE_COMPAT_DEVICE=fake), which runs no kernel, exceptions, dtypes and shapes are those
of the call on the device and values those of the same call on the host.
"""

import contextlib
import functools

import numpy as np

from lanewise import _ufunc_methods, cuda


def _is_carried(value):
    if type(value) is not np.ndarray and not isinstance(value, np.generic):
        return False
    return value.dtype.kind in "?biufc" and value.dtype.isnative and value.dtype.char not in "gG" and value.dtype.isbuiltin == 1


class _Part:
    """A view of a device array by the interface of CUDA arrays."""

    def __init__(self, owner, array, offset):
        self.owner = owner
        self.__cuda_array_interface__ = {
            "shape": array.shape, "strides": array.strides, "typestr": array.dtype.str, "version": 3,
            "data": (owner.__cuda_array_interface__["data"][0] + offset, not array.flags.writeable)}


def _is_of_hosts(value):
    """Whether it is an array, or has one in it, that no device can have."""
    if type(value) in (tuple, list):
        return any(map(_is_of_hosts, value))
    return isinstance(value, (np.ndarray, np.generic)) and not _is_carried(value)


def _has_no_device(dtype):
    try:
        return np.dtype(dtype).char in "gGO"
    except TypeError:
        return False


def _address(array):
    return array.__array_interface__["data"][0]


def _arrays_in(values):
    for value in values:
        if type(value) in (tuple, list):
            yield from _arrays_in(value)
        elif _is_carried(value) and isinstance(value, np.ndarray) and value.size:
            yield value


class _Carrier:
    """The arguments of one call."""

    def __init__(self, values):
        self.roots = []  # of what lies in one piece of memory: where, and its bytes on the device
        self.carried = []
        self.any = False
        for low, high in sorted(map(np.lib.array_utils.byte_bounds, _arrays_in(values))):
            if self.roots and low < self.roots[-1][1]:
                self.roots[-1][1] = max(high, self.roots[-1][1])
            else:
                self.roots.append([low, high, None])

    def carry(self, value):
        if type(value) in (tuple, list) and any(_is_carried(item) and type(item) is np.ndarray for item in value):
            return type(value)(self.carry(item) for item in value)
        if not _is_carried(value):
            return value
        self.any = True
        if isinstance(value, np.generic) or value.size == 0:
            made = cuda.to_device(np.asarray(value))
        else:
            made = self.part(value)
        if isinstance(value, np.ndarray):
            self.carried.append((value, made))
        return made

    def part(self, array):
        """On the device as it lies on the host: its bytes from the first to the last."""
        address = np.lib.array_utils.byte_bounds(array)[0]
        entry = next(entry for entry in self.roots if entry[0] <= address < entry[1])
        low, high, root = entry
        if root is None:
            memory = (np.ctypeslib.ctypes.c_char * (high - low)).from_address(low)
            entry[2] = root = cuda.to_device(np.frombuffer(memory, np.uint8))
        offset = _address(array) - low
        if isinstance(root, np.ndarray):  # the CPU target's
            whole = np.ndarray(root.shape, np.uint8, root)
            part = np.ndarray(array.shape, array.dtype, whole, offset, array.strides)
            part.flags.writeable = array.flags.writeable
            return part.view(type(root))
        return cuda.as_cuda_array(_Part(root, array, offset))

    def bring_back(self):
        for host, made in self.carried:
            if host.flags.writeable and host.size:
                host[...] = made.copy_to_host()

    def result(self, value, keep=False):
        """keep: arrays without dimensions stay arrays (out=...)."""
        if isinstance(value, tuple):
            return tuple(self.result(one, keep) for one in value)
        for host, made in self.carried:
            if value is made:
                return host
        if isinstance(value, cuda.DeviceArray):
            host = value.copy_to_host()
            return host[()] if host.ndim == 0 and not keep else host
        return np.asarray(value) if keep else value


class OnDevice:  # a Ufunc whose arguments are carried; its docstring and attributes are the Ufunc's
    __slots__ = ("_ufunc", "_fake", "_methods")
    __doc__ = property(lambda self: self._ufunc.__doc__)
    __dict__ = property(lambda self: self._ufunc.__dict__)

    def __init__(self, ufunc, mode):
        for name, value in {"_ufunc": ufunc, "_fake": mode == "fake", "_methods": mode == "methods"}.items():
            object.__setattr__(self, name, value)
        _made.setdefault(ufunc.__name__, self)

    def __getattr__(self, name):
        return getattr(self._ufunc, name)

    def __setattr__(self, name, value):
        setattr(self._ufunc, name, value)

    def __delattr__(self, name):
        delattr(self._ufunc, name)

    def __repr__(self):
        return repr(self._ufunc)

    def __eq__(self, other):
        return other is self or other is self._ufunc

    def __hash__(self):
        return hash(self._ufunc)

    def __reduce__(self):
        return _again, (self.__name__,)

    def __call__(self, *args, **kwargs):
        return self._carried(self._ufunc, args, kwargs)

    def reduce(self, *args, **kwargs):
        return self._method("reduce", args, kwargs)

    def accumulate(self, *args, **kwargs):
        return self._method("accumulate", args, kwargs)

    def reduceat(self, *args, **kwargs):
        return self._method("reduceat", args, kwargs)

    def outer(self, *args, **kwargs):
        return self._method("outer", args, kwargs)

    def at(self, *args, **kwargs):
        return self._method("at", args, kwargs)

    def _method(self, name, args, kwargs):
        return self._carried(getattr(self._ufunc, name), args, kwargs, self._methods and name)

    def _carried(self, function, args, kwargs, method=None):
        if _is_of_hosts((*args, *kwargs.values())) or _has_no_device(kwargs.get("dtype")):
            return function(*args, **kwargs)
        carrier = _Carrier((*args, *kwargs.values()))
        on_device = [carrier.carry(value) for value in args]
        by_name = {name: carrier.carry(value) for name, value in kwargs.items()}
        if not carrier.any:
            return function(*args, **kwargs)
        if method and not _others((*args, *kwargs.values())):
            function = functools.partial(getattr(_ufunc_methods, method), self._ufunc)
        with np.errstate(all="ignore") if self._methods else contextlib.nullcontext():
            result = function(*on_device, **by_name)
        if self._fake:
            return _checked(function(*args, **kwargs), result)
        carrier.bring_back()
        return carrier.result(result, kwargs.get("out") is ...)


_made = {}


def _again(name):
    return _made[name]


def _others(values):
    """Whether an operand takes calls over (NEP 13)."""
    for value in values:
        for one in value if isinstance(value, (tuple, list)) else [value]:
            if hasattr(one, "__array_ufunc__") and not isinstance(one, (np.ndarray, np.generic)):
                return True
    return False


def _checked(host, device):
    """The host's values, where the device's results have their dtypes and shapes."""
    for a, b in zip(host if isinstance(host, tuple) else (host,), device if isinstance(device, tuple) else (device,)):
        if isinstance(b, cuda.DeviceArray):
            assert a.dtype == b.dtype and np.shape(a) == b.shape, f"{b.dtype} {b.shape} on the device, {a.dtype} {np.shape(a)} on the host"
    return host

"""What the names of `lanewise.cuda` are in functions that run as plain Python (`target="python"`)."""

from __future__ import annotations

import collections
import functools
import sys

import numpy as np

from lanewise import _core, _elements, errors
from lanewise._python_threads import WARP, current

_FILL = 0xCD  # what fresh memory holds: zeros would hide that nothing was written there


def _path(name) -> str:
    """"cuda.shared.array"; "local"."""
    return name.__module__.removeprefix("lanewise.").replace("lanewise", "") + "." * (name.__module__ != "lanewise") + name.__qualname__


class _Printed:
    """Printed as compiled code prints tuples."""

    __slots__ = ()
    __str__ = tuple.__repr__


def _triple(name):
    """The class of threadIdx: a tuple with names."""
    return type(name, (_Printed, collections.namedtuple(name, "x y z")), {"__slots__": (), "__module__": "lanewise.cuda"})


_TRIPLES = {name: _triple(name) for name in ("threadIdx", "blockIdx", "blockDim", "gridDim")}


def value(name):
    """threadIdx, threadIdx.x and the like: this thread's numbers; outside of kernels the name itself."""
    thread = current()
    if thread is None:
        return name
    group, _, axis = name.__qualname__.partition(".")
    if group == "warpsize":
        return WARP
    if group == "laneid":
        return thread.lane
    of = {"threadIdx": thread.index, "blockIdx": thread.block.index, "blockDim": thread.block.shape,
          "gridDim": thread.block.grid}
    numbers = _TRIPLES[group](*map(int, of[group]))
    return getattr(numbers, axis) if axis else numbers


def intrinsic(name):
    """The function of that name, for plain Python."""
    path = _path(name)
    if path in _FUNCTIONS:
        return _FUNCTIONS[path]
    if path.startswith("cuda.atomic."):
        return functools.partial(_atomic, path.removeprefix("cuda.atomic."))
    return functools.partial(_number, path)


def _thread(name):
    thread = current()
    if thread is None:
        raise RuntimeError(f"cuda.{name} needs the thread of a kernel: kernel[grid, block](...)")
    return thread


# ---- places ----


def _of_dims(ndim, numbers):
    if ndim not in (1, 2, 3):
        raise ValueError(f"ndim must be 1, 2 or 3, not {ndim!r:.200}")
    return numbers[0] if ndim == 1 else tuple(numbers[:ndim])


def _grid(ndim):
    thread = _thread("grid")
    block = thread.block
    return _of_dims(ndim, [int(t + b * n) for t, b, n in zip(thread.index, block.index, block.shape)])


def _gridsize(ndim):
    block = _thread("gridsize").block
    return _of_dims(ndim, [int(g * n) for g, n in zip(block.grid, block.shape)])


class _Grid:
    """cuda.cg.this_grid()."""

    def sync(self) -> None:
        _thread("cg.this_grid").meet("grid", "cg.this_grid().sync")


def _cluster():
    _thread("cg.this_cluster")
    raise errors.UnsupportedError("cuda.cg.this_cluster() is not there in plain Python: use target=\"cpu\"")


# ---- memory ----


def _fresh(shape, dtype):
    shape = tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
    array = np.empty(shape, np.dtype(dtype))
    array.view(np.uint8).fill(_FILL) if array.flags.c_contiguous and array.ndim else None
    return _elements.viewed(array)


def _local(shape, dtype, alignment=None):
    return _fresh(shape, dtype)


def _shared(shape, dtype, alignment=None):
    block = _thread("shared.array").block
    if shape == 0:
        dtype = np.dtype(dtype)
        return block.dynamic[:block.dynamic.size // dtype.itemsize * dtype.itemsize].view(dtype)
    caller = sys._getframe(1)
    place = caller.f_code, caller.f_lasti
    if place not in block.shared:
        block.shared[place] = _fresh(shape, dtype)
    return block.shared[place]


def _const(array):
    array = np.asarray(array).view()
    array.flags.writeable = False
    return array


# ---- what threads wait in ----


def _meet_block(name, predicate=None):
    return _thread(name).meet("block", name, predicate)


def _meet_lanes(name, mask=0xFFFFFFFF, *payload):
    return _thread(name).meet(int(mask) & 0xFFFFFFFF, name, payload)


def _pause(name, *_unused):
    thread = current()
    if thread is not None and thread.runner is not None:
        thread.meet("thread", name)


class _Lanes(int):
    """A mask of lanes, an int that is known to have 32 bits: what `cuda.popc(~mask)` counts depends on that. It is no number of NumPy, because
    `mask & (1 << lane)` would be an OverflowError for lane 31. Results that do not fit are ordinary ints."""

    __slots__ = ()
    dtype: np.dtype = np.dtype(np.int32)

    def __new__(cls, bits: int):
        bits &= 0xFFFFFFFF
        return int.__new__(cls, bits - (1 << 32) if bits >> 31 and cls.dtype.kind == "i" else bits)

    def __invert__(self):
        return type(self)(~int(self))

    def __neg__(self):
        return type(self)(-int(self))


def _fitting(name: str):
    of = getattr(int, name)

    def operator(self, other):
        result = NotImplemented if isinstance(other, np.generic) else of(self, other)
        made = result if result is NotImplemented else type(self)(result)
        return made if made == result else result

    return operator


for _name in ("and", "or", "xor", "add", "sub", "lshift", "rshift"):
    setattr(_Lanes, f"__{_name}__", _fitting(f"__{_name}__"))
    setattr(_Lanes, f"__r{_name}__", _fitting(f"__r{_name}__"))


class _UnsignedLanes(_Lanes):
    __slots__ = ()
    dtype = np.dtype(np.uint32)


def _shuffled(name, lanes) -> dict:
    answers = {}
    for lane, (own, by, *rest) in lanes.items():
        width = int(rest[0]) if rest else WARP
        first, last = lane // width * width, lane // width * width + width - 1
        source = {"shfl_sync": first + int(by) % width, "shfl_up_sync": lane - int(by), "shfl_down_sync": lane + int(by),
                  "shfl_xor_sync": lane ^ int(by)}[name]
        out = source < first if name == "shfl_up_sync" else source > last
        if not out and source not in lanes:
            raise errors.KernelError(f"cuda.{name}: lane {lane} reads lane {source}, which is not there")
        answers[lane] = own if out else lanes[source][0]
    return answers


def answers(name, payloads: dict) -> dict:
    """What each of the threads gets that have met, by the same keys."""
    if name.startswith("syncthreads_"):
        votes = [bool(p) for p in payloads.values()]
        answer = {"count": sum(votes), "and": int(all(votes)), "or": int(any(votes))}[name.removeprefix("syncthreads_")]
        return dict.fromkeys(payloads, answer)
    if name.startswith("shfl"):
        return _shuffled(name, payloads)
    if name in ("all_sync", "any_sync", "eq_sync", "ballot_sync"):
        true = {lane: bool(p[0]) for lane, p in payloads.items()}
        answer = {"all_sync": all(true.values()), "any_sync": any(true.values()), "eq_sync": len(set(true.values())) == 1,
                  "ballot_sync": _Lanes(sum(1 << lane for lane, one in true.items() if one))}[name]
        return dict.fromkeys(payloads, answer)
    if name.startswith("match"):
        bits = {lane: np.asarray(p[0]).tobytes() for lane, p in payloads.items()}
        of = {lane: _Lanes(sum(1 << other for other in bits if bits[other] == bits[lane])) for lane in bits}
        same = len(set(bits.values())) == 1
        return of if name == "match_any_sync" else {lane: (of[lane], True) if same else (0, False) for lane in bits}
    return dict.fromkeys(payloads)


def _activemask():
    return _UnsignedLanes(1 << _thread("activemask").lane)


def _lanemask_lt():
    return _UnsignedLanes((1 << _thread("lanemask_lt").lane) - 1)


# ---- atomics: one thread runs at a time ----


def _nan(x) -> bool:
    return x != x


_UPDATES = {
    "add": np.add, "sub": np.subtract, "and_": np.bitwise_and, "or_": np.bitwise_or, "xor": np.bitwise_xor,
    "exch": lambda old, new: new,
    "inc": lambda old, new: old.dtype.type(0) if old >= new else old + old.dtype.type(1),
    "dec": lambda old, new: new if old == 0 or old > new else old - old.dtype.type(1),
    "max": lambda old, new: new if new > old else old,
    "min": lambda old, new: new if new < old else old,
    "nanmax": lambda old, new: new if _nan(old) or new > old else old,
    "nanmin": lambda old, new: new if _nan(old) or new < old else old,
}


def _atomic(name, ary, *args):
    if name == "compare_and_swap":
        name, args = "cas", ((0,) * ary.ndim, *args)
    idx, *numbers = args
    old = ary[idx]
    numbers = [ary.dtype.type(x) if not isinstance(x, np.generic) else x.astype(ary.dtype) for x in numbers]
    if name == "cas":
        ary[idx] = numbers[1] if old.tobytes() == numbers[0].tobytes() else old
    else:
        ary[idx] = _UPDATES[name](old, numbers[0])
    return old


# ---- loads and stores with cache hints ----


def _load(ary, idx):
    return ary[idx]


def _store(ary, idx, val):
    ary[idx] = val


# ---- functions of numbers: compiled ones ----


_made: dict = {}


def _compiled(path, n):
    names = ", ".join(f"x{i}" for i in range(n))
    text = f"def function({names}):\n    return lanewise.{path}({names})\n"
    space = {"__name__": __name__, "lanewise": sys.modules["lanewise"]}
    exec(text, space)
    return _core.vectorize(space["function"], source=text)


def _number(path, *args):
    key = path, len(args)
    if key not in _made:
        _made[key] = _compiled(*key)
    return _made[key](*(x.dtype.type(int(x)) if isinstance(x, _Lanes) else x for x in args))


_FUNCTIONS = {
    "cuda.grid": _grid, "cuda.gridsize": _gridsize, "cuda.cg.this_grid": _Grid, "cuda.cg.this_cluster": _cluster,
    "local": _local, "cuda.local.array": _local, "cuda.shared.array": _shared, "cuda.const.array_like": _const,
    "cuda.activemask": _activemask, "cuda.lanemask_lt": _lanemask_lt,
    "cuda.selp": lambda condition, a, b: a if condition else b,
    **{f"cuda.{name}": functools.partial(_meet_block, name)
       for name in ("syncthreads", "syncthreads_count", "syncthreads_and", "syncthreads_or")},
    **{f"cuda.{name}": functools.partial(_meet_lanes, name)
       for name in ("syncwarp", "shfl_sync", "shfl_up_sync", "shfl_down_sync", "shfl_xor_sync", "all_sync", "any_sync",
                    "eq_sync", "ballot_sync", "match_any_sync", "match_all_sync")},
    **{f"cuda.{name}": functools.partial(_pause, name)
       for name in ("threadfence", "threadfence_block", "threadfence_system", "nanosleep")},
    **dict.fromkeys([f"cuda.ld{cache}" for cache in ("ca", "cg", "cs", "lu", "cv")], _load),
    **dict.fromkeys([f"cuda.st{cache}" for cache in ("cg", "cs", "wb", "wt")], _store),
}

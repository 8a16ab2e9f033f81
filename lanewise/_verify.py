"""`lanewise.verify`: a compiled function run again in another way, and where the results differ.

On arrays of a GPU the other way is the CPU. On arrays of the host there are two: code that the optimiser
has not seen, which has to give the same bits but for functions with an error bound, and Python itself beside
code without fused products (`fma=False`), because Python rounds each operation.
"""

from __future__ import annotations

import collections
import dis
import math
import operator
import types
import weakref
from typing import Any, Callable, NamedTuple

import numpy as np

from lanewise import _core, errors
from lanewise.config import config

_cuda = _core.cuda
_DRAWABLE = {"dtype", "casting", "order", "subok", "signature", "sig", "out", "where"}
_MOST_KEPT = 1000
_PYTHON_ULP = 4  # NumPy's and libm's functions, most units in the last place
_NAMES = {  # of Python and NumPy, whose row of intrinsics.def has another name
    "arcsin": "asin", "arccos": "acos", "arctan": "atan", "arctan2": "atan2", "arcsinh": "asinh", "arccosh": "acosh", "arctanh": "atanh",
    "power": "pow", "float_power": "pow", "gamma": "tgamma", "logaddexp": "log1p", "logaddexp2": "log2", "dist": "hypot", "sinc": "sin",
    "phase": "atan2", "angle": "atan2", "polar": "sin", "absolute": "hypot",
}


class Difference(NamedTuple):
    """One element that differs: its index, both values, and the inputs at that index if they are known."""

    index: tuple[int, ...]  # type: ignore[assignment]
    got: Any
    expected: Any
    inputs: tuple[Any, ...]
    ulp: float
    where: str


class Mismatch(errors.LanewiseError):
    """Raised by ``lanewise.verify(..., raise_=True)`` if results differ. `report` is the Report."""

    report: "Report"


class Report:
    """What `lanewise.verify` found.

    ok            whether all results agreed
    n_checked     how many elements were compared
    n_different   how many of them differ by more than is allowed
    worst_ulp     the largest difference of two floats that were compared, in units in the last place
    allowed_ulp   the largest difference that the error bounds of the functions in use allow
    differences   the first thousand differences: tuples (index, got, expected, inputs, ulp, where)
    compared      how the results were computed, in words
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.n_checked = self.n_different = 0
        self.worst_ulp = 0.0
        self.allowed_ulp = 0.0
        self.atol = 0.0
        self.has_cancelled = False  # perhaps: some floats differ by a finite distance
        self.differences: list[Difference] = []
        self.compared: list[str] = []

    @property
    def ok(self) -> bool:
        return self.n_different == 0

    def __bool__(self) -> bool:
        return self.ok

    def __repr__(self) -> str:
        state = "agrees" if self.ok else f"DIFFERS in {self.n_different}"
        lines = [f"{self.name} {state}: {self.n_checked} elements compared, at most {self.worst_ulp:g} ULP apart, {self.allowed_ulp:g} allowed"]
        if self.has_cancelled:
            lines[0] += " (cancellation may be the reason, where a result is much smaller than what it is the sum or difference of: ulp= and atol= allow more)"
        lines += [f"  {way}" for way in self.compared]
        for one in self.differences[:5]:
            inputs = f", inputs {', '.join(map(repr, one.inputs))}" if one.inputs else ""
            at = f"[{', '.join(map(str, one.index))}]" if one.index else ""
            lines.append(f"  {one.where}{at}: got {one.got!r}, expected {one.expected!r} ({one.ulp:g} ULP){inputs}")
        if self.n_different > 5:
            lines.append(f"  … and {self.n_different - 5} more")
        return "\n".join(lines)


# ---- the same function, compiled in another way ----

_twins: "weakref.WeakKeyDictionary[Any, dict]" = weakref.WeakKeyDictionary()


def _twin(made, **changed):
    """The function decorated anew, with some keywords changed."""
    key = tuple(sorted(changed.items()))
    kept = _twins.setdefault(made, {})
    if key not in kept or kept[key][0] is not made.py_func:
        state = made._state()
        options = {**state["options"], **changed}
        if options.get("debug") and changed.get("opt") is False:
            options.pop("opt")
        arguments = [given for given in (state["signatures"], state["layout"]) if given is not None]
        kept[key] = (made.py_func, operator.attrgetter(state["door"])(_core)(*arguments, **options)(made.py_func))
    return kept[key][1]


def _is_of_reductions(function) -> bool:
    return isinstance(function, (types.FunctionType, _core.ReductionFunction)) and function.__module__ in ("lanewise.reductions", "lanewise._nan_reductions") and not function.__name__.startswith("_")


def _names_prange(function, seen) -> bool:
    """Whether a Python function, or one that it names, has a loop over prange, which adds up in an order of its own."""
    code = getattr(function, "__code__", None)
    if code is None or code in seen:
        return False
    seen.add(code)
    if "prange" in code.co_names:
        return True
    named = [function.__globals__.get(name) for name in code.co_names]
    return any(_names_prange(getattr(value, "py_func", value), seen) for value in named)


class _Subject:
    """What is verified: a compiled function, and a kernel's grid."""

    def __init__(self, function) -> None:
        self.launcher = None
        self.is_library = _is_of_reductions(function)
        if self.is_library:
            self.made, self.options, self.name = function, {}, f"reductions.{function.__name__}"
            self.writes = self.is_gufunc = self.sums = False
            self.is_reduction = True
            return
        self.launcher = function if isinstance(function, _core.Launcher) else None
        self.made = self.launcher.kernel if self.launcher is not None else function
        kinds = (_core.Ufunc, _core.Reduction, _core.Forall, _core.Kernel)
        if not isinstance(self.made, kinds):
            raise TypeError("lanewise.verify takes a function made by vectorize, guvectorize, reduce, forall or jit, one of lanewise.reductions, or a kernel with its grid "
                            f"(k[grid, block], k.forall(n)), not {type(function).__name__}")
        self.options = self.made._state()["options"]
        self.writes = isinstance(self.made, (_core.Forall, _core.Kernel)) or bool(self.options.get("writable_args"))
        self.is_reduction = isinstance(self.made, _core.Reduction)
        self.is_gufunc = isinstance(self.made, _core.Gufunc)
        self.name = getattr(self.made, "__name__", "function")
        self.sums = isinstance(self.made, _core.Kernel) and self.launcher is None and _names_prange(self.made.py_func, set())

    def runner(self, **changed) -> Callable[..., Any]:
        if self.is_library:  # where the arguments are decides
            return self.made
        made = _twin(self.made, **changed) if changed else self.made
        at = self.launcher
        if at is None:
            return made
        if at.ntasks is not None:
            return made.forall(at.ntasks, at.thread_per_block, 0, at.sharedmem)
        return made[at.griddim, at.blockdim, 0, at.sharedmem]


# ---- arguments and results ----


def _is_device(value) -> bool:
    return _cuda._is_device_array(value)


def _any_device(values) -> bool:
    return any(_is_device(v) or (isinstance(v, (tuple, list)) and _any_device(v)) for v in values)


class _Copies:
    """Copies of arguments: an array given twice is one copy, and views of one array are views of its copy."""

    def __init__(self, to_host: bool) -> None:
        self.to_host = to_host
        self.made: dict[int, Any] = {}
        self.kept: list = []  # so that no id is used again

    def take(self, value):
        if isinstance(value, (tuple, list)) and not hasattr(value, "_fields"):
            return type(value)(self.take(item) for item in value)
        if isinstance(value, (_cuda.In, _cuda.Out, _cuda.InOut)):
            return type(value)(self.take(value.value))
        if not isinstance(value, np.ndarray) and not _is_device(value):
            return value
        if id(value) not in self.made:
            self.kept.append(value)
            self.made[id(value)] = self._copy(value)
        return self.made[id(value)]

    def _copy(self, value):
        if _is_device(value):
            device = _cuda._as_device_array(value)
            return device.copy_to_host() if self.to_host else device.copy()
        root = value
        while isinstance(root.base, np.ndarray):
            root = root.base
        if root is value or not (root.flags.c_contiguous or root.flags.f_contiguous) or root.dtype.hasobject:
            return value.copy(order="K")
        if id(root) not in self.made:
            self.kept.append(root)
            self.made[id(root)] = root.copy(order="K")
        offset = value.__array_interface__["data"][0] - root.__array_interface__["data"][0]
        view = np.ndarray(value.shape, value.dtype, self.made[id(root)].data.cast("B") if root.flags.c_contiguous
                          else self.made[id(root)].T.data.cast("B"), offset, value.strides)
        view.flags.writeable = value.flags.writeable
        return view


def _to_host(value):
    if isinstance(value, (_cuda.In, _cuda.Out, _cuda.InOut)):
        value = value.value
    if _is_device(value):
        return _cuda._as_device_array(value).copy_to_host()
    return value


def _leaves(value, name) -> list[tuple[str, np.ndarray]]:
    """The arrays and numbers in a result or in arguments, as arrays of the host."""
    if value is None or isinstance(value, (str, bytes, types.FunctionType, _core.ReductionFunction, np.dtype, type)):
        return []
    if isinstance(value, (tuple, list)):
        return [leaf for i, item in enumerate(value) for leaf in _leaves(item, f"{name} {i}")]
    array = np.asarray(_to_host(value))
    return [] if array.dtype.hasobject else [(name, array)]


def _everything(subject, runner, args, kwargs, to_host) -> list[tuple[str, np.ndarray]]:
    """Runs on copies; what it returns and, where it may write to them, its arguments after the run."""
    copies = _Copies(to_host)
    taken = [copies.take(a) for a in args]
    named = {name: copies.take(value) for name, value in kwargs.items() if not (to_host and name == "stream")}
    result = runner(*taken, **named)
    leaves = _leaves(result, "result")
    if subject.writes:
        start = 1 if isinstance(subject.made, _core.Forall) else 0
        leaves += [leaf for i, value in enumerate(taken[start:], start) for leaf in _leaves(value, f"argument {i}")]
        leaves += [leaf for name, value in named.items() for leaf in _leaves(value, f"argument {name}")]
    return leaves


# ---- what the functions in use allow ----


def _callees(function, seen) -> "collections.Counter[str]":
    """How often each function with an error bound is named by a Python function and those that it calls."""
    code = getattr(function, "__code__", None)
    found: "collections.Counter[str]" = collections.Counter()
    if code is None or code in seen:
        return found
    seen.add(code)
    scope = dict(getattr(function, "__globals__", {}))
    for name, cell in zip(code.co_freevars, getattr(function, "__closure__", None) or ()):
        try:
            scope[name] = cell.cell_contents
        except ValueError:
            continue
    bounds = _core._error_bounds()
    codes = [code]
    for one in codes:
        codes += [const for const in one.co_consts if isinstance(const, types.CodeType)]
        for at in dis.get_instructions(one):
            word = at.argval if isinstance(at.argval, str) else ""
            if at.opname.startswith("BINARY") and at.argrepr in ("**", "**="):
                found["pow"] += 1
            elif at.opname.startswith("LOAD_") and (_NAMES.get(word, word) in bounds or "_normal" in word or "_exponential" in word):
                found[_NAMES.get(word, word) if "_" not in word else "log"] += 1
        modules = [value for value in map(scope.get, one.co_names) if isinstance(value, types.ModuleType)
                   and value.__name__.partition(".")[0] not in ("numpy", "math", "cmath", "lanewise")]
        for name in (*one.co_names, *one.co_freevars):
            for value in (scope.get(name), *(getattr(module, name, None) for module in modules)):
                value = getattr(value, "py_func", value)
                if isinstance(value, types.FunctionType):
                    found += _callees(value, seen)
    return found


def _allowed(subject, on_gpu: bool, with_python: bool) -> dict[int, float]:
    """Units in the last place that two runs may be apart, by bytes of the float type."""
    parts = [getattr(subject.made, "py_func", subject.made), *(subject.options.get(name) for name in ("map", "combine", "finish"))]
    seen: set = set()
    found = sum((_callees(part, seen) for part in parts), collections.Counter())
    bounds = _core._error_bounds()
    allowed = {4: 0.0, 8: 0.0}
    if subject.options.get("math") == "same" and not with_python:
        return allowed
    for name, count in found.items():
        gpu32, gpu64, host32, host64 = bounds.get(name, (0, 0, 0, 0))
        for size, gpu, host in ((4, gpu32, host32), (8, gpu64, host64)):
            if gpu or host:
                first = gpu if on_gpu else host
                allowed[size] += count * (first + (_PYTHON_ULP if with_python else host))
    return allowed


# ---- comparison ----


def _ordered(values: np.ndarray) -> np.ndarray:
    """Floats as integers in the same order, neighbours one apart; both zeros are 0."""
    bits = np.ascontiguousarray(values).view(f"i{values.dtype.itemsize}").astype(np.int64)
    least = np.int64(-1) << np.int64(8 * values.dtype.itemsize - 1)
    return np.where(bits < 0, least - bits, bits)


def _float_distance(got, expected) -> np.ndarray:
    a, b = _ordered(got), _ordered(expected)
    with np.errstate(all="ignore"):
        apart = np.abs(a.astype(np.float64) - b.astype(np.float64))
        near = np.abs((a - b).astype(np.float64))
    apart = np.where(apart < 2.0**53, near, apart)
    either, both = np.isnan(got) | np.isnan(expected), np.isnan(got) & np.isnan(expected)
    return np.where(both, 0.0, np.where(either, np.inf, apart))


def _distance(got, expected) -> np.ndarray:
    """Units in the last place between two arrays of one dtype; 0 or infinity for what is no float."""
    kind, size = got.dtype.kind, got.dtype.itemsize
    if got.dtype.names:
        parts = [_distance(got[name], expected[name]) for name in got.dtype.names]
        parts = [part.reshape(*got.shape, -1).max(axis=-1) if part.ndim > got.ndim else part for part in parts]
        return np.maximum.reduce(parts) if parts else np.zeros(got.shape)
    if kind == "f" and size <= 8:
        return _float_distance(got, expected)
    if kind == "c" and size <= 16:
        apart = np.maximum(_float_distance(got.real, expected.real), _float_distance(got.imag, expected.imag))
        with np.errstate(all="ignore"):  # a small part is no more precise than the large one
            size_of = np.maximum(np.abs(expected.real), np.abs(expected.imag))
            whole = np.maximum(np.abs(got.real - expected.real), np.abs(got.imag - expected.imag)) / np.spacing(size_of)
        return np.where(np.isfinite(whole), np.minimum(apart, whole), apart)
    if kind in "mM":
        got, expected = got.view("i8"), expected.view("i8")
    elif kind == "V":
        got, expected = (np.ascontiguousarray(x).view((np.uint8, (size,))) for x in (got, expected))
        return np.where((got == expected).all(axis=-1), 0.0, np.inf)
    return np.where(got == expected, 0.0, np.inf)


def _bound_of(dtype, allowed) -> float:
    if dtype.names:
        return max((_bound_of(dtype[name].base, allowed) for name in dtype.names), default=0.0)
    if dtype.kind not in "fc":
        return 0.0
    size = dtype.itemsize // (2 if dtype.kind == "c" else 1)
    return allowed[8] if size == 8 else allowed[4]


def _compare(report, name, got, expected, allowed, inputs, index_of, slack=None) -> None:
    """Adds what differs to the report. slack: how far values may be apart in absolute terms, beside the report's `atol`."""
    if got.shape != expected.shape:
        raise Mismatch(f"{report.name}: {name} has shape {got.shape}, and {expected.shape} where it is computed again")
    if got.dtype != expected.dtype:
        if got.dtype.names or expected.dtype.names:
            raise Mismatch(f"{report.name}: {name} has dtype {got.dtype}, and {expected.dtype} where it is computed again")
        expected = expected.astype(got.dtype)
    apart = _distance(got, expected).reshape(got.shape)
    bound = _bound_of(got.dtype, allowed)
    finite = apart[np.isfinite(apart)]
    report.n_checked += got.size
    report.allowed_ulp = max(report.allowed_ulp, bound)
    if finite.size:
        report.worst_ulp = max(report.worst_ulp, float(finite.max()))
    wrong = apart > bound
    if wrong.any() and got.dtype.kind in "fc":
        with np.errstate(all="ignore"):
            difference = np.abs(got - expected)
        wrong = wrong & ~(difference <= np.maximum(0.0 if slack is None else slack(name), report.atol))
        report.has_cancelled |= bool((wrong & np.isfinite(apart)).any())
    if (wrong & np.isinf(apart)).any() and got.dtype.kind in "fc":
        report.worst_ulp = math.inf
    report.n_different += int(wrong.sum())
    for place in np.argwhere(wrong)[:max(0, _MOST_KEPT - len(report.differences))]:
        at = tuple(int(i) for i in place)
        report.differences.append(Difference(index_of(at), got[at], expected[at], inputs(at), float(apart[at]), name))


# ---- elements that are drawn ----


def _draw(n: int, sample: int) -> np.ndarray:
    """Numbers below n, sorted: all of them, or about as many as the sample, with the first and the last."""
    if n <= sample:
        return np.arange(n)
    drawn = np.random.default_rng(n).integers(0, n, sample)
    return np.unique(np.concatenate([drawn[:max(sample - 2, 0)], [0, n - 1]]))


def _cores(signature: str) -> list[int]:
    """The number of core dimensions of each input."""
    inputs = signature.replace(" ", "").split("->")[0]
    return [len([d for d in core.split(",") if d]) for core in inputs[1:-1].split("),(")] if inputs else []


class _Drawn:
    """Elements of a call of a ufunc, or items of a gufunc's, that are computed again by themselves."""

    def __init__(self, subject, args, kwargs, sample) -> None:
        made = subject.made
        self.nin = made.nin
        inputs = [_to_host(a) for a in args[:self.nin]]
        cores = _cores(made.signature) if made.signature else [0] * self.nin  # a layout without axes has none
        arrays = [np.asarray(a) for a in inputs]
        loops = [a.shape[:a.ndim - core] for a, core in zip(arrays, cores)]
        where = np.asarray(_to_host(kwargs.get("where", True)))
        outs = [np.asarray(_to_host(o)) for o in self._outs(args, kwargs) if o is not None]
        out_loops = [] if subject.is_gufunc else [o.shape for o in outs]
        self.loop = np.broadcast_shapes(*loops, where.shape, *out_loops)
        chosen = np.flatnonzero(np.broadcast_to(where, self.loop))
        item = max((a.size // max(math.prod(loop), 1) for a, loop in zip(arrays, loops)), default=1)
        self.flat = chosen[_draw(chosen.size, max(1, sample // max(item, 1)))]
        at = np.unravel_index(self.flat, self.loop) if self.loop else None
        self.inputs = [a if at is None or not loop else np.broadcast_to(a, self.loop + a.shape[len(loop):])[at]
                       for a, loop in zip(arrays, loops)]
        self.arguments = [given if not loop else drawn for given, loop, drawn in zip(inputs, loops, self.inputs)]
        self.kwargs = {name: value for name, value in kwargs.items() if name not in ("out", "where", "stream")}

    def _outs(self, args, kwargs):
        out = kwargs.get("out")
        return [*args[self.nin:], *(out if isinstance(out, tuple) else (out,))]

    def of_result(self, result) -> list[tuple[str, np.ndarray]]:
        leaves = _leaves(result, "result")
        if not self.loop:
            return leaves
        at = np.unravel_index(self.flat, self.loop)
        return [(name, array[at]) for name, array in leaves]

    def again(self, runner) -> list[tuple[str, np.ndarray]]:
        return _leaves(runner(*self.arguments, **self.kwargs), "result")

    def inputs_at(self, at) -> tuple:
        if not self.loop:
            return tuple(a[()] if a.ndim == 0 else a for a in self.inputs)
        return tuple(a[at[0]] if a.ndim else a[()] for a in self.inputs)

    def index_of(self, at) -> tuple[int, ...]:
        if not self.loop:
            return at
        return (*(int(i) for i in np.unravel_index(self.flat[at[0]], self.loop)), *at[1:])


def _can_draw(subject, args, kwargs) -> bool:
    made = subject.made
    if not isinstance(made, _core.Ufunc) or subject.writes or set(kwargs) - _DRAWABLE - {"stream"}:
        return False
    if subject.options.get("excluded") or subject.options.get("static") or not made.nin <= len(args) <= made.nargs:
        return False
    if any(_core._takes_as_object(made, a) or np.asarray(_to_host(a)).dtype.hasobject for a in args[:made.nin]):
        return False
    return not subject.is_gufunc or ((made.signature is None or "?" not in made.signature) and not subject.options.get("sizes"))


# ---- verify ----


def _check_arguments(sample, target, ulp, atol) -> None:
    if isinstance(sample, bool) or not isinstance(sample, (int, np.integer)):
        raise TypeError(f"sample must be an int, the number of elements to compute again, not {type(sample).__name__}")
    if sample < 1:
        raise ValueError(f"sample must be at least 1, not {sample}")
    if target not in (None, "auto", "cpu", "cuda"):
        raise ValueError(f"target must be None, 'auto', 'cpu' or 'cuda', not {target!r:.200}")
    if not (isinstance(atol, (int, float, np.number)) and atol >= 0):
        raise ValueError(f"atol must be a number that is not negative, not {atol!r:.200}")
    if ulp is not None and not (isinstance(ulp, (int, float, np.number)) and ulp >= 0):
        raise ValueError(f"ulp must be None or a number that is not negative, not {ulp!r:.200}")


class _Pair(NamedTuple):
    """Two ways to compute the same; None: the first result that there is already."""

    words: str
    first: "Callable[..., Any] | None"
    second: Callable[..., Any]
    in_python: bool


def _in_python(runner):
    def call(*args, **kwargs):
        with config(target="python"), np.errstate(all="ignore"):
            return runner(*args, **kwargs)

    return call


def _pairs(subject, on_gpu) -> list[_Pair]:
    if on_gpu:
        return [_Pair("GPU against CPU", None, subject.runner(target="cpu"), False)]
    if subject.is_library:
        numpys = getattr(np, subject.made.__name__, None)
        if numpys is None:
            raise TypeError(f"lanewise.verify compares {subject.name} of a GPU's arrays with the CPU; on the host, functions of "
                            "lanewise.reductions are compared with NumPy's, which has none of this name")
        return [_Pair("CPU against NumPy", None, numpys, False)]
    plain = {} if subject.options.get("fma") is False else {"fma": False}
    return [_Pair("CPU: optimised against unoptimised code", None, subject.runner(target="cpu", opt=False), False),
            _Pair("CPU with fma=False against Python", subject.runner(target="cpu", **plain), _in_python(subject.made if subject.launcher is None
                                                                                                 else subject.launcher), True)]


def _slack(subject, second, args, kwargs):
    """Of sums, whose order is each target's own: how far apart they may be, from the sum of the sizes."""
    if not (subject.is_reduction or subject.is_gufunc or subject.sums):
        return None
    known: dict[str, Any] = {}

    def size(value):
        value = _to_host(value)
        return np.abs(value) if isinstance(value, (np.ndarray, np.generic, float, complex)) and np.asarray(value).dtype.kind in "fc" else value

    def bound(name):
        if not known:
            try:
                named = {k: v for k, v in kwargs.items() if k not in ("out", "stream")}
                known.update(_everything(subject, second, [*map(size, args)], named, True))
            except Exception:
                known[""] = None
        scale = known.get(name)
        if scale is None or scale.dtype.kind not in "fc":
            return 0.0
        most = max((leaf.size for a in args for _, leaf in _leaves(a, "")), default=1)
        if subject.sums:  # one after the other in each of the two orders
            most = max([most, *(abs(int(a)) for a in args if isinstance(a, (int, np.integer)))])
            return (8 + most) * np.spacing(np.abs(scale))
        scale = np.abs(scale)
        if subject.is_library and subject.made.__name__[-3:] in ("var", "std"):  # squares of what elements and their mean differ by
            largest = np.nanmax(np.abs(np.asarray(_to_host(args[0]))), initial=0.0)
            scale = np.maximum(scale, scale.dtype.type(largest**2 if subject.made.__name__.endswith("var") else largest))
        if subject.is_library and ("cum" in subject.made.__name__ or "prod" in subject.made.__name__):  # NumPy's are one after the other
            return (8 + most) * np.spacing(scale)
        return (8 + 2 * math.ceil(math.log2(most + 2))) * np.spacing(scale)

    return bound


def _run_pair(report, pair, subject, args, kwargs, result, drawn, allowed) -> None:
    slack = None
    if drawn is not None:
        first = drawn.of_result(result) if pair.first is None else drawn.again(pair.first)
        second = drawn.again(pair.second)
        inputs, index_of = drawn.inputs_at, drawn.index_of
        if subject.is_gufunc:
            slack = _slack(subject, pair.second, drawn.arguments, drawn.kwargs)
    else:
        first = result if pair.first is None else _everything(subject, pair.first, args, kwargs, True)
        second = _everything(subject, pair.second, args, kwargs, True)
        before = [array for value in (*args, *kwargs.values()) for _, array in _leaves(value, "")]
        slack = _slack(subject, pair.second, args, kwargs)

        def inputs(at):
            return tuple(a[at] for a in before if len(at) and a.ndim == len(at) and all(i < n for i, n in zip(at, a.shape)))

        def index_of(at):
            return at
    for (name, got), (_, expected) in zip(first, second):
        _compare(report, name, got, expected, allowed, inputs, index_of, slack)


def _verify(f, args, kwargs, sample, target, raise_, ulp, atol) -> Report:
    _check_arguments(sample, target, ulp, atol)
    subject = _Subject(f)
    report = Report(subject.name)
    report.atol = float(atol)
    on_gpu = _runs_on_gpu(subject, args, kwargs, target)
    runner = subject.runner() if target in (None, "auto") else subject.runner(target=target)
    to_host = target == "cpu" and _any_device((*args, *kwargs.values()))
    drawn = None
    if _can_draw(subject, args, kwargs):
        drawn = _Drawn(subject, args, kwargs, sample)
        copies = _Copies(to_host)
        outs = {name: copies.take(value) for name, value in kwargs.items()}
        if "where" in outs and len(args) == drawn.nin:
            outs.setdefault("out", None)  # what is not computed is not looked at
        result = runner(*(_to_host(a) if to_host else a for a in args[:drawn.nin]), *map(copies.take, args[drawn.nin:]), **outs)
    else:
        result = _everything(subject, runner, args, kwargs, to_host)
    for pair in _pairs(subject, on_gpu):
        allowed = _allowed(subject, on_gpu, pair.in_python) if ulp is None else {4: float(ulp), 8: float(ulp)}
        if pair.in_python and drawn is None and _size(subject, args, kwargs) > sample:
            report.compared.append(f"{pair.words}: left out, because Python would compute {_size(subject, args, kwargs)} elements (sample={sample})")
            continue
        try:
            with np.errstate(all="ignore"):  # the first run has said it
                _run_pair(report, pair, subject, args, kwargs, result, drawn, allowed)
        except Mismatch as error:
            error.report = report
            raise
        except Exception as error:
            if not pair.in_python:
                raise
            report.compared.append(f"{pair.words}: not possible, Python raises {type(error).__name__}: {error}"[:300])
        else:
            report.compared.append(pair.words)
    if raise_ and not report.ok:
        error = Mismatch(repr(report))
        error.report = report
        raise error
    return report


def _runs_on_gpu(subject, args, kwargs, target) -> bool:
    """Whether the function runs on a GPU."""
    if target == "cpu" or config.target == "cpu":
        return False
    if subject.is_library:
        return _any_device((*args, *kwargs.values()))
    named = subject.options.get("target", "auto") if target in (None, "auto") else target
    if named == "auto" and config.target == "cuda":
        named = "cuda"
    if named == "cuda":
        return True
    if named == "auto" and subject.made._state()["door"] == "cuda.jit":
        return True  # host arrays are copied to the GPU and back
    return named != "cpu" and _any_device((*args, *kwargs.values()))


def _size(subject, args, kwargs) -> int:
    """How many elements or threads Python would compute."""
    at = subject.launcher
    sizes = [array.size for value in (*args, *kwargs.values()) for _, array in _leaves(value, "")]
    if at is not None:
        return at.ntasks if at.ntasks is not None else math.prod((*at.griddim, *at.blockdim))
    if isinstance(subject.made, _core.Forall) and args:
        space = args[0] if isinstance(args[0], tuple) else (args[0],)
        return math.prod(len(e) if isinstance(e, range) else int(e.stop) if isinstance(e, slice) else int(e) for e in space)
    return max(sizes, default=0)


class _Verify:
    """Check that a compiled function gives the same results when it is compiled or run in another way.

    `f` is called with copies of the arguments, where the arguments are or on `target`. Then a random sample of the
    elements is computed again; reductions and kernels are computed again completely. For device arrays, the CPU does this. For
    host arrays, it is done twice: by code without optimisations, and by Python, which is compared with code compiled with
    ``fma=False``. Functions of lanewise.reductions are compared with NumPy's on the host.

    f: a compiled function, a kernel with its grid (``k[grid, block]``), or a function of lanewise.reductions.
    sample: how many elements are computed again. Kernels and reductions with more elements are not run in Python.
    ulp: how far two floats may be apart, in units in the last place; with None, as far as the error bounds of the functions in
    use allow (page "Differences" of the documentation). Integers and booleans must be equal. NaN equals NaN. Sums in reductions, gufuncs and functions
    with prange may be computed in another order: their rounding errors, relative to the sum of the absolute values, are
    allowed as well.
    atol: an absolute difference that is always allowed, for small results that are differences of large numbers (cancellation).
    raise_: True raises `lanewise.verify.Mismatch` if results differ.

    Returns a report with `ok`, `n_checked`, `worst_ulp` and `differences`. While Python computes, the setting `target` is
    "python" for the whole process.

    >>> import numpy as np, lanewise as lw
    >>> @lw.vectorize
    ... def f(x, n):
    ...     return x * n + 1
    >>> report = lw.verify(f, np.arange(1000.0), 3)
    >>> report.ok, report.worst_ulp, report.differences
    (True, 0.0, [])
    """

    Mismatch = Mismatch
    Report = Report
    Difference = Difference

    def __call__(self, f, /, *args, sample=10_000, target=None, raise_=False, ulp=None, atol=0.0, **kwargs):
        return _verify(f, args, kwargs, sample, target, raise_, ulp, atol)


verify = _Verify()

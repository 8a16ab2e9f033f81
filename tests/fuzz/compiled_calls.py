"""Random calls of NumPy's functions, methods and attributes inside functions of `njit`, against NumPy running the same text.

A statement is one call, or a chain of two or three, an operator on whole arrays, a subscript or an assignment, together with the
parameters that it needs. A program has several statements, none of which shares a parameter with another one, so that each can be
judged alone: values, dtype, shape, number or array, whether memory is shared with an argument, what was written into the arguments,
and the class of an exception. A statement that is refused with a CompileError is not a problem, but it is counted by code and message.

    python tests/fuzz/run.py --calls --count 2000                              batches in child processes, so that a crash is told
    python tests/fuzz/compiled_calls.py --count 2000 [--only median] [--show 2]    also counts what is refused
"""

from __future__ import annotations

import argparse
import random
import re
import sys
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import lanewise as lw

sys.path.insert(0, str(Path(__file__).resolve().parent))
from check import Problem, define  # noqa: E402

HEAD = "import math\nimport operator\nimport numpy as np\n"
BOOL, SIGNED, UNSIGNED, FLOATS, COMPLEX = "?", "bhil", "BHIL", "efd", "FD"
INTEGERS = SIGNED + UNSIGNED
REAL = BOOL + INTEGERS + FLOATS
EVERY = REAL + COMPLEX
LAPACK = "fdFDl"
BATCH, STATEMENTS, SETS = 4, 4, 4
REFUSED: Counter[str] = Counter()
COUNTS: Counter[str] = Counter()


class Parameter(NamedTuple):
    """A parameter of a statement: `shape` and `values` are asked anew for each set of arguments; ndim is -1 for a NumPy scalar."""

    name: str
    dtype: str
    ndim: int
    layout: str
    shape: Callable[[Draw, dict[str, tuple[int, ...]]], tuple[int, ...]]
    values: Any


class Statement(NamedTuple):
    name: str
    parameters: list[Parameter]
    lines: list[str]  # the last one is the expression of the result
    mode: str  # how values are compared
    checked: bool  # has subscripts whose bounds must be checked


# ---- arguments ----


class Draw:
    """Draws arguments."""

    def __init__(self, seed: str) -> None:
        self.random, self.numbers = random.Random(seed), np.random.default_rng(list(seed.encode()))

    def maybe(self, p: float = 0.5) -> bool:
        return self.random.random() < p

    def shape(self, ndim: int) -> tuple[int, ...]:
        return tuple(self.random.choices([0, 1, 2, 3, 3, 4, 4, 5], k=ndim))

    def values(self, dtype: str, shape: tuple[int, ...], kind: Any) -> np.ndarray:
        of = np.dtype(dtype)
        if isinstance(kind, tuple):
            return np.asarray(self.numbers.integers(kind[0], max(kind[1], kind[0] + 1), shape)).astype(of)
        if of.kind == "b":
            return np.asarray(self.numbers.random(shape) < 0.5)
        if of.kind in "iu":
            made = np.asarray(self.numbers.integers(0 if of.kind == "u" or kind == "positive" else -9, 10, shape)).astype(of)
            special = [np.iinfo(of).max, np.iinfo(of).min, np.iinfo(of).max - 1]
        else:
            made = np.asarray(self.numbers.normal(size=shape) * self.random.choice([1, 3]))
            if self.maybe(0.4):
                made = np.asarray(np.rint(made * 2) / 2)
            if kind == "positive":
                made = np.abs(made) + 0.25
            made = made.astype(of)
            if of.kind == "c":
                made = np.asarray(made + 1j * np.rint(self.numbers.normal(size=shape) * 2)).astype(of)
            special = [np.nan, np.inf, -np.inf, 0.0, -0.0]
            if kind == "any":
                special += [np.finfo(of).max, np.finfo(of).tiny, np.finfo(of).smallest_subnormal]
        if made.size and kind in ("any", "mild") and (of.kind in "fc" or kind == "any") and self.maybe(0.3):
            flat = made.reshape(-1)
            for at in self.numbers.integers(0, flat.size, 2):
                flat[at] = self.random.choice(special)
        return np.sort(made, axis=None).reshape(made.shape) if kind == "sorted" else made

    def laid_out(self, x: np.ndarray, layout: str) -> np.ndarray:
        """The same elements in a layout."""
        if x.ndim == 0 or layout == "C":
            return x
        if layout == "F":
            return np.asfortranarray(x)
        if layout == "steps":
            wide = np.zeros((*x.shape[:-1], 2 * x.shape[-1] + 1), x.dtype)
            wide[..., 1::2] = x
            return wide[..., 1::2]
        if layout == "reversed":
            return x[::-1].copy()[::-1]
        if layout == "window":
            wide = np.zeros(tuple(n + 2 for n in x.shape), x.dtype)
            inner = wide[(slice(1, -1),) * x.ndim]
            inner[...] = x
            return inner
        return np.broadcast_to(x[:1].copy(), x.shape) if len(x) else x  # the same row again and again, which nobody may write


def arguments_of(statement: Statement, seed: str) -> list:
    """One set of arguments: the same seed gives equal ones."""
    draw, made, shapes, passed = Draw(seed), [], {}, used(statement)
    for p in statement.parameters:
        shape = shapes[p.name] = p.shape(draw, shapes)
        kind = p.values(shapes) if callable(p.values) else p.values
        x = draw.values(p.dtype, shape, kind)
        if p in passed:
            made.append(x[()] if p.ndim < 0 else draw.laid_out(x, p.layout))
    return made


def used(statement: Statement) -> list[Parameter]:
    """The parameters that the text has; others only give a shape."""
    text = "\n".join(statement.lines)
    return [p for p in statement.parameters if re.search(rf"\b{p.name}\b", text)]


# ---- statements ----


class Writer:
    """Draws a statement."""

    def __init__(self, rng: random.Random, prefix: str) -> None:
        self.rng, self.prefix = rng, prefix
        self.parameters: list[Parameter] = []
        self.ndim: dict[str, int] = {}
        self.dtype: dict[str, str] = {}
        self.lines: list[str] = []
        self.mode, self.checked, self.plain = "exact", False, False

    def maybe(self, p: float = 0.5) -> bool:
        return self.rng.random() < p

    def one(self, *choices: Any) -> Any:
        return self.rng.choice(choices)

    def bad(self, good: str, *bad: str) -> str:
        """good, or now and then what the function refuses."""
        return good if self.maybe(0.93) else self.one(*bad)

    def near(self, mode: str) -> None:
        self.mode = mode

    def array(self, chars: str = EVERY, ndim: int | None = None, shape: Any = None, values: Any = "any", layout: str = "") -> str:
        """The name of a new parameter. shape: the name of another array, whose shape it has, or a function."""
        name = f"{self.prefix}{'xyzuvw'[len(self.parameters)]}"
        ndim = self.one(0, 1, 1, 1, 2, 2, 2, 3) if ndim is None else ndim
        if isinstance(shape, str):
            other, ndim = shape, self.ndim[shape]
            if ndim and self.maybe(0.06):
                shape = None  # another shape after all
            else:
                shape = lambda draw, shapes: shapes[other]  # noqa: E731
        if shape is None:
            shape = lambda draw, shapes: draw.shape(ndim)  # noqa: E731
        layout = layout or self.one("C", "C", "C", "F", "steps", "reversed", "window", "rows")
        self.parameters.append(Parameter(name, self.one(*chars), ndim, layout, shape, values))
        self.ndim[name], self.dtype[name] = ndim, self.parameters[-1].dtype
        return name

    def along(self, other: str, axis: int = 0, chars: str = EVERY, values: Any = "any") -> str:
        """One axis, as long as this one of the other array."""
        return self.array(chars, 1, lambda draw, shapes: (shapes[other][axis],) if shapes[other] else draw.shape(1), values)

    def broadcast(self, other: str, chars: str = EVERY, values: Any = "any") -> str:
        """An array that broadcasts with another one, mostly."""
        less = self.rng.randrange(self.ndim[other] + 1) if self.maybe(0.3) else 0
        ones = [self.maybe(0.25) for _ in range(self.ndim[other] - less)]

        def shape(draw: Draw, shapes: dict) -> tuple[int, ...]:
            return tuple(1 if one else n for one, n in zip(ones, shapes[other][less:]))

        return self.array(chars, len(ones), shape if self.maybe(0.94) else None, values)

    def indices(self, other: str, axis: int = 0, ndim: int = 1, low: int = -1) -> str:
        """Places along an axis of another array."""
        far = 0 if self.maybe(0.9) else 1
        return self.array("bhilBIL" if low == 0 else "bil", ndim, None, lambda shapes: (low * (shapes[other][axis] if shapes[other] else 0), (shapes[other][axis] if shapes[other] else 1) + far))

    def matrix(self, chars: str = LAPACK, values: Any = "finite", square: bool = True) -> str:
        return self.array(chars, 2, lambda draw, shapes: (n := draw.random.randrange(5), n if square and draw.maybe(0.95) else draw.random.randrange(4)), values)

    def scalar_parameter(self, chars: str, values: Any) -> str:
        name = self.array(chars, 0, lambda draw, shapes: (), values)
        self.parameters[-1] = self.parameters[-1]._replace(ndim=-1)
        return name

    def scalar(self, chars: str = EVERY, values: Any = "any") -> str:
        """A literal, or a parameter that is a NumPy scalar."""
        if self.maybe(0.4):
            return self.scalar_parameter(chars, values)
        whole = ["0", "1", "2", "3", *([] if chars[0] in "BHIL" else ["-1", "-2"])]
        real = ["0.5", "-1.5", "2.0", *(["np.nan", "np.inf"] if values == "any" else []), "np.float32(1.5)", "np.float64(0.25)"]
        return self.one(*whole, "100", *(real if any(c in chars for c in FLOATS) else []), *(["1j", "1.5+2j"] if "F" in chars else []), *(["True"] if "?" in chars else []), "np.int8(3)")

    def integer(self, low: int, high: int) -> str:
        """An int as a literal, a NumPy scalar or an extent."""
        number = self.rng.randint(low, high)
        if self.maybe(0.1):
            return self.scalar_parameter("bilIL" if low >= 0 else "bil", (low, high + 1))
        return f"np.{self.one('int8', 'uint8', 'int64', 'uint64', 'int32')}({number})" if number >= 0 and self.maybe(0.1) else str(number)

    def dtyped(self, chars: str = EVERY) -> str:
        return f"np.{np.dtype(self.one(*chars)).name}" if self.maybe(0.9) else f"'{np.dtype(self.one(*chars)).name}'"

    def axis(self, ndim: int) -> str:
        n = max(ndim, 1)
        return self.bad(str(self.rng.randrange(-n, n)), str(ndim), str(-ndim - 1), "np.int64(0)", "0.5")

    def axes(self, ndim: int) -> str:
        if self.maybe(0.2):
            return "None"
        if self.maybe(0.7):
            return self.axis(ndim)
        some = [d - (ndim if self.maybe(0.3) else 0) for d in self.rng.sample(range(ndim), self.rng.randint(0, ndim))]
        return self.bad(str(tuple(some)), "(0, 0)", f"({ndim},)")

    def some(self, p: float = 0.35, **drawers: Callable[[], Any]) -> str:
        """Keywords, each of which is there in one call of three."""
        return "".join(f", {name}={draw()}" for name, draw in drawers.items() if self.maybe(p))

    def flag(self) -> str:
        return self.one("True", "False")

    def seen(self, x: str) -> str:
        """The array, or a view of it or a new array with as many axes."""
        if self.maybe(0.75) or not self.ndim[x]:
            return x
        views = [f"{x}[::-1]", f"{x}[1:]", f"{x}[::2]", f"{x}[:-1]", f"{x}.T", f"{x}.copy()", f"{x}[...]", f"{x}[-3:]"]
        return self.one(*views, *([f"{x}[:, ::-1]", f"{x}[:, 1:]", f"{x}.T[::2]"] if self.ndim[x] > 1 else []))

    def called(self, name: str, x: str, rest: str) -> str:
        """As a function or as a method."""
        rest = rest.removeprefix(", ")
        of = x if x.isidentifier() or x[-1] in "])" else f"({x})"
        return f"{of}.{name}({rest})" if self.maybe(0.4) else f"np.{name}({x}{', ' if rest else ''}{rest})"

    # the whole

    def tail(self) -> str:
        """A further call on the result."""
        tails = ["[::-1]", "[1:]", ".ravel()", ".T", ".copy()", ".reshape(-1)", ".size", ".shape", ".ndim", ".sum()", ".max()", ".sum(axis=0)", "[None]", "[..., 0]", ".astype(np.complex128)", ".any()", "[:, None]", ".min(axis=-1)",
                 ".flatten()", "[-1]", ".nbytes", ".itemsize", ".cumsum()", ".argmax()", ".repeat(2)", ".mean()"]
        chosen = self.one(*(tails if self.mode != "function" else [text for text in tails if text not in (".nbytes", ".itemsize")]))  # "float32 for both": differences.md
        if chosen in ("[..., 0]", "[-1]"):
            self.checked = True
        if chosen in (".sum()", ".sum(axis=0)", ".cumsum()", ".mean()"):
            self.mode = "scaled" if self.mode in ("exact", "zeros", "relative", "function") else self.mode
        if chosen in (".max()", ".min(axis=-1)", ".argmax()") and self.mode == "exact":
            self.mode = "zeros"
        return chosen

    def of(self, text: str) -> str:
        """Whether NumPy gives an array with axes or a number for the first arguments."""
        value = wanted(Statement("", self.parameters, [*self.lines, text], "exact", False), "0", 0).value
        return "array" if np.ndim(value) and isinstance(value, np.ndarray) else "number" if isinstance(value, (np.generic, bool, int, float, complex)) else "other"

    def statement(self, only: str = "") -> Statement:
        names = [name for name in FORMS if only in name.split("/")] if only else list(FORMS)
        name = self.rng.choice(names)
        text = FORMS[name](self)
        if text and not self.plain and self.mode != "shape":
            if self.maybe(0.12):
                self.lines.append(f"{self.prefix}t = {text}")
                text = f"{self.prefix}t"
            for _ in range(self.one(0, 0, 0, 0, 0, 1, 1, 2)):
                if self.of(text) == "array":
                    text = (text if text.isidentifier() else f"({text})") + self.tail()
            if self.maybe(0.3) and self.of(text) == "number":
                text = f"np.full(2, {text})"  # which has the dtype of a number
        return Statement(name, self.parameters, [*self.lines, text or "None"], self.mode, self.checked)


FORMS: dict[str, Callable[[Writer], str]] = {}


def form(names: str) -> Callable:
    """Registers what draws the text of calls of these functions."""
    def register(draw: Callable[[Writer], str]) -> Callable[[Writer], str]:
        assert names not in FORMS, names
        FORMS[names] = draw
        return draw

    return register


def _each(names: str, draw: Callable[[Writer, str], str], of: str = "") -> None:
    for name in names.split():
        assert of + name not in FORMS, name
        FORMS[of + name] = lambda w, name=name: draw(w, name)


# reductions
def _reduced(w: Writer, name: str) -> str:
    minmax = name[-3:] in ("max", "min")
    x = w.array(EVERY.replace("e", "") if "prod" in name else EVERY, values="any" if minmax or name in ("all", "any") else "mild")
    w.near("zeros" if minmax else "exact" if name in ("all", "any") else "relative" if "prod" in name else "scaled")
    how: dict[str, Callable[[], Any]] = {"axis": lambda: w.axes(w.ndim[x]), "keepdims": w.flag}
    if not minmax and name not in ("all", "any"):
        how["dtype"] = lambda: w.dtyped("dfD" + "l" * (name in ("sum", "prod")) if w.dtype[x] in INTEGERS + BOOL else "DF" if w.dtype[x] in COMPLEX else "dD")
    if name[-3:] in ("std", "var"):
        how["ddof"] = lambda: w.one("0", "1", "2", "0.5")
    if name in ("sum", "prod", "max", "min", "amax", "amin"):
        how["initial"] = lambda: w.scalar(w.dtype[x] + ("" if w.dtype[x] in INTEGERS + BOOL else FLOATS), "finite")
    rest = w.some(0.4, **how)
    if w.maybe(0.06):
        w.lines.append(f"{w.prefix}o = np.zeros({w.one('()', '()', '(3,)', '(2, 3)', '4', '(2,)')}, {x}.dtype)")
        rest += f", out={w.prefix}o"
    return f"np.{name}({w.seen(x)}{rest})" if name.startswith("nan") or name in ("amax", "amin") else w.called(name, w.seen(x), rest)


_each("sum prod mean std var max min amax amin nanmax nanmin nansum nanprod nanmean nanstd nanvar all any", _reduced)
_each("argmax argmin", lambda w, name: w.called(name, w.seen(x := w.array()), w.some(0.5, axis=lambda: w.bad(w.axis(w.ndim[x]), "None"), keepdims=w.flag)))
_each("cumsum cumprod", lambda w, name: (w.near("scaled" if name == "cumsum" else "relative"), w.called(name, w.seen(x := w.array(EVERY.replace("e", ""), values="mild")), w.some(axis=lambda: w.axis(w.ndim[x]), dtype=lambda: w.dtyped("dD" if w.dtype[x] not in COMPLEX else "D"))))[1])
form("count_nonzero")(lambda w: f"np.count_nonzero({w.seen(x := w.array())}{w.some(0.5, axis=lambda: w.axes(w.ndim[x]), keepdims=w.flag)})")
form("ptp")(lambda w: f"np.ptp({w.seen(x := w.array(REAL, values='mild'))}{w.some(0.5, axis=lambda: w.axis(w.ndim[x]))})")
_each("median nanmedian", lambda w, name: (w.near("scaled"), f"np.{name}({w.seen(x := w.array(REAL, values='mild'))}{w.some(0.5, axis=lambda: w.axes(w.ndim[x]), keepdims=w.flag)})")[1])


def _quantiles(w: Writer, name: str) -> str:
    x = w.array(REAL[1:], values="finite")  # "next to infinities, NaN in some versions": differences.md
    w.near("scaled")
    one = lambda: w.bad(w.one("0.3", "0.0", "1.0", "0", "1", "0.5", "0.75"), "1.5", "-0.1")  # noqa: E731
    q = one() if w.maybe() else f"np.array([{one()}, {one()}, 0.5])" if w.maybe() else f"[{one()}, 0.25]"
    if "percentile" in name:
        q = re.sub(r"-?\d+(\.\d+)?", lambda number: str(float(number[0]) * 100), q)
    return f"np.{name}({w.seen(x)}, {q}{w.some(0.5, axis=lambda: w.axis(w.ndim[x]))})"


_each("quantile percentile nanquantile nanpercentile", _quantiles)


form("average")(lambda w: (x := w.array(values="finite"), w.near("scaled"), f"np.average({w.seen(x)}{w.some(0.6, axis=lambda: w.axis(w.ndim[x]), weights=lambda: w.array(REAL, shape=x, values='positive') if w.maybe(0.7) else w.along(x, -1, REAL, 'positive'))})")[2])


# shapes
_each("copy ravel", lambda w, name: w.called(name, w.seen(w.array()), ""))
_each("flatten nonzero", lambda w, name: f"{w.seen(w.array())}.{name}()", "method ")
_each("atleast_1d atleast_2d fliplr flipud ndim shape argwhere flatnonzero nonzero asarray ascontiguousarray array conj", lambda w, name: f"np.{name}({w.seen(w.array())})")
_each("T flat real imag size ndim shape nbytes itemsize", lambda w, name: f"{w.array()}.{name}" + ("[::2]" if name == "flat" else ""), "attribute ")
_each("zeros_like ones_like", lambda w, name: f"np.{name}({w.seen(w.array())}{w.some(dtype=w.dtyped)})")


form("reshape")(lambda w: w.called("reshape", w.seen(x := w.array()), w.bad(w.one("-1", f"({x}.size, 1)", "(1, -1)", "(-1, 1)", f"{x}.shape[::-1]", f"(*{x}.shape, 1)", f"{x}.size", "(-1,)"), "(2, -1)", "(-1, -1)", "(3, 2)", "(7,)", "(0, -1)") + f"{w.some(0.2, order=lambda: w.one(repr('C'), repr('F'), repr('A')))}"))
form("transpose")(lambda w: w.called("transpose", w.seen(x := w.array()), w.bad(str(tuple(w.rng.sample(range(w.ndim[x]), w.ndim[x]))), "(0, 0)", "(2, 1, 0)", "(-1, 0)") if w.maybe(0.7) else ""))
form("swapaxes")(lambda w: w.called("swapaxes", w.seen(x := w.array()), f"{w.axis(w.ndim[x])}, {w.axis(w.ndim[x])}"))
form("moveaxis")(lambda w: f"np.moveaxis({w.seen(x := w.array())}, {w.axis(w.ndim[x])}, {w.axis(w.ndim[x])})")
form("squeeze")(lambda w: w.called("squeeze", w.array(ndim=(n := w.one(1, 2, 3)), shape=lambda draw, shapes: (draw.random.choice([0, 1, 3]),) * (n - 1) + (1,)), f"axis={w.bad(w.one('-1', str(n - 1)), '0', '5')}"))
form("expand_dims")(lambda w: f"np.expand_dims({w.seen(x := w.array())}, {w.axis(w.ndim[x] + 1) if w.maybe(0.7) else w.axes(w.ndim[x] + 2)})")
form("flip")(lambda w: f"np.flip({w.seen(x := w.array())}{w.some(0.7, axis=lambda: w.axes(w.ndim[x]))})")
form("rot90")(lambda w: f"np.rot90({w.seen(x := w.array(ndim=w.one(1, 2, 2, 2, 3)))}{w.some(0.5, k=lambda: w.integer(-5, 5), axes=lambda: w.bad(w.one('(0, 1)', '(1, 0)', '(-1, 0)'), '(0, 0)', '(0, 3)'))})")
form("roll")(lambda w: f"np.roll({w.seen(x := w.array())}, {w.integer(-5, 5)}{w.some(0.6, axis=lambda: w.axis(w.ndim[x]))})")
form("repeat")(lambda w: w.called("repeat", w.seen(x := w.array()), (w.integer(0, 3) if w.maybe(0.6) else w.along(x, w.rng.randrange(-1, 1), "il", (0, 4))) + w.some(0.6, axis=lambda: w.axis(w.ndim[x]))))
form("tile")(lambda w: f"np.tile({w.seen(w.array())}, {w.one(w.integer(0, 3), '(2, 1)', '(1, 0, 2)', '(2,)', '(2, 2)')})")
form("broadcast_to")(lambda w: f"np.broadcast_to({w.seen(x := w.array())}, {w.one(f'(2, *{x}.shape)', f'{x}.shape', '(3, 4)', f'(1, 2, *{x}.shape)', '(4,)', '(2, 3, 4)')})")
form("size")(lambda w: f"np.size({w.seen(x := w.array())}{w.some(axis=lambda: w.axis(w.ndim[x]))})")
_each("split array_split", lambda w, name: f"np.{name}({w.seen(x := w.array())}, {w.one('1', '2', '3', '(1, 2)', '[1]', '(0, 9)', '(-1,)', '0')}{w.some(0.5, axis=lambda: w.axis(w.ndim[x]))})[0]")


# joining
def _joined(w: Writer, name: str) -> str:
    x = w.array(ndim=w.one(0, 1, 1, 2, 2, 3))
    parts = [x, *(w.array(shape=x) for _ in range(w.one(0, 1, 1, 2)))]
    axis = w.some(0.6, axis=lambda: w.bad(w.axis(w.ndim[x] + (name == "stack")), "None")) if name in ("concatenate", "stack") else ""
    return f"np.{name}(({', '.join(w.seen(p) if w.maybe(0.2) else p for p in parts)},){axis})"


_each("concatenate stack vstack hstack column_stack", _joined)
form("append")(lambda w: f"np.append({w.seen(x := w.array())}, {w.one(w.array(shape=x), w.scalar(), w.array())}{w.some(axis=lambda: w.axis(w.ndim[x]))})")
form("delete")(lambda w: f"np.delete({w.seen(x := w.array())}, {w.integer(-3, 3) if w.maybe() else w.indices(x, 0) if w.maybe(0.8) else w.one('slice(1, 3)', '[0, 1]')}{w.some(0.5, axis=lambda: w.axis(w.ndim[x]))})")
form("insert")(lambda w: f"np.insert({w.seen(x := w.array())}, {w.integer(-3, 3) if w.maybe(0.7) else w.indices(x, 0)}, {w.one(w.scalar(w.dtype[x]), w.scalar(w.dtype[x]), w.array(w.dtype[x], 1))}{w.some(0.5, axis=lambda: w.axis(w.ndim[x]))})")
form("pad")(lambda w: f"np.pad({w.seen(x := w.array())}, {w.one('1', '(1, 2)', f'((1, 0),) * {w.ndim[x]}', '((0, 2), (1, 1))', '0', '-1')}{w.some(0.6, mode=lambda: w.one(*map(repr, ('constant', 'edge', 'reflect', 'symmetric', 'wrap'))))}{w.some(0.1, constant_values=lambda: w.scalar(w.dtype[x]))})")
form("meshgrid")(lambda w: f"np.meshgrid({w.array(ndim=w.one(0, 1, 1, 1, 2))}, {w.array(ndim=1)}{w.some(0.5, indexing=lambda: w.bad(w.one(repr('xy'), repr('ij')), repr('x')))})[{w.one(0, 1)}]")


# choosing and searching
form("where")(lambda w: f"np.where({w.seen(m := w.array('?????lde'))}, {w.one(w.broadcast(m), w.scalar())}, {w.one(w.broadcast(m), w.scalar())})")
form("clip")(lambda w: (w.near("zeros"), w.called("clip", w.seen(x := w.array(REAL[1:])), f"{w.one(w.scalar(w.dtype[x]), w.broadcast(x, w.dtype[x]), w.broadcast(x, REAL), 'None')}, {w.one(w.scalar(w.dtype[x]), w.broadcast(x, w.dtype[x]), 'None')}"))[1])
form("select")(lambda w: f"np.select([{(m := w.array('?'))}, {w.broadcast(m, '?')}], [{w.broadcast(m)}, {w.scalar()}]{w.some(default=w.scalar)})")
_each("diag tril triu", lambda w, name: f"np.{name}({w.seen(w.array(ndim=w.one(0, 1, 1, 2, 2, 3)))}{w.some(0.5, k=lambda: w.integer(-3, 3))})")
form("diagonal")(lambda w: w.called("diagonal", w.seen(w.array(ndim=w.one(1, 2, 2, 2, 3))), w.some(0.5, offset=lambda: w.integer(-4, 4))))
form("trace")(lambda w: (w.near("scaled"), w.called("trace", w.seen(w.array(ndim=w.one(1, 2, 2, 2), values="mild")), w.some(0.5, offset=lambda: w.integer(-4, 4))))[1])  # "`trace` accepts one matrix": supported.md
form("sort")(lambda w: (w.near("zeros"), f"np.sort({w.seen(x := w.array())}{w.some(0.5, axis=lambda: w.bad(w.axis(w.ndim[x]), 'None'))}{w.some(0.2, kind=lambda: repr('stable'))})")[1])
form("argsort")(lambda w: w.called("argsort", w.seen(x := w.array()), f"{w.some(0.5, axis=lambda: w.bad(w.axis(w.ndim[x]), 'None'))}, kind='stable'"))  # "`argsort` is always stable"
form("partition")(lambda w: (w.near("zeros"), setattr(w, "checked", True), f"np.partition({w.array(ndim=(n := w.one(1, 1, 2)), shape=lambda draw, shapes: (*draw.shape(n - 1), draw.random.randrange(1, 6)))}, {(k := w.one('0', '1', '-1', '2', '4'))})[..., {k}]")[2])  # "may put the elements … in another order"
form("argpartition")(lambda w: (w.near("zeros"), setattr(w, "checked", True), f"{(x := w.array(ndim=1))}[np.argpartition({x}, {(k := w.one('0', '1', '-1', '2', '4'))})][{k}]")[2])


form("unique")(lambda w: (w.near("zeros"), f"np.unique({w.seen(w.array())}{(how := w.some(0.3, return_index=w.flag, return_inverse=w.flag, return_counts=w.flag))})" + (f"[{w.one(0, 1)}]" if "True" in how else ""))[1])
_each("union1d intersect1d setdiff1d", lambda w, name: (w.near("zeros"), f"np.{name}({w.seen(w.array())}, {w.seen(w.array())})")[1])
form("isin")(lambda w: f"np.isin({w.seen(w.array())}, {w.one(w.array(), w.array(), '[1, 2]', w.scalar())})")
form("take")(lambda w: w.called("take", w.seen(x := w.array()), f"{w.one(w.integer(-3, 3), w.indices(x, a := -1), w.indices(x, a, 2), '[0, -1]')}{w.some(0.6, axis=lambda: w.axis(w.ndim[x]))}"))
form("extract")(lambda w: f"np.extract({(m := w.array('??ld'))}, {w.array(shape=m)})")
form("searchsorted")(lambda w: w.called("searchsorted", w.array(ndim=w.one(1, 1, 1, 1, 2), values="sorted"), f"{w.one(w.array(), w.scalar(), '[1, 2]')}{w.some(0.5, side=lambda: w.bad(w.one(repr('left'), repr('right')), repr('x')))}"))
form("digitize")(lambda w: f"np.digitize({w.seen(w.array(REAL))}, {w.one((b := w.array(REAL, 1, values='sorted')), f'{b}[::-1]', '[0, 1, 2]', w.array(REAL, 1))}{w.some(0.5, right=w.flag)})")
form("bincount")(lambda w: (w.near("scaled"), f"np.bincount({(x := w.array('bBhilIL?', w.one(1, 1, 1, 2), lambda draw, shapes: (draw.random.randrange(1, 6),) * w.ndim[w.parameters[0].name], (w.one(0, 0, 0, -1), 6)))}{w.some(0.5, weights=lambda: w.array(REAL, shape=x, values='finite'), minlength=lambda: w.bad(w.integer(0, 9), '-1'))})")[1])
form("histogram")(lambda w: (w.near("scaled"), f"np.histogram({w.seen(w.array(REAL.replace('e', '').replace('?', ''), values='finite'))}{w.some(0.6, bins=lambda: w.bad(w.one('1', '3', '5', '[0, 1, 2]', w.array('dl', 1, values='sorted')), '0', '[2, 1]'), range=lambda: w.bad(w.one('(0, 3)', '(-1.5, 2.5)', '(1.0, 1.0)'), '(3, 0)'))})[{w.one(0, 1)}]")[1])
form("unravel_index")(lambda w: f"np.unravel_index({w.array('il', w.one(0, 1, 2), None, (0, 13))}, {w.one('(3, 4)', '(12,)', '(2, 2, 3)', '(5, 2)')}{w.some(order=lambda: w.one(repr('C'), repr('F')))})")


# what changes its argument
def _changes(w: Writer, line: str) -> str:
    w.plain = True
    w.lines.append(line)
    return ""


def _value(w: Writer, x: str) -> str:
    """A number that can be stored in x."""
    return w.scalar(w.dtype[x] if w.dtype[x] not in FLOATS + COMPLEX else FLOATS + w.dtype[x])


form("fill")(lambda w: _changes(w, f"{(x := w.array())}.fill({_value(w, x)})"))
form("method sort")(lambda w: (w.near("zeros"), _changes(w, f"{(x := w.array(ndim=w.one(1, 2, 3)))}.sort({w.some(0.5, axis=lambda: w.axis(w.ndim[x])).removeprefix(', ')})"))[1])
form("put")(lambda w: _changes(w, (lambda x, ind, v: f"np.put({x}, {ind}, {v})" if w.maybe() else f"{x}.put({ind}, {v})")(x := w.array(), w.one(w.integer(-3, 3), w.indices(x, 0), "[0, -1]"), w.one(_value(w, x), w.array(w.dtype[x], 1)))))
_each("place putmask", lambda w, name: _changes(w, f"np.{name}({(x := w.array())}, {w.array('???l', shape=x)}, {w.one(w.array(w.dtype[x], 1), w.array(w.dtype[x], shape=x)) if name == 'place' else w.one(_value(w, x), w.array(w.dtype[x], 1), w.array(w.dtype[x], shape=x))})"))
form("copyto")(lambda w: _changes(w, f"np.copyto({(x := w.array())}, {w.one(_value(w, x), w.broadcast(x), w.broadcast(x, w.dtype[x]))}{w.some(where=lambda: w.broadcast(x, '?'))}{w.some(0.3, casting=lambda: w.one(*map(repr, ('no', 'safe', 'same_kind', 'equiv'))))})"))
form("fill_diagonal")(lambda w: _changes(w, f"np.fill_diagonal({(x := w.array(ndim=w.one(1, 2, 2, 2, 3)))}, {w.one(_value(w, x), w.array(w.dtype[x], 1))}{w.some(wrap=w.flag)})"))


# making
form("full")(lambda w: f"np.full({w.one('3', '(2, 3)', '()', '0', '(2, 0)', '-1')}, {w.scalar()}{w.some(0.2, dtype=lambda: w.dtyped('dD'))})")
form("full_like")(lambda w: f"np.full_like({(x := w.array())}, {_value(w, x)})")
_each("zeros ones", lambda w, name: f"np.{name}({w.one('3', '(2, 3)', '()', '0', '(2, 0)', '(1, 2, 3)', '-1')}{w.some(0.7, dtype=w.dtyped)})")
form("eye")(lambda w: f"np.eye({w.integer(0, 4)}{w.some(0.5, M=lambda: w.integer(0, 4), k=lambda: w.integer(-3, 3), dtype=w.dtyped)})")
form("identity")(lambda w: f"np.identity({w.integer(0, 4)}{w.some(0.5, dtype=w.dtyped)})")
form("arange")(lambda w: f"np.arange({w.one(w.rng.randint(-3, 6), '0.5, 3', '1, 9, 2', '5, 0, -1', '0, 1, 0.25', '3, 1', '2.0', '0, 1, 0', 'np.int64(4)')}{w.some(dtype=lambda: w.dtyped('lidfD'))})")
form("linspace")(lambda w: (w.near("scaled"), f"np.linspace({w.scalar(REAL[1:], 'finite')}, {w.scalar(REAL[1:], 'finite')}, {w.bad(w.integer(0, 7), '-1')}{w.some(endpoint=w.flag, dtype=lambda: w.dtyped('dfD'))})")[1])
_each("bartlett blackman hamming hanning", lambda w, name: (w.near("scaled"), f"np.{name}({w.integer(-1, 8)})")[1])
form("kaiser")(lambda w: (w.near("scaled"), f"np.kaiser({w.integer(-1, 8)}, {w.one('0.0', '5.0', '14', '-2.5')})")[1])
form("vander")(lambda w: (w.near("relative"), f"np.vander({w.array(values='finite', ndim=w.one(1, 1, 1, 2))}{w.some(0.5, N=lambda: w.integer(0, 4), increasing=w.flag)})")[1])


# computing
form("diff")(lambda w: f"np.diff({w.seen(x := w.array(values='mild'))}{w.some(0.5, n=lambda: w.bad(w.integer(0, 3), '-1'), axis=lambda: w.axis(w.ndim[x]))})")
form("ediff1d")(lambda w: f"np.ediff1d({w.seen(w.array(values='mild'))})")
form("gradient")(lambda w: (w.near("scaled"), f"np.gradient({w.seen(x := w.array(INTEGERS[:4] + 'fdFD', w.one(1, 1, 2), values='finite'))}{w.one('', ', 2.0', ', 0.5')}, axis={w.axis(w.ndim[x])}{w.some(edge_order=lambda: w.one(1, 2))})")[1])
form("trapezoid")(lambda w: (w.near("scaled"), f"np.trapezoid({(y := w.array(EVERY[1:], w.one(1, 1, 2), values='finite'))}{w.some(0.4, x=lambda: w.along(y, -1, REAL[1:], 'sorted'))}{w.some(0.2, dx=lambda: w.one('0.5', '2'))}{w.some(0.3, axis=lambda: w.axis(w.ndim[y]))})")[1])
form("interp")(lambda w: (w.near("scaled"), f"np.interp({w.one(w.array(REAL, values='finite'), w.scalar(REAL, 'finite'))}, {(p := w.array(REAL[1:], 1, values='sorted'))}, {w.array(EVERY, shape=p, values='finite')}{w.some(left=lambda: w.scalar('d', 'finite'), right=lambda: '2.5')})")[1])
form("unwrap")(lambda w: (w.near("scaled"), f"np.unwrap({w.seen(x := w.array('bhilfd', values='finite'))}{w.some(discont=lambda: '2.0', axis=lambda: w.axis(w.ndim[x]), period=lambda: w.one('4', '6.0', '3'))})")[1])
form("polyval")(lambda w: (w.near("scaled"), f"np.polyval({w.array(values='finite', ndim=1, shape=lambda draw, shapes: (draw.random.randrange(1, 4),))}, {w.one(w.array(values='finite'), w.scalar(values='finite'))})")[1])
form("nan_to_num")(lambda w: f"np.nan_to_num({w.seen(w.array())}{w.some(nan=lambda: w.one('1.5', '0.0', '-1'), posinf=lambda: w.one('99.0', '7'), neginf=lambda: '-99.0')})")
_each("isclose allclose", lambda w, name: f"np.{name}({w.seen(x := w.array(values='mild'))}, {w.one(w.broadcast(x, values='mild'), w.scalar(values='mild'), x)}{w.some(rtol=lambda: '0.5', atol=lambda: '1.0', equal_nan=w.flag)})")
form("array_equal")(lambda w: f"np.array_equal({(x := w.array())}, {w.one(x, f'{x}.copy()', w.array(shape=x), w.array())}{w.some(equal_nan=w.flag)})")
_each("round around", lambda w, name: (w.near("relative"), f"np.{name}({w.seen(w.array(values='mild'))}{w.one('', ', 0', ', 1', ', 2', ', -1')})")[1])


def _rows(w: Writer, values: str = "finite", ndim: int | None = None) -> tuple[str, str]:
    """Operands of a product. "Products accept arrays of at most two dimensions": supported.md"""
    x = w.array(ndim=w.one(0, 1, 1, 2, 2, 2) if ndim is None else ndim, values=values)
    n = w.one(1, 1, 2, 2)
    return w.seen(x), w.array(ndim=n, shape=lambda draw, shapes: ((shapes[x][-1] if shapes[x] and draw.maybe(0.95) else 2), 3)[:n], values=values)


_each("dot matmul", lambda w, name: (w.near("scaled"), "np.{}({}, {})".format(name, *_rows(w)))[1])
form("method dot")(lambda w: (w.near("scaled"), "({}).dot({})".format(*_rows(w)))[1])
form("operator @")(lambda w: (w.near("scaled"), "{} @ {}".format(*_rows(w)))[1])
form("vdot")(lambda w: (w.near("scaled"), f"np.vdot({(x := w.array(ndim=w.one(0, 1, 1, 2), values='finite'))}, {w.array(shape=x, values='finite')})")[1])
form("inner")(lambda w: (w.near("scaled"), f"np.inner({(x := w.array(ndim=w.one(0, 1, 2), values='finite'))}, {w.one(w.array(shape=x, values='finite'), w.along(x, -1, values='finite'))})")[1])
_each("outer kron", lambda w, name: (w.near("scaled"), f"np.{name}({w.seen(w.array(ndim=w.one(0, 1, 1, 2), values='finite'))}, {w.array(ndim=w.one(0, 1, 1, 2), values='finite')})")[1])
form("cross")(lambda w: (w.near("scaled"), f"np.cross({(x := w.array(EVERY[1:], n := w.one(1, 2), lambda draw, shapes: (draw.random.choice([0, 1, 3]), 3)[-n:], 'finite'))}, {w.array(EVERY[1:], shape=x, values='finite')})")[1])
_each("convolve correlate", lambda w, name: (w.near("scaled"), f"np.{name}({w.array(ndim=w.one(1, 1, 1, 1, 2), values='finite')}, {w.array(ndim=1, values='finite')}{w.some(0.7, mode=lambda: w.bad(w.one(repr('full'), repr('same'), repr('valid')), repr('x')))})")[1])
form("cov")(lambda w: (w.near("scaled"), f"np.cov({w.array(EVERY[1:], 2, lambda draw, shapes: (2 + draw.random.randrange(2), 2 + draw.random.randrange(3)), 'finite')}{w.some(rowvar=w.flag, bias=w.flag, ddof=lambda: w.one(0, 1))})")[1])  # "a matrix with one row raises a `ValueError`": supported.md
form("corrcoef")(lambda w: (w.near("scaled"), f"np.corrcoef({w.array(EVERY[1:], 2, lambda draw, shapes: (2 + draw.random.randrange(2), 3 + draw.random.randrange(3)), 'finite')}{w.some(rowvar=w.flag)})")[1])


def _regular(w: Writer, chars: str = LAPACK) -> str:
    """A matrix that is far from singular."""
    return f"({(m := w.matrix(chars))} + 40 * np.eye({m}.shape[0], dtype={m}.dtype))"


_each("inv det slogdet", lambda w, name: (w.near("scaled"), f"np.linalg.{name}({_regular(w) if w.maybe(0.9) else w.array(values='finite')})" + ("[1]" if name == "slogdet" else ""))[1])
form("solve")(lambda w: (w.near("scaled"), f"np.linalg.solve({(a := _regular(w))}, {w.along(w.parameters[-1].name, 0, LAPACK, 'finite')})")[1])
form("cholesky")(lambda w: (w.near("scaled"), f"np.linalg.cholesky({w.matrix('dfl')} * 0 + 3 * np.eye({w.parameters[-1].name}.shape[0]))")[1])
_each("pinv matrix_rank cond", lambda w, name: (w.near("scaled"), f"np.linalg.{name}({_regular(w)})")[1])
form("eigvalsh")(lambda w: (w.near("scaled"), f"np.linalg.eigvalsh({(a := _regular(w, 'dfl'))} + {w.parameters[-1].name}.T)")[1])
form("svd")(lambda w: (w.near("scaled"), f"np.linalg.svd({w.matrix('dfl', 'finite', False)}, full_matrices=False)[1]")[1])
form("qr")(lambda w: (w.near("shape"), f"np.linalg.qr({w.matrix('dfFD', 'finite', False)}{w.some(mode=lambda: w.one(repr('reduced'), repr('complete'), repr('r')))})")[1])
form("lstsq")(lambda w: (w.near("scaled"), f"np.linalg.lstsq({(a := _regular(w, 'dfl'))}, {w.along(w.parameters[-1].name, 0, 'dfl', 'finite')})[0]")[1])
form("norm")(lambda w: (w.near("scaled"), f"np.linalg.norm({w.seen(x := w.array(ndim=w.one(1, 1, 2, 2, 3), values='finite'))}{w.some(0.4, ord=lambda: w.one('None', '1', '2', '-1', 'np.inf', '-np.inf', '0', '3', repr('fro'), repr('nuc')), axis=lambda: w.axes(w.ndim[x]), keepdims=w.flag)})")[1])
_each("random rand normal uniform", lambda w, name: (w.near("shape"), f"np.random.{name}({'2, 3' if name == 'rand' else w.one('', 'size=3', 'size=(2, 3)', 'size=()', 'size=0', 'size=-1')})")[1])


# operators and elementwise functions
ARITHMETIC = "+ - * / // % **".split()
UNARY = "sin cos tan arcsin arccos arctan sinh cosh tanh arcsinh arccosh arctanh exp exp2 expm1 log log2 log10 log1p sqrt cbrt degrees radians".split()
PLAIN = "absolute fabs negative positive sign conjugate floor ceil trunc rint signbit logical_not invert isnan isinf isfinite bitwise_count real imag frexp modf square".split()
BINARY = "add multiply subtract divide floor_divide remainder fmod power float_power divmod maximum minimum fmax fmin gcd lcm bitwise_and bitwise_or bitwise_xor left_shift right_shift equal not_equal less less_equal greater greater_equal logical_and logical_or logical_xor arctan2 hypot logaddexp logaddexp2 copysign nextafter heaviside ldexp".split()
_each(" ".join(UNARY), lambda w, name: (w.near("function"), f"np.{name}({w.seen(w.array('IilLefdFD', values='mild'))})")[1])
_each("reciprocal angle spacing", lambda w, name: (w.near("function"), f"np.{name}({w.seen(w.array('efdFD' if name == 'reciprocal' else 'efd' if name == 'spacing' else 'lLdfDF', values='mild'))})")[1])  # "`reciprocal` of an integer 0", "float32 for both": differences.md
form("sinc")(lambda w: (w.near("function"), f"np.sinc({w.seen(w.array('ilfdFD', values='mild'))})")[1])
_each(" ".join(PLAIN), lambda w, name: (w.near("function"), f"np.{name}({w.seen(w.array())})")[1])


def _binary(w: Writer, name: str) -> str:
    w.near("function")
    chars = EVERY if name not in ("power", "float_power") else "bilefd"
    x = w.array(chars, values="any" if name not in ("power", "float_power", "arctan2", "hypot", "logaddexp", "logaddexp2") else "finite")
    y = w.one(w.broadcast(x, chars, "any"), w.broadcast(x, w.dtype[x], "any"), w.scalar(w.dtype[x] if w.maybe() else chars))
    return f"np.{name}({w.seen(x)}, {y})"


_each(" ".join(BINARY), _binary)


@form("operators")
def _operators(w: Writer) -> str:
    w.near("function")
    op = w.one(*ARITHMETIC, "&", "|", "^", "<<", ">>", "<", "<=", ">", ">=", "==", "!=")
    # "operators on bools … int64 for all of them", "`float32 ** int32` … float32", "an integer to a negative power": differences.md
    chars = EVERY[1:] if op in [*ARITHMETIC, "<<", ">>"] else BOOL + INTEGERS if op in "&|^" else EVERY
    x = w.array("fdFD" if op == "**" else INTEGERS if op in ("<<", ">>") else chars, values="finite" if op == "**" else "any")
    same = w.dtype[x]
    other = same if op == "**" or w.maybe(0.4) else chars if op not in ("<<", ">>") else INTEGERS
    y = w.one(w.broadcast(x, other), w.broadcast(x, other), w.scalar(same if same not in FLOATS else FLOATS))
    left, right = (w.seen(x), y) if w.maybe(0.8) else (y, w.seen(x))
    if w.maybe(0.25) and op in [*ARITHMETIC, "&", "|", "^", "<<", ">>"]:
        w.lines.append(f"{x}{w.one('', '[...]', '[1:]', '[::-1]') if w.ndim[x] else '[...]'} {op}= {y}")
        w.plain = True
        return ""
    return f"{left} {op} {right}" if w.maybe(0.85) else f"({left} {op} {right}) {w.one('+', '*', '-')} {x}" if op in ARITHMETIC else f"{left} {op} {right}"


form("unary operators")(lambda w: (w.near("function"), f"{w.one('-', '~', '+')}{w.seen(w.array(INTEGERS + w.one('', FLOATS)))}")[1])
form("abs")(lambda w: (w.near("function"), f"abs({w.seen(w.array())})")[1])
_each("sum min max any all", lambda w, name: f"{name}({w.array('ld' if name != 'sum' else 'l', 1, values='finite')})", "builtin ")
form("math.dist/math.prod")(lambda w: (w.near("scaled"), w.one(lambda: f"math.dist({(x := w.array('d', 1, values='finite'))}, {w.array('d', shape=x, values='finite')})", lambda: f"math.prod({w.array('dl', 1, values='finite')})")())[1])


@form("ufunc out=")
def _with_output(w: Writer) -> str:
    w.near("function")
    x = w.array(EVERY[1:], values="mild")
    out = w.array("dfDl" if w.maybe() else w.dtype[x], shape=x)
    name = w.one("add", "multiply", "subtract", "maximum", "negative", "square", "sqrt", "less")
    w.lines.append(f"np.{name}({x}{'' if name in ('negative', 'square', 'sqrt') else ', ' + w.broadcast(x, w.dtype[x], 'mild')}, {w.one('out=', '')}{out})")
    w.plain = True
    return ""


# methods
form("astype")(lambda w: f"{w.seen(x := w.array(values='finite'))}.astype({w.dtyped(EVERY if w.dtype[x] not in FLOATS + COMPLEX else FLOATS + 'hil' + COMPLEX)}{w.some(0.2, copy=w.flag)})")
form("view")(lambda w: f"{w.seen(w.array())}.view({w.dtyped()})")
form("item")(lambda w: (setattr(w, "checked", True), f"{w.array()}.item({w.one('', '0', '-1', '1', '0, 0')})")[1])
form("flat")(lambda w: (setattr(w, "checked", True), f"{w.array()}.flat[{w.one('0', '-1', '1', '1:', '::2', '::-1')}]")[1])
form("unpacking")(lambda w: (w.lines.append(f"{w.prefix}a, {w.prefix}b = {w.seen(w.array(ndim=w.one(1, 1, 2)))}"), f"({w.prefix}a, {w.prefix}b)")[1])


# subscripts
def _subscript(w: Writer, x: str) -> str:
    """A subscript with up to as many items as the array has axes, and sometimes one more."""
    form = w.rng.randrange(8)
    if form == 0:
        return w.array("?", shape=x)
    if form == 1 and w.ndim[x]:
        return f"{x} > {w.one(0, 1)}" if w.dtype[x] in REAL[1:] else f"{x} == {x}"
    items, integer, last = [], False, -1
    for d in range(w.rng.randint(min(w.ndim[x], 1), w.ndim[x] + (w.maybe(0.04)))):
        kind = w.rng.randrange(9)
        if kind == 0 and (last < 0 or last == len(items) - 1):  # "index arrays and integers must be adjacent": supported.md
            items.append(w.indices(x, d, w.one(1, 1, 2)) if w.maybe(0.7) else w.one("[0, -1]", "np.array([0, 1])") if w.maybe(0.7) else w.along(x, d, "?"))
            last = len(items) - 1
        elif kind < 3:
            items.append(str(w.rng.randint(-3, 2)))
            w.checked = integer = True
            last = len(items) - 1 if last >= 0 else last
        else:
            items.append(w.one(":", "::-1", "1:", ":-1", "::2", "-2:", "3:0:-1", "5:", ":-9", "-1::-2", "1:1", "-9:9"))
    if w.maybe(0.15):
        items.insert(w.rng.randint(0, len(items)), "...")
    if w.maybe(0.15):
        items.insert(w.rng.randint(0, len(items)), w.one("None", "np.newaxis"))
    return ", ".join(items) or "..." if not (len(items) == 1 and integer) or w.maybe(0.5) else items[0]


form("subscripts/a")(lambda w: f"{(x := w.array())}[{_subscript(w, x)}]")
form("subscripts/b")(lambda w: f"{(x := w.array())}[{_subscript(w, x)}]")


def _assigned(w: Writer) -> str:
    x = w.array()
    key = _subscript(w, x)
    value = w.one(_value(w, x), _value(w, x), w.array(w.dtype[x], w.one(0, 1, w.ndim[x])), f"{x}[{key}]", f"{x}[{key}] * 2" if w.dtype[x] != "?" else f"~{x}[{key}]")
    op = w.one("=", "=", "=", "+=", "*=") if w.dtype[x] != "?" else "="
    w.mode = "function" if op != "=" or "*" in value else "exact"
    return _changes(w, f"{x}[{key}] {op} {value}")


form("assignments/a")(_assigned)
form("assignments/b")(_assigned)


# ---- judging ----


def source_of(statements: list[Statement]) -> str:
    """A function that runs all of these, and returns a tuple of their results."""
    lines, results = [], []
    for k, statement in enumerate(statements):
        lines += [*statement.lines[:-1], f"r{k} = {statement.lines[-1]}"]
        results.append(f"r{k}")
    names = [p.name for statement in statements for p in used(statement)]
    body = "".join(f"    {line}\n" for line in [*lines, f"return ({', '.join(results)},)"])
    return f"{HEAD}def f({', '.join(names)}):\n{body}"


class Outcome(NamedTuple):
    value: Any
    error: Exception | None
    arguments: list


def outcome(f: Callable, arguments: list) -> Outcome:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return Outcome(f(*arguments), None, arguments)
        except Exception as error:
            return Outcome(None, error, arguments)


class Difference(AssertionError):
    """What is wrong."""


class Refused(Exception):
    """By an exception of the call that says what compiled code does not have."""


def _kind(x: Any) -> str:
    return "array" if isinstance(x, np.ndarray) else np.asarray(x).dtype.kind.replace("u", "i")


def same_values(got: np.ndarray, want: np.ndarray, mode: str, arguments: list) -> bool:
    if want.dtype.kind not in "fc" or not want.size:
        return np.array_equal(got, want)
    if mode == "exact":
        parts = [(x.real, x.imag) if x.dtype.kind == "c" else (x, np.zeros_like(x)) for x in (got, want)]
        return all(np.array_equal(x, y, equal_nan=True) and np.array_equal(np.signbit(x[x == 0]), np.signbit(y[x == 0])) for x, y in zip(*parts))
    if mode == "zeros":
        return np.array_equal(got, want, equal_nan=True)
    floats = [np.asarray(x) for x in arguments if np.asarray(x).dtype.kind in "fc"]
    epsilon = max(float(np.finfo(x.dtype).eps) for x in [*floats, want])
    with np.errstate(all="ignore"):
        got, want = (x.astype(np.complex128 if x.dtype.kind == "c" else np.float64) for x in (got, want))
        scale = np.abs(want)
        if mode == "scaled":
            numbers = [np.abs(x[np.isfinite(x)]).max(initial=1) * max(x.size, 1) for x in (np.asarray(a, np.complex128) for a in arguments)]
            scale = np.maximum(scale[np.isfinite(scale)].max(initial=1), float(np.prod(numbers or [1.0])) * max(numbers or [1.0]))
        near = np.abs(got - want) <= 16 * epsilon * scale
        same = near | (got == want) | (np.isnan(got) & np.isnan(want))
        if want.dtype.kind == "c":  # "which parts are infinite or NaN": differences.md
            same |= ~np.isfinite(want) & ~np.isfinite(got)
    return bool(np.all(same))


def compare(got: Any, want: Any, statement: Statement, arguments: list) -> None:
    if isinstance(want, (tuple, list)):
        if not isinstance(got, (tuple, list)) or len(got) != len(want):
            raise Difference(f"{type(got).__name__} {got!r:.200} for {type(want).__name__} {want!r:.200}")
        for one, other in zip(got, want):
            compare(one, other, statement, arguments)
        return
    if want is None or got is None or isinstance(want, np.flatiter):
        if got is not want and not isinstance(want, np.flatiter):
            raise Difference(f"{got!r:.100} for {want!r:.100}")
        return
    if isinstance(want, np.ndarray) and not want.ndim and not isinstance(got, np.ndarray):  # "expressions of zero-dimensional arrays …; the results are numbers": supported.md
        COUNTS["numbers for zero-dimensional arrays"] += 1
        want = want[()]
    if isinstance(want, np.ndarray) != isinstance(got, np.ndarray):
        raise Difference(f"{type(got).__name__} {got!r:.100} for {type(want).__name__} {want!r:.100}")
    if _kind(got) != _kind(want):
        raise Difference(f"a number of another kind: {got!r} for {want!r}")
    if isinstance(want, np.ndarray):
        narrow = want.dtype == np.float16 and got.dtype == np.float32 and statement.mode == "function"  # "float32 for both": differences.md, `np.sin(int8)`
        if got.dtype != want.dtype and not narrow:
            raise Difference(f"dtype {got.dtype} for {want.dtype}")
        if got.shape != want.shape:
            raise Difference(f"shape {got.shape} for {want.shape}")
    if statement.mode != "shape":
        x, y = np.asarray(got), np.asarray(want)
        if not isinstance(want, np.ndarray) and y.dtype.kind in "fciu":
            x = x.astype(y.dtype)  # "numbers are returned as Python numbers": cpu_functions.md
        if not same_values(x, y, statement.mode, arguments):
            raise Difference(f"values {got!r:.300} for {want!r:.300}")


def shares(result: Any, arguments: list) -> bool:
    if isinstance(result, (tuple, list)):
        return any(shares(one, arguments) for one in result)
    return isinstance(result, np.ndarray) and any(isinstance(a, np.ndarray) and np.may_share_memory(result, a) for a in arguments)


def is_documented(error: Exception) -> bool:
    """Whether NumPy refuses what lanewise accepts by its documentation."""
    return "negative integer powers" in str(error)  # "the result is 0": differences.md


def judge_one(got: Outcome, want: Outcome, statement: Statement) -> None:
    """Raises Difference."""
    if want.error is not None:
        COUNTS["exceptions"] += 1
        if is_documented(want.error):
            return
        told = f"{type(want.error).__name__}: {want.error!s:.160}"
        if got.error is None:
            raise Difference(f"no {told}; it is {got.value!r:.160}")
        if not isinstance(got.error, type(want.error)) and not isinstance(want.error, type(got.error)):
            raise Difference(f"{type(got.error).__name__}: {got.error!s:.160}\n  for {told}")
        return
    if got.error is not None:
        raise Difference(f"{type(got.error).__name__}: {got.error!s:.300}\n  for {want.value!r:.200}")
    COUNTS["values"] += 1
    compare(got.value, want.value, statement, want.arguments)
    for one, other, p in zip(got.arguments, want.arguments, used(statement)):
        try:
            compare(one, other, statement, want.arguments)
        except Difference as difference:
            raise Difference(f"in {p.name}: {difference}") from None
    if shares(got.value, got.arguments) != shares(want.value, want.arguments):
        raise Difference(f"{'a view' if shares(got.value, got.arguments) else 'a copy'} of an argument, NumPy's is not")


def shown(statement: Statement, arguments: list) -> str:
    return ", ".join(f"{p.name}: {x.dtype}{x.shape} {p.layout if p.ndim > 0 else ''} {x.tolist()!r:.200}" for p, x in zip(used(statement), arguments))


def wanted(statement: Statement, seed: str, k: int) -> Outcome:
    result = outcome(define(source_of([statement]), "f"), arguments_of(statement, f"{seed} {k}"))
    return result._replace(value=result.value[0]) if result.error is None else result


def judge(statements: list[Statement], seed: str) -> dict[int, str]:
    """What is wrong with which of the statements, in one compiled function. Raises CompileError."""
    wrong: dict[int, str] = {}
    checked = any(statement.checked for statement in statements)
    f = lw.njit(cache=False, warn=False, fma=False, **({"check": {"bounds"}} if checked else {}))(define(source_of(statements), "f"))
    for k in range(SETS):
        arguments = [arguments_of(statement, f"{seed} {k}") for statement in statements]
        got = outcome(f, [x for some in arguments for x in some])
        if got.error is not None and len(statements) > 1:  # which of them raises it is found out one by one
            return dict.fromkeys(range(len(statements)), "")
        if isinstance(got.error, lw.errors.CompileError):
            if len(statements) == 1 and (error := wanted(statements[0], seed, k).error) is not None:
                COUNTS["exceptions when compiling"] += 1
                if "axis" in str(error):
                    continue
            raise got.error
        if isinstance(got.error, ValueError) and "in compiled code" in str(got.error):  # where only the call knows the number of axes
            raise Refused(f"ValueError: {got.error}")
        for i, statement in enumerate(statements):
            value = got.value[i] if got.error is None else None
            want = wanted(statement, seed, k)
            try:
                judge_one(Outcome(value, got.error, arguments[i]), want, statement)
            except Difference as difference:
                if i not in wrong:
                    given = shown(statement, arguments_of(statement, f"{seed} {k}"))
                    wrong[i] = f"{given}\n  {difference}"
    return wrong


def judge_alone(statement: Statement, seed: str) -> str | None:
    try:
        return judge([statement], seed).get(0)
    except (Refused, lw.errors.CompileError) as refusal:
        return refuse(statement, str(refusal), seed)


def refuse(statement: Statement, refusal: str, seed: str) -> None:
    """Counts a refusal, where NumPy gives a result for some arguments."""
    if all(wanted(statement, seed, k).error is not None for k in range(SETS)):
        return
    COUNTS["refused"] += 1
    first = re.sub(r"with \d.*|, not .*|\(raised.*", "", refusal.splitlines()[0])[:130]
    REFUSED[f"{statement.name}: {re.sub(r'[0-9]+[xyzuvw]', '…', first)}   <{statement.lines[-1] if statement.lines[-1] != 'None' else statement.lines[-2]}>"] += 1


def check_batch(seed: int, size: int = BATCH, gpu: Any = False, only: str = "") -> tuple[int, list]:
    """(statements looked at, [check.Problem])."""
    problems = []
    for i in range(size):
        rng, at = random.Random(f"calls {seed} {i}"), f"{seed} {i}"
        statements = [Writer(rng, f"{'abcdefgh'[k]}").statement(only) for k in range(STATEMENTS)]
        raising = [any(wanted(statement, at, k).error is not None for k in range(SETS)) for statement in statements]
        together = [statement for statement, raises in zip(statements, raising) if not raises]
        alone = [statement for statement, raises in zip(statements, raising) if raises]
        if together:
            try:
                found = judge(together, at)
                for k, text in found.items():
                    if not text:
                        alone.append(together[k])
                    elif not judge_alone(together[k], at):
                        problems.append(Problem(together[k].name, source_of(together), (), f"only together with the others: {together[k].lines}\n{text}"))
                    else:
                        alone.append(together[k])
            except lw.errors.CompileError:
                alone += together
        for statement in alone:
            text = judge_alone(statement, at)
            if text:
                plain = statement._replace(parameters=[p._replace(layout="C") for p in statement.parameters])
                simple = judge_alone(plain, at)
                problems.append(Problem(statement.name, source_of([statement]).removeprefix(HEAD), (), simple or text))
    return size * STATEMENTS, problems


# ---- the command line ----


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=1, help="of the first batch")
    parser.add_argument("--count", type=int, default=1000, help="statements")
    parser.add_argument("--only", default="", help="the name of a form")
    parser.add_argument("--show", type=int, default=3, help="problems of each form, and refusals of each code and message")
    options = parser.parse_args()
    shown_of: Counter[str] = Counter()
    for seed in range(options.seed, options.seed - (-options.count // (BATCH * STATEMENTS))):
        looked_at, problems = check_batch(seed, only=options.only)
        COUNTS["statements"] += looked_at
        for name, source, _, text in problems:
            shown_of[name] += 1
            if shown_of[name] <= options.show:
                print(f"==== {name}  [seed {seed}]\n{source}  {text}", flush=True)
    messages: dict[str, list[str]] = defaultdict(list)
    for refusal in REFUSED.elements():
        message, _, example = refusal.rpartition("   <")
        messages[message].append(example[:-1])
    for message, examples in sorted(messages.items(), key=lambda item: -len(item[1])):
        print(f"refused {len(examples):4}  {message}   e.g. {' | '.join([*dict.fromkeys(examples)][:options.show])}")
    print("problems:", dict(shown_of.most_common()) or "none")
    print(dict(COUNTS))


if __name__ == "__main__":
    main()

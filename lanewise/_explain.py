"""``lanewise.explain``: how a function is typed, as text and as an annotated source for notebooks and browsers."""

from __future__ import annotations

import html
import importlib
import inspect
import os
import re
from typing import Any, Iterator, NamedTuple

import numpy as np

from lanewise import _core, types
from lanewise._places import place_of

_LINE = re.compile(r"^\s*(\d+) \| ?(.*)$")
_ENTRY = re.compile(r"^      \| ( *)(.*?) {3,}(\S.*)$")
_NUMBA = "   <- numba: "


class Entry(NamedTuple):
    """An expression of a line: where it begins, its text, its type, and its type in numba mode where that differs."""

    column: int
    expression: str
    type: str
    numba: str | None


class Section(NamedTuple):
    """One function with one tuple of argument types."""

    name: str
    header: str
    lines: dict[int, str]
    entries: dict[int, list[Entry]]


class Explanation(str):
    """What lanewise.explain returns: text, which notebooks show as an annotated source.

    place: `file:line` of the function. sections: the function and what it calls, with the types of each line.
    """

    place: str
    sections: list[Section]
    notes: list[str]
    _source: dict[int, str]

    def __repr__(self) -> str:
        return f"<explanation of {self.sections[0].name if self.sections else '?'}, {self.place}>"

    def _repr_html_(self) -> str:
        return _STYLE + _body(self)

    def to_html(self) -> str:
        """A page of its own, for browsers."""
        name = html.escape(self.sections[0].name if self.sections else "function")
        return ("<!doctype html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">"
                f"<title>{name}: types</title>\n<style>:root {{ color-scheme: light dark; }} body {{ font-family: sans-serif; margin: 1.5em; }}</style></head>\n"
                f"<body>\n{_STYLE}{_body(self)}\n</body>\n</html>\n")


def explain(f: Any, *arguments: Any, sig: Any = None) -> Explanation:
    """Print the type of every expression of a function, and where numba would give another type.

    f: a Python function, or one that a decorator compiled. arguments: one signature, as for the decorator; or the types
    of the arguments; or arguments as in a call, of which only the types are used. For a reduction, these are the types
    of the arrays' elements.

    Returns the printed text. In a notebook nothing is printed, and the text is shown as the annotated source.

    Raises CompileError for a function that cannot be typed, SignatureError for a signature that cannot be read.

    >>> import numpy as np, lanewise as lw
    >>> def half(x):
    ...     return x * 0.5
    >>> text = lw.explain(half, np.ones(3, np.float32))  # doctest: +ELLIPSIS
    weak:  half(x: float32) -> float32
    numba: half(x: float32) -> float64
        2 |     return x * 0.5
          |            x * 0.5   float32   <- numba: float64
    1 expression with another type in numba mode
    <BLANKLINE>
    >>> 'float32' in text
    True
    """
    if sig is not None and arguments:
        raise TypeError("explain() takes a signature as sig= or arguments, not both")
    if sig is None and not arguments:
        raise TypeError("explain() takes a function, and a signature or example arguments")
    if sig is None and not isinstance(f, _core.Reduction) and (any(map(_is_of_class, arguments)) or _takes_untyped(f, arguments)):
        text = _text_of_call(f, arguments)
    else:
        signature = sig if sig is not None else arguments[0] if len(arguments) == 1 and _is_signature(arguments[0]) else _signature_of(f, arguments)
        text = f.inspect_types(signature) if isinstance(f, _core.Reduction) else _core._explain(f, signature)
    made = Explanation(text)
    _read(made, text)
    _locate(made, f)
    if not _shows_html():
        print(made)
    return made


def _is_of_class(value: Any) -> bool:
    """An object, or an array of them: no signature names their class."""
    _objects = importlib.import_module("lanewise._objects")
    return not isinstance(value, (type, types.Type, types.Signature)) and (_objects._is_object(value) or _objects._class(value) is not None)


def _takes_untyped(f: Any, arguments: tuple[Any, ...]) -> bool:
    """Whether an argument of a call is of no type that signatures name: a slice, a string, a function, an ellipsis, or a tuple that has one."""
    if isinstance(f, _core.Ufunc) or (len(arguments) == 1 and _is_signature(arguments[0])):
        return False
    return any(map(_is_untyped, arguments))


def _is_untyped(value: Any) -> bool:
    if isinstance(value, (tuple, list)):
        return any(map(_is_untyped, value))
    return value is ... or isinstance(value, (slice, str)) or inspect.isfunction(value)


def _text_of_call(f: Any, arguments: tuple[Any, ...]) -> str:
    """The types of a call with objects: of the same function of `lanewise.jit`, which takes them as they are."""
    core: Any = _core
    _objects = importlib.import_module("lanewise._objects")
    probe = core.jit(getattr(f, "py_func", None) or f)
    examples: list[Any] = list(arguments)
    if isinstance(f, core.Forall):
        examples = [0] * f.ndim + list(_without_space(f, arguments))
    elif isinstance(f, core.Gufunc):
        cores = re.findall(r"\(([^()]*)\)", f.signature)
        arrays = [value if _objects._is_object(value) else np.asarray(value) for value in arguments]
        shapes = [(1,) * len([d for d in core_.split(",") if d.strip()]) for core_ in cores]
        examples = [_example(value, shape) for value, shape in zip(arrays, shapes)]
        if len(examples) == f.nin and len(inspect.signature(f.py_func).parameters) >= f.nargs:
            numbers = [value.dtype for value in arrays if isinstance(value, np.ndarray) and value.dtype.names is None]
            examples += [np.zeros(shape or (1,), np.result_type(*numbers) if numbers else float) for shape in shapes[f.nin:]]
    elif not isinstance(f, core.Kernel) and not _takes_untyped(f, arguments):
        examples = [_example(value, ()) for value in arguments]
    core._form_of_call(probe, *examples)
    return str(probe.inspect_types())


def _example(value: Any, shape: tuple[int, ...]) -> Any:
    """One item of an argument of a ufunc."""
    _objects = importlib.import_module("lanewise._objects")
    if type(value) in (int, float, complex):
        return value
    value = _objects._operand("explain", "an object", value)
    if isinstance(value, _objects._Apart):
        return value.example
    dtype = np.asarray(value).dtype if not hasattr(value, "dtype") else np.dtype(value.dtype)
    return _objects._value_of(dtype) if shape == () else np.zeros(shape, dtype)


def _shows_html() -> bool:
    """Whether this is a notebook, whose cells show HTML."""
    import sys

    shell = sys.modules.get("IPython") and sys.modules["IPython"].get_ipython()
    return shell is not None and hasattr(shell, "kernel")


# ---- signatures of examples ----


def _is_signature(value: Any) -> bool:
    if isinstance(value, (str, types.Signature)):
        return True
    return isinstance(value, (tuple, list)) and len(value) > 0 and all(isinstance(item, (str, types.Type, types.Signature)) for item in value)


def _signature_of(f: Any, arguments: tuple[Any, ...]) -> Any:
    if isinstance(f, _core.Gufunc):
        return _of_gufunc(f, arguments)
    if isinstance(f, _core.Forall):
        return _core.void(*map(_type_of, _without_space(f, arguments)))
    if isinstance(f, _core.Reduction):
        return tuple(_core.from_dtype(np.dtype(dtype)) for dtype in _dtypes_of(arguments))
    if isinstance(f, _core.Kernel):
        return tuple(map(_type_of, arguments))
    if isinstance(f, _core.Ufunc):
        return _of_ufunc(f, arguments)
    return _of_function(f, arguments)


def _of_function(f: Any, arguments: tuple[Any, ...]) -> Any:
    """A plain function: of elements, as vectorize has them, if it can be typed so; else of the arguments as they are."""
    from lanewise.errors import CompileError

    elements = list(_dtypes_of(arguments))
    failures = []
    tries = [tuple(map(_core.from_dtype, _together(elements))),
             tuple(_core.from_dtype(np.dtype(dtype)) for dtype in elements),  # an int that counts stays an int
             tuple(map(_type_of, arguments))]
    for signature in tries:
        try:
            _core._explain(f, signature)
        except CompileError as failure:
            failures.append(failure)
            continue
        return signature
    whole = failures[-1].code == "E160"  # says that it takes an array where an element belongs
    return tries[0] if whole or not any(_has_dimensions(value) for value in arguments) else tries[-1]


def _type_of(value: Any) -> Any:
    return value if isinstance(value, types.Type) else _core.typeof(value)


def _dtypes_of(arguments: tuple[Any, ...]) -> Iterator[Any]:
    """Of the elements; Python's numbers are their types, as NumPy's resolve_dtypes takes them."""
    for value in arguments:
        if isinstance(value, types.Type):
            yield value.dtype  # type: ignore[attr-defined]
        elif type(value) in (int, float, complex):
            yield type(value)
        elif hasattr(value, "dtype"):
            yield np.dtype(value.dtype)
        else:
            yield np.asarray(value).dtype


def _together(dtypes: list[Any]) -> list[np.dtype[Any]]:
    """Python's numbers take the dtype that the other operands have, if it holds them."""
    samples = [dtype(0) if isinstance(dtype, type) else np.empty(0, dtype) for dtype in dtypes]
    common = np.result_type(*samples) if samples else np.dtype(float)
    return [common if isinstance(dtype, type) else dtype for dtype in dtypes]


def _of_ufunc(f: Any, arguments: tuple[Any, ...]) -> Any:
    if len(arguments) != f.nin:
        raise TypeError(f"{f.__name__} takes {f.nin} operands; explain() was given {len(arguments)} examples")
    loop = f.resolve_dtypes((*_dtypes_of(arguments), *[None] * f.nout))
    return tuple(_core.from_dtype(dtype) for dtype in loop[:f.nin])


def _of_gufunc(f: Any, arguments: tuple[Any, ...]) -> Any:
    """Core dimensions are the function's arrays, and outputs are arrays always."""
    cores = [core.count(",") + 1 if core.strip() else 0 for core in re.findall(r"\(([^()]*)\)", f.signature)]
    if len(arguments) not in (f.nin, f.nargs):
        raise TypeError(f"{f.__name__} takes {f.nin} operands; explain() was given {len(arguments)} examples")
    loop = f.resolve_dtypes((*_dtypes_of(arguments[: f.nin]), *[None] * f.nout))
    made = []
    for i, dtype in enumerate(loop):
        ndim = cores[i] if i < f.nin else max(cores[i], 1)
        of = _core.from_dtype(dtype)
        made.append(of[(slice(None),) * ndim] if ndim else of)
    n_params = len(inspect.signature(f.py_func).parameters)
    return _core.void(*made) if n_params == f.nargs else tuple(made[:f.nin])


def _without_space(f: Any, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    """As a call has them, the index space first, or without it."""
    n_params = len(inspect.signature(f.py_func).parameters)
    return arguments[1:] if len(arguments) == n_params - f.ndim + 1 else arguments


def _has_dimensions(value: Any) -> bool:
    ndim = getattr(value, "ndim", 0)
    return isinstance(ndim, int) and ndim > 0


# ---- reading the text ----


def _read(made: Explanation, text: str) -> None:
    made.sections, made.notes, line = [], [], 0
    for row in text.split("\n"):
        entry, numbered = _ENTRY.match(row), _LINE.match(row)
        if entry and made.sections and line:
            kind, _, numba = entry[3].partition(_NUMBA)
            section = made.sections[-1]
            section.entries.setdefault(line, []).append(Entry(len(entry[1]), entry[2], kind.strip(), numba or None))
        elif numbered and made.sections:
            line = int(numbered[1])
            made.sections[-1].lines[line] = numbered[2]
        elif row.startswith("numba: ") and made.sections and not made.sections[-1].lines and "(" in row:
            made.sections[-1] = made.sections[-1]._replace(header=made.sections[-1].header + "\n" + row)
        elif " -> " in row and re.match(r"(weak:  )?[\w<>.]+\(", row):
            name = row.removeprefix("weak:  ").partition("(")[0]
            made.sections.append(Section(name, row, {}, {}))
            line = 0
        elif row.strip():
            made.notes.append(row)


def _locate(made: Explanation, f: Any) -> None:
    function = getattr(f, "py_func", None) or f
    made.place = place_of(function) or "?"
    made._source = {}
    try:
        lines, first = inspect.getsourcelines(function)
    except (OSError, TypeError):
        return
    made._source = {max(first, 1) + i: line.rstrip("\n") for i, line in enumerate(lines)}


# ---- HTML ----

_STYLE = """<style>
.lanewise-explain { font-family: ui-monospace, Menlo, Consolas, monospace; font-size: 13px; line-height: 1.45; color: inherit; }
.lanewise-explain summary, .lanewise-explain .plain { display: block; white-space: pre; padding: 0 0.6em; overflow-x: auto; }
.lanewise-explain summary { cursor: pointer; list-style: none; }
.lanewise-explain summary::-webkit-details-marker { display: none; }
.lanewise-explain summary:hover { outline: 1px solid rgba(128,128,128,0.4); }
.lanewise-explain .number { opacity: 0.5; user-select: none; }
.lanewise-explain .typed { background: rgba(128,128,128,0.08); }
.lanewise-explain .differs { background: rgba(240,180,0,0.25); }
.lanewise-explain .warned { background: rgba(240,90,30,0.28); }
.lanewise-explain table { border-collapse: collapse; margin: 0.2em 0 0.4em 4.5em; font-size: 12px; }
.lanewise-explain td { border: none; text-align: left; padding: 0.05em 1em 0.05em 0; white-space: pre; background: none; color: inherit; }
.lanewise-explain .type { font-weight: 600; }
.lanewise-explain .head { padding: 0.4em 0.6em; white-space: pre-wrap; font-weight: 600; }
.lanewise-explain .note { padding: 0.3em 0.6em; white-space: pre-wrap; }
.lanewise-explain .place { opacity: 0.65; padding: 0 0.6em; }
</style>
"""


def _body(made: Explanation) -> str:
    warned = {int(number): note for note in made.notes for found in re.findall(r"\blines? (\d+(?:, \d+)*)", note) for number in found.split(", ")}
    parts = ['<div class="lanewise-explain">', f'<div class="place">{html.escape(made.place)}</div>']
    for at, section in enumerate(made.sections):
        parts.append(f'<div class="head">{html.escape(section.header)}</div>')
        lines = {**(made._source if at == 0 else {}), **section.lines}
        parts += [_html_line(number, lines[number], section.entries.get(number, []), warned.get(number)) for number in sorted(lines)]
    shown = {number for at, section in enumerate(made.sections) for number in {**(made._source if at == 0 else {}), **section.lines}}
    below = {note for number, note in warned.items() if number in shown}  # lines with a note are open
    parts += [f'<div class="note">{html.escape(note)}</div>' for note in made.notes if note not in below]
    return "".join(parts) + "</div>"


def _html_line(number: int, text: str, entries: list[Entry], note: str | None) -> str:
    shown = f'<span class="number">{number:5d}  </span>{html.escape(text) or " "}'
    if not entries and note is None:
        return f'<div class="plain">{shown}</div>'
    kind = "warned" if note else "differs" if any(entry.numba for entry in entries) else "typed"
    rows = "".join(f'<tr><td>{html.escape(entry.expression)}</td><td class="type">{html.escape(entry.type)}</td>'
                   f'<td>{f"numba: {html.escape(entry.numba)}" if entry.numba else ""}</td></tr>' for entry in entries)
    below = f"<table>{rows}</table>" if rows else ""
    said = f'<div class="note">{html.escape(note)}</div>' if note else ""
    return f'<details{" open" if kind != "typed" else ""}><summary class="{kind}">{shown}</summary>{below}{said}</details>'


# ---- python -m lanewise explain FILE:FUNCTION ----


def command(where: str, signature: str | None, output: str | None) -> int:
    """Runs the file as a module that is not `__main__`, finds the function, and explains it by its signature."""
    import runpy
    import sys

    from lanewise import errors

    path, colon, name = where.rpartition(":")
    if not colon or not os.path.isfile(path):
        print(f"lanewise explain: expected FILE:FUNCTION, where FILE is an existing file, not {where!r}", file=sys.stderr)
        return 2
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    scope: Any = runpy.run_path(path, run_name="__explain__")
    parts = name.split(".")
    if parts[0] not in scope:
        known = ", ".join(sorted(key for key, value in scope.items() if callable(value) and not key.startswith("_"))) or "none"
        print(f"lanewise explain: {path} defines no {name!r}; its functions are: {known}", file=sys.stderr)
        return 2
    f = scope[parts[0]]
    for at, part in enumerate(parts[1:], 1):
        if not hasattr(f, part):
            print(f"lanewise explain: {'.'.join(parts[:at])} of {path} has no attribute {part!r}", file=sys.stderr)
            return 2
        f = getattr(f, part)
    if not callable(f) or isinstance(f, type):
        print(f"lanewise explain: {name} of {path} is {'a class' if isinstance(f, type) else type(f).__name__}, not a function", file=sys.stderr)
        return 2
    signatures = [signature] if signature else _known_signatures(f)
    if not signatures:
        signatures = [_assumed(f)]
        print(f"{name} has no signature, so it is explained for float64. For other types, add a signature such as 'float32(float32)' or 'void(float32[:])':\n")
    try:
        made = [explain(f, sig=one) for one in signatures]
    except (errors.LanewiseError, TypeError) as problem:
        print(f"{type(problem).__name__}: {problem}", file=sys.stderr)
        return 1
    if output:
        page = made[0].to_html().replace("\n</body>", "".join(map(_body, made[1:])) + "\n</body>")
        try:
            with open(output, "w", encoding="utf-8") as file:
                file.write(page)
        except OSError as problem:
            print(f"lanewise explain: cannot write {output}: {problem.strerror}", file=sys.stderr)
            return 1
        print(f"written: {output}")
    return 0


def _assumed(f: Any) -> Any:
    """float64 for all, as arrays where the function's text has a parameter with subscripts or asks for its length."""
    import ast
    import textwrap

    function = getattr(f, "py_func", None) or f
    if isinstance(f, _core.Gufunc):
        return _of_gufunc(f, (_core.float64,) * f.nin)
    names = list(inspect.signature(function).parameters)
    if isinstance(f, _core.Reduction):
        return (_core.float64,)
    ndims: dict[str, int] = {}
    try:
        tree: ast.AST = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, TypeError, SyntaxError):  # a lambda amid a line, say
        tree = ast.Module([], [])
    for node in ast.walk(tree):
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
            n = len(node.slice.elts) if isinstance(node.slice, ast.Tuple) else 1
            ndims[node.value.id] = max(n, ndims.get(node.value.id, 0))
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            ndims.setdefault(node.value.id, 1)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "len" and node.args and isinstance(node.args[0], ast.Name):
            ndims.setdefault(node.args[0].id, 1)
    if isinstance(f, _core.Forall):
        names = names[f.ndim:]
    arrays = not isinstance(f, _core.Ufunc)
    return tuple(_core.float64[(slice(None),) * ndims[name]] if arrays and ndims.get(name) else _core.float64 for name in names)


def _known_signatures(f: Any) -> list[Any]:
    """Declared ones, those that the file's own calls compiled, or the annotations'."""
    known = list(getattr(f, "signatures", ()) or ())
    if known:
        return known
    annotations = dict(getattr(getattr(f, "py_func", f), "__annotations__", {}))
    annotations.pop("return", None)
    given = tuple(annotations.values())
    return [given] if given and all(isinstance(one, types.Type) for one in given) else []

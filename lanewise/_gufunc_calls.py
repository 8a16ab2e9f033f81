"""Gufuncs in compiled code, ``g(x, y, out)``: which function loops over the items of such operands.

Inference asks (core/front/overload.h) where the callee is a Gufunc. Operands that are one item each need no loop: they go
to the user's function directly. Otherwise the answer is a function whose text is made here for the operands' dimensions.
"""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np

from lanewise import _texts, types
from lanewise._core import intrinsics
from lanewise._python_target import _layout

_made: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()  # gufunc -> {types: function}


_WEAK = {np.dtype(bool): bool, np.dtype(int): int, np.dtype(float): float, np.dtype(complex): complex}


class _Refused(Exception):
    """Why the operands do not fit: part of an error message."""


_NO_AXES = types.Dummy("array without axes")  # inference has no type object for them


def _is_array(type_: Any) -> bool:
    return type_ is _NO_AXES or isinstance(type_, types.Array)


class _Operand:
    """An argument: its type, how many dimensions are in front of the core, and whether the function takes an array."""

    def __init__(self, at: int, type_: Any, core: list, is_output: bool, as_array: bool) -> None:
        self.name, self.type, self.core, self.is_output = f"a{at}", type_, core, is_output
        self.ndim = 0 if type_ is _NO_AXES or not _is_array(type_) else type_.ndim
        self.is_number = not _is_array(type_)
        self.loops = self.ndim - len(core)
        self.as_array = as_array or bool(core)
        self.made = ""  # the dtype of an output that the call makes

    @property
    def dtype(self) -> str:
        return self.made or str(self.type).split("[")[0]


def _parameters(text: str) -> list:
    """The types of a signature's text: "void(int64[:, :], int64)" has ["int64[:, :]", "int64"]."""
    inside, depth, parts = text[text.index("(") + 1:text.rindex(")")], 0, [""]
    for c in inside:
        depth += (c in "([{") - (c in ")]}")
        if c == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += c
    return [part.strip() for part in parts if part.strip()]


def _fits(operand: _Operand, wanted: str) -> bool:
    """Arrays must have the dtype of a signature; numbers are cast safely."""
    base = wanted.split("[")[0]
    if operand.type is _NO_AXES or operand.dtype == base:
        return True
    if operand.core or operand.is_output or "[" in wanted:
        return False
    try:
        return np.can_cast(getattr(types, operand.dtype).dtype, getattr(types, base).dtype, "safe")
    except (AttributeError, TypeError):
        return False


def _signature_of(gufunc: Any, operands: list) -> list | None:
    """The types that the operands are converted to; None: they stay as they are."""
    declared = gufunc._declared_signatures
    if declared is None:
        return None
    for text in declared:
        wanted = _parameters(text)
        if len(wanted) < len(operands):  # the function returns its outputs
            wanted += [operand.dtype for operand in operands[len(wanted):]]
        if all(map(_fits, operands, wanted)):
            return wanted
    tried = ", ".join(declared)
    raise _Refused(f"E181: `{gufunc.__name__}` has no signature for the dtypes {', '.join(o.dtype for o in operands)}: it has {tried}")


def _made_outputs(gufunc: Any, given: list) -> list:
    """The dtypes of outputs that are not given, which the call makes as it does outside of compiled functions."""
    inputs, outputs = _layout(gufunc._layout)
    known = {name for core in inputs for name in core}
    missing = [name for core in outputs for name in core if name not in known and not name.isdigit()]
    if missing:
        raise _Refused(f"`{gufunc.__name__}` needs its outputs as arguments, because no input has the dimension {missing[0]} of its layout {gufunc._layout}")
    dtypes = [np.dtype(getattr(types, str(type_).split("[")[0]).dtype) for type_ in given]
    # the type does not say whether a number is one of Python, whose dtype counts less than that of arrays
    weak = [_WEAK.get(dtype, dtype) if not _is_array(type_) else dtype for dtype, type_ in zip(dtypes, given)]
    try:
        found, other = (gufunc.resolve_dtypes((*row, *[None] * gufunc.nout)) for row in (dtypes, weak))
    except Exception as problem:  # of any kind: the function may not compile for these dtypes
        raise _Refused(f"`{gufunc.__name__}` without outputs: {problem}") from None
    if found[gufunc.nin:] != other[gufunc.nin:]:
        raise _Refused(f"`{gufunc.__name__}` without outputs: with {', '.join(map(str, dtypes))}, their dtype depends on whether a number is one of Python; "
                       "pass an output, or a number of the array's dtype, as in np.float32(x)")
    return [dtype.name if dtype != bool else "bool_" for dtype in found[gufunc.nin:]]


def _arguments(gufunc: Any, given: list, keywords: dict) -> list:
    given = list(given)
    for name, type_ in keywords.items():
        if name != "out" or gufunc.nout != 1 or len(given) != gufunc.nin:
            raise _Refused(f"`{gufunc.__name__}` takes the keyword `{name}` outside of compiled functions only")
        given.append(type_)
    n, wanted = len(given), gufunc.nin + gufunc.nout
    if n not in (gufunc.nin, wanted):
        raise _Refused(f"`{gufunc.__name__}` takes {wanted} arguments in a compiled function, the inputs and the outputs, or the {gufunc.nin} inputs alone, and "
                       f"{n} were given")
    return given


def _operands(gufunc: Any, given: list, keywords: dict) -> list:
    inputs, outputs = _layout(gufunc._layout)
    arguments = _arguments(gufunc, given, keywords)
    indexed = gufunc._indexed
    operands = []
    for at, (type_, core) in enumerate(zip(arguments, inputs + outputs)):
        is_output = at >= gufunc.nin
        operand = _Operand(at, type_, core, is_output, (is_output and gufunc._fills) or indexed[at])
        if operand.loops < 0:
            kind, place = ("Output", at - gufunc.nin) if is_output else ("Input", at)
            raise _Refused(f"{gufunc.__name__}: {kind} operand {place} does not have enough dimensions (has {operand.ndim}, gufunc core with "
                           f"signature {gufunc._layout} requires {len(core)})")
        if is_output and operand.is_number:
            raise _Refused(f"{gufunc.__name__}: output {at - gufunc.nin} must be an array, not {type_}")
        if any(not name.replace("_", "a").isalnum() for name in core):
            raise _Refused(f"`{gufunc.__name__}`: the layout {gufunc._layout} has optional or broadcast dimensions, which compiled functions do not loop over")
        operands.append(operand)
    if keywords:
        operands[-1].name = "out"
    if gufunc.nout and len(operands) == gufunc.nin:
        operands += _made_operands(gufunc, arguments, outputs, max((operand.loops for operand in operands), default=0))
    return operands


def _made_operands(gufunc: Any, given: list, cores: list, loops: int) -> list:
    made = []
    for at, (dtype, core) in enumerate(zip(_made_outputs(gufunc, given), cores)):
        operand = _Operand(gufunc.nin + at, _NO_AXES, core, True, gufunc._fills)
        operand.made, operand.loops = dtype, loops
        made.append(operand)
    return made


# ---- the text ----

_CORE = "Operand has a mismatch in one of its core dimensions"
_LOOP = "Loop and array shapes are incompatible"


def _unless(condition: str, message: str) -> list:
    return [f"    if {condition}:", f"        raise ValueError({message!r})"]


def _check_cores(operands: list, first: dict) -> list:
    """first: gets the size of each dimension of the layout."""
    lines: list = []
    for operand in operands:
        if operand.made:
            continue
        for axis, name in enumerate(operand.core):
            size = f"{operand.name}.shape[{operand.loops + axis}]"
            known = name if name.isdigit() else first.setdefault(name, size)
            if known != size:
                lines += _unless(f"{size} != {known}", _CORE)
    return lines


def _extents(operands: list, n: int) -> list:
    """n0, n1, …: those of the outputs, or, where there are none, those to which the inputs broadcast."""
    lines = []
    operands = [operand for operand in operands if not operand.made]
    outputs = [operand for operand in operands if operand.is_output]
    for d in range(n):
        if outputs:
            lines.append(f"    n{d} = {outputs[0].name}.shape[{d}]")
        else:
            lines.append(f"    n{d} = 1")
            for operand in operands:
                axis = d - (n - operand.loops)
                if axis >= 0:
                    lines += [f"    if {operand.name}.shape[{axis}] != 1:", f"        n{d} = {operand.name}.shape[{axis}]"]
        for operand in operands:
            axis = d - (n - operand.loops)
            if axis < 0 or operand is (outputs or [None])[0]:
                continue
            size = f"{operand.name}.shape[{axis}]"
            one = "" if operand.is_output else f"{size} != 1 and "
            lines += _unless(f"{one}{size} != n{d}", _LOOP)
    return lines


def _indices(operand: _Operand, n: int, at: int) -> tuple:
    """(lines that compute them, the indices of an item)."""
    lines, indices = [], []
    for axis in range(operand.loops):
        d = n - operand.loops + axis
        index = f"i{d}"
        if not operand.is_output:
            index = f"j{at}_{axis}"
            lines.append(f"{index} = i{d} if {operand.name}.shape[{axis}] != 1 else 0")
        indices.append(index)
    return lines, indices


def _item(operand: _Operand, n: int, at: int, wanted: str | None) -> tuple:
    """(lines before the call, what is passed, lines behind it)."""
    lines, indices = _indices(operand, n, at)
    behind: list = []
    if operand.core:
        return lines, f"{operand.name}[{', '.join(indices)}]" if indices else operand.name, behind
    if operand.as_array and indices:
        return lines, f"{operand.name}[{', '.join(indices[:-1] + [f'{indices[-1]}:{indices[-1]} + 1'])}]", behind
    value = operand.name if operand.is_number else f"{operand.name}[{', '.join(indices) or '()'}]"
    if wanted and wanted.split("[")[0] != operand.dtype:
        value = f"{wanted.split('[')[0]}({value})"
    if operand.as_array:
        dtype = f"{operand.name}.dtype" if operand.is_output else (wanted or operand.dtype).split("[")[0]
        lines += [f"b{at} = local(1, {dtype})", f"b{at}[0] = {value}"]
        if operand.is_output:
            behind = [f"{operand.name}[()] = b{at}[0]"]
        value = f"b{at}"
    return lines, value, behind


def _text(gufunc: Any, operands: list, wanted: list | None) -> str:
    n = max(operand.loops for operand in operands)
    names = ", ".join(operand.name for operand in operands if not operand.made)
    sizes: dict = {}
    lines = [f"def loops({names}):"]
    lines += _check_cores(operands, sizes)
    if any(operand.is_output and operand.loops != n for operand in operands):
        return "\n".join([*lines, f"    raise ValueError({_LOOP!r})", ""])
    lines += _extents(operands, n)
    for operand in operands:
        if operand.made:
            shape = [f"n{d}" for d in range(n)] + [sizes.get(name, name) for name in operand.core]
            lines.append(f"    {operand.name} = empty(({''.join(f'{size}, ' for size in shape)}), {operand.made})")
    for d in range(n):
        lines.append("    " * (d + 1) + f"for i{d} in range(n{d}):")
    indent, passed, behind = "    " * (n + 1), [], []
    for at, operand in enumerate(operands):
        if operand.is_output and not gufunc._fills:
            continue
        before, value, after = _item(operand, n, at, wanted[at] if wanted else None)
        lines += [indent + line for line in before]
        passed.append(value)
        behind += after
    call = f"core({', '.join(passed)})"
    if not gufunc._fills:
        targets = [f"{operand.name}[{', '.join(_indices(operand, n, at)[1]) or '()'}]" for at, operand in enumerate(operands) if operand.is_output]
        call = f"{', '.join(targets)} = {call}"
    lines += [indent + line for line in [call, *behind]]
    results = [operand.name if operand.loops or operand.core else f"{operand.name}[()]" for operand in operands if operand.made]
    if results:
        lines.append(f"    return {', '.join(results)}")
    return "\n".join([*lines, ""])


def _function(gufunc: Any, text: str) -> Any:
    path = f"<lanewise loops of {gufunc.__name__} {abs(hash(text)):x}>"
    scope = {"core": gufunc.py_func, "local": intrinsics.local, "empty": np.empty, "__name__": __name__, **{name: getattr(types, name) for name in _DTYPES}}
    return _texts.run(text, path, scope)["loops"]


_DTYPES = ("bool_", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16", "bfloat16", "float32", "float64", "complex64", "complex128")


# ---- answers ----


def _is_one_item(operands: list, gufunc: Any) -> bool:
    """Whether the arguments are what the user's function takes, and need no look at their sizes."""
    names = [name for operand in operands for name in operand.core]
    return (gufunc._fills and all(o.loops == 0 and not (o.as_array and not o.core) for o in operands)
            and len(set(names)) == len(names) and not any(map(str.isdigit, names)))


def choose(gufunc: Any, given: list[Any], keywords: dict[str, Any]) -> tuple:
    """(function, None); (None, None): the user's function takes the arguments; (None, text): why there is none."""
    if None in given[gufunc.nin:]:
        given = [_NO_AXES if at >= gufunc.nin and type_ is None else type_ for at, type_ in enumerate(given)]
    if not all(_is_array(type_) or isinstance(type_, (types.Number, types.Boolean)) for type_ in [*given, *keywords.values()]):
        return None, None  # what is wrong with it, the call says
    if not gufunc._fills and not keywords and len(given) == gufunc.nin:
        cores = _layout(gufunc._layout)[0]
        if not any(_is_array(type_) and type_.ndim > len(core) for type_, core in zip(given, cores)):
            return None, None
    try:
        operands = _operands(gufunc, given, keywords)
        if _is_one_item(operands, gufunc) and not keywords:
            return None, None
        known = _made.setdefault(gufunc, {})
        key = tuple(map(str, given)), tuple((name, str(type_)) for name, type_ in keywords.items())
        if key not in known:
            known[key] = _function(gufunc, _text(gufunc, operands, _signature_of(gufunc, operands)))
        return known[key], None
    except _Refused as problem:
        return None, str(problem)

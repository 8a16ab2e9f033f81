"""Gufuncs in compiled code, ``g(x, y, out)``: which function loops over the items of such operands.

Inference asks (core/front/overload.h) where the callee is a Gufunc. Operands that are one item each, and whose sizes
need no check, go to the user's function directly. Otherwise the answer is a function whose text is made here for the
operands' dimensions. What static= names is a constant of that text, and what excluded= names is passed on whole.
"""

from __future__ import annotations

import inspect
import warnings
import weakref
from typing import Any

import numpy as np

from lanewise import _texts, errors, types
from lanewise._core import intrinsics
from lanewise._python_target import _layout

_made: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()  # gufunc -> {types: function}


_WEAK = {np.dtype(bool): bool, np.dtype(int): int, np.dtype(float): float, np.dtype(complex): complex}


class _Refused(Exception):
    """Why the operands do not fit: part of an error message."""


class NoAxes(types.Dummy):
    """An array without axes, for which signatures have no type."""

    def __init__(self, dtype: Any) -> None:
        super().__init__(f"{dtype}[()]")


class WeakNumber(types.Dummy):
    """A number of Python, whose dtype counts less than that of arrays."""

    def __init__(self, dtype: Any) -> None:
        super().__init__(str(dtype))


def _is_array(type_: Any) -> bool:
    return isinstance(type_, (types.Array, NoAxes))


def _is_number(type_: Any) -> bool:
    return isinstance(type_, WeakNumber) or (not isinstance(type_, types.Literal) and isinstance(type_, (types.Number, types.Boolean)))


class _Operand:
    """An argument: its type, how many dimensions are in front of the core, and whether the function takes an array."""

    def __init__(self, name: str, param: str, type_: Any, core: list, is_output: bool, as_array: bool) -> None:
        self.name, self.param, self.type, self.core, self.is_output = name, param, type_, core, is_output
        self.ndim = type_.ndim if isinstance(type_, types.Array) else 0
        self.is_object = isinstance(type_, types.Object)
        self.is_number = type_ is not None and not _is_array(type_)
        self.as_array = as_array or bool(core)
        self.made = ""  # the dtype of an output that the call makes
        self.kept = core  # the dimensions of its core that the call has
        self.loops = 0

    @property
    def dtype(self) -> str:
        """Of an object the name of its class, which no signature has."""
        return self.made or str(self.type).split("[")[0]


class _Call:
    """A call: the operands; what is passed as it is, by parameter; the arguments' names, in order."""

    def __init__(self, gufunc: Any, given: list, keywords: dict) -> None:
        self.gufunc, self.name, self.layout = gufunc, gufunc.__name__, gufunc._layout
        self.core = _layout(self.layout)
        self.given, self.keywords = given, keywords
        self.outputs: list = []  # (name of the argument, type)
        self.inputs: dict = {}  # parameter -> (name of the argument, type)
        self.passed: dict = {}  # parameter -> the text of what is passed, of others than operands
        self.constants: dict = {}
        self.member = gufunc
        self.operands: list = []
        self.dropped: set = set()

    def refuse(self, text: str) -> _Refused:
        return _Refused(f"`{self.name}`{text}")


# ---- arguments ----

_OF_CALLS = ("axes", "axis", "keepdims", "casting", "dtype", "order", "subok", "sig", "signature", "stream", "where")


def _roles(gufunc: Any) -> list:
    """(name, role, has a default, is keyword-only) of the parameters."""
    if gufunc._roles is not None:
        return list(gufunc._roles)
    roles, n = [], 0
    for p in inspect.signature(gufunc.py_func).parameters.values():
        role = "default" if p.default is not p.empty else "operand" if n < gufunc.nin else "output"
        n += role != "default"
        roles.append((p.name, role, role == "default", p.kind is p.KEYWORD_ONLY))
    return roles


def _place(call: _Call, name: str, role: str, argument: tuple) -> None:
    if role == "default":
        raise call.refuse(f": parameter `{name}` has a default, which is compiled in: the layout {call.layout} does not count it")
    if name in call.inputs:
        raise call.refuse(f" got two values for argument `{name}`")
    call.inputs[name] = argument


def _place_out(call: _Call, type_: Any) -> None:
    nout = call.gufunc.nout
    if isinstance(type_, tuple):
        if len(type_) != nout:
            raise call.refuse(f" takes {nout} arrays in out=, and {len(type_)} were given")
        call.outputs = [(f"out[{i}]", one) for i, one in enumerate(type_)]
    elif nout != 1:
        raise call.refuse(f" takes a tuple of {nout} arrays as out=, not {type_}")
    else:
        call.outputs = [("out", type_)]


def _place_all(call: _Call) -> None:
    roles = _roles(call.gufunc)
    by_place = [(name, role) for name, role, _, by_name in roles if role != "output" and not by_name]
    if call.gufunc._roles is None:
        by_place = [(name, role) for name, role in by_place if role == "operand"]
    nin, n = len(by_place), len(call.given)
    if nin < n != nin + call.gufunc.nout:
        raise call.refuse(f" takes {nin + call.gufunc.nout} arguments in a compiled function, the inputs and the outputs, or the {nin} inputs alone, and {n} "
                          "were given")
    for at, type_ in enumerate(call.given):
        if at < nin:
            _place(call, *by_place[at], (f"a{at}", type_))
        else:
            call.outputs.append((f"a{at}", type_))
    known = {name: role for name, role, *_ in roles if role != "output"}
    for name, type_ in call.keywords.items():
        if name == "out" and call.outputs:
            raise call.refuse(" got outputs both by position and as out=")
        if name == "out":
            _place_out(call, type_)
        elif name in known and name not in _OF_CALLS:
            _place(call, name, known[name], (name, type_))
        elif name in _OF_CALLS:
            raise call.refuse(f" takes the keyword `{name}` outside of compiled functions only")
        else:
            raise call.refuse(f" takes no keyword `{name}` in a compiled function")
    for name, role, has_default, _ in roles:
        if role != "output" and not has_default and name not in call.inputs:
            raise call.refuse(f" needs an argument for `{name}`")


def _static(call: _Call, param: str, argument: tuple) -> None:
    type_ = argument[1]
    if isinstance(type_, types.Literal):
        value = type_.literal_value
    elif str(type_) == "void":
        value = None
    else:
        what = "a value that is known only at run time" if type_ is None else type_
        raise call.refuse(f": static argument `{param}` must be a constant where a compiled function calls it, not {what}")
    name = f"static{len(call.constants)}"
    call.constants[name] = call.passed[param] = value
    call.passed[param] = name


def _excluded(call: _Call, param: str, argument: tuple) -> None:
    if not _is_array(argument[1]):
        raise call.refuse(f": excluded argument `{param}` must be an array, not {argument[1]}")
    call.passed[param] = argument[0]


def _stand_in(type_: Any) -> Any:
    """An array of an excluded array's type."""
    return np.empty((0,) * type_.ndim if isinstance(type_, types.Array) else (), _dtype(type_))


def _dtype(type_: Any) -> Any:
    return np.dtype(getattr(types, str(type_).split("[")[0]).dtype)


def _find_member(call: _Call) -> None:
    """What a family would run, for its signatures, and for the dtypes of outputs."""
    values: dict = {}
    for name, role, *_ in _roles(call.gufunc):
        if name not in call.inputs:
            continue
        type_ = call.inputs[name][1]
        if role == "excluded":
            _excluded(call, name, call.inputs[name])
            values[name] = _stand_in(type_)
        elif role == "static":
            _static(call, name, call.inputs[name])
            values[name] = call.constants[call.passed[name]]
        else:
            values[name] = 0
    try:
        call.member = call.gufunc._member(**values)
    except Exception as problem:  # of any kind: the function is read with other values than before
        raise call.refuse(f": {problem}") from None


def _literal_to_number(type_: Any) -> Any:
    value = type_.literal_value if isinstance(type_, types.Literal) else None
    if isinstance(value, (np.generic, bool)):
        return types.from_dtype(np.dtype(type(value)))
    return WeakNumber(types.from_dtype(np.dtype(type(value)))) if type(value) in (int, float, complex) else type_


def _operand(call: _Call, at: int, argument: tuple, param: str, core: list) -> _Operand:
    nin = call.gufunc.nin
    name, type_ = argument[0], _literal_to_number(argument[1])
    is_output = at >= nin
    as_array = call.member._indexed[at + call.member.nin - nin if is_output else at] or (is_output and call.member._fills)
    if isinstance(type_, types.Object) and not is_output:
        if core:
            raise call.refuse(f": argument `{param or name}` is an object, which has no dimensions, but the layout {call.layout} needs some")
        return _Operand(name, param, type_, core, False, False)
    if not _is_array(type_) and not _is_number(type_):
        what = "an array" if is_output else "an array, a number or an object"
        raise call.refuse(f": argument `{param or name}` must be {what} in a compiled function, not {'this' if type_ is None else type_}")
    operand = _Operand(name, param, type_, core, is_output, as_array)
    if is_output and operand.is_number:
        raise _Refused(f"{call.name}: output {at - nin} must be an array, not {type_}")
    return operand


def _drop(call: _Call) -> None:
    """Optional dimensions are left out of all operands if one of them has too few for them."""
    nin = call.gufunc.nin
    for at, operand in enumerate(call.operands):
        kept = [name for name in operand.core if name not in call.dropped]
        optional = [name for name in kept if name.endswith("?")]
        if operand.made:
            continue
        if operand.ndim < len(kept) - len(optional):
            kind, place = ("Output", at - nin) if operand.is_output else ("Input", at)
            raise _Refused(f"{call.name}: {kind} operand {place} does not have enough dimensions (has {operand.ndim}, gufunc core with "
                           f"signature {call.layout} requires {len(kept) - len(optional)})")
        call.dropped.update(optional[:max(len(kept) - operand.ndim, 0)])
    for operand in call.operands:
        operand.kept = [name for name in operand.core if name not in call.dropped]
        operand.loops = operand.ndim - len(operand.kept)


def _find_operands(call: _Call) -> None:
    inputs, outputs = call.core
    params = [name for name, role, *_ in _roles(call.gufunc) if role == "operand"]
    targets = [name for name, role, *_ in _roles(call.gufunc) if role == "output"]
    for at, (param, core) in enumerate(zip(params, inputs)):
        call.operands.append(_operand(call, at, call.inputs[param], param, core))
    for at, core in enumerate(outputs):
        param = targets[at] if targets else ""
        if call.outputs:
            call.operands.append(_operand(call, len(inputs) + at, call.outputs[at], param, core))
        else:
            operand = _Operand(f"a{len(call.inputs) + at}", param, None, core, True, call.member._fills)
            operand.made = "later"
            call.operands.append(operand)
    _drop(call)
    loops = max((operand.loops for operand in call.operands if not operand.made), default=0)
    for operand in call.operands:
        if operand.made:
            operand.loops = loops


def _plain(name: str) -> str:
    return name.rstrip("?").removesuffix("|1")


# ---- dtypes ----


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


def _fits_weakly(operand: _Operand, dtype: np.dtype) -> bool:
    """Whether the operand is a number of Python and can have the dtype, as beside arrays on the host."""
    kind = operand.dtype.rstrip("0123456789")
    return isinstance(operand.type, WeakNumber) and dtype.kind in {"int": "iufc", "float": "fc", "complex": "c"}.get(kind, "")


def _fits(operand: _Operand, wanted: str, weakly: bool = False) -> bool:
    """Arrays must have the dtype of a signature; numbers are cast safely."""
    base = wanted.split("[")[0]
    base = "bool" if base == "bool_" else base
    if operand.made or operand.dtype == base:
        return True
    if operand.core or operand.is_output or "[" in wanted:
        return False
    try:
        dtype = getattr(types, base).dtype
        return np.can_cast(getattr(types, operand.dtype).dtype, dtype, "safe") or weakly and _fits_weakly(operand, dtype)
    except (AttributeError, TypeError):
        return False


def _signature_of(call: _Call) -> list | None:
    """The types that the operands are converted to; None: they stay as they are."""
    declared = call.member._declared_signatures
    if declared is None:
        return None
    operands = call.operands
    for weakly in (False, True):
        for text in declared:
            wanted = _parameters(text)
            if len(wanted) < len(operands):  # the function returns its outputs
                wanted += [operand.dtype for operand in operands[len(wanted):]]
            if all(_fits(operand, type_, weakly) for operand, type_ in zip(operands, wanted)):
                return wanted
    tried = ", ".join(declared)
    raise _Refused(f"E181: `{call.name}` has no signature for the dtypes {', '.join(o.dtype for o in operands if not o.made)}: it has {tried}")


def _of_numbers(call: _Call, given: list) -> tuple:
    """The gufunc whose dtypes are those of the call, and (type, whether it is a number) of its operands: objects are their fields."""
    plain = [(operand.type, operand.is_number) for operand in given]
    if not any(operand.is_object for operand in given):
        return call.member, plain
    from lanewise import _objects

    examples = {operand.param: np.zeros((), _objects.dtype_of_type(operand.type)) if operand.is_object else
                np.zeros((1,) * operand.ndim, _dtype(operand.type)) for operand in given}
    beside = {name: call.constants[call.passed[name]] if role == "static" else _stand_in(call.inputs[name][1])
              for name, role, *_ in _roles(call.gufunc) if role in ("static", "excluded") and name in call.inputs}
    member, stand_ins = _objects.gufunc_of_fields(call.gufunc, {**examples, **beside})
    if member is None:
        raise call.refuse(" of objects alone needs its outputs as arguments in a compiled function")
    if stand_ins:
        member = member._member(*[0] * member.nin, *stand_ins)
    return member, [leaf for operand, one in zip(given, plain) for leaf in (_objects.leaves_of_type(operand.type) if operand.is_object else [one])]


def _make_outputs(call: _Call) -> None:
    """The dtypes of outputs that are not given, which the call makes as it does outside of compiled functions."""
    inputs, outputs = call.core
    known = {name for core in inputs for name in map(_plain, core)}
    missing = [name for core in outputs for name in map(_plain, core) if name not in known and not name.isdigit()]
    if missing:
        raise _Refused(f"`{call.name}` needs its outputs as arguments, because no input has the dimension {missing[0]} of its layout {call.layout}")
    given = [operand for operand in call.operands if not operand.made]
    nout = call.gufunc.nout
    try:
        member, given = _of_numbers(call, given)
        dtypes = [_dtype(type_) for type_, _ in given]
        weak = [_WEAK[dtype] if isinstance(type_, WeakNumber) and dtype in _WEAK else dtype for dtype, (type_, _) in zip(dtypes, given)]
        # with typing="numba", the type does not say whether a number is one of Python
        weaker = [_WEAK.get(dtype, dtype) if is_number else dtype for dtype, (_, is_number) in zip(dtypes, given)]
        hidden = [np.dtype(np.int64)] * (member.nin - len(given))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", errors.PrecisionWarning)  # W203, which the compiled function itself gives
            found, other = (member.resolve_dtypes((*row, *hidden, *[None] * nout))[-nout:] for row in (weak, weaker))
    except Exception as problem:  # of any kind: the function may not compile for these dtypes
        raise _Refused(f"`{call.name}` without outputs: {problem}") from None
    if found != other:
        raise _Refused(f"`{call.name}` without outputs: with {', '.join(map(str, dtypes))}, their dtype depends on whether a number is one of Python; "
                       "pass an output, or a number of the array's dtype, as in np.float32(x)")
    for operand, dtype in zip(call.operands[-nout:], found):
        operand.made = dtype.name if dtype != bool else "bool_"


# ---- the text ----

_CORE = "Operand has a mismatch in one of its core dimensions"
_LOOP = "Loop and array shapes are incompatible"


def _unless(condition: str, message: str, error: str = "ValueError") -> list:
    return [f"    if {condition}:", f"        raise {error}({message!r})"]


def _check_cores(operands: list, first: dict) -> list:
    """first: gets the size of each dimension of the layout."""
    lines: list = []
    wide: dict = {}  # those that may be broadcast
    for operand in operands:
        for axis, name in enumerate(operand.kept):
            size = f"{operand.name}.shape[{operand.loops + axis}]"
            if name.endswith("|1"):
                wide.setdefault(_plain(name), []).append(size)
            elif not operand.made:
                known = name if name.isdigit() else first.setdefault(_plain(name), size)
                if known != size:
                    lines += _unless(f"{size} != {known}", _CORE)
    for at, (name, sizes) in enumerate(wide.items()):
        if name not in first:
            first[name] = f"m{at}"
            lines.append(f"    m{at} = 1")
            for size in sizes:
                lines += [f"    if {size} != 1:", f"        m{at} = {size}"]
        for size in sizes:
            lines += _unless(f"{size} != 1 and {size} != {first[name]}", _CORE)
    return lines


def _extents(operands: list, n: int) -> list:
    """n0, n1, …: those to which the operands broadcast; outputs must have them, but for leading axes of size 1."""
    lines = []
    operands = [operand for operand in operands if not operand.made]
    outputs = [operand for operand in operands if operand.is_output]
    shaped = outputs[0] if outputs and outputs[0].loops == n else None  # its sizes are those of all
    for d in range(n):
        axes = [(operand, operand.name + f".shape[{d - (n - operand.loops)}]" if d >= n - operand.loops else "") for operand in operands]
        if shaped is not None:
            lines.append(f"    n{d} = {shaped.name}.shape[{d}]")
        else:
            lines.append(f"    n{d} = 1")
            for _, size in axes:
                lines += [f"    if {size} != 1:", f"        n{d} = {size}"] if size else []
        for operand, size in axes:
            if operand is not shaped and (size or operand.is_output):
                one = "" if operand.is_output else f"{size} != 1 and "
                lines += _unless(f"{one}{size or 1} != n{d}", _LOOP)
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


def _view(operand: _Operand, indices: list, sizes: dict) -> str:
    """The core of an item: dimensions that the call has not have the size 1."""
    axes = [":" if name in operand.kept else "None" for name in operand.core]
    while axes and axes[-1] == ":":
        axes.pop()
    text = f"{operand.name}[{', '.join(indices + axes)}]" if indices or axes else operand.name
    if any(name.endswith("|1") for name in operand.kept):
        shape = [sizes.get(_plain(name), _plain(name)) if name in operand.kept else "1" for name in operand.core]
        text = f"wide({text}, ({''.join(f'{size}, ' for size in shape)}))"
    return text


def _is_local(operand: _Operand) -> bool:
    """An output of one number that the call makes, and returns: no array is made for it."""
    return bool(operand.made) and not operand.loops and not operand.kept


def _item(operand: _Operand, n: int, at: int, wanted: str | None, sizes: dict) -> tuple:
    """(lines before the call, what is passed, lines behind it)."""
    lines, indices = _indices(operand, n, at)
    behind: list = []
    ones = max(len(operand.core), 1)
    if _is_local(operand):
        return lines, operand.name, behind
    if operand.kept:
        return lines, _view(operand, indices, sizes), behind
    if operand.as_array and indices:
        return lines, f"{operand.name}[{', '.join(indices[:-1] + [f'{indices[-1]}:{indices[-1]} + 1'] + ['None'] * (ones - 1))}]", behind
    value = operand.name if operand.is_number else f"{operand.name}[{', '.join(indices) or '()'}]"
    if wanted and wanted.split("[")[0] != operand.dtype:
        value = f"{wanted.split('[')[0]}({value})"
    if operand.as_array:
        dtype = f"{operand.name}.dtype" if operand.is_output else (wanted or operand.dtype).split("[")[0]
        first = ", ".join(["0"] * ones)
        lines += [f"b{at} = local({(1,) * ones}, {dtype})", f"b{at}[{first}] = {value}"]
        if operand.is_output:
            behind = [f"{operand.name}[()] = b{at}[{first}]"]
        value = f"b{at}"
    return lines, value, behind


def _arguments(call: _Call, values: dict) -> str:
    """Those of the core: by position as far as no parameter is left out, and then by name."""
    texts, by_name = [], False
    for name, role, _, only_by_name in _roles(call.gufunc):
        if name not in values:
            by_name = by_name or role != "output" or call.member._fills
            continue
        by_name = by_name or only_by_name
        texts.append(f"{name}={values[name]}" if by_name else values[name])
    return ", ".join(texts)


def _makes(operands: list, n: int, sizes: dict) -> list:
    lines = []
    for operand in operands:
        if _is_local(operand):
            lines.append(f"    {operand.name} = local({(1,) * max(len(operand.core), 1)}, {operand.made})")
        elif operand.made:
            shape = [f"n{d}" for d in range(n)] + [sizes.get(_plain(name), _plain(name)) for name in operand.kept]
            lines.append(f"    {operand.name} = empty(({''.join(f'{size}, ' for size in shape)}), {operand.made})")
    return lines


def _result(operand: _Operand) -> str:
    if _is_local(operand):
        return f"{operand.name}[{', '.join(['0'] * max(len(operand.core), 1))}]"
    return operand.name


def _body(call: _Call, wanted: list | None, sizes: dict, n: int) -> list:
    """The lines of one item."""
    lines, values, behind = [], dict(call.passed), []
    for at, operand in enumerate(call.operands):
        if operand.is_output and not call.member._fills:
            continue
        before, value, after = _item(operand, n, at, wanted[at] if wanted else None, sizes)
        lines += before
        values[operand.param] = value
        behind += after
    text = f"core({_arguments(call, values)})"
    if not call.member._fills and call.gufunc.nout:
        targets = [f"{operand.name}[{', '.join(_indices(operand, n, at)[1]) or ('0' if _is_local(operand) else '()')}]"
                   for at, operand in enumerate(call.operands) if operand.is_output]
        text = f"{', '.join(targets)} = {text}"
    return [*lines, text, *behind]


def _check_ints(operands: list, wanted: list | None) -> list:
    """Ints of Python must fit the type of the signature."""
    lines = []
    for operand, text in zip(operands, wanted or []):
        base = text.split("[")[0]
        if isinstance(operand.type, WeakNumber) and operand.dtype == "int64" and base.lstrip("u").startswith("int"):
            limits = np.iinfo(base)
            most = f" or {operand.name} > {limits.max}" if limits.bits < 64 else ""  # larger ones are no int64
            lines += _unless(f"{operand.name} < {limits.min}{most}", f"Python integer out of bounds for {base}", "OverflowError")
    return lines


def _text(call: _Call, wanted: list | None) -> str:
    operands = call.operands
    n = max((operand.loops for operand in operands), default=0)
    names = [f"a{at}" for at in range(len(call.given))] + list(call.keywords)
    sizes: dict = {}
    lines = [f"def loops({', '.join(names)}):"]
    lines += _check_ints(operands, wanted)
    lines += _check_cores(operands, sizes)
    lines += _extents(operands, n)
    lines += _makes(operands, n, sizes)
    for d in range(n):
        lines.append("    " * (d + 1) + f"for i{d} in range(n{d}):")
    indent = "    " * (n + 1)
    lines += [indent + line for line in _body(call, wanted, sizes, n)]
    results = [_result(operand) for operand in operands if operand.made]
    if results:
        lines.append(f"    return {', '.join(results)}")
    return "\n".join([*lines, ""])


def _function(call: _Call, text: str) -> Any:
    path = f"<lanewise loops of {call.name} {abs(hash(text)):x}>"
    scope = {"core": call.gufunc.py_func, "local": intrinsics.local, "empty": np.empty, "wide": np.broadcast_to, "__name__": __name__,
             **{name: getattr(types, name) for name in _DTYPES}, **call.constants}
    taken = [name for name in call.keywords if name in scope or _is_own_name(name)]
    if taken and taken != ["out"]:
        raise call.refuse(f": pass `{taken[0]}` by position: compiled functions use this name themselves")
    return _texts.run(text, path, scope)["loops"]


def _is_own_name(name: str) -> bool:
    return name[0] in "abijmn" and name[1:].replace("_", "").isdigit()


_DTYPES = ("bool_", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16", "bfloat16", "float32", "float64", "complex64", "complex128")


# ---- answers ----


def _is_direct(call: _Call) -> bool:
    """Whether the arguments are what the user's function takes, and need no look at their sizes."""
    operands = call.operands
    names = [name for operand in operands for name in operand.core]
    if call.keywords or call.gufunc._roles is not None or len(set(names)) != len(names) or not all(map(str.isidentifier, names)):
        return False
    if any(operand.loops or (isinstance(operand.type, NoAxes) and not operand.as_array) for operand in operands):
        return False
    if call.member._fills:
        return not any(operand.made or (operand.as_array and not operand.core) for operand in operands)
    return not call.outputs and not any(operand.as_array and not operand.core for operand in operands)


def _key_of_type(type_: Any) -> Any:
    return type_ if isinstance(type_, types.Object) else str(_literal_to_number(type_))


def _key(call: _Call) -> tuple:
    """Literals of operands count as their types; classes of one name are not the same."""
    return (tuple(map(_key_of_type, call.given)), tuple((name, _key_of_type(type_)) for name, type_ in call.keywords.items()),
            tuple((name, type(value), repr(value), id(value)) for name, value in call.constants.items()))


def choose(gufunc: Any, given: list[Any], keywords: dict[str, Any]) -> tuple:
    """(function, None); (None, None): the user's function takes the arguments; (None, text): why there is none."""
    if hasattr(gufunc, "__func__"):
        gufunc = gufunc._of_object()
    call = _Call(gufunc, list(given), dict(keywords))
    try:
        _place_all(call)
        if gufunc._roles is not None:
            _find_member(call)
        _find_operands(call)
        if _is_direct(call):
            return None, None
        wanted = _signature_of(call)
        if any(operand.made for operand in call.operands):
            _make_outputs(call)
        known, key = _made.setdefault(gufunc, {}), _key(call)
        if key not in known:
            known[key] = _function(call, _text(call, wanted))
        return known[key], None
    except _Refused as problem:
        return None, str(problem)

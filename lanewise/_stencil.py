"""numba's ``stencil``: a function of the neighbours of an element, whose subscripts are relative to it.

The function is made into one that has the place of the element as its first parameters, `a[0, 1]` in it into `a[i, j + 1]`. A second
function loops over the places, and is what the decorator returns: a function of `jit`.
"""

from __future__ import annotations

import ast
import inspect
import itertools
import math
import textwrap
import types
from typing import Any, Callable

import numpy as np

import lanewise
from lanewise import _core, _texts
from lanewise._core import intrinsics
from lanewise.errors import UnsupportedError

__all__ = ["stencil"]

_arrays = intrinsics.arrays
_PLACES = "stencil_place_"  # the beginning of names that no user has
_numbers = itertools.count(1)  # of the texts of this process


def overlap(x: Any, y: Any) -> Any:
    """Whether two arrays share memory. Compiled only; it has a name by which pickle finds it."""
    return _arrays.meet(x, y)


def _definition(function: Any) -> ast.FunctionDef:
    """The function's AST, a lambda as a `def`."""
    text = textwrap.dedent(inspect.getsource(function))
    try:
        tree = ast.parse(text)
    except SyntaxError:  # a part of an expression, such as an argument on a line of its own
        raise TypeError("stencil: write the function as a `def`") from None
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name == function.__name__:
            node.decorator_list = []
            return node
    lambdas = [node for node in ast.walk(tree) if isinstance(node, ast.Lambda)]
    if len(lambdas) != 1:
        raise TypeError("stencil: write the function as a `def`")
    made = ast.FunctionDef("stencil_function", lambdas[0].args, [ast.Return(lambdas[0].body)], [])
    return ast.fix_missing_locations(ast.copy_location(made, lambdas[0]))


def _number(node: ast.expr) -> int | None:
    """The int that the expression is; None: it is known only when the function runs."""
    try:
        value = ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError):
        return None
    return value if type(value) is int else None


class _Places(ast.NodeTransformer):
    """Adds the place of the element to the subscripts of the arrays, and finds how far they reach."""

    def __init__(self, arrays: set[str], neighborhood: Any):
        self.arrays, self.given = arrays, neighborhood
        self.reach: list[list[int]] = []
        self.indexed: set[str] = set()
        self.whole: set[str] = set()  # used without a subscript, which would have ordinary indices
        self.hidden: set[str] = set()  # other variables have their names

    def _array(self, node: ast.AST) -> str:
        return node.id if isinstance(node, ast.Name) and node.id in self.arrays else ""

    def visit_Name(self, node: ast.Name) -> Any:
        (self.whole if isinstance(node.ctx, ast.Load) else self.hidden).update({node.id} & self.arrays)
        return node

    def visit_arg(self, node: ast.arg) -> Any:
        self.hidden.update({node.arg} & self.arrays)
        return node

    def visit_Attribute(self, node: ast.Attribute) -> Any:
        return node if self._array(node.value) else self.generic_visit(node)  # `a.shape`

    def visit_Call(self, node: ast.Call) -> Any:
        is_length = isinstance(node.func, ast.Name) and node.func.id == "len" and len(node.args) == 1 and self._array(node.args[0])
        return node if is_length else self.generic_visit(node)

    def visit_Subscript(self, node: ast.Subscript) -> Any:
        inner = node.value.value if isinstance(node.value, ast.Subscript) else node
        if self._array(inner) and not (isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str)):
            raise TypeError(f"stencil: `{ast.unparse(node)}`: write all indices in one subscript, as in `{self._array(inner)}[0, 1]`")
        if not self._array(node.value):
            return self.generic_visit(node)
        node.slice = self.visit(node.slice)
        assert isinstance(node.value, ast.Name)
        if not isinstance(node.ctx, ast.Load):
            raise TypeError(f"stencil: `{node.value.id}` is read only: assigning to arrays that are passed to the function is not allowed")
        indices = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        self._widen(node.value.id, indices)
        places = [ast.BinOp(ast.Name(f"{_PLACES}{k}", ast.Load()), ast.Add(), index) for k, index in enumerate(indices)]
        made = ast.Subscript(node.value, ast.Tuple(list(places), ast.Load()) if len(places) > 1 else places[0], ast.Load())
        return ast.fix_missing_locations(ast.copy_location(made, node))

    def check(self) -> None:
        for name in sorted(self.indexed & self.hidden):
            raise TypeError(f"stencil: `{name}` is an array with relative indices: give other variables other names")
        for name in sorted(self.indexed & self.whole):
            raise TypeError(f"stencil: `{name}` has relative indices, and can be used only as in `{name}[0]`, `{name}.shape` and `len({name})`")

    def _widen(self, name: str, indices: list[ast.expr]) -> None:
        self.indexed.add(name)
        if any(isinstance(index, ast.Slice) for index in indices):
            raise UnsupportedError(f"stencil: a slice of `{name}`: write the elements one by one, or loop over them")
        self.reach = self.reach or [[0, 0] for _ in indices]
        if len(self.reach) != len(indices):
            raise TypeError(f"stencil: `{name}` has {len(indices)} indices, other subscripts have {len(self.reach)}")
        for ends, index in zip(self.reach, indices):
            number = _number(index)
            if number is None and self.given is None:
                raise TypeError(f"stencil: an index of `{name}` is not an int constant: give neighborhood=, the first and the last index of each axis")
            ends[:] = [min(ends[0], number or 0), max(ends[1], number or 0)]


def _filename(name: str) -> str:
    return f"<stencil {name} {next(_numbers)}>"


def _codes_in(code: types.CodeType) -> Any:
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield constant
            yield from _codes_in(constant)


def _with_places(function: Any, definition: ast.FunctionDef) -> Any:
    """The changed function, with the globals and closure variables of the user's."""
    lines = ast.unparse(definition)
    free = function.__code__.co_freevars
    if free:
        lines = f"def around({', '.join(free)}):\n{textwrap.indent(lines, '    ')}\n    return {definition.name}"
    filename = _filename(function.__name__)
    _texts.keep(lines, filename)
    code = next(each for each in _codes_in(compile(lines, filename, "exec")) if each.co_name == definition.name)
    cells = dict(zip(free, function.__closure__ or ()))
    return types.FunctionType(code, function.__globals__, function.__name__, function.__defaults__, tuple(cells[name] for name in code.co_freevars))


def _driver_text(name: str, parameters: list[str], indexed: list[str], reach: Any, sets_border: bool, is_whole: bool) -> str:
    """The function that loops over the places."""
    first, n = parameters[0], len(reach)
    places = [f"{_PLACES}{k}" for k in range(n)]
    given = ", ".join(parameters)
    lines = [f"def {name}({given}, out=None):"]
    for other in indexed:
        if other != first:
            smaller = " or ".join(f"{other}.shape[{k}] < {first}.shape[{k}]" for k in range(n))
            lines += [f"    if {smaller}:", f"        raise ValueError('stencil: `{other}` is smaller than `{first}`')"]
    zeros = ", ".join(["0"] * (n - 1) + [given])
    lines += ["    if out is None:",
              f"        stencil_values = np.array([point(stencil_k, {zeros}) for stencil_k in range(min({first}.shape[0], 0))])",
              f"        stencil_out = np.full({first}.shape, border, stencil_values.dtype)",
              "    else:", "        stencil_out = out",
              f"        if {' or '.join([f'out.ndim != {n}', *(f'out.shape[{k}] != {first}.shape[{k}]' for k in range(n))])}:",
              f"            raise ValueError('stencil: the shape of `out` is not that of `{first}`')"]
    lines += [line for other in indexed for line in (
        f"        if meet(out, {other}):", f"            raise ValueError('stencil: `out` and `{other}` overlap in memory: pass another array')")]
    if not is_whole:
        lines += ["    if isinstance(stencil_out.dtype.type(0), (np.integer, np.bool_)):",
                  "        raise ValueError('stencil: cval does not fit the integers that the function returns')"]
    if sets_border:
        lines += ["    if out is not None:", "        stencil_out[...] = border"]
    for k, (low, high) in enumerate(reach):
        loop = "prange" if k == 0 else "range"
        lines += ["    " * (k + 1) + f"for {places[k]} in {loop}({max(-low, 0)}, {first}.shape[{k}] - {max(high, 0)}):"]
    lines += ["    " * (n + 1) + f"stencil_out[{', '.join(places)}] = point({', '.join(places)}, {given})", "    return stencil_out"]
    return "\n".join(lines) + "\n"


def _check(function: Any, neighborhood: Any, standard_indexing: Any, cval: Any) -> list[str]:
    if not isinstance(function, types.FunctionType):
        raise TypeError(f"stencil: expected a Python function, got {type(function).__name__}")
    code = function.__code__
    parameters = [*code.co_varnames[:code.co_argcount]]
    if not parameters or code.co_kwonlyargcount or code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS):
        raise TypeError("stencil: the function needs an array as its first parameter, and takes no *args, keyword-only parameters or **kwargs")
    unknown = set(standard_indexing) - set(parameters)
    if unknown:
        raise ValueError(f"stencil: standard_indexing= names {sorted(unknown)[0]!r}, which is not a parameter of `{function.__name__}`")
    if parameters[0] in standard_indexing:
        raise ValueError(f"stencil: the first array, `{parameters[0]}`, must use relative indices")
    if neighborhood is not None and not all(len(pair) == 2 and pair[0] <= pair[1] for pair in neighborhood):
        raise ValueError(f"stencil: neighborhood= must be a tuple of pairs, the first and the last index of each axis, not {neighborhood!r:.200}")
    if not isinstance(cval, (bool, int, float, complex, np.number)):
        raise TypeError(f"stencil: cval= must be a number, not {cval!r:.200}")
    return parameters


def _made(function: Any, neighborhood: Any, standard_indexing: Any, cval: Any, options: dict[str, Any]) -> Any:
    function = getattr(function, "py_func", function)
    standard_indexing = (standard_indexing,) if isinstance(standard_indexing, str) else tuple(standard_indexing or ())
    parameters = _check(function, neighborhood, standard_indexing, 0 if cval is None else cval)
    definition = _definition(function)
    places = _Places(set(parameters) - set(standard_indexing), neighborhood)
    definition.body = [places.visit(statement) for statement in definition.body]
    places.check()
    if not places.reach:
        raise TypeError(f"stencil: `{function.__name__}` reads no element of its arrays")
    if neighborhood is not None and len(neighborhood) != len(places.reach):
        raise ValueError(f"stencil: neighborhood= has {len(neighborhood)} axes, the subscripts have {len(places.reach)}")
    definition.args.args = [ast.arg(f"{_PLACES}{k}") for k in range(len(places.reach))] + definition.args.posonlyargs + definition.args.args
    definition.args.posonlyargs, definition.returns = [], None
    for each in definition.args.args:
        each.annotation = None
    name = function.__name__ if function.__name__.isidentifier() else "stencil"
    point = _with_places(function, ast.fix_missing_locations(definition))
    indexed = [each for each in parameters if each in places.indexed]
    is_whole = cval is None or (not isinstance(cval, (complex, np.complexfloating)) and math.isfinite(cval) and cval == int(cval))
    text = _driver_text(name, parameters, indexed, neighborhood or places.reach, cval is not None, is_whole)
    namespace = {"np": np, "prange": lanewise.prange, "meet": overlap, "point": point, "border": 0 if cval is None else cval}
    driver: Any = _texts.run(text, _filename(name), namespace)[name]
    driver.__module__, driver.__doc__, driver.__qualname__ = function.__module__, function.__doc__, function.__qualname__
    return _core.jit(driver, **options)


def stencil(func_or_mode: Any = "constant", /, *, neighborhood: Any = None, standard_indexing: Any = None, cval: Any = None, **options: Any) -> Callable[..., Any]:
    """Make a function of arrays from a function of an element and its neighbours, like `numba.stencil`.

    In the function, `a[0, 0]` is the element at the place for which it is computed, and `a[-1, 0]` the one before it along the first axis.
    Where the neighbours would be outside of the array, the result is `cval`. The decorated function runs on all cores, and compiled
    functions can call it. With `out=`, it stores into that array, which has the shape of the first array and must not overlap any that
    the function reads (else a ValueError); elements whose neighbours are outside keep their values then, unless cval is given.

    Args:
        func_or_mode: the function, or "constant". Without a function, the call returns a decorator.
        neighborhood: the first and the last index of each axis, such as `((-1, 1), (0, 2))`. Needed if an index is not an int constant.
        standard_indexing: the names of arrays whose indices are ordinary ones.
        cval: the value at the border, 0 by default.
        **options: keywords of `jit`.

    Returns:
        A function of `jit`, or a decorator.

    >>> import numpy as np, lanewise as lw
    >>> @lw.stencil
    ... def slope(a):
    ...     return (a[1] - a[-1]) / 2
    >>> slope(np.arange(5.0) ** 2)
    array([0., 2., 4., 6., 0.])
    """
    if isinstance(func_or_mode, str):
        if func_or_mode != "constant":
            raise ValueError(f"stencil: the mode must be 'constant', not {func_or_mode!r:.200}")
        return lambda function: _made(function, neighborhood, standard_indexing, cval, options)
    made: Callable[..., Any] = _made(func_or_mode, neighborhood, standard_indexing, cval, options)
    return made

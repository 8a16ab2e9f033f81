"""Which lists of a function grow: its displays, ``[]`` and ``[x, y]``, and what else of its lists is written in another way before it is
read (lanewise/_rewriting.py).

A display is a tuple in compiled code, unless the list may change: ``[]``, and displays that are assigned to a variable of which
a method is called that changes lists. These become calls of lanewise/_growing_lists.py. So do ``[x] * n``, ``list(x)`` and ``sorted(x)``. A second name that has the same list all the time,
``y = x``, becomes the first one, because objects of compiled code have no second name. A loop over a list that changes in the loop
counts the places, as Python does. Lists and dicts that are items become calls of `inner` (lanewise/_typed_containers.py).
"""

from __future__ import annotations

import ast
import builtins
import copy
import functools
import inspect
import textwrap
import types
from typing import Any

from lanewise import _growing_dicts, _growing_lists, _shown_containers, _typed_containers

_CHANGING = frozenset(("append", "extend", "insert", "pop", "clear", "sort", "reverse", "remove"))
_CHANGING_TABLES = frozenset((  # dicts and sets
    "pop", "popitem", "clear", "update", "setdefault", "add", "remove", "discard", "difference_update", "intersection_update",
    "symmetric_difference_update"))
_READING = frozenset(("len", "sum", "min", "max", "any", "all", "sorted", "list", "tuple", "enumerate", "zip", "reversed", "range", "print", "bool"))
_TAKE_ITEM = frozenset(("append", "insert", "setdefault"))  # as the last argument
_ITERATORS = frozenset(("range", "zip", "enumerate", "reversed", "map"))


def _constant(value: Any) -> ast.expr:
    return ast.Constant(value)


def _call(function: Any, *arguments: ast.expr) -> ast.expr:
    return ast.Call(_constant(function), [*arguments], [])


def _load(name: str) -> ast.expr:
    return ast.Name(name, ast.Load())


def _set(name: str, value: ast.expr) -> ast.stmt:
    return ast.Assign([ast.Name(name, ast.Store())], value)


def _called(node: ast.AST) -> str:
    """The name of the function that is called; an empty text: it is no call of a name."""
    return node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else ""


def _generator_of(node: ast.AST) -> ast.GeneratorExp | None:
    """The expression in ``max((e for v in it), key=f)`` and ``max((d, e) for v in it)``, whose items become a list."""
    if not isinstance(node, ast.Call) or _called(node) not in ("min", "max") or len(node.args) != 1 or not isinstance(node.args[0], ast.GeneratorExp):
        return None
    return node.args[0] if node.keywords or isinstance(node.args[0].elt, ast.Tuple) else None


def _changed_by(node: ast.AST, methods: frozenset[str] = _CHANGING) -> str:
    """The text of the variable, or of the attribute of one, whose list the expression or statement may change; or an empty text."""
    target = _target_of(node, methods)
    return ast.unparse(target) if isinstance(target, (ast.Name, ast.Attribute)) else ""


def _target_of(node: ast.AST, methods: frozenset[str]) -> ast.AST | None:
    """The expression whose list an expression or statement may change."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in methods:
        return node.func.value
    if isinstance(node, ast.AugAssign):
        return node.target.value if isinstance(node.target, ast.Subscript) else node.target
    if isinstance(node, ast.Subscript) and isinstance(node.ctx, (ast.Store, ast.Del)):
        return node.value
    return None


def _changed_inside(node: ast.AST) -> str:
    """The variable of which the expression or statement may change an item, ``x[i].append(v)``; or an empty text."""
    target = _target_of(node, _CHANGING)
    of = _container_of(target) if target is not None else None
    return of.id if of is not None else ""


def _parts_of_repeated(node: ast.AST) -> tuple[ast.expr, ast.expr] | None:
    """x and n of ``[x] * n`` and ``n * [x]``."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        for row, n in ((node.left, node.right), (node.right, node.left)):
            if isinstance(row, ast.List) and len(row.elts) == 1 and not isinstance(n, ast.List):
                return row.elts[0], n
    return None


def _parts_of_starred(target: ast.expr, x: ast.expr) -> list[tuple[ast.expr, ast.expr]] | None:
    """What is assigned to each variable in ``a, *b, c = x``, where x is the name of a list; None: it is another assignment."""
    items = target.elts if isinstance(target, (ast.Tuple, ast.List)) else []
    if not any(isinstance(item, ast.Starred) for item in items) or any(isinstance(part, ast.Name) and isinstance(x, ast.Name) and part.id == x.id for item in items for part in ast.walk(item)):
        return None
    at = next(i for i, item in enumerate(items) if isinstance(item, ast.Starred))
    behind = len(items) - at - 1

    def read(place: ast.expr) -> ast.expr:
        return ast.Subscript(x, place, ast.Load())

    parts = [(item, read(ast.Constant(i))) for i, item in enumerate(items[:at])]
    parts.append((items[at].value, read(ast.Slice(ast.Constant(at), ast.Constant(-behind) if behind else None))))  # type: ignore[attr-defined]
    return parts + [(item, read(ast.Constant(i - len(items)))) for i, item in enumerate(items) if i > at]


def _is_constant(node: ast.expr) -> bool:
    """Whether a display is made of constants, as a tuple; other expressions are, for this question."""
    if isinstance(node, ast.IfExp):
        return _is_constant(node.body) and _is_constant(node.orelse)
    if not isinstance(node, ast.List):
        return _parts_of_repeated(node) is None or isinstance(_parts_of_repeated(node)[1], ast.Constant)  # type: ignore[index]
    return not any(isinstance(part, (ast.Name, ast.Call, ast.Subscript, ast.Attribute)) for item in node.elts for part in ast.walk(item))


def _arms(value: ast.expr | None) -> list[ast.expr | None]:
    return _arms(value.body) + _arms(value.orelse) if isinstance(value, ast.IfExp) else [value]


def _are_mixed(values: list[ast.expr | None]) -> bool:
    """Whether a variable has a list of another kind or length besides a display."""
    arms = [arm for value in values for arm in _arms(value)]
    lengths = {len(arm.elts) if isinstance(arm, ast.List) else 0 for arm in arms}
    return len(arms) > 1 and (0 in lengths or len(lengths) > 1)


def _names_of(value: ast.expr | None) -> list[str]:
    """The variables whose value this may be."""
    return [arm.id for arm in _arms(value) if isinstance(arm, ast.Name)]


def _object(node: ast.expr, names: dict[str, Any]) -> Any:
    """What a name, or an attribute of a module, is among the globals."""
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        return getattr(names.get(node.value.id), node.attr, None)
    return names.get(node.id) if isinstance(node, ast.Name) else None


def _tree_of(function: types.FunctionType) -> ast.FunctionDef | None:
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
    except (OSError, TypeError, SyntaxError, SystemError):  # no source, a lambda within an expression, or threads that parse (see core/front/read/ast.c)
        return None
    return tree if isinstance(tree, ast.FunctionDef) and tree.name == function.__code__.co_name else None


def _subclasses(cls: type) -> list[type]:
    below: list[type] = cls.__subclasses__()
    return [each for one in below for each in (one, *_subclasses(one))]


def _changed_fields(function: ast.FunctionDef, compiled: types.FunctionType) -> set[str]:
    """The texts of the attributes in ``__init__``, ``self.items = [0]``, whose lists other methods of the class change."""
    name, _, method = compiled.__qualname__.rpartition(".")
    cls = compiled.__globals__.get(name)
    if method != "__init__" or not isinstance(cls, type) or not function.args.args or not any(isinstance(node, ast.List) for node in ast.walk(function)):
        return set()
    found = set()
    changes = _Changes()
    for member in (member for other in (*cls.__mro__, *_subclasses(cls)) for member in vars(other).values()):
        one: Any = getattr(member, "py_func", member)
        tree = _tree_of(one) if isinstance(one, types.FunctionType) and one is not compiled else None
        if tree is not None and tree.args.args:
            texts = changes.within(tree, one.__globals__)
            found |= {text.partition(".")[2] for text in texts if text.startswith(f"{tree.args.args[0].arg}.")}
    return {f"{function.args.args[0].arg}.{field}" for field in found}


class _Changes:
    """Which variables of a function have lists that it changes: by itself, or by a function that it calls."""

    def __init__(self) -> None:
        self.known: dict[Any, frozenset[str]] = {}  # by function: its parameters whose lists it changes

    def of_parameters(self, function: types.FunctionType) -> frozenset[str]:
        """All of a function that names a method which changes lists: it may be that of another name of one of them."""
        if function not in self.known:
            self.known[function] = frozenset()  # for its own calls of itself
            code = function.__code__
            if _CHANGING.isdisjoint(code.co_names):
                self.known[function] = frozenset(code.co_varnames) & self._added_to(function)
            else:
                self.known[function] = frozenset(code.co_varnames)
        return self.known[function]

    def _added_to(self, function: types.FunctionType) -> set[str]:
        tree = _tree_of(function)
        if tree is None:
            return set()
        facts = _Facts(tree, function.__globals__, self)
        return facts.with_sources(facts.changed)

    def of_arguments(self, call: ast.Call, names: dict[str, Any]) -> list[ast.expr]:
        function = _object(call.func, names)
        if getattr(function, "__module__", None) in ("heapq", "_heapq", "bisect", "_bisect"):
            return call.args[:1] if function.__name__.startswith(("heap", "insort")) else []
        function = getattr(function, "py_func", function)
        if not isinstance(function, types.FunctionType):
            return []
        changed = self.of_parameters(function)
        given = [argument for name, argument in zip(function.__code__.co_varnames, call.args) if name in changed]
        return given + [keyword.value for keyword in call.keywords if keyword.arg in changed]

    def within(self, function: ast.AST, names: dict[str, Any]) -> set[str]:
        """The texts of the variables, and of the attributes of variables."""
        changed: set[str] = set()
        for node in ast.walk(function):
            changed.update((_changed_by(node), _changed_inside(node)))
            if isinstance(node, ast.Call):
                changed.update(ast.unparse(argument) for argument in self.of_arguments(node, names) if isinstance(argument, (ast.Name, ast.Attribute)))
        changed.discard("")
        return changed


class _Facts:
    """What is assigned to each variable, which lists change, and which names are returned."""

    def __init__(self, function: ast.AST, names: dict[str, Any], changes: _Changes | None = None):
        self.values: dict[str, list[ast.expr | None]] = {}  # None: a value that nobody sees
        self.changes = changes or _Changes()
        self.changed = self.changes.within(function, names)
        self.returned: set[str] = set()
        for node in ast.walk(function):
            if isinstance(node, ast.Return) and node.value is not None:
                items = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]
                self.returned.update(item.id for item in items if isinstance(item, ast.Name))
            if isinstance(node, ast.Assign):
                for target in node.targets:
                    self._assign(target, node.value)
            elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
                self._add(node.target.id, None)
            elif isinstance(node, ast.AnnAssign) and node.value is not None:
                self._assign(node.target, node.value)
            elif isinstance(node, (ast.For, ast.comprehension)):
                self._assign(node.target, None)
            elif isinstance(node, ast.NamedExpr):
                self._assign(node.target, None)
            elif isinstance(node, ast.arg):
                self._add(node.arg, None)
            elif isinstance(node, (ast.FunctionDef, ast.ClassDef)) and node is not function:
                self._add(node.name, None)
            elif isinstance(node, (ast.Global, ast.Nonlocal)):
                for name in node.names:
                    self._add(name, None)
            elif isinstance(node, ast.withitem) and node.optional_vars is not None:
                self._assign(node.optional_vars, None)
            elif isinstance(node, ast.ExceptHandler) and node.name:
                self._add(node.name, None)
            elif isinstance(node, (ast.MatchAs, ast.MatchStar)) and node.name:
                self._add(node.name, None)
        self.growing = {name for name, values in self.values.items() if name in self.changed or name in self.returned or _are_mixed(values)} | self.changed
        self.growing = self.with_sources(self.growing)

    def with_sources(self, lists: set[str]) -> set[str]:
        """These variables, and all from which they have their lists: what is assigned to a list that grows grows, too."""
        found, size = {*lists}, 0
        while size < len(found):
            size = len(found)
            found.update(name for known in [*found] for value in self.values.get(known, []) for name in _names_of(value))
        return found

    def _add(self, name: str, value: ast.expr | None) -> None:
        self.values.setdefault(name, []).append(value)

    def _assign(self, target: ast.expr, value: ast.expr | None) -> None:
        if isinstance(target, (ast.Name, ast.Attribute)):
            self._add(ast.unparse(target), value)
        elif isinstance(target, ast.Starred):
            self._assign(target.value, None)
        elif isinstance(target, (ast.Tuple, ast.List)):
            pairs = value.elts if isinstance(value, (ast.Tuple, ast.List)) and len(value.elts) == len(target.elts) else [None] * len(target.elts)
            for one, item in zip(target.elts, pairs):
                self._assign(one, item)


def _ragged(function: ast.FunctionDef, facts: _Facts) -> set[str]:
    """Variables with lists of different lengths, ``x = [[1, 2], [3]]``, of which one is chosen at run time, by ``x[i]`` or a loop."""
    found = set()
    for name, values in facts.values.items():
        rows = [row for value in values for row in (value.elts if isinstance(value, ast.List) else [None])]
        if all(isinstance(row, ast.List) for row in rows) and len({len(row.elts) for row in rows if isinstance(row, ast.List)}) > 1:
            found.add(name)
    known = [_known_use(node) for node in ast.walk(function)]
    uses = [node.id for node in ast.walk(function) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)]
    return {name for name in found if uses.count(name) > known.count(name)}


def _known_use(node: ast.AST) -> str:
    """The variable x in ``x[0]``, ``len(x)``, ``literal_unroll(x)``, ``f(*x)`` and ``a, b = x``, which need no list; or an empty text."""
    if isinstance(node, ast.Starred) and isinstance(node.value, ast.Name):
        return node.value.id
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Tuple) and isinstance(node.value, ast.Name):
        return node.value.id
    if isinstance(node, ast.Subscript) and isinstance(node.slice, (ast.Constant, ast.UnaryOp)) and isinstance(node.value, ast.Name):
        return node.value.id
    is_known = _called(node) in ("len", "literal_unroll") and len(node.args) == 1 and isinstance(node.args[0], ast.Name)  # type: ignore[attr-defined]
    return node.args[0].id if is_known else ""  # type: ignore[attr-defined]


def _aliases(function: ast.FunctionDef, facts: _Facts) -> dict[str, str]:
    """Names that have the list of another name wherever they have a value: ``y = x`` is all that is assigned to y, behind the statement of
    the function itself that assigns x, once."""
    found: dict[str, str] = {}
    assigned = set()
    augmented = [node.target.id for node in ast.walk(function) if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name)]  # which stay what they are

    def is_assigned_once(name: str) -> bool:
        return len(facts.values.get(name, [])) - augmented.count(name) == 1

    for statement in function.body:
        for node in ast.walk(statement):
            if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name) and isinstance(node.value, ast.Name):
                name, other = node.targets[0].id, found.get(node.value.id, node.value.id)
                if other in assigned and is_assigned_once(name) and is_assigned_once(other) and _is_made(facts, other):
                    found[name] = other
        if isinstance(statement, ast.Assign) and len(statement.targets) == 1 and isinstance(statement.targets[0], ast.Name):
            assigned.add(statement.targets[0].id)
    return found


def _mentions(node: ast.AST, name: str) -> bool:
    return any(isinstance(part, ast.Name) and part.id == name for part in ast.walk(node))


def _move(function: ast.FunctionDef) -> None:
    """``y = x`` at the end of a loop that makes a new x before it reads x: both exchange their lists, so that none has two names."""
    for loop in ast.walk(function):
        if not isinstance(loop, (ast.For, ast.While)):
            continue
        for at in range(len(loop.body) - 1, 0, -1):
            last = loop.body[at]
            if not isinstance(last, ast.Assign) or len(last.targets) != 1 or not isinstance(last.targets[0], ast.Name) or not isinstance(last.value, ast.Name):
                continue
            name, other = last.targets[0].id, last.value.id
            if name != other and not any(_mentions(later, other) for later in loop.body[at + 1:]) and _is_made_in(function, loop, name, other):
                last.targets = [ast.Tuple([ast.Name(name, ast.Store()), ast.Name(other, ast.Store())], ast.Store())]
                last.value = ast.Tuple([ast.Name(other, ast.Load()), ast.Name(name, ast.Load())], ast.Load())
                ast.fix_missing_locations(ast.copy_location(last, loop))


def _is_made_in(function: ast.FunctionDef, loop: ast.For | ast.While, name: str, other: str) -> bool:
    """Whether the loop makes the list `other` before it reads it, nothing reads it outside, and `name` has a list before the loop."""
    first = next((statement for statement in loop.body if _mentions(statement, other)), None)
    if not isinstance(first, ast.Assign) or not isinstance(first.targets[0], ast.Name) or first.targets[0].id != other or not isinstance(first.value, (ast.List, ast.ListComp)):
        return False
    if sum(_mentions(part, other) for part in ast.walk(function) if isinstance(part, ast.Name)) != sum(_mentions(part, other) for statement in loop.body for part in ast.walk(statement) if isinstance(part, ast.Name)):
        return False
    before = [statement for statement in ast.walk(function) if isinstance(statement, ast.Assign) and statement.lineno < loop.lineno]
    return any(isinstance(target, ast.Name) and target.id == name for statement in before for target in statement.targets)


def _may_grow(facts: _Facts, name: str) -> bool:
    """Whether each value that the function assigns to a variable is a list which is made there; a global has none."""
    return name in facts.values and all(isinstance(value, (ast.List, ast.ListComp)) or _called(value) == "list" or _parts_of_repeated(value) for value in facts.values[name] if value)


def _is_made(facts: _Facts, name: str) -> bool:
    """The same of a list, dict or set."""
    return _may_grow(facts, name) or all(_makes_dict(value) or _makes_set(value) for value in facts.values.get(name, [None]) if value)


def _is_assigned(name: str, nodes: list[Any]) -> bool:
    """Whether a variable gets another value in these, `x += y` apart."""
    parts = [part for node in nodes for part in ast.walk(node)]
    added = {id(part.target) for part in parts if isinstance(part, ast.AugAssign)}
    return any(isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store) and part.id == name and id(part) not in added for part in parts)


def _copied(node: ast.expr) -> ast.Name | None:
    """The variable x of ``x.copy()``, ``x[i:j]`` and ``x * n``; None: it is another expression."""
    of: ast.expr | None = None
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "copy" and not node.args:
        of = node.func.value
    elif isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice):
        of = node.value
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        of = node.left
    return of if isinstance(of, ast.Name) else None


def _adds_list(node: ast.expr) -> bool:
    """Whether an expression is the sum of a list that is written there and another one."""
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add) and any(isinstance(operand, (ast.List, ast.ListComp)) for operand in (node.left, node.right))


def _iterated_names(node: ast.expr) -> list[str]:
    """The variables over whose items ``for`` runs."""
    if isinstance(node, ast.Name):
        return [node.id]
    if isinstance(node, ast.Call) and _called(node) in ("enumerate", "zip", "reversed", "sorted", "list", "map", "iter"):
        return [name for argument in node.args for name in _iterated_names(argument)]
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("keys", "values", "items"):
        return _iterated_names(node.func.value)
    return []


def _container_of(node: ast.AST) -> ast.Name | None:
    """The variable x of ``x[i]`` and ``x.setdefault(k, v)``; None: it is another expression."""
    of: ast.expr | None = None
    if isinstance(node, ast.Subscript) and not isinstance(node.slice, (ast.Slice, ast.Tuple)):
        of = node.value
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "setdefault":
        of = node.func.value
    return of if isinstance(of, ast.Name) else None


def _is_simple(node: ast.AST) -> bool:
    """Whether an expression calls nothing that may change a list."""
    return all(isinstance(part, (ast.Name, ast.Constant, ast.UnaryOp, ast.BinOp, ast.Subscript, ast.Slice, ast.Tuple, ast.operator, ast.unaryop, ast.expr_context)) for part in ast.walk(node))


def _makes_dict(node: ast.AST | None) -> bool:
    """Whether an expression makes a dict: lanewise/_dict_displays.py has written it anew."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Constant) and node.func.value in (_growing_dicts.empty_dict, _growing_dicts.dict_of)


def _pairs(target: ast.expr, over: ast.expr) -> list[tuple[ast.Name, ast.Name]]:
    """The variables of a loop that get the items of other variables, with these: also in loops over enumerate(x), reversed(x) and zip(x, y)."""
    if isinstance(target, ast.Name) and isinstance(over, ast.Name):
        return [(target, over)]
    arguments = over.args if isinstance(over, ast.Call) else []
    if _called(over) == "reversed" and len(arguments) == 1:
        return _pairs(target, arguments[0])
    targets = target.elts if isinstance(target, ast.Tuple) else []
    if _called(over) == "enumerate" and arguments and len(targets) == 2:
        return _pairs(targets[1], arguments[0])
    if _called(over) == "zip" and len(arguments) == len(targets):
        return [pair for one, other in zip(targets, arguments) for pair in _pairs(one, other)]
    return []


class _Placed(ast.NodeTransformer):
    """Writes places for the items of a list, in a loop."""

    def __init__(self, replaced: dict[int, ast.expr]):
        self.replaced = replaced  # by id of the node

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self.replaced.get(id(node), node)


def _makes_set(node: ast.AST | None) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Constant) and node.func.value in (_growing_dicts.empty_set, _growing_dicts.set_of)


def _assigns_to_itself(node: ast.Assign) -> bool:
    target = node.targets[0]
    return len(node.targets) == 1 and isinstance(target, ast.Name) and isinstance(node.value, ast.Name) and target.id == node.value.id


class _Renamed(ast.NodeTransformer):
    def __init__(self, names: dict[str, str]):
        self.names = names

    def visit_Assign(self, node: ast.Assign) -> Any:
        was_itself = _assigns_to_itself(node)
        self.generic_visit(node)
        is_needless = _assigns_to_itself(node) and not was_itself  # y = x, of one list
        return ast.fix_missing_locations(ast.copy_location(ast.Pass(), node)) if is_needless else node

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return ast.copy_location(ast.Name(self.names.get(node.id, node.id), node.ctx), node)


class _Rewriter(ast.NodeTransformer):
    """Writes a function in another way; also of dicts and sets (lanewise/_dict_displays.py)."""

    def __init__(self, facts: _Facts, names: dict[str, Any]):
        self.facts = facts
        self.names = names  # the globals and closure variables of the function
        self.loops = self.hoisted = 0

    def _is_builtin(self, name: str) -> bool:
        return name not in self.facts.values and self.names.get(name, getattr(builtins, name)) is getattr(builtins, name)

    def _at(self, old: ast.AST, new: Any) -> Any:
        return ast.fix_missing_locations(ast.copy_location(new, old))

    def _comprehension(self, node: ast.expr) -> ast.ListComp | None:
        """The list of what a generator expression or an iterator gives, which no variable of compiled code can hold; None: it is another value."""
        if isinstance(node, ast.GeneratorExp):
            return ast.ListComp(node.elt, node.generators)
        if _called(node) not in _ITERATORS or not self._is_builtin(_called(node)):
            return None
        return ast.ListComp(_load(".item"), [ast.comprehension(ast.Name(".item", ast.Store()), node, [], 0)])


class _Displays(_Rewriter):
    def __init__(self, facts: _Facts, names: dict[str, Any], function: ast.FunctionDef):
        super().__init__(facts, names)
        mixed = {name for name, values in self.facts.values.items() if self._are_items_or_made(values)}
        self.inner = {name for item in self._names_of_items(function) | mixed for name in self._inner_with(item)}  # variables whose lists become items
        size = 0
        while size < len(self.inner):  # a variable to which one of these is assigned has such lists, too
            size = len(self.inner)
            for name, values in self.facts.values.items():
                if any(other in self.inner for value in values for other in _names_of(value)):
                    self.inner |= self._inner_with(name)
        self.sources = self._sources(function)
        changes = [node for node in ast.walk(function) if not (isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name))]
        self.changed = {_changed_by(node, _CHANGING | _CHANGING_TABLES) for node in changes}  # variables of which items are changed
        self.over: list[str] = []  # variables over whose lists and dicts enclosing loops run

    def _names_of_items(self, function: ast.FunctionDef) -> set[str]:
        """The variables that are items of a list or values of a dict."""
        items: list[ast.expr | None] = []
        for node in ast.walk(function):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _TAKE_ITEM:
                items += node.args[-1:]
            elif isinstance(node, ast.ListComp):
                items.append(node.elt)
            elif isinstance(node, ast.List):
                items += node.elts
            elif isinstance(node, ast.Assign) and any(isinstance(target, ast.Subscript) and self._is_container(target.value) for target in node.targets):
                items.append(node.value)
        items += [part for item in items if isinstance(item, ast.Tuple) for part in item.elts]
        return {item.id for item in items if isinstance(item, ast.Name)}

    def _inner_with(self, name: str) -> set[str]:
        """A variable, and those from which it has its lists and dicts, if the function makes all of them; else none."""
        found = self.facts.with_sources({name})
        if any(None in self.facts.values.get(other, [None]) for other in found - {name}):
            return set()
        values = [arm for one in found for value in self.facts.values.get(one, []) if value is not None for arm in _arms(value)]
        made = [value for value in values if not isinstance(value, ast.Name) and not self._is_item(value)]
        return found if made and all(value is not None and (self._makes_item(value) or _adds_list(value)) for value in made) else set()

    def _is_item(self, node: ast.expr | None) -> bool:
        """Whether an expression is an item of a list, or a value of a dict, that the function makes."""
        of: ast.AST | None = _container_of(node) if node is not None else None
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("get", "pop"):
            of = node.func.value
        return isinstance(of, ast.Name) and (self._is_container(of) or self._makes_list(of))

    def _are_items_or_made(self, values: list[ast.expr | None]) -> bool:
        """Whether these are lists that are made there, and items of a list or dict: one of ``x[k] if k in x else []`` is."""
        arms = [arm for value in values for arm in _arms(value)]
        return any(map(self._is_item, arms)) and any(arm is not None and self._makes_item(arm) for arm in arms)

    def _sources(self, function: ast.FunctionDef) -> dict[str, str]:
        """Variables that are items of the list or dict of another one, ``row = x[i]`` and ``for row in x``, wherever they have a value."""
        found: dict[str, list[str]] = {}
        for node in ast.walk(function):
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                of = _container_of(node.value)
                if of is not None:
                    found.setdefault(node.targets[0].id, []).append(of.id)
            elif isinstance(node, ast.For):
                for target, over in _pairs(node.target, node.iter):
                    found.setdefault(target.id, []).append(over.id)
        return {name: lists[0] for name, lists in found.items() if len({*lists}) == 1 and len(self.facts.values.get(name, [])) == len(lists)}

    def _is_container(self, node: ast.expr) -> bool:
        """Whether a variable has a list or a dict that grows."""
        values = self.facts.values.get(node.id, []) if isinstance(node, ast.Name) else []
        return self._is_list(node) or any(_makes_dict(value) for value in values)

    def _is_of_numpy(self, function: ast.expr) -> bool:
        if isinstance(function, ast.Name):
            return str(getattr(self.names.get(function.id), "__module__", "")).partition(".")[0] == "numpy"
        name = function.value.id if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name) else ""
        return str(getattr(self.names.get(name), "__name__", name)).partition(".")[0] in ("np", "numpy")

    def _grows(self, target: ast.expr) -> bool:
        return isinstance(target, (ast.Name, ast.Attribute)) and ast.unparse(target) in self.facts.growing

    def _list(self, node: ast.expr) -> ast.expr:
        """The list that a display makes."""
        if isinstance(node, ast.IfExp) and not self._are_items_or_made([node]):
            node.body, node.orelse = self._list(node.body), self._list(node.orelse)
            return self._at(node, ast.IfExp(self.visit(node.test), node.body, node.orelse))
        joined = self._joined(node)
        if joined is not None:
            return joined
        parts = _parts_of_repeated(node)
        if parts is not None:
            return self._at(node, _call(_growing_lists.repeated_item, self._item(parts[0]), self.visit(parts[1])))
        if isinstance(node, ast.List) and node.elts:
            return self._at(node, _call(_growing_lists.listed, ast.Tuple([self._item(item) for item in node.elts], ast.Load())))
        return self.visit(node)

    def _item(self, node: ast.expr) -> ast.expr:
        """An expression that becomes an item of a list or a value of a dict: if it makes a list, one that all see which have it."""
        if isinstance(node, ast.Tuple):
            node.elts = [self._item(item) for item in node.elts]
            return node
        if isinstance(node, ast.IfExp):
            node.test, node.body, node.orelse = self.visit(node.test), self._item(node.body), self._item(node.orelse)
            return node
        if _adds_list(node):
            return self._at(node, _call(_typed_containers.inner, self.visit(node)))
        if self._makes_item(node):
            return self._at(node, _call(_typed_containers.inner, self._list(node)))
        return self.visit(node)

    def _makes_item(self, node: ast.expr) -> bool:
        """Whether an expression makes a list or dict, which an outer one can have."""
        if isinstance(node, ast.List) or _makes_dict(node) or (self._makes_list(node) and not isinstance(node, (ast.Name, ast.Subscript))):
            return True
        of = _copied(node)
        return of is not None and self._may_be_container(of)

    def _may_be_container(self, node: ast.Name) -> bool:
        """Whether a variable has a list or dict that grows, or is a parameter."""
        return self._is_container(node) or self._makes_list(node) or not any(self.facts.values.get(node.id, [node]))

    def _has_lists(self, node: ast.expr) -> bool:
        return isinstance(node, ast.List) and any(self._makes_item(item) for item in node.elts)

    def _is_inner(self, node: ast.expr) -> bool:
        """The same, or a variable that has such a list or dict."""
        return self._makes_item(node) or _adds_list(node) or (isinstance(node, ast.Name) and node.id in self.inner)

    def _put(self, of: ast.expr, value: ast.expr, put: Any) -> list[ast.stmt] | None:
        """The statements that put a list or dict into the one of a variable, which knows the type of its items from then on. put: the statement, of
        the name of the value. None: it is another value, or a loop runs over the outer list."""
        if not isinstance(of, ast.Name) or of.id in self.over or not self._is_container(of) or not self._is_inner(value):
            return None
        if isinstance(value, ast.Name):
            return [self._at(value, put(value)), self._at(value, self._learns(of.id, value.id))]
        self.hoisted += 1
        place = f".value {self.hoisted}"
        first = self._at(value, _set(place, self._item(value)))
        return [first, self._at(value, put(_load(place))), self._at(value, self._learns(of.id, place))]

    def _transposed(self, node: ast.ListComp) -> ast.expr | None:
        """The list of ``[list(r) for r in zip(*x)]`` for a list of lists x; None: it is another comprehension."""
        over, target = node.generators[0].iter, node.generators[0].target
        starred: Any = over.args[0] if _called(over) == "zip" and len(over.args) == 1 else None  # type: ignore[attr-defined]
        rows = starred.value if isinstance(starred, ast.Starred) else None
        is_list = isinstance(target, ast.Name) and ast.unparse(node.elt) == f"list({target.id})" and len(node.generators) == 1 and not node.generators[0].ifs
        if rows is None or not is_list or not self._is_builtin("zip") or not (self._makes_list(rows) or self._is_container(rows)):
            return None
        return self._at(node, _call(_typed_containers.columns, self.visit(rows)))

    def visit_IfExp(self, node: ast.IfExp) -> Any:
        return self._item(node) if self._are_items_or_made([node]) else self.generic_visit(node)

    def visit_ListComp(self, node: ast.ListComp) -> ast.expr:
        transposed = self._transposed(node)
        if transposed is not None:
            return transposed
        node.elt = self._item(node.elt)
        node.generators = [self.visit(generator) for generator in node.generators]
        return node

    def _value(self, target: ast.expr, value: ast.expr) -> ast.expr:
        is_empty = _makes_dict(value) or (isinstance(value, ast.List) and not value.elts)  # which no array can store
        if isinstance(target, ast.Subscript) and (self._is_container(target.value) or (is_empty and not isinstance(target.slice, ast.Slice))):
            return self._item(value)
        if isinstance(target, ast.Name) and target.id in self.inner:
            return self._item(value)
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
            value.elts = [self._value(*pair) for pair in zip(target.elts, value.elts)]
            return value
        return self._list(value) if self._grows(target) else self.visit(value)

    def _may_have_items(self, name: str) -> bool:
        """Whether a variable may have a list, dict or set: the function assigns one that is made there, or changes items. ``x += v`` does not tell,
        as x may be a number."""
        made = [arm for value in self.facts.values.get(name, []) for arm in _arms(value) if arm is not None]
        return name in self.changed or any(self._makes_item(arm) or _makes_set(arm) or _adds_list(arm) for arm in made)

    def visit_Assign(self, node: ast.Assign) -> Any:
        if _assigns_to_itself(node) and self._may_have_items(node.value.id):  # type: ignore[attr-defined]
            return self._at(node, ast.Pass())
        if len(node.targets) == 1:
            starred = self._starred(node)
            if starred is not None:
                return starred
            stored = self._stored_in_item(node) or self._stored(node)
            if stored is not None:
                return stored
        node.value = self._value(node.targets[0], node.value)
        node.targets = [self.visit(target) for target in node.targets]
        return node

    def _stored(self, node: ast.Assign) -> list[ast.stmt] | None:
        """The statements of ``x[i] = [v]``."""
        target = node.targets[0]
        if not isinstance(target, ast.Subscript) or isinstance(target.slice, ast.Slice):
            return None
        return self._put(target.value, node.value, lambda value: ast.Assign([self.visit(target)], value))

    def _stored_in_item(self, node: ast.Assign) -> list[ast.stmt] | None:
        """The statements of ``x[i][k] = v``, and of ``row[k] = v`` for such a row, behind which the types of k and v are known of the items of x;
        None: it is another assignment."""
        target = node.targets[0]
        if not isinstance(target, ast.Subscript):
            return None
        item = target.value
        if isinstance(item, ast.Name) and item.id in self.sources:
            node.value, node.targets = self._item(node.value), [self.visit(target)]
            return [node, self._at(node, self._learns(self.sources[item.id], item.id))]
        of = _container_of(item)
        if of is None or not (isinstance(item, ast.Call) or self._is_container(of)) or of.id in self.over:
            return None
        value, place = f".value {self.hoisted + 1}", self._place(item, [target.slice])
        target.value = self._at(item, _load(place))
        statements = [_set(value, self._item(node.value)), _set(place, self.visit(item)), ast.Assign([self.visit(target)], _load(value))]
        return [self._at(node, one) for one in (*statements, self._learns(of.id, place))]

    def _is_list(self, node: ast.expr) -> bool:
        """Whether a variable has a list that grows, wherever it has a value."""
        if not isinstance(node, ast.Name) or node.id not in self.facts.growing or not _may_grow(self.facts, node.id):
            return False
        return any(value is not None for value in self.facts.values.get(node.id, []))

    def _starred(self, node: ast.Assign) -> list[ast.stmt] | None:
        """The statements of ``a, *b = x`` for a list; None: it is another assignment."""
        if self._is_list(node.value):
            x = node.value
        elif self._makes_list(node.value):
            x = _load(".starred")
        else:
            return None
        parts = _parts_of_starred(node.targets[0], x)
        if parts is None:
            return None
        made = [] if x is node.value else [_set(".starred", self._listed(node.value))]  # what has a name is an array: its items in a list
        enough = ast.Expr(_call(_growing_lists.check_enough, x, _constant(len(parts) - 1)))
        assigned = [enough, *(ast.Assign([target], value) for target, value in parts)]
        return [self._at(node, one) for one in made] + [self.visit(self._at(node, one)) for one in assigned]

    def _makes_list(self, node: ast.expr, seen: tuple[str, ...] = ()) -> bool:
        """Whether an expression is a list in Python, and no tuple in compiled code. seen: variables that have what is asked for."""
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice):
            return self._makes_list(node.value, seen)
        if isinstance(node, ast.Name):
            values = self.facts.values.get(node.id, [])
            return node.id in seen or (bool(values) and all(value is not None and self._makes_list(value, (*seen, node.id)) for value in values))
        return isinstance(node, ast.ListComp) or _parts_of_repeated(node) is not None or (_called(node) in ("list", "sorted") and self._is_builtin(_called(node)))

    def _joined(self, node: ast.expr) -> ast.expr | None:
        """The sum of lists that ``[*range(n), x]`` is; None: there is no such iterator, or list, among the items."""
        items = node.elts if isinstance(node, ast.List) and isinstance(node.ctx, ast.Load) else []
        starred = [item.value for item in items if isinstance(item, ast.Starred)]
        if not any(self._comprehension(item) or self._makes_list(item) or self._is_container(item) for item in starred):
            return None
        parts: list[ast.expr] = []
        for item in items:
            if isinstance(item, ast.Starred):
                parts.append(self._listed(item.value))
            elif parts and isinstance(parts[-1], ast.List):
                parts[-1].elts.append(item)
            else:
                parts.append(ast.List([item], ast.Load()))
        made = [self._list(part) if isinstance(part, ast.List) else part for part in parts]
        return self._at(node, functools.reduce(lambda left, right: ast.BinOp(left, ast.Add(), right), made))

    def visit_List(self, node: ast.List) -> Any:
        joined = self._joined(node)
        if joined is not None:
            return joined
        if node.elts or not isinstance(node.ctx, ast.Load):
            return self.generic_visit(node)
        return self._at(node, _call(_growing_lists.empty))

    def visit_BinOp(self, node: ast.BinOp) -> Any:
        parts = _parts_of_repeated(node)
        if parts is not None and not isinstance(parts[1], ast.Constant):
            return self._list(node)
        if parts is None:
            repeats = isinstance(node.op, ast.Mult) and not any(isinstance(side, ast.Constant) for side in (node.left, node.right))  # [1, 2] * n
            made = self._list if repeats else self._operand
            node.left, node.right = made(node.left), made(node.right)
            return node
        return self.generic_visit(node)

    def _operand(self, node: ast.expr) -> ast.expr:
        return self.visit(node) if _is_constant(node) else self._list(node)

    def visit_Compare(self, node: ast.Compare) -> Any:
        if any(isinstance(op, (ast.In, ast.NotIn, ast.Is, ast.IsNot)) for op in node.ops):
            return self.generic_visit(node)
        node.left, node.comparators = self._operand(node.left), [self._operand(other) for other in node.comparators]
        return node

    def visit_Return(self, node: ast.Return) -> Any:
        if isinstance(node.value, ast.Tuple):
            node.value.elts = [self._returned(item) for item in node.value.elts]
        elif node.value is not None:
            node.value = self._returned(node.value)
        return node

    def _returned(self, node: ast.expr) -> ast.expr:
        """What Python receives as a list: also a slice of a display, which is a tuple in compiled code."""
        values = self.facts.values.get(node.value.id, []) if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice) and isinstance(node.value, ast.Name) else []
        return self._listed(node) if values and all(isinstance(value, ast.List) for value in values) else self._list(node)

    def visit_Expr(self, node: ast.Expr) -> Any:
        """``x.append(x.pop() + n)``: arguments that change a list are evaluated in statements of their own, before the list is read."""
        call = node.value
        changed = self._changed_item(call) or self._printed(call)
        if changed is not None:
            return changed
        if not isinstance(call, ast.Call) or not self._changes_own_list(call):
            return self.generic_visit(node)
        statements: list[ast.stmt] = []

        def hoisted(value: ast.expr) -> ast.expr:
            if isinstance(value, (ast.Constant, ast.Name, ast.Lambda)):
                return value
            self.hoisted += 1
            place = f".argument {self.hoisted}"
            statements.append(self._at(value, _set(place, value)))
            return self._at(value, _load(place))

        call.args = [hoisted(argument) for argument in call.args]
        for keyword in call.keywords:
            keyword.value = hoisted(keyword.value)
        return [*map(self.visit, statements), self.generic_visit(node)]

    def _changed_item(self, call: ast.expr) -> list[ast.stmt] | None:
        """The statements of ``x[i].append(v)``, and of ``x.setdefault(k, []).append(v)``, behind which the type of v is known of the items of x;
        None: it is another expression."""
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute) or call.func.attr not in ("append", "extend", "insert"):
            return None
        item = call.func.value
        if call.func.attr != "extend" and call.args and not call.keywords:
            added = self._put(item, call.args[-1], lambda value: ast.Expr(ast.Call(call.func, [*map(self.visit, call.args[:-1]), value], [])))
            if added is not None:
                return added
        if isinstance(item, ast.Name) and item.id in self.sources:
            return [self.generic_visit(self._at(call, ast.Expr(call))), self._at(call, self._learns(self.sources[item.id], item.id))]
        of = _container_of(item)
        if of is None or not self._may_be_container(of) or of.id in self.over:
            return None
        made, item = self._made_default(item) if isinstance(item, ast.Call) else ([], item)
        place = self._place(item, [*call.args, *(keyword.value for keyword in call.keywords)])
        call.func.value = _load(place)
        ast.copy_location(call.func.value, item)
        found, changed = self._at(item, _set(place, item)), self._at(call, ast.Expr(call))
        return [*made, *_statements(self.visit(found)), *_statements(self.visit(changed)), self._at(call, self._learns(of.id, place))]

    def _made_default(self, item: ast.Call) -> tuple[list[ast.stmt], ast.expr]:
        """For ``x.setdefault(k, [])``, where x is a dict, statements that make the list only if there is none, and `x[k]`; another call as it is."""
        x = item.func.value  # type: ignore[attr-defined]
        if len(item.args) != 2 or item.keywords or not isinstance(item.args[1], ast.List) or item.args[1].elts or not any(map(_makes_dict, self.facts.values.get(x.id, []))):
            return [], item
        self.hoisted += 1
        key = f".key {self.hoisted}"
        put = ast.Assign([ast.Subscript(x, _load(key), ast.Store())], item.args[1])
        test = ast.If(ast.Compare(_load(key), [ast.NotIn()], [x]), [put], [])
        statements = [self._at(item.args[0], _set(key, item.args[0])), self._at(item, test)]
        test.body = _statements(self.visit(put))
        return [self.visit(statements[0]), test], self._at(item, ast.Subscript(x, _load(key), ast.Load()))

    def _place(self, item: ast.expr, others: list[ast.expr]) -> str:
        """A name for an item: one that begins with `.lent` if only these are evaluated until it is used (core/front/tree.h)."""
        self.hoisted += 1
        return f"{'.lent' if isinstance(item, ast.Subscript) and all(map(_is_simple, others)) else '.item'} {self.hoisted}"

    def _printed(self, call: ast.expr) -> list[ast.stmt] | None:
        """The statements of ``print("x", x, y)`` for a list, dict or set x; None: it prints none."""
        if not isinstance(call, ast.Call) or _called(call) != "print" or not self._is_builtin("print") or any(isinstance(argument, ast.Starred) for argument in call.args):
            return None
        texts: dict[str | None, Any] = {keyword.arg: keyword.value for keyword in call.keywords}
        if not {*texts} <= {"sep", "end"} or not any(map(self._is_shown_by_parts, call.args)):
            return None
        ends = [texts.get("sep", _constant(" "))] * (len(call.args) - 1) + [texts.get("end", _constant("\n"))]
        if not all(isinstance(end, ast.Constant) and isinstance(end.value, str) for end in ends):
            return None
        return [self._at(argument, ast.Expr(_call(_shown_containers.shown, self._list(argument) if self._has_lists(argument) else self.visit(argument), end))) for argument, end in zip(call.args, ends)]

    def _is_shown_by_parts(self, node: ast.expr) -> bool:
        """A display that never grows is a tuple, which `print` shows."""
        if isinstance(node, ast.List) and node.elts:
            return self._has_lists(node)
        values = self.facts.values.get(node.id, []) if isinstance(node, ast.Name) else [node]
        made = bool(values) and all(value is not None and (self._makes_item(value) or _makes_set(value)) for value in values)
        return made and (self._grows(node) or not all(isinstance(value, ast.List) and value.elts for value in values))

    def _learns(self, of: str, item: str) -> ast.stmt:
        """What tells a list or dict of the type of an item that was empty; nothing in a loop over it, where it must not change."""
        if of in self.over:
            return ast.Pass()
        return ast.Expr(_call(_typed_containers.learned, _load(of), _load(item)))

    def _changes_own_list(self, call: ast.Call) -> bool:
        """Whether arguments of a call change the list whose method it is, or a list that is another argument."""
        arguments = [*call.args, *(keyword.value for keyword in call.keywords)]
        lists = {ast.unparse(argument) for argument in arguments if isinstance(argument, ast.Name)}
        if isinstance(call.func, ast.Attribute):
            lists.add(ast.unparse(call.func.value))
        if any(isinstance(argument, (ast.Starred, ast.List, ast.ListComp, ast.GeneratorExp)) for argument in arguments):
            return False
        for part in (part for argument in arguments for part in ast.walk(argument) if isinstance(part, ast.Call)):
            changed = {_changed_by(part), *map(ast.unparse, self.facts.changes.of_arguments(part, self.names))}
            if not changed.isdisjoint(lists):
                return True
        return False

    def _takes_key(self, function: ast.expr) -> bool:
        """Whether key= of this function is called with items."""
        if isinstance(function, ast.Name) and function.id in ("min", "max", "sorted"):
            return self._is_builtin(function.id)
        of = _object(function, self.names)
        return getattr(of, "__module__", None) == "heapq" or (of is None and isinstance(function, ast.Attribute) and function.attr == "sort")

    def _called_key(self, keyword: ast.keyword) -> ast.keyword:
        """``key=d.get`` of a variable: methods are no values in compiled code, so that a lambda calls it."""
        value = keyword.value
        if keyword.arg == "key" and isinstance(value, ast.Attribute) and isinstance(value.value, ast.Name) and value.value.id in self.facts.values:
            parameters = ast.arguments(posonlyargs=[], args=[ast.arg(".item")], kwonlyargs=[], kw_defaults=[], defaults=[])
            keyword.value = self._at(value, ast.Lambda(parameters, ast.Call(value, [_load(".item")], [])))
        return keyword

    def visit_Call(self, node: ast.Call) -> Any:
        function = node.func
        if any(isinstance(argument, ast.List) and argument.elts for argument in node.args):
            given = self.facts.changes.of_arguments(node, self.names)  # for parameters whose lists the function changes
            node.args = [self._list(argument) if isinstance(argument, ast.List) and argument.elts and argument in given else argument for argument in node.args]
        if self._takes_key(function):
            node.keywords = [self._called_key(keyword) for keyword in node.keywords]
        if isinstance(function, ast.Constant) and function.value is _growing_lists.reduced:
            node.args = [*map(self.visit, node.args[:2]), *map(self._list, node.args[2:])]  # reduce(f, x, [0])
            return node
        if self._is_of_numpy(function):
            node.args = [argument if isinstance(argument, (ast.List, ast.ListComp, ast.BinOp)) else self.visit(argument) for argument in node.args]
            for keyword in node.keywords:
                self.visit(keyword)
            return node
        name = _called(node)
        if _makes_dict(node) and node.args and isinstance(node.args[0], ast.Tuple):
            node.args[0].elts = [self._item(pair) for pair in node.args[0].elts]
            return node
        generator = _generator_of(node)
        if generator is not None and self._is_builtin(name):
            node.args = [self._at(generator, ast.ListComp(generator.elt, generator.generators))]
            node.keywords = node.keywords or [ast.keyword("key", _constant(None))]  # of a list, which is no loop of its own
        if name in ("list", "sorted") and not self._is_builtin(name):
            return self.generic_visit(node)
        if name == "list" and node.args and isinstance(_object(node.args[0], self.names), type):
            return self.generic_visit(node)  # the members of an enum class are constants
        if name == "list" and not node.keywords and len(node.args) < 2:
            return self._at(node, self._listed(node.args[0]) if node.args else _call(_growing_lists.empty))
        if name == "sorted" and node.args:
            made = ast.Call(_constant(_growing_lists.sorted), [self._iterated(node.args[0]), *map(self.visit, node.args[1:])], [self.visit(keyword) for keyword in node.keywords])
            return self._at(node, made)
        takes_item = isinstance(function, ast.Attribute) and (function.attr in _TAKE_ITEM or (function.attr in ("get", "pop") and len(node.args) == 2))
        if takes_item and node.args:
            node.func = self.visit(function)
            node.args = [*map(self.visit, node.args[:-1]), self._item(node.args[-1])]
            return node
        if isinstance(function, ast.Attribute) and function.attr == "extend" and len(node.args) == 1:
            added = node.args[0]
            node.func = self.visit(function)
            node.args = [self._list(added) if self._has_lists(added) else self._iterated(added, function.value)]
            return node
        return self.generic_visit(node)

    def _iterated(self, node: ast.expr, target: ast.expr | None = None) -> ast.expr:
        """An argument that is iterated over: a list of what an iterator gives, which no variable can hold, and a copy of the target itself."""
        if self._comprehension(node) is not None or (target is not None and ast.unparse(target) == ast.unparse(node)):
            return self._at(node, self._listed(node))
        return self.visit(node)

    def _listed(self, node: ast.expr) -> ast.expr:
        made = self._comprehension(node)
        return self.visit(made) if made is not None else _call(_growing_lists.listed, self.visit(node))

    def visit_AugAssign(self, node: ast.AugAssign) -> Any:
        target = node.target
        if isinstance(target, (ast.Name, ast.Attribute)) and isinstance(node.op, ast.Add):
            if isinstance(target, ast.Name) and isinstance(node.value, ast.Name) and node.value.id == target.id:  # which need not be a list
                node.value = self._at(node, _call(_growing_lists.apart, node.value))
                return node
            has_lists = self._has_lists(node.value)
            iterated = self._iterated(node.value) if not has_lists else node.value
            items = node.value
            node.value = self._list(node.value) if has_lists or (iterated is node.value and not _is_constant(node.value)) else iterated
            has_lists = has_lists or (isinstance(items, ast.ListComp) and self._is_inner(items.elt))
            if not isinstance(target, ast.Name) or not self._is_list(target) or not has_lists or target.id in self.over:
                return node
            self.hoisted += 1
            place = f".value {self.hoisted}"
            value, node.value = node.value, _load(place)
            return [self._at(node, one) for one in (_set(place, value), node, ast.Expr(_call(_typed_containers.learned_items, _load(target.id), _load(place))))]  # type: ignore[union-attr]
        if isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name) and self._is_container(target.value):
            value = self._list(node.value)
            if not isinstance(node.op, ast.Add) or not self._is_inner(node.value) or target.value.id in self.over:
                node.target, node.value = self.visit(target), value
                return node
            self.hoisted += 1
            place = f".item {self.hoisted}"
            found, changed = _set(place, ast.Subscript(target.value, self.visit(target.slice), ast.Load())), ast.AugAssign(ast.Name(place, ast.Store()), ast.Add(), value)
            return [self._at(node, one) for one in (found, changed, self._learns(target.value.id, place))]
        return self.generic_visit(node)

    def visit_Delete(self, node: ast.Delete) -> Any:
        statements = []
        for target in node.targets:
            if not isinstance(target, ast.Subscript) or isinstance(target.slice, ast.Tuple) and any(isinstance(part, ast.Slice) for part in target.slice.elts):
                statements.append(self._at(node, ast.Delete([target])))
                continue
            function, places, keywords = _growing_dicts.delete, [target.slice], []
            if isinstance(target.slice, ast.Slice):
                bounds = (("start", target.slice.lower), ("stop", target.slice.upper), ("step", target.slice.step))
                function, places, keywords = _growing_lists.delete_slice, [], [ast.keyword(name, self.visit(bound)) for name, bound in bounds if bound is not None]
            removed = ast.Call(_constant(function), [self.visit(target.value), *map(self.visit, places)], keywords)
            statements.append(self._at(target, ast.Expr(removed)))
        return statements

    def _changes_in(self, name: str, statements: list[ast.stmt]) -> bool:
        """Whether the list of a variable may get items, or lose some, in the statements."""
        is_list = any(isinstance(value, (ast.List, ast.ListComp)) or _called(value) in ("list", "sorted") for value in self.facts.values.get(name, []) if value)
        for part in (part for statement in statements for part in ast.walk(statement)):
            if _changed_by(part) == name and not isinstance(part, ast.Subscript) and not (isinstance(part, ast.AugAssign) and isinstance(part.target, ast.Subscript)):
                return True
            if is_list and isinstance(part, ast.Call) and _called(part) not in _READING and any(isinstance(argument, ast.Name) and argument.id == name for argument in part.args):
                return True
        return False

    def _by_places(self, node: ast.For) -> None:
        """``for row in x`` with ``row.append(v)`` in it as a loop over the places of x, which gets to know the type of v."""
        first: list[ast.stmt] = []
        for target, over in _pairs(node.target, node.iter):
            inside = [part for statement in node.body for part in ast.walk(statement)]
            changes = any(_changed_by(part) == target.id for part in inside)
            assigned = _is_assigned(target.id, node.body) or _is_assigned(over.id, node.body)
            if not changes or assigned or not self._makes_list(over) or self._changes_in(over.id, node.body):
                continue
            self.sources[target.id] = over.id
            self.loops += 1
            place = f".place {self.loops}"
            places = self._at(over, _call(range, _call(len, over)))
            first.append(self._at(target, ast.Assign([target], ast.Subscript(over, _load(place), ast.Load()))))
            written = _Placed({id(target): self._at(target, ast.Name(place, ast.Store())), id(over): places})
            node.target, node.iter = written.visit(node.target), written.visit(node.iter)
        node.body = first + node.body

    def visit_For(self, node: ast.For) -> Any:
        sources = {**self.sources}
        self._by_places(node)
        made = self._over_items(node)
        self.sources = sources
        return made

    def _over_items(self, node: ast.For) -> Any:
        name = node.iter.id if isinstance(node.iter, ast.Name) else ""
        if not name or _is_assigned(name, node.body) or not self._changes_in(name, node.body):
            over = [*self.over]
            self.over += _iterated_names(node.iter)
            self.generic_visit(node)
            self.over = over
            return node
        self.loops += 1
        place = f".place {self.loops}"
        item = ast.Assign([node.target], ast.Subscript(_load(name), _load(place), ast.Load()))
        count = ast.AugAssign(ast.Name(place, ast.Store()), ast.Add(), ast.Constant(1))
        test = ast.Compare(_load(place), [ast.Lt()], [ast.Call(_constant(len), [_load(name)], [])])
        loop = self._at(node, ast.While(test, [item, count, *node.body], node.orelse))
        for statement in (item, count):
            self._at(node.target, statement)
        is_no_table = self._at(node.iter, ast.Expr(_call(_growing_dicts.check_loop, _load(name))))
        return [is_no_table, self._at(node, _set(place, ast.Constant(0))), self.generic_visit(loop)]


def rewritten(function: ast.FunctionDef, names: dict[str, Any], compiled: Any) -> ast.FunctionDef | None:
    """The function with lists that grow; None: it has none. names: its globals. compiled: the function of Python."""
    makes = (ast.List, ast.ListComp, ast.Delete)
    if not any(isinstance(node, makes) or _makes_dict(node) or _makes_set(node) or _generator_of(node) or (isinstance(node, ast.keyword) and node.arg == "key" and isinstance(node.value, ast.Attribute)) or _called(node) in ("list", "sorted") or _changed_by(node) or _changed_inside(node) for node in ast.walk(function)):
        return None
    made = copy.deepcopy(function)
    _move(made)
    facts = _Facts(made, names)
    aliases = _aliases(made, facts)
    if aliases:
        made = _Renamed(aliases).visit(made)
        facts = _Facts(made, names)
    facts.growing |= _changed_fields(made, compiled) | _ragged(made, facts)
    displays = _Displays(facts, names, made)
    made.body = [part for statement in made.body for part in _statements(displays.visit(statement))]
    return made


def _statements(found: Any) -> list[ast.stmt]:
    return found if isinstance(found, list) else [found]

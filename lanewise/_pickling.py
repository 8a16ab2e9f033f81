"""Ufuncs, reductions and kernels across processes: by name where the other side can import them, else by source.

A function travels as its text, the globals and closure values it reads, and its defaults. Python
functions among those that cannot be imported travel the same way; everything else is pickled as
usual.
"""

import ast
import builtins
import linecache
import sys
import types

_VERSION = 1
_FUTURE_ANNOTATIONS = 0x1000000  # annotations are not evaluated on the other side


def _importable(obj):
    """The object's qualified name where its module gives back the very object, else None."""
    module, name = getattr(obj, "__module__", None), getattr(obj, "__qualname__", None)
    if not module or not name or module == "__main__" or "<" in name:
        return None
    found = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    return name if found is obj else None


def _names(code):
    yield from code.co_names
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            yield from _names(const)


def _pack(value, seen):
    if isinstance(value, types.ModuleType):
        return ("module", value.__name__)
    if isinstance(value, types.FunctionType) and _importable(value) is None:
        if id(value) in seen:
            return ("recursion", value.__name__)
        return ("function", _pack_function(value, None, seen | {id(value)}))
    return ("value", value)


def _unpack(packed):
    kind, value = packed
    if kind == "module":
        __import__(value)
        return sys.modules[value]
    if kind == "function":
        return _unpack_function(value)[0]
    return value


def _pack_function(function, source, seen):
    from lanewise._core import _source_text

    code = function.__code__
    scope = {}
    for name in _names(code):
        if name in function.__globals__:
            scope[name] = _pack(function.__globals__[name], seen)
    for name, cell in zip(code.co_freevars, function.__closure__ or ()):
        try:
            scope[name] = _pack(cell.cell_contents, seen)
        except ValueError:  # not bound yet: the other side says so when it compiles
            continue
    return {
        "name": function.__name__,
        "qualname": function.__qualname__,
        "module": function.__module__,
        "doc": function.__doc__,
        "source": source if source is not None else _source_text(function),
        "scope": scope,
        "defaults": function.__defaults__,
        "kwdefaults": function.__kwdefaults__,
        **({"self": function.__self__} if isinstance(function, types.MethodType) else {}),
    }


def _without_defaults(node):
    """Default values are carried as values; the names in their text may not exist there."""
    arguments = node.args
    count = len(arguments.defaults)
    arguments.defaults = [ast.copy_location(ast.Constant(None), node) for _ in range(count)]
    arguments.kw_defaults = [
        None if default is None else ast.copy_location(ast.Constant(None), node)
        for default in arguments.kw_defaults
    ]
    if isinstance(node, ast.FunctionDef):
        node.decorator_list = []
    return node


def _unpack_function(packed):
    text, name = packed["source"], packed["name"]
    filename = f"<lanewise {name} {abs(hash(text)):x}>"
    linecache.cache[filename] = (len(text), None, text.splitlines(True), filename)
    scope = {"__builtins__": builtins, "__name__": packed["module"]}
    scope.update((key, _unpack(value)) for key, value in packed["scope"].items()
                 if value[0] != "recursion")
    flags = ast.PyCF_ONLY_AST | _FUTURE_ANNOTATIONS
    if name == "<lambda>":
        tree = compile(text.strip(), filename, "eval", flags)
        _without_defaults(tree.body)
        function = eval(compile(tree, filename, "eval"), scope)
    else:
        tree = compile(text, filename, "exec", flags)
        definition = next(node for node in tree.body if isinstance(node, ast.FunctionDef))
        _without_defaults(definition)
        exec(compile(tree, filename, "exec", _FUTURE_ANNOTATIONS), scope)
        function = scope[definition.name]
    function.__defaults__ = packed["defaults"]
    function.__kwdefaults__ = packed["kwdefaults"]
    function.__qualname__ = packed["qualname"]
    function.__module__ = packed["module"]
    function.__doc__ = packed["doc"]
    if "self" in packed:
        function = types.MethodType(function, packed["self"])
    return function, text


def _pack_object(made):
    """Of a Ufunc or a Kernel: its function, its state, its options."""
    state = made._state()
    options = {key: value for key, value in state["options"].items() if key != "source"}
    function = _pack_function(made.py_func, state["source"], frozenset({id(made.py_func)}))
    return function, state, options


def reduce_ufunc(ufunc):
    """What ``Ufunc.__reduce__`` returns."""
    name = _importable(ufunc)
    if name is not None:
        return name
    function, state, options = _pack_object(ufunc)
    return rebuild_ufunc, (_VERSION, function, state["signatures"], options)


def reduce_gufunc(gufunc):
    """What ``Gufunc.__reduce__`` returns."""
    name = _importable(gufunc)
    if name is not None:
        return name
    function, state, options = _pack_object(gufunc)
    sizes = {key: _pack(value, frozenset()) for key, value in (options.pop("sizes", None) or {}).items()}
    return rebuild_gufunc, (_VERSION, function, state["signatures"], state["layout"], sizes, options)


def rebuild_gufunc(version, function, signatures, layout, sizes, options):
    from lanewise._core import guvectorize

    _check_version(version)
    rebuilt, text = _unpack_function(function)
    sizes = {key: _unpack(value) for key, value in sizes.items()}
    return guvectorize(signatures, layout, sizes=sizes or None, source=text, **options)(rebuilt)


def reduce_forall(kernel):
    """What ``Forall.__reduce__`` returns."""
    name = _importable(kernel)
    if name is not None:
        return name
    function, state, options = _pack_object(kernel)
    return rebuild_forall, (_VERSION, function, state["signatures"], state["ndim"], options)


def rebuild_forall(version, function, signatures, ndim, options):
    from lanewise._core import forall

    _check_version(version)
    rebuilt, text = _unpack_function(function)
    return forall(signatures, ndim=ndim, source=text, **options)(rebuilt)


def reduce_kernel(kernel):
    """What ``Kernel.__reduce__`` returns."""
    name = _importable(kernel)
    if name is not None:
        return name
    function, state, options = _pack_object(kernel)
    return rebuild_kernel, (_VERSION, function, state["signatures"], options, state["cuda"])


def reduce_reduction(made):
    """What ``Reduction.__reduce__`` returns."""
    name = _importable(made)
    if name is not None:
        return name
    state = made._state()
    source = state["options"].get("source")
    options = {key: value for key, value in state["options"].items() if key != "source"}
    functions = {}
    for role in ("map", "combine", "finish"):
        if role in state:
            text = source if role == "combine" else None
            functions[role] = _pack_function(state[role], text, frozenset({id(state[role])}))
    rest = {key: state[key] for key in ("identity", "commutative") if key in state}
    return rebuild_reduction, (_VERSION, functions, rest, options)


def rebuild_reduction(version, functions, rest, options):
    from lanewise._core import reduce

    _check_version(version)
    rebuilt = {role: _unpack_function(packed)[0] for role, packed in functions.items()}
    return reduce(**rebuilt, **rest, **options)


def _check_version(version):
    if version != _VERSION:
        raise ValueError(f"pickle of format {version}; this lanewise reads format {_VERSION}")


def rebuild_kernel(version, function, signatures, options, from_cuda):
    from lanewise import _core

    _check_version(version)
    jit = _core.cuda.jit if from_cuda else _core.jit
    rebuilt, text = _unpack_function(function)
    return jit(signatures, source=text, **options)(rebuilt)


def rebuild_ufunc(version, function, signatures, options):
    from lanewise._core import vectorize

    _check_version(version)
    rebuilt, text = _unpack_function(function)
    if signatures is None:
        return vectorize(source=text, **options)(rebuilt)
    return vectorize(signatures, source=text, **options)(rebuilt)

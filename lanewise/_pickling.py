"""Ufuncs, reductions and kernels across processes: by name where the other side can import them, else by source.

A function travels as its text, the globals and closure values it reads, and its defaults. Python
functions among those that cannot be imported travel the same way; everything else is pickled as
usual.
"""

import ast
import builtins
import contextlib
import operator
import sys
import types
import weakref

from lanewise import _places, _texts

_VERSION = 6
_TRAVELLING = ("__lanewise_link__", "__numba_cuda_link__", "__lanewise_external__")  # what compiling reads of a function
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


def _is_made(value):
    """Is it an object of a decorator?"""
    return hasattr(type(value), "_state") and isinstance(getattr(value, "py_func", None), types.FunctionType)


def _pack(value, seen):
    if isinstance(value, types.ModuleType):
        return ("module", value.__name__)
    if _is_made(value) and id(value.py_func) in seen:
        return ("recursion", value.__name__)
    if isinstance(value, types.FunctionType) and _importable(value) is None:
        if id(value) in seen:
            return ("recursion", value.__name__)
        return ("function", _pack_function(value, None, seen | {id(value)}))
    if isinstance(value, type) and value.__module__ == "__main__" and _importable(value) is None:
        source = _class_source(value)
        if id(value) in seen:
            return ("recursion", value.__name__)
        if source is not None:
            return ("class", _pack_class(value, source, seen | {id(value)}))
    return ("value", value)


def _unpack(packed):
    kind, value = packed
    if kind == "module":
        __import__(value)
        return sys.modules[value]
    if kind == "function":
        return _unpack_function(value)[0]
    if kind == "class":
        return _unpack_class(value)
    return value


_classes: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()  # of those that came by their source: it, and what stands for its names
_arrived: weakref.WeakValueDictionary = weakref.WeakValueDictionary()  # the same classes, by module, name and source


def _class_source(cls):
    """The text of a class, or None: another process has no file of __main__ to read its methods from."""
    import inspect
    import textwrap

    if cls in _classes:
        return _classes[cls][0]
    try:
        return textwrap.dedent(inspect.getsource(cls))
    except (OSError, TypeError, IndentationError):
        return None


def _pack_class(cls, source, seen):
    """Its text, and what stands there for the names in it."""
    around = _classes[cls][1] if cls in _classes else vars(sys.modules[cls.__module__])
    names = {node.id for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Name)}
    scope = {name: _pack(around[name], seen) for name in sorted(names) if name in around and name != cls.__name__}
    tracked = _cloudpickle()
    return {"name": cls.__name__, "qualname": cls.__qualname__, "module": cls.__module__, "source": source, "scope": scope,
            "identity": tracked._get_or_create_tracker_id(cls) if tracked else None}


def _unpack_class(packed):
    """The class: the one that is in this process already, so that its objects and members are the same, or one made of the text."""
    text, name, identity = packed["source"], packed["name"], packed.get("identity")
    if identity is not None:
        with contextlib.suppress(ImportError):
            import cloudpickle  # noqa: F401  # it was there where the class was packed
    tracked = _cloudpickle()
    identity = identity if tracked else None
    found = tracked._DYNAMIC_CLASS_TRACKER_BY_ID.get(identity) if identity else None
    if found is None:
        found = getattr(sys.modules.get(packed["module"]), name, None)
        found = found if isinstance(found, type) and _class_source(found) == text else _arrived.get((packed["module"], name, text))
    if found is None:
        scope = _scope_of(packed)
        found = _texts.run(text, _file_of(name, text), scope)[name]
        found.__qualname__ = packed["qualname"]
        _classes[found] = text, {key: value for key, value in scope.items() if key != name}
        _arrived[packed["module"], name, text] = found
    return tracked._lookup_class_or_track(identity, found) if identity else found


def _cloudpickle():
    """cloudpickle, which Dask pickles arguments with, where it is imported: classes of `__main__` have an identity there, by
    which those that come by it and those that come by us are one."""
    module = sys.modules.get("cloudpickle.cloudpickle")
    needed = "_get_or_create_tracker_id", "_lookup_class_or_track", "_DYNAMIC_CLASS_TRACKER_BY_ID"
    return module if module is not None and all(hasattr(module, one) for one in needed) else None


def _file_of(name, text):
    """A file name for the text of a function, with where it is from, or of a class."""
    return f"<lanewise {name} {abs(hash(text)):x}>"


def _scope_of(packed):
    """The globals of a function or a class, but for names that lead back to it, which running its text defines."""
    names = {key: _unpack(value) for key, value in packed["scope"].items() if value[0] != "recursion"}
    return {"__builtins__": builtins, "__name__": packed["module"], **names}


def _scope_values(function):
    """The globals and closure values that the function names."""
    code, values = function.__code__, {}
    for name in _names(code):
        if name in function.__globals__:
            values[name] = function.__globals__[name]
    for name, cell in zip(code.co_freevars, function.__closure__ or ()):
        try:
            values[name] = cell.cell_contents
        except ValueError:  # not bound yet: the other side says so when it compiles
            continue
    return values


def _pack_function(function, source, seen):
    from lanewise._core import _source_text

    scope = {name: _pack(value, seen) for name, value in _scope_values(function).items()}
    source = source if source is not None else _source_text(function)
    return {
        "name": function.__name__,
        "qualname": function.__qualname__,
        "module": function.__module__,
        "doc": function.__doc__,
        "source": source,
        "place": _places.origin_of_function(function, source),
        "scope": scope,
        "defaults": function.__defaults__,
        "kwdefaults": function.__kwdefaults__,
        "attributes": {name: _pack(value, seen) for name, value in function.__dict__.items() if name in _TRAVELLING},
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
    filename = _file_of(name, (text, packed["place"]))
    _texts.keep(text, filename)
    _places.keep_origin(filename, *packed["place"])
    scope = _scope_of(packed)
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
    function.__dict__.update((name, _unpack(value)) for name, value in packed["attributes"].items() if value[0] != "recursion")
    if "self" in packed:
        function = types.MethodType(function, packed["self"])
    return function, text


def _pack_option(value):
    """A keyword's value. Functions in it, those of sizes= too, travel as others do."""
    if isinstance(value, dict):
        return ("dict", {key: _pack(item, frozenset()) for key, item in value.items()})
    return _pack(value, frozenset())


def _unpack_option(packed):
    kind, value = packed
    return {key: _unpack(item) for key, item in value.items()} if kind == "dict" else _unpack(packed)


def reduce(made):
    """What `__reduce__` of the objects of all decorators returns."""
    name = _importable(made)
    if name is not None:
        return name
    state = made._state()
    options = {key: _pack_option(value) for key, value in state["options"].items() if key != "source"}
    function = _pack_function(made.py_func, state["options"].get("source"), frozenset({id(made.py_func)}))
    return rebuild, (_VERSION, state["door"], function, state["signatures"], state["layout"], options, _loops(made)), _given_names(made)


def _given_names(made):
    """Names that were assigned to the object, which pickle assigns again; None: there are none."""
    names = {name: value for name, value in vars(made).items()
             if name in ("__name__", "__qualname__", "__doc__") and value != getattr(made.py_func, name, None)}
    return names or None


_sources: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()  # by object, which keeps the text it was read from


def token(made):
    """What Dask's keys of equal objects have in common, in every process: the source and what it captured."""
    return _made_token(made, frozenset())


def _made_token(made, seen):
    from dask.tokenize import normalize_token

    state = made._state()
    source = _sources.get(made)
    if source is None:
        _sources[made] = source = state["options"].get("source") or _source_of(made.py_func)
    options = {key: _option_token(value) for key, value in state["options"].items() if key != "source"}
    function = _function_token(made.py_func, source, seen | {id(made.py_func)})
    # Dask takes the text of what this returns, and that of an array does not have all elements
    return normalize_token(("lanewise", state["door"], state["signatures"], state["layout"], function, options))


def _source_of(function):
    from lanewise._core import _source_text

    return _source_text(function)


_texts_of: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()  # of functions and classes: the code, and its text
_BY_NAME = frozenset(("lanewise", "numpy", "scipy", "numba", *sys.stdlib_module_names))  # what they have changes with their versions


def _text_token(value, read):
    """The text of a function or a class that is not one of these libraries'; it may have been edited since its module was imported first."""
    if value.__module__ is None or value.__module__.partition(".")[0] in _BY_NAME:
        return None
    code = getattr(value, "__code__", None)
    known = _texts_of.get(value)
    if known is None or known[0] is not code:
        _texts_of[value] = known = code, read(value)
    return known[1]


def _function_text(function):
    try:
        return _source_of(function)
    except (OSError, TypeError, SyntaxError):
        return function.__code__.co_code, function.__code__.co_names  # no text: one made by exec


def _value_token(value, seen):
    """Of what a function captured: functions and classes by their text, not by their names alone, and modules by name."""
    if isinstance(value, types.ModuleType):
        return "module", value.__name__
    if id(value) in seen or (_is_made(value) and id(value.py_func) in seen):
        return "recursion", value.__name__
    if _is_made(value):
        return _made_token(value, seen)
    if isinstance(value, types.FunctionType) and (text := _text_token(value, _function_text)) is not None:
        return _function_token(value, text, seen | {id(value)})
    if isinstance(value, type) and (text := _text_token(value, _class_source)) is not None:
        return value.__module__, value.__qualname__, text, [_value_token(base, seen | {id(value)}) for base in value.__bases__], _class_scope_token(value, text, seen | {id(value)})
    return value


def _class_scope_token(cls, text, seen):
    around = _classes[cls][1] if cls in _classes else vars(sys.modules.get(cls.__module__, builtins))
    names = {node.id for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)}
    return [(name, _value_token(around[name], seen)) for name in sorted(names) if name in around and name != cls.__name__]


def _function_token(function, text, seen):
    scope = [(name, _value_token(value, seen)) for name, value in _scope_values(function).items()]
    linked = [(name, _value_token(value, seen)) for name, value in sorted(function.__dict__.items()) if name in _TRAVELLING]
    return function.__module__, function.__qualname__, text, scope, function.__defaults__, function.__kwdefaults__, linked, getattr(function, "__self__", None)


def _option_token(value):
    return {key: _value_token(item, frozenset()) for key, item in value.items()} if isinstance(value, dict) else _value_token(value, frozenset())


def _loops(made):
    """The loops that a ufunc without signatures has compiled, and whether there will be no more; None of other objects, and
    of those with static= or excluded= parameters, whose loops belong to values that a call gives."""
    dynamic = getattr(made, "is_dynamic", None)
    state = made._state()
    if dynamic is None or state["signatures"] is not None or state["options"].get("static") or state["options"].get("excluded"):
        return None
    # without those of calls that gave a default another value: they have more operands, and belong to another object
    own = [text for text, types in zip(made.signatures, made.types) if len(types.partition("->")[0]) == made.nin]
    return own, not dynamic


def rebuild(version, door, function, signatures, layout, options, loops=None):
    from lanewise import _core

    if version != _VERSION:
        raise ValueError(f"pickle of format {version}; this lanewise reads format {_VERSION}")
    rebuilt, text = _unpack_function(function)
    arguments = () if signatures is None and layout is None else (signatures,) if layout is None else (signatures, layout)
    decorator = operator.attrgetter(door)(_core)
    made = decorator(*arguments, source=text, **{key: _unpack_option(value) for key, value in options.items()})(rebuilt)
    if loops is not None:
        signatures, frozen = loops
        made._load_loops(signatures)
        if frozen:
            made.disable_compile()
    return made

#!/usr/bin/env python3
"""Write the tables of the documents that come from core/tables; `--check` says what is stale.

A generated part stands between `<!-- generated: NAME -->` and `<!-- end -->`. tests/py/test_docs.py
checks that all of them are fresh.
"""

from __future__ import annotations

import ast
import re
import runpy
import sys
from collections import defaultdict
from pathlib import Path

DOCS = Path(__file__).resolve().parent
sys.path.insert(0, str(DOCS.parent / "tests" / "py"))

from source_tree import rows  # noqa: E402


def unquote(field: str) -> str:
    return field.strip('"').replace('\\"', '"')


def table(head: list[str], body: list[list[str]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "| " + " | ".join("---" for _ in head) + " |"]
    lines += ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in body]
    return "\n".join(lines)


def settings() -> str:
    body = []
    for field, variable, kind, default, doc in (map(unquote, row) for row in rows("env", "ENV")):
        shown = f"`{default}`" if default else "empty"
        body.append([f"`{variable}`, `config.{field}`", f"{ {'TEXT': 'str', 'INT': 'int'}[kind]}, {shown}", doc])
    return table(["variable and field", "kind, default", "what it does"], body)


def numba_settings() -> str:
    body = []
    for variable, attribute, field, how, word, doc in (map(unquote, row) for row in rows("numba_settings", "NUMBA")):
        value = {"FLAG": f"`{word}`", "WORDS": f"`{word}` is added", "FOLDER": f"its subfolder `{word}`", "LEVEL": "`0` or `1`"}.get(how, "the same")
        body.append([f"`{variable}`" + (f", `config.{attribute}`" if attribute else ""), f"`config.{field}`: {value}", doc])
    return table(["variable and attribute of numba", "setting and its new value", "what it does"], body)


def numba_unlike() -> str:
    body = []
    for variable, attribute, value, kept, instead in (map(unquote, row) for row in rows("numba_unlike", "UNLIKE")):
        body.append([f"`{variable}`, `config.{attribute}`", f"`{value}`", "any" if kept == "true" else "this", instead])
    return table(["variable and attribute", "value", "accepted", "reason, or what to use instead"], body)


def checks() -> str:
    body = [[f"`{word}`", f"`{raises}`", where] for _, word, raises, where in (map(unquote, row) for row in rows("checks", "CHECK"))]
    return table(["check", "raises", "when"], body)


def names() -> str:
    """Every function that compiled code may call, module by module."""
    modules: dict[str, list[str]] = defaultdict(list)
    for _id, path, low, high, _rule, _impl in rows("names", "NAMED"):
        module, _, name = unquote(path).rpartition(".")
        arguments = low if low == high else f"{low}+" if high == "255" else f"{low}–{high}"
        modules[module].append(f"`{name}`" if arguments == "1" else f"`{name}` ({arguments})")
    return table(["module", "functions (number of arguments where it is not 1)"],
                 [[f"`{module}`", ", ".join(listed)] for module, listed in modules.items()])


def array_parameters() -> dict[str, list[str]]:
    """The parameters of the functions that implement core/tables/array_functions.def, as they are written."""
    found = {}
    for module in ("_array_functions", "_new_arrays", "_array_library", "_array_parts", "_linear_algebra", "_thread_random", "_python_random"):
        for node in ast.parse((DOCS.parent / "lanewise" / f"{module}.py").read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef):
                a = node.args
                names = [x.arg for x in a.posonlyargs + a.args] + ([f"*{a.vararg.arg}"] if a.vararg else ["*"] if a.kwonlyargs else [])
                found[f"{module}.{node.name}"] = names + [x.arg for x in a.kwonlyargs]
    return found


def arrays() -> str:
    """The functions, methods and attributes of whole arrays, with their parameters."""
    kinds = {"BOTH": ("numpy", "methods"), "NUMPY": ("numpy",), "METHOD": ("methods",), "ATTRIBUTE": ("attributes",), "LINALG": ("numpy.linalg",), "STRIDES": ("numpy.lib.stride_tricks",), "MATH": ("math",),
             "PYTHON": ("builtins",), "RANDOM": ("numpy.random",), "PY_RANDOM": ("random",)}
    found: dict[str, set[str]] = {kind: set() for kind in ("numpy", "numpy.linalg", "numpy.lib.stride_tricks", "numpy.random", "random", "methods", "attributes", "builtins", "math")}
    modules = {"ARRAY_FUNCTIONS": "_array_functions", "NEW_ARRAYS": "_new_arrays", "ARRAY_LIBRARY": "_array_library", "ARRAY_PARTS": "_array_parts", "LINEAR_ALGEBRA": "_linear_algebra", "THREAD_RANDOM": "_thread_random", "PYTHON_RANDOM": "_python_random"}
    parameters = array_parameters()
    for owner, name, module, helper, _takes in rows("array_functions", "ARRAY_FUNCTION"):
        for kind in kinds.get(owner, ()):
            given = parameters[f"{modules[module]}.{unquote(helper)}"][1 if kind == "methods" else 0:]
            has_list = kind not in ("attributes", "builtins")
            found[kind].add(f"{unquote(name)}({', '.join(given)})" if has_list else unquote(name))
    found["numpy"] |= {"empty(shape, dtype)", "where(condition, x, y)", "clip(a, a_min, a_max)"}
    return table(["of", "names"], [[f"`{kind}`" if "." in kind or kind in ("numpy", "builtins", "math", "random") else f"{kind} of arrays", ", ".join(f"`{name}`" for name in sorted(names))]
                                   for kind, names in found.items()])


def special() -> str:
    """The functions of scipy.special."""
    named = sorted({unquote(name) for owner, name, *_ in rows("array_functions", "ARRAY_FUNCTION") if owner == "SPECIAL"} | {"digamma", "jn"})
    return table(["module", "functions"], [["`scipy.special`", ", ".join(f"`{name}`" for name in named)]])


def kernel_rows() -> list[tuple[list[str], str, str]]:
    """kernel_names.def: the parts of each path behind "lanewise", signature, docstring."""
    return [(unquote(path).split(".")[1:], unquote(signature), unquote(doc))
            for _id, path, _low, _high, _rule, _impl, signature, doc in rows("kernel_names", "KERNEL_NAME")]


def kernels() -> str:
    """What kernels have of their own."""
    return table(["name", "what it is"],
                 [[f"`{'.'.join(path)}{signature}`", doc] for path, signature, doc in kernel_rows()])


def libdevice() -> str:
    """NVIDIA's functions: which work on the CPU too, and which on GPUs only."""
    found: dict[bool, list[str]] = {True: [], False: []}
    for name, _result, _letters, _n, how, _what in rows("libdevice", "LIBDEVICE"):
        found[how != "CALL"].append(f"`{name}`")
    return table(["where", "functions"], [["CPU and GPU", ", ".join(found[True])], ["GPU only", ", ".join(found[False])]])


def kernel_stubs() -> str:
    """The same as stubs: a class with the call's parameters each, groups as classes of attributes."""
    lines, groups = [], defaultdict(list)
    for path, signature, doc in kernel_rows():
        if path[0] != "cuda":
            continue
        at = "_" + "_".join(path[1:])
        if signature:
            parameters = re.sub(r"(\w+)(=\w+)?", lambda part: part[1] + ": Any" + (" = ..." if part[2] else ""), signature[1:-1])
            lines += [f"class {at}(Protocol):", f'    """{doc}"""', "",
                      f"    def __call__(self{', ' if parameters else ''}{parameters}) -> Any: ...", ""]
        groups[".".join(path[1:-1])].append((path[-1], at if signature else "Any"))
    lines += ["class _libdevice_group(Protocol):"]
    for name, _result, letters, *_rest in rows("libdevice", "LIBDEVICE"):
        takes = ", ".join(f"{x}: Any" for x, _letter in zip("xyz", unquote(letters)))
        lines += [f"    def {name}(self, {takes}, /) -> Any: ..."]
    lines += ["", "libdevice: _libdevice_group"]
    for group in sorted(groups, key=lambda path: -path.count(".")):  # inner ones first
        if not group:
            continue
        kind = f"_{group.replace('.', '_')}_group"
        lines += ["", f"class {kind}(Protocol):"]
        for name, member in groups[group]:
            lines += ["    @property", f"    def {name}(self) -> {member}: ..."]
        outer, _, name = group.rpartition(".")
        groups[outer].append((name, kind))
    lines += ["", *(f"{name}: {kind}" for name, kind in groups[""])]
    return "\n".join(lines)


DOORS = {name: door for name, door, _type in rows("doors", "DOOR")}


def takers(doors: str) -> list[str]:
    """The decorators that the second column of keywords.def names."""
    named = {"UFUNCS": ["VECTORIZE", "GUVECTORIZE"], "EVERY": list(DOORS)}
    return [DOORS[one] for name in doors.split("|") for one in named.get(name.strip(), [name.strip()])]


def keywords() -> str:
    """What the decorators take."""
    body = []
    for name, doors, _read, shown, _type, doc in rows("keywords", "KEYWORD"):
        whose = "all" if doors == "EVERY" else ", ".join(f"`{door}`" for door in takers(doors))
        body.append([f"`{name}`", f"`{unquote(shown)}`", whose, unquote(doc)])
    return table(["keyword", "default", "decorators", "what it does"], body)


def keyword_stubs(door: str, without: list[str]) -> str:
    """The same as parameters in stubs."""
    return "".join(f"    {name}: {unquote(kind)} = {unquote(shown)},\n".replace("'", '"')
                   for name, doors, _read, shown, kind, _doc in rows("keywords", "KEYWORD") if door in takers(doors) and name not in without)


def statements() -> str:
    return table(["node", "what it is"],
                 [[f"`{unquote(text)}`", unquote(doc)] for _name, text, _args, doc in rows("nodes", "NODE") if unquote(doc)])


def exceptions() -> str:
    body = []
    for name, exception, home, bases in (map(unquote, row) for row in rows("errors", "ERROR")):
        if home == "lanewise":
            body.append([f"`lw.errors.{exception}`", ", ".join(f"`{base}`" for base in bases.split()) or "`Exception`"])
    return table(["class", "is also"], list(dict.fromkeys(map(tuple, body))))


def dtypes() -> str:
    body = []
    for _name, public, kind, _bits, _llvm, _memory, _parts, _ctype, char, alias in rows("dtypes", "DTYPE"):
        char = char.strip("'")
        body.append([f"`{unquote(public)}`", f"`{unquote(alias)}`", f"`{char}`" if char != "0" else "none", kind.lower()])
    return table(["type", "short", "NumPy's character", "kind"], body)


def intrinsics() -> str:
    """Error bounds of what is not exact."""
    body = []
    for row in rows("intrinsics", "INTRINSIC"):
        bounds = row[-4:]
        if any(bound != "0" for bound in bounds):
            body.append([f"`{row[0]}`", *bounds])
    return table(["function", "GPU float32", "GPU float64", "CPU float32", "CPU float64"], body)


#: NumPy's letters for the types of the promotion tables.
PROMOTION = ("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16", "float32",
             "float64", "complex64", "complex128")
SHORT = {"bool": "b1", "int8": "i1", "uint8": "u1", "int16": "i2", "uint16": "u2", "int32": "i4", "uint32": "u4", "int64": "i8",
         "uint64": "u8", "float16": "f2", "float32": "f4", "float64": "f8", "complex64": "c8", "complex128": "c16"}


def promoted(typing: str, x: str, y: str) -> str:
    """What x + y computes in, said without the library: the test holds it against the library."""
    import numpy as np

    kinds = {np.dtype(x).kind, np.dtype(y).kind}
    if typing == "weak":
        return "int64" if kinds == {"b"} else str(np.promote_types(x, y))
    if kinds <= set("biu"):
        return "uint64" if kinds == {"u"} else "int64"
    if "uint16" in (x, y) and {x, y} & {"float32", "complex64"}:
        return "float64" if "float32" in (x, y) else "complex128"
    return str(np.promote_types(x, y))


def promotion(typing: str) -> str:
    body = []
    for i, x in enumerate(PROMOTION):
        body.append([f"**{SHORT[x]}**"] + [SHORT[promoted(typing, x, y)] if j >= i else "" for j, y in enumerate(PROMOTION)])
    return table(["∘", *(SHORT[name] for name in PROMOTION)], body)


def vector_names() -> tuple[dict[str, tuple[str, int]], dict[str, str]]:
    """The classes of vectors, and their names in CUDA C."""
    found = runpy.run_path(str(DOCS.parent / "lanewise" / "_vector_names.py"))
    return found["CLASSES"], found["ALIASES"]


def vector_stubs() -> str:
    classes, aliases = vector_names()
    return "\n".join([*(f"class {name}(Vector{count}): ..." for name, (_base, count) in classes.items()), "",
                      *(f"{alias} = {name}" for alias, name in aliases.items())])


PARTS = {
    "settings": settings, "checks": checks, "keywords": keywords, "names": names, "arrays": arrays, "special": special, "kernels": kernels, "libdevice": libdevice, "statements": statements, "exceptions": exceptions, "dtypes": dtypes, "intrinsics": intrinsics, "numba settings": numba_settings, "numba unlike": numba_unlike,
    "promotion weak": lambda: promotion("weak"), "promotion numba": lambda: promotion("numba"),
}


def renewed(text: str) -> str:
    def part(match: re.Match[str]) -> str:
        return f"<!-- generated: {match[1]} -->\n{PARTS[match[1]]()}\n<!-- end -->"

    return re.sub(r"<!-- generated: ([\w ]+) -->\n.*?<!-- end -->", part, text, flags=re.S)


def renewed_stub(text: str) -> str:
    text = re.sub(r"(    # generated: keywords of (\w+)(?: but ([\w, ]+))?\n).*?    # end",
                  lambda match: match[1] + keyword_stubs(match[2], (match[3] or "").split(", ")) + "    # end", text, flags=re.S)
    part = f"# generated: kernels\n{kernel_stubs()}\n# end"
    text = re.sub(r"# generated: vectors\n.*?# end", lambda _match: f"# generated: vectors\n{vector_stubs()}\n# end", text, flags=re.S)
    names = sorted({path[1] for path, _signature, _doc in kernel_rows() if path[0] == "cuda"} | {"libdevice"}.union(*vector_names()))
    listed = ["    # generated: names", *(f'    "{name}",' for name in names), "    # end"]
    text = re.sub(r"# generated: kernels\n.*?# end", lambda _match: part, text, flags=re.S)
    return re.sub(r"    # generated: names\n.*?    # end", lambda _match: "\n".join(listed), text, flags=re.S)


def main(arguments: list[str]) -> int:
    stale = []
    for path in [*sorted(DOCS.glob("*.md")), *sorted((DOCS.parent / "lanewise").glob("*.pyi"))]:
        text = path.read_text(encoding="utf-8")
        fresh = renewed_stub(text) if path.suffix == ".pyi" else renewed(text)
        if fresh != text:
            stale.append(path.name)
            if "--check" not in arguments:
                path.write_text(fresh, encoding="utf-8")
    if stale:
        print("stale:" if "--check" in arguments else "written:", *stale)
    return 1 if stale and "--check" in arguments else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Includes point one way: base <- tables <- ir <- front (its parts: shared, numeric, then read, infer, lower), opt, emit <- link <- device, host <- plan <- py
<- doors <- lanewise/module.c. Says which arrow was broken."""

from __future__ import annotations

import ast
import importlib.util
import re
from fnmatch import fnmatch
from pathlib import PurePosixPath

import pytest

from lanewise import _core
from source_tree import DOORS, ROOT, SOURCE, files, read, rows, without_comments

LAYER = {
    "core/base": 0, "core/tables": 1, "core/ir": 2, "core/block": 2.5,
    "core/front": 3, "core/opt": 3, "core/opt/loops": 3.1, "core/emit": 3, "core/front/numeric": 3.2,
    "core/front/read": 3.4, "core/front/read/captures": 3.41, "core/front/read/classes": 3.41, "core/front/read/exceptions": 3.41, "core/front/infer": 3.4, "core/front/lower": 3.4,
    "core/link": 4, "core/device": 5, "core/host": 5, "core/plan": 5.5, "core/py": 6,
    "core/py/cuda": 6.1, "core/py/array": 6.2, "core/py/typed": 6.25, "core/py/types": 6.3, "core/py/compiled": 6.4, "core/py/numpy": 6.5, "core/py/windows": 6.6,
    "gufunc/core": 6.7, "reduce/function": 6.7, "reduce/host": 6.8, "reduce/device": 6.9,
    **dict.fromkeys(DOORS, 7), "forall/jit": 7.1, "lanewise": 8,
}
#: Headers for code of others: no folder of the build, and any of ours may include them.
PUBLIC = "lanewise/include"
#: The only files that may know Python.
WITH_PYTHON = ("core/py/*", "core/front/read/*", "ufunc/ufunc_parts.h", "lanewise/module.c",
               *(f"{door}/{kind}" for door in DOORS for kind in ("*_object.c", "*_py.[ch]", "*_py_internal.h")))
PYTHON_HEADERS = re.compile(r"^(Python\.h|structmember\.h|numpy/.*|internal/pycore_.*)$")


def folder_of(name: str) -> str:
    return str(PurePosixPath(name).parent)


def sources() -> list[str]:
    return [name for name in files() if name.endswith((".c", ".h")) and folder_of(name) in SOURCE]


def includes(name: str) -> list[tuple[int, str, str]]:
    """(line, "<" or '"', the file that is included)."""
    text = without_comments(read(name))
    pattern = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.M)
    return [(text.count("\n", 0, m.start()) + 1, m[1], m[2]) for m in pattern.finditer(text)]


def may_know_python(name: str) -> bool:
    return any(fnmatch(name, pattern) for pattern in WITH_PYTHON)


def arrow_fault(name: str, included: str) -> str | None:
    """Why this file may not include that one, or None."""
    if included.endswith(".def"):  # data, not code: every layer reads the tables
        return None
    here, there = folder_of(name), folder_of(included)
    if there == PUBLIC:
        return None
    for folder in (here, there):
        if folder in SOURCE and folder not in LAYER:
            return f"folder {folder} is not in LAYER"
    if there not in LAYER:
        return "includes are written from the root of the repository"
    if here == there:
        return None
    doors = [folder.partition("/")[0] for folder in (here, there)]
    if doors[0] != doors[1] and set(doors) <= set(DOORS):
        return "doors never include each other"
    if LAYER[there] >= LAYER[here]:
        return f"{here} (layer {LAYER[here]}) must not know {there} (layer {LAYER[there]})"
    return None


MOST_FILES = 40  # of C in a folder: what a newcomer can keep in mind


def test_folders_are_small():
    count = {folder: sum(folder_of(name) == folder for name in sources()) for folder in SOURCE}
    assert {folder: n for folder, n in count.items() if n > MOST_FILES} == {}


def test_there_is_something_to_read():
    assert len(sources()) > 100
    assert set(DOORS) <= {folder_of(name) for name in sources()}


def test_every_folder_has_a_place():
    """CMakeLists.txt lists it for the build, and LAYER among the layers."""
    found = {folder_of(name) for name in files() if name.endswith((".c", ".h")) and not name.startswith(("tests/", PUBLIC + "/"))}
    faults = [f"folder {folder} is in none of CMakeLists.txt's LW_PURE, LW_MIXED and LW_PYTHON" for folder in sorted(found - set(SOURCE))]
    faults += [f"folder {folder} is not in LAYER" for folder in sorted(found & set(SOURCE) - set(LAYER))]
    faults += [f"folder {folder} is listed and has no C file" for folder in sorted({*SOURCE, *LAYER} - found)]
    assert not faults, "\n".join(faults)


def test_a_broken_arrow_is_seen():
    assert arrow_fault("core/base/text.c", "core/ir/ir.h")
    assert arrow_fault("core/link/build.c", "core/device/driver.h")
    assert arrow_fault("core/py/array/args.c", "ufunc/ufunc.h")
    assert arrow_fault("ufunc/ufunc.h", "ufunc.h")
    assert arrow_fault("core/base/error.h", "core/tables/errors.def") is None


@pytest.mark.parametrize("folder", SOURCE)
def test_arrows(folder):
    broken = []
    for name in sources():
        if folder_of(name) != folder:
            continue
        for line, quote, included in includes(name):
            if quote == "<":
                continue
            fault = arrow_fault(name, included)
            if fault is None and not (ROOT / included).is_file():
                fault = "no such file"
            if fault:
                broken.append(f'{name}:{line} includes "{included}": {fault}')
    assert not broken, "\n".join(broken)


def reaches(name: str, seen: set[str]) -> list[str]:
    """The first path from a file to a Python header through our own headers; [] if there is none."""
    seen.add(name)
    for _, quote, included in includes(name):
        if quote == "<":
            if PYTHON_HEADERS.match(included):
                return [name, f"<{included}>"]
        elif included not in seen and (ROOT / included).is_file():
            way = reaches(included, seen)
            if way:
                return [name, *way]
    return []


def test_only_the_python_side_knows_python():
    broken = [" -> ".join(way) for name in sources() if not may_know_python(name)
              for way in [reaches(name, set())] if way]
    assert not broken, "\n".join(broken)
    assert reaches("lanewise/module.c", set()), "this test no longer finds <Python.h> at all"


def test_only_numpy_api_h_includes_numpy():
    broken = [f"{name}:{line} <{included}>" for name in sources() if name != "core/py/numpy_api.h"
              for line, _, included in includes(name) if included.startswith("numpy/")]
    assert not broken, "\n".join(broken)


def test_own_header_comes_first():
    """This proves that every header is complete; only Python's headers may come before it."""
    broken = []
    for name in sources():
        own = name[:-1] + "h"
        ours = [included for _, quote, included in includes(name)
                if quote == '"' and included != "core/py/numpy_api.h"]
        if name.endswith(".c") and own in ours and ours[0] != own:
            broken.append(f"{name} includes {ours[0]} before its own header")
    assert not broken, "\n".join(broken)


def test_no_cuda_header_is_needed():
    """lanewise builds without a CUDA toolkit."""
    vendor = re.compile(r"^(cuda|nvvm|nvJitLink|nvrtc|driver_types|vector_types)\b")
    broken = [f"{name}:{line} {included}" for name in files() if name.endswith((".c", ".h"))
              for line, _, included in includes(name) if vendor.match(included)]
    assert not broken, "\n".join(broken)


def test_every_service_is_there():
    """core/tables/services.def and lanewise/__init__.py name the same words; C names no module of the package."""
    given = ast.parse(read("lanewise/__init__.py"))
    call = next(node for node in ast.walk(given) if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "_set_services")
    modules = ast.literal_eval(call.args[0])
    assert set(modules) == {row[1].strip('"') for row in rows("services", "SERVICE")}
    for name in modules.values():
        assert importlib.util.find_spec(name), name
    imports = re.compile(r'PyImport_Import\w*\("lanewise\.(?!_core")')
    broken = [name for name in sources() if imports.search(read(name))]
    assert not broken, broken


def test_services_are_registered_once():
    with pytest.raises(RuntimeError, match="once"):
        _core._services({})


def test_literals_have_no_scraps():
    """clang-format splits a string literal that has become too long, and does not join what follows, so that a line with one word remains."""
    literal = re.compile(r'\s*"((?:[^"\\]|\\.)*) "\s*')
    scraps = []
    for name in sources():
        lines = read(name).split("\n")
        scraps += [f"{name}:{at + 1}" for at in range(1, len(lines) - 1)
                   if (found := literal.fullmatch(lines[at])) and len(found[1]) < 24 and "\\n" not in found[1]
                   and re.search(r'(?<!\\n)"\s*$', lines[at - 1]) and re.match(r'\s*"', lines[at + 1])]
    assert scraps == []

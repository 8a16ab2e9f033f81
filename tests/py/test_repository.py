"""What must hold for the repository as a whole."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
from fnmatch import fnmatchcase
from pathlib import PurePosixPath

import pytest

from source_tree import ROOT, SOURCE, files, read, rows, without_comments

OURS = tuple(f"{folder}/" for folder in SOURCE)
BINARY = (".png", ".npy", ".npz", ".bin", ".o", ".cubin")
TABLES = sorted(PurePosixPath(name).stem for name in files() if name.startswith("core/tables/") and name.endswith(".def"))


def texts():
    for name in files():
        if not name.endswith(BINARY) and name != "LICENSE":
            yield name, read(name)


def matches(pattern: str, skip: tuple[str, ...] = ()) -> list[str]:
    compiled = re.compile(pattern)
    return [f"{name}:{number}: {line.strip()[:100]}" for name, text in texts() if name not in skip
            for number, line in enumerate(text.splitlines(), 1) if compiled.search(line)]


def test_no_path_of_one_machine():
    found = matches(r"(?<![\w.$}*)-])/(home|Users|root|work|workspace|mnt|builds?)/[A-Za-z0-9]")
    assert not found, "\n".join(found)
    # a folder for temporary files is named only where one is made
    found = [line for line in matches(r'(?<![\w.$}])/tmp/') if "XXXXXX" not in line]
    assert not found, "\n".join(found)


def test_no_registry_host():
    """Packages are named by their ordinary names; where they come from is the user's business."""
    found = matches(r"pypi\.(org|python)|pythonhosted\.org|anaconda\.org|\bnpmjs\b|ghcr\.io|docker\.io|nvcr\.io"
                    r"|index-[u]rl|trusted-[h]ost")
    assert not found, "\n".join(found)


def test_no_unfinished_work():
    found = matches(r"\b(TO" r"DO|FIX" r"ME|XX" r"X|HA" r"CK)\b")
    assert not found, "\n".join(found)


def test_text_files_are_clean():
    """Text files are UTF-8 with LF, have a newline at the end, no trailing blanks, and tabs only where they mean something."""
    bad = []
    for name, text in texts():
        lines = text.split("\n")
        if "\r" in text:
            bad.append(f"{name}: CR")
        if text and not text.endswith("\n"):
            bad.append(f"{name}: no newline at the end")
        if name.endswith((".case", ".patch")):  # they quote
            continue
        bad += [f"{name}:{n}: trailing blank" for n, line in enumerate(lines, 1) if line != line.rstrip(" \t")]
        if name.endswith((".c", ".h", ".def", ".py", ".pyi", ".md")):
            bad += [f"{name}:{n}: tab" for n, line in enumerate(lines, 1) if "\t" in line]
    assert not bad, "\n".join(bad)


def test_no_file_was_left_by_a_tool():
    assert not [name for name in files() if name.endswith((".orig", ".rej", ".bak", ".swp", "~"))]


def test_every_folder_explains_itself():
    folders = {PurePosixPath(name).parent for name in files()} - {PurePosixPath("."), PurePosixPath(".ci")}

    def explained(folder: PurePosixPath) -> bool:
        if (ROOT / folder / "README.md").is_file():
            return True
        above = ROOT / folder.parent / "README.md"  # folders of data: the one above says what they hold
        return above.is_file() and f"`{folder.name}" in above.read_text(encoding="utf-8")

    missing = sorted(str(folder) for folder in folders if "golden" not in folder.parts and not explained(folder))
    assert not missing, f"no README.md in {', '.join(missing)}"


@pytest.mark.parametrize("folder", SOURCE)
def test_readme_maps_every_file(folder):
    text = read(f"{folder}/README.md")
    stems = {PurePosixPath(name).stem for name in files()
             if str(PurePosixPath(name).parent) == folder and not name.endswith(".md")}
    words = {PurePosixPath(word).name.split(".")[0] for quoted in re.findall(r"`([^`\n]+)`", text)
             for word in quoted.replace(",", " ").split()}
    missing = sorted(stem for stem in stems if not any(fnmatchcase(stem, word) for word in words))
    assert not missing, f"{folder}/README.md says nothing of {', '.join(missing)}"


def test_readme_names_only_what_exists():
    """Every `file` or `folder/file` with a suffix that a README names exists."""
    bad = []
    for name in files():
        if not name.endswith(".md"):
            continue
        here = PurePosixPath(name).parent
        for found in re.findall(r"`([\w./-]+\.(?:c|h|def|py|pyi|sh|md|toml|txt|json|case))`", read(name)):
            if not any((ROOT / place / found).exists() for place in (here, "", "core/tables", "tests/py", "lanewise/include")):
                bad.append(f"{name}: {found}")
    assert not bad, "\n".join(bad)


def test_documents_name_functions_and_files_that_exist():
    """ARCHITECTURE.md and the READMEs of folders name `folder/file`, with or without its suffix, `lw_…` and other names of C."""
    listed = files()
    known = {str(parent) for name in listed for parent in PurePosixPath(name).parents} | {re.sub(r"\.\w+$", "", name) for name in listed} | set(listed)
    tops = {name.partition("/")[0] for name in listed if "/" in name}
    words = set().union(*(re.findall(r"[A-Za-z_]\w*", text) for name, text in texts() if not name.endswith(".md")))
    bad = []
    for name in ("ARCHITECTURE.md", *(f"{folder}/README.md" for folder in SOURCE)):
        for quoted in re.findall(r"`([^`\n]+)`", re.sub(r"^```.*?^```", "", read(name), flags=re.M | re.S)):
            path = quoted.rstrip("/")
            if re.fullmatch(r"[\w.*]+(/[\w.*]+)+/?", quoted) and path.partition("/")[0] in tops:
                # `core/base/env` may stand for env_text.c, too
                if not any(fnmatchcase(one, path) or one.startswith(f"{path}_") for one in known):
                    bad.append(f"{name}: {quoted}")
            bad += [f"{name}: {word}" for word in re.findall(r"\b(?:lw|LW)_\w+", quoted)
                    if word not in words and not (word.endswith("_") and any(one.startswith(word) for one in words))]
    assert not bad, "\n".join(bad)


def test_documents_named_in_comments_exist():
    bad = []
    for name, text in texts():
        if name.endswith((".c", ".h", ".def", ".py", ".pyi", ".sh", ".txt", ".toml")) and name != "tests/py/test_repository.py":
            for found in re.findall(r"(?<![\w*{}])[\w./-]*\w\.md\b", text):
                if not any((ROOT / place / found).exists() for place in ("", PurePosixPath(name).parent, "docs")):
                    bad.append(f"{name}: {found}")
    assert not bad, "\n".join(bad)


def test_links_between_documents():
    bad = []
    for name in files():
        if not name.endswith(".md"):
            continue
        here = PurePosixPath(name).parent
        prose = re.sub(r"^```.*?^```|`[^`\n]*`", "", read(name), flags=re.M | re.S)  # `kernel[grid](x)` is no link
        for target in re.findall(r"\]\(([^)#:\s]+)(?:#[\w-]+)?\)", prose):
            if not (ROOT / here / target).exists():
                bad.append(f"{name}: {target}")
    assert not bad, "\n".join(bad)


def test_every_header_has_its_own_guard():
    guards: dict[str, str] = {}
    for name in files():
        if name.endswith(".h") and name.startswith(OURS):
            found = re.match(r"\s*#ifndef (LW_\w+_H)\n#define \1\n", without_comments(read(name)))
            assert found, f"{name} does not open with its include guard"
            assert found[1] not in guards, f"{name} and {guards.get(found[1])} share the guard {found[1]}"
            guards[found[1]] = name


def test_each_c_file_opens_with_what_it_owns():
    """Every header says its contract before its guard; a .c file without a header of its name says what it owns."""
    known = set(files())
    bad = [name for name in known if name.startswith(OURS) and not read(name).startswith("/* ")
           and (name.endswith(".h") or (name.endswith(".c") and name[:-1] + "h" not in known))]
    assert not bad, ", ".join(sorted(bad))


# ---- the tables ----


def test_tables_are_found():
    assert {"cuda_driver", "dtypes", "env", "errors", "intrinsics", "names", "nodes", "nvjitlink", "nvvm", "ops"} <= set(TABLES)


@pytest.mark.parametrize("table", TABLES)
def test_table_is_well_formed(table):
    text = read(f"core/tables/{table}.def")
    end = re.search(r"^#undef (\w+)\n\Z", text, re.M)
    assert end, "the file that is included undefines the row macro in its last line"
    macro = end[1]
    head = text[: text.index("*/")]
    assert text.startswith("/* "), "a table opens with what its columns mean"
    columns = re.findall(rf"\b{macro}\(([^)]*)\)?", head)
    assert columns, f"the head shows {macro}(…) with the names of the columns"
    n_columns = len(re.split(r",(?![^(]*\))", columns[-1]))
    found = rows(table, macro)
    assert len(found) > 2
    for row in found:
        assert len(row) == n_columns, f"{macro}({', '.join(row)}) has {len(row)} columns, not {n_columns}"
    # array functions of one name may have several owners, and one of numba's variables sets several of our settings
    names = [row[:2] if table == "array_functions" else row[::2] if table == "numba_settings" else row[0] for row in found]
    assert len(set(map(str, names))) == len(names), f"twice: {sorted({n for n in names if names.count(n) > 1})}"
    rest = without_comments(text)
    n_lines = len(re.findall(rf"^{macro}\(", rest, re.M))
    assert len([line for line in rest.splitlines() if line.strip()]) == n_lines + 1, "one row a line, nothing else"


def test_dtypes_are_in_canonical_order():
    """A safe cast always goes down the list, on which the sorting of signatures relies."""
    import numpy as np

    named = [row[1].strip('"') for row in rows("dtypes", "DTYPE")]
    known = [np.dtype(name) for name in named if name != "bfloat16"]
    for i, one in enumerate(known):
        for other in known[:i]:
            assert not np.can_cast(one, other), f"{one} comes after {other} but casts to it"
    for row, name in zip(rows("dtypes", "DTYPE"), named):
        if name != "bfloat16":
            assert np.dtype(name).itemsize * 8 == int(row[3]) and np.dtype(name).char == row[8].strip("'")


def test_error_classes_exist():
    import builtins

    from lanewise import errors

    for name, exception, home, bases in rows("errors", "ERROR"):
        exception, home, bases = exception.strip('"'), home.strip('"'), bases.strip('"').split()
        if not exception:
            continue
        made = getattr(builtins if home == "builtins" else errors, exception)
        for base in bases:
            assert issubclass(made, getattr(errors, base, None) or getattr(builtins, base)), (name, base)


def test_environment_is_read_in_one_place():
    """Every variable is a row of env.def; core/base/env.c alone asks for LANEWISE_… ."""
    known = {row[1].strip('"') for row in rows("env", "ENV")}
    for name in files():
        if not name.startswith(OURS) or name.endswith((".md", ".def")):
            continue
        named = set(re.findall(r"LANEWISE_[A-Z_]+[A-Z]", read(name)))
        assert named <= known, f"{name} names {sorted(named - known)}, which env.def does not know"


def test_version_is_said_once():
    import lanewise

    in_c = re.search(r'"(\d+\.\d+\.\d+[^"]*)"', read("core/tables/version.h"))[1]
    in_project = re.search(r'^version = "([^"]+)"', read("pyproject.toml"), re.M)[1]
    assert in_c == in_project == lanewise.__version__


def test_scripts_are_executable_and_parse():
    if shutil.which("bash") is None:
        pytest.skip("bash is missing")
    import os

    scripts = [name for name in files() if name.endswith(".sh") or name == ".ci/run"]
    assert len(scripts) >= 5
    for name in scripts:
        assert os.access(ROOT / name, os.X_OK), f"{name} is not executable"
        subprocess.run(["bash", "-n", str(ROOT / name)], check=True)


def test_names_of_test_files_are_unique():
    """pytest imports them by their bare names."""
    import collections

    names = [PurePosixPath(name).name for name in files() if name.startswith("tests/") and name.endswith(".py")
             and "found" not in PurePosixPath(name).parts and not name.endswith("conftest.py")]
    twice = [name for name, n in collections.Counter(names).items() if n > 1]
    assert not twice, twice


def test_comments_name_files_that_exist():
    """In C: a file that a comment names is one of the tree, or NumPy's or C's."""
    known = {PurePosixPath(name).name for name in files()} | {"fenv.h", "loops.c", "npy_math_complex.c", "npy_math_internal.h", "f.py"}
    missing = []
    for folder in SOURCE:
        for name in (name for name in files() if str(PurePosixPath(name).parent) == folder and name.endswith((".c", ".h"))):
            for comment in re.findall(r"/\*.*?\*/", read(name), re.S):
                missing += [f"{name}: {file}" for file in re.findall(r"\b[a-z][a-z_0-9]*\.(?:c|h|def|py)\b", comment) if file not in known]
    assert not missing, "\n".join(missing)


@pytest.mark.parametrize("name", [name for name in files() if re.fullmatch(r"(lanewise|tests/py)/\w+\.py", name) and name != "lanewise/__init__.py"])
def test_imports_are_used(name):
    """`import a as a` says that other modules take it from here, `# noqa: F401` that importing it is all that counts."""
    text = read(name)
    tree = ast.parse(text)
    lines = text.splitlines()
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    strings = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    unused = [alias.name for node in ast.walk(tree) if isinstance(node, (ast.Import, ast.ImportFrom))
              if getattr(node, "module", "") != "__future__" and "noqa: F401" not in lines[node.lineno - 1]
              for alias in node.names
              if alias.name not in ("*", alias.asname) and (word := (alias.asname or alias.name).partition(".")[0]) not in used
              and not any(re.search(rf"\b{re.escape(word)}\b", one) for one in strings)]
    assert not unused, f"{name} imports {', '.join(unused)} and does not use it"

"""Golden files of inference: typed trees and the errors of wrong functions.

A case is Python text that defines `f`, the argument types, perhaps the mode, `kernel` for one that is a kernel,
`ignore` for one without exceptions, and what comes out.
`pytest --bless` rewrites the last part.
"""

from __future__ import annotations

import linecache
import re
from pathlib import Path

import pytest

from lanewise import errors
from lanewise._core import _dump_typed

GOLDEN = Path(__file__).resolve().parents[1] / "golden"
TYPED = sorted((GOLDEN / "typed").glob("*.case"))
ERRORS = sorted((GOLDEN / "errors").glob("*.case"))


def sections(text: str) -> dict[str, str]:
    parts = re.split(r"^--- (\w+)\n", "--- source\n" + text, flags=re.M)
    return dict(zip(parts[1::2], parts[2::2]))


def infer(case: dict[str, str]) -> str:
    source, name = case["source"], "case.py"
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    space = {"__name__": "case"}
    try:
        exec(compile(source, name, "exec", dont_inherit=True), space)
        mode = case.get("mode", "weak").strip()
        options = {"procedure": "kernel" in case, "ignore_errors": "ignore" in case}
        return "--- typed\n" + _dump_typed(space["f"], case["signature"].strip(), mode, **options)
    except errors.LanewiseError as problem:
        return f"--- error\n{type(problem).__name__}: {problem}\n"
    finally:
        del linecache.cache[name]


@pytest.mark.distinct_cases
@pytest.mark.parametrize("path", TYPED + ERRORS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_golden(path, bless):
    text = path.read_text(encoding="utf-8")
    head = re.split(r"^--- (?:typed|error)\n", text, maxsplit=1, flags=re.M)[0]
    found = head + infer(sections(head))
    if bless:
        path.write_text(found, encoding="utf-8")
    assert found == text


def test_there_are_golden_files():
    assert len(TYPED) >= 25 and len(ERRORS) >= 30


@pytest.mark.parametrize("path", ERRORS, ids=lambda path: path.stem)
def test_errors_are_short_and_placed(path):
    """A code, a position, no internal name, at most 12 lines; the file's name tells the code."""
    case = sections(path.read_text(encoding="utf-8"))
    message = case["error"]
    assert len(message.splitlines()) <= 12
    assert re.search(r"^\w+Error: E\d{3}: ", message)
    assert re.search(r"--> case\.py:\d+:\d+ in `", message)
    assert "^" in message
    assert not re.search(r"\b(?:lw_|LW_|STATIC|BOTTOM)\b", message)
    code = re.match(r"E\d{3}", path.stem)
    assert code is None or code.group() in message


@pytest.mark.parametrize("path", TYPED, ids=lambda path: path.stem)
def test_both_modes_have_an_answer(path):
    """What weak mode takes, numba mode takes too, or says why not."""
    case = sections(path.read_text(encoding="utf-8"))
    case["mode"] = "numba"
    assert infer(case).startswith(("--- typed", "--- error"))

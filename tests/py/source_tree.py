"""The source tree as the repository's tests see it."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def files() -> list[str]:
    """Every file of the repository, without what is built or ignored; "a/b.c"."""
    command = ["git", "-C", str(ROOT), "ls-files", "--cached", "--others", "--exclude-standard"]
    try:
        listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):  # an unpacked source archive
        skipped = re.compile(r"^(build[^/]*|\.venv[^/]*|dist|demo-output|\.git)/|__pycache__|\.so$")
        found = (str(path.relative_to(ROOT)) for path in ROOT.rglob("*") if path.is_file())
        return sorted(name for name in found if not skipped.search(name))
    return sorted(name for name in set(listed.splitlines()) if (ROOT / name).is_file())


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def built(list_name: str) -> tuple[str, ...]:
    """The folders in this list of CMakeLists.txt."""
    named = re.findall(rf"^ *(?:set\(|list\(APPEND ){list_name}\s+([^)]*)\)", read("CMakeLists.txt"), re.M)
    return tuple(" ".join(named).split())


#: The folders of the doors. CMakeLists.txt has the one list of them, and of all folders.
DOORS = built("LW_MIXED")
#: Folders whose C files make up the extension.
SOURCE = (*built("LW_PURE"), *DOORS, *built("LW_PYTHON"))


def without_comments(text: str) -> str:
    """C text with comments blanked; strings stay, line numbers too."""
    token = re.compile(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|/\*.*?\*/|//[^\n]*', re.S)

    def blank(match: re.Match[str]) -> str:
        found = match[0]
        return re.sub(r"[^\n]", " ", found) if found.startswith("/") else found

    return token.sub(blank, text)


def rows(table: str, macro: str) -> list[list[str]]:
    """The rows of core/tables/<table>.def as lists of stripped fields; strings keep their quotes."""
    found = []
    text = without_comments(read(f"core/tables/{table}.def"))
    for match in re.finditer(rf"^{macro}\(", text, re.M):
        found.append(fields(text, match.end()))
    return found


def fields(text: str, at: int) -> list[str]:
    """Split what follows an opening parenthesis, up to its partner, at top-level commas."""
    parts, start, depth = [], at, 0
    while True:
        if at >= len(text):
            raise ValueError("a row whose parenthesis is never closed")
        char = text[at]
        if char in "\"'":
            at = text.index(char, at + 1)
            while text[at - 1] == "\\":
                at = text.index(char, at + 1)
        elif char in "([{":
            depth += 1
        elif char in ")]}" and depth:
            depth -= 1
        elif char == "," and not depth or char == ")":
            parts.append(text[start:at].strip())
            start = at + 1
            if char == ")":
                return parts
        at += 1

"""Places in files as errors show them: in cells of notebooks by the cell's number, `In [3], line 2`, as IPython's own tracebacks have
it, and in functions that came by pickles by the file and the line that they were defined at, in whatever process and on whatever machine.
"""

from __future__ import annotations

import re
import sys
from typing import Any

_CELL = r"<ipython-input-\d+-[0-9a-f]+>|[^\s`'\"]*[/\\]ipykernel_\d+[/\\]\d+\.py|<lanewise [^<>]+ [0-9a-f]+>|<lanewise <lambda> [0-9a-f]+>"

#: By the name of a text that came by a pickle: the file that it is of, and the number of its first line there.
_origins: dict[str, tuple[str, int]] = {}


def name_places(text: str) -> str:
    """The text of an error with the cells' numbers in place of the names of files that IPython gave them, and with the files that
    pickled functions come from."""
    def named(found: re.Match[str]) -> str:
        if found[1] in _origins:
            file, line = origin_of((found[1], int(found[2] or 1)))
            return found[0] if file in _origins else name_places(f"{file}:{line}" + (f":{found[3]}" if found[3] else ""))
        number = _number(found[1])
        if number is None:
            return found[0]
        return f"In [{number}]" + (f", line {found[2]}" if found[2] else "") + (f", column {found[3]}" if found[3] else "")

    return re.sub(rf"({_CELL})(?::(\d+))?(?::(\d+))?", named, text)


def place_of(function: Any) -> str:
    """The file and the line in which a function is defined; "" if it has no code of Python's."""
    code = getattr(function, "__code__", None)
    return name_places(f"{code.co_filename}:{code.co_firstlineno}") if code is not None else ""


def _number(file: str) -> int | None:
    given = re.match(r"<ipython-input-(\d+)-", file)
    if given:
        return int(given[1])
    ipython: Any = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    number = getattr(getattr(shell, "compile", None), "_filename_map", {}).get(file)
    return number if isinstance(number, int) else None


# ---- functions that came by pickles ----


def origin_of(place: tuple[str, int]) -> tuple[str, int]:
    """The file and the line that a place in such a text was at; other places as they are."""
    file, line = place
    if file not in _origins:
        return place
    found, first = _origins[file]
    return found, first + line - 1


def keep_origin(filename: str, file: str | None, line: int) -> None:
    """filename: what the text is called here. file: where it is from, or None where that is not known."""
    if file is not None:
        _origins[filename] = file, line


def origin_of_function(function: Any, source: str) -> tuple[str | None, int]:
    """The file of a function, and the number of the line there with which its text begins; a text begins behind the decorators."""
    import linecache

    code = function.__code__
    if code.co_filename in _origins:
        return _origins[code.co_filename]
    if not source:
        return None, 1
    begin = source.strip().partition("\n")[0].strip()
    for line in range(code.co_firstlineno, code.co_firstlineno + 100):
        if begin in linecache.getline(code.co_filename, line):
            return code.co_filename, line
    return code.co_filename, code.co_firstlineno

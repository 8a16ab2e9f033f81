"""Places in cells of notebooks by the cell's number: `In [3], line 2`, as IPython's own tracebacks have it."""

from __future__ import annotations

import re
import sys
from typing import Any

_CELL = r"<ipython-input-\d+-[0-9a-f]+>|[^\s`'\"]*[/\\]ipykernel_\d+[/\\]\d+\.py"


def name_cells(text: str) -> str:
    """The text of an error with the cells' numbers in place of the names of files that IPython gave them."""
    def named(found: re.Match[str]) -> str:
        number = _number(found[1])
        if number is None:
            return found[0]
        return f"In [{number}]" + (f", line {found[2]}" if found[2] else "") + (f", column {found[3]}" if found[3] else "")

    return re.sub(rf"({_CELL})(?::(\d+))?(?::(\d+))?", named, text)


def _number(file: str) -> int | None:
    given = re.match(r"<ipython-input-(\d+)-", file)
    if given:
        return int(given[1])
    ipython: Any = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    number = getattr(getattr(shell, "compile", None), "_filename_map", {}).get(file)
    return number if isinstance(number, int) else None

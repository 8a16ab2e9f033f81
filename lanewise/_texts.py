"""Program texts that lanewise writes or receives: kept under a name by which tracebacks, `inspect` and the compiler find their lines."""

from __future__ import annotations

import linecache
from typing import Any


def keep(text: str, filename: str) -> None:
    """Makes the lines of the text those of the file."""
    linecache.cache[filename] = (len(text), None, text.splitlines(True), filename)


def run(text: str, filename: str, scope: dict[str, Any]) -> dict[str, Any]:
    """Runs the text with these globals, and returns them."""
    keep(text, filename)
    exec(compile(text, filename, "exec"), scope)
    return scope

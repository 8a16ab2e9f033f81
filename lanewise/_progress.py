"""progress= of calls on host arrays: a bar of tqdm where it is installed, else a line, or the user's function."""

from __future__ import annotations

import sys
import time
from typing import Any, Callable


def reporter(value: Any, total: int, name: str) -> Any:
    """For core/py/progress.c: something with tell(done), some times a second, and end(good), once."""
    name = name.strip("_")  # of lanewise's own operators
    if value is True or type(value).__name__ in ("bool", "bool_") and type(value).__module__ == "numpy":
        try:
            from tqdm.auto import tqdm
        except ImportError:
            return _Line(total, name)
        return _Bar(tqdm, total, name)
    if callable(value):
        return _Function(value, total)
    raise TypeError(f"progress= must be True, False, None or a function of (done, total), not {value!r:.200}")


class _Function:
    """The last call, with done == total, says that all is done; it is not made if the work has failed."""

    def __init__(self, function: Callable[[int, int], object], total: int) -> None:
        self.function, self.total = function, total

    def tell(self, done: int) -> None:
        self.function(done, self.total)

    def end(self, good: bool) -> None:
        if good:
            self.function(self.total, self.total)


class _Bar:
    def __init__(self, tqdm: Any, total: int, name: str) -> None:
        self.bar = tqdm(total=total, desc=name, unit_scale=True, delay=0.1)
        self.total = total

    def tell(self, done: int) -> None:
        self.bar.update(done - self.bar.n)

    def end(self, good: bool) -> None:
        if good:
            self.tell(self.total)
        self.bar.close()


class _Line:
    """`saxpy: 42 %, 3 s`, written over itself on a terminal; to a file, a line every ten seconds."""

    def __init__(self, total: int, name: str) -> None:
        self.total, self.name = total, name
        self.began = self.said = time.monotonic()
        self.over = sys.stderr is not None and sys.stderr.isatty()

    def _say(self, text: str, end: str) -> None:
        if sys.stderr is not None:
            print(("\r" if self.over else "") + text, end=end, file=sys.stderr, flush=True)

    def tell(self, done: int) -> None:
        now = time.monotonic()
        if now - self.said < (0.1 if self.over else 10):
            return
        self.said = now
        self._say(f"{self.name}: {100 * done // max(self.total, 1):3d} %, {now - self.began:.0f} s ", "" if self.over else "\n")

    def end(self, good: bool) -> None:
        if good or self.said != self.began:
            self._say(f"{self.name}: {'100 %' if good else 'ended early'}, {time.monotonic() - self.began:.1f} s ", "\n")

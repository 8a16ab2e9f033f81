"""Slices in compiled code. Compiled, never called: `slice` in a function is this class (core/front/read/slice.c), and slices of
Python are its objects."""

from __future__ import annotations

from dataclasses import dataclass


def _clipped(bound, n, lower, upper):
    if bound < 0:
        return max(bound + n, lower)
    return min(bound, upper)


@dataclass(frozen=True)
class slice:  # noqa: A001 - messages show the name
    start: object
    stop: object
    step: object

    def indices(self, n):
        if n < 0:
            raise ValueError("length should not be negative")
        step = 1 if self.step is None else self.step
        if step == 0:
            raise ValueError("slice step cannot be zero")
        lower = 0 if step > 0 else -1
        upper = n if step > 0 else n - 1
        if self.start is None:
            start = lower if step > 0 else upper
        else:
            start = _clipped(self.start, n, lower, upper)
        if self.stop is None:
            stop = upper if step > 0 else lower
        else:
            stop = _clipped(self.stop, n, lower, upper)
        return start, stop, step

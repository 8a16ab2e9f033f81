"""NumPy's functions of the rows of host arrays, in several threads: for functions that work without the GIL most of their time.

The rows are cut into parts, of which each is a call. Such a function gives each row what it gives it alone, so results depend neither
on the parts nor on the number of threads.
"""

from __future__ import annotations

import contextvars
import math
import threading
from typing import Any, Callable

import numpy as np

import lanewise as lw

_LEAST = 1 << 16  # elements of a part: NumPy takes a millisecond to select among them, a thread starts in less than a tenth of it
_MOST = 1 << 20
_PARTS = 4  # for each thread, as some cores are slower than others

_busy = threading.Lock()  # threads of one call at a time: those of a program that has its own have enough to do


def of_rows(f: Callable[[Any], Any], rows: Any) -> Any:
    """f(rows), of an array whose last axis f reduces to any number of axes, or to none, and whose other axes f keeps as the first ones."""
    cut = max(range(rows.ndim - 1), key=lambda axis: rows.shape[axis], default=None)
    if cut is None or rows.size < 2 * _LEAST:
        return f(rows)
    length, n = rows.shape[cut], lw.get_num_threads()
    count = min(length, rows.size // _LEAST, max(_PARTS * n, rows.size // _MOST))
    if n < 2 or count < 2 or not _busy.acquire(blocking=False):
        return f(rows)
    try:
        before = (slice(None),) * cut
        parts = [rows[before + (slice(length * i // count, length * (i + 1) // count),)] for i in range(count)]
        return np.concatenate(_each(f, parts, min(n, count)), axis=cut)
    finally:
        _busy.release()


def _each(f: Callable[[Any], Any], parts: list[Any], n: int) -> list[Any]:
    """f of each part, in n threads, of which this is one. The error of the first part that raised one, of those that were begun."""
    results: list[Any] = [None] * len(parts)
    errors: list[tuple[float, BaseException]] = []
    lock, left = threading.Lock(), iter(range(len(parts)))

    def work() -> None:
        at: float = math.inf
        try:
            while not errors:
                with lock:
                    at = next(left, math.inf)
                if at == math.inf:
                    break
                results[int(at)] = f(parts[int(at)])
        except BaseException as error:  # KeyboardInterrupt, too, which ends the others
            errors.append((at, error))

    threads = [threading.Thread(target=contextvars.copy_context().run, args=(work,), daemon=True) for _ in range(n - 1)]
    try:
        for thread in threads:
            thread.start()
        work()
        for thread in threads:
            thread.join()
    except BaseException as error:
        errors.append((-1.0, error))  # the others end after their part
        raise
    if errors:
        raise min(errors, key=lambda one: one[0])[1]
    return results

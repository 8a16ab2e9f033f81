"""Python functions that run when a stream has come to a place: numba's `Stream.add_callback` and
`async_done`. A thread of the host waits, so that the stream never waits for Python."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from typing import Any

from lanewise import errors

_last: weakref.WeakKeyDictionary[Any, threading.Thread] = weakref.WeakKeyDictionary()
_lock = threading.Lock()


def add_callback(stream: Any, callback: Callable[[Any, int, Any], object], arg: Any = None) -> None:
    """Call callback(stream, status, arg) when the work given so far is done; status: 0, or CUDA's number of an error.

    The callbacks of a stream run one after the other.
    """
    if not callable(callback):
        raise TypeError(f"callback: expected a function, got {type(callback).__name__}")
    event = stream.record()

    def wait(before: threading.Thread | None) -> None:
        status = 0
        try:
            event.synchronize()
        except errors.DriverError as problem:
            status = int(getattr(problem, "code", -1))
        if before is not None:
            before.join()
        callback(stream, status, arg)

    with _lock:
        thread = threading.Thread(target=wait, args=(_last.get(stream),), name="lanewise stream callback")
        thread.start()
        _last[stream] = thread


def async_done(stream: Any) -> Any:
    """An asyncio future that is done, with the stream, when the work given so far is."""
    import asyncio

    loop = asyncio.get_running_loop()
    future = loop.create_future()

    def resolve(status: int) -> None:
        if future.cancelled():
            return
        if status:
            future.set_exception(errors.DriverError(f"the stream's work failed with CUDA's error {status}"))
        else:
            future.set_result(stream)

    add_callback(stream, lambda _stream, status, _arg: loop.call_soon_threadsafe(resolve, status))
    return future

"""The threads of a grid, run as plain Python: one after the other, in the order of their numbers.

Where no thread waits for another, each runs to its end in the calling thread. Else each is a thread of
Python, of which one runs at a time: until it ends or waits, and then the next one. So results are the same
on every run, and a debugger sees one thread move.
"""

from __future__ import annotations

import ctypes
import dis
import itertools
import sys
import threading
import types
from typing import Any

import numpy as np

from lanewise import errors

WARP = 32
# What threads wait in: where a function names none of these, its threads run in the calling thread.
WAITING = frozenset((
    "syncthreads", "syncthreads_count", "syncthreads_and", "syncthreads_or", "syncwarp", "shfl_sync", "shfl_up_sync",
    "shfl_down_sync", "shfl_xor_sync", "all_sync", "any_sync", "eq_sync", "ballot_sync", "match_any_sync",
    "match_all_sync", "this_grid", "nanosleep", "threadfence", "threadfence_block", "threadfence_system",
))

_local = threading.local()


class Block:
    """One block of the grid: its place, and its shared memory by the line that asks for it."""

    def __init__(self, index, grid, shape, shared_bytes) -> None:
        self.index, self.grid, self.shape = index, grid, shape
        self.shared: dict = {}
        self.dynamic = np.full(shared_bytes, 0xCD, np.uint8)
        self.threads: list[Thread] = []


class Thread:
    """One thread: where it is, and what it waits for."""

    def __init__(self, block, index) -> None:
        self.block, self.index = block, index
        self.number = index[0] + block.shape[0] * (index[1] + block.shape[1] * index[2])
        self.warp, self.lane = divmod(self.number, WARP)
        self.runner: _Runner | None = None
        self.ident = 0  # of the thread of Python
        self.done = False
        self.waits: Any = None  # or (kind, name, payload)
        self.answer = None
        self.go = threading.Semaphore(0)

    def meet(self, kind, name, payload=None):
        """Wait for the others of the block, the warp (kind is its mask, then) or the grid."""
        if self.runner is None:
            raise errors.KernelError(f"cuda.{name} was reached in a way that target=\"python\" did not see: "
                                     "name it in the kernel, or in a function that the kernel names")
        return self.runner.wait(self, (kind, name, payload))


def current() -> Thread | None:
    """The thread of a grid that runs in this thread of Python."""
    return getattr(_local, "thread", None)


def run(function, grid, block, shared_bytes, args, kwargs) -> None:
    """All threads of a grid."""
    names = _names(function, set())
    blocks = (Block(place[::-1], grid, block, shared_bytes) for place in np.ndindex(*grid[::-1]))
    if not names & WAITING:
        _run_alone(function, blocks, args, kwargs)
    elif "this_grid" in names:
        _Runner(function, list(blocks), args, kwargs).run()
    else:
        for one in blocks:
            _Runner(function, [one], args, kwargs).run()


def _names(function, seen: set) -> set:
    """The names that a function uses, and those that it calls."""
    function = getattr(function, "py_func", function)
    function = getattr(function, "__func__", function)
    if not isinstance(function, types.FunctionType) or function in seen:
        return set()
    seen.add(function)
    names: set = set()
    codes = [function.__code__]
    for code in codes:
        names |= {i.argval for i in dis.get_instructions(code) if isinstance(i.argval, str) and i.opname.startswith(("LOAD", "STORE"))}
        codes += [c for c in code.co_consts if isinstance(c, types.CodeType)]
    cells = [c.cell_contents for c in function.__closure__ or () if _is_full(c)]
    values = [*cells, *(function.__globals__[name] for name in list(names) if name in function.__globals__)]
    for value in values:
        if type(value).__name__ == "Intrinsic":  # under another name: from lanewise.cuda import syncthreads as wait
            names.add(value.__name__)
        elif isinstance(value, types.ModuleType) and not value.__name__.startswith(("lanewise", "numpy")):
            for name in list(names):
                names |= _names(getattr(value, name, None), seen)
        else:
            names |= _names(value, seen)
    return names


def _is_full(cell) -> bool:
    try:
        cell.cell_contents
    except ValueError:
        return False
    return True


def _fill(block) -> list[Thread]:
    block.threads = [Thread(block, place[::-1]) for place in np.ndindex(*block.shape[::-1])]
    return block.threads


def _run_alone(function, blocks, args, kwargs) -> None:
    before = current()
    try:
        for block in blocks:
            for thread in _fill(block):
                _local.thread = thread
                try:
                    function(*args, **kwargs)
                except Exception as problem:
                    _note(problem, thread)
                    raise
    finally:
        _local.thread = before


def _note(problem, thread) -> None:
    if hasattr(problem, "add_note"):  # from Python 3.11 on
        problem.add_note(f"tid={list(thread.index)} ctaid={list(thread.block.index)}")


class _Stop(BaseException):
    """Ends the threads that are left when one has failed."""


class _Runner:
    def __init__(self, function, blocks, args, kwargs) -> None:
        self.call = lambda: function(*args, **kwargs)
        self.blocks = blocks
        self.threads = list(itertools.chain.from_iterable(map(_fill, blocks)))
        self.back = threading.Semaphore(0)
        self.problem: BaseException | None = None
        self.stopping = False
        self.trace = sys.gettrace()  # of a debugger, which sees the threads as it sees the caller

    def run(self) -> None:
        started: list[Thread] = []
        try:
            while not all(thread.done for thread in self.threads):
                self._run_ready(started)
        finally:
            self._stop(started)

    def _run_ready(self, started) -> None:
        """Each thread that waits for nothing, until it ends or waits."""
        moved = False
        for thread in self.threads:
            if thread.done or thread.waits is not None:
                continue
            moved = True
            if thread.runner is None:
                thread.runner = self
                started.append(thread)
                threading.Thread(target=self._main, args=(thread,), daemon=True).start()
            thread.go.release()
            self._await(thread)
            if self.problem is not None:
                raise self.problem
        if not self._let_go() and not moved:
            raise errors.KernelError(self._stuck())

    def _await(self, thread) -> None:
        """Until the thread ends or waits. Ctrl-C, which only the main thread notices, is raised where it runs."""
        try:
            self.back.acquire()
        except BaseException as interrupt:
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident), ctypes.py_object(type(interrupt)))
            while not self.back.acquire(timeout=0.1) and not thread.done and thread.waits is None:
                pass
            if self.problem is None:
                raise

    def _main(self, thread) -> None:
        thread.ident = threading.get_ident()
        thread.go.acquire()
        _local.thread = thread
        if self.trace is not None and sys.gettrace() is None:
            sys.settrace(self.trace)
        try:
            if not self.stopping:
                with np.errstate(all="ignore"):
                    self.call()
        except _Stop:
            pass
        except BaseException as problem:
            if isinstance(problem, Exception):
                _note(problem, thread)
            self.problem = problem
        thread.done = True
        self.back.release()

    def _stop(self, started) -> None:
        self.stopping = True
        for thread in started:
            if not thread.done:
                thread.go.release()
                self.back.acquire()

    def wait(self, thread, what):
        thread.waits = what
        self.back.release()
        thread.go.acquire()
        if self.stopping:
            raise _Stop
        return thread.answer

    # Who may go on.

    def _let_go(self) -> bool:
        waiting = [t for t in self.threads if t.waits is not None]
        alive = [t for t in self.threads if not t.done]
        moved = self._free([t for t in waiting if t.waits[0] == "thread"])
        waiting = [t for t in waiting if t.waits is not None]
        if waiting and len(waiting) == len(alive) and all(t.waits[0] == "grid" for t in waiting):
            moved = self._free(waiting) or moved
        for block in self.blocks:
            alive = [t for t in block.threads if not t.done]
            kinds = {t.waits[:2] if t.waits else None for t in alive}
            if len(kinds) == 1 and None not in kinds and alive[0].waits[0] == "block":
                moved = self._free(alive) or moved
                continue
            for _warp, lanes in itertools.groupby(block.threads, key=lambda t: t.warp):
                moved = self._let_warp_go(list(lanes)) or moved
        return moved

    def _let_warp_go(self, lanes) -> bool:
        moved = False
        for thread in lanes:
            if thread.done or thread.waits is None or not isinstance(thread.waits[0], int):
                continue
            mask = thread.waits[0]
            named = [t for t in lanes if mask >> t.lane & 1 and not t.done]
            if all(t.waits is not None and t.waits[:2] == thread.waits[:2] for t in named):
                moved = self._free(named) or moved
        return moved

    def _free(self, threads) -> bool:
        if threads:
            from lanewise._python_intrinsics import answers

            try:
                found = answers(threads[0].waits[1], {t.lane if isinstance(t.waits[0], int) else i: t.waits[2]
                                                      for i, t in enumerate(threads)})
            except Exception as problem:
                _note(problem, threads[0])
                raise
            for i, thread in enumerate(threads):
                thread.answer = found[thread.lane if isinstance(thread.waits[0], int) else i]
                thread.waits = None
        return bool(threads)

    def _stuck(self) -> str:
        places: dict[str, Thread] = {}
        for thread in self.threads:
            if thread.waits is not None:
                places.setdefault(thread.waits[1], thread)
        shown = ", ".join(f"thread {t.index} of block {t.block.index} in cuda.{name}" for name, t in places.items())
        return f"threads wait for other threads of their block or warp, which do not reach the same call: {shown}"

"""``lanewise.profile()``: what compiled functions cost, from where the calls enter (core/py/compiled/entry.c)."""

from __future__ import annotations

import html
import json
import os
import threading
from typing import Any

import numpy as np

from lanewise import _core

# As lw_profile_event and lw_profile_totals of core/base/profile.h lie in memory.
_EVENT = np.dtype([("start_ns", "i8"), ("duration_ns", "i8"), ("bytes", "i8"), ("row", "u4"), ("thread", "u4"), ("kind", "u4"), ("target", "u4")])
_TOTALS = np.dtype([(name, "i8") for name in ("calls", "failed", "kernels", "compile_ns", "call_ns", "kernel_ns", "bytes")])
_TARGETS = ("cpu", "cuda", "python")
_CALL, _COMPILE, _KERNEL = range(3)
_COLUMNS = ("function", "decorator", "target", "calls", "compile ms", "run ms", "run µs/call", "bytes", "GB/s")
_OUTSIDE = "(outside of calls)"


class Table(str):
    """The table of a profile: text, which notebooks show as a table. `rows` has the numbers."""

    rows: list[dict[str, Any]]

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return _html_table(self.rows)


class profile:
    """A context manager that measures the calls of compiled functions inside its block, in all threads of the process.

    For each function and target, it counts the calls and measures how long they compiled, how long they ran, and how
    many bytes of arrays they received and returned. On a GPU, the time is that of the kernels, measured by events of
    the driver; the end of the block waits for them. Outside of the block nothing is measured.

    nvtx: whether the calls are also shown as ranges in NVIDIA's profilers; with None, they are if the NVTX library is found.

    >>> import numpy as np, lanewise as lw
    >>> @lw.vectorize
    ... def halve(x):
    ...     return x / 2
    >>> with lw.profile() as p:
    ...     y = halve(np.arange(4.0))
    >>> [(row["function"], row["target"], row["calls"], row["bytes"]) for row in p.table().rows]
    [('halve', 'cpu', 1, 64)]
    """

    def __init__(self, *, nvtx: bool | None = None) -> None:
        if nvtx not in (None, False, True):
            raise TypeError(f"nvtx= must be True, False or None, not {nvtx!r}")
        self._nvtx = nvtx
        self._open = False
        self._kept: tuple[Any, ...] | None = None
        self.ranges = False  #: whether calls are ranges of NVIDIA's

    def __enter__(self) -> profile:
        if self._open:
            raise RuntimeError("this profile is open already")
        self.ranges = self._nvtx is not False and _start_ranges(self._nvtx is True)
        _core._profile_begin()
        self._open = True
        self._kept = None
        self._first = _core._profile_n_events()
        _, self._before = _read(self._first)[:2]
        import time

        self._began_ns = time.monotonic_ns()
        return self

    def __exit__(self, *_: object) -> None:
        self._kept = self._now()
        self._open = False
        _core._profile_end()
        if self.ranges:
            _stop_ranges()

    def _now(self) -> tuple[Any, ...]:
        rows, totals, events, lost = _read(self._first)
        since = totals.copy()
        for name in _TOTALS.names or ():
            since[name][: len(self._before)] -= self._before[name]
        names = [_describe(of, method) for of, method in rows]
        return names, since, events, lost, {t.native_id: t.name for t in threading.enumerate()}

    def _data(self) -> tuple[Any, ...]:
        if self._kept is not None:
            return self._kept
        if not self._open:
            raise RuntimeError("the profile has no results: its block, `with lw.profile() as p:`, has not begun")
        return self._now()

    def table(self) -> Table:
        """Return a table of the calls, the time to compile and to run, and the bytes of each function and target.

        The function with the most time comes first. The table is a str. Its attribute `rows` is a list of dicts with the
        keys function, place, decorator, target, calls, failed, kernels, compile_s, run_s, call_s and bytes. call_s is the
        time of the calls without compiling. run_s is the same on the CPU, and the time of the kernels on a GPU.
        """
        names, totals, *_ = self._data()
        rows = []
        for at, (name, place, decorator) in enumerate(names):
            for target, sums in zip(_TARGETS, totals[at]):
                n = {field: int(sums[field]) for field in _TOTALS.names or ()}
                if not (n["calls"] or n["kernels"] or n["compile_ns"]):
                    continue
                run = n["kernel_ns"] if target == "cuda" else n["call_ns"]
                rows.append({"function": name, "place": place, "decorator": decorator, "target": target, "calls": n["calls"],
                             "failed": n["failed"], "kernels": n["kernels"], "compile_s": n["compile_ns"] * 1e-9, "run_s": run * 1e-9,
                             "call_s": n["call_ns"] * 1e-9, "bytes": n["bytes"]})
        rows.sort(key=lambda row: -(row["compile_s"] + max(row["run_s"], row["call_s"])))
        table = Table(_text_table(rows))
        table.rows = rows
        return table

    def trace(self, path: str | os.PathLike[str]) -> None:
        """Write a file in Chrome's trace format, which https://ui.perfetto.dev and chrome://tracing show.

        Each thread is a track with its calls and compilations, and each GPU is a track with its kernels. Times count
        from the beginning of the profile.
        """
        names, _, events, lost, threads = self._data()
        base = self._began_ns
        tracks = {(1, int(thread)) for thread in events["thread"][events["kind"] != _KERNEL]}
        tracks |= {(2, int(device)) for device in events["thread"][events["kind"] == _KERNEL]}
        out: list[dict[str, Any]] = [{"ph": "M", "name": "process_name", "pid": pid, "args": {"name": name}}
                                     for pid, name in ((1, "host"), (2, "GPU")) if any(track[0] == pid for track in tracks)]
        for pid, tid in sorted(tracks):
            label = f"GPU {tid}" if pid == 2 else threads.get(tid, f"thread {tid}")
            out.append({"ph": "M", "name": "thread_name", "pid": pid, "tid": tid, "args": {"name": label}})
        for start, duration, n_bytes, row, thread, kind, target in events.tolist():
            name, place, decorator = names[row] if row < len(names) else (_OUTSIDE, "", "")
            details: dict[str, Any] = {"decorator": decorator, "place": place}
            if kind == _CALL:
                details |= {"target": _TARGETS[target], "bytes": n_bytes}
            out.append({"ph": "X", "name": f"compile {name}" if kind == _COMPILE else name, "cat": ("call", "compile", "kernel")[kind],
                        "pid": 2 if kind == _KERNEL else 1, "tid": thread, "ts": (start - base) / 1e3, "dur": duration / 1e3, "args": details})
        document = {"traceEvents": out, "displayTimeUnit": "ms",
                    "otherData": {"lanewise": _core.__version__, "events lost": lost}}
        with open(path, "w", encoding="utf-8") as file:
            json.dump(document, file)

    def __repr__(self) -> str:
        """The table, once the block has ended."""
        return "<lanewise.profile, open>" if self._open else "<lanewise.profile>" if self._kept is None else str(self.table())

    def _repr_html_(self) -> str | None:
        return self.table()._repr_html_() if self._open or self._kept is not None else None


# ---- what was measured ----


def _read(first: int) -> tuple[Any, ...]:
    rows, totals, events, lost = _core._profile_read(first)
    return rows, np.frombuffer(totals, _TOTALS).reshape(-1, len(_TARGETS)), np.frombuffer(events, _EVENT), lost


def _describe(of: Any, method: str | None) -> tuple[str, str, str]:
    """Name, file:line and decorator of a row."""
    from lanewise._html import generator_of
    from lanewise._places import place_of

    if of is None:
        return _OUTSIDE, "", ""
    name = name_of(of)
    place = place_of(getattr(of, "py_func", None))
    if name == "<lambda>" and place:
        name = f"<lambda> ({os.path.basename(place)})"
    return (f"{name}.{method}" if method else name), place, generator_of(of)


def name_of(of: Any) -> str:
    """Of an object that is called."""
    name = getattr(of, "__name__", None) or "?"
    function = getattr(of, "py_func", None) if isinstance(of, _core.Reduction) else None
    made_here = getattr(function, "__module__", None) in ("lanewise.reductions", "lanewise._nan_reductions")
    return "reductions." + name.lstrip("_") if made_here else name


# ---- tables ----


def _cells(row: dict[str, Any]) -> list[str]:
    run = row["run_s"]
    return [row["function"], row["decorator"], row["target"], str(row["calls"]), f"{1e3 * row['compile_s']:.2f}", f"{1e3 * run:.2f}",
            f"{1e6 * run / row['calls']:.1f}" if row["calls"] else "", _bytes(row["bytes"]),
            f"{row['bytes'] / run / 1e9:.1f}" if run > 0 and row["bytes"] else ""]


def _bytes(n: float) -> str:
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if n < 1024 or unit == "TiB":
            return f"{n:.0f} {unit}" if unit == "B" else f"{n:.1f} {unit}"
        n /= 1024
    raise AssertionError


def _text_table(rows: list[dict[str, Any]]) -> str:
    cells = [list(_COLUMNS)] + [_cells(row) for row in rows]
    widths = [max(len(line[i]) for line in cells) for i in range(len(_COLUMNS))]
    return "\n".join("  ".join(cell.ljust(width) if i < 3 else cell.rjust(width) for i, (cell, width) in enumerate(zip(line, widths))).rstrip()
                     for line in cells)


def _html_table(rows: list[dict[str, Any]]) -> str:
    from lanewise._html import table

    return table(_COLUMNS, [[html.escape(cell) for cell in _cells(row)] for row in rows], n_left=3,
                 titles=[f"{row['place']}: {row['kernels']} kernels, {row['failed']} calls failed" for row in rows])


# ---- NVIDIA's ranges ----

_LIBRARIES = ("libnvToolsExt.so.1", "libnvtx3interop.so.1", "libnvToolsExt.so", "libnvtx3interop.so")
_ranges_lock = threading.Lock()
_n_ranges = 0


def _start_ranges(wanted: bool) -> bool:
    global _n_ranges
    with _ranges_lock:
        if _n_ranges or any(_core._profile_ranges(path) for path in _library_paths()):
            _n_ranges += 1
            return True
    if wanted:
        raise RuntimeError(f"the NVTX library was not found: looked for {', '.join(_LIBRARIES[:2])} where the loader looks, and in the package nvidia-nvtx")
    return False


def _stop_ranges() -> None:
    global _n_ranges
    with _ranges_lock:
        _n_ranges -= 1
        if _n_ranges == 0:
            _core._profile_ranges(None)


def _library_paths() -> list[str]:
    """What the loader finds by itself, then the wheels of NVIDIA's."""
    import glob
    import sys

    found = list(_LIBRARIES)
    for folder in sys.path:
        for pattern in ("nvidia/nvtx/lib", "nvidia/cu*/lib"):
            for name in _LIBRARIES[:2]:
                found += glob.glob(os.path.join(folder, pattern, name))
    return found

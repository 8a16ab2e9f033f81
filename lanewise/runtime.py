"""Statistics of the memory of arrays that compiled functions create, and access to it for code in other languages.

    >>> import numpy as np, lanewise as lw
    >>> @lw.jit
    ... def f(x):
    ...     return np.sum(x * 2 + 1)
    >>> lw.runtime.memsys_enable_stats()
    >>> before = lw.runtime.get_allocation_stats()
    >>> total = f(np.ones(3))
    >>> after = lw.runtime.get_allocation_stats()
    >>> after.alloc - before.alloc == after.free - before.free
    True
    >>> lw.runtime.memsys_disable_stats()

Allocations are counted only while counting is enabled. By default, each function refers to the host and to all devices together, as programs
for numba expect; target="cpu" or target="cuda" selects one of them. A function that reads or changes the counting of devices waits for them.

C extensions obtain the functions of `lanewise_nrt.h` by `PyCapsule_Import("lanewise.runtime.NRT_api_functions", 0)`. CUDA C++ includes this
header; the object that holds the code needs nrt=True.
"""

import collections

from lanewise import _core
from lanewise._core import MemInfo
from lanewise._linking import NRT_INCLUDE

__all__ = [
    "MemInfo", "NRT_api_functions", "Stats", "get_allocation_stats", "get_include", "memsys_disable_stats", "memsys_enable_stats",
    "memsys_stats_enabled", "rtsys",
]

NRT_api_functions = _core._NRT_api_functions

Stats = collections.namedtuple("Stats", "alloc free mi_alloc mi_free")
Stats.__doc__ = "How often memory was allocated and freed, and how often a MemInfo, the record that holds a reference count, was created and destroyed."

_TARGETS = {"cpu": 1, "cuda": 2, None: 3}


def _targets(target):
    try:
        return _TARGETS[target]
    except (KeyError, TypeError):
        raise ValueError(f"target must be 'cpu', 'cuda' or None for both, not {target!r:.200}") from None


def get_include():
    """Return the folder of `lanewise_nrt.h`, a str, for compilers other than NVRTC.

    >>> import os
    >>> sorted(os.listdir(lw.runtime.get_include()))
    ['lanewise_nrt.h', 'nrt.cuh']
    """
    return NRT_INCLUDE


def memsys_enable_stats(*, target=None):
    """Start to count allocations. target: "cpu", "cuda" or None, which means both."""
    _core._runtime_count(_targets(target), True)


def memsys_disable_stats(*, target=None):
    """Stop counting. The numbers counted so far are kept."""
    _core._runtime_count(_targets(target), False)


def memsys_stats_enabled(*, target=None):
    """Return whether allocations are counted: with target=None, on the host and on all devices."""
    return _core._runtime_counts(_targets(target))


def get_allocation_stats(*, target=None):
    """Return what has been counted, a Stats. Raises RuntimeError while counting is disabled."""
    whom = _targets(target)
    if not _core._runtime_counts(whom):
        raise RuntimeError("NRT stats are disabled. Call lanewise.runtime.memsys_enable_stats() first")
    return Stats(*_core._runtime_stats(whom))


class _Runtime:
    """The object `rtsys`, for programs that use numba's. Its methods have the names and keywords of numba's, and `target=`.

    `stream` is accepted and ignored: the methods wait for all work on devices.
    """

    def ensure_allocated(self, stream=None):
        """Prepare the heap of the current device, if there is one, and what counts in it. Kernels do so by themselves."""
        from lanewise import cuda
        from lanewise.config import config

        if config.target != "cpu" and cuda.is_available():
            _core._runtime_prepare()

    ensure_initialized = allocate = initialize = ensure_allocated

    def close(self):
        """Stop counting, and discard the numbers."""
        memsys_disable_stats()
        _core._runtime_forget(_TARGETS[None])

    def memsys_enable_stats(self, stream=None, *, target=None):
        """Start to count allocations."""
        memsys_enable_stats(target=target)

    def memsys_disable_stats(self, stream=None, *, target=None):
        """Stop counting. The numbers counted so far are kept."""
        memsys_disable_stats(target=target)

    def memsys_stats_enabled(self, stream=None, *, target=None):
        """Return whether allocations are counted."""
        return memsys_stats_enabled(target=target)

    def get_allocation_stats(self, stream=None, *, target=None):
        """Return what has been counted, a Stats. Raises RuntimeError while counting is disabled."""
        return get_allocation_stats(target=target)

    def memsys_get_stats_alloc(self, stream=None, *, target=None):
        """How often memory was allocated."""
        return get_allocation_stats(target=target).alloc

    def memsys_get_stats_free(self, stream=None, *, target=None):
        """How often memory was freed."""
        return get_allocation_stats(target=target).free

    def memsys_get_stats_mi_alloc(self, stream=None, *, target=None):
        """How often a MemInfo was created."""
        return get_allocation_stats(target=target).mi_alloc

    def memsys_get_stats_mi_free(self, stream=None, *, target=None):
        """How often a MemInfo was destroyed."""
        return get_allocation_stats(target=target).mi_free

    def print_memsys(self, stream=None, *, target=None):
        """Print whether allocations are counted, and the numbers."""
        whom = _targets(target)
        numbers = Stats(*_core._runtime_stats(whom))
        enabled = _core._runtime_counts(whom)
        print(f"memsys: enabled={enabled}", *(f"{name}={number}" for name, number in zip(Stats._fields, numbers)))

    def __repr__(self):
        return "<lanewise.runtime.rtsys>"


rtsys = _Runtime()

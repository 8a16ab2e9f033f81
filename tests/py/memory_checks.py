"""Whether the memory that compiled functions allocate is freed."""

from __future__ import annotations

import gc

import lanewise as lw
from lanewise import runtime


def check_that_typed_containers_end(work, times):
    """Run the calls several times and check that all they allocate is freed, and that no container that Python knows stays."""
    work()
    gc.collect()
    known = len(lw.typed._known)
    runtime.memsys_enable_stats()
    try:
        before = runtime.rtsys.get_allocation_stats()
        for _ in range(times):
            work()
        gc.collect()
        after = runtime.rtsys.get_allocation_stats()
    finally:
        runtime.memsys_disable_stats()
    assert after.alloc - before.alloc == after.free - before.free > 100
    assert len(lw.typed._known) == known

"""Counting Python's blocks; it holds no test."""

from __future__ import annotations

import gc
import sys

# CPython's cache of attributes keeps the names it was asked for, 4,096 at most: what fills it is
# no leak, and takes thousands of rounds.
_forget = getattr(sys, "_clear_internal_caches", None) or sys._clear_type_cache


def n_blocks() -> int:
    """Blocks in use when all that can go has gone."""
    gc.collect()
    _forget()
    return sys.getallocatedblocks()

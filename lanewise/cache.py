"""The cache of compiled code on disk, with one file for each entry.

    >>> import lanewise as lw
    >>> sorted(lw.cache.info())[:3]
    ['cap_bytes', 'compiled', 'disk_bytes']
"""

from __future__ import annotations

from typing import Any

from lanewise import _core


def info() -> dict[str, Any]:
    """Folder, entries, bytes, and hits, compiles and failures of this process.

    ``problem`` says why the disk is not used, or is None.
    """
    return _core._cache_info()


def clear(memory_only: bool = False) -> None:
    """Forget every compiled kernel, in memory and (unless memory_only) on disk.

    Kernels that are in use continue to work. Raises OSError if the folder cannot be emptied.
    """
    _core._cache_clear(bool(memory_only))

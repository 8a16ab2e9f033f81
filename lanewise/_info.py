"""What was found on this machine: ``lanewise.info()`` and ``python -m lanewise info``."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import sys
from typing import Any

from lanewise import _core


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


def _cpu_name() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            for line in lines:
                if line.startswith("model name"):
                    return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or "unknown"


def _gpu() -> dict[str, Any]:
    from lanewise import config, cuda

    if config.target in ("cpu", "parallel"):
        return {"problem": f"not asked for: the setting target says {config.target!r}"}
    try:
        cuda.get_current_device()  # says what was looked for and where when there is none
        major, minor = divmod(_core._driver_version(), 1000)
        driver = {"driver": f"CUDA {major}.{minor // 10}, {_core._driver_path()}"}
        return driver | {f"device {d.id}": "{}, compute capability {}.{}, {:.1f} GiB".format(
            d.name, *d.compute_capability, d.total_memory / 2**30) for d in cuda.gpus}
    except Exception as problem:  # whatever is wrong with a driver belongs in the report
        return {"problem": str(problem)}


def info() -> dict[str, Any]:
    """Versions, where each library was looked for and found, devices, cache; never fails for
    something that is not there."""
    found = _core._toolchain_info()
    tried = found.pop("tried")
    return {
        "lanewise": _core.__version__,
        "python": sys.version.split()[0] + " " + sys.executable,
        "platform": platform.platform(),
        "numpy": _version("numpy"),
        "llvmlite": _version("llvmlite"),
        "cuda-pathfinder": _version("cuda-pathfinder"),
        "cpu": f"{_cpu_name()}, {len(os.sched_getaffinity(0))} cores, vectors of {_core._vector_bits} bits",
        "cuda libraries": found,
        "looked in": tried,
        "cuda driver": _gpu(),
        "cache": _core._cache_info(),
        "settings": {field: _core._setting_get(field) for field, *_ in _core._settings()},
    }


def report() -> str:
    """The same as text, for bug reports."""
    lines = []
    for key, value in info().items():
        if isinstance(value, dict):
            lines.append(f"{key}:")
            for name, item in value.items():
                if isinstance(item, tuple):  # (path, the kind of place it was found in, version)
                    path, place, version = item
                    item = f"{path} ({place}) {version}".rstrip() if path else "not found"
                lines.append(f"    {name:<16} {item}")
        else:
            text = str(value).rstrip().replace("\n", "\n    ")
            lines.append(f"{key:<16} {text}" if "\n" not in text else f"{key}:\n    {text}")
    return "\n".join(lines).encode("utf-8", "backslashreplace").decode()  # paths may be any bytes

"""What was found on this machine: ``lanewise.info()`` and ``python -m lanewise info``."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import sys
from typing import Any

from lanewise import _core


def version(package: str) -> str:
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


class Info(dict[str, Any]):
    """What lanewise.info() returns: a dict, which notebooks show as a table."""

    def _repr_html_(self) -> str:
        from html import escape

        from lanewise._html import pairs

        return pairs({name: escape(text) for name, text in short(self).items()}, "lanewise on this machine")


def info() -> Info:
    """Versions, where each library was looked for and found, devices, cache; never fails for
    something that is not there."""
    found = _core._toolchain_info()
    tried = found.pop("tried")
    return Info({
        "lanewise": _core.__version__,
        "python": sys.version.split()[0] + " " + sys.executable,
        "platform": platform.platform(),
        "numpy": version("numpy"),
        "llvmlite": version("llvmlite"),
        "cuda-pathfinder": version("cuda-pathfinder"),
        "cpu": f"{_cpu_name()}, {len(os.sched_getaffinity(0))} cores, vectors of {_core._vector_bits} bits",
        "cuda libraries": found,
        "looked in": tried,
        "cuda driver": _gpu(),
        "cache": _core._cache_info(),
        "settings": {field: _core._setting_get(field) for field, *_ in _core._settings()},
    })


def short(found: dict[str, Any]) -> dict[str, str]:
    """What one wants to know first."""
    driver = found["cuda driver"]
    gpus = [text for name, text in driver.items() if name.startswith("device ")]
    missing = [name for name, item in found["cuda libraries"].items() if isinstance(item, tuple) and not item[0]]
    cache, set_by_user = found["cache"], {field: found["settings"][field] for field, _, _, fallback, _ in _core._settings()
                                           if str(found["settings"][field]) != str(fallback)}
    return {
        "lanewise": found["lanewise"],
        "python": found["python"],
        "packages": f"numpy {found['numpy']}, llvmlite {found['llvmlite']}",
        "cpu": found["cpu"],
        "gpu": "; ".join(gpus) if gpus else "none: " + str(driver.get("problem", "no device")).split("\n")[0].split("; looked")[0],
        "cuda compiler": "not found: " + ", ".join(missing) if missing else "found",
        "cache": cache.get("problem") or f"{cache['folder']}, {cache['disk_entries']} kernels, {cache['disk_bytes'] / 2**20:.1f} MiB",
        "settings": ", ".join(f"{field}={value}" for field, value in set_by_user.items()) or "all as they are by default",
    }


def as_json(found: dict[str, Any]) -> str:
    """info() as JSON: a library is a dict of path, place and version."""
    import json

    libraries = {name: dict(zip(("path", "place", "version"), item)) if isinstance(item, tuple) else item
                 for name, item in found["cuda libraries"].items()}
    return json.dumps({**found, "cuda libraries": libraries}, indent=1, default=str)


def report(everything: bool = True) -> str:
    """The same as text; everything: for bug reports."""
    lines = []
    found = info()
    for key, value in found.items() if everything else short(found).items():
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

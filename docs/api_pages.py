"""Write the pages of the API reference: names from the modules, text from their docstrings."""

from __future__ import annotations

import importlib
import inspect
import re
from pathlib import Path

import lanewise as lw
from docstrings import escaped, own_signature

DECORATORS = ["vectorize", "guvectorize", "forall", "jit", "njit", "reduce", "cfunc"]
OBJECTS = ["Ufunc", "Gufunc", "Forall", "Kernel", "Reduction", "CFunc"]
LOOKING = ["explain", "verify", "profile", "compile", "info", "typeof", "from_dtype"]
HELPERS = ["prange", "literal_unroll", "set_num_threads", "get_num_threads", "get_thread_id", "carray", "farray", "local", "map_blocks"]
CUDA = {
    "Devices and contexts": ["is_available", "detect", "gpus", "list_devices", "select_device", "get_current_device", "current_context", "synchronize", "close", "require_context",
                             "is_supported_version", "is_float16_supported", "is_bfloat16_supported", "Device", "Context"],
    "Arrays": ["to_device", "device_array", "device_array_like", "as_cuda_array", "from_cuda_array_interface", "from_dlpack", "is_cuda_array", "In", "Out", "InOut", "DeviceArray"],
    "Page-locked, mapped and managed memory": ["pinned", "pinned_array", "pinned_array_like", "mapped", "mapped_array", "mapped_array_like", "managed_array", "MappedArray", "defer_cleanup"],
    "Streams and events": ["stream", "default_stream", "legacy_default_stream", "per_thread_default_stream", "external_stream", "event", "event_elapsed_time", "profile_start", "profile_stop", "profiling", "Stream", "Event"],
    "Compiling": ["jit", "reduce", "Reduce", "compile", "compile_ptx", "compile_all", "compile_for_current_device", "compile_ptx_for_current_device"],
    "Code in other languages": ["declare_device", "LinkableCode", "CUSource", "PTXSource", "LTOIR", "Cubin", "Object", "Fatbin", "Archive"],
    "Memory managers and sharing": ["set_memory_manager", "BaseCUDAMemoryManager", "HostOnlyCUDAMemoryManager", "GetIpcHandleMixin", "MemoryPointer", "MappedMemory", "PinnedMemory", "MemoryInfo",
                                    "IpcHandle", "open_ipc_handle", "open_ipc_array"],
}
MODULES = {
    "random": "Random numbers", "reductions": "Reductions and scans", "extending": "Extending the compiler", "types": "Types", "config": "Settings", "cache": "The cache of compiled code",
    "errors": "Exceptions and warnings", "runtime": "Memory of arrays made in functions", "typed": "Typed lists and dicts",
}


def title(text: str, under: str = "=") -> list[str]:
    return [text, under * len(text), ""]


def first_line(thing) -> str:
    """The first sentence of a docstring, behind a signature that it may begin with."""
    doc = inspect.getdoc(thing) or ""
    text = re.sub(r"^[\w.]+\(.*?\)\n+", "", doc, count=1, flags=re.S) if re.match(r"[\w.]+\(", doc) else doc
    return escaped(re.split(r"\n\n|(?<=\w\.)\s(?=[A-Z])", text, maxsplit=1)[0].replace("\n", " ").strip())


def entry(module: str, name: str) -> list[str]:
    """The directive that documents one object."""
    thing = getattr(importlib.import_module(module), name)
    if inspect.isclass(thing):
        call = "()" if module == "lanewise" else ""  # their signature is that of an object
        return [f".. autoclass:: {module}.{name}{call}", "   :members:", ""]
    if callable(thing) and (inspect.isroutine(thing) or inspect.isfunction(thing)):
        own = own_signature(name, inspect.getdoc(thing) or "")
        return [f".. autofunction:: {module}.{name}{own[1] if own else ''}", ""]
    call = next(iter(re.findall(r"^[\w.]+(\(.*?\))", inspect.getdoc(thing) or "")), "")
    doc = [f"   {line}" if line else "" for line in as_text(thing, name)]
    return [f".. py:{'function' if call else 'data'}:: {module}.{name}{call}", "", *doc, ""]


def as_text(thing, name: str) -> list[str]:
    from docstrings import readable

    own = getattr(thing, "__doc__", None)
    if own is None or own == type(thing).__doc__ and not isinstance(own, str):
        return []
    lines = inspect.cleandoc(own).splitlines()
    if lines and re.match(r"[\w.]+\(", lines[0]):
        lines = lines[1:]
    while lines and not lines[0].strip():
        lines = lines[1:]
    readable(None, "data", name, thing, None, lines)
    return lines


def section(module: str, names: list[str]) -> list[str]:
    there = [name for name in names if hasattr(importlib.import_module(module), name)]
    return [line for name in there for line in entry(module, name)]


def table(rows: list[tuple[str, str]], head: tuple[str, str]) -> list[str]:
    made = [".. list-table::", "   :header-rows: 1", "   :widths: 35 65", "", f"   * - {head[0]}", f"     - {head[1]}"]
    for left, right in rows:
        made += [f"   * - {left}", f"     - {right}"]
    return [*made, ""]


def intrinsics() -> list[str]:
    """What kernels may call: a row for each name, groups written out."""
    from lanewise import cuda

    rows = []

    def add(path: str, thing) -> None:
        if type(thing).__name__ == "IntrinsicGroup":
            if path != "cuda.libdevice":
                for name in sorted(name for name in dir(thing) if not name.startswith("_")):
                    add(f"{path}.{name}", getattr(thing, name))
            return
        doc = inspect.cleandoc(thing.__doc__ or "").split("\n\n", 1)
        call = doc[0].splitlines()[0] if doc[0] else path
        rows.append((f"``{call}``", escaped(" ".join(doc[1].split())) if len(doc) > 1 else first_line(thing)))

    for name in cuda.__all__:
        if type(getattr(cuda, name)).__name__.startswith("Intrinsic"):
            add(f"cuda.{name}", getattr(cuda, name))
    return table(rows, ("name", "meaning"))


def ufuncs(module: str) -> list[str]:
    named = importlib.import_module(module)
    names = sorted(name for name in named.__all__ if isinstance(getattr(named, name), lw.Ufunc))
    return [", ".join(f"``{name}``" for name in names), ""]


def doc_of(module: str) -> list[str]:
    return as_text(importlib.import_module(module), module)


def write(folder: Path) -> None:
    """All pages, into `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    pages: dict[str, list[str]] = {}
    pages["decorators"] = [*title("Decorators"), "The decorators that compile functions. Each returns an object of the kind described in :doc:`objects`.", "", *section("lanewise", DECORATORS)]
    pages["objects"] = [*title("Compiled objects"), "What the decorators return.", "", *section("lanewise", OBJECTS)]
    pages["tools"] = [*title("Looking inside, compiling ahead, helpers"), *title("Looking inside and compiling ahead of time", "-"), *section("lanewise", LOOKING),
                      *title("Inside compiled functions, and threads", "-"), *section("lanewise", HELPERS)]
    pages["cuda"] = [*title("lanewise.cuda"), *doc_of("lanewise.cuda")]
    for heading, names in CUDA.items():
        pages["cuda"] += [*title(heading, "-"), *section("lanewise.cuda", names)]
    pages["kernel_names"] = [*title("Names for kernels"), "Functions and values of ``lanewise.cuda`` that work inside kernels. ``cuda.libdevice`` has in addition every function of CUDA's libdevice by its own name "
                             "(``cuda.libdevice.fast_sinf``), and ``cuda.fp16`` and ``cuda.bf16`` have CUDA's names for 16-bit floats.", "", *intrinsics()]
    for module, heading in MODULES.items():
        made = importlib.import_module(f"lanewise.{module}")
        names = getattr(made, "__all__", None) or [name for name in dir(made) if not name.startswith("_") and getattr(getattr(made, name), "__module__", "") == f"lanewise.{module}"]
        shown = [name for name in names if type(getattr(made, name)).__name__ in ("type", "ABCMeta") or inspect.isroutine(getattr(made, name))]
        pages[module] = [*title(f"lanewise.{module}: {heading[0].lower()}{heading[1:]}"), *doc_of(f"lanewise.{module}"), *section(f"lanewise.{module}", shown)]
        rest = [name for name in names if name not in shown and not inspect.isclass(getattr(made, name))]
        if module == "types":
            pages[module] += ["Type objects and their other spellings:", "", ", ".join(f"``{name}``" for name in rest if type(getattr(made, name)).__name__ == "CoreType"), ""]
    for module, heading in (("ufuncs", "NumPy's ufuncs"), ("special", "special functions")):
        pages[module] = [*title(f"lanewise.{module}: {heading}"), *doc_of(f"lanewise.{module}"), *ufuncs(f"lanewise.{module}")]
    for name, lines in pages.items():
        (folder / f"{name}.rst").write_text("\n".join(lines).rstrip() + "\n", encoding="utf-8")
    order = ["decorators", "objects", "tools", "cuda", "kernel_names", "random", "reductions", "ufuncs", "special", "extending", "types", "typed", "config", "cache", "runtime", "errors"]
    index = [*title("API reference"), "Every public name, from its docstring. The user guide explains how to use them.", ""]
    for heading, module, names in (("Decorators", "lanewise", DECORATORS), ("Compiled objects", "lanewise", OBJECTS), ("Tools", "lanewise", LOOKING + HELPERS)):
        there = [name for name in names if hasattr(lw, name)]
        rows = [(f":py:obj:`~{module}.{name}`", first_line(getattr(lw, name))) for name in there]
        index += [*title(heading, "-"), *table(rows, ("name", "what it is"))]
    index += [*title("Modules", "-"), ".. toctree::", "   :maxdepth: 1", "", *(f"   {name}" for name in order), ""]
    (folder / "index.rst").write_text("\n".join(index), encoding="utf-8")


if __name__ == "__main__":
    write(Path("api"))

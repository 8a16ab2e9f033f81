"""What notebooks show of the package's objects. Colours are the page's own, made fainter, so that they suit light and dark pages alike."""

from __future__ import annotations

from typing import Any, Sequence

_FAINT = "rgba(128,128,128,0.35)"
_CELL = f"padding:0.15em 0.7em;border-bottom:1px solid {_FAINT};vertical-align:top"


def table(columns: Sequence[str], rows: Sequence[Sequence[str]], *, n_left: int = 1, titles: Sequence[str] = (), caption: str = "") -> str:
    """Columns are texts, cells are HTML; the first n_left columns are aligned to the left. titles: of each row, shown under the mouse."""
    from html import escape

    def line(cells: Sequence[str], tag: str, title: str = "") -> str:
        made = (f'<{tag} style="{_CELL};text-align:{"left" if i < n_left else "right"}">{cell}</{tag}>' for i, cell in enumerate(cells))
        return f'<tr{f" title={chr(34)}{escape(title)}{chr(34)}" if title else ""} style="background:none">{"".join(made)}</tr>'

    head = line([escape(name) for name in columns], "th") if any(columns) else ""
    body = "".join(line(cells, "td", titles[i] if i < len(titles) else "") for i, cells in enumerate(rows))
    above = f'<div style="font-weight:600;padding:0.2em 0.7em">{caption}</div>' if caption else ""
    return (f'<div class="lanewise" style="overflow-x:auto;color:inherit">{above}'
            f'<table style="border-collapse:collapse;border:none;font-variant-numeric:tabular-nums"><thead>{head}</thead><tbody>{body}</tbody></table></div>')


def code(text: object) -> str:
    """A text in the font of programs."""
    from html import escape

    return f'<code style="background:none;color:inherit;white-space:pre-wrap">{escape(str(text))}</code>'


def pairs(rows: dict[str, str], caption: str) -> str:
    """Names and what they are, which is HTML."""
    from html import escape

    return table(("", ""), [[escape(name), text] for name, text in rows.items()], n_left=2, caption=caption)


# ---- compiled objects ----

_GENERATORS = (("Gufunc", "guvectorize"), ("Ufunc", "vectorize"), ("Forall", "forall"), ("Kernel", "jit"), ("Reduction", "reduce"))
_MOST_SIGNATURES = 24


def generator_of(f: Any) -> str:
    """The decorator that made it."""
    from lanewise import _core

    return next((made for kind, made in _GENERATORS if isinstance(f, getattr(_core, kind))), "")


def compiled(f: Any) -> str:
    """Of a Ufunc, Gufunc, Forall, Kernel or Reduction."""
    from html import escape

    from lanewise._places import place_of

    stats = f.stats
    on_cpu, on_gpu = stats["compiled"] - stats["cuda"], stats["cuda"]
    signatures = list(f.signatures or ())
    shown = [code(signature) for signature in signatures[:_MOST_SIGNATURES]]
    if len(signatures) > _MOST_SIGNATURES:
        shown.append(f"and {len(signatures) - _MOST_SIGNATURES} more")
    target = f._state()["options"].get("target", "auto")
    rows = {"types": "<br>".join(shown) or "none yet: compiled at the first call of each"}
    if getattr(f, "signature", None):
        rows["layout"] = code(f.signature)
    rows["target"] = escape(str(target)) + (": where the arrays are" if target == "auto" else "")
    rows["compiled"] = ", ".join(f"{n} for the {where}" for n, where in ((on_cpu, "CPU"), (on_gpu, "GPU")) if n) or "nothing yet"
    if stats["compiled"]:
        rows["time to compile"] = f"{1e3 * stats['seconds']:.1f} ms, {stats['from_disk']} of {stats['compiled']} from the cache on disk"
    if place := place_of(f.py_func):
        rows["defined in"] = code(place)
    return pairs(rows, f"{escape(f.__name__)}: {escape(generator_of(f))}")


# ---- arrays ----


def device_array(array: Any) -> str:
    """Of arrays on a device; with the setting target="cpu" they lie in the host's memory."""
    from html import escape

    import numpy as np

    layout = "C" if array.flags["C_CONTIGUOUS"] else "F" if array.flags["F_CONTIGUOUS"] else "strided"
    on_host = isinstance(array, np.ndarray)
    where = "this machine's CPU, by the setting target" if on_host else _device_name(array)
    rows = {"shape": escape(str(tuple(array.shape))), "dtype": escape(str(array.dtype)), "bytes": f"{array.nbytes:,}", "layout": layout, "memory of": escape(where)}
    return pairs(rows, "device array") + f'<pre style="background:none;color:inherit;margin:0.4em 0.7em">{escape(str(np.asarray(array) if on_host else array))}</pre>'


def _device_name(array: Any) -> str:
    from lanewise import cuda

    device = array.device
    name = next((gpu.name for gpu in cuda.gpus if gpu.id == getattr(device, "id", device)), "a GPU")
    return name if isinstance(name, str) else name.decode()

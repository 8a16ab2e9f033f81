"""Tables for notebooks. Colours are the page's own, made fainter, so that they suit light and dark pages alike."""

from __future__ import annotations

from typing import Sequence

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

#!/usr/bin/env python3
"""One page with plots of what several machines measured.

    python -m lanewise bench --json > laptop.json        # on each machine
    python bench/report.py laptop.json server.json --output report.html

A file holds {"machine": {...}, "rows": [{"name", "value", "unit", "note", "peers": {library: value}}, ...]}; "note" and "peers" may be left out.
The page is one HTML file without scripts: SVG, light and dark.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import sys
from html import escape
from pathlib import Path
from typing import Any, Callable

COLOURS = ("#2f6f9f", "#d9822b", "#4b8f5a", "#9b59b6", "#c0392b", "#16a085", "#7f8c8d", "#b7950b")
SECONDS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}
STYLE = """
:root { color-scheme: light dark; --text: #1b1f24; --page: #ffffff; --line: #c8ccd2; --soft: #57606a; }
@media (prefers-color-scheme: dark) { :root { --text: #e6e8eb; --page: #14181e; --line: #3d444d; --soft: #9aa4af; } }
body { font: 16px/1.5 system-ui, sans-serif; color: var(--text); background: var(--page); max-width: 62rem; margin: 0 auto; padding: 1rem; }
h2 { margin-top: 2.5rem; } p { max-width: 46rem; } figure { margin: 1rem 0; overflow-x: auto; }
svg text { font: 13px system-ui, sans-serif; fill: var(--text); } svg .soft { fill: var(--soft); } svg line { stroke: var(--line); }
table { border-collapse: collapse; display: block; overflow-x: auto; } td, th { border-bottom: 1px solid var(--line); padding: 0.25rem 0.75rem; text-align: left; }
td.number { text-align: right; white-space: nowrap; } .swatch { display: inline-block; width: 0.8em; height: 0.8em; border-radius: 2px; margin: 0 0.3em 0 1em; }
"""


class Malformed(Exception):
    """A file that is not what `bench --json` writes."""


class Bar:
    """One bar: the label of its line, its value, the text behind it, the number of its colour."""

    def __init__(self, label: str, value: float, text: str, colour: int) -> None:
        self.label, self.value, self.text, self.colour = label, value, text, colour


def read(path: Path) -> dict[str, Any]:
    """The document in a file, checked."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise Malformed(f"{path}: {error}") from None
    if not isinstance(found, dict) or not isinstance(found.get("machine"), dict) or not isinstance(found.get("rows"), list):
        raise Malformed(f'{path}: expected an object with "machine" and "rows", as `python -m lanewise bench --json` writes it')
    for at, row in enumerate(found["rows"]):
        if not isinstance(row, dict) or not isinstance(row.get("name"), str) or not is_number(row.get("value")) or not isinstance(row.get("unit"), str):
            raise Malformed(f'{path}: row {at} needs a "name", a finite "value" above 0 and a "unit"; it is {row!r:.100}')
        if not isinstance(row.get("peers", {}), dict) or not all(map(is_number, row.get("peers", {}).values())):
            raise Malformed(f'{path}: "peers" of `{row["name"]}` must give a finite number above 0 for each library')
    return found


def is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value) and value > 0


def title_of(machine: dict[str, Any]) -> str:
    """What a machine is called in legends: its GPUs, else its CPU."""
    gpus = machine.get("gpus") or []
    return ", ".join(map(str, gpus)) if gpus else str(machine.get("cpu") or machine.get("platform") or "unnamed machine")


def seconds_of(row: dict[str, Any]) -> float | None:
    scale = SECONDS.get(row["unit"])
    return None if scale is None else row["value"] * scale


def shown(seconds: float) -> str:
    """A time with three digits and a unit that suits it."""
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def chart(bars: list[Bar], mark: float | None = None, logarithmic: bool = False) -> str:
    """Horizontal bars as SVG; `mark` draws a line at a value."""
    left, width, step = 300, 900, 22
    values = [bar.value for bar in bars] + ([mark] if mark else [])
    low = min(values) / 2 if logarithmic else 0.0
    high = max(values) * (1.0 if logarithmic else 1.02)

    def place(value: float) -> float:
        share = math.log(value / low) / math.log(high / low) if logarithmic else value / high
        return left + share * (width - left - 190)

    parts, last = [], None
    for at, bar in enumerate(bars):
        y = 8 + at * step
        if bar.label != last:
            parts.append(f'<text x="{left - 8}" y="{y + 13}" text-anchor="end">{escape(bar.label)}</text>')
            last = bar.label
        end = place(bar.value)
        parts.append(f'<rect x="{left}" y="{y + 2}" width="{max(end - left, 1):.1f}" height="{step - 6}" rx="2" fill="{COLOURS[bar.colour % len(COLOURS)]}"/>')
        parts.append(f'<text class="soft" x="{end + 6:.1f}" y="{y + 13}">{escape(bar.text)}</text>')
    height = 16 + len(bars) * step
    if mark is not None:
        parts.append(f'<line x1="{place(mark):.1f}" y1="4" x2="{place(mark):.1f}" y2="{height - 4}" stroke-dasharray="4 3"/>')
    return f'<figure><svg viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img">{"".join(parts)}</svg></figure>'


def legend(names: list[str]) -> str:
    return "<p>" + "".join(f'<span class="swatch" style="background:{COLOURS[at % len(COLOURS)]}"></span>{escape(name)}' for at, name in enumerate(names)) + "</p>"


def times(documents: list[dict[str, Any]], wanted: Callable[[str], bool]) -> list[Bar]:
    """The times of the rows with such names, those of one name together, a colour for each machine."""
    rows = [(row["name"], at, seconds_of(row)) for at, document in enumerate(documents) for row in document["rows"] if wanted(row["name"])]
    order = {name: place for place, name in reversed(list(enumerate(name for name, _, _ in rows)))}
    return [Bar(name, seconds, shown(seconds), at) for name, at, seconds in sorted(rows, key=lambda row: (order[row[0]], row[1])) if seconds]


def shares(documents: list[dict[str, Any]]) -> list[Bar]:
    """Shares of a copy's rate, as the notes tell them."""
    bars = []
    for at, document in enumerate(documents):
        for row in document["rows"]:
            found = re.search(r"(\d*\.?\d+) of copy's rate", row.get("note", ""))
            if found and float(found[1]) > 0:
                bars.append(Bar(row["name"], float(found[1]), found[1], at))
    return bars


def comparison(document: dict[str, Any]) -> tuple[list[Bar], list[str]]:
    """How many times as long the others take; and the libraries, in the order of their colours."""
    libraries = sorted({peer for row in document["rows"] for peer in row.get("peers", {})})
    bars = [Bar(row["name"], peers[name] / row["value"], f"{peers[name] / row['value']:.2f} ×", libraries.index(name))
            for row in document["rows"] if (peers := row.get("peers", {})) for name in sorted(peers)]
    return bars, libraries


def table(document: dict[str, Any]) -> str:
    """Everything that a machine measured."""
    head = "<tr><th>case</th><th>lanewise</th><th>others</th><th>note</th></tr>"
    body = []
    for row in document["rows"]:
        scale = SECONDS.get(row["unit"])
        own = shown(row["value"] * scale) if scale else f"{row['value']:.4g} {row['unit']}"
        others = ", ".join(f"{name} {shown(value * scale) if scale else f'{value:.4g}'}" for name, value in sorted(row.get("peers", {}).items()))
        body.append(f'<tr><td>{escape(row["name"])}</td><td class="number">{escape(own)}</td><td>{escape(others)}</td><td>{escape(str(row.get("note", "")))}</td></tr>')
    return f"<table>{head}{''.join(body)}</table>"


def page(documents: list[dict[str, Any]]) -> str:
    """The whole report."""
    machines = [title_of(document["machine"]) for document in documents]
    parts = ["<h1>What lanewise reaches</h1>", legend(machines)]

    def plot(heading: str, text: str, bars: list[Bar], **options: Any) -> None:
        if bars:
            parts.extend((f"<h2>{heading}</h2>", f"<p>{text}</p>", chart(bars, **options)))

    plot("Memory-bound functions", "Bytes read and written in a second, as a share of what a copy on the same device reaches. At the dashed line, memory is the only limit.",
         shares(documents), mark=1.0)
    plot("The cost of a call", "Time of one call on arrays so small that nothing else counts. The scale is logarithmic.", times(documents, lambda name: "call" in name), logarithmic=True)
    plot("Compilation", "From a function to its first result, and from a cache on disk. The scale is logarithmic.", times(documents, lambda name: "compile" in name or "cache" in name or "import" in name), logarithmic=True)
    for machine, document in zip(machines, documents):
        bars, libraries = comparison(document)
        if bars:
            parts += [f"<h2>Beside other libraries: {escape(machine)}</h2>",
                      "<p>How many times as long they take, measured in the same run. Right of the dashed line lanewise is faster. The scale is logarithmic.</p>", legend(libraries), chart(bars, mark=1.0, logarithmic=True)]
    for machine, document in zip(machines, documents):
        told = "; ".join(f"{key} {', '.join(map(str, value)) if isinstance(value, list) else value}" for key, value in document["machine"].items() if value)
        parts += [f"<h2>All figures: {escape(machine)}</h2>", f"<p>{escape(told)}</p>", table(document)]
    return ('<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
            f"<title>What lanewise reaches</title><style>{STYLE}</style></head>\n<body>\n" + "\n".join(parts) + "\n</body></html>\n")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path, help="what `python -m lanewise bench --json` wrote, one file for each machine")
    parser.add_argument("--output", type=Path, default=Path("report.html"))
    options = parser.parse_args()
    try:
        documents = [read(path) for path in options.files]
    except Malformed as error:
        print(error, file=sys.stderr)
        return 1
    options.output.write_text(page(documents), encoding="utf-8")
    print(options.output)
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Docstrings of the library as reStructuredText.

They are written to be read in a terminal: paragraphs, examples, and sections such as "Keywords:" whose lines
are "name: what it does". Here the sections become those of numpydoc, and characters that reStructuredText
would take for markup are escaped.
"""

from __future__ import annotations

import re

SECTIONS = {"Keywords": "Parameters", "Parameters": "Parameters"}
LITERAL = re.compile(r"``[^`]+``|`[^`\n]+`")


def escaped(text: str) -> str:
    """The text with nothing in it that is markup but literals."""
    parts, at = [], 0
    for found in LITERAL.finditer(text):
        parts += [re.sub(r"([*|\\])|(?<=\w)(_)(?=\W|$)", lambda m: "\\" + m[0], text[at : found.start()]), f"``{found[0].strip('`')}``"]
        at = found.end()
    return "".join(parts) + re.sub(r"([*|\\])|(?<=\w)(_)(?=\W|$)", lambda m: "\\" + m[0], text[at:]).replace("`", "'")


def is_numpydoc(lines: list[str]) -> bool:
    return any(re.fullmatch(r"-{4,}", line.strip()) for line in lines)


def section(name: str, body: list[str]) -> list[str]:
    made = [SECTIONS[name], "-" * len(SECTIONS[name])]
    for line in body:
        found = re.match(r" +([\w, *]+): (.*)", line)
        made += [escaped(found[1]), f"    {escaped(found[2])}"] if found else [f"    {escaped(line.strip())}"]
    return made


def own_signature(name: str, doc: str) -> re.Match[str] | None:
    """(arguments), meaning: where a docstring of C begins with "name(arguments): meaning"."""
    return re.match(rf"{re.escape(name.rpartition('.')[2])}(\([^)]*\)): (.*)", doc)


def readable(app, what, name, obj, options, lines: list[str]) -> None:
    """Hook of autodoc: rewrites `lines` in place."""
    found = own_signature(name, lines[0]) if lines and what == "function" else None
    if found:
        lines[0] = found[2][:1].upper() + found[2][1:] + ("." if len(lines) == 1 or not lines[1].strip() else "")
    if is_numpydoc(lines):
        return
    paragraphs = "\n".join(lines).split("\n\n")
    lines[:] = "\n\n".join(p if ">>>" in p else re.sub(r"`[^`]*`", lambda m: re.sub(r"\s*\n\s*", " ", m[0]), p) for p in paragraphs).split("\n")
    made: list[str] = []
    later: list[str] = []
    at, example = 0, False
    while at < len(lines):
        line = lines[at]
        found = re.fullmatch(r"(\w+):", line)
        if found and found[1] in SECTIONS:
            end = at + 1
            while end < len(lines) and lines[end].startswith("  "):
                end += 1
            later += ["", *section(found[1], lines[at + 1 : end])]
            at = end
            continue
        stripped = line.strip()
        example = stripped.startswith((">>>", "...")) or (example and bool(stripped))
        if example and stripped.startswith(">>>") and made and made[-1].strip() and not in_example(made):
            made.append("")
        indent = re.match(r" *", line)[0]
        if not example and indent and made and made[-1].strip() and not made[-1].startswith(" ") and not re.match(r" *([-*]|\d+\.) ", made[-1]):
            indent = ""  # text that hangs: one paragraph
        bullet = re.match(r" *[*-] ", line)
        made.append(line if example else indent + (bullet[0].strip() + " " + escaped(line[bullet.end():]) if bullet else escaped(stripped)))
        at += 1
    lines[:] = made + later + [""]


def in_example(made: list[str]) -> bool:
    """Whether the last lines, up to an empty one, began with a prompt."""
    for line in reversed(made):
        if not line.strip():
            return False
        if line.strip().startswith(">>>"):
            return True
    return False

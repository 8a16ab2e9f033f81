"""Links within the built site: that each leads to a page, a file or an anchor that is there. docs/build.py calls this after each build.

Sphinx warns of cross references only; this reads the pages themselves, with what templates, docstrings and raw HTML add to them.
"""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class _Page(HTMLParser):
    """Anchors of a page, and where it leads."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.titles = 0
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self.titles += tag == "h1"
        self.anchors.update(name for key in ("id", "name") if (name := values.get(key)))
        for key in ("href", "src", "srcset"):
            if value := values.get(key):
                self.links += [part.split()[0] for part in value.split(",")] if key == "srcset" else [value]


def broken(root: Path) -> list[str]:
    """What is wrong with the pages under `root`, a line each."""
    pages = {path.resolve(): _Page(path) for path in sorted(root.rglob("*.html")) if "_static" not in path.relative_to(root).parts}
    found = []
    for path, page in pages.items():
        name = path.relative_to(root.resolve())
        if page.titles != 1:
            found.append(f"{name}: {page.titles} titles (h1); a page has one")
        for link in dict.fromkeys(page.links):
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            if not target.exists():
                found.append(f"{name}: {link} leads to no file")
            elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].anchors:
                found.append(f"{name}: {link} leads to no anchor")
    return found


if __name__ == "__main__":
    wrong = broken(Path(sys.argv[1]))
    print("\n".join(wrong) or "every link leads somewhere")
    sys.exit(bool(wrong))

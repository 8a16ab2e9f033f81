#!/usr/bin/env python3
"""Build the site into build/docs/html: copy the pages, write those of the API, run Sphinx, warnings as errors.

--no-gallery leaves the examples unrun; --fresh forgets what earlier builds left. The examples whose text has not changed are not run again.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent
sys.path.insert(0, str(DOCS))


def copy_pages(target: Path) -> None:
    """Everything under docs/, and the pages that lie elsewhere; the gallery's pages stay where Sphinx made them."""
    for old in target.rglob("*") if target.is_dir() else ():
        if old.is_file() and "gallery" not in old.relative_to(target).parts:
            old.unlink()
    for path in sorted(DOCS.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            to = target / path.relative_to(DOCS)
            to.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, to)
    shutil.copy2(ROOT / "ARCHITECTURE.md", target / "ARCHITECTURE.md".lower())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--no-gallery", action="store_true")
    parser.add_argument("--fresh", action="store_true")
    parser.add_argument("--output", type=Path, default=ROOT / "build" / "docs")
    options = parser.parse_args()
    start = time.perf_counter()
    if options.fresh:
        shutil.rmtree(options.output, ignore_errors=True)
    source = options.output / "source"
    copy_pages(source)
    shutil.rmtree(options.output / "examples", ignore_errors=True)
    shutil.copytree(ROOT / "examples" / "gallery", options.output / "examples", ignore=shutil.ignore_patterns("README.md", "__pycache__"))
    import api_pages

    api_pages.write(source / "api")
    extra = options.output / "extra"  # files that are part of the site as they are
    extra.mkdir(parents=True, exist_ok=True)
    environment = os.environ | {"DOCS_EXAMPLES": str(options.output / "examples"), "DOCS_GALLERY": "0" if options.no_gallery else "1", "DOCS_EXTRA": str(extra), "MPLBACKEND": "agg"}
    command = [sys.executable, "-m", "sphinx", "-b", "html", "-W", "--keep-going", "-q", "-d", str(options.output / "doctrees"), str(source), str(options.output / "html")]
    results = sorted((ROOT / "bench" / "results").glob("*.json"))
    if results:  # a page of their own, which figures.md leads to
        subprocess.run([sys.executable, str(ROOT / "bench" / "report.py"), *map(str, results), "--output", str(extra / "machines.html")], check=True)
        with (source / "figures.md").open("a", encoding="utf-8") as page:
            page.write('\n## Machines\n\n<p><a href="machines.html">What several machines reached, with plots</a></p>\n')
    done = subprocess.run(command, env=environment, cwd=options.output)
    import links

    wrong = links.broken(options.output / "html") if done.returncode == 0 else []
    for line in wrong:
        print(line, file=sys.stderr)
    if wrong:
        done.returncode = 1
    print(f"{options.output / 'html' / 'index.html'}: {'built' if done.returncode == 0 else 'failed'} in {time.perf_counter() - start:.0f} s")
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())

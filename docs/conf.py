"""How Sphinx builds the site: `make docs`, or `python docs/build.py` where the requirements are installed.

docs/build.py copies the pages to build/docs/source first, so that nothing generated lands among the sources.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import lanewise  # noqa: E402
from docstrings import readable  # noqa: E402

project = "lanewise"
author = "lanewise developers"
copyright = "2026, lanewise developers"
version = release = lanewise.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.intersphinx",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["README.md", "images/README.md", "_static/README.md"]
default_role = "code"
nitpicky = True  # a name of the API that is referred to must be there
highlight_language = "text"  # pages say ```python
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 4
suppress_warnings = ["config.cache"]  # the gallery's sort key is a function

# NumPy's inventory is asked for only where a network is promised: the build must work without one.
intersphinx_mapping = {}
if os.environ.get("DOCS_ONLINE") == "1":
    intersphinx_mapping["numpy"] = ("https://numpy.org/doc/stable/", None)

autodoc_member_order = "groupwise"
autodoc_typehints = "none"
numpydoc_show_class_members = False
numpydoc_use_plots = False
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

sphinx_gallery_conf = {
    "examples_dirs": [os.environ.get("DOCS_EXAMPLES", str(HERE.parent / "examples" / "gallery"))],
    "gallery_dirs": ["gallery"],
    "filename_pattern": r"/plot_",
    "ignore_pattern": r"__init__\.py",
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "remove_config_comments": True,
    "abort_on_example_error": True,
    "image_scrapers": ("matplotlib",),
    "image_srcset": ["2x"],
    "min_reported_time": 1000,
    "show_signature": False,
    "write_computation_times": False,  # two orphan pages, whose sorting comes from another host
    "plot_gallery": os.environ.get("DOCS_GALLERY", "1") == "1",
}

html_theme = "pydata_sphinx_theme"
html_title = "lanewise"
html_static_path = ["_static"]
html_extra_path = [os.environ["DOCS_EXTRA"]] if "DOCS_EXTRA" in os.environ else []
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {"text": "lanewise"},
    "show_prev_next": True,
    "show_toc_level": 2,
    "header_links_before_dropdown": 7,
    "navbar_align": "left",
    "navbar_end": ["theme-switcher"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "default",
    "pygments_dark_style": "monokai",
}
html_sidebars = {"index": [], "start": [], "porting": [], "speed": [], "search": [], "genindex": []}  # pages without neighbours


def within_the_site(app, name: str, source: list[str]) -> None:
    """Links of pages to files of the repository that the site does not have become plain text."""
    text = source[0]
    text = re.sub(r"\]\((?:\.\./)?(ARCHITECTURE\.md)", lambda m: "](" + m[1].lower(), text)
    text = re.sub(r"\]\((?:\.\./)?README\.md", "](index.md", text)
    if name == "guide" and not (HERE / "dask").with_suffix(".md").exists():
        text = text.replace("\ndask\n", "\n")
    if name == "architecture":
        text = re.sub(r"\]\(docs/", "](", text)
        text = re.sub(r"\[([^\]]+)\]\((?!http|#)[\w./]*/?README\.md(?:#[\w-]+)?\)", r"\1", text)
    text = re.sub(r"\[([^\]]+)\]\(\.\./[^)]+\)", r"\1", text)
    source[0] = re.sub(r"(?<=\n)\n```(?=\n)", "```", text) if name != "architecture" else text  # the empty line that ends a doctest


def on_one_line(app, what, name, thing, options, signature, returned):
    """Long signatures of C functions are written in several lines, which Sphinx cannot read."""
    text = getattr(thing, "__text_signature__", None) or ""
    shown = " ".join(text.split()) if "\n" in text else signature or ""
    bare = re.sub(r"^\(/(?:, )?", "(", shown)  # the `/` behind a `self` that is not shown
    return (bare, returned) if "\n" in text or bare != (signature or "") else None


def setup(app) -> None:
    app.connect("source-read", within_the_site)
    app.connect("autodoc-process-docstring", readable, priority=1)  # before numpydoc
    app.connect("autodoc-process-signature", on_one_line, priority=1)

"""Every example in docstrings and documents runs and gives what it shows; generated parts of the
documents are fresh; every error code is explained, with a program that meets it."""

from __future__ import annotations

import contextlib
import doctest
import importlib
import importlib.util
import inspect
import re
import subprocess
import sys
import warnings

import numpy as np
import pytest

import lanewise as lw
from source_tree import ROOT, files, read

MODULES = ["lanewise", "lanewise.bf16", "lanewise.cache", "lanewise.config", "lanewise.cuda", "lanewise.errors", "lanewise.extending", "lanewise.fp16", "lanewise.random", "lanewise.reductions", "lanewise.runtime", "lanewise.special", "lanewise.types", "lanewise.ufuncs"]
DOCUMENTS = ["README.md", *sorted(name for name in files() if name.startswith("docs/") and name.endswith(".md"))]
OPTIONS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
needs_gpu = re.compile(r"cuda\.(to_device|device_array|synchronize|stream\(|event\()")  # or the setting target="cpu"
needs_compiler = re.compile("inspect_sass")


@lw.vectorize
def f(x):
    return x + 1


@lw.cuda.jit(target="cpu")
def k(x):
    i = lw.cuda.grid(1)
    if i < x.size:
        x[i] *= 2


def run_doctest(text: str, name: str, names: dict) -> None:
    test = doctest.DocTestParser().get_doctest(text, names, name, name, 0)
    if not test.examples:
        return
    said: list[str] = []
    runner = doctest.DocTestRunner(verbose=False, optionflags=OPTIONS)
    runner.run(test, out=said.append, clear_globs=False)
    assert runner.failures == 0, "".join(said)


def docstrings():
    """(name, docstring) of all public objects, in Python and in C."""
    seen: set[int] = set()
    stack = [(name, importlib.import_module(name)) for name in MODULES]
    stack.append(("lanewise._core", lw._core))
    while stack:
        name, thing = stack.pop()
        if id(thing) in seen:
            continue
        seen.add(id(thing))
        doc = inspect.getdoc(thing) if isinstance(getattr(thing, "__doc__", None), str) else None
        if doc and ">>>" in doc:
            yield name, doc
        if inspect.ismodule(thing) or inspect.isclass(thing):
            for member, value in vars(thing).items():
                if member.startswith("_") or inspect.ismodule(value) or isinstance(value, (lw.Ufunc, lw._core.Type)):
                    continue
                if not getattr(value, "__module__", None) or str(value.__module__).startswith("lanewise") or inspect.isclass(thing):
                    stack.append((f"{name}.{member}", value))


DOCSTRINGS = sorted(docstrings())


def test_docstrings_were_found():
    assert {"lanewise", "lanewise.config", "lanewise.cache", "lanewise.ufuncs"} <= {name for name, _ in DOCSTRINGS}
    assert len(DOCSTRINGS) > 10


def add_up(x, out):
    out[0] = 0
    for i in range(x.shape[0]):
        out[0] += x[i]


@pytest.mark.parametrize("name, doc", DOCSTRINGS, ids=[name for name, _ in DOCSTRINGS])
def test_docstring(name, doc):
    if needs_compiler.search(doc) and not lw.cuda.is_available():
        pytest.skip("the example needs the compiler for GPUs")
    module = sys.modules.get(name)
    names = dict(vars(module)) if module else {}
    names |= {name: getattr(lw.types, name) for name in lw.types.__all__}
    names |= {"np": np, "lw": lw, "cuda": lw.cuda, "k": k, "typeof": lw.typeof, "f": lw.vectorize(lambda x: x + 1), "g": lw.guvectorize("(n)->()")(add_up), "total": lw.vectorize(lambda a, b: a + b)}
    with contextlib.nullcontext() if lw.cuda.is_available() or not needs_gpu.search(doc) else lw.config(target="cpu"):
        run_doctest(doc, name, names)


def test_functions_of_special():
    """They are made, and compiled, when they are first used."""
    for name in lw.special.__all__:
        doc = getattr(lw.special, name).__doc__
        assert ">>>" in doc and "as scipy.special." in doc, name
        run_doctest(doc, f"special.{name}", {"lw": lw})


def test_every_public_name_has_a_docstring():
    bare = [name for name in lw.__all__ if not isinstance(getattr(lw, name), (lw._core.Type,)) and not inspect.getdoc(getattr(lw, name))]
    bare += [f"Ufunc.{name}" for name, value in vars(lw.Ufunc).items()
             if not name.startswith("_") and not getattr(value, "__doc__", None) and name != "__wrapped__"]
    assert not bare, bare


def test_the_api_pages_have_every_public_function(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "docs")
    pages = importlib.import_module("api_pages")
    pages.write(tmp_path)
    for module in pages.MODULES:
        made, text = importlib.import_module(f"lanewise.{module}"), (tmp_path / f"{module}.rst").read_text(encoding="utf-8")
        shown = set(re.findall(rf"^\.\. [\w:]+:: lanewise\.{module}\.(\w+)", text, re.M))
        assert {name for name in getattr(made, "__all__", ()) if inspect.isroutine(getattr(made, name))} <= shown, module


# ---- documents ----


def blocks(name: str) -> list[tuple[int, str]]:
    """(line, text) of the Python blocks of a document."""
    text = read(name)
    return [(text.count("\n", 0, m.start()) + 2, m[1]) for m in re.finditer(r"^```python\n(.*?)^```$", text, re.M | re.S)]


def as_module(text: str, path):
    """Run a block as a file, so that its functions have a source."""
    path.write_text(text, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    module.lw = lw
    spec.loader.exec_module(module)
    return module


TUTORIAL = "docs/start.md"  # one program, told in parts


@pytest.mark.parametrize("name", [name for name in DOCUMENTS if name not in ("docs/errors.md", TUTORIAL)])
def test_examples_of_documents(name, tmp_path):
    names = {"np": np, "lw": lw}
    for line, text in blocks(name):
        if (needs_gpu.search(text) or needs_compiler.search(text)) and "is_available()" not in text and 'config(target="cpu")' not in text and not lw.cuda.is_available():
            continue
        if ">>>" in text:
            run_doctest(text, f"{name}:{line}", names)
        else:
            as_module(text, tmp_path / f"block_{line}.py")


def test_the_tutorial_is_one_program(tmp_path, run_python):
    """Here, its part for GPUs runs on the CPU."""
    program = "".join(text for _, text in blocks(TUTORIAL) if ">>>" not in text)
    (tmp_path / "start.py").write_text(program, encoding="utf-8")
    said = run_python(str(tmp_path / "start.py"), LANEWISE_TARGET="cpu").stdout.splitlines()
    assert said[:2] == ["5.0", "[10. 10. 10.]"] and float(said[2]) > 0


def test_the_tutorial_shows_an_error_as_it_is(tmp_path):
    shown = "".join(re.findall(r"^(?:>>>|\.\.\.) (.*\n)", "".join(text for _, text in blocks(TUTORIAL) if ">>>" in text), re.M))
    (tmp_path / "program.py").write_text("import lanewise as lw\n\n" + shown, encoding="utf-8")
    failed = subprocess.run([sys.executable, "program.py"], cwd=tmp_path, capture_output=True, text=True).stderr
    message = re.search(r"^```text\n(lanewise.errors.*?)^```", read(TUTORIAL), re.M | re.S)[1]
    assert failed.replace(f"{tmp_path}/", "").replace(":5:", ":4:").replace("5 |", "4 |").endswith(message), failed


def test_readme_has_an_example():
    assert blocks("README.md")


@pytest.mark.parametrize("name", sorted(name for name in files() if re.fullmatch(r"examples/\w+\.py", name)))  # `make docs` runs the gallery
def test_examples_run(name, run_python):
    assert run_python(str(ROOT / name)).stdout


def test_kernels_run_with_the_cpu_in_the_place_of_a_gpu(run_python):
    assert run_python(str(ROOT / "examples" / "jit.py"), LANEWISE_TARGET="cpu").stdout


def test_generated_parts_are_fresh():
    done = subprocess.run([sys.executable, str(ROOT / "docs" / "generate.py"), "--check"], capture_output=True, text=True)
    assert done.returncode == 0, f"{done.stdout}{done.stderr}: run `python docs/generate.py`"


def test_the_site_is_searched_for_broken_links(tmp_path):
    """docs/build.py searches the pages that it has built."""
    spec = importlib.util.spec_from_file_location("links", ROOT / "docs" / "links.py")
    links = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(links)
    (tmp_path / "api").mkdir()
    (tmp_path / "picture.png").touch()
    (tmp_path / "index.html").write_text("""<h1>One</h1><img src="picture.png" srcset="picture.png, picture.png 2.00x"><a href="api/a.html#f">f</a><a href="#here" id="here">x</a>
        <a href="https://example.com/x#y">far</a><a href="mailto:a@b">mail</a><a href="a%20b.html">none</a>""")
    (tmp_path / "api" / "a.html").write_text("""<h1>A</h1><h1>Two</h1><dt id="f">f</dt><a href="../index.html#gone">x</a><a href="../index.html#here">x</a><img src="none.png"><a href="../api">no index</a>""")
    assert links.broken(tmp_path) == [
        "api/a.html: 2 titles (h1); a page has one", "api/a.html: ../index.html#gone leads to no anchor", "api/a.html: none.png leads to no file",
        "api/a.html: ../api leads to no file", "index.html: a%20b.html leads to no file",
    ]


GUIDES = {"vectorize": "vectorize", "guvectorize": "guvectorize", "forall": "kernels", "jit": "kernels", "reduce": "reduce"}


@pytest.mark.parametrize("generator", GUIDES)
def test_guides_explain_every_keyword(generator):
    named = set(re.findall(r"`(\w+)`", re.sub(r"```.*?```", "", read(f"docs/{GUIDES[generator]}.md"), flags=re.S)))
    lacking = set(inspect.signature(getattr(lw, generator)).parameters) - named - {"func_or_sig", "f", "layout"}
    assert not lacking, f"docs/{GUIDES[generator]}.md does not name {sorted(lacking)}"


# ---- errors.md ----


def sections() -> dict[str, str]:
    found = re.split(r"^### ([EW]\d{3}): .*\n", read("docs/errors.md"), flags=re.M)
    return dict(zip(found[1::2], found[2::2]))


def codes_in_source() -> set[str]:
    found: set[str] = set()
    for name in files():
        if name.startswith(("core/", "ufunc/", "gufunc/", "forall/", "random/", "reduce/")) and name.endswith((".c", ".h")):
            found |= set(re.findall(r'"([EW]\d{3})\b', read(name)))
    return found


def test_every_code_is_explained():
    assert codes_in_source() == set(sections())


def test_every_section_says_cause_and_cure():
    lacking = [code for code, text in sections().items() if "Cause:" not in text or "Cure:" not in text]
    assert not lacking, lacking


PROGRAMS = {code: block[1] for code, text in sections().items() if (block := re.search(r"```python\n(.*?)```", text, re.S))}


def test_nearly_every_code_has_a_program():
    assert set(sections()) - set(PROGRAMS) <= {"E171", "W201", "W202"}


@pytest.mark.parametrize("code", sorted(PROGRAMS))
def test_program_of_an_error(code, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)  # `x is 3`
        warnings.simplefilter("error", lw.errors.PrecisionWarning)
        warnings.filterwarnings("error", "W20[45678]")
        with pytest.raises(Exception) as caught:
            as_module(PROGRAMS[code], tmp_path / f"program_{code}.py")
    message = str(caught.value)
    assert code in message, message
    assert len(message.splitlines()) <= 12
    if isinstance(caught.value, lw.errors.CompileError):
        assert caught.value.code == code
    else:
        assert isinstance(caught.value, (TypeError, OSError, RuntimeWarning, lw.errors.PrecisionWarning, lw.errors.PerformanceWarning)), type(caught.value)


# ---- typing.md against the library ----


def test_promotion_tables_are_the_librarys():
    spec = importlib.util.spec_from_file_location("docs_generate", ROOT / "docs" / "generate.py")
    generate = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(generate)
    wrong = []
    for typing in ("weak", "numba"):
        add = lw.vectorize(typing=typing)(lambda x, y: x + y)
        for x in generate.PROMOTION:
            for y in generate.PROMOTION:
                got = add.resolve_dtypes((np.dtype(x), np.dtype(y), None))[-1]
                if got != np.dtype(generate.promoted(typing, x, y)):
                    wrong.append(f"{typing}: {x} + {y} is {got}, the document says {generate.promoted(typing, x, y)}")
    assert not wrong, "\n".join(wrong)

"""Metadata, README, the configuration of wheels, the conda recipe, and what make test looks for first."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys

import pytest

from source_tree import ROOT, read

tomllib = pytest.importorskip("tomllib")  # from Python 3.11 on
PROJECT = tomllib.loads(read("pyproject.toml"))


def test_metadata_is_complete():
    project = PROJECT["project"]
    assert project["authors"] == [{"name": "lanewise developers"}]
    assert len(project["keywords"]) >= 5 and "urls" not in project  # no addresses that nobody has
    assert {"Typing :: Typed", "Operating System :: POSIX :: Linux"} <= set(project["classifiers"])
    for field in ("description", "readme", "license", "requires-python"):
        assert project[field]
    assert all(len(line) < 200 for line in project["keywords"])


def test_every_python_has_a_wheel():
    built = PROJECT["tool"]["cibuildwheel"]["build"]
    named = {f"{tag[2]}.{tag[3:].rstrip('-*')}" for tag in built}
    assert named == {"3.10", "3.11", "3.12", "3.13", "3.14", "3.13t", "3.14t"}
    classified = {item.rsplit(" ", 1)[1] for item in PROJECT["project"]["classifiers"] if re.search(r":: 3\.\d+$", item)}
    assert classified == {name for name in named if not name.endswith("t")}
    linux = PROJECT["tool"]["cibuildwheel"]["linux"]
    assert linux["archs"] == ["x86_64", "aarch64"]
    assert {linux["manylinux-x86_64-image"], linux["manylinux-aarch64-image"]} == {"manylinux_2_28"}
    # 3.13t needs an option that cibuildwheel 4 no longer has, and rejects
    assert PROJECT["tool"]["cibuildwheel"]["enable"] == ["cpython-freethreading"] and "'cibuildwheel>=3.1,<4'" in read("packaging/README.md")
    for name in re.findall(r"\{project\}/(\S+)", PROJECT["tool"]["cibuildwheel"]["test-command"]):
        assert (ROOT / name).exists(), name


def test_readme_renders_on_an_index():
    renderer = pytest.importorskip("readme_renderer.markdown")
    page = renderer.render(read("README.md"))
    assert page and "<h1" in page and "<pre" in page


def test_recipe_says_what_pyproject_says():
    recipe = read("packaging/conda/recipe.yaml")
    project = PROJECT["project"]
    assert f'version: "{project["version"]}"' in recipe and f"summary: {project['description']}" in recipe
    for requirement in project["dependencies"]:
        name, version = re.fullmatch(r"([\w-]+)(>=.*)", requirement).groups()
        assert f"- {name} {version}" in recipe, requirement
    assert re.search(r"scikit-build-core >=0\.11", recipe) and "scikit-build-core>=0.11" in PROJECT["build-system"]["requires"]


@pytest.mark.parametrize("lacking, word", [("cc", "a C compiler"), ("git", "git"), ("python", "Python 3.10 or newer")])
def test_make_test_says_what_to_install(lacking, word, tmp_path):
    if not (ROOT / ".git").exists():
        pytest.skip("an unpacked source archive")
    for name in {"cc", "git", "env", "bash"} - {lacking}:
        (tmp_path / name).symlink_to("/bin/true" if name != "bash" else "/bin/bash")
    python = sys.executable if lacking != "python" else "/nowhere/python3"
    done = subprocess.run(["/bin/bash", str(ROOT / "tests/needs.sh"), python], cwd=ROOT, env={"PATH": str(tmp_path)}, capture_output=True, text=True)
    said = [line for line in done.stderr.splitlines() if "headers" not in line]
    assert done.returncode == 1 and len(said) == 1 and said[0].startswith(f"make test needs {word}: "), done.stderr
    assert "apt-get install" in said[0]


def test_building_without_headers_says_what_to_install(tmp_path):
    """pip shows what CMake said, as on Debian without python3-dev."""
    cmake = shutil.which("cmake", path=os.path.dirname(sys.executable)) or shutil.which("cmake")
    if cmake is None or not (ROOT / "CMakeLists.txt").exists():
        pytest.skip("no cmake")
    done = subprocess.run([cmake, "-S", str(ROOT), "-B", str(tmp_path), f"-DPython_EXECUTABLE={sys.executable}", "-DPython_INCLUDE_DIR=/nowhere"],
                          capture_output=True, text=True)
    said = " ".join(done.stderr.split())
    assert done.returncode and "the header files of" in said and "apt-get install python3-dev" in said, done.stderr


@pytest.mark.parametrize("what", ["demo", "docs"])
def test_the_other_commands_say_it_too(what, tmp_path):
    """They need no git."""
    (tmp_path / "bash").symlink_to("/bin/bash")
    for name in ("dirname", "env"):
        (tmp_path / name).symlink_to(f"/usr/bin/{name}")
    make = next((path for path in ("/usr/bin/make", "/usr/bin/gmake") if os.path.exists(path)), None)
    if make is None:
        pytest.skip("no make")
    done = subprocess.run([make, what, f"PYTHON={sys.executable}", "VENV=/nowhere/venv", "DOCS_VENV=/nowhere/venv"], cwd=ROOT, env={"PATH": str(tmp_path)}, capture_output=True, text=True)
    said = [line for line in done.stderr.splitlines() if line.startswith("make ") and "headers" not in line and "***" not in line]
    assert done.returncode != 0 and len(said) == 1 and said[0].startswith(f"make {what} needs a C compiler: "), done.stderr


def test_make_test_has_what_it_needs():
    done = subprocess.run(["bash", str(ROOT / "tests/needs.sh"), sys.executable], cwd=ROOT, env=os.environ, capture_output=True, text=True)
    assert done.returncode == 0 and done.stderr == ""

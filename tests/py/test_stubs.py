"""Stubs and runtime say the same: every public name is in both, signatures match where the runtime
knows them (mypy's own stubtest), and user code type-checks as it runs."""

from __future__ import annotations

import ast
import importlib
import os
import subprocess
import sys

import pytest

import lanewise as lw
from source_tree import ROOT

pytest.importorskip("mypy", reason="mypy is missing: the stubs cannot be checked")

CONFIG = str(ROOT / "pyproject.toml")
MODULES = ["lanewise", "lanewise.bf16", "lanewise.cache", "lanewise.config", "lanewise.cuda", "lanewise.errors", "lanewise.extending", "lanewise.fp16", "lanewise.random", "lanewise.reductions", "lanewise.special", "lanewise.types", "lanewise.ufuncs"]


def mypy(module: str, *arguments: str, cwd) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "MYPYPATH": str(ROOT), "MYPY_CACHE_DIR": str(cwd / "mypy-cache")}
    environment.pop("LD_PRELOAD", None)  # mypy is not what the sanitizers look at
    return subprocess.run([sys.executable, "-m", module, *arguments], cwd=cwd, env=environment, capture_output=True, text=True)


#: Names of other libraries whose AttributeError says what to write: no stub has them.
NO_ATTRIBUTES = r"lanewise\.cuda\.DeviceArray\.(get|cpu|numpy)"


@pytest.mark.skipif("LW_ASAN" in os.environ, reason="imports the extension without the sanitizer")
def test_stubtest(tmp_path):
    (tmp_path / "allowed").write_text(NO_ATTRIBUTES, encoding="utf-8")
    done = mypy("mypy.stubtest", "lanewise", "--concise", "--mypy-config-file", CONFIG, "--allowlist", "allowed", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_package_type_checks(tmp_path):
    done = mypy("mypy", "--config-file", CONFIG, str(ROOT / "lanewise"), cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


GOOD = '''
from typing import Any

import numpy as np

import lanewise as lw
from lanewise import cuda, float32, vectorize


@vectorize
def f(x: Any, y: Any) -> Any:
    return x * y + 1


@vectorize(["float32(float32)", "f8(f8)"], identity=0, target="cpu", fastmath={"contract"})
def g(x: Any) -> Any:
    return x / 2


@lw.forall(ndim=2)
def scale(i: Any, j: Any, a: Any, out: Any) -> None:
    out[i, j] *= a


@cuda.jit(target="cpu")
def bump(x: Any) -> None:
    i = cuda.grid(1)
    if i < x.size:
        x[i] += 1


scale((2, 3), 2.0, np.ones((2, 3)))
bump[1, 32](np.ones(3))
np.random.default_rng(1).shuffle(lw.random.Generator(1).random(3))
reveal_type(scale)
reveal_type(bump)
reveal_type(lw.random.alias_table([1, 2]))
reveal_type(f)
reveal_type(g.types)
reveal_type(float32(float32, float32))
reveal_type(float32[:, ::1])
reveal_type(lw.compile(f, "f4(f4, f4)"))
reveal_type(lw.compile(f, "f4(f4, f4)", "host", "asm"))
reveal_type(lw.add)
reveal_type(lw.info())
reveal_type(cuda.to_device(np.ones(3)).shape)
matrix, d = np.ones((3, 3)), cuda.to_device(np.ones(3))
reveal_type(f(matrix, 2.0))
reveal_type(f(1.0, matrix))
reveal_type(f.outer(matrix, matrix))
reveal_type(lw.special.erf(matrix))
reveal_type(lw.reductions.mean(matrix, axis=0))
reveal_type(lw.reductions.cumsum(matrix))
reveal_type(f(d, 2.0))
reveal_type(2.0 * d + d)
reveal_type(d < 2)
reveal_type(d[1:])
reveal_type(d.sum())
reveal_type(lw.reductions.argmax(d))
reveal_type(lw.reductions.minmax(d))
with lw.config(target="cpu"):
    f(np.ones(3), 2.0, out=np.ones(3))
try:
    f.reduce([1.0, 2.0], axis=None, keepdims=True)
except lw.errors.CompileError as problem:
    reveal_type(problem.lineno)
'''
REVEALED = ["Forall", "Kernel", "tuple[", "Ufunc", "list[", "Signature", "Type", "bytes", "str", "Ufunc", "dict[", "tuple[",
            *["numpy.ndarray["] * 6, *["lanewise.cuda.DeviceArray"] * 6, "tuple[lanewise.cuda.DeviceArray", "int"]

BAD = '''
import lanewise as lw

lw.vectorize(target="gpu")(abs)
lw.vectorize(nopthon=True)(abs)
lw.nonsense
lw.compile(abs, "f4(f4)", output="exe")
lw.float32 + 1
lw.vectorize(abs).reduce([1], keepdims="yes")
'''


def test_user_code_type_checks(tmp_path):
    (tmp_path / "good.py").write_text(GOOD)
    done = mypy("mypy", "--strict", "--config-file", CONFIG, "good.py", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    notes = [line.split('"')[1] for line in done.stdout.splitlines() if "Revealed type" in line]
    assert len(notes) == len(REVEALED)
    assert all(expected in note for expected, note in zip(REVEALED, notes)), notes


def test_wrong_user_code_is_told(tmp_path):
    (tmp_path / "bad.py").write_text(BAD)
    done = mypy("mypy", "--config-file", CONFIG, "bad.py", cwd=tmp_path)
    lines = {int(line.split(":")[1]) for line in done.stdout.splitlines() if line.startswith("bad.py") and "error" in line}
    assert lines == {4, 5, 6, 7, 8, 9}, done.stdout


@pytest.mark.parametrize("name", MODULES)
def test_all_is_complete(name):
    """__all__ is sorted out: every name in it exists, every public name made here is in it."""
    module = importlib.import_module(name)
    if not hasattr(module, "__all__"):
        pytest.skip(f"{name} has no __all__")
    listed = module.__all__
    assert len(set(listed)) == len(listed)
    missing = [public for public in listed if not hasattr(module, public)]
    assert not missing, missing
    stub = ROOT / (name.replace(".", "/") + ("/__init__.pyi" if name == "lanewise" else ".pyi"))
    if stub.is_file():
        said = next(ast.literal_eval(node.value) for node in ast.parse(stub.read_text()).body
                    if isinstance(node, ast.Assign) and node.targets[0].id == "__all__")
        assert said == listed


def test_every_ufunc_is_at_top_level():
    assert [name for name in lw.ufuncs.__all__ if getattr(lw, name) is not getattr(lw.ufuncs, name)] == []
    stub = ast.parse((ROOT / "lanewise" / "__init__.pyi").read_text())
    imported = {alias.name for node in stub.body if isinstance(node, ast.ImportFrom) and node.module == "lanewise.ufuncs" for alias in node.names}
    assert imported == set(lw.ufuncs.__all__)


def test_signatures_of_the_runtime():
    """What help() and inspect show for C functions."""
    import inspect

    shown = inspect.signature(lw.vectorize)
    assert list(shown.parameters)[:4] == ["signatures", "target", "identity", "typing"]
    assert all(p.kind is p.KEYWORD_ONLY for name, p in shown.parameters.items() if name != "signatures")
    with pytest.raises(TypeError, match="nonsense"):
        lw.vectorize(nonsense=1)
    for name in shown.parameters:  # every keyword that is shown is known
        if name not in ("signatures", "source"):
            lw.vectorize(**{name: shown.parameters[name].default})(lambda x: x)
    assert list(inspect.signature(lw.compile).parameters) == ["f", "sig", "target", "output"]
    assert list(inspect.signature(lw.vectorize(lambda a, b: a + b)).parameters)[:2] == ["a", "b"]


# An overload and a model, as in docs/extending.md.
KINDS = '''
@lw.extending.overload_attribute(lw.types.Array, "middle")
def select(row: Any) -> Any:
    if isinstance(row, lw.types.Array) and row.ndim == 1 and row.layout == "C":
        return lambda row: row[row.size // 2]


class Model(lw.extending.models.StructModel):
    def __init__(self, dmm: Any, fe_type: lw.types.Type) -> None:
        lw.extending.models.StructModel.__init__(self, dmm, fe_type, [("lo", lw.float64)])
'''


def test_examples_are_clean_and_results_are_arrays(tmp_path):
    """mypy --strict on examples/, whose compiled functions have no annotations; calls with arrays give arrays."""
    (tmp_path / "results.py").write_text(
        "from typing import Any\nimport numpy as np\nfrom numpy.typing import NDArray\nimport lanewise as lw\nfrom lanewise import cuda\n"
        "def results(x: NDArray[np.float64], d: cuda.DeviceArray, f: lw.Ufunc, g: lw.Gufunc, r: lw.Reduction) -> None:\n"
        + "".join(f"    reveal_type({call})\n" for call in ("f(x, 2.0)", "f(2.0, x)", "g(x)", "r(x, axis=0)", "r.accumulate(x)", "f(x, table=x)", "f(d)", "g(d)", "r(d)")) + KINDS)
    command = [sys.executable, "-m", "mypy", "--strict", "--disable-error-code=no-untyped-def", "--disable-error-code=no-untyped-call", "--config-file", str(ROOT / "pyproject.toml")]
    examples = [*sorted((ROOT / "examples").glob("*.py")), *sorted((ROOT / "examples" / "gallery").glob("plot_*.py"))]
    done = subprocess.run([*command, str(tmp_path / "results.py"), *map(str, examples)],
                          capture_output=True, text=True, env=dict(os.environ, MYPYPATH=str(ROOT)), cwd=tmp_path)
    assert done.returncode == 0, done.stdout
    assert done.stdout.count("numpy.ndarray") == 6 and done.stdout.count('"lanewise.cuda.DeviceArray"') == 3, done.stdout

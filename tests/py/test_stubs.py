"""Stubs and runtime say the same: every public name is in both, signatures match where the runtime
knows them (mypy's own stubtest), and user code type-checks as it runs."""

from __future__ import annotations

import ast
import importlib
import json
import os
import subprocess
import sys

import pytest

import lanewise as lw
from source_tree import ROOT

pytest.importorskip("mypy", reason="mypy is missing: the stubs cannot be checked")

CONFIG = str(ROOT / "pyproject.toml")
MODULES = ["lanewise", "lanewise.bf16", "lanewise.cache", "lanewise.config", "lanewise.cuda", "lanewise.errors", "lanewise.extending", "lanewise.fp16", "lanewise.random", "lanewise.reductions", "lanewise.special", "lanewise.types", "lanewise.ufuncs"]


@pytest.fixture(scope="session")
def mypy_caches(tmp_path_factory):
    """What mypy found out about NumPy's stubs, which takes most of its time, for the later calls with the same options: files that were made
    with others are made anew. Each process of pytest-xdist has its own."""
    return tmp_path_factory.mktemp("mypy-caches")


@pytest.fixture
def mypy(tmp_path, mypy_caches):
    """mypy("mypy", "--strict", "file.py") in an empty folder: CompletedProcess."""

    def run(module: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        cache = mypy_caches / ("strict" if "--strict" in arguments else "plain")
        environment = {**os.environ, "MYPYPATH": str(ROOT), "MYPY_CACHE_DIR": str(cache)}
        environment.pop("LD_PRELOAD", None)  # mypy is not what the sanitizers look at
        return subprocess.run([sys.executable, "-m", module, *arguments], cwd=tmp_path, env=environment, capture_output=True, text=True)

    return run


#: Names of other libraries whose AttributeError says what to write: no stub has them.
NO_ATTRIBUTES = r"lanewise\.cuda\.DeviceArray\.(get|cpu|numpy|flat|tofile)"


@pytest.mark.skipif("LW_ASAN" in os.environ, reason="imports the extension without the sanitizer")
def test_stubtest(mypy, tmp_path):
    (tmp_path / "allowed").write_text(NO_ATTRIBUTES, encoding="utf-8")
    done = mypy("mypy.stubtest", "lanewise", "--concise", "--mypy-config-file", CONFIG, "--allowlist", "allowed")
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_package_type_checks(mypy):
    done = mypy("mypy", "--config-file", CONFIG, str(ROOT / "lanewise"))
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
single, whole = np.ones(3, np.float32), np.ones(3, np.uint8)
reveal_type(lw.reductions.sum(matrix))
reveal_type(lw.reductions.sum(single))
reveal_type(lw.reductions.sum(whole))
reveal_type(lw.reductions.mean(whole))
reveal_type(lw.reductions.max(whole))
reveal_type(lw.reductions.any(single))
reveal_type(lw.reductions.argmax(single))
reveal_type(lw.reductions.top1(single, whole))
reveal_type(lw.reductions.sum(single, dtype=np.float64))
reveal_type(lw.reductions.sum([1.0, 2.0]))
total: float = lw.reductions.sum(matrix)
with lw.config(target="cpu"):
    f(np.ones(3), 2.0, out=np.ones(3))
try:
    f.reduce([1.0, 2.0], axis=None, keepdims=True)
except lw.errors.CompileError as problem:
    reveal_type(problem.lineno)
'''
REVEALED = ["Forall", "Kernel", "tuple[", "Ufunc", "list[", "Signature", "Type", "bytes", "str", "Ufunc", "dict[", "tuple[",
            *["numpy.ndarray["] * 6, *["lanewise.cuda.DeviceArray"] * 6, "tuple[lanewise.cuda.DeviceArray",
            "float64", "floating[", "unsignedinteger[", "float64", "unsignedinteger[", "bool", "signedinteger[", "tuple[numpy.floating[", "Any", "Any", "int"]

BAD = '''
import lanewise as lw

lw.vectorize(target="gpu")(abs)
lw.vectorize(nopthon=True)(abs)
lw.nonsense
lw.compile(abs, "f4(f4)", output="exe")
lw.float32 + 1
lw.vectorize(abs).reduce([1], keepdims="yes")
'''


def test_user_code_type_checks(mypy, tmp_path):
    (tmp_path / "good.py").write_text(GOOD)
    done = mypy("mypy", "--strict", "--config-file", CONFIG, "good.py")
    assert done.returncode == 0, done.stdout + done.stderr
    notes = [line.split('"')[1] for line in done.stdout.splitlines() if "Revealed type" in line]
    assert len(notes) == len(REVEALED)
    assert all(expected in note for expected, note in zip(REVEALED, notes)), notes


def test_wrong_user_code_is_told(mypy, tmp_path):
    (tmp_path / "bad.py").write_text(BAD)
    done = mypy("mypy", "--config-file", CONFIG, "bad.py")
    lines = {int(line.split(":")[1]) for line in done.stdout.splitlines() if line.startswith("bad.py") and "error" in line}
    assert lines == {4, 5, 6, 7, 8, 9}, done.stdout


@pytest.mark.distinct_cases
@pytest.mark.parametrize("name", MODULES)
def test_all_is_complete(name):
    """Every name in __all__ exists, and __all__ has every public name that the module makes."""
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
    """help() and inspect show the signatures of C functions."""
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


# What a user of mypy --strict writes: no error class is disabled. It runs, too; reveal_type returns its argument.
ANNOTATED = '''
import math

import numpy as np
from numpy.typing import NDArray
from typing_extensions import reveal_type

import lanewise as lw
from lanewise import cuda

A = NDArray[np.float64]


@lw.vectorize
def f(x: float, y: float) -> float:
    return x * y + 1


@lw.vectorize(["f8(f8)"], target="cpu")
def g(x: float) -> float:
    return f(x, x) / 2


@lw.vectorize
def split(x: float) -> tuple[float, int]:
    return x - int(x), int(x)


@lw.guvectorize("(n),()->(n)")
def scaled(x: A, w: float, out: A) -> None:
    for i in range(x.shape[0]):
        out[i] = x[i] * w


@lw.guvectorize("(n)->(),()")
def extent(x: A) -> tuple[float, float]:
    return np.min(x), np.max(x)


@lw.forall
def saxpy(i: int, a: float, x: A, y: A) -> None:
    y[i] += a * x[i]


@lw.jit
def dot(x: A, y: A) -> float:
    total = 0.0
    for i in lw.prange(x.size):
        total += x[i] * y[i]
    return total


@lw.njit(parallel=True)
def norm(x: A) -> float:
    return math.sqrt(dot(x, x))


@cuda.jit(target="cpu")
def kernel(x: A) -> None:
    i = cuda.grid(1)
    if i < x.size:
        cuda.atomic.add(x, 0, 1.0)


@lw.cfunc("f8(f8)")
def callback(x: float) -> float:
    return 2 * x


@lw.reduce(identity=0)
def total(a: float, b: float) -> float:
    return a + b


def merged(a: tuple[float, int], b: tuple[float, int]) -> tuple[float, int]:
    return a[0] + b[0], a[1] + b[1]


def divided(x: float, n: int) -> float:
    return x / n


mean = lw.reduce(map=lambda x: (x, 1), combine=merged, finish=divided)
both = lw.reduce(merged, map=lambda x: (x, 1))
generator = lw.random.Generator(1)


def fraction(x: A) -> tuple[A, A]:
    return split(x)


def nested(x: A) -> A:
    return f(f(lw.sin(x), generator.random(3)), lw.reductions.cumsum(f(x, 1.0)))


def weight(x: A) -> float:
    return total(x) + norm(x) + callback(2.0)


x, m = np.ones(3), np.ones((2, 3))
kernel[1, 32](x)
saxpy(x.size, 2.0, x, x)
arrays = [
    reveal_type(f(x, 2.0)),
    reveal_type(f(1.0, x)),
    reveal_type(f([1.0, 2.0, 3.0], x)),
    reveal_type(g(m)),
    reveal_type(scaled(m, 2.0)),
    reveal_type(total(m, axis=0)),
    reveal_type(mean(m, axis=1)),
    reveal_type(total.accumulate(x)),
    reveal_type(generator.random(3)),
    reveal_type(generator.normal(size=(2, 3))),
    reveal_type(lw.random.default_rng(1).gamma(1.5, 4.0, 3)),
    reveal_type(f(f(m, 1.0), g(m))),  # mypy takes overloads for ambiguous where several fit an argument with Any in its type
    reveal_type(lw.reductions.mean(f(m, 1.0), axis=0)),
    nested(x),
]
pairs = [
    reveal_type(split(x)),
    reveal_type(extent(m)),
    reveal_type(both(m, axis=0)),
    reveal_type(lw.divmod(x, x)),
    reveal_type(lw.special.sici(x)),
    fraction(x),
]
numbers = [
    reveal_type(f(1.0, 2.0)),
    reveal_type(total(x)),
    reveal_type(mean(x)),
    reveal_type(norm(x)),
    weight(x),
]


def given(f: lw.Ufunc[float], g: lw.Gufunc, r: lw.Reduction[float], k: lw.Kernel[None], c: lw.CFunc[float], n: lw.random.Generator) -> A:
    return f(n.random(3), 2.0)


def on_gpu(d: cuda.DeviceArray, n: lw.random.Generator[cuda.DeviceArray]) -> list[cuda.DeviceArray]:
    return [f(d, 1.0), f(1.0, d), scaled(d, 2.0), total(d), n.random(3), *split(d), *both(d, axis=0)]


assert all(isinstance(array, np.ndarray) for array in arrays)
assert all(isinstance(one, np.ndarray) for pair in pairs for one in pair)
assert all(isinstance(number, float) for number in numbers), numbers
given(f, scaled, total, kernel, callback, generator)
'''
N_ARRAYS, N_PAIRS, N_NUMBERS = 13, 5, 4


def test_annotated_functions_need_no_class_disabled(mypy, tmp_path):
    path = tmp_path / "annotated.py"
    path.write_text(ANNOTATED)
    done = mypy("mypy", "--strict", "--config-file", CONFIG, str(path))
    assert done.returncode == 0, done.stdout + done.stderr
    notes = [line.split('"')[1] for line in done.stdout.splitlines() if "Revealed type" in line]
    starts = ["numpy.ndarray["] * N_ARRAYS + ["tuple[numpy.ndarray["] * N_PAIRS + ["float"] * N_NUMBERS
    assert len(notes) == len(starts)
    assert all(note.removeprefix("builtins.").startswith(start) for note, start in zip(notes, starts)), notes
    exec(compile(ANNOTATED, str(path), "exec"), {"__name__": "annotated"})  # and it runs: the classes may be subscripted, the results are what was said


EXAMPLES = [*sorted((ROOT / "examples").glob("*.py")), *sorted((ROOT / "examples" / "gallery").glob("plot_*.py"))]


def test_examples_are_clean_and_results_are_arrays(mypy, tmp_path):
    """mypy --strict on examples/ and the gallery, whose compiled functions have no annotations, as each file says; calls with arrays give arrays."""
    (tmp_path / "results.py").write_text(
        "from typing import Any\nimport numpy as np\nfrom numpy.typing import NDArray\nimport lanewise as lw\nfrom lanewise import cuda\n"
        "def results(x: NDArray[np.float64], d: cuda.DeviceArray, f: lw.Ufunc, g: lw.Gufunc, r: lw.Reduction) -> None:\n"
        + "".join(f"    reveal_type({call})\n" for call in ("f(x, 2.0)", "f(2.0, x)", "g(x)", "r(x, axis=0)", "r.accumulate(x)", "f(x, table=x)", "f(d)", "g(d)", "r(d)")) + KINDS)
    done = mypy("mypy", "--strict", "--config-file", CONFIG, str(tmp_path / "results.py"), *map(str, EXAMPLES))
    assert done.returncode == 0, done.stdout
    revealed = [line for line in done.stdout.splitlines() if "Revealed type" in line and "results.py" in line]
    assert ["numpy.ndarray" in line for line in revealed] == [True] * 6 + [False] * 3 and all('"lanewise.cuda.DeviceArray"' in line for line in revealed[6:]), done.stdout


def test_pyright_is_clean(tmp_path):
    pytest.importorskip("pyright", reason="pyright is missing; pip install 'pyright[nodejs]' (it fetches itself from npm)")
    (tmp_path / "annotated.py").write_text(ANNOTATED)
    (tmp_path / "pyrightconfig.json").write_text(json.dumps({
        "typeCheckingMode": "standard", "include": ["annotated.py", *map(str, EXAMPLES)], "extraPaths": [str(ROOT)], "pythonVersion": "3.10"}))
    done = subprocess.run([sys.executable, "-m", "pyright", "-p", str(tmp_path), "--pythonpath", sys.executable], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    types = [line.split('" is "')[1] for line in done.stdout.splitlines() if "Type of" in line]
    starts = ["ndarray["] * N_ARRAYS + ["tuple[ndarray["] * N_PAIRS + ["float"] * N_NUMBERS
    assert len(types) == len(starts) and all(a.startswith(b) for a, b in zip(types, starts)), types

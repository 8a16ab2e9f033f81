"""Functions from wherever a user has them: the interpreter's arguments and input, prompts, caches, archives, partial objects."""

from __future__ import annotations

import dataclasses
import functools
import linecache
import math
import os
import pty
import py_compile
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile

import numpy as np
import pytest

import lanewise as lw
from lanewise import cuda, errors

PROGRAM = "import lanewise as lw\ndef g(x):\n    return x + 1\nprint(lw.vectorize(g)(1.0), lw.vectorize(lambda x: x * 3)(1.0))\n"
BASH = shutil.which("bash")


def run(*args, check=True, **options):
    return subprocess.run([sys.executable, *args], capture_output=True, text=True, check=check, timeout=120, **options)


def test_programs_that_are_no_file(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    assert run("-c", PROGRAM).stdout == "2.0 3.0\n"
    with open(tmp_path / "program.py") as file:
        assert run("-", stdin=file).stdout == "2.0 3.0\n"
    assert run("-m", "program", cwd=tmp_path).stdout == "2.0 3.0\n"
    assert run("-m", "pdb", "-c", "continue", "-c", "quit", str(tmp_path / "program.py")).stdout.startswith("2.0 3.0\n")


CLASSES = """import functools, lanewise as lw
from collections import namedtuple
from dataclasses import dataclass, field
from typing import NamedTuple
@dataclass
class Near:
    x: float
    def __eq__(self, o): return abs(self.x - o.x) < 1
    def twice(self): return self.x * 2
    @property
    def half(self): return self.x / 2
    @staticmethod
    def seven(): return 7.0
@dataclass
class Made:
    x: float
    def __init__(self, x): self.x = x * 10
@dataclass(frozen=True, order=True)
class Generated:
    x: float
    y: float = 1.0
    def __post_init__(self): object.__setattr__(self, "y", self.y + 1.0)
@dataclass(slots=True, eq=False)
class Slots:
    x: float
    y: float = field(default=2.0, init=False)
    def __lt__(self, o): return self.x > o.x
class Pair(NamedTuple):
    x: float
    y: float
    def __eq__(self, o): return True
    def __add__(self, o): return 5.0
class Derived(namedtuple("Base", "x y")):
    def total(self): return self.x + self.y
class Plain:
    def __init__(self, x): self.x = x
    def __lt__(self, o): return self.x > o.x
def local():
    @dataclass
    class Inner:
        x: float
        def __eq__(self, o): return abs(self.x - o.x) < 1
        def __le__(self, o): return True
    @dataclass(order=True)
    class Default:
        x: float
        def __repr__(self): return "d"
    return Inner, Default
Inner, Default = local()
def f(x):
    g, s = Generated(x), Slots(x)
    return (Near(x) == Near(x + 0.5), Near(x).twice(), Near(x).half, Near.seven(), Made(x).x, g == Generated(x), g < Generated(x), g.y, s < Slots(x + 1), s.y,
            Pair(x, x) == Pair(x, 3.0), Pair(x, x) + Pair(x, x), Derived(x, 1.0).total(), Plain(x) < Plain(x - 1), Inner(x) == Inner(x + 0.5),
            Inner(x + 9) <= Inner(x), Default(x) < Default(x + 1), Default(x) == Default(x))
"""


def test_methods_of_classes_that_are_no_file(tmp_path):
    """Functions that dataclasses generate have the file name of `python -c`; what the user writes counts there all the same."""
    check = CLASSES + "want = f(1.5)\nfor got in (lw.jit(f)(1.5), tuple(v.item() for v in lw.vectorize(f)(1.5))):\n    assert got == want, (got, want)\nprint(len(want))\n"
    (tmp_path / "program.py").write_text(check)
    for args in (["-c", check], [str(tmp_path / "program.py")]):
        done = run(*args, check=False)
        assert done.stdout == "18\n", done.stderr


def test_a_pipe_is_told_from_other_causes():
    """One line says what to do in each case."""
    piped = run("-", input=PROGRAM, check=False).stderr
    assert "E170: no source text for `g`" in piped and "through a pipe cannot be read again" in piped and "`cat > program.py <<'EOF'`" in piped
    made = run("-c", "import lanewise as lw\nspace = {}\nexec('def g(x): return sum(x for _ in (0,))', space)\nlw.vectorize(space['g'])(1.0)", check=False).stderr
    assert "exec and eval keep none" in made and "`source=`" in made
    made = run("-c", "import lanewise as lw\nlw.vectorize(eval('lambda x: sum(x for _ in (0,))'))(1.0)", check=False).stderr
    assert "exec and eval keep none" in made


@pytest.mark.skipif(BASH is None, reason="bash is missing")
def test_what_the_message_says_about_pipes_works(tmp_path):
    for command in (f"cat > program.py <<'EOF'\n{PROGRAM}EOF\n{sys.executable} program.py\n", f"{sys.executable} -c \"$(cat <<'EOF'\n{PROGRAM}EOF\n)\"\n"):
        done = subprocess.run([BASH, "-c", command], capture_output=True, text=True, check=True, cwd=tmp_path)
        assert done.stdout == "2.0 3.0\n"


def test_a_module_without_its_file(tmp_path):
    (tmp_path / "bare.py").write_text("def g(x):\n    while x < 0:\n        x += 1\n    return x\n")
    py_compile.compile(str(tmp_path / "bare.py"), cfile=str(tmp_path / "bare.pyc"))
    (tmp_path / "bare.py").unlink()
    done = run("-c", "import bare, lanewise as lw\nlw.vectorize(bare.g)(1.0)", check=False, cwd=tmp_path)
    assert "E170" in done.stderr and "its file is not there" in done.stderr and "put the .py file next to the .pyc" in done.stderr


def test_an_archive(tmp_path, monkeypatch):
    with zipfile.ZipFile(tmp_path / "archive.zip", "w") as archive:
        archive.writestr("lw_in_archive.py", "def g(x):\n    return x + 41\n")
    monkeypatch.syspath_prepend(str(tmp_path / "archive.zip"))
    import lw_in_archive
    assert lw.vectorize(lw_in_archive.g)(1.0) == 42


SESSION = """import lanewise as lw
f = lw.vectorize(lambda x: x + 1)
print("first", f(1.0))
@lw.jit
def g(x):
    y = x * 2
    return y + 1

print("second", g(3))
def h(a, b=2):
    if a > b:
        return a
    return g(b)

print("third", lw.vectorize(h)(1))
f = lw.vectorize(lambda x: x + 2); print("fourth", f(1.0))
exit()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="pseudo-terminals as Linux has them")
def test_a_prompt(tmp_path):
    """Before Python 3.13 what was typed is in readline's history, from then on in linecache."""
    pytest.importorskip("readline")
    environment = dict(os.environ, TERM="dumb", HOME=str(tmp_path), PYTHON_HISTORY=str(tmp_path / "history"))
    child, terminal = pty.fork()
    if child == 0:
        os.execve(sys.executable, [sys.executable, "-q", "-i"], environment)
    shown = b""
    os.write(terminal, SESSION.encode())
    end = time.monotonic() + 100
    while time.monotonic() < end:
        try:
            part = os.read(terminal, 4096)
        except OSError:  # the other end is closed
            break
        if not part:
            break
        shown += part
    os.close(terminal)
    os.waitpid(child, 0)
    text = shown.decode(errors="replace")
    for line in ("first 2.0", "second 7", "third 5", "fourth 3.0"):
        assert f"{line}\r\n" in text, text


# The file names that IPython, its kernel, marimo and the prompt of Python 3.13 give to what they compile: all are in linecache.
@pytest.mark.parametrize("name", ["<ipython-input-3-0123456789ab>", f"{tempfile.gettempdir()}/ipykernel_42/123456.py", f"{tempfile.gettempdir()}/marimo_42/__marimo__cell_Hbol_.py",
                                  "<python-input-0>", "<doctest some.module[3]>", "<unknown-cell>"])
def test_cells(name, monkeypatch):
    text = "def g(x):\n    return x + 7\nh = lambda x: x + 8\n"
    monkeypatch.setitem(linecache.cache, name, (len(text), None, text.splitlines(keepends=True), name))
    space: dict = {}
    exec(compile(text, name, "exec"), space)
    assert lw.vectorize(space["g"])(1.0) == 8 and lw.vectorize(space["h"])(1.0) == 9


def asserting(x):
    assert x > 0, "pytest has rewritten this"
    return x + 1


def test_blocks_of_a_file_that_are_compiled_one_by_one(tmp_path):
    """As sphinx-gallery runs examples: the compiler sees no import of another block, and calls a.b(...) by other bytecode then."""
    path = tmp_path / "gallery.py"
    first, second = "import math\nimport lanewise as lw\n", "@lw.vectorize\ndef f(x):\n    while x < 0:\n        x += 1\n    return math.sqrt(x)\n"
    path.write_text(first + second)
    names = {"__name__": "__main__"}
    for text in (first, "\n" * 2 + second):
        exec(compile(text, str(path), "exec"), names)
    assert names["f"](16.0) == 4
    path.write_text(first + second.replace("sqrt", "exp"))
    linecache.checkcache(str(path))
    with pytest.raises(OSError, match="E171"):
        exec(compile("\n" * 2 + second.replace("sqrt", "sin"), str(path), "exec"), names)


def test_what_pytest_rewrites():
    assert lw.vectorize(asserting)(1.0) == 2
    with pytest.raises(AssertionError, match="pytest has rewritten this"):
        lw.vectorize(asserting)(-1.0)


@pytest.mark.parametrize("options, raised", [((), True), (("-O",), False), (("-OO",), False)])
def test_assertions_go_as_pythons_do(options, raised, tmp_path):
    (tmp_path / "program.py").write_text(
        "import lanewise as lw\ndef g(x):\n    'text'\n    if __debug__:\n        x = x + 0\n    assert x > 0, undefined_name\n    return x + 1\n"
        "try:\n    print(lw.vectorize(g)(-1.0))\nexcept Exception as problem:\n    print(type(problem).__name__)\n".replace("undefined_name", "'text'"))
    assert run(*options, str(tmp_path / "program.py")).stdout == ("AssertionError\n" if raised else "0.0\n")


# ---- functools.partial ----

def weighted(a, x, k=2):
    return a * x + k


class Model:
    def __init__(self, scale):
        self.call = functools.partial(weighted, scale, k=1)

    def run(self, x):
        return self.call(x)


def test_partial():
    three, both = functools.partial(weighted, 3), functools.partial(functools.partial(weighted, 3), k=5)
    x = np.arange(4.0)
    np.testing.assert_array_equal(lw.vectorize(lambda x: three(x))(x), 3 * x + 2)
    np.testing.assert_array_equal(lw.vectorize(lambda x: both(x))(x), 3 * x + 5)
    np.testing.assert_array_equal(lw.vectorize(lambda x: both(x, k=7))(x), 3 * x + 7)
    np.testing.assert_array_equal(lw.vectorize(lambda x: both(x=x))(x), 3 * x + 5)
    np.testing.assert_array_equal(lw.vectorize(Model(2.0).run)(x), 2 * x + 1)
    powers, most = functools.partial(math.pow, 2.0), functools.partial(np.maximum, 1.5)
    np.testing.assert_array_equal(lw.vectorize(lambda x: powers(x) + most(x))(x), 2**x + np.maximum(1.5, x))
    rows = np.zeros(3)
    lw.forall(lambda i, out: _store(out, i, three(i)))(3, rows)
    np.testing.assert_array_equal(rows, [2, 5, 8])
    assert "3" in lw.compile(lambda x: three(x), "(float64)", target="sm_90", output="nvvm")


def _store(out, i, value):
    out[i] = value


def test_partial_that_changes():
    bound = functools.partial(weighted, 3, k=5)
    f = lw.vectorize(lambda x: bound(x))
    assert f(1.0) == 8
    bound.keywords["k"] = 100
    assert f(1.0) == bound(1.0) == 103


def test_partial_refused():
    three = functools.partial(weighted, 3)
    with pytest.raises(errors.TypingError, match="E153: too many arguments for `weighted`"):
        lw.vectorize(lambda x: three(x, 1, 2))(1.0)
    with pytest.raises(errors.TypingError, match="E153"):
        lw.vectorize(lambda x: three(x, y=2))(1.0)
    with pytest.raises(TypeError, match="call it in a function of yours"):
        lw.vectorize(three)
    with pytest.raises(errors.TypingError, match="E152"):
        lw.vectorize(lambda x: functools.partial(weighted, x)(2.0))(1.0)


def test_places_that_partial_leaves_open(monkeypatch):
    """Python 3.14 has functools.Placeholder."""
    if not hasattr(functools, "Placeholder"):
        monkeypatch.setattr(functools, "Placeholder", object(), raising=False)
    bound = functools.partial(weighted, functools.Placeholder, 4.0)
    assert lw.vectorize(lambda x: bound(x))(3.0) == 14
    with pytest.raises(errors.TypingError, match="E153: functools.partial leaves a place open"):
        lw.vectorize(lambda x: bound())(3.0)


# ---- what has no source ----

@dataclasses.dataclass
class Point:
    x: float
    y: float = 2.0


def test_generated_methods_are_those_of_the_class():
    assert lw.vectorize(lambda x: Point(x).y + Point(x, 3.0).x)(1.0) == 3
    assert lw.vectorize(lambda x: Point(x) == Point(1.0))(1.0)
    with pytest.raises(lw.LanewiseError):
        lw.vectorize(Point.__init__)(1.0, 2.0)


@pytest.mark.parametrize("thing", [len, np.sin, np.vectorize(lambda x: x + 1), cuda.grid, functools.partial(len), Model(1.0).call],
                         ids=["builtin", "ufunc", "vectorize", "name", "partial", "bound"])
def test_things_that_are_no_functions(thing):
    with pytest.raises(TypeError, match="expected a Python function"):
        lw.vectorize(thing)(1.0)


@pytest.mark.parametrize("problem", [ValueError("no function"), MemoryError(), KeyboardInterrupt()], ids=lambda problem: type(problem).__name__)
def test_a_look_up_that_fails(problem):
    """Only an AttributeError means that an object has no function."""

    class Stand:
        def __call__(self, x):
            return x

        @property
        def py_func(self):
            raise problem

    for decorate in (lw.vectorize(["f8(f8)"]), lw.guvectorize("(n)->()"), lw.jit(cache=False)):
        with pytest.raises(type(problem)):
            decorate(Stand())


@pytest.mark.skipif(sys.version_info < (3, 14), reason="t-strings are new in Python 3.14")
def test_template_strings():
    space: dict = {}
    text = "def g(x):\n    t'{x}'\n    return x\n"
    linecache.cache["<templates>"] = (len(text), None, text.splitlines(keepends=True), "<templates>")
    exec(compile(text, "<templates>", "exec"), space)
    with pytest.raises(errors.UnsupportedError, match="E101"):
        lw.vectorize(space["g"])(1.0)


@pytest.mark.parametrize("text", ["x[:, None] + x[None, :].T", "x[[0, 1, 1]]", "x[..., 0]", "x[::2, 1:]", "np.array([0.5, 1, 2])", "x[0:n, -1]", "np.sum(x[:, 0])", "x[(0, 1)]", "x[1:][0]"])
def test_subscripts_and_lists_of_functions_without_text(text):
    """`exec` of a text that no variable holds: the bytecode is read."""
    x, space = np.arange(9.0).reshape(3, 3), {"np": np}
    exec("def g(x, n): return " + text, space)
    np.testing.assert_array_equal(lw.njit(space["g"])(x, 2), space["g"](x, 2))


@pytest.mark.parametrize("body", ["return x * 2 + y ** 2 - (x // 2) % y", "return x << 2 | y ^ x & 5", "s = 0\n    for i in range(x):\n        s += i * i\n    return s - y"])
def test_operators_and_loops_of_functions_without_text(body):
    """Until Python 3.10, each operator has its own instruction."""
    space = {}
    exec("def g(x, y):\n    " + body + "\n", space)
    assert lw.njit(space["g"])(7, 3) == space["g"](7, 3)


def test_stores_of_functions_without_text():
    x, y, space = np.arange(9.0).reshape(3, 3), np.arange(9.0).reshape(3, 3), {}
    exec("def g(x):\n    x[1:] = 5.0\n    x[:, 0] = x[0, 1:2]\n    x[0:1] += 1.0\n", space)
    lw.njit(space["g"])(x)
    space["g"](y)
    assert (x == y).all()


@pytest.mark.parametrize("text", [
    "def g(x, *a):\n    for i in range(len(x)):\n        a[0][i] = x[i]\n    return a[0].sum()\n", "def g(x, *a):\n    s = 0.0\n    for i in range(len(x)):\n        s += at(i, x, *a)\n    return s\n",
    "def g(*a):\n    return at(0, *a)\n", "def g(*a):\n    return last(*a, 1)\n", "def g(x, *a, n=2):\n    return x[0] + a[0][0] * n\n",
])
def test_functions_without_text_that_take_any_number_of_arguments(text):
    space = {"at": lambda i, x, y: x[i] + y[i], "last": lambda x, y, i: x[i] + y[i]}
    exec(text, space)
    text = ""
    x = np.arange(3.0), np.ones(3)
    assert lw.njit(space["g"])(*x) == space["g"](*x)


def test_exec_under_the_name_of_a_file(tmp_path):
    (tmp_path / "there.py").write_text("import sys\n\n\ndef other():\n    pass\n")
    for name in ("there.py", "gone.py"):
        space = {}
        exec(compile("def g(x):\n    return x + 41\n", str(tmp_path / name), "exec"), space)
        assert lw.njit(space["g"])(1) == 42


def test_functions_of_jit_without_a_text_fail_at_their_first_call():
    """A package can be imported that has functions which are never called."""
    space = {}
    exec("def g(x, y=2, /, *a, n=3):\n    while x < 0:\n        x += 1\n    return x\ndef h(x, y=1):\n    while x[0] < 0:\n        x[0] += 1\n", space)
    g, h, put = lw.njit(space["g"]), lw.njit(space["h"]), lw.cuda.jit(target="cpu")(space["h"])
    assert g.signatures == [] and g.__name__ == "g"
    with pytest.raises(OSError, match="E170: no source text for `g`"):
        g(1, 2, 3, n=4)
    with pytest.raises(TypeError, match="missing a required argument: 'x'"):
        g()
    with pytest.raises(OSError, match="E170: no source text for `h`"):
        h(np.ones(1))
    with pytest.raises(OSError, match="E170: no source text for `h`"):
        put[1, 1](np.ones(1))
    with pytest.raises(OSError, match=r"E170: no source text for `g`(?s:.*)called from"):
        lw.njit(lambda x: g(x))(1)
    with pytest.raises(OSError, match="E170"):
        lw.njit("i8(i8)")(space["h"])
    with pytest.raises(OSError, match="E170"):
        lw.vectorize(space["h"])


def test_functions_that_cannot_be_compiled_are_told_of_when_they_are_called():
    """Packages decorate some that nobody calls."""

    def keywords(x, **rest):
        raise NotImplementedError

    async def waits(x):
        return x

    for f in (keywords, waits):
        for decorate in (lw.jit, lw.njit, lw.cuda.jit, lw.cuda.jit(device=True)):
            made = decorate(f)
        with pytest.raises(lw.errors.UnsupportedError, match="E101"):
            lw.njit(f)(1)
        with pytest.raises(lw.errors.UnsupportedError, match="E101"):
            lw.njit("f8(f8)")(f)
        with pytest.raises(lw.errors.UnsupportedError, match="E101"):
            lw.njit(lambda x: made(x))(1)

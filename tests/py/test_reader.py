"""Reading functions: which text belongs to a live function, what is frozen, what the tree holds."""

from __future__ import annotations

import dataclasses
import doctest
import enum
import functools
import gc
import importlib
import linecache
import math
import os
import re
import subprocess
import sys
import timeit
import types
import warnings
import zipfile
from collections import namedtuple
from pathlib import Path

import pytest

from lanewise._core import _captures, _captures_changed, _dump_tree

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "read"
CASES = sorted(GOLDEN.glob("*.case"))


# ---- golden files: Python text, "--- read" and the tree of f, or "--- error" and the message ------


def run_text(text: str, name: str) -> dict:
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    space = {"__name__": "case"}
    exec(compile(text, name, "exec", dont_inherit=True), space)
    return space


def what_is_read(text: str) -> str:
    space = run_text(text, "case.py")
    try:
        return "--- read\n" + _dump_tree(space["f"])
    except Exception as problem:
        return f"--- error\n{type(problem).__name__}: {problem}\n"
    finally:
        del linecache.cache["case.py"]


@pytest.mark.distinct_cases
@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_golden(path, bless):
    text = path.read_text(encoding="utf-8")
    source = re.split(r"^--- (?:read|error)\n", text, maxsplit=1, flags=re.M)[0]
    # local classes of exceptions have numbers, which depend on what was read before
    found = source + re.sub(r"(exception [\w.:<>]+)#\d+", r"\1", what_is_read(source))
    if bless:
        path.write_text(found, encoding="utf-8")
    assert found == text


def test_there_are_golden_files():
    assert len(CASES) >= 20


# ---- finding the source ---------------------------------------------------------------------------


def constants(function, **options) -> list[str]:
    """The constants of a tree, by which these tests recognise functions."""
    return re.findall(r"constant '?(\d+|mark \w+)'?$", _dump_tree(function, **options), re.M)


def twice(x):
    return x + 1


first_twice = twice


def twice(x):  # noqa: F811  the same name again
    return x + 2


def test_duplicate_definitions():
    assert constants(first_twice) == ["1"]
    assert constants(twice) == ["2"]


def passes_on(*unused):
    def decorator(function):
        return function

    return decorator


@passes_on(1)
@passes_on(
    2,
)
def decorated(x):
    return x + 3


def test_stacked_decorators():
    assert constants(decorated) == ["3"]


def test_wraps_reads_what_python_runs():
    def inner(x):
        return x + 4

    @functools.wraps(inner)
    def outer(x):
        return inner(x) + 5

    text = _dump_tree(outer)
    assert "fn #1 outer" in text and "fn #2 inner" in text
    assert constants(outer) == ["5", "4"]


def test_lru_cache_and_dispatchers_count_as_their_function():
    cached = functools.lru_cache(maxsize=None)(lambda x: x + 6)
    dispatcher = types.SimpleNamespace(py_func=lambda x: x + 7)
    assert constants(cached) == ["6"]
    assert constants(dispatcher) == ["7"]


two = (lambda x: x + 8, lambda x: x + 9)
same = (lambda x: x * 2, lambda x: x * 2)


def test_two_lambdas_on_one_line():
    assert [constants(f) for f in two] == [["8"], ["9"]]
    assert [constants(f) for f in same] == [["2"], ["2"]]


table = dict(a=1,
             b=lambda y: y
             + 10,
             c=(lambda y: (
                 y + 11
             )), d=lambda: 12)


def test_lambda_inside_a_call_of_many_lines():
    assert [constants(table[name]) for name in "bcd"] == [["10"], ["11"], ["12"]]


def test_lambda_with_lambdas_in_defaults_and_body():
    f = lambda x, g=lambda y: y + 13: (lambda z: z + 14)(x) + g(x)  # noqa: E731
    assert sorted(constants(f)) == ["13", "14"]


class Disk:
    SCALE = 15

    def area(self, x):
        return x * Disk.SCALE

    def __private(self, x):
        return self.__hidden(x) + 16

    @staticmethod
    def free(x):
        return x + 17

    def parent(self, x):
        return __class__.SCALE + x + 18

    private = __private
    __hidden = free


def test_methods():
    assert constants(Disk.area) == ["15"]
    assert constants(Disk().area) == ["15"]
    assert constants(Disk.free) == ["17"]
    assert "16" in constants(Disk.private)
    assert "18" in constants(Disk.parent)


def test_bound_method_knows_its_object():
    class Scale:
        def __init__(self):
            self.factor = 19

        def scaled(self, x):
            return x * self.factor

    text = _dump_tree(Scale().scaled)
    assert "fn #1 scaled(x)" in text and "constant 19" in text


@pytest.mark.skipif(sys.version_info < (3, 12), reason="syntax of 3.12")
def test_type_parameters():
    space = run_text("def f[T](x: T, g=lambda y: y + 45):\n    return x + 46\n", "generic.py")
    assert constants(space["f"])[0] == "46"


@pytest.mark.skipif(sys.version_info < (3, 14), reason="syntax of 3.14")
def test_template_strings_are_refused():
    space = run_text('def f(x):\n    return t"{x}"\n', "template.py")
    assert re.search("error E104 .* a t-string cannot be compiled", _dump_tree(space["f"]))


def test_closures():
    k = 20

    def f(x):
        def g(y):
            return f(y) if y else k

        return g(x) + k

    assert "20" in constants(f)
    assert "constant function f #1" in _dump_tree(f)


def unindented(x):
    """A function with a docstring whose text is not indented."""
    return x + \
        21


if True:
    if True:
        def indented(x):
            """Text
at the margin."""
            return x + 22


def test_awkward_layouts():
    assert constants(unindented) == ["21"]
    assert constants(indented) == ["22"]


def dead_code(x):
    return x + 23
    y = (1 +
         2)
    import os


def test_dead_code_after_the_last_instruction():
    assert "23" in constants(dead_code)


def test_assert_rewritten_by_pytest():
    def f(x):
        assert x > 24, "mark text"
        return x

    assert "24" in constants(f)


def test_jupyter_cells_are_found_in_linecache():
    space = run_text("def f(x):\n    return x + 25\n", "<ipython-input-1-0123456789ab>")
    assert constants(space["f"]) == ["25"]


def made(text):
    """The function that exec makes of a text which is not kept."""
    space = {}
    exec(text.replace("#", "x"), space)
    return space["f"]


def test_exec_has_no_source_unless_given():
    text = "def f(x):\n    return sum(x for _ in (0,)) + 26\n"
    space = {"f": made(text.replace("x", "#"))}
    del text
    with pytest.raises(OSError, match="E170") as caught:
        _dump_tree(space["f"])
    text = "def f(x):\n    return x + 26\n"
    space = {"f": made(text.replace("x", "#"))}
    assert caught.value.code == "E170" and "source=" in caught.value.help
    assert constants(space["f"], source=text) == ["26"]
    assert constants(space["f"], source="    " + text.replace("\n ", "\n     ")) == ["26"]
    with pytest.raises(OSError, match="no function named `f`"):
        _dump_tree(space["f"], source="def g(x):\n    return x\n")
    with pytest.raises(SyntaxError):
        _dump_tree(space["f"], source="def f(x) return x\n")


def module_of(tmp_path, monkeypatch, name, text):
    (tmp_path / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    importlib.invalidate_caches()
    return importlib.import_module(name)


# not in a variable of a function that runs, where the text of code from exec is looked for
EDITED = "def f(x):\n    while x < 0:\n        x += 27\n    return x\n\n\ndef g(x):\n    return x + 28\n"


def test_edited_file(tmp_path, monkeypatch):
    module = module_of(tmp_path, monkeypatch, "lw_edited", EDITED)
    assert "27" in constants(module.f)
    path = tmp_path / "lw_edited.py"
    path.write_text("# a line more\n" + EDITED)
    os.utime(path, (1, 1))
    linecache.checkcache()
    assert "27" in constants(module.f), "moved, but the same code"
    path.write_text(EDITED.replace("27", "29"))
    os.utime(path, (2, 2))
    linecache.checkcache()
    with pytest.raises(OSError, match="E171") as caught:
        _dump_tree(module.f)
    assert caught.value.code == "E171" and "lw_edited.py:1" in str(caught.value)
    assert constants(module.g) == ["28"]
    path.write_text(EDITED.replace("28", "30"))
    os.utime(path, (3, 3))
    linecache.checkcache()
    assert constants(module.g) == ["28"], "read from the bytecode, which is what was imported"


def test_old_text_in_linecache_is_still_right(tmp_path, monkeypatch):
    module = module_of(tmp_path, monkeypatch, "lw_stale", "def f(x):\n    return x + 30\n")
    assert constants(module.f) == ["30"]
    (tmp_path / "lw_stale.py").write_text("something else\n")
    assert constants(module.f) == ["30"], "what was imported is what is compiled"


def test_zip_archives(tmp_path, monkeypatch):
    with zipfile.ZipFile(tmp_path / "lw.zip", "w") as archive:
        archive.writestr("lw_zipped.py", "def f(x):\n    return x + 31\n")
    monkeypatch.syspath_prepend(str(tmp_path / "lw.zip"))
    assert constants(importlib.import_module("lw_zipped").f) == ["31"]


def test_bytecode_without_source(tmp_path, monkeypatch):
    import py_compile

    path = tmp_path / "lw_bare.py"
    path.write_text("def f(x):\n    while x < 0:\n        x += 1\n    return x\n\n\ndef g(x):\n    return x + 32\n")
    py_compile.compile(str(path), cfile=str(tmp_path / "lw_bare.pyc"))
    path.unlink()
    monkeypatch.syspath_prepend(str(tmp_path))
    importlib.invalidate_caches()
    with pytest.raises(OSError, match="E170"):
        _dump_tree(importlib.import_module("lw_bare").f)
    assert constants(importlib.import_module("lw_bare").g) == ["32"], "read from the bytecode"


PROGRAM = ("from lanewise._core import _dump_tree\nf = lambda x: x + 33\n"
           "try:\n print(_dump_tree(f))\nexcept OSError as e:\n print(e.code)\n")


def test_command_line_text(run_python):
    assert "constant 33" in run_python("-c", PROGRAM).stdout
    hidden = "space = {}\nexec('def f(x): return sum(x for _ in (0,)) + 47', space)\nf = space['f']"
    assert "E170" in run_python("-c", PROGRAM.replace("f = lambda x: x + 33", hidden)).stdout


@pytest.mark.parametrize("options", [["-c", PROGRAM], ["-c" + PROGRAM], ["-Bc", PROGRAM],
                                     ["-W", "ignore", "-X", "utf8", "-Bc" + PROGRAM, "-c", "0"]])
def test_command_line_text_as_the_interpreter_reads_its_options(run_python, options):
    assert "constant 33" in run_python(*options).stdout


def test_arguments_of_a_program_are_not_the_interpreters(run_python, tmp_path):
    """`-c` behind the name of a program belongs to the program, as `-m` takes the rest for its module."""
    text = "f = lambda x: x + 33"
    made = "f = lambda x: sum(x for _ in (0,)) + 33"
    (tmp_path / "program.py").write_text(PROGRAM.replace(text, f"exec({made!r})"))
    text = made
    for options in (["program.py", "-c", text], ["-m", "program", "-c", text], ["-B", "program.py", "-c" + text]):
        assert run_python(*options).stdout == "E170\n"


@pytest.mark.parametrize("options", [[], ["-"]])
@pytest.mark.parametrize("start", ["", "\ufeff", "# ü\n"])
def test_file_on_standard_input_is_read_again(tmp_path, options, start):
    text = start + "import sys\nprint(repr(sys.stdin.read()))\n" + PROGRAM
    (tmp_path / "program.py").write_text(text, encoding="utf-8")
    with open(tmp_path / "program.py") as program:
        found = subprocess.run([sys.executable, *options], stdin=program, capture_output=True, text=True, check=True)
    assert found.stdout.startswith("''\n") and "constant 33" in found.stdout, "the program's own reads see what they saw"


def test_standard_input_that_is_not_the_program(tmp_path):
    """A pipe cannot be read again, and a file may contain anything."""
    piped = subprocess.run([sys.executable, "-"], input=PROGRAM, capture_output=True, text=True, check=True)
    assert piped.stdout == "E170\n"
    text = PROGRAM.replace("f = lambda", 'exec(compile("f = lambda x: x + 34", "<stdin>", "exec"))\ng = lambda')
    (tmp_path / "program.py").write_text(text)
    for data in (text.encode(), b"", b"\xff\x00\xfe", bytes(1 << 16)):
        (tmp_path / "data").write_bytes(data)
        with open(tmp_path / "data") as file:
            found = subprocess.run([sys.executable, str(tmp_path / "program.py")], stdin=file, capture_output=True,
                                   text=True, check=True)
        assert found.stdout == "E170\n"


def test_timeit_and_doctest(run_python, tmp_path):
    setup = ("from lanewise._core import _dump_tree\ndef f(x):\n    return x + 48\n"
             "assert 'constant 48' in _dump_tree(f)")
    body = "assert 'constant 49' in _dump_tree(lambda x: x + 49)"
    assert timeit.timeit(body, setup, number=2) > 0
    assert "loop" in run_python("-m", "timeit", "-n1", "-r1", "-s", setup, body).stdout

    space = {"_dump_tree": _dump_tree}
    text = ">>> f = lambda x: x + 50\n>>> 'constant 50' in _dump_tree(f)\nTrue\n"
    test = doctest.DocTestParser().get_doctest(text, space, "example", None, None)
    assert doctest.DocTestRunner(verbose=False).run(test) == (0, 2)


def test_lazy_imports(monkeypatch):
    """An object stands in for those of Python 3.15, where `lazy import` leaves one in the globals of a module."""
    class LazyImport:
        def __init__(self, resolve):
            self.resolve = resolve

    def fails():
        raise ImportError("no module named lw_none")

    monkeypatch.setattr(types, "LazyImportType", LazyImport, raising=False)
    space = run_text("def f(x):\n    return mm.sin(x) + root(x)\ndef g(x):\n    return none.f(x)\n", "lazy.py")
    space |= {"mm": LazyImport(lambda: math), "root": LazyImport(lambda: math.sqrt), "none": LazyImport(fails)}
    text = _dump_tree(space["f"])
    assert "named math.sin" in text and "named math.sqrt" in text
    assert space["mm"] is math and space["root"] is math.sqrt, "bound, as reading the name binds it"
    with pytest.raises(ImportError, match="lw_none"):
        _dump_tree(space["g"])


def test_without_positions(run_python, tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM + "a, b = (lambda x: x + 34,\n lambda y: y + 35)\n"
                                         "print(_dump_tree(b))\n")
    found = run_python("-X", "no_debug_ranges", str(tmp_path / "program.py")).stdout
    assert "constant 33" in found and "constant 35" in found and "constant 34" not in found


def test_optimised_mode(run_python, tmp_path):
    (tmp_path / "program.py").write_text(
        "from lanewise._core import _dump_tree\ndef f(x):\n    'doc'\n    assert x > 35\n    return x + 36\n"
        "print(_dump_tree(f))\n")
    shown = run_python("-OO", str(tmp_path / "program.py")).stdout
    assert "constant 36" in shown and "35" not in shown


def test_future_annotations_and_reading_leaves_no_warnings(recwarn):
    text = 'def f(x: "no such type" = 1, y: float = 2) -> "float":\n    return x is 1 or "\\d"\n'
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        space, quoted = run_text(text, "odd.py"), "from __future__ import annotations\n" + text
        future = run_text(quoted, "future.py")
    found = _dump_tree(space["f"])
    assert "(x=1, y: type float=2) -> type float" in found
    assert "(x=1, y: type float=2) -> type float" in _dump_tree(future["f"])
    assert not recwarn.list


# ---- names and constants ---------------------------------------------------------------------------


class Mode(enum.Enum):
    FAST = 1
    SLOW = 2


class Level(enum.IntEnum):
    LOW = 40
    HIGH = 41


@dataclasses.dataclass
class Settings:
    rate: float = 0.5


Point = namedtuple("Point", "x y")
mode, settings, origin, options = Mode.FAST, Settings(), Point(42, 43), {"fast": 44}


def test_compile_time_values():
    def f(x):
        if mode is Mode.SLOW or mode == Mode.SLOW:
            return undefined(x)  # noqa: F821  never read
        return x + Level.HIGH + Mode.SLOW.value + settings.rate + origin.y + options["fast"]

    text = _dump_tree(f)
    assert "undefined" not in text
    assert re.findall(r"constant (.*)", text) == ["41", "2", "0.5", "43", "44"]


def test_numpy_objects():
    np = pytest.importorskip("numpy")
    scalar, small, large = np.float32(0.1), np.arange(6, dtype="i2").reshape(2, 3), np.zeros(10**5)

    def f(x):
        return np.float64(x), scalar, small, large, np.dtype("u1"), np.pi, np.sin(x), small.shape

    found = re.findall(r"constant (.*)", _dump_tree(f))
    assert found[0] == "type float64"
    assert found[1].startswith("float32(0.1")
    assert found[2] == "array int16[2, 3]"
    assert found[3].startswith("object")
    assert found[-1] == "(2, 3)" and "named numpy.sin" in found and repr(math.pi) in found


def test_user_exceptions_are_named_by_module():
    class Bad(ValueError):
        pass

    def f(x):
        raise Bad("too bad", x)

    assert re.search(r"raise exception \w*test_reader:\S*Bad#\d+ 'too bad'", _dump_tree(f))


def test_did_you_mean():
    def f(long_name):
        return long_nmae + math.sqrtt(long_name) + Mode.FASt  # noqa: F821

    text = _dump_tree(f)
    assert "undefined long_nmae: did you mean `long_name`?" in text
    assert "did you mean `sqrt`?" in text and "has no attribute `FASt`" in text


def test_shared_and_recursive_functions_are_read_once():
    def even(n):
        return True if n == 0 else odd(n - 1)

    def odd(n):
        return False if n == 0 else even(n - 1)

    def f(n):
        return even(n), odd(n), even(n)

    assert len(re.findall(r"^fn ", _dump_tree(f), re.M)) == 3


def test_callee_without_source_is_a_problem_of_its_own():
    space = {}
    exec("def hidden(x):\n    return sum(x for _ in (0,))\n", space)
    hidden = space["hidden"]

    def f(x):
        return hidden(x)

    assert "problem E170" in _dump_tree(f)


def test_not_a_function():
    for wrong in (3, "f", int, math.sin, None):
        with pytest.raises(TypeError, match="expected a Python function"):
            _dump_tree(wrong)


# ---- size ----------------------------------------------------------------------------------------------


@pytest.mark.slow_with_sanitizers
def test_hundred_thousand_statements():
    text = "def f(x):\n" + "    x = x + 1\n" * 100_000 + "    return x\n"
    assert _dump_tree(run_text(text, "long.py")["f"]).count("assign") == 100_000


@pytest.mark.parametrize("depth", [50, 150, 600, 3000])
def test_deep_nesting_is_read_or_a_message(depth):
    text = "def f(x):\n    return " + "-" * depth + "x\n"
    try:
        function = run_text(text, "deep.py")["f"]
    except (RecursionError, MemoryError, SyntaxError):
        pytest.skip("this Python cannot compile it either")
    try:
        found = _dump_tree(function)
    except Exception as problem:
        assert problem.code == "E101" and "deep.py" in str(problem) and depth > 50
    else:
        assert found.count("unary -") == depth


@pytest.mark.slow_with_sanitizers
def test_reading_leaves_nothing_behind():
    def failing(x, **options):
        return x

    def good(x):
        return twice(x) + settings.rate + math.sqrt(x) + sum(i for i in x)

    def read(function):
        try:
            _captures(function)
        except Exception:
            pass

    grown = []
    for _ in range(4):
        before = sys.getallocatedblocks()
        for _ in range(800):
            read(good), read(failing)
        gc.collect()
        grown.append(sys.getallocatedblocks() - before)
        if grown[-1] < 400:
            return
    # one lost reference a call would be 800 each time; the interpreter's own tables grow by some hundred, now and then
    raise AssertionError(grown)


# ---- what was frozen, and whether it changed -----------------------------------------------------------


GLOBAL = 50


def test_globals_and_cells_are_guarded(monkeypatch):
    cell = 51

    def helper(x):
        return x + GLOBAL

    def f(x):
        return helper(x) + cell + settings.rate

    guards = _captures(f)
    assert not _captures_changed(guards)
    monkeypatch.setitem(globals(), "GLOBAL", int("50"))
    assert not _captures_changed(guards), "an equal number is the same constant"
    monkeypatch.setitem(globals(), "GLOBAL", 50.0)
    assert _captures_changed(guards), "equal, but another type"
    monkeypatch.undo()
    assert not _captures_changed(guards)
    cell = 52
    assert _captures_changed(guards)
    cell = 51
    monkeypatch.setattr(settings, "rate", 0.75)
    assert _captures_changed(guards)


def test_shadowing_a_builtin_is_a_change(monkeypatch):
    def f(x):
        return abs(x)

    guards = _captures(f)
    assert not _captures_changed(guards)
    monkeypatch.setitem(globals(), "abs", round)
    assert _captures_changed(guards)


def test_deleting_a_global_is_a_change(monkeypatch):
    def f(x):
        return x + GLOBAL

    guards = _captures(f)
    monkeypatch.delitem(globals(), "GLOBAL")
    assert _captures_changed(guards)


def test_redefining_a_helper_is_a_change(monkeypatch):
    def f(x):
        return twice(x)

    guards = _captures(f)
    monkeypatch.setitem(globals(), "twice", first_twice)
    assert _captures_changed(guards)

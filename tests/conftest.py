"""What every part of the suite shares: options, and a process of its own for the command line.

Run the suite from a folder without the sources, so that what is tested is what was installed:
tests/run.sh does.
"""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from fnmatch import fnmatch
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("lanewise")
    group.addoption("--bless", action="store_true", help="rewrite what the golden files expect; read the diff")
    group.addoption("--device", action="store_true", help="run the oracle tests on device arrays")
    group.addoption("--thorough", action="store_true", help="every dtype, layout and round where the suite takes some of them, and tests that are marked thorough")
    group.addoption("--cases", type=int, default=0, metavar="N", help="of a test with many parameters, N cases, evenly chosen; 0: all")
    group.addoption("--rest", action="store_true", help="what tests/run.sh runs on the wheel: without the test functions that the sanitizers' run takes, except those marked distinct_cases")
    group.addoption("--sanitized", action="store_true", help="what tests/asan.sh runs: without the tests that need no sanitizers or do not work with them; with --cases N, every second test function of a file, and all of tests/fault")


# What the sanitizers' run leaves out: tests of numbers and times, which other tests' paths in C compute; tests of Dask arrays, which are
# Python over calls that others make; those of target="python"; the command line, a process for each call; tests that read the sources or
# stubs; tests/leak, since the interpreter keeps memory.
NOT_SANITIZED = ("oracle/*", "proofs/*", "same_math/*", "special/*", "stat/*", "leak/*", "py/test_times*", "py/test_special*", "py/test_dask*",
                 "py/test_cli.py", "py/test_python_target.py", "py/test_python_versions.py", "py/test_layers.py", "py/test_repository.py", "py/test_stubs.py", "py/test_gpu_scripts.py")


def needs_no_sanitizers(path: Path) -> bool:
    tests = ROOT / "tests"
    return path.is_relative_to(tests) and any(fnmatch(path.relative_to(tests).as_posix(), pattern) for pattern in NOT_SANITIZED)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    return True if config.getoption("--sanitized") and needs_no_sanitizers(collection_path) else None


# Files whose tests make a process take gigabytes of a GPU for good: one process has each, under --dist loadgroup (tests/gpu.sh).
GROUPS = {"test_recursion.py": "stack", "test_runtime.py": "heap", "test_new_arrays.py": "heap"}


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.name in GROUPS:
            item.add_marker(pytest.mark.xdist_group(GROUPS[item.path.name]))
    most, sanitized = config.getoption("--cases"), config.getoption("--sanitized")
    kept = {item for item in items if not (sanitized and not_with_sanitizers(item))}
    if (sanitized and most > 0) or config.getoption("--rest"):
        taken = with_sanitizers(items)
        kept = {item for item in kept if (function_of(item) in taken) == sanitized or (not sanitized and is_for_the_wheel(item))}
    if most > 0:
        cases: dict[str, list[pytest.Item]] = {}
        for item in items:
            if item in kept and (sanitized or not item.get_closest_marker("distinct_cases")):
                cases.setdefault(function_of(item), []).append(item)
        for group in cases.values():
            kept.difference_update(group)
            kept.update(sample(group, most))
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = [item for item in items if item in kept]


def function_of(item: pytest.Item) -> str:
    return item.nodeid.partition("[")[0]


def not_with_sanitizers(item: pytest.Item) -> bool:
    """Whether the test is marked slow_with_sanitizers, or has a skipif whose reason mentions the sanitizers."""
    reasons = " ".join(mark.kwargs.get("reason", "") for mark in item.iter_markers("skipif"))
    return item.get_closest_marker("slow_with_sanitizers") is not None or "sanitizer" in reasons or "ASan" in reasons


def is_for_the_wheel(item: pytest.Item) -> bool:
    return not_with_sanitizers(item) or item.get_closest_marker("distinct_cases") is not None


def with_sanitizers(items: list[pytest.Item]) -> set[str]:
    """The names of the test functions that the sanitizers' run takes: all of tests/fault, and of each other file every second function that can run
    with the sanitizers, beginning with the first. The run on the wheel leaves them out, unless they are marked distinct_cases."""
    functions: dict[Path, list[str]] = {}
    for item in items:
        if not needs_no_sanitizers(item.path) and not not_with_sanitizers(item):
            names = functions.setdefault(item.path, [])
            if function_of(item) not in names:
                names.append(function_of(item))
    fault = ROOT / "tests" / "fault"
    return {name for path, names in functions.items() for name in (names if path.is_relative_to(fault) else names[::2])}


def sample(group: list[pytest.Item], most: int) -> list[pytest.Item]:
    """Chooses `most` cases of a test, or all if there are no more: the middle one of each of `most` equal parts. Files that the sanitizers' run
    leaves out get twice as many. If some cases need a GPU and others do not, only the latter are considered."""
    group = [item for item in group if item.get_closest_marker("gpu") is None] or group
    if needs_no_sanitizers(group[0].path):
        most *= 2
    if len(group) <= most:
        return group
    return [group[((2 * i + 1) * len(group) - 1) // (2 * most)] for i in range(most)]


def pytest_runtest_setup(item: pytest.Item) -> None:
    marker = item.get_closest_marker("thorough")
    if marker and not item.config.getoption("--thorough"):
        pytest.skip(f"with --thorough: {marker.args[0]}")


def pytest_collection_finish(session: pytest.Session) -> None:
    """What was collected lives until the end. The garbage collector need not look at it again, which took a second each time."""
    gc.collect()
    gc.freeze()


def pytest_report_header(config: pytest.Config) -> str:
    try:
        import lanewise
    except ImportError as problem:
        return f"lanewise: {problem}"
    return f"lanewise {lanewise.__version__} from {Path(lanewise.__file__).parent}"


def pytest_configure(config: pytest.Config) -> None:
    """Under the sanitizers LLVM, which has none, does not optimise what it makes machine code of: that is two fifths of the time. What it
    shows as text is optimised."""
    if not os.environ.get("LW_ASAN"):
        return
    from lanewise import _toolchain

    compile_host = _toolchain.compile_host
    _toolchain.compile_host = lambda text, opt, baseline, output: compile_host(text, 0 if output == "object" else opt, baseline, output)


@pytest.fixture(scope="session")
def root() -> Path:
    """The repository."""
    return ROOT


@pytest.fixture(scope="session")
def thorough(request: pytest.FixtureRequest) -> bool:
    """Does a test take all of its rounds, sizes and combinations?"""
    return bool(request.config.getoption("--thorough"))


@pytest.fixture(scope="session")
def on_device(request: pytest.FixtureRequest) -> bool:
    """Are the tests of values to run on a GPU?"""
    return request.config.getoption("--device")


@pytest.fixture(scope="session")
def evaluate(on_device):
    """evaluate(ufunc, *arrays): a tuple of NumPy arrays, computed from device arrays with --device."""
    import numpy as np

    def run(function, *arrays):
        with np.errstate(all="ignore"):
            if not on_device:
                out = function(*arrays)
                return out if isinstance(out, tuple) else (out,)
            import lanewise as lw

            out = function(*[lw.cuda.to_device(np.ascontiguousarray(a)) for a in arrays])
            return tuple(d.copy_to_host() for d in (out if isinstance(out, tuple) else (out,)))

    return run


@pytest.fixture
def bless(request: pytest.FixtureRequest) -> bool:
    return request.config.getoption("--bless")


@pytest.fixture
def run_python(tmp_path):
    """run_python("-m", "lanewise", "info", NAME="value") in an empty folder: CompletedProcess."""

    def run(*arguments: str, check: bool = True, timeout: float = 240, **variables: str):
        environment = {**os.environ, **variables}
        done = subprocess.run([sys.executable, *arguments], cwd=tmp_path, env=environment,
                              capture_output=True, text=True, timeout=timeout)
        if check and done.returncode:
            raise AssertionError(f"{arguments} ended with {done.returncode}\n{done.stdout}\n{done.stderr}")
        return done

    return run

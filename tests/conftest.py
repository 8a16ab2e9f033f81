"""What every part of the suite shares: options, and a process of its own for the command line.

Run the suite from a folder without the sources, so that what is tested is what was installed:
tests/run.sh does.
"""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("lanewise")
    group.addoption("--bless", action="store_true", help="rewrite what the golden files expect; read the diff")
    group.addoption("--device", action="store_true", help="run the oracle tests on device arrays")
    group.addoption("--thorough", action="store_true", help="every dtype and layout where the suite takes some of them")
    group.addoption("--cases", type=int, default=0, metavar="N", help="of a test with many parameters, N cases, evenly chosen; 0: all")


# Files whose tests make a process take gigabytes of a GPU for good: one process has each, under --dist loadgroup (tests/gpu.sh).
GROUPS = {"test_recursion.py": "stack", "test_runtime.py": "heap", "test_new_arrays.py": "heap"}


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.name in GROUPS:
            item.add_marker(pytest.mark.xdist_group(GROUPS[item.path.name]))
    most = config.getoption("--cases")
    if most == 0:
        return
    cases: dict[str, list[pytest.Item]] = {}
    kept: set[pytest.Item] = set()
    for item in items:
        if most > 1 and item.get_closest_marker("distinct_cases"):
            kept.add(item)
            continue
        cases.setdefault(item.nodeid.partition("[")[0], []).append(item)
    kept.update(item for group in cases.values() for item in sample(group, most))
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = [item for item in items if item in kept]


def sample(group: list[pytest.Item], most: int) -> list[pytest.Item]:
    """All of a few, or as many from begin to end, the last among them; of those that need no GPU, where there are both."""
    group = [item for item in group if item.get_closest_marker("gpu") is None] or group
    if len(group) <= most:
        return group
    return [group[(i + 1) * len(group) // most - 1] for i in range(most)]


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

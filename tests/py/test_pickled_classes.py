"""Classes of `__main__` in functions that travel: one class for what captured it, for arguments and for results."""

from __future__ import annotations

import pytest

pytest.importorskip("dask.array")
pytest.importorskip("cloudpickle")

PROGRAM = """
import multiprocessing, pickle
from dataclasses import dataclass
from enum import Enum

import cloudpickle
import dask.array as da
import lanewise as lw


class Color(Enum):
    RED = 1
    BLUE = 2


@dataclass
class Point:
    x: float


@lw.njit
def is_red(c):
    return c is Color.RED


@lw.njit
def pick(x):
    return Color.RED if x > 0 else Color.BLUE


@lw.njit
def point(x):
    return Point(x)


@lw.vectorize(static=("c",))
def signed(x, c):
    return x if c is Color.RED else -x


def in_child(_):
    return is_red(Color.RED), pick(1.0) is Color.RED, signed(2.0, c=Color.RED) == 2, type(point(1.0)) is Point


if __name__ == "__main__":
    for module in pickle, cloudpickle:
        again = [module.loads(module.dumps(f)) for f in (is_red, pick, point, signed)]
        assert again[0](Color.RED) and not again[0](Color.BLUE)
        assert again[1](1.0) is Color.RED and type(again[2](1.0)) is Point and again[3](2.0, c=Color.RED) == 2
    x = da.ones(4, chunks=2)
    assert signed(x, c=Color.RED).compute(scheduler="processes", num_workers=1).tolist() == [1] * 4
    assert signed(x, c=Color.BLUE).compute(scheduler="processes", num_workers=1).tolist() == [-1] * 4
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.apply(is_red, (Color.RED,)) and pool.apply(pick, (1.0,)) is Color.RED
        assert pool.apply(in_child, (0,)) == (True,) * 4
    print("done")
"""

ELSEWHERE = """
import pickle
f, g, h = pickle.load(open({path!r}, "rb"))
red = g(1.0)
assert red.name == "RED" and f(red) and not f(g(-1.0)) and type(h(1.0)).__name__ == "Point"
print("done")
"""


@pytest.mark.slow_with_sanitizers
def test_members_and_objects_are_of_one_class(run_python, tmp_path):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    done = run_python(str(program))
    assert done.returncode == 0 and done.stdout.strip() == "done", done.stderr


@pytest.mark.slow_with_sanitizers
def test_functions_of_a_program_that_is_not_there_share_their_classes(run_python, tmp_path):
    program, path = tmp_path / "program.py", tmp_path / "functions.pickle"
    program.write_text(PROGRAM.replace('    print("done")', f"    pickle.dump((is_red, pick, point), open({str(path)!r}, 'wb'))"))
    assert run_python(str(program)).returncode == 0
    done = run_python("-c", ELSEWHERE.format(path=str(path)))
    assert done.returncode == 0 and done.stdout.strip() == "done", done.stderr

"""Keys of Dask's: other names for other results, and the same names for the same program, in whatever process."""

import importlib
import sys

import numpy as np
import pytest

import lanewise as lw
from lanewise import reductions as R
from lanewise.random import Generator

pytest.importorskip("dask.array")
from dask_checks import da, dask  # noqa: E402

D = da.ones(4, chunks=2)


def adding(table):
    return lw.vectorize(lambda x: x + table[2500])


def counting(table):
    return lw.reduce(lambda a, b: a + b, map=lambda x: x + table[2500])


def filling(table):
    @lw.forall
    def fill(i, x, out):
        out[i] = x[i] + table[2500]

    return fill


def shown_alike():
    """Two arrays that have the same text, because both have too many elements to show."""
    a = np.zeros(5000)
    b = a.copy()
    b[2500] = 1
    assert repr(a) == repr(b)
    return a, b


@pytest.mark.parametrize("made, call", [(adding, lambda f: f(D).sum()), (counting, lambda f: f(D)), (filling, lambda f: lw.map_blocks(f, D).sum())], ids=["vectorize", "reduce", "forall"])
def test_all_elements_of_captured_arrays_count(made, call):
    f, g = map(made, shown_alike())
    assert dask.base.tokenize(f) != dask.base.tokenize(g) and call(f).name != call(g).name
    one, other, both = dask.compute(call(f), call(g), call(f) + call(g), scheduler="synchronous")
    assert (one, other, both) == (4, 8, 12)
    again = made(shown_alike()[1])
    assert dask.base.tokenize(g) == dask.base.tokenize(again)


def test_all_elements_of_arguments_count():
    a, b = shown_alike()
    look = lw.vectorize(lambda x, t: x + t[2500], excluded=["t"])
    scale = lw.vectorize(lambda x, t: x + t, static=["t"])
    assert look(D, a).name != look(D, b).name and scale(D, 1.0).name != scale(D, 2.0).name
    total = lw.reduce(lambda x, y: x + y)
    assert total(D, initial=1.0).name != total(D, initial=2.0).name
    p = np.full(5000, 1 / 5000)
    q = np.roll(np.concatenate([[0.5 / 5000, 1.5 / 5000], p[2:]]), 2500)
    assert Generator(1).choice(5000, 9, p=p, chunks=3).name != Generator(1).choice(5000, 9, p=q, chunks=3).name
    assert Generator(1).normal(a, chunks=900).name != Generator(1).normal(b, chunks=900).name
    assert R.var(D, mean=1.0).name != R.var(D, mean=2.0).name and R.var(D, ddof=1).name != R.var(D).name


MODULE = """
LEVEL = {level}
class Base:
    def __init__(self, a):
        self.a = a
class Point(Base):
    def twice(self):
        return self.a * {factor} + LEVEL
def helper(x):
    return Point(x).twice()
def other(x):
    return x * {more}
"""


def test_functions_of_modules_count_by_their_text(tmp_path, monkeypatch):
    """A notebook loads an edited module again, while results of the functions as they were are still kept."""
    monkeypatch.syspath_prepend(str(tmp_path))
    path, seen = tmp_path / "edited_module.py", set()
    for given in ({"level": 1, "factor": 2, "more": 3}, {"level": 9, "factor": 2, "more": 3}, {"level": 9, "factor": 7, "more": 3}, {"level": 9, "factor": 7, "more": 5}):
        path.write_text(MODULE.format(**given) + "#" * len(seen))  # of another size, so that no .pyc of it is taken
        importlib.invalidate_caches()
        module = importlib.reload(sys.modules["edited_module"]) if "edited_module" in sys.modules else importlib.import_module("edited_module")
        first, second = module.helper, module.other
        f = lw.vectorize(lambda x: first(x) + second(x))
        np.testing.assert_array_equal(f(D).compute(scheduler="synchronous"), np.full(4, given["factor"] + given["level"] + given["more"]))
        seen.add(f(D).name)
    assert len(seen) == 4
    del sys.modules["edited_module"]


PROGRAM = MODULE.format(level=1, factor=2, more=3) + """
import dask.array as da, numpy as np, lanewise as lw
from dask.base import tokenize
from lanewise import special
d = da.ones(4, chunks=2)
table = np.arange(3.0)
f = lw.vectorize(lambda x: helper(x) + table[1])
total = lw.reduce(lambda a, b: a + b, map=lambda x: other(x))
@lw.jit
def kernel(x, out, offset):
    i = lw.cuda.grid(1)
    if i < x.size:
        out[i] = helper(x[i])
@lw.guvectorize("(n)->()")
def row(x, out):
    out[0] = other(x[0])
for name in (f(d).name, total(d).name, total.accumulate(d).name, lw.map_blocks(kernel[1, 8], d).name, lw.map_blocks(kernel, d).name, row(d, allow_rechunk=True).name,
             special.erf(d).name, lw.add(d, 1).name, lw.reductions.var(d, ddof=1).name, lw.random.Generator(3).gamma(2.0, size=4, chunks=2).name, tokenize(kernel), tokenize(special.erf)):
    print(name)
"""


def test_the_same_program_gives_the_same_names(tmp_path, run_python):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    one, other = (run_python(str(program), PYTHONHASHSEED=seed).stdout.split() for seed in ("1", "5"))
    assert len(one) == len(set(one)) == 12 and one == other

"""The notes of exceptions whose classes have code of their own name the user's file, in whatever process a block is computed."""

import inspect
import sys

import pytest

import lanewise as lw

pytest.importorskip("dask.array")
from dask_checks import da  # noqa: E402

pytestmark = pytest.mark.skipif(sys.version_info < (3, 11), reason="exceptions have notes from Python 3.11 on")


def functions():
    """Functions made in a function: they are pickled as text."""
    class Bad(ValueError):
        def __init__(self, text):
            super().__init__(text)

    @lw.vectorize
    def safe(x):
        if x > 90:
            raise Bad("too large")
        return x

    @lw.guvectorize("(n)->()")
    def items(a, out):
        for k in range(a.shape[0]):
            if a[k] > 90:
                raise Bad("too large")
            out[0] += a[k]

    @lw.forall
    def kernel(i, x, out):
        if x[i] > 90:
            raise Bad("too large")
        out[i] = x[i]

    def checked(x):
        if x > 90:
            raise Bad("too large")
        return x

    r = lw.reduce(lambda a, b: a + b, map=checked)
    return Bad, {"ufunc": safe, "gufunc": lambda x: items(x.reshape(10, 10).rechunk((5, 10))), "forall": lambda x: lw.map_blocks(kernel, x),
                 "reduce": r, "scan": lambda x: r.accumulate(x, 0)}


@pytest.mark.parametrize("scheduler", ["synchronous", "processes"])
@pytest.mark.parametrize("what", ["ufunc", "gufunc", "forall", "reduce", "scan"])
def test_notes_name_the_users_file(what, scheduler):
    _, made = functions()
    with pytest.raises(ValueError, match="too large") as info:
        made[what](da.arange(100.0, chunks=30)).compute(scheduler=scheduler, num_workers=1)
    lines = [i for i, line in enumerate(inspect.getsource(sys.modules[__name__]).splitlines(), 1) if 'raise Bad("too large")' in line]
    (note,) = info.value.__notes__
    assert any(f"{__file__}:{line}" in note for line in lines), note

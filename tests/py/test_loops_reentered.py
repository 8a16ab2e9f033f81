"""Garbage collections, whose finalizers may add loops to the same function, while NumPy is given one."""

import gc

import numpy as np
import pytest

import lanewise as lw

DTYPES = ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8", "c8", "c16"]


def _copy(x, out):
    for i in range(x.shape[0]):
        out[i] = x[i] + x[i]


@pytest.mark.parametrize("make, form", [
    (lambda: lw.vectorize(lambda x: x + x), "{0}({0})"), (lambda: lw.guvectorize("(n)->(n)")(_copy), "void({0}[:], {0}[:])"),
], ids=["vectorize", "guvectorize"])
def test_a_collection_adds_loops(make, form):
    f = make()
    rest, inside = DTYPES[6:], []

    def add(phase, _):
        if inside or phase != "stop" or not rest:
            return
        inside.append(1)
        f.add(form.format(rest.pop()))
        inside.clear()

    before = gc.get_threshold()
    gc.callbacks.append(add)
    gc.set_threshold(1, 10**6, 10**6)
    try:
        for dtype in DTYPES[:6]:
            f.add(form.format(dtype))
    finally:
        gc.set_threshold(*before)
        gc.callbacks.remove(add)
    assert len(rest) < 6
    for dtype in set(DTYPES) - set(rest):
        result = f(np.ones(3, dtype))
        assert result.dtype == dtype and result.tolist() == [2, 2, 2]

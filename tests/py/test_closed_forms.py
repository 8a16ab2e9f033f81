"""Loops whose numbers of iterations are polynomials of an outer loop's counter, truncated to a few bits: LLVM computes such numbers by
closed forms of its own, and some are wrong (core/emit/closed_form.c)."""

from __future__ import annotations

import linecache

import numpy as np
import pytest

import lanewise as lw

STEPS = ["s += i", "s += i * i", "s = s + i + 1", "s = 5 + (s + 2 * i) - 1", "y[0] += i; s = int(y[0])", "s += s2; s2 += i", "s = i * i", "s = i * i * i", "s = i * (i + 1) // 2", "s += 2 * i + 1"]
CUTS = ["s % 4", "s & 7", "s % 16", "s & 255", "(s * 3) & 15", "(s + 1) % 4", "shorter(s)"]
LOOPS = ["for j in range({}):\n            t += 1",
         "j = {}\n        while j > 0:\n            t += j\n            j -= 1",
         "for j in range({}):\n            y[i] += x[j]"]
SOURCE = """
def function(x, y):
    s = s2 = t = 0
    for i in range(len(x)):
        y[i] = 0
        {loop}
        {step}
        y[i] += x[i] + t
"""


def shorter(s):
    return s % 8 + s % 2


def function_of(step, cut, loop):
    source = SOURCE.format(step=step.replace("; ", "\n        "), loop=loop.format(cut))
    name = f"<{step}, {cut}, {LOOPS.index(loop)}>"
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    names: dict = {"shorter": shorter}
    exec(compile(source, name, "exec"), names)
    return names["function"]


@pytest.mark.parametrize("step", STEPS)
def test_as_python(target, step):
    x = np.arange(600.0) % 7
    for k, cut in enumerate(CUTS):
        function = function_of(step, cut, LOOPS[k % len(LOOPS)])
        want = np.empty(600)
        function(x, want)
        array = lw.cuda.to_device(x) if target == "cuda" else x
        got = lw.guvectorize("(n)->(n)")(function)(array)
        np.testing.assert_array_equal(got.copy_to_host() if target == "cuda" else got, want, err_msg=cut)

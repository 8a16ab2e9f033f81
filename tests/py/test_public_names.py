"""What `dir` and `inspect.signature` show of the package and of its functions."""

from __future__ import annotations

import inspect
import subprocess
import sys

import numpy as np
import pytest

import lanewise as lw


def test_dir_shows_everything_public():
    shown = dir(lw)
    assert set(lw.__all__) | set(lw.ufuncs.__all__) | set(lw.types.__all__) <= set(shown)
    assert all(hasattr(lw, name) for name in shown) and shown == sorted(set(shown))
    first = subprocess.run([sys.executable, "-c", "import lanewise; print(*dir(lanewise))"], capture_output=True, text=True, check=True)
    assert {"verify", "cfunc", "carray", "reductions", "extending", "cache", "arctan2", "add"} <= set(first.stdout.split())


def test_only_operands_are_positional():
    """SciPy counts them: curve_fit without p0."""
    @lw.vectorize
    def line(x, a, b):
        return a * x + b

    @lw.guvectorize("(n),(),()->(n)")
    def parabola(x, a, b, out):
        for i in range(x.size):
            out[i] = a * x[i] ** 2 + b

    for f in (line, parabola):
        parameters = inspect.signature(f).parameters.values()
        assert [p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD] == ["x", "a", "b"]
        assert inspect.signature(f).parameters["out"].kind is inspect.Parameter.KEYWORD_ONLY
    optimize = pytest.importorskip("scipy.optimize")
    x = np.linspace(0, 1, 20)
    for f in (line, parabola):
        fitted, _ = optimize.curve_fit(f, x, f(x, 3.0, 1.0))
        np.testing.assert_allclose(fitted, [3, 1], rtol=1e-6)

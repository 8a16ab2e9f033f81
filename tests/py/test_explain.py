"""lanewise.explain with signatures and with example arguments, as text and as HTML; what notebooks show of other objects."""

from __future__ import annotations

import html.parser

import numpy as np
import pytest

import lanewise as lw
from fake_driver import needs_device
from lanewise import cuda
from lanewise.errors import TypingError

X = np.arange(6, dtype=np.float32)


@lw.vectorize
def scale(x, y):
    return x * y + 0.5


@lw.guvectorize("(n),()->(n)")
def times(x, a, out):
    for i in range(len(x)):
        out[i] = a * x[i]


@lw.forall
def saxpy(i, a, x, y):
    y[i] = a * x[i] + y[i]


@lw.forall(ndim=2)
def outer(i, j, x, out):
    out[i, j] = x[i] * x[j]


@cuda.jit
def halve(x, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[i] * 0.5


@lw.jit
def total(x):
    return x.sum()


mean = lw.reduce(map=lambda x: (x, 1), combine=lambda a, b: (a[0] + b[0], a[1] + b[1]), finish=lambda s, n: s / n, identity=(0, 0))


def counted(x, n):
    s = 0
    for i in range(n):
        s += x * 0.1
    return s


CASES = {
    "ufunc": (scale, (X, X), "scale(x: float32, y: float32) -> float32"),
    "ufunc with a number": (scale, (X, 2.0), "scale(x: float32, y: float32) -> float32"),
    "ufunc of scalars": (scale, (1, 2.0), "scale(x: int64, y: float64) -> float64"),
    "gufunc": (times, (X, 2.0), "times(x: float32[:], a: float32, out: float32[:])"),
    "forall": (saxpy, (6, 2.0, X, X), "saxpy(i: int (weak), a: float64, x: float32[::1], y: float32[::1])"),
    "forall without its space": (saxpy, (2.0, X, X), "saxpy(i: int (weak), a: float64, x: float32[::1], y: float32[::1])"),
    "forall of two": (outer, ((6, 6), X, np.ones((6, 6))), "outer(i: int (weak), j: int (weak), x: float32[::1], out: float64[:, ::1])"),
    "kernel": (halve, (X, X), "halve(x: float32[::1], out: float32[::1]) -> None"),
    "function": (total, (X[::2],), "total(x: float32[:]) -> float32"),
    "reduction": (mean, (X,), "<lambda>(x: float32) -> tuple(float32, int 1)"),
    "plain": (lambda x: x + 1, (X,), "<lambda>(x: float32) -> float32"),
    "plain, of arrays": (lambda x: x[0], (X,), "<lambda>(x: float32[::1]) -> float32"),
    "plain, with a count": (counted, (X, 3), "counted(x: float32, n: int64) -> float32"),
    "types": (counted, (lw.float32, lw.int64), "counted(x: float32, n: int64) -> float32"),
    "signature": (counted, ("float32(float32, int64)",), "counted(x: float32, n: int64) -> float32"),
    "tuple": (counted, ((lw.float32, lw.int64),), "counted(x: float32, n: int64) -> float32"),
}


@pytest.mark.parametrize("name", CASES)
def test_examples_and_signatures(name, capsys):
    f, arguments, expected = CASES[name]
    made = lw.explain(f, *arguments)
    assert expected in made
    assert capsys.readouterr().out == made + "\n"
    assert made.place.startswith(__file__ + ":") and made.sections[0].entries
    assert "explanation of" in repr(made)


def test_html_is_the_source_with_types():
    made = lw.explain(counted, X, 3)
    page = made._repr_html_()
    check(page)
    check(made.to_html().replace("<!doctype html>", "").replace('<meta charset="utf-8">', "").replace('<meta name="viewport" content="width=device-width">', ""))
    assert "def counted(x, n):" in page and "return s" in page  # lines without types too
    assert page.count("numba: float64") == 4 and 'class="differs"' in page
    assert [entry.expression for entry in made.sections[0].entries[counted.__code__.co_firstlineno + 3]] == ["s += x * 0.1", "s", "x * 0.1"]
    assert made.sections[0].entries[counted.__code__.co_firstlineno + 3][2] == (13, "x * 0.1", "float32", "float64")


def test_a_warning_is_shown_at_its_lines():
    made = lw.explain(lambda x: x + np.float64(1), X)
    assert made._repr_html_().count("W201") == 1 and made._repr_html_().count('class="warned"') == 1

    def two(x):
        y = x + np.float64(1)
        return y, x + np.float64(2)

    made = lw.explain(two, X)
    assert made.notes[-1].endswith(f"(lines {two.__code__.co_firstlineno + 1}, {two.__code__.co_firstlineno + 2})")
    assert made._repr_html_().count("W201") == 2 and made._repr_html_().count('class="warned"') == 2


def test_the_packages_own_functions_are_left_out():
    assert "whole_sum" not in lw.explain(total, X)


def test_what_cannot_be_explained():
    with pytest.raises(TypeError, match="a signature or example arguments"):
        lw.explain(scale)
    with pytest.raises(TypeError, match="not both"):
        lw.explain(scale, X, sig="f8(f8,f8)")
    with pytest.raises(TypeError, match="2 operands; explain.. was given 1"):
        lw.explain(scale, X)
    with pytest.raises(TypingError):
        lw.explain(lambda x: x + "a", X)


def test_notebooks_get_html_alone(capsys, monkeypatch):
    from lanewise import _explain

    monkeypatch.setattr(_explain, "_shows_html", lambda: True)
    assert "scale" in lw.explain(scale, X, X)
    assert capsys.readouterr().out == ""


def check(text):
    """Check that every tag that is opened is closed."""
    opened = []

    class Reader(html.parser.HTMLParser):
        def handle_starttag(self, tag, attrs):
            if tag != "br":
                opened.append(tag)

        def handle_endtag(self, tag):
            assert opened.pop() == tag

    Reader(convert_charrefs=True).feed(text)
    assert opened == []


@pytest.mark.parametrize("f, call", [(scale, (X, X)), (times, (X, 2.0)), (saxpy, (6, 2.0, X, X.copy())), (halve[1, 8], (X, X.copy())), (total, (X,)), (mean, (X,))],
                         ids=["ufunc", "gufunc", "forall", "kernel", "function", "reduction"])
def test_compiled_objects_in_notebooks(f, call):
    with lw.config(target="cpu"):
        f(*call)
    page = getattr(f, "kernel", f)._repr_html_()
    check(page)
    assert "for the CPU" in page and "GPU" not in page and f"{__file__}:" in page and "ms" in page


def test_nothing_compiled_yet():
    page = lw.vectorize(lambda x: x + 17)._repr_html_()
    check(page)
    assert "nothing yet" in page and "compiled at the first call" in page and "time to compile" not in page


def test_arrays_in_notebooks():
    with lw.config(target="cpu"):
        page = cuda.to_device(np.arange(6.0).reshape(2, 3))._repr_html_()
    check(page)
    assert "(2, 3)" in page and "float64" in page and "CPU" in page and "GPU" not in page


@needs_device
def test_arrays_of_a_device_in_notebooks():
    array = cuda.to_device(np.arange(6.0).reshape(2, 3))
    page = array._repr_html_()
    check(page)
    assert array.device.name in page and "(2, 3)" in page


@needs_device
def test_ufuncs_that_ran_on_a_device():
    f = lw.vectorize(lambda x: x + 19)
    f(cuda.to_device(np.arange(6.0)))
    assert f.stats["cuda"] == f.stats["compiled"] == 1
    assert "1 for the GPU" in f._repr_html_() and "CPU" not in f._repr_html_()

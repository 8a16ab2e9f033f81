"""Errors name the notebook's cell, as IPython's own tracebacks do."""

from __future__ import annotations

import linecache
import sys
import tempfile
import types

import numpy as np
import pytest

import lanewise as lw
from lanewise._places import name_places

CELL = "import numpy as np, lanewise as lw\n@lw.vectorize\ndef f(x):\n    return x + 'a'\n"


def run(name):
    linecache.cache[name] = (len(CELL), None, CELL.splitlines(True), name)
    scope = {}
    exec(compile(CELL, name, "exec"), scope)
    with pytest.raises(lw.errors.TypingError) as raised:
        scope["f"](np.arange(3.0))
    return raised.value


def test_cells_of_ipython():
    problem = run("<ipython-input-3-0123456789ab>")
    assert "--> In [3], line 4, column 16 in `f(x: float64)`" in str(problem)
    assert problem.filename == "<ipython-input-3-0123456789ab>" and problem.lineno == 4


def test_cells_of_a_kernel(monkeypatch):
    name = f"{tempfile.gettempdir()}/ipykernel_42/123456.py"
    assert f"--> {name}:4:16" in str(run(name))  # no IPython that knows it
    shell = types.SimpleNamespace(compile=types.SimpleNamespace(_filename_map={name: 7}))
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: shell))
    assert "--> In [7], line 4, column 16" in str(run(name))
    assert name_places(f"line 3 of {name} adds up") == "line 3 of In [7] adds up"
    assert name_places("--> program.py:4:16") == "--> program.py:4:16"


def test_what_notebooks_show_names_the_cell():
    name = "<ipython-input-3-0123456789ab>"
    text = "import lanewise as lw\nf = lw.vectorize(lambda x: x + 1)\n"
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    scope = {}
    exec(compile(text, name, "exec"), scope)
    with lw.profile(nvtx=False) as p:
        scope["f"](np.arange(3.0))
    assert ">In [3], line 2<" in scope["f"]._repr_html_()
    row, = p.table().rows
    assert row["function"] == "<lambda> (In [3], line 2)" and row["place"] == "In [3], line 2"


RAISES = """
import lanewise as lw

class Bad(Exception):
    def __init__(self, x):
        super().__init__(x)

@lw.vectorize
def f(x):
    if x > 1:
        raise Bad(x)
    return x
"""


@pytest.mark.skipif(sys.version_info < (3, 11), reason="exceptions have no notes")
def test_notes_of_exceptions():
    name = "<ipython-input-3-0123456789ab>"
    linecache.cache[name] = (len(RAISES), None, RAISES.splitlines(True), name)
    scope = {"__name__": "__main__"}
    exec(compile(RAISES, name, "exec"), scope)
    with pytest.raises(Exception) as raised:
        scope["f"](np.arange(3.0))
    assert raised.value.args == (2.0,) and raised.value.__notes__ == ["raised in `f` at In [3], line 11, element 2"]

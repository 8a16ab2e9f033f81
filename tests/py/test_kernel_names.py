"""The objects of kernels' own names: how they look on the host, and that compiled code knows all of them."""

from __future__ import annotations

import copy
import inspect
import pickle
import re

import pytest

import lanewise as lw
from lanewise import cuda
from lanewise._core import Intrinsic, IntrinsicGroup, _dump_ir, _dump_typed, _named_functions, intrinsics
from source_tree import rows

ROWS = [(row[1].strip('"'), row[6].strip('"')) for row in rows("kernel_names", "KERNEL_NAME")]
CALLS = [path for path, signature in ROWS if signature]
VALUES = [path for path, signature in ROWS if not signature]
KERNEL_ONLY = {row[1].strip('"') for row in rows("kernel_names", "KERNEL_NAME") if row[4] not in ("BITS", "SELP", "FLOAT", "LOCAL")}


def find(path: str):
    found = lw
    for name in path.split(".")[1:]:
        found = getattr(found, name)
    return found


@pytest.mark.parametrize("path", [path for path, _ in ROWS])
def test_every_row_is_an_object(path):
    found = find(path)
    assert type(found) is Intrinsic
    assert _named_functions()[found.__lanewise_row__ - 1][0] == path
    assert f"{found.__module__}.{found.__qualname__}" == path
    assert found.__name__ == path.rpartition(".")[2]
    assert found.__doc__.startswith(path.removeprefix("lanewise.")) and found.__doc__.endswith(".")
    assert repr(found).startswith("<" + path.removeprefix("lanewise."))


@pytest.mark.parametrize("path", [path for path, _ in ROWS])
@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_pickled_by_name(path, protocol):
    found = find(path)
    assert pickle.loads(pickle.dumps(found, protocol)) is found
    assert copy.deepcopy(found) is found


def test_groups():
    assert type(cuda.threadIdx) is IntrinsicGroup is type(intrinsics.cuda)
    assert dir(cuda.threadIdx) == ["x", "y", "z"]
    assert pickle.loads(pickle.dumps(cuda.threadIdx)) is cuda.threadIdx
    assert repr(cuda.threadIdx) == "<cuda.threadIdx: works in kernels>"
    with pytest.raises(AttributeError, match="cuda.threadIdx.x cannot be assigned"):
        cuda.threadIdx.x = 3
    with pytest.raises(AttributeError, match="'w'"):
        cuda.threadIdx.w


@pytest.mark.parametrize("path", CALLS)
def test_called_on_the_host(path):
    name = path.removeprefix("lanewise.")
    with pytest.raises(RuntimeError, match=rf"^{re.escape(name)}\(\) runs in compiled code only"):
        find(path)(1)


def test_value_called_on_the_host():
    with pytest.raises(TypeError, match="cuda.laneid is a value of a kernel's thread"):
        cuda.laneid()


def test_classes_cannot_be_made():
    for kind in (Intrinsic, IntrinsicGroup):
        with pytest.raises(TypeError):
            kind()


# ---- in compiled code ----


def test_aliases_and_local_names():
    grid, indices = cuda.grid, cuda.threadIdx

    def f(x):
        barrier = cuda.syncthreads
        barrier()
        y = x + grid(1) + indices.y

    text = _dump_typed(f, "float32", procedure=True)
    assert re.search(r"barrier\(\) +None", text) and "x + grid(1) + indices.y" in text


def test_group_is_no_value():
    def f(x):
        return x + cuda.threadIdx

    with pytest.raises(lw.errors.CompileError, match="threadIdx|E120|E104"):
        _dump_typed(f, "float32", procedure=True)


def test_names_that_are_not_there():
    def f(x):
        return x + cuda.threadIdx.w

    with pytest.raises(lw.errors.TypingError, match="E150.*`w`"):
        _dump_typed(f, "float32", procedure=True)


def test_unused_results_are_still_computed():
    def f(x):
        cuda.any_sync(-1, x > 0)
        if x > 1:
            cuda.shfl_sync(-1, x, 0)

    ir = _dump_ir(f, "void(float32)", procedure=True)
    assert "kcall i32 vote_any" in ir and re.search(r"if %\d+\n.*kcall i32 shfl_idx.*end", ir, re.S)


def test_kernel_only_names_are_refused_elsewhere():
    space = {"cuda": cuda}
    for path in sorted(KERNEL_ONLY):
        name = path.removeprefix("lanewise.")
        low = next(low for listed, low, _high in _named_functions() if listed == path)
        call = f"{name}({', '.join(['1'] * low)})" if path in CALLS else name
        source = f"def f(x):\n    y = {call}\n    return x\n"
        exec(source, space)
        with pytest.raises(lw.errors.TypingError, match=f"E163: `{re.escape(name)}` works in kernels only"):
            _dump_typed(space["f"], "float32", source=source)


def test_the_others_work_elsewhere():
    import numpy as np

    @lw.vectorize
    def f(x, y):
        return cuda.popc(x) + 100 * cuda.clz(x) + 10000 * cuda.ffs(x) + cuda.selp(y > 0, 0.5, 0.25)

    @lw.vectorize
    def g(x):
        return cuda.brev(x)

    @lw.vectorize
    def h(x):
        return cuda.rsqrt(x) + cuda.cbrt(x) + cuda.fma(x, x, x)

    x = np.array([0, 1, 12, 2**31, 2**32 - 1], np.uint32)
    assert f(x, np.ones(5)).tolist() == [3200.5, 3101 + 1e4 + .5, 2802 + 3e4 + .5, 1 + 32e4 + .5, 32 + 1e4 + .5]
    assert g(x).tolist() == [0, 2**31, 0x30000000, 1, 2**32 - 1] and g(x).dtype == np.uint32
    assert g(np.uint64(1)) == 2**63
    assert h(np.float64(64)) == 1 / 8 + 4 + 64 * 65

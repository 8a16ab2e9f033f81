"""The objects of kernels' own names: how they look on the host, and that compiled code knows all of them."""

from __future__ import annotations

import copy
import pickle
import re

import pytest

import lanewise as lw
from lanewise import cuda
from lanewise._core import Intrinsic, IntrinsicGroup, _dump_ir, _dump_typed, _named_functions, intrinsics
from source_tree import read, rows

LIBDEVICE = rows("libdevice", "LIBDEVICE")
ROWS = [(row[1].strip('"'), row[6].strip('"')) for row in rows("kernel_names", "KERNEL_NAME")]
ROWS += [(f"lanewise.cuda.libdevice.{row[0]}", "(x)") for row in LIBDEVICE]
CALLS = [path for path, signature in ROWS if signature]
ANYWHERE = ("BITS", "SELP", "FLOAT", "LOCAL", "CONST_ARRAY")
KERNEL_ONLY = {row[1].strip('"') for row in rows("kernel_names", "KERNEL_NAME") if row[4] not in ANYWHERE}


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


@pytest.mark.parametrize("path, function", [("core/front/infer/named_kernel.c", "lw_infer_kernel"), ("core/front/lower/kernel.c", "lw_lower_kernel")])
def test_every_rule_of_kernels_has_a_case(path, function):
    rules = re.search(r"LW_RULE_SREG\b.*?LW_RULE_SELP\b", read("core/front/named.h"), re.S)
    body = re.search(rf"^{function}\(.*?^}}", read(path), re.S | re.M)
    assert set(re.findall(r"LW_RULE_\w+", rules[0])) == set(re.findall(r"case (LW_RULE_\w+):", body[0]))


# ---- libdevice ----


def test_all_of_libdevice_is_there():
    assert len(LIBDEVICE) == 317 == len(dir(cuda.libdevice))


def like_the_cpu(name, *arguments):
    """The results of cuda.libdevice.<name> on the CPU for columns of arguments."""
    space = {"cuda": cuda}
    letters = "xyz"[:len(arguments)]
    source = f"def f({', '.join(letters)}):\n    return cuda.libdevice.{name}({', '.join(letters)})\n"
    exec(source, space)
    return lw.vectorize(source=source)(space["f"])(*arguments)


def test_libdevice_on_the_cpu():
    import numpy as np

    x = np.array([-7.25, -1.5, -0.0, 0.3, 2.5, 1e10])
    y = np.array([2.0, -0.5, 3.0, 0.25, 7.0, 3.0])
    i = np.array([-2**31, -5, 0, 1, 12, 2**31 - 1], np.int32)
    j = np.array([3, -7, 2, 2**30, -1, 5], np.int32)
    same = np.testing.assert_array_equal
    near = np.testing.assert_allclose
    near(like_the_cpu("sin", x), np.sin(x), 1e-15)
    near(like_the_cpu("expf", y), np.exp(y.astype("f4")), 1e-6)
    assert like_the_cpu("expf", y).dtype == np.float32 and like_the_cpu("clzll", i).dtype == np.int32
    near(like_the_cpu("sincos", x), (np.sin(x), np.cos(x)), 1e-15)
    same(like_the_cpu("frexp", x), np.frexp(x))
    same(like_the_cpu("modf", x), np.modf(x))
    same(like_the_cpu("fma", x, y, y), [np.float64(a) * b + b for a, b in zip(x, y)])
    same(like_the_cpu("fdim", x, y), np.maximum(x - y, 0))
    same(like_the_cpu("saturatef", x), np.clip(x.astype("f4"), 0, 1))
    assert like_the_cpu("saturatef", np.nan) == 0 and np.isnan(like_the_cpu("fdim", np.nan, 1.0))
    same(like_the_cpu("drcp_rn", y), 1 / y)
    same(like_the_cpu("hiloint2double", like_the_cpu("double2hiint", x), like_the_cpu("double2loint", x)), x)
    same(like_the_cpu("float_as_int", y), y.astype("f4").view("i4"))
    same(like_the_cpu("uint2double_rn", i), i.view("u4").astype("f8"))
    same(like_the_cpu("ll2float_rn", i), i.astype("f4"))
    same(like_the_cpu("min", i, j), np.minimum(i, j))
    same(like_the_cpu("umax", i, j), np.maximum(i.view("u4"), j.view("u4")).view("i4"))
    same(like_the_cpu("abs", i[1:]), abs(i[1:]))
    same(like_the_cpu("mulhi", i, j), (i.astype("i8") * j >> 32).astype("i4"))
    same(like_the_cpu("umulhi", i, j), (i.view("u4").astype("u8") * j.view("u4") >> np.uint64(32)).astype("u4").view("i4"))
    same(like_the_cpu("popc", i), [1, 31, 0, 1, 2, 31])
    same(like_the_cpu("clz", i), [0, 0, 32, 31, 28, 1])
    same(like_the_cpu("ffs", i), [32, 1, 0, 1, 3, 1])
    same(like_the_cpu("brev", i[2:5]), [0, -2**31, 3 << 28])
    same(like_the_cpu("isnand", [1.0, np.nan]), [0, 1])
    same(like_the_cpu("isinff", [np.inf, 1, -np.inf]), [1, 0, 1])
    same(like_the_cpu("signbitd", [-0.0, 0.0]), [1, 0])


@pytest.mark.parametrize(("x", "y"), [(7.25, 2), (-7.25, 2), (100.0, -7), (3e300, 1.5), (5e-310, 2e-310), (1.0, 1e308), (2.5, 1), (-63.0, 8)])
def test_remquo(x, y):
    import math
    from fractions import Fraction

    rest, quotient = map(float, like_the_cpu("remquo", x, float(y)))
    quotient = int(quotient)
    exact = Fraction(x) / Fraction(y)
    wanted = round(exact)
    assert rest == math.remainder(x, y)
    assert abs(quotient) == abs(wanted) % 8 and quotient * wanted >= 0


def test_what_only_gpus_have():
    with pytest.raises(lw.errors.UnsupportedError, match=r"`cuda.libdevice.fast_sinf` \(line 2 of .*exists on GPUs only"):
        like_the_cpu("fast_sinf", 1.5)


@pytest.mark.slow_with_sanitizers
@pytest.mark.parametrize("target", ["sm_75", "sm_120"])
def test_all_of_libdevice_links(target):
    """One function calls all of libdevice's: every name is resolved, and every signature is the library's."""
    lines = []
    for name, result, arguments, *_ in LIBDEVICE:
        call = f"cuda.libdevice.{name}({', '.join(arguments.strip(chr(34)))})"
        lines += [f"    y += {call}{part}" for part in ([""] if len(result) == 3 else ["[0]", "[1]"])]
    source = "def f(i, l, h, f, d):\n    y = 0.0\n" + "\n".join(lines) + "\n    return y\n"
    space = {"cuda": cuda}
    exec(source, space)
    function = lw.vectorize(["f8(i4, i8, i2, f4, f8)"], target="cuda", source=source, warn=False)(space["f"])
    assert function.export(["f8(i4, i8, i2, f4, f8)"], [target])

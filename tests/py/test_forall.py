"""forall on the host: index spaces, arrays of every layout, records, tuples, errors, life; its GPU
code as cubins. Device calls run on the fake driver in test_forall_device.py."""

from __future__ import annotations

import copy
import gc
import pickle
import re
import weakref
from collections import namedtuple

import numpy as np
import pytest

import lanewise as lw
from lanewise import cuda


@lw.forall
def saxpy(i, a, x, y, out):
    out[i] = a * x[i] + y[i]


@lw.forall
def fill_index(i, out):
    out[i] = i


@lw.forall(ndim=2)
def outer(i, j, x, y, out):
    out[i, j] = x[i] * y[j]


@lw.forall(ndim=2)
def stencil(i, j, a, out):
    out[i + 1, j + 1] = a[i, j + 1] + a[i + 2, j + 1] + a[i + 1, j] + a[i + 1, j + 2]


@lw.forall(ndim=3)
def cube(i, j, k, out):
    out[i, j, k] = 100 * i + 10 * j + k


def arrays(n, dtype="f8"):
    rng = np.random.default_rng(n)
    return rng.random(n).astype(dtype), rng.random(n).astype(dtype), np.zeros(n, dtype)


@pytest.mark.parametrize("dtype", ["f4", "f8", "c8", "c16"])
@pytest.mark.parametrize("n", [1, 2, 63, 1000, 300_001])
def test_saxpy(n, dtype):
    x, y, out = arrays(n, dtype)
    assert saxpy(n, 2.0, x, y, out) is None
    np.testing.assert_allclose(out, 2 * x + y, rtol=1e-6)


def test_integers_stay_integers():
    x = np.arange(10, dtype="i4")
    out = np.zeros(10, "i8")
    saxpy(10, 3, x, x, out)
    assert (out == 4 * x).all()


# ---- index spaces ----


def test_nothing_to_do():
    out = np.full(4, -1)
    for space in (0, range(0), slice(3, 3), range(5, 2), (0,)):
        fill_index(space, out)
    assert (out == -1).all()
    outer((0, 5), out, out, out.reshape(2, 2))
    assert (out == -1).all()


@pytest.mark.parametrize("space", [range(2, 9), range(1, 10, 3), slice(2, 7), slice(None, 8, 2), range(9, 1, -2), np.int64(7), (6,)])
def test_parts_of_an_array(space):
    out = np.full(10, -1)
    fill_index(space, out)
    wanted = np.full(10, -1)
    as_range = range(*space.indices(10)) if isinstance(space, slice) else space
    for i in as_range if isinstance(as_range, range) else range(int(np.ravel(as_range)[0])):
        wanted[i] = i
    assert (out == wanted).all()


def test_a_negative_index_counts_from_the_end():
    out = np.zeros(6, "i8")
    fill_index(range(-3, 0), out)
    assert out.tolist() == [0, 0, 0, -3, -2, -1]


def test_two_dimensions():
    x, y = np.arange(7.0), np.arange(11.0)
    for order in "CF":
        out = np.zeros((7, 11), order=order)
        outer(out.shape, x, y, out)
        assert (out == np.multiply.outer(x, y)).all()
    out = np.zeros((7, 11))
    outer((range(1, 7, 2), slice(3, 9)), x, y, out)
    wanted = np.zeros((7, 11))
    wanted[1:7:2, 3:9] = np.multiply.outer(x, y)[1:7:2, 3:9]
    assert (out == wanted).all()


@pytest.mark.parametrize("shape", [(3, 3), (100, 57), (5, 40_001), (30_000, 4)])
def test_stencil(shape):
    a = np.random.default_rng(1).random(shape)
    out = np.zeros(shape)
    stencil((shape[0] - 2, shape[1] - 2), a, out)
    assert (out[1:-1, 1:-1] == a[:-2, 1:-1] + a[2:, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:]).all()
    assert out[0].sum() == out[-1].sum() == 0


@pytest.mark.parametrize("shape", [(2, 3, 4), (1, 1, 1), (40, 50, 60), (3, 1, 70_000)])
def test_three_dimensions(shape):
    out = np.full(shape, -1)
    cube(shape, out)
    i, j, k = np.indices(shape)
    assert (out == 100 * i + 10 * j + k).all()


# ---- layouts and types ----


def test_strided_views():
    base = np.random.default_rng(2).random(400)
    x, y, out = base[::2][:100], base[::-1][:100], np.zeros((100, 3))[:, 1]
    saxpy(100, 2.0, x, y, out)
    assert (out == 2 * x + y).all()


def test_zero_strides_and_scalars_of_numpy():
    x = np.broadcast_to(3.0, 10)
    out = np.zeros(10, "f4")
    saxpy(10, np.float32(2), x, np.arange(10.0), out)
    assert (out == 6 + np.arange(10)).all()


def test_in_place_and_overlapping():
    x = np.arange(1000.0)
    saxpy(1000, 1.0, x, x, x)
    assert (x == 2 * np.arange(1000)).all()
    x = np.arange(1001.0)
    saxpy(1000, 0.0, x[:-1], x[1:], x[:-1])  # each element reads its right neighbour before that is written
    assert (x[:-1] == np.arange(1.0, 1001)).all()


def test_records():
    dtype = np.dtype([("x", "f4"), ("v", "f8"), ("k", "i2")], align=True)

    @lw.forall
    def step(i, r, dt):
        r[i].x = r[i].x + dt * r[i].v
        r[i]["k"] += 1

    r = np.zeros(1000, dtype)
    r["v"] = np.arange(1000)
    step(1000, r, 0.5)
    assert (r["x"] == 0.5 * np.arange(1000)).all() and (r["k"] == 1).all()
    again = np.zeros(3, np.dtype([("x", "f4"), ("v", "f8"), ("k", "i2")], align=True))
    step(3, again, 0.5)
    assert len(step.signatures) == 1, "an equal dtype is no new type"


def test_one_record_as_an_argument():
    dtype = np.dtype([("a", "f8"), ("n", "i4")])

    @lw.forall
    def scale(i, p, out):
        out[i] = p.a * p.n

    r = np.array([(1.5, 4)], np.dtype(dtype, align=True))
    out = np.zeros(3)
    scale(3, r[0], out)
    assert (out == 6).all()


def test_tuples():
    Pair = namedtuple("Pair", "low high")

    @lw.forall
    def clamp(i, x, limits, out):
        out[i] = min(max(x[i], limits.low), limits.high)

    @lw.forall
    def add(i, pair, out):
        out[i] = pair[0][i] + pair[1][0] * pair[1][1][i]

    x = np.linspace(-2, 2, 50)
    out = np.zeros(50)
    clamp(50, x, Pair(-1.0, 0.5), out)
    assert (out == np.clip(x, -1, 0.5)).all()
    add(50, (x, (2.0, x)), out)
    assert (out == x + 2.0 * x).all()


def test_none_and_defaults():
    @lw.forall
    def maybe(i, x, out, bias=None, scale=2):
        out[i] = scale * x[i] if bias is None else scale * x[i] + bias

    x = np.arange(5.0)
    out = np.zeros(5)
    maybe(5, x, out)
    assert (out == 2 * x).all()
    maybe(5, x, out, None)
    assert (out == 2 * x).all()
    maybe(5, x, out, 1.0, 3.0)
    assert (out == 3 * x + 1).all()


def test_many_arrays():
    names = [f"a{i}" for i in range(40)]
    source = f"def f(i, {', '.join(names)}):\n    a0[i] = {' + '.join(f'{name}[i]' for name in names[1:])}\n"
    space: dict = {}
    exec(source, space)
    f = lw.forall(source=source)(space["f"])
    args = [np.full((10, 10, 10), float(k)) for k in range(40)]
    f(10, *[a[:, 0, 0] for a in args])
    assert args[0][3, 0, 0] == sum(range(1, 40))


# ---- signatures ----


def test_declared_signatures():
    @lw.forall(["(float32, float32[:], float32[:])", "void(int64, float64, float64[:], float64[:])"])
    def scale(i, a, x, out):
        out[i] = a * x[i]

    assert scale.signatures == ["(float32, float32[:], float32[:])", "(float64, float64[:], float64[:])"]
    for dtype in "f4", "f8":
        x = np.arange(5, dtype=dtype)
        out = np.zeros(5, dtype)
        scale(5, 3, x, out)
        assert (out == 3 * x).all()
    with pytest.raises(TypeError, match=r"E181.*int64(.|\n)*argument `x` is int64\[::1\]; the signature has float"):
        scale(5, 3, np.arange(5), np.arange(5))
    fixed = np.broadcast_to(np.float64(1), 5)
    with pytest.raises(TypeError, match=r"argument `out` is Array\(float64, 1, 'A', readonly=True\); the signature has float64\[:\]"):
        scale(5, 3, np.ones(5), fixed)


def test_a_number_becomes_what_the_signature_says():
    @lw.forall("(complex128, complex128[:], int64)")
    def put(i, z, out, k):
        out[i] = z * k

    out = np.zeros(3, "c16")
    put(3, 2, out, 5)
    assert (out == 10).all()
    put(3, np.float32(1.5), out, np.int8(2))
    assert (out == 3).all()


# ---- what is refused ----


class Lends:
    """An array of another library that holds an array of NumPy."""

    def __init__(self, array):
        self.array = array


class ByInterface(Lends):
    __array_interface__ = property(lambda self: self.array.__array_interface__)


class ByDlpack(Lends):
    def __dlpack__(self, **keywords):
        return self.array.__dlpack__(**keywords)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


class ByArray(Lends):
    def __array__(self, dtype=None, copy=None):
        return self.array


def test_arrays_of_other_libraries_share_their_memory():
    @lw.forall
    def double(i, x, out):
        out[i] = x[i] * 2

    @cuda.jit(target="cpu")
    def double_by_threads(x, out):
        i = cuda.grid(1)
        if i < out.size:
            out[i] = x[i] * 2

    @lw.jit
    def last(x):
        return x[-1]

    x = np.arange(3.0)
    for lend in (ByInterface, ByDlpack, memoryview):
        out = np.zeros(3)
        double(3, lend(x), lend(out))
        assert (out == 2 * x).all()
        again = double.bind(3, (lend(out)), lend(out))
        again(), again()
        assert (out == 8 * x).all()
        double_by_threads[1, 32](cuda.In(lend(x)), lend(out))
        assert (out == 2 * x).all() and last(lend(out)) == 4
    out = np.zeros(3)
    double(3, ByArray(x), out)
    assert (out == 2 * x).all()
    with pytest.raises(lw.errors.TypingError, match="read-only"):
        double(3, x, ByArray(out))  # it might be a copy
    for wrong in ("text", b"bytes", np.str_("s"), [1.0], object(), np.longdouble(1)):
        with pytest.raises(TypeError, match="argument `x` is"):
            double(3, wrong, out)
    with pytest.raises(TypeError, match="masked array"):
        double(3, np.ma.array(x), out)


@pytest.mark.parametrize("dtype", ["f8", "i2", "c16", ">f8", ">i4", ">c8", ">u2"])
def test_arrays_of_the_other_byte_order_or_not_aligned(dtype):
    @lw.forall
    def double(i, x, out):
        out[i] = x[i] * 2

    @cuda.jit(target="cpu")
    def double_by_threads(x, out):
        i = cuda.grid(1)
        if i < out.size:
            out[i] = x[i] * 2

    @lw.forall
    def add_both(i, x, y):
        x[i] += 1
        y[i] += 10

    @lw.forall
    def fails(i, x):
        x[i] = 1
        if i == 2:
            raise ValueError

    x, out = (np.zeros(5 * np.dtype(dtype).itemsize + 1, np.uint8)[1:].view(dtype) for _ in "12")
    x[:] = np.arange(5)
    double(5, x, out)
    assert (out == 2 * np.arange(5)).all() and (x == np.arange(5)).all()
    launch = double_by_threads[1, 32].bind(x, out[::-1])
    x += 1
    launch()
    assert (out[::-1] == 2 * x).all()
    double(5, x, x)
    assert (x == 2 * np.arange(1, 6)).all()
    add_both(5, x[:], x[:])
    assert (x == 2 * np.arange(1, 6) + 11).all() and x.flags.writeable
    with pytest.raises(ValueError, match="add_both: arguments `.` and `.` share memory"):
        add_both(5, x, x[::-1])
    assert (x == 2 * np.arange(1, 6) + 11).all() and x.flags.writeable
    with pytest.raises(ValueError):
        fails(5, x)
    assert x[0] == 1 and x.flags.writeable
    with pytest.raises(ValueError, match="would be copied at each call"):
        double.bind(5, x, out)
    with pytest.raises(TypeError):
        double(5, x, "text")
    out.flags.writeable = False
    with pytest.raises(lw.errors.TypingError, match="read-only"):
        double(5, x, out)
    assert x.flags.writeable


def test_fields_of_packed_records_as_arrays():
    @lw.forall
    def double(i, x, out):
        out[i] = x[i] * 2

    r = np.zeros(5, [("a", "i1"), ("b", "f8"), ("c", "f4", (2,))])
    r["b"] = np.arange(5)
    double(5, r["b"], r["c"][:, 1])
    assert (r["c"] == [[0, 2 * k] for k in range(5)]).all() and (r["b"] == np.arange(5)).all()


def test_wrong_arguments():
    x = np.zeros(3)
    with pytest.raises(TypeError, match=r"saxpy\(\) missing a required argument: '\w+'"):
        saxpy(3, 1.0, x)
    with pytest.raises(TypeError, match="needs an index space"):
        saxpy()
    with pytest.raises(TypeError, match="argument `x` is a list"):
        saxpy(3, 1.0, [1, 2, 3], x, x)
    with pytest.raises(TypeError, match="argument `y` is an array of dtype"):
        saxpy(3, 1.0, x, np.array(["a", "b", "c"], object), x)
    with pytest.raises(OverflowError, match="argument `a`"):
        saxpy(3, 2**64, x, x, x)
    with pytest.raises(TypeError, match="unexpected keyword argument 'threads'"):
        saxpy(3, 1.0, x, x, x, threads=3)
    with pytest.raises(ValueError, match="tpb= must be an int from 0 to 1024"):
        saxpy(3, 1.0, x, x, x, tpb=-1)


def test_wrong_spaces():
    out = np.zeros(3)
    for bad in (1.5, "3", None, [3], (1, 2)):
        with pytest.raises(TypeError, match="fill_index: the index space must be"):
            fill_index(bad, out)
    with pytest.raises(ValueError, match="negative extent: -1"):
        fill_index(-1, out)
    with pytest.raises(ValueError, match="step of 0"):
        fill_index(slice(0, 3, 0), out)
    with pytest.raises(ValueError, match="must have a stop"):
        fill_index(slice(3, None), out)
    with pytest.raises(TypeError, match="tuple of 2"):
        outer(5, out, out, out.reshape(1, 3))
    with pytest.raises(ValueError, match=r"more than 2\^63"):
        cube((2**40, 2**40, 1), np.zeros((1, 1, 1)))


def test_read_only_arrays_are_not_written():
    x = np.zeros(3)
    x.flags.writeable = False
    with pytest.raises(lw.errors.CompileError, match="E162"):
        fill_index(3, x)


def test_wrong_functions():
    with pytest.raises(TypeError, match="2 indices"):
        lw.forall(ndim=2)(lambda i: None)
    with pytest.raises(TypeError, match=r"\*args"):
        @lw.forall
        def f(i, *args):
            args[0][i] = 1
    with pytest.raises(TypeError, match="unexpected keyword argument 'identity'"):
        lw.forall(identity=0)
    with pytest.raises(ValueError, match="ndim= must be 1, 2 or 3"):
        lw.forall(ndim=4)

    @lw.forall
    def threads(i, out):
        out[i] = lw.cuda.threadIdx.x

    with pytest.raises(lw.errors.TypingError, match="E163: `cuda.threadIdx.x` works in kernels only"):
        threads(3, np.zeros(3))


def test_a_value_is_refused():
    @lw.forall
    def f(i, x):
        return x[i]

    with pytest.raises(lw.errors.CompileError, match="E183"):
        f(3, np.zeros(3))


# ---- errors of the body ----


@lw.forall
def positive(i, x):
    if x[i] < 0:
        raise ValueError("negative")
    x[i] += 1


def test_errors_name_the_index():
    x = np.arange(100_000.0)
    x[[70, 60_000]] = -1
    with pytest.raises(ValueError, match=r"negative \(raised in `positive` at .*, element 70\)") as caught:
        positive(x.size, x)
    assert caught.value.index == 70
    with pytest.raises(ValueError, match="element 60000"):
        positive(range(50_000, 70_000), x)


def test_errors_in_two_dimensions():
    @lw.forall(ndim=2)
    def check(i, j, a):
        assert a[i, j] != 7, "seven"

    a = np.zeros((30, 50))
    a[12, 34] = 7
    with pytest.raises(AssertionError, match=r"seven .*element \(12, 34\)"):
        check(a.shape, a)
    lw.forall(ndim=2, errors="ignore")(check.py_func)(a.shape, a)


def test_bounds_are_checked_on_demand():
    f = lw.forall(check={"bounds"})(fill_index.py_func)
    with pytest.raises(IndexError, match="index 4"):
        f(5, np.zeros(4))


# ---- the object ----


def test_attributes():
    """The attributes that functools.wraps sets."""

    @lw.forall
    def documented(i, out):
        """Says what it does."""
        out[i] = i

    assert documented.__name__ == "documented" and documented.__doc__ == "Says what it does."
    assert documented.__wrapped__ is documented.py_func and documented.ndim == 1
    assert "documented" in repr(documented)
    documented.note = 3
    assert documented.note == 3
    documented(3, np.zeros(3))
    assert documented.signatures == documented.specialisations == ["(float64[::1])"]
    assert documented.stats["specialisations"] == 1 and documented.stats["compiled"] == 1


def test_bind():
    x, y, out = arrays(1000)
    step = saxpy.bind(1000, 2.0, x, y, out)
    step()
    assert (out == 2 * x + y).all()
    x[:] = 0
    step()
    assert (out == y).all()
    with pytest.raises(TypeError, match="takes no arguments"):
        step(1)
    with pytest.raises(TypeError, match="missing a required argument"):
        saxpy.bind(1000, 2.0)
    alive = weakref.ref(x)
    del x
    assert alive() is not None
    del step
    gc.collect()
    assert alive() is None


def test_pickle_and_copy():
    offset = 5

    @lw.forall(fastmath=True)
    def shift(i, x):
        x[i] += offset

    for f in (pickle.loads(pickle.dumps(shift)), copy.copy(shift), copy.deepcopy(shift)):
        x = np.zeros(4)
        f(4, x)
        assert (x == 5).all()
    assert pickle.loads(pickle.dumps(saxpy)) is saxpy
    assert pickle.loads(pickle.dumps(lw.forall(ndim=2)(outer.py_func))).ndim == 2


def test_explained():
    """lw.explain shows kernels, functions of arrays, and what they call."""
    def halve(i, x):
        x[i] = helper(x[i]) * 0.5

    def helper(v):
        return v + 1

    @lw.guvectorize("(n)->()")
    def first(x, out):
        out[0] = x[0] * 0.5

    def k(x):
        x[cuda.grid(1)] *= 0.5

    for text in (lw.explain(lw.forall(halve), "void(float32[:])"), lw.explain(cuda.jit(k), "void(float32[::1])"),
                 lw.explain(k, lw.void(lw.float32[:])), lw.explain(first, "void(float32[:], float32[:])"),
                 lw.explain(lw.jit(lambda x: x[0] * 0.5), "float32(float32[:])")):
        assert "float32   <- numba: float64" in text
    assert "helper(v: float32)" in lw.explain(lw.forall(halve), "void(int64, float32[:])")
    with pytest.raises(TypeError, match="one signature, not 2"):
        lw.explain(cuda.jit(k), ["void(float32[:])", "void(float64[:])"])
    with pytest.raises(TypeError, match="0 arguments"):
        lw.explain(lw.forall(halve), "void()")


def test_it_goes_away():
    @lw.forall
    def f(i, x):
        x[i] = 1

    f(3, np.zeros(3))
    f.cycle = f
    alive = weakref.ref(f)
    del f
    gc.collect()
    assert alive() is None


def test_closures_are_read_anew_where_they_changed():
    scale = 2

    @lw.forall
    def f(i, x):
        x[i] = scale

    scale = 3
    x = np.zeros(2)
    f(2, x)
    scale = 4
    f(2, x)
    assert (x == 4).all()


# ---- code ----


def machine_code(kernel, *what):
    try:
        return kernel.inspect_sass(*what)
    except lw.errors.CompilerNotFound as problem:  # a disassembler is no dependency of the tests
        pytest.skip(str(problem).splitlines()[0])


@pytest.mark.parametrize("arch", ["sm_75", "sm_90", "sm_100", "sm_120"])
@pytest.mark.parametrize("kernel, signature", [
    (saxpy, "(float32, float32[::1], float32[::1], float32[::1])"),
    (outer, "(float64[:], float64[:], float64[:, :])"),
    (cube, "(int32[:, :, ::1])"),
    (positive, "(float32[::1])"),
])
def test_gpu_code(kernel, signature, arch):
    ptx = kernel.inspect_ptx(signature, arch)
    assert f".target {arch}" in ptx and ".entry" in ptx
    assert machine_code(kernel, signature, arch)


def test_code_of_each_stage():
    signature = "(float32, float32[::1], float32[::1], float32[::1])"
    assert "float32" in saxpy.inspect_types(signature)
    assert "lw_range_loop" in saxpy.inspect_llvm(signature)
    assert "ld.global.nc.f32" in saxpy.inspect_ptx(signature), "inputs go by the read-only path"
    assert re.search(r"mm\d|\bf(mul|mla|madd)\b", saxpy.inspect_asm(signature))  # of x86-64, of AArch64
    with pytest.raises(TypeError, match="has 1 argument, but `saxpy` takes 4 behind the index"):
        saxpy.inspect_llvm("(float32,)")


def _scale_into(i, a, x, out):
    out[i] = a * x[i]


def _scale_into_kernel(a, x, out):
    i = lw.cuda.grid(1)
    if i < out.size:
        out[i] = a * x[i]


@pytest.mark.parametrize("target, output, start", [
    ("cpu", "object", b"\x7fELF"), ("cpu", "asm", "\t"), ("sm_90", "cubin", b"\x7fELF"), ("sm_75", "ltoir", b""), ("sm_120", "ptx", "//"),
])
def test_ahead_of_time(target, output, start):
    if target != "cpu":
        pytest.importorskip("cuda.pathfinder", reason="libNVVM and nvJitLink are looked for with it")
    for function in (lw.forall(_scale_into), _scale_into_kernel):
        code = lw.compile(function, "void(f4, f4[:], f4[:])", target=target, output=output)
        assert len(code) > 100 and code.startswith(start)


def test_ahead_of_time_refused():
    for output in ("cubin", "ptx", "colour"):
        with pytest.raises(ValueError, match="output must be"):
            lw.compile(lw.forall(_scale_into), "void(f4, f4[:], f4[:])", target="cpu", output=output)


def test_resources():
    signature = "(float32, float32[::1], float32[::1], float32[::1])"
    gpu = saxpy.resources(signature, "sm_90")
    assert 8 <= gpu["registers"] <= 40 and gpu["spill_bytes"] == 0 and gpu["occupancy"] == 1
    assert saxpy.resources(signature, "cpu")["code_bytes"] > 0
    with pytest.raises(ValueError, match="not compiled for any types yet"):
        lw.forall(saxpy.py_func).resources()


def test_neighbouring_threads_touch_neighbouring_elements():
    """The subscripts say which index is fastest: in C order, the one in the last place."""
    rows = outer.inspect_nvvm("(float64[::1], float64[::1], float64[:, ::1])")
    columns = lw.forall(ndim=2)(swapped).inspect_nvvm("(float64[:, ::1])")
    assert rows.count("define") and columns.count("define")
    out = np.zeros((3, 4))
    lw.forall(ndim=2)(swapped)((4, 3), out)
    assert (out == np.arange(4.0) + 10 * np.arange(3.0)[:, None]).all()


def swapped(x, y, out):
    out[y, x] = x + 10 * y


def test_beyond_32_bits():
    @lw.forall
    def far(i, out):
        out[i - 3_000_000_000] = i

    out = np.zeros(5, "i8")
    far(range(3_000_000_000, 3_000_000_005), out)
    assert out.tolist() == list(range(3_000_000_000, 3_000_000_005))
    signature = "(int64[::1])"
    assert machine_code(far, signature)


@pytest.mark.parametrize("call, problem, text", [
    (lambda x: fill_index(3, np.ma.masked_array(x, mask=[True, False, False])), TypeError, "`out` is a masked array"),
    (lambda x: fill_index(3, object()), TypeError, "argument `out` is an object"),
    (lambda x: fill_index(2**70, x), OverflowError, "fill_index: the index space must be within int64"),
    (lambda x: fill_index(3, x, stream="main"), TypeError, "stream: expected a stream, a handle, 0 or None, got str"),
])
def test_nothing_is_ignored(call, problem, text):
    x = np.zeros(3)
    with pytest.raises(problem, match=text):
        call(x)
    assert not x.any()
    fill_index(3, x, stream=0)
    assert x.tolist() == [0, 1, 2]


@lw.forall
def named(i, x, out, scale=2.0, shift=0.0):
    out[i] = scale * x[i] + shift


def test_arguments_by_name():
    x, out = np.arange(4.0), np.zeros(4)
    named(4, out=out, x=x)
    assert out.tolist() == [0, 2, 4, 6]
    named(4, x, shift=1.0, out=out, stream=0)
    assert out.tolist() == [1, 3, 5, 7]
    bound = named.bind(range(1, 3), x, out=out, scale=-1)
    bound()
    assert out.tolist() == [1, -1, -2, 7]
    outer((4, 4), x, out=np.zeros((4, 4)), y=x)


@pytest.mark.parametrize("call, text", [
    (lambda x: named(4, x, x=x), "got multiple values for argument 'x'"),
    (lambda x: named(4, x, i=3, out=x), "unexpected keyword argument 'i'"),
    (lambda x: named(4, x, ouf=x), "unexpected keyword argument 'ouf'"),
    (lambda x: named(4, x, scale=1.0), "missing a required argument: 'out'"),
    (lambda x: named(4, x, x, 1.0, 2.0, 3.0, out=x), "takes 4 positional arguments behind the index but 5 were given"),
    (lambda x: named(out=x), "needs an index space"),
])
def test_wrong_names(call, text):
    x = np.arange(4.0)
    with pytest.raises(TypeError, match=text):
        call(x)
    assert x.tolist() == [0, 1, 2, 3]


def test_what_arrays_without_axes_give_is_a_number():
    def twice(i, a, out):
        out[i] = a * 2

    out = np.zeros(1)
    lw.forall(twice)(1, np.array(3.0), out)
    assert out[0] == 6.0


@lw.forall(target="cpu")
def line(i, out, value):
    out[i] = value


@lw.forall(ndim=2, target="cpu")
def plane(i, j, out):
    out[i, j] = 1


@pytest.mark.parametrize(("call", "words"), [
    (lambda: line(True, np.zeros(3), 1), "an int, a range or a slice, not bool"),
    (lambda: plane((1, True), np.zeros((3, 3))), "a tuple of 2 ints, ranges or slices, not bool"),
    (lambda: line((5, 5), np.zeros(5), 1), r"not a tuple of 2; forall\(ndim=2\) takes one"),
    (lambda: plane((1, 2, 3), np.zeros((3, 3))), "a tuple of 2 ints, ranges or slices, not a tuple of 3"),
    (lambda: line(1, np.zeros(3)), "missing a required argument: 'value'"),
    (lambda: line(1, value=3), "missing a required argument: 'out'"),
    (lambda: cuda.jit(line.py_func, target="cpu")[1, 1](0), "missing a required argument: 'out'"),
])
def test_refused_calls_say_what_is_missing(call, words):
    with pytest.raises(TypeError, match=words):
        call()

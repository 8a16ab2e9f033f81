"""What programs for numba.cuda do that has no place of its own: arguments that are records and members of enum classes,
functions made by exec, shapes that are passed on, extensions."""

import enum
import warnings

import numpy as np
import pytest

import lanewise as lw
from lanewise import cuda

RECORD = np.dtype([("a", np.float64), ("b", np.int32), ("h", np.float32, 2)], align=True)


@pytest.fixture(autouse=True)
def on_the_cpu():
    with lw.config(target="cpu"):
        yield


# ---- records ----

@cuda.jit
def fill(r):
    r.a = 2.5
    r["b"] = 7
    r.h[1] = 4


@pytest.mark.parametrize("make", [np.zeros, lambda n, dtype: np.zeros(n, dtype).view(np.recarray)])
def test_a_record_of_an_array_is_written_in_place(make):
    x = make(3, RECORD)
    fill[1, 1](x[1])
    assert x["a"].tolist() == [0, 2.5, 0] and x["b"].tolist() == [0, 7, 0] and x["h"].tolist() == [[0, 0], [0, 4], [0, 0]]


def test_a_record_of_its_own_and_one_without_axes():
    x = np.zeros(2, RECORD)
    one, zero = x[0].copy(), np.zeros((), RECORD)
    fill[1, 1](one)
    fill[1, 1](zero)
    assert one["b"] == zero["b"] == 7 and x["b"].tolist() == [0, 0]
    on_device = cuda.to_device(x)
    fill[1, 1](on_device[1])
    assert on_device.copy_to_host()["b"].tolist() == [0, 7]


def test_a_read_only_record_is_refused():
    x = np.zeros(2, RECORD)
    x.flags.writeable = False
    with pytest.raises(lw.errors.TypingError, match="E162"):
        fill[1, 1](x[0])


def test_a_declared_signature_of_a_record():
    rec = lw.from_dtype(RECORD)

    @cuda.jit(lw.void(rec))
    def declared(r):
        r.b = 5

    x = np.zeros(2, RECORD)
    declared[1, 1](x[1])
    assert x["b"].tolist() == [0, 5]


def test_fields_by_number():
    @cuda.jit
    def swap(r, out):
        out[0] = r[0] + r[-2]
        r[1] = 9

    x, out = np.zeros(1, RECORD), np.zeros(1)
    x["a"], x["b"] = 1.5, 2
    swap[1, 1](x[0], out)
    assert out[0] == 3.5 and x["b"][0] == 9
    with pytest.raises(lw.errors.TypingError, match="or its number"):
        cuda.jit(lambda r: r[3])[1, 1](x[0])


@pytest.mark.parametrize("target", ["sm_75", "sm_90"])
def test_a_gpu_writes_records(target):
    rec = lw.from_dtype(RECORD)
    assert "st." in fill.inspect_ptx(lw.void(rec), target)


def test_types_of_records_as_dtypes():
    dt = lw.from_dtype(RECORD)

    @cuda.jit
    def through(x, y):
        s, t = cuda.shared.array(2, dtype=dt), cuda.local.array(1, dt)
        t[0] = x[1]
        s[0] = t[0]
        y[0] = s[0]

    x, y = np.zeros(2, RECORD), np.zeros(1, RECORD)
    x["b"] = 3, 4
    through[1, 1](x, y)
    assert y["b"].tolist() == [4]


# ---- members of enum classes ----

class Color(enum.Enum):
    RED = 1
    GREEN = 2


class Shape(enum.IntEnum):
    CIRCLE = 2
    SQUARE = 500


class Other(enum.IntEnum):
    TWO = 2


@cuda.jit
def compare(a, b, out):
    out[0] = a == b
    out[1] = a != b
    out[2] = a is b
    out[3] = a is not b


@pytest.mark.parametrize("a, b", [(Color.RED, Color.RED), (Color.RED, Color.GREEN), (Shape.CIRCLE, Shape.CIRCLE), (Shape.CIRCLE, Other.TWO),
                                  (Shape.CIRCLE, Color.GREEN)])
def test_members_as_arguments(a, b):
    out = np.zeros(4, bool)
    compare[1, 1](a, b, out)
    assert out.tolist() == [a == b, a != b, a is b, a is not b]


def test_members_choose_code_and_have_names():
    @cuda.jit
    def f(mode, out):
        if mode is Color.RED:
            out[0] = mode.value
        elif mode == Color["GREEN"]:
            out[0] = -mode.value

    out = np.zeros(1)
    for mode, want in ((Color.RED, 1), (Color.GREEN, -2), (Color.RED, 1)):
        f[1, 1](mode, out)
        assert out[0] == want


def test_members_for_forall_and_jit():
    @lw.forall
    def f(i, mode, x):
        x[i] = 1 if mode is Color.RED else 2

    @lw.jit
    def g(mode, x):
        return x + 1 if mode is Color.RED else x - 1

    x = np.zeros(2)
    f(2, Color.GREEN, x)
    assert x.tolist() == [2, 2] and g(Color.RED, 3) == 4 and g(Color.GREEN, 3) == 2


def test_a_number_of_an_enum_class_for_a_declared_number():
    @cuda.jit("void(int32, float64[:])")
    def f(n, out):
        out[0] = n

    out = np.zeros(1)
    f[1, 1](Shape.SQUARE, out)
    assert out[0] == 500


# ---- functions made by exec ----

def made(text, name="f"):
    space = {"np": np, "cuda": cuda}
    exec(text.replace("§", name), space)
    return space[name]


@pytest.mark.parametrize("text, args, want", [
    ("def §(x, y):\n    return x * y + 1\n", (3.0, 2.0), 7),
    ("def §(x):\n    'text'\n    s = 0.0\n    for i in range(4):\n        if i != 2 and x > 0:\n            s += x * i\n        else:\n            s -= 1\n    return s\n", (2.0,), 7),
    ("def §(x):\n    if x > 1:\n        return np.sqrt(x)\n    a = -x\n    return a\n", (4.0,), 2),
    ("§ = lambda x, y: max(x, y) - 1", (2.0, 5.0), 4),
])
def test_simple_functions_made_by_exec(text, args, want):
    assert lw.vectorize(made(text))(*args) == want


def test_kernels_made_by_exec_whose_text_is_gone():
    def make(op):
        parts = ["def f(res, ary):", "    t = cuda.threadIdx.x", "    sm = cuda.shared.array(8, np.float64)", "    sm[t] = ary[t]",
                 "    cuda.syncthreads()", "    if t == 0:", "        res[1] = sm[7]", f"    cuda.atomic.{op}(res, 0, sm[t])"]
        space = {"np": np, "cuda": cuda}
        exec("\n".join(parts), space)
        return space["f"]

    out = np.zeros(2)
    cuda.jit(make("max"))[1, 8](out, np.arange(8.0))
    assert out.tolist() == [7, 7]


def test_what_is_not_reconstructed_stays_an_error():
    def make():
        space = {}
        exec("def f(x):\n    " + "return sum(x for _ in (0,))", space)
        return space["f"]

    with pytest.raises(OSError, match="E170"):
        lw.vectorize(make())(1.0)


def test_a_text_that_the_caller_holds():
    text = "def f(x):\n    while x > 1:\n        x /= 2\n    return x\n"
    space = {}
    exec(text, space)
    assert lw.vectorize(space["f"])(5.0) == 0.625


# ---- shapes, loops, extensions ----

def test_a_shape_that_is_passed_on():
    @cuda.jit(device=True)
    def through(a, shape):
        s = cuda.shared.array(shape, np.int64)
        x, y = cuda.threadIdx.x, cuda.threadIdx.y
        s[x, y] = a[x, y]
        a[x, y] = s[x % shape[0], y % shape[1]] + 1

    @cuda.jit
    def k(a):
        through(a, (2, 3))

    a = np.arange(6).reshape(2, 3)
    k[1, (2, 3)](a)
    assert a.tolist() == [[1, 2, 3], [4, 5, 6]]


def test_literal_unroll():
    cases = np.arange(3.0), np.ones((2, 2))[::-1], np.float32([5])

    @cuda.jit
    def k(out):
        i = 0
        for case in lw.literal_unroll(cases):
            out[i] = case.sum()
            i += 1

    out = np.zeros(3)
    k[1, 1](out)
    assert out.tolist() == [3, 4, 5] and lw.literal_unroll(cases) is cases


class Recorded:
    def __init__(self, log, change):
        self.log, self.change = log, change

    def prepare_args(self, type_, value, stream, retr):
        self.log.append(str(type_))
        retr.append(lambda: self.log.append("after"))
        return type_, self.change(value)


def test_extensions_change_arguments():
    log = []

    @cuda.jit(extensions=[Recorded(log, cuda.In), Recorded(log, lambda x: x)])
    def k(a):
        a[0] = 3

    x = np.zeros(1)
    k[1, 1](x)
    assert x[0] == 0 and log == ["float64[::1]", "float64[::1]", "after", "after"]
    k.extensions.clear()
    k[1, 1](x)
    assert x[0] == 3 and len(log) == 4


def test_a_device_function_shows_its_code():
    @cuda.jit(device=True)
    def f(x):
        return x + 1

    assert ".func" in f.inspect_ptx("float32(float32)", "sm_90") and f.inspect_asm((lw.float32,), "sm_75").count(".target sm_75") == 1
    assert list(cuda.jit("float32(float32)", device=True)(lambda x: x + 1).inspect_ptx(target="sm_90")) == ["float32(float32)"]
    with pytest.raises(TypeError, match="device=True"):
        f.inspect_llvm("float32(float32)", "cpu")


def test_arrays_like_views_keep_the_order_of_axes():
    for make in (cuda.device_array_like, cuda.pinned_array_like):
        view = cuda.device_array((10, 12), order="F")[::2, ::2]
        assert make(view).strides == np.empty_like(np.empty((10, 12), order="F")[::2, ::2]).strides == (8, 40)
        assert make(cuda.device_array((4, 6))[::2]).flags["C_CONTIGUOUS"]


def test_performance_warnings_can_be_switched_off():
    def make():  # of two orders of types one cannot be chosen: W202
        lw.guvectorize(["void(f4[:], f8[:], f8[:])", "void(f8[:], f4[:], f8[:])"], "(n),(n)->()")(first)

    def first(x, y, out):
        out[0] = x[0] + y[0]

    with lw.config(DISABLE_PERFORMANCE_WARNINGS=1), warnings.catch_warnings():
        warnings.simplefilter("error")
        assert lw.config.performance_warnings == 0
        make()
    with pytest.warns(lw.PerformanceWarning, match="W202"):
        make()

"""What courses on numba for people who know CUDA C++ teach, session by session, with lanewise's import lines: each test is a
small program that uses the names, keywords and patterns of one part. On the CPU, and on a GPU where there is one."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import time

import numpy as np
import pytest

from lanewise import cuda, errors, float32, float64, guvectorize, int32, int64, jit, njit, prange, vectorize, void
from lanewise.cuda.random import create_xoroshiro128p_states, xoroshiro128p_uniform_float32

pytestmark = pytest.mark.usefixtures("target")


# ---- session 1: jit, cuda.jit, memory, ufuncs ----


def test_jit_calls_jit():
    @jit
    def steps_to_one(n, most):
        for i in range(most):
            if n == 1:
                return i
            n = n // 2 if n % 2 == 0 else 3 * n + 1
        return most

    @jit
    def table(out, most):
        for i in range(out.shape[0]):
            out[i] = steps_to_one(i + 1, most)

    out = np.zeros(8, np.uint8)
    table(out, 100)
    assert out.tolist() == [0, 1, 7, 2, 5, 8, 16, 3]
    assert steps_to_one(6, 100) == 8


def test_kernel_of_a_picture():
    @cuda.jit(device=True)
    def escapes(re, im, most):
        c, z = complex(re, im), 0j
        for i in range(most):
            z = z * z + c
            if z.real * z.real + z.imag * z.imag >= 4:
                return 255 * i // most
        return 255

    @cuda.jit
    def picture(left, right, low, high, image, most):
        height, width = image.shape[0], image.shape[1]
        x, y = cuda.grid(2)
        if x < width and y < height:
            image[y, x] = escapes(left + x * (right - left) / width, low + y * (high - low) / height, most)

    image = np.zeros((40, 70), np.uint8)
    shape = (70 // 32 + 1, 40 // 32 + 1), (32, 32)
    picture[shape](-2.0, 1.0, -1.0, 1.0, image, 20)
    z, c = np.zeros(image.shape, complex), (-2 + np.arange(70) * 3 / 70) + 1j * (-1 + np.arange(40) * 2 / 40)[:, None]
    expected = np.full(image.shape, 255)
    for i in range(20):
        z = np.where(expected == 255, z * z + c, 0)
        expected[(expected == 255) & (z.real ** 2 + z.imag ** 2 >= 4)] = 255 * i // 20
    assert (image != expected).mean() < 0.01  # where rounding decides


def test_picture_on_the_cpu():
    @jit
    def shade(re, im, most):
        c, z = complex(re, im), 0j
        for i in range(most):
            z = z * z + c
            if z.real * z.real + z.imag * z.imag >= 4:
                return 255 * i // most
        return 255

    @jit
    def picture(left, right, low, high, image, most):
        height, width = image.shape[0], image.shape[1]
        dx, dy = (right - left) / width, (high - low) / height
        for x in range(width):
            for y in range(height):
                image[y, x] = shade(left + x * dx, low + y * dy, most)

    image = np.zeros((20, 30), np.uint8)
    picture(-2.0, 1.0, -1.0, 1.0, image, 20)
    again = np.zeros_like(image)
    picture.py_func(-2.0, 1.0, -1.0, 1.0, again, 20)  # which calls the compiled `shade`
    assert (image == again).all() and image.min() == 0 and image.max() == 255


def test_memory():
    @cuda.jit
    def subtract(out, x, y):
        i = cuda.grid(1)
        if i < len(out):
            out[i] = x[i] - y[i]

    x, y = np.arange(10), np.arange(10) ** 2
    out = np.zeros_like(x)
    subtract[1, 32](out, x, y)
    assert (out == x - y).all()
    d_x, d_y, d_out = cuda.to_device(x), cuda.to_device(y), cuda.device_array_like(x)
    subtract[1, 32](d_out, d_x, d_y)
    assert (d_out.copy_to_host() == x - y).all()
    assert cuda.device_array((16, 32), dtype=np.float32).shape == (16, 32)
    del d_out


def test_ufuncs():
    @vectorize
    def share(x, y):
        return 100 * x / (x + y)

    @vectorize([float32(float32, float32), float64(float64, float64)], target="cuda")
    def declared(x, y):
        return 100 * x / (x + y)

    a = np.arange(1, 1001, dtype=float32)
    for f in (share, declared):
        assert f(a, 3 * a).dtype == np.float32
        np.testing.assert_allclose(f(a, 3 * a), 25)
    assert declared(a.astype(float64), a).dtype == np.float64


def test_the_order_of_signatures():
    def share(x, y):
        return 100 * x / (x + y)

    wide_first = [float64(float64, float64), float32(float32, float32)]
    a = np.arange(1, 5, dtype=float32)
    for order in ("canonical", "given"):  # exactly these types before any that fit; numba takes the first that fits
        assert vectorize(wide_first, order=order)(share)(a, a).dtype == np.float32


@pytest.mark.parametrize("second", [int64[:], int64])
def test_gufuncs(second):
    @guvectorize([(int64[:], second, int64[:])], "(n),()->(n)")
    def shifted(x, by, out):
        for i in range(x.shape[0]):
            out[i] = x[i] - (by[0] if second is not int64 else by)

    @guvectorize([(float64[:, :], float64[:], float64[:])], "(m,n),(n)->(m)")
    def products(a, x, out):
        for i in range(a.shape[0]):
            out[i] = 0
            for j in range(a.shape[1]):
                out[i] += a[i, j] * x[j]

    @guvectorize([(float64[:], float64[:], float64[:])], "(n)->(),()")
    def ends(x, first, last):
        first[0], last[0] = x[0], x[x.shape[0] - 1]

    rows = np.arange(6).reshape(2, 3)
    if second is not int64:  # `by[0]` is typed for arrays alone
        assert (shifted(rows, [1, 2]) == rows - [[1], [2]]).all()
    a = np.arange(24.0).reshape(2, 3, 4)
    np.testing.assert_allclose(products(a, np.ones(4)), a.sum(axis=-1))
    assert [x.tolist() for x in ends(rows.astype(float))] == [[0, 3], [2, 5]]


# ---- session 2: typing, and what it costs ----


def test_types_that_meet():
    @jit(nopython=True)
    def choose(a, b, low, high):
        if low < high:
            r = a
        else:
            r = b
        return r

    @jit(nopython=True)
    def narrow(a, b, low, high):
        return a if low < high else float32(b)

    choose(np.float32(1), np.int32(2), 10, 11)
    narrow(np.float32(1), np.int32(2), 10, 11)
    assert choose.signatures[0].startswith("float64(float32, int32") and narrow.signatures[0].startswith("float32(float32, int32")


@pytest.mark.parametrize("a, b, dtype", [(np.float32(1), np.float32(2), "float32"), (np.float32(1), np.float64(2), "float64")])
def test_types_of_two_branches(a, b, dtype):
    @njit
    def chosen(a, b, first):
        if first:
            r = a
        else:
            r = b
        return r

    @njit
    def added(a, b):
        c = a + b
        return c

    assert chosen(a, b, True) == 1 and chosen(a, b, False) == 2 and added(a, b) == 3
    assert [f.signatures[0].split("(")[0] for f in (chosen, added)] == [dtype, dtype]
    with pytest.raises(errors.TypingError, match="would have two types"):
        chosen((np.int32(1), np.int32(2)), b, True)


def test_branches_that_are_left_out():
    @jit(nopython=True)
    def first_or_all(a, b, which):
        if which is None:
            return a
        else:
            return b

    assert first_or_all(1, (1, 2), None) == 1
    assert first_or_all(1, (1, 2), True) == (1, 2)


def test_types_that_do_not_meet():
    @cuda.jit
    def rebinds(x):
        for i in range(4):
            if i == 2:
                x = 10
            else:
                x[0] = 10

    @cuda.jit
    def indexes(x):
        x[0, 0] = 2.0

    with pytest.raises(errors.TypingError, match="would have two types"):
        rebinds[1, 1](np.zeros(1))
    with pytest.raises(errors.TypingError, match="too many indices"):
        indexes[1, 1](np.zeros(1))


def test_constants_and_registers():
    @cuda.jit(max_registers=24)
    def raise_by(x, y):
        x[0] += y[0] + float32(2.0)
        for j in range(int32(3)):
            x[0] += int32(int32(j) * int32(2))

    @cuda.jit
    def total(x):
        x[0] = x.sum()

    x = np.ones(4, np.float32)
    raise_by[1, 1](x, x)
    assert x[0] == 10
    assert len(raise_by.definitions) == len(raise_by.overloads) == 1
    total[1, 1](x)
    assert x[0] == 13


def test_literals_keep_the_type_of_an_array():
    @cuda.jit
    def assigns(x):
        x[0] = 2.0

    @cuda.jit
    def adds(x, y):
        x[0] += y[0] + 2.0

    x = np.zeros(2, np.float32)
    assigns[1, 1](x)
    adds[1, 1](x, x)
    assert x.tolist() == [6, 0]
    ptx = adds.inspect_ptx("void(float32[::1], float32[::1])", "sm_90")
    assert ".f32" in ptx and ".f64" not in ptx  # numba widens here


def test_registers_of_a_kernel():
    @cuda.jit(target="cuda", max_registers=32, warn=False)
    def mixes(x, y, a):
        a, b, c = y[0], 2.0, y[1] / 6
        d, e = y[2] % 8, y[3] * y[4]
        for i in range(a):
            a += 2
            b -= c
            e *= d
            x[0] += a * b + c * d - e

    sig = "void(float32[::1], int32[::1], int32)"
    assert 0 < mixes.get_regs_per_thread(sig) <= 32
    one = next(iter(cuda.jit(sig, target="cuda", max_registers=32, warn=False)(mixes.py_func).definitions.values()))
    assert one._func.get().attrs.regs == mixes.get_regs_per_thread(sig) == one.regs_per_thread
    assert one._func.get().attrs.maxthreads == one.max_threads_per_block


@pytest.mark.parametrize("narrow", [False, True])
def test_indices(narrow):
    number = int32 if narrow else (lambda x: x)

    @cuda.jit
    def fills(x):
        i = cuda.grid(1)
        if i < number(x.shape[0]):
            for j in range(number(3)):
                x[i, j] = number(i) * number(2) + number(j) * number(3)

    x = np.zeros((40, 3), np.int32)
    fills[2, 32](x)
    assert (x == np.arange(40)[:, None] * 2 + np.arange(3) * 3).all()


# ---- session 3: porting, performance, debugging ----


def test_object_mode_is_split_off():
    @njit(cache=False)
    def square_all(x):
        for i in prange(len(x)):
            x[i] = x[i] ** 2

    @jit
    def fingerprint(x):
        return hashlib.md5(x).digest()

    x = np.arange(5)
    square_all(x)
    assert hashlib.md5(x).digest() == hashlib.md5(np.arange(5) ** 2).digest()
    with pytest.raises(errors.TypingError, match="cannot be called from compiled code"):
        fingerprint(x)
    with pytest.raises(errors.UnsupportedError, match="no object mode"):
        jit(forceobj=True)


@pytest.mark.parametrize("keywords", [
    {"nopython": True}, {"nogil": True}, {"cache": True}, {"fastmath": True}, {"error_model": "numpy"}, {"boundscheck": True},
    {"forceobj": False, "looplift": False, "inline": "always"},
])
def test_keywords_of_the_cpu(keywords):
    assert njit(**keywords)(lambda x: x + 1)(2) == 3


def test_errors_of_division():
    @njit(error_model="python")
    def inverse(x):
        return 1 / x

    with pytest.raises(ZeroDivisionError):
        inverse(0.0)


def test_parallel():
    @njit(parallel=True)
    def total(x):
        s = 0.0
        for i in prange(x.shape[0]):
            s += x[i]
        return s

    assert total(np.arange(5.0)) == 10


def test_rows_divided_by_their_means():
    @jit
    def normalize(x):
        for i in range(x.shape[0]):
            x[i, :] = x[i, :] / x[i, :].mean()

    rows = np.arange(1.0, 7).reshape(2, 3)
    expected = rows / rows.mean(axis=1)[:, None]
    normalize(rows)
    np.testing.assert_allclose(rows, expected)


def test_one_function_calls_another_in_a_loop():
    @jit
    def on_the_cpu(x):
        for i in range(len(x)):
            add_to_first(x)

    @njit
    def add_to_first(x):
        x[0] += 1

    @cuda.jit(device=True)
    def add_atomically(x):
        cuda.atomic.add(x, 0, 1)

    @cuda.jit
    def on_a_grid(x):
        for i in range(cuda.grid(1), len(x), cuda.gridsize(1)):
            add_atomically(x)

    x, y = np.zeros(5), np.zeros(5)
    on_the_cpu(x)
    on_a_grid[2, 2](y)
    assert x[0] == y[0] == 5


def test_the_second_call_is_fast():
    @jit(nopython=True)
    def total(a):
        s = 0.0
        for i in range(a.shape[0]):
            s += a[i]
        return s

    x, times = np.ones(10), []
    for _ in range(20):
        began = time.time()
        assert total(x) == 10
        times.append(time.time() - began)
    assert min(times[1:]) < times[0]


def test_loops_of_threads():
    @cuda.jit
    def by_strides(x):
        for i in range(cuda.grid(1), len(x), cuda.gridsize(1)):
            x[i] += 1

    @cuda.jit
    def by_rows(x):
        i = cuda.grid(1)
        mean = 0.0
        for j in range(x.shape[1]):
            mean += x[i, j]
        mean /= x.shape[1]
        for j in range(x.shape[1]):
            x[i, j] = x[i, j] / mean

    x, rows = np.zeros(100), np.arange(1.0, 7).reshape(2, 3)
    by_strides[2, 8](x)
    assert (x == 1).all()
    by_rows[1, 2](rows)
    np.testing.assert_allclose(rows.mean(axis=1), 1)


def test_streams_and_events():
    @cuda.jit
    def add_one(a):
        i = cuda.grid(1)
        if i < a.size:
            a[i] += 1

    stream = cuda.stream()
    a = cuda.pinned_array(100, dtype=np.int32)
    a[:] = 1
    d_a = cuda.device_array_like(a, stream)
    begin, end = cuda.event(), cuda.event()
    began = time.time()
    begin.record(stream=stream)
    d_a.copy_to_device(a, stream=stream)
    add_one[4, 32, stream](d_a)
    d_a.copy_to_host(a, stream=stream)
    end.record(stream=stream)
    while not end.query():
        pass
    assert 0 <= begin.elapsed_time(end) < 1000 * (time.time() - began) + 1000
    assert (a == 2).all()


def test_random_reduce_forall():
    @cuda.jit
    def inside(states, n, out):
        i = cuda.grid(1)
        hits = 0
        for _ in range(n):
            x, y = xoroshiro128p_uniform_float32(states, i), xoroshiro128p_uniform_float32(states, i)
            if x ** 2 + y ** 2 <= 1.0:
                hits += 1
        out[i] = 4.0 * hits / n

    @cuda.reduce
    def total(a, b):
        return a + b

    @cuda.jit
    def rounded(x, out, digits):
        i = cuda.grid(1)
        f = 10 ** digits
        if i < x.size:
            out[i] = np.rint(x[i] * f) / f

    out = np.zeros(64, np.float32)
    inside[4, 16](create_xoroshiro128p_states(64, seed=1), 1000, out)
    assert abs(out.mean() - np.pi) < 0.05
    a, r = np.arange(1000.0), cuda.device_array(1, dtype=np.float64)
    assert total(a) == a.sum()
    total(cuda.to_device(a), res=r)
    assert r.copy_to_host()[0] == a.sum()
    x = cuda.to_device(np.linspace(0, 1, 7))
    y = cuda.device_array_like(x)
    rounded.forall(len(x))(x, y, 3)
    np.testing.assert_allclose(y.copy_to_host(), np.linspace(0, 1, 7).round(3))


class Foreign:
    """Memory of another library, as courses wrap it: the type in native byte order, the shape an int."""

    def __init__(self, shape, typestr, data):
        self.shape, self.typestr, self.data = shape, typestr, data

    @property
    def __cuda_array_interface__(self):
        return {"shape": self.shape, "typestr": self.typestr, "data": (self.data, False), "version": 2}


def test_memory_of_other_libraries(target):
    @cuda.jit
    def initialize(x):
        i = cuda.grid(1)
        if i < len(x):
            x[i] = 3.5

    if target == "cpu":
        pytest.skip("there is no memory of a GPU")
    owner = cuda.device_array(32, np.float32)
    initialize[1, 32](Foreign(32, "f4", owner.__cuda_array_interface__["data"][0]))
    assert (owner.copy_to_host() == 3.5).all()


def test_debug():
    @cuda.jit(debug=True, opt=False)
    def inverse(x):
        i = cuda.grid(1)
        if i > x.shape[0]:
            return
        x[i] = 1 / x[i]

    with pytest.raises(ZeroDivisionError, match="tid="):
        inverse[1, 8](np.zeros(10))
    with pytest.raises(IndexError, match=r"tid=\[10, 0, 0\]"):
        inverse[1, 32](np.ones(10))


STOPS = """from lanewise import cuda
import numpy as np


@cuda.jit
def inverse(x):
    i = cuda.grid(1)
    if i == 10:
        from pdb import set_trace; set_trace()
    x[i] = 1 / x[i]


inverse[1, 32](np.ones(10))
"""


def test_debugger_in_a_kernel(tmp_path):
    program = tmp_path / "stops.py"
    program.write_text(STOPS)

    def run(**environment):
        return subprocess.run([sys.executable, program], input="p len(x), i\nc\n", capture_output=True, text=True,
                              env={**os.environ, "LANEWISE_NO_CUDA": "1", **environment})

    done = run(NUMBA_DISABLE_JIT="1")
    assert "(10, 10)" in done.stdout and "x[i] = 1 / x[i]" in done.stdout
    assert "index 10 is out of bounds for axis 0 with size 10" in done.stderr and "tid=[10, 0, 0] ctaid=[0, 0, 0]" in done.stderr
    assert "LANEWISE_TARGET=python runs functions as plain Python" in run(NUMBA_ENABLE_CUDASIM="1").stderr


# ---- session 4: classes ----


class Span:
    """An interval from `begin` to `end`."""

    def __init__(self, begin, end):
        self.begin = begin
        self.end = end

    @property
    def length(self):
        return self.end - self.begin


WHOLE = Span(1.0, 2.0)


def test_classes():
    @njit
    def holds(span, x):
        return span.begin <= x < span.end

    @njit
    def hull(a, b):
        return Span(min(a.begin, b.begin), max(a.end, b.end))

    @cuda.jit(void(float64[:]))
    def kernel(out):
        a = Span(1.5, 3.0)
        out[0], out[1] = a.length, holds(a, 2.5)
        both = hull(a, WHOLE)
        out[2], out[3] = both.begin, both.end

    out = np.zeros(4)
    kernel[1, 1](out)
    assert out.tolist() == [1.5, 1, 1, 3]


def test_objects_that_functions_take_and_give():
    @njit
    def from_whole(span):
        return span.begin - WHOLE.begin

    @njit
    def length(span):
        return span.length

    @njit
    def both(a, b):
        return Span(a.begin + b.begin, a.end + b.end)

    span = Span(3.0, 4.5)
    assert from_whole(span) == 2 and length(span) == 1.5
    found = both(span, WHOLE)
    assert type(found) is Span and (found.begin, found.end) == (4, 6.5)


# ---- session 5: memory ----


def test_cleanup_is_put_off():
    with cuda.defer_cleanup():
        x = cuda.device_array(5)
        del x
    with pytest.raises(TypeError, match="shape"):
        cuda.device_array()
    assert issubclass(cuda.HostOnlyCUDAMemoryManager, cuda.BaseCUDAMemoryManager)


def test_a_memory_manager_is_a_class_of_few_methods(target):
    class Plain(cuda.GetIpcHandleMixin, cuda.HostOnlyCUDAMemoryManager):
        def memalloc(self, size):
            return cuda.MemoryPointer(self.context, 0, size, finalizer=lambda: None)

        def initialize(self):
            pass

        def get_memory_info(self):
            raise NotImplementedError

        @property
        def interface_version(self):
            return 1

    assert not Plain.__abstractmethods__  # test_memory_manager.py allocates with one
    if target == "cpu":
        with pytest.raises(errors.UnsupportedError, match="set_memory_manager needs a GPU"):
            cuda.set_memory_manager(Plain)

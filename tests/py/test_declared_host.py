"""host= of external declarations: the Python function that CPUs run in the place of code for GPUs, in every generator."""
import pickle

import numpy as np
import pytest

import lanewise as lw
from lanewise import cuda, errors, extending

CODE = cuda.CUSource('''
extern "C" __device__ float twice(float x) { return 2 * x; }
extern "C" __device__ int total(double *result, const float *x, long long n)
{
    *result = 0;
    for (long long i = 0; i < n; i++) *result += x[i];
    return 0;
}
extern "C" __device__ void fill(float *x, long long n, float value)
{
    for (long long i = 0; i < n; i++) x[i] = value;
}''', "host.cu")


def host_twice(x):
    return x * 2


def host_total(x, n):
    result = lw.float64(0)
    for i in range(n):
        result += x[i]
    return result


def host_fill(x, n, value):
    for i in range(n):
        x[i] = value
    return n  # which nobody sees: the declaration returns nothing


twice = extending.declare_external("twice", "float32(float32)", CODE, abi="c", host=host_twice)
total = extending.declare_external("total", "float64(float32*, int64)", CODE, host=host_total)
fill = cuda.declare_device("fill", "void(float32*, int64, float32)", CODE, abi="c", host=host_fill)
X = np.arange(4, dtype="f4")


def test_it_is_declare_device():
    assert extending.declare_external is cuda.declare_device and twice.host is host_twice and cuda.declare_device("f", "void()").host is None


def test_every_generator():
    f = lw.vectorize(lambda x: twice(x) + 1)
    assert np.array_equal(f(X), 2 * X + 1) and f(X).dtype == np.float32
    assert lw.reduce(lambda x, y: twice(x) + y)(np.ones(3, "f4")) == 7
    out = np.zeros(4)

    @lw.forall
    def k(i, x, out):
        out[i] = total(x, i) + twice(i)
    k(4, X, out)
    assert out.tolist() == [0, 2, 5, 9]

    @lw.guvectorize("(n),()->(n)")
    def g(row, x, out):
        for i in range(row.size):
            out[i] = twice(row[i]) + x
    assert np.array_equal(g(X, 1), 2 * X + 1)

    @lw.jit
    def h(x):
        fill(x, x.size, 3)
        return total(x, x.size)
    x = X.copy()
    assert h(x) == 12.0 and x.tolist() == [3] * 4


def test_simulator():
    def k(x):
        i = cuda.grid(1)
        if i < x.size:
            x[i] = twice(x[i])
    x = X.copy()
    lw.jit(k, target="cpu")[1, 32](x)
    assert np.array_equal(x, 2 * X)


def test_numbers_are_converted_as_for_the_other_language():
    seen = []

    def look(x):
        raise RuntimeError

    @extending.overload(look)
    def select(x):
        seen.append(x)
        return lambda x: x
    f = cuda.declare_device("f", "int32(float32)", abi="c", host=lambda x: look(x))
    with pytest.raises(errors.TypingError, match="E142"):
        lw.vectorize(lambda x: f(x))(1)
    g = cuda.declare_device("g", "float64(float32)", abi="c", host=lambda x: look(x))
    got = lw.vectorize(lambda x: g(x))(0.1)
    assert seen[-1] == lw.float32 and got == np.float64(np.float32(0.1)) and got.dtype == np.float64


@pytest.mark.parametrize("call, code", [
    (lambda x: twice(x, x), "E153"),
    (lambda x: twice(k=x), "E153"),
    (lambda x: twice(x * 1j), "E142"),
    (lambda x: total(x, 1), "E181"),
])
def test_wrong_calls(call, code):
    with pytest.raises(errors.TypingError, match=code):
        lw.vectorize(call)(1.0)


def test_gpus_have_the_other_code():
    def k(x):
        i = cuda.grid(1)
        if i < x.size:
            x[i] = twice(x[i])
    kernel = cuda.jit(k)
    ptx = kernel.inspect_ptx("void(float32[::1])", "sm_90")
    assert ".extern .func" in ptx and "twice" in ptx
    f = lw.vectorize(lambda x: twice(x) + 1)
    assert "@twice" in f.inspect_nvvm("float32(float32)") and "@twice" not in lw.compile(f.py_func, "float32(float32)", target="cpu", output="llvm")


def test_the_caches_tell_them_apart():
    """The IR is the same for both targets, so the cache key must contain the rest."""
    f = lw.vectorize(lambda x: twice(x))
    assert f(np.float32(2)) == 4
    g = lw.vectorize(lambda x: cuda_only(x))
    with pytest.raises(errors.UnsupportedError, match=r"`twice`(.|\n)*host=f"):
        g(np.float32(2))


cuda_only = cuda.declare_device("twice", "float32(float32)", CODE, abi="c")


def test_exceptions_of_the_host():
    def checked(x):
        if x < 0:
            raise ValueError("negative")
        return x
    f = cuda.declare_device("checked", "float64(float64)", host=checked)
    g = lw.vectorize(lambda x: f(x))
    assert g(2.0) == 2.0
    with pytest.raises(ValueError, match="negative"):
        g(-1.0)


def test_what_can_be_a_host():
    import math
    for host in (math.sin, np.sin, lw.jit(lambda x: x), lw.vectorize(lambda x: x)):
        f = cuda.declare_device("f", "float64(float64)", host=host)
        assert lw.vectorize(lambda x: f(x))(0.0) == 0.0
    with pytest.raises(TypeError, match="host must be a Python function or None, not 3"):
        cuda.declare_device("f", "float64(float64)", host=3)
    with pytest.raises(TypeError, match="link= of `f` must be paths or LinkableCode, not 7"):
        cuda.declare_device("f", "float64(float64)", link=7, host=math.sin)
    f = cuda.declare_device("f", "float64(float64)", host=eval)
    with pytest.raises(errors.CompileError, match="E152"):
        lw.vectorize(lambda x: f(x))(0.0)


def test_any_callable_may_have_one():
    class Declared:
        __lanewise_external__ = "twice", "float32(float32)", "c"
        __lanewise_host__ = staticmethod(host_twice)
        __lanewise_link__ = CODE

        def __call__(self, x):
            raise RuntimeError
    declared = Declared()
    f = lw.vectorize(lambda x: declared(x))
    assert f(np.float32(3)) == 6 and "@twice" in f.inspect_nvvm("float32(float32)")


def test_changes_are_seen(monkeypatch):
    f = lw.vectorize(lambda x: twice(x))
    assert f(np.float32(3)) == 6
    monkeypatch.setattr(twice, "_host", lambda x: x * 5)
    assert f(np.float32(3)) == 15


def test_in_python():
    assert twice(3) == 6
    with pytest.raises(TypeError, match="only kernels call it"):
        cuda_only(3)
    with lw.config(target="python"):
        assert lw.vectorize(lambda x: twice(x))(3.0) == 6.0


def test_pickling():
    assert pickle.loads(pickle.dumps(twice))(3) == 6
    f = pickle.loads(pickle.dumps(lw.vectorize(by_twice)))
    assert f(np.float32(3)) == 6


def by_twice(x):
    return twice(x)

"""Arrays that compiled functions make: NumPy's functions, expressions as values, variables that change, results of calls.

Each is NumPy's, on the CPU, and on a GPU where there is one; memory is freed however a function is left."""

from __future__ import annotations

import numpy as np
import pytest

import lanewise as lw
from lanewise import _core, cuda, errors

X = np.array([3.0, 1.0, 2.0, 5.0, 4.0])
M = np.arange(12.0).reshape(3, 4)


@pytest.fixture(params=["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def target(request):
    if request.param == "cuda" and not cuda.is_available():
        pytest.skip("no CUDA device")
    return request.param


MADE = [
    lambda x, m: np.zeros(3),
    lambda x, m: np.ones((2, 3), np.float32),
    lambda x, m: np.full(4, 7),
    lambda x, m: np.arange(5),
    lambda x, m: np.arange(1.0, 4.0, 0.5),
    lambda x, m: np.linspace(0, 1, 7),
    lambda x, m: np.zeros_like(m),
    lambda x, m: x.copy(),
    lambda x, m: x.astype(np.int32),
    lambda x, m: m.reshape(4, 3),
    lambda x, m: m.reshape((2, -1)),
    lambda x, m: m.T.ravel(),
    lambda x, m: np.cumsum(x),
    lambda x, m: m.cumsum(),
    lambda x, m: np.sort(x),
    lambda x, m: np.argsort(x),
    lambda x, m: np.concatenate((x, m[0])),
    lambda x, m: np.stack((x, x + 1)),
    lambda x, m: np.array((1, 2.5, 3)),
    lambda x, m: np.array(((1, 2), (3, 4))),
    lambda x, m: np.eye(3),
    lambda x, m: np.diff(x),
    lambda x, m: np.outer(x, m[0]),
    lambda x, m: np.repeat(x, 2),
    lambda x, m: np.nonzero(x > 2)[0],
    lambda x, m: np.where(x > 2, x, 0.0),
    lambda x, m: np.clip(x, 2, 4),
    lambda x, m: m[:, 1:3].copy(),
    lambda x, m: x / x.mean(),
    lambda x, m: m + x[:4],
    lambda x, m: m.flatten(),
    lambda x, m: np.full_like(m, 2.5, np.float32),
    lambda x, m: np.empty((2, 2)).astype(np.int8) * 0,
    lambda x, m: m[m.shape[0] - 1].reshape(2, 2).T.ravel(),
]


@pytest.mark.parametrize("made", MADE)
def test_made_arrays(made, target):
    want = made(X, M)
    function = lw.jit(made)

    def kernel(x, m, out, info):
        y = function(x, m)
        out[...] = y
        info[0] = y.itemsize

    out, info = np.zeros_like(want), np.zeros(1, int)
    cuda.jit(kernel, target=target)[1, 1](X, M, out, info)
    assert np.array_equal(out, want) and info[0] == want.itemsize
    if target == "cpu":
        got = function(X, M)
        assert np.array_equal(got, want) and got.dtype == want.dtype


def expressions(x, out):
    y = x + 1
    out[:] = y * 2


def loop(x, out):
    y = x
    for i in range(5):
        y = y * 2 + i
    out[:] = y


def swap(x, out):
    a, b = x + 1, x * 2
    for i in range(3):
        a, b = b, a
    out[:] = a - b


def reversed_view(x, out):
    y = np.empty(x.shape, x.dtype)
    for i in range(x.shape[0]):
        y[i] = x[i] * 3
    out[:] = y[::-1]


def helper(x, n):
    if n > 3:
        return x + n
    return x


def owned_or_not(x, out):
    out[:] = helper(x, 2) + helper(x, 10)


def items(x, out):
    s = 0.0
    for row in x + 1:
        s += row
    out[:] = s


def reduced(x, out):
    out[0] = np.sum(x * x)


def small(x, out):
    y = np.empty(3)
    y[0] = x[0]
    y[1] = 2
    y[2] = 3
    z = y + x[:3]
    out[:3] = z


def views_live_on(x, out):
    y = (x + 1)[1:]
    z = y
    y = x - 1
    out[:4] = z
    out[4:] = y[4:]


def ufuncs_with_outputs(x, out):
    y = x + 1
    np.add(y, x, out)
    np.multiply(y, 2.0, y)
    np.subtract(y[1:], y[:-1], y[:-1])
    np.negative(y[::-1], y)
    out += y


def held_in_tuples(x, out):
    pair = (x + 1, x * 2)
    for i in range(3):
        pair = (pair[1], pair[0] + i)
    out[:] = pair[0] - pair[1]


def assigned_in_its_loop(x, out):
    y = x + 1
    for v in y:
        y = y + v
    out[:] = y


KERNELS = [ufuncs_with_outputs, held_in_tuples, assigned_in_its_loop, expressions, loop, swap, reversed_view, owned_or_not, items, reduced, small, views_live_on]


@pytest.mark.parametrize("kernel", KERNELS)
def test_kernels(kernel, target):
    mine, theirs = [np.arange(5.0), np.zeros(5)], [np.arange(5.0), np.zeros(5)]
    cuda.jit(kernel, target=target)[1, 1](*mine)
    kernel(*theirs)
    for got, want in zip(mine, theirs):
        assert np.array_equal(got, want)


@pytest.mark.parametrize("target", ["sm_75", "sm_90", "sm_100", "sm_120"])
def test_cubins(target):
    def kernel(x, out):
        i = cuda.grid(1)
        if i < x.shape[0]:
            out[i] = (x[i] * 2 + np.arange(4.0)).sum()

    assert lw.compile(kernel, "void(float64[:, ::1], float64[::1])", target=target, output="cubin")


# ---- generators ----


def test_in_a_gufunc():
    @lw.guvectorize(["void(f8[:], f8[:])"], "(n)->(n)")
    def ranks(x, out):
        order = np.argsort(x)
        for i in range(x.shape[0]):
            out[order[i]] = i

    x = np.random.default_rng(1).random((50, 7))
    assert np.array_equal(ranks(x), x.argsort(axis=1).argsort(axis=1))


def test_in_a_ufunc():
    @lw.vectorize
    def smoothed(x):
        y = np.full(4, x) * np.arange(4)
        return y.sum() / y.size

    x = np.linspace(0, 1, 1000)
    np.testing.assert_allclose(smoothed(x), x * 1.5)


@lw.guvectorize(["void(f8[:], f8[:])"], "(n)->(n)")
def centred(x, out):
    t = x - x.mean()
    u = np.zeros(x.shape[0])
    for i in range(x.shape[0]):
        u[i] = t[x.shape[0] - 1 - i] * 2
    out[:] = u[::-1] + t


@lw.guvectorize(["void(f8[:,:], f8[:])"], "(n,m)->(m)")
def columns(x, out):
    s = np.zeros(x.shape[1])
    for i in range(x.shape[0]):
        s += x[i]
    out[:] = s


@pytest.mark.filterwarnings("ignore:.*items with large cores")
@pytest.mark.parametrize("shape", [(3, 5), (1, 7), (2, 1000), (1, 5000), (300, 64), (40, 513)])
def test_items_of_gufuncs(shape, target):
    there = cuda.to_device if target == "cuda" else np.asarray
    x = np.random.default_rng(2).random(shape)
    pair = np.stack([x, x + 1])
    np.testing.assert_allclose(here(centred(there(x))), 3 * (x - x.mean(axis=1, keepdims=True)), atol=1e-12)
    np.testing.assert_allclose(here(columns(there(pair))), pair.sum(axis=1))


def here(array):
    return array if isinstance(array, np.ndarray) else array.copy_to_host()


# ---- results ----


def test_results_have_their_memory():
    double = lw.jit(lambda x: x * 2)
    x = np.arange(4.0)
    y = double(x)
    assert type(y.base) is _core.MemInfo and y.base.refcount == 1 and y.base.size == 32 and y.base.data == y.ctypes.data
    z = y[1:]
    del y
    assert z.tolist() == [2, 4, 6]


def test_a_view_of_an_argument_is_one():
    tail = lw.jit(lambda x: x[1:])
    x = np.arange(4.0)
    tail(x)[0] = 9
    assert x.tolist() == [0, 9, 2, 3]
    x.flags.writeable = False
    assert not tail(x).flags.writeable


@pytest.mark.parametrize(("signature", "function"), [
    ("float64[:](float64[:])", lambda x: x * 2),
    ("float64[::1](float64[::1])", lambda x: x * 2),
    ("float64[:](float64[::1])", lambda x: x[::-1]),
    ("float64[:, :](float64[:])", lambda x: np.zeros((2, len(x)))),
    (lw.types.float64[::1](lw.types.float64[::1]), lambda x: np.sort(x)),
])
def test_declared_arrays(signature, function):
    made = lw.jit(signature)(function)
    np.testing.assert_array_equal(made(X), function(X))
    assert made.signatures == [str(signature)]


def test_declared_results_of_another_kind():
    for signature, function in [("float64[::1](float64[:])", lambda x: x[::-1]), ("float32[:](float64[:])", lambda x: x * 2),
                                ("float64[:, :](float64[:])", lambda x: x * 2), ("float64[:](float64[:])", lambda x: x.sum()),
                                ("float64(float64[:])", lambda x: x * 2)]:
        with pytest.raises(errors.TypingError, match="E142"):
            lw.jit(signature)(function)


def test_several_results():
    f = lw.jit(lambda x: (x.sum(), x * 2, x[::-1], 3))
    total, twice, back, three = f(X)
    assert total == X.sum() and np.array_equal(twice, X * 2) and np.array_equal(back, X[::-1]) and three == 3


# ---- errors, and nothing is lost ----


@lw.jit
def added(x, y):
    z = x + 1
    return z + y


@lw.jit
def leaves(x, n):
    total = 0.0
    y = x
    for i in range(n):
        y = y + 1
        if i % 3 == 0:
            continue
        z = y[1:] * 2
        if i == 7:
            break
        total += z[0]
    if n > 20:
        raise ValueError("too many")
    return total + np.sum(y)


def test_errors():
    with pytest.raises(ValueError, match="could not broadcast: the shapes differ"):
        added(np.zeros(3), np.zeros(4))
    with pytest.raises(ValueError, match="negative dimensions"):
        lw.jit(lambda n: np.zeros(n)[0])(-1)
    for n in (2**50, 2**62):  # beyond the address space
        with pytest.raises(MemoryError, match="unable to allocate"):
            lw.jit(lambda n: np.zeros((n, 2))[0, 0])(n)
    with pytest.raises(ValueError, match="cannot reshape"):
        lw.jit(lambda x: x.reshape(2, 2))(np.zeros(5))

    @lw.jit
    def walrus(x):
        y = x + 1
        y += (y := x + 2)
        return y

    with pytest.raises(errors.UnsupportedError, match="E160: `:=` of the array that the statement changes"):
        walrus(np.zeros(3))


def walrus_in_expression(x):
    return x + (y := x + 1) + y


def walrus_replaces(x):
    y = x * 3
    return y + (y := x + 1) + (y := y * 2) + y


def walrus_in_tuple(x):
    y = x * 3
    z = (y, (y := x + 1), y)
    return z[0] + z[1] * 10 + z[2] * 100


def walrus_in_while(x):
    n, y = 0.0, x
    while (y := y[1:] * 2).size > 0:
        n += y.sum()
    return n


def walrus_in_and(x):
    if x[0] > 0 and (y := x + 1)[0] > 0 and (z := y * 2)[1] > 0:
        return z
    return x


def walrus_in_call(x):
    def both(a, b):
        return a + 10 * b

    y = x + 1
    return both(y, (y := x * 2)) + y


def walrus_of_parameter(x):
    x = x * 2
    return x + (x := x + 1) + x


def walrus_in_index(x):
    y = x + 1
    y[(y := x * 2).size - 1] = 7.0
    return y


def walrus_in_inner_function(x):
    def grown(a):
        return a + (a := a * 2) + a

    total = 0.0
    for i in range(3):
        total += grown(x).sum() + grown(x + i).sum()
    return total


def walrus_of_tuples(x):
    t = (x + 1, x + 2)
    return t[0] + (t := (x * 3, x * 5))[1] + t[0]


WALRUSES = [walrus_in_expression, walrus_replaces, walrus_in_tuple, walrus_in_while, walrus_in_and, walrus_in_call, walrus_of_parameter, walrus_in_index,
            walrus_in_inner_function, walrus_of_tuples]


@pytest.mark.parametrize("function", WALRUSES)
def test_walrus_of_new_arrays(function):
    compiled = lw.jit(function)
    x = np.arange(1.0, 5.0)
    assert np.array_equal(compiled(x), function(x))
    if hasattr(_core, "_memory_live"):
        before = _core._memory_live()
        for _ in range(50):
            compiled(x)
        assert _core._memory_live() == before


def test_walrus_of_a_new_array_in_prange():
    @lw.jit
    def f(x):
        total = 0.0
        for i in lw.prange(5):
            total += (y := x * i).sum() + y[0]
        return total

    assert f(np.arange(1.0, 4.0)) == 70


def test_memory_error_is_never_ignored():
    f = lw.jit(lambda n: np.zeros(n)[0], errors="ignore")
    assert f(3) == 0
    with pytest.raises(MemoryError):
        f(2**60)


@pytest.mark.skipif(not hasattr(_core, "_memory_live"), reason="this build does not count memory")
def test_nothing_is_lost():
    def program(i):
        added(np.zeros(3), np.zeros(3))
        leaves(X, i % 15)
        with pytest.raises(ValueError):
            added(np.zeros(3), np.zeros(4))
        with pytest.raises(ValueError):
            leaves(X, 25)

    program(1)
    before = _core._memory_live()
    for i in range(200):
        program(i)
    assert _core._memory_live() <= before + 20


@pytest.mark.skipif(not hasattr(_core, "_memory_fail_at"), reason="this build cannot make allocations fail")
def test_the_nth_allocation_fails():
    leaves(X, 10)
    failed = 0
    for n in range(40):
        _core._memory_fail_at(n)
        try:
            leaves(X, 10)
        except MemoryError:
            failed += 1
        finally:
            _core._memory_fail_at(-1)
    assert failed > 5
    assert leaves(X, 10) == leaves(X, 10)


@pytest.mark.gpu
def test_a_heap_too_small():
    if not cuda.is_available():
        pytest.skip("no CUDA device")

    @cuda.jit
    def kernel(out, n):
        out[0] = np.zeros(n)[n - 1]

    out = cuda.device_array(1)
    with pytest.raises(MemoryError, match="unable to allocate"):
        kernel[1, 1](out, 10**11)
        cuda.synchronize()
    kernel[1, 1](out, 10)
    assert out.copy_to_host()[0] == 0


PUT = [
    lambda a, i, v: np.put(a, i, v),
    lambda a, i, v: a.put(i, v),
    lambda a, i, v: np.put(a, [0, 1], (7, 8)),
    lambda a, i, v: np.put(a, 2, 5),
    lambda a, i, v: np.put(a, i, v[:0]),
    lambda a, i, v: np.put(a, i, a[::-1]),
    lambda a, i, v: np.put(a, (1, -1), a.dtype.type(3.5)),
]


@pytest.mark.parametrize("f", PUT, ids=range(len(PUT)))
@pytest.mark.parametrize("dtype", [np.float64, np.int8, np.complex64, np.bool_])
def test_put(f, dtype):
    for make in (lambda: np.arange(9).astype(dtype), lambda: np.zeros((2, 3, 4), dtype), lambda: np.zeros((4, 6), dtype).T, lambda: np.zeros((4, 6), dtype)[::2, ::-1]):
        given, wanted = make(), make()
        i, v = np.array([1, -2, 3]), np.array([30, 41]).astype(dtype)
        f(wanted, i, v)
        lw.jit(lambda a, i, v: f(a, i, v))(given, i, v)
        assert np.array_equal(given, wanted)


def test_put_checks_places():
    a = np.arange(4.0)
    with pytest.raises(IndexError, match="index 4 is out of bounds for axis with size 4"):
        lw.jit(lambda a: np.put(a, [1, 4, 2], 9.0))(a)
    assert a.tolist() == [0, 9, 2, 3]  # as in NumPy, what comes before is stored


@pytest.mark.parametrize("work", [
    lambda x, n: np.repeat(x, n), lambda x, n: np.tile(x, n), lambda x, n: np.repeat(x, n, axis=0),
    lambda x, n: np.repeat(x, np.array([n, n, n])),
])
def test_copies_that_no_array_can_hold(work):
    """The number of copies wraps around to a small one, which is not the size."""
    with pytest.raises((MemoryError, ValueError)):
        lw.njit(work)(np.ones(3), 2**64 // 3 + 1)


@pytest.mark.parametrize("size, shape", [(4, (2**62 + 1, 4)), (0, (2**32, 2**32)), (4, (2**32, 2**32, 4, 1)), (4, (2**33, 2**31, -1)), (2, (2**63 - 1, 2, 1))])
def test_shapes_whose_product_wraps_around(size, shape):
    for reshape in (lambda x, s: x.reshape(s), lambda x, s: np.reshape(x, s, order="F")):
        with pytest.raises(ValueError, match="cannot reshape"):
            lw.njit(reshape)(np.zeros(size), shape)


def test_diag_of_a_matrix_is_a_view():
    def changed(m, k):
        d = np.diag(m, k)
        m[0, 1] = 99
        return d

    for k in (-1, 0, 1):
        m = np.arange(9).reshape(3, 3)
        np.testing.assert_array_equal(lw.njit(changed)(m.copy(), k), changed(m.copy(), k))


def large_page_bytes(array):
    """How many bytes of the mapping that contains the array's middle are in large pages."""
    middle, inside = array.ctypes.data + array.nbytes // 2, False
    with open("/proc/self/smaps") as file:
        for line in file:
            words = line.split()
            if "-" in words[0]:
                begin, end = (int(word, 16) for word in words[0].split("-"))
                inside = begin <= middle < end
            elif inside and words[0] == "AnonHugePages:":
                return int(words[1]) * 1024
    return 0


def test_large_arrays_are_in_large_pages():
    with open("/sys/kernel/mm/transparent_hugepage/enabled") as file:
        if "[madvise]" not in file.read():
            pytest.skip("the system does not ask programs about large pages")
    numpys = np.empty(1 << 22)
    numpys[:] = 1
    if large_page_bytes(numpys) == 0:
        pytest.skip("NumPy's array has none, either")
    assert large_page_bytes(lw.njit(lambda n: np.ones(n))(1 << 22)) > 0

"""prange in functions that are called on the host: iterations over the thread pool, reductions, private variables, errors."""

from __future__ import annotations

import math
import subprocess
import sys

import numpy as np
import pytest

import lanewise as lw
from lanewise import errors, njit, prange

N = 200_003
X = np.random.default_rng(20).random(N)


def same(f, *args, rtol=1e-12):
    """Check that the function gives what it gives in plain Python, where prange is range."""
    got, want = njit(f)(*args), f(*args)
    np.testing.assert_allclose(got, want, rtol=rtol)


def test_it_is_range_in_python():
    assert list(prange(5)) == list(range(5)) and list(prange(2, 9, 3)) == [2, 5, 8]


def test_a_sum():
    def total(x):
        s = 0.0
        for i in prange(len(x)):
            s += x[i]
        return s

    f = njit(parallel=True)(total)
    for n in (0, 1, 2, 511, 512, 513, 1025, N):
        assert f(X[:n]) == pytest.approx(X[:n].sum(), rel=1e-12)
    assert f.signatures == ["float64(float64[::1])"]


@pytest.mark.parametrize("threads", [1, 2, 3, 5])
def test_the_bits_do_not_depend_on_the_threads(threads):
    @njit(warn=False)
    def total(x, heavy):
        s = np.float32(0)
        for i in prange(x.shape[0]):
            t = x[i]
            for k in range(heavy):
                t = math.sin(t)
            s += t
        return s

    x = X.astype(np.float32)
    with lw.config(threads=1):
        want = total(x, 2)
    with lw.config(threads=threads):
        assert [total(x, 2) for _ in range(3)] == [want] * 3


def test_every_reduction_in_one_loop():
    @njit
    def many(x):
        s, p, low, high, first_high, n, bits, every, some = 0.0, 1.0, math.inf, -math.inf, 0.0, 0, 0, True, False
        for i in prange(x.shape[0]):
            t = 2 * x[i]
            s -= t
            p *= 1 + 1e-9 * t
            low = min(low, t)
            high = max(high, t)
            if t > first_high:
                first_high = t
            if t > 1:
                n += 1
            bits ^= i
            every = every and t >= 0
            some = some or t > 1.9999
        return s, p, low, high, first_high, n, bits, every, some

    s, p, low, high, first_high, n, bits, every, some = many(X)
    t = 2 * X
    assert s == pytest.approx(-t.sum()) and p == pytest.approx(np.prod(1 + 1e-9 * t))
    assert (low, high, first_high) == (t.min(), t.max(), t.max())
    assert (n, bits, every, some) == ((t > 1).sum(), np.bitwise_xor.reduce(np.arange(N)), True, bool((t > 1.9999).any()))


def test_other_ways_to_write_a_reduction():
    def written(x, a):
        s, t, n, p, u, w = 0.0, 0.0, 0, 1.0, 0.0, 0.0
        for i in prange(x.shape[0]):
            s = s + x[i] - x[i] ** 2
            if x[i] < 0.2:
                continue
            if x[i] < 0.5:
                t += 1
            else:
                t += 2 * x[i]
            n = n + 1 if x[i] > 0.7 else n
            p = p * 1.0001 * (1 + 1e-4 * x[i])
            u += x[i] if x[i] > 0.6 else -x[i]
        for i in prange(a.shape[0]):
            for j in range(a.shape[1]):
                if a[i, j] > 0.5:
                    w += a[i, j]
        return s, t, n, p, u, w

    same(written, X[:5000], X[:6000].reshape(60, 100), rtol=1e-9)


def test_extremes_of_nan_and_of_nothing():
    @njit
    def extremes(x):
        low, high = np.inf, -np.inf
        for i in prange(x.shape[0]):
            low = np.minimum(low, x[i])
            if x[i] > high:
                high = x[i]
        return low, high

    x = X.copy()
    x[777] = np.nan
    low, high = extremes(x)
    assert math.isnan(low) and high == np.nanmax(x)
    assert extremes(x[:0]) == (np.inf, -np.inf)


def test_sums_of_integers_and_complex_numbers():
    @njit
    def sums(x, z):
        n, c = 0, 0j
        for i in prange(x.shape[0]):
            n += x[i]
            c += z[i]
        return n, c

    x, z = np.arange(N) - 17, X + 1j * X[::-1]
    n, c = sums(x, z)
    assert n == x.sum() and c == pytest.approx(z.sum())


def test_a_map_and_a_stencil():
    def blur(a, out):
        for i in prange(1, a.shape[0] - 1):
            for j in range(1, a.shape[1] - 1):
                out[i, j] = 0.25 * (a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1])

    a = X[:150_000].reshape(300, 500)
    out = np.zeros_like(a)
    njit(blur)(a, out)
    want = 0.25 * (a[:-2, 1:-1] + a[2:, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:])
    np.testing.assert_allclose(out[1:-1, 1:-1], want, rtol=1e-14)
    assert not out[0].any() and not out[:, -1].any()


def test_steps():
    def down(x, out):
        for i in prange(x.shape[0] - 1, -1, -3):
            out[i] = x[i] + i
        return out.sum()

    out = np.zeros(N)
    njit(down)(X, out)
    want = np.zeros(N)
    index = np.arange(N - 1, -1, -3)
    want[index] = X[index] + index
    assert (out == want).all()


def test_a_step_that_is_known_at_run_time():
    @njit
    def fill(out, step):
        for i in prange(0, out.shape[0], step):
            out[i] += 1

    out = np.zeros(1000, int)
    fill(out, 7)
    assert out.nonzero()[0].tolist() == list(range(0, 1000, 7))
    with pytest.raises(ValueError, match="must not be zero"):
        fill(out, 0)


def test_variables_of_an_iteration_and_of_the_last_one():
    @njit
    def last(x):
        seen, kept = -1.0, 5.0
        for i in prange(x.shape[0]):
            t = x[i] * 2
            u = t + 1
            seen = u
            if t > 1.5:
                kept = t
        return seen, kept

    t = 2 * X
    assert last(X) == (t[-1] + 1, t[t > 1.5][-1])
    assert last(X[:0]) == (-1.0, 5.0)
    assert last(np.zeros(3)) == (1.0, 5.0)


def test_arrays_of_an_iteration():
    @njit
    def rows(x, out):
        for i in prange(out.shape[0]):
            work = np.zeros(4)
            for k in range(4):
                work[k] = x[i] * k
            small = lw.local(2, np.float64)
            small[0] = work.sum()
            small[1] = 1.0
            out[i] = small[0] + small[1]

    x = X[:5000]
    out = np.empty(5000)
    rows(x, out)
    np.testing.assert_allclose(out, 6 * x + 1)


def test_an_inner_prange_and_functions():
    @njit
    def helper(x):
        s = 0.0
        for j in prange(x.shape[0]):
            s += x[j]
        return s

    def plain(x):
        s = 0.0
        for j in prange(x.shape[0]):
            s += helper(x[j])
        return s

    @njit
    def nested(x):
        s = 0.0
        for i in prange(x.shape[0]):
            for j in prange(x.shape[1]):
                s += x[i, j]
        return s + plain(x) + helper(x[0])

    a = X[:60_000].reshape(200, 300)
    assert nested(a) == pytest.approx(2 * a.sum() + a[0].sum())


def test_a_loop_behind_another_and_within_another():
    @njit
    def twice(x, out):
        s = 0.0
        for k in range(3):
            for i in prange(x.shape[0]):
                out[i] = x[i] * k
            for i in prange(x.shape[0]):
                s += out[i]
        return s

    out = np.empty(N)
    assert twice(X, out) == pytest.approx(3 * X.sum())
    assert (out == 2 * X).all()


def test_the_lowest_iteration_that_raises():
    @njit
    def check(x):
        s = 0.0
        for i in prange(x.shape[0]):
            if x[i] > 0.99:
                raise ValueError(f"element {i}")
            s += x[i]
        return s

    first = int(np.argmax(X > 0.99))
    for threads in (1, 3):
        with lw.config(threads=threads), pytest.raises(ValueError, match=rf"element {first} "):
            check(X)
    assert check(X[:first]) == pytest.approx(X[:first].sum())


def test_indices_that_are_checked():
    @njit(boundscheck=True)
    def gather(x, index, out):
        for i in prange(index.shape[0]):
            out[i] = x[index[i]]

    index, out = np.arange(1000), np.empty(1000)
    gather(X, index, out)
    assert (out == X[:1000]).all()
    index[500] = N
    with pytest.raises(IndexError):
        gather(X, index, out)


def test_calls_from_several_python_threads():
    from concurrent.futures import ThreadPoolExecutor

    @njit
    def total(x):
        s = 0.0
        for i in prange(x.shape[0]):
            s += math.sqrt(x[i])
        return s

    want = total(X)
    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(lambda _: total(X), range(40))) == {want}


def test_parallel_false_runs_in_order():
    @njit(parallel=False)
    def run(x):
        s = 0.0
        for i in prange(len(x)):
            s = 0.5 * s + x[i]
            if i > 50:
                break
        return s

    s = 0.0
    for i in range(52):
        s = 0.5 * s + X[i]
    assert run(X) == s


def test_checks_of_sums_and_debuggers_keep_the_order():
    def total(x):
        s = 0
        for i in prange(x.shape[0]):
            s += x[i]
        return s

    x = np.full(10, 2**61)
    for options in ({"check": {"overflow"}}, {"debug": True}, {"check": {"nan", "bounds"}}):
        f = njit(**options)(total)
        assert f(x[:3]) == 3 * 2**61
        if "check" not in options or "overflow" in options["check"]:
            with pytest.raises(OverflowError):
                f(x)


def test_other_generators_take_it_as_range():
    @lw.vectorize
    def f(x):
        s = 0.0
        for i in prange(3):
            s = s * x + i
        return s

    assert f(2.0) == 4.0

    @lw.cuda.jit(target="cpu")
    def k(x):
        for i in prange(lw.cuda.grid(1), x.size, lw.cuda.gridsize(1)):
            x[i] += 1

    x = np.zeros(100)
    k[2, 16](x)
    assert (x == 1).all()


def test_number_of_threads():
    before = lw.config.threads
    try:
        lw.set_num_threads(3)
        assert lw.get_num_threads() == 3 == lw.config.threads
        for wrong in (0, -1, 1000):
            with pytest.raises(ValueError, match="between 1 and 256"):
                lw.set_num_threads(wrong)
        for wrong in (-1, 257, 10**30, 2.5, "many"):
            with pytest.raises(ValueError, match="threads must be an integer from 0 to 256"):
                lw.config.threads = wrong
            with pytest.raises(ValueError, match="threads must be an integer from 0 to 256"), lw.config(threads=wrong):
                pass
        with lw.config(threads=np.int64(256)):
            assert lw.get_num_threads() == 256
        with lw.config(threads=None):
            assert lw.config.threads == 0
        with pytest.raises(TypeError):
            lw.set_num_threads(2.5)
    finally:
        lw.config.threads = before
    assert lw.get_num_threads() >= 1


def test_python_target():
    @njit
    def total(x):
        s = 0.0
        for i in prange(len(x)):
            s += x[i]
        return s

    with lw.config(target="python"):
        assert total(np.arange(5.0)) == 10.0


def test_arrays_that_iterations_add_to():
    @njit
    def sums(x, n, out):
        h, p, z = np.zeros(3), np.ones(3), np.zeros((2, 3), np.complex128)
        counts = np.zeros(3, np.int64)
        for i in prange(n):
            h += x[i]
            counts += i
            p *= 1 + 1e-3 * x[i]
            for k in range(2):
                z -= 1j * x[i]
            out[:] += x[i]
        return h, p, z, counts

    x = X[:3000].reshape(1000, 3)
    for out in (np.ones(3), np.ones(6)[::-2], np.asfortranarray(np.ones((4, 3)))):
        h, p, z, counts = sums(x, 1000, out)
        np.testing.assert_allclose(h, x.sum(0))
        np.testing.assert_allclose(p, np.prod(1 + 1e-3 * x, 0))
        np.testing.assert_allclose(z, np.broadcast_to(-2j * x.sum(0), (2, 3)))
        np.testing.assert_allclose(out, np.broadcast_to(1 + x.sum(0), out.shape))
        assert counts.tolist() == [1000 * 999 // 2] * 3
    for threads in (1, 3):
        with lw.config(threads=threads):
            assert sums(x, 1000, np.ones(3))[0].tobytes() == h.tobytes()
    assert sums(x, 0, np.ones(3))[0].tolist() == [0, 0, 0]
    assert sums(x, 1, np.ones(3))[0].tolist() == x[0].tolist()


def test_memory_of_iterations_is_released():
    @njit
    def f(x):
        h = np.zeros(3)
        for i in prange(x.shape[0]):
            y = np.zeros(3) + x[i]
            if y[0] > 2:
                raise ValueError("too large")
            h += y
        return h

    lw.runtime.memsys_enable_stats()
    try:
        before = lw.runtime.get_allocation_stats()
        assert f(np.ones(500)).tolist() == [500.0] * 3
        with pytest.raises(ValueError, match="too large"):
            f(np.full(500, 3.0))
        after = lw.runtime.get_allocation_stats()
    finally:
        lw.runtime.memsys_disable_stats()
    assert after.alloc - before.alloc == after.free - before.free > 500


def test_an_array_that_is_also_read():
    @njit
    def f(x):
        h = np.zeros(3)
        for i in prange(x.shape[0]):
            h += x[i] * h[0]
        return h

    with pytest.raises(errors.CompileError, match="E168"):
        f(np.ones(5))


@pytest.mark.parametrize("body, line, said", [
    ("s = 0.5 * s + x[i]", 7, "this variable is carried"),
    ("s += x[i]\n        x[i] = s", 7, "this variable is carried"),
    ("s += x[i]\n        s *= x[i]", 8, "this variable is carried"),
    ("s = max(x[i], s)", 7, "(in this order, for NaN)"),
    ("x[0] += x[i]", 7, "the same element in every iteration"),
    ("h[0:2] += x[i : i + 2]", 7, "the same element in every iteration"),
    ("h[:] = x[i]", 7, "the same element in every iteration"),
    ("for j in range(3):\n            x[j] = i", 8, "the same element in every iteration"),
    ("if x[i] > 2:\n            break", 8, "`break` in a loop over prange"),
    ("for j in range(2):\n            return 1.0", 8, "`return` in a loop over prange"),
])
def test_iterations_that_depend_on_each_other(body, line, said, tmp_path):
    path = tmp_path / "made.py"
    path.write_text("import numpy as np\nfrom lanewise import prange\ndef f(x):\n    s = 0.0\n    h = np.zeros(3)\n"
                    f"    for i in prange(x.shape[0]):\n        {body}\n    return s + h[0]\n")
    names = {}
    exec(compile(path.read_text(), str(path), "exec"), names)
    with pytest.raises(errors.CompileError, match="E168") as caught:
        njit(names["f"])(np.ones(10))
    assert said in str(caught.value) and f"made.py:{line}:" in str(caught.value)


def test_an_array_of_the_last_iteration_is_refused():
    @njit
    def f(x, n):
        h = np.zeros(3)
        for i in prange(n):
            h = np.zeros(3) + x[i]
        return h

    with pytest.raises(errors.CompileError, match="it belongs to one iteration"):
        f(np.ones(10), 10)


def test_what_all_iterations_may_store():
    @njit
    def found(x, out):
        for i in prange(x.shape[0]):
            if x[i] > 0.5:
                out[0] = 1.0
            if i == 7:
                out[1] = x[i]

    out = np.zeros(2)
    found(X, out)
    assert out.tolist() == [1.0, X[7]]


def test_after_fork():
    code = """if True:
        import os, numpy as np
        from lanewise import njit, prange
        @njit
        def total(x):
            s = 0.0
            for i in prange(x.shape[0]):
                s += x[i]
            return s
        x = np.ones(1_000_000)
        assert total(x) == 1e6
        pid = os.fork()
        if pid == 0:
            os._exit(0 if total(x) == 1e6 else 1)
        assert os.waitpid(pid, 0)[1] == 0
        print("good")
    """
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=100).stdout == "good\n"


@pytest.mark.parametrize("dtype", ["i4", "u4", "i8", "u8", "f4", "f8", "c16"])
def test_no_update_of_a_place_from_memory_is_lost(dtype):
    @njit
    def counted(x, counts, n):
        for _ in prange(n):
            for j in range(len(x)):
                counts[x[j]] += 1
        return counts

    x = np.random.default_rng(3).integers(-3, 3, 1000)
    before = lw.get_num_threads()
    try:
        lw.set_num_threads(4)
        got = counted(x, np.zeros(6, dtype), 4000)
    finally:
        lw.set_num_threads(before)
    assert got.tolist() == (4000 * np.bincount(x % 6, minlength=6)).tolist()


def test_updates_by_other_operations():
    @njit
    def f(x, a, b, c, d):
        for i in prange(len(x)):
            k = x[i]
            a[k, i % 2] -= i
            b[k] |= 1 << (i % 7)
            c[k] ^= i
            d[k] += 0.5 * i

    def want(x, a, b, c, d):
        for i in range(len(x)):
            a[x[i], i % 2] -= i
            b[x[i]] |= 1 << (i % 7)
            c[x[i]] ^= i
            d[x[i]] += 0.5 * i

    x = np.random.default_rng(4).integers(0, 5, 5000)
    results = []
    for g in (f, want):
        arrays = np.zeros((5, 2)), np.zeros(5, np.int64), np.zeros(5, np.uint32), np.zeros(5)
        g(x, *arrays)
        results.append(arrays)
    for got, wanted in zip(*results):
        np.testing.assert_array_equal(got, wanted)


def test_an_iterations_own_array_needs_no_atomics():
    @njit
    def f(x, out):
        for i in prange(len(out)):
            own = np.zeros(4, np.int16)
            for j in range(len(x)):
                own[x[j]] += 1
            out[i] = own[i % 4]

    x = np.array([0, 1, 1, 3])
    out = np.zeros(8, np.int64)
    f(x, out)
    assert out.tolist() == [1, 2, 0, 1, 1, 2, 0, 1]


def test_narrow_elements_are_refused():
    @njit
    def f(x, counts):
        for i in prange(len(x)):
            counts[x[i]] += 1

    for dtype in ("i1", "u2"):
        with pytest.raises(errors.CompileError, match="E168: iterations of prange may update the same element, of 8 or 16 bits"):
            f(np.array([0, 1]), np.zeros(2, dtype))


def test_views_that_an_iteration_makes():
    @lw.njit
    def rows(n):
        out = np.zeros((n, 3))
        for i in lw.prange(n):
            row = out[i]
            row[1] = i
        return out

    @lw.njit
    def whole(n):
        out = np.zeros(n)
        kept = out
        for i in lw.prange(n):
            same = out
            same[i] = i
        return out, kept

    assert np.array_equal(rows(50)[:, 1], np.arange(50.0))
    out, kept = whole(50)
    assert np.array_equal(out, np.arange(50.0)) and np.array_equal(kept, out)


@njit(parallel=True, warn=False)
def narrow_totals(x):
    largest, least, total, bits = x[0], x[0], x[0], x[0]
    for i in prange(1, len(x)):
        largest = max(largest, x[i])
        if x[i] < least:
            least = x[i]
        total += x[i]
        bits ^= x[i]
    return largest, least, total, bits


@pytest.mark.parametrize("dtype", ["i1", "u1", "i2", "u2", "i4"])
def test_reductions_of_narrow_integers(dtype):
    info = np.iinfo(dtype)
    x = np.random.default_rng(1).integers(info.min, info.max, 100_003, endpoint=True).astype(dtype)
    assert narrow_totals(x) == (x.max(), x.min(), np.add.reduce(x, dtype=dtype), np.bitwise_xor.reduce(x))


def arrays_by_case(x, unequal, n):
    if not unequal:
        t = np.arange(n) * 1.0
    out = np.zeros(x.shape[0])
    for i in prange(x.shape[0]):
        for j in range(3):
            if unequal:
                t = np.full(n + j, x[i])
            out[i] += t.sum()
    return out


def numbers_by_case(x, unequal, n):
    t = 5.0
    out = np.zeros(x.shape[0])
    for i in prange(x.shape[0]):
        if n > 3 and not unequal:
            out[i] = 1
        if not unequal:
            out[i] += t
        else:
            t = x[i] + n
            out[i] += t
    return out


@pytest.mark.parametrize("unequal", [False, True])
@pytest.mark.parametrize("function", [arrays_by_case, numbers_by_case], ids=lambda f: f.__name__)
def test_a_variable_that_an_invariant_condition_lets_iterations_set(function, unequal):
    x = np.random.default_rng(3).random(5000)
    np.testing.assert_allclose(njit(function)(x, unequal, 5), function(x, unequal, 5), rtol=1e-14)


def read_behind(x, unequal):
    t = np.zeros(2)
    for i in prange(x.shape[0]):
        if unequal:
            t = np.full(2, x[i])
        x[i] += t.sum()
    return t


def set_again(x, unequal):
    t = 0.0
    for i in prange(x.shape[0]):
        if unequal:
            t = x[i]
        x[i] += t
        if x[i] > 0.5:
            t = 3.0


def set_in_an_outer_loop(x, unequal):
    t = 5.0
    for k in range(2):
        for i in prange(x.shape[0]):
            if k == 0:
                t = x[i]
            x[i] += t


def stored_in(x, unequal):
    t = np.zeros(3)
    for i in prange(x.shape[0]):
        if unequal:
            t = np.empty(3)
        for k in range(3):
            t[k] = x[i]
        x[i] = t.sum()


@pytest.mark.parametrize("function", [read_behind, set_again, set_in_an_outer_loop, stored_in], ids=lambda f: f.__name__)
def test_a_variable_that_no_condition_decides_is_an_error(function):
    with pytest.raises(errors.CompileError, match="E168"):
        njit(function)(np.zeros(3), True)

"""What is kept on devices while several threads use it: remembered calls, streams of arrays, reports, counters of reductions,
the memory manager. What needs a device is run on the fake driver by test_fake_driver.py."""

from __future__ import annotations

import contextlib
import gc

import numpy as np

import lanewise as lw
from fake_driver import needs_device
from lanewise import cuda
from test_memory_manager import driver, plain  # noqa: F401: a fixture
from test_threads import together
from test_threads_state import without_problems

pytestmark = needs_device
DTYPES = ["f4", "f8", "i4", "i8"]


def test_calls_that_are_remembered():
    """The calls have the same shapes and others, with new arrays and given ones, while other threads call add()."""
    f = lw.vectorize(["f8(f8, f8)"])(lambda x, y: x * y + 1)
    g = lw.guvectorize("(n),(n)->()")(lambda x, y: x[0] * y[0])
    total = lw.reduce(lambda a, b: a + b)

    def work(i):
        arrays = [cuda.to_device(np.ones((2, 3 + k))) for k in range(3)]
        out = [cuda.device_array((2, 3 + k)) for k in range(3)]
        for k in range(40):
            x, y = arrays[k % 3], out[k % 3]
            assert f(x, x).shape == x.shape and f(x, 2.5, out=y) is y and f(y, x, y) is y
            assert g(x, x).shape == (2,)
            assert total(x, axis=k % 2).shape == (x.shape[1 - k % 2],) and total.accumulate(x, axis=1).shape == x.shape
            if i == 0 and k % 10 == 0:
                with contextlib.suppress(ValueError):
                    f.add(["f4(f4, f4)", "i8(i8, i8)", "i4(i4, i4)", "c16(c16, c16)"][k // 10])
        return True

    assert without_problems(together(6, work)) == [True] * 6
    assert f.ntypes == 5


def test_first_calls_of_each_dtype():
    for _ in range(3):
        f = lw.vectorize(lambda x: x + 1)
        g = lw.guvectorize("(n)->()")(lambda x: x[0])
        total = lw.reduce(lambda a, b: a + b, map=lambda a: a * 2)

        @lw.forall
        def k(i, x, out):
            out[i] = x[i]

        j = lw.cuda.jit(lambda x, out: None)

        def work(i, f=f, g=g, total=total, k=k, j=j):
            for n in range(4):
                x = cuda.to_device(np.ones(6, DTYPES[(i + n) % 4]))
                out = cuda.device_array_like(x)
                f(x), f(x.copy_to_host()), g(x.reshape(2, 3)), total(x), total.accumulate(x)
                k(x.size, x, out)
                j[1 + n, 32](x, out)
                j.forall(6)(x, out)
                k.bind(x.size, x, out)()
            return True

        assert without_problems(together(8, work)) == [True] * 8
        assert f.ntypes == 4 and k.stats["specialisations"] == 4


def test_operators_and_functions_of_arrays():
    a = cuda.to_device(np.arange(12.0).reshape(3, 4))

    def work(i):
        for k in range(15):
            for value in (a + a, a * 2, -a, a < 3, np.add(a, 1), np.sqrt(a), abs(a), a // 2):
                assert value.shape == a.shape
            assert a.sum().shape == () and a.mean(axis=0).shape == (4,) and a.cumsum(axis=1).shape == a.shape
            assert np.max(a, axis=1).shape == (3,) and np.any(a).shape == () and np.count_nonzero(a) is not None
            assert a.astype("f4").dtype == "f4" and a.T[1:].copy().shape == (3, 3)
        return True

    assert without_problems(together(6, work)) == [True] * 6


def test_arrays_go_from_stream_to_stream():
    """All threads use one array on their streams, and drop the streams."""
    shared = [cuda.to_device(np.arange(8.0)) for _ in range(3)]
    f = lw.vectorize(lambda x: x + 1)

    def work(i):
        for k in range(40):
            stream = cuda.stream()
            x = shared[k % 3]
            y = f(x, stream=stream)
            z = cuda.to_device(np.arange(8.0), stream=stream)
            z[:] = x[::-1]
            assert x.copy_to_host(stream=stream)[7] == 7 and y.stream == stream.handle
            event = stream.record()
            event.wait(cuda.default_stream())
            if k % 5 == i % 5:
                stream.synchronize()
            del stream
            assert z.copy_to_host().shape == (8,)
            del y, z
        return True

    assert without_problems(together(6, work)) == [True] * 6
    gc.collect()


def test_streams_are_lent_and_dropped():
    def work(i):
        kept = []
        for k in range(60):
            stream = cuda.stream()
            kept.append(cuda.device_array(4, stream=stream))
            assert cuda.external_stream(stream.handle).handle == stream.handle
            if len(kept) > 4:
                del kept[0]
        return True

    assert without_problems(together(6, work)) == [True] * 6


def test_reports_are_looked_at_while_kernels_go():
    """Kernels that can raise are watched; every wait of any thread looks at all of them."""
    x = cuda.to_device(np.arange(4.0))

    def work(i):
        for k in range(6):
            @lw.vectorize(errors="defer")
            def f(v):
                assert v > -1.0
                return v

            f(x), f(x), cuda.synchronize()
            f.me = f
            del f
            if i == 0:
                gc.collect()
        return True

    assert without_problems(together(6, work)) == [True] * 6


def test_kernels_are_configured():
    k = cuda.jit(lambda x: None)
    x = cuda.to_device(np.arange(4.0))

    def work(i):
        for n in range(60):
            k[1 + (i + n) % 12, 32](x)
        return True

    assert without_problems(together(6, work)) == [True] * 6
    assert k.stats["specialisations"] == 1


def test_a_manager_comes_and_goes(driver):  # noqa: F811
    manager = plain(driver)
    f = lw.vectorize(lambda x: x + 1)

    def work(i):
        for k in range(30):
            if i == 0:
                cuda.set_memory_manager(manager if k % 2 else None)
            x = cuda.to_device(np.arange(16.0))
            assert f(x).shape == (16,) and x.copy_to_host()[15] == 15
            assert len(cuda.current_context().get_memory_info()) == 2
        return True

    assert without_problems(together(4, work)) == [True] * 4


def test_random_numbers_on_the_device():
    rng = lw.random.Generator(1)

    def work(i):
        for k in range(10):
            out = cuda.device_array(64)
            rng.random(out=out)
            rng.normal(size=3)
        return True

    assert without_problems(together(4, work)) == [True] * 4
    assert rng.state["place"] > 0


FIRST = """
import threading
import numpy as np
from lanewise import cuda
barrier, seen = threading.Barrier(6), []
a = cuda.to_device(np.arange(6.0).reshape(2, 3))
def work(i):
    barrier.wait()
    a + a, a.sum(), a.cumsum(axis=0), np.add(a, a), np.sum(a), np.count_nonzero(a), a.any(), a @ a.T
    seen.append(i)
threads = [threading.Thread(target=work, args=(i,)) for i in range(6)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert len(seen) == 6
"""


def test_everything_at_first_use(run_python):
    """Six threads are the first to look functions up and to make kernels for them."""
    run_python("-c", FIRST, timeout=200)

"""Draws of a `Generator` into device memory whose parameters are numbers go past the Python methods: they launch the same
kernels on the same blocks as these. On the fake driver the launches are compared, on a GPU the numbers."""

from __future__ import annotations

import ctypes
import os
import weakref

import numpy as np
import pytest

from fake_driver import FAKE, needs_device
from lanewise import _core, _generator, config, cuda
from lanewise.random import Generator

pytestmark = [pytest.mark.gpu, needs_device]


class Launch(ctypes.Structure):  # tests/fault/fake_cuda.h
    _fields_ = [("name", ctypes.c_char * 256), ("shape", ctypes.c_uint * 7), ("stream", ctypes.c_void_p), ("n_params", ctypes.c_int),
                ("together", ctypes.c_int), ("n_bytes", ctypes.c_uint), ("values", ctypes.c_ubyte * 4096), ("offsets", ctypes.c_uint * 64), ("sizes", ctypes.c_uint * 64)]


def launch_of(call, launches=1):
    """The result of a call that makes so many launches, the last launch, and its parameters."""
    driver, launch = ctypes.CDLL(os.environ["LANEWISE_CUDA_DRIVER"]), Launch()
    before = driver.fake_cuda_n_launches()
    result = call()
    assert driver.fake_cuda_n_launches() == before + launches
    assert driver.fake_cuda_last_launch(ctypes.byref(launch))
    values = bytes(launch.values)
    return result, (launch.name, tuple(launch.shape), launch.stream), [values[at:at + n] for at, n in zip(launch.offsets[:launch.n_params], launch.sizes)]


def n_different(x, y):
    assert len(x) == len(y) > 20
    return sum(a != b for a, b in zip(x, y))


CALLS = {
    "random": lambda g, draw, **k: draw("random")(8, **k),
    "random float32": lambda g, draw, **k: draw("random")((2, 4), dtype=np.float32, **k),
    "random by name": lambda g, draw, **k: draw("random")(size=[8, (8,)][g._place % 2], dtype="f4", **k),
    "uniform": lambda g, draw, **k: draw("uniform")(-1, high=3.5, size=16, **k),
    "uniform float32": lambda g, draw, **k: draw("uniform")(2.0, 3.0, (4, 4), np.dtype("f4"), **k),
    "standard_normal": lambda g, draw, **k: draw("standard_normal")(64, **k),
    "standard_normal float32": lambda g, draw, **k: draw("standard_normal")(64, np.float32, **k),
    "normal": lambda g, draw, **k: draw("normal")(1, 2, 64, **k),
    "normal float32": lambda g, draw, **k: draw("normal")(0.5, 2, 64, "float32", **k),
    "normal standard": lambda g, draw, **k: draw("normal")(size=64, dtype="float32", **k),
    "standard_exponential": lambda g, draw, **k: draw("standard_exponential")((2, 2, 2), **k),
    "exponential": lambda g, draw, **k: draw("exponential")(3.0, 8, **k),
    "exponential float32": lambda g, draw, **k: draw("exponential")(3, 8, np.float32, **k),
    "standard_gamma": lambda g, draw, **k: draw("standard_gamma")(2, 7, **k),
    "gamma": lambda g, draw, **k: draw("gamma")(2.5, 3.0, 7, np.float32, **k),
    "poisson": lambda g, draw, **k: draw("poisson")(3.5, 9, **k),
    "poisson uint8": lambda g, draw, **k: draw("poisson")(3.5, 9, np.uint8, **k),
    "binomial": lambda g, draw, **k: draw("binomial")(10, 0.25, 9, **k),
    "binomial int16": lambda g, draw, **k: draw("binomial")(n=10, p=1, size=(3, 3), dtype=np.int16, **k),
    "integers": lambda g, draw, **k: draw("integers")(10, size=8, **k),
    "integers int8": lambda g, draw, **k: draw("integers")(-5, 5, (2, 8), np.int8, **k),
    "integers all": lambda g, draw, **k: draw("integers")(0, 2**32 - 1, 8, np.uint32, True, **k),
    "integers wide": lambda g, draw, **k: draw("integers")(-2**62, 2**62, 5, **k),
    "integers uint64": lambda g, draw, **k: draw("integers")(1, 2**63 - 1, 5, "uint64", endpoint=True, **k),
}


def through_python(g):
    return lambda name: getattr(g, f"_{name}")


def directly(g):
    return lambda name: getattr(g, name)


@pytest.mark.parametrize("name", CALLS)
def test_same_as_the_python_methods(name):
    one, two, stream = Generator(3, target="cuda"), Generator(3, target="cuda"), cuda.stream()
    for given in ({}, {}, {"stream": stream}, {"stream": 0}, {"out": None}):
        def run(g, draw):
            return CALLS[name](g, draw(g), **given)

        if FAKE:
            (x, shape, values), (y, wanted_shape, wanted) = (launch_of(lambda: run(g, draw)) for g, draw in ((one, directly), (two, through_python)))
            assert shape == wanted_shape and n_different(values, wanted) <= 1  # where the result lies
        else:
            x, y = run(one, directly), run(two, through_python)
            cuda.synchronize()
            np.testing.assert_array_equal(x.copy_to_host(), y.copy_to_host())
        assert (x.shape, x.dtype, x.strides, x.device) == (y.shape, y.dtype, y.strides, y.device)
        assert x.flags == {**y.flags, "OWNDATA": True}
        assert one.state == two.state


@pytest.mark.parametrize("n", [1, 2, 3, 5, 7, 1001])
def test_the_rest_of_a_block(n):
    """The memory of a result has room for the whole last block; its shape is the one that was asked for."""
    for draw, dtype, per_block in [("random", "f4", 4), ("random", "f8", 2), ("standard_normal", "f4", 4), ("exponential", "f8", 2)]:
        one, two = Generator(8, target="cuda"), Generator(8)
        x = getattr(one, draw)(size=n, dtype=dtype)
        assert x.shape == (n,) and x.nbytes == n * x.itemsize and one._place == -(-n // per_block)
        y = getattr(one, draw)(size=(n, 1), dtype=dtype)
        assert y.shape == (n, 1) and one._place == 2 * -(-n // per_block)
        if not FAKE:
            np.testing.assert_array_equal(x.copy_to_host(), getattr(two, draw)(size=n, dtype=dtype))
            np.testing.assert_array_equal(y.copy_to_host()[:, 0], getattr(two, draw)(size=n, dtype=dtype))


def test_out():
    """Contiguous arrays of the dtype are filled directly, all others as before."""
    g, whole = Generator(1), cuda.to_device(np.zeros((6, 8), np.float32))
    for out in (whole, whole[2:4], whole.reshape(-1), whole[:3, :].reshape(2, 12), whole[0, 1:4], whole.T, whole[:, ::2], whole[:0]):
        place = g._place
        assert g.random(out=out, dtype=np.float32) is out
        assert g._place == place + -(-out.size // 4)
        assert g.standard_normal(dtype="f4", out=out, size=None, stream=cuda.stream()) is out
        assert g.random(out=out, size=out.shape, dtype="f4") is out
    if not FAKE:
        h = Generator(1)
        h.state = {**g.state}
        got = g.random(out=whole, dtype="f4").copy_to_host()
        np.testing.assert_array_equal(got, h.random(48, dtype="f4").reshape(6, 8))


def test_what_is_wrong_is_refused():
    g = Generator(1, target="cuda")
    out = cuda.device_array(8, np.float32)
    for call, error, words in [
        (lambda: g.random(9, dtype="f4", out=out), ValueError, "shape"),
        (lambda: g.random(8, dtype="i4"), TypeError, "dtype must be"),
        (lambda: g.random(-1), ValueError, "negative"),
        (lambda: g.random(True), TypeError, "size"),
        (lambda: g.random(8, size=8), TypeError, None),
        (lambda: g.random(8, stream="first"), TypeError, None),
        (lambda: g.random(8, wrong=1), TypeError, "wrong"),
        (lambda: g.normal(0, -1, 8), ValueError, "scale < 0"),
        (lambda: g.normal(float("nan"), 1, 8), ValueError, "NaN"),
        (lambda: g.uniform(3, 1, 8), ValueError, "low"),
        (lambda: g.uniform(-1e308, 1e308, 8), OverflowError, "finite"),
        (lambda: g.integers(5, 5, 8), ValueError, "low"),
        (lambda: g.integers(300, size=8, dtype="u1"), ValueError, "uint8"),
        (lambda: g.integers(-1, 5, size=8, dtype="u8"), ValueError, "uint64"),
        (lambda: g.integers(8, dtype="f4", size=3), TypeError, "integer"),
        (lambda: g.integers(size=3), TypeError, "low"),
        (lambda: g.poisson(250, 8, np.uint8), ValueError, "uint8"),
        (lambda: g.poisson(-1.0, 8), ValueError, "lam"),
        (lambda: g.binomial(300, 0.5, 8, np.uint8), ValueError, "uint8"),
        (lambda: g.binomial(-1, 0.5, 8), ValueError, "n < 0"),
        (lambda: g.binomial(1, 1.5, 8), ValueError, "p"),
        (lambda: g.standard_gamma(-2.0, 8), ValueError, "shape < 0"),
        (lambda: g.gamma(2.0, float("inf") - float("inf"), 8), ValueError, "scale"),
    ]:
        place = g._place
        with pytest.raises(error, match=words):
            call()
        assert g._place == place
    assert g.random(out=out) is out  # in its dtype


def test_what_python_does():
    """Python handles sizes without numbers, NumPy's ints, single numbers, arrays as parameters, and bools."""
    g = Generator(4, target="cuda")
    assert g.random(0).shape == (0,) and g.random((2, 0), dtype="f4").shape == (2, 0)
    assert g.random(np.int64(5)).shape == (5,) and g.random(()).shape == () and g.random().shape == ()
    assert g.normal(np.zeros(3), 1.0, 3).shape == (3,) and g.integers(0, 2, 5, bool).dtype == bool
    assert g.normal(1e300, 1.0, 4, dtype="f8").dtype == np.float64
    assert g.random((1,) * 9).ndim == 9


def test_numbers_of_the_simulator_are_its_own():
    """An array that the setting puts on the CPU is no operand of a GPU's kernels."""
    Generator(4, target="cuda").normal(np.zeros(3), 3.0, 3)
    with config(target="cpu"):
        simulated = _generator._number(np.array([7.5]))
    assert _generator._number(np.array([7.5])) is not simulated
    assert Generator(4, target="cuda").normal(np.zeros(3), 7.5, 3).shape == (3,)


def test_a_place_near_a_carry():
    """One launch never crosses a multiple of 2**32 blocks."""
    one, two = Generator(5, target="cuda"), Generator(5, target="cuda")
    for g in (one, two):
        g.state = {**g.state, "place": 2**32 - 3}
    for size in (8, 8, 8):
        x, y = one.random(size, dtype="f4"), two._random(size, dtype="f4")
        assert one.state == two.state
        if not FAKE:
            np.testing.assert_array_equal(x.copy_to_host(), y.copy_to_host())


def test_the_key_may_change():
    """Kernels get the keys of the current state."""
    one, two = Generator(5, target="cuda"), Generator(6, target="cuda")
    one.random(8)
    one.state = two.state
    if FAKE:
        (_, _, a), (_, _, b) = (launch_of(lambda: g.random(64)) for g in (one, two))
        assert n_different(a, b) <= 1
    else:
        np.testing.assert_array_equal(one.random(64).copy_to_host(), two.random(64).copy_to_host())
    child = one.jumped()
    assert child.random(8).shape == (8,) and child.state["jumps"] == one.state["jumps"] + 1


@pytest.mark.skipif(not FAKE, reason="looks at launches")
def test_parameters_that_a_graph_reads():
    """Arrays of a captured call are kept as long as the graph, however many other parameters follow."""
    driver, stream, g = ctypes.CDLL(os.environ["LANEWISE_CUDA_DRIVER"]), cuda.stream(), Generator(5, target="cuda")
    handle, n_kept = ctypes.c_void_p(stream.handle), _core.cuda._n_kept_for_graphs
    driver.fake_cuda_set_capturing(handle, 1)
    before, launched, made = n_kept(), [], []
    g_moved = _generator._moved
    try:
        _generator._moved = lambda p, s: made.append(g_moved(p, s)) or made[-1]
        for shape in (np.array([1234.5]), np.array([1234.5, 2345.5]), np.array([1234.5])):
            launched += launch_of(lambda: g.standard_gamma(shape, 2, stream=stream))[2]
    finally:
        _generator._moved = g_moved
        driver.fake_cuda_set_capturing(handle, 0)
    addresses = [array.__cuda_array_interface__["data"][0] for array in made]
    assert n_kept() == before + len(made) > before
    watched = [weakref.ref(array) for array in made]
    del made[:]
    read = [address for address in addresses if address.to_bytes(8, "little") in launched]
    numbers = [ctypes.c_double.from_address(address).value for address in read]
    assert 1234.5 in numbers
    for k in range(300):
        g.standard_gamma(np.array([float(k)]), 2, stream=stream)
    others = [cuda.to_device(np.zeros(n)) for n in (1, 2) for _ in range(600)]
    assert [ctypes.c_double.from_address(address).value for address in read] == numbers and len(others) == 1200
    assert n_kept() == before + len(addresses) and all(one() is not None for one in watched)
    driver.fake_cuda_destroy_graphs()
    assert n_kept() == before and all(one() is None for one in watched)


@pytest.mark.parametrize("method", ["_kernel_named", "_keys", "_kernel_of_many"])
def test_the_state_may_change_during_a_call(method):
    """Another thread may set the state while Python code runs: the place and the keys belong to one state."""
    other = Generator(6, target="cuda").jumped(3)
    other.state = {**other.state, "place": 1000}
    size = 1 << 17 if method == "_kernel_of_many" else 64
    changes = []

    def changed(self, *args):
        if not changes:
            changes.append(self)
            self.state = other.state
        return getattr(Generator, method)(self, *args)

    g = type("Changing", (Generator,), {method: changed})(5, target="cuda")
    if FAKE:
        (_, _, a), (_, _, b) = (launch_of(lambda: one.random(size, dtype="f4")) for one in (g, other))
        assert n_different(a, b) <= 1
    else:
        np.testing.assert_array_equal(g.random(size, dtype="f4").copy_to_host(), other.random(size, dtype="f4").copy_to_host())
    assert changes and g.state == other.state


def test_a_draw_during_a_call():
    """It takes the blocks at the place, and the call takes those after it."""
    places = []

    def drawing(self, *args):
        if not places:
            places.append(self._place)
            inner.append(self.random(64, dtype="f4"))
        return Generator._keys(self, *args)

    g, plain, inner = type("Drawing", (Generator,), {"_keys": drawing})(5, target="cuda"), Generator(5, target="cuda"), []
    first = plain.random(64, dtype="f4")
    if FAKE:
        (_, _, a), (_, _, b) = (launch_of(lambda: plain.random(64, dtype="f4")), launch_of(lambda: g.random(64, dtype="f4"), 2))
        assert n_different(a, b) <= 1
    else:
        outer = g.random(64, dtype="f4")
        np.testing.assert_array_equal(inner[0].copy_to_host(), first.copy_to_host())
        np.testing.assert_array_equal(outer.copy_to_host(), plain.random(64, dtype="f4").copy_to_host())
    assert places == [0] and g._place == 32


def test_a_failing_call_after_a_change():
    def failing(self, name):
        def kernel(*args, **kwargs):
            self.state = {**self.state, "place": 16}  # where the failing call would end
            raise RuntimeError("no launch")

        return kernel

    g = type("Failing", (Generator,), {"_kernel_named": failing})(5, target="cuda")
    with pytest.raises(RuntimeError, match="no launch"):
        g.random(64, dtype="f4")
    assert g._place == 16


@pytest.mark.skipif(not FAKE, reason="looks at launches")
@pytest.mark.parametrize("name, parameters, kernel", [
    ("standard_normal", (), b"normal_float64"), ("exponential", (2.0,), b"exponential_float64"), ("standard_gamma", (2.0,), b"gamma")])
def test_large_arrays_have_kernels_of_their_own(name, parameters, kernel):
    """lanewise/_random_device.py defines them, with half as many threads as blocks, or with a number of lanes."""
    n = 1 << 15 if "gamma" not in name else 4 * 2048 * cuda.get_current_device().MULTIPROCESSOR_COUNT
    g = Generator(1, target="cuda")
    _, (small, *_), _ = launch_of(lambda: getattr(g, name)(*parameters, 64))
    _, (large, *_), _ = launch_of(lambda: getattr(g, name)(*parameters, 2 * n))
    assert small.startswith(b"philox_" + kernel) and large.startswith(kernel)
    assert g._place == (64 + 2 * n) // (1 if "gamma" in name else 2)


@pytest.mark.skipif(not FAKE, reason="looks at captures of the fake driver")
def test_xoroshiro_refuses_a_captured_stream():
    """A graph would keep the addresses of the states; numbers of Philox depend on the place alone."""
    driver, stream = ctypes.CDLL(os.environ["LANEWISE_CUDA_DRIVER"]), cuda.stream()
    g, handle = Generator(5, "xoroshiro128p", "cuda"), ctypes.c_void_p(stream.handle)
    driver.fake_cuda_set_capturing(handle, 1)
    try:
        for draw in (g.random, g.standard_gamma, g.lognormal):
            with pytest.raises(RuntimeError, match="xoroshiro128p cannot draw on a stream that is being captured"):
                draw(*[2.0] * (draw == g.standard_gamma), size=64, stream=stream)
        assert g._place == 0
        g.random(8)  # another stream
        Generator(5, target="cuda").random(64, stream=stream)
    finally:
        driver.fake_cuda_set_capturing(handle, 0)
    assert g.random(64, stream=stream).shape == (64,) and g._place == 72


@pytest.mark.parametrize("size", [(2**40, 2**24), (2**32, 2**32), (2**40, 2**40)])
def test_sizes_whose_product_does_not_fit(size):
    g = Generator(5, target="cuda")
    with pytest.raises((MemoryError, ValueError)):
        g.random(size)
    assert g._place == 0


def test_streams_of_numbers_that_the_host_makes():
    """A stream would be ignored, so it is refused for every target."""
    calls = {"choice": ([1, 2, 3], 2), "multinomial": (3, [0.5, 0.5]), "multivariate_normal": ([0.0], [[1.0]]), "multivariate_hypergeometric": ([1, 2], 2),
             "hypergeometric": (3, 4, 2), "permuted": ([1, 2, 3],), "permutation": (5,), "shuffle": (np.arange(3),), "bytes": (3,)}
    g = Generator(1, target="cuda")
    for name, args in calls.items():
        with pytest.raises(TypeError, match=rf"stream= is for device arrays; `Generator.{name}` was called for arrays of the host"):
            getattr(g, name)(*args, stream=cuda.stream())
        getattr(g, name)(*args, stream=0)
        getattr(g, name)(*args, stream=None)
    assert isinstance(g.permutation(cuda.to_device(np.arange(4)), stream=cuda.stream()), cuda.DeviceArray)

"""Python ints that are known only at run time, beside a uint64. NumPy raises an OverflowError for a negative one;
compiled functions do where its sign matters, in every generator, and otherwise compute modulo 2**64."""

from __future__ import annotations

import math
import operator

import numpy as np
import pytest

import lanewise as lw
from fake_driver import needs_device, needs_kernels
from lanewise import cuda

TEXT = "a negative Python integer is out of bounds for uint64"
U = np.array([1, 7, 100, 2**63 + 5], np.uint64)
GOOD, BAD = np.array([3.0, 1.0, 7.0, 2.0]), np.array([3.0, 1.0, -2.0, 2.0])

RAISE = {
    "floordiv": lambda u, k: u // int(k),
    "divided": lambda u, k: int(k) // u,
    "mod": lambda u, k: u % int(k),
    "rest": lambda u, k: int(k) % u,
    "power": lambda u, k: u ** int(k),
    "base": lambda u, k: int(k) ** u,
    "divmod": lambda u, k: divmod(u, int(k))[1],
    "np.divmod": lambda u, k: np.divmod(u, int(k))[0],
    "np.floor_divide": lambda u, k: np.floor_divide(u, int(k)),
    "np.remainder": lambda u, k: np.remainder(u, int(k)),
    "np.fmod": lambda u, k: np.fmod(u, int(k)),
    "np.power": lambda u, k: np.power(u, int(k)),
    "np.maximum": lambda u, k: np.maximum(u, int(k)),
    "np.minimum": lambda u, k: np.minimum(int(k), u),
    "np.fmax": lambda u, k: np.fmax(u, int(k)),
    "np.fmin": lambda u, k: np.fmin(u, int(k)),
    "np.gcd": lambda u, k: np.gcd(u, int(k)),
    "np.lcm": lambda u, k: np.lcm(u, int(k)),
    "np.right_shift": lambda u, k: np.right_shift(int(k), u),
    "operator.mod": lambda u, k: operator.mod(u, int(k)),
}
MODULAR = {
    "add": lambda u, k: u + int(k),
    "sub": lambda u, k: int(k) - u,
    "mul": lambda u, k: u * int(k),
    "and": lambda u, k: u & int(k),
    "or": lambda u, k: int(k) | u,
    "xor": lambda u, k: u ^ int(k),
    "operator.add": lambda u, k: operator.add(u, int(k)),
}


@pytest.mark.parametrize("name", RAISE)
def test_where_the_sign_matters(name):
    f = lw.vectorize(RAISE[name])
    with np.errstate(all="ignore"):
        wanted = np.array([RAISE[name](u, k) for u, k in zip(U, GOOD)])
        assert np.array_equal(f(U, GOOD), wanted) and f(U, GOOD).dtype == np.uint64
        with pytest.raises(OverflowError, match="out of bounds for uint64"):
            RAISE[name](U[2], BAD[2])
    with pytest.raises(OverflowError, match=rf"{TEXT}.*element 2"):
        f(U, BAD)


@pytest.mark.parametrize("name", MODULAR)
def test_modulo(name):
    exact = [int(MODULAR[name](int(u), k)) for u, k in zip(U, BAD)]
    assert lw.vectorize(MODULAR[name])(U, BAD).tolist() == [x % 2**64 for x in exact]
    with pytest.raises(OverflowError, match=TEXT):
        lw.vectorize(check={"overflow"})(MODULAR[name])(U[2:], BAD[2:])


def test_greatest_common_divisor_takes_absolute_values():
    f = lw.vectorize(lambda u, k: math.gcd(u, int(k)))
    assert f(np.uint64(2**63), -6.0) == math.gcd(2**63, -6)
    assert f(np.uint64(7), -2.0) == 1


def test_comparisons_and_bounds_need_no_check():
    assert lw.vectorize(lambda u, k: (u > int(k), int(k) == u, np.less(u, int(k))))(U, BAD)[0].tolist() == [False, True, True, True]
    assert lw.vectorize(lambda u, k: np.clip(u, int(k), 7))(np.uint64(9), -2.0) == 7


def test_a_branch_that_is_not_taken_raises_nothing():
    f = lw.vectorize(lambda u, k: u % int(k) if k > 0 else u)
    assert f(U, BAD).tolist() == [1, 0, 100, 1]


# ---- every generator ----


def through_jit(k):
    return lw.jit(lambda u, k: u // int(k))(U[1], k)


def through_array_expression(k):
    return lw.jit(lambda u, k: np.maximum(u, int(k)) + u % int(k))(U, k)


def through_augmented(k):
    def f(u, k):
        u[1:] //= int(k)
        u[0] %= int(k)

    lw.jit(f)(U.copy(), k)


def through_forall(k):
    def f(i, u, k):
        u[i] = u[i] // int(k)

    lw.forall(f)(4, U.copy(), k)


def through_guvectorize(k):
    def f(u, k, out):
        out[0] = np.maximum(u[0], int(k))

    lw.guvectorize("(n),()->(n)")(f)(U, k)


def through_reduce(k):
    lw.reduce(lambda a, b: a + b, map=lambda u, k: u % int(k), finish=lambda a: a)(U, np.full(4, k))


def through_simulator(k):
    def f(u, k):
        i = cuda.grid(1)
        if i < u.size:
            u[i] //= int(k)

    cuda.jit(f, target="cpu")[1, 4](U.copy(), k)


def through_atomic(k):
    def f(u, k):
        cuda.atomic.max(u, 0, int(k))

    cuda.jit(f, target="cpu")[1, 1](U.copy(), k)


def through_parameter(k):
    lw.jit(lambda u, n: u // n)(U, int(k))


WAYS = [through_jit, through_array_expression, through_augmented, through_forall, through_guvectorize, through_reduce, through_simulator, through_atomic, through_parameter]


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_every_generator(way):
    way(3.0)
    with pytest.raises(OverflowError, match=TEXT):
        way(-2.0)


@pytest.mark.gpu
@needs_device
@needs_kernels
def test_on_a_device():
    f = lw.vectorize(lambda u, k: u // int(k))
    u = cuda.to_device(U)
    assert f(u, cuda.to_device(GOOD)).copy_to_host().tolist() == [0, 7, 14, 2**62 + 2]
    with pytest.raises(OverflowError, match=TEXT):
        f(u, cuda.to_device(BAD)).copy_to_host()
    with pytest.raises(OverflowError, match=TEXT):
        lw.vectorize(lambda u, k: np.maximum(u, int(k)))(u, cuda.to_device(BAD)).copy_to_host()

    @cuda.jit
    def kernel(u, k):
        cuda.atomic.max(u, 0, int(k))

    kernel[1, 1](u, 3.0)
    cuda.synchronize()
    with pytest.raises(OverflowError, match=TEXT):
        kernel[1, 1](u, -3.0)
        cuda.synchronize()


# ---- where nothing can be negative, nothing is checked ----


def of_size(u, x, out):
    out[0] = u % x.size


def of_length(u, x, out):
    out[0] = u // len(x)


def of_shape(u, x, out):
    out[0] = u % x.shape[1]


def of_range(u, x, out):
    for i in range(len(x)):
        out[i] = np.maximum(u, i) % (i + 1)


@pytest.mark.parametrize("function, types", [
    (of_size, "uint64, float64[:], uint64[:]"),
    (of_length, "uint64, float64[:, :], uint64[:]"),
    (of_shape, "uint64, float64[:, :], uint64[:]"),
    (of_range, "uint64, float64[:], uint64[:]"),
    (lambda u, n: sum([u // (i + 1) for i in range(4)]), "uint64, float64"),
])
def test_no_check_of_what_is_never_negative(function, types):
    text = lw.compile(function, f"({types})", target="cpu", output="ir")
    assert "result i32" not in (text if isinstance(text, str) else text[0]).split("lw_body")[1].split("\nbody")[0]


def test_ignored_errors():
    assert lw.vectorize(lambda u, k: np.maximum(u, int(k)), errors="ignore")(np.uint64(7), -2.0) == 2**64 - 2

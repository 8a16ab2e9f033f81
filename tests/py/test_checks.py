"""check= of every generator, and the setting of this name, which turns checks on everywhere."""

from __future__ import annotations

import math

import numpy as np
import pytest

import lanewise as lw
from lanewise import cuda

EVERY = "divide,overflow,nan,bounds,race"


def quotient(x, y):
    return x // y


def beyond(x, out):
    out[0] = x[x.shape[0]]


def shifted(i, x, out):
    k = i + 1  # so that no call is refused before it runs
    out[i] = x[k]


def far(x):
    return x[4]


def launched(function, **options):
    kernel = cuda.jit(function, target="cpu", **options)
    return lambda *args: kernel[1, 1](*args)


def first_beyond(x, out):
    out[0] = x[cuda.grid(1) + 4]


FOURS = np.arange(4, dtype=np.int32)
MADE = {  # a call that breaks a rule, and what the check of it raises
    "vectorize": (lambda **options: lw.vectorize(quotient, **options), lambda: (FOURS, FOURS), ZeroDivisionError),
    "vectorize with signatures": (lambda **options: lw.vectorize(["i4(i4, i4)"], **options)(quotient), lambda: (FOURS, FOURS), ZeroDivisionError),
    "vectorize as numba": (lambda **options: lw.vectorize(quotient, typing="numba", **options), lambda: (FOURS, FOURS), ZeroDivisionError),
    "guvectorize": (lambda **options: lw.guvectorize("(n)->()", **options)(beyond), lambda: (FOURS,), IndexError),
    "forall": (lambda **options: lw.forall(**options)(shifted), lambda: (4, np.arange(4.0), np.zeros(4)), IndexError),
    "jit": (lambda **options: lw.jit(far, **options), lambda: (FOURS,), IndexError),
    "cuda.jit": (lambda **options: launched(first_beyond, **options), lambda: (FOURS, np.zeros(1, np.int32)), IndexError),
}


@pytest.mark.parametrize("name", MADE)
def test_check_of_every_generator(name):
    make, arguments, exception = MADE[name]
    with pytest.raises(exception, match="test_checks.py"):
        make(check=set(EVERY.split(",")))(*arguments())
    with pytest.raises(exception):
        make(debug=True)(*arguments())


@pytest.mark.parametrize("name", MADE)
def test_the_setting_counts_at_each_call(name):
    make, arguments, exception = MADE[name]
    compiled, waiting = make(), make()
    with np.errstate(all="ignore"):
        compiled(*arguments())
        for _ in range(2):
            for called in (compiled, waiting):
                with lw.config(check=EVERY):
                    with pytest.raises(exception, match="test_checks.py"):
                        called(*arguments())
                called(*arguments())
    with lw.config(check=EVERY):
        inside = make()
    inside(*arguments())


def test_checks_that_were_asked_for_stay():
    f = lw.vectorize(quotient, check={"divide"})
    with lw.config(check="overflow"):
        with pytest.raises(ZeroDivisionError):
            f(FOURS, FOURS)
    with pytest.raises(ZeroDivisionError):
        f(FOURS, FOURS)


def test_one_check_is_not_another():
    f = lw.vectorize(lambda x, y: x * y // y)
    with lw.config(check="overflow"):
        assert f(np.int32(3), np.int32(0)) == 0
        with pytest.raises(OverflowError, match="integer overflow .*test_checks.py"):
            f(np.int32(2**30), np.int32(4))
    with lw.config(check="divide"):
        assert f(np.int32(2**30), np.int32(4)) == 0
        with pytest.raises(ZeroDivisionError):
            f(np.int32(3), np.int32(0))


def test_a_function_of_numbers_has_no_races():
    assert lw.vectorize(quotient, check={"race"})(FOURS, FOURS + 1).tolist() == [0, 0, 0, 0]


def test_errors_ignore_drops_them_too():
    f = lw.vectorize(quotient, errors="ignore")
    with lw.config(check=EVERY), np.errstate(all="ignore"):
        assert f(FOURS, FOURS).tolist() == [0, 1, 1, 1]


def test_reductions():
    total = lw.reduce(lambda a, b: a + b)
    with lw.config(check=EVERY):
        assert total(np.arange(5)) == 10 and lw.reductions.mean(np.arange(5.0)) == 2
        with pytest.raises(OverflowError, match="integer overflow"):
            total(np.full(3, 2**62))


@pytest.mark.parametrize("value", [0, False, {"nan", "none"}, ["bound"], {3}, 3.5])
def test_checks_are_words(value):
    with pytest.raises(ValueError, match="lanewise.config.check must be checks, as a set or as a str with commas"):
        lw.config.check = value
    assert lw.config.check == ""


@pytest.mark.parametrize("value, text", [({"nan", "bounds"}, "nan,bounds"), (["divide"], "divide"), ((), ""), (frozenset({"race"}), "race")])
def test_checks_are_sets_as_those_of_decorators(value, text):
    with lw.config(check=value):
        assert lw.config.check == text
    assert lw.config.check == ""


@pytest.mark.parametrize("text", ["bound", "bounds overflow", "bounds,,nan", "all"])
def test_words_that_are_none(text):
    with pytest.raises(ValueError, match=f"lanewise.config.check must be checks, as a set or as a str with commas: divide, overflow, nan, bounds, race, not '{text}'"):
        lw.config.check = text
    with pytest.raises(ValueError, match="check= must be a set of divide overflow nan bounds race"):
        lw.vectorize(quotient, check={text})


# ---- what they find ----

@pytest.mark.parametrize("function, x, y", [(lambda x, y: x - y, math.inf, math.inf), (lambda x, y: x * y, math.inf, 0.0), (lambda x, y: x / y, 0.0, 0.0),
                                            (lambda x, y: x % y, 1.0, 0.0), (lambda x, y: x // y, math.inf, 1.0), (lambda x, y: math.sqrt(x) + y, -1.0, 0.0),
                                            (lambda x, y: math.log(x) + y, -1.0, 0.0), (lambda x, y: np.arcsin(x) + y, 2.0, 0.0), (lambda x, y: x ** y, -1.0, 0.5),
                                            (lambda x, y: np.fmod(x, y), 1.0, 0.0), (lambda x, y: divmod(x, y)[1], 1.0, 0.0), (lambda x, y: np.hypot(x - x, y), math.inf, 1.0),
                                            (lambda x, y: np.remainder(x, y), 1.0, 0.0), (lambda x, y: np.divide(x, y), 0.0, 0.0), (lambda x, y: np.subtract(x, y), math.inf, math.inf),
                                            (lambda x, y: np.floor_divide(x, y), 0.0, 0.0), (lambda x, y: np.power(x, y), -1.0, 0.5)])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_nan(function, x, y, dtype):
    f = lw.vectorize(function, check={"nan"})
    x, y = np.array([1, x], dtype), np.array([1, y], dtype)
    with np.errstate(all="ignore"):
        with pytest.raises(FloatingPointError, match="invalid value .*test_checks.py.*element 1"):
            f(x, y)
        assert np.isnan(f(np.array([math.nan], dtype), y[:1]))  # it was one before
        with lw.config(check="nan"), pytest.raises(FloatingPointError):
            lw.vectorize(function)(x, y)


@pytest.mark.parametrize("function", [lambda x, y: x / y, lambda x, y: x // y, lambda x, y: x % y, lambda x, y: divmod(x, y)[0], lambda x, y: np.floor_divide(x, y),
                                      lambda x, y: np.remainder(x, y), lambda x, y: np.fmod(x, y), lambda x, y: np.divide(x, y), lambda x, y: np.true_divide(x, y),
                                      lambda x, y: np.mod(x, y), lambda x, y: np.divmod(x, y)[1]])
@pytest.mark.parametrize("dtype", ["i1", "u1", "i4", "u4", "i8", "u8", "f4", "f8"])
def test_divide(function, dtype):
    f = lw.vectorize(function, check={"divide"})
    x, y = np.array([1, 1], dtype), np.array([1, 0], dtype)
    with pytest.raises(ZeroDivisionError, match="by zero .*test_checks.py.*element 1"):
        f(x, y)
    f(x, x)


def test_divide_complex():
    f = lw.vectorize(lambda x, y: x / y, check={"divide"})
    with pytest.raises(ZeroDivisionError):
        f(1j, 0j)
    assert f(1j, 1j) == 1


def test_divide_by_an_augmented_assignment():
    def halve(x, y):
        x /= y
        return x

    with pytest.raises(ZeroDivisionError):
        lw.vectorize(halve, check={"divide"})(1.0, 0.0)


@pytest.mark.parametrize("function", [lambda x, y: x - y, lambda x, y: x / y, lambda x, y: np.subtract(x, y), lambda x, y: np.cos(x) + y])
def test_nan_complex(function):
    f = lw.vectorize(function, check={"nan"})
    with np.errstate(all="ignore"):
        with pytest.raises(FloatingPointError):
            f(complex(math.inf, math.inf), complex(math.inf, math.inf))
        f(complex(math.nan, 1), 1j)
        f(1j, 1j)


def element_of(x, i):
    return x[i]


@pytest.mark.parametrize("i, shown", [(2000, 2000), (-7, -7), (np.uint64(2**63 + 5), 2**63 + 5), (np.int8(-6), -6)])
def test_an_index_outside_is_shown_with_the_size(i, shown):
    for x in (np.arange(5.0), np.arange(10.0)[::2]):
        with pytest.raises(IndexError, match=rf"^index {shown} is out of bounds for axis 0 with size 5 \(raised in `element_of` at"):
            lw.njit(element_of, check={"bounds"})(x, i)


def test_an_index_outside_names_axis_element_and_thread():
    def store(i, j, x):
        x[i, j + 3] = 1

    def at_thread(x):
        x[cuda.grid(1)] = 1

    def through(x, n):
        for i in lw.prange(n):
            element_of(x, i + 2)

    with pytest.raises(IndexError, match=r"index 3 is out of bounds for axis 1 with size 3 .*, element \(0, 0\)\)"):
        lw.forall(store, ndim=2, check={"bounds"})((2, 3), np.ones((2, 3)))
    with pytest.raises(IndexError, match=r"index 5 is out of bounds for axis 0 with size 5 .*, tid=\[1, 0, 0\] ctaid=\[1, 0, 0\]\)"):
        cuda.jit(at_thread, target="cpu", check={"bounds"})[2, 4](np.ones(5))
    with pytest.raises(IndexError, match="index 5 is out of bounds for axis 0 with size 5"):
        lw.njit(through, check={"bounds"})(np.ones(5), 4)


def test_the_axis_that_an_index_is_outside_of():
    f = lw.njit(lambda x, i, j: x[i, j], check={"bounds"})
    x = np.arange(12).reshape(3, 4)
    for view in (x, np.asfortranarray(x), x[:, ::-1]):
        for i in range(-5, 6):
            for j in range(-6, 7):
                if -3 <= i < 3 and -4 <= j < 4:
                    assert f(view, i, j) == view[i, j]
                    continue
                with pytest.raises(IndexError) as caught:
                    view[i, j]
                with pytest.raises(IndexError) as ours:
                    f(view, i, j)
                assert str(ours.value).startswith(str(caught.value) + " (raised in")


@pytest.mark.parametrize("function", [lambda x, n: x ** n, lambda x, n: np.power(x, n), lambda x, n: pow(x, n)])
def test_integers_to_negative_powers(function):
    """NumPy's ValueError with check="divide", for every pair of integer types; 0 without it. Floats are not affected."""
    says = "Integers to negative integer powers are not allowed."
    checked, plain = lw.jit(check="divide")(function), lw.jit(function)
    for x, n in [(2, -1), (np.int32(3), np.int32(-2)), (np.int8(3), np.int64(-2)), (0, -1)]:
        with pytest.raises(ValueError, match=says):
            checked(x, n)
        with pytest.raises(ValueError, match=says):
            lw.jit(error_model="python")(function)(x, n)
        assert plain(x, n) == 0
    for x, n in [(2, 3), (2.0, -1), (np.uint8(3), np.uint8(2)), (np.float32(2), np.int32(-2)), (2 + 0j, -1)]:
        assert checked(x, n) == plain(x, n) == function(x, n)
    with pytest.raises(ValueError, match=says + ".*element 1"):
        lw.vectorize(check="divide")(function)(np.array([1, 2]), np.array([1, -1]))
    with pytest.raises(ValueError, match=says):
        lw.jit(check="divide")(lambda x, n: x ** n)(np.array([1, 2]), np.array([1, -1]))

"""typing="numba": variables bound on some paths are zero, with a warning; integers wrap and floats are cut where numba's do."""

import math
import warnings

import numpy as np
import pytest

import lanewise as lw
from lanewise import cuda, errors


def in_if(x):
    if x > 1:
        y = x * 2
    return y


def in_else(x):
    if x > 1:
        z = x
    else:
        y = x + 1
    return y


def loop_variable(x):
    for i in range(int(x)):
        pass
    return i * 1.0


def in_loop(x):
    while x > 1:
        last = x
        x -= 1
    return last


def constant(x):
    if x > 1:
        y = 5
    return y + x


def truth(x):
    if x > 1:
        found = True
    return 1.0 if found else 2.0


def narrow(x):
    if x > 1:
        y = np.int8(3)
    return y


def carried(x):
    total = 0.0
    for i in range(3):
        if i > 0:
            total += before
        before = i * x
    return total


def counted(x):
    for i in range(4):
        if i < x:
            n = i + 1
    n += 10
    return n * 1.0


def nested(x):
    if x > 0:
        if x > 1:
            a, b = x, 2 * x
    return a + b


def imaginary(x):
    if x > 1:
        y = x * 1j
    return y


def helper(x):
    return in_if(x) + in_if(x - 1) + constant(x)


# function, values for 0.0, 1.0, 2.0, 3.0
CASES = [
    (in_if, [0, 0, 4, 6]), (in_else, [1, 2, 0, 0]), (loop_variable, [0, 0, 1, 2]), (in_loop, [0, 0, 2, 2]), (constant, [0, 1, 7, 8]),
    (truth, [2, 2, 1, 1]), (narrow, [0, 0, 3, 3]), (carried, [0, 1, 2, 3]), (counted, [10, 11, 12, 13]), (nested, [0, 0, 6, 9]),
    (imaginary, [0, 0, 2j, 3j]), (helper, [0, 1, 11, 18]),
]
X = np.arange(4.0)
IDS = [case[0].__name__ for case in CASES]


@pytest.mark.parametrize("function, wanted", CASES, ids=IDS)
def test_zero_where_nothing_is_bound(function, wanted):
    f = lw.vectorize(function, typing="numba")
    with pytest.warns(RuntimeWarning, match=r"W205: variable `\w+` may have no value at line \d+ of .*test_numba_typing.py, and is zero"):
        got = f(X)
    assert got.tolist() == wanted
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert f(X).tolist() == wanted  # told once
        assert lw.vectorize(function, typing="numba", warn=False)(X).tolist() == wanted
    if function is carried:  # which assigns the variable in time
        assert lw.vectorize(function)(X).tolist() == wanted
    else:
        with pytest.raises(UnboundLocalError, match="cannot access local variable"):
            lw.vectorize(function)(X)


@pytest.mark.filterwarnings("ignore:W205")
@pytest.mark.parametrize("function, wanted", CASES, ids=IDS)
def test_in_every_generator(function, wanted):
    def fill(x, out):
        for i in range(x.shape[0]):
            out[i] = function(x[i])

    def one(i, x, out):
        out[i] = function(x[i])

    def thread(x, out):
        i = cuda.grid(1)
        if i < x.shape[0]:
            out[i] = function(x[i])

    out = np.zeros(4, complex if function is imaginary else float)
    for run in (lambda: lw.guvectorize("(n)->(n)", typing="numba")(fill)(X, out), lambda: lw.forall(one, typing="numba")(4, X, out),
                lambda: lw.jit(fill, typing="numba")(X, out), lambda: simulated(thread, out)):
        out[:] = -1
        run()
        assert out.tolist() == wanted
    assert lw.reduce(lambda a, b: a + b, map=function, typing="numba")(X) == sum(wanted)


def simulated(thread, out):
    with lw.config(target="cpu"):
        cuda.jit(thread, typing="numba")[1, 4](X, out)


@pytest.mark.filterwarnings("ignore:W205")
@pytest.mark.parametrize("target", ["sm_75", "sm_90", "sm_120"])
def test_for_gpus(target):
    for function, _ in CASES:
        if function is not imaginary:
            assert len(lw.compile(lw.vectorize(function, typing="numba"), "float64(float64)", target=target, output="cubin")) > 500


def test_types_are_those_of_the_assignments():
    with pytest.warns(RuntimeWarning, match="W205"):
        assert lw.vectorize(narrow, typing="numba")(X).dtype == np.int8
    with pytest.warns(RuntimeWarning, match="W205"):
        assert lw.vectorize(constant, typing="numba")(np.arange(4)).dtype == np.int64


def never(x):
    y = z + x
    z = x
    return y


def tuple_on_one_path(x):
    if x > 1:
        t = (x, 2.0)
    return t[0]


def array_on_one_path(x):
    if x > 1:
        t = np.zeros(3)
    return t[0]


def function_on_one_path(x):
    if x > 1:
        f = np.sin
    return f(x)


def tuple_after_number(x):
    for i in range(4):
        if i > x:
            return t[0]
        if i > 0:
            t = (x, i)
    return 0.0


@pytest.mark.parametrize("function", [tuple_on_one_path, array_on_one_path, tuple_after_number])
def test_what_no_zero_stands_for_raises(function):
    f = lw.jit(function, typing="numba")
    assert f(2.0) == function(2.0)
    with pytest.raises(UnboundLocalError, match="cannot access local variable 't'"):
        f(0.0)


@pytest.mark.parametrize("function", [never, function_on_one_path])
def test_what_cannot_be_asked_for_its_value_stays_an_error(function):
    with pytest.raises(errors.TypingError, match="E110"):
        lw.vectorize(function, typing="numba")(X)


# ---- integers that wrap, floats that are cut ----


def test_literals_wrap_in_conversions():
    x = np.arange(3, dtype="u1")
    assert lw.vectorize(lambda x: np.uint8(300) + x, typing="numba")(x).tolist() == [44, 45, 46]
    assert lw.vectorize(lambda x: np.int8(200) + x, typing="numba")(x).tolist() == [-56, -55, -54]
    assert lw.vectorize("u1(u1)", typing="numba")(lambda x: x + 300)(x).tolist() == [44, 45, 46]


def store(x, out):
    for i in range(x.shape[0]):
        out[i] = x[i]


def store_large(x, out):
    for i in range(x.shape[0]):
        out[i] = 300 + i


def test_stores_cut_and_wrap():
    assert lw.guvectorize("f8[:], i4[:]", "(n)->(n)", typing="numba")(store)(np.array([1.7, -2.5])).tolist() == [1, -2]
    assert lw.guvectorize("f8[:], i1[:]", "(n)->(n)", typing="numba")(store_large)(np.zeros(3)).tolist() == [44, 45, 46]
    out = np.zeros(2, "i4")
    lw.jit(store, typing="numba")(np.array([1.7, -2.5]), out)
    assert out.tolist() == [1, -2]


@pytest.mark.parametrize("typing", ["weak", "numba"])
def test_signatures_of_device_functions(typing):
    double = lw.jit("int32(int32)", device=True)(lambda x: x * 2)
    assert lw.vectorize(lambda x: double(x), typing=typing)(np.array([2**33 + 5])).tolist() == [10]  # integers wrap in both
    half = lw.jit("int8(float64)", device=True)(lambda x: x / 2)
    if typing == "numba":
        assert lw.vectorize(lambda x: double(x), typing=typing)(np.array([1.7, -2.5])).tolist() == [2, -4]
        assert lw.vectorize(lambda x: half(x), typing=typing)(np.array([5.0, -5.0])).tolist() == [2, -2]
    else:
        for function in (double, half):
            with pytest.raises(errors.TypingError, match="E142"):
                lw.vectorize(lambda x: function(x), typing=typing)(X)
    with pytest.raises(errors.TypingError, match="E142"):
        lw.vectorize(lambda x: half(x), typing=typing)(X * 1j)


def test_outputs_that_are_never_written():
    def never(x, out):
        pass

    with pytest.warns(RuntimeWarning, match=r"W207: output `out` of `never`, line \d+ of .*test_numba_typing.py, is never written"):
        f = lw.guvectorize(["void(f8[:], f8[:])"], "(n)->(n)", typing="numba")(never)
    out = np.arange(3.0)
    assert f(np.ones(3), out) is out and out.tolist() == [0, 1, 2]
    with pytest.warns(RuntimeWarning, match="W207"):
        assert lw.guvectorize("(n)->(n)", typing="numba")(never)(np.ones(3), out) is out
    with pytest.raises(lw.errors.TypingError, match="E185"):
        lw.guvectorize(["void(f8[:], f8[:])"], "(n)->(n)")(never)


# ---- whole arrays: NumPy's loops, in which an integer beside a float becomes one of its type (seen of numba 0.68.1) ----


def numbas_dtype(x, y):
    for one, other in ((x, y), (y, x)):
        if np.dtype(one).kind in "fc" and np.dtype(other).kind in "iu":
            return np.dtype(one)
    return np.promote_types(x, y)


@pytest.mark.parametrize("x", ["int8", "uint8", "uint16", "int32", "uint64", "int64", "float32", "complex64"])
def test_whole_arrays(x):
    add, literal, half, shift = (lw.njit(f, typing="numba") for f in (lambda a, b: a + b, lambda a: a * 3, lambda a: a // 2, lambda a: a << 1))
    a = np.array([3, 2], x)
    for y in ("int8", "uint16", "int32", "uint64", "int64", "float32", "float64"):
        for b in (np.array([1, 2], y), np.dtype(y).type(2)):
            got = add(a, b)
            assert got.dtype == numbas_dtype(x, y) and got.tolist() == (a + b).tolist()
    assert literal(a).dtype == numbas_dtype(x, "int64") and literal(a).tolist() == [9, 6]
    if x != "complex64":
        assert half(a).dtype == numbas_dtype(x, "int64")
    if np.dtype(x).kind in "iu" and x != "uint64":
        assert shift(a).dtype == "int64" and shift(a).tolist() == [6, 4]


@pytest.mark.parametrize("x", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"])
def test_unary_operators(x):
    for f in (lambda a: -a, lambda a: ~a):
        compiled = lw.njit(f, typing="numba")
        a = np.array([1, 0, 7], x)
        assert compiled(a).dtype == x and np.array_equal(compiled(a), f(a))
        wanted = int(f(a)[0]) if x.startswith("u") else int(f(a.astype("i8"))[0])  # unsigned integers keep their width, the others are int64
        assert compiled(a[0]) == wanted
    flipped = lw.njit(lambda a: ~a, typing="numba")
    assert flipped(True) is False and flipped(np.array([True, False])).tolist() == [False, True]


def test_instances_of_pythons_classes():
    f = lw.njit(lambda x: (isinstance(x, int), isinstance(x, float), isinstance(x, complex), isinstance(x, bool)), typing="numba")
    for value, wanted in ((np.int8(1), 0), (np.uint64(1), 0), (np.int64(1), 1), (2, 1), (np.float32(1), 0), (1.5, 2), (np.complex64(1), 0), (1j, 4), (True, 8)):
        assert sum(bool(one) << k for k, one in enumerate(f(value))) == wanted


# The dtypes that numba 0.68.1 gives for one operand of these dtypes; "-": it refuses it.
OPERANDS = "? i1 u1 i2 u2 i4 u4 i8 u8 f4 f8 c8 c16".split()
CALLS = [
    (lambda x: np.add(x, 1), "i8 i8 i8 i8 i8 i8 i8 i8 f8 f4 f8 c8 c16"),
    (lambda x: np.divide(x, 2), "f8 f8 f8 f8 f8 f8 f8 f8 f8 f4 f8 c8 c16"),
    (lambda x: np.floor_divide(x, 2), "i8 i8 i8 i8 i8 i8 i8 i8 f8 f4 f8 - -"),
    (lambda x: np.mod(x, 2), "i8 i8 i8 i8 i8 i8 i8 i8 f8 f4 f8 - -"),
    (lambda x: np.power(x, 2), "i8 i8 i8 i8 i8 i8 i8 i8 f8 f4 f8 c8 c16"),
    (lambda x: np.maximum(x, 1), "i8 i8 i8 i8 i8 i8 i8 i8 f8 f4 f8 c8 c16"),
    (lambda x: np.hypot(x, 1), "f8 f8 f8 f8 f8 f8 f8 f8 f8 f4 f8 - -"),
    (lambda x: np.minimum(x, x), "b1 i1 u1 i2 u2 i4 u4 i8 u8 f4 f8 c8 c16"),
    (lambda x: np.arctan2(x, x), "f4 f4 f4 f4 f4 f8 f8 f8 f8 f4 f8 - -"),
    (lambda x: np.clip(x, 0, 2), "- i1 u1 i2 u2 i4 u4 i8 u8 f4 f8 - -"),
    (lambda x: np.sqrt(x), "f4 f4 f4 f4 f4 f8 f8 f8 f8 f4 f8 c8 c16"),
    (lambda x: np.where(x > 1, x, 0), "i8 i8 i8 i8 i8 i8 i8 i8 f8 f8 f8 - -"),
    (lambda x: np.fmod(x, x), "i1 i1 u1 i2 u2 i4 u4 i8 u8 f4 f8 - -"),
    (lambda x: np.square(x), "i1 i1 u1 i2 u2 i4 u4 i8 u8 f4 f8 c8 c16"),
    (lambda x: x + 1, "i8 i8 i8 i8 i8 i8 i8 i8 f8 f4 f8 c8 c16"),
    (lambda x: x**2, "i8 i8 i8 i8 i8 i8 i8 i8 f8 f4 f8 c8 c16"),
]


@pytest.mark.parametrize("function, dtypes", CALLS)
def test_ufuncs_of_whole_arrays_have_numbas_dtypes(function, dtypes):
    for operand, dtype in zip(OPERANDS, dtypes.split()):
        if dtype == "-":
            continue
        x = np.array([1, 2, 3]).astype(operand)
        got = lw.njit(function, typing="numba")(x)
        assert got.dtype.str[1:] == dtype, operand
        np.testing.assert_allclose(got, function(x).astype(got.dtype), rtol=1e-3 if operand in ("?", "i1", "u1") else 1e-6)


def test_complex64_beside_integers():
    power, add, square = lambda a, b: a ** b, lambda a, b: a + b, lambda a: a ** 2
    z = np.array([1.3 - 0.7j], "c8")
    for kind, wide, powers in (("int8", False, False), ("uint16", True, True), ("int32", True, True), ("uint64", True, True)):
        one = np.array([3], kind)
        assert lw.vectorize(add, typing="numba")(z, one).dtype == lw.vectorize(add, typing="numba")(one, z).dtype == ("c16" if wide else "c8")
        got = lw.vectorize(power, typing="numba")(z, one)
        assert got.dtype == ("c16" if powers else "c8")
        np.testing.assert_allclose(got, z.astype("c16") ** 3, rtol=1e-14 if powers else 1e-6)
    assert lw.njit(square, typing="numba")(z[0]) == complex(z[0]) ** 2  # an int literal is an int64, and the power complex128
    assert lw.njit(square, typing="numba")(z).dtype == "c8"  # elements of whole arrays follow NumPy
    assert lw.vectorize(square)(z).dtype == lw.vectorize(add)(z, np.array([3], "u2")).dtype == "c8"


BIG = np.uint64(2**63 + 3)
# What numba 0.68.1 gives; the operators, which compute these pairs in int64, are in CASES.
OF_UINT64 = [
    (lambda u: int(u), 2**63 + 3), (lambda u: -int(u), 2**63 - 3), (lambda u: int(u) // 2, -(2**62) + 1), (lambda u: math.floor(u), 2**63 + 3), (lambda u: math.ceil(u), 2**63 + 3),
    (lambda u: math.trunc(u), 2**63 + 3), (lambda u: divmod(u, 3), (3074457345618258432.0, 2.0)), (lambda u: divmod(3, u), (0.0, 3.0)), (lambda u: divmod(u, True), (2**63 + 3, 0)),
    (lambda u: np.add(u, 1), 2.0**63), (lambda u: np.subtract(3, u), -(2.0**63)), (lambda u: np.multiply(u, np.int8(-1)), -(2.0**63)), (lambda u: np.floor_divide(u, 2), 2.0**62),
    (lambda u: np.remainder(u, 3), 2.0), (lambda u: np.maximum(u, -7), 2.0**63), (lambda u: np.minimum(u, np.int32(3)), 3.0), (lambda u: np.power(u, 2), 2.0**126), (lambda u: np.fmod(u, 3), 2.0),
    (lambda u: np.add(u, True), 2**63 + 4), (lambda u: np.maximum(False, u), 2**63 + 3), (lambda u: np.add(u, np.uint8(1)), 2**63 + 4), (lambda u: min(u, 3), 3.0), (lambda u: round(u), 2**63 + 3),
    (lambda u: round(u, 1), 2.0**63),
]


@pytest.mark.parametrize("function, wanted", OF_UINT64)
def test_uint64_beside_signed_integers(function, wanted):
    got = lw.njit(function, typing="numba")(BIG)
    assert got == wanted and [type(x) for x in (got if isinstance(got, tuple) else (got,))] == [type(x) for x in (wanted if isinstance(wanted, tuple) else (wanted,))]
    if not isinstance(wanted, tuple):
        assert lw.vectorize(function, typing="numba")(np.array([BIG])).tolist() == [wanted]


@pytest.mark.parametrize("dtype", ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"])
def test_conversions_of_integers_keep_their_types(dtype):
    least = np.array(np.iinfo(dtype).min or 1, dtype)[()]
    for function in (lambda x: int(x), lambda x: -x, lambda x: -int(x), lambda x: +x):
        got = lw.vectorize(function, typing="numba")(np.array([least]))
        assert got.dtype == dtype and got[0] == (least if function(5) == 5 or dtype.startswith("i") else np.iinfo(dtype).max)
    assert lw.njit(lambda x: round(x, 1), typing="numba")(least) == float(least) and isinstance(lw.njit(lambda x: round(x, 1), typing="numba")(least), float)

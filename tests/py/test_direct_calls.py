"""Calls of ufuncs on host arrays of a loop's dtypes, contiguous or of few elements, which do not go through NumPy once NumPy has run the loop (ufunc/ufunc_direct_py.c)."""

import threading
import warnings

import numpy as np
import pytest
from direct_checks import check, n_direct

import lanewise as lw


@pytest.fixture
def scaled():
    """A ufunc whose loops for float32, float64 and int64 NumPy has already run."""
    f = lw.vectorize(lambda x, y: x * 3 + y)
    for dtype in ("f4", "f8", "i8"):
        f(np.ones(3, dtype), np.ones(3, dtype))
    return f


@pytest.mark.parametrize("dtype", ["f4", "f8", "i8"])
@pytest.mark.parametrize("shape", [(1,), (7,), (1, 5), (3, 4), (2, 3, 4), (1000,)])
def test_new_results(scaled, dtype, shape):
    x = np.arange(np.prod(shape), dtype=dtype).reshape(shape)
    result = check(scaled, x, x)
    assert type(result) is np.ndarray and result.dtype == dtype and result.shape == shape
    assert result.flags.c_contiguous and result.flags.owndata and result.base is None
    np.testing.assert_array_equal(result, x * 4)


def test_numbers_beside_arrays(scaled):
    x = np.arange(4.0)
    for number in (2.5, -3, float("nan"), 2**53):
        check(scaled, x, number)
        check(scaled, number, x)
    for number in (True, 2**53 + 1, 1j, np.float64(2)):
        check(scaled, x, number, direct=False)
    np.testing.assert_array_equal(scaled(x, 2.5), x * 3 + 2.5)
    np.testing.assert_array_equal(scaled(2, x), 6 + x)
    narrow = x.astype("f4")
    check(scaled, narrow, 0.1)
    check(scaled, narrow, 3, direct=False)
    check(scaled, narrow, 1e300, direct=False)
    assert scaled(narrow, 0.1).dtype == np.float32
    np.testing.assert_array_equal(scaled(narrow, 0.1), narrow * 3 + np.float32(0.1))
    whole = np.arange(4)
    assert scaled(whole, 7).dtype == np.int64 and scaled(whole, 7)[3] == 16
    assert scaled(whole, 0.5).dtype == np.float64 and scaled(whole, True).dtype == np.int64
    assert scaled(x, 2**53 + 1)[0] == float(2**53 + 1)
    with pytest.raises(OverflowError):
        scaled(whole, 2**70)
    with pytest.warns(RuntimeWarning, match="overflow"):
        assert scaled(narrow, 1e300)[0] == np.inf


@pytest.mark.parametrize("masked", [False, True])
def test_a_number_chooses_the_signature_that_it_always_does(masked):
    f = lw.vectorize(["f8(f8,i8)", "f8(f8,f8)", "f8(f8,f4)"])(lambda x, n: x + n * 4611686018427387904 * 4)
    x, out, where = np.ones(100), np.zeros(100), np.ones(100, bool)

    def call(n):
        return f(x, n, out=out, where=where).copy() if masked else f(x, n)

    first = call(3)
    whole = f(x, np.array([3] * 100))
    for other in ("f8", "i8", "f4"):
        call(np.full(100, 3, other))
        np.testing.assert_array_equal(call(3), first)
    np.testing.assert_array_equal(first, whole)
    np.testing.assert_array_equal(call(3.1), call(np.full(100, 3.1, "f4")))


@pytest.mark.parametrize("by", ["keyword", "tuple", "position"])
def test_outputs(scaled, by):
    def call(x, y, out):
        return scaled(x, y, out) if by == "position" else scaled(x, y, out=out if by == "keyword" else (out,))

    x = np.arange(6.0)
    out = np.full(6, -1.0)
    assert call(x, x, out) is out and out[5] == 20
    assert n_direct(lambda: call(x, x, out)) == 1 and n_direct(lambda: call(x, 2.5, out)) == 1
    assert n_direct(lambda: call(x, x, x)) == 1 and x[5] == 20  # in place
    memory = np.arange(8.0)
    assert n_direct(lambda: call(memory[:6], memory[:6], memory[2:])) == 0  # overlaps: as if the inputs had been copied
    np.testing.assert_array_equal(memory, [0, 1, 0, 4, 8, 12, 16, 20])
    other = np.zeros(6, "f4")
    assert n_direct(lambda: call(np.arange(6.0), 1.0, other)) == 0 and other[5] == 16  # a cast of the same kind
    wide = np.zeros((2, 6))
    assert n_direct(lambda: call(np.arange(6.0), 1.0, wide)) == 0 and wide[1, 5] == 16  # broadcast
    swapped = np.zeros(6, ">f8")
    assert n_direct(lambda: call(np.arange(6.0), 1.0, swapped)) == 0 and swapped[5] == 16
    assert scaled(x, x, out=None).shape == (6,)
    fixed = np.zeros(6)
    fixed.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        call(x, x, fixed)
    with pytest.raises(TypeError, match="cast"):
        call(x, x, np.zeros(6, "i8"))
    with pytest.raises(ValueError):
        call(x, x, np.zeros(5))
    with pytest.raises(TypeError):
        call(x, x, [0.0] * 6)


def test_layouts_that_are_numpys(scaled):
    x = np.arange(12.0).reshape(3, 4)
    assert scaled(np.asfortranarray(x), np.asfortranarray(x)).flags.f_contiguous
    for given in ((np.asfortranarray(x),) * 2, (x[::-1], x), (x.T, x.T), (x.astype(">f8"), x), (np.zeros(0),) * 2, (np.array(2.0),) * 2, (x.tolist(), x)):
        assert n_direct(lambda: scaled(*given)) == 0
    np.testing.assert_array_equal(scaled(x[:, ::2], x[:, ::2]), x[:, ::2] * 4)
    np.testing.assert_array_equal(scaled(x, x[0]), x * 3 + x[0])
    unaligned = np.frombuffer(b"\0" + x.tobytes(), "u1")[1:].view("f8").reshape(3, 4)
    np.testing.assert_array_equal(scaled(unaligned, unaligned), x * 4)
    np.testing.assert_array_equal(scaled(x.astype(">f8"), x), x * 4)
    assert scaled(np.zeros(0), np.zeros(0)).shape == (0,)
    number = scaled(np.array(2.0), np.array(3.0))
    assert isinstance(number, np.float64) and number == 9


ROWS = np.arange(4 * 5 * 6 * 7, dtype="f8").reshape(4, 5, 6, 7)
OTHERS = [
    (ROWS[:, 1:, ::2], ROWS[:, :-1, 1::2]), (ROWS[0, 0], ROWS[0, 0, 0]), (ROWS[0, 0, :, :1], ROWS[0, 0, 0]), (ROWS[0, 0, 0], ROWS[1, 1, :, :1]), (ROWS[:3], ROWS[0, 0, 0]),
    (ROWS[:, 0, 0, 0], ROWS[:, 1, 1, 1]), (ROWS[0, 0], ROWS[0, :, 0, :1].T[:, :1]), (ROWS[0, 0, :6, :6], ROWS[0, 0, :6, :6].T), (ROWS[0, 0, :1, :], ROWS[0]),
    (ROWS[..., 3], ROWS[0, 0, :, 1]), (ROWS[1:2, :, :, :], ROWS[:, 2:3, 1:2, 3:4]), (ROWS[:1, :1, :1, :1], ROWS[0, 0]),
]


@pytest.mark.parametrize("i", range(len(OTHERS)))
def test_few_elements_of_any_layout(scaled, i):
    x, y = OTHERS[i]
    result = check(scaled, x, y)
    np.testing.assert_array_equal(result, x * 3 + y)
    out = np.zeros((*result.shape[:-1], 2 * result.shape[-1]))[..., ::2]
    check(scaled, x, y, out)
    check(scaled, x, 2.5, out=np.zeros(x.shape))
    inside = np.zeros((2, *result.shape))[1]
    inside[...] = 7
    check(scaled, inside, y, out=inside)  # it is one of the inputs
    assert scaled(x, y, out=out) is out


def test_layouts_as_they_come(scaled):
    """Results and outputs are those of NumPy's call for operands of any strides; most calls whose result is in C order do not go through NumPy."""
    random, direct = np.random.default_rng(5), 0
    memory = np.arange(4096.0)

    def drawn(shape):
        strides, at = [0] * len(shape), 1
        for d in random.permutation(len(shape)) if random.random() < 0.4 else range(len(shape) - 1, -1, -1):
            strides[d] = 8 * at * (-1 if random.random() < 0.1 else 0 if random.random() < 0.1 else 1)
            at = (at + int(random.integers(0, 2))) * shape[d]
        return np.lib.stride_tricks.as_strided(memory[2048:], shape, strides)

    for _ in range(400):
        shape = random.integers(1, 5, random.integers(1, 6))
        operands = [drawn(np.where(random.random(len(shape)) < 0.2, 1, shape)[random.integers(0, len(shape)) if random.random() < 0.3 else 0:]) for _ in range(2)]
        before = lw._core._direct_calls()
        found = scaled(*operands)
        direct += lw._core._direct_calls() - before
        wanted = scaled(*operands, casting="same_kind")
        assert found.dtype == wanted.dtype and found.shape == wanted.shape and (found == wanted).all()
        assert [s for s, n in zip(found.strides, found.shape) if n > 1] == [s for s, n in zip(wanted.strides, wanted.shape) if n > 1]
        where = memory[int(random.integers(0, 2048)):][: found.size].reshape(found.shape)
        kept = memory.copy()
        scaled(*operands, out=where)
        after, memory[:] = memory.copy(), kept
        scaled(*operands, out=where, casting="same_kind")
        assert (memory == after).all()
        memory[:] = kept
    assert direct > 150


def test_rows_that_are_long_are_numpys_or_go_over_threads(scaled):
    x, y = np.zeros((100, 200))[:, :100], np.zeros((100, 200))[:, ::2]
    assert n_direct(lambda: scaled(x, x)) == n_direct(lambda: scaled(y[:50], y[0])) == 0
    assert n_direct(lambda: scaled(x[:50], x[0])) == n_direct(lambda: scaled(y[:8], y[0])) == 1


def test_many_rows_are_copied_together_or_numpys(scaled):
    @lw.vectorize
    def checked(x, y):
        if x < 0:
            raise ValueError("negative")
        return x + y

    x = np.zeros((97, 10))
    assert n_direct(lambda: scaled(x, x[0])) == n_direct(lambda: scaled(x, x[:, :1])) == n_direct(lambda: scaled(x, x.T.copy().T)) == 1
    checked(x[0], x[0])
    assert n_direct(lambda: checked(x, x[0])) == n_direct(lambda: checked(x, x[:, :1])) == 0
    assert n_direct(lambda: checked(x[:96], x[0])) == n_direct(lambda: checked(x[:96], x[:96, :1])) == 1
    wide, one = np.zeros((97, 20))[:, :10], x.copy()
    assert n_direct(lambda: checked(x, one, wide)) == 0 and n_direct(lambda: checked(x[:96], one[:96], wide[:96])) == 1
    assert n_direct(lambda: checked(x[:, ::2], x[:, ::2])) == 1  # rows that continue each other are one


@pytest.mark.parametrize("dtype", ["i1", "i2", "f4", "f8", "c16"])
def test_transposed_rows(dtype):
    """Rows of any length, transposed or with steps, are written to outputs of any layout."""
    random, add = np.random.default_rng(7), lw.ufuncs.add
    memory = np.arange(60000).astype(dtype)
    for _ in range(60):
        n, m = (int(k) for k in random.integers(1, 90, 2))
        across, along = memory[: n * m].reshape(m, n).T, memory[7 : 7 + n * m].reshape(n, m)
        stepped, column = memory[: 2 * n * m].reshape(n, 2 * m)[:, ::2], memory[:n].reshape(n, 1)
        for given in ((across, along), (across, across), (along, stepped), (across, column), (stepped, along[0]), (across, stepped)):
            wanted = np.add(*given)
            np.testing.assert_array_equal(add(*given), wanted)
            room = np.zeros((n, 2 * m + 3), dtype)
            for out in (room[:, : m], room[:, 1 : 2 * m + 1 : 2], np.zeros((m, n), dtype).T):
                add(*given, out=out)
                np.testing.assert_array_equal(out, wanted)
            assert not room[:, 2 * m + 1 :].any()
        same = across.copy("F")
        add(same, along, out=same)
        np.testing.assert_array_equal(same, across + along)


def test_an_element_of_rows_that_raises_is_named():
    @lw.vectorize
    def root(x, y):
        if x + y < 0:
            raise ValueError("negative")
        return x + y

    root(np.ones(2), np.ones(2))
    x, y = np.arange(20.0).reshape(4, 5), np.zeros((4, 1))
    y[2] = -11
    for given in ((x, y), (x[:, ::2], y), (x, y, np.zeros((4, 10))[:, ::2])):
        with pytest.raises(ValueError, match="element 10" if given[0] is x else "element 6"):
            assert n_direct(lambda: root(*given)) == 1
    x[...] = 12
    assert n_direct(lambda: root(x, y)) == 1  # the one that failed has left nothing behind


def test_subclasses_are_numpys(scaled):
    class Own(np.ndarray):
        pass

    assert type(scaled(np.arange(3.0).view(Own), np.arange(3.0))) is Own
    assert n_direct(lambda: scaled(np.arange(3.0).view(Own), np.arange(3.0))) == 0
    out = np.zeros(3).view(Own)
    assert scaled(np.arange(3.0), np.arange(3.0), out=out) is out
    assert isinstance(scaled(np.ma.array([1.0, 2.0], mask=[0, 1]), np.ones(2)), np.ma.MaskedArray)


def test_mixed_dtypes_and_other_keywords(scaled):
    x = np.arange(3.0)
    assert scaled(x, np.arange(3)).dtype == np.float64
    assert scaled(x, x, dtype="f4", casting="same_kind").dtype == np.float32
    assert scaled(x, x, where=np.array([True, False, True]), out=np.full(3, 9.0))[1] == 9
    with pytest.raises(TypeError):
        scaled(x)
    with pytest.raises(TypeError):
        scaled(x, x, x, x)


def test_flags_are_numpys():
    quotient = lw.vectorize(lambda x, y: x / y)
    one, zero = np.ones(5), np.zeros(5)
    quotient(one, one)
    check(quotient, one, zero)
    check(quotient, zero, zero)
    check(quotient, one, one)
    with np.errstate(all="raise"):
        assert isinstance(check(quotient, one, zero), FloatingPointError)
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        assert quotient(one, zero)[0] == np.inf
    with pytest.warns(RuntimeWarning, match="invalid"):
        assert np.isnan(quotient(zero, zero)[0])
    with np.errstate(all="raise"), pytest.raises(FloatingPointError):
        quotient(one, zero)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("error")
        quotient(one, zero)
        quotient(one, one)


def test_flags_name_the_function_as_numpy_does():
    def add(x, y):
        return x / y

    f = lw.vectorize(add)
    f(np.ones(3), np.ones(3))
    check(f, np.ones(3), np.zeros(3))


def test_exceptions_of_elements():
    def half(x):
        if x < 0:
            raise ValueError("negative")
        return x / 2

    f = lw.vectorize(half)
    x = np.arange(6.0).reshape(2, 3)
    f(x)
    f(x)
    x[1, 1] = -1
    check(f, x)
    with pytest.raises(ValueError, match="negative"):
        f(x)
    out = np.zeros((2, 3))
    with pytest.raises(ValueError, match="negative"):
        f(x, out=out)
    x[1, 1] = 4
    assert f(x)[1, 1] == 2


@pytest.mark.parametrize("name", ["add", "subtract", "less", "sqrt", "logical_not", "bitwise_and", "true_divide", "isnan"])
def test_functions_of_numpy(name):
    ours, theirs = getattr(lw.ufuncs, name), getattr(np, name)
    for dtype in "?bBhHiIlLqQefdFD":
        x, y = np.arange(1, 6).astype(dtype), np.arange(2, 7).astype(dtype)
        args = (x, y)[: theirs.nin]
        for _ in range(2):  # through NumPy, and then directly
            try:
                wanted = theirs(*args)
            except TypeError:
                with pytest.raises(TypeError):
                    ours(*args)
            else:
                result = ours(*args)
                assert n_direct(lambda: ours(*args)) == 1 or ours.nout > 1
                assert result.dtype == wanted.dtype, dtype
                np.testing.assert_allclose(result, wanted, rtol=1e-3 if dtype == "e" else 1e-6)


def test_a_parameter_with_a_default_is_no_output():
    f = lw.vectorize(lambda x, y=2.0: x + y)
    x = np.arange(3.0)
    for _ in range(3):
        np.testing.assert_array_equal(f(x), x + 2)
        np.testing.assert_array_equal(f(x, np.full(3, 5.0)), x + 5)
        np.testing.assert_array_equal(x, np.arange(3.0))


offset = 1.0


def test_a_captured_value_that_changes():
    global offset
    f = lw.vectorize(lambda x: x + offset)
    x = np.arange(3.0)
    for value in (1.0, 1.0, 2.0, 3.0, 4.0, 5.0):
        offset = value
        np.testing.assert_array_equal(f(x), x + value)
        np.testing.assert_array_equal(f(x), x + value)
    assert n_direct(lambda: f(x)) == 1


def test_ints_that_the_body_needs():
    shifted = lw.vectorize(lambda x, n: x * (1 << n))
    x = np.arange(4.0)
    for _ in range(3):
        np.testing.assert_array_equal(shifted(x, 3), x * 8)


def test_threads(scaled):
    x = np.arange(5000.0)
    wrong = []

    def work(k):
        for _ in range(200):
            if scaled(x, float(k))[4999] != 4999 * 3 + k:
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def test_calls_do_not_keep_their_arrays(scaled):
    import sys

    x, out = np.arange(5.0), np.zeros(5)
    counts = sys.getrefcount(x), sys.getrefcount(out)
    for _ in range(50):
        scaled(x, x)
        scaled(x, 2.5, out=out)
    assert (sys.getrefcount(x), sys.getrefcount(out)) == counts

"""Array expressions that are stored: `out[:] = x / x.mean()`, `out += x`, rows of numbers, unpacked rows. Each is NumPy's."""

from __future__ import annotations

import numpy as np
import pytest

import lanewise as lw
from lanewise import cuda, errors

TABLE = np.arange(1.0, 5.0)


def run(kernel, *args, **options):
    cuda.jit(kernel, target="cpu", **options)[1, 1](*args)


def check(kernel, *args, rtol=1e-13):
    """Compare the kernel with the same function, run by Python and NumPy."""
    mine, theirs = [np.copy(a) for a in args], [np.copy(a) for a in args]
    run(kernel, *mine)
    with np.errstate(all="ignore"):
        kernel(*theirs)
    for got, want in zip(mine, theirs):
        np.testing.assert_allclose(got, want, rtol=rtol)


def rows(x, out):
    for i in range(x.shape[0]):
        out[i, :] = x[i, :] / x[i, :].sum()


def functions(x, out):
    out[:] = np.where(x > 0, np.sqrt(np.abs(x)), -x ** 2) + np.clip(x, -0.5, 0.5)


def masks(x, out):
    out[:] = (x > 0) & (x < 1) | ~(x > -1)


def numbers(x, out):
    out[...] = np.maximum(x, x[0, 0]) - 3 * abs(-x)


def broadcast(x, out):
    out[:] = x * x[0] - x[:, :1] + x[1:2]


def captured(x, out):
    out[:, :4] = x[:, :4] * TABLE + TABLE[0]


def in_place(x, out):
    out += 1.5 * x
    out[1:] *= 2
    out[:, 0] -= x[0, 0]
    out /= out[0, 1] + 10


def mixed_kinds(x, out):
    out[:] = (x > 0) * 2 + x
    out[0] += x[0] > x[1]


def repeated(x, out):
    out[:, ::2] = x[::-1, ::2] * 2
    out.T[0] = out.T[1] + 1


KERNELS = [rows, functions, masks, numbers, broadcast, captured, in_place, mixed_kinds, repeated]


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_as_numpy(kernel, dtype):
    rng = np.random.default_rng(1)
    for layout in (lambda a: a, np.asfortranarray, lambda a: a[::-1], lambda a: np.repeat(a, 2, axis=1)[:, ::2]):
        x = layout((4 * rng.standard_normal((5, 6))).astype(dtype))
        check(kernel, x, layout(rng.standard_normal((5, 6)).astype(dtype)), rtol=1e-13 if dtype == np.float64 else 2e-5)


@pytest.mark.parametrize("x, y", [("i1", "i1"), ("i1", "u1"), ("u4", "i8"), ("i2", "f4"), ("f4", "f8"), ("f4", "i4"), ("?", "i2"), ("c8", "f8"), ("u8", "u8")])
def test_dtypes_promote_as_arrays_do(x, y):
    def kernel(x, y, out):
        out[0] = x + y
        out[1] = x * y - 2
        out[2] = 3 + x * x[:1]
        out[3] = (x != y) * y

    rng = np.random.default_rng(2)
    a, b = rng.integers(0, 2 if x == "?" else 90, 9).astype(x), rng.integers(1, 90, 9).astype(y)
    if x == "?":
        def kernel(x, y, out):  # noqa: F811
            out[0] = x + y
            out[1] = x * y - 2
            out[2] = 3 + x * 200
            out[3] = (x & (y > 3) | ~x) ^ x
    check(kernel, a, b, np.zeros((4, 9), np.result_type(a, b, np.int64 if x != "c8" else np.complex128) if "u8" not in (x, y) else "u8"))


def test_integers_wrap_and_divide_as_numpys():
    def kernel(x, y, out, quotients):
        out[0] = x * 100
        out[1] = x // y
        out[2] = x % y
        quotients[:] = x / y

    check(kernel, np.array([100, -128, 127, 5], "i1"), np.array([3, -1, 0, -2], "i1"), np.zeros((3, 4), "i1"), np.zeros(4))


def later(a):
    a[1:] = a[:-1] * 2 + a[1:]


def earlier(a):
    a[:-1] = a[1:] - a[:-1]


def both_sides(a):
    a[1:-1] = a[:-2] + a[2:]


def reversed_(a):
    a[:] = a[::-1] - 3 * a


def far(a):
    a[::2] = a[: (a.shape[0] + 1) // 2] + 1


def added(a):
    a[2:] += a[:-2]


@pytest.mark.parametrize("kernel", [later, earlier, both_sides, reversed_, far, added], ids=lambda f: f.__name__)
@pytest.mark.parametrize("n", [1, 2, 3, 7, 40])
def test_overlapping_arrays_are_read_before_they_are_written(kernel, n):
    if kernel is both_sides and n < 3:
        n = 3
    check(kernel, np.random.default_rng(n).random(n))


def test_a_matrix_and_its_transposed():
    def kernel(a):
        a[:] = a - a.T

    check(kernel, np.random.default_rng(5).random((6, 6)))
    check(kernel, np.random.default_rng(5).random((30, 30)))


@pytest.mark.parametrize("n", [10, 66, 67, 1000])
def test_what_no_order_solves(n):
    def line(a):
        a[1:-1] = (a[:-2] + a[2:]) / 2
        a[1:-1] += a[:-2] + a[2:]

    def plane(a):
        for _ in range(3):
            a[1:-1, 1:-1] = a[2:, 1:-1] + a[:-2, 1:-1] + a[1:-1, 2:] + a[1:-1, :-2]

    rng = np.random.default_rng(n)
    check(line, rng.random(n))
    check(plane, rng.random((n // 2, 9)))


def test_rows_without_an_order_on_many_cores():
    @lw.njit(parallel=True)
    def smooth(m):
        for i in lw.prange(m.shape[0]):
            m[i, 1:-1] = m[i, 2:] + m[i, :-2]

    m = np.random.default_rng(8).random((40, 300))
    want = m.copy()
    want[:, 1:-1] = m[:, 2:] + m[:, :-2]
    smooth(m)
    np.testing.assert_array_equal(m, want)


def test_no_memory_for_it_on_a_gpu():
    @lw.forall
    def smooth(i, m):
        m[i, 1:-1] = m[i, 2:] + m[i, :-2]

    assert "lw_memory" in lw.compile(smooth, "void(f8[:, :])", target="cpu", output="llvm")
    assert "lw_memory" not in lw.compile(smooth, "void(f8[:, :])", target="sm_90", output="nvvm")


def test_generators():
    def normalise(x, out):
        out[:] = x / x.sum()

    x = np.random.default_rng(6).random((7, 5))
    want = x / x.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(lw.guvectorize("(n)->(n)")(normalise)(x), want)
    np.testing.assert_allclose(lw.guvectorize(["void(f4[:], f4[:])"], "(n)->(n)")(normalise)(x.astype("f4")), want, rtol=1e-5)

    @lw.forall
    def each(i, x, out):
        out[i] = x[i] * 2 - x[i].mean()
        out[i] += 1

    out = np.zeros_like(x)
    each(7, x, out)
    np.testing.assert_allclose(out, x * 2 - x.mean(axis=1, keepdims=True) + 1)

    def helper(x, out):
        out[:] = x + 1

    @lw.guvectorize("(n)->(n)")
    def through_a_call(x, out):
        helper(x * 1 if False else x, out)

    np.testing.assert_allclose(through_a_call(x), x + 1)

    @lw.vectorize(excluded=("table",))
    def small(v, table):
        t = lw.local(3, lw.float64)
        t[:] = table[:3] * v
        t += 1
        return t[0] + t[2]

    np.testing.assert_allclose(small(x, TABLE), x * TABLE[0] + 1 + x * TABLE[2] + 1)


def test_outputs_are_augmented_in_place():
    @lw.guvectorize("(n)->(n)")
    def f(x, out):
        out[:] = 1
        for _ in range(3):
            out += x
        out *= 2

    x = np.random.default_rng(7).random((4, 5))
    np.testing.assert_allclose(f(x), (1 + 3 * x) * 2)

    @lw.guvectorize("(n)->()")
    def total(x, out):
        out[0] = 0
        for v in x:
            out += v

    np.testing.assert_allclose(total(x), x.sum(axis=1))


def test_rows_of_numbers():
    def cross(a, b, out):
        x, y, z = a
        u, v, w = b
        out[:] = y * w - z * v, z * u - x * w, x * v - y * u

    a, b = np.random.default_rng(8).random((5, 3)), np.random.default_rng(9).random(3)
    product = lw.guvectorize("(n),(n)->(n)")(cross)
    np.testing.assert_allclose(product(a, b), np.cross(a, b))
    with pytest.raises(ValueError, match="more or fewer items"):
        product(np.ones((5, 4)), np.ones(4))

    def pairs(p, out):
        for i in range(p.shape[0]):
            x, y = p[i]
            out[i] = y, x
        first, second = out[:2]
        first += second
        out[2:] = 7, 8

    check(pairs, np.arange(10.0).reshape(5, 2), np.zeros((5, 2)))

    def wrong(out):
        out[:] = 1, 2, 3

    out = np.zeros(4)
    with pytest.raises(ValueError, match="could not broadcast"):
        run(wrong, out)
    assert (out == 0).all()


def test_items_are_read_before_any_is_assigned():
    def kernel(a):
        a[1], a[0] = a

    check(kernel, np.array([3.0, 4.0]))


def test_extents_that_differ_are_shown():
    """Functions that are called on the host name the extents of the first axis that does not fit, and the line."""
    f = lw.njit(lambda a, b: a + b)
    with pytest.raises(ValueError, match=r"the shapes differ, an axis has 4 elements, and 3 in the other array \(raised in `<lambda>` at .*test_array_expressions"):
        f(np.ones(3), np.ones(4))
    with pytest.raises(ValueError, match="an axis has 5 elements, and 2 in the other array"):
        f(np.ones((4, 2)), np.ones((4, 5)))
    assert f(np.ones((4, 1)), np.ones(5)).shape == (4, 5)

    @lw.njit
    def store(a, b, c):
        a[:] = b * 2 + c

    with pytest.raises(ValueError, match="an axis has 3 elements, and 4 in the other array"):
        store(np.ones((2, 4)), np.ones((2, 4)), np.ones(3))

    @lw.njit
    def copied(a, b):
        a[1:] = b

    with pytest.raises(ValueError, match="an axis has 4 elements, and 3 in the other array"):
        copied(np.ones(4), np.ones(4))


def test_shapes_that_differ():
    def kernel(x, out):
        out[:] = x + 1

    out = np.zeros(4)
    with pytest.raises(ValueError, match="could not broadcast: the shapes differ"):
        run(kernel, np.ones(3), out)
    assert (out == 0).all()
    run(kernel, np.ones(3), out, errors="ignore")
    assert (out == 0).all()
    run(kernel, np.ones(1), out)
    assert (out == 2).all()


def truth(x, out):
    if x > 0:
        out[0] = 1


def chained(x, out):
    out[:] = 0 < x < 1


def bools(x, out):
    out[:] = (x > 0) - (x > 1)


def narrowed(x, out):
    out[:] = x * 1j


def star(x, out):
    a, *b = x
    out[0] = a


@pytest.mark.parametrize("kernel, code", [(truth, "E123"), (chained, "E120"), (bools, "E120"), (narrowed, "E142"), (star, "E120")], ids=lambda p: getattr(p, "__name__", p))
def test_refused(kernel, code):
    with pytest.raises((errors.TypingError, errors.UnsupportedError)) as caught:
        run(kernel, np.ones(3), np.ones(3))
    text = str(caught.value)
    assert text.startswith(code) and kernel.__name__ in text and "^" in text


def test_checks_see_elements():
    def kernel(x, y, out):
        out[:] = x // y

    with pytest.raises(ZeroDivisionError):
        run(kernel, np.arange(3), np.array([1, 0, 1]), np.zeros(3, int), check={"divide"})


@pytest.mark.parametrize("target", ["sm_75", "sm_90", "sm_100", "sm_120"])
def test_cubins(target):
    def kernel(x, out):
        i = cuda.grid(1)
        if i < out.shape[0]:
            out[i] = np.exp(x[i]) / x[i].sum()
            out[i, 1:] += out[i, :-1]
            a, b = x[i, :2]
            out[i, :2] = b, a

    made = cuda.jit(kernel)
    assert made.inspect_cubin("void(float32[:, ::1], float32[:, ::1])", target)[1:4] == b"ELF"


def clipped(x, out):
    out[:] = x
    out[x > 0.5] = 0.5
    out[(out < -0.5) | (x == 1)] *= -1
    out[np.isnan(x)] = 7


def under_a_variable(x, out):
    negative = out[0]
    out[1:] = x[1:]
    out[1:][x[:-1] < 0] = 3  # the mask's rows are others than those written
    negative[x[0] > 0] = 9


@pytest.mark.parametrize("kernel", [clipped, under_a_variable], ids=lambda f: f.__name__)
def test_masks(kernel):
    x = np.random.default_rng(10).standard_normal((6, 7))
    x[2, 3] = np.nan
    check(kernel, x, np.zeros((6, 7)))


def test_masks_of_arrays_that_overlap():
    def kernel(a):
        a[1:][a[:-1] > 0.5] = 0

    check(kernel, np.random.default_rng(11).random(30))


def test_masks_have_the_shape_of_the_array():
    def kernel(x, mask):
        x[mask] = 1

    x = np.zeros(4)
    run(kernel, x, np.array([True, False, False, True]))
    assert x.tolist() == [1, 0, 0, 1]
    for mask in (np.array([True]), np.ones(3, bool)):
        with pytest.raises((IndexError, ValueError)):
            run(kernel, x, mask)
    with pytest.raises(errors.TypingError, match="E121: too many indices"):
        run(kernel, x, np.ones((4, 4), bool))
    assert x.tolist() == [1, 0, 0, 1]


def test_many_operands():
    def eight(x, out):
        out[:] = x + x * x - x / (x + 1) + x * (x - x)

    check(eight, np.random.default_rng(12).random(9), np.zeros(9))

    def too_long(x, out):
        out[:] = (x + x + x + x + x + x + x + x + x + x + x + x + x + x + x + x + x + x + x + x + x + x + x + x
                  + x + x + x + x + x + x + x + x + x + x + x)

    with pytest.raises(errors.UnsupportedError, match="E160: this array expression is too long"):
        run(too_long, np.ones(3), np.ones(3))


BOOLS, OTHER = np.array([True, False, True, False]), np.array([True, True, False, False])


@pytest.mark.parametrize("typing", ["weak", "numba"])
@pytest.mark.parametrize("op", ["+", "*", "-", "/", "//", "%", "**", "&", "|", "^", "<<", ">>", "=="])
def test_operators_of_bools_are_numpys(op, typing):
    function = eval(f"lambda a, b: a {op} b")
    f = lw.jit(function, typing=typing, target="cpu")
    for b in (OTHER, True, np.bool_(True), np.array([1, 2, 3, 4], np.int8), np.array([1, 2, 3, 4], np.float32)):
        try:
            with np.errstate(all="ignore"):
                want = function(BOOLS, b)
        except TypeError:
            with pytest.raises(TypeError, match="E120"):
                f(BOOLS, b)
            continue
        got = f(BOOLS, b)
        np.testing.assert_array_equal(got, want)
        assert got.dtype == want.dtype or typing == "numba" and got.dtype.kind == want.dtype.kind


def test_unary_operators_of_bools():
    assert lw.jit(lambda a: ~a, target="cpu")(BOOLS).tolist() == [False, True, False, True]
    for function in (lambda a: -a, lambda a: +a):
        with pytest.raises(TypeError, match="E120"):
            lw.jit(function, target="cpu")(BOOLS)


def combined(x, y, out):
    out[:] = (x > 1) * (y > 1) + (x < 0)


def added(x, y, out):
    out += x > 1
    out *= y > 1


def test_masks_are_added_and_multiplied():
    x, y = np.array([2.0, 2.0, 0.0, -1.0]), np.array([2.0, 0.0, 3.0, 4.0])
    for kernel in (combined, added):
        check(kernel, x, y, OTHER)
        check(kernel, x, y, np.zeros(4, np.int8))
        want, got = OTHER.copy(), OTHER.copy()
        kernel(x, y, want)
        lw.guvectorize("(n),(n),(n)", target="cpu")(lambda x, y, out: kernel(x, y, out))(x, y, got)
        np.testing.assert_array_equal(got, want)
        assert "nvptx64" in lw.compile(kernel, "void(f8[::1], f8[::1], b1[::1])", target="sm_80", output="nvvm")
    assert lw.jit(lambda x, y: ((x > 1) * (y > 1)).sum(), target="cpu")(x, y) == 1

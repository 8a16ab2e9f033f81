"""``x[places] += v`` and ``x[mask] += array`` in compiled code: as in NumPy, the elements are taken, changed and stored."""

from __future__ import annotations

import numpy as np
import pytest

import lanewise as lw
from lanewise import cuda, njit

X = np.arange(5.0)
A = np.arange(12.0).reshape(3, 4)
AT = np.array([0, 2, 2])
MASK = np.array([True, False, True, False, True])


def number(x, at):
    x[at] += 1


def places(x, at):
    x[at] *= at


def expression(x, at):
    x[at] -= x[:3] * 2


def masked(x, m):
    x[m] += np.array([1.0, 2.0, 3.0])
    x[m] *= x[m]


def columns(a, at):
    a[:, at] *= 2
    a[at, at] -= 3
    a[at] += np.arange(4.0)


def row_mask(a, m):
    a[m[:3]] += 1
    a[a > 5] -= a[a > 5] / 2


def every_operator(x, at):
    x[at] += 3
    x[at] -= 1
    x[at] *= 5
    x[at] //= 2
    x[at] **= 2
    x[at] <<= 1
    x[at] |= 5
    x[at] ^= 3
    x[at] &= 126
    x[at] >>= 1
    x[at] %= 9
    x[[1, 4]] += 7


def divided(x, at):
    x[at] /= 3


def field(x, at):
    x["a"][at] += 2


def dates(x, at):
    x[at] += np.timedelta64(1, "D")


@pytest.mark.parametrize("f, x, at", [
    (number, X, AT), (number, X.astype("f4"), AT), (number, X.astype("i1"), AT), (number, X.astype("u8"), AT), (places, X, AT), (expression, X, AT), (masked, X, MASK),
    (columns, A, AT), (row_mask, A, MASK), (every_operator, X.astype(int), AT), (divided, X, AT), (field, np.ones(5, [("a", "i4"), ("b", "f8")]), AT),
    (dates, np.arange(5).astype("M8[D]"), AT),
], ids=lambda p: getattr(p, "__name__", ""))
def test_as_in_numpy(f, x, at):
    mine, wanted = x.copy(), x.copy()
    njit(f)(mine, at)
    f(wanted, at)
    assert mine.tolist() == wanted.tolist()


def test_bools():
    """A number that is added to them becomes a bool, as docs/differences.md says of x += y."""
    x = X.astype(bool)
    njit(number)(x, AT)
    assert x.tolist() == [True] * 5


def test_in_kernels():
    x = X.copy()
    cuda.jit(number, target="cpu")[1, 1](x, AT)
    assert x.tolist() == [1, 1, 3, 3, 4]
    assert lw.compile(number, "void(float64[:], int64[:])", target="sm_90", output="cubin")


@pytest.mark.parametrize("f, x, code, text", [
    (lambda x, at: fraction(x, at), X.astype(int), "E142", "would drop the fraction"),
    (number, np.ones(5, [("a", "i4")]), "E160", r"`\+=` on a whole array"),
])
def test_what_is_refused(f, x, code, text):
    with pytest.raises(lw.errors.CompileError, match=text) as caught:
        njit(f)(x, AT)
    assert caught.value.code == code
    y = X.copy()
    with pytest.raises(IndexError):
        njit(number)(y, np.array([9]))


def fraction(x, at):
    x[at] += 1.5

"""NumPy's functions on device arrays that make arrays from a few numbers, compute with polynomials and write files (lanewise/_array_makers.py),
and arguments of the wrong type, which are NumPy's exceptions."""

from __future__ import annotations

import io

import numpy as np
import pytest

import lanewise as lw
from device_checks import back, in_every_layout, put, same  # noqa: F401: put is a fixture
from fake_driver import needs_kernels
from lanewise import cuda

g = np.random.default_rng(8)
X, V, M = g.normal(size=(4, 5)), g.normal(size=5), np.eye(6).reshape(2, 3, 6) + 0.1
I = g.integers(-5, 5, 6)

CASES = [
    ("linspace", lambda a, b: np.linspace(a, b, 7), V, V + 2), ("linspace_number", lambda a: np.linspace(a, 3, 5, endpoint=False, axis=-1), X), ("linspace_int", lambda a: np.linspace(a, 9, 4, dtype="i4"), I),
    ("linspace_step", lambda a: np.linspace(a, 3.0, 5, retstep=True), V.astype("f4")), ("linspace_none", lambda a: np.linspace(a, a, 3), V), ("logspace", lambda a: np.logspace(a, 2, 4), V), ("logspace_base", lambda b: np.logspace(0, 1, 3, base=b), abs(V)),
    ("diagflat", lambda a: np.diagflat(a, 1), X), ("diag_indices_from", lambda a: np.diag_indices_from(a), X[:4, :4]), ("tril_indices_from", lambda a: np.tril_indices_from(a, 1), X), ("triu_indices_from", lambda a: np.triu_indices_from(a, -1), X),
    ("real_if_close", lambda a: np.real_if_close(a), V + 1e-17j), ("real_if_far", lambda a: np.real_if_close(a), V + 1j), ("apply_over_axes", lambda a: np.apply_over_axes(np.sum, a, (0, 1)), X),
    ("polyadd", lambda a, b: np.polyadd(a, b), V, I), ("polysub", lambda a: np.polysub([1, 2], a), V), ("polymul", lambda a: np.polymul(a, [0, 0, 2, 1]), I), ("polyder", lambda a: np.polyder(a, 2), V), ("polyint", lambda a: np.polyint(a, 2, [1, 2]), I),
    ("tensorsolve", lambda a, b: np.linalg.tensorsolve(a, b), M, X[:2, :3]), ("tensorinv", lambda a: np.linalg.tensorinv(a, 2), M),
    ("isin_complex", lambda a, b: np.isin(a, b), X + 1j, np.append(X[0], np.nan) + 1j), ("isin_complex_invert", lambda a: np.isin(a, [1j, 2], invert=True), np.array([2, 1j, 3, 2 + 0j])), ("setdiff1d_complex", lambda a: np.setdiff1d(a, [2, 1j]), np.array([2, 1j, 3])),
    ("partition_none", lambda a: np.partition(a, 0), X[:0]), ("quantile_int", lambda a: np.quantile(a, 1), I), ("quantile_f4", lambda a: np.quantile(a, np.float32(0.5)), I.astype("i2")), ("unwrap_i1", lambda a: np.unwrap(a, period=3), I.astype("i1")),
    ("choose_numbers", lambda a, b: np.choose(a % 2, [1.5, b]), I, I.astype("f4")), ("i0_half", lambda a: np.zeros_like(np.i0(a)), V.astype("e")), ("cov_f4", lambda a: np.cov(a, dtype="f4"), X), ("angle_bool", lambda a: np.angle(a), V > 0),
    ("correlate_number", lambda a, b: np.correlate(a, b, 1), V, V[:2]), ("repeat_number", lambda a: np.repeat(a, 2), V[0]), ("round_far", lambda a: np.round(a, -30), I), ("take_along_none", lambda a: np.take_along_axis(a, np.argsort(a, None), None), X),
]


@needs_kernels
@pytest.mark.parametrize("name, f, arrays", [(name, f, arrays) for name, f, *arrays in CASES])
def test_as_numpy(name, f, arrays, put):  # noqa: F811
    in_every_layout(f, [np.asarray(x) for x in arrays], put)


WRONG = [
    lambda a: np.fft.fft(a, 5.7), lambda a: np.fft.rfft(a, "x"), lambda a: np.fft.fft(a, 0), lambda a: np.fft.fft(a, axis=1.0), lambda a: np.fft.fft(a, norm="x"), lambda a: np.linalg.norm(a, axis=[0]), lambda a: np.roll(a, 1, 1.5), lambda a: np.round(a, 1.5),
    lambda a: np.partition(a, 1.5), lambda a: np.partition(a, True), lambda a: np.pad(a, 1.5), lambda a: np.pad(a, 1, "x"), lambda a: np.diag(a, 0.5), lambda a: np.tril(a[0, 0]), lambda a: np.searchsorted(a[0], a, side=1),
    lambda a: np.bincount(a[0]), lambda a: np.bincount(np.arange(3), minlength=1.5, weights=a[0, :3]), lambda a: np.unravel_index(a.astype(int), (2.0, 3)), lambda a: np.correlate(a[0], a[0], "x"), lambda a: np.correlate(a[0], a[0], 7), lambda a: np.sum(a, axis="x"),
    lambda a: np.place(a.astype("i4"), a > 0, a), lambda a: np.putmask(a.astype("i4"), a > 0, a), lambda a: np.gradient(a, np.arange(4.0)), lambda a: np.cumsum(a, axis=0.5), lambda a: np.median(a, axis=0.5), lambda a: np.matrix_transpose(a[0]),
    lambda a: np.insert(a, [1.0], 2), lambda a: np.zeros_like(a, order=3), lambda a: np.trim_zeros(a, axis=(0, 0)), lambda a: np.linspace(a, 1, 2.5), lambda a: np.polyder(a[0], -1), lambda a: np.linalg.cross(a[:, :3], a[:, :3], axis=2), lambda a: np.concatenate([a, a], 0.0), lambda a: np.concatenate([a, a], casting="x"), lambda a: a.take([0], (0, 1)),
    lambda a: np.linalg.eigh(a[:, :4], "x"), lambda a: np.linalg.matrix_power(a[:, :4], 1.5), lambda a: np.moveaxis(a, 0.5, 1), lambda a: np.unpackbits(a), lambda a: np.diff(a, 1.5), lambda a: np.rot90(a, axes=(0, 0)), lambda a: np.vander(a[0], 2.5),
]


@needs_kernels
@pytest.mark.parametrize("k", range(len(WRONG)))
def test_wrong_arguments(k, put):  # noqa: F811
    with pytest.raises(Exception) as numpys:  # noqa: PT011
        WRONG[k](X)
    with pytest.raises(TypeError if isinstance(numpys.value, TypeError) else type(numpys.value)):
        WRONG[k](put(X))


def test_files(put, tmp_path):  # noqa: F811
    d = put(X)
    np.save(tmp_path / "a.npy", d)
    np.savez(tmp_path / "b.npz", d, second=d)
    np.savez_compressed(tmp_path / "c.npz", x=d)
    with np.load(tmp_path / "b.npz") as both, np.load(tmp_path / "c.npz") as one:
        for loaded in (np.load(tmp_path / "a.npy"), both["arr_0"], both["second"], one["x"]):
            np.testing.assert_array_equal(loaded, X)
    text = io.StringIO()
    np.savetxt(text, d)
    np.testing.assert_array_equal(np.loadtxt(io.StringIO(text.getvalue())), X)
    assert d.tobytes() == X.tobytes() and d.T.tobytes() == X.T.tobytes() and d.tobytes("F") == X.tobytes("F")


def test_what_looks_at_no_element(put):  # noqa: F811
    d = put(X)
    assert np.common_type(d, put(V.astype("c8"))) is np.complex128 and np.einsum_path("ij,kj->ik", d, d) == np.einsum_path("ij,kj->ik", X, X)
    for name in ("flat", "tofile"):
        with pytest.raises(AttributeError, match=name):
            getattr(d, name)


@needs_kernels
def test_choice_stays_on_the_device(put):  # noqa: F811
    for args in ((), (3,), ((2, 2),), (3, False), (2, True, [0.1, 0.2, 0.3, 0.4])):
        for axis in (0, 1) if len(args) < 3 else (0,):
            found, wanted = (lw.random.Generator(5).choice(x, *args, axis=axis) for x in (put(X), X))
            assert isinstance(found, cuda.DeviceArray)
            same(back(found), wanted)


@needs_kernels
def test_errors_name_no_line_of_ours(put):  # noqa: F811
    singular = put(np.zeros((3, 3)))
    for f, words in ((np.linalg.inv, "Singular matrix"), (lambda a: np.linalg.solve(a, a), "Singular matrix"), (np.linalg.cholesky, "Matrix is not positive definite")):
        with pytest.raises(np.linalg.LinAlgError) as caught:
            f(singular)
            cuda.synchronize()
        assert str(caught.value) == words
    with pytest.raises(np.linalg.LinAlgError, match=r"Singular matrix \(raised in `<lambda>` at .*test_array_makers_device"):
        lw.njit(lambda a: np.linalg.inv(a))(np.zeros((2, 2)))

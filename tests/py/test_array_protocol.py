"""NumPy's functions of device arrays (lanewise/_array_protocol.py): on the CPU's, and on a GPU's where there is one."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import lanewise as lw
from lanewise import cuda

rng = np.random.default_rng(15)
A, B, V, T = rng.random((4, 5)), rng.random((4, 5)), rng.random(6), rng.random((2, 3, 4))
F, I, C, M = A.astype("f4"), rng.integers(-9, 9, (4, 5)), A + 1j * B, A > 0.5
U = I.astype("u1")
N = A.copy()
N[1, 2], N[0, 0], N[2, 1] = np.nan, np.inf, -np.inf
windows = np.lib.stride_tricks.sliding_window_view
# function, arguments, keywords: a row a case
CASES = {
    "joining": [
        (np.concatenate, [[A, B]]), (np.concatenate, [[A, B], 1]), (np.concatenate, [[A, I]]), (np.concatenate, [[A.T, B.T]]), (np.concatenate, [[A, V], None]),
        (np.concatenate, [[F, F], 0, None], {"dtype": "i4", "casting": "unsafe"}), (np.concatenate, [T]), (np.stack, [[A, B]]), (np.stack, [[A, I], -1]),
        (np.vstack, [[V, V]]), (np.hstack, [[V, V]]), (np.hstack, [[A, B]]), (np.dstack, [[A, B]]), (np.column_stack, [[V, V]]), (np.append, [A, V]), (np.append, [A, B, 0]),
        (np.roll, [A, 3]), (np.roll, [A, (1, -2), (0, 1)]), (np.repeat, [A, 2]), (np.repeat, [A, [1, 0, 2, 1], 0]), (np.tile, [A, 2]), (np.tile, [V, (2, 3)]), (np.tile, [A, (2, 1, 3)]),
        (np.pad, [A, ((1, 0), (2, 3))]), (np.pad, [A, ((1, 2), (2, 1))], {"constant_values": ((1, 2), (3, 4))}),
        (np.pad, [A, 1, "edge"]), (np.pad, [A, ((1, 2), (3, 9)), "reflect"]), (np.pad, [A, (4, 1), "symmetric"]), (np.pad, [I, ((7, 0), (0, 2)), "wrap"]), (np.pad, [V, 2], {"mode": "reflect", "reflect_type": "even"}),
    ],
    "like another": [
        (np.zeros_like, [A]), (np.ones_like, [A.T]), (np.full_like, [I, 7]), (np.full_like, [A, np.arange(5.0)]), (np.zeros_like, [A], {"shape": (2,), "dtype": "i2"}),
        (np.full_like, [A, 3], {"dtype": bool}), (np.copy, [A.T]), (np.astype, [A, "f4"]),
    ],
    "shapes": [
        (np.swapaxes, [T, 0, 2]), (np.moveaxis, [T, 0, -1]), (np.rollaxis, [T, 2]), (np.transpose, [T, (2, 0, 1)]), (np.permute_dims, [T, (1, 0, 2)]), (np.matrix_transpose, [T]),
        (np.reshape, [A, (5, 4)]), (np.reshape, [A, -1]), (np.ravel, [A.T]), (np.ravel, [A.T, "K"]), (np.squeeze, [A[None]]), (np.expand_dims, [A, 0]), (np.expand_dims, [A, (0, -1)]),
        (np.atleast_1d, [A]), (np.atleast_3d, [V]), (np.atleast_2d, [V, A]), (np.broadcast_to, [V, (3, 6)]), (np.broadcast_to, [A[:, :1], (4, 7)]), (np.broadcast_arrays, [A, A[0]]),
        (windows, [V, 3]), (windows, [A, (2, 2)]), (windows, [A, 2, 0]), (np.flip, [A]), (np.flip, [A, 1]), (np.fliplr, [A]), (np.flipud, [A]), (np.split, [V, 3]), (np.array_split, [V, 4]),
        (np.hsplit, [A, [2]]), (np.vsplit, [A, 2]), (np.diagonal, [A]), (np.diagonal, [A, -2]), (np.diagonal, [T, 1, 0, 2]), (np.diagonal, [A, 7]), (np.diag, [V, 2]), (np.diag, [V, -1]), (np.diag, [A, 1]),
    ],
    "choosing": [
        (np.where, [M, A, B]), (np.where, [M, A, 0]), (np.where, [M, 1, I]), (np.where, [M, F, 2.5]), (np.where, [I, F, I]), (np.where, [M, C, A]), (np.where, [M, A[0], B[:, :1]]), (np.where, [M]),
        (np.where, [M, I.astype("M8[s]"), I.astype("M8[ms]")]), (np.clip, [A, 0.2, 0.6]), (np.clip, [I.astype("m8[s]"), 0, 3]), (np.clip, [I.astype("m8[s]"), np.timedelta64(-1, "m"), np.timedelta64(1500, "ms")]), (np.clip, [V, [0.0] * len(V), (0.5,) * len(V)]), (np.clip, [I, [[-2]], None]), (np.clip, [F, 0, [[0.5]]]), (np.clip, [I, -3, None]), (np.clip, [U, -1, 300]), (np.clip, [N, 0.2, 0.7]), (np.clip, [I, I // 2, I + 1]),
        (np.clip, [A], {"min": 0.5}), (np.tril, [A]), (np.triu, [T, -1]), (np.tril, [M]), (np.take, [A, [1, 2], 1]), (np.take_along_axis, [A, np.argsort(A, 1), 1]), (np.sort, [A, 0]), (np.sort, [N, None]),
        (np.argsort, [V]), (np.unique, [I]), (np.unique, [I], {"return_counts": True, "return_index": True, "return_inverse": True}), (np.flatnonzero, [M]), (np.argwhere, [M]), (np.nonzero, [I]),
    ],
    "arithmetic": [
        (np.round, [A, 2]), (np.round, [I, 1]), (np.round, [I * 10, -1]), (np.around, [A * 1000, -2]), (np.round, [C, 1]), (np.round, [M]), (np.round, [F, 3]), (np.ptp, [I, 0]),
        (np.ptp, [A, 1], {"keepdims": True}), (np.diff, [A, 2]), (np.diff, [M]), (np.diff, [V], {"prepend": 0, "append": [1.0, 2.0]}), (np.diff, [U, 1, 0]), (np.angle, [C, True]), (np.nan_to_num, [N]),
        (np.nan_to_num, [N], {"nan": 1.0, "posinf": 2.0}), (np.nan_to_num, [C]), (np.average, [A, 0]), (np.average, [A, 1], {"weights": np.arange(5.0)}), (np.average, [A, 0], {"weights": B, "returned": True}),
        (np.tensordot, [I, I, ([0, 1], [0, 1])]), (np.tensordot, [A, A, ([0], [0])]), (np.tensordot, [T, T, ([2], [2])]), (np.tensordot, [I, I.T, 1]), (np.tensordot, [I, I.T, 0]), (np.dot, [I, I.T]),
        (np.dot, [I[0], I[1]]), (np.dot, [I, 3]), (np.dot, [T, T.transpose(0, 2, 1)]), (np.vdot, [I, I]), (np.inner, [I, I]), (np.outer, [A, I]), (np.trace, [T, 0, 1, 2]),
        (np.count_nonzero, [M, 0]), (np.nansum, [N, 0]), (np.nanmax, [N, 1]), (np.nanargmin, [A, 1]), (np.sum, [A], {"keepdims": True, "axis": 1}), (np.mean, [I]), (np.var, [A, 0]), (np.cumsum, [I, 1]),
    ],
    "answers": [
        (np.isclose, [A, A + 1e-9]), (np.isclose, [N, N], {"equal_nan": True}), (np.isclose, [N, N]), (np.isclose, [F, 0.5]), (np.isclose, [0.5, F]), (np.allclose, [A, A]), (np.allclose, [A, B]),
        (np.array_equal, [A, A]), (np.array_equal, [A, B]), (np.array_equal, [A, V]), (np.array_equal, [N, N], {"equal_nan": True}), (np.array_equiv, [A, A[:1]]), (np.result_type, [A, I]), (np.result_type, [F, 1]),
        (np.can_cast, [F, "f8"]), (np.iscomplexobj, [C]), (np.isrealobj, [C]), (np.ndim, [A]), (np.shape, [A]), (np.size, [A, 1]), (np.real, [C]), (np.may_share_memory, [A, B]),
    ],
}


def to(kind, value):
    if isinstance(value, (tuple, list)):
        return type(value)(to(kind, item) for item in value)
    return cuda.to_device(value) if isinstance(value, np.ndarray) and kind == "device" else value


def check(got, want):
    if isinstance(want, (tuple, list)):
        assert len(got) == len(want)
        for one, other in zip(got, want):
            check(one, other)
    elif isinstance(want, (np.ndarray, np.generic)):
        assert isinstance(got, cuda.DeviceArray) and got.dtype == want.dtype and got.shape == want.shape
        if want.dtype.kind in "fc":
            np.testing.assert_allclose(got.copy_to_host(), want, rtol=1e-6 if want.dtype.itemsize == 4 else 1e-13)
        else:
            np.testing.assert_array_equal(got.copy_to_host(), want)
    else:
        assert type(got) is type(want) and got == want


@pytest.mark.parametrize("group", CASES)
def test_as_numpy(group, target):
    """dtype, shape and values are NumPy's; on a device, also whether the result is an array or a scalar."""
    for function, args, *more in CASES[group]:
        keywords = more[0] if more else {}
        got = function(*to("device", args), **{name: to("device", value) for name, value in keywords.items()})
        check(got, function(*args, **keywords))


def test_like(target):
    d = cuda.to_device(A)
    for function, args in ((np.asarray, [[1, 2]]), (np.array, [A]), (np.asanyarray, [F]), (np.ascontiguousarray, [A.T]), (np.asfortranarray, [A]), (np.zeros, [3]), (np.ones, [(2, 2), "i4"]), (np.full, [3, 2.5]),
                           (np.full, [(2,), 7]), (np.arange, [5]), (np.arange, [1, 9, 2.5]), (np.eye, [3]), (np.identity, [2]), (np.tri, [3])):
        check(function(*args, like=d), function(*args))
    assert isinstance(np.empty((2, 3), like=d), cuda.DeviceArray) and np.empty_like(d).shape == d.shape
    assert np.asarray(d, like=d) is d and np.array(d, like=d) is not d and np.array(A, ndmin=3, like=d).shape == (1, 4, 5)
    assert np.asfortranarray(A, like=d).flags["F_CONTIGUOUS"] and np.zeros_like(cuda.to_device(A.T)).flags["F_CONTIGUOUS"]
    with pytest.raises(ValueError, match="Unable to avoid copy"):
        np.asarray(A, like=d, copy=False)


def test_views(target):
    d = cuda.to_device(A.copy())
    for view in (np.swapaxes(d, 0, 1), np.expand_dims(d, 0), np.atleast_3d(d), np.diagonal(d), np.broadcast_to(d, (2, 4, 5)), np.split(d, 2)[0], windows(d, (2, 2))):
        assert np.may_share_memory(view, d)
    assert not np.may_share_memory(d.copy(), d)
    for view in (np.broadcast_to(d, (2, 4, 5)), np.diagonal(d), windows(d, 2, 0)):
        with pytest.raises(ValueError, match="read-only"):
            view[...] = 0


def test_outputs(target):
    d, out = cuda.to_device(I), cuda.to_device(np.zeros((8, 5), I.dtype))
    assert np.concatenate([d, d], out=out) is out and (out.copy_to_host() == np.concatenate([I, I])).all()
    assert np.dot(d, cuda.to_device(I.T), out=out[:4, :4]) is not None and (out.copy_to_host()[:4, :4] == I @ I.T).all()
    np.copyto(out[:4], d, where=cuda.to_device(I > 0))
    to_ = cuda.to_device(np.zeros((4, 5)))
    np.copyto(to_, d, where=I > 0)
    assert (to_.copy_to_host() == np.where(I > 0, I, 0)).all()
    host = np.zeros((4, 5))
    for call in (lambda: np.copyto(host, d), lambda: np.concatenate([d, d], out=host)):
        with pytest.raises(TypeError, match="must be a device array"):
            call()
    assert not host.any()


def outcome(call):
    """The result, copied to the host, or the class of the error."""
    try:
        result = call()
    except Exception as error:
        return type(error)
    result = result.copy_to_host() if isinstance(result, cuda.DeviceArray) else result
    return (result.dtype.str, result.tolist()) if isinstance(result, (np.ndarray, np.generic)) else result


def test_copyto_as_numpy(target):
    """where= is a mask, never an index; casting= holds for numbers and lists, too."""
    def copied(kind, zeros, source, **more):
        x = to(kind, zeros.copy())
        np.copyto(x, to(kind, source), **{name: to(kind, value) for name, value in more.items()})
        return x

    masks = (1, 0, True, False, None, [1, 0, 1, 0], [True, False, True, False], np.array([1, 0, 1, 0]), np.array([1.0, 0, 1, 0]), M[0, :4], 2.5, [[1], [0]])
    cases = [(np.zeros(4, "f4"), source, {"where": mask}) for mask in masks for source in (np.arange(1, 5, dtype="f4"), 3, [1, 2, 3, 4])]
    cases += [(np.zeros(3, dtype), source, {"casting": rule}) for dtype in ("i4", "?", "f4", "u1") for source in (3.7, 3, -1, 300, 1j, [1, 2.5, 3], np.arange(3.0), np.array([1j, 2, 3]), [[1, 2, 3]])
              for rule in ("same_kind", "unsafe", "no", "safe", "bad")]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", np.exceptions.ComplexWarning)
        for case in cases:
            assert outcome(lambda: copied("device", *case[:2], **case[2])) == outcome(lambda: copied("host", *case[:2], **case[2])), case


def test_outputs_of_dot(target):
    v, m = V[:3], T[0, :, :3]
    for a, b, out in ((v, v, np.zeros((3, 3))), (v, v, np.zeros((), "f4")), (v, v, np.zeros(())), (m, v, np.zeros(3)), (m, v, np.zeros(2)), (2, v, np.zeros(4)), (2, F[0], np.zeros(5, "f4")), (v, v, 5)):
        want, got = (outcome(lambda: np.dot(to(kind, a), to(kind, b), out=to(kind, out))) for kind in ("host", "device"))
        assert got == want if isinstance(want, type) else np.allclose(got[1], want[1]) and got[0] == want[0], (a, b, out)


def test_orders_as_numpy(target):
    """"K" is the order of the elements in memory."""
    x = np.arange(24.0).reshape(2, 3, 4)
    for view in (lambda a: a, lambda a: a.T, lambda a: a.transpose(1, 0, 2), lambda a: a[::-1, :, ::-1].transpose(2, 0, 1), lambda a: a[:, ::2].transpose(2, 0, 1)):
        h, d = view(x), view(cuda.to_device(x))
        for order in ("C", "F", "A", "K", "Z", None):
            for call in (lambda a: np.ravel(a, order=order), lambda a: a.ravel(order), lambda a: a.flatten(order or "C")):
                assert outcome(lambda: call(d)) == outcome(lambda: call(h)), order
        for call in (lambda a: np.zeros_like(a).strides, lambda a: np.full_like(a, 3, dtype="f4").strides, lambda a: np.copy(a).strides, np.copy):
            assert outcome(lambda: call(d)) == outcome(lambda: call(h))
        for copy in (True, False, None):
            assert outcome(lambda: np.reshape(d, 24, copy=copy)) == outcome(lambda: np.reshape(h, 24, copy=copy))
    d = cuda.to_device(x)
    assert np.may_share_memory(np.reshape(d, 24, copy=False), d) and not np.may_share_memory(np.reshape(d, 24, copy=True), d)


@pytest.mark.parametrize("call", [
    lambda a: np.concatenate([], out=a), lambda a: np.stack([], out=a), lambda a: np.squeeze(a, axis=5), lambda a: np.squeeze(a[:1, :1], axis=(0, 0)), lambda a: np.transpose(a, (0, 3)),
    lambda a: np.clip(a, a_min=1, min=2), lambda a: np.clip(a, 1, 2, min=1), lambda a: np.clip(a, min=0.5), lambda a: np.reshape(a.T, 20, copy=False),
    *(lambda a, axis=axis: np.add.accumulate(a, axis=axis) for axis in ((0,), None, 1.5, (0, 1), (), 5)), *(lambda a, axis=axis: np.subtract.accumulate(a[0], axis=axis) for axis in ((0,), None, "a", (0, 1))),
    *(lambda a, f=f, axis=axis: f(a[0, :1].reshape(()), axis=axis) for f in (np.mean, np.var, np.std, np.cumsum, np.cumprod) for axis in (0, 1)),
    *(lambda a, axis=axis: np.take(a[0, :1].reshape(()), [0, 0], axis=axis) for axis in (0, -1, 1)),
])
def test_calls_at_the_edge(call, target):
    assert outcome(lambda: call(cuda.to_device(A))) == outcome(lambda: call(A.copy()))


def test_means_into_a_wider_array(target):
    x = np.array([16777216, 1, 1, 1], "f4")
    for f in (np.mean, np.var, np.std):
        got, want = (f(to(kind, x), out=to(kind, np.zeros(()))) for kind in ("device", "host"))
        assert float(got.copy_to_host()) == pytest.approx(float(want), rel=1e-7)
    assert lw.reductions.mean(x, out=np.zeros(())) == 4194304.75


def test_host_arrays_come_along(target):
    d = cuda.to_device(A)
    check(np.concatenate([B, d]), np.concatenate([B, A]))
    check(np.where(M, d, B), np.where(M, A, B))
    check(np.tensordot(B, d, ([0], [0])), np.tensordot(B, A, ([0], [0])))


@pytest.mark.parametrize("call, problem, message", [
    (lambda d: np.linalg.eig(d), TypeError, r"numpy.linalg.eig does not take a DeviceArray: call copy_to_host\(\)"),
    (lambda d: np.concatenate([d, d[0]]), ValueError, r"array at index 0 has 2 dimension\(s\) and the array at index 1 has 1"),
    (lambda d: np.concatenate([d, d[:, :2]]), ValueError, "along dimension 1, the array at index 0 has size 5 and the array at index 1 has size 2"),
    (lambda d: np.concatenate([d, d], True), TypeError, "an integer is required for the axis"),
    (lambda d: np.concatenate([d, d], 2), np.exceptions.AxisError, "out of bounds"),
    (lambda d: np.concatenate([d, d], dtype="i4"), TypeError, "according to the rule 'same_kind'"),
    (lambda d: np.concatenate([d, d], out=d), ValueError, "wrong shape"),
    (lambda d: np.stack([d, d[0]]), ValueError, "must have the same shape"),
    (lambda d: np.broadcast_to(d, (4, 6)), ValueError, r"cannot broadcast an array of shape \(4, 5\)"),
    (lambda d: np.tensordot(d, d, 1), ValueError, "shape-mismatch for sum"),
    (lambda d: np.dot(d, d), ValueError, r"shapes \(4, 5\) and \(4, 5\) not aligned"),
    (lambda d: np.where(d, d), ValueError, "either both or neither"),
    (lambda d: np.pad(d, 1, "mean"), lw.errors.UnsupportedError, "mode='mean' of pad is not supported on device arrays: mode='constant', 'edge'"),
    (lambda d: np.pad(d, 1, "reflect", reflect_type="odd"), lw.errors.UnsupportedError, "reflect_type='odd' of pad"), (lambda d: np.pad(d, 1, "edge", constant_values=1), ValueError, "unsupported keyword arguments for mode 'edge'"),
    (lambda d: windows(d, 9), ValueError, "must provide window_shape|larger than|9 extents|1 extents"),
    (lambda d: np.repeat(d, d), TypeError, "repeats must be a number or on the host"),
    (lambda d: np.zeros_like(d, device="cuda"), ValueError, "device= must be"),
])
def test_refused(call, problem, message, target):
    with pytest.raises(problem, match=message):
        call(cuda.to_device(A))


def test_others_decide_by_themselves(target):
    """An argument whose type implements the function itself is asked."""
    class Other:
        def __array_function__(self, function, types, args, kwargs):
            return "other"

    assert np.concatenate([cuda.to_device(V), Other()]) == "other" and np.where(cuda.to_device(M), Other(), 1) == "other"

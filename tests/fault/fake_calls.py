"""Device ufunc calls on the fake driver, which test_driver_faults.py runs pytest on in a process
of its own: every driver call fails in turn, our allocations fail in turn, and what launches got."""

from __future__ import annotations

import ctypes
import gc
import os
import struct
import sys

import numpy as np
import pytest

import lanewise as lw
import sweep
from lanewise import _core, cuda

FAKE = ctypes.CDLL(os.environ["LANEWISE_CUDA_DRIVER"])
FAKE.fake_cuda_used_bytes.restype = ctypes.c_longlong
KINDS = (b"memory", b"host", b"streams", b"events", b"modules", b"contexts", b"pools")


class Launch(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char * 256), ("grid", ctypes.c_uint * 3), ("block", ctypes.c_uint * 3),
                ("shared_bytes", ctypes.c_uint), ("stream", ctypes.c_void_p), ("n_params", ctypes.c_int),
                ("early", ctypes.c_int), ("n_bytes", ctypes.c_uint), ("values", ctypes.c_ubyte * 4096),
                ("offsets", ctypes.c_uint * 64), ("sizes", ctypes.c_uint * 64)]

    def value(self, i):
        """Parameter i as an unsigned number."""
        return int.from_bytes(bytes(self.values)[self.offsets[i]:self.offsets[i] + self.sizes[i]], "little")


def last_launch():
    launch = Launch()
    assert FAKE.fake_cuda_last_launch(ctypes.byref(launch)), "nothing was launched"
    return launch


def body(x, y):
    return x * y + x


def checked(x):
    if x < 0:
        raise ValueError("negative")
    return x + 1


F = lw.vectorize(body)
PAIR = lw.vectorize(lambda x, y: (x + y, x - y))
HOSTED = lw.vectorize(target="cuda")(body)
CHECKED = lw.vectorize(checked)
A = np.arange(600, dtype=np.float32).reshape(20, 30)
D = cuda.to_device(A)
E = cuda.to_device(A.copy())
MASK = cuda.to_device(A > 100)
OUT = cuda.to_device(np.zeros((20, 30), np.float32))
WIDE = cuda.to_device(np.zeros((40, 60), np.float32))
SMALL = cuda.to_device(np.ones(30, np.int16))


class Foreign:
    """Another library's array."""

    def __init__(self, array):
        self.__cuda_array_interface__ = {**array.__cuda_array_interface__, "stream": 1}


FOREIGN = Foreign(D)


def first_call():
    lw.vectorize(body)(D, E)


def out_twice():
    F(D, E, out=OUT)
    F(OUT, OUT, out=OUT)


def to_and_fro():
    d = cuda.to_device(A)
    assert d[::2, 1:].copy_to_host().tobytes() == A[::2, 1:].tobytes()


def views():
    d = D[1:, ::3].T
    assert d.reshape(-1).shape == (19 * 10,) and d[0].shape == (19,)


@lw.forall
def saxpy(i, a, x, y, out):
    out[i, 0] = a * x[i, 0] + y[i, 0]


@lw.forall
def checked_forall(i, x):
    if x[i, 0] < 0:
        raise ValueError("negative")


@lw.forall
def of_record(i, r, out):
    out[i, 0] = r.a


@lw.guvectorize("(n),()->(n)")
def scaled(x, by, y):
    for i in range(x.shape[0]):
        y[i] = x[i] * by


@lw.guvectorize("(n)->()")
def checked_sum(x, out):
    total = x[0]
    for i in range(1, x.shape[0]):
        total += x[i]
    if total < 0:
        raise ValueError("negative")
    out[0] = total


GDECLARED = lw.guvectorize(["(f8[:],f8,f8[:])"], "(n),()->(n)")(scaled.py_func)
GHOSTED = lw.guvectorize("(n),()->(n)", target="cuda")(scaled.py_func)
MANY = cuda.to_device(np.ones((5000, 3), np.float32))
HOSTED_FORALL = lw.forall(target="cuda")(saxpy.py_func)
RECORD = np.zeros(3, np.dtype([("a", "f8")]))[0]


def on_a_stream():
    stream, d = cuda.stream(), cuda.to_device(A)  # D would keep the stream as its last one
    F(d, d, stream=stream)
    stream.synchronize()


SCENARIOS = {
    "contiguous": lambda: F(D, E),
    "strided": lambda: F(WIDE[::2, 1::2], E),
    "transposed": lambda: F(WIDE.T[:30, :20].T, E),
    "broadcast and mixed dtypes": lambda: F(D, SMALL),
    "out": out_twice,
    "strided out": lambda: F(D, E, out=WIDE[::2, ::2]),
    "where": lambda: F(D, E, out=OUT, where=MASK),
    "host mask": lambda: F(D, E, out=OUT, where=A > 3),
    "weak scalar": lambda: F(D, 3),
    "NumPy scalar": lambda: F(np.float64(3), D),
    "foreign": lambda: F(FOREIGN, 2),
    "overlap": lambda: F(WIDE[1:], 1, out=WIDE[:-1]),
    "two outputs": lambda: PAIR(D, E),
    "dtype": lambda: F(D, E, dtype="f8"),
    "target cuda on host arrays": lambda: HOSTED(A, 2.0),
    "can raise": lambda: CHECKED(D),
    "stream": on_a_stream,
    "first call": first_call,
    "operator": lambda: D * 2 + E,
    "to_device and back": to_and_fro,
    "views": views,
    "bind": lambda: F.bind(D, E)(),
    "forall": lambda: saxpy(20, 2.0, D, E, OUT),
    "forall of foreign arrays": lambda: saxpy(20, 2.0, FOREIGN, E, OUT),
    "forall of a record": lambda: of_record(20, RECORD, OUT),
    "forall, bound": lambda: saxpy.bind(20, 2.0, D, E, OUT)(),
    "forall, first call": lambda: lw.forall(saxpy.py_func)(20, 2.0, D, E, OUT),
    "forall on host arrays": lambda: HOSTED_FORALL(20, 2.0, A, A, A.copy()),
    "forall that can raise": lambda: checked_forall(20, D),
    "gufunc": lambda: scaled(D, 2),
    "gufunc, staged": lambda: scaled(MANY, 2),
    "gufunc, staged, into out": lambda: scaled(MANY, 2, out=MANY),
    "gufunc, a block an item": lambda: scaled(WIDE, SMALL[0]),
    "gufunc, axes": lambda: scaled(D, 2, axes=[0, (), 0]),
    "gufunc, casts": lambda: GDECLARED(SMALL, 2, out=OUT[0]),
    "gufunc, overlap": lambda: scaled(WIDE[1:], 2, out=WIDE[:-1]),
    "gufunc of foreign arrays": lambda: scaled(FOREIGN, 2),
    "gufunc, target cuda on host arrays": lambda: GHOSTED(A, 2.0, out=A.copy()),
    "gufunc that can raise": lambda: checked_sum(D),
    "gufunc, first call": lambda: lw.guvectorize("(n),()->(n)")(scaled.py_func)(MANY, 2),
    "fill and copy": lambda: (OUT.fill(1), OUT.copy()),
}
FORGETS = ("first call", "forall, first call", "gufunc, first call")


def forget(name):
    if name in FORGETS:
        lw.cache.clear(memory_only=True)


WATCHED = [A, D, E, OUT, WIDE, FOREIGN, MASK, F]


def counts():
    """What is alive: the driver's things, blocks of the pool in use, references to arguments."""
    gc.collect()
    alive = tuple(FAKE.fake_cuda_live(kind) for kind in KINDS[1:])
    return alive, cuda.current_context().pool_statistics()["n_used"], [sys.getrefcount(x) for x in WATCHED]


def drop_errors():
    try:
        cuda.synchronize()
    except lw.errors.LanewiseError:
        pass


CODES = [(2, "CUDA_ERROR_OUT_OF_MEMORY"), (700, "CUDA_ERROR_ILLEGAL_ADDRESS"), (719, "CUDA_ERROR_LAUNCH_FAILED"),
         (400, "CUDA_ERROR_INVALID_HANDLE"), (1, "CUDA_ERROR_INVALID_VALUE"), (999, "CUDA_ERROR_UNKNOWN")]


def fail_driver_calls(work, reset, code, word, most=200):
    """Fail the driver call 1, 2, … of work until it passes: told by name, nothing kept, and the next
    call works. The number of failures that were told."""
    for _ in range(3):
        reset()
        work()
    reset()
    gc.collect()
    gc.freeze()
    before, noticed, blocks = counts(), 0, _core._memory_live()
    for n in range(1, most):
        reset()
        FAKE.fake_cuda_fail(None, n, code)
        problem = None
        try:
            work()
        except (lw.errors.DriverError, lw.errors.LinkError) as error:
            problem, text = type(error), str(error)
            assert word in text, text
            if problem is lw.errors.DriverError:
                assert (error.code, error.name) == (code, word)
            noticed += 1
            del error
        failed = FAKE.fake_cuda_failed()
        FAKE.fake_cuda_fail(None, 0, 0)
        reset()
        assert counts() == before, (n, problem)
        assert _core._memory_live() <= blocks, (n, problem)
        reset()
        work()
        if not failed:
            return noticed
    raise AssertionError("still failing")


def fail_allocations(work, reset):
    """Fail our allocation 0, 1, … of work: no block of ours, nothing of the driver's is kept."""
    def live(_, wanted=None):
        reset()
        drop_errors()
        return (_core._memory_live(), *counts())

    return sweep.sweep(work, None, live=live)


@pytest.mark.parametrize("code, word", CODES, ids=[word for _, word in CODES])
@pytest.mark.parametrize("name", SCENARIOS)
def test_every_driver_call_fails(name, code, word):
    noticed = fail_driver_calls(SCENARIOS[name], lambda: forget(name), code, word)
    assert noticed > 0 or name == "views"


@pytest.mark.parametrize("name", SCENARIOS)
def test_our_allocations_fail(name):
    fail_allocations(SCENARIOS[name], lambda: forget(name))


# ---- what launches got ----


def flat_launch(n, dtype, f=F):
    x = cuda.device_array(n, dtype)
    result = f(x, x)
    return last_launch(), x, result


@pytest.mark.parametrize("n", [1, 2, 7, 255, 256, 257, 4096, 100_003, 1 << 20])
@pytest.mark.parametrize("dtype", ["i1", "f2", "f4", "f8", "c16"])
def test_flat(n, dtype):
    launch, x, result = flat_launch(n, dtype)
    assert launch.n_params == 4 and launch.value(0) == n
    assert launch.value(1) == launch.value(2) == x.__cuda_array_interface__["data"][0]
    assert launch.value(3) == result.__cuda_array_interface__["data"][0]
    threads = launch.grid[0] * launch.block[0]
    assert launch.grid[1] == launch.grid[2] == launch.block[1] == launch.block[2] == 1
    assert threads * 64 >= n  # one thread takes some accesses of at most 16 elements each
    assert launch.grid[0] <= -(-n // launch.block[0])


@pytest.mark.parametrize("n", [(1 << 31) - 1, 1 << 31, (1 << 31) + 5, (1 << 32) + 3])
def test_more_than_2_to_the_31(n):
    launch, x, result = flat_launch(n, "i1")
    assert launch.value(0) == n and launch.sizes[0] == 8
    assert 0 < launch.grid[0] < 1 << 31
    assert launch.grid[0] * launch.block[0] * 64 >= n
    assert launch.grid[0] * launch.block[0] <= n


def test_strided_wide():
    """Beyond 2^31 bytes, strides are 64-bit numbers, and long strided calls still launch."""
    x = cuda.device_array((3, 1 << 30), "i1")
    y = cuda.device_array((3, 1 << 29), "i1")
    FAKE.fake_cuda_reset_calls()
    F(x[:, ::2], x[:, 1::2], out=y)
    assert FAKE.fake_cuda_n_launches() >= 1
    assert last_launch().grid[0] > 0


def test_nothing_to_do():
    before = FAKE.fake_cuda_n_launches()
    for shape in ((0,), (0, 5), (5, 0, 3), (2,) * 40 + (0,)):
        assert F(cuda.device_array(shape), cuda.device_array(shape)).shape == shape
        assert F(cuda.device_array(shape), cuda.device_array(1)).shape == shape
    assert FAKE.fake_cuda_n_launches() == before


def test_scalars_travel_by_value():
    F(D, 3)
    launch = last_launch()
    assert launch.n_params == 4 and launch.sizes[2] == 4
    assert struct.unpack("<f", struct.pack("<I", launch.value(2)))[0] == 3.0
    F(np.float64(0.5), cuda.device_array(10, "f8"))
    launch = last_launch()
    assert struct.unpack("<d", struct.pack("<Q", launch.value(1)))[0] == 0.5


def test_streams_of_launches():
    stream = cuda.stream()
    F(D, E, stream=stream)
    assert last_launch().stream == stream.handle if hasattr(stream, "handle") else int(stream)
    F(D, E)
    cuda.synchronize()


@pytest.mark.parametrize("keywords", [{}, {"dtype": "f4"}, {"casting": "no"}], ids=str)
def test_errors_that_kernels_leave_are_told(keywords):
    CHECKED(D, **keywords)
    launch = last_launch()
    control = (ctypes.c_uint64 * 2).from_address(launch.value(launch.n_params - 1))
    record = (ctypes.c_uint32 * 16).from_address(control[1])
    control[0] = 1  # as the first thread that fails does it
    record[1], record[8], record[0] = 1, 7, 1
    with pytest.raises(ValueError, match="negative.*element 7"):
        cuda.synchronize()
    assert control[0] == record[0] == 0
    CHECKED(D, **keywords)


@pytest.mark.parametrize("errors, waits", [("raise", True), ("defer", False), ("ignore", False)])
def test_who_waits_for_errors(errors, waits):
    f = lw.vectorize(errors=errors)(checked)
    stream = cuda.stream()
    d = cuda.to_device(A, stream=stream)
    for keywords in ({}, {"stream": stream}):
        f(d, **keywords)
        FAKE.fake_cuda_fail(b"cuStreamSynchronize", 1, 999)
        try:
            f(d, **keywords)
            told = False
        except lw.errors.DriverError as problem:
            told = "cuStreamSynchronize" in str(problem)
        FAKE.fake_cuda_fail(None, 0, 0)
        assert told == waits


def test_keywords_share_kernels():
    CHECKED(D, dtype="f4")
    before = FAKE.fake_cuda_live(b"modules"), FAKE.fake_cuda_live(b"host")
    for _ in range(3):
        CHECKED(D, dtype="f4")
        CHECKED(D, casting="no")
    assert (FAKE.fake_cuda_live(b"modules"), FAKE.fake_cuda_live(b"host")) == before


def test_strided_shapes_and_strides():
    F(WIDE[::2, ::2], E)
    launch = last_launch()
    values = [launch.value(i) for i in range(launch.n_params)]
    assert WIDE.__cuda_array_interface__["data"][0] in values
    assert E.__cuda_array_interface__["data"][0] in values
    assert 2 * WIDE.strides[0] in values and 8 in values


def test_hosted_outputs_keep_what_the_mask_spares():
    """The fake driver's kernels write nothing: every element is one that the mask spares."""
    out, second = np.full_like(A, 7.25), np.full_like(A, 8.5)
    assert HOSTED(A, 2.0, out=out, where=A < 0) is out
    assert (out == 7.25).all()
    pair = lw.vectorize(target="cuda")(lambda x, y: (x + y, x - y))
    first, other = pair(A, A, out=(None, second), where=A < 0)
    assert other is second and (second == 8.5).all() and first.shape == A.shape
    frozen = np.zeros_like(A)
    frozen.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        HOSTED(A, 2.0, out=frozen, where=A < 0)


@pytest.mark.parametrize("args, dtype", [((2.5, np.float32(1)), "f4"), ((np.float32(1), 2.5), "f4"), ((2, 3.5), "f8"), ((2, 3), "i8"),
                                         ((2, np.int16(3)), "i2"), ((True, 2), "i8"), ((2.5, np.float64(1)), "f8")], ids=str)
def test_hosted_numbers_promote_as_in_numpy(args, dtype):
    assert HOSTED(*args).dtype == np.multiply(*args).dtype == dtype


def test_hosted_casting():
    out = np.zeros((20, 30), np.int32)
    with pytest.raises(TypeError, match="output from .* with casting rule 'same_kind'"):
        HOSTED(A, 2.0, out=out)
    assert HOSTED(A, 2.0, out=out, casting="unsafe") is out


def test_an_exporter_that_changes_while_it_is_read():
    class Index:
        def __init__(self, value, dict_):
            self.value, self.dict = value, dict_

        def __index__(self):
            self.dict.clear()
            gc.collect()
            return self.value

    for field, at in (("shape", 0), ("strides", 1), ("data", 0), ("version", None), ("stream", None)):
        foreign = Foreign(WIDE[::2, ::2])
        entries = foreign.__cuda_array_interface__
        given = entries[field]
        item = Index(given if at is None else given[at], entries)
        entries[field] = item if at is None else given[:at] + (item,) + given[at + 1:]
        assert F(foreign, E).shape == (20, 30)


def test_add_is_asked_at_once():
    """What a loop was chosen for before does not matter after add()."""
    f = lw.vectorize(["f8(f8)"])(lambda x: x + 1)
    small = cuda.to_device(np.arange(5, dtype=np.int8))
    assert f(small).dtype == "f8"
    f.add("i1(i1)")
    assert f(small).dtype == f(np.arange(5, dtype=np.int8)).dtype == "i1"


def test_bfloat16_outputs():
    """NumPy does not know the dtype: the casting rules are ours."""
    out = cuda.device_array((20, 30), "bfloat16")
    assert F(D, E, out=out) is out
    assert F(out, E).dtype == F(out, 3, out=D).dtype == "f4"
    assert F(out, D, out=cuda.device_array((20, 30), "i4"), casting="unsafe").dtype == "i4"
    for bad in (lambda: F(D, E, out=out, casting="safe"), lambda: F(out, D, out=cuda.device_array((20, 30), "i4")),
                lambda: F(D.astype("c8"), E, out=out), lambda: F(D, E, out=out, casting="odd")):
        with pytest.raises((TypeError, ValueError), match="cast"):
            bad()
    with pytest.raises(lw.errors.UnsupportedError, match="bfloat16"):
        F(out, E, dtype="f4")


def test_compile_is_for_this_device():
    own = "sm_%d%d" % cuda.get_current_device().compute_capability
    for target in ("cuda", own, int(own[3:])):
        F.compile("ff->f", target)
    with pytest.raises(ValueError, match="sm_75.*" + own):
        F.compile("ff->f", "sm_75")


def test_time_launch_refuses():
    for bad in ((F, 3), (F, 0, D, E), (F, 3, D), (np.add, 3, D, E), (1, 3, D), (F, 3, D, E, OUT, OUT)):
        with pytest.raises(TypeError):
            _core._time_launch(*bad)
    assert _core._time_launch(F, 3, D, E) > 0
    assert _core._time_launch(F, 3, D[:0], E[:0]) == 0


def test_refused_writes_nothing():
    launches, before = FAKE.fake_cuda_n_launches(), OUT.copy_to_host()
    for bad in (lambda: F(D, E, out=cuda.device_array((20, 31), "f4")), lambda: F(D, E, out=OUT, where=MASK[:3]),
                lambda: F(D, cuda.device_array(7)), lambda: F(D, E, out=cuda.device_array((20, 30), "i2"))):
        with pytest.raises((ValueError, TypeError)):
            bad()
    assert FAKE.fake_cuda_n_launches() == launches
    assert OUT.copy_to_host().tobytes() == before.tobytes()


def test_ten_thousand_launches_keep_nothing():
    for _ in range(100):
        F(D, E)
        F(D, 2, out=OUT)
    before = counts(), _core._memory_live()
    for _ in range(5000):
        F(D, E)
        F(D, 2, out=OUT)
    cuda.synchronize()
    assert (counts(), _core._memory_live()) == before

"""Launches of cuda.jit kernels on a GPU, or on the fake driver (test_fake_driver.py), which runs no kernel:
what is given to the driver, and how host arrays travel."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

import lanewise as lw
from fake_driver import FAKE, needs_device, needs_kernels
from lanewise import cuda, errors, extending, float32, float64, types

pytestmark = needs_device


@cuda.jit
def double(x):
    i = cuda.grid(1)
    if i < x.size:
        x[i] *= 2


@cuda.jit
def add(x, y, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[i] + y[i]


def test_device_arrays_are_taken_as_they_are():
    x = cuda.to_device(np.arange(100.0))
    stream = cuda.stream()
    for _ in range(3):
        double[4, 32, stream](x)
        double.forall(100)(x)
        double.forall(100, 64, stream, 1024)(x)
    stream.synchronize()
    assert double.signatures == ["void(float64[::1])"] and double.stats["specialisations"] == 1


def test_host_arrays_come_back():
    x, y, out = np.arange(50.0), np.arange(100.0)[::2], np.ones((50, 3))[:, 1]
    before = out.base.copy()
    add[2, 32](cuda.In(x), y, cuda.Out(out))
    assert (x == np.arange(50.0)).all() and (y == np.arange(100.0)[::2]).all()
    assert (out.base[:, ::2] == before[:, ::2]).all()
    add[2, 32](cuda.In(memoryview(x)), memoryview(y), (lent := memoryview(y.copy())))  # of other libraries
    assert (x == np.arange(50.0)).all() and len(lent) == 50


@needs_kernels
def test_host_arrays_hold_the_results():
    x, y, out = np.arange(50.0), np.arange(100.0)[::2], np.ones((50, 3))[:, 1]
    add[2, 32](cuda.In(x), y, cuda.Out(out))
    assert (out == 3 * np.arange(50)).all()
    double[2, 32](memoryview(x))
    assert (x == 2 * np.arange(50)).all()
    same = np.arange(10.0)
    add[1, 32](same, same, same)
    assert (same == 2 * np.arange(10)).all()


def test_host_and_device_arrays_together():
    x, y, out = cuda.to_device(np.arange(5.0)), np.arange(5.0), cuda.device_array(5)
    add[1, 32](x, y, out)
    assert isinstance(out.copy_to_host(), np.ndarray)


def test_read_only_host_arrays():
    x, out = np.arange(5.0), np.zeros(5)
    x.flags.writeable = False
    add[1, 32](x, x, out)
    with pytest.raises(ValueError, match="read-only"):
        add[1, 32](x, x, cuda.Out(x))


def test_tuples_of_host_arrays():
    @cuda.jit
    def sums(pair, out):
        i = cuda.grid(1)
        if i < out.size:
            out[i] = pair[0][i] + pair[1][i]

    out = np.zeros(5)
    sums[1, 32]((np.arange(5.0), np.ones(5)), out)


def test_arrays_with_python_objects():
    with pytest.raises(TypeError, match="holds Python objects"):
        double[1, 32](np.array([1, "x"], dtype=object))


def test_blocks_that_do_not_fit():
    @cuda.jit(launch_bounds=128)
    def bounded(x):
        x[cuda.grid(1)] = 0

    with pytest.raises(ValueError, match="256 threads.*at most 128"):
        bounded[1, 256](cuda.to_device(np.zeros(256)))


def test_shared_memory_beyond_48_kb():
    @cuda.jit
    def tile(x):
        shared = cuda.shared.array(0, float64)
        i = cuda.threadIdx.x
        shared[i] = x[i]
        cuda.syncthreads()
        x[i] = shared[i]

    tile[1, 32, 0, 64 * 1024](cuda.to_device(np.zeros(32)))
    with pytest.raises((errors.DriverError, ValueError)):
        tile[1, 32, 0, 1 << 30](cuda.to_device(np.zeros(32)))


def test_eager_signatures_load_at_once():
    eager = cuda.jit("void(float64[:])")(double.py_func)
    assert eager.stats["compiled"] == 1


def test_cooperative_launches():
    together = cuda.jit(cooperative=True)(double.py_func)
    together[2, 32](cuda.to_device(np.zeros(64)))
    assert together.max_cooperative_grid_blocks(32) >= 1


def test_where_data_decides_for_lw_jit():
    anywhere = lw.jit(double.py_func)
    host, device = np.ones(5), cuda.to_device(np.ones(5))
    anywhere[1, 32](host)
    assert (host == 2).all()  # the CPU
    anywhere[1, 32](device)


def test_a_kernel_on_the_cpu_refuses_device_arrays():
    device = cuda.to_device(np.zeros(3))
    with lw.config(target="cpu"), pytest.raises(TypeError, match="on the CPU.*on a GPU"):
        double[1, 32](device)


def test_streams_of_configured_kernels_live():
    stream = cuda.stream()
    kernel = cuda.jit(double.py_func)
    configured = kernel[1, 32, stream]
    assert configured is kernel[1, 32, stream] and configured.stream is stream
    assert configured is not kernel[1, 32, cuda.stream()]
    gone = weakref.ref(kernel)
    del kernel, configured
    gc.collect()
    assert gone() is None


def test_a_launch_with_host_arrays_alone_waits():
    stream = cuda.stream()
    x = cuda.pinned_array(64)
    x[:] = 1
    double[2, 32, stream](cuda.In(x))
    x[:] = 2
    double[2, 32, stream](x)
    assert (x == (2 if FAKE else 4)).all()


def test_device_arrays_come_over_to_the_cpu():
    device = cuda.to_device(np.arange(3.0))
    with lw.config(target="cpu"):
        here = cuda.to_device(device)
        double[1, 32](here)
        assert here.copy_to_host().tolist() == [0, 2, 4] and cuda.is_cuda_array(device) and cuda.is_cuda_array(here)
        assert cuda.device_array_like(device).shape == (3,) and cuda.as_cuda_array(device).copy_to_host().tolist() == [0, 1, 2]
        here.copy_to_device(device)
    assert here.copy_to_host().tolist() == [0, 1, 2] and cuda.to_device(here).copy_to_host().tolist() == [0, 1, 2]


# ---- callbacks of linked code ----

PTX = """
.version 6.4
.target sm_75
.address_size 64
.visible .func (.param .b32 r) ptx_seven(.param .b32 x)
{
    .reg .f32 %f<3>;
    ld.param.f32 %f1, [x];
    mul.f32 %f2, %f1, 0f40E00000;
    st.param.f32 [r], %f2;
    ret;
}
"""


def kernel_of(code):
    function = cuda.declare_device("ptx_seven", "float32(float32)", abi="c", link=code)

    @cuda.jit
    def k(x, y):
        i = cuda.grid(1)
        if i < y.size:
            y[i] = function(x[i])

    return k


def loaded(events, name):
    return cuda.PTXSource(PTX, name, setup_callback=lambda handle: events.append(("setup", name, handle)),
                          teardown_callback=lambda handle: events.append(("teardown", name, handle)))


def run(kernel):
    x = cuda.to_device(np.ones(4, "f4"))
    kernel[1, 32](x, x)
    kernel.forall(4)(x, x)
    cuda.synchronize()


def test_callbacks_of_code():
    events = []
    k = kernel_of(loaded(events, "one.ptx"))
    run(k)
    (what, name, handle), = events
    assert (what, name) == ("setup", "one.ptx") and int(handle) == handle.handle != 0
    del k
    gc.collect()
    assert events[1:] == [("teardown", "one.ptx", handle)]


def test_a_callback_that_raises():
    def setup(handle):
        raise KeyError("no")

    gone = []
    code = cuda.PTXSource(PTX, "two.ptx", setup_callback=setup, teardown_callback=gone.append)
    k = kernel_of(code)
    for _ in range(2):
        with pytest.raises(KeyError, match="no"):
            run(k)
    del k
    gc.collect()
    assert gone == []


@needs_device
def test_ints_fit_the_declared_type_at_every_launch():
    """This holds for the first launch, for later ones that find its types again, and for a launch that is prepared."""
    def keeps(out, n):
        out[0] = n

    kernel = cuda.jit("void(int64[:], uint8)")(keeps)
    each = lw.forall("void(int64[:], uint8)")(lambda i, out, n: keeps(out, n))
    out = cuda.to_device(np.zeros(1, np.int64))
    for n in (0, 255, 7):
        kernel[1, 1](out, n)
        each(1, out, n)
    for n in (-1, 256, 2**40):
        for call in (lambda: kernel[1, 1](out, n), lambda: kernel[1, 1].bind(out, n)(), lambda: kernel.forall(1)(out, n),
                     lambda: each(1, out, n), lambda: each.bind(1, out, n)):
            with pytest.raises(OverflowError, match=f"argument `n`: {n} does not fit uint8"):
                call()


# ---- types of the user's ----


class Row:
    def __init__(self, values, scale):
        self.values = values
        self.scale = scale


class RowType(types.Type):
    def __init__(self):
        super().__init__("Row")


extending.typeof_impl.register(Row, lambda val, c: RowType())


@extending.register_model(RowType)
class RowModel(extending.models.StructModel):
    def __init__(self, dmm, fe_type):
        super().__init__(dmm, fe_type, [("values", float32[::1]), ("scale", float32)])


extending.make_attribute_wrapper(RowType, "values", "values")
extending.make_attribute_wrapper(RowType, "scale", "scale")


def test_objects_of_a_type_travel():
    @cuda.jit
    def k(row, out):
        i = cuda.grid(1)
        if i < out.size:
            out[i] = row.values[i] * row.scale

    out = np.zeros(4, "f4")
    k[1, 32](Row(np.arange(4, dtype="f4"), 2), out)
    k[1, 32](Row(cuda.to_device(np.arange(4, dtype="f4")), 2), out)
    if not FAKE:
        assert out.tolist() == [0, 2, 4, 6]
    with pytest.raises(TypeError, match="attribute `values` that is not"):
        k[1, 32](Row(np.arange(4.0), 2), out)

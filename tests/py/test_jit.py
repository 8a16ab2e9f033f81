"""lw.jit and cuda.jit by the rules that numba documents for its kernels, with NumPy as the judge. Every
kernel runs on the CPU; where there is a GPU, there too."""

from __future__ import annotations

import math

import numpy as np
import pytest

import lanewise as lw
from lanewise import cuda, errors, float32, int32, int64, void

@cuda.jit
def add_one(x, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[i] + 1


# ---- launching ----


def test_first_kernel(target):
    x, out = np.arange(100, dtype=np.float32), np.zeros(100, np.float32)
    assert add_one[4, 32](x, out) is None
    np.testing.assert_array_equal(out, x + 1)


@pytest.mark.parametrize("grid, block", [(4, 32), ((4,), (32,)), ([2, 2], 32), ((4, 1, 1), (32, 1)), (np.int32(4), np.int64(32))])
def test_configurations(grid, block, target):
    @cuda.jit
    def count(out):
        at = cuda.blockIdx.x + cuda.gridDim.x * cuda.blockIdx.y
        cuda.atomic.add(out, at, 1)

    out = np.zeros(4, np.int32)
    count[grid, block](out)
    assert out.tolist() == [32] * 4


def test_indices_in_one_assignment(target):
    @cuda.jit
    def where(out):
        x, y = cuda.threadIdx.x, cuda.threadIdx.y
        sizes = (cuda.blockDim.x, cuda.blockDim.y)
        out[x, y] = x + y * sizes[0]

    out = np.zeros((4, 3))
    where[1, (4, 3)](out)
    x, y = np.indices(out.shape)
    np.testing.assert_array_equal(out, x + 4 * y)


def test_all_axes(target):
    @cuda.jit
    def where(out):
        x, y, z = cuda.grid(3)
        out[x, y, z] = x + 10 * y + 100 * z

    out = np.zeros((4, 6, 2), np.int64)
    where[(2, 3, 1), (2, 2, 2)](out)
    x, y, z = np.indices(out.shape)
    np.testing.assert_array_equal(out, x + 10 * y + 100 * z)


def test_stream_and_shared_memory_entries(target):
    @cuda.jit
    def reverse(x):
        tile = cuda.shared.array(0, float32)
        i = cuda.threadIdx.x
        tile[i] = x[i]
        cuda.syncthreads()
        x[i] = tile[cuda.blockDim.x - 1 - i]

    x = np.arange(64, dtype=np.float32)
    reverse[1, 64, 0, 64 * 4](x)
    np.testing.assert_array_equal(x, np.arange(64)[::-1])


@pytest.mark.parametrize("key, problem, words", [
    ((1, 1025), ValueError, "block.x must be from 1 to 1024, not 1025"),
    ((1, (64, 32)), ValueError, r"block \(64, 32, 1\) has 2048 threads; a block has at most 1024"),
    ((1, (1, 1, 65)), ValueError, "block.z must be from 1 to 64, not 65"),
    ((0, 32), ValueError, "grid.x must be from 1 to 2147483647, not 0"),
    ((-1, 32), ValueError, "grid.x must be"),
    (((1, 65536), 32), ValueError, "grid.y must be from 1 to 65535, not 65536"),
    ((2**70, 32), ValueError, "grid.x must be"),
    ((1, 0), ValueError, "block.x must be from 1 to 1024, not 0"),
    (((1, 1, 1, 1), 32), ValueError, r"griddim must be a sequence of 1, 2 or 3 integers, got \[1, 1, 1, 1\]"),
    (((), 32), ValueError, r"griddim must be a sequence of 1, 2 or 3 integers, got \[\]"),
    ((1.5, 32), TypeError, r"griddim must be a sequence of integers, got \[1.5\]"),
    ((1, "32"), TypeError, r"blockdim must be a sequence of integers, got \['32'\]"),
    ((True, 32), TypeError, r"griddim must be a sequence of integers, got \[True\]"),
    ((1, 32, "fast"), TypeError, "stream"),
    ((1, 32, 0, -1), ValueError, "sharedmem must be from 0 to"),
    ((1, 32, 0, 1.0), TypeError, "sharedmem must be an int"),
    ((1, 32, 0, 0, 0, 0), ValueError, "expected 2 to 5 entries, not 6"),
    (32, ValueError, "expected 2 to 5 entries, not 1"),
])
def test_bad_configurations(key, problem, words):
    with pytest.raises(problem, match=words):
        add_one[key]


def test_a_launch_without_a_configuration():
    with pytest.raises(TypeError, match=r"add_one\[grid, block\]\(...\)"):
        add_one(np.zeros(3), np.zeros(3))


def test_configured_kernels_are_kept():
    assert add_one[4, 32] is add_one[4, 32]
    assert add_one[4, 32] is add_one[(4,), (32, 1)]
    assert add_one[4, 32] is not add_one[4, 64]
    kept = [add_one[n, 32] for n in range(1, 200)]
    assert [k.griddim[0] for k in kept] == list(range(1, 200))
    assert add_one[3, 32].griddim == (3, 1, 1) and add_one[3, 32].blockdim == (32, 1, 1)
    assert add_one[3, 32, 0, 16].sharedmem == 16


def test_forall(target):
    x, out = np.arange(1000, dtype=np.float32), np.zeros(1000, np.float32)
    add_one.forall(1000)(x, out)
    np.testing.assert_array_equal(out, x + 1)
    out[:] = 0
    add_one.forall(1000, tpb=64)(x, out)
    np.testing.assert_array_equal(out, x + 1)
    add_one.forall(0)(x, out)
    add_one.forall(n=1000, tpb=32)(out, out)
    np.testing.assert_array_equal(out, x + 2)


@pytest.mark.parametrize("arguments, problem, words", [
    (dict(ntasks=-1), ValueError, "Can.t create ForAll with negative task count: ntasks must be from 0 to .*, not -1"),
    (dict(ntasks=1.5), TypeError, "ntasks must be an int"),
    (dict(ntasks=10, tpb=2000), ValueError, "tpb must be from 0 to 1024"),
    (dict(ntasks=10, sharedmem=-1), ValueError, "sharedmem must be"),
])
def test_bad_forall(arguments, problem, words):
    with pytest.raises(problem, match=words):
        add_one.forall(**arguments)


# ---- arguments ----


@cuda.jit
def scaled(x, out, factor=2, *, shift=0.5):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[i] * factor + shift


def test_keywords_and_defaults(target):
    x, out = np.arange(5.0), np.zeros(5)
    scaled[1, 32](x, out)
    np.testing.assert_array_equal(out, x * 2 + 0.5)
    scaled[1, 32](x, out, 3)
    np.testing.assert_array_equal(out, x * 3 + 0.5)
    scaled[1, 32](out=out, x=x, shift=1.0, factor=4)
    np.testing.assert_array_equal(out, x * 4 + 1)


@pytest.mark.parametrize("call, words", [
    (lambda k: k(np.zeros(3)), "missing a required argument: 'out'"),
    (lambda k: k(out=np.zeros(3)), "missing a required argument: 'x'"),
    (lambda k: k(np.zeros(3), np.zeros(3), 1, 2), "positional"),
    (lambda k: k(np.zeros(3), np.zeros(3), depth=2), "depth"),
    (lambda k: k(np.zeros(3), np.zeros(3), x=2), "multiple values"),
])
def test_wrong_arguments(call, words, cpu):
    with pytest.raises(TypeError, match=words):
        call(scaled[1, 32])


def test_argument_that_no_kernel_takes(cpu):
    with pytest.raises(TypeError, match="`x`.*object"):
        add_one[1, 32](object(), np.zeros(3))


@pytest.mark.parametrize("dtype", ["?", "i1", "u2", "i4", "u8", "f2", "f4", "f8", "c8", "c16"])
def test_array_dtypes(dtype, target):
    @cuda.jit
    def copy_items(x, out):
        i = cuda.grid(1)
        if i < x.size:
            out[i] = x[i]

    x = np.arange(40).astype(dtype)
    out = np.zeros_like(x)
    copy_items[2, 32](x, out)
    np.testing.assert_array_equal(out, x)


def test_strides(target):
    @cuda.jit
    def copy_2d(x, out):
        i, j = cuda.grid(2)
        if i < x.shape[0] and j < x.shape[1]:
            out[i, j] = x[i, j]

    base = np.arange(96.0).reshape(8, 12)
    for x in (base, base.T, base[::2, ::-3], np.broadcast_to(np.arange(3.0), (4, 3))):
        out = np.zeros(x.shape)
        copy_2d[(2, 2), (8, 8)](x, out)
        np.testing.assert_array_equal(out, x)


def test_records_and_tuples(target):
    @cuda.jit
    def move(particles, step, out):
        i = cuda.grid(1)
        if i < particles.size:
            out[i] = particles[i].x + step[0] * particles[i].v + step[1]

    particles = np.zeros(10, np.dtype([("x", "f4"), ("v", "f8")], align=True))
    particles["x"], particles["v"] = np.arange(10), 2
    out = np.zeros(10)
    move[1, 32](particles, (0.5, 3), out)
    np.testing.assert_array_equal(out, np.arange(10) + 1 + 3)


def test_in_out_inout(target):
    @cuda.jit
    def swap(x, y):
        i = cuda.grid(1)
        if i < x.size:
            x[i], y[i] = y[i], x[i]

    a, b = np.arange(5.0), np.arange(5.0) + 10
    swap[1, 32](cuda.InOut(a), b)
    assert a[0] == 10 and b[0] == 0
    c = np.zeros(5)
    add_one[1, 32](cuda.In(a), cuda.Out(c))
    np.testing.assert_array_equal(c, a + 1)
    assert repr(cuda.In(1)) == "lanewise.cuda.In(1)" and cuda.Out(a).value is a


def test_what_in_wraps_does_not_come_back(target):
    @cuda.jit
    def spoil(x):
        x[cuda.grid(1)] = -1

    a = np.arange(32.0)
    spoil[1, 32](cuda.In(a))
    np.testing.assert_array_equal(a, np.arange(32.0))


def test_readonly_arrays(cpu):
    x, out = np.arange(5.0), np.zeros(5)
    x.flags.writeable = False
    add_one[1, 32](x, out)
    np.testing.assert_array_equal(out, x + 1)
    out.flags.writeable = False
    with pytest.raises(errors.TypingError, match="E162.*read-only"):
        add_one[1, 32](x, out)


# ---- signatures ----


@pytest.mark.parametrize("signature", [
    "void(float32[:], float32[:])", "(f4[:], f4[:])", void(float32[:], float32[:]), (float32[:], float32[:]),
    ["void(float32[::1], float32[::1])"], [void(float32[:], float32[:]), "void(float64[:], float64[:])"],
])
def test_eager_signatures(signature, target):
    kernel = cuda.jit(signature)(add_one.py_func)
    assert len(kernel.signatures) == (2 if isinstance(signature, list) and len(signature) == 2 else 1)
    x, out = np.arange(50, dtype=np.float32), np.zeros(50, np.float32)
    kernel[2, 32](x, out)
    np.testing.assert_array_equal(out, x + 1)


def test_eager_signatures_alone_are_used(cpu):
    kernel = cuda.jit("void(float32[::1], float32[::1])")(add_one.py_func)
    with pytest.raises(TypeError, match=r"float64\[::1\]"):
        kernel[1, 32](np.zeros(5), np.zeros(5))
    with pytest.raises(TypeError, match=r"float32\[:\]"):
        kernel[1, 32](np.zeros(10, np.float32)[::2], np.zeros(5, np.float32))


def test_scalars_are_cast_safely_to_a_signature(target):
    @cuda.jit(["void(float64[:], float64)", "void(float64[:], int32)"])
    def fill(out, value):
        out[cuda.grid(1)] = value

    out = np.zeros(1)
    for value in (3, 2.5, np.int8(4), np.float32(0.5), True):
        fill[1, 1](out, value)
        assert out[0] == value
    with pytest.raises(TypeError):
        fill[1, 1](out, 1j)


def test_lazy_kernels_list_what_was_compiled(cpu):
    kernel = cuda.jit(add_one.py_func)
    assert kernel.signatures == []
    kernel[1, 32](np.zeros(5, np.float32), np.zeros(5))
    kernel[1, 32](np.zeros(5, np.float32), np.zeros(5))
    kernel[1, 32](np.zeros(5), np.zeros((5, 2))[:, 0])
    assert kernel.signatures == ["void(float32[::1], float64[::1])", "void(float64[::1], float64[:])"]


def test_kernels_return_nothing():
    with pytest.raises(errors.CompileError, match="E183"):
        cuda.jit("float32(float32)")(lambda x: x)
    with pytest.raises(errors.CompileError, match="E183"):
        cuda.jit("void(float32[:])")(lambda x: x[0])


def test_eager_kernels_compile_at_decoration(cpu):
    with pytest.raises(errors.CompileError, match="E150"):
        @cuda.jit("void(float32[:])")
        def wrong(x):
            x[0] = nowhere  # noqa: F821


# ---- keywords ----


@pytest.mark.parametrize("keywords", [
    dict(inline="never"), dict(inline="always"), dict(forceinline=True), dict(link=()), dict(debug=True), dict(opt=False),
    dict(lineinfo=True), dict(fastmath=True), dict(max_registers=32), dict(launch_bounds=128), dict(launch_bounds=(128, 2)),
    dict(cache=True), dict(cooperative=False), dict(lto=True), dict(extensions=[]), dict(typing="numba"), dict(check={"bounds"}),
    dict(errors="defer"), dict(target="auto"), dict(boundscheck=True), dict(shared_memory_carveout=-1), dict(shared_memory_carveout=50), dict(shared_memory_carveout="MaxShared"), dict(launch_bounds=(128, 2, 4)), dict(nopython=True),
])
def test_keywords(keywords, cpu):
    kernel = cuda.jit(**keywords)(add_one.py_func)
    x, out = np.arange(50.0), np.zeros(50)
    kernel[1, 64](x, out)
    np.testing.assert_array_equal(out, x + 1)


def test_fastmath_lets_sums_become_vectors():
    def squares(x):
        total = 0.0
        for i in range(x.shape[0]):
            total += x[i] * x[i]
        return total

    x = np.arange(100.0)
    for fastmath, name in ((False, "@llvm.fma.f64"), (True, "@llvm.fmuladd.f64")):
        f = lw.jit(fastmath=fastmath)(squares)
        assert f(x) == 328350.0
        assert name in f.inspect_llvm(f.signatures[0])


@pytest.mark.parametrize("keywords, problem, words", [
    (dict(nonsense=1), TypeError, "jit.. got an unexpected keyword argument 'nonsense'"),
    (dict(nogil=1), TypeError, "nogil= must be True or False"),
    (dict(error_model="ieee"), ValueError, "error_model= must be"),
    (dict(forceobj=True), errors.UnsupportedError, "there is no object mode"),
    (dict(looplift=True), errors.UnsupportedError, "there is no object mode"),
    (dict(locals=["x"]), TypeError, "locals= must be a dict of types by"),
    (dict(pipeline_class=None), TypeError, "'pipeline_class': leave it out"),
    (dict(fastmaths=True), TypeError, "did you mean 'fastmath'"),
    (dict(device=1), TypeError, "device= must be True or False"),
    (dict(inline="maybe"), ValueError, "inline= must be"),
    (dict(link=["a.ptx"]), FileNotFoundError, "a.ptx"),
    (dict(link=[1]), TypeError, "link="),
    (dict(extensions=[object()]), TypeError, "extensions= must be a list of objects with a method prepare_args"),
    (dict(max_registers=0), ValueError, "max_registers= must be"),
    (dict(launch_bounds=2048), ValueError, "launch_bounds= must be"),
    (dict(launch_bounds=()), ValueError, "launch_bounds= must be"),
    (dict(launch_bounds="1"), TypeError, "launch_bounds= must be"),
    (dict(launch_bounds=(128, 1, 17)), ValueError, "launch_bounds= must be .* blocks a cluster"),
    (dict(launch_bounds=(128, 1, 2, 3)), ValueError, "launch_bounds= must be"),
    (dict(shared_memory_carveout=101), ValueError, "must be between -1 and 100"),
    (dict(shared_memory_carveout=-2), ValueError, "must be between -1 and 100"),
    (dict(shared_memory_carveout="most"), ValueError, "shared_memory_carveout= must be .*MaxShared.* not 'most'"),
    (dict(shared_memory_carveout=0.5), TypeError, "shared_memory_carveout= must be"),
    (dict(identity=0), TypeError, "identity"),
    (dict(fastmath="very"), TypeError, "fastmath= must be"),
    (dict(opt=3), TypeError, "opt= must be"),
])
def test_bad_keywords(keywords, problem, words):
    with pytest.raises(problem, match=words):
        cuda.jit(**keywords)


def test_launch_bounds_hold(cpu):
    kernel = cuda.jit(launch_bounds=64)(add_one.py_func)
    with pytest.raises(ValueError, match="128 threads.*launch_bounds.*64"):
        kernel[1, 128](np.zeros(3), np.zeros(3))


# ---- device functions ----


@cuda.jit(device=True)
def square(x):
    return x * x


def cube(x, times=3):
    result = x
    for _ in range(times - 1):
        result = square(x) * x if times == 3 else result * x
        break
    return result


def test_device_functions(target):
    @cuda.jit("float64(float64)", device=True)
    def half(x):
        return x / 2

    @cuda.jit
    def use(x, out):
        i = cuda.grid(1)
        if i < x.size:
            out[i] = square(x[i]) + cube(x[i]) + half(x[i])

    x = np.arange(5.0)
    out = np.zeros(5)
    use[1, 32](x, out)
    np.testing.assert_array_equal(out, x * x + x**3 + x / 2)


def test_device_functions_in_other_generators():
    @lw.vectorize
    def f(x):
        return square(x) + 1

    @lw.forall
    def g(i, out):
        out[i] = square(i)

    out = np.zeros(4)
    g(4, out)
    assert f(np.arange(3.0)).tolist() == [1, 2, 5] and out.tolist() == [0, 1, 4, 9]


def test_methods_as_kernels(cpu):
    class Filler:
        value = 3

        def fill(self, x):
            x[cuda.grid(1)] = self.value

    x = np.zeros(2)
    cuda.jit(Filler().fill)[1, 2](x)
    assert x.tolist() == [3, 3]


def test_kernels_name_their_parameters():
    with pytest.raises(errors.UnsupportedError, match=r"`\*rest`: name each parameter"):
        @cuda.jit
        def kernel(x, *rest):
            x[0] = rest[0]


def test_device_functions_on_the_host():
    assert square(3) == 9 and square(x=3) == 9
    with pytest.raises(TypeError, match="device=True.*cannot be launched"):
        square[1, 32](3)


# ---- the classic kernels ----


def test_shared_memory_matrix_product(target):
    n = 16

    @cuda.jit
    def matmul(a, b, c):
        sa = cuda.shared.array((n, n), float32)
        sb = cuda.shared.array((n, n), float32)
        x, y = cuda.grid(2)
        tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
        total = float32(0)
        for step in range((a.shape[1] + n - 1) // n):
            sa[tx, ty] = a[x, step * n + ty] if x < a.shape[0] and step * n + ty < a.shape[1] else float32(0)
            sb[tx, ty] = b[step * n + tx, y] if step * n + tx < b.shape[0] and y < b.shape[1] else float32(0)
            cuda.syncthreads()
            for k in range(n):
                total += sa[tx, k] * sb[k, ty]
            cuda.syncthreads()
        if x < c.shape[0] and y < c.shape[1]:
            c[x, y] = total

    rng = np.random.default_rng(1)
    a, b = rng.integers(-5, 5, (40, 50)).astype("f4"), rng.integers(-5, 5, (50, 30)).astype("f4")
    c = np.zeros((40, 30), "f4")
    matmul[(3, 2), (n, n)](a, b, c)
    np.testing.assert_array_equal(c, a @ b)


def test_block_reduction(target):
    @cuda.jit
    def total(x, out):
        part = cuda.shared.array(128, int64)
        i, t = cuda.grid(1), cuda.threadIdx.x
        part[t] = x[i] if i < x.size else 0
        cuda.syncthreads()
        width = 64
        while width > 0:
            if t < width:
                part[t] += part[t + width]
            cuda.syncthreads()
            width //= 2
        if t == 0:
            cuda.atomic.add(out, 0, part[0])

    x = np.arange(5000)
    out = np.zeros(1, np.int64)
    total[40, 128](x, out)
    assert out[0] == x.sum()


def test_warp_reduction(target):
    @cuda.jit
    def total(x, out):
        i = cuda.grid(1)
        value = x[i] if i < x.size else int32(0)
        for width in (16, 8, 4, 2, 1):
            value += cuda.shfl_down_sync(0xffffffff, value, width)
        if cuda.laneid == 0:
            cuda.atomic.add(out, 0, value)

    x = np.arange(1000, dtype=np.int32)
    out = np.zeros(1, np.int32)
    total[8, 128](x, out)
    assert out[0] == x.sum()


def test_histogram(target):
    @cuda.jit
    def histogram(x, low, high, out):
        i = cuda.grid(1)
        step = cuda.gridsize(1)
        width = (high - low) / out.size
        for k in range(i, x.size, step):
            at = int((x[k] - low) / width)
            if 0 <= at < out.size:
                cuda.atomic.add(out, at, 1)

    x = np.random.default_rng(2).normal(size=20000)
    out = np.zeros(32, np.int32)
    histogram[8, 64](x, -4.0, 4.0, out)
    np.testing.assert_array_equal(out, np.histogram(x, 32, (-4, 4))[0])


def test_stencil(target):
    @cuda.jit
    def heat(u, out, k):
        i, j = cuda.grid(2)
        if 0 < i < u.shape[0] - 1 and 0 < j < u.shape[1] - 1:
            out[i, j] = u[i, j] + k * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] - 4 * u[i, j])

    u = np.random.default_rng(3).integers(0, 100, (33, 45)).astype(float)
    out = u.copy()
    heat[(3, 3), (16, 16)](u, out, 0.25)
    expected = u.copy()
    expected[1:-1, 1:-1] += 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4 * u[1:-1, 1:-1])
    np.testing.assert_array_equal(out, expected)


# ---- errors ----


def test_no_gpu(run_python, tmp_path):
    code = ("import numpy as np\n"
            "from lanewise import cuda, errors\n"
            "@cuda.jit\n"
            "def k(x):\n"
            "    x[cuda.grid(1)] = 1\n"
            "try:\n"
            "    k[1, 3](np.zeros(3))\n"
            "except errors.DriverError as problem:\n"
            "    assert 'nothing.so' in str(problem), problem\n"
            "else:\n"
            "    raise AssertionError\n")
    file = tmp_path / "program.py"
    file.write_text(code)
    run_python(str(file), LANEWISE_CUDA_DRIVER=str(tmp_path / "nothing.so"))


def test_raise_in_a_kernel(target):
    @cuda.jit
    def check(x):
        i = cuda.grid(1)
        if x[i] < 0:
            raise ValueError("negative")

    x = np.ones(64)
    check[2, 32](x)
    x[37] = -1
    with pytest.raises(ValueError, match=r"negative.*tid=\[5, 0, 0\] ctaid=\[1, 0, 0\]"):
        check[2, 32](x)
        cuda.synchronize() if target == "cuda" else None
    x[37] = 1
    check[2, 32](x)


def test_wrong_code_is_told_with_its_place(cpu):
    @cuda.jit
    def wrong(x):
        x[0] = "text"

    with pytest.raises(errors.TypingError) as caught:
        wrong[1, 1](np.zeros(3))
    assert caught.value.filename == __file__ and caught.value.lineno
    assert math.isfinite(caught.value.lineno)


# ---- numbers for a declared type ----

def _keeps(out, n):
    out[0] = int(n)


def _sums(out, t):
    out[0] = t[0] + t[1]


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "uint8", "uint16", "uint32", "uint64"])
def test_ints_fit_the_declared_type(dtype):
    """NumPy raises OverflowError for a Python int that a type does not hold; so does a launch, the first and any later one."""
    kernel = cuda.jit(f"void(int64[:], {dtype})", target="cpu")(_keeps)
    each = lw.forall(f"void(int64[:], {dtype})", target="cpu")(lambda i, out, n: _keeps(out, n))
    value = lw.jit(f"int64({dtype})", target="cpu")(lambda n: int(n))
    limits = np.iinfo(dtype)
    out = np.zeros(1, np.int64)
    for n in (int(limits.min), min(int(limits.max), 2**63 - 1)) * 2:
        kernel[1, 1](out, n)
        assert out[0] == n
        each(1, out, n)
        each.bind(1, out, n)()
        assert out[0] == value(n) == n
    for n in {int(limits.min) - 1, min(int(limits.max) + 1, 2**63 - 1)} - {2**63 - 1}:
        for call in (lambda: kernel[1, 1](out, n), lambda: kernel[1, 1].bind(out, n)(), lambda: kernel.forall(1)(out, n),
                     lambda: each(1, out, n), lambda: each.bind(1, out, n), lambda: value(n)):
            with pytest.raises(OverflowError, match=rf"argument `n`: {n} does not fit {dtype}"):
                call()


def test_ints_in_tuples_fit_the_declared_type():
    kernel = cuda.jit("void(int64[:], Tuple(uint8, int16))", target="cpu")(_sums)
    out = np.zeros(1, np.int64)
    kernel[1, 1](out, (255, -1))
    assert out[0] == 254
    for t in ((256, 0), (0, 2**15)):
        with pytest.raises(OverflowError, match=f"argument `t`: {max(t)} does not fit"):
            kernel[1, 1](out, t)


@pytest.mark.parametrize(("declared", "given"), [("uint8", np.int64(5)), ("uint8", np.uint64(2**63)), ("int32", np.int64(2**40)),
                                                 ("int64", np.uint64(1)), ("int64", np.uint64(2**64 - 1)), ("int8", np.uint8(1)), ("int8", np.uint8(200)), ("uint64", np.int8(-3))])
def test_numpy_integers_fit_the_declared_type(declared, given):
    """They are checked as Python's are."""
    kernel = cuda.jit(f"void(int64[:], {declared})", target="cpu")(_keeps)
    value = lw.jit(f"int64({declared})", target="cpu")(lambda n: int(n))
    out = np.zeros(1, np.int64)
    limits = np.iinfo(declared)
    if limits.min <= given <= limits.max:
        kernel[1, 1](out, given)
        assert out[0] == value(given) == given
    else:
        for call in (lambda: kernel[1, 1](out, given), lambda: value(given)):
            with pytest.raises(OverflowError, match=rf"argument `n`: {given} does not fit {declared}"):
                call()
    kernel[1, 1](out, np.dtype(declared).type(7))
    kernel[1, 1](out, np.bool_(True))
    assert out[0] == 1


@pytest.mark.parametrize("value", [5, 2.7, -2.7, 300, 2**33, -1, True, np.float64(2.7), np.float32(1.5), np.float16(1.5), np.int64(2**33), np.int8(-3), np.uint64(2**63 + 1), 1e10, 1e30, float("nan"), float("inf"), 2**63])
def test_numbers_are_cast_as_numba_casts_them(value):
    """numba's unboxing: int(x), of which 64 bits and the sign must be right, and then the bits that the type has; bool(x), float(x)."""
    for dtype in ("int32", "uint8", "int64", "uint64", "bool_", "float32"):
        limits = None if dtype in ("bool_", "float32") else np.iinfo("uint64" if dtype[0] == "u" else "int64")
        value_of = lw.jit(f"{dtype}({dtype})", typing="numba", target="cpu")(lambda n: n)
        given = [value] if not isinstance(value, float) or limits is None else [value, np.float64(value)]
        for one in given:
            try:
                wanted = bool(one) if dtype == "bool_" else np.float32(one) if dtype == "float32" else int(one)
            except (ValueError, OverflowError) as error:
                with pytest.raises(type(error)):
                    value_of(one)
                continue
            if limits is not None and not limits.min <= wanted <= limits.max:
                with pytest.raises(OverflowError):
                    value_of(one)
                continue
            if limits is not None:
                wanted = np.array(wanted & (2**64 - 1), np.uint64).astype(dtype)
            np.testing.assert_equal(value_of(one), wanted.item() if hasattr(wanted, "item") else wanted)
    with pytest.raises(TypeError, match="E181"):
        lw.jit("int32(int32)", typing="numba", target="cpu")(lambda n: n)(1j)
    with pytest.raises(TypeError, match="E181"):
        lw.jit("int32(int32)", target="cpu")(lambda n: n)(2.7)


def test_exact_signatures_come_before_numbas_casts():
    f = lw.jit(["int64(int32)", "float64(float64)"], typing="numba", target="cpu")(lambda n: n)
    assert f(2.5) == 2.5 and f(np.float32(2.5)) == 2.5 and f(np.int32(3)) == 3 and f(True) == 1

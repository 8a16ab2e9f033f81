"""cuda.ldca, cuda.stcg and so on: loads and stores that tell a GPU's caches what comes."""

import numpy as np
import pytest

import lanewise as lw
from lanewise import cuda, errors

LOADS = {"ca": cuda.ldca, "cg": cuda.ldcg, "cs": cuda.ldcs, "lu": cuda.ldlu, "cv": cuda.ldcv}
STORES = {"cg": cuda.stcg, "cs": cuda.stcs, "wb": cuda.stwb, "wt": cuda.stwt}
DTYPES = ["b1", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8"]


def copy_with(load, store):
    def copy(x, r):
        i = cuda.grid(1)
        if i < x.shape[0]:
            for j in range(x.shape[1]):
                store(r, (i, j), load(x, (i, j)))

    return copy


@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize("load", LOADS)
def test_copies_of_every_dtype(target, load, store):
    copy = copy_with(LOADS[load], STORES[store])
    kernel = cuda.jit(copy)
    for dtype in DTYPES:
        x = np.array([[0, 1, 2, 100], [1, 0, 3, 7], [5, 1, 1, 0]]).astype("?" if dtype == "b1" else dtype)
        r = np.zeros_like(x[::-1].T).T[:, ::-1]
        kernel[1, 32](x, r)
        np.testing.assert_array_equal(r, x)
        if (load, dtype) in {("cs", "f2"), ("cv", "u1"), ("ca", "f8")}:
            for arch in ("sm_75", "sm_90", "sm_120"):
                text, _ = cuda.compile_ptx(copy, f"({dtype}[:,:], {dtype}[:,:])", cc=(int(arch[3:-1]), int(arch[-1])))
                assert f"ld.global.{load}.b{x.itemsize * 8} " in text
                assert f"st.global.{store}.b{x.itemsize * 8} " in text
                assert lw.compile(copy, f"({dtype}[:,:], {dtype}[:,:])", target=arch, output="cubin")


def test_memory_of_the_block(target):
    @cuda.jit
    def turned(x, r):
        own = cuda.shared.array(32, np.float32)
        i = cuda.threadIdx.x
        cuda.stcs(own, i, x[i])
        cuda.syncthreads()
        r[i] = cuda.ldcg(own, 31 - i)

    x, r = np.arange(32, dtype="f4"), np.zeros(32, "f4")
    turned[1, 32](x, r)
    np.testing.assert_array_equal(r, x[::-1])
    text, _ = cuda.compile_ptx(turned.py_func, "(f4[:], f4[:])", cc=(9, 0))
    assert "ld.cg.b32" in text and "st.cs.b32" in text  # not .global


def test_functions_that_kernels_call(target):
    @cuda.jit(device=True)
    def doubled(x, i):
        cuda.stwt(x, i, 2 * cuda.ldlu(x, i))

    @cuda.jit
    def kernel(x):
        doubled(x, cuda.grid(1))

    x = np.arange(32, dtype="i8")
    kernel[1, 32](x)
    np.testing.assert_array_equal(x, 2 * np.arange(32))
    text, _ = cuda.compile_ptx(kernel.py_func, "(i8[:],)", cc=(9, 0))
    assert "ld.global.lu.b64" in text and "st.global.wt.b64" in text


def test_python_target():
    kernel = cuda.jit(copy_with(cuda.ldcs, cuda.stwb))
    x, r = np.arange(6.0).reshape(2, 3), np.zeros((2, 3))
    with lw.config(target="python"):
        kernel[1, 2](x, r)
    np.testing.assert_array_equal(r, x)


def test_indices_are_checked(target):
    @cuda.jit(check={"bounds"})
    def far(x):
        cuda.stcs(x, 7, cuda.ldcs(x, 1))

    with pytest.raises(IndexError, match="7"):
        far[1, 1](np.zeros(3))
        cuda.synchronize()


@pytest.mark.parametrize(
    "body, words",
    [
        ("cuda.ldcs(x, 1.0)", "E120.*must be an integer"),
        ("cuda.ldcs(x, (1, 2))", "E121: too many indices"),
        ("cuda.stcs(x, 0, 1j)", "E142: complex"),
        ("cuda.ldcs(3, 1)", "`cuda.ldcs` needs an array first"),
        ("cuda.stwt(x, 0, 'a')", "`cuda.stwt` needs a number here"),
        ("cuda.stcg(z, 0, 1)", "`cuda.stcg` needs an array of real numbers or bool"),
        ("cuda.stcg(c, 0, 1)", "E162.*`cuda.stcg` updates a read-only array"),
    ],
)
def test_what_is_refused(body, words):
    space = {"cuda": cuda, "c": np.arange(3.0)}
    text = f"def f(x, z):\n    {body}\n"
    exec(text, space)
    with pytest.raises(errors.CompileError, match=f"(?s){words}"):
        cuda.jit("(f4[:], c8[:])", source=text)(space["f"])

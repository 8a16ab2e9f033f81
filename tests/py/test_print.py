"""print() in compiled functions: the text is Python's, in the order of the elements."""
import gc
import re

import numpy as np
import pytest

import lanewise as lw
from lanewise import cuda


def plain(x):
    print("x =", x, "half:", x / 2, x > 2, sep=" | ")
    return x


def ends(x):
    print(x, end=";")
    print(end="\n")
    return x


def helper(x):
    print("seen", x)
    return 7


def through_a_function(x):
    return x + helper(3)


def only_some(x):
    if x > 1:
        print(x)
    return x


def looped(x):
    for i in range(2):
        print(i, (x, i), None, 1.5)
    return x


def python_prints(function, values, capsys):
    for x in values:
        function(x)
    return capsys.readouterr().out


@pytest.mark.parametrize("function", [plain, ends, through_a_function, only_some])
@pytest.mark.parametrize("dtype", ["f4", "f8", "f2", "i1", "u2", "i4", "u8", "c8", "c16", "?"])
def test_text_is_pythons(function, dtype, capsys):
    if dtype in ("c8", "c16", "?") and function in (plain, only_some):
        pytest.skip("no order or division")
    x = np.array([0, 1, 2, 3, 100], dtype)
    if x.dtype.kind in "fc":
        x = x / x.dtype.type(3)
    wanted = python_prints(function, x, capsys)
    lw.vectorize(function)(x)
    assert capsys.readouterr().out == wanted != ""


def test_tuples_and_none(capsys):
    lw.vectorize(looped)(np.array([2.0, np.nan]))
    assert capsys.readouterr().out == (
        "0 (2.0, 0) None 1.5\n1 (2.0, 1) None 1.5\n0 (nan, 0) None 1.5\n1 (nan, 1) None 1.5\n")


def test_order_of_many_elements(capsys):
    x = np.arange(200_000)

    @lw.vectorize
    def f(v):
        print(v)
        return v

    f(x)
    assert capsys.readouterr().out == "".join(f"{i}\n" for i in range(200_000))


def test_strided_and_vector_math(capsys):
    @lw.vectorize
    def f(v):
        print(v)
        return np.sin(v)

    f(np.arange(10.0)[::3])
    assert capsys.readouterr().out == "0.0\n3.0\n6.0\n9.0\n"


def test_what_cannot_be_shown():
    with pytest.raises(lw.errors.CompileError, match="print"):
        lw.vectorize(lambda x: (print(np.sin), x)[1])(1.0)
    with pytest.raises(lw.errors.CompileError, match="no such parameter"):
        lw.vectorize(lambda x: (print(x, file=None), x)[1])(1.0)
    with pytest.raises(lw.errors.CompileError, match="at most 16"):
        lw.vectorize(lambda x: (print(*(x, x, x, x, x, x), x, x, x, x, x, x, x, x, x, x, x), x)[1])(1.0)


@pytest.mark.parametrize("target", ["sm_75", "sm_90", "sm_100", "sm_120"])
def test_gpu_code(target):
    cubin = lw.compile(plain, "float32(float32)", target=target, output="cubin")
    assert b"lw_print_buffer\0" in cubin
    ptx = lw.compile(plain, "float32(float32)", target=target, output="ptx")
    assert re.search(r"atom\S*\.add\.u64", ptx)


SIZE = 3


def formatted(x):
    print(f"{x:.3f} is {x} of {SIZE:>4}", f"<{x > 1}>{x * 2!s}")
    return x


def joined_error(x):
    if x > 1:
        raise ValueError(f"{x:.2f} is more than {SIZE - 2}")
    return x


def constant_text(x):
    assert x < 5, f"at most {SIZE + 1}"
    return x


def test_triples_of_indices(capsys):
    """cuda.threadIdx and its like are tuples with names where they are values."""
    @lw.jit(device=True)
    def total(t):
        return t.x + 10 * t.y + 100 * t.z

    @lw.jit(target="cpu")
    def kernel(out):
        t, (bx, by, bz) = cuda.threadIdx, cuda.blockDim
        if cuda.threadIdx == (1, 0, 1):
            print(cuda.threadIdx, cuda.blockIdx, cuda.blockDim, cuda.gridDim)
        out[t.z, t.y, t.x] = total(cuda.threadIdx) + 1000 * (bx + by + bz)

    out = np.zeros((2, 2, 2))
    kernel[1, (2, 2, 2)](out)
    assert capsys.readouterr().out == "(1, 0, 1) (0, 0, 0) (2, 2, 2) (1, 1, 1)\n"
    assert out.tolist() == [[[6000, 6001], [6010, 6011]], [[6100, 6101], [6110, 6111]]]

    @lw.jit(target="cpu")
    def other(out):
        print(cuda.shared)

    with pytest.raises(lw.errors.TypingError, match="E120"):
        other[1, 1](out)


@pytest.mark.parametrize("dtype", ["f4", "f8", "i4", "u1"])
def test_f_strings(dtype, capsys):
    x = np.array([0, 1, 2, 7], dtype)
    if x.dtype.kind == "f":
        x = x / x.dtype.type(3)
    wanted = python_prints(formatted, x, capsys)
    lw.vectorize(formatted)(x)
    assert capsys.readouterr().out == wanted


def empty_formats(x):
    print(f"{x:}|{x!s:}|{SIZE:}|{'a':}")
    return x


def test_empty_formats(capsys):
    x = np.array([0.5, 3.0])
    wanted = python_prints(empty_formats, x, capsys)
    lw.vectorize(empty_formats)(x)
    assert capsys.readouterr().out == wanted


def conversions(x, n, z, c, mode, name):
    print(f"{x!r}|{x!s:>12}|{n!r:^9}|{z!r:*>12}|{c!r}|{c!s:7}|{mode!r:<9}|{mode!s:>6}|{name!r:>5}|{SIZE!r:>5}|{'a'!r:>5}|{None!r}")
    print(f"{x=} {n=:04d} {(x, n)=} {mode=} {z=!s:>14} {(n, None, c)!r}")
    print("%r %8r %s %8s" % (x, n, z, x), "{!r:>9} {!s:<5}|".format(x, c), repr(n), str(x), repr(mode), str(z) + "!")
    return n


def test_conversions_in_f_strings(capsys):
    """Numbers are Python's, as in tuples: NumPy's repr has their type in front."""
    for args in ((0.1, 3, 1 - 2j, True, "it's", "b"), (float("nan"), -7, 0j, False, "", "\\n")):
        wanted = python_prints(lambda _: conversions(*args), [0], capsys)
        lw.njit(conversions)(*args)
        assert capsys.readouterr().out == wanted
    x = np.array([0.1, 1e30], np.float32)

    @lw.vectorize
    def shown(x):
        print(f"{x!r} {x=} {x!s} {x!r:>8} {np.int8(3)!r}", repr(x), str(x), "%s %6s" % (x, x))
        return x

    shown(x)
    assert capsys.readouterr().out == "".join(f"{x} x={x} {x} {x:>8} 3 {x} {x} {x} {x:>6}\n" for x in map(str, x))

    @lw.njit
    def refused(x, y):
        assert x < y, f"{x=} is not below {y!r:>5}"
        raise ValueError(f"{(x, y)!r}")

    with pytest.raises(AssertionError, match=r"^x=2\.5 is not below   1\.0 \(raised"):
        refused(2.5, 1.0)
    with pytest.raises(ValueError, match=r"^\(0\.5, 1\.0\) \(raised"):
        refused(0.5, 1.0)


def test_f_strings_of_errors():
    with pytest.raises(ValueError, match=r"^1\.50 is more than 1 \(raised"):
        lw.vectorize(joined_error)(np.array([0.5, 1.5, 2.5]))
    with pytest.raises(AssertionError, match=r"^at most 4 \(raised"):
        lw.vectorize(constant_text)(np.array([0.5, 6.5]))


@pytest.mark.parametrize("function, words", [
    (lambda x: f"{x}", "made at run time cannot be a value"),
    (lambda x: (print(f"{x!a}"), x)[1], "this part of an f-string"),
    (lambda x: (print(f"{x!r:.2f}"), x)[1], "format of a field of an f-string is not for strings"),
    (lambda x: (print(f"{(x, x)!s:>9}"), x)[1], "a field of an f-string with a format shows a number or a string"),
    (lambda x: (print(f"{x:{SIZE}}"), x)[1], "this part of an f-string"),
])
def test_f_strings_that_are_refused(function, words):
    with pytest.raises(lw.errors.CompileError, match=words):
        lw.vectorize(function)(1.0)


# ---- on a GPU ----

on_gpu = [pytest.mark.gpu, pytest.mark.skipif(not lw.cuda.is_available(), reason="needs a CUDA device")]


class TestOnGpu:
    pytestmark = on_gpu

    @pytest.mark.parametrize("dtype", ["f4", "f8", "f2", "i1", "u8"])
    def test_text_is_pythons(self, dtype, capsys):
        x = np.array([0, 1, 2, 3, 100], dtype)
        wanted = python_prints(plain, x, capsys)
        lw.vectorize(plain)(lw.cuda.to_device(x))
        lw.cuda.synchronize()
        assert sorted(capsys.readouterr().out.splitlines()) == sorted(wanted.splitlines())

    def test_lines_of_a_thread_stay_in_order(self, capsys):
        @lw.cuda.jit
        def k(n):
            for j in range(n):
                print(lw.cuda.threadIdx.x, j)

        k[1, 8](50)
        lw.cuda.synchronize()
        lines = [tuple(map(int, row.split())) for row in capsys.readouterr().out.splitlines()]
        assert sorted(lines) == [(t, j) for t in range(8) for j in range(50)]
        for t in range(8):
            assert [j for thread, j in lines if thread == t] == list(range(50))

    @pytest.mark.parametrize("wait", ["synchronize", "stream", "copy", "item"])
    def test_every_wait_shows(self, wait, capsys):
        stream = lw.cuda.stream()
        x = lw.cuda.to_device(np.arange(3.0), stream=stream)

        @lw.forall
        def k(i, x):
            print(f"element {i}")

        k(3, x, stream=stream)
        if wait == "synchronize":
            lw.cuda.synchronize()
        elif wait == "stream":
            stream.synchronize()
        elif wait == "copy":
            x.copy_to_host(stream=stream)
            stream.synchronize()
        else:
            stream.synchronize()
            float(x[1])
        assert sorted(capsys.readouterr().out.splitlines()) == [f"element {i}" for i in range(3)]

    def test_what_finds_no_room_is_counted(self, capsys):
        @lw.forall
        def k(i, x):
            print(i)

        k(1_000_000, lw.cuda.to_device(np.zeros(1)))
        lw.cuda.synchronize()
        *lines, last = capsys.readouterr().out.splitlines()
        dropped = int(last.split()[1])
        assert last == f"... {dropped} lines dropped: the buffer was full"
        assert dropped > 0 and len(set(map(int, lines))) == len(lines) == 1_000_000 - dropped
        k(5, lw.cuda.to_device(np.zeros(1)))
        lw.cuda.synchronize()
        assert sorted(capsys.readouterr().out.splitlines()) == ["0", "1", "2", "3", "4"]

    def test_what_was_printed_before_a_kernel_went(self, capsys):
        def once():
            @lw.forall
            def k(i, x):
                print("last words", i)

            k(1, lw.cuda.to_device(np.zeros(1)))

        once()
        gc.collect()
        lw.cuda.synchronize()
        assert capsys.readouterr().out == "last words 0\n"


def prints_containers(n):
    l = [v for v in range(n)]
    d = {i: i * 0.5 for i in range(n)}
    g = {}
    for i in range(n):
        g.setdefault(i % 2, []).append(i)
    words = ["a" if i else "b" for i in range(n)]
    k = {"x": 1}
    k["z"] = n
    print(l)
    print("l =", l, "d =", d, n, sep="|")
    print({1, 2}, set(), [[i] * i for i in range(n)], g, end="!\n")
    print([(i, 2.5) for i in range(n)], words, k, sep="")
    print([n, 2], sorted([3, n, 1]), {1: n}, [])
    fixed = [n, 1]
    print(fixed, [n, 2], l, [[n], [1, 2]])
    l.append(3)
    print(l, len(l))


def test_lists_dicts_and_sets(capfd):
    prints_containers(3)
    wanted = capfd.readouterr().out
    lw.njit(prints_containers)(3)
    assert capfd.readouterr().out == wanted


def test_help_with_what_is_not_printed():
    def total(x):
        return [v for v in x]

    for function, help in ((lambda x: print(x), "print(list(x))"), (lambda x: print(total(x)), "print(list(x))")):
        with pytest.raises(lw.errors.TypingError) as error:
            lw.njit(function)(np.arange(3))
        assert help in str(error.value)


def test_fixed_lists_in_kernels_need_no_memory():
    @cuda.jit
    def k(x):
        y = [x[0], 2.0]
        print([x[0], 1.5], y)

    assert "alloc" not in k.inspect_llvm("void(float64[:])")

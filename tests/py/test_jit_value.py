"""lw.jit's functions called on the host: numbers and arrays in, numbers out; `overloads`."""

from __future__ import annotations

import enum
import math
import pickle
import threading

import numpy as np
import pytest

import lanewise as lw
from lanewise import cuda, errors
from lanewise.types import float64, int32, void


class Colour(enum.Enum):
    RED = "red"


@lw.jit
def plus(x):
    return x + 1


@lw.jit
def trace_sum(a):
    total = 0.0
    for i in range(a.shape[0]):
        total += math.tanh(a[i, i])
    return total


@pytest.mark.parametrize("x, result", [
    (3, 4), (2.5, 3.5), (True, 2), (1j, 1 + 1j), (np.float32(2), 3.0), (np.int8(5), 6), (np.uint64(2**63), 2**63 + 1),
    (np.complex64(1j), 1 + 1j), (np.float16(2), 3.0), (np.bool_(True), 2)])
def test_numbers(x, result):
    got = plus(x)
    assert got == result and type(got) in (int, float, complex)


def test_arrays():
    a = np.random.default_rng(1).random((7, 7))
    assert trace_sum(a) == pytest.approx(np.trace(np.tanh(a)), rel=1e-14)
    assert trace_sum(a[::-1, ::2][:4]) == pytest.approx(np.trace(np.tanh(a[::-1, ::2][:4])), rel=1e-14)
    assert trace_sum(a.astype(np.float32).T) == pytest.approx(np.trace(np.tanh(a)), rel=1e-6)


def test_fills_and_returns_nothing():
    @lw.jit
    def fill(a, value):
        for i in range(a.size):
            a[i] = value

    a = np.zeros(4)
    assert fill(a, 7) is None and a.tolist() == [7] * 4
    a.flags.writeable = False
    with pytest.raises(errors.TypingError, match="E162"):
        fill(a, 1)


def test_tuples_defaults_and_keywords():
    @lw.jit
    def parts(x, y=2, *, z=10):
        return x * y, x > y, complex(x, z), np.float32(0.5)

    assert parts(3) == (6, True, 3 + 10j, 0.5)
    assert parts(3, 5) == (15, False, 3 + 10j, 0.5)
    assert parts(y=1, x=2, z=3) == (2, True, 2 + 3j, 0.5)
    with pytest.raises(TypeError, match="parts"):
        parts()
    with pytest.raises(TypeError, match="parts"):
        parts(1, 2, 3)


def test_results_of_several_types():
    @lw.jit
    def either(x):
        if x > 1:
            return 1.5
        return 2

    assert (either(0), either(3)) == (2.0, 1.5)


def test_calls_each_other():
    @lw.jit
    def twice(x):
        return plus(x) + plus(x)

    @lw.vectorize
    def by_elements(x):
        return twice(x)

    assert twice(4) == 10 and by_elements(np.arange(3)).tolist() == [2, 4, 6]


def test_raises(capsys):
    @lw.jit
    def root(x):
        print("root of", x)
        if x < 0:
            raise ValueError("negative", x)
        assert x < 100
        return math.sqrt(x)

    assert root(4.0) == 2
    with pytest.raises(ValueError, match=r"\('negative', -1.0\) \(raised in `root` at .*test_jit_value.py:\d+\)") as caught:
        root(-1.0)
    assert caught.value.function == "root" and not hasattr(caught.value, "thread")
    with pytest.raises(AssertionError):
        root(100.0)
    assert root(9.0) == 3
    assert capsys.readouterr().out == "root of 4.0\nroot of -1.0\nroot of 100.0\nroot of 9.0\n"


def test_signatures():
    @lw.jit("float64(float64)")
    def double(x):
        return x * 2

    assert double.signatures == ["float64(float64)"] and double.specialized
    got = double(3)  # converted
    assert got == 6.0 and type(got) is float and double.signatures == ["float64(float64)"]
    with pytest.raises(TypeError, match="E181"):
        double(1j)

    @lw.jit(["float32(float32, float32)", "float64(float64, float64)"])
    def quotient(x, y):
        return x / y

    @lw.jit
    def caller(x):
        return quotient(1, 3), quotient(x, 3)

    # a Python int fits float64 better, as in numba; beside a float32 it does not decide
    assert quotient(1, 3) == 1 / 3 and quotient(16777217, 1) == 16777217.0 and caller(1) == (1 / 3, 1 / 3)
    assert quotient(np.float32(1), 3) == np.float32(1) / np.float32(3) == caller(np.float32(1))[1]

    @lw.jit(["int32(int32)", float64(float64)])
    def either(x):
        return x + 1

    assert either(np.int32(1)) == 2 and either(1.5) == 2.5 and len(either.signatures) == 2
    with pytest.raises(TypeError, match="some return numbers and some do not"):
        lw.jit(["int32(int32)", "void(float64)"])
    with pytest.raises(errors.TypingError, match="E142"):
        lw.jit("int32(float64)")(lambda x: x * 0.5)
    with pytest.raises(errors.SignatureError, match="E183"):
        cuda.jit("float64(float64)")


def test_what_is_refused():
    for function in (lambda x: b"text", lambda x: (x, np.sin), lambda x: float, lambda x: np, lambda x: ..., lambda x: abs, lambda x: Colour):
        with pytest.raises(errors.TypingError, match="E183: a type, function or module cannot be a result"):
            lw.jit(function)(1.0)

    @lw.jit
    def sign(x):
        if x > 0:
            return np.sin
        return np.sin

    with pytest.raises(errors.TypingError, match="E183: a type, function or module cannot be a result"):
        sign(1.0)

    @lw.jit
    def kernel(a):
        a[cuda.grid(1)] = 1

    a = np.zeros(3)
    with pytest.raises(TypeError, match=r"needs the shape of its launch: kernel\[grid, block\]"):
        kernel(a)
    kernel[1, 3](a)
    assert a.tolist() == [1, 1, 1]

    @cuda.jit
    def other(a):
        a[0] = 1

    with pytest.raises(TypeError, match="needs the shape of its launch"):
        other(a)
    with pytest.raises(TypeError, match="plus"):
        plus("text")


def test_inspection():
    @lw.jit
    def half(x):
        return x / 2

    half(1.0)
    assert half.signatures == ["float64(float)"] == list(half.overloads) == list(half.definitions)
    assert "define" in half.inspect_llvm("float64(float64)") and "half" in half.inspect_types()
    assert "ret" in half.inspect_asm("float64(float64)", "cpu")
    assert half.resources("float64(float64)")["target"] == "cpu"
    for ask in (half.inspect_ptx, half.get_regs_per_thread, lambda: half.inspect_sass(target="sm_90"),
                lambda: half.compile("float64(float64)", "sm_90")):
        with pytest.raises(TypeError, match="`half` returns a value"):
            ask()


def test_pickles():
    assert pickle.loads(pickle.dumps(plus)) is plus
    double = lw.jit("float64(float64)")(lambda x: x * 2)
    there = pickle.loads(pickle.dumps(double))
    assert there(4) == 8.0 and there.signatures == ["float64(float64)"]


def test_threads():
    @lw.jit
    def sum_to(n):
        total = 0
        for i in range(n):
            total += i
        return total

    results = []
    threads = [threading.Thread(target=lambda n=n: results.append((n, sum_to(n)))) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(results) == [(n, n * (n - 1) // 2) for n in range(8)]


def test_overloads():
    @cuda.jit(void(int32[:, ::1]))
    def rows(a):
        a[0, 0] = 1

    assert len(rows.overloads) == 1 and list(rows.overloads) == rows.signatures == ["void(int32[:, ::1])"]
    one = rows.overloads[(int32[:, ::1],)]
    assert one.signature == rows.overloads["void(int32[:, ::1])"].signature == "void(int32[:, ::1])"
    assert one.regs_per_thread > 0 and one.shared_mem_per_block == 0 and one.max_threads_per_block == 1024
    assert one.local_mem_per_thread == 0 and one.const_mem_size > 0
    assert ".entry" in one.inspect_asm() and "define" in one.inspect_llvm() and "int32" in one.inspect_types()
    with pytest.raises(KeyError):
        rows.overloads[(float64,)]
    assert "rows" in repr(one) and "rows" in repr(rows.overloads)
    assert cuda.jit(lambda x: None).overloads == {}


def test_configure():
    @lw.jit
    def fill(a):
        a[cuda.grid(1)] = 1

    assert fill.configure(1, 4) is fill[1, 4] and fill.configure(2, (2, 2), stream=0, sharedmem=8) is fill[2, (2, 2), 0, 8]
    a = np.zeros(4)
    fill.configure(griddim=1, blockdim=4)(a)
    assert a.tolist() == [1] * 4


def test_nothing_leaks():
    import gc
    import sys

    from lanewise import _core

    @lw.jit
    def root(x, a):
        if x < 0:
            raise ValueError("negative")
        return math.sqrt(x), a[0], 1j

    a = np.arange(3.0)

    def work():
        for i in range(-100, 100):
            try:
                root(float(i), a)
            except ValueError:
                pass
        gc.collect()
        return _core._memory_live(), sys.getallocatedblocks()

    work()
    before = work()
    for _ in range(3):
        after = work()
    assert after[0] <= before[0] and after[1] - before[1] < 60


def test_is_of_bools():
    """There is only one True and one False."""
    same = lw.jit(lambda b, x: ((x > 0) is True, b is False, b is not (x > 0), (x > 0) is None))
    for b in (True, False):
        for x in (-1.0, 2.0):
            assert same(b, x) == ((x > 0) is True, b is False, b is not (x > 0), False)
    assert lw.vectorize(lambda x: 1.0 if (x > 0) is True else 2.0)(np.array([3.0, -1.0])).tolist() == [1.0, 2.0]
    with pytest.raises(errors.TypingError, match="E122"):
        lw.jit(lambda x: x is True)(1)


def test_texts_functions_and_types_as_arguments():
    @lw.jit
    def scaled(x, mode="down", dtype=np.float64):
        return dtype(2 * x if mode == "up" else x / 2)

    assert [scaled(3, "up"), scaled(3), scaled(3, mode="other"), scaled(3, "up", np.int8)] == [6.0, 1.5, 1.5, 6]
    assert scaled.signatures == ["float64(int, mode='up')", "float64(int)", "float64(int, mode='other')", "int8(int, mode='up', dtype=type int8)"]

    @lw.jit
    def square(x):
        return x * x

    @lw.jit
    def apply(f, x):
        return f(x) + 1

    bound = 7

    def plus_bound(x):
        return x + bound

    assert [apply(square, 3), apply(math.sqrt, 4.0), apply(plus_bound, 1), apply(lw.vectorize(lambda x: 5 * x), 2)] == [10, 3.0, 9, 11]
    bound = 8
    assert apply(plus_bound, 1) == 10
    with pytest.raises(TypeError, match="is an object; expected an array"):
        apply(object(), 1)
    with pytest.raises(TypeError, match="must be a constant"):
        apply(open, 1)
    with pytest.raises(TypeError, match="E181"):
        lw.jit("float64(float64)")(lambda x: x)("text")


def test_signatures_without_a_result():
    f = lw.jit((float64, int32))(lambda x, n: x**n)
    assert f(2.0, 3) == 8.0 and f.signatures == ["float64(float64, int32)"]
    assert lw.jit("(f8[:],)")(lambda x: x.sum())(np.arange(3.0)) == 3.0
    both = lw.jit(["(float64,)", "(complex128,)"])(lambda x: x + 1)
    assert (both(1.5), both(1j)) == (2.5, 1 + 1j)

    @lw.jit("(f8[:],)")
    def fill(x):
        x[:] = 1

    x = np.zeros(3)
    assert fill(x) is None and x.tolist() == [1, 1, 1]
    with pytest.raises(errors.TypingError, match="E183"):
        cuda.jit("(float64,)")(lambda x: x)


def test_tuples_of_functions():
    @lw.njit
    def double(x):
        return 2 * x

    @lw.njit
    def apply(fs, x):
        return fs[0](x) + fs[1](x)

    assert apply((double, math.sqrt), 4.0) == 10.0 and apply((math.sqrt, double), 9.0) == 21.0
    assert apply((lambda x: x + 1, double), 1) == 4
    assert lw.njit(lambda texts: len(texts))(("a", "bc")) == 2
    for texts in (["a", "bc"], ("a", 1)):
        with pytest.raises(TypeError, match="has an item that is a str; .* strings may be the items of a lanewise.typed.List, or of a tuple"):
            lw.njit(lambda texts: len(texts))(texts)
    assert lw.njit(lambda texts: len(texts))(lw.typed.List(["a", "bc"])) == 2
    with pytest.raises(TypeError, match="argument `fs` has an item that is a lanewise.Kernel(.|\n)*only functions and strings"):
        apply((double, 2.0), 4.0)
    with pytest.raises(TypeError, match="argument `fs` has an item that is a lanewise.Kernel"):
        lw.forall(lambda i, fs: None)(3, (double,))


def test_an_argument_that_is_returned_is_the_callers_array():
    """As in numba, the result is not another array over the same memory. It is a view if it could be either of two arguments, or if something differs."""
    f = lw.njit(lambda x: x)
    h = lw.njit(lambda x, y: (y, x[1:]))
    x, m = np.arange(4.0), np.ones((2, 3))
    records = np.zeros(3, [("a", "f8")])
    for array in (x, m, m[:, ::2], m.T, np.zeros((2, 0)), records, x.astype("f4"), np.array(3.0), np.array(["2020"], "M8[D]")):
        assert f(array) is array
    y, rest = h(x, m)
    assert y is m and rest.base is x and h(x, x)[0] is x
    view = h(x, x[:])[0]
    assert view is not x and (view == x).all() and np.shares_memory(view, x)
    locked = x.view()
    locked.flags.writeable = False
    assert not f(locked).flags.writeable and type(f(x.view(np.recarray))) is np.ndarray
    assert f(x.astype(">f8")).tolist() == x.tolist()


def test_fields_that_are_returned_are_the_objects_arrays():
    class Box:
        def __init__(self):
            self.items = np.zeros(3)

    box = Box()
    assert lw.njit(lambda b: b.items)(box) is box.items


@pytest.mark.parametrize("typing", ["weak", "numba"])
def test_numbers_as_bools_of_a_signature(typing):
    at = lw.njit("b1(u1[::1], i4)", typing=typing)(lambda x, i: x[i])
    assert [at(np.uint8([0, 2]), i) for i in range(2)] == [False, True] and type(at(np.uint8([2]), 0)) is bool
    pair = lw.njit("Tuple(b1, f8)(f8)", typing=typing)(lambda x: (x, x))
    assert pair(0.5) == (True, 0.5) and pair(0.5)[0] is True

    @lw.njit(typing=typing)
    def store(mask, x):
        mask[:] = x
        return mask

    assert store(np.zeros(3, bool), np.array([0.0, 0.5, 2.0])).tolist() == [False, True, True]


def test_disable_compile():
    f = lw.njit(lambda x: x + 1)
    assert f(1) == 2 and f(np.ones(2)).tolist() == [2, 2]
    f.disable_compile()
    assert f(5) == 6 and f(np.zeros(3)).tolist() == [1, 1, 1] and len(f.signatures) == 2
    for other in (1.5, np.ones((2, 2)), np.float32(1)):
        with pytest.raises(TypeError, match=r"E181: No matching definition(?s:.*)it was made with \(int\), \(float64\[::1\]\)"):
            f(other)

    @lw.njit
    def caller(x):
        return f(x)

    assert caller(3) == 4
    with pytest.raises(TypeError, match="E181"):
        caller(1j)

    never = lw.njit(lambda x: x + 1)
    never.disable_compile()
    with pytest.raises(TypeError, match="E181"):
        never(1)


def test_disable_compile_of_kernels():
    @cuda.jit(target="cpu")
    def put(x):
        x[0] = 1

    put[1, 1](np.zeros(1))
    put.disable_compile()
    x = np.zeros(1)
    put[1, 1](x)
    assert x[0] == 1
    with pytest.raises(TypeError, match="E181"):
        put[1, 1](np.zeros(1, "f4"))


def test_functions_that_were_not_called_are_inspected():
    @lw.jit
    def half(x):
        return x / 2

    @lw.jit
    def draws(n):
        return [np.random.random() for _ in range(n)]

    @lw.jit
    def store(x):
        x[lw.cuda.grid(1)] = 1

    assert "float32" in half.inspect_types("float32(float32)") and "float64" in half.inspect_types(signature=(lw.float64,))
    assert "define" in half.inspect_llvm("float32(float32)") and "ret" in half.inspect_asm("(int64,)")
    assert "define" in draws.inspect_llvm("(int64,)")
    assert ".entry" in store.inspect_ptx("void(float64[:])")
    with pytest.raises(lw.errors.TypingError, match="E150"):
        lw.jit(lambda x: x + undefined).inspect_types("(int64,)")  # noqa: F821
    assert half(3.0) == 1.5 and len(draws(2)) == 2


class Pair:
    def __init__(self, x):
        self.x, self.y = x, 2.0


def test_signatures_name_the_classes_of_results():
    for function, signature in ((lambda x: [v for v in x], "list(int64[::1])"), (lambda x: ({1: 2.5}, [[1], [2]], Pair(1)), "(dict, list, Pair)(int64[::1])"),
                                (lambda x: Pair(x[0]), "Pair(int64[::1])"), (lambda x: (x[0], 1.5), "(int64, float64)(int64[::1])")):  # fmt: skip
        f = lw.njit(function)
        f(np.arange(3))
        assert f.signatures == [signature]


@pytest.mark.parametrize(("value", "said"), [("a", "'a'"), (None, "none"), (np.float32, "type float32")])
def test_constants_that_a_signature_does_not_take(value, said):
    with pytest.raises(TypeError, match=f"E181(?s:.*)argument `x` is {said}; the signature has float64"):
        lw.njit("f8(f8)")(lambda x: x)(value)

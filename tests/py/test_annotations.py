"""What annotations mean: types of lanewise and NumPy count, Python's own are hints for readers."""

import numpy as np
import pytest

import lanewise as lw
from lanewise import cuda, float32, float64

X = np.float32([0.1, 0.7, 1.3])
FUTURE = "from __future__ import annotations\nimport lanewise as lw\nimport numpy as np\nfrom lanewise import float32\n"


def _made(text, name="f", future=False):
    space = {}
    text = (FUTURE if future else FUTURE.split("\n", 1)[1]) + text
    exec(compile(text, "<annotations>", "exec"), space)
    return space[name], text[text.index("def ") :]


# ---- Python's own types ----


@pytest.mark.parametrize("future", [False, True])
@pytest.mark.parametrize("hint", ["float", "int", "complex", "bool", '"float"', "object", "np.ndarray"])
def test_builtin_types_bind_nothing(future, hint):
    function, source = _made(f"def f(x: {hint}) -> {hint}:\n    return x * 2\n", future=future)
    f = lw.vectorize(source=source)(function)
    assert f.types == [] and f(X).dtype == np.float32
    assert f(np.int16([3])).dtype == np.int16


def test_builtin_types_bind_nothing_in_any_generator(target):
    def add(a: float, b: float) -> float:
        return a + b

    def scale(x: float, k: int, out: float):
        for i in range(x.size):
            out[i] = x[i] * k

    def element(i: int, a: float, x: float, out: complex) -> None:
        out[i] = add(x[i], a)

    assert lw.reduce(add)(X).dtype == np.float32
    assert lw.guvectorize("(n),()->(n)")(scale)(X, np.float32(2)).dtype == np.float32
    out = np.zeros(3)
    lw.forall(element)(3, np.float32(0.1), X, out)
    assert out.tolist() == (X + np.float32(0.1)).astype(float).tolist()

    @lw.jit
    def product(x: float, y: float) -> float:
        return np.float32(1) / np.float32(3) if x == y else x * y

    assert product(2, 2) == float(np.float32(1) / np.float32(3))

    @lw.vectorize
    def pinned(x):
        a: float = x
        b: float = 0.5
        return a * b

    assert pinned(X).dtype == np.float32


# ---- types of lanewise and NumPy ----


@pytest.mark.parametrize("future", [False, True])
@pytest.mark.parametrize("hint", ["float32", "lw.float32", "np.float32", "np.dtype('f4')", '"float32"'])
def test_our_types_are_a_signature(future, hint):
    if future and "(" in hint:
        pytest.skip("a call is not evaluated")
    function, source = _made(f"def f(x: {hint}) -> {hint}:\n    return x * np.float64(2)\n", future=future)
    f = lw.vectorize(source=source)(function)
    assert f.types == ["f->f"] and f(X).dtype == np.float32
    with pytest.raises(TypeError, match="E181"):
        f(np.zeros(3))


def test_several_results_count_where_all_are_ours():
    @lw.vectorize
    def both(x: float32) -> (float64, np.float32):
        return x, x

    @lw.vectorize
    def mixed(x: float32) -> (float64, float):
        return x, x

    assert both.types == ["f->df"]
    assert mixed.types == ["f->ff"]


# ---- some of ours ----


def test_a_parameter_by_itself_converts_its_numbers(target):
    def narrow(x: float32):
        return x * 3

    @lw.vectorize
    def f(x: float, y: float32):
        return y * 3

    want = np.float64([0.1, 0.7]).astype(np.float32) * np.float32(3)
    wide = np.float64([0.1, 0.7])
    assert f(wide, wide).dtype == np.float32 and f(wide, wide).tolist() == want.tolist()
    g = lw.vectorize(lambda x: narrow(x))
    assert g(wide).dtype == np.float32 and g(wide).tolist() == want.tolist()

    @lw.forall
    def element(i, a: float32, x: np.ndarray, out: float):
        out[i] = a * x[i]

    out = np.zeros(2)
    element(2, np.float64(0.1), np.ones(2), out)
    assert out.tolist() == [float(np.float32(0.1))] * 2

    @cuda.jit
    def kernel(a: float32, out):
        out[cuda.grid(1)] = a

    kernel[1, 2](np.float64(0.1), out)
    assert out.tolist() == [float(np.float32(0.1))] * 2

    @lw.guvectorize("(n),()->(n)")
    def core(x, a: np.float32, out):
        for i in range(x.size):
            out[i] = x[i] * 0 + a

    assert core(np.zeros(2), 0.1).tolist() == [float(np.float32(0.1))] * 2
    total = lw.reduce(map=lambda x: narrow(x), combine=lambda a, b: a + b)
    assert total(wide[:1]).dtype == np.float32


def test_conversions_of_parameters_that_lose_are_errors():
    def whole(n: np.int32):
        return n + 1

    f = lw.vectorize(lambda x: whole(x))
    with pytest.raises(lw.errors.TypingError, match="E142.*"):
        f(np.float64(1.5))
    with pytest.raises(lw.errors.TypingError, match="E130"):
        lw.vectorize(lambda x: x + whole(2**40))(np.float64(1.5))
    assert lw.vectorize(lambda x: whole(x), typing="numba")(np.float64(1.5)) == 2


def test_annotated_constants_stay_constants():
    def power(x, n: np.int32 = 3, flag: np.bool_ = True):
        table = (1.0, 2.0, "three", 4.0)
        return x * table[n] if flag else x + "text"

    assert lw.vectorize(lambda x: power(x))(2.0) == 8.0
    assert lw.vectorize(power)(2.0) == 8.0


def test_what_is_no_number_is_left_alone():
    def pick(x: np.float32, k: np.float32 = None):
        return x[0] if k is None else k

    @lw.guvectorize("(n)->()")
    def first(x, out):
        out[0] = pick(x)

    assert first(np.float64([0.1, 2])) == 0.1


# ---- tuples and texts ----


@pytest.mark.parametrize("hint", ["tuple[np.float32, np.int64]", '"Tuple(float32,int64)"', "lw.types.Tuple((lw.float32, lw.int64))",
                                  '"tuple[np.float32, lw.int64]"', "typing.Tuple[np.float32, np.int64]", "(np.float32, np.int64)", '"(np.float32, np.int64)"'])
@pytest.mark.parametrize("future", [False, True])
def test_types_of_tuples_bind(hint, future):
    if future and "types.Tuple(" in hint:
        pytest.skip("a call is not evaluated")
    inner = f"    def g(x) -> {hint}:\n        return x, x\n    a, b = g(x)\n    return a, b\n"
    for text in (f"def f(x) -> {hint}:\n    return x, x\n", f"def f(x):\n{inner}"):
        if "def g" in text and "types.Tuple(" in hint:
            continue  # inside a function only names, attributes and tuple[…] are read
        function, source = _made("import typing\n" + text, future=future)
        results = lw.vectorize(source=source)(function)(np.int16(3))
        assert [r.dtype for r in results] == [np.float32, np.int64]


# ---- ints that do not fit ----


def test_python_ints_must_fit_the_annotations_of_kernels(target):
    def put(out, n: np.int8, m: np.uint64):
        out[0] = n + np.int64(m)

    def element(i, out, n: np.int8, m: np.uint64):
        out[i] = n + np.int64(m)

    out = np.zeros(1)
    kernel = lw.jit(put)[1, 1]
    each = lw.forall(element)
    for call in (lambda n, m: kernel(out, n, m), lambda n, m: each(1, out, n, m)):
        for n, m in ((127, 0), (-128, 1), (0, 2**62)):
            call(n, m)
            assert out[0] == n + m
        for n, m, name in ((128, 0, "int8"), (-129, 0, "int8"), (300, 0, "int8"), (0, -1, "uint64")):
            with pytest.raises(OverflowError, match=f"does not fit {name}, its type in the annotation"):
                call(n, m)


def test_python_ints_must_fit_the_annotations_of_host_functions():
    @lw.jit
    def more(n: np.uint8):
        return n + 1

    assert more(254) == 255
    with pytest.raises(OverflowError, match="argument `n`: 300 does not fit uint8"):
        more(300)


def test_the_index_of_forall_is_int64():
    def narrow(i: np.int8, out):
        out[i] = 1

    def wide(i: np.int64, out):
        out[i] = 1

    def hinted(i: int, out):
        out[i] = 1

    with pytest.raises(TypeError, match="index `i` of `narrow` is int64, not int8"):
        lw.forall(narrow)
    for function in (wide, hinted):
        out = np.zeros(300)
        lw.forall(function)(300, out)
        assert out.all()

"""What annotations mean: types of lanewise and NumPy count, Python's own are hints for readers."""

import pickle

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


# ---- locals= ----


def mean(x):
    t = 0
    for i in range(x.shape[0]):
        t += x[i] / x.shape[0]
    return t


TENTHS = np.full(3, 0.1)


def test_locals_give_variables_their_types():
    plain, narrow = lw.njit(mean), lw.njit(locals={"t": float32, "i": lw.uint16}, warn=False)(mean)
    assert narrow(TENTHS) == float(np.float32(narrow(TENTHS))) == pytest.approx(0.1) and plain(TENTHS) != narrow(TENTHS)
    assert "-> float32" in narrow.inspect_types() and "float32" not in lw.njit(mean).inspect_types()
    assert plain.py_func is mean and not hasattr(mean, "__lanewise_locals__")

    @lw.njit
    def doubled(x):
        return 2 * narrow(x)

    assert doubled(TENTHS) == 2 * narrow(TENTHS), "also where another function calls it"
    for types in ({"t": "float32"}, {"t": np.float32}, {"t": float32, "x": float64[::1]}):  # types of arrays have no effect
        assert lw.njit(locals=types, warn=False)(mean)(TENTHS) == narrow(TENTHS)


def test_locals_of_other_decorators(target):
    @lw.vectorize(locals={"t": float32})
    def third(x):
        t = x / 3
        return t + 0.0

    assert third(X.astype("f8")).dtype == np.float32 and np.array_equal(third(X.astype("f8")), (X.astype("f8") / 3).astype("f4"))

    @lw.guvectorize("(n)->()", locals={"t": float32}, warn=False)
    def total(x, out):
        t = 0.0
        for i in range(x.shape[0]):
            t += x[i]
        out[()] = t

    assert total(np.full(3, 0.1)) == np.float32(total(np.full(3, 0.1)))

    @cuda.jit(locals={"t": lw.int32})
    def put(x):
        t = x[1] * 1.5
        x[0] = t

    x = cuda.to_device(np.arange(3.0)) if target == "cuda" else np.arange(3.0)
    put[1, 1](x)
    assert x[0] == 1


def test_locals_of_parameters_and_of_what_is_no_variable():
    def f(n):
        return n

    assert type(lw.njit(locals={"n": float64})(f)(3)) is float
    with pytest.raises(lw.errors.TypingError, match="E142"):
        lw.njit(locals={"n": lw.int32})(f)(3.5)
    with pytest.warns(UserWarning, match="locals= of `f` names `q`, `z`: the function has no such variable"):
        assert lw.njit(locals={"q": float32, "n": float64, "z": float32})(f)(3) == 3.0
    with pytest.raises(TypeError, match="needs a Python function"):
        lw.njit(locals={"n": float32})(lw.njit(f))


def test_a_variable_of_a_number_receives_no_array():
    def f():
        d = np.ones(3)
        return d

    with pytest.raises(lw.errors.TypingError, match=r"E142(?s:.*)this is float64\[::1\]"):
        lw.njit(locals={"d": float32})(f)()

    @lw.njit
    def annotated():
        d: float32
        d = np.ones(3)
        return d

    with pytest.raises(lw.errors.TypingError, match="E142"):
        annotated()


def test_locals_survive_pickling():
    def f(x):
        t = x + 0.1
        return t

    made = pickle.loads(pickle.dumps(lw.njit(locals={"t": float32})(f)))
    assert made(0.0) == float(np.float32(0.1))

"""Calls inside compiled functions of functions that were made with signatures: arguments and results become what
the signature has."""

import numpy as np
import pytest

import lanewise as lw
from lanewise import cuda

THIRD = np.float64(1) / 3
NARROW = float(np.float32(THIRD) * np.float32(THIRD))  # of float32 all along


def _square(x):
    return x * x


def _device(signatures, function=_square, **options):
    return cuda.jit(signatures, device=True, **options)(function)


MAKERS = {
    "device": lambda sig, **options: cuda.jit(sig, device=True, **options)(_square),
    "lw.device": lambda sig, **options: lw.jit(sig, device=True, **options)(_square),
    "jit": lambda sig, **options: lw.jit(sig, **options)(_square),
}


def _in_vectorize(d, typing):
    return lw.vectorize(lambda x: d(x), typing=typing)(np.array([THIRD])).tolist()


def _in_guvectorize(d, typing):
    @lw.guvectorize("(n)->(n)", typing=typing)
    def g(x, out):
        for i in range(x.size):
            out[i] = d(x[i])

    return g(np.array([THIRD])).tolist()


def _in_forall(d, typing):
    @lw.forall(typing=typing)
    def k(i, x, out):
        out[i] = d(x[i])

    out = np.zeros(1)
    k(1, np.array([THIRD]), out)
    return out.tolist()


def _in_jit(d, typing):
    @cuda.jit(typing=typing)
    def k(x, out):
        out[0] = d(x[0])

    out = np.zeros(1)
    k[1, 1](np.array([THIRD]), out)
    return out.tolist()


def _in_reduce(d, typing):
    return [float(lw.reduce(map=lambda x: d(x), combine=lambda a, b: a + b, typing=typing)(np.array([THIRD])))]


def _in_helper(d, typing):
    def outer(x):
        def inner(y):
            return d(y)

        return inner(x)

    return lw.vectorize(lambda x: outer(x), typing=typing)(np.array([THIRD])).tolist()


def _by_argument(d, typing):
    def apply(function, x):
        return function(x)

    return lw.vectorize(lambda x: apply(d, x), typing=typing)(np.array([THIRD])).tolist()


@pytest.mark.parametrize("typing", ["weak", "numba"])
@pytest.mark.parametrize("made", MAKERS)
@pytest.mark.parametrize(
    "run", [_in_vectorize, _in_guvectorize, _in_forall, _in_jit, _in_reduce, _in_helper, _by_argument]
)
def test_arguments_become_what_the_signature_has(target, run, made, typing):
    assert run(MAKERS[made]("float32(float32)"), typing) == [NARROW]
    assert run(MAKERS[made]("float64(float32)"), typing) == [float(np.float32(THIRD) * np.float32(THIRD))]


@pytest.mark.parametrize("typing", ["weak", "numba"])
def test_results_become_what_the_signature_has(target, typing):
    d = _device("float32(float64)", typing=typing)
    f = lw.vectorize(lambda x: d(x), typing=typing)
    assert f(np.array([THIRD])).dtype == np.float32
    assert f(np.array([THIRD])).tolist() == [float(np.float32(THIRD * THIRD))]
    pair = _device("Tuple(float32, int16)(float64)", lambda x: (x, 3))
    g = lw.vectorize(lambda x: pair(x))
    assert [a.dtype.name for a in g(np.array([THIRD]))] == ["float32", "int16"]
    left_out = _device("(float32)")
    assert lw.vectorize(lambda x: left_out(x))(np.array([THIRD])).dtype == np.float32


def test_called_from_the_host():
    d = lw.jit("float32(float32)")(_square)
    assert d(THIRD) == NARROW and d(1 / 3) == NARROW


def test_the_same_function_without_signatures_is_as_it_was():
    d = _device("float32(float32)")

    def f(x):
        return d(x), _square(x)

    narrow, wide = lw.vectorize(f)(np.array([THIRD]))
    assert (narrow.dtype, wide.dtype) == (np.float32, np.float64)
    assert (narrow[0], wide[0]) == (np.float32(NARROW), THIRD * THIRD)


# ---- which of several ----


def test_exact_then_safe_then_rounded():
    def which(x):
        return x

    d = _device(["float32(float32)", "float64(float64)", "int32(int32)"], which)
    f = lw.vectorize(lambda x: d(x))
    for given, got in [("f4", "f4"), ("f8", "f8"), ("i4", "i4"), ("i2", "i4"), ("f2", "f4"), ("i8", "f8")]:
        assert f(np.ones(1, given)).dtype == got, given
    two = _device(["float32(float32, float32)", "float64(float64, float64)"], lambda x, y: x + y)
    g = lw.vectorize(lambda x, y: two(x, y))
    assert g(np.ones(1, "f4"), np.ones(1, "f8")).dtype == "f8"
    assert lw.vectorize(lambda x: two(x, 0.5))(np.ones(1, "f4")).dtype == "f4"  # a Python number never decides
    only = _device(["float32(float32)", "float16(float16)"], which)
    assert lw.vectorize(lambda x: only(x))(np.ones(1)).dtype in ("f4", "f2")


def test_what_no_signature_takes_names_the_candidates():
    d = _device(["float32(float32)", "int32(int32)"])
    f = lw.vectorize(lambda x: d(x))
    with pytest.raises(TypeError, match=r"E181(.|\n)*complex128(.|\n)*float32\(float32\), int32\(int32\)"):
        f(np.ones(1, complex))


@pytest.mark.parametrize("made", MAKERS)
def test_a_lone_signature_says_what_would_be_lost(made):
    d = MAKERS[made]("int32(int32)")
    with pytest.raises(lw.errors.TypingError, match=r"E142(.|\n)*d\(x\)"):
        lw.vectorize(lambda x: d(x))(1.5)
    assert lw.vectorize(lambda x: d(x), typing="numba")(1.5) == 1
    assert lw.vectorize(lambda x: d(x))(np.int64(2**32 + 3)) == 9  # known at run time only: wraps
    with pytest.raises(lw.errors.TypingError, match="E142"):
        lw.vectorize(lambda x: d(x), typing="numba")(1j)


def test_constants_that_do_not_fit():
    d = _device("int8(int8)", lambda x: x)
    with pytest.raises(lw.errors.TypingError, match="E130(.|\n)*int8"):
        lw.vectorize(lambda x: x + d(300))(1)
    assert lw.vectorize(lambda x: d(-128))(1).dtype == np.int8
    with pytest.raises(lw.errors.TypingError, match="E130"):
        bad = _device("int8(int32)", lambda x: 300 if x > 0 else 1)
        lw.vectorize(lambda x: bad(x))(np.int32(1))


def test_keywords_defaults_and_more_arguments():
    d = _device("float32(float32, float32)", lambda x, y=0.1: x * y)
    want = float(np.float32(THIRD) * np.float32(0.1))
    for f in (lambda x: d(x), lambda x: d(x, 0.1), lambda x: d(y=0.1, x=x), lambda x: d(*(x, np.float64(0.1)))):
        assert lw.vectorize(f)(THIRD) == want
    some = _device("float32(float32)", lambda x, y=0.1: x * y)
    assert lw.vectorize(lambda x: some(x))(THIRD).dtype == np.float32
    rest = _device("float32(float32, float32)", lambda x, *more: x * more[0])
    assert lw.vectorize(lambda x: rest(x, x))(THIRD) == NARROW


# ---- arrays, tuples, records ----


def test_arrays_must_match(target):
    def total(x):
        s = x[0]
        for i in range(1, x.size):
            s += x[i]
        return s

    d = _device("float32(float32[:])", total)

    @lw.guvectorize("(n)->()")
    def g(x, out):
        out[0] = d(x)

    assert g(np.float32([1, 2])) == 3
    assert g(np.float32([1, 9, 2, 9])[::2]) == 3
    with pytest.raises(TypeError, match=r"E181(.|\n)*float64\[.*float32\(float32\[:\]\)"):
        g(np.ones(2))
    dense = _device("float32(float32[::1])", total)

    @cuda.jit
    def k(x, out):
        out[0] = dense(x)

    out = np.zeros(1)
    k[1, 1](np.float32([1, 2]), out)
    assert out[0] == 3
    with pytest.raises(TypeError, match="E181"):
        k[1, 1](cuda.to_device(np.float32([1, 9, 2, 9]))[::2], out)

    @cuda.jit
    def local(out):
        row = lw.local(2, lw.float32)
        row[0] = row[1] = 4
        out[0] = dense(row)

    local[1, 1](out)
    assert out[0] == 8


def test_tuples_item_by_item():
    d = _device("float32(UniTuple(float32, 2))", lambda t: t[0] * t[1])
    assert lw.vectorize(lambda x: d((x, x)))(THIRD) == NARROW
    with pytest.raises(TypeError, match="E181"):
        lw.vectorize(lambda x: d((x, x, x)))(THIRD)


def test_records():
    kind = lw.from_dtype(np.dtype([("a", "f4"), ("b", "f8")], align=True))
    other = np.dtype([("a", "f8")])
    d = _device(lw.float32(kind[:], lw.int64), lambda r, i: r[i].b)

    @lw.forall
    def k(i, r, out):
        out[i] = d(r, i)

    rows = np.zeros(2, kind.dtype)
    rows["b"] = THIRD
    out = np.zeros(2)
    k(2, rows, out)
    assert out.tolist() == [float(np.float32(THIRD))] * 2
    with pytest.raises(TypeError, match="E181"):
        k(2, np.zeros(2, other), out)


# ---- ufuncs in functions ----


def test_ufuncs_cast_safely_as_their_calls_do():
    u = lw.vectorize(["float32(float32)", "complex128(complex128)"])(_square)
    f = lw.vectorize(lambda x: u(x))
    assert f(np.ones(1, "f2")).dtype == np.float32
    assert f(np.ones(1)).dtype == np.complex128 == u(np.ones(1)).dtype
    narrow = lw.vectorize(["float32(float32)"])(_square)
    with pytest.raises(TypeError, match="E181"):
        lw.vectorize(lambda x: narrow(x))(np.ones(1))
    assert lw.vectorize(lambda x: narrow(0.5) + x)(np.ones(1, "f4")).dtype == np.float32
    lazy = lw.vectorize(_square)
    lazy(np.ones(1, "f4"))
    assert lw.vectorize(lambda x: lazy(x))(np.array([THIRD])).tolist() == [THIRD * THIRD]


def test_gufuncs_in_functions():
    @lw.guvectorize(["void(float32[:], float32[:])"], "(n)->(n)")
    def double(x, out):
        for i in range(x.size):
            out[i] = 2 * x[i]

    @lw.guvectorize("(n)->(n)")
    def twice(x, out):
        double(x, out)

    assert twice(np.float32([1, 2])).tolist() == [2, 4]
    with pytest.raises(TypeError, match="E181"):
        twice(np.ones(2))


def test_kernels_called_by_kernels(target):
    @lw.jit("void(float32[:], float32)")
    def put(x, a):
        x[0] = a

    @cuda.jit
    def k(x, a):
        put(x, a)

    x = np.zeros(1, np.float32)
    k[1, 1](x, np.float64(THIRD))
    assert x[0] == np.float32(THIRD)
    with pytest.raises(TypeError, match="E181"):
        k[1, 1](np.zeros(1), THIRD)


def test_text_for_gpus_converts():
    d = _device("float32(float32)")

    @cuda.jit
    def k(x, out):
        out[0] = d(x[0])

    text = k.inspect_llvm("void(float64[:], float64[:])", target="sm_90")
    assert "fptrunc double" in text and "fmul float" in text


def test_declare_device_converts():
    external = cuda.declare_device("external_of_ours", "float32(float32, int32)")

    @cuda.jit
    def k(x, out):
        out[0] = external(x[0], x.size)

    text = k.inspect_llvm("void(float64[:], float64[:])", target="sm_90")
    assert "fptrunc double" in text and "trunc i64" in text
    with pytest.raises(lw.errors.TypingError, match="E130"):
        cuda.jit("void(float64[:])")(lambda x: external(x[0], 2**40))


def test_signatures_travel(tmp_path):
    import pickle

    d = _device("float32(float32)")
    f = lw.vectorize(lambda x: d(x))
    again = pickle.loads(pickle.dumps(f))
    assert again(np.array([THIRD])).tolist() == [NARROW]

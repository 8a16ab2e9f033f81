"""vectorize on host arrays: everything a numpy.ufunc does, compared with NumPy's own."""

import functools
import math
import warnings

import numpy as np
import pytest

import lanewise as lw

OFFSET = 3.5


def _add(x, y):
    return x + y


@pytest.fixture(scope="module")
def add():
    return lw.vectorize(identity=0)(_add)


@pytest.fixture(scope="module")
def subtract():
    return lw.vectorize(lambda x, y: x - y)


@lw.vectorize
def module_level(x):
    """Doubles."""
    return x * 2


# ---- building ----


def test_bare_decorator():
    f = lw.vectorize(lambda x, y: x * y + 1)
    x = np.arange(5.0)
    assert f(x, 2).tolist() == (x * 2 + 1).tolist()
    assert (f.nin, f.nout, f.nargs) == (2, 1, 3)


@pytest.mark.parametrize("signatures", [
    ["float64(float64)", "float32(float32)"],
    ["d->d", "f->f"],
    ["(f8)", "(f4)"],
    [(np.float64,), (np.float32,)],
    [lw.float64(lw.float64), lw.float32(lw.float32)],
    ("f8(f8)", "f4(f4)"),
])
def test_signature_forms(signatures):
    f = lw.vectorize(signatures)(lambda x: x + 1)
    assert f.types == ["f->f", "d->d"]
    assert f.ntypes == 2
    assert f.signatures == ["float32(float32)", "float64(float64)"]
    assert f(np.float32(1)).dtype == np.float32


def test_one_signature_string():
    f = lw.vectorize("int32(int32, int32)")(_add)
    assert f.types == ["ii->i"]
    assert lw.vectorize(signatures=["i->i"])(lambda x: x).types == ["i->i"]


def test_annotations_are_a_signature():
    def f(x: lw.float32, y: lw.float32) -> lw.float32:
        return x * y

    u = lw.vectorize(f)
    assert u.types == ["ff->f"]
    with pytest.raises(TypeError):
        u(np.ones(2), np.ones(2))


def test_given_order_and_result_type():
    f = lw.vectorize(["f8(f8)", "f4(f4)"], order="given")(lambda x: x)
    assert f.types == ["d->d", "f->f"]
    g = lw.vectorize(["float32(float64)"])(lambda x: x)
    assert g(np.ones(3)).dtype == np.float32


def test_several_outputs():
    f = lw.vectorize(lambda x, y: (x + y, x - y))
    a, b = f(np.arange(4), 1)
    assert a.tolist() == [1, 2, 3, 4] and b.tolist() == [-1, 0, 1, 2]
    assert f.nout == 2
    g = lw.vectorize(["Tuple(float64, int64)(float64)"])(lambda x: (x, int(x)))
    assert g.types == ["d->dl"]


def test_limits_of_dtypes_are_constants():
    limits = np.iinfo(np.int32)

    @lw.vectorize
    def f(x):
        return max(x, limits.min) + np.iinfo("u1" if False else np.uint8).max + np.finfo(np.float64).eps

    assert f(np.array([1.0]))[0] == 256 + np.finfo(np.float64).eps
    before = f.stats["compiled"]
    assert f(2.0) == 257 + np.finfo(np.float64).eps and f.stats["compiled"] == before

    @lw.vectorize
    def g(x):
        return x + np.finfo(np.float32).epsilon

    with pytest.raises(lw.errors.TypingError, match="`finfo` has no attribute `epsilon`"):
        g(1.0)


def test_isinstance_of_numpys_abstract_classes():
    classes = (np.generic, np.number, np.integer, np.signedinteger, np.unsignedinteger, np.inexact, np.floating, np.complexfloating)

    for cls in classes:
        f = lw.vectorize(lambda x: 1 if isinstance(x, cls) else 0)
        both = lw.vectorize(lambda x: 1 if isinstance(x, (bool, cls)) else 0)
        for dtype in ("?", "i1", "u4", "f2", "f4", "f8", "c8", "c16"):
            x = np.ones((), dtype)[()]
            assert f(np.ones(1, dtype)).tolist() == [isinstance(x, cls)], (cls, dtype)
            assert both(np.ones(1, dtype))[0] in (isinstance(x, cls), dtype == "?")
        literal = lw.vectorize(lambda x: 1 if isinstance(2.5, cls) or isinstance(True, cls) else 0)
        assert literal(1.0) == 0, cls


@pytest.mark.parametrize("other", [math.erf, np.sin, max, functools.partial(max, 1)])
def test_callables_that_are_no_python_functions(other):
    for make in (lw.vectorize, lw.reduce):
        with pytest.raises(TypeError, match="Python function.* as in `lambda x: math.erf|must be a Python function|write `lambda a, b: max"):
            make(other)


def test_closure_default_global_and_helper():
    scale = 2.0

    def helper(x):
        return x * scale

    f = lw.vectorize(lambda x, k=3: helper(x) + k + OFFSET)
    assert f.nin == 1
    assert f(np.float64(1)) == 2 + 3 + 3.5


@pytest.mark.parametrize("keywords, error, words", [
    ({"colour": 1}, TypeError, "colour"),
    ({"target": "tpu"}, ValueError, "target"),
    ({"target": 3}, TypeError, "target"),
    ({"typing": "strong"}, ValueError, "typing"),
    ({"fastmath": {"quick"}}, ValueError, "fastmath"),
    ({"fastmath": 3}, TypeError, "fastmath"),
    ({"cache": "yes"}, TypeError, "cache"),
    ({"max_registers": 0}, ValueError, "max_registers"),
    ({"max_registers": "many"}, TypeError, "max_registers"),
    ({"max_blocksize": 33}, ValueError, "max_blocksize"),
    ({"errors": "log"}, ValueError, "errors"),
    ({"check": {"spelling"}}, ValueError, "check"),
    ({"order": "random"}, ValueError, "order"),
    ({"identity": "zero"}, ValueError, "identity"),
    ({"nopython": False}, lw.errors.UnsupportedError, "there is no object mode: leave the keyword out"),
    ({"source": 1}, TypeError, "source"),
    ({"precise": 1}, TypeError, "precise"),
    ({"link": ["a.o"]}, FileNotFoundError, "a.o"),
    ({"excluded": [None]}, TypeError, "excluded= must be a parameter's name"),
    ({"static": 1.5}, TypeError, "static= must be a parameter's name"),
])
def test_bad_keywords(keywords, error, words):
    with pytest.raises(error, match=words):
        lw.vectorize(**keywords)
    with pytest.raises(error, match=words):
        lw.vectorize(lambda x: x, **keywords)


@pytest.mark.parametrize("keywords", [
    {"target": "parallel"}, {"target": "cpu"}, {"typing": "numba"}, {"fastmath": True},
    {"fastmath": {"nnan", "contract"}}, {"cache": False}, {"debug": True}, {"opt": False},
    {"fma": False}, {"precise": True}, {"max_registers": 32}, {"max_blocksize": 128},
    {"errors": "ignore"}, {"check": ()}, {"warn": False}, {"nopython": True}, {"link": ()},
    {"excluded": ()}, {"static": ()}, {"identity": 0}, {"lineinfo": False},
])
def test_good_keywords(keywords):
    f = lw.vectorize(**keywords)(lambda x, y: x * y + 1)
    assert f(np.arange(3.0), 2.0).tolist() == [1, 3, 5]


@pytest.mark.parametrize("signatures, error", [
    (["float32(flaot32)"], lw.errors.SignatureError),
    (["f4(f4)", "f4(f4, f4)"], lw.errors.SignatureError),
    (["f4(f4)", "f8(f4)"], lw.errors.SignatureError),
    (["void(f4)"], lw.errors.SignatureError),
    (["f4[:](f4)"], lw.errors.SignatureError),
    (3, TypeError),
    ({"f4(f4)"}, TypeError),
    ([object], (TypeError, ValueError)),
])
def test_bad_signatures(signatures, error):
    with pytest.raises(error):
        lw.vectorize(signatures)


def test_signature_and_function_disagree():
    with pytest.raises(TypeError, match="2"):
        lw.vectorize(["f4(f4)"])(_add)
    with pytest.raises(TypeError):
        lw.vectorize(3.5)(_add)
    with pytest.raises(TypeError):
        lw.vectorize(math.sin)
    with pytest.raises(TypeError):
        lw.vectorize(_add, _add)


def test_bad_body_raises_compile_error_each_time():
    f = lw.vectorize(lambda x: [x])
    for _ in range(2):
        with pytest.raises(lw.errors.CompileError):
            f(1.0)
    with pytest.raises(lw.errors.CompileError):
        lw.vectorize(["f8(f8)"])(lambda x: [x])


# ---- dispatch ----


DTYPES = "?bBhHiIlLefdFD"


@pytest.mark.filterwarnings("ignore:.*64 tuples")
@pytest.mark.parametrize("a", DTYPES)
def test_lazy_dtypes_follow_numpy(a, add):
    for b in DTYPES:
        if a == b == "?":
            continue  # True + True is an int to Python
        x, y = np.ones(3, a), np.ones(3, b)
        ours, numpys = add(x, y), np.add(x, y)
        assert ours.dtype == numpys.dtype, (a, b)
        assert (ours == numpys).all()


@pytest.mark.parametrize("dtype", "bBhHiIlLefdFD")
@pytest.mark.parametrize("scalar", [1, 1.5, 1 + 2j])
def test_weak_scalars(dtype, scalar, add):
    x = np.arange(4).astype(dtype)
    assert add(x, scalar).dtype == np.add(x, scalar).dtype
    assert add(scalar, x).dtype == np.add(scalar, x).dtype
    assert np.allclose(add(x, scalar), np.add(x, scalar))


def test_many_variants_are_told_of():
    f = lw.vectorize(lambda x, y: x)
    dtypes = "?bBhHiIlL"
    with pytest.warns(lw.PerformanceWarning, match="64 tuples"):
        for a in dtypes:
            for b in dtypes:
                f.resolve_dtypes((np.dtype(a), np.dtype(b), None))


def test_weak_int_out_of_range(add):
    with pytest.raises(OverflowError):
        add(np.ones(3, np.uint8), 300)


def test_weak_int_beside_floats_where_an_int_is_needed():
    f = lw.vectorize(lambda x, n: x * (1 << n))
    assert f(np.float32(1.5), 2) == 6.0


@pytest.mark.parametrize("signatures, args, types", [
    (["f8(f8)", "f4(f4)"], (np.float32(1),), "f->f"),
    (["f8(f8)", "f4(f4)"], (np.int8(1),), "f->f"),
    (["f8(f8)", "f4(f4)"], (np.float16(1),), "f->f"),
    (["f8(f8)", "i8(i8)"], (np.int32(1),), "l->l"),
    (["c16(c16)", "f8(f8)"], (np.float32(1),), "d->d"),
    (["f8(f8,f8)", "f4(f4,f4)"], (np.float32(1), 2.0), "ff->f"),
    (["f8(f8)", "f4(f4)"], (1.0,), "d->d"),
    (["f8(f8)", "i8(i8)", "i4(i4)"], (1,), "l->l"),
    (["f4(f4,f8)", "f4(f8,f4)"], (np.float32(1), np.float32(1)), "fd->f"),
])
def test_declared_dispatch(signatures, args, types):
    f = lw.vectorize(signatures, warn=False)(_identity if len(args) == 1 else _add)
    assert types in f.types
    assert f(*args).dtype.char == types.split("->")[1]


def _identity(x):
    return x


def _first(x, y):
    return np.float32(x)


def test_declared_does_not_depend_on_history():
    f = lw.vectorize(["f8(f8)"])(_identity)
    assert f(np.int32(1)).dtype == np.float64
    f.add("i4(i4)")
    assert f(np.int32(1)).dtype == np.int32
    assert f.types == ["i->i", "d->d"]
    with pytest.raises(ValueError):
        f.add("i4(i4)")


def test_ambiguous_signatures_warn():
    with pytest.warns(lw.PerformanceWarning, match="W202"):
        lw.vectorize(["f4(f4,f8)", "f4(f8,f4)"])(_first)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        lw.vectorize(["f4(f4,f8)", "f4(f8,f4)"], warn=False)(_first)
        lw.vectorize(["f4(f4,f8)", "f4(f8,f4)", "f4(f4,f4)"])(_first)


def test_no_loop_lists_what_was_tried():
    f = lw.vectorize(["f4(f4, f4)"])(_add)
    with pytest.raises(TypeError, match=r"E181.*no loop for \(int64, float32\)") as info:
        f(np.int64(1), np.float32(1))
    assert "argument 1, `x`: int64 to float32 is not safe" in str(info.value)
    with pytest.raises(TypeError, match="argument 2, `y`: Python complex to float32 is not safe"):
        f(np.float32(1), 1j)


@pytest.mark.parametrize("value", ["text", np.array(["a"]), np.datetime64("2020"), object()])
def test_operands_without_arithmetic(value, add):
    with pytest.raises(TypeError):
        add(value, 1.0)


def test_dtype_and_signature_arguments(add):
    x = np.arange(3, dtype=np.int32)
    assert add(x, x, dtype=np.float32).dtype == np.float32
    assert add(x, x, signature="dd->d").dtype == np.float64
    assert add(x, x, signature=(None, None, np.float64)).dtype == np.float64
    with pytest.raises(TypeError):
        add(np.ones(3), 1.0, dtype=np.int32)
    assert add(np.ones(3), 1.0, dtype=np.int32, casting="unsafe").dtype == np.int32
    with pytest.raises(ValueError):
        add(x, x, casting="never")
    with pytest.raises(TypeError):
        add(x, x, sig="ll->l", signature="ll->l")


def test_resolve_dtypes(add):
    f4, f8 = np.dtype("f4"), np.dtype("f8")
    assert add.resolve_dtypes((f4, f8, None)) == (f4, f8, f8)
    assert add.resolve_dtypes((f4, int, None)) == (f4, f4, f4)


# ---- calls ----


def test_scalars_and_zero_d(add):
    r = add(1, 2)
    assert type(r) is np.int64 and r == 3
    assert type(add(np.array(1.0), 2.0)) is np.float64
    assert type(add(np.float32(1), np.float32(2))) is np.float32
    assert add(1.0, 2.0, out=np.zeros(())).shape == ()


def test_broadcasting(add):
    x, y = np.arange(4.0)[:, None], np.arange(3.0)
    assert (add(x, y) == x + y).all()
    with pytest.raises(ValueError):
        add(np.ones(3), np.ones(4))


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0)])
def test_zero_size(shape, add):
    r = add(np.ones(shape, np.float32), 1)
    assert r.shape == shape and r.dtype == np.float32


def test_out(add):
    x = np.arange(4.0)
    out = np.zeros(4)
    assert add(x, 1.0, out) is out
    assert add(x, 1.0, out=out) is out
    assert add(x, 1.0, out=(out,)) is out
    assert out.tolist() == [1, 2, 3, 4]
    single = np.zeros(4, np.float32)
    assert add(x, 1.0, out=single) is single
    wide = np.zeros((2, 4))
    assert (add(x, 1.0, out=wide) == x + 1).all()
    with pytest.raises(TypeError):
        add(x, 1.0, out=np.zeros(4, np.int32))
    with pytest.raises(ValueError):
        add(x, 1.0, out=np.zeros(3))
    with pytest.raises(TypeError):
        add(x, 1.0, out=[0.0] * 4)
    out.flags.writeable = False
    with pytest.raises(ValueError):
        add(x, 1.0, out=out)


def test_where(add):
    x = np.arange(6.0)
    out = np.full(6, -1.0)
    add(x, 10.0, out=out, where=x % 2 == 0)
    assert out.tolist() == [10, -1, 12, -1, 14, -1]
    with pytest.raises(TypeError):
        add(x, 1.0, out=out, where=np.ones(6, int))


def test_order(add):
    x = np.asfortranarray(np.ones((3, 4)))
    assert add(x, x).flags.f_contiguous
    assert add(x, x, order="C").flags.c_contiguous
    with pytest.raises(ValueError):
        add(x, x, order="Z")


@pytest.mark.parametrize("keywords", [
    {"axis": 0}, {"axes": [0]}, {"keepdims": True}, {"colour": 1}, {"stream": 5},
])
def test_keywords_refused(keywords, add):
    with pytest.raises(TypeError):
        add(np.ones(2), 1.0, **keywords)


def test_stream_of_nothing_is_fine(add):
    assert add(1.0, 2.0, stream=None) == 3
    assert add(1.0, 2.0, stream=0, dtype=np.float32).dtype == np.float32


def test_wrong_number_of_operands(add):
    for args in [(), (1.0,), (1.0, 2.0, None, None)]:
        with pytest.raises(TypeError):
            add(*args)


@pytest.mark.parametrize("n", [1, 7, 8, 15, 16, 17, 31, 33, 100, 1023, 1025, 100_000])
@pytest.mark.parametrize("step", [1, 2, 3, -1, -2])
def test_strides(n, step, add):
    x = np.random.default_rng(n).normal(size=abs(n * step) + 1)[:: step][:n]
    y = np.arange(float(n))
    assert (add(x, y) == x + y).all()
    out = np.zeros(2 * n)
    add(x, 2.5, out=out[::2])
    assert (out[::2] == x + 2.5).all() and (out[1::2] == 0).all()


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "i2", "c16"])
@pytest.mark.parametrize("n", [31, 33, 5000, 300_000])
def test_no_operand_is_contiguous(n, dtype):
    """A short function is then run in order, where the elements are, and a longer one on copies of them."""
    rng = np.random.default_rng(n)
    a, b, out = (rng.integers(1, 100, 3 * n).astype(dtype) for _ in range(3))
    short = lw.vectorize(lambda x, y: x * y + y)
    longer = lw.vectorize(lambda x, y: ((x * y + y) * x - y) * (x - y) * x + (y * x + x) * y)
    for f in (short, longer):
        for step in (2, 3, -1):
            x, y, z, rest = a[::step][:n], b[::step][:n], out.copy(), out.copy()
            wanted = f(x.copy(), y.copy())
            f(x, y, out=z[::step][:n])
            rest[::step][:n] = wanted
            assert (z == rest).all()
            same = a.copy()
            f(same[::step][:n], y, out=same[::step][:n])
            rest = a.copy()
            rest[::step][:n] = wanted
            assert (same == rest).all()
            if step != -1:
                table, other = a[: n // 4 * 4].reshape(4, -1), b[: n // 4 * 4].reshape(4, -1)
                found = np.zeros_like(table)
                f(table[:, ::step], other[:, ::step], out=found[:, ::step])
                wanted = np.zeros_like(table)
                wanted[:, ::step] = f(table[:, ::step].copy(), other[:, ::step].copy())
                assert (found == wanted).all()


def test_exceptions_of_elements_that_are_not_contiguous():
    @lw.vectorize
    def positive(x, y):
        if x < y:
            raise ValueError(x)
        return x

    x = np.ones(200_000)
    x[[150_000, 40_000, 190_000]] = -1, -2, -3
    with pytest.raises(ValueError, match=r"^-2\.0 .*, element 20000\)"):
        positive(x[::2], np.zeros_like(x)[::2], out=np.zeros_like(x)[::2])


def test_misaligned_and_byte_swapped(add):
    raw = np.zeros(8 * 10 + 1, np.uint8)
    x = raw[1:].view(np.float64)
    x[:] = np.arange(10)
    assert (add(x, 1.0) == np.arange(10) + 1).all()
    assert (add(np.arange(10).astype(">f8"), x) == 2 * np.arange(10)).all()
    out = raw[1:].view(np.float64)
    add(np.arange(10.0), 1.0, out=out)
    assert (out == np.arange(10) + 1).all()


def test_overlap(subtract):
    for ufunc in (subtract, np.subtract):
        x = np.arange(1000.0)
        ufunc(x[1:], x[:-1], out=x[:-1])
        assert (x[:-1] == 1).all()
        y = np.arange(1000.0)
        ufunc(y[:-1], 5.0, out=y[1:])
        assert y[0] == 0 and (y[1:] == np.arange(999.0) - 5).all()
        z = np.arange(6.0)
        ufunc(z, z[::-1], out=z)
        assert z.tolist() == [-5, -3, -1, 1, 3, 5]


@pytest.mark.parametrize("dtype", "?bBhHiIlLefdFD")
def test_every_dtype_in_and_out(dtype):
    f = lw.vectorize(_identity)
    x = (np.arange(300) % 7).astype(dtype)
    assert f(x).dtype == x.dtype and (f(x) == x).all()
    assert (f(x[::3]) == x[::3]).all()


def test_longlong_is_int64(add):
    x = np.arange(3, dtype=np.longlong)
    assert (add(x, x) == 2 * np.arange(3)).all()


@pytest.mark.parametrize("signatures", [None, ["i8(i8,i8)", "u8(u8,u8)"]], ids=["lazy", "signatures"])
def test_calls_that_name_longlong(signatures):
    x = np.arange(3)
    calls = [
        lambda f: f(x, x, dtype=np.longlong),
        lambda f: f(x, x, dtype=np.ulonglong, casting="unsafe"),
        lambda f: f(x, x, signature="qq->q"),
        lambda f: f(x, x, signature=(None, None, "q")),
        lambda f: f(x.astype("i4"), x.astype("i4"), dtype="q"),
        lambda f: f.outer(x, x, dtype="q"),
        lambda f: f.reduce(x, dtype="q"),
        lambda f: f.reduce(x.astype("i4"), dtype="Q"),
        lambda f: f.accumulate(x, dtype="q"),
        lambda f: f.reduceat(x, [0, 1], dtype="q"),
    ]
    for number, call in enumerate(calls):
        f = lw.vectorize(signatures)(_add) if signatures else lw.vectorize(_add)  # a new one: its first call is what is tried
        for _ in range(2):
            got, wanted = call(f), call(np.add)
            assert got.dtype == wanted.dtype and (got == wanted).all(), number


@pytest.mark.parametrize("signatures", [[], [["i8[:],i8[:]"]]], ids=["lazy", "signatures"])
def test_gufuncs_that_are_asked_for_longlong(signatures):
    for keywords in ({"dtype": "q"}, {"signature": "q->q"}):

        @lw.guvectorize(*signatures, "(n)->()")
        def total(x, out):
            out[0] = x[0] + x[1]

        assert total(np.arange(4), **keywords) == 1


def test_complex_operands():
    f = lw.vectorize(lambda z, w: z * w + 1)
    z = np.array([1 + 2j, 3 - 1j])
    assert np.allclose(f(z, z[::-1]), z * z[::-1] + 1)
    assert f(z.astype("F"), z.astype("F")).dtype == np.complex64


# ---- values ----


def test_results_do_not_depend_on_position_layout_or_length():
    f = lw.vectorize(lambda x: math.exp(x) * math.sin(x) + math.log(x))
    rng = np.random.default_rng(1)
    x = rng.uniform(0.1, 5, 50_003)
    whole = f(x)
    for n in (1, 2, 3, 5, 15, 16, 17, 100):
        assert (f(x[:n].copy()) == whole[:n]).all()
        assert (f(x[7 : 7 + n]) == whole[7 : 7 + n]).all()
    assert (f(x[::3]) == whole[::3]).all()
    assert (f(x[::-1]) == whole[::-1]).all()
    y = x.copy()
    assert (f(y, out=y) == whole).all()
    assert f(x[11]) == whole[11]
    assert np.allclose(whole, np.exp(x) * np.sin(x) + np.log(x), rtol=1e-14)


def test_long_arrays_on_all_threads():
    f = lw.vectorize(lambda x, y: x * y + x)
    x = np.random.default_rng(2).normal(size=1_000_003)
    assert np.allclose(f(x, x), x * x + x, rtol=1e-15)
    assert np.allclose(f(x, 2.0), 3 * x)


# ---- floating-point flags ----


def test_warnings_are_numpys():
    divide = lw.vectorize(lambda x, y: x / y)
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        divide(np.ones(3), 0.0)
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
        divide(np.ones(3), 0.0)
    with np.errstate(divide="ignore"):
        assert divide(1.0, 0.0) == np.inf
    exp = lw.vectorize(lambda x: math.exp(x))
    with pytest.warns(RuntimeWarning, match="overflow"):
        exp(np.full(40, 1000.0))
    log = lw.vectorize(lambda x: math.log(x))
    with pytest.warns(RuntimeWarning, match="invalid"):
        log(np.full(40, -1.0))


@pytest.mark.parametrize("n", [1, 5, 40, 2000])
def test_no_spurious_warnings(n):
    f = lw.vectorize(lambda x: math.exp(x) + math.sin(x) + math.log(x + 3))
    guarded = lw.vectorize(lambda x, y: x / y if y != 0 else 0.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        f(np.full(n, np.nan))
        f(np.linspace(0, 1, n))
        x = np.full(n, np.nan)
        f(x, out=x)
        assert (guarded(np.ones(n), np.zeros(n)) == 0).all()
        lw.vectorize(lambda a, b: a // b)(np.arange(n), 0)


# ---- methods ----


def test_reduce(add, subtract):
    x = np.arange(24.0).reshape(2, 3, 4)
    for axis in (0, 1, 2, -1, None, (0, 2)):
        assert np.allclose(add.reduce(x, axis=axis), np.add.reduce(x, axis=axis))
    assert add.reduce(x, axis=1, keepdims=True).shape == (2, 1, 4)
    assert add.reduce(np.array([])) == 0
    assert add.reduce(x, axis=None, initial=10.0) == x.sum() + 10
    assert np.allclose(add.reduce(x, axis=0, where=x > 5), np.add.reduce(x, axis=0, where=x > 5))
    assert add.reduce(np.arange(5, dtype=np.int32), dtype=np.float64).dtype == np.float64
    assert subtract.reduce(np.array([1.0, 2, 3])) == -4
    with pytest.raises(ValueError):
        subtract.reduce(np.array([]))
    with pytest.raises(ValueError):
        subtract.reduce(x, axis=(0, 1))
    out = np.zeros(4)
    assert add.reduce(x[0], out=out) is out


def test_identity():
    largest = lw.vectorize(identity=-5)(lambda a, b: max(a, b))
    assert largest.identity == -5
    assert largest.reduce(np.array([], float)) == -5
    with pytest.raises(ValueError, match="identity=5 is not an identity of `_add`, which returns 6 for it and 1"):
        lw.vectorize(identity=5)(_add)
    maximum = lw.vectorize(identity="reorderable")(lambda a, b: max(a, b))
    assert maximum.identity is None
    x = np.random.default_rng(3).normal(size=(4, 5))
    assert maximum.reduce(x, axis=(0, 1)) == x.max()
    assert lw.vectorize(lambda a, b: a - b).identity is None


def test_names_do_not_change_reductions():
    def add(x, y):
        return x + y

    ours = lw.vectorize(add)
    assert ours.__name__ == "add"
    x = np.full(300, 1, np.int8)
    assert ours.reduce(x).dtype == np.int8
    assert ours.accumulate(x).dtype == np.int8


@pytest.mark.parametrize("dtype", ["u1", "i2", "u8", "i8"])
def test_masked_comparisons_with_ints_beyond_the_dtype(dtype):
    """NumPy 2.4 crashes."""
    x = np.arange(8).astype(dtype)
    mask = x > 3
    for number in (-1, -(2**70), 2**40, 2**70):
        for name in ("greater_equal", "less", "equal", "not_equal", "greater", "less_equal"):
            f = getattr(lw.ufuncs, name)
            for operands in ((x, number), (number, x)):
                got = f(*operands, where=mask, out=np.zeros(8, bool))
                assert np.array_equal(got, getattr(np, name)(*operands) & mask)


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
@pytest.mark.parametrize("n", [2, 3, 5, 40, 300, 5000, 70_000])
def test_folds_of_nan_are_silent(n, dtype):
    """Comparisons with NaN raise a flag of the processor, which is no warning of NumPy's; neither is a NaN that comes from one."""
    own = lw.vectorize(lambda a, b: a if a > b else b)
    for place in {0, 1, n // 2, n - 1}:
        x = np.ones(n, dtype)
        x[place] = np.nan
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for f, numpys in ((lw.maximum, np.maximum), (lw.fmin, np.fmin), (lw.minimum, np.minimum), (own, np.fmax)):
                whole = f is not own or place < n - 1
                got, wanted = f.reduce(x), numpys.reduce(x)
                assert not whole or np.array_equal(got, wanted, equal_nan=True)
                f.accumulate(x), f.reduceat(x, [0, n // 2]), f.reduce(np.stack([x] * 3), axis=1), f.reduce(np.stack([x] * 3, 1), axis=0)
            lw.floor_divide.reduce(x)


@pytest.mark.parametrize("n", [3, 40, 300])
def test_folds_with_branches_warn_of_their_results(n):
    product = lw.vectorize(lambda a, b: a * b if a > 0 else a - b)
    x = np.full(n, 1e300)
    with pytest.warns(RuntimeWarning, match="overflow encountered in reduce"):
        assert product.reduce(x) == np.inf
    with pytest.warns(RuntimeWarning, match="overflow encountered in accumulate"):
        assert product.accumulate(x)[-1] == np.inf
    x[:2] = -np.inf
    with pytest.warns(RuntimeWarning, match="invalid value encountered in reduce"):
        assert np.isnan(product.reduce(x))


@pytest.mark.parametrize("dtype", ["?", "u1", "i4", "u8", "i8"])
@pytest.mark.parametrize("number", [-math.inf, -1, 0.5, -5, math.nan])
def test_reduce_starts_from_no_number_that_the_dtype_cannot_hold(dtype, number):
    largest = lw.vectorize(lambda a, b: a if a > b else b, identity=number)
    x = np.zeros((2, 3), dtype)
    x[0, 1] = 1
    assert largest.reduce(x, axis=1).tolist() == [1, 0] and largest.reduce(x, axis=(0, 1)) == 1
    if number in (-1, -5) and np.dtype(dtype).kind == "i":
        assert largest.reduce(x[1, :0]) == number and not largest.reduce(x, axis=(0, 1), where=[True, False, True])
        return
    with pytest.raises(ValueError, match="zero-size array to reduction operation .* has no identity"):
        largest.reduce(x[1, :0])
    with pytest.raises(ValueError, match="does not have an identity, so to use a where mask"):
        largest.reduce(x, axis=1, where=x == 0)


@pytest.mark.parametrize("dtype", ["?", "u1", "i4", "u8"])
def test_minus_one_is_all_bits_where_these_are_an_identity(dtype):
    both, of_numpys = (lw.vectorize(lambda a, b: a & b, identity=one) for one in (-1, np.int64(-1)))
    for f in (both, of_numpys, lw.bitwise_and):
        assert f.reduce(np.zeros(0, dtype)) == np.bitwise_and.reduce(np.zeros(0, dtype))
        assert f.reduce(np.array([1, 0], dtype), where=[True, False]) == 1


class And:
    """An object for `a & b` in compiled code; in Python it raises an exception."""

    def __init__(self, problem):
        self.problem, self.py_func = problem, lambda a, b: a & b

    def __call__(self, a, b):
        raise self.problem


def test_an_identity_is_looked_at_without_losing_exceptions():
    stopped, wrong = And(KeyboardInterrupt()), And(TypeError())
    with pytest.raises(KeyboardInterrupt):
        lw.vectorize(lambda a, b: stopped(a, b), identity=-1).reduce(np.zeros(0, "u1"))
    assert lw.vectorize(lambda a, b: wrong(a, b), identity=-1).reduce(np.zeros(0, "u1")) == 255
    with pytest.raises(ValueError, match="no identity"):
        lw.vectorize(lambda a, b: a if a < b else b, identity=10**30).reduce(np.zeros(0, "?"))


def test_accumulate_reduceat_outer_at(add, subtract):
    x = np.random.default_rng(4).integers(0, 100, (6, 7)).astype(float)
    for axis in (0, 1):
        assert (add.accumulate(x, axis=axis) == np.add.accumulate(x, axis=axis)).all()
        assert (subtract.accumulate(x, axis) == np.subtract.accumulate(x, axis)).all()
    assert (add.reduceat(x[0], [0, 3, 1]) == np.add.reduceat(x[0], [0, 3, 1])).all()
    assert (add.outer(x[0], x[1]) == np.add.outer(x[0], x[1])).all()
    y, z = np.zeros(5), np.zeros(5)
    add.at(y, [0, 1, 1, 4], 1.5)
    np.add.at(z, [0, 1, 1, 4], 1.5)
    assert (y == z).all()
    with pytest.raises(IndexError):
        add.reduceat(x[0], [100])
    assert add.at(y, slice(None), 1.0) is None


def test_integer_division_reduces_in_its_result_type():
    f = lw.vectorize(lambda a, b: a / b)
    assert f.reduce(np.array([8, 2, 2])) == 2.0


def test_transcendental_reduce():
    f = lw.vectorize(lambda a, b: math.log(math.exp(a) + math.exp(b)))
    x = np.random.default_rng(5).normal(size=(5, 40))
    assert np.allclose(f.reduce(x, axis=1), np.logaddexp.reduce(x, axis=1))
    assert np.allclose(f.reduce(x, axis=0), np.logaddexp.reduce(x, axis=0))
    assert (f.reduce(x, axis=0) == f.reduce(np.asfortranarray(x), axis=0)).all()


# ---- errors raised by the function ----


@lw.vectorize
def checked(x):
    assert x >= 0, "negative"
    if x > 100:
        raise ValueError("too big")
    return x + 1


def test_assert_and_raise():
    assert checked(np.arange(3.0)).tolist() == [1, 2, 3]
    x = np.zeros(5000)
    x[4321] = -1
    with pytest.raises(AssertionError, match=r"negative.*checked.*test_vectorize_host.py.*4321"):
        checked(x)
    x[17] = 101
    with pytest.raises(ValueError, match=r"too big.*element 17"):
        checked(x)
    with pytest.raises(ValueError, match="element 17"):
        checked(np.repeat(x, 2)[::2])


def test_errors_ignored():
    def f(x):
        assert x > 0
        return x

    assert lw.vectorize(errors="ignore")(f)(-1.0) == -1
    with pytest.raises(AssertionError):
        lw.vectorize(errors="defer")(f)(-1.0)


# ---- targets ----


def test_source_keyword():
    scope = {}
    exec("def f(x):\n    return x * 3\n", scope)
    u = lw.vectorize(source="def f(x):\n    return x * 3\n")(scope["f"])
    assert u(2.0) == 6


def test_host_call_with_forced_gpu_needs_one():
    if lw.cuda.is_available():
        pytest.skip("there is one")
    f = lw.vectorize(target="cuda")(lambda x: x + 1)
    with pytest.raises((lw.errors.DriverError, lw.errors.CompilerNotFound)):
        f(np.ones(3))


def raised(f, *args):
    """The floating-point flags of one call: bits 1 divide, 2 overflow, 4 underflow, 8 invalid."""
    seen = []
    with np.errstate(all="call", call=lambda kind, flags: seen.append(flags)):
        f(*args)
    return seen[0] if seen else 0


@pytest.mark.parametrize("n", [1, 9, 1000])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_flags_are_those_of_the_values(dtype, n):
    def all_of(x):
        return np.full(n, x, dtype)

    for name in ("greater", "less_equal"):
        assert raised(getattr(lw, name), all_of(np.nan), all_of(1)) == 0
        assert raised(getattr(lw, name), all_of(1), all_of(np.nan)) == 0
    assert raised(lw.vectorize(lambda x: x > 0), all_of(np.nan)) == 0
    assert raised(lw.vectorize(lambda x: 1.0 if x > 0 else 2.0), all_of(np.nan)) == 0
    for x, y in ((0, -1), (0, -0.5), (0, 0.5), (0, 3), (-0.0, 3), (0, 0), (2, 3)):
        assert raised(lw.power, all_of(x), all_of(y)) == raised(np.power, all_of(x), all_of(y)), (x, y)
    assert raised(lw.power, all_of(1e30), all_of(20)) == 2
    assert raised(lw.log, all_of(0)) == 1
    assert raised(lw.sqrt, all_of(-1)) == 8
    assert raised(lw.exp, all_of(1000)) == 2
    assert raised(lw.exp, all_of(-1000)) == 4


def test_flags_that_follow_from_the_values_are_seen_in_every_part():
    """Those of elements that a thread of the pool computes are seen, too."""
    lw.ufuncs.nextafter(np.ones(1 << 20), np.inf)  # the cost of an element is measured
    for at in range(0, 1 << 20, 1 << 16):
        x = np.ones(1 << 20)
        x[at] = np.finfo(np.float64).max
        assert raised(lw.ufuncs.nextafter, x, np.inf) == 2, at


@pytest.mark.parametrize("name", ["erfc", "erf", "tanh", "atan"])
def test_warnings_are_those_of_the_result_of_the_whole_function(name):
    """docs/differences.md: an infinity in between that ends as a finite number gives no warning; check= tells of it."""
    function = getattr(math, name)

    def f(x, y):
        return function(x / y)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.isfinite(lw.vectorize(f)(1.0, np.zeros(4))).all()
        with pytest.raises(RuntimeWarning, match="divide by zero"):
            lw.vectorize(lambda x, y: x / y)(1.0, np.zeros(4))
    with pytest.raises(ZeroDivisionError):
        lw.vectorize(f, check={"divide"})(1.0, np.zeros(4))


HALVES = [lambda x: x * x, lambda x: x + x, lambda x: 1 / x, lambda x: np.sqrt(abs(x)), lambda x: np.float16(np.float32(x) * 3), lambda x: x * x == x]


@pytest.mark.parametrize("f", HALVES)
def test_float16_raises_no_flags_of_its_own(f):
    """One float16 is converted in a register with seven others, which may be anything; none of these elements overflows, is tiny or NaN."""
    ufunc = lw.vectorize(f)
    rng = np.random.default_rng(7)
    with np.errstate(all="raise"):
        for n in range(1, 71):
            for _ in range(20):
                x = (rng.choice([-1, 1], n) * rng.uniform(0.25, 4, n)).astype("f2")
                expected = f(x)
                np.testing.assert_allclose(ufunc(x).astype("f8"), expected.astype("f8"), rtol=1e-3)
                np.testing.assert_array_equal(ufunc(x[::-1]), ufunc(x)[::-1])
                if expected.dtype == "f2":
                    assert ufunc(x, out=x) is x


def warned(f, *args):
    with warnings.catch_warnings(record=True) as found, np.errstate(all="warn"):
        warnings.simplefilter("always")
        result = f(*args)
    return result.copy(), sorted(str(one.message).partition(" encountered")[0] for one in found)


@pytest.mark.parametrize("name", ["add", "multiply", "divide"])
@pytest.mark.parametrize("n", [64, 4095, 4097, 9000, 20_000])
def test_float16_raises_numpys_flags_in_place(name, n):
    """Inputs that are overwritten are looked at, and those that are not, where they lie: around the ends of blocks."""
    ours, theirs = getattr(lw.ufuncs, name), getattr(np, name)
    rng = np.random.default_rng(n)
    for at in (0, 31, n // 2, min(4096, n - 1), n - 1):
        for first, second in ((np.nan, 1), (np.inf, -np.inf), (np.inf, 0), (65504, 65504), (0, 0), (6e-8, 6e-8), (1, 0), (1, 2)):
            for shift in (0, 3):
                x, y = rng.integers(1, 9, (2, n)).astype(np.float16)
                x[at], y[at] = first, second
                for a, b, out in ((x, y, 0), (x, y, 1), (x, x, 0)):
                    wanted, flags = warned(theirs, a, b)
                    operands = [*np.empty((2, n + shift), np.float16)[:, shift:]]
                    operands[0][:], operands[1][:] = a, b
                    if a is b:
                        operands[1] = operands[0]
                    got, raised = warned(lambda: ours(*operands, out=operands[out]))
                    assert raised == flags and np.array_equal(got, wanted, equal_nan=True), (at, first, second, out)


def test_float16_raises_numpys_flags():
    x = np.array([1, 300, 2, 0, 5e-5, np.inf, np.nan], "f2")
    for f, place, flag in ((lambda x: x * x, 1, "over"), (lambda x: 1 / x, 3, "divide"), (lambda x: x * x, 4, "under"), (lambda x: x - x, 5, "invalid")):
        ufunc = lw.vectorize(f)
        with np.errstate(**{"all": "ignore", flag: "raise"}):
            for n in (1, 7, 40):
                with pytest.raises(FloatingPointError, match=flag):
                    ufunc(np.where(np.arange(n) == n // 2, x[place], np.float16(1)))
                assert ufunc(np.ones(n, "f2")).dtype == "f2"


@lw.forall
def _saxpy(i, a, x, y):
    y[i] = a * x[i] + y[i]


@lw.forall
def _horner(i, a, x, y):
    y[i] = (((a * x[i] + 1) * x[i] + 2) * x[i] + 3) * x[i]


@pytest.mark.skipif(lw._core._vector_bits < 512, reason="vectors of 64 bytes are not used on this CPU")
def test_light_functions_have_vectors_of_32_bytes(add):
    """A vector of 64 bytes would lie in two cache lines, as arrays begin at multiples of 16 bytes."""
    assert "ymm" in add.inspect_asm("f4(f4, f4)") and "zmm" not in add.inspect_asm("f4(f4, f4)")
    assert "zmm" in lw.vectorize(lambda x: math.exp(x)).inspect_asm("f4(f4)")
    light, heavy = (kernel.inspect_asm("(float32, float32[::1], float32[::1])") for kernel in (_saxpy, _horner))
    assert "ymm" in light and "zmm" not in light
    assert "zmm" in heavy

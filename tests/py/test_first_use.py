"""What a scientist's first hour with the package turned up, one regression test each."""

import inspect
import itertools
import math
import os
import pickle
import subprocess
import sys
import warnings

import numpy as np
import pytest

import lanewise as lw


def _sum(x, y):
    return x + y


def _raises_above_one(x):
    if x > 1:
        raise ValueError("too big")
    return x


# ---- errors name the element ----


def test_first_call_of_a_raising_function_counts_from_zero():
    def quiet(x):
        if x > 100:
            raise ValueError("never")
        return x

    lw.vectorize(quiet)(np.zeros(7))  # can raise, does not: counts its elements
    with pytest.raises(ValueError, match=r"too big.*element 1\)"):
        lw.vectorize(_raises_above_one)(np.array([1.0, 2.0]))


# ---- reductions of lanewise.add and lanewise.multiply ----


@pytest.mark.parametrize("name", ["add", "multiply"])
@pytest.mark.parametrize("dtype", "?bBhHiIlLefdFD")
def test_sums_and_products_of_small_integers_are_widened(name, dtype):
    ours, numpys = getattr(lw, name), getattr(np, name)
    x = np.full((2, 9), 3, dtype)
    for method, args in [("reduce", ()), ("accumulate", (1,)), ("reduceat", ([0, 3], 1))]:
        got, want = getattr(ours, method)(x, *args), getattr(numpys, method)(x, *args)
        assert got.dtype == want.dtype, method
        assert got.tolist() == want.tolist(), method


def test_widening_leaves_dtype_and_out_to_the_caller():
    x = np.ones(300, np.int8)
    assert lw.add.reduce(x, dtype=np.int8) == np.add.reduce(x, dtype=np.int8) == 44
    out = np.zeros((), np.int16)
    assert lw.add.reduce(x, out=out) is out and out == 300


def test_a_users_function_named_add_is_not_widened():
    def add(x, y):
        return x + y

    assert lw.vectorize(add).reduce(np.ones(3, np.int8)).dtype == np.int8


@pytest.mark.parametrize("method, at", [("accumulate", ()), ("reduceat", ([0, 2],))])
@pytest.mark.parametrize("dtype", ["i8", "f4", "f8", "c16"])
def test_running_folds_compute_in_the_dtype_asked_for(method, at, dtype):
    f = lw.vectorize(_sum)
    for x in (np.arange(5, dtype="i1"), np.arange(5, dtype="f4")):
        want = getattr(np.add, method)(x, *at, dtype=dtype)
        for got in (getattr(f, method)(x, *at, dtype=dtype),
                    getattr(f, method)(x, *at, 0, dtype),
                    getattr(f, method)(x, *at, out=np.zeros(want.shape, dtype))):
            assert got.dtype == want.dtype
            assert got.tolist() == want.tolist()


@pytest.mark.parametrize("dtype", "?bBhHiIlL")
def test_all_bits_set_is_the_identity_of_unsigned_integers_too(dtype):
    x = np.array([7, 13, 5]).astype(dtype)
    assert lw.bitwise_and.reduce(x) == np.bitwise_and.reduce(x)
    assert lw.bitwise_and.reduce(x[:0]) == np.bitwise_and.reduce(x[:0])


# ---- parameters with defaults, bound methods ----


def _scaled(x, y=2.0):
    return x * y


def test_a_value_for_a_default_is_not_taken_for_an_output():
    f, x, y = lw.vectorize(_scaled), np.arange(3.0), np.full(3, 5.0)
    assert f(x, y).tolist() == [0, 5, 10]
    assert y.tolist() == [5, 5, 5]
    assert f(x, 4, y) is y and y.tolist() == [0, 4, 8]
    assert f(x, out=y) is y and y.tolist() == [0, 2, 4]
    both = lw.vectorize("dd->d")(_scaled)
    assert both(x, x, y) is y
    assert y.tolist() == [0, 1, 4]
    one = lw.vectorize("d->d")(_scaled)
    with pytest.raises(TypeError, match="`_scaled` takes 1 operand: its parameter `y` has a default"):
        one(x, y)
    assert y.tolist() == [0, 1, 4]


def test_operands_by_name_and_defaults():
    f, x = lw.vectorize(_scaled), np.arange(3, dtype=np.float32)
    for got, want in ((f(x), [0, 2, 4]), (f(x=x), [0, 2, 4]), (f(x, y=3), [0, 3, 6]), (f(y=3, x=x), [0, 3, 6]),
                      (f(x, y=0.5, dtype="f8", where=[True] * 3, out=np.zeros(3)), [0, 0.5, 1])):
        assert got.tolist() == want
    assert f(x, y=3).dtype == f(x).dtype == np.float32
    assert lw.vectorize("dd->d")(_scaled)(3.0) == 6  # a missing operand has its default
    g = lw.vectorize(lambda a, b, c=1.0, d=2.0: a + b * c - d)
    assert g(1.0, 2.0, d=5.0) == -2 and g(b=1.0, a=2.0) == 1 and g(1.0, 2.0, 3.0, 4.0) == 3
    h = lw.guvectorize("(n),()->()")(lambda a, b: a[0] * b)
    assert h(a=x + 1, b=2) == 2 and h(x + 1, b=3) == 3
    assert lw.vectorize(Gain(3.0).blend)(x, k=2).tolist() == [0, 6, 12]
    assert pickle.loads(pickle.dumps(f))(x, y=3).tolist() == [0, 3, 6]


def test_keyword_only_parameters():
    @lw.vectorize
    def f(x, y=3, *, a=2, b=10):
        return x * a + y * b

    x, out = np.arange(3.0), np.zeros(3)
    assert (f(1.0), f(1.0, 2.0), f(1.0, b=1.0), f(1.0, a=np.float32(0.5))) == (32, 22, 5, 30.5)
    assert f(x, a=x, b=1).tolist() == [3, 4, 7]
    assert f(x, 2, out, a=1) is out and out.tolist() == [20, 21, 22]  # outputs follow what is positional
    assert f(b=1, x=x, out=out) is out and out.tolist() == [3, 5, 7]
    assert pickle.loads(pickle.dumps(f))(1.0, a=3) == 33
    for call, text in ((lambda: f(x, 2, out, out), "positional"), (lambda: f(1.0, c=1), "unexpected keyword argument 'c'"),
                       (lambda: f(a=1), "missing a required argument: 'x'"),
                       (lambda: lw.vectorize("d->d")(f.py_func)(1.0, a=1), "its parameter `y` has a default")):
        with pytest.raises(TypeError, match=text):
            call()


def test_what_inspect_says_of_parameters():
    def parameters(f):
        return str(inspect.signature(f)).partition(", where=")[0].partition(", axes=")[0]

    assert parameters(lw.vectorize(lambda x, y=3, *, a="k": x)) == "(x, y=3, *, out=None, a='k'"
    assert parameters(lw.vectorize("d->d")(_scaled)) == "(x, *, out=None"
    assert parameters(lw.vectorize("ddd->d")(lambda x, *y: x)) == "(x, _2, _3, /, *, out=None"
    assert parameters(lw.vectorize(lambda out, axis=1: out)) == "(out_, axis_=1, *, out=None"
    assert parameters(lw.guvectorize("(n),()->(n)")(lambda a, b, c: None)) == "(a, b, *, out=None"


@pytest.mark.parametrize("args, names, text", [
    ((1.0,), {"x": 2.0}, "multiple values for argument 'x'"), ((1.0, 2.0), {"y": 2.0}, "multiple values for argument 'y'"),
    ((1.0,), {"z": 2.0}, "unexpected keyword argument 'z'"), ((), {"y": 2.0}, "missing a required argument: 'x'"),
    ((), {"y": 2.0, "z": 1.0}, "unexpected keyword argument 'z'"), ((), {"y": 2.0, "where": True}, "missing a required argument: 'x'"),
    ((), {}, "0 were given"), ((1.0, 2.0, 3.0), {}, "must be of ArrayType"),
])
def test_operands_by_name_that_do_not_fit(args, names, text):
    with pytest.raises(TypeError, match=text):
        lw.vectorize(_scaled)(*args, **names)


def test_a_misspelt_operand_is_named():
    """NumPy would first say how many positional arguments are missing."""
    x = np.ones(3)
    for f in (lw.vectorize(lambda spot, strike: spot - strike), lw.vectorize("dd->d")(lambda spot, strike: spot - strike),
              lw.guvectorize("(n),()->(n)")(lambda spot, strike, out: None)):
        with pytest.raises(TypeError, match="unexpected keyword argument 'strkie'; did you mean 'strike'"):
            f(x, strkie=1.0)


class Gain:
    def __init__(self, factor):
        self.factor = factor

    def apply(self, x):
        return self.factor * x

    def blend(self, x, k=1):
        return self.factor * x * k


def test_a_bound_method_keeps_its_self():
    f = lw.vectorize(Gain(3.0).apply)
    assert f.nin == 1
    assert f(np.arange(3.0)).tolist() == f.py_func(np.arange(3.0)).tolist() == [0, 3, 6]
    assert pickle.loads(pickle.dumps(f))(np.arange(3.0)).tolist() == [0, 3, 6]


# ---- square roots as powers; the NaN check ----


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
def test_power_of_one_half_is_pow_at_the_edges_and_a_root_between(dtype):
    f = lw.vectorize(lambda x: x**0.5)
    edges = np.array([0.0, -0.0, np.inf, -np.inf, np.nan] * 9, dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        got = f(edges)
    want = [math.pow(x, 0.5) for x in edges.tolist()]
    assert np.array_equal(got, np.array(want, dtype), equal_nan=True)
    assert np.signbit(got[:4]).tolist() == [False] * 4
    x = np.linspace(0, 60000, 999, dtype=dtype)
    assert np.array_equal(f(x), np.sqrt(x))
    with pytest.warns(RuntimeWarning, match="invalid value"):
        assert np.isnan(f(np.array([-1.0], dtype))).all()


@pytest.mark.parametrize("function, value", [
    (lambda x: math.sqrt(x), -1.0),
    (lambda x: math.log(x), -1.0),
    (lambda x: np.arcsin(x), 2.0),
    (lambda x: math.fmod(2.0, x - 1.0), 1.0),
    (lambda x: math.sin(x), np.inf),
    (lambda x: x - x, np.inf),
])
def test_nan_check_sees_functions_as_well_as_operators(function, value):
    f = lw.vectorize(check={"nan"})(function)
    with pytest.raises(FloatingPointError, match=r"invalid value.*element 2\)"):
        f(np.array([0.5, 0.5, value, value]))
    assert np.isnan(f(np.array([np.nan]))).all()  # came in as one


def test_nan_check_leaves_an_untaken_branch_alone():
    f = lw.vectorize(check={"nan"})(lambda x: math.sqrt(x) if x > 0 else 0.0)
    assert f(np.array([-1.0, 4.0])).tolist() == [0, 2]


# ---- NumPy's ufuncs by name ----

FLOATING = [name for name in lw.ufuncs.__all__
            if getattr(lw, name).signature is None and name not in ("nextafter", "spacing") and any(types.startswith("e" * getattr(np, name).nin + "->e") for types in getattr(np, name).types)]


@pytest.mark.parametrize("name", FLOATING)
@pytest.mark.parametrize("dtype", "?bB")
def test_eight_bits_give_numpys_dtype(name, dtype):
    ours, numpys = getattr(lw, name), getattr(np, name)
    operands = [np.ones(3, dtype)] * numpys.nin
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            want = numpys(*operands)
    except TypeError:
        pytest.skip("NumPy has no such function of this dtype")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        got = ours(*operands)
    for one, other in zip(np.atleast_2d(got), np.atleast_2d(want)):
        assert one.dtype == other.dtype
        np.testing.assert_allclose(one, other, rtol=2e-3)


@pytest.mark.parametrize("name, dtypes", [
    *((name, dtypes) for name in ("arctan2", "hypot", "copysign", "logaddexp") for dtypes in ("hH", "Hb", "bH", "HH", "iH")),
    *(("ldexp", dtypes) for dtypes in ("?i", "bl", "Bh", "hb", "ii")),
    *(("subtract", dtypes) for dtypes in ("?b", "B?", "?d", "F?")),
])
def test_mixed_small_integers_give_numpys_dtype(name, dtypes):
    operands = [np.arange(1, 4).astype(dtype) for dtype in dtypes]
    got, want = getattr(lw, name)(*operands), getattr(np, name)(*operands)
    assert got.dtype == want.dtype
    np.testing.assert_allclose(got, want, rtol=2e-3)


def test_difference_of_bools_is_refused():
    with pytest.raises(TypeError, match="not bool|numpy boolean subtract"):
        lw.subtract(np.array([True]), np.array([False]))


@pytest.mark.parametrize("name", ["less", "less_equal", "greater", "greater_equal", "equal", "not_equal"])
def test_python_ints_of_any_size_compare(name):
    ours, numpys = getattr(lw, name), getattr(np, name)
    for x in (np.uint8([1, 255]), np.int8(-3), np.int64([2**63 - 1]), np.uint64([2**64 - 1]), np.float32([1])):
        for value in (-1, 255, 256, -(2**63), 2**63, 2**64 - 1, 2**70, -(2**70)):
            for args in ((x, value), (value, x)):
                got, want = ours(*args), numpys(*args)
                assert type(got) is type(want) and np.array_equal(got, want), (args, got, want)
    out = np.zeros(2, bool)
    assert ours(np.uint8([1, 2]), 300, out=out) is out and (out == numpys(np.uint8([1, 2]), 300)).all()


@pytest.mark.parametrize("name", ["divide", "float_power", "hypot", "arctan2", "copysign", "heaviside", "logaddexp", "logical_and", "logical_or", "logical_xor"])
def test_floats_and_truths_of_python_ints_of_any_size(name):
    ours, numpys = getattr(lw, name), getattr(np, name)
    for x in (np.uint8([1, 255]), np.int8([-3]), np.int16([7]), np.int64([2**62])):
        for value in (-1, 255, 300, 2**15, -(2**40)):
            for args in ((x, value), (value, x)):
                with np.errstate(all="ignore"):
                    got, want = ours(*args), numpys(*args)
                assert got.dtype == want.dtype, args
                np.testing.assert_allclose(got, want, rtol=2e-3, err_msg=str(args))
    with pytest.raises(OverflowError):
        lw.add(np.uint8([1]), 300)


@pytest.mark.parametrize("method, args", [("reduce", ()), ("accumulate", ()), ("reduceat", ([0, 1],))])
def test_results_that_are_no_accumulators(method, args):
    less, product = lw.vectorize(lambda a, b: a < b), lw.vectorize(lambda a, b: int(a * b))
    for ufunc, x in ((less, [1, 2, 3]), (lw.less, [1.0, 2.0]), (lw.equal, np.int8([1, 1])), (product, [1.5, 2.5])):
        with pytest.raises(TypeError, match="a reduction takes results as operands again|[Nn]o loop matching the specified signature|did not contain a loop"):
            getattr(ufunc, method)(x, *args)
    assert np.array_equal(getattr(less, method)([True, False], *args), getattr(np.less, method)([True, False], *args))
    assert np.array_equal(getattr(lw.logical_and, method)([1, 2, 0], *args), getattr(np.logical_and, method)([1, 2, 0], *args))
    assert np.array_equal(getattr(less, method)([1, 0, 2], *args, dtype=bool), getattr(np.less, method)([1, 0, 2], *args, dtype=bool))


# ---- settings from the environment ----


def test_variables_are_also_called_as_the_settings():
    code = "import lanewise as lw; print(lw.config.threads, lw.config.driver)"
    ran = subprocess.run([sys.executable, "-c", code], env={**os.environ, "LANEWISE_THREADS": "3", "LANEWISE_DRIVER": "/nothing"}, capture_output=True, text=True, check=True)
    assert ran.stdout == "3 /nothing\n"


@pytest.mark.parametrize("variable, value, text", [
    ("LANEWISE_TARGET", "gpu", "must be 'auto', 'cpu', 'cuda', 'parallel' or 'python', not 'gpu'"),
    ("LANEWISE_NUM_THREADS", "-3", "must be an integer from 0 to 256, not '-3'"), ("LANEWISE_NUM_THREADS", "257", "must be an integer from 0 to 256, not '257'"),
    ("NUMBA_NUM_THREADS", "257", "must be an integer from 0 to 256, not '257'"), ("NUMBA_NUM_THREADS", "many", "must be an integer from 0 to 256, not 'many'"),
    ("LANEWISE_LOG", "yes", "must be an integer from 0 on, not 'yes'"),
    ("LANEWISE_DUMP", "typed,llvn", "must be stages"),
])
def test_a_variable_with_a_wrong_value_is_told_of_and_not_used(variable, value, text):
    code = "import lanewise as lw; print(lw.config.target, lw.config.threads, lw.config.log, lw.config.dump)"
    ran = subprocess.run([sys.executable, "-c", code], env={**os.environ, variable: value},
                         capture_output=True, text=True, check=True)
    assert f"RuntimeWarning: {variable} {text}" in ran.stderr
    assert ran.stdout.split() == ["auto", "0", "0"]


@pytest.mark.parametrize("variable, value", [
    ("LANEWISE_TARGET", "cpu"), ("LANEWISE_NUM_THREADS", "1"), ("LANEWISE_DUMP", "typed,ir"), ("LANEWISE_DUMP", "")])
def test_a_variable_with_a_good_value_is_quiet(variable, value):
    ran = subprocess.run([sys.executable, "-W", "error", "-c", "import lanewise"],
                         env={**os.environ, variable: value}, capture_output=True, text=True)
    assert (ran.returncode, ran.stderr) == (0, "")


def test_a_dump_of_no_stage_is_refused():
    with pytest.raises(ValueError, match="config.dump must be stages, as a set or as a str with commas"):
        with lw.config(dump="everything"):
            pass
    assert lw.config.dump == ""


# ---- wrong results, and methods that need to know which loop ----


def _text(x):
    return "none"


def _falls_off(x):
    x + 1


def _as_many_as_come(x):
    if isinstance(x, complex):
        return x
    return (x, x)


@pytest.mark.parametrize("function, value, caret, label", [
    (_text, 1, '"none"', "this is a string"), (_falls_off, 1, "def _falls_off(x):", "nothing is returned"),
])
def test_results_that_are_no_numbers(function, value, caret, label):
    with pytest.raises(lw.errors.TypingError) as caught:
        lw.vectorize(function)(value)
    lines = str(caught.value).splitlines()
    assert lines[0] == "E154: a result that is not a number" and lines[3].strip("| ^") == label
    assert lines[3].count("^") == len(caret) and caret in lines[2]


def test_another_number_of_results():
    two = lw.vectorize(_as_many_as_come)
    assert two.nout == 2 and two(1.0) == (1.0, 1.0)
    with pytest.raises(lw.errors.TypingError, match=r"E154: wrong number of results(.|\n)*1 value for these types, and 2 for"):
        two(1j)


def test_reduce_says_why_a_loop_is_no_accumulator():
    ratio = lw.vectorize(["f8(i8, i8)"])(lambda a, b: a / b)
    with pytest.raises(TypeError, match=r"\(int64, int64\) -> float64: its result, float64, cannot be the next first argument, int64"):
        ratio.reduce([1, 2])


def test_methods_that_need_a_loop():
    f = lw.vectorize(lambda x: x * 2)
    with pytest.raises(TypeError, match=r"resources\(\) needs a signature: `<lambda>` has no loops yet"):
        f.resources()
    f(1.0)
    resources = f.resources()  # of the GPU, where there is one
    assert resources["code_bytes" if resources["target"] == "cpu" else "registers"] > 0 and f.compile() is None
    f(1)
    for method in (f.resources, f.compile):
        with pytest.raises(TypeError, match=r"has loops for int64\(int64\), float64\(float64\)"):
            method()


def test_reduce_wants_two_accumulators():
    for combine, n in ((lambda a: a, "1 parameter;"), (lambda a, b, c: a, "3 parameters;")):
        with pytest.raises(TypeError, match=f"combine function `<lambda>` takes {n} expected two"):
            lw.reduce(combine)


def test_ints_beyond_64_bits_beside_floats():
    f, huge = lw.vectorize(lambda x, y: x + y), 2**70
    for y in (1.0, np.float64(1), np.arange(3.0), np.arange(3, dtype=np.float32), 1j, np.float16(1)):
        with np.errstate(over="ignore"):
            for a, b in ((huge, y), (y, -huge)):
                want = np.add(a, b)
                for g in (f, lw.add):
                    got = g(a, b)
                    assert got.dtype == want.dtype and np.array_equal(got, want)
    assert f(x=huge, y=1.0) == float(huge)
    assert lw.less(huge, 1e300) and not lw.less(1e300, huge) and lw.less(10**300, 1e301)
    for a, b in ((huge, 1), (10**400, 1.0), (np.int64(1), huge)):
        with pytest.raises(OverflowError):
            f(a, b)


def test_annotations_as_text_that_the_module_does_not_know():
    def made_for(scalar):
        @lw.vectorize
        def f(x: "scalar", y: "float32") -> "scalar":
            return x + y

        return f

    assert made_for(lw.float64).types == ["df->d"] and made_for(np.complex128).types == ["Df->D"]

    @lw.vectorize
    def g(x: "an angle", y: "Unknown"):
        return x

    assert g.types == [] and g(1.0, 2) == 1


@pytest.mark.parametrize("rule", ["no", "equiv", "safe", "same_kind"])
@pytest.mark.parametrize("dtype", ["f4", "i2", "f8", None])
def test_casting_of_pythons_numbers_in_ufuncs(rule, dtype):
    """NumPy 2.4 crashes where resolve_dtypes refuses to cast an operand that is given as the class of a Python number."""
    operands = [3.0, 3, 2j, np.float32(1), np.array([1.0]), np.array([1], "f4"), np.array([1], "i2")]
    rules = {"casting": rule} if dtype is None else {"casting": rule, "dtype": dtype}

    def outcome(f, *args):
        try:
            made = f(*args, **rules)
        except TypeError:
            return TypeError
        return np.asarray(made).dtype, np.asarray(made).tolist()

    for name in ("add", "equal", "multiply"):
        for x, y in itertools.product(operands, operands):
            assert outcome(getattr(lw.ufuncs, name), x, y) == outcome(getattr(np, name), x, y), (name, x, y)


@pytest.mark.parametrize("rule", ["no", "equiv"])
def test_casting_rules_that_allow_no_cast(rule):
    i4, f4 = np.arange(3, dtype=np.int32), np.arange(3, dtype=np.float32)
    for f in (lw.add, lw.vectorize(lambda x, y: x + y)):
        assert f(f4, f4, casting=rule).dtype == f4.dtype and f(f4, 1.5, casting="no").dtype == f4.dtype
        for a, b in ((i4, f4), (f4, np.float64(1)), (f4, f4.astype(np.float64))):
            with pytest.raises(TypeError, match="[Cc]annot cast ufunc '(add|<lambda>)' input"):
                f(a, b, casting=rule)
            with pytest.raises(TypeError, match="Cannot cast ufunc 'add' input"):
                np.add(a, b, casting=rule)
            assert f(a, b, casting="same_kind").dtype == f(a, b).dtype
    assert lw.ldexp(f4, i4, casting=rule).dtype == np.ldexp(f4, i4, casting=rule).dtype


@pytest.mark.parametrize("rule", ["no", "equiv", "safe"])
@pytest.mark.parametrize("name", ["sin", "hypot", "ldexp", "frexp", "signbit", "true_divide", "float_power", "square", "power", "less", "add"])
def test_casting_rules_are_those_of_numpys_function(name, rule):
    """Our functions have loops for integers where NumPy's cast them to floats."""
    x = np.arange(3)
    ours, numpys = getattr(lw, name), getattr(np, name)
    for a in (x, x.astype("u1"), x.astype("f4"), x > 1, x.astype(">i8"), x.astype("m8[s]")):
        for b in (a, a.astype("m8[ms]")) if a.dtype.kind == "m" and numpys.nin == 2 else (a,):
            for more in ({}, {"dtype": "f8"}, {"signature": (None,) * numpys.nin + ("f8",) * numpys.nout}, {"out": np.zeros(3)} if numpys.nout == 1 else {}):
                operands = (a, b)[:numpys.nin]
                try:
                    want = numpys(*operands, casting=rule, **more)
                except (TypeError, ValueError):
                    with pytest.raises((TypeError, ValueError)):
                        ours(*operands, casting=rule, **more)
                else:
                    assert np.asarray(ours(*operands, casting=rule, **more)).dtype == np.asarray(want).dtype


def test_bit_length_and_is_integer():
    f = lw.vectorize(lambda x: x.bit_length() * 1000)
    for value in (0, 1, -8, 2**62, -2**63, True, np.int8(-128), np.uint64(2**64 - 1), np.int32(77), np.uint8(255)):
        assert f(value) == int(value).bit_length() * 1000
    g = lw.vectorize(lambda x: x.is_integer())
    for value in (0.0, 1.5, -3.0, 1e300, math.inf, -math.inf, math.nan, np.float32(2), np.float32(0.1), np.float16(3), np.float32("inf")):
        assert g(value) == value.is_integer()
    assert g(3) and g(np.int8(-3)) and g(True)
    for h, value in ((f, 1.5), (g, 1j)):
        with pytest.raises(lw.errors.TypingError, match="E161"):
            h(value)


def test_bit_count_of_integers():
    f = lw.vectorize(lambda x: x.bit_count() * 1000)
    for value in (0, 5, -5, 2**62, True, np.int8(-128), np.uint64(2**64 - 1), np.int32(77)):
        assert f(value) == abs(int(value)).bit_count() * 1000
    assert f(np.arange(5, dtype=np.uint8)).tolist() == [0, 1000, 1000, 2000, 1000]
    with pytest.raises(lw.errors.TypingError, match="E161"):
        f(1.5)


@pytest.mark.parametrize("dtype", ["i1", "u1", "i4", "i8", "f4", "f8"])
def test_a_tuple_of_a_number_and_constants_is_indexed(dtype):
    """Constants take the number's type, as on the arms of an `if`; where they do not fit it is E124."""
    x = np.arange(5, dtype=dtype)
    f = lw.vectorize(lambda n: (n, 2, 3)[int(n) % 3])
    assert f(x).dtype == x.dtype and f(x).tolist() == [0, 2, 3, 3, 2]
    if dtype == "i1":
        with pytest.raises(lw.errors.TypingError, match="E124"):
            lw.vectorize(lambda n: (n, 200)[n > 0])(x)


def test_messages_of_kernel_arguments():
    @lw.forall
    def fill(i, n, out):
        out[i] = n

    out = np.zeros(2)
    with pytest.raises(OverflowError, match=r"pass np\.uint64\(...\)"):
        fill(2, 2**63, out)
    for n in (2**64, -(2**63) - 1):
        with pytest.raises(OverflowError, match="pass a float"):
            fill(2, n, out)
    with pytest.raises(TypeError, match=r"not a tuple of 2; forall\(ndim=2\) takes one"):
        fill((2, 3), 1, out)
    with pytest.raises(lw.errors.TypingError, match=r"its element is `n\[\(\)\]`"):
        fill(2, np.array(1.0), out)
    with pytest.raises(ValueError, match="a signature says how many"):
        lw.vectorize(lambda *a: a[0])
    with pytest.raises(lw.errors.TypingError, match="(?s)no method `byteswap`.*do it before the call"):
        lw.forall(lambda i, x: x.byteswap())(2, np.zeros((4, 4)))


def test_our_ufuncs_in_compiled_functions():
    x = np.array([0.5, 4.0])
    f = lw.vectorize(lambda x: lw.sqrt(x) + lw.ufuncs.maximum(x, 1) + lw.square(x))
    np.testing.assert_array_equal(f(x), np.sqrt(x) + np.maximum(x, 1) + np.square(x))


@pytest.mark.parametrize("depth, good", [(40, True), (300, False), (60, False)])
def test_many_calls_in_each_other(depth, good):
    def nested(n):
        if n == 0:
            return lambda x: x
        inner = nested(n - 1)
        return lambda x: inner(x) + 1

    if good:
        assert lw.vectorize(nested(depth))(1.0) == depth + 1
    else:
        with pytest.raises(lw.errors.UnsupportedError, match="E151: calls nested more than 48 levels deep"):
            lw.vectorize(nested(depth))(1.0)


def test_tuples_that_double():
    """Each number of a tuple is a value of its own: 2^25 of them are refused, not built."""
    doubled = "".join(f"    a{i} = g(a{i - 1})\n" for i in range(1, 26))
    source = "def f(x):\n    def g(t): return (t, t)\n    a0 = x\n" + doubled + "    return x\n"
    scope = {}
    exec(source, scope)
    with pytest.raises(lw.errors.UnsupportedError, match="E101: tuple of more than 4096 items"):
        lw.vectorize(scope["f"], source=source)(1.0)


# ---- names of CuPy ----


@pytest.mark.parametrize("name, hint", [("zeros", r"np\.zeros\(\.\.\., like=d\) makes .* cuda\.to_device\(np\.zeros"), ("sort", r"NumPy's functions take .* cuda\.to_device\(np\.sort"), ("fft", r"np\.fft\.fft\(d\)"), ("linalg", r"np\.linalg\.solve\(d\)"), ("arange", r"cuda\.to_device\(np\.arange"), ("asnumpy", "copy_to_host")])
def test_names_of_cupys_say_what_to_write(name, hint):
    with pytest.raises(AttributeError, match=hint):
        getattr(lw.cuda, name)
    assert not hasattr(lw.cuda, "_zeros") and not hasattr(lw.cuda, "nonsense")


def test_names_of_the_package_are_looked_up_once():
    """lw.add took 5 µs, more than the call behind it."""
    for name in ("add", "abs", "f4", "explain", "cfunc", "special"):
        first = getattr(lw, name)
        assert vars(lw)[name] is first and getattr(lw, name) is first


@pytest.mark.parametrize("call, name", [
    (lambda x: lw.set_num_threads(x), "lanewise.set_num_threads"), (lambda x: lw.info(), "lanewise.info"), (lambda x: lw.map_blocks(x, x), "lanewise.map_blocks"),
    (lambda x: lw.explain(x), "explain"), (lambda x: lw.cfunc(x), "cfunc"), (lambda x: lw.runtime.memsys_enable_stats(), "memsys_enable_stats"),
    (lambda x: lw.cache.clear(), "lanewise.cache.clear"), (lambda x: lw.cuda.detect(), "lanewise.cuda.detect"), (lambda x: lw.cuda.compile(x), "compile"),
    (lambda x: lw.jit(x), "jit"), (lambda x: lw.typeof(x), "typeof"), (lambda x: lw.extending.overload(x), "overload"),
])
def test_functions_that_python_calls(call, name):
    """The error is about the call, and not about lines of lanewise's own."""
    with pytest.raises(lw.errors.TypingError) as error:
        lw.jit(call)(3.0)
    said = str(error.value)
    assert said.startswith("E152: this cannot be called from compiled code") and name in said and "call it from Python, outside of compiled functions" in said
    assert __file__ in said and "in `<lambda>(x: " in said

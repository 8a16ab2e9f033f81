"""@vectorize with excluded= (whole arrays) and static= (compile-time constants)."""

import gc
import pickle
import sys
import threading
import warnings
import weakref

import numpy as np
import pytest

import lanewise as lw
from lanewise import errors, random

ARCHS = ["sm_75", "sm_90", "sm_100", "sm_120"]


@lw.vectorize(excluded=("table",))
def interpolate(x, table):
    i = min(int(x), len(table) - 2)
    f = x - i
    return table[i] * (1 - f) + table[i + 1] * f


@lw.vectorize(static=("n",))
def power(x, n=2):
    product = x
    for _ in range(n - 1):
        product = product * x
    return product


@lw.vectorize(excluded=("a",), static=("coefficients",))
def horner(x, a, y, *, coefficients=(1.0, 2.0)):
    total = x * 0
    for c in coefficients:
        total = total * x + c
    return total + a[0, 1] * y, y


# ---- excluded ----


@pytest.mark.parametrize("shape", [(), (1,), (5,), (31,), (33,), (4, 1), (300, 7), (0,)])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_table(shape, dtype):
    table = (np.arange(11.0) ** 2).astype(dtype)
    x = np.linspace(0, 10, int(np.prod(shape))).reshape(shape).astype(dtype)
    result = interpolate(x, table)
    assert result.shape == shape
    assert result.dtype == dtype
    np.testing.assert_allclose(result, np.interp(x, np.arange(11.0), table), rtol=1e-5)


def test_large_calls_take_threads():
    table = np.arange(101.0) ** 2
    x = np.random.default_rng(1).random(300_000) * 100
    expected = np.interp(x, np.arange(101.0), table)
    np.testing.assert_allclose(interpolate(x, table), expected)
    np.testing.assert_array_equal(interpolate(x[::3], table), interpolate(x, table)[::3])


TABLES = {"C": lambda t: t, "F": lambda t: np.asfortranarray(t), "transposed": lambda t: np.ascontiguousarray(t.T).T,
          "every second": lambda t: np.repeat(t, 2, axis=1)[:, ::2], "backwards": lambda t: t[::-1, ::-1].copy()[::-1, ::-1],
          "read-only": lambda t: np.broadcast_to(t, t.shape)}


@pytest.mark.parametrize("layout", TABLES)
def test_any_layout(layout):
    @lw.vectorize(excluded="t")
    def at(i, t, j):
        return t[i, j] + t.shape[0]

    table = np.arange(12.0).reshape(3, 4)
    rows, columns = np.array([[0], [2], [-1]]), np.array([0, 3, -2])
    np.testing.assert_array_equal(at(rows, TABLES[layout](table), columns), table[rows, columns] + 3)


def test_the_table_does_not_promote():
    @lw.vectorize(excluded="t")
    def scale(x, t):
        return x * 2

    assert scale(np.float32(1), np.ones(3)).dtype == np.float32
    assert scale(np.ones(2, "f4"), np.ones(3, "i8")).dtype == np.float32
    assert scale(1, np.ones(3)).dtype == np.int64
    assert scale(1.5, np.ones(3, "f4")).dtype == np.float64


def test_by_position_and_keyword():
    a, x = np.arange(6.0).reshape(2, 3), np.arange(3.0)
    first = horner(x, a, 2.0)
    np.testing.assert_array_equal(first[0], (x * 1 + 2) + 2)
    np.testing.assert_array_equal(first[1], np.full(3, 2.0))
    for again in (horner(x, a=a, y=2.0), horner(x=x, a=a, y=2.0), horner(x, a, y=2.0, coefficients=(1.0, 2.0))):
        np.testing.assert_array_equal(again[0], first[0])
    np.testing.assert_array_equal(horner(x, a, 2.0, coefficients=())[0], np.full(3, 2.0))


def test_outputs_and_where():
    a, x = np.arange(6.0).reshape(2, 3), np.arange(3.0)
    first, second = np.zeros(3), np.zeros(3)
    assert horner(x, a, 1.0, first, second)[0] is first
    assert horner(x, a, 1.0, out=(None, second))[1] is second
    kept = interpolate(np.array([1.0, 2.0]), np.arange(4.0), out=np.full(2, -1.0), where=[True, False])
    assert kept.tolist() == [1.0, -1.0]


def test_default_of_an_excluded_parameter():
    table = np.array([1.0, 10.0, 100.0])

    @lw.vectorize(excluded="t")
    def pick(i, t=table):
        return t[i]

    assert pick(np.array([2, 0])).tolist() == [100.0, 1.0]
    assert pick(np.array([1, 0]), np.array([5.0, 6.0])).tolist() == [6.0, 5.0]


def test_by_number():
    by_number = lw.vectorize(excluded=[1], static=2)(lambda x, t, n: t[n] + x)
    by_set = lw.vectorize(excluded={"t"}, static=frozenset([2]))(lambda x, t, n: t[n] + x)
    assert by_number(1.0, np.arange(4.0), 3) == by_set(1.0, np.arange(4.0), 3) == 4.0


def test_defaults_of_operands():
    @lw.vectorize(excluded="t")
    def f(x, t, factor=3.0):
        return x * factor + t[0]

    assert f(1.0, np.ones(1)) == 4.0
    assert f(1.0, np.ones(1), 2.0) == 3.0
    assert f(1.0, np.ones(1), factor=np.arange(3.0)).tolist() == [1.0, 2.0, 3.0]
    declared = lw.vectorize(["float64(float64, float64[:])"], excluded="t")(f.py_func)
    assert declared(1.0, np.ones(1)) == 4.0
    with pytest.raises(TypeError, match="`factor` has a default, which is compiled in"):
        declared(1.0, np.ones(1), factor=2.0)


def test_writing_to_a_table():
    @lw.vectorize(excluded="seen")
    def mark(i, seen):
        seen[i] += 1
        return np.sin(i * 1.0)

    for n in (5, 16, 40, 1000):  # not all of them multiples of a vector
        seen = np.zeros(n, np.int64)
        np.testing.assert_allclose(mark(np.arange(n), seen), np.sin(np.arange(n)), rtol=1e-14)
        assert (seen == 1).all()
    frozen = np.zeros(3, np.int64)
    frozen.flags.writeable = False
    with pytest.raises(errors.TypingError, match="E162"):
        mark(np.arange(3), frozen)


def test_records_and_random_states():
    with lw.config(target="cpu"):
        states = np.array(random.create_xoroshiro128p_states(40, seed=3))
    again = states.copy()

    @lw.vectorize(excluded="states")
    def noisy(x, i, states):
        return x + random.xoroshiro128p_uniform_float64(states, i)

    @lw.forall
    def draw(i, states, out):
        out[i] = random.xoroshiro128p_uniform_float64(states, i)

    expected = np.empty(40)
    for _ in range(2):
        draw(40, again, expected)
        np.testing.assert_array_equal(noisy(np.zeros(40), np.arange(40), states), expected)
        np.testing.assert_array_equal(states, again)


def test_philox_needs_no_states():
    @lw.vectorize
    def uniform(seed, index, counter):
        return random.philox_uniform_float64(seed, index, counter)

    whole = uniform(7, np.arange(100), 0)
    np.testing.assert_array_equal(uniform(7, np.arange(100)[::-1], 0), whole[::-1])
    assert np.unique(uniform(7, np.arange(100)[:, None], np.arange(3))).size == 300


def test_exceptions_name_the_element():
    @lw.vectorize(excluded="t")
    def check(x, t):
        if x > t[0]:
            raise ValueError(f"{x} is too large")
        return x

    with pytest.raises(ValueError, match="3.0 is too large .*element 3"):
        check(np.arange(5.0), np.array([2.5]))


def test_an_output_must_not_be_the_table():
    table = np.arange(9.0)
    for out in (table[:3], table[5:8], (table[::3],)):
        with pytest.raises(ValueError, match="shares memory with excluded argument `table`"):
            interpolate(np.arange(3.0), table, out=out)
    with pytest.raises(ValueError, match="shares memory with excluded argument `a`"):
        horner(table[:2], table.reshape(3, 3), 1.0, np.empty(2), table[:2])


class Taker:
    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        return ufunc, method, inputs, kwargs


def test_override_comes_first():
    table, taker = np.arange(4.0), Taker()
    assert interpolate(taker, table) == (interpolate, "__call__", (taker, table), {})
    assert interpolate(1.0, table=taker) == (interpolate, "__call__", (1.0,), {"table": taker})
    face, *rest = power(taker, 3)  # pandas takes ufuncs named "power" for its own operator
    assert rest == ["__call__", (taker, 3), {}]
    assert face.__name__ == "lanewise.power"
    assert face(2.0, 3) == 8.0
    assert power(taker, n=3, out=None) == (face, "__call__", (taker,), {"n": 3})


class Series(Taker):  # as pandas has them, and xarray and Dask
    def __init__(self, values):
        self.values = values

    def __array__(self, dtype=None, copy=None):
        return self.values


def test_tables_of_other_libraries_are_read_as_whole_arrays():
    values = np.array([0.0, 10.0, 30.0])
    table, x = Series(values), np.array([0.5, 1.25])
    np.testing.assert_array_equal(interpolate(x, table), [5.0, 15.0])
    np.testing.assert_array_equal(interpolate(x, table=table), [5.0, 15.0])
    assert values.flags.writeable
    taker = Taker()
    face, _, inputs, _ = interpolate(taker, table)
    assert face is interpolate and inputs[0] is taker
    assert type(inputs[1]) is np.ndarray and np.shares_memory(inputs[1], values)


# ---- static ----


def test_a_value_for_which_the_function_only_raises():
    @lw.vectorize(static="mode")
    def activate(x, mode="relu"):
        if mode == "relu":
            return max(x, 0.0)
        raise ValueError("mode?")

    assert activate(-1.0) == 0.0
    with pytest.raises(ValueError, match="mode[?]"):
        activate(1.0, "tanh")


def test_values_and_defaults():
    x = np.arange(4.0)
    for result, n in ((power(x), 2), (power(x, 3), 3), (power(x, n=5), 5), (power(x, np.int8(4)), 4)):
        np.testing.assert_array_equal(result, x ** n)


def test_static_in_front_and_as_a_type_or_name():
    @lw.vectorize(static=("kind", "to"))
    def convert(kind, x, to):
        if kind == "half":
            return to(x / 2)
        elif kind is None:
            return to(x)
        return to(-x)

    assert convert("half", np.arange(3.0), np.float32).dtype == np.float32
    assert convert(None, 3, lw.int8).dtype == np.int8
    assert convert("other", 3.0, np.float64) == -3.0


def test_loops_over_static_values_unroll():
    power(np.arange(3.0), 4)
    assert power.inspect_ptx("float64(float64)").count("mul.rn.f64") == 3


@pytest.mark.parametrize("pair", [(1, 1.0), (1, True), (0.0, -0.0), (1, np.int8(1)), (np.float32(1), np.float64(1)), (1.0, 1 + 0j)])
def test_equal_values_are_not_one_constant(pair):
    @lw.vectorize(static="c")
    def times(x, c):
        return c * x

    for c in pair:
        got, expected = times(np.float32(-2), c), lw.vectorize(lambda x: c * x)(np.float32(-2))  # noqa: B023
        assert got.dtype == expected.dtype
        assert str(got) == str(expected)
    assert times.ntypes == 2


def test_equal_tuples_are_not_one_constant():
    @lw.vectorize(static="c")
    def times(x, c):
        return x * c[0] * c[1]

    assert times(3, (1, 2)).dtype == np.int64
    assert times(3, (1, 2.0)).dtype == np.float64


def test_one_member_a_value():
    @lw.vectorize(static="n")
    def f(x, n):
        return x + n

    for n in (1, 2, 1, 2.5, 1, float("nan"), float("nan")):
        f(1.0, n)
    assert f.types == ["d->d"] * 4
    assert f.ntypes == 4
    assert f.stats["loops"] == 4
    assert f.nin == 1


def test_many_values_warn():
    @lw.vectorize(static="n", cache=False)
    def f(x, n):
        return x

    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        for n in range(66):
            f(1.0, n)
    assert [str(w.message)[:38] for w in seen] == ["`f` has been compiled for 64 tuples of"]
    assert issubclass(seen[0].category, errors.PerformanceWarning)


def test_methods_and_closures():
    class Model:
        rate = 3.0

        def step(self, x, n):
            return x * self.rate + n

    by_method = lw.vectorize(static="n")(Model().step)
    assert by_method(2.0, 1) == 7.0
    offset = 10

    @lw.vectorize(static="n")
    def closed(x, n, *, twice=2):
        return x * twice + n + offset

    assert closed(1.0, n=5) == 17.0


# ---- signatures ----


def test_signatures():
    @lw.vectorize(["float64(float64, float64[:])", "float32(float32, float32[::1])"], excluded="t")
    def add_size(x, t):
        return x + t.size

    assert add_size(1.0, np.ones(3)) == 4.0
    assert add_size(np.float32(1), np.ones(3, "f4")).dtype == np.float32
    assert sorted(add_size.types) == ["d->d", "f->f"]
    with pytest.raises(TypeError, match="E181: no signature of `add_size` takes argument `t`, an array of int32 with 1 dim"):
        add_size(1.0, np.ones(3, "i4"))
    with pytest.raises(TypeError, match="argument `t`, an array of float32"):
        add_size(1.0, np.ones(6, "f4")[::2])
    with pytest.raises(TypeError, match="E181.*`add_size` has no loop for"):
        add_size(1j, np.ones(3))
    for bad in ("float64(float64, float64)", "float64(float64[:], float64[:])", "float64(float64)"):
        with pytest.raises(TypeError, match="signature"):
            lw.vectorize([bad], excluded="t")(lambda x, t: x)


# ---- refusals ----


@pytest.mark.parametrize(("options", "exception", "message"), [
    ({"excluded": "z"}, ValueError, "excluded= names 'z', which is not a parameter of"),
    ({"static": ("y", "y")}, ValueError, "static= names 'y', which it names already"),
    ({"static": "y", "excluded": "y"}, ValueError, "static= names 'y', which excluded= names too"),
    ({"excluded": 2}, ValueError, "excluded= names 2, which is not a parameter of"),
    ({"excluded": -1}, ValueError, "excluded= names -1, which is not a parameter of"),
    ({"excluded": 1.0}, TypeError, "excluded= must be a parameter's name"),
    ({"static": True}, TypeError, "static= must be a parameter's name"),
    ({"static": {"x": 1}}, TypeError, "static= must be a parameter's name"),
    ({"excluded": ("x", None)}, TypeError, "excluded= must be a parameter's name"),
    ({"static": ("x", "y")}, ValueError, "at least one parameter in neither"),
])
def test_bad_names(options, exception, message):
    with pytest.raises(exception, match=message):
        lw.vectorize(**options)(lambda x, y: x)


def test_reserved_names_and_star():
    with pytest.raises(ValueError, match="'out', a keyword of every ufunc call"):
        lw.vectorize(static="out")(lambda x, out: x)
    with pytest.raises(TypeError, match=r"takes \*rest, which"):
        lw.vectorize(static="y")(lambda x, y, *rest: x)


@pytest.mark.parametrize(("call", "exception", "message"), [
    (lambda x: interpolate(x), TypeError, "missing a required argument: 'table'"),
    (lambda x: interpolate(x, tabel=x), TypeError, "unexpected keyword argument 'tabel'"),
    (lambda x: interpolate(x, 3.0), TypeError, "excluded argument `table` must be an array .* not float"),
    (lambda x: interpolate(x, {1.0}), TypeError, "make it one by np.asarray"),
    (lambda x: interpolate(x, ["a"]), lw.errors.TypingError, r"`\*` needs numbers"),
    (lambda x: interpolate(x, [[1.0], 2.0]), ValueError, "inhomogeneous"),
    (lambda x: interpolate(x, np.array(1.0)), ValueError, "`table`: it has no dimensions"),
    (lambda x: interpolate(x, np.ones(3, ">f8")), TypeError, r"native byte order; pass x.astype\(x.dtype.newbyteorder\('='\)\)"),
    (lambda x: interpolate(x, np.array(["a"])), lw.errors.TypingError, r"`\*` needs numbers"),
    (lambda x: interpolate(x, np.ones(25, "u1")[1:].view("f8")), ValueError, "`table`: it is not aligned"),
    (lambda x: interpolate(x, np.ma.ones(3)), TypeError, "masked array"),
    (lambda x: interpolate(x, np.ones(3), table=np.ones(3)), TypeError, "multiple values for argument 'table'"),
    (lambda x: interpolate(x, np.ones(3), tables=1), TypeError, "tables"),
    (lambda x: power(x, [1]), TypeError, "static argument `n` must be hashable .* not list; make it a tuple"),
    (lambda x: power(x, np.ones(1)), TypeError, "an array that is only read is named in excluded="),
    (lambda x: power(x, "a"), errors.TypingError, "E1"),
    (lambda x: power(x, 2, n=2), TypeError, "multiple values for argument 'n'"),
    (lambda x: power.reduce(x), TypeError, "`power` has excluded= or static= parameters, and no reduce"),
    (lambda x: power.outer(x, x), TypeError, "no outer"),
    (lambda x: power.at(x, 0), TypeError, "no at"),
    (lambda x: power.add("f->f"), TypeError, "no add"),
    (lambda x: lw.vectorize(static="n")(lambda x, n: x).inspect_llvm("f->f"), ValueError, "call it first"),
])
def test_refusals(call, exception, message):
    with pytest.raises(exception, match=message):
        call(np.arange(2.0))


# ---- the object ----


def test_attributes():
    assert (horner.nin, horner.nout, interpolate.nargs) == (2, 2, 2)
    assert repr(interpolate) == "<lanewise.Ufunc 'interpolate' (1 -> 1)>"
    assert list(power.__signature__.parameters)[:3] == ["x", "n", "out"]


def test_pickle():
    again = pickle.loads(pickle.dumps(interpolate))
    assert again(0.5, np.array([1.0, 3.0])) == 2.0
    offset = 5

    @lw.vectorize(["float64(float64, float64[:])"], excluded="t", static=("n",))
    def nested(x, t, n=1):
        return x + t[0] * n + offset

    other = pickle.loads(pickle.dumps(nested))
    assert other(1.0, np.ones(2), n=4) == 10.0
    with pytest.raises(TypeError, match="E181"):
        other(1.0, np.ones(2, "f4"))


def test_nothing_is_kept():
    function = lw.vectorize(excluded="t", static="n")(lambda x, t, n: x + t[0] + n)
    table = np.ones(3)
    function(1.0, table, 2)
    references = sys.getrefcount(table)
    for _ in range(20):
        function(1.0, table, 2)
    assert sys.getrefcount(table) == references
    gone = weakref.ref(function)
    del function
    gc.collect()
    assert gone() is None


def test_threads_make_members():
    @lw.vectorize(static="n")
    def f(x, n):
        return x + n

    wrong = []

    def work(first):
        for n in range(first, first + 6):
            if f(1.0, n) != 1.0 + n:
                wrong.append(n)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.parametrize("arch", ARCHS)
def test_cubins(arch):
    interpolate(0.5, np.ones(3))
    assert lw.compile(interpolate, "float64(float64)", target=arch)[:4] == b"\x7fELF"
    ptx = interpolate.inspect_ptx("float64(float64)", arch)
    assert ptx.count(".param .u64") == 7  # elements, x, the table's three parts, out, what says that an index is outside
    assert "ld.global.nc" in ptx


def test_reductions_have_closures_instead():
    with pytest.raises(lw.errors.UnsupportedError, match="reduce does not accept static="):
        lw.reduce(static="n")
    assert callable(lw.reduce(static=()))


@pytest.mark.parametrize("names", [["p"], ("p",), {"p"}, [1], {1}, range(1, 2), {"p": 0}.keys(), frozenset([1]), "p", 1])
def test_names_in_any_collection(names):
    f = lw.vectorize(excluded=names)(lambda x, p: x + p[0])
    assert f(np.ones(2), np.array([2.0])).tolist() == [3, 3]


def test_lists_and_tuples_become_arrays():
    @lw.vectorize(excluded={"p"})
    def polynomial(x, p):  # as in the documentation of np.vectorize
        total = p[0]
        for i in range(1, len(p)):
            total = total * x + p[i]
        return total

    assert polynomial(x=[0, 1], p=[1, 2, 3]).tolist() == [3, 6]
    assert polynomial([0, 1], (1.0, 2, 3)).tolist() == [3, 6]
    table = lw.vectorize(excluded={"t"})(lambda i, t: t[i, 1])
    assert table(np.arange(2), [[1, 2], [3, 4]]).tolist() == [2, 4]

    @lw.vectorize(excluded={"p"})
    def writes(x, p):
        p[0] = x
        return x

    with pytest.raises(errors.TypingError, match="E162"):
        writes(1.0, [1.0])


# ---- outputs of calls in compiled functions ----

@lw.vectorize(excluded=["t"])
def of_table(x, t):
    return x * t[0] + t[1]


@lw.vectorize(static=["k"])
def to_power(x, k):
    return x**k


@lw.vectorize
def by_default(x, c=2.0):
    return x * c


OUTPUTS = [
    lambda x, t, o: of_table(x, t, out=o), lambda x, t, o: of_table(x, t, o), lambda x, t, o: of_table(x, t=t, out=o), lambda x, t, o: of_table(x, out=o, t=t),
    lambda x, t, o: to_power(x, k=3, out=o), lambda x, t, o: to_power(x, 3, o), lambda x, t, o: to_power(x, 3, out=o),
    lambda x, t, o: by_default(x, 3.0, o), lambda x, t, o: by_default(x, 3.0, out=o), lambda x, t, o: by_default(x, out=o),
    lambda x, t, o: of_table(x[::-1], t, out=o[1]), lambda x, t, o: of_table(2.0, t, out=o), lambda x, t, o: of_table(x, t, out=None),
]


@pytest.mark.parametrize("at", range(len(OUTPUTS)))
def test_outputs_in_compiled_functions(at):
    x, t = np.arange(6.0), np.array([2.0, 3.0])
    given, wanted = np.zeros((2, 6)), np.zeros((2, 6))
    got = lw.jit(OUTPUTS[at])(x, t, given)
    assert np.array_equal(got, OUTPUTS[at](x, t, wanted)) and np.array_equal(given, wanted)


def test_an_output_that_is_read():
    x, t = np.arange(6.0), np.array([2.0, 3.0])
    wanted = of_table(x[::-1], t)
    assert lw.jit(lambda x, t: of_table(x[::-1], t, out=x))(x, t) is not None and np.array_equal(x, wanted)


def test_outputs_that_do_not_fit():
    x, t = np.arange(6.0), np.array([2.0, 3.0])
    call = lw.jit(lambda x, t, o: of_table(x, t, out=o))
    with pytest.raises(ValueError):
        call(x, t, np.zeros(4))
    with pytest.raises(lw.errors.TypingError):
        call(x + 1j, t, np.zeros(6))
    with pytest.raises(lw.errors.TypingError):
        lw.jit(lambda x, t, o: of_table(x, t, o, o))(x, t, np.zeros(6))


def test_outputs_in_a_core():
    @lw.guvectorize("(n),(m)->(n)")
    def rows(x, t, out):
        of_table(x, t, out=out)

    x, t = np.arange(12.0).reshape(3, 4), np.array([2.0, 3.0])
    assert np.array_equal(rows(x, t), x * 2 + 3)

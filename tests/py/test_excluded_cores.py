"""@guvectorize with excluded= and static=: whole arrays and constants beside operands with core dimensions."""

import inspect
import pickle

import numpy as np
import pytest

import lanewise as lw
from lanewise import random

ARCHS = ["sm_75", "sm_90", "sm_100", "sm_120"]


@lw.guvectorize("(n)->(n)", excluded="table", static="times")
def look_up(x, table, y, times=1):
    for i in range(x.shape[0]):
        y[i] = table[int(x[i])] * times + len(table)


@lw.guvectorize("(n),()->()", excluded=("weights",))
def weighted(x, weights, bias):
    total = 0.0
    for i in range(x.shape[0]):
        total += x[i] * weights[i, 0]
    return total + bias


@lw.guvectorize("(n)->(k)", sizes={"k": lambda n: n - 1}, static="what")
def neighbours(x, what, out):
    for i in range(out.shape[0]):
        out[i] = x[i + 1] - x[i] if what == "differences" else x[i + 1] + x[i]


X = np.arange(12).reshape(4, 3) % 3
TABLE = np.array([1.0, 10.0, 100.0])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_table(dtype):
    table = TABLE.astype(dtype)
    result = look_up(X.astype(dtype), table)
    assert result.dtype == dtype
    np.testing.assert_array_equal(result, table[X] + 3)
    np.testing.assert_array_equal(look_up(X.astype(dtype), table=table, times=2), table[X] * 2 + 3)
    np.testing.assert_array_equal(look_up(X.astype(dtype), table, 5), table[X] * 5 + 3)


def test_the_table_does_not_promote():
    assert look_up(X.astype("float32"), TABLE[:3].astype("float32")).dtype == np.float32
    assert weighted(np.ones(3, "float32"), np.ones((3, 1), "float32"), np.float32(1)).dtype == np.float32


@pytest.mark.parametrize("layout", ["C", "F", "strided", "reversed"])
def test_any_layout(layout):
    weights = np.arange(6.0).reshape(3, 2)
    weights = {"C": weights, "F": np.asfortranarray(weights), "strided": np.repeat(weights, 2, axis=1)[:, ::2],
               "reversed": weights[::-1].copy()[::-1]}[layout]
    x = np.arange(15.0).reshape(5, 3)
    np.testing.assert_allclose(weighted(x, weights, [1.0, 2, 3, 4, 5]), x @ weights[:, 0] + [1, 2, 3, 4, 5])


def test_large_calls_take_threads():
    x = np.random.default_rng(1).integers(0, 100, (200_000, 4)).astype(float)
    table = np.arange(100.0) ** 2
    np.testing.assert_array_equal(look_up(x, table), x**2 + 100)


def test_outputs_axes_and_numbers():
    x, out = X.astype(float), np.empty((4, 3))
    assert look_up(x, TABLE, out=out) is out
    assert look_up(x, TABLE, 2, out) is out
    np.testing.assert_array_equal(out, TABLE[X] * 2 + 3)
    np.testing.assert_array_equal(look_up(x.T, TABLE, axes=[(0,), (0,)]), TABLE[X].T + 3)
    np.testing.assert_array_equal(look_up(x.T, TABLE, axis=0), TABLE[X].T + 3)
    assert weighted(x, np.ones((3, 1)), 1).shape == (4,)
    assert look_up(x[:0], TABLE).shape == (0, 3)


def test_static_alone_keeps_keepdims():
    @lw.guvectorize("(n)->()", static="power")
    def norm(x, power=2):
        total = 0.0
        for v in x:
            total += v**power
        return total

    assert norm(X.astype(float), keepdims=True).shape == (4, 1)
    np.testing.assert_array_equal(norm(X.astype(float), power=3), (X**3).sum(1))


def test_sizes_and_strings():
    np.testing.assert_array_equal(neighbours([1.0, 4.0, 9.0], "differences"), [3, 5])
    np.testing.assert_array_equal(neighbours([1.0, 4.0, 9.0], what="sums"), [5, 13])


def test_writing_to_an_excluded_array():
    @lw.guvectorize("(n)->()", excluded="seen")
    def count(x, seen):
        for v in x:
            seen[v] += 1
        return len(x)

    seen = np.zeros(3, np.int64)
    count(X[0], seen)
    assert list(seen) == [1, 1, 1]
    frozen = np.zeros(3, np.int64)
    frozen.flags.writeable = False
    with pytest.raises(lw.errors.TypingError, match="read"):
        count(X[0], frozen)


def test_random_states():
    @lw.guvectorize("(),(n)->(n)", excluded="states")
    def noise(row, x, states, out):
        for i in range(x.shape[0]):
            out[i] = x[i] + random.xoroshiro128p_uniform_float64(states, row)

    @lw.forall
    def draw(i, states, out):
        for k in range(out.shape[1]):
            out[i, k] = random.xoroshiro128p_uniform_float64(states, i)

    with lw.config(target="cpu"):
        states = np.array(random.create_xoroshiro128p_states(6, seed=3))
    again, expected = states.copy(), np.empty((6, 5))
    draw(6, states, expected)
    np.testing.assert_array_equal(noise(np.arange(6), np.ones((6, 5)), again), expected + 1)
    np.testing.assert_array_equal(states, again)


def test_writable_inputs():
    @lw.guvectorize("(n)->()", writable_args=("x",), excluded="by")
    def scale(by, x):
        for i in range(x.shape[0]):
            x[i] *= by[i]
        return x[0]

    x = np.ones((2, 3))
    np.testing.assert_array_equal(scale(TABLE, x), [1, 1])
    np.testing.assert_array_equal(x, [TABLE, TABLE])
    with pytest.raises(ValueError, match="argument `x`, which it writes to, shares memory with excluded argument `by`"):
        scale(x[0], x)


def test_signatures():
    @lw.guvectorize(["void(f4[:], f8[:], f4[:])", "void(f8[:], f8[:], f8[:])"], "(n)->(n)", excluded="t", static="k")
    def f(x, t, out, k=1):
        for i in range(x.shape[0]):
            out[i] = x[i] * t[0] * k

    assert f(np.ones(2, "f4"), TABLE).dtype == np.float32
    assert f(np.ones(2, "i8"), TABLE, 3).dtype == np.float64
    assert set(f.signatures) == {"void(float32[:], float32[:])", "void(float64[:], float64[:])"}
    with pytest.raises(TypeError, match="E181: no signature of `f` takes argument `t`, an array of float32 with 1 dim"):
        f(np.ones(2, "f4"), TABLE.astype("f4"))
    with pytest.raises(TypeError, match="parameter `t` of `f` is excluded: its type must be an array"):
        lw.guvectorize(["void(f8[:], f8, f8[:])"], "(n)->(n)", excluded="t")(f.py_func)
    with pytest.raises(TypeError, match="has 1 argument, but `f` takes 3"):
        lw.guvectorize(["void(f8[:])"], "(n)->(n)", excluded="t")(f.py_func)


def test_exceptions_name_the_item():
    @lw.guvectorize("(n)->()", excluded="limit")
    def check(x, limit):
        for v in x:
            if v > limit[0]:
                raise ValueError("too large")
        return x[0]

    with pytest.raises(ValueError, match="too large") as caught:
        check(X, np.array([1]))
    assert caught.value.index == 0
    assert list(check(X, np.array([2]))) == [0, 0, 0, 0]


def plain(x, t, out):
    out[0] = t[0]


@pytest.mark.parametrize("options, exception, message", [
    ({"excluded": "nothing"}, ValueError, "excluded= names 'nothing', which is not a parameter of `plain`"),
    ({"excluded": "t", "static": "t"}, ValueError, "static= names 't', which excluded= names too"),
    ({"excluded": ("t", "out")}, ValueError, "excluded= names 'out', a keyword of every ufunc call"),
    ({"static": 7}, ValueError, "static= names 7, which is not a parameter"),
])
def test_bad_names(options, exception, message):
    with pytest.raises(exception, match=message):
        lw.guvectorize("(n)->(n)", **options)(plain)


def test_operands_must_fit_the_layout():
    def three(x, t, out, more):
        out[0] = t[0] + more[0]

    with pytest.raises(TypeError, match=r"has 3 parameters in neither excluded= nor static= .* needs 2 .* 1 "):
        lw.guvectorize("(n)->(n)", excluded="t")(three)


@pytest.mark.parametrize("call, exception, message", [
    (lambda: look_up(X), TypeError, "missing a required argument: 'table'"),
    (lambda: look_up(X, y=np.ones((4, 3))), TypeError, "got the output 'y' by name: pass it by out="),
    (lambda: look_up(X, TABLE, times=[1]), TypeError, "static argument `times` must be hashable"),
    (lambda: look_up(X, TABLE, np.zeros(3)), TypeError, "`times` must be hashable .* outputs follow all other arguments or are passed as out="),
    (lambda: look_up(X, 3.0), TypeError, "excluded argument `table` must be an array"),
    (lambda: look_up(X, TABLE, other=1), TypeError, "unexpected keyword argument 'other'"),
    (lambda: look_up(X, TABLE, keepdims=True), TypeError, "keepdims= cannot be given together with excluded arrays"),
    (lambda: look_up(3.0, TABLE), ValueError, "does not have enough dimensions"),
    (lambda: look_up.reduce(X), TypeError, "and no reduce: guvectorize a function of only the operands"),
    (lambda: look_up(TABLE, TABLE, out=TABLE), ValueError, "an output shares memory with excluded argument `table`"),
])
def test_refusals(call, exception, message):
    with pytest.raises(exception, match=message):
        call()


def test_attributes():
    assert (look_up.nin, look_up.nout, look_up.signature) == (1, 1, "(n)->(n)")
    assert list(inspect.signature(look_up).parameters)[:3] == ["x", "table", "times"]
    look_up(X.astype("float32"), TABLE.astype("float32"))
    assert "f->f" in look_up.types


def test_pickle():
    def nested(x, t, out, k):
        for i in range(x.shape[0]):
            out[i] = x[i] * t[0] + k

    made = lw.guvectorize("(n)->(n)", excluded="t", static="k")(nested)
    again = pickle.loads(pickle.dumps(made))
    np.testing.assert_array_equal(again(np.ones(2), TABLE, 3), [4, 4])
    assert pickle.loads(pickle.dumps(look_up)) is look_up


@pytest.mark.parametrize("arch", ARCHS)
def test_cubins(arch):
    look_up(X.astype(float), TABLE)
    assert lw.compile(look_up, "void(float64[:], float64[:])", target=arch)[:4] == b"\x7fELF"


def test_what_was_captured_may_change():
    factor = 2.0

    @lw.guvectorize("(n)->(n)", static="k")
    def f(x, out, k=1):
        for i in range(x.shape[0]):
            out[i] = x[i] * factor + k

    np.testing.assert_array_equal(f(np.ones(2)), [3, 3])
    factor = 5.0
    np.testing.assert_array_equal(f(np.ones(2)), [6, 6])

"""Variables that have no value on some path: reading them there raises Python's UnboundLocalError."""

from __future__ import annotations

import gc

import numpy as np
import pytest

import lanewise as lw
from lanewise import cuda, prange, runtime


def array_in_loop(n):
    for i in range(n):
        if i == 0:
            out = np.zeros(n)
        out[i] = i
    return out


def after_loop(n):
    for i in range(n):
        last = i * 0.5
    return last


def number(n):
    if n > 1:
        r = 7
    return r + 1


def joined(n):
    if n > 1:
        r = 1
    elif n > 0:
        r = 1.5
    return r


def truth(n):
    if n > 1:
        r = True
    return 1 if not r else 2


def items(n):
    if n > 1:
        t = (n, (2.5, 3))
    a, (b, c) = t
    return a + b + c + t[0]


def text(n):
    if n > 1:
        s = "ab"
    return s == "ab", len(s)


def texts(n):
    if n > 1:
        s = "ab"
    elif n > 0:
        s = "c"
    return s


def grown(n):
    if n > 1:
        values = [1, n]
    values.append(3)
    return sum(values)


def numbers_by_key(n):
    if n > 1:
        d = {1: 2.5}
    d[n] = 1.0
    return sum(d.values())


def or_none(n):
    if n > 1:
        a = None
    elif n > 0:
        a = np.ones(2)
    return 5.0 if a is None else a.sum()


def is_none(n):
    if n > 1:
        a = np.ones(2)
    if a is None:
        return 1
    return a.ndim


def augmented(n):
    if n > 1:
        r = np.ones(3)
        k = 1
    r += n
    k += n
    return r.sum() + k


def in_an_expression_of_arrays(n):
    x = np.ones(n)
    if n > 1:
        k = 3.0
    return (x * k).sum()


def statement(n):
    if n > 1:
        r = 1
    r
    return n


def short_circuit(n):
    if n > 1:
        r = n
    return (n == 0 or r > 1) and (r if n > 0 else 1) > 0


def walrus(n):
    if n > 0 and (y := n) > 1:
        return 0
    return y


def unpacked(n):
    if n > 1:
        a, (b, *rest) = n, (1, 2, 3)
    return b + rest[0]


def matched(n):
    match n:
        case 1:
            q = (1, 2.0)
        case 2:
            q = (3, 4.0)
    match q:
        case (1, b):
            return b
    return 0.0


def after_while(n):
    while n > 1:
        n -= 1
        w = n
        if n == 2:
            break
    else:
        n = 9
    return w + n


def iterated(n):
    if n > 1:
        r = np.arange(n)
    s = 0
    for v in r:
        s += v
    return s


def handled(n):
    try:
        if n > 1:
            r = 3
        return r
    except UnboundLocalError:
        return -1


def handled_as_name_error(n):
    try:
        if n > 1:
            r = 3
        q = r
    except NameError:
        return -1
    finally:
        n += 1
    return q + n


def assigned_in_try(n):
    try:
        if n == 1:
            raise ValueError("one")
        r = np.ones(n)
    except ValueError:
        if n > 1:
            r = np.zeros(1)
    else:
        r = r + 1
    return r.sum()


def assigned_in_finally(n):
    for i in range(n):
        try:
            if i == 1:
                v = np.ones(2)
            v[0] += 1
        except UnboundLocalError:
            continue
        finally:
            z = i
    return v[0] + z


def name_of_exception(n):
    if n > 1:
        e = 5
    try:
        if n == 3:
            raise ValueError("three")
    except ValueError as e:  # noqa: F841
        pass
    return e


def name_of_parameter(n):
    try:
        if n == 3:
            raise ValueError("three")
    except ValueError as n:  # noqa: F841
        pass
    return n


def callee(n):
    if n > 1:
        z = np.ones(n)
    return z


def called(n):
    try:
        return callee(n).sum()
    except UnboundLocalError:
        return callee(n + 1)[0] if n else -1.0


class Point:
    def __init__(self, x):
        self.x = x

    def grow(self):
        self.x = self.x + 1


def changed_object(n):
    if n > 1:
        p = Point(n)
    p.grow()
    p.x *= 2
    return p.x


FUNCTIONS = [
    array_in_loop, after_loop, number, joined, truth, items, text, texts, grown, numbers_by_key, or_none, is_none, augmented, in_an_expression_of_arrays,
    statement, short_circuit, walrus, unpacked, matched, after_while, iterated, handled, handled_as_name_error, assigned_in_try, assigned_in_finally,
    name_of_exception, name_of_parameter, called, changed_object,
]


def outcome(f, *args):
    try:
        return f(*args)
    except UnboundLocalError as raised:
        return str(raised).partition("'")[2].partition("'")[0]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("settings", [{}, {"parallel": True}, {"check": {"bounds"}}], ids=str)
def test_as_in_python(function, settings):
    f = lw.njit(function, **settings)
    for n in range(4):
        wanted, got = outcome(function, n), outcome(f, n)
        assert type(wanted) is type(got) or not isinstance(wanted, str)
        np.testing.assert_equal(got, wanted)


def test_the_message_is_pythons_and_names_the_place():
    with pytest.raises(UnboundLocalError, match=r"^cannot access local variable 'out' where it is not associated with a value \(raised in `array_in_loop` at .*test_unbound.py:\d+\)$"):
        lw.njit(array_in_loop)(0)
    with pytest.raises(UnboundLocalError, match="'z' .* in `callee` at"):
        lw.njit(lambda n: callee(n))(0)


# ---- memory ----


def lists_and_arrays(n, k):
    for i in range(n):
        if i % 2 == k:
            a = np.zeros(i + 1)
            b = [a, a + 1]
        if i == 4:
            a = np.ones(3)
        b.append(a)
    return len(b)


def raises_beside_others(n, k):
    try:
        if k:
            a = np.ones(n + 1)
        a += 1
        if n == 3:
            raise ValueError("three")
        c = a * 2
    except UnboundLocalError:
        return -1.0
    except ValueError:
        return a[0]
    finally:
        d = np.ones(n + 1)
    return c[0] + d[0]


def of_a_callee(n, k):
    s = 0.0
    for i in range(n):
        if i > 1:
            w = callee(i - (i == k))
        if i > 2:
            s += w[0]
    q = w
    return s + q.sum()


def tuples(n, k):
    for i in range(n):
        if i == k:
            t = (np.ones(i), "a", [1.5])
        elif i > k:
            t = (t[0] + 1, "b", [2.5])
    return t[0].sum() + t[2][0]


def objects(n, k):
    if k:
        p = Point(np.ones(n))
    p.grow()
    p.x = p.x * 2
    return p.x.sum()


def jumps(n, k):
    while n > 0:
        n -= 1
        if n == k:
            m = np.ones(3)
            continue
        elif n < k:
            break
    else:
        m = np.zeros(2)
    return m.sum()


@pytest.mark.parametrize("function", [lists_and_arrays, raises_beside_others, of_a_callee, tuples, objects, jumps], ids=lambda f: f.__name__)
@pytest.mark.parametrize("typing", ["weak", "numba"])
def test_memory_is_released_once(function, typing):
    f = lw.njit(function, typing=typing)
    outcome(f, 4, 1)
    gc.collect()
    runtime.memsys_enable_stats(target="cpu")
    try:
        before = runtime.get_allocation_stats(target="cpu")
        for n in range(7):
            for k in range(3):
                assert outcome(f, n, k) == outcome(function, n, k), (n, k)
        after = runtime.get_allocation_stats(target="cpu")
    finally:
        runtime.memsys_disable_stats(target="cpu")
    assert after.alloc - before.alloc == after.free - before.free > 0


# ---- loops over prange ----


def made_before(x):
    if x.size > 2:
        r = np.zeros(x.size)
    for i in prange(x.size):
        r[i] = x[i] + 1
    return r


def last_of_all(x):
    for i in prange(x.size):
        last = x[i]
    return last


@pytest.mark.parametrize("function", [made_before, last_of_all], ids=lambda f: f.__name__)
def test_prange(function):
    f = lw.njit(function, parallel=True)
    for n in (0, 5, 1000):
        np.testing.assert_equal(outcome(f, np.arange(n) * 0.5), outcome(function, np.arange(n) * 0.5))


def carried(x):
    r = np.zeros(x.size)
    for i in prange(x.size):
        if x[i] > 1:
            t = x[i]
        r[i] = t
    return r


def test_a_value_of_another_iteration_of_prange_is_refused():
    with pytest.raises(lw.errors.CompileError, match="E168: iterations of prange depend on each other"):
        lw.njit(carried, parallel=True)(np.arange(3.0))


# ---- the other decorators ----


def element(x):
    if x > 1:
        y = (x * 2, 1)
    return y[0]


def fill(x, out):
    for i in range(x.shape[0]):
        if x[i] > 1:
            t = (x[i] * 2, 1)
        out[i] = t[0]


def index(i, x, out):
    if x[i] > 1:
        t = (x[i] * 2, 1)
    out[i] = t[0]


def thread(x, out):
    i = cuda.grid(1)
    if i < x.shape[0]:
        index(i, x, out)


def kernel(x, out):
    with lw.config(target="cpu"):
        cuda.jit(thread)[1, 4](x, out)


@pytest.mark.parametrize("typing", ["weak", "numba"])
def test_every_decorator(typing):
    x, low = np.arange(2.0, 5.0), np.arange(4.0)
    for run in (lambda x, out: lw.vectorize(element, typing=typing)(x, out=out), lambda x, out: lw.guvectorize("(n)->(n)", typing=typing)(fill)(x, out),
                lambda x, out: lw.forall(index, typing=typing)(x.size, x, out), lambda x, out: lw.jit(fill, typing=typing)(x, out), kernel):
        out = np.zeros(3)
        run(x, out)
        assert out.tolist() == [4, 6, 8]
        with pytest.raises(UnboundLocalError, match="cannot access local variable '[ty]' where it is not associated with a value .raised in "):
            run(low, np.zeros(4))
    total = lw.reduce(lambda a, b: a + b, map=element, typing=typing)
    assert total(x) == 18
    with pytest.raises(UnboundLocalError, match="'y'"):
        total(low)


def test_for_gpus():
    assert len(lw.compile(lw.vectorize(element), "float64(float64)", target="sm_90", output="cubin")) > 500


# ---- what stays an error when the function is compiled ----


def sure(n):
    y = z + n
    z = n
    return y


def rests_on_itself(n):
    for i in range(n):
        v = [v][0]
    return v


def captured(n):
    if n > 1:
        k = n
    return [k + i for i in range(n)]


def none(n):
    if n > 1:
        r = None
    return r


def function(n):
    if n > 1:
        f = np.sin
    return f(n)


def length(n):
    if n > 1:
        t = (n, 1)
    return len(t)


@pytest.mark.parametrize("function, help", [
    (sure, "assign `z` first$"), (rests_on_itself, "only values that are made of its own reach this line"),
    (captured, "a nested function or a comprehension takes its value"), (none, "nothing of a function, a type or None is there at run time"),
    (function, "nothing of a function, a type or None is there at run time"), (length, "the expression around it is a constant"),
], ids=lambda x: getattr(x, "__name__", ""))  # fmt: skip
def test_what_cannot_be_asked(function, help):
    with pytest.raises(lw.errors.TypingError, match=f"E110: variable `\\w` may have no value here(.|\n)*{help}"):
        lw.njit(function)(3)
    assert lw.njit(number)(3) == 8


@pytest.mark.parametrize("typing", ["weak", "numba"])
def test_without_exceptions(typing):
    for make in (lambda: lw.vectorize(element, errors="ignore", typing=typing)(np.ones(3)), lambda: cuda.compile_ptx(element, "float64(float64)", device=True)):
        with pytest.raises(lw.errors.TypingError, match="E110: variable `y` may have no value here(.|\n)*exceptions are not compiled here; elsewhere, reading it raises an UnboundLocalError"):
            make()

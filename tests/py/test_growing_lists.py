"""Lists that grow in compiled functions: what they give is what Python's lists give."""

import numpy as np
import pytest

import lanewise as lw
from lanewise import _growing_lists


def appended(n):
    out = []
    for i in range(n):
        if i % 3 == 0:
            out.append(i * 0.5)
    return out


def primes(n):
    found = []
    for i in range(2, n):
        is_prime = True
        for p in found:
            if p * p > i:
                break
            if i % p == 0:
                is_prime = False
                break
        if is_prime:
            found.append(i)
    return found


def every_method(n):
    out = [1, 2]
    out.append(n)
    out += [7, 8]
    out.extend([9, 10])
    out.extend(range(n))
    out.insert(1, 5)
    out.insert(-100, 6)
    out.insert(100, 66)
    last = out.pop()
    out.pop()
    second = out.pop(1)
    last += out.pop()
    out[0] = 100
    out[-1] += 3
    out[1] //= 2
    other = list()
    other.append(3)
    other.clear()
    other.append(-1)
    return out, len(out), last, second, out[-1], 5 in out, 77 not in out, sum(out), min(out), max(out), other


def sorts(n):
    out = []
    for i in range(n):
        out.append((n - i) * (i % 2))
    out.sort()
    down = [0.0]
    for i in range(n):
        down.append(-1.5 * i)
    down.reverse()
    return out, down, out[1:3], float(np.sum(out[2:])), any(out), all(out)


def stack(n):
    waiting = [n]
    order = []
    while waiting:
        k = waiting.pop()
        order.append(k)
        for j in (2 * k, 2 * k + 1):
            if j < 20:
                waiting.append(j)
    while len(order) > 3 and not not order:
        order.pop(0)
    if not waiting or False:
        last = order.pop()
        return last, order
    return 0, order


def loops(n):
    out = []
    for i in range(n):
        out.append(i)
    for at, v in enumerate(out):
        out[at] = v * v
    total = 0
    for x, y in zip(out, out[1:]):
        total += x * y
    for v in reversed(out):
        total = total * 3 + v
    return total, sum([x * x for x in out]), sum(x for x in out if x > 2), 1 if out else 0


def made_in_a_loop(n):
    counts = []
    for i in range(n):
        row = []
        for j in range(i):
            row.append(j)
        counts.append(len(row))
        counts.append(sum(row))
    return counts


def from_others(n):
    doubled = [v * 2 for v in range(n)]
    doubled.append(1)
    zeros = [0.0] * n
    zeros.append(4.0)
    return doubled, zeros


def pop_returned(n):
    out = []
    for i in range(n):
        out.append(i)
    return out.pop()


def indexed(n):
    out = []
    out.append(1)
    out.append(2)
    return out[n]


def pairs(n):
    out = []
    for i in range(n):
        out.append((i, i * 0.5))
    return out


def walked(n):
    waiting = [(0, n)]
    order = []
    total = 0
    while waiting:
        a, b = waiting.pop()
        total += a * b
        order.append((a, b, total))
        if b > 2:
            waiting.append((a + 1, b // 2))
            waiting.append((a, b - 2))
    return total, order, len(order), order[0], order[-1][2]


def changed_pairs(n):
    ps = []
    for i in range(n):
        ps.append((i, 2 * i))
    ps[1] = (7, 8)
    total = 0
    for x, y in ps:
        total += x * y
    for p in ps:
        total += p[0] - p[1]
    for k, (x, y) in enumerate(ps):
        total += k * x * y
    first = ps.pop(0)
    ps.pop()
    return total, first, ps


def from_nothing(n):
    zeros = [7] * n
    zeros.append(5)
    numbers = [0.5] * n
    for i in range(20):
        numbers.append(0.25 * i)
    return zeros, numbers


def stored_what_it_gave(n):
    out = [1, 2, 3, n]
    out.append(5)
    out[-1] = out.pop(0)
    ps = [(1, n)]
    ps.append((2, 3))
    ps.append((4, 5))
    out[-1], b = ps.pop(0)
    return out, ps, b


def from_itself(n):
    out = [n]
    out.append(2)
    out += [len(out), len(out), out[-1] + out[0], out[-1]]
    path = [(0, 1)]
    for i in range(n):
        path = [(path[-1][0] + i, path[0][1] * 2), (path[0][1], path[-1][0])]
        path.append((path[0][1], path[0][0]))
    return out, path


CALLS = [(from_nothing, 0), (from_nothing, 2), (stored_what_it_gave, 9), (from_itself, 3), (appended, 40), (appended, 0), (primes, 100), (every_method, 3), (sorts, 9), (stack, 1), (loops, 6), (made_in_a_loop, 6), (from_others, 3), (pop_returned, 2),
         (pop_returned, 0), (indexed, 0), (indexed, -2), (indexed, 2), (indexed, -3), (pairs, 5), (pairs, 0), (walked, 9), (changed_pairs, 9)]


@pytest.mark.parametrize("function, n", CALLS)
@pytest.mark.parametrize("typing", ["weak", "numba"])
def test_like_python(function, n, typing):
    f = lw.njit(function, typing=typing)
    try:
        wanted = function(n)
    except IndexError as error:
        with pytest.raises(IndexError, match=str(error)):
            f(n)
    else:
        assert repr(f(n)) == repr(wanted)


@pytest.mark.parametrize("dtype", [bool, np.int8, np.uint64, np.float32, np.float64, np.complex64])
def test_dtypes(dtype):
    @lw.njit
    def f(x):
        out = []
        for v in x:
            out.append(v)
        return np.array(out), out

    x = np.arange(20).astype(dtype)
    array, items = f(x)
    assert array.dtype == dtype and (array == x).all() and items == x.tolist() and {type(item) for item in items} == {type(x[0].item())}
    array, items = f(x[:0])
    assert array.dtype == dtype and array.shape == (0,) and items == []


def test_numpy_makes_rows_of_tuples():
    @lw.njit
    def f(n):
        out = []
        for i in range(n):
            out.append((i, 0.5 * i))
        return np.array(out)

    assert f(3).tolist() == [[0, 0], [1, 0.5], [2, 1]]


def test_shortest_way():
    def f(walls):
        n, m = walls.shape
        waiting = [(0, 0)]
        steps = np.full((n, m), -1)
        steps[0, 0] = 0
        head = 0
        while head < len(waiting):
            i, j = waiting[head]
            head += 1
            for down, right in ((0, 1), (1, 0), (0, -1), (-1, 0)):
                a, b = i + down, j + right
                if 0 <= a < n and 0 <= b < m and not walls[a, b] and steps[a, b] < 0:
                    steps[a, b] = steps[i, j] + 1
                    waiting.append((a, b))
        return steps

    walls = np.random.default_rng(0).random((9, 9)) < 0.3
    assert (lw.njit(f)(walls) == f(walls)).all()


def test_other_doors():
    def f(n):
        out = []
        for i in range(n):
            out.append(i)
        return sum(out)

    assert lw.vectorize(f)(np.arange(5)).tolist() == [0, 0, 1, 3, 6]

    @lw.forall
    def fill(i, out):
        found = []
        for j in range(i):
            found.append(j)
        out[i] = len(found)

    out = np.zeros(4)
    fill(4, out)
    assert out.tolist() == [0, 1, 2, 3]

    @lw.njit
    def calls(n):
        made = []
        for i in range(n):
            made.append(i)
        return made

    @lw.njit
    def outer(n):
        made = calls(n)
        total = len(made) + made[-1]
        for v in made:
            total += v
        return total

    assert outer(4) == 13


def test_an_item_that_does_not_fit():
    @lw.njit
    def f(n):
        out = [np.int32(1)]
        out.append(n)
        return out

    with pytest.raises(TypeError, match="have the type of the first one"):
        f(2**40)

    @lw.njit
    def g(x):
        out = [0]
        out.append(x)
        return out

    with pytest.raises(lw.errors.TypingError, match="E142"):
        g(0.5)


@pytest.mark.parametrize("item", ["None", "'text'"])
def test_an_item_that_is_no_number(item):
    """The call that fails is inferred again for its message, below callers that came later."""
    text = f"""
def f(n):
    out = []
    for i in range(n):
        out.append({item})
    return len(out)
"""
    space = {}
    exec(text, space)
    with pytest.raises(lw.errors.TypingError, match="E120"):
        lw.njit(space["f"])(3)


def second_name(n):
    out = []
    same = out
    out.append(n)
    return same


def passed_on(n):
    out = []
    out.append(n)
    return indexed(out)


def in_a_list(n):
    out = []
    out.append(n)
    return np.array([out, out])


def in_a_nested_function(n):
    out = []
    out.append(n)

    def inner():
        return out[0]
    return inner()


def grows_while_read(n):
    out = []
    out.append(n)
    for v in out:
        if len(out) < 5:
            out.append(v)
    return out


@pytest.mark.parametrize("function", [second_name, passed_on, in_a_list, in_a_nested_function, grows_while_read])
def test_what_the_two_variables_cannot_follow(function):
    with pytest.raises(lw.errors.TypingError, match=r"E161: no attribute `append`(.|\n)*a list can grow if the function makes it"):
        lw.njit(function)(3)


def test_functions_without_such_lists_are_left_alone():
    import ast

    for text in ("def f(x):\n out = x\n out.append(1)", "def f(x):\n out = []\n return out", "def f(x):\n global out\n out = []\n out.append(1)"):
        assert _growing_lists.rewritten(ast.parse(text).body[0]) is None


def test_lists_of_tuples_that_functions_return():
    @lw.njit
    def made(n):
        x = []
        for i in range(n):
            x.append((i, 0.5 * i))
        return x

    def ends(n):
        x = made(n)
        return x[0], x[-1], len(x), sum([x[i][0] * x[i][1] for i in range(len(x))])

    assert lw.njit(ends)(4) == ends(4) and made(0) == []
    with pytest.raises(IndexError, match="list index out of range"):
        lw.njit(ends)(0)
    for loop in (lambda n: sum(t[0] for t in made(n)), lambda n: [a for a, b in made(n)][0], lambda n: sum(i for i, t in enumerate(made(n))), lambda n: (1, 0.5) in made(n)):
        with pytest.raises((lw.errors.TypingError, lw.errors.UnsupportedError), match=r"E165: a list of tuples(.|\n)*for i in range\(len\(x\)\)|E103"):
            lw.njit(loop)(3)


def test_places_of_empty_lists():
    def read(n):
        x = []
        for i in range(n):
            x.append(i)
        return x[-1]

    def stored(n):
        x = []
        for i in range(n):
            x.append(i)
        x[0] = 7
        x[n - 1] += 5
        return x

    def stored_tuple(n):
        x = []
        for i in range(n):
            x.append((i, 1.5))
        x[0] = (9, 2.5)
        return x

    for f in (read, stored, stored_tuple):
        assert lw.njit(f)(3) == f(3)
        with pytest.raises(IndexError, match="list index out of range"):
            lw.njit(f)(0)

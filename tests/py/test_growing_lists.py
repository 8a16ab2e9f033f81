"""Lists that grow in compiled functions: what they give is what Python's lists give."""

import numpy as np
import pytest

import lanewise as lw
from lanewise import _list_displays


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


CALLS = [(from_nothing, 0), (from_nothing, 2), (stored_what_it_gave, 9), (from_itself, 3),
         (appended, 40), (appended, 0), (primes, 100), (every_method, 3), (sorts, 9), (stack, 1), (loops, 6), (made_in_a_loop, 6), (from_others, 3), (pop_returned, 2),
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


@pytest.mark.parametrize("item", ["None", "b'bytes'"])
def test_an_item_that_is_no_number(item):
    """The failing call is inferred again for its message, below callers that came later."""
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


def many(n):
    out = [np.int32(1)]
    out.append(n)
    return out


def float_after_int(n):
    out = [0]
    out.append(0.5)
    return out


def tuple_of_another_length(n):
    out = [(1, 2)]
    out.append((1, 2, 3))
    return out


def number_after_tuple(n):
    out = [(1, 2)]
    out[0] = n
    return out


def bool_after_int(n):
    out = [n]
    out.insert(0, n > 1)
    return out


def list_of_sets(n):
    return [{i} for i in range(n)]


def never_filled(n):
    out = []
    return out[0]


def put(x, v):
    x.append(v)


def put_elsewhere(n):
    out = []
    for i in range(n):
        put(out, i)
        put(out, 0.5)
    return out


@pytest.mark.parametrize("function, message, line", [
    (many, "have a type of fewer bits", "out.append(n)"), (float_after_int, "are ints, and this is a float: begin with a float", "out.append(0.5)"),
    (tuple_of_another_length, "tuples of another length", "out.append((1, 2, 3))"), (number_after_tuple, "are tuples, but this is not one", "out[0] = n"),
    (bool_after_int, "write int", "out.insert(0, n > 1)"), (list_of_sets, "items of this list must be numbers", "[{i} for i in range(n)]"),
    (put_elsewhere, "are ints, and this is a float", "x.append(v)"),
])
@pytest.mark.parametrize("typing", ["weak", "numba"])
def test_an_item_that_does_not_fit(function, message, line, typing):
    with pytest.raises(lw.errors.TypingError, match="E120") as error:
        lw.njit(function, typing=typing)(3)
    assert message in str(error.value) and line in str(error.value) and "lanewise/_growing_lists" not in str(error.value)


@pytest.mark.parametrize("typing", ["weak", "numba"])
def test_an_item_of_a_list_that_is_never_filled(typing):
    with pytest.raises(IndexError, match="list index out of range"):
        lw.njit(never_filled, typing=typing)(3)


def one_of_two(n):
    x, y = [], []
    z = x if n > 2 else y
    z.append(n)
    return x


def in_a_tuple(n):
    x = []
    t = (x, 1)
    t[0].append(n)
    return t


def in_a_nested_function(n):
    x = []

    def add(v):
        x.append(v)
    add(n)
    return x


def in_its_loop(n):
    x = [n]
    for i, v in enumerate(x):
        x.append(v)
    return x


def in_its_loop_by_a_call(x):
    for v in x:
        put(x, v)
    return len(x)


def from_outside(n):
    OUTSIDE.append(n)
    return n


OUTSIDE = [1, 2]


@pytest.mark.parametrize("function, code, line", [
    (one_of_two, "E165: a list that may have two names", "z.append(n)"), (in_a_tuple, "E165: a list that is an item, or has no name", "t[0].append(n)"),
    (in_a_nested_function, "E165: a list that may have two names", "x.append(v)"), (in_its_loop, "E165: a list", "x.append(v)"), (from_outside, "E161: no attribute `append`", "OUTSIDE.append(n)"),
    (lambda n: in_its_loop_by_a_call([i for i in range(n)]), "E165: a list", "put(x, v)"),
])
def test_changes_that_another_name_would_not_show(function, code, line):
    with pytest.raises(lw.errors.CompileError, match=code) as error:
        lw.njit(function)(3)
    assert line in str(error.value)


def test_functions_without_such_lists_are_left_alone():
    import ast

    for text in ("def f(x):\n return x + 1", "def f(x):\n y = (x, x)\n return y[0]"):
        assert _list_displays.rewritten(ast.parse(text).body[0], {}, None) is None


def test_names_of_the_users():
    def sorted(x):
        return x + 1

    names = {"sorted": sorted, "lw": lw}
    exec("def f(n):\n    x = [n]\n    x.append(1)\n    return sorted(n), x", names)
    assert lw.njit(names["f"])(3) == (4, [3, 1])


def test_lists_of_tuples_that_functions_return():
    @lw.njit
    def made(n):
        x = []
        for i in range(n):
            x.append((i, 0.5 * i))
        return x

    def read(n):
        x = made(n)
        total = 0.0
        for a, b in made(n):
            total += a * b
        for k, (a, b) in enumerate(x):
            total = 2 * total + k * a * b
        for p in reversed(made(n)):
            total = 2 * total + p[1]
        for (a, b), c in zip(x, made(n)):
            total += a * c[1]
        x.append((7, 8.0))
        x += made(2)
        x[0] = (9, 9.0)
        return total, x, made(n) + made(1), made(n)[1:], made(n) * 2, (1, 0.5) in made(n), len(made(n)), [a for a, b in made(n)], sum(t[1] for t in made(n)), max(made(n)), made(n)[-1][1]

    assert repr(lw.njit(read)(4)) == repr(read(4)) and made(0) == []
    with pytest.raises(ValueError, match="iterable argument is empty"):
        lw.njit(read)(0)


def test_lists_that_functions_return():
    @lw.njit
    def made(n):
        return [i * i for i in range(n)]

    def read(n):
        x = made(n)
        x[0] = 7
        x[1] += 3
        x.append(9)
        x.sort()
        return x, sum(made(n)), made(n) + x, made(n)[1:3], max(made(n)), made(n) * 2, 4 in made(n), made(n) == x, bool(made(0)), sorted(made(n), reverse=True), len(made(n)[::2])

    assert repr(lw.njit(read)(5)) == repr(read(5))


def test_lists_as_indices_and_arrays():
    def f(a):
        where = []
        for i in range(len(a)):
            if a[i] > 2:
                where.append(i)
        b = a[where]
        a[where] = 0
        a[:3] = [v for v in range(3)]
        return b, a, np.sum(where), np.array(where), np.array([(i, 0.5 * i) for i in where]), np.searchsorted(where, 3)

    a = np.arange(6.0)
    for found, wanted in zip(lw.njit(f)(a.copy()), f(a.copy())):
        assert np.array_equal(found, wanted)
    assert lw.njit(lambda: np.array([]).dtype == np.float64)()


def test_errors_of_methods():
    def f(n, x):
        y = list(x)
        if n == 0:
            return y.index(77)
        if n == 1:
            y.remove(77)
        if n == 2:
            y[::2] = [1]
        if n == 3:
            return y.pop(9)
        if n == 4:
            y.clear()
            return y.pop()
        if n == 5:
            return len(y[::n - 5])
        if n == 6:
            del y[5]
        return max(y[:0])

    compiled = lw.njit(f)
    for n, (error, text) in enumerate([(ValueError, "not in list"), (ValueError, "not in list"), (ValueError, "extended slice"), (IndexError, "pop index out of range"), (IndexError, "pop from empty list"),
                                       (ValueError, "slice step cannot be zero"), (IndexError, "out of range"), (ValueError, "empty")]):
        with pytest.raises(error):
            f(n, np.arange(4))
        with pytest.raises(error, match=text):
            compiled(n, np.arange(4))


def test_lists_as_arguments_of_functions_of_arrays():
    def f(n):
        x = [v for v in range(n)]
        y = [v * 2 for v in range(n + 1)]
        t = (x, y)
        return sum(x if n > 2 else y), sum(t[0]), np.sum(x + y), max((z := [v for v in x])), z, sum(x[1:]), sum([v for v in x] + y), np.cumsum(x[::2])[-1]

    for n in (2, 4):
        assert repr(lw.njit(f)(n)).replace("np.int64(", "").replace(")", "") == repr(f(n)).replace("np.int64(", "").replace(")", "")


class Bag:
    def __init__(self, n):
        self.items = []
        for i in range(n):
            self.items.append(i)

    def add(self, v):
        self.items.append(v)


def test_lists_in_objects():
    def f(n):
        bag = Bag(n)
        bag.add(7)
        bag.items.append(8)
        bag.items[0] += 5
        return len(bag.items), sum(bag.items), bag.items[-1], bag.items.pop(), bag.items[1:]

    assert lw.njit(f)(3) == f(3)


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


@pytest.mark.parametrize("value", [2, 2.5, 1 + 2j, (1, 2)])
def test_what_is_added_to_itself_need_not_be_a_list(value):
    def doubled(s):
        s += s
        return s

    assert lw.njit(doubled)(value) == doubled(value)
    if not isinstance(value, tuple):
        assert lw.vectorize(doubled)(np.array([value]))[0] == doubled(value)


def test_names_of_iterators_that_the_user_has():
    @lw.njit
    def f(n):
        def map(v):
            return v * 2

        s = n
        s += map(n)
        return s

    assert f(4) == 12


def test_deletion_from_lists_of_other_functions():
    @lw.njit
    def made(n):
        x = [n, 1, 2]
        x.append(3)
        return x

    @lw.njit
    def without_first(x):
        del x[0]

    @lw.njit
    def f(n):
        x = made(n)
        del x[1]
        without_first(x)
        return x

    assert f(7) == [2, 3]


def item_deleted(x):
    del x[0]
    return x


def items_deleted(x):
    del x[:2]
    return x


@pytest.mark.parametrize(("f", "of"), [(item_deleted, "lists and dicts"), (items_deleted, "lists")])
def test_only_items_of_lists_are_deleted(f, of):
    with pytest.raises(lw.errors.TypingError, match=f"E120: only items of {of} can be deleted"):
        lw.njit(f)(np.arange(3.0))


def test_zeros_of_both_signs_stay_in_their_order():
    def f(x):
        y = list(x)
        y.sort(reverse=True)
        return sorted(x), y

    x = [0.0, -0.0, 5.0, -0.0, 0.0, 1.0] * 7
    got, expected = lw.njit(f)(np.array(x)), f(x)
    assert [[str(v) for v in part] for part in got] == [[str(v) for v in part] for part in expected]


LIMIT = 0.5
PAIR = (1.0, 2.0)


def test_variables_that_have_a_list_and_a_global():
    def last(x):
        y = []
        y.append(x)
        y = LIMIT
        return y

    def longer(x):
        y = PAIR
        y = list(y)
        y.append(x)
        return y

    def added(x):
        y = PAIR
        y += [x]
        return y

    assert lw.njit(last)(2.0) == 0.5
    assert lw.njit(longer)(3.0) == [1.0, 2.0, 3.0]
    with pytest.raises(lw.errors.TypingError, match="E120: only a list can be added to a list"):
        lw.njit(added)(3.0)


def pairs_of_a_list(n):
    x = []
    for i in range(n):
        x.append((i, i * 10, 0.5))
    a, b = x
    return a, b


def test_a_list_of_tuples_is_unpacked_into_its_items():
    assert lw.njit(pairs_of_a_list)(2) == ((0, 0, 0.5), (1, 10, 0.5))
    with pytest.raises(ValueError, match="more or fewer items than there are names"):
        lw.njit(pairs_of_a_list)(3)


def slice_to_its_own_name(n):
    t = [k for k in range(n)]
    t = t[1:]
    return t


def appended_to_in_a_range_of_its_length(n):
    t = [1]
    for i in range(len(t) + 2):
        t.append(i)
    return t


def put_into(path, k):
    path.append(k)
    return len(path)


def display_that_a_function_changes(n):
    return put_into([0, n], n) + put_into([5], n)


@pytest.mark.parametrize("function", [slice_to_its_own_name, appended_to_in_a_range_of_its_length, display_that_a_function_changes])
def test_lists_that_were_refused(function):
    assert lw.njit(function)(4) == function(4)


@lw.njit
def numbers_below(n):
    return [i for i in range(n)]


def list_of_a_call(n):
    x = numbers_below(n)
    x = x
    x.append(n)
    return x


def item_of_the_list_of_a_call(n):
    x = numbers_below(n)
    x = x
    x[0] += n
    return x


def one_of_two_displays(n):
    x = [1, 2] if n > 2 else [3]
    x = x
    x.append(n)
    return x


def sum_of_lists(n):
    x = [0] * n + [1]
    x = x
    x += [n]
    return x


def union_of_sets(n):
    x = {1, n} | {3}
    x = x
    x.add(8)
    return len(x)


def one_of_two_dicts(n):
    x = {1: 2} if n > 2 else {3: 4}
    x = x
    x[9] = n
    return len(x)


@pytest.mark.parametrize("function", [list_of_a_call, item_of_the_list_of_a_call, one_of_two_displays, sum_of_lists, union_of_sets, one_of_two_dicts])
def test_a_variable_assigned_to_itself_keeps_its_items(function):
    assert lw.njit(function)(4) == function(4)


def repeated(n, times):
    x = [n, n, n, n]
    x.append(n)
    x.pop()
    x *= times
    return len(x)


@pytest.mark.parametrize("times", [1 << 62, 1 << 61, (1 << 60) + 1], ids=hex)
def test_the_length_of_a_repeated_list_does_not_wrap(times):
    with pytest.raises(MemoryError):
        lw.njit(repeated)(1, times)
    with pytest.raises(MemoryError):
        lw.njit(repeated)((1, 2.5), times)
    assert lw.njit(repeated)(1, -times) == 0

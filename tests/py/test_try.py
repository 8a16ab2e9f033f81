"""`try`, `except`, `else` and `finally` in compiled functions: they mean what they mean in Python."""

from __future__ import annotations

import linecache
import random
import warnings

import numpy as np
import pytest

import lanewise as lw
from lanewise import cuda, errors, njit, prange
from lanewise.runtime import get_allocation_stats, memsys_enable_stats


@pytest.fixture(autouse=True, scope="module")
def counts_memory():
    memsys_enable_stats()


class Own(ValueError):
    pass


class Deeper(Own):
    pass


def text_of(problem):
    """The exception's argument or arguments as a text, without the place that compiled code adds."""
    text = "" if not problem.args else str(problem.args[0]) if len(problem.args) == 1 else str(problem.args)
    return text.split("(raised in")[0].strip()


def outcome(f, *args):
    try:
        return f(*args)
    except Exception as problem:
        return type(problem), text_of(problem)


def same(f, *calls):
    """Check for each tuple of arguments that the compiled function does what Python does."""
    compiled = njit(f)
    for args in calls:
        assert outcome(compiled, *args) == outcome(f, *args), args
    return compiled


# ---- which handler ----


def classify(x):
    if x == 1:
        raise KeyError("one")
    if x == 2:
        raise ZeroDivisionError("two")
    if x == 3:
        raise Deeper(3)
    if x == 4:
        raise RuntimeError("four", 4)
    return x


PAIR = (KeyError, IndexError)


def test_the_first_handler_that_catches_the_class_runs():
    def f(x):
        try:
            classify(x)
        except LookupError:
            return 1
        except (OverflowError, ArithmeticError):
            return 2
        except Own:
            return 3
        except Exception:
            return 4
        except BaseException:
            return 5
        return 0

    same(f, *[(x,) for x in range(6)])


def test_classes_of_the_users_and_their_bases():
    def f(x):
        try:
            classify(x)
        except Deeper:
            return 1
        return 0

    def g(x):
        try:
            classify(x)
        except ValueError:
            return 1
        return 0

    for one in (f, g):
        same(one, *[(x,) for x in range(6)])


def test_tuples_of_classes_may_be_captured():
    def f(x):
        try:
            classify(x)
        except PAIR:
            return 1
        return 0

    same(f, *[(x,) for x in range(6)])


def test_the_form_of_numba():
    def f(x):
        try:
            if x > 3:
                raise ValueError("too large")
            y = x * 2
        except Exception:
            y = -1
        return y

    def bare(x):
        try:
            classify(x)
        except:  # noqa: E722
            return True
        return False

    same(f, (1,), (5,))
    same(bare, *[(x,) for x in range(6)])


def test_what_no_handler_catches_goes_on():
    def f(x):
        try:
            try:
                classify(x)
            except KeyError:
                return 1
        except RuntimeError:
            return 2
        return 0

    same(f, *[(x,) for x in range(6)])


def test_what_a_handler_or_else_raises_is_not_caught_by_its_neighbours():
    def f(x):
        try:
            classify(x)
        except KeyError:
            raise IndexError("instead")
        except LookupError:
            return 1
        else:
            if x == 5:
                raise KeyError("else")
        return 0

    same(f, *[(x,) for x in range(6)])


def test_raise_again():
    def bare(x):
        try:
            classify(x)
        except Exception:
            if x % 2:
                raise
            return 1
        return 0

    def named(x):
        try:
            classify(x)
        except Exception as first:
            try:
                classify(4 - x)
            except Exception as second:
                if x == 1:
                    raise first
                raise second
            raise KeyError(7) from first
        return 0

    for f in (bare, named):
        same(f, *[(x,) for x in range(6)])


def test_numbers_of_the_exception_survive():
    def f(x):
        try:
            raise ValueError("numbers", x)
        except KeyError:
            return 0
        finally:
            x += 1

    def g(x):
        try:
            f(x)
        except Exception:
            raise

    for one in (f, g):
        same(one, (5,))


# ---- what raises ----


def test_checks_and_tuples():
    @njit(check={"divide"})
    def quotient(x, y):
        try:
            return x // y
        except ZeroDivisionError:
            return -1

    @njit(check={"bounds"})
    def item(a, i):
        try:
            return a[i]
        except IndexError:
            return -1.0

    def chosen(i):
        t = (1, 2, 3)
        try:
            return t[i]
        except IndexError:
            return -1

    assert quotient(7, 2) == 3 and quotient(7, 0) == -1
    assert item(np.ones(3), 2) == 1 and item(np.ones(3), 3) == -1
    same(chosen, (0,), (-1,), (3,))


def test_lists_dicts_memory_and_libraries():
    def lists(n):
        s = [3]
        d = {1: 2}
        c = 0
        for i in range(n):
            try:
                c += s.pop()
            except IndexError:
                c += 1000
            try:
                c += d[i]
            except KeyError:
                c += 10000
        return c

    def memory(n):
        try:
            return np.zeros(n).sum()
        except MemoryError:
            return -1.0

    def inverse(a):
        try:
            return np.linalg.inv(a)[0, 0]
        except np.linalg.LinAlgError:
            return -1.0

    def shapes(x, y):
        try:
            return (x + y).sum()
        except ValueError:
            return -1.0

    def asserts(x):
        try:
            assert x > 3, "small"
            return 1
        except AssertionError:
            return 0

    same(lists, (4,))
    assert njit(memory)(10) == 0 and njit(memory)(1 << 55) == -1
    same(inverse, (np.zeros((2, 2)),), (np.eye(2),))
    same(shapes, (np.ones(3), np.ones(3)), (np.ones(3), np.ones(4)))
    same(asserts, (1,), (5,))


def test_recursion():
    def depth(n):
        try:
            if n == 0:
                raise ValueError("end")
            return depth(n - 1) + 1
        except ValueError:
            if n < 3:
                raise
            return n * 100

    f = njit(depth)
    assert outcome(f, 2) == (ValueError, "end") and f(6) == 303


# ---- variables ----


def test_a_handler_sees_each_assignment_of_the_body():
    def f(x):
        y = 0
        z = 0.5
        try:
            y = 1
            classify(x)
            y = 2
            z = y + 0.25
            classify(x - 1)
            y = 3
        except Exception:
            return y * 10 + z
        return y + z

    same(f, *[(x,) for x in range(7)])


def test_a_variable_that_the_body_has_surely_assigned():
    def f(x):
        try:
            i = 0
            total = 0
            while True:
                i += 1
                total += classify(x - i)
                if i == 9:
                    break
        except KeyError:
            return i * 100 + total
        return total

    same(f, (5,), (30,))


def test_arrays_and_their_references():
    def f(x, n):
        s = 0.0
        for i in range(n):
            try:
                a = np.zeros(100) + i
                b = a * 2
                if i % 3 == 0:
                    raise ValueError
                c = b + a
                try:
                    d = c[:10].copy()
                    if i % 3 == 1:
                        raise KeyError(1)
                    s += d.sum()
                finally:
                    x = x + 1
            except ValueError:
                s += 100
            except KeyError:
                a = np.ones(3)
                s += a.sum()
        return s, x

    def returned(x, n):
        y = x + 1
        try:
            return y
        finally:
            y = x * 3
            if n == 2:
                return x

    for g, n in ((f, 10), (returned, 1), (returned, 2)):
        for got, want in zip(njit(g)(np.arange(3.0), n), g(np.arange(3.0), n)):
            np.testing.assert_array_equal(got, want)


# ---- objects that change ----


def grow(items, x):
    items.append(x)
    if x % 3 == 0:
        raise KeyError(x)
    items.append(x + 1)


class Counter:
    def __init__(self, start):
        self.n = start
        if start < 0:
            raise ValueError("negative")
        self.seen = 0

    def add(self, x):
        self.n += x
        if x < 0:
            raise ValueError("negative")
        self.seen += 1


def test_what_a_function_changes_before_it_raises_is_kept():
    def lists(n):
        items = []
        bad = 0
        for i in range(n):
            try:
                grow(items, i)
            except KeyError:
                bad += 1
        return len(items), sum(items), bad

    def objects(a):
        c = Counter(1)
        for i in range(-2, 3):
            try:
                c.add(a * i)
            except ValueError:
                c.n += 100
        return c.n, c.seen

    def through(items, n):
        grow(items, n)
        items.append(100)

    def outer(n):
        items = [1]
        try:
            through(items, n)
        except KeyError:
            items.append(50)
        return items

    def makes(n):
        total = 0
        for i in range(4):
            try:
                total += Counter(i - n).n
            except ValueError:
                total += 100
        return total

    same(lists, (7,))
    same(objects, (2,))
    same(outer, (3,), (4,))
    same(makes, (2,))


def test_what_is_changed_in_finally_behind_a_return():
    def change(items, n):
        try:
            items.append(2)
            if n == 1:
                return 5
            items.append(3)
        finally:
            items.append(n)
        return 6

    def f(n):
        items = [0]
        r = change(items, n)
        return r, items

    same(f, (1,), (2,))


def test_where_the_change_would_be_lost():
    def renames(items, x):
        items.append(x)
        if x == 3:
            items = [1]
            raise ValueError

    def f(n):
        items = [0]
        try:
            renames(items, n)
        except ValueError:
            pass
        return len(items)

    with pytest.raises(errors.UnsupportedError, match="E101: `renames` changes an object and may raise"):
        njit(f)(1)


# ---- control flow ----


def test_loops_and_returns():
    def f(n):
        log = 0
        for i in range(n):
            try:
                log = log * 3 + classify(i)
                if i == 5:
                    continue
                if i == 8:
                    break
            except KeyError:
                continue
            except ZeroDivisionError:
                log += 7
            except RuntimeError:
                break
            except Own:
                log *= 2
            else:
                log += 1
            finally:
                log += 100
        else:
            log += 1000
        return log

    def leaves(n):
        for i in range(n):
            try:
                if i == 2:
                    return i
            finally:
                if n == 4:
                    continue
                if n == 5:
                    break
                if n == 6:
                    return -1
        return -2

    same(f, *[(n,) for n in range(10)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        same(leaves, *[(n,) for n in range(8)])


def test_loops_over_texts_are_written_out():
    def f(x):
        log = 0
        for name in ("a", "b", "c"):
            try:
                if name == "b":
                    continue
                log = log * 10 + classify(x)
            except KeyError:
                if name == "a":
                    continue
                break
            finally:
                log += 1
        return log

    same(f, *[(x,) for x in range(3)])


# ---- leaks ----


def test_nothing_leaks():
    def f(n):
        items = [1]
        table = {0: 1}
        a = b = np.zeros(4)
        for i in range(n):
            try:
                try:
                    grow(items, i)
                    table[i] = len(items)
                    a = np.full(i + 1, 2.0) + table[i * 2]
                finally:
                    b = a * 2
                    if i == 5:
                        return b
            except KeyError:
                a = b + len(items)
        raise ValueError("end")

    g = njit(f)
    assert outcome(g, 3) == (ValueError, "end") and g(8).tolist() == f(8).tolist()
    before = get_allocation_stats()
    for n in (3, 8) * 20:
        outcome(g, n)
    after = get_allocation_stats()
    assert after.alloc - before.alloc == after.free - before.free > 0


# ---- decorators and targets ----


def test_every_decorator():
    @lw.vectorize
    def v(x):
        try:
            if x < 0:
                raise ValueError("negative")
            return x * 2
        except ValueError:
            return -1.0

    @lw.guvectorize("(n)->()")
    def g(x, out):
        s = 0.0
        try:
            for i in range(len(x)):
                if x[i] < 0:
                    raise ValueError("negative")
                s += x[i]
        except ValueError:
            s = -1.0
        finally:
            out[0] = s

    @lw.reduce
    def r(a, b):
        try:
            if b < 0:
                raise ValueError
            return a + b
        except ValueError:
            return a

    @lw.forall
    def k(i, out, x):
        try:
            if x[i] < 0:
                raise ValueError("negative", x[i])
            if x[i] > 100:
                raise KeyError(5)
            out[i] = x[i]
        except ValueError:
            out[i] = -7.0

    x = np.array([1.0, -3.0, 4.0] * 9)
    assert v(x).tolist() == [2, -1, 8] * 9
    assert g(x.reshape(9, 3)[:, ::2]).tolist() == [5] * 9 and g(x.reshape(9, 3)).tolist() == [-1] * 9
    assert r(x) == 45
    out = np.zeros(27)
    k(27, out, x)
    assert out.tolist() == [1, -7, 4] * 9
    with pytest.raises(KeyError, match="raised in `k`"):
        k(27, out, x * 100)


def test_gufuncs_store_in_handlers():
    @lw.guvectorize("(n)->()")
    def g(x, out):
        try:
            if x[0] < 0:
                raise ValueError
            out[0] = 1.0
        except ValueError:
            out[0] = 2.0

    assert g(np.array([[1.0], [-1.0]])).tolist() == [1, 2]


def test_kernels_of_a_grid():
    def k(out, x):
        i = cuda.grid(1)
        if i < len(x):
            try:
                if x[i] < 0:
                    raise ValueError("negative")
                out[i] = x[i]
            except ValueError:
                out[i] = -7.0
            finally:
                out[i] += 1

    assert "caught_0" in cuda.jit(k).inspect_nvvm("void(float64[:], float64[:])", "sm_90")
    out = np.zeros(3)
    cuda.jit(target="cpu")(k)[1, 32](out, np.array([1.0, -3.0, 4.0]))
    assert out.tolist() == [2, -6, 5]


def test_prange():
    def inside(x):
        s = 0
        for i in prange(len(x)):
            try:
                if x[i] < 0:
                    raise ValueError
                s += 1
            except ValueError:
                s += 100
        return s

    def total(x):
        s = 0.0
        for i in prange(len(x)):
            if x[i] < 0:
                raise ValueError("negative")
            s += x[i]
        return s

    def around(x):
        try:
            return total(x)
        except ValueError:
            return -1.0

    def leaves(x):
        s = 0
        try:
            for i in prange(len(x)):
                if x[i] < 0:
                    raise ValueError
                s += 1
        except ValueError:
            return -1
        return s

    parallel = njit(parallel=True)
    total = parallel(total)
    x = np.ones(1000)
    assert parallel(inside)(x) == 1000 and parallel(around)(x) == 1000
    x[::100] = -1
    assert parallel(inside)(x) == 1990 and parallel(around)(x) == -1
    with pytest.raises(errors.CompileError, match="E168: an exception leaves a loop over prange"):
        parallel(leaves)(x)


# ---- what is refused ----


def refused(f, *args):
    with pytest.raises(errors.CompileError) as caught:
        njit(f)(*args)
    return str(caught.value)


def test_the_exception_is_no_value():
    def shows(x):
        try:
            classify(x)
        except Exception as e:
            print(e)

    def keeps(x):
        try:
            classify(x)
        except Exception as e:
            e = 3
            return e

    def later(x):
        try:
            classify(x)
        except Exception as e:
            pass
        return e  # noqa: F821

    for f in (shows, keeps):
        text = refused(f, 1)
        assert "E101: the exception `e` can only be raised again" in text and "test_try.py" in text and "^" in text and "help:" in text
    assert "E110" in refused(later, 1)


def test_unbound_variables_and_other_mistakes():
    def unbound(x):
        try:
            y = classify(x)
        except KeyError:
            pass
        return [y for _ in range(2)]

    def nowhere(x):
        raise

    def in_finally(x):
        try:
            classify(x)
        finally:
            raise

    def no_class(x):
        try:
            classify(x)
        except int:
            pass

    def nested(x):
        try:
            classify(x)
        except (KeyError, PAIR):
            pass

    def undefined(x):
        try:
            classify(x)
        except Nothing:  # noqa: F821
            pass

    assert "assign `y` before the `try`" in refused(unbound, 1)
    assert "there is no exception to raise again" in refused(nowhere, 1)
    assert "in a `finally` there may be no exception" in refused(in_finally, 1)
    assert "this is not an exception class" in refused(no_class, 1)
    assert "this is not an exception class" in refused(nested, 1)
    assert "Nothing" in refused(undefined, 1)


def test_errors_that_are_not_checked():
    def quotient(x, y):
        try:
            return x / y
        except ZeroDivisionError:
            return 0.0

    def item(a, i):
        try:
            return a[i]
        except IndexError:
            return 0.0

    assert 'check={"divide"}' in refused(quotient, 1.0, 0.0)
    assert 'check={"bounds"}' in refused(item, np.ones(3), 5)
    assert njit(check={"divide"})(quotient)(1.0, 0.0) == 0


def test_exceptions_that_are_ignored():
    def f(x):
        try:
            return classify(x)
        except KeyError:
            return -1

    with pytest.raises(errors.UnsupportedError, match="E101: `try` in a function that raises no exceptions"):
        njit(errors="ignore")(f)(1)


# ---- random programs ----

CLASSES = ["ValueError", "Own", "Deeper", "ZeroDivisionError", "ArithmeticError", "KeyError", "IndexError", "LookupError", "Exception", "RuntimeError"]
RAISED = ["ValueError(t)", "Own(t)", "Deeper", "ZeroDivisionError('z')", "KeyError(3)", "IndexError", "RuntimeError('r', 1)"]


def helper(x):
    a = np.zeros(4)
    a[0] = x
    if x % 5 == 0:
        raise Own(x)
    if x % 7 == 1:
        raise ZeroDivisionError("seven")
    if x % 11 == 2:
        raise Deeper
    return a[0] + 1


class Program:
    """A function of two ints with nested statements; each mark that the control passes changes `t`."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.lines = ["def f(a, b):"]
        self.marks, self.budget = 0, 10
        for line in ("t = a * 5 + b", "x = a", "y = b", "z = np.zeros(2)", "items = [1]", "if a > 90: raise IndexError", "if a > 91: raise ZeroDivisionError"):
            self.put(1, line)
        self.try_statement(1, False, False)
        self.statement(1, False, False)
        self.put(1, "return t * 1000 + len(items) * 10 + int(z[0]) % 10 + x % 7")

    def text(self):
        return "\n".join(self.lines) + "\n"

    def put(self, depth, text):
        self.lines.append("    " * depth + text)

    def mark(self, depth):
        self.marks += 1
        self.put(depth, f"t = (t * 31 + {self.marks}) % 100003")

    def condition(self, depth):
        self.put(depth, f"if (t + {self.random.choice('abxy')}) % {self.random.randint(2, 5)} == {self.random.randint(0, 1)}:")

    def body(self, depth, loop, handler):
        for _ in range(self.random.randint(1, 3)):
            self.statement(depth, loop, handler)

    def statement(self, depth, loop, handler):
        self.budget -= 1
        kinds = ["mark", "assign", "branch", "raises", "call", "grow", "pop", "array", "loop", "repeat", "returns"] + ["try"] * 3
        kinds += ["jump"] * 2 * loop + ["again"] * handler
        if self.budget < 0 or depth > 6:
            kinds = ["mark", "call"] if self.budget > -6 else ["mark"]
        kind, choice = self.random.choice(kinds), self.random.choice
        if kind == "mark":
            self.mark(depth)
        elif kind == "assign":
            self.put(depth, f"{choice('xy')} = {choice(['t % 13', 'x + 1', 'y + a', 'x * 2 - b'])}")
        elif kind == "call":
            self.put(depth, f"t = (t + int(helper({choice(['t % 17', 'x', 'y', 'a + b'])}))) % 100003")
        elif kind == "grow":
            self.put(depth, f"grow(items, {choice(['t % 13', 'x % 9', 'b'])})")
        elif kind == "pop":
            self.put(depth, "t = (t * 5 + items.pop()) % 100003")
        elif kind == "array":
            self.put(depth, choice(["z = np.full(t % 4 + 1, 1.0 * x)", "t = (t + int(z[0])) % 100003"]))
        elif kind in ("branch", "raises", "jump", "returns", "again"):
            self.condition(depth)
            if kind == "branch":
                self.body(depth + 1, loop, handler)
                if self.random.random() < 0.4:
                    self.put(depth, "else:")
                    self.body(depth + 1, loop, handler)
            else:
                inside = {"raises": [f"raise {each}" for each in RAISED], "jump": ["break", "continue"],
                          "returns": ["return t", "return x + t", "return int(helper(t % 17))"], "again": ["raise"]}[kind]
                self.put(depth + 1, choice(inside))
        elif kind == "loop":
            self.put(depth, f"for i{depth} in range({self.random.randint(1, 4)}):")
            self.mark(depth + 1)
            self.body(depth + 1, True, handler)
        elif kind == "repeat":
            self.put(depth, f"c{depth} = 0")
            self.put(depth, f"while c{depth} < {self.random.randint(1, 4)}:")
            self.put(depth + 1, f"c{depth} += 1")
            self.body(depth + 1, True, handler)
            if self.random.random() < 0.3:
                self.put(depth, "else:")
                self.mark(depth + 1)
        else:
            self.try_statement(depth, loop, handler)

    def try_statement(self, depth, loop, handler):
        chance = self.random.random
        self.put(depth, "try:")
        self.body(depth + 1, loop, handler)
        n = self.random.choice([0, 1, 1, 2, 3])
        for i in range(n):
            classes = self.random.choice(CLASSES)
            if chance() < 0.3:
                classes = f"({classes}, {self.random.choice(CLASSES)})"
            bare = i == n - 1 and chance() < 0.3
            name = f"e{depth}_{len(self.lines)}" if not bare and chance() < 0.4 else ""
            self.put(depth, "except:" if bare else f"except {classes} as {name}:" if name else f"except {classes}:")
            self.body(depth + 1, loop, True)
            if name and chance() < 0.5:
                self.condition(depth + 1)
                self.put(depth + 2, self.random.choice([f"raise {name}", f"raise RuntimeError(7) from {name}"]))
        if n and chance() < 0.4:
            self.put(depth, "else:")
            self.body(depth + 1, loop, handler)
        if n == 0 or chance() < 0.4:
            self.put(depth, "finally:")
            self.mark(depth + 1)
            self.body(depth + 1, loop and chance() < 0.5, False)


def function_of(text, name, space):
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(compile(text, name, "exec"), space)
    return space["f"]


@pytest.mark.parametrize("seed", range(40))
def test_a_random_program(seed):
    text = Program(seed).text()
    space = {"np": np, "Own": Own, "Deeper": Deeper, "helper": helper, "grow": grow}
    f = function_of(text, f"<try {seed}>", space)
    compiled = njit(opt=False)(f)
    calls = [(0, 0), (1, 0), (2, 3), (3, 5), (4, 1), (5, 2), (6, 7), (7, 4), (10, 3), (12, 9)]
    try:
        outcome(compiled, 0, 0)
        before = get_allocation_stats()
        for args in calls:
            assert outcome(compiled, *args) == outcome(f, *args), text
    finally:
        after = get_allocation_stats()
    assert after.alloc - before.alloc == after.free - before.free, text


def returned_and_changed(items):
    try:
        return items
    finally:
        items.append(3)


def test_a_finally_does_not_change_what_is_returned():
    def caller():
        x = [1, 2]
        return len(returned_and_changed(x))

    with pytest.raises(lw.errors.TypingError, match="E165"):
        lw.njit(caller)()


NAMELESS = """
class ValueError(Exception): pass

class Own(ValueError): pass

def root(x):
    if x < 0:
        raise Own("negative")
    return x

def caught(x):
    try:
        return root(x)
    except ValueError:
        return -6

def passed_on(x):
    try:
        return root(x)
    except TheOther:
        return -5
"""


def test_classes_of_code_without_a_module_are_not_the_builtin_ones_of_their_names():
    space = {"TheOther": ValueError}  # no __name__: the module of the classes is said to be builtins
    file = "<nameless>"
    linecache.cache[file] = (len(NAMELESS), None, NAMELESS.splitlines(True), file)
    exec(compile(NAMELESS, file, "exec"), space)
    for made in (lw.njit, lw.vectorize):
        with pytest.raises(space["Own"], match="negative"):
            made(space["root"])(-2)
        assert made(space["caught"])(-2) == -6
        with pytest.raises(space["Own"], match="negative"):
            made(space["passed_on"])(-2)

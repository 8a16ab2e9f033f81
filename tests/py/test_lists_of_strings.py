"""Strings in lists, dicts and sets that compiled functions make, and in typed ones: what they give is what Python's give."""

import pickle
import subprocess
import sys

import numpy as np
import pytest

import lanewise as lw
from lanewise import _core, errors, typed, types
from lanewise.typed import Dict, List


def appended(n):
    out = ["x"] * n
    for i in range(n):
        out.append("even" if i % 2 == 0 else "odd")
    return out, out[-1], len(out)


def counted(n):
    d = {}
    for i in range(n):
        k = "low" if i < 2 else "mid" if i < 3 else "high"
        d[k] = d.get(k, 0) + 1
    return d, max(d, key=d.get), "low" in d, "none" in d


def display_that_changes(n):
    d = {"a": 1.0, "b": 2.0}
    d["c"] = 0.5 * n
    s = 0.0
    for k, v in d.items():
        s += 10 * v if k == "b" else v
    return s, sorted(d), list(d.values()), d.pop("a"), d.pop("zz", 0.5), d.get("q", -1.0)


def sorted_strings(n):
    names = ["é", "z", "", "aa", "a", "€", "z"]
    names.append("ä")
    again = names.copy()
    again.sort(key=len)
    names.sort(reverse=True)
    return names, again, max(names), min(names), names.index("a"), names.count("z"), sorted(names)


def compared(n):
    names = ["b", "a"]
    names.append("bc")
    m = names[n]
    return m == "bc", m < "c", m >= names[0], len(m), "c" in m, m in "abcd", bool(m), names == ["b", "a", "bc"], names < ["b", "b"]


def matched(n):
    names = ["b", "a"]
    names.append("c")
    total = 0
    for name in names:
        match name:
            case "a":
                total += 1
            case "c":
                total += 10
    return total, [len(v) for v in names], [v for v in names if v > "a"]


def in_tuples(n):
    out = [("b", n)]
    out.append(("a", 2 * n))
    out.append(("b", -n))
    out.sort()
    d = {("k", 1): "one"}
    d[("k", n)] = "n"
    return out, {k: v for k, v in out}, d, d[("k", 1)], ("k", 7) in d


def of_sets(n):
    s, t = {"a", "b"}, {"b", "c"}
    s.add("q")
    t.discard("none")
    return sorted(s & t), sorted(s | t), sorted(s - t), sorted(s ^ t), s == {"q", "b", "a"}, "q" in s, len(s)


def optional(n):
    names = ["b", "a"]
    names.append("c")
    found = None
    for name in names:
        if name > "b":
            found = name
    return found, found is None


def changed_in_place(n):
    names = ["a", "b", "c", "d"]
    names[0] = "e"
    names.insert(1, "f")
    del names[2]
    names[1:3] = ["g", "h", "i"]
    names += ["j"]
    names.reverse()
    first, *rest = names
    last = names.pop()
    return names * 2, first, rest, last, names


class Names:
    def __init__(self):
        self.names = []
        self.places = {}

    def add(self, name):
        self.places[name] = len(self.names)
        self.names.append(name)


def in_objects(n):
    names = Names()
    names.add("b")
    names.add("a")
    return names.names, names.places


def put(names, name):
    names.append(name)
    return names[-1]


def by_functions(n):
    names = ["q"]
    return put(names, "w"), put(names, "q"), names


def of_many(n):
    d = {}
    for i in range(300):
        for name in ("a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k"):
            d[name] = d.get(name, 0) + i
            if i % 7 == 0:
                d.pop(name)
    return d


def popped(n):
    d = {"a": "x"}
    d["b"] = "y"
    names = ["q"]
    names.append("r")
    return d.pop("q", "a default is not given"), d.pop("q", names[1]), d.pop("a"), d.pop("b", "z"), d


PROGRAMS = [appended, counted, display_that_changes, sorted_strings, compared, matched, in_tuples, of_sets, optional, changed_in_place, in_objects, by_functions, of_many, popped]


@pytest.mark.distinct_cases
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_programs(program):
    assert repr(lw.njit(program)(2)) == repr(program(2))


def missing_key(n):
    d = {"a": 1}
    d["b"] = n
    return d["a" if n < 0 else "none"]


def raised_with_a_string(n):
    names = ["b", "a"]
    names.append("c")
    raise ValueError(f"no {names[n]} for {n}")


@pytest.mark.parametrize(("program", "error", "text"), [(missing_key, KeyError, "none"), (raised_with_a_string, ValueError, "no c for 2")], ids=["key", "value"])
def test_exceptions(program, error, text):
    with pytest.raises(error, match=text):
        lw.njit(program)(2)


def test_print(capfd):
    @lw.njit
    def shown():
        names = ["b"]
        names.append("a")
        for name in names:
            print(name, len(name))

    shown()
    assert capfd.readouterr().out == "b 1\na 1\n"


def number_among_strings(n):
    names = ["a"]
    names.append(n)
    return names


def string_among_numbers(n):
    names = [n]
    names.append("a")
    return names


def array_of_strings(n):
    names = ["a"]
    names.append("b")
    return np.array(names)


def put_together(n):
    names = ["a"]
    names.append("b")
    return names[0] + "x"


@pytest.mark.parametrize(
    ("program", "text"),
    [
        (number_among_strings, "the items of this list are strings, but this is not one"),
        (string_among_numbers, "the items of this list are numbers, but this is not one"),
        (array_of_strings, "no array of strings is made"),
        (put_together, "chooses among whole strings"),
    ],
    ids=lambda p: getattr(p, "__name__", ""),
)
def test_refused(program, text):
    with pytest.raises(errors.TypingError, match=text) as caught:
        lw.njit(program)(2)
    assert "^" in str(caught.value)


def test_functions_that_are_not_called_on_the_host():
    @lw.vectorize
    def f(x):
        d = {}
        d["a"] = x
        return d["a"]

    with pytest.raises(errors.TypingError, match="E163"):
        f(np.ones(3))


# ---- typed ----


def test_a_dict_of_strings_is_changed_by_both_sides():
    d = Dict.empty(types.unicode_type, types.float64)
    d["alpha"], d["beta"] = 0.5, 2

    @lw.njit
    def change(d, x):
        d["gamma"] = d["alpha"] * x
        d["beta"] += 1
        s = 0.0
        for k, v in d.items():
            if k != "gamma":
                s += v
        return s, "beta" in d, d.get("q", -1.0), [k for k in d if len(k) == 5]

    assert change(d, 3.0) == (3.5, True, -1.0, ["alpha", "gamma"])
    assert dict(d) == {"alpha": 0.5, "beta": 3.0, "gamma": 1.5} and list(d) == ["alpha", "beta", "gamma"]
    assert repr(d) == "DictType[unicode_type,float64]({'alpha': 0.5, 'beta': 3.0, 'gamma': 1.5})"
    del d["beta"]
    assert "beta" not in d and d.pop("alpha") == 0.5 and d.popitem() == ("gamma", 1.5) and not d
    with pytest.raises(KeyError, match="beta"):
        lw.njit(lambda d: d["beta"])(d)


def test_a_list_of_strings_is_changed_by_both_sides():
    x = List.empty_list(str)
    x.append("b")
    x.extend(["a", "c"])
    x.insert(0, "z")

    @lw.njit
    def change(x, n):
        for i in range(n):
            x.append("even" if i % 2 == 0 else "odd")
        return sorted(x), x[0], len(x[-1]), x.index("a")

    assert change(x, 2) == (["a", "b", "c", "even", "odd", "z"], "z", 3, 2)
    x.sort()
    x[0] = "new"
    assert list(x) == ["new", "b", "c", "even", "odd", "z"] and x.pop() == "z" and "c" in x and x.count("b") == 1
    assert repr(x[:2]) == "ListType[unicode_type](['new', 'b'])"


def test_values_and_tuples_of_strings():
    d = Dict({1: "one"})
    x = List([("a", 1), ("b", 2)])
    assert lw.njit(lambda d: d[1])(d) == "one"

    @lw.njit
    def change(d, x):
        d[2] = "two"
        x.append(("c", 3))
        return {name: n for name, n in x}

    assert change(d, x) == {"a": 1, "b": 2, "c": 3}
    assert dict(d) == {1: "one", 2: "two"} and x[2] == ("c", 3)
    for made in (d, x):
        again = pickle.loads(pickle.dumps(made))
        assert again == made and repr(again) == repr(made)


def test_made_by_compiled_functions():
    @lw.njit
    def make():
        d, e, x = Dict.empty(types.unicode_type, types.int64), Dict(), List.empty_list(types.unicode_type)
        d["a"] = 1
        e[2] = "two"
        x.append("y")
        return d, e, x

    d, e, x = make()
    d["b"] = 2
    x.append("z")
    assert dict(d) == {"a": 1, "b": 2} and dict(e) == {2: "two"} and list(x) == ["y", "z"]


def test_many_strings():
    """There are more than a small table holds. The strings come from Python, so their characters are found only in this process."""
    d = Dict.empty(str, int)
    for i in range(2000):
        d[f"key {i}"] = i
    assert len(d) == 2000 and d["key 1999"] == 1999

    @lw.njit
    def chosen(d):
        return [k for k in d if k < "key 1001"], sum([v for v in d.values()])

    assert chosen(d) == ([k for k in d if k < "key 1001"], sum(range(2000)))


def test_what_is_only_looked_up_is_not_kept():
    d = Dict({"a": 1})
    for absent in ("only looked up", "a\0b", "\ud800"):
        assert absent not in d and d.get(absent, 5) == 5
    before = _core._memory_live()
    assert not any(f"looked up {i}" in d for i in range(1000)) and _core._memory_live() == before
    for i in range(1000):
        d[f"stored {i}"] = i
    assert _core._memory_live() > before
    with pytest.raises(KeyError, match="only looked up"):
        d["only looked up"]


def test_arrays_of_them_in_python():
    assert np.array(List(["a", "b"])).tolist() == ["a", "b"] and np.array(List([1, 2])).dtype == np.int64


FORK = """
import os, signal, threading, time
import lanewise as lw

@lw.njit
def order(n):
    x = ["b", "a"]
    x.append("c")
    k = 0
    for i in range(n):
        if x[i % 3] < "b":
            k += len(x[i % 3])
    return x[k % 3]

order(3)
stop = False
def work():
    while not stop:
        order(20000)
threads = [threading.Thread(target=work) for _ in range(2)]
for one in threads:
    one.start()
children = []
for _ in range(20):
    child = os.fork()
    if child == 0:
        order(2)
        os._exit(0)
    children.append(child)
end = time.monotonic() + 20
while children and time.monotonic() < end:
    children = [child for child in children if os.waitpid(child, os.WNOHANG)[0] == 0]
    time.sleep(0.01)
stop = True
for child in children:
    os.kill(child, signal.SIGKILL)
print(len(children), "hung")
"""


def test_children_of_a_process_whose_threads_compare_strings(tmp_path):
    """Looking up a string takes no lock, which a thread that does not exist in the child could hold."""
    (tmp_path / "program.py").write_text(FORK, encoding="utf-8")
    done = subprocess.run([sys.executable, "-W", "ignore", "program.py"], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.stdout == "0 hung\n", done.stderr


@pytest.mark.parametrize(
    ("bad", "error", "text"),
    [
        (lambda: Dict({"a": 1}).__setitem__(3, 1), TypeError, "keys of this dict are strings, not 'int'"),
        (lambda: List(["a"]).append(1), TypeError, "items of this list are strings, not 'int'"),
        (lambda: List([1]).append("a"), TypeError, "items of this list are of the type int64"),
        (lambda: List(["a\0b"]), ValueError, "no null character"),
        (lambda: List(["\ud800"]), UnicodeEncodeError, "surrogates"),
        (lambda: List([b"a"]), TypeError, "must be numbers, strings, arrays, typed lists or dicts, or"),
        (lambda: Dict.empty(str, None), TypeError, "value_type must be the type of a number, of an array"),
        (lambda: List.empty_list(bytes), TypeError, "item_type must be the type of a number, of an array"),
    ],
)
def test_bad_items(bad, error, text):
    with pytest.raises(error, match=text):
        bad()

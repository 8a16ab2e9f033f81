"""Arrays of strings and bytes (dtypes U and S), alone and in records: items are assigned strings that are known when the function is
compiled, are copied, and are compared. NumPy is the judge, by the same function uncompiled."""

from __future__ import annotations

import numpy as np
import pytest

import lanewise as lw
from lanewise import cuda, errors
from fake_driver import needs_device, needs_kernels

GREETING, RAW = "grüß😀", b"raw\xff"
PERSON = np.dtype([("id", "u1"), ("name", "U5"), ("w", "f8"), ("tags", "S3", (2,)), ("code", "S4")])


targets = pytest.mark.parametrize("target", ["cpu", pytest.param("cuda", marks=[pytest.mark.gpu, needs_device, needs_kernels])])


def texts(dtype, n=6):
    words = ["", "a", "ab", "abc", "abcd", "b"]
    return np.array([words[i % 6] for i in range(n)], dtype)


def assign(a):
    for i in range(a.shape[0]):
        if i % 2 == 0:
            a[i] = "ab"


def assign_global(a):
    a[1] = GREETING
    a[-1] = ""


def assign_all(a):
    a[:] = "xyz"
    a[2:4] = "q"


def copy_back(a):
    a[0] = a[3]
    a[4:] = a[2:4]


@targets
@pytest.mark.parametrize("function", [assign, assign_global, assign_all, copy_back])
@pytest.mark.parametrize("dtype", ["U1", "U2", "U3", "U12", "U70", "U300"])
def test_texts_are_assigned(target, function, dtype):
    wanted, got = texts(dtype), texts(dtype)
    function(wanted)
    cuda.jit(function, target=target)[1, 1](got)
    assert got.dtype == wanted.dtype and got.tobytes() == wanted.tobytes()


def assign_bytes(a):
    a[0] = b"ab"
    a[1] = RAW
    a[2] = "ascii"  # as in NumPy
    a[3:] = b""


@targets
@pytest.mark.parametrize("dtype", ["S1", "S3", "S4", "S5", "S99"])
def test_bytes_are_assigned(target, dtype):
    wanted, got = texts(dtype), texts(dtype)
    assign_bytes(wanted)
    cuda.jit(assign_bytes, target=target)[1, 1](got)
    assert got.tobytes() == wanted.tobytes()


def in_records(a):
    a[0]["name"] = "Eva Maria"
    a[0]["tags"][1] = b"new"
    a[1]["name"] = a[0]["name"]
    a[1]["code"] = RAW
    a[2] = a[1]
    a[3] = (7, "tuple", 2.5, b"t", b"code5")
    for i in range(a.shape[0]):
        a[i]["w"] += a[i]["id"]


@targets
@pytest.mark.parametrize("dtype", [PERSON, np.dtype(PERSON.descr, align=True)], ids=["packed", "aligned"])
def test_fields(target, dtype):
    got = np.zeros(4, dtype)
    got["id"], got["name"], got["w"] = [1, 2, 3, 4], ["Ann", "Bo", "Christine", ""], 0.5
    wanted = got.copy()
    in_records(wanted)
    cuda.jit(in_records, target=target)[1, 1](got)
    assert got.tobytes() == wanted.tobytes()


def compare(a, b, out):
    for i in range(a.shape[0]):
        out[i, 0] = a[i] == "ab"
        out[i, 1] = "abc" != a[i]
        out[i, 2] = a[i] == b[i]
        out[i, 3] = a[i] != b[-1 - i]
        out[i, 4] = a[i] == ""
        out[i, 5] = a[i] == GREETING


@targets
@pytest.mark.parametrize("x, y", [("U5", "U5"), ("U3", "U9"), ("U9", "U1"), ("U6", "U300")])
def test_texts_are_compared(target, x, y):
    a, b = texts(x, 12), texts(y, 12)[::-1].copy()
    a[7], b[2] = "a\0b"[: a.itemsize // 4], "grüß😀"
    wanted, got = np.zeros((12, 6), bool), np.zeros((12, 6), bool)
    compare(a, b, wanted)
    cuda.jit(compare, target=target)[1, 1](a, b, got)
    np.testing.assert_array_equal(got, wanted)


def test_bytes_are_compared():
    @lw.jit
    def find(a):
        n = 0
        for x in a:
            if x == b"ab":
                n += 1
            if x == b"ab\0":  # never: items have no zeros at their end
                n += 100
        return n

    assert find(texts("S4", 12)) == 2 == find.py_func(texts("S4", 12))


def test_names_in_records_choose_rows():
    rows = np.zeros(5, PERSON)
    rows["name"], rows["w"] = ["Ann", "Bo", "Ann", "Anna", "ann"], np.arange(5.0)

    @lw.jit
    def total(rows, name):
        s = 0.0
        for r in rows:
            if r.name == name:
                s += r.w
        return s

    assert [total(rows, name) for name in ("Ann", "Bo", "Anna Maria", "")] == [2, 1, 0, 0]


def test_results_and_new_arrays():
    reverse = lw.jit(lambda a: a[::-1])
    item = lw.jit(lambda a: a[1])

    @lw.jit
    def copied(a):
        b = np.empty_like(a)
        for i in range(a.shape[0]):
            b[i] = a[a.shape[0] - 1 - i]
        return b

    a = texts("U4")
    assert item(a) == "a" and isinstance(item(a), np.str_) and item(a.astype("S4")) == b"a"
    assert copied(a).tolist() == a[::-1].tolist() == reverse(a).tolist() and copied(a).dtype == a.dtype


def test_types():
    assert str(lw.typeof(np.zeros(3, "U7"))) == "U7[::1]" and lw.from_dtype("S3") == lw.from_dtype(np.dtype("S3"))
    assert lw.from_dtype("U7")[::1] == lw.typeof(np.zeros(3, "U7")) != lw.typeof(np.zeros(3, "U8"))

    @lw.jit([lw.void(lw.from_dtype("S6")[:])])
    def fill(a):
        a[0] = b"x"

    a = texts("S6")
    fill(a)
    assert a[0] == b"x"


def number(a):
    a[0] = 5


def pair(a):
    a[0] = (1, 2)


def other(a, b):
    b[0] = a[0]


def beyond_ascii(a):
    a[0] = "é"


def ordered(a):
    return a[0] < a[1]


def mixed(a):
    return a[0] == b"ab"


@pytest.mark.parametrize("function, arrays, words", [
    (number, ["U3"], "an item of type U3 cannot receive this(?s:.)*this is int 5"),
    (pair, ["S3"], "an item of type S3 cannot receive this(?s:.)*this is tuple"),
    (other, ["U3", "U4"], "an item of type U4 cannot receive this(?s:.)*this is U3"),
    (beyond_ascii, ["S3"], "an item of type S3 cannot receive this(?s:.)*this is the string 'é'"),
    (ordered, ["U3"], "`<` is not defined between these types"),
    (mixed, ["U3"], "`==` is not defined between these types"),
])
def test_what_is_refused(function, arrays, words):
    with pytest.raises(errors.TypingError, match=words):
        lw.jit(function)(*map(texts, arrays))


def test_texts_of_a_foreign_byte_order():
    swapped = texts(">U3")
    item = lw.jit(lambda a: a[1])
    try:
        assert item(swapped) == "a"
    except TypeError as error:
        assert "native byte order" in str(error)


def test_ufuncs_say_that_texts_are_no_operands():
    with pytest.raises(TypeError, match="converts strings to numbers"):
        lw.vectorize(lambda x: 1)(texts("S3"))


def test_local_and_new_arrays_of_texts():
    short = np.dtype("U3")

    @lw.jit
    def f(a, out):
        near, new = lw.local(2, short), np.zeros(2, short)
        near[0] = a[1]
        near[1] = "long text"
        new[0] = near[1]
        out[0], out[1], out[2] = near[0] == "a", near[1] == "lon", new[1] == ""
        return new

    out = np.zeros(3, bool)
    assert f(texts("U3"), out).tolist() == ["lon", ""] and out.all()


# ---- variables hold copies of items ----


def swapped(u):
    u[0], u[1] = u[1], u[0]
    return 0


def sorted_in_place(u):
    for i in range(1, len(u)):
        key = u[i]
        j = i - 1
        while j >= 0 and u[j] != "a":
            u[j + 1] = u[j]
            j -= 1
        u[j + 1] = key
    return 0


def first_that_was(u):
    for i, w in enumerate(u):
        u[i] = "x"
        if w == "ab":
            return i
    return -1


def same_as_before(u):
    last, n = u[0], 0
    for w in u:
        if w == last:
            n += 1
        last = w
        u[0] = "q"
    return n


def of_tuples(u):
    t = (u[0], u[1])
    u[0] = "zz"
    n = 0
    for w in t:
        if w == "zz":
            n += 1
    return n


def of_functions(u):
    def same(s):
        return s

    t = same(u[0])
    u[0] = "q"
    return int(t == "ab")


class Named:
    def __init__(self, s):
        self.s = s


def of_fields(u):
    p, n = Named(u[0]), 0
    for i in range(len(u)):
        t = u[i]
        if p.s == t:
            n += 1
        p.s = t
    return n


def of_objects_in_tuples(u):
    p, n = (Named(u[0]), 1), 0
    for i in range(len(u)):
        t = u[i]
        if p[0].s == t:
            n += 1
        p = (Named(t), i)
    return n


@pytest.mark.parametrize("function, kind", [(swapped, "S3"), *((f, "U3") for f in (swapped, sorted_in_place, first_that_was, same_as_before, of_tuples, of_functions, of_fields, of_objects_in_tuples))])
def test_variables_hold_copies(function, kind):
    for words in (["ab", "abc", "ab"], ["d", "c", "a"], ["cd", "ab", ""]):
        one, other = np.array(words).astype(kind), np.array(words).astype(kind)
        assert lw.njit(function)(one) == function(other)
        np.testing.assert_array_equal(one, other)


def test_fields_of_texts_are_exchanged():
    def exchange(r):
        r["s"][0], r["s"][1] = r["s"][1], r["s"][0]

    one = np.array([(b"ab", 1), (b"c", 2)], [("s", "S3"), ("x", "f8")])
    other = one.copy()
    lw.njit(exchange)(one)
    exchange(other)
    np.testing.assert_array_equal(one, other)

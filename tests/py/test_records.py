"""Structured dtypes: what compiled code knows of them."""

from __future__ import annotations

import contextlib
import linecache
import pickle
import re
from collections import namedtuple

import numpy as np
import pytest
from host_kernel import run

import lanewise as lw
from lanewise import errors
from lanewise._core import _dump_record, forall

PLAIN = np.dtype([("x", "f4"), ("y", "f8")])
ALIGNED = np.dtype([("x", "f4"), ("y", "f8")], align=True)
PARTICLE = np.dtype([("pos", "f4", (3,)), ("m", "f8"), ("tag", ALIGNED), ("z", "c8", (2, 2))],
                    align=True)


def test_packed_records_promise_one_byte():
    assert _dump_record(PLAIN) == ("Record(x: float32, y: float64) 12 /1\n"
                                   "  0 x: float32 /1\n"
                                   "  4 y: float64 /1\n")


def test_aligned_records_promise_each_field_its_own():
    assert _dump_record(ALIGNED) == ("Record(x: float32, y: float64) 16 /8\n"
                                     "  0 x: float32 /4\n"
                                     "  8 y: float64 /8\n")


def test_fields_that_happen_to_be_aligned_count_as_such():
    assert _dump_record(np.dtype([("a", "f4"), ("b", "i4")])).splitlines()[0].endswith("8 /4")
    assert _dump_record(np.dtype([("a", "f8"), ("b", "i4")])).splitlines()[0].endswith("12 /1")


def test_nested_records_and_sub_arrays():
    text = _dump_record(PARTICLE)
    assert text.splitlines() == [
        "Record(pos: float32[3], m: float64, tag: Record(x: float32, y: float64), "
        "z: complex64[2, 2]) 72 /8",
        "  0 pos: float32[3] /4",
        "  16 m: float64 /8",
        "  24 tag: Record(x: float32, y: float64) /8",
        "    0 x: float32 /4",
        "    8 y: float64 /8",
        "  40 z: complex64[2, 2] /4"]


def test_an_aligned_record_inside_a_packed_one_is_not():
    outer = np.dtype([("b", "i1"), ("in", ALIGNED), ("all", ALIGNED, (2,))])
    lines = _dump_record(outer).splitlines()
    assert lines[2] == "  1 in: Record(x: float32, y: float64) /1"
    assert lines[3:5] == ["    0 x: float32 /1", "    8 y: float64 /1"]
    assert lines[5].endswith("[2] /1")


@pytest.mark.parametrize(("dtype", "field"), [
    ([("a", "f4"), ("s", "O")], "`s`"),
    ([("a", ">f4")], "`a`"),
    ([("a", [("b", "O")])], "`a.b`"),
    ([("a", ">U3")], "`a`"),
])
def test_other_dtypes_are_refused_by_name(dtype, field):
    with pytest.raises(TypeError, match=field):
        _dump_record(np.dtype(dtype))


def test_titles_and_overlapping_fields():
    titled = np.dtype({"names": ["a", "b"], "formats": ["i4", "i2"], "offsets": [0, 2],
                       "titles": ["first", "second"], "itemsize": 8})
    assert _dump_record(titled).splitlines()[1:] == ["  0 a: int32 /4", "  2 b: int16 /2"]


# ---- compiled code, against CPython on the same memory ----

NESTED = np.dtype([("id", "i2"), ("in", PLAIN), ("v", "f4", (3,)), ("z", "c8"), ("m", "i4", (2, 2))])
DTYPES = [PLAIN, ALIGNED]
IDS = ["packed", "aligned"]


def filled(dtype, n):
    rng = np.random.default_rng(7)
    made = np.zeros(n, dtype)
    raw = {name: made[name] for name in made.dtype.names}
    for field in raw.values():
        if field.dtype.names:
            for name in field.dtype.names:
                field[name] = rng.integers(1, 100, field[name].shape)
        else:
            field[...] = rng.integers(1, 100, field.shape)
    return made


def fields(r, out):
    for i in range(len(r)):
        out[i] = r[i].x * r[i]["y"] + r["x"][i]
        r[i].x = i
        r[i]["y"] += r[i].x
        r["y"][-1] -= 1


def as_records(array):
    return array.view(np.recarray)


def twice(function, *args, **options):
    """Run it compiled and interpreted; in the latter, records need recarray for their attributes."""
    mine, theirs = ([a.copy() if isinstance(a, np.ndarray) else a for a in args] for _ in range(2))
    assert run(function, *mine, **options) is None
    function(*(as_records(a) if isinstance(a, np.ndarray) and a.dtype.names else a for a in theirs))
    for a, b in zip(mine, theirs):
        if isinstance(a, np.ndarray):
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("dtype", DTYPES, ids=IDS)
def test_fields_are_read_and_written(dtype):
    twice(fields, filled(dtype, 5), np.zeros(5))


@pytest.mark.parametrize("narrow", [False, True])
def test_fields_of_strided_arrays(narrow):
    whole = filled(PLAIN, 11)
    mine, theirs = whole.copy(), whole.copy()
    out, out2 = np.zeros(5), np.zeros(5)
    assert run(fields, mine[9::-2], out, narrow=narrow) is None
    fields(as_records(theirs)[9::-2], out2)
    np.testing.assert_array_equal(mine, theirs)
    np.testing.assert_array_equal(out, out2)


def nested(r, out):
    for i in range(r.shape[0]):
        a = r[i]
        inner = a["in"]
        inner.y += a.id
        a.v[2] = inner.x + a["v"][0]
        a.v[-3] *= 2
        a.z = a.z * 2j
        a.m[1, 0] = len(a.v) + a.m.shape[0]
        for w in a.v:
            out[i] += w
        out[i] += r["v"][i, 1] + r["in"]["y"][i] + r["m"][i][0, 1] + r["z"][i].imag
        r["m"][i, 1, 1] = i


def test_nested_records_and_arrays_inside():
    twice(nested, filled(NESTED, 4), np.zeros(4))
    twice(nested, filled(np.dtype(NESTED.descr, align=True), 4), np.zeros(4))


def copies(r, s):
    n = len(r)
    for i in range(n // 2):
        r[i] = r[n - 1 - i]
    r[0]["in"] = r[1]["in"]
    s[0] = r[2]
    r[1].v = 3
    r["id"] = 9
    a, b = r[2], r[3]
    a.id, b.id = b.id + 1, a.id + 2


def test_whole_records_are_copied():
    twice(copies, filled(NESTED, 6), filled(NESTED, 1))


def test_large_records_are_copied_by_a_loop():
    large = np.dtype([("a", "f8", (40,)), ("b", "i1", (3,))])

    def swap(r, s):
        s[0] = r[1]
        r[1] = r[0]
        r[0] = s[0]

    twice(swap, filled(large, 2), filled(large, 1))


def scale(p, by):
    p.x *= by
    return p


def pick(r, i):
    return r[i]


def through_functions(r, out):
    for i in range(len(r)):
        out[i] = scale(pick(r, i), 3).x
        p = r[i] if i % 2 else r[0]
        p["y"] += 1


def test_records_as_arguments_and_results_are_references():
    twice(through_functions, filled(ALIGNED, 4), np.zeros(4))


def one(p, out):
    p.x += 1
    p["y"] = p.x
    out[0] = p["y"]


def test_of_several_records_one_variable():
    def f(r, s, out):
        for i in range(len(r)):
            p = s[0]
            if i & 1:
                p = r[i]
            q = s[i] if i > 1 else r[i]
            out[i] = p.x + q["y"]

    s = filled(PLAIN, 4)
    s["x"] *= 3
    s.flags.writeable = False
    r, out, wanted = filled(PLAIN, 4), np.zeros(4), np.zeros(4)
    assert run(f, r, s, out) is None
    f(as_records(r), as_records(s), wanted)
    np.testing.assert_array_equal(out, wanted)


def test_one_record_as_an_argument():
    r, out = filled(PLAIN, 3), np.zeros(1)
    assert run(one, r[1], out) is None
    assert r[1]["x"] == r[1]["y"] == out[0] == filled(PLAIN, 3)[1]["x"] + 1
    assert r[0] == filled(PLAIN, 3)[0]


def test_the_name_of_a_field_may_be_a_constant():
    which = "y"

    def f(r, out):
        for i in range(len(r)):
            name = "x"
            out[i] = r[i][which] + r[name][i]

    twice(f, filled(PLAIN, 3), np.zeros(3))


@pytest.mark.parametrize(("body", "code", "says"), [
    ("out[0] = s[0].mas", "E161", "did you mean `mass`"),
    ("out[0] = r['z'][0]", "E161", "no field `z`"),
    ("r[0].q = 1", "E161", "no field `q`"),
    ("out[0] = r[0][9]", "E120", "name of a field, or its number"),
    ("r[0].x = 1j", "E142", "complex"),
    ("r[0] = [1, 2]", "E120", "field by field"),
    ("r[0] = (1, 2, 3)", "E120", "3 items cannot be assigned to a record with 2 fields"),
    ("r[0] = (1, 2j)", "E142", "complex"),
    ("r[:] = s", "E120", "arrays of the same dtype"),
    ("r[0] = s[0]", "E120", "cannot receive this"),
    ("s[0].a = 1", "E162", "read-only"),
    ("s['a'][0] = 1", "E162", "read-only"),
    ("t = s[0]\n    t.b[1] = 2", "E162", "read-only"),
    ("out.x = 2", "E162", "attributes cannot be assigned"),
    ("out[0] = r[0] + 1", "E120", ""),
    ("if r[0]:\n        out[0] = 1", "E104", "truth value"),
    ("out[0] = r[0] == r[0]", "E120", "compare field by field"),
    ("out[0] = (r[0], 1) != (r[1], 1)", "E120", "not defined"),
    ("out[0] = r[0] in (r[0], 1)", "E120", "not defined"),
    ("p = s[0]\n    if out[0]:\n        p = r[0]\n    out[0] = p.a", "E140", "two types"),
])
def test_errors(body, code, says):
    source = f"def f(r, s, out):\n    {body}\n"
    space = {}
    linecache.cache["case.py"] = (len(source), None, source.splitlines(keepends=True), "case.py")
    exec(compile(source, "case.py", "exec"), space)
    s = filled(np.dtype([("a", "i4"), ("b", "f4", (2,)), ("mass", "f8")]), 2)
    s.flags.writeable = False
    with pytest.raises(errors.LanewiseError, match=code) as caught:
        run(space["f"], filled(PLAIN, 2), s, np.zeros(2))
    assert says in str(caught.value) and len(str(caught.value).splitlines()) <= 12


# ---- through a door ----

Weights = namedtuple("Weights", "gain offsets")


def move(i, r, w, pair, out):
    p = r[i]
    p.x += w.gain * p["y"] + w.offsets[i]
    first, second = pair
    second[i] = first
    out[i] = p.x * pair[1][i]


@pytest.mark.parametrize("dtype", [*DTYPES, np.dtype(PLAIN.descr + [("", "i2")])])
def test_records_and_tuples_in_a_loop_over_elements(dtype):
    n = 1000
    w, pair, out = Weights(2.5, np.arange(n)), (np.int32(3), np.zeros(n)), np.zeros(n)
    r = filled(dtype, n)
    wanted = r["x"] + (2.5 * r["y"] + w.offsets).astype(np.float32)
    forall(move)(n, r, w, pair, out)
    np.testing.assert_allclose(r["x"], wanted, rtol=1e-6)
    np.testing.assert_array_equal(out, r["x"] * 3)
    assert (pair[1] == 3).all()


@pytest.mark.parametrize("target", ["sm_75", "sm_90", "sm_100", "sm_120"])
def test_a_gpu_reads_what_is_not_aligned_byte_by_byte(target):
    def f(i, r, out):
        out[i] = r[i].y + r["y"][i]

    kernel = {}
    for dtype in DTYPES:
        kernel[dtype] = forall(f)
        kernel[dtype](4, filled(dtype, 4), np.zeros(4))
        with contextlib.suppress(errors.CompilerNotFound):  # a disassembler is no dependency of the tests
            assert kernel[dtype].inspect_sass(target=target)
    packed, aligned = (kernel[dtype].inspect_ptx(target=target) for dtype in DTYPES)
    assert re.search(r"ld\.global(\.nc)?\.[bf]64", aligned) and not re.search(r"ld\.global(\.nc)?\.[bf]64", packed)
    assert re.search(r"ld\.global(\.nc)?\.[bu]8", packed)


# ---- constant tables of records ----

POINTS = np.array([(1, 2.5), (3, 4.5), (5, 6.5)], dtype=[("n", "i4"), ("w", "f8")])
MIXED = np.zeros((2, 2), dtype=[("n", "i1"), ("v", "f4", (2,)), ("inner", [("a", "u2"), ("c", "c8")])])
MIXED["n"] = [[1, 2], [3, 4]]
MIXED["v"][..., 1] = [[10, 20], [30, 40]]
MIXED["inner"]["a"] = [[100, 200], [300, 400]]


def test_tables_of_records_are_constants():
    @lw.vectorize
    def product(i):
        return POINTS[i].n * POINTS[i]["w"] + len(POINTS) + POINTS[-1].n

    np.testing.assert_array_equal(product(np.arange(3)), POINTS["n"] * POINTS["w"] + 8)

    @lw.vectorize
    def total(i, j):
        point = MIXED[i, j]
        return point.v[1] + point["inner"].a + MIXED["n"][i, j]

    i, j = np.ogrid[:2, :2]
    np.testing.assert_array_equal(total(i, j), MIXED["n"] * np.float32(111))

    @lw.vectorize
    def weigh(x):
        sum_ = 0.0
        for point in POINTS:
            sum_ += point.w * x
        return sum_

    assert weigh(2.0) == 27.0
    assert pickle.loads(pickle.dumps(product))(1) == 3 * 4.5 + 8
    assert lw.compile(product, "float64(int64)", target="sm_75")[:4] == b"\x7fELF"


def test_tables_of_records_in_kernels():
    @lw.forall
    def weights(i, out):
        out[i] = POINTS[i].w

    out = np.zeros(3)
    weights(3, out)
    np.testing.assert_array_equal(out, POINTS["w"])

    @lw.forall
    def writes(i, out):
        POINTS[i].w = out[i]

    with pytest.raises(lw.errors.TypingError, match="E162"):
        writes(3, out)
    with pytest.raises(lw.errors.TypingError, match="E104"):
        objects = np.zeros(3, dtype=[("o", "O")])
        lw.vectorize(lambda i: objects[i].o)(1)


# ---- record types in signatures ----


def test_types_of_records():
    plain, aligned = lw.from_dtype(PLAIN), lw.from_dtype(ALIGNED)
    assert plain == lw.from_dtype(np.dtype([("x", "f4"), ("y", "f8")]))
    assert hash(plain) == hash(lw.from_dtype(PLAIN))
    assert plain != aligned
    assert str(plain) != str(aligned)
    assert (plain.dtype, aligned[:].dtype) == (PLAIN, ALIGNED)
    assert (plain[:, ::1].ndim, plain[:, ::1].layout) == (2, "C")
    assert lw.typeof(np.zeros(3, PLAIN)) == plain[::1]
    for kind in (plain, aligned, aligned[:], plain[::1, :]):
        assert pickle.loads(pickle.dumps(kind)) == kind
    with pytest.raises(TypeError, match="field `o`"):
        lw.from_dtype(np.dtype([("o", "O")]))
    with pytest.raises(errors.SignatureError, match="E180: no record type has this name yet"):
        lw.forall(["void(Record(nobody: int8)[:])"])(lambda i, r: None)


@pytest.mark.parametrize("dtype", [PLAIN, ALIGNED], ids=["packed", "aligned"])
def test_eager_signatures(dtype):
    kind = lw.from_dtype(dtype)
    records, out = np.array([(1, 2), (3, 4)], dtype), np.zeros(2)

    def add(i, r, out):
        out[i] = r[i].x + r[i].y

    for signature in ((kind[:], lw.float64[:]), [lw.void(kind[::1], lw.float64[::1])], [f"void({kind}[:], float64[:])"]):
        kernel = lw.forall(signature)(add)
        out[:] = 0
        kernel(2, records, out)
        assert out.tolist() == [3, 7]
        other = ALIGNED if dtype == PLAIN and dtype.itemsize == 12 else PLAIN
        with pytest.raises(TypeError, match="E181(.|\n)*argument `r` is Record"):
            kernel(2, records.astype(other), out)

    @lw.forall((kind, lw.float64[:]))
    def one(i, r, out):
        out[i] = r.x

    one(2, records[1], out)
    assert out.tolist() == [3, 3]


def test_eager_jit_kernels_of_records():
    kind = lw.from_dtype(ALIGNED)
    records = np.array([(1, 2), (3, 4)], ALIGNED)
    with lw.config(target="cpu"):
        @lw.cuda.jit(lw.void(kind[::1], lw.int32))
        def double(r, n):
            i = lw.cuda.grid(1)
            if i < n:
                r[i].y = r[i].x * 2

        double[1, 32](records, 2)
    assert records["y"].tolist() == [2, 6]
    assert lw.compile(double, lw.void(kind[::1], lw.int32), target="sm_90")[:4] == b"\x7fELF"


def test_record_types_elsewhere():
    kind = lw.from_dtype(PLAIN)
    first = lw.vectorize([lw.float64(lw.float64, kind[:])], excluded="r")(lambda x, r: x + r[0].x)
    assert first(1.0, np.ones(2, PLAIN)) == 2.0
    with pytest.raises(TypeError, match="E181.*argument `r`"):
        first(1.0, np.ones(2, ALIGNED))
    with pytest.raises(errors.SignatureError, match="E183"):
        lw.vectorize([lw.float64(kind)])(lambda x: x.x)
    with pytest.raises(errors.SignatureError, match="E183"):
        lw.guvectorize([lw.void(kind[:], lw.float64[:])], "(n)->(n)")(lambda x, out: None)

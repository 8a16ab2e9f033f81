"""Array arguments in compiled functions, against CPython running the same function."""

from __future__ import annotations

import re
import runpy

import numpy as np
import pytest
from host_kernel import check, run

import lanewise
from lanewise import cuda, errors
from lanewise._core import _dump_kernel

M = np.arange(48, dtype=np.int32).reshape(6, 8)
LAYOUTS = [M, np.asfortranarray(M), M[::2, 1::3], M[::-1, ::-2], M[:, 3:4], M[:0]]
IDS = ["C", "F", "strided", "reversed", "column", "empty"]


def walk(m, out):
    out[0] = m.shape[0]
    out[1] = m.size
    out[2] = len(m)
    out[3] = m.ndim + m.itemsize + m.nbytes
    for i in range(m.shape[0]):
        for j in range(m.shape[1]):
            out[4] += m[i, j] * m[i][j]
            out[5] += m[i, -1] - m[i - 1][j - 1] * j
    for row in m:
        for v in row:
            out[6] += v
    for k, row in enumerate(m):
        for v, w in zip(row, row):
            out[7] += k * v - w


@pytest.mark.parametrize("m", LAYOUTS, ids=IDS)
def test_reading(m):
    check(walk, m, np.zeros(8, np.int64))


def write(x, y, n):
    for i in range(n):
        y[i] = x[i] * 2 + 1
        y[-1] += 3


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "int8", "uint16", "complex64", "complex128"])
def test_writing(dtype):
    check(write, np.arange(6).astype(dtype), np.zeros(6, dtype), 6)
    check(write, np.arange(12).astype(dtype)[::-2], np.zeros(18, dtype)[::3], 6)


def test_an_array_that_is_read_only_cannot_be_written():
    x = np.arange(3.0)
    x.flags.writeable = False
    with pytest.raises(errors.TypingError, match="E162"):
        run(write, np.arange(3.0), x, 3)


# ---- indices and views ----


def slices(m, out):
    a = m[1:4, ::2]
    b = m[::-1][-3:, 1:-1:3]
    c = m[..., 2]
    d = m[None, 1:]
    e = m[-2]
    f = e[5:100]
    g = m.T[2:4]
    k = 0
    for v in (a, b, g, d[0], m[2:2], m[:, 7:0:-2]):
        out[k] = v.shape[0] * 100 + v.shape[1] + v.size * 10000
        for row in v:
            for x in row:
                out[k] = out[k] * 3 + x
        k += 1
    for v in c, e, f, e[::-3], e[-100:3], e[3:1], d[0, :, 1]:
        out[k] = len(v)
        for x in v:
            out[k] = out[k] * 5 + x
        k += 1
    out[k] = d.ndim * 100 + d.shape[0] * 10 + c.ndim


@pytest.mark.parametrize("m", [M, np.asfortranarray(M), np.arange(192)[::-4].astype("i4").reshape(6, 8)[::-1]])
def test_slices(m):
    check(slices, m, np.zeros(16, np.int64))


def run_time_slices(x, i, j, k, out):
    out[0] = len(x[i:j])
    for v in x[i:j:k]:
        out[0] = out[0] * 7 + v
    for v in x[i::k]:
        out[1] = out[1] * 7 + v
    for v in x[:j:k]:
        out[2] = out[2] * 7 + v


@pytest.mark.parametrize("k", [1, 2, -1, -3, 100, -100])
def test_slices_known_at_run_time(k):
    x = np.arange(1, 6)
    for i in range(-8, 9, 2):
        for j in range(-7, 8, 2):
            check(run_time_slices, x, i, j, k, np.zeros(3, np.int64))


def test_steps_may_be_huge():
    for k in (2**61, 2**62 + 1, -(2**62), 2**63 - 1):
        check(run_time_slices, np.arange(1, 6), 1, 5, k, np.zeros(3, np.int64))


def test_a_step_of_zero_at_run_time_raises():
    assert run(run_time_slices, np.arange(5), 0, 3, 0, np.zeros(3, np.int64))[:2] == (
        "ValueError", "slice step cannot be zero")  # fmt: skip


def views_in_variables(m, out, flag):
    v = m[0]
    if flag > 1:
        v = m[1][::-1]
    while v.shape[0] > 2:
        out[0] += v[0] * v.shape[0]
        v = v[1:]
    w = m[:, 0] if flag else m[3]
    for i in range(len(w)):
        out[1] += w[i] * (i + 1)
    t = (m, 3, v)
    out[2] = t[0][t[1], -1] + t[2][0]
    i = (2, 1)
    out[3] = m[i] + m[(flag, 0)]


@pytest.mark.parametrize("flag", [0, 1, 2])
@pytest.mark.parametrize("m", [M, np.asfortranarray(M), M[::2, ::2][:, ::-1].repeat(2, 0)])
def test_views_in_variables(m, flag):
    check(views_in_variables, m, np.zeros(4, np.int64), flag)


def total(v):
    s = 0
    for x in v:
        s += x
    return s


def tail(v, n):
    return v[n:] if n > 0 else v


def scale(v, by):
    for i in range(len(v)):
        v[i] *= by


def device_functions(m, out):
    for i in range(m.shape[0]):
        out[i] = total(tail(m[i], i)) + total(tail(m[:, 1], -i))
    scale(m[2], 3)
    scale(m[:, 0][::2], -1)


def test_functions_take_and_give_views():
    for m in (M.copy(), np.asfortranarray(M), M.copy()[::-1]):
        check(device_functions, m, np.zeros(6, np.int64))


def zero_dimensions(a, m, out):
    out[0] = a[()] + a[...][()]
    a[()] = 7
    a[()] += 2
    out[1] = a[()] + a.ndim + a.size
    b = m[1, 2, ...]
    b[()] = 99
    b[...] = b[()] + 1
    out[2] = m[1, 2]


def test_zero_dimensions():
    check(zero_dimensions, np.array(5), M.copy(), np.zeros(3, np.int64))


def many_dimensions(m, out):
    for i in range(m.shape[0]):
        for j in range(m.shape[1]):
            for k in range(m.shape[2]):
                for n in range(m.shape[3]):
                    out[i] = out[i] * 3 + m[i, j, k, n] + m[i][j, -1][n] + m[-1, ..., n][j, k] + m[..., 0, n][i, j]
    m[1, :, 1] = 4
    m[..., -1][0] = 5


def test_many_dimensions():
    m = np.arange(120).reshape(2, 3, 4, 5)
    for v in (m, np.asfortranarray(m), m[:, ::-1, ::2, 1:], m.transpose(1, 0, 3, 2)):
        check(many_dimensions, v, np.zeros(5, np.int64))


# ---- assignment ----


def fills(m, x, y):
    m[1:3, ::2] = 7
    m[-1] = x[0]
    m[:, 1] = y[:6]
    m[0, 2:5] = y[3:0:-1]
    y[:] = 2
    y[4:5] = x[1:2]
    m[2:4, 3:] = m[0, 0]


def test_whole_views_are_filled_and_copied():
    for m in (M.copy(), np.asfortranarray(M), M.astype(np.float64)):
        check(fills, m, np.array([3, 4], np.int32), np.arange(8, dtype=np.int32))


def copy_rows(m, row):
    m[:, 2:5] = row[None, 1:4]
    m[3:, :2] = row[:3, None]


def test_copies_repeat_axes_of_extent_one():
    check(copy_rows, M.copy(), np.arange(10, 20, dtype=np.int32))


def copy_all(x, y):
    x[:] = y[1:]


def test_copies_of_different_shapes_raise():
    x = np.zeros(4)
    assert run(copy_all, x, np.ones(4))[0] == "ValueError" and not x.any()
    assert run(copy_all, x, np.ones(4), ignore=True) is None and not x.any()
    assert run(copy_all, x, np.ones(5)) is None and x.all()


def conversions(i1, u2, f4, c8, b, n, z):
    i1[0] = n
    i1[1] += 1
    i1[2] -= u2[0]
    u2[1] = n
    f4[0] = n
    f4[1] = z
    f4[2] *= z
    f4[3] = i1[0]
    c8[0] = f4[1]
    c8[1] += 1j
    c8[2] = c8[1] * z
    b[0] = n > 3
    b[1] = not b[0]
    b[2] = b[2] and b[0]


def test_values_are_converted_to_the_elements_type():
    arrays = [np.arange(1, 5).astype(t) for t in ("i1", "u2", "f4", "c8")]
    check(conversions, *arrays, np.array([False, True, True]), 5, 0.3)


def tuples(pair, n, out):
    (a, b), c = pair, n
    out[0] = a[c] + b[1]
    a[0] = 5


def test_arrays_in_tuples():
    check(tuples, (np.arange(4), np.arange(3.0)), 2, np.zeros(1))


def order(x, out):
    i = 0
    x[(i := i + 1)] += i * 10
    out[0] = i


def test_the_index_of_an_augmented_assignment_is_evaluated_once():
    check(order, np.arange(4), np.zeros(1, np.int64))


def unsigned(x, i, out):
    out[0] = x[i]
    out[1] = x[i + 1]


@pytest.mark.parametrize("dtype", ["u1", "u2", "u4", "u8", "i1", "i2", "i4"])
def test_indices_of_any_integer_type(dtype):
    check(unsigned, np.arange(300), np.dtype(dtype).type(100), np.zeros(2, np.int64))


# ---- bounds ----


def at(x, i, j, out):
    out[0] = x[i, j]


def test_bounds_are_checked_on_request():
    x = np.arange(12).reshape(3, 4)
    bounds = 8
    for view in (x, np.asfortranarray(x), x[:, ::-1]):
        for i in range(-5, 6):
            for j in range(-6, 7):
                out = np.zeros(1, np.int64)
                inside = -3 <= i < 3 and -4 <= j < 4
                raised = run(at, view, i, j, out, checks=bounds)
                if inside:
                    assert raised is None and out[0] == view[i, j]
                else:
                    assert raised[0] == "IndexError"  # tests/py/test_checks.py compares the text
    assert run(unsigned, np.arange(300), np.uint64(2**63), np.zeros(2, np.int64), checks=bounds)[0] == "IndexError"


def nothing(a):
    if a is None:
        a[0] = 1
    if a is not None and a.ndim == 1 and len(a) > 0:
        a[0] = 2


def test_an_array_is_not_none():
    check(nothing, np.zeros(2))
    check(nothing, np.zeros(0))


def nested(m, out):
    for i, row in enumerate(m):
        for j, v in enumerate(reversed(row)):
            out[i, j] = v
    for row, other in zip(m, out):
        row[0] = other[-1]


def test_rows_are_views_that_can_be_written():
    check(nested, M.copy(), np.zeros_like(M))


# ---- what lowering says and writes ----


def ir_of(function, types, **options):
    return _dump_kernel(function, types, **options)


def helper(v, w):
    w[0] = v[0]


def who_writes(a, b, c, d, e, t, n):
    v = b[1:] if n > 3 else c
    w = v[::2]
    if n > 5:
        w = w[1:]
    w[0] = a[0]
    helper(d, e[n:])
    t[1][0] = t[0][0]


def test_arguments_tell_whether_they_are_written():
    ir = ir_of(who_writes, "int32[:], int32[:], int32[::1], int32[:], int32[:], Tuple(int32[:], int32[:]), index")
    told = re.findall(r"^argument \d+: (\d+) parameters from (\d+)(.*)$", ir, flags=re.M)
    ways = [re.findall(r"(read|written) through (\d+)", rest) for *_, rest in told]
    assert ways == [[("read", "0")], [("written", "3")], [("written", "6")], [("read", "9")], [("written", "12")],
                    [("read", "15"), ("written", "18")], []]  # fmt: skip


def rising(x, y, n):
    for i in range(1, n):
        for k in range(0, len(y), 2):
            y[k + 1] = x[i + k] + x[3] + x[i * 2] + x[i - 1]


def falling(x, y, n):
    for i in range(n):
        y[i - 1] = x[i]


def test_indices_that_only_rise_need_no_wrap_around():
    assert " select " not in re.sub(r"select u64.*", "", ir_of(rising, "int32[:], int32[:], index").split("loop", 1)[1])
    assert "select i64" in ir_of(falling, "int32[:], int32[:], index").split("loop", 1)[1]


def one_place(x, y, i):
    y[i - 1] = x[i]


def test_narrow_offsets_are_computed_in_32_bits_outside_of_loops():
    assert "select i32" in ir_of(one_place, "int32[:], int32[:], index", narrow=True)
    assert "select i64" in ir_of(one_place, "int32[:], int32[:], index")
    assert " i32" not in ir_of(falling, "float64[:], float64[:], index", narrow=True)


def guarded(x, y, i, n):
    if i < n:
        y[i] = x[i] if x[i] > 0 and i > 2 else 0
    y[0] = x[i] if i < n else 0


def test_no_element_is_read_unless_it_is_reached():
    ir = ir_of(guarded, "int32[::1], int32[::1], uint32, uint32")
    depth, reads = 0, []
    for line in ir.splitlines():
        if re.match(r"\s+(if|else)\b", line):
            depth += line.split()[0] == "if"
        elif re.match(r"\s+end\b", line):
            depth -= 1
        elif " load " in line:
            reads.append(depth)
    assert reads and min(reads) == 1, ir


def grid_stride(x, y):
    for i in range(cuda.grid(1), len(x), cuda.gridsize(1)):
        y[i * 3] = x[i & 7] + x[cuda.threadIdx.x]


def test_indices_of_threads_need_no_wrap_around():
    assert "select i64" not in ir_of(grid_stride, "int32[:], int32[:]").split("loop", 1)[1]


def grid_stride_by_name(x, y):
    start = cuda.grid(1)
    _, step = cuda.gridsize(2)
    for i in range(start, len(x), step * cuda.blockDim.x):
        y[i] = x[i]


def any_stride(x, y, step):
    for i in range(0, len(x), step):
        y[i] = x[i]


def test_a_loop_by_the_size_of_the_grid_divides_nothing_and_cannot_raise():
    for function in grid_stride, grid_stride_by_name:
        ir = ir_of(function, "int32[:], int32[:]")
        assert " div " not in ir and "status 1" not in ir
    assert "ValueError: range() arg 3" in ir_of(any_stride, "int32[:], int32[:], uint32")
    assert "ValueError: range() arg 3" in ir_of(any_stride, "int32[:], int32[:], index")


@pytest.mark.parametrize("step", [1, 2, 3, 7, 100])
def test_loops_by_an_unsigned_step(step):
    check(any_stride, np.arange(20), np.zeros(20, np.int64), np.uint32(step))
    check(any_stride, np.arange(20), np.zeros(20, np.int64), step)
    assert run(any_stride, np.arange(20), np.zeros(20, np.int64), np.uint32(0))[0] == "ValueError"


# ---- whole programs ----


def shapes(m, x, out):
    n, k = m.shape
    out[0] = n * 10 + k
    if m.shape != x.shape and m.ndim == 2:
        out[1] = min(m.shape) + sum(m.shape)
    for s in m.shape:
        out[2] += s
    if m.dtype == np.int32 and x.dtype != np.int32:
        out[3] = m.dtype.type(3.7) + x.dtype.itemsize
    out[4] = m.strides[0] - x.strides[1]


def loops(x, out):
    for i, (p, q) in enumerate(zip(x, x[1:])):
        out[i] = p * q
    for v in reversed(x):
        out[0] = out[0] * 3 + v
    for j, v in enumerate(reversed(x[::2]), 3):
        out[1] += j * v
    match x.ndim:
        case 1:
            out[2] = 1
        case _:
            out[2] = x[0, 0]


def conditions(x, out, i):
    out[i] = x[i] if 0 <= i < len(x) else -1
    out[0] += x[-1] and x[0] or x[1]
    out[1] = (x[i] if i < 3 else x[0]) + abs(x[2]) + max(x[0], x[1])
    x[0], x[1] = x[1], x[0]
    (out[2], out[3]) = x[:2][0], x[1]


def test_programs():
    check(shapes, M, np.zeros((2, 2)), np.zeros(5))
    check(shapes, M[:, ::2], np.zeros((6, 4), "f4"), np.zeros(5))
    check(loops, np.arange(2, 8), np.zeros(8, np.int64))
    for i in range(4):
        check(conditions, np.arange(2, 8), np.zeros(8, np.int64), i)


def local(shape, dtype):
    return np.zeros(shape, dtype)


def own_array(x, out):
    t = local((4, 3), np.int64)
    t[:] = 0
    for i in range(4):
        for j in range(len(t[i])):
            t[i, j] = x[i] * j + i
    r = t[1]
    r[0] = 9
    for row in t[::2, 1:]:
        for q in row:
            out[0] = out[0] * 7 + q
    u = t.T
    out[1] = u[2, 3] + u.shape[0] + t.size + t.nbytes
    out[2] = weighted(r) + weighted(t[:, 1]) + weighted(t[-1][::-1])
    w = t[0] if x[0] > 3 else x
    out[3] = w[1]
    t[1:3] = 4
    out[4] = t[2][2] + t[3, -1] + t[1, -3]


def weighted(v):
    s = 0
    for k, e in enumerate(v):
        s += e * k
    return s


@pytest.mark.parametrize("first", [2, 5])
def test_arrays_of_constant_shape(first, monkeypatch):
    x, mine, theirs = np.arange(first, first + 4), np.zeros(5, np.int64), np.zeros(5, np.int64)
    own_array(x, theirs)
    monkeypatch.setitem(globals(), "local", lanewise.local)
    assert run(own_array, x, mine) is None
    np.testing.assert_array_equal(mine, theirs)


def random_index(rng, shape):
    """An index that NumPy accepts, and the shape of what it selects."""
    items, rest = [], list(shape)
    n_named = rng.integers(0, len(shape) + 1)
    ellipsis = rng.integers(0, n_named + 1) if rng.random() < 0.3 else -1
    for i in range(n_named):
        if i == ellipsis:
            items.append("...")
        if rng.random() < 0.15:
            items.append("None")
        n = shape[i] if ellipsis < 0 or i < ellipsis else shape[len(shape) - n_named + i]
        bound = lambda: rng.choice(["", str(rng.integers(-n - 2, n + 3))])  # noqa: E731
        if rng.random() < 0.4 and n:
            items.append(str(rng.integers(-n, n)))
        else:
            step = rng.choice([-2, -1, 1, 2, 3])
            items.append(rng.choice([":", f"{bound()}:{bound()}", f"{bound()}:{bound()}:{step}"]))
    if ellipsis == n_named:
        items.append("...")
    index = ", ".join(items) or "..."
    return index, eval(f"np.empty({tuple(rest)})[{index}]").shape


@pytest.mark.parametrize("seed", range(24))
def test_random_views(seed, tmp_path):
    rng = np.random.default_rng(seed)
    shape = tuple(int(n) for n in rng.integers(2, 5, 3))
    lines, at = ["def f(m, out):", "    v0 = m"], shape
    for k in range(3):
        index, at = random_index(rng, at)
        lines.append(f"    v{k + 1} = v{k}[{index}]" + (".T" if rng.random() < 0.3 and at else ""))
        at = at[::-1] if lines[-1].endswith(".T") else at
        if not at:
            break
    last = f"v{len(lines) - 2}"
    for d in range(len(at)):
        lines.append(f"{'    ' * (d + 1)}for a{d} in range({last}.shape[{d}]):")
    place = ", ".join(f"a{d}" for d in range(len(at)))
    value = f"{last}[{place}]" if at or lines[-1].endswith(("]", ".T")) and "..." in lines[-1] else last
    value = f"{last}[()]" if not at and value != last else value
    lines.append(f"{'    ' * (len(at) + 1)}out[0] = out[0] * 31 + {value}")
    source = tmp_path / "case.py"
    source.write_text("\n".join(lines) + "\n")
    space = runpy.run_path(str(source))
    m = rng.integers(-99, 99, shape)
    for view in (m, np.asfortranarray(m), np.repeat(m, 2, 1)[:, ::2][::-1]):
        check(space["f"], view, np.zeros(1, np.int64))


@pytest.mark.parametrize("w", [0, 1, 3, 9, 10, -1, -9])
def test_differences_as_indices(w, target):
    """Negative differences count from the end, also in 32 bits, in other arithmetic and in two dimensions."""
    @lanewise.forall
    def read(i, a, w, out):
        k = i - w
        out[0, i] = a[i - w] if -10 <= k < 10 else -1.0
        out[1, i] = a[np.int32(i) - np.int32(w)] if -10 <= k < 10 else -1.0
        out[2, i] = a[k] if -10 <= k < 10 else -1.0
        out[3, i] = a[(j := i - w)] + j if -10 <= k < 10 else -1.0
        if i >= w and k < 10:
            out[4, i - w] = a[i - w]

    a, out = np.arange(10.0), np.zeros((5, 10))
    want = np.zeros((5, 10))
    for i in range(10):
        k = i - w
        inside = -10 <= k < 10
        want[:4, i] = (a[k], a[k], a[k], a[k] + k) if inside else -1.0
        if i >= w and k < 10:
            want[4, k] = a[k]
    read(10, a, w, out)
    np.testing.assert_array_equal(out, want)

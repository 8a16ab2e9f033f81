"""``x[places] = v``, ``x[mask] += v`` where what is read is also written: as in NumPy, which copies what overlaps, in Python's order of evaluation."""

from __future__ import annotations

import importlib.util
import random

import numpy as np
import pytest

import lanewise as lw
from lanewise import cuda, njit

# ---- programs of one statement, drawn at random ----

HEAD = """
import numpy as np

def writes(x, at, m):
    x[0] = x[3]
    x[2] = x[1] + x[4]
    at[0] = 2
    at[2] = 0
    first = m[0]
    m[0] = m[1]
    m[1] = first
    return 3

def writes_row(a, at, m):
    a[0, :] = a[2, :]
    a[1, 1] = 7
    at[0] = 2
    at[1] = 0
    first = m[0]
    m[0] = m[2]
    m[2] = first
    return 3
"""
TARGETS = ("x[1:4]", "x[4:1:-1]", "x[writes(x, at, m):]", "x[at]", "x[at + 1]", "x[m]", "x[x > 1]", "x[[3, 0, 1]]", "x[1:][at]", "x[::-1][at]", "x[at[::-1]]", "x[x.shape[0] - 3 - at]", "x[~m]", "x[1:5][x[:4] > 1]",
           "x[(x > 0) & m]", "at[at]", "x[x[:6] > x[::-1]]")
VALUES = ("x[1:4]", "x[:3]", "x[::-1][:3]", "x[at]", "x[1:4] * 2", "y[:3]", "y[2:5]", "y[:3] + x[1:4]", "2", "x[2]", "writes(x, at, m)", "y[:3] + writes(x, at, m)", "at", "at + 1", "x[m]", "x[x > 1]",
          "writes(x, at, m) + x[at]", "np.flip(x[:3])", "y[at] * writes(x, at, m)",
          "(x[:3] + 1) * writes(x, at, m)", "np.maximum(y[:3] * 2, writes(x, at, m))", "-x[1:4] + (writes(x, at, m) - y[:3])", "np.where(x[:3] > 1, writes(x, at, m), y[:3])")
ROWS = ("x[at]", "x[:, at]", "x[at, at]", "x[1, at]", "x[m]", "x[x > 3]", "x[:, m]", "x[at, 1]", "x.T[at]", "x[1:, at]", "x[1:]", "x[::-1]", "x[[2, 0, 1]]", "x[at[::-1], at]", "x[..., at]")
ROW_VALUES = ("x", "x.T", "x[::-1]", "x[0]", "x[:, :1]", "x[at]", "x[:, at]", "y", "y[::-1] + x", "x * 2", "5", "writes_row(x, at, m)", "x[1] + writes_row(x, at, m)", "x[m]", "y[1]", "x[x > 3]", "y.T[at]", "x[at, at]", "at",
              "(x + 1) * writes_row(x, at, m)", "(x[0] > y) & (writes_row(x, at, m) > 2)", "y.T - 1 - writes_row(x, at, m)")
OPERATORS = ("=", "=", "=", "+=", "-=", "*=")


def drawn(rng, targets, values):
    return f"{rng.choice(targets)} {rng.choice(OPERATORS)} {rng.choice(values)}"


def strided(rng, n, dtype):
    """An array of small numbers, which can also be used as indices."""
    numbers = np.array([rng.randrange(3) for _ in range(n)])
    kind = rng.randrange(3)
    if kind == 0:
        return numbers.astype(dtype)
    base = np.zeros(2 * n + 1, dtype)
    x = base[:2 * n:2] if kind == 1 else base[n - 1::-1]
    x[:] = numbers
    return x


def operands(rng, flat):
    """x, y, at and m, of which some share memory."""
    n, dtype = 6, rng.choice(["f8", "f4", "i8", "i4", "u1"] if flat else ["f8", "i8", "i2"])
    if flat:
        x = strided(rng, n, dtype)
    else:
        base = np.arange(49).reshape(7, 7).astype(dtype) % 5
        x = rng.choice([base[:3, :3].copy(), base[:3, :3].copy(order="F"), base[1:6:2, 1:4], base[:3, 3:0:-1], base[2::-1, ::3]])
    y = rng.choice([x, x[::-1], x.copy(), x[1:] if flat else x.T])
    at = np.array([rng.randrange(3) for _ in range(3)], rng.choice(["i8", "i4", "u1"]))
    m = np.array([rng.randrange(2) for _ in range(n if flat else 3)], bool)
    if flat and x.dtype.kind in "iu" and rng.randrange(2):
        at = rng.choice([x[:3], x[2:5], x[2::-1]])
    if flat and dtype == "u1" and rng.randrange(2):
        x %= 2
        m = x.view(bool)
    return x, y, at, m


def again(arrays):
    """Copies of the arrays, which share memory in the same way."""
    copies = {}

    def copied(a):
        base = a
        while base.base is not None:
            base = base.base
        if id(base) not in copies:
            copies[id(base)] = base.copy(order="K")
        new = copies[id(base)]
        offset = a.__array_interface__["data"][0] - base.__array_interface__["data"][0]
        return np.ndarray(a.shape, a.dtype, new.reshape(-1, order="A").view(np.uint8).data if new.flags.f_contiguous else new.data, offset, a.strides)

    return [copied(a) for a in arrays]


def reference(statement):
    """NumPy copies the value that is stored under one mask only if it is contiguous, or by chance; compiled code always does."""
    target, operator, value = statement.partition(" = ")
    is_mask = target in ("x[m]", "x[~m]") or ">" in target
    return f"{target} = np.copy({value})" if operator and is_mask else statement


def compiled_module(tmp_path, statements, name):
    file = tmp_path / f"{name}.py"
    file.write_text(HEAD + "".join(f"\ndef f{i}(x, y, at, m):\n    {line}\n\ndef wanted{i}(x, y, at, m):\n    {reference(line)}\n" for i, line in enumerate(statements)))
    spec = importlib.util.spec_from_file_location(name, file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return [(getattr(module, f"f{i}"), getattr(module, f"wanted{i}")) for i in range(len(statements))]


def outcome(f, arrays):
    with np.errstate(all="ignore"):
        try:
            f(*arrays)
        except (IndexError, ValueError, TypeError) as error:  # CompileErrors are TypeErrors
            return type(error).__name__, error
    return [a.tolist() for a in arrays], None


def check(f, reference, statement, rng, flat, wrap):
    compared = 0
    for _ in range(2):
        arrays = operands(rng, flat)
        wanted, refused = outcome(reference, again(arrays))
        if refused is not None or (flat and arrays[0].dtype.kind in "u" and "-" in statement):
            continue  # what is refused is tested elsewhere; NumPy wraps where we do, with warnings
        mine = again(arrays)
        got, error = outcome(wrap(f), mine)
        if isinstance(error, lw.errors.CompileError):
            continue
        assert got == wanted, f"{statement}\n{[(a.dtype.str, a.shape, a.strides, a.tolist()) for a in arrays]}\n{error}"
        compared += 1
    return compared


def on_cpu_kernel(f):
    return cuda.jit(f, target="cpu")[1, 1]


@pytest.mark.parametrize("seed", range(6))
def test_random_statements(seed, tmp_path, request):
    rng = random.Random(seed)
    flat = seed % 2 == 0
    count = 150 if request.config.getoption("--thorough") else 6
    statements = [drawn(rng, *((TARGETS, VALUES) if flat else (ROWS, ROW_VALUES))) for _ in range(count)]
    compared = 0
    for (f, wanted), statement in zip(compiled_module(tmp_path, statements, f"stores_{seed}"), statements):
        compared += check(f, wanted, statement, rng, flat, on_cpu_kernel if rng.randrange(4) == 0 else njit)
    assert compared > count // 4


# ---- what each rule is, by example ----


def bump(x, at):
    x[0] = 100
    at[0] = 3
    return 1


def value_writes(x, at):
    x[at] += bump(x, at)


def mask_is_written(x, at):
    m = x > 1
    x[m] += swap(x, m)


def swap(x, m):
    m[0], m[2] = m[2], m[0]
    x[2] = 50
    return 2


def masked_elements_are_written(x, at):
    x[x > 1] += bump(x, at)


def index_is_evaluated_once(x, at):
    x[stepped(at)] *= 2


def stepped(at):
    at += 1
    return at


def constant_index(x, at):
    x[[1, 3]] *= bump(x, at)


def parts_of_itself(x, at):
    x[at] = x[1:4]
    x[at + 1] = x[:3]
    x[[1, 0]] = x[:2]


def indices_of_themselves(x, at):
    at[at] = at
    at[at] += at


def expression_of_itself(x, at):
    x[at] = x[1:4] * 2
    x[x > 0] = x[::-1][x[::-1] > 0] + 1


def local_arrays(x, at):
    z = x.copy()
    z[at] = z[1:4]
    z[at] += bump(z, at)
    x[:] = z


CASES = (value_writes, mask_is_written, masked_elements_are_written, index_is_evaluated_once, constant_index, parts_of_itself, indices_of_themselves, expression_of_itself, local_arrays)


def on_gpu(test):
    return pytest.mark.gpu(pytest.mark.skipif(not cuda.is_available(), reason="no CUDA device")(test))



@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "u1", "c16"])
@pytest.mark.parametrize("f", CASES)
def test_rules(f, dtype):
    if dtype == "c16" and f in (mask_is_written, masked_elements_are_written, expression_of_itself):
        pytest.skip("complex numbers have no order")
    for wrap in (njit, on_cpu_kernel):
        arrays, wanted = [np.arange(5).astype(dtype), np.array([0, 2, 1])], [np.arange(5).astype(dtype), np.array([0, 2, 1])]
        wrap(f)(*arrays)
        f(*wanted)
        assert [a.tolist() for a in arrays] == [a.tolist() for a in wanted]


def write(x):
    x[0] = 100
    x[2] = 5
    return 2


def product(x, out):
    out[:] = (x + 1) * write(x)


def new_array(x, out):
    z = (x + 1) - write(x)
    out[:] = z


def function(x, out):
    out[:] = np.maximum(x * 2, write(x))


def function_of_three(x, out):
    out[:] = np.where(x > 1, write(x), x)


def comparison(x, out):
    out[:] = (x + 1 > write(x)) & (x > 0)


def negative(x, out):
    out[:] = -x + write(x)


def in_place(x, out):
    x[1:] += (x[:-1] + 1) * write(x)


def output(x, out):
    out[:] = np.add(x, 1) * np.add(x, x, x)


def index_of_target(x, out):
    out[write(x):] = x[:3] + 1


def stays_a_view(x, out):
    out[:] = x * write(x)


@pytest.mark.parametrize("f", [product, new_array, function, function_of_three, comparison, negative, in_place, output, index_of_target, stays_a_view])
def test_array_expressions_before_a_call_that_writes(f):
    for wrap in (njit, on_cpu_kernel):
        arrays, wanted = [np.arange(5.0), np.zeros(5)], [np.arange(5.0), np.zeros(5)]
        wrap(f)(*arrays)
        f(*wanted)
        assert [a.tolist() for a in arrays] == [a.tolist() for a in wanted]


@pytest.mark.parametrize("f", [lambda x, out: fused(x, out), lambda x, out: summed(x, out)])
def test_array_expressions_stay_one_loop(f):
    """If a function writes only to arrays that it makes, no temporary array is needed."""
    njit(f)(np.arange(5.0), np.zeros(5))
    made = lw.compile(f, "void(float64[::1], float64[::1])", target="sm_90", output="ptx")
    assert "malloc" not in made


def fused(x, out):
    out[:] = (x + 1) * unharmful(x)


def unharmful(x):
    return x[0] + x[1]


def summed(x, out):
    out[:] = np.exp(x - x.max()) / np.sum(x)


def test_records_and_fields():
    def f(r, at):
        r["a"][at] = r["b"][1:4]
        r["b"][at] += r["a"][:3]
        r[at] = r[1:4]
        r["a"][at] = r["a"][::-1][:3]

    def make():
        r = np.zeros(5, [("a", "i4"), ("b", "i4")])
        r["a"], r["b"] = range(5), range(10, 15)
        return r

    mine, wanted = make(), make()
    njit(f)(mine, np.array([0, 2, 1]))
    f(wanted, np.array([0, 2, 1]))
    assert mine.tolist() == wanted.tolist()


def test_prange():
    def f(a, at):
        for i in lw.prange(a.shape[0]):
            a[i][at] = a[i, 1:4]
            a[i, at] += a[i, at + 1]

    mine, wanted = np.arange(40.0).reshape(8, 5), np.arange(40.0).reshape(8, 5)
    njit(f, parallel=True)(mine, np.array([0, 2, 1]))
    for i in range(8):
        wanted[i][[0, 2, 1]] = wanted[i, 1:4].copy()
        wanted[i, [0, 2, 1]] += wanted[i, [1, 3, 2]]
    assert mine.tolist() == wanted.tolist()


def test_captured_array():
    captured = np.arange(5.0)

    @njit
    def f(x, at):
        x[at] = captured[1:4]

    f(captured, np.array([0, 2, 1]))  # the very same memory
    assert captured.tolist() == [1, 3, 2, 3, 4]


@on_gpu
@pytest.mark.parametrize("f", CASES)
def test_on_a_device(f):
    x, at = np.arange(5.0), np.array([0, 2, 1])
    device = [cuda.to_device(x), cuda.to_device(at)]
    cuda.jit(f)[1, 1](*device)
    cuda.synchronize()
    f(x, at)
    assert [a.copy_to_host().tolist() for a in device] == [x.tolist(), at.tolist()]


@on_gpu
@pytest.mark.parametrize("seed", range(2))
def test_random_statements_on_a_device(seed, tmp_path):
    rng = random.Random(seed + 50)
    statements = [drawn(rng, TARGETS, VALUES) for _ in range(12)]
    for (f, reference), statement in zip(compiled_module(tmp_path, statements, f"device_{seed}"), statements):
        x, at, m = np.array([rng.randrange(3) for _ in range(6)]), np.array([2, 0, 1]), np.array([1, 0, 1, 1, 0, 0], bool)
        part = rng.choice([slice(None), slice(1, None), slice(None, None, -1)])
        shared = x.copy()
        wanted, refused = outcome(reference, [shared, shared[part], at.copy(), m.copy()])
        if refused is not None:
            continue
        x, at, m = cuda.to_device(x), cuda.to_device(at), cuda.to_device(m)
        try:
            cuda.jit(f)[1, 1](x, x[part], at, m)
        except lw.errors.CompileError:
            continue
        cuda.synchronize()
        assert [a.copy_to_host().tolist() for a in (x, x[part], at, m)] == wanted, statement


def test_a_function_that_may_write_to_its_argument():
    @lw.njit
    def f(a):
        return (a + 1) * np.nan_to_num(a, copy=False)

    np.testing.assert_array_equal(f(np.array([np.nan, 1.0])), [np.nan, 2.0])


# ---- an index that is outside: nothing is stored ----


def put_one(x, at, v):
    x[at] = v


def put_number(x, at, v):
    x[at] = 7.0


def put_rows(x, at, v):
    x[at] = v[:, None]


def put_columns(x, at, v):
    x[:, at] = v


def put_both(x, at, v):
    x[at, at[::-1]] = v


def put_list(x, at, v):
    x[[0, at[2]]] = 7.0


def put_nested(x, at, v):
    x[at.reshape(3, 1)] = 7.0


def put_masked(x, at, v):
    x[x[:, 0] == x[:, 0], at] = v


def add_at(x, at, v):
    x[at] += 1.0


@pytest.mark.parametrize("function", [put_one, put_number, put_rows, put_columns, put_both, put_list, put_nested, put_masked, add_at])
@pytest.mark.parametrize("bad", [9, -10, 5, -6, 2**40])
def test_nothing_is_stored_if_an_index_is_outside(function, bad):
    at = np.array([0, 1, bad])
    v = np.array([1.0, 2.0, 3.0])
    shape = 5 if function in (put_one, put_number, put_list, add_at) else (3, 5) if function is put_masked else (5, 5)
    for run in (function, njit(function)):
        x = np.zeros(shape)
        with pytest.raises(IndexError, match=f"index {bad} is out of bounds"):
            run(x, at, v)
        assert not x.any()


@pytest.mark.parametrize("f", [lambda x, i: x[i], lambda x, i: x[i, 1]])
def test_arrays_that_are_no_indices(f):
    """The message says what an index array must be, and nothing about kernels, which this is not."""
    for index, says in ((np.array(1), r"E160: a 0-dimensional array is not an index(?s:.)*this is int64\[\](?s:.)*`i\[\(\)\]`"),
                        (np.array([1.0]), r"E160: an index array must have integers or bools(?s:.)*this is float64\[::1\]")):
        with pytest.raises(lw.errors.CompileError, match=says) as caught:
            lw.njit(f)(np.zeros((3, 3)), index)
        assert "kernels" not in str(caught.value)
    assert lw.njit(lambda x, i: x[i[()]])(np.arange(3.0), np.array(1)) == 1

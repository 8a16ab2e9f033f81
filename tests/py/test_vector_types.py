"""CUDA's vector types, cuda.float32x4 and the like, in compiled functions and in Python."""

from __future__ import annotations

import copy
import doctest
import pickle
import subprocess
import sys

import numpy as np
import pytest

import lanewise as lw
from lanewise import cuda
from lanewise._vector_names import ALIASES, CLASSES

C_TYPES = {"char": np.byte, "short": np.short, "int": np.intc, "long": np.dtype("l"), "longlong": np.longlong, "uchar": np.ubyte, "ushort": np.ushort,
           "uint": np.uintc, "ulong": np.dtype("L"), "ulonglong": np.ulonglong, "float": np.single, "double": np.double}


def test_names():
    assert len(CLASSES) == 40 and set(CLASSES) | set(ALIASES) <= set(cuda.__all__) & set(dir(cuda))
    for name, (base, count) in CLASSES.items():
        cls = getattr(cuda, name)
        assert (cls.__name__, cls.base_type, cls.num_elements) == (name, getattr(lw.types, base), count)
        assert all(getattr(cuda, alias) is cls for alias in cls.aliases)
    for alias, name in ALIASES.items():
        assert name == f"{np.dtype(C_TYPES[alias[:-1]])}x{alias[-1]}"
        assert alias in getattr(cuda, name).aliases
    with pytest.raises(AttributeError, match="float32x5"):
        cuda.float32x5


def test_examples_of_docstrings():
    for name in CLASSES:
        doc = getattr(cuda, name).__doc__
        test = doctest.DocTestParser().get_doctest(doc, {"cuda": cuda, "np": np}, name, None, None)
        assert len(test.examples) == 2 and doctest.DocTestRunner(verbose=False).run(test).failed == 0


def test_values_of_python():
    v = cuda.float4(cuda.float2(1, 2.5), True, np.int8(4))
    assert (v.x, v.y, v.z, v.w) == (1, 2.5, 1, 4) and all(type(number) is np.float32 for number in (v.x, v.y, v.z, v.w))
    assert repr(v) == "float32x4(1.0, 2.5, 1.0, 4.0)"
    assert v == cuda.float4(v) and hash(v) == hash(copy.deepcopy(v)) and v != cuda.float4(v.x, v.y, v.z, 5)
    assert v != (1, 2.5, 1, 4) and cuda.int2(1, 2) != cuda.float2(1, 2)
    assert pickle.loads(pickle.dumps(v)) == v
    small = cuda.char2(300, -2.7)
    assert (small.x, small.y) == (300 - 256, -2)  # as lw.int8(300), in Python and in compiled code
    assert lw.typeof(v) == lw.typeof(cuda.float4(0, 0, 0, 0)) != lw.typeof(cuda.float3(0, 0, 0))
    with pytest.raises(AttributeError, match="float32x4 cannot be changed"):
        v.x = 1


WRONG = [
    (lambda a: cuda.float4(a, a, a), "float32x4 takes 4 numbers in all, as numbers or in vectors, not 3"),
    (lambda a: cuda.float4(a, cuda.float4(a, a, a, a)), "float32x4 takes 4 numbers in all, as numbers or in vectors, not 5"),
    (lambda a: cuda.int1(), "int32x1 takes 1 number, as numbers or in vectors, not 0"),
    (lambda a: cuda.float2(cuda.int2(a, a)), "float32x2 takes numbers and vectors of float32, not int32x2, a vector of int32"),
    (lambda a: cuda.short2(a, 2j), "int16x2 takes numbers and vectors of int16, not complex"),
    (lambda a: cuda.double2(a, None), "float64x2 takes numbers and vectors of float64, not "),
    (lambda a: cuda.double2((a, a)), "float64x2 takes numbers and vectors of float64, not "),
    (lambda a: cuda.double2(a, "1"), "float64x2 takes numbers and vectors of float64, not "),
]


@pytest.mark.parametrize("f, message", WRONG)
def test_wrong_arguments(f, message):
    with pytest.raises(TypeError) as plain:
        f(1)
    assert message in str(plain.value)
    with pytest.raises(lw.errors.TypingError) as compiled:
        lw.jit(f)(1)
    assert compiled.value.code == "E166" and message in str(compiled.value)


def test_arrays_are_no_numbers():
    with pytest.raises(TypeError, match="float32x2 takes numbers and vectors of float32, not ndarray"):
        cuda.float2(1, np.arange(3))
    with pytest.raises(lw.errors.TypingError, match=r"float32x2 takes numbers and vectors of float32, not int64\[::1\]"):
        lw.jit(lambda a: cuda.float2(1, a))(np.arange(3))


def change(v):
    v.x = 1
    return v


@pytest.mark.parametrize("f, code", [(lambda v: v.z, "E161"), (change, "E165"), (lambda v: v + v, "E165"), (lambda v: v[0], "E165"),
                                     (lambda v: v if v.x > 0 else cuda.float3(v, 1), "E140")])
def test_what_is_not_there(f, code):
    with pytest.raises(lw.errors.TypingError) as error:
        lw.jit(f)(cuda.float2(1, 2))
    assert error.value.code == code


def every_mixture(x, y, z, w):
    v2, v3, one = cuda.int2(x, y), cuda.int3(y, z, w), cuda.int1(x)
    made = (cuda.int4(x, y, z, w), cuda.int4(v2, z, w), cuda.int4(x, v2, w), cuda.int4(x, y, v2), cuda.int4(v2, v2), cuda.int4(v3, x), cuda.int4(x, v3),
            cuda.int4(one, y, one, cuda.int1(one)), cuda.int4(cuda.int4(v2, v2)))
    total = 0
    for v in made:
        total = 3 * total + v.x + 5 * v.y + 7 * v.z + 11 * v.w
    return total


@pytest.mark.parametrize("typing", ["weak", "numba"])
def test_mixtures(typing):
    assert lw.jit(every_mixture, typing=typing)(1.9, 2, 3.5, 4) == every_mixture(1.9, 2, 3.5, 4)


def plus(a, b):
    return cuda.float3(a.x + b.x, a.y + b.y, a.z + b.z)


def move(points, step, out):
    i = cuda.grid(1)
    if i < len(points):
        p = cuda.float3(points[i, 0], points[i, 1], points[i, 2])
        for other in (p, step):
            p = plus(p, other)
        out[i, 0], out[i, 1], out[i, 2] = p.x, p.y, p.z


@pytest.mark.parametrize("target", ["cpu", "python"])
def test_kernels(target):
    points, out = np.arange(12, dtype=np.float32).reshape(4, 3), np.zeros((4, 3), np.float32)
    with lw.config(target=target):
        cuda.jit(move)[2, 32](points, cuda.float3(cuda.float2(1, 2), 3), out)
    np.testing.assert_array_equal(out, 2 * points + np.float32([1, 2, 3]))


@cuda.jit
def lengths(x, out):
    i = cuda.grid(1)
    v = cuda.float4(cuda.float2(x[i, 0], x[i, 1]), x[i, 2], x[i, 3])
    out[i] = v.x * v.x + v.y * v.y + v.z * v.z + v.w * v.w


def test_code_for_gpus():
    text = lw.compile(lengths, "void(float32[:, ::1], float32[::1])", target="sm_90", output="ptx")
    assert text.count("st.global") == 1 and ".local" not in text  # the numbers are in registers


def test_every_generator():
    v = cuda.double2(3, 4)
    x = np.arange(4.0)
    np.testing.assert_array_equal(lw.vectorize(lambda a: cuda.double2(a, 1).x + v.y)(x), x + 4)

    @lw.guvectorize("(n)->()")
    def last(row, out):
        seen = cuda.double2(0, 0)
        for a in row:
            seen = cuda.double2(a, seen.x)
        out[()] = seen.x * 10 + seen.y

    assert last(x) == 32
    out = np.zeros(4)

    @lw.forall
    def shifted(i, v, out):
        out[i] = i + v.y

    shifted(4, v, out)
    np.testing.assert_array_equal(out, x + 4)
    assert lw.reduce(lambda a, b: cuda.double2(a, b).x + b)(x) == 6
    swapped = lw.njit(lambda v: cuda.double2(v.y, v.x))(v)
    assert type(swapped) is cuda.double2 and swapped == cuda.double2(4, 3)
    assert lw.njit(lambda v: (v, v.x))(v) == (v, 3)
    assert lw.cfunc("float64(float64)")(lambda a: cuda.double2(a, 1).x + 1)(2.0) == 3
    assert pickle.loads(pickle.dumps(lw.jit(lambda a: cuda.float2(a, 1).x)))(4) == 4


def test_comparisons_and_classes():
    f = lw.jit(lambda a, b: (a == b, a != b, type(a) is type(b)))
    assert f(cuda.int2(1, 2), cuda.int2(1, 2)) == (True, False, True)
    assert f(cuda.int2(1, 2), cuda.int2(1, 3)) == (False, True, True)
    assert f(cuda.uint2(1, 2), cuda.int2(1, 2)) == (False, True, False)


FRESH = """
import sys, warnings
import lanewise as lw
from lanewise import cuda
assert "lanewise._vector_types" not in sys.modules and "lanewise.extending" not in sys.modules
warnings.simplefilter("error")
for typing in "weak", "numba":
    f = lw.vectorize(lambda a: cuda.float4(cuda.float2(a, 1), 2, 3).y, typing=typing)
    assert lw.compile(f, "float32(int64)", target="host") and f(4) == 1
    assert "lanewise._vector_types" in sys.modules
    with lw.config(log=1):
        assert f(5) == 1
"""


def test_the_first_use_is_in_compiled_code(tmp_path):
    """The classes are imported while the function is read; the next call compiles nothing."""
    (tmp_path / "fresh.py").write_text(FRESH)
    done = subprocess.run([sys.executable, "fresh.py"], cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")

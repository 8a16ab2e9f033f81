"""What errors advise, where the obvious attempt fails; explanations of functions that call the package's own."""

from __future__ import annotations

import math
import pathlib
import subprocess
import sys

import numpy as np
import pytest
import scipy.special

import lanewise as lw

TABLE = np.arange(5.0)
LARGE = np.zeros(10_000)


@pytest.mark.skipif(sys.version_info >= (3, 13), reason="Python has math.fma")
def test_fma_before_python_3_13():
    with pytest.raises(lw.errors.TypingError, match="(?s)E150.*from 3.13 on; `lanewise.cuda.fma"):
        lw.vectorize(lambda x: math.fma(x, x, x))(1.0)  # type: ignore[attr-defined]
    assert lw.vectorize(lambda x: lw.cuda.fma(x, x, x))(2.0) == 6.0


@pytest.mark.parametrize("f", [lambda x: x ^ 0x9E3779B97F4A7C15, lambda x: x * 0x9E3779B97F4A7C15, lambda x: 0x9E3779B97F4A7C15 & x])
def test_hashes_need_uint64(f):
    with pytest.raises(lw.errors.TypingError, match=r"(?s)E130.*`np.uint64\(x\)` computes in uint64"):
        lw.vectorize(f)(np.arange(3))
    assert lw.vectorize(lambda x: np.uint64(x) * 0x9E3779B97F4A7C15)(np.arange(3)).dtype == np.uint64


def test_larger_ints_need_a_float():
    with pytest.raises(lw.errors.TypingError, match=r"(?s)E130.*use a float, `float\(...\)`"):
        lw.vectorize(lambda x: x * 0x9E3779B97F4A7C159E3779)(np.arange(3))


def test_large_tables_are_excluded_arguments():
    with pytest.raises(lw.errors.TypingError, match=r"(?s)E104.*`vectorize` and `guvectorize` with `excluded="):
        lw.vectorize(lambda i: LARGE[i])(np.arange(3))


def test_an_index_outside_of_a_table_says_its_size():
    with pytest.raises(IndexError, match=r"index out of bounds for axis 0 with size 5 \(raised in"):
        lw.vectorize(lambda i: TABLE[i])(np.arange(7))
    with pytest.raises(IndexError, match=r"index 5 is out of bounds for axis 0 with size 5 \(raised in"):
        lw.vectorize(lambda i: TABLE[i], check={"bounds"})(np.arange(7))


def test_dtype_of_all_outputs():
    f = lw.vectorize(lambda x: (x * 2, x > 0))
    f(1.0)
    with pytest.raises(TypeError, match=r"dtype= asks for float32 in all outputs, and output 2 is bool: signature='f->f\?' names the dtype of each"):
        f(np.arange(3.0), dtype=np.float32)
    assert f(np.arange(3.0), signature="f->f?")[0].dtype == np.float32


@pytest.mark.parametrize("f", [lambda x: scipy.special.log_ndtr(x) + scipy.special.gammainc(x, 2.0), lambda x: np.sum(np.array([x, 1.0])) + scipy.special.j0(x)])
def test_explain_leaves_out_the_packages_functions(f):
    text = lw.explain(f, np.arange(3.0))
    assert len(text.sections) == 1 and "_special" not in text and len(text.splitlines()) < 20


def user(x):
    return scipy.special.log_ndtr(x)


def test_explain_shows_the_users_functions():
    assert [section.name for section in lw.explain(lambda x: user(x) + 1.0, np.arange(3.0)).sections] == ["<lambda>", "user"]


def test_ndtr_is_computed_in_vectors_and_exact_on_the_left():
    mp = pytest.importorskip("mpmath")
    x = np.concatenate([np.linspace(-37.0, 9.0, 700), [-0.5, 0.0, -1.0, 1e-9, -38.4]])
    with mp.workprec(200):
        exact = np.array([float(mp.erfc(-mp.mpf(float(v)) / mp.sqrt(2)) / 2) for v in x])
    np.testing.assert_allclose(lw.special.ndtr(x), exact, rtol=6 * 2.0**-52, atol=1e-322)
    np.testing.assert_array_equal(lw.special.ndtr(np.array([-np.inf, -50.0, 50.0, np.inf, np.nan])), [0.0, 0.0, 1.0, 1.0, np.nan])
    np.testing.assert_allclose(lw.special.ndtr(x.astype("f4")), scipy.special.ndtr(x.astype("f4")), rtol=2e-7, atol=1e-44)
    assert "erfcx" not in lw.vectorize(lambda x: scipy.special.ndtr(x)).inspect_llvm("float64(float64)")


@pytest.mark.skipif(sys.platform == "win32", reason="a shell script")
def test_the_makefile_says_how_long_it_takes():
    told = pathlib.Path(__file__).parents[1] / "told.sh"
    good = subprocess.run(["bash", str(told), "Waiting", "sleep", "1"], capture_output=True, text=True)
    assert good.returncode == 0 and good.stdout.startswith("Waiting ...\n") and "done in " in good.stdout
    bad = subprocess.run(["bash", str(told), "Failing", "false"], capture_output=True, text=True)
    assert bad.returncode == 1 and "failed after " in bad.stderr

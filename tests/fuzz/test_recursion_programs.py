"""Programs of functions that call themselves and each other, in each run of the suite: recursion.py."""

from __future__ import annotations

import random

import pytest
import recursion
from check import define
from test_fuzz import fuzz

import lanewise as lw
from lanewise import cuda


def test_random_programs(thorough):
    code, text = fuzz("--recursion", "--seed", "5000", "--count", "80" if thorough else "40")
    assert code == 0, text


@pytest.mark.slow_with_sanitizers
def test_random_programs_compile_for_gpus(thorough):
    try:
        lw.compile(lambda x: x + 1, "(float32)", target="sm_90", output="cubin")
    except lw.errors.CompilerNotFound as missing:
        pytest.skip(str(missing))
    code, text = fuzz("--recursion", "--seed", "6000", "--count", "16" if thorough else "8", "--compile")
    assert code == 0, text


@pytest.mark.gpu
@pytest.mark.skipif(not cuda.is_available(), reason="no CUDA device")
def test_random_programs_on_a_device():
    code, text = fuzz("--recursion", "--seed", "7000", "--count", "40", "--gpu")
    assert code == 0, text


def test_they_are_of_all_kinds():
    drawn = [recursion.Writer(random.Random(seed)).source() for seed in range(60)]
    text = "".join(drawn)
    assert all(part in text for part in ("raise KeyError", "for q in range(2)", "np.full(", "pair[0]", "clamp(f2(")), text
    values = set()
    for source in drawn:
        try:
            values.add(str(recursion.in_python(define(source, "f0"), 4, 0.25)))
        except recursion.TooLong:
            continue
    assert len(values) > 20 and "<class 'ValueError'>" in values, values


def test_a_wrong_result_is_found(monkeypatch):
    """What forgets the last level."""
    source = recursion.HEAD + "\n\ndef f0(n, x):\n    return x if n <= 0 else 1 + f0(n - 1, x)\n"
    assert recursion.check_program(source) is None
    vectorize = lw.vectorize
    monkeypatch.setattr(lw, "vectorize", lambda f, **options: lambda n, x: vectorize(f, **options)(max(n - 1, 0), x))
    assert recursion.check_program(source) == "f0(1, 3) is 4, got np.int64(3)"

"""Programs of arrays that overlap or are misaligned, in each run of the suite: arrays.py."""

from __future__ import annotations

import random

import arrays
import pytest
from test_fuzz import fuzz

from lanewise import cuda


def test_random_programs_of_arrays(thorough):
    code, text = fuzz("--arrays", "--seed", "3000", "--count", "64" if thorough else "32")
    assert code == 0, text


def test_random_calls():
    for seed in range(60):
        rng = random.Random(f"calls {seed}")
        views = arrays.draw_views(rng)
        operands = arrays.draw_operands(rng, views)
        wrong = arrays.check_call(operands, views, False)
        assert wrong is None, f"{views}\n{operands}\n{wrong}"


@pytest.mark.gpu
@pytest.mark.skipif(not cuda.is_available(), reason="no CUDA device")
def test_random_programs_of_arrays_on_a_device():
    code, text = fuzz("--arrays", "--seed", "4000", "--count", "80", "--gpu")
    assert code == 0, text


def test_they_are_of_all_kinds():
    drawn = [random.Random(f"arrays {seed} {i}") for seed in range(30) for i in range(arrays.BATCH)]
    views = [arrays.draw_views(rng) for rng in drawn]
    assert {v.dtype for v in views} == set(arrays.DTYPES) and {len(v.shape) for v in views} == {1, 2}
    assert any(v.offset % 2 for v in views) and any(v.offset == 0 for v in views)
    text = "".join(arrays.source_of(arrays.Writer(rng, v).body()) for rng, v in zip(drawn, views))
    assert all(part in text for part in ("out=a[", "for i in range", "v1 = ", ":-1", ".T[", "b[")), text


def test_a_wrong_copy_is_found(monkeypatch):
    """What copies forward where it has to copy backward, as a compiler that knows of no overlap would."""

    def forward(f, views):
        def run(a, b):
            for i in range(views.shape[0] - 1):
                a[i + 1] = a[i]

        return run

    monkeypatch.setitem(arrays.HOST, "jit", forward)
    views = arrays.Views("f8", 8, (9,), 0, (1,))
    problem = arrays.check_program(arrays.source_of(["a[1:] = a[:-1]"]), views, "jit")
    assert problem.startswith("# got      [3.0, 3.0, 3.0")


def test_bytes_around_are_watched(monkeypatch):
    def beyond(f, views):
        def run(a, b):
            f(a, b)
            a.base[...] = 0

        return run

    monkeypatch.setitem(arrays.HOST, "jit", beyond)
    views = arrays.Views("i2", 1, (5,), 0, (1,))
    assert arrays.check_program(arrays.source_of(["a[0:1] = 0"]), views, "jit")

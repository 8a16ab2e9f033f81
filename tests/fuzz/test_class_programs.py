"""Programs with classes, in each run of the suite: classes.py."""

from __future__ import annotations

from collections import Counter

import classes
import pytest
from test_fuzz import fuzz

from lanewise import cuda


def test_random_programs_with_classes(thorough):
    code, text = fuzz("--classes", "--seed", "5000", "--count", "320" if thorough else "160")
    assert code == 0, text


@pytest.mark.slow_with_sanitizers
def test_they_compile_for_gpus(thorough):
    import lanewise as lw

    try:
        lw.compile(lambda x: x + 1, "(float32)", target="sm_90", output="cubin")
    except lw.errors.CompilerNotFound as missing:
        pytest.skip(str(missing))
    code, text = fuzz("--classes", "--seed", "6000", "--count", "24" if thorough else "12", "--compile")
    assert code == 0, text


@pytest.mark.gpu
@pytest.mark.skipif(not cuda.is_available(), reason="no CUDA device")
def test_random_programs_with_classes_on_a_device():
    code, text = fuzz("--classes", "--seed", "7000", "--count", "80", "--gpu")
    assert code == 0, text


@pytest.mark.slow_with_sanitizers
def test_most_are_compiled(thorough):
    """Programs that are refused test nothing but that they are."""
    counts = Counter()
    n_seeds = 20 if thorough else 10
    for seed in range(8000, 8000 + n_seeds):
        _, problems = classes.check_batch(seed, counts=counts)
        assert not problems, str(problems[0])
    assert counts["good"] > counts["refused"] > 0 and counts["good"] + counts["refused"] > 5 * n_seeds, counts


@pytest.mark.slow_with_sanitizers
def test_they_have_all_features():
    text = "".join(source for seed in range(60) for source, _ in classes.programs(seed))
    features = ("@dataclasses.dataclass\n", "frozen=True", "NamedTuple", "__slots__", "super()", "InitVar", "__post_init__", ".setter", "__iter__", "__contains__",
                "__bool__", "__len__", "__getitem__", "__lt__", "+= ", "return self\n", " := ", "lambda d", "for u", "while ")
    assert all(feature in text for feature in features), [feature for feature in features if feature not in text]


def test_a_wrong_compiler_is_found(monkeypatch):
    """One that keeps a copy where Python has a second name."""
    honest = classes.run
    source = "class C:\n    def __init__(self, x):\n        self.x = x\ndef f(a):\n    p = C(a)\n    b = p.x\n    p.x = a + 1.0\n    c = 3.0\n    return p.x, b\n"
    monkeypatch.setattr(classes, "run", lambda source, types, door: honest(source.replace("p.x = a + 1.0", "C(a)"), types, door))
    assert classes.check(source, ("f",), "jit").startswith("# value 0 of f(")
    small = classes.smallest(source, ("f",), "jit")
    assert "p.x = a + 1.0" in small and "c = 3.0" not in small

"""A slice of the differential fuzzer for every run of the suite, and the programs that failed once."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("lanewise._core")

import run

HERE = Path(__file__).resolve().parent
FOUND = sorted((HERE / "found").glob("*.py"))


@pytest.fixture
def device(request):
    return request.config.getoption("--device")


def fuzz(*arguments):
    if "LW_ASAN" in os.environ:  # an eighth of the programs, which take several times as long there
        at = arguments.index("--count") + 1
        arguments = (*arguments[:at], str(int(arguments[at]) // 8), *arguments[at + 1:])
    done = subprocess.run([sys.executable, str(HERE / "run.py"), *arguments], capture_output=True, text=True, timeout=240)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("path", FOUND, ids=lambda path: path.stem)
def test_found_before(path, device):
    problem = run.check_kept(path, gpu=device)
    assert problem is None, str(problem)


def test_random_programs(device, thorough):
    code, text = fuzz("--seed", "100000", "--count", "300" if thorough else "150", "--shrink", *(["--gpu"] if device else []))
    assert code == 0, text


@pytest.mark.slow_with_sanitizers
def test_the_ir_of_random_programs_interpreted(thorough):
    code, text = fuzz("--seed", "300000", "--count", "48" if thorough else "24", "--ir")
    assert code == 0, text


def test_the_interpreter_names_what_differs(monkeypatch):
    import check
    import ir_interpreter

    program = check.judge("def p(a, b):\n    return a - b // (a | 1)\n", ("i4", "i4"), "p")
    assert check.check_interpreted(program) is None
    monkeypatch.setitem(ir_interpreter.BINARY, "sub", ir_interpreter.BINARY["add"])
    problem = check.check_interpreted(program)
    assert problem.kind == "ir" and "expected" in problem.text
    unguarded = "func internal lw_body {\nbody\n %1 = param i32 0\n %2 = const i32 0\n %3 = div i32 %1 %2\n return (%3)\n}\n"
    with pytest.raises(ir_interpreter.Wrong, match="7 is divided by 0 as i32"):
        ir_interpreter.run(unguarded, [(7,)])


@pytest.mark.slow_with_sanitizers
def test_random_programs_compile_for_gpus(thorough):
    import lanewise as lw

    try:
        lw.compile(lambda x: x + 1, "(float32)", target="sm_90", output="cubin")
    except lw.errors.CompilerNotFound as missing:
        pytest.skip(str(missing))
    code, text = fuzz("--seed", "200000", "--count", "60" if thorough else "30", "--compile", "--shrink")
    assert code == 0, text


def test_a_crash_is_a_failure(monkeypatch, capsys):
    """The parent notices a child that dies."""
    monkeypatch.setattr(run.Session, "command", lambda self: [sys.executable, "-c", "import os, sys; print('{\"start\": 5}', flush=True); os.abort()"])
    session = run.Session(run.parse(["--count", "1", "--seed", "5"]))
    session.run_child()
    assert session.counts["crash"] == 1 and session.seed == 6
    assert "batch 5 ended with -6" in capsys.readouterr().out


@pytest.mark.slow_with_sanitizers
def test_shrinking_keeps_the_failure(monkeypatch):
    """A wrong compiler is noticed, and the program cut down to what matters."""
    import check
    import shrink

    honest = check.run

    def faulty(source, name, arguments, gpu):
        outputs, strided = honest(source, name, arguments, gpu)
        return (tuple(o + 1 for o in outputs) if "//" in source else outputs), strided

    monkeypatch.setattr(check, "run", faulty)
    source = "def f(a, b):\n    c = a * 3\n    if b > 2:\n        c += b\n    d = (c + 1) // (b + 5)\n    return d - 1\n"
    problem = check.check_one(check.judge(source, ("i4", "i4"), "f"))
    assert problem.kind == "value"
    small = shrink.shrink(problem, seconds=30)
    assert "//" in small.source and len(small.source) < 60

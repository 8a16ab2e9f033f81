"""python -m lanewise info | demo | bench | cache, also on a machine with nothing."""

from __future__ import annotations

import ast
import contextlib
import json
import os
import re
import subprocess
import sys
import warnings

import pytest

import lanewise as lw

SLOW = 4 if "LW_ASAN" in os.environ else 1

#: Nothing to find: no driver, no compiler libraries, no cache folder.
NOTHING = {
    "LANEWISE_NO_CUDA": "1", "LANEWISE_LIBNVVM": "/nowhere/libnvvm.so", "LANEWISE_LIBDEVICE": "/nowhere/libdevice.10.bc",
    "LANEWISE_NVJITLINK": "/nowhere/libnvJitLink.so", "LANEWISE_CACHE_DIR": "/proc/nowhere", "CUDA_HOME": "/nowhere", "CUDA_PATH": "/nowhere",
}


def test_info(run_python):
    text = run_python("-m", "lanewise", "info", "--all").stdout
    for word in ("lanewise", "python", "numpy", "llvmlite", "cuda-pathfinder", "cpu", "libNVVM", "nvJitLink", "looked in", "cuda driver", "cache", "settings"):
        assert word in text, word
    assert lw.__version__ in text
    assert "Traceback" not in text


def test_info_is_short_unless_asked(run_python):
    lines = run_python("-m", "lanewise", "info").stdout.splitlines()
    assert [line.split()[0] for line in lines] == ["lanewise", "python", "packages", "cpu", "gpu", "cuda", "cache", "settings"]
    assert all(len(line) < 200 for line in lines)


def test_info_as_json(run_python):
    found = json.loads(run_python("-m", "lanewise", "info", "--json").stdout)
    assert found["lanewise"] == lw.__version__ and set(found) == set(lw.info())
    assert set(found["cuda libraries"]["libNVVM"]) == {"path", "place", "version"}


def test_bench_as_json(run_python):
    done = run_python("-m", "lanewise", "bench", "--only", "cpu exp", "--json")
    found = json.loads(done.stdout)
    [row] = found["rows"]
    assert row["name"] == "cpu exp float64 10^6" and row["unit"] == "us" and row["value"] > 0 and row["peers"]["numpy"] > 0
    assert found["machine"]["cpu"] and found["machine"]["lanewise"] == lw.__version__
    assert set(found["peers"]) | set(found["peers not found"]) >= {"numpy", "numba", "numexpr", "torch"}


EXPLAINED = """
import lanewise as lw
@lw.vectorize(["float32(float32)"])
def f(x):
    return x * 0.5
def g(x, y):
    y[0] = x
def wrong(x):
    return x + "a"
assert __name__ != "__main__"
"""


def test_explain(run_python, tmp_path):
    (tmp_path / "program.py").write_text(EXPLAINED)
    page = tmp_path / "page.html"
    done = run_python("-m", "lanewise", "explain", f"{tmp_path}/program.py:f", "--html", str(page))
    assert "x * 0.5   float32   <- numba: float64" in done.stdout and "program.py:3" in page.read_text()
    for given in (["--sig", "void(float32, float64[:])"], ["void(float32, float64[:])"]):
        done = run_python("-m", "lanewise", "explain", f"{tmp_path}/program.py:g", *given)
        assert "g(x: float32, y: float64[:]) -> None" in done.stdout
    done = run_python("-m", "lanewise", "explain", f"{tmp_path}/program.py:g")
    assert "g has no signature, so it is explained for float64. For other types, add a signature" in done.stdout and "g(x: float64, y: float64[:]) -> None" in done.stdout
    for name, word in (("wrong", "TypingError: E1"), ("h", "its functions are: f, g, wrong")):
        done = run_python("-m", "lanewise", "explain", f"{tmp_path}/program.py:{name}", check=False)
        assert done.returncode != 0 and word in done.stderr and "Traceback" not in done.stderr
    done = run_python("-m", "lanewise", "explain", f"{tmp_path}/program.py:f", "--html", str(page))
    assert done.stdout.endswith(f"written: {page}\n")
    for where, given, said in ((":f.no.thing", (), "f of {} has no attribute 'no'"), (":f", ("--html", "/nowhere/page.html"), "cannot write /nowhere/page.html: No such file or directory")):
        done = run_python("-m", "lanewise", "explain", f"{tmp_path}/program.py{where}", *given, check=False)
        assert done.returncode != 0 and done.stderr == f"lanewise explain: {said.format(f'{tmp_path}/program.py')}\n"
    (tmp_path / "more.py").write_text("n = 3\nclass C: pass\ndef f(x, y): return x\n")
    for name, said in (("n", "is int, not a function"), ("C", "is a class, not a function"), ("f f4(f4)", "one signature with 2 argument types")):
        done = run_python("-m", "lanewise", "explain", *f"{tmp_path}/more.py:{name}".split(), check=False)
        assert done.returncode != 0 and said in done.stderr and "Traceback" not in done.stderr
    done = run_python("-m", "lanewise", "explain", "nowhere.py:f", check=False)
    assert done.returncode == 2 and "existing file" in done.stderr


def test_help_says_in_sentences_what_each_command_does(run_python):
    said = run_python("-m", "lanewise", "--help", COLUMNS="200").stdout
    assert "``" not in said and "show what lanewise finds on this machine" in said and "The commands of lanewise:" in said


def test_a_reader_that_closes_the_pipe_is_no_error(tmp_path):
    with subprocess.Popen([sys.executable, "-m", "lanewise", "info", "--all"], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as writer:
        writer.stdout.close()  # before anything is written
        assert writer.stderr.read() == b"" and writer.wait() == 1


def test_version(run_python):
    assert run_python("-m", "lanewise", "--version").stdout == f"lanewise {lw.__version__}\n"


def test_info_with_nothing_there(run_python):
    # a free-threaded Python says that it turns its lock on
    done = run_python("-W", "ignore:The global interpreter lock", "-m", "lanewise", "info", **NOTHING)
    assert "LANEWISE_NO_CUDA" in done.stdout
    assert "/nowhere/libnvvm.so" in done.stdout, "a setting that names a missing file is shown"
    assert not done.stderr


def test_info_is_a_dict():
    found = lw.info()
    assert found["lanewise"] == lw.__version__
    assert {"python", "platform", "numpy", "cpu", "cuda libraries", "looked in", "cuda driver", "cache", "settings"} <= set(found)


def test_a_wrong_setting_is_an_error_not_a_guess(run_python, tmp_path):
    (tmp_path / "program.py").write_text(
        "import lanewise as lw\n"
        "try:\n    lw.compile(lambda x: x + 1, 'f4(f4)', target='sm_90')\n"
        "except lw.errors.CompilerNotFound as problem:\n    print(problem)\n")
    said = run_python("program.py", **NOTHING).stdout
    assert "/nowhere/libnvvm.so" in said and "LANEWISE_LIBNVVM" in said


def test_everything_works_with_nothing_there(run_python, tmp_path):
    (tmp_path / "program.py").write_text(
        "import warnings, numpy as np, lanewise as lw\n"
        "warnings.simplefilter('ignore')\n"
        "print(lw.vectorize(lambda x: x * 2)(np.arange(3.0)))\n"
        "print(lw.cuda.is_available())\n")
    assert run_python("program.py", **NOTHING).stdout.splitlines() == ["[0. 2. 4.]", "False"]


def test_cuda_without_a_driver_says_what_was_looked_for(run_python):
    code = ("import lanewise as lw\n"
            "try:\n    lw.cuda.to_device([1.0])\n"
            "except lw.errors.DriverError as problem:\n    print(problem)\n")
    assert "LANEWISE_NO_CUDA" in run_python("-c", code, LANEWISE_NO_CUDA="1").stdout
    assert "/nowhere/libcuda.so" in run_python("-c", code, LANEWISE_NO_CUDA="0", LANEWISE_CUDA_DRIVER="/nowhere/libcuda.so").stdout


def test_cache_info_and_clear(run_python, tmp_path):
    folder = tmp_path / "cache"
    code = "import numpy as np, lanewise as lw; lw.vectorize(['f8(f8)'], source='lambda x: x * 3')(lambda x: x * 3)(np.ones(3))"
    run_python("-c", code, LANEWISE_CACHE_DIR=str(folder))
    rows = dict(line.split(None, 1) for line in run_python("-m", "lanewise", "cache", "info", LANEWISE_CACHE_DIR=str(folder)).stdout.splitlines())
    assert rows["folder"] == str(folder) and int(rows["disk_entries"]) >= 1 and int(rows["disk_bytes"]) > 0
    assert rows["problem"] == "None" and int(rows["cap_bytes"]) == 256 << 20
    rows = dict(line.split(None, 1) for line in run_python("-m", "lanewise", "cache", "clear", LANEWISE_CACHE_DIR=str(folder)).stdout.splitlines())
    assert int(rows["disk_entries"]) == 0


@pytest.mark.parametrize("arguments", [[], ["nonsense"], ["cache"], ["cache", "nonsense"], ["info", "extra"], ["demo", "--nonsense"]])
def test_bad_arguments(run_python, arguments):
    done = run_python("-m", "lanewise", *arguments, check=False)
    assert done.returncode == 2 and "usage:" in done.stderr and "Traceback" not in done.stderr


@pytest.mark.slow_with_sanitizers
def test_demo(run_python, tmp_path):
    done = run_python("-m", "lanewise", "demo", "--small", "--output", str(tmp_path), timeout=600 * SLOW, LANEWISE_NO_CUDA="1")
    assert "mandelbrot" in done.stdout.lower() and "black-scholes" in done.stdout.lower()
    pictures = list(tmp_path.glob("*.png"))
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        assert pictures or "matplotlib" in done.stdout, "without matplotlib the demo says what would bring the picture"
    else:
        assert pictures and pictures[0].read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"


@pytest.mark.slow_with_sanitizers
def test_bench_only(run_python):
    done = run_python("-m", "lanewise", "bench", "--only", "cpu call", LANEWISE_NO_CUDA="1", timeout=300 * SLOW)
    rows = [line for line in done.stdout.splitlines() if re.search(r"\d+\.\d\d us", line)]
    assert len(rows) == 1 and "x numpy" in rows[0]
    done = run_python("-m", "lanewise", "bench", "--only", "import", LANEWISE_NO_CUDA="1", timeout=300 * SLOW)
    assert "import lanewise" in done.stdout


def test_import_is_light(run_python):
    code = ("import sys, lanewise\n"
            "print([name for name in ('llvmlite', 'cuda', 'matplotlib', 'tqdm', 'ctypes', 'lanewise.ufuncs') if name in sys.modules])\n"
            "print([line.split()[-1] for line in open('/proc/self/maps') if any(n in line for n in ('libcuda', 'libnvvm', 'libLLVM', 'libllvmlite', 'nvJitLink'))])\n")
    modules, mapped = map(ast.literal_eval, run_python("-c", code).stdout.splitlines())
    assert modules == ["ctypes"] or modules == []  # numpy itself may bring ctypes
    assert mapped == []


def test_settings_are_read_from_the_environment(run_python):
    code = "import lanewise as lw; print(lw.config.target, lw.config.threads, lw.config.cache_size_mb)"
    said = run_python("-c", code, LANEWISE_TARGET="cpu", LANEWISE_NUM_THREADS="3", LANEWISE_CACHE_SIZE_MB="7").stdout
    assert said.split() == ["cpu", "3", "7"]


def test_config_without_with_is_told_of():
    with pytest.warns(RuntimeWarning, match="no `with` block was entered; lanewise.config.threads = ... sets it") as told:
        lw.config(threads=2)
    assert told[0].filename == __file__ and len(told) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with lw.config(threads=2):
            pass
        lw.config(threads=2)(lambda: 0)
        lw.config()
        with contextlib.ExitStack() as stack:
            stack.enter_context(lw.config(threads=2))
        kept = lw.config(threads=2)
        with kept, kept:
            pass
        assert "config(threads=2): settings for a `with` block" in repr(kept)
        del kept


def test_config_overrides_come_back():
    before = lw.config.threads
    with pytest.raises(ZeroDivisionError):
        with lw.config(threads=1, log=0):
            assert lw.config.threads == 1
            1 / 0
    assert lw.config.threads == before
    with pytest.raises(AttributeError, match="nonsense"):
        with lw.config(nonsense=1):
            pass
    with pytest.raises(AttributeError, match="nonsense"):
        lw.config.nonsense
    with pytest.raises(ValueError, match="threads"):
        lw.config.threads = "many"
    with pytest.raises(ValueError, match="target"):
        lw.config.target = "tpu"
    assert lw.config.threads == before
    assert all(name in repr(lw.config) for name in dir(lw.config))
    comments = {line.index("# LANEWISE_") for line in repr(lw.config).splitlines() if line.index("# LANEWISE_") <= 42}
    assert len(comments) == 1  # one column, but behind long values

"""numba's environment variables and the attributes of numba.config, as settings of ours."""

from __future__ import annotations

import ast

import numpy as np
import pytest

import lanewise as lw
from lanewise import cuda, errors, float32
from source_tree import rows

SHOW = "import lanewise as lw, sys; print([getattr(lw.config, name) for name in sys.argv[1:]])"


def settings(run_python, *names, **environment):
    done = run_python("-c", SHOW, *names, **environment)
    return ast.literal_eval(done.stdout), done.stderr


@pytest.mark.parametrize("variable, value, field, found", [
    ("NUMBA_DISABLE_JIT", "1", "target", "python"),
    ("NUMBA_ENABLE_CUDASIM", "1", "target", "cpu"),
    ("NUMBA_ENABLE_CUDASIM", "1", "check", "bounds"),
    ("NUMBA_ENABLE_CUDASIM", "0", "check", ""),
    ("NUMBA_DISABLE_JIT", "0", "target", "auto"),
    ("NUMBA_DISABLE_CUDA", "1", "no_cuda", 1),
    ("NUMBA_BOUNDSCHECK", "1", "check", "bounds"),
    ("NUMBA_BOUNDSCHECK", "0", "check", ""),
    ("NUMBA_DEBUGINFO", "1", "debug", 1),
    ("NUMBA_CUDA_DEBUGINFO", "1", "debug", 1),
    ("NUMBA_OPT", "0", "opt", 0),
    ("NUMBA_OPT", "3", "opt", 1),
    ("NUMBA_OPT", "max", "opt", 1),
    ("NUMBA_NUM_THREADS", "1", "threads", 1),
    ("NUMBA_DUMP_IR", "1", "dump", "ir"),
    ("NUMBA_DUMP_LLVM", "1", "dump", "llvm,nvvm"),
    ("NUMBA_DUMP_ASSEMBLY", "1", "dump", "ptx,asm"),
    ("NUMBA_CUDA_DEFAULT_PTX_CC", "8.6", "default_cc", 86),
    ("NUMBA_CUDA_DEFAULT_PTX_CC", "(12, 0)", "default_cc", 120),
    ("NUMBA_CUDA_DRIVER", "/somewhere/libcuda.so", "driver", "/somewhere/libcuda.so"),
    ("NUMBA_CUDA_INCLUDE_PATH", "/somewhere", "include_path", "/somewhere"),
    ("NUMBA_NRT_STATS", "1", "nrt_stats", 1),
    ("NUMBA_CUDA_NRT_STATS", "1", "nrt_stats", 1),
])
def test_a_variable(run_python, variable, value, field, found):
    assert settings(run_python, field, **{variable: value}) == ([found], "")


def test_the_cache_is_a_folder_in_numbas(run_python, tmp_path):
    code = ("import os; del os.environ['LANEWISE_CACHE_DIR']  # of the tests\n"
            "import lanewise as lw, numpy as np\n"
            "lw.vectorize(['float64(float64)'], target='cpu', cache=True)(lambda x: x + 1)(np.ones(3))\n"
            "print(lw.config.cache_dir, lw.config.CACHE_DIR)\n")
    (tmp_path / "cached.py").write_text(code)
    said = run_python(str(tmp_path / "cached.py"), NUMBA_CACHE_DIR=str(tmp_path / "numba")).stdout.split()
    assert said == [f"{tmp_path}/numba/lanewise", f"{tmp_path}/numba"]
    assert [path.name for path in (tmp_path / "numba").iterdir()] == ["lanewise"]


def test_several_variables(run_python):
    found, _ = settings(run_python, "dump", "target", "include_path", NUMBA_DUMP_ASSEMBLY="1", NUMBA_DUMP_IR="1", NUMBA_ENABLE_CUDASIM="1",
                        NUMBA_DISABLE_JIT="1", NUMBA_CUDA_INCLUDE_PATH="/a", NUMBA_CUDA_NVRTC_EXTRA_SEARCH_PATHS="/b:/c")
    assert found == ["ir,ptx,asm", "python", "/a:/b:/c"]


def test_ours_come_first(run_python):
    found, said = settings(run_python, "target", "threads", NUMBA_DISABLE_JIT="1", LANEWISE_TARGET="cpu", NUMBA_NUM_THREADS="many",
                           LANEWISE_NUM_THREADS="1")
    assert found == ["cpu", 1] and said == ""


@pytest.mark.parametrize("variable, value", [("NUMBA_DISABLE_JIT", "yes"), ("NUMBA_NUM_THREADS", "-1"), ("NUMBA_CUDA_DEFAULT_PTX_CC", "80"),
                                             ("NUMBA_CUDA_DEFAULT_PTX_CC", "8.x"), ("NUMBA_DUMP_IR", "all")])
def test_values_without_sense(run_python, variable, value):
    names = ("target", "threads", "default_cc", "dump")
    found, said = settings(run_python, *names, **{variable: value})
    assert found == ["auto", 0, 75, ""]
    assert f"RuntimeWarning: {variable} must be" in said and repr(value) in said


def test_functions_run_uncompiled(run_python):
    code = ("import lanewise as lw\n"
            "@lw.njit\n"
            "def f(x):\n"
            "    import sys\n"
            "    return sys._getframe().f_code.co_name * x\n"
            "print(f(2))\n")
    assert run_python("-c", code, NUMBA_DISABLE_JIT="1").stdout == "ff\n"


def test_kernels_run_on_the_cpu(run_python):
    code = ("from lanewise import cuda\nimport numpy as np\n"
            "@cuda.jit\n"
            "def k(x):\n"
            "    x[cuda.grid(1)] += cuda.blockDim.x\n"
            "d = cuda.to_device(np.zeros(4))\n"
            "k[2, 2](d)\n"
            "print(type(d).__module__, d.copy_to_host())\n")
    assert run_python("-c", code, NUMBA_ENABLE_CUDASIM="1").stdout == "lanewise._host_cuda [2. 2. 2. 2.]\n"


# ---- attributes ----


def test_one_object():
    assert cuda.config is lw.config


@pytest.mark.parametrize("name, value, field, becomes", [
    ("DISABLE_JIT", 1, "target", "python"), ("ENABLE_CUDASIM", True, "target", "cpu"), ("DISABLE_JIT", 0, "target", "auto"),
    ("BOUNDSCHECK", 1, "check", "bounds"), ("DEBUGINFO_DEFAULT", 1, "debug", 1), ("CUDA_DEBUGINFO_DEFAULT", 1, "debug", 1), ("OPT", 0, "opt", 0),
    ("NUMBA_NUM_THREADS", 1, "threads", 1), ("DUMP_LLVM", 1, "dump", "llvm,nvvm"), ("CUDA_DEFAULT_PTX_CC", (9, 0), "default_cc", 90),
    ("CUDA_INCLUDE_PATH", "/a:/b", "include_path", "/a:/b"), ("CACHE_DIR", "/numba", "cache_dir", "/numba/lanewise")])
def test_an_attribute(name, value, field, becomes):
    before = getattr(lw.config, field)
    with lw.config(**{name: value}):
        assert getattr(lw.config, field) == becomes
        assert getattr(cuda.config, name) == value
    assert getattr(lw.config, field) == before


def test_every_row_reads_and_is_assigned_what_it_reads():
    names = [row[1].strip('"') for table, macro in (("numba_settings", "NUMBA"), ("numba_unlike", "UNLIKE")) for row in rows(table, macro)]
    names = [name for name in names if name]  # of variables alone
    assert len(names) == len(set(names)) > 30
    for name in names:
        if name == "CUDA_DRIVER":  # asked for once
            continue
        value = getattr(cuda.config, name)
        with lw.config(**{name: value}):
            assert name == "CACHE_DIR" or getattr(cuda.config, name) == value
        assert getattr(cuda.config, name) == value, name
    fields = {row[0] for row in rows("env", "ENV")}
    assert {row[2] for row in rows("numba_settings", "NUMBA")} <= fields


OUTSIDE = """
import numpy as np
from numba_or_lanewise import cuda

@cuda.jit(device=True)
def put(x, i):
    x[i] = 1

@cuda.jit
def kernel(x):
    put(x, cuda.grid(1))

kernel[2, 4](cuda.to_device(np.zeros(5)))
""".replace("numba_or_lanewise", "lanewise")


def test_the_simulator_of_the_variable_checks_indices(run_python, tmp_path):
    (tmp_path / "outside.py").write_text(OUTSIDE)
    said = run_python(str(tmp_path / "outside.py"), check=False, NUMBA_ENABLE_CUDASIM="1").stderr
    assert "IndexError: index 5 is out of bounds for axis 0 with size 5 (raised in `put` at" in said
    assert "tid=[1, 0, 0] ctaid=[1, 0, 0]" in said


def test_words_beside_others():
    with lw.config(dump="ptx,sass"):
        assert not cuda.config.DUMP_ASSEMBLY
        cuda.config.DUMP_IR = True
        assert lw.config.dump == "ptx,sass,ir" and cuda.config.DUMP_IR == 1
        cuda.config.DUMP_IR = False
        assert lw.config.dump == "ptx,sass"
    with lw.config(check="divide"):
        cuda.config.BOUNDSCHECK = None
        assert lw.config.check == "divide"


def test_an_override_gives_back_what_was():
    with lw.config(target="cpu"):
        with lw.config(DISABLE_JIT=1):
            assert lw.config.target == "python"
        assert lw.config.target == "cpu"
        cuda.config.DISABLE_JIT = 0
        assert lw.config.target == "cpu"


@pytest.mark.parametrize("value, expected", [("0", 0), ("1", 1), ("7", 1)])
def test_a_switch_that_is_on_by_default(run_python, value, expected):
    program = "from lanewise import config as c\nprint(c.CUDA_ARRAY_INTERFACE_SYNC, c.interface_sync)"
    assert run_python("-c", program, NUMBA_CUDA_ARRAY_INTERFACE_SYNC=value).stdout.split() == [str(expected)] * 2


def test_a_switch_is_assigned():
    assert cuda.config.CUDA_ARRAY_INTERFACE_SYNC == lw.config.interface_sync == 1
    with lw.config(CUDA_ARRAY_INTERFACE_SYNC=False):
        assert cuda.config.CUDA_ARRAY_INTERFACE_SYNC == lw.config.interface_sync == 0
        cuda.config.CUDA_ARRAY_INTERFACE_SYNC = True
        assert lw.config.interface_sync == 1
    assert lw.config.interface_sync == 1


def test_what_has_one_value_here():
    with pytest.raises(errors.UnsupportedError, match=r"CUDA_PER_THREAD_DEFAULT_STREAM is always 0, not 1: .*stream=cuda.per_thread_default_stream"):
        cuda.config.CUDA_PER_THREAD_DEFAULT_STREAM = 1
    with pytest.raises(errors.UnsupportedError, match="functions can always create arrays"):
        cuda.config.CUDA_ENABLE_NRT = 0
    before = cuda.config.CUDA_MAX_PENDING_DEALLOCS_RATIO
    with lw.config(CUDA_MAX_PENDING_DEALLOCS_RATIO=0.5):
        assert cuda.config.CUDA_MAX_PENDING_DEALLOCS_RATIO == 0.5
    assert cuda.config.CUDA_MAX_PENDING_DEALLOCS_RATIO == before == 0.0


@pytest.mark.parametrize("name, match", [
    ("CUDA_NONSENSE", "has no setting 'CUDA_NONSENSE': it has target, check, .* and names of numba's"),
    ("DISABLE_JITS", r"did you mean DISABLE_JIT\?")])
def test_an_unknown_attribute(name, match):
    with pytest.raises(AttributeError, match=match):
        getattr(cuda.config, name)
    with pytest.raises(AttributeError, match=match):
        setattr(cuda.config, name, 1)
    assert not hasattr(cuda.config, name)


@pytest.mark.parametrize("name, value", [("DISABLE_JIT", "yes"), ("DUMP_IR", 1.0), ("CUDA_DEFAULT_PTX_CC", 8.6), ("CUDA_DEFAULT_PTX_CC", (8, "6")),
                                         ("CUDA_INCLUDE_PATH", 3), ("NUMBA_NUM_THREADS", "many")])
def test_values_of_a_wrong_kind(name, value):
    with pytest.raises(ValueError, match=name if name != "NUMBA_NUM_THREADS" else "threads"):
        setattr(cuda.config, name, value)


# ---- settings that decorators ask ----


def test_default_of_cc():
    with lw.config(CUDA_DEFAULT_PTX_CC=(8, 6)):
        text, _ = cuda.compile(lambda x: x + 1, float32(float32))
        assert ".target sm_86" in text
        assert ".target sm_90" in cuda.compile(lambda x: x + 1, float32(float32), cc=(9, 0))[0]
    assert ".target sm_75" in cuda.compile(lambda x: x + 1, float32(float32))[0]
    with lw.config(default_cc=50), pytest.raises(ValueError, match=r"cc must be from \(7, 5\)"):
        cuda.compile(lambda x: x + 1, float32(float32))


def test_default_of_debug():
    def f(x, y):
        return x // y

    with lw.config(debug=1):
        shown = lw.vectorize(f, target="cpu")
        hidden = lw.vectorize(f, target="cpu", debug=False)
        k = cuda.jit(lambda x: None, target="cuda")
        assert "DILocalVariable" in shown.inspect_llvm("int64(int64, int64)")
        assert "DILocalVariable" not in hidden.inspect_llvm("int64(int64, int64)")
        assert ".debug_info" in k.inspect_ptx("void(int64[:])", "sm_90")
    with np.errstate(all="ignore"):  # the same results
        assert shown(np.array([1]), np.array([0])).tolist() == hidden(np.array([1]), np.array([0])).tolist() == [0]
    assert "DILocalVariable" not in lw.vectorize(f, target="cpu").inspect_llvm("int64(int64, int64)")


def test_default_of_opt():
    def f(x):
        return (x + 1) * 2

    sizes = []
    for opt in (0, 1):
        with lw.config(opt=opt):
            sizes.append(len(lw.vectorize(f, target="cpu").inspect_asm("float64(float64)")))
            given = lw.vectorize(f, target="cpu", opt=True).inspect_asm("float64(float64)")
    assert sizes[0] != sizes[1] == len(given)

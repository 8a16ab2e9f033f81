"""Ufuncs as objects: attributes, inspection, pickles, collection, and calls from many threads."""

import copy
import gc
import math
import pickle
import subprocess
import sys
import threading
import weakref

import numpy as np
import pytest

import lanewise as lw


OFFSET = 3.5


def _add(x, y):
    return x + y


@pytest.fixture(scope="module")
def add():
    return lw.vectorize(identity=0)(_add)


@lw.vectorize
def module_level(x):
    """Doubles."""
    return x * 2


def _identity(x):
    return x


# ---- the object ----


def test_attributes():
    assert module_level.__name__ == module_level.__qualname__ == "module_level"
    assert module_level.__module__ == __name__
    assert module_level.__doc__ == "Doubles."
    assert module_level.__wrapped__ is module_level.py_func
    assert module_level.signature is None
    assert repr(module_level) == "<lanewise.Ufunc 'module_level' (1 -> 1)>"
    assert list(module_level.__signature__.parameters)[:2] == ["x", "out"]
    with pytest.raises((AttributeError, TypeError)):
        module_level.nin = 3
    module_level.note = "mine"
    assert module_level.note == "mine"
    with pytest.raises(TypeError):
        lw.Ufunc()
    assert isinstance(hash(module_level), int)
    stats = lw.vectorize(_identity).stats
    assert stats["loops"] == stats["compiled"] == 0


def test_stats_and_compile():
    f = lw.vectorize(cache=False)(lambda x: x * 17 + 4)
    f.compile("f8(f8)", "cpu")
    assert f.stats["compiled"] == 1 and f.types == ["d->d"]
    f(1.0)
    assert f.stats["compiled"] == 1
    assert f.resources("d->d", "cpu")["code_bytes"] > 0


def test_inspection():
    f = lw.vectorize(["f8(f8)"])(lambda x: x * 2 + 1)
    assert "float64" in f.inspect_types()
    assert "lw_loop_contiguous" in f.inspect_llvm("d->d")
    assert "ret" in f.inspect_asm("d->d")
    with pytest.raises(ValueError):
        f.inspect_ptx("d->d", target="sm_ninety")
    with pytest.raises(TypeError):
        f.inspect_llvm("l->l")
    assert f.export(["d->d"], ["host"])[("d->d", "host")].startswith(b"\x7fELF")


def test_bind(add):
    out = np.zeros(3)
    step = add.bind(np.arange(3.0), 1.0, out)
    assert step() is out and out.tolist() == [1, 2, 3]


def test_weak_references_and_collection():
    f = lw.vectorize(lambda x: x + 1)
    f(1.0)
    f.cycle = f
    r = weakref.ref(f)
    del f
    gc.collect()
    assert r() is None


def test_pickle_by_name_and_by_source():
    assert pickle.loads(pickle.dumps(module_level)) is module_level
    assert copy.copy(module_level) is module_level
    assert copy.deepcopy(module_level) is module_level
    scale = 4.0

    def helper(x):
        return x * scale

    def f(x, k=2):
        return helper(x) + k + math.floor(OFFSET)

    u = lw.vectorize(identity=1)(f)
    v = pickle.loads(pickle.dumps(u))
    assert v is not u and v.identity == 1 and v.nin == 1
    assert v(np.arange(3.0)).tolist() == u(np.arange(3.0)).tolist()
    w = pickle.loads(pickle.dumps(v))
    assert w(np.arange(3.0)).tolist() == u(np.arange(3.0)).tolist()
    g = pickle.loads(pickle.dumps(lw.vectorize(["f4(f4)"])(lambda x: x * scale)))
    assert g.types == ["f->f"] and g(np.float32(2)) == 8


def test_cloudpickle():
    cloudpickle = pytest.importorskip("cloudpickle")
    k = 3
    f = lw.vectorize(lambda x: x * k)
    assert cloudpickle.loads(cloudpickle.dumps(f))(2) == 6


def test_pickle_from_main(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "import pickle, sys, subprocess\n"
        "import numpy as np, lanewise as lw\n"
        "K = 5\n"
        "def helper(x):\n    return x + K\n"
        "@lw.vectorize\ndef f(x):\n    return helper(x) * 2\n"
        "if len(sys.argv) == 1:\n"
        "    data = pickle.dumps(f)\n"
        "    code = 'import pickle, sys; f = pickle.load(sys.stdin.buffer); print(f(1.0))'\n"
        "    print(subprocess.run([sys.executable, '-c', code], input=data,\n"
        "                         capture_output=True, check=True).stdout.decode())\n"
    )
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True)
    assert done.stdout.strip() == "12.0", done.stderr


# ---- threads ----


def test_barrier_start():
    f = lw.vectorize(lambda x, y: math.sqrt(x * x + y) * 3)
    barrier = threading.Barrier(8)
    dtypes = ["f4", "f8", "i4", "i8"]
    results, errors = [], []

    def work(i):
        barrier.wait()
        try:
            x = np.arange(100, dtype=dtypes[i % 4])
            results.append((i, f(x, x)))
        except Exception as error:  # noqa: BLE001 - told below
            errors.append(error)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not errors and len(results) == 8
    assert len(f.types) == 4
    for i, r in results:
        x = np.arange(100, dtype=dtypes[i % 4])
        assert np.allclose(r, np.sqrt(x.astype(float) ** 2 + x) * 3, rtol=1e-6)

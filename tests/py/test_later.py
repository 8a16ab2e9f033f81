"""Kernels of the package that are made when they are asked for (lanewise/_later.py)."""

import threading

import pytest

import lanewise as lw
from lanewise import _distribution_kernels, _later, _random_host, _random_kernels


def test_a_first_call_makes_the_kernels_it_uses(run_python):
    run_python("-c", """if 1:
        import numpy as np, lanewise as lw
        from lanewise import _random_kernels as kernels
        lw.random.Generator(1).binomial(10, 0.3, 1000)
        made = [name for name, value in vars(kernels).items() if isinstance(value, lw.Forall)]
        assert made == ["philox_binomial"], made
    """)


@pytest.mark.parametrize("module", [_random_kernels, _distribution_kernels, _random_host])
def test_every_noted_kernel_can_be_made(module):
    noted = module.__getattr__.__closure__[0].cell_contents
    noted = noted if isinstance(noted, dict) and all(isinstance(one, _later._Later) for one in noted.values()) else module.__getattr__.__closure__[1].cell_contents
    assert noted and not any(isinstance(value, _later._Later) for value in vars(module).values())
    for name in noted:
        kernel = getattr(module, name)
        assert isinstance(kernel, lw.Forall) and getattr(module, name) is kernel and kernel.__name__ == name


def test_threads_get_the_same_kernel():
    scope = {"__name__": "lanewise._test"}

    def fill(i, out):
        out[i] = i

    scope["fill"] = _later.forall(fma=False)(fill)
    find, found = _later.made_when_asked(scope), []
    assert "fill" not in scope
    threads = [threading.Thread(target=lambda: found.append(find("fill"))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(map(id, found))) == 1 and scope["fill"] is found[0]


def test_an_unknown_name():
    with pytest.raises(AttributeError, match="no attribute 'philox_cauchy'"):
        _random_kernels.philox_cauchy
    with pytest.raises(ImportError):
        from lanewise._random_kernels import nothing  # noqa: F401


def test_importing_reductions_makes_none(run_python):
    run_python("-c", """if 1:
        import sys, numpy as np, lanewise as lw
        from lanewise import _later, reductions
        from lanewise import _nan_reductions
        noted = [value for module in (reductions, _nan_reductions) for value in vars(module).values() if isinstance(value, _later.later)]
        assert len(noted) == 36 and not any("one" in vars(one) for one in noted)
        assert reductions.sum(np.arange(4.0)) == 6 and reductions.cumsum(np.arange(4))[3] == 6 and reductions.sum([1, 2]) == 3
        assert [one.__name__ for one in noted if "one" in vars(one)] == ["sum"]
        assert reductions._sum is reductions._SUM.one and reductions._sum.__name__ == "sum"
        assert "lanewise.cuda" not in sys.modules  # which arrays of the host do not need
    """)


def test_threads_get_the_same_reduction():
    def add(a, b):
        return a + b

    noted, found, gate = _later.later("add", add), [], threading.Barrier(4)

    def ask():
        gate.wait()
        found.append(noted.one)

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4 and len(set(map(id, found))) == 1 and noted.one([1.0, 2.0]) == 3 and noted.one.accumulate([1.0, 2.0]).tolist() == [1.0, 3.0]

"""Layouts, functions and calls of guvectorize at random, against a loop over the items in Python.

A layout is drawn from the whole grammar: names, fixed sizes, `?`, `|1`, names in outputs only, several outputs, none or
several inputs. Its function gives each output element a weighted sum of the inputs' elements and of the element's own place.

    python tests/fuzz/layouts.py 50000            that many calls; a failing seed is shown
    python tests/fuzz/layouts.py 5000 0 device    from seed 0 on; each call on device arrays, too

Without a GPU, "device" needs the fake driver in LANEWISE_CUDA_DRIVER; kernels then run on the simulator.
"""

from __future__ import annotations

import itertools
import os
import sys
from typing import NamedTuple

import numpy as np

import lanewise as lw
from lanewise import _core, cuda

NUMPY_HAS_SIZES = np.lib.NumpyVersion(np.__version__) >= "2.1.0"


class Operand(NamedTuple):
    dims: list  # names; "3" is a fixed size
    stretch: list  # |1


class Program(NamedTuple):
    layout: str
    inputs: list
    outputs: list
    optional: set
    sizes: dict  # name only in outputs -> how much more than 2
    source: str
    fills: bool
    made: object


def draw_operand(make, names, most, is_input):
    dims = [str(make.choice(names)) for _ in range(make.integers(0, most + 1))]
    return Operand(dims, [bool(is_input and make.random() < 0.15) for _ in dims])


def text_of(operand, optional):
    return "(" + ",".join(d + ("?" if d in optional else "") + ("|1" if s else "") for d, s in zip(*operand)) + ")"


def function_of(inputs, outputs, fills):
    """Every output element: the sum of all input elements, each with its operand's weight, plus the place in the output."""
    names = [f"x{k}" for k in range(len(inputs))] + [f"y{k}" for k in range(len(outputs)) if fills]
    lines = [f"def f({', '.join(names)}):", "    total = 0.0"]
    for k, operand in enumerate(inputs):
        n = len(operand.dims)
        lines += ["    " * (d + 1) + f"for i{d} in range(x{k}.shape[{d}]):" for d in range(n)]
        index = "[" + ", ".join(f"i{d}" for d in range(n)) + "]" if n else ""
        lines.append("    " * (n + 1) + f"total += {k + 1} * x{k}{index}")
    if not fills:
        return "\n".join([*lines, "    return " + ", ".join(f"total + {k}" for k in range(len(outputs)))]) + "\n"
    for k, operand in enumerate(outputs):
        n = len(operand.dims)
        lines += ["    " * (d + 1) + f"for i{d} in range(y{k}.shape[{d}]):" for d in range(n)]
        place = " + ".join([str(k)] + [f"{d + 2} * i{d}" for d in range(n)])
        lines.append("    " * (n + 1) + f"y{k}[{', '.join(f'i{d}' for d in range(n)) or '0'}] = total + {place}")
    return "\n".join(lines) + "\n"


def draw_program(seed):
    make = np.random.default_rng(seed)
    names = ["m", "n", "p", "3", "2"]
    inputs = [draw_operand(make, names, 3, True) for _ in range(make.integers(0, 4))]
    known = sorted({d for operand in inputs for d in operand.dims})
    only = ["k"] if NUMPY_HAS_SIZES and make.random() < 0.3 else []
    outputs = [draw_operand(make, known + only or ["3"], 2, False) for _ in range(make.integers(1, 4))]
    stretched = {d for operand in inputs for d, s in zip(*operand) if s}
    names_used = [d for d in known if not d.isdigit() and d not in stretched]
    optional = {d for d in names_used if make.random() < 0.2}
    fills = bool(make.random() < 0.7) or any(operand.dims for operand in outputs) or not inputs
    sizes = {"k": int(make.integers(0, 3))} if any("k" in operand.dims for operand in outputs) else {}
    layout = ",".join(text_of(o, optional) for o in inputs) + "->" + ",".join(text_of(o, optional) for o in outputs)
    source, scope = function_of(inputs, outputs, fills), {}
    exec(source, scope)
    if inputs:
        made = lw.guvectorize(layout, sizes={key: 2 + more for key, more in sizes.items()} or None, source=source)(scope["f"])
    else:
        signature = "void(" + ", ".join("f8[" + ", ".join([":"] * max(1, len(o.dims))) + "]" for o in outputs) + ")"
        made = lw.guvectorize([signature], layout, sizes={key: 2 + more for key, more in sizes.items()} or None, source=source)(scope["f"])
    return Program(layout, inputs, outputs, optional, sizes, source, fills, made)


def array(make, shape):
    """Any dtype, strides and direction."""
    x = make.integers(-50, 50, [2 * n for n in shape]).astype(make.choice(["f4", "f8", "f8", "i4", "i8"]))
    x = x[tuple(slice(0, n) if make.random() < 0.5 else slice(0, 2 * n, 2) for n in shape)]
    x = x[tuple(slice(None, None, -1) if make.random() < 0.2 else slice(None) for _ in shape)]
    if len(shape) > 1 and make.random() < 0.3:
        x = np.asfortranarray(x)
    return x


def expected(program, inputs, loop, sizes, missing):
    """Each output, item by item."""
    results = []
    cores = [tuple(1 if d in missing else sizes[d] for d in o.dims) for o in program.inputs]
    stacked = []
    for x, operand, core in zip(inputs, program.inputs, cores):
        left = x.ndim - len([d for d in operand.dims if d not in missing])
        x = x.reshape(x.shape[:left] + tuple(1 if d in missing else n for d, n in zip(operand.dims, _fill(x.shape[left:], operand, missing))))
        stacked.append(np.broadcast_to(x, tuple(loop) + core).astype("f8"))
    total = np.zeros(loop)
    for k, x in enumerate(stacked):
        total = total + (k + 1) * x.sum(axis=tuple(range(len(loop), x.ndim)))
    for k, operand in enumerate(program.outputs):
        core = [1 if d in missing else sizes[d] for d in operand.dims]
        place = np.full(core, float(k))
        for d in range(len(core)):
            place = place + (d + 2) * np.arange(core[d]).reshape([-1 if e == d else 1 for e in range(len(core))])
        full = total.reshape(tuple(loop) + (1,) * len(core)) + place
        results.append(full.reshape(tuple(loop) + tuple(n for d, n in zip(operand.dims, core) if d not in missing)))
    return results


def _fill(extents, operand, missing):
    given = iter(extents)
    return [1 if d in missing else next(given) for d in operand.dims]


def device_view(make, x):
    """x on the device: part of a larger array, with steps, backwards, its axes in another order."""
    if x.ndim == 0:
        return cuda.to_device(x) if make.random() < 0.5 else float(x)
    order = [int(k) for k in make.permutation(x.ndim)] if make.random() < 0.3 else list(range(x.ndim))
    y = x.transpose(order)
    before, steps = make.integers(1, 4, x.ndim), make.choice([1, 1, 1, 2, -1], x.ndim)
    place = tuple(slice(int(b), int(b + n * s), int(s)) if s > 0 else slice(int(b + n - 1), int(b - 1), -1) if n else slice(0, 0)
                  for n, b, s in zip(y.shape, before, steps))
    whole = np.full([n * abs(s) + b for n, b, s in zip(y.shape, before, steps)], 99.0)
    whole[place] = y
    return cuda.to_device(whole)[place].transpose([int(k) for k in np.argsort(order)])


def many_items(program, make, inputs):
    """One more loop dimension in front of an operand: 4100 items are staged through shared memory."""
    which = int(make.integers(len(inputs)))
    n_loop = max(x.ndim - len(o.dims) for x, o in zip(inputs, program.inputs))
    x = inputs[which]
    x = x.reshape((1,) * (n_loop + len(program.inputs[which].dims) - x.ndim) + x.shape)
    inputs[which] = x + (np.arange(4100) % 7).reshape((-1,) + (1,) * x.ndim)


def check_device(program, make, inputs, axes):
    """Device and host give the same for float64."""
    inputs = [np.asarray(x, "f8") for x in inputs]
    if not axes and not program.optional and make.random() < 0.3:
        many_items(program, make, inputs)
    want = program.made(*inputs, **axes)
    given = [device_view(make, x) for x in inputs]
    if not any(isinstance(x, cuda.DeviceArray) for x in given):
        given[0] = cuda.to_device(inputs[0])
    keywords = axes | {"order": "C"}  # the fake driver copies no others back
    if make.random() < 0.3:
        keywords["out"] = tuple(cuda.to_device(np.full(np.shape(w), 77.0)) for w in (want if isinstance(want, tuple) else (want,)))
    got = program.made(*given, **keywords)
    for g, w in zip(got if isinstance(got, tuple) else (got,), want if isinstance(want, tuple) else (want,)):
        assert g.shape == np.shape(w), (g.shape, np.shape(w))
        assert np.allclose(g.copy_to_host(), w, rtol=1e-9, atol=1e-9), (g.copy_to_host(), w)


def call(program, make, device=False):
    """One call; raises AssertionError where the result is not as expected."""
    sizes = {"m": int(make.integers(0, 6)), "n": int(make.integers(0, 6)), "p": int(make.integers(1, 9)), "3": 3, "2": 2}
    sizes |= {key: 2 + more for key, more in program.sizes.items()}
    loop = [int(n) for n in make.integers(0 if make.random() < 0.1 else 1, 5, make.integers(0, 4))]
    missing = set()  # NumPy drops from the left until the rest fits: here all or none
    if not loop and make.random() < 0.5:
        missing = set(program.optional)
    inputs = []
    for operand in program.inputs:
        mine = [n if make.random() < 0.75 else 1 for n in loop[make.integers(0, len(loop) + 1):]]
        core = [1 if stretch and make.random() < 0.4 else sizes[d] for d, stretch in zip(*operand) if d not in missing]
        inputs.append(array(make, mine + core))
    for name in {d for o in program.inputs for d, s in zip(*o) if s}:  # all of them 1: then that is the size
        seen = {x.shape[x.ndim - len(o.dims) + i] for x, o in zip(inputs, program.inputs) if not missing & set(o.dims)
                for i, d in enumerate(o.dims) if d == name}
        if seen == {1} and not name.isdigit():
            sizes[name] = 1
    if any(s for o in program.inputs for s in o.stretch) and missing:
        return
    shapes = [x.shape[:x.ndim - len([d for d in o.dims if d not in missing])] for x, o in zip(inputs, program.inputs)]
    loop = list(np.broadcast_shapes(*shapes)) if shapes else []
    keywords = {}
    if make.random() < 0.3 and not missing and any(o.dims for o in program.inputs + program.outputs):  # core axes elsewhere
        axes, moved = [], []
        for x, operand in zip(inputs, program.inputs):
            n = len(operand.dims)
            places = [int(i) for i in make.permutation(x.ndim)[:n]]
            moved.append(np.moveaxis(x, list(range(x.ndim - n, x.ndim)), places))
            axes.append(tuple(places))
        inputs_given, keywords["axes"] = moved, axes + [tuple(range(-len(o.dims), 0)) for o in program.outputs]
    else:
        inputs_given = inputs
    want = expected(program, inputs, loop, sizes, missing)
    if make.random() < 0.3:
        keywords["out"] = tuple(np.empty([*w.shape, 2])[..., 1] if make.random() < 0.7 else None for w in want)
    got = program.made(*inputs_given, **keywords)
    for k, (one, wanted) in enumerate(zip(got if isinstance(got, tuple) else (got,), want)):
        assert np.shape(one) == wanted.shape, (np.shape(one), wanted.shape)
        assert np.allclose(one, wanted, rtol=1e-4, atol=1e-3), (one, wanted)
        if keywords.get("out", [None] * len(want))[k] is not None:
            assert one is keywords["out"][k]
    if device and inputs:
        check_device(program, make, inputs_given, {"axes": keywords["axes"]} if "axes" in keywords else {})


def run(seed, calls, device=False):
    program = draw_program(seed)
    make = np.random.default_rng([seed, 1])
    for number in range(calls):
        try:
            call(program, make, device)
        except Exception as problem:
            raise AssertionError(f"seed {seed}, call {number}, layout {program.layout}\n{program.source}{type(problem).__name__}: {problem}") from problem


if __name__ == "__main__":
    device = "device" in sys.argv
    CALLS = 10 if device else 100
    if "LANEWISE_CUDA_DRIVER" in os.environ:
        _core._simulate_kernels(True)
    wanted = int(sys.argv[1]) if len(sys.argv) > 1 else 5000
    for seed in itertools.islice(itertools.count(int(sys.argv[2]) if len(sys.argv) > 2 else 0), wanted // CALLS):
        run(seed, CALLS, device)
    print(wanted // CALLS * CALLS, "calls agree")

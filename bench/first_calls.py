"""Times of first calls, with an empty cache: the functions of lanewise.reductions, ufuncs and special, the methods of a Generator, and
functions of a line or two. Reductions that have axis= are called for all elements, and for the columns and the rows of a square.
Minima of several, in milliseconds of processor time; slowest first.

    python bench/first_calls.py [--times N] [--above MS] [--warm] [--fresh] [--only reductions.argmax special. ...]

Each call is made in a process of its own, forked from one that has imported lanewise. --warm: LLVM has been loaded, and has compiled
something else. --fresh: each in a new Python that has imported NumPy and lanewise only, so that the call loads all that it needs: once
with an empty cache, and once more with what the first has left there. Python's own .pyc files are there, as after an installation. --only: names, or beginnings of names."""

from __future__ import annotations

import argparse
import atexit
import functools
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import warnings

N = 10_000

#: Calls whose arguments are not just arrays, by their place: as text, of x (float64, or float32 with "~" before).
CALLS = {
    "reductions.topk": "(x, 3)", "reductions.argtopk": "(x, 3)", "reductions.segmented_sum": "(x, x > 0.5)", "reductions.top1": "(x, x)",
    "reductions.affine_scan": "(x, x)", "special.huber": "(0.5, x)", "special.pseudo_huber": "(0.5, x)",
}
#: Methods of random.Generator, each with size=N.
DRAWS = {
    "random": "", "standard_normal": "", "normal": "3.0, 2.0", "uniform": "1.0, 2.0", "integers": "10", "standard_exponential": "", "exponential": "2.0",
    "standard_gamma": "2.0", "gamma": "2.0, 1.0", "beta": "2.0, 3.0", "binomial": "10, 0.3", "poisson": "3.0", "geometric": "0.3", "lognormal": "",
    "laplace": "", "logistic": "", "gumbel": "", "chisquare": "3.0", "f": "3.0, 4.0", "standard_t": "3.0", "standard_cauchy": "", "pareto": "3.0",
    "weibull": "2.0", "power": "2.0", "rayleigh": "", "wald": "1.0, 2.0", "triangular": "0.0, 0.5, 1.0", "vonmises": "0.0, 1.0", "zipf": "3.0",
    "hypergeometric": "10, 20, 5", "negative_binomial": "5, 0.3", "logseries": "0.5", "noncentral_chisquare": "3.0, 1.0", "noncentral_f": "3.0, 4.0, 1.0",
}
#: What users write, after whose text the call comes.
WRITTEN = {
    "vectorize a*b+k": ("f = lw.vectorize(lambda a, b: a * b + 3)", "f(x, x)"),
    "vectorize sin*exp": ("f = lw.vectorize(lambda a: np.sin(a) * np.exp(a))", "f(x)"),
    "guvectorize mean of rows": ("@lw.guvectorize('(n)->()')\ndef f(x, out):\n    s = 0.0\n    for i in range(len(x)):\n        s += x[i]\n    out[()] = s / len(x)",
                                 "f(x.reshape(100, -1))"),
    "reduce a+b": ("f = lw.reduce(lambda a, b: a + b)", "f(x)"),
    "forall saxpy": ("@lw.forall\ndef f(i, x, y):\n    y[i] = 2.0 * x[i] + y[i]", "f(x.size, x, y)"),
    "njit sum": ("@lw.njit\ndef f(x):\n    s = 0.0\n    for i in range(len(x)):\n        s += x[i]\n    return s", "f(x)"),
    "njit of a list": ("@lw.njit\ndef f(x):\n    out = []\n    for i in range(len(x)):\n        if x[i] > 0.5:\n            out.append(x[i])\n    return len(out)", "f(x)"),
    "njit of a dict": ("@lw.njit\ndef f(x):\n    d = {}\n    for i in range(len(x)):\n        k = int(x[i] * 100)\n        d[k] = d.get(k, 0) + 1\n    return len(d)", "f(x)"),
    "njit of a set": ("@lw.njit\ndef f(x):\n    s = set()\n    for i in range(len(x)):\n        s.add(int(x[i] * 100))\n    return len(s)", "f(x)"),
    "njit of arrays": ("@lw.njit\ndef f(x):\n    return (x * x + 1.0).sum()", "f(x)"),
}
#: The program of --fresh. Its text of a function is a file, as users have it.
PROGRAM = """
import time
import numpy as np
begun = time.process_time()
import lanewise as lw
imported = time.process_time() - begun
x = np.linspace(0.1, 0.9, {n}).astype({dtype!r})
y = x.copy()
square = x.reshape(round(x.size**0.5), -1)
begun = time.process_time()
{text}
{call}
print(imported, time.process_time() - begun)
"""


def arguments(function, x, name):
    """The call with as many arrays as the function takes, as text; or None."""
    for n in range(1, 6):
        try:
            function(*[x] * n)
            return "(" + ", ".join(["x"] * n) + ")"
        except Exception:  # another number of arguments
            continue
    return None


def has_axis(function, square):
    try:
        return function(square, axis=0).shape == (8,)
    except Exception:
        return False


def in_child(work):
    """What work returns in a forked process, with a cache of its own."""
    import lanewise as lw

    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        folder = tempfile.mkdtemp()
        lw.config.cache_dir = folder
        try:
            os.write(write, repr(work()).encode())
        finally:
            shutil.rmtree(folder, ignore_errors=True)
            os._exit(0)
    os.close(write)
    with os.fdopen(read) as answer:
        text = answer.read()
    os.waitpid(child, 0)
    return eval(text) if text else None


def calls(only):
    """(place, text, call, whether x are integers) of all that is measured."""
    import numpy as np

    from lanewise import reductions, special, ufuncs

    def wanted(place):
        return not only or any(place == one or one.endswith((".", " ")) and (place + " ").startswith(one) for one in only)

    for module in (reductions, ufuncs, special):
        for name in module.__all__:
            place = module.__name__.split(".")[-1] + "." + name
            function = getattr(module, name) if wanted(place) else None
            if not callable(function):
                continue
            found = (CALLS.get(place), False)
            for integers in (False, True) if found[0] is None else ():
                x = np.arange(1, 65) if integers else np.linspace(0.1, 0.9, 64)
                found = in_child(lambda: arguments(function, x, name)), integers
                if found[0] is not None:
                    break
            if found[0] is None:
                print("not called:", place)
                continue
            yield place, "", f"lw.{place}{found[0]}", found[1]
            if module is reductions and found[0] == "(x)" and in_child(lambda: has_axis(function, x.reshape(8, 8))):
                for axis in (0, 1):
                    yield f"{place} axis={axis}", "", f"lw.{place}(square, axis={axis})", found[1]
    for name, given in DRAWS.items():
        if wanted("Generator." + name):
            yield "Generator." + name, "", f"lw.random.Generator(1).{name}({given}{', ' if given else ''}size={N})", False
    for name, (text, call) in WRITTEN.items():
        if wanted(name):
            yield name, text, call, False


@functools.cache
def compiled_modules():
    """The folder with the .pyc files of lanewise, and those that the calls add."""
    import lanewise

    folder = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    subprocess.run([sys.executable, "-m", "compileall", "-q", os.path.dirname(lanewise.__file__)], env={**os.environ, "PYTHONPYCACHEPREFIX": folder}, check=True)
    return folder


def run(program, folder):
    """Milliseconds of the import and of the call, in a new process."""
    path = os.path.join(folder, "program.py")
    with open(path, "w") as file:
        file.write(program)
    environment = {**os.environ, "LANEWISE_CACHE_DIR": os.path.join(folder, "cache"), "PYTHONPYCACHEPREFIX": compiled_modules()}
    environment["OPENBLAS_NUM_THREADS"] = "1"  # its threads wait in a loop after NumPy's import, which would count as processor time of the call
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    done = subprocess.run([sys.executable, "-W", "ignore", path], env=environment, capture_output=True, text=True)
    return [1e3 * float(one) for one in done.stdout.split()] if done.returncode == 0 else None


def fresh(text, call, dtype, times):
    """Least milliseconds of the import of lanewise, of the call without a cache, and of the call with one."""
    program, rows = PROGRAM.format(n=N, dtype=dtype, text=text, call=call), []
    for _ in range(times):
        with tempfile.TemporaryDirectory() as folder:
            cold, kept = run(program, folder), run(program, folder)
            if cold is None or kept is None:
                return None
            rows.append((cold[0], cold[1], kept[1]))
    return [min(column) for column in zip(*rows)]


def report_fresh(given):
    rows = []
    for place, text, call, integers in calls(given.only):
        for dtype in ("int64",) if integers else ("float64", "float32"):
            if place.startswith("Generator.") and dtype == "float32":
                continue
            took = fresh(text, call, dtype, given.times)
            if took is None:
                print("failed:", place, dtype)
            else:
                rows.append((took[1], took[2], took[0], f"{place} {dtype}"))
    print("    call    with the cache    (import)")
    for cold, kept, imported, name in sorted(rows, reverse=True):
        if cold >= given.above:
            print(f"{cold:8.1f}  {kept:8.1f}  {imported:8.1f}  {name}")
    print(f"{len(rows)} calls, {sum(row[0] > 60 for row in rows)} above 60 ms")
    if given.json:
        with open(given.json, "w") as file:
            json.dump({name: [cold, kept, imported] for cold, kept, imported, name in rows}, file, indent=1)


def report_forked(given):
    import numpy as np

    import lanewise as lw

    warnings.simplefilter("ignore")
    if given.warm:
        lw.vectorize(lambda x: x * 3 - 1)(np.ones(4))
    rows = []
    for place, text, call, integers in calls(given.only):
        if text:
            continue  # the source of a function is a file: see --fresh

        def first(call=call, integers=integers):
            x = np.arange(1, 65) if integers else np.linspace(0.1, 0.9, 64)
            begun = time.process_time()
            eval(call, {"lw": lw, "np": np, "x": x, "square": x.reshape(8, 8)})
            return time.process_time() - begun

        rows.append((1e3 * min(in_child(first) or 9 for _ in range(given.times)), place))
    for took, place in sorted(rows, reverse=True):
        if took >= given.above:
            print(f"{took:8.1f}  {place}")
    print(f"{len(rows)} functions, {sum(took > 60 for took, _ in rows)} above 60 ms")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--above", type=float, default=0)
    parser.add_argument("--warm", action="store_true")
    parser.add_argument("--fresh", action="store_true")
    parser.add_argument("--json", default="", help="with --fresh, a file for the rows")
    parser.add_argument("--only", nargs="*", default=[])
    given = parser.parse_args()
    report_fresh(given) if given.fresh else report_forked(given)


if __name__ == "__main__":
    main()

"""What lanewise.extending costs: the first call of functions that use overloads, a type of the user's, or two targets, beside the same function
without. `python bench/extending.py`. Each figure is the median over new processes, in ms: compiled anew (cold), and with machine code on disk (cached);
calls of a compiled function with an object as its argument are in us. What a program registers is measured with it: `import` is that alone.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile

PROGRAMS = {
    "plain": """
def work(x, y): return helper(x, y) * helper(y, x)
def helper(x, y): return x * y + x
""",
    "overload": """
from lanewise import extending, types
def helper(x, y): raise RuntimeError
@extending.overload(helper)
def _(x, y):
    if isinstance(x, types.Number): return lambda x, y: x * y + x
def work(x, y): return helper(x, y) * helper(y, x)
""",
    "method": """
from lanewise import extending, types
@extending.overload_method(types.Float, "helper")
def _(x, y): return lambda x, y: x * y + x
def work(x, y): return x.helper(y) * y.helper(x)
""",
    "class": """
class Pair:
    def __init__(self, x, y): self.x, self.y = x, y
    def helper(self): return self.x * self.y + self.x
def work(x, y): return Pair(x, y).helper() * Pair(y, x).helper()
""",
    "type": """
from lanewise import extending, types
class Pair:
    def __init__(self, x, y): self.x, self.y = x, y
    def helper(self): return self.x * self.y + self.x
class PairType(types.Type):
    def __init__(self): super().__init__("Pair")
pair = PairType()
extending.type_callable(Pair)(lambda context: lambda x, y: pair)
@extending.register_model(PairType)
class PairModel(extending.models.StructModel):
    def __init__(self, dmm, fe_type): super().__init__(dmm, fe_type, [("x", types.float64), ("y", types.float64)])
extending.make_attribute_wrapper(PairType, "x", "x")
extending.make_attribute_wrapper(PairType, "y", "y")
def work(x, y): return Pair(x, y).helper() * Pair(y, x).helper()
""",
    "targets": """
from lanewise import extending, types
def helper(x, y): raise RuntimeError
extending.overload(helper)(lambda x, y: lambda x, y: x * y + x)
extending.overload(helper, target="cuda")(lambda x, y: lambda x, y: x * y - x)
def work(x, y): return helper(x, y) * helper(y, x)
""",
}

HARNESS = """
import json, sys, time
import numpy as np, lanewise as lw
start = time.perf_counter()
sys.path.insert(0, sys.argv[1])
work = __import__(sys.argv[2]).work
imported = time.perf_counter() - start
f = lw.vectorize(work)
x = np.ones(4)
start = time.perf_counter()
f(x, x)
print(json.dumps([1e3 * imported, 1e3 * (time.perf_counter() - start)]))
"""

CALLS = """
import json, operator, time
import numpy as np, lanewise as lw
from lanewise import extending, types
class Plain:
    def __init__(self, x, y): self.x, self.y = x, y
class Typed(Plain): pass
class TypedType(types.Type):
    def __init__(self): super().__init__("Typed")
typed = TypedType()
@extending.register_model(TypedType)
class TypedModel(extending.models.StructModel):
    def __init__(self, dmm, fe_type): super().__init__(dmm, fe_type, [("x", types.float64), ("y", types.float64)])
extending.make_attribute_wrapper(TypedType, "x", "x")
extending.make_attribute_wrapper(TypedType, "y", "y")
def us(f, *args):
    f(*args)
    best = 1e9
    for _ in range(20):
        start = time.perf_counter()
        for _ in range(2000): f(*args)
        best = min(best, (time.perf_counter() - start) / 2000)
    return 1e6 * best
f = lw.jit(lambda p: p.x + p.y)
alone = us(f, Plain(1.0, 2.0))
extending.typeof_impl.register(Typed, lambda val, c: typed)
g = lw.jit(lambda p: p.x + p.y)
h = lw.jit(lambda x, y: x + y)
numbers = us(h, 1.0, 2.0)
extending.overload(operator.add)(lambda x, y: None)
print(json.dumps({"numbers": numbers, "numbers, once + is overloaded": us(h, 1.0, 2.0), "object": alone, "object, once typeof_impl has a class": us(f, Plain(1.0, 2.0)),
                  "object with a type": us(g, Typed(1.0, 2.0))}))
"""


def run(program: str, *arguments: str, cache: str) -> list[float]:
    environment = {**os.environ, "LANEWISE_CACHE_DIR": cache, "LANEWISE_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, "-c", program, *arguments], cwd=arguments[0], env=environment, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def median(rows: list[list[float]], column: int) -> float:
    return statistics.median(row[column] for row in rows)


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 9
    folder = tempfile.mkdtemp()
    rows: dict[str, dict[str, list[list[float]]]] = {name: {"cold": [], "cached": []} for name in PROGRAMS}
    for name, text in PROGRAMS.items():
        with open(os.path.join(folder, f"with_{name}.py"), "w") as file:
            file.write(text)
    for i in range(rounds):  # interleaved
        for name in PROGRAMS:
            cache = os.path.join(folder, f"{name}{i}")
            for kind in ("cold", "cached"):
                rows[name][kind].append(run(HARNESS, folder, "with_" + name, cache=cache))
    print(f"{'':10} {'import':>8} {'cold':>8} {'/ plain':>8} {'cached':>8} {'- plain':>8}")
    plain = rows["plain"]
    for name, row in rows.items():
        cold, cached = median(row["cold"], 1), median(row["cached"], 1)
        print(f"{name:10} {median(row['cached'], 0):8.2f} {cold:8.2f} {cold / median(plain['cold'], 1):8.2f} {cached:8.2f} {cached - median(plain['cached'], 1):8.2f}")
    with open(os.path.join(folder, "calls.py"), "w") as file:
        file.write(CALLS)
    for name, value in run("import sys; sys.path.insert(0, sys.argv[1]); import calls", folder, cache=folder).items():  # type: ignore[attr-defined]
        print(f"call with {name}: {value:.2f} us")


if __name__ == "__main__":
    main()

"""Random programs against the oracle, from the command line.

    python tests/fuzz/run.py --count 20000                 CPU against the oracle, bit for bit
    python tests/fuzz/run.py --seconds 900 --seed 7        as many as go into 15 minutes
    python tests/fuzz/run.py --count 20000 --gpu           device arrays against the CPU
    python tests/fuzz/run.py --count 2000 --compile        cubins of seven architectures, without a GPU
    python tests/fuzz/run.py --count 2000 --ir             the IR, interpreted, against the oracle
    python tests/fuzz/run.py --count 2000 --arrays         programs of arrays that overlap or are misaligned, against NumPy
    python tests/fuzz/run.py --count 2000 --classes        programs with classes, against CPython
    python tests/fuzz/run.py --count 2000 --recursion      functions that call themselves and each other, against CPython
    python tests/fuzz/run.py --count 2000 --loops          loops whose indices are compared with small numbers, against CPython
    python tests/fuzz/run.py --count 2000 --stores         loops that store into rows and small arrays, against CPython
    python tests/fuzz/run.py --count 2000 --stores --ptx   what libNVVM makes of them, interpreted; needs no GPU
    python tests/fuzz/run.py --count 2000 --containers     lists, dicts, sets, tuples, try: against CPython
    python tests/fuzz/run.py --count 2000 --iterations     loops over prange that call functions, in parallel and in order
    python tests/fuzz/run.py --count 2000 --doors          forall, kernels with shared memory, reduce, records, axes
    python tests/fuzz/run.py --count 2000 --calls          NumPy's functions in functions of njit, against NumPy
    python tests/fuzz/run.py --program found/x.py          one kept program

Batches run in child processes: a crash or a hang is a failure like any other, told with the seed
of the batch, and the next child goes on after it. Ends with 1 when anything failed.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
HANG = 120  # seconds without a word from the child
CRASHES = 10  # children that die before there is no point in going on
KINDS = ("arrays", "classes", "recursion", "loops", "stores", "containers", "iterations", "doors", "calls")  # programs instead of scalar functions; an option each


def parse(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=1, help="of the first batch")
    parser.add_argument("--count", type=int, default=0, help="programs; 0: until --seconds are over")
    parser.add_argument("--seconds", type=float, default=0)
    parser.add_argument("--gpu", action="store_true", help="device arrays against the CPU")
    parser.add_argument("--compile", action="store_const", const="compile", dest="gpu", help="only compile for GPUs of all generations; needs none")
    parser.add_argument("--ir", action="store_const", const="ir", dest="gpu", help="interpret the IR (ir_interpreter.py); no machine code")
    parser.add_argument("--ptx", action="store_const", const="ptx", dest="gpu", help="interpret the PTX of kernels (ptx_interpreter.py); with --stores and --loops")
    parser.add_argument("--arrays", action="store_true", help="programs of arrays (arrays.py) instead of scalar functions")
    parser.add_argument("--classes", action="store_true", help="programs with classes (classes.py)")
    parser.add_argument("--recursion", action="store_true", help="programs of functions that call themselves and each other (recursion.py)")
    parser.add_argument("--loops", action="store_true", help="loops whose indices are compared with small numbers (loops.py)")
    parser.add_argument("--stores", action="store_true", help="loops that store into rows and small arrays (stores.py)")
    parser.add_argument("--containers", action="store_true", help="programs of lists, dicts, sets and tuples (containers.py)")
    parser.add_argument("--iterations", action="store_true", help="loops over prange that call functions (iterations.py)")
    parser.add_argument("--doors", action="store_true", help="programs of the other generators (doors.py)")
    parser.add_argument("--calls", action="store_true", help="calls of NumPy's functions in functions of njit (compiled_calls.py)")
    parser.add_argument("--shrink", action="store_true", help="print failures in their smallest form")
    parser.add_argument("--program", type=Path, help="check one kept program")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.gpu == "ptx" and not (options.stores or options.loops):
        parser.error("--ptx goes with --stores or --loops")
    if not options.count and not options.seconds:
        options.count = 1000
    return options


# ---- the child: batches, told line by line ----


def worker(options):
    import arrays
    import check
    import classes
    import compiled_calls
    import containers
    import doors
    import iterations
    import loops
    import recursion
    import stores

    kinds = {"arrays": arrays, "classes": classes, "recursion": recursion, "loops": loops, "stores": stores, "containers": containers, "iterations": iterations, "doors": doors, "calls": compiled_calls}
    check_batch = next((kinds[kind].check_batch for kind in KINDS if getattr(options, kind)), check.check_batch)
    seed, done, end = options.seed, 0, time.monotonic() + (options.seconds or 1e9)
    while time.monotonic() < end and (not options.count or done < options.count):
        print(json.dumps({"start": seed}), flush=True)
        looked_at, problems = check_batch(seed, gpu=options.gpu)
        for problem in problems:
            print(json.dumps({"problem": problem}), flush=True)
        done += looked_at
        print(json.dumps({"done": looked_at}), flush=True)
        seed += 1
    return 0


# ---- the parent ----


class Session:
    def __init__(self, options):
        self.options, self.programs, self.counts = options, 0, Counter()
        self.seed, self.begun = options.seed, time.monotonic()

    def left(self):
        return max(0.0, self.options.seconds - (time.monotonic() - self.begun))

    def over(self):
        return (self.options.count and self.programs >= self.options.count) or (self.options.seconds and not self.left())

    def run(self):
        while not self.over() and self.counts["crash"] < CRASHES:
            self.run_child()
        spent = time.monotonic() - self.begun
        print(f"{self.programs} programs in {spent:.0f} s ({1000 * spent / max(self.programs, 1):.1f} ms each), failures: {dict(+self.counts) or 'none'}")
        return 1 if +self.counts else 0

    def command(self):
        rest = ["--seed", str(self.seed), "--count", str(max(self.options.count - self.programs, 0))]
        rest += ["--seconds", str(self.left())] if self.options.seconds else []
        rest += [f"--{kind}" for kind in KINDS if getattr(self.options, kind)]
        return [sys.executable, str(HERE / "run.py"), "--worker", *rest, *([{"compile": "--compile", "ir": "--ir", "ptx": "--ptx", True: "--gpu"}[self.options.gpu]] if self.options.gpu else [])]

    def run_child(self):
        child = subprocess.Popen(self.command(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        try:
            for line in self.lines(child):
                self.take(json.loads(line))
            code = child.wait(HANG)
        except TimeoutError:
            child.kill()
            code = "hung"
        errors = child.stderr.read()
        if code != 0:
            self.counts["crash"] += 1
            print(f"crash: batch {self.seed} ended with {code}\n{errors[-3000:]}", flush=True)
            self.seed += 1

    def lines(self, child):
        import selectors

        selector = selectors.DefaultSelector()
        selector.register(child.stdout, selectors.EVENT_READ)
        while True:
            if not selector.select(HANG):
                raise TimeoutError
            line = child.stdout.readline()
            if not line:
                return
            yield line

    def take(self, message):
        if "start" in message:
            self.seed = message["start"]
        elif "done" in message:
            self.programs += message["done"]
            self.seed += 1
        else:
            kind, source, types, text = message["problem"]
            self.counts[kind] += 1
            self.show(kind, source, tuple(types), text)

    def show(self, kind, source, types, text):
        import check

        problem = check.Problem(kind, source, types, text)
        if self.options.shrink and not any(getattr(self.options, kind) for kind in KINDS):  # those come in their smallest form
            print(f"batch {self.seed}, whole: {problem}", flush=True)
            from shrink import shrink

            problem = shrink(problem, kind if self.options.gpu == "compile" else self.options.gpu)
        print(f"batch {self.seed}: {problem}", flush=True)


def kept(path):
    """A program of found/: its first line says the parameter types."""
    source = path.read_text()
    types = tuple(source.splitlines()[0].removeprefix("# parameters: ").split())
    return source, types


def check_kept(path, gpu=False):
    """The Problem with a kept program, or None."""
    import check
    from shrink import function_name

    source, types = kept(path)
    program = check.judge(source, types, function_name(source))
    assert program is not None, "the oracle has no opinion"
    return check.check_one(program, gpu)


def main():
    options = parse()
    if options.worker:
        return worker(options)
    if options.program:
        problem = check_kept(options.program, options.gpu)
        print(problem or "as expected")
        return bool(problem)
    return Session(options).run()


if __name__ == "__main__":
    sys.exit(main())

"""Dask arrays: reductions of more than memory holds, with two processes; what a block costs; random numbers in blocks.

    python bench/dask.py [elements, 10**9] [overhead, random, reductions]

Peers are NumPy by the same blocks, in the same processes. The blocks are files in the folder for temporary files (TMPDIR), which
every task maps into its memory, so that the time is that of reading and reducing them; "nothing" is the time of Dask itself, for tasks
that map a block and leave it, and "reading" that of NumPy's maximum, which reads as fast as memory gives: no sum is faster. A second table has the blocks in the workers' own memory, as after `persist()`: there nothing is mapped, and
what is compared is the reading and reducing alone. Memory is each process's peak of resident memory less what it has after its first small call, in which
everything is loaded and compiled; the pages of a mapped block that are read count, too.
"""

import os
import resource
import sys
import tempfile
import threading
import time

sys.path[:] = [path for path in sys.path if os.path.abspath(path or ".") != os.path.dirname(os.path.abspath(__file__))]  # whose dask.py this is

import dask  # noqa: E402
import dask.array as da  # noqa: E402
import numpy as np  # noqa: E402

import lanewise as lw  # noqa: E402

BLOCKS, PROCESSES = 64, 2
square = lw.reduce(map=lambda x: (x * x, 1), combine=lambda a, b: (a[0] + b[0], a[1] + b[1]), finish=lambda total, n: np.sqrt(total / n))
sine = lw.vectorize(lambda x: np.sin(x))


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize() / 1e6


class Watch:
    """The most resident memory meanwhile, in MB above that of now."""

    def __enter__(self):
        self.before = self.most = resident()
        self.going = True
        self.thread = threading.Thread(target=self.look)
        self.thread.start()
        return self

    def look(self):
        while self.going:
            self.most = max(self.most, resident())
            time.sleep(0.005)

    def __exit__(self, *raised):
        self.going = False
        self.thread.join()
        self.above = self.most - self.before


def mapped(block, folder=""):
    """A block of the array, as it lies in a file."""
    return np.load(f"{folder}/{int(block[0])}.npy", mmap_mode="r")


def write(folder, elements):
    for block in range(BLOCKS):
        np.save(f"{folder}/{block}.npy", np.full(elements // BLOCKS, 1.0 + block))


def array(folder, elements):
    size = elements // BLOCKS
    return da.arange(BLOCKS, chunks=1, dtype="f8").map_blocks(mapped, folder=folder, chunks=((size,) * BLOCKS,), dtype="f8")


def numpy_sum(block):
    return np.atleast_1d(np.sum(block))


def numpy_var(block):
    return np.atleast_1d(np.var(block))


def numpy_max(block):
    return np.atleast_1d(np.max(block))


def numpy_square(block):
    return np.atleast_1d(np.sqrt(np.mean(block * block)))


def median_time(call, times=3):
    found = []
    for _ in range(times):
        begin = time.perf_counter()
        call()
        found.append(time.perf_counter() - begin)
    return sorted(found)[len(found) // 2]


def nothing(block):
    return np.zeros(1)


def in_turns(calls, times=3):
    """Median times of calls that alternate, so that what else the machine does meets all of them."""
    found = [[] for _ in calls]
    for _ in range(times):
        for own, call in zip(found, calls):
            own.append(median_time(call, 1))
    return [sorted(own)[times // 2] for own in found]


def reductions(elements):
    from distributed import Client, LocalCluster, wait

    with tempfile.TemporaryDirectory() as folder, LocalCluster(n_workers=PROCESSES, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
        write(folder, elements)
        client.run(small)
        x, block = array(folder, elements), elements // BLOCKS * 8 / 1e6
        print(f"{elements:.0e} float64 in {BLOCKS} files of {block:.0f} MB, {PROCESSES} processes")
        compare(client, x, block)
        if elements * 8 > 0.4 * os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"):
            print("not measured in the workers' memory: the machine has too little of it")
            return
        x = x.map_blocks(np.array, dtype="f8").persist()
        wait(x)
        print("the same in the workers' memory")
        compare(client, x, block)


def compare(client, x, block):
    """Each reduction beside NumPy's by the same blocks, and the memory that it takes beyond what is there before it."""
    idle = x.map_blocks(nothing, dtype="f8", chunks=((1,) * BLOCKS,))
    read = x.map_blocks(numpy_max, dtype="f8", chunks=((1,) * BLOCKS,))
    for name, lazy, numpys in (("sum", lw.reductions.sum(x), numpy_sum), ("var", lw.reductions.var(x), numpy_var), ("root mean square", square(x), numpy_square)):
        peer = x.map_blocks(numpys, dtype="f8", chunks=((1,) * BLOCKS,))
        lazy.compute(), peer.compute(), idle.compute(), read.compute()
        client.run(watch)
        with Watch() as here:
            lazy.compute()
        above = max(client.run(watched).values())
        ours, theirs, free, reading = in_turns((lazy.compute, peer.compute, idle.compute, read.compute))
        print(f"  {name:18} {ours:7.2f} s, NumPy by blocks {theirs:7.2f} s ({theirs / ours:.2f} x), reading {reading:.2f} s, nothing {free:.2f} s; "
              f"peak of a worker {above / block:.1f} blocks, of the client {here.above:.0f} MB", flush=True)


def small():
    lw.reductions.sum(np.ones(10)), lw.reductions.var(np.ones(10)), square(np.ones(10))


def watch():
    """In a worker, which has this file's functions by value: a module keeps it."""
    dask._watch = Watch().__enter__()


def watched():
    dask._watch.__exit__()
    return dask._watch.above


def overhead(blocks=2000):
    """Of small blocks, where what is counted is what surrounds them; in time of the CPU, for a few per cent are looked for."""
    x = da.ones(blocks * 10, chunks=10)
    ours, numpys = sine(x), x.map_blocks(np.sin, dtype="f8")
    run = {"ours": lambda: dask.compute(ours, scheduler="synchronous"), "numpy": lambda: dask.compute(numpys, scheduler="synchronous")}
    for call in run.values():
        call()
    found = {name: [] for name in run}
    for _ in range(9):
        for name, call in run.items():
            begin = time.process_time()
            call()
            found[name].append(time.process_time() - begin)
    a, b = (min(found[name]) for name in ("ours", "numpy"))  # what other processes disturb least
    print(f"a block of 10 elements: {a / blocks * 1e6:.0f} us, map_blocks(np.sin) {b / blocks * 1e6:.0f} us ({a / b:.2f} x)")


def random_numbers(elements):
    g = lw.random.Generator(1)
    n = min(elements, 10**8)
    at_once = median_time(lambda: lw.random.Generator(1).standard_normal(n), 1)
    whole = lw.random.Generator(1).standard_normal(n)
    for chunks in (n // 64, n // 7):
        lazy = g.jumped(0).standard_normal(n, chunks=chunks)
        begin = time.perf_counter()
        equal = bool(da.all(lazy == da.from_array(whole, chunks=chunks)).compute(scheduler="threads"))
        print(f"{n:.0e} normal numbers in blocks of {chunks}: {time.perf_counter() - begin:.2f} s with the comparison, at once {at_once:.2f} s; equal: {equal}")


if __name__ == "__main__":
    count = int(float(sys.argv[1])) if len(sys.argv) > 1 else 10**9
    only = sys.argv[2:]
    if not only or "overhead" in only:
        overhead()
    if not only or "random" in only:
        random_numbers(count)
    if not only or "reductions" in only:
        reductions(count)

"""What kernels promise of addresses holds for the addresses that they are launched with: every door, on arrays anywhere."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import launch_alignment as alignment

pytestmark = pytest.mark.skipif(shutil.which("gcc") is None, reason="no C compiler to build the fake driver with")

START = """
import numpy as np, lanewise as lw
from lanewise import cuda
def put(dtype, n, offset):
    size = n * np.dtype(dtype).itemsize
    return cuda.to_device(np.zeros(size + 32, "u1"))[offset:offset + size].view(dtype)
"""
ARRAYS = "for dtype in DTYPES:\n    for offset in (0, 1, 2, 4, 8, 12):\n        x, y, z = (put(dtype, n, o) for o in (offset, 0, 16 - offset))\n        "
# a scan of one row multiplies the row's number, 0, by a row's bytes: these are multiples of 16 here
DOORS = {
    "elementwise": "n = 300_001\nf = lw.vectorize(lambda a, b: a * b + a)\n" + ARRAYS
    + "f(x, y), f(x, x, out=z), f(x[::2], y[::2]), f(x[:-1], y[1:]), f(x[3:].astype('f8'), 1.5), f(x[:300_000].reshape(600, 500).T, y[:300_000].reshape(500, 600))",
    "gufuncs": "n = 12_600\n@lw.guvectorize('(n)->(n)')\ndef f(a, b):\n    for i in range(a.shape[0]):\n        b[i] = a[i] + a[0]\n" + ARRAYS
    + "f(x.reshape(4200, 3)), f(x.reshape(4200, 3), out=z.reshape(4200, 3)), f(y[3:].reshape(4199, 3)), f(x.reshape(3, 4200))",
    "reductions": "n = 60_000\nf = lw.reduce(lambda a, b: a + b)\n" + ARRAYS
    + "m = x.reshape(200, 300)\n        f(x), f(x[1:]), f(m, axis=0), f(m, axis=1), f(m[1:, ::2]), f(m[:, 1:], axis=1), f(m, axis=0, out=z[:300]), f(x, where=put('?', n, offset))",
    "scans": "n = 20_000\nf = lw.reduce(lambda a, b: a + b)\n" + ARRAYS
    + "f.accumulate(x), f.accumulate(x[1:-3]), f.accumulate(y, out=z) if dtype[0] in 'fc' else 0, f.accumulate(x.reshape(50, 400), axis=0), f.reduceat(x, [0, 5, 700]), f.by_key(put('i2', n, offset), x)",
    "kernels": "n = 3000\n@lw.forall\ndef f(i, a, b):\n    b[2 * i] = a[2 * i + 1]\n    b[2 * i + 1] = a[2 * i]\n" + ARRAYS
    + "f(1500, x, y), f(1500, y, x), f(1500, x, z), f(1499, y[1:], x[:-1])",
    "copies": "n = 3000\n" + ARRAYS
    + "a, b, c = (v.reshape(30, 100) for v in (x, y, z))\n        a.T[::2].copy(), a[:, ::2].astype('c16'), a.astype('f8') if dtype[0] != 'c' else 0, b.__setitem__((slice(None), slice(None, None, 2)), a[:, ::2])\n"
    "        c[:, 1::2] = 5\n        c[:, ::2] = b[:, ::2]\n"
    "    r = cuda.to_device(np.zeros((50, 40), [('k', 'i1'), ('x', dtype), ('y', 'f4')]))\n    r['x'].copy(), r[::2]['y'].copy(), r['x'].fill(3), r[::2, 1:].copy(), lw.reduce(lambda p, q: p)(r, axis=0)",
}


@pytest.mark.parametrize("door", DOORS)
def test_accesses_lie_where_kernels_say(door, fake_cuda, run_python, tmp_path, thorough):
    dtypes = ("i1", "i2", "f4", "f8", "c8", "c16") if thorough else ("i1", "f4", "c16")
    log = tmp_path / "log"
    done = run_python("-W", "ignore", "-c", START + f"DTYPES = {dtypes}\n" + DOORS[door], check=False, LANEWISE_CUDA_DRIVER=fake_cuda, LW_FAKE_DRIVER="1", FAKE_CUDA_LOG=str(log),
                      LANEWISE_DUMP="llvm", LANEWISE_CACHE_SIZE_MB="0")
    assert done.returncode == 0, done.stderr[-3000:]
    n_launches, n_accesses, faults = alignment.check(done.stdout + done.stderr, Path(log).read_text())
    assert not faults, "\n".join(sorted(faults)[:20])
    assert n_launches > 50 and n_accesses > (500 if thorough else 200)


KERNEL = """---- llvm of f ----
target triple = "nvptx64-nvidia-cuda"

define void @f(i8* %p0, i64 %p1) nounwind {
entry:
  %s = alloca i64, !dbg !1
  store i64 0, i64* %s, !dbg !1
  br label %loop
loop:
  %v1 = load i64, i64* %s, !dbg !1
  %v2 = mul i64 %v1, %p1, !dbg !1
  %v3 = getelementptr i8, i8* %p0, i64 %v2, !dbg !1
  %t0 = bitcast i8* %v3 to double*, !dbg !1
  %v4 = load double, double* %t0, align 8, !dbg !1
  %v5 = add i64 %v1, 1, !dbg !1
  store i64 %v5, i64* %s, !dbg !1
  br label %loop
}
"""


@pytest.mark.parametrize("address, stride, good", [(0x7f0000000010, 8, True), (0x7f0000000010, 24, True), (0x7f0000000008, 16, True), (0x7f0000000014, 8, False),
                                                   (0x7f0000000010, 12, False), (0x7f0000000011, 8, False)])
def test_the_walk_itself(address, stride, good):
    launches, accesses, faults = alignment.check(KERNEL, f"  image 1\n  values 1 f {address:x} {stride:x}\n")
    assert (launches, accesses, not faults) == (1, 1, good)

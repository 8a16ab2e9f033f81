"""The vectorize door: python examples/vectorize.py. Runs on the CPU, and on a GPU where there is one."""

# Functions that lanewise compiles are typed by their calls, and have no annotations.
# mypy: disable-error-code="no-untyped-def,no-untyped-call"

import math

import numpy as np

import lanewise as lw


# Without signatures: compiled for each new tuple of dtypes. float32 stays float32.
@lw.vectorize
def logistic(x, steepness=1.0):
    return 1.0 / (1.0 + math.exp(-steepness * x))


# With signatures, in any order. Two outputs by returning a tuple.
@lw.vectorize(["(float64, float64)", "(float32, float32)"])
def polar(x, y):
    return math.hypot(x, y), math.atan2(y, x)


# Loops, branches and complex numbers are fine.
@lw.vectorize
def escape(x, y):
    c = complex(x, y)
    z = 0j
    for i in range(100):
        z = z * z + c
        if abs(z) > 2:
            return i
    return 100


# Reductions start from the identity, so it must not be larger than any number: 0 would be wrong for negative ones.
@lw.vectorize(["int64(int64, int64)"], identity=-(2**63))
def larger(a, b):
    return a if a > b else b


def main() -> None:
    x = np.linspace(-4, 4, 9, dtype=np.float32)
    print("logistic:", logistic(x), logistic(x).dtype)

    radius, angle = polar(np.array([3.0, 0.0]), np.array([4.0, 2.0]))
    print("polar:", radius, angle, polar.types)

    # every keyword of numpy.ufunc
    out = np.zeros(9, np.float32)
    logistic(x, out=out, where=x > 0)
    print("where:", out)

    print("reduce:", larger.reduce([3, 1, 4, 1, 5]), larger.accumulate([3, 1, 4, 1, 5]), larger.reduce(np.array([], np.int64)))
    print("outer:", larger.outer([1, 4], [2, 3]).tolist())

    y, x = np.ogrid[-1.5:1.5:400j, -2.0:1.0:400j]
    count = escape(x, y)
    print("escape:", count.shape, count.dtype, int(count.sum()))

    if lw.cuda.is_available():
        on_gpu = escape(lw.cuda.to_device(x), lw.cuda.to_device(y))
        print("the same on the GPU:", np.array_equal(on_gpu.copy_to_host(), count))

    # ahead of time, for any machine: here assembler text of this CPU's loop
    assembler = lw.compile(math_free, "float32(float32, float32)", target="cpu", output="asm")
    print("assembler:", len(assembler.splitlines()), "lines")


def math_free(a, b):
    return a * b + a


if __name__ == "__main__":
    main()

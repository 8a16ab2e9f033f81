"""`lw.vectorize`: functions of numbers, on the CPU and on a GPU if there is one. Run: python examples/vectorize.py"""

# Functions that lanewise compiles are typed by their calls, and have no annotations.
# mypy: disable-error-code="no-untyped-def,no-untyped-call"

import math

import numpy as np

import lanewise as lw


# Without signatures, the function is compiled for each new combination of dtypes. float32 stays float32.
@lw.vectorize
def logistic(x, steepness=1.0):
    return 1.0 / (1.0 + math.exp(-steepness * x))


# Signatures may be given in any order. A function that returns a tuple has several outputs.
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


# `reduce` starts from the identity, here the smallest int64. 0 would be wrong for arrays of negative numbers.
@lw.vectorize(["int64(int64, int64)"], identity=-(2**63))
def larger(a, b):
    return a if a > b else b


def main() -> None:
    x = np.linspace(-4, 4, 9, dtype=np.float32)
    print("logistic:", logistic(x), logistic(x).dtype)

    radius, angle = polar(np.array([3.0, 0.0]), np.array([4.0, 2.0]))
    print("polar:", radius, angle, polar.types)

    # calls accept the keywords of numpy.ufunc
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

    # compile ahead of time, here to assembly for this CPU
    assembler = lw.compile(math_free, "float32(float32, float32)", target="cpu", output="asm")
    print("assembler:", len(assembler.splitlines()), "lines")


def math_free(a, b):
    return a * b + a


if __name__ == "__main__":
    main()

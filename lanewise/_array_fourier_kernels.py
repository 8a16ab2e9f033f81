"""Kernels of `lanewise/_array_fourier.py`: the passes of a fast Fourier transform.

A pass of radix r takes an array as [batch][r][m][s] and makes [batch][m][r][s] of it, where n = r * m elements are left to transform
and s is the number of elements that belong together: a butterfly of r elements, times powers of the n-th root of one (T. G. Stockham,
"High-speed convolution and correlation", 1966: after the last pass the elements are in order). Neighbouring threads read and, but for the
first passes, write neighbouring elements.
"""

import math


import lanewise as lw


@lw.forall
def roots(k, n, out):
    """exp(-2 pi i k / n): the angle is taken within an eighth of the circle, where it is exact to the last digit."""
    eighths = 8 * k // n
    quarter = (eighths + 1) // 2  # the nearest axis
    angle = 2.0 * math.pi * ((4 * k - quarter * n) / (4.0 * n))
    c, s = math.cos(angle), math.sin(angle)
    side = quarter % 4
    if side == 1:
        c, s = -s, c
    elif side == 2:
        c, s = -c, -s
    elif side == 3:
        c, s = s, -c
    out[k] = out.dtype.type(complex(c, -s))


@lw.forall
def chirp(k, n, out):
    """exp(-pi i k**2 / n), of Bluestein's method."""
    step = (k * k) % (2 * n)
    angle = math.pi * (step if step <= n else step - 2 * n) / n
    out[k] = out.dtype.type(complex(math.cos(angle), -math.sin(angle)))


@lw.forall(ndim=2, warn=False)
def butterfly_2(b, t, x, w, m, s, step, sign, scale, out):
    p, q = t // s, t % s
    w1 = w[p * step]
    w1 = complex(w1.real, sign * w1.imag)
    a0, a1 = scale * x[b, t], scale * x[b, t + s * m]
    at = q + 2 * s * p
    out[b, at] = a0 + a1
    out[b, at + s] = (a0 - a1) * w1


@lw.forall(ndim=2, warn=False)
def butterfly_3(b, t, x, w, m, s, step, sign, scale, out):
    p, q = t // s, t % s
    real = type(out.real[0, 0])
    w1, w2 = w[p * step], w[2 * p * step]
    w1, w2 = complex(w1.real, sign * w1.imag), complex(w2.real, sign * w2.imag)
    h = s * m
    a0, a1, a2 = scale * x[b, t], scale * x[b, t + h], scale * x[b, t + 2 * h]
    both, apart = a1 + a2, (a1 - a2) * complex(real(0), -sign * real(0.8660254037844386))
    middle = a0 - both * real(0.5)
    at = q + 3 * s * p
    out[b, at] = a0 + both
    out[b, at + s] = (middle + apart) * w1
    out[b, at + 2 * s] = (middle - apart) * w2


@lw.forall(ndim=2, warn=False)
def butterfly_4(b, t, x, w, m, s, step, sign, scale, out):
    p, q = t // s, t % s
    real = type(out.real[0, 0])
    w1, w2, w3 = w[p * step], w[2 * p * step], w[3 * p * step]
    w1, w2, w3 = complex(w1.real, sign * w1.imag), complex(w2.real, sign * w2.imag), complex(w3.real, sign * w3.imag)
    h = s * m
    a0, a1, a2, a3 = scale * x[b, t], scale * x[b, t + h], scale * x[b, t + 2 * h], scale * x[b, t + 3 * h]
    c0, c1, c2, c3 = a0 + a2, a0 - a2, a1 + a3, (a1 - a3) * complex(real(0), -sign)
    at = q + 4 * s * p
    out[b, at] = c0 + c2
    out[b, at + s] = (c1 + c3) * w1
    out[b, at + 2 * s] = (c0 - c2) * w2
    out[b, at + 3 * s] = (c1 - c3) * w3


@lw.forall(ndim=2, warn=False, static="radix")
def butterfly(b, t, x, w, radix, m, s, step, sign, scale, out):
    """Of any radix: sums over all pairs of elements."""
    p, q = t // s, t % s
    h = s * m
    for j in range(radix):
        total = scale * out.dtype.type(x[b, t])
        for k in range(1, radix):
            root = w[(j * k % radix) * m * step]
            total += scale * x[b, t + k * h] * complex(root.real, sign * root.imag)
        root = w[j * p * step]
        out[b, q + s * (radix * p + j)] = total * complex(root.real, sign * root.imag)


@lw.forall(ndim=3)
def chirped(b, k, q, x, chirp, n, sign, scale, out):
    """x times the chirp, filled up with zeros."""
    out[b, k, q] = out.dtype.type(scale * x[b, k, q] * complex(chirp[k].real, sign * chirp[k].imag)) if k < n else out.dtype.type(0)


@lw.forall
def reversed_chirp(k, chirp, n, size, out):
    """The conjugate chirp, and its mirror image at the end."""
    if k < n:
        out[k] = chirp[k].conjugate()
    elif k > size - n:
        out[k] = chirp[size - k].conjugate()
    else:
        out[k] = out.dtype.type(0)


@lw.forall(ndim=3)
def times_spectrum(b, k, q, x, spectrum, sign):
    x[b, k, q] *= complex(spectrum[k].real, sign * spectrum[k].imag)


@lw.forall(ndim=3)
def mirrored(b, k, q, x, n, out):
    """All n elements of a spectrum from its first half, of which the others are the conjugates."""
    if k < x.shape[1]:
        z = x[b, k, q]
        out[b, k, q] = complex(z.real, out.dtype.type(0).real) if k == 0 or 2 * k == n else z
    else:
        out[b, k, q] = x[b, n - k, q].conjugate()


@lw.forall(ndim=2, warn=False)
def from_half(b, k, z, w, scale, out):
    """The spectrum of real numbers from that of half as many complex ones, whose parts are the even and the odd elements."""
    h = z.shape[1]
    one, two = z[b, k % h], z[b, (h - k) % h].conjugate()
    real = type(out.real[0, 0])
    odd = (one - two) * complex(real(0), real(-1))
    out[b, k] = scale * ((one + two) + odd * w[k])


@lw.forall(ndim=2, warn=False)
def to_half(b, k, x, w, scale, z):
    """The reverse, without the last element of x, which is the spectrum's at k = h."""
    h = z.shape[1]
    real = type(z.real[0, 0])
    one, two = x[b, k], x[b, h - k]
    if k == 0:  # these two are real
        one, two = complex(one.real, real(0)), complex(two.real, real(0))
    two = two.conjugate()
    odd = (one - two) * w[k].conjugate()
    z[b, k] = scale * ((one + two) + odd * complex(real(0), real(1)))

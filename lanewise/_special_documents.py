"""What the docstrings of the functions of lanewise.special say: the meaning, arguments of an example, and its result in six digits."""

from __future__ import annotations

import inspect
from typing import Any

_MEANINGS = {
    "beta": ("the beta function, gamma(a) * gamma(b) / gamma(a + b)", "2.0, 3.5", "0.0634921"),
    "betainc": ("the regularized incomplete beta function: the probability that a number of the beta distribution is at most x", "2.0, 3.0, 0.25", "0.261719"),
    "betaincc": ("1 - betainc(a, b, x), without cancellation", "2.0, 3.0, 0.25", "0.738281"),
    "betaincinv": ("the x for which betainc(a, b, x) is y", "2.0, 3.0, 0.25", "0.243022"),
    "betainccinv": ("the x for which betaincc(a, b, x) is y", "2.0, 3.0, 0.25", "0.543678"),
    "betaln": ("the logarithm of the absolute value of the beta function", "2.0, 300.0", "-11.4109"),
    "binom": ("the binomial coefficient of real numbers", "5.5, 2.0", "12.375"),
    "boxcox": ("the Box-Cox transformation, (x**lmbda - 1) / lmbda, or log(x) where lmbda is 0", "3.0, 0.5", "1.4641"),
    "boxcox1p": ("the Box-Cox transformation of 1 + x", "0.5, 0.5", "0.44949"),
    "cbrt": ("the cube root", "2.0", "1.25992"),
    "chdtr": ("the probability that a number of the chi-square distribution with v degrees of freedom is at most x", "3.0, 2.0", "0.427593"),
    "chdtrc": ("the probability that it is larger than x", "3.0, 2.0", "0.572407"),
    "chdtri": ("the x for which chdtrc(v, x) is p", "3.0, 0.25", "4.10834"),
    "comb": ("the number of ways to choose k of N things; with exact=True, of integers, as an int64, and an OverflowError where it does not fit", "10, 3", "120"),
    "cosm1": ("cos(x) - 1, without cancellation", "0.001", "-5e-07"),
    "dawsn": ("Dawson's integral, exp(-x**2) times the integral of exp(t**2) from 0 to x", "1.5", "0.428249"),
    "ellipe": ("the complete elliptic integral of the second kind, of the parameter m", "0.5", "1.35064"),
    "ellipk": ("the complete elliptic integral of the first kind, of the parameter m", "0.5", "1.85407"),
    "ellipkm1": ("ellipk(1 - p), without the rounding of 1 - p", "1e-20", "24.4121"),
    "entr": ("-x * log(x): 0 at 0, and -inf below", "0.25", "0.346574"),
    "erf": ("the error function", "0.5", "0.5205"),
    "erfc": ("1 - erf(x), without cancellation", "2.0", "0.00467773"),
    "erfcinv": ("the x for which erfc(x) is y", "0.25", "0.81342"),
    "erfcx": ("exp(x**2) * erfc(x), without overflow", "30.0", "0.0187959"),
    "erfinv": ("the x for which erf(x) is y", "0.25", "0.225312"),
    "exp1": ("the exponential integral E1", "1.5", "0.10002"),
    "exp10": ("10**x", "0.5", "3.16228"),
    "exp2": ("2**x", "0.5", "1.41421"),
    "expi": ("the exponential integral Ei", "1.5", "3.30129"),
    "expit": ("the logistic function, 1 / (1 + exp(-x))", "0.5", "0.622459"),
    "expm1": ("exp(x) - 1, without cancellation", "1e-5", "1.00001e-05"),
    "expn": ("the exponential integral of order n, an integer of at least 0", "2, 1.5", "0.0731008"),
    "exprel": ("(exp(x) - 1) / x, without cancellation", "0.5", "1.29744"),
    "factorial": ("n!, and 0 below 0; with exact=True, of integers, as an int64, and an OverflowError where it does not fit", "5", "120"),
    "fresnel": ("the Fresnel integrals S and C, a tuple", "1.5", ("0.697505", "0.445261")),
    "gamma": ("the gamma function", "2.5", "1.32934"),
    "gammainc": ("the regularized lower incomplete gamma function: the probability that a number of the gamma distribution of shape a is at most x", "2.0, 1.5", "0.442175"),
    "gammaincc": ("1 - gammainc(a, x), without cancellation", "2.0, 1.5", "0.557825"),
    "gammaincinv": ("the x for which gammainc(a, x) is y", "2.0, 0.25", "0.961279"),
    "gammainccinv": ("the x for which gammaincc(a, x) is y", "2.0, 0.25", "2.69263"),
    "gammaln": ("the logarithm of the absolute value of the gamma function", "100.0", "359.134"),
    "gammasgn": ("the sign of the gamma function", "-0.5", "-1"),
    "huber": ("the Huber loss: r**2 / 2 up to delta, and linear beyond", "1.0, 3.0", "2.5"),
    "i0": ("the modified Bessel function of the first kind, of order 0", "1.5", "1.64672"),
    "i0e": ("exp(-abs(x)) * i0(x)", "1.5", "0.367434"),
    "i1": ("the modified Bessel function of the first kind, of order 1", "1.5", "0.981666"),
    "i1e": ("exp(-abs(x)) * i1(x)", "1.5", "0.219039"),
    "inv_boxcox": ("the inverse of boxcox", "1.5, 0.5", "3.0625"),
    "inv_boxcox1p": ("the inverse of boxcox1p", "1.5, 0.5", "2.0625"),
    "iv": ("the modified Bessel function of the first kind, of real order v", "0.5, 1.5", "1.38716"),
    "ive": ("exp(-abs(x)) * iv(v, x)", "0.5, 1.5", "0.309518"),
    "j0": ("the Bessel function of the first kind, of order 0", "1.5", "0.511828"),
    "j1": ("the Bessel function of the first kind, of order 1", "1.5", "0.557937"),
    "jv": ("the Bessel function of the first kind, of real order v", "0.5, 1.5", "0.649838"),
    "k0": ("the modified Bessel function of the second kind, of order 0", "1.5", "0.213806"),
    "k0e": ("exp(x) * k0(x)", "1.5", "0.95821"),
    "k1": ("the modified Bessel function of the second kind, of order 1", "1.5", "0.277388"),
    "k1e": ("exp(x) * k1(x)", "1.5", "1.24317"),
    "kl_div": ("x * log(x / y) - x + y, of which the Kullback-Leibler divergence is the sum", "0.25, 0.5", "0.0767132"),
    "kn": ("the modified Bessel function of the second kind, of integer order n", "2, 1.5", "0.583656"),
    "kv": ("the modified Bessel function of the second kind, of real order v", "0.5, 1.5", "0.228335"),
    "kve": ("exp(x) * kv(v, x)", "0.5, 1.5", "1.02333"),
    "lambertw": ("a branch of the Lambert W function, as a complex number: the w for which w * exp(w) is z, a real number", "1.0", "0.567143+0j"),
    "log1p": ("log(1 + x), without the rounding of 1 + x", "1e-5", "9.99995e-06"),
    "log_expit": ("log(expit(x)), without overflow", "-800.0", "-800"),
    "log_ndtr": ("the logarithm of ndtr(x), also where that underflows", "-50.0", "-1254.83"),
    "loggamma": ("the logarithm of the gamma function; NaN below 0, where it is complex", "2.5", "0.284683"),
    "logit": ("log(p / (1 - p)), the inverse of expit", "0.25", "-1.09861"),
    "ndtr": ("the probability that a standard normal number is at most x", "0.5", "0.691462"),
    "ndtri": ("the x for which ndtr(x) is p", "0.25", "-0.67449"),
    "pdtr": ("the probability that a number of the Poisson distribution of mean m is at most k", "2.0, 1.5", "0.808847"),
    "pdtrc": ("the probability that it is larger than k", "2.0, 1.5", "0.191153"),
    "perm": ("the number of ordered selections of k of N things; with exact=True, of integers, as an int64, and an OverflowError where it does not fit", "10, 3", "720"),
    "poch": ("the Pochhammer symbol, gamma(z + m) / gamma(z)", "2.5, 1.5", "4.51352"),
    "polygamma": ("the n-th derivative of psi, of an integer n of at least 0", "1, 2.5", "0.490358"),
    "pseudo_huber": ("the pseudo-Huber loss, delta**2 * (sqrt(1 + (r / delta)**2) - 1)", "1.0, 3.0", "2.16228"),
    "psi": ("the digamma function, the derivative of gammaln", "2.5", "0.703157"),
    "rel_entr": ("x * log(x / y), of which the relative entropy is the sum", "0.25, 0.5", "-0.173287"),
    "rgamma": ("1 / gamma(x)", "2.5", "0.752253"),
    "shichi": ("the hyperbolic sine and cosine integrals Shi and Chi, a tuple", "1.5", ("1.70065", "1.60063")),
    "sici": ("the sine and cosine integrals Si and Ci, a tuple", "1.5", ("1.32468", "0.470356")),
    "sinc": ("sin(pi * x) / (pi * x), also of complex numbers", "0.25", "0.900316"),
    "softplus": ("log(1 + exp(x)), without overflow", "0.5", "0.974077"),
    "xlog1py": ("x * log1p(y), and 0 where x is 0", "2.0, 0.5", "0.81093"),
    "xlogy": ("x * log(y), and 0 where x is 0", "2.0, 0.5", "-1.38629"),
    "y0": ("the Bessel function of the second kind, of order 0", "1.5", "0.382449"),
    "y1": ("the Bessel function of the second kind, of order 1", "1.5", "-0.412309"),
    "yn": ("the Bessel function of the second kind, of integer order n", "2, 1.5", "-0.932194"),
    "yv": ("the Bessel function of the second kind, of real order v", "0.5, 1.5", "-0.0460832"),
    "zeta": ("the Hurwitz zeta function, the sum of (k + q)**-x over k >= 0; Riemann's, with q = 1, where q is not given", "3.0", "1.20206"),
    "zetac": ("Riemann's zeta(x) - 1, without cancellation", "20.0", "9.53962e-07"),
}


_TYPE = """The result is float32 if an
    argument is float32 and all others are float32, float16, bools or Python numbers; otherwise it is float64. Complex arguments are a TypingError."""

_TYPES = {
    "lambertw": "The result is complex64 if\n    z is float32, otherwise complex128. A complex z is a TypingError.",
    "sinc": "The result is float64 for bools\n    and integers; otherwise it has the dtype of x.",
}


def document(name: str, function: Any) -> str:
    """The docstring of the function `name`."""
    meaning, arguments, result = _MEANINGS[name]
    call = f"lw.special.{name}({arguments})"
    example = f'f"{{{call}:.6g}}"\n    {result!r}' if isinstance(result, str) else f'[f"{{x:.6g}}" for x in {call}]\n    {list(result)!r}'
    return f"""{name}{inspect.signature(function)}: {meaning}, as scipy.special.{name}.

    Takes numbers and arrays of shapes that can be broadcast together, on the host or on a device. {_TYPES.get(name, _TYPE)}
    For arguments outside the domain, the result is NaN, with a RuntimeWarning as numpy.errstate says. The page "Special functions" of
    the documentation has the accuracy, and what differs from SciPy.

    >>> {example}
    """

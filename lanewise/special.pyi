"""The functions of scipy.special as ufuncs of lanewise, for host and device arrays."""

from typing import Any

from lanewise._core import Ufunc

__all__ = [
    "beta", "betainc", "betaincc", "betainccinv", "betaincinv", "betaln", "binom", "boxcox",
    "boxcox1p", "cbrt", "chdtr", "chdtrc", "chdtri", "comb", "cosm1", "dawsn", "digamma",
    "ellipe", "ellipk", "ellipkm1", "entr", "erf", "erfc", "erfcinv", "erfcx", "erfinv",
    "exp1", "exp10", "exp2", "expi", "expit", "expm1", "expn", "exprel", "factorial",
    "fresnel", "gamma", "gammainc", "gammaincc", "gammainccinv", "gammaincinv", "gammaln",
    "gammasgn", "huber", "i0", "i0e", "i1", "i1e", "inv_boxcox", "inv_boxcox1p", "iv", "ive",
    "j0", "j1", "jn", "jv", "k0", "k0e", "k1", "k1e", "kl_div", "kn", "kv", "kve", "lambertw",
    "log1p", "log_expit", "log_ndtr", "loggamma", "logit", "ndtr", "ndtri", "pdtr", "pdtrc",
    "perm", "poch", "polygamma", "pseudo_huber", "psi", "rel_entr", "rgamma", "shichi", "sici",
    "sinc", "softplus", "xlog1py", "xlogy", "y0", "y1", "yn", "yv", "zeta", "zetac",
]

beta: Ufunc
betainc: Ufunc
betaincc: Ufunc
betainccinv: Ufunc
betaincinv: Ufunc
betaln: Ufunc
binom: Ufunc
boxcox: Ufunc
boxcox1p: Ufunc
cbrt: Ufunc
chdtr: Ufunc
chdtrc: Ufunc
chdtri: Ufunc
comb: Ufunc
cosm1: Ufunc
dawsn: Ufunc
digamma: Ufunc
ellipe: Ufunc
ellipk: Ufunc
ellipkm1: Ufunc
entr: Ufunc
erf: Ufunc
erfc: Ufunc
erfcinv: Ufunc
erfcx: Ufunc
erfinv: Ufunc
exp1: Ufunc
exp10: Ufunc
exp2: Ufunc
expi: Ufunc
expit: Ufunc
expm1: Ufunc
expn: Ufunc
exprel: Ufunc
factorial: Ufunc
fresnel: Ufunc[tuple[Any, Any]]
gamma: Ufunc
gammainc: Ufunc
gammaincc: Ufunc
gammainccinv: Ufunc
gammaincinv: Ufunc
gammaln: Ufunc
gammasgn: Ufunc
huber: Ufunc
i0: Ufunc
i0e: Ufunc
i1: Ufunc
i1e: Ufunc
inv_boxcox: Ufunc
inv_boxcox1p: Ufunc
iv: Ufunc
ive: Ufunc
j0: Ufunc
j1: Ufunc
jn: Ufunc
jv: Ufunc
k0: Ufunc
k0e: Ufunc
k1: Ufunc
k1e: Ufunc
kl_div: Ufunc
kn: Ufunc
kv: Ufunc
kve: Ufunc
lambertw: Ufunc
log1p: Ufunc
log_expit: Ufunc
log_ndtr: Ufunc
loggamma: Ufunc
logit: Ufunc
ndtr: Ufunc
ndtri: Ufunc
pdtr: Ufunc
pdtrc: Ufunc
perm: Ufunc
poch: Ufunc
polygamma: Ufunc
pseudo_huber: Ufunc
psi: Ufunc
rel_entr: Ufunc
rgamma: Ufunc
shichi: Ufunc[tuple[Any, Any]]
sici: Ufunc[tuple[Any, Any]]
sinc: Ufunc
softplus: Ufunc
xlog1py: Ufunc
xlogy: Ufunc
y0: Ufunc
y1: Ufunc
yn: Ufunc
yv: Ufunc
zeta: Ufunc
zetac: Ufunc

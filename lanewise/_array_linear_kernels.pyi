from lanewise._core import Forall, Gufunc, Kernel

THREADS: int
cholesky: Gufunc
det: Gufunc
divide: Forall
downdate: Forall
eigh: Gufunc
eigvalsh: Gufunc
eliminate: Forall
inv: Gufunc
pivot: Kernel
qr: Gufunc
root: Kernel
rotate: Kernel
slogdet: Gufunc
solve: Gufunc
substitute: Forall
svd: Gufunc
svdvals: Gufunc
triangle: Gufunc

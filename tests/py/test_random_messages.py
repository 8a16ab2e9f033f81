"""What is said of bad arguments of distributions: the argument's own name and limit."""

import numpy as np
import pytest

import lanewise as lw

BAD = {
    "negative_binomial": (lambda g: g.negative_binomial(1e20, 0.5), r"^n too large or p too small: n \* \(1 - p\) / p must be at most about 1e\+15, not 1e\+20$"),
    "negative_binomial, array": (lambda g: g.negative_binomial(5.0, 1e-17, size=3), "^n too large or p too small"),
    "negative_binomial, dtype": (lambda g: g.negative_binomial(1000.0, 0.5, size=3, dtype="i1"), r"^n \* \(1 - p\) / p is too large for numbers of int8"),
    "hypergeometric": (lambda g: g.hypergeometric(2**53, 1, 1), r"ngood must be at least 0 and less than 10\*\*9, not 9007199254740992$"),
    "hypergeometric, sample": (lambda g: g.hypergeometric(1, 1, 10**9, size=2), r"nsample must be at least 0 and less than 10\*\*9"),
    "multivariate_hypergeometric": (lambda g: g.multivariate_hypergeometric([6 * 10**8] * 2, 3), r"^sum\(colors\) must be less than 10\*\*9, not 1200000000$"),
    "binomial": (lambda g: g.binomial([2**53 + 1], 0.5), r"n must be from 0 to 2\*\*53, not 9007199254740993$"),
    "choice": (lambda g: g.choice(2**64), r"^a must be at most 2\*\*63 - 1, not 18446744073709551616$"),
    "zipf": (lambda g: g.zipf(2.0, size=3, dtype="i4"), "^a is so small that numbers would exceed the range of int32 with a probability above 1e-30: use a wider dtype$"),
    "chunks": (lambda g: g.random(10, chunks=0), "^chunks= must be sizes of blocks, at least 1, or -1 for the whole axis, not 0$"),
    "chunks of an axis": (lambda g: g.random((10, 2), chunks={0: 0}), "chunks= must be sizes of blocks"),
    "negative chunks": (lambda g: g.random(10, chunks=-3), "chunks= must be sizes of blocks"),
    "a negative chunk": (lambda g: g.random(10, chunks=((-1, 11),)), "chunks= must be sizes of blocks"),
    "chunks of an axis that is not there": (lambda g: g.random(10, chunks={3: 5}), r"chunks= has axis 3, but an array of shape \(10,\) has 1 axes"),
    "chunks of another size": (lambda g: g.random(10, chunks=(3, 3)), r"chunks=\(3, 3\) does not divide an array of shape \(10,\)"),
    "chunks of nothing": (lambda g: g.random(10, chunks="x"), "chunks='x' does not divide an array"),
}


@pytest.mark.parametrize("name", BAD)
def test_values(name):
    call, text = BAD[name]
    if "chunk" in name:
        pytest.importorskip("dask.array")
    g = lw.random.Generator(1)
    with pytest.raises(ValueError, match=text):
        call(g)
    assert g.random() == lw.random.Generator(1).random()  # nothing was taken from the stream


def test_negative_binomial_at_its_limit():
    g = lw.random.Generator(1)
    assert 0.9e15 < g.negative_binomial(9.9e14, 0.5) < 1e15
    assert (g.negative_binomial([9.9e14, 3.0], [0.5, 0.9], size=(4, 2)) >= 0).all()


def test_zipf_of_narrow_dtypes():
    wide, narrow = (lw.random.Generator(5).zipf(5.0, size=1000, dtype=dtype) for dtype in ("i8", "i4"))
    assert narrow.dtype == np.int32 and (wide == narrow).all()
    assert lw.random.Generator(5).zipf([20.0, 30.0], size=(3, 2), dtype="u1").dtype == np.uint8


def test_what_has_no_chunks():
    da = pytest.importorskip("dask.array")
    g, x = lw.random.Generator(1), da.arange(9, chunks=2)
    for call, text in (
        (lambda: g.choice(10, 3, replace=False, chunks=2), r"choice\(replace=False\) does not accept chunks=: .* dask.array.from_array"),
        (lambda: g.choice(x, 3), r"a is a Dask array, .* pass a.compute\(\), or draw indices, as in a\[g.choice\(len\(a\), size\)\]"),
        (lambda: g.permutation(x), r"x is a Dask array, .* as in x\[g.permutation\(len\(x\)\)\]"),
        (lambda: g.permuted(x), "x is a Dask array"), (lambda: g.shuffle(x), "x is a Dask array"),
        (lambda: g.permutation(9, chunks=2), r"permutation\(\) got an unexpected keyword argument 'chunks'"),
        (lambda: g.shuffle(np.arange(9), chunks=2), r"shuffle\(\) got an unexpected keyword argument 'chunks'"),
        (lambda: lw.random.Generator(1, "xoroshiro128p").random(9, chunks=2), r"xoroshiro128p.*spawn\(\) to make one generator for each block"),
        (lambda: g.random(9, chunks=2.5), "chunks= must be ints"), (lambda: g.random(9, chunks=True), "chunks= must be ints"),
        (lambda: g.normal(x, chunks=2, size=9), "loc must be numbers, not a Dask array"),
    ):
        with pytest.raises(TypeError, match=text):
            call()
    order = g.permutation(len(x))
    assert (x[order].compute(scheduler="synchronous") == order).all()


@pytest.mark.parametrize("chunks", ["auto", "1MiB", (None, 2), {0: 3}, (-1, (1, 4)), 10**6, ((0, 7), 5)])
def test_chunks_of_every_kind(chunks):
    pytest.importorskip("dask.array")
    x = lw.random.Generator(2).random((7, 5), chunks=chunks)
    assert (x.compute(scheduler="synchronous") == lw.random.Generator(2).random((7, 5))).all()


NUMBERS = {"uniform": (), "normal": (), "exponential": (), "random": (), "gamma": (2.0,), "poisson": (3.0,), "integers": (9,), "binomial": (5, 0.4), "zipf": (2.0,),
           "noncentral_chisquare": (3.0, 1.0), "noncentral_f": (3.0, 5.0, 1.0), "negative_binomial": (5, 0.4), "triangular": (0, 1, 2), "vonmises": (0, 1),
           "logseries": (0.3,), "geometric": (0.3,), "wald": (1.0, 1.0), "standard_t": (3,), "f": (3, 4), "beta": (1, 2), "chisquare": (3,), "laplace": ()}


@pytest.mark.parametrize("name", NUMBERS)
def test_out_is_an_array_and_a_size_of_no_axes_gives_one(name):
    parameters = NUMBERS[name]
    for more in (parameters, ([parameters[0]] * 2, *parameters[1:]) if parameters else ()):
        with pytest.raises(TypeError, match="^out must be a NumPy or device array, not list$"):
            getattr(lw.random.Generator(5), name)(*more, out=[0.0, 0.0])
    one, none = (getattr(lw.random.Generator(5), name)(*parameters, size=size) for size in ((), None))
    assert type(one) is np.ndarray and one.shape == () and one == none and not isinstance(none, np.ndarray)
    place = lw.random.Generator(5)
    into = getattr(place, name)(*parameters, out=np.zeros((), one.dtype))
    assert into == one


def test_keywords_that_methods_do_not_have():
    g = lw.random.Generator(5)
    for call, name in ((lambda: g.dirichlet([1.0, 2.0], out=np.zeros(2)), "dirichlet"), (lambda: g.multinomial(3, [0.5, 0.5], dtype="i4"), "multinomial"),
                       (lambda: g.multivariate_normal([0.0], [[1.0]], out=0), "multivariate_normal"), (lambda: g.choice(3, out=0), "choice")):
        with pytest.raises(TypeError, match=rf"^Generator.{name}\(\) got an unexpected keyword"):
            call()


@pytest.mark.parametrize("states", [np.zeros(4), np.zeros((4, 2), np.uint64), np.zeros(4, [("a", "u8"), ("b", "u8")]), np.zeros((2, 2), lw.random.xoroshiro128p_dtype)], ids=range(4))
def test_states_that_are_none(states):
    def drawn(i, states, out):
        out[i] = lw.random.xoroshiro128p_normal_float32(states, i)

    def jumped(i, states, out):
        lw.random.xoroshiro128p_jump(states, i)

    def seeded(i, states, out):
        lw.random.init_xoroshiro128p_state(states, i, 3)

    for function in (drawn, jumped, seeded):
        with pytest.raises(TypeError, match="states must be an array of xoroshiro128p_dtype with one dimension"):
            lw.forall(function)(2, states, np.zeros(2))


@pytest.mark.parametrize("states", [[1, 2], None, np.zeros(4), np.zeros((2, 2), lw.random.xoroshiro128p_dtype)], ids=range(4))
def test_states_of_the_host_that_are_none(states):
    with pytest.raises(TypeError, match="states must be a one-dimensional NumPy array of xoroshiro128p_dtype, not"):
        lw.random.init_xoroshiro128p_states_cpu(states, 1)

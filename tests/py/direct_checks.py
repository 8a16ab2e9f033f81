"""Whether a call of a ufunc went through NumPy, and whether it then gives the same as one that does."""

import copy
import warnings

import numpy as np

from lanewise import _core


def n_direct(run):
    """How many calls of ``run()`` did not go through NumPy."""
    before = _core._direct_calls()
    run()
    return _core._direct_calls() - before


def _outcome(f, args, kwargs):
    """The result or the exception, the arguments afterwards, and the warnings."""
    args, kwargs = copy.deepcopy((args, kwargs))
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            result = f(*args, **kwargs)
        except Exception as problem:
            result = problem
    kwargs.pop("casting", None)
    return result, (args, kwargs), [(w.category, str(w.message)) for w in told]


def _same(a, b):
    assert type(a) is type(b), (a, b)
    if isinstance(a, (tuple, list)):
        assert len(a) == len(b)
        for one, other in zip(a, b):
            _same(one, other)
    elif isinstance(a, dict):
        _same(list(a.items()), list(b.items()))
    elif isinstance(a, Exception):
        assert str(a) == str(b)
    elif isinstance(a, np.ndarray):
        assert a.dtype == b.dtype and a.shape == b.shape and a.strides == b.strides, (a.dtype, b.dtype, a.strides, b.strides)
        assert a.flags.c_contiguous == b.flags.c_contiguous and a.flags.owndata == b.flags.owndata
        np.testing.assert_array_equal(a, b)
    elif isinstance(a, np.generic):
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a, b)
    else:
        assert repr(a) == repr(b)


def check(f, *args, direct=True, **kwargs):
    """Compare a call with the same call with ``casting="same_kind"``, which goes through NumPy; ``direct``: the call itself must not. Returns the result."""
    before = _core._direct_calls()
    wanted = _outcome(f, args, {**kwargs, "casting": "same_kind"})
    assert _core._direct_calls() == before
    found = _outcome(f, args, kwargs)
    assert _core._direct_calls() - before == direct
    for one, other in zip(wanted, found):
        _same(one, other)
    return found[0]

"""Iterations of prange whose quotients and remainders differ by themselves run without atomics; similar ones that meet are E168."""

from __future__ import annotations

import inspect
import linecache
import re

import numpy as np
import pytest

from lanewise import errors, njit, prange


def halves(x):
    o = np.zeros(len(x)//2+1)
    for k in prange(0,len(x)-1,2):
        o[k//2] = o[k//2]*3+x[k]
    return o


def rotated(x):
    n = len(x)
    for k in prange(n):
        x[(k+1)%n] = x[(k+1)%n]*2+1
    return x


def pairs_apart(x):
    n = len(x)
    o = np.zeros(4*n)
    for k in prange(n):
        o[k//2*4+k%2] = o[k//2*4+k%2]*2+x[k]
    return o


def narrow_halves(x):
    o = np.zeros(len(x),np.uint8)
    for k in prange(0,len(x)-1,2):
        o[k//2] += 3
    return o


def narrow_rotated(x):
    n = len(x)
    o = np.zeros(n,np.uint8)
    for k in prange(n):
        o[(k+1)%n] += 3
    return o


def thirds(x):
    o = np.zeros(len(x),np.uint8)
    for k in prange(0,len(x),3):
        o[k//3] += k
    return o


def halves_below_zero(x):
    o = np.zeros(2*len(x))
    n = len(x)
    for k in prange(-7,n,2):
        o[k//2+4] = o[k//2+4]*2+k
    return o


def backwards(x):
    o = np.zeros(2*len(x))
    n = len(x)
    for k in prange(n,-5,-4):
        o[k//2+4] = o[k//2+4]*2+k
    return o


def constant_period(x):
    o = np.zeros(8,np.int8)
    for k in prange(8):
        o[(k+3)%8] += k
    return o


def short_period(x):
    o = np.zeros(9,np.int8)
    for k in prange(5):
        o[(2-k)%9] += k
    return o


def rotated_back(x):
    n = len(x)
    o = np.zeros(n,np.int8)
    for k in prange(n):
        o[(k-5)%n] += k
    return o


def two_of_each(x):
    n = len(x)
    o = np.zeros(n,np.int8)
    for k in prange(n):
        o[k//2] += 1
    return o


def one_too_many(x):
    n = len(x)
    o = np.zeros(n,np.int8)
    for k in prange(n+1):
        o[(k+1)%n] += 1
    return o


def odd_only(x):
    n = len(x)
    o = np.zeros(n,np.int8)
    for k in prange(n):
        o[(2*k+1)%n] += 1
    return o


def too_narrow(x):
    n = len(x)
    o = np.zeros(3*n,np.int8)
    for k in prange(n):
        o[k//4*2+k%4] += 1
    return o


def quarter_of_steps(x):
    n = len(x)
    o = np.zeros(3*n,np.int8)
    for k in prange(0,n,2):
        o[k//4] += 1
    return o


def inner_adds(x):
    n = len(x)
    o = np.zeros(3*n,np.int8)
    for k in prange(n):
        for j in range(3): o[(k+j)%n] += 1
    return o


def memory_adds(x):
    n = len(x)
    o = np.zeros(3*n,np.int8)
    for k in prange(n):
        o[(k+int(x[k]))%n] += 1
    return o


def memory_adds_before_quotient(x):
    n = len(x)
    o = np.zeros(3*n,np.int8)
    for k in prange(0,n,2):
        o[(k+int(x[k]))//2] += 1
    return o


def memory_in_both(x):
    n = len(x)
    o = np.zeros(3*n,np.int8)
    for k in prange(n):
        j = k+int(x[k])
        o[j//4*8+j%4] += 1
    return o


def period_too_short(x):
    n = len(x)
    o = np.zeros(3*n,np.int8)
    for k in prange(1,n+1):
        o[k%(n-1)] += 1
    return o


def either(x):
    o = np.zeros(3*len(x),np.int64)
    for k in prange(0,len(x),2):
        o[0 if k > 3 else k//2] += 1
    return o


def no_more_than(x):
    o = np.zeros(3*len(x),np.int64)
    for k in prange(0,len(x),2):
        o[min(k//2,3)] += 1
    return o


def no_less_than(x):
    o = np.zeros(3*len(x),np.int64)
    n = len(x)
    for k in prange(-n,n,2):
        o[max(k//2,0)] += 1
    return o


def magnitudes(x):
    o = np.zeros(3*len(x),np.int64)
    n = len(x)
    for k in prange(-n,n,2):
        o[abs(k//2)] += 1
    return o


def moved_by_hand(x):
    o = np.zeros(3*len(x),np.int64)
    n = len(x)
    for k in prange(n):
        o[k+4 if k < 4 else k] += 1
    return o


def remainders_of_c(x):
    o = np.zeros(5*len(x),np.int64)
    n = len(x)
    for k in prange(-n,n):
        o[k//3*3-np.fmod(k,3)+2*n] += 1
    return o


APART = [halves, rotated, pairs_apart, narrow_halves, narrow_rotated, thirds, halves_below_zero, backwards, constant_period, short_period, rotated_back]
MEETING = [two_of_each, one_too_many, odd_only, too_narrow, quarter_of_steps, inner_adds, memory_adds, memory_adds_before_quotient, memory_in_both, period_too_short]
CHOSEN = [either, no_more_than, no_less_than, magnitudes, moved_by_hand, remainders_of_c]


@pytest.mark.parametrize("function", APART)
@pytest.mark.parametrize("n", [24, 120])
def test_apart(function, n):
    x = np.linspace(-3, 3, n)
    expected, got = x.copy(), x.copy()
    with np.errstate(all="ignore"):
        assert np.array_equal(njit(parallel=True)(function)(got), function(expected).astype(float))
    assert np.array_equal(got, expected)


@pytest.mark.parametrize("function", MEETING)
def test_meeting(function):
    with pytest.raises(errors.CompileError, match="E168: iterations of prange may update the same element"):
        njit(parallel=True)(function)(np.linspace(-3, 3, 24))


def with_values(function):
    """The same function, with an update that no atomic operation can do."""
    source = re.sub(r"(o\[.*\]) \+= 1", r"\1 = \1*2+k", inspect.getsource(function))
    name = f"<{function.__name__} with values>"
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    names = {"np": np, "prange": prange}
    exec(compile(source, name, "exec"), names)
    return names[function.__name__]


@pytest.mark.parametrize("function", CHOSEN)
def test_chosen_places_meet(function):
    x = np.linspace(-3, 3, 20_000)
    assert np.array_equal(njit(parallel=True)(function)(x), function(x))
    with pytest.raises(errors.CompileError, match="E168: iterations of prange may update the same element"):
        njit(parallel=True)(with_values(function))(x)


def test_all_bits():
    @njit(parallel=True)
    def f(x):
        for k in prange(len(x)):
            x[k & -1] += 1
        return x

    assert np.array_equal(f(np.zeros(100)), np.ones(100))

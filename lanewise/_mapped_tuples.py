"""``tuple(f(v) for v in t)`` for a tuple t, whose length is known when a function is compiled: the tuple that has each item written out.

The rewriting of lanewise/_mapped.py calls these functions, which are compiled and never called.
"""

from __future__ import annotations

from lanewise.errors import TypingError

_MOST = 64
_PLACES = tuple(range(_MOST))


def places(n):
    """0, 1, 2, ..., n - 1, of which each is a constant."""
    if n > _MOST:
        raise TypingError("a tuple that is made of a generator expression has at most 64 items")
    return _PLACES[: max(n, 0)]


def _of_four(f, t):
    if len(t) == 0:
        return ()
    if len(t) == 1:
        return (f(t[0]),)
    if len(t) == 2:
        return f(t[0]), f(t[1])
    if len(t) == 3:
        return f(t[0]), f(t[1]), f(t[2])
    return f(t[0]), f(t[1]), f(t[2]), f(t[3])


def _of_sixteen(f, t):
    if len(t) <= 4:
        return _of_four(f, t)
    return _of_four(f, t[:4]) + _of_four(f, t[4:8]) + _of_four(f, t[8:12]) + _of_four(f, t[12:])


def mapped(f, t):
    if not isinstance(t, tuple):
        raise TypingError("`tuple` makes a tuple of what a generator expression gives for the items of a tuple, or for `range(n)` of a constant n; make a list, `[f(v) for v in x]`")
    if len(t) > _MOST:
        raise TypingError("a tuple that is made of a generator expression has at most 64 items")
    if len(t) <= 16:
        return _of_sixteen(f, t)
    return _of_sixteen(f, t[:16]) + _of_sixteen(f, t[16:32]) + _of_sixteen(f, t[32:48]) + _of_sixteen(f, t[48:])


def _wider(rows, t):
    """Rows with one item more, each."""
    if not isinstance(t, tuple):
        raise TypingError("`tuple` of a generator expression over zip(...) or enumerate(...) needs tuples there")
    return mapped(lambda i: (*rows[i], t[i]), places(min(len(rows), len(t))))


def zipped(x, *more):
    rows = mapped(lambda v: (v,), x)
    if len(more) == 1:
        return _wider(rows, more[0])
    if len(more) == 2:
        return _wider(_wider(rows, more[0]), more[1])
    if len(more) == 3:
        return _wider(_wider(_wider(rows, more[0]), more[1]), more[2])
    if len(more) == 4:
        return _wider(_wider(_wider(_wider(rows, more[0]), more[1]), more[2]), more[3])
    raise TypingError("`tuple` of a generator expression takes zip(...) of two to five tuples")


def enumerated(x):
    return zipped(places(len(x)), x)

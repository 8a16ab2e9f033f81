"""The dtype of an output without a signature: what the function stores into it."""

import numpy as np
import pytest

import lanewise as lw

DAYS = np.array(["2020-01-03", "2020-01-01", "2020-01-08"], "M8[D]")


def test_stored_timedelta():
    @lw.guvectorize("(n)->()")
    def span(t, o):
        o[0] = t.max() - t.min()

    assert span(DAYS) == np.timedelta64(7, "D") and span(DAYS).dtype == "m8[D]"
    out = np.empty((), "m8[D]")
    assert span(DAYS, out=out) is out and out == np.timedelta64(7, "D")
    assert span(DAYS.astype("M8[ns]")).dtype == "m8[ns]"


def test_outputs_of_several_kinds():
    @lw.guvectorize("(n)->(),(),()")
    def facts(t, first, span, days):
        first[0] = t.min()
        span[0] = t.max() - t.min()
        days[0] = (t.max() - t.min()) / np.timedelta64(1, "D")

    first, span, days = facts(DAYS)
    assert (first.dtype, span.dtype, days.dtype) == ("M8[D]", "m8[D]", "f8")
    assert (first, span, days) == (DAYS[1], np.timedelta64(7, "D"), 7.0)


def test_read_back():
    @lw.guvectorize("(n)->()", warn=False)
    def count(v, o):
        o[0] = 0
        for x in v:
            if x > 1:
                o[0] += 1

    @lw.guvectorize("(n)->()", warn=False)
    def half(v, o):
        o[0] = 0
        for x in v:
            if x > 1:
                o[0] += 0.5

    for dtype in "f4", "f8", "i2", "i8":
        values = np.arange(5).astype(dtype)
        assert (count(values), count(values).dtype) == (3, np.int64)
        assert (half(values), half(values).dtype) == (1.5, np.float64)


@pytest.mark.parametrize("dtype", ["f4", "i8"])
def test_whole_arrays(dtype):
    @lw.guvectorize("(n)->(n)")
    def scaled(v, o):
        o[:] = v * 1.5
        o += v

    values = np.arange(4).astype(dtype)
    result = scaled(values)
    np.testing.assert_array_equal(result, values * 2.5, strict=True)


def pair(x):
    return x * 1j, abs(x)


def counted(x):
    return 1, x


def test_what_is_unpacked_to_elements():
    """Each output has the dtype of its own part, not that of the inputs."""

    @lw.guvectorize("(n)->(),(),(),()")
    def of_calls(x, a, b, c, d):
        a[()], b[()] = pair(x[0])
        c[0], d[0] = counted(x[0])

    @lw.guvectorize("(n)->(n),(n)")
    def of_a_variable(x, a, b):
        for i in range(len(x)):
            both = counted(x[i])
            a[i], b[i] = both

    @lw.guvectorize("(n)->(),(),()")
    def nested(x, a, b, c):
        a[()], (b[()], c[()]) = 2, counted(x[0])

    @lw.guvectorize("(p)->(),()")
    def of_an_array(x, a, b):
        a[()], b[()] = x[:2]

    values = np.arange(1, 7).reshape(2, 3).astype("f4")
    assert [one.dtype for one in of_calls(values)] == ["c8", "f4", "i8", "f4"]
    assert [one.dtype for one in of_a_variable(values)] == ["i8", "f4"]
    assert [one.dtype for one in nested(values)] == ["i8", "i8", "f4"]
    assert [one.dtype for one in of_an_array(values[:, :2].copy())] == ["f4", "f4"]
    a, b, c, d = of_calls(values)
    assert a.tolist() == [1j, 4j] and b.tolist() == d.tolist() == [1, 4] and c.tolist() == [1, 1]

"""What is wrong with a call that has times is said in its units."""

import numpy as np
import pytest

import lanewise as lw

DAYS = np.array(["2020-01-03", "2020-01-01"], "M8[D]")


def test_units_of_errors():
    @lw.vectorize
    def product(a, b):
        return a * b

    for unit in "D", "ms", "Y":
        times = DAYS.astype(f"M8[{unit}]")
        for call in lambda: product(times, times), lambda: product(times[0], 2):
            with pytest.raises(lw.errors.TypingError, match=rf"product\(a: datetime64\[{unit}\]"):
                call()


def test_units_of_errors_of_a_gufunc():
    @lw.guvectorize("(n)->()")
    def last(t, o):
        o[0] = t[0] * t[1]

    with pytest.raises(lw.errors.TypingError, match=r"last\(t: datetime64\[D\]\[:\], o: datetime64\[D\]"):
        last(DAYS)

"""Lists that have a name and are put into others, in functions of njit: as in Python, or refused, but never a list that misses a change."""

from __future__ import annotations

import pytest

from lanewise import errors, njit


def in_a_comprehension(n):
    row = [1]
    t = [row for _ in range(3)]
    row[0] = 9
    return t


def by_extend(n):
    row = [1]
    t = [[0]]
    t.extend([row])
    row[0] = 9
    return t


def twice_by_adding(n):
    row = [1]
    t = [[0]]
    t += [row, row]
    t[1][0] = 5
    return t


def in_a_dict_display(n):
    row = [1]
    d = {1: row}
    row[0] = 9
    return d


def in_a_dict_comprehension(n):
    row = [1]
    d = {k: row for k in range(2)}
    row[0] = 9
    return d


def in_a_tuple(n):
    row = [1]
    t = []
    t.append((1, row))
    row[0] = 9
    return t


def as_a_value(n):
    row = [1]
    d = {}
    d[1] = row
    row[0] = 9
    return d


def as_an_item(n):
    row = [1]
    t = [[0]]
    t[0] = row
    row[0] = 9
    return t


def on_one_path(n):
    t = []
    for i in range(3):
        row = [i]
        t.append(row)
        if i == 1:
            row[0] = 77
    return t


def given_away_in_a_loop(n):
    t = []
    row = [0]
    for i in range(3):
        t.append(row)
        row = [i + 5]
    return t


def by_a_second_name(n):
    t = []
    row = [1]
    y = row
    t.append(row)
    y[0] = 9
    return t


def read_by_a_nested_function(n):
    t = []
    row = [1]

    def g():
        return row[0]
    t.append(row)
    t[0][0] = 8
    return g()


def behind_break_and_continue(n):
    t = []
    for i in range(3):
        row = [i]
        t.append(row)
        if i == 0:
            continue
        if i == 2:
            break
        row = [9]
    return (t, row)


def in_a_try(n):
    t = []
    row = [1]
    try:
        t.append(row)
        t[0][0] = 5
    except ValueError:
        pass
    return row


def append_to(t, row):
    t.append(row)


def by_a_function(n):
    t = [[0]]
    row = [1]
    append_to(t, row)
    row[0] = 9
    return t


def changed(x):
    x[0] = 1
    return x


def what_a_function_returns(n):
    t = []
    row = [1]
    t.append(changed(row))
    row[0] = 9
    return t


def what_a_function_returned(n):
    row = [1]
    other = changed(row)
    t = []
    t.append(other)
    row[0] = 9
    return t


def in_a_choice(n):
    row = [1]
    t = [row] if n > 0 else [[2]]
    row[0] = 9
    return t


def inserted(n):
    row = [1, 2]
    t = [[5]]
    t.insert(0, row)
    t[0].append(3)
    return len(row)


def as_a_default(n):
    row = [1]
    d = {}
    d.setdefault(3, row).append(4)
    return row


def in_a_slice(n):
    row = [1]
    t = [[0]] * 2
    t[:1] = [row]
    row[0] = 9
    return t


def by_another_name(n):
    row = [1]
    t = []
    x = row
    t.append(x)
    row[0] = 9
    return t


def one_of_two(n):
    a = [1]
    b = [2]
    t = []
    c = a if n > 3 else b
    t.append(c)
    a[0] = 9
    b[0] = 9
    return t


def items_of_a_tuple(n):
    rows = ([1], [2])
    t = []
    for r in rows:
        t.append(r)
    return t


def in_a_loop_over_names(n):
    a = [1]
    a.append(2)
    t = []
    for r in (a, a):
        t.append(r)
    a[0] = 9
    return t


def an_item_of_a_tuple(n):
    row = [1]
    row.append(2)
    x = (row, 3)
    t = []
    t.append(x[0])
    row[0] = 9
    return t


def one_way_of_a_choice(n):
    row = [1]
    row.append(2)
    t = []
    t.append(row if n > 2 else [1])
    row[0] = 9
    return t


def store_in(t, i, row):
    t[i] = row


def stored_by_a_function(n):
    t = [[0]]
    row = [1]
    row.append(2)
    store_in(t, 0, row)
    row[0] = 9
    return t


def insert_in(t, row):
    t.insert(0, row)


def inserted_by_a_function(n):
    t = [[0]]
    row = [1]
    row.append(2)
    insert_in(t, row)
    row[0] = 9
    return t


def a_name_used_again(n):
    out = []
    for i in range(n):
        row = []
        for j in range(i):
            row.append(j)
        out.append(row)
    for row in out:
        row.append(7)
    return out


def parts_of_a_row(n):
    out = []
    cur = []
    for i in range(n):
        cur.append(i)
        if len(cur) == 2:
            out.append(cur)
            cur = []
    if cur:
        out.append(cur)
    return out


PROGRAMS = [
    in_a_comprehension, by_extend, twice_by_adding, in_a_dict_display, in_a_dict_comprehension, in_a_tuple, as_a_value, as_an_item, on_one_path,
    given_away_in_a_loop, by_a_second_name, read_by_a_nested_function, behind_break_and_continue, in_a_try, by_a_function, what_a_function_returns,
    what_a_function_returned, in_a_choice, inserted, as_a_default, in_a_slice, by_another_name, one_of_two, items_of_a_tuple, in_a_loop_over_names,
    an_item_of_a_tuple, one_way_of_a_choice, stored_by_a_function, inserted_by_a_function, a_name_used_again, parts_of_a_row,
]
TAKEN = [given_away_in_a_loop, a_name_used_again, parts_of_a_row]


@pytest.mark.distinct_cases
@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
def test_no_change_is_missed(function):
    if function in TAKEN:
        assert njit(function)(5) == function(5)
        return
    with pytest.raises(errors.TypingError, match=r"E120(.|\n)*`x\.copy\(\)`"):
        njit(function)(5)


def slice_to_its_own_name(n):
    t = [k for k in range(n)]
    t = t[1:]
    return t


def test_a_slice_may_get_the_name_of_its_list():
    assert njit(slice_to_its_own_name)(4) == [1, 2, 3]

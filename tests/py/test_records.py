"""Structured dtypes: what compiled code knows of them."""

from __future__ import annotations

import numpy as np
import pytest

from lanewise._core import _dump_record

PLAIN = np.dtype([("x", "f4"), ("y", "f8")])
ALIGNED = np.dtype([("x", "f4"), ("y", "f8")], align=True)
PARTICLE = np.dtype([("pos", "f4", (3,)), ("m", "f8"), ("tag", ALIGNED), ("z", "c8", (2, 2))],
                    align=True)


def test_packed_records_promise_one_byte():
    assert _dump_record(PLAIN) == ("Record(x: float32, y: float64) 12 /1\n"
                                   "  0 x: float32 /1\n"
                                   "  4 y: float64 /1\n")


def test_aligned_records_promise_each_field_its_own():
    assert _dump_record(ALIGNED) == ("Record(x: float32, y: float64) 16 /8\n"
                                     "  0 x: float32 /4\n"
                                     "  8 y: float64 /8\n")


def test_fields_that_happen_to_be_aligned_count_as_such():
    assert _dump_record(np.dtype([("a", "f4"), ("b", "i4")])).splitlines()[0].endswith("8 /4")
    assert _dump_record(np.dtype([("a", "f8"), ("b", "i4")])).splitlines()[0].endswith("12 /1")


def test_nested_records_and_sub_arrays():
    text = _dump_record(PARTICLE)
    assert text.splitlines() == [
        "Record(pos: float32[3], m: float64, tag: Record(x: float32, y: float64), "
        "z: complex64[2, 2]) 72 /8",
        "  0 pos: float32[3] /4",
        "  16 m: float64 /8",
        "  24 tag: Record(x: float32, y: float64) /8",
        "    0 x: float32 /4",
        "    8 y: float64 /8",
        "  40 z: complex64[2, 2] /4"]


def test_an_aligned_record_inside_a_packed_one_is_not():
    outer = np.dtype([("b", "i1"), ("in", ALIGNED), ("all", ALIGNED, (2,))])
    lines = _dump_record(outer).splitlines()
    assert lines[2] == "  1 in: Record(x: float32, y: float64) /1"
    assert lines[3:5] == ["    0 x: float32 /1", "    8 y: float64 /1"]
    assert lines[5].endswith("[2] /1")


@pytest.mark.parametrize(("dtype", "field"), [
    ([("a", "f4"), ("s", "S3")], "`s`"),
    ([("a", ">f4")], "`a`"),
    ([("a", [("b", "O")])], "`a.b`"),
    ([("a", "M8[s]")], "`a`"),
])
def test_other_dtypes_are_refused_by_name(dtype, field):
    with pytest.raises(TypeError, match=field):
        _dump_record(np.dtype(dtype))


def test_titles_and_overlapping_fields():
    titled = np.dtype({"names": ["a", "b"], "formats": ["i4", "i2"], "offsets": [0, 2],
                       "titles": ["first", "second"], "itemsize": 8})
    assert _dump_record(titled).splitlines()[1:] == ["  0 a: int32 /4", "  2 b: int16 /2"]

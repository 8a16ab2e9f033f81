"""Looking into a Reduction, and compiling one ahead of time."""

import re

import numpy as np
import pytest

import lanewise as lw

TOTAL = lw.reduce(lambda a, b: a + b)
MEAN = lw.reduce(map=lambda x: (x, 1), combine=lambda a, b: (a[0] + b[0], a[1] + b[1]), finish=lambda s, n: s / n)
DOT = lw.reduce(map=lambda x, y: x * y, combine=lambda a, b: a + b)


def test_signatures_are_those_of_calls():
    total = lw.reduce(lambda a, b: a + b)
    assert total.signatures == []
    total(np.arange(3, dtype="f4"))
    total(np.arange(3, dtype="f4"), dtype="f8")
    assert total.signatures == ["float32(float32)", "float64(float32)"]
    DOT(np.arange(3.0), np.arange(3))
    assert "float64(float64, int64)" in DOT.signatures


def test_several_results():
    ends = lw.reduce(map=lambda x: (x, x), combine=lambda a, b: (min(a[0], b[0]), max(a[1], b[1])))
    ends(np.arange(3, dtype="i4"))
    assert ends.signatures == ["Tuple(int32, int32)(int32)"]
    assert "define" in ends.inspect_llvm(ends.signatures[0])


def test_a_block_of_one_result_looks_for_no_result():
    text = TOTAL.inspect_nvvm("f4(f4)", "sm_90")
    assert re.search(r"and i64 %\w+, 31\b", text) and not re.search(r"and i64 %\w+, 255\b", text)  # of the warp; of the block


def test_one_text_combines_the_lanes_of_blocks_and_the_blocks():
    for text in (TOTAL.inspect_nvvm("f4(f4)", "sm_90"), lw.reduce(lambda a, b: a - b).inspect_nvvm("f4(f4)", "sm_90")):
        assert text.count("shfl.sync.bfly") == 8 and text.count("bar.red.or") == 1  # 5 within a warp of 32, 3 between 8 warps
        assert not re.search(r"mul i64 %\w+, %p0\b", text)  # what blocks leave is counted in 32 bits


@pytest.mark.parametrize("target", ["sm_75", "sm_90", "sm_120"])
@pytest.mark.parametrize("reduction, sig", [
    (TOTAL, "f4(f4)"), (TOTAL, "f8(f4[:])"), (TOTAL, "(i4)"), (MEAN, "f8(f8)"), (DOT, "f4(f4,f4)"),
])
def test_compile_gives_the_reductions_kernel(reduction, sig, target):
    cubin = lw.compile(reduction, sig, target=target)
    assert cubin[:4] == b"\x7fELF" and b"lw_reduce" in cubin and b"lw_kernel" not in cubin
    assert ".entry lw_reduce" in lw.compile(reduction, sig, target=target, output="ptx")


def test_compile_for_the_host():
    assert "define" in lw.compile(DOT, "f4(f4,f4)", target="host", output="llvm")
    assert lw.compile(DOT, "f4(f4,f4)", target="host", output="object")[:4] == b"\x7fELF"


def test_the_operators_signature_is_refused():
    with pytest.raises(TypeError, match="names the arrays of a call"):
        lw.compile(TOTAL, "f4(f4,f4)")
    with pytest.raises(TypeError, match="names the arrays of a call"):
        lw.compile(lw.reduce(lambda a, b: (a[0] + b[0], a[1] + b[1])), "f4(f4,f4)")
    with pytest.raises(TypeError, match="as many as map has parameters"):
        lw.compile(DOT, "f4(f4)")
    with pytest.raises(TypeError, match="one"):
        MEAN.inspect_llvm("f8(f8, f8)")
    with pytest.raises(TypeError, match="argument 1"):
        TOTAL.inspect_llvm("f4(UniTuple(f4, 2))")


def test_inspection():
    text = MEAN.inspect_types("f4(f4)")
    assert "float32" in text and text.count("lambda") >= 3
    assert ".entry" in MEAN.inspect_ptx("f8(f4)", "sm_90") and "target triple" in MEAN.inspect_nvvm("f8(f4)")
    assert MEAN.inspect_cubin("f8(f4)")[:4] == b"\x7fELF" and MEAN.inspect_ltoir("f8(f4)")
    assert MEAN.inspect_ir("f8(f4)") and MEAN.inspect_asm("f8(f4)")


@pytest.mark.parametrize("sig", ["f8(f8)", "f4(f4)", "i8(i4)"])
def test_accumulators_of_several_numbers_are_contiguous_vectors(sig):
    """Their addresses are neighbours, which LLVM must be able to see; otherwise it scattered them lane by lane. Elements with a stride between
    them may be gathered, and are on Intel's processors."""
    moments = lw.reduce(map=lambda x: (x, x * x), combine=lambda a, b: (a[0] + b[0], a[1] + b[1]), finish=lambda s, q: s + q)
    for reduction in (moments, MEAN) if sig[0] == "f" else (moments,):
        functions = re.split(r"^(?=lw_\w+:)", reduction.inspect_asm(sig), flags=re.MULTILINE)
        contiguous = [text for text in functions if not text.partition(":")[0].endswith("_strided")]
        assert len(functions) > len(contiguous) > 2
        assert not any("scatter" in text for text in functions) and not any("gather" in text for text in contiguous)


def test_without_a_signature_it_is_the_newest():
    total = lw.reduce(lambda a, b: a + b)
    with pytest.raises(ValueError, match="give a signature, or call it first"):
        total.inspect_llvm()
    total(np.arange(3.0))
    assert "double" in total.inspect_llvm()


def test_resources():
    device, host = TOTAL.resources("f4(f4)", "sm_90"), TOTAL.resources("f4(f4)", "cpu")
    assert device["target"] == "sm_90" and device["registers"] > 0 and device["threads_per_block"] >= 32
    assert 0 < device["occupancy"] <= 1
    assert host["target"] == "cpu" and host["code_bytes"] > 0


@pytest.mark.parametrize("arch", ["sm_75", "sm_90", "sm_120"])
def test_the_most_registers_of_a_thread(arch):
    def spread(a, b):
        return a[0] + b[0], max(a[1], b[1]), a[2] * b[2]

    free = lw.reduce(spread, map=lambda x: (x, x, x), finish=lambda s, m, p: s + m + p)
    limited = lw.reduce(spread, map=lambda x: (x, x, x), finish=lambda s, m, p: s + m + p, max_registers=32)
    assert ".maxnreg 32" in limited.inspect_ptx("f4(f4)", arch) and ".maxnreg" not in free.inspect_ptx("f4(f4)", arch)
    assert limited.resources("f4(f4)", arch)["registers"] <= 32 < free.resources("f4(f4)", arch)["registers"]


def test_records():
    pair = np.dtype([("x", "f4"), ("y", "f8")])
    r = lw.reduce(map=lambda p: p.x * p.y, combine=lambda a, b: a + b)
    r(np.ones(3, pair))
    assert len(r.signatures) == 1
    assert ".entry lw_reduce" in r.inspect_ptx()

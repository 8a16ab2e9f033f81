"""lanewise/_llvm.py: libllvmlite called directly, beside llvmlite's own binding."""

import ctypes

import pytest

from lanewise import _llvm, _toolchain

llvmlite = pytest.importorskip("llvmlite")
KNOWN = ".".join(llvmlite.__version__.split(".")[:2]) in _llvm._VERSIONS
needs_known = pytest.mark.skipif(not KNOWN, reason="this llvmlite is called through its own binding")

TEXT = """
define void @twice(ptr noalias %x, i64 %n) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %p = getelementptr double, ptr %x, i64 %i
  %v = load double, ptr %p
  %w = fadd double %v, %v
  store double %w, ptr %p
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %loop, label %end
end:
  ret void
}
"""


@pytest.fixture(params=["Direct", "Public"])
def binding(request, monkeypatch):
    found = _llvm._direct() if request.param == "Direct" else _llvm.Public()
    if found is None:
        pytest.skip("this llvmlite is called through its own binding")
    monkeypatch.setattr(_toolchain, "_loaded", found)
    monkeypatch.setattr(_toolchain, "_machines", {})
    return found


def all_outputs():
    return [_toolchain.compile_host(TEXT, opt, baseline, output) for opt in (0, 1, 3) for baseline in (False, True)
            for output in ("object", "asm")]


@needs_known
def test_both_make_the_same_code(monkeypatch):
    made = []
    for found in (_llvm._direct(), _llvm.Public()):
        monkeypatch.setattr(_toolchain, "_loaded", found)
        monkeypatch.setattr(_toolchain, "_machines", {})
        made.append(all_outputs())
    assert made[0] == made[1]


@needs_known
def test_facts_are_the_same():
    direct, public = _llvm._direct(), _llvm.Public()
    assert direct.llvm_version_info == public.llvm_version_info
    assert direct.get_process_triple() == public.get_process_triple()
    assert direct.get_host_cpu_name() == public.get_host_cpu_name()
    assert direct.get_host_cpu_features() == public.get_host_cpu_features()
    assert direct.get_host_cpu_features().flatten() == public.get_host_cpu_features().flatten()


@needs_known
def test_prototypes_are_those_of_the_installed_llvmlite():
    import llvmlite.binding as llvm

    def size_and_kind(kind):
        is_reference = kind is ctypes.c_void_p or hasattr(kind, "contents") and kind is not ctypes.POINTER(ctypes.c_char_p)
        return "reference" if is_reference else kind

    for name, (result, *parameters) in _llvm.PROTOTYPES.items():
        theirs = getattr(llvm.ffi.lib, "LLVMPY_" + name)
        if theirs.argtypes is not None:
            assert [*map(size_and_kind, theirs.argtypes)] == [*map(size_and_kind, parameters)], name
        if result is not None:
            assert size_and_kind(theirs.restype) == size_and_kind(result), name


@pytest.mark.parametrize("text, words", [("define void @f( {", "parsing error"),
                                         ("define i32 @f() {\n  %x = add i32 1, 1\n  ret i32 %x\n}\n@g = external global i32\n@g = external global i32", "redefinition")])
def test_what_llvm_refuses(binding, text, words):
    for _ in range(3):
        with pytest.raises(RuntimeError, match=words):
            _toolchain.compile_host(text, 3, False, "object")
    assert all_outputs()


def test_a_module_that_does_not_verify(binding):
    text = "define void @f() {\nentry:\n  br label %entry\n}"  # the entry block has a predecessor
    with pytest.raises(RuntimeError, match="Entry block"):
        _toolchain.compile_host(text, 3, False, "object")


@needs_known
@pytest.mark.parametrize("interrupted, freed", [
    ("RunNewModulePassManager", ["DisposeNewModulePassManger", "DisposePassBuilder", "DisposePipelineTuningOptions", "DisposeModule", "ContextDispose"]),
    ("GetBufferStart", ["DisposeMemoryBuffer", "DisposeModule", "ContextDispose"])])
def test_an_interrupted_compilation_frees_everything(monkeypatch, interrupted, freed):
    found = _llvm._direct()
    monkeypatch.setattr(_toolchain, "_loaded", found)
    monkeypatch.setattr(_toolchain, "_machines", {})
    called = []

    def call(name, *arguments):
        called.append(name)
        if name == interrupted:
            raise KeyboardInterrupt
        return _llvm.Direct.call(found, name, *arguments)

    monkeypatch.setattr(found, "call", call)
    with pytest.raises(KeyboardInterrupt):
        _toolchain.compile_host(TEXT, 3, False, "object")
    assert called[called.index(interrupted) + 1:] == freed


@needs_known
def test_a_first_call_does_not_import_the_binding(run_python, tmp_path):
    program = """if 1:
        import sys, numpy as np, lanewise as lw
        f = lw.vectorize(lambda x: x * 3 - 1)
        assert f(2.0) == 5 and lw.reductions.sum(np.arange(4.0)) == 6
        assert "llvmlite" in sys.modules and "llvmlite.binding" not in sys.modules
        import llvmlite.binding as llvm  # the program's own use of it is undisturbed
        llvm.initialize_native_target()
        assert llvm.parse_assembly("define void @f() { ret void }").get_function("f").name == "f"
        assert lw.vectorize(lambda x: x * 5 - 1)(2.0) == 9
    """
    run_python("-c", program, LANEWISE_CACHE_DIR=str(tmp_path / "cache"))


def test_another_version_is_called_through_its_own_binding(monkeypatch):
    monkeypatch.setattr(llvmlite, "__version__", "0.99.0")
    assert _llvm._direct() is None and isinstance(_llvm.load(), _llvm.Public)

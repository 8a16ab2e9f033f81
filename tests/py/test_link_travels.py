"""__lanewise_link__ and __numba_cuda_link__: code that callables bring along, however deep the call, asked for once for
each of the argument types of the calls that are kept."""

from __future__ import annotations

import ast
import collections
import functools
import gc
import pickle
import signal
import threading

import numpy as np
import pytest

import lanewise as lw
from lanewise import _linking, cuda, errors, float32, float64, int32, int64, types
from link_helpers import compiler, kernel_of  # noqa: F401  (compiler is a fixture)

SIG = "void(float32[::1], float32[::1])"
SIG64 = "void(float64[::1], float64[::1])"


def ptx(name, bits=32, factor="0f40E00000"):
    """A PTX function float -> float, of 32 or 64 bits."""
    return cuda.PTXSource(f"""
.version 6.4
.target sm_75
.address_size 64
.visible .func (.param .b{bits} r) {name}(.param .b{bits} x)
{{
    .reg .f{bits} %f<3>;
    ld.param.f{bits} %f1, [x];
    mul.f{bits} %f2, %f1, {factor};
    st.param.f{bits} [r], %f2;
    ret;
}}
""", f"{name}.ptx")


seven = cuda.declare_device("ptx_seven", "float32(float32)", abi="c")
wide = cuda.declare_device("ptx_wide", "float64(float64)", abi="c")
CODES = {float32: ptx("ptx_seven"), float64: ptx("ptx_wide", 64, "0d401C000000000000")}


class Recorder:
    """A __lanewise_link__ of a function that records the types for which it is asked."""

    def __init__(self, give=CODES.__getitem__):
        self.seen, self.give = [], give

    def __call__(self, *types):
        self.seen.append(types)
        return [self.give(*types)]


# ---- how deep, how often, for what types ----


def five_deep(innermost):
    def one(x):
        return innermost(x) + 1

    def two(x):
        return one(x) * 2

    def three(x):
        return two(x) + 3

    def four(x):
        return three(x) - 4

    return four


def test_a_helper_five_calls_deep():
    def inner(x):
        return seven(x)

    inner.__lanewise_link__ = Recorder()
    k = kernel_of(five_deep(inner))
    assert b"ptx_seven" in k.inspect_cubin(SIG, "sm_90")
    assert inner.__lanewise_link__.seen == [(float32,)]


def test_types_and_targets():
    seen = []

    def inner(x, row, pair, k=3):
        return seven(x) + row[0] + pair[1] + k

    def link(*args, target):
        seen.append((args, target))
        return CODES[float32]

    inner.__lanewise_link__ = link

    @cuda.jit
    def k(x, y):
        y[0] = inner(x[0], y, pair=(1, x[1]))

    for cc in (90, 75, 90):
        k.inspect_cubin(SIG, f"sm_{cc}")
    expected = (float32, float32[::1], types.Tuple((int64, float32)), int64)
    assert seen == [(expected, "sm_90"), (expected, "sm_75")]


def test_two_signatures_two_lists():
    inner = cuda.declare_device("ptx_seven", "float32(float32)", abi="c")

    def either(x):
        return inner(x) if kind == 32 else wide(x)

    found = {}
    for kind in (32, 64):

        def helper(x):
            return either(x)

        either.__lanewise_link__ = Recorder(lambda t: CODES[t])
        cubin = kernel_of(helper).inspect_cubin(SIG if kind == 32 else SIG64, "sm_90")
        found[kind] = either.__lanewise_link__.seen, b"ptx_seven" in cubin, b"ptx_wide" in cubin
    assert found == {32: ([(float32,)], True, False), 64: ([(float64,)], False, True)}


def test_one_function_for_two_signatures():
    def inner(x):
        return x * 2

    inner.__lanewise_link__ = Recorder()
    k = kernel_of(five_deep(inner))
    texts = [k.inspect_cubin(sig, "sm_90") for sig in (SIG, SIG64, SIG)]
    assert inner.__lanewise_link__.seen == [(float32,), (float64,)] and texts[0] == texts[2]
    assert [b"ptx_seven" in texts[0], b"ptx_wide" in texts[1]] == [True, True]


def test_pruned_branches_ask_nothing():
    def kept(x):
        return seven(x)

    def pruned(x):
        return wide(x)

    kept.__lanewise_link__, pruned.__lanewise_link__ = Recorder(), Recorder()

    def inner(x, how):
        if how is None:
            return kept(x)
        return pruned(x)

    flag = False

    def outer(x):
        if flag:
            return pruned(x)
        return inner(x, None) if not flag else pruned(x)

    assert b"ptx_seven" in kernel_of(outer).inspect_cubin(SIG, "sm_90")
    assert kept.__lanewise_link__.seen == [(float32,)] and pruned.__lanewise_link__.seen == []


def test_own_forms_ask_nobody():
    def inner(x):
        return seven(x)

    inner.__lanewise_link__ = Recorder()
    k = kernel_of(inner)
    assert "ptx_seven" in k.inspect_ptx(SIG, "sm_90") and "float32" in str(k.inspect_types(None, SIG))
    ptx_text, _ = cuda.compile_ptx(k.py_func, (float32[::1], float32[::1]))
    assert "ptx_seven" in ptx_text and inner.__lanewise_link__.seen == []


# ---- whose attribute ----


@pytest.mark.parametrize("name", ["__lanewise_link__", "__numba_cuda_link__"])
@pytest.mark.parametrize("value", [CODES[float32], [CODES[float32]], (CODES[float32],), {CODES[float32]},
                                   {"seven": CODES[float32]}.values(), collections.deque([CODES[float32]]),
                                   lambda x: CODES[float32], lambda x: (CODES[float32],),
                                   lambda x: (code for code in [CODES[float32]])])
def test_values(name, value):
    def inner(x):
        return seven(x)

    setattr(inner, name, value)
    assert b"ptx_seven" in kernel_of(inner).inspect_cubin(SIG, "sm_90")


def test_paths(tmp_path):
    path = tmp_path / "seven.ptx"
    path.write_bytes(CODES[float32].data)

    def inner(x):
        return seven(x)

    for value in (path, str(path), [str(path)], lambda x: path):
        inner.__lanewise_link__ = value
        assert b"ptx_seven" in kernel_of(inner).inspect_cubin(SIG, "sm_90")


class Scaled:
    """The FFT object of a library: it is called in kernels, and makes code for what it was made with."""

    def __init__(self, factor, offset=0):
        self.factor, self.offset, self.seen = factor, offset, []

    def __call__(self, x):
        return seven(x) + self.offset

    def __numba_cuda_link__(self, *types):
        self.seen.append(types)
        return [ptx("ptx_seven", factor=self.factor)]


def test_callable_instances():
    x7, x9 = Scaled("0f40E00000"), Scaled("0f41100000", offset=2)
    texts = [kernel_of(scaled).inspect_cubin(SIG, "sm_90") for scaled in (x7, x9, Scaled("0f40E00000"))]
    assert texts[0] == texts[2] != texts[1]  # by content
    assert x7.seen == x9.seen == [(float32,)]


def test_attributes_of_instances_are_constants():
    class Offset:
        def __init__(self, offset):
            self.offset = offset

        def __call__(self, x, y=1):
            return x * y + self.offset

    offset = Offset(2.5)

    @lw.vectorize(target="cpu")
    def f(x):
        return offset(x) + offset(x, 2)

    assert f(np.arange(3.0)).tolist() == [5.0, 8.0, 11.0]
    offset.offset = 0.0
    assert f(np.arange(3.0)).tolist() == [0.0, 3.0, 6.0]
    Offset.__call__ = lambda self, x, y=0: x - y
    assert f(np.arange(3.0)).tolist() == [-2.0, 0.0, 2.0]


def test_methods_and_classes():
    class Library:
        @staticmethod
        def static(x):
            return seven(x)

        def method(self, x):
            return seven(x)

    Library.static.__lanewise_link__ = Recorder()
    Library.method.__lanewise_link__ = Recorder()
    library = Library()
    assert b"ptx_seven" in kernel_of(lambda x: Library.static(x)).inspect_cubin(SIG, "sm_90")
    assert b"ptx_seven" in kernel_of(lambda x: library.method(x)).inspect_cubin(SIG, "sm_90")
    assert Library.static.__lanewise_link__.seen == Library.method.__lanewise_link__.seen == [(float32,)]


class Library:
    """Its code serves all of its methods."""

    __lanewise_link__ = [CODES[float32]]

    def __init__(self, factor):
        self.factor = factor

    def method(self, x):
        return seven(x) * self.factor

    def __add__(self, other):
        return seven(self.factor) + other

    @property
    def first(self):
        return seven(self.factor)

    @staticmethod
    def static(x):
        return seven(x)

    @classmethod
    def of_class(cls, x):
        return seven(x)


class Derived(Library):
    """A class with the same methods, but other code."""

    __lanewise_link__ = (ptx("ptx_seven", factor="0f40000000"),)


library = Library(2.0)


@pytest.mark.parametrize("f", [
    lambda x: Library(x).method(x), lambda x: Library(x) + x, lambda x: Library(x).first, lambda x: Library(x).static(x),
    lambda x: Library(x).of_class(x), lambda x: Library.static(x), lambda x: Library.of_class(x),
    lambda x: Library.method(Library(x), x), lambda x: library.method(x), lambda x: library.static(x),
    lambda x: library.of_class(x), lambda x: library + x, lambda x: library.first],
    ids=["method", "operator", "property", "static", "class-method", "static-of-class", "class-method-of-class",
         "method-of-class", "frozen-method", "frozen-static", "frozen-class-method", "frozen-operator", "frozen-property"])
def test_a_class_brings_code_for_its_methods(f):
    assert b"ptx_seven" in kernel_of(f).inspect_cubin(SIG, "sm_90")


def test_a_class_and_one_derived_from_it():
    cubins = [kernel_of(f).inspect_cubin(SIG, "sm_90") for f in
              (lambda x: Library(x).method(x), lambda x: Derived(x).method(x), lambda x: Derived(x).static(x))]
    assert all(b"ptx_seven" in cubin for cubin in cubins) and cubins[0] != cubins[1]


def test_a_method_has_its_own():
    class Other(Library):
        def method(self, x):
            return wide(x)

        method.__lanewise_link__ = [CODES[float64]]

    other = Other(1.0)
    cubin = kernel_of(lambda x: other.method(x)).inspect_cubin(SIG64, "sm_90")
    assert b"ptx_wide" in cubin and b"ptx_seven" not in cubin
    assert b"ptx_wide" in kernel_of(lambda x: Other(x).method(x)).inspect_cubin(SIG64, "sm_90")


def test_a_class_is_asked_for_what_makes_it():
    class Pair:
        seen = []

        def __init__(self, x, y):
            self.x = seven(x) + y

        @classmethod
        def __lanewise_link__(cls, *types):
            cls.seen.append(types)
            return CODES[float32]

    assert b"ptx_seven" in kernel_of(lambda x: Pair(x, int32(2)).x).inspect_cubin(SIG, "sm_90")
    assert Pair.seen == [(float32, int32)]

    class Single:
        def __init__(self, x):
            self.x = seven(x)

        __init__.__lanewise_link__ = Recorder()

    assert b"ptx_seven" in kernel_of(lambda x: Single(x).x).inspect_cubin(SIG, "sm_90")
    assert Single.__init__.__lanewise_link__.seen == [(float32,)]


def test_another_list_of_a_class_is_seen():
    class Counted:
        __lanewise_link__ = [ptx("ptx_seven", factor="0f40000000")]

        @staticmethod
        def twice(x):
            return seven(x)

    k = kernel_of(lambda x: Counted.twice(x))
    first = k.inspect_cubin(SIG, "sm_90")
    Counted.__lanewise_link__[0] = CODES[float32]
    second = k.inspect_cubin(SIG, "sm_90")
    Counted.__lanewise_link__ = [ptx("ptx_seven", factor="0f40000000")]
    assert first != second and k.inspect_cubin(SIG, "sm_90") == first


def test_partial_objects():
    def plain(x, y):
        return seven(x) + y

    def linked(x, y):
        return seven(x) + y

    linked.__lanewise_link__ = Recorder(lambda *types: CODES[types[0]])
    of_function, of_object = functools.partial(linked, y=2), functools.partial(plain, y=2)
    of_object.__lanewise_link__ = Recorder(lambda *types: CODES[types[0]])
    for f in (of_function, of_object):
        assert b"ptx_seven" in kernel_of(lambda x: f(x)).inspect_cubin(SIG, "sm_90")
    assert linked.__lanewise_link__.seen == of_object.__lanewise_link__.seen == [(float32, int64)]


def test_functions_that_call_themselves():
    def count(x, n):
        return seven(x) if n <= 0 else other(x, n - 1)

    def other(x, n):
        return count(x, n - 1)

    other.__lanewise_link__ = Recorder(lambda *types: CODES[float32])
    assert b"ptx_seven" in kernel_of(lambda x: count(x, int32(x))).inspect_cubin(SIG, "sm_90")
    assert other.__lanewise_link__.seen == [(float32, int32)]


def test_the_outermost_function():
    def k(x, y):
        y[0] = seven(x[0])

    k.__lanewise_link__ = Recorder(lambda *types: CODES[float32])
    assert b"ptx_seven" in cuda.jit(k).inspect_cubin(SIG, "sm_90")
    assert k.__lanewise_link__.seen == [(float32[::1], float32[::1])]


def test_link_of_what_is_called():
    """link= of any compiled function that another one calls."""
    for made in (cuda.jit(device=True, link=CODES[float32])(lambda x: seven(x)),
                 lw.vectorize(target="cuda", link=CODES[float32])(lambda x: seven(x))):
        assert b"ptx_seven" in kernel_of(lambda x: made(x)).inspect_cubin(SIG, "sm_90")


# ---- external declarations ----


class Foreign:
    """A declaration of another library."""

    def __init__(self, declared, link=()):
        self.__lanewise_external__, self.__lanewise_link__ = declared, link

    def __call__(self, *args):
        raise AssertionError("it is GPU code")


def test_external_declarations_of_anyone():
    for declared in (("ptx_seven", "float32(float32)", "c"), ("ptx_seven", float32(float32), "c")):
        for link in (CODES[float32], Recorder()):
            assert b"ptx_seven" in kernel_of(Foreign(declared, link)).inspect_cubin(SIG, "sm_90")
    recorder = Recorder()
    k = kernel_of(Foreign(("ptx_seven", "float32(float32)", "c"), recorder))
    k.inspect_cubin("void(int8[::1], float32[::1])", "sm_90")
    assert recorder.seen == [(float32,)]  # as it is declared
    assert "f_of_numba" in kernel_of(Foreign(("f_of_numba", "float32(float32)"))).inspect_ptx(SIG, "sm_90")


@pytest.mark.parametrize("declared, error, match", [
    ("ptx_seven", TypeError, "__lanewise_external__ must be a tuple"),
    (("ptx_seven",), TypeError, "__lanewise_external__ must be a tuple"),
    ((7, "float32(float32)"), TypeError, "name must be a str"),
    (("lw_own", "float32(float32)"), ValueError, "lw_"),
    (("f", "float32(float32)", "fortran"), ValueError, "abi"),
    (("f", "float32(float16)"), errors.SignatureError, "E183"),
    (("f", "float32("), errors.SignatureError, "E180"),
])
def test_wrong_declarations(declared, error, match):
    with pytest.raises(error, match=match):
        kernel_of(Foreign(declared)).inspect_ptx(SIG, "sm_90")


# ---- every generator ----


def inner_of(recorder):
    def inner(x):
        return seven(x)

    inner.__lanewise_link__ = recorder
    return inner


def test_generators():
    recorder = Recorder()
    inner = inner_of(recorder)

    @lw.vectorize(["float32(float32)"], target="cuda")
    def ufunc(x):
        return inner(x)

    @lw.guvectorize(["void(float32[:], float32[:])"], "(n)->(n)", target="cuda")
    def gufunc(x, out):
        for i in range(x.size):
            out[i] = inner(x[i])

    @lw.forall(target="cuda")
    def loop(i, x, y):
        y[i] = inner(x[i])

    made = [(ufunc, "float32(float32)"), (gufunc, "void(float32[:], float32[:])"), (loop, SIG), (kernel_of(inner), SIG)]
    for function, sig in made * 2:
        assert function.resources(sig, "sm_90")["registers"] > 0
    assert recorder.seen == [(float32,)] * len(made)


@pytest.mark.parametrize("roles", [("map",), ("combine",), ("finish",), ("map", "combine", "finish"), ("combine", "finish")])
def test_functions_of_a_reduction(roles):
    """Each function brings its own code, also those that raise exceptions."""
    recorders = {role: Recorder() for role in ("map", "combine", "finish")}
    of = {role: inner_of(recorder) for role, recorder in recorders.items()}
    functions = {"map": lambda x: x, "combine": lambda a, b: a + b, "finish": lambda a: a}
    bringing = {"map": lambda x: of["map"](x), "combine": lambda a, b: of["combine"](a) + b, "finish": lambda a: of["finish"](a)}

    def checked(x):
        if x < 0:
            raise ValueError("negative")
        return bringing["map"](x) if "map" in roles else x

    for raising in (False, True):
        functions.update({role: bringing[role] for role in roles})
        if raising:
            functions["map"] = checked
        f = lw.reduce(**functions, target="cuda")
        assert "ptx_seven" in f.inspect_ptx("(float32[:],)", "sm_90")
        for recorder in recorders.values():
            assert recorder.seen == []
        assert b"ptx_seven" in f.inspect_cubin("(float32[:],)", "sm_90")
        assert f.resources("(float32[:],)", "sm_90")["registers"] > 0
        for role, recorder in recorders.items():
            assert recorder.seen == [(float32,)] * (role in roles)
            recorder.seen.clear()


def test_a_reduction_on_the_cpu():
    with lw.config(target="cpu"), pytest.raises(errors.UnsupportedError, match="ptx_seven"):
        lw.reduce(lambda a, b: a + b, map=inner_of(Recorder()))(np.ones(3, "f4"))


# ---- asked once ----


def test_asked_once_by_many_threads():
    started, seen = threading.Barrier(64), []

    def link(x):
        seen.append(x)
        slow.wait(0.2)
        return CODES[float32]

    slow = threading.Event()
    k = kernel_of(five_deep(inner_of(link)))
    results, problems = [], []

    def run():
        started.wait()
        try:
            results.append(k.inspect_cubin(SIG, "sm_90"))
        except Exception as problem:  # shown by the assertion
            problems.append(problem)

    threads = [threading.Thread(target=run) for _ in range(64)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not problems and len(set(results)) == 1 and seen == [float32]


def test_a_failure_is_asked_again():
    answers = [OSError("not yet"), CODES[float32]]

    def link(x):
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    k = kernel_of(inner_of(link))
    with pytest.raises(errors.LinkError, match="OSError: not yet"):
        k.inspect_cubin(SIG, "sm_90")
    assert b"ptx_seven" in k.inspect_cubin(SIG, "sm_90") and answers == []


def test_who_asks_for_itself():
    def link(x):
        return k.inspect_cubin(SIG, "sm_90")

    k = kernel_of(inner_of(link))
    with pytest.raises(errors.LinkError, match="it asks for itself"):
        k.inspect_cubin(SIG, "sm_90")


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no interval timer")
def test_control_c_while_asking():
    """Whenever it comes, what was asked is asked again, or known; nobody waits for ever."""
    interrupted = 0
    previous = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        for n in range(3000):
            provider = (kernel_of, "__lanewise_link__", lambda x: CODES[x], {})
            try:
                signal.setitimer(signal.ITIMER_REAL, 1e-6 * (1 + n % 60))
                _linking.asked(provider, (float32,), "cuda", "")
                signal.setitimer(signal.ITIMER_REAL, 0)
            except KeyboardInterrupt:
                interrupted += 1
            if n % 100 == 0:
                other = threading.Thread(target=_linking.asked, args=(provider, (float32,), "cuda", ""), daemon=True)
                other.start()
                other.join(10)
                assert not other.is_alive()
            assert _linking.asked(provider, (float32,), "cuda", "") == (CODES[float32],)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
    assert interrupted > 10


# ---- what changes ----


def test_a_list_that_changes():
    """The attribute is rebound, or its list changes, before anything is compiled and after."""
    def inner(x):
        return seven(x)

    k = kernel_of(inner)
    texts = []
    inner.__lanewise_link__ = codes = [ptx("ptx_seven")]
    k = kernel_of(inner)
    texts.append(k.inspect_cubin(SIG, "sm_90"))
    codes[0] = ptx("ptx_seven", factor="0f41100000")
    texts.append(kernel_of(inner).inspect_cubin(SIG, "sm_90"))
    texts.append(k.inspect_cubin(SIG, "sm_90"))
    inner.__lanewise_link__ = [ptx("ptx_seven", factor="0f41200000")]
    texts.append(k.inspect_cubin(SIG, "sm_90"))
    assert len(set(texts)) == 3 and texts[1] == texts[2]


def test_a_callable_that_changes_its_mind():
    """When the function is read again, the callable is asked again, and other code makes another module."""
    factors = ["0f40E00000", "0f41100000"]
    inner = inner_of(lambda x: ptx("ptx_seven", factor=factors[0]))
    first = kernel_of(inner).inspect_cubin(SIG, "sm_90")
    factors.pop(0)
    assert kernel_of(inner).inspect_cubin(SIG, "sm_90") != first


# ---- mistakes ----


@pytest.mark.parametrize("link, match", [
    (lambda x: 7, r"what it gives must be paths or LinkableCode, not 7"),
    (lambda x: [7], r"what it gives must hold paths and LinkableCode, not 7"),
    (lambda x: "none.txt", r"has no extension of code"),
    (lambda x: "none.ptx", r"none\.ptx"),
    (lambda: None, r"TypeError: .*positional argument"),
    (7, r"what it gives must be paths or LinkableCode, not 7"),
    (lambda x: {"code": 7}, r"what it gives must be paths or LinkableCode, not \{"),
    (lambda x: b"code", r"what it gives must be paths or LinkableCode, not b'code'"),
    (lambda x: [[CODES[x]]], r"what it gives must hold paths and LinkableCode, not \[PTXSource"),
])
def test_wrong_results(link, match):
    k = kernel_of(five_deep(inner_of(link)))
    with pytest.raises(errors.LinkError, match=match) as caught:
        k.inspect_cubin(SIG, "sm_90")
    text = str(caught.value)
    assert "inner.__lanewise_link__" in text and "float32" in text or link == 7
    assert [line.rsplit("`")[-2] for line in text.splitlines() if "called from" in line] == ["k", "four", "three", "two", "one"]
    assert f"{__file__}:" in text and caught.value.__cause__ is not None


def test_undefined_without_an_attribute():
    with pytest.raises(errors.LinkError, match="ptx_seven"):
        kernel_of(lambda x: seven(x)).inspect_cubin(SIG, "sm_90")
    with pytest.raises(errors.LinkError, match="ptx_seven"):  # None: nothing
        kernel_of(inner_of(lambda x: None)).inspect_cubin(SIG, "sm_90")


def test_a_property_that_fails():
    class Broken:
        def __call__(self, x):
            return x

        @property
        def __lanewise_link__(self):
            # Names of the classes of syntax trees leave CPython's cache: a lookup that misses it clears the exception that is set.
            ast.AST.changed = True
            del ast.AST.changed
            raise RuntimeError("no code today")

    broken = Broken()
    with pytest.raises(RuntimeError, match="no code today"):
        kernel_of(broken).inspect_ptx(SIG, "sm_90")


# ---- the CPU ----


def test_the_cpu_has_no_such_code():
    recorder = Recorder()
    f = lw.vectorize(target="cpu")(inner_of(recorder))
    with pytest.raises(errors.UnsupportedError, match="ptx_seven"):
        f(np.ones(3, "f4"))
    assert recorder.seen == []


def test_the_cpu_runs_what_is_python():
    recorder = Recorder()

    def inner(x):
        return x + 1

    inner.__lanewise_link__ = recorder
    f = lw.vectorize(target="cpu")(lambda x: inner(x))
    assert f(np.ones(3, "f4")).tolist() == [2, 2, 2] and recorder.seen == []


# ---- pickling ----


def test_pickling():
    def inner(x):
        return seven(x)

    inner.__lanewise_link__ = [CODES[float32]]
    k = pickle.loads(pickle.dumps(kernel_of(five_deep(inner))))
    assert b"ptx_seven" in k.inspect_cubin(SIG, "sm_90")


# ---- on a device ----


def with_callbacks(events, name, factor):
    return cuda.PTXSource(ptx("ptx_seven", factor=factor).data, name, setup_callback=lambda module: events.append(("setup", name)),
                          teardown_callback=lambda module: events.append(("teardown", name)))


@pytest.mark.skipif(not cuda.is_available(), reason="no CUDA device")
def test_callbacks_of_all_that_is_linked():
    """Two codes of one content are linked once; the callbacks of both are called, and those of link=."""
    events = []
    inner = inner_of(lambda x: [with_callbacks(events, "one", "0f40E00000"), with_callbacks(events, "two", "0f40E00000")])
    other = cuda.PTXSource("\n.version 6.4\n.target sm_75\n.address_size 64\n", "three",
                           setup_callback=lambda module: events.append(("setup", "three")))
    k = kernel_of(five_deep(inner), link=other)
    x = cuda.to_device(np.ones(4, "f4"))
    for _ in range(2):
        k[1, 32](x, x)
    cuda.synchronize()
    assert sorted(events) == [("setup", "one"), ("setup", "three"), ("setup", "two")]
    events.clear()
    del k
    gc.collect()
    assert sorted(events) == [("teardown", "one"), ("teardown", "two")]


@pytest.mark.skipif(not cuda.is_available(), reason="no CUDA device")
def test_each_generator_asks_for_the_device():
    seen = []

    def link(x, target):
        seen.append((x, target))
        return CODES[float32]

    inner = inner_of(link)
    x = cuda.to_device(np.ones(4, "f4"))
    out = cuda.to_device(np.zeros(4, "f4"))

    @lw.guvectorize("(n)->(n)", target="cuda")
    def gufunc(x, out):
        for i in range(x.size):
            out[i] = inner(x[i])

    @lw.forall(target="cuda")
    def loop(i, x, y):
        y[i] = inner(x[i])

    ufunc = lw.vectorize(target="cuda")(lambda x: inner(x))
    reduction = lw.reduce(lambda a, b: a + b, map=inner, target="cuda")
    for call in (lambda: ufunc(x), lambda: gufunc(x, out), lambda: loop(4, x, out), lambda: kernel_of(inner)[1, 32](x, out),
                 lambda: reduction(x), lambda: reduction.accumulate(x)):
        call()
        call()
    major, minor = cuda.get_current_device().compute_capability
    assert set(seen) == {(float32, f"sm_{major}{minor}")} and len(seen) >= 5


def test_what_a_declaration_says():
    one = cuda.declare_device("one_of_two", "float64(float64[::1], int32*)", abi="numba")
    assert (one.name, str(one.sig), one.abi, one.host) == ("one_of_two", "float64(float64[::1], int32*)", "numba", None)


@pytest.mark.parametrize("sig", [int32(float32[:], types.CPointer(float32)), "int32(float32[:], float32*)"])
def test_signature_of_a_declared_function(sig):
    f = cuda.declare_device("f", sig)
    assert f.sig.args == (float32[:], types.CPointer(float32)) and f.sig.return_type == int32
    assert str(f.sig) == "int32(float32[:], float32*)"

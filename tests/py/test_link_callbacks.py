"""setup_callback and teardown_callback of linked code: once for each module, whatever the threads do, and what callbacks get.
On the fake driver: test_fake_driver.py."""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
import time

import numpy as np
import pytest

import lanewise as lw
from fake_driver import FAKE, needs_device
from lanewise import cuda, errors
from test_threads import together

pytestmark = needs_device

PTX = """
.version 6.4
.target sm_75
.address_size 64
.visible .global .align 4 .u32 answer;
.visible .func (.param .b32 r) ptx_answer(.param .b32 x)
{
    .reg .b32 %r<3>;
    ld.param.b32 %r1, [x];
    ld.global.u32 %r2, [answer];
    add.s32 %r1, %r1, %r2;
    st.param.b32 [r], %r1;
    ret;
}
"""


def code_of(name="answer.ptx", setup=None, teardown=None):
    return cuda.PTXSource(f"// {name}\n{PTX}", name, setup_callback=setup, teardown_callback=teardown)


def function_of(code):
    return cuda.declare_device("ptx_answer", "int32(int32)", abi="c", link=code)


def kernel_of(code, link=()):
    function = function_of(code)

    @cuda.jit(link=list(link))
    def k(x):
        i = cuda.grid(1)
        if i < x.size:
            x[i] = function(x[i])

    return k


def array():
    return cuda.to_device(np.arange(8, dtype="i4"))


def forall_of(code):
    function = function_of(code)

    @lw.forall
    def f(i, x):
        x[i] = function(x[i])

    return lambda x: f(x.size, x)


def bound_of(code):
    function = function_of(code)

    @lw.forall
    def f(i, x):
        x[i] = function(x[i])

    bound = []

    def call(x):
        if not bound:
            bound.append(f.bind(x.size, x))
        bound[0]()

    return call


def vectorize_of(code):
    function = function_of(code)
    return lw.vectorize(lambda x: function(x) + 1)


def guvectorize_of(code):
    function = function_of(code)
    return lw.guvectorize("(n)->()")(lambda x: function(x[0]))


def jit_of(code):
    kernel = kernel_of(code)
    return lambda x: kernel[1, 8](x)


def reduce_of(code):
    function = function_of(code)
    return lw.reduce(lambda a, b: a + b, map=lambda x: function(x))


def scan_of(code):
    return reduce_of(code).accumulate


def reduceat_of(code):
    f = reduce_of(code)
    return lambda x: f.reduceat(x, [0, 3])


def by_key_of(code):
    f = reduce_of(code)
    return lambda x: f.by_key(x, x)


CALLS = [jit_of, forall_of, bound_of, vectorize_of, guvectorize_of, reduce_of, scan_of, reduceat_of, by_key_of]


class Events(list):
    """What happened, in order; the setup takes a while."""

    def code(self, name="answer.ptx", seconds=0.0):
        def setup(module):
            time.sleep(seconds)
            self.append(("setup", name))

        return code_of(name, setup, lambda module: self.append(("teardown", name)))


# ---- setting up ----


@pytest.mark.parametrize("make", CALLS)
def test_once_before_any_launch(make):
    events = Events()
    call = make(events.code(seconds=0.2))

    def work(_i):
        call(array())
        events.append("ran")
        return True

    together(6, work)
    assert events == [("setup", "answer.ptx")] + ["ran"] * 6
    call(array())
    assert len(events) == 7


@pytest.mark.parametrize("make", CALLS)
def test_a_failure_fails_every_waiter_and_is_tried_again(make):
    started, calls = threading.Event(), []

    def setup(_module):
        calls.append(threading.get_ident())
        if len(calls) > 1:
            return
        started.set()
        time.sleep(0.3)
        raise KeyError("no")

    torn = []
    call = make(code_of(setup=setup, teardown=torn.append))

    def work(i):
        if i > 0:
            started.wait()
        try:
            call(array())
        except KeyError as problem:
            return problem.args
        return None

    assert together(5, work) == [("no",)] * 5 and len(calls) == 1
    call(array())
    call(array())
    assert len(calls) == 2 and torn == []


@pytest.mark.parametrize("fails", [False, True])
@pytest.mark.parametrize("make", CALLS)
def test_a_callback_may_launch_and_others_wait(make, fails):
    nested, events, own = threading.Event(), [], []

    def setup(_module):
        for _ in range(2):
            own[0](x)
        events.append("nested")
        nested.set()
        time.sleep(0.2)
        events.append("set up")
        if fails and len(events) < 4:
            raise KeyError("no")

    own.append(make(code_of(setup=setup)))
    x = array()

    def work(i):
        if i > 0:
            nested.wait()
        try:
            own[0](x if i == 0 else array())
        except KeyError:
            return "failed"
        return "ran"

    assert together(3, work) == ["failed" if fails else "ran"] * 3
    assert events == ["nested", "set up"]
    own[0](array())
    own[0](x)
    assert events == ["nested", "set up"] * (1 + fails)


def test_two_codes_in_order():
    events = Events()
    first, second = events.code("first"), events.code("second")
    k = kernel_of(first, link=[cuda.PTXSource(PTX.replace("ptx_answer", "other").replace("answer", "another"), "plain.ptx"),
                               cuda.PTXSource(PTX.replace("answer", "second"), "second",
                                              second.setup_callback, second.teardown_callback)])
    k[1, 8](array())
    assert len(events) == 2
    del k
    gc.collect()
    assert [name for what, name in events[2:]] == [name for what, name in reversed(events[:2])]
    assert [what for what, name in events] == ["setup"] * 2 + ["teardown"] * 2


def test_threads_that_wait_for_each_other():
    """Each callback launches the other's kernel: one of them gets an error, and nothing hangs."""
    kernels, both = {}, threading.Barrier(2, timeout=60)

    def setup_of(other):
        def setup(_module):
            both.wait()
            kernels[other][1, 8](array())

        return setup

    for name, other in (("a", "b"), ("b", "a")):
        kernels[name] = kernel_of(code_of(name, setup_of(other)))

    def work(i):
        try:
            kernels["ab"[i]][1, 8](array())
        except RuntimeError as problem:
            return str(problem)
        return "ran"

    results = together(2, work)
    assert any("neither can end" in result for result in results), results


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_ctrl_c_while_another_thread_sets_up():
    started, end = threading.Event(), threading.Event()

    def setup(_module):
        started.set()
        end.wait(60)

    k = kernel_of(code_of(setup=setup))
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a background shell starts us with it ignored
    other = threading.Thread(target=lambda: k[1, 8](array()))
    other.start()
    started.wait()
    timer = threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            k[1, 8](array())
    finally:
        end.set()
        other.join()
        timer.join()
        signal.signal(signal.SIGINT, before)
    k[1, 8](array())


# ---- tearing down ----


@pytest.mark.parametrize("make", CALLS)
def test_teardown_when_the_kernel_goes(make):
    events = Events()
    call = make(events.code())
    call(array())
    del call
    gc.collect()
    assert events == [("setup", "answer.ptx"), ("teardown", "answer.ptx")]


def test_a_teardown_that_raises(monkeypatch):
    told = []
    monkeypatch.setattr(sys, "unraisablehook", lambda args: told.append(args.exc_value))

    def teardown(_module):
        raise KeyError("late")

    k = kernel_of(code_of(teardown=teardown))
    k[1, 8](array())
    cuda.close()
    del k
    gc.collect()
    assert [problem.args for problem in told] == [("late",)]


def reset():
    cuda.current_context().reset()


RESETS = pytest.mark.skipif(not FAKE, reason="resets the device under other libraries of this process")


@pytest.mark.parametrize("end", [cuda.close, pytest.param(reset, marks=RESETS)])
@pytest.mark.parametrize("make", CALLS)
def test_teardown_at_close_and_reset(make, end):
    events, usable = Events(), []

    def teardown(module):
        usable.append(module.get_global("answer").size)
        events.append(("teardown", "last"))

    calls = [make(code) for code in (events.code("first"), events.code("second"),
                                     code_of("last", lambda module: events.append(("setup", "last")), teardown))]
    for call in calls:
        call(array())
    end()
    assert events == [("setup", "first"), ("setup", "second"), ("setup", "last"),
                      ("teardown", "last"), ("teardown", "second"), ("teardown", "first")] and usable == [4]
    end()
    assert len(events) == 6
    if make is not bound_of:  # whose arrays a reset takes along
        calls[1](array())
        assert events[6:] == [("setup", "second")]
    del calls, call
    gc.collect()
    assert events[7:] == ([("teardown", "second")] if make is not bound_of else [])


def test_a_bound_call_after_close():
    events = Events()
    call = bound_of(events.code())
    x = array()
    call(x)
    cuda.close()
    call(x)
    call(x)
    assert [what for what, _ in events] == ["setup", "teardown", "setup"]


EXIT = """
import atexit
import test_link_callbacks as t
from lanewise import cuda

atexit.register(lambda: print("before all"))

def say(what):
    return lambda module: print(what, module.get_global("answer").size)

def fail(module):
    raise ValueError("told of")

kernels = [t.kernel_of(t.code_of(name, say("up " + name), say("down " + name) if name != "c" else fail)) for name in "abc"]
for k in kernels:
    k[1, 8](t.array())
t.x = kernels[0], t.array()  # lives until the end
"""


def test_teardown_at_exit(run_python):
    done = run_python("-c", EXIT, PYTHONPATH=os.pathsep.join([os.path.dirname(__file__), *sys.path]))
    assert done.stdout.split("\n") == ["up a 4", "up b 4", "up c 4", "down b 4", "down a 4", "before all", ""]
    assert "ValueError: told of" in done.stderr


# ---- what callbacks get ----


def test_levels_of_recursion():
    """The image's variable holds how many levels the stack has room for, which follows from the setting."""
    levels = []

    def down(n):
        return function(n) if n <= 0 else down(n - 1) + 1

    for kb in (16, 64):
        function = function_of(code_of(f"{kb}.ptx", setup=lambda module: levels.append(
            int(cuda.as_cuda_array(module.get_global("lw_recursion_levels")).view(np.int32).copy_to_host()[0]))))
        with lw.config(stack_kb=kb):
            kernel = cuda.jit(lambda x: down_of(x, down))
            kernel[1, 1](array())
    assert 50 < levels[0] < 2000 and 3 < levels[1] / levels[0] < 5


def down_of(x, down):
    x[0] = down(x[0])



def test_the_module():
    seen = []

    def setup(module):
        seen.append(module)
        memory = module.get_global("answer")
        assert isinstance(memory, cuda.MemoryPointer) and memory.size == 4 and memory.context.device == cuda.get_current_device()
        value = cuda.as_cuda_array(memory).view(np.int32)
        value[0] = 42
        assert value.copy_to_host().tolist() == [42]
        with pytest.raises(errors.DriverError, match='"question"'):
            module.get_global("question")
        with pytest.raises(errors.LinkError, match='"question"'):
            module.get_function("question")
        with pytest.raises(TypeError):
            module.get_global(3)

    k = kernel_of(code_of(setup=setup, teardown=seen.append))
    k[1, 8](array())
    module, = seen
    assert isinstance(module.handle, int) and module.handle
    assert int(module) == module.__index__() == module.handle == module and hash(module) == hash(module.handle)
    assert f"{module.handle:#x}" in repr(module) and module != module.handle + 1 and module != "x"
    assert module.get_global("answer").size == 4
    symbol = next(iter(k.inspect_ptx().values())).split(".entry ")[1].split("(")[0].strip()
    function = module.get_function(symbol)
    assert function.handle == int(function) != 0 and function.name == symbol and function.module is module
    assert function.attrs.maxthreads > 0 and function.attrs.regs > 0 and symbol in repr(function)
    del k
    gc.collect()
    assert seen == [module, module]
    for ask in (module.get_global, module.get_function):
        with pytest.raises(RuntimeError, match="unloaded"):
            ask("answer")


def test_on_each_device():
    """With several devices, the callback runs on that of the module."""
    seen = []
    k = kernel_of(code_of(setup=lambda module: seen.append((module.context.device.id, cuda.get_current_device().id))))
    arrays = []
    for device in cuda.gpus:
        with device:
            arrays.append(array())
    for x in arrays:
        k[1, 8](x)
        k[1, 8](x)
    assert seen == [(device.id, device.id) for device in cuda.gpus]

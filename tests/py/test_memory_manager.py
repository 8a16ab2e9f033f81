"""Memory managers (numba's plugin interface) and memory shared between processes. What needs a
device is run on the fake driver by test_fake_driver.py; its managers call the driver by ctypes."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import pickle
import subprocess
import sys
import threading

import numpy as np
import pytest

import lanewise as lw
from fake_driver import FAKE, needs_device, needs_kernels
from lanewise import cuda, errors


@pytest.fixture
def driver():
    library = ctypes.CDLL(lw.config.driver if FAKE else "libcuda.so.1")
    yield library
    cuda.set_memory_manager(None)


class Plain(cuda.GetIpcHandleMixin, cuda.HostOnlyCUDAMemoryManager):
    """A manager as in numba's documentation: the driver makes each allocation."""

    log: list = []
    driver = None
    interface_version = 1

    def initialize(self):
        self.log.append("initialize")

    def memalloc(self, size):
        pointer, driver, log = ctypes.c_uint64(), self.driver, self.log
        code = driver.cuMemAlloc_v2(ctypes.byref(pointer), ctypes.c_size_t(size))
        if code:
            raise MemoryError(f"cuMemAlloc gave {code}")
        log.append(("take", size))

        def finalizer():
            log.append(("give", size))
            driver.cuMemFree_v2(pointer)

        return cuda.MemoryPointer(self.context, pointer, size, finalizer=finalizer)

    def get_memory_info(self):
        return cuda.MemoryInfo(free=11, total=22)

    def reset(self):
        super().reset()
        self.log.append("reset")


def plain(driver, **methods):
    """A subclass with its own log."""
    return type("Own", (Plain,), {"log": [], "driver": driver, **methods})


@needs_device
def test_arrays_come_from_it(driver):
    manager = plain(driver)
    cuda.set_memory_manager(manager)
    a = cuda.device_array(5, np.float32)
    b = cuda.to_device(np.arange(4.0))
    c = b.copy()
    assert manager.log == ["initialize", ("take", 20), ("take", 32), ("take", 32)]
    assert c.copy_to_host().tolist() == [0, 1, 2, 3]
    view = b[1:]
    del a, b
    assert manager.log[4:] == [("give", 20)]
    del view, c
    gc.collect()
    assert manager.log[5:] == [("give", 32)] * 2
    assert cuda.device_array(0).size == 0 and len(manager.log) == 7  # nothing to allocate


@needs_device
@pytest.mark.parametrize("join", [np.concatenate, np.stack, np.hstack, np.vstack])
def test_list_of_arrays_that_it_empties(driver, join):
    """The arrays are held while their result is allocated, which runs the manager's code."""
    parts = [cuda.to_device(np.full(1000, float(i + 1))) for i in range(3)]
    wanted = join([part.copy_to_host() for part in parts])

    def memalloc(self, size):
        parts.clear()
        gc.collect()
        return Plain.memalloc(self, size)

    cuda.set_memory_manager(plain(driver, memalloc=memalloc))
    made = join(parts)
    cuda.set_memory_manager(None)
    assert not parts
    np.testing.assert_array_equal(made.copy_to_host(), wanted)


@needs_device
def test_back_to_where_it_came_from(driver):
    before = cuda.to_device([1, 2])
    manager = plain(driver)
    cuda.set_memory_manager(manager)
    during = cuda.to_device([3, 4])
    cuda.set_memory_manager(None)
    after = cuda.to_device([5, 6])
    assert manager.log == ["initialize", ("take", 16)]
    assert [x.copy_to_host().tolist() for x in (before, during, after)] == [[1, 2], [3, 4], [5, 6]]
    del before, during, after
    assert manager.log[2:] == [("give", 16)]


@needs_device
def test_context_asks_it(driver):
    manager = plain(driver)
    cuda.set_memory_manager(manager)
    info = cuda.current_context().get_memory_info()
    assert info == (11, 22) and info.free == 11 and type(info) is cuda.MemoryInfo
    a = cuda.device_array(3)
    cuda.close()
    b = cuda.device_array(3)  # a new manager
    assert manager.log.count("initialize") == 2
    a.copy_to_host(), b.copy_to_host()


@needs_device
@needs_device
def test_assigned_to_a_context(driver):
    """As numba's `context.memory_manager = manager`: an object, initialised at once, which stays after a reset."""
    context = cuda.current_context()
    pool, manager = context.memory_manager, plain(driver)(context=context)
    memory = pool.memalloc(24)
    assert memory.size == 24 and memory.device_pointer_value % 16 == 0 and pool.get_memory_info().total > 22
    context.memory_manager = manager
    assert context.memory_manager is manager and manager.log == ["initialize"]
    a = cuda.to_device(np.arange(3))
    assert manager.log[1:] == [("take", 24)] and context.get_memory_info() == (11, 22)
    context.memory_manager = pool
    b = cuda.to_device(np.arange(4))
    assert len(manager.log) == 2 and context.get_memory_info() != (11, 22)
    context.memory_manager = manager
    c = pool.memalloc(40)  # the pool's, whatever is set
    assert len(manager.log) == 3 and c.device_pointer_value
    assert [x.copy_to_host().tolist() for x in (a, b)] == [[0, 1, 2], [0, 1, 2, 3]]
    del a, b, c, memory
    assert manager.log[2:] == ["initialize", ("give", 24)]
    for bad, kind, words in ((None, TypeError, "derived from BaseCUDAMemoryManager, got NoneType"),
                             (plain(driver, interface_version=2)(context=context), RuntimeError, "interface version 1 required")):
        with pytest.raises(kind, match=words):
            context.memory_manager = bad
    with pytest.raises(AttributeError, match="cannot be deleted"):
        del context.memory_manager
    cuda.set_memory_manager(None)
    assert context.memory_manager is not manager


@pytest.mark.skipif(not FAKE, reason="resets the device")
def test_assigned_and_reset(driver):
    context = cuda.current_context()
    context.memory_manager = manager = plain(driver)(context=context)
    context.reset()
    assert cuda.current_context().memory_manager is manager and manager.log == ["initialize", "reset"]
    a = cuda.to_device([1, 2])
    assert a.copy_to_host().tolist() == [1, 2]
    del a
    assert manager.log[2:] == [("take", 16), ("give", 16)]


@pytest.mark.skipif(not FAKE, reason="resets the device")
def test_reset(driver):
    manager = plain(driver)
    cuda.set_memory_manager(manager)
    a = cuda.device_array(3)
    cuda.current_context().reset()
    assert manager.log[-1] == "reset" and not a._is_alive
    with pytest.raises(errors.DriverError, match="was reset"):
        a.copy_to_host()
    assert cuda.to_device([1]).copy_to_host().tolist() == [1]


def raises(problem):
    def memalloc(self, size):
        raise problem

    return memalloc


@needs_device
@pytest.mark.parametrize("memalloc, error, match", [
    (raises(KeyError("mine")), KeyError, "mine"),
    (raises(MemoryError("no more")), MemoryError, "no more"),
    (lambda self, size: None, TypeError, r"Own.memalloc: expected a MemoryPointer, got NoneType"),
    (lambda self, size: cuda.MemoryPointer(self.context, 0, size), ValueError, "aligned to 16 bytes, got 0x0"),
    (lambda self, size: cuda.MemoryPointer(self.context, ctypes.c_void_p(0x1001), size), ValueError, "got 0x1001"),
    (lambda self, size: cuda.MemoryPointer(self.context, "x", size), TypeError, "pointer: expected an int .*, got str"),
    (lambda self, size: cuda.MemoryPointer(self.context, 0x1000, size - 1), ValueError, "at least 8 bytes, got 7"),
])
def test_allocations_that_fail(driver, memalloc, error, match):
    cuda.set_memory_manager(plain(driver, memalloc=memalloc))
    for _ in range(3):
        with pytest.raises(error, match=match):
            cuda.device_array(1)
    with pytest.raises(error):
        cuda.to_device([1.0])
    cuda.set_memory_manager(None)
    assert cuda.to_device([1.0]).copy_to_host().tolist() == [1.0]


@needs_device
def test_a_finalizer_that_raises(driver, monkeypatch):
    seen = []
    monkeypatch.setattr(sys, "unraisablehook", lambda what: seen.append(what.exc_value))

    def memalloc(self, size):
        memory = Plain.memalloc(self, size)
        return cuda.MemoryPointer(self.context, memory.device_pointer, size,
                                  finalizer=lambda memory=memory: {}["freed"])

    cuda.set_memory_manager(plain(driver, memalloc=memalloc))
    a = cuda.device_array(3)
    del a
    assert [type(problem) for problem in seen] == [KeyError]


@needs_device
def test_managers_that_are_refused(driver):
    with pytest.raises(RuntimeError, match="mm_plugin: interface version 1 required, got a memory manager of version 2"):
        cuda.set_memory_manager(plain(driver, interface_version=2))
    with pytest.raises(TypeError, match="expected a class of memory managers, got int"):
        cuda.set_memory_manager(3)
    with pytest.raises(TypeError, match="abstract"):
        cuda.set_memory_manager(cuda.BaseCUDAMemoryManager)
    with pytest.raises(RuntimeError, match="made with context="):
        plain(driver)()
    cuda.set_memory_manager(plain(driver, initialize=lambda self: 1 / 0))
    with pytest.raises(ZeroDivisionError):
        cuda.device_array(3)


@needs_device
def test_streams_and_threads(driver):
    manager = plain(driver)
    cuda.set_memory_manager(manager)
    wrong = []

    def work():
        stream = cuda.stream()
        for i in range(20):
            d = cuda.to_device(np.full(50, i), stream=stream)
            other = cuda.device_array_like(d)
            other.copy_to_device(d, stream=stream)
            if (other.copy_to_host(stream=stream) != i).any():
                wrong.append(i)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    gc.collect()
    takes = [entry for entry in manager.log if entry[0] == "take"]
    gives = [entry for entry in manager.log if entry[0] == "give"]
    assert not wrong and len(takes) == len(gives) >= 160


@needs_device
def test_host_memory(driver):
    manager = plain(driver)
    cuda.set_memory_manager(manager)
    pinned = cuda.pinned_array(4, np.int32)
    mapped = cuda.mapped_array((2, 3), np.float32)
    managed = cuda.managed_array(3)
    for array in (pinned, mapped, managed):
        array[...] = 3
    assert cuda.as_cuda_array(mapped).copy_to_host().tolist() == [[3, 3, 3]] * 2
    assert cuda.as_cuda_array(managed).copy_to_host().tolist() == [3, 3, 3]
    own = np.arange(5.0)
    with cuda.pinned(own):
        pass
    with cuda.mapped(own[::-1]) as d:
        assert d.copy_to_host().tolist() == [4, 3, 2, 1, 0]


@needs_device
def test_host_memory_of_its_own(driver):
    log, buffers = [], []

    def memhostalloc(self, size, mapped=False, portable=False, wc=False):
        log.append(("host", size, mapped, wc))
        buffers.append(ctypes.create_string_buffer(size))
        if mapped:
            return cuda.HostOnlyCUDAMemoryManager.memhostalloc(self, size, mapped, portable, wc)
        return cuda.PinnedMemory(self.context, ctypes.addressof(buffers[-1]), size, finalizer=lambda: log.append("gone"))

    def mempin(self, owner, pointer, size, mapped=False):
        log.append(("pin", size, mapped))
        return cuda.HostOnlyCUDAMemoryManager.mempin(self, owner, pointer, size, mapped)

    cuda.set_memory_manager(plain(driver, memhostalloc=memhostalloc, mempin=mempin))
    array = cuda.pinned_array(4, np.int8)
    array[:] = [1, 2, 3, 4]
    assert buffers[0].raw == b"\1\2\3\4"
    del array
    assert log == [("host", 4, False, False), "gone"]
    cuda.mapped_array(2, np.int8, wc=True)
    own = np.zeros(3, np.int8)
    with cuda.mapped(own) as d:
        d[1] = 5
    assert log[2:] == [("host", 2, True, True), ("pin", 3, True)] and own.tolist() == [0, 5, 0]
    cuda.set_memory_manager(plain(driver, memhostalloc=lambda self, *args, **keywords: 5))
    with pytest.raises(TypeError, match="memhostalloc: expected PinnedMemory, got int"):
        cuda.pinned_array(3)


@needs_device
def test_defer_cleanup(driver):
    log = []

    @contextlib.contextmanager
    def defer_cleanup(self):
        log.append("in")
        with cuda.HostOnlyCUDAMemoryManager.defer_cleanup(self):
            yield
        log.append("out")

    cuda.set_memory_manager(plain(driver, defer_cleanup=defer_cleanup))
    with cuda.defer_cleanup():
        cuda.pinned_array(3)
        assert log == ["in"]
    assert log == ["in", "out"]


@needs_device
def test_memory_pointers(driver):
    freed = []
    memory = cuda.to_device(np.arange(8, dtype=np.uint8))
    pointer = cuda.MemoryPointer(cuda.current_context(), ctypes.c_void_p(memory.__cuda_array_interface__["data"][0]), 8,
                                 finalizer=lambda: freed.append(1))
    assert pointer.own() is pointer and pointer.owner is pointer and pointer.is_managed
    assert pointer.device_pointer_value == memory.__cuda_array_interface__["data"][0]
    part = pointer.view(2, 6)
    assert part.size == 4 and part.owner is pointer and not part.is_managed
    part.memset(9, 3)
    assert memory.copy_to_host().tolist() == [0, 1, 9, 9, 9, 5, 6, 7]
    pointer.free()
    assert freed == [1]
    with pytest.raises(RuntimeError, match="freed already"):
        pointer.free()
    del pointer, part
    assert freed == [1]


@needs_device
@needs_kernels
def test_kernels_and_ufuncs_with_it(driver):
    manager = plain(driver)
    cuda.set_memory_manager(manager)
    double = lw.vectorize(lambda x: x * 2)
    x = cuda.to_device(np.arange(1000.0))
    assert (double(x).copy_to_host() == np.arange(1000.0) * 2).all()

    @cuda.jit
    def fill(out):
        i = cuda.grid(1)
        if i < out.size:
            out[i] = i

    out = np.zeros(100)
    fill[1, 128](out)  # a host array: copied there and back
    assert (out == np.arange(100)).all()
    assert lw.reduce(lambda a, b: a + b)(x) == 499500
    del x
    takes = sum(entry[0] == "take" for entry in manager.log)
    assert takes == sum(entry[0] == "give" for entry in manager.log) >= 3


# ---- memory shared between processes ----


@needs_device
def test_ipc_in_one_process(driver):
    """The fake driver opens its own handles; the real one refuses to."""
    cuda.set_memory_manager(plain(driver))
    a = cuda.to_device(np.arange(12, dtype=np.int32).reshape(3, 4))
    handle = a[1:].get_ipc_handle()
    assert type(handle) is cuda.IpcHandle and handle.base is not None and handle.size == 32 and handle.offset == 16
    assert len(handle.handle) == 64 and handle.source_info == a.device.uuid
    there = pickle.loads(pickle.dumps(handle))
    assert there.base is None and (there.handle, there.size, there.offset) == (handle.handle, 32, 16)
    if not FAKE:
        return
    array = there.open_array(cuda.current_context(), shape=(2, 4), dtype=np.int32)
    assert array.copy_to_host().tolist() == [[4, 5, 6, 7], [8, 9, 10, 11]]
    array[0, 0] = 77
    assert a.copy_to_host()[1, 0] == 77
    with pytest.raises(ValueError, match="already opened"):
        there.open()
    there.close()
    with pytest.raises(ValueError, match="not open"):
        there.close()
    assert array.copy_to_host()[0, 0] == 77  # it stays open for the array
    with cuda.open_ipc_handle(handle, 4, np.int32, strides=8) as part:
        assert part.copy_to_host().tolist() == [77, 6, 8, 10]
    with cuda.open_ipc_array(handle.handle, (2, 2), np.int32, offset=4) as part:
        assert part.copy_to_host().tolist() == [[1, 2], [3, 77]]
    with cuda.open_ipc_array(tuple(handle.handle), 1, np.dtype([("a", "i4"), ("b", "i4")])) as part:
        assert part.copy_to_host().tolist() == [(0, 1)]


@needs_device
def test_ipc_that_is_refused(driver):
    a = cuda.to_device(np.arange(4.0))
    if cuda.get_current_device().MEMORY_POOLS_SUPPORTED and not lw.config.ipc:
        with pytest.raises(errors.DriverError, match="cuIpcGetMemHandle.*set LANEWISE_IPC=1"):
            a.get_ipc_handle()
    with pytest.raises(ValueError, match="an empty array"):
        a[:0].get_ipc_handle()
    handle = cuda.IpcHandle(None, bytes(64), 32)
    with pytest.raises(ValueError, match="takes 40 bytes, the memory has 32"):
        handle.open_array(None, 5, np.float64)
    with pytest.raises(ValueError, match="strides: expected 1, as in shape, got 2"):
        handle.open_array(None, 2, np.float64, strides=(8, 8))
    with pytest.raises(errors.DriverError, match="cuIpcOpenMemHandle"):
        handle.open()
    with pytest.raises(ValueError, match="expected 64 bytes, got 3"):
        cuda.IpcHandle(None, b"abc", 32).open()


@needs_device
def test_ipc_of_our_own_memory(run_python):
    """LANEWISE_IPC=1: also without a manager, and through the pool's lists."""
    code = ("import numpy as np\n"
            "from lanewise import cuda\n"
            "for _ in range(3):\n"
            "    a = cuda.to_device(np.arange(6.0))\n"
            "    h = a.get_ipc_handle()\n"
            "    assert h.size == 48 and len(h.handle) == 64 and h.offset == 0\n"
            "    assert (h.shape, h.dtype, h.strides) == ((6,), np.float64, None)\n"
            "    g = cuda.current_context().get_ipc_handle(a.gpu_data)\n"
            "    assert type(g) is cuda.IpcHandle and g.handle.reserved == h.handle and g.size == 48\n"
            "    del a, h, g\n"
            "assert cuda.current_context().pool_statistics()['n_hits'] == 2\n")
    run_python("-c", code, LANEWISE_IPC="1")


@needs_device
@pytest.mark.skipif(not FAKE, reason="the driver does not open a process's own handles")
def test_ipc_handle_as_a_context(run_python):
    """The handle of an array knows its shape, and opens as the array."""
    code = ("import pickle\n"
            "import numpy as np\n"
            "from lanewise import cuda\n"
            "a = cuda.to_device(np.arange(12.0).reshape(3, 4))\n"
            "for part in a, a[1:], a.T[1:3]:\n"
            "    there = pickle.loads(pickle.dumps(part.get_ipc_handle()))\n"
            "    assert type(there) is cuda.IpcArrayHandle and there.base is None\n"
            "    with there as array:\n"
            "        assert (array.copy_to_host() == part.copy_to_host()).all()\n"
            "        try:\n"
            "            there.__enter__()\n"
            "        except ValueError as problem:\n"
            "            assert 'already opened' in str(problem)\n"
            "        else:\n"
            "            raise AssertionError\n")
    run_python("-c", code, LANEWISE_IPC="1")


@needs_device
@needs_kernels
def test_ipc_between_processes(tmp_path):
    code = ("import pickle, sys\n"
            "from lanewise import cuda\n"
            "handle = pickle.load(sys.stdin.buffer)\n"
            "with cuda.open_ipc_handle(handle, 4, 'f8') as a:\n"
            "    assert a.copy_to_host().tolist() == [0, 1, 2, 3]\n"
            "    a[2] = 7\n"
            "    cuda.synchronize()\n")
    parent = ("import pickle, subprocess, sys\n"
              "import numpy as np\n"
              "from lanewise import cuda\n"
              "a = cuda.to_device(np.arange(4.0))\n"
              "cuda.synchronize()\n"
              f"subprocess.run([sys.executable, '-c', {code!r}], input=pickle.dumps(a.get_ipc_handle()), check=True)\n"
              "assert a.copy_to_host().tolist() == [0, 1, 7, 3]\n")
    import os

    subprocess.run([sys.executable, "-c", parent], check=True, env={**os.environ, "LANEWISE_IPC": "1"})


# ---- without a GPU ----


def test_on_the_cpu():
    with lw.config(target="cpu"):
        d = cuda.to_device([1.0])
        for call in (lambda: cuda.set_memory_manager(Plain), d.get_ipc_handle, lambda: cuda.open_ipc_handle(b"", 1, "f8").__enter__(),
                     lambda: cuda.IpcHandle(None, bytes(64), 8).open_array(None, 1, "f8"),
                     lambda: cuda.current_context().memory_manager, lambda: cuda.current_context().get_ipc_handle(None)):
            with pytest.raises(errors.UnsupportedError, match='needs a GPU: with target="cpu"'):
                call()
        with cuda.defer_cleanup():
            pass
    freed = []
    memory = cuda.MemoryPointer(None, 0x1000, 16, finalizer=lambda: freed.append(1))
    assert memory.view(8).size == 8 and memory.view(8).device_pointer_value == 0x1008
    with pytest.raises(RuntimeError, match="stop"):
        memory.view(8, 4)
    del memory
    assert freed == [1]
    handle = pickle.loads(pickle.dumps(cuda.IpcHandle(None, range(64), 8, "GPU", 3)))
    assert (handle.handle, handle.size, handle.source_info, handle.offset) == (bytes(range(64)), 8, "GPU", 3)


@needs_device
def test_nothing_leaks(driver):
    from lanewise import _core

    def refuse(self, size):
        raise MemoryError("no more")

    failing = plain(driver, memalloc=refuse)
    working = plain(driver)

    def work():
        for manager in (working, failing):
            cuda.set_memory_manager(manager)
            for _ in range(50):
                with contextlib.suppress(MemoryError):
                    cuda.to_device(np.arange(3.0)).copy_to_host()
            cuda.pinned_array(3)
            cuda.set_memory_manager(None)
        working.log.clear()
        gc.collect()
        return _core._memory_live(), sys.getallocatedblocks()

    work()
    before = work()
    for _ in range(5):
        after = work()
    assert after[0] <= before[0] and after[1] - before[1] < 60

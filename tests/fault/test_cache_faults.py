"""The disk cache, damaged and refused in every way: results stay right, and one warning at most."""

from __future__ import annotations

import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pytest

import lanewise as lw

X = np.arange(50.0)
ROOT_USER = os.geteuid() == 0


def body(x):
    return x * 3 + 1


@pytest.fixture
def folder(tmp_path):
    """An empty cache folder, in use."""
    path = tmp_path / "cache"
    with lw.config(cache_dir=str(path)):
        yield path
    lw.cache.clear(memory_only=True)


def run():
    """A first call in a process that remembers nothing: what was warned of."""
    lw.cache.clear(memory_only=True)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        f = lw.vectorize(body)
        assert f(X).tobytes() == (X * 3 + 1).tobytes()
        assert f(X).tobytes() == (X * 3 + 1).tobytes()
    return [str(w.message) for w in seen]


def entries(path):
    return sorted(p for p in path.iterdir() if p.suffix == ".lwk")


def left(path):
    """All files but the one whose bytes are locked while an entry is made."""
    return [p for p in path.iterdir() if p.name != ".lwlock"]


def first_entry(path):
    assert run() == []
    found = entries(path)
    assert len(found) == 1
    return found[0]


def counts():
    info = lw.cache.info()
    return info["compiled"], info["disk_hits"]


def test_a_good_entry_is_read(folder):
    entry = first_entry(folder)
    before = counts()
    assert run() == []
    assert counts() == (before[0], before[1] + 1)
    assert entry.stat().st_mode & 0o777 == 0o600 and folder.stat().st_mode & 0o777 == 0o700
    assert re.fullmatch(r"[0-9a-f]{64}-\d\.lwk", entry.name)


def flip(data, at, bit):
    return data[:at] + bytes([data[at] ^ 1 << bit]) + data[at + 1:]


def bad(entry, data):
    """Write damaged content; the next first call compiles anew, says so once, and heals the entry."""
    good = entry.read_bytes()
    entry.write_bytes(data)
    before = counts()
    said = run()
    assert len(said) <= 1, said
    after = counts()
    assert after == (before[0] + 1, before[1]), "the damaged entry was not compiled anew"
    assert entry.read_bytes()[:80] == good[:80]
    assert run() == []
    assert counts() == (after[0], after[1] + 1)
    return said


def test_flipped_bits(folder):
    entry = first_entry(folder)
    data = entry.read_bytes()
    rng = random.Random(7)
    places = list(range(0, 60, 5)) + [len(data) - 1, len(data) - 20, len(data) - 33] + [rng.randrange(len(data)) for _ in range(25)]
    for at in places:
        bad(entry, flip(data, at, rng.randrange(8)))


def test_truncated(folder):
    entry = first_entry(folder)
    data = entry.read_bytes()
    for n in (0, 1, 7, 8, 55, 56, 87, 88, len(data) // 2, len(data) - 1):
        bad(entry, data[:n])
    bad(entry, data + b"\0")
    bad(entry, data + data)


GARBAGE = {
    "zeros": lambda data: bytes(len(data)), "ones": lambda data: b"\xff" * len(data), "text": lambda data: b"hello\n", "an ELF": lambda data: b"\x7fELF" + data[4:],
    "noise": lambda data: random.Random(3).randbytes(len(data)), "other version": lambda data: data[:8] + b"\2\0\0\0" + data[12:],
    "other kind": lambda data: data[:12] + b"\7\0\0\0" + data[16:], "huge length": lambda data: data[:16] + b"\xff" * 8 + data[24:],
    "other key": lambda data: data[:24] + bytes(32) + data[56:], "other sum": lambda data: data[:-32] + bytes(32), "python": lambda data: b"import os\n" * 100,
}


@pytest.mark.parametrize("name", GARBAGE)
def test_garbage(name, folder):
    entry = first_entry(folder)
    said = bad(entry, GARBAGE[name](entry.read_bytes()))
    assert said and str(entry) in said[0]


def test_entries_change_places(folder):
    """Another function's entry under this name is not taken for it."""
    entry = first_entry(folder)
    good = entry.read_bytes()
    lw.vectorize(lambda x: x * 5)(X)
    other = next(p for p in entries(folder) if p != entry)
    bad(entry, other.read_bytes())
    assert entry.read_bytes() == good


def replace_by_link(entry):
    target = entry.with_name("elsewhere")
    entry.rename(target)
    entry.symlink_to(target)


def replace_by_broken_link(entry):
    entry.unlink()
    entry.symlink_to("/nowhere/at/all")


def replace_by_folder(entry):
    entry.unlink()
    entry.mkdir()
    (entry / "file").write_text("x")


def replace_by_pipe(entry):
    entry.unlink()
    os.mkfifo(entry)


def replace_by_writable(entry):
    entry.chmod(0o666)


def replace_by_unreadable(entry):
    entry.chmod(0)


@pytest.mark.parametrize("change", [replace_by_link, replace_by_broken_link, replace_by_folder, replace_by_pipe, replace_by_writable, replace_by_unreadable],
                         ids=lambda change: change.__name__[11:])
def test_odd_files(change, folder):
    entry = first_entry(folder)
    change(entry)
    start = time.perf_counter()
    first, second = run(), run()
    assert time.perf_counter() - start < 30  # a pipe does not block
    assert len(first) <= 1 and len(second) <= 1, (first, second)


@pytest.mark.skipif(not ROOT_USER, reason="only root can give a file to another user")
def test_entry_of_another_user(folder):
    entry = first_entry(folder)
    os.chown(entry, 12345, 12345)
    before = counts()
    said = run()
    assert len(said) == 1 and "another user" in said[0]
    assert counts()[1] == before[1]


@pytest.mark.skipif(not ROOT_USER, reason="only root can give a folder to another user")
def test_folder_of_another_user(tmp_path):
    path = tmp_path / "theirs"
    path.mkdir()
    os.chown(path, 12345, 12345)
    with lw.config(cache_dir=str(path)):
        said = run()
        assert len(said) == 1 and "another user" in said[0]
        assert run() == [] and not list(path.iterdir())
        assert "another user" in lw.cache.info()["problem"]


def unusable_file(path):
    path.write_text("a file")
    return path


def unusable_below_file(path):
    path.write_text("a file")
    return path / "below"


def unusable_long(path):
    return path / ("x" * 300)


def unusable_very_long(path):
    return Path(str(path) + "/y" * 3000)


def unusable_proc(path):
    return Path("/proc/lanewise-test")


def unusable_link(path):
    path.symlink_to(path)
    return path


@pytest.mark.parametrize("make", [unusable_file, unusable_below_file, unusable_long, unusable_very_long, unusable_proc, unusable_link],
                         ids=lambda make: make.__name__[9:])
def test_unusable_folders(make, tmp_path):
    path = make(tmp_path / "cache")
    with lw.config(cache_dir=str(path)):
        said = run()
        assert len(said) == 1 and "cache folder" in said[0], said
        assert run() == []
        info = lw.cache.info()
        assert info["problem"] and info["disk_entries"] == 0
        lw.cache.clear()


CHILD = """
import sys, warnings
import numpy as np, lanewise as lw
with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    def body(x):
        return x * 3 + 1
    f = lw.vectorize(body, source="def body(x):\\n    return x * 3 + 1\\n")
    x = np.arange(50.0)
    assert (f(x) == x * 3 + 1).all()
print(len(seen), *[w.message for w in seen])
"""


DROP = "import os, numpy, lanewise, llvmlite.binding\nos.setgid(65534)\nos.setuid(65534)\n" if ROOT_USER else ""


def test_folder_without_rights(tmp_path, run_python):
    """Root may write anywhere: its child gives its rights up first."""
    path = tmp_path / "locked"
    path.mkdir()
    path.chmod(0o500)
    done = run_python("-c", DROP + CHILD, LANEWISE_CACHE_DIR=str(path))
    assert done.stdout.startswith("1 ") and "cache folder" in done.stdout
    assert not list(path.iterdir())


def test_no_home(run_python):
    done = run_python("-c", CHILD, LANEWISE_CACHE_DIR="", XDG_CACHE_HOME="relative", HOME="/proc/nothing")
    assert int(done.stdout.split()[0]) <= 1


def test_folder_names(tmp_path):
    """Spaces, unicode and bytes that are no UTF-8; the last also from the environment."""
    for name in ("with space", "größe", "a%sb%n", "\udcff bytes", "new\nline"):
        path = tmp_path / name
        with lw.config(cache_dir=str(path)):
            assert run() == []
            assert lw.cache.info()["folder"] == str(path) == lw.config.cache_dir
            assert len(entries(path)) == 1


def test_folder_name_from_the_environment(tmp_path, run_python):
    done = run_python("-c", CHILD + "assert lw.cache.info()['disk_entries'] == 1\nprint(ascii(lw.config.cache_dir))", LANEWISE_CACHE_DIR=os.fsdecode(os.fsencode(tmp_path) + b"/\xff\xfe"))
    assert done.stdout.startswith("0") and "\\udcff\\udcfe" in done.stdout
    assert run_python("-m", "lanewise", "info", LANEWISE_CACHE_DIR=os.fsdecode(os.fsencode(tmp_path) + b"/\xff\xfe"),
                      PYTHONIOENCODING="utf-8:backslashreplace").returncode == 0


def test_folder_vanishes(folder):
    first_entry(folder)
    shutil.rmtree(folder)
    assert run() == []
    assert len(entries(folder)) == 1
    shutil.rmtree(folder)
    lw.cache.clear()
    assert run() == []


FULL = """
import resource, signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
""" + CHILD


def test_disk_is_full(tmp_path, run_python):
    """A file size limit stops the write half-way, as a full disk does."""
    done = run_python("-c", FULL, LANEWISE_CACHE_DIR=str(tmp_path / "c"))
    assert done.stdout.startswith("1 ") and "cannot be written" in done.stdout
    assert left(tmp_path / "c") == [], "half a file stays behind"


def test_no_descriptors_left(tmp_path, run_python):
    done = run_python("-c", CHILD.replace("    f = lw", "    import resource, llvmlite.binding; lw.vectorize(lambda x: x)(1.0)\n    hold = [open('/dev/null') for _ in range(5)]\n"
                      "    resource.setrlimit(resource.RLIMIT_NOFILE, (hold[-1].fileno(), resource.getrlimit(resource.RLIMIT_NOFILE)[1]))\n    f = lw"), LANEWISE_CACHE_DIR=str(tmp_path / "c"))
    assert int(done.stdout.split()[0]) <= 1


def test_two_processes_at_once(tmp_path):
    code = "import time\nwhile time.time() < float(__import__('sys').argv[1]): pass\n" + CHILD
    start = str(time.time() + 1.5)
    running = [subprocess.Popen([sys.executable, "-c", code, start], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path,
                                env={**os.environ, "LANEWISE_CACHE_DIR": str(tmp_path / "c")}) for _ in range(4)]
    for process in running:
        out, problem = process.communicate(timeout=120)
        assert process.returncode == 0 and out.startswith("0"), out + problem
    assert len(left(tmp_path / "c")) == 1  # one entry, no temporary file


WRITER = """
import os, sys, signal, threading
import numpy as np, lanewise as lw
x = np.arange(9.0)
print("go", flush=True)
for i in range(10_000):
    def body(v):
        return v * k + 1
    k = i
    lw.vectorize(body, source="def body(v):\\n    return v * k + 1\\n")(x)
"""


@pytest.mark.slow_with_sanitizers
def test_killed_writers(tmp_path):
    """Killed at any moment: what is there is whole, or is passed over."""
    path = tmp_path / "c"
    rng = random.Random(11)
    for _ in range(4):
        process = subprocess.Popen([sys.executable, "-c", WRITER], stdout=subprocess.PIPE, env={**os.environ, "LANEWISE_CACHE_DIR": str(path)}, cwd=tmp_path)
        assert process.stdout.readline()
        time.sleep(0.2 + rng.random() / 5)
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()
    assert entries(path)
    done = subprocess.run([sys.executable, "-W", "error", "-c", WRITER.replace("10_000", "40").replace("(x)\n", "(x)\n    assert lw.vectorize(body, source='def body(v): return v * k + 1')(x)[2] == 2 * k + 1\n")],
                          env={**os.environ, "LANEWISE_CACHE_DIR": str(path)}, cwd=tmp_path, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr


def test_stale_temporary_files_go(folder):
    folder.mkdir(mode=0o700)
    old, new = folder / ".lwtmp-1-0-0", folder / ".lwtmp-2-0-0"
    old.write_text("half"), new.write_text("half")
    os.utime(old, (1, 1))
    first_entry(folder)
    assert not old.exists() and new.exists()


def test_least_recently_used_go(folder):
    with lw.config(cache_size_mb=1):
        first_entry(folder)
        kept = entries(folder)[0]
        block = bytes(200 << 10)
        for i in range(9):
            filler = folder / f"{i:064x}-1.lwk"
            filler.write_bytes(block)
            os.utime(filler, (1000 + i, 1000 + i))
        other = lw.vectorize(lambda x: x - 7)
        lw.cache.info()
        other(X)
        for _ in range(70):  # a scan is made every so many stores
            if sum(p.stat().st_size for p in entries(folder)) <= 1 << 20:
                break
            k = float(_)
            lw.vectorize(lambda x: x + k)(X)
        left = entries(folder)
        assert sum(p.stat().st_size for p in left) <= 1 << 20
        assert kept in left and folder / f"{0:064x}-1.lwk" not in left and folder / f"{8:064x}-1.lwk" in left


def test_switched_off(folder):
    with lw.config(cache_size_mb=0):
        assert run() == []
    assert not folder.exists() or not entries(folder)


def test_foreign_files_are_left_alone(folder):
    first_entry(folder)
    mine = folder / "notes.txt"
    mine.write_text("keep")
    (folder / "sub").mkdir()
    lw.cache.clear()
    assert mine.read_text() == "keep" and (folder / "sub").is_dir() and not entries(folder)


ONCE = """
import sys
import numpy as np, lanewise as lw
f = lw.reduce(lambda a, b: a + b * 1.0, map=lambda x: x * 1.2345 + 3)
g = lw.vectorize(lambda x: x * 7.25 + 3)
print("ready", flush=True)
sys.stdin.readline()
f(np.ones(9)), g(np.ones(9))
print(f.stats["from_disk"], g.stats["from_disk"])
"""


def test_several_processes_compile_once(tmp_path):
    """As the workers of Dask on one machine do, which get the first tasks of a function at the same time."""
    environment = {**os.environ, "LANEWISE_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": os.pathsep.join(sys.path)}
    started = [subprocess.Popen([sys.executable, "-c", ONCE], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    for one in started:
        assert one.stdout.readline() == "ready\n"
    for one in started:
        one.stdin.write("\n")
        one.stdin.flush()
    found = [list(map(int, one.communicate()[0].split())) for one in started]
    assert [sum(column) for column in zip(*found)] == [3, 3], found


def test_a_process_that_dies_while_it_compiles_keeps_nobody_waiting(tmp_path):
    path = tmp_path / "cache"
    environment = {**os.environ, "LANEWISE_CACHE_DIR": str(path), "PYTHONPATH": os.pathsep.join(sys.path)}
    holder = f"""
import fcntl, os, struct, sys
os.makedirs({str(path)!r}, exist_ok=True)
file = os.open({str(path / ".lwlock")!r}, os.O_RDWR | os.O_CREAT, 0o600)
fcntl.fcntl(file, 37, struct.pack("hhqqixxxx", fcntl.F_WRLCK, 0, 0, 0, 0))  # F_OFD_SETLK of all bytes
print("held", flush=True)
sys.stdin.read()
"""
    held = subprocess.Popen([sys.executable, "-c", holder], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert held.stdout.readline() == "held\n"
    waiting = subprocess.Popen([sys.executable, "-c", ONCE], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert waiting.stdout.readline() == "ready\n"
    waiting.stdin.write("\n")
    waiting.stdin.flush()
    with pytest.raises(subprocess.TimeoutExpired):
        waiting.wait(1)
    held.kill()
    assert waiting.communicate(timeout=60)[0].split() == ["0", "0"]
    held.communicate()

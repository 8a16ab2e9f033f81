#!/usr/bin/env bash
# The suite on a Python without the GIL. By hand: tests/threads.sh PYTHON [what pytest shall run].
# PYTHON is free-threaded (python3.14t) and has NumPy, llvmlite, pytest and what the suite needs.
# lanewise is built for it in build/threads, imported with warnings as errors, and must leave the
# GIL off. Where PYTHON is a ThreadSanitizer build (configure --with-thread-sanitizer), so is
# lanewise, and what runs is the threads' tests; tests/tsan.supp names what is not ours.
set -eu
cd "$(dirname "$0")/.."
root=$PWD
python=${1:?"which Python? tests/threads.sh PYTHON"}
shift
ask() { "$python" -c "import sysconfig; print($1)"; }
if [ "$(ask "sysconfig.get_config_var('Py_GIL_DISABLED') or 0")" != 1 ]; then
    echo "$python has the GIL: a free-threaded one is needed" >&2
    exit 1
fi
sanitizer=$(ask "int('thread-sanitizer' in (sysconfig.get_config_var('CONFIG_ARGS') or ''))")
build="$root/build/threads"
flags=
tests=("$root/tests")
if [ "$sanitizer" = 1 ]; then
    build="$root/build/tsan"
    flags="-fsanitize=thread"
    tests=("$root"/tests/py/test_threads*.py "$root/tests/py/test_random_threads.py")
    export TSAN_OPTIONS="suppressions=$root/tests/tsan.supp:halt_on_error=0:exitcode=66:history_size=4"
fi
[ $# -eq 0 ] || tests=("$@")

cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo -DLW_TESTS=ON -DLW_WINDOWS=ON \
    -DCMAKE_C_FLAGS="$flags" -DPython_EXECUTABLE="$python" >/dev/null
cmake --build "$build"
mkdir -p "$build/site/lanewise"
cp -r lanewise/*.py lanewise/*.pyi lanewise/py.typed lanewise/include "$build"/_core*.so "$build/site/lanewise/"

export PYTHONPATH="$build/site${PYTHONPATH:+:$PYTHONPATH}" LW_C_BUILD="$build" LANEWISE_CACHE_DIR="$build/cache"
unset PYTHON_GIL
mkdir -p "$build/run"
cd "$build/run"
"$python" -W error -c 'import sys, lanewise; assert not sys._is_gil_enabled(), "the GIL is on"'
run() { "$python" -m pytest -c "$root/pyproject.toml" --rootdir "$root" "$@"; }
run "${tests[@]}"
# What is kept on devices, in this process: a sanitizer's report of a child would be lost.
[ "$sanitizer" = 0 ] || LANEWISE_CUDA_DRIVER="$build/libfake_cuda.so" LW_FAKE_DRIVER=1 run "$root/tests/py/test_threads_device.py"
echo "passed on $("$python" --version), the GIL off"

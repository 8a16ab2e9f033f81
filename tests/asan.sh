#!/usr/bin/env bash
# The Python suite on a build with AddressSanitizer and UBSan, the sanitizer preloaded into the
# stock interpreter. Leaks are looked for by tests/leak, not here: the interpreter keeps memory.
# Left out (--sanitized): the files that conftest.py lists as NOT_SANITIZED; tests that are marked slow_with_sanitizers; all but one case
# of each parametrised test; and every second test function of each file outside tests/fault. tests/run.sh runs those functions on the
# wheel; most of them reach the same C code as the functions that run here.
# By hand, `tests/asan.sh 0` runs all functions and cases.
set -eu
cd "$(dirname "$0")/.."
root=$PWD
cases=${1-1}
site="$root/build/asan/site"
python="$VENV/bin/python"
rm -rf "$site"
mkdir -p "$site/lanewise"
cp -r lanewise/*.py lanewise/*.pyi lanewise/py.typed lanewise/include "$site/lanewise/"
cp build/asan/_core*.so "$site/lanewise/"
real=$("$python" -c 'import os, sys; print(os.path.realpath(sys.executable))')
packages=$("$python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
mkdir -p build/run
cd build/run
PYTHONPATH="$site:$packages" PYTHONMALLOC=malloc PYTHONNOUSERSITE=1 \
LD_PRELOAD="$(gcc -print-file-name=libasan.so):$(gcc -print-file-name=libubsan.so)" \
ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1 UBSAN_OPTIONS=print_stacktrace=1 \
LW_ASAN=1 LW_C_BUILD="$root/build/asan" LANEWISE_CACHE_DIR="$root/build/test-cache-asan" \
    "$real" -m pytest -n auto --maxprocesses 4 -c "$root/pyproject.toml" --rootdir "$root" --maxfail=20 --durations=10 "$root/tests" --sanitized --cases "$cases"

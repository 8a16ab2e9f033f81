#!/usr/bin/env bash
# The whole test suite, on a machine without a GPU: style, static analysis, the C tests and the Python suite under
# AddressSanitizer and UBSan, the site with its examples, and the Python suite on the installed wheel. Called by
# `make test`, which has installed lanewise into $VENV. To finish within half an hour on two cores: the test functions are divided
# between the two Python suites; a parametrised test runs with one case (on the wheel with $CASES, 1 by default, and twice as many in
# files that the sanitizers' run leaves out); tests marked thorough are skipped; and static analysis follows few paths. By hand, `CASES=0 make test` runs all functions, cases and thorough tests on the wheel, `VENV=... tests/asan.sh 0`
# all functions and cases under the sanitizers, tests/gpu.sh all cases on a GPU, and tests/tidy.sh --deep follows all paths.
set -eu
cd "$(dirname "$0")/.."
root=$PWD
export PATH="$VENV/bin:$PATH"
python="$VENV/bin/python"
export LANEWISE_CACHE_DIR="$root/build/test-cache"
rm -rf "$LANEWISE_CACHE_DIR"

say() { printf '\n== %s (%d:%02d)\n' "$*" $((SECONDS / 60)) $((SECONDS % 60)); }

# In an unpacked source archive there is no repository to ask.
sources() {
    git ls-files '*.c' '*.h' 2>/dev/null || find . \( -name build -o -name '.venv*' \) -prune -o -name '*.[ch]' -print
}

say "formatting"
sources | xargs clang-format --dry-run --Werror

say "static analysis"
bash tests/tidy.sh

say "C tests, ASan + UBSan"
cmake --preset asan -DPython_EXECUTABLE="$python" >/dev/null
cmake --build build/asan
ctest --test-dir build/asan --output-on-failure

say "Python suite, ASan + UBSan"
bash tests/asan.sh

say "site, its examples"
"$python" docs/build.py --fresh

say "Python suite, installed wheel"
# From a folder without the sources, so that what is tested is what was installed. Its driver is a fake one.
cmake --preset dev -DPython_EXECUTABLE="$python" >/dev/null
cmake --build build/dev --target fake_cuda
mkdir -p build/run
cd build/run
which=--rest
[ "${CASES:-1}" != 0 ] || which=--thorough
LW_C_BUILD="$root/build/dev" LW_TEST_PROGRAMS="$root/build/asan" ASAN_OPTIONS=detect_leaks=0 \
    "$python" -m pytest -n auto --maxprocesses 4 -c "$root/pyproject.toml" --rootdir "$root" --cases "${CASES:-1}" $which "$root/tests"
say "the wheel in an environment of its own"
cd "$root"
bash tests/wheel.sh
say "everything passed"

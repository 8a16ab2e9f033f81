#!/usr/bin/env bash
# clang-tidy over every C file, two at a time, with the flags of the tidy build.
set -eu
cd "$(dirname "$0")/.."
cmake --preset tidy -DPython_EXECUTABLE="${VENV:-/usr}/bin/python" >/dev/null
git ls-files 'core/*.c' 'ufunc/*.c' 'lanewise/*.c' |
    xargs -P 2 -n 4 clang-tidy -p build/tidy --quiet 2>build/tidy/log || {
        cat build/tidy/log
        exit 1
    }

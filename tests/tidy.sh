#!/usr/bin/env bash
# clang-tidy over every C file, as many at a time as there are cores, with the flags of the tidy
# build. Prints what was found; arguments name the files to look at instead of all.
set -eu
cd "$(dirname "$0")/.."
cmake --preset tidy -DPython_EXECUTABLE="${VENV:-/usr}/bin/python" >/dev/null
# The wheel of clang-tidy has no compiler headers of its own.
headers=$(gcc -print-file-name=include)
[ $# -gt 0 ] || mapfile -t files < <(git ls-files 'core/*.c' 'ufunc/*.c' 'gufunc/*.c' 'forall/*.c' 'random/*.c' 'reduce/*.c' 'lanewise/*.c')
[ $# -eq 0 ] || files=("$@")
[ ${#files[@]} -gt 0 ]
if ! printf '%s\0' "${files[@]}" | xargs -0 -P "$(nproc)" -n 1 clang-tidy -p build/tidy --quiet \
    --extra-arg="-isystem$PWD/tests/tidy" --extra-arg="-isystem$headers" \
    >build/tidy/found 2>build/tidy/log; then
    cat build/tidy/found
    grep -v 'warnings generated\|warnings treated as errors' build/tidy/log || true
    exit 1
fi

#!/usr/bin/env bash
# clang-tidy over every C file, as many at a time as there are cores, with the flags of the tidy
# build. Prints what was found. Arguments: --deep, by hand, follows fifty times as many paths
# through a function (clang's default, 225,000 nodes), which takes half an hour instead of two
# minutes; files to look at instead of all.
set -eu
cd "$(dirname "$0")/.."
cmake --preset tidy -DPython_EXECUTABLE="${VENV:-/usr}/bin/python" >/dev/null
nodes=4000
[ "${1-}" != --deep ] || { nodes=225000; shift; }
analyzer=()
for word in -Xclang -analyzer-config -Xclang max-nodes=$nodes; do analyzer+=("--extra-arg=$word"); done
# The wheel of clang-tidy has no compiler headers of its own.
headers=$(gcc -print-file-name=include)
[ $# -gt 0 ] || mapfile -t files < <(git ls-files '*.c' ':!tests/' 2>/dev/null || find . \( -name build -o -name '.venv*' -o -name tests \) -prune -o -name '*.c' -print)
[ $# -eq 0 ] || files=("$@")
[ ${#files[@]} -gt 0 ]
if ! printf '%s\0' "${files[@]}" | xargs -0 -P "$(nproc)" -n 1 clang-tidy -p build/tidy --quiet \
    "${analyzer[@]}" --extra-arg="-isystem$PWD/tests/tidy" --extra-arg="-isystem$headers" \
    >build/tidy/found 2>build/tidy/log; then
    cat build/tidy/found
    grep -v 'warnings generated\|warnings treated as errors' build/tidy/log || true
    exit 1
fi

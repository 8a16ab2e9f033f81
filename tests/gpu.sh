#!/usr/bin/env bash
# Build on a machine with a GPU and run the GPU suite and the benchmarks there, in one call. Needs
# Python with NumPy and its headers, a C compiler, CMake, ninja and CUDA; no network. Wheels of
# what that machine lacks may lie in .whl/. Arguments: which parts (default: all).
#   build suite oracle fuzz bench sanitize
set -u
cd "$(dirname "$0")/.."
root=$PWD
parts=${*:-build suite oracle bench sanitize}
out=${OUT:-$root/build/gpu-results}
site=$root/build/gpu/site
python=${PYTHON:-python3}
export LANEWISE_CACHE_DIR=$root/build/gpu-cache PYTHONUNBUFFERED=1
export XLA_PYTHON_CLIENT_PREALLOCATE=false # else JAX takes three quarters of the memory from the other tests
mkdir -p "$out" "$site/lanewise"
bad=0

wants() { case " $parts " in *" $1 "*) return 0 ;; *) return 1 ;; esac; }
part() {
    local name=$1 start=$SECONDS
    shift
    echo "== $name"
    "$@" >"$out/$name.log" 2>&1
    local code=$?
    tail -n "${LINES_SHOWN:-12}" "$out/$name.log"
    echo "== $name: exit $code after $((SECONDS - start)) s"
    [ $code -eq 0 ] || bad=1
}

if ls .whl/*.whl >/dev/null 2>&1; then
    "$python" -m pip install -q --no-index --no-deps --no-compile --no-cache-dir --upgrade \
        --target build/gpu/wheels .whl/*.whl || true
fi
export PYTHONPATH="$site:$root/build/gpu/wheels"

build() {
    cmake -B build/gpu -S . -G Ninja -DCMAKE_BUILD_TYPE=Release -DLW_WINDOWS=ON -DPython_EXECUTABLE="$(command -v "$python")" &&
        cmake --build build/gpu && cp -r build/gpu/_core*.so lanewise/*.py lanewise/*.pyi lanewise/py.typed lanewise/include "$site/lanewise/"
}
wants build && part build build
[ $bad -eq 0 ] || { cat "$out/build.log"; exit 1; }

cd "$out" # so that the sources are not what is imported
part info "$python" -m lanewise info
# a test that hangs ends its process; with pytest-xdist the other processes go on
workers=$("$python" -c 'import xdist' 2>/dev/null && echo "-n ${WORKERS:-8} --dist loadgroup")
tests="$python -m pytest -c $root/pyproject.toml --rootdir $root --maxfail=40 $workers
    -o faulthandler_timeout=60 -o timeout=100 -o timeout_method=thread"
# -k sees marks too: what is marked gpu, and the files whose tests ask for a device by themselves
chosen="gpu or device or cuda or operand or vectorize or test_forall or test_jit or test_kernel or test_random or test_print
    or test_records or test_arrays or test_atomic or test_launch"
wants suite && part suite $tests "$root/tests/py" -k "${chosen//$'\n'/ }"
# a file of these stays in one process: its last test looks at what the others did
wants oracle && part oracle $tests ${workers:+--dist loadfile} "$root/tests/oracle" --device
# as many processes as seeds, each with programs of its own
fuzz() {
    local seed children=() bad=0
    for seed in ${FUZZ_SEEDS:-1}; do
        "$python" "$root/tests/fuzz/run.py" --gpu --seed "${seed}000000" --count "${FUZZ_COUNT:-1000}" &
        children+=($!)
    done
    for child in "${children[@]}"; do
        wait "$child" || bad=1
    done
    return $bad
}
wants fuzz && part fuzz fuzz
bench() {
    "$python" -m lanewise bench && "$python" "$root/bench/kernels.py" gpu && "$python" "$root/bench/reduce.py" gpu &&
        "$python" "$root/bench/memory.py" gpu &&
        for example in "$root"/examples/*.py; do
            "$python" "$example" || return 1
        done
}
wants bench && LINES_SHOWN=100 part bench bench
wants sanitize && for tool in memcheck racecheck initcheck synccheck; do
    part "sanitize-$tool" compute-sanitizer --tool $tool --error-exitcode 9 "$python" "$root/tests/gpu_sanitize.py"
done
exit $bad

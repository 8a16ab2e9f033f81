#!/usr/bin/env bash
# The suite for AArch64 on a machine with another processor, in qemu-user. By hand, on Debian or Ubuntu, as
# any user: tests/aarch64.sh [what pytest shall run]; `tests/aarch64.sh setup` only builds.
#
# What it makes is in build/aarch64: packages of Debian for arm64, unpacked (root), wheels for AArch64 and
# the lanewise to be tested (site), its build, and programs (bin) that tests find as python and cc. The
# emulator looks for files in root first. Neither root's rights nor binfmt_misc are needed: bin/python is a script
# that starts the emulator, and it is what sys.executable names.
#
# LW_AARCH64_CPU: the processor that is emulated (neoverse-n1). It has to be one of the emulator's.
# LW_AARCH64_JOBS: processes of pytest (2).
# PYTHON: a Python with pip, cmake and ninja (python3; $VENV/bin/python where VENV is set).
set -eu
cd "$(dirname "$0")/.."
root=$PWD
folder="$root/build/aarch64"
python=${PYTHON:-${VENV:+$VENV/bin/}python3}
processor=${LW_AARCH64_CPU:-neoverse-n1}
[ -z "${VENV:-}" ] || export PATH="$VENV/bin:$PATH"
unset PYTHONPATH

# What runs without arguments: each door, the simulator, exceptions and numbers, two cases of each test with parameters.
# test_reduce.py is left out for its time, test_threads.py for a test with a deadline.
chosen=(py/test_vectorize_host.py py/test_guvectorize.py py/test_forall.py py/test_jit.py py/test_reduce_in_order.py py/test_reduce_raises.py
    py/test_simulator.py py/test_prange.py py/test_random_host.py py/test_kernel_errors.py py/test_same_math.py
    oracle/test_ops.py oracle/test_intrinsics.py oracle/test_vector_math.py oracle/test_atomics.py oracle/test_numeric.py oracle/test_flow.py)

say() { printf '\n== %s (%d:%02d)\n' "$*" $((SECONDS / 60)) $((SECONDS % 60)); }

missing=0
needs() { # program, what to install
    command -v "$1" >/dev/null 2>&1 && return
    echo "tests/aarch64.sh needs $1: $2" >&2
    missing=1
}
needs apt-get "packages are fetched with it, so this has to be Debian or Ubuntu"
needs qemu-aarch64-static "apt-get install qemu-user-static"
needs aarch64-linux-gnu-gcc "apt-get install gcc-aarch64-linux-gnu libc6-dev-arm64-cross"
needs cmake "pip install cmake"
needs ninja "pip install ninja"
"$python" -m pip --version >/dev/null 2>&1 || { echo "tests/aarch64.sh needs pip: $python has none; set PYTHON" >&2; missing=1; }
[ $missing = 0 ] || exit 1

# Debian's packages, by an apt of its own that knows arm64 alone and finds nothing installed.
make_root() {
    local apt="$folder/apt" package
    rm -rf "$folder/root" "$apt"
    mkdir -p "$folder/root" "$apt/state/lists/partial" "$apt/cache/archives/partial"
    : >"$apt/status"
    cat >"$apt/conf" <<END
APT::Architecture "arm64";
APT::Architectures { "arm64"; };
APT::Install-Recommends "false";
APT::Sandbox::User "$(id -un)";
Dir::State "$apt/state";
Dir::State::status "$apt/status";
Dir::Cache "$apt/cache";
END
    APT_CONFIG="$apt/conf" apt-get -qq update
    APT_CONFIG="$apt/conf" apt-get -qq install -y --download-only python3-dev libstdc++6 libatomic1
    for package in "$apt"/cache/archives/*.deb; do
        dpkg-deb -x "$package" "$folder/root"
    done
    rm -rf "$apt"
}

emulated='exec qemu-aarch64-static -cpu "${LW_AARCH64_CPU:-neoverse-n1}" -L'

# Programs that cc links are put behind a script that starts the emulator, as python is: tests run them.
make_programs() {
    mkdir -p "$folder/bin"
    cat >"$folder/bin/python" <<END
#!/bin/sh
export PYTHONPATH="\${PYTHONPATH:+\$PYTHONPATH:}$folder/site"
$emulated "$folder/root" -0 "$folder/bin/python" "$folder/root/usr/bin/python$version" "\$@"
END
    cat >"$folder/bin/cc" <<END
#!/bin/sh
aarch64-linux-gnu-gcc "\$@" || exit
out=a.out
before=
for word in "\$@"; do
    case \$word in -c | -S | -E | -shared | -M | -MM | -fsyntax-only | --version | -v | -print-* | -dump*) exit 0 ;; esac
    [ "\$before" != -o ] || out=\$word
    before=\$word
done
[ -x "\$out" ] || exit 0
mv "\$out" "\$out.aarch64"
printf '#!/bin/sh\n%s "%s" "%s" "\$@"\n' '$emulated' "$folder/root" "\$(realpath "\$out.aarch64")" >"\$out"
chmod +x "\$out"
END
    for name in test_emit atomics_dump numeric_dump; do
        printf '#!/bin/sh\n%s "%s" "%s" "$@"\n' "$emulated" "$folder/root" "$folder/build/$name" >"$folder/bin/$name"
        chmod +x "$folder/bin/$name"
    done
    chmod +x "$folder/bin/python" "$folder/bin/cc"
    ln -sf python "$folder/bin/python3"
    ln -sf cc "$folder/bin/gcc"
}

make_site() {
    local platforms=() glibc
    for glibc in 17 24 26 27 28 31 34 35; do # not all of pip's versions know that a later one runs what is older
        platforms+=(--platform "manylinux_2_${glibc}_aarch64")
    done
    rm -rf "$folder/site"
    "$python" -m pip install --quiet --disable-pip-version-check --target "$folder/site" --python-version "$version" --only-binary=:all: \
        --platform manylinux2014_aarch64 "${platforms[@]}" "numpy>=2" llvmlite cuda-pathfinder "pytest>=8" pytest-timeout "pytest-xdist>=3" \
        "hypothesis>=6.100" cloudpickle ml_dtypes scipy mpmath cffi "nvidia-nvvm>=13" "nvidia-nvjitlink>=13" "nvidia-cuda-nvrtc>=13"
}

build() {
    cmake -G Ninja -S . -B "$folder/build" -DCMAKE_TOOLCHAIN_FILE="$root/tests/aarch64.cmake" -DLW_AARCH64_ROOT="$folder/root" \
        -DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_FLAGS_DEBUG=-O1 -DLW_TESTS=ON -DPython_EXECUTABLE="$folder/bin/python" \
        -DPython_INCLUDE_DIR="$folder/root/usr/include/python$version" -DPython_NumPy_INCLUDE_DIR="$folder/site/numpy/_core/include" >/dev/null
    cmake --build "$folder/build"
    mkdir -p "$folder/site/lanewise"
    cp -r lanewise/*.py lanewise/*.pyi lanewise/py.typed lanewise/include "$folder/build"/_core*.so "$folder/site/lanewise/"
}

if [ ! -e "$folder/root/complete" ]; then
    say "packages for arm64"
    make_root
    touch "$folder/root/complete"
fi
version=$(cd "$folder/root/usr/bin" && echo python3.[0-9]*[0-9])
version=${version#python}
make_programs
if [ ! -e "$folder/site/complete" ]; then
    say "wheels for AArch64"
    make_site
    touch "$folder/site/complete"
fi
say "building for AArch64"
build
[ "${1:-}" != setup ] || exit 0

export PATH="$folder/bin:$PATH" LW_C_BUILD="$folder/build" LANEWISE_CACHE_DIR="$folder/test-cache" LW_AARCH64_CPU="$processor"
export LW_TEST_PROGRAMS="$folder/bin"
if [ $# -eq 0 ]; then
    say "C tests in the emulator"
    CUDA_HOME="$folder/site/nvidia/cu13" ctest --test-dir "$folder/build" --output-on-failure
    set -- --cases 2 "${chosen[@]/#/tests/}"
fi
say "Python suite in the emulator"
arguments=()
for word in "$@"; do # files are given from the repository's root
    [ ! -e "$root/${word%%::*}" ] || word="$root/$word"
    arguments+=("$word")
done
mkdir -p "$folder/run"
cd "$folder/run"
# Times are many times those of a processor.
"$folder/bin/python" -m pytest -c "$root/pyproject.toml" --rootdir "$root" --timeout 3000 -n "${LW_AARCH64_JOBS:-2}" "${arguments[@]}"
say "passed: $("$folder/bin/python" -c 'import platform, numpy, llvmlite; print(platform.machine(), "Python", platform.python_version(), "NumPy", numpy.__version__, "llvmlite", llvmlite.__version__)'), $(qemu-aarch64-static --version | head -1), $processor"

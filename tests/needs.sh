#!/usr/bin/env bash
# What `make test`, `make demo` and `make docs` need beyond Python packages, looked for before anything is built: a
# sentence for each thing that is missing says what to install. $1: the Python. $2: test, demo or docs.
set -u
python=${1:-python3}
what=${2:-test}
missing=0

lacks() {
    echo "make $what needs $1: $2" >&2
    missing=1
}

if ! command -v "$python" >/dev/null 2>&1; then
    lacks "Python 3.10 or newer" "$python was not found; set PYTHON=/path/to/python3 (Debian: apt-get install python3)"
elif ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))'; then
    lacks "Python 3.10 or newer" "$python is $("$python" -c 'import platform; print(platform.python_version())'); set PYTHON=/path/to/python3"
else
    headers=$("$python" -c 'import sysconfig; print(sysconfig.get_path("include"))')
    [ -f "$headers/Python.h" ] ||
        lacks "the headers of $python" "there is no $headers/Python.h (Debian: apt-get install python3-dev; Fedora: dnf install python3-devel)"
fi
command -v "${CC:-cc}" >/dev/null 2>&1 || command -v gcc >/dev/null 2>&1 ||
    lacks "a C compiler" "neither ${CC:-cc} nor gcc was found (Debian: apt-get install gcc libc6-dev; Fedora: dnf install gcc)"
if [ "$what" = test ] && [ -e .git ] && ! command -v git >/dev/null 2>&1; then
    lacks "git" "it lists the files of this repository (Debian: apt-get install git; Fedora: dnf install git)"
fi
exit $missing

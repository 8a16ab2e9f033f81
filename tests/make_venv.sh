#!/usr/bin/env bash
# Make a virtual environment in $1 with $PYTHON, also where Debian's python3-venv is missing.
set -eu
target=$1
python=${PYTHON:-python3}
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))' || {
    echo "lanewise needs Python 3.10 or newer; set PYTHON=/path/to/python3" >&2
    exit 1
}
if "$python" -m venv "$target" >/dev/null 2>&1 && "$target/bin/python" -m pip --version >/dev/null 2>&1; then
    exit 0
fi
rm -rf "$target"
if "$python" -m pip --version >/dev/null 2>&1; then
    tools=$(mktemp -d)
    trap 'rm -rf "$tools"' EXIT
    "$python" -m pip install --quiet --target "$tools" virtualenv
    PYTHONPATH=$tools "$python" -m virtualenv --quiet "$target"
    exit 0
fi
echo "cannot make a virtual environment: install python3-venv (Debian: apt-get install python3-venv)" >&2
exit 1

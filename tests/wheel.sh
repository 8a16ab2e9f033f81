#!/usr/bin/env bash
# Installs the wheel built by `make test`, with its dependencies, into an otherwise empty environment, and runs a small program with it.
# $VENV: the tests' environment.
set -eu
cd "$(dirname "$0")/.."
python="$VENV/bin/python"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

PYTHON="$python" bash tests/make_venv.sh "$work/venv"
"$work/venv/bin/python" -m pip install --quiet --disable-pip-version-check build/dist/lanewise-*.whl
"$work/venv/bin/python" -m pip check
cd "$work"
unset PYTHONPATH
export LANEWISE_CACHE_DIR="$work/cache"
"$work/venv/bin/python" -m lanewise info
cat >program.py <<'PROGRAM'
import numpy as np
import lanewise as lw

x = np.arange(1000.0)
assert (lw.vectorize(lambda a: a * 2 + 1)(x) == x * 2 + 1).all()
assert lw.reductions.sum(x) == x.sum()
print("the wheel works:", lw.__file__)
PROGRAM
"$work/venv/bin/python" program.py

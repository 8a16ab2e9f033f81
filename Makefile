# The README's two commands. Both make their own virtual environment and need only Python
# (3.10 or newer) and a C compiler; with a GPU and CUDA they use them.
PYTHON ?= python3
VENV   ?= .venv
EXTRAS  = $(shell command -v nvidia-smi >/dev/null 2>&1 && nvidia-smi -L >/dev/null 2>&1 && echo ,cu13)

.PHONY: demo needs test clean

demo: $(VENV)/bin/python
	$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check ".[demo$(EXTRAS)]"
	cd / && $(abspath $(VENV))/bin/python -m lanewise demo --output "$(CURDIR)/demo-output"

test: needs $(VENV)/bin/python
	$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check --config-settings=cmake.define.LW_WINDOWS=ON ".[test]"
	VENV="$(abspath $(VENV))" bash tests/run.sh

needs:
	@bash tests/needs.sh "$(PYTHON)"

$(VENV)/bin/python:
	PYTHON="$(PYTHON)" bash tests/make_venv.sh "$(VENV)"

clean:
	rm -rf build "$(VENV)" demo-output

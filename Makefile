# The README's two commands, and the site. All make their own virtual environment and need only Python
# (3.10 or newer) and a C compiler; with a GPU and CUDA they use them.
PYTHON ?= python3
VENV   ?= .venv
DOCS_VENV ?= .venv-docs
EXTRAS  = $(shell command -v nvidia-smi >/dev/null 2>&1 && nvidia-smi -L >/dev/null 2>&1 && echo ,cu13)

.PHONY: demo needs needs-demo needs-docs test docs clean

demo: needs-demo $(VENV)/bin/python
	@bash tests/told.sh "Compiling and installing lanewise in $(VENV), with what the demo needs (some minutes)" $(VENV)/bin/python -m pip install --quiet --disable-pip-version-check ".[demo$(EXTRAS)]"
	cd / && $(abspath $(VENV))/bin/python -m lanewise demo --output "$(CURDIR)/demo-output"

test: needs $(VENV)/bin/python
	@rm -rf build/dist
	@bash tests/told.sh "Compiling lanewise (some minutes)" $(VENV)/bin/python -m pip wheel . --no-deps --quiet --disable-pip-version-check --config-settings=cmake.define.LW_WINDOWS=ON -w build/dist
	@bash tests/told.sh "Installing it in $(VENV), with what the tests need" $(VENV)/bin/python -m pip install --quiet --disable-pip-version-check "$$(ls build/dist/lanewise-*.whl)[test,docs]"
	@$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check --force-reinstall --no-deps build/dist/lanewise-*.whl
	VENV="$(abspath $(VENV))" bash tests/run.sh

needs:
	@bash tests/needs.sh "$(PYTHON)" test

needs-demo needs-docs:
	@bash tests/needs.sh "$(PYTHON)" $(@:needs-%=%)

# The site, in build/docs/html: pages, API reference and the examples, which are run. Its own environment, since it needs much that the tests do not.
docs: needs-docs $(DOCS_VENV)/bin/python
	@bash tests/told.sh "Compiling and installing lanewise in $(DOCS_VENV), with what the site needs (some minutes)" $(DOCS_VENV)/bin/python -m pip install --quiet --disable-pip-version-check ".[docs]"
	cd / && $(abspath $(DOCS_VENV))/bin/python "$(CURDIR)/docs/build.py" --fresh

$(DOCS_VENV)/bin/python:
	PYTHON="$(PYTHON)" bash tests/make_venv.sh "$(DOCS_VENV)"

$(VENV)/bin/python:
	PYTHON="$(PYTHON)" bash tests/make_venv.sh "$(VENV)"

clean:
	rm -rf build "$(VENV)" "$(DOCS_VENV)" demo-output

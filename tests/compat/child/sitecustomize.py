"""Processes that a test starts have the same names in place as the test: this folder is on their PYTHONPATH."""

import importlib
import os
import pathlib
import sys

if "LANEWISE_COMPAT_SUITE" in os.environ and "pytest" not in " ".join(sys.orig_argv):
    sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent))
    suite = importlib.import_module("suite_" + os.environ["LANEWISE_COMPAT_SUITE"])
    suite.install(pathlib.Path(os.environ["LANEWISE_COMPAT_ROOT"]))

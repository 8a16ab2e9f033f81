"""What a program sees that imports the package's sources instead of the installed package."""

from __future__ import annotations

import subprocess
import sys

from source_tree import ROOT


def test_sources_without_the_compiled_part_say_what_to_do(tmp_path):
    # python puts the current folder first, so whoever installs from a clone and stays in it imports the sources
    folder = tmp_path / "lanewise"
    folder.mkdir()
    (folder / "__init__.py").write_bytes((ROOT / "lanewise" / "__init__.py").read_bytes())
    done = subprocess.run([sys.executable, "-c", "import lanewise"], cwd=tmp_path, env={}, capture_output=True, text=True)
    assert done.returncode == 1
    message = f"ImportError: lanewise was imported from {folder}, which holds its sources but not its compiled part; install it (pip install .) and run Python from another folder, such as cd /tmp"
    assert done.stderr.rstrip().endswith(message)
    assert done.stderr.count("Error:") == 1

"""Other projects' own tests, unmodified, with lanewise in the place of what they import.

    python tests/compat/compat.py numpy | numba | numba_cuda [--keep FOLDER] [pytest's arguments]

The files come from the released wheels, by pip, when this runs; they are kept in a folder of the user's
cache and are never part of the repository. A suite is a module of this folder, `suite_NAME.py`:

    WHEEL    the requirement that pip gets, "numba==0.68.1"
    FILES    glob patterns of the test files in the wheel
    install(root)   puts lanewise's names where the tests import theirs from; root is the unpacked wheel
    EXPECTED  {test: reason}: tests that lanewise does not pass, each with its reason

The exit status is 0 if the tests that failed are exactly those of EXPECTED.
"""

import argparse
import importlib
import os
import pathlib
import subprocess
import sys
import zipfile

HERE = pathlib.Path(__file__).resolve().parent


def cache_folder():
    base = os.environ.get("LANEWISE_COMPAT_DIR") or pathlib.Path.home() / ".cache" / "lanewise-compat"
    return pathlib.Path(base)


def unpacked(requirement):
    """The folder in which the wheel of this requirement is unpacked, fetched if it is not there."""
    folder = cache_folder() / requirement.replace("==", "-")
    if not (folder / "complete").exists():
        wheels = folder / "wheel"
        wheels.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary=:all:", "-d", str(wheels)]
        subprocess.run([*command, requirement], check=True)
        for wheel in wheels.glob("*.whl"):
            with zipfile.ZipFile(wheel) as archive:
                archive.extractall(folder / "files")
        (folder / "complete").touch()
    return folder / "files"


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("suite", choices=sorted(f.stem[6:] for f in HERE.glob("suite_*.py")))
    options, rest = parser.parse_known_args(arguments)
    sys.path.insert(0, str(HERE))
    suite = importlib.import_module(f"suite_{options.suite}")
    root = unpacked(suite.WHEEL)
    files = sorted({str(f) for pattern in suite.FILES for f in root.glob(pattern)})
    environment = dict(os.environ, LANEWISE_COMPAT_SUITE=options.suite, LANEWISE_COMPAT_ROOT=str(root))
    environment["PYTHONPATH"] = os.pathsep.join([str(HERE), environment.get("PYTHONPATH", "")])
    command = [sys.executable, "-m", "pytest", "-p", "plugin", "--import-mode=importlib", "-c", os.devnull]
    command += ["--rootdir", str(root), "-q", *(rest if any(os.path.exists(r.split("::")[0]) for r in rest) else rest + files)]
    return subprocess.run(command, env=environment, cwd=root.parent).returncode


if __name__ == "__main__":
    sys.exit(main())

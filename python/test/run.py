#!/usr/bin/env python3
"""python/test/run.py FOLDER [PYTEST'S ARGUMENTS]: the tests of the package that FOLDER holds (build/release/python).

run.py --installed [PYTEST'S ARGUMENTS]: of the package that is installed for this Python.
run.py --can-build prints ON where the package can be built and tested with this Python, else OFF.
Exit status 77, with the reason, where something is missing.
"""
import importlib.util
import os
import subprocess
import sys
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

RUNS = ("torch", "numpy", "pytest")


def missing(names):
    return [name for name in names if importlib.util.find_spec(name) is None]


def main():
    if sys.argv[1:] == ["--can-build"]:
        print("OFF" if missing((*RUNS, "nanobind")) else "ON")
        return 0
    lacks = " ".join(missing(RUNS))
    if lacks:
        print(f"skipped: {lacks} missing: pip install {lacks}")
        return 77
    tests = Path(__file__).resolve().parent
    paths = [str(tests), *filter(None, [os.environ.get("PYTHONPATH")])]
    folder = Path(sys.argv[1]).resolve()
    if sys.argv[1] == "--installed":
        print("package:", importlib.util.find_spec("cleave").origin, flush=True)
    elif not any((folder / f"cleave/_core{suffix}").exists() for suffix in EXTENSION_SUFFIXES):
        print(f"skipped: {folder} has no extension for this Python: make python builds it (nanobind)")
        return 77
    else:
        paths.insert(0, str(folder))
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-o", "python_files=*_test.py",
               "--rootdir", str(tests), *(sys.argv[2:] or [str(tests)])]
    return subprocess.run(command, env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)}).returncode


sys.exit(main())

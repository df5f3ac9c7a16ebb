#!/usr/bin/env python3
"""test/peer/exported_versions.py CLEAVE PYTHON PYTHON...: the models of exported.py as several versions of PyTorch write them.

Each PYTHON has a PyTorch of its own (2.6 or later) and safetensors. Each runs exported.py: its files are read, run and
compared with that PyTorch. Then, for each case, the graphs that were read of the first PYTHON's file and of each other's
are compared: `equal`, `renamed` (equal but for the values' names), or how many statements each has, for PyTorch's tracing
and decompositions change between versions. Exit status 1 where a file isn't read or runs to other results.
"""
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent


def version_of(python):
    return subprocess.run([python, "-c", "import torch; print(torch.__version__.split('+')[0])"], check=True,
                          capture_output=True, text=True).stdout.strip()


def without_names(text):
    """Values and sizes numbered in the order in which they stand."""
    numbers = {}
    return re.sub(r"%[\w.]+|\b[su]\d+\b", lambda m: str(numbers.setdefault(m[0].lstrip("%"), len(numbers))), text)


def comparison(a, b):
    a, b = (re.sub(r" +#.*", "", t) for t in (a, b))  # without lines of the source
    if a == b:
        return "equal"
    if without_names(a) == without_names(b):
        return "renamed"
    return "{} : {} statements".format(*(t.count("\n  %") for t in (a, b)))


def main(cleave, pythons):
    failed = 0
    with tempfile.TemporaryDirectory() as scratch:
        folders = {}
        for python in pythons:
            version = version_of(python)
            folders[version] = Path(scratch) / version
            done = subprocess.run([python, HERE / "exported.py", cleave, "--keep", folders[version]], capture_output=True, text=True)
            lines = done.stdout.splitlines()
            for line in lines:
                if "FAILED" in line or "not exported" in line:
                    print(f"{version:<8} {line}")
            print(f"{version:<8} {len(lines) - 1} files read and run; {lines[-1] if lines else done.stderr[-300:]}", flush=True)
            failed += done.returncode != 0
        newest = next(iter(folders))
        kinds = {}
        for path in sorted(folders[newest].glob("*/model.clv")):
            case = path.parent.name
            for version, folder in folders.items():
                other = folder / case / "model.clv"
                if version == newest or not other.exists() or case.endswith((".new", ".old")):
                    continue
                kind = comparison(path.read_text(), other.read_text())
                kinds.setdefault(version, []).append(kind)
                if kind not in ("equal", "renamed"):
                    print(f"{version:<8} {case:<32} {newest} : {version} = {kind}")
        for version, found in kinds.items():
            print(f"{version:<8} of {len(found)} graphs {found.count('equal')} equal those of {newest}, "
                  f"{found.count('renamed')} but for names, {len(found) - found.count('equal') - found.count('renamed')} differ")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))

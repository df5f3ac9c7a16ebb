#!/usr/bin/env python3
"""test/ahead/standalone_test.py BIN SOURCE: example/ahead_of_time/ trains from step.so alone.

BIN/example_ahead_of_time builds the libraries of both models, of two programs each: two sizes, and two kinds of steps. Their losses in C, C++ and Python are those of the step, bit
for bit; the library needs libc and libm alone, holds none of this machine's paths, and is at most 3 MiB beside code and
weights. As root, the C program also trains in a folder that holds libc and libm alone.
"""
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

LIMIT = 3 << 20


def run(*command, **options):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}: exit status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def losses(text):
    return [float.fromhex(line) for line in text.split()]


def needed(library):
    return [line.split("[")[1].split("]")[0] for line in run("readelf", "-d", library).splitlines() if "(NEEDED)" in line]


def train_in_folder_of_libc(folder, program):
    """The C program where there is nothing but the library, libc, libm and the dynamic linker."""
    root = folder / "root"
    for name in ("lib64", "lib"):
        (root / name).mkdir(parents=True)
    linked = (run("ldd", program) + run("ldd", folder / "step.so")).split()
    for path in {word for word in linked if word.startswith("/") and "/lib" in word and "step.so" not in word}:
        shutil.copy(path, root / ("lib64" if "ld-linux" in path else "lib") / Path(path).name)
    for file in (program, folder / "step.so", folder / "batches.bin"):
        shutil.copy(file, root / file.name)
    held = sorted(p.name for p in (root / "lib").iterdir())
    if held != ["libc.so.6", "libm.so.6"]:
        sys.exit(f"the program needs {held}")
    return run("/" + program.name, "/batches.bin", env={"LD_LIBRARY_PATH": "/:/lib"},
               preexec_fn=lambda: (os.chroot(root), os.chdir("/")))


def check(model, folder, binaries, source):
    said = run(binaries / "example_ahead_of_time", model, folder)
    size, code, weights = (int(word) for word in said.replace(",", "").split() if word.isdigit())
    if size - code - weights > LIMIT:
        sys.exit(f"{model}: {size} B, {code} B code and {weights} B weights: more than {LIMIT} B beside them")
    library = folder / "step.so"
    if set(needed(library)) != {"libc.so.6", "libm.so.6"}:
        sys.exit(f"{model}: step.so needs {needed(library)}")
    for path in (str(folder), "/tmp", str(source)):
        if path.encode() in library.read_bytes():
            sys.exit(f"{model}: step.so names {path}")
    want = losses((folder / "losses.txt").read_text())
    assert len(want) == 20 and want[-1] < want[0], want
    example, batches = source / "example" / "ahead_of_time", folder / "batches.bin"
    env = dict(os.environ, LD_LIBRARY_PATH=str(folder))
    got = {}
    for compiler, file, standard in (("cc", "train.c", "-std=c99"), ("g++", "train.cpp", "-std=c++17")):
        program = folder / file.replace(".", "_")
        run(compiler, standard, "-Wall", "-Wextra", "-Wpedantic", "-Werror", f"-I{folder}", example / file, library, "-o",
            program)
        got[file] = losses(run(program, batches, env=env))
    got["train.py"] = losses(run(sys.executable, example / "train.py", library, batches))
    if os.geteuid() == 0:
        got["train.c with libc alone"] = losses(train_in_folder_of_libc(folder, folder / "train_c"))
    for name, values in got.items():
        if values != want:
            sys.exit(f"{model}: {name}: {values}, expected {want}")
    print(f"{model}: {size - code - weights} B beside {code} B code and {weights} B weights; {len(want)} losses of "
          + ", ".join(got))


def main():
    binaries, source = map(Path, sys.argv[1:])
    for model in ("mlp", "gpt"):
        with tempfile.TemporaryDirectory() as folder:
            check(model, Path(folder), binaries, source)


main()

#!/usr/bin/env python3
"""test/peer/nanogpt.py FOLDER [--steps 500]: karpathy/nanoGPT's train.py, unchanged, by cleave beside eager.

FOLDER is a checkout of nanoGPT. Its train.py calls torch.compile(model), whose default backend is set to cleave; a small
GPT of characters learns FOLDER's own Python files. Losses, which train.py prints with four digits, are compared: those of
the first steps agree to the last digit, all of them on the average; a run goes on from its checkpoint.

    nanogpt.py --train BACKEND FOLDER [ARGUMENTS OF train.py]     runs train.py with a default backend

Needs FOLDER, PyTorch and the Python package of cleave; exit status 77 without.
"""
import argparse
import functools
import os
import pickle
import re
import runpy
import subprocess
import sys
import tempfile
from pathlib import Path

SMALL = ["--n_layer=2", "--n_head=2", "--n_embd=32", "--block_size=32", "--batch_size=8", "--gradient_accumulation_steps=2",
         "--dropout=0.0", "--learning_rate=2e-3", "--warmup_iters=20", "--device=cpu", "--dtype=float32", "--eval_iters=4",
         "--eval_interval=100", "--min_lr=2e-4"]
FIRST, ALIKE, NEAR = 10, 1e-4, 3e-3  # relative: of the first steps; of all on the average


def train(backend, folder, arguments):
    import torch

    torch.compile = functools.partial(torch.compile, backend=backend)
    os.chdir(folder)
    sys.path.insert(0, str(folder))
    sys.argv = ["train.py", *arguments]
    try:
        runpy.run_path("train.py", run_name="__main__")
    finally:
        if backend == "cleave":
            import cleave

            print(cleave.coverage())


def write_data(folder, texts):
    """Characters as train.py reads them: train.bin, val.bin, meta.pkl."""
    import numpy as np

    text = "".join(path.read_text() for path in texts)
    letters = sorted(set(text))
    numbers = {c: k for k, c in enumerate(letters)}
    ids = np.array([numbers[c] for c in text], dtype=np.uint16)
    ids[: len(ids) * 9 // 10].tofile(folder / "train.bin")
    ids[len(ids) * 9 // 10 :].tofile(folder / "val.bin")
    (folder / "meta.pkl").write_bytes(pickle.dumps({"vocab_size": len(letters), "itos": dict(enumerate(letters)),
                                                    "stoi": numbers}))


def run(name, folder, data, steps, *arguments):
    """({step: loss}, {step: validation's loss}, output)"""
    command = [sys.executable, __file__, "--train", name, str(folder), *SMALL, f"--dataset={data}", f"--out_dir={data}/{name}",
               f"--compile={name != 'eager'}", f"--max_iters={steps}", f"--lr_decay_iters={steps}", *arguments]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{name} failed:\n{done.stdout[-500:]}\n{done.stderr[-2000:]}")
    numbers = lambda pattern: {int(k): float(v) for k, v in re.findall(pattern, done.stdout)}
    return numbers(r"iter (\d+): loss ([\d.]+)"), numbers(r"step (\d+): .* val loss ([\d.]+)"), done.stdout


def differences(ours, theirs):
    if ours.keys() != theirs.keys() or not ours:
        raise SystemExit(f"steps differ: {len(ours)} and {len(theirs)}")
    return [abs(ours[k] - theirs[k]) / theirs[k] for k in sorted(ours)]


def check(what, value, most):
    print(f"{what:<48} {value:.2e}")
    if not value <= most:
        raise SystemExit(f"{what}: {value:.2e} is above {most:.0e}")


def main():
    if sys.argv[1:2] == ["--train"]:
        return train(sys.argv[2], Path(sys.argv[3]).resolve(), sys.argv[4:])
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--steps", type=int, default=500)
    a = parser.parse_args()
    try:
        import cleave  # noqa: F401
        import numpy  # noqa: F401
        import torch  # noqa: F401
    except ImportError as e:
        print(f"skipped: {e}")
        return 77
    if not (a.folder / "train.py").exists():
        print(f"skipped: {a.folder}/train.py is missing")
        return 77
    with tempfile.TemporaryDirectory() as data:
        write_data(Path(data), sorted(a.folder.glob("*.py")))
        ours, our_val, output = run("cleave", a.folder, data, a.steps)
        theirs, their_val, _ = run("eager", a.folder, data, a.steps)
        print(output[output.index("covered calls"):].strip())
        for k in sorted(their_val):
            print(f"step {k:5}: validation's loss {their_val[k]:.4f} eager, {our_val[k]:.4f} cleave")
        far = differences(ours, theirs)
        check(f"losses of the first {FIRST} steps", max(far[:FIRST]), ALIKE)
        check(f"losses of {len(far)} steps on the average", sum(far) / len(far), NEAR)
        check("validation's losses", max(differences(our_val, their_val)), NEAR)
        more = ["--init_from=resume", "--eval_interval=1000"]
        our_more, theirs_more = (run(n, a.folder, data, a.steps + 5, *more)[0] for n in ("cleave", "eager"))
        check("the first loss of a run that goes on", differences(our_more, theirs_more)[0], 3 * NEAR)
    return 0


if __name__ == "__main__":
    sys.exit(main())

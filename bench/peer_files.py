#!/usr/bin/env python3
"""Gradients of .pt2 files beside those of eager mode.

    PYTHONPATH=build/release/python bench/peer_files.py [NAME ...] [--decomposed]

The loss of each of bench/architectures.py, in float64 with float32 where the model itself has it, by torch.export.save and
cleave.load(...).grad(): how far its loss and the gradients of all parameters are from eager mode's, relative to the largest
element. --decomposed: after run_decompositions(). Exit status 1 where one is farther than 1e-5, or a parameter that eager
mode has a gradient of isn't in the file. What torch.export refuses is said, and counts as nothing.
"""
import argparse
import importlib.util
import sys
import tempfile
import warnings
from pathlib import Path

from architectures import ARCHITECTURES, available, in_float64
from distances import distance

FAR = 1e-5


def saved(loss, inputs, path, decomposed):
    """Whether torch.export takes it; else why not."""
    import torch

    try:
        program = torch.export.export(loss, inputs, strict=False)
        torch.export.save(program.run_decompositions() if decomposed else program, path)
    except Exception as e:
        return f"torch.export: {type(e).__name__}: {str(e).splitlines()[0][:80]}"
    return None


def one(name, path, decomposed):
    """The distances of the loss and of the gradients; or what torch.export says."""
    import torch
    import torch.nn.functional as F

    import cleave

    torch.manual_seed(0)
    model, (x, t) = ARCHITECTURES[name]()

    class Loss(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = in_float64(model)

        def forward(self, x, t):
            return F.cross_entropy(self.model(x), t)

    loss, inputs = Loss(), (x.double() if x.is_floating_point() else x, t)
    if refusal := saved(loss, inputs, path, decomposed):
        return refusal
    want = loss(*inputs)
    want.backward()
    # A tied weight is in the file under one of its names.
    parameters = {n: p for n, p in loss.named_parameters(remove_duplicate=False) if p.requires_grad}
    file = cleave.load(path)
    names = [v.name for v in file.graph.inputs if v.name in parameters]
    missing = {id(p) for p in parameters.values() if p.grad is not None} - {id(parameters[n]) for n in names}
    if missing:
        return float("inf"), float("inf")
    results = file.grad(*names)(*inputs)
    exact = {n: torch.zeros_like(parameters[n]) if parameters[n].grad is None else parameters[n].grad for n in names}
    return (distance({"loss": results[0]}, {"loss": want.detach()}),
            distance(dict(zip(names, results[len(results) - len(names):])), exact))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--decomposed", action="store_true")
    arguments = parser.parse_args()
    if importlib.util.find_spec("torch") is None or importlib.util.find_spec("cleave") is None:
        print("skipped: torch or cleave is missing (PYTHONPATH=build/release/python)")
        return 77
    warnings.filterwarnings("ignore")
    unknown = [n for n in arguments.names if n not in ARCHITECTURES]
    if unknown:
        parser.error(f"unknown: {', '.join(unknown)}; known: {', '.join(ARCHITECTURES)}")
    far, files = [], 0
    with tempfile.TemporaryDirectory() as folder:
        for name in arguments.names or ARCHITECTURES:
            if not available(name):
                print(f"{name:<32} | skipped: {name.split('/')[0]} is missing")
                continue
            try:
                found = one(name, str(Path(folder) / "model.pt2"), arguments.decomposed)
            except Exception as e:
                found, far = f"{type(e).__name__}: {str(e)[:100]}", [*far, name]
            if isinstance(found, tuple):
                files += 1
                far += [name] if max(found) > FAR else []
                found = f"loss {found[0]:8.1e} | gradients {found[1]:8.1e}{' | FAR' if max(found) > FAR else ''}"
            print(f"{name:<32} | {found}", flush=True)
    print(f"{files} files compared, {len(far)} wrong{': ' + ', '.join(far) if far else ''}")
    return bool(far)


if __name__ == "__main__":
    sys.exit(main())

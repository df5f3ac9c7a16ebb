#!/usr/bin/env python3
"""cleave.Step's whole training steps (forward, backward, AdamW) beside PyTorch's, eager and by Inductor.

    PYTHONPATH=build/release/python bench/peer_step.py [MODEL ...] [--rounds 20]

The models of bench/peer_backend.py, in float32. PyTorch's optimizer is its fused AdamW. The three take turns, so that a
busy machine is the same for all. Columns: the median step in ms; Inductor's by cleave's; seconds to the first step and
their ratio; the largest relative distance of the losses of the first 5 steps from eager's.
"""
import argparse
import copy
import statistics
import time
import warnings

import torch
import torch.nn.functional as F
from peer_backend import MODELS, available

import cleave


def loop(model, f, x, t):
    """A step of PyTorch's, as a function that returns the loss."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)

    def step():
        optimizer.zero_grad()
        loss = f(x, t)
        loss.backward()
        optimizer.step()
        return loss.item()

    return step


def timed(f):
    begin = time.perf_counter()
    value = f()
    return value, time.perf_counter() - begin


def measure(name, rounds):
    torch.manual_seed(0)
    model, (x, t) = MODELS[name]()
    of = lambda m: lambda x, t: F.cross_entropy(m(x), t)
    eager_model, inductor_model = copy.deepcopy(model), copy.deepcopy(model)
    steps = {"eager": loop(eager_model, of(eager_model), x, t),
             "inductor": loop(inductor_model, torch.compile(of(inductor_model)), x, t)}

    def first_of_cleave():
        step = cleave.Step(model, torch.optim.AdamW(model.parameters(), lr=1e-3), (x, t),
                           loss=lambda m, x, t: F.cross_entropy(m(x), t))
        steps["cleave"] = lambda: step(x, t)
        return step(x, t)

    losses, firsts, times = {}, {}, {k: [] for k in ("cleave", "inductor", "eager")}
    for k, first in (("cleave", first_of_cleave), ("inductor", steps["inductor"]), ("eager", steps["eager"])):
        loss, firsts[k] = timed(first)
        losses[k] = [loss]
    for _ in range(rounds):
        for k in times:
            loss, seconds = timed(steps[k])
            losses[k].append(loss)
            times[k].append(seconds)
    ms = {k: 1e3 * statistics.median(v) for k, v in times.items()}
    far = max(abs(a - b) / abs(b) for a, b in zip(losses["cleave"][:5], losses["eager"]))
    print(f"{name:32}{ms['cleave']:9.2f}{ms['inductor']:9.2f}{ms['eager']:9.2f}{ms['inductor'] / ms['cleave']:7.2f}"
          f"{firsts['cleave']:9.1f}{firsts['inductor']:9.1f}{firsts['inductor'] / firsts['cleave']:7.1f}{far:10.1e}", flush=True)
    return ms["inductor"] / ms["cleave"], firsts["inductor"] / firsts["cleave"]


def main():
    warnings.filterwarnings("ignore")
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("models", nargs="*", default=list(MODELS))
    options.add_argument("--rounds", type=int, default=20)
    given = options.parse_args()
    print(f"{'':32}{'ms':>9}{'inductor':>9}{'eager':>9}{'x':>7}{'first s':>9}{'inductor':>9}{'x':>7}{'losses':>10}")
    ratios = []
    for name in given.models:
        if not available(name):
            print(f"{name:32} skipped: {name.split('/')[0]} isn't installed")
            continue
        ratios.append(measure(name, given.rounds))
        torch._dynamo.reset()
    if ratios:
        steps, firsts = (statistics.geometric_mean(r) for r in zip(*ratios))
        print(f"geometric means: step {steps:.2f}, first step {firsts:.1f}")


if __name__ == "__main__":
    main()

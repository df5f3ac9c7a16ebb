#!/usr/bin/env python3
"""What torch.compile by cleave covers of architectures of torchvision, timm and transformers, and how exact it is.

    PYTHONPATH=build/release/python bench/peer_architectures.py [NAME ...] [--seconds 300] [--json FILE]

A training step of each of bench/architectures.py, in float32, in a process of its own: eager, by cleave, and eager in
float64. Columns:

    calls        of ATen's operators in the compiled graphs, and how many of them run in PyTorch
    graphs       that Dynamo finds, and breaks between them
    loss, grad   the largest distance from float64, relative to the largest element, of eager, cleave; grad: of gradients,
                 and of buffers after the step
    first        seconds of the first step by cleave, most of it Dynamo's and AOTAutograd's tracing
Then the operators that cleave doesn't cover. Exit status 1 where a model fails, or is farther from float64 than eager.
`bench/peer_backend.py` times models beside Inductor.
"""
import argparse
import collections
import copy
import importlib.util
import json
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from pathlib import Path

from architectures import ARCHITECTURES, available, in_float64
from distances import distance


# One element that rounding takes over a kink (of a relu, a maximum) behind norms of few elements is a large error by chance,
# of eager as often as of cleave: a model is far where it is so with each of these.
SEEDS = 3


def step(f, model, x, t):
    """(loss, gradients, floating buffers)"""
    loss = f(x, t)
    loss.backward()
    gradients = {n: p.grad for n, p in model.named_parameters() if p.grad is not None}
    return {"loss": loss.detach()}, gradients, {n: b for n, b in model.named_buffers() if b.is_floating_point()}


def one(name, seed=0):
    """The figures of a model; runs in a process of its own."""
    import torch
    import torch.nn.functional as F

    import cleave

    torch.manual_seed(seed)
    model, (x, t) = ARCHITECTURES[name]()
    of = lambda model: lambda x, t: F.cross_entropy(model(x), t)
    exact_model, eager_model = in_float64(model), copy.deepcopy(model)
    exact = step(of(exact_model), exact_model, x.double() if x.is_floating_point() else x, t)
    eager = step(of(eager_model), eager_model, x, t)
    begin = time.perf_counter()
    ours = step(torch.compile(of(model), backend="cleave"), model, x, t)
    first = time.perf_counter() - begin
    coverage, counters = cleave.coverage(), torch._dynamo.utils.counters
    errors = lambda got: [distance(g, e) for g, e in zip(got, exact)]
    return {"covered": coverage.covered_calls, "first_s": first,
            "outside": [[o.operator, o.calls, o.reason] for o in coverage.outside.values()],
            "cut_by_pytorch": coverage.cut_by_pytorch, "graphs": counters["stats"]["unique_graphs"],
            "breaks": dict(counters["graph_break"]), "eager": errors(eager), "cleave": errors(ours),
            "missing": sorted(exact[1].keys() - ours[1].keys())}


def run_one(name, seconds, seed):
    """What one() gives; or the error as text."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out.json"
        try:
            done = subprocess.run([sys.executable, __file__, "--one", name, str(seed), str(out)], capture_output=True, text=True,
                                  timeout=seconds)
        except subprocess.TimeoutExpired:
            return f"not done after {seconds} s"
        if out.exists():
            return json.loads(out.read_text())
    lines = [line for line in done.stderr.splitlines() if line.strip()]
    return lines[-1] if lines else f"exit status {done.returncode}"


def is_far(figures):
    """Whether cleave is farther from float64 than eager is, by more than chance."""
    return bool(figures["missing"]) or any(c > 4 * e + 2e-6 for c, e in zip(figures["cleave"], figures["eager"]))


def row(name, r):
    outside, pair = sum(calls for _, calls, _ in r["outside"]), lambda k: f"{r['eager'][k]:8.1e} {r['cleave'][k]:8.1e}"
    notes = [*(f"break: {reason.splitlines()[0][:60]}" for reason in r["breaks"]),
             *(f"cut by PyTorch: {reason[:60]}" for reason in r["cut_by_pytorch"]),
             *(["no gradient: " + " ".join(r["missing"][:3])] if r["missing"] else []), *(["FAR"] if is_far(r) else [])]
    grad = f"{max(r['eager'][1:]):8.1e} {max(r['cleave'][1:]):8.1e}"
    return " | ".join([f"{name:<32}", f"{r['covered'] + outside:5} {outside:4}", f"{r['graphs']:3} {len(r['breaks']):2}",
                       pair(0), grad, f"{r['first_s']:6.1f}", *notes])


def main():
    if sys.argv[1:2] == ["--one"]:
        warnings.filterwarnings("ignore")
        try:
            figures = one(sys.argv[2], int(sys.argv[3]))
        except Exception as e:
            traceback.print_exc()
            figures = f"{type(e).__name__}: {e}"[:400]
        Path(sys.argv[4]).write_text(json.dumps(figures))
        return 0
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--seconds", type=float, default=300, help="the most that a model takes")
    parser.add_argument("--json", help="where the figures go, by name")
    arguments = parser.parse_args()
    if importlib.util.find_spec("torch") is None or importlib.util.find_spec("cleave") is None:
        print("skipped: torch or cleave is missing (PYTHONPATH=build/release/python)")
        return 77
    unknown = [n for n in arguments.names if n not in ARCHITECTURES]
    if unknown:
        parser.error(f"unknown: {', '.join(unknown)}; known: {', '.join(ARCHITECTURES)}")
    print(f"{'':<32} | calls, outside | graphs, breaks | loss: eager, cleave | grad: eager, cleave | first s")
    results = {}
    for name in arguments.names or ARCHITECTURES:
        if not available(name):
            print(f"{name:<32} | skipped: {name.split('/')[0]} is missing")
            continue
        for seed in range(SEEDS):
            results[name] = run_one(name, arguments.seconds, seed)
            if isinstance(results[name], str) or not is_far(results[name]):
                break
        print(row(name, results[name]) if isinstance(results[name], dict) else f"{name:<32} | {results[name]}", flush=True)
        if arguments.json:
            Path(arguments.json).write_text(json.dumps(results, indent=1))
    return summary(results)


def summary(results):
    good = {n: r for n, r in results.items() if isinstance(r, dict)}
    calls, models, reasons = collections.Counter(), collections.defaultdict(set), {}
    for name, r in good.items():
        for operator, count, reason in r["outside"]:
            calls[operator] += count
            models[operator].add(name)
            reasons[operator] = reason
    covered = sum(r["covered"] for r in good.values())
    print(f"\n{len(good)} of {len(results)} run; covered calls {covered} of {covered + calls.total()}")
    for operator, count in calls.most_common():
        print(f"{operator:<48} {count:5} in {len(models[operator])} models, {min(models[operator])}: {reasons[operator]}")
    bad = [n for n in results if n not in good or is_far(good[n])]
    if bad:
        print(f"failed or farther from float64 than eager: {', '.join(bad)}")
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())

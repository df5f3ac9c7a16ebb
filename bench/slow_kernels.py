#!/usr/bin/env python3
"""Which kernels of models take longer than they should: to find what no chosen benchmark has.

    python3 bench/slow_kernels.py MODEL ... [--target T] [--share 0.4] [--ns 1.2] [--cleave CLEAVE]

MODEL is a .clv or .pt2 file, such as bench/architectures.py's models exported by torch.export. Each runs with random inputs
and gradients. For each model: the milliseconds of its steps, and their shares by kind; then its kernels that take at least
`share` percent and `ns` nanoseconds for each element they work on, and those with a loop that runs one by one:

    swin_v2  9.7 ms  product 57%, kernel 40%, convolution 3%
        245 us  2.5%    7.0 ns  softmax_3
         61 us  0.6%   16.0 ns  sum_1  one by one: min(110 - i1*64, 64) lanes

A pointwise kernel in memory takes about 1 ns an element on two threads; more says that it waits, divides or runs one by one.
"""
import argparse
import collections
import os
import re
import subprocess
import tempfile
from pathlib import Path

root = Path(__file__).resolve().parent.parent
fewest = 8  # iterations: shorter loops aren't meant to run in vectors


def one_by_one(kernel):
    """The head of an innermost loop of a kernel's text that runs without vectors, in no loop that has them; or None."""
    around = []  # (indent, has vectors, head) of the open loops
    heads = [(len(m[1]), m[2]) for m in re.finditer(r"^( *)(?:for|fold over) (.*) \{$", kernel, re.M)]
    for k, (indent, head) in enumerate(heads):
        around = [a for a in around if a[0] < indent] + [(indent, " by " in head)]
        innermost = k + 1 == len(heads) or heads[k + 1][0] <= indent
        extent = re.search(r" in (\d+)", head)
        if head.endswith(" lanes"):
            return head
        if innermost and not any(vectors for _, vectors in around) and not (extent and int(extent[1]) < fewest):
            return head
    return None


def run(cleave, model, target):
    """([(us, kind, name)], {name: (elements, text)}) of a model's steps and kernels; or the error."""
    with tempfile.TemporaryDirectory() as folder:
        words = [cleave, "run", model, "--random", "--grad", "--dump", folder, "--profile", "--repeat", "3"]
        done = subprocess.run(words + (["--target", target] if target else []), capture_output=True, text=True)
        if done.returncode != 0:
            return done.stderr.strip()
        steps = re.findall(r"([\d.]+) us +[\d.]+% +(\w+) +%(\S+)", done.stdout + done.stderr)
        text = "".join(p.read_text() for p in Path(folder).glob("*_schedule.loops"))
    kernels = {}
    for kernel in re.split(r"^kernel %", text, flags=re.M)[1:]:
        work = re.search(r" work (\d+)", kernel)
        kernels[kernel.split("(")[0]] = (int(work[1]) if work else 0, kernel)
    return [(float(us), kind, name) for us, kind, name in steps], kernels


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("models", nargs="+", metavar="MODEL")
    options.add_argument("--target")
    options.add_argument("--share", type=float, default=0.4)
    options.add_argument("--ns", type=float, default=1.2)
    options.add_argument("--cleave", default=os.path.join(root, "build/release/bin/cleave"))
    o = options.parse_args()
    failed = 0
    for model in o.models:
        got = run(o.cleave, model, o.target)
        if isinstance(got, str):
            failed += 1
            print(f"{Path(model).stem}  {got}", flush=True)
            continue
        steps, kernels = got
        whole, kinds = sum(us for us, _, _ in steps), collections.Counter()
        for us, kind, _ in steps:
            kinds[kind] += us
        shares = ", ".join(f"{kind} {100 * us / whole:.0f}%" for kind, us in kinds.most_common())
        print(f"{Path(model).stem}  {whole / 1e3:.1f} ms  {shares}", flush=True)
        for us, _, name in sorted(steps, reverse=True):
            elements, text = kernels.get(name, (0, ""))
            if elements == 0:
                continue
            ns, scalar = 1e3 * us / elements, one_by_one(text)
            if 100 * us >= o.share * whole and (ns >= o.ns or scalar):
                note = f"  one by one: {scalar[:80]}" if scalar else ""
                print(f"    {us:7.0f} us {100 * us / whole:4.1f}% {ns:6.1f} ns  {name}{note}")
    return failed > 0


if __name__ == "__main__":
    raise SystemExit(main())

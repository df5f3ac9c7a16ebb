#!/usr/bin/env python3
"""Matrix products beside PyTorch's mm and addmm, in turns in one run: the products of bench/gemm.cpp.

    python3 bench/peer_gemm.py [--rounds 3] [--model NAME] [--type bf16|i8] [--target T] [BENCH_GEMM]

BENCH_GEMM is build/release/bin/bench_gemm. With --target x86-64-v3 PyTorch is told to use AVX2 alone as well.

GFLOP/s of both on one thread (processor time) and on two (wall time), PyTorch's time / ours; then for each
model the milliseconds that all products of its step take. The least of all rounds. Needs PyTorch 2.13.
"""
import argparse, json, math, os, subprocess, time

from peer_target import environment

root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def min_ms(now, run):
    run()
    t = now()
    run()
    together = int(1e-4 / max(1e-7, now() - t)) + 1
    least, total, runs = 1e30, 0, 0
    while runs < 5 or total < 0.2:
        t = now()
        for _ in range(together):
            run()
        took = now() - t
        least, total, runs = min(least, took / together), total + took, runs + 1
    return 1e3 * least


def torch_ms(case, type_name):
    import torch
    m, k, n = case["m"], case["k"], case["n"]
    is_i8 = type_name == "i8"
    torch.set_default_dtype({"f32": torch.float32, "bf16": torch.bfloat16, "i8": torch.float32}[type_name])
    rand = (lambda *shape: torch.randint(-128, 128, shape, dtype=torch.int8)) if is_i8 else torch.rand
    a = rand(k, m).t() if case["form"] == "weight" else rand(m, k)
    b = rand(n, k).t() if case["form"] == "forward" else rand(k, n)
    c, bias = torch.empty(m, n, dtype=torch.int32 if is_i8 else None), rand(n)
    run = (lambda: torch._int_mm(a, b, out=c)) if is_i8 else (lambda: torch.addmm(bias, a, b, out=c)) if case["has_bias"] else (lambda: torch.mm(a, b, out=c))
    figures = []
    for threads, now in ((1, time.thread_time), (2, time.perf_counter)):
        torch.set_num_threads(threads)
        figures.append(min_ms(now, run))
    return figures


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--model")
    options.add_argument("--type", default="f32", choices=("f32", "bf16", "i8"))
    options.add_argument("--target", help="x86-64-v3 and others: kernels of that instruction set")
    options.add_argument("bench", nargs="?", default=os.path.join(root, "build/release/bin/bench_gemm"))
    o = options.parse_args()
    os.environ.update(environment(o.target))  # before PyTorch is imported
    aim = ["--target", o.target] if o.target else []
    call = lambda *words: subprocess.run([o.bench, *words, *aim], stdout=subprocess.PIPE, check=True, text=True).stdout
    cases = [json.loads(line) for line in call("list").splitlines()]
    print(f"{'model':<14} {'form':<8} {'m':>6} {'k':>6} {'n':>6} {'one':>8} {'PyTorch':>8} {'ratio':>6} {'two':>8} {'PyTorch':>8} {'ratio':>6}")
    ratios, steps = ([], []), {}
    for index, case in enumerate(cases):
        if o.model not in (None, case["model"]):
            continue
        ours, theirs = [1e30, 1e30], [1e30, 1e30]
        for _ in range(o.rounds):
            f = json.loads(call(str(index), o.type))
            ours = [min(ours[0], f["one_ms"]), min(ours[1], f["two_ms"])]
            theirs = [min(x, y) for x, y in zip(theirs, torch_ms(case, o.type))]
        work = 2e-6 * case["m"] * case["k"] * case["n"]
        row = f"{case['model']:<14} {case['form']:<8} {case['m']:>6} {case['k']:>6} {case['n']:>6}"
        step = steps.setdefault(case["model"], [0.0] * 4)
        for t in range(2):
            ratios[t].append(theirs[t] / ours[t])
            step[2 * t] += case["count"] * ours[t]
            step[2 * t + 1] += case["count"] * theirs[t]
            row += f" {work / ours[t]:>8.1f} {work / theirs[t]:>8.1f} {theirs[t] / ours[t]:>6.2f}"
        print(row, flush=True)
    mean = lambda values: math.exp(sum(map(math.log, values)) / len(values))
    print(f"geometric mean of PyTorch / ours: one thread {mean(ratios[0]):.3f}, two {mean(ratios[1]):.3f}")
    print(f"\n{'ms of a step':<14} {'one':>9} {'PyTorch':>9} {'ratio':>6} {'two':>9} {'PyTorch':>9} {'ratio':>6}")
    for model, s in steps.items():
        print(f"{model:<14} {s[0]:>9.2f} {s[1]:>9.2f} {s[1] / s[0]:>6.2f} {s[2]:>9.2f} {s[3]:>9.2f} {s[3] / s[2]:>6.2f}")


if __name__ == "__main__":
    main()

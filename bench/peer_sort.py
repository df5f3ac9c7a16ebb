#!/usr/bin/env python3
"""Sorted lines and their first elements beside PyTorch's stable sort and topk, in turns in one run: the settings of
bench/sort.cpp, on two threads.

    python3 bench/peer_sort.py [BENCH_SORT]      (build/release/bin/bench_sort)

Prints a table. Needs PyTorch 2.13; without it the PyTorch columns are left out.
"""
import json, os, re, subprocess, sys, time

root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def median_ms(run):
    times = []
    run()
    while len(times) < 5 or (sum(times) < 300 and len(times) < 1000):
        t = time.perf_counter()
        run()
        times.append(1e3 * (time.perf_counter() - t))
    return sorted(times)[len(times) // 2]


def torch_ms(name):
    import torch
    torch.set_num_threads(2)
    dtype, lines, length, top = re.fullmatch(r"(\w+?)_(\d+)x(\d+)(?:_top(\d+))?", name).groups()
    shape = (int(lines), int(length))
    x = torch.randn(shape) if dtype == "f32" else torch.randint(0, 1000, shape)
    if top: return median_ms(lambda: torch.topk(x, int(top), dim=1))
    return median_ms(lambda: torch.sort(x, dim=1, stable=True))


def main():
    bench = sys.argv[1] if len(sys.argv) > 1 else os.path.join(root, "build/release/bin/bench_sort")
    names = [l.split()[0] for l in subprocess.run([bench], stdout=subprocess.PIPE, check=True, text=True).stdout.splitlines()]
    try:
        import torch  # noqa: F401
        peer = True
    except ImportError:
        peer = False
        print("PyTorch is not installed: its columns are left out", file=sys.stderr)
    print(f"{'lines':<22}{'ms':>10}{'PyTorch':>10}{'PyTorch / ours':>16}")
    for name in names:
        rounds = [(json.loads(subprocess.run([bench, name], stdout=subprocess.PIPE, check=True, text=True).stdout)["ms"],
                   torch_ms(name) if peer else float("nan")) for _ in range(3)]
        ours, theirs = (sorted(r[k] for r in rounds)[1] for k in (0, 1))
        print(f"{name:<22}{ours:>10.3f}{theirs:>10.3f}{theirs / ours:>16.2f}")


if __name__ == "__main__":
    main()

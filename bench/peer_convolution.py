#!/usr/bin/env python3
"""The convolutions of ResNet-50 and of models with groups beside PyTorch's (oneDNN), in turns in one run: the layers of bench/convolution.cpp.

    python3 bench/peer_convolution.py [BENCH_CONVOLUTION] [--layers NAME,..] [--rounds N]

Forward, gradient of the input and of the weight, each alone, f32 on two threads; PyTorch with images row-major ("rows") and channels last ("last").
Prints a table of milliseconds, and the best of PyTorch's two over ours. Needs PyTorch 2.13; without it the PyTorch columns are left out.
"""
import argparse, json, math, os, re, subprocess, sys, time

root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PRODUCTS = ("forward_ms", "input_ms", "weight_ms")
BATCH = 8


def layers():
    text = open(os.path.join(root, "bench/convolution.cpp")).read()
    return {m[0]: tuple(map(int, m[1].split(","))) for m in re.findall(r'\{"([\w-]+)", ([\d, ]+)\}', text)}


def median_ms(run):
    times = []
    run()
    while len(times) < 5 or (sum(times) < 150 and len(times) < 1000):
        t = time.perf_counter()
        run()
        times.append(1e3 * (time.perf_counter() - t))
    return sorted(times)[len(times) // 2]


def torch_ms(layer, last):
    import torch
    torch.set_num_threads(2)
    channels, size, out, kernel, stride, groups = (*layer, 1)[:6]
    form = torch.channels_last if last else torch.contiguous_format
    x = torch.randn(BATCH, channels, size, size).to(memory_format=form)
    w = torch.randn(out, channels // groups, kernel, kernel).to(memory_format=form)
    rest = ([stride] * 2, [kernel // 2] * 2, [1, 1], False, [0, 0], groups)
    forward = lambda: torch.ops.aten.convolution(x, w, None, *rest)
    dy = torch.randn_like(forward())
    backward = lambda mask: torch.ops.aten.convolution_backward(dy, x, w, None, *rest, mask)
    return [median_ms(forward), median_ms(lambda: backward([True, False, False])), median_ms(lambda: backward([False, True, False]))]


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("bench", nargs="?", default=os.path.join(root, "build/release/bin/bench_convolution"))
    p.add_argument("--layers", help="some of them, with commas")
    p.add_argument("--rounds", type=int, default=3)
    a = p.parse_args()
    try:
        import torch  # noqa: F401
        peer = True
    except ImportError:
        peer = False
        print("PyTorch is not installed: its columns are left out", file=sys.stderr)
    print(f"{'layer':<18}" + "".join(f"{n:>12}{'rows':>9}{'last':>9}{'ratio':>7}" for n in ("forward", "input", "weight")))
    logs, ours_all, theirs_all = [[], [], []], [0, 0, 0], [0, 0, 0]
    for name, layer in layers().items():
        if a.layers and name not in a.layers.split(","):
            continue
        rounds = []
        for _ in range(a.rounds):
            time.sleep(0.3)  # PyTorch's threads spin for a while after their last call
            ours = json.loads(subprocess.run([a.bench, name], stdout=subprocess.PIPE, check=True, text=True).stdout)
            rounds.append([[ours[k] for k in PRODUCTS]] + ([torch_ms(layer, False), torch_ms(layer, True)] if peer else [[math.nan] * 3] * 2))
        line = f"{name:<18}"
        for k in range(3):
            ours, rows, last = (sorted(r[who][k] for r in rounds)[len(rounds) // 2] for who in range(3))
            line += f"{ours:>12.3f}{rows:>9.3f}{last:>9.3f}{min(rows, last) / ours:>7.2f}"
            logs[k].append(math.log(min(rows, last) / ours))
            ours_all[k] += ours
            theirs_all[k] += min(rows, last)
        print(line, flush=True)
    print(f"{'geomean':<18}" + "".join(f"{'':>30}{math.exp(sum(x) / len(x)):>7.2f}" for x in logs))
    print(f"{'sum':<18}" + "".join(f"{o:>12.2f}{'best':>9}{t:>9.2f}{t / o:>7.2f}" for o, t in zip(ours_all, theirs_all)))


if __name__ == "__main__":
    main()

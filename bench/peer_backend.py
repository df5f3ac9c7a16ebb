#!/usr/bin/env python3
"""torch.compile's training steps by cleave beside Inductor's and eager's: accuracy, time, cold compilation, memory.

    PYTHONPATH=build/release/python bench/peer_backend.py [MODEL ...] [--rounds 20] [--options memory_budget=60%] [--target x86-64-v3]

A step is the loss and its gradients in float32; of `NAME:channels_last` with images and weights in that order. Each backend runs in a process of its own, with empty caches. Columns:

    loss, grad   the largest distance from float64, relative to the largest element, of eager, Inductor, cleave
    ms           the median step;  x: Inductor's by cleave's
    compile      seconds of the first step, less a median one;  x: Inductor's by cleave's
    MiB          how much the process has grown at its peak
Models of torchvision, timm and transformers (bench/architectures.py) take part where these are installed.
"""
import argparse
import importlib.util
import json
import math
import os
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

from architectures import ARCHITECTURES, available, in_float64
from distances import distance
from peer_target import environment, tell_inductor

BACKENDS = ("eager", "inductor", "cleave")


def mlp():
    from torch import nn
    import torch

    model = nn.Sequential(nn.Linear(256, 1024), nn.GELU(), nn.LayerNorm(1024), nn.Linear(1024, 1024), nn.GELU(),
                          nn.Linear(1024, 10))
    return model, (torch.randn(128, 256), torch.randint(0, 10, (128,)))


def gpt(width=128, layers=4, heads=4, context=128, vocabulary=512):
    import torch
    import torch.nn.functional as F
    from torch import nn

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.n1, self.n2 = nn.LayerNorm(width), nn.LayerNorm(width)
            self.qkv, self.o = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

        def forward(self, x):
            b, t, _ = x.shape
            q, k, v = (z.view(b, t, heads, -1).transpose(1, 2) for z in self.qkv(self.n1(x)).chunk(3, -1))
            a = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.o(a.transpose(1, 2).reshape(b, t, width))
            return x + self.down(F.gelu(self.up(self.n2(x)), approximate="tanh"))

    class Gpt(nn.Module):
        def __init__(self):
            super().__init__()
            self.wte, self.wpe = nn.Embedding(vocabulary, width), nn.Embedding(context, width)
            self.blocks, self.n = nn.Sequential(*(Block() for _ in range(layers))), nn.LayerNorm(width)
            self.head = nn.Linear(width, vocabulary, bias=False)

        def forward(self, i):
            return self.head(self.n(self.blocks(self.wte(i) + self.wpe.weight[: i.shape[1]]))).flatten(0, 1)

    return Gpt(), (torch.randint(0, vocabulary, (4, context)), torch.randint(0, vocabulary, (4 * context,)))


def convnet():
    import torch
    from torch import nn

    def layer(i, o, stride):
        return nn.Sequential(nn.Conv2d(i, o, 3, stride, 1, bias=False), nn.BatchNorm2d(o), nn.ReLU())

    model = nn.Sequential(layer(3, 32, 1), layer(32, 64, 2), layer(64, 64, 1), layer(64, 128, 2), nn.AdaptiveAvgPool2d(1),
                          nn.Flatten(), nn.Linear(128, 10))
    return model, (torch.randn(16, 3, 32, 32), torch.randint(0, 10, (16,)))


def unet():
    """Levels joined again after a bilinear resize and a transposed convolution, as in segmentation."""
    import torch
    from torch import nn

    def level(i, o):
        return nn.Sequential(*(m for n in (i, o) for m in (nn.Conv2d(n, o, 3, padding=1), nn.BatchNorm2d(o), nn.ReLU())))

    class UNet(nn.Module):
        def __init__(self):
            super().__init__()
            self.down, self.pool = nn.ModuleList([level(3, 16), level(16, 32), level(32, 64)]), nn.MaxPool2d(2)
            self.turned, self.resized = nn.ConvTranspose2d(64, 64, 2, stride=2), nn.Upsample(scale_factor=2, mode="bilinear")
            self.up, self.head = nn.ModuleList([level(96, 32), level(48, 16)]), nn.Conv2d(16, 10, 1)

        def forward(self, x):
            a = self.down[0](x)
            b = self.down[1](self.pool(a))
            c = self.up[0](torch.cat([self.turned(self.down[2](self.pool(b))), b], 1))
            return self.head(self.up[1](torch.cat([self.resized(c), a], 1))).mean((2, 3))

    return UNet(), (torch.randn(8, 3, 96, 96), torch.randint(0, 10, (8,)))


def lstm_like():
    """Many small pointwise operators in a row."""
    import torch
    from torch import nn

    class Cell(nn.Module):
        def __init__(self):
            super().__init__()
            self.x, self.h, self.out = nn.Linear(64, 256), nn.Linear(64, 256), nn.Linear(64, 10)

        def forward(self, x):
            h = c = x.new_zeros(x.shape[0], 64)
            for t in range(12):
                i, f, g, o = (self.x(x[:, t]) + self.h(h)).chunk(4, 1)
                c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
                h = torch.sigmoid(o) * torch.tanh(c)
            return self.out(h)

    return Cell(), (torch.randn(32, 12, 64), torch.randint(0, 10, (32,)))


CHANNELS_LAST = ":channels_last"  # behind the name of a model of images
TIMED = ["unet:channels_last", "torchvision/resnet18", "torchvision/resnet18:channels_last", "torchvision/mobilenet_v3_small",
         "torchvision/mobilenet_v3_small:channels_last", "torchvision/densenet", "torchvision/regnet_y_400mf",
         "torchvision/convnext", "timm/vit_tiny", "timm/mixer", "timm/efficientnet_b0", "transformers/bert",
         "transformers/gpt2", "transformers/llama", "transformers/qwen3"]
MODELS = {"mlp": mlp, "gpt": gpt, "convnet": convnet, "unet": unet, "lstm_like": lstm_like, **ARCHITECTURES}


def resident(key):
    """KiB of this process: VmRSS now, VmHWM at the peak."""
    text = Path("/proc/self/status").read_text()
    return int(next(line.split()[1] for line in text.splitlines() if line.startswith(key)))


def one(name, backend, rounds, options, out):
    """Runs in a process of its own; writes its figures, loss and gradients."""
    import torch
    import torch.nn.functional as F

    warnings.filterwarnings("ignore", category=FutureWarning)
    tell_inductor()
    torch.manual_seed(0)
    model, (x, t) = MODELS[name.removesuffix(CHANNELS_LAST)]()
    if name.endswith(CHANNELS_LAST):
        model, x = model.to(memory_format=torch.channels_last), x.to(memory_format=torch.channels_last)
    if backend == "float64":
        model, x = in_float64(model), x.double() if x.is_floating_point() else x
    f = lambda x, t: F.cross_entropy(model(x), t)
    if backend in ("inductor", "cleave"):
        f = torch.compile(f, backend=backend, options=options if backend == "cleave" and options else None)
    Path("/proc/self/clear_refs").write_text("5")  # the peak begins here
    before = resident("VmRSS")

    def step():
        begin = time.perf_counter()
        loss = f(x, t)
        loss.backward()
        return time.perf_counter() - begin, loss.detach()

    first, loss = step()
    gradients = {n: p.grad.clone() for n, p in model.named_parameters() if p.grad is not None}
    times = []
    for _ in range(rounds):
        model.zero_grad()
        times.append(step()[0])
    median = sorted(times)[len(times) // 2] if times else math.nan
    figures = {"ms": median * 1e3, "compile_s": first - median,
               "mib": (resident("VmHWM") - before) / 1024}
    if backend == "cleave":
        import cleave

        coverage = cleave.coverage()
        figures.update(covered=coverage.covered_calls, outside={o.operator: o.calls for o in coverage.outside.values()})
    torch.save({"figures": figures, "loss": loss, "gradients": gradients}, out)


def run_one(name, backend, arguments, folder):
    """What one() wrote; or the last line of its error."""
    import torch

    out = folder / "out.pt"
    out.unlink(missing_ok=True)
    with tempfile.TemporaryDirectory() as cache:
        command = [sys.executable, __file__, "--one", name, backend, str(arguments.rounds), json.dumps(arguments.options),
                   str(out)]
        done = subprocess.run(command, capture_output=True, text=True,
                              env={**environment(arguments.target), "TORCHINDUCTOR_CACHE_DIR": cache})
    if done.returncode or not out.exists():
        lines = [line for line in done.stderr.splitlines() if line.strip()]
        return next((line for line in reversed(lines) if "rror" in line), lines[-1] if lines else "no output")[:110]
    return torch.load(out, weights_only=False)


def show(name, results):
    exact = results["float64"]
    row = [f"{name:<32}"]
    for backend in BACKENDS:
        r = results[backend]
        if isinstance(r, str):
            row.append(f"{backend}: {r}")
            continue
        r["loss_error"] = distance({"loss": r["loss"]}, {"loss": exact["loss"]})
        r["grad_error"] = distance(r["gradients"], exact["gradients"])
    good = {b: r for b, r in results.items() if b in BACKENDS and not isinstance(r, str)}
    column = lambda key, form: " ".join(format(r[key] if key in r else r["figures"][key], form) for r in good.values())
    row += [column("loss_error", "8.1e"), column("grad_error", "8.1e"), column("ms", "8.2f"), column("compile_s", "7.2f"),
            column("mib", "6.0f")]
    if "cleave" in good and "inductor" in good:
        ours, theirs = good["cleave"]["figures"], good["inductor"]["figures"]
        row.append(f"x{theirs['ms'] / ours['ms']:5.2f}  x{theirs['compile_s'] / ours['compile_s']:6.1f}")
    if "cleave" in good and good["cleave"]["figures"]["outside"]:
        row.append(f"outside: {good['cleave']['figures']['outside']}")
    print(" | ".join(row), flush=True)
    return good


def geomean(values):
    return math.exp(sum(map(math.log, values)) / len(values)) if values else math.nan


def main():
    if sys.argv[1:2] == ["--one"]:
        name, backend, rounds, options, out = sys.argv[2:]
        one(name, backend, int(rounds), json.loads(options), out)
        return 0
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*")
    parser.add_argument("--all", action="store_true", help="all of bench/architectures.py, two minutes each")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--options", type=lambda t: dict(x.split("=", 1) for x in t.split(",")), default={})
    parser.add_argument("--target", default="native", help="x86-64-v3: all three use AVX2 alone")
    arguments = parser.parse_args()
    if arguments.target != "native":
        arguments.options["target"] = arguments.target
    if importlib.util.find_spec("torch") is None or importlib.util.find_spec("cleave") is None:
        print("skipped: torch or cleave is missing (PYTHONPATH=build/release/python)")
        return 77
    of_all = MODELS if arguments.all else [n for n in MODELS if n not in ARCHITECTURES] + TIMED
    names = arguments.models or [n for n in of_all if available(n)]
    print(f"{'of eager, inductor, cleave:':<32} | loss | grad | ms | compile s | MiB | Inductor by cleave: ms, compile")
    steps, compiles, worse = [], [], []
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            results = {b: run_one(name, b, argparse.Namespace(rounds=0 if b == "float64" else arguments.rounds,
                                                              options=arguments.options, target=arguments.target),
                                  Path(folder))
                       for b in ("float64", *BACKENDS)}
            if isinstance(results["float64"], str):
                print(f"{name:<32} | {results['float64']}", flush=True)
                continue
            good = show(name, results)
            if "cleave" not in good:
                worse.append(name)
            elif "inductor" in good:
                ours, theirs = good["cleave"], good["inductor"]
                steps.append(theirs["figures"]["ms"] / ours["figures"]["ms"])
                compiles.append(theirs["figures"]["compile_s"] / ours["figures"]["compile_s"])
                if ours["grad_error"] > 2 * max(theirs["grad_error"], good["eager"]["grad_error"]) + 1e-6:
                    worse.append(f"{name} (gradients)")
    print(f"geomean of Inductor by cleave: step x{geomean(steps):.2f}, least x{min(steps, default=math.nan):.2f}; "
          f"compile x{geomean(compiles):.1f}, least x{min(compiles, default=math.nan):.1f}")
    if worse:
        print(f"failed or farther from float64 than Inductor: {', '.join(worse)}")
    return bool(worse)


if __name__ == "__main__":
    sys.exit(main())

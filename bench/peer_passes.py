#!/usr/bin/env python3
"""What the passes make of models as PyTorch exports them: bench/peer_passes.py CLEAVE [--repeat N]

bert      an encoder layer as Hugging Face's BertLayer spells it, with a padding mask
gpt2      a decoder layer as GPT2Block spells it: an explicit causal mask, then an added one
t5        a decoder block of T5: RMS norms, relative bias, cross attention, a gated feed forward
resnet    ResNet-18 for inference, with fuse_conv_bn asked for

For each: nodes of the graph as exported, of it after the pre_grad passes, and of its joint graph
after all passes and none; for each pass how often it matched; then time (three rounds that
alternate) and peak of a run with the passes and without, forward for resnet and with gradients for
the others, and whether results and gradients are PyTorch's (float64) within 1e-4 of their size,
both ways.

Needs PyTorch and ../shared/peers/fx_to_clv.py, which writes the graphs.
"""
import argparse
import json
import math
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
PEERS = ROOT.parent / "shared/peers"
if not (PEERS / "fx_to_clv.py").exists():
    print(f"peer_passes: left out, there is no {PEERS}/fx_to_clv.py")
    sys.exit(0)
sys.path.insert(0, str(PEERS))

import torch
import torch.nn as nn
import torch.nn.functional as F
from fx_to_clv import export
from safetensors.torch import load_file


class Bert(nn.Module):
    def __init__(self, width=256, heads=4):
        super().__init__()
        self.heads, self.head = heads, width // heads
        self.query, self.key, self.value = (nn.Linear(width, width) for _ in range(3))
        self.out, self.norm1 = nn.Linear(width, width), nn.LayerNorm(width, eps=1e-12)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.norm2 = nn.LayerNorm(width, eps=1e-12)

    def split(self, x):
        return x.view(x.shape[0], x.shape[1], self.heads, self.head).permute(0, 2, 1, 3)

    def forward(self, x, open_):
        mask = (1.0 - open_[:, None, None, :]) * torch.finfo(x.dtype).min
        q, k, v = self.split(self.query(x)), self.split(self.key(x)), self.split(self.value(x))
        scores = torch.matmul(q, k.transpose(-1, -2)) / math.sqrt(self.head) + mask
        weights = F.softmax(scores, dim=-1)
        y = torch.matmul(weights, v).permute(0, 2, 1, 3).contiguous().view(x.shape)
        x = self.norm1(self.out(y) + x)
        return self.norm2(self.down(F.gelu(self.up(x))) + x)


class Gpt2(nn.Module):
    def __init__(self, width=256, heads=4, length=128):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attn_w, self.attn_b = nn.Parameter(torch.randn(width, 3 * width) * 0.02), nn.Parameter(torch.zeros(3 * width))
        self.proj_w, self.proj_b = nn.Parameter(torch.randn(width, width) * 0.02), nn.Parameter(torch.zeros(width))
        self.up_w, self.up_b = nn.Parameter(torch.randn(width, 4 * width) * 0.02), nn.Parameter(torch.zeros(4 * width))
        self.down_w, self.down_b = nn.Parameter(torch.randn(4 * width, width) * 0.02), nn.Parameter(torch.zeros(width))
        self.register_buffer("bias", torch.tril(torch.ones(length, length, dtype=torch.bool)).view(1, 1, length, length))

    def conv1d(self, x, w, b):
        return torch.addmm(b, x.view(-1, x.shape[-1]), w).view(*x.shape[:-1], w.shape[1])

    def forward(self, x, mask):
        b, t, c = x.shape
        q, k, v = self.conv1d(self.norm1(x), self.attn_w, self.attn_b).split(c, dim=2)
        q, k, v = (u.view(b, t, self.heads, c // self.heads).permute(0, 2, 1, 3) for u in (q, k, v))
        w = torch.matmul(q, k.transpose(-1, -2))
        w = w / torch.full([], v.shape[-1] ** 0.5, dtype=w.dtype)
        w = torch.where(self.bias[:, :, :t, :t], w, torch.full([], torch.finfo(w.dtype).min, dtype=w.dtype))
        w = F.softmax(w + mask, dim=-1).type(v.dtype)
        y = torch.matmul(w, v).permute(0, 2, 1, 3).contiguous().view(b, t, c)
        x = x + self.conv1d(y, self.proj_w, self.proj_b)
        h = self.conv1d(self.norm2(x), self.up_w, self.up_b)
        h = 0.5 * h * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * (h + 0.044715 * torch.pow(h, 3.0))))
        return x + self.conv1d(h, self.down_w, self.down_b)


class T5Norm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        variance = x.to(torch.float32).pow(2).mean(-1, keepdim=True)
        return self.weight * (x * torch.rsqrt(variance + 1e-6))


class T5Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.q, self.k, self.v, self.o = (nn.Linear(width, width, bias=False) for _ in range(4))

    def split(self, x):
        return x.view(x.shape[0], -1, self.heads, x.shape[-1] // self.heads).transpose(1, 2)

    def forward(self, x, memory, bias):
        q, k, v = self.split(self.q(x)), self.split(self.k(memory)), self.split(self.v(memory))
        scores = torch.matmul(q, k.transpose(3, 2))
        scores += bias
        weights = F.softmax(scores.float(), dim=-1).type_as(scores)
        y = torch.matmul(weights, v).transpose(1, 2).contiguous().view(x.shape[0], -1, x.shape[-1])
        return self.o(y)


class T5(nn.Module):
    def __init__(self, width=256, heads=4, buckets=32, length=64):
        super().__init__()
        self.norms = nn.ModuleList([T5Norm(width) for _ in range(3)])
        self.own, self.cross = T5Attention(width, heads), T5Attention(width, heads)
        self.bias = nn.Embedding(buckets, heads)
        self.wi0, self.wi1 = nn.Linear(width, 4 * width, bias=False), nn.Linear(width, 4 * width, bias=False)
        self.wo = nn.Linear(4 * width, width, bias=False)
        far = torch.arange(length)[None, :] - torch.arange(length)[:, None]
        self.register_buffer("bucket", (-far).clamp(0, buckets - 1))
        self.register_buffer("closed", torch.triu(torch.ones(length, length), 1) * torch.finfo(torch.float32).min)

    def forward(self, x, memory, memory_mask):
        position = self.bias(self.bucket).permute(2, 0, 1).unsqueeze(0) + self.closed
        h = self.norms[0](x)
        x = x + self.own(h, h, position)
        x = x + self.cross(self.norms[1](x), memory, memory_mask)
        h = self.norms[2](x)
        return x + self.wo(F.gelu(self.wi0(h), approximate="tanh") * self.wi1(h))


class Basic(nn.Module):
    def __init__(self, i, o, stride):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(i, o, 3, stride, 1, bias=False), nn.BatchNorm2d(o)
        self.conv2, self.bn2 = nn.Conv2d(o, o, 3, 1, 1, bias=False), nn.BatchNorm2d(o)
        self.down = nn.Sequential(nn.Conv2d(i, o, 1, stride, bias=False), nn.BatchNorm2d(o)) if i != o else nn.Identity()

    def forward(self, x):
        y = F.relu(self.bn1(self.conv1(x)))
        return F.relu(self.bn2(self.conv2(y)) + self.down(x))


class ResNet18(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.bn = nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64)
        widths = [64, 64, 128, 256, 512]
        self.body = nn.Sequential(*(m for i, o in zip(widths, widths[1:]) for m in (Basic(i, o, 1 if i == o else 2), Basic(o, o, 1))))
        self.fc = nn.Linear(512, 1000)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.bn(self.conv(x))), 3, 2, 1)
        return self.fc(torch.flatten(F.adaptive_avg_pool2d(self.body(x), 1), 1))


def models():
    open_ = torch.ones(4, 128)
    open_[1, 100:] = 0
    padding = (1.0 - open_[:, None, None, :]) * torch.finfo(torch.float32).min
    x = torch.randn(4, 128, 256)
    y = torch.randn(4, 64, 256)
    resnet = ResNet18().eval()
    for p in resnet.parameters():
        p.requires_grad_(False)
    return {
        "bert": (Bert(), (x.clone().requires_grad_(), open_), True, ""),
        "gpt2": (Gpt2(), (x.clone().requires_grad_(), padding), True, ""),
        "t5": (T5(), (y.clone().requires_grad_(), x.clone().requires_grad_(), padding), True, ""),
        "resnet": (resnet, (torch.randn(4, 3, 128, 128),), False, "fuse_conv_bn"),
    }


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("cleave")
    arguments.add_argument("--repeat", type=int, default=20)
    arguments.add_argument("--only", default="")
    a = arguments.parse_args()

    def cleave(*words):
        done = subprocess.run([a.cleave, *map(str, words)], capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"cleave {' '.join(map(str, words))}: {done.stderr}")
        return json.loads(done.stdout) if "--json" in words else done.stdout

    def nodes(path):
        return sum(" = " in line for line in path.read_text().splitlines())

    def matches(before, after, stage, on):
        return {p["name"]: p["matches"] for p in cleave("opt", before, "--stage", stage, "-o", after, "--json", *(["--on", on] if on else []))["passes"] if p["matches"]}

    def difference(folder, name, got):
        want = load_file(folder / f"{name}.want.safetensors")
        have = load_file(got)
        # A bias of keys has no gradient but for roundings: the size is at least the typical one's.
        size = torch.tensor([float(w.abs().max()) for w in want.values()]).median().item()
        return max(float((have[k].double() - w).abs().max()) / max(size / 10, float(w.abs().max())) for k, w in want.items())

    torch.manual_seed(0)
    wrong = False
    with tempfile.TemporaryDirectory() as at:
        folder = pathlib.Path(at)
        for name, (module, inputs, grads, on) in models().items():
            if a.only and a.only != name:
                continue
            export(module, inputs, str(folder / name), grads=grads)
            graph, ready = folder / f"{name}.clv", folder / f"{name}.pre.clv"
            found = matches(graph, ready, "pre_grad", on)
            print(f"{name}: {nodes(graph)} nodes, {nodes(ready)} after pre_grad")
            counts = {}
            for which, source in (("all passes", ready), ("no pass", graph)):
                joint = folder / "joint.clv"
                if grads:
                    cleave("grad", source, "-o", joint)
                else:
                    joint.write_text(source.read_text())
                if which == "all passes":
                    for stage in ("joint", "post_grad", "decomposed"):
                        found |= matches(joint, joint, stage, on)
                counts[which] = nodes(joint)
            print("  matches: " + ", ".join(f"{k} {v}" for k, v in found.items()))
            ways = {"all passes": ["--on", on] if on else [], "no pass": ["--passes", "off"]}
            ms = {which: [] for which in ways}
            lines = {}
            for _ in range(3):
                for which, words in ways.items():
                    run = cleave("run", graph, "--in", folder / f"{name}.in.safetensors", "--out", folder / "out.safetensors",
                                 "--repeat", a.repeat, "--json", *(["--grad"] if grads else []), *words)
                    off = difference(folder, name, folder / "out.safetensors")
                    wrong |= off > 1e-4
                    ms[which].append(run["run_ms"])
                    lines[which] = f"{run['kernels']:>5} kernels {run['peak_bytes'] / 1e6:>8.2f} MB peak {sorted(ms[which])[len(ms[which]) // 2]:>9.3f} ms, off by {off:.1e}"
            for which, line in lines.items():
                print(f"  {which:<11} {counts[which]:>5} nodes {line}")
    sys.exit(1 if wrong else 0)


main()

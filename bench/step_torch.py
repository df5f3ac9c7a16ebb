#!/usr/bin/env python3
"""One whole training step in PyTorch: the models of bench/models/step_models.h.

    python3 bench/step_torch.py MODEL eager|compile [--bf16] [--seconds 3] [--threads N]

Prints one JSON object: first_ms (the first step, compilation included), step_ms (median of n steps), min_ms,
resident_mb (growth of the resident set since the model was made, at its highest moment), loss, finite.
--bf16: forward under autocast. resnet50 runs channels-last.
"""
import argparse, json, math, os

import torch
import torch.nn as nn
import torch.nn.functional as F

from peer_target import tell_inductor
from step_timing import ms_of, resident, timed


class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 128), nn.ReLU(), nn.Linear(128, 10))

    def forward(self, x, y):
        return F.cross_entropy(self.layers(x), y)


def tokens(shape, batch, time, below=None):
    """A GPT and its batch; `below`: of the data's tokens, where that isn't the vocabulary."""
    from gpt_torch import Gpt
    below = below or shape[0]
    return Gpt(*shape), (torch.randint(0, below, (batch, time)), torch.randint(0, below, (batch, time)))


def resnet50():
    from resnet_torch import ResNet50
    images = torch.randn(8, 3, 128, 128).to(memory_format=torch.channels_last)
    return ResNet50().to(memory_format=torch.channels_last), (images, torch.randint(0, 1000, (8,)))


MODELS = {
    "demo": lambda: tokens((63, 4, 128, 4, 64), 12, 64),
    "mlp": lambda: (Mlp(), (torch.randn(32, 784), torch.randint(0, 10, (32,)))),
    "chargpt_small": lambda: tokens((96, 4, 128, 4, 64), 12, 64),
    "chargpt": lambda: tokens((96, 6, 384, 6, 256), 8, 256),
    "gpt2": lambda: tokens((50304, 12, 768, 12, 1024), 4, 64, 50257),
    "bert_small": lambda: tokens((30522, 4, 512, 8, 512, 0.1, False), 8, 128),
    "resnet50": resnet50,
}
CLIP = {"demo": 1.0}


def main():
    p = argparse.ArgumentParser()
    p.add_argument("model", choices=MODELS)
    p.add_argument("peer", choices=["eager", "compile"])
    p.add_argument("--bf16", action="store_true")
    p.add_argument("--seconds", type=float, default=3)
    p.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    a = p.parse_args()
    torch.set_num_threads(a.threads)
    torch.manual_seed(0)
    model, data = MODELS[a.model]()
    model.train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    tell_inductor()
    forward = model if a.peer == "eager" else torch.compile(model)
    before = resident("VmRSS")

    def step():
        with torch.autocast("cpu", torch.bfloat16, enabled=a.bf16):
            loss = forward(*data)
        loss.backward()
        if a.model in CLIP: torch.nn.utils.clip_grad_norm_(model.parameters(), CLIP[a.model])
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return loss.item()

    first_ms, loss = ms_of(step)
    times, last = timed(step, a.seconds)
    print(json.dumps({"model": a.model, "peer": a.peer, "version": torch.__version__, "first_ms": first_ms, "step_ms": times[len(times) // 2],
                      "min_ms": times[0], "n": len(times), "resident_mb": (resident("VmHWM") - before) / 1e6, "loss": loss,
                      "finite": math.isfinite(loss) and math.isfinite(last)}))


if __name__ == "__main__":
    main()

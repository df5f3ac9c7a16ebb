#!/usr/bin/env python3
"""test/peer/loss_scale.py DIR: 60 steps of a net in f16 under PyTorch's GradScaler, as DIR/scale_NAME.safetensors.

Each file holds w0, b0, w1, b1 of the start, x [60,8,5], y [60,8,3] and the trajectory loss [60], scale f64[60] (before the
step), skipped f64[60] (steps so far, this one included) and w [60,6,5] of the first layer; its metadata hold the options.
Some y are so large that gradients are inf in f16, some are inf. test/train/peer_loss_scale_test.cpp reads them
(CLEAVE_PEERS=DIR). Needs PyTorch and safetensors.
"""
import sys

import torch
from safetensors.torch import save_file

STEPS = 60
CASES = {
    "default": {"growth_interval": 4},
    "clipped": {"growth_interval": 4, "clip": 0.5},
    "odd_factors": {"init_scale": 3000.0, "growth_factor": 1.7, "backoff_factor": 0.3, "growth_interval": 3},
    "large": {"init_scale": 2.0**40, "growth_interval": 5},
    "each_step": {"init_scale": 1.0, "growth_interval": 1},
    "accumulated": {"growth_interval": 2, "accumulate": 3, "clip": 0.5},
}


def trajectory(name, init_scale=2.0**16, growth_factor=2.0, backoff_factor=0.5, growth_interval=2000, clip=0.0, accumulate=1):
    torch.manual_seed(len(name))
    net = torch.nn.Sequential(torch.nn.Linear(5, 6), torch.nn.Tanh(), torch.nn.Linear(6, 3))
    start = {k: v.detach().clone() for k, v in zip(("w0", "b0", "w1", "b1"), net.parameters())}
    x, y = torch.randn(STEPS, 8, 5), torch.randn(STEPS, 8, 3)
    for i in range(STEPS):
        if i % 11 == 7: y[i, 3, 1] = 3e4
        if i % 17 == 9: y[i, 0, 0] = float("inf")
    opt = torch.optim.AdamW(net.parameters(), lr=1e-2)
    scaler = torch.amp.GradScaler("cpu", init_scale, growth_factor, backoff_factor, growth_interval)
    losses, scales, skips, ws, skipped = [], [], [], [], 0
    for i in range(STEPS):
        scale = scaler.get_scale()
        with torch.autocast("cpu", torch.float16):
            loss = torch.nn.functional.mse_loss(net(x[i]), y[i])
        scaler.scale(loss / accumulate).backward()
        if (i + 1) % accumulate == 0:
            scaler.unscale_(opt)
            if clip: torch.nn.utils.clip_grad_norm_(net.parameters(), clip)
            scaler.step(opt)
            scaler.update()
            skipped += scaler.get_scale() < scale
            opt.zero_grad()
        losses.append(loss.item())
        scales.append(scale)
        skips.append(skipped)
        ws.append(net[0].weight.detach().clone())
    about = {"init_scale": init_scale, "growth_factor": growth_factor, "backoff_factor": backoff_factor,
             "growth_interval": growth_interval, "clip": clip, "accumulate": accumulate}
    wide = {"loss": losses, "scale": scales, "skipped": skips}
    tensors = {**start, "x": x, "y": y, "w": torch.stack(ws), **{k: torch.tensor(v, dtype=torch.float64) for k, v in wide.items()}}
    return tensors, {k: str(float(v)) for k, v in about.items()}


for case, options in CASES.items():
    tensors, about = trajectory(case, **options)
    save_file(tensors, f"{sys.argv[1]}/scale_{case}.safetensors", about)

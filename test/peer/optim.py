#!/usr/bin/env python3
"""test/peer/optim.py DIR: 50 steps of PyTorch's optimizers on a linear layer, as DIR/optim_NAME.safetensors.

Each file holds w0, b0, x [50,8,5], y [50,8,3], lr f64[50] and the trajectory loss [50], w [50,3,5], b [50,3];
its metadata hold the optimizer, its options and clip. test/train/peer_optimizer_test.cpp reads them
(CLEAVE_PEERS=DIR). Needs PyTorch and safetensors.
"""
import math
import sys

import torch
from safetensors.torch import save_file

STEPS = 50
CASES = {
    "sgd": ("SGD", {}, 0),
    "momentum": ("SGD", {"momentum": 0.9, "weight_decay": 0.1}, 0),
    "nesterov": ("SGD", {"momentum": 0.8, "nesterov": True}, 0.5),
    "adam": ("Adam", {"betas": (0.8, 0.95), "weight_decay": 0.05}, 0),
    "adamw": ("AdamW", {}, 0),
    "adamw_clipped": ("AdamW", {"betas": (0.9, 0.95), "eps": 1e-6, "weight_decay": 0.3}, 0.1),
}


def trajectory(name, optimizer, options, clip):
    torch.manual_seed(len(name))
    layer = torch.nn.Linear(5, 3)
    w0, b0 = layer.weight.detach().clone(), layer.bias.detach().clone()
    x, y = torch.randn(STEPS, 8, 5), torch.randn(STEPS, 8, 3)
    lr = [0.05 * 0.5 * (1 + math.cos(math.pi * i / STEPS)) for i in range(STEPS)]
    opt = getattr(torch.optim, optimizer)(layer.parameters(), lr=lr[0], **options)
    losses, ws, bs = [], [], []
    for i in range(STEPS):
        for group in opt.param_groups:
            group["lr"] = lr[i]
        opt.zero_grad()
        loss = torch.nn.functional.mse_loss(layer(x[i]), y[i])
        loss.backward()
        if clip:
            torch.nn.utils.clip_grad_norm_(layer.parameters(), clip)
        opt.step()
        losses.append(loss.item())
        ws.append(layer.weight.detach().clone())
        bs.append(layer.bias.detach().clone())
    betas = options.get("betas", (0.9, 0.999))
    defaults = {"SGD": 0, "Adam": 0, "AdamW": 1e-2}
    about = {
        "optimizer": optimizer, "clip": clip, "momentum": options.get("momentum", 0),
        "nesterov": int(options.get("nesterov", False)), "beta1": betas[0], "beta2": betas[1],
        "eps": options.get("eps", 1e-8), "weight_decay": options.get("weight_decay", defaults[optimizer]),
    }
    tensors = {"w0": w0, "b0": b0, "x": x, "y": y, "lr": torch.tensor(lr, dtype=torch.float64),
               "loss": torch.tensor(losses), "w": torch.stack(ws), "b": torch.stack(bs)}
    return tensors, {k: str(v) for k, v in about.items()}


for case, (optimizer, options, clip) in CASES.items():
    tensors, about = trajectory(case, optimizer, options, clip)
    save_file(tensors, f"{sys.argv[1]}/optim_{case}.safetensors", about)

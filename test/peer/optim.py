#!/usr/bin/env python3
"""test/peer/optim.py DIR: 50 steps of PyTorch's optimizers on a linear layer, as DIR/optim_NAME.safetensors.

Each file holds w0, b0, x [50,8,5], y [50,8,3], lr f64[50] and the trajectory loss [50], w [50,3,5], b [50,3],
ema_w [50,3,5] of a weight average of decay 0.95; its metadata hold the optimizer, its options and clip. Cases in
float32 and, as NAME_f64, in float64. test/train/peer_optimizer_test.cpp reads them (CLEAVE_PEERS=DIR). Needs PyTorch
and safetensors.
"""
import math
import sys

import torch
from safetensors.torch import save_file
from torch.optim import swa_utils

STEPS = 50
CASES = {
    "sgd": ("SGD", {}, 0),
    "momentum": ("SGD", {"momentum": 0.9, "weight_decay": 0.1}, 0),
    "dampening": ("SGD", {"momentum": 0.9, "dampening": 0.4, "weight_decay": 0.1}, 0),
    "nesterov": ("SGD", {"momentum": 0.8, "nesterov": True}, 0.5),
    "adam": ("Adam", {"betas": (0.8, 0.95), "weight_decay": 0.05}, 0),
    "adam_amsgrad": ("Adam", {"betas": (0.8, 0.9), "weight_decay": 0.05, "amsgrad": True}, 0),
    "adamw": ("AdamW", {}, 0),
    "adamw_clipped": ("AdamW", {"betas": (0.9, 0.95), "eps": 1e-6, "weight_decay": 0.3}, 0.1),
    "adamw_amsgrad": ("AdamW", {"betas": (0.9, 0.95), "amsgrad": True}, 0),
    "rmsprop": ("RMSprop", {}, 0),
    "rmsprop_momentum": ("RMSprop", {"alpha": 0.9, "eps": 1e-4, "momentum": 0.5, "weight_decay": 0.1}, 0),
    "rmsprop_centered": ("RMSprop", {"alpha": 0.9, "momentum": 0.3, "centered": True}, 0),
    "adagrad": ("Adagrad", {}, 0),
    "adagrad_decay": ("Adagrad", {"lr_decay": 0.1, "weight_decay": 0.1, "initial_accumulator_value": 0.3, "eps": 1e-6}, 0),
}


def trajectory(name, optimizer, options, clip, dtype):
    torch.manual_seed(len(name))
    layer = torch.nn.Linear(5, 3, dtype=dtype)
    w0, b0 = layer.weight.detach().clone(), layer.bias.detach().clone()
    x, y = torch.randn(STEPS, 8, 5, dtype=dtype), torch.randn(STEPS, 8, 3, dtype=dtype)
    lr = [0.05 * 0.5 * (1 + math.cos(math.pi * i / STEPS)) for i in range(STEPS)]
    opt = getattr(torch.optim, optimizer)(layer.parameters(), lr=lr[0], **options)
    average = swa_utils.AveragedModel(layer, multi_avg_fn=swa_utils.get_ema_multi_avg_fn(0.95))
    losses, ws, bs, averages = [], [], [], []
    for i in range(STEPS):
        for group in opt.param_groups:
            group["lr"] = lr[i]
        opt.zero_grad()
        loss = torch.nn.functional.mse_loss(layer(x[i]), y[i])
        loss.backward()
        if clip:
            torch.nn.utils.clip_grad_norm_(layer.parameters(), clip)
        opt.step()
        average.update_parameters(layer)
        losses.append(loss.item())
        ws.append(layer.weight.detach().clone())
        bs.append(layer.bias.detach().clone())
        averages.append(average.module.weight.detach().clone())
    about = {"optimizer": optimizer, "clip": clip}
    for key, value in opt.defaults.items():
        if key == "betas":
            about["beta1"], about["beta2"] = value
        elif isinstance(value, (bool, int, float)):
            about[key] = float(value)
    tensors = {"w0": w0, "b0": b0, "x": x, "y": y, "lr": torch.tensor(lr, dtype=torch.float64),
               "loss": torch.tensor(losses, dtype=torch.float64), "w": torch.stack(ws), "b": torch.stack(bs),
               "ema_w": torch.stack(averages)}
    return tensors, {k: str(v) for k, v in about.items()}


for case, (optimizer, options, clip) in CASES.items():
    for suffix, dtype in (("", torch.float32), ("_f64", torch.float64)):
        tensors, about = trajectory(case, optimizer, options, clip, dtype)
        save_file(tensors, f"{sys.argv[1]}/optim_{case}{suffix}.safetensors", about)

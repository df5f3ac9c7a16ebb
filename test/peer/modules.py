#!/usr/bin/env python3
"""test/peer/modules.py: PyTorch's results and gradients of modules, activations and losses, as test/train/module_numbers.inc.

Every tensor is filled by a formula of its name, so that only results are written down: `y`, and for each parameter,
`x` (the input) and buffer one number, the dot product of its gradient (a buffer: of its value afterwards) with fill("d").
test/train/module_numbers_test.cpp computes the same. Needs PyTorch; all in float64.
"""
import math

import torch
import torch.nn.functional as F
from torch import nn

torch.set_default_dtype(torch.float64)


def fill(name, shape):
    n = sum(name.encode()) % 101
    count = math.prod(shape)
    return torch.tensor([math.sin(0.7 * k + 1.3 * n + 0.5) / 2 for k in range(count)]).reshape(shape)


def classes(*values):
    return torch.tensor(values)


class Call(nn.Module):
    def __init__(self, f, **parts):
        super().__init__()
        self.f = f
        for name, part in parts.items():
            self.add_module(name, part)

    def forward(self, x):
        return self.f(self, x)


def of(module):
    return Call(lambda s, x: s.m(x), m=module)


def f(function):
    return Call(lambda s, x: function(x))


def lstm_with_state(s, x):
    out, (h, c) = s.m(x, (fill("h", (4, 2, 3)), fill("s", (4, 2, 3))))
    return torch.cat([out.flatten(), h.flatten(), c.flatten()])


def lstm(s, x):
    out, (h, c) = s.m(x)
    return torch.cat([out.flatten(), h.flatten(), c.flatten()])


def gru_with_state(s, x):
    out, h = s.m(x, fill("h", (4, 2, 3)))
    return torch.cat([out.flatten(), h.flatten()])


def gru(s, x):
    out, h = s.m(x)
    return torch.cat([out.flatten(), h.flatten()])


def causal(s, x):
    return s.m(x, src_mask=nn.Transformer.generate_square_subsequent_mask(3), is_causal=True)


encoder = dict(dim_feedforward=5, dropout=0.0, batch_first=True)
# Kinks of the piecewise activations are among the points.
POINTS = torch.tensor([-30.0, -4.0, -3.0, -0.5, -0.25, 0.0, 0.25, 0.5, 1.0, 3.0, 6.0, 30.0])
labels = classes(2, 0, -100, 1)
bits = torch.tensor([[1.0, 0.0, 0.25], [0.0, 1.0, 1.0]])
other = torch.tensor([[0.5, -0.25, 0.0], [0.125, 2.0, -3.0]])
w3 = torch.tensor([0.5, 2.0, 1.25])
soft = torch.softmax(fill("p", (4, 3)), 1)
zero_target = torch.tensor([[0.5, 0.0, 0.5], [0.0, 1.0, 0.0]])

CASES = {
    "rms_norm": ((2, 3, 4), of(nn.RMSNorm([4]))),
    "rms_norm_2d_eps": ((2, 3, 4), of(nn.RMSNorm([3, 4], eps=1e-2))),
    "group_norm": ((2, 4, 3), of(nn.GroupNorm(2, 4))),
    "batch_norm1d": ((4, 3), of(nn.BatchNorm1d(3))),
    "batch_norm1d_3d": ((2, 3, 4), of(nn.BatchNorm1d(3, eps=1e-3, momentum=0.3))),
    "batch_norm1d_average": ((4, 3), of(nn.BatchNorm1d(3, momentum=None))),
    "batch_norm1d_untracked": ((4, 3), of(nn.BatchNorm1d(3, affine=False, track_running_stats=False))),
    "batch_norm2d": ((2, 2, 2, 3), of(nn.BatchNorm2d(2))),
    "batch_norm2d_eval": ((2, 2, 2, 3), of(nn.BatchNorm2d(2)).eval()),
    "conv1d": ((2, 4, 7), of(nn.Conv1d(4, 2, 3, stride=2, padding=1, groups=2))),
    "conv2d": ((1, 2, 5, 4), of(nn.Conv2d(2, 3, (3, 2), stride=(2, 1), padding=(1, 0)))),
    "conv2d_dilated": ((2, 5, 5), of(nn.Conv2d(2, 2, 2, dilation=2, bias=False))),
    "conv_transpose2d": ((1, 2, 3, 3), of(nn.ConvTranspose2d(2, 3, 3, stride=2, padding=1, output_padding=1))),
    "max_pool2d": ((1, 2, 5, 5), of(nn.MaxPool2d(2))),
    "max_pool2d_padded": ((2, 5, 6), of(nn.MaxPool2d(3, stride=2, padding=1, ceil_mode=True))),
    "avg_pool2d": ((1, 2, 5, 5), of(nn.AvgPool2d((3, 2), stride=(2, 2), padding=(1, 0), count_include_pad=False))),
    "adaptive_avg_pool2d": ((1, 2, 5, 7), of(nn.AdaptiveAvgPool2d((2, 3)))),
    "lstm": ((3, 2, 2), Call(lstm, m=nn.LSTM(2, 3))),
    "lstm_2_layers_both_ways": ((2, 3, 2), Call(lstm_with_state, m=nn.LSTM(2, 3, 2, batch_first=True, bidirectional=True))),
    "lstm_unbatched": ((3, 2), Call(lstm, m=nn.LSTM(2, 3, bias=False))),
    "gru": ((3, 2, 2), Call(gru, m=nn.GRU(2, 3))),
    "gru_2_layers_both_ways": ((2, 3, 2), Call(gru_with_state, m=nn.GRU(2, 3, 2, batch_first=True, bidirectional=True))),
    "gru_unbatched": ((3, 2), Call(gru, m=nn.GRU(2, 3, bias=False))),
    "encoder": ((2, 3, 4), of(nn.TransformerEncoderLayer(4, 2, **encoder))),
    "encoder_norm_first": ((2, 3, 4), Call(causal, m=nn.TransformerEncoderLayer(4, 2, activation="gelu", norm_first=True, **encoder))),
    "prelu": ((2, 3, 2), of(nn.PReLU(3))),
    "prelu_one": ((12,), of(nn.PReLU())),
    "glu": ((2, 4), of(nn.GLU())),
    "cross_entropy": ((4, 3), f(lambda x: F.cross_entropy(x, labels))),
    "cross_entropy_all": ((4, 3), f(lambda x: F.cross_entropy(x, classes(2, 0, 1, 1), weight=w3, ignore_index=1, label_smoothing=0.2))),
    "cross_entropy_none": ((4, 3), f(lambda x: F.cross_entropy(x, labels, weight=w3, label_smoothing=0.1, reduction="none"))),
    "cross_entropy_sum_2d": ((2, 3, 2), f(lambda x: F.cross_entropy(x, labels.reshape(2, 2), weight=w3, reduction="sum"))),
    "cross_entropy_one": ((3,), f(lambda x: F.cross_entropy(x, torch.tensor(1)))),
    "cross_entropy_soft": ((4, 3), f(lambda x: F.cross_entropy(x, soft, weight=w3, label_smoothing=0.1))),
    "cross_entropy_soft_none": ((4, 3), f(lambda x: F.cross_entropy(x, soft, reduction="none"))),
    "nll": ((4, 3), f(lambda x: F.nll_loss(x, labels, weight=w3))),
    "nll_none": ((2, 3, 2), f(lambda x: F.nll_loss(x, labels.reshape(2, 2), reduction="none"))),
    "bce": ((2, 3), f(lambda x: F.binary_cross_entropy_with_logits(x * 100, bits))),
    "bce_zero": ((2, 3), f(lambda x: F.binary_cross_entropy_with_logits(x * 0, bits))),
    "bce_weights": ((2, 3), f(lambda x: F.binary_cross_entropy_with_logits(x, bits, weight=w3, pos_weight=w3, reduction="none"))),
    "mse": ((2, 3), f(lambda x: F.mse_loss(x, other))),
    "l1": ((2, 3), f(lambda x: F.l1_loss(x, other))),
    "smooth_l1": ((2, 3), f(lambda x: F.smooth_l1_loss(x, other))),
    "smooth_l1_beta": ((2, 3), f(lambda x: F.smooth_l1_loss(x, other, beta=0.5, reduction="none"))),
    "smooth_l1_zero": ((2, 3), f(lambda x: F.smooth_l1_loss(x, other, beta=0.0, reduction="sum"))),
    "huber": ((2, 3), f(lambda x: F.huber_loss(x, other, delta=0.5, reduction="none"))),
    "kl_div": ((2, 3), f(lambda x: F.kl_div(x, zero_target, reduction="mean"))),
    "kl_div_batchmean": ((2, 3), f(lambda x: F.kl_div(x, other, reduction="batchmean", log_target=True))),
}
ACTIVATIONS = {
    "relu6": F.relu6, "selu": F.selu, "celu": lambda x: F.celu(x, 1.5), "elu": lambda x: F.elu(x, 0.5),
    "hardsigmoid": F.hardsigmoid, "hardswish": F.hardswish, "mish": F.mish, "logsigmoid": F.logsigmoid,
    "softplus": F.softplus, "softsign": F.softsign, "tanhshrink": F.tanhshrink, "softshrink": F.softshrink,
    "hardshrink": F.hardshrink, "threshold": lambda x: F.threshold(x, 0.25, -7.0),
    "leaky_relu": F.leaky_relu, "hardtanh": lambda x: F.hardtanh(x, -0.5, 3.0),
}


def values(t):
    return "{" + ", ".join(f"{v:.12g}" for v in t.detach().flatten().tolist()) + "}"


def entry(name, x, module):
    x = x.clone().requires_grad_()
    params, buffers = dict(module.named_parameters()), dict(module.named_buffers())
    with torch.no_grad():
        for key, p in params.items():
            p.copy_(fill(key, p.shape))
        for key, b in buffers.items():
            if b.is_floating_point():
                b.copy_(fill(key, b.shape).abs() + 0.1)
            else:
                b.fill_(3)
    y = module(x)
    (y * fill("c", y.shape)).sum().backward()
    rows = [("y", values(y)), ("x", values(x.grad))]
    rows += [(k, values((p.grad * fill("d", p.shape)).sum())) for k, p in params.items()]
    rows += [(k, values((b.double() * fill("d", b.shape)).sum())) for k, b in buffers.items()]
    text = ",\n     ".join(f'{{"{k}", {v}}}' for k, v in rows)
    return f'    {{"{name}",\n     {{{text}}}}},\n'


print("// Written by test/peer/modules.py with PyTorch", torch.__version__.split("+")[0] + ".")
print("#pragma once\n#include <map>\n#include <string>\n#include <vector>\n\nnamespace cleave::test {\n")
print("// clang-format off")
print("inline const std::map<std::string, std::map<std::string, std::vector<double>>> module_numbers = {")
for name, (shape, module) in CASES.items():
    print(entry(name, fill("x", shape), module), end="")
for name, function in ACTIVATIONS.items():
    print(entry(name, POINTS, f(function)), end="")
print("};\n// clang-format on\n\n}  // namespace cleave::test")

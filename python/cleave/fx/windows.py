"""Windows of signals that PyTorch has no rule for, of k = 0, 1, ... in f64, rounded once."""
import math

import torch

aten = torch.ops.aten


def _window(curve, window_length, periodic, dtype, device):
    dtype = dtype or torch.get_default_dtype()
    if not dtype.is_floating_point:
        return NotImplemented
    if window_length <= 1:
        return torch.ones(window_length, dtype=dtype, device=device)
    last = window_length if periodic else window_length - 1
    return curve(torch.arange(window_length, dtype=torch.float64, device=device), last).to(dtype)


def _rule(curve_of):
    """curve_of(numbers) gives the curve; a rule for each overload, whose numbers may be given or not."""
    def rule(window_length, periodic=True, *numbers, dtype=None, layout=None, device=None, pin_memory=None):
        return _window(curve_of(*numbers), window_length, periodic, dtype, device)
    return rule


def _hamming(alpha=0.54, beta=0.46):
    return lambda k, last: alpha - beta * torch.cos(k * (2 * math.pi / last))


def _blackman():
    turn = 2 * math.pi
    return lambda k, last: 0.42 - 0.5 * torch.cos(k * (turn / last)) + 0.08 * torch.cos(k * (2 * turn / last))


def _bartlett():
    return lambda k, last: 1 - (k * 2 / last - 1).abs()


def _kaiser(beta=12.0):
    def curve(k, last):
        x = k * 2 / last - 1
        inside = (1 - x * x).clamp(min=0).sqrt()
        return torch.i0(inside * beta) / torch.i0(torch.full_like(k, beta))
    return curve


_RULES = {"hann_window": _rule(lambda: _hamming(0.5, 0.5)), "hamming_window": _rule(_hamming), "blackman_window": _rule(_blackman),
          "bartlett_window": _rule(_bartlett), "kaiser_window": _rule(_kaiser)}

WINDOWS = {getattr(getattr(aten, name), overload): rule for name, rule in _RULES.items()
           for overload in getattr(aten, name).overloads() if not overload.endswith("out")}

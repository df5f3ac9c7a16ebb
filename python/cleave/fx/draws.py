"""Random operators, taken apart into the uniform, normal and integer numbers that cleave draws.

    exponential(%x, 2.0)  ►  -log1p(-rand(...)) / 2.0

Formulas are those of PyTorch's kernels: a uniform u is in [0, 1), so 1 - u isn't 0. Numbers of f16 and bf16 are made in f32.
With a generator of the caller, a rule returns NotImplemented, and PyTorch draws.
"""
import functools
import math

import torch

aten = torch.ops.aten


def _made_in(dtype):
    """The dtype in which numbers of a dtype are made: integers and short floats in f32."""
    return torch.float64 if dtype is torch.float64 else torch.float32


def _uniform(shape, dtype):
    return torch.rand(shape, dtype=_made_in(dtype))


def _normal(shape, dtype):
    return torch.randn(shape, dtype=_made_in(dtype))


def _rule(f):
    """f of an operator with a generator."""
    @functools.wraps(f)
    def rule(*args, generator=None, **kwargs):
        return NotImplemented if generator is not None else f(*args, **kwargs)
    return rule


@_rule
def exponential(self, lambd=1.0):
    torch._check(lambd > 0, lambda: f"exponential_ expects lambda > 0.0, but found lambda={lambd}")
    u = _uniform(self.shape, self.dtype)
    return ((-torch.log1p(-u)).clamp_min(torch.finfo(u.dtype).eps / 2) / lambd).to(self.dtype)


@_rule
def uniform(self, from_=0.0, to=1.0):
    torch._check(from_ <= to, lambda: f"uniform_ expects to return a [from, to) range, but found from={from_} > to={to}")
    return (_uniform(self.shape, self.dtype) * (to - from_) + from_).to(self.dtype)


@_rule
def normal_functional(self, mean=0.0, std=1.0):
    _check_std(std)
    return (_normal(self.shape, self.dtype) * std + mean).to(self.dtype)


@_rule
def normal_of_tensors(mean, std=1.0):
    """Either may be a number."""
    if not isinstance(std, torch.Tensor):
        _check_std(std)
    tensors = [t for t in (mean, std) if isinstance(t, torch.Tensor)]
    dtype = functools.reduce(torch.promote_types, [t.dtype for t in tensors])
    shape = torch.broadcast_shapes(*(t.shape for t in tensors))
    return (_normal(shape, dtype) * std + mean).to(tensors[0].dtype)


@_rule
def normal_of_numbers(mean, std, size, dtype=None, **_):
    _check_std(std)
    dtype = dtype or torch.get_default_dtype()
    return (_normal(size, dtype) * std + mean).to(dtype)


def _check_std(std):
    torch._check(std >= 0, lambda: f"normal expects std >= 0.0, but found std {std}")


@_rule
def log_normal(self, mean=1.0, std=2.0):
    torch._check(std > 0, lambda: f"log_normal_ expects std > 0.0, but found std={std}")
    return torch.exp(_normal(self.shape, self.dtype) * std + mean).to(self.dtype)


@_rule
def cauchy(self, median=0.0, sigma=1.0):
    torch._check(sigma > 0, lambda: f"cauchy_ expects sigma > 0.0, but found sigma={sigma}")
    return (torch.tan((_uniform(self.shape, self.dtype) - 0.5) * math.pi) * sigma + median).to(self.dtype)


@_rule
def geometric(self, p):
    torch._check(0 < p < 1, lambda: f"geometric_ expects p to be in (0, 1), but got p={p}")
    u = _uniform(self.shape, self.dtype)
    return torch.ceil(torch.log1p(-u) / math.log1p(-p)).clamp_min(1).to(self.dtype)


@_rule
def randint_like(self, high, dtype=None, **_):
    return torch.randint(0, high, self.shape).to(dtype or self.dtype)


@_rule
def randint_like_from(self, low, high, dtype=None, **_):
    return torch.randint(low, high, self.shape).to(dtype or self.dtype)


@_rule
def rrelu_with_noise_functional(self, noise, lower=1 / 8, upper=1 / 3, training=False):
    if not training:
        return torch.where(self <= 0, self * ((lower + upper) / 2), self), noise.clone()
    drawn = (_uniform(self.shape, self.dtype) * (upper - lower) + lower).to(self.dtype)
    noise = torch.where(self <= 0, drawn, 1.0)
    return self * noise, noise


DRAWS = {aten.exponential.default: exponential, aten.uniform.default: uniform,
         aten.normal_functional.default: normal_functional, aten.normal.Tensor_float: normal_of_tensors,
         aten.normal.float_Tensor: normal_of_tensors, aten.normal.Tensor_Tensor: normal_of_tensors,
         aten.normal.float_float: normal_of_numbers, aten.log_normal.default: log_normal, aten.cauchy.default: cauchy,
         aten.geometric.default: geometric, aten.randint_like.default: randint_like,
         aten.randint_like.low_dtype: randint_like_from,
         aten.rrelu_with_noise_functional.default: rrelu_with_noise_functional}

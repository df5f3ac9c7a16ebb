"""Discrete Fourier transforms of pairs (complex_pairs.py) as matrix products with tables of cosines and sines.

A length of more than `whole` is taken apart: n = a b, transforms of length a, a turn of each element, transforms of length b
(Cooley and Tukey 1965). Tables are made in f64 and rounded once.
"""
import math

import torch

aten = torch.ops.aten

whole = 64
longest = 1024  # of a prime factor


def fft_c2c(parts, dims, normalization, forward):
    """parts [*s, 2]; dims count from the front of s."""
    rank = parts.dim() - 1
    scales = _scales([parts.shape[d] for d in dims], normalization)
    for d, scale in zip(dims, scales):
        parts = _along(parts, d % rank, lambda x, s=scale: _transform(x, -1 if forward else 1, s))
    return parts


def fft_r2c(x, dims, normalization, onesided):
    """The forward transform of a real tensor: half of the last of `dims` where it is one-sided."""
    rank, n = x.dim(), x.shape[dims[-1]]
    scale = _scale([x.shape[d] for d in dims], normalization)
    count = n // 2 + 1 if onesided else n
    last = dims[-1] % rank
    x = aten.transpose.int(x, last, rank - 1)
    table = aten.view.default(aten.select.int(_table(n, count, -1, scale, x.dtype), 1, 0), [n, count * 2])
    y = aten.view.default(_product(x, table), [*x.shape[:-1], count, 2])
    y = aten.transpose.int(y, last, rank - 1)
    return fft_c2c(y, dims[:-1], 0, True)


def fft_c2r(parts, dims, normalization, last_size):
    """The backward transform to a real tensor of which `parts` has half along the last of `dims`."""
    rank = parts.dim() - 1
    sizes = [parts.shape[d] for d in dims[:-1]] + [last_size]
    parts = fft_c2c(parts, dims[:-1], 0, False)
    last, count = dims[-1] % rank, last_size // 2 + 1
    if parts.shape[last] > count:
        parts = aten.slice.Tensor(parts, last, 0, count)
    elif parts.shape[last] < count:
        parts = aten.constant_pad_nd.default(parts, [0, 0] * (rank - last) + [0, count - parts.shape[last]])
    x = aten.transpose.int(parts, last, rank - 1)
    table = aten.select.int(_table(count, last_size, 1, _scale(sizes, normalization), torch.float64, last_size), 3, 0)
    k = torch.arange(count)
    alone = aten.logical_or.default(aten.eq.Scalar(k, 0), aten.eq.Scalar(aten.mul.Scalar(k, 2), last_size))
    weight = aten.where.self(alone, torch.ones(count, dtype=torch.float64), torch.full((count,), 2.0, dtype=torch.float64))
    table = aten._to_copy.default(aten.mul.Tensor(table, aten.view.default(weight, [count, 1, 1])), dtype=parts.dtype)
    x = aten.reshape.default(x, [*x.shape[:-2], count * 2])
    return aten.transpose.int(_product(x, aten.view.default(table, [count * 2, last_size])), last, rank - 1)


def _scale(sizes, normalization):
    n = math.prod(sizes)
    return [1.0, 1 / math.sqrt(n), 1 / n][normalization] if n else 1.0


def _scales(sizes, normalization):
    """The whole scale with the first dim, so that one product has it."""
    return [_scale(sizes, normalization)] + [1.0] * (len(sizes) - 1) if sizes else []


def _along(parts, dim, f):
    rank = parts.dim() - 1
    moved = aten.transpose.int(parts, dim, rank - 1)
    return aten.transpose.int(f(moved), dim, rank - 1)


def _product(x, table):
    rows = math.prod(x.shape[:-1])
    y = aten.mm.default(aten.reshape.default(x, [rows, x.shape[-1]]), table)
    return aten.view.default(y, [*x.shape[:-1], table.shape[1]])


def _angles(n, count, period):
    """2 pi j k / period for j < n, k < count, of products reduced first."""
    j, k = aten.view.default(torch.arange(n), [n, 1]), torch.arange(count)
    turns = aten.remainder.Scalar(aten.mul.Tensor(j, k), period)
    return aten.mul.Tensor(aten._to_copy.default(turns, dtype=torch.float64), 2 * math.pi / period)


def _table(n, count, sign, scale, dtype, period=None):
    """[n, 2, count, 2]: what a real and an imaginary part adds to both parts of each result."""
    angles = _angles(n, count, period or n)
    cosine = aten.mul.Tensor(aten.cos.default(angles), scale)
    sine = aten.mul.Tensor(aten.sin.default(angles), sign * scale)
    real = aten.stack.default([cosine, sine], -1)
    imaginary = aten.stack.default([aten.neg.default(sine), cosine], -1)
    return aten._to_copy.default(aten.stack.default([real, imaginary], 1), dtype=dtype)


def _factor(n):
    """The largest divisor that is at most `whole`; n where there is none."""
    if n <= whole:
        return n
    found = next((d for d in range(whole, 1, -1) if n % d == 0), n)
    if found > longest:
        raise NotImplementedError(f"a transform of the prime length {n}")
    return found


def _transform(x, sign, scale):
    """Of the last dim of pairs [*s, n, 2]."""
    n, lead = x.shape[-2], list(x.shape[:-2])
    a = _factor(n)
    if a == n:
        table = aten.view.default(_table(n, n, sign, scale, x.dtype), [n * 2, n * 2])
        return aten.view.default(_product(aten.reshape.default(x, [*lead, n * 2]), table), [*lead, n, 2])
    b, rank = n // a, len(lead)
    x = aten.reshape.default(x, [*lead, a, b, 2])
    x = _transform(aten.transpose.int(x, rank, rank + 1), sign, scale)  # [*lead, b, a, 2]
    x = _turned(x, aten.mul.Scalar(_angles(b, a, n), sign))
    y = _transform(aten.transpose.int(x, rank, rank + 1), sign, 1.0)  # [*lead, a, b, 2]
    return aten.reshape.default(aten.transpose.int(y, rank, rank + 1), [*lead, n, 2])


def _turned(x, angles):
    """Each pair turned by an angle."""
    cosine = aten._to_copy.default(aten.cos.default(angles), dtype=x.dtype)
    sine = aten._to_copy.default(aten.sin.default(angles), dtype=x.dtype)
    real, imaginary = aten.select.int(x, -1, 0), aten.select.int(x, -1, 1)
    return aten.stack.default([
        aten.sub.Tensor(aten.mul.Tensor(real, cosine), aten.mul.Tensor(imaginary, sine)),
        aten.add.Tensor(aten.mul.Tensor(real, sine), aten.mul.Tensor(imaginary, cosine))], -1)

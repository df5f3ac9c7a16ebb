"""What calls of complex tensors come to, where these are pairs of parts: functions of ATen's operators.

A rule takes the call's arguments, complex tensors as Pair, and returns a Pair, a tensor, or NotImplemented.
"""
import math

import torch

from cleave.fx.fourier import fft_c2c, fft_c2r, fft_r2c

aten = torch.ops.aten


class Pair:
    """A complex tensor as a real one with one more dim of 2."""

    def __init__(self, parts, dtype=None):
        self.parts = parts
        self.dtype = dtype

    @staticmethod
    def of(real, imaginary):
        return Pair(aten.stack.default([real, imaginary], -1))

    @property
    def real(self):
        return aten.select.int(self.parts, -1, 0)

    @property
    def imaginary(self):
        return aten.select.int(self.parts, -1, 1)

    @property
    def rank(self):
        return self.parts.dim() - 1

    def axis(self, dim):
        return dim % max(self.rank, 1)

    def axes(self, dims):
        return [self.axis(d) for d in dims]


def _widened(x):
    """A real tensor with a dim that meets both parts."""
    return aten.unsqueeze.default(x, -1)


def _as_pair(x, like):
    """A pair of anything; `like` has the parts' dtype."""
    if isinstance(x, Pair):
        return x
    if isinstance(x, torch.Tensor):
        x = aten._to_copy.default(x, dtype=like.dtype)
        return Pair.of(x, torch.zeros_like(x))
    z = complex(x)
    part = lambda v: aten.full.default([], v, dtype=like.dtype, device=torch.device("cpu"))
    return Pair.of(part(z.real), part(z.imag))


def _parts_like(*operands):
    return next(x.parts for x in operands if isinstance(x, Pair))


def _is_real(x):
    return isinstance(x, torch.Tensor) or not isinstance(x, (Pair, complex))


def mul(a, b):
    if not isinstance(a, Pair) and not isinstance(b, Pair):
        return _mul_of_numbers(a, b)
    if isinstance(b, Pair) and _is_real(a):
        a, b = b, a
    if _is_real(b):
        return Pair(aten.mul.Tensor(a.parts, _widened(b) if isinstance(b, torch.Tensor) else b))
    like = _parts_like(a, b)
    a, b = _as_pair(a, like), _as_pair(b, like)
    return Pair.of(aten.sub.Tensor(aten.mul.Tensor(a.real, b.real), aten.mul.Tensor(a.imaginary, b.imaginary)),
                   aten.add.Tensor(aten.mul.Tensor(a.real, b.imaginary), aten.mul.Tensor(a.imaginary, b.real)))


def _mul_of_numbers(a, b):
    """Of a real tensor and a complex number."""
    x, z = (a, b) if isinstance(a, torch.Tensor) else (b, a)
    if not isinstance(x, torch.Tensor) or not isinstance(z, complex):
        return NotImplemented
    x = x if x.dtype.is_floating_point else aten._to_copy.default(x, dtype=torch.get_default_dtype())
    return Pair.of(aten.mul.Tensor(x, z.real), aten.mul.Tensor(x, z.imag))


def _square_of_abs(p):
    return aten.add.Tensor(aten.mul.Tensor(p.real, p.real), aten.mul.Tensor(p.imaginary, p.imaginary))


def div(a, b):
    if isinstance(a, Pair) and _is_real(b):
        return Pair(aten.div.Tensor(a.parts, _widened(b) if isinstance(b, torch.Tensor) else b))
    like = _parts_like(a, b)
    b = _as_pair(b, like)
    inverse = Pair(aten.div.Tensor(conj(b).parts, _widened(_square_of_abs(b))))
    return mul(_as_pair(a, like), inverse)


def reciprocal(p):
    return Pair(aten.div.Tensor(conj(p).parts, _widened(_square_of_abs(p))))


def _sum_of(op):
    def rule(a, b, alpha=1):
        like = _parts_like(a, b)
        return Pair(op(_as_pair(a, like).parts, _as_pair(b, like).parts, alpha=alpha))

    return rule


def conj(p):
    if not isinstance(p, Pair):  # of a number
        return full([], complex(p).conjugate(), dtype=torch.complex128)
    return Pair.of(p.real, aten.neg.default(p.imaginary))


def absolute(p):
    """By the larger part, so that no square overflows."""
    a, b = aten.abs.default(p.real), aten.abs.default(p.imaginary)
    most, least = aten.maximum.default(a, b), aten.minimum.default(a, b)
    is_zero = aten.eq.Scalar(most, 0)
    infinite = aten.eq.Scalar(most, math.inf)
    ratio = aten.div.Tensor(least, aten.where.self(is_zero, torch.ones_like(most), most))
    y = aten.mul.Tensor(most, aten.sqrt.default(aten.add.Scalar(aten.mul.Tensor(ratio, ratio), 1)))
    return aten.where.self(infinite, most, y)


def exp(p):
    return polar(aten.exp.default(p.real), p.imaginary)


def log(p):
    return Pair.of(aten.log.default(absolute(p)), aten.atan2.default(p.imaginary, p.real))


def sgn(p):
    size = absolute(p)
    zero = aten.eq.Scalar(size, 0)
    return Pair(aten.div.Tensor(p.parts, _widened(aten.where.self(zero, torch.ones_like(size), size))))


def power(p, exponent):
    if exponent != 2:
        return NotImplemented
    return mul(p, p)


def polar(size, angle):
    return Pair.of(aten.mul.Tensor(size, aten.cos.default(angle)), aten.mul.Tensor(size, aten.sin.default(angle)))


def equal(a, b):
    like = _parts_like(a, b)
    same = aten.eq.Tensor(_as_pair(a, like).parts, _as_pair(b, like).parts)
    return aten.logical_and.default(aten.select.int(same, -1, 0), aten.select.int(same, -1, 1))


def to_copy(x, dtype=None, memory_format=None, **_):
    if isinstance(x, Pair):
        if dtype is None or dtype.is_complex:
            return Pair(aten._to_copy.default(x.parts, dtype=(dtype or x.dtype).to_real()))
        return aten._to_copy.default(x.real, dtype=dtype)
    return _as_pair(x, torch.empty(0, dtype=dtype.to_real()))


def where(mask, a, b):
    like = _parts_like(a, b)
    return Pair(aten.where.self(_widened(mask), _as_pair(a, like).parts, _as_pair(b, like).parts))


def masked_fill(p, mask, value):
    return where(mask, value, p)


def full(size, fill_value, dtype=None, **_):
    if dtype is None or not dtype.is_complex:
        return NotImplemented
    z = complex(fill_value)
    part = lambda v: aten.full.default(list(size), v, dtype=dtype.to_real(), device=torch.device("cpu"))
    return Pair.of(part(z.real), part(z.imag))


def full_like(x, fill_value, dtype=None, **_):
    shape = x.parts.shape[:-1] if isinstance(x, Pair) else x.shape
    return full(shape, fill_value, dtype=dtype or x.dtype)


def new_zeros(x, size, dtype=None, **_):
    return full(size, 0, dtype=dtype or x.dtype)


def matrix_product(op):
    def rule(a, b):
        like = _parts_like(a, b)
        a, b = _as_pair(a, like), _as_pair(b, like)
        return Pair.of(aten.sub.Tensor(op(a.real, b.real), op(a.imaginary, b.imaginary)),
                       aten.add.Tensor(op(a.real, b.imaginary), op(a.imaginary, b.real)))

    return rule


def squeeze(p, dims=None):
    dims = range(p.rank) if dims is None else [dims] if isinstance(dims, int) else dims
    return Pair(aten.squeeze.dims(p.parts, [d for d in p.axes(dims) if p.parts.shape[d] == 1]))


def pad(p, widths, value=0):
    return Pair(aten.constant_pad_nd.default(p.parts, [0, 0, *widths])) if value == 0 else NotImplemented


def index_put(p, indices, values, accumulate=False):
    values = _as_pair(values, p.parts).parts
    return Pair(aten.index_put.default(p.parts, indices, values, accumulate))


def total(op):
    return lambda p, dims=None, keepdim=False, dtype=None: Pair(
        op(p.parts, p.axes(dims or range(p.rank)), keepdim)) if dtype is None else NotImplemented


def same(p, *_, **__):
    return p


def joined(op, extra):
    """cat and stack: dims count from the front of the parts."""
    def rule(tensors, dim=0):
        like = _parts_like(*tensors)
        tensors = [_as_pair(t, like) for t in tensors]
        return Pair(op([t.parts for t in tensors], dim % (tensors[0].rank + extra)))

    return rule


RULES = {
    aten.view_as_real.default: lambda p: p.parts,
    aten.view_as_complex.default: Pair,
    aten.polar.default: polar,
    aten.complex.default: Pair.of,
    aten._conj.default: conj, aten._conj_physical.default: conj, aten.conj_physical.default: conj,
    aten.resolve_conj.default: same, aten.resolve_neg.default: same, aten.alias.default: same, aten.detach.default: same,
    aten.lift_fresh_copy.default: lambda p: Pair(aten.clone.default(p.parts)),
    aten.clone.default: lambda p, memory_format=None: Pair(aten.clone.default(p.parts)),
    aten._to_copy.default: to_copy,
    aten.mul.Tensor: mul, aten.mul.Scalar: mul,
    aten.div.Tensor: div, aten.div.Scalar: div, aten.reciprocal.default: reciprocal,
    aten.add.Tensor: _sum_of(aten.add.Tensor), aten.add.Scalar: _sum_of(aten.add.Tensor),
    aten.sub.Tensor: _sum_of(aten.sub.Tensor), aten.sub.Scalar: _sum_of(aten.sub.Tensor),
    aten.neg.default: lambda p: Pair(aten.neg.default(p.parts)), aten._neg_view.default: lambda p: Pair(aten.neg.default(p.parts)),
    aten.abs.default: absolute,
    aten.angle.default: lambda p: aten.atan2.default(p.imaginary, p.real) if isinstance(p, Pair) else NotImplemented,
    aten.exp.default: exp, aten.log.default: log, aten.sgn.default: sgn, aten.pow.Tensor_Scalar: power,
    aten.eq.Tensor: equal, aten.eq.Scalar: equal,
    aten.ne.Tensor: lambda a, b: aten.logical_not.default(equal(a, b)),
    aten.ne.Scalar: lambda a, b: aten.logical_not.default(equal(a, b)),
    aten.where.self: where, aten.masked_fill.Scalar: masked_fill,
    aten.full.default: full, aten.full_like.default: full_like,
    aten.zeros_like.default: lambda x, **k: full_like(x, 0, k.get("dtype")),
    aten.ones_like.default: lambda x, **k: full_like(x, 1, k.get("dtype")),
    aten.zeros.default: lambda size, **k: full(size, 0, **k),
    aten.new_zeros.default: new_zeros,
    aten.scalar_tensor.default: lambda z, **k: full([], z, **k),
    aten.mm.default: matrix_product(aten.mm.default), aten.bmm.default: matrix_product(aten.bmm.default),
    aten.sum.default: total(aten.sum.dim_IntList), aten.sum.dim_IntList: total(aten.sum.dim_IntList),
    aten.mean.default: total(aten.mean.dim), aten.mean.dim: total(aten.mean.dim),
    aten.view.default: lambda p, size: Pair(aten.view.default(p.parts, [*size, 2])),
    aten.reshape.default: lambda p, size: Pair(aten.reshape.default(p.parts, [*size, 2])),
    aten._unsafe_view.default: lambda p, size: Pair(aten.view.default(p.parts, [*size, 2])),
    aten.expand.default: lambda p, size, **_: Pair(aten.expand.default(p.parts, [*size, 2])),
    aten.permute.default: lambda p, dims: Pair(aten.permute.default(p.parts, [*p.axes(dims), p.rank])),
    aten.transpose.int: lambda p, a, b: Pair(aten.transpose.int(p.parts, p.axis(a), p.axis(b))),
    aten.t.default: lambda p: Pair(aten.transpose.int(p.parts, 0, p.rank - 1)),
    aten.unsqueeze.default: lambda p, dim: Pair(aten.unsqueeze.default(p.parts, dim % (p.rank + 1))),
    aten.squeeze.default: squeeze, aten.squeeze.dim: squeeze, aten.squeeze.dims: squeeze,
    aten.select.int: lambda p, dim, index: Pair(aten.select.int(p.parts, p.axis(dim), index)),
    aten.slice.Tensor: lambda p, dim=0, *rest: Pair(aten.slice.Tensor(p.parts, p.axis(dim), *rest)),
    aten.slice_scatter.default: lambda p, src, dim=0, *rest: Pair(
        aten.slice_scatter.default(p.parts, _as_pair(src, p.parts).parts, p.axis(dim), *rest)),
    aten.select_scatter.default: lambda p, src, dim, index: Pair(
        aten.select_scatter.default(p.parts, _as_pair(src, p.parts).parts, p.axis(dim), index)),
    aten.copy.default: lambda p, src: Pair(
        aten.expand.default(_as_pair(src, p.parts).parts, list(p.parts.shape))) if isinstance(p, Pair) else NotImplemented,
    aten.index.Tensor: lambda p, indices: Pair(aten.index.Tensor(p.parts, indices)),
    aten.index_put.default: index_put,
    aten.index_select.default: lambda p, dim, index: Pair(aten.index_select.default(p.parts, p.axis(dim), index)),
    aten.flip.default: lambda p, dims: Pair(aten.flip.default(p.parts, p.axes(dims))),
    aten.constant_pad_nd.default: pad,
    aten.cat.default: joined(aten.cat.default, 0), aten.stack.default: joined(aten.stack.default, 1),
    aten._fft_c2c.default: lambda p, *rest: Pair(fft_c2c(p.parts, *rest)),
    aten._fft_r2c.default: lambda x, *rest: Pair(fft_r2c(x, *rest)),
    aten._fft_c2r.default: lambda p, *rest: fft_c2r(p.parts, *rest),
}

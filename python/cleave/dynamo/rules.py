"""What calls come to that cleave has no operator for and PyTorch no rule, as functions of ATen's operators.

A rule returns NotImplemented for arguments that it doesn't hold for, as PyTorch's do.
"""
import math

import torch

from cleave.dynamo.memory_rules import MEMORY_RULES, scattered
from cleave.fx.linalg import linalg_lu


def as_strided_scatter(self, src, size, stride, storage_offset=None):
    """Often src is in the place of all elements: what the gradient of a pool over channels-last images writes."""
    if storage_offset not in (None, 0) or src.numel() != self.numel() or not self.is_contiguous():
        return scattered(self, src, size, stride, storage_offset)
    expected = 1
    for d, s in zip(reversed(size), reversed(stride)):
        if d != 1 and s != expected:
            return scattered(self, src, size, stride, storage_offset)
        expected *= d
    return torch.ops.aten.reshape.default(src, self.shape)


def new_empty_strided(self, size, stride, dtype=None, layout=None, device=None, pin_memory=None):
    return torch.ops.aten.empty_strided.default(size, stride, dtype=dtype or self.dtype, device=self.device)


def convert_element_type(a, dtype):
    return aten._to_copy.default(a, dtype=dtype)


def var_mean(self, dim=None, *, correction=None, keepdim=False):
    correction = 1 if correction is None else correction
    return aten.var.correction(self, dim, correction=correction, keepdim=keepdim), aten.mean.dim(self, dim, keepdim)


def neg_view(self):
    return aten.neg.default(self)


def signbit(self):
    """Of a zero by its reciprocal; of NaN False."""
    if not self.dtype.is_floating_point:
        return aten.lt.Scalar(self, 0)
    below_zero = aten.lt.Scalar(aten.reciprocal.default(self), 0)
    return aten.where.self(aten.eq.Scalar(self, 0), below_zero, aten.lt.Scalar(self, 0))


def copysign(self, other):
    if not self.dtype.is_floating_point:
        return NotImplemented
    size = aten.abs.default(self)
    return aten.where.self(signbit(other), aten.neg.default(size), size)


def fmax(self, other):
    return _number_of(aten.maximum.default, self, other)


def fmin(self, other):
    return _number_of(aten.minimum.default, self, other)


def _number_of(extreme, a, b):
    return aten.where.self(aten.ne.Tensor(a, a), b, aten.where.self(aten.ne.Tensor(b, b), a, extreme(a, b)))


def hypot(self, other):
    """By the larger of both, so that no square overflows."""
    a, b = aten.abs.default(self), aten.abs.default(other)
    most = aten.maximum.default(a, b)
    usable = aten.logical_and.default(aten.gt.Scalar(most, 0), aten.lt.Scalar(most, math.inf))
    scale = aten.where.self(usable, most, torch.ones_like(most))
    square = lambda x: aten.pow.Tensor_Scalar(aten.div.Tensor(x, scale), 2)
    y = aten.mul.Tensor(aten.sqrt.default(aten.add.Tensor(square(a), square(b))), scale)
    infinite = aten.logical_or.default(aten.eq.Scalar(a, math.inf), aten.eq.Scalar(b, math.inf))
    return aten.where.self(infinite, torch.full_like(y, math.inf), y)


def bitwise_right_shift(self, other):
    return aten.__rshift__.Tensor(self, other)


def _places(bounds, x, right):
    """How many of the last dim of `bounds` lie before each x."""
    after = aten.gt.Tensor(bounds, x) if right else aten.ge.Tensor(bounds, x)
    return aten.sum.dim_IntList(aten.logical_not.default(after), [-1])


def bucketize(self, boundaries, *, out_int32=False, right=False):
    y = _places(boundaries, aten.unsqueeze.default(self, -1), right)
    return aten._to_copy.default(y, dtype=torch.int32) if out_int32 else y


def searchsorted(sorted_sequence, self, *, out_int32=False, right=False, side=None, sorter=None):
    bounds = sorted_sequence if sorter is None else aten.gather.default(sorted_sequence, -1, sorter)
    if bounds.dim() > 1:
        bounds = aten.unsqueeze.default(bounds, -2)
    return bucketize(self, bounds, out_int32=out_int32, right=right or side == "right")


def index_reduce(self, dim, index, source, reduce, *, include_self=True):
    if self.dim() != source.dim() or self.dim() == 0:
        return NotImplemented
    alone = [1] * self.dim()
    alone[dim] = index.numel()
    places = aten.expand.default(aten.view.default(aten._to_copy.default(index, dtype=torch.int64), alone), source.shape)
    return aten.scatter_reduce.two(self, dim, places, source, reduce, include_self=include_self)


def kthvalue(self, k, dim=-1, keepdim=False):
    if self.dim() == 0 or not self.is_contiguous():
        return NotImplemented
    values, indices = aten.sort.stable(self, stable=True, dim=dim)
    return tuple(aten.slice.Tensor(t, dim, k - 1, k) if keepdim else aten.select.int(t, dim, k - 1) for t in (values, indices))


def _apart(x1, x2):
    return aten.sub.Tensor(aten.unsqueeze.default(x1, -2), aten.unsqueeze.default(x2, -3))


def _slope_of_norm(x, p, norm):
    """Of the norm over the last dim by each element; 0 where it is 0."""
    norm, size = aten.unsqueeze.default(norm, -1), aten.abs.default(x)
    sign, zero = aten.sign.default(x), torch.zeros_like(x)
    if p == 0:
        return zero
    if p == 1:
        return sign
    if p == math.inf:
        return aten.where.self(aten.eq.Tensor(size, norm), sign, zero)
    usable = aten.ne.Scalar(norm, 0)
    safe = aten.where.self(usable, norm, torch.ones_like(norm))
    ratio = aten.div.Tensor(size, safe)
    power = ratio if p == 2 else aten.where.self(aten.eq.Scalar(ratio, 0), zero, aten.pow.Tensor_Scalar(ratio, p - 1))
    return aten.where.self(usable, aten.mul.Tensor(sign, power), zero)


def cdist_backward(grad, x1, x2, p, cdist):
    """The gradient of x1."""
    slope = _slope_of_norm(_apart(x1, x2), p, cdist)
    y = aten.sum.dim_IntList(aten.mul.Tensor(aten.unsqueeze.default(grad, -1), slope), [-2])
    extra = y.dim() - x1.dim()
    return y if extra == 0 and y.shape == x1.shape else NotImplemented


def triangular_solve(self, A, upper=True, transpose=False, unitriangular=False):
    a = aten.transpose.int(A, -2, -1) if transpose else A
    return aten.linalg_solve_triangular.default(a, self, upper=upper != transpose, unitriangular=unitriangular), aten.clone.default(A)


def cholesky_solve(self, A, upper=False):
    turned = aten.transpose.int(A, -2, -1)
    first, last = (turned, A) if upper else (A, turned)
    x = aten.linalg_solve_triangular.default(first, self, upper=False)
    return aten.linalg_solve_triangular.default(last, x, upper=True)


def cholesky_inverse(self, upper=False):
    eye = torch.eye(self.shape[-1], dtype=self.dtype, device=self.device)
    return cholesky_solve(eye.expand(self.shape), self, upper)


def _factored(A):
    """As ATen has it: of the transpose where A is row-major. The diagonal has the signs of the swaps."""
    lu, pivots, _ = aten.linalg_lu_factor_ex.default(aten.transpose.int(A, -2, -1) if A.is_contiguous() else A)
    diagonal = aten.diagonal.default(lu, 0, -2, -1)
    places = torch.arange(1, A.shape[-1] + 1, dtype=torch.int32, device=A.device)
    return lu, pivots, aten.where.self(aten.ne.Tensor(pivots, places), aten.neg.default(diagonal), diagonal)


def linalg_det(A):
    lu, pivots, diagonal = _factored(A)
    return aten.prod.dim_int(diagonal, -1), lu, pivots


def linalg_slogdet(A):
    lu, pivots, diagonal = _factored(A)
    logs = aten.sum.dim_IntList(aten.log.default(aten.abs.default(diagonal)), [-1])
    return aten.prod.dim_int(aten.sign.default(diagonal), -1), logs, lu, pivots


aten = torch.ops.aten
RULES = {aten._neg_view.default: neg_view,
         aten.as_strided_scatter.default: as_strided_scatter,
         aten.new_empty_strided.default: new_empty_strided,
         torch.ops.prims.convert_element_type.default: convert_element_type,
         aten.var_mean.correction: var_mean,
         aten.signbit.default: signbit, aten.copysign.Tensor: copysign,
         aten.fmax.default: fmax, aten.fmin.default: fmin, aten.hypot.default: hypot,
         aten.bitwise_right_shift.Tensor: bitwise_right_shift,
         aten.bucketize.Tensor: bucketize, aten.searchsorted.Tensor: searchsorted,
         aten.index_reduce.default: index_reduce, aten.kthvalue.default: kthvalue,
         aten._cdist_backward.default: cdist_backward,
         aten.triangular_solve.default: triangular_solve,
         aten.cholesky_solve.default: cholesky_solve, aten._cholesky_solve_helper.default: cholesky_solve,
         aten.cholesky_inverse.default: cholesky_inverse,
         aten._linalg_det.default: linalg_det, aten._linalg_slogdet.default: linalg_slogdet,
         aten.linalg_lu.default: linalg_lu}


def rule_of(op):
    """A function that takes the operator apart, or None. Those of torch._refs end in primitives, and aren't taken."""
    rule = RULES.get(op) or MEMORY_RULES.get(op) or torch._decomp.decomposition_table.get(op)
    if rule is None:  # another name, or what PyTorch itself composes: true_divide
        return op.decompose if isinstance(op, torch._ops.OpOverload) and op._can_decompose() else None
    return None if rule.__module__.startswith("torch._refs") else rule

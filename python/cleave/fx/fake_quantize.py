"""Numbers as they are when they were quantized, whose gradient goes straight through.

    q = round(x / scale) + zero_point     y = (clamp(q, quant_min, quant_max) - zero_point) * scale
    mask = quant_min <= q <= quant_max    dx = dy where mask, else 0

As in ATen's kernels 1 / scale is rounded to f32, and so is y where one scale is for all. A fractional zero_point is added
before q is rounded.
"""
import torch

aten = torch.ops.aten


def _on_grid(x, scale, zero_point, quant_min, quant_max, product=None):
    """scale, zero_point: tensors that broadcast with x. product: the dtype that y is computed in, where it isn't that of q."""
    made_in = torch.float64 if x.dtype is torch.float64 else torch.float32
    wide = x.to(made_in)
    steps = wide * scale.to(torch.float32).reciprocal().to(made_in)
    zero = zero_point.to(made_in)
    q = torch.round(steps + zero) if zero_point.dtype.is_floating_point else torch.round(steps) + zero
    mask = (q >= quant_min) & (q <= quant_max)
    above = (q.clamp(quant_min, quant_max) - zero).to(product or made_in)
    y = (above * scale.to(product or made_in)).to(x.dtype)
    straight = x - x.detach()  # 0, with the gradient of x
    return y.detach() + torch.where(mask, straight, torch.zeros_like(straight)), mask


def _number(v, like, dtype):
    return v.reshape(()) if isinstance(v, torch.Tensor) else torch.full((), v, dtype=dtype, device=like.device)


def per_tensor(self, scale, zero_point, quant_min, quant_max):
    return _on_grid(self, _number(scale, self, torch.float32), _number(zero_point, self, torch.int64), quant_min, quant_max,
                    torch.float32)


def per_tensor_of_tensors(self, scale, zero_point, fake_quant_enabled, quant_min, quant_max):
    y, mask = per_tensor(self, scale, zero_point, quant_min, quant_max)
    on = fake_quant_enabled.reshape(()) != 0
    return torch.where(on, y, self), mask | ~on


def per_channel(self, scale, zero_point, axis, quant_min, quant_max):
    shape = [1] * self.dim()
    shape[axis] = -1
    return _on_grid(self, scale.reshape(shape), zero_point.reshape(shape), quant_min, quant_max)


FAKE_QUANTIZE = {aten.fake_quantize_per_tensor_affine_cachemask.default: per_tensor,
                 aten._fake_quantize_per_tensor_affine_cachemask_tensor_qparams.default: per_tensor_of_tensors,
                 aten.fake_quantize_per_channel_affine_cachemask.default: per_channel}

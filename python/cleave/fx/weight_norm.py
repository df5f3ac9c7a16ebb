"""The backward of torch.nn.utils.weight_norm, for which PyTorch has no rule.

    w = v * g / |v|,  the norm over all dims but one
"""
import torch


def weight_norm_backward(grad_w, saved_v, saved_g, saved_norms, dim):
    """(the gradient of v, of g)"""
    others = [d for d in range(saved_v.dim()) if d != dim % saved_v.dim()]
    v, norms = saved_v.to(saved_norms.dtype), saved_norms
    along = (grad_w * v).sum(others, keepdim=True)
    grad_v = saved_g / norms * (grad_w - v * (along / (norms * norms)))
    return grad_v.to(saved_v.dtype), (along / norms).to(saved_g.dtype)


WEIGHT_NORM = {torch.ops.aten._weight_norm_interface_backward.default: weight_norm_backward}

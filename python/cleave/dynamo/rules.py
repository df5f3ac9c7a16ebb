"""What calls come to that cleave has no operator for and PyTorch no rule, as functions of ATen's operators.

A rule returns NotImplemented for arguments that it doesn't hold for, as PyTorch's do.
"""
import torch

from cleave.dynamo.memory_rules import MEMORY_RULES, scattered


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


RULES = {torch.ops.aten.as_strided_scatter.default: as_strided_scatter,
         torch.ops.aten.new_empty_strided.default: new_empty_strided}


def rule_of(op):
    """A function that takes the operator apart, or None. Those of torch._refs end in primitives, and aren't taken."""
    rule = RULES.get(op) or MEMORY_RULES.get(op) or torch._decomp.decomposition_table.get(op)
    return rule if rule is not None and not rule.__module__.startswith("torch._refs") else None

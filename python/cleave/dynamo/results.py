"""Memory for what a region gives: tensors of PyTorch with the sizes and strides that PyTorch expects."""
import torch

from cleave.fx.evaluate import fixed, is_fixed, size_function
from cleave.fx.types import is_row_major


def lies_over_itself(t):
    """Whether two elements may lie in one place, as where a dim was expanded: nothing can be written there."""
    return any(isinstance(s, int) and s == 0 and not (isinstance(d, int) and d == 1) for d, s in zip(t.shape, t.stride()))


def strides_of(t):
    """Those of a result like t; None: row-major."""
    return None if is_row_major(t) or lies_over_itself(t) else t.stride()


def allocator(t, symbols):
    """f(values of symbols): a new tensor like t."""
    strides, dtype = strides_of(t), t.dtype
    sizes = tuple(t.shape)
    if is_fixed(sizes) and (strides is None or is_fixed(strides)):
        sizes = fixed(sizes)
        if strides is None:
            return lambda _: torch.empty(sizes, dtype=dtype)
        strides = fixed(strides)
        return lambda _: torch.empty_strided(sizes, strides, dtype=dtype)
    sizes = size_function(sizes, symbols)
    if strides is None:
        return lambda values: torch.empty(sizes(*values), dtype=dtype)
    strides = size_function(strides, symbols)
    return lambda values: torch.empty_strided(sizes(*values), strides(*values), dtype=dtype)

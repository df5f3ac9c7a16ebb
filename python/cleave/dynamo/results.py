"""Memory for what a region gives: tensors of PyTorch with the sizes and strides that PyTorch expects."""
import torch

from cleave.fx.evaluate import fixed, is_fixed, size_function
from cleave.fx.types import is_row_major


def lies_over_itself(t):
    """Whether two elements may lie in one place, as where a dim was expanded or windows overlap: nothing can be written there.

    Sizes that vary are asked for those that the graph was traced with.
    """
    reach = 0  # of an element, from the first one
    for stride, size in sorted((_traced(s), _traced(d)) for d, s in zip(t.shape, t.stride())):
        if size > 1 and stride <= reach:
            return True
        reach += stride * max(size - 1, 0)
    return False


def _traced(size):
    """Of a size that depends on data 1: nothing is known of it."""
    if isinstance(size, int):
        return size
    return size.node.hint if size.node.has_hint() else 1


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

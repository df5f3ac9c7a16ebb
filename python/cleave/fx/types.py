"""Types of values: dtype, shape, and strides where they matter.

    torch.empty_strided((2, 3), (1, 2))  ►  "f32[2,3]{1,2}"
"""
import sympy
import torch
from torch.utils._sympy.functions import Max

from cleave.fx.dtypes import dtype_text
from cleave.fx.no_text import NoText
from cleave.fx.sizes import expression_of, size_text


def type_text(t):
    """Without strides: of a call's result."""
    if t is None:
        return "none"
    if isinstance(t, torch.SymFloat):
        return "f64[]"
    if not isinstance(t, torch.Tensor):
        raise NoText(f"a value of type {type(t).__name__}")
    if t.device.type != "cpu":
        raise NoText(f"the device {t.device}")
    if t.layout is not torch.strided:
        raise NoText(f"the layout {t.layout}")
    return f"{dtype_text(t.dtype)}[{','.join(size_text(d) for d in t.shape)}]"


def is_row_major(t):
    """Whether elements lie row by row without gaps, wherever the first one is."""
    expected = sympy.Integer(1)
    for size, stride in zip(reversed(t.shape), reversed(t.stride())):
        size, stride = expression_of(size), expression_of(stride)
        if size == 1:
            continue
        if stride != expected and sympy.expand(stride - expected) != 0:
            return False
        expected = expected * (size if size.is_positive else Max(1, size))  # PyTorch's, of a size that may be 0
    return True


def placed_type_text(t):
    """With strides where the tensor isn't row-major: of what enters or leaves a program."""
    text = type_text(t)
    return text if not isinstance(t, torch.Tensor) or is_row_major(t) else f"{text}{{{','.join(size_text(s) for s in t.stride())}}}"

"""Arguments of ATen's operators that are no tensors, as attributes."""
import math

import torch

from cleave.fx.dtypes import FORMATS, dtype_text
from cleave.fx.no_text import NoText
from cleave.fx.sizes import size_text


def attribute_text(v):
    if isinstance(v, torch.fx.Node):
        v = v.meta.get("val")
    if isinstance(v, torch.SymInt):
        return size_text(v)
    if v is None:
        return "none"
    if isinstance(v, bool):
        return "true" if v else "false"
    if isinstance(v, int):
        return str(v)
    if isinstance(v, float):
        return ("-inf" if v < 0 else "inf") if math.isinf(v) else "nan" if math.isnan(v) else repr(v)
    if isinstance(v, str):
        return '"' + v.replace("\\", "\\\\").replace('"', '\\"') + '"'
    if isinstance(v, torch.dtype):
        return dtype_text(v)
    if isinstance(v, torch.memory_format):
        return FORMATS[v]
    if isinstance(v, (list, tuple)):
        return "[" + ",".join(attribute_text(x) for x in v) + "]"
    raise NoText(f"an argument of type {type(v).__name__}")

"""Names of dtypes and memory formats."""
import torch

from cleave.fx.no_text import NoText

DTYPES = {torch.float64: "f64", torch.float32: "f32", torch.bfloat16: "bf16", torch.float16: "f16", torch.int64: "i64",
          torch.int32: "i32", torch.int16: "i16", torch.int8: "i8", torch.uint8: "u8", torch.bool: "bool",
          torch.complex64: "c64"}
FORMATS = {torch.contiguous_format: "contiguous", torch.channels_last: "channels_last",
           torch.channels_last_3d: "channels_last_3d", torch.preserve_format: "preserve"}


def dtype_text(dtype):
    if dtype not in DTYPES:
        raise NoText(f"the dtype {dtype}")
    return DTYPES[dtype]

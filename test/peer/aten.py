"""cleave's calls on PyTorch's operators, and the files that hold their arguments (test/sample/peer_file.h)."""
import json, math, sys, warnings
try:
    import torch
except ImportError:
    print("skipped: PyTorch is not installed")
    sys.exit(77)
if not torch.__version__.startswith("2.13."):
    print(f"skipped: PyTorch is {torch.__version__}, the operators are those of 2.13")
    sys.exit(77)
warnings.filterwarnings("ignore")
torch.set_num_threads(1)

DTYPES = {"f64": torch.float64, "f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16, "i64": torch.int64,
          "i32": torch.int32, "i16": torch.int16, "i8": torch.int8, "u8": torch.uint8, "bool": torch.bool}
FORMATS = {"contiguous": torch.contiguous_format, "channels_last": torch.channels_last,
           "channels_last_3d": torch.channels_last_3d, "preserve": torch.preserve_format}


def read_safetensors(path):
    with open(path, "rb") as f:
        size = int.from_bytes(f.read(8), "little")
        head = json.loads(f.read(size))
        data = bytearray(f.read())
    names = {"F64": "f64", "F32": "f32", "BF16": "bf16", "F16": "f16", "I64": "i64", "I32": "i32", "I16": "i16", "I8": "i8",
             "U8": "u8", "BOOL": "bool"}
    out = {}
    for name, e in head.items():
        if name == "__metadata__":
            continue
        a, b = e["data_offsets"]
        dtype = DTYPES[names[e["dtype"]]]
        out[name] = (torch.frombuffer(data[a:b], dtype=dtype).clone() if b > a else torch.empty(0, dtype=dtype)).reshape(e["shape"])
    return out


def value_of(v):
    if isinstance(v, dict):
        if "float" in v:
            return {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}[v["float"]]
        return DTYPES[v["dtype"]] if "dtype" in v else FORMATS[v["memory_format"]]
    return [value_of(x) for x in v] if isinstance(v, list) else v


def is_tensor_type(t):
    return "Tensor" in str(t)


def divides_in_cumprod(x, dim):
    """Why PyTorch's gradient of x.cumprod(dim) isn't that of the products without one element each; empty: it is. It
    divides the sums of (product * gradient) by x, and is 0 after a 0 whatever is before it."""
    if not x.isfinite().all():
        return "divides by the elements; the product of the others is a number, or none beside a zero"
    if x.numel() and ((x.cumprod(dim).abs() < torch.finfo(x.dtype).tiny) & (x == 0).cumsum(dim).eq(0)).any():
        return "divides products that underflow; the product of the others may not"
    return ""


class NoOverload(Exception):
    pass


def transform_of_pairs(name, self, dim, normalization=0, forward=True, onesided=True, last_dim_size=None):
    """cleave's fft_c2c, fft_r2c and fft_c2r by ATen's operators of complex tensors."""
    wide = self.float() if self.dtype in (torch.bfloat16, torch.float16) else self
    if name == "fft_r2c":
        y = torch.view_as_real(torch.ops.aten._fft_r2c(wide, dim, normalization, onesided))
    else:
        z = torch.view_as_complex(wide.contiguous())
        y = torch.view_as_real(torch.ops.aten._fft_c2c(z, dim, normalization, forward).resolve_conj()) if name == "fft_c2c" \
            else torch.ops.aten._fft_c2r(z, dim, normalization, last_dim_size)
    return y.to(self.dtype)


def call(name, args):
    """args: {name: ("tensor" | "tensors" | "value", content)}; the first overload that takes them."""
    if name in ("fft_c2c", "fft_r2c", "fft_c2r"):
        return transform_of_pairs(name, **{n: c for n, (_, c) in args.items()})
    packet = getattr(torch.ops.aten, name, None)
    if packet is None:
        raise NoOverload(f"aten::{name} is not there")
    if name == "arange":
        args = {"start": ("value", 0), **args}
    if name == "cumprod_backward":  # PyTorch's has what cumprod gave for a last operand
        args = {**args, "output": ("tensor", torch.cumprod(args["input"][1], args["dim"][1]))}
    errors = []
    for overload in packet.overloads():
        op = getattr(packet, overload)
        schema = {a.name: a for a in op._schema.arguments}
        if any(a.is_out for a in schema.values()) or any(n not in schema for n in args):
            continue
        if any(is_tensor_type(schema[n].type) != (kind != "value" or content is None) and content is not None for n, (kind, content) in args.items()):
            continue
        missing = [a for a in schema.values() if a.name not in args and not a.has_default_value()]
        if any(not isinstance(a.type, torch._C.OptionalType) for a in missing):
            continue
        kwargs = {n: c for n, (_, c) in args.items()}
        for n, c in kwargs.items():  # split_size=[2] of ours is both of PyTorch's split_size=2 and [2]
            if isinstance(c, list) and len(c) == 1 and str(schema[n].type) in ("int", "SymInt"):
                kwargs[n] = c[0]
            elif isinstance(c, list) and len(c) == 1 and schema[n].N and name not in ("im2col", "col2im"):  # int[2]: one for both
                kwargs[n] = c * schema[n].N
        kwargs.update({a.name: None for a in missing})
        if name.startswith("cudnn_"):  # of CUDA alone: what PyTorch decomposes it into
            op = torch._decomp.decomposition_table[op]
        try:
            return op(**kwargs)
        except (RuntimeError, TypeError, IndexError, NotImplementedError) as e:
            errors.append(f"{overload}: {str(e).splitlines()[0]}")
    if not errors and args and next(iter(args.values()))[0] == "value" and hasattr(torch, name):
        try:  # a number for self: only the functions above ATen's take it
            first, *rest = args.items()
            return getattr(torch, name)(first[1][1], **{n: c for n, (_, c) in rest})
        except (RuntimeError, TypeError) as e:
            errors.append(str(e).splitlines()[0])
    raise NoOverload(f"{name}: " + ("; ".join(errors) or f"no overload takes {', '.join(args)}"))

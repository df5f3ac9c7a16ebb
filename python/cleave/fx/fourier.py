"""Fourier transforms of pairs (complex_pairs.py): operators of cleave, which PyTorch can run too."""
import torch

aten = torch.ops.aten

_library = torch.library.Library("cleave", "FRAGMENT")
_library.define("fft_c2c(Tensor self, int[] dim, int normalization=0, bool forward=True) -> Tensor")
_library.define("fft_r2c(Tensor self, int[] dim, int normalization=0, bool onesided=True) -> Tensor")
_library.define("fft_c2r(Tensor self, int[] dim, int normalization, SymInt last_dim_size) -> Tensor")


def _whole(parts):
    return torch.view_as_complex(parts.contiguous())


def _parts(whole):
    return torch.view_as_real(whole).contiguous()


@torch.library.impl(_library, "fft_c2c", "CompositeExplicitAutograd")
def _c2c(parts, dim, normalization=0, forward=True):
    return _parts(aten._fft_c2c.default(_whole(parts), dim, normalization, forward))


@torch.library.impl(_library, "fft_r2c", "CompositeExplicitAutograd")
def _r2c(x, dim, normalization=0, onesided=True):
    return _parts(aten._fft_r2c.default(x, dim, normalization, onesided))


@torch.library.impl(_library, "fft_c2r", "CompositeExplicitAutograd")
def _c2r(parts, dim, normalization, last_dim_size):
    return aten._fft_c2r.default(_whole(parts), dim, normalization, last_dim_size).contiguous()


fft_c2c, fft_r2c, fft_c2r = torch.ops.cleave.fft_c2c.default, torch.ops.cleave.fft_r2c.default, torch.ops.cleave.fft_c2r.default

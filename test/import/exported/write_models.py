#!/usr/bin/env python3
"""test/import/exported/write_models.py [DIR]: the .pt2 files that are kept beside this script, and what PyTorch gives.

    NAME.pt2            torch.export.save of PyTorch 2.13
    NAME.safetensors    in.K: inputs; out.K: results of forward; update.NAME: buffers afterwards; grad.NAME: of the sum
                        of the results. Complex tensors are pairs (real part, imaginary part).

tiny.pt2 is stored by PyTorch's writer of archives; net.pt2 is deflated by Python's. Folders of this machine are left
out of the lines that they name, and the sample inputs. tiny26.pt2 and tiny28.pt2 are what this script wrote under
PyTorch 2.6 and 2.8.
"""
import os
import re
import sys
import warnings
import zipfile

import torch
import torch.nn as nn
import torch.nn.functional as F
from safetensors.torch import save_file

VERSION = tuple(map(int, torch.__version__.split(".")[:2]))
if VERSION >= (2, 9):
    from torch.export.pt2_archive._package import PT2ArchiveWriter

warnings.filterwarnings("ignore")


class Tiny(nn.Module):
    """A dict of inputs, a buffer that is written through a view, a tied weight, results with constants."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(3, 3), nn.Linear(3, 3)
        self.b.weight = self.a.weight
        self.register_buffer("seen", torch.zeros(2, 3))

    def forward(self, x, d):
        self.seen[1].add_(x.mean(0).detach())
        y = F.relu(self.b(self.a(x)) + d["shift"])
        return {"y": y, "rest": (y.sum(), 3, None)}


class Net(nn.Module):
    """Convolution, batch norm in training, a branch, a region without gradients, a dynamic batch."""

    def __init__(self):
        super().__init__()
        self.conv, self.norm, self.head = nn.Conv2d(2, 4, 3, padding=1), nn.BatchNorm2d(4), nn.Linear(4, 3)

    def forward(self, x):
        y = F.relu(self.norm(self.conv(x)), inplace=True).mean((2, 3))
        with torch.no_grad():
            scale = y.abs().amax() + 1
        y = torch.cond(y.sum() > 0, lambda y: (y.tanh(),), lambda y: (y * 2,), (y,))[0]
        return self.head(y / scale)


class Waves(nn.Module):
    """A complex weight in another order, a complex buffer that is written through its real part, a transform and back."""

    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.randn(3, 4, dtype=torch.cfloat).t())
        self.register_buffer("mean", torch.zeros(3, dtype=torch.cfloat))

    def forward(self, x, z):
        y = torch.fft.rfft(x) @ self.w * 1j + z.conj()
        self.mean.add_(y.detach().mean(0))
        self.mean.real.mul_(2)
        return torch.fft.irfft(y, n=5), y, y.abs() * self.mean.angle()


def real(t):
    return torch.view_as_real(t.resolve_conj()).contiguous() if t.is_complex() else t


def save(folder, name, model, inputs, dynamic=None, deflated=False):
    program = torch.export.export(model, inputs, dynamic_shapes=dynamic)
    path = os.path.join(folder, name + ".pt2")
    torch.export.save(program, path)
    with zipfile.ZipFile(path) as z:
        files = {i.filename: z.read(i) for i in z.infolist() if "sample_inputs" not in i.filename}
    for folders in (os.path.dirname(os.path.abspath(__file__)), os.path.dirname(os.path.dirname(torch.__file__))):
        files = {k: v.replace(folders.encode() + b"/", b"") if k.endswith(".json") else v for k, v in files.items()}
    if deflated:
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as z:
            for k, v in files.items():
                z.writestr(zipfile.ZipInfo(k), v, zipfile.ZIP_DEFLATED)
    else:  # what PyTorch adds itself is not written twice
        with PT2ArchiveWriter(path) as writer:
            for k, v in files.items():
                k = k.split("/", 1)[1]
                if not k.startswith((".data/", "byteorder", "archive_")):
                    writer.write_bytes(k, v)
    leaves = torch.utils._pytree.tree_leaves
    tensors = {f"in.{k}": real(t).clone() for k, t in enumerate(leaves(inputs))}
    before = {k: v.clone() for k, v in model.named_buffers()}
    results = [r for r in leaves(model(*inputs)) if isinstance(r, torch.Tensor)]
    sum(real(r).sum() for r in results).backward()
    tensors |= {f"out.{k}": real(r).detach().clone() for k, r in enumerate(results)}
    tensors |= {f"update.{k}": real(v).clone() for k, v in model.named_buffers() if not torch.equal(v, before[k])}
    tensors |= {f"grad.{k}": real(p.grad).clone() for k, p in model.named_parameters(remove_duplicate=False)}
    save_file(tensors, os.path.join(folder, name + ".safetensors"))
    print(f"{path}: {os.path.getsize(path)} B")


def save_old(folder, name, model, inputs):
    """What this older version of PyTorch writes, without folders of this machine and sample inputs."""
    path = os.path.join(folder, f"{name}{''.join(map(str, VERSION))}.pt2")
    torch.export.save(torch.export.export(model, inputs), path)
    here = os.path.dirname(os.path.abspath(__file__)).encode() + b"/"
    packages = os.path.dirname(os.path.dirname(torch.__file__)).encode() + b"/"
    with zipfile.ZipFile(path) as z:
        left_out = re.compile("(sample|example)_inputs|/version|byteorder|[.]data")
        files = {i.filename: z.read(i) for i in z.infolist() if not left_out.search(i.filename)}
    with zipfile.ZipFile(path, "w") as z:
        for k, v in files.items():
            z.writestr(zipfile.ZipInfo(k), v.replace(here, b"").replace(packages, b"") if k.endswith(".json") else v)


def main(folder):
    torch.manual_seed(1)
    tiny = Tiny(), (torch.randn(2, 3), {"shift": torch.randn(3)})
    if VERSION < (2, 9):
        return save_old(folder, "tiny", *tiny)
    save(folder, "tiny", *tiny)
    torch.manual_seed(2)
    batch = torch.export.Dim("batch", min=2, max=64)
    save(folder, "net", Net(), (torch.randn(3, 2, 5, 5),), ({0: batch},), deflated=True)
    torch.manual_seed(3)
    save(folder, "waves", Waves(), (torch.randn(2, 6), torch.randn(2, 3, dtype=torch.cfloat)), deflated=True)
    return None


main(sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.abspath(__file__)))

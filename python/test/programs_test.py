"""Programs whose operators are rare elsewhere, in float64: losses and gradients of torch.compile and of .pt2 files beside eager
mode's."""
import pytest
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils import parametrizations

import cleave


class DLRM(nn.Module):
    def __init__(self):
        super().__init__()
        self.bottom = nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 4), nn.ReLU())
        self.tables = nn.ModuleList(nn.EmbeddingBag(n, 4, mode="sum") for n in (7, 11, 5))
        self.top = nn.Sequential(nn.Linear(4 + 6, 8), nn.ReLU(), nn.Linear(8, 1))
        i, j = torch.tril_indices(4, 4, -1)
        self.register_buffer("i", i)
        self.register_buffer("j", j)

    def forward(self, dense, indices, offsets, y):
        x = self.bottom(dense)
        rows = [x] + [t(indices[k] % t.num_embeddings, offsets[k]) for k, t in enumerate(self.tables)]
        all = torch.stack(rows, 1)
        pairs = torch.bmm(all, all.transpose(1, 2))[:, self.i, self.j]
        return F.binary_cross_entropy_with_logits(self.top(torch.cat([x, pairs], 1)).squeeze(1), y)

    @staticmethod
    def inputs():
        offsets = torch.tensor([[0, 3, 5], [0, 0, 9], [0, 1, 2]])
        return torch.randn(3, 5), torch.randint(0, 60, (3, 9)), offsets, torch.tensor([0., 1., 1.])


class WaveNet(nn.Module):
    def __init__(self):
        super().__init__()
        wn = parametrizations.weight_norm
        self.first = wn(nn.Conv1d(1, 6, 1))
        self.gates = nn.ModuleList(wn(nn.Conv1d(6, 12, 2, dilation=d)) for d in (1, 2, 4))
        self.skips = nn.ModuleList(wn(nn.Conv1d(6, 12, 1)) for _ in range(3))
        self.last = wn(nn.Linear(6, 8), dim=None)

    def forward(self, x, y):
        h, total = self.first(x), 0
        for gate, skip, d in zip(self.gates, self.skips, (1, 2, 4)):
            a, b = gate(F.pad(h, (d, 0))).chunk(2, 1)
            r, s = skip(torch.tanh(a) * torch.sigmoid(b)).chunk(2, 1)
            h, total = h + r, total + s
        return F.cross_entropy(self.last(F.relu(total).transpose(1, 2)).flatten(0, 1), y.flatten())

    @staticmethod
    def inputs():
        return torch.randn(2, 1, 12), torch.randint(0, 8, (2, 12))


class SegNet(nn.Module):
    def __init__(self):
        super().__init__()
        block = lambda a, b: nn.Sequential(nn.Conv2d(a, b, 3, padding=1), nn.BatchNorm2d(b), nn.ReLU())
        self.down1, self.down2, self.up2, self.up1 = block(3, 4), block(4, 6), block(6, 4), nn.Conv2d(4, 3, 3, padding=1)

    def forward(self, x, y):
        a = self.down1(x)
        p, i = F.max_pool2d(a, 2, return_indices=True)
        q, j = F.max_pool2d(self.down2(p), 2, return_indices=True)
        u = self.up2(F.max_unpool2d(q, j, 2, output_size=p.shape[2:]))
        return F.cross_entropy(self.up1(F.max_unpool2d(u, i, 2, output_size=x.shape[2:])), y)

    @staticmethod
    def inputs():
        return torch.randn(2, 3, 9, 8), torch.randint(0, 3, (2, 9, 8))


class QuantizationAware(nn.Module):
    """With fixed scales."""
    def __init__(self):
        super().__init__()
        self.l1, self.l2 = nn.Linear(6, 8), nn.Linear(8, 2)
        self.register_buffer("scale", torch.linspace(0.01, 0.03, 8))
        self.register_buffer("zero", torch.zeros(8, dtype=torch.int32))

    def forward(self, x, y):
        w = torch.fake_quantize_per_channel_affine(self.l1.weight, self.scale, self.zero, 0, -8, 7)
        h = torch.fake_quantize_per_tensor_affine(F.relu(F.linear(x, w, self.l1.bias)), 0.05, 0, 0, 15)
        return F.mse_loss(self.l2(h), y)

    @staticmethod
    def inputs():
        return torch.randn(5, 6), torch.randn(5, 2)


class SpatialTransformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.where = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(4 * 36, 6))
        self.what = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(16, 3))
        self.register_buffer("one", torch.tensor([[1., 0, 0], [0, 1, 0]]))

    def forward(self, x, y):
        theta = self.where(x).view(-1, 2, 3) * 0.3 + self.one
        grid = F.affine_grid(theta, x.shape, align_corners=False)
        moved = F.grid_sample(x, grid, mode="bicubic", padding_mode="reflection", align_corners=False)
        return F.cross_entropy(self.what(moved), y)

    @staticmethod
    def inputs():
        return torch.randn(2, 1, 8, 8), torch.randint(0, 3, (2,))


class Aliases(nn.Module):
    """Slices of everything, as logits_to_keep of transformers' models, which carry gradients, beside a detached target."""
    def __init__(self):
        super().__init__()
        self.body, self.head = nn.Linear(4, 6), nn.Linear(6, 4)

    def forward(self, x):
        h = torch.tanh(self.body(x))[:, slice(0, None), :]
        y = self.head(h)[...]
        return F.mse_loss(y, (x + 2 * h.mean()).detach()) + (y.detach() * torch.ops.aten.alias(y)).sum()

    @staticmethod
    def inputs():
        return torch.randn(3, 5, 4),


class LUFlow(nn.Module):
    """A normalizing flow: 1x1 convolutions as L U, inverted by triangular systems; affine couplings."""
    def __init__(self):
        super().__init__()
        self.low, self.up = nn.Parameter(0.1 * torch.randn(2, 4, 4)), nn.Parameter(0.1 * torch.randn(2, 4, 4))
        self.log_s = nn.Parameter(0.1 * torch.randn(2, 4))
        self.nets = nn.ModuleList(nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 4)) for _ in range(2))

    def forward(self, x):
        log_det = 0
        for k, net in enumerate(self.nets):
            u = self.up[k].triu(1) + torch.diag(self.log_s[k].exp())
            x = torch.linalg.solve_triangular(self.low[k], x.T, upper=False, unitriangular=True)
            x = torch.linalg.solve_triangular(u, x, upper=True).T
            log_det = log_det - self.log_s[k].sum()
            a, b = x.chunk(2, 1)
            s, t = net(a).chunk(2, 1)
            x, log_det = torch.cat([b * torch.tanh(s).exp() + t, a], 1), log_det + torch.tanh(s).sum(1)
        return (0.5 * x.square().sum(1) - log_det).mean()

    @staticmethod
    def inputs():
        return (torch.randn(6, 4),)


PROGRAMS = [Aliases, DLRM, WaveNet, SegNet, QuantizationAware, SpatialTransformer, LUFlow]


def made(program):
    torch.manual_seed(1)
    model = program().double()
    if hasattr(model, "scale"):
        model.scale = model.scale.float()  # as PyTorch's kernel has it
    return model, [x.double() if x.is_floating_point() else x for x in program.inputs()]


def eager(program):
    model, inputs = made(program)
    loss = model(*inputs)
    loss.backward()
    return [loss.detach(), *(p.grad for p in model.parameters())]


def assert_close(got, want):
    torch.testing.assert_close(list(got), want, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.usefixtures("no_outside")
def test_compiled(program):
    model, inputs = made(program)
    loss = torch.compile(model, backend="cleave")(*inputs)
    loss.backward()
    assert_close([loss.detach(), *(p.grad for p in model.parameters())], eager(program))


@pytest.mark.parametrize("decomposed", [False, True], ids=["as_exported", "decomposed"])
@pytest.mark.parametrize("program", PROGRAMS)
def test_files(program, decomposed, tmp_path):
    model, inputs = made(program)
    exported = torch.export.export(model, tuple(inputs), strict=False)
    torch.export.save(exported.run_decompositions() if decomposed else exported, tmp_path / "m.pt2")
    loss, *rest = cleave.load(str(tmp_path / "m.pt2")).grad()(*inputs)
    want = eager(program)
    assert_close([loss, *rest[len(rest) + 1 - len(want):]], want)

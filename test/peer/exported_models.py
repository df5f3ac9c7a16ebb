"""The models of exported.py, and what each is run with: CASES by name."""
import torch
import torch.nn as nn
import torch.nn.functional as F

import complex_models as complexes

Dim = torch.export.Dim
CASES = {}
JOINT = ("regression",)
OLD = ("convnet", "gpt_tied", "gpt_dynamic_batch", "mutated_buffers", "branch")


def case(inputs, dynamic=None, tolerance=1e-5, train=True, grad=True, stops=False, run=None, whole=False):
    """inputs: tensors by a function; dynamic: as torch.export's dynamic_shapes; stops: by detach() or no_grad();
    run: the inputs that it is run with; whole: it isn't run taken apart."""
    def add(f):
        CASES[f.__name__] = (f, inputs, dynamic, tolerance, train, grad, stops, run or inputs, whole)
        return f
    return add


def module(f, **state):
    """A function of (self, *args) as a module."""
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            for k, v in state.items():
                setattr(self, k, v()) if isinstance(v(), (nn.Module, nn.Parameter)) else self.register_buffer(k, v())

        def forward(self, x, *more):
            return f(self, x, *more)
    return M()


@case(lambda: [torch.randn(5, 12)])
def mlp():
    return nn.Sequential(nn.Linear(12, 7), nn.ReLU(), nn.Linear(7, 3))


@case(lambda: [torch.randn(4, 3, 16, 16)], tolerance=1e-4)
def convnet():
    return nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), nn.BatchNorm2d(8), nn.ReLU(inplace=True), nn.MaxPool2d(2),
                         nn.Conv2d(8, 8, 3, padding="same", groups=4), nn.SiLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
                         nn.Linear(8, 5))


@case(lambda: [torch.randn(4, 3, 16, 16)], train=False, tolerance=1e-4)
def convnet_evaluated():
    return nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU6(), nn.Dropout(0.5), nn.AvgPool2d(2),
                         nn.ConvTranspose2d(8, 4, 3, 2, 1, output_padding=1), nn.GroupNorm(2, 4), nn.Hardswish())


@case(lambda: [torch.randn(3, 5, 4)], tolerance=1e-4)
def lstm():
    return module(lambda s, x: s.net(x)[0], net=lambda: nn.LSTM(4, 6, 2, batch_first=True, bidirectional=True))


@case(lambda: [torch.randn(3, 5, 4)], tolerance=1e-4)
def lstm_with_projection():
    return module(lambda s, x: s.net(x), net=lambda: nn.LSTM(4, 6, 2, proj_size=3, bidirectional=True))


@case(lambda: [torch.randn(5, 3, 4), torch.randn(1, 3, 6)], tolerance=1e-4)
def gru():
    return module(lambda s, x, h: s.net(x, h), net=lambda: nn.GRU(4, 6))


@case(lambda: [torch.randn(2, 6, 16)], tolerance=1e-4)
def transformer():
    return nn.TransformerEncoderLayer(16, 4, 32, dropout=0.0, batch_first=True)


@case(lambda: [torch.randn(2, 6, 16)], tolerance=1e-4, train=False, grad=False)
def transformer_evaluated():
    return nn.TransformerEncoder(nn.TransformerEncoderLayer(16, 4, 32, batch_first=True), 2, enable_nested_tensor=False)


@case(lambda: [torch.randn(4, 3), torch.randn(4, 2)])
def regression():
    return module(lambda s, x, t: F.mse_loss(s.net(x).relu(), t), net=lambda: nn.Linear(3, 2))


class Gpt(nn.Module):
    def __init__(s, V=29, D=16, H=4, T=8):
        super().__init__()
        s.H, s.wte, s.wpe, s.norm = H, nn.Embedding(V, D), nn.Embedding(T, D), nn.LayerNorm(D)
        s.qkv, s.o, s.head = nn.Linear(D, 3 * D), nn.Linear(D, D), nn.Linear(D, V, bias=False)
        s.head.weight = s.wte.weight

    def forward(s, i, t):
        B, T = i.shape
        x = s.wte(i) + s.wpe(torch.arange(T))
        q, k, v = (z.view(B, T, s.H, -1).transpose(1, 2) for z in s.qkv(s.norm(x)).chunk(3, -1))
        x = x + s.o(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(B, T, -1))
        return F.cross_entropy(s.head(x).flatten(0, 1), t.flatten(), label_smoothing=0.1)


@case(lambda: [torch.randint(0, 29, (2, 8)), torch.randint(0, 29, (2, 8))], tolerance=1e-4)
def gpt_tied():
    return Gpt()


@case(lambda: [torch.randint(0, 29, (3, 8)), torch.randint(0, 29, (3, 8))], dynamic=({0: Dim("B", min=2, max=64)},) * 2,
      tolerance=1e-4)
def gpt_dynamic_batch():
    return Gpt()


class Sizes(nn.Module):
    def forward(s, x):
        n = x.shape[0]
        return x.view(n * 2, -1) * n + torch.arange(n * 2)[:, None], x[1:n // 2 + 1].sum(0), x.new_zeros(n).cumsum(0)


@case(lambda: [torch.randn(6, 4)], dynamic=({0: Dim.AUTO},))
def dynamic_sizes():
    return Sizes()


@case(lambda: [torch.randn(3, 4)])
def mutated_buffers():
    def f(s, x):
        s.count.add_(1)
        s.mean.mul_(0.9).add_(x.mean(0).detach(), alpha=0.1)
        s.table[1] = x[0].detach()
        s.table[:, 2:].mul_(2)
        return x * s.count + s.mean + s.table[1]
    return module(f, count=lambda: torch.zeros((), dtype=torch.int64), mean=lambda: torch.randn(4),
                  table=lambda: torch.randn(3, 4))


@case(lambda: [torch.randn(3, 4)], grad=False)
def mutated_input():
    def f(s, x):
        y = x.view(-1)
        x[0].add_(1)
        return y * 2
    return module(f)


@case(lambda: [torch.randn(3, 4), torch.randn(4)], grad=False)
def names_shared():
    """An input has the name of a parameter, another that of a buffer."""
    def f(s, x, y):
        s.y.add_(1)
        y.mul_(2)
        return x * s.x + s.y + y
    return module(f, x=lambda: nn.Parameter(torch.randn(4)), y=lambda: torch.zeros(4))


@case(lambda: [torch.randn(4, 5)])
def views_written():
    def f(s, x):
        y = x * 1
        r = y[1:3].t()
        y[2].zero_()
        r.add_(s.w)
        y.view(-1)[::3].mul_(0.5)
        z = y.unsqueeze(0).expand(2, 4, 5)
        y.diagonal().fill_(7)
        y[2:].sub_(y[:2])
        return r, y, z.sum(0), torch.diagonal(y)
    return module(f, w=lambda: nn.Parameter(torch.randn(5, 2)))


@case(lambda: [torch.randn(3, 4), torch.randn(4, 4)])
def branch():
    def f(s, x, w):
        return torch.cond(x.sum() > 0, lambda x, w: (torch.tanh(x @ w),), lambda x, w: (torch.relu(x @ w) * 2,), (x, w))
    return module(f)


@case(lambda: [torch.tensor(0), torch.randn(3, 3)], grad=False)
def loop():
    def f(s, i, x):
        return torch._higher_order_ops.while_loop(lambda i, x: i < 5, lambda i, x: (i + 1, torch.tanh(x @ x) + 0.5 * x),
                                                  (i, x))
    return module(f)


@case(lambda: [torch.randn(5, 3).requires_grad_(), torch.randn(3)])
def scanned():
    from torch._higher_order_ops.map import map as map_rows
    from torch._higher_order_ops.scan import scan

    def f(s, x, h):
        last, all = scan(lambda c, row: (torch.tanh(c * s.w + row), c * row), h, x, dim=0, reverse=True)
        return last, all, map_rows(lambda row, w: torch.outer(row, w).sum(1) * row, x, s.w)
    return module(f, w=lambda: nn.Parameter(torch.randn(3)))


@case(lambda: [torch.randn(9, 4), torch.tensor([3, 0, 3, 8]), torch.tensor([[0, 1], [2, 3]])])
def indices():
    def f(s, x, i, j):
        y = x * s.w
        y = y.index_put((i,), y[:4], accumulate=True)
        z = y[i][:, j].sum(-1) + y[2:6, -1:]
        m = torch.where(y > 0, y, -0.5 * y).masked_fill(y.abs() < 0.1, 3.0)
        return (z, m.gather(0, i[:, None].expand(4, 4)), y.index_select(0, i), F.one_hot(i, 9), torch.take_along_dim(y, i[:, None], 0),
                torch.roll(y, (1, -2), (0, 1)), y.scatter_add(0, i[:, None].expand(4, 4), y[:4]), y.index_fill(0, i, 2.0),
                torch.diff(y, dim=0, prepend=y[:1]), torch.diff(i == 3))
    return module(f, w=lambda: nn.Parameter(torch.randn(4)))


@case(lambda: [torch.randn(3, 4, 6), torch.randn(3, 6, 5), torch.randn(6)])
def products():
    def f(s, a, b, v):
        return (a @ b, a @ v, v @ b, torch.einsum("bij,bjk->bik", a, b), torch.einsum("bij,j->i", a, v),
                torch.outer(v, v), v.dot(v), torch.einsum("bij,bjk,bik->b", a, b, a @ b), F.bilinear(a[:, :, :2], a[:, :, 2:5], s.w),
                torch.baddbmm(a @ b, a, b, alpha=0.5), a[None, :, None] @ b)
    return module(f, w=lambda: nn.Parameter(torch.randn(2, 2, 3)))


@case(lambda: [torch.randn(4, 5), torch.rand(4, 5), torch.randint(0, 5, (4,))], stops=True)
def losses():
    def f(s, x, p, t):
        x = x * s.w
        return (F.cross_entropy(x, t), F.cross_entropy(x, p.softmax(1), label_smoothing=0.2), F.nll_loss(x.log_softmax(1), t, reduction="sum"),
                F.mse_loss(x, p), F.l1_loss(x, p, reduction="none"), F.smooth_l1_loss(x, p, beta=0.5), F.huber_loss(x, p, delta=0.7),
                F.binary_cross_entropy(p, x.sigmoid().detach()), F.binary_cross_entropy_with_logits(x, p, pos_weight=p[0] + 1),
                F.kl_div(x.log_softmax(1), p.softmax(1), reduction="batchmean"),
                F.cross_entropy(x[:, :, None].expand(4, 5, 3), t[:, None].expand(4, 3), weight=s.c, ignore_index=2, label_smoothing=0.1))
    return module(f, w=lambda: nn.Parameter(torch.randn(5)), c=lambda: torch.rand(5))


@case(lambda: [torch.randn(4, 6)])
def activations():
    def f(s, x):
        x = x * s.w
        return tuple(g(x) for g in (F.gelu, F.silu, F.mish, F.elu, F.selu, F.celu, F.softplus, F.logsigmoid, F.glu, F.hardswish,
                                    F.hardsigmoid, F.softsign, F.tanhshrink, F.hardshrink, F.softshrink, F.relu6, F.leaky_relu,
                                    lambda x: F.prelu(x, s.a), lambda x: F.threshold(x, 0.1, 20), lambda x: F.softmax(x, -1),
                                    lambda x: F.log_softmax(x, 0), lambda x: F.gelu(x, approximate="tanh")))
    return module(f, w=lambda: nn.Parameter(torch.randn(6)), a=lambda: nn.Parameter(torch.full((1,), 0.3)))


@case(lambda: [torch.randn(3, 8, 6)], tolerance=1e-4)
def reductions():
    def f(s, x):
        x = x * s.w
        return (x.std(), x.var(1), torch.var_mean(x, 2, correction=0)[1], x.norm(), x.norm(dim=1), x.max(1)[0], x.min(), x.amax((0, 2)),
                x.logsumexp(1), x.argmax(-1), x.sort(1)[0], x.topk(3)[0], x.cumsum(1), x.prod(2), x.mean((0, 1), keepdim=True),
                x.argsort(-1), torch.aminmax(x, dim=1)[1], (x > 0).any(1), (x > 0).sum(), torch.linalg.vector_norm(x, 3.0, 1))
    return module(f, w=lambda: nn.Parameter(torch.randn(6)))


@case(lambda: [torch.randn(2, 8, 6, 6)])
def shapes():
    def f(s, x):
        x = x * s.w
        return (F.pixel_shuffle(x, 2), F.pad(x, (1, 2)), F.pad(x, (1, 1, 2, 2), mode="reflect"), F.pad(x, (1, 0, 0, 2), mode="circular"),
                x.repeat_interleave(2, 1), x.tile(1, 1, 2), x.flip(-1), torch.hstack([x, x]), torch.stack([x, x], 1), x.movedim(1, -1),
                torch.tril(x), x.triu(1), F.interpolate(x, scale_factor=2), F.interpolate(x, size=(9, 5), mode="bilinear"), x.unfold(2, 3, 2),
                torch.eye(6) + x[0, 0], torch.linspace(0, 1, 6) * x, F.unfold(x, 2), x.unflatten(1, (2, 4)), x.swapaxes(1, 2).contiguous().view(2, -1),
                F.channel_shuffle(x, 4), F.instance_norm(x), F.rms_norm(x, (6,)), torch.meshgrid(x[0, 0, 0], x[1, 0, 0], indexing="ij")[1])
    return module(f, w=lambda: nn.Parameter(torch.randn(6)))


@case(lambda: [torch.randn(4, 6)])
def pointwise():
    def f(s, x):
        x = x * s.w
        y = x.abs() + 0.1
        return (x.square(), torch.exp2(x), x.clamp_min(0.2), x.clip(-1, 1), torch.addcmul(x, y, y, value=0.5),
                torch.addcdiv(x, x, y), torch.lerp(x, y, 0.3), torch.nan_to_num(x / 0), torch.logaddexp(x, y), torch.xlogy(x, y),
                x.sigmoid().logit(), x.floor_divide(0.3).detach(), torch.hypot(x, y), x.frac(), x.isfinite(), torch.deg2rad(x),
                x.to(torch.float64), x.type_as(s.i), 1 / y, 2 ** x, y ** 0.5, x.remainder(0.7), -x, torch.rsub(x, 1), torch.atan2(x, y))
    return module(f, w=lambda: nn.Parameter(torch.randn(6)), i=lambda: torch.tensor([1]))


@case(lambda: [torch.randn(3, 4)], stops=True)
def regions():
    def f(s, x):
        with torch.no_grad():
            y = s.l(x)
        return y + s.l(x), torch.utils.checkpoint.checkpoint(lambda x: s.l(x).relu(), x, use_reentrant=False)
    return module(f, l=lambda: nn.Linear(4, 4))


@case(lambda: [torch.randn(3, 4)], tolerance=2e-2)
def autocast():
    def f(s, x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            z = s.l(x).relu()
        return z, z.float().sum(-1)
    return module(f, l=lambda: nn.Linear(4, 4))


@case(lambda: [torch.randn(3, 3), torch.randn(1, 2, 2, 3), torch.randn(2, 3, 4)], grad=False)
def copies_written():
    def f(s, x, z, h):
        x.t().contiguous().add_(1)
        s.b.t().contiguous().mul_(3)
        y = s.c.to(memory_format=torch.channels_last)
        y.add_(1)
        u = z.contiguous(memory_format=torch.channels_last)
        u.mul_(2)
        h = h * 1
        k = h.permute(0, 2, 1).contiguous()
        k += 1
        v = h[:, :2].contiguous().relu_()
        a, b, c = torch.roll(h, 0), torch.roll(h, (3,), (1,)), F.pad(h, (0, 0), mode="circular")
        for t in a, b, c:
            t.add_(1)
        return x + s.b, s.c * 2, y, z, u, h, k, v, a, b, c
    return module(f, b=lambda: torch.randn(3, 3), c=lambda: torch.randn(1, 2, 2, 3))


@case(lambda: [torch.randn(3, 4), torch.randn(4), torch.randn(4)], stops=True, whole=True)
def gradients_kept():
    def f(s, x, y, z):
        with torch.no_grad():
            s.w.clamp_(-0.5, 0.5)
            s.mean.mul_(0.9).add_((x * s.w).mean(0), alpha=0.1)
        h = s.v * x
        row = h[1]
        with torch.no_grad():
            h[0] = 0.0
            made = h * 2
        made.mul_(s.v)
        d = h.detach()
        d[:, 0].mul_(3)
        s.v.detach().mul_(0.5)
        y.detach().add_(s.w)
        return h * h, row * s.w, made, s.v * s.w, s.mean * s.w, y * s.v
    return module(f, w=lambda: nn.Parameter(torch.randn(4)), v=lambda: nn.Parameter(torch.randn(4)), mean=lambda: torch.randn(4))


@case(lambda: [torch.randn(2), torch.randn(2), torch.randn(3)])
def meshgrids():
    def f(s, x, y, z):
        return (*torch.meshgrid(x * s.w, y, indexing="xy"), *torch.meshgrid(x * s.w, z, indexing="xy"),
                *torch.meshgrid(x * s.w, z, y, indexing="xy"), *torch.meshgrid(z, x * s.w, indexing="ij"))
    return module(f, w=lambda: nn.Parameter(torch.randn(2)))


@case(lambda: [torch.tensor([0.0, 1.0, 0.5, 0.25]), torch.tensor([0.0, 1.0, 1.0, 0.25])], stops=True)
def edges():
    def f(s, x, t):
        p, q = s.p, s.z
        return (F.logsigmoid(q), F.binary_cross_entropy_with_logits(q, t), F.binary_cross_entropy(p, x), F.binary_cross_entropy(p, t, reduction="none") * 1e-9,
                q.std(), torch.std_mean(s.p.expand(2, 4), 0)[0], F.softshrink(x * p), x * torch.linspace(2, 5, 1))
    return module(f, z=lambda: nn.Parameter(torch.zeros(4)), p=lambda: nn.Parameter(torch.tensor([0.0, 1.0, 0.0, 0.5])))


INF, NAN = float("inf"), float("nan")


@case(lambda: [torch.tensor([-INF, INF, NAN, 1.0, 3e20, 3e-30]), torch.tensor([-INF, INF, 1.0, INF, 4e20, 4e-30]), torch.tensor([0, 1, 2], dtype=torch.uint8)],
      grad=False)
def infinities():
    def f(s, x, y, i):
        m, h = x.new_ones(6, 6), torch.hypot(x, y)
        return (torch.logaddexp(x, y), h, h * 1e-20, h * 1e30, F.softshrink(x), torch.logit(i), torch.logit(i == 1), torch.exp2(i),
                torch.addmv(x, m, m[0], beta=0), torch.addr(x, m[0], m[0], beta=0, alpha=2), torch.addbmm(x, m[None], m[None], beta=0))
    return module(f)


@case(lambda: [(torch.randn(2, 64) * 400).half(), torch.tensor([300.0, 1e-3]).half(), torch.tensor([400.0, 1e-3]).half()], grad=False, tolerance=1e-3)
def halves():
    return module(lambda s, x, y, z: (x.std(1), torch.hypot(y, z)))


@case(lambda: [torch.randn(1, 2, 3, 3), torch.randn(()), torch.randn(3, 1), torch.randn(4, 5), torch.randn(0, 4)])
def sizes_of_one():
    def f(s, x, n, a, b, e):
        x = x * s.w
        return (F.adaptive_max_pool2d(x, 1), *F.adaptive_max_pool1d(x[0], 1, return_indices=True), F.prelu(n, s.w), F.prelu(x, s.w),
                torch.einsum("ij,jk->ik", a, b), torch.einsum("ij,kj->ijk", a, b[:, :1] * s.w), *e.chunk(3, 0))
    return module(f, w=lambda: nn.Parameter(torch.full((1,), 0.3)))


@case(lambda: [torch.randn(4, 6)], dynamic=({0: Dim.AUTO},), run=lambda: [torch.randn(1, 6)])
def batch_of_one():
    return nn.Sequential(nn.Linear(6, 3), nn.ReLU(), nn.Linear(3, 2))


@case(lambda: [torch.randn(4, 6)], dynamic=({0: Dim.AUTO},), run=lambda: [torch.randn(1, 6)])
def differences_of_one():
    return module(lambda s, x: x.diff(dim=0) * s.w, w=lambda: nn.Parameter(torch.randn(6)))


@case(lambda: [torch.randn(4, 6)], dynamic=({0: Dim.DYNAMIC},), run=lambda: [torch.randn(0, 6)])
def batch_of_none():
    return nn.Sequential(nn.Linear(6, 3), nn.ReLU(), nn.Linear(3, 2))


def complex_parameter(*sizes):
    return lambda: nn.Parameter(torch.randn(*sizes, dtype=torch.cfloat))


def complexes_of(*shapes):
    return [torch.randn(s, dtype=torch.cfloat) for s in shapes]


for name, make, inputs in (
        ("fourier_neural_operator", complexes.SpectralConv2d, lambda: [torch.randn(2, 3, 10, 9)]),
        ("spectral_loss", complexes.SpectralLoss, lambda: [torch.randn(2, 2, 6, 8), torch.randn(2, 2, 6, 8)]),
        ("stft_loss", complexes.StftLoss, lambda: [torch.randn(2, 64), torch.randn(2, 64)]),
        ("complex_linear", complexes.ComplexLinear, lambda: complexes_of((4, 5))),
        ("llama_rotary", complexes.LlamaRotary, lambda: [torch.randn(2, 6, 16)]),
        ("s4d", complexes.S4D, lambda: [torch.randn(2, 3, 20)]),
        ("s4", complexes.S4, lambda: [torch.randn(2, 16)]),
        ("complex_arithmetic", lambda: module(complexes.arithmetic, w=complex_parameter(4)), lambda: [*complexes_of((3, 4)), torch.randn(3, 4)]),
        ("complex_shapes", lambda: module(complexes.shapes, w=complex_parameter(4)),
         lambda: [*complexes_of((2, 3, 4)), torch.randn(2, 3, 4), torch.tensor([1, 0])]),
        ("complex_reductions", lambda: module(complexes.reductions, w=complex_parameter(4)), lambda: complexes_of((2, 3, 4))),
        ("complex_products", lambda: module(complexes.products, w=complex_parameter(4)),
         lambda: [*complexes_of((2, 3, 4), (2, 4, 5)), torch.randn(2, 3, 4), *complexes_of((4,))]),
        ("complex_writes", lambda: module(complexes.writes, w=complex_parameter(4), count=lambda: torch.zeros((), dtype=torch.cfloat)),
         lambda: [*complexes_of((3, 4)), torch.randn(3, 4)]),
        ("transforms", lambda: module(complexes.transforms, w=lambda: nn.Parameter(torch.randn(()))), lambda: [torch.randn(4, 6), *complexes_of((4, 6))]),
        ("transform_lengths", lambda: module(complexes.lengths, w=lambda: nn.Parameter(torch.randn(()))), lambda: [torch.randn(2, 300), *complexes_of((2, 300))]),
        ("complex_dtypes", lambda: module(complexes.mixed, w=lambda: nn.Parameter(torch.randn(3)), c=lambda: torch.randn(3, dtype=torch.cdouble)),
         lambda: [torch.randn(2, 3), torch.randn(2, 3, dtype=torch.double)])):
    CASES[name] = (make, inputs, None, 2e-5, True, True, False, inputs, False)
WIDE = {"fourier_neural_operator", "spectral_loss", "stft_loss", "complex_linear", "llama_rotary", "s4d", "s4", "transforms", "transform_lengths"}

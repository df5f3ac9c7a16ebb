"""Models of complex tensors and Fourier transforms, for exported.py."""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

from torch import fft


class SpectralConv2d(nn.Module):
    """The layer of Fourier neural operators: a product for each of the lowest frequencies (Li and others 2020)."""

    def __init__(s, channels=3, out=4, modes=(3, 2)):
        super().__init__()
        s.modes = modes
        s.low, s.high = (nn.Parameter(torch.randn(channels, out, *modes, dtype=torch.cfloat) / channels) for _ in range(2))
        s.skip = nn.Conv2d(channels, out, 1)

    def forward(s, x):
        z, (m, n) = fft.rfft2(x), s.modes
        y = torch.zeros(x.shape[0], s.low.shape[1], x.shape[-2], x.shape[-1] // 2 + 1, dtype=z.dtype, device=x.device)
        y[:, :, :m, :n] = torch.einsum("bixy,ioxy->boxy", z[:, :, :m, :n], s.low)
        y[:, :, -m:, :n] = torch.einsum("bixy,ioxy->boxy", z[:, :, -m:, :n], s.high)
        return F.gelu(fft.irfft2(y, s=x.shape[-2:]) + s.skip(x))


class SpectralLoss(nn.Module):
    """The distance of amplitudes, as in losses of images by their frequencies."""

    def __init__(s):
        super().__init__()
        s.net = nn.Conv2d(2, 2, 3, padding=1)

    def forward(s, x, target):
        a, b = fft.rfft2(s.net(x), norm="ortho"), fft.rfft2(target, norm="ortho")
        return F.l1_loss(a.abs(), b.abs()) + (a - b).abs().square().mean(), torch.log(a.abs() + 1e-3).mean(), fft.fftshift(a).angle().cos().sum()


class StftLoss(nn.Module):
    """Magnitudes at several resolutions, and the way back."""

    def __init__(s):
        super().__init__()
        s.gain = nn.Parameter(torch.randn(64))
        s.register_buffer("window", torch.hann_window(16))

    def forward(s, x, target):
        x, total = x * s.gain, 0
        for n, hop, length in ((16, 4, 16), (8, 3, 6)):
            window = s.window if length == 16 else torch.hamming_window(length, device=x.device, dtype=x.dtype)
            a, b = (torch.stft(v, n, hop, length, window, return_complex=True).abs() for v in (x, target))
            total = total + (a - b).norm() / b.norm() + F.l1_loss(torch.log(a + 1e-2), torch.log(b + 1e-2))
        z = torch.stft(x, 16, 4, window=s.window, normalized=True, return_complex=True)
        return (total, torch.istft(z * (1 + 0.5j), 16, 4, window=s.window, normalized=True, length=60), z,
                torch.istft(z, 16, 4, window=s.window), torch.stft(x[0], 10, center=False, window=torch.ones(10), onesided=False, return_complex=True))


class ComplexLinear(nn.Module):
    """Two layers with weights of complex numbers, and a rectifier of magnitudes between them (Arjovsky and others 2016)."""

    def __init__(s):
        super().__init__()
        s.first, s.second = nn.Linear(5, 6, dtype=torch.cfloat), nn.Linear(6, 2, dtype=torch.cfloat)
        s.bias = nn.Parameter(torch.randn(6) / 10)

    def forward(s, z):
        h = s.first(z)
        h = h * F.relu(h.abs() + s.bias) / (h.abs() + 1e-5)
        y = s.second(h)
        return y, y.abs().square().sum(), torch.addmm(s.second.bias, h, s.second.weight.mH, beta=2, alpha=1j)


class LlamaRotary(nn.Module):
    """Queries and keys turned, as the first Llama has it: neighbours are a complex number, turns a buffer."""

    def __init__(s, dim=8, length=6):
        super().__init__()
        s.wq, s.wk = nn.Linear(16, 16, bias=False), nn.Linear(16, 16, bias=False)
        angles = torch.outer(torch.arange(length), 10000.0 ** (-torch.arange(0, dim, 2) / dim))
        s.register_buffer("freqs_cis", torch.polar(torch.ones_like(angles), angles), persistent=False)

    def forward(s, x):
        q, k = (w(x).view(*x.shape[:2], -1, 8) for w in (s.wq, s.wk))
        turns = s.freqs_cis[:x.shape[1]].view(1, x.shape[1], 1, 4)
        q, k = (torch.view_as_real(torch.view_as_complex(v.reshape(*v.shape[:-1], -1, 2)) * turns).flatten(3) for v in (q, k))
        return torch.softmax(q.transpose(1, 2) @ k.transpose(1, 2).transpose(2, 3) / math.sqrt(8), -1)


class S4D(nn.Module):
    """A diagonal state space, convolved by transforms of twice the length (Gu and others 2022)."""

    def __init__(s, h=3, n=4):
        super().__init__()
        s.log_dt = nn.Parameter(torch.rand(h) - 3)
        s.log_real = nn.Parameter(torch.log(0.5 * torch.ones(h, n)))
        s.imaginary = nn.Parameter(math.pi * torch.arange(n).repeat(h, 1))
        s.c, s.d = nn.Parameter(torch.randn(h, n, 2)), nn.Parameter(torch.randn(h))

    def kernel(s, length):
        dt, c = torch.exp(s.log_dt), torch.view_as_complex(s.c)
        a = -torch.exp(s.log_real) + 1j * s.imaginary
        step = a * dt.unsqueeze(-1)
        k = step.unsqueeze(-1) * torch.arange(length, device=step.device)
        return 2 * torch.einsum("hn,hnl->hl", c * (torch.exp(step) - 1.0) / a, torch.exp(k)).real

    def forward(s, u):
        length = u.size(-1)
        k = fft.rfft(s.kernel(length), n=2 * length)
        return F.gelu(fft.irfft(fft.rfft(u, n=2 * length) * k, n=2 * length)[..., :length] + u * s.d.unsqueeze(-1))


class S4(nn.Module):
    """A state space of full rank by a Cauchy kernel at the roots of one (Gu and others 2021)."""

    def __init__(s, n=4, length=16):
        super().__init__()
        s.length = length
        s.a, s.b, s.c, s.p = (nn.Parameter(torch.randn(n, dtype=torch.cfloat)) for _ in range(4))
        s.register_buffer("roots", torch.exp(-2j * math.pi * torch.arange(length) / length))

    def forward(s, u):
        a = torch.complex(-s.a.real.abs() - 0.5, s.a.imag)
        g = 2 * (1 - s.roots) / (1.001 + s.roots)
        below = 1 / (g[:, None] - a)
        kbb, kpb = below @ (s.c.conj() * s.b), below @ (s.c.conj() * s.p)
        kbp, kpp = below @ (s.p.conj() * s.b), below @ (s.p.conj() * s.p)
        k = fft.ifft(2 / (1.001 + s.roots) * (kbb - kpb * kbp / (1 + kpp)), n=s.length).real
        return fft.irfft(fft.rfft(u, 2 * s.length) * fft.rfft(k, 2 * s.length), 2 * s.length)[..., :s.length]


def arithmetic(s, z, x):
    w = s.w * z
    return (w + x, x - w, w * x, w / (z + 3), w * 2, 2j * w, x * (1 - 2j), w / 2j, 1 / (w + 4), w.reciprocal(), torch.rsub(w, 1 + 1j), -w,
            torch.add(w, z, alpha=2), torch.sub(x, w, alpha=1j), w.conj() * z, w.abs(), w.angle(), w.exp(), torch.log(w + 4), (w + 4).sqrt(),
            w ** 2, w ** 3, (w + 4) ** -2, (w + 4) ** 0.5, (w + 4) ** 1.7, (w + 4) ** (1 + 2j), 2 ** w, (w + 4) ** z, w.sgn(), w.sin(), w.cos(),
            w.sinh(), w.cosh(), torch.tanh(w), torch.sigmoid(w), w.square(), torch.addcmul(w, z, z, value=2j), torch.addcdiv(w, z, z + 4),
            torch.lerp(w, z, 0.3), torch.polar(w.abs() + 1, w.angle()), torch.complex(x, w.real), w.real * w.imag, (w + 4).rsqrt(),
            w.conj().imag, w.conj_physical().resolve_conj(), z == w, z != z, w.isfinite(), torch.where(x > 0, w, 2.0), torch.where(x > 0, w, z),
            w.masked_fill(x > 0, 1.5), w.abs().square().sum().sqrt(), torch.zeros_like(w).abs().sum())


def shapes(s, z, x, i):
    w = s.w * z  # [2,3,4]
    return (w.reshape(6, 4), w.view(-1), w.flatten(1), w.unflatten(2, (2, 2)), w.permute(2, 0, 1), w.transpose(-1, -2), w.mT, w.mH, w[0].t(),
            w[:, 1], w[..., -1], w[1:, :2, ::2], w[:, None], w.unsqueeze(-1), w[:, :1].squeeze(1), w[:, :1].squeeze(), w.expand(2, 2, 3, 4), w.movedim(0, -1),
            *w.split(2, -1), *w.chunk(2, 2), *w.unbind(0)[:1], w.diagonal(), w.diagonal(0, -1, 0), w.unfold(-1, 2, 2), w.narrow(1, 1, 2),
            torch.cat([w, z], -1), torch.cat([w, x], 1), torch.stack([w, z], -1), torch.stack([w, x], 1), w.flip(-1), w.roll(1, -1), w.roll(5), w[i],
            w.index_select(-1, i), w.gather(2, i[None, None].expand(2, 3, 2)), w.tril(), w.triu(1), F.pad(w, (1, 2)), F.pad(w, (1, 0), value=2.0),
            F.pad(w, (2, 1), mode="circular"), F.pad(w, (2, 1), mode="reflect"), w.repeat(2, 1, 1), w.tile(2), w.repeat_interleave(2, -1), w.diff(), w.cumsum(-1),
            w.index_put((i,), z[i] * 2), w.scatter_add(2, i[None, None].expand(2, 3, 2), z[..., :2]), torch.hstack([w, z]), w.to(torch.complex128), w.real.to(torch.cfloat),
            torch.diag_embed(w[0]), fft.fftshift(w), fft.ifftshift(w, dim=-1), torch.broadcast_to(w[0, 0], (3, 4)), w.contiguous(), w[0].T, w.clone(), *torch.broadcast_tensors(w, z[0, 0]), torch.atleast_3d(w), w.type_as(z))


def reductions(s, z):
    w = s.w * z
    return (w.sum(), w.sum(-1), w.sum((0, 2), keepdim=True), w.mean(), w.mean(1), w.prod(-1), w.prod(), w.prod(1, keepdim=True), w.norm(), w.norm(dim=1), w.norm(3.0, 1),
            torch.linalg.vector_norm(w, dim=(0, 1)), w.var(), w.var(1), w.std(-1), w[0, 0, 0].sum(), w.abs().amax(-1), torch.linalg.vector_norm(w, math.inf))


def products(s, a, b, x, v):
    w = s.w * a  # [2,3,4]
    x = x.to(b.dtype)
    return (w @ b, x @ b, w @ x.mT, w @ v, v @ b[0], v.dot(v), torch.vdot(v, 1j * v), torch.outer(v, 2j * v), torch.inner(v, v), torch.einsum("bij,bjk->bik", w, b),
            torch.einsum("bij,bjk->bik", x, b), torch.einsum("bij,bjk,k->bi", w, b, b[0, 0]), torch.einsum("ij->ji", v[None]), torch.baddbmm(w @ b, w, b, alpha=2j), torch.bmm(w, b),
            torch.mm(w[0], b[0]), torch.addmm(v[:3], w[0], b[0][:, :3], beta=0.5), torch.kron(v, v), torch.tensordot(w, b, ([2], [1])), torch.mv(w[0], v), F.linear(w, b[0].mT, b[0, 0]))


def writes(s, z, x):
    w = z * s.w
    w[0] = 1 + 2j
    w[:, 1].mul_(2j)
    w.real[1].add_(1)
    torch.view_as_real(w)[2, ..., 1].zero_()
    w.imag.mul_(x)
    y = torch.zeros(3, 4, dtype=z.dtype)
    y[:, :2] = w[:, :2]
    y[1:, 2:] += x[1:, 2:]
    y.add_(w).div_(2)
    s.count.add_(w.sum().detach())
    u = torch.full((2,), 1j, dtype=z.dtype)
    u[0] = 3.0
    return w, y, u * w[0, :2], torch.ones(2, dtype=z.dtype) + torch.tensor(1j, dtype=z.dtype), z.new_zeros(2) + w[0, 0], torch.full_like(z, 2), torch.tensor([1j, 2.0]) * z[0, :2]


def transforms(s, x, z):
    x, z = x * s.w, z * s.w
    out = []
    for norm in (None, "ortho", "forward"):
        out += [fft.fft(x, norm=norm), fft.fft(z, 5, 0, norm), fft.ifft(z, 9, norm=norm), fft.rfft(x, 9, norm=norm), fft.rfft(x, 4, 0, norm), fft.irfft(z, 9, norm=norm),
                fft.irfft(z, dim=0, norm=norm), fft.hfft(z, 7, norm=norm), fft.ihfft(x, norm=norm), fft.fft2(x, norm=norm), fft.ifft2(z, (4, 5), norm=norm),
                fft.rfft2(x, norm=norm), fft.irfft2(z, (5, 8), norm=norm), fft.fftn(z, norm=norm), fft.ifftn(z, (3,), (1,), norm), fft.rfftn(x, (4, 4), norm=norm), fft.irfftn(z, norm=norm),
                fft.hfft2(z, norm=norm), fft.ihfft2(x, norm=norm), fft.hfftn(z, (4, 6), norm=norm), fft.ihfftn(x, norm=norm)]
    return *out, fft.fftfreq(5) * x[0, 0], fft.rfftfreq(6, 0.5) * x[0, 0], fft.irfft(x)


def lengths(s, x, z):
    """Products, products of stages, and convolutions; odd and even; halves."""
    x, z = x * s.w, z * s.w
    return tuple(y for n in (1, 2, 63, 67, 96, 129, 128, 256, 250, 514, 257) for y in
                 (fft.fft(z, n), fft.ifft(z, n), fft.rfft(x, n), fft.irfft(z, n)))


def mixed(s, x, y):
    """Complex numbers of both sizes, f64 among them."""
    z = torch.complex(x * s.w, x)
    d = torch.complex(y, y + 1)
    return z * d, z + y, d.to(torch.complex64) * z, torch.view_as_real(d * 2), fft.fft(y), fft.rfft(x).to(torch.complex128), (d * s.c).abs()

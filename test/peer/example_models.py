"""The models of example/*.cpp in plain PyTorch: names of state, shapes, losses and optimizers are theirs.

MODELS[name]() gives (module, loss(module, *inputs), optimizer, largest norm of gradients or None). A call starts anew:
what lives from step to step beside the state_dict (the LSTM's states) is in its `loss`.
"""
import itertools
import math
import os
import sys

import torch
import torch.nn.functional as F
from torch import nn

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../bench"))
from gpt_torch import Gpt, adamw  # noqa: E402

VOCABULARY = 36  # different characters of example/text.h
KINDS = 6


# ---- gpt
def gpt():
    model = Gpt(VOCABULARY, 4, 64, 4, 64)
    return model, lambda m, idx, target: m(idx, target), adamw(model, 3e-3, 0.99, 0.1), 1.0


# ---- llama
def rotated(x, turns):
    """Meta's: neighbours are a complex number."""
    pairs = torch.view_as_complex(x.reshape(*x.shape[:-1], -1, 2))
    return torch.view_as_real(pairs * turns).flatten(-2)


class LlamaAttention(nn.Module):
    def __init__(self, width, heads, kv_heads):
        super().__init__()
        self.heads, self.kv_heads, self.each = heads, kv_heads, width // heads
        self.wq = nn.Linear(width, width, bias=False)
        self.wk, self.wv = (nn.Linear(width, kv_heads * self.each, bias=False) for _ in range(2))
        self.wo = nn.Linear(width, width, bias=False)

    def forward(self, x, turns):
        n, time, width = x.shape
        q, k, v = (f(x).view(n, time, h, self.each).transpose(1, 2)
                   for f, h in ((self.wq, self.heads), (self.wk, self.kv_heads), (self.wv, self.kv_heads)))
        y = F.scaled_dot_product_attention(rotated(q, turns), rotated(k, turns), v, is_causal=True, enable_gqa=True)
        return self.wo(y.transpose(1, 2).reshape(n, time, width))


class FeedForward(nn.Module):
    def __init__(self, width, hidden):
        super().__init__()
        self.w1, self.w3 = nn.Linear(width, hidden, bias=False), nn.Linear(width, hidden, bias=False)
        self.w2 = nn.Linear(hidden, width, bias=False)

    def forward(self, x):
        return self.w2(F.silu(self.w1(x)) * self.w3(x))


class LlamaBlock(nn.Module):
    def __init__(self, width, heads, kv_heads, hidden):
        super().__init__()
        self.attention, self.feed_forward = LlamaAttention(width, heads, kv_heads), FeedForward(width, hidden)
        self.attention_norm, self.ffn_norm = nn.RMSNorm(width, eps=1e-5), nn.RMSNorm(width, eps=1e-5)

    def forward(self, x, turns):
        x = x + self.attention(self.attention_norm(x), turns)
        return x + self.feed_forward(self.ffn_norm(x))


class Llama(nn.Module):
    def __init__(self, vocabulary=VOCABULARY, layers=4, width=64, heads=4, kv_heads=2, hidden=176):
        super().__init__()
        self.each = width // heads
        self.tok_embeddings = nn.Embedding(vocabulary, width)
        self.layers = nn.ModuleList(LlamaBlock(width, heads, kv_heads, hidden) for _ in range(layers))
        self.norm, self.output = nn.RMSNorm(width, eps=1e-5), nn.Linear(width, vocabulary, bias=False)

    def forward(self, idx):
        x = self.tok_embeddings(idx)
        rates = 10000.0 ** (-torch.arange(0, self.each, 2, dtype=torch.float64) / self.each)
        angles = torch.outer(torch.arange(idx.shape[1], dtype=torch.float64), rates)
        # The angles' cosines are rounded to f32, in f64 runs too: they are numbers of the model.
        turns = torch.polar(torch.ones_like(angles), angles).to(torch.complex64)
        turns = turns.to(torch.complex128 if x.dtype == torch.float64 else torch.complex64)
        for layer in self.layers:
            x = layer(x, turns)
        return self.output(self.norm(x))


def language_loss(model, idx, target):
    return F.cross_entropy(model(idx).flatten(0, 1), target.flatten())


def llama():
    model = Llama()
    return model, language_loss, torch.optim.AdamW(model.parameters(), lr=3e-3, betas=(0.9, 0.95), weight_decay=0.1), 1.0


# ---- vit
class Vit(nn.Module):
    def __init__(self, size=32, patch=8, width=64, heads=4, depth=4):
        super().__init__()
        self.embed = nn.Conv2d(3, width, patch, stride=patch)
        self.class_token = nn.Parameter(torch.zeros(1, 1, width))
        self.position = nn.Parameter(torch.zeros(1, (size // patch) ** 2 + 1, width))
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(width, heads, 2 * width, 0.0, "gelu", batch_first=True, norm_first=True) for _ in range(depth))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, KINDS)

    def forward(self, images):
        x = self.embed(images).flatten(2).transpose(1, 2)
        x = torch.cat([self.class_token.expand(len(x), -1, -1), x], 1) + self.position
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x[:, 0]))


def vit():
    model = Vit()
    loss = lambda m, images, labels: F.cross_entropy(m(images), labels, label_smoothing=0.05)  # noqa: E731
    return model, loss, torch.optim.AdamW(model.parameters(), weight_decay=0.05), 1.0


# ---- resnet18
def conv3x3(inputs, outputs, stride):
    return nn.Conv2d(inputs, outputs, 3, stride=stride, padding=1, bias=False)


class BasicBlock(nn.Module):
    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.conv1, self.bn1 = conv3x3(inputs, outputs, stride), nn.BatchNorm2d(outputs)
        self.conv2, self.bn2 = conv3x3(outputs, outputs, 1), nn.BatchNorm2d(outputs)
        self.downsample = None
        if stride != 1 or inputs != outputs:
            self.downsample = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride=stride, bias=False), nn.BatchNorm2d(outputs))

    def forward(self, x):
        y = self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x)))))
        return F.relu(y + (x if self.downsample is None else self.downsample(x)))


class ResNet18(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.conv1, self.bn1 = conv3x3(3, width, 1), nn.BatchNorm2d(width)
        inputs = width
        for stage in range(4):
            outputs = width << stage
            blocks = nn.Sequential(BasicBlock(inputs, outputs, 2 if stage else 1), BasicBlock(outputs, outputs, 1))
            self.add_module(f"layer{stage + 1}", blocks)
            inputs = outputs
        self.fc = nn.Linear(inputs, KINDS)

    def forward(self, images):
        x = F.relu(self.bn1(self.conv1(images)))
        for stage in (self.layer1, self.layer2, self.layer3, self.layer4):
            x = stage(x)
        return self.fc(F.adaptive_avg_pool2d(x, 1).flatten(1))


def classify(model, images, labels):
    return F.cross_entropy(model(images), labels)


def resnet18():
    model = ResNet18(16)
    return model, classify, torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9, weight_decay=5e-4, nesterov=True), None


# ---- unet
def double_conv(inputs, outputs):
    parts = []
    for channels in (inputs, outputs):
        parts += [nn.Conv2d(channels, outputs, 3, padding=1, bias=False), nn.GroupNorm(8, outputs), nn.SiLU()]
    return nn.Sequential(*parts)


class UNet(nn.Module):
    def __init__(self, width=16, classes=4):
        super().__init__()
        self.down1, self.down2 = double_conv(3, width), double_conv(width, 2 * width)
        self.middle = double_conv(2 * width, 4 * width)
        self.up2, self.merge2 = nn.ConvTranspose2d(4 * width, 2 * width, 2, stride=2), double_conv(4 * width, 2 * width)
        self.up1, self.merge1 = nn.ConvTranspose2d(2 * width, width, 2, stride=2), double_conv(2 * width, width)
        self.head = nn.Conv2d(width, classes, 1)

    def forward(self, images):
        full = self.down1(images)
        half = self.down2(F.max_pool2d(full, 2))
        quarter = self.middle(F.max_pool2d(half, 2))
        wide = self.merge2(torch.cat([half, self.up2(quarter)], 1))
        return self.head(self.merge1(torch.cat([full, self.up1(wide)], 1)))


def unet():
    model = UNet()
    return model, classify, torch.optim.RMSprop(model.parameters(), lr=1e-3, alpha=0.9), None


# ---- lstm
class LanguageModel(nn.Module):
    def __init__(self, vocabulary=VOCABULARY, width=96, layers=2):
        super().__init__()
        self.embed = nn.Embedding(vocabulary, width)
        self.lstm = nn.LSTM(width, width, layers, batch_first=True)
        self.head = nn.Linear(width, vocabulary)


def lstm():
    model, state = LanguageModel(), [None]

    def loss(m, idx, target):
        output, (h, c) = m.lstm(m.embed(idx), state[0])
        state[0] = (h.detach(), c.detach())
        return F.cross_entropy(m.head(output).flatten(0, 1), target.flatten())

    return model, loss, torch.optim.Adam(model.parameters(), lr=5e-3), 1.0


# ---- soft_moe
class SoftMoe(nn.Module):
    def __init__(self, width, experts, slots, hidden):
        super().__init__()
        self.slots = slots
        for name, shape in {"phi": (width, experts * slots), "scale": (1,), "w1": (experts, width, hidden),
                            "b1": (experts, 1, hidden), "w2": (experts, hidden, width), "b2": (experts, 1, width)}.items():
            self.register_parameter(name, nn.Parameter(torch.zeros(shape)))

    def forward(self, x):
        unit = lambda v, dim: v * torch.rsqrt(v.square().sum(dim, True) + 1e-6)  # noqa: E731
        scores = unit(x, -1) @ (unit(self.phi, 0) * self.scale)
        mixed = scores.softmax(1).transpose(1, 2) @ x
        results = [F.gelu(mixed[:, e * self.slots:(e + 1) * self.slots] @ self.w1[e] + self.b1[e]) @ self.w2[e] + self.b2[e]
                   for e in range(len(self.w1))]
        return scores.softmax(2) @ torch.cat(results, 1)


class MoeBlock(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = nn.MultiheadAttention(width, heads, batch_first=True)
        self.moe = SoftMoe(width, 4, 4, 64)

    def forward(self, x):
        y = self.norm1(x)
        x = x + self.attention(y, y, y, need_weights=False)[0]
        return x + self.moe(self.norm2(x))


class Classifier(nn.Module):
    def __init__(self, width=64, heads=4, depth=2, size=32, patch=8):
        super().__init__()
        self.embed = nn.Conv2d(3, width, patch, stride=patch)
        self.position = nn.Parameter(torch.zeros(1, (size // patch) ** 2, width))
        self.blocks = nn.ModuleList(MoeBlock(width, heads) for _ in range(depth))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, KINDS)

    def forward(self, images):
        x = self.embed(images).flatten(2).transpose(1, 2) + self.position
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x).mean(1))


def soft_moe():
    model = Classifier()
    return model, classify, torch.optim.AdamW(model.parameters(), amsgrad=True), 1.0


# ---- vae
def philox(seed, step, stream, blocks):
    """Words [blocks, 4] of Philox 4x32-10 (Salmon et al., 2011), as src/op/philox_reference.h counts them."""
    low, half = 0xFFFFFFFF, torch.arange(blocks)
    counter = [half & low, half >> 32, torch.full_like(half, stream & low), torch.full_like(half, step & low)]
    key = [seed & low, seed >> 32 & low]

    def product(a, x):  # of 32 bits each, as (high, low); int64 holds no 64 bits without a sign
        middle = a * (x >> 16)
        lower = a * (x & 0xFFFF)
        high = (middle + (lower >> 16)) >> 16
        return high & low, (((middle << 16) & low) + (lower & low)) & low

    for turn in range(10):
        if turn:
            key = [(key[0] + 0x9E3779B9) & low, (key[1] + 0xBB67AE85) & low]
        (high0, low0), (high1, low1) = product(0xD2511F53, counter[0]), product(0xCD9E8D57, counter[2])
        counter = [high1 ^ counter[1] ^ key[0], low1, high0 ^ counter[3] ^ key[1], low0]
    return torch.stack(counter, 1)


def normal(seed, step, stream, shape):
    """cleave's randn: Box and Muller on neighbouring words, in f64; rounded to f32 once."""
    count = math.prod(shape)
    u = (philox(seed, step, stream, (count + 3) // 4).flatten() >> 8).double() / 2**24
    radius, angle = torch.sqrt(-2 * torch.log(1 - u[::2])), 2 * math.pi * u[1::2]
    return torch.stack([radius * angle.cos(), radius * angle.sin()], 1).flatten()[:count].reshape(shape).float()


class Vae(nn.Module):
    def __init__(self, channels=16, latent=8, size=16):
        super().__init__()
        self.corner = (2 * channels, size // 4, size // 4)
        flat = 2 * channels * (size // 4) ** 2
        self.encoder = nn.Sequential(nn.Conv2d(1, channels, 4, 2, 1), nn.ReLU(), nn.Conv2d(channels, 2 * channels, 4, 2, 1), nn.ReLU(), nn.Flatten())
        self.mean, self.log_variance = nn.Linear(flat, latent), nn.Linear(flat, latent)
        self.expand = nn.Linear(latent, flat)
        self.decoder = nn.Sequential(nn.ReLU(), nn.ConvTranspose2d(2 * channels, channels, 4, 2, 1), nn.ReLU(), nn.ConvTranspose2d(channels, 1, 4, 2, 1))

    def forward(self, images, noise):
        h = self.encoder(images)
        mean, log_variance = self.mean(h), self.log_variance(h)
        z = mean + noise * torch.exp(0.5 * log_variance)
        logits = self.decoder(self.expand(z).unflatten(1, self.corner))
        reconstruction = F.binary_cross_entropy_with_logits(logits, images, reduction="sum")
        return (reconstruction - 0.5 * (1 + log_variance - mean.square() - log_variance.exp()).sum()) / len(images)


def vae():
    model = Vae()
    step = itertools.count()
    loss = lambda m, images: m(images, normal(0, next(step), 0, (len(images), 8)).to(images.dtype))  # noqa: E731
    return model, loss, torch.optim.Adam(model.parameters(), lr=2e-3), None


MODELS = {f.__name__: f for f in (gpt, llama, vit, resnet18, lstm, unet, soft_moe, vae)}

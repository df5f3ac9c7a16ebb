"""Small models that the tests train, each with its inputs: f() -> (model or function, tensors)."""
import torch
import torch.nn.functional as F
from torch import nn


class Conv(nn.Module):
    def __init__(self):
        super().__init__()
        self.c1, self.n1, self.c2 = nn.Conv2d(3, 8, 3, 2, 1), nn.BatchNorm2d(8), nn.Conv2d(8, 16, 3, 1, 1, groups=2)
        self.f = nn.Linear(16, 5)

    def forward(self, x, t):
        x = F.max_pool2d(F.relu(self.n1(self.c1(x))), 2)
        return F.cross_entropy(self.f(F.silu(self.c2(x)).mean((2, 3))), t)


class Block(nn.Module):
    """A transformer's block with causal attention, on tokens."""

    def __init__(self, vocabulary=23, width=16, heads=2):
        super().__init__()
        self.heads = heads
        self.embed, self.n1, self.n2 = nn.Embedding(vocabulary, width), nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.o = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down, self.head = nn.Linear(width, 4 * width), nn.Linear(4 * width, width), nn.Linear(width, vocabulary)

    def forward(self, i, t):
        b, n = i.shape
        x = self.embed(i)
        q, k, v = (z.view(b, n, self.heads, -1).transpose(1, 2) for z in self.qkv(self.n1(x)).chunk(3, -1))
        x = x + self.o(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(b, n, -1))
        x = x + self.down(F.gelu(self.up(self.n2(x))))
        return F.cross_entropy(self.head(x).flatten(0, 1), t.flatten())


class Norms(nn.Module):
    """LayerNorm, softmax, embedding, cross-entropy."""

    def __init__(self):
        super().__init__()
        self.e, self.n, self.l = nn.Embedding(11, 12), nn.LayerNorm(12), nn.Linear(12, 7)

    def forward(self, i, t):
        return F.cross_entropy(self.l(torch.softmax(self.n(self.e(i)), -1)), t)


class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(12, 32), nn.Linear(32, 3)

    def forward(self, x, y):
        return F.mse_loss(self.b(torch.tanh(self.a(x))), y)


MODELS = {
    "mlp": lambda: (Mlp(), [torch.randn(5, 12), torch.randn(5, 3)]),
    "conv": lambda: (Conv(), [torch.randn(4, 3, 16, 16), torch.randint(0, 5, (4,))]),
    "block": lambda: (Block(), [torch.randint(0, 23, (2, 9)), torch.randint(0, 23, (2, 9))]),
    "norms": lambda: (Norms(), [torch.randint(0, 11, (6,)), torch.randint(0, 7, (6,))]),
}

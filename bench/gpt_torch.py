"""The language model of `cleave train` (tool/gpt.h) in PyTorch, with the same names of state."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class Block(nn.Module):
    def __init__(self, width, heads, dropout=0.0, causal=True):
        super().__init__()
        self.heads, self.dropout, self.causal = heads, dropout, causal
        self.ln1, self.qkv, self.proj = nn.LayerNorm(width), nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.ln2, self.fc, self.out = nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = self.qkv(self.ln1(x)).view(b, t, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=self.causal).transpose(1, 2).reshape(b, t, c)
        x = x + F.dropout(self.proj(y), self.dropout, self.training)
        return x + F.dropout(self.out(F.gelu(self.fc(self.ln2(x)), approximate="tanh")), self.dropout, self.training)


class Gpt(nn.Module):
    def __init__(self, vocabulary, layers, width, heads, context, dropout=0.0, causal=True):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(vocabulary, width), nn.Embedding(context, width)
        self.blocks = nn.ModuleList([Block(width, heads, dropout, causal) for _ in range(layers)])
        self.lnf = nn.LayerNorm(width)

    def logits(self, idx):
        x = self.wte(idx) + self.wpe.weight[: idx.shape[1]]
        for block in self.blocks:
            x = block(x)
        return F.linear(self.lnf(x), self.wte.weight)

    def forward(self, idx, target):
        logits = self.logits(idx)
        return F.cross_entropy(logits.view(-1, logits.shape[-1]), target.view(-1))


def adamw(model, lr, beta2, weight_decay, fused=False):
    decayed = [p for p in model.parameters() if p.dim() >= 2]
    others = [p for p in model.parameters() if p.dim() < 2]
    return torch.optim.AdamW([{"params": decayed, "weight_decay": weight_decay}, {"params": others, "weight_decay": 0.0}],
                             lr=lr, betas=(0.9, beta2), fused=fused)

#!/usr/bin/env python3
"""Small modules of many fields through torch.compile, ours beside Inductor and eager: forward and backward.

    PYTHONPATH=build/release/python bench/peer_modules.py [--only vae,gat] [--target x86-64-v3] [--seconds .6]

Milliseconds of a step on two threads, medians; the ratio is the faster peer's time by ours (above 1: ours is faster).
`error` is the largest difference of a gradient from eager's, relative to the largest gradient of the module. Nothing
may be tuned to these: add the module that a user was slow with. Inductor compiles some 10 s for each.
"""
import argparse, math, warnings

from peer_target import start_here
from step_timing import median_ms


def cases():
    import torch
    from torch import nn
    from torch.nn import functional as F
    torch.manual_seed(0)
    r, ints, linear = torch.randn, torch.randint, nn.Linear

    class Of(nn.Module):
        """f(modules, *inputs)."""
        def __init__(self, f, *modules):
            super().__init__()
            self.f, self.m = f, nn.ModuleList(modules)
        def forward(self, *x): return self.f(self.m, *x)

    edges = ints(0, 4096, (2, 32768))
    def gat(m, x):
        h, weight = m[0](x), torch.exp(F.leaky_relu(m[1](x)[edges[0]] + m[2](x)[edges[1]]))
        share = weight / torch.zeros(4096, 1).index_add(0, edges[1], weight)[edges[1]]
        return torch.zeros(4096, 64).index_add(0, edges[1], h[edges[0]] * share)
    def alibi(m, x):
        q, k, v = m[0](x).view(4, 128, 3, 4, 32).permute(2, 0, 3, 1, 4)
        distance = (torch.arange(128)[:, None] - torch.arange(128)).abs()
        slopes = torch.tensor([.5, .25, .125, .0625])[:, None, None]
        return F.scaled_dot_product_attention(q, k, v, attn_mask=-distance * slopes)
    def moe(m, x):
        weights, experts = torch.topk(torch.softmax(m[0](x), -1), 2)
        results = torch.stack([expert(x) for expert in list(m)[1:]], 1)
        return sum(weights[:, k:k + 1] * results[torch.arange(len(x)), experts[:, k]] for k in range(2))
    def vae(m, x):
        mean, log_variance = m[1](F.relu(m[0](x))).chunk(2, -1)
        back = m[3](F.relu(m[2](mean + torch.exp(.5 * log_variance))))
        return (back - x).pow(2).mean() - .5 * (1 + log_variance - mean * mean - log_variance.exp()).mean()
    def factorization(m, ids):
        e = m[0](ids)
        return .5 * (e.sum(1) ** 2 - (e * e).sum(1)).sum(-1, keepdim=True) + m[1](e.flatten(1))
    def render(m, samples, steps):
        alpha = 1 - torch.exp(-F.relu(m[1](samples)[..., 0]) * steps)
        passed = torch.cumprod(torch.cat([torch.ones(len(samples), 1), 1 - alpha + 1e-10], -1), -1)[:, :-1]
        return ((alpha * passed)[..., None] * torch.sigmoid(m[0](samples))).sum(1)
    def ppo(m, x, actions, old, advantage):
        ratio = torch.exp(F.log_softmax(m[0](x), -1).gather(1, actions[:, None])[:, 0] - old)
        return -torch.min(ratio * advantage, torch.clamp(ratio, .8, 1.2) * advantage).mean()
    def mixture(m, x, y):
        log_weights, means, logs = F.log_softmax(m[0](x), -1), m[1](x), m[2](x)
        return -torch.logsumexp(log_weights - .5 * ((y[:, None] - means) ** 2 * torch.exp(-2 * logs) + 2 * logs), -1).mean()
    def by_fourier(m, x):
        a, b = torch.fft.rfft(m[0](x), dim=1), torch.fft.rfft(m[1](x), dim=1)
        return torch.fft.irfft(a * b, n=x.shape[1], dim=1)
    def scan(m, x):
        h, out = torch.zeros(8, 64), []
        for t in range(x.shape[1]):
            h = torch.sigmoid(m[0](x[:, t])) * h + m[1](x[:, t])
            out.append(h)
        return torch.stack(out, 1)
    def cells(m, x):
        state = torch.zeros(64, 64), torch.zeros(64, 64)
        for t in range(x.shape[1]): state = m[0](x[:, t], state)
        return state[0]
    def contrastive(m, x, y):
        scores = F.normalize(m[0](x), dim=-1) @ F.normalize(m[0](y), dim=-1).T
        return F.cross_entropy(scores * 10, torch.arange(len(x)))
    def chamfer(m, x, y):
        distances = ((m[0](x)[:, :, None] - y[:, None]) ** 2).sum(-1)
        return distances.amin(1).mean() + distances.amin(2).mean()
    def dice(m, x, y):
        p = torch.sigmoid(m[0](x))
        return 1 - 2 * (p * y).sum((2, 3)) / (p.sum((2, 3)) + y.sum((2, 3)) + 1)

    conv, norm = nn.Conv2d, torch.nn.utils.parametrizations.weight_norm
    last = torch.channels_last
    attention = nn.MultiheadAttention(128, 4, batch_first=True)
    causal = nn.Transformer.generate_square_subsequent_mask(64)
    return {
        "batch_norm_1d": (nn.Sequential(linear(128, 96), nn.BatchNorm1d(96), nn.ReLU(), linear(96, 96)), r(8192, 128)),
        "channels_last": (nn.Sequential(conv(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.SiLU()).to(memory_format=last),
                          r(8, 16, 64, 64).to(memory_format=last)),
        "group_norm": (nn.Sequential(conv(16, 32, 3, padding=1), nn.GroupNorm(8, 32), nn.SiLU()), r(8, 16, 64, 64)),
        "conv_3d": (nn.Sequential(nn.Conv3d(4, 16, 3, padding=1), nn.ReLU(), nn.MaxPool3d(2)), r(2, 4, 16, 32, 32)),
        "depthwise": (nn.Sequential(conv(32, 32, 5, padding=2, groups=32), nn.BatchNorm2d(32), conv(32, 64, 1)), r(8, 32, 48, 48)),
        "upsample": (Of(lambda m, x: m[1](F.interpolate(m[0](x), scale_factor=2, mode="bilinear")),
                        conv(16, 16, 3, padding=1), conv(16, 8, 3, padding=1)), r(4, 16, 48, 48)),
        "attention_weights": (Of(lambda m, x: sum(t.mean() for t in m[0](x, x, x)), attention), r(8, 128, 128)),
        "decoder": (Of(lambda m, x, y: m[0](x, y, tgt_mask=causal), nn.TransformerDecoderLayer(128, 4, 512, 0., batch_first=True)),
                    r(8, 64, 128), r(8, 80, 128)),
        "alibi": (Of(alibi, linear(128, 384)), r(4, 128, 128)),
        "swiglu": (Of(lambda m, x: m[2](F.silu(m[0](x)) * m[1](x)), linear(256, 688), linear(256, 688), linear(688, 256)),
                   r(1024, 256)),
        "contrastive": (Of(contrastive, linear(128, 128)), r(512, 128), r(512, 128)),
        "label_smoothing": (Of(lambda m, x, y: F.cross_entropy(m[0](x), y, label_smoothing=.1), linear(64, 1000)),
                            r(1024, 64), ints(0, 1000, (1024,))),
        "dice": (Of(dice, conv(8, 4, 3, padding=1)), r(8, 8, 96, 96), torch.rand(8, 4, 96, 96)),
        "gcn": (Of(lambda m, x: torch.zeros(4096, 64).index_add(0, edges[1], m[0](x)[edges[0]]), linear(64, 64)), r(4096, 64)),
        "gat": (Of(gat, linear(64, 64), linear(64, 1), linear(64, 1)), r(4096, 64)),
        "moe": (Of(moe, linear(64, 4), *[linear(64, 64) for _ in range(4)]), r(512, 64)),
        "vae": (Of(vae, linear(784, 256), linear(256, 64), linear(32, 256), linear(256, 784)), r(512, 784)),
        "factorization": (Of(factorization, nn.Embedding(50000, 16), nn.Sequential(linear(416, 128), nn.ReLU(), linear(128, 1))),
                          ints(0, 50000, (2048, 26))),
        "render": (Of(render, linear(32, 3), linear(32, 1)), r(4096, 32, 32), torch.rand(4096, 32)),
        "ppo": (Of(ppo, nn.Sequential(linear(32, 64), nn.Tanh(), linear(64, 6))), r(8192, 32), ints(0, 6, (8192,)),
                r(8192) * .1 - 1.8, r(8192)),
        "mixture": (Of(mixture, linear(16, 10), linear(16, 10), linear(16, 10)), r(8192, 16), r(8192)),
        "physics": (nn.Sequential(linear(3, 64), nn.Tanh(), linear(64, 64), nn.Tanh(), linear(64, 1)), r(8192, 3)),
        "by_fourier": (Of(by_fourier, linear(64, 64), linear(64, 64)), r(8, 256, 64)),
        "scan": (Of(scan, linear(64, 64), linear(64, 64)), r(8, 32, 64)),
        "lstm_cells": (Of(cells, nn.LSTMCell(32, 64)), r(64, 16, 32)),
        "chamfer": (Of(chamfer, linear(3, 3)), r(4, 256, 3), r(4, 256, 3)),
        "maxout": (Of(lambda m, x: m[0](x).view(4096, 64, 4).max(-1).values, linear(64, 256)), r(4096, 64)),
        "weight_norm": (nn.Sequential(norm(linear(128, 256)), nn.ReLU(), norm(linear(256, 64))), r(1024, 128)),
        "bilinear": (Of(lambda m, x, y: m[0](x, y), nn.Bilinear(32, 32, 16)), r(512, 32), r(512, 32)),
        "cholesky": (Of(lambda m, x: torch.linalg.cholesky((a := m[0](x).view(256, 8, 8)) @ a.mT + torch.eye(8)), linear(16, 64)),
                     r(256, 16)),
    }


def step(call, module, inputs):
    for p in module.parameters(): p.grad = None
    y = call(*inputs)
    (y if y.dim() == 0 else (y * y).mean()).backward()


def gradients(call, module, inputs):
    step(call, module, inputs)
    return [p.grad.clone() for p in module.parameters() if p.grad is not None]


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--only", type=lambda t: t.split(","))
    p.add_argument("--target", default="native")
    p.add_argument("--seconds", type=float, default=.6)
    a = p.parse_args()
    if not start_here(a.target): return
    import torch
    warnings.filterwarnings("ignore")
    options = {} if a.target == "native" else {"target": a.target}
    print(f"{'module':<20}{'eager ms':>9}{'inductor':>10}{'ours':>8}{'best/ours':>11}{'error':>9}")
    ratios = {}
    for name, (module, *inputs) in cases().items():
        if a.only and name not in a.only: continue
        times, found = {"eager": median_ms(lambda: step(module, module, inputs), a.seconds)}, {}
        for peer, made in (("inductor", {}), ("ours", {"backend": "cleave", "options": options})):
            torch._dynamo.reset()
            call = torch.compile(module, **made)
            try:
                found[peer] = gradients(call, module, inputs)
                times[peer] = median_ms(lambda: step(call, module, inputs), a.seconds)
            except Exception as failure:
                if peer == "ours": raise
                print(f"{name}: {peer} fails: {str(failure).splitlines()[0][:80]}")
        want = gradients(module, module, inputs)
        most = max(w.abs().max() for w in want)
        error = max((g - w).abs().max() for g, w in zip(found["ours"], want)) / most
        best = min(t for peer, t in times.items() if peer != "ours")
        ratios[name] = best / times["ours"]
        print(f"{name:<20}{times['eager']:>9.2f}{times.get('inductor', math.nan):>10.2f}{times['ours']:>8.2f}{ratios[name]:>11.2f}"
              f"{error:>9.0e}", flush=True)
    if ratios:
        least = sorted(ratios, key=ratios.get)[:4]
        print(f"geomean {math.exp(sum(map(math.log, ratios.values())) / len(ratios)):.2f}; the least: "
              + ", ".join(f"{n} {ratios[n]:.2f}" for n in least))


if __name__ == "__main__": main()

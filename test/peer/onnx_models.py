#!/usr/bin/env python3
"""Models that PyTorch exports to ONNX, run by the command: results and gradients beside PyTorch's.

    onnx_models.py CLEAVE

A convolution net, a transformer with sizes that stay open, a recurrent net. Compared are results, and the gradients of
the weights that bear their names in the file (the exporter folds and turns others). Skipped (77) without torch and onnx.
"""
import os, subprocess, sys, tempfile, warnings

warnings.filterwarnings("ignore")
try:
    import onnx, torch, torch.nn as nn, torch.nn.functional as F
    from safetensors.torch import load_file, save_file
except ImportError as e:
    print(f"skipped: {e}")
    sys.exit(77)


class Conv(nn.Module):
    def __init__(s):
        super().__init__()
        s.c1, s.n1, s.c2, s.f = nn.Conv2d(3, 8, 3, 2, 1), nn.BatchNorm2d(8), nn.Conv2d(8, 16, 3, 1, 1, groups=2), nn.Linear(16, 5)

    def forward(s, x):
        x = F.max_pool2d(F.relu(s.n1(s.c1(x))), 2)
        return s.f(F.silu(s.c2(x)).mean((2, 3)))


class Transformer(nn.Module):
    def __init__(s, V=50, D=32, H=4, T=12):
        super().__init__()
        s.H, s.e, s.p, s.n = H, nn.Embedding(V, D), nn.Parameter(torch.randn(T, D)), nn.LayerNorm(D)
        s.qkv, s.o, s.f1, s.f2 = nn.Linear(D, 3 * D), nn.Linear(D, D), nn.Linear(D, 64), nn.Linear(64, D)

    def forward(s, i):
        B, T = i.shape
        x = s.e(i) + s.p[:T]
        q, k, v = (z.view(B, T, s.H, -1).transpose(1, 2) for z in s.qkv(s.n(x)).chunk(3, -1))
        x = x + s.o(((q @ k.transpose(-1, -2) / 8**.5).softmax(-1) @ v).transpose(1, 2).reshape(B, T, -1))
        return x + s.f2(F.gelu(s.f1(x)))


class Recurrent(nn.Module):
    def __init__(s):
        super().__init__()
        s.l, s.g = nn.LSTM(5, 7, 2, batch_first=True, bidirectional=True), nn.GRU(14, 3)

    def forward(s, x): return s.g(s.l(x)[0])[0]


def main():
    torch.manual_seed(0)
    open_sizes = {"x": {0: "batch", 1: "time"}}
    cases = [("conv", Conv(), torch.randn(2, 3, 16, 16), {"x": {0: "batch"}}), ("transformer", Transformer(), torch.randint(0, 50, (2, 12)), open_sizes),
             ("recurrent", Recurrent(), torch.randn(2, 6, 5), None)]
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, model, x, sizes in cases:
            path = os.path.join(folder, name)
            model.eval()
            torch.onnx.export(model, (x,), path + ".onnx", input_names=["x"], opset_version=17, dynamo=False, dynamic_axes=sizes)
            y = model(x)
            y.sum().backward()
            save_file({"x": x}, path + ".in.safetensors")
            r = subprocess.run([sys.argv[1], "run", path + ".onnx", "--in", path + ".in.safetensors", "--grad", "--out", path + ".out.safetensors"],
                               capture_output=True, text=True)
            if r.returncode:
                print(f"{name}: {r.stderr}")
                wrong += 1
                continue
            got = load_file(path + ".out.safetensors")
            want = {"out.0": y.detach(), **{"grad." + k: p.grad for k, p in model.named_parameters() if "grad." + k in got}}
            worst = max(((got[k] - w).abs().max() / max(1, w.abs().max())).item() for k, w in want.items())
            print(f"{name}: {len(want) - 1} gradients, farthest {worst:.1e}")
            wrong += worst > 1e-5
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

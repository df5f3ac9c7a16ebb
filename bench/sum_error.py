#!/usr/bin/env python3
"""How far sums are off, beside PyTorch's: reductions, scans, products and gradients over 1e3 to 2^26 elements.

    python3 bench/sum_error.py [--cleave build/release/bin/cleave] [--most 26] [--only sum,cumsum] [--values equal,random,mixed]

Values are equal (0.1), random in [0, 1), and mixed (random numbers times 10^-4 to 10^4). An error is the largest over all
results, relative to the sum of the magnitudes that were added; exact sums are taken in float64 by pairs, which is off by
1e-15. Needs numpy, and PyTorch 2.13 for its columns.
"""
import argparse, json, os, struct, subprocess, sys, tempfile

import numpy as np

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
NAMES = {"F32": np.float32, "I64": np.int64, "F64": np.float64}


def save(path, arrays):
    head, data = {}, []
    at = 0
    for name, a in arrays.items():
        kind = next(k for k, t in NAMES.items() if t == a.dtype)
        head[name] = {"dtype": kind, "shape": list(a.shape), "data_offsets": [at, at + a.nbytes]}
        at += a.nbytes
        data.append(a)
    text = json.dumps(head).encode()
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text)
        for a in data:
            np.ascontiguousarray(a).tofile(f)


def load(path):
    with open(path, "rb") as f:
        (size,) = struct.unpack("<Q", f.read(8))
        head = json.loads(f.read(size))
        f.seek(0)
        whole = np.fromfile(f, np.uint8)
    out = {}
    for name, t in head.items():
        if name != "__metadata__":
            a, b = t["data_offsets"]
            out[name] = whole[8 + size + a:8 + size + b].view(NAMES[t["dtype"]]).reshape(t["shape"])
    return out


def values(kind, n, seed=0):
    rng = np.random.default_rng(seed)
    if kind == "equal":
        return np.full(n, 0.1, np.float32)
    x = rng.random(n, np.float32)
    if kind == "mixed":
        for i in range(0, n, 1 << 20):
            x[i:i + (1 << 20)] *= (10 ** (8 * rng.random(len(x[i:i + (1 << 20)])) - 4)).astype(np.float32)
    return x


def cumulative(x):
    """In float64, in chunks whose sums are added up in 80 bits."""
    chunk = 1 << 12
    if x.size < 2 * chunk:
        return np.cumsum(x, dtype=np.longdouble).astype(np.float64)
    rest = x.size % chunk
    rows = x[:x.size - rest].reshape(-1, chunk)
    before = np.cumsum(rows.sum(1, dtype=np.float64), dtype=np.longdouble)
    y = np.cumsum(rows, axis=1, dtype=np.float64)
    y[1:] += before[:-1, None].astype(np.float64)
    return np.concatenate([y.ravel(), float(before[-1]) + np.cumsum(x[x.size - rest:], dtype=np.float64)])


def wide(x):
    return x.astype(np.float64)


class Case:
    """text: the graph's calls and results, of x and what `more` makes of it; exact(x, more) and theirs(torch, x, more) give what
    the graph does; scale: what errors are relative to, else the exact result."""

    def __init__(self, name, shape, text, exact, theirs, more=None, scale=None):
        self.name, self.shape, self.text = name, shape, text
        self.exact, self.theirs, self.more, self.scale = exact, theirs, more, scale


def rows(c):
    return lambda n: (n // c, c)


def softmax_exact(x, m):
    e = np.exp(wide(x) - wide(x.max()))
    return e / e.sum()


def cross_entropy_exact(x, m):
    x = wide(x)
    top = x.max(1, keepdims=True)
    lse = (top + np.log(np.exp(x - top).sum(1, keepdims=True)))[:, 0]
    return (lse - x[np.arange(len(x)), m["t"]]).mean()


def normalised(x, m):
    x = wide(x)
    return (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5)


def layer_norm_theirs(torch, x, m):
    mean, rstd = torch.tensor(m["mean"]), torch.tensor(m["rstd"])
    w = torch.ones(x.shape[1])
    return torch.ops.aten.native_layer_norm_backward(torch.tensor(m["dy"]), x, [x.shape[1]], mean, rstd, w, w, [False, True, True])[1]


def layer_norm_more(x):
    x64 = wide(x)
    return {"dy": np.ascontiguousarray(x[::-1]), "mean": x64.mean(1, keepdims=True).astype(np.float32),
            "rstd": (1 / np.sqrt(x64.var(1, keepdims=True) + 1e-5)).astype(np.float32), "w": np.ones(x.shape[1], np.float32)}


def layer_norm_exact(x, m):
    return (wide(m["dy"]) * ((wide(x) - wide(m["mean"])) * wide(m["rstd"]))).sum(0)


FLAT = lambda n: (n,)
CASES = [
    Case("sum", FLAT, "%y = sum(%x)", lambda x, m: x.sum(dtype=np.float64), lambda t, x, m: x.sum()),
    Case("mean", FLAT, "%y = mean(%x)", lambda x, m: x.mean(dtype=np.float64), lambda t, x, m: x.mean()),
    Case("var", FLAT, "%y = var(%x)", lambda x, m: wide(x).var(ddof=1), lambda t, x, m: x.var(),
         scale=lambda x, m: max(wide(x).var(ddof=1), 1e-7 * wide(x).mean() ** 2)),
    Case("norm 2", FLAT, "%y = linalg_vector_norm(%x)", lambda x, m: np.sqrt((wide(x) ** 2).sum()), lambda t, x, m: t.linalg.vector_norm(x)),
    Case("norm 3", FLAT, "%y = linalg_vector_norm(%x; ord=3)", lambda x, m: np.cbrt((wide(x) ** 3).sum()), lambda t, x, m: t.linalg.vector_norm(x, 3)),
    Case("logsumexp", FLAT, "%y = logsumexp(%x; dim=[0])", lambda x, m: x.max() + np.log(np.exp(wide(x) - x.max()).sum()), lambda t, x, m: x.logsumexp(0)),
    Case("softmax", FLAT, "%y = _softmax(%x; dim=0, half_to_float=false)", softmax_exact, lambda t, x, m: x.softmax(0), scale=lambda x, m: softmax_exact(x, m).max()),
    Case("cumsum", FLAT, "%y = cumsum(%x; dim=0)", lambda x, m: cumulative(x), lambda t, x, m: x.cumsum(0)),
    Case("mse", FLAT, "%d = sub(%x, %z)\n  %q = mul(%d, %d)\n  %y = mean(%q)", lambda x, m: ((wide(x) - wide(m["z"])) ** 2).mean(),
         lambda t, x, m: t.nn.functional.mse_loss(x, t.tensor(m["z"])), more=lambda x: {"z": np.ascontiguousarray(-x[::-1])}),
    Case("cross-entropy", rows(16), "%l = _log_softmax(%x; dim=1, half_to_float=false)\n  %y, %w = nll_loss_forward(%l, %t; reduction=1, ignore_index=-100)",
         cross_entropy_exact, lambda t, x, m: t.nn.functional.cross_entropy(x, t.tensor(m["t"])), more=lambda x: {"t": np.arange(len(x)) % 16}),
    Case("rows of 1024", lambda n: (max(n // 1024, 1), min(n, 1024)), "%y = sum(%x; dim=[1])", lambda x, m: x.sum(1, dtype=np.float64), lambda t, x, m: x.sum(1)),
    Case("64 long rows", lambda n: (64, n // 64), "%y = sum(%x; dim=[1])", lambda x, m: x.sum(1, dtype=np.float64), lambda t, x, m: x.sum(1)),
    Case("64 columns", rows(64), "%y = sum(%x; dim=[0])", lambda x, m: x.sum(0, dtype=np.float64), lambda t, x, m: x.sum(0)),
    Case("3 columns", lambda n: (n // 3, 3), "%y = sum(%x; dim=[0])", lambda x, m: x.sum(0, dtype=np.float64), lambda t, x, m: x.sum(0)),
    Case("channels", lambda n: (max(n // 8192, 1), 8, min(1024, n // 8)), "%y = sum(%x; dim=[0,2])", lambda x, m: x.sum((0, 2), dtype=np.float64), lambda t, x, m: x.sum((0, 2))),
    Case("var of columns", rows(64), "%y = var(%x; dim=[0])", lambda x, m: wide(x).var(0, ddof=1), lambda t, x, m: x.var(0),
         scale=lambda x, m: np.maximum(wide(x).var(0, ddof=1), 1e-7 * wide(x).mean(0) ** 2)),
    Case("layer_norm", lambda n: (max(n // 1000, 1), 1000), "%y, %m, %r = native_layer_norm(%x, none, none; normalized_shape=[1000], eps=1e-05)",
         normalised, lambda t, x, m: t.nn.functional.layer_norm(x, [1000]), scale=lambda x, m: np.ones(1)),
    Case("norm's dweight", rows(64), "%d, %y, %b = native_layer_norm_backward(%dy, %x, %mean, %rstd, %w, none; normalized_shape=[64], output_mask=[false,true,false])",
         layer_norm_exact, layer_norm_theirs, more=layer_norm_more, scale=lambda x, m: np.abs(wide(m["dy"])).sum(0)),
    Case("mm of long k", lambda n: (4, n // 4), "%y = mm(%x, %z)", lambda x, m: np.stack([(wide(x) * wide(m["z"][:, j])).sum(1) for j in range(4)], 1),
         lambda t, x, m: x @ t.tensor(m["z"]), more=lambda x: {"z": np.ascontiguousarray(x[:, ::-1].T)}),
    Case("dot", lambda n: (1, n), "%y = mm(%x, %z)", lambda x, m: (wide(x) * wide(m["z"].T)).sum(1, keepdims=True),
         lambda t, x, m: t.dot(x[0], t.tensor(m["z"][:, 0])).view(1, 1), more=lambda x: {"z": np.ascontiguousarray(x[:, ::-1].T)}),
    Case("conv dweight", lambda n: (max(n // 4096, 1), 1, 64, min(64, n // 64)),
         "%dx, %y, %db = convolution_backward(%dy, %x, %w; bias_sizes=none, stride=[1,1], padding=[0,0], dilation=[1,1], transposed=false, output_padding=[0,0], groups=1, output_mask=[false,true,false])",
         lambda x, m: (wide(x) * wide(m["dy"])).sum().reshape(1, 1, 1, 1),
         lambda t, x, m: t.ops.aten.convolution_backward(t.tensor(m["dy"]), x, t.ones(1, 1, 1, 1), None, [1, 1], [0, 0], [1, 1], False, [0, 0], 1, [False, True, False])[1],
         more=lambda x: {"dy": np.ascontiguousarray(x[..., ::-1]), "w": np.ones((1, 1, 1, 1), np.float32)}),
    Case("embedding of one row", rows(16), "%y = embedding_dense_backward(%x, %i; num_weights=4, padding_idx=-1, scale_grad_by_freq=false)",
         lambda x, m: np.stack([x.sum(0, dtype=np.float64) if r == 1 else np.zeros(16) for r in range(4)]),
         lambda t, x, m: t.ops.aten.embedding_dense_backward(x, t.tensor(m["i"]), 4, -1, False), more=lambda x: {"i": np.full(len(x), 1)},
         scale=lambda x, m: x.sum(0, dtype=np.float64)),
    Case("index_add", FLAT, "%y = index_add(%s, %i, %x; dim=0)", lambda x, m: np.array([0, x.sum(dtype=np.float64)]),
         lambda t, x, m: t.zeros(2).index_add(0, t.tensor(m["i"]), x), more=lambda x: {"i": np.full(len(x), 1), "s": np.zeros(2, np.float32)},
         scale=lambda x, m: x.sum(dtype=np.float64)),
]


def ours(cleave, case, given, folder):
    kinds = {np.dtype(np.float32): "f32", np.dtype(np.int64): "i64"}
    head = ", ".join(f"%{k}: input {kinds[a.dtype]}[{','.join(map(str, a.shape))}]" for k, a in given.items())
    with open(f"{folder}/g.clv", "w") as f:
        f.write(f"graph @main({head}) {{\n  {case.text}\n  return %y\n}}\n")
    save(f"{folder}/in.safetensors", given)
    run = subprocess.run([cleave, "run", f"{folder}/g.clv", "--in", f"{folder}/in.safetensors", "--out", f"{folder}/out.safetensors"], capture_output=True, text=True)
    if run.returncode:
        sys.exit(f"{case.name}: {run.stderr}")
    return load(f"{folder}/out.safetensors")["out.0"]


def off(got, want, scale):
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(np.nanmax(np.abs(wide(np.asarray(got)) - want) / np.abs(scale)))


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--cleave", default=f"{ROOT}/build/release/bin/cleave")
    options.add_argument("--most", type=int, default=26, help="the most elements, as a power of two")
    options.add_argument("--only", default="", help="names of rows, with commas")
    options.add_argument("--values", default="equal,random,mixed")
    args = options.parse_args()
    try:
        import torch
    except ImportError:
        torch = None
        print("PyTorch is not installed: its columns are left out", file=sys.stderr)
    sizes = [n for n in (1000, 1 << 14, 10**6, 1 << 22, 1 << 24, 1 << 26) if n <= 1 << args.most]
    for kind in args.values.split(","):
        print(f"\n{kind} values: ours / PyTorch's\n{'':<20}" + "".join(f"{n:>20}" for n in sizes))
        for case in CASES:
            if args.only and case.name not in args.only.split(","):
                continue
            line = f"{case.name:<20}"
            for n in sizes:
                shape = case.shape(n)
                x = values(kind, int(np.prod(shape))).reshape(shape)
                more = case.more(x) if case.more else {}
                want = case.exact(x, more)
                scale = case.scale(x, more) if case.scale else want
                with tempfile.TemporaryDirectory() as folder:
                    mine = off(ours(args.cleave, case, {"x": x, **more}, folder), want, scale)
                peer = off(case.theirs(torch, torch.from_numpy(x), more).numpy(), want, scale) if torch else float("nan")
                line += f"{mine:>11.0e} {peer:<8.0e}"
            print(line, flush=True)


if __name__ == "__main__":
    main()

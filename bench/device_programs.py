#!/usr/bin/env python3
"""Whole training steps of models as torchvision, transformers and PyTorch define them, on a GPU, beside PyTorch.

    python3 bench/device_programs.py BENCH_STEP [--models vit,llama] [--peers eager,inductor,graph] [--seconds 2] [--dtype bf16]

Forward, backward and AdamW under autocast, without dropout. torch.export writes each model with its loss as a .pt2,
which BENCH_STEP reads; the peers run the same module. ms are medians; best / ours above 1: ours is faster; GB: the most
memory that either had. What isn't installed is skipped by name. On a machine without a GPU, --device cpu.
"""
import argparse, json, os, pathlib, statistics, subprocess, sys, tempfile, time

from peer_programs import text_model, unet


def images(name, batch, **options):
    import torch, torchvision
    model = getattr(torchvision.models, name)(**options)
    for m in model.modules():
        if type(m).__name__ == "StochasticDepth": m.p = 0.0
    return model, (torch.randn(batch, 3, 224, 224),), torch.randint(0, 100, (batch,))


def tokens(kind, config, batch, length, **options):
    import torch
    return (*text_model(kind, config, batch, length, **options), torch.randint(0, 100, (batch, length)))


def padded(kind, config, batch, length, **options):
    """Sequences of different lengths, with the mask that transformers takes for them."""
    import torch
    (model, (ids,)), lengths = text_model(kind, config, batch, length, **options), torch.randint(length // 4, length + 1, (batch, 1))
    class Masked(torch.nn.Module):
        def __init__(self): super().__init__(); self.inner = model.inner
        def forward(self, ids, mask): return self.inner(input_ids=ids, attention_mask=mask).logits
    return Masked(), (ids, (torch.arange(length) < lengths).long()), torch.randint(0, 100, (batch, length))


def mixer(batch=128, width=512, depth=8, patches=196):
    import torch
    from torch import nn
    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.n1, self.n2 = nn.LayerNorm(width), nn.LayerNorm(width)
            self.across = nn.Sequential(nn.Linear(patches, width // 2), nn.GELU(), nn.Linear(width // 2, patches))
            self.along = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))
        def forward(self, x):
            x = x + self.across(self.n1(x).transpose(1, 2)).transpose(1, 2)
            return x + self.along(self.n2(x))
    class Mixer(nn.Module):
        def __init__(self):
            super().__init__()
            self.stem, self.blocks = nn.Conv2d(3, width, 16, 16), nn.Sequential(*[Block() for _ in range(depth)])
            self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, 1000)
        def forward(self, x): return self.head(self.norm(self.blocks(self.stem(x).flatten(2).transpose(1, 2))).mean(1))
    return Mixer(), (torch.randn(batch, 3, 224, 224),), torch.randint(0, 100, (batch,))


def labelled_unet(batch=16, pixels=128):
    import torch
    return (*unet(batch, pixels, 64, channels=100), torch.randint(0, 100, (batch, pixels, pixels)))


base = dict(hidden_size=768, num_hidden_layers=12, num_attention_heads=12, vocab_size=32000)
MODELS = {
    "vit": lambda: images("vit_b_16", 64),
    "llama": lambda: tokens("LlamaForCausalLM", "LlamaConfig", 8, 1024, intermediate_size=2048, num_key_value_heads=4, **base),
    "mixer": mixer,
    "convnext": lambda: images("convnext_tiny", 64),
    "swin": lambda: images("swin_t", 64),
    "efficientnet": lambda: images("efficientnet_b0", 128, dropout=0.0),
    "mobilenet": lambda: images("mobilenet_v2", 128, dropout=0.0),
    "densenet": lambda: images("densenet121", 64),
    "unet": labelled_unet,
    "roberta": lambda: tokens("RobertaForMaskedLM", "RobertaConfig", 16, 512, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0,
                              intermediate_size=3072, max_position_embeddings=514, **base),
    "bert_padded": lambda: padded("BertForMaskedLM", "BertConfig", 16, 512, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0,
                                  intermediate_size=3072, max_position_embeddings=512, **base),
    "mistral": lambda: tokens("MistralForCausalLM", "MistralConfig", 8, 512, num_key_value_heads=4, sliding_window=128, intermediate_size=2048, **base),
    "neox": lambda: tokens("GPTNeoXForCausalLM", "GPTNeoXConfig", 8, 512, intermediate_size=3072, hidden_dropout=0.0, attention_dropout=0.0, **base),
}


def made(name):
    """The module whose forward returns the loss, and its inputs."""
    import torch
    torch.manual_seed(0)
    model, inputs, target = MODELS[name]()
    class Loss(torch.nn.Module):
        def __init__(self): super().__init__(); self.model = model
        def forward(self, *inputs):
            *rest, target = inputs
            out = self.model(*rest).float()
            if target.dim() == 2 and out.dim() == 3: out, target = out.flatten(0, 1), target.flatten()
            return torch.nn.functional.cross_entropy(out, target)
    return Loss().train(), (*inputs, target)


def export(name, path):
    import torch
    module, inputs = made(name)
    torch.export.save(torch.export.export(module, inputs, strict=False), path)


def peer(name, mode, device, dtype, seconds):
    """One JSON line: ms of a step, and the first one's."""
    import torch
    torch.set_float32_matmul_precision("high")
    module, inputs = made(name)
    on_gpu = device != "cpu"
    wait = torch.cuda.synchronize if on_gpu else lambda: None
    module, inputs = module.to(device), [x.to(device) for x in inputs]
    optimizer = torch.optim.AdamW(module.parameters(), lr=1e-4, fused=True, **({"capturable": True} if on_gpu else {}))
    f = module if mode == "eager" else torch.compile(module)
    def step():
        with torch.autocast(device.split(":")[0], getattr(torch, dtype), enabled=dtype != "float32"): loss = f(*inputs)
        loss.backward(); optimizer.step(); optimizer.zero_grad(set_to_none=False)
    begin = time.monotonic(); step(); wait(); first = time.monotonic() - begin
    call = step
    if mode == "graph":
        stream = torch.cuda.Stream(); stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(5): step()
        torch.cuda.current_stream().wait_stream(stream); wait()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph): step()
        call = graph.replay
    for _ in range(5): call()
    wait(); times, until = [], time.monotonic() + seconds
    while time.monotonic() < until or len(times) < 5:
        begin = time.monotonic(); call(); wait(); times.append(time.monotonic() - begin)
    peak = torch.cuda.max_memory_allocated() / 1e9 if on_gpu else 0
    print(json.dumps({"ms": 1e3 * statistics.median(times), "first_s": first, "gb": peak}))


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words = lambda t: [w for w in t.split(",") if w]
    p.add_argument("bench_step")
    p.add_argument("--models", type=words, default=list(MODELS))
    p.add_argument("--peers", type=words)
    p.add_argument("--device", default="cuda:0")
    p.add_argument("--dtype", default="bf16", choices=["bf16", "f16", "f32"])
    p.add_argument("--seconds", type=float, default=2)
    p.add_argument("--keep", help="a folder for the .pt2, which are written where they are missing")
    p.add_argument("--one", nargs=2, help=argparse.SUPPRESS)  # MODEL MODE: a process of its own
    a = p.parse_args()
    dtype = {"bf16": "bfloat16", "f16": "float16", "f32": "float32"}[a.dtype]
    if a.one:
        if a.one[1].endswith(".pt2"): return export(*a.one)
        return peer(*a.one, a.device, dtype, a.seconds)
    peers = ["eager", "inductor"] + ([] if a.device == "cpu" else ["graph"]) if a.peers is None else a.peers
    print(f"{'model':<14}{'ours ms':>9}" + "".join(f"{x:>10}" for x in peers) + f"{'best/ours':>11}{'first s':>9}{'GB':>7}{'theirs':>8}", flush=True)
    ratios = []
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(a.keep or folder); folder.mkdir(parents=True, exist_ok=True)
        me = [sys.executable, os.path.abspath(__file__), a.bench_step, "--device", a.device, "--dtype", a.dtype, "--seconds", str(a.seconds), "--one"]
        for model in a.models:
            path, failed = folder / f"{model}.pt2", []
            def json_of(what, *command):
                done = subprocess.run([str(w) for w in command], capture_output=True, text=True)
                lines = [l for l in done.stdout.splitlines() if l.startswith("{")]
                if done.returncode == 0 and lines: return json.loads(lines[-1])
                failed.append(f"{what}: {(done.stderr.strip().splitlines() or [f'exit status {done.returncode}'])[-1][:200]}")
                return None
            if not path.exists():
                done = subprocess.run([*me, model, str(path)], capture_output=True, text=True)
                if done.returncode:
                    print(f"{model:<14} skipped: {(done.stderr.strip().splitlines() or ['?'])[-1][:200]}", flush=True)
                    continue
            name = str(path) + ("" if a.dtype == "f32" else f":{a.dtype}")
            ours = json_of("ours", a.bench_step, name, "--device", a.device, "--seconds", a.seconds)
            theirs = {mode: json_of(mode, *me, model, mode) for mode in peers}
            good = [t["ms"] for t in theirs.values() if t]
            ratio = min(good) / ours["step_ms"] if good and ours else None
            if ratio: ratios.append(ratio)
            cell = lambda x, width, digits: f"{'-':>{width}}" if x is None else f"{x:>{width}.{digits}f}"
            print(f"{model:<14}{cell(ours and ours['step_ms'], 9, 2)}" + "".join(cell(t and t["ms"], 10, 2) for t in theirs.values()) +
                  cell(ratio, 11, 2) + cell(ours and ours["first_ms"] / 1e3, 9, 2) + cell(ours and ours["peak_bytes"] / 1e9, 7, 2) +
                  cell(max([t["gb"] for t in theirs.values() if t], default=None), 8, 2) + "  " + "; ".join(failed), flush=True)
    if ratios: print(f"geomean {statistics.geometric_mean(ratios):.2f}, least {min(ratios):.2f}")


if __name__ == "__main__":
    sys.exit(main())

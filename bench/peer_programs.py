#!/usr/bin/env python3
"""Forward and backward of models as timm, transformers and PyTorch define them, beside PyTorch, in turns.

    python3 bench/peer_programs.py [CLEAVE] [--models vit,llama] [--peers eager,compile] [--rounds 3]
                                   [--threads N] [--target T] [--keep DIR]

Each model, with random weights and without dropout, is exported to a graph in --keep (a folder of its
own, reused where the graph is there) and run by `cleave run --grad`; the peers run the same module and
take the gradients of the same sum with respect to the same parameters. `error` is our largest
difference from float64, of a result or gradient, by the largest number in it. With --target
x86-64-v3 the peers are told to use AVX2 alone as well. A peer or a library that isn't installed is
skipped by name. Needs ../shared/peers/fx_to_clv.py, which writes
the graphs.
"""
import argparse, json, math, os, pathlib, statistics, subprocess, sys, tempfile, time

from peer_target import environment, tell_inductor

BENCH = pathlib.Path(__file__).resolve().parent
PEERS = BENCH.parent.parent / "shared/peers"


def torchvision_without_operators():
    """timm needs torchvision's Python part alone; a CPU build of PyTorch can't load its compiled operators."""
    import importlib.util, re, torch
    spec = importlib.util.find_spec("torchvision")
    if spec is None: return None
    text = open(os.path.join(os.path.dirname(spec.origin), "_meta_registrations.py")).read()
    library = torch.library.Library("torchvision", "DEF")
    try:
        for name in sorted(set(re.findall(r'torchvision::(\w+)', text) + re.findall(r'@register_meta\("(\w+)"', text))):
            library.define(f"{name}(Tensor x) -> Tensor")
    except RuntimeError: pass  # it has them
    return library


def timm_model(name, batch, pixels=224, **options):
    import timm, torch
    return timm.create_model(name, num_classes=100, **options), [torch.randn(batch, 3, pixels, pixels)]


def text_model(kind, config, batch=4, length=128, **options):
    import torch, transformers
    values = getattr(transformers, config)(**options)
    values._attn_implementation = "sdpa" if kind not in ("T5EncoderModel", "DebertaV2Model") else "eager"
    module = getattr(transformers, kind)(values)
    class Ids(torch.nn.Module):
        def __init__(self): super().__init__(); self.inner = module
        def forward(self, ids):
            out = self.inner(input_ids=ids, **({"use_cache": False} if hasattr(values, "use_cache") else {}))
            return out.logits if "logits" in out else out.last_hidden_state
    return Ids(), [torch.randint(0, 1000, (batch, length))]


def lstm(batch=16, steps=32, width=256):
    import torch
    class Unrolled(torch.nn.Module):
        def __init__(self): super().__init__(); self.cell, self.head = torch.nn.LSTMCell(width, width), torch.nn.Linear(width, 10)
        def forward(self, x):
            h = c = torch.zeros(batch, width)
            for t in range(steps): h, c = self.cell(x[:, t], (h, c))
            return self.head(h)
    return Unrolled(), [torch.randn(batch, steps, width)]


def unet(batch=2, pixels=128, width=32, channels=3):
    import torch
    from torch import nn
    def block(i, o): return nn.Sequential(nn.Conv2d(i, o, 3, 1, 1), nn.GroupNorm(8, o), nn.SiLU(), nn.Conv2d(o, o, 3, 1, 1), nn.GroupNorm(8, o), nn.SiLU())
    class UNet(nn.Module):
        def __init__(self):
            super().__init__(); w = [width, 2 * width, 4 * width]
            self.down, self.middle = nn.ModuleList([block(3, w[0]), block(w[0], w[1])]), block(w[1], w[2])
            self.up, self.merge = nn.ModuleList([nn.ConvTranspose2d(w[2], w[1], 2, 2), nn.ConvTranspose2d(w[1], w[0], 2, 2)]), nn.ModuleList([block(2 * w[1], w[1]), block(2 * w[0], w[0])])
            self.out = nn.Conv2d(w[0], channels, 1)
        def forward(self, x):
            kept = []
            for d in self.down: x = d(x); kept.append(x); x = nn.functional.max_pool2d(x, 2)
            x = self.middle(x)
            for u, m in zip(self.up, self.merge): x = m(torch.cat([u(x), kept.pop()], 1))
            return self.out(x)
    return UNet(), [torch.randn(batch, 3, pixels, pixels)]


small = dict(num_attention_heads=4, hidden_size=256, num_hidden_layers=4, vocab_size=1000)
MODELS = {
    "lstm": lstm,
    "unet": unet,
    "vit": lambda: timm_model("vit_tiny_patch16_224", 4),
    "swin": lambda: timm_model("swin_tiny_patch4_window7_224", 2, embed_dim=48, depths=(2, 2, 2, 2), drop_path_rate=0),
    "mixer": lambda: timm_model("mixer_s16_224", 2),
    "convnext": lambda: timm_model("convnext_atto", 4),
    "efficientnet": lambda: timm_model("efficientnet_b0", 4, drop_rate=0, drop_path_rate=0),
    "mobilenet": lambda: timm_model("mobilenetv3_small_100", 8, drop_rate=0),
    "resnet18": lambda: timm_model("resnet18", 4),
    "regnet": lambda: timm_model("regnety_004", 4),
    "densenet": lambda: timm_model("densenet121", 2, 160),
    "llama": lambda: text_model("LlamaForCausalLM", "LlamaConfig", intermediate_size=688, num_key_value_heads=2, **small),
    "bert": lambda: text_model("BertModel", "BertConfig", intermediate_size=1024, hidden_dropout_prob=0, attention_probs_dropout_prob=0, **small),
    "t5": lambda: text_model("T5EncoderModel", "T5Config", d_model=256, d_kv=64, d_ff=1024, num_layers=4, num_heads=4, vocab_size=1000, dropout_rate=0),
    "neox": lambda: text_model("GPTNeoXForCausalLM", "GPTNeoXConfig", intermediate_size=1024, hidden_dropout=0, attention_dropout=0, **small),
    "deberta": lambda: text_model("DebertaV2Model", "DebertaV2Config", intermediate_size=1024, hidden_dropout_prob=0, attention_probs_dropout_prob=0, relative_attention=True, pos_att_type=["c2p", "p2c"], **small),
}


def export_model(name, path):
    """Writes NAME.clv, .in.safetensors and .want.safetensors, unless they are there."""
    if os.path.exists(f"{path}.want.safetensors"): return
    import torch
    sys.path.insert(0, str(PEERS))
    from fx_to_clv import export
    module, inputs = made(name)
    export(module, inputs, path)


def made(name):
    import torch
    torch.manual_seed(0)
    library = torchvision_without_operators()
    module, inputs = MODELS[name]()
    module.library = library
    return module.train(), inputs


def run_peer(name, how, path, threads, seconds):
    """One JSON line: ms of a forward and backward, and the first call's."""
    import torch
    tell_inductor()
    from safetensors.torch import load_file
    torch.set_num_threads(threads)
    module, inputs = made(name)
    cotangent = next(t for n, t in load_file(f"{path}.in.safetensors").items() if n.startswith("cotangent."))
    parameters = dict(module.named_parameters())
    f = torch.compile(module) if how == "compile" else module
    def step():
        out = f(*inputs)
        return torch.autograd.grad((out * cotangent).sum(), list(parameters.values()), allow_unused=True)
    begin = time.monotonic()
    gradients = step()
    first = time.monotonic() - begin
    step(); times = []
    until = time.monotonic() + seconds
    while time.monotonic() < until or len(times) < 5:
        begin = time.monotonic(); step(); times.append(time.monotonic() - begin)
    print(json.dumps({"ms": 1e3 * statistics.median(times), "first_ms": 1e3 * first}))


def run_ours(cleave, path, threads, target, seconds):
    def once(repeat):
        done = subprocess.run([cleave, "run", f"{path}.clv", "--grad", "--in", f"{path}.in.safetensors", "--out", f"{path}.out.safetensors", "--threads", str(threads),
                               "--repeat", str(repeat), "--json", *(["--target", target] if target else [])], capture_output=True, text=True)
        if done.returncode: raise RuntimeError(done.stderr[-400:])
        return json.loads(done.stdout.splitlines()[-1])
    first = once(3)
    figures = once(max(5, int(seconds * 1e3 / first["run_ms"]) + 2))
    return {"ms": figures["run_ms"], "first_ms": first["compile_ms"], "kernels": figures["kernels"], "peak_mb": figures["peak_bytes"] / 2**20}


def error_of(path):
    """The largest difference of a result or gradient from float64, by the largest number of that tensor."""
    from safetensors.torch import load_file
    got, want, worst = load_file(f"{path}.out.safetensors"), load_file(f"{path}.want.safetensors"), (0, "")
    scale_all = max([float(w.abs().max()) for n, w in want.items() if n.startswith("grad") and w.numel()] or [1])
    for n, w in want.items():
        if not w.is_floating_point() or not w.numel(): continue
        scale = max(float(w.abs().max()), 1e-3 * scale_all)
        worst = max(worst, (float((got[n].double() - w).abs().max()) / scale, n))
    return worst


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("cleave", nargs="?", default=str(BENCH.parent / "build/release/bin/cleave"))
    p.add_argument("--models", type=lambda t: t.split(","), default=list(MODELS))
    p.add_argument("--peers", type=lambda t: [w for w in t.split(",") if w], default=["eager", "compile"])
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--seconds", type=float, default=2)
    p.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    p.add_argument("--target")
    p.add_argument("--keep")
    p.add_argument("--one", nargs=3, help=argparse.SUPPRESS)  # MODEL PEER PATH: a peer's process
    a = p.parse_args()
    if a.one:
        if a.one[1] == "export": return export_model(a.one[0], a.one[2])
        return run_peer(*a.one, a.threads, a.seconds)
    if not (PEERS / "fx_to_clv.py").exists(): sys.exit(f"skipped: {PEERS}/fx_to_clv.py isn't there")
    print(f"{'model':<14}{'ours ms':>9}" + "".join(f"{x:>10}" for x in a.peers) + f"{'best/ours':>11}{'kernels':>9}{'compile ms':>11}{'error':>10}", flush=True)
    ratios = []
    with tempfile.TemporaryDirectory() as folder:
        folder = a.keep or folder
        os.makedirs(folder, exist_ok=True)
        for model in a.models:
            path, me = f"{folder}/{model}", [sys.executable, __file__, "--threads", str(a.threads), "--seconds", str(a.seconds), "--one", model]
            done = subprocess.run([*me, "export", path], capture_output=True, text=True)
            if done.returncode:
                print(f"{model:<14} skipped: {(done.stderr.strip().splitlines() or ['?'])[-1][:150]}", flush=True)
                continue
            figures = {r: [] for r in ["ours", *a.peers]}
            failed = ""
            for _ in range(a.rounds):
                try: figures["ours"].append(run_ours(a.cleave, path, a.threads, a.target, a.seconds))
                except RuntimeError as e: failed = str(e); break
                for peer in a.peers:
                    done = subprocess.run([*me, peer, path], capture_output=True, text=True, env=environment(a.target))
                    time.sleep(0.3)  # its threads spin for a while
                    if done.returncode: print(f"{model}: {peer} failed: {done.stderr[-300:]}", file=sys.stderr)
                    else: figures[peer].append(json.loads(done.stdout.splitlines()[-1]))
            if failed:
                print(f"{model:<14} refused: {failed.strip()[-200:]}", flush=True)
                continue
            ms = {r: statistics.median(f["ms"] for f in all) if all else math.nan for r, all in figures.items()}
            best = min([ms[r] for r in a.peers if not math.isnan(ms[r])], default=math.nan)
            ratios.append(best / ms["ours"])
            worst, name = error_of(path)
            print(f"{model:<14}{ms['ours']:>9.2f}" + "".join(f"{ms[r]:>10.2f}" for r in a.peers) + f"{ratios[-1]:>11.2f}{figures['ours'][0]['kernels']:>9}{figures['ours'][0]['first_ms']:>11.0f}{worst:>10.1e} {name}", flush=True)
    good = [r for r in ratios if not math.isnan(r)]
    if good: print(f"geometric mean {math.exp(sum(map(math.log, good)) / len(good)):.2f}, least {min(good):.2f}")


if __name__ == "__main__": main()

#!/usr/bin/env python3
"""The run of `make demo` beside PyTorch: same model, same initial weights, same batches.

    python3 bench/peer_gpt.py [--steps 1000] [--compare 50] [--cleave build/release/bin/cleave]

Asserts that the first --compare losses agree to 1e-4 relative and the validation loss after --steps
steps to 0.02, and prints both step times. Needs PyTorch 2.13 and safetensors, and the text that
`make demo` made.
"""
import argparse, json, math, os, subprocess, sys, tempfile, time

root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(root, "bench"))
MASK = (1 << 64) - 1


def splitmix64(x):
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & MASK
    return x ^ (x >> 31)


class Text:
    """The windows of tool/text_data.h."""

    def __init__(self, path):
        data = open(path, "rb").read()
        self.vocabulary = sorted(set(data))
        code = {c: i for i, c in enumerate(self.vocabulary)}
        self.codes = [code[c] for c in data]
        self.train = len(data) // 10 * 9

    def windows(self, starts, context):
        import torch
        x = torch.tensor([self.codes[s:s + context] for s in starts])
        return x, torch.tensor([self.codes[s + 1:s + context + 1] for s in starts])

    def batch(self, seed, step, batch, context):
        n = self.train - context
        return self.windows([splitmix64((seed + 0x9E3779B97F4A7C15 * (step * batch + b + 1)) & MASK) % n for b in range(batch)], context)

    def held_out(self, batch, context):
        size = len(self.codes) - self.train
        count = max(1, min(64, (size - 1) // context // batch)) * batch
        last = size - context - 1
        starts = [self.train + last * w // (count - 1) for w in range(count)]
        for i in range(0, count, batch):
            yield self.windows(starts[i:i + batch], context)


def cosine(step, peak, warmup, total, final):
    if step < warmup: return peak * (step + 1) / warmup
    t = 1.0 if step >= total else (step - warmup) / (total - warmup)
    return final + (peak - final) * 0.5 * (1 + math.cos(math.pi * t))


def run_cleave(a, folder):
    init = os.path.join(folder, "init.safetensors")
    out = subprocess.run([a.cleave, "train", "--text", a.text, "--layers", str(a.layers), "--width", str(a.width), "--heads", str(a.heads),
                          "--context", str(a.context), "--batch", str(a.batch), "--steps", str(a.steps), "--save-init", init, "--json", "--threads", "2"],
                         stdout=subprocess.PIPE, check=True, text=True)
    lines = [json.loads(l) for l in out.stdout.splitlines()]
    losses = [l["loss"] for l in lines[:-1]]
    return init, losses, lines[-1]["val_loss"], 1e3 * a.batch * a.context / lines[-2]["tokens_per_s"]


def run_torch(a, init):
    import torch
    from safetensors.torch import load_file
    from gpt_torch import Gpt, adamw
    torch.set_num_threads(2)
    text = Text(a.text)
    model = Gpt(len(text.vocabulary), a.layers, a.width, a.heads, a.context)
    state = {k: v for k, v in load_file(init).items() if not k.startswith("optimizer.") and k != "rng"}
    model.load_state_dict(state)
    opt = adamw(model, a.lr, 0.99, 0.1)
    losses, times = [], []
    for i in range(a.steps):
        x, y = text.batch(0, i, a.batch, a.context)
        for g in opt.param_groups: g["lr"] = cosine(i, a.lr, a.warmup, a.steps, a.final_lr)
        t = time.perf_counter()
        loss = model(x, y)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step(); opt.zero_grad(set_to_none=True)
        losses.append(loss.item())
        times.append(time.perf_counter() - t)
    with torch.no_grad():
        val = [model(x, y).item() for x, y in text.held_out(a.batch, a.context)]
    return losses, sum(val) / len(val), 1e3 * sorted(times)[len(times) // 2]


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--cleave", default=os.path.join(root, "build/release/bin/cleave"))
    p.add_argument("--text", default=os.path.join(root, "build/demo/kjv.txt"))
    for name, value in (("layers", 4), ("width", 128), ("heads", 4), ("context", 64), ("batch", 12), ("steps", 1000), ("compare", 50), ("warmup", 100)):
        p.add_argument("--" + name, type=int, default=value)
    p.add_argument("--lr", type=float, default=1e-3)
    p.add_argument("--final-lr", type=float, default=1e-4)
    a = p.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        init, ours, our_val, our_ms = run_cleave(a, folder)
        theirs, their_val, their_ms = run_torch(a, init)
    n = min(a.compare, a.steps)
    worst = max(abs(x - y) / abs(y) for x, y in zip(ours[:n], theirs[:n]))
    print(f"first {n} losses: largest relative difference {worst:.2e} (at most 1e-4)")
    print(f"loss at step {a.steps - 1}: cleave {ours[-1]:.4f}, PyTorch {theirs[-1]:.4f}")
    print(f"validation loss after {a.steps} steps: cleave {our_val:.4f}, PyTorch {their_val:.4f} (within 0.02)")
    print(f"step: cleave {our_ms:.1f} ms, PyTorch eager {their_ms:.1f} ms, ratio {their_ms / our_ms:.2f}")
    ok = worst <= 1e-4 and abs(our_val - their_val) <= 0.02
    print("agree" if ok else "DISAGREE")
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())

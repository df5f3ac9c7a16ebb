#!/usr/bin/env python3
"""Whole training steps beside PyTorch's eager mode, in turns in one run: demo and gpt2 of bench/step.cpp.

    python3 bench/peer_step.py [BENCH_STEP]      (build/release/bin/bench_step)

Prints a table. Needs PyTorch 2.13; without it the PyTorch columns are left out.
"""
import json, os, subprocess, sys, time

root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(root, "bench"))
MODELS = {"demo": ((63, 4, 128, 4, 64), 12, 64, 50), "gpt2": ((50304, 12, 768, 12, 1024), 4, 64, 5)}


def torch_ms(name):
    import torch
    from gpt_torch import Gpt, adamw
    torch.set_num_threads(2)
    shape, batch, context, steps = MODELS[name]
    model = Gpt(*shape)
    opt = adamw(model, 1e-4, 0.999, 0.01, fused=True)
    x, y = torch.randint(0, shape[0], (batch, context)), torch.randint(0, shape[0], (batch, context))

    def step():
        t = time.perf_counter()
        model(x, y).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step(); opt.zero_grad(set_to_none=True)
        return time.perf_counter() - t
    step()
    return 1e3 * sorted(step() for _ in range(steps))[steps // 2]


def main():
    bench = sys.argv[1] if len(sys.argv) > 1 else os.path.join(root, "build/release/bin/bench_step")
    try:
        import torch  # noqa: F401
        peer = True
    except ImportError:
        peer = False
        print("PyTorch is not installed: its columns are left out", file=sys.stderr)
    print(f"{'model':<6}{'compile ms':>12}{'step ms':>10}{'kernels':>9}{'PyTorch eager ms':>18}{'eager / ours':>14}{'planned peak':>16}{'measured':>16}")
    for name in MODELS:
        rounds = [(json.loads(subprocess.run([bench, name], stdout=subprocess.PIPE, check=True, text=True).stdout), torch_ms(name) if peer else None) for _ in range(3)]
        ours = sorted((r[0] for r in rounds), key=lambda r: r["step_ms"])[1]
        compile_ms = sorted(r[0]["compile_ms"] for r in rounds)[1]
        theirs = sorted(r[1] for r in rounds)[1] if peer else float("nan")
        print(f"{name:<6}{compile_ms:>12.0f}{ours['step_ms']:>10.2f}{ours['kernels']:>9}{theirs:>18.2f}{theirs / ours['step_ms']:>14.2f}{ours['planned_peak_bytes']:>16}{ours['peak_bytes']:>16}")


if __name__ == "__main__":
    main()

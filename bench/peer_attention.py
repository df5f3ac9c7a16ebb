#!/usr/bin/env python3
"""Attention beside PyTorch's scaled_dot_product_attention, in turns in one run: the shapes of bench/attention.cpp.

    python3 bench/peer_attention.py [--type bf16] [BENCH_ATTENTION]      (build/release/bin/bench_attention)

Prints a table. Needs PyTorch 2.13; without it the PyTorch columns are left out.
"""
import argparse, json, os, subprocess, sys, time

root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SHAPES = {"b4h12t64": (4, 12, 64, 64, False), "b8h6t256": (8, 6, 256, 64, False), "b8h8t128": (8, 8, 128, 64, False), "b1h12t1024causal": (1, 12, 1024, 64, True)}


def median_ms(run):
    times = []
    run()
    while len(times) < 7 or (sum(times) < 500 and len(times) < 1000):
        t = time.perf_counter()
        run()
        times.append(1e3 * (time.perf_counter() - t))
    return sorted(times)[len(times) // 2]


def torch_ms(name, type_name):
    import torch
    torch.set_default_dtype({"f32": torch.float32, "bf16": torch.bfloat16}[type_name])
    torch.set_num_threads(2)
    batch, heads, length, width, causal = SHAPES[name]
    qkv = torch.randn(batch, length, 3, heads, width)
    q, k, v = (qkv[:, :, i].transpose(1, 2) for i in range(3))
    forward = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
    backward = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward
    out, sums = forward(q, k, v, 0.0, causal)
    dout = torch.randn(batch, length, heads, width).transpose(1, 2)
    return median_ms(lambda: forward(q, k, v, 0.0, causal)), median_ms(lambda: backward(dout, q, k, v, out, sums, 0.0, causal))


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--type", default="f32", choices=("f32", "bf16"))
    options.add_argument("bench", nargs="?", default=os.path.join(root, "build/release/bin/bench_attention"))
    o = options.parse_args()
    try:
        import torch  # noqa: F401
        peer = True
    except ImportError:
        peer = False
        print("PyTorch is not installed: its columns are left out", file=sys.stderr)
    print(f"{'shape':<18}{'forward ms':>12}{'PyTorch':>10}{'PyTorch / ours':>16}{'backward ms':>14}{'PyTorch':>10}{'PyTorch / ours':>16}")
    for name in SHAPES:
        rounds = [(json.loads(subprocess.run([o.bench, name, o.type], stdout=subprocess.PIPE, check=True, text=True).stdout), torch_ms(name, o.type) if peer else (float("nan"),) * 2) for _ in range(3)]
        forward, backward = (sorted(r[0][k] for r in rounds)[1] for k in ("forward_ms", "backward_ms"))
        theirs = [sorted(r[1][k] for r in rounds)[1] for k in (0, 1)]
        print(f"{name:<18}{forward:>12.3f}{theirs[0]:>10.3f}{theirs[0] / forward:>16.2f}{backward:>14.3f}{theirs[1]:>10.3f}{theirs[1] / backward:>16.2f}")


if __name__ == "__main__":
    main()

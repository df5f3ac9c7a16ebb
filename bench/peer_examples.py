#!/usr/bin/env python3
"""The training steps of example/ beside PyTorch's eager mode, in turns in one run.

    python3 bench/peer_examples.py [BIN [NAME ...]]      (build/release/bin, all)

Prints a table: compile ms, median step ms, planned and measured peak bytes. Needs PyTorch 2.13 and safetensors; without
them the PyTorch columns are left out.
"""
import json, os, subprocess, sys, tempfile, time

root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(root, "test/peer"))
NAMES = ["gpt", "llama", "vit", "resnet18", "lstm", "unet", "soft_moe", "vae"]
ROUNDS, STEPS = 3, 12


def run_cleave(binary, folder):
    options = ["--width", "16"] if binary.endswith("resnet18") else []
    subprocess.run([binary, *options, "--steps", str(STEPS), "--record", folder], stdout=subprocess.DEVNULL, check=True)
    return json.load(open(f"{folder}/figures.json"))


def torch_ms(name, folder):
    import torch
    from safetensors.torch import load_file
    from examples import run_torch
    torch.set_num_threads(2)
    times = [time.perf_counter()]
    run_torch(name, load_file(f"{folder}/init.safetensors"), load_file(f"{folder}/batches.safetensors"), torch.float32,
              lambda: times.append(time.perf_counter()))
    steps = sorted(1e3 * (b - a) for a, b in zip(times[1:], times[2:]))
    return steps[len(steps) // 2]


def median(values):
    return sorted(values)[len(values) // 2]


def main():
    bin_folder = sys.argv[1] if len(sys.argv) > 1 else os.path.join(root, "build/release/bin")
    try:
        import safetensors, torch  # noqa: F401
        peer = True
    except ImportError:
        peer = False
        print("PyTorch is not installed: its columns are left out", file=sys.stderr)
    print(f"{'example':<10}{'compile ms':>12}{'step ms':>10}{'kernels':>9}{'PyTorch eager ms':>18}{'eager / ours':>14}{'planned peak':>14}{'measured':>14}")
    for name in sys.argv[2:] or NAMES:
        rounds = []
        for _ in range(ROUNDS):
            with tempfile.TemporaryDirectory() as folder:
                ours = run_cleave(os.path.join(bin_folder, f"example_{name}"), folder)
                rounds.append((ours, torch_ms(name, folder) if peer else float("nan")))
        ours, step_ms = rounds[0][0], median([r[0]["step_ms"] for r in rounds])
        compile_ms, theirs = median([r[0]["compile_ms"] for r in rounds]), median([r[1] for r in rounds])
        print(f"{name:<10}{compile_ms:>12.0f}{step_ms:>10.2f}{ours['kernels']:>9}{theirs:>18.2f}{theirs / step_ms:>14.2f}"
              f"{ours['planned_peak_bytes']:>14}{ours['peak_bytes']:>14}", flush=True)


if __name__ == "__main__":
    main()

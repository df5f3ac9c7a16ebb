#!/usr/bin/env python3
"""Training steps under memory budgets, beside PyTorch's activation_memory_budget.

    python3 bench/peer_budget.py [BENCH_BUDGET [MODEL,...]]     (build/release/bin/bench_budget gpt2,resnet50)

Ours: budgets at 100, 75, 50, 25 and 0% of the way from the least peak found to that with nothing
recomputed; peaks are the measured arena and placeholders. PyTorch: torch.compile at budgets 1, .75,
.5, .25; the peak is what the resident set of a step grows by at its highest moment (memory that
PyTorch frees goes back to the system at once) on top of parameters and optimizer state, which are
counted with it. Slowdowns are against each one's own first row. Needs PyTorch 2.13; without it
its rows are left out.
"""
import json, os, subprocess, sys, time

root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(root, "bench"))


def status(key):
    for line in open("/proc/self/status"):
        if line.startswith(key):
            return int(line.split()[1]) * 1024


def torch_row(name, budget):
    import torch
    import torch._functorch.config as config
    config.activation_memory_budget = budget
    torch.manual_seed(0)
    torch.set_num_threads(2)
    if name == "resnet50":
        from resnet_torch import ResNet50
        model, data = ResNet50(), (torch.randn(8, 3, 128, 128), torch.randint(0, 1000, (8,)))
    else:
        from gpt_torch import Gpt
        shape, batch, context = {"demo": ((63, 4, 128, 4, 64), 12, 64), "gpt2": ((50304, 12, 768, 12, 1024), 4, 64)}[name]
        model, data = Gpt(*shape), tuple(torch.randint(0, shape[0], (batch, context)) for _ in range(2))
    model.train()
    opt = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    compiled = torch.compile(model)

    def step():
        t = time.perf_counter()
        compiled(*data).backward()
        opt.step(); opt.zero_grad(set_to_none=True)
        return 1e3 * (time.perf_counter() - t)
    begin = time.perf_counter()
    step()
    first = time.perf_counter() - begin
    step()
    held = sum(p.numel() * p.element_size() * 3 for p in model.parameters())  # and two moments
    open("/proc/self/clear_refs", "w").write("5")  # the highest moment starts anew
    before = status("VmRSS")
    times = sorted(step() for _ in range(5))
    return {"step_ms": times[2], "peak_bytes": status("VmHWM") - before + held, "first_s": first}


def main():
    if len(sys.argv) > 3 and sys.argv[1] == "--torch":
        print(json.dumps(torch_row(sys.argv[2], float(sys.argv[3]))))
        return
    bench = sys.argv[1] if len(sys.argv) > 1 else os.path.join(root, "build/release/bin/bench_budget")
    models = (sys.argv[2] if len(sys.argv) > 2 else "gpt2,resnet50").split(",")
    try:
        import torch  # noqa: F401
        peer = True
    except ImportError:
        peer = False
        print("PyTorch is not installed: its rows are left out", file=sys.stderr)
    row = "{:<9}{:>9}{:>9}{:>16}{:>8}{:>12}{:>11}{:>8}".format
    print(row("model", "", "budget", "peak B", "part", "step ms", "slowdown", "losses"))
    for name in models:
        ours = [json.loads(line) for line in subprocess.run([bench, name, "--json"], stdout=subprocess.PIPE, check=True, text=True).stdout.splitlines()]
        for r in ours:
            print(row(name, "cleave", "none" if r["percent"] < 0 else f"{r['percent']}%", r["peak_bytes"], f"{r['peak_bytes'] / ours[0]['peak_bytes']:.2f}",
                      f"{r['step_ms']:.1f}", f"{r['step_ms'] / ours[0]['step_ms']:.2f}", "equal" if r["same_losses"] else "DIFFER"), flush=True)
        base = None
        for budget in (1, .75, .5, .25) if peer else ():
            env = dict(os.environ, MALLOC_MMAP_THRESHOLD_="65536", MALLOC_TRIM_THRESHOLD_="65536")
            out = subprocess.run([sys.executable, __file__, "--torch", name, str(budget)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=env, text=True)
            if out.returncode:
                print(row(name, "PyTorch", budget, "failed", "", "", "", ""))
                continue
            t = json.loads(out.stdout.splitlines()[-1])
            base = base or t
            print(row(name, "PyTorch", budget, t["peak_bytes"], f"{t['peak_bytes'] / base['peak_bytes']:.2f}",
                      f"{t['step_ms']:.1f}", f"{t['step_ms'] / base['step_ms']:.2f}", ""), flush=True)


if __name__ == "__main__":
    main()

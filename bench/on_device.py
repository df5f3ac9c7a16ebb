#!/usr/bin/env python3
"""Checks and times cleave on a machine with an NVIDIA GPU that has neither compiler nor packages.

    python3 bench/on_device.py pack FOLDER [--build build/release]     on the machine that built it
    python3 FOLDER/on_device.py [--parts checks,steps,sanitizer] [--models gpt2,mlp] [--seconds 2] [--log FILE]

pack fills the folder with the programs, stripped, the libraries that they need beside the system's
and, if they are there, the peers (../shared/peers). The second command, on the other machine, prints,
and writes into FILE line by line, since a run there may be cut off,

  doctor      what of CUDA is found, and where
  checks      all samples of all operators and random graphs against the oracle (check_device)
  steps       whole training steps in bf16, ours and PyTorch's in turns: eager, torch.compile, and that
              captured in a CUDA graph; best / ours above 1: ours is faster
  programs    steps of models as torchvision and transformers define them (bench/device_programs.py)
  graphs      the same steps, started as one CUDA graph and call by call: equal losses, ms, the host's ms
  order       gpt2 and bert with and without CompileOptions::deterministic: what the same bits cost
  offload     steps within budgets: copies to the host's memory and recomputation, recomputation alone
  profile     the slowest calls of each step
  sanitizer   compute-sanitizer's memcheck and racecheck over a step of the small models, where it is
              installed

What isn't installed is skipped by name.
"""
import argparse, json, os, pathlib, shutil, subprocess, sys, time

HERE = pathlib.Path(__file__).resolve().parent
PROGRAMS = ["cleave", "bench_step", "check_device"]
SYSTEM = {"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1"}
# Ours, as the peers' script calls them.
MODELS = {"gpt2": "gpt2_16x1024", "bert": "bert_base", "resnet50": "resnet50_128", "chargpt": "chargpt_64x256", "mlp": "mlp_1024"}


def pack(folder, build):
    folder.mkdir(parents=True, exist_ok=True)
    libraries = set()
    for name in PROGRAMS:
        program = build / "bin" / name
        if not program.exists(): sys.exit(f"{program} isn't there: ninja -C {build} {name}")
        shutil.copy2(program, folder / name)
        subprocess.run(["strip", folder / name], check=True)
        for line in subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout.splitlines():
            words = line.split()
            if "=>" in words and words[0] not in SYSTEM: libraries.add(words[2])
    for path in sorted(libraries): shutil.copy2(os.path.realpath(path), folder / os.path.basename(path))
    for name in ["on_device.py", "device_programs.py", "peer_programs.py", "peer_target.py"]: shutil.copy2(HERE / name, folder / name)
    peers = HERE.parent.parent / "shared/peers"
    for name in ["torch_gpu.py", "torch_gpu_step.py"]:
        if (peers / name).exists(): shutil.copy2(peers / name, folder / name)
    print(f"{folder}: {sum(f.stat().st_size for f in folder.iterdir()) / 2**20:.0f} MiB")


def run(*words, timeout=None):
    env = dict(os.environ, LD_LIBRARY_PATH=f"{HERE}:{os.environ.get('LD_LIBRARY_PATH', '')}")
    return subprocess.run([str(w) for w in words], env=env, capture_output=True, text=True, timeout=timeout)


def print_run(title, *words):
    print(f"== {title}", flush=True)
    begin = time.monotonic()
    done = run(*words)
    print((done.stdout + done.stderr)[-6000:].rstrip())
    print(f"exit status {done.returncode}, {time.monotonic() - begin:.0f} s", flush=True)


def last_json(text):
    lines = [l for l in text.splitlines() if l.startswith("{")]
    return json.loads(lines[-1]) if lines else None


def step(model, a, *options):
    done = run(HERE / "bench_step", f"{MODELS[model]}:bf16", "--device", "cuda:0", "--seconds", a.seconds, *options)
    figures = last_json(done.stdout)
    if figures is None: print(f"{model}: {done.stderr.strip()[-400:]}", file=sys.stderr)
    return figures


def peer(model, mode):
    done = run(sys.executable, HERE / "torch_gpu_step.py", model, mode)
    figures = last_json(done.stdout)
    if figures is None: print(f"{model}: {mode}: {(done.stdout + done.stderr).strip()[-300:]}", file=sys.stderr)
    return figures


def steps(a):
    modes = a.modes if (HERE / "torch_gpu_step.py").exists() else []
    print(f"== whole steps in bf16, ms\n{'model':<10}{'ours':>9}{'tuned':>9}" + "".join(f"{m:>10}" for m in modes) + f"{'best/ours':>11}{'peak GB':>9}{'their':>8}{'planned':>9}{'first s':>9}", flush=True)
    for model in a.models:
        ours, tuned = step(model, a), step(model, a, "--tune")
        theirs = {m: peer(model, m) for m in modes}
        times = [f["step_ms"] for f in theirs.values() if f]
        own = [f["step_ms"] for f in (ours, tuned) if f]
        cell = lambda f, width: f"{f['step_ms']:>{width}.2f}" if f else f"{'-':>{width}}"
        line = f"{model:<10}{cell(ours, 9)}{cell(tuned, 9)}" + "".join(cell(theirs[m], 10) for m in modes)
        line += f"{min(times) / min(own):>11.2f}" if times and own else f"{'-':>11}"
        if ours:
            peak = max([f["peak_gb"] for f in theirs.values() if f], default=float("nan"))
            same = "=" if ours["planned_peak_bytes"] == ours["peak_bytes"] else "DIFFERS"
            line += f"{ours['peak_bytes'] / 1e9:>9.2f}{peak:>8.2f}{same:>9}{ours['first_ms'] / 1e3:>9.2f}"
        print(line, flush=True)


def graphs(a):
    print(f"== one CUDA graph a step, or its calls\n{'model':<10}{'graph ms':>9}{'calls ms':>9}{'host ms':>9}{'host ms':>9}  losses   records launches skips", flush=True)
    for model in a.models:
        one, calls = step(model, a), step(model, a, "--no-graphs")
        if not one or not calls: continue
        same = "equal" if one["losses"] == calls["losses"] else f"DIFFER {one['losses']} {calls['losses']}"
        counts = " ".join(f"{one['counters'].get('cudagraph_' + c, 0):>7}" for c in ["records", "launches", "skips"])
        print(f"{model:<10}{one['step_ms']:>9.2f}{calls['step_ms']:>9.2f}{one['host_ms']:>9.3f}{calls['host_ms']:>9.3f}  {same} {counts}", flush=True)


def offload(a):
    print(f"== steps within budgets: with copies to the host's memory, and without\n{'model':<10}{'budget':>8}{'ms':>9}{'ms without':>11}{'peak GB':>9}{'planned':>9}{'GB out':>8}  losses", flush=True)
    for model in a.models:
        for percent in a.budgets:
            both = step(model, a, "--budget", percent), step(model, a, "--budget", percent, "--no-offload")
            if not any(both): continue
            ms = "".join(f"{f['step_ms']:>{w}.2f}" if f else f"{'-':>{w}}" for f, w in zip(both, (9, 11)))
            one = both[0] or both[1]
            same = "equal" if all(both) and both[0]["losses"] == both[1]["losses"] else "DIFFER" if all(both) else "-"
            exact = "=" if all(f["planned_peak_bytes"] == f["peak_bytes"] for f in both if f) else "DIFFERS"
            print(f"{model:<10}{percent + '%':>8}{ms}{one['peak_bytes'] / 1e9:>9.2f}{exact:>9}{one['counters'].get('offloaded_bytes', 0) / 1e9:>8.2f}  {same}", flush=True)


def order(a):
    print(f"== gradients of attention in order, or as blocks come\n{'model':<10}{'ms':>9}{'any ms':>9}{'peak GB':>9}{'any GB':>9}  losses of two runs", flush=True)
    for model in a.models:
        one, again, fast = step(model, a), step(model, a), step(model, a, "--any-order")
        if not one or not again or not fast: continue
        print(f"{model:<10}{one['step_ms']:>9.2f}{fast['step_ms']:>9.2f}{one['peak_bytes'] / 1e9:>9.2f}{fast['peak_bytes'] / 1e9:>9.2f}  {'equal' if one['losses'] == again['losses'] else 'DIFFER'}", flush=True)


def profile(a):
    for model in a.models:
        done = run(HERE / "bench_step", f"{MODELS[model]}:bf16", "--device", "cuda:0", "--seconds", "1", "--profile")
        print(f"== {model}\n" + "\n".join((done.stdout + done.stderr).splitlines()[:a.rows]), flush=True)


def sanitizer(a):
    found = shutil.which("compute-sanitizer") or shutil.which("compute-sanitizer", path="/usr/local/cuda/bin")
    if not found: return print("== sanitizer: skipped: compute-sanitizer isn't installed")
    for tool in ["memcheck", "racecheck"]:
        for model in ["mlp", "demo"]:
            print_run(f"{tool} of {model}", found, "--tool", tool, "--error-exitcode", "1", HERE / "bench_step", f"{model}:bf16", "--device", "cuda:0", "--seconds", "0")


class Both:
    """Where print writes: two streams, nothing held back."""
    def __init__(self, *streams): self.streams = streams
    def write(self, text):
        for s in self.streams: s.write(text), s.flush()
    def flush(self): pass


def main():
    if len(sys.argv) > 1 and sys.argv[1] == "pack":
        p = argparse.ArgumentParser()
        p.add_argument("folder", type=pathlib.Path)
        p.add_argument("--build", type=pathlib.Path, default=HERE.parent / "build/release")
        a = p.parse_args(sys.argv[2:])
        return pack(a.folder, a.build)
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words = lambda text: [w for w in text.split(",") if w]
    p.add_argument("--parts", type=words, default=["doctor", "checks", "graphs", "order", "steps", "offload", "sanitizer"])
    p.add_argument("--models", type=words, default=list(MODELS))
    p.add_argument("--modes", type=words, default=["eager", "inductor", "graph"])
    p.add_argument("--seconds", default="2")
    p.add_argument("--budgets", type=words, default=["90", "80", "70", "60", "50"])
    p.add_argument("--rows", type=int, default=40)
    p.add_argument("--graphs", default="2000")
    p.add_argument("--log", type=pathlib.Path)
    a = p.parse_args()
    if a.log: sys.stdout = Both(sys.stdout, a.log.open("w"))
    if "doctor" in a.parts: print_run("doctor", HERE / "cleave", "doctor")
    if "checks" in a.parts: print_run("checks", HERE / "check_device", "cuda:0", a.graphs, "0", str(os.cpu_count()))
    if "graphs" in a.parts: graphs(a)
    if "steps" in a.parts: steps(a)
    if "programs" in a.parts: print_run("programs", sys.executable, HERE / "device_programs.py", HERE / "bench_step")
    if "order" in a.parts: order(a)
    if "offload" in a.parts: offload(a)
    if "profile" in a.parts: profile(a)
    if "sanitizer" in a.parts: sanitizer(a)


if __name__ == "__main__":
    main()

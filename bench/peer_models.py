#!/usr/bin/env python3
"""Whole training steps (forward, backward, AdamW) beside PyTorch and JAX, in turns in one run.

    python3 bench/peer_models.py [BENCH_STEP] [--models mlp,gpt2:bf16] [--peers eager,compile,jax]
                                 [--rounds 3] [--seconds 3] [--threads N] [--target T] [--raw FILE]

Models are those of bench/models/step_models.h in f32, and with :bf16 under autocast. Each (model, peer) runs in
a process of its own, all of them in turns, `rounds` times, on the same N cores; figures are medians
of the rounds. `cold` and `warm`: from initialised parameters to the end of the first step, in the first
process, which finds no cache on disk, and in the later ones, which find what the first left. Ratios are
the fastest peer's step by ours (above 1: ours is faster), what the machine could do (limit_ms of bench_step) by ours, and our peak by eager's. Peaks are
without the parameters: ours is what the arena measured, with gradients, optimizer state and activations,
`grown` the growth of our resident set, compiler included, and eager's is that of its own. `others`: how much of the machine other processes took meanwhile;
above a few percent the row says little. --raw: every process's JSON object, a line each.
With --target x86-64-v3 eager and compile are told to use AVX2 alone as well, JAX isn't.
A peer that isn't installed is skipped by name. torch.compile takes up to a minute cold:
`--models mlp --peers eager --rounds 1` is a quick look.
"""
import argparse, importlib.util, json, math, os, resource, statistics, subprocess, sys, tempfile, time

from peer_target import environment

bench = os.path.dirname(os.path.abspath(__file__))
SIX = ["mlp", "chargpt_small", "chargpt", "gpt2", "bert_small", "resnet50"]
MODELS = ["demo", *SIX, "gpt2:bf16", "chargpt:bf16", "mlp:bf16"]
MODULES = {"eager": "torch", "compile": "torch", "jax": "jax"}


def words(text): return [w for w in text.split(",") if w]


def command(runner, model, a):
    """None where the runner has no such row."""
    name, _, dtype = model.partition(":")
    seconds, threads = ["--seconds", str(a.seconds)], ["--threads", str(a.threads)]
    if runner == "ours": return [a.bench_step, model, *seconds, *threads, *(["--target", a.target] if a.target else [])]
    if runner == "jax": return None if dtype else [sys.executable, f"{bench}/step_jax.py", name, *seconds]
    return [sys.executable, f"{bench}/step_torch.py", name, runner, *seconds, *threads, *(["--bf16"] if dtype else [])]


def busy_seconds():
    """Of all cores together, and of the processes that ended here."""
    ticks = [int(t) for t in open("/proc/stat").readline().split()[1:9]]
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (sum(ticks) - ticks[3] - ticks[4]) / os.sysconf("SC_CLK_TCK"), children.ru_utime + children.ru_stime  # all but idle and iowait


def run(runner, model, caches, a):
    """The JSON object of one process; None where it failed."""
    env = dict(environment(a.target), TORCHINDUCTOR_CACHE_DIR=f"{caches}/torch", JAX_COMPILATION_CACHE_DIR=f"{caches}/jax", JAX_PLATFORMS="cpu")
    done = subprocess.run(command(runner, model, a), capture_output=True, env=env, text=True)
    if done.returncode:
        print(f"{model}: {runner} failed:\n{done.stderr[-500:]}", file=sys.stderr)
        return None
    figures = json.loads(done.stdout.splitlines()[-1])
    if not figures["finite"]: print(f"{model}: {runner}: THE LOSS IS NOT FINITE", file=sys.stderr)
    if a.raw:
        with open(a.raw, "a") as f: f.write(json.dumps({"runner": runner, "row": model, **figures}) + "\n")
    return figures


def median(values):
    values = list(values)
    return statistics.median(values) if values else math.nan


def measure(model, a):
    """{runner: {step_ms, cold_ms, warm_ms, resident_mb}} of those that ran in every round; and the others' part of the machine."""
    begin, before, ours = time.monotonic(), *busy_seconds()
    rounds = {r: [] for r in ["ours", *a.peers] if command(r, model, a)}
    with tempfile.TemporaryDirectory() as caches:
        for _ in range(a.rounds):
            for runner in list(rounds):
                figures = run(runner, model, caches, a)
                if figures: rounds[runner].append(figures)
                else: del rounds[runner]
    after, ours_after = busy_seconds()
    others = (after - before - (ours_after - ours)) / (time.monotonic() - begin) / os.cpu_count()
    return {runner: {"step_ms": median(f["step_ms"] for f in all), "resident_mb": median(f["resident_mb"] for f in all),
                     "limit_ms": median(f.get("limit_ms", math.nan) for f in all), "peak_mb": median(f.get("peak_mb", math.nan) for f in all),
                     "cold_ms": all[0]["first_ms"], "warm_ms": median(f["first_ms"] for f in all[1:]), "note": all[0].get("note", "")} for runner, all in rounds.items()}, max(0, others)


def cell(value, form, width):
    return ("-" if value is None or math.isnan(value) else format(value, form)).rjust(width)


HEAD = (f"{'':<15}{'step ms':^44}{'best peer':>10}{'limit':>7}{'peak MB':^32}{'cold s':^30}{'warm s':^30}\n"
        f"{'model':<15}{'ours':>11}{'eager':>11}{'compile':>11}{'jax':>11}{'/ ours':>10}{'/ ours':>7}{'ours':>8}{'grown':>8}{'eager':>8}{'ratio':>8}"
        + f"{'ours':>7}{'eager':>7}{'compile':>9}{'jax':>7}" * 2 + f"{'others':>8}")


def ratio(figures):
    """The fastest peer's step by ours; nan where one is missing."""
    peers = [f["step_ms"] for runner, f in figures.items() if runner != "ours"]
    return min(peers) / figures["ours"]["step_ms"] if peers and "ours" in figures else math.nan


def print_row(model, figures, others):
    get = lambda runner, key: figures.get(runner, {}).get(key)
    ours, eager = get("ours", "peak_mb"), get("eager", "resident_mb")
    line = f"{model:<15}" + "".join(cell(get(r, "step_ms"), ".2f", 11) for r in ("ours", *MODULES)) + cell(ratio(figures), ".2f", 10)
    line += cell(get("ours", "limit_ms") and get("ours", "limit_ms") / get("ours", "step_ms"), ".2f", 7)
    line += cell(ours, ".0f", 8) + cell(get("ours", "resident_mb"), ".0f", 8) + cell(eager, ".0f", 8) + cell(ours / eager if ours and eager else None, ".2f", 8)
    for key in ("cold_ms", "warm_ms"):
        line += "".join(cell(get(r, key) and get(r, key) / 1e3, ".2f", 9 if r == "compile" else 7) for r in ("ours", *MODULES))
    line += cell(others, ".0%", 8)
    print(line, get("ours", "note") or "", sep="  ", flush=True)


def arguments():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("bench_step", nargs="?", default=os.path.join(bench, "../build/release/bin/bench_step"))
    p.add_argument("--models", type=words, default=MODELS)
    p.add_argument("--peers", type=words, default=list(MODULES))
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--seconds", type=float, default=3)
    p.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    p.add_argument("--target")
    p.add_argument("--raw")
    a = p.parse_args()
    for given, known in ((a.models, MODELS), (a.peers, MODULES)):
        for word in given:
            if word not in known: p.error(f"{word}: expected some of {', '.join(known)}")
    if a.rounds < 1 or not 1 <= a.threads <= len(os.sched_getaffinity(0)): p.error("--rounds or --threads is out of range")
    return a


def main():
    a = arguments()
    for peer in [p for p in a.peers if importlib.util.find_spec(MODULES[p]) is None]:
        print(f"{MODULES[peer]} is not installed: {peer} is skipped", file=sys.stderr)
        a.peers.remove(peer)
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:a.threads])  # inherited by every process
    print(f"{a.threads} threads, {a.rounds} rounds in turns")
    print(HEAD, flush=True)
    ratios, most = {}, 0
    for model in a.models:
        figures, others = measure(model, a)
        print_row(model, figures, others)
        most = max(most, others)
        ratios[model] = ratio(figures)
    known = [ratios[m] for m in SIX if not math.isnan(ratios.get(m, math.nan))]
    if known: print(f"geomean of best peer / ours over {len(known)} of the six f32 models: {math.exp(sum(map(math.log, known)) / len(known)):.3f}")
    if most > 0.05: print(f"other processes took up to {most:.0%} of the machine: these figures are no result")
    print("bf16: under autocast, both")


if __name__ == "__main__":
    main()

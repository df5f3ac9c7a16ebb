#!/usr/bin/env python3
"""Inference with frozen weights beside PyTorch's frozen Inductor, in turns in one run.

    python3 bench/peer_frozen.py [BENCH_FROZEN] [--rows gpt2:1,resnet50:8] [--peers frozen,compile,eager]
                                 [--rounds 3] [--seconds 3] [--threads N]

A row is MODEL:BATCH of bench/frozen.cpp. Both have the same weights and input. Each (row, peer) runs in a process of its own,
all of them in turns, on the same N cores; figures are medians of the rounds. The ratio is frozen Inductor's time by ours
(above 1: ours is faster). `plain`: ours without freezing. `error`: the largest difference from float64, by the largest number
there. `others`: how much of the machine other processes took meanwhile; above a few percent the row says little.
"""
import argparse, json, math, os, statistics, subprocess, sys, tempfile, time

from peer_models import bench, busy_seconds, cell, words

ROWS = [f"{m}:{b}" for m in ("resnet50", "bert_small", "gpt2") for b in (1, 8)]
PEERS = ["frozen", "compile", "eager"]


def run(command, env):
    done = subprocess.run(command, capture_output=True, env=env, text=True)
    if done.returncode: raise SystemExit(f"{' '.join(command)}:\n{done.stderr[-800:]}")
    return json.loads(done.stdout.splitlines()[-1])


def measure(row, a):
    """{runner: [figures of each round]}, and the others' part of the machine."""
    model, batch = row.split(":")
    options = ["--seconds", str(a.seconds), "--threads", str(a.threads)]
    begin, before, ours = time.monotonic(), *busy_seconds()
    with tempfile.TemporaryDirectory() as folder:
        env = dict(os.environ, TORCHINDUCTOR_CACHE_DIR=f"{folder}/torch")
        commands = {"ours": [a.bench_frozen, model, batch, *options, "--save", folder], "plain": [a.bench_frozen, model, batch, *options, "--plain"],
                    **{p: [sys.executable, f"{bench}/frozen_torch.py", model, batch, folder, p, *options] for p in a.peers}}
        rounds = {runner: [] for runner in commands}
        for _ in range(a.rounds):
            for runner, command in commands.items(): rounds[runner].append(run(command, env))
    after, ours_after = busy_seconds()
    return rounds, max(0, (after - before - (ours_after - ours)) / (time.monotonic() - begin) / os.cpu_count())


def print_row(row, rounds, others):
    median = lambda runner, key: statistics.median(f[key] for f in rounds[runner]) if runner in rounds else math.nan
    peer = next(p for p in PEERS if p in rounds)
    ours, part = median("ours", "ms"), lambda key: rounds["ours"][0][key]["bytes"] / 1e6
    ratio = median(peer, "ms") / ours
    print(f"{row:<13}" + "".join(cell(median(r, "ms"), ".2f", 10) for r in ("ours", "plain", *PEERS)) + cell(ratio, ".2f", 8)
          + cell(rounds[peer][0]["ours_error"], ".1e", 10) + cell(rounds[peer][0]["error"], ".1e", 10)
          + "".join(cell(part(k), ".1f", 9) for k in ("folded", "packed", "kept", "dropped")) + cell(median("ours", "cold_ms") / 1e3, ".1f", 7)
          + cell(median(peer, "cold_ms") / 1e3, ".1f", 7) + cell(others, ".0%", 8), flush=True)
    return ratio


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("bench_frozen", nargs="?", default=os.path.join(bench, "../build/release/bin/bench_frozen"))
    p.add_argument("--rows", type=words, default=ROWS)
    p.add_argument("--peers", type=words, default=PEERS)
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--seconds", type=float, default=3)
    p.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    a = p.parse_args()
    for given, known in ((a.rows, ROWS), (a.peers, PEERS)):
        for word in given:
            if word not in known: p.error(f"{word}: expected some of {', '.join(known)}")
    if a.rounds < 1 or not a.peers: p.error("--rounds or --peers is out of range")
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:a.threads])  # inherited by every process
    print(f"{a.threads} threads, {a.rounds} rounds in turns")
    print(f"{'':<13}{'ms':^50}{'peer':>8}{'error':^20}{'MB':^36}{'cold s':^14}")
    print(f"{'model:batch':<13}{'ours':>10}{'plain':>10}" + "".join(f"{p:>10}" for p in PEERS) + f"{'/ ours':>8}{'ours':>10}{'peer':>10}"
          + f"{'folded':>9}{'packed':>9}{'kept':>9}{'dropped':>9}{'ours':>7}{'peer':>7}{'others':>8}", flush=True)
    ratios, most = [], 0
    for row in a.rows:
        rounds, others = measure(row, a)
        ratios.append(print_row(row, rounds, others))
        most = max(most, others)
    print(f"geomean of peer / ours: {math.exp(sum(map(math.log, ratios)) / len(ratios)):.3f}, least {min(ratios):.2f}")
    if most > 0.05: print(f"other processes took up to {most:.0%} of the machine: these figures are no result")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Rows of few columns beside PyTorch: what small networks (a policy of twelve joints, ten classes) compute.

    python3 bench/peer_small.py [CLEAVE] [--columns 2,3,5,8,10,12,17,20,33,100] [--only softmax,norm]
                                [--peers eager,compile] [--target x86-64-v3] [--elements 98304]

Each function gets [elements / columns, columns] numbers in f32 on one thread; figures are microseconds of the
best of five times 30 ms, ratios the fastest peer's time by ours (above 1: ours is faster). With --target
x86-64-v3 the peers are told to use AVX2 alone as well. torch.compile takes some seconds for each row.
A peer that isn't installed is skipped by name.
"""
import argparse, importlib.util, json, math, os, subprocess, sys, tempfile, time

from peer_target import environment, tell_inductor

# Each: lines of the graph, with {n} for the columns, and the same in PyTorch of (torch, x [rows, n], b [n]).
CASES = {
    "tanh": ("%y = add(%x, %b)\n %s = tanh(%y)", lambda t, x, b: t.tanh(x + b)),
    "relu": ("%y = add(%x, %b)\n %s = relu(%y)", lambda t, x, b: t.relu(x + b)),
    "gelu": ("%y = add(%x, %b)\n %s = gelu(%y)", lambda t, x, b: t.nn.functional.gelu(x + b)),
    "softmax": ("%s = _softmax(%x; dim=1, half_to_float=false)", lambda t, x, b: t.softmax(x, 1)),
    "log_softmax": ("%s = _log_softmax(%x; dim=1, half_to_float=false)", lambda t, x, b: t.log_softmax(x, 1)),
    "softmax_grad": ("%d = mul(%x, %b)\n %s = _softmax_backward_data(%d, %x; dim=1, input_dtype=f32)",
                     lambda t, x, b: t.ops.aten._softmax_backward_data(x * b, x, 1, x.dtype)),
    "layer_norm": ("%s, %m, %r = native_layer_norm(%x; normalized_shape=[{n}], eps=1e-05)",
                   lambda t, x, b: t.nn.functional.layer_norm(x, x.shape[1:])),
    "norm_residual": ("%y = add(%x, %b)\n %a, %m, %r = native_layer_norm(%y; normalized_shape=[{n}], eps=1e-05)\n %s = add(%a, %x)",
                      lambda t, x, b: t.nn.functional.layer_norm(x + b, x.shape[1:]) + x),
    "row_sum": ("%s = sum(%x; dim=[1])", lambda t, x, b: x.sum(1)),
    "row_max": ("%s = amax(%x; dim=[1])", lambda t, x, b: x.amax(1)),
    "column_sum": ("%s = sum(%x; dim=[0])", lambda t, x, b: x.sum(0)),
}


def parse():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("cleave", nargs="?", default="build/release/bin/cleave")
    p.add_argument("--columns", default="2,3,5,8,10,12,17,20,33,100")
    p.add_argument("--only", default=",".join(CASES))
    p.add_argument("--peers", default="eager")
    p.add_argument("--target", default="native")
    p.add_argument("--elements", type=int, default=98304)
    p.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)  # the peers' process
    return p.parse_args()


def best(call):
    """Microseconds."""
    call()
    least = math.inf
    for _ in range(5):
        start, calls = time.perf_counter(), 0
        while time.perf_counter() - start < .03:
            call()
            calls += 1
        least = min(least, (time.perf_counter() - start) / calls)
    return least * 1e6


def work():
    """Answers lines of (case, columns, peer) with microseconds."""
    import torch
    tell_inductor()
    torch.set_num_threads(1)
    for line in sys.stdin:
        case, rows, columns, peer = json.loads(line)
        x, b, f = torch.randn(rows, columns), torch.randn(columns), CASES[case][1]
        if peer == "compile":
            torch._dynamo.reset()
            f = torch.compile(f, dynamic=False)
        with torch.no_grad(): print(best(lambda: f(torch, x, b)), flush=True)


def ours(cleave, case, rows, columns, target, folder):
    path = f"{folder}/small.clv"
    body = CASES[case][0].replace("{n}", str(columns))
    with open(path, "w") as f:
        f.write(f"graph @g(%x: input f32[{rows},{columns}], %b: input f32[{columns}]) {{\n {body}\n return %s\n}}\n")
    command = [cleave, "run", path, "--random", "--threads", "1", "--target", target, "--repeat", "400", "--json"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode: sys.exit(f"{case} of {columns} columns: {done.stderr}")
    return json.loads(done.stdout)["run_ms"] * 1e3


def main():
    a = parse()
    if a.worker: return work()
    peers = [p for p in a.peers.split(",") if p]
    if peers and not importlib.util.find_spec("torch"):
        print("skipped: PyTorch isn't installed, so ours stands alone")
        peers = []
    worker = subprocess.Popen([sys.executable, os.path.abspath(__file__), "--worker"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              text=True, env=environment(a.target)) if peers else None

    def peer(*row):
        worker.stdin.write(json.dumps(row) + "\n")
        worker.stdin.flush()
        return float(worker.stdout.readline())

    print(f"{'us, ' + a.target:24}" + "".join(f"{p:>10}" for p in peers) + f"{'ours':>10}{'ratio':>8}")
    ratios = []
    with tempfile.TemporaryDirectory() as folder:
        for case in a.only.split(","):
            for columns in map(int, a.columns.split(",")):
                rows = a.elements // columns
                times = [peer(case, rows, columns, p) for p in peers]
                own = ours(a.cleave, case, rows, columns, a.target, folder)
                if times: ratios.append(min(times) / own)
                print(f"{case:16}{columns:8}" + "".join(f"{t:10.1f}" for t in times) + f"{own:10.1f}" +
                      (f"{ratios[-1]:8.2f}" if times else ""), flush=True)
    if ratios:
        print(f"geomean {math.exp(sum(map(math.log, ratios)) / len(ratios)):.2f}, worst {min(ratios):.2f}, "
              f"below 1: {sum(r < 1 for r in ratios)} of {len(ratios)}")
    if worker: worker.stdin.close(), worker.wait()


main()

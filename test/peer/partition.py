#!/usr/bin/env python3
"""Mode pytorch of `cleave partition` against PyTorch's own partitioner on the very same joint graphs.

    python3 test/peer/partition.py CLEAVE WRITE_GRAPHS [N [SEED]]

CLEAVE is the command, WRITE_GRAPHS the program of that name. N random graphs (test/sample/random_graph.h) are traced by
PyTorch, which writes its joint graph and what it saves at each budget (../shared/peers/torch_partition.py); the same
graph is cut by cleave. Prints each difference, and how many (graph, budget) pairs have the same set of saved names. Exit
status: 0 at least 98% are the same and none saves more bytes at budget 1, 1 not, 77 no PyTorch or no ../shared.
"""
import json, multiprocessing, os, subprocess, sys, tempfile
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PEERS = os.path.join(ROOT, "..", "shared", "peers")
if not os.path.exists(os.path.join(PEERS, "torch_partition.py")):
    print("skipped: ../shared/peers/torch_partition.py is not there")
    sys.exit(77)
from aten import NoOverload, call, read_safetensors, torch, value_of
BUDGETS = [1.0, 0.75, 0.5, 0.25, 0.0]
# Random, or of ATen's with no derivative.
WITHOUT = ["adam_step", "int_mm_scaled", "uint4x2_mm", "packed_addmm", "convolution_pointwise", "opaque", "rng_next", "rng_fold", "sym_size", "sym_numel", "is_same_size", "cudnn_batch_norm", "cudnn_batch_norm_backward", "rand", "randn", "randint", "randperm",
           "bernoulli", "native_dropout", "empty", "empty_like", "empty_strided", "empty_permuted", "cond", "while_loop",
           "copy", "silu_backward", "native_group_norm_backward", "native_layer_norm_backward", "native_batch_norm_backward",
           "_scaled_dot_product_efficient_attention", "_scaled_dot_product_efficient_attention_backward",
           "_fused_rms_norm_backward"]


def function_of(text):
    """The graph as a function of its inputs; its floating results."""
    def run(*inputs):
        values = {name: x for (name, _), x in zip(text["inputs"], inputs)}
        for node in text["nodes"]:
            args = {}
            for name, a in node["args"]:
                if "tensor" in a:
                    args[name] = ("tensor", values[a["tensor"]])
                elif "tensors" in a:
                    args[name] = ("tensors", [None if t is None else values[t] for t in a["tensors"]])
                else:
                    args[name] = ("value", value_of(a["value"]))
            out = call(node["op"], args)
            for name, value in zip(node["results"], list(out) if isinstance(out, (list, tuple)) else [out]):
                if name is not None:
                    values[name] = value
        return tuple(v for v in (values[name] for name in text["returns"]) if v.requires_grad)
    return run


def trace(path):
    """Writes PATH.joint.clv and PATH.pytorch.json; why not, where PyTorch can't."""
    sys.path.insert(0, PEERS)
    from torch_partition import answers
    with open(path + ".json") as f:
        text = json.load(f)
    tensors = read_safetensors(path + ".safetensors")
    inputs = [tensors[name].clone().requires_grad_(wants) for name, wants in text["inputs"]]
    try:
        answers(function_of(text), inputs, path, budgets=BUDGETS)
    except (Exception, NoOverload) as e:
        return f"{type(e).__name__}: {str(e).splitlines()[0] if str(e) else ''}"
    return ""


def trace_apart(path):
    """trace() in a process of its own, since PyTorch may end it."""
    queue = multiprocessing.get_context("fork").Queue()
    process = multiprocessing.get_context("fork").Process(target=lambda: queue.put(trace(path)))
    process.start()
    process.join(120)
    if process.is_alive():
        process.kill()
        return "takes longer than 120 s"
    return queue.get() if process.exitcode == 0 else "it ends the process"


def compare(cleave, path, counts):
    with open(path + ".pytorch.json") as f:
        theirs = json.load(f)
    for budget, want in theirs.items():
        ran = subprocess.run([cleave, "partition", path + ".joint.clv", "--mode", "pytorch", "--budget", budget, "--json"],
                             capture_output=True, text=True)
        if ran.returncode:
            counts["refused"] += 1
            print(f"{os.path.basename(path)} at {budget}: {ran.stderr.strip().splitlines()[0][:160]}")
            continue
        got = json.loads(ran.stdout)
        ours, other = {v["name"] for v in got["saved"]}, {v["name"] for v in want["saved"]}
        counts["pairs"] += 1
        counts["same"] += ours == other
        if ours != other:
            print(f"{os.path.basename(path)} at {budget}: PyTorch alone saves {sorted(other - ours)}, cleave alone "
                  f"{sorted(ours - other)}; {want['saved_bytes']} and {got['saved_bytes']} bytes")
        if budget == "1.0":
            counts["more"] += got["saved_bytes"] > want["saved_bytes"]


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    n, seed = (int(a) for a in (sys.argv[3:5] + ["200", "0"][len(sys.argv[3:5]):]))
    counts = {"pairs": 0, "same": 0, "refused": 0, "more": 0, "untraced": 0}
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.argv[2], folder, str(n), str(seed), *WITHOUT], check=True)
        for k in range(seed, seed + n):
            path = os.path.join(folder, f"graph_{k}")
            if trace_apart(path):
                counts["untraced"] += 1
            else:
                compare(sys.argv[1], path, counts)
    share = counts["same"] / max(counts["pairs"], 1)
    print(f"{n} graphs from seed {seed}: {counts['untraced']} PyTorch can't trace or differentiate; of {counts['pairs']} "
          f"(graph, budget) pairs {counts['same']} have the same saved values ({share:.1%}), {counts['refused']} are refused, "
          f"{counts['more']} save more bytes at budget 1")
    sys.exit(0 if share >= 0.98 and counts["pairs"] and not counts["more"] else 1)


main()

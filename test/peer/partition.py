#!/usr/bin/env python3
"""Mode pytorch of `cleave partition` against PyTorch's own partitioner on the very same joint graphs.

    python3 test/peer/partition.py CLEAVE WRITE_GRAPHS [N [SEED [FOLDER]]]

CLEAVE is the command, WRITE_GRAPHS the program of that name. Of N graphs every second is a network (networks.py), with
random calls in every third and rows that vary in every fourth, the others are random graphs of all operators
(test/sample/random_graph.h). PyTorch traces each; some of its calls are tagged. Then both cut it under the defaults and
under options that are drawn (partition_options.py). Prints each difference, keeps its graph in FOLDER
(build/other_partitions), and prints a table of how many cuts save the same values, by option. Before that the operators'
lists are compared. Exit status: 0 at least 99.5% are the same and none saves more bytes, 1 not, 77 no PyTorch.
"""
import json, logging, multiprocessing, os, random, re, subprocess, sys, tempfile
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from aten import NoOverload, call, read_safetensors, torch, value_of
from partition_options import drawn
ROWS = 8  # of options, for each graph
# Without a derivative, of ATen's with another form, or with random bits of PyTorch's own.
WITHOUT = ["adam_step", "fft_c2c", "fft_r2c", "fft_c2r", "int_mm_scaled", "uint4x2_mm", "packed_addmm", "convolution_pointwise", "convolution_channels_last", "convolution_channels_last_backward", "opaque", "rng_next", "rng_fold", "sym_size", "sym_numel", "is_same_size", "cudnn_batch_norm", "cudnn_batch_norm_backward", "rand", "randn", "randint", "randperm",
           "bernoulli", "native_dropout", "empty", "empty_like", "empty_strided", "empty_permuted", "cond", "while_loop",
           "copy", "silu_backward", "native_group_norm_backward", "native_layer_norm_backward", "native_batch_norm_backward",
           "_scaled_dot_product_efficient_attention", "_scaled_dot_product_efficient_attention_backward",
           "_fused_rms_norm_backward", "fused", "class_index", "call",
           "_native_batch_norm_legit_no_training", "_native_batch_norm_legit_functional", "im2col", "col2im",
           "_scaled_dot_product_flash_attention_for_cpu_backward"]
# Not as PyTorch has them: attention in one call is the flash form here, whose list is that of PyTorch's on a GPU; sizes
# are no calls of their own in most graphs.
OTHER_LISTS = {"scaled_dot_product_attention", "is_same_size"}


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


def random_graph(path):
    """A graph that WRITE_GRAPHS wrote: its function, inputs, how many are parameters, whether sizes vary."""
    with open(path + ".json") as f:
        text = json.load(f)
    tensors = read_safetensors(path + ".safetensors")
    return function_of(text), [tensors[name].clone().requires_grad_(wants) for name, wants in text["inputs"]], 0, False


def cut_by_pytorch(joint, settings):
    try:
        return {"saved": joint.saved(settings), "best": joint.best}
    except RuntimeError as e:
        return {"saved": str(e).splitlines()[0]}


def rows_of(seed, path):
    """Traces graph `seed`, writes PATH.clv and gives what PyTorch saves: [{"words", "saved"}] with its kinds, or why
    there is none."""
    logging.disable(logging.CRITICAL)
    from networks import network
    from pytorch_joint import Joint
    rng = random.Random(seed)
    f, inputs, parameters, varies = network(seed // 2) if seed % 2 else random_graph(path)
    try:
        joint = Joint(f, inputs, parameters, varies)
        kinds = ["networks" if seed % 2 else "all operators"]
        if rng.random() < 0.4:
            joint.tag(rng)
            kinds.append("tags")
        if rng.random() < 0.1:
            joint.tag_budgets(rng)
            kinds.append("budgets as tags")
        text = joint.text()
    except (Exception, NoOverload) as e:
        return f"{type(e).__name__}: {str(e).splitlines()[0] if str(e) else ''}"
    kinds += [kind for kind, mark in (("random calls", "rng_state"), ("sizes that vary", ": symint")) if mark in text]
    with open(path + ".clv", "w") as file:
        file.write(text)
    options = [([], {})] + [drawn(rng) for _ in range(ROWS - 1)]
    # What PyTorch doesn't hand over: sizes are counted apart, constants are attributes of both halves.
    elsewhere = list(joint.hints) + re.findall(r"%(\w+): const", text)
    return {"kinds": kinds, "elsewhere": elsewhere,
            "rows": [{"words": words, **cut_by_pytorch(joint, settings)} for words, settings in options]}


def traced(tasks):
    """rows_of each task, in a process of its own: PyTorch may end it."""
    def child(pipe, todo):
        for seed, path in todo:
            pipe.send(rows_of(seed, path))
    fork, done = multiprocessing.get_context("fork"), 0
    while done < len(tasks):
        ours, theirs = fork.Pipe(duplex=False)
        process = fork.Process(target=child, args=(theirs, tasks[done:]))
        process.start()
        theirs.close()
        while done < len(tasks):
            try:
                out = ours.recv() if ours.poll(120) else "takes longer than 120 s"
            except EOFError:
                out = "it ends the process"
            yield tasks[done], out
            done += 1
            if isinstance(out, str) and out in ("takes longer than 120 s", "it ends the process"):
                break
        process.kill()
        process.join()


class Table:
    """Of each kind of graph and option: cuts, same, with more bytes."""
    def __init__(self):
        self.counts, self.refusals, self.saved, self.unread, self.ties = {"all": [0, 0, 0]}, 0, [0, 0], 0, 0

    def add(self, kinds, words, same, dearer):
        for key in ["all", *kinds, *(words or ["no option"])]:
            key = re.sub(r"^--max-distance .*", "--max-distance", key)
            row = self.counts.setdefault(key, [0, 0, 0])
            for k, more in enumerate((1, same, dearer)):
                row[k] += more

    def share(self):
        return self.counts["all"][1] / max(self.counts["all"][0], 1)

    def text(self):
        lines = [f"{'':32}{'cuts':>8}{'same':>8}{'':>9}{'more bytes':>12}"]
        for key, (cuts, same, dearer) in self.counts.items():
            lines.append(f"{key:32}{cuts:8}{same:8}{same / max(cuts, 1):9.2%}{dearer:12}")
        return "\n".join(lines)


def value_kept(answer):
    return sum(i["runtime"] for i in answer["pytorch"]["items"] if i["kept"])


def compare(cleave, path, found, table, keep):
    for row in found["rows"]:
        words, want = row["words"], row["saved"]
        ran = subprocess.run([cleave, "partition", path + ".clv", "--mode", "pytorch", "--json", *" ".join(words).split()],
                             capture_output=True, text=True)
        name, why = f"{os.path.basename(path)} {' '.join(words)}", ""
        if re.search(r"P13: the operator '\w+' is not (known|covered yet)", ran.stderr):  # in PyTorch's gradients alone
            table.unread += 1
            return
        if isinstance(want, str) or ran.returncode:  # both refuse it, or it differs
            same, dearer = isinstance(want, str) and ran.returncode == 1, False
            why = f"PyTorch: {want if isinstance(want, str) else 'a cut'}; cleave: {ran.stderr.strip()[:200] or 'a cut'}"
            table.refusals += same
        else:
            got = {v["name"]: v["bytes"] for v in json.loads(ran.stdout)["saved"] if v["name"] not in found["elsewhere"]}
            same, dearer = got.keys() == want.keys(), sum(got.values()) > sum(want.values())
            if not same and row["best"] is not None and row["best"] == value_kept(json.loads(ran.stdout)):
                table.ties += 1  # ilp finds any of equally good choices
                continue
            table.saved[0] += sum(got.values())
            table.saved[1] += sum(want.values())
            why = (f"PyTorch alone saves {sorted(want.keys() - got.keys())}, cleave alone {sorted(got.keys() - want.keys())}; "
                   f"{sum(want.values())} and {sum(got.values())} bytes")
        table.add(found["kinds"], words, same, dearer)
        if not same:
            print(f"{name}: {why}", flush=True)
            os.makedirs(keep, exist_ok=True)
            with open(path + ".clv") as graph, open(os.path.join(keep, os.path.basename(path) + ".clv"), "w") as kept:
                kept.write(graph.read())


def other_lists():
    """The operators that PyTorch's lists have otherwise than src/cut/pytorch_ops.cpp."""
    from torch._functorch.partitioners import get_default_op_list
    with open(os.path.join(ROOT, "src", "cut", "pytorch_ops.cpp")) as f:
        text = f.read()
    ours = lambda name: set(re.findall(r'"(\w+)"', re.search(rf"const Names {name} = {{(.*?)}};", text, re.S).group(1)))
    lists = [ours("recomputable") | ours("views"), ours("views"), ours("compute_intensive"), ours("random_ops")]
    types, out = get_default_op_list(), []
    with open(os.path.join(ROOT, "doc", "ops.md")) as f:
        names = re.findall(r"^### (\w+)$", f.read(), re.M)
    for name in names:
        packet = getattr(torch.ops.aten, name, None)
        theirs = [packet in s for s in (types.recomputable_ops, types.view_ops, types.compute_intensive_ops, types.random_ops)]
        if packet is not None and name not in OTHER_LISTS and theirs != [name in s for s in lists]:
            out.append(name)
    print(f"{len(names)} operators; in other lists than PyTorch's: {', '.join(out) or 'none'}")
    return out


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    n, seed = (int(a) for a in (sys.argv[3:5] + ["200", "0"][len(sys.argv[3:5]):]))
    keep = sys.argv[5] if len(sys.argv) > 5 else "build/other_partitions"
    table, reasons, wrong = Table(), {}, other_lists()
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.argv[2], folder, str(n), str(seed), *WITHOUT], check=True)
        tasks = [(k, os.path.join(folder, f"graph_{k}")) for k in range(seed, seed + n)]
        for (_, path), found in traced(tasks):
            if isinstance(found, str):
                reasons[found] = reasons.get(found, 0) + 1
            else:
                compare(sys.argv[1], path, found, table, keep)
    print(f"{n} graphs from seed {seed}, {sum(reasons.values())} that PyTorch can't trace or differentiate")
    for why, count in sorted(reasons.items(), key=lambda r: -r[1])[:8]:
        print(f"  {count} {why[:150]}")
    print(f"{table.unread} graphs have operators that cleave doesn't know; {table.ties} cuts with ilp are left out, where its "
          "choice is worth as much and another")
    print(f"{table.refusals} cuts are refused by both; bytes saved: {table.saved[0]} by cleave, {table.saved[1]} by PyTorch")
    print(table.text())
    sys.exit(0 if table.share() >= 0.995 and not table.counts["all"][2] and not wrong else 1)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Random graphs against PyTorch: the oracle's results and gradients beside PyTorch's, all in float64.

    python3 test/peer/graphs.py WRITE_GRAPHS [N [SEED [FOLDER]]]

WRITE_GRAPHS is the program of that name (build/release/bin/write_graphs). Each graph's calls are made on torch.ops.aten,
its gradients by PyTorch's autograd; an element may differ by what the oracle's own rounding changes (`allowed` of the
file). Where PyTorch has no such call or no gradient of it, the graph is counted apart. A graph that differs is kept in
FOLDER (build/wrong_graphs). Exit status: 0 all agree, 1 not, 77 no PyTorch.
"""
import json, multiprocessing, os, shutil, subprocess, sys, tempfile
from aten import NoOverload, call, divides_in_cumprod, read_safetensors, torch, value_of

BATCH = 100
# Not drawn: what PyTorch on a CPU has no operator for, what is random, and what ATen leaves open (topk: order of ties).
WITHOUT = ["adam_step", "int_mm_scaled", "uint4x2_mm", "packed_addmm", "convolution_pointwise", "convolution_channels_last", "convolution_channels_last_backward", "opaque", "fused", "class_index", "cond", "while_loop", "rng_next",
           "sym_size", "sym_numel", "is_same_size", "cudnn_batch_norm", "cudnn_batch_norm_backward", "rand", "randn", "randint", "randperm", "bernoulli", "native_dropout",
           "empty", "empty_like", "empty_strided", "empty_permuted", "topk",
           "_scaled_dot_product_efficient_attention", "_scaled_dot_product_efficient_attention_backward",
           "_fused_rms_norm_backward"]

# Without a derivative in PyTorch: drawn in every other batch.
NO_DERIVATIVE = ["copy", "silu_backward", "native_group_norm_backward", "native_layer_norm_backward",
                 "native_batch_norm_backward"]

# PyTorch's gradient of a gradient takes it that these operands are those of the forward call.
OTHER_GRADIENT = {"nll_loss_backward": "total_weight", "native_layer_norm_backward": "mean and rstd",
                  "native_batch_norm_backward": "save_mean and save_invstd"}

# Operands that PyTorch's kernels, or those of their gradients, read as row-major memory whatever their strides: PyTorch's
# own callers give them so. The scatters of views copy self with its strides, and elements that share a place are one then.
BATCH_NORM = ["weight", "running_mean", "running_var", "save_mean", "save_invstd"]
ROW_MAJOR = {"view": ["self"], "_unsafe_view": ["self"], "as_strided": ["self"],
             "select_scatter": ["self"], "slice_scatter": ["self"], "diagonal_scatter": ["self"],
             "native_group_norm": ["input", "weight", "bias"],
             "native_group_norm_backward": ["grad_out", "input", "mean", "rstd", "weight"],
             "native_layer_norm_backward": ["mean", "rstd"],
             "_native_batch_norm_legit": BATCH_NORM, "_native_batch_norm_legit_functional": BATCH_NORM,
             "_native_batch_norm_legit_no_training": BATCH_NORM, "native_batch_norm_backward": BATCH_NORM,
             "_scaled_dot_product_flash_attention_for_cpu": ["query", "key", "value"],
             "_scaled_dot_product_flash_attention_for_cpu_backward": ["query", "key", "value", "out"]}


def with_strides(x, strides):
    """x where its elements lie with these strides; those that share a place are equal."""
    if strides is None:
        return x.clone()
    size = 0 if x.numel() == 0 else 1 + sum((n - 1) * s for n, s in zip(x.shape, strides))
    place = torch.arange(size).as_strided(x.shape, strides).reshape(-1)
    memory = torch.zeros(size, dtype=x.dtype)
    memory[place] = x.reshape(-1)
    return memory.as_strided(x.shape, strides)


def open_in_pytorch(op, args, gradients):
    """What ATen leaves open in this call, or PyTorch has otherwise (samples.py says it of samples); empty: nothing."""
    if op == "convolution" and args["input"][1].shape[1] == 0:
        return "without input channels PyTorch's has no output channels"
    if op == "scatter_reduce" and args["reduce"][1] == "mean" and args["self"][1].dtype in (torch.int8, torch.uint8):
        return "sums and their numbers overflow in PyTorch"
    if op == "convolution_backward" and args["input"][1].numel() == 0:
        return "of an empty input PyTorch's bias gradient is 0"
    if op == "native_group_norm" and args["input"][1].numel() == 0 and gradients:
        return "of no elements PyTorch's weight gradient is NaN"
    if op == "cumprod" and gradients and args["self"][1].is_floating_point() and divides_in_cumprod(args["self"][1], args["dim"][1]):
        return "PyTorch's gradient " + divides_in_cumprod(args["self"][1], args["dim"][1])
    if op == "cumprod_backward" and divides_in_cumprod(args["input"][1], args["dim"][1]):
        return "PyTorch's " + divides_in_cumprod(args["input"][1], args["dim"][1])
    if op in ("elu", "hardtanh") and gradients and args["self"][1].isnan().any():
        return "PyTorch's slope at NaN depends on the processor and on what fills a vector"
    if op == "sort" and args["self"][1].numel() != args["self"][1].unique().numel():
        return "the order of equal elements is open"
    return ""


class StatisticsTogether(torch.autograd.Function):
    """mean and rstd of native_group_norm. PyTorch's gradient of that call reads those of mean and rstd where it has both
    and drops one that comes alone (infinitely_differentiable_native_group_norm_backward): a 0 stands for the other."""
    @staticmethod
    def forward(ctx, mean, rstd):
        return mean.view_as(mean), rstd.view_as(rstd)

    @staticmethod
    def backward(ctx, mean, rstd):  # called where one has a gradient: the other's is zeros then
        return mean, rstd


class Graph:
    def __init__(self, path):
        with open(path + ".json") as f:
            self.text = json.load(f)
        self.tensors = read_safetensors(path + ".safetensors")

    def run(self, gradients):
        """Results by `want` key; gradients too, where asked for."""
        values = {}
        for name, wants in self.text["inputs"]:
            strides = self.text["strides"].get(name)
            values[name] = with_strides(self.tensors[name], strides).requires_grad_(wants and gradients)
        leaves = {n: v for n, v in values.items() if v.requires_grad}
        for node in self.text["nodes"]:
            args = {}
            for name, a in node["args"]:
                if "tensor" in a:
                    x = values[a["tensor"]]
                    args[name] = ("tensor", x.contiguous() if name in ROW_MAJOR.get(node["op"], []) else x)
                elif "tensors" in a:
                    args[name] = ("tensors", [None if t is None else values[t] for t in a["tensors"]])
                else:
                    args[name] = ("value", value_of(a["value"]))
            if why := open_in_pytorch(node["op"], args, gradients):
                raise NoOverload(f"{node['op']}: {why}")
            out = call(node["op"], args)
            if node["op"] == "native_group_norm":
                out = (out[0], *StatisticsTogether.apply(*out[1:]))
            for name, value in zip(node["results"], list(out) if isinstance(out, (list, tuple)) else [out]):
                if name is not None:
                    values[name] = value
        found, total = {}, 0
        for k, name in enumerate(self.text["returns"]):
            found[str(k)] = values[name].detach()
            cotangent = self.tensors.get(f"cotangent.{k}")
            if cotangent is not None and values[name].requires_grad:
                total = total + (values[name] * cotangent).sum()
        if isinstance(total, torch.Tensor) and leaves:
            grads = torch.autograd.grad(total, list(leaves.values()), allow_unused=True)
            found.update({f"grad.{n}": torch.zeros_like(leaves[n]) if g is None else g.to_dense() for n, g in zip(leaves, grads)})
        return found

    def other_gradient(self):
        """Why PyTorch's gradient of a call is another one by its own rule; empty: it isn't."""
        read = set(self.text["returns"]) | {t for n in self.text["nodes"] for _, a in n["args"]
                                            for t in [a.get("tensor"), *a.get("tensors", [])]}
        for n in self.text["nodes"]:
            if n["op"] == "_scaled_dot_product_flash_attention_for_cpu" and n["results"][1] in read:
                return f"{n['op']}: PyTorch gives its sums no gradient"
            if n["op"] in OTHER_GRADIENT:
                return f"{n['op']}: {OTHER_GRADIENT[n['op']]}"
            if n["op"] == "cumprod_backward":  # of elements of 1e-20 nothing is left: 8192 where the products give 0.08
                return "cumprod_backward: PyTorch differentiates its quotient by input, whose terms cancel"
            if n["op"] == "embedding_dense_backward" and ["scale_grad_by_freq", {"value": True}] in n["args"]:
                return "embedding_dense_backward: PyTorch's gradient lacks scale_grad_by_freq"
        return ""

    def difference(self, found):
        for key, got in found.items():
            want, allowed = self.tensors.get("want." + key), self.tensors.get("allowed." + key)
            if want is None:
                continue
            if got.dtype != want.dtype or got.shape != want.shape:
                return f"{key}: {want.dtype}{list(want.shape)}, PyTorch's is {got.dtype}{list(got.shape)}"
            a, b = got.double(), want.double()
            wrong = ~((a == b) | (a.isnan() & b.isnan()) | ((a - b).abs() <= allowed) | allowed.isinf())
            if wrong.any():
                at = tuple(wrong.nonzero()[0].tolist())
                return f"{key} at {list(at)}: {b[at].item()} within {allowed[at].item():.2g}, PyTorch's {a[at].item()}"
        return ""


def run_graph(path):
    """(kind, text): kind is agree, forward (no gradient there), refused or differ."""
    g = Graph(path)
    try:
        if g.other_gradient():
            raise NoOverload(g.other_gradient())
        found, kind, text = g.run(True), "agree", ""
    except (NoOverload, RuntimeError, NotImplementedError) as first:
        try:
            found, kind, text = g.run(False), "forward", str(first).splitlines()[0]
        except (NoOverload, RuntimeError, NotImplementedError) as second:
            return "refused", str(second).splitlines()[0]
    why = g.difference(found)
    return ("differ", why) if why else (kind, text)


def run_all(paths):
    """run_graph of each, in a process of its own: PyTorch ends the process on some calls."""
    def child(pipe, todo):
        for p in todo:
            try:
                pipe.send(run_graph(p))
            except Exception as e:
                pipe.send(("differ", f"{type(e).__name__}: {str(e).splitlines()[0]}"))
    fork, out = multiprocessing.get_context("fork"), []
    while len(out) < len(paths):
        ours, theirs = fork.Pipe(duplex=False)
        process = fork.Process(target=child, args=(theirs, paths[len(out):]))
        process.start()
        theirs.close()
        try:
            while len(out) < len(paths):
                out.append(ours.recv())
        except EOFError:
            out.append(("refused", "it ends the process"))
        process.join()
    return out


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    n, seed = (int(a) for a in (sys.argv[2:4] + ["200", "0"][len(sys.argv[2:4]):]))
    keep = sys.argv[4] if len(sys.argv) > 4 else "build/wrong_graphs"
    counts, reasons, failures = {"agree": 0, "forward": 0, "refused": 0, "differ": 0}, {}, []
    for begin in range(seed, seed + n, BATCH):
        size = min(BATCH, seed + n - begin)
        with tempfile.TemporaryDirectory() as folder:
            without = WITHOUT + (NO_DERIVATIVE if begin // BATCH % 2 else [])
            subprocess.run([sys.argv[1], folder, str(size), str(begin), *without], check=True)
            paths = [f"{folder}/graph_{begin + k}" for k in range(size)]
            for path, (kind, why) in zip(paths, run_all(paths)):
                counts[kind] += 1
                if kind in ("refused", "forward"):
                    why = f"{kind}: {why}"
                    reasons[why] = reasons.get(why, 0) + 1
                if kind == "differ":
                    failures.append(f"{os.path.basename(path)}: {why}")
                    print(failures[-1], flush=True)
                    os.makedirs(keep, exist_ok=True)
                    for end in (".clv", ".json", ".safetensors"):
                        shutil.copy(path + end, keep)
    print(f"{n} graphs from seed {seed}: {counts['agree']} agree with gradients, {counts['forward']} without (PyTorch has "
          f"none), {counts['refused']} refused by PyTorch, {counts['differ']} differ")
    for why, count in sorted(reasons.items(), key=lambda r: -r[1])[:20]:
        print(f"  {count} {why[:200]}")
    sys.exit(1 if failures else 0)


main()

#!/usr/bin/env python3
"""test/peer/record_partition.py [DIR]: what PyTorch's partitioner saves under each option of `cleave partition`.

Writes DIR/NAME.clv, the joint graph of a small model as PyTorch traces it, and DIR/NAME.json, a list of
{"options": the words of the command, "saved": the names that PyTorch saves under the settings of the same meaning}.
DIR is test/tool/partition unless it is given; test/tool/partition_test.py compares the command with it. Needs PyTorch
2.13, scipy (for the solver ilp) and ../shared/peers/torch_partition.py. Exit status 77 where one is missing.
"""
import json, os, sys, tempfile
HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
PEERS = os.path.join(ROOT, "..", "shared", "peers")
try:
    import scipy, torch
    import torch._functorch.config as config
    sys.path.insert(0, PEERS)
    from torch_partition import answers
except ImportError as e:
    print(f"skipped: {e}")
    sys.exit(77)
BANS = {name: f"ban_recompute_{name}" for name in
        ("used_far_apart", "long_fusible_chains", "materialized_backward", "not_in_allowlist", "reductions")}


def settings():
    """(words of the command, settings of PyTorch, budget) of each option, and of some together."""
    yield [], {}, 1.0
    for name, setting in BANS.items():
        yield ["--ban", f"{name}=off"], {setting: False}, 1.0
    yield ["--aggressive"], {"aggressive_recomputation": True}, 1.0
    yield ["--recompute-views"], {"recompute_views": True}, 1.0
    yield ["--pay-for-params"], {"treat_parameters_as_free_to_save": False}, 1.0
    for distance in (0, 1):
        yield ["--max-distance", str(distance)], {"max_dist_from_bw": distance}, 1.0
    yield (["--ban", "used_far_apart=off,reductions=off", "--max-distance", "2"],
           {BANS["used_far_apart"]: False, BANS["reductions"]: False, "max_dist_from_bw": 2}, 1.0)
    for solver in ("dp", "greedy", "ilp"):
        for budget in (0.7, 0.45, 0.2, 0.0):  # not where PyTorch's float sums of equal parts meet the budget
            yield (["--solver", solver, "--budget", str(budget)], {"activation_memory_budget_solver": solver}, budget)
    for budget in (0.6, 0.3):
        yield (["--estimator", "testing", "--budget", str(budget)],
               {"activation_memory_budget_runtime_estimator": "testing"}, budget)
        yield (["--aggressive", "--recompute-views", "--budget", str(budget)],
               {"aggressive_recomputation": True, "recompute_views": True}, budget)


def values(*shapes):
    torch.manual_seed(0)
    return [torch.randn(*s, requires_grad=True) for s in shapes]


def normed_mlp(x, w, b, v):
    h = torch.nn.functional.gelu(x @ w + b)
    return torch.log_softmax(torch.nn.functional.layer_norm(h, h.shape[-1:]) @ v, 1)


def attention(x, wq, wk, wv):
    heads = lambda w: (x @ w).view(2, 6, 2, 4).transpose(1, 2)
    q, k, v = heads(wq), heads(wk), heads(wv)
    p = torch.softmax(q @ k.transpose(-1, -2) / 2, -1)
    return (p @ v).transpose(1, 2).reshape(2, 6, 8)


def convolutions(x, w, b, v):
    h = torch.relu(torch.nn.functional.conv2d(x, w, b, padding=1))
    return torch.nn.functional.conv2d(torch.sigmoid(h) * h, v, stride=2)


def far_readers(x, w):
    a = x.cos()
    c = (a.sin() @ w).cos()
    d = a * c
    e = d.sum(1, keepdim=True).exp() * d
    return (e.sin() @ w).cumsum(0).exp() * a


def long_chain(x, w):
    h = x @ w
    for _ in range(120):
        h = h.cos()
    return (h @ w).tanh()


def scans(x, w):
    """Scans and sorts beside pointwise calls."""
    a = (x @ w).cumsum(0)
    s, _ = torch.sort(a.exp(), 1)
    return torch.where(s > 0.5, s.cumsum(1), a.sin()).view(-1) * x.reshape(-1)[: s.numel()]


MODELS = {
    "normed_mlp": (normed_mlp, values((6, 5), (5, 7), (7,), (7, 4))),
    "attention": (attention, values((2, 6, 8), (8, 8), (8, 8), (8, 8))),
    "convolutions": (convolutions, values((2, 3, 8, 8), (4, 3, 3, 3), (4,), (5, 4, 2, 2))),
    "far_readers": (far_readers, values((5, 5), (5, 5))),
    "long_chain": (long_chain, values((4, 4), (4, 4))),
    "scans": (scans, values((6, 6), (6, 6))),
}


class Model(torch.nn.Module):
    """The function with all inputs but the first as parameters."""
    def __init__(self, f, inputs):
        super().__init__()
        self.f = f
        for k, v in enumerate(inputs[1:]):
            self.register_parameter(f"p{k}", torch.nn.Parameter(v.detach().clone()))

    def forward(self, x):
        return self.f(x, *self.parameters())


def record(folder, name, f, inputs):
    rows, text = [], None
    with tempfile.TemporaryDirectory() as scratch:
        path = os.path.join(scratch, name)
        for words, patches, budget in settings():
            with config.patch(**patches):
                got = answers(Model(f, inputs), inputs[:1], path, budgets=[budget])[str(budget)]
            with open(path + ".joint.clv") as file:
                traced = file.read()
            assert text in (None, traced), f"{name}: an option changes the graph"
            text = traced
            rows.append({"options": words, "saved": sorted(v["name"] for v in got["saved"])})
    with open(os.path.join(folder, name + ".clv"), "w") as file:
        file.write(text)
    with open(os.path.join(folder, name + ".json"), "w") as file:
        file.write("[\n" + ",\n".join(json.dumps(r) for r in rows) + "\n]\n")
    plain = rows[0]["saved"]
    changed = [" ".join(r["options"]) for r in rows[1:] if r["saved"] != plain]
    print(f"{name}: {len(text.splitlines())} lines, {len(rows)} rows; another set under: {'; '.join(changed)}")


def main():
    folder = sys.argv[1] if len(sys.argv) > 1 else os.path.join(ROOT, "test", "tool", "partition")
    os.makedirs(folder, exist_ok=True)
    for name, (f, inputs) in MODELS.items():
        record(folder, name, f, inputs)


main()

#!/usr/bin/env python3
"""test/peer/control_flow.py DIR: torch.cond and while_loop as torch.export writes them, in graphs as DIR/NAME.clv.

Beside each graph NAME.in.safetensors (one tensor a placeholder) and NAME.want.safetensors: `out.K`, and for each
placeholder marked `grad` `grad.NAME`, the gradient of the sum of all floating results, by eager PyTorch in float64.
test/peer/peer_test.cpp compares both engines with them (CLEAVE_PEERS=DIR). Needs PyTorch and safetensors.
"""
import os
import sys

import torch
import torch.nn.functional as F
from safetensors.torch import save_file

DTYPES = {torch.float32: "f32", torch.int64: "i64", torch.bool: "bool"}
while_loop = torch._higher_order_ops.while_loop


def type_text(t):
    return f"{DTYPES[t.dtype]}[{','.join(str(int(d)) for d in t.shape)}]"


def attr_text(v):
    if isinstance(v, bool):
        return "true" if v else "false"
    if isinstance(v, (list, tuple)):
        return "[" + ",".join(attr_text(x) for x in v) + "]"
    return f'"{v}"' if isinstance(v, str) else repr(v)


def aten_text(n, name):
    """One call of an ATen overload: Tensors before `;`, all else after it by name, defaults left out."""
    operands, attrs = [], []
    for i, a in enumerate(n.target._schema.arguments):
        v = n.args[i] if i < len(n.args) else n.kwargs.get(a.name, a.default_value)
        if "Tensor" in str(a.type) and not isinstance(v, (int, float)):
            operands.append("none" if v is None else "%" + name[v])
        elif v is not None and v != a.default_value:
            attrs.append(f"{a.name}={attr_text(v)}")
    while operands and operands[-1] == "none":
        operands.pop()
    op = n.target._schema.name.split("::")[1]
    return f"{op}({'; '.join(x for x in (', '.join(operands), ', '.join(attrs)) if x)})"


def call_text(n, name):
    listed = lambda nodes: "[" + ", ".join("%" + name[x] for x in nodes) + "]"
    if str(n.target) == "cond":
        pred, then, otherwise, operands = n.args
        return f"cond(%{name[pred]}, {listed(operands)}; then={name[then]}, otherwise={name[otherwise]})"
    if str(n.target) == "while_loop":
        condition, body, carried, others = n.args
        return f"while_loop({listed((*carried, *others))}; condition={name[condition]}, body={name[body]})"
    return aten_text(n, name)


def graph_text(module, graph, differentiated=()):
    """The text of a traced module, with those of its subgraphs before it."""
    texts, name, heads, lines = [], {}, [], []
    for n in module.graph.nodes:
        if n.op == "placeholder":
            name[n] = n.name
            heads.append(f"%{n.name}: input {type_text(n.meta['val'])}{' grad' if n.name in differentiated else ''}")
        elif n.op == "get_attr":
            name[n] = f"@{graph}.{n.target}"
            texts.append(graph_text(getattr(module, n.target), name[n][1:]))
        elif n.op == "call_function" and n.target.__name__ == "getitem":
            name[n] = f"{name[n.args[0]]}.{n.args[1]}"
        elif n.op == "call_function":
            name[n], v = n.name, n.meta["val"]
            several = isinstance(v, (list, tuple))
            results = [f"%{n.name}.{k}" for k in range(len(v))] if several else ["%" + n.name]
            types = ", ".join(type_text(t) for t in (v if several else [v]))
            lines.append(f"  {', '.join(results)} = {call_text(n, name)} : {types}\n")
    out = next(n for n in module.graph.nodes if n.op == "output").args[0]
    returned = ", ".join("%" + name[n] for n in (out if isinstance(out, (list, tuple)) else [out]))
    texts.append(f"graph @{graph}({', '.join(heads)}) {{\n{''.join(lines)}  return {returned}\n}}\n")
    return "\n".join(texts)


def export(folder, case, make, args):
    """make(cond, while_loop) is a function of `args`."""
    class Module(torch.nn.Module):
        def forward(self, *tensors):
            return make(torch.cond, while_loop)(*tensors)

    program = torch.export.export(Module(), tuple(args)).run_decompositions()
    names = [n.name for n in program.graph_module.graph.nodes if n.op == "placeholder"]
    given = dict(zip(names, args))
    text = graph_text(program.graph_module, "main", {k for k, t in given.items() if t.requires_grad})
    wide = [t.detach().double().requires_grad_(t.requires_grad) if t.is_floating_point() else t for t in args]
    results = make(eager_cond, eager_loop)(*wide)
    want = {f"out.{k}": t.detach().clone() for k, t in enumerate(results)}
    if any(t.requires_grad for t in results):
        sum(t.sum() for t in results if t.requires_grad).backward()
        for k, t in zip(names, wide):
            if t.requires_grad:
                want["grad." + k] = torch.zeros_like(t) if t.grad is None else t.grad
    path = os.path.join(folder, case)
    with open(path + ".clv", "w") as f:
        f.write(text)
    save_file({k: t.detach().clone() for k, t in given.items()}, path + ".in.safetensors")
    save_file({k: t.contiguous() for k, t in want.items()}, path + ".want.safetensors")


def eager_cond(pred, then, otherwise, operands):
    return then(*operands) if pred else otherwise(*operands)


def eager_loop(condition, body, carried):
    while condition(*carried):
        carried = body(*carried)
    return carried


# ---- cases: functions of cond and while_loop that give functions of tensors
def branch(cond, _):
    return lambda x, w: cond(x.sum() > 0, lambda x, w: (torch.tanh(x @ w),),
                             lambda x, w: (torch.relu(x @ w) * 2,), (x, w))


def nested(cond, _):
    def inner(x, w):
        return cond((x * w).mean() > 0, lambda x, w: (x * w,), lambda x, w: (x.softmax(-1) + w,), (x, w))[0]
    return lambda x, w: cond(x.max() > 1, lambda x, w: (inner(x, w).exp(), x.sum(0)),
                             lambda x, w: (inner(w, x).sin(), w.sum(0)), (x, w))


def rows(cond, _):
    return lambda x, i, w: cond(i.max() < w.shape[0], lambda x, i, w: (F.embedding(i, w) * x,),
                                lambda x, i, w: (w[:4] - x,), (x, i, w))


def norm(cond, _):
    return lambda x, w, b: cond(b.sum() > 0, lambda x, w, b: (F.layer_norm(x, (4,), w, b),),
                                lambda x, w, b: ((x * w).log_softmax(-1) + b,), (x, w, b))


def loop(_, while_loop):
    return lambda i, x, w: while_loop(lambda i, x: i < 5, lambda i, x: (i + 1, torch.tanh(x @ w) + 0.5 * x), (i, x))


def mixed(cond, while_loop):
    def body(i, x):
        return i + 1, cond(i % 2 == 0, lambda x: (x.cumsum(0),), lambda x: (x.flip(0) * 0.5,), (x,))[0]
    return lambda i, x: while_loop(lambda i, x: (i < 7) & (x.abs().max() < 50), body, (i, x))


def main(folder):
    os.makedirs(folder, exist_ok=True)
    torch.manual_seed(0)
    trained = lambda *shape: torch.randn(*shape).requires_grad_()
    for k in range(3):
        cases = {
            "branch": (branch, [trained(5, 4), trained(4, 3)]),
            "nested": (nested, [trained(3, 4), trained(3, 4)]),
            "rows": (rows, [trained(4, 3), torch.randint(0, 5 + 2 * (k % 2), (4,)), trained(5, 3)]),
            "norm": (norm, [trained(3, 4), trained(4), trained(4)]),
            "loop": (loop, [torch.tensor(2 * k), torch.randn(4, 4), torch.randn(4, 4)]),
            "mixed": (mixed, [torch.tensor(k), torch.randn(6, 2)]),
        }
        for case, (make, args) in cases.items():
            export(folder, f"{case}_{k}", make, args)


if __name__ == "__main__":
    main(sys.argv[1])

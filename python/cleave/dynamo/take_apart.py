"""Calls that cleave doesn't cover, but whose parts it does: replaced by what PyTorch's rules take them apart to.

An operator that cleave has is left whole by the decompositions, since its own kernel is better. Where a call of it has
arguments that cleave doesn't cover, it is taken apart after all.
"""
import torch
from torch.fx.experimental.proxy_tensor import make_fx

from cleave.dynamo.memory_rules import read_owners
from cleave.dynamo.rules import rule_of
from cleave.fx.calls import is_call, is_subgraph
from cleave.fx.covered import reason_outside
from cleave.fx.decompositions import decompositions

KEPT_META = ("recompute", "ac_graph_id", "nn_module_stack", "stack_trace")


def take_apart_uncovered(graph_module):
    graph, changed = graph_module.graph, False
    read_owners(graph)
    for n in list(graph.nodes):
        if is_subgraph(n):
            take_apart_uncovered(getattr(graph_module, n.target))
            continue
        if is_call(n):
            _take_number_as_tensor(n)
        rule = rule_of(n.target) if is_call(n) else None
        if rule is None or reason_outside(n) is None:
            continue
        parts = _parts_of(n, rule)
        if parts is not None and all(reason_outside(m) is None for m in parts.graph.nodes if is_call(m)):
            _replace(n, parts.graph)
            changed = True
    if changed:
        graph.lint()
        graph_module.recompile()


def _take_number_as_tensor(node):
    """mul.Scalar(x, s), where s is a floating number that sizes give in each run: mul.Tensor(x, s), which s enters as f64[]."""
    def is_run_time(arg):
        return isinstance(arg, torch.fx.Node) and isinstance(arg.meta.get("val"), torch.SymFloat)

    op = node.target
    if isinstance(op, torch._ops.OpOverload) and op._overloadname == "Scalar" and len(node.args) == 2 and is_run_time(node.args[1]):
        node.target = getattr(op.overloadpacket, "Tensor", op)


def _parts_of(node, rule):
    """The graph of the rule for a call's tensors, its other arguments in place; None: the rule refuses them."""
    inputs = node.all_input_nodes

    refused = False

    def run(*given):
        nonlocal refused
        by_node = dict(zip(inputs, given))
        args, kwargs = torch.fx.node.map_arg((node.args, node.kwargs), by_node.__getitem__)
        result = rule(*args, **kwargs)
        refused = result is NotImplemented
        return () if refused else result

    try:
        parts = make_fx(run, decomposition_table=decompositions())(*(n.meta["val"] for n in inputs))
    except (NotImplementedError, RuntimeError, TypeError, AssertionError):
        return None
    if refused:
        return None
    same = [n.meta.get("val") for n in next(n for n in parts.graph.nodes if n.op == "output").all_input_nodes]
    wanted = node.meta["val"] if isinstance(node.meta["val"], (list, tuple)) else [node.meta["val"]]
    given = [(tuple(v.shape), v.dtype) for v in same if isinstance(v, torch.Tensor)]
    return parts if given == [(tuple(v.shape), v.dtype) for v in wanted if v is not None] else None


def _replace(node, parts):
    graph = node.graph
    copies = dict(zip((n for n in parts.nodes if n.op == "placeholder"), node.all_input_nodes))
    known = set(copies)
    with graph.inserting_before(node):
        results = graph.graph_copy(parts, copies)  # notes the copy of each node
    for part, copy in copies.items():
        if part not in known:
            copy.meta.update({key: node.meta[key] for key in KEPT_META if key in node.meta})
    if isinstance(results, (list, tuple)):
        for user in list(node.users):
            user.replace_all_uses_with(results[user.args[1]])
            graph.erase_node(user)
    else:
        node.replace_all_uses_with(results)
    graph.erase_node(node)

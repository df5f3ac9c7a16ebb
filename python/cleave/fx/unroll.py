"""Scans and maps over a known number of rows, as the calls of all their steps.

    scan(body, (c,), (x,), (w,))        ►   c1, y1 = body(c, x[0], w); c2, y2 = body(c1, x[1], w); ...; c_n, stack(y)
    map_impl(body, (x,), (w,))          ►   y1 = body(x[0], w); ...; stack(y)

Both have their gradient as a scan or map of their own by then. Long ones, and those whose body refers to other graphs, stay.
"""
import operator

import torch

from cleave.fx.calls import is_subgraph

aten = torch.ops.aten
# Calls that a loop becomes, at most: each is compiled, so that is what it costs.
MOST_CALLS = 2000


def unroll_loops(graph_module):
    graph = graph_module.graph
    loops = [n for n in graph.nodes if n.op == "call_function" and n.target in _PARTS]
    changed = [_unroll(n) for n in loops]
    if any(changed):
        graph.eliminate_dead_code()
        _name_views(graph)
        graph.lint()
        graph_module.recompile()


def _scan_parts(body, carried, rows, others):
    return body, list(carried), list(rows), list(others)


def _map_parts(body, rows, others):
    return body, [], list(rows), list(others)


_PARTS = {torch.ops.higher_order.scan: _scan_parts, torch.ops.higher_order.map_impl: _map_parts}


def _unroll(node):
    """Whether it was unrolled."""
    body, carried, rows, others = _PARTS[node.target](*node.args, **node.kwargs)
    inner = getattr(node.graph.owning_module, body.target).graph
    calls = [n for n in inner.nodes if n.op == "call_function"]
    operands = [*carried, *rows, *others]
    if not rows or not all(isinstance(v, torch.fx.Node) and isinstance(v.meta.get("val"), torch.Tensor) for v in operands):
        return False
    length = rows[0].meta["val"].shape[0]
    if not isinstance(length, int) or length < 1 or length * len(calls) > MOST_CALLS or any(map(is_subgraph, inner.nodes)):
        return False
    graph, inputs = node.graph, [n for n in inner.nodes if n.op == "placeholder"]
    stacked = []
    with graph.inserting_before(node):
        for k in range(length):
            given = [*carried, *(_called(graph, aten.select.int, x, 0, k) for x in rows), *others]
            results = list(graph.graph_copy(inner, dict(zip(inputs, given))))
            stacked.append(results[len(carried):])
            carried = results[:len(carried)]
        results = [*carried, *(_stack(graph, column) for column in zip(*stacked))]
    for user in list(node.users):
        assert user.target is operator.getitem
        user.replace_all_uses_with(results[user.args[1]])
        graph.erase_node(user)
    graph.erase_node(node)
    return True


def _stack(graph, tensors):
    return _called(graph, aten.cat.default, [_called(graph, aten.unsqueeze.default, t, 0) for t in tensors], 0)


def _called(graph, op, *args):
    node = graph.call_function(op, args)
    values = torch.fx.node.map_arg(args, lambda n: n.meta["val"])
    first = next(v for v in torch.utils._pytree.tree_leaves(values) if isinstance(v, torch.Tensor))
    with first.fake_mode:
        node.meta["val"] = op(*values)
    return node


def _name_views(graph):
    """The body of a scan has view_copy and the like, which compute what the views are."""
    for n in graph.nodes:
        if n.op != "call_function" or not isinstance(n.target, torch._ops.OpOverload) or n.target.namespace != "aten":
            continue
        name = n.target._schema.name.split("::")[1]
        if name.endswith("_copy") and name != "_to_copy" and hasattr(aten, name.removesuffix("_copy")):
            packet = getattr(aten, name.removesuffix("_copy"))
            if n.target._overloadname in packet.overloads():
                n.target = getattr(packet, n.target._overloadname)

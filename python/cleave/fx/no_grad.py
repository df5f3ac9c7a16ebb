"""Regions of torch.no_grad in an exported program, in their place: what they read is detached from its gradient.

    %a, %b = wrap_with_set_grad_enabled(False, %region, %x)    ►    %d = detach(%x); the calls of the region on %d

run_decompositions() would put them there without, and so give them gradients.
"""
import operator

import torch

from cleave import _core
from cleave.fx.source import source_text

REGION = torch.ops.higher_order.wrap_with_set_grad_enabled


def stop_gradients(exported):
    """Raises Unsupported for a region that writes what may have a gradient. Regions lie one behind the other: what enables
    gradients in one of no_grad stands between two of them."""
    buffers = set(exported.graph_signature.inputs_to_buffers)
    modules = [m for m in exported.graph_module.modules() if isinstance(m, torch.fx.GraphModule)]
    for module in reversed(modules):  # those inside first
        regions = [n for n in module.graph.nodes if n.op == "call_function" and n.target is REGION]
        for n in regions:
            _inline(module, n, buffers if module is exported.graph_module else set())
        if regions:
            module.graph.eliminate_dead_code()
            module.recompile()


def _inline(module, node, buffers):
    enabled, region, *operands = node.args
    inner = getattr(module, region.target).graph
    stops = not enabled
    inputs = [n for n in inner.nodes if n.op == "placeholder"]
    if stops:
        _check_writes(inner, dict(zip(inputs, operands)), buffers)
    copies = {}
    with module.graph.inserting_before(node):
        for p, given in zip(inputs, operands):
            copies[p] = _detached(module.graph, given) if stops and _is_floating(given) else given
        results = module.graph.graph_copy(inner, copies)  # a tuple of what the region made
    for user in list(node.users):
        assert user.target is operator.getitem
        user.replace_all_uses_with(results[user.args[1]])
        module.graph.erase_node(user)
    module.graph.erase_node(node)


def _is_floating(v):
    value = v.meta.get("val") if isinstance(v, torch.fx.Node) else None
    return isinstance(value, torch.Tensor) and value.is_floating_point()


def _detached(graph, node):
    d = graph.call_function(torch.ops.aten.detach.default, (node,))
    d.meta["val"] = node.meta["val"]
    return d


def _check_writes(graph, operands, buffers):
    for n in graph.nodes:
        schema = getattr(n.target, "_schema", None) if n.op == "call_function" else None
        if schema is None or not schema.is_mutable:
            continue
        of = _root(n.args[0])
        given = operands.get(of)
        if given is not None and _is_floating(given) and given.name not in buffers:
            raise _core.Unsupported(f"export: {n.target} in a region of no_grad writes what may have a gradient, "
                                    f"{source_text(n) or given.name}")


def _root(node):
    """What a view is of."""
    while node.op == "call_function" and node.args and isinstance(node.args[0], torch.fx.Node):
        schema = getattr(node.target, "_schema", None)
        if schema is None or schema.arguments[0].alias_info is None:
            break
        node = node.args[0]
    return node

"""AOTAutograd's joint graph as the text of a joint graph of cleave.

Calls that cleave doesn't cover, random ones among them, stand outside: what such a call of the forward gives is an input of
the text, so that it is kept for the backward and never computed again, and what it reads is a result, so that the forward
computes it.
"""
import torch

from cleave.fx.calls import is_call, is_subgraph, name_of, operands_of, result_names
from cleave.fx.checks import TOKEN
from cleave.fx.graph_text import GraphText
from cleave.fx.no_text import NoText
from cleave.fx.random import draw_state
from cleave.fx.sizes import enters_as_tensor, is_size
from cleave.fx.subgraphs import add_call
from cleave.fx.types import placed_type_text, type_text


class BackwardOutside(NoText):
    """A call outside depends on a tangent."""


def is_tangent(node):
    return node.op == "placeholder" and "tangents" in str(node.target)


def is_token(node):
    """Whether a placeholder says that what has an effect runs in order; it has no gradient among the outputs."""
    effects = torch.ops.higher_order.with_effects
    passed = node.meta.get(TOKEN, False) or any(m.target is effects and m.args[0] is node for m in node.users)
    return node.op == "placeholder" and passed


def joint_text(graph, results, reason_outside):
    """graph: an FX graph whose output begins with as many results; the gradients of its inputs, tokens aside, follow.

    Raises BackwardOutside where a call outside depends on a tangent.
    """
    text = GraphText("joint")
    nodes = list(graph.nodes)
    outputs = next(n for n in nodes if n.op == "output").args[0]
    gradients = list(outputs[results:])
    primals = [n for n in nodes if n.op == "placeholder" and not is_tangent(n) and not is_token(n)]
    of_tangents = _readers_of([n for n in nodes if is_tangent(n)], nodes)
    for n in nodes:
        v = n.meta.get("val")
        for value in v if isinstance(v, (list, tuple)) else [v]:
            text.add_symbols(value)

    wanting = {p: g for p, g in zip(primals, gradients) if g is not None and not is_size(g)}
    kept_results = [n for n in outputs[:results] if isinstance(n, torch.fx.Node) and not is_size(n)]
    extra = []
    for n in nodes:
        if is_subgraph(n):
            continue
        if isinstance(n.meta.get("val"), torch.SymFloat):
            text.add_placeholder(n.name, "f64[]")
        elif n.op in ("placeholder", "get_attr") and not is_size(n):
            role = "tangent" if is_tangent(n) else "input"
            text.add_placeholder(n.name, placed_type_text(_value_of(n, graph)), role, n in wanting)
        elif n.target is draw_state:
            text.add_placeholder(n.name, "i64[2]", "rng_state")
        elif is_call(n) and reason_outside(n) is not None:
            if n in of_tangents:
                raise BackwardOutside(f"{n.target} of the backward is outside")
            given = n.meta.get("val")  # none of a call without a result, such as a check
            values = given if isinstance(given, (list, tuple)) else [given]
            for name, v in zip(result_names(n), values):
                if v is not None:
                    text.add_placeholder(name, type_text(v))
            extra += [m for m in operands_of(n) if enters_as_tensor(m)]
        elif is_call(n):
            add_call(text, n, reason_outside, tag_text(n))
    for n in [*_with_tangents_first(nodes, outputs[:results], kept_results), *extra]:
        text.add_result(name_of(n))
    for p, g in wanting.items():
        text.add_gradient(name_of(g), name_of(p))
    return text.text()


def tag_text(node):
    """What activation checkpointing says of a call."""
    policy = node.meta.get("recompute")
    if policy is None:
        return ""
    return f" !recompute({policy.name.lower()}, ac={int(node.meta.get('ac_graph_id', 0))})"


def _with_tangents_first(nodes, outputs, results):
    """Tangents belong to the first floating results, in order: those that PyTorch has them for."""
    output = next(n for n in nodes if n.op == "output")
    of_output = {str(d): n for d, n in zip(output.meta.get("desc", ()), outputs)}
    first = [of_output.get(str(getattr(n.meta.get("desc"), "output", None))) for n in nodes if is_tangent(n)]
    if any(n is None or n not in results for n in first):
        return results
    rest = list(results)
    for n in first:
        rest.remove(n)
    return first + rest


def _value_of(node, graph):
    return node.meta["val"] if "val" in node.meta else getattr(graph.owning_module, node.target)


def _readers_of(sources, nodes):
    found = set(sources)
    for n in nodes:
        if any(m in found for m in n.all_input_nodes):
            found.add(n)
    return found

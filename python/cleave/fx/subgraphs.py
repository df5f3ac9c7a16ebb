"""Branches and loops of PyTorch, whose functions are graph modules, as calls with subgraphs (doc/ir.md).

    %cond = cond(%gt, %true_graph_0, %false_graph_0, (%x, %s0))
  ►
    graph @true_graph_0(%s0: symint range(2,64), %arg0_1: input f32[s0]) {...  return %sin }
    %cond_0 = cond(%gt, [%x]; then=@true_graph_0, otherwise=@false_graph_0) : f32[s0]
"""
import torch

from cleave.fx.calls import GRAPH, graph_name, is_call, is_subgraph, name_of, statement_text, subgraph_operands
from cleave.fx.graph_text import GraphText
from cleave.fx.no_text import NoText
from cleave.fx.sizes import expression_of, is_size
from cleave.fx.source import source_comment
from cleave.fx.types import type_text


def add_call(text, node, reason_outside, tag=""):
    """The statement of a call, and the graphs that it refers to. Raises NoText where a call in them isn't covered."""
    text.add_statement(_with_source(node, statement_text(node, tag)))
    add_subgraphs(text, node, reason_outside)


def add_subgraphs(text, node, reason_outside):
    for m in node.all_input_nodes:
        if is_subgraph(m):
            _add_subgraph(text, m, subgraph_operands(node), reason_outside)


def _add_subgraph(text, attribute, operands, reason_outside):
    name, graph = graph_name(attribute), _module_of(attribute).graph
    inner = GraphText(name)
    nodes = list(graph.nodes)
    for n in nodes:
        for v in _values(n):
            inner.add_symbols(v)
    given = iter(operands)
    for n in nodes:
        if n.op == "placeholder":
            _add_placeholder(inner, n, next(given))
        elif is_subgraph(n):
            n.meta[GRAPH] = f"{name}.{n.target}"
        elif n.op == "get_attr":
            raise NoText(f"a constant in {name}")
        elif is_call(n) and n.meta.get("val") is not None:
            reason = reason_outside(n)
            if reason is not None:
                raise NoText(f"{n.target} in {name}: {reason}")
            add_subgraphs(text, n, reason_outside)
            inner.add_statement(_with_source(n, statement_text(n)))
    output = next(n for n in nodes if n.op == "output").args[0]
    for k, n in enumerate(output if isinstance(output, (list, tuple)) else [output]):
        if not isinstance(n, torch.fx.Node) or not isinstance(n.meta.get("val"), torch.Tensor):
            raise NoText(f"a result of {name} that is no tensor")
        if isinstance(output, torch.fx.Node) and n.meta["val"].dim() > 0:  # of a loop's condition
            inner.add_statement(f"  %{name}.scalar = view(%{name_of(n)}; size=[]) : bool[]")
            inner.add_result(f"{name}.scalar")
        else:
            inner.add_result(name_of(n))
    text.add_subgraph(name, inner)


def _with_source(node, statement):
    first, newline, conversions = statement.partition("\n")
    return first + source_comment(node) + newline + conversions


def _add_placeholder(text, node, operand):
    """A size is the caller's, of the same symbols, and no operand."""
    value = node.meta.get("val")
    if is_size(node):
        given = operand.meta["val"] if isinstance(operand, torch.fx.Node) else operand
        if not isinstance(given, (int, torch.SymInt)) or expression_of(value) != expression_of(given):
            raise NoText(f"the number {node.name} of a branch or loop")
    else:
        text.add_placeholder(node.name, type_text(value))


def _module_of(attribute):
    return attribute.graph.owning_module.get_submodule(attribute.target)


def _values(node):
    v = node.meta.get("val")
    return list(v) if isinstance(v, (list, tuple)) else [v]

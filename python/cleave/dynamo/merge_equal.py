"""Equal calls of a graph become one, the first.

What torch._functorch.compile_utils.fx_graph_cse does, without importing Inductor's pattern matcher, which takes half a second.
"""
import torch

from cleave.dynamo.grouping import writes_operands
from cleave.fx.calls import call_text, is_call, values_of
from cleave.fx.no_text import NoText
from cleave.fx.random import draw_state, is_random


def merge_equal_calls(graph):
    """Leaves random calls, those that write, and those that checkpointing tags."""
    first = {}
    for n in list(graph.nodes):
        if n.op != "call_function" or is_random(n) or writes_operands(n) or "recompute" in n.meta or n.target is draw_state:
            continue
        try:
            same = first.setdefault(_call_key(n), n)
        except TypeError:  # an argument without a hash
            continue
        if same is not n:
            n.replace_all_uses_with(same)
            graph.erase_node(n)


def _call_key(node):
    """The call's text, in which overloads are one operator; of what has none, its target and arguments."""
    try:
        if is_call(node):
            return call_text(node), str([v.dtype for v in values_of(node) if v is not None])
    except (NoText, KeyError, AttributeError):
        pass
    return node.target, _key(node.args), _key(node.kwargs)


def _key(v):
    """Equal for equal arguments; 1, 1.0 and True differ."""
    if isinstance(v, (list, tuple)):
        return tuple(map(_key, v))
    if isinstance(v, dict):
        return tuple((k, _key(x)) for k, x in sorted(v.items()))
    if isinstance(v, slice):
        return ("slice", _key(v.start), _key(v.stop), _key(v.step))
    return v if isinstance(v, torch.fx.Node) else (type(v), v)

"""In which order what the forward keeps for the backward lies in memory: cleave's own, where only cleave sees it.

PyTorch gives what it computes of channels-last tensors channels last: convolutions, norms, poolings, and calls element by
element; cleave has all of them row by row, and would copy each such value twice.
"""
import operator

import torch

from cleave.dynamo.results import lies_over_itself
from cleave.fx.calls import is_call
from cleave.fx.covered import reason_outside
from cleave.fx.types import is_row_major

# In the meta of such a result.
_ROW_MAJOR = "cleave_row_major"


def keep_row_major(forward, backward, num_fwd_outputs):
    """Marks such results of the forward, and gives their placeholders in the backward row-major types."""
    outputs = next(n for n in forward.graph.nodes if n.op == "output").args[0]
    seen_outside = {n for n in outputs[:num_fwd_outputs] if isinstance(n, torch.fx.Node)}
    placeholders = {n.name: n for n in backward.graph.nodes if n.op == "placeholder"}
    computed_row_major = _computed_row_major(forward.graph)
    for n in outputs[num_fwd_outputs:]:
        entering = placeholders.get(getattr(n, "name", None))
        if n not in computed_row_major or n in seen_outside or entering is None:
            continue
        if not all(_is_covered(u) or u.op == "output" for u in n.users) or not all(map(_is_covered, entering.users)):
            continue
        n.meta[_ROW_MAJOR] = True
        entering.meta["val"] = entering.meta["val"].contiguous()


def is_stored_row_major(n):
    return n.meta.get(_ROW_MAJOR, False)


def stored_value(n):
    """The value of a result of the forward as it is to lie in memory."""
    return n.meta["val"].contiguous() if is_stored_row_major(n) else n.meta["val"]


def _is_covered(n):
    return is_call(n) and reason_outside(n) is None


def _computed_row_major(graph):
    """What PyTorch computes in another order than row by row: channels last, or because of a convolution."""
    found = set()
    for n in graph.nodes:
        v = n.meta.get("val")
        if not isinstance(v, torch.Tensor) or not _is_computed(n) or is_row_major(v) or lies_over_itself(v):
            continue
        if v.dim() > 3 and _lies_channels_last(v) or n.target is torch.ops.aten.convolution.default or (
                torch.Tag.pointwise in getattr(n.target, "tags", ()) and
                any(m in found and m.meta["val"].shape == v.shape for m in n.all_input_nodes)):
            found.add(n)
    return found


def _is_computed(n):
    """Whether it is a result of a covered call, and no view of an operand."""
    call = n.args[0] if n.target is operator.getitem else n
    schema = getattr(call.target, "_schema", None)  # a branch or a loop has none
    return schema is not None and _is_covered(call) and not any(r.alias_info for r in schema.returns)


def _lies_channels_last(t):
    return is_row_major(t.permute(0, *range(2, t.dim()), 1))

"""as_strided, which reads memory: of the tensor that owns it, and of memory that isn't row-major."""
import operator

import torch

aten = torch.ops.aten


def read_owners(graph):
    """as_strided of a view becomes that of what the view is of: a program lays out the view's elements alone."""
    for n in graph.nodes:
        if n.op == "call_function" and n.target is aten.as_strided.default:
            given = n.args[3] if len(n.args) > 3 else n.kwargs.get("storage_offset")
            offset = n.args[0].meta["val"].storage_offset() if given is None else given
            if isinstance(offset, (int, torch.fx.Node)):  # not a number of sizes that vary, which no node holds
                n.args, n.kwargs = (owner_of(n.args[0]), *n.args[1:3], offset), {}


def owner_of(node):
    """The node whose memory the value of a node is in."""
    while node.op == "call_function":
        call = node.args[0] if node.target is operator.getitem else node
        schema = getattr(call.target, "_schema", None)
        if schema is None or not schema.returns or schema.returns[0].alias_info is None or schema.is_mutable:
            break
        node = call.args[0]
    return node


def as_strided(self, size, stride, storage_offset=None):
    order = _order_in_memory(self)
    if order is None:
        return NotImplemented
    return aten.as_strided.default(aten.permute.default(self, order), size, stride, storage_offset)


def scattered(self, src, size, stride, storage_offset=None):
    """as_strided_scatter: src in the place of elements that lie apart."""
    order = _order_in_memory(self)
    if order is None or not all(isinstance(s, int) for s in (*size, *stride)):
        return NotImplemented
    rows = aten.permute.default(self, order)
    places = aten.as_strided.default(torch.arange(self.numel()), size, stride, storage_offset or 0)
    flat = [aten.reshape.default(t, [-1]) for t in (rows, places, src)]
    written = aten.scatter.src(flat[0], 0, flat[1], flat[2])
    return aten.permute.default(aten.reshape.default(written, rows.shape), [order.index(d) for d in range(self.dim())])


def _order_in_memory(t):
    """Dims from the one with the largest stride on, where elements lie row by row in that order, without gaps."""
    if t.storage_offset() != 0 or not all(isinstance(s, int) for s in (*t.shape, *t.stride())):
        return None
    order = sorted(range(t.dim()), key=lambda d: -t.stride(d))
    return order if t.permute(order).is_contiguous() else None


MEMORY_RULES = {aten.as_strided.default: as_strided}

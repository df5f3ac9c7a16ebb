"""A region of an FX graph, compiled: calls that cleave covers, with what enters and leaves them.

    region = Region("forward_0", calls, results, options)
    tensors = region(region.tensors_of(env), values of region.symbols)
"""
from cleave import _core
from cleave.dynamo.results import allocator, lies_over_itself
from cleave.dynamo.saved_order import stored_value
from cleave.fx.calls import name_of, operands_of, values_of
from cleave.fx.covered import reason_outside
from cleave.fx.graph_text import GraphText
from cleave.fx.linalg import as_pytorchs
from cleave.fx.sizes import enters_as_tensor
from cleave.fx.subgraphs import add_call
from cleave.fx.types import placed_type_text, type_text


class Region:
    """calls: nodes in order; results: nodes of them, or getitems of their results, that are read outside."""

    def __init__(self, name, calls, results, options):
        text = GraphText(name)
        inside = {n.name for n in calls}
        self.inputs = _inputs_of(calls, inside)
        self.results = results
        for v in [*self.inputs, *results, *calls]:
            for value in values_of(v):
                text.add_symbols(value)
        for n in calls:
            for m in operands_of(n):
                text.add_symbols(m.meta["val"])
        for n in self.inputs:
            text.add_placeholder(name_of(n), placed_type_text(n.meta["val"]))
        for n in calls:
            add_call(text, n, reason_outside)
        for k, n in enumerate(results):
            text.add_placeholder(f"out.{k}", _result_type_text(stored_value(n)))
            text.add_update(name_of(n), f"out.{k}")
        self.symbols = text.symbols
        self._names = [str(s) for s in self.symbols]
        self._allocate = [allocator(stored_value(n), self.symbols) for n in results]
        self.program = _core.Program(_core.Graph(text.text(), whole_complex=True), options)

    def __call__(self, tensors, values):
        results = [allocate(values) for allocate in self._allocate]
        try:
            self.program.run(tensors + results, dict(zip(self._names, values)) if values else _no_sizes)
        except _core.UserError as e:
            error = as_pytorchs(e)
            if error is e:
                raise
            raise error from e
        return results


_no_sizes = {}


def _inputs_of(calls, inside):
    """The tensors that the calls read and don't make, each once, in the order of their first readers."""
    found = {}
    for n in calls:
        for m in operands_of(n):
            made_inside = m.name in inside or (m.op == "call_function" and m.args and
                                               getattr(m.args[0], "name", None) in inside and name_of(m) != m.name)
            if enters_as_tensor(m) and not made_inside:
                found.setdefault(name_of(m), m)
    return list(found.values())


def _result_type_text(t):
    return type_text(t) if lies_over_itself(t) else placed_type_text(t)

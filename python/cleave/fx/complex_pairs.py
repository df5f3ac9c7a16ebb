"""Complex tensors as real ones whose last dim is (real part, imaginary part), since cleave has no complex dtype.

    %c = view_as_complex(%x)      c64[4,3]                     f32[4,3,2]: %x itself
    %y = mul(%c, %d)              c64[4,3]      ►              products and sums of both parts
    %r = view_as_real(%y)         f32[4,3,2]                   %y itself

A complex value that a graph is given, or returns, is converted there by PyTorch, and so is one that a call without a rule
reads or makes: such calls run in PyTorch.
"""
import operator

import torch
from torch.fx.experimental.proxy_tensor import make_fx

from cleave.fx.complex_rules import RULES, Pair

aten = torch.ops.aten


def is_complex(v):
    return isinstance(v, torch.Tensor) and v.dtype.is_complex


def take_apart_complex(graph_module, decompositions):
    """Replaces the complex values of a graph; does nothing in one without."""
    if any(is_complex(n.meta.get("val")) for n in graph_module.graph.nodes):
        _Rewrite(graph_module.graph, decompositions).run()
        graph_module.graph.eliminate_dead_code()
        graph_module.graph.lint()
        graph_module.recompile()


def _in_dtype(parts, dtype):
    """A complex tensor of no dims doesn't widen others, its parts do."""
    return parts if parts.dtype == dtype else aten._to_copy.default(parts, dtype=dtype)


class _Rewrite:
    def __init__(self, graph, decompositions):
        self._graph, self._decompositions = graph, decompositions
        self._pairs = {}  # of complex nodes
        self._kept = set()  # those whose values PyTorch has
        self._wholes = {}  # of pairs: the complex tensor made of one

    def run(self):
        nodes = list(self._graph.nodes)
        first = next(n for n in nodes if n.op not in ("placeholder", "get_attr"))
        for n in nodes:
            if n.op in ("placeholder", "get_attr") and is_complex(n.meta.get("val")):
                self._keep(n, first if n.op == "placeholder" else n.next)
            elif n.op == "call_function" and n.target is not operator.getitem:
                self._call(n)
            elif n.op == "output":
                self._with_wholes(n)
        for n in reversed(nodes):
            if n in self._pairs and n not in self._kept and not n.users:
                self._graph.erase_node(n)

    def _call(self, n):
        inputs = n.all_input_nodes
        if not is_complex(n.meta.get("val")) and not any(is_complex(m.meta.get("val")) for m in inputs):
            return
        parts = self._parts_of(n) if n.target in RULES else None
        if parts is None:
            self._with_wholes(n)
            if is_complex(n.meta.get("val")):
                self._keep(n, n.next)
            return
        copies = dict(zip((m for m in parts.nodes if m.op == "placeholder"), (self._pairs.get(m, m) for m in inputs)))
        with self._graph.inserting_before(n):
            result = self._graph.graph_copy(parts, copies)
        for key in ("recompute", "ac_graph_id", "stack_trace"):
            for copy in copies.values():
                if key in n.meta and copy.op == "call_function" and copy not in inputs:
                    copy.meta.setdefault(key, n.meta[key])
        if is_complex(n.meta.get("val")):
            self._pairs[n] = result
        else:
            n.replace_all_uses_with(result)
            self._graph.erase_node(n)

    def _parts_of(self, n):
        """The graph of a call's rule for pairs; None: the rule refuses its arguments."""
        inputs = n.all_input_nodes
        refused = False

        def run(*given):
            nonlocal refused
            by_node = {m: Pair(t, m.meta["val"].dtype) if m in self._pairs else t for m, t in zip(inputs, given)}
            args, kwargs = torch.fx.node.map_arg((n.args, n.kwargs), by_node.__getitem__)
            result = RULES[n.target](*args, **kwargs)
            refused = result is NotImplemented or isinstance(result, Pair) != is_complex(n.meta["val"])
            if refused or not isinstance(result, Pair):
                return () if refused else result
            return _in_dtype(result.parts, n.meta["val"].dtype.to_real())

        values = [self._pairs[m].meta["val"] if m in self._pairs else m.meta["val"] for m in inputs]
        mode = torch._guards.detect_fake_mode([n.meta["val"], *values])
        try:
            with mode:
                parts = make_fx(run, decomposition_table=self._decompositions)(*values).graph
        except (NotImplementedError, RuntimeError, TypeError, AssertionError, IndexError):
            return None
        if refused:
            return None
        v, wanted = next(m for m in parts.nodes if m.op == "output").args[0].meta["val"], n.meta["val"]
        shape = (*wanted.shape, 2) if is_complex(wanted) else tuple(wanted.shape)
        dtype = wanted.dtype.to_real() if is_complex(wanted) else wanted.dtype
        return parts if tuple(v.shape) == shape and v.dtype == dtype else None

    def _keep(self, n, before):
        """n stays a complex tensor; where a rule reads it, its pair is made before another node."""
        self._kept.add(n)
        v = n.meta["val"].resolve_conj()
        with self._graph.inserting_before(before):
            resolved = self._new(aten.resolve_conj.default, n, v)
            view = self._new(aten.view_as_real.default, resolved, torch.view_as_real(v))
            contiguous = view.meta["val"].contiguous()
            self._pairs[n] = self._new(aten.clone.default, view, contiguous, memory_format=torch.contiguous_format)

    def _whole(self, n):
        """A complex node's value as a complex tensor."""
        if n in self._kept:
            return n
        pair = self._pairs[n]
        if pair not in self._wholes:
            with self._graph.inserting_before(pair.next):
                self._wholes[pair] = self._new(aten.view_as_complex.default, pair, n.meta["val"])
        return self._wholes[pair]

    def _with_wholes(self, n):
        """Gives a call, or the output, complex tensors."""
        whole = lambda m: self._whole(m) if m in self._pairs else m
        n.args, n.kwargs = torch.fx.node.map_arg((n.args, n.kwargs), whole)

    def _new(self, target, of, value, **kwargs):
        node = self._graph.call_function(target, (of,), kwargs)
        node.meta["val"] = value
        return node


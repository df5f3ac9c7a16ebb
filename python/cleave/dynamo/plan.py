"""How an FX graph runs: regions by cleave; the rest, and numbers, by PyTorch; in the order of stages.

A plan is boxed, as AOTAutograd's callables: it empties the list of its arguments, and lets go of each value behind its last
reader.
"""
import operator
import time

import torch

from cleave import _core
from cleave.coverage import record
from cleave.dynamo.grouping import stages_of
from cleave.dynamo.region import Region
from cleave.dynamo.saved_order import is_stored_row_major
from cleave.fx.calls import is_call
from cleave.fx.covered import reason_outside
from cleave.fx.no_text import NoText
from cleave.fx.sizes import enters_as_tensor, expression_of, is_size
from cleave.fx.source import source_text


class RegionStep:
    """Runs a region: slots of its tensors and symbols to slots of its results.

    A region that proves to be not covered when it is compiled, at its first run, is run by PyTorch from then on.
    """

    def __init__(self, region, slots, symbol_slots, calls, in_pytorch):
        self.region = region
        self.reads = [slots[n] for n in region.inputs]
        self.symbols = [symbol_slots[s] for s in region.symbols]
        self.writes = [slots[n] for n in region.results]
        self._calls, self._in_pytorch, self._steps = calls, in_pytorch, None

    def run(self, env):
        if self._steps is None:
            try:
                return self._run_region(env)
            except _core.Unsupported as e:
                reason = str(e).splitlines()[0]
                record.add_graph(-len(self._calls), [(str(n.target), reason, source_text(n)) for n in self._calls])
                self._steps = self._in_pytorch(reason)
        for step in self._steps:
            step.run(env)

    def _run_region(self, env):
        values = [read(env) for read in self.symbols]
        results = self.region([env[k] for k in self.reads], values)
        for k, t in zip(self.writes, results):
            env[k] = t


class NodeStep:
    """Runs one node as PyTorch does. `operator_name`: of a call that cleave doesn't cover, whose time is noted."""

    def __init__(self, node, slots, operator_name=None):
        self.target, self.write, self.name = node.target, slots[node], operator_name
        self.args = torch.fx.node.map_arg(node.args, lambda n: Slot(slots[n]))
        self.kwargs = torch.fx.node.map_arg(node.kwargs, lambda n: Slot(slots[n]))
        self._row_major = is_stored_row_major(node)

    def run(self, env):
        begin = time.perf_counter() if self.name else 0
        load = lambda x: env[x.index] if isinstance(x, Slot) else x
        args = torch.utils._pytree.tree_map(load, tuple(self.args))
        kwargs = {k: torch.utils._pytree.tree_map(load, v) for k, v in self.kwargs.items()}
        result = self.target(*args, **kwargs)
        env[self.write] = result.contiguous() if self._row_major else result
        if self.name:
            record.add_run(self.name, (time.perf_counter() - begin) * 1e3)


class Slot:
    """Stands for a value of the plan in the arguments of a node."""

    def __init__(self, index):
        self.index = index


class Plan:
    """graph_module: of ATen's operators, without writes of operands; options_of: the options of a program by its name."""

    def __init__(self, name, graph_module, options_of):
        self._name, self._options_of = name, options_of
        nodes = list(graph_module.graph.nodes)
        self._slots = {n: k for k, n in enumerate(nodes)}
        self._size = len(nodes)
        self._inputs = [self._slots[n] for n in nodes if n.op == "placeholder"]
        self._constants = [(self._slots[n], _attribute(graph_module, n.target)) for n in nodes if n.op == "get_attr"]
        self._symbol_readers = _symbol_readers(nodes, self._slots)
        self._reasons = {n: reason_outside(n) for n in nodes if is_call(n)}
        self.steps = self._steps(nodes)
        self._output = next(n for n in nodes if n.op == "output").args[0]
        self._returns = torch.fx.node.map_arg(self._output, lambda n: Slot(self._slots[n]))
        self._frees = self._last_reads()
        record.add_graph(sum(r is None for r in self._reasons.values()),
                         [(str(n.target), r, source_text(n)) for n, r in self._reasons.items() if r is not None])

    def _steps(self, nodes):
        stages = stages_of(nodes, lambda n: is_call(n) and self._reasons[n] is None)
        needed = self._needed(nodes)
        steps = []
        for stage in range(max(stages.values(), default=-1) + 1):
            here = [n for n in nodes if stages.get(n) == stage and n in needed]
            calls = [n for n in here if is_call(n) and self._reasons[n] is None]
            if calls:
                steps += self._region_steps(f"{self._name}_{stage}", calls)
            inside = set(calls)
            steps += [self._node_step(n) for n in here
                      if n not in inside and not (n.target is operator.getitem and n.args[0] in inside)]
        return steps

    def _needed(self, nodes):
        """Calls, and the numbers that something other than a region reads."""
        needed = set()
        for n in reversed(nodes):
            covered = is_call(n) and self._reasons[n] is None
            if n.op == "output" or is_call(n) or n in needed:
                needed.add(n)
                needed.update(m for m in n.all_input_nodes if not covered or enters_as_tensor(m))
        return needed

    def _region_steps(self, name, calls):
        inside = set(calls)
        made = inside | {u for n in calls for u in n.users if u.target is operator.getitem}
        results = [n for n in made if isinstance(n.meta["val"], torch.Tensor) and any(u not in made for u in n.users)]
        results.sort(key=self._slots.__getitem__)
        if not results:
            return []
        try:
            region = Region(name, calls, results, self._options_of(name))
            return [RegionStep(region, self._slots, self._symbol_readers, calls,
                               lambda reason: self._steps_in_pytorch(calls, made, reason))]
        except (NoText, KeyError, _core.Error) as e:
            return self._steps_in_pytorch(calls, made, f"its region: {e}".splitlines()[0])

    def _steps_in_pytorch(self, calls, made, reason):
        """Of a region's nodes, and the numbers that they read."""
        self._reasons.update(dict.fromkeys(calls, reason))
        wanted, stack = set(made), list(made)
        while stack:
            numbers = {m for m in stack.pop().all_input_nodes if is_size(m) and m.op == "call_function"} - wanted
            wanted |= numbers
            stack += numbers
        return [self._node_step(n) for n in sorted(wanted, key=self._slots.__getitem__)]

    def _node_step(self, node):
        return NodeStep(node, self._slots, str(node.target) if self._reasons.get(node) is not None else None)

    def _last_reads(self):
        """By step: the slots that nothing reads behind it."""
        kept = set()
        torch.fx.node.map_arg(self._output, lambda n: kept.add(self._slots[n]))
        kept.update(k for k, _ in self._constants)
        frees, seen = [], set(kept)
        for step in reversed(self.steps):
            reads = set(_reads_of(step)) - seen
            seen |= reads
            frees.append(sorted(reads))
        return frees[::-1]

    def __call__(self, args):
        env = [None] * self._size
        for k, v in zip(self._inputs, args):
            env[k] = v
        args.clear()
        for k, v in self._constants:
            env[k] = v
        for step, frees in zip(self.steps, self._frees):
            step.run(env)
            for k in frees:
                env[k] = None
        return [env[r.index] if isinstance(r, Slot) else r for r in self._returns]

    _boxed_call = True


def _reads_of(step):
    if isinstance(step, RegionStep):
        return step.reads + [k for s in step.symbols for k in s.slots]
    found = []
    for x in torch.utils._pytree.tree_leaves((list(step.args), dict(step.kwargs))):
        if isinstance(x, Slot):
            found.append(x.index)
    return found


class SymbolReader:
    """The value of a symbol: a number that enters, or the size of a tensor."""

    def __init__(self, slot, dim=None):
        self.slot, self.dim, self.slots = slot, dim, [slot]

    def __call__(self, env):
        return env[self.slot] if self.dim is None else env[self.slot].shape[self.dim]


def _symbol_readers(nodes, slots):
    """{symbol: SymbolReader} of what the graph's placeholders tell."""
    found = {}
    for n in nodes:
        if n.op != "placeholder":
            continue
        v = n.meta.get("val")
        if isinstance(v, torch.SymInt) and expression_of(v).is_Symbol:
            found[expression_of(v)] = SymbolReader(slots[n])
    for n in nodes:
        v = n.meta.get("val") if n.op == "placeholder" else None
        for d, size in enumerate(v.shape if isinstance(v, torch.Tensor) else ()):
            if isinstance(size, torch.SymInt) and expression_of(size).is_Symbol:
                found.setdefault(expression_of(size), SymbolReader(slots[n], d))
    return found


def _attribute(module, path):
    for part in path.split("."):
        module = getattr(module, part)
    return module

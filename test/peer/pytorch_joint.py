"""PyTorch's joint graph of a function, with tags, random calls that read a seed, and sizes that come from placeholders;
and what PyTorch's partitioner saves of it under a setting.

    joint = Joint(f, inputs, parameters, varies)     # raises what PyTorch raises
    joint.tag(random.Random(1))                      # as selective checkpointing would
    joint.text()                                     # the .clv
    joint.saved({"aggressive_recomputation": True})  # {name in the .clv: bytes} of the tensors handed to the backward
"""
import operator, random
import sympy
from aten import torch
import torch._functorch.config as config
import torch._functorch.partitioners as partitioners
import torch.fx as fx
from joint_text import NoText, SEED, is_random, is_size, joint_text
from torch._decomp import core_aten_decompositions
from torch._functorch.aot_autograd import aot_function
from torch._functorch.compile_utils import fx_graph_cse
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.symbolic_shapes import DimDynamic, ShapeEnv, StatelessSymbolicContext
from torch.utils.checkpoint import CheckpointPolicy

DECOMPOSITIONS = core_aten_decompositions()
POLICIES = [CheckpointPolicy.PREFER_RECOMPUTE] * 6 + [CheckpointPolicy.MUST_RECOMPUTE, CheckpointPolicy.MUST_SAVE,
                                                      CheckpointPolicy.MUST_SAVE, CheckpointPolicy.PREFER_SAVE]
# What runs after the cut isn't part of it: here saved random states, which cleave has no need of.
partitioners.functionalize_rng_ops = lambda joint, fw, bw, sizes: (fw, bw)
estimate_runtime, ilp_knapsack = partitioners.estimate_runtime, partitioners.ilp_knapsack
# The estimator makes the call, and a random one knows no seed: it has no flops.
partitioners.estimate_runtime = lambda n: 1 if is_random(n) else estimate_runtime(n)
ONE_TEXT = {getattr(torch.ops.aten, op).Scalar: getattr(torch.ops.aten, op).Tensor for op in ("add", "sub", "mul", "div")}


class Found(Exception):
    """The joint graph was traced."""


def fake(mode, x, static):
    """x with unknown rows."""
    if static:
        return mode.from_tensor(x, static_shapes=True)
    sizes = [DimDynamic.DYNAMIC] + [DimDynamic.STATIC] * (x.dim() - 1)
    return mode.from_tensor(x, symbolic_context=StatelessSymbolicContext(dynamic_sizes=sizes))


class Joint:
    def __init__(self, f, inputs, parameters, varies):
        found = {}
        def partition(gm, _, *, num_fwd_outputs, **rest):
            found.update(gm=gm, results=num_fwd_outputs)
            raise Found
        if varies:
            mode = FakeTensorMode(shape_env=ShapeEnv())
            inputs = [fake(mode, x, k < parameters or x.dim() == 0 or x.shape[0] < 2) for k, x in enumerate(inputs)]
        unused = lambda gm, _: gm
        try:
            aot_function(f, fw_compiler=unused, bw_compiler=unused, partition_fn=partition,
                         decompositions=DECOMPOSITIONS)(*inputs)
        except Found:
            pass
        if not found:
            raise NoText("nothing has a gradient")
        self.gm, self.results, self.parameters = found["gm"], found["results"], parameters
        self.gm.graph.eliminate_dead_code()
        self.gm.graph = fx_graph_cse(self.gm.graph)
        self._placeholders()
        self._sizes()
        self._seed()
        for n in self.gm.graph.nodes:  # one text in .clv, so equal calls there
            if n.target in ONE_TEXT:
                n.target = ONE_TEXT[n.target]
        self.gm.graph = fx_graph_cse(self.gm.graph)
        self.gm.graph.eliminate_dead_code()
        self._placeholders()

    def _placeholders(self):
        self.roles, self.primals = {}, []
        for n in self.gm.graph.nodes:
            if n.op == "placeholder" and n.target.startswith("tangents"):
                self.roles[n] = "tangent"
            elif n.op == "placeholder" and n.target.startswith("primals"):
                self.roles[n] = "param" if len(self.primals) < self.parameters else "input"
                self.primals.append(n)

    def _before_calls(self):
        return next(n for n in self.gm.graph.nodes if n.op != "placeholder")

    def _sizes(self):
        """Placeholders for the symbols, read in the place of sym_size calls: the form of a graph that Dynamo traced."""
        self.hints, symbols = {}, {}
        with self.gm.graph.inserting_before(self._before_calls()):
            for p in self.primals:
                for d in p.meta["val"].shape:
                    if isinstance(d, torch.SymInt) and d.node.expr.is_Symbol and d.node.expr not in symbols:
                        node = symbols[d.node.expr] = self.gm.graph.placeholder(str(d.node.expr))
                        node.meta["val"] = d
                        self.hints[node.name] = d.node.hint
        def value(expr, at):
            if expr.is_Symbol:
                return symbols[expr]
            if expr.is_Integer:
                return int(expr)
            f = {"Add": operator.add, "Mul": operator.mul, "FloorDiv": operator.floordiv}.get(type(expr).__name__)
            if f is None:
                raise NoText(f"the size {expr}")
            args = [value(a, at) for a in expr.args]
            out = args[0]
            for a in args[1:]:
                node = self.gm.graph.call_function(f, (out, a))
                number = lambda x: x.meta["val"] if isinstance(x, fx.Node) else x
                node.meta["val"] = f(number(out), number(a))
                out = node
            return out
        for n in list(self.gm.graph.nodes):
            if n.op == "call_function" and n.target is torch.ops.aten.sym_size.int:
                with self.gm.graph.inserting_before(n):
                    n.replace_all_uses_with(value(sympy.sympify(n.meta["val"].node.expr), n))
                self.gm.graph.erase_node(n)

    def _seed(self):
        """Random calls read a placeholder, as where PyTorch makes them functional."""
        calls = [n for n in self.gm.graph.nodes if n.op == "call_function" and is_random(n)]
        if not calls:
            return
        with self.gm.graph.inserting_before(self._before_calls()):
            seed = self.gm.graph.placeholder(SEED)
        any_tensor = self.primals[0].meta["val"]
        seed.meta["val"] = any_tensor.new_empty(2, dtype=torch.int64)
        for n in calls:
            n.args = (*n.args, *(n.kwargs.get(a.name, a.default_value) for a in n.target._schema.arguments[len(n.args):]
                                 if not a.kwarg_only), seed)

    def calls(self):
        """The forward's calls that have a name in the .clv."""
        out, seen = [], set()
        stack = [o for o in next(n for n in self.gm.graph.nodes if n.op == "output").args[0][:self.results] if o is not None]
        while stack:
            n = stack.pop()
            if n not in seen:
                seen.add(n)
                stack.extend(n.all_input_nodes)
        for n in self.gm.graph.nodes:
            if n in seen and n.op == "call_function" and n.target is not operator.getitem and not is_size(n):
                out.append(n)
        return out

    def tag(self, rng):
        """One to three regions of calls in a row, each tagged for recomputation or by a policy of its own."""
        calls, at = self.calls(), 0
        for region in range(rng.randint(1, 3)):
            begin = at + rng.randint(0, max(1, len(calls) // 3))
            at = begin + rng.randint(1, max(1, len(calls) // 2)) if rng.random() < 0.7 else begin + 1
            plain = rng.random() < 0.5
            for n in calls[begin:at]:
                policy = CheckpointPolicy.PREFER_RECOMPUTE if plain else rng.choice(POLICIES)
                for m in [n, *(u for u in n.users if u.target is operator.getitem)]:
                    m.meta["recompute"], m.meta["ac_graph_id"] = policy, region + 1

    def tag_budgets(self, rng):
        """A budget of the calls of each of two regions; that of the first one counts."""
        calls = self.calls()
        for _ in range(2):
            begin, budget = rng.randrange(len(calls)), rng.choice([0.0, 0.2, 0.4, 0.6, 0.8])
            for n in calls[begin:begin + rng.randint(1, 5)]:
                n.meta["memory_budget"] = budget

    def text(self):
        text, self.names = joint_text(self.gm, self.results, self.roles, self.hints)
        return text

    def _copy(self):
        graph = fx.Graph()
        graph.output(graph.graph_copy(self.gm.graph, {}))
        return fx.GraphModule(self.gm, graph)

    def saved(self, settings):
        """And self.best: what ilp's choice is worth; None: it wasn't asked."""
        self.best = None
        names = {n.name: t for n, t in self.names.items()}
        def ilp(memory, runtimes, budget):
            out = ilp_knapsack(memory, runtimes, budget)
            self.best = round(sum(runtimes[k] for k in out[1]))
            return out
        partitioners.ilp_knapsack = ilp
        with config.patch(**settings):
            fw, bw = partitioners.min_cut_rematerialization_partition(
                self._copy(), None, num_fwd_outputs=self.results, static_lifetime_input_indices=list(range(self.parameters)))
        outs = next(n for n in fw.graph.nodes if n.op == "output").args[0][self.results:]
        # A random call that nothing reads stays in PyTorch's backward, with what it reads: where it is functional, it goes.
        read, stack = set(), [next(n for n in bw.graph.nodes if n.op == "output")]
        while stack:
            for m in stack.pop().all_input_nodes:
                if m not in read:
                    read.add(m)
                    stack.append(m)
        read = {n.name for n in read if n.op == "placeholder"}
        return {names[n.name]: partitioners._size_of(n) for n in outs
                if isinstance(n.meta.get("val"), torch.Tensor) and n.name in read}

"""Random calls as cleave makes them: by a state that is drawn from PyTorch's generator, once a run of the graph.

    %native_dropout = native_dropout(%x, 0.1, True)
  ►
    %draw_state = draw_state()                                 i64[2]: (seed, 0)
    %native_dropout = RandomCall(native_dropout, 0)(%draw_state, %x, 0.1, True)

Bits depend on the state and on the call's number alone, so a call that runs again in the backward gives the same. They aren't
PyTorch's; torch.manual_seed repeats them.
"""
import torch

# What cleave draws, by ATen's operator: the name of its own.
DRAWN = {"aten::native_dropout": "native_dropout", "aten::bernoulli": "bernoulli", "aten::rand": "rand",
         "aten::randn": "randn", "aten::randint": "randint", "aten::randperm": "randperm", "aten::rand_like": "rand",
         "aten::randn_like": "randn",
         "aten::scaled_dot_product_attention": "scaled_dot_product_attention"}
# Those that take the sizes of a tensor.
LIKE = {"aten::rand_like", "aten::randn_like"}


def draw_state():
    """(seed, step) of a run."""
    state = torch.zeros(2, dtype=torch.int64)
    state[0] = torch.randint(2**62, ())
    return state


class RandomCall:
    """A random operator that reads a state."""

    def __init__(self, op, stream):
        self.op, self.stream = op, stream
        self.__name__ = f"{op._schema.name.split('::')[1]}_{stream}"
        self.__module__ = __name__
        self._schema = op._schema

    def __call__(self, state, *args, **kwargs):
        """In PyTorch, where the region of the call can't be compiled: the same numbers at each call with this state."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed((int(state[0]) + 0x9E3779B97F4A7C15 * (self.stream + 1)) % 2**63)
            return self.op(*args, **kwargs)

    def __str__(self):
        return str(self.op)


def is_random(node):
    """Whether a call draws numbers: attention whose dropout_p is 0 doesn't."""
    if node.op != "call_function" or torch.Tag.nondeterministic_seeded not in getattr(node.target, "tags", ()):
        return False
    for k, a in enumerate(node.target._schema.arguments):
        if a.name == "dropout_p":
            return (node.args[k] if k < len(node.args) else node.kwargs.get(a.name, a.default_value)) != 0
    return True


def draw_with_state(graph_module):
    """Replaces the random calls that cleave has an operator for."""
    graph = graph_module.graph
    calls = [n for n in graph.nodes if is_random(n) and n.target._schema.name in DRAWN]
    calls = [n for n in calls if n.kwargs.get("generator") is None]
    if not calls:
        return
    first = next(n for n in graph.nodes if n.op not in ("placeholder", "get_attr"))
    with graph.inserting_before(first):
        state = graph.call_function(draw_state)
    value = calls[0].meta["val"]
    value = value[0] if isinstance(value, (list, tuple)) else value
    with value.fake_mode:
        state.meta["val"] = torch.zeros(2, dtype=torch.int64)
    for stream, n in enumerate(calls):
        n.target, n.args = RandomCall(n.target, stream), (state, *n.args)
    graph_module.recompile()

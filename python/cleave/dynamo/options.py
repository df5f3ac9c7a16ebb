"""What torch.compile's options say.

    torch.compile(f, backend="cleave", options={"memory_budget": "512MiB", "threads": 2})

partition      exact (default), pytorch or default: what the forward keeps for the backward
memory_budget  of partition exact: the most bytes of either half at its peak, "512MiB", or "60%" of what it has without;
               of partition pytorch a fraction, 0.0 to 1.0
any other      of CompileOptions, by its name (doc/options.md); dump_dir gets a folder for each program:
               DUMP_DIR/GRAPH_NAME, such as 0_forward_0 and 0_backward_0 of the first graph that Dynamo finds
"""
import itertools
from dataclasses import dataclass, field

from cleave import _core
from cleave.options import options_text

MODES = ("exact", "pytorch", "default")


@dataclass(frozen=True)
class BackendOptions:
    partition: str = "exact"
    memory_budget: str = ""
    compile: dict = field(default_factory=dict)  # of CompileOptions
    graph: int = 0

    @staticmethod
    def of(options):
        """Raises UserError for an unknown name, or a value of another kind."""
        rest = dict(options or {})
        partition = rest.pop("partition", "exact")
        if partition not in MODES:
            raise _core.UserError(f"the option partition is {partition}, expected one of {', '.join(MODES)}")
        budget = str(rest.pop("memory_budget", ""))
        _core.check_options(options_text(rest))
        return BackendOptions(partition, budget, rest, next(_graphs))

    def text_of(self, program):
        """The text of CompileOptions for a program of this graph, by its name."""
        own = dict(self.compile)
        if own.get("dump_dir"):
            own["dump_dir"] = f"{own['dump_dir']}/{self.graph}_{program}"
        return options_text(own)


_graphs = itertools.count()

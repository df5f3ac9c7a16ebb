"""What torch.compile's options say.

    torch.compile(f, backend="cleave", options={"memory_budget": "512MiB", "threads": 2})

partition      exact (default), pytorch or default: what the forward keeps for the backward
memory_budget  of partition exact: the most bytes of either half at its peak, "512MiB", or "60%" of what it has without;
               of partition pytorch a fraction, 0.0 to 1.0
any other      of CompileOptions, by its name (doc/options.md)
"""
from dataclasses import dataclass

from cleave import _core
from cleave.options import options_text

MODES = ("exact", "pytorch", "default")


@dataclass(frozen=True)
class BackendOptions:
    partition: str = "exact"
    memory_budget: str = ""
    compile: str = ""  # the text of CompileOptions

    @staticmethod
    def of(options):
        """Raises UserError for an unknown name, or a value of another kind."""
        rest = dict(options or {})
        partition = rest.pop("partition", "exact")
        if partition not in MODES:
            raise _core.UserError(f"the option partition is {partition}, expected one of {', '.join(MODES)}")
        budget = str(rest.pop("memory_budget", ""))
        text = options_text(rest)
        _core.check_options(text)
        return BackendOptions(partition, budget, text)

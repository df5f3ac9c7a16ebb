"""What of torch.compile's graphs ran in PyTorch, since cleave doesn't cover it: which operator, how often, how long.

    print(cleave.coverage())
    covered calls  212 of 214
    operator                     calls     runs         ms  reason
    aten.special_zeta.default        2       20       0.41  the operator 'special_zeta' is not known, model.py:12
"""
from __future__ import annotations

import threading
import warnings
from dataclasses import dataclass, field


@dataclass
class Outside:
    """An operator that PyTorch runs."""

    operator: str  # "aten.special_zeta.default"
    reason: str
    source: str = ""  # of its first call: "model.py:12"
    calls: int = 0  # in compiled graphs
    runs: int = 0
    ms: float = 0.0  # of all runs


@dataclass(repr=False)
class Coverage:
    covered_calls: int = 0  # in compiled graphs
    outside: dict[str, Outside] = field(default_factory=dict)  # by operator: Outside
    cut_by_pytorch: dict[str, int] = field(default_factory=dict)  # by reason: of how many joint graphs

    @property
    def outside_calls(self) -> int:
        return sum(o.calls for o in self.outside.values())

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        total = self.covered_calls + self.outside_calls
        lines = [f"covered calls  {self.covered_calls} of {total}"]
        if self.outside:
            lines.append(f"{'operator':<44} {'calls':>6} {'runs':>8} {'ms':>10}  reason")
        for o in sorted(self.outside.values(), key=lambda o: (-o.ms, o.operator)):
            lines.append(f"{o.operator:<44} {o.calls:>6} {o.runs:>8} {o.ms:>10.2f}  {', '.join(filter(None, (o.reason, o.source)))}")
        for reason, graphs in self.cut_by_pytorch.items():
            lines.append(f"{graphs} joint graphs cut by PyTorch's partitioner: {reason}")
        return "\n".join(lines)


class Record:
    """What compilations and runs add to; safe on several threads."""

    def __init__(self):
        self._lock = threading.Lock()
        self._now = Coverage()

    def add_graph(self, covered, outside):
        """outside: [(operator, reason, source)] of one graph's calls. Warns, once a graph, if one of them is new."""
        with self._lock:
            self._now.covered_calls += covered
            new = []
            for operator, reason, source in outside:
                if operator not in self._now.outside:
                    self._now.outside[operator] = Outside(operator, reason, source)
                    new.append(f"{operator} ({', '.join(filter(None, (reason, source)))})")
                self._now.outside[operator].calls += 1
        if new:
            warnings.warn(f"cleave: {len(new)} operators run in PyTorch: {'; '.join(new)}; cleave.coverage() has the "
                          "times", stacklevel=2)

    def add_cut_by_pytorch(self, reason):
        """Without a warning: an operator outside, of which add_graph tells, is why."""
        with self._lock:
            self._now.cut_by_pytorch[reason] = self._now.cut_by_pytorch.get(reason, 0) + 1

    def add_run(self, operator, ms):
        with self._lock:
            if operator in self._now.outside:
                self._now.outside[operator].runs += 1
                self._now.outside[operator].ms += ms

    def snapshot(self, reset):
        with self._lock:
            outside = {k: Outside(**vars(o)) for k, o in self._now.outside.items()}
            copy = Coverage(self._now.covered_calls, outside, dict(self._now.cut_by_pytorch))
            if reset:
                self._now = Coverage()
            return copy


record = Record()


def coverage(reset: bool = False) -> Coverage:
    """What compiled graphs of this process ran in cleave and in PyTorch so far. reset: begins again."""
    return record.snapshot(reset)

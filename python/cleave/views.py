"""What a model tells of itself, as values that print as tables."""
from __future__ import annotations

from typing import NamedTuple

from cleave import _core


class Kernel(NamedTuple):
    """A step of a program."""

    name: str  # of the first value that it computes
    kind: str  # kernel, product, attention, convolution, sort, ...
    read: int  # bytes
    written: int


class Kernels(tuple):
    """All steps of a program, in order."""

    def __new__(cls, rows):
        return super().__new__(cls, (Kernel(*row) for row in rows))

    def __str__(self) -> str:
        lines = [f"{'kind':<11} {'first value':<24} {'bytes read':>12} {'written':>12}"]
        lines += [f"{k.kind:<11} %{k.name:<23} {k.read:>12} {k.written:>12}" for k in self]
        return "\n".join(lines)

    __repr__ = __str__  # a notebook shows the table


class Saved(NamedTuple):
    """A value that the forward keeps."""

    name: str
    bytes: int
    is_input: bool
    why: str


class Partition:
    """A joint graph in two: what is kept between them, and what runs again."""

    def __init__(self, forward: _core.Graph, backward: _core.Graph, saved: list, recomputed: list):
        self.forward, self.backward = forward, backward
        self.saved = [Saved(*row) for row in saved]
        self.recomputed = recomputed  # names

    def __str__(self) -> str:
        lines = [f"{'saved':<24} {'bytes':>12}  why"]
        lines += [f"%{s.name:<23} {s.bytes:>12}  {s.why}" for s in self.saved]
        lines.append(f"computed again: {', '.join('%' + n for n in self.recomputed) or 'nothing'}")
        return "\n".join(lines)

    __repr__ = __str__  # a notebook shows the table

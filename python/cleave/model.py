"""Programs of tensors with their weights: what trace() and load() give.

    f = cleave.trace(lambda x, w: torch.tanh(x @ w).sum())(x, w)
    y = f(x, w)                              # runs it
    y, dx, dw = f.grad()(x, w)               # the program of its results and gradients
    print(f, f.kernels(), f.partition())     # text, kernels, what a backward keeps
    g = f.compile(threads=2)                 # the same, with options
    f.save("f.clv")                          # cleave.load("f.clv") is the same program
"""
from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

from cleave import _core
from cleave.libraries import library_of
from cleave.options import options_text
from cleave.views import Kernels, Partition

STATE = ("param", "buffer", "const")  # roles of a model's own tensors


class Model:
    """A program: call it with one tensor for each of `inputs`, in order or by name.

    A result is a tensor of the first input's library; several are a tuple: results, then gradients. Sizes that vary come
    from the tensors; each new size is compiled once. Several threads may call one model: they take turns.
    """

    def __init__(self, graph: _core.Graph, weights: dict[str, Any], options: str = "", seed: int = 0,
                 own_gradients: tuple = ()):
        self.graph = graph
        self.weights = weights  # {name: Tensor}, read by every call
        self.inputs = [v for v in graph.inputs if v.role not in ("symint", "rng_state") and v.name not in weights]
        self._options, self._seed, self._own_gradients = options, seed, own_gradients
        self._program = _core.Program(graph, options)
        self._state = {v.name: _core.Tensor(_seeded(seed)) for v in graph.inputs if v.role == "rng_state"}
        self._order = [v.name for v in graph.inputs if v.role != "symint"]
        self._tangents = _default_tangents(graph)
        self._lock = threading.Lock()

    def __call__(self, *tensors: Any, **named: Any) -> Any:
        given = self._given(tensors, named)
        values = {**self._tangents, **self.weights, **self._state, **given}
        with self._lock:  # updates of buffers are one after the other
            results = self._program.run([values[name] for name in self._order])
        library = library_of(next(iter(given.values()), None))
        results = tuple(library.from_cleave(t) for t in results)
        return results[0] if len(results) == 1 else results

    def _given(self, tensors, named):
        names = [v.name for v in self.inputs]
        if len(tensors) > len(names):
            raise _core.UserError(f"the model takes {len(names)} tensors ({', '.join(names)}), got {len(tensors)}")
        given = dict(zip(names, tensors))
        for name, tensor in named.items():
            if name not in names:
                raise _core.UserError(f"the model has no input {name}, expected one of {', '.join(names)}")
            if name in given:
                raise _core.UserError(f"the input {name} is given twice")
            given[name] = tensor
        missing = [n for n in names if n not in given and n not in self._tangents]
        if missing:
            raise _core.UserError(f"the model's inputs {', '.join(missing)} are missing")
        return {name: library_of(t).to_cleave(t) for name, t in given.items()}

    def __str__(self) -> str:
        """The program's text (doc/ir.md)."""
        return self.graph.text

    def __repr__(self) -> str:
        return f"<cleave.Model @{self.graph.name}({', '.join(f'{v.name}: {v.type}' for v in self.inputs)})>"

    def grad(self, *names: str) -> Model:
        """The program of the results and then the gradients by these inputs and parameters, in the program's order.

        Without names: by those that require a gradient, or, where none does, by all floating inputs. A tangent for each
        floating result is an input more; that of a lone result without dims is 1 where it isn't given.
        Raises UserError for names that aren't there or not floating, Unsupported for operators without a gradient.
        """
        if self._own_gradients:
            raise _core.Unsupported(f"grad: {', '.join(self._own_gradients)}: gradients that aren't the forward's derivative; "
                                    "torch.compile has them")
        if not names and not any(v.wants_grad for v in self.graph.inputs):
            names = tuple(v.name for v in self.inputs if v.dtype in ("f64", "f32", "bf16", "f16"))
        return Model(_core.joint_graph(self.graph, list(names)), self.weights, self._options, self._seed)

    def compile(self, **options: Any) -> Model:
        """The same program with options of CompileOptions by name (doc/options.md): threads=2, memory_budget="60%", ...

        Nothing is compiled before the first call. Raises UserError for a name or value that is none.
        """
        text = options_text(options)
        _core.check_options(text)
        return Model(self.graph, self.weights, text, self._seed, self._own_gradients)

    def partition(self, mode: str = "exact", budget: str = "") -> Partition:
        """What the forward keeps for the backward, of this program's gradient or of a program that grad() gave.

        mode: exact, within a budget such as "64MiB" or "60%"; pytorch, with a fraction; or default.
        """
        joint = self if any(v.role == "grad" for v in self.graph.results) else self.grad()
        return Partition(**_core.partition(joint.graph, mode, budget))

    def kernels(self) -> Kernels:
        """What ran last, as kernels in order. Raises UserError where nothing ran yet."""
        return Kernels(self._program.kernels())

    def report(self) -> dict:
        """Of what ran last: compile_ms, kernels, planned_peak_bytes, ..."""
        return self._program.report()

    def save(self, path: str | Path) -> None:
        """Writes PATH (.clv), and the weights beside it (.safetensors), where there are some."""
        path = Path(path)
        if path.suffix != ".clv":
            raise _core.UserError(f"{path}: the file's kind is {path.suffix or 'unknown'}, expected .clv")
        path.write_text("clv 1\n" + self.graph.text)
        if self.weights:
            _core.save_tensors(str(path.with_suffix(".safetensors")), self.weights)


def _seeded(seed):
    import array

    state = array.array("q", [seed, 0])
    return library_of(memoryview(state)).to_cleave(memoryview(state))


def _default_tangents(graph):
    tangents = [v for v in graph.inputs if v.role == "tangent"]
    if len(tangents) != 1 or tangents[0].shape:
        return {}
    return {tangents[0].name: _core.Tensor.scalar(1, tangents[0].dtype)}

"""Models from files as functions of tensors.

    f = cleave.load("model.pt2")             # of torch.export.save; also .onnx, .clv
    y = f(x)                                 # a tensor of x's library; a tuple where there are several results

Weights are the model's own; those of NAME.clv are read from NAME.safetensors, and where there is none all inputs are the caller's. Sizes that vary come from the tensors; each new size is
compiled once. Dropout and other random operators draw from `seed`.
"""
from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

from cleave import _core
from cleave.libraries import library_of


class Model:
    """A compiled model: call it with one tensor for each of `inputs`, in order or by name."""

    def __init__(self, graph: _core.Graph, weights: dict[str, _core.Tensor], options: str = "", seed: int = 0):
        self.graph = graph
        self.weights = weights  # {name: Tensor}, read by every call
        self.inputs = [v for v in graph.inputs if v.role not in ("symint", "rng_state") and v.name not in weights]
        self._program = _core.Program(graph, options)
        self._results = [v for v in graph.results if v.role != "update"]
        self._state = {v.name: _core.Tensor(_seeded(seed)) for v in graph.inputs if v.role == "rng_state"}
        self._order = [v.name for v in graph.inputs if v.role != "symint"]
        self._updates = {v.target for v in graph.results if v.role == "update"}
        self._lock = threading.Lock()

    def __call__(self, *tensors: Any, **named: Any) -> Any:
        given = self._given(tensors, named)
        values = {**self.weights, **self._state, **given}
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
        missing = [n for n in names if n not in given]
        if missing:
            raise _core.UserError(f"the model's inputs {', '.join(missing)} are missing")
        return {name: library_of(t).to_cleave(t) for name, t in given.items()}

    def report(self) -> dict:
        """Of what ran last: compile_ms, kernels, planned_peak_bytes, ..."""
        return self._program.report()


def _seeded(seed):
    import array

    state = array.array("q", [seed, 0])
    return library_of(memoryview(state)).to_cleave(memoryview(state))


def load(path: str | Path, *, options: str = "", seed: int = 0) -> Model:
    """The model of a .pt2, .onnx or .clv file. options: the text of CompileOptions, "threads=4".

    Raises UserError for a file that is damaged or of another kind, Unsupported for operators that aren't covered.
    """
    suffix = Path(path).suffix
    if suffix == ".pt2":
        model = _core.load_exported(str(path))
    elif suffix == ".onnx":
        model = _core.load_onnx(str(path))
    elif suffix == ".clv":
        try:
            text = Path(path).read_text()
        except (OSError, UnicodeDecodeError) as e:
            raise _core.UserError(f"{path}: {e}") from None
        beside = Path(path).with_suffix(".safetensors")
        graph, weights = _core.Graph(text), _core.load_tensors(str(beside)) if beside.exists() else {}
        roles = {v.name: v.role for v in graph.inputs}
        return Model(graph, {k: t for k, t in weights.items() if roles.get(k) in ("param", "buffer", "const")}, options, seed)
    else:
        raise _core.UserError(f"{path}: the file's kind is {suffix or 'unknown'}, expected .pt2, .onnx or .clv")
    return Model(model.graph, model.weights(), options, seed)

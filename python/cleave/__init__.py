"""cleave: a compiler for training tensor programs.

    model = torch.compile(model, backend="cleave")       # PyTorch's models, in training and inference
    f = cleave.load("model.pt2")                         # or .onnx, or .clv
    y = f(x)                                             # NumPy, PyTorch, anything with __dlpack__
    f = cleave.trace(function)(x, w)                     # a function of PyTorch as a program: f.grad(), f.save(), ...
    cleave.export(model, (x,), "model.clv")              # a PyTorch module as a graph
    step = cleave.Step(model, optimizer, (x, y))         # a whole training step as one program

PyTorch is needed by torch.compile, trace, export and Step alone.
"""
from __future__ import annotations

from typing import Any

from cleave._core import Bug, Error, Graph, Program, Tensor, Unsupported, UserError, __version__, partition
from cleave.coverage import Coverage, coverage
from cleave.load import load
from cleave.model import Model
from cleave.trace import trace
from cleave.views import Kernels, Partition

__all__ = ["Bug", "Coverage", "Error", "Graph", "Kernels", "Model", "Partition", "Program", "Step", "Tensor", "Unsupported",
           "UserError", "__version__", "coverage", "export", "load", "partition", "trace"]


def export(model: Any, args: tuple, path: Any = None, *, grads: bool = True, dynamic_shapes: Any = None) -> Graph:
    """The forward graph of a PyTorch module or function of tensors, as cleave's text.

    args: example tensors, a tuple; parameters and floating inputs that require a gradient bear `grad`.
    dynamic_shapes: as of torch.export.export; such sizes become symints. Writes PATH (.clv) and its weights beside it
    (.safetensors) where a path is given, and returns the Graph.
    Raises Unsupported for an operator that cleave doesn't have, with the operator's name.
    """
    from cleave.fx.export import export as export_module

    return export_module(model, args, path, grads=grads, dynamic_shapes=dynamic_shapes)


def __getattr__(name: str) -> Any:
    if name == "Step":
        from cleave.step import Step

        return Step
    raise AttributeError(f"module 'cleave' has no attribute {name!r}")

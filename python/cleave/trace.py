"""Functions of PyTorch as programs.

    f = cleave.trace(lambda x, w: torch.tanh(x @ w).sum())(x, w)     # a cleave.Model
    print(f)                                                          # graph @main(%x: input f32[...], ...

The function is called once, by torch.export, with tensors that record: numbers, strings and branches on them are parts of
the program; tensors are its inputs. Arguments may be NumPy's arrays; the function is given PyTorch's tensors.
"""
from __future__ import annotations

import functools
from typing import Any, Callable

from cleave.libraries import Numpy, library_of
from cleave.model import Model
from cleave.options import options_text


def trace(function: Callable, *, dynamic_shapes: Any = None, seed: int = 0, **options: Any) -> Callable[..., Model]:
    """Returns what makes a Model of the function, or module, for arguments like those that it is called with.

    dynamic_shapes: as of torch.export.export; such sizes become symints, and vary from call to call.
    seed: of the program's random numbers. options: of CompileOptions by name (doc/options.md): threads=2, ...
    The Model's inputs have the names of the function's arguments. The parameters and buffers of a module are the Model's
    weights, in the same memory; what a function reads beside its arguments is constant.
    An autograd function's own backward, and hooks, aren't in the program: grad() refuses them.
    Raises Unsupported for operators that cleave doesn't have, with their names.
    """

    @functools.wraps(function, updated=())
    def traced(*args: Any, **named: Any) -> Model:
        import torch

        from cleave.fx.export import as_module, exported_program

        to_torch = lambda x: torch.from_numpy(Numpy.to_cleave(x)) if _is_array(x) else x
        args, named = torch.utils._pytree.tree_map(to_torch, (args, named))
        exported = exported_program(as_module(function), args, named, dynamic_shapes=dynamic_shapes)
        weights = {name: t.detach() for name, t in exported.weights.items()}
        return Model(exported.graph, weights, options_text(options), seed, exported.own_gradients)

    return traced


def _is_array(x):
    return hasattr(x, "__array_interface__") and library_of(x) is Numpy

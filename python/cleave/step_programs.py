"""The programs of a Step by the sizes of its inputs, over one state: each is made at the first step with its sizes.

The first other size is exported anew with the dims that differ left open, as symints; where that program holds for a size,
its graph is planned for it and nothing is exported. Where another dim differs, all that did so far are left open. Where the model's own code decides by a size, that is exported alone.
"""
from __future__ import annotations

import contextlib
from collections import OrderedDict

import torch
from torch.export import Dim

from cleave import _core
from cleave.fx.dtypes import DTYPES
from cleave.fx.export import exported_program
from cleave.libraries import Numpy, library_of


class Inputs:
    """The arguments of a step: tensors, and what a program is made for."""

    def __init__(self, inputs):
        if all(isinstance(x, torch.Tensor) for x in inputs):  # the tree's answer, ten microseconds sooner
            leaves, self.structure = inputs, len(inputs)
        else:
            leaves, self.structure = torch.utils._pytree.tree_flatten(tuple(inputs))
        self.leaves = [torch.from_numpy(Numpy.to_cleave(x)) if hasattr(x, "__array_interface__") else x for x in leaves]
        self.tensors = [x.detach() for x in self.leaves if isinstance(x, torch.Tensor)]
        self.key = (self.structure, *((x.shape, x.dtype) if isinstance(x, torch.Tensor) else (type(x), x) for x in self.leaves))

    def tree(self, leaves=None):
        leaves = self.leaves if leaves is None else leaves
        return tuple(leaves) if isinstance(self.structure, int) else torch.utils._pytree.tree_unflatten(leaves, self.structure)

    @property
    def numbers(self):
        """What is a part of the program."""
        return tuple((type(x), x) for x in self.leaves if not isinstance(x, torch.Tensor))

    @property
    def kinds(self):
        """What doesn't vary."""
        return self.structure, [(x.dtype, x.dim()) if isinstance(x, torch.Tensor) else type(x) for x in self.leaves]

    def __str__(self):
        return ", ".join(f"{DTYPES.get(x.dtype, x.dtype)}[{','.join(map(str, x.shape))}]" for x in self.tensors)


class Modes:
    """In which modes a model's modules are: all programs are exported in those that the first one was."""

    def __init__(self, module):
        self._was_training = [(m, m.training) for m in module.modules()]

    @contextlib.contextmanager
    def restored(self):
        now = [(m, m.training) for m, _ in self._was_training]
        try:
            _set_training(self._was_training)
            yield
        finally:
            _set_training(now)


def _set_training(modes):
    for m, is_training in modes:
        m.training = is_training


def exported_loss(loss, inputs, **how):
    """Raises Unsupported where a step would have another gradient than PyTorch, UserError within a region of autocast."""
    if torch.is_autocast_enabled("cpu"):
        raise _core.UserError("Step: it is made within a region of torch.autocast: put the region into the loss, or give "
                              'autocast="bf16"')
    exported = exported_program(loss, inputs.tree(), within="model.", **how)
    if exported.own_gradients:
        raise _core.Unsupported(f"Step: {', '.join(exported.own_gradients)}: gradients that aren't the forward's derivative; "
                                "torch.compile has them")
    return exported


class Programs:
    """loss: a module of *inputs. own: the names of its parameters and buffers."""

    def __init__(self, loss, core, first, own, kept):
        self._loss, self._core, self._own, self._kept = loss, core, own, kept
        self._first, self._first_text = first.kinds, str(first)
        self._shapes = [tuple(t.shape) for t in first.tensors]
        self._differed = [set() for _ in first.tensors]  # dims
        self._modes = Modes(loss)
        self._numbers = OrderedDict({first.key: 0})
        self._open, self._tried = [], set()  # graphs whose sizes vary, with their numbers; what was tried

    def number(self, inputs):
        """Of the program for these inputs. Raises UserError for other dtypes, dims or structures than the first ones'."""
        number = self._numbers.get(inputs.key)
        if number is not None:
            self._numbers.move_to_end(inputs.key)
            return number
        if inputs.kinds != self._first:
            raise _core.UserError(f"Step: got the inputs {inputs}, expected the dtypes and numbers of dims of {self._first_text}")
        with self._modes.restored():
            number = self._made(inputs)
        self._numbers[inputs.key] = number
        while len(self._numbers) > self._kept:
            self._core.drop(self._numbers.popitem(last=False)[1])
        return number

    def _made(self, inputs):
        for exported, numbers in self._open:
            sizes = _sizes_of(exported, inputs) if numbers == inputs.numbers else None
            if sizes is not None and exported.guards.hold(sizes):
                return self._core.add(exported.graph, self._consts(exported), sizes)
        dims = self._varying(inputs)
        others = tuple(n for t, ds in zip(inputs.tensors, dims or ()) for d, n in enumerate(t.shape) if d not in ds)
        if dims is not None and (dims, others, inputs.numbers) not in self._tried:
            self._tried.add((dims, others, inputs.numbers))
            if self._export_open(inputs, dims):
                return self._made(inputs)
        exported = exported_loss(self._loss, inputs)
        return self._core.add(exported.graph, self._consts(exported), {})

    def _varying(self, inputs):
        """By tensor, the dims that differed from the first inputs' so far and can be left open; None where there are none."""
        for seen, t, first in zip(self._differed, inputs.tensors, self._shapes):
            seen.update(d for d, (a, b) in enumerate(zip(t.shape, first)) if a != b)
        dims = tuple(tuple(d for d in sorted(seen) if t.shape[d] > 1) for seen, t in zip(self._differed, inputs.tensors))
        return dims if any(dims) else None

    def _export_open(self, inputs, dims):
        of_tensors = iter(dims)
        leaves = [{d: Dim.AUTO for d in next(of_tensors)} if isinstance(x, torch.Tensor) else None for x in inputs.leaves]
        try:
            exported = exported_loss(self._loss, inputs, dynamic_shapes={"inputs": inputs.tree(leaves)})
            sizes = _sizes_of(exported, inputs)
        except Exception:  # the model, or a call of it, needs its sizes: what is wrong beside that says the other export
            return False
        if not sizes or not exported.guards.hold(sizes):
            return False
        self._open.append((exported, inputs.numbers))
        return True

    def _consts(self, exported):
        return {name: t.detach() for name, t in exported.weights.items() if name not in self._own}


def _sizes_of(exported, inputs):
    """The values of a graph's symbols; None where the inputs' sizes contradict the graph's or don't tell."""
    found = {}
    values = [v for v in exported.graph.inputs if v.role == "input"]
    for v, t in zip(values, inputs.tensors):
        for size, value in zip(v.shape, t.shape):
            if size.isdigit():
                if int(size) != value:
                    return None
            elif found.setdefault(size, value) != value:
                return None
    return found if found.keys() == {v.name for v in exported.graph.inputs if v.role == "symint"} else None

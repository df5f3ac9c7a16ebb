"""A whole training step of a PyTorch module as one program: forward, backward, clipping, optimizer.

    step = cleave.Step(model, torch.optim.AdamW(model.parameters(), lr=3e-4), (x, y),
                       loss=lambda model, x, y: F.cross_entropy(model(x), y), clip_norm=1.0)
    for x, y in loader:
        loss = step(x, y)                  # a float; the module's own parameters are updated

The module's parameters and buffers are the program's: no copy, and `model.state_dict()` is always what the last step left.
"""
from __future__ import annotations

import threading
from typing import Any, Callable

import torch

from cleave import _core
from cleave.fx.export import exported_text
from cleave.optimizers import groups_of
from cleave.options import options_text


class _Loss(torch.nn.Module):
    def __init__(self, model, loss):
        super().__init__()
        self.model, self.loss = model, loss

    def forward(self, *inputs):
        return self.loss(self.model, *inputs)


class Step:
    """step(*inputs) -> the loss, as a float.

    model: a module on the CPU, in the mode that it shall train in.
    optimizer: SGD, Adam, AdamW, RMSprop or Adagrad of torch.optim, without state yet; its learning rates are read at each
        step, so that schedulers work. Its state is the step's: save() and load().
    inputs: example tensors, a tuple; each step takes tensors of these dtypes and shapes.
    loss(model, *inputs): a scalar, or a tuple that begins with it; the rest is `outputs`. Without it model(*inputs) is.
    options: of TrainOptions and CompileOptions by name (doc/options.md): clip_norm=1.0, accumulate=4,
        memory_budget="512MiB", autocast="bf16", seed=0, threads=2, ...

    Raises Unsupported for operators and optimizers that aren't covered, with their names; UserError for what doesn't fit.
    """

    def __init__(self, model: torch.nn.Module, optimizer: torch.optim.Optimizer, inputs: tuple, *,
                 loss: Callable | None = None, **options: Any):
        text, state = exported_text(_Loss(model, loss or (lambda model, *inputs: model(*inputs))), inputs, within="model.")
        own = {**dict(model.named_parameters(remove_duplicate=False)), **dict(model.named_buffers(remove_duplicate=False))}
        state = {name: own.get(name, t) for name, t in state.items()}
        names = {id(t): name for name, t in state.items()}
        self.optimizer = optimizer
        self._written = [t for name, t in state.items() if name in own]
        groups, self._numbers = groups_of(optimizer, names)
        self._rates = [None] * len(groups)
        self._step = _core.Step(_core.Graph(text), {name: t.detach() for name, t in state.items()}, groups,
                                options_text(options))
        self._lock = threading.Lock()

    def __call__(self, *inputs: Any) -> float:
        with self._lock:
            self._read_rates()
            loss = self._step.run([t.detach() if isinstance(t, torch.Tensor) else t for t in inputs])
        torch.autograd.graph.increment_version(self._written)
        self.optimizer._opt_called = True  # what schedulers look at
        return loss

    def _read_rates(self):
        for k, number in enumerate(self._numbers):
            rate = float(self.optimizer.param_groups[number]["lr"])
            if rate != self._rates[k]:
                self._step.set_learning_rate(k, rate)
                self._rates[k] = rate

    @property
    def outputs(self) -> tuple:
        """What loss() returned beside the loss, in the last step: copies."""
        return tuple(torch.from_dlpack(t) for t in self._step.outputs())

    @property
    def grad_norm(self) -> float:
        """Of the last step, before clipping; 0 without clip_norm and report_grad_norm."""
        return self._step.grad_norm

    @property
    def steps(self) -> int:
        """How many steps the parameters have made."""
        return self._step.steps

    def save(self, path: Any, metadata: dict[str, str] | None = None) -> None:
        """Parameters, buffers, the optimizer's state, steps and random numbers as one .safetensors: load() goes on from it,
        bit for bit."""
        self._step.save(str(path), metadata or {})

    def load(self, path: Any) -> dict[str, str]:
        """Raises UserError, and changes nothing, where the file doesn't fit. Returns its metadata."""
        metadata = self._step.load(str(path))
        torch.autograd.graph.increment_version(self._written)
        self._rates = [None] * len(self._rates)
        return metadata

    def report(self) -> dict:
        """compile_ms, kernels, planned_peak_bytes, ..."""
        return self._step.report()

    @property
    def graph(self) -> str:
        """The whole step's text (doc/ir.md)."""
        return self._step.graph_text

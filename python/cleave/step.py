"""A whole training step of a PyTorch module as one program: forward, backward, clipping, optimizer.

    step = cleave.Step(model, torch.optim.AdamW(model.parameters(), lr=3e-4), (x, y),
                       loss=lambda model, x, y: F.cross_entropy(model(x), y), clip_norm=1.0)
    for x, y in loader:
        loss = step(x, y)                  # a float; the module's own parameters are updated

The module's parameters and buffers are the program's: no copy, and `model.state_dict()` is always what the last step left.
"""
from __future__ import annotations

import threading
import weakref
from typing import Any, Callable

import torch

from cleave import _core
from cleave.fx.own_gradients import hooks_of
from cleave.fx.source import name_lines_of
from cleave.optimizer_state import give_back, taken_over
from cleave.optimizers import groups_of
from cleave.options import options_text
from cleave.step_programs import Inputs, Programs, exported_loss


def _follow(step, optimizer):
    """state_dict() of the optimizer has the step's state, load_state_dict() sets it."""
    step = weakref.ref(step)
    optimizer.register_state_dict_pre_hook(lambda _: step() and step().to_optimizer() and None)
    optimizer.register_load_state_dict_post_hook(lambda _: step() and step().from_optimizer())


class _Loss(torch.nn.Module):
    def __init__(self, model, loss):
        super().__init__()
        self.model, self.loss = model, loss
        name_lines_of(loss)

    def forward(self, *inputs):
        return self.loss(self.model, *inputs)


class Step:
    """step(*inputs) -> the loss, as a float.

    model: a module on the CPU, in the mode that it shall train in; f64, f32, bf16 or f16.
    optimizer: SGD, Adam, AdamW, RMSprop or Adagrad of torch.optim; its learning rates are read at each step, so that
        schedulers work. State that it has is taken over; from then on the step has its own, which optimizer.state_dict()
        and to_optimizer() give back, and load_state_dict() sets.
    inputs: example arguments, a tuple of tensors, trees of them, and numbers. Each step takes tensors of these dtypes and
        numbers of dims, of any sizes; each size, and each number, is compiled once (kept_sizes=32 of them are kept).
    loss(model, *inputs): a scalar, or a tuple that begins with it; the rest is `outputs`. Without it model(*inputs) is.
    options: of TrainOptions and CompileOptions by name (doc/options.md): clip_norm=1.0, accumulate=4,
        memory_budget="512MiB", autocast="bf16", seed=0, threads=2, ...

    Raises Unsupported for operators and optimizers that aren't covered, with their names; UserError for what doesn't fit.
    """

    def __init__(self, model: torch.nn.Module, optimizer: torch.optim.Optimizer, inputs: tuple, *,
                 loss: Callable | None = None, **options: Any):
        module = _Loss(model, loss or (lambda model, *inputs: model(*inputs)))
        first = Inputs(inputs)
        hooked = hooks_of(model.named_parameters())
        if hooked:
            raise _core.Unsupported(f"Step: hooks of the parameters {', '.join(hooked)}: torch.compile calls them")
        exported = exported_loss(module, first)
        own = {**dict(model.named_parameters(remove_duplicate=False)), **dict(model.named_buffers(remove_duplicate=False))}
        state = {name: own.get(name, t) for name, t in exported.weights.items()}
        self._names = {id(t): name for name, t in state.items()}
        self._written = [t for name, t in state.items() if name in own]
        groups, self._numbers = groups_of(optimizer, self._names)
        self._rates = [None] * len(groups)
        self._step = _core.Step(exported.graph, {name: t.detach() for name, t in state.items()}, groups, options_text(options))
        self._programs = Programs(module, self._step, first, own.keys(), int(options.get("kept_sizes", 32)))
        self._lock = threading.Lock()
        self.optimizer = optimizer
        self.from_optimizer()
        _follow(self, optimizer)

    def __call__(self, *inputs: Any) -> float:
        given = Inputs(inputs)
        with self._lock:
            program = self._programs.number(given)
            self._read_rates()
            loss = self._step.run(program, given.tensors)
        torch.autograd.graph.increment_version(self._written)
        self.optimizer._opt_called = True  # what schedulers look at
        return loss

    def from_optimizer(self) -> None:
        """Takes over the optimizer's state, where it has made steps: after PyTorch's own, or load_state_dict().

        Raises UserError, and changes nothing, where the parameters have made different numbers of steps.
        """
        with self._lock:
            self._step.set_state(taken_over(self.optimizer, self._names, self._step.state()))

    def to_optimizer(self) -> torch.optim.Optimizer:
        """Writes copies of the step's state to the optimizer, which may go on in PyTorch, and returns it."""
        with self._lock:
            give_back(self.optimizer, self._names, self._step.state(), self._step.steps)
        return self.optimizer

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

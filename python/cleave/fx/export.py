"""A PyTorch module or function as a forward graph: torch.export's program, in Core ATen, as text."""
import inspect
import warnings
from typing import NamedTuple

import torch
from torch.export.graph_signature import InputKind, OutputKind

from cleave import _core
from cleave.fx.calls import NAME, is_call, name_of
from cleave.fx.checks import read_through_checks
from cleave.fx.complex_pairs import take_apart_complex
from cleave.fx.covered import reason_outside
from cleave.fx.decompositions import decompositions_of_export
from cleave.fx.graph_text import GraphText
from cleave.fx.guards import Guards, guards_of
from cleave.fx.no_grad import stop_gradients
from cleave.fx.own_gradients import own_gradients
from cleave.fx.random import draw_state, draw_with_state
from cleave.fx.source import name_lines_of, source_text
from cleave.fx.subgraphs import add_call
from cleave.fx.types import type_text
from cleave.fx.unroll import unroll_loops
from cleave.model import Model

ROLES = {InputKind.PARAMETER: "param", InputKind.BUFFER: "buffer", InputKind.CONSTANT_TENSOR: "const",
         InputKind.USER_INPUT: "input"}


class Function(torch.nn.Module):
    """A function of tensors as a module, whose arguments keep their names."""

    def __init__(self, function):
        super().__init__()
        name_lines_of(function)
        self.forward = function if _has_signature(function) else lambda *args: function(*args)


def _has_signature(function):
    try:
        return inspect.signature(function) is not None
    except (TypeError, ValueError):  # of one that is written in C
        return False


def as_module(function):
    return function if isinstance(function, torch.nn.Module) else Function(function)


def export(model, args, path=None, *, grads=True, dynamic_shapes=None):
    """See cleave.export. dynamic_shapes: as of torch.export.export; such sizes become symints."""
    exported = exported_program(as_module(model), args, grads=grads, dynamic_shapes=dynamic_shapes)
    if exported.own_gradients:
        warnings.warn(f"cleave.export: the program's gradient isn't that of {', '.join(exported.own_gradients)}", stacklevel=3)
    if path is not None:
        Model(exported.graph, {name: t.detach() for name, t in exported.weights.items()}).save(path)
    return exported.graph


class Exported(NamedTuple):
    graph: _core.Graph
    weights: dict  # {name: tensor} of its params, buffers and consts
    guards: Guards  # for which sizes it holds
    own_gradients: tuple  # what says its gradient itself, and has another one in the program


def exported_program(module, args, named=None, *, grads=True, dynamic_shapes=None, within=""):
    """`within` is taken off the beginnings of the weights' names. A tensor that is given twice is two inputs."""
    args, named = _each_once((tuple(args), named or {}))
    with own_gradients() as found:
        exported = torch.export.export(module, args, named, dynamic_shapes=dynamic_shapes)
    stop_gradients(exported)
    program = exported.run_decompositions(decompositions_of_export())
    text, weights = _graph_text(program, (args, named), grads, within)
    return Exported(_core.Graph(text), weights, guards_of(program.graph.nodes), tuple(found))


def _each_once(tree):
    """torch.export would take a tensor that occurs twice for one input."""
    seen = set()

    def once(x):
        if not isinstance(x, torch.Tensor) or id(x) not in seen:
            seen.add(id(x))
            return x
        return x.detach().clone().requires_grad_(x.requires_grad)

    return torch.utils._pytree.tree_map(once, tree)


def _tie(nodes, specs, values):
    """Parameters that are one tensor become the first of them; returns the others."""
    first, tied = {}, set()
    for spec, n in zip(specs, (n for n in nodes if n.op == "placeholder")):
        if spec.kind is not InputKind.PARAMETER:
            continue
        t = values[spec.target]
        same = first.setdefault((t.data_ptr(), t.dtype, t.shape, t.stride()), n) if t.numel() > 0 else n
        if same is not n:
            n.replace_all_uses_with(same)
            tied.add(n)
    return tied


def _graph_text(program, args, grads, within):
    unroll_loops(program.graph_module)
    read_through_checks(program.graph_module)
    take_apart_complex(program.graph_module, decompositions_of_export())
    draw_with_state(program.graph_module)
    text, weights = GraphText("main"), {}
    nodes = list(program.graph.nodes)
    values = {**program.state_dict, **program.constants}
    for n in nodes:
        for v in n.meta["val"] if isinstance(n.meta.get("val"), (list, tuple)) else [n.meta.get("val")]:
            text.add_symbols(v)
    states = {spec.target.removeprefix(within) for spec in program.graph_signature.input_specs if spec.kind in ROLES and spec.target}
    for n in nodes:
        if n.op == "call_function" and n.name in states:  # a parameter `add`
            n._rename(f"{n.name}_value")
    tied = _tie(nodes, program.graph_signature.input_specs, values)
    given = iter(torch.utils._pytree.tree_leaves(args))
    for spec, n in zip(program.graph_signature.input_specs, (n for n in nodes if n.op == "placeholder")):
        user_input = next(given) if spec.kind is InputKind.USER_INPUT else None
        if not isinstance(n.meta.get("val"), torch.Tensor) or n in tied:
            continue  # a number: a part of the graph
        role = ROLES.get(spec.kind)
        if role is None:
            raise _core.Unsupported(f"export: an input of kind {spec.kind.name}")
        if role != "input":
            n.meta[NAME] = spec.target.removeprefix(within)
            weights[n.meta[NAME]] = values[spec.target]
        of = user_input if role == "input" else values[spec.target]
        wants = grads and of.is_floating_point() and of.requires_grad and role in ("param", "input")
        text.add_placeholder(name_of(n), type_text(n.meta["val"]), role, wants)
    _add_calls(text, nodes)
    state = next((n for n in nodes if n.target is draw_state), None)
    if state is not None:
        text.add_placeholder(name_of(state), "i64[2]", "rng_state", False)
        text.add_statement(f"%{name_of(state)}.next = rng_next(%{name_of(state)})")
    outputs = next(n for n in nodes if n.op == "output").args[0]
    _add_results(text, program.graph_signature, outputs, within)
    if state is not None:
        text.add_update(f"{name_of(state)}.next", name_of(state))
    return text.text(), weights


def _add_calls(text, nodes):
    outside = {}
    for n in nodes:
        if not is_call(n) or n.meta.get("val") is None:  # an assertion about sizes
            continue
        reason = reason_outside(n)
        if reason is not None:
            outside.setdefault(str(n.target), ", ".join(filter(None, (reason, source_text(n)))))
        else:
            add_call(text, n, reason_outside)
    if outside:
        listed = "; ".join(f"{op} ({why})" for op, why in outside.items())
        raise _core.Unsupported(f"export: {len(outside)} operators aren't covered: {listed}")


def _add_results(text, signature, outputs, within):
    updates = {OutputKind.USER_INPUT_MUTATION, OutputKind.BUFFER_MUTATION}
    for spec, n in zip(signature.output_specs, outputs):
        if not isinstance(n, torch.fx.Node) or not isinstance(n.meta.get("val"), torch.Tensor):
            continue
        if spec.kind is OutputKind.USER_OUTPUT:
            text.add_result(name_of(n))
        elif spec.kind in updates:
            text.add_update(name_of(n), spec.target.removeprefix(within))
        else:
            raise _core.Unsupported(f"export: an output of kind {spec.kind.name}")

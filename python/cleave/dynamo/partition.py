"""What the forward of AOTAutograd's joint graph keeps for the backward: cleave's choice, cut by PyTorch's own extraction."""
import warnings

import torch
from torch._functorch.partitioners import _extract_fwd_bwd_modules, min_cut_rematerialization_partition

from cleave import _core
from cleave.coverage import record
from cleave.dynamo.joint import BackwardOutside, is_tangent, joint_text
from cleave.dynamo.merge_equal import merge_equal_calls
from cleave.dynamo.saved_order import keep_row_major
from cleave.dynamo.take_apart import take_apart_uncovered
from cleave.fx.calls import name_of
from cleave.fx.checks import read_through_checks
from cleave.fx.complex_pairs import take_apart_complex
from cleave.fx.covered import reason_outside
from cleave.fx.decompositions import decompositions
from cleave.fx.no_text import NoText
from cleave.fx.random import draw_with_state
from cleave.fx.unroll import unroll_loops


def partition(joint_module, joint_inputs, *, num_fwd_outputs, options, **rest):
    """The forward and backward of a joint graph. Raises UserError for a memory budget that can't be met."""
    unroll_loops(joint_module)
    read_through_checks(joint_module)
    joint_module.graph.eliminate_dead_code()
    merge_equal_calls(joint_module.graph)
    take_apart_complex(joint_module, decompositions())
    take_apart_uncovered(joint_module)
    draw_with_state(joint_module)
    joint_module.recompile()
    try:
        joint = _core.Graph(joint_text(joint_module.graph, num_fwd_outputs, reason_outside), whole_complex=True)
    except (NoText, _core.Error) as e:
        if options.memory_budget:
            raise _core.Unsupported(f"memory_budget: the joint graph has no cut of cleave's: {e}") from e
        reason = str(e).splitlines()[0]
        record.add_cut_by_pytorch(reason)
        if not isinstance(e, BackwardOutside):
            warnings.warn(f"cleave: PyTorch's partitioner cuts a joint graph: {reason}", stacklevel=2)
        return min_cut_rematerialization_partition(joint_module, joint_inputs, num_fwd_outputs=num_fwd_outputs, **rest)
    saved = _core.partition(joint, options.partition, options.memory_budget)["saved"]
    forward, backward = _extracted(joint_module, [name for name, *_ in saved], num_fwd_outputs)
    keep_row_major(forward, backward, num_fwd_outputs)
    return forward, backward


def _extracted(joint_module, names, num_fwd_outputs):
    nodes = list(joint_module.graph.nodes)
    by_name = {name_of(n): n for n in nodes if isinstance(n.meta.get("val"), torch.Tensor)}
    of_tangents = set()
    for n in nodes:
        if is_tangent(n) or any(m in of_tangents for m in n.all_input_nodes):
            of_tangents.add(n)
    # Sizes that vary, which the extraction drops where the backward reads none.
    sizes = [n for n in nodes if isinstance(n.meta.get("val"), torch.SymInt) and n not in of_tangents]
    saved = [by_name[name] for name in names if name in by_name]
    saved += _missing(nodes, {*saved, *sizes}, of_tangents, num_fwd_outputs)
    return _extract_fwd_bwd_modules(joint_module, saved, saved_sym_nodes=sizes, num_fwd_outputs=num_fwd_outputs)


def _missing(nodes, given, of_tangents, num_fwd_outputs):
    """What the gradients need and can't be computed from what is given: cleave may know more values to be equal."""
    computable = set()
    for n in nodes:
        is_given = n in given or is_tangent(n) or n.op == "get_attr"
        if is_given or n.op == "call_function" and all(m in computable for m in n.all_input_nodes):
            computable.add(n)
    output = next(n for n in nodes if n.op == "output")
    missing, stack = {}, [g for g in output.args[0][num_fwd_outputs:] if isinstance(g, torch.fx.Node)]
    while stack:
        n = stack.pop()
        if n in computable or n in missing:
            continue
        if n in of_tangents:
            stack += n.all_input_nodes
        missing[n] = n not in of_tangents
    return [n for n, is_forward in missing.items() if is_forward]

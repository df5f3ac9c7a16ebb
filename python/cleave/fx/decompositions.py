"""Which of ATen's operators are taken apart before cleave sees them: Core ATen's list, and others without an entry in cleave.

Rules of torch._refs aren't taken: they end in primitives, which are no operators of ATen.
"""
import functools

import torch

from cleave.fx.covered import operator_names
from cleave.fx.draws import DRAWS
from cleave.fx.fake_quantize import FAKE_QUANTIZE
from cleave.fx.linalg import CHECKED
from cleave.fx.weight_norm import WEIGHT_NORM
from cleave.fx.windows import WINDOWS

# Constants enter a trace by these, which AOTAutograd has to see.
KEPT = {torch.ops.aten.lift.default, torch.ops.aten.lift_fresh.default}


@functools.lru_cache(maxsize=None)
def decompositions():
    """Below autograd, where composite operators are taken apart already."""
    return _with_uncovered(torch._decomp._core_aten_decompositions_post_autograd())


@functools.lru_cache(maxsize=None)
def decompositions_of_export():
    return {**_with_uncovered(torch._decomp.core_aten_decompositions().items()), **CHECKED}


def _with_uncovered(table):
    table = {op: rule for op, rule in dict(table).items() if op._schema.name.split("::")[1] not in operator_names()}
    for op, rule in torch._decomp.decomposition_table.items():
        if not isinstance(op, torch._ops.OpOverload) or op.namespace != "aten" or op in table or op in KEPT:
            continue
        if rule.__module__.startswith("torch._decomp") and op._schema.name.split("::")[1] not in operator_names():
            table[op] = rule
    return {**table, **DRAWS, **FAKE_QUANTIZE, **WEIGHT_NORM, **WINDOWS}

"""Operators that cleave has and PyTorch takes apart while it traces gradients, as resizes into lookups by computed indices.

    with kept_whole():
        aot_autograd(...)(graph_module, inputs)    # upsample_bilinear2d, and its gradient upsample_bilinear2d_backward

PyTorch's rules stand at the operators, for keys of the dispatcher; while they are away its own kernels are traced.
"""
import contextlib
import functools
import threading

import torch
from torch._C import DispatchKey

from cleave.fx.covered import operator_names

KEYS = (DispatchKey.Autograd, DispatchKey.CompositeImplicitAutograd)
_lock = threading.RLock()  # the rules are of the whole process


@contextlib.contextmanager
def kept_whole():
    """Not for threads that trace for others meanwhile: Dynamo compiles one graph at a time."""
    with _lock:
        taken = [(op, {key: op.py_kernels.pop(key) for key in KEYS if key in op.py_kernels}) for op in _taken_apart()]
        _forget_dispatch(op for op, _ in taken)
        try:
            yield
        finally:
            for op, rules in taken:
                op.py_kernels.update(rules)
            _forget_dispatch(op for op, _ in taken)


@functools.lru_cache(maxsize=None)
def _taken_apart():
    return [op for op in torch._decomp.decomposition_table
            if isinstance(op, torch._ops.OpOverload) and op.namespace == "aten" and any(key in op.py_kernels for key in KEYS)
            and op._schema.name.split("::")[1] in operator_names()]


def _forget_dispatch(ops):
    for op in ops:
        op._dispatch_cache.clear()

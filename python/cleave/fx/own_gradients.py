"""Gradients that a function says itself, which torch.export doesn't see: it traces what the forward computes.

    with own_gradients() as found:
        torch.export.export(...)
    found                              # {"the autograd function Round": None, "a hook of a tensor": None}
"""
import contextlib
import threading

import torch

# Those that PyTorch applies around what has the usual gradient; and around operators of torch.library, which stand in the
# program as calls: cleave has such an operator with its gradient, or refuses it by name.
USUAL = ("torch._higher_order_ops", "torch._functorch", "torch._export", "torch.export", "torch._library")


@contextlib.contextmanager
def own_gradients():
    """Gives a dict whose keys are filled while this thread traces."""
    found, thread = {}, threading.get_ident()
    function, tensor = torch.autograd.Function, torch.Tensor
    apply, register_hook = function.__dict__["apply"], tensor.register_hook

    def noted_apply(cls, *args, **named):
        is_usual = cls.__module__.startswith(USUAL) or cls.__name__ == "_NoopSaveInputs"  # of checkpoint
        if threading.get_ident() == thread and not is_usual:
            found[f"the autograd function {cls.__name__}"] = None
        return apply.__func__(cls, *args, **named)

    def noted_hook(self, hook):
        if threading.get_ident() == thread:
            found["a hook of a tensor"] = None
        return register_hook(self, hook)

    function.apply, tensor.register_hook = classmethod(noted_apply), noted_hook
    try:
        yield found
    finally:
        function.apply, tensor.register_hook = apply, register_hook


def hooks_of(parameters):
    """The names of those, of (name, parameter), that call something with their gradients."""
    return [name for name, p in parameters if p._backward_hooks or p._post_accumulate_grad_hooks]

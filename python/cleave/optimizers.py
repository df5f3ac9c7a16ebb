"""Optimizers of torch.optim as cleave's: their kinds, numbers and parameters."""
import torch

from cleave import _core

KINDS = {torch.optim.SGD: "SGD", torch.optim.Adam: "Adam", torch.optim.AdamW: "AdamW", torch.optim.RMSprop: "RMSprop",
         torch.optim.Adagrad: "Adagrad"}
IGNORED = {"params", "foreach", "fused", "capturable", "differentiable", "maximize", "decoupled_weight_decay", "betas",
           "initial_lr", "param_names"}


def groups_of(optimizer, names):
    """Of the parameters whose ids are in `names`, {id: name}: the groups, and each one's number in param_groups."""
    kind = KINDS.get(type(optimizer))
    if kind is None:
        raise _core.Unsupported(f"Step: the optimizer {type(optimizer).__name__}, expected one of {', '.join(KINDS.values())}")
    groups, numbers = [], []
    for k, group in enumerate(optimizer.param_groups):
        mine = [names[id(p)] for p in group["params"] if id(p) in names and p.requires_grad]
        if not mine:
            continue
        if group.get("maximize"):
            raise _core.Unsupported(f"Step: {kind} with maximize=True")
        groups.append(_core.OptimizerGroup("AdamW" if group.get("decoupled_weight_decay") else kind, _numbers(group), mine))
        numbers.append(k)
    if not groups:
        raise _core.UserError("Step: the optimizer has none of the module's parameters that require a gradient")
    return groups, numbers


def _numbers(group):
    out = {key: float(v) for key, v in group.items() if key not in IGNORED and v is not None}
    if "betas" in group:
        out["beta1"], out["beta2"] = (float(b) for b in group["betas"])
    return out

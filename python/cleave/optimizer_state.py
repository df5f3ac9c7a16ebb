"""The state of an optimizer of torch.optim as a Step's, and back: the keys are the same, `exp_avg` is `optimizer.exp_avg.NAME`.

PyTorch counts steps for each parameter, a Step counts them once; SGD doesn't count them at all, and all that depends on its
count is whether a momentum is there yet.
"""
import torch

from cleave import _core

PREFIX = "optimizer."


def taken_over(optimizer, names, kept):
    """What the step's state shall be, {name: tensor}. names: {id of a parameter: its name}. kept: the step's state now.

    Raises UserError where parameters have made different numbers of steps, or one lacks state that others have.
    """
    states = {names[id(p)]: s for p, s in optimizer.state.items() if id(p) in names and s}
    steps = {int(s["step"]) if "step" in s else int(_has_momentum(s)) for s in states.values()}
    if len(steps) > 1:
        raise _core.UserError("Step: the optimizer's parameters have made different numbers of steps: "
                              f"{', '.join(map(str, sorted(steps)))}")
    if steps in (set(), {0}):
        return {}
    out = {PREFIX + "step": torch.tensor(steps.pop())}
    for name in kept:
        key, _, of = name.removeprefix(PREFIX).partition(".")
        if of not in names.values() or key in ("accumulated", "lr"):
            continue
        value = states.get(of, {}).get(key)
        if value is None:
            raise _core.UserError(f"Step: the optimizer has made steps, and has no {key} of {of}")
        out[name] = value.detach().contiguous()
    return out


def _has_momentum(state):
    return state.get("momentum_buffer") is not None


def give_back(optimizer, names, kept, steps):
    """Writes copies of the step's state to optimizer.state."""
    if steps == 0:
        return
    counts = not isinstance(optimizer, torch.optim.SGD)
    for group in optimizer.param_groups:
        for p in group["params"]:
            of = "." + names[id(p)] if id(p) in names else None
            state = {} if of is None else {
                name.removeprefix(PREFIX).removesuffix(of): torch.from_dlpack(t) for name, t in kept.items()
                if name.endswith(of) and name.removeprefix(PREFIX).removesuffix(of) in KEYS}
            if state and counts:
                state = {"step": torch.tensor(float(steps)), **state}
            if state:
                optimizer.state[p] = state


KEYS = ("exp_avg", "exp_avg_sq", "max_exp_avg_sq", "momentum_buffer", "square_avg", "grad_avg", "sum")

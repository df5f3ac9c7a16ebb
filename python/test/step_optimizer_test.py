"""cleave.Step and the state of PyTorch's optimizers: taken over, given back, saved and loaded."""
import copy

import pytest
import torch
import torch.nn.functional as F

import cleave
from step_test import OPTIMIZERS, cross_entropy, fit

OTHERS = {"sgd_plain": lambda p: torch.optim.SGD(p, lr=0.05), "rmsprop_plain": lambda p: torch.optim.RMSprop(p, lr=1e-3)}


def eager(model, optimizer, x, y, steps):
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = cross_entropy(model, x, y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


@pytest.mark.parametrize("name", [*OPTIMIZERS, *OTHERS])
def test_a_run_goes_from_pytorch_to_cleave_and_back(name):
    make = {**OPTIMIZERS, **OTHERS}[name]
    model, x, y = fit()
    other = copy.deepcopy(model)
    optimizer, theirs = make(model.parameters()), make(other.parameters())
    want = eager(other, theirs, x, y, 9)
    got = eager(model, optimizer, x, y, 3)
    step = cleave.Step(model, optimizer, (x, y), loss=cross_entropy)
    got += [step(x, y) for _ in range(3)]
    assert step.to_optimizer() is optimizer
    got += eager(model, optimizer, x, y, 3)
    assert got == pytest.approx(want, rel=1e-6, abs=1e-6)
    for p, q in zip(model.parameters(), other.parameters()):
        torch.testing.assert_close(p, q)
        assert optimizer.state[p].keys() == theirs.state[q].keys()
        for key, value in theirs.state[q].items():
            torch.testing.assert_close(optimizer.state[p][key], value, rtol=1e-4, atol=1e-6)
    step.from_optimizer()
    assert step(x, y) == pytest.approx(eager(other, theirs, x, y, 1)[0], rel=1e-6)
    step(x, y), eager(other, theirs, x, y, 1)
    assert step(x, y) == pytest.approx(eager(other, theirs, x, y, 1)[0], rel=1e-6)


def test_state_dicts_have_the_steps_state():
    model, x, y = fit()
    make = OPTIMIZERS["adamw"]
    optimizer = make(model.parameters())
    step = cleave.Step(model, optimizer, (x, y), loss=cross_entropy)
    step(x, y), step(x, y)
    kept, weights = copy.deepcopy(optimizer.state_dict()), copy.deepcopy(model.state_dict())
    assert kept["state"][0]["step"] == 2 and kept["state"][0]["exp_avg"].abs().max() > 0
    want = [step(x, y) for _ in range(3)]
    model.load_state_dict(weights)
    optimizer.load_state_dict(kept)
    assert step.steps == 2 and [step(x, y) for _ in range(3)] == want
    fresh, *_ = fit()  # another process
    fresh.load_state_dict(weights)
    other = make(fresh.parameters())
    other.load_state_dict(kept)
    again = cleave.Step(fresh, other, (x, y), loss=cross_entropy)
    assert [again(x, y) for _ in range(3)] == want


def test_a_dropped_step_leaves_the_optimizer_alone():
    model, x, y = fit()
    optimizer = torch.optim.Adam(model.parameters())
    step = cleave.Step(model, optimizer, (x, y), loss=cross_entropy)
    step(x, y)
    del step
    assert optimizer.state_dict()["state"] == {}


def test_what_is_refused():
    model, x, y = fit()
    optimizer = torch.optim.Adam(model.parameters())
    eager(model, optimizer, x, y, 2)
    optimizer.state[model[0].weight]["step"] += 1
    with pytest.raises(cleave.UserError, match="different numbers of steps: 2, 3"):
        cleave.Step(model, optimizer, (x, y), loss=cross_entropy)
    optimizer.state[model[0].weight]["step"] -= 1
    del optimizer.state[model[0].weight]["exp_avg"]
    with pytest.raises(cleave.UserError, match="no exp_avg of 0.weight"):
        cleave.Step(model, optimizer, (x, y), loss=cross_entropy)
    optimizer.state[model[0].weight]["exp_avg"] = torch.zeros(3)
    with pytest.raises(cleave.UserError, match=r"exp_avg.0.weight is f32\[8,4\], got f32\[3\]"):
        cleave.Step(model, optimizer, (x, y), loss=cross_entropy)


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16, torch.float16], ids=str)
def test_parameters_of_other_dtypes(dtype):
    """As near to float64 as PyTorch's own loop."""
    model, x, y = fit()
    runs = {}
    for kind in ("cleave", "eager", "exact"):
        m, given = copy.deepcopy(model), x
        m, given = (m.double(), x.double()) if kind == "exact" else (m.to(dtype), x.to(dtype))
        optimizer = OPTIMIZERS["adamw"](m.parameters())
        if kind == "cleave":
            step = cleave.Step(m, optimizer, (given, y), loss=cross_entropy)
            runs[kind] = [step(given, y) for _ in range(6)]
            optimizer.state_dict()
            assert optimizer.state[m[0].weight]["exp_avg"].dtype is dtype
        else:
            runs[kind] = eager(m, optimizer, given, y, 6)
    error = lambda kind: max(abs(a - b) for a, b in zip(runs[kind], runs["exact"]))
    assert error("cleave") <= 2 * error("eager") + 4 * torch.finfo(dtype).eps


def test_autocast_of_the_program_and_of_the_loss():
    model, x, y = fit()

    def loss(model, x, y):
        with torch.autocast("cpu", torch.bfloat16):
            scores = model(x)
        return F.cross_entropy(scores.float(), y)

    other, third = copy.deepcopy(model), copy.deepcopy(model)
    step = cleave.Step(model, OPTIMIZERS["adamw"](model.parameters()), (x, y), loss=loss)
    whole = cleave.Step(third, OPTIMIZERS["adamw"](third.parameters()), (x, y), loss=cross_entropy, autocast="bf16")
    theirs = OPTIMIZERS["adamw"](other.parameters())
    for _ in range(5):
        theirs.zero_grad()
        want = loss(other, x, y)
        want.backward()
        theirs.step()
        assert step(x, y) == pytest.approx(want.item(), rel=2e-2)
        assert whole(x, y) == pytest.approx(want.item(), rel=2e-2)
    assert "bf16" in step.graph and "bf16" in whole.graph and model[0].weight.dtype is torch.float32


def test_losses_of_f16_are_scaled():
    model, x, y = fit()
    step = cleave.Step(model, OPTIMIZERS["adamw"](model.parameters()), (x, y), loss=cross_entropy, autocast="f16")
    losses = [step(x, y) for _ in range(5)]
    assert losses[-1] < losses[0]

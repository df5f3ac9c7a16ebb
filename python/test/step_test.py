"""cleave.Step beside a loop in PyTorch: losses, parameters, buffers; what is kept, shared and refused."""
import copy
import math

import pytest
import torch
import torch.nn.functional as F

import cleave
from models import MODELS

OPTIMIZERS = {
    "sgd": lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9, nesterov=True, weight_decay=0.01),
    "adam": lambda p: torch.optim.Adam(p, lr=3e-3, amsgrad=True),
    "adamw": lambda p: torch.optim.AdamW(p, lr=3e-3, weight_decay=0.1),
    "rmsprop": lambda p: torch.optim.RMSprop(p, lr=1e-3, momentum=0.5, centered=True),
    "adagrad": lambda p: torch.optim.Adagrad(p, lr=1e-2, lr_decay=0.1),
}


def train(model, optimizer, inputs, steps, clip=None):
    """Losses of a loop in PyTorch."""
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = model(*inputs)
        loss.backward()
        if clip:
            torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
        optimizer.step()
        losses.append(loss.item())
    return losses


def assert_equal_state(ours, theirs, tolerance=2e-4):
    for (name, a), b in zip(ours.state_dict().items(), theirs.state_dict().values()):
        torch.testing.assert_close(a, b, rtol=tolerance, atol=tolerance, msg=lambda m, n=name: f"{n}: {m}")


def fit(n=2):
    torch.manual_seed(n)
    return torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 3)), torch.randn(5, 4), torch.arange(5) % 3


def cross_entropy(model, x, y):
    return F.cross_entropy(model(x), y)


@pytest.mark.parametrize("name", MODELS)
def test_models(name):
    model, inputs = MODELS[name]()
    if not isinstance(model, torch.nn.Module):
        pytest.skip("a function")
    eager = copy.deepcopy(model)
    step = cleave.Step(model, OPTIMIZERS["sgd"](model.parameters()), tuple(inputs))
    got = [step(*inputs) for _ in range(5)]
    want = train(eager, OPTIMIZERS["sgd"](eager.parameters()), inputs, 5)
    assert got == pytest.approx(want, rel=1e-3, abs=1e-5)
    assert_equal_state(model, eager, 2e-3)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_optimizers(name):
    model, x, y = fit()
    eager = copy.deepcopy(model)
    step = cleave.Step(model, OPTIMIZERS[name](model.parameters()), (x, y), loss=cross_entropy, clip_norm=0.5)
    got = [step(x, y) for _ in range(10)]
    both = type("", (torch.nn.Module,), {"forward": lambda self, x, y: cross_entropy(self.m, x, y)})()
    both.m = eager
    assert got == pytest.approx(train(both, OPTIMIZERS[name](eager.parameters()), (x, y), 10, clip=0.5), rel=1e-4)
    assert_equal_state(model, eager)
    assert step.steps == 10 and step.grad_norm > 0


def test_groups_frozen_parameters_and_schedulers():
    model, x, y = fit()
    model[0].bias.requires_grad_(False)
    eager = copy.deepcopy(model)

    def made(m):
        optimizer = torch.optim.SGD([{"params": m[0].parameters(), "lr": 0.5}, {"params": [m[2].weight]}], lr=0.1)
        return optimizer, torch.optim.lr_scheduler.StepLR(optimizer, 2, 0.1)

    (optimizer, schedule), (other, other_schedule) = made(model), made(eager)
    step = cleave.Step(model, optimizer, (x, y), loss=cross_entropy)
    before = model[2].bias.clone()
    for _ in range(6):
        loss = step(x, y)
        schedule.step()
        other.zero_grad()
        want = cross_entropy(eager, x, y)
        want.backward()
        other.step()
        other_schedule.step()
        assert loss == pytest.approx(want.item(), rel=1e-5)
    assert_equal_state(model, eager)
    assert torch.equal(model[2].bias, before)  # in no group


def test_the_modules_tensors_are_the_programs():
    model, x, y = fit()
    step = cleave.Step(model, torch.optim.SGD(model.parameters(), lr=0.1), (x, y), loss=cross_entropy)
    weight, version = model[0].weight, model[0].weight._version
    first = step(x, y)
    assert model[0].weight is weight and weight._version > version
    assert cross_entropy(model, x, y).item() < first
    with torch.no_grad():
        weight.zero_()
    copied = copy.deepcopy(model)
    loss = step(x, y)
    assert loss == pytest.approx(cross_entropy(copied, x, y).item(), rel=1e-5)


def test_inputs_of_any_strides_and_parameters_that_lie_otherwise():
    model, x, y = fit()
    eager = copy.deepcopy(model)
    step = cleave.Step(model, torch.optim.SGD(model.parameters(), lr=0.1), (x, y), loss=cross_entropy)
    wide = torch.randn(5, 8)
    for other in (x.t().contiguous().t(), wide[:, ::2], x[:1].expand(5, 4)):
        assert step(other, y) == pytest.approx(cross_entropy(eager, other, y).item(), rel=1e-5)
        eager.load_state_dict(model.state_dict())
    model[0].weight.data = model[0].weight.data.t().contiguous().t()
    with pytest.raises(cleave.UserError, match="weight"):
        cleave.Step(model, torch.optim.SGD(model.parameters(), lr=0.1), (x, y), loss=cross_entropy)


@pytest.mark.parametrize("threads", [1, 3, 16])
def test_any_number_of_threads_gives_the_same_bits(threads):
    def run(n):
        model, inputs = MODELS["block"]()
        step = cleave.Step(model, torch.optim.Adam(model.parameters()), tuple(inputs), threads=n)
        return [step(*inputs) for _ in range(3)]

    torch.manual_seed(0)
    want = run(2)
    torch.manual_seed(0)
    assert run(threads) == want


def test_a_parameter_with_the_name_of_a_call():
    class Named(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.add = torch.nn.Parameter(torch.ones(3))

        def forward(self, x):
            return ((x + self.add) + x).square().mean()

    model, x = Named(), torch.randn(3)
    step = cleave.Step(model, torch.optim.SGD(model.parameters(), lr=0.1), (x,))
    assert step(x) == pytest.approx((2 * x + 1).square().mean().item(), rel=1e-6)


def test_other_results_and_accumulation():
    model, x, y = fit()
    eager = copy.deepcopy(model)

    def loss(model, x, y):
        scores = model(x)
        return F.cross_entropy(scores, y), scores.argmax(-1)

    step = cleave.Step(model, torch.optim.SGD(model.parameters(), lr=0.1), (x, y), loss=loss, accumulate=2)
    want = eager(x).argmax(-1)
    step(x, y)
    assert torch.equal(step.outputs[0], want) and step.steps == 0
    assert_equal_state(model, eager, 0)
    step(x, y)
    assert step.steps == 1 and not torch.equal(model[0].weight, eager[0].weight)


def test_a_saved_run_goes_on_to_the_bit(tmp_path):
    def made():
        torch.manual_seed(0)
        model = torch.nn.Sequential(torch.nn.Linear(4, 16), torch.nn.Dropout(0.5), torch.nn.Linear(16, 1))
        return model, cleave.Step(model, torch.optim.Adam(model.parameters(), lr=0.01), (x,),
                                  loss=lambda m, x: m(x).square().mean(), seed=3)

    x = torch.randn(8, 4)
    model, step = made()
    for _ in range(3):
        step(x)
    step.save(tmp_path / "run.safetensors", {"epoch": "1"})
    want = [step(x) for _ in range(3)]
    other, again = made()
    assert again.load(tmp_path / "run.safetensors")["epoch"] == "1"
    assert [again(x) for _ in range(3)] == want
    for a, b in zip(model.parameters(), other.parameters()):
        assert torch.equal(a, b)


def test_attentions_own_dropout():
    """The same numbers for the same seed, others at the next step; without dropout it is eager's."""
    class Attention(torch.nn.Module):
        def __init__(self, p):
            super().__init__()
            self.p, self.qkv = p, torch.nn.Linear(8, 24)

        def forward(self, x):
            q, k, v = self.qkv(x).chunk(3, -1)
            return F.scaled_dot_product_attention(q, k, v, dropout_p=self.p).square().mean()

    def losses(p, seed):
        torch.manual_seed(0)
        model, x = Attention(p), torch.randn(2, 6, 8)
        step = cleave.Step(model, torch.optim.SGD(model.parameters(), lr=0.0), (x,), seed=seed)
        return [step(x) for _ in range(3)], model(x).item() if p == 0 else None

    (first, _), (again, _), (other, _), (none, eager) = losses(0.5, 1), losses(0.5, 1), losses(0.5, 2), losses(0, 1)
    assert first == again and len({*first, *other}) == 6
    assert none == pytest.approx([eager] * 3, rel=1e-5)


def test_a_budget_lowers_the_peak():
    peaks = []
    for options in ({}, {"memory_budget": "90%"}):
        model, inputs = MODELS["block"]()
        step = cleave.Step(model, torch.optim.SGD(model.parameters(), lr=0.1), tuple(inputs), **options)
        assert math.isfinite(step(*inputs))
        peaks.append(step.report()["planned_peak_bytes"])
    assert peaks[1] <= 0.9 * peaks[0]
    assert "graph @" in step.graph


@pytest.mark.parametrize("make, kind, text", [
    (lambda m, x, y: cleave.Step(m, torch.optim.LBFGS(m.parameters()), (x, y), loss=cross_entropy), cleave.Unsupported, "LBFGS"),
    (lambda m, x, y: cleave.Step(m, torch.optim.SGD(m.parameters(), lr=1, maximize=True), (x, y), loss=cross_entropy),
     cleave.Unsupported, "maximize"),
    (lambda m, x, y: cleave.Step(m, torch.optim.SGD([torch.nn.Parameter(x)], lr=1), (x, y), loss=cross_entropy),
     cleave.UserError, "none of the module's parameters"),
    (lambda m, x, y: cleave.Step(m, torch.optim.SGD(m.parameters(), lr=1), (x, y), loss=cross_entropy, clip=1),
     cleave.UserError, "clip"),
    (lambda m, x, y: cleave.Step(m, torch.optim.SGD(m.parameters(), lr=1), (x,)), cleave.UserError, "f32\\[5,3\\]"),
])
def test_what_is_refused(make, kind, text):
    with pytest.raises(kind, match=text):
        make(*fit())

"""Training steps beside eager PyTorch: losses, gradients, buffers."""
import copy

import pytest
import torch

from models import MODELS


def step(f, inputs):
    loss = f(*inputs)
    loss.backward()
    return loss.detach()


def compiled(model, **options):
    return torch.compile(model, backend="cleave", options=options or None)


def gradients(model):
    return {name: p.grad for name, p in model.named_parameters()}


def assert_near(got, want, exact, factor):
    """As near to float64 as eager is, by a factor of the dtype's rounding of the largest element."""
    scale = exact.abs().max().item() + 1e-3
    eager = (want.double() - exact).abs().max().item()
    unit = torch.finfo(want.dtype).eps
    assert (got.double() - exact).abs().max().item() <= 2 * eager + factor * unit * scale


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=["f32", "bf16"])
@pytest.mark.usefixtures("no_outside")
def test_losses_and_gradients(name, dtype):
    model, inputs = MODELS[name]()
    model, inputs = model.to(dtype), [x.to(dtype) if x.is_floating_point() else x for x in inputs]
    eager, exact = copy.deepcopy(model), copy.deepcopy(model).double()
    f = compiled(model)
    for _ in range(2):  # the second runs what the first compiled; gradients add up
        loss = step(f, inputs)
        want = step(eager, inputs)
        true = step(exact, [x.double() if x.is_floating_point() else x for x in inputs])
    assert_near(loss, want, true, 8)
    for key, g in gradients(model).items():
        assert_near(g, gradients(eager)[key], gradients(exact)[key], 32)
    for (key, b), c in zip(model.named_buffers(), eager.buffers()):
        torch.testing.assert_close(b, c, msg=key)


@pytest.mark.parametrize("options", [{"partition": "pytorch"}, {"partition": "default"}, {"memory_budget": "100%"},
                                     {"threads": 1}], ids=str)
@pytest.mark.usefixtures("no_outside")
def test_options_keep_gradients(options):
    model, inputs = MODELS["block"]()
    eager = copy.deepcopy(model)
    torch.testing.assert_close(step(compiled(model, **options), inputs), step(eager, inputs))
    for key, g in gradients(model).items():
        torch.testing.assert_close(g, gradients(eager)[key], msg=key)


@pytest.mark.usefixtures("no_outside")
def test_an_optimizer_trains():
    model, inputs = MODELS["norms"]()
    eager = copy.deepcopy(model)
    f = compiled(model)
    ours, theirs = torch.optim.AdamW(model.parameters(), 1e-2), torch.optim.AdamW(eager.parameters(), 1e-2)
    for _ in range(10):
        for m, optimizer in (f, ours), (eager, theirs):
            optimizer.zero_grad()
            loss = step(m, inputs)
            optimizer.step()
    assert loss.item() < 1.9
    for p, q in zip(model.parameters(), eager.parameters()):
        torch.testing.assert_close(p, q, rtol=1e-3, atol=1e-4)


@pytest.mark.usefixtures("no_outside")
def test_some_parameters_are_frozen():
    model, inputs = MODELS["mlp"]()
    model.a.weight.requires_grad_(False)
    eager = copy.deepcopy(model)
    step(compiled(model), inputs), step(eager, inputs)
    assert model.a.weight.grad is None
    torch.testing.assert_close(model.b.weight.grad, eager.b.weight.grad)


@pytest.mark.usefixtures("no_outside")
def test_autocast():
    model, inputs = MODELS["mlp"]()
    eager = copy.deepcopy(model)
    for m, f in (model, compiled(model)), (eager, eager):
        with torch.autocast("cpu", torch.bfloat16):
            loss = f(*inputs)
        loss.backward()
    for key, g in gradients(model).items():
        torch.testing.assert_close(g, gradients(eager)[key], rtol=3e-2, atol=3e-2, msg=key)


@pytest.mark.usefixtures("no_outside")
def test_checkpoints_run_again():
    from torch.utils.checkpoint import checkpoint

    model, inputs = MODELS["mlp"]()
    eager = copy.deepcopy(model)
    f = torch.compile(lambda x, y: checkpoint(model, x, y, use_reentrant=False), backend="cleave")
    torch.testing.assert_close(step(f, inputs), step(eager, inputs))
    for key, g in gradients(model).items():
        torch.testing.assert_close(g, gradients(eager)[key], msg=key)


@pytest.mark.usefixtures("no_outside")
def test_equal_calls_of_two_overloads():
    """mul.Tensor of the forward and mul.Scalar of the backward are one call of cleave's, which keeps its result."""
    f = lambda b, a, x: (torch.addcmul(b, a, x).mean(1) @ torch.ones(8, 3)).log_softmax(-1)[:, 0].sum()
    inputs = [torch.randn(shape, requires_grad=True) for shape in ((1, 1, 8), (1, 1, 8), (4, 3, 8))]
    copies = [t.detach().clone().requires_grad_() for t in inputs]
    torch.compile(f, backend="cleave")(*inputs).backward()
    f(*copies).backward()
    for t, c in zip(inputs, copies):
        torch.testing.assert_close(t.grad, c.grad)


@pytest.mark.usefixtures("no_outside")
def test_values_that_cleave_alone_knows_to_be_equal(monkeypatch):
    monkeypatch.setattr("cleave.dynamo.partition.merge_equal_calls", lambda graph: None)
    test_equal_calls_of_two_overloads()

"""Calls that are taken apart to what cleave covers, beside eager: views of memory, the backward of weight norms."""
import copy

import pytest
import torch
from torch import nn

compiled = lambda f: torch.compile(f, backend="cleave")


def gradients_beside_eager(f, *shapes):
    """Results and gradients of f and of compiled f."""
    ours = [torch.randn(shape, requires_grad=True) for shape in shapes]
    theirs = [t.detach().clone().requires_grad_() for t in ours]
    y, want = compiled(f)(*ours), f(*theirs)
    torch.testing.assert_close(y, want)
    weight = torch.randn_like(want)
    (y * weight).sum().backward()
    (want * weight).sum().backward()
    for a, b in zip(ours, theirs):
        torch.testing.assert_close(a.grad, b.grad)


@pytest.mark.parametrize("order", [(0, 1, 2), (1, 0, 2), (2, 0, 1), (2, 1, 0)], ids=str)
@pytest.mark.usefixtures("no_outside")
def test_windows_of_permuted_memory(order):
    """As Longformer's attention has them: overlapping windows, by strides of the memory."""
    def f(x):
        y = (2 * x).permute(order)
        return torch.as_strided(y, (3, 8, 4), (16, 4, 1)) * 3

    gradients_beside_eager(f, (2, 8, 4))


@pytest.mark.usefixtures("no_outside")
def test_windows_of_channels_last():
    def f(x):
        y = (x + 1).to(memory_format=torch.channels_last)
        return y.as_strided((2, 5, 3), (45, 6, 1), 3).exp()

    gradients_beside_eager(f, (2, 3, 5, 3))


@pytest.mark.parametrize("view", [lambda x: x[:, 1:], lambda x: x[1], lambda x: x.split(1)[2], lambda x: x.expand(2, 3, 3)])
@pytest.mark.usefixtures("no_outside")
def test_windows_of_views_read_what_owns_the_memory(view):
    gradients_beside_eager(lambda x: torch.as_strided(view(2 * x), (2, 2), (3, 1), 1), (3, 3))
    gradients_beside_eager(lambda x: torch.as_strided(view(2 * x), (1, 2), (3, 1)), (3, 3))


@pytest.mark.parametrize("dim", [0, 1, 2, -1])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=["f32", "f64"])
@pytest.mark.usefixtures("no_outside")
def test_weight_norm(dim, dtype):
    model = nn.utils.parametrizations.weight_norm(nn.Conv1d(3, 4, 5), dim=dim).to(dtype)
    eager, x = copy.deepcopy(model), torch.randn(2, 3, 9, dtype=dtype)
    compiled(lambda x: model(x).square().sum())(x).backward()
    eager(x).square().sum().backward()
    for (name, p), q in zip(model.named_parameters(), eager.parameters()):
        torch.testing.assert_close(p.grad, q.grad, rtol=1e-4, atol=1e-4, msg=name)


@pytest.mark.usefixtures("no_outside")
def test_weight_norm_of_all():
    model = nn.utils.parametrizations.weight_norm(nn.Linear(3, 4), dim=None)
    eager, x = copy.deepcopy(model), torch.randn(2, 3)
    compiled(lambda x: model(x).square().sum())(x).backward()
    eager(x).square().sum().backward()
    for p, q in zip(model.parameters(), eager.parameters()):
        torch.testing.assert_close(p.grad, q.grad)


def test_checks_that_have_no_result():
    """F.one_hot checks its classes by a call that gives nothing; PyTorch runs it."""
    w = torch.randn(6, 4, requires_grad=True)

    def f(x, w):
        gate = (x @ w).softmax(-1)
        load = torch.nn.functional.one_hot(gate.argmax(-1), 4).float().mean(0)
        return (load * gate.mean(0)).sum()

    x = torch.randn(5, 6)
    got = torch.compile(f, backend="cleave")(x, w)
    want = f(x, w)
    torch.testing.assert_close(got, want)
    torch.testing.assert_close(torch.autograd.grad(got, w), torch.autograd.grad(want, w))

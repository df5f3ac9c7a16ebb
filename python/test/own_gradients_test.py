"""Gradients that aren't the derivative of what the forward computes: torch.compile has them, programs of exports refuse them."""
import warnings

import pytest
import torch
from torch.utils.checkpoint import checkpoint

import cleave


class Round(torch.autograd.Function):
    """Straight through."""

    @staticmethod
    def forward(ctx, x):
        return x.round()

    @staticmethod
    def backward(ctx, g):
        return g * 3


def rounded(x):
    return (Round.apply(x) * x).sum()


def hooked(x):
    y = x.sin()
    y.register_hook(lambda g: g * 5)
    return y.sum()


@pytest.mark.parametrize("f", [rounded, hooked], ids=lambda f: f.__name__)
@pytest.mark.usefixtures("no_outside")
def test_compiled_functions_have_them(f):
    x = torch.randn(4, requires_grad=True)
    y = x.detach().clone().requires_grad_()
    torch.compile(f, backend="cleave")(x).backward()
    f(y).backward()
    torch.testing.assert_close(x.grad, y.grad)


@pytest.mark.parametrize("f, text", [(rounded, "the autograd function Round"), (hooked, "a hook of a tensor")],
                         ids=lambda v: getattr(v, "__name__", ""))
def test_traced_functions_run_and_refuse_a_gradient(f, text):
    x = torch.randn(4, requires_grad=True)
    g = cleave.trace(f)(x)
    torch.testing.assert_close(g(x), f(x).detach())
    for refused in (g.grad, g.compile(threads=1).grad, g.partition):
        with pytest.raises(cleave.Unsupported, match=text):
            refused()
    with pytest.warns(UserWarning, match=text):
        cleave.export(f, (x,))
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message="cleave")
        cleave.export(lambda x: x.sin(), (torch.ones(2),))


def test_nothing_is_noted_behind_an_export():
    before = torch.autograd.Function.__dict__["apply"], torch.Tensor.register_hook
    cleave.trace(torch.sin)(torch.ones(2))
    with pytest.raises(ZeroDivisionError):
        cleave.trace(lambda x: x / 0 if 1 / 0 else x)(torch.ones(2))
    assert (torch.autograd.Function.__dict__["apply"], torch.Tensor.register_hook) == before


def test_steps_refuse_them():
    model, x = torch.nn.Linear(4, 3), torch.randn(2, 4)
    made = lambda loss: cleave.Step(model, torch.optim.SGD(model.parameters(), lr=0.1), (x,), loss=loss)
    with pytest.raises(cleave.Unsupported, match="Step: the autograd function Round"):
        made(lambda m, x: rounded(m(x)))
    with pytest.raises(cleave.Unsupported, match="Step: the autograd function CheckpointFunction"):
        made(lambda m, x: checkpoint(m, x, use_reentrant=True).sum())
    handle = model.register_full_backward_hook(lambda m, a, b: None)
    with pytest.raises(cleave.Unsupported, match="Step: the autograd function BackwardHookFunction"):
        made(lambda m, x: m(x).sum())
    handle.remove()
    model.weight.register_hook(lambda g: g * 2)
    with pytest.raises(cleave.Unsupported, match="hooks of the parameters weight"):
        made(lambda m, x: m(x).sum())

"""Operators that cleave takes apart by rules of its own, beside PyTorch: values and gradients."""
import math

import pytest
import torch

X = torch.tensor([[-1.5, 0.25, 3.0], [2.0, -0.5, 1.0]])
Y = torch.tensor([[0.5, -2.0, 3.0], [-2.0, 4.0, 0.125]])
ODD = torch.tensor([math.nan, -0.0, 0.0, -math.inf, 2.0])
BOUNDS = torch.tensor([-1.0, 0.25, 2.0])

CASES = {
    "var_mean": lambda x, y: torch.stack(torch.var_mean(x, 1)),
    "var_mean_all": lambda x, y: torch.stack(torch.var_mean(x, correction=0)),
    "std_mean": lambda x, y: torch.stack(torch.std_mean(x, 0)),
    "copysign": torch.copysign,
    "signbit": lambda x, y: torch.signbit(y) * x,
    "fmax": torch.fmax,
    "fmin": torch.fmin,
    "hypot": torch.hypot,
    "shift": lambda x, y: torch.bitwise_right_shift((x * 8).int(), torch.tensor(1)) * y,
    "bucketize": lambda x, y: torch.bucketize(x, BOUNDS) * y,
    "searchsorted": lambda x, y: torch.searchsorted(BOUNDS, x, right=True) * y,
    "index_reduce": lambda x, y: x.index_reduce(1, torch.tensor([2, 0, 2]), y, "amax"),
    "kthvalue": lambda x, y: x.kthvalue(2, 1).values + y.sum(1),
    "exp2": lambda x, y: torch.exp2(x) * y,
    "special": lambda x, y: torch.special.log_ndtr(x) + torch.lgamma(y.abs() + 0.5) + torch.erfinv(x / 4) + torch.i0(y),
    **{f"cdist_{p}": lambda x, y, p=p: torch.cdist(x, y, p=p) for p in (1.0, 2.0, 3.5, math.inf)},
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.usefixtures("no_outside")
def test_values_and_gradients(name):
    f = CASES[name]
    ours, theirs = [[t.clone().requires_grad_() for t in (X, Y)] for _ in range(2)]
    got, want = torch.compile(f, backend="cleave")(*ours), f(*theirs)
    torch.testing.assert_close(got, want)
    if want.requires_grad:
        got.square().sum().backward()
        want.square().sum().backward()
        for a, b in zip(ours, theirs):
            torch.testing.assert_close(a.grad, b.grad)


@pytest.mark.parametrize("f", [torch.fmax, torch.fmin, torch.hypot, torch.copysign], ids=lambda f: f.__name__)
@pytest.mark.usefixtures("no_outside")
def test_zeros_and_nan(f):
    a, b = ODD[:, None].expand(5, 5).contiguous(), ODD[None].expand(5, 5).contiguous()
    if f is torch.copysign:
        b = b.nan_to_num(1.0)  # the sign of a NaN is not looked at
    got, want = torch.compile(f, backend="cleave")(a, b), f(a, b)
    torch.testing.assert_close(got, want, equal_nan=True)
    assert torch.equal(torch.signbit(got[want == 0]), torch.signbit(want[want == 0]))


def test_values_as_sizes():
    """Sizes that depend on data: PyTorch computes them, cleave the rest."""
    with torch._dynamo.config.patch(capture_scalar_outputs=True, capture_dynamic_output_shape_ops=True):
        f = lambda x: (x * 2).sum() + torch.nonzero(x > 0).sum()
        g = lambda x, n: x * n.item()
        torch.testing.assert_close(torch.compile(f, backend="cleave")(X), f(X))
        torch.testing.assert_close(torch.compile(g, backend="cleave")(X, torch.tensor(3.0)), X * 3)


@pytest.mark.parametrize("name", ["lgamma", "digamma", "erfinv", "erfc", "i0"])
@pytest.mark.usefixtures("no_outside")
def test_special_functions_in_f64(name):
    """Each term of a series counts."""
    f = getattr(torch, name)
    x = torch.tensor([0.51, 0.9, 1.7, 3.1, 6.4, 7.9, 8.1, 20.5], dtype=torch.float64)
    x = x / 21 if name == "erfinv" else x
    torch.testing.assert_close(torch.compile(f, backend="cleave")(x), f(x), rtol=2e-13, atol=1e-14)

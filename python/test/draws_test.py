"""Random operators that are made of uniform and normal numbers: their distributions, gradients, seeds."""
import math

import pytest
import torch
import torch.nn.functional as F

from cleave.fx import draws

N = 4000
normal = lambda mean, std: lambda v: (1 + torch.erf((v - mean) / (std * math.sqrt(2)))) / 2
# name: (what is drawn, for n numbers like x; the probability to be at most v)
CONTINUOUS = {
    "exponential_": (lambda x: torch.empty_like(x).exponential_(2.0), lambda v: 1 - torch.exp(-2 * v)),
    "uniform_": (lambda x: torch.empty_like(x).uniform_(-1, 3), lambda v: (v + 1) / 4),
    "normal_": (lambda x: torch.empty_like(x).normal_(2, 0.5), normal(2, 0.5)),
    "normal of tensors": (lambda x: torch.normal(x, 0.5 + 0 * x), normal(0, 0.5)),
    "normal of a tensor": (lambda x: torch.normal(x, 3.0), normal(0, 3)),
    "normal of a number": (lambda x: torch.normal(1.0, 2 + x), normal(1, 2)),
    "normal of numbers": (lambda x: torch.normal(1.0, 2.0, x.shape, dtype=x.dtype), normal(1, 2)),
    "Normal.rsample": (lambda x: torch.distributions.Normal(x, 2.0).rsample(), normal(0, 2)),
    "log_normal_": (lambda x: torch.empty_like(x).log_normal_(0, 0.5), lambda v: normal(0, 0.5)(torch.log(v))),
    "cauchy_": (lambda x: torch.empty_like(x).cauchy_(1, 2), lambda v: torch.atan((v - 1) / 2) / math.pi + 0.5),
}
compiled = lambda f, **k: torch.compile(f, backend="cleave", **k)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16], ids=["f32", "f64", "bf16"])
@pytest.mark.parametrize("name", CONTINUOUS)
@pytest.mark.usefixtures("no_outside")
def test_continuous_distribution(name, dtype):
    draw, probability_to = CONTINUOUS[name]
    f = compiled(draw)
    y = f(torch.zeros(N, dtype=dtype))
    assert y.dtype is dtype and y.shape == (N,) and y.isfinite().all()
    p = probability_to(y.double()).sort().values
    gap = (p - torch.arange(N) / N).abs().max().item()  # Kolmogorov and Smirnov's: above 0.03 once in 600 draws
    assert gap < (0.03 if dtype is not torch.bfloat16 else 0.05)
    assert not torch.equal(f(torch.zeros(N, dtype=dtype)), y)


@pytest.mark.parametrize("u", [0.0, 1 - 2**-24])
def test_ends_of_the_uniform_numbers(monkeypatch, u):
    """The least and the largest that may be drawn, seldom."""
    monkeypatch.setattr(draws, "_uniform", lambda shape, dtype: torch.full(shape, u))
    x = torch.empty(2)
    for y in draws.exponential(x), draws.geometric(x, 0.3), draws.cauchy(x).abs(), draws.uniform(x, 1, 2):
        assert y.isfinite().all() and (y > 0).all()
    assert draws.geometric(x, 0.3).min() >= 1 and draws.uniform(x, 1, 3).max() <= 3


@pytest.mark.parametrize("dtype", [torch.float32, torch.int64], ids=["f32", "i64"])
@pytest.mark.usefixtures("no_outside")
def test_geometric(dtype):
    y = compiled(lambda x: torch.empty_like(x).geometric_(0.3))(torch.zeros(N, dtype=dtype))
    assert y.dtype is dtype and y.min() == 1
    for k in range(1, 6):
        assert abs((y == k).double().mean().item() - 0.3 * 0.7 ** (k - 1)) < 0.03


@pytest.mark.usefixtures("no_outside")
def test_integers_like_a_tensor():
    a, b, c = compiled(lambda x: (torch.randint_like(x, 4), torch.randint_like(x, 2, 5), torch.randint_like(
        x, 2, 5, dtype=torch.int64)))(torch.zeros(N))
    assert a.dtype is torch.float32 and c.dtype is torch.int64
    for t, low, high in (a, 0, 4), (b, 2, 5), (c, 2, 5):
        assert t.unique().tolist() == list(range(low, high))
        assert abs(t.double().mean().item() - (low + high - 1) / 2) < 0.1


@pytest.mark.usefixtures("no_outside")
def test_rrelu_in_training():
    x = torch.randn(N, requires_grad=True)
    y = compiled(lambda x: F.rrelu(x, 0.1, 0.4, training=True))(x)
    y.sum().backward()
    slope, negative = y.detach() / x.detach(), x.detach() < 0
    torch.testing.assert_close(x.grad, slope)  # of the same numbers
    assert (slope[~negative] == 1).all() and slope[negative].min() >= 0.1 - 1e-6 and slope[negative].max() <= 0.4 + 1e-6
    assert abs(slope[negative].mean().item() - 0.25) < 0.01


@pytest.mark.usefixtures("no_outside")
def test_gumbel_softmax_draws_by_its_logits():
    logits = torch.tensor([0.5, 0.2, 0.3]).log().expand(N, 3).clone().requires_grad_()
    y = compiled(lambda x: F.gumbel_softmax(x, hard=True))(logits)
    y[:, 0].sum().backward()
    torch.testing.assert_close(y.detach().mean(0), torch.tensor([0.5, 0.2, 0.3]), rtol=0, atol=0.03)
    assert logits.grad.abs().max() > 0 and logits.grad.sum(1).abs().max() < 1e-5


@pytest.mark.usefixtures("no_outside")
def test_a_variational_sample_has_gradients():
    mean, log_std = torch.randn(5, requires_grad=True), torch.randn(5, requires_grad=True)
    z = compiled(lambda m, s: torch.distributions.Normal(m, s.exp()).rsample())(mean, log_std)
    z.sum().backward()
    torch.testing.assert_close(mean.grad, torch.ones(5))
    torch.testing.assert_close(log_std.grad, (z - mean).detach())


@pytest.mark.usefixtures("no_outside")
def test_seeds_and_sizes_that_vary():
    f = compiled(lambda x: x + torch.empty_like(x).normal_(), dynamic=True)
    runs = []
    for _ in range(2):
        torch.manual_seed(5)
        runs.append([f(torch.zeros(n)) for n in (7, 12)])
    for a, b in zip(*runs):
        assert torch.equal(a, b) and a.unique().numel() == a.numel()


def test_a_generator_of_the_caller_draws_in_pytorch():
    generator = torch.Generator().manual_seed(1)
    f = compiled(lambda x: x + torch.normal(0.0, 1.0, (4,), generator=generator))
    assert f(torch.zeros(4)).shape == (4,)


@pytest.mark.parametrize("draw, message", [
    (lambda x: x.exponential_(-1.0), "lambda"), (lambda x: x.uniform_(2, 1), "from"), (lambda x: x.normal_(0, -1), "std"),
    (lambda x: torch.normal(x, -1.0), "std"), (lambda x: x.log_normal_(0, -1), "std"), (lambda x: x.cauchy_(0, -1), "sigma"),
    (lambda x: x.geometric_(2.0), "p to be in|0 < p < 1")])
def test_parameters_that_are_refused(draw, message):
    with pytest.raises(RuntimeError, match=message):
        compiled(draw)(torch.zeros(3))

"""Complex tensors and Fourier transforms in compiled graphs, beside PyTorch: values and gradients."""
import math

import pytest
import torch

import cleave


def rotated(x, turns):
    """Rotary embedding as the first Llama has it."""
    pairs = torch.view_as_complex(x.reshape(*x.shape[:-1], -1, 2))
    return torch.view_as_real(pairs * turns.view(1, x.shape[1], 1, -1)).flatten(3)


def given_turns(x):
    angles = torch.arange(x.shape[1], dtype=x.dtype)[:, None] / (1 + torch.arange(x.shape[-1] // 2))
    return torch.polar(torch.ones_like(angles), angles)


def filtered(x, norm="ortho"):
    f = torch.fft.rfft(x, norm=norm)
    return torch.fft.irfft(f * torch.exp(-1j * torch.arange(f.shape[-1], dtype=x.dtype)), n=x.shape[-1], norm=norm)


def arithmetic(x):
    z = torch.complex(x, x.flip(-1) + 2)
    y = (z * z.conj() + 2 - 1j * z) / (z + 3) + z.sum(-1, keepdim=True) - z.mean()
    return torch.cat([y.real, y.imag, y.abs(), y.angle(), torch.log(z).imag], -1)


CASES = {
    "rotary": ((2, 5, 3, 8), lambda x: rotated(x, given_turns(x))),
    "fnet": ((2, 12, 20), lambda x: torch.fft.fft(torch.fft.fft(x, dim=-1), dim=-2).real),
    "fft2": ((2, 6, 5), lambda x: torch.view_as_real(torch.fft.fft2(x, norm="forward"))),
    "ifft": ((3, 9), lambda x: torch.fft.ifft(x).imag),
    "filter": ((3, 10), filtered),
    "filter_odd": ((3, 7), lambda x: filtered(x, "backward")),
    "fold": ((2, 8), lambda x: torch.fft.irfft(torch.fft.rfft(x), n=6)),
    "rfft2": ((2, 4, 6), lambda x: torch.fft.irfft2(torch.fft.rfft2(x) * 2)),
    "abs": ((3, 8), lambda x: torch.fft.rfft(x).abs()),
    "long": ((2, 768), lambda x: torch.view_as_real(torch.fft.fft(x))),
    "prime": ((2, 97), lambda x: torch.view_as_real(torch.fft.fft(x))),
    "long_prime": ((2, 1031), lambda x: torch.view_as_real(torch.fft.fft(x, norm="ortho"))),
    "long_real": ((2, 518), lambda x: torch.fft.irfft(torch.fft.rfft(x) * 1j, n=x.shape[-1])),
    "arithmetic": ((3, 4), arithmetic),
    "matmul": ((3, 3), lambda x: torch.view_as_real(torch.complex(x, x.T) @ torch.complex(x.T, x))),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=["f32", "f64"])
@pytest.mark.usefixtures("no_outside")
def test_values_and_gradients(name, dtype):
    shape, f = CASES[name]
    ours = torch.randn(shape, dtype=dtype, requires_grad=True)
    theirs = ours.detach().clone().requires_grad_()
    got, want = torch.compile(f, backend="cleave")(ours), f(theirs)
    tolerance = {"rtol": 2e-5, "atol": 2e-5 * math.sqrt(shape[-1])} if dtype == torch.float32 else {"rtol": 1e-10, "atol": 1e-10}
    torch.testing.assert_close(got, want, **tolerance)
    weights = torch.randn_like(want)
    (got * weights).sum().backward()
    (want * weights).sum().backward()
    torch.testing.assert_close(ours.grad, theirs.grad, **tolerance)


def test_complex_inputs_and_results():
    x = torch.randn(2, 5, 3, 8, requires_grad=True)
    turns = given_turns(x)
    f = lambda x, turns: (rotated(x, turns), turns * 2, torch.fft.fft(x))
    for given in (turns, turns.conj()):
        for got, want in zip(torch.compile(f, backend="cleave")(x, given), f(x, given)):
            torch.testing.assert_close(got, want, rtol=1e-5, atol=1e-5)


def test_the_operators_in_PyTorch():
    """Where a region is left to PyTorch, it runs cleave's operators."""
    x = torch.randn(3, 5, 2)
    z = torch.view_as_complex(x)
    c2c, r2c, c2r = (getattr(torch.ops.cleave, f"fft_{name}").default for name in ("c2c", "r2c", "c2r"))
    torch.testing.assert_close(c2c(x, [1], 1, False), torch.view_as_real(torch.fft.ifft(z, norm="ortho")))
    torch.testing.assert_close(r2c(x, [2, 0], 0, True), torch.view_as_real(torch.fft.rfftn(x, dim=(2, 0))))
    torch.testing.assert_close(c2r(x, [1], 2, 8), torch.fft.irfft(z, n=8))


def test_without_a_rule_PyTorch_runs_it():
    x = torch.randn(3, 4)
    f = lambda x: torch.view_as_real(torch.tan(torch.complex(x, x)) * 2)
    with pytest.warns(UserWarning, match="aten.tan.default"):
        torch.testing.assert_close(torch.compile(f, backend="cleave")(x), f(x), rtol=1e-5, atol=1e-5)


def test_a_step_of_fnet():
    model = torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.Tanh(), Mixing(), torch.nn.Linear(8, 1))
    x = torch.randn(2, 5, 6)
    step = cleave.Step(model, torch.optim.SGD(model.parameters(), lr=0.01), (x,), loss=lambda m, x: m(x).square().mean())
    first = step(x)
    for _ in range(10):
        last = step(x)
    assert last < first


class Mixing(torch.nn.Module):
    def forward(self, x):
        return torch.fft.fft2(x).real

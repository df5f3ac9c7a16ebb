"""torch.compile with dynamic=True beside eager mode: what depends on sizes that the graph doesn't know."""
import pytest
import torch
import torch.nn.functional as F

from cleave.dynamo.results import lies_over_itself

TARGET = torch.arange(54, dtype=torch.float64).reshape(9, 6).cos()


def normed(x):
    """The gradient of a deviation is by n - 1, a number that is known in each run."""
    return ((x - x.mean(0)) / (x.std(0) + 0.1)).pow(3).mean() + x.var()


def attention(x):
    """The scale is by the root of a size."""
    return F.scaled_dot_product_attention(x[None], x[None], x[None]).pow(2).sum()


def smooth(x):
    """PyTorch's gradient has true_divide."""
    return F.smooth_l1_loss(x, TARGET[: len(x)])


def spectrum(x):
    """Keeps the windows, which overlap in memory."""
    frames = torch.stft(x.flatten(), 8, 4, window=torch.hann_window(8, dtype=x.dtype), return_complex=True)
    return frames.abs().pow(2).add(0.1).log().mean()


@pytest.mark.parametrize("f", [normed, attention, smooth, spectrum], ids=lambda f: f.__name__)
def test_one_program_for_all_sizes(no_outside, f):
    compiled = torch.compile(f, backend="cleave", dynamic=True)
    for rows in (4, 9, 5):
        ours, theirs = [(torch.arange(rows * 6, dtype=torch.float64).reshape(rows, 6) * 0.7).sin().requires_grad_() for _ in range(2)]
        got, want = compiled(ours), f(theirs)
        got.backward()
        want.backward()
        torch.testing.assert_close(got, want)
        torch.testing.assert_close(ours.grad, theirs.grad)


E = torch.empty
LAID = [(E(2, 3), False), (E(2, 3).T, False), (E(3, 1).expand(3, 4), True), (E(1, 3).expand(1, 3), False), (E(64).unfold(0, 16, 8), True),
        (E(64).unfold(0, 8, 8), False), (E(2, 3, 4, 5).permute(0, 3, 1, 2), False), (E(4, 6)[:, ::2], False), (E(0, 3), False), (E(()), False)]


@pytest.mark.parametrize("t, overlaps", LAID)
def test_elements_in_one_place(t, overlaps):
    assert lies_over_itself(t) == overlaps

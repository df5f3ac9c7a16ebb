"""Calls of operators in torch.compile beside PyTorch, in float64: bags of rows, unpooling, lengths and directions of weights,
windows, fake quantization, triangular systems, places between elements. Values and gradients; nothing runs in PyTorch."""
import pytest
import torch
import torch.nn.functional as F

import cleave

F64 = torch.float64
ROWS, STARTS, ENDS = torch.tensor([4, 0, 2, 2, 1, 3, 0]), torch.tensor([0, 2, 5]), torch.tensor([0, 2, 2, 7])
STEPS, ZEROS = torch.tensor([0.1, 0.2, 0.05]), torch.tensor([3, 0, 7], dtype=torch.int32)


def made(*shape):
    """Numbers without ties, on both sides of 0."""
    n = torch.Size(shape).numel()
    return (torch.arange(n, dtype=F64) * 0.7548776662 % 1 * 4 - 2).reshape(shape)


def triangle(a):
    return a / 4 + 3 * torch.eye(a.shape[-1], dtype=F64)


def bag(mode, **more):
    return lambda w: F.embedding_bag(ROWS, w, STARTS, mode=mode, **more)


def weighted_bag(w, p):
    return F.embedding_bag(ROWS, w, STARTS, mode="sum", per_sample_weights=p, padding_idx=0)


def unpooled(dims):
    pool, unpool = getattr(F, f"max_pool{dims}d"), getattr(F, f"max_unpool{dims}d")
    return lambda x: unpool(*pool(x, 2, return_indices=True), 2)


def window(name, *numbers):
    return lambda x: x * getattr(torch, name)(10, *numbers, dtype=F64)[:, None]


def by_tensors(x):
    return torch.fake_quantize_per_tensor_affine(x, torch.tensor([0.1]), torch.tensor([3], dtype=torch.int32), 0, 15)


def sampled(mode, padding):
    return lambda x, grid: F.grid_sample(x, grid, mode, padding, align_corners=False)


CASES = {
    **{f"bag_{mode}": (bag(mode), (5, 3)) for mode in ("sum", "mean", "max")},
    **{f"bag_padding_{mode}": (bag(mode, padding_idx=2), (5, 3)) for mode in ("sum", "mean", "max")},
    "bag_ends": (lambda w: F.embedding_bag(ROWS, w, ENDS, mode="mean", include_last_offset=True), (5, 3)),
    "bag_weighted": (weighted_bag, (5, 3), (7,)),
    "bag_rows": (lambda w: F.embedding_bag(ROWS[:6].view(2, 3).int(), w, mode="max"), (5, 3)),
    "unpool1": (unpooled(1), (2, 3, 4)), "unpool2": (unpooled(2), (2, 3, 4, 4)), "unpool3": (unpooled(3), (2, 3, 4, 4, 2)),
    "weight_norm": (lambda v, g: torch._weight_norm(v, g, 0), (3, 4, 2), (3, 1, 1)),
    "weight_norm_all": (lambda v, g: torch._weight_norm(v, g, -1), (3, 4), (1, 1)),
    **{f"{name}_{p}": (window(name, p), (10, 2)) for p in (True, False) for name in
       ("hann_window", "hamming_window", "blackman_window", "bartlett_window", "kaiser_window")},
    "hamming_numbers": (window("hamming_window", True, 0.6, 0.3), (10, 2)),
    "fake_quantize": (lambda x: torch.fake_quantize_per_tensor_affine(x, 0.1, 3, 0, 15), (10, 3)),
    "fake_quantize_tensors": (by_tensors, (10, 3)),
    "fake_quantize_channels": (lambda x: torch.fake_quantize_per_channel_affine(x, STEPS, ZEROS, 1, 0, 15), (10, 3)),
    "fake_quantize_fractions": (lambda x: torch.fake_quantize_per_channel_affine(x, STEPS, ZEROS + 0.3, 1, 0, 15), (10, 3)),
    "solve": (lambda a, b: torch.linalg.solve_triangular(triangle(a), b, upper=False), (4, 4), (4, 2)),
    "solve_right": (lambda a, b: torch.linalg.solve_triangular(triangle(a), b, upper=True, left=False), (2, 4, 4), (2, 3, 4)),
    "triangular_solve": (lambda a, b: torch.triangular_solve(b, triangle(a), transpose=True)[0], (4, 4), (4, 2)),
    "cholesky_solve": (lambda a, b: torch.cholesky_solve(b, triangle(a).tril()), (4, 4), (4, 2)),
    "gcd_lcm": (lambda x: x * torch.gcd((x * 100).long(), torch.tensor(60)) + torch.lcm((x * 10).int(), torch.tensor(6)), (7,)),
    **{f"grid_{mode}_{padding}": (sampled(mode, padding), (2, 3, 5, 4), (2, 3, 3, 2))
       for mode in ("bilinear", "nearest", "bicubic") for padding in ("zeros", "border", "reflection")},
    "grid_volume": (sampled("bilinear", "reflection"), (1, 2, 5, 4, 3), (1, 3, 2, 3, 3)),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.usefixtures("no_outside")
def test_values_and_gradients(name):
    f, *shapes = CASES[name]
    ours, theirs = [[made(*shape).requires_grad_() for shape in shapes] for _ in range(2)]
    got, want = torch.compile(f, backend="cleave")(*ours), f(*theirs)
    torch.testing.assert_close(got, want)
    for y in (got, want):
        y.backward(made(*want.shape) + 0.3)
    for a, b in zip(ours, theirs):
        torch.testing.assert_close(a.grad, b.grad)


def test_counts_of_rows_are_pytorchs():
    """PyTorch's kernel for the CPU divides by the counts of other rows: cleave leaves the calls to it."""
    f = bag("sum", scale_grad_by_freq=True)
    ours, theirs = [made(5, 3).requires_grad_() for _ in range(2)]
    torch.compile(f, backend="cleave")(ours).sum().backward()
    f(theirs).sum().backward()
    torch.testing.assert_close(ours.grad, theirs.grad)


@pytest.mark.parametrize("name", ["fake_quantize", "fake_quantize_channels", "weight_norm", "bag_mean", "bag_weighted", "solve"])
def test_steps_and_traces_have_the_gradients(name):
    """Derived from the forward by cleave."""
    f, *shapes = CASES[name]
    given = [made(*shape).requires_grad_() for shape in shapes]
    want = f(*given).sum()
    want.backward()
    got, *gradients = cleave.trace(lambda *xs: f(*xs).sum())(*given).grad()(*[t.detach() for t in given])
    torch.testing.assert_close(got, want.detach())
    for g, t in zip(gradients, given):
        torch.testing.assert_close(g, t.grad)

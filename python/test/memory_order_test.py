"""In which order saved values lie: cleave's own where only cleave sees them, PyTorch's where PyTorch does."""
import pytest
import torch
import torch.nn.functional as F
from torch import nn

import cleave
import cleave.dynamo.saved_order as saved_order


@pytest.fixture
def marked(monkeypatch):
    """Counts of the values that each compiled graph keeps row by row."""
    counts, keep = [], saved_order.keep_row_major

    def counting(forward, backward, results):
        keep(forward, backward, results)
        counts.append(sum(saved_order.is_stored_row_major(n) for n in forward.graph.nodes))

    monkeypatch.setattr("cleave.dynamo.partition.keep_row_major", counting)
    return counts


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Conv2d(3, 8, 3, padding=1), nn.Conv2d(8, 4, 3, padding=1)

    def forward(self, x):
        return self.second(F.silu(self.first(x)))


def like_eager(f, model, x):
    """The result and gradients of a compiled f beside eager's, strides too."""
    want = f(x)
    wanted = torch.autograd.grad(want.square().sum(), list(model.parameters()))
    got = torch.compile(f, backend="cleave")(x)
    torch.testing.assert_close(got, want)
    assert got.stride() == want.stride()
    for a, b in zip(torch.autograd.grad(got.square().sum(), list(model.parameters())), wanted):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-4)


@pytest.mark.usefixtures("no_outside")
def test_what_convolutions_of_channels_last_give_is_kept_row_by_row(marked):
    model, x = Net(), torch.randn(2, 3, 8, 8).to(memory_format=torch.channels_last)
    like_eager(model, model, x)
    assert marked and marked[0] > 0
    model = Net()
    like_eager(model, model, torch.randn(2, 3, 8, 8))
    assert marked[1] == 0


class NormNet(nn.Module):
    """Each of its layers but the last gives what the next one's gradient reads."""

    def __init__(self, norm, between):
        super().__init__()
        self.first, self.norm, self.between, self.second = nn.Conv2d(3, 8, 3, padding=1), norm, between, nn.Conv2d(8, 4, 3)

    def forward(self, x):
        return self.second(self.between(F.silu(self.norm(self.first(x)))))


@pytest.mark.usefixtures("no_outside")
@pytest.mark.parametrize("between", [nn.MaxPool2d(2), nn.AvgPool2d(2), nn.Upsample(scale_factor=2), nn.Dropout(0.0), nn.Softmax2d()])
@pytest.mark.parametrize("norm", [nn.BatchNorm2d(8), nn.GroupNorm(2, 8)])
def test_what_other_calls_compute_channels_last_is_kept_row_by_row(marked, norm, between):
    torch.manual_seed(0)
    model, x = NormNet(norm, between), torch.randn(2, 3, 8, 8).to(memory_format=torch.channels_last)
    model.to(memory_format=torch.channels_last)
    like_eager(model, model, x)
    assert marked and marked[0] >= 2  # the convolution, and what follows it


@pytest.mark.usefixtures("no_outside")
def test_sizes_that_vary_are_kept_row_by_row(marked):
    model = Net()
    f = torch.compile(model, backend="cleave", dynamic=True)
    for images, side in ((2, 8), (3, 12), (5, 9)):
        x = torch.randn(images, 3, side, side).to(memory_format=torch.channels_last)
        want = model(x)
        wanted = torch.autograd.grad(want.square().sum(), list(model.parameters()))
        for a, b in zip(torch.autograd.grad(f(x).square().sum(), list(model.parameters())), wanted):
            torch.testing.assert_close(a, b, rtol=1e-3, atol=1e-3)
    assert marked and marked[0] > 0


@pytest.mark.usefixtures("no_outside")
def test_a_result_that_is_kept_too_has_the_order_of_pytorch(marked):
    model, x = Net(), torch.randn(2, 3, 8, 8).to(memory_format=torch.channels_last)
    seen = []

    def f(x):
        h = F.silu(model.first(x))
        return model.second(h), h

    y, h = torch.compile(f, backend="cleave")(x)
    want, between = f(x)
    assert h.stride() == between.stride() and y.stride() == want.stride()
    (y.sum() + h.sum()).backward()
    seen += [p.grad.clone() for p in model.parameters()]
    model.zero_grad()
    (want.sum() + between.sum()).backward()
    for a, p in zip(seen, model.parameters()):
        torch.testing.assert_close(a, p.grad, rtol=1e-4, atol=1e-4)


def test_an_operand_of_a_call_outside_has_the_order_of_pytorch(marked):
    """Its result lies as the operand does, and what reads that expects PyTorch's order."""
    library = torch.library.Library("memory_order_test", "DEF")
    library.define("same(Tensor x) -> Tensor")
    library.impl("same", lambda x: x.clone(), "CompositeExplicitAutograd")
    torch.library.register_fake("memory_order_test::same", lambda x: torch.empty_like(x), lib=library)
    # The gradient reads the operand, so that it is saved too.
    torch.library.register_autograd("memory_order_test::same", lambda ctx, g: ctx.saved_tensors[0].cos() * g,
                                    setup_context=lambda ctx, inputs, output: ctx.save_for_backward(inputs[0]), lib=library)
    model, x = Net(), torch.randn(2, 3, 8, 8).to(memory_format=torch.channels_last)
    with pytest.warns(UserWarning, match="cleave: "):
        like_eager(lambda x: model.second(torch.ops.memory_order_test.same(model.first(x))), model, x)
    assert [name for name in cleave.coverage().outside if "memory_order_test" in name]
    assert marked == [0]


@pytest.mark.usefixtures("no_outside")
@pytest.mark.parametrize("threads", [1, 2, 5])
def test_bits_do_not_depend_on_whose_threads_run_them(threads):
    model, x = Net(), torch.randn(2, 3, 8, 8)
    want = torch.compile(model, backend="cleave", options={"threads": 3})(x)
    torch._dynamo.reset()
    torch.set_num_threads(threads)
    try:
        for options in ({}, {"threads": threads}):
            assert torch.equal(torch.compile(model, backend="cleave", options=options)(x), want)
            torch._dynamo.reset()
    finally:
        torch.set_num_threads(2)

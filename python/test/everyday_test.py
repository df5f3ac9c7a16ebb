"""What loops in PyTorch do beside calling a model: hooks, checkpoints, regions without gradients, threads, workers, writes."""
import copy
import threading

import pytest
import torch
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint

import cleave


def net():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2))


def sgd(model):
    return torch.optim.SGD(model.parameters(), lr=0.1)


@pytest.mark.usefixtures("no_outside")
def test_hooks_of_modules_and_tensors():
    def run(compiled):
        model, seen = net(), []
        model[0].register_forward_hook(lambda m, args, y: y * 2)
        model[2].register_full_backward_hook(lambda m, gi, go: seen.append(go[0].sum().item()))
        model[0].weight.register_hook(lambda g: g * 3)
        f = torch.compile(model, backend="cleave") if compiled else model
        y = f(torch.ones(3, 4))
        y.register_hook(lambda g: seen.append(g.mean().item()))
        y.square().mean().backward()
        return y.detach(), [p.grad for p in model.parameters()], seen

    (y, grads, seen), (z, others, too) = run(True), run(False)
    torch.testing.assert_close(y, z)
    for p, q in zip(grads, others):
        torch.testing.assert_close(p, q)
    assert seen == pytest.approx(too) and len(seen) == 2


@pytest.mark.usefixtures("no_outside")
def test_hooks_behind_accumulated_gradients():
    model = net()
    seen = []
    for p in model.parameters():
        p.register_post_accumulate_grad_hook(lambda p: seen.append(p.grad.norm().item()))
    torch.compile(model, backend="cleave")(torch.ones(3, 4)).sum().backward()
    assert len(seen) == 4 and all(n > 0 for n in seen)


@pytest.mark.usefixtures("no_outside")
def test_regions_without_gradients():
    def f(x, w):
        with torch.no_grad():
            scale = (x @ w).abs().max()
        return ((x @ w) / scale + (w * 2).detach().sum()).square().sum()

    x, w = torch.randn(3, 4), torch.randn(4, 2, requires_grad=True)
    f(x, w).backward()
    want, w.grad = w.grad, None
    torch.compile(f, backend="cleave")(x, w).backward()
    torch.testing.assert_close(w.grad, want)
    torch.testing.assert_close(cleave.trace(f)(x, w).grad("w")(x, w)[1], want)
    with torch.inference_mode():
        torch.testing.assert_close(torch.compile(f, backend="cleave")(x, w), f(x, w))


@pytest.mark.usefixtures("no_outside")
def test_autocast_to_f16_with_a_scaler():
    model, x = net(), torch.randn(5, 4)
    f, scaler, optimizer = torch.compile(model, backend="cleave"), torch.amp.GradScaler("cpu", init_scale=1024.0), sgd(model)
    losses = []
    for _ in range(5):
        optimizer.zero_grad()
        with torch.autocast("cpu", torch.float16):
            loss = f(x).float().square().mean()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        losses.append(loss.item())
    assert losses == sorted(losses, reverse=True) and scaler.get_scale() == 1024.0


def beside_eager(loss, steps=4):
    """Trains a net by a Step and by PyTorch's loop."""
    model, x = net(), torch.randn(5, 4)
    eager = copy.deepcopy(model)
    step, optimizer = cleave.Step(model, sgd(model), (x,), loss=loss), sgd(eager)
    for _ in range(steps):
        optimizer.zero_grad()
        want = loss(eager, x)
        want.backward()
        optimizer.step()
        assert step(x) == pytest.approx(want.item(), rel=1e-5)
    for p, q in zip(model.parameters(), eager.parameters()):
        torch.testing.assert_close(p, q)
    return step


def test_checkpoints_in_whole_steps():
    beside_eager(lambda m, x: checkpoint(m, x, use_reentrant=False).square().mean())


def test_regions_without_gradients_in_whole_steps():
    def loss(model, x):
        y = model(x)
        with torch.no_grad():
            target = y.roll(1, 0)
            other = target.square()  # of the region, and a result of it
        with torch.enable_grad():
            z = y.sin()
        return F.mse_loss(z, target) + (y.detach().abs() * z).mean() + (other * z).mean()

    step = beside_eager(loss)
    assert "everyday_test.py" in step.graph


def test_a_region_without_gradients_returns_what_it_is_given():
    def loss(model, x):
        y = model(x)
        with torch.no_grad():
            scale = y.abs().max()
            same = y
        return (same / scale).square().mean() + same.sum() * 0.01

    beside_eager(loss)


def test_buffers_that_a_region_without_gradients_writes():
    class Averaged(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.net = net()
            self.register_buffer("mean", torch.zeros(2))

        def forward(self, x):
            y = self.net(x)
            with torch.no_grad():
                self.mean.mul_(0.9).add_(y.mean(0) * 0.1)
            return (y - self.mean).square().mean()

    model, x = Averaged(), torch.randn(5, 4)
    eager = copy.deepcopy(model)
    step, optimizer = cleave.Step(model, sgd(model), (x,)), sgd(eager)
    for _ in range(4):
        optimizer.zero_grad()
        want = eager(x)
        want.backward()
        optimizer.step()
        assert step(x) == pytest.approx(want.item(), rel=1e-5)
    torch.testing.assert_close(model.mean, eager.mean)


def test_writes_of_what_may_have_a_gradient_are_refused():
    def loss(model, x):
        y = model(x)
        with torch.no_grad():
            y[1:].mul_(2)
        return y.sum()

    with pytest.raises(cleave.Unsupported, match="mul_.*in a region of no_grad writes what may have a gradient, .*everyday_test"):
        cleave.Step(net(), sgd(net()), (torch.ones(3, 4),), loss=loss)


def test_a_region_with_gradients_in_one_without():
    def f(x):
        with torch.no_grad():
            y = x * 2
            with torch.enable_grad():
                z = y * x
            u = z * 3
        return z.sum() + u.sum()

    x = torch.randn(3, requires_grad=True)
    f(x).backward()
    torch.testing.assert_close(cleave.trace(f)(x).grad()(x)[1], x.grad)


def test_a_traced_function_writes_its_arguments():
    def f(x, total):
        total[0].add_(x.sum())
        return x * 2

    g = cleave.trace(f)(torch.ones(3), torch.zeros(2))
    x, total, want = torch.randn(3), torch.zeros(2), torch.zeros(2)
    for _ in range(2):
        torch.testing.assert_close(g(x, total), f(x, want))
    torch.testing.assert_close(total, want)


@pytest.mark.usefixtures("no_outside")
def test_writes_through_views_are_trained_through():
    def f(x, w):
        y = x.clone()
        y[:, 1:].mul_(w)
        y.view(-1)[::2].add_(w.sum())
        return y.sin().sum()

    x, w = torch.randn(3, 4), torch.randn(3, requires_grad=True)
    f(x, w).backward()
    want, w.grad = w.grad, None
    torch.compile(f, backend="cleave")(x, w).backward()
    torch.testing.assert_close(w.grad, want)


def in_threads(count, run):
    failures = []

    def guarded(k):
        try:
            run(k)
        except BaseException as e:
            failures.append(e)

    threads = [threading.Thread(target=guarded, args=(k,)) for k in range(count)]
    [t.start() for t in threads], [t.join() for t in threads]
    assert not failures, failures


def test_threads_share_a_traced_program():
    model = net()
    rows = torch.export.Dim("rows", min=2, max=64)
    f = cleave.trace(model, dynamic_shapes=[{0: rows}])(torch.randn(4, 4))

    def run(k):
        x = torch.randn(2 + k, 4)
        want = model(x).detach()
        for _ in range(30):
            torch.testing.assert_close(f(x), want)

    in_threads(4, run)


def test_a_thread_asks_while_another_compiles():
    """Both finish, though the one that compiles logs, for which it takes the interpreter's lock."""
    rows = torch.export.Dim("rows", min=2, max=99)
    f = cleave.trace(net(), dynamic_shapes=[{0: rows}])(torch.randn(4, 4))
    f(torch.randn(4, 4))
    done = threading.Event()

    def run(k):
        if k == 0:
            for n in range(5, 20):
                f(torch.randn(n, 4))
            done.set()
        while not done.is_set():
            assert f.report()["kernels"] > 0 and f.kernels() and f._program.compiled_sizes >= 1

    in_threads(2, run)


def test_threads_share_a_step():
    model, x = net(), torch.randn(5, 4)
    step = cleave.Step(model, sgd(model), (x,), loss=lambda m, x: m(x).square().mean())
    in_threads(3, lambda k: [step(x[:3 + k]) for _ in range(10)])
    assert step.steps == 30


def test_threads_train_a_compiled_model():
    model = net()
    f = torch.compile(model, backend="cleave")
    # With a gradient of x, as below: AOTAutograd switches anomaly mode on, for all threads, while it traces. A thread that
    # differentiates meanwhile holds the lock of a parameter and waits for the interpreter's, another one the reverse
    # (PyTorch 2.13).
    f(torch.ones(3, 4, requires_grad=True)).sum().backward()

    def run(k):
        x = torch.randn(3, 4, generator=torch.Generator().manual_seed(k)).requires_grad_()
        y = x.detach().clone().requires_grad_()
        for _ in range(10):
            got, = torch.autograd.grad(f(x).square().sum(), x)
            want, = torch.autograd.grad(model(y).square().sum(), y)
            torch.testing.assert_close(got, want)

    in_threads(3, run)


class Prepared(torch.utils.data.Dataset):
    """Its workers run a program that the parent compiled."""

    def __init__(self):
        self.program = cleave.trace(lambda x: (x * 2).tanh())(torch.ones(4))
        self.program(torch.ones(4))

    def __len__(self):
        return 12

    def __getitem__(self, k):
        return self.program(torch.full((4,), k / 10.0))


def test_a_program_runs_in_workers_of_a_loader():
    batches = list(torch.utils.data.DataLoader(Prepared(), batch_size=4, num_workers=2, multiprocessing_context="fork"))
    want = torch.tanh(torch.arange(12).div(10.0)[:, None].expand(12, 4) * 2)
    torch.testing.assert_close(torch.cat(batches), want)

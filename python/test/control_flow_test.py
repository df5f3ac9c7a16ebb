"""Branches and loops of PyTorch, compiled, exported and in whole steps."""
import copy
import warnings

import pytest
import torch
from torch._higher_order_ops import scan, while_loop
from torch._higher_order_ops.map import map as torch_map

import cleave


def branch(x, w):
    return torch.cond(x.sum() > 0, lambda x: (x @ w).sin(), lambda x: (x @ w).cos() * 2, (x,))


def gradients(f, x, *leaves):
    copies = [t.detach().clone().requires_grad_() for t in leaves]
    y = f(x, *copies)
    y.square().sum().backward()
    return [y.detach(), *(t.grad for t in copies)]


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.usefixtures("no_outside")
def test_a_branch_and_its_gradient(sign):
    x, w = sign * torch.rand(3, 4), torch.randn(4, 2)
    got = gradients(torch.compile(branch, backend="cleave"), x, w)
    for p, q in zip(got, gradients(branch, x, w)):
        torch.testing.assert_close(p, q)


@pytest.mark.parametrize("options", [{"partition": "pytorch"}, {"partition": "default"}, {"memory_budget": "100%"}], ids=str)
@pytest.mark.usefixtures("no_outside")
def test_options_keep_gradients_of_branches(options):
    f = lambda x, w, v: branch(x, w.tanh()) @ v.exp()
    x, leaves = torch.rand(3, 4), [torch.randn(4, 2), torch.randn(2, 3)]
    got = gradients(torch.compile(f, backend="cleave", options=options), x, *leaves)
    for p, q in zip(got, gradients(f, x, *leaves)):
        torch.testing.assert_close(p, q)


@pytest.mark.usefixtures("no_outside")
def test_branches_inside_of_branches_and_several():
    def inner(x, y):
        return torch.cond(x[0] > 0, lambda x, y: (x * y, y.exp()), lambda x, y: (x + y, y * 2), (x, y))

    def f(x, y):
        a, b = torch.cond(x.mean() > 0, inner, lambda x, y: (x - y, x.sin()), (x, y))
        c, d = torch.cond(x[0] < y[0], inner, lambda x, y: (y - x, y.cos()), (a, b))
        return (a * c + b * d).sin()

    g = torch.compile(f, backend="cleave")
    for seed in range(6):
        torch.manual_seed(seed)
        x, y = torch.randn(5), torch.randn(5)
        for p, q in zip(gradients(g, x, y), gradients(f, x, y)):
            torch.testing.assert_close(p, q)


@pytest.mark.usefixtures("no_outside")
def test_a_branch_with_sizes_that_vary():
    f = torch.compile(branch, backend="cleave", dynamic=True)
    w = torch.randn(4, 2)
    for rows in (3, 5, 9):
        x = torch.randn(rows, 4)
        for p, q in zip(gradients(f, x, w), gradients(branch, x, w)):
            torch.testing.assert_close(p, q)


@pytest.mark.usefixtures("no_outside")
def test_a_loop():
    def f(x, w):
        return while_loop(lambda k, y: (k < 5) & (y.sum() < 1e6), lambda k, y: (k + 1, (y @ w).relu()), (torch.tensor(0), x))

    x, w = torch.rand(3, 4), torch.rand(4, 4)
    with torch.no_grad():
        for p, q in zip(torch.compile(f, backend="cleave")(x, w), f(x, w)):
            torch.testing.assert_close(p, q)


def test_a_loop_is_trained_through():
    """Its gradient is a loop that PyTorch runs."""
    def f(x, w):
        return while_loop(lambda k, y: k < 3, lambda k, y: (k + 1, (y @ w).tanh()), (torch.tensor(0), x))[1]

    x, w = torch.rand(3, 4), torch.rand(4, 4)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="cleave: ")
        got = gradients(torch.compile(f, backend="cleave", fullgraph=True), x, w)
    torch._dynamo.reset()
    for p, q in zip(got, gradients(torch.compile(f, backend="aot_eager", fullgraph=True), x, w)):
        torch.testing.assert_close(p, q)


def recurrence(x, w):
    return scan(lambda c, a: ((c @ w + a).tanh(), (c * a).sin()), torch.zeros(4), x)[1]


def rows(x, w):
    return torch_map(lambda a: (a @ w).tanh(), x)


@pytest.mark.parametrize("f", [recurrence, rows], ids=lambda f: f.__name__)
@pytest.mark.usefixtures("no_outside")
def test_scans_and_maps_are_unrolled(f):
    x, w = torch.randn(5, 4), torch.randn(4, 4)
    got, want = gradients(torch.compile(f, backend="cleave"), x, w), gradients(torch.compile(f, backend="aot_eager"), x, w)
    for p, q in zip(got, want):
        torch.testing.assert_close(p, q)
    with torch.no_grad():
        torch.testing.assert_close(torch.compile(f, backend="cleave")(x, w), want[0])
    g = cleave.trace(f)(x, w)
    torch.testing.assert_close(g.grad("w")(x, w, 2 * want[0])[1], want[1])


def test_long_scans_stay_pytorchs(monkeypatch):
    monkeypatch.setattr("cleave.fx.unroll.MOST_CALLS", 3)
    x, w = torch.randn(5, 4), torch.randn(4, 4)
    with pytest.warns(UserWarning, match="scan"):
        got = gradients(torch.compile(recurrence, backend="cleave"), x, w)
    torch._dynamo.reset()
    for p, q in zip(got, gradients(torch.compile(recurrence, backend="aot_eager"), x, w)):
        torch.testing.assert_close(p, q)
    with pytest.raises(cleave.Unsupported, match="scan"):
        cleave.trace(recurrence)(x, w)


def test_a_branch_with_a_call_that_isnt_covered():
    def f(x):
        return torch.cond(x.sum() > 0, lambda x: torch.special.zeta(x + 2, torch.ones_like(x)), lambda x: x * 2, (x,)) * 3

    for x in (torch.rand(4), -torch.rand(4)):
        torch._dynamo.reset()
        cleave.coverage(reset=True)
        with pytest.warns(UserWarning, match="cond .*special_zeta.* in true_graph_0"):
            torch.testing.assert_close(torch.compile(f, backend="cleave")(x), f(x))
        assert list(cleave.coverage().outside) == ["cond"] and cleave.coverage().covered_calls > 0


def test_a_branch_with_a_call_that_isnt_covered_is_trained_through():
    def f(x, w):
        return torch.cond(x.sum() > 0, lambda x: torch.linalg.matrix_exp(torch.outer(x, w)).sum(0), lambda x: x * w, (x,)) * w

    x, w = torch.rand(5), torch.randn(5)
    with pytest.warns(UserWarning, match="matrix_exp"):
        got = gradients(torch.compile(f, backend="cleave"), x, w)
    for p, q in zip(got, gradients(f, x, w)):
        torch.testing.assert_close(p, q)


def test_traced_saved_and_differentiated(tmp_path):
    x, w = torch.rand(3, 4), torch.randn(4, 2, requires_grad=True)
    cleave.trace(branch)(x, w).save(tmp_path / "f.clv")
    f = cleave.load(tmp_path / "f.clv")
    assert "cond(" in str(f) and str(f).count("graph @") == 3
    g = f.grad("w")
    for sign in (1, -1):
        torch.testing.assert_close(f(sign * x, w), branch(sign * x, w).detach())
        w.grad = None
        branch(sign * x, w).sum().backward()
        torch.testing.assert_close(g(sign * x, w, torch.ones(3, 2))[1], w.grad)


def test_a_whole_step():
    class Gate(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = torch.nn.Linear(4, 4), torch.nn.Linear(4, 4)

        def forward(self, x):
            return torch.cond(x.mean() > 0, lambda x: self.a(x).tanh(), lambda x: self.b(x).relu(), (x,)).square().mean()

    model = Gate()
    eager = copy.deepcopy(model)
    optimizer = torch.optim.SGD(eager.parameters(), lr=0.1)
    step = cleave.Step(model, torch.optim.SGD(model.parameters(), lr=0.1), (torch.rand(3, 4),))
    for k in range(4):
        x = torch.rand(3, 4) - (k % 2)
        optimizer.zero_grad()
        want = eager(x)
        want.backward()
        for p in eager.parameters():  # the other branch's are zeros in the program
            p.grad = torch.zeros_like(p) if p.grad is None else p.grad
        optimizer.step()
        assert step(x) == pytest.approx(want.item(), rel=1e-5)
    for p, q in zip(model.parameters(), eager.parameters()):
        torch.testing.assert_close(p, q)

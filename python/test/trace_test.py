"""cleave.trace: functions of PyTorch as programs that print, run, differentiate, compile and are saved."""
import functools

import numpy as np
import pytest
import torch
import torch.nn.functional as F

import cleave


def tanh_sum(x, w):
    return torch.tanh(x @ w).sum()


def test_a_function_prints_and_runs():
    x, w = torch.randn(3, 4), torch.randn(4, 2)
    f = cleave.trace(tanh_sum)(x, w)
    assert str(f).startswith("graph @main(%x: input f32[3,4], %w: input f32[4,2])") and "tanh" in str(f)
    assert repr(f) == "<cleave.Model @main(x: f32[3,4], w: f32[4,2])>"
    torch.testing.assert_close(f(x, w), tanh_sum(x, w))
    torch.testing.assert_close(f(w=w, x=x), f(x, w))
    with pytest.raises(cleave.UserError, match="w are missing"):
        f(x)


def test_arrays_of_numpy():
    x, w = np.random.rand(3, 4).astype(np.float32), np.random.rand(4, 2).astype(np.float32)
    f = cleave.trace(tanh_sum)(x, w)
    y, dx, dw = f.grad()(x, w)
    assert isinstance(y, np.ndarray) and isinstance(dx, np.ndarray)
    np.testing.assert_allclose(y, np.tanh(x @ w).sum(), rtol=1e-5)
    np.testing.assert_allclose(dw, x.T @ (1 - np.tanh(x @ w) ** 2), rtol=1e-4)


def test_gradients():
    x, w = torch.randn(3, 4, requires_grad=True), torch.randn(4, 2, requires_grad=True)
    f = cleave.trace(tanh_sum)(x, w)
    value, dx, dw = f.grad()(x, w)
    want = tanh_sum(x, w)
    want.backward()
    for p, q in ((value, want.detach()), (dx, x.grad), (dw, w.grad)):
        torch.testing.assert_close(p, q)
    assert len(f.grad("w")(x, w)) == 2
    torch.testing.assert_close(f.grad("w")(x, w, torch.tensor(2.0))[1], 2 * w.grad)  # by a tangent
    with pytest.raises(cleave.UserError, match="no input v"):
        f.grad("v")
    with pytest.raises(cleave.UserError, match="is a joint graph already"):
        f.grad().grad()


def test_gradients_of_results_that_are_no_scalar():
    f = cleave.trace(lambda x: (x.sin(), x.exp(), x > 0))(torch.randn(5))
    g, x = f.grad(), torch.randn(5, requires_grad=True)
    assert [v.role for v in g.inputs] == ["input", "tangent", "tangent"]
    with pytest.raises(cleave.UserError, match="tangent.0, tangent.1 are missing"):
        g(x)
    a, b = torch.randn(5), torch.randn(5)
    *_, dx = g(x, a, b)
    torch.testing.assert_close(dx, (a * x.cos() + b * x.exp()).detach())


def test_a_modules_parameters_are_the_programs():
    model, x = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.Tanh()), torch.randn(2, 4)
    f = cleave.trace(model)(x)
    assert [v.name for v in f.inputs] == ["input"]
    torch.testing.assert_close(f(x), model(x).detach())
    model(x).sum().backward()
    got = {v.target: g for v, g in zip(f.grad().graph.results[1:], f.grad()(x, torch.ones(2, 3))[1:])}
    for name, p in model.named_parameters():
        torch.testing.assert_close(got[name], p.grad)
    with torch.no_grad():
        model[0].bias += 1  # the same memory
    torch.testing.assert_close(f(x), model(x).detach())


def test_buffers_are_written():
    norm, x = torch.nn.BatchNorm1d(3), torch.randn(5, 3)
    f = cleave.trace(norm)(x)
    before = norm.running_mean.clone()
    f(x)
    torch.testing.assert_close(norm.running_mean, before * 0.9 + x.mean(0) * 0.1)


def test_options_kernels_and_partition():
    x, w = torch.randn(64, 32), torch.randn(32, 16)
    f = cleave.trace(tanh_sum, threads=1)(x, w)
    with pytest.raises(cleave.UserError, match="nothing ran yet"):
        f.kernels()
    g = f.compile(threads=2, strict=True)
    torch.testing.assert_close(g(x, w), f(x, w))
    assert [k.kind for k in g.kernels()][0] == "product" and g.kernels()[0].read == 4 * (64 * 32 + 32 * 16)
    assert "product" in str(g.kernels()) and g.report()["kernels"] >= 1
    p = f.partition()
    assert {s.name for s in p.saved} >= {"x", "w"} and "computed again" in str(p)
    assert p.forward.name and p.backward.inputs[-1].role == "tangent"
    assert [s.name for s in f.grad().partition("pytorch", "1").saved]
    for wrong in (lambda: f.compile(treads=2), lambda: cleave.trace(tanh_sum, threads="many")(x, w)(x, w)):
        with pytest.raises(cleave.UserError, match="treads|many"):
            wrong()


def test_a_program_is_saved_and_loaded(tmp_path):
    model, x = torch.nn.Linear(4, 3), torch.randn(2, 4)
    cleave.trace(model)(x).save(tmp_path / "f.clv")
    f = cleave.load(tmp_path / "f.clv")
    torch.testing.assert_close(f(x), model(x).detach())
    f.grad().save(tmp_path / "g.clv")
    got = cleave.load(tmp_path / "g.clv")(x, torch.ones(2, 3))
    torch.testing.assert_close(got[-1], torch.full((3,), 2.0))
    with pytest.raises(cleave.UserError, match="expected .clv"):
        f.save(tmp_path / "f.pt")


def test_sizes_that_vary():
    rows = torch.export.Dim("rows", min=2, max=64)
    f = cleave.trace(lambda x: x.softmax(-1), dynamic_shapes=[{0: rows}])(torch.randn(4, 3))
    for n in (2, 9):
        x = torch.randn(n, 3)
        torch.testing.assert_close(f(x), x.softmax(-1))
        torch.testing.assert_close(f.grad()(x, x)[0], x.softmax(-1))


def test_random_numbers_are_the_seeds():
    def results(seed):
        f = cleave.trace(lambda x: F.dropout(x, 0.5), seed=seed)(torch.ones(100))
        return f(torch.ones(100)), f(torch.ones(100))

    (a, b), (c, d), (e, _) = results(1), results(1), results(2)
    assert torch.equal(a, c) and torch.equal(b, d) and not torch.equal(a, b) and not torch.equal(a, e)


def test_arguments_of_other_kinds():
    f = cleave.trace(lambda d, scale, *, shift: d["a"] * scale + shift)({"a": torch.ones(3)}, 2.0, shift=torch.ones(3))
    assert [v.name for v in f.inputs] == ["d_a", "shift"]
    torch.testing.assert_close(f(torch.ones(3), torch.zeros(3)), torch.full((3,), 2.0))
    assert torch.equal(cleave.trace(torch.relu)(torch.ones(2))(-torch.ones(2)), torch.zeros(2))
    partial = functools.partial(tanh_sum, w=torch.ones(4, 2))
    assert cleave.trace(partial)(torch.ones(3, 4))(torch.zeros(3, 4)) == 0


def test_a_tensor_that_is_given_twice_is_two_inputs():
    x = torch.randn(3)
    f = cleave.trace(lambda a, b, *, c: a * 2 + b * 3 + c * 5)(x, x, c=x)
    a, b, c = torch.randn(3), torch.randn(3), torch.randn(3)
    torch.testing.assert_close(f(a, b, c), a * 2 + b * 3 + c * 5)


class Tied(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.head = torch.nn.Embedding(7, 4), torch.nn.Linear(4, 7, bias=False)
        self.head.weight = self.embed.weight

    def forward(self, i):
        return self.head(self.embed(i).tanh())


def test_tied_parameters_are_the_first_of_them(tmp_path):
    model, i = Tied(), torch.tensor([1, 3, 3])
    f = cleave.trace(model)(i)
    assert list(f.weights) == ["embed.weight"]
    f.save(tmp_path / "f.clv")
    torch.testing.assert_close(cleave.load(tmp_path / "f.clv")(i), model(i).detach())
    model(i).sum().backward()
    torch.testing.assert_close(f.grad()(i, torch.ones(3, 7))[1], model.embed.weight.grad)


def test_what_is_refused():
    with pytest.raises(cleave.Unsupported, match="special_zeta"):
        cleave.trace(lambda x: torch.special.zeta(x, x))(torch.ones(2))
    f = cleave.trace(tanh_sum)(torch.ones(3, 4), torch.ones(4, 2))
    with pytest.raises(cleave.UserError, match="x: dim 0 is 2, expected 3"):
        f(torch.ones(2, 4), torch.ones(4, 2))
    with pytest.raises(cleave.UserError, match="nothing of @main wants a gradient|no input"):
        cleave.trace(lambda i: i + 1)(torch.arange(3)).grad()

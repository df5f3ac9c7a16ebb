"""What Dynamo and AOTAutograd make of Python around tensors: views, writes, breaks, sizes that vary, threads."""
import threading

import pytest
import torch
import torch.nn.functional as F

import cleave


def compiled(f, **arguments):
    return torch.compile(f, backend="cleave", **arguments)


@pytest.mark.usefixtures("no_outside")
def test_inference_without_grad():
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.GELU(), torch.nn.Linear(8, 2)).eval()
    x = torch.randn(3, 4)
    with torch.no_grad():
        y = compiled(model)(x)
        torch.testing.assert_close(y, model(x))
    assert not y.requires_grad


@pytest.mark.usefixtures("no_outside")
def test_views_and_writes():
    def f(x, buffer):
        x.mul_(2)
        buffer[1:].add_(x.sum(0))
        y = x.view(-1)[2:]
        return y, x.t(), buffer * 3

    x, buffer = torch.randn(3, 4), torch.zeros(3, 4)
    a, b = (x.clone(), buffer.clone()), (x.clone(), buffer.clone())
    got, want = compiled(f)(*a), f(*b)
    for p, q in zip([*got, *a], [*want, *b]):
        torch.testing.assert_close(p, q)
        assert p.stride() == q.stride()
    got[0].fill_(7)  # a view of x, as it is in eager mode
    assert (a[0].view(-1)[2:] == 7).all()


@pytest.mark.usefixtures("no_outside")
def test_inputs_by_their_strides():
    f = lambda x, y: (x + y).relu().sum(-1)
    x, y = torch.randn(5, 6).t(), torch.randn(6, 1).expand(6, 5)
    torch.testing.assert_close(compiled(f)(x, y), f(x, y))
    z = torch.randn(2, 3, 8, 8).to(memory_format=torch.channels_last)
    conv = torch.nn.Conv2d(3, 4, 3)
    y = compiled(conv)(z)
    torch.testing.assert_close(y, conv(z))
    assert y.stride() == conv(z).stride()


@pytest.mark.usefixtures("no_outside")
def test_a_pool_over_channels_last():
    f = lambda x: (F.adaptive_avg_pool2d(x.permute(0, 3, 1, 2) * 2, 1).flatten(1).sin()).sum()
    x = torch.randn(2, 4, 4, 3, requires_grad=True)
    y = x.detach().clone().requires_grad_()
    compiled(f)(x).backward()
    f(y).backward()
    torch.testing.assert_close(x.grad, y.grad)


@pytest.mark.usefixtures("no_outside")
def test_what_functions_return():
    constant = torch.tensor([1.0, 2.0, 3.0])

    def f(x):
        y = x.sin()
        return {"same": [y, y], "input": x, "none": None, "rows": x.shape[0]}, x[:0].sum(), (x * constant)[[0, 2]], x > 0

    x = torch.randn(4, 3)
    (got, *rest), (want, *others) = compiled(f)(x), f(x)
    assert got["same"][0] is got["same"][1] and got["input"] is x and got["none"] is None and got["rows"] == 4
    for p, q in zip([got["same"][0], *rest], [want["same"][0], *others]):
        torch.testing.assert_close(p, q)


@pytest.mark.usefixtures("no_outside")
def test_a_graph_break():
    seen = []

    def f(x):
        y = torch.sin(x) * 2
        seen.append(float(y.sum()))  # Python needs a number here
        return torch.cos(y)

    x = torch.randn(7)
    torch.testing.assert_close(compiled(f)(x), f(x))
    assert seen[0] == pytest.approx(seen[1])


@pytest.mark.usefixtures("no_outside")
def test_sizes_that_vary():
    model = torch.nn.Sequential(torch.nn.Linear(6, 5), torch.nn.LayerNorm(5), torch.nn.ReLU())
    graphs = torch._dynamo.testing.CompileCounterWithBackend("cleave")
    f = torch.compile(model, backend=graphs)
    for rows in (4, 9, 17, 33):
        x = torch.randn(rows, 6, requires_grad=True)
        z = x.detach().clone().requires_grad_()
        torch._dynamo.mark_dynamic(x, 0, min=2, max=64)
        f(x).square().mean().backward()
        model(z).square().mean().backward()
        torch.testing.assert_close(x.grad, z.grad)
    assert graphs.frame_count == 1


@pytest.mark.usefixtures("no_outside")
def test_sizes_that_vary_in_a_network():
    net = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.BatchNorm2d(4), torch.nn.ReLU(), torch.nn.Flatten())
    f = compiled(net, dynamic=True)
    for n in (2, 5):
        x = torch.randn(n, 3, 9, 7)
        torch.testing.assert_close(f(x).sum(1), net(x).sum(1), rtol=1e-4, atol=1e-4)


def test_an_operator_that_isnt_covered():
    def f(x):
        return torch.special.zeta(x.exp() + 2, torch.ones_like(x)).sin()

    x = torch.rand(5)
    with pytest.warns(UserWarning, match="special_zeta") as caught:
        y = compiled(f)(x)
    assert len([w for w in caught if "cleave" in str(w.message)]) == 1
    torch.testing.assert_close(y, f(x))
    compiled(f)(x)
    outside = cleave.coverage().outside
    assert list(outside) == ["aten.special_zeta.default"]
    assert outside["aten.special_zeta.default"].calls >= 1 and outside["aten.special_zeta.default"].runs >= 1
    assert "special_zeta" in str(cleave.coverage())


def test_an_operator_that_isnt_covered_is_trained_through():
    f = lambda x, w: (torch.linalg.matrix_exp(torch.outer(x, w)).sum(0) * w).sum()
    x, w = torch.randn(5), torch.randn(5, requires_grad=True)
    v = w.detach().clone().requires_grad_()
    with pytest.warns(UserWarning, match="matrix_exp") as caught:
        compiled(f)(x, w).backward()
    f(x, v).backward()
    torch.testing.assert_close(w.grad, v.grad)


def test_complex_numbers_run_in_pytorch():
    f = lambda x: (torch.tan(torch.fft.rfft(x)).abs() * 2).sum()
    x = torch.randn(3, 8, requires_grad=True)
    y = x.detach().clone().requires_grad_()
    with pytest.warns(UserWarning, match="aten.tan"):
        compiled(f)(x).backward()
    f(y).backward()
    torch.testing.assert_close(x.grad, y.grad)
    assert cleave.coverage().covered_calls > 0


def test_a_region_that_cant_be_compiled_runs_in_pytorch(monkeypatch):
    def refuse(*_):
        raise cleave.Unsupported("lower: not today")

    monkeypatch.setattr("cleave.dynamo.region.Region.__call__", refuse)
    linear, x = torch.nn.Linear(3, 2), torch.randn(4, 3)
    model = lambda x: linear(x).view(x.shape[0] * 2)
    f = torch.compile(model, backend="cleave", dynamic=True)
    with pytest.warns(UserWarning, match="not today"):
        y = f(x)
    torch.testing.assert_close(y, model(x))
    torch.testing.assert_close(f(x[:3]), model(x[:3]))
    y.sum().backward()
    assert cleave.coverage().covered_calls == 0


@pytest.mark.usefixtures("no_outside")
def test_random_numbers_repeat_by_seed():
    f = compiled(lambda x: F.dropout(x, 0.5) * 2)
    x = torch.ones(1000, requires_grad=True)
    torch.manual_seed(3)
    first, second = f(x), f(x)
    torch.manual_seed(3)
    again = f(x)
    assert torch.equal(first, again) and not torch.equal(first, second)
    assert 400 < (first != 0).sum() < 600
    again.sum().backward()
    assert torch.equal(x.grad, again.detach())  # the mask of the backward is the forward's


@pytest.mark.usefixtures("no_outside")
def test_random_calls_of_one_graph_differ():
    f = compiled(lambda x: torch.stack([F.dropout(x, 0.5), F.dropout(x, 0.5), torch.rand_like(x), torch.rand_like(x)]))
    a, b, c, d = f(torch.ones(200))
    assert not torch.equal(a, b) and not torch.equal(c, d)
    assert 0 <= c.min() and c.max() < 1 and 0.4 < c.mean() < 0.6
    order, digits = compiled(lambda x: (torch.randperm(x.shape[0]), torch.randint(2, 5, (100,))))(torch.ones(50))
    assert sorted(order.tolist()) == list(range(50)) and order.tolist() != list(range(50))
    assert set(digits.tolist()) == {2, 3, 4}


@pytest.mark.usefixtures("no_outside")
def test_a_form_that_isnt_covered_is_taken_apart(monkeypatch):
    f = lambda x: F.silu(x) * 2
    x = torch.randn(9)
    compiled(f)(x)
    whole = cleave.coverage(reset=True).covered_calls
    torch._dynamo.reset()
    refuse_silu = lambda n: "not this form" if n.target is torch.ops.aten.silu.default else None
    monkeypatch.setattr("cleave.dynamo.take_apart.reason_outside", refuse_silu)
    torch.testing.assert_close(compiled(f)(x), f(x))
    assert cleave.coverage().covered_calls > whole


@pytest.mark.usefixtures("no_outside")
def test_two_threads():
    model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 8))
    f = compiled(model)
    inputs = [torch.randn(4, 8) for _ in range(2)]
    f(inputs[0])
    wrong = []

    def run(x):
        want = model(x)
        for _ in range(50):
            if not torch.allclose(f(x), want, atol=1e-5):
                wrong.append(x)

    threads = [threading.Thread(target=run, args=(x,)) for x in inputs]
    [t.start() for t in threads], [t.join() for t in threads]
    assert not wrong


@pytest.mark.usefixtures("no_outside")
def test_each_program_is_dumped_to_a_folder_of_its_own(tmp_path):
    def f(x):
        y = x.sin()
        torch._dynamo.graph_break()
        return (y * x).exp()

    torch.compile(f, backend="cleave", options={"dump_dir": tmp_path})(torch.ones(4, requires_grad=True)).sum().backward()
    names = sorted(folder.name.partition("_")[2] for folder in tmp_path.iterdir())
    assert names == ["backward_0", "backward_0", "forward_0", "forward_0"]
    assert all(any(folder.iterdir()) for folder in tmp_path.iterdir())


def test_errors_have_their_kind():
    f = torch.compile(lambda x: x + 1, backend="cleave", options={"partition": "best"})
    with pytest.raises(Exception) as caught:
        f(torch.ones(2))
    assert isinstance(caught.value.inner_exception, cleave.UserError)
    assert "expected one of exact" in str(caught.value)
    model, x = torch.nn.Linear(64, 64), torch.randn(64, 64)
    with pytest.raises(Exception, match="memory_budget|budget") as caught:
        torch.compile(model, backend="cleave", options={"memory_budget": "1KiB"})(x)
    assert caught.value.inner_exception.kind == "user"
    g = compiled(lambda x, i: x[i])
    with pytest.raises(cleave.UserError, match="index"):
        g(torch.ones(3), torch.tensor([0, 5]))

"""cleave.Step with inputs of several sizes, trees and numbers, beside a loop in PyTorch."""
import copy

import numpy as np
import pytest
import torch
import torch.nn.functional as F

import cleave


def cross_entropy(model, x, y):
    return F.cross_entropy(model(x), y)


def fit():
    torch.manual_seed(1)
    return torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 3))


def batches(*rows):
    torch.manual_seed(2)
    return [(torch.randn(n, 4), torch.arange(n) % 3) for n in rows]


def eager_losses(model, optimizer, loss, inputs):
    losses = []
    for given in inputs:
        optimizer.zero_grad()
        value = loss(model, *given)
        value.backward()
        optimizer.step()
        losses.append(value.item())
    return losses


def adam(model):
    return torch.optim.AdamW(model.parameters(), lr=0.01)


def beside_eager(model, loss, inputs, **options):
    """Trains both; returns the step."""
    eager = copy.deepcopy(model)
    step = cleave.Step(model, adam(model), inputs[0], loss=loss, **options)
    assert [step(*given) for given in inputs] == pytest.approx(eager_losses(eager, adam(eager), loss, inputs), rel=1e-6, abs=1e-6)
    for p, q in zip(model.parameters(), eager.parameters()):
        torch.testing.assert_close(p, q)
    assert step.steps == len(inputs)
    return step


@pytest.fixture
def exports(monkeypatch):
    """How often a step exports."""
    made = []
    real = torch.export.export
    monkeypatch.setattr(torch.export, "export", lambda *a, **k: made.append(k.get("dynamic_shapes")) or real(*a, **k))
    return made


def test_batches_of_several_sizes(exports):
    beside_eager(fit(), cross_entropy, batches(5, 3, 5, 7, 3, 7, 4))
    assert len(exports) == 2 and exports[0] is None and exports[1] is not None  # one for all other sizes


def test_a_batch_of_one(exports):
    beside_eager(fit(), cross_entropy, batches(5, 1, 5, 1))
    assert exports == [None, None]
    beside_eager(fit(), cross_entropy, batches(5, 3, 1, 4))  # 1 is outside of what holds for 3 and 4
    assert exports[2] is None and exports[3] is not None and exports[4:] == [None]


def test_a_model_that_decides_by_a_size(exports):
    model = fit()

    def loss(model, x, y):
        scale = 2.0 if x.shape[0] % 2 == 0 else 1.0
        return cross_entropy(model, x, y) * scale

    beside_eager(model, loss, batches(6, 4, 5, 7, 6))
    assert len(exports) <= 4  # even sizes are one program, odd ones are exported alone


def test_lengths_and_batches_vary(exports):
    class Text(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.embed, self.rnn, self.head = torch.nn.Embedding(11, 8), torch.nn.Linear(8, 8), torch.nn.Linear(8, 11)

        def forward(self, i):
            return self.head(torch.cumsum(torch.tanh(self.rnn(self.embed(i))), 1))

    torch.manual_seed(0)
    inputs = [(torch.randint(0, 11, shape),) for shape in ((4, 6), (4, 9), (3, 6), (4, 6), (3, 5), (7, 8))]
    loss = lambda m, i: F.cross_entropy(m(i)[:, :-1].flatten(0, 1), i[:, 1:].flatten())
    beside_eager(Text(), loss, inputs)
    assert len(exports) == 3  # the first, one with other lengths, one with all sizes


def test_few_programs_are_kept(exports):
    step = beside_eager(fit(), cross_entropy, batches(5, 3, 4, 6, 5, 3), kept_sizes=2)
    assert len(step._programs._numbers) == 2


def test_gradients_add_up_over_sizes():
    model, inputs = fit(), batches(4, 4, 4, 2)
    eager = copy.deepcopy(model)
    step = cleave.Step(model, torch.optim.SGD(model.parameters(), lr=0.1), inputs[0], loss=cross_entropy, accumulate=2)
    optimizer = torch.optim.SGD(eager.parameters(), lr=0.1)
    for k, given in enumerate(inputs):
        step(*given)
        (cross_entropy(eager, *given) / 2).backward()
        if k % 2:
            optimizer.step()
            optimizer.zero_grad()
    assert step.steps == 2
    for p, q in zip(model.parameters(), eager.parameters()):
        torch.testing.assert_close(p, q)


def test_trees_numbers_and_arrays():
    model, (batch, other, *_) = fit(), batches(5, 3)
    eager = copy.deepcopy(model)
    loss = lambda model, batch, scale: F.cross_entropy(model(batch["x"]), batch["labels"]) * scale
    trees = [{"x": x, "labels": y} for x, y in (batch, other, batch)]
    step = cleave.Step(model, adam(model), (trees[0], 0.5), loss=loss)
    got = [step(tree, scale) for tree, scale in zip(trees, (0.5, 0.5, 2.0))]
    want = eager_losses(eager, adam(eager), loss, list(zip(trees, (0.5, 0.5, 2.0))))
    assert got == pytest.approx(want, rel=1e-6)
    arrays = {name: t.numpy() for name, t in trees[0].items()}
    assert step(arrays, 0.5) == pytest.approx(loss(eager, trees[0], 0.5).item(), rel=1e-5)
    assert isinstance(arrays["x"], np.ndarray)


def test_a_tensor_that_is_given_twice_and_parameters_that_are_tied():
    from trace_test import Tied

    torch.manual_seed(0)
    tokens = [torch.randint(0, 7, (n,)) for n in (5, 5, 3)]
    others = [torch.randint(0, 7, (n,)) for n in (5, 5, 3)]
    inputs = [({"ids": t, "labels": t if k == 0 else o},) for k, (t, o) in enumerate(zip(tokens, others))]
    step = beside_eager(Tied(), lambda m, b: F.cross_entropy(m(b["ids"]), b["labels"]), inputs)
    assert "head.weight" not in step.graph


def test_a_loader_with_workers():
    torch.manual_seed(0)
    data = torch.utils.data.TensorDataset(torch.randn(22, 4), torch.arange(22) % 3)
    loader = torch.utils.data.DataLoader(data, batch_size=8, num_workers=2)
    model = fit()
    eager = copy.deepcopy(model)
    step = cleave.Step(model, adam(model), next(iter(loader)), loss=cross_entropy)
    got = [step(*batch) for _ in range(2) for batch in loader]
    want = eager_losses(eager, adam(eager), cross_entropy, [batch for _ in range(2) for batch in loader])
    assert len(got) == 6 and got == pytest.approx(want, rel=1e-6)


def test_another_size_is_trained_in_the_first_ones_mode():
    model = torch.nn.Sequential(fit(), torch.nn.BatchNorm1d(3))
    step = cleave.Step(model, adam(model), batches(5)[0], loss=cross_entropy)
    model.eval()  # to evaluate; the last batch of the next epoch is smaller
    before = model[1].running_mean.clone()
    step(*batches(3)[0])
    assert not model.training and not model[1].training and not torch.equal(model[1].running_mean, before)


def test_what_is_refused():
    model, ((x, y),) = fit(), batches(5)
    step = cleave.Step(model, adam(model), (x, y), loss=cross_entropy)
    for wrong in ((x.double(), y), (x[None], y), (x,)):
        with pytest.raises(cleave.UserError, match=r"expected the dtypes and numbers of dims of f32\[5,4\], i64\[5\]"):
            step(*wrong)
    with pytest.raises(Exception, match="(?i)batch.size|size|dim"):
        step(x, y[:3])
    assert step(x, y) > 0
    with torch.autocast("cpu", torch.bfloat16), pytest.raises(cleave.UserError, match="within a region of torch.autocast"):
        cleave.Step(model, adam(model), (x, y), loss=cross_entropy)

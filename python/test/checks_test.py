"""What a program checks of its values, as that classes are within one_hot's: kernels check it, and a run that fails says which."""
import pytest
import torch
import torch.nn.functional as F

import cleave


def share_of_classes(scores, classes):
    """The loss of a mixture's gates, which are ones at computed classes."""
    return (F.one_hot(scores.argmax(1) * 2, classes) * scores.softmax(1)[:, :1]).sum()


def one_hot_of(classes, weights):
    return (F.one_hot(classes, 4) * weights).sum()


def scores_of(best):
    return (F.one_hot(torch.tensor(best), 3) * 2.0 + 0.1).requires_grad_()


@pytest.mark.parametrize("dynamic", [False, True])
def test_checked_values_are_pytorchs(no_outside, dynamic):
    compiled = torch.compile(share_of_classes, backend="cleave", dynamic=dynamic)
    for best in ([0, 1], [1, 1, 2]):
        ours, theirs = scores_of(best), scores_of(best)
        got, want = compiled(ours, 5), share_of_classes(theirs, 5)
        got.backward()
        want.backward()
        torch.testing.assert_close(got, want)
        torch.testing.assert_close(ours.grad, theirs.grad)


@pytest.mark.parametrize("wants_grad", [False, True])
@pytest.mark.parametrize("classes, words", [([0, 4], "smaller than num_classes"), ([-1, 0], "non-negative")])
def test_a_check_that_fails_is_an_error(no_outside, wants_grad, classes, words):
    weights = torch.ones(2, 4, requires_grad=wants_grad)
    compiled = torch.compile(one_hot_of, backend="cleave")
    assert compiled(torch.tensor([3, 0]), weights) == 2
    with pytest.raises(RuntimeError, match=words):
        compiled(torch.tensor(classes), weights)
    assert compiled(torch.tensor([1, 2]), weights) == 2


@pytest.mark.parametrize("classes, words", [([0, 4], "smaller than num_classes"), ([-1, 0], "non-negative")])
def test_programs_check_too(classes, words):
    weights = torch.ones(2, 4)
    traced = cleave.trace(one_hot_of)(torch.tensor([3, 0]), weights)
    assert traced(torch.tensor([3, 0]), weights) == 2
    with pytest.raises(cleave.Error, match=words):
        traced(torch.tensor(classes), weights)


@pytest.mark.parametrize("decomposed", [False, True])
def test_files_check_too(tmp_path, decomposed):
    class Chosen(torch.nn.Module):
        def forward(self, classes, weights):
            return one_hot_of(classes, weights)

    given = torch.tensor([3, 0]), torch.ones(2, 4)
    exported = torch.export.export(Chosen(), given)
    path = tmp_path / "chosen.pt2"
    torch.export.save(exported.run_decompositions() if decomposed else exported, path)
    model = cleave.load(path)
    assert model(*given) == 2
    with pytest.raises(cleave.Error, match="smaller than num_classes"):
        model(torch.tensor([0, 4]), given[1])


@pytest.mark.parametrize("decomposed", [False, True])
def test_an_update_waits_for_a_check_where_nothing_is_returned(tmp_path, decomposed):
    class Counted(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("total", torch.zeros(()))

        def forward(self, x):
            torch._assert_async((x > 0).all(), "not positive")
            self.total.add_(x.sum())

    exported = torch.export.export(Counted(), (torch.ones(3),))
    path = tmp_path / "counted.pt2"
    torch.export.save(exported.run_decompositions() if decomposed else exported, path)
    model = cleave.load(path)
    model(torch.ones(3))
    with pytest.raises(cleave.Error, match="not positive"):
        model(torch.tensor([1.0, -1.0, 1.0]))


def test_a_decomposed_file_of_a_factor_has_a_token(tmp_path):
    class Factor(torch.nn.Module):
        def forward(self, a):
            return torch.linalg.cholesky(a @ a.mT - torch.eye(3)) * 2

    exported = torch.export.export(Factor(), (2 * torch.eye(3),)).run_decompositions()
    torch.export.save(exported, tmp_path / "factor.pt2")
    model = cleave.load(tmp_path / "factor.pt2")
    torch.testing.assert_close(model(3 * torch.eye(3)), Factor()(3 * torch.eye(3)))
    with pytest.raises(cleave.Error, match="positive-definite"):
        model(torch.zeros(3, 3))


@pytest.mark.parametrize("checks_result", [False, True])
def test_what_is_returned_waits_for_a_check(no_outside, checks_result):
    def f(x):
        y = x + 1
        torch._assert_async(((y if checks_result else x.sum()) > 0).all(), "not above 0")
        return y

    compiled = torch.compile(f, backend="cleave")
    assert compiled(torch.ones(2)).tolist() == [2, 2]
    with pytest.raises(RuntimeError, match="not above 0"):
        compiled(-torch.ones(2))

"""torch.linalg in torch.compile and in programs of cleave's beside PyTorch, in float64: values, gradients, and what happens to
matrices that can't be factored."""
import pytest
import torch

import cleave

F64 = torch.float64


def made(*shape):
    """Numbers without ties, on both sides of 0."""
    n = torch.Size(shape).numel()
    return (torch.arange(n, dtype=F64) * 0.7548776662 % 1 * 4 - 2).reshape(shape)


def positive(a):
    return a @ a.mT + a.shape[-1] * torch.eye(a.shape[-1], dtype=F64)


def regular(a):
    """Not symmetric, and far from singular."""
    return a + 5 * torch.eye(a.shape[-1], dtype=F64)


def log_density(x, a):
    return torch.distributions.MultivariateNormal(torch.zeros(3, dtype=F64), positive(a), validate_args=False).log_prob(x)


def gaussian_process(x, y):
    """The marginal likelihood of y, by the kernel exp(-|x - x'|^2 / 2)."""
    kernel = torch.exp(-0.5 * (x[:, None] - x[None]).square().sum(-1)) + 0.1 * torch.eye(len(x), dtype=F64)
    low = torch.linalg.cholesky(kernel)
    return 0.5 * (y * torch.cholesky_solve(y[:, None], low)[:, 0]).sum() + low.diagonal().log().sum()


L = torch.linalg
CASES = {
    "cholesky": (lambda a: L.cholesky(positive(a)), (2, 4, 4)),
    "cholesky_upper": (lambda a: L.cholesky(positive(a), upper=True), (4, 4)),
    "cholesky_ex": (lambda a: L.cholesky_ex(positive(a))[0], (3, 3)),
    "inv": (lambda a: L.inv(regular(a)), (2, 4, 4)),
    "inverse": (lambda a: torch.inverse(regular(a).mT), (3, 3)),
    "solve": (lambda a, b: L.solve(regular(a), b), (2, 4, 4), (2, 4, 3)),
    "solve_vector": (lambda a, b: L.solve(regular(a), b), (4, 4), (4,)),
    "solve_vectors": (lambda a, b: L.solve(regular(a), b), (2, 3, 3), (2, 3)),
    "solve_right": (lambda a, b: L.solve(regular(a), b, left=False), (3, 3), (2, 3)),
    "solve_broadcast": (lambda a, b: L.solve(regular(a), b), (3, 3), (2, 3, 2)),
    "lu_factor": (lambda a: L.lu_factor(regular(a))[0], (2, 3, 3)),
    "lu": (lambda a: L.lu(regular(a))[1] * 2 + L.lu(regular(a))[2], (3, 3)),
    "lu_solve": (lambda a, b: L.lu_solve(*L.lu_factor(regular(a)), b), (3, 3), (3, 2)),
    "det": (lambda a: L.det(regular(a)), (2, 3, 3)),
    "det_turned": (lambda a: L.det(regular(a).mT), (2, 3, 3)),
    "slogdet": (lambda a: L.slogdet(regular(a))[1], (2, 3, 3)),
    "slogdet_turned": (lambda a: L.slogdet(regular(a).mT)[1], (2, 3, 3)),
    "logdet": (lambda a: torch.logdet(positive(a)), (3, 3)),
    "qr": (lambda a: L.qr(a)[0] + 2 * L.qr(a)[1], (2, 3, 3)),
    "qr_tall": (lambda a: L.qr(a)[0] @ L.qr(a)[1].exp(), (5, 3)),
    "qr_wide": (lambda a: L.qr(a)[1], (2, 4)),
    "cholesky_solve": (lambda b, a: torch.cholesky_solve(b, L.cholesky(positive(a))), (3, 2), (3, 3)),
    "cholesky_inverse": (lambda a: torch.cholesky_inverse(L.cholesky(positive(a))), (3, 3)),
    "normal": (log_density, (4, 3), (3, 3)),
    "gaussian_process": (gaussian_process, (6, 2), (6,)),
}


def beside(f, shapes):
    ours, theirs = [[made(*shape).requires_grad_() for shape in shapes] for _ in range(2)]
    return ours, theirs, f(*theirs)


@pytest.mark.parametrize("name", CASES)
def test_compiled_functions_are_pytorchs(name):
    f, *shapes = CASES[name]
    ours, theirs, want = beside(f, shapes)
    got = torch.compile(f, backend="cleave")(*ours)
    torch.testing.assert_close(got, want)
    for y in (got, want):
        y.backward(made(*want.shape) + 0.3)
    for a, b in zip(ours, theirs):
        torch.testing.assert_close(a.grad, b.grad)
    seen = cleave.coverage()
    assert not seen.outside and not seen.cut_by_pytorch, str(seen)


@pytest.mark.parametrize("name", CASES)
def test_programs_have_the_gradients(name):
    """Derived from the forward by cleave."""
    f, *shapes = CASES[name]
    given, _, _ = beside(f, shapes)
    want = f(*given).sum()
    want.backward()
    got, *gradients = cleave.trace(lambda *xs: f(*xs).sum())(*given).grad()(*[t.detach() for t in given])
    torch.testing.assert_close(got, want.detach())
    for g, t in zip(gradients, given):
        torch.testing.assert_close(g, t.grad)


def test_info_says_which_matrices_fail():
    a = torch.tensor([[[2.0, 0], [0, 1]], [[1, 2], [2, 1]], [[-1, 0], [0, 1]]], dtype=F64)
    b = torch.tensor([[[2.0, 0], [0, 1]], [[1, 2], [2, 4]], [[0, 0], [0, 0]]], dtype=F64)
    infos = lambda a, b: (L.cholesky_ex(a)[1], L.inv_ex(b)[1], L.lu_factor_ex(b)[2], L.lu_factor_ex(b)[1])
    for got, want in zip(torch.compile(infos, backend="cleave")(a, b), infos(a, b)):
        assert torch.equal(got, want)


FAILING = {"cholesky": (lambda a: L.cholesky(a), "positive-definite"), "inv": (lambda a: L.inv(a), "singular"),
           "solve": (lambda a: L.solve(a, a), "singular")}


@pytest.mark.parametrize("name", FAILING)
def test_matrices_that_cant_be_factored_are_errors(name):
    """Of torch.compile PyTorch's own, with gradients too; of a program's run its first words."""
    f, words = FAILING[name]
    zero = torch.zeros(2, 3, 3, dtype=F64)
    for wants_grad in (False, True):
        with pytest.raises(torch.linalg.LinAlgError, match=words):
            torch.compile(f, backend="cleave")(zero.clone().requires_grad_(wants_grad))
    assert not cleave.coverage().outside
    with pytest.raises(cleave.Error, match=words):
        cleave.trace(f)(positive(made(2, 3, 3)))(zero)

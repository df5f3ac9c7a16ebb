"""Functions of torch.linalg that raise an error for a matrix that can't be factored, as calls that check what the operator says
of it: torch.export takes them apart to a check with a side effect, whose token no graph of cleave's has.

    linalg_cholesky(x)  ->  L, info = linalg_cholesky_ex(x);  _functional_assert_async(all(info == 0), L)

The run that finds such a matrix fails with the first words of PyTorch's error.
"""
import torch

aten = torch.ops.aten
NOT_POSITIVE = "The factorization could not be completed because the input is not positive-definite"
SINGULAR = "linalg.inv: The inversion could not be completed because the input matrix is singular"
NO_SOLUTION = "torch.linalg.solve: The solver failed because the input matrix is singular"
ZERO_ON_DIAGONAL = ("torch.linalg.lu_factor: U has a zero on its diagonal, and using it on lu_solve would result in a division by "
                    "zero")

# What PyTorch checks a factor for, by the function that a user called.
OF_FACTORS = {"linalg.cholesky": f"linalg.cholesky: {NOT_POSITIVE}", "cholesky": f"cholesky: {NOT_POSITIVE}",
              "linalg.inv": SINGULAR, "torch.linalg.solve": NO_SOLUTION, "torch.linalg.lu_factor": ZERO_ON_DIAGONAL}


def error_of_factor(api):
    """The message of a check of `info` in this function; None: not known here."""
    return OF_FACTORS.get(api)


def as_pytorchs(error):
    """The error that PyTorch raises in the place of one of cleave's: LinAlgError of a matrix that can't be factored."""
    failed = str(error).startswith(tuple(OF_FACTORS.values()))
    return torch.linalg.LinAlgError(str(error)) if failed else error


def _checked(y, info, message):
    return aten._functional_assert_async.msg(aten.all.default(aten.eq.Scalar(info, 0)), message, y)


def linalg_cholesky(self, *, upper=False):
    return _checked(*aten.linalg_cholesky_ex.default(self, upper=upper), OF_FACTORS["linalg.cholesky"])


def cholesky(self, upper=False):
    return _checked(*aten.linalg_cholesky_ex.default(self, upper=upper), OF_FACTORS["cholesky"])


def linalg_inv(A):
    return _checked(*aten.linalg_inv_ex.default(A), SINGULAR)


def linalg_solve(A, B, *, left=True):
    x, _, _, info = aten._linalg_solve_ex.default(A, B, left=left)
    return _checked(x, info, NO_SOLUTION)


def linalg_lu_factor(A, *, pivot=True):
    lu, pivots, info = aten.linalg_lu_factor_ex.default(A, pivot=pivot)
    return _checked(lu, info, ZERO_ON_DIAGONAL), pivots


def linalg_lu(A, *, pivot=True):
    lu, pivots, _ = aten.linalg_lu_factor_ex.default(A, pivot=pivot)
    return aten.lu_unpack.default(lu, pivots)


CHECKED = {aten.linalg_cholesky.default: linalg_cholesky, aten.cholesky.default: cholesky,
           aten.linalg_inv.default: linalg_inv, aten.inverse.default: linalg_inv,
           aten.linalg_solve.default: linalg_solve, aten.linalg_lu_factor.default: linalg_lu_factor,
           aten.linalg_lu.default: linalg_lu}

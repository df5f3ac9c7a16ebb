// What PyTorch says of a matrix that can't be factored, in the first words of its errors.
#pragma once
#include <string_view>

namespace cleave::exported {

constexpr const char* linalg_not_positive =
    "linalg.cholesky: The factorization could not be completed because the input is not "
    "positive-definite";
constexpr const char* not_positive = linalg_not_positive + 7;  // of torch.cholesky: no "linalg."
constexpr const char* singular =
    "linalg.inv: The inversion could not be completed because the input matrix is singular";
constexpr const char* no_solution =
    "torch.linalg.solve: The solver failed because the input matrix is singular";
constexpr const char* zero_on_diagonal =
    "torch.linalg.lu_factor: U has a zero on its diagonal, and using it on lu_solve would result "
    "in a division by zero";

// The error of the function that a check of `info` names; null: another function.
constexpr const char* factor_error(std::string_view function) {
  if (function == "linalg.cholesky") return linalg_not_positive;
  if (function == "cholesky") return not_positive;
  if (function == "linalg.inv") return singular;
  if (function == "torch.linalg.solve") return no_solution;
  if (function == "torch.linalg.lu_factor") return zero_on_diagonal;
  return nullptr;
}

}  // namespace cleave::exported

// Matrices in the last two dims of a tensor; the dims before them are a batch.
//
//   f32[2,5,3,4]    a batch [2,5] of matrices of 3 rows and 4 columns
//
// What the entries of decompositions share: checks, the index of a matrix's element in a kernel,
// and products, triangles and the like as calls, for gradients.
#pragma once
#include <string_view>
#include <vector>

#include "ir/builder.h"
#include "ir/op_view.h"
#include "ir/sample.h"
#include "loop/kernel_builder.h"

namespace cleave {

Shape batch_of(const Type& x);
Dim rows_of(const Type& x);
Dim columns_of(const Type& x);
Dim diagonal_of(const Type& x);  // the smaller of both
// The batch with other dims behind it.
Shape batch_with(const Type& x, std::initializer_list<Dim> dims);

// Breaks `dtypes` unless operand k is f32 or f64, and `ranks` unless it has two dims.
Status check_matrices(const OpView& op, std::string_view dtypes, std::string_view ranks, int k);
// Breaks `rule` unless the matrices of operand k have as many rows as columns.
Status check_square(const OpView& op, std::string_view rule, int k);
// Breaks `rule` where check_errors is true: what a failure means is the caller's to say.
Status check_reports_alone(const OpView& op, std::string_view rule);

// ---- calls
ValueId turned(Builder& b, ValueId x);              // transposed
ValueId product(Builder& b, ValueId x, ValueId y);  // of matrices of one batch
// Elements on and below a diagonal, or on and above it; zeros elsewhere. 1 is the diagonal above
// the main one.
ValueId lower_part(Builder& b, ValueId x, int64_t diagonal = 0);
ValueId upper_part(Builder& b, ValueId x, int64_t diagonal = 0);
// Ones on the diagonal of n rows and columns; of a batch if `shape` has one.
ValueId identity(Builder& b, const Shape& shape, DType t);
// The elements of x, its last dim on the diagonals of matrices.
ValueId on_diagonal(Builder& b, ValueId x);
ValueId solve_triangular(Builder& b, ValueId a, ValueId known, bool upper, bool left,
                         bool unitriangular = false);

// ---- kernels
// One parallel iteration for each matrix of a batch; `body` gets the matrix's index.
void for_each_matrix(loop::KernelBuilder& k, const std::vector<int64_t>& batch,
                     const std::function<void(const loop::Exprs&)>& body);
// The index of an element of a matrix, or of a vector of each of the batch.
loop::Exprs element(const loop::Exprs& matrix, const loop::Expr& i, const loop::Expr& j);
loop::Exprs element(const loop::Exprs& matrix, const loop::Expr& i);

// ---- the oracle
int64_t matrices_in(const Array& x);  // the size of the batch

// ---- samples
// Matrices that need their rows swapped, far from singular; no two elements are equal.
SampleTensor matrices_to_swap(DType t, std::vector<int64_t> shape, double scale = 1);

}  // namespace cleave

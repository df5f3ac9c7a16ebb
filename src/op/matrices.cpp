#include "op/matrices.h"

#include <cmath>

#include "op/dims.h"
#include "op/sample_sets.h"

namespace cleave {

using loop::Expr;
using loop::Exprs;

Shape batch_of(const Type& x) { return {x.shape.begin(), x.shape.end() - 2}; }
Dim rows_of(const Type& x) { return x.shape[x.shape.size() - 2]; }
Dim columns_of(const Type& x) { return x.shape.back(); }
Dim diagonal_of(const Type& x) {
  return rows_of(x) == columns_of(x) ? rows_of(x) : Dim::min(rows_of(x), columns_of(x));
}

Shape batch_with(const Type& x, std::initializer_list<Dim> dims) {
  Shape shape = batch_of(x);
  shape.insert(shape.end(), dims);
  return shape;
}

Status check_matrices(const OpView& op, std::string_view dtypes, std::string_view ranks, int k) {
  const Type& x = op.in_type(k);
  if (x.dtype != DType::f32 && x.dtype != DType::f64)
    return op.broken(dtypes, "{} is {}, expected f32 or f64", operand_name(op, k), x.text());
  if (x.rank() < 2)
    return op.broken(ranks, "{} is {}, expected at least two dims", operand_name(op, k), x.text());
  return {};
}

Status check_square(const OpView& op, std::string_view rule, int k) {
  const Type& x = op.in_type(k);
  return check_equal(op, rule, fmt::format("rows and columns of {}", operand_name(op, k)),
                     rows_of(x), columns_of(x));
}

Status check_reports_alone(const OpView& op, std::string_view rule) {
  if (op.bool_attr("check_errors"))
    return op.broken(rule, "check_errors is true; check info, as by _functional_assert_async");
  return {};
}

ValueId turned(Builder& b, ValueId x) {
  return b.call1("transpose", {x}, {{"dim0", -2}, {"dim1", -1}});
}

ValueId product(Builder& b, ValueId x, ValueId y) {
  const Shape batch = batch_of(b.type(x));
  if (batch.empty()) return b.mm(x, y);
  Dim count = 1;
  for (const Dim& size : batch) count = count * size;
  const auto flat = [&](ValueId v) {
    const Type& t = b.type(v);
    return b.view(v, {count, rows_of(t), columns_of(t)});
  };
  const Shape shape = batch_with(b.type(x), {rows_of(b.type(x)), columns_of(b.type(y))});
  return b.view(b.bmm(flat(x), flat(y)), shape);
}

namespace {

struct Places {
  ValueId row, column;  // [rows,1] and [columns]
};

Places places(Builder& b, const Dim& rows, const Dim& columns) {
  const ValueId column = b.call1("arange", {}, {{"end", columns}});
  const ValueId row = rows == columns ? column : b.call1("arange", {}, {{"end", rows}});
  return {b.unsqueeze(row, 1), column};
}

}  // namespace

ValueId lower_part(Builder& b, ValueId x, int64_t diagonal) {
  const Places at = places(b, rows_of(b.type(x)), columns_of(b.type(x)));
  const ValueId row = diagonal == 0 ? at.row : b.add(at.row, AttrValue(diagonal));
  return b.where(b.le(at.column, row), x, 0.0);
}

ValueId upper_part(Builder& b, ValueId x, int64_t diagonal) {
  const Places at = places(b, rows_of(b.type(x)), columns_of(b.type(x)));
  const ValueId row = diagonal == 0 ? at.row : b.add(at.row, AttrValue(diagonal));
  return b.where(b.ge(at.column, row), x, 0.0);
}

ValueId identity(Builder& b, const Shape& shape, DType t) {
  const Places at = places(b, shape[shape.size() - 2], shape.back());
  const ValueId one = b.convert(b.eq(at.row, at.column), t);
  return shape.size() == 2 ? one : b.expand(one, shape);
}

ValueId on_diagonal(Builder& b, ValueId x) {
  const Dim n = b.type(x).shape.back();
  const Places at = places(b, n, n);
  return b.where(b.eq(at.row, at.column), b.unsqueeze(x, -1), 0.0);
}

ValueId solve_triangular(Builder& b, ValueId a, ValueId known, bool upper, bool left,
                         bool unitriangular) {
  return b.call1("linalg_solve_triangular", {a, known},
                 {{"upper", upper}, {"left", left}, {"unitriangular", unitriangular}});
}

void for_each_matrix(loop::KernelBuilder& k, const std::vector<int64_t>& batch,
                     const std::function<void(const Exprs&)>& body) {
  if (numel_of(batch) > 0) k.parallel(batch, body);
}

Exprs element(const Exprs& matrix, const Expr& i, const Expr& j) {
  Exprs at = matrix;
  at.push_back(i);
  at.push_back(j);
  return at;
}

Exprs element(const Exprs& matrix, const Expr& i) {
  Exprs at = matrix;
  at.push_back(i);
  return at;
}

int64_t matrices_in(const Array& x) {
  return numel_of(std::vector<int64_t>(x.shape.begin(), x.shape.end() - 2));
}

SampleTensor matrices_to_swap(DType t, std::vector<int64_t> shape, double scale) {
  const int64_t n = shape.back(), m = shape[shape.size() - 2];
  std::vector<double> values;
  for (int64_t k = 0; k < numel_of(shape); ++k) {
    const double pivot = m - 1 - k / n % m == k % n ? 4 : 0;
    values.push_back(scale * (pivot + std::sin(static_cast<double>(3 * k + 1))));
  }
  return any_of(t, std::move(shape)).with(std::move(values));
}

}  // namespace cleave

#include "op/dims.h"

#include <algorithm>
#include <numeric>

namespace cleave {

Result<int64_t> checked_dim(const OpView& op, std::string_view rule, int64_t dim, const Type& x,
                            Rank0 rank0, std::string_view operand) {
  const int64_t rank = rank0 == Rank0::as_one ? std::max<int64_t>(x.rank(), 1) : x.rank();
  if (dim < -rank || dim >= rank)
    return op.broken(rule, "dim {} is outside [{}, {}) of {}: {}", dim, -rank, rank, operand,
                     x.text());
  return dim < 0 ? dim + rank : dim;
}

Result<std::vector<int64_t>> checked_dims(const OpView& op, std::string_view rule,
                                          std::string_view twice, const std::vector<int64_t>& dims,
                                          const Type& x) {
  std::vector<int64_t> out;
  for (int64_t dim : dims) {
    CLEAVE_TRY(const int64_t d, checked_dim(op, rule, dim, x));
    if (std::find(out.begin(), out.end(), d) != out.end())
      return op.broken(twice, "dim {} is named twice in [{}], expected once", d,
                       fmt::join(dims, ","));
    out.push_back(d);
  }
  return out;
}

int64_t from_front(int64_t dim, int64_t rank) {
  return dim < 0 ? dim + std::max<int64_t>(rank, 1) : dim;
}

std::vector<int64_t> from_front(std::vector<int64_t> dims, int64_t rank) {
  for (int64_t& d : dims) d = from_front(d, rank);
  return dims;
}

namespace {

std::vector<int64_t> named_dims(const OpView& op) {
  if (op.attr("dim").is_int()) return {op.int_attr("dim")};
  return op.ints_attr("dim");
}

// Every dim for none; a 0-d tensor has no dim to reduce.
std::vector<int64_t> or_every(std::vector<int64_t> dims, int64_t rank) {
  if (dims.empty() || rank == 0) {
    dims.resize(static_cast<size_t>(rank));
    std::iota(dims.begin(), dims.end(), 0);
  }
  std::sort(dims.begin(), dims.end());
  return dims;
}

}  // namespace

std::vector<int64_t> reduction_dims(const OpView& op) {
  const int64_t rank = op.in_type(0).rank();
  return or_every(from_front(named_dims(op), rank), rank);
}

Result<std::vector<int64_t>> checked_reduction(const OpView& op) {
  const Type& x = op.in_type(0);
  CLEAVE_TRY(std::vector<int64_t> dims, checked_dims(op, "C1", "C2", named_dims(op), x));
  return or_every(std::move(dims), x.rank());
}

Shape reduced_shape(const Shape& shape, const std::vector<int64_t>& dims, bool keepdim) {
  Shape out;
  for (size_t d = 0; d < shape.size(); ++d) {
    const bool reduced = std::binary_search(dims.begin(), dims.end(), static_cast<int64_t>(d));
    if (!reduced)
      out.push_back(shape[d]);
    else if (keepdim)
      out.emplace_back(1);
  }
  return out;
}

Dim count_along(const Shape& shape, const std::vector<int64_t>& dims) {
  Dim n = 1;
  for (int64_t d : dims) n = n * shape[d];
  return n;
}

Type typed_like(const Type& x, DType dtype, Shape shape) {
  Type t(dtype, std::move(shape));
  t.device = x.device;
  return t;
}

Status check_equal(const OpView& op, std::string_view rule, std::string_view what, const Dim& a,
                   const Dim& b) {
  switch (op.env().equal(a, b)) {
    case SymEnv::Truth::yes: return {};
    case SymEnv::Truth::no:
      return op.broken(rule, "{}: {} and {}, expected equal", what, a.text(), b.text());
    case SymEnv::Truth::unknown: break;
  }
  return op.broken(rule, "{}: {} and {}, which can't be proven equal", what, a.text(), b.text());
}

Status check_same_shape(const OpView& op, std::string_view rule, std::string_view what,
                        const Shape& a, const Shape& b) {
  bool same = a.size() == b.size(), refuted = !same;
  for (size_t d = 0; d < a.size() && !refuted; ++d) {
    const auto equal = op.env().equal(a[d], b[d]);
    same = same && equal == SymEnv::Truth::yes;
    refuted = equal == SymEnv::Truth::no;
  }
  if (same) return {};
  return op.broken(rule, "{}: {} and {}, {}", what, shape_text(a), shape_text(b),
                   refuted ? "expected equal shapes" : "which can't be proven equal");
}

std::string_view operand_name(const OpView& op, int k) {
  const Schema& schema = op.def().schema;
  return schema.args[schema.operands[k]].name;
}

Status check_floating(const OpView& op, std::string_view rule, int k) {
  if (is_floating(op.in_type(k).dtype)) return {};
  return op.broken(rule, "{} is {}, expected a floating dtype", operand_name(op, k),
                   op.in_type(k).text());
}

Status check_same_dtype(const OpView& op, std::string_view rule, int k, int as) {
  if (op.in_type(k).dtype == op.in_type(as).dtype) return {};
  return op.broken(rule, "{} is {}, expected the dtype of {}: {}", operand_name(op, k),
                   op.in_type(k).text(), operand_name(op, as), name_of(op.in_type(as).dtype));
}

ValueId with_kept_dims(Builder& b, ValueId v, const Shape& shape,
                       const std::vector<int64_t>& dims) {
  return b.view(v, reduced_shape(shape, dims, true));
}

CallOperand count_operand(Builder& b, ValueId x, const std::vector<int64_t>& dims) {
  if (!b.status().ok()) return ValueId::none();
  const Dim n = count_along(b.type(x).shape, dims);
  if (n.is_const()) return static_cast<double>(n.value());
  ValueId count;
  for (int64_t d : dims) {
    const ValueId size = b.call1("sym_size", {x}, {{"dim", d}});
    count = count.valid() ? b.mul(count, size) : size;
  }
  return count;
}

ValueId zeros(Builder& b, const Type& t) { return b.full(t.shape, 0, t.dtype); }

}  // namespace cleave

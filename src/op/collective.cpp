#include "op/collective.h"

#include <algorithm>
#include <cmath>

#include "op/dims.h"
#include "op/reference_lines.h"

namespace cleave {
namespace {

constexpr std::string_view reduce_ops[] = {"sum", "avg", "product", "min", "max"};

double reduced(std::string_view how, double a, double b) {
  if (how == "product") return a * b;
  if (how == "sum" || how == "avg") return a + b;
  if (std::isnan(a) || std::isnan(b)) return NAN;
  return how == "min" ? std::min(a, b) : std::max(a, b);
}

// Wraps on store; computed in unsigned arithmetic, where overflow is defined.
int64_t reduced(std::string_view how, int64_t a, int64_t b) {
  if (how == "product")
    return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
  if (how == "sum")
    return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  return how == "min" ? std::min(a, b) : std::max(a, b);
}

ValueId waited(Builder& b, ValueId v) { return b.call1("wait_tensor", {v}); }

}  // namespace

Status check_reduce_op(const OpView& op, const Type& x, std::string_view operand) {
  const std::string& how = op.str_attr("reduce_op");
  if (std::ranges::find(reduce_ops, how) == std::end(reduce_ops))
    return op.broken("C1", "reduce_op is {}, expected one of sum, avg, product, min, max",
                     quoted(how));
  if (how == "avg" && !is_floating(x.dtype))
    return op.broken("C2", "{} is {}, expected a floating dtype for avg", operand, x.text());
  return {};
}

Status check_group_size(const OpView& op) {
  if (const int64_t size = op.int_attr("group_size"); size < 1)
    return op.broken("C3", "group_size is {}, expected at least 1", size);
  return {};
}

Status check_ranks(const OpView& op, size_t ranks) {
  const int64_t size = op.int_attr("group_size");
  if (std::cmp_equal(size, ranks)) return {};
  return op.broken("C9", "group_size is {}, but group {} has {} here; interpret_ranks runs several",
                   size, quoted(op.str_attr("group_name")), ranks);
}

Type collective_type(const Type& x, Shape shape) {
  return typed_like(x, x.dtype, std::move(shape));
}

Array reduced(const OpView& op, const std::vector<const Array*>& of_ranks) {
  const std::string& how = op.str_attr("reduce_op");
  Array y = *of_ranks[0];
  for (int64_t k = 0; k < y.numel(); ++k) {
    if (y.floating()) {
      double value = y.f[k];
      for (size_t r = 1; r < of_ranks.size(); ++r) value = reduced(how, value, of_ranks[r]->f[k]);
      y.f[k] = how == "avg" ? value / static_cast<double>(of_ranks.size()) : value;
    } else {
      int64_t value = y.i[k];
      for (size_t r = 1; r < of_ranks.size(); ++r) value = reduced(how, value, of_ranks[r]->i[k]);
      y.set_int(k, value);
    }
  }
  return y;
}

Array joined(const std::vector<const Array*>& of_ranks, int64_t dim) {
  const auto d = static_cast<size_t>(dim);
  std::vector<int64_t> shape = of_ranks[0]->shape;
  const int64_t part = shape[d];
  shape[d] *= std::ssize(of_ranks);
  Array y(of_ranks[0]->dtype, shape);
  for (size_t r = 0; r < of_ranks.size(); ++r)
    move_into(y, *of_ranks[r], [&](std::vector<int64_t> at) {
      at[d] -= static_cast<int64_t>(r) * part;
      return at[d] < 0 || at[d] >= part ? int64_t{-1} : position_of(at, of_ranks[r]->shape);
    });
  return y;
}

Array part_of(const Array& x, int64_t dim, int64_t k, int64_t n) {
  const auto d = static_cast<size_t>(dim);
  std::vector<int64_t> shape = x.shape;
  shape[d] /= n;
  const int64_t begin = k * shape[d];
  return moved(x, shape, [&](std::vector<int64_t> at) {
    at[d] += begin;
    return position_of(at, x.shape);
  });
}

std::vector<const Array*> operand_of_ranks(const RankArrays& in, size_t operand) {
  std::vector<const Array*> out;
  for (const std::vector<const Array*>& operands : in) out.push_back(operands[operand]);
  return out;
}

ReferenceFn reference_alone(RanksFn ranks) {
  return [ranks = std::move(ranks)](const OpView& op,
                                    std::span<const Array* const> in) -> Result<Arrays> {
    CLEAVE_TRY(std::vector<Arrays> results, ranks(op, {{in.begin(), in.end()}}));
    return std::move(results[0]);
  };
}

ValueId reduced_and_waited(Builder& b, const OpView& op, ValueId x) {
  return waited(
      b, b.call1("all_reduce", {x},
                 {{"reduce_op", op.attr("reduce_op")}, {"group_name", op.attr("group_name")}}));
}

ValueId gathered_and_waited(Builder& b, const OpView& op, ValueId x) {
  return waited(
      b, b.call1("all_gather_into_tensor", {x},
                 {{"group_size", op.attr("group_size")}, {"group_name", op.attr("group_name")}}));
}

ValueId scattered_and_waited(Builder& b, const OpView& op, ValueId x, std::string_view reduce_op) {
  return waited(b, b.call1("reduce_scatter_tensor", {x},
                           {{"reduce_op", std::string(reduce_op)},
                            {"group_size", op.attr("group_size")},
                            {"group_name", op.attr("group_name")}}));
}

bool has_linear_reduce_op(Builder& b, const OpView& op, const char* file) {
  const std::string& how = op.str_attr("reduce_op");
  if (how == "sum" || how == "avg") return true;
  b.fail({ErrorKind::unsupported,
          fmt::format("{}: the gradient of reduce_op {} is not covered, as in PyTorch ({})",
                      op.name(), quoted(how), file)});
  return false;
}

}  // namespace cleave

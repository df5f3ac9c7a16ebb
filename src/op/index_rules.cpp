#include "op/index_rules.h"

#include "op/kernel_loops.h"

namespace cleave {

Status check_index_dtype(const OpView& op, std::string_view rule, std::string_view operand,
                         const Type& index) {
  if (index.dtype == DType::i64 || index.dtype == DType::i32) return {};
  return op.broken(rule, "{} is {}, expected i64 or i32", operand, index.text());
}

Status check_within(const OpView& op, std::string_view rule, std::string_view operand,
                    const Type& inner, std::string_view of, const Type& outer, int64_t d) {
  if (op.env().range_of(outer.shape[d] - inner.shape[d]).lo >= 0) return {};
  return op.broken(rule, "dim {} of {} is {}, expected at most {}, that of {}", d, operand,
                   inner.shape[d].text(), outer.shape[d].text(), of);
}

Result<int64_t> index_in_range(const OpView& op, std::string_view operand, int64_t index,
                               int64_t bound, NegativeIndex negative) {
  const int64_t low = negative == NegativeIndex::from_end ? -bound : 0;
  if (index < low || index >= bound)
    return user_error("{}: {}: index {} is out of range [{}, {})", op.name(), operand, index, low,
                      bound);
  return index < 0 ? index + bound : index;
}

loop::Expr checked_index(loop::KernelBuilder& k, const OpView& op, std::string_view operand,
                         loop::Expr index, int64_t bound, NegativeIndex negative) {
  const std::string what = fmt::format("{}: {}", op.name(), operand);
  return negative == NegativeIndex::from_end ? k.checked_index(std::move(index), bound, what)
                                             : k.checked_from_zero(std::move(index), bound, what);
}

void check_indices(loop::KernelBuilder& k, const OpView& op, std::string_view operand, int flat,
                   int64_t bound, NegativeIndex negative) {
  for_each_element(k, k.operand(flat).layout.shape, [&](const loop::Exprs& i) {
    checked_index(k, op, operand, k.load(flat, i), bound, negative);
  });
}

}  // namespace cleave

#include "lower/attention_in_parts.h"

#include <algorithm>

namespace cleave {
namespace {

constexpr std::string_view forwards[] = {"_scaled_dot_product_flash_attention_for_cpu",
                                         "_scaled_dot_product_efficient_attention"};
constexpr std::string_view gradients[] = {"_scaled_dot_product_flash_attention_for_cpu_backward",
                                          "_scaled_dot_product_efficient_attention_backward"};

// The position of an operand with one of these names; -1: none.
int operand_of(const OpView& op, std::initializer_list<std::string_view> names) {
  const Schema& schema = op.def().schema;
  for (int k = 0; k < op.operand_count(); ++k)
    if (std::ranges::find(names, schema.args[schema.operands[static_cast<size_t>(k)]].name) !=
        names.end())
      return k;
  return -1;
}

}  // namespace

bool runs_in_parts(const OpView& op, const AttentionPartsLimits& limits) {
  const bool is_gradient = std::ranges::find(gradients, op.name()) != std::end(gradients);
  if (!is_gradient && std::ranges::find(forwards, op.name()) == std::end(forwards)) return false;
  const int query = operand_of(op, {"query"}), mask = operand_of(op, {"attn_mask", "attn_bias"});
  const Type &q = op.in_type(query), &k = op.in_type(query + 1), &v = op.in_type(query + 2);
  const auto size = [&](const Type& t, int64_t from_back) {
    return op.env().hint_of(t.shape[t.shape.size() - static_cast<size_t>(from_back)]);
  };
  const int64_t width = size(q, 1), rows = size(q, 2), columns = size(k, 2);
  int64_t scores = rows * columns;
  for (size_t d = 0; d + 2 < q.shape.size(); ++d) scores *= op.env().hint_of(q.shape[d]);
  const int64_t bytes = q.dtype == DType::f64 ? 8 : 4;
  if (scores < limits.least_scores || scores > limits.most_bytes / bytes) return false;
  const auto is_width = [](int64_t n) { return n > 0 && n % 8 == 0 && n <= 256; };
  const bool is_one_kernel = (q.dtype == DType::bf16 || q.dtype == DType::f16) && !op.has(mask) &&
                             op.float_attr("dropout_p") == 0 && is_width(width) &&
                             is_width(size(v, 1)) && rows > 1 && columns > 1 &&
                             (!is_gradient || columns % 128 == 0);
  return !is_one_kernel;
}

}  // namespace cleave

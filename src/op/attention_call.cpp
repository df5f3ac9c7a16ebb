#include "op/attention_call.h"

#include <algorithm>

namespace cleave {
namespace {

constexpr std::string_view whole = "scaled_dot_product_attention";
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

// The flash form's backward has none; the efficient one's has the last of grad_input_mask.
bool wants_mask_gradient(const OpView& op) {
  if (op.def().schema.find("grad_input_mask") < 0) return false;
  const AttrList* wanted = op.attr("grad_input_mask").get<AttrList>();
  const bool* of_mask = wanted == nullptr ? nullptr : wanted->back().get<bool>();
  return of_mask == nullptr || *of_mask;
}

}  // namespace

bool is_attention(std::string_view op) {
  return op == whole || std::ranges::find(forwards, op) != std::end(forwards) ||
         std::ranges::find(gradients, op) != std::end(gradients);
}

std::optional<AttentionCall> read_attention_call(const OpView& op) {
  if (!is_attention(op.name())) return {};
  AttentionCall call;
  call.is_gradient = std::ranges::find(gradients, op.name()) != std::end(gradients);
  call.is_inner = op.name() != whole;
  call.query = operand_of(op, {"query"});
  call.mask = operand_of(op, {"attn_mask", "attn_bias"});
  call.wants_mask_gradient = call.is_gradient && wants_mask_gradient(op);
  return call;
}

}  // namespace cleave

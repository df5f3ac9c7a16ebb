// Calls of attention as passes and lowering see them: which form, which operand is which.
#pragma once
#include <optional>
#include <string_view>

#include "ir/op_view.h"

namespace cleave {

struct AttentionCall {
  bool is_inner = false;     // a form with logsumexp, or its backward
  bool is_gradient = false;  // a backward
  int query = 0, mask = 0;   // operands; key and value follow query
  bool wants_mask_gradient = false;
};

bool is_attention(std::string_view op);
// Returns how the call's operands lie; none if it isn't attention.
std::optional<AttentionCall> read_attention_call(const OpView& op);

}  // namespace cleave

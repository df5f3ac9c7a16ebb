#include "ir/host_operands.h"

#include <algorithm>

namespace cleave {
namespace {

struct HostOperand {
  std::string_view op, arg;
};
constexpr HostOperand host_operands[] = {{"index", "indices"},
                                         {"index_put", "indices"},
                                         {"copy", "src"},
                                         {"slice_scatter", "src"},
                                         {"_to_copy", "self"}};

// The operand that an input belongs to, and its first input.
std::pair<int, size_t> operand_of(const OpView& op, size_t input) {
  int operand = op.operand_count() - 1;
  while (operand > 0 && static_cast<size_t>(op.flat(operand)) > input) --operand;
  return {operand, static_cast<size_t>(op.flat(operand))};
}

const ArgDef& arg_of(const OpView& op, int operand) {
  const Schema& schema = op.def().schema;
  return schema.args[schema.operands[static_cast<size_t>(operand)]];
}

}  // namespace

bool may_be_on_host(const OpView& op, size_t input) {
  const ArgDef& arg = arg_of(op, operand_of(op, input).first);
  return std::ranges::any_of(
      host_operands, [&](const HostOperand& h) { return h.op == op.name() && h.arg == arg.name; });
}

std::string input_name(const OpView& op, size_t input) {
  const auto [operand, first] = operand_of(op, input);
  const ArgDef& arg = arg_of(op, operand);
  return arg.list ? fmt::format("{}[{}]", arg.name, input - first) : arg.name;
}

}  // namespace cleave

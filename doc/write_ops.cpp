// write_ops > doc/ops.md: the reference of the operators, from their entries alone.
//
// An operator has: its call, its summary, its source; its properties; whether it has a gradient, a
// decomposition, a lowering and a form in ONNX, and why not; its constraints, each by the message
// of a call that breaks it; the calls of its samples.
#include <cstdio>

#include "export/onnx/rules.h"
#include "ir/uncovered_op.h"
#include "op/registry.h"

namespace cleave {
namespace {

std::string operand_text(const SampleOperand& operand) {
  if (operand.is_none) return "none";
  if (!operand.number.is_none()) return operand.number.text();
  std::vector<std::string> types;
  for (const SampleTensor& tensor : operand.tensors) types.push_back(tensor.type.text());
  const std::string all = fmt::format("{}", fmt::join(types, ", "));
  return operand.is_list ? "[" + all + "]" : all;
}

// A sample's graph is its text.
std::string attr_text(const OpDef& op, const std::string& name, const AttrValue& value) {
  const int arg = op.schema.find(name);
  const bool graph = arg >= 0 && op.schema.args[size_t(arg)].kind == ArgKind::graph;
  return graph ? "@" + name : value.text();
}

std::string call_text(const OpDef& op, const Sample& sample) {
  std::vector<std::string> operands, attrs;
  for (const SampleOperand& operand : sample.operands) operands.push_back(operand_text(operand));
  for (const auto& [name, value] : sample.attrs)
    attrs.push_back(fmt::format("{}={}", name, attr_text(op, name, value)));
  return fmt::format("{}({}{}{})", op.name, fmt::join(operands, ", "),
                     operands.empty() || attrs.empty() ? "" : "; ", fmt::join(attrs, ", "));
}

std::string properties(const OpDef& op) {
  constexpr std::pair<Trait, std::string_view> names[] = {
      {Trait::pointwise, "pointwise"},
      {Trait::view, "view"},
      {Trait::reduction, "reduction"},
      {Trait::random, "random"},
      {Trait::compute_intensive, "compute-intensive"},
      {Trait::fusible, "fusible"},
      {Trait::recomputable, "recomputable"},
      {Trait::data_dependent, "data-dependent"},
      {Trait::effect, "effect"},
      {Trait::constructor, "constructor"},
      {Trait::collective, "collective"},
      {Trait::symmetric, "symmetric"},
  };
  std::vector<std::string_view> held;
  for (const auto& [trait, name] : names)
    if (has(op.traits, trait)) held.push_back(name);
  return held.empty() ? "none" : fmt::format("{}", fmt::join(held, ", "));
}

template <class T>
std::string presence(const Slot<T>& slot) {
  return slot.present() ? "yes" : fmt::format("none ({})", slot.reason());
}

// How `cleave export` writes it.
std::string onnx_text(const OpDef& op) {
  if (to_onnx::find_rule(op.name)) return "yes";
  const bool never = has(op.traits, Trait::random) || has(op.traits, Trait::collective);
  if (op.decompose.present() && !never) return "by its decomposition";
  return fmt::format("none ({})", to_onnx::reason_without_rule(op));
}

std::string entry_text(const OpDef& op) {
  std::string text =
      fmt::format("### {}\n\n`{}{}`\n\n{}\n\n", op.name, op.name, op.signature, op.summary);
  text += fmt::format("- source: {}; entry: `{}`\n", op.source, op.file);
  text += fmt::format("- properties: {}\n", properties(op));
  text += fmt::format("- gradient: {}; decomposition: {}; lowering: {}\n", presence(op.grad),
                      presence(op.decompose), presence(op.lower));
  text += fmt::format("- as ONNX: {}\n", onnx_text(op));
  if (op.nondifferentiable != 0) {
    std::vector<int> results;
    for (int i = 0; i < 32; ++i)
      if ((op.nondifferentiable >> i & 1U) != 0) results.push_back(i);
    text += fmt::format("- without gradient: result {}\n", fmt::join(results, ", "));
  }
  const Samples samples = op.samples();
  if (!samples.empty()) {
    std::vector<std::string> calls;
    for (const Sample& sample : samples) {
      std::string call = fmt::format("`{}`", call_text(op, sample));
      if (std::find(calls.begin(), calls.end(), call) == calls.end()) calls.push_back(call);
      if (calls.size() == 4) break;
    }
    text += fmt::format("- for example: {}\n", fmt::join(calls, ", "));
  }
  for (const Reject& reject : op.rejects())
    text += fmt::format("- refused: `{}`: `{}`\n", call_text(op, reject.call), reject.message);
  return text + "\n";
}

int write_ops() {
  const Result<OpRegistry> ops = core_ops();
  if (!ops.ok()) {
    fmt::print(stderr, "write_ops: {}\n", ops.failure().message);
    return 3;
  }
  std::vector<const OpDef*> sorted;
  for (const auto& op : ops->all()) sorted.push_back(op.get());
  std::sort(sorted.begin(), sorted.end(),
            [](const OpDef* a, const OpDef* b) { return a->name < b->name; });

  fmt::print(
      "# Operators\n\n{} operators, generated from their entries by `make doc`. Names, "
      "arguments and meaning are ATen's; `doc/ir.md` says how a call is written.\n\n",
      sorted.size());
  std::vector<std::string> links;
  for (const OpDef* op : sorted) links.push_back(fmt::format("[{}](#{})", op->name, op->name));
  fmt::print("{}\n\n", fmt::join(links, " "));
  for (const OpDef* op : sorted) fmt::print("{}", entry_text(*op));
  fmt::print("## Not covered\n\nGraphs of PyTorch may hold these; they are refused by name.\n\n");
  for (const UncoveredOp& op : uncovered_ops()) fmt::print("- `{}`: {}\n", op.name, op.reason);
  return 0;
}

}  // namespace
}  // namespace cleave

int main() { return cleave::write_ops(); }

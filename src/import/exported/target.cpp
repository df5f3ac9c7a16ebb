#include "import/exported/target.h"

#include <algorithm>
#include <array>

#include "base/printable.h"
#include "import/exported/complex_rules.h"
#include "import/exported/rules.h"
#include "import/exported/views.h"

namespace cleave::exported {
namespace {

using Kind = Argument::Kind;

constexpr std::array<std::string_view, 8> higher_order = {"cond",
                                                          "while_loop",
                                                          "scan",
                                                          "map_impl",
                                                          "wrap_with_set_grad_enabled",
                                                          "wrap_with_autocast",
                                                          "tag_activation_checkpoint",
                                                          "invoke_subgraph"};

// Operators of PyTorch under the name of an operator of cleave that means something else.
constexpr std::array<std::string_view, 7> other_meaning = {
    "call", "fused", "opaque", "by_rows", "cond", "while_loop", "adam_step"};

bool is_covered(const Target& t, const OpRegistry& ops, bool is_complex) {
  if (t.space == "higher_order")
    return std::ranges::find(higher_order, t.name) != higher_order.end();
  if (t.space == "transformers") return t.name.starts_with("grouped_mm_fallback");
  if (t.space != "aten" && t.space != "prims") return false;
  std::string name = t.name;
  if (name.ends_with('_') && !name.ends_with("__")) name.pop_back();
  if (writes_out(t))
    return !is_complex && (find_rule(name, t.overload) || ops.find(name) != nullptr);
  if (is_complex) return covers_complex(name, t.overload);
  if (is_view(name) || find_rule(name, t.overload)) return true;
  if (std::ranges::find(other_meaning, name) != other_meaning.end()) return false;
  return ops.find(name) != nullptr;
}

void collect(const Graph& source, const OpRegistry& ops, std::map<std::string, int64_t>& found) {
  for (const Node& node : source.nodes) {
    for (const NamedArgument& a : node.inputs)
      if (a.value.kind == Kind::graph && a.value.graph) collect(*a.value.graph, ops, found);
    if (is_about_sizes(node) || checks_value(node) || checks_factor(node)) continue;
    const Target t = parse_target(node.target);
    const bool is_complex = touches_complex(node, source);
    if (is_covered(t, ops, is_complex)) continue;
    const std::string shown =
        printable(node.target.starts_with("torch.ops.") ? std::string_view(node.target).substr(10)
                                                        : std::string_view(node.target));
    ++found[shown.substr(1, shown.size() - 2) + (is_complex ? " of complex tensors" : "")];
  }
}

}  // namespace

Target parse_target(const std::string& target) {
  constexpr std::string_view prefix = "torch.ops.";
  Target t;
  if (!target.starts_with(prefix)) {
    t.name = target;
    return t;
  }
  const std::string rest = target.substr(prefix.size());
  const size_t dot = rest.find('.');
  if (dot == rest.npos) {
    t.name = rest;
    return t;
  }
  t.space = rest.substr(0, dot);
  const size_t second = rest.find('.', dot + 1);
  t.name = rest.substr(dot + 1, second == rest.npos ? rest.npos : second - dot - 1);
  if (second != rest.npos) t.overload = rest.substr(second + 1);
  return t;
}

bool writes_out(const Target& t) { return t.overload == "out" || t.overload.ends_with("_out"); }

std::vector<std::string> result_names(const Node& node) {
  std::vector<std::string> names;
  for (const Argument& a : node.outputs) {
    if (a.kind == Kind::list)
      for (const Argument& item : a.items)
        names.push_back(item.kind == Kind::tensor ? item.text : "");
    else
      names.push_back(a.kind == Kind::tensor ? a.text : "");
  }
  return names;
}

bool is_about_sizes(const Node& node) {
  if (checks_value(node)) return false;
  const bool has_graph = std::ranges::any_of(
      node.inputs, [](const NamedArgument& a) { return a.value.kind == Kind::graph; });
  if (has_graph) return false;
  if (node.outputs.empty() || node.target.ends_with("_assert_tensor_metadata.default") ||
      node.target.find("aten.sym_constrain_range") != node.target.npos)
    return node.target.find("assert") != node.target.npos ||
           node.target.find("sym_constrain") != node.target.npos;
  return std::ranges::all_of(node.outputs,
                             [](const Argument& a) { return a.kind == Kind::symbol; });
}

std::map<std::string, int64_t> uncovered(const Graph& source, const OpRegistry& ops) {
  std::map<std::string, int64_t> found;
  collect(source, ops, found);
  return found;
}

}  // namespace cleave::exported

#include "compile/program_key.h"

#include <algorithm>
#include <set>

#include "base/build_identity.h"
#include "cache/sha256.h"
#include "compile/option_table.h"
#include "ir/print.h"

namespace cleave {
namespace {

constexpr std::string_view in_no_key[] = {"threads",     "compiler",    "target",     "device",
                                          "kept_sizes",  "other_sizes", "cudagraphs", "cache_dir",
                                          "cache_bytes", "cache_check", "dump_dir",   "repro"};

// Each option that differs from its default, with the length of its text.
void add_options(std::string& out, const StageOptions& options) {
  const TrainOptions usual, given{.compile = options};
  for (const OptionRow& row : option_table()) {
    if (row.owner != OptionOwner::compile || !row.has_text() ||
        std::ranges::find(in_no_key, row.name) != std::end(in_no_key))
      continue;
    const std::string value = row.get(given);
    if (value != row.get(usual)) out += fmt::format("{} {} {}\n", row.name, value.size(), value);
  }
  out += fmt::format("stages {} {} {} {} {}\n", options.grad, options.forward_results,
                     options.is_cut, options.fuse, options.is_frozen_part);
  for (const RewriteRule& rule : options.rules) {
    const auto& [name, text, point, numbers, dtypes, derive_backward, any, version, when, make] =
        rule;
    out += fmt::format("rule {} {} {} {}", name.size(), name, static_cast<int>(point),
                       derive_backward);
    for (const auto& [number, value] : numbers) out += fmt::format(" {}={}", number, value);
    for (const DType t : dtypes) out += fmt::format(" {}", name_of(t));
    for (const std::string& attribute : any) out += fmt::format(" any {}", attribute);
    out += fmt::format(" {} {} {} {}\n{}\n{}\n", when != nullptr, make != nullptr, version.size(),
                       text.size(), version, text);
  }
}

void add_called(const Graph& g, std::set<const OpDef*>& out) {
  for (NodeId n = g.first_node(); n.valid(); n = g.next_node(n))
    if (g.node(n).op->file.empty()) out.insert(g.node(n).op);
}

// Passes of the host program; of these and of its rules the one that has no version, if any.
std::string add_functions(std::string& out, const StageOptions& options) {
  std::string refusal;
  for (const RewriteRule& rule : options.rules)
    if ((rule.when || rule.make) && rule.version.empty())
      refusal = fmt::format("{} has no version", rule.name);
  for (const FunctionPass& pass : options.functions) {
    const auto& [name, version, point, function] = pass;
    out += fmt::format("pass {} {} {} {} {}\n", name.size(), name, version.size(), version,
                       static_cast<int>(point));
    if (version.empty()) refusal = fmt::format("{} has no version", name);
  }
  return refusal;
}

// Of the host program's own operators those that the program may call: with rules of its own, any.
std::set<const OpDef*> own_operators(const Graph& graph, const OpRegistry& ops,
                                     const StageOptions& options) {
  std::set<const OpDef*> out;
  add_called(graph, out);
  for (const GraphRef& sub : subgraphs_in_order(graph, {})) add_called(*sub, out);
  if (!options.rules.empty() || !options.functions.empty())
    for (const auto& op : ops.all())
      if (op->file.empty()) out.insert(op.get());
  return out;
}

std::string digest_of(const std::string& text) {
  cache::Sha256 sum;
  sum.update(std::as_bytes(std::span(text)));
  return cache::hex(sum.finish());
}

}  // namespace

std::span<const std::string_view> options_in_no_key() { return in_no_key; }

ProgramKey program_key(const Graph& graph, const OpRegistry& ops, const StageOptions& options,
                       const std::string& backend_identity) {
  ProgramKey key;
  std::string text = fmt::format("{}\n", build_identity());
  add_options(text, options);
  key.refusal = add_functions(text, options);
  std::set<std::string> operators;  // by name
  for (const OpDef* op : own_operators(graph, ops, options)) {
    if (op->version.empty()) key.refusal = fmt::format("operator {} has no version", op->name);
    operators.insert(fmt::format("operator {} {} {}\n{}\n", op->name, op->version.size(),
                                 op->version, op->signature));
  }
  for (const std::string& op : operators) text += op;
  text += print(graph, key.lines);
  const std::string rest = digest_of(text);
  key.id = rest.substr(0, 8);
  // Functions of a pool compute the same, and are others.
  key.digest =
      digest_of(fmt::format("{}\n{}\n{}", backend_identity, options.pool ? "pool" : "", rest));
  return key;
}

}  // namespace cleave

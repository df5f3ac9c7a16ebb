#include "ahead/pack_program.h"

#include <set>

namespace cleave::ahead {
namespace {

// Callbacks have no C text.
bool is_callback(const ForeignCall& call) { return call.code.c_text.empty(); }

PackedProgram::Callback callback_of(const Graph& g, const Thunk& thunk) {
  PackedProgram::Callback out{.name = thunk.name};
  const ValueId v = g.find(thunk.name);
  if (!v.valid() || !g.value(v).def.valid()) return out;  // in a branch or a loop
  const Node& node = g.node(g.value(v).def);
  out.op = node.op->name;
  for (const ValueId operand : node.inputs)
    out.operands.push_back(operand.valid() ? g.type(operand).text() : "none");
  for (uint32_t k = 0; k < node.output_count; ++k)
    out.results.push_back(g.type(node.out(k)).text());
  return out;
}

// Renames a function of the text, and calls of it.
std::string renamed(const std::string& text, const std::string& from, const std::string& to) {
  return from == to ? text : fmt::format("#define {} {}\n{}", from, to, text);
}

}  // namespace

PackedProgram pack_program(const WrittenProgram& written, const std::string& prefix) {
  PackedProgram out;
  const PlannedProgram& planned = written.placed.planned;
  out.entry = {.thunks = planned.lowered.thunk_program(),
               .offsets = planned.offsets,
               .arena_bytes = planned.arena_bytes};
  out.units = written.placed.code.units;
  std::set<std::string> known;
  for (const EmittedKernel& kernel : written.placed.code.kernels) {
    standalone::KernelEntry entry{.checks = kernel.checks, .work = kernel.work};
    for (const KernelPhase& phase : kernel.phases) {
      entry.phases.push_back({"", phase.extent});
      out.phases.push_back(prefix + phase.symbol);
      if (!prefix.empty() && known.insert(phase.symbol).second) {
        std::string& text = out.units[kernel.unit].text;
        text = renamed(text, phase.symbol, prefix + phase.symbol);
      }
    }
    out.entry.kernels.push_back(std::move(entry));
  }
  for (SourceUnit& unit : out.units) {
    if (unit.from != SourceUnit::From::host_program) continue;
    const std::string symbol =
        fmt::format("{}operator{}_{}", prefix, out.operators.size(), unit.host_symbol);
    unit.text = renamed(unit.text, unit.host_symbol, symbol);
    unit.host_symbol = symbol;
    out.operators.push_back(symbol);
  }
  for (Thunk& thunk : out.entry.thunks.thunks) {
    thunk.node = {};
    auto* call = std::get_if<ForeignCall>(&thunk.work);
    if (!call) continue;
    if (is_callback(*call)) out.callbacks.push_back(callback_of(written.graph, thunk));
    call->code.symbol = is_callback(*call) ? "" : "c";
    call->code.c_text.clear();
  }
  return out;
}

}  // namespace cleave::ahead

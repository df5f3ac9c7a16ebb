#include "ahead/pack_program.h"

#include <algorithm>
#include <set>

namespace cleave::ahead {
namespace {

// Callbacks have no C text.
bool is_callback(const ForeignCall& call) { return call.code.c_text.empty(); }

PackedCode::Callback callback_of(const Graph& g, const Thunk& thunk) {
  PackedCode::Callback out{.name = thunk.name};
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

void PackedCode::add_unit(SourceUnit unit) {
  if (unit_of_text_.try_emplace(unit.text, units_.size()).second) units_.push_back(std::move(unit));
}

standalone::KernelEntry PackedCode::add_kernel(const EmittedKernel& kernel,
                                               const std::string& prefix) {
  standalone::KernelEntry out{.checks = kernel.checks, .work = kernel.work};
  for (const KernelPhase& phase : kernel.phases) {
    const auto [at, is_new] = phase_of_symbol_.try_emplace(prefix + phase.symbol, phases_.size());
    if (is_new) phases_.push_back(at->first);
    out.phases.push_back({at->second, phase.extent});
  }
  return out;
}

size_t PackedCode::add_operator(const ForeignCall& call) {
  const auto [at, is_new] =
      operator_of_text_.try_emplace(call.code.symbol + "\n" + call.code.c_text, operators_.size());
  if (!is_new) return at->second;
  const std::string symbol = fmt::format("operator{}_{}", operators_.size(), call.code.symbol);
  operators_.push_back(symbol);
  add_unit({.text = renamed(call.code.c_text, call.code.symbol, symbol),
            .from = SourceUnit::From::host_program,
            .host_symbol = symbol});
  return at->second;
}

size_t PackedCode::add_callback(Callback callback, const std::string& sizes) {
  // Of one in a branch or a loop the types aren't known.
  for (size_t k = 0; k < callbacks_.size(); ++k)
    if (callbacks_[k] == callback && (!callback.op.empty() || callback_sizes_[k] == sizes))
      return k;
  callbacks_.push_back(std::move(callback));
  callback_sizes_.push_back(sizes);
  return callbacks_.size() - 1;
}

standalone::CodeEntry PackedCode::add(const WrittenProgram& written, const std::string& prefix,
                                      const std::string& sizes) {
  const PlannedProgram& planned = written.placed.planned;
  const EmittedCode& code = written.placed.code;
  standalone::CodeEntry out{.thunks = planned.lowered.thunk_program(),
                            .offsets = planned.offsets,
                            .arena_bytes = planned.arena_bytes};
  std::vector<SourceUnit> units = code.units;
  std::set<std::string> known;
  for (const EmittedKernel& kernel : code.kernels) {
    out.kernels.push_back(add_kernel(kernel, prefix));
    for (const KernelPhase& phase : kernel.phases)
      if (!prefix.empty() && known.insert(phase.symbol).second) {
        std::string& text = units[kernel.unit].text;
        text = renamed(text, phase.symbol, prefix + phase.symbol);
      }
  }
  for (SourceUnit& unit : units)
    if (unit.from == SourceUnit::From::kernels) add_unit(std::move(unit));
  for (Storage& s : out.thunks.storages)
    if (s.placeholder < 0) s.name.clear();
  for (Thunk& thunk : out.thunks.thunks) {
    thunk.node = {};
    if (auto* call = std::get_if<KernelCall>(&thunk.work)) call->in_place.clear();
    auto* call = std::get_if<ForeignCall>(&thunk.work);
    if (!call) continue;
    const bool calls_back = is_callback(*call);
    out.foreign.push_back({calls_back, calls_back
                                           ? add_callback(callback_of(written.graph, thunk), sizes)
                                           : add_operator(*call)});
    call->code.symbol.clear();
    call->code.c_text.clear();
  }
  return out;
}

Status PackedCode::name_callbacks() {
  std::map<std::string, size_t> count;
  for (const Callback& c : callbacks_) ++count[c.name];
  std::set<std::string> known;
  for (size_t k = 0; k < callbacks_.size(); ++k) {
    std::string& name = callbacks_[k].name;
    if (count.at(name) > 1) name += "@" + callback_sizes_[k];
    if (!known.insert(name).second)
      return unsupported("build: two calls of the host program are both named `{}`", name);
  }
  return {};
}

}  // namespace cleave::ahead

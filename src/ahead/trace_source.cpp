#include "ahead/trace_source.h"

#include "pass/freeze/frozen_values.h"

namespace cleave::ahead {
namespace {

using standalone::StateKind;

std::string_view role_of(VariableKind kind) {
  constexpr std::string_view names[] = {"parameter", "buffer", "const", "state", "random"};
  return names[static_cast<size_t>(kind)];
}

}  // namespace

std::map<std::string, size_t> numbers_of(const ProgramCode::Marks& marks) {
  std::map<std::string, size_t> out;
  if (marks.norm_at) out["grad_norm"] = *marks.norm_at;
  if (marks.scale_at) out["loss_scale"] = *marks.scale_at;
  if (marks.skipped_at) out["skipped_steps"] = *marks.skipped_at;
  return out;
}

// What a trace and compiled code have in common. Placeholders are names.
struct TraceSource::Parts {
  const Graph& graph;
  const ProgramCode::Marks& marks;
  size_t results = 0;
  std::vector<std::string> inputs;
  std::vector<std::pair<std::string, Variable>> variables;
  std::vector<std::string> rates;
  bool freezes = false;
  std::string sizes;
};

std::optional<size_t> TraceSource::entry_of(const Variable& v) const {
  const auto known = known_.find(trace::Access::state(v).get());
  return known == known_.end() ? std::nullopt : std::optional(known->second);
}

size_t TraceSource::entry(const std::string& name, const Variable& v, bool is_frozen,
                          const std::string& sizes) {
  const trace::VariablePtr& state = trace::Access::state(v);
  if (const auto known = entry_of(v)) return *known;
  kept_.push_back(state);
  size_t& place = known_[state.get()];
  std::string own = name;
  for (size_t n = 1;; ++n) {
    const auto at = by_name_.find(own);
    if (at == by_name_.end()) break;
    const Source::State& other = source_.state[at->second];
    if (state->kind == VariableKind::constant && other.kind == StateKind::constant &&
        other.value->same_bits(state->value))
      return place = at->second;
    own = n == 1 ? fmt::format("{}@{}", name, sizes) : fmt::format("{}@{}.{}", name, sizes, n);
  }
  place = by_name_[own] = source_.state.size();
  const bool is_constant = is_frozen || state->kind == VariableKind::constant;
  source_.state.push_back({own, std::string(is_frozen ? "const" : role_of(state->kind)),
                           is_constant ? StateKind::constant : StateKind::state, state->value});
  return place;
}

Result<Source::Program> TraceSource::program(const SizedPrograms& programs,
                                             const std::vector<int64_t>& sizes) {
  if (programs.sizes().vary()) {
    const ProgramCode::Parts traced = programs.traced(sizes);
    Parts parts{.graph = traced.graph,
                .marks = traced.marks,
                .results = traced.results,
                .freezes = traced.options.freeze,
                .sizes = traced.sizes};
    for (const ValueId v : traced.inputs) parts.inputs.push_back(traced.graph.name(v));
    for (const auto& [v, variable] : traced.variables)
      parts.variables.emplace_back(traced.graph.name(v), variable);
    for (const auto& [v, memory] : traced.own) parts.rates.push_back(traced.graph.name(v));
    return program(parts);
  }
  const ProgramCode& code = programs.last().code();
  const std::vector<std::string>& names = code.program->placeholders();
  Parts parts{.graph = code.traced,
              .marks = code.marks,
              .results = code.results,
              .freezes = code.options.freeze};
  for (const size_t k : code.inputs) parts.inputs.push_back(names[k]);
  if (code.folded) { CLEAVE_TRY(parts.variables, code.folded->variables()); }
  for (const ProgramCode::PlacedVariable& v : code.variables)
    parts.variables.emplace_back(v.name, v.variable);
  for (const auto& [k, memory] : code.own) parts.rates.push_back(names[k]);
  return program(parts);
}

Result<Source::Program> TraceSource::program(const Parts& parts) {
  Source::Program out{.graph = parts.graph, .inputs = parts.inputs};
  for (const auto& [name, v] : parts.variables)
    out.state[name] =
        entry(name, v, parts.freezes && is_kept(parts.graph, parts.graph.find(name)), parts.sizes);
  for (size_t k = 0; k < parts.rates.size() && k < rates_.size(); ++k)
    out.state[parts.rates[k]] = entry(rates_[k].first, rates_[k].second, false, parts.sizes);
  const std::map<std::string, size_t> numbers = numbers_of(parts.marks);
  for (size_t k = 0; k < source_.outputs.size(); ++k) {
    const std::string& name = source_.outputs[k];
    const auto number = numbers.find(name);
    const auto watched = parts.marks.watched_at.find(name);
    std::optional<size_t>& at = out.outputs.emplace_back();
    if (k < parts.results)
      at = k;
    else if (number != numbers.end())
      at = number->second;
    else if (watched != parts.marks.watched_at.end())
      at = watched->second;
  }
  return out;
}

}  // namespace cleave::ahead

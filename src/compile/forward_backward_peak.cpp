#include "compile/forward_backward_peak.h"

#include <limits>
#include <set>

#include "compile/plan_program.h"
#include "compile/stages.h"
#include "ir/specialize.h"
#include "ir/strides.h"

namespace cleave {
namespace {

// Every symbol at its hint.
Result<Graph> at_hints(const Graph& g) {
  SymbolValues values;
  for (const Placeholder& p : g.placeholders())
    if (p.role == Role::symint)
      values[g.name(p.value)] = g.env().hint_of(Dim::symbol(g.name(p.value)));
  return specialize(g, values);
}

Result<LoweredProgram> measured(const Graph& half, const OpRegistry& ops,
                                runtime::LibraryCache& cache) {
  CLEAVE_TRY(const Graph g, prepared_half(half, ops));
  CLEAVE_TRY(PlannedProgram plan, measure_program(g, cache));
  return std::move(plan.lowered);
}

}  // namespace

Result<Graph> prepared_half(const Graph& half, const OpRegistry& ops) {
  CLEAVE_TRY(Graph g, at_hints(half));
  // What is cut stays as it was cut.
  CompileOptions options;
  options.is_cut = true;
  options.passes.none = true;
  CLEAVE_CHECK(run_stages(Stage::verify, Stage::fuse, g, ops, options));
  return g;
}

Result<ForwardBackwardPeak> forward_backward_peak(const Graph& joint, const Partition& cut,
                                                  const OpRegistry& ops, const Target& target) {
  return halves_peak_within(joint, cut, ops, target, std::numeric_limits<int64_t>::max());
}

Result<ForwardBackwardPeak> halves_peak_within(const Graph& joint, const Partition& cut,
                                               const OpRegistry& ops, const Target& target,
                                               int64_t room) {
  const auto bytes_of = [&](const Graph& g, ValueId v) {
    const Type& t = g.type(v);
    if (t.is_none) return int64_t{0};
    return rounded(t.is_static() ? memory_bytes(t)
                                 : joint.env().hint_of(t.numel()) * size_of(t.dtype));
  };
  ForwardBackwardPeak out;
  int64_t tangents = 0, held = 0;  // held: placeholders and what the forward returned
  for (const Placeholder& p : joint.placeholders())
    (p.role == Role::tangent ? tangents : held) += bytes_of(joint, p.value);
  // Saved placeholders aren't returned: they stay where they are.
  Graph forward = cut.forward;
  std::vector<Return> returns;
  std::set<ValueId> seen;
  const size_t results = forward.returns().size() - cut.saved.size();
  for (size_t i = 0; i < forward.returns().size(); ++i) {
    const Return& r = forward.returns()[i];
    if (i >= results && forward.placeholder_of(r.value)) continue;
    returns.push_back(r);
    if (r.kind == ReturnKind::result && seen.insert(r.value).second)
      held += bytes_of(forward, r.value);
  }
  forward.set_returns(std::move(returns));
  runtime::LibraryCache cache(target);
  CLEAVE_TRY(LoweredProgram f, measured(forward, ops, cache));
  CLEAVE_TRY(LoweredProgram b, measured(cut.backward, ops, cache));
  out.forward = f.placeholder_bytes + f.arena_lower_bound;
  out.backward = held + tangents + b.arena_lower_bound;
  out.between = held;
  if (out.peak() > room) return out;
  CLEAVE_CHECK(plan_memory(f));
  CLEAVE_CHECK(plan_memory(b));
  out.forward = f.placeholder_bytes + f.arena_bytes;
  out.backward = held + tangents + b.arena_bytes;
  return out;
}

}  // namespace cleave

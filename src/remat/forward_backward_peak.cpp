#include "remat/forward_backward_peak.h"

#include <set>

#include "base/alignment.h"
#include "ir/specialize.h"
#include "ir/strides.h"

namespace cleave {
namespace {

// The graph with every symbol replaced by its hint.
Result<Graph> at_hints(const Graph& g) {
  SymbolValues values;
  for (const Placeholder& p : g.placeholders())
    if (p.role == Role::symint)
      values[g.name(p.value)] = g.env().hint_of(Dim::symbol(g.name(p.value)));
  return specialize(g, values);
}

}  // namespace

Result<Graph> prepared_half(const Graph& half, ProgramPlanner& planner) {
  CLEAVE_TRY(Graph g, at_hints(half));
  CLEAVE_CHECK(planner.prepare_cut(g));
  return g;
}

Result<ForwardBackwardPeak> forward_backward_peak(const Graph& joint, const Partition& cut,
                                                  ProgramPlanner& planner, int64_t room) {
  const auto bytes_of = [&](const Graph& g, ValueId v) {
    const Type& t = g.type(v);
    if (t.is_none) return int64_t{0};
    return rounded(t.is_static() ? memory_bytes(t)
                                 : joint.env().hint_of(t.numel()) * size_of(t.dtype));
  };
  ForwardBackwardPeak out;
  int64_t tangents = 0, held = 0;  // held: placeholders and results of the forward
  for (const Placeholder& p : joint.placeholders())
    (p.role == Role::tangent ? tangents : held) += bytes_of(joint, p.value);
  // Saved placeholders aren't returned by the forward: the caller holds them anyway.
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
  CLEAVE_TRY(const Graph first, prepared_half(forward, planner));
  CLEAVE_TRY(const Graph second, prepared_half(cut.backward, planner));
  CLEAVE_TRY(const ProgramBytes b, planner.bytes(second, [&](const ProgramBytes& least) {
    return held + tangents + least.arena <= room;
  }));
  CLEAVE_TRY(const ProgramBytes f, planner.bytes(first, [&](const ProgramBytes& least) {
    return b.is_exact && least.peak() <= room;
  }));
  out.forward = f.peak();
  out.backward = held + tangents + b.arena;
  out.between = held;
  return out;
}

}  // namespace cleave

#include "inspect/memory_profile.h"

#include <algorithm>

#include "compile/plan_program.h"
#include "compile/stage_planner.h"
#include "remat/forward_backward_peak.h"

namespace cleave {
namespace {

Result<PlannedProgram> planned(const Graph& half, ProgramPlanner& planner, Backend& backend) {
  CLEAVE_TRY(const Graph g, prepared_half(half, planner));
  return plan_program(g, backend);
}

size_t index(Kept k) { return static_cast<size_t>(k); }

// Appends the program's thunks: `held` and what is alive in the arena; `kind` by storage.
void add_thunks(const LoweredProgram& p, const std::vector<Kept>& kind, const MemoryByKind& held,
                std::vector<MemoryByKind>& out) {
  const size_t begin = out.size();
  out.resize(begin + std::max<size_t>(p.thunks.size(), 1), held);
  for (size_t s = 0; s < p.storages.size(); ++s) {
    const Storage& storage = p.storages[s];
    if (storage.placeholder >= 0 || storage.first < 0) continue;
    const auto last = std::min<int64_t>(storage.last + 1, std::ssize(p.thunks));
    for (int64_t thunk = storage.first; thunk < last; ++thunk)
      out[begin + static_cast<size_t>(thunk)][index(kind[s])] += rounded(storage.bytes);
  }
}

std::vector<Kept> kinds(const LoweredProgram& p, const std::vector<Kept>& of_returns) {
  std::vector<Kept> kind(p.storages.size(), Kept::others);
  for (size_t s = 0; s < p.storages.size(); ++s)
    if (p.storages[s].workspace) kind[s] = Kept::workspace;
  for (size_t k = p.returns.size(); k-- > 0;) kind[p.returns[k]] = of_returns[k];
  return kind;
}

}  // namespace

Result<MemoryProfile> memory_profile(const Graph& joint, const Partition& cut,
                                     const OpRegistry& ops, const StageOptions& options) {
  const std::shared_ptr<Backend> backend = planning_backend(options);
  StagePlanner planner(ops, backend, options.fuse, options.device);
  MemoryProfile out;
  CLEAVE_TRY(const ForwardBackwardPeak peak, forward_backward_peak(joint, cut, planner));
  out.planned_peak = peak.peak();
  // Saved placeholders aren't returned by the forward: the caller holds them anyway.
  Graph forward = cut.forward;
  std::vector<Return> returns;
  std::vector<Kept> of_returns;
  const size_t results = forward.returns().size() - cut.saved.size();
  for (size_t k = 0; k < forward.returns().size(); ++k) {
    const Return& r = forward.returns()[k];
    if (k >= results && forward.placeholder_of(r.value)) continue;
    returns.push_back(r);
    of_returns.push_back(k < results ? Kept::results : Kept::saved);
  }
  forward.set_returns(std::move(returns));
  CLEAVE_TRY(const PlannedProgram first, planned(forward, planner, *backend));
  CLEAVE_TRY(const PlannedProgram second, planned(cut.backward, planner, *backend));
  const LoweredProgram &f = first.lowered, &b = second.lowered;

  MemoryByKind held{};
  held[index(Kept::placeholders)] = first.bound.placeholders;
  const std::vector<Kept> kind = kinds(f, of_returns);
  add_thunks(f, kind, held, out.thunks);
  out.forward_alive = first.bound.peak();
  out.forward_thunks = out.thunks.size();
  for (size_t s = 0; s < f.storages.size(); ++s)
    if (f.storages[s].placeholder < 0 && (kind[s] == Kept::results || kind[s] == Kept::saved))
      held[index(kind[s])] += rounded(f.storages[s].bytes);
  for (const Placeholder& p : joint.placeholders())
    if (p.role == Role::tangent) {
      const Type& t = joint.type(p.value);
      held[index(Kept::placeholders)] += rounded(joint.env().hint_of(t.numel()) * size_of(t.dtype));
    }
  out.backward_alive = second.bound.arena;
  for (const int64_t bytes : held) out.backward_alive += bytes;
  add_thunks(b, kinds(b, std::vector<Kept>(b.returns.size(), Kept::gradients)), held, out.thunks);
  return out;
}

}  // namespace cleave

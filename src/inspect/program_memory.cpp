#include "inspect/program_memory.h"

#include <algorithm>
#include <numeric>

#include "inspect/program_phases.h"
#include "run/thunk_storages.h"

namespace cleave {
namespace {

size_t index(Kept k) { return static_cast<size_t>(k); }

class MemoryOfProgram {
 public:
  MemoryOfProgram(const PlannedProgram& planned, const Graph& graph)
      : planned_(planned), p_(planned.lowered), g_(graph), late_(late_calls(graph)),
        kind_(p_.storages.size(), Kept::others), touched_(p_.storages.size()) {
    for (size_t k = 0; k < p_.thunks.size(); ++k)
      for (const size_t s : storages_of(p_.thunks[k]))
        if (touched_[s].empty() || touched_[s].back() != k) touched_[s].push_back(k);
  }

  ProgramMemory all() {
    find_boundary();
    find_kinds();
    fill_profile();
    for (size_t s = 0; s < p_.storages.size(); ++s) {
      const Storage& storage = p_.storages[s];
      if (!is_in_arena(s)) continue;
      const auto first = static_cast<size_t>(storage.first), last = last_of(s);
      if (first <= out_.peak_step && out_.peak_step <= last) out_.at_peak.push_back(described(s));
      if (kind_[s] == Kept::saved) out_.kept.push_back(described(s));
    }
    for (std::vector<KeptStorage>* list : {&out_.at_peak, &out_.kept})
      std::ranges::stable_sort(*list, std::greater(), &KeptStorage::bytes);
    return std::move(out_);
  }

 private:
  bool is_late(const Thunk& t) const {
    return t.node.valid() && t.node.v < late_.size() && late_[t.node.v];
  }
  bool is_in_arena(size_t s) const {
    return p_.storages[s].placeholder < 0 && p_.storages[s].first >= 0;
  }
  size_t last_of(size_t s) const {
    return static_cast<size_t>(std::min<int64_t>(p_.storages[s].last, std::ssize(p_.thunks) - 1));
  }

  void find_boundary() {
    const auto at = std::ranges::find_if(p_.thunks, [&](const Thunk& t) { return is_late(t); });
    boundary_ = static_cast<size_t>(at - p_.thunks.begin());
  }

  void find_kinds() {
    for (size_t s = 0; s < p_.storages.size(); ++s) {
      if (!is_in_arena(s)) continue;
      if (p_.storages[s].workspace)
        kind_[s] = Kept::workspace;
      else if (static_cast<size_t>(p_.storages[s].first) < boundary_ && last_of(s) >= boundary_)
        kind_[s] = Kept::saved;
    }
    for (size_t k = 0; k < p_.returns.size() && k < g_.returns().size(); ++k)
      kind_[p_.returns[k]] =
          g_.returns()[k].kind == ReturnKind::grad ? Kept::gradients : Kept::results;
  }

  void fill_profile() {
    MemoryByKind held{};
    held[index(Kept::placeholders)] = planned_.bound.placeholders;
    MemoryProfile& out = out_.profile;
    out.thunks.assign(std::max<size_t>(p_.thunks.size(), 1), held);
    out.forward_thunks = p_.thunks.empty() ? 1 : boundary_;
    out.planned_peak = planned_.peak_bytes();
    for (size_t s = 0; s < p_.storages.size(); ++s) {
      if (!is_in_arena(s)) continue;
      for (auto k = static_cast<size_t>(p_.storages[s].first); k <= last_of(s); ++k)
        out.thunks[k][index(kind_[s])] += rounded(p_.storages[s].bytes);
    }
    int64_t most = -1;
    for (size_t k = 0; k < out.thunks.size(); ++k) {
      const int64_t alive = std::accumulate(out.thunks[k].begin(), out.thunks[k].end(), int64_t{0});
      int64_t& half = k < out.forward_thunks ? out.forward_alive : out.backward_alive;
      half = std::max(half, alive);
      if (alive > most) out_.peak_step = k;
      most = std::max(most, alive);
    }
  }

  KeptStorage described(size_t s) const {
    const Storage& storage = p_.storages[s];
    KeptStorage out{.name = storage.name,
                    .made_by = kind_of(p_.thunks[static_cast<size_t>(storage.first)]),
                    .bytes = rounded(storage.bytes),
                    .kind = kind_[s],
                    .first = static_cast<size_t>(storage.first),
                    .last = last_of(s)};
    for (const size_t k : touched_[s])
      if (k >= boundary_ && k > out.first) out.reads.push_back(p_.thunks[k].name);
    return out;
  }

  const PlannedProgram& planned_;
  const LoweredProgram& p_;
  const Graph& g_;
  const std::vector<bool> late_;
  std::vector<Kept> kind_;                    // by storage
  std::vector<std::vector<size_t>> touched_;  // by storage: the steps, rising
  size_t boundary_ = 0;
  ProgramMemory out_;
};

}  // namespace

ProgramMemory program_memory(const PlannedProgram& planned, const Graph& graph) {
  return MemoryOfProgram(planned, graph).all();
}

}  // namespace cleave

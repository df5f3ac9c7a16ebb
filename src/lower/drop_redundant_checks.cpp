#include "lower/drop_redundant_checks.h"

#include <algorithm>
#include <map>

#include "lower/kernel_checks.h"
#include "lower/thunk_uses.h"

namespace cleave {

namespace {

bool makes_indices(const LoweredProgram& p, const Thunk& thunk) {
  bool out = false;
  each_use(p, thunk, [&](size_t s, bool is_written) {
    const DType t = p.storages[s].dtype;
    out |= is_written && (t == DType::i64 || t == DType::i32);
  });
  return out;
}

}  // namespace

void drop_redundant_checks(LoweredProgram& p) {
  std::vector<std::optional<KernelChecks>> kernels(p.kernels.size());
  std::vector<bool> is_target(p.thunks.size() + 1);
  for (const Thunk& thunk : p.thunks)
    if (auto* j = std::get_if<JumpCall>(&thunk.work)) is_target[j->target] = true;
  std::map<size_t, std::vector<IndexRange>> known;  // by storage
  for (size_t i = 0; i < p.thunks.size(); ++i) {
    Thunk& thunk = p.thunks[i];
    if (is_target[i] || std::holds_alternative<JumpCall>(thunk.work)) known.clear();
    const auto* call = std::get_if<KernelCall>(&thunk.work);
    const KernelChecks* checks = nullptr;
    if (call && (thunk.may_fail || makes_indices(p, thunk))) {
      std::optional<KernelChecks>& found = kernels[call->kernel];
      if (!found) found = checks_of(p.kernels[call->kernel]);
      checks = &*found;
      const auto is_known = [&](const IndexRange& needed) {
        const auto it = known.find(call->storages[needed.buffer]);
        return it != known.end() && std::ranges::any_of(it->second, [&](const IndexRange& k) {
                 return k.implies(needed);
               });
      };
      if (checks->only_ranges && std::ranges::all_of(checks->needed, is_known))
        thunk.may_fail = false;
    }
    if (!known.empty())
      each_use(p, thunk, [&](size_t s, bool is_written) {
        if (is_written) known.erase(s);
      });
    if (checks)
      for (const IndexRange& r : checks->proven) known[call->storages[r.buffer]].push_back(r);
  }
}

}  // namespace cleave

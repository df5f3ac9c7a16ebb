#include "lower/plan_memory.h"

#include <algorithm>

#include "lower/thunk_uses.h"
#include "plan/offsets.h"

namespace cleave {

namespace {

void find_lifetimes(LoweredProgram& p) {
  for (Storage& s : p.storages) s.first = s.last = -1;
  for (size_t i = 0; i < p.thunks.size(); ++i)
    each_touched(p.thunks[i], [&](size_t s) {
      Storage& storage = p.storages[s];
      if (storage.first < 0) storage.first = static_cast<int64_t>(i);
      storage.last = static_cast<int64_t>(i);
    });
  for (const JoinedCalls& job : p.joined)
    for (size_t i = job.begin; i < job.end; ++i)
      each_touched(p.thunks[i], [&](size_t s) {
        Storage& storage = p.storages[s];
        storage.first = std::min(storage.first, static_cast<int64_t>(job.begin));
        storage.last = std::max(storage.last, static_cast<int64_t>(job.end) - 1);
      });
  // Inner loops end before the loops around them.
  for (const ThunkLoop& loop : loops_of(p))
    for (Storage& s : p.storages) {
      const auto begin = static_cast<int64_t>(loop.begin), end = static_cast<int64_t>(loop.end);
      if (s.first >= 0 && s.first < begin && s.last >= begin) s.last = std::max(s.last, end);
    }
  for (size_t s : p.returns) {
    Storage& storage = p.storages[s];
    if (storage.first < 0) storage.first = 0;
    storage.last = static_cast<int64_t>(p.thunks.size());
  }
}

// The storages of the arena; `low` are those that get the lowest addresses.
struct Arena {
  std::vector<plan::Lifetime> lifetimes;
  std::vector<size_t> owner, low;
  int64_t placeholder_bytes = 0;
};

// Finds the lifetimes, and adds up the placeholders.
Arena arena_of(LoweredProgram& p) {
  find_lifetimes(p);
  Arena arena;
  for (size_t s = 0; s < p.storages.size(); ++s) {
    const Storage& storage = p.storages[s];
    if (storage.placeholder >= 0) {
      arena.placeholder_bytes += rounded(storage.bytes);
    } else if (storage.first >= 0 && storage.bytes > 0) {
      if (storage.workspace) arena.low.push_back(arena.owner.size());
      arena.owner.push_back(s);
      arena.lifetimes.push_back({storage.first, storage.last + 1, storage.bytes});
    }
  }
  return arena;
}

}  // namespace

MemoryBound measure_memory(LoweredProgram& p) {
  const Arena arena = arena_of(p);
  return {arena.placeholder_bytes, plan::largest_alive(arena.lifetimes, storage_alignment)};
}

Result<PlannedProgram> plan_memory(LoweredProgram program) {
  PlannedProgram out{std::move(program), {}};
  const Arena arena = arena_of(out.lowered);
  plan::Offsets offsets = plan::plan_offsets(arena.lifetimes, storage_alignment, arena.low);
  CLEAVE_CHECK(plan::verify_offsets(arena.lifetimes, storage_alignment, offsets));
  out.offsets.resize(out.lowered.storages.size());
  for (size_t i = 0; i < arena.owner.size(); ++i) out.offsets[arena.owner[i]] = offsets.offset[i];
  out.arena_bytes = offsets.height;
  out.bound = {arena.placeholder_bytes, offsets.lower_bound};
  return out;
}

}  // namespace cleave

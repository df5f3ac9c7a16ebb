// The table is found through a weak function, which is null if the executable doesn't replace
// malloc and mmap.
#include "runtime/alloc_watch.h"

extern "C" __attribute__((weak, visibility("default"))) cleave::runtime::AllocTable*
cleave_alloc_table();

namespace cleave::runtime {
namespace {

AllocTable* table() { return cleave_alloc_table == nullptr ? nullptr : cleave_alloc_table(); }

}  // namespace

bool AllocWatch::available() { return table() != nullptr; }

void AllocWatch::start() {
  AllocTable* t = table();
  if (t == nullptr) return;
  t->on = false;
  for (auto* counter : {&t->allocations, &t->frees, &t->allocated_bytes, &t->maps, &t->mmap_bytes,
                        &t->live_bytes, &t->peak_live_bytes})
    counter->store(0);
  t->on = true;
}

AllocCounts AllocWatch::counts() const {
  const AllocTable* t = table();
  if (t == nullptr) return {};
  return {.allocations = t->allocations,
          .frees = t->frees,
          .allocated_bytes = t->allocated_bytes,
          .maps = t->maps,
          .mmap_bytes = t->mmap_bytes,
          .live_bytes = t->live_bytes,
          .peak_live_bytes = t->peak_live_bytes};
}

AllocCounts AllocWatch::stop() {
  if (AllocTable* t = table(); t != nullptr) t->on = false;
  return counts();
}

}  // namespace cleave::runtime

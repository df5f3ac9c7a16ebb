#include "ir/name_table.h"

#include <xxhash.h>

#include <utility>

namespace cleave {

uint32_t NameTable::hash_of(std::string_view name) {
  return static_cast<uint32_t>(XXH3_64bits(name.data(), name.size()));
}

// Sizes the table for at least three times the live names, and drops erased slots.
void NameTable::grow() {
  size_t size = 16;
  while (size < 3 * live_) size *= 2;
  const std::vector<Slot> old = std::exchange(slots_, std::vector<Slot>(size));
  filled_ = 0;
  for (const Slot& slot : old)
    if (slot.id != absent && slot.id != erased) place(slot.hash, slot.id);
}

}  // namespace cleave

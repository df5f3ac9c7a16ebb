// What goes through all entries of a cache folder: count, verify, evict, clear. Files whose names
// aren't ours are never touched.
#pragma once
#include <cstdint>

#include "cache/entry.h"

namespace cleave::cache {

struct Sweep {
  int64_t entries = 0;  // that are there afterwards
  int64_t bytes = 0;    // of these files
  int64_t removed = 0;  // entries
  int64_t stuck = 0;    // that should have been removed, and the system refused
};

Sweep count_entries(int folder);

// Removes the entries that went longest without use until at most max_bytes are left; also
// temporaries that are more than an hour old: their process is gone. Safe beside readers, who keep
// what they opened, and beside others who evict.
Sweep evict_entries(int folder, int64_t max_bytes);

// Reads every entry, and removes those that aren't as they were written with this key, or stand
// under another's name.
Sweep verify_entries(int folder, const UserKey& user_key);

// Removes all entries and temporaries. The key stays, for who is using it.
Sweep clear_entries(int folder);

}  // namespace cleave::cache

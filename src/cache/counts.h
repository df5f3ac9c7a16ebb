// What a cache was used for: counted by each process, and added up in the file `totals` of the
// folder.
//
//   cleave-cache-totals 1
//   hits 12
//   ...
//   bypass 2 a custom operator        times, reason
//
// The file is one block of 4096 bytes, padded with newlines: it is written by one call, under
// flock(), so that processes neither tear it nor lose what another added. A count is lost where the
// lock isn't free within some milliseconds or the file can't be written; nothing depends on it.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace cleave::cache {

struct Counts {
  int64_t hits = 0;
  int64_t misses = 0;    // corrupt ones and failed reads too
  int64_t writes = 0;    // that succeeded
  int64_t corrupt = 0;   // files that weren't as they were written; they are removed
  int64_t failures = 0;  // reads and writes that the system refused
  std::map<std::string, int64_t, std::less<>> bypasses;  // by reason

  bool operator==(const Counts&) const = default;
};

Counts& operator+=(Counts& a, const Counts& b);

// At most 60 printable ASCII characters; others become `?`.
std::string bypass_reason(std::string_view text);

std::string print_counts(const Counts& counts);
// Lines of another form are left out, and a text without the first line counts nothing.
Counts parse_counts(std::string_view text);

// Of an open cache folder; zeros where there is no file.
Counts read_totals(int folder);
// False where it wasn't possible.
bool add_to_totals(int folder, const Counts& counts);
void clear_totals(int folder);

}  // namespace cleave::cache

// Targets as files, as `cleave tune` writes them:
//
//   cleave-target 1
//   set native
//   product_gflops 212.5
//   memory_gigabytes 25.1
//   # what isn't named is that of the common table
//
// A name and a value a line; `#` begins a comment. Numbers are above 0 and at most 1e12.
#pragma once
#include <string>

#include "base/result.h"
#include "cleave/target.h"

namespace cleave {

// Errors (user): another version, a name that isn't known or stands twice, what isn't such a
// number; each names the line. Unsupported: as parse_target.
Result<Target> parse_target_file(std::string_view text);

// parse_target_file gives the same target back.
std::string print_target_file(const Target& target);

// Also errors (user) of reading, each with the path; of a file above 64 KiB.
Result<Target> read_target_file(const std::string& path);

// A name of parse_target, or the path of a file: what has a `/` or a `.` is a path.
Result<Target> target_of(const std::string& name_or_path);

}  // namespace cleave

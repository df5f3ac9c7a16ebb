// Target files, as `cleave tune` writes them:
//
//   cleave-target 1
//   set native
//   product_gflops 212.5
//   memory_gigabytes 25.1
//   # rates that aren't named have the common table's values
//
// One name and value per line; `#` begins a comment. Numbers are above 0 and at most 1e12.
#pragma once
#include <string>

#include "base/result.h"
#include "cleave/target.h"

namespace cleave {

// Errors (user): another version, an unknown or repeated name, a value that isn't such a number;
// each names the line.
Result<Target> parse_target_file(std::string_view text);

// parse_target_file restores the same target from it.
std::string print_target_file(const Target& target);

// The same in one word, of the rates those that differ from the common table's:
// x86-64-v3,product_gflops:212.5. parse_target_word restores the same target from it.
std::string target_word(const Target& target);
// Error (user): another word.
Result<Target> parse_target_word(std::string_view word);

// Also returns errors (user) of reading, each with the path, and of a file above 64 KiB.
Result<Target> read_target_file(const std::string& path);

// Takes a name of parse_target or the path of a file: a text with a `/` or a `.` is a path.
Result<Target> target_of(const std::string& name_or_path);

}  // namespace cleave

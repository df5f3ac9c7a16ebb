// The sizes that a library holds programs for.
//
//   B in 1..64, T in 1..256, asked: B 1 8, T 256     ->   {1,256} {8,256}
//   B in 1..8, nothing asked                         ->   {1} {2} ... {8}
#pragma once
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "standalone/program_file.h"

namespace cleave::ahead {

struct AskedSizes {
  std::map<std::string, std::vector<int64_t>> sizes;  // by name
  size_t most = 32;    // programs of a library, where a size isn't asked for by name
  std::string option;  // that asks, for messages: "--size B=1,8"
};

// Every combination, in ascending order. A size that isn't asked for has its whole range, or the
// number `least` if it has no bounds. Errors (user): a name that no size has, a size outside of its
// bounds, a list without sizes, more than `most` combinations.
Result<std::vector<std::vector<int64_t>>> held_sizes(
    const std::vector<standalone::SizeEntry>& sizes, const AskedSizes& asked);

}  // namespace cleave::ahead

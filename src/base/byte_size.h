// Sizes as people write them: 1048576, 4096B, 64MiB, 1.5GB.
#pragma once
#include <cstdint>
#include <string>

#include "base/result.h"

namespace cleave {

// Returns bytes, rounded down. KiB MiB GiB are powers of 1024, KB MB GB of 1000. Returns a
// UserError that names `option` if the text is anything else, negative, or beyond 2^62.
Result<int64_t> parse_byte_size(const std::string& text, const std::string& option);

}  // namespace cleave

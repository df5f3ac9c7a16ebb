#include "tool/train/run_data.h"

#include <fmt/format.h>
#include <xxhash.h>

namespace cleave::tool {

void Digest::add(const void* data, size_t bytes) {
  state_ = XXH3_64bits_withSeed(data, bytes, state_);
}

std::string Digest::text() const { return fmt::format("{:016x}", state_); }

}  // namespace cleave::tool

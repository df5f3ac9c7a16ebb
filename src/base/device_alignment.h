// The alignment that memory of a GPU's program is rounded up to, so that planned and measured bytes
// agree there: a warp's 512 bytes are four lines of its cache, not parts of five, and cuBLASLt has
// all of its kernels to choose from.
#pragma once
#include <cstdint>

namespace cleave {

constexpr int64_t device_alignment = 256;

constexpr int64_t rounded_for_device(int64_t bytes) {
  return (bytes + device_alignment - 1) / device_alignment * device_alignment;
}

}  // namespace cleave

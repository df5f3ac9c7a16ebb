// The alignment that a program's memory is rounded up to, so that planned and measured bytes agree.
#pragma once
#include <cstdint>

namespace cleave {

constexpr int64_t storage_alignment = 64;

constexpr int64_t rounded(int64_t bytes) {
  return (bytes + storage_alignment - 1) / storage_alignment * storage_alignment;
}

}  // namespace cleave

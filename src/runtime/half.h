// The two 16-bit floating types as C++ types: converted to float for arithmetic, and rounded to
// nearest even when converted back. A NaN stays a NaN.
#pragma once
#include <bit>
#include <cstdint>

namespace cleave::runtime {

// The upper 16 bits of a float.
struct Bf16 {
  uint16_t bits = 0;

  Bf16() = default;
  explicit Bf16(float value) {
    const auto word = std::bit_cast<uint32_t>(value);
    const bool nan = (word & 0x7fffffffu) > 0x7f800000u;
    const uint32_t up = word + 0x7fffu + ((word >> 16) & 1u);
    bits = static_cast<uint16_t>((nan ? word | 0x00400000u : up) >> 16);
  }
  explicit operator float() const { return std::bit_cast<float>(uint32_t{bits} << 16); }
};

// IEEE binary16.
#if defined(__aarch64__) && defined(__GNUC__) && !defined(__clang__) && __GNUC__ < 13
using F16 = __fp16;  // g++ 12 has no other name for it there
#else
using F16 = _Float16;
#endif

}  // namespace cleave::runtime

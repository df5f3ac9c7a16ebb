// The processor that a program is compiled for: a plain value.
//
//   Options options{.target = Target::named("x86-64-v3")};
//
//   text             runs where there is          x86-64-psABI's level of that name, and
//   native           -                            all else that this machine has
//   x86-64-v2        SSE4.2
//   x86-64-v3        AVX2, FMA, F16C
//   x86-64-v4        AVX-512 F, BW, CD, DQ, VL
//   x86-64-v4-bf16   AVX512_BF16                  AVX512_BF16
//
// Kernels of products, attention and convolutions, their workspaces (and so the planned peak), and
// the instructions of generated code hang on it. A program may be planned and compiled for any of
// them; it runs where the machine has what the target names.
#pragma once
#include <cstdint>
#include <string_view>

#include "cleave/error.h"

namespace cleave {

// What some kernels are compiled for apart, each with all before it.
enum class InstructionSet : uint8_t {
  plain,       // of any processor
  avx2,        // AVX2, FMA, F16C and the rest of x86-64-v3
  avx512,      // AVX-512 F, BW, CD, DQ, VL
  avx512bf16,  // AVX512_BF16
};

struct Target {
  InstructionSet set = InstructionSet::plain;
  bool is_native = false;  // generated code may use all that this machine has

  // This machine's.
  CLEAVE_API static Target here();
  // By its text. Errors: user for a text that is none of the above; unsupported for aarch64.
  CLEAVE_API static Target named(std::string_view text);
  CLEAVE_API std::string_view text() const;
  // Whether this machine has what the target names.
  CLEAVE_API bool runs_here() const;

  bool operator==(const Target&) const = default;
};

}  // namespace cleave

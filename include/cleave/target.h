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
//
// Its rates say what work costs there: what is fused and what is computed again is chosen by them.
// They are one table for all processors unless a file has others; `cleave tune` measures those of
// this machine and writes them:
//
//   Options options{.target = Target::read("this_machine.target")};
#pragma once
#include <cstdint>
#include <string>
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

// All cores together. A core of 2021 with AVX2 and its share of DRAM; of use as ratios.
struct MachineRates {
  double product_gflops = 90;    // f32: products, convolution, attention
  double pointwise_gflops = 20;  // generated kernels
  double memory_gigabytes = 12;  // a second, read and written, where no cache holds them
  double cache_gigabytes = 164;  // the same where the second-level caches do
  double call_ns = 400;          // until a kernel begins
  double cache_bytes = 1 << 20;  // of a core's second-level cache

  bool operator==(const MachineRates&) const = default;
};

struct Target {
  InstructionSet set = InstructionSet::plain;
  bool is_native = false;  // generated code may use all that this machine has
  MachineRates rates = {};

  // This machine's.
  CLEAVE_API static Target here();
  // By its text. Errors: user for a text that is none of the above; unsupported for aarch64.
  CLEAVE_API static Target named(std::string_view text);
  CLEAVE_API std::string_view text() const;
  // A file that write() or `cleave tune` made. Errors: user, with path and line, for a file that
  // can't be read, another version, a name or number that isn't one.
  CLEAVE_API static Target read(const std::string& path);
  // Replaces the file, or leaves it as it was. Errors: user, the system's reason.
  CLEAVE_API void write(const std::string& path) const;
  // Whether this machine has what the target names.
  CLEAVE_API bool runs_here() const;

  bool operator==(const Target&) const = default;
};

}  // namespace cleave

// The machine that a program is compiled for, a processor or a GPU: a plain value.
//
//   CompileOptions options{.target = Target::named("x86-64-v3")};
//
//   text             requires                     generated code uses the x86-64-psABI level, and
//   native           -                            all else that this machine has
//   x86-64-v2        SSE4.2
//   x86-64-v3        AVX2, FMA, F16C
//   x86-64-v4        AVX-512 F, BW, CD, DQ, VL
//   x86-64-v4-bf16   AVX512_BF16                  AVX512_BF16
//   x86-64-v4-amx    AMX_BF16, and that before    nothing more: it is for products of bf16
//   aarch64          Advanced SIMD (ARMv8-A)      nothing more, `native` neither
//   cuda             an NVIDIA GPU                what the first one of this machine has
//   sm_90, ...       a GPU of this architecture   the architecture: 75, 80, 86, 87, 88, 89, 90,
//                                                 100, 103, 110, 120, 121
//
// The target determines the kernels of products, attention and convolutions, their workspaces (and
// so the planned peak), and the instructions of generated code. A program may be planned for any
// target, and compiled for those of this machine's architecture; it runs on machines that have what
// the target names.
//
// Its rates say what work costs: fusion and recomputation decide by them. All processors share one
// table of rates, all GPUs another, unless a file provides others; `cleave tune` measures those of
// this machine and writes them:
//
//   CompileOptions options{.target = Target::read("this_machine.target")};
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "cleave/error.h"

namespace cleave {

// The instruction sets that some kernels are compiled for separately: that of aarch64, then those
// of x86-64, each including all before it down to `plain`.
enum class InstructionSet : uint8_t {
  neon,        // Advanced SIMD of every aarch64: 128 bits, fused multiply-add
  plain,       // of any processor
  avx2,        // AVX2, FMA, F16C and the rest of x86-64-v3
  avx512,      // AVX-512 F, BW, CD, DQ, VL
  avx512bf16,  // AVX512_BF16
  amx,         // AMX_TILE and AMX_BF16, with the system's permission to use them
};

// All cores together. Defaults: a core of 2021 with AVX2, its share of DRAM; meaningful as ratios.
// Those of GPUs are an H200's, without tf32.
struct MachineRates {
  double product_gflops = 90;       // f32: products, convolution, attention
  double half_product_gflops = 90;  // bf16 and f16: the same
  double pointwise_gflops = 20;     // generated kernels
  double memory_gigabytes = 12;     // a second, read and written, from beyond the caches
  double cache_gigabytes = 164;     // a second, read and written, from the second-level caches
  double call_ns = 400;             // overhead before a kernel starts
  double cache_bytes = 1 << 20;     // a core's second-level cache
  // A second, each way between the device's memory and the host's; 0: they are the same.
  double host_gigabytes = 0;

  bool operator==(const MachineRates&) const = default;
};

struct Target {
  InstructionSet set = InstructionSet::plain;
  bool is_native = false;  // generated code may use all that this machine has
  MachineRates rates = {};
  // 90 for sm_90; 0: the processor. Of a GPU `set` says nothing, and is_native that it is the one
  // of this machine.
  int cuda_arch = 0;
  // By call of a library that knows several ways, in order of what it expects of them: which one is
  // taken; others are made by the first. `cleave tune GRAPH` measures it.
  std::map<std::string, int> answers = {};
  // Of a GPU: CompileOptions::deterministic, of the programs for it.
  bool is_deterministic = true;

  // The target of this machine.
  CLEAVE_API static Target here();
  // Parses the text above. Errors: user for any other text; unsupported for cuda where there is no
  // GPU or no driver of one.
  CLEAVE_API static Target named(std::string_view text);
  CLEAVE_API std::string_view text() const;
  // Reads a file that write() or `cleave tune` wrote. Errors: user, with path and line, for a file
  // that can't be read, another version, an unknown name or a malformed number.
  CLEAVE_API static Target read(const std::string& path);
  // Replaces the file, or leaves it unchanged on an error. Errors: user, with the system's reason.
  CLEAVE_API void write(const std::string& path) const;
  // Whether this machine has what the target names.
  CLEAVE_API bool runs_here() const;

  bool operator==(const Target&) const = default;
};

}  // namespace cleave

#include "ahead/kernel_tables.h"

#include <fmt/format.h>

#include <array>
#include <string_view>

#include "runtime/attention_block.h"
#include "runtime/direct_block.h"
#include "runtime/gemm_block.h"

namespace cleave::ahead {
namespace {

constexpr size_t most_bytes = 4096;
static_assert(sizeof(runtime::GemmBlockKernels) <= most_bytes);
static_assert(sizeof(runtime::AttentionKernels) <= most_bytes);
static_assert(sizeof(runtime::DirectKernels) <= most_bytes);

// A table, and the sets whose programs look at it.
struct Table {
  std::string_view name;  // in cleave::runtime
  InstructionSet first, last;
};

using enum InstructionSet;
constexpr std::array tables = {
    Table{"attention_kernels_amx", amx, amx},
    Table{"attention_kernels_avx2", avx2, avx2},
    Table{"attention_kernels_avx512", avx512, amx},
    Table{"attention_kernels_neon", neon, neon},
    Table{"attention_kernels_plain", plain, plain},
    Table{"copy_transposed_avx2", avx2, avx2},
    Table{"copy_transposed_avx512", avx512, amx},
    Table{"direct_kernels_avx2", avx2, avx2},
    Table{"direct_kernels_avx512", avx512, amx},
    Table{"direct_kernels_neon", neon, neon},
    Table{"direct_kernels_plain", plain, plain},
    Table{"gemm_kernels_amx", amx, amx},
    Table{"gemm_kernels_avx2", avx2, avx2},
    Table{"gemm_kernels_avx512", avx512, amx},
    Table{"gemm_kernels_avx512bf16", avx512bf16, amx},
    Table{"gemm_kernels_neon", neon, neon},
    Table{"gemm_kernels_plain", plain, plain},
    Table{"window_packing_avx2", avx2, avx2},
    Table{"window_packing_avx2_bf16", avx2, avx2},
    Table{"window_packing_avx2_f16", avx2, avx2},
    Table{"window_packing_avx512", avx512, amx},
    Table{"window_packing_avx512_bf16", avx512, amx},
    Table{"window_packing_avx512_f16", avx512, amx},
};

}  // namespace

std::string absent_tables_text(InstructionSet set) {
  std::string out;
  for (const Table& t : tables)
    if (set < t.first || t.last < set)
      out += fmt::format("__attribute__((aligned(64))) char _ZN6cleave7runtime{}{}E[{}];\n",
                         t.name.size(), t.name, most_bytes);
  return out;
}

}  // namespace cleave::ahead

// Which kernels NVRTC compiles together.
// tests: emit_units.cpp
#include <gtest/gtest.h>

#include <set>

#include "backend/cuda/emit_units.h"
#include "backend/cuda/nvrtc.h"
#include "loop/parse.h"
#include "schedule/schedule.h"

namespace cleave::test {
namespace {

// So many kernels of one name, each of which adds another number.
std::vector<loop::Kernel> kernels_of(size_t count) {
  std::vector<loop::Kernel> out;
  for (size_t k = 0; k < count; ++k)
    out.push_back(schedule::schedule(value_or_throw(loop::parse_kernel(
        fmt::format("kernel %y(%x: f32[300] read, %y: f32[300] write) {{\n"
                    "  for p in 300 parallel {{\n    %y[p] = %x[p] + {}.0\n  }}\n}}\n",
                    k),
        "t"))));
  return out;
}

EmittedCode emitted(const std::vector<loop::Kernel>& kernels) {
  return cuda::emit_kernels(kernels, schedule::share_kernels(kernels));
}

TEST(CudaUnits, grow_slower_than_kernels) {
  for (const auto& [kernels, units] :
       {std::pair<size_t, size_t>{0, 0}, {1, 1}, {4, 4}, {10, 7}, {52, 16}})
    EXPECT_EQ(emitted(kernels_of(kernels)).units.size(), units) << kernels;
}

TEST(CudaUnits, hold_each_function_once) {
  const std::vector<loop::Kernel> kernels = kernels_of(20);
  const EmittedCode code = emitted(kernels);
  std::set<std::string> symbols;
  for (const EmittedKernel& k : code.kernels) {
    const std::string& symbol = k.phases[0].symbol;
    EXPECT_TRUE(symbols.insert(symbol).second) << symbol;
    for (size_t u = 0; u < code.units.size(); ++u)
      EXPECT_EQ(code.units[u].text.find("\n" + symbol + "(") != std::string::npos, u == k.unit)
          << symbol << " in " << u;
  }
  const Result<cuda::NvrtcPtr> nvrtc = cuda::Nvrtc::here();
  if (!nvrtc.ok()) GTEST_SKIP() << "not compiled: " << nvrtc.failure().message;
  for (const SourceUnit& unit : code.units) {
    const auto cubin = (*nvrtc)->compile(unit.text, 90, "unit");
    EXPECT_TRUE(cubin.ok()) << cubin.failure().message << unit.text;
  }
}

TEST(CudaUnits, equal_kernels_are_one) {
  std::vector<loop::Kernel> kernels = kernels_of(2);
  kernels.push_back(kernels[0]);
  const EmittedCode code = emitted(kernels);
  EXPECT_EQ(code.units.size(), 2u);
  EXPECT_EQ(code.kernels[2].unit, code.kernels[0].unit);
  EXPECT_EQ(code.kernels[2].phases[0].symbol, code.kernels[0].phases[0].symbol);
}

}  // namespace
}  // namespace cleave::test

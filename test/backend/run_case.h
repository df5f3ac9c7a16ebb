// A case of library_cases.h on the simulated device.
#pragma once
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>

#include "backend/cuda/library.h"
#include "cleave/executor.h"
#include "run/run_context.h"
#include "test/backend/library_cases.h"
#include "test/backend/simulated_device.h"

namespace cleave::test {

// What it writes, with scratch of NaN and a guard after it.
inline std::array<CaseOperand, max_library_operands> run_case(const LibraryCase& c,
                                                              const LibraryFunction& function) {
  auto operands = c.operands;
  std::array<void*, max_library_operands> at{};
  for (size_t i = 0; i < at.size(); ++i)
    if (operands[i].is_there) at[i] = operands[i].bytes.data() + operands[i].offset;
  const auto bytes = static_cast<size_t>(function.scratch_bytes());
  EXPECT_EQ(bytes % 64, 0u);
  const std::unique_ptr<std::byte, decltype(&std::free)> scratch(
      static_cast<std::byte*>(std::aligned_alloc(64, bytes + 64)), std::free);
  std::memset(scratch.get(), 0xff, bytes);
  std::memset(scratch.get() + bytes, 0x77, 64);
  static const auto pool = make_thread_pool(1);
  function.call(at.data(), scratch.get(), {*pool});
  for (size_t i = 0; i < 64; ++i)
    EXPECT_EQ(scratch.get()[bytes + i], std::byte{0x77}) << "scratch overrun";
  return operands;
}

inline std::array<CaseOperand, max_library_operands> run_case(
    const LibraryCase& c, const cuda::LibraryDevicePtr& device) {
  return run_case(c, *value_or_throw(cuda::make_library(c.spec, device)));
}

inline void expect_as_the_cpu(const LibraryCase& c, const cuda::LibraryDevicePtr& device) {
  ASSERT_EQ(difference(c, run_case(c, device), expected(c)), "");
}

}  // namespace cleave::test

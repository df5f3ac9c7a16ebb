// Measured rates: they depend on the machine, so only their order of magnitude is checked.
#include "exec/measure_rates.h"

#include <gtest/gtest.h>

#include "test/random_inputs.h"

namespace cleave {
namespace {

TEST(MeasureRates, are_those_of_a_machine) {
  const MachineRates r =
      value_or_throw(measure_rates(test::core(), Target::here(), make_thread_pool(1)));
  for (const double gigabytes : {r.memory_gigabytes, r.cache_gigabytes}) {
    EXPECT_GT(gigabytes, 0.05);
    EXPECT_LT(gigabytes, 1e5);
  }
  for (const double gflops : {r.product_gflops, r.pointwise_gflops}) {
    EXPECT_GT(gflops, 0.05);
    EXPECT_LT(gflops, 1e6);
  }
  EXPECT_GE(r.call_ns, 10);
  EXPECT_LT(r.call_ns, 1e7);
  EXPECT_GE(r.cache_bytes, 16 << 10);
  EXPECT_FALSE(r == MachineRates());
}

}  // namespace
}  // namespace cleave

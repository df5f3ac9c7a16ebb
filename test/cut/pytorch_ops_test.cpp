// PyTorch may recompute whatever its tag calls pointwise: an operator that is added here must be in
// the list, too, or among those that PyTorch doesn't tag (make peer-partition compares all lists).
#include "cut/pytorch_ops.h"

#include <gtest/gtest.h>

#include <set>

#include "test/random_inputs.h"

namespace cleave {
namespace {

const std::set<std::string> untagged = {"copy",
                                        "elu_backward",
                                        "empty_permuted",
                                        "empty_strided",
                                        "fill",
                                        "hardsigmoid_backward",
                                        "hardswish",
                                        "hardswish_backward",
                                        "hardtanh_backward",
                                        "leaky_relu_backward",
                                        "ones_like"};

TEST(PytorchOps, recompute_what_is_pointwise) {
  size_t count = 0;
  for (const auto& each : test::core().all()) {
    const OpDef& op = *each;
    if (!has(op.traits, Trait::pointwise) || has(op.traits, Trait::random)) continue;
    ++count;
    EXPECT_EQ(pytorch_op(op).recomputable, !untagged.contains(op.name)) << op.name;
  }
  EXPECT_GT(count, 50u);
}

}  // namespace
}  // namespace cleave

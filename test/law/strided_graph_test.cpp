// Graphs with strides on placeholders and results compute what the same graphs compute without, in
// every engine.
#include <gtest/gtest.h>

#include "ir/strides.h"
#include "test/random_inputs.h"
#include "test/sample/check_budgets.h"
#include "test/sample/check_graph.h"
#include "test/sample/check_strides.h"
#include "test/sample/strided_graph.h"

namespace cleave::random {
namespace {

using test::core;
using test::parsed;

RandomGraph joint_of(uint64_t seed) {
  return value_or_throw(
      with_gradients(value_or_throw(random_graph(core(), seed, {})), core(), seed));
}

TEST(StridedGraphs, most_kinds_are_drawn) {
  int permuted = 0, gaps = 0, over_itself = 0, results = 0, updated = 0, ones = 0;
  for (uint64_t seed = 0; seed < 80; ++seed) {
    const RandomGraph r = with_strides(joint_of(seed), seed);
    ASSERT_TRUE(verify(r.g).ok()) << verify(r.g).failure().message;
    EXPECT_EQ(print(parsed(print(r.g))), print(r.g));
    for (const Placeholder& p : r.g.placeholders()) {
      const Type& t = r.g.type(p.value);
      if (!t.strides) continue;
      over_itself += overlaps_itself(t);
      gaps += memory_elements(t) > t.numel().value();
      permuted += memory_elements(t) == t.numel().value() && !is_row_major(t);
      for (size_t d = 0; d < t.shape.size(); ++d)
        ones += t.shape[d] == Dim(1) && (*t.strides)[d].value() > 1000;
    }
    for (size_t k = 0; k < r.g.returns().size(); ++k) {
      const bool plain = is_row_major(returned_type(r.g, k));
      (r.g.returns()[k].kind == ReturnKind::update ? updated : results) += !plain;
    }
  }
  EXPECT_GT(permuted, 10);
  EXPECT_GT(gaps, 20);
  EXPECT_GT(over_itself, 20);
  EXPECT_GT(results, 20);
  EXPECT_GT(updated, 5);
  EXPECT_GT(ones, 5);
}

TEST(StridedGraphs, compiled_as_the_oracle) {
  int64_t elements = 0;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    const RandomGraph r = with_strides(joint_of(seed), seed);
    const Result<Verdict> v = check_graph(r, core(), CompilerChoice::none);
    ASSERT_TRUE(v.ok()) << "seed " << seed << ": " << v.failure().message;
    EXPECT_EQ(v->difference, "") << "seed " << seed;
    elements += v->elements;
  }
  EXPECT_GT(elements, 10000);
}

TEST(StridedGraphs, the_same_bits_as_row_major) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    const RandomGraph r = with_strides(joint_of(seed), seed);
    const Result<std::string> d = stride_difference(r, core());
    ASSERT_TRUE(d.ok()) << "seed " << seed << ": " << d.failure().message;
    EXPECT_EQ(*d, "") << "seed " << seed;
  }
}

TEST(StridedGraphs, the_same_bits_as_machine_code) {
  for (uint64_t seed = 60; seed < 64; ++seed) {
    const RandomGraph r = with_strides(joint_of(seed), seed);
    const Result<std::string> d = stride_difference(r, core(), CompilerChoice::automatic);
    ASSERT_TRUE(d.ok()) << "seed " << seed << ": " << d.failure().message;
    EXPECT_EQ(*d, "") << "seed " << seed;
  }
}

TEST(StridedGraphs, budgets_hold) {
  int64_t recomputing = 0;
  for (uint64_t seed = 100; seed < 112; ++seed) {
    const RandomGraph r = with_strides(joint_of(seed), seed);
    const Result<BudgetVerdict> v = check_budgets(r, core(), {0, 0.5});
    ASSERT_TRUE(v.ok()) << "seed " << seed << ": " << v.failure().message;
    EXPECT_EQ(v->violation, "") << "seed " << seed;
    recomputing += v->recomputing;
  }
  EXPECT_GT(recomputing, 0);
}

}  // namespace
}  // namespace cleave::random

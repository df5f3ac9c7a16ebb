// Products with a group each beside sums in f64: ends of every kind, strides, numbers of threads.
#include "runtime/grouped_product.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "cleave/executor.h"
#include "library/spec.h"
#include "run/run_context.h"
#include "test/targets.h"

namespace cleave::runtime {
namespace {

using cleave::test::targets_here;

struct Case {
  GroupedProductSpec spec;
  std::vector<float> a, b;
  std::vector<int32_t> ends;
};

int64_t grouped_size(const GroupedProductSpec& s) {
  return s.along == GroupedDim::rows ? s.m : s.along == GroupedDim::columns ? s.n : s.k;
}

Case random_case(std::mt19937& random, GroupedDim along) {
  const auto pick = [&](int64_t lo, int64_t hi) {
    return std::uniform_int_distribution<int64_t>(lo, hi)(random);
  };
  Case c;
  GroupedProductSpec& s = c.spec;
  s = {
      .along = along, .groups = pick(0, 9), .m = pick(1, 150), .n = pick(1, 150), .k = pick(0, 70)};
  if (pick(0, 3) == 0) s.k = pick(300, 700);
  const bool a_turned = pick(0, 1) == 1, b_turned = pick(0, 1) == 1;
  s.a_row = a_turned ? 1 : s.k, s.a_col = a_turned ? s.m : 1;
  s.b_row = b_turned ? 1 : s.n, s.b_col = b_turned ? s.k : 1;
  if (along == GroupedDim::columns) s.a_group = s.m * s.k;
  if (along == GroupedDim::rows) s.b_group = s.k * s.n;
  std::normal_distribution<float> normal;
  const auto fill = [&](std::vector<float>& x, int64_t matrix, int64_t stride) {
    x.resize(static_cast<size_t>(stride == 0 ? matrix : stride * s.groups) + 1);
    for (float& v : x) v = normal(random);
  };
  fill(c.a, s.m * s.k, s.a_group);
  fill(c.b, s.k * s.n, s.b_group);
  for (int64_t g = 0; g < s.groups; ++g)
    c.ends.push_back(static_cast<int32_t>(pick(-2, grouped_size(s) + 2)));
  if (pick(0, 3) != 0) std::ranges::sort(c.ends);
  c.ends.push_back(0);
  return c;
}

std::vector<double> expected(const Case& c) {
  const GroupedProductSpec& s = c.spec;
  const bool is_inner = s.along == GroupedDim::inner;
  std::vector<double> y(static_cast<size_t>(s.m * s.n * (is_inner ? s.groups : 1)), 0.0);
  int64_t begin = 0;
  for (int64_t g = 0; g < s.groups; ++g) {
    const int64_t end = std::clamp<int64_t>(c.ends[g], begin, grouped_size(s));
    const auto in = [&](GroupedDim d, int64_t x) {
      return s.along != d || (x >= begin && x < end);
    };
    for (int64_t i = 0; i < s.m; ++i)
      for (int64_t j = 0; j < s.n; ++j)
        for (int64_t p = 0; p < s.k; ++p)
          if (in(GroupedDim::rows, i) && in(GroupedDim::columns, j) && in(GroupedDim::inner, p))
            y[((is_inner ? g : 0) * s.m + i) * s.n + j] +=
                double{c.a[g * s.a_group + i * s.a_row + p * s.a_col]} *
                double{c.b[g * s.b_group + p * s.b_row + j * s.b_col]};
    begin = end;
  }
  return y;
}

std::vector<float> run(const Case& c, const Target& target, int threads) {
  const LibraryFunctionPtr f = value_or_throw(make_grouped_product(c.spec, target));
  const size_t size = expected(c).size();
  std::vector<float> y(size + 16, NAN);
  std::vector<char> scratch(static_cast<size_t>(f->scratch_bytes()) + 128);
  char* aligned = scratch.data() + (64 - reinterpret_cast<uintptr_t>(scratch.data()) % 64);
  const char guard = 77;
  aligned[f->scratch_bytes()] = guard;
  void* at[max_library_operands] = {const_cast<float*>(c.a.data()), const_cast<float*>(c.b.data()),
                                    const_cast<int32_t*>(c.ends.data()), y.data()};
  f->call(at, aligned, {.executor = *make_thread_pool(threads)});
  EXPECT_EQ(aligned[f->scratch_bytes()], guard);
  for (size_t i = size; i < y.size(); ++i) EXPECT_TRUE(std::isnan(y[i])) << i;
  y.resize(size);
  return y;
}

class GroupedProduct : public testing::TestWithParam<GroupedDim> {};

TEST_P(GroupedProduct, near_f64_and_the_same_on_any_number_of_threads) {
  std::mt19937 random(static_cast<unsigned>(GetParam()));
  for (int n = 0; n < 10; ++n) {
    const Case c = random_case(random, GetParam());
    const std::vector<double> want = expected(c);
    for (const Target& target : targets_here()) {
      const std::vector<float> y = run(c, target, 1);
      for (size_t i = 0; i < want.size(); ++i)
        ASSERT_NEAR(y[i], want[i], 1e-4) << target.text() << " case " << n << " element " << i;
      EXPECT_EQ(y, run(c, target, 3)) << target.text() << " case " << n;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Along, GroupedProduct,
                         testing::Values(GroupedDim::rows, GroupedDim::columns, GroupedDim::inner));

TEST(GroupedProductErrors, refuses_what_has_no_products) {
  const auto made = make_grouped_product({.dtype = DType::boolean}, targets_here().front());
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.failure().message, "grouped product: products of bool are not covered");
}

}  // namespace
}  // namespace cleave::runtime

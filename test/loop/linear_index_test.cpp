// Sums of factors times atoms, against what they are at random points.
#include "loop/linear_index.h"

#include <gtest/gtest.h>

#include <array>
#include <random>

namespace cleave::loop {
namespace {

constexpr int atoms = 5;
using Point = std::array<int64_t, atoms>;

int64_t at(const LinearIndex& x, const Point& p) {
  int64_t out = x.constant;
  for (const auto& t : x.terms) out += t.factor * p[static_cast<size_t>(t.atom)];
  return out;
}

class LinearIndexTest : public testing::Test {
 protected:
  int64_t number(int64_t most) {
    return static_cast<int64_t>(rng_() % static_cast<uint64_t>(2 * most + 1)) - most;
  }
  LinearIndex form() {
    LinearIndex out{number(20)};
    for (int k = 0; k < 4; ++k) out.add(static_cast<int32_t>(rng_() % atoms), number(3));
    return out;
  }
  Point point() {
    Point p;
    for (int64_t& v : p) v = number(50);
    return p;
  }

 private:
  std::mt19937_64 rng_{11};
};

TEST_F(LinearIndexTest, sums_have_the_values_of_their_terms) {
  for (int round = 0; round < 2000; ++round) {
    const LinearIndex a = form(), b = form();
    const Point p = point();
    const int64_t factor = number(4);
    LinearIndex sum = a;
    sum.add(b, factor);
    ASSERT_EQ(at(sum, p), at(a, p) + factor * at(b, p));
    for (int k = 0; k < atoms; ++k)
      ASSERT_EQ(sum.factor_of(k), a.factor_of(k) + factor * b.factor_of(k));
  }
}

TEST_F(LinearIndexTest, equal_sums_are_equal) {
  for (int round = 0; round < 2000; ++round) {
    const LinearIndex a = form(), b = form();
    LinearIndex there = a, back = b;
    there.add(b), back.add(a);
    ASSERT_EQ(there, back);
    there.add(b, -1);
    ASSERT_EQ(there, a);
    there.add(a, -1);
    ASSERT_EQ(there, LinearIndex());
    ASSERT_TRUE(there.terms.empty());
    const Point apart = {1, 100, 10000, 1000000, 100000000};  // tells all factors here
    ASSERT_EQ(a == b, at(a, apart) == at(b, apart));
  }
}

TEST_F(LinearIndexTest, multiples_and_rest_are_the_whole) {
  for (int round = 0; round < 2000; ++round) {
    const LinearIndex x = form();
    const int64_t divisor = 1 + std::abs(number(5));
    LinearIndex rest = x;
    const LinearIndex quotient = rest.take_multiples(divisor);
    LinearIndex back = rest;
    back.add(quotient, divisor);
    ASSERT_EQ(back, x);
    ASSERT_TRUE(rest.constant >= 0 && rest.constant < divisor);
    for (const auto& t : rest.terms) ASSERT_NE(t.factor % divisor, 0);
  }
}

}  // namespace
}  // namespace cleave::loop

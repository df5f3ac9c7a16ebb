// Expressions are one node if they are equal, and leave nothing behind.
#include "loop/expr_table.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <thread>

namespace cleave::loop {
namespace {

// Without looking at nodes' identities.
bool are_equal(const Expr& a, const Expr& b) {
  return a->is_same_operation(*b) && std::ranges::equal(a->args, b->args, are_equal);
}

Expr var(int64_t id) { return make_var(id, "v" + std::to_string(id), DType::i64); }

TEST(ExprTable, equal_expressions_are_one_node) {
  EXPECT_TRUE(var(1) * Expr(8) + var(2) == var(1) * Expr(8) + var(2));
  EXPECT_TRUE(load(0, DType::f32, var(1)) == load(0, DType::f32, var(1)));
  EXPECT_TRUE(constant(DType::f32, std::nan("")) == constant(DType::f32, -std::nan("")));
  EXPECT_TRUE(unary(Op::exp, constant(DType::f64, 2)) == unary(Op::exp, constant(DType::f64, 2)));
}

TEST(ExprTable, what_differs_in_anything_is_another_node) {
  const Expr x = load(0, DType::bf16, var(1));
  EXPECT_FALSE(constant(DType::f32, 0.0) == constant(DType::f32, -0.0));
  EXPECT_FALSE(constant(DType::f32, 1) == constant(DType::f64, 1));
  EXPECT_FALSE(constant_int(DType::i32, 1) == constant_int(DType::i64, 1));
  EXPECT_FALSE(var(1) == var(2));
  EXPECT_FALSE(var(1) == make_var(1, "other", DType::i64));
  EXPECT_FALSE(x == load(1, DType::bf16, var(1)));
  EXPECT_FALSE(round_to_stored(x, DType::bf16) == round_to_stored(x, DType::f16));
  EXPECT_FALSE(var(1) + var(2) == var(2) + var(1));
  EXPECT_FALSE(var(1) + var(2) == var(1) - var(2));
}

// Values of few kinds, so that equal ones are frequent.
Exprs random_exprs(uint64_t seed, int count) {
  std::mt19937_64 rng(seed);
  Exprs pool = {var(0), var(1), Expr(0), Expr(3)};
  for (int k = 0; k < count; ++k) {
    const Expr a = pool[rng() % pool.size()], b = pool[rng() % pool.size()];
    switch (rng() % 6) {
      case 0: pool.push_back(a + b); break;
      case 1: pool.push_back(a * b); break;
      case 2: pool.push_back(binary(Op::max, a, b)); break;
      case 3:
        pool.push_back(cast(load(static_cast<int64_t>(rng() % 2), DType::i32, a), a.type()));
        break;
      case 4: pool.push_back(select(binary(Op::lt, a, b), a, b)); break;
      default: pool.push_back(unary(Op::neg, a)); break;
    }
  }
  return pool;
}

TEST(ExprTable, identity_is_equality_of_random_expressions) {
  int equal = 0;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    Exprs pool = random_exprs(seed, 20), more = random_exprs(seed + 1, 20);
    pool.insert(pool.end(), more.begin(), more.end());
    for (const Expr& a : pool)
      for (const Expr& b : pool) {
        ASSERT_EQ(a == b, are_equal(a, b)) << "seed " << seed;
        equal += a == b;
      }
  }
  EXPECT_GT(equal, 40 * 48);
}

TEST(ExprTable, it_holds_nothing) {
  const size_t before = ExprTable::all().size();
  {
    Exprs kept = random_exprs(3, 2000);
    EXPECT_GT(ExprTable::all().size(), before + 100);
  }
  EXPECT_EQ(ExprTable::all().size(), before);
  Expr deep = var(0);
  for (int k = 0; k < 4000; ++k) deep = deep + var(1);
  deep = Expr();
  EXPECT_EQ(ExprTable::all().size(), before);
}

TEST(ExprTable, what_stays_is_found_when_others_have_left) {
  constexpr int64_t count = 6000;
  Exprs held;
  for (int64_t k = 0; k < count; ++k) held.push_back(var(k));
  std::mt19937 rng(1);
  for (int round = 0; round < 3; ++round) {
    for (Expr& e : held)
      if (rng() % 3 == 0) e = Expr();
    for (int64_t k = 0; k < count; ++k) {
      const Expr& e = held[static_cast<size_t>(k)];
      ASSERT_TRUE(!e.defined() || e == var(k)) << k;
    }
  }
}

TEST(ExprTable, threads_find_the_same_nodes) {
  const size_t before = ExprTable::all().size();
  constexpr int rounds = 200;
  std::vector<Exprs> last(4);
  std::vector<std::thread> threads;
  for (Exprs& own : last)
    threads.emplace_back([&own] {
      for (int k = 0; k < rounds; ++k) own = random_exprs(static_cast<uint64_t>(k), 60);
    });
  for (std::thread& t : threads) t.join();
  for (const Exprs& own : last) EXPECT_TRUE(own == last[0]);
  last.clear();
  EXPECT_EQ(ExprTable::all().size(), before);
}

}  // namespace
}  // namespace cleave::loop

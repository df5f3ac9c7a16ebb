// What the expressions of a statement share, counted from them and by walking through every path.
#include "loop/shared_parts.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

namespace cleave::loop {
namespace {

const Expr i = make_var(0, "i", DType::i64), c = make_var(1, "c", DType::boolean);
const Expr x = load(0, DType::f32, i), t = unary(Op::exp, make_var(2, "a", DType::f32));

TEST(SharedParts, count_what_several_operations_and_roots_read) {
  const SharedParts product(Exprs{t * t + x});
  EXPECT_TRUE(product.is_shared(t));
  EXPECT_FALSE(product.is_shared(x));
  EXPECT_TRUE(SharedParts(Exprs{x + t, x - t}).is_shared(x));
  // What is shared is read once by its own part.
  const Expr once = unary(Op::sqrt, t);
  EXPECT_FALSE(SharedParts(Exprs{once * once}).is_shared(t));
}

TEST(SharedParts, memory_of_an_arm_is_not_read_before) {
  const Expr zero = constant(DType::f32, 0), in_arm = select(c, x * x, zero);
  EXPECT_TRUE(SharedParts(Exprs{in_arm}).is_shared(x));
  EXPECT_FALSE(SharedParts(Exprs{in_arm}).is_computed_before(x));
  EXPECT_TRUE(SharedParts(Exprs{in_arm + x}).is_computed_before(x));
  EXPECT_TRUE(SharedParts(Exprs{x, in_arm}).is_computed_before(x));
  EXPECT_TRUE(SharedParts(Exprs{select(c, t * t, zero)}).is_computed_before(t));
  const Expr test = binary(Op::lt, x * x, zero);
  EXPECT_TRUE(SharedParts(Exprs{select(test, zero, t)}).is_computed_before(x));
}

// Every operation and who reads it, and what is on a path without an arm.
struct Walk {
  std::map<const ExprNode*, std::multiset<const ExprNode*>> readers;
  std::set<const ExprNode*> always;

  void walk(const Expr& e, bool reached) {
    if (is_leaf(e)) return;
    if (reached) always.insert(&*e);
    for (size_t k = 0; k < e->args.size(); ++k)
      walk(e->args[k], reached && (e->op != Op::select || k == 0));
  }
  void all(const Exprs& roots) {
    for (const Expr& e : roots) {
      readers[&*e].insert(nullptr);
      walk(e, true);
      collect(e);
    }
  }
  void collect(const Expr& e) {
    if (is_leaf(e) || !seen.insert(&*e).second) return;
    for (const Expr& a : e->args) readers[&*a].insert(&*e), collect(a);
  }
  std::set<const ExprNode*> seen;
};

TEST(SharedParts, random_statements) {
  std::mt19937 rng(5);
  int shared = 0, computed_before = 0;
  for (int round = 0; round < 300; ++round) {
    Exprs pool = {x, t, constant(DType::f32, 2)};
    const auto any = [&] { return pool[rng() % pool.size()]; };
    for (int k = 0; k < 10; ++k) switch (rng() % 4) {
        case 0: pool.push_back(select(binary(Op::lt, any(), any()), any(), any())); break;
        case 1: pool.push_back(unary(Op::sqrt, any())); break;
        case 2: pool.push_back(load(1, DType::f32, cast(any(), DType::i64))); break;
        default: pool.push_back(any() + any()); break;
      }
    const Exprs roots = {pool.back(), any()};
    const SharedParts parts(roots);
    Walk w;
    w.all(roots);
    for (const Expr& e : pool) {
      if (is_leaf(e) || !w.seen.contains(&*e)) continue;
      ASSERT_EQ(parts.is_shared(e), w.readers[&*e].size() > 1) << "round " << round;
      ASSERT_EQ(parts.is_always_reached(e), w.always.contains(&*e)) << "round " << round;
      shared += parts.is_shared(e), computed_before += parts.is_computed_before(e);
    }
  }
  EXPECT_GT(computed_before, 50);
  EXPECT_GT(shared, computed_before + 20);
}

}  // namespace
}  // namespace cleave::loop

#include "schedule/value_scopes.h"

#include <gtest/gtest.h>

namespace cleave {
namespace {

using loop::Expr;
using loop::Exprs;

// for p in 4 parallel { for j in 8 { inside(p, j) } }, each a scope.
std::string written(
    const std::function<void(ValueScopes&, loop::IndexMath&, Expr p, Expr j)>& inside) {
  loop::Kernel k;
  loop::KernelSheet sheet(k);
  loop::KernelBuilder builder(sheet, {}, {});
  loop::IndexMath math;
  ValueScopes scopes(sheet, math);
  builder.parallel({4}, [&](const Exprs& p) {
    scopes.open(p);
    math.declare(p[0], 4);
    builder.loop(Expr(8), [&](const Expr& j) {
      scopes.open({j});
      math.declare(j, 8);
      inside(scopes, math, math.simplify(p[0]), math.simplify(j));
      scopes.close();
    });
    scopes.close();
  });
  return loop::print(k);
}

TEST(ValueScopes, a_value_is_written_where_its_index_is_known) {
  const std::string text =
      written([](ValueScopes& scopes, loop::IndexMath& math, const Expr& p, const Expr& j) {
        EXPECT_EQ(scopes.depth_of({Expr(3)}), 0u);
        EXPECT_EQ(scopes.depth_of({p}), 0u);
        EXPECT_EQ(scopes.depth_of({math.simplify(p * Expr(8) + j)}), 1u);
        Expr v;
        scopes.write_at(0, [&] { v = scopes.name("v_x", p * Expr(2), 0); });
        EXPECT_EQ(scopes.depth_of({v}), 0u);  // the variable is of the scope that it was written in
      });
  EXPECT_LT(text.find("let v_x_"), text.find(" in 8 ")) << text;
}

TEST(ValueScopes, what_an_outer_scope_knows_is_known_inside) {
  written([](ValueScopes& scopes, loop::IndexMath&, const Expr& p, const Expr& j) {
    const IndexKey of_row = index_key(ValueId{7}, {p}), of_element = index_key(ValueId{7}, {j});
    scopes.remember(of_row, 0, Expr(1));
    scopes.remember(of_element, 1, Expr(2));
    EXPECT_TRUE(scopes.known(of_row, 0));
    EXPECT_TRUE(scopes.known(of_row, 1));
    EXPECT_FALSE(scopes.known(of_element, 0));
    EXPECT_TRUE(scopes.known(of_element, 1));
    EXPECT_FALSE(scopes.known(index_key(ValueId{8}, {p}), 1));
  });
}

TEST(ValueScopes, a_part_of_indices_has_one_name) {
  written([](ValueScopes& scopes, loop::IndexMath& math, const Expr& p, const Expr& j) {
    const Expr part = math.divide(math.simplify(p * Expr(8) + j), 3);
    const Expr name = scopes.name_part(part, 11);
    EXPECT_TRUE(name == scopes.name_part(part, 11));
    EXPECT_EQ(scopes.depth_of({name}), 1u);
  });
}

}  // namespace
}  // namespace cleave

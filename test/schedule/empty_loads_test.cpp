#include "schedule/empty_loads.h"

#include <gtest/gtest.h>

#include "loop/parse.h"

namespace cleave::schedule {
namespace {

// The statements of an iteration, without what they read of %e and %n, which have no elements.
std::string without_empty_loads(const std::string& statements) {
  const std::string before =
      "kernel %y(%e: f32[0] read, %n: i64[0] read, %b: bool[0] read, %x: f32[9] read, %y: f32[9] "
      "write) {\n  for p in 9 parallel {\n";
  loop::Kernel k = value_or_throw(loop::parse_kernel(before + statements + "\n  }\n}\n", "t"));
  drop_empty_loads(k);
  value_or_throw(loop::verify(k));
  const std::string text = loop::print(k);
  const size_t begin = text.find("parallel {\n") + 11;
  return text.substr(begin, text.size() - begin - 6);
}

TEST(EmptyLoads, become_zero_of_their_type) {
  EXPECT_EQ(without_empty_loads("    let t = %e[p]"), "    let t = 0.0\n");
  EXPECT_EQ(without_empty_loads("    let t = %n[p]"), "    let t = 0\n");
  EXPECT_EQ(without_empty_loads("    let t = %b[p]"), "    let t = false\n");
  EXPECT_EQ(without_empty_loads("    %y[p] = select(lt(p, 0), %e[p + 3], %x[p])"),
            "    %y[p] = select(lt(p, 0), 0.0, %x[p])\n");
}

TEST(EmptyLoads, of_indices_and_of_each_statement) {
  EXPECT_EQ(without_empty_loads("    %y[%n[p]] = %x[%n[p] + p]"), "    %y[0] = %x[p]\n");
  const std::string none = without_empty_loads(
      "    var t = %e[0]\n    t = %e[1]\n    if lt(%n[p], 3) {\n      %y[p] = %e[p]\n    }\n"
      "    check lt(%n[p], 9) \"n\" index %n[p] bound %n[0]\n"
      "    for j in %n[p] {\n      let u = %e[j]\n    }\n"
      "    fold over r in %n[p] {\n      let v = %e[r]\n      s = sum of v + %e[r]\n    }");
  EXPECT_EQ(none.find("%e"), std::string::npos) << none;
  EXPECT_EQ(none.find("%n"), std::string::npos) << none;
}

TEST(EmptyLoads, others_stay) {
  EXPECT_EQ(without_empty_loads("    %y[p] = %x[p]"), "    %y[p] = %x[p]\n");
}

}  // namespace
}  // namespace cleave::schedule

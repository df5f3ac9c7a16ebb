// Copies between memory in different orders: the loops that they have, and what they leave.
#include "lower/lower_copy.h"

#include <gtest/gtest.h>

#include <cmath>

#include "test/lower/lowered.h"
#include "test/sample/both_engines.h"

namespace cleave {
namespace {

std::string copy_text(const std::string& type, const std::string& from, const std::string& to) {
  return fmt::format("graph @g(%x: input {0}{1}, %o: input {0}{2}) {{\n  return %x -> %o\n}}\n",
                     type, from, to);
}

// The extents of each copy's loops, outer ones first: of one that makes its operand dense, if that
// isn't, and of one into the result. An extent that is computed is "min".
std::string loops_of(const std::string& type, const std::string& from, const std::string& to) {
  const LoweredProgram p = test::lowered(copy_text(type, from, to));
  std::string out;
  const std::function<void(const loop::Block&)> walk = [&](const loop::Block& b) {
    for (const loop::Stmt& s : b)
      if (auto* f = std::get_if<loop::For>(&s.node)) {
        const int64_t* n = f->loop.extent.as_const_int();
        out += fmt::format(" {}", n ? std::to_string(*n) : "min");
        walk(f->body);
      }
  };
  for (const loop::Kernel& k : p.kernels) {
    if (!out.empty()) out += " |";
    walk(k.body);
  }
  return out;
}

TEST(LowerCopy, dims_that_follow_each_other_are_one) {
  EXPECT_EQ(loops_of("f32[4,6,5]", "", "{60,10,2}"), " 120 | 120");
  EXPECT_EQ(loops_of("f32[4,6,5]", "", "{100,5,1}"), " 120 | 4 30");
  EXPECT_EQ(loops_of("f32[4,6,5]", "", "{30,1,6}"), " 120 | 20 6");
}

// 3 of 64 x 32: tiles of 16 x 16, of which there are 4 x 2.
TEST(LowerCopy, what_crosses_is_copied_in_tiles) {
  EXPECT_EQ(loops_of("f32[3,64,32]", "", "{2048,1,64}"), " 6144 | 24 16 16");
  EXPECT_EQ(loops_of("bf16[64,32]", "{1,64}", ""), " 8 16 16 | 2048");
  EXPECT_EQ(loops_of("f32[40,20]", "{1,40}", ""), " 6 min 10 | 800");  // 14, 14, 12 by 10, 10
}

TEST(LowerCopy, short_sides_are_no_tiles) {
  EXPECT_EQ(loops_of("f32[300,7]", "", "{1,300}"), " 2100 | 7 300");
  EXPECT_EQ(loops_of("f32[7,300]", "", "{1,7}"), " 2100 | 300 7");
}

TEST(LowerCopy, leaves_the_elements) {
  for (const DType t : {DType::f32, DType::bf16, DType::i64, DType::boolean})
    for (const auto& [shape, to] :
         std::vector<std::pair<std::vector<int64_t>, std::string>>{{{3, 64, 32}, "{2048,1,64}"},
                                                                   {{3, 20, 40}, "{800,1,20}"},
                                                                   {{33, 2, 17}, "{1,600,33}"},
                                                                   {{9, 8, 50}, "{8,1,80}"},
                                                                   {{1, 19, 23}, "{7,1,19}"},
                                                                   {{4, 5, 6}, "{1,4,20}"}}) {
      Array x = test::counting(t, shape);
      for (double& v : x.f) v = std::fmod(v, 251);  // which bf16 has
      const std::string type =
          fmt::format("{}[{},{},{}]", name_of(t), shape[0], shape[1], shape[2]);
      for (const std::string& text : {copy_text(type, "", to), copy_text(type, to, "")}) {
        const test::CompiledRun run = test::by_compiled(text, {{"x", x}, {"o", Array(t, shape)}});
        ASSERT_TRUE(run.status.ok()) << text;
        EXPECT_EQ(test::mismatch(run.memory.at("o"), x, 0), "") << text;
      }
    }
}

}  // namespace
}  // namespace cleave

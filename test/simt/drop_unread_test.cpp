#include "simt/drop_unread.h"

#include <gtest/gtest.h>

#include "test/simt/threads.h"

namespace cleave::simt {
namespace {

class DropUnread : public testing::Test {
 protected:
  static Expr variable(int64_t id) { return loop::make_var(id, "v", DType::i64); }
  const Expr a = variable(0), b = variable(1), c = variable(2), i = variable(3);
  const Expr one = loop::constant(DType::f32, 1);
  // How many definitions are left.
  static int left(Block body) {
    drop_unread(body);
    return test::count<Let>(body);
  }
};

TEST_F(DropUnread, what_is_read_nowhere_goes_with_what_it_reads) {
  EXPECT_EQ(left({{Let{a, i}}, {Store{0, i, one}}}), 0);
  EXPECT_EQ(left({{Let{a, i}}, {Let{b, a + Expr(1)}}, {Let{c, b + a}}, {Store{0, i, one}}}), 0);
  EXPECT_EQ(left({{Let{a, i}}, {Let{b, a + Expr(1)}}, {Store{0, a, one}}}), 1);
}

TEST_F(DropUnread, what_any_statement_reads_stays) {
  const Block reads = {{Store{0, a, one}},
                       {Store{0, i, loop::load(0, DType::f32, a)}},
                       {If{binary(loop::Op::lt, a, i), {}, {}}},
                       {If{binary(loop::Op::lt, i, i), {{Store{0, a, one}}}, {}}},
                       {If{binary(loop::Op::lt, i, i), {}, {{Store{0, a, one}}}}},
                       {For{.var = b, .begin = a, .end = i}},
                       {For{.var = b, .begin = i, .end = a}},
                       {For{.var = b, .begin = i, .end = i, .body = {{Store{0, a, one}}}}},
                       {Define{b, a}},
                       {Assign{b, a}},
                       {Check{binary(loop::Op::lt, a, i), i, i, ""}},
                       {Check{binary(loop::Op::lt, i, i), a, i, ""}},
                       {Check{binary(loop::Op::lt, i, i), i, a, ""}},
                       {Exchange{b, a, 1, 32}},
                       {CopyIn{1, 0, a, 0, 4}},
                       {CopyOut{0, 1, a, 0, 4}},
                       {CopyAhead{1, 0, a, i, 4}},
                       {CopyAhead{1, 0, i, a, 4}}};
  for (size_t k = 0; k < reads.size(); ++k) EXPECT_EQ(left({{Let{a, i}}, reads[k]}), 1) << k;
}

TEST_F(DropUnread, inside_of_loops_and_branches) {
  EXPECT_EQ(left({{For{.var = b, .begin = i, .end = i, .body = {{Let{a, b}}}}}}), 0);
  EXPECT_EQ(left({{If{binary(loop::Op::lt, i, i), {{Let{a, i}}}, {{Let{b, i}}}}}}), 0);
  // Two branches define it and one reads it.
  EXPECT_GE(left({{If{binary(loop::Op::lt, i, i),
                      {{Let{a, i}}, {Store{0, a, one}}},
                      {{Let{a, i}}, {Store{0, i, one}}}}}}),
            1);
}

TEST_F(DropUnread, what_reads_memory_stays) {
  EXPECT_EQ(left({{Let{a, loop::load(0, DType::i64, i)}}}), 1);
}

}  // namespace
}  // namespace cleave::simt

#include "schedule/access_log.h"

#include <gtest/gtest.h>

namespace cleave {
namespace {

using loop::Access;
using loop::Expr;

// Operand 0 and result 1, both f32[8], an f64 result 2, and a local buffer 3.
loop::Kernel kernel() {
  loop::Kernel k;
  k.buffers = {{"x", DType::f32, 8, Access::read},
               {"y", DType::f32, 8, Access::write},
               {"z", DType::f64, 8, Access::write},
               {"kept", DType::f32, 8, Access::local}};
  return k;
}

struct Loop {
  Expr element = loop::make_var(0, "j", DType::i64), other = element + Expr(1);
  AccessLog log;
  Loop() { log.set_element(element, 0); }
  std::vector<std::pair<int64_t, int64_t>> in_place() const {
    std::vector<std::pair<int64_t, int64_t>> out;
    for (const auto& [operand, result] : log.in_place(kernel())) out.emplace_back(operand, result);
    return out;
  }
};

const std::vector<std::pair<int64_t, int64_t>> x_and_y = {{0, 1}};

TEST(AccessLog, an_element_lies_over_its_own) {
  Loop l;
  l.log.read(0, l.element);
  l.log.write(1, l.element, true);
  l.log.write(2, l.element, true);  // of another size
  EXPECT_EQ(l.in_place(), x_and_y);
}

TEST(AccessLog, not_over_another_one) {
  Loop reads, writes, early;
  reads.log.read(0, reads.other);
  reads.log.write(1, reads.element, true);
  EXPECT_TRUE(reads.in_place().empty());
  writes.log.read(0, writes.element);
  writes.log.write(1, writes.other, true);
  EXPECT_TRUE(writes.in_place().empty());
  early.log.read(0, early.element);
  early.log.write(1, early.element, false);
  EXPECT_TRUE(early.in_place().empty());
}

TEST(AccessLog, not_over_what_a_later_pass_reads) {
  Loop later, before;
  later.log.write(1, later.element, true);
  later.log.set_element(later.element, 1);
  later.log.read(0, later.element);
  EXPECT_TRUE(later.in_place().empty());
  before.log.read(0, before.element);
  before.log.set_element(before.element, 1);
  before.log.write(1, before.element, true);
  EXPECT_EQ(before.in_place(), x_and_y);
}

// It is no operand of the step, and has no storage.
TEST(AccessLog, not_over_a_local_buffer) {
  Loop l;
  l.log.read(3, l.element);
  l.log.write(1, l.element, true);
  EXPECT_TRUE(l.in_place().empty());
}

}  // namespace
}  // namespace cleave

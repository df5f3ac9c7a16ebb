// What an iteration reads behind its folds, together with what comes before them.
// tests: read_ahead.cpp
#include <gtest/gtest.h>

#include "simt/map_threads.h"
#include "simt/read_ahead.h"
#include "test/simt/mapped.h"

namespace cleave::simt {
namespace {

// A team goes through M rows, folds each, and adds another one to it; AGAIN: what comes between.
const std::string rows_in_turn =
    "kernel %y(%x: f32[A] read, %z: f32[B] read, %i: i64[A] read, %y: f32[A] write) work A {\n"
    "  for p in P parallel {\n    for m in 16 {\n"
    "      fold over r in N {\n        s = sum of %x[p*16*N + m*N + r]\n      }\n"
    "AGAIN      for j in N independent {\n"
    "        %y[p*16*N + m*N + j] = %x[p*16*N + m*N + j]*s + %z[PLACE]\n      }\n    }\n  }\n}\n";

std::string of(int64_t p, int64_t n, const std::string& again = "",
               const std::string& place = "p*16*N + m*N + j", int64_t b = 0) {
  std::string text = rows_in_turn;
  text.replace(text.find("AGAIN"), 5, again);
  text.replace(text.find("PLACE"), 5, place);
  return test::with(text, {{"A", p * 16 * n}, {"B", b ? b : p * 16 * n}, {"P", p}, {"N", n}});
}

// Reads of `buffer` in the block's own statements, before its first exchange and behind it.
std::pair<int, int> reads_around(const Block& block, int64_t buffer) {
  std::pair<int, int> out;
  bool is_behind = false;
  for (const Stmt& s : block) {
    is_behind |= std::holds_alternative<Exchange>(s.node);
    auto* copy = std::get_if<CopyIn>(&s.node);
    if (copy && copy->from == buffer) ++(is_behind ? out.second : out.first);
    if (auto* f = std::get_if<For>(&s.node)) {
      const auto [before, behind] = reads_around(f->body, buffer);
      (is_behind ? out.second : out.first) += before;
      out.second += behind;
    }
  }
  return out;
}
std::pair<int, int> reads_of_z(const std::string& text) {
  return reads_around(mapped(text).phases[0].body, 1);
}

TEST(ReadAhead, rows_that_folds_do_not_read) {
  EXPECT_EQ(reads_of_z(of(32, 768)), std::pair(3, 0));
  EXPECT_EQ(reads_of_z(of(64, 256)), std::pair(1, 0));
}

TEST(ReadAhead, computes_what_the_loops_say) {
  for (const auto& [p, n] : {std::pair{32, 768}, {64, 256}, {64, 264}, {40, 512}, {20, 1024}})
    EXPECT_EQ(test::wrong(of(p, n)), "") << p << " " << n;
}

TEST(ReadAhead, small_buffers_are_in_a_cache) {
  EXPECT_EQ(reads_of_z(of(32, 768, "", "j", 768)), std::pair(0, 3));
  EXPECT_EQ(reads_of_z(of(8, 768)), std::pair(0, 3));  // 393 kB
}

TEST(ReadAhead, not_over_a_check) {
  const std::string check =
      "      check lt(%i[p*16*N + m*N], 5) \"large\" index %i[p*16*N + m*N] bound 5 from 0\n";
  EXPECT_EQ(reads_of_z(of(32, 768, check)), std::pair(0, 3));
}

// A result may lie over an operand.
TEST(ReadAhead, not_over_a_write) {
  const std::string write = "      %y[p*16*N + m*N] = s\n";
  EXPECT_EQ(reads_of_z(of(32, 768, write)), std::pair(0, 3));
}

// The place of the second read is another one behind the assignment.
TEST(ReadAhead, not_over_an_assignment_of_its_place) {
  const auto buffer = [](const std::string& name, int64_t elements, Space space) {
    Buffer b;
    b.name = name, b.dtype = DType::f32, b.elements = elements, b.space = space;
    return b;
  };
  const std::vector<Buffer> buffers = {
      buffer("x", 1 << 20, Space::global), buffer("z", 1 << 20, Space::global),
      buffer("a", 4, Space::thread), buffer("b", 4, Space::thread)};
  const Expr m = loop::make_var(1, "m", DType::i64), at = loop::make_var(2, "at", DType::i64),
             sum = loop::make_var(3, "sum", DType::f32);
  for (const bool is_assigned : {false, true}) {
    For each{.var = m, .begin = Expr(0), .end = Expr(8), .body = {}};
    each.body.push_back({CopyIn{2, 0, m * Expr(4), 0, 4}});
    each.body.push_back({Exchange{sum, loop::load(2, DType::f32, Expr(0))}});
    if (is_assigned) each.body.push_back({Assign{at, at + Expr(4)}});
    each.body.push_back({CopyIn{3, 1, at, 0, 4}});
    Block body = {{std::move(each)}};
    read_ahead(body, buffers);
    EXPECT_EQ(reads_around(body, 1), is_assigned ? std::pair(0, 1) : std::pair(1, 0));
  }
}

TEST(ReadAhead, as_much_as_registers_hold) {
  EXPECT_EQ(reads_of_z(of(32, 1024)), std::pair(4, 0));
  EXPECT_EQ(reads_of_z(of(16, 2048)).first, 0);
}

}  // namespace
}  // namespace cleave::simt

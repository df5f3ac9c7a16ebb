// Reordered thunks, results over dead operands, checks that are redundant after earlier thunks.
// tests: run_early.cpp reuse_dead.cpp drop_redundant_checks.cpp thunk_uses.cpp
// tests: kernel_checks.cpp update_in_place.cpp plan_memory.cpp
#include <gtest/gtest.h>

#include <algorithm>

#include "lower/drop_redundant_checks.h"
#include "lower/kernel_checks.h"
#include "lower/plan_memory.h"
#include "lower/reuse_dead.h"
#include "lower/run_early.h"
#include "lower/save_memory.h"
#include "lower/thunk_uses.h"
#include "lower/update_in_place.h"
#include "test/lower/lowered.h"
#include "test/prepared.h"

namespace cleave {
namespace {

using test::lowered;
using test::parsed;

using Names = std::vector<std::string>;

Names thunk_names(const LoweredProgram& p) {
  Names out;
  for (const Thunk& s : p.thunks) out.push_back(s.name);
  return out;
}

// The thunks that may fail once those whose checks were made before are settled.
Names failing(const std::string& body) {
  LoweredProgram p = lowered(
      "graph @g(%w: param f32[9,4], %i: input i64[2,3], %d: input f32[2,3,4]) {\n" + body + "}\n");
  drop_redundant_checks(p);
  Names out;
  for (const Thunk& s : p.thunks)
    if (s.may_fail) out.push_back(s.name);
  return out;
}

TEST(SettleChecks, the_gradient_of_a_table_reads_the_indices_that_the_table_did) {
  EXPECT_EQ(failing("  %e = embedding(%w, %i)\n"
                    "  %g = embedding_dense_backward(%d, %i; num_weights=9, padding_idx=-1, "
                    "scale_grad_by_freq=false)\n  return %e, %g\n"),
            (Names{"e"}));
}

TEST(SettleChecks, a_smaller_table_is_checked_again) {
  EXPECT_EQ(failing("  %e = embedding(%w, %i)\n"
                    "  %g = embedding_dense_backward(%d, %i; num_weights=8, padding_idx=-1, "
                    "scale_grad_by_freq=false)\n  return %e, %g\n"),
            (Names{"e", "g"}));
}

TEST(SettleChecks, a_part_of_the_indices_says_nothing_of_the_others) {
  EXPECT_EQ(failing("  %p = slice(%i; dim=0, start=0, end=1)\n  %e = embedding(%w, %p)\n"
                    "  %g = embedding_dense_backward(%d, %i; num_weights=9, padding_idx=-1, "
                    "scale_grad_by_freq=false)\n  return %e, %g\n"),
            (Names{"e", "g"}));
}

TEST(SettleChecks, the_whole_says_something_of_its_parts) {
  EXPECT_EQ(failing("  %e = embedding(%w, %i)\n  %p = slice(%i; dim=0, start=0, end=1)\n"
                    "  %h = embedding(%w, %p)\n  return %e, %h\n"),
            (Names{"e"}));
}

TEST(SettleChecks, indices_from_the_end_are_checked_against_their_own_range) {
  // index takes [-9, 9), of which embedding refuses the negative ones.
  EXPECT_EQ(failing("  %a = index(%w, [%i])\n  %e = embedding(%w, %i)\n  %b = index(%w, [%i])\n"
                    "  return %a, %e, %b\n"),
            (Names{"a", "e"}));
}

TEST(SettleChecks, an_updated_placeholder_is_checked_again) {
  LoweredProgram p = lowered(
      "graph @g(%w: param f32[9,4], %i: buffer i64[6]) {\n  %e = embedding(%w, %i)\n"
      "  %n = add(%i; other=1)\n  return %e, %n -> %i\n}\n");
  // A thunk that reads the indices after the copy of the update.
  p.thunks.push_back(p.thunks[0]);
  drop_redundant_checks(p);
  EXPECT_TRUE(p.thunks.back().may_fail);
}

constexpr const char* training =
    "graph @g(%u: param f32[64,64], %v: param f32[64,64], %x: input f32[64,64]) {\n"
    "  %gu = mm(%x, %x)\n  %gv = mm(%x, %gu)\n"
    "  %un = sub(%u, %gu)\n  %vn = sub(%v, %gv)\n"
    "  return %un -> %u, %vn -> %v\n}\n";

TEST(RunEarly, an_update_runs_after_the_last_read_of_its_gradient) {
  LoweredProgram p = lowered(training);
  update_in_place(p);
  EXPECT_EQ(thunk_names(p), (Names{"gu", "gv", "un", "vn"}));
  run_early(p);
  EXPECT_EQ(thunk_names(p), (Names{"gu", "gv", "un", "vn"}));  // gv reads gu

  std::string apart = training;
  apart.replace(apart.find("mm(%x, %gu)"), 11, "mm(%x, %x) ");
  p = lowered(apart);
  update_in_place(p);
  const MemoryBound before = measure_memory(p);
  run_early(p);
  EXPECT_EQ(thunk_names(p), (Names{"gu", "un", "gv", "vn"}));
  EXPECT_EQ(before.arena, 2 * 64 * 64 * 4);
  EXPECT_EQ(measure_memory(p).arena, 64 * 64 * 4);
}

// On a device only kernels do nothing behind a failed check.
TEST(UpdateInPlace, no_library_call_writes_a_placeholder_where_it_runs_behind_a_failure) {
  const std::string text =
      "graph @g(%u: buffer f32[64,64], %x: input f32[64,64], %i: input i64[3]) {\n"
      "  %e = embedding(%x, %i)\n  %p = mm(%x, %x)\n  return %e, %p -> %u\n}\n";
  const auto copies = [&](const std::string& of, BehindFailure behind) {
    LoweredProgram p = lowered(of);
    update_in_place(p, behind);
    return std::ranges::count_if(p.thunks, [](const Thunk& thunk) {
      auto* k = std::get_if<KernelCall>(&thunk.work);
      return k && k->whole_copy;
    });
  };
  EXPECT_EQ(copies(text, BehindFailure::nothing_runs), 0);
  EXPECT_EQ(copies(text, BehindFailure::library_calls_run), 1);
  std::string cannot_fail = text;
  cannot_fail.replace(text.find("embedding(%x, %i)"), 17, "relu(%x)");
  EXPECT_EQ(copies(cannot_fail, BehindFailure::library_calls_run), 0);
}

TEST(RunEarly, nothing_is_written_into_a_placeholder_before_a_thunk_that_may_fail) {
  LoweredProgram p = lowered(
      "graph @g(%u: param f32[64,64], %x: input f32[64,64], %i: input i64[3]) {\n"
      "  %gu = mm(%x, %x)\n  %p = mm(%x, %x)\n  %e = embedding(%p, %i)\n  %un = sub(%u, %gu)\n"
      "  return %e, %un -> %u\n}\n");
  update_in_place(p);
  run_early(p);
  EXPECT_EQ(thunk_names(p), (Names{"gu", "p", "e", "un"}));
}

TEST(RunEarly, a_placeholder_is_written_after_its_last_read) {
  LoweredProgram p = lowered(
      "graph @g(%u: param f32[64,64], %x: input f32[64,64]) {\n"
      "  %gu = mm(%x, %x)\n  %p = mm(%x, %u)\n  %q = mm(%p, %x)\n  %un = sub(%u, %gu)\n"
      "  return %q, %un -> %u\n}\n");
  update_in_place(p);
  run_early(p);
  EXPECT_EQ(thunk_names(p), (Names{"gu", "p", "un", "q"}));
}

int64_t peak_of(const std::string& text) {
  LoweredProgram p = lowered(text);
  update_in_place(p);
  EXPECT_TRUE(save_memory(p).ok());
  return measure_memory(p).arena;
}

TEST(ReuseDead, a_result_lies_over_an_operand_that_nothing_reads_any_more) {
  EXPECT_EQ(peak_of("graph @g(%x: input f32[64,64]) {\n  %p = mm(%x, %x)\n  %a = sin(%p)\n"
                    "  return %a\n}\n"),
            64 * 64 * 4);
  // Its own rows alone are read, in passes before the one that writes.
  EXPECT_EQ(peak_of("graph @g(%x: input f32[64,64]) {\n  %p = mm(%x, %x)\n"
                    "  %a = _softmax(%p; dim=-1, half_to_float=false)\n  return %a\n}\n") -
                64 * 64 * 4,
            64 * 4);  // call by call: the maxima, then the sums
}

TEST(ReuseDead, what_is_read_elsewhere_or_later_or_returned_stays) {
  const int64_t two = 2 * 64 * 64 * 4;
  EXPECT_EQ(peak_of("graph @g(%x: input f32[64,64]) {\n  %p = mm(%x, %x)\n  %t = permute(%p; "
                    "dims=[1,0])\n  %a = sin(%t)\n  return %a\n}\n"),
            two);
  EXPECT_EQ(peak_of("graph @g(%x: input f32[64,64]) {\n  %p = mm(%x, %x)\n  %a = sin(%p)\n"
                    "  return %a, %p\n}\n"),
            two);
  EXPECT_EQ(peak_of("graph @g(%x: input f32[64,64]) {\n  %p = mm(%x, %x)\n  %a = sin(%p)\n"
                    "  %q = mm(%a, %p)\n  return %q\n}\n"),
            two + 64 * 64 * 4);
}

// %m[0] is read for %n, then by each element of %z: neither may lie over it.
TEST(ReuseDead, what_a_later_loop_reads_again_stays) {
  Graph g = parsed(
      "graph @g(%x: input f32[4], %a: input f32[7,2]) {\n  %m = amax(%a; dim=[1])\n"
      "  %p = slice(%m; start=0, end=1)\n  %q = view(%p; size=[])\n"
      "  %t = sum(%x; dim=[0], keepdim=true)\n  %n = add(%t, %p)\n  %y = mul(%x, %t)\n"
      "  %z = add(%y, %q)\n  return %n, %z\n}\n");
  value_or_throw(test::prepare(g));
  const LoweredProgram p = value_or_throw(lower_graph(g));
  ASSERT_EQ(thunk_names(p), (Names{"m", "n"}));
  const size_t m = std::get<KernelCall>(p.thunks[0].work).storages.back();
  EXPECT_EQ(p.storages[m].name, "m");
  for (const InPlace& pair : std::get<KernelCall>(p.thunks[1].work).in_place)
    EXPECT_NE(pair.operand, m) << p.storages[pair.result].name;
}

TEST(ReuseDead, index_put_writes_into_its_dead_operand) {
  LoweredProgram p = lowered(
      "graph @g(%x: input f32[10], %i: input i64[2], %v: input f32[]) {\n  %c = cos(%x)\n"
      "  %y = index_put(%c, [%i], %v)\n  return %y\n}\n");
  update_in_place(p);
  EXPECT_EQ(p.thunks.size(), 3u);  // cos, the copy, the put
  EXPECT_TRUE(save_memory(p).ok());
  EXPECT_EQ(p.thunks.size(), 2u);
}

TEST(UpdateInPlace, index_put_writes_into_the_placeholder_once_it_has_checked) {
  LoweredProgram p = lowered(
      "graph @g(%x: buffer f32[10], %i: input i64[2], %v: input f32[]) {\n"
      "  %y = index_put(%x, [%i], %v)\n  return %y -> %x\n}\n");
  update_in_place(p);
  ASSERT_EQ(p.thunks.size(), 1u);
  EXPECT_TRUE(p.thunks[0].may_fail);
  EXPECT_TRUE(checks_of(p.kernels[std::get<KernelCall>(p.thunks[0].work).kernel]).come_first);
}

}  // namespace
}  // namespace cleave

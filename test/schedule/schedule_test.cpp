// How loops run: what the text of a kernel says after it is scheduled.
// tests: lane_check.cpp split_rows.cpp short_folds.cpp
#include "schedule/schedule.h"

#include <gtest/gtest.h>

#include "loop/difference.h"
#include "loop/parse.h"

namespace cleave::schedule {
namespace {

// The kernel of this body, scheduled; its text reads back, and twice is once.
std::string scheduled(const std::string& body, int64_t work = 0) {
  const std::string text = fmt::format(
      "kernel %y(%x: f32[65536] read, %i: i64[65536] read, %y: f32[65536] write) work {} "
      "{{\n{}}}\n",
      work, body);
  const loop::Kernel k = schedule(value_or_throw(loop::parse_kernel(text, "t")));
  EXPECT_TRUE(verify(k).ok()) << print(k);
  EXPECT_EQ(difference(k, value_or_throw(loop::parse_kernel(print(k), "t"))), "") << print(k);
  EXPECT_EQ(print(schedule(k)), print(k));
  std::string out = print(k);
  return out.substr(out.find("scheduled {\n") + 12);
}

// The first line of the kernel of this body that begins so.
std::string line_of(const std::string& body, const std::string& begin, int64_t work = 0) {
  const std::string text = scheduled(body, work);
  const size_t at = text.find(begin);
  return at == text.npos ? text : text.substr(at, text.find('\n', at) - at);
}

std::string row_of(const std::string& head, const std::string& value) {
  return line_of("  for p in 64 parallel {\n    " + head + " {\n      " + value + "\n    }\n  }\n",
                 head.substr(0, head.find(" in ")));
}

TEST(Schedule, independent_iterations_run_in_vectors) {
  const std::string copy = "%y[p*100 + j] = %x[p*100 + j]";
  EXPECT_EQ(row_of("for j in 96 independent", copy), "for j in 96 independent by 16 {");
  EXPECT_EQ(row_of("for j in 100 independent", copy), "for j in 96 independent by 16 {");
  EXPECT_EQ(row_of("for j in 1000 independent", copy), "for j in 1000 independent by 16 tail {");
  EXPECT_EQ(row_of("for j in 100", copy), "for j in 100 by 16 tail {");
  EXPECT_EQ(row_of("for j in 7 independent", copy), "for j in 7 independent by 16 tail {");
  EXPECT_EQ(row_of("for j in 3 independent", copy), "for j in 3 independent {");
}

TEST(Schedule, what_has_no_form_in_lanes_runs_one_by_one) {
  for (const char* value : {"%y[p*100 + j] = %x[truncdiv(j, 3)]",  // an index that is divided
                            "%y[p*100] = %x[j]"})                  // one element
    EXPECT_EQ(row_of("for j in 96 independent", value), "for j in 96 independent {") << value;
  EXPECT_EQ(row_of("for j in 96", "%y[p*100 + j] = %x[j] + 1.0\n      %y[p*100 + j + 1] = 0.0"),
            "for j in 96 {");
}

// A line for each lane: the next row may need the same ones.
TEST(Schedule, one_vector_may_reach_lines_far_apart) {
  const std::string far = "%y[p*100 + j] = %x[p + j*64]";
  EXPECT_EQ(row_of("for j in 96 independent", far), "for j in 96 independent by 16 {");
  EXPECT_EQ(row_of("for j in min(16, 100 - p) independent", far),
            "for j in min(16, 100 - p) independent by 16 tail {");
}

TEST(Schedule, columns_run_64_at_once) {
  const std::string sums =
      "fold over r in 9 {\n        s = sum of %x[r*64 + c]\n      }\n      %y[p*64 + c] = s";
  EXPECT_EQ(row_of("for c in 64 lanes", sums), "for c in 64 lanes by 64 {");
  EXPECT_EQ(row_of("for c in min(64, p) lanes", sums), "for c in min(64, p) lanes by 64 tail {");
  const std::string in_order = scheduled(
      "  for p in 64 parallel {\n    for c in 64 lanes {\n      fold over r in 900 {\n"
      "        s = sum of %x[r*64 + c]\n      }\n      %y[p*64 + c] = s\n    }\n  }\n");
  EXPECT_NE(in_order.find("fold over r in 900 blocks 16 ordered {"), in_order.npos) << in_order;
}

// Elements that aren't adjacent are gathered: of a row that is joined from parts, say.
TEST(Schedule, columns_that_are_not_adjacent_run_16_at_once) {
  const auto fold_of = [](const std::string& x) {
    return row_of("for c in 64 lanes", "fold over r in 9 {\n        s = sum of " + x +
                                           "\n      }\n      %y[p*64 + c] = s");
  };
  const std::string few = "for c in 64 lanes by 16 {", none = "for c in 64 lanes {";
  EXPECT_EQ(fold_of("%x[c*64 + r]"), few);
  EXPECT_EQ(fold_of("select(lt(c, 9), %x[min(c, 8)], %x[max(c - 9, 0) + r*64])"), few);
  EXPECT_EQ(fold_of("%x[%i[c] + r]"), few);
  EXPECT_EQ(fold_of("%x[truncdiv(c, 48)*64 + truncmod(c, 48)]"), few);
  EXPECT_EQ(fold_of("%x[truncdiv(c, 40)*64 + truncmod(c, 40)]"), none);  // a division in each lane
  EXPECT_EQ(row_of("for c in min(64, p) lanes", "%y[p*64 + c] = %x[c*2]"),
            "for c in min(64, p) lanes by 16 tail {");
}

TEST(Schedule, folds_go_in_lanes_and_blocks) {
  const auto fold = [](const std::string& loops, const std::string& value) {
    return line_of("  for p in 64 parallel {\n    fold over " + loops + " {\n      s = sum of " +
                       value + "\n    }\n    %y[p] = s\n  }\n",
                   "fold");
  };
  EXPECT_EQ(fold("r in 64", "%x[r]"), "fold over r in 64 by 16 {");
  EXPECT_EQ(fold("r in 3000", "%x[r]"), "fold over r in 3000 blocks 128 by 16 tail {");
  EXPECT_EQ(fold("q in 500, r in 40", "%x[q*40 + r]"),
            "fold over q in 500 blocks 2, r in 40 by 16 tail {");
  EXPECT_EQ(fold("q in 9, r in 7", "%x[q*7 + r]"), "fold over q in 9, r in 7 ordered {");
  EXPECT_EQ(fold("r in 64", "%x[truncdiv(r, 3)]"), "fold over r in 64 {");
}

TEST(Schedule, a_flat_loop_is_one_over_rows) {
  const auto flat = [](const std::string& n) {
    return scheduled("  for p in 4096 parallel {\n    let i = truncmod(p, " + n +
                     ")\n    let q = truncdiv(p, " + n +
                     ")\n    let a = %x[i]\n    let b = %x[q]\n    %y[p] = a*b\n  }\n");
  };
  EXPECT_EQ(flat("64"),
            "  for p in 4096 parallel rows 64 shared 2 by 16 tail {\n"
            "    let q = truncdiv(p, 64)\n"
            "    let b = %x[q]\n"
            "    let i = p - q*64\n"
            "    let a = %x[i]\n"
            "    %y[p] = a*b\n"
            "  }\n}\n");
  EXPECT_EQ(flat("8").find("rows"), std::string::npos);
}

// Lanes would do nothing in loops over such a row, and functions of a fold run in them too.
TEST(Schedule, short_rows_that_are_folded_are_lanes) {
  const auto softmax = [](const char* rows, int64_t n) {
    return scheduled(
        fmt::format("  for p in {0} parallel {{\n"
                    "    fold over r in {1} {{\n"
                    "      s = sum of exp(%x[p*{1} + r])\n    }}\n"
                    "    for j in {1} independent {{\n"
                    "      %y[p*{1} + j] = div(%x[p*{1} + j], s)\n    }}\n  }}\n",
                    rows, n));
  };
  EXPECT_EQ(softmax("64", 8),
            "  for p in 64 parallel by 16 tail {\n"
            "    fold over r in 8 ordered {\n      s = sum of exp(%x[p*8 + r])\n    }\n"
            "    for j in 8 independent {\n      %y[p*8 + j] = div(%x[p*8 + j], s)\n    }\n"
            "  }\n}\n");
  const auto rows = [](const std::string& text) { return text.substr(0, text.find('\n')); };
  EXPECT_EQ(rows(softmax("64", 15)), "  for p in 64 parallel by 16 tail {");
  EXPECT_EQ(rows(softmax("64", 31)), "  for p in 64 parallel by 16 tail {");
  EXPECT_EQ(rows(softmax("64", 32)), "  for p in 64 parallel {");
  EXPECT_EQ(rows(softmax("15", 8)), "  for p in 15 parallel {");
}

// Each lane has local buffers of its own, all of them together at most max_local_bytes.
TEST(Schedule, rows_that_keep_much_are_no_lanes) {
  const auto first_line = [](int64_t kept) {
    const loop::Kernel k = value_or_throw(loop::parse_kernel(
        fmt::format("kernel %y(%x: f32[512] read, %y: f32[512] write, %e: f32[{}] local) {{\n"
                    "  for p in 64 parallel {{\n"
                    "    fold over r in 8 {{\n      let e = exp(%x[p*8 + r])\n      %e[r] = e\n"
                    "      s = sum of e\n    }}\n"
                    "    for j in 8 independent {{\n      %y[p*8 + j] = div(%e[j], s)\n    }}\n"
                    "  }}\n}}\n",
                    kept),
        "t"));
    const std::string text = print(schedule(k));
    const size_t at = text.find("  for p");
    return text.substr(at, text.find('\n', at) - at);
  };
  EXPECT_EQ(first_line(1024), "  for p in 64 parallel by 16 tail {");
  EXPECT_EQ(first_line(1040), "  for p in 64 parallel {");
}

// Compilers then know how many lanes the last vector has.
TEST(Schedule, the_rest_of_a_short_loop_is_a_loop) {
  EXPECT_EQ(scheduled("  for p in 64 parallel {\n"
                      "    for j in 20 independent {\n      %y[p*20 + j] = %x[p*20 + j]\n    }\n"
                      "  }\n"),
            "  for p in 64 parallel {\n"
            "    for j in 16 independent by 16 {\n      %y[p*20 + j] = %x[p*20 + j]\n    }\n"
            "    for j in 4 independent by 16 tail {\n"
            "      %y[p*20 + (j + 16)] = %x[p*20 + (j + 16)]\n    }\n"
            "  }\n}\n");
}

// Threads of a GPU share a loop of any length.
TEST(Schedule, loops_of_threads_stay_whole) {
  const loop::Kernel k = value_or_throw(loop::parse_kernel(
      "kernel %y(%x: f32[64] read, %y: f32[64] write) {\n  for p in 2 parallel {\n"
      "    for j in 20 independent {\n      %y[p*20 + j] = %x[p*20 + j]\n    }\n"
      "    fold over r in 10 {\n      s = sum of exp(%x[p*32 + r])\n    }\n"
      "    %y[p + 60] = s\n  }\n}\n",
      "t"));
  const auto parts = [&](RunsIn in) {
    return std::get<loop::For>(schedule(k, in).body[0].node).body.size();
  };
  EXPECT_EQ(parts(RunsIn::threads), 3u);
  EXPECT_EQ(parts(RunsIn::vectors), 5u);
}

// Several vectors of 16 are as many passes over the rows, which then had better be in a cache.
TEST(Schedule, few_columns_take_few_lanes) {
  const std::string sum =
      "      fold over r in 64 {\n        s = sum of %x[r*64 + l]\n      }\n"
      "      %y[l] = s\n    }\n  }\n";
  struct Case {
    const char *extent, *lanes, *of_large;
  };
  for (const auto& [extent, lanes, of_large] : {Case{"8", "16 tail", "16 tail"},
                                                {"16", "16", "16"},
                                                {"17", "16 tail", "64 tail"},
                                                {"48", "16", "64 tail"},
                                                {"49", "64 tail", "64 tail"},
                                                {"min(16, 64 - p)", "16 tail", "16 tail"},
                                                {"64", "64", "64"}}) {
    const std::string head = fmt::format("for l in {} lanes", extent);
    const std::string body = "  for p in 1 parallel {\n    " + head + " {\n" + sum;
    EXPECT_EQ(line_of(body, head), fmt::format("{} by {} {{", head, lanes));
    EXPECT_EQ(line_of(body, head, 1 << 20), fmt::format("{} by {} {{", head, of_large));
  }
}

// The order of additions stays that of the fold.
TEST(Schedule, functions_of_short_folds_run_in_vectors) {
  const auto fold = [](int64_t n, const char* value) {
    return scheduled(
        fmt::format("  for p in 2 parallel {{\n    fold over r in {} {{\n"
                    "      s = sum of {}\n    }}\n    %y[p] = s\n  }}\n",
                    n, value));
  };
  EXPECT_EQ(fold(10, "exp(%x[p*64 + r])"),
            "  for p in 2 parallel {\n"
            "    for r in 10 independent by 16 tail {\n      %s[r] = exp(%x[p*64 + r])\n    }\n"
            "    fold over r in 10 ordered {\n      s = sum of %s[r]\n    }\n"
            "    %y[p] = s\n  }\n}\n");
  for (const std::string& stays :
       {fold(10, "%x[p*64 + r]"), fold(5, "exp(%x[p*64 + r])"), fold(16, "exp(%x[p*64 + r])")})
    EXPECT_EQ(stays.find("independent"), stays.npos) << stays;
}

}  // namespace
}  // namespace cleave::schedule

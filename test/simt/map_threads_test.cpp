// Loop nests as threads compute what they say, each access as it should be (simulate.h): around
// every number of elements at which another way is taken.
// tests: phase_writer.cpp phase_teams.cpp phase_folds.cpp wide.cpp
// tests: phase_tiles.cpp merge_phases.cpp
#include "simt/map_threads.h"

#include <gtest/gtest.h>

#include <random>

#include "loop/parse.h"
#include "simt/simulate.h"
#include "test/simt/mapped.h"

namespace cleave::simt {
namespace {

// ---- flat

const std::string flat_add =
    "kernel %y(%x: f32[N] read, %b: f32[N] read, %y: f32[N] write) work N {\n"
    "  for p in N parallel {\n    %y[p] = %x[p]*%b[p] + 1.0\n  }\n}\n";

TEST(MapThreads, flat_loops) {
  expect_right(flat_add, {1, 2, 3, 4, 5, 31, 32, 33, 127, 128, 129, 255, 256, 257, 1000, 40000});
  // A thread takes four elements.
  expect_right(flat_add, {131071, 131072, 131073, 131075, 131076});
}

TEST(MapThreads, threads_of_flat_loops) {
  const auto of = [](int64_t n) { return mapped(test::with(flat_add, {{"N", n}})).phases[0]; };
  EXPECT_EQ(of(1).blocks, 1);
  EXPECT_EQ(of(128).blocks, 1);
  EXPECT_EQ(of(129).blocks, 2);
  EXPECT_EQ(of(131071).blocks, 1024);
  EXPECT_EQ(of(131071).threads, 128);
  EXPECT_EQ(of(131072).blocks, 128);
  EXPECT_EQ(of(131072).threads, 256);
  EXPECT_EQ(test::count<CopyIn>(of(131071).body), 0);
  EXPECT_GE(test::count<CopyIn>(of(131072).body), 2);
  EXPECT_GE(test::count<CopyOut>(of(131072).body), 1);
}

// Of large ones each thread takes up to four chunks, a block of threads apart, and reads all first.
TEST(MapThreads, chunks_of_large_flat_loops) {
  const MapSizes small{.many_blocks = 1, .medium = 8, .large = 8};
  const auto text = [](int64_t n) { return test::with(flat_add, {{"N", n}}); };
  EXPECT_EQ(map_threads(test::loops(text(8192)), small).phases[0].blocks, 4);  // 2 x 4 x 256 each
  for (const int64_t n : {8192, 8191, 8193, 9000, 12288, 5000})
    EXPECT_EQ(test::wrong(text(n)), "") << n;
  // Eight neighbours of halves that are written; four of words.
  for (const auto& [from, to, blocks] : {std::tuple{"bf16", "bf16", 4}, {"bf16", "f32", 8}}) {
    const std::string casts = fmt::format(
        "kernel %y(%x: {}[N] read, %y: {}[N] write) work N {{\n"
        "  for p in N parallel {{\n    %y[p] = %x[p] + 1.0\n  }}\n}}\n",
        from, to);
    for (const int64_t n : {32768, 32767, 32776, 40000, 65536}) {
      const std::string at = test::with(casts, {{"N", n}});
      EXPECT_EQ(test::wrong(at), "") << n;
    }
    const loop::Kernel whole = test::loops(test::with(casts, {{"N", 32768}}));
    EXPECT_EQ(map_threads(whole, small).phases[0].blocks, blocks) << to;
  }
}

// Few iterations of long loops, as of a batch's channels, are shared out among all threads.
TEST(MapThreads, few_long_rows_are_flat) {
  const std::string part =
      "kernel %y(%x: f32[M] read, %y: T[M] write) work M {\n"
      "  for p in P parallel {\n    let begin = p*I\n    for i in I independent {\n"
      "      %y[begin + i] = %x[begin + i]*2.0\n    }\n  }\n}\n";
  const auto of = [&](int64_t p, int64_t i, const char* type) {
    std::string text = part;
    text.replace(text.find(": T["), 3, std::string(": ") + type);
    return test::with(text, {{"M", p * i}, {"P", p}, {"I", i}});
  };
  for (const auto& [p, i] : {std::pair{16, 16384}, {2, 65544}, {3, 43704}})
    for (const char* type : {"f32", "bf16"}) EXPECT_EQ(test::wrong(of(p, i, type)), "") << p;
  EXPECT_EQ(mapped(of(16, 16384, "f32")).phases[0].blocks, 16 * 16384 / 4 / 128);
  EXPECT_EQ(mapped(of(16, 1048576, "bf16")).phases[0].blocks, 16 * 1048576 / 8 / 128);
  EXPECT_EQ(mapped(of(2048, 16384, "f32")).phases[0].blocks, 2048);  // a team for each
  EXPECT_EQ(mapped(of(16, 4096, "f32")).phases[0].blocks, 16);       // few elements
}

// A serial loop whose iterations are independent, as a cat's, is shared out.
TEST(MapThreads, serial_loops_that_run_in_vectors_are_shared_out) {
  const std::string text =
      "kernel %y(%x: f32[102400] read, %y: f32[102400] write) work 102400 {\n"
      "  for p in 800 parallel {\n    for i in 128 {\n"
      "      %y[p*128 + i] = %x[p*128 + i]\n    }\n  }\n}\n";
  EXPECT_EQ(test::wrong(text), "");
  EXPECT_GE(test::count<CopyOut>(mapped(text).phases[0].body), 1);
  EXPECT_GT(mapped(text).phases[0].blocks * mapped(text).phases[0].threads, 800 * 8);
  std::string chain = text;  // reads what the iteration before stores
  chain.replace(chain.find("%x[p*128 + i]"), 13, "%y[p*128 + max(i - 1, 0)] + %x[p]");
  chain.replace(chain.find("write)"), 5, "update");
  EXPECT_EQ(test::count<CopyOut>(mapped(chain).phases[0].body), 0);
  EXPECT_EQ(test::wrong(chain), "");
}

// Loops over a few elements, as of the weights of a 3x3 kernel: a thread has one element.
TEST(MapThreads, short_rows_are_flat) {
  const std::string weights =
      "kernel %y(%x: bf16[M] read, %s: f32[P] read, %y: f32[M] update) work M {\n"
      "  for p in P parallel {\n    let q = truncdiv(p, 4)\n    let scale = %s[p]\n"
      "    for i in I independent {\n"
      "      %y[p*I + i] = %y[p*I + i] + scale*%x[q*(4*I) + i*4 + truncmod(p, 4)]\n    }\n  }\n}\n";
  const auto of = [&](int64_t p, int64_t i) {
    return test::with(weights, {{"M", p * i}, {"P", p}, {"I", i}});
  };
  for (const auto& [p, i] : {std::pair{4, 9}, {8, 3}, {400, 9}, {64, 49}, {64, 2}, {128, 63}})
    EXPECT_EQ(test::wrong(of(p, i)), "") << p << " " << i;
  // Of many rows of 2 or 4 a thread has one, and writes it at once.
  const std::string folded =
      "kernel %y(%x: f32[P] read, %y: bf16[M] write) work M {\n  for p in P parallel {\n"
      "    for i in I independent {\n"
      "      %y[p*I + i] = select(lt(i, 3), %x[max(p - i, 0)], 0.0)\n    }\n  }\n}\n";
  const auto rows = [&](int64_t p, int64_t i) {
    return test::with(folded, {{"M", p * i}, {"P", p}, {"I", i}});
  };
  for (const auto& [p, i] : {std::pair{32768, 4}, {32769, 4}, {65600, 2}, {43700, 3}, {32767, 4}})
    EXPECT_EQ(test::wrong(rows(p, i)), "") << p << " " << i;
  EXPECT_EQ(test::count<CopyOut>(mapped(rows(32768, 4))), 1);
  EXPECT_EQ(mapped(rows(32768, 4)).phases[0].blocks, 32768 / 128);
  EXPECT_EQ(test::count<CopyOut>(mapped(rows(43700, 3))), 0);
  EXPECT_EQ(test::count<CopyOut>(mapped(rows(1000, 4))), 0);  // few: a thread for each
  const simt::Kernel nines = mapped(of(400, 9));
  EXPECT_EQ(nines.phases[0].blocks, (400 * 9 + 127) / 128);
  EXPECT_EQ(nines.phases[0].threads, 128);
  // Rows of eights are read eight at a time, and long ones by a team.
  EXPECT_NE(mapped(of(400, 8)).phases[0].blocks, (400 * 8 + 127) / 128);
  EXPECT_NE(mapped(of(64, 65)).phases[0].blocks, (64 * 65 + 127) / 128);
}

const std::string tiles =
    "kernel %y(%x: T[262144] read, %z: T[262144] read, %y: T[262144] write) work 262144 {\n"
    "  for p in 64 parallel {\n    let a = truncdiv(p, 8)\n    let b = p - a*8\n"
    "    for i in min(512 - a*I, I) independent {\n"
    "      for j in min(512 - b*J, J) independent {\n        let t = %x[(b*J + j)*512 + a*I + i]\n"
    "        %y[(a*I + i)*512 + b*J + j] = t + t*%z[(a*I + i)*512 + b*J + j]\n      }\n    }\n"
    "  }\n}\n";

std::string tiles_of(const char* type, int64_t i, int64_t j) {
  std::string text = test::with(tiles, {{"I", i}, {"J", j}});
  for (size_t at; (at = text.find(": T[")) != text.npos;) text.replace(at + 2, 1, type);
  return text;
}

TEST(MapThreads, tiles_are_turned_in_shared_memory) {
  for (const char* type : {"f32", "bf16", "f64", "i32", "i64"})
    for (const auto& [i, j] : {std::pair{64, 64}, {60, 64}, {17, 64}, {64, 3}, {1, 64}})
      EXPECT_EQ(test::wrong(tiles_of(type, i, j)), "") << type << " " << i << " x " << j;
  const Kernel k = mapped(tiles_of("f32", 64, 64));
  EXPECT_TRUE(has_space(k, "x_tile", Space::shared));
  EXPECT_FALSE(has_space(k, "z_tile", Space::shared));
  EXPECT_EQ(k.phases[0].threads, 256);
  EXPECT_EQ(test::count<Barrier>(k), 2);
  // Without the barrier between the tile's writes and reads the simulator finds a race.
  EXPECT_FALSE(test::defects(test::without<Barrier>(k, 0)).empty());
}

// Where the condition reads the same place, what a select may read is there.
TEST(MapThreads, branches_of_selects_are_read_at_once_where_something_else_is_read) {
  const std::string text =
      "kernel %y(%x: f32[M] read, %m: f32[N] read, %y: f32[N] write) work N {\n"
      "  for p in N parallel {\n    %y[p] = select(gt(%m[p], 5.0), %x[p], 1.0)\n  }\n}\n";
  expect_right(test::with(text, {{"M", 131072}}), {131072});
  const auto copies = [&](int64_t elements) {
    return test::count<CopyIn>(
        mapped(test::with(text, {{"M", elements}, {"N", 131072}})).phases[0].body);
  };
  EXPECT_EQ(copies(131072), 2 * copies(131071));
  EXPECT_GE(copies(131071), 1);
}

// What a select doesn't take may lie outside of the buffer: it isn't read ahead.
TEST(MapThreads, tiles_read_what_each_element_reads) {
  const std::string text =
      "kernel %y(%x: f32[4096] read, %y: f32[16384] write) work 16384 {\n"
      "  for p in 4 parallel {\n    let a = truncdiv(p, 2)\n    let b = p - a*2\n"
      "    for i in 64 independent {\n      for j in 64 independent {\n"
      "        %y[(a*64 + i)*128 + b*64 + j] = select(logical_and(lt(a*64 + i, 64), lt(b*64 + j, "
      "64)), "
      "%x[(b*64 + j)*64 + a*64 + i], 0.0)\n      }\n    }\n  }\n}\n";
  EXPECT_EQ(test::wrong(text), "");
}

TEST(MapThreads, flat_loops_of_all_types) {
  for (const char* type : {"f64", "f32", "bf16", "f16", "i64", "i32", "i16", "i8", "u8", "bool"}) {
    const std::string text = fmt::format(
        "kernel %y(%x: {0}[N] read, %b: bool[N] read, %y: {0}[N] write) work N {{\n"
        "  for p in N parallel {{\n    %y[p] = select(%b[p], %x[p], %x[0])\n  }}\n}}\n",
        type);
    expect_right(text, {7, 131074});
  }
}

TEST(MapThreads, flat_loops_over_rows) {
  const std::string text =
      "kernel %y(%x: f32[M] read, %b: f32[N] read, %y: f32[M] write) work M {\n"
      "  for p in M parallel {\n    let i = truncmod(p, N)\n    let q = truncdiv(p, N)\n"
      "    let first = %x[q*N]\n    %y[p] = %x[p] + %b[i] + first\n  }\n}\n";
  for (const int64_t elements : {12000, 192000})  // one to a thread, and four
    expect_right(test::with(text, {{"M", elements}}), {3, 4, 48, 1000});
}

TEST(MapThreads, one_buffer_that_is_read_and_written) {
  const std::string text =
      "kernel %x(%x: f32[N] update, %g: f32[N] read) work N {\n  for p in N parallel {\n"
      "    let t = %x[p] + %g[p]\n    %x[p] = t*t\n  }\n}\n";
  expect_right(text, {1, 100, 131072, 131077});
}

TEST(MapThreads, transposed_reads) {
  const std::string text =
      "kernel %y(%x: f32[2N] read, %y: f32[2N] write) work 2N {\n  for p in 2N parallel {\n"
      "    let q = truncdiv(p, 2)\n    let i = p - q*2\n    %y[p] = %x[i*N + q]\n  }\n}\n";
  expect_right(text, {1, 64, 1000, 70000});
}

TEST(MapThreads, nothing_at_all) {
  const Kernel k =
      mapped("kernel %y(%y: f32[0] write) {\n  for p in 0 parallel {\n    %y[p] = 1.0\n  }\n}\n");
  ASSERT_EQ(k.phases.size(), 1u);
  EXPECT_EQ(k.phases[0].blocks, 0);
  expect_right(
      "kernel %y(%e: f32[0] read, %y: f32[N] write) work N {\n  for p in N parallel {\n"
      "    %y[p] = select(lt(p, 0), %e[p], 1.0)\n  }\n}\n",
      {5, 200000});
}

// ---- teams

// A softmax: three passes over a row.
const std::string softmax =
    "kernel %y(%x: f32[3N] read, %y: f32[3N] write) work 3N {\n  for p in 3 parallel {\n"
    "    fold over r in N {\n      m = max of %x[p*N + r]\n    }\n"
    "    fold over r2 in N {\n      s = sum of exp(%x[p*N + r2] - m)\n    }\n"
    "    for j in N independent {\n      %y[p*N + j] = div(exp(%x[p*N + j] - m), s)\n    }\n  "
    "}\n}\n";

TEST(MapThreads, rows_with_three_passes) {
  expect_right(softmax, {1,    2,    7,    8,    9,    15,   16,    17,    31,    63,   64,   65,
                         100,  127,  128,  255,  256,  257,  511,   768,   1023,  1024, 1025, 2047,
                         2048, 2049, 4096, 8191, 8192, 8193, 32767, 32768, 32769, 40000});
}

TEST(MapThreads, many_rows_in_a_block) {
  const std::string text =
      "kernel %y(%x: f32[8192] read, %y: f32[1000] write) {\n  for p in 1000 parallel {\n"
      "    fold over r in N {\n      s = sum of %x[p*N + r]\n    }\n    %y[p] = s\n  }\n}\n";
  expect_right(text, {1, 3, 8});
  const Kernel k = mapped(test::with(text, {{"N", 8}}));
  EXPECT_EQ(k.phases[0].blocks * k.phases[0].threads, 1024);  // a thread for each
}

TEST(MapThreads, sums_that_are_kept_in_a_row) {
  const std::string text =
      "kernel %y(%x: f32[3N] read, %w: f32[N] read, %y: f32[3N] write, %mean: f32[3] write, %t: "
      "f32[N] local) work 3N {\n  for p in 3 parallel {\n"
      "    fold over r in N {\n      let v = %x[p*N + r]*%w[r]\n      %t[r] = v\n"
      "      s = sum of v\n      q = sum of v*v\n    }\n"
      "    %mean[p] = s\n"
      "    for j in N independent {\n      %y[p*N + j] = (%t[j] - s)*q\n    }\n  }\n}\n";
  expect_right(text, {1, 8, 16, 100, 768, 1024, 2048, 2049, 8192, 16000});
  // In registers: a thread reads what it wrote.
  EXPECT_TRUE(has_space(mapped(test::with(text, {{"3N", 2304}, {"N", 768}})), "t", Space::thread));
}

TEST(MapThreads, a_local_row_that_other_threads_read_is_shared) {
  const std::string text =
      "kernel %y(%x: f32[3N] read, %y: f32[3N] write, %t: f32[N] local) work 3N {\n"
      "  for p in 3 parallel {\n    for i in N independent {\n      %t[i] = %x[p*N + i]\n    }\n"
      "    for j in N independent {\n      %y[p*N + j] = %t[N - 1 - j]\n    }\n  }\n}\n";
  expect_right(text, {1, 15, 16, 17, 100, 256, 257, 2048, 2049, 8192, 12000});
  const Kernel k = mapped(test::with(text, {{"3N", 2304}, {"N", 768}}));
  EXPECT_TRUE(has_space(k, "t", Space::shared));
  EXPECT_FALSE(has_space(k, "t", Space::thread));
  EXPECT_EQ(test::count<Barrier>(k), 1);
}

// A block has 227 KB; what a team has is at most max_local_bytes.
TEST(MapThreads, what_the_teams_of_a_block_share_fits) {
  const Kernel k = mapped(
      "kernel %y(%x: f32[16384] read, %y: f32[2000] write, %t: f32[16384] local) {\n"
      "  for p in 2000 parallel {\n    for i in 16 independent {\n"
      "      for j in 1024 independent {\n        %t[i*1024 + j] = %x[i*1024 + j]\n      }\n    }\n"
      "    fold over r in 1024 {\n      s = sum of %t[r*16]\n    }\n    %y[p] = s\n  }\n}\n");
  int64_t bytes = 0;
  for (const Buffer& b : k.buffers)
    if (b.space == Space::shared) bytes += b.elements * size_of(b.dtype);
  EXPECT_GT(bytes, 0);
  EXPECT_LE(bytes, 227 << 10);
}

TEST(MapThreads, sums_of_rows_stay_in_registers) {
  const std::string text =
      "kernel %s(%x: f32[32768] read, %s: f32[2N] update) {\n  for p in 2 parallel {\n"
      "    for i in N independent {\n      %s[p*N + i] = 0.0\n    }\n"
      "    for r in 5 {\n      for j in N independent {\n"
      "        %s[p*N + j] = %s[p*N + j] + %x[r*N + j]\n      }\n    }\n  }\n}\n";
  expect_right(text, {16, 64, 100, 768, 1024, 2049, 6000});
  EXPECT_TRUE(has_space(mapped(test::with(text, {{"2N", 1536}, {"N", 768}})), "s", Space::thread));
}

TEST(MapThreads, loops_whose_iterations_depend_on_each_other) {
  const std::string text =
      "kernel %y(%x: f32[N] read, %y: f32[3N] update, %t: f32[N] local) work N {\n"
      "  for p in 3 parallel {\n    for i in N independent {\n      %t[i] = %x[i]\n    }\n"
      "    for step in 3 {\n"
      "      for i2 in N independent {\n        %y[p*N + i2] = %t[truncmod(i2 + 1, N)]\n      }\n"
      "      for i3 in N independent {\n        %t[i3] = %y[p*N + i3] + 1.0\n      }\n    }\n  "
      "}\n}\n";
  expect_right(text, {1, 16, 100, 300, 2049, 5000});
}

TEST(MapThreads, folds_over_two_loops) {
  const std::string text =
      "kernel %y(%x: f32[R] read, %y: f32[2] write) work R {\n  for p in 2 parallel {\n"
      "    fold over q in 7, r in N {\n      s = sum of %x[r*7 + q]*%x[q*N + r]\n    }\n"
      "    %y[p] = s\n  }\n}\n";
  for (const int64_t n : {1, 8, 15, 16, 17, 100, 104, 1000})
    EXPECT_EQ(test::wrong(test::with(text, {{"N", n}, {"R", 7 * n}})), "") << n;
}

TEST(MapThreads, folds_of_all_kinds_and_types) {
  for (const char* type : {"f64", "f32", "i64", "i32", "bool"})
    for (const char* fold : {"sum", "prod", "max", "min", "any", "all"}) {
      const std::string_view t = type, f = fold;
      if ((t == "f64" || t == "f32") && (f == "any" || f == "all")) continue;
      if (t == "bool" && f == "sum") continue;  // bytecode stores what it adds up
      const std::string text = fmt::format(
          "kernel %y(%x: {0}[2N] read, %y: {0}[2] write) work 2N {{\n  for p in 2 parallel {{\n"
          "    fold over r in N {{\n      s = {1} of %x[p*N + r]\n    }}\n    %y[p] = s\n  "
          "}}\n}}\n",
          type, fold);
      expect_right(text, {1, 20, 300, 3000});
    }
}

// Extents and indices that are read.
TEST(MapThreads, computed_extents) {
  const std::string text =
      "kernel %y(%n: i64[4] read, %x: f32[400] read, %y: f32[4] write, %z: f32[400] update) {\n"
      "  for p in 4 parallel {\n    let n = %n[p]*25\n"
      "    fold over r in n {\n      s = sum of %x[p*100 + r]\n    }\n    %y[p] = s\n"
      "    for j in n independent {\n      %z[p*100 + j] = s\n    }\n  }\n}\n";
  for (uint64_t seed = 0; seed < 5; ++seed) EXPECT_EQ(test::wrong(text, seed), "");
}

TEST(MapThreads, conditions_and_serial_loops) {
  const std::string text =
      "kernel %y(%x: f32[3N] read, %y: f32[3N] update, %last: f32[3] write) {\n"
      "  for p in 3 parallel {\n    var top = 0.0\n"
      "    if lt(p, 2) {\n      fold over r in N {\n        s = sum of %x[p*N + r]\n      }\n"
      "      top = s\n    }\n"
      "    for i in 3 {\n      %y[p*N + truncmod(i, N)] = top\n    }\n"
      "    for j in N independent {\n      if lt(j, 5) {\n        %y[p*N + j] = %y[p*N + j] + 1.0\n"
      "      }\n    }\n"
      "    %last[p] = %y[p*N + N - 1]\n  }\n}\n";
  expect_right(text, {1, 9, 16, 40, 700, 3000});
}

// What a branch or a loop has read isn't there behind it, where they may not have run.
TEST(MapThreads, reads_of_a_branch_are_not_kept) {
  const std::string text =
      "kernel %y(%x: f32[3N] read, %n: i64[3] read, %y: f32[3N] write, %s: f32[3] write) {\n"
      "  for p in 3 parallel {\n    var top = 0.0\n    AROUND {\n"
      "      fold over r in N {\n        s = sum of %x[p*N + r]\n      }\n      top = s\n    }\n"
      "    for j in N independent {\n      %y[p*N + j] = %x[p*N + j] + top\n    }\n"
      "    %s[p] = top\n  }\n}\n";
  for (const std::string around : {"if lt(p, 1)", "for i in truncdiv(%n[p], 2)"}) {
    std::string at = text;
    at.replace(at.find("AROUND"), 6, around);
    expect_right(at, {16, 256, 384, 768, 1160, 2048, 8192});
  }
}

// A pass over another row reads that row.
TEST(MapThreads, reads_of_another_row_are_not_kept) {
  const std::string text =
      "kernel %y(%x: f32[3N] read, %y: f32[3N] write) {\n  for p in 1 parallel {\n"
      "    for i in 3 {\n      fold over r in N {\n        s = sum of %x[i*N + r]\n      }\n"
      "      for j in N independent {\n        %y[i*N + j] = %x[truncmod(i + 1, 3)*N + j] - s\n    "
      "  "
      "}\n    }\n"
      "  }\n}\n";
  expect_right(text, {16, 256, 384, 768, 1160, 2048, 8192});
}

std::string normalised(const std::string& type) {
  return "kernel %y(%x: " + type + "[3N] read, %w: " + type + "[N] read, %y: " + type +
         "[3N] write) work 3N {\n  for p in 3 parallel {\n"
         "    fold over r in N {\n      s = sum of %x[p*N + r]\n    }\n"
         "    fold over q in N {\n      t = sum of (%x[p*N + q] - s)*%w[q]\n    }\n"
         "    for j in N independent {\n      %y[p*N + j] = %x[p*N + j]*t + s\n    }\n  }\n}\n";
}

// Of a row of several chunks each, which loops read again, each thread reads its chunks once.
TEST(MapThreads, what_a_row_reads_again_stays_in_registers) {
  for (const char* type : {"f32", "bf16"})
    expect_right(normalised(type),
                 {16,   264,  376,  384,  392,  760,  768,  776,  1016, 1024, 1032,
                  1160, 2040, 2048, 2056, 3000, 4096, 5000, 8184, 8200, 9000, 33000});
  const auto copies = [](const std::string& type, int64_t n) {
    return test::count<CopyIn>(mapped(test::with(normalised(type), {{"3N", 3 * n}, {"N", n}})));
  };
  EXPECT_EQ(copies("bf16", 384), 2 + 2);   // slots of %x, of %w
  EXPECT_EQ(copies("bf16", 1288), 6 + 6);  // 161 chunks of 32 threads
  EXPECT_EQ(copies("bf16", 2064), 3 + 3);  // 258 chunks of 128
  EXPECT_EQ(copies("bf16", 8184), 8 + 8);
  EXPECT_EQ(copies("f32", 8184), 8 + 2);  // both together are too much
  // More than registers hold: once in each loop, in that which writes some at a time.
  EXPECT_EQ(copies("f32", 32760), 3 + 2 + 1);
}

// A row of sums that is stored, folded and read again; with `again`, another statement that writes
// it in between.
std::string stored_row(const std::string& type, const std::string& again) {
  return "kernel %y(%x: " + type + "[3N] read, %z: " + type + "[3N] update, %y: " + type +
         "[3N] write) work 3N {\n  for p in 3 parallel {\n"
         "    for i in N independent {\n      %z[p*N + i] = %x[p*N + i] + 1.0\n    }\n" +
         again +
         "    fold over r in N {\n      s = sum of %z[p*N + r]\n    }\n"
         "    for j in N independent {\n      %y[p*N + j] = %z[p*N + j]*s\n    }\n  }\n}\n";
}

// What a thread has written it reads from registers, unless something else writes there.
TEST(MapThreads, what_a_row_has_written_stays_in_registers) {
  const std::string over = "    for k in N independent {\n      %z[p*N + k] = %x[p*N + k]\n    }\n",
                    maybe =
                        "    if lt(p, 2) {\n      for k in N independent {\n"
                        "        %z[p*N + k] = %x[p*N + k]*2.0\n      }\n    }\n",
                    one = "    %z[p*N + N - 1] = 5.0\n";
  for (const char* type : {"f32", "bf16"})
    for (const std::string& again : {std::string(), over, maybe, one})
      expect_right(stored_row(type, again), {16, 256, 264, 384, 768, 1032, 2048, 3000, 8200});
  const auto copies = [](const std::string& again) {
    return test::count<CopyIn>(
        mapped(test::with(stored_row("f32", again), {{"3N", 3 * 256}, {"N", 256}})));
  };
  EXPECT_EQ(copies(""), 1);  // of %x
  EXPECT_EQ(copies(one), 3);
}

// Of long rows that are written, maybe where they are read, several chunks are read at a time.
TEST(MapThreads, rows_that_are_written_are_read_some_chunks_at_a_time) {
  const auto of = [](const char* type, int64_t n, int64_t rows = 3) {
    return test::with(fmt::format("kernel %x(%x: {0}[M] update, %s: f32[R] read) work M {{\n"
                                  "  for p in R parallel {{\n    let s = %s[p]\n"
                                  "    for j in N independent {{\n"
                                  "      let t = %x[p*N + j]\n      %x[p*N + j] = t*s + t\n"
                                  "    }}\n  }}\n}}\n",
                                  type),
                      {{"M", rows * n}, {"R", rows}, {"N", n}});
  };
  for (const char* type : {"f32", "bf16"})
    for (const int64_t n : {2048, 4096, 4104, 8192, 8200, 10240, 16384, 16385, 20000, 40000, 66000})
      EXPECT_EQ(test::wrong(of(type, n)), "") << type << " " << n;
  const auto copies = [&](const char* type, int64_t n) {
    return test::count<CopyIn>(mapped(of(type, n, 2048)));
  };
  EXPECT_EQ(copies("bf16", 50304), 4 + 1);
  EXPECT_EQ(copies("f32", 49152), 4);  // nothing is left
  EXPECT_EQ(copies("f32", 8200), 4 + 1);
  // A processor has room for 1024 of their threads.
  const auto at_once = [&](const char* type, int64_t n) {
    return mapped(of(type, n, 2048)).phases[0].at_once;
  };
  EXPECT_EQ(at_once("bf16", 50304), 2);
  EXPECT_EQ(at_once("f32", 16384), 4);
  EXPECT_EQ(at_once("bf16", 768), 1);
}

// ---- around it

TEST(MapThreads, statements_between_parallel_loops) {
  const std::string text =
      "kernel %y(%x: f32[N] read, %t: f32[N] update, %y: f32[1] update) work N {\n"
      "  for p in N parallel {\n    %t[p] = %x[p] + 1.0\n  }\n"
      "  fold over r in N {\n    s = sum of %t[r]\n  }\n  %y[0] = s\n"
      "  for p2 in N parallel {\n    %t[p2] = div(%t[p2], %y[0])\n  }\n}\n";
  expect_right(text, {1, 100, 3000, 40000});
  EXPECT_EQ(mapped(test::with(text, {{"N", 100}})).phases.size(), 3u);
}

TEST(MapThreads, checks) {
  const std::string text =
      "kernel %y(%i: i64[N] read, %x: f32[4] read, %y: f32[N] write) work N {\n"
      "  for p in N parallel {\n    let at = %i[p]\n"
      "    check lt(at, R) \"index: out of range\" index at bound R\n    %y[p] = %x[at]\n  }\n}\n";
  expect_right(text, {1, 300, 131072}, 4);  // none fails
  expect_right(text, {300, 131072}, 2);     // one does
  const std::string rows =
      "kernel %y(%i: i64[3] read, %x: f32[4000] read, %y: f32[3000] write) {\n"
      "  for p in 3 parallel {\n    let at = %i[p]\n"
      "    check lt(at, R) \"index: out of range\" index at bound R\n"
      "    for j in 1000 independent {\n      %y[p*1000 + j] = %x[at*1000 + j]\n    }\n  }\n}\n";
  for (const int64_t bound : {0, 4}) expect_right(rows, {1}, bound);
  // A row that the check refuses isn't there, so nothing of it is read at once before the check.
  const std::string inside =
      "kernel %y(%i: i64[3] read, %x: f32[R000] read, %y: f32[3000] write) {\n"
      "  for p in 3 parallel {\n    let at = %i[p]\n    for j in 1000 independent {\n"
      "      check lt(at, R) \"index: out of range\" index at bound R\n"
      "      %y[p*1000 + j] = %x[at*1000 + j]\n    }\n  }\n}\n";
  for (const int64_t bound : {1, 2, 4}) expect_right(inside, {1}, bound);
}

TEST(MapThreads, scalars) {
  const std::string text =
      "kernel %y(%x: f32[N] read, %y: f32[N] write, at: scalar, f: f32 scalar) work N {\n"
      "  for p in N parallel {\n    %y[p] = select(eq(p, at), %x[at]*3.0 + f, %x[p])\n  }\n}\n";
  expect_right(text, {2, 1000});
}

TEST(MapThreads, a_kernel_that_is_not_scheduled_is_a_bug) {
  const loop::Kernel k = value_or_throw(loop::parse_kernel("kernel %y() {\n}\n", "t"));
  EXPECT_ANY_THROW(map_threads(k));
}

// ---- defects that are planted

// Every barrier is needed: without any one of them a simulation finds threads that race.
TEST(MapThreads, without_a_barrier_threads_race) {
  const std::string texts[] = {
      "kernel %y(%x: f32[2304] read, %y: f32[2304] write, %t: f32[768] local) {\n"
      "  for p in 3 parallel {\n    for i in 768 independent {\n      %t[i] = %x[p*768 + i]\n    "
      "}\n"
      "    for j in 768 independent {\n      %y[p*768 + j] = %t[767 - j]\n    }\n  }\n}\n",
      "kernel %y(%x: f32[9000] read, %y: f32[9000] update) {\n  for p in 3 parallel {\n"
      "    for i in 3000 independent {\n      %y[p*3000 + i] = %x[p*3000 + i]\n    }\n"
      "    let t = %y[p*3000 + 7]\n"
      "    for j in 3000 independent {\n      %y[p*3000 + j] = t\n    }\n  }\n}\n",
      sums_of_columns_of(128, 64),
  };
  for (const std::string& text : texts) {
    const Kernel whole = mapped(text);
    EXPECT_EQ(test::defects(whole), std::vector<std::string>()) << text;
    const int barriers = test::count<Barrier>(whole);
    EXPECT_GT(barriers, 0);
    int needed = 0;
    for (int b = 0; b < barriers; ++b) {
      const auto found = test::defects(test::without<Barrier>(whole, b));
      if (found.empty()) continue;
      ++needed;
      EXPECT_NE(found[0].find(" race"), std::string::npos) << found[0];
    }
    // The first one of a fold is for a fold before it.
    EXPECT_GE(needed, text == texts[2] ? 1 : barriers) << text;
  }
}

}  // namespace
}  // namespace cleave::simt

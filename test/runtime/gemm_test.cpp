// Products against a plain triple loop in double: every dtype, layout, cut and epilogue.
// tests: gemm_block.cpp gemm_block_plain.cpp gemm_block_avx2.cpp gemm_block_avx512.cpp gemm_cut.cpp
#include "runtime/gemm.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include "runtime/alloc_watch.h"
#include "runtime/gemm_block.h"
#include "runtime/half.h"
#include "test/claimed_threads.h"
#include "test/runtime/gemm_kernels.h"

namespace cleave::runtime {
namespace {

enum class Layout { plain, transposed, strided, broadcast, broadcast_column, one };

// A matrix [batch, rows, columns] in some layout, as bytes and as the exact values of its elements.
struct Operand {
  std::vector<std::byte> bytes;
  std::vector<double> values;  // [batch, rows, columns]
  int64_t batch_stride = 0, row_stride = 0, column_stride = 0;
};

double read_element(const std::byte* at, DType dtype) {
  const auto as = [&]<class T>(T value) {
    std::memcpy(&value, at, sizeof value);
    return value;
  };
  switch (dtype) {
    case DType::f64: return as(double{});
    case DType::f32: return as(float{});
    case DType::bf16: return static_cast<float>(as(Bf16{}));
    case DType::f16: return static_cast<float>(as(F16{}));
    case DType::i64: return static_cast<double>(as(int64_t{}));
    case DType::i32: return as(int32_t{});
    case DType::i16: return as(int16_t{});
    case DType::i8: return as(int8_t{});
    case DType::u8: return as(uint8_t{});
    default: return 0;
  }
}

void write_element(std::byte* at, DType dtype, double value) {
  const auto put = [&](auto typed) { std::memcpy(at, &typed, sizeof typed); };
  switch (dtype) {
    case DType::f64: return put(value);
    case DType::f32: return put(static_cast<float>(value));
    case DType::bf16: return put(Bf16(static_cast<float>(value)));
    case DType::f16: return put(static_cast<F16>(value));
    case DType::i64: return put(static_cast<int64_t>(value));
    case DType::i32: return put(static_cast<int32_t>(value));
    case DType::i16: return put(static_cast<int16_t>(value));
    case DType::i8: return put(static_cast<int8_t>(value));
    case DType::u8: return put(static_cast<uint8_t>(value));
    default: return;
  }
}

// Rounded to the dtype and back: integers wrap around.
double rounded_to(DType dtype, double value) {
  if (is_floating(dtype)) {
    std::byte cell[8];
    write_element(cell, dtype, value);
    return read_element(cell, dtype);
  }
  const auto wide = static_cast<int64_t>(value);
  switch (dtype) {
    case DType::i32: return static_cast<int32_t>(wide);
    case DType::i16: return static_cast<int16_t>(wide);
    case DType::i8: return static_cast<int8_t>(wide);
    case DType::u8: return static_cast<uint8_t>(wide);
    default: return value;
  }
}

Operand make_operand(DType dtype, int64_t batch, int64_t rows, int64_t columns, Layout layout,
                     uint32_t seed) {
  Operand operand;
  switch (layout) {
    case Layout::plain:
      operand.row_stride = columns;
      operand.column_stride = 1;
      break;
    case Layout::transposed:
      operand.row_stride = 1;
      operand.column_stride = rows;
      break;
    case Layout::strided:
      operand.row_stride = 3 * columns + 1;
      operand.column_stride = 3;
      break;
    case Layout::broadcast:
      operand.row_stride = 0;
      operand.column_stride = 1;
      break;
    case Layout::broadcast_column:
      operand.row_stride = 1;
      operand.column_stride = 0;
      break;
    case Layout::one:
      operand.row_stride = 0;
      operand.column_stride = 0;
      break;
  }
  const int64_t extent = rows * operand.row_stride + columns * operand.column_stride + 1;
  operand.batch_stride = layout == Layout::broadcast ? 0 : extent;
  const int64_t bytes = size_of(dtype);
  operand.bytes.resize(static_cast<size_t>(batch * extent * bytes));
  std::mt19937 random(seed);
  std::uniform_int_distribution<int> number(dtype == DType::u8 ? 0 : -50, 50);
  const double unit = is_floating(dtype) ? 1.0 / 16 : 1;
  for (size_t i = 0; i + 1 <= operand.bytes.size() / static_cast<size_t>(bytes); ++i)
    write_element(operand.bytes.data() + i * static_cast<size_t>(bytes), dtype,
                  number(random) * unit);
  for (int64_t b = 0; b < batch; ++b)
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < columns; ++j)
        operand.values.push_back(read_element(
            operand.bytes.data() +
                (b * operand.batch_stride + i * operand.row_stride + j * operand.column_stride) *
                    bytes,
            dtype));
  return operand;
}

struct Case {
  DType dtype = DType::f32;
  int64_t batch = 1, m = 1, n = 1, k = 1;
  Layout a = Layout::plain, b = Layout::plain;
  bool has_c_in = false;
  Layout c_in = Layout::plain;
  double alpha = 1, beta = 1;
};

struct Product {
  GemmSpec spec;
  Operand a, b, c_in;
};

Product make_product(const Case& c) {
  Product p;
  p.a = make_operand(c.dtype, c.batch, c.m, c.k, c.a, 1);
  p.b = make_operand(c.dtype, c.batch, c.k, c.n, c.b, 2);
  p.c_in = make_operand(c.dtype, c.batch, c.m, c.n, c.c_in, 3);
  p.spec = {.dtype = c.dtype,
            .batch = c.batch,
            .m = c.m,
            .n = c.n,
            .k = c.k,
            .a_batch = p.a.batch_stride,
            .a_row = p.a.row_stride,
            .a_col = p.a.column_stride,
            .b_batch = p.b.batch_stride,
            .b_row = p.b.row_stride,
            .b_col = p.b.column_stride,
            .has_c_in = c.has_c_in,
            .c_in_batch = p.c_in.batch_stride,
            .c_in_row = p.c_in.row_stride,
            .c_in_col = p.c_in.column_stride,
            .alpha = c.alpha,
            .beta = c.beta};
  return p;
}

std::vector<std::byte> run(const Gemm& gemm, const Product& p, Executor& executor) {
  const int64_t elements = p.spec.batch * p.spec.m * p.spec.n;
  std::vector<std::byte> c(static_cast<size_t>(elements * size_of(p.spec.dtype)), std::byte{0x5a});
  const test::Scratch scratch = test::make_scratch(gemm.scratch_bytes());
  std::memset(scratch.get() + gemm.scratch_bytes(), 0x77, 64);
  gemm.run(p.a.bytes.data(), p.b.bytes.data(), p.spec.has_c_in ? p.c_in.bytes.data() : nullptr,
           c.data(), scratch.get(), executor);
  for (int i = 0; i < 64; ++i)
    EXPECT_EQ(scratch.get()[gemm.scratch_bytes() + i], std::byte{0x77}) << "scratch overrun";
  return c;
}

// The error of one rounding and k additions in the type of the sums, relative to sum |a b|.
double tolerance(DType dtype) {
  switch (dtype) {
    case DType::f64: return 1e-14;
    case DType::f32: return 1e-6;
    case DType::bf16: return 4e-3;
    case DType::f16: return 6e-4;
    default: return 0;
  }
}

void expect_product(const Case& c) {
  SCOPED_TRACE(fmt::format("{} {}x {}x{}x{} layouts {} {} c_in {} {} alpha {} beta {}",
                           name_of(c.dtype), c.batch, c.m, c.k, c.n, static_cast<int>(c.a),
                           static_cast<int>(c.b), c.has_c_in, static_cast<int>(c.c_in), c.alpha,
                           c.beta));
  const Product p = make_product(c);
  auto made = Gemm::make(p.spec, Target::here());
  ASSERT_TRUE(made.ok()) << made.failure().message;
  const Gemm& gemm = **made;
  static const auto one = make_thread_pool(1), two = make_thread_pool(2),
                    three = make_thread_pool(3);
  const std::vector<std::byte> got = run(gemm, p, *one);
  EXPECT_EQ(got, run(gemm, p, *two)) << "bits differ between 1 and 2 threads";
  EXPECT_EQ(got, run(gemm, p, *three)) << "bits differ between 1 and 3 threads";
  for (const int threads : {8, 16, 64}) {
    cleave::test::ClaimedThreads many(threads);
    EXPECT_EQ(got, run(gemm, p, many)) << "bits differ between 1 and " << threads << " threads";
  }
  const int64_t bytes = size_of(c.dtype);
  for (int64_t b = 0; b < c.batch; ++b)
    for (int64_t i = 0; i < c.m; ++i)
      for (int64_t j = 0; j < c.n; ++j) {
        double sum = 0, size = 1;
        for (int64_t x = 0; x < c.k; ++x) {
          const double product = p.a.values[static_cast<size_t>((b * c.m + i) * c.k + x)] *
                                 p.b.values[static_cast<size_t>((b * c.k + x) * c.n + j)];
          sum += product;
          size += std::abs(product);
        }
        const auto at = static_cast<size_t>((b * c.m + i) * c.n + j);
        sum *= c.alpha;
        if (c.has_c_in) sum += c.beta * p.c_in.values[at];
        const double want = rounded_to(c.dtype, sum);
        const double have = read_element(got.data() + at * static_cast<size_t>(bytes), c.dtype);
        const double limit = c.dtype == DType::f32 || c.dtype == DType::f64
                                 ? tolerance(c.dtype) * size
                                 : tolerance(c.dtype) * std::max(1.0, std::abs(want));
        ASSERT_LE(std::abs(have - want), limit)
            << "at " << b << " " << i << " " << j << ": " << have << ", expected " << want;
      }
}

constexpr DType all[] = {DType::f64, DType::f32, DType::bf16, DType::f16, DType::i64,
                         DType::i32, DType::i16, DType::i8,   DType::u8};

TEST(Gemm, EveryTypeAndLayout) {
  for (const DType dtype : all)
    for (const Layout a : {Layout::plain, Layout::transposed, Layout::strided})
      for (const Layout b : {Layout::plain, Layout::transposed, Layout::strided})
        expect_product({.dtype = dtype, .m = 13, .n = 37, .k = 19, .a = a, .b = b});
}

TEST(Gemm, OperandsThatRepeatARowAColumnOrANumber) {
  for (const DType dtype : all)
    for (const Layout repeated : {Layout::broadcast, Layout::broadcast_column, Layout::one})
      for (const int64_t m : {5, 13, 80})
        for (const bool is_a : {false, true})
          expect_product({.dtype = dtype,
                          .m = m,
                          .n = 37,
                          .k = 19,
                          .a = is_a ? repeated : Layout::plain,
                          .b = is_a ? Layout::transposed : repeated});
}

TEST(Gemm, OddShapes) {
  for (const int64_t m : {1, 5, 6, 7, 12, 25})
    for (const int64_t n : {1, 15, 16, 17, 33, 64})
      for (const int64_t k : {1, 2, 8, 31}) {
        expect_product({.m = m, .n = n, .k = k});
        expect_product({.m = m, .n = n, .k = k, .b = Layout::transposed});
        expect_product({.dtype = DType::bf16, .m = m, .n = n, .k = k, .a = Layout::transposed});
      }
}

TEST(Gemm, LongSums) {
  for (const DType dtype : {DType::f64, DType::f32, DType::bf16, DType::i64})
    for (const int64_t k : {255, 256, 257, 700})
      for (const Layout layout : {Layout::plain, Layout::transposed})
        expect_product({.dtype = dtype,
                        .m = 14,
                        .n = 35,
                        .k = k,
                        .a = layout,
                        .b = layout,
                        .has_c_in = true,
                        .alpha = 2,
                        .beta = 3});
}

// Spans of k: one value more than a span, several spans, and all epilogues.
TEST(Gemm, SpansOfALongSum) {
  for (const DType dtype : {DType::f64, DType::f32})
    for (const int64_t k : {24576, 24577, 49153})
      for (const bool has_c_in : {false, true})
        expect_product({.dtype = dtype,
                        .m = 7,
                        .n = k % 2 == 0 ? 3 : 35,
                        .k = k,
                        .b = Layout::transposed,
                        .has_c_in = has_c_in,
                        .alpha = has_c_in ? 0.5 : 1,
                        .beta = 2});
}

// Sums of equal numbers, whose roundings don't cancel, on every kernel that the processor can run.
TEST(GemmBlock, TheErrorOfALongSumIsThatOfASpan) {
  for (const GemmBlockKernel& kernel : test::kernels_for(DType::f32)) {
    const auto error = [&](int64_t k) {
      const std::vector<float> a(static_cast<size_t>(k), 0.1f), b(static_cast<size_t>(k), 1);
      const test::Scratch scratch = test::make_scratch(kernel.scratch_bytes(1, 1, k));
      float c = 0;
      kernel.run({.a = a.data(),
                  .b = b.data(),
                  .c = &c,
                  .scratch = scratch.get(),
                  .m = 1,
                  .n = 1,
                  .k = k,
                  .a_row = k,
                  .a_col = 1,
                  .b_row = 1,
                  .b_col = 1,
                  .c_row = 1});
      return std::abs(c / (0.1f * static_cast<double>(k)) - 1);
    };
    for (const int64_t k : {kernel.span, 4 * kernel.span, 64 * kernel.span})
      EXPECT_LT(error(k), 1e-5) << k;
  }
}

TEST(Gemm, Epilogues) {
  for (const DType dtype : {DType::f64, DType::f32, DType::bf16, DType::f16, DType::i32})
    for (const Layout c_in :
         {Layout::plain, Layout::transposed, Layout::strided, Layout::broadcast})
      for (const double alpha : {1.0, -2.0, 0.0})
        for (const double beta : {1.0, 3.0, 0.0})
          expect_product({.dtype = dtype,
                          .m = 9,
                          .n = 21,
                          .k = 11,
                          .has_c_in = true,
                          .c_in = c_in,
                          .alpha = alpha,
                          .beta = beta});
  expect_product({.m = 9, .n = 21, .k = 11, .alpha = 0.5});
}

TEST(Gemm, ManyPieces) {
  for (const DType dtype : {DType::f32, DType::bf16})
    for (const Layout layout : {Layout::plain, Layout::transposed})
      expect_product({.dtype = dtype,
                      .m = 301,
                      .n = 157,
                      .k = 65,
                      .a = layout,
                      .b = layout,
                      .has_c_in = true,
                      .c_in = Layout::broadcast});
}

TEST(Gemm, Batches) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::f64})
    for (const Layout layout : {Layout::plain, Layout::transposed}) {
      expect_product({.dtype = dtype, .batch = 67, .m = 16, .n = 17, .k = 8, .a = layout});
      expect_product({.dtype = dtype,
                      .batch = 3,
                      .m = 40,
                      .n = 70,
                      .k = 8,
                      .b = layout,
                      .has_c_in = true,
                      .c_in = Layout::broadcast});
      expect_product({.dtype = dtype,
                      .batch = 5,
                      .m = 7,
                      .n = 9,
                      .k = 4,
                      .b = Layout::broadcast,
                      .has_c_in = true,
                      .c_in = layout,
                      .beta = 2});
    }
}

// Into columns of a wider matrix: the bits are those of a product of its own, and nothing is
// written beside them.
TEST(Gemm, RowsThatLieApart) {
  const auto pool = make_thread_pool(2);
  for (const DType dtype : all)
    for (const int64_t n : {1, 17, 64, 150}) {
      const Case of{.dtype = dtype,
                    .batch = 2,
                    .m = 70,
                    .n = n,
                    .k = dtype == DType::f32 ? 24600 / n : 40,
                    .has_c_in = n == 17};
      Product p = make_product(of);
      const std::vector<std::byte> want =
          run(*value_or_throw(Gemm::make(p.spec, Target::here())), p, *pool);
      const int64_t row = n + 5, bytes = size_of(dtype);
      p.spec.c_row = row;
      p.spec.c_batch = of.m * row + 3;
      const auto gemm = value_or_throw(Gemm::make(p.spec, Target::here()));
      std::vector<std::byte> wide(static_cast<size_t>((p.spec.c_batch + of.m * row) * bytes),
                                  std::byte{0x5a});
      const test::Scratch scratch = test::make_scratch(gemm->scratch_bytes());
      gemm->run(p.a.bytes.data(), p.b.bytes.data(), of.has_c_in ? p.c_in.bytes.data() : nullptr,
                wide.data(), scratch.get(), *pool);
      std::vector<std::byte> got;
      for (int64_t b = 0; b < of.batch; ++b)
        for (int64_t i = 0; i < of.m; ++i) {
          std::byte* at = wide.data() + (b * p.spec.c_batch + i * row) * bytes;
          got.insert(got.end(), at, at + n * bytes);
          std::fill(at, at + n * bytes, std::byte{0x5a});
        }
      EXPECT_EQ(got, want) << name_of(dtype) << " " << n;
      EXPECT_EQ(std::ranges::count(wide, std::byte{0x5a}), std::ssize(wide))
          << name_of(dtype) << " " << n;
    }
  EXPECT_EQ(Gemm::make({.m = 2, .n = 3, .k = 2, .c_row = 2}, Target::here()).failure().kind,
            ErrorKind::bug);
}

TEST(Gemm, EmptyDimensions) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::i32}) {
    expect_product({.dtype = dtype, .m = 3, .n = 40, .k = 0});
    expect_product({.dtype = dtype,
                    .batch = 2,
                    .m = 3,
                    .n = 40,
                    .k = 0,
                    .has_c_in = true,
                    .c_in = Layout::broadcast,
                    .beta = 2});
    for (const auto& [batch, m, n] : {std::array<int64_t, 3>{1, 0, 5}, {1, 5, 0}, {0, 5, 5}})
      expect_product({.dtype = dtype, .batch = batch, .m = m, .n = n, .k = 4});
  }
}

TEST(Gemm, NotANumberAndInfinityPassThrough) {
  const float infinity = std::numeric_limits<float>::infinity();
  const float a[4] = {1, infinity, 0, std::nanf("")}, b[2] = {0, 1};
  float c[2] = {5, 5};
  auto gemm =
      value_or_throw(Gemm::make({.m = 2, .n = 1, .k = 2, .a_row = 2, .b_row = 1}, Target::here()));
  const test::Scratch scratch = test::make_scratch(gemm->scratch_bytes());
  gemm->run(a, b, nullptr, c, scratch.get(), *make_thread_pool(1));
  EXPECT_EQ(c[0], infinity);
  EXPECT_TRUE(std::isnan(c[1]));
}

TEST(Gemm, HalvesAreSummedInF32AndRoundedOnce) {
  // 256 + 1 + 1 in bf16 would stay 256 after each step: the sum in f32 is 258.
  std::vector<Bf16> a(3, Bf16(1.0f)), b = {Bf16(256.0f), Bf16(1.0f), Bf16(1.0f)};
  Bf16 c;
  auto gemm = value_or_throw(Gemm::make(
      {.dtype = DType::bf16, .m = 1, .n = 1, .k = 3, .a_row = 3, .b_row = 1}, Target::here()));
  const test::Scratch scratch = test::make_scratch(gemm->scratch_bytes());
  gemm->run(a.data(), b.data(), nullptr, &c, scratch.get(), *make_thread_pool(1));
  EXPECT_EQ(static_cast<float>(c), 258.0f);
}

TEST(Gemm, RefusesWhatHasNoSums) {
  const auto made = Gemm::make({.dtype = DType::boolean, .m = 2, .n = 2, .k = 2}, Target::here());
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.failure().kind, ErrorKind::unsupported);
  EXPECT_EQ(made.failure().message,
            "gemm: products of bool are not covered (src/runtime/gemm_block.h)");
}

TEST(Gemm, HasPiecesForEveryThread) {
  const GemmSpec spec{.m = 768, .n = 384, .k = 384, .a_row = 384, .b_row = 384};
  const auto first = value_or_throw(Gemm::make(spec, Target::here())),
             second = value_or_throw(Gemm::make(spec, Target::here()));
  EXPECT_EQ(first->scratch_bytes(), second->scratch_bytes());
  EXPECT_EQ(first->scratch_bytes() % 64, 0);
  for (const int threads : {2, 4, 8, 16}) {
    EXPECT_EQ(first->pieces(threads), second->pieces(threads));
    EXPECT_GE(first->pieces(threads), threads);
  }
  EXPECT_EQ(first->pieces(3), first->pieces(4));
  EXPECT_EQ(first->pieces(64), first->pieces(16));
}

TEST(Gemm, OneGemmRunsInManyThreadsAtOnce) {
  for (const DType dtype : {DType::f32, DType::bf16}) {
    const Product p = make_product({.dtype = dtype, .m = 70, .n = 90, .k = 33});
    const auto gemm = value_or_throw(Gemm::make(p.spec, Target::here()));
    const auto pool = make_thread_pool(2);
    const std::vector<std::byte> want = run(*gemm, p, *pool);
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i)
      threads.emplace_back([&] {
        for (int round = 0; round < 20; ++round) EXPECT_EQ(run(*gemm, p, *pool), want);
      });
    for (std::thread& thread : threads) thread.join();
  }
}

TEST(Gemm, AllocatesNothing) {
  if (!AllocWatch::available()) GTEST_SKIP() << "malloc is not interposed";
  const auto pool = make_thread_pool(2);
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
    const Product p = make_product({.dtype = dtype, .m = 300, .n = 384, .k = 128});
    const auto gemm = value_or_throw(Gemm::make(p.spec, Target::here()));
    std::vector<std::byte> c(static_cast<size_t>(300 * 384 * size_of(dtype)));
    const test::Scratch scratch = test::make_scratch(gemm->scratch_bytes());
    const auto step = [&] {
      gemm->run(p.a.bytes.data(), p.b.bytes.data(), nullptr, c.data(), scratch.get(), *pool);
    };
    step();
    AllocWatch watch;
    watch.start();
    step();
    const AllocCounts seen = watch.stop();
    EXPECT_EQ(seen.live_bytes, 0);
    EXPECT_EQ(seen.maps, 0);
    EXPECT_EQ(seen.allocations, 0);
  }
}

// Also kernels of other instruction sets than this processor's best one.
TEST(GemmBlock, EveryInstructionSetAgreesOnIntegers) {
  const Product p = make_product({.m = 31, .n = 45, .k = 300});
  std::vector<std::vector<float>> results;
  for (const GemmBlockKernel& kernel : test::kernels_for(DType::f32)) {
    const test::Scratch scratch = test::make_scratch(kernel.scratch_bytes(31, 45, 300));
    std::vector<float> c(31 * 45);
    kernel.run({.a = p.a.bytes.data(),
                .b = p.b.bytes.data(),
                .c = c.data(),
                .scratch = scratch.get(),
                .m = 31,
                .n = 45,
                .k = 300,
                .a_row = 300,
                .a_col = 1,
                .b_row = 45,
                .b_col = 1,
                .c_row = 45});
    results.push_back(c);
  }
  // Sums of multiples of 1/256 below 2^16 are exact in f32: any order gives the same.
  for (const auto& result : results) EXPECT_EQ(result, results[0]);
}

TEST(GemmBlock, PanelsMayComeFromASource) {
  for (const auto& [m, n, k] : {std::array<int64_t, 3>{3, 200, 40}, {70, 77, 600}, {130, 256, 1}}) {
    const Product p = make_product({.m = m, .n = n, .k = k, .has_c_in = true});
    const GemmBlockKernel kernel = gemm_block_kernel(DType::f32, Target::here().set);
    const test::Scratch scratch = test::make_scratch(kernel.scratch_bytes(m, n, k));
    const int64_t first = n / 3;  // the block has the columns from here on
    const auto at = [&](const Operand& x) {
      return reinterpret_cast<const float*>(x.bytes.data());
    };
    const test::MatrixPanels source{at(p.b), n, k, n, kernel.nr};
    GemmBlock block{.a = at(p.a),
                    .b = at(p.b) + first,
                    .c_in = at(p.c_in) + first,
                    .scratch = scratch.get(),
                    .m = m,
                    .n = n - first,
                    .k = k,
                    .a_row = k,
                    .a_col = 1,
                    .b_row = n,
                    .b_col = 1,
                    .c_in_row = n,
                    .c_in_col = 1,
                    .c_row = n - first};
    std::vector<float> want(static_cast<size_t>(m * (n - first))), got(want);
    block.c = want.data();
    kernel.run(block);
    block.c = got.data();
    block.b = nullptr;
    block.b_row = block.b_col = 0;
    block.panels = {test::MatrixPanels::pack, &source, first};
    kernel.run(block);
    EXPECT_EQ(got, want);
  }
}

}  // namespace
}  // namespace cleave::runtime

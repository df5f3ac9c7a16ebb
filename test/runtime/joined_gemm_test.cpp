// Products of one job beside each of them alone: equal bits, on any number of threads.
// tests: gemm.cpp
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include "library/spec.h"
#include "run/run_context.h"
#include "runtime/alloc_watch.h"
#include "runtime/library.h"
#include "runtime/thread_pool.h"
#include "test/claimed_threads.h"
#include "test/runtime/gemm_kernels.h"

namespace cleave::runtime {
namespace {

constexpr size_t guard_bytes = 256;  // behind each workspace, which nothing may touch

// A product with operands of its own, and memory for its result and its workspace.
class Product {
 public:
  Product(const GemmSpec& spec, uint32_t seed)
      : function_(value_or_throw(make_library_function(spec, Target::here()))),
        c_(bytes(spec, spec.batch * spec.m * spec.n)) {
    std::mt19937 rng(seed);
    for (const auto& [position, elements] :
         {std::pair<size_t, int64_t>{GemmOperand::a, spec.batch * spec.m * spec.k},
          {GemmOperand::b, spec.batch * spec.k * spec.n},
          {GemmOperand::c_in, spec.batch * spec.m * spec.n}}) {
      operands_[position].resize(bytes(spec, elements));
      if (spec.dtype == DType::f32) fill<float>(operands_[position], rng);
      if (spec.dtype == DType::f64) fill<double>(operands_[position], rng);
      if (!is_floating(spec.dtype))
        for (std::byte& b : operands_[position]) b = static_cast<std::byte>(rng());
      if (spec.dtype == DType::bf16)  // positive, about 1
        for (size_t i = 0; i < operands_[position].size(); i += 2) {
          operands_[position][i] = static_cast<std::byte>(rng());
          operands_[position][i + 1] = std::byte{0x3f};
        }
      at_[position] = operands_[position].data();
    }
    at_[GemmOperand::c] = c_.data();
  }

  const LibraryFunction& function() const { return *function_; }

  // Of a result that is poison before, with a workspace of poison.
  std::vector<std::byte> alone(Executor& executor) {
    begin();
    function_->call(at_, scratch(), {executor});
    return end();
  }
  LibraryRun begin() {
    std::ranges::fill(c_, std::byte{0xee});
    const size_t size = static_cast<size_t>(function_->scratch_bytes()) + guard_bytes;
    scratch_ = test::make_scratch(static_cast<int64_t>(size));
    std::memset(scratch(), 0xdd, size);
    return {function_.get(), at_, scratch()};
  }
  std::vector<std::byte> end() {
    const auto* guard = static_cast<const unsigned char*>(scratch()) + function_->scratch_bytes();
    for (size_t i = 0; i < guard_bytes; ++i) EXPECT_EQ(guard[i], 0xdd);
    return c_;
  }

 private:
  static size_t bytes(const GemmSpec& spec, int64_t elements) {
    return static_cast<size_t>(elements * size_of(spec.dtype));
  }
  template <class T>
  static void fill(std::vector<std::byte>& out, std::mt19937& rng) {
    std::normal_distribution<T> normal;
    for (size_t i = 0; i < out.size(); i += sizeof(T)) {
      const T x = normal(rng);
      std::memcpy(&out[i], &x, sizeof x);
    }
  }
  void* scratch() { return scratch_.get(); }

  const LibraryFunctionPtr function_;
  std::vector<std::byte> operands_[3], c_;
  void* at_[max_library_operands] = {};
  decltype(test::make_scratch(0)) scratch_ = test::make_scratch(64);
};

GemmSpec spec_of(DType dtype, int64_t m, int64_t n, int64_t k) {
  return {.dtype = dtype, .m = m, .n = n, .k = k, .a_row = k, .b_row = n};
}

std::vector<GemmSpec> small_specs() {
  std::vector<GemmSpec> out = {
      spec_of(DType::f32, 64, 512, 256), spec_of(DType::f32, 1, 1, 1),
      spec_of(DType::f64, 33, 70, 129),  spec_of(DType::bf16, 200, 96, 64),
      spec_of(DType::i32, 17, 40, 23),   spec_of(DType::f32, 5, 0, 7),  // no piece
      spec_of(DType::f32, 9, 30, 0),     spec_of(DType::f32, 256, 33, 65),
  };
  GemmSpec batch = spec_of(DType::f32, 40, 24, 50);
  batch.batch = 12;
  batch.a_batch = 40 * 50;
  batch.b_batch = 50 * 24;
  out.push_back(batch);
  GemmSpec bias = spec_of(DType::f32, 128, 96, 100);
  bias.has_c_in = true;
  out.push_back(bias);
  return out;
}

std::vector<Product> products() {
  std::vector<Product> out;
  uint32_t seed = 0;
  for (const GemmSpec& spec : small_specs()) out.emplace_back(spec, seed++);
  return out;
}

void expect_same(Executor& executor) {
  std::vector<Product> all = products();
  std::vector<std::vector<std::byte>> alone;
  for (Product& p : all) alone.push_back(p.alone(executor));
  std::vector<LibraryRun> runs;
  for (Product& p : all) runs.push_back(p.begin());
  runs[0].function->call_joined(runs, {executor});
  for (size_t k = 0; k < all.size(); ++k)
    EXPECT_EQ(all[k].end() == alone[k], true) << "product " << k;
}

TEST(JoinedGemm, has_the_bits_of_each_product_alone_on_any_number_of_threads) {
  for (const Product& p : products()) EXPECT_TRUE(p.function().can_join());
  for (const int threads : {1, 2, 3, 4, 8, 16}) {
    SCOPED_TRACE(threads);
    expect_same(*value_or_throw(start_threads(threads)));
    cleave::test::ClaimedThreads claimed(threads);
    expect_same(claimed);
  }
}

// Each piece on a thread of its own, so that lanes run at the same time on one core, too.
struct ThreadForEach final : Executor {
  int threads() const override { return 16; }
  void parallel_for(long pieces, void (*f)(void*, long), void* context) override {
    ++jobs;
    most_pieces = std::max(most_pieces, pieces);
    std::vector<std::thread> running;
    for (long i = 0; i < pieces; ++i) running.emplace_back(f, context, i);
    for (std::thread& t : running) t.join();
  }
  int jobs = 0;
  long most_pieces = 0;
};

TEST(JoinedGemm, is_one_job_of_the_lanes_that_its_work_is_worth) {
  ThreadForEach executor;
  expect_same(executor);
  const int alone = static_cast<int>(small_specs().size());
  EXPECT_EQ(executor.jobs, alone + 1);
  // Two products of which each is worth some lanes, and two that are worth none together.
  for (const int64_t size : {128, 1}) {
    ThreadForEach few;
    Product a(spec_of(DType::f32, size, size, size), 1),
        b(spec_of(DType::f32, size, size, size), 2);
    const std::vector<LibraryRun> runs = {a.begin(), b.begin()};
    runs[0].function->call_joined(runs, {few});
    EXPECT_EQ(few.jobs, 1);
    EXPECT_EQ(few.most_pieces > 1, size > 1) << few.most_pieces;
  }
}

TEST(JoinedGemm, takes_up_to_the_most_calls) {
  std::vector<Product> all;
  for (uint32_t k = 0; k < max_joined_calls; ++k)
    all.emplace_back(spec_of(DType::f32, 8 + k, 40 - k, 5 + 3 * k), k);
  cleave::test::ClaimedThreads executor(16);
  std::vector<std::vector<std::byte>> alone;
  for (Product& p : all) alone.push_back(p.alone(executor));
  std::vector<LibraryRun> runs;
  for (Product& p : all) runs.push_back(p.begin());
  runs[0].function->call_joined(runs, {executor});
  for (size_t k = 0; k < all.size(); ++k) EXPECT_TRUE(all[k].end() == alone[k]) << k;
}

TEST(JoinedGemm, large_products_keep_to_themselves) {
  const auto joins = [](const GemmSpec& spec) {
    return value_or_throw(make_library_function(spec, Target::here()))->can_join();
  };
  EXPECT_TRUE(joins(spec_of(DType::f32, 128, 128, 128)));
  EXPECT_FALSE(joins(spec_of(DType::f32, 1024, 1024, 1024)));
}

TEST(JoinedGemm, allocates_nothing) {
  if (!AllocWatch::available()) GTEST_SKIP();
  std::vector<Product> all = products();
  std::vector<LibraryRun> runs;
  for (Product& p : all) runs.push_back(p.begin());
  const std::shared_ptr<Executor> executor = value_or_throw(start_threads(3));
  runs[0].function->call_joined(runs, {*executor});
  AllocWatch watch;
  watch.start();
  runs[0].function->call_joined(runs, {*executor});
  EXPECT_EQ(watch.stop().allocations, 0);
}

}  // namespace
}  // namespace cleave::runtime

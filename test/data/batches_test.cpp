// Batches: every example once an epoch, in an order that the seed decides; errors of sources.
// tests: batches.cpp permutation.cpp memory_source.cpp
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "base/result.h"
#include "cleave/data.h"
#include "data/permutation.h"

namespace cleave::data {
namespace {

template <class F>
std::string message(const F& f) {
  try {
    f();
  } catch (const std::exception& e) { return e.what(); }
  return "no error";
}

SourcePtr numbers(int64_t n) {
  HostTensor x(DType::i64, {n}), y(DType::f32, {n, 2});
  for (int64_t i = 0; i < n; ++i) {
    x.data<int64_t>()[i] = i;
    y.at<float>({i, 0}) = static_cast<float>(i);
    y.at<float>({i, 1}) = static_cast<float>(-i);
  }
  return tensors({x, y});
}

std::vector<int64_t> taken(Batches& batches, int64_t count) {
  std::vector<int64_t> out;
  for (int64_t i = 0; i < count; ++i) {
    const HostTensors& b = batches.next();
    for (int64_t k = 0; k < b[0].numel(); ++k) {
      out.push_back(b[0].data<int64_t>()[k]);
      EXPECT_EQ(b[1].at<float>({k, 1}), -static_cast<float>(out.back()));
    }
  }
  return out;
}

TEST(Permutation, holds_each_number_once) {
  for (const int64_t n : {1, 2, 3, 7, 64, 65, 1000, 4097})
    for (const uint64_t seed : {0, 1, 12345}) {
      const Permutation p(n, seed, 3);
      std::set<int64_t> seen;
      for (int64_t i = 0; i < n; ++i) seen.insert(p(i));
      EXPECT_EQ(std::ssize(seen), n);
      EXPECT_EQ(*seen.begin(), 0);
      EXPECT_EQ(*seen.rbegin(), n - 1);
    }
}

// Each place gets each number about equally often, and neighbours don't stay neighbours.
TEST(Permutation, is_random_enough) {
  constexpr int64_t n = 20, trials = 20000;
  std::vector<int64_t> counts(n * n);
  int64_t neighbours = 0;
  for (uint64_t seed = 0; seed < trials; ++seed) {
    const Permutation p(n, seed, 0);
    for (int64_t i = 0; i < n; ++i) ++counts[i * n + p(i)];
    for (int64_t i = 1; i < n; ++i) neighbours += p(i) == p(i - 1) + 1;
  }
  double chi = 0;  // of n * n cells with n - 1 squared degrees of freedom
  for (const int64_t c : counts) {
    const double expected = static_cast<double>(trials) / n, d = static_cast<double>(c) - expected;
    chi += d * d / expected;
  }
  EXPECT_LT(chi, 361 + 6 * std::sqrt(2 * 361.0));
  EXPECT_NEAR(static_cast<double>(neighbours) / trials, (n - 1.0) / n, 0.05);
}

TEST(Batches, each_example_once_an_epoch) {
  for (const int prefetch : {0, 1, 3}) {
    Batches batches(numbers(10),
                    {.size = 3, .seed = 4, .last = LastBatch::keep, .prefetch = prefetch});
    EXPECT_EQ(batches.per_epoch(), 4);
    std::vector<int64_t> first = taken(batches, 4), second = taken(batches, 4);
    EXPECT_NE(first, second);
    for (std::vector<int64_t>* epoch : {&first, &second}) {
      std::ranges::sort(*epoch);
      std::vector<int64_t> all(10);
      std::iota(all.begin(), all.end(), 0);
      EXPECT_EQ(*epoch, all);
    }
  }
}

TEST(Batches, a_size_beyond_all_examples_makes_one_batch) {
  Batches all(numbers(6), {.size = std::numeric_limits<int64_t>::max(),
                           .shuffle = false,
                           .last = LastBatch::keep,
                           .prefetch = 0});
  EXPECT_EQ(all.per_epoch(), 1);
  EXPECT_EQ(all.next()[0].shape()[0], 6);
}

TEST(Batches, seek_refuses_what_cannot_be_counted) {
  Batches batches(numbers(6), {.size = 2, .shuffle = false, .prefetch = 0});
  const int64_t limit = int64_t{1} << 60;
  batches.seek(limit);
  batches.next();
  EXPECT_EQ(batches.position(), limit + 1);
  for (const int64_t odd : {int64_t{-1}, limit + 1, std::numeric_limits<int64_t>::max()})
    EXPECT_EQ(message([&] { batches.seek(odd); }),
              fmt::format("data::Batches: seek: {} is outside [0, {}]", odd, limit));
}

TEST(Batches, the_seed_decides_the_order_and_seek_finds_it_again) {
  Batches ahead(numbers(100), {.size = 7, .seed = 9}),
      alone(numbers(100), {.size = 7, .seed = 9, .prefetch = 0});
  const std::vector<int64_t> all = taken(ahead, 40);
  EXPECT_EQ(taken(alone, 40), all);
  Batches other(numbers(100), {.size = 7, .seed = 10});
  EXPECT_NE(taken(other, 40), all);
  ahead.seek(25);
  EXPECT_EQ(ahead.position(), 25);
  EXPECT_EQ(taken(ahead, 15), (std::vector<int64_t>{all.begin() + 25 * 7, all.end()}));
  Batches plain(numbers(6), {.size = 2, .shuffle = false});
  EXPECT_EQ(taken(plain, 4), (std::vector<int64_t>{0, 1, 2, 3, 4, 5, 0, 1}));
}

// A batch stays as it is until the next call, however far the thread is ahead.
TEST(Batches, the_batch_in_hand_is_not_overwritten) {
  Batches batches(numbers(1000), {.size = 1, .shuffle = false, .prefetch = 2});
  for (int64_t i = 0; i < 1000; ++i) {
    const HostTensors& b = batches.next();
    for (int k = 0; k < 20; ++k) std::this_thread::yield();
    ASSERT_EQ(b[0].data<int64_t>()[0], i);
  }
}

TEST(Batches, an_error_of_the_source_is_thrown_by_next) {
  for (const int prefetch : {0, 2}) {
    int left = 1;  // errors
    const SourcePtr source =
        function(8, {{DType::i64, {}}}, [&](int64_t i, std::span<void* const> to) {
          if (i == 5 && left-- > 0) throw std::runtime_error("example 5 is broken");
          *static_cast<int64_t*>(to[0]) = i;
        });
    Batches batches(source, {.size = 2, .shuffle = false, .prefetch = prefetch});
    for (int64_t i : {0, 2}) EXPECT_EQ(batches.next()[0].data<int64_t>()[0], i);
    EXPECT_EQ(message([&] { batches.next(); }), "example 5 is broken");
    EXPECT_EQ(batches.next()[0].data<int64_t>()[1], 5);  // tried again
    EXPECT_EQ(batches.next()[0].data<int64_t>()[0], 6);
  }
}

TEST(Batches, what_makes_no_batch) {
  EXPECT_TRUE(message([] {
                Batches(numbers(3), {.size = 4});
              }).ends_with("data::Batches: 3 examples make no batch of 4"));
  EXPECT_TRUE(message([] {
                Batches(numbers(3), {.size = 0});
              }).ends_with("data::Batches: size is 0, expected at least 1"));
  EXPECT_TRUE(message([] { Batches(nullptr, {}); }).ends_with("the source is null"));
}

TEST(Sources, parts) {
  Batches middle(part(numbers(10), 3, 6), {.size = 3, .shuffle = false});
  EXPECT_EQ(taken(middle, 1), (std::vector<int64_t>{3, 4, 5}));
  const auto [train, test] = split(numbers(10), 0.7, 1);
  EXPECT_EQ(train->size(), 7);
  Batches a(train, {.size = 7}), b(test, {.size = 3});
  std::vector<int64_t> all = taken(a, 1);
  for (const int64_t i : taken(b, 1)) all.push_back(i);
  std::ranges::sort(all);
  EXPECT_EQ(all, (std::vector<int64_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
  EXPECT_EQ(message([] { part(numbers(3), 1, 4); }), "data::part: [1, 4) is no part of 3 examples");
  EXPECT_EQ(message([] { split(numbers(3), NAN, 4); }),
            "data::split: nan is no fraction in [0, 1]");
  EXPECT_EQ(message([] { tensors({HostTensor(DType::f32, {2}), HostTensor(DType::f32, {3, 1})}); }),
            "data::tensors: tensor 1 is f32[3,1], tensor 0 f32[2]; expected as many rows");
}

TEST(Batches, moved_from) {
  Batches from(tensors({HostTensor(DType::f32, {4, 2})}), {.size = 2});
  const Batches to = std::move(from);
  for (const auto& use :
       std::vector<std::function<void()>>{[&] { from.next(); }, [&] { from.seek(1); },
                                          [&] { from.position(); }, [&] { from.per_epoch(); }}) {
    try {
      use();
      ADD_FAILURE();
    } catch (const Error& e) { EXPECT_STREQ(e.what(), "data::Batches: it was moved from"); }
  }
}

}  // namespace
}  // namespace cleave::data

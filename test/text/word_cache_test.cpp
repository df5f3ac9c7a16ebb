// What is found was put there, also by several threads.
#include "text/word_cache.h"

#include <gtest/gtest.h>

#include <thread>

namespace cleave::text {
namespace {

using Ids = std::vector<int64_t>;

TEST(WordCache, words_come_back) {
  WordCache cache;
  Ids ids{7};
  EXPECT_FALSE(cache.find("a", ids));
  const Ids put{1, 2};
  cache.put("a", put.data(), put.size());
  EXPECT_TRUE(cache.find("a", ids));
  EXPECT_EQ(ids, (Ids{7, 1, 2}));
  EXPECT_FALSE(cache.find("b", ids));
}

TEST(WordCache, long_words_are_left_out) {
  WordCache cache;
  const std::string word(WordCache::longest_word + 1, 'a');
  const Ids put{1};
  cache.put(word, put.data(), 1);
  Ids ids;
  EXPECT_FALSE(cache.find(word, ids));
  const Ids many(WordCache::most_ids + 1, 1);
  cache.put("b", many.data(), many.size());
  EXPECT_FALSE(cache.find("b", ids));
}

TEST(WordCache, the_empty_word_is_none_until_it_is_put) {
  WordCache cache;
  const Ids put{1};
  for (int i = 0; i < 1000; ++i) cache.put(std::to_string(i), put.data(), 1);
  Ids ids;
  cache.find("", ids);
  EXPECT_EQ(ids, (Ids{}));
}

TEST(WordCache, threads_find_what_belongs_to_the_word) {
  WordCache cache;
  std::vector<std::thread> threads;
  for (int k = 0; k < 4; ++k)
    threads.emplace_back([&] {
      for (int64_t i = 0; i < 20'000; ++i) {
        const int64_t n = i % 300;
        const std::string word = std::to_string(n);
        const Ids put(static_cast<size_t>(n % 5), n);
        Ids ids;
        if (cache.find(word, ids)) { ASSERT_EQ(ids, put); }
        cache.put(word, put.data(), put.size());
      }
    });
  for (std::thread& t : threads) t.join();
}

}  // namespace
}  // namespace cleave::text

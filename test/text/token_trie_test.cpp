// Prefixes of random texts, against a search of the list.
#include "text/token_trie.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace cleave::text {
namespace {

using Found = std::vector<std::pair<size_t, uint32_t>>;

Found prefixes(const TokenTrie& trie, std::string_view text, size_t at) {
  Found found;
  trie.for_each_prefix(text, at, [&](size_t bytes, uint32_t v) { found.emplace_back(bytes, v); });
  return found;
}

TEST(TokenTrie, as_a_search_of_the_list) {
  std::mt19937 random(1);
  const auto draw = [&](int least, int most) {
    std::string s(std::uniform_int_distribution<size_t>(least, most)(random), ' ');
    for (char& c : s) c = "ab\xff\x01"[random() % 4];
    return s;
  };
  for (int round = 0; round < 300; ++round) {
    std::vector<std::string> tokens;
    for (size_t n = random() % 30; n > 0; --n) tokens.push_back(draw(0, 6));
    std::vector<std::pair<std::string_view, uint32_t>> list;
    for (const std::string& t : tokens) list.emplace_back(t, static_cast<uint32_t>(list.size()));
    const TokenTrie trie(list);
    const std::string text = draw(1, 20);
    for (size_t at = 0; at < text.size(); ++at) {
      Found want;
      for (size_t bytes = 1; at + bytes <= text.size(); ++bytes)
        for (size_t i = tokens.size(); i-- > 0;)
          if (tokens[i] == text.substr(at, bytes)) {
            want.emplace_back(bytes, static_cast<uint32_t>(i));
            break;
          }
      ASSERT_EQ(prefixes(trie, text, at), want);
    }
  }
}

TEST(TokenTrie, without_tokens) {
  EXPECT_TRUE(TokenTrie().empty());
  EXPECT_TRUE(TokenTrie({{"", 0}}).empty());
  EXPECT_EQ(prefixes(TokenTrie(), "a", 0), Found{});
  EXPECT_EQ(prefixes(TokenTrie({{"", 0}, {"a", 1}}), "ab", 0), (Found{{1, 1}}));
}

}  // namespace
}  // namespace cleave::text

// A map of characters that is made here: "a" is "x", "e" with an acute accent is U+00E9, a tab
// goes.
#include "test/text/reading.h"

namespace cleave::text {
namespace {

std::string base64(std::string_view bytes) {
  constexpr std::string_view alphabet =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  uint32_t bits = 0;
  int count = 0;
  for (const char b : bytes) {
    bits = bits << 8 | static_cast<uint8_t>(b);
    for (count += 8; count >= 6; count -= 6) text += alphabet[bits >> (count - 6) & 63];
  }
  if (count > 0) text += alphabet[bits << (6 - count) & 63];
  return text;
}

// A double array (darts-clone's units) of few short keys: node n of the trie has its children at
// the offset 256 * (n + 1) from the root, by XOR with their bytes, and its value at that offset
// itself.
class MapMaker {
 public:
  void add(std::string_view key, std::string_view text) {
    size_t node = 0;
    for (const char k : key) {
      const auto byte = static_cast<uint8_t>(k);
      auto& child = children_[{node, byte}];
      if (child == 0) child = ++nodes_;
      node = child;
    }
    values_[node] = static_cast<uint32_t>(texts_.size());
    texts_ += std::string(text) + '\0';
  }
  std::string bytes() const {
    std::vector<uint32_t> units(256 * (nodes_ + 2));
    units[0] = unit(0, base(0), 0);
    for (const auto& [edge, child] : children_) {
      const size_t at = base(edge.first) ^ edge.second;
      units[at] = unit(at, base(child), values_.contains(child) ? 1u << 8 : 0) | edge.second;
    }
    for (const auto& [node, value] : values_) units[base(node)] = value | 1u << 31;
    std::string out = word(static_cast<uint32_t>(units.size() * 4));
    for (const uint32_t u : units) out += word(u);
    return out + texts_;
  }

 private:
  static size_t base(size_t node) { return 256 * (node + 1); }
  static uint32_t unit(size_t at, size_t to, uint32_t leaf) {
    return static_cast<uint32_t>(at ^ to) << 10 | leaf;
  }
  static std::string word(uint32_t u) {
    std::string out;
    for (int i = 0; i < 4; ++i) out += static_cast<char>(u >> (8 * i) & 0xff);
    return out;
  }
  std::map<std::pair<size_t, uint8_t>, size_t> children_;
  std::map<size_t, uint32_t> values_;
  std::string texts_;
  size_t nodes_ = 0;
};

std::string map_bytes() {
  MapMaker m;
  m.add("a", "x");
  m.add("e\u0301", "\u00e9");
  m.add("\t", "");
  m.add("\ufb01", "fi");
  return m.bytes();
}

Result<NormalizerPtr> read(std::string_view bytes) {
  return test::read_json(
      fmt::format(R"({{"type": "Precompiled", "precompiled_charsmap": "{}"}})", base64(bytes)),
      read_normalizer);
}

Section normalized(const Normalizer& n, std::string text, size_t initial = 0) {
  Section s{std::move(text), initial};
  Allowance allowance = Allowance::of(s.text.size());
  value_or_throw(n.apply(s, allowance));
  return s;
}

TEST(Precompiled, replaces_what_is_in_the_map) {
  const NormalizerPtr n = value_or_throw(read(map_bytes()));
  EXPECT_EQ(normalized(*n, "abc").text, "xbc");
  EXPECT_EQ(normalized(*n, "be\u0301\tb").text, "b\u00e9b");
  EXPECT_EQ(normalized(*n, "\ufb01").text, "fi");
  EXPECT_EQ(normalized(*n, "").text, "");
  // A cluster that is short is what its shortest prefix in the map is; else each code point.
  EXPECT_EQ(normalized(*n, "a\u0301").text, "x");
  EXPECT_EQ(normalized(*n, "a\u0301\u0302").text, "x");
  EXPECT_EQ(normalized(*n, "a\u0301\u0302\u0303").text, "x\u0301\u0302\u0303");
}

TEST(Precompiled, the_beginning_is_known) {
  const NormalizerPtr n = value_or_throw(read(map_bytes()));
  EXPECT_EQ(normalized(*n, "ab", 1).initial, 1u);
  EXPECT_EQ(normalized(*n, "\ufb01b", 3).initial, 2u);
  EXPECT_EQ(normalized(*n, "e\u0301", 1).initial, 2u);
  EXPECT_EQ(normalized(*n, "q\u0301", 1).initial, 1u);
  EXPECT_EQ(normalized(*n, "ab", 0).initial, 0u);
}

TEST(Precompiled, damaged_maps) {
  const std::string good = map_bytes();
  for (const std::string& bad :
       {std::string(), good.substr(0, 3), good.substr(0, 100), std::string("\0\0\0\0x", 5),
        std::string("\3\0\0\0xxx", 7), good + "\xff"})
    EXPECT_FALSE(read(bad).ok());
  // Units that lead anywhere: an answer, whatever it is, without reading outside.
  for (size_t bit = 32; bit < std::min<size_t>(8 * good.size(), 60'000); bit += 97) {
    std::string bad = good;
    bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ 1 << bit % 8);
    if (const auto n = read(bad); n.ok()) {
      EXPECT_TRUE(is_valid(normalized(**n, "abe\u0301\t\ufb01\u4e2d").text));
    }
  }
}

}  // namespace
}  // namespace cleave::text

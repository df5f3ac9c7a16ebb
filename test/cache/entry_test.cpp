// An entry is accepted only as it was written: every flipped bit, every cut, every other length.
#include "cache/entry.h"

#include <gtest/gtest.h>

#include <string>

namespace cleave::cache {
namespace {

constexpr UserKey user_key = {std::byte{1}, std::byte{2}};

std::span<const std::byte> as_span(std::string_view text) { return std::as_bytes(std::span(text)); }

std::string text_of_entry(EntryKind kind, std::string_view key, std::string_view payload) {
  const EntryFrame frame = frame_of({kind, key, as_span(payload)}, user_key);
  return frame.head + std::string(payload) +
         std::string(reinterpret_cast<const char*>(frame.code.data()), frame.code.size());
}

// As one who knows the key would write it.
std::string with_code(std::string text) {
  HmacSha256 h(user_key);
  h.update(as_span(text));
  const Digest code = h.finish();
  return text + std::string(reinterpret_cast<const char*>(code.data()), code.size());
}

TEST(CacheEntry, comes_back) {
  const std::string key("a\0key\n", 6), payload("\0\1\2", 3);
  for (const auto& [k, p] : {std::pair(key, payload), std::pair(key, std::string()),
                             std::pair(std::string(), payload)}) {
    const std::string file = text_of_entry(EntryKind::program, k, p);
    const auto entry = checked_entry(as_span(file), user_key);
    ASSERT_TRUE(entry);
    EXPECT_EQ(entry->kind, EntryKind::program);
    EXPECT_EQ(entry->key, k);
    EXPECT_TRUE(std::ranges::equal(entry->payload, as_span(p)));
  }
}

TEST(CacheEntry, names_depend_on_kind_and_key) {
  const std::string a = entry_name(EntryKind::unit, "k");
  EXPECT_TRUE(is_entry_name(a));
  EXPECT_NE(a, entry_name(EntryKind::program, "k"));
  EXPECT_NE(a, entry_name(EntryKind::unit, std::string("k\0", 2)));
  EXPECT_FALSE(is_entry_name(a + "0"));
  EXPECT_FALSE(is_entry_name(std::string(64, 'A')));
}

TEST(CacheEntry, every_flipped_bit_is_seen) {
  std::string file = text_of_entry(EntryKind::unit, "key", "payload");
  ASSERT_TRUE(checked_entry(as_span(file), user_key));
  for (size_t bit = 0; bit < 8 * file.size(); ++bit) {
    file[bit / 8] = static_cast<char>(file[bit / 8] ^ 1 << bit % 8);
    EXPECT_FALSE(checked_entry(as_span(file), user_key)) << bit;
    file[bit / 8] = static_cast<char>(file[bit / 8] ^ 1 << bit % 8);
  }
}

TEST(CacheEntry, every_other_length_is_seen) {
  const std::string file = text_of_entry(EntryKind::unit, "key", "payload");
  for (size_t n = 0; n < file.size(); ++n)
    EXPECT_FALSE(checked_entry(as_span(file.substr(0, n)), user_key)) << n;
  EXPECT_FALSE(checked_entry(as_span(file + std::string(1, '\0')), user_key));
  EXPECT_FALSE(checked_entry(as_span(file + file), user_key));
}

TEST(CacheEntry, another_users_is_seen) {
  const std::string file = text_of_entry(EntryKind::unit, "key", "payload");
  UserKey other = user_key;
  other[31] = std::byte{1};
  EXPECT_FALSE(checked_entry(as_span(file), other));
}

TEST(CacheEntry, with_a_valid_code_its_header_is_checked_too) {
  std::string file = text_of_entry(EntryKind::unit, "key", "payload");
  file.resize(file.size() - 32);
  ASSERT_TRUE(checked_entry(as_span(with_code(file)), user_key));
  // magic, version, bytes of the key and of the payload; the kind alone is the reader's.
  for (const size_t at : {0, 7, 8, 11, 16, 23, 24, 31}) {
    std::string other = file;
    other[at] = static_cast<char>(other[at] ^ 0x80);
    EXPECT_FALSE(checked_entry(as_span(with_code(other)), user_key)) << at;
  }
  std::string wraps = file;  // key + payload are right modulo 2^64
  for (size_t i = 16; i < 24; ++i) wraps[i] = '\xff';
  wraps[24] = 11;
  EXPECT_FALSE(checked_entry(as_span(with_code(wraps)), user_key));
  EXPECT_FALSE(checked_entry(as_span(with_code(file.substr(0, 31))), user_key));
  EXPECT_FALSE(checked_entry(as_span(with_code("")), user_key));
}

}  // namespace
}  // namespace cleave::cache

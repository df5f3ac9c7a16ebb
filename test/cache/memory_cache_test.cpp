// A cache in memory: what was used last stays.
#include "cache/memory_cache.h"

#include "test/cache/cache_fixture.h"

namespace cleave::cache::test {
namespace {

TEST(MemoryCache, what_is_written_comes_back) {
  MemoryCache cache(1000);
  EXPECT_FALSE(cache.read(unit, "a"));
  EXPECT_TRUE(cache.write(unit, "a", bytes("1")).stored);
  EXPECT_TRUE(cache.write(program, "a", bytes("22")).stored);
  EXPECT_EQ(cache.read(unit, "a"), bytes("1"));
  EXPECT_EQ(cache.read(program, "a"), bytes("22"));
  EXPECT_TRUE(cache.write(unit, "a", bytes("333")).stored);
  EXPECT_EQ(cache.read(unit, "a"), bytes("333"));
  EXPECT_EQ(cache.bytes(), 1 + 3 + 1 + 2);
  cache.count_bypass("why\n");
  EXPECT_EQ(cache.counts(),
            (Counts{.hits = 3, .misses = 1, .writes = 3, .bypasses = {{"why?", 1}}}));
}

TEST(MemoryCache, drops_what_is_not_used_for_longest) {
  MemoryCache cache(30);
  for (const char* key : {"a", "b", "c"}) cache.write(unit, key, bytes("123456789"));
  EXPECT_EQ(cache.bytes(), 30);
  EXPECT_TRUE(cache.read(unit, "a"));
  cache.write(unit, "d", bytes("1"));
  EXPECT_FALSE(cache.read(unit, "b"));
  for (const char* key : {"a", "c", "d"}) EXPECT_TRUE(cache.read(unit, key)) << key;
  EXPECT_FALSE(cache.write(unit, "e", bytes(std::string(30, 'x'))).stored);
  EXPECT_EQ(cache.bytes(), 22);
  cache.write(unit, "f", bytes(std::string(29, 'x')));
  EXPECT_EQ(cache.bytes(), 30);
  EXPECT_FALSE(cache.read(unit, "a"));
}

}  // namespace
}  // namespace cleave::cache::test

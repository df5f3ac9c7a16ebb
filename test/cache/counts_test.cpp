// Counts and the file they are added up in.
#include "cache/counts.h"

#include <fcntl.h>
#include <sys/file.h>

#include "base/descriptor.h"
#include "test/cache/cache_fixture.h"

namespace cleave::cache::test {
namespace {

class CacheTotals : public CacheFolder {
 protected:
  void SetUp() override {
    CacheFolder::SetUp();
    fd_ = Descriptor(::open(base_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  }
  Descriptor fd_;
};

TEST_F(CacheTotals, add_up) {
  EXPECT_EQ(read_totals(fd_.get()), Counts());
  EXPECT_TRUE(add_to_totals(fd_.get(), {.hits = 2, .misses = 1, .bypasses = {{"no key", 1}}}));
  EXPECT_TRUE(add_to_totals(fd_.get(), {.hits = 1,
                                        .writes = 5,
                                        .corrupt = 6,
                                        .failures = 7,
                                        .bypasses = {{"no key", 2}, {"x", 1}}}));
  EXPECT_EQ(read_totals(fd_.get()), (Counts{3, 1, 5, 6, 7, {{"no key", 3}, {"x", 1}}}));
  EXPECT_EQ(fs::file_size(base_ / "totals"), 4096u);
  clear_totals(fd_.get());
  EXPECT_EQ(read_totals(fd_.get()), Counts());
}

TEST_F(CacheTotals, a_file_of_anything_counts_what_it_can) {
  for (const std::string text :
       {"", "\n", "cleave-cache-totals 2\nhits 3\n", "hits 3\n", "\xff\xff"})
    EXPECT_EQ(parse_counts(text), Counts()) << text;
  EXPECT_EQ(parse_counts(
                "cleave-cache-totals 1\nhits 3\nhits -1\nhits x\nmisses\nbypass 2\nbypass 1 a\xff"
                "b\nlost 7\ncorrupt 99999999999999999999\n\n\n"),
            (Counts{.hits = 3, .bypasses = {{"", 2}, {"a?b", 1}}}));
  put_file(base_ / "totals", std::string(100000, '\xee'));
  EXPECT_TRUE(add_to_totals(fd_.get(), {.hits = 1}));
  EXPECT_EQ(read_totals(fd_.get()), Counts{.hits = 1});
}

TEST_F(CacheTotals, sums_and_reasons_have_a_bound) {
  Counts many = parse_counts("cleave-cache-totals 1\nhits 9223372036854775807\n");
  many += {.hits = 1};
  EXPECT_EQ(many.hits, 9223372036854775807);
  for (int i = 0; i < 1000; ++i)
    many += {.bypasses = {{bypass_reason(std::to_string(i) + std::string(500, 'x')),
                           90'000'000'000'000'000}}};
  EXPECT_LE(print_counts(many).size(), 4096u);
  EXPECT_EQ(many.bypasses.at("other"), 9223372036854775807);
  EXPECT_EQ(parse_counts(print_counts(many)), many);
}

TEST_F(CacheTotals, a_link_or_a_held_lock_costs_the_count_alone) {
  put_file(base_ / "elsewhere", "untouched");
  fs::create_symlink("elsewhere", base_ / "totals");
  EXPECT_FALSE(add_to_totals(fd_.get(), {.hits = 1}));
  EXPECT_EQ(contents(base_ / "elsewhere"), "untouched");
  fs::remove(base_ / "totals");
  ASSERT_TRUE(add_to_totals(fd_.get(), {.hits = 1}));
  const Descriptor held(::open((base_ / "totals").c_str(), O_RDWR | O_CLOEXEC));
  ASSERT_EQ(flock(held.get(), LOCK_EX), 0);
  EXPECT_FALSE(add_to_totals(fd_.get(), {.hits = 1}));
  EXPECT_EQ(read_totals(fd_.get()).hits, 1);
}

}  // namespace
}  // namespace cleave::cache::test

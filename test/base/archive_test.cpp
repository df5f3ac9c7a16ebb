// Values that are written and read again, and bytes that are none of these.
#include "base/archive.h"

#include <gtest/gtest.h>

#include <limits>

namespace cleave {
namespace {

enum class Colour : uint8_t { red, green };
struct Inner {
  double x = 0;
  std::optional<std::string> name;
  bool operator==(const Inner&) const = default;
};
struct Outer {
  int64_t number = 0;
  Colour colour = Colour::red;
  bool flag = false;
  std::vector<Inner> list;
  std::array<int, 2> pair{};
  std::map<std::string, int> counts;
  std::variant<int, Inner, std::string> any;
  bool operator==(const Outer&) const = default;
};

template <class A>
void archive(A& a, Is<Inner> auto& i) {
  auto& [x, name] = i;
  a(x, name);
}
template <class A>
void archive(A& a, Is<Outer> auto& o) {
  auto& [number, colour, flag, list, pair, counts, any] = o;
  a(number, colour, flag, list, pair, counts, any);
}

Outer example() {
  return {-7,     Colour::green,         true,        {{0.1, "a"}, {-0.0, std::nullopt}},
          {3, 4}, {{"x", 1}, {"y", -2}}, Inner{2, ""}};
}

std::string written(const Outer& o) {
  ArchiveWriter out;
  out(o);
  return out.bytes();
}

std::pair<Outer, bool> read(std::string_view bytes) {
  ArchiveReader in(std::as_bytes(std::span(bytes)));
  Outer out = example();
  in(out);
  return {out, in.is_complete()};
}

TEST(Archive, gives_back_what_was_written) {
  for (Outer o : {example(), Outer(), Outer{.any = "text"}, Outer{.any = 5}})
    EXPECT_EQ(read(written(o)), std::pair(o, true));
}

TEST(Archive, bytes_that_are_missing_or_left) {
  const std::string bytes = written(example());
  for (size_t n = 0; n < bytes.size(); ++n)
    EXPECT_FALSE(read(std::string_view(bytes).substr(0, n)).second) << n;
  EXPECT_FALSE(read(bytes + "x").second);
}

// No length is believed, and what was written again is what was read.
TEST(Archive, altered_bytes_are_values_or_refused) {
  const std::string bytes = written(example());
  int refused = 0;
  for (size_t at = 0; at < bytes.size(); ++at)
    for (const int bit : {0, 1, 7}) {
      std::string altered = bytes;
      altered[at] = static_cast<char>(altered[at] ^ (1 << bit));
      const auto [value, is_complete] = read(altered);
      if (is_complete)
        EXPECT_EQ(written(value), altered) << at;
      else
        ++refused;
    }
  EXPECT_GE(refused, 40);
}

TEST(Archive, whole_numbers_take_as_many_bytes_as_they_need) {
  const auto bytes_of = [](auto x) {
    ArchiveWriter out;
    out(x);
    ArchiveReader in(std::as_bytes(std::span(out.bytes())));
    decltype(x) again{};
    in(again);
    EXPECT_TRUE(in.is_complete());
    EXPECT_EQ(again, x);
    return out.bytes().size();
  };
  using Limits = std::numeric_limits<int64_t>;
  EXPECT_EQ(bytes_of(size_t{127}), 1u);
  EXPECT_EQ(bytes_of(size_t{128}), 2u);
  EXPECT_EQ(bytes_of(int64_t{-64}), 1u);
  EXPECT_EQ(bytes_of(int64_t{64}), 2u);
  EXPECT_EQ(bytes_of(Limits::min()), 10u);
  EXPECT_EQ(bytes_of(Limits::max()), 10u);
  EXPECT_EQ(bytes_of(~uint64_t{0}), 10u);
  EXPECT_EQ(bytes_of(std::numeric_limits<int32_t>::min()), 5u);
  const auto is_number = []<class T>(std::string_view bytes, T x) {
    ArchiveReader in(std::as_bytes(std::span(bytes)));
    in(x);
    return in.is_complete();
  };
  const std::string nines(9, '\xff');
  EXPECT_TRUE(is_number(nines + '\x01', uint64_t{}));
  EXPECT_FALSE(is_number(nines + '\x02', uint64_t{}));  // beyond 64 bits
  EXPECT_FALSE(is_number(nines + '\xff', uint64_t{}));
  EXPECT_FALSE(is_number("\xff\xff\xff\xff\x7f", uint32_t{}));
  EXPECT_FALSE(is_number(std::string("\x81\x00", 2), uint64_t{}));  // 1 by two digits
}

}  // namespace
}  // namespace cleave

// Values that are written and read again, and bytes that are none of these.
#include "base/archive.h"

#include <gtest/gtest.h>

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
  EXPECT_GT(refused, 100);
}

}  // namespace
}  // namespace cleave

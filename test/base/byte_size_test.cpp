// Parsing of byte sizes.
#include "base/byte_size.h"

#include <gtest/gtest.h>

namespace cleave {
namespace {

TEST(ByteSize, units) {
  const struct {
    const char* text;
    int64_t bytes;
  } cases[] = {
      {"0", 0},
      {"1048576", 1 << 20},
      {"4096B", 4096},
      {"64MiB", int64_t{64} << 20},
      {"1.5GB", 1'500'000'000},
      {"3KB", 3000},
      {"3KiB", 3072},
      {"0.0009KiB", 0},
  };
  for (const auto& c : cases)
    EXPECT_EQ(value_or_throw(parse_byte_size(c.text, "--budget")), c.bytes);
}

TEST(ByteSize, refused_with_the_option) {
  for (const char* text : {"", "B", "-1", "-1KB", "1kb2", "12 monkeys", "1e30GiB", "nan", "inf"}) {
    const Result<int64_t> size = parse_byte_size(text, "--budget");
    ASSERT_FALSE(size.ok()) << text;
    EXPECT_EQ(size.failure().kind, ErrorKind::user);
    EXPECT_NE(size.failure().message.find("--budget"), std::string::npos) << size.failure().message;
  }
}

}  // namespace
}  // namespace cleave

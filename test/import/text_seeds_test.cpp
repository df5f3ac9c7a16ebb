// The seeds of fuzz_clv are valid programs that reach what they are meant to reach.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "import/exported/composites.h"
#include "ir/text.h"
#include "test/ir/all_ops.h"

namespace cleave {
namespace {

TEST(TextSeeds, are_read_and_verify) {
  const OpRegistry ops = all_ops();
  int count = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(CLEAVE_SOURCE_DIR "/test/fuzz/clv")) {
    std::ifstream file(entry.path());
    std::stringstream text;
    text << file.rdbuf();
    const auto p =
        parse(text.str(), entry.path().filename().string(), ops, exported::aten_composites());
    ASSERT_TRUE(p.ok()) << p.failure().message;
    EXPECT_TRUE(verify(*p).ok()) << entry.path() << verify(*p).failure().message;
    const auto again = parse(print(*p), "again", ops);
    ASSERT_TRUE(again.ok()) << again.failure().message;
    EXPECT_EQ(difference(*p, *again), "") << entry.path();
    ++count;
  }
  EXPECT_GE(count, 13);
}

}  // namespace
}  // namespace cleave

// A file is written completely, or nothing is changed.
// tests: descriptor.cpp
#include "base/write_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

namespace cleave {
namespace {

namespace fs = std::filesystem;

class WriteFile : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) / ("write_file_" + std::to_string(getpid()));
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  static Status write(const fs::path& path, const std::string& a, const std::string& b) {
    const std::span<const std::byte> pieces[] = {std::as_bytes(std::span(a)),
                                                 std::as_bytes(std::span(b))};
    return write_file(path.string(), pieces);
  }
  static std::string contents(const fs::path& path) {
    std::stringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }
  size_t files() const {
    return static_cast<size_t>(
        std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }

  fs::path folder_;
};

TEST_F(WriteFile, pieces_one_after_the_other) {
  const fs::path path = folder_ / "a.txt";
  ASSERT_TRUE(write(path, "one ", "two").ok());
  EXPECT_EQ(contents(path), "one two");
  ASSERT_TRUE(write(path, "", "3").ok());
  EXPECT_EQ(contents(path), "3");
  EXPECT_EQ(files(), 1u);  // nothing is left beside it
}

TEST_F(WriteFile, a_link_stays_one) {
  const fs::path target = folder_ / "target.txt", link = folder_ / "link.txt";
  ASSERT_TRUE(write(target, "old", "").ok());
  fs::create_symlink("target.txt", link);
  ASSERT_TRUE(write(link, "new", "").ok());
  EXPECT_TRUE(fs::is_symlink(link));
  EXPECT_EQ(contents(target), "new");
}

TEST_F(WriteFile, a_missing_folder_is_named) {
  const fs::path path = folder_ / "none" / "a.txt";
  const Status s = write(path, "x", "");
  ASSERT_FALSE(s.ok());
  EXPECT_EQ(s.failure().kind, ErrorKind::user);
  EXPECT_NE(s.failure().message.find(path.string()), std::string::npos) << s.failure().message;
  EXPECT_NE(s.failure().message.find("No such file"), std::string::npos) << s.failure().message;
}

TEST_F(WriteFile, a_folder_in_its_place_stays) {
  const fs::path path = folder_ / "a";
  fs::create_directories(path / "inside");
  EXPECT_FALSE(write(path, "x", "").ok());
  EXPECT_TRUE(fs::is_directory(path / "inside"));
  EXPECT_EQ(files(), 1u);
}

}  // namespace
}  // namespace cleave

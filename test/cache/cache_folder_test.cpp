// Which folders a cache may lie in, and the key in it.
// tests: user_key.cpp
#include "cache/cache_folder.h"

#include <sys/stat.h>

#include "cache/user_key.h"
#include "test/cache/cache_fixture.h"

namespace cleave::cache::test {
namespace {

constexpr uid_t some_user = 54321, another_user = 54322;

// Why a path is refused; empty if it isn't.
std::string refusal(const fs::path& path) {
  const auto r = open_cache_folder(path.string(), IfMissing::create);
  return r.ok() ? "" : r.failure().message;
}

mode_t mode_of(const fs::path& path) {
  struct stat info{};
  return ::lstat(path.c_str(), &info) == 0 ? info.st_mode & 07777 : 0;
}

using OpenCacheFolder = CacheFolder;

TEST_F(OpenCacheFolder, creates_what_is_missing_for_this_user_alone) {
  const mode_t mask = ::umask(0);
  EXPECT_EQ(refusal(folder_ / "a//./b/"), "");
  ::umask(mask);
  for (const fs::path& made : {folder_, folder_ / "a", folder_ / "a/b"})
    EXPECT_EQ(mode_of(made), 0700u);
  EXPECT_EQ(refusal(folder_ / "a/b"), "");
  EXPECT_EQ(refusal(folder_ / "a/../a/b"), "");
}

TEST_F(OpenCacheFolder, leaves_what_is_missing_if_asked) {
  const auto r = open_cache_folder((folder_ / "a").string(), IfMissing::leave);
  ASSERT_TRUE(r.ok());
  EXPECT_FALSE(r->is_open());
  EXPECT_FALSE(fs::exists(folder_));
}

TEST_F(OpenCacheFolder, a_relative_path_begins_here) {
  EXPECT_EQ(status_in_child(
                [&] { return ::chdir(base_.c_str()) == 0 && refusal("x/y").empty() ? 0 : 1; }),
            0);
  EXPECT_TRUE(fs::is_directory(base_ / "x/y"));
}

TEST_F(OpenCacheFolder, refuses_a_link_and_what_is_no_folder) {
  EXPECT_NE(refusal("").find("no name"), std::string::npos);
  fs::create_directory(base_ / "real");
  fs::create_directory_symlink("real", folder_);
  EXPECT_NE(refusal(folder_).find("is a symbolic link"), std::string::npos);
  EXPECT_NE(refusal(folder_.string() + "/").find("is a symbolic link"), std::string::npos);
  EXPECT_EQ(refusal(folder_ / "cleave"), "");  // this user's link on the way
  EXPECT_TRUE(fs::is_directory(base_ / "real/cleave"));
  put_file(base_ / "file", "");
  EXPECT_NE(refusal(base_ / "file").find("Not a directory"), std::string::npos);
  EXPECT_NE(refusal(base_ / "file/x").find("Not a directory"), std::string::npos);
  EXPECT_NE(refusal("/proc/no/cleave"), "");
}

TEST_F(OpenCacheFolder, links_on_the_way_are_followed_step_by_step) {
  fs::create_directories(base_ / "a/b");
  fs::create_directory_symlink(base_ / "two", base_ / "one");
  fs::create_directory_symlink("a/../a", base_ / "two");
  EXPECT_EQ(refusal(base_ / "one/b/c"), "");
  EXPECT_TRUE(fs::is_directory(base_ / "a/b/c"));
  fs::create_directory_symlink("loop", base_ / "loop");
  EXPECT_NE(refusal(base_ / "loop/c").find("Too many levels"), std::string::npos);
}

TEST_F(OpenCacheFolder, refuses_one_that_others_write_to) {
  fs::create_directory(folder_);
  for (const mode_t mode : {0777, 0720, 0702, 01777}) {
    ::chmod(folder_.c_str(), mode);
    EXPECT_NE(refusal(folder_).find("chmod go-w"), std::string::npos) << mode;
  }
  ::chmod(folder_.c_str(), 0755);
  EXPECT_EQ(refusal(folder_), "");
}

TEST_F(OpenCacheFolder, refuses_what_is_another_users) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root gives files away";
  fs::create_directory(folder_);
  ASSERT_EQ(::chown(folder_.c_str(), some_user, some_user), 0);
  EXPECT_NE(refusal(folder_).find("belongs to user 54321"), std::string::npos);
  const fs::path by_root = base_ / "by_root", by_other = base_ / "by_other",
                 by_self = base_ / "by_self";
  for (const fs::path& link : {by_root, by_other, by_self})
    fs::create_directory_symlink("cache", link);
  ASSERT_EQ(::lchown(by_other.c_str(), another_user, another_user), 0);
  ASSERT_EQ(::lchown(by_self.c_str(), some_user, some_user), 0);
  fs::create_directory_symlink("by_other", base_ / "two_steps");
  EXPECT_EQ(status_in_child([&] {
              if (::setuid(some_user) != 0) return 1;
              if (!refusal(folder_).empty()) return 2;
              if (!refusal(by_root / "c").empty() || !refusal(by_self / "c").empty()) return 3;
              if (refusal(by_other / "c").find("link of user 54322") == std::string::npos) return 4;
              return refusal(base_ / "two_steps/c").find("link of user 54322") == std::string::npos
                         ? 5
                         : 0;
            }),
            0);
}

class CacheUserKey : public CacheFolder {
 protected:
  void SetUp() override {
    CacheFolder::SetUp();
    fd_ = *open_cache_folder(folder_.string(), IfMissing::create);
  }
  std::optional<UserKey> key(IfMissing if_missing = IfMissing::create) const {
    auto r = read_user_key(fd_.get(), folder_.string(), if_missing);
    return r.ok() ? *r : std::nullopt;
  }
  Descriptor fd_;
};

TEST_F(CacheUserKey, is_made_once) {
  EXPECT_FALSE(key(IfMissing::leave));
  EXPECT_FALSE(fs::exists(folder_ / "key"));
  const auto first = key();
  ASSERT_TRUE(first);
  EXPECT_EQ(key(), first);
  EXPECT_EQ(key(IfMissing::leave), first);
  EXPECT_EQ(mode_of(folder_ / "key"), 0600u);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()), 1);
  fs::remove(folder_ / "key");
  EXPECT_NE(key(), first);
}

TEST_F(CacheUserKey, one_that_cant_be_trusted_is_replaced) {
  auto last = key();
  const auto is_replaced = [&] {
    EXPECT_FALSE(key(IfMissing::leave));
    const auto now = key();
    EXPECT_TRUE(now && now != last);
    EXPECT_EQ(mode_of(folder_ / "key"), 0600u);
    last = now;
  };
  ::chmod((folder_ / "key").c_str(), 0640);
  is_replaced();
  for (const size_t size : {0, 31, 33}) {
    fs::resize_file(folder_ / "key", size);
    is_replaced();
  }
  fs::rename(folder_ / "key", base_ / "key");
  fs::create_symlink("../key", folder_ / "key");
  is_replaced();
  fs::remove(folder_ / "key");
  ASSERT_EQ(::mkfifo((folder_ / "key").c_str(), 0600), 0);
  is_replaced();
  if (::geteuid() != 0) return;
  ASSERT_EQ(::chown((folder_ / "key").c_str(), some_user, some_user), 0);
  is_replaced();
}

TEST_F(CacheUserKey, a_folder_of_its_name_is_an_error) {
  fs::create_directory(folder_ / "key");
  const auto r = read_user_key(fd_.get(), folder_.string(), IfMissing::create);
  ASSERT_FALSE(r.ok());
  EXPECT_NE(r.failure().message.find((folder_ / "key").string()), std::string::npos);
}

}  // namespace
}  // namespace cleave::cache::test

// What the tests of the cache share: a folder for each test, its files, and child processes.
#pragma once
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "cache/disk_cache.h"

namespace cleave::cache::test {

namespace fs = std::filesystem;
constexpr EntryKind unit = EntryKind::unit, program = EntryKind::program;

inline std::vector<std::byte> bytes(std::string_view text) {
  const auto span = std::as_bytes(std::span(text));
  return {span.begin(), span.end()};
}

inline std::string contents(const fs::path& path) {
  std::stringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

inline void put_file(const fs::path& path, std::string_view text) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
}

// The exit status of a child that runs f; -1 where a signal ended it.
template <class F>
int status_in_child(F f) {
  const pid_t child = fork();
  if (child == 0) _exit(f());
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

class CacheFolder : public testing::Test {
 protected:
  void SetUp() override {
    base_ = fs::path(testing::TempDir()) / ("cleave_cache_" + std::to_string(getpid()));
    fs::remove_all(base_);
    fs::create_directories(base_);
    folder_ = base_ / "cache";
  }
  void TearDown() override { fs::remove_all(base_); }

  std::unique_ptr<DiskCache> open(int64_t max_bytes = default_cache_bytes) const {
    auto r = DiskCache::open(folder_.string(), max_bytes);
    EXPECT_TRUE(r.ok()) << r.failure().message;
    return *std::move(r);
  }
  fs::path file_of(std::string_view key, EntryKind kind = EntryKind::unit) const {
    const std::string name = entry_name(kind, key);
    return folder_ / name.substr(0, 2) / name;
  }
  // The files of all sub folders.
  std::vector<fs::path> files() const {
    std::vector<fs::path> out;
    for (const auto& e : fs::recursive_directory_iterator(folder_))
      if (!e.is_directory() && e.path().parent_path() != folder_) out.push_back(e.path());
    return out;
  }

  fs::path base_, folder_;
};

}  // namespace cleave::cache::test

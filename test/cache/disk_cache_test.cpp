// One process: what is written comes back, and nothing else does, whatever lies in the folder.
// tests: entry_file.cpp sweep.cpp
#include "cache/disk_cache.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>

#include "test/cache/cache_fixture.h"

namespace cleave::cache::test {
namespace {

using Cache = CacheFolder;
TEST_F(Cache, what_is_written_comes_back) {
  const auto cache = open();
  const std::string keys[] = {"", "k", std::string("a\0b", 3), std::string(100'000, 'x')};
  for (const std::string& key : keys) {
    EXPECT_FALSE(cache->read(unit, key));
    EXPECT_TRUE(cache->write(unit, key, bytes("unit of " + key)).stored);
    EXPECT_TRUE(cache->write(program, key, bytes("")).stored);
  }
  const auto other = open();
  for (const std::string& key : keys) {
    EXPECT_EQ(other->read(unit, key), bytes("unit of " + key));
    EXPECT_EQ(other->read(program, key), bytes(""));
  }
  EXPECT_TRUE(cache->write(unit, "k", bytes("new")).stored);
  EXPECT_EQ(other->read(unit, "k"), bytes("new"));
  EXPECT_EQ(cache->counts(), (Counts{.misses = 4, .writes = 9}));
  EXPECT_EQ(other->counts(), Counts{.hits = 9});
  EXPECT_EQ(cache->count().entries, 8);
  for (const fs::path& file : files()) EXPECT_EQ(fs::status(file).permissions(), fs::perms(0600));
}

TEST_F(Cache, find_creates_nothing) {
  const auto found = [&] { return *DiskCache::find(folder_.string()) != nullptr; };
  EXPECT_FALSE(found());
  EXPECT_FALSE(fs::exists(folder_));
  fs::create_directory(folder_);
  EXPECT_FALSE(found());
  EXPECT_TRUE(fs::is_empty(folder_));
  open();
  EXPECT_TRUE(found());
  fs::remove(folder_ / "key");
  EXPECT_FALSE(found());
  open()->write(unit, "k", bytes("v"));
  fs::remove(folder_ / "key");
  const auto cache = *DiskCache::find(folder_.string());
  ASSERT_TRUE(cache);
  EXPECT_EQ(cache->verify().removed, 1);
}

TEST_F(Cache, an_altered_or_cut_file_is_a_miss_and_removed) {
  const auto cache = open();
  cache->write(unit, "key", bytes("payload"));
  const std::string good = contents(file_of("key"));
  int64_t wrong = 0;
  const auto is_refused = [&](const std::string& text) {
    put_file(file_of("key"), text);
    EXPECT_FALSE(cache->read(unit, "key"));
    EXPECT_EQ(cache->counts().corrupt, ++wrong);
    EXPECT_FALSE(fs::exists(file_of("key")));
  };
  for (size_t i = 0; i < good.size(); ++i) {
    std::string altered = good;
    altered[i] = static_cast<char>(~altered[i]);
    is_refused(altered);
    is_refused(good.substr(0, i));
  }
  is_refused(good + "\n");
  EXPECT_EQ(cache->counts(), (Counts{.misses = wrong, .writes = 1, .corrupt = wrong}));
  put_file(file_of("key"), good);
  EXPECT_EQ(cache->read(unit, "key"), bytes("payload"));
}

TEST_F(Cache, a_file_under_anothers_name_is_a_miss) {
  const auto cache = open();
  cache->write(unit, "a", bytes("of a"));
  for (const auto& [kind, key] : {std::pair(unit, "b"), std::pair(program, "a")}) {
    cache->write(kind, key, bytes("of b"));
    fs::copy_file(file_of("a"), file_of(key, kind), fs::copy_options::overwrite_existing);
    EXPECT_FALSE(cache->read(kind, key));
    EXPECT_FALSE(fs::exists(file_of(key, kind)));
  }
  EXPECT_EQ(cache->counts().corrupt, 2);
  EXPECT_EQ(cache->read(unit, "a"), bytes("of a"));
}

TEST_F(Cache, another_users_entries_are_misses) {
  open()->write(unit, "k", bytes("v"));
  fs::remove(folder_ / "key");
  const auto cache = open();
  EXPECT_FALSE(cache->read(unit, "k"));
  EXPECT_EQ(cache->counts(), (Counts{.misses = 1, .corrupt = 1}));
}

TEST_F(Cache, links_pipes_folders_and_foreign_files_are_never_read) {
  const auto cache = open();
  const fs::path file = file_of("k");
  const auto is_refused = [&](bool is_removed = true) {
    const int64_t before = cache->counts().corrupt;
    EXPECT_FALSE(cache->read(unit, "k"));
    EXPECT_EQ(cache->counts().corrupt, before + 1);
    EXPECT_EQ(fs::exists(fs::symlink_status(file)), !is_removed);
  };
  cache->write(unit, "k", bytes("v"));
  fs::rename(file, base_ / "away");
  fs::create_symlink(base_ / "away", file);
  is_refused();
  EXPECT_TRUE(fs::exists(base_ / "away"));
  ASSERT_EQ(::mkfifo(file.c_str(), 0600), 0);
  is_refused();
  put_file(file, "");
  fs::resize_file(file, uintmax_t{1} << 40);  // a hole: nothing is allocated for it
  is_refused();
  fs::create_directories(file / "x");
  is_refused(false);
  fs::remove_all(file);
  if (::geteuid() == 0) {
    cache->write(unit, "k", bytes("v"));
    ASSERT_EQ(::chown(file.c_str(), 54321, 54321), 0);
    is_refused();
  }
  EXPECT_TRUE(cache->write(unit, "k", bytes("v")).stored);
  EXPECT_EQ(cache->read(unit, "k"), bytes("v"));
}

TEST_F(Cache, a_sub_folder_that_is_a_link_is_not_entered) {
  const auto cache = open();
  cache->write(unit, "k", bytes("v"));
  const fs::path sub = file_of("k").parent_path();
  fs::rename(sub, base_ / "away");
  fs::create_directory_symlink(base_ / "away", sub);
  EXPECT_FALSE(cache->read(unit, "k"));
  EXPECT_FALSE(cache->write(unit, "k", bytes("v")).stored);
  EXPECT_EQ(cache->clear().removed, 0);
  EXPECT_EQ(cache->counts(), (Counts{.misses = 1, .writes = 1, .failures = 2}));
  EXPECT_FALSE(fs::is_empty(base_ / "away"));
}

TEST_F(Cache, a_removed_folder_costs_the_cache_alone) {
  const auto cache = open();
  cache->write(unit, "k", bytes("v"));
  fs::remove_all(folder_);
  EXPECT_FALSE(cache->read(unit, "k"));
  EXPECT_EQ(cache->write(unit, "k", bytes("v")).reason, "No such file or directory");
  cache->save_counts();
  EXPECT_FALSE(fs::exists(folder_));
}

// Sets the time of last use, in seconds before now.
void set_age(const fs::path& file, int64_t age) {
  fs::last_write_time(file, fs::file_time_type::clock::now() - std::chrono::seconds(age));
}

TEST_F(Cache, evicts_what_went_longest_without_use) {
  const auto cache = open();
  for (const char* key : {"a", "b", "c", "d"}) cache->write(unit, key, bytes(key));
  const auto size = static_cast<int64_t>(fs::file_size(file_of("a")));
  set_age(file_of("a"), 400);
  set_age(file_of("b"), 300);
  set_age(file_of("c"), 200);
  set_age(file_of("d"), 100);
  cache->read(unit, "a");
  EXPECT_EQ(cache->evict(4 * size).removed, 0);
  const Sweep sweep = cache->evict(3 * size - 1);
  EXPECT_EQ((std::array{sweep.entries, sweep.bytes, sweep.removed, sweep.stuck}),
            (std::array<int64_t, 4>{2, 2 * size, 2, 0}));
  EXPECT_TRUE(cache->read(unit, "a"));
  EXPECT_TRUE(cache->read(unit, "d"));
  set_age(file_of("d"), -1'000'000);  // a clock that was wrong
  EXPECT_EQ(cache->evict(size).removed, 1);
  EXPECT_TRUE(cache->read(unit, "a"));
}

TEST_F(Cache, writes_keep_the_size) {
  constexpr int64_t max_bytes = 100'000;
  const auto cache = open(max_bytes);
  int64_t most = 0;
  for (int i = 0; i < 150; ++i) {
    ASSERT_TRUE(cache->write(unit, std::to_string(i), std::vector<std::byte>(1000)).stored);
    if (i % 20 == 0) most = std::max(most, cache->count().bytes);
  }
  EXPECT_LE(most, max_bytes * 5 / 4);
  EXPECT_GE(cache->count().bytes, max_bytes / 2);
  const WriteOutcome large = cache->write(unit, "x", std::vector<std::byte>(max_bytes / 2));
  EXPECT_FALSE(large.stored);
  EXPECT_NE(large.reason.find("more than a half"), std::string::npos);
}

TEST_F(Cache, only_files_of_ours_are_removed) {
  const auto cache = open();
  cache->write(unit, "k", bytes("v"));
  const fs::path sub = file_of("k").parent_path();
  const std::string name = file_of("k").filename().string();
  const fs::path old = sub / (name + ".1.0.tmp"), fresh = sub / (name + ".1.1.tmp");
  const fs::path foreign[] = {sub / "notes.tmp", sub / "README", folder_ / "README",
                              sub / std::string(64, '0'),
                              sub / (name.substr(0, 2) + std::string(62, 'z') + ".1.0.tmp")};
  for (const fs::path& file : {old, fresh}) put_file(file, "half");
  for (const fs::path& file : foreign) put_file(file, "mine");
  for (const fs::path& file : {old, foreign[0], foreign[1], foreign[4]}) set_age(file, 3700);
  cache->evict(1 << 20);
  EXPECT_FALSE(fs::exists(old));
  EXPECT_TRUE(fs::exists(fresh));
  EXPECT_EQ(cache->verify().removed, 0);
  EXPECT_EQ(cache->clear().removed, 1);
  EXPECT_FALSE(fs::exists(fresh));
  for (const fs::path& file : foreign) EXPECT_EQ(contents(file), "mine") << file;
  EXPECT_TRUE(fs::exists(folder_ / "key"));
}

TEST_F(Cache, verify_removes_what_is_wrong) {
  const auto cache = open();
  for (const char* key : {"a", "b", "c", "d", "e"}) cache->write(unit, key, bytes(key));
  fs::resize_file(file_of("a"), 10);
  fs::copy_file(file_of("c"), file_of("b"), fs::copy_options::overwrite_existing);
  fs::remove(file_of("d"));
  fs::create_symlink(file_of("e"), file_of("d"));
  const Sweep sweep = cache->verify();
  EXPECT_EQ((std::array{sweep.entries, sweep.removed, sweep.stuck}),
            (std::array<int64_t, 3>{2, 3, 0}));
  EXPECT_EQ(cache->counts().corrupt, 3);
  EXPECT_EQ(cache->verify().removed, 0);
  EXPECT_EQ(cache->read(unit, "c"), bytes("c"));
}

TEST_F(Cache, totals_are_of_all_objects) {
  {
    const auto cache = open();
    cache->read(unit, "k");
    cache->write(unit, "k", bytes("v"));
    cache->count_bypass("a custom operator");
  }
  const auto cache = open();
  cache->read(unit, "k");
  cache->count_bypass("a custom operator");
  const Counts all = {.hits = 1, .misses = 1, .writes = 1, .bypasses = {{"a custom operator", 2}}};
  EXPECT_EQ(cache->totals(), all);
  EXPECT_EQ(cache->totals(), all);  // nothing is added twice
  cache->clear();
  EXPECT_EQ(cache->totals(), Counts());
}

TEST_F(Cache, limits_of_the_process_are_counted_and_tear_nothing) {
  open()->write(unit, "k", bytes("v"));
  EXPECT_EQ(status_in_child([&] {
              const auto cache = open();
              rlimit files{};
              getrlimit(RLIMIT_NOFILE, &files);
              const rlim_t first_free = static_cast<rlim_t>(dup(0));
              ::close(static_cast<int>(first_free));
              const rlimit none{first_free, files.rlim_max}, one{first_free + 1, files.rlim_max};
              for (const rlimit& few : {none, one}) {
                setrlimit(RLIMIT_NOFILE, &few);
                if (cache->read(unit, "k") || cache->write(unit, "new", bytes("v")).stored)
                  return 1;
              }
              setrlimit(RLIMIT_NOFILE, &files);
              if (cache->counts() != Counts{.misses = 2, .failures = 4}) return 2;
              if (cache->read(unit, "k") != bytes("v")) return 3;
              const rlimit small{1000, RLIM_INFINITY};  // a write past it would be a signal
              setrlimit(RLIMIT_FSIZE, &small);
              if (cache->write(unit, "new", std::vector<std::byte>(1000)).stored) return 4;
              if (!cache->write(unit, "small", std::vector<std::byte>(800)).stored) return 5;
              cache->save_counts();
              return cache->verify().removed == 0 && cache->count().entries == 2 ? 0 : 6;
            }),
            0);
  EXPECT_EQ(files().size(), 2u);
}

// In a mount of its own, which ends with the child; 77 where the system allows none.
int on_a_small_disk(const fs::path& folder) {
  if (::unshare(CLONE_NEWNS) != 0 ||
      ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
    return 77;
  if (::mount("none", folder.c_str(), "tmpfs", 0, "size=256k,mode=0700") != 0) return 77;
  const auto cache = *DiskCache::open(folder.string());
  const std::vector<std::byte> payload(20'000, std::byte{7});
  int stored = 0;
  WriteOutcome last{true, ""};
  while (last.stored && stored < 100) {
    last = cache->write(unit, std::to_string(stored), payload);
    stored += last.stored;
  }
  if (last.reason != "No space left on device" || stored == 0) return 1;
  if (cache->verify().removed != 0 || cache->count().entries != stored) return 2;
  for (const auto& e : fs::recursive_directory_iterator(folder))
    if (e.path().extension() == ".tmp") return 3;
  for (int i = 0; i < stored; ++i)
    if (cache->read(unit, std::to_string(i)) != payload) return 4;
  if (::mount("none", folder.c_str(), nullptr, MS_REMOUNT | MS_RDONLY, nullptr) != 0) return 77;
  if (cache->write(unit, "0", bytes("v")).reason != "Read-only file system") return 5;
  if (cache->evict(0).stuck != stored) return 6;
  const auto read_only = *DiskCache::open(folder.string());
  return read_only->read(unit, "0") == payload && read_only->counts().failures == 0 ? 0 : 7;
}

TEST_F(Cache, a_full_or_read_only_disk_is_counted_and_tears_nothing) {
  fs::create_directory(folder_);
  const int status = status_in_child([&] { return on_a_small_disk(folder_); });
  if (status == 77) GTEST_SKIP() << "no mount of its own";
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace cleave::cache::test

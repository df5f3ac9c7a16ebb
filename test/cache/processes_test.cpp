// Several processes on one folder, and processes that are killed.
// tests: disk_cache.cpp entry_file.cpp sweep.cpp
#include <csignal>

#include "base/split_mix.h"
#include "test/cache/cache_fixture.h"

namespace cleave::cache::test {
namespace {

using CacheProcesses = CacheFolder;

// The one right content of a key: up to 16 KiB.
std::vector<std::byte> content_of(uint64_t key) {
  std::vector<std::byte> out(split_mix(key) % 16384);
  for (size_t i = 0; i < out.size(); ++i) out[i] = std::byte(split_mix(key ^ i) & 0xff);
  return out;
}

std::string key_text(uint64_t key) { return "key " + std::to_string(key); }

TEST_F(CacheProcesses, eight_read_write_and_evict_at_once) {
  constexpr int processes = 8, steps = 120;
  constexpr int64_t max_bytes = 200'000;
  std::vector<pid_t> children;
  for (int p = 0; p < processes; ++p) {
    children.push_back(fork());
    if (children.back() != 0) continue;
    // All make the key at once: were there two, entries would be corrupt for some.
    const auto cache = open(max_bytes);
    uint64_t seed = static_cast<uint64_t>(p) << 32;
    for (int i = 0; i < steps; ++i) {
      const uint64_t draw = split_mix(seed += split_mix_step), key = draw % 50;
      const auto right = content_of(key);
      const auto got = cache->read(EntryKind::unit, key_text(key));
      if (got && *got != right) _exit(1);
      if (!got || draw >> 60 == 0)
        if (!cache->write(EntryKind::unit, key_text(key), right).stored) _exit(2);
      if (draw >> 58 == 1) cache->evict(max_bytes / 2);
      if (draw >> 58 == 2) cache->verify();
    }
    cache->save_counts();
    const Counts counts = cache->counts();
    if (counts.hits + counts.misses != steps) _exit(3);
    _exit(counts.corrupt != 0 || counts.failures != 0 ? 4 : 0);
  }
  for (const pid_t child : children) {
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 0);
  }
  const auto cache = open(max_bytes);
  EXPECT_EQ(cache->verify().removed, 0);
  EXPECT_LE(cache->count().bytes, max_bytes * 5 / 4);
  const Counts all = cache->totals();  // that of a process may be lost, never torn
  EXPECT_GT(all.hits, 0);
  EXPECT_LE(all.hits + all.misses, processes * steps);
  EXPECT_EQ((all.hits + all.misses) % steps, 0);
  for (const fs::path& file : files()) EXPECT_NE(file.extension(), ".tmp") << file;
}

TEST_F(CacheProcesses, one_that_is_killed_leaves_nothing_wrong) {
  open();
  uint64_t seed = 7;
  for (int round = 0; round < 30; ++round) {
    const uint64_t first = split_mix(seed += split_mix_step);
    const pid_t child = fork();
    if (child == 0) {
      const auto cache = open();
      for (uint64_t i = 0;; ++i) {
        cache->write(EntryKind::unit, key_text((first + i) % 30), content_of((first + i) % 30));
        cache->save_counts();
      }
    }
    ::usleep(static_cast<useconds_t>(1000 + first % 8000));
    ::kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
  }
  const auto cache = open();
  EXPECT_GT(cache->totals().writes, 0);
  for (uint64_t key = 0; key < 30; ++key) {
    const auto got = cache->read(EntryKind::unit, key_text(key));
    EXPECT_TRUE(!got || *got == content_of(key)) << key;
  }
  EXPECT_GT(cache->counts().hits, 0);
  EXPECT_EQ(cache->counts().corrupt, 0);
  EXPECT_EQ(cache->verify().removed, 0);
  for (const fs::path& file : files())
    if (file.extension() == ".tmp")
      fs::last_write_time(file, fs::file_time_type::clock::now() - std::chrono::hours(2));
  cache->evict(default_cache_bytes);
  EXPECT_EQ(static_cast<int64_t>(files().size()), cache->count().entries);
}

TEST_F(CacheProcesses, totals_lose_nothing_that_was_added) {
  fs::create_directory(folder_);
  const auto fd = open_cache_folder(folder_.string(), IfMissing::leave);
  ASSERT_TRUE(fd.ok());
  std::vector<pid_t> children;
  for (int p = 0; p < 4; ++p) {
    children.push_back(fork());
    if (children.back() != 0) continue;
    for (int added = 0; added < 50;) added += add_to_totals(fd->get(), {.hits = 1});
    _exit(0);
  }
  for (const pid_t child : children) waitpid(child, nullptr, 0);
  EXPECT_EQ(read_totals(fd->get()).hits, 4 * 50);
}

TEST_F(CacheProcesses, threads_share_one_object) {
  const auto cache = open(100'000);
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (uint64_t i = 0; i < 50; ++i) {
        const uint64_t key = split_mix(t << 32 | i) % 20;
        const auto got = cache->read(EntryKind::unit, key_text(key));
        wrong += got && *got != content_of(key);
        if (!got) wrong += !cache->write(EntryKind::unit, key_text(key), content_of(key)).stored;
      }
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(cache->counts().corrupt, 0);
}

}  // namespace
}  // namespace cleave::cache::test

// A store of byte strings by key in a folder, for this user, all processes at once, and long.
//
//   CLEAVE_TRY(auto cache, DiskCache::open(folder));
//   if (auto object = cache->read(EntryKind::unit, key)) return *object;
//   ...
//   cache->write(EntryKind::unit, key, object);       // may fail: it is counted, and that is all
//
//   folder/key          the user's key (user_key.h)
//   folder/totals       counts of all processes (counts.h)
//   folder/ab/abcd...   entries (entry.h, entry_file.h)
//
// What is read is what was written under the same kind and key, byte for byte, or it is a miss: a
// torn, altered or moved file, one made with another user's key or by another version, a link, or
// another user's file is removed, counted as `corrupt`, and never handed out. Who can write as this
// user, or read the key, is not kept out.
//
// All calls from any number of threads, on any number of objects and processes.
#pragma once
#include <memory>
#include <mutex>

#include "base/result.h"
#include "cache/cache_folder.h"
#include "cache/store.h"
#include "cache/sweep.h"

namespace cleave::cache {

constexpr int64_t default_cache_bytes = int64_t{2} << 30;

// A new, empty folder inside of one that can be a cache, which is made if need be; its path. Errors
// (user): as DiskCache::open.
Result<std::string> make_fresh_folder(const std::string& inside);

class DiskCache final : public Store {
 public:
  // Creates what is missing. The files together take about max_bytes at most (see write). Errors
  // (user): no safe folder can be had there (cache_folder.h), or no key; the caller goes on
  // without.
  static Result<std::unique_ptr<DiskCache>> open(const std::string& folder,
                                                 int64_t max_bytes = default_cache_bytes);
  // As open, but makes no cache: null where there is no folder, or neither a key nor an entry in
  // it. Entries whose key is gone can be cleared so.
  static Result<std::unique_ptr<DiskCache>> find(const std::string& folder,
                                                 int64_t max_bytes = default_cache_bytes);
  ~DiskCache() override;  // saves the counts

  std::optional<std::vector<std::byte>> read(EntryKind kind, std::string_view key) override;
  // Replaces what was there. Refused where it takes more than a half of max_bytes, or more than
  // largest_entry_bytes. Evicts when a share of max_bytes/64 was written since the last time, on
  // average: which write does is drawn by its name, so that processes need no common count.
  WriteOutcome write(EntryKind kind, std::string_view key,
                     std::span<const std::byte> payload) override;
  void count_bypass(std::string_view reason) override;
  Counts counts() const override;
  void finish() override { save_counts(); }
  // Adds what was counted since the last call to the folder's totals.
  void save_counts();
  // Of all processes, as far as they were saved.
  Counts totals();

  // What goes through all entries (sweep.h).
  Sweep count() const;
  Sweep verify();  // what it removes counts as corrupt
  Sweep evict(int64_t max_bytes);
  Sweep clear();  // the totals too

 private:
  DiskCache(Descriptor folder, const UserKey& key, int64_t max_bytes)
      : folder_(std::move(folder)), user_key_(key), max_bytes_(max_bytes) {}
  static Result<std::unique_ptr<DiskCache>> make(const std::string& folder, int64_t max_bytes,
                                                 IfMissing if_missing);
  void add(const Counts& counts);

  const Descriptor folder_;
  const UserKey user_key_;
  const int64_t max_bytes_;
  mutable std::mutex mutex_;  // of the counts
  Counts counts_, unsaved_;
};

}  // namespace cleave::cache

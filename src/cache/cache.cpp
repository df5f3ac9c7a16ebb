// The caches of the public header.
#include "cleave/cache.h"

#include <stdlib.h>
#include <string.h>

#include "cache/disk_cache.h"
#include "cache/memory_cache.h"
#include "cache/remote_cache.h"

namespace cleave {

namespace {

std::shared_ptr<cache::Store> on_disk(const std::string& folder, int64_t bytes) {
  return value_or_throw(cache::DiskCache::open(folder, bytes));
}

}  // namespace

std::shared_ptr<Cache> Cache::memory(int64_t bytes) {
  return std::shared_ptr<Cache>(new Cache(std::make_shared<cache::MemoryCache>(bytes), ""));
}

std::shared_ptr<Cache> Cache::disk(const std::string& folder, int64_t bytes) {
  return std::shared_ptr<Cache>(new Cache(on_disk(folder, bytes), folder));
}

std::shared_ptr<Cache> Cache::fresh(const std::string& folder, int64_t bytes) {
  const std::string inside = value_or_throw(cache::make_fresh_folder(folder));
  return std::shared_ptr<Cache>(new Cache(on_disk(inside, bytes), inside));
}

std::shared_ptr<Cache> Cache::remote(std::shared_ptr<Cache> local, const RemoteCache& remote) {
  if (!local) throw_failure(user_error("remote cache: expected a local one, such as memory()"));
  const cache::UserKey key = value_or_throw(cache::read_common_key(remote.key_file));
  auto place = value_or_throw(cache::open_remote_place(remote.place));
  return std::shared_ptr<Cache>(
      new Cache(std::make_shared<cache::RemoteCache>(local->store(), std::move(place), key),
                local->folder()));
}

Cache::Counts Cache::counts() const {
  const cache::Counts c = store_->counts();
  return {c.hits,    c.misses,   c.writes,
          c.corrupt, c.failures, {c.bypasses.begin(), c.bypasses.end()}};
}

}  // namespace cleave

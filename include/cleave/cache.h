// Keeps what was compiled, so that it isn't compiled again: whole programs, and their kernels.
//
//   const auto cache = Cache::disk("/var/cache/mine");     // of all processes of this user
//   train_step(model, loss, optimizer, inputs, {.compile = {.cache = cache}});
//
//   Cache::memory(bytes)          of what shares this object
//   Cache::disk(folder, bytes)    the same as CompileOptions::cache_dir and cache_bytes
//   Cache::fresh(folder, bytes)   a new, empty folder inside, which stays: for measurements
//   Cache::remote(local, {...})   local, and behind it one of several machines
//
// A program is found by all that decides on it: graph, options, rules, operators' versions, target,
// compiler, cleave's own sources; not by threads, folders, or the lines that it was traced from. A
// hit has the same bits. What was altered, torn, or made with another key is a miss. No failure of
// a cache is one of compile().
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "cleave/error.h"

namespace cleave {

namespace cache {
class Store;
}

// Where machines share what they compile.
struct RemoteCache {
  // A folder; or http://HOST:PORT[/PATH], a server that answers GET and PUT of /ac/KEY and
  // /cas/SHA256, as bazel-remote does. libcurl (libcurl.so.4) is opened for that, at first use.
  std::string place;
  // A file with a secret of 32 bytes or more that all machines have, not readable by other users:
  // code that wasn't made with it is never loaded.
  std::string key_file;
};

class CLEAVE_API Cache {
 public:
  // What the entries take together at most; then those are dropped that aren't used for longest.
  static std::shared_ptr<Cache> memory(int64_t bytes = int64_t{256} << 20);
  // Errors (user): a folder that can't be made, or isn't this user's alone.
  static std::shared_ptr<Cache> disk(const std::string& folder, int64_t bytes = int64_t{2} << 30);
  static std::shared_ptr<Cache> fresh(const std::string& folder, int64_t bytes = int64_t{2} << 30);
  // What isn't in `local` is looked for there, and what is compiled is written to both. After the
  // first failure, which is a warning of the program (remote_cache), `local` serves alone. Errors
  // (user): no such key, a place of another kind.
  static std::shared_ptr<Cache> remote(std::shared_ptr<Cache> local, const RemoteCache& remote);

  // The folder of entries; empty for one in memory.
  const std::string& folder() const { return folder_; }

  // What this object was used for, by entries: a program is one, and each of its units of code.
  struct Counts {
    int64_t hits = 0, misses = 0, writes = 0;
    int64_t corrupt = 0;                           // altered or torn, so they were removed
    int64_t failures = 0;                          // reads and writes that the system refused
    std::map<std::string, int64_t> bypasses = {};  // programs that can't be kept, by reason
  };
  Counts counts() const;

  const std::shared_ptr<cache::Store>& store() const { return store_; }

 private:
  Cache(std::shared_ptr<cache::Store> store, std::string folder)
      : store_(std::move(store)), folder_(std::move(folder)) {}

  std::shared_ptr<cache::Store> store_;
  std::string folder_;
};

}  // namespace cleave

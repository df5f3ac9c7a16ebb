// The ids of words that were seen lately: most words of a text are.
//
// A word has one place; the last that was put there stays. Threads share the cache; one that would
// have to wait for another goes without. Results don't depend on it.
#pragma once
#include <array>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace cleave::text {

class WordCache {
 public:
  static constexpr size_t longest_word = 128, most_ids = 7;  // bytes; others aren't kept

  // Appends the ids, if the word is there.
  bool find(std::string_view word, std::vector<int64_t>& ids);
  void put(std::string_view word, const int64_t* ids, size_t count);

 private:
  static constexpr size_t shards = 16, places = 4096;
  struct alignas(64) Place {  // with a short word one line of the processor's cache
    std::string word;
    uint32_t count = 0;
    std::array<uint32_t, most_ids> ids;
  };
  struct alignas(64) Shard {
    std::mutex mutex;
    std::vector<Place> places;
  };
  Shard& shard(size_t hash) { return shards_[hash % shards]; }
  static size_t place(size_t hash) { return hash / shards % places; }
  std::array<Shard, shards> shards_;
};

}  // namespace cleave::text

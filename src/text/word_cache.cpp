#include "text/word_cache.h"

#include <functional>

namespace cleave::text {

bool WordCache::find(std::string_view word, std::vector<int64_t>& ids) {
  if (word.size() > longest_word) return false;
  const size_t hash = std::hash<std::string_view>()(word);
  Shard& s = shard(hash);
  const std::unique_lock lock(s.mutex, std::try_to_lock);
  if (!lock || s.places.empty()) return false;
  const Place& p = s.places[place(hash)];
  if (p.word != word) return false;
  ids.insert(ids.end(), p.ids.begin(), p.ids.begin() + p.count);
  return true;
}

void WordCache::put(std::string_view word, const int64_t* ids, size_t count) {
  if (word.size() > longest_word || count > most_ids) return;
  const size_t hash = std::hash<std::string_view>()(word);
  Shard& s = shard(hash);
  const std::unique_lock lock(s.mutex, std::try_to_lock);
  if (!lock) return;
  if (s.places.empty()) s.places.resize(places);
  Place& p = s.places[place(hash)];
  p.word = word;
  p.count = static_cast<uint32_t>(count);
  for (size_t i = 0; i < count; ++i) p.ids[i] = static_cast<uint32_t>(ids[i]);
}

}  // namespace cleave::text

// Values by sizes, at most so many: the one that wasn't asked for the longest time is dropped.
#pragma once
#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace cleave {

template <class T>
class RecentlyUsed {
 public:
  explicit RecentlyUsed(size_t most) : most_(most) {}
  // Null if there is none. Allocates nothing.
  T* find(const std::vector<int64_t>& sizes) {
    const auto at = std::ranges::find(entries_, sizes, &Entry::first);
    if (at == entries_.end()) return nullptr;
    std::rotate(entries_.begin(), at, at + 1);
    return &entries_.front().second;
  }
  // `sizes` must not be there.
  void add(const std::vector<int64_t>& sizes, T value) {
    if (entries_.size() == most_) entries_.pop_back();
    entries_.insert(entries_.begin(), Entry(sizes, std::move(value)));
  }
  // Calls f(value) for each.
  template <class F>
  void each(const F& f) const {
    for (const Entry& e : entries_) f(e.second);
  }

 private:
  using Entry = std::pair<std::vector<int64_t>, T>;
  size_t most_;
  std::vector<Entry> entries_;  // the last used first
};

}  // namespace cleave

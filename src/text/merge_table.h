// Which two tokens become one, and how early: a table by the pair of their ids.
#pragma once
#include <cstdint>
#include <vector>

#include "text/vocabulary.h"

namespace cleave::text {

struct Merge {
  uint32_t rank;  // the least is done first
  uint32_t id;    // of what the two become
};

class MergeTable {
 public:
  // For at most so many pairs.
  explicit MergeTable(size_t pairs) {
    size_t size = 16;
    while (size < 2 * pairs) size *= 2;
    slots_.resize(size, Slot{none, {}});
  }

  // A pair that is there already takes the new merge.
  void put(uint32_t left, uint32_t right, Merge merge) {
    const uint64_t key = key_of(left, right);
    size_t at = first(key);
    while (slots_[at].key != none && slots_[at].key != key) at = (at + 1) & (slots_.size() - 1);
    slots_[at] = {key, merge};
  }

  // Null where the pair doesn't merge.
  const Merge* find(uint32_t left, uint32_t right) const {
    const uint64_t key = key_of(left, right);
    for (size_t at = first(key);; at = (at + 1) & (slots_.size() - 1)) {
      if (slots_[at].key == key) return &slots_[at].merge;
      if (slots_[at].key == none) return nullptr;
    }
  }

 private:
  static constexpr uint64_t none = UINT64_MAX;  // no pair: ids are below 2^32 - 1
  struct Slot {
    uint64_t key;
    Merge merge;
  };
  static uint64_t key_of(uint32_t left, uint32_t right) { return uint64_t{left} << 32 | right; }
  size_t first(uint64_t key) const {
    key *= 0x9e3779b97f4a7c15;  // 2^64 by the golden ratio
    return (key ^ key >> 32) & (slots_.size() - 1);
  }
  std::vector<Slot> slots_;
};

// From "merges" of a file: ["a b", ...] or [["a", "b"], ...], the first with rank 0. The right
// token loses `prefix` bytes when it is put behind the left one. Errors (user): what is no pair;
// tokens that the vocabulary lacks.
Result<MergeTable> read_merges(const Fields& fields, const Vocabulary& vocabulary, size_t prefix);

}  // namespace cleave::text

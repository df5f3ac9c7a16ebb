// Items of sort.h: made of elements, sorted, merged. A Key is uint32_t or uint64_t.
#pragma once
#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>

#include "cleave/dtype.h"

namespace cleave::runtime {

__extension__ using Wide = unsigned __int128;

template <class Key>
using Item = std::conditional_t<sizeof(Key) == 4, uint64_t, Wide>;
template <class Key>
constexpr int key_shift = sizeof(Key) == 4 ? 32 : 64;

template <class Key>
constexpr Item<Key> item_of(Key key, int64_t index) {
  return (static_cast<Item<Key>>(key) << key_shift<Key>) | static_cast<Item<Key>>(index);
}
template <class Key>
constexpr int64_t index_of(Item<Key> item) {
  return static_cast<int64_t>(item & ((static_cast<Item<Key>>(1) << 32) - 1));
}

// Unsigned numbers that order as elements of a type do, in its own width.
template <class Bits>
Bits key_of_signed(Bits x) {
  return static_cast<Bits>(x ^ (Bits{1} << (8 * sizeof(Bits) - 1)));
}
// A sign and a magnitude; `infinity` is that of the type, beyond which magnitudes are NaNs.
template <class Bits>
Bits key_of_floating(Bits x, Bits infinity) {
  constexpr Bits sign = static_cast<Bits>(Bits{1} << (8 * sizeof(Bits) - 1));
  const Bits magnitude = static_cast<Bits>(x & ~sign);
  if (magnitude > infinity) return static_cast<Bits>(~Bits{0});
  if (magnitude == 0) return sign;
  return static_cast<Bits>((x & sign) != 0 ? ~x : x | sign);
}

// Sorts by the bytes of the keys, from the lowest to the highest, between `items` and `other`;
// returns where the result lies. Items come in the order of their indices.
template <class Key>
Item<Key>* sort_by_bytes(Item<Key>* items, Item<Key>* other, int64_t count) {
  constexpr int bytes = sizeof(Key);
  std::array<std::array<uint32_t, 256>, bytes> counts = {};
  for (int64_t i = 0; i < count; ++i) {
    const Key key = static_cast<Key>(items[i] >> key_shift<Key>);
    for (int b = 0; b < bytes; ++b) ++counts[b][(key >> (8 * b)) & 255];
  }
  for (int b = 0; b < bytes; ++b) {
    const int shift = key_shift<Key> + 8 * b;
    std::array<uint32_t, 256>& at = counts[b];
    if (at[static_cast<size_t>(items[0] >> shift) & 255] == count) continue;  // all have this byte
    uint32_t sum = 0;
    for (uint32_t& n : at) sum += std::exchange(n, sum);
    for (int64_t i = 0; i < count; ++i)
      other[at[static_cast<size_t>(items[i] >> shift) & 255]++] = items[i];
    std::swap(items, other);
  }
  return items;
}

// The items in order, in `items` or in `other`, which has room for as many.
template <class Key>
Item<Key>* sorted_items(Item<Key>* items, Item<Key>* other, int64_t count) {
  constexpr int64_t min_for_bytes = 256 * sizeof(Key) / 4;
  if (count >= min_for_bytes) return sort_by_bytes<Key>(items, other, count);
  std::sort(items, items + count);
  return items;
}

// Items [first, last) of the merge of two sorted runs.
template <class T>
void merge_part(const T* a, int64_t a_count, const T* b, int64_t b_count, int64_t first,
                int64_t last, T* out) {
  // How many of the first `rank` items are of a.
  const auto of_a = [&](int64_t rank) {
    int64_t low = std::max<int64_t>(0, rank - b_count), high = std::min(rank, a_count);
    while (low < high) {
      const int64_t i = (low + high) / 2;
      if (a[i] < b[rank - 1 - i])
        low = i + 1;
      else
        high = i;
    }
    return low;
  };
  const int64_t a_first = of_a(first), a_last = of_a(last);
  std::merge(a + a_first, a + a_last, b + first - a_first, b + last - a_last, out + first);
}

}  // namespace cleave::runtime

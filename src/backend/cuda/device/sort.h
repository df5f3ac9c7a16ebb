// Sorts lines (library/sort_spec.h) by merges: an element is a number that orders as it does, and
// where it was. A pass merges pairs of sorted runs; each element finds how many of the other run
// come before it. Of equal elements those of the first run come first, so that they keep their
// order.
//
//   sort_read      keys and indices, in chunks of 512 that are sorted in shared memory
//   sort_merge     runs of `run` elements become runs of twice as many
//   sort_write     the first `count` of each line
#pragma once
#include "backend/cuda/device/numbers.h"

namespace cleave::cuda::device {

using Key = unsigned long long;
constexpr int sort_threads = 256, sort_chunk = 512;

// A sign and a magnitude; magnitudes beyond `infinity` are NaNs.
CLEAVE_DEVICE Key floating_key(Key bits, Key sign, Key infinity) {
  const Key magnitude = bits & (sign - 1);
  if (magnitude > infinity) return sign * 2 - 1;
  if (magnitude == 0) return sign;
  return (bits & sign) != 0 ? ~bits & (sign * 2 - 1) : bits | sign;
}
CLEAVE_DEVICE Key key_of(u8 x) { return x; }
CLEAVE_DEVICE Key key_of(i8 x) { return static_cast<Key>(static_cast<Int>(x)) ^ (Key(1) << 63); }
CLEAVE_DEVICE Key key_of(i16 x) { return static_cast<Key>(static_cast<Int>(x)) ^ (Key(1) << 63); }
CLEAVE_DEVICE Key key_of(i32 x) { return static_cast<Key>(static_cast<Int>(x)) ^ (Key(1) << 63); }
CLEAVE_DEVICE Key key_of(i64 x) { return static_cast<Key>(x) ^ (Key(1) << 63); }
CLEAVE_DEVICE Key key_of(bf16 x) { return floating_key(x.bits, 0x8000, 0x7f80); }
CLEAVE_DEVICE Key key_of(f16 x) { return floating_key(x.bits, 0x8000, 0x7c00); }
CLEAVE_DEVICE Key key_of(f32 x) { return floating_key(bits_of_f32(x), 0x80000000u, 0x7f800000u); }
CLEAVE_DEVICE Key key_of(f64 x) {
  return floating_key(bits_of_f64(x), Key(1) << 63, 0x7ff0000000000000ull);
}

CLEAVE_DEVICE bool is_before(Key a, unsigned i, Key b, unsigned j) {
  return a < b || (a == b && i < j);
}

template <class T>
CLEAVE_DEVICE void sort_read(const SortArguments& p, const void* self, Key* keys,
                             unsigned* indices) {
  CLEAVE_SHARED Key key[sort_chunk];
  CLEAVE_SHARED unsigned index[sort_chunk];
  const Int chunks = (p.length + sort_chunk - 1) / sort_chunk;
  for (Int block = blockIdx.x; block < p.outer * p.inner * chunks; block += gridDim.x) {
    const Int line = block / chunks, first = block % chunks * sort_chunk;
    const T* from =
        static_cast<const T*>(self) + line / p.inner * p.length * p.inner + line % p.inner;
    const Int count = p.length - first < sort_chunk ? p.length - first : sort_chunk;
    for (int e = threadIdx.x; e < sort_chunk; e += sort_threads) {
      const Key own = e < count ? key_of(from[(first + e) * p.inner]) : 0;
      key[e] = e >= count ? ~Key(0) : p.is_descending != 0 ? ~own : own;
      index[e] = static_cast<unsigned>(first + e);
    }
    __syncthreads();
    // A bitonic network: runs of `size` in turns of rising and falling order.
    for (int size = 2; size <= sort_chunk; size *= 2)
      for (int apart = size / 2; apart > 0; apart /= 2) {
        const int a = 2 * threadIdx.x - (threadIdx.x & (apart - 1)), b = a + apart;
        const bool rises = (a & size) == 0;
        if (is_before(key[b], index[b], key[a], index[a]) == rises) {
          const Key k = key[a];
          const unsigned i = index[a];
          key[a] = key[b], index[a] = index[b];
          key[b] = k, index[b] = i;
        }
        __syncthreads();
      }
    for (int e = threadIdx.x; e < count; e += sort_threads) {
      keys[line * p.length + first + e] = key[e];
      indices[line * p.length + first + e] = index[e];
    }
    __syncthreads();
  }
}

CLEAVE_DEVICE void sort_merge(const SortArguments& p, Int run, const Key* keys,
                              const unsigned* indices, Key* to_keys, unsigned* to_indices) {
  for (Int e = blockIdx.x * Int(sort_threads) + threadIdx.x; e < p.outer * p.inner * p.length;
       e += gridDim.x * Int(sort_threads)) {
    const Int line = e / p.length * p.length, i = e % p.length;
    const Int pair = i / (2 * run) * (2 * run);
    const bool is_first = i < pair + run;
    const Key own = keys[e];
    Int low = is_first ? pair + run : pair;
    Int high = is_first ? pair + 2 * run : pair + run;
    low = low < p.length ? low : p.length;
    high = high < p.length ? high : p.length;
    const Int begin = low;
    while (low < high) {
      const Int middle = (low + high) / 2;
      const Key other = keys[line + middle];
      if (other < own || (other == own && !is_first))
        low = middle + 1;
      else
        high = middle;
    }
    const Int to = line + i - (is_first ? 0 : run) + (low - begin);
    to_keys[to] = own;
    to_indices[to] = indices[e];
  }
}

template <class T>
CLEAVE_DEVICE void sort_write(const SortArguments& p, const void* self, const unsigned* indices,
                              void* values, Int* positions) {
  for (Int e = blockIdx.x * Int(sort_threads) + threadIdx.x; e < p.outer * p.count * p.inner;
       e += gridDim.x * Int(sort_threads)) {
    const Int inner = e % p.inner, j = e / p.inner % p.count, outer = e / p.inner / p.count;
    const Int i = indices[(outer * p.inner + inner) * p.length + j];
    if (values != nullptr)
      static_cast<T*>(values)[e] =
          static_cast<const T*>(self)[(outer * p.length + i) * p.inner + inner];
    if (positions != nullptr) positions[e] = i;
  }
}

}  // namespace cleave::cuda::device

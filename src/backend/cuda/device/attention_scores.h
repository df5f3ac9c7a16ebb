// A tile of scores: 16 queries of one head and 64 keys, by a block of 256 threads. Thread t has
// query t / 16 and keys t % 16 + 16 x, x in [0, 4).
#pragma once
#include "backend/cuda/device/philox.h"

namespace cleave::cuda::device {

constexpr int attention_threads = 256;
constexpr int tile_queries = 16, tile_keys = 64;
constexpr int tile_width = 32;  // of queries and keys that are in shared memory at a time

// Of the tile: one head, its first query and its first key.
struct Tile {
  Int batch, head, query, key;
};

CLEAVE_DEVICE Int head_at(const At& s, Int batch, Int head) {
  return batch * s.batch + head * s.head;
}
CLEAVE_DEVICE float no_score() { return f32_of_bits(0xff800000u); }  // -inf

// sums[x] = x-th product of the thread's row of `a` with its row of `b`; rows from a_rows and
// b_rows on count as 0.
template <class S>
CLEAVE_DEVICE void multiply_rows(const S* a, const At& a_at, Int a_rows, const S* b, const At& b_at,
                                 Int b_rows, Int width, float (&sums)[4]) {
  CLEAVE_SHARED float a_tile[tile_queries][tile_width + 1];
  CLEAVE_SHARED float b_tile[tile_keys][tile_width + 1];
  const int lane = threadIdx.x % 16, row = threadIdx.x / 16;
  for (int x = 0; x < 4; ++x) sums[x] = 0;
  for (Int first = 0; first < width; first += tile_width) {
    for (int e = threadIdx.x; e < tile_queries * tile_width; e += attention_threads) {
      const int i = e / tile_width, w = e % tile_width;
      a_tile[i][w] = i < a_rows && first + w < width
                         ? wide(a[i * a_at.row + (first + w) * a_at.column])
                         : 0.0f;
    }
    for (int e = threadIdx.x; e < tile_keys * tile_width; e += attention_threads) {
      const int i = e / tile_width, w = e % tile_width;
      b_tile[i][w] = i < b_rows && first + w < width
                         ? wide(b[i * b_at.row + (first + w) * b_at.column])
                         : 0.0f;
    }
    __syncthreads();
    for (int w = 0; w < tile_width; ++w)
      for (int x = 0; x < 4; ++x)
        sums[x] = multiply_add(a_tile[row][w], b_tile[lane + 16 * x][w], sums[x]);
    __syncthreads();
  }
}

// A score with scale and masks.
CLEAVE_DEVICE float masked(const AttentionArguments& p, float score, const void* mask, Int batch,
                           Int head, Int i, Int j) {
  score *= p.scale;
  if (p.is_causal != 0 && j > i) score = no_score();
  if (p.mask == no_mask) return score;
  const Int at = head_at(p.mask_at, batch, head) + i * p.mask_at.row + j * p.mask_at.column;
  if (p.mask == boolean_mask) return static_cast<const u8*>(mask)[at] != 0 ? score : no_score();
  if (p.mask == bf16_mask) return score + wide(static_cast<const bf16*>(mask)[at]);
  if (p.mask == f16_mask) return score + wide(static_cast<const f16*>(mask)[at]);
  return score + static_cast<const float*>(mask)[at];
}

// scores[x] of the thread; -inf where there is no such key or query.
template <class S>
CLEAVE_DEVICE void tile_scores(const AttentionArguments& p, const void* query, const void* key,
                               const void* mask, const Tile& at, float (&scores)[4]) {
  multiply_rows(
      static_cast<const S*>(query) + head_at(p.query, at.batch, at.head) + at.query * p.query.row,
      p.query, p.rows - at.query,
      static_cast<const S*>(key) + head_at(p.key, at.batch, at.head / p.key_group) +
          at.key * p.key.row,
      p.key, p.columns - at.key, p.width, scores);
  const Int i = at.query + threadIdx.x / 16;
  for (int x = 0; x < 4; ++x) {
    const Int j = at.key + threadIdx.x % 16 + 16 * x;
    const bool is_there = i < p.rows && j < p.columns;
    scores[x] = is_there ? masked(p, scores[x], mask, at.batch, at.head, i, j) : no_score();
  }
}

// What dropout multiplies the weight of query i and key j with.
CLEAVE_DEVICE float dropout(const AttentionArguments& p, const Int* seed, const Int* step,
                            Int batch, Int head, Int i, Int j) {
  if (p.min_word == 0) return 1;
  const Int index = ((batch * p.heads + head) * p.rows + i) * p.columns + j;
  return philox(*seed, *step, p.stream, index) >> 8 >= p.min_word ? p.factor : 0.0f;
}

// The keys before this one are all that queries [query, query + tile_queries) may read.
CLEAVE_DEVICE Int keys_of(const AttentionArguments& p, Int query) {
  const Int end = query + tile_queries;
  return p.is_causal != 0 && end < p.columns ? end : p.columns;
}

}  // namespace cleave::cuda::device

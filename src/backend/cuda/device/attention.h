// Attention's forward: a block has 16 queries of one head and walks over the keys (CPU:
// runtime/attention_forward_code.h).
//
//   top' = max(top, scores)    out, sum *= exp(top - top')
//   weights = exp(scores - top')    sum += weights    out += dropout(weights) @ value
//
// 128 columns of out at a time are in registers; wider values take several walks.
#pragma once
#include "backend/cuda/device/attention_scores.h"

namespace cleave::cuda::device {

constexpr int out_columns = 8;  // of a thread: lane, lane + 16, ...

template <class S>
CLEAVE_DEVICE void attention(const AttentionArguments& p, const void* query, const void* key,
                             const void* value, const void* mask, const Int* seed, const Int* step,
                             void* out, float* logsumexp) {
  CLEAVE_SHARED float scores[tile_queries][tile_keys + 1];
  CLEAVE_SHARED float kept[tile_queries][tile_keys + 1];
  const int lane = threadIdx.x % 16, row = threadIdx.x / 16;
  const Int tiles = (p.rows + tile_queries - 1) / tile_queries;
  for (Int block = blockIdx.x; block < p.batch * p.heads * tiles; block += gridDim.x) {
    // The last rows first: with a causal mask they take the most work.
    const Int head = block % (p.batch * p.heads);
    const Tile first{head / p.heads, head % p.heads,
                     (tiles - 1 - block / (p.batch * p.heads)) * tile_queries, 0};
    const Int i = first.query + row, keys = keys_of(p, first.query);
    const S* values =
        static_cast<const S*>(value) + head_at(p.value, first.batch, first.head / p.value_group);
    Int done = 0;  // columns of out
    do {
      float sums[out_columns] = {}, top = no_score(), sum = 0;
      for (Tile at = first; at.key < keys; at.key += tile_keys) {
        float own[4];
        tile_scores<S>(p, query, key, mask, at, own);
        for (int x = 0; x < 4; ++x) scores[row][lane + 16 * x] = own[x];
        __syncthreads();
        float highest = top;
        for (int k = 0; k < tile_keys; ++k)
          highest = scores[row][k] > highest ? scores[row][k] : highest;
        // If all scores so far are masked, exp must get -inf, not -inf - -inf = NaN.
        const float base = highest == no_score() ? 0.0f : highest;
        const float shrink = expf(top - base);
        top = highest;
        __syncthreads();
        for (int x = 0; x < 4; ++x) {
          const int k = lane + 16 * x;
          const float weight = expf(own[x] - base);
          scores[row][k] = weight;
          kept[row][k] = weight != 0
                             ? weight * dropout(p, seed, step, at.batch, at.head, i, at.key + k)
                             : 0.0f;
        }
        __syncthreads();
        float added = 0;
        for (int k = 0; k < tile_keys; ++k) added += scores[row][k];
        sum = sum * shrink + added;
        const Int end = keys - at.key < tile_keys ? keys - at.key : tile_keys;
        for (int x = 0; x < out_columns; ++x) {
          const Int e = done + lane + 16 * x;
          if (e >= p.value_width) break;
          float part = 0;
          for (int k = 0; k < end; ++k)
            part = multiply_add(
                kept[row][k], wide(values[(at.key + k) * p.value.row + e * p.value.column]), part);
          sums[x] = sums[x] * shrink + part;
        }
        __syncthreads();
      }
      if (i < p.rows) {
        S* to = static_cast<S*>(out) + head_at(p.out, first.batch, first.head) + i * p.out.row;
        const float factor = sum == 0 ? 0.0f : 1 / sum;
        for (int x = 0; x < out_columns; ++x) {
          const Int e = done + lane + 16 * x;
          if (e < p.value_width) to[e * p.out.column] = Narrow<S>::of(sums[x] * factor);
        }
        if (logsumexp != nullptr && done == 0 && lane == 0)
          logsumexp[(first.batch * p.heads + first.head) * p.sum_rows + i] =
              sum == 0 ? 0.0f : top + logf(sum);
      }
      done += 16 * out_columns;
    } while (done < p.value_width);
    if (logsumexp != nullptr && first.query == (tiles - 1) * tile_queries)
      for (Int r = p.rows + threadIdx.x; r < p.sum_rows; r += attention_threads)
        logsumexp[(first.batch * p.heads + first.head) * p.sum_rows + r] = 0;
  }
}

}  // namespace cleave::cuda::device

// Attention's gradients, each recomputing the weights by tiles (CPU:
// runtime/attention_backward_code.h):
//
//   delta = sum(dout out)    P = exp(scores - logsumexp)    dP = dropout(dout V^T)
//   dS = P (dP - delta)      dQ = scale dS K    dK = scale dS^T Q    dV = dropout(P)^T dout
//
//   attention_delta      a thread for each query
//   attention_dquery     a block has 16 queries of one head and walks over the keys
//   attention_dkey       a block has 64 keys of one head of the key and walks over its queries
//   attention_dmask      a block has one tile; sums over the batch in f64
#pragma once
#include "backend/cuda/device/attention_scores.h"

namespace cleave::cuda::device {

struct GradientOperands {
  const void *query, *key, *value, *mask;
  const Int *seed, *step;
  const void* out;
  const float* logsumexp;
  const void* dout;
  void *dquery, *dkey, *dvalue;
  float* dmask;
  float* delta;  // [batch, heads, rows]
};

template <class S>
CLEAVE_DEVICE void attention_delta(const AttentionArguments& p, const GradientOperands& at) {
  for (Int r = blockIdx.x * Int(attention_threads) + threadIdx.x; r < p.batch * p.heads * p.rows;
       r += gridDim.x * Int(attention_threads)) {
    const Int i = r % p.rows, head = r / p.rows % p.heads, batch = r / p.rows / p.heads;
    const S* out = static_cast<const S*>(at.out) + head_at(p.out, batch, head) + i * p.out.row;
    const S* dout = static_cast<const S*>(at.dout) + head_at(p.dout, batch, head) + i * p.dout.row;
    float sums[4] = {};
    for (Int e = 0; e < p.value_width; ++e)
      sums[e % 4] =
          multiply_add(wide(out[e * p.out.column]), wide(dout[e * p.dout.column]), sums[e % 4]);
    at.delta[r] = (sums[0] + sums[1]) + (sums[2] + sums[3]);
  }
}

// Of the thread's query and keys: dropout(P) and dS without scale.
template <class S>
CLEAVE_DEVICE void tile_gradients(const AttentionArguments& p, const GradientOperands& at,
                                  const Tile& tile, float (&kept)[4], float (&dscores)[4]) {
  float scores[4];
  tile_scores<S>(p, at.query, at.key, at.mask, tile, scores);
  multiply_rows(static_cast<const S*>(at.dout) + head_at(p.dout, tile.batch, tile.head) +
                    tile.query * p.dout.row,
                p.dout, p.rows - tile.query,
                static_cast<const S*>(at.value) +
                    head_at(p.value, tile.batch, tile.head / p.value_group) +
                    tile.key * p.value.row,
                p.value, p.columns - tile.key, p.value_width, dscores);
  const Int i = tile.query + threadIdx.x / 16;
  const bool is_there = i < p.rows;
  const Int head = tile.batch * p.heads + tile.head;
  const float sum = is_there ? at.logsumexp[head * p.sum_rows + i] : 0.0f;
  const float delta = is_there ? at.delta[head * p.rows + i] : 0.0f;
  for (int x = 0; x < 4; ++x) {
    const float weight = scores[x] == no_score() ? 0.0f : expf(scores[x] - sum);
    const float factor = weight != 0 ? dropout(p, at.seed, at.step, tile.batch, tile.head, i,
                                               tile.key + threadIdx.x % 16 + 16 * x)
                                     : 0.0f;
    kept[x] = weight * factor;
    dscores[x] = weight != 0 ? weight * (dscores[x] * factor - delta) : 0.0f;
  }
}

template <class S>
CLEAVE_DEVICE void attention_dquery(const AttentionArguments& p, const GradientOperands& at) {
  constexpr int own_columns = 8;  // of a thread: lane, lane + 16, ...
  CLEAVE_SHARED float dscores[tile_queries][tile_keys + 1];
  const int lane = threadIdx.x % 16, row = threadIdx.x / 16;
  const Int tiles = (p.rows + tile_queries - 1) / tile_queries;
  for (Int block = blockIdx.x; block < p.batch * p.heads * tiles; block += gridDim.x) {
    const Int head = block % (p.batch * p.heads);
    const Tile first{head / p.heads, head % p.heads,
                     (tiles - 1 - block / (p.batch * p.heads)) * tile_queries, 0};
    const Int i = first.query + row, keys = keys_of(p, first.query);
    const S* key =
        static_cast<const S*>(at.key) + head_at(p.key, first.batch, first.head / p.key_group);
    for (Int done = 0; done < p.width; done += 16 * own_columns) {
      float sums[own_columns] = {};
      for (Tile tile = first; tile.key < keys; tile.key += tile_keys) {
        float kept[4], own[4];
        tile_gradients<S>(p, at, tile, kept, own);
        for (int x = 0; x < 4; ++x) dscores[row][lane + 16 * x] = own[x];
        __syncthreads();
        const Int end = keys - tile.key < tile_keys ? keys - tile.key : tile_keys;
        for (int x = 0; x < own_columns; ++x) {
          const Int e = done + lane + 16 * x;
          if (e >= p.width) break;
          for (int k = 0; k < end; ++k)
            sums[x] = multiply_add(
                dscores[row][k], wide(key[(tile.key + k) * p.key.row + e * p.key.column]), sums[x]);
        }
        __syncthreads();
      }
      if (i >= p.rows) continue;
      S* to = static_cast<S*>(at.dquery) + head_at(p.dquery, first.batch, first.head) +
              i * p.dquery.row;
      for (int x = 0; x < own_columns; ++x) {
        const Int e = done + lane + 16 * x;
        if (e < p.width) to[e * p.dquery.column] = Narrow<S>::of(sums[x] * p.scale);
      }
    }
  }
}

// sums[y][x] += sum over the tile's queries of weights[query][4 row + y] * from[query][column],
// column = done + lane + 16 x.
template <class S>
CLEAVE_DEVICE void add_rows(const float (&weights)[tile_queries][tile_keys + 1], const S* from,
                            const At& from_at, Int queries, Int done, Int width,
                            float (&sums)[4][4]) {
  const int lane = threadIdx.x % 16, row = threadIdx.x / 16;
  for (int x = 0; x < 4; ++x) {
    const Int e = done + lane + 16 * x;
    if (e >= width) break;
    for (int q = 0; q < queries; ++q) {
      const float number = wide(from[q * from_at.row + e * from_at.column]);
      for (int y = 0; y < 4; ++y)
        sums[y][x] = multiply_add(weights[q][4 * row + y], number, sums[y][x]);
    }
  }
}
template <class S>
CLEAVE_DEVICE void write_rows(const float (&sums)[4][4], float scale, void* to, const At& to_at,
                              Int batch, Int head, Int first, Int rows, Int done, Int width) {
  if (to == nullptr) return;
  const int lane = threadIdx.x % 16, row = threadIdx.x / 16;
  S* begin = static_cast<S*>(to) + head_at(to_at, batch, head);
  for (int y = 0; y < 4; ++y)
    for (int x = 0; x < 4; ++x) {
      const Int j = first + 4 * row + y, e = done + lane + 16 * x;
      if (j < rows && e < width)
        begin[j * to_at.row + e * to_at.column] = Narrow<S>::of(sums[y][x] * scale);
    }
}

template <class S>
CLEAVE_DEVICE void attention_dkey(const AttentionArguments& p, const GradientOperands& at) {
  CLEAVE_SHARED float weights[tile_queries][tile_keys + 1];
  CLEAVE_SHARED float dscores[tile_queries][tile_keys + 1];
  const int lane = threadIdx.x % 16, row = threadIdx.x / 16;
  const Int key_heads = p.heads / p.key_group, heads = p.batch * key_heads;
  const Int tiles = (p.columns + tile_keys - 1) / tile_keys;
  const Int width = p.width > p.value_width ? p.width : p.value_width;
  for (Int block = blockIdx.x; block < heads * tiles; block += gridDim.x) {
    const Int batch = block % heads / key_heads, key_head = block % key_heads;
    const Int key = block / heads * tile_keys;
    // Queries before the first key see none of them.
    const Int begin = p.is_causal != 0 ? key / tile_queries * tile_queries : 0;
    for (Int done = 0; done < width; done += 64) {
      float dkey[4][4] = {}, dvalue[4][4] = {};
      for (Int head = key_head * p.key_group; head < (key_head + 1) * p.key_group; ++head)
        for (Int query = begin; query < p.rows; query += tile_queries) {
          float kept[4], own[4];
          tile_gradients<S>(p, at, {batch, head, query, key}, kept, own);
          for (int x = 0; x < 4; ++x) {
            weights[row][lane + 16 * x] = kept[x];
            dscores[row][lane + 16 * x] = own[x];
          }
          __syncthreads();
          const Int queries = p.rows - query < tile_queries ? p.rows - query : tile_queries;
          if (at.dkey != nullptr)
            add_rows(dscores,
                     static_cast<const S*>(at.query) + head_at(p.query, batch, head) +
                         query * p.query.row,
                     p.query, queries, done, p.width, dkey);
          if (at.dvalue != nullptr)
            add_rows(
                weights,
                static_cast<const S*>(at.dout) + head_at(p.dout, batch, head) + query * p.dout.row,
                p.dout, queries, done, p.value_width, dvalue);
          __syncthreads();
        }
      write_rows<S>(dkey, p.scale, at.dkey, p.dkey, batch, key_head, key, p.columns, done, p.width);
      write_rows<S>(dvalue, 1, at.dvalue, p.dvalue, batch, key_head, key, p.columns, done,
                    p.value_width);
    }
  }
}

template <class S>
CLEAVE_DEVICE void attention_dmask(const AttentionArguments& p, const GradientOperands& at) {
  const int lane = threadIdx.x % 16, row = threadIdx.x / 16;
  const Int row_tiles = (p.rows + tile_queries - 1) / tile_queries;
  const Int key_tiles = (p.columns + tile_keys - 1) / tile_keys;
  const Int batches = p.sums_dmask != 0 ? 1 : p.batch, summed = p.batch / batches;
  for (Int block = blockIdx.x; block < batches * p.heads * row_tiles * key_tiles;
       block += gridDim.x) {
    const Int head = block / key_tiles / row_tiles;
    Tile tile{head / p.heads, head % p.heads, block / key_tiles % row_tiles * tile_queries,
              block % key_tiles * tile_keys};
    double sums[4] = {};
    float* to = at.dmask + head_at(p.dmask, tile.batch, tile.head);
    for (Int b = 0; b < summed; ++b, ++tile.batch) {
      float kept[4], own[4];
      tile_gradients<S>(p, at, tile, kept, own);
      for (int x = 0; x < 4; ++x) sums[x] += own[x];
    }
    const Int i = tile.query + row;
    for (int x = 0; x < 4; ++x) {
      const Int j = tile.key + lane + 16 * x;
      if (i < p.rows && j < p.columns)
        to[i * p.dmask.row + j * p.dmask.column] = static_cast<float>(sums[x]);
    }
  }
}

}  // namespace cleave::cuda::device

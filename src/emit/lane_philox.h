// Philox (kernel_functions.h) for 16 lanes. A block gives four words, for indices 4 b to 4 b + 3,
// and consecutive lanes need consecutive words: 16 blocks are computed at once and last for four
// iterations of a loop.
// clang-format off

// Stores word w of the blocks numbered block[l] in word[w], in the lower halves of the lanes; the
// upper halves are arbitrary, as are those of the counters and keys in between.
INLINE void philox_blocks(int64_t seed, int64_t step, int64_t stream, u64x16 block, u64x16 *word) {
  const uint64_t low = 0xffffffffu;
  u64x16 c0 = block, c1 = block >> 32;
  u64x16 c2 = (u64x16)all_i64x16(stream), c3 = (u64x16)all_i64x16(step);
  uint64_t k0 = (uint64_t)seed, k1 = (uint64_t)seed >> 32;
  for (int round = 0; round < 10; round += 2) {
    u64x16 p0 = (c0 & low) * 0xD2511F53u, p1 = (c2 & low) * 0xCD9E8D57u;
    u64x16 n0 = (p1 >> 32) ^ c1 ^ k0, n2 = (p0 >> 32) ^ c3 ^ k1;
    u64x16 q0 = (n0 & low) * 0xD2511F53u, q1 = (n2 & low) * 0xCD9E8D57u;
    c0 = (q1 >> 32) ^ p1 ^ (k0 + 0x9E3779B9u), c1 = q1;
    c2 = (q0 >> 32) ^ p0 ^ (k1 + 0xBB67AE85u), c3 = q0;
    k0 += 2 * 0x9E3779B9ull, k1 += 2 * 0xBB67AE85ull;
  }
  word[0] = c0, word[1] = c1, word[2] = c2, word[3] = c3;
}

// philox(seed, step, stream, index[l]), one block a lane.
INLINE i64x16 philox_i64x16(int64_t seed, int64_t step, int64_t stream, i64x16 index) {
  u64x16 word[4];
  philox_blocks(seed, step, stream, (u64x16)index >> 2, word);
  i64x16 odd = (index & 1) != 0;
  i64x16 first = choose_i64x16(odd, (i64x16)word[1], (i64x16)word[0]);
  i64x16 second = choose_i64x16(odd, (i64x16)word[3], (i64x16)word[2]);
  return choose_i64x16((index & 2) != 0, second, first) & 0xffffffff;
}

// philox(seed, step, stream, first + l). Between calls that differ only in `first`, the caller
// keeps 64 words in order, those of the indices from `at` on (none: -64).
INLINE i64x16 philox_next_i64x16(int64_t seed, int64_t step, int64_t stream, int64_t first,
                                 uint32_t *words, int64_t *at) {
  if ((uint64_t)(first - *at) > 48) {
    u64x16 word[4];
    *at = first & -4;
    philox_blocks(seed, step, stream, (u64x16)lanes_i64x16(*at >> 2, 1), word);
    u64x16 even = (word[0] & 0xffffffffu) | word[1] << 32;
    u64x16 odd = (word[2] & 0xffffffffu) | word[3] << 32;
    u64x16 front = __builtin_shufflevector(even, odd, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6,
                                           22, 7, 23);
    u64x16 back = __builtin_shufflevector(even, odd, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29,
                                          14, 30, 15, 31);
    __builtin_memcpy(words, &front, sizeof front);
    __builtin_memcpy(words + 32, &back, sizeof back);
  }
  u32x16 next;
  __builtin_memcpy(&next, words + (first - *at), sizeof next);
  return to_i64x16(next);
}

// The factors of dropout: 0 or 1 / (1 - p), from the words of Philox 4x32-10.
//
//   key      (low word of seed, high word of seed)
//   counter  (low word of index/4, high word of index/4, stream, low word of step)
//   word     index mod 4                    kept if word >> 8 is at least p * 2^24
//
// Source: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011.

struct Dropout {
  uint32_t key[2], stream, step, min_word;
  float factor;
};

inline Dropout dropout_of(const AttentionSpec& spec, const AttentionOperands& in) {
  const auto seed = static_cast<uint64_t>(*in.seed);
  const double p = spec.dropout_p;
  return {{static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)},
          static_cast<uint32_t>(static_cast<uint64_t>(spec.stream)),
          static_cast<uint32_t>(static_cast<uint64_t>(*in.step)),
          static_cast<uint32_t>(std::ceil(p * 16777216.0)),
          static_cast<float>(p == 1 ? 0 : 1 / (1 - p))};
}

constexpr int counters = 16;  // that are computed at a time, as vectors

// The words of counters block, block + 1, ...: word w of counter i at words[i * 4 + w].
inline void philox_words(const Dropout& drop, uint64_t block, uint32_t (&words)[4 * counters]) {
  uint32_t c0[counters], c1[counters], c2[counters], c3[counters];
  for (uint64_t i = 0; i < counters; ++i) {
    c0[i] = static_cast<uint32_t>(block + i);
    c1[i] = static_cast<uint32_t>((block + i) >> 32);
    c2[i] = drop.stream;
    c3[i] = drop.step;
  }
  uint32_t k0 = drop.key[0], k1 = drop.key[1];
  for (int round = 0; round < 10; ++round, k0 += 0x9E3779B9u, k1 += 0xBB67AE85u)
    for (int i = 0; i < counters; ++i) {
      const uint64_t first = uint64_t{0xD2511F53u} * c0[i];
      const uint64_t second = uint64_t{0xCD9E8D57u} * c2[i];
      c0[i] = static_cast<uint32_t>(second >> 32) ^ c1[i] ^ k0;
      c1[i] = static_cast<uint32_t>(second);
      c2[i] = static_cast<uint32_t>(first >> 32) ^ c3[i] ^ k1;
      c3[i] = static_cast<uint32_t>(first);
    }
  for (int i = 0; i < counters; ++i) {
    words[i * 4] = c0[i];
    words[i * 4 + 1] = c1[i];
    words[i * 4 + 2] = c2[i];
    words[i * 4 + 3] = c3[i];
  }
}

// factors[k * stride] of the weights with index first + k, k in [0, count).
inline void dropout_factors(const Dropout& drop, int64_t first, int64_t count, float* factors,
                            int64_t stride) {
  uint32_t words[4 * counters];
  int64_t skipped = first % 4;
  for (int64_t k = 0; k < count; skipped = 0) {
    philox_words(drop, static_cast<uint64_t>(first + k) / 4, words);
    const int64_t some = min_of(4 * counters - skipped, count - k);
    for (int64_t w = 0; w < some; ++w)
      factors[(k + w) * stride] = words[skipped + w] >> 8 >= drop.min_word ? drop.factor : 0;
    k += some;
  }
}

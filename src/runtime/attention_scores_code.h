// Masks, and addresses of operands: shared by the forward and the backward. Scores are stored
// transposed: that of key k and query q at s[k * ld + q].

// A tile of scores: keys [key, key + keys) and queries [query, query + queries) of one head.
struct ScoreTile {
  float* s;
  int64_t ld;
  int64_t batch, head;
  int64_t query, queries;
  int64_t key, keys;
};

template <class S>
const S* head_of(const void* x, const HeadStrides& at, int64_t batch, int64_t head) {
  return static_cast<const S*>(x) + batch * at.batch + head * at.head;
}
template <class S>
S* head_of(void* x, const HeadStrides& at, int64_t batch, int64_t head) {
  return static_cast<S*>(x) + batch * at.batch + head * at.head;
}

constexpr float masked_out = -std::numeric_limits<float>::infinity();

// s = combine(s, mask), mask elements of type M.
template <class M, class Combine>
void apply_mask(const ScoreTile& t, const void* mask, const HeadStrides& at, Combine combine) {
  const M* from = head_of<M>(mask, at, t.batch, t.head) + t.query * at.row + t.key * at.column;
  if (at.row == 0) {
    for (int64_t k = 0; k < t.keys; ++k) {
      const M m = from[k * at.column];
      for (int64_t q = 0; q < t.queries; ++q) t.s[k * t.ld + q] = combine(t.s[k * t.ld + q], m);
    }
    return;
  }
  for (int64_t q = 0; q < t.queries; ++q)
    for (int64_t k = 0; k < t.keys; ++k) {
      float& s = t.s[k * t.ld + q];
      s = combine(s, from[q * at.row + k * at.column]);
    }
}

// Once for all types, as tile_factors: in line they are a tenth of an attention kernel's code,
// which each program that is built ahead of time holds.
__attribute__((noinline)) inline void mask_scores(const AttentionSpec& spec, const void* mask,
                                                  const ScoreTile& t) {
  if (spec.is_causal)
    for (int64_t k = 0; k < t.keys; ++k)
      for (int64_t q = 0; q < min_of(t.queries, t.key + k - t.query); ++q)
        t.s[k * t.ld + q] = masked_out;
  if (!spec.mask) return;
  const auto add = [](float s, auto m) { return s + static_cast<float>(m); };
  switch (*spec.mask) {
    case DType::boolean:
      return apply_mask<uint8_t>(t, mask, spec.mask_at,
                                 [](float s, uint8_t m) { return m != 0 ? s : masked_out; });
    case DType::bf16: return apply_mask<Bf16>(t, mask, spec.mask_at, add);
    case DType::f16: return apply_mask<F16>(t, mask, spec.mask_at, add);
    default: return apply_mask<float>(t, mask, spec.mask_at, add);
  }
}

// The dropout factors of the tile's weights, stored like the scores: f[k * ld + q].
__attribute__((noinline)) inline void tile_factors(const AttentionSpec& spec, const Dropout& drop,
                                                   const ScoreTile& t, float* f) {
  for (int64_t q = 0; q < t.queries; ++q) {
    const int64_t row = (t.batch * spec.heads + t.head) * spec.rows + t.query + q;
    dropout_factors(drop, row * spec.columns + t.key, t.keys, f + q, t.ld);
  }
}

// How many of the keys [key, key + keys) the causal mask leaves to any query below `query_end`.
inline int64_t visible_keys(const AttentionSpec& spec, int64_t key, int64_t keys,
                            int64_t query_end) {
  if (!spec.is_causal) return keys;
  const int64_t visible = query_end - key;
  return visible < 0 ? 0 : min_of(keys, visible);
}

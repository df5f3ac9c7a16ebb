// What the backward of every kernel needs (attention_backward_code.h).

template <class S>
class BackwardRange {
 protected:
  BackwardRange(const AttentionBackwardSpec& spec, const AttentionBackward& at,
                const AttentionRange& columns)
      : spec_(spec), f_(spec.forward), at_(at), columns_(columns) {
    if (f_.dropout_p > 0) drop_ = dropout_of(f_, at.in);
  }

  int64_t head(int64_t g) const { return columns_.head * f_.key_group + g; }

  // The gradient of the mask for these queries and keys, dscores[k * ld + q]; the first `visible`
  // keys were computed, and without any dscores may be null.
  void write_dmask(int64_t g, int64_t query, int64_t queries, int64_t key, int64_t keys,
                   int64_t visible, const float* dscores, int64_t ld) const {
    if (!spec_.wants_dmask) return;
    const HeadStrides& at = spec_.dmask;
    float* to =
        head_of<float>(at_.dmask, at, columns_.batch, head(g)) + query * at.row + key * at.column;
    const bool adds = spec_.sums_dmask() && columns_.batch % dmask_batches != 0;
    for (int64_t q = 0; q < queries; ++q, to += at.row) {
      if (adds) {
        for (int64_t k = 0; k < visible; ++k) to[k * at.column] += dscores[k * ld + q];
      } else {
        for (int64_t k = 0; k < visible; ++k) to[k * at.column] = dscores[k * ld + q];
        for (int64_t k = visible; k < keys; ++k) to[k * at.column] = 0;
      }
    }
  }

  const AttentionBackwardSpec& spec_;
  const AttentionSpec& f_;
  const AttentionBackward& at_;
  const AttentionRange columns_;
  Dropout drop_{};
};

// The forward of some rows of one head.
//
//   for each block of keys: pack it
//     for each panel of queries
//       s = key @ panel                       transposed: s[k * nr + q]
//       top' = max(top, max over k of s)      of each query
//       out, sum *= exp(top - top')
//       s = exp(s - top')     sum += s        then dropout
//       out += s^T @ value
//   result: out / sum      logsumexp: top + log(sum)

template <class S>
class ForwardBlock {
 public:
  ForwardBlock(const AttentionSpec& spec, const AttentionForward& at, const AttentionRange& rows,
               void* scratch)
      : spec_(spec), at_(at), rows_(rows), scratch_(sizes, spec, rows.count, scratch),
        padded_out_(rounded(spec.value_width, lanes)) {
    if (spec.dropout_p > 0) drop_ = dropout_of(spec, at.in);
  }

  void run() {
    const int64_t panels = (rows_.count + nr - 1) / nr;
    for (int64_t p = 0; p < panels; ++p) begin(p);
    const int64_t end = visible_keys(spec_, 0, spec_.columns, rows_.first + rows_.count);
    for (int64_t key = 0; key < end; key += block_columns) {
      const int64_t keys = min_of(block_columns, end - key);
      const Rows values = pack(key, keys);
      for (int64_t p = 0; p < panels; ++p) add(p, key, keys, values);
    }
    for (int64_t p = 0; p < panels; ++p) finish(p);
  }

 private:
  int64_t queries_of(int64_t p) const { return min_of(nr, rows_.count - p * nr); }

  void begin(int64_t p) {
    const S* query = head_of<S>(at_.in.query, spec_.query, rows_.batch, rows_.head) +
                     (rows_.first + p * nr) * spec_.query.row;
    transpose_panel(
        rows_of(query, spec_.query, queries_of(p), nr, spec_.width, scratch_.row_copies),
        spec_.width, static_cast<float>(spec_.scale), scratch_.panels + p * nr * spec_.width);
    for (int64_t q = 0; q < nr; ++q) {
      scratch_.top[p * nr + q] = masked_out;
      scratch_.sum[p * nr + q] = 0;
    }
    float* out = scratch_.out + p * nr * padded_out_;
    for (int64_t x = 0; x < nr * padded_out_; ++x) out[x] = 0;
  }

  Rows pack(int64_t key, int64_t keys) {
    const S* k = head_of<S>(at_.in.key, spec_.key, rows_.batch, rows_.head / spec_.key_group);
    pack_keys(k + key * spec_.key.row, spec_.key, keys, spec_.width, scratch_.keys);
    const S* v = head_of<S>(at_.in.value, spec_.value, rows_.batch, rows_.head / spec_.value_group);
    return rows_of(v + key * spec_.value.row, spec_.value, keys, keys, spec_.value_width,
                   scratch_.values);
  }

  void add(int64_t p, int64_t key, int64_t keys, const Rows& values) {
    const int64_t first = rows_.first + p * nr, queries = queries_of(p);
    keys = visible_keys(spec_, key, keys, first + queries);
    if (keys == 0) return;
    float* s = scratch_.scores;
    const Rows panel{scratch_.panels + p * nr * spec_.width, nr};
    for (int64_t k = 0; k < keys; k += mr)
      sum_rows<KeysForm>(min_of(mr, keys - k), nr, spec_.width,
                         scratch_.keys + k / mr * sizes.group_floats(spec_.width), panel,
                         s + k * nr, nr, false);
    const ScoreTile tile{s, nr, rows_.batch, rows_.head, first, queries, key, keys};
    mask_scores(spec_, at_.in.mask, tile);
    float* out = scratch_.out + p * nr * padded_out_;
    exponentiate(p, keys, key == 0 ? nullptr : out);
    if (spec_.dropout_p > 0) {
      tile_factors(spec_, drop_, tile, scratch_.factors);
      for (int64_t k = 0; k < keys; ++k)
        for (int64_t q = 0; q < queries; ++q) s[k * nr + q] *= scratch_.factors[k * nr + q];
    }
    sum_product<TransposedForm<nr>>(queries, padded_out_, keys, s, values, out, padded_out_,
                                    key > 0);
  }

  // s = exp(s - top) with the new top; earlier sums are scaled to it.
  void exponentiate(int64_t p, int64_t keys, float* out) {
    alignas(64) float shrink[nr];
    for (int64_t v = 0; v < nr; v += lanes) {
      float* s = scratch_.scores + v;
      float *top_at = scratch_.top + p * nr + v, *sum_at = scratch_.sum + p * nr + v;
      const Float old = Floats::load(top_at);
      Float top = old;
      for (int64_t k = 0; k < keys; ++k) top = larger(Floats::load(s + k * nr), top);
      // If all scores so far are masked, exp must get -inf, not -inf - -inf = NaN.
      const Float base = top == Floats::broadcast(masked_out) ? Floats::zero() : top;
      const Float factor = exp_of(old - base);
      Float sum = Floats::load(sum_at) * factor;
      for (int64_t k = 0; k < keys; ++k) {
        const Float weight = exp_of(Floats::load(s + k * nr) - base);
        Floats::store(s + k * nr, weight);
        sum = sum + weight;
      }
      Floats::store(top_at, top);
      Floats::store(sum_at, sum);
      Floats::store(shrink + v, factor);
    }
    if (out == nullptr) return;
    for (int64_t q = 0; q < queries_of(p); ++q)
      if (shrink[q] != 1)
        for (int64_t e = 0; e < padded_out_; ++e) out[q * padded_out_ + e] *= shrink[q];
  }

  void finish(int64_t p) {
    const int64_t first = rows_.first + p * nr;
    S* to = head_of<S>(at_.out, spec_.out, rows_.batch, rows_.head) + first * spec_.out.row;
    float* sums =
        at_.sums == nullptr
            ? nullptr
            : at_.sums + (rows_.batch * spec_.heads + rows_.head) * spec_.sum_rows + first;
    for (int64_t q = 0; q < queries_of(p); ++q) {
      const float sum = scratch_.sum[p * nr + q], top = scratch_.top[p * nr + q];
      const float factor = sum == 0 ? 0 : 1 / sum;
      const float* out = scratch_.out + (p * nr + q) * padded_out_;
      for (int64_t e = 0; e < spec_.value_width; ++e)
        to[q * spec_.out.row + e * spec_.out.column] = static_cast<S>(out[e] * factor);
      if (sums != nullptr) sums[q] = sum == 0 ? 0 : top + std::log(sum);
    }
    if (sums != nullptr && first + nr >= spec_.rows)
      for (int64_t q = spec_.rows; q < spec_.sum_rows; ++q) sums[q - first] = 0;
  }

  const AttentionSpec& spec_;
  const AttentionForward& at_;
  const AttentionRange rows_;
  const ForwardScratch scratch_;
  const int64_t padded_out_;
  Dropout drop_{};
};

template <class S>
void forward_block(const AttentionSpec& spec, const AttentionForward& at,
                   const AttentionRange& rows, void* scratch) {
  ForwardBlock<S>(spec, at, rows, scratch).run();
}

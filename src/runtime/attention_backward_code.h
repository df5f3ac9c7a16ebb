// The backward of some columns of one head of the key, for all heads of the query that read it.
//
//   for each block of keys: pack the keys and values
//     for each head of the group, for each query_block queries, in panels
//       P  = exp(key @ query panel - logsumexp)    transposed: P[k * query_block + q]
//       dS = P (value @ dout panel - delta) scale  delta = sum(dout * out) of each query
//       dV += P @ dout     dK += dS @ query        rows are keys
//       dQ += dS^T @ key                           rows are queries
//
// With dropout factors f: P f instead of P in dV, (value @ dout) f in dS. The gradient of a mask is
// dS without scale, written query by query; of keys that a panel doesn't read it is 0.

inline void clear(float* x, int64_t count) {
  for (int64_t i = 0; i < count; ++i) x[i] = 0;
}

// Converts rows of f32 to the type and strides of a result.
template <class S>
void store_rows(const float* from, int64_t from_row, int64_t count, int64_t width,
                const HeadStrides& at, S* to) {
  for (int64_t i = 0; i < count; ++i)
    for (int64_t e = 0; e < width; ++e)
      to[i * at.row + e * at.column] = static_cast<S>(from[i * from_row + e]);
}

template <class S>
class BackwardBlock : BackwardRange<S> {
 public:
  BackwardBlock(const AttentionBackwardSpec& spec, const AttentionBackward& at,
                const AttentionRange& columns, float* partial, void* scratch)
      : BackwardRange<S>(spec, at, columns), partial_(partial), scratch_(sizes, spec, scratch),
        width_(rounded(f_.width, lanes)), value_width_(rounded(f_.value_width, lanes)) {}

  void run() {
    for (int64_t g = 0; g < f_.key_group; ++g) begin(g);
    for (int64_t key = 0; key < columns_.count; key += block_columns)
      add_block(columns_.first + key, min_of(block_columns, columns_.count - key));
    if (!spec_.wants_dquery || partial_ != nullptr || sizes.sums_in_dquery(spec_)) return;
    for (int64_t g = 0; g < f_.key_group; ++g) {
      const Sums dq = dquery_of(g, 0);
      store_rows(dq.at, dq.row, f_.rows, f_.width, spec_.dquery,
                 head_of<S>(at_.dquery, spec_.dquery, columns_.batch, head(g)));
    }
  }

 private:
  struct Sums {
    float* at;
    int64_t row;
  };

  // Where the gradient of a query is summed: in dquery itself, in the piece's partial sums, or in
  // scratch.
  Sums dquery_of(int64_t g, int64_t query) const {
    if (partial_ == nullptr && sizes.sums_in_dquery(spec_))
      return {head_of<float>(at_.dquery, spec_.dquery, columns_.batch, head(g)) +
                  query * spec_.dquery.row,
              spec_.dquery.row};
    float* all = partial_ != nullptr ? partial_ : scratch_.dqueries;
    return {all + (g * f_.rows + query) * width_, width_};
  }

  void begin(int64_t g) {
    const S* dout = head_of<S>(at_.dout, spec_.dout, columns_.batch, head(g));
    const S* out = head_of<S>(at_.out, f_.out, columns_.batch, head(g));
    for (int64_t i = 0; i < f_.rows; ++i) {
      float sums[16] = {};
      for (int64_t e = 0; e < f_.value_width; ++e)
        sums[e % 16] += static_cast<float>(dout[i * spec_.dout.row + e * spec_.dout.column]) *
                        static_cast<float>(out[i * f_.out.row + e * f_.out.column]);
      for (int64_t half = 8; half > 0; half /= 2)
        for (int64_t x = 0; x < half; ++x) sums[x] += sums[x + half];
      scratch_.delta[g * f_.rows + i] = sums[0];
      if (!spec_.wants_dquery) continue;
      const Sums dq = dquery_of(g, i);
      clear(dq.at, width_);
    }
  }

  void add_block(int64_t key, int64_t keys) {
    const S* k = head_of<S>(at_.in.key, f_.key, columns_.batch, columns_.head) + key * f_.key.row;
    const S* v =
        head_of<S>(at_.in.value, f_.value, columns_.batch, columns_.head) + key * f_.value.row;
    pack_keys(k, f_.key, keys, f_.width, scratch_.keys);
    pack_keys(v, f_.value, keys, f_.value_width, scratch_.values);
    key_rows_ = rows_of(k, f_.key, keys, keys, f_.width, scratch_.key_rows);
    clear(scratch_.dkeys, keys * width_);
    clear(scratch_.dvalues, keys * value_width_);
    for (int64_t g = 0; g < f_.key_group; ++g)
      for (int64_t query = 0; query < f_.rows; query += query_block)
        add_queries(g, query, min_of(query_block, f_.rows - query), key, keys);
    if (spec_.wants_dkey)
      store_rows(
          scratch_.dkeys, width_, keys, f_.width, spec_.dkey,
          head_of<S>(at_.dkey, spec_.dkey, columns_.batch, columns_.head) + key * spec_.dkey.row);
    if (spec_.wants_dvalue)
      store_rows(scratch_.dvalues, value_width_, keys, f_.value_width, spec_.dvalue,
                 head_of<S>(at_.dvalue, spec_.dvalue, columns_.batch, columns_.head) +
                     key * spec_.dvalue.row);
  }

  void add_queries(int64_t g, int64_t query, int64_t queries, int64_t key, int64_t keys) {
    if (visible_keys(f_, key, keys, query + queries) == 0) {
      write_dmask(g, query, queries, key, keys, 0, nullptr, query_block);
      return;
    }
    const int64_t whole = rounded(queries, nr);
    const S* q = head_of<S>(at_.in.query, f_.query, columns_.batch, head(g)) + query * f_.query.row;
    const S* d = head_of<S>(at_.dout, spec_.dout, columns_.batch, head(g)) + query * spec_.dout.row;
    const Rows query_rows = rows_of(q, f_.query, queries, whole, f_.width, scratch_.queries);
    const Rows douts = rows_of(d, spec_.dout, queries, whole, f_.value_width, scratch_.douts);
    // By panel: how many keys it reads. Whole tiles of mr, since dV and dK are summed by tiles.
    int64_t visible[query_block / nr];
    for (int64_t p = 0; p < whole; p += nr) {
      const int64_t end = query + min_of(p + nr, queries);
      int64_t& panel = visible[p / nr];
      panel = min_of(keys, rounded(visible_keys(f_, key, keys, end), mr));
      if (panel == 0) {
        write_dmask(g, query + p, min_of(nr, queries - p), key, keys, 0, nullptr, query_block);
        continue;
      }
      compute_weights(g, query + p, min_of(nr, queries - p), key, panel,
                      {query_rows.at + p * query_rows.row, query_rows.row},
                      {douts.at + p * douts.row, douts.row}, p);
      if (spec_.wants_dmask) {
        float* dscores = scratch_.dscores + p;
        write_dmask(g, query + p, min_of(nr, queries - p), key, keys, panel, dscores, query_block);
        scale_panel(dscores, panel, static_cast<float>(f_.scale));
      }
      if (!spec_.wants_dquery) continue;
      const Sums dq = dquery_of(g, query + p);
      sum_product<TransposedForm<query_block>>(min_of(nr, queries - p), width_, panel,
                                               scratch_.dscores + p, key_rows_, dq.at, dq.row,
                                               true);
    }
    for (int64_t k = 0; k < keys; k += mr) {
      int64_t p = 0;  // panels before this column read none of these keys
      while (p < whole && visible[p / nr] <= k) p += nr;
      if (p >= whole) break;
      const int64_t rows = min_of(mr, keys - k);
      if (spec_.wants_dvalue)
        sum_rows<RowsForm<query_block>>(rows, value_width_, queries - p,
                                        weights_in_dvalue() + k * query_block + p,
                                        {douts.at + p * douts.row, douts.row},
                                        scratch_.dvalues + k * value_width_, value_width_, true);
      if (spec_.wants_dkey)
        sum_rows<RowsForm<query_block>>(rows, width_, queries - p,
                                        scratch_.dscores + k * query_block + p,
                                        {query_rows.at + p * query_rows.row, query_rows.row},
                                        scratch_.dkeys + k * width_, width_, true);
    }
  }

  static void scale_panel(float* dscores, int64_t keys, float scale) {
    const Float factor = Floats::broadcast(scale);
    for (int64_t k = 0; k < keys; ++k)
      for (int64_t v = 0; v < nr; v += lanes) {
        float* d = dscores + k * query_block + v;
        Floats::store(d, Floats::load(d) * factor);
      }
  }

  // With dropout, compute_weights has replaced the factors by weight * factor.
  const float* weights_in_dvalue() const {
    return f_.dropout_p > 0 ? scratch_.factors : scratch_.weights;
  }

  // P and dS of one panel, whose first query is column p of both; dS without scale where it is also
  // the gradient of the mask.
  void compute_weights(int64_t g, int64_t query, int64_t queries, int64_t key, int64_t keys,
                       const Rows& query_rows, const Rows& douts, int64_t p) {
    transpose_panel(query_rows, f_.width, static_cast<float>(f_.scale), scratch_.query_panel);
    transpose_panel(douts, f_.value_width, 1, scratch_.dout_panel);
    float *weights = scratch_.weights + p, *dscores = scratch_.dscores + p;
    for (int64_t k = 0; k < keys; k += mr) {
      const int64_t rows = min_of(mr, keys - k);
      sum_rows<KeysForm>(rows, nr, f_.width, scratch_.keys + k / mr * sizes.group_floats(f_.width),
                         {scratch_.query_panel, nr}, weights + k * query_block, query_block, false);
      sum_rows<KeysForm>(rows, nr, f_.value_width,
                         scratch_.values + k / mr * sizes.group_floats(f_.value_width),
                         {scratch_.dout_panel, nr}, dscores + k * query_block, query_block, false);
    }
    const ScoreTile tile{weights, query_block, columns_.batch, head(g), query, queries, key, keys};
    mask_scores(f_, at_.in.mask, tile);
    ScoreTile factors = tile;
    factors.s = scratch_.factors + p;
    if (f_.dropout_p > 0) {
      tile_factors(f_, drop_, tile, factors.s);
      for (int64_t q = queries; q < nr; ++q)
        for (int64_t k = 0; k < keys; ++k) factors.s[k * query_block + q] = 0;
    }
    // Padding queries get a logsumexp of +inf, so that their weights are 0.
    alignas(64) float sums[nr], delta[nr];
    const float* from = at_.sums + (columns_.batch * f_.heads + head(g)) * f_.sum_rows + query;
    for (int64_t q = 0; q < nr; ++q) {
      sums[q] = q < queries ? from[q] : -masked_out;
      delta[q] = q < queries ? scratch_.delta[g * f_.rows + query + q] : 0;
    }
    const Float scale = Floats::broadcast(spec_.wants_dmask ? 1 : static_cast<float>(f_.scale));
    for (int64_t v = 0; v < nr; v += lanes) {
      const Float sum = Floats::load(sums + v), row_delta = Floats::load(delta + v);
      for (int64_t k = 0; k < keys; ++k) {
        float *w = weights + k * query_block + v, *d = dscores + k * query_block + v;
        const Float weight = exp_of(Floats::load(w) - sum);
        Float dweight = Floats::load(d);
        if (f_.dropout_p > 0) {
          float* factor = factors.s + k * query_block + v;
          dweight = dweight * Floats::load(factor);
          Floats::store(factor, weight * Floats::load(factor));
        }
        Floats::store(w, weight);
        Floats::store(d, weight * (dweight - row_delta) * scale);
      }
    }
  }

  using Base = BackwardRange<S>;
  using Base::at_, Base::columns_, Base::drop_, Base::f_, Base::head, Base::spec_,
      Base::write_dmask;
  float* const partial_;
  const BackwardScratch scratch_;
  const int64_t width_, value_width_;
  Rows key_rows_{};
};

template <class S>
void backward_block(const AttentionBackwardSpec& spec, const AttentionBackward& at,
                    const AttentionRange& columns, float* partial, void* scratch) {
  BackwardBlock<S>(spec, at, columns, partial, scratch).run();
}

template <class S>
void sum_partial(const AttentionBackwardSpec& spec, void* dquery, const AttentionRange& head,
                 const float* partial, int64_t parts, int64_t stride) {
  const int64_t width = rounded(spec.forward.width, lanes);
  S* to = head_of<S>(dquery, spec.dquery, head.batch, head.head);
  for (int64_t i = head.first; i < head.first + head.count; ++i)
    for (int64_t e = 0; e < spec.forward.width; ++e) {
      float sum = partial[i * width + e];
      for (int64_t part = 1; part < parts; ++part) sum += partial[part * stride + i * width + e];
      to[i * spec.dquery.row + e * spec.dquery.column] = static_cast<S>(sum);
    }
}

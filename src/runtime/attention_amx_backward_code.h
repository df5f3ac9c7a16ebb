// The backward of some columns of one head of the key, by tiles; as in attention_backward_code.h:
//
//   for each block of keys
//     for each head of the group, for each query_block queries, in panels
//       P  = exp(key @ query^T - logsumexp)          lines of keys, pairs of the panel
//       dS = P (value @ dout^T - delta) scale        lines of values, pairs of the panel
//       dQ^T += key^T @ dS                           lines of turned keys, pairs of dS
//     dV += P @ dout     dK += dS @ query            lines of P and dS, pairs of the rows
//
// P and dS, whose rows are keys, are rounded to bf16.

class AmxBackward : BackwardRange<Bf16> {
 public:
  AmxBackward(const AttentionBackwardSpec& spec, const AttentionBackward& at,
              const AttentionRange& columns, float* partial, void* scratch)
      : BackwardRange<Bf16>(spec, at, columns), scratch_(amx_attention_sizes, spec, scratch),
        dqueries_(partial != nullptr ? partial : scratch_.dqueries), width_(scratch_.width),
        value_width_(scratch_.value_width), is_partial_(partial != nullptr) {}

  void run() {
    const TileRegisters registers;
    for (int64_t g = 0; g < f_.key_group; ++g) begin(g);
    for (int64_t key = 0; key < columns_.count; key += keys_at_once)
      add_block(columns_.first + key, min_of(keys_at_once, columns_.count - key));
    if (!spec_.wants_dquery || is_partial_) return;
    for (int64_t g = 0; g < f_.key_group; ++g) store_dquery(g);
  }

 private:
  int64_t rows_of(int64_t g) const { return g * rounded(f_.rows, panel); }
  // [width_, panel], of the panel of a query.
  float* dquery_of(int64_t g, int64_t query) const {
    return dqueries_ + (rows_of(g) + query) * width_;
  }
  const Bf16* query_at(int64_t g, int64_t query) const {
    return head_of<Bf16>(at_.in.query, f_.query, columns_.batch, head(g)) + query * f_.query.row;
  }
  const Bf16* dout_at(int64_t g, int64_t query) const {
    return head_of<Bf16>(at_.dout, spec_.dout, columns_.batch, head(g)) + query * spec_.dout.row;
  }

  // delta, and the sums of dquery.
  void begin(int64_t g) {
    const Bf16* out = head_of<Bf16>(at_.out, f_.out, columns_.batch, head(g));
    for (int64_t i = 0; i < f_.rows; i += panel) {
      const int64_t count = min_of(panel, f_.rows - i);
      copy_lines(dout_at(g, i), spec_.dout, count, count, f_.value_width, scratch_.douts,
                 value_width_);
      copy_lines(out + i * f_.out.row, f_.out, count, count, f_.value_width, scratch_.outs,
                 value_width_);
      for (int64_t q = 0; q < count; ++q) {
        Float sum = Floats::zero();
        for (int64_t e = q * value_width_; e < (q + 1) * value_width_; e += lanes)
          sum = Floats::multiply_add(PairVec::wide(scratch_.douts + e),
                                     PairVec::wide(scratch_.outs + e), sum);
        scratch_.delta[rows_of(g) + i + q] = _mm512_reduce_add_ps(sum);
      }
      if (!spec_.wants_dquery) continue;
      float* dquery = dquery_of(g, i);
      for (int64_t x = 0; x < width_ * panel; ++x) dquery[x] = 0;
    }
  }

  void add_block(int64_t key, int64_t keys) {
    const int64_t all = rounded(keys, step);
    const Bf16* k = head_of<Bf16>(at_.in.key, f_.key, columns_.batch, columns_.head);
    const Bf16* v = head_of<Bf16>(at_.in.value, f_.value, columns_.batch, columns_.head);
    copy_lines(k + key * f_.key.row, f_.key, keys, all, f_.width, scratch_.keys, width_);
    copy_lines(v + key * f_.value.row, f_.value, keys, all, f_.value_width, scratch_.values,
               value_width_);
    turn_lines({scratch_.keys, width_}, all, width_, scratch_.turned_keys, scratch_.block);
    for (int64_t x = 0; x < all * width_; ++x) scratch_.dkeys[x] = 0;
    for (int64_t x = 0; x < all * value_width_; ++x) scratch_.dvalues[x] = 0;
    for (int64_t g = 0; g < f_.key_group; ++g)
      for (int64_t query = 0; query < f_.rows; query += queries_at_once)
        add_queries(g, query, min_of(queries_at_once, f_.rows - query), key, keys);
    if (spec_.wants_dkey)
      store_lines(scratch_.dkeys, width_, keys, f_.width, spec_.dkey,
                  head_of<Bf16>(at_.dkey, spec_.dkey, columns_.batch, columns_.head) +
                      key * spec_.dkey.row);
    if (spec_.wants_dvalue)
      store_lines(scratch_.dvalues, value_width_, keys, f_.value_width, spec_.dvalue,
                  head_of<Bf16>(at_.dvalue, spec_.dvalue, columns_.batch, columns_.head) +
                      key * spec_.dvalue.row);
  }

  void add_queries(int64_t g, int64_t query, int64_t queries, int64_t key, int64_t keys) {
    if (visible_keys(f_, key, keys, query + queries) == 0) {
      write_dmask(g, query, queries, key, keys, 0, nullptr, panel);
      return;
    }
    const int64_t whole = rounded(queries, panel);
    copy_lines(query_at(g, query), f_.query, queries, whole, f_.width, scratch_.queries, width_);
    copy_lines(dout_at(g, query), spec_.dout, queries, whole, f_.value_width, scratch_.douts,
               value_width_);
    pair_lines({scratch_.queries, width_}, whole, width_, scratch_.query_pairs);
    pair_lines({scratch_.douts, value_width_}, whole, value_width_, scratch_.dout_pairs);
    // By panel: the rows of P and dS that it has, a multiple of 32.
    int64_t visible[queries_at_once / panel];
    for (int64_t p = 0; p < whole; p += panel) {
      const int64_t some = min_of(panel, queries - p);
      const int64_t seen = visible_keys(f_, key, keys, query + p + some);
      visible[p / panel] = rounded(seen, step);
      if (seen > 0) compute_weights(g, query + p, some, key, seen, p);
      write_dmask(g, query + p, some, key, keys, seen, scratch_.dweights, panel);
      if (seen > 0 && spec_.wants_dquery)
        sum_by_tiles(width_, panel, rounded(seen, step), {scratch_.turned_keys, scratch_.block},
                     {scratch_.dscore_pairs, 2 * panel}, dquery_of(g, query + p), panel, true);
    }
    for (int64_t k = 0; k < rounded(keys, step); k += step) {
      int64_t p = 0;  // panels before this column read none of these keys
      while (p < whole && visible[p / panel] <= k) p += panel;
      if (p >= whole) break;
      const int64_t at = k * queries_at_once + p;
      if (spec_.wants_dvalue)
        sum_by_tiles(step, value_width_, whole - p, {scratch_.weights + at, queries_at_once},
                     {scratch_.dout_pairs + p * value_width_, 2 * value_width_},
                     scratch_.dvalues + k * value_width_, value_width_, true);
      if (spec_.wants_dkey)
        sum_by_tiles(step, width_, whole - p, {scratch_.dscores + at, queries_at_once},
                     {scratch_.query_pairs + p * width_, 2 * width_}, scratch_.dkeys + k * width_,
                     width_, true);
    }
  }

  // P and dS of one panel, whose first query is column p of both; dweights becomes dS without scale
  // where that is the gradient of the mask.
  void compute_weights(int64_t g, int64_t query, int64_t queries, int64_t key, int64_t keys,
                       int64_t p) {
    const int64_t all = rounded(keys, step);
    turn_panel({scratch_.queries + p * width_, width_}, width_, scratch_.query_panel);
    turn_panel({scratch_.douts + p * value_width_, value_width_}, value_width_,
               scratch_.dout_panel);
    sum_by_tiles(all, panel, width_, {scratch_.keys, width_}, {scratch_.query_panel, 2 * panel},
                 scratch_.scores, panel, false);
    sum_by_tiles(all, panel, value_width_, {scratch_.values, value_width_},
                 {scratch_.dout_panel, 2 * panel}, scratch_.dweights, panel, false);
    if (scales_first(f_)) scale_rows(scratch_.scores, keys, static_cast<float>(f_.scale));
    const ScoreTile tile{
        scratch_.scores, panel, columns_.batch, head(g), query, queries, key, keys};
    mask_scores(f_, at_.in.mask, tile);
    if (f_.dropout_p > 0) tile_factors(f_, drop_, tile, scratch_.factors);
    for (int64_t v = 0; v < panel; v += lanes)
      if (f_.dropout_p > 0 || spec_.wants_dmask)
        differentiate<true>(g, query, queries, keys, p, v);
      else
        differentiate<false>(g, query, queries, keys, p, v);
  }

  // Sixteen queries of a panel, of which `queries` are there: the others get a logsumexp of +inf,
  // so that their weights are 0. `is_general`: there may be dropout, or a gradient of the mask.
  template <bool is_general>
  void differentiate(int64_t g, int64_t query, int64_t queries, int64_t keys, int64_t p,
                     int64_t v) {
    const int64_t count = queries <= v ? 0 : min_of(lanes, queries - v);
    const auto which = static_cast<__mmask16>((1u << count) - 1);
    const float* sums = at_.sums + (columns_.batch * f_.heads + head(g)) * f_.sum_rows + query + v;
    const Float sum = _mm512_mask_loadu_ps(broadcast(-masked_out), which, sums);
    const Float delta = _mm512_maskz_loadu_ps(which, scratch_.delta + rows_of(g) + query + v);
    const Float scale = broadcast(static_cast<float>(f_.scale));
    const Float of_score = broadcast(scales_first(f_) ? 1 : static_cast<float>(f_.scale));
    const auto at = [&](int64_t k) {
      struct Pair {
        Float weight, dscore;
      };
      const int64_t x = k * panel + v;
      const Float weight =
          exp_of(Floats::multiply_add(Floats::load(scratch_.scores + x), of_score, -sum));
      Float dweight = Floats::load(scratch_.dweights + x), dropped = weight;
      if (is_general && f_.dropout_p > 0) {
        const Float factor = _mm512_maskz_loadu_ps(which, scratch_.factors + x);
        dweight = dweight * factor;
        dropped = weight * factor;
      }
      const Float dscore = weight * (dweight - delta);
      if (is_general && spec_.wants_dmask) Floats::store(scratch_.dweights + x, dscore);
      return Pair{dropped, dscore * scale};
    };
    Bf16* weights = scratch_.weights + p + v;
    Bf16* dscores = scratch_.dscores + p + v;
    Bf16* pairs = scratch_.dscore_pairs + 2 * v;
    const auto store = [&](Bf16*& lines, __m512i rows) {
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(lines), _mm512_castsi512_si256(rows));
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(lines + queries_at_once),
                          _mm512_extracti64x4_epi64(rows, 1));
      lines += 2 * queries_at_once;
    };
    for (int64_t k = 0; k < rounded(keys, step); k += 2, pairs += 2 * panel) {
      __m512i w = _mm512_setzero_si512(), d = w;
      if (k + 1 < keys) {
        const auto even = at(k), odd = at(k + 1);
        w = round_rows(even.weight, odd.weight);
        d = round_rows(even.dscore, odd.dscore);
      } else if (k < keys) {
        const auto last = at(k);
        w = round_rows(last.weight, Floats::zero());
        d = round_rows(last.dscore, Floats::zero());
      }
      store(weights, w);
      store(dscores, d);
      _mm512_storeu_si512(pairs, pairs_of(d));
    }
  }

  static void store_lines(const float* from, int64_t from_row, int64_t count, int64_t width,
                          const HeadStrides& at, Bf16* to) {
    for (int64_t i = 0; i < count; ++i)
      for (int64_t e = 0; e < width; e += lanes)
        store_numbers(Floats::load(from + i * from_row + e), width - e, at.column,
                      to + i * at.row + e * at.column);
  }

  void store_dquery(int64_t g) {
    Bf16* to = head_of<Bf16>(at_.dquery, spec_.dquery, columns_.batch, head(g));
    for (int64_t i = 0; i < f_.rows; i += panel) {
      const float* dquery = dquery_of(g, i);
      store_turned(min_of(panel, f_.rows - i), f_.width, spec_.dquery, to + i * spec_.dquery.row,
                   [&](int64_t e, int64_t q) { return Floats::load(dquery + e * panel + q); });
    }
  }

  const AmxBackwardScratch scratch_;
  float* const dqueries_;
  const int64_t width_, value_width_;
  const bool is_partial_;
};

inline void sum_partial_by_panels(const AttentionBackwardSpec& spec, void* dquery,
                                  const AttentionRange& head, const float* partial, int64_t parts,
                                  int64_t stride) {
  const int64_t width = spec.forward.width, end = head.first + head.count;
  Bf16* to = head_of<Bf16>(dquery, spec.dquery, head.batch, head.head);
  for (int64_t i = head.first; i < end; i += panel)
    store_turned(min_of(panel, end - i), width, spec.dquery, to + i * spec.dquery.row,
                 [&](int64_t e, int64_t q) {
                   const float* from = partial + i * rounded(width, panel) + e * panel + q;
                   Float sum = Floats::load(from);
                   for (int64_t part = 1; part < parts; ++part)
                     sum = sum + Floats::load(from + part * stride);
                   return sum;
                 });
}

// The forward of some rows of one head, by tiles; as in attention_forward_code.h, but the sums are
// turned: a tile's columns are the queries of a panel.
//
//   scores^T = key @ query^T            lines of keys, pairs of the panel
//   out^T += value^T @ weights^T        lines of turned values, pairs of weights, which are rounded
//   result: out / sum, turned back

class AmxForward {
 public:
  AmxForward(const AttentionSpec& spec, const AttentionForward& at, const AttentionRange& rows,
             void* scratch)
      : spec_(spec), at_(at), rows_(rows), scratch_(amx_attention_sizes, spec, rows.count, scratch),
        scale_(static_cast<float>(spec.scale)), scales_first_(scales_first(spec)) {
    if (spec.dropout_p > 0) drop_ = dropout_of(spec, at.in);
  }

  void run() {
    const TileRegisters registers;
    const int64_t panels = (rows_.count + panel - 1) / panel;
    for (int64_t p = 0; p < panels; ++p) begin(p);
    const int64_t end = visible_keys(spec_, 0, spec_.columns, rows_.first + rows_.count);
    for (int64_t key = 0; key < end; key += keys_at_once) {
      pack(key, min_of(keys_at_once, end - key));
      for (int64_t p = 0; p < panels; ++p) add(p, key, min_of(keys_at_once, end - key));
    }
    for (int64_t p = 0; p < panels; ++p) finish(p);
  }

 private:
  int64_t queries_of(int64_t p) const { return min_of(panel, rows_.count - p * panel); }
  float* out_of(int64_t p) const { return scratch_.out + p * panel * scratch_.value_width; }
  Bf16* panel_of(int64_t p) const { return scratch_.panels + p * panel * scratch_.width; }

  void begin(int64_t p) {
    const Bf16* query = head_of<Bf16>(at_.in.query, spec_.query, rows_.batch, rows_.head) +
                        (rows_.first + p * panel) * spec_.query.row;
    copy_lines(query, spec_.query, queries_of(p), panel, spec_.width, scratch_.row_copies,
               scratch_.width);
    turn_panel({scratch_.row_copies, scratch_.width}, scratch_.width, panel_of(p));
    for (int64_t q = 0; q < panel; ++q) {
      scratch_.top[p * panel + q] = masked_out;
      scratch_.sum[p * panel + q] = 0;
    }
    float* out = out_of(p);
    for (int64_t x = 0; x < panel * scratch_.value_width; ++x) out[x] = 0;
  }

  void pack(int64_t key, int64_t keys) {
    const int64_t all = rounded(keys, step);
    const Bf16* k = head_of<Bf16>(at_.in.key, spec_.key, rows_.batch, rows_.head / spec_.key_group);
    copy_lines(k + key * spec_.key.row, spec_.key, keys, all, spec_.width, scratch_.keys,
               scratch_.width);
    const Bf16* v =
        head_of<Bf16>(at_.in.value, spec_.value, rows_.batch, rows_.head / spec_.value_group);
    copy_lines(v + key * spec_.value.row, spec_.value, keys, all, spec_.value_width,
               scratch_.values, scratch_.value_width);
    turn_lines({scratch_.values, scratch_.value_width}, all, scratch_.value_width,
               scratch_.turned_values, scratch_.block);
  }

  void add(int64_t p, int64_t key, int64_t keys) {
    const int64_t first = rows_.first + p * panel, queries = queries_of(p);
    keys = visible_keys(spec_, key, keys, first + queries);
    if (keys == 0) return;
    const int64_t all = rounded(keys, step);
    sum_by_tiles(all, panel, scratch_.width, {scratch_.keys, scratch_.width},
                 {panel_of(p), 2 * panel}, scratch_.scores, panel, false);
    if (scales_first_) scale_rows(scratch_.scores, keys, scale_);
    const ScoreTile tile{scratch_.scores, panel,   rows_.batch, rows_.head,
                         first,           queries, key,         keys};
    mask_scores(spec_, at_.in.mask, tile);
    if (spec_.dropout_p > 0) tile_factors(spec_, drop_, tile, scratch_.factors);
    if (spec_.dropout_p > 0)
      exponentiate<true>(p, keys, key == 0 ? nullptr : out_of(p));
    else
      exponentiate<false>(p, keys, key == 0 ? nullptr : out_of(p));
    sum_by_tiles(scratch_.value_width, panel, all, {scratch_.turned_values, scratch_.block},
                 {scratch_.weights, 2 * panel}, out_of(p), panel, true);
  }

  // The weights of all keys, exp(s - top) with the new top; earlier sums are scaled to it.
  template <bool drops>
  void exponentiate(int64_t p, int64_t keys, float* out) {
    const Float scale = broadcast(scales_first_ ? 1 : scale_);
    alignas(64) float shrink[panel];
    for (int64_t v = 0; v < panel; v += lanes) {
      const float* s = scratch_.scores + v;
      float *top_at = scratch_.top + p * panel + v, *sum_at = scratch_.sum + p * panel + v;
      const Float old = Floats::load(top_at);
      const Float top = larger(largest(s, keys) * scale, old);
      // If all scores so far are masked, exp must get -inf, not -inf - -inf = NaN.
      const Float base = top == Floats::broadcast(masked_out) ? Floats::zero() : top;
      const Float factor = exp_of(old - base);
      Float sum = Floats::load(sum_at) * factor;
      const auto weight = [&](int64_t k) {
        const Float w = exp_of(Floats::multiply_add(Floats::load(s + k * panel), scale, -base));
        sum = sum + w;
        return drops ? w * Floats::load(scratch_.factors + k * panel + v) : w;
      };
      Bf16* to = scratch_.weights + 2 * v;
      int64_t k = 0;
      for (; k + 1 < keys; k += 2, to += 2 * panel) {
        const Float even = weight(k), odd = weight(k + 1);
        _mm512_storeu_si512(to, pairs_of(round_rows(even, odd)));
      }
      for (; k < rounded(keys, step); k += 2, to += 2 * panel)
        _mm512_storeu_si512(
            to, pairs_of(round_rows(k < keys ? weight(k) : Floats::zero(), Floats::zero())));
      Floats::store(top_at, top);
      Floats::store(sum_at, sum);
      Floats::store(shrink + v, factor);
    }
    if (out == nullptr) return;
    for (int64_t v = 0; v < panel; v += lanes) {
      const Float factor = Floats::load(shrink + v);
      for (int64_t e = 0; e < spec_.value_width; ++e) {
        float* at = out + e * panel + v;
        Floats::store(at, Floats::load(at) * factor);
      }
    }
  }

  // Of sixteen columns of a panel, in four chains: a maximum takes longer than a load.
  static Float largest(const float* s, int64_t keys) {
    Float tops[4];
    for (Float& top : tops) top = Floats::broadcast(masked_out);
    int64_t k = 0;
    for (; k + 4 <= keys; k += 4, s += 4 * panel)
#pragma GCC unroll 4
      for (int i = 0; i < 4; ++i) tops[i] = larger(Floats::load(s + i * panel), tops[i]);
    for (; k < keys; ++k, s += panel) tops[0] = larger(Floats::load(s), tops[0]);
    return larger(larger(tops[0], tops[1]), larger(tops[2], tops[3]));
  }

  void finish(int64_t p) {
    const int64_t first = rows_.first + p * panel;
    alignas(64) float factors[panel];
    for (int64_t q = 0; q < panel; ++q) {
      const float sum = scratch_.sum[p * panel + q];
      factors[q] = sum == 0 ? 0 : 1 / sum;
    }
    const float* out = out_of(p);
    store_turned(queries_of(p), spec_.value_width, spec_.out,
                 head_of<Bf16>(at_.out, spec_.out, rows_.batch, rows_.head) + first * spec_.out.row,
                 [&](int64_t e, int64_t q) {
                   return Floats::load(out + e * panel + q) * Floats::load(factors + q);
                 });
    if (at_.sums == nullptr) return;
    float* sums = at_.sums + (rows_.batch * spec_.heads + rows_.head) * spec_.sum_rows + first;
    for (int64_t q = 0; q < queries_of(p); ++q) {
      const float sum = scratch_.sum[p * panel + q];
      sums[q] = sum == 0 ? 0 : scratch_.top[p * panel + q] + std::log(sum);
    }
    if (first + panel >= spec_.rows)
      for (int64_t q = spec_.rows; q < spec_.sum_rows; ++q) sums[q - first] = 0;
  }

  const AttentionSpec& spec_;
  const AttentionForward& at_;
  const AttentionRange rows_;
  const AmxForwardScratch scratch_;
  const float scale_;
  const bool scales_first_;
  Dropout drop_{};
};

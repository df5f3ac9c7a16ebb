#include "pass/attention_reader.h"

#include <algorithm>
#include <cmath>

#include "ir/op_view.h"
#include "pass/causal_mask.h"
#include "pass/decomposed_pattern.h"

namespace cleave {
namespace {

constexpr int max_steps = 24;          // consecutive calls between two products
constexpr double closed_below = -1e4;  // a masked score is at most this
// Adding such a number loses a score in rounding, even in f64: a row that is masked entirely has
// equal weights, whether the number was added to the score or replaced it.
constexpr double loses_scores = -1e30;

// add or sub whose second operand is scaled by alpha first.
bool is_weighted(const OpView& op) { return op.attr("alpha").as_double() != 1; }

Shape batch_of(const Type& t) { return {t.shape.begin(), t.shape.end() - 2}; }

class Reader : DecomposedPattern {
 public:
  explicit Reader(const Graph& g) : DecomposedPattern(g) {}

  std::optional<SpelledAttention> read(NodeId last, OtherReaders readers) {
    if (g_.node(last).op->name != "bmm") return std::nullopt;
    a_.out = g_.node(last).out(0);
    a_.calls.push_back(last);
    a_.weights = g_.node(last).inputs[0];
    if (!read_weights(a_.weights) || !read_operands(g_.node(last).inputs[1])) return std::nullopt;
    if (readers == OtherReaders::none && !is_alone()) return std::nullopt;
    return std::move(a_);
  }

 private:
  ValueId pass_views(ValueId v) {
    while (const std::optional<ValueId> in = below_view(v)) {
      a_.calls.push_back(def(v));
      v = *in;
    }
    return v;
  }

  void note(ValueId v) { a_.calls.push_back(def(v)); }

  // Reads D, from the last product's operand down to the softmax.
  bool read_weights(ValueId v) {
    for (int k = 0; k < max_steps; ++k) {
      v = pass_views(v);
      if (const auto in = below_convert(v)) {
        note(v);
        v = *in;
      } else if (is_call(v, {"native_dropout"})) {
        if (!read_dropout(v)) return false;
        v = g_.node(def(v)).inputs[0];
      } else {
        return read_softmax(v);
      }
    }
    return false;
  }

  bool read_dropout(ValueId v) {
    const OpView op = g_.view(def(v));
    note(v);
    const Node& node = g_.node(def(v));
    if (g_.value(v).index != 0 || g_.use_count(node.out(1)) > 0 || a_.rng.valid()) return false;
    if (op.given("train") && !op.bool_attr("train")) return true;
    a_.dropout_p = op.float_attr("p");
    a_.stream = op.int_attr("stream");
    a_.rng = op.in(1);
    return a_.dropout_p < 1;
  }

  bool is_last_dim(const OpView& op) const {
    const std::vector<int64_t> dims = op.ints_attr("dim");
    return dims.size() == 1 && (dims[0] == -1 || dims[0] + 1 == op.in_type(0).rank());
  }

  bool read_softmax(ValueId v) {
    if (is_call(v, {"where"})) {  // zeros in entirely masked rows
      const OpView op = g_.view(def(v));
      const int zeros = is_zero(op, 1) ? 1 : 2;  // where(closed, 0, P) or where(open, P, 0)
      if (!is_zero(op, zeros) || op.is_number(3 - zeros)) return false;
      note(v);
      v = pass_views(op.in(3 - zeros));
      const std::optional<ValueId> scores = softmax_operand(v);
      return scores && is_row_guard(op.in(0), *scores, zeros == 1) && read_scores(*scores);
    }
    const std::optional<ValueId> scores = softmax_operand(v);
    return scores && read_scores(*scores);
  }

  bool is_zero(const OpView& op, int k) const {
    const std::optional<double> c = number_of(op, k);
    return c && *c == 0;
  }

  std::optional<ValueId> softmax_operand(ValueId v) {
    const NodeId n = def(v);
    if (!n.valid()) return std::nullopt;
    const OpView op = g_.view(n);
    if (op.name() == "_softmax") {
      const int64_t dim = op.int_attr("dim");
      note(v);
      if (dim != -1 && dim + 1 != op.in_type(0).rank()) return std::nullopt;
      return op.in(0);
    }
    if (op.name() != "div" || op.is_number(0) || op.is_number(1)) return std::nullopt;
    return spelled_softmax(v, op.in(0), op.in(1));
  }

  // exp(x - amax(x)) / sum(exp(x - amax(x)))
  std::optional<ValueId> spelled_softmax(ValueId v, ValueId e, ValueId total) {
    if (!is_call(e, {"exp"}) || !is_call(total, {"sum"})) return std::nullopt;
    const OpView sum = g_.view(def(total));
    if (sum.in(0) != e || !is_last_dim(sum) || !sum.bool_attr("keepdim")) return std::nullopt;
    const ValueId moved = g_.node(def(e)).inputs[0];
    if (!is_call(moved, {"sub"})) return std::nullopt;
    const OpView sub = g_.view(def(moved));
    if (is_weighted(sub) || sub.is_number(0) || sub.is_number(1)) return std::nullopt;
    if (!is_call(sub.in(1), {"amax"})) return std::nullopt;
    const OpView most = g_.view(def(sub.in(1)));
    if (most.in(0) != sub.in(0) || !is_last_dim(most) || !most.bool_attr("keepdim"))
      return std::nullopt;
    for (const ValueId made : {v, e, total, moved, sub.in(1)}) note(made);
    return sub.in(0);
  }

  // any(scores != -inf) along each row, negated if `closes`
  bool is_row_guard(ValueId v, ValueId scores, bool closes) {
    std::vector<ValueId> made;
    const auto below = [&](std::initializer_list<std::string_view> ops) {
      if (!v.valid() || !is_call(v, ops)) return false;
      made.push_back(v);
      v = g_.node(def(v)).inputs[0];
      return true;
    };
    if (closes && !below({"logical_not"})) return false;
    if (!below({"any"}) || !is_last_dim(g_.view(def(made.back())))) return false;
    const bool as_one = below({"ne"});
    if (!as_one && !(below({"logical_not"}) && below({"eq"}))) return false;
    if (v != scores || number_of(g_.view(def(made.back())), 1) != -HUGE_VAL) return false;
    for (const ValueId m : made) note(m);
    return true;
  }

  bool read_scores(ValueId v) {
    a_.batch = batch_of(g_.type(v));
    double outer = 1;  // the factor applied after a mask
    for (int k = 0; k < max_steps; ++k) {
      v = pass_views(v);
      if (is_call(v, {"bmm"})) {
        a_.scale *= outer;
        return read_product(v);
      }
      if (const auto in = below_convert(v)) {
        note(v);
        v = *in;
      } else if (const auto s = below_scale(v)) {
        note(v);
        outer *= s->by;
        v = s->value;
      } else if (const auto in = below_mask(v, outer)) {
        note(v);
        v = *in;
      } else {
        return false;
      }
    }
    return false;
  }

  // For add(scores, mask), where(open, scores, -inf), masked_fill(scores, closed, -inf): the
  // scores.
  std::optional<ValueId> below_mask(ValueId v, double outer) {
    if (!is_call(v, {"add", "where", "masked_fill"})) return std::nullopt;
    const OpView op = g_.view(def(v));
    if (op.name() == "add") {
      if (is_weighted(op) || op.is_number(0) || op.is_number(1)) return std::nullopt;
      const bool first = leads_to_product(op.in(0));
      if (!first && !leads_to_product(op.in(1))) return std::nullopt;
      return masked(op.in(first ? 0 : 1), op.in(first ? 1 : 0), {{}, outer, std::nullopt, true});
    }
    const bool fills = op.name() == "masked_fill";
    const int cond = fills ? 1 : 0;
    int scores = fills ? 0 : 1, number = 2;
    bool opens = !fills;
    if (!fills && !number_of(op, 2)) {
      std::swap(scores, number);
      opens = false;
    }
    const std::optional<double> c = number_of(op, number);
    if (!c || *c > closed_below || op.is_number(scores)) return std::nullopt;
    // After scaling, the number must still be low enough to mask a score.
    double fill = *c * outer;
    if (outer <= 0 || fill > closed_below) return std::nullopt;
    if (op.out_type(0).dtype == DType::f16 && *c < -65504) fill = -HUGE_VAL;
    if (fill > loses_scores) {
      if (std::ranges::any_of(a_.masks, [](const AttentionMask& m) { return !m.fill; }))
        return std::nullopt;  // masks added later would count in masked rows
      fill = loses_scores;
    }
    return masked(op.in(scores), op.in(cond), {{}, 1, fill, opens});
  }

  std::optional<ValueId> masked(ValueId scores, ValueId mask, AttentionMask m) {
    if (is_causal(mask, m)) {
      a_.is_causal = true;
      return scores;
    }
    if (const ValueId open = !m.fill && m.scale > 0 ? below_added_bool(mask) : ValueId{};
        open.valid()) {
      mask = open;
      m.fill = -HUGE_VAL;
    }
    const Type& t = g_.type(mask);
    if (t.rank() > std::ssize(a_.batch) + 2) return std::nullopt;
    if (!m.fill && t.dtype != DType::f32 && t.dtype != DType::bf16 && t.dtype != DType::f16)
      return std::nullopt;
    // If the scores have other leading dims at this point, only masks of the last two dims fit.
    const Type& s = g_.type(scores);
    if (t.rank() > 2 && s.rank() - 2 != std::ssize(a_.batch)) return std::nullopt;
    m.value = mask;
    a_.masks.push_back(m);
    return scores;
  }

  // where(open, 0, -inf): open
  ValueId below_added_bool(ValueId mask) const {
    if (!is_call(mask, {"where"})) return {};
    const OpView op = g_.view(def(mask));
    const bool is_mask = is_zero(op, 1) && number_of(op, 2) == -HUGE_VAL &&
                         op.in_type(0).shape == op.out_type(0).shape;
    return is_mask ? op.in(0) : ValueId{};
  }

  bool is_causal(ValueId mask, const AttentionMask& m) const {
    const bool closes = !m.fill || std::isinf(*m.fill);
    return closes && m.scale > 0 && g_.type(mask).rank() >= 2 && is_causal_mask(g_, mask, m.opens);
  }

  bool leads_to_product(ValueId v) const {
    for (int k = 0; k < max_steps; ++k) {
      if (is_call(v, {"bmm"})) return true;
      if (const auto view = below_view(v)) {
        v = *view;
      } else if (const auto converted = below_convert(v)) {
        v = *converted;
      } else if (const auto s = below_scale(v)) {
        v = s->value;
      } else if (is_call(v, {"add"})) {
        const OpView op = g_.view(def(v));
        if (op.is_number(0) || op.is_number(1)) return false;
        v = is_call(op.in(0), {"where", "full", "_to_copy"}) ? op.in(1) : op.in(0);
      } else if (is_call(v, {"where"})) {
        const OpView op = g_.view(def(v));
        if (op.is_number(1)) return false;
        v = op.in(1);
      } else if (is_call(v, {"masked_fill"})) {
        v = g_.node(def(v)).inputs[0];
      } else {
        return false;
      }
    }
    return false;
  }

  bool read_product(ValueId product) {
    note(product);
    const Node& node = g_.node(def(product));
    a_.query = node.inputs[0];
    a_.key = node.inputs[1];
    return true;
  }

  // Skips views and numbers down to where each operand has the batch of the scores.
  bool read_operands(ValueId value) {
    a_.value = value;
    if (!settle(a_.query, nullptr)) return false;
    a_.is_key_transposed = true;
    if (!settle(a_.key, &a_.is_key_transposed) || !settle(a_.value, nullptr)) return false;
    read_groups();
    const DType t = g_.type(a_.query).dtype;
    for (const ValueId v : {a_.query, a_.key, a_.value}) {
      const Type& type = g_.type(v);
      if (type.dtype != t || !type.is_static() || type.rank() != std::ssize(a_.batch) + 2)
        return false;
    }
    return t == DType::f32 || t == DType::bf16 || t == DType::f16 || t == DType::f64;
  }

  // Skips views, numbers (not of value) and, for the key, one transposing permute.
  bool settle(ValueId& v, bool* transposed) {
    ValueId best;
    for (int k = 0; k < max_steps; ++k) {
      if (batch_of(g_.type(v)) == a_.batch) best = v;
      if (const auto in = below_view(v)) {
        v = *in;
      } else if (const auto s = below_scale(v); s && v != a_.value) {
        a_.scale *= s->by;
        v = s->value;
        best = {};
      } else if (transposed && *transposed && is_transpose(v)) {
        *transposed = false;
        v = g_.node(def(v)).inputs[0];
        best = {};
      } else {
        break;
      }
      if (g_.type(v).rank() < 2) break;
    }
    v = best;
    return best.valid();
  }

  bool is_transpose(ValueId v) const {
    if (!is_call(v, {"permute", "transpose"})) return false;
    const OpView op = g_.view(def(v));
    const int64_t rank = op.in_type(0).rank();
    const auto counted = [&](int64_t d) { return d < 0 ? d + rank : d; };
    if (op.name() == "transpose") {
      const int64_t a = counted(op.int_attr("dim0")), b = counted(op.int_attr("dim1"));
      return std::min(a, b) == rank - 2 && std::max(a, b) == rank - 1;
    }
    const std::vector<int64_t> dims = op.ints_attr("dims");
    for (int64_t k = 0; k < rank; ++k) {
      const int64_t want = k == rank - 1 ? rank - 2 : k == rank - 2 ? rank - 1 : k;
      if (counted(dims[static_cast<size_t>(k)]) != want) return false;
    }
    return rank >= 2;
  }

  // For x [b,heads,n,w] -> unsqueeze [b,heads,1,n,w] -> expand [b,heads,group,n,w] -> view: x
  ValueId below_group(ValueId v) const {
    if (g_.type(v).rank() != 4 || !is_call(v, {"view", "reshape", "_unsafe_view"})) return {};
    ValueId e = g_.node(def(v)).inputs[0];
    if (is_call(e, {"clone"})) e = g_.node(def(e)).inputs[0];
    if (!is_call(e, {"expand"}) || g_.type(e).rank() != 5) return {};
    const ValueId u = g_.node(def(e)).inputs[0];
    if (!is_call(u, {"unsqueeze"})) return {};
    const ValueId x = g_.node(def(u)).inputs[0];
    const Shape &from = g_.type(x).shape, &wide = g_.type(e).shape, &to = g_.type(v).shape;
    const int64_t dim = g_.view(def(u)).int_attr("dim");
    if ((dim != 2 && dim != -3) || g_.type(u).shape[2] != Dim(1)) return {};
    const bool fits = wide[0] == from[0] && wide[1] == from[1] && wide[3] == from[2] &&
                      wide[4] == from[3] && to[0] == from[0] && to[1] == from[1] * wide[2] &&
                      to[2] == from[2] && to[3] == from[3];
    return fits ? x : ValueId{};
  }

  void read_groups() {
    const ValueId k = below_group(a_.key), v = below_group(a_.value);
    if (a_.is_key_transposed || !k.valid() || !v.valid()) return;
    if (g_.type(k).shape[1] != g_.type(v).shape[1]) return;
    a_.key = k;
    a_.value = v;
    a_.is_grouped = true;
  }

  // Whether scores and weights have no users outside the spelling.
  bool is_alone() const {
    std::vector<NodeId> calls = a_.calls;
    std::ranges::sort(calls);
    for (const NodeId n : calls) {
      const Node& node = g_.node(n);
      if (node.tag != g_.node(calls[0]).tag) return false;
      for (uint32_t k = 0; k < node.output_count; ++k) {
        if (node.out(k) == a_.out) continue;
        for (const Return& r : g_.returns())
          if (r.value == node.out(k)) return false;
        for (const Use& use : g_.uses(node.out(k)))
          if (!std::ranges::binary_search(calls, use.node) && !reads_shape(use.node, calls))
            return false;
      }
    }
    return true;
  }

  // Whether n is a constant made from a shape, used by the spelling alone.
  bool reads_shape(NodeId n, const std::vector<NodeId>& calls) const {
    if (!is_call(g_.node(n).out(0), {"full_like", "zeros_like"})) return false;
    return std::ranges::all_of(g_.uses(g_.node(n).out(0)), [&](const Use& use) {
      return std::ranges::binary_search(calls, use.node);
    });
  }

  SpelledAttention a_;
};

}  // namespace

std::optional<SpelledAttention> read_attention(const Graph& g, NodeId n, OtherReaders readers) {
  return Reader(g).read(n, readers);
}

}  // namespace cleave

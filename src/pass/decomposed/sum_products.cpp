// Makes a sum of thin products one product of their operands side by side:
//
//   add(add(mm(a, b), mm(c, d)), mm(e, f))  ->  mm(cat([a, c, e]; 1), cat([b, d, f]; 0))
//
// Such sums are gradients of weights that each step of a recurrence reads: of T products of 16 x
// 1024 and 16 x 256 each result is 1 MiB, written and read again. With k inner numbers in all and
// results of m x n, k * (m + n) numbers are copied instead of (count - 1) * m * n; so it pays for
// products that are thin. Other terms of the sum are added to the product. A gradient of an
// unrolled LSTM (32 steps, 16 x 256) takes 0.6 of the time (two cores of a Zen 5, 2026-11).
// The order of additions changes, and there are fewer roundings.
#include <algorithm>
#include <map>
#include <set>

#include "pass/passes.h"
#include "pass/plain_sum.h"

namespace cleave {
namespace {

constexpr size_t max_terms = 4096;

struct Terms {
  std::vector<NodeId> products;
  Values others;
};

class SumProducts {
 public:
  SumProducts(Graph& g, const OpRegistry& ops) : g_(g), ops_(ops) {
    for (const Return& r : g.returns()) returned_.insert(r.value);
    const auto& order = g.order();
    int64_t k = 0;
    for (const NodeId n : order) place_[n] = k++;
  }

  Result<PassCount> run() {
    PassCount count;
    std::vector<NodeId> sums;
    for (const NodeId n : g_.order())
      if (is_plain_sum(g_, n) && !goes_on(n)) sums.push_back(n);
    for (const NodeId n : sums) {
      const Terms terms = terms_of(n);
      if (!pays(terms)) continue;
      CLEAVE_CHECK(replace(n, terms));
      ++count.matches;
      count.nodes += 2 * std::ssize(terms.products) - 1;
    }
    return count;
  }

 private:
  bool is_used_once(ValueId v) const { return g_.use_count(v) == 1 && !returned_.contains(v); }
  // Whether the only user of the sum is a sum.
  bool goes_on(NodeId n) const {
    const ValueId y = g_.node(n).out(0);
    if (!is_used_once(y)) return false;
    const NodeId user = g_.uses(y).front().node;
    return is_plain_sum(g_, user) && g_.node(user).tag == g_.node(n).tag;
  }
  bool is_product(ValueId v, NodeId sum) const {
    const NodeId n = g_.value(v).def;
    if (!n.valid() || g_.node(n).op->name != "mm" || !is_used_once(v)) return false;
    const OpView op = g_.view(n);
    return g_.node(n).tag == g_.node(sum).tag && is_floating(op.out_type(0).dtype) &&
           op.in_type(0).is_static() && op.in_type(1).is_static() &&
           op.in_type(0).dtype == op.out_type(0).dtype &&
           op.in_type(1).dtype == op.out_type(0).dtype &&
           op.out_type(0).dtype == g_.type(g_.node(sum).out(0)).dtype;
  }

  // The products in the order of the program.
  Terms terms_of(NodeId sum) const {
    Terms out;
    std::vector<ValueId> open = {g_.node(sum).inputs[1], g_.node(sum).inputs[0]};
    while (!open.empty() && out.products.size() + out.others.size() < max_terms) {
      const ValueId v = open.back();
      open.pop_back();
      const NodeId n = g_.value(v).def;
      if (is_product(v, sum)) {
        out.products.push_back(n);
      } else if (n.valid() && is_used_once(v) && is_plain_sum(g_, n) &&
                 g_.node(n).tag == g_.node(sum).tag) {
        open.push_back(g_.node(n).inputs[1]);
        open.push_back(g_.node(n).inputs[0]);
      } else {
        out.others.push_back(v);
      }
    }
    std::ranges::sort(out.products, {}, [&](NodeId n) { return place_.at(n); });
    out.others.insert(out.others.end(), open.begin(), open.end());
    return out;
  }

  bool pays(const Terms& terms) const {
    if (terms.products.size() < 2) return false;
    double inner = 0, sides = 0, result = 0;
    for (const NodeId n : terms.products) {
      const Shape &a = g_.view(n).in_type(0).shape, &b = g_.view(n).in_type(1).shape;
      const auto m = static_cast<double>(a[0].value()), w = static_cast<double>(b[1].value());
      inner += static_cast<double>(a[1].value());
      sides = m + w, result = m * w;
    }
    return inner > 0 && inner * sides < static_cast<double>(terms.products.size() - 1) * result;
  }

  // `v` and whether it stands transposed in the returned value.
  std::pair<ValueId, bool> base_of(ValueId v) const {
    bool is_transposed = false;
    for (;;) {
      const NodeId n = g_.value(v).def;
      if (!n.valid() || g_.node(n).op->name != "permute" || g_.type(v).rank() != 2) break;
      if (g_.view(n).attr("dims") == AttrValue(AttrList{0, 1})) {
        v = g_.view(n).in(0);
        continue;
      }
      v = g_.view(n).in(0);
      is_transposed = !is_transposed;
    }
    return {v, is_transposed};
  }
  // The operands `k` side by side along their inner dim, which is dim `inner`: rows of what they
  // are views of, where all of them are.
  ValueId side_by_side(Builder& b, const Terms& terms, int k, int64_t inner) const {
    Values bases, plain;
    bool is_transposed = true;
    for (const NodeId n : terms.products) {
      const ValueId v = g_.view(n).in(k);
      const auto [base, turned] = base_of(v);
      is_transposed = is_transposed && turned;
      bases.push_back(base), plain.push_back(turned ? v : base);
    }
    if (!is_transposed) return b.cat(plain, inner);
    return b.call1("permute", {b.cat(bases, 1 - inner)}, {{"dims", AttrList{1, 0}}});
  }

  Status replace(NodeId sum, const Terms& terms) {
    const Node& node = g_.node(sum);
    Builder b(g_, ops_);
    b.insert_before(sum);
    b.set_loc(node.loc);
    b.set_tag(node.tag);
    const ValueId left = side_by_side(b, terms, 0, 1), right = side_by_side(b, terms, 1, 0);
    ValueId made = b.mm(left, right);
    if (b.status().ok()) place_[g_.value(made).def] = place_.at(sum);
    for (const ValueId v : terms.others) made = b.add(v, made);
    CLEAVE_CHECK(b.status());
    const std::string name = g_.name(node.out(0));
    g_.replace_uses(node.out(0), made);
    g_.erase(sum);
    return g_.rename(made, name);
  }

  Graph& g_;
  const OpRegistry& ops_;
  std::set<ValueId> returned_;
  std::map<NodeId, int64_t> place_;
};

Result<PassCount> run(Graph& g, const OpRegistry& ops) { return SumProducts(g, ops).run(); }

}  // namespace

Pass sum_products() {
  return {.name = "sum_products",
          .summary = "a sum of thin products becomes one product",
          .run = run,
          .rounds = true};
}

}  // namespace cleave

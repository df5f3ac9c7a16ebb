#include "test/sample/pass_instance.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "grad/grad.h"
#include "interp/interpret.h"
#include "ir/builder.h"
#include "ir/edit.h"
#include "ir/text.h"
#include "test/random_inputs.h"
#include "test/sample/check_graph.h"
#include "test/sample/device_graph.h"
#include "test/sample/over_ranks.h"
#include "test/sample/shuffled_calls.h"

namespace cleave::random {
namespace {

class Varying {
 public:
  Varying(const Graph& from, const OpRegistry& ops, uint64_t seed)
      : from_(from), ops_(ops), rng_(seed) {}

  Result<Graph> run() {
    draw_dtype();
    draw_sizes();
    CLEAVE_CHECK(add_placeholders());
    for (const NodeId n : order()) CLEAVE_CHECK(add_node(n));
    CLEAVE_CHECK(add_returns());
    return std::move(to_);
  }

 private:
  bool chance(int percent) { return static_cast<int>(rng_() % 100) < percent; }
  size_t below(size_t n) { return static_cast<size_t>(rng_() % n); }

  void draw_dtype() {
    constexpr DType all[] = {DType::f32, DType::f32, DType::f64, DType::bf16, DType::f16};
    dtype_ = all[below(5)];
  }
  DType dtype_of(DType t) const { return t == DType::f32 ? dtype_ : t; }

  // New values for the sizes of placeholders; other sizes are products of these where they can be.
  void draw_sizes() {
    std::vector<int64_t> sizes;
    for (const Placeholder& p : from_.placeholders())
      for (const Dim& d : from_.type(p.value).shape)
        if (d.is_const() && d.value() > 1) sizes.push_back(d.value());
    std::ranges::sort(sizes);
    const auto rest = std::ranges::unique(sizes);
    sizes.erase(rest.begin(), rest.end());
    for (const int64_t s : sizes) size_[s] = chance(50) ? s : 2 + static_cast<int64_t>(below(9));
    std::map<int64_t, int64_t> products = size_;
    for (const int64_t a : sizes)
      for (const int64_t b : sizes) {
        products.try_emplace(a * b, size_[a] * size_[b]);
        for (const int64_t c : sizes)
          products.try_emplace(a * b * c, size_[a] * size_[b] * size_[c]);
      }
    size_ = std::move(products);
  }
  Dim size_of(const Dim& d) const {
    if (!d.is_const()) return d;
    const auto it = size_.find(d.value());
    return it == size_.end() ? d : Dim(it->second);
  }

  AttrValue attr_of(const std::string& name, const AttrValue& v) const {
    if (const DType* t = v.get<DType>()) return dtype_of(*t);
    const bool is_size = name == "size" || name == "shape" || name == "split_sizes" ||
                         name == "normalized_shape" || name == "end";
    if (!is_size) return v;
    if (const Dim* d = v.get<Dim>()) return size_of(*d);
    const AttrList* list = v.get<AttrList>();
    if (!list) return v;
    AttrList out;
    for (const AttrValue& item : *list) {
      const Dim* d = item.get<Dim>();
      out.push_back(d ? AttrValue(size_of(*d)) : item);
    }
    return out;
  }

  Status add_placeholders() {
    for (const Placeholder& p : from_.placeholders()) {
      Type t = from_.type(p.value);
      t.dtype = dtype_of(t.dtype);
      for (Dim& d : t.shape) d = size_of(d);
      if (p.role == Role::input && t.rank() == 2 && t.is_static() && !t.strides && chance(20))
        t.strides = std::vector<Dim>{Dim(1), t.shape[0]};
      const std::string name = p.role == Role::symint || p.role == Role::tangent || chance(60)
                                   ? from_.name(p.value)
                                   : "in." + from_.name(p.value);
      CLEAVE_TRY(const ValueId made, to_.add_placeholder(p.role, name, t, p.wants_grad, p.sym));
      map_[p.value.v] = made;
      if (p.role == Role::input && is_floating(t.dtype) && chance(15)) {
        Builder b(to_, ops_);
        map_[p.value.v] = b.neg(made);
        CLEAVE_CHECK(b.status());
      }
    }
    return {};
  }

  std::vector<NodeId> order() { return chance(50) ? from_.order() : shuffled_calls(from_, rng_); }

  Status add_node(NodeId n) {
    const Node& node = from_.node(n);
    NodeSpec spec;
    spec.op = node.op;
    spec.list_size = node.list_size;
    spec.tag = node.tag;
    for (const ValueId v : node.inputs) spec.inputs.push_back(v.valid() ? map_.at(v.v) : v);
    for (const auto& [arg, value] : node.attrs.given())
      spec.attrs.set(arg, attr_of(node.op->schema.args[arg].name, value));
    CLEAVE_TRY(const NodeId made, to_.add_node(std::move(spec)));
    for (uint32_t k = 0; k < node.output_count; ++k) {
      map_[node.out(k).v] = to_.node(made).out(k);
      if (chance(4)) also_.push_back(to_.node(made).out(k));
    }
    return {};
  }

  Status add_returns() {
    Builder b(to_, ops_);
    for (const Return& r : from_.returns()) {
      Return made{map_.at(r.value.v), r.kind, {}};
      if (r.target.valid()) made.target = map_.at(r.target.v);
      if (r.kind == ReturnKind::result && !from_.is_joint() && is_float(made.value) && chance(30))
        made.value = b.call1("tanh", {made.value});
      to_.add_return(made);
    }
    if (!from_.is_joint())
      for (const ValueId v : also_)
        if (!to_.type(v).is_none)
          to_.add_return({is_float(v) && chance(50) ? b.exp(v) : v, ReturnKind::result, {}});
    return b.status().ok() ? Status() : b.status();
  }
  bool is_float(ValueId v) const { return !to_.type(v).is_none && is_floating(to_.type(v).dtype); }

  const Graph& from_;
  const OpRegistry& ops_;
  std::mt19937_64 rng_;
  Graph to_{"main"};
  DType dtype_ = DType::f32;
  std::map<int64_t, int64_t> size_;
  std::map<uint32_t, ValueId> map_;
  Values also_;
};

// Makes each row of a mask have an element that isn't masked.
void open_rows(Array& a) {
  if (a.floating() || a.shape.empty()) return;
  for (int64_t k = 0; k < a.numel(); k += a.shape.back()) a.set(k, 1);
}

Result<RandomGraph> with_inputs(Graph g, bool open) {
  std::map<std::string, int64_t> symbols;
  for (const Placeholder& p : g.placeholders())
    if (p.role == Role::symint) symbols[g.name(p.value)] = p.sym.hint.value_or(3);
  if (!symbols.empty()) { CLEAVE_TRY(g, specialize(g, {symbols.begin(), symbols.end()})); }
  RandomGraph r{std::move(g)};
  const std::map<std::string, Array> inputs = test::random_inputs(r.g, symbols);
  for (const Placeholder& p : r.g.placeholders()) {
    Array& a = r.inputs.emplace_back(inputs.at(r.g.name(p.value)));
    for (double& x : a.f) x = round_to(a.dtype, x);
  }
  if (open) std::ranges::for_each(r.inputs, open_rows);
  return r;
}

bool rounds(const Pass& pass) {
  return pass.rounds || std::ranges::any_of(pass.rules, &Rule::rounds);
}

// The rounding unit of the coarsest dtype in the graph: a rule may round where nothing was rounded.
double coarsest(const Graph& g) {
  double most = 0;
  for (NodeId n = g.first_node(); n.valid(); n = g.next_node(n))
    for (uint32_t k = 0; k < g.node(n).output_count; ++k) {
      const Type& t = g.type(g.node(n).out(k));
      if (t.is_none) continue;
      if (t.dtype == DType::bf16) most = std::max(most, 0x1p-6);
      if (t.dtype == DType::f16) most = std::max(most, 0x1p-9);
    }
  return most;
}

// Of graphs that hold collectives, over their ranks.
std::string difference_over_ranks(const RandomGraph& before, const Graph& after, int64_t ranks) {
  const Result<Arrays> want = test::run_over_ranks(before.g, before.inputs, ranks),
                       got = test::run_over_ranks(after, before.inputs, ranks);
  if (!want.ok()) return got.ok() ? "the pass has removed an error" : "";
  if (!got.ok()) return got.failure().message;
  if (got->size() != want->size()) return "another number of results";
  const double within = std::max(1e-9, coarsest(before.g));
  for (size_t k = 0; k < got->size(); ++k)
    if (std::string why = test::mismatch((*got)[k], (*want)[k], within); !why.empty())
      return fmt::format("result {}: {}", k, why);
  return "";
}

std::string difference(const RandomGraph& before, const Graph& after, bool exact) {
  if (const int64_t ranks = test::ranks_of(before.g); ranks > 1)
    return difference_over_ranks(before, after, ranks);
  std::vector<const Array*> in;
  for (const Array& a : before.inputs) in.push_back(&a);
  Result<Arrays> got = interpret(after, in);
  Result<Expectation> want = expectation_of(before);
  if (!want.ok()) return got.ok() ? "the pass has removed an error" : "";
  if (!got.ok()) return got.failure().message;
  if (got->size() != want->want.size()) return "another number of results";
  for (size_t k = 0; k < got->size(); ++k) {
    const Array &g = (*got)[k], &w = want->want[k];
    if (g.dtype != w.dtype || g.shape != w.shape) return fmt::format("result {}: another type", k);
    double scale = 1;
    for (const double x : w.f)
      if (std::isfinite(x)) scale = std::max(scale, std::fabs(x));
    const double rounding = coarsest(before.g) * scale;
    for (int64_t e = 0; e < w.numel(); ++e) {
      const double x = g.number(e), y = w.number(e);
      if (x == y || (std::isnan(x) && std::isnan(y))) continue;
      if (!exact && std::fabs(x - y) <= want->allowed[k].f[static_cast<size_t>(e)] + rounding)
        continue;
      return fmt::format("result {}, element {}: {}, expected {}", k, e, x, y);
    }
  }
  return "";
}

// Cotangents are the same on both sides: inputs made by name.
std::string gradient_difference(const Graph& before, const Graph& after, const OpRegistry& ops,
                                bool open) {
  Result<Graph> a = make_joint(before, ops), b = make_joint(after, ops);
  if (!a.ok()) return "";  // nothing to differentiate, or no rule for it
  if (!b.ok()) return "gradients: " + b.failure().message;
  const Result<RandomGraph> r = with_inputs(*std::move(a), open);
  if (!r.ok()) return "gradients: " + r.failure().message;
  const std::string why = difference(*r, *b, false);
  return why.empty() ? "" : "gradients: " + why;
}

}  // namespace

Result<RandomGraph> pass_instance(const Graph& golden, const OpRegistry& ops, uint64_t seed,
                                  const InstanceOptions& options) {
  constexpr int tries = 20;
  for (int k = 0; k < tries; ++k) {
    Result<Graph> g = Varying(golden, ops, seed * tries + static_cast<uint64_t>(k)).run();
    if (!g.ok() || !verify(*g).ok()) continue;
    Result<RandomGraph> r = with_inputs(*std::move(g), options.open_rows);
    if (!r.ok()) continue;
    if (seed % 6 != 1) return r;
    Result<RandomGraph> far = with_mixed_devices(*r, seed);
    return far.ok() ? far : r;
  }
  return with_inputs(golden, options.open_rows);
}

Result<PassVerdict> check_pass(const PassRow& row, const RandomGraph& instance,
                               const OpRegistry& ops, uint64_t seed) {
  const Pass pass = row.pass();
  PassVerdict verdict;
  Graph after = instance.g;
  CLEAVE_TRY(const CompilePass report, run_pass(pass, after, ops, {}));
  verdict.matches = report.matches;
  verdict.rules = report.rules;
  if (report.matches == 0) return verdict;
  if (const Status s = verify(after); !s.ok()) {
    verdict.wrong = s.failure().message;
    return verdict;
  }
  verdict.wrong = difference(instance, after, !rounds(pass));
  const bool has_gradients = row.stage == PassStage::pre_grad && !instance.g.is_joint();
  if (!verdict.wrong.empty() || !has_gradients) return verdict;
  Graph before = instance.g;
  for (Graph* g : {&before, &after})
    for (size_t i = 0; i < g->placeholders().size(); ++i) {
      Placeholder& p = g->placeholder(i);
      p.wants_grad = p.role != Role::rng_state && p.role != Role::symint &&
                     is_floating(g->type(p.value).dtype);
    }
  if (seed % 4 == 0)
    verdict.wrong = gradient_difference(before, after, ops, pass.assumes_open_rows);
  return verdict;
}

}  // namespace cleave::random

#include "test/sample/random_graph.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <random>

#include "grad/grad.h"
#include "interp/interpret.h"
#include "ir/builder.h"
#include "ir/text.h"
#include "pass/autocast.h"
#include "test/sample/draw_size.h"
#include "test/sample/reduction_chain.h"
#include "test/sample/sized_sample.h"

namespace cleave::random {
namespace {

constexpr double tame = 1e3;      // larger values are not used further,
constexpr double returned = 1e6;  // and these not returned
constexpr int64_t max_elements = 4096;

struct Known {
  ValueId id;
  Array array;
  bool is_exact = true;  // integers that no float decides
  bool hidden = false;   // a detached copy stands for it
};

bool is_tame(const Array& a, double most = tame) {
  for (int64_t k = 0; k < a.numel(); ++k)
    if (!(std::fabs(a.number(k)) <= most)) return false;
  return true;
}

bool within(const Array& a, double lo, double hi) {
  for (int64_t k = 0; k < a.numel(); ++k)
    if (!(a.number(k) >= lo && a.number(k) < hi)) return false;
  return true;
}

class Writer {
 public:
  Writer(const OpRegistry& ops, uint64_t seed, const GraphOptions& options)
      : options_(options), b_(out_.g, ops), rng_(seed) {
    for (const auto& op : ops.all())
      if (can_draw(*op)) drawn_.push_back(op.get());
    has_reductions_ = options.without.empty();
  }

  Result<RandomGraph> write() {
    if (drawn_.empty()) return user_error("random_graph: no operator has rules");
    const int nodes = between(options_.min_nodes, options_.max_nodes);
    for (int tries = 0; std::cmp_less(out_.g.node_count(), nodes) && tries < 4 * nodes; ++tries) {
      if (options_.sized && has_reductions_ && chance(0.15))
        CLEAVE_CHECK(reductions());
      else
        CLEAVE_CHECK(call());
    }
    return finish();
  }

 private:
  // What factors a matrix: of one that is nearly singular, as random graphs have them, the results
  // hang on each rounding, and pivots on which of two equal numbers is larger. Laws take their
  // samples.
  static bool is_factorization(const std::string& name) {
    return (name.starts_with("linalg_") || name.starts_with("_linalg_")) &&
           name != "linalg_solve_triangular" && name != "linalg_vector_norm";
  }
  bool can_draw(const OpDef& op) const {
    return !is_factorization(op.name) && op.reference.present() && op.lower.present() &&
           !has(op.traits, Trait::effect) &&
           std::find(options_.without.begin(), options_.without.end(), op.name) ==
               options_.without.end();
  }
  int between(int lo, int hi) {
    return lo + static_cast<int>(rng_() % static_cast<uint64_t>(hi - lo + 1));
  }
  bool chance(double p) { return static_cast<double>(rng_() >> 11) * 0x1p-53 < p; }

  // Runs the node and remembers its results. False where the reference refuses its operands.
  Result<bool> run(NodeId n) {
    std::vector<const Array*> operands;
    for (ValueId v : out_.g.node(n).inputs)
      operands.push_back(v.valid() ? &known_[where_[v.v]].array : nullptr);
    Result<Arrays> results = run_node(out_.g, n, operands);
    if (!results.ok()) {
      if (results.failure().kind == ErrorKind::bug) return std::move(results).failure();
      return false;
    }
    const Node& node = out_.g.node(n);
    CLEAVE_TRY(const bool takes, takes_any_rounding(n, operands));
    if (!takes) return false;
    const bool is_exact = std::ranges::all_of(
        node.inputs, [&](ValueId v) { return !v.valid() || known_[where_[v.v]].is_exact; });
    for (uint32_t r = 0; r < node.output_count; ++r)
      remember(node.out(r), std::move((*results)[r]), is_exact);
    return true;
  }
  // Integers made of floats hang on their rounding: an index may be in its range here and NaN in a
  // program. Whether the call takes any number in their place.
  Result<bool> takes_any_rounding(NodeId n, std::vector<const Array*> operands) {
    std::deque<Array> others;
    for (size_t k = 0; k < operands.size(); ++k) {
      if (operands[k] == nullptr || known_[where_[out_.g.node(n).inputs[k].v]].is_exact) continue;
      const DType t = operands[k]->dtype;
      if (t != DType::i64 && t != DType::i32) continue;
      others.push_back(*operands[k]);
      for (int64_t& x : others.back().i)
        x = t == DType::i64 ? std::numeric_limits<int64_t>::min() : std::numeric_limits<int>::min();
      operands[k] = &others.back();
    }
    if (others.empty()) return true;
    const Result<Arrays> results = run_node(out_.g, n, operands);
    if (!results.ok() && results.failure().kind == ErrorKind::bug) return results.failure();
    return results.ok();
  }
  void remember(ValueId v, Array a, bool is_exact) {
    if (out_.g.type(v).is_none) return;
    where_.resize(std::max<size_t>(where_.size(), v.v + 1), SIZE_MAX);
    where_[v.v] = known_.size();
    is_exact &= !a.floating();
    known_.push_back({v, std::move(a), is_exact});
  }
  const Array& array(ValueId v) const { return known_[where_[v.v]].array; }

  // A call of the builder on known values; an invalid id where it is refused.
  ValueId made(const std::string& name, std::vector<CallOperand> operands, NamedAttrs attrs = {}) {
    const NodeId last = out_.g.last_node();
    Builder b(out_.g, b_.ops());
    const ValueId v = b.call1(name, std::move(operands), std::move(attrs));
    if (!b.status().ok() || out_.g.last_node() == last) return {};
    Result<bool> ran = run(out_.g.last_node());
    if (ran.ok() && *ran) return v;
    out_.g.erase(out_.g.last_node());
    return {};
  }

  // Some inputs are buffers, which finish() updates.
  Result<ValueId> placeholder(const SampleTensor& t, const std::string& stem, Role role) {
    if (role == Role::input) role = other_role();
    const bool trained = role == Role::input || role == Role::param;
    const bool differentiable = is_floating(t.type.dtype) && trained && chance(0.8);
    CLEAVE_TRY(const ValueId v,
               out_.g.add_placeholder(role, out_.g.fresh_name(stem), t.type, differentiable));
    out_.inputs.push_back(law::sample_array(t, rng_()));
    if (options_.sized && may_spoil_ && role != Role::rng_state) spoil(t, out_.inputs.back());
    Array a = out_.inputs.back();
    remember(v, std::move(a), true);
    return v;
  }
  Role other_role() {
    if (chance(0.15)) return Role::buffer;
    if (!options_.sized || !chance(0.4)) return Role::input;
    constexpr Role others[] = {Role::param, Role::constant, Role::saved};
    return others[rng_() % 3];
  }
  // Contents that uniform random numbers rarely have, within the operator's range.
  void spoil(const SampleTensor& t, Array& a) {
    if (!t.values.empty() || t.distinct > 0 || a.numel() == 0 || !chance(0.15)) return;
    const bool wide = a.floating() && t.lo == -2 && t.hi == 2;
    const double first = a.number(0);
    constexpr double scales[] = {1e-3, 1e-20, 1e-39, 200};
    const double scale = scales[rng_() % std::size(scales)];
    const bool equal = !wide || chance(0.4);
    for (int64_t k = 0; k < a.numel(); ++k)
      a.set(k, round_to(a.dtype, equal ? first : a.number(k) * scale));
  }

  // v, of any type, as the dtype of t.
  ValueId as_dtype(ValueId v, DType want) {
    const DType have = out_.g.type(v).dtype;
    if (have == want) return v;
    if (want == DType::boolean)
      return made("gt", {v, is_floating(have) ? CallOperand(0.1) : CallOperand(0)});
    return made("_to_copy", {v}, {{"dtype", want}});
  }
  ValueId as_shape(ValueId v, const Shape& shape, int64_t elements) {
    const int64_t have = numel_of(array(v).shape);
    if (out_.g.type(v).shape == shape) return v;
    if (have == 0 && elements > 0) return {};
    if (have != elements) {
      v = made("reshape", {v}, {{"shape", Shape{Dim(-1)}}});
      if (v.valid() && have < elements)
        v = made("repeat", {v}, {{"repeats", Shape{Dim((elements + have - 1) / have)}}});
      if (v.valid() && numel_of(array(v).shape) != elements)
        v = made("slice", {v}, {{"dim", 0}, {"start", 0}, {"end", elements}});
      if (!v.valid()) return v;
    }
    return made("reshape", {v}, {{"shape", shape}});
  }
  // v with values in [lo, hi).
  ValueId as_range(ValueId v, double lo, double hi) {
    if (array(v).dtype == DType::boolean) return v;
    if (within(array(v), lo, hi)) return v;
    if (!array(v).floating()) {
      v = made("remainder", {v, CallOperand(static_cast<int>(hi - lo))});
      return v.valid() && lo != 0 ? made("add", {v, CallOperand(static_cast<int>(lo))}) : v;
    }
    v = made("sin", {v});
    if (v.valid()) v = made("mul", {v, CallOperand(0.45 * (hi - lo))});
    return v.valid() ? made("add", {v, CallOperand(0.5 * (hi + lo))}) : v;
  }

  // A value that can stand for t: an older one that was brought to its type, or a new placeholder.
  Result<ValueId> operand(const OpDef& op, SampleTensor t, const std::string& stem) {
    t = law::with_floats(std::move(t), options_.floats);
    if (stem == "rng") return placeholder(t, stem, Role::rng_state);
    const bool fixed = !t.values.empty() || t.distinct > 0;
    if (fixed || known_.empty() || chance(0.2)) return placeholder(t, stem, Role::input);
    const Shape& shape = t.type.shape;
    std::vector<int64_t> sizes = static_shape(t.type);
    // Recent values first, so that chains grow.
    const size_t back =
        static_cast<size_t>(between(0, static_cast<int>(std::min<size_t>(known_.size(), 12)) - 1));
    const Known& from = known_[known_.size() - 1 - back];
    if (from.hidden || !is_tame(from.array)) return placeholder(t, stem, Role::input);
    ValueId v = as_shape(from.id, shape, numel_of(sizes));
    // -2 to 2 is the default range and can be widened, except where a backward computes
    // exp(product - logsumexp) of independent operands, which would overflow in f32 but not in f64.
    const bool wide = is_floating(t.type.dtype) && t.lo == -2 && t.hi == 2 &&
                      !op.name.starts_with("_scaled_dot_product");
    if (v.valid() && is_floating(out_.g.type(v).dtype) && !is_floating(t.type.dtype) &&
        t.type.dtype != DType::boolean)
      v = as_range(v, -100, 100);
    if (v.valid()) v = as_dtype(v, t.type.dtype);
    if (v.valid() && !wide) v = as_range(v, t.lo, t.hi);
    if (v.valid() && out_.g.type(v).dtype == t.type.dtype && out_.g.type(v).shape == shape)
      return v;
    return placeholder(t, stem, Role::input);
  }

  bool can_call(const OpDef& op, const Sample& sample) const {
    for (size_t k = 0; k < sample.operands.size(); ++k) {
      const std::string& name = op.schema.args[op.schema.operands[k]].name;
      for (const SampleTensor& t : sample.operands[k].tensors)
        if (!t.type.is_none && ((name == "rng" && !options_.random) || !t.type.is_static() ||
                                numel_of(static_shape(t.type)) > max_elements))
          return false;
    }
    return true;
  }

  // One to three reductions in a row on a value of any sizes.
  Status reductions() {
    constexpr DType dtypes[] = {DType::f32, DType::f32, DType::f32, DType::f64, DType::bf16};
    const DType dtype = options_.floats == law::Floats::f64 ? DType::f64 : dtypes[rng_() % 5];
    const auto rank = static_cast<size_t>(between(1, 4));
    const SampleTensor t = sample(dtype, draw_shape(rng_, rank, 4 * options_.elements));
    may_spoil_ = true;
    CLEAVE_TRY(ValueId x, placeholder(t, "x", Role::input));
    reduction_chain(
        out_.g, x, rng_,
        [&](const std::string& op, std::vector<CallOperand> operands, NamedAttrs attrs) {
          return made(op, std::move(operands), std::move(attrs));
        });
    return {};
  }

  Status call() {
    const OpDef& op = *drawn_[rng_() % drawn_.size()];
    const Samples samples = op.samples();
    if (samples.empty()) return {};
    const Sample& usual = samples[rng_() % samples.size()];
    if (!can_call(op, usual)) return {};
    if (options_.sized && chance(0.5)) {
      CLEAVE_TRY(const bool taken, call(op, resized(op, usual, rng_, options_.elements), true));
      if (taken) return {};
    }
    const Result<bool> taken = call(op, usual, false);
    return taken.ok() ? Status() : Status(taken.failure());
  }

  // Whether the call was added. With other sizes it may be refused, or too expensive.
  Result<bool> call(const OpDef& op, const Sample& sample, bool sized) {
    // The logsumexp of attention's backward is independent of its other operands: large ones
    // overflow.
    may_spoil_ = !op.name.starts_with("_scaled_dot_product");
    NodeSpec spec;
    spec.op = &op;
    for (size_t k = 0; k < op.schema.operands.size(); ++k) {
      const ArgDef& arg = op.schema.args[op.schema.operands[k]];
      const SampleOperand* given = k < sample.operands.size() ? &sample.operands[k] : nullptr;
      if (arg.list) {
        spec.list_size = given ? static_cast<uint32_t>(given->tensors.size()) : 0;
        for (size_t i = 0; i < spec.list_size; ++i) {
          ValueId v = ValueId::none();
          if (!given->tensors[i].type.is_none) {
            CLEAVE_TRY(v, operand(op, given->tensors[i], arg.name));
          }
          spec.inputs.push_back(v);
        }
      } else if (!given || given->is_none) {
        spec.inputs.push_back(ValueId::none());
      } else if (!given->number.is_none()) {
        spec.inputs.push_back(ValueId::number());
        spec.attrs.set(op.schema.operands[k], given->number);
      } else {
        CLEAVE_TRY(const ValueId v, operand(op, given->tensors[0], arg.name));
        spec.inputs.push_back(v);
      }
    }
    for (const auto& [name, value] : sample.attrs) {
      CLEAVE_TRY(AttrValue made, law::sample_attr(op, name, value, options_.floats,
                                                  fmt::format("call{}", out_.g.node_capacity())));
      spec.attrs.set(static_cast<uint16_t>(op.schema.find(name)), std::move(made));
    }
    const Result<NodeId> node = out_.g.add_node(std::move(spec));
    // A rule of the other dtype, or of the sizes.
    if (!node.ok() && node.failure().kind != ErrorKind::bug &&
        (sized || options_.floats != law::Floats::own))
      return false;
    CLEAVE_TRY(const NodeId n, node);
    if (sized && is_dear(n)) {
      out_.g.erase(n);
      return false;
    }
    CLEAVE_TRY(const bool ran, run(n));
    if (!ran) {
      out_.g.erase(n);
      return false;
    }
    // Calls without a gradient must not be on the path of a gradient.
    if (!op.grad.present())
      for (uint32_t r = 0; r < out_.g.node(n).output_count; ++r) {
        const ValueId v = out_.g.node(n).out(r);
        if (is_floating(out_.g.type(v).dtype) && !out_.g.type(v).is_none &&
            made("detach", {v}).valid())
          known_[where_[v.v]].hidden = true;
      }
    return true;
  }

  bool is_dear(NodeId n) const {
    const Node& node = out_.g.node(n);
    if (node.op->cost.present() && (*node.op->cost)(out_.g.view(n)).flops > options_.flops)
      return true;
    for (uint32_t k = 0; k < node.output_count; ++k) {
      const Type& t = out_.g.type(node.out(k));
      if (!t.is_none && numel_of(static_shape(t)) > 4 * options_.elements) return true;
    }
    return false;
  }

  Result<RandomGraph> finish() {
    for (const Known& k : known_) {
      const Type& t = out_.g.type(k.id);
      if (t.is_none || k.hidden || !out_.g.value(k.id).def.valid()) continue;
      const bool last = out_.g.use_count(k.id) == 0;
      if ((last && is_tame(k.array, returned)) || chance(0.05))
        out_.g.add_return({k.id, ReturnKind::result, {}});
    }
    CLEAVE_CHECK(update_buffers());
    if (out_.g.returns().empty()) out_.g.add_return({known_.back().id, ReturnKind::result, {}});
    return std::move(out_);
  }

  // A value that was computed, brought to the buffer's type, is what the buffer holds afterwards.
  Status update_buffers() {
    const size_t computed = known_.size();
    for (size_t p = 0; p < out_.g.placeholders().size(); ++p) {
      const Placeholder buffer = out_.g.placeholders()[p];
      if (buffer.role != Role::buffer || chance(0.2)) continue;
      const Type t = out_.g.type(buffer.value);
      const ValueId from = known_[rng_() % computed].id;
      if (!out_.g.value(from).def.valid() || !is_tame(array(from))) continue;
      ValueId v = as_shape(from, t.shape, numel_of(static_shape(t)));
      if (v.valid()) v = as_dtype(v, t.dtype);
      if (v.valid() && out_.g.type(v).shape == t.shape && out_.g.type(v).dtype == t.dtype &&
          out_.g.value(v).def.valid())
        out_.g.add_return({v, ReturnKind::update, buffer.value});
    }
    return {};
  }

  const GraphOptions& options_;
  RandomGraph out_;
  Builder b_;
  std::mt19937_64 rng_;
  std::vector<const OpDef*> drawn_;
  bool has_reductions_ = true;
  bool may_spoil_ = true;  // the operands of the call that is drawn
  std::vector<Known> known_;
  std::vector<size_t> where_;  // by value id: index into known_
};

}  // namespace

Result<RandomGraph> random_graph(const OpRegistry& ops, uint64_t seed,
                                 const GraphOptions& options) {
  return Writer(ops, seed, options).write();
}

Result<bool> cast_some(RandomGraph& r, const OpRegistry& ops, uint64_t seed) {
  if (seed % 5 != 2) return false;
  const DType dtype = seed % 2 == 0 ? DType::bf16 : DType::f16;
  Graph cast = r.g;
  CLEAVE_CHECK(autocast(cast, ops, dtype));
  CLEAVE_CHECK(verify(cast));
  const std::string once = print(cast);
  CLEAVE_CHECK(autocast(cast, ops, dtype));
  if (print(cast) != once) return bug("autocast: changes its own result:\n{}", once);
  // What is rounded otherwise may be an index beyond its range.
  std::vector<const Array*> in;
  for (const Array& a : r.inputs) in.push_back(&a);
  if (!interpret(cast, in).ok()) return false;
  r.g = std::move(cast);
  return true;
}

Result<RandomGraph> with_gradients(const RandomGraph& r, const OpRegistry& ops, uint64_t seed) {
  RandomGraph out = r;
  if (Result<Graph> joint = make_joint(r.g, ops); joint.ok())
    out.g = *std::move(joint);
  else if (joint.failure().kind == ErrorKind::bug)
    return std::move(joint).failure();
  if (!r.symbols.empty()) { CLEAVE_TRY(out.g, specialize(out.g, r.symbols)); }
  // Cotangents by their number, so that they are the same with and without a symbol.
  for (size_t i = out.inputs.size(), k = 0; i < out.g.placeholders().size(); ++i, ++k)
    out.inputs.push_back(law::random_weights(out.g.type(out.g.placeholders()[i].value), seed + k));
  for (Array& a : out.inputs)
    for (double& x : a.f) x = round_to(a.dtype, x);
  return out;
}

}  // namespace cleave::random

// The definition of an operator: one entry holds everything that the compiler asks about it.
//
// Every rule is a Slot whose default constructor is deleted, so omitting one from a designated
// initialiser does not compile. A rule that does not exist is `Absent{"why"}`.
//
//   schema     ATen's signature (schema.h)
//   infer      input types and attributes -> result types, or the constraint that is broken
//   reference  concrete arrays -> concrete arrays, in float64 and int64, line by line
//   decompose  the same value from simpler operators
//   grad       cotangents of the results -> cotangents of the operands
//   lower      loops, a view of an operand's memory, or a library call (loop/lower_rule.h)
//   cost       flops and bytes
//   ranks      collectives only: operand arrays of all ranks of a group -> their result arrays
//   samples    makes legal calls: they drive the generic laws
//   rejects    makes illegal calls with exact messages
#pragma once
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/ids.h"
#include "ir/array.h"
#include "ir/sample.h"
#include "ir/schema.h"

namespace cleave {

namespace loop {
struct LowerRule;
}
class OpView;
class RunView;
class GradView;
class Builder;

// States that an operator has no such rule, and why.
struct Absent {
  std::string reason;
};

template <class T>
class Slot {
 public:
  Slot() = delete;
  Slot(Absent why) : reason_(std::move(why.reason)) {}
  template <class U>
    requires(!std::is_same_v<std::decay_t<U>, Absent> && !std::is_same_v<std::decay_t<U>, Slot> &&
             std::is_constructible_v<T, U>)
  Slot(U&& rule) : rule_(std::forward<U>(rule)), present_(true) {}

  bool present() const { return present_; }
  const T& operator*() const { return rule_; }
  const T* operator->() const { return &rule_; }
  const std::string& reason() const { return reason_; }

  // Not inline: each entry of an operator makes, moves and destroys six slots.
  Slot(const Slot& from);
  Slot(Slot&& from) noexcept;
  Slot& operator=(const Slot& from);
  Slot& operator=(Slot&& from) noexcept;
  ~Slot();

 private:
  T rule_{};
  bool present_ = false;
  std::string reason_;
};

// Values returned by decompose (one per result) and grad (one per operand with list items expanded;
// none where no gradient flows).
using Values = std::vector<ValueId>;

struct Cost {
  int64_t flops = 0;
  int64_t bytes = 0;  // read + written when every operand and result is in memory
};

using InferFn = std::function<Result<Types>(const OpView&)>;
using ReferenceFn = std::function<Result<Arrays>(const RunView&, std::span<const Array* const> in)>;
// One entry for each rank of the group, in the group's order: operands, then results.
using RankArrays = std::vector<std::vector<const Array*>>;
using RanksFn = std::function<Result<std::vector<Arrays>>(const OpView&, const RankArrays& in)>;
using DecomposeFn = std::function<Values(Builder&, const OpView&)>;
using GradFn = std::function<Values(Builder&, const GradView&)>;
using LowerPtr = std::shared_ptr<const loop::LowerRule>;
using CostFn = std::function<Cost(const OpView&)>;

// Properties that passes and the cut query. Combine with |.
enum class Trait : uint32_t {
  none = 0,
  pointwise = 1 << 0,          // each result element depends on one element of each operand
  view = 1 << 1,               // the result may share the operand's memory
  reduction = 1 << 2,          // sums, maxima, ... along dims
  random = 1 << 3,             // reads (seed, step) and a stream
  compute_intensive = 1 << 4,  // products, convolutions, attention
  fusible = 1 << 5,            // can be fused with its neighbours into a generated kernel
  recomputable = 1 << 6,       // the cut may recompute it in the backward
  data_dependent = 1 << 7,     // may fail on operand values (an index out of range)
  effect = 1 << 8,             // never removed, merged or moved
  constructor = 1 << 9,        // no tensor operands: full, arange, ...
  collective = 1 << 10,        // matches the other ranks' calls of it, so never recomputed
  // Operand 0 is a symmetric matrix of which one triangle is read; its gradient is symmetric too.
  symmetric = 1 << 11,
};
constexpr Trait operator|(Trait a, Trait b) {
  return static_cast<Trait>(static_cast<uint32_t>(a) | static_cast<uint32_t>(b));
}
constexpr bool has(Trait set, Trait one) {
  return (static_cast<uint32_t>(set) & static_cast<uint32_t>(one)) != 0;
}
// Whether each call in the program must run exactly once: the cut never recomputes it.
constexpr bool runs_once(Trait set) { return has(set, Trait::effect | Trait::collective); }

struct OpDef {
  std::string name;
  std::string signature;     // ATen's notation, parsed into `schema` by the registry
  std::string summary;       // one line; constraints are named C1, C2, ... in the entry's comment
  std::string source;        // "aten::exp, PyTorch 2.13"
  std::string version = {};  // of a host program's own operator (Operator::version)
  Trait traits;
  Slot<InferFn> infer;
  Slot<ReferenceFn> reference;
  Slot<DecomposeFn> decompose;
  Slot<GradFn> grad;
  Slot<LowerPtr> lower;
  Slot<CostFn> cost;
  Lazy<Samples> samples;
  Lazy<Rejects> rejects;
  // Results without a gradient (masks, indices, statistics), as bits: 1 << i.
  uint32_t nondifferentiable = 0;
  // What a collective computes over the ranks of a group; empty for all other operators. The
  // reference rule is this function for a group of one.
  RanksFn ranks = {};
  // Filled by OpRegistry::add.
  Schema schema = {};
  // The source file of the entry, for messages; core_ops sets it, a program's own operators have
  // none.
  std::string file = {};
};

extern template class Slot<InferFn>;
extern template class Slot<ReferenceFn>;
extern template class Slot<DecomposeFn>;
extern template class Slot<GradFn>;
extern template class Slot<LowerPtr>;
extern template class Slot<CostFn>;

// The operators of one compiler: cleave's and the host program's. Copies share the entries.
class OpRegistry {
 public:
  // Adds the entry; refuses a duplicate name and a signature that does not parse.
  Status add(OpDef def);
  const OpDef* find(std::string_view name) const;
  // The known name nearest to `name` (edit distance); empty if none is near.
  std::string nearest(std::string_view name) const;
  // In the order in which they were added.
  const std::vector<std::shared_ptr<const OpDef>>& all() const { return ordered_; }

 private:
  std::vector<std::shared_ptr<const OpDef>> ordered_;
  std::unordered_map<std::string, size_t> by_name_;
};

}  // namespace cleave

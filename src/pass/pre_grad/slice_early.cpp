// Takes a slice of what a call is computed of, where nothing else is read of its result.
//
//   slice(gelu(x); dim)                           ->  gelu(slice(x; dim))            pointwise
//   select(norm(add(x, y)); dim=1, index=0)       ->  norm of the first row of x and of y
//   slice(view(mm(view(x; b*t,k), w); b,t,n); 1)  ->  the product of these rows alone
//
// So the last layers of a model whose head reads one token compute that token alone, forward and
// backward: its norm, feed-forward network, output projection and row of attention. Moves through
// pointwise calls, broadcasts, views that keep the dim, products (rows, columns, batches), norms,
// softmaxes and reductions of other dims, lookups, and attention without a causal mask or dropout.
// Several equal slices, and nothing else, may read the result; they become one. Random calls stay:
// their bits follow from the place of an element. So do slices of more than half of a dim.
#include <algorithm>
#include <optional>
#include <set>

#include "op/dims.h"
#include "pass/passes.h"
#include "pass/slice_path.h"

namespace cleave {
namespace {

constexpr uint32_t most_readers = 8;  // equal slices; a value may have thousands of different ones

class Slicer {
 public:
  Slicer(Graph& g, const OpRegistry& ops) : g_(g), b_(g, ops) {}

  Result<PassCount> run() {
    std::vector<NodeId> todo;
    for (const NodeId n : g_.order())
      if (is_slice(n)) todo.push_back(n);
    while (!todo.empty()) {
      const NodeId n = todo.back();
      todo.pop_back();
      if (g_.node(n).erased) continue;
      CLEAVE_TRY(std::vector<NodeId> next, move(n));
      todo.insert(todo.end(), next.begin(), next.end());
    }
    return count_;
  }

 private:
  bool is_slice(NodeId n) const {
    const std::string& name = g_.node(n).op->name;
    return name == "slice" || name == "select";
  }

  // Whether all that reads the call's results are a few slices like n, of the same one, at most one
  // of which is returned.
  bool is_only_reader(NodeId n, NodeId call) const {
    const Node& node = g_.node(call);
    const ValueId sliced = g_.node(n).inputs[0];
    int returned = 0;
    for (uint32_t k = 0; k < node.output_count; ++k) {
      const ValueId v = node.out(k);
      if (g_.use_count(v) > most_readers || is_returned(v)) return false;
      for (const Use& u : g_.uses(v)) {
        const Node& reader = g_.node(u.node);
        if (v != sliced || reader.op != g_.node(n).op || reader.attrs != g_.node(n).attrs)
          return false;
        returned += is_returned(reader.out(0));
      }
    }
    return returned <= 1;
  }
  bool is_returned(ValueId v) const {
    return std::ranges::any_of(g_.returns(), [&](const Return& r) { return r.value == v; });
  }

  // Moves the slice in front of the call that it is of, and returns the slices that may move then.
  Result<std::vector<NodeId>> move(NodeId n) {
    const std::optional<SliceOf> slice = slice_of(g_, n);
    const NodeId call = g_.value(g_.node(n).inputs[0]).def;
    if (!slice || !call.valid() || g_.value(g_.node(n).inputs[0]).index != 0 ||
        !is_only_reader(n, call))
      return std::vector<NodeId>();
    const std::optional<SlicePath> path = slice_path(g_, call, *slice);
    if (!path) return std::vector<NodeId>();

    std::vector<NodeId> readers;
    for (const Use& u : g_.uses(g_.node(n).inputs[0])) readers.push_back(u.node);
    b_.insert_before(call);
    std::vector<NodeId> made;
    const Values parts = path->write(b_, *slice, made);
    CLEAVE_CHECK(b_.status());
    const ValueId result = slice->is_select ? select_first(parts[0], slice->dim) : parts[0];
    CLEAVE_CHECK(b_.status());
    // Of slices that this pass made, what they were of keeps its name.
    const ValueId named = made_.contains(n) ? g_.node(n).inputs[0] : g_.node(n).out(0);
    const std::string name = g_.name(named);
    for (const NodeId reader : readers) {
      g_.replace_uses(g_.node(reader).out(0), result);
      g_.erase(reader);
      ++count_.nodes;
    }
    erase_unread(call);
    CLEAVE_CHECK(g_.rename(result, name));
    ++count_.matches;
    made_.insert(made.begin(), made.end());
    for (const Use& u : g_.uses(result))
      if (is_slice(u.node)) made.push_back(u.node);
    return made;
  }

  ValueId select_first(ValueId part, int64_t dim) {
    return b_.call1("select", {part}, {{"dim", dim}, {"index", int64_t{0}}});
  }

  // With the calls that it alone read.
  void erase_unread(NodeId n) {
    const Node& node = g_.node(n);
    if (has(node.op->traits, Trait::effect)) return;
    for (uint32_t k = 0; k < node.output_count; ++k)
      if (g_.use_count(node.out(k)) > 0 || is_returned(node.out(k))) return;
    const Values inputs = node.inputs;
    g_.erase(n);
    for (const ValueId v : inputs)
      if (const NodeId d = v.valid() && !v.is_number() ? g_.value(v).def : NodeId();
          d.valid() && !g_.node(d).erased)
        erase_unread(d);
  }

  Graph& g_;
  Builder b_;
  std::set<NodeId> made_;  // slices
  PassCount count_;
};

}  // namespace

Pass slice_early() {
  return {.name = "slice_early",
          .summary = "a call of whose result a slice is read is computed of slices",
          .run = [](Graph& g, const OpRegistry& ops) { return Slicer(g, ops).run(); },
          .rounds = true};
}

}  // namespace cleave

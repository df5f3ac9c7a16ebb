#include "cut/repeat_calls.h"

#include <unordered_map>

#include "ir/edit.h"

namespace cleave {
namespace {

class Repeater {
 public:
  Repeater(Graph& g, const std::vector<bool>& forward,
           const std::function<bool(NodeId)>& should_repeat)
      : g_(g), forward_(forward), should_repeat_(should_repeat) {}

  Result<int64_t> run() {
    for (const NodeId n : g_.order()) {
      if (forward_[n.v]) continue;
      for (uint32_t k = 0; k < g_.node(n).inputs.size(); ++k) {
        const ValueId in = g_.node(n).inputs[k];
        if (!in.valid() || !runs_again(in)) continue;
        CLEAVE_CHECK(repeat(in, n));
        g_.set_input(n, k, copy_.at(in.v));
      }
    }
    return count_;
  }

 private:
  bool runs_again(ValueId v) const {
    const NodeId n = g_.value(v).def;
    return n.valid() && n.v < forward_.size() && forward_[n.v] && should_repeat_(n);
  }

  // Copies the call that makes `value`, and those before it that run again, in front of `reader`.
  Status repeat(ValueId value, NodeId reader) {
    std::vector<NodeId> open{g_.value(value).def};
    while (!open.empty()) {
      const NodeId n = open.back();
      const size_t depth = open.size();
      for (const ValueId in : g_.node(n).inputs)
        if (in.valid() && !copy_.contains(in.v) && runs_again(in)) open.push_back(g_.value(in).def);
      if (open.size() > depth) continue;
      open.pop_back();
      if (copy_.contains(g_.node(n).out(0).v)) continue;
      CLEAVE_CHECK(repeat_call(g_, n, reader, copy_));
      ++count_;
    }
    return {};
  }

  Graph& g_;
  const std::vector<bool>& forward_;  // nodes made here have numbers beyond its size
  const std::function<bool(NodeId)>& should_repeat_;
  std::unordered_map<uint32_t, ValueId> copy_;  // by value of the forward
  int64_t count_ = 0;
};

}  // namespace

Result<int64_t> repeat_calls(Graph& g, const std::vector<bool>& forward,
                             const std::function<bool(NodeId)>& should_repeat) {
  return Repeater(g, forward, should_repeat).run();
}

}  // namespace cleave
